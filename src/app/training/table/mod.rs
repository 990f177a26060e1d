//! The table of runs: all runs with their settings and results, to be filtered, sorted, grouped and compared.

mod lines;
mod view;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use egui::{
    Button, EventFilter, Id, Key, Label, Modifiers, Response, RichText, Role, ScrollArea, Sense, TextEdit, TextStyle,
    Ui, WidgetInfo,
};
use egui_table::{Column as Width, HeaderRow, Table, TableState};
use lines::{Lines, Selection};
use valleyscope_engine::terminal_escape::{visible, visible_path};
use valleyscope_experiments::view::ticks::grouped;
use valleyscope_runs::RunFolder;
use view::{LINE, MARKS, TableView};

pub(super) use self::lines::TableChoices;
use super::list::{FilterField, ListInput, RunsAction};
use super::summary::{ListedRuns, Summary};
use crate::app::widgets::form::{cell, check_box, radio_button, small_button, stays_open};
use crate::app::widgets::theme::text_width;
use crate::runs::{Column, Columns, Grouping, REPLICATES, Statistic, lower_first};

/// The usual width of the column of names, without and with columns of settings, and the smallest and the largest usual
/// width of others, in points.
const NAME: f32 = 220.0;
const NAME_WITH_SETTINGS: f32 = 170.0;
const NARROW: f32 = 64.0;
const WIDE: f32 = 150.0;
/// The space next to a title, including the arrow of the sorted column, in points.
const TITLE_MARGIN: f32 = 32.0;
/// The room for the deviation of a mean, and for the difference to the baseline, in points.
const DEVIATION: f32 = 72.0;
const DIFFERENCE: f32 = 60.0;
/// The narrowest and the widest column, in points.
const NARROWEST: f32 = 36.0;
const WIDEST: f32 = 600.0;
/// The width of the table from which the names stay visible while it is scrolled, in points.
const STICKY: f32 = 460.0;

#[derive(Default)]
pub(super) struct RunTable {
    pub choices: TableChoices,
    lines: Lines,
    selection: Selection,
    /// The number of the list of runs in which the selected ones are known.
    generation: u64,
    open: BTreeSet<String>,
    scroll_to: Option<usize>,
    new_tag: String,
    /// The folders whose runs are followed, each until its value is dropped.
    pub followed: BTreeMap<PathBuf, Arc<()>>,
}

impl RunTable {
    pub(super) fn ui(&mut self, ui: &mut Ui, filter: &mut FilterField, input: &ListInput<'_>) -> Option<RunsAction> {
        let ListedRuns { runs, generation, .. } = input.listed;
        self.lines.update(input, filter, &self.open, &self.choices);
        let mut action = self.top_bar(ui, filter, input.listed);
        filter.mistake(ui);
        // The bar may have changed the filter, the columns or the groups.
        self.lines.update(input, filter, &self.open, &self.choices);
        if self.generation != *generation {
            self.generation = *generation;
            let is_there: HashSet<&Path> = runs.iter().map(|run| run.run.path()).collect();
            self.selection.runs.retain(|path| is_there.contains(path.as_path()));
        }
        self.undecided(ui);
        let selected = SelectedRuns::of(&self.lines, &self.selection);
        action = self.selection_bar(ui, &selected, runs).or(action);
        if self.lines.len() == 0 {
            let text = match runs.len() {
                0 if *generation == 0 => "Reading the runs…".to_owned(),
                0 => "No runs yet. “Import runs…” reads those of other programs.".to_owned(),
                count => format!("None of {count} runs fits the filter."),
            };
            ui.add_space(8.0);
            ui.label(RichText::new(text).weak());
            return action;
        }
        action.or(self.table(ui, input))
    }

