//! The user's choices for the table of runs.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::run_table::{Grouping, SortKey, Statistic, TableLayout};

/// The choices for the table of runs; kept with the session.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TableChoices {
    /// Shows the table in place of the curves if true.
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
    /// The typed filter, which the list of runs has too.
    pub filter: String,
}

impl TableChoices {
    /// The number of fields by which the runs are sorted at most.
    const MOST_KEYS: usize = 3;

    /// Sorts by a field; if the runs are sorted by it already, the other way round. The former fields decide between
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

    /// Groups by a field, or no longer.
    pub fn toggle_group(&mut self, field: &str) {
        match self.group_by.iter().position(|other| other == field) {
            Some(index) => drop(self.group_by.remove(index)),
            None => self.group_by.push(field.to_owned()),
        }
    }
}
