//! The lines of the table of runs: which runs are listed, in which order and groups, and the texts of their cells.
//!
//! The lines are arranged anew when runs or choices change. The cells of a run are made when they are drawn.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use valleyscope_experiments::view::ticks::with_edge;
use valleyscope_runs::{Better, RunFolder};

use crate::app::training::list::{FilterField, ListInput, RunsAction};
use crate::app::training::summary::Summary;
use crate::runs::{
    Column, Columns, Group, GroupChoice, Grouping, PrintedTable, REPLICATES, RunFacts, SortKey, TableLayout, Value,
    ordered,
};

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
    pub grouping: Grouping,
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

    pub fn toggle_group(&mut self, field: &str) {
        match self.grouping.by.iter().position(|other| other == field) {
            Some(index) => drop(self.grouping.by.remove(index)),
            None => self.grouping.by.push(field.to_owned()),
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Cell {
    pub text: String,
    /// The difference to the baseline, with its sign, and whether it is an improvement, if that is known.
    pub difference: Option<(String, Option<bool>)>,
    /// True where the baseline has the same value.
    pub is_of_baseline: bool,
    /// A text about the value, shown at the pointer.
    pub remark: Option<String>,
}

/// The identity of a line, which stays while other lines are added and removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum LineId {
    Run(PathBuf),
    /// The baseline above groups, in addition to its line in its group.
    Baseline,
    Group(String),
}

enum Line {
    Group { id: String, group: Group, is_open: bool, cells: Vec<Cell> },
    Run { run: usize, role: RunRole },
}

/// The role of a run's line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RunRole {
    Ungrouped,
    InGroup,
    /// The baseline above all groups, one of which also contains it.
    Pinned,
}

#[derive(Clone, PartialEq)]
struct Key {
    /// The numbers of the list of runs and of the filter.
    generations: [u64; 2],
    choices: TableChoices,
    open: BTreeSet<String>,
}

#[derive(Default)]
pub(super) struct Lines {
    key: Option<Key>,
    runs: Vec<Arc<Summary>>,
    pub all_columns: Arc<Columns>,
    /// The shown columns.
    pub columns: Arc<[Column]>,
    lines: Vec<Line>,
    /// The reasons why groups have no best value.
    pub undecided: Vec<String>,
    pub baseline: Option<Arc<Summary>>,
    grouping: Grouping,
    /// The fields in which groups differ, by which they are named.
    distinctive: Vec<Column>,
    /// The number of runs that match the filter.
    found: usize,
}

impl Lines {
    /// Makes the lines again if the runs, the filter, the open groups or the choices have changed.
    pub(super) fn update(
        &mut self,
        input: &ListInput<'_>,
        filter: &FilterField,
        open: &BTreeSet<String>,
        choices: &TableChoices,
    ) {
        let generations = [input.listed.generation, filter.generation];
        let choices = TableChoices { widths: Default::default(), filter: String::new(), ..choices.clone() };
        let key = Key { generations, choices, open: open.clone() };
        if self.key.as_ref() == Some(&key) {
            return;
        }
        let baseline = key.choices.baseline.as_ref();
        let baseline = baseline.and_then(|path| input.listed.runs.iter().find(|run| run.run.path() == path).cloned());
        let found: Vec<usize> =
            (0..input.listed.runs.len()).filter(|index| filter.finds(&input.listed.runs[*index])).collect();
        self.all_columns = match found.len() == input.listed.runs.len() {
            true => Arc::clone(&input.listed.columns),
            false => {
                let facts: Vec<&RunFacts> = found.iter().map(|index| &input.listed.runs[*index].facts).collect();
                Arc::new(input.listed.columns.while_shown(&facts))
            }
        };
        self.columns = key.choices.layout.shown(&self.all_columns).into_iter().cloned().collect();
        (self.baseline, self.runs) = (baseline, input.listed.runs.to_vec());
        self.arrange(found, &key);
        self.key = Some(key);
    }