    fn table(&mut self, ui: &mut Ui, input: &ListInput<'_>) -> Option<RunsAction> {
        let rect = ui.available_rect_before_wrap();
        let focus = ui.interact(rect, ui.scope_id().with("table of runs"), Sense::focusable_noninteractive());
        focus.widget_info(|| WidgetInfo::labeled(Role::Grid, true, "Table of runs"));
        let mut action = if focus.has_focus() { self.keys(ui, &focus, input.selected) } else { None };
        let shown: HashSet<&Path> = input.selected.iter().map(RunFolder::path).collect();
        let table = self.sized(ui);
        let mut view = TableView {
            lines: &self.lines,
            choices: &mut self.choices,
            selection: &mut self.selection,
            open: &mut self.open,
            shown: &shown,
            pens: input.pens,
            has_focus: focus.has_focus(),
            takes_focus: false,
            action: None,
        };
        let id = table.get_id(ui);
        // A bar shows that there are more columns.
        ui.spacing_mut().scroll = egui::style::ScrollStyle::solid();
        table.show(ui, &mut view);
        if view.takes_focus {
            focus.request_focus();
        }
        action = view.action.or(action);
        self.keep_widths(ui, id);
        action
    }

    fn sized(&mut self, ui: &Ui) -> Table {
        let width = |column: &Column| {
            let chosen = self.choices.widths.get(&column.field).copied();
            Width::new(chosen.unwrap_or_else(|| self.usual_width(ui, column)))
                .range(NARROWEST..=WIDEST)
                .id(self.width_id(column))
        };
        let marks = Width::new(MARKS).resizable(false).range(MARKS..=MARKS).id(Id::unique("marks of runs"));
        let columns: Vec<Width> = std::iter::once(marks).chain(self.lines.columns.iter().map(width)).collect();
        let sticky = if ui.available_width() < STICKY { 1 } else { 2 };
        let mut table = Table::new()
            .id_salt("table of runs")
            .num_rows(self.lines.len() as u64)
            .columns(columns.clone())
            .num_sticky_cols(sticky)
            .headers([HeaderRow::new(LINE)]);
        // A table without a state would fit its columns to the visible cells.
        let id = table.get_id(ui);
        if TableState::load(ui, id).is_none() {
            let widths = columns.iter().filter_map(|column| Some((column.id?, column.current)));
            let col_widths = widths.collect();
            TableState { col_widths, parent_width: None }.store(ui, id);
        }
        if let Some(line) = self.scroll_to.take() {
            table = table.scroll_to_row(line as u64, None);
        }
        table
    }

    fn additions(&self) -> [bool; 2] {
        [!self.choices.grouping.by.is_empty(), self.lines.baseline.is_some()]
    }

    /// The id of a column's width: columns of numbers are wider when they show deviations or differences.
    fn width_id(&self, column: &Column) -> Id {
        let additions = self.additions().map(|is_shown| is_shown && column.format.is_number());
        Id::unique(("column of runs", &column.field, additions))
    }

    /// Computes the width of a column that the user has not resized: that of its title, or of its numbers.
    fn usual_width(&self, ui: &Ui, column: &Column) -> f32 {
        if column.field == "name" {
            // If columns show the settings, names need not be shown completely.
            let has_settings = self.lines.columns.iter().any(|column| column.is_setting);
            return if has_settings { NAME_WITH_SETTINGS } else { NAME };
        }
        let font = TextStyle::Body.resolve(ui.style());
        let title = (text_width(ui, &font, &column.short).ceil() + TITLE_MARGIN).clamp(NARROW, WIDE);
        let [has_deviation, has_difference] = self.additions();
        let number = match column.format.is_number() {
            false => 0.0,
            true if column.is_setting && !has_difference => 0.0,
            true => {
                // Settings have no mean.
                let deviation = if has_deviation && !column.is_setting { DEVIATION } else { 0.0 };
                NARROW + deviation + if has_difference { DIFFERENCE } else { 0.0 }
            }
        };
        title.max(number)
    }

