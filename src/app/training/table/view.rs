//! Draws the table of runs, and the bars above it: filter, columns and groups, and the actions on the selected runs.

use std::collections::{BTreeSet, HashSet};
use std::path::Path;
use std::sync::Arc;

use egui::{
    Align, Button, Color32, CornerRadius, Key, Label, Layout, Rect, Response, RichText, Role, ScrollArea, Sense,
    Stroke, StrokeKind, TextEdit, Ui, WidgetInfo, vec2,
};
use egui_table::{CellInfo, HeaderCellInfo, TableDelegate};
use valleyscope_experiments::view::ticks::grouped;
use valleyscope_runs::RunFolder;

use super::lines::{Click, Lines, Selection};
use super::{RunTable, TableChoices};
use crate::app::landscape::figure_export::stays_open;
use crate::app::training::legend::line as line_sample;
use crate::app::training::list::{
    FilterField, ListInput, RunsAction, color_entry, status_color, tooltip, warning_mark,
};
use crate::app::training::names::Pens;
use crate::app::training::summary::Summary;
use crate::app::widgets::form::{cell, small_button};
use crate::app::widgets::form::{check_box, radio_button};
use crate::runs::{Column, Columns, GroupChoice, Grouping, Replicates, Statistic, lower_first};

/// The height of a line, and of the header, in points.
pub(super) const LINE: f32 = 24.0;
/// The space at the left and the right of a cell, in points.
const MARGIN: f32 = 6.0;
/// The width of the first column, in points: the box that shows a run, and its line in the plots.
pub(super) const MARKS: f32 = 58.0;
/// The indent of runs in a group, in points.
const INDENT: f32 = 14.0;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum TableEvent {
    Sort(String),
    SortInOrder(String, bool),
    /// Moves a column to the position of another one.
    Move(String, String),
    /// Moves a column by one position, to the left if true.
    Shift(String, bool),
    Hide(String),
    Group(String),
    Click(usize, Click),
    Open(usize),
    ToggleShown(usize),
    ToggleGroup(usize),
    Pin(usize),
    Color(usize, Option<[u8; 3]>),
}

pub(super) struct TableView<'t> {
    pub lines: &'t mut Lines,
    pub choices: &'t TableChoices,
    pub selection: &'t Selection,
    /// The runs whose curves are shown.
    pub shown: &'t HashSet<&'t Path>,
    pub pens: &'t Pens,
    pub has_focus: bool,
    pub events: Vec<TableEvent>,
}

impl TableDelegate for TableView<'_> {
    fn header_cell_ui(&mut self, ui: &mut Ui, cell: &HeaderCellInfo) {
        let columns = Arc::clone(self.lines.columns());
        if let Some(column) = cell.col_range.start.checked_sub(1).and_then(|index| columns.get(index)) {
            self.header(ui, column);
        }
    }

    fn row_ui(&mut self, ui: &mut Ui, row: u64) {
        let line = row as usize;
        let rect = ui.max_rect();
        let visuals = ui.visuals();
        let is_selected = self.is_selected(line);
        let fill = match (is_selected, ui.rect_contains_pointer(rect)) {
            (true, _) => visuals.selection.bg_fill.gamma_multiply(0.45),
            (false, true) => visuals.widgets.hovered.weak_bg_fill.gamma_multiply(0.4),
            (false, false) if line % 2 == 1 => visuals.faint_bg_color,
            (false, false) => Color32::TRANSPARENT,
        };
        ui.painter().rect_filled(rect, CornerRadius::ZERO, fill);
        if self.has_focus && self.selection.is_cursor(self.lines.id(line).as_ref()) {
            let stroke = Stroke::new(1.0, visuals.selection.stroke.color);
            ui.painter().rect_stroke(rect.shrink(0.5), CornerRadius::ZERO, stroke, StrokeKind::Inside);
        }
    }

    fn cell_ui(&mut self, ui: &mut Ui, cell: &CellInfo) {
        let line = cell.row_nr as usize;
        // Cells are not Tab-focusable: the arrow keys move through the table.
        let response = ui.interact(ui.max_rect(), ui.scope_id().with("cell"), Sense::CLICK | Sense::HOVER);
        match cell.col_nr.checked_sub(1) {
            None => self.marks(ui, line),
            Some(column) => self.value(ui, line, column, &response),
        }
        if response.double_clicked() {
            self.events.push(TableEvent::Open(line));
        } else if response.clicked() {
            let modifiers = ui.input(|input| input.modifiers);
            let how = match (modifiers.shift, modifiers.command) {
                (true, _) => Click::Range,
                (false, true) => Click::Toggle,
                (false, false) => Click::Only,
            };
            self.events.push(TableEvent::Click(line, how));
        }
    }

    fn default_row_height(&self) -> f32 {
        LINE
    }
}