    fn arrange(&mut self, found: Vec<usize>, key: &Key) {
        let facts: Vec<&RunFacts> = self.runs.iter().map(|run| &run.facts).collect();
        let columns = Arc::clone(&self.all_columns);
        self.found = found.len();
        self.undecided.clear();
        let TableChoices { sort, grouping, .. } = &key.choices;
        self.grouping.clone_from(grouping);
        let mut found = ordered(&facts, found, sort);
        // The baseline stays in view.
        let baseline = self.baseline.as_ref().map(|run| run.run.path());
        let pinned = found.iter().position(|index| Some(self.runs[*index].run.path()) == baseline);
        if grouping.by.is_empty() {
            if let Some(index) = pinned {
                found[..=index].rotate_right(1);
            }
            let line = |run| Line::Run { run, role: RunRole::Ungrouped };
            self.lines = found.into_iter().map(line).collect();
            return;
        }
        let pinned = pinned.map(|index| Line::Run { run: found[index], role: RunRole::Pinned });
        let groups = self.grouping.groups(&facts, found, sort, &columns);
        self.undecided = self.grouping.undecided(&facts, &groups, &columns);
        let fields = grouping.by.iter().chain(&grouping.best_over).filter(|field| *field != REPLICATES);
        let differs = |field: &&String| {
            let of = |group: &Group| facts[group.shown[0]].get(field);
            groups.iter().any(|group| of(group) != of(&groups[0]))
        };
        let fields: Vec<&String> = fields.collect();
        let differing = fields.iter().copied().filter(differs).collect::<Vec<_>>();
        let named = if differing.is_empty() { fields } else { differing };
        self.distinctive = named.into_iter().filter_map(|field| columns.get(field)).cloned().collect();
        let groups = groups.into_iter().flat_map(|group| self.group(group, &key.open));
        self.lines = pinned.into_iter().chain(groups).collect();
    }

    fn group(&self, group: Group, open: &BTreeSet<String>) -> Vec<Line> {
        let first = &self.runs[group.members[0]].facts;
        let id = self.grouping.by.iter().map(|field| format!("{:?}", first.get(field))).collect::<Vec<_>>().join(" ");
        let is_open = open.contains(&id);
        let cells = self.columns.iter().map(|column| {
            let shown = group.shown.iter().map(|index| &self.runs[*index].facts);
            let aggregate = column.of_group(shown, self.grouping.statistic);
            let value = aggregate.value();
            let text = aggregate.text(column.format).into_owned();
            let cell = self.compared(column, value.as_deref(), self.baseline.as_deref(), text);
            let is_best = self.grouping.best_over.as_ref() == Some(&column.field);
            let Some(edge) = group.edge().filter(|_| is_best) else { return cell };
            let remark = Some(format!("The best is {}", edge.sentence(&column.values_word())));
            Cell { text: with_edge(Some(edge), &cell.text), remark, ..cell }
        });
        let cells = cells.collect();
        let line = |run: &usize| Line::Run { run: *run, role: RunRole::InGroup };
        let runs: Vec<Line> = group.members.iter().filter(|_| is_open).map(line).collect();
        std::iter::once(Line::Group { id, group, is_open, cells }).chain(runs).collect()
    }

    /// Makes the cell of a value with its difference to that of the baseline.
    fn compared(&self, column: &Column, value: Option<&Value>, baseline: Option<&Summary>, text: String) -> Cell {
        let Some(baseline) = baseline else { return Cell { text, ..Cell::default() } };
        let is_of_baseline = value.is_some() && column.of(&baseline.facts) == value;
        let difference = self.difference(column, value).filter(|_| !is_of_baseline);
        Cell { text, difference, is_of_baseline, remark: None }
    }