    fn keep_widths(&mut self, ui: &Ui, id: Id) {
        let Some(state) = TableState::load(ui, id) else { return };
        let columns = Arc::clone(&self.lines.columns);
        for column in columns.iter() {
            let Some(width) = state.col_widths.get(&self.width_id(column)) else { continue };
            if (width - self.usual_width(ui, column)).abs() > 1.0 {
                self.choices.widths.insert(column.field.clone(), *width);
            } else {
                self.choices.widths.remove(&column.field);
            }
        }
    }

    fn keys(&mut self, ui: &Ui, focus: &Response, shown: &[RunFolder]) -> Option<RunsAction> {
        let escape = !self.selection.runs.is_empty();
        let filter = EventFilter { horizontal_arrows: true, vertical_arrows: true, escape, ..EventFilter::default() };
        ui.memory_mut(|memory| memory.set_focus_lock_filter(focus.id, filter));
        let page = ((focus.rect.height() / LINE) as isize - 2).max(1);
        let steps = [
            (Key::ArrowDown, 1),
            (Key::ArrowUp, -1),
            (Key::PageDown, page),
            (Key::PageUp, -page),
            (Key::Home, isize::MIN),
            (Key::End, isize::MAX),
        ];
        for (key, by) in steps {
            for (modifiers, extends) in [(Modifiers::SHIFT, true), (Modifiers::NONE, false)] {
                let count = ui.input_mut(|input| input.count_and_consume_key(modifiers, key));
                if count > 0 {
                    let by = by.saturating_mul(isize::try_from(count).unwrap_or(1));
                    self.scroll_to = self.selection.step(&self.lines, by, extends);
                }
            }
        }
        let pressed = |modifiers, key| ui.input_mut(|input| input.consume_key(modifiers, key));
        if pressed(Modifiers::COMMAND, Key::A) {
            self.selection.select_all(&self.lines);
        }
        if escape && pressed(Modifiers::NONE, Key::Escape) {
            self.selection.runs.clear();
        }
        let selected = || SelectedRuns::of(&self.lines, &self.selection).folders();
        if pressed(Modifiers::NONE, Key::Space) {
            let runs = selected();
            let is_shown = !runs.is_empty() && runs.iter().all(|run| shown.contains(run));
            return Some(RunsAction::Show(runs, !is_shown));
        }
        if pressed(Modifiers::NONE, Key::Delete) {
            // Selected runs that the filter hides stay.
            return Some(selected()).filter(|runs| !runs.is_empty()).map(RunsAction::Delete);
        }
        let cursor = self.selection.cursor(&self.lines)?;
        let group = self.lines.group_of(cursor).map(|(_, _, is_open)| is_open);
        let is_turned = [(Key::ArrowRight, false), (Key::ArrowLeft, true)]
            .into_iter()
            .any(|(key, is_open)| group == Some(is_open) && pressed(Modifiers::NONE, key));
        if is_turned {
            self.lines.toggle_group(&mut self.open, cursor);
        }
        if pressed(Modifiers::NONE, Key::Enter) { self.lines.open(&mut self.open, cursor) } else { None }
    }
}

const MENU_HEIGHT: f32 = 380.0;
/// The width of a column's title in the menu of columns, in points.
const COLUMN_TITLE: f32 = 190.0;
/// The width of the number of selected runs, in points.
const COUNT: f32 = 84.0;
/// The smallest and the largest width of the filter, in points.
const FILTER: [f32; 2] = [150.0, 420.0];
const MOST_UNDECIDED: usize = 2;
/// The width of the menus and the number of runs to the right of the filter, in points.
const BAR_BEFORE_FILTER: f32 = 390.0;

/// The selected runs, in the order of the table.
struct SelectedRuns(Vec<Arc<Summary>>);

impl SelectedRuns {
    fn of(lines: &Lines, selection: &Selection) -> SelectedRuns {
        if selection.runs.is_empty() {
            return SelectedRuns(Vec::new());
        }
        SelectedRuns(lines.listed().filter(|run| selection.runs.contains(run.run.path())).cloned().collect())
    }