impl TableView<'_> {
    fn is_selected(&self, line: usize) -> bool {
        let runs = self.lines.runs(line);
        !runs.is_empty() && runs.iter().all(|run| self.selection.contains(run.path()))
    }

    /// Shows the title of a column, which sorts by it and can be dragged to another position.
    fn header(&mut self, ui: &mut Ui, column: &Column) {
        let Column { field, title, short, help, .. } = column;
        let rect = ui.max_rect();
        let response = ui.interact(rect, ui.scope_id().with("header"), Sense::click_and_drag());
        response.widget_info(|| WidgetInfo::labeled(Role::Button, true, format!("Sort by {title}")));
        let visuals = ui.visuals();
        if response.hovered() || response.has_focus() {
            ui.painter().rect_filled(
                rect,
                CornerRadius::ZERO,
                visuals.widgets.hovered.weak_bg_fill.gamma_multiply(0.5),
            );
        }
        ui.painter().hline(rect.x_range(), rect.bottom() - 0.5, visuals.widgets.noninteractive.bg_stroke);
        let key = self.choices.sort.first().filter(|key| key.field == *field);
        let arrow = key.map_or("", |key| if key.is_descending { "▼ " } else { "▲ " });
        in_cell(ui, column.format.is_number(), |ui| {
            ui.add(Label::new(RichText::new(format!("{arrow}{short}")).strong()).selectable(false).truncate());
        });
        response.dnd_set_drag_payload(field.clone());
        if response.dnd_hover_payload::<String>().is_some_and(|other| *other != *field) {
            ui.painter().vline(
                rect.left() + 1.0,
                rect.y_range(),
                Stroke::new(2.0, ui.visuals().selection.stroke.color),
            );
        }
        if let Some(other) = response.dnd_release_payload::<String>() {
            self.events.push(TableEvent::Move(String::clone(&other), field.clone()));
        } else if response.clicked() {
            self.events.push(TableEvent::Sort(field.clone()));
        }
        self.header_menu(&response, column);
        let help =
            format!("{title}. {help}.\nIn a filter: {field}\nClick to sort, drag to move, right-click for more.");
        response.on_hover_text(help);
    }

    fn header_menu(&mut self, response: &Response, Column { field, is_setting, .. }: &Column) {
        response.context_menu(|ui| {
            let entries = [
                ("Sort ascending", TableEvent::SortInOrder(field.clone(), false)),
                ("Sort descending", TableEvent::SortInOrder(field.clone(), true)),
                ("Move left", TableEvent::Shift(field.clone(), true)),
                ("Move right", TableEvent::Shift(field.clone(), false)),
                ("Hide this column", TableEvent::Hide(field.clone())),
            ];
            let group =
                (*is_setting || field == "optimizer").then(|| ("Group by it", TableEvent::Group(field.clone())));
            for (text, event) in entries.into_iter().chain(group) {
                if ui.button(text).clicked() {
                    self.events.push(event);
                    ui.close();
                }
            }
        });
    }

    /// Shows whether the run's curves are shown, and its line in them; for a group, whether it is open.
    fn marks(&mut self, ui: &mut Ui, line: usize) {
        let rect = ui.max_rect();
        if let Some((_, group, is_open)) = self.lines.group_of(line) {
            let name = self.lines.group_name(line);
            let [shown, count] = [group.shown.len(), group.members.len()];
            let counts = if shown < count { format!("{shown}/{count}") } else { count.to_string() };
            let text = format!("{} {counts}", if is_open { "▼" } else { "▶" });
            let response = ui.interact(rect, ui.scope_id().with("group"), Sense::CLICK | Sense::HOVER);
            let verb = if is_open { "Close" } else { "Open" };
            response.widget_info(|| WidgetInfo::labeled(Role::Button, true, format!("{verb} the group {name}")));
            ui.add_space(MARGIN);
            ui.add(Label::new(text).selectable(false));
            if response.clicked() {
                self.events.push(TableEvent::ToggleGroup(line));
            }
            let best = match &group.choice {
                GroupChoice::All => String::new(),
                GroupChoice::Best { result, .. } => format!("\nIt shows its {shown} runs with the best {result}"),
                GroupChoice::Undecided(reason) => format!("\nIt shows all: {reason}"),
            };
            response.on_hover_text(format!("{verb} this group of {count} runs{best}"));
            return;
        }
        let Some(run) = self.lines.run(line) else { return };
        let is_shown = self.shown.contains(run.run.path());
        let check = Rect::from_min_size(rect.left_center() - vec2(-MARGIN, 7.0), vec2(14.0, 14.0));
        let response = ui.interact(check.expand(4.0), ui.scope_id().with("show"), Sense::CLICK | Sense::HOVER);
        let name = format!("Compare {}", run.in_full());
        response.widget_info(|| WidgetInfo::selected(Role::CheckBox, true, is_shown, name.clone()));
        let visuals = ui.style().interact(&response);
        ui.painter().rect(check, 2.0, visuals.bg_fill, visuals.fg_stroke, StrokeKind::Inside);
        if is_shown {
            let [a, b, c] = [(0.2, 0.55), (0.42, 0.78), (0.8, 0.25)].map(|(x, y)| check.lerp_inside(vec2(x, y)));
            ui.painter().line(vec![a, b, c], Stroke::new(2.0, ui.visuals().strong_text_color()));
        }
        ui.add_space(MARGIN + 14.0 + MARGIN);
        line_sample(ui, self.pens.of(run));
        if response.on_hover_text("Show its curves together with the others").clicked() {
            self.events.push(TableEvent::ToggleShown(line));
        }
    }

    fn value(&mut self, ui: &mut Ui, line: usize, index: usize, response: &Response) {
        let columns = Arc::clone(self.lines.columns());
        let Some(column) = columns.get(index) else { return };
        let cell = self.lines.cells(line).get(index).cloned().unwrap_or_default();
        if column.field == "name" {
            return self.name(ui, line, &cell.text, response);
        }
        let run = self.lines.run(line);
        let visuals = ui.visuals();
        let color = match run {
            Some(run) if column.field == "state" => Some(status_color(visuals, &run.status)),
            _ if cell.is_of_baseline => Some(visuals.weak_text_color()),
            _ => None,
        };
        in_cell(ui, column.format.is_number(), |ui| {
            let text = |text: &str, color: Option<Color32>| {
                let text = RichText::new(text);
                color.map_or(text.clone(), |color| text.color(color))
            };
            if let Some((difference, is_better)) = &cell.difference {
                let visuals = ui.visuals();
                let color = match is_better {
                    Some(true) => visuals.hyperlink_color,
                    Some(false) => visuals.warn_fg_color,
                    None => visuals.weak_text_color(),
                };
                ui.add(Label::new(text(difference, Some(color)).small()).selectable(false).truncate());
            }
            ui.add(Label::new(text(&cell.text, color)).selectable(false).truncate());
        });
        let note = Some(&cell.text).filter(|text| column.field == "note" && !text.is_empty());
        if let Some(text) = cell.remark.as_ref().or(note) {
            response.clone().on_hover_text(text);
        }
    }

    fn name(&mut self, ui: &mut Ui, line: usize, text: &str, response: &Response) {
        let is_selected = self.is_selected(line);
        let Some(run) = self.lines.run(line) else {
            let name = self.lines.group_name(line);
            response.widget_info(|| WidgetInfo::selected(Role::Button, true, is_selected, format!("Group {name}")));
            in_cell(ui, false, |ui| {
                ui.add(Label::new(RichText::new(&name).strong()).selectable(false).truncate());
            });
            response.clone().on_hover_text(name);
            return;
        };
        response
            .widget_info(|| WidgetInfo::selected(Role::Button, true, is_selected, format!("Run {}", run.in_full())));
        let is_baseline = self.lines.baseline().is_some_and(|baseline| baseline.run == run.run);
        in_cell(ui, false, |ui| {
            if self.lines.is_in_group(line) {
                ui.add_space(INDENT);
            }
            warning_mark(ui, &run.concerns);
            if is_baseline {
                ui.add(Label::new(RichText::new("baseline").small().strong()).selectable(false));
            }
            ui.add(Label::new(text).selectable(false).truncate());
        });
        let menu = response.context_menu(|ui| {
            for (text, event) in
                [("Show its curves", TableEvent::Open(line)), ("Compare others to it", TableEvent::Pin(line))]
            {
                if ui.button(text).clicked() {
                    self.events.push(event);
                    ui.close();
                }
            }
            let color = self.lines.run(line).and_then(|run| color_entry(ui, run, self.pens));
            self.events.extend(color.map(|color| TableEvent::Color(line, color)));
        });
        if menu.is_none() && response.hovered() {
            let text = self.lines.run(line).map(|run| tooltip(run)).unwrap_or_default();
            response.clone().on_hover_text(text);
        }
    }
}