    /// Computes the difference of a column's value to that of the baseline.
    fn difference(&self, column: &Column, value: Option<&Value>) -> Option<(String, Option<bool>)> {
        let (value, from) = (value?, column.of(&self.baseline.as_ref()?.facts)?);
        let text = column.format.difference(value, from)?;
        let is_less = value.number()? < from.number()?;
        let is_better = match column.better {
            _ if value == from => None,
            Better::Lower => Some(is_less),
            Better::Higher => Some(!is_less),
            Better::Neither => None,
        };
        Some((text, is_better))
    }

    pub(super) fn cell(&self, line: usize, index: usize) -> Cell {
        match self.lines.get(line) {
            None => Cell::default(),
            Some(Line::Group { cells, .. }) => cells[index].clone(),
            Some(Line::Run { run, .. }) => {
                let (run, column) = (&self.runs[*run], &self.columns[index]);
                let baseline = self.baseline.as_deref().filter(|baseline| baseline.run != run.run);
                self.compared(column, column.of(&run.facts), baseline, column.text(&run.facts).into_owned())
            }
        }
    }

    pub(super) fn len(&self) -> usize {
        self.lines.len()
    }

    pub(super) fn listed(&self) -> impl Iterator<Item = &Arc<Summary>> {
        let runs = self.lines.iter().flat_map(|line| match line {
            Line::Group { group, .. } => &group.members[..],
            Line::Run { run, role: RunRole::Ungrouped } => std::slice::from_ref(run),
            // Its group contains it.
            Line::Run { role: RunRole::InGroup | RunRole::Pinned, .. } => &[],
        });
        runs.map(|run| &self.runs[*run])
    }

    /// Formats the shown columns of runs as CSV, with all digits.
    pub(super) fn csv(&self, runs: &[Arc<Summary>]) -> Vec<u8> {
        let shown: Vec<&Column> = self.columns.iter().collect();
        PrintedTable::of_runs(runs.iter().map(|run| &run.facts), &shown).csv()
    }

    /// The numbers of runs that match the filter, and of all.
    pub(super) fn counts(&self) -> [usize; 2] {
        [self.found, self.runs.len()]
    }

    pub(super) fn facts(&self) -> impl Iterator<Item = &RunFacts> {
        self.listed().map(|run| &run.facts)
    }

    pub(super) fn run(&self, line: usize) -> Option<&Arc<Summary>> {
        match self.lines.get(line)? {
            Line::Run { run, .. } => Some(&self.runs[*run]),
            Line::Group { .. } => None,
        }
    }

    pub(super) fn runs(&self, line: usize) -> Vec<&RunFolder> {
        match self.lines.get(line) {
            None => Vec::new(),
            Some(Line::Run { run, .. }) => vec![&self.runs[*run].run],
            Some(Line::Group { group, .. }) => group.members.iter().map(|run| &self.runs[*run].run).collect(),
        }
    }

    /// The id and the runs of a group, and whether it is open.
    pub(super) fn group_of(&self, line: usize) -> Option<(&str, &Group, bool)> {
        match self.lines.get(line)? {
            Line::Group { id, group, is_open, .. } => Some((id, group, *is_open)),
            Line::Run { .. } => None,
        }
    }

    /// Opens a group, or closes it.
    pub(super) fn toggle_group(&self, open: &mut BTreeSet<String>, line: usize) {
        if let Some((id, ..)) = self.group_of(line)
            && !open.remove(id)
        {
            open.insert(id.to_owned());
        }
    }

    /// Requests the curves of a run, or opens or closes a group.
    pub(super) fn open(&self, open: &mut BTreeSet<String>, line: usize) -> Option<RunsAction> {
        let run = self.run(line);
        if run.is_none() {
            self.toggle_group(open, line);
        }
        run.map(|run| RunsAction::Open(vec![run.run.clone()]))
    }

    pub(super) fn is_in_group(&self, line: usize) -> bool {
        matches!(self.lines.get(line), Some(Line::Run { role: RunRole::InGroup, .. }))
    }

