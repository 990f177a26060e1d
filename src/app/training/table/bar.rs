//! The bars above the table of runs: filter, columns and groups, and what can be done with the selected runs.

use std::collections::BTreeSet;
use std::sync::Arc;

use egui::{Button, Key, Label, RichText, ScrollArea, TextEdit, Ui};
use valleyscope_experiments::view::ticks::grouped;
use valleyscope_runs::RunFolder;

use super::lines::Lines;
use super::selection::Selection;
use super::{RunTable, TableAction};
use crate::app::boxes::{check_box, radio_button};
use crate::app::figure_layout::stays_open;
use crate::app::form::{cell, small_button};
use crate::app::training::filter_field::FilterField;
use crate::app::training::list::ListInput;
use crate::app::training::summary::Summary;
use crate::run_table::{Columns, Grouping, Replicates, Statistic};

/// The height from which menus are scrolled, in points.
const MENU_HEIGHT: f32 = 380.0;
/// The width of a column's title in the menu of columns, in points.
const COLUMN_TITLE: f32 = 190.0;
/// The width of the number of selected runs, in points.
const COUNT: f32 = 84.0;
/// The smallest and the largest width of the filter, in points.
const FILTER: [f32; 2] = [150.0, 420.0];
/// The number of groups without a best value that are explained.
const MOST_UNDECIDED: usize = 2;
/// The width of the menus and the number of runs beside the filter, in points.
const BESIDE_FILTER: f32 = 390.0;

/// Returns a title within a sentence.
pub(super) fn lower_first(title: &str) -> String {
    let mut chars = title.chars();
    chars.next().map_or_else(String::new, |first| first.to_lowercase().chain(chars).collect())
}

/// The selected runs, in the order of the table.
pub(super) struct SelectedRuns(Vec<Arc<Summary>>);

impl SelectedRuns {
    pub(super) fn of(lines: &Lines, selection: &Selection) -> SelectedRuns {
        if selection.is_empty() {
            return SelectedRuns(Vec::new());
        }
        SelectedRuns(lines.listed().filter(|run| selection.contains(run.run.path())).cloned().collect())
    }

    pub(super) fn folders(&self) -> Vec<RunFolder> {
        self.0.iter().map(|run| run.run.clone()).collect()
    }

    fn open(&self) -> Vec<RunFolder> {
        self.0.iter().filter(|run| run.is_open()).map(|run| run.run.clone()).collect()
    }

    fn has_tag(&self, tag: &String) -> bool {
        self.0.iter().all(|run| run.notes.tags.contains(tag))
    }
}

impl RunTable {
    /// Shows the filter, the menus of columns and groups, and the number of listed runs.
    pub(super) fn top_bar(
        &mut self,
        ui: &mut Ui,
        filter: &mut FilterField,
        input: &ListInput<'_>,
    ) -> Option<TableAction> {
        let mut action = None;
        ui.horizontal_wrapped(|ui| {
            let back = ui.button("← Curves").on_hover_text("Show the curves in place of the table");
            if back.accessible_name("Show the curves").clicked() {
                action = Some(TableAction::ShowCurves);
            }
            let width = (ui.available_width() - BESIDE_FILTER).clamp(FILTER[0], FILTER[1]);
            filter.ui(ui, input, width);
            self.columns_menu(ui);
            self.groups_menu(ui);
            if ui.button("Import runs…").on_hover_text("Read runs of other programs or machines").clicked() {
                action = Some(TableAction::Import);
            }
            let [found, all] = self.lines.counts().map(|count| grouped(count as u64));
            let runs = if all == "1" { "run" } else { "runs" };
            let text = if found == all { format!("{all} {runs}") } else { format!("{found} of {all} {runs}") };
            ui.add(Label::new(RichText::new(text).small().weak()));
            if let Some(baseline) = self.lines.baseline() {
                let name = baseline.in_full();
                let text = RichText::new("Compared to the baseline").small();
                ui.add(Label::new(text).truncate()).on_hover_text(name);
                if small_button(ui, true, "×", "Remove the baseline", "Show no differences to the baseline any more") {
                    self.choices.baseline = None;
                }
            }
        });
        action
    }