fn in_cell(ui: &mut Ui, is_number: bool, add: impl FnOnce(&mut Ui)) {
    ui.spacing_mut().item_spacing.x = 4.0;
    let layout = match is_number {
        true => Layout::right_to_left(Align::Center),
        false => Layout::left_to_right(Align::Center),
    };
    let inside = ui.max_rect().shrink2(vec2(MARGIN, 0.0));
    ui.scope_builder(egui::UiBuilder::new().max_rect(inside).layout(layout), add);
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
    ) -> Option<RunsAction> {
        let mut action = None;
        ui.horizontal_wrapped(|ui| {
            let back = ui.button("← Curves").on_hover_text("Show the curves in place of the table");
            if back.accessible_name("Show the curves").clicked() {
                action = Some(RunsAction::ShowTable(false));
            }
            let width = (ui.available_width() - BAR_BEFORE_FILTER).clamp(FILTER[0], FILTER[1]);
            filter.ui(ui, input, width);
            self.columns_menu(ui);
            self.groups_menu(ui);
            if ui.button("Import runs…").on_hover_text("Read runs of other programs or machines").clicked() {
                action = Some(RunsAction::Import);
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

    pub(super) fn undecided(&self, ui: &mut Ui) {
        let undecided = self.lines.undecided();
        for reason in undecided.iter().take(MOST_UNDECIDED) {
            let text = RichText::new(reason).small().color(ui.visuals().warn_fg_color);
            ui.add(Label::new(text).wrap());
        }
        if undecided.len() > MOST_UNDECIDED {
            let text = format!("and {} more groups without a best value", undecided.len() - MOST_UNDECIDED);
            ui.label(RichText::new(text).small().weak()).on_hover_text(undecided.join("\n"));
        }
    }

    pub(super) fn selection_bar(
        &mut self,
        ui: &mut Ui,
        selected: &SelectedRuns,
        runs: &[Arc<Summary>],
    ) -> Option<RunsAction> {
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
            let exported = self.export_menu(ui, selected);
            let delete = small_button(ui, any, "Delete…", "Delete the selected runs", "Move them to the trash");
            ask(delete, RunsAction::Delete(folders()));
            action = action.take().or(tagged).or(exported);
        });
        action
    }

    /// Shows the number of selected runs. The buttons to its right do not move as it changes.
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

    fn export_menu(&self, ui: &mut Ui, selected: &SelectedRuns) -> Option<RunsAction> {
        let mut action = None;
        ui.menu_button(RichText::new("Export").small(), |ui| {
            if ui.button("All points as CSV…").clicked() {
                action = Some(RunsAction::ExportPoints(selected.folders()));
                ui.close();
            }
            if ui.button("These rows as CSV…").clicked() {
                action = Some(RunsAction::ExportTable(self.lines.csv(&selected.0)));
                ui.close();
            }
        });
        action
    }
}
