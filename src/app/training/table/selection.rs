//! The lines of the table that are selected, by the pointer or by keys.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::lines::{LineId, Lines};

/// The change of the selection by a click.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Click {
    /// Selects this line only.
    Only,
    /// Selects this line too, or no longer.
    Toggle,
    /// Selects all lines from the last clicked one to this one.
    Range,
}

/// The selected runs, and the line at which keys act.
#[derive(Default)]
pub(super) struct Selection {
    runs: HashSet<PathBuf>,
    cursor: Option<LineId>,
    /// The line at which a range begins.
    anchor: Option<LineId>,
}

impl Selection {
    pub(super) fn contains(&self, run: &Path) -> bool {
        self.runs.contains(run)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.runs.len()
    }

    /// Returns the line of the cursor.
    pub(super) fn cursor(&self, lines: &Lines) -> Option<usize> {
        lines.place_of(self.cursor.as_ref()?)
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
                let from = self.anchor.as_ref().and_then(|id| lines.place_of(id)).unwrap_or(line);
                let range = from.min(line)..=from.max(line);
                self.runs = range.flat_map(|line| lines.runs(line)).map(|run| run.path().to_owned()).collect();
            }
        }
        if how != Click::Range || self.anchor.is_none() {
            self.anchor = Some(id.clone());
        }
        self.cursor = Some(id);
    }

    /// Moves the cursor by some lines, and returns its line. It selects the line, or extends the range to it.
    pub(super) fn step(&mut self, lines: &Lines, by: isize, extends: bool) -> Option<usize> {
        let last = lines.len().checked_sub(1)?;
        let line = self.cursor(lines).map_or(0, |line| line.saturating_add_signed(by).min(last));
        self.click(lines, line, if extends { Click::Range } else { Click::Only });
        Some(line)
    }

    pub(super) fn select_all(&mut self, lines: &Lines) {
        self.runs = (0..lines.len()).flat_map(|line| lines.runs(line)).map(|run| run.path().to_owned()).collect();
    }

    pub(super) fn clear(&mut self) {
        self.runs.clear();
    }

    /// Forgets runs that are gone.
    pub(super) fn retain(&mut self, is_there: impl Fn(&Path) -> bool) {
        self.runs.retain(|run| is_there(run));
    }
}