    fn columns_menu(&mut self, ui: &mut Ui) {
        let columns = Arc::clone(self.lines.all_columns());
        stays_open("Columns").ui(ui, |ui| {
            let layout = &mut self.choices.layout;
            if ui.add_enabled(!layout.is_usual(), Button::new("Usual columns and order")).clicked() {
                layout.reset();
            }
            ui.separator();
            ScrollArea::vertical().max_height(MENU_HEIGHT).show(ui, |ui| {
                let all: Vec<_> = layout.arranged(&columns).into_iter().cloned().collect();
                for column in &all {
                    ui.horizontal(|ui| {
                        let mut is_shown = layout.shows(column);
                        // The arrows of all columns are below each other.
                        let is_toggled = cell(ui, COLUMN_TITLE, |ui| {
                            check_box(ui, &mut is_shown, &column.title).on_hover_text(&column.help).changed()
                        });
                        if is_toggled {
                            layout.show(&column.field, is_shown);
                        }
                        if is_shown {
                            let title = &column.title;
                            for (text, verb, to_left) in [("◀", "left", true), ("▶", "right", false)] {
                                let name = format!("Move {title} to the {verb}");
                                if small_button(ui, true, text, &name, &name) {
                                    layout.shift(&columns, &column.field, to_left);
                                }
                            }
                        }
                    });
                }
            });
        });
    }

    fn groups_menu(&mut self, ui: &mut Ui) {
        let all_columns = Arc::clone(self.lines.all_columns());
        let title = if self.choices.group_by.is_empty() { "Group" } else { "Grouped" };
        stays_open(title).ui(ui, |ui| {
            let group_by = &mut self.choices.group_by;
            if ui.add_enabled(!group_by.is_empty(), Button::new("No groups")).clicked() {
                group_by.clear();
            }
            let mut is_replicates = group_by.iter().any(|field| field == Replicates::FIELD);
            let help = "Runs that differ only in the seed are a group";
            if check_box(ui, &mut is_replicates, "Replicates").on_hover_text(help).changed() {
                *group_by = if is_replicates { vec![Replicates::FIELD.to_owned()] } else { Vec::new() };
            }
            ui.separator();
            let is_offered = |field: &str| ["optimizer", "workload", "tags", "state"].contains(&field);
            let columns = all_columns.iter().filter(|column| {
                let is_setting = column.is_setting && (column.is_usual || group_by.contains(&column.field));
                is_setting || is_offered(&column.field)
            });
            let columns: Vec<(String, String)> =
                columns.map(|column| (column.field.clone(), column.title.clone())).collect();
            ScrollArea::vertical().max_height(MENU_HEIGHT).show(ui, |ui| {
                for (field, title) in columns {
                    let mut is_chosen = self.choices.group_by.contains(&field);
                    if check_box(ui, &mut is_chosen, format!("Equal {}", lower_first(&title))).changed() {
                        self.choices.group_by.retain(|field| field != Replicates::FIELD);
                        self.choices.toggle_group(&field);
                    }
                }
            });
            ui.separator();
            self.summary_choice(ui, &all_columns);
        });
    }

    /// Shows what groups show of their runs.
    fn summary_choice(&mut self, ui: &mut Ui, columns: &Columns) {
        ui.label(RichText::new("Groups show").small().weak());
        for statistic in Statistic::ALL {
            radio_button(ui, &mut self.choices.statistic, statistic, statistic.name());
        }
        let result = Grouping::result(&self.choices.sort, columns, self.lines.facts());
        let result = result.map_or_else(|_| "best loss of its runs".to_owned(), |column| lower_first(&column.title));
        let help = format!(
            "Of each group only the runs with the value of this setting whose {result} is best, such as each optimizer \
             at its best learning rate. Sort by another result to judge by it."
        );
        ui.label(RichText::new("Each at its best").small().weak()).on_hover_text(&help);
        let best_over = &mut self.choices.best_over;
        radio_button(ui, best_over, None, "all its runs");
        for column in columns.iter().filter(|column| column.is_setting && column.is_usual) {
            let title = lower_first(&column.title);
            radio_button(ui, best_over, Some(column.field.clone()), title).on_hover_text(&help);
        }
    }

    /// Shows which groups have no best value of the chosen setting.
    pub(super) fn undecided(&self, ui: &mut Ui) {
        let undecided = self.lines.undecided();
        for words in undecided.iter().take(MOST_UNDECIDED) {
            let text = RichText::new(words).small().color(ui.visuals().warn_fg_color);
            ui.add(Label::new(text).wrap());
        }
        if undecided.len() > MOST_UNDECIDED {
            let text = format!("and {} more groups without a best value", undecided.len() - MOST_UNDECIDED);
            ui.label(RichText::new(text).small().weak()).on_hover_text(undecided.join("\n"));
        }
    }

