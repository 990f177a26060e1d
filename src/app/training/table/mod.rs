//! The table of runs: all runs with their settings and results, to be filtered, sorted, grouped and compared.

mod lines;
mod view;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use egui::{EventFilter, Id, Key, Modifiers, Response, RichText, Role, Sense, TextStyle, Ui, WidgetInfo};
use egui_table::{Column as Width, HeaderRow, Table, TableState};
use lines::{Lines, Selection};
use serde::{Deserialize, Serialize};
use valleyscope_runs::RunFolder;
use view::{LINE, MARKS, SelectedRuns, TableEvent, TableView};

use super::list::{FilterField, ListInput, RunsAction};
use crate::app::widgets::theme::text_width;
use crate::runs::{Column, Grouping, SortKey, Statistic, TableLayout};

/// The usual width of the column of names, without and with columns of settings, and the smallest and the largest usual width of others, in points.
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
}

impl RunTable {
    pub(super) fn ui(&mut self, ui: &mut Ui, filter: &mut FilterField, input: &ListInput<'_>) -> Option<RunsAction> {
        let ListInput { runs, generation, .. } = *input;
        self.lines.update(input, filter, &self.open, &self.choices);
        let mut action = self.top_bar(ui, filter, input);
        filter.mistake(ui);
        // The bar may have changed the filter, the columns or the groups.
        self.lines.update(input, filter, &self.open, &self.choices);
        if self.generation != generation {
            self.generation = generation;
            let is_there: HashSet<&Path> = runs.iter().map(|run| run.run.path()).collect();
            self.selection.retain(|path| is_there.contains(path));
        }
        self.undecided(ui);
        let selected = SelectedRuns::of(&self.lines, &self.selection);
        action = self.selection_bar(ui, &selected, runs).or(action);
        if self.lines.len() == 0 {
            let text = match runs.len() {
                0 if generation == 0 => "Reading the runs…".to_owned(),
                0 => "No runs yet. Start begins one, and “Import runs…” reads those of other programs.".to_owned(),
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
            lines: &mut self.lines,
            choices: &self.choices,
            selection: &self.selection,
            shown: &shown,
            pens: input.pens,
            has_focus: focus.has_focus(),
            events: Vec::new(),
        };
        let id = table.get_id(ui);
        // A bar shows that there are more columns.
        ui.spacing_mut().scroll = egui::style::ScrollStyle::solid();
        table.show(ui, &mut view);
        let events = view.events;
        self.keep_widths(ui, id);
        for event in events {
            if matches!(event, TableEvent::Click(..) | TableEvent::ToggleShown(_) | TableEvent::ToggleGroup(_)) {
                focus.request_focus();
            }
            action = self.handle(event, input).or(action);
        }
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
        let columns: Vec<Width> = std::iter::once(marks).chain(self.lines.columns().iter().map(width)).collect();
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
        [!self.choices.group_by.is_empty(), self.lines.baseline().is_some()]
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
            let has_settings = self.lines.columns().iter().any(|column| column.is_setting);
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
        let columns = Arc::clone(self.lines.columns());
        for column in columns.iter() {
            let Some(width) = state.col_widths.get(&self.width_id(column)) else { continue };
            if (width - self.usual_width(ui, column)).abs() > 1.0 {
                self.choices.widths.insert(column.field.clone(), *width);
            } else {
                self.choices.widths.remove(&column.field);
            }
        }
    }

    fn handle(&mut self, event: TableEvent, input: &ListInput<'_>) -> Option<RunsAction> {
        let (columns, layout) = (self.lines.all_columns(), &mut self.choices.layout);
        match event {
            TableEvent::Sort(field) => self.choices.sort_by(&field),
            TableEvent::SortInOrder(field, is_descending) => self.choices.sort_in_order(&field, is_descending),
            TableEvent::Move(field, to) => layout.move_to(columns, &field, &to),
            TableEvent::Shift(field, to_left) => layout.shift(columns, &field, to_left),
            TableEvent::Hide(field) => layout.show(&field, false),
            TableEvent::Group(field) => self.choices.toggle_group(&field),
            TableEvent::Click(line, how) => self.selection.click(&self.lines, line, how),
            TableEvent::Open(line) => return self.open(line),
            TableEvent::ToggleGroup(line) => self.toggle_group(line),
            TableEvent::Pin(line) => {
                self.choices.baseline = self.lines.run(line).map(|run| run.run.path().to_owned());
            }
            TableEvent::Color(line, color) => {
                return Some(RunsAction::Color(self.lines.run(line)?.run.clone(), color));
            }
            TableEvent::ToggleShown(line) => {
                let run = self.lines.run(line)?.run.clone();
                let is_shown = input.selected.contains(&run);
                return Some(RunsAction::Show(vec![run], !is_shown));
            }
        }
        None
    }

    fn open(&mut self, line: usize) -> Option<RunsAction> {
        match self.lines.run(line) {
            Some(run) => Some(RunsAction::Open(vec![run.run.clone()])),
            None => {
                self.toggle_group(line);
                None
            }
        }
    }

    fn toggle_group(&mut self, line: usize) {
        if let Some((id, ..)) = self.lines.group_of(line)
            && !self.open.remove(id)
        {
            self.open.insert(id.to_owned());
        }
    }

    fn keys(&mut self, ui: &Ui, focus: &Response, shown: &[RunFolder]) -> Option<RunsAction> {
        let escape = !self.selection.is_empty();
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
            self.selection.clear();
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
            self.toggle_group(cursor);
        }
        if pressed(Modifiers::NONE, Key::Enter) { self.open(cursor) } else { None }
    }
}

/// The choices for the table of runs; stored with the session.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TableChoices {
    /// Whether the table replaces the curves.
    pub is_open: bool,
    pub layout: TableLayout,
    /// The widths of columns in points, by their fields.
    pub widths: BTreeMap<String, f32>,
    pub sort: Vec<SortKey>,
    /// The fields whose values the runs of a group share; empty without groups.
    pub group_by: Vec<String>,
    /// The statistic of numbers that groups show.
    pub statistic: Statistic,
    /// The setting at whose best value each group is shown.
    pub best_over: Option<String>,
    /// The folder of the run to which the others are compared.
    pub baseline: Option<PathBuf>,
    /// The typed filter, which the list of runs shows too.
    pub filter: String,
}

impl TableChoices {
    /// The largest number of fields by which the runs are sorted.
    const MOST_KEYS: usize = 3;

    /// Sorts by a field; if the runs are already sorted by it, in the reverse order. The former fields decide between
    /// equal values.
    pub fn sort_by(&mut self, field: &str) {
        let is_descending = self.sort.first().is_some_and(|key| key.field == field && !key.is_descending);
        self.sort_in_order(field, is_descending);
    }

    pub fn sort_in_order(&mut self, field: &str, is_descending: bool) {
        self.sort.retain(|key| key.field != field);
        self.sort.insert(0, SortKey { field: field.to_owned(), is_descending });
        self.sort.truncate(TableChoices::MOST_KEYS);
    }

    pub fn grouping(&self) -> Grouping {
        let TableChoices { group_by, statistic, best_over, .. } = self;
        Grouping { by: group_by.clone(), statistic: *statistic, best_over: best_over.clone() }
    }

    pub fn toggle_group(&mut self, field: &str) {
        match self.group_by.iter().position(|other| other == field) {
            Some(index) => drop(self.group_by.remove(index)),
            None => self.group_by.push(field.to_owned()),
        }
    }
}