    pub(super) fn id(&self, line: usize) -> Option<LineId> {
        Some(match self.lines.get(line)? {
            Line::Group { id, .. } => LineId::Group(id.clone()),
            Line::Run { role: RunRole::Pinned, .. } => LineId::Baseline,
            Line::Run { run, .. } => LineId::Run(self.runs[*run].run.path().to_owned()),
        })
    }

    pub(super) fn index_of(&self, id: &LineId) -> Option<usize> {
        (0..self.len()).find(|line| self.id(*line).as_ref() == Some(id))
    }

    /// Names a group by the values that its runs share and in which it differs from other groups.
    pub(super) fn group_name(&self, line: usize) -> String {
        let Some(Line::Group { group, .. }) = self.lines.get(line) else { return String::new() };
        let first = &self.runs[group.shown[0]];
        let is_of_replicates = self.grouping.by.iter().any(|field| field == REPLICATES);
        let parts = first.settings.split(", ").filter(|part| !part.is_empty() && !part.starts_with("seed "));
        let mut parts: Vec<String> = parts.filter(|_| is_of_replicates).map(str::to_owned).collect();
        if is_of_replicates && parts.is_empty() {
            parts.push(first.title.clone());
        }
        let is_undecided = matches!(group.choice, GroupChoice::Undecided(_));
        let is_best = |column: &Column| self.grouping.best_over.as_ref() == Some(&column.field);
        let part = |column: &Column| column.named(&first.facts, group.edge().filter(|_| is_best(column)));
        let distinctive = self.distinctive.iter().filter(|column| !(is_undecided && is_best(column)));
        let of_fields = distinctive.map(part).filter(|part| !parts.contains(part)).collect::<Vec<_>>();
        parts.extend(of_fields);
        parts.join(", ")
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Click {
    Only,
    /// Adds this line to the selection, or removes it.
    Toggle,
    /// Selects all lines from the last clicked one to this one.
    Range,
}

/// The selected runs, and the line at which keys act.
#[derive(Default)]
pub(super) struct Selection {
    pub runs: HashSet<PathBuf>,
    cursor: Option<LineId>,
    /// The line at which a range begins.
    anchor: Option<LineId>,
}

impl Selection {
    pub(super) fn cursor(&self, lines: &Lines) -> Option<usize> {
        lines.index_of(self.cursor.as_ref()?)
    }

    pub(super) fn is_cursor(&self, id: Option<&LineId>) -> bool {
        id.is_some() && self.cursor.as_ref() == id
    }

    pub(super) fn click(&mut self, lines: &Lines, line: usize, how: Click) {
        let Some(id) = lines.id(line) else { return };
        let runs = || lines.runs(line).into_iter().map(|run| run.path().to_owned());
        match how {
            Click::Only => self.runs = runs().collect(),
            Click::Toggle if runs().all(|run| self.runs.contains(&run)) => {
                for run in runs() {
                    self.runs.remove(&run);
                }
            }
            Click::Toggle => self.runs.extend(runs()),
            Click::Range => {
                let from = self.anchor.as_ref().and_then(|id| lines.index_of(id)).unwrap_or(line);
                let range = from.min(line)..=from.max(line);
                self.runs = range.flat_map(|line| lines.runs(line)).map(|run| run.path().to_owned()).collect();
            }
        }
        if how != Click::Range || self.anchor.is_none() {
            self.anchor = Some(id.clone());
        }
        self.cursor = Some(id);
    }

    /// Moves the cursor by some lines; returns its line. It selects the line, or extends the range to it.
    pub(super) fn step(&mut self, lines: &Lines, by: isize, extends: bool) -> Option<usize> {
        let last = lines.len().checked_sub(1)?;
        let line = self.cursor(lines).map_or(0, |line| line.saturating_add_signed(by).min(last));
        self.click(lines, line, if extends { Click::Range } else { Click::Only });
        Some(line)
    }

    pub(super) fn select_all(&mut self, lines: &Lines) {
        self.runs = (0..lines.len()).flat_map(|line| lines.runs(line)).map(|run| run.path().to_owned()).collect();
    }
}