    /// Shows what can be done with the selected runs.
    pub(super) fn selection_bar(
        &mut self,
        ui: &mut Ui,
        selected: &SelectedRuns,
        runs: &[Arc<Summary>],
    ) -> Option<TableAction> {
        let mut action = None;
        ui.horizontal_wrapped(|ui| {
            if self.selection.is_empty() {
                let text = "Click a run to select it, with Ctrl or Shift several. Space shows or hides their curves, \
                            Enter opens one.";
                ui.add(Label::new(RichText::new(text).small().weak()).truncate());
                return;
            }
            self.selected_count(ui, selected);
            let folders = || selected.folders();
            let mut ask = |pressed: bool, asked: TableAction| action = pressed.then_some(asked).or(action.take());
            let (any, one, several) = (!selected.0.is_empty(), selected.0.len() == 1, selected.0.len() > 1);
            let show = small_button(ui, any, "Show", "Show the selected runs", "Show their curves with the others");
            ask(show, TableAction::Show(folders(), true));
            let hide = small_button(ui, any, "Hide", "Hide the selected runs", "Hide their curves");
            ask(hide, TableAction::Show(folders(), false));
            let open = selected.open();
            let help = "Save a checkpoint and end those that are trained; they can be resumed";
            let stop = small_button(ui, !open.is_empty(), "Stop", "Stop the selected runs", help);
            ask(stop, TableAction::Stop(open));
            let help =
                if one { "Compare the other runs to this one" } else { "Select one run to compare others to it" };
            let baseline = small_button(ui, one, "Baseline", "Compare to the selected run", help);
            if let Some(only) = selected.0.first().filter(|_| baseline) {
                self.choices.baseline = Some(only.run.path().to_owned());
            }
            let help = match several {
                true => "List the settings in which the selected runs differ",
                false => "Select two runs or more to list the settings in which they differ",
            };
            let compare = small_button(ui, several, "Differences", "Differences of the selected runs", help);
            ask(compare, TableAction::Compare(folders()));
            let tagged = self.tag_menu(ui, selected, runs);
            let exported = self.export_menu(ui, selected);
            let delete = small_button(ui, any, "Delete…", "Delete the selected runs", "Move them to the trash");
            ask(delete, TableAction::Delete(folders()));
            action = action.take().or(tagged).or(exported);
        });
        action
    }

    /// Shows the number of selected runs. The buttons beside it stay in their places as it changes.
    fn selected_count(&self, ui: &mut Ui, selected: &SelectedRuns) {
        let hidden = self.selection.len() - selected.0.len();
        let text = format!("{} selected", selected.0.len());
        let count = cell(ui, COUNT, |ui| ui.add(Label::new(RichText::new(text).small().strong()).truncate()));
        if hidden > 0 {
            let text = format!(
                "{hidden} more {} not listed: the filter hides them, and they stay as they are",
                match hidden {
                    1 => "is selected and",
                    _ => "are selected and",
                }
            );
            count.on_hover_text(text);
        }
    }

    fn tag_menu(&mut self, ui: &mut Ui, selected: &SelectedRuns, runs: &[Arc<Summary>]) -> Option<TableAction> {
        let mut action = None;
        stays_open(RichText::new("Tag").small()).ui(ui, |ui| {
            let tags: BTreeSet<&String> = runs.iter().flat_map(|run| &run.notes.tags).collect();
            ScrollArea::vertical().max_height(MENU_HEIGHT).show(ui, |ui| {
                for tag in tags {
                    let mut has = selected.has_tag(tag);
                    if check_box(ui, &mut has, tag).changed() {
                        action = Some(TableAction::Tag(selected.folders(), tag.clone(), has));
                    }
                }
            });
            let field =
                TextEdit::singleline(&mut self.new_tag).hint_text("New tag").desired_width(140.0).char_limit(60);
            let field = ui.add(field).accessible_name("New tag");
            if field.lost_focus() && ui.input(|input| input.key_pressed(Key::Enter)) {
                // A comma separates tags in lists.
                let tag = self.new_tag.replace(',', " ").split_whitespace().collect::<Vec<_>>().join(" ");
                self.new_tag.clear();
                if !tag.is_empty() {
                    action = Some(TableAction::Tag(selected.folders(), tag, true));
                }
                field.request_focus();
            }
        });
        action
    }

    fn export_menu(&self, ui: &mut Ui, selected: &SelectedRuns) -> Option<TableAction> {
        let mut action = None;
        ui.menu_button(RichText::new("Export").small(), |ui| {
            if ui.button("All points as CSV…").clicked() {
                action = Some(TableAction::ExportPoints(selected.folders()));
                ui.close();
            }
            if ui.button("These rows as CSV…").clicked() {
                action = Some(TableAction::ExportTable(self.lines.csv(&selected.0)));
                ui.close();
            }
        });
        action
    }
}
