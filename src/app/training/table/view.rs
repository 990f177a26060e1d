//! Draws the cells of the table of runs.

use std::collections::{BTreeSet, HashSet};
use std::path::Path;

use egui::{
    Align, Color32, CornerRadius, Label, Layout, Rect, Response, RichText, Role, Sense, Stroke, StrokeKind, Ui,
    WidgetInfo, vec2,
};
use egui_table::{CellInfo, HeaderCellInfo, TableDelegate};

use super::lines::{Click, Lines, Selection, TableChoices};
use crate::app::training::legend::line as line_sample;
use crate::app::training::list::{RunsAction, color_entry, status_color, tooltip, warning_mark};
use crate::app::training::names::Pens;
use crate::runs::{Column, GroupChoice};

/// The height of a line, and of the header, in points.
pub(super) const LINE: f32 = 24.0;
/// The space at the left and the right of a cell, in points.
const MARGIN: f32 = 6.0;
/// The width of the first column, in points: the box that shows a run, and its line in the plots.
pub(super) const MARKS: f32 = 58.0;
/// The indent of runs in a group, in points.
const INDENT: f32 = 14.0;

pub(super) struct TableView<'t> {
    pub lines: &'t Lines,
    pub choices: &'t mut TableChoices,
    pub selection: &'t mut Selection,
    /// The open groups.
    pub open: &'t mut BTreeSet<String>,
    /// The runs whose curves are shown.
    pub shown: &'t HashSet<&'t Path>,
    pub pens: &'t Pens,
    pub has_focus: bool,
    /// Whether the table gets the focus.
    pub takes_focus: bool,
    pub action: Option<RunsAction>,
}

impl TableDelegate for TableView<'_> {
    fn header_cell_ui(&mut self, ui: &mut Ui, cell: &HeaderCellInfo) {
        let lines = self.lines;
        if let Some(column) = cell.col_range.start.checked_sub(1).and_then(|index| lines.columns.get(index)) {
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
            self.action = self.lines.open(self.open, line);
        } else if response.clicked() {
            let modifiers = ui.input(|input| input.modifiers);
            let how = match (modifiers.shift, modifiers.command) {
                (true, _) => Click::Range,
                (false, true) => Click::Toggle,
                (false, false) => Click::Only,
            };
            self.selection.click(self.lines, line, how);
            self.takes_focus = true;
        }
    }

    fn default_row_height(&self) -> f32 {
        LINE
    }
}

impl TableView<'_> {
    fn is_selected(&self, line: usize) -> bool {
        let runs = self.lines.runs(line);
        !runs.is_empty() && runs.iter().all(|run| self.selection.runs.contains(run.path()))
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
            self.choices.layout.move_to(&self.lines.all_columns, &other, field);
        } else if response.clicked() {
            self.choices.sort_by(field);
        }
        self.header_menu(&response, column);
        let help =
            format!("{title}. {help}.\nIn a filter: {field}\nClick to sort, drag to move, right-click for more.");
        response.on_hover_text(help);
    }

    fn header_menu(&mut self, response: &Response, Column { field, is_setting, .. }: &Column) {
        response.context_menu(|ui| {
            let TableChoices { layout, .. } = &mut *self.choices;
            let columns = &self.lines.all_columns;
            let mut is_chosen = |text: &str| ui.button(text).clicked();
            let (ascending, descending) = (is_chosen("Sort ascending"), is_chosen("Sort descending"));
            let (left, right) = (is_chosen("Move left"), is_chosen("Move right"));
            let is_hidden = is_chosen("Hide this column");
            let is_grouped = (*is_setting || field == "optimizer") && is_chosen("Group by it");
            if left || right {
                layout.shift(columns, field, left);
            }
            if is_hidden {
                layout.show(field, false);
            }
            if ascending || descending {
                self.choices.sort_in_order(field, descending);
            }
            if is_grouped {
                self.choices.toggle_group(field);
            }
            if ascending || descending || left || right || is_hidden || is_grouped {
                ui.close();
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
                self.lines.toggle_group(self.open, line);
                self.takes_focus = true;
            }
            let best = match &group.choice {
                GroupChoice::All => String::new(),
                GroupChoice::Best { result, .. } => format!("\nIt shows its {shown} runs with the best {result}"),
                GroupChoice::Undecided(reason) => format!("\nIt shows all: {reason}"),
            };
            response.on_hover_text(format!("{verb} this group of {count} runs{best}"));
            return;
        }
        let lines = self.lines;
        let Some(run) = lines.run(line) else { return };
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
            self.action = Some(RunsAction::Show(vec![run.run.clone()], !is_shown));
            self.takes_focus = true;
        }
    }

    fn value(&mut self, ui: &mut Ui, line: usize, index: usize, response: &Response) {
        let Some(column) = self.lines.columns.get(index) else { return };
        let cell = self.lines.cell(line, index);
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
        let lines = self.lines;
        let Some(run) = lines.run(line) else {
            let name = lines.group_name(line);
            response.widget_info(|| WidgetInfo::selected(Role::Button, true, is_selected, format!("Group {name}")));
            in_cell(ui, false, |ui| {
                ui.add(Label::new(RichText::new(&name).strong()).selectable(false).truncate());
            });
            response.clone().on_hover_text(name);
            return;
        };
        response
            .widget_info(|| WidgetInfo::selected(Role::Button, true, is_selected, format!("Run {}", run.in_full())));
        let is_baseline = self.lines.baseline.as_ref().is_some_and(|baseline| baseline.run == run.run);
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
            let (is_opened, is_pinned) =
                (ui.button("Show its curves").clicked(), ui.button("Compare others to it").clicked());
            if is_opened {
                self.action = Some(RunsAction::Open(vec![run.run.clone()]));
            }
            if is_pinned {
                self.choices.baseline = Some(run.run.path().to_owned());
            }
            if is_opened || is_pinned {
                ui.close();
            }
            if let Some(color) = color_entry(ui, run, self.pens) {
                self.action = Some(RunsAction::Color(run.run.clone(), color));
            }
        });
        if menu.is_none() && response.hovered() {
            response.clone().on_hover_text(tooltip(run));
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