    fn folders(&self) -> Vec<RunFolder> {
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
    fn top_bar(&mut self, ui: &mut Ui, filter: &mut FilterField, listed: &ListedRuns) -> Option<RunsAction> {
        let mut action = None;
        ui.horizontal_wrapped(|ui| {
            let back = ui.button("← Curves").on_hover_text("Show the curves in place of the table");
            if back.accessible_name("Show the curves").clicked() {
                action = Some(RunsAction::ShowTable(false));
            }
            let width = (ui.available_width() - BAR_BEFORE_FILTER).clamp(FILTER[0], FILTER[1]);
            filter.ui(ui, listed, width);
            self.columns_menu(ui);
            self.groups_menu(ui);
            if ui.button("Import runs…").on_hover_text("Read runs of other programs or machines").clicked() {
                action = Some(RunsAction::Import { follows: false });
            }
            let follow = ui.button("Follow a folder…");
            if follow.on_hover_text("Read runs of other programs, and their new points as they are written").clicked() {
                action = Some(RunsAction::Import { follows: true });
            }
            for folder in self.followed.keys() {
                let name = folder.file_name().unwrap_or(folder.as_os_str()).to_string_lossy();
                let text = RichText::new(format!("Following {}", visible(&name))).small();
                ui.add(Label::new(text).truncate()).on_hover_text(visible_path(folder));
                if small_button(ui, true, "×", &format!("Follow {name} no longer"), "The runs stay as they are") {
                    action = Some(RunsAction::Unfollow(folder.clone()));
                }
            }
            let [found, all] = self.lines.counts().map(|count| grouped(count as u64));
            let runs = if all == "1" { "run" } else { "runs" };
            let text = if found == all { format!("{all} {runs}") } else { format!("{found} of {all} {runs}") };
            ui.add(Label::new(RichText::new(text).small().weak()));
            if let Some(baseline) = &self.lines.baseline {
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
        let columns = Arc::clone(&self.lines.all_columns);
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
                        // Aligns the arrows of all columns.
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
        let all_columns = Arc::clone(&self.lines.all_columns);
        let title = if self.choices.grouping.by.is_empty() { "Group" } else { "Grouped" };
        stays_open(title).ui(ui, |ui| {
            let group_by = &mut self.choices.grouping.by;
            if ui.add_enabled(!group_by.is_empty(), Button::new("No groups")).clicked() {
                group_by.clear();
            }
            let mut is_replicates = group_by.iter().any(|field| field == REPLICATES);
            let help = "Runs that differ only in the seed are a group";
            if check_box(ui, &mut is_replicates, "Replicates").on_hover_text(help).changed() {
                *group_by = if is_replicates { vec![REPLICATES.to_owned()] } else { Vec::new() };
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
                    let mut is_chosen = self.choices.grouping.by.contains(&field);
                    if check_box(ui, &mut is_chosen, format!("Equal {}", lower_first(&title))).changed() {
                        self.choices.grouping.by.retain(|field| field != REPLICATES);
                        self.choices.toggle_group(&field);
                    }
                }
            });
            ui.separator();
            self.summary_choice(ui, &all_columns);
        });
    }

    fn summary_choice(&mut self, ui: &mut Ui, columns: &Columns) {
        ui.label(RichText::new("Groups show").small().weak());
        for statistic in Statistic::ALL {
            radio_button(ui, &mut self.choices.grouping.statistic, statistic, statistic.name());
        }
        let result = Grouping::result(&self.choices.sort, columns, self.lines.facts());
        let result = result.map_or_else(|_| "best loss of its runs".to_owned(), |column| lower_first(&column.title));
        let help = format!(
            "Of each group only the runs with the value of this setting whose {result} is best, such as each optimizer \
             at its best learning rate. Sort by another result to judge by it."
        );
        ui.label(RichText::new("Each at its best").small().weak()).on_hover_text(&help);
        let best_over = &mut self.choices.grouping.best_over;
        radio_button(ui, best_over, None, "all its runs");
        for column in columns.iter().filter(|column| column.is_setting && column.is_usual) {
            let title = lower_first(&column.title);
            radio_button(ui, best_over, Some(column.field.clone()), title).on_hover_text(&help);
        }
    }

    fn undecided(&self, ui: &mut Ui) {
        let undecided = &self.lines.undecided;
        for reason in undecided.iter().take(MOST_UNDECIDED) {
            let text = RichText::new(reason).small().color(ui.visuals().warn_fg_color);
            ui.add(Label::new(text).wrap());
        }
        if undecided.len() > MOST_UNDECIDED {
            let text = format!("and {} more groups without a best value", undecided.len() - MOST_UNDECIDED);
            ui.label(RichText::new(text).small().weak()).on_hover_text(undecided.join("\n"));
        }
    }

    fn selection_bar(&mut self, ui: &mut Ui, selected: &SelectedRuns, runs: &[Arc<Summary>]) -> Option<RunsAction> {
        let mut action = None;
        ui.horizontal_wrapped(|ui| {
            if self.selection.runs.is_empty() {
                let text = "Click a run to select it, with Ctrl or Shift several. Space shows or hides their curves, \
                            Enter opens one.";
                ui.add(Label::new(RichText::new(text).small().weak()).truncate());
                return;
            }
            self.selected_count(ui, selected);
            let folders = || selected.folders();
            let mut ask = |pressed: bool, asked: RunsAction| action = pressed.then_some(asked).or(action.take());
            let (any, one, several) = (!selected.0.is_empty(), selected.0.len() == 1, selected.0.len() > 1);
            let show = small_button(ui, any, "Show", "Show the selected runs", "Show their curves with the others");
            ask(show, RunsAction::Show(folders(), true));
            let hide = small_button(ui, any, "Hide", "Hide the selected runs", "Hide their curves");
            ask(hide, RunsAction::Show(folders(), false));
            let open = selected.open();
            let help = "Save a checkpoint and end those that are trained; they can be resumed";
            let stop = small_button(ui, !open.is_empty(), "Stop", "Stop the selected runs", help);
            ask(stop, RunsAction::Stop(open));
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
            ask(compare, RunsAction::Compare(folders()));
            let tagged = self.tag_menu(ui, selected, runs);
            let help = "Save their lines of the table, or all their points";
            let export = small_button(ui, any, "Export…", "Export the selected runs", help);
            ask(export, RunsAction::Export(folders(), self.lines.csv(&selected.0)));
            let delete = small_button(ui, any, "Delete…", "Delete the selected runs", "Move them to the trash");
            ask(delete, RunsAction::Delete(folders()));
            action = action.take().or(tagged);
        });
        action
    }

    /// Shows the number of selected runs. The buttons to its right do not move as it changes.
    fn selected_count(&self, ui: &mut Ui, selected: &SelectedRuns) {
        let hidden = self.selection.runs.len() - selected.0.len();
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

    fn tag_menu(&mut self, ui: &mut Ui, selected: &SelectedRuns, runs: &[Arc<Summary>]) -> Option<RunsAction> {
        let mut action = None;
        stays_open(RichText::new("Tag").small()).ui(ui, |ui| {
            let tags: BTreeSet<&String> = runs.iter().flat_map(|run| &run.notes.tags).collect();
            ScrollArea::vertical().max_height(MENU_HEIGHT).show(ui, |ui| {
                for tag in tags {
                    let mut has = selected.has_tag(tag);
                    if check_box(ui, &mut has, tag).changed() {
                        action = Some(RunsAction::Tag(selected.folders(), tag.clone(), has));
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
                    action = Some(RunsAction::Tag(selected.folders(), tag, true));
                }
                field.request_focus();
            }
        });
        action
    }
}
