//! The order and the groups of runs.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use valleyscope_runs::Better;

use super::aggregate::Statistic;
use super::column::{Column, Columns, FieldError};
use super::facts::{BEGAN, REPLICATES, RUN, RunFacts};
use super::filter::listed_fields;
use super::value::Value;

/// A field by which runs are sorted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SortKey {
    pub field: String,
    pub is_descending: bool,
}

impl SortKey {
    /// Parses fields separated by commas, each with a minus before it for the descending order.
    pub fn parse(text: &str, columns: &Columns) -> Result<Vec<SortKey>, FieldError> {
        let key = |part: &str| {
            let field = part.strip_prefix(['-', '−']);
            let column = columns.find(field.unwrap_or(part))?;
            Ok(SortKey { field: column.field.clone(), is_descending: field.is_some() })
        };
        listed_fields(text).map(key).collect()
    }
}

/// The way in which runs are grouped, and groups are summarized.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Grouping {
    /// The fields whose values the runs of a group share; empty without groups.
    pub by: Vec<String>,
    pub statistic: Statistic,
    /// A setting: a group is represented by its runs of that value with the best result.
    pub best_over: Option<String>,
}

/// Runs that are summarized in one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    pub members: Vec<usize>,
    /// The members that represent the group: all of them, or those of the best value of a setting.
    pub shown: Vec<usize>,
}

/// The fields of a grouping.
pub struct Replicates;

impl Replicates {
    /// The field that replicates share: runs that differ only in the seed and the place of their data.
    pub const FIELD: &str = REPLICATES;
}

/// Returns the indices of runs in their order: by the keys, and then the newest first.
pub fn ordered(runs: &[&RunFacts], mut indices: Vec<usize>, keys: &[SortKey]) -> Vec<usize> {
    let mut keys: Vec<(&str, bool)> = keys.iter().map(|key| (key.field.as_str(), key.is_descending)).collect();
    keys.extend([(BEGAN, true), (RUN, true)]);
    let values: HashMap<usize, Vec<Option<&Value>>> =
        indices.iter().map(|&index| (index, keys.iter().map(|(field, _)| runs[index].get(field)).collect())).collect();
    indices.sort_by(|a, b| order(&keys, &values[a], &values[b]));
    indices
}

fn order(keys: &[(&str, bool)], a: &[Option<&Value>], b: &[Option<&Value>]) -> Ordering {
    let pairs = keys.iter().zip(a.iter().zip(b));
    let mut orders = pairs.map(|((_, is_descending), (a, b))| Value::order(*a, *b, *is_descending));
    orders.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
}

/// Divides runs into groups with equal values of all fields, in the order of their first members.
fn grouped(runs: &[&RunFacts], indices: Vec<usize>, fields: &[String]) -> Vec<Vec<usize>> {
    let mut places: HashMap<Vec<String>, usize> = HashMap::new();
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for index in indices {
        let key = fields.iter().map(|field| format!("{:?}", runs[index].get(field)));
        let place = *places.entry(key.collect()).or_insert(groups.len());
        if place == groups.len() {
            groups.push(Vec::new());
        }
        groups[place].push(index);
    }
    groups
}

impl Grouping {
    /// Returns the groups of runs, sorted by their values; those of equal values stay in order.
    pub fn groups(&self, runs: &[&RunFacts], indices: Vec<usize>, keys: &[SortKey], columns: &Columns) -> Vec<Group> {
        let result = self.result(keys, columns);
        let group = |members: Vec<usize>| {
            let shown = match (&self.best_over, result) {
                (Some(setting), Some(result)) => self.best(runs, &members, setting, result),
                _ => members.clone(),
            };
            Group { members, shown }
        };
        let groups = grouped(runs, indices, &self.by).into_iter().map(group).collect();
        self.sort(runs, groups, keys, columns)
    }

    /// Returns the column by which the best value of a setting is found: the first of the order, if it is a result, or
    /// else the best loss on data that the runs do not learn from.
    pub fn result<'c>(&self, keys: &[SortKey], columns: &'c Columns) -> Option<&'c Column> {
        let first = keys.first().and_then(|key| columns.get(&key.field));
        first.filter(|column| column.better != Better::Neither).or_else(|| columns.usual_result())
    }

    /// Returns the value of a column for a group.
    fn value(&self, runs: &[&RunFacts], group: &[usize], column: &Column) -> Option<Value> {
        let aggregate = column.of_group(group.iter().map(|index| runs[*index]), self.statistic);
        aggregate.value().map(Cow::into_owned)
    }

    /// Returns the runs of the value of a setting whose result is best.
    fn best(&self, runs: &[&RunFacts], members: &[usize], setting: &str, result: &Column) -> Vec<usize> {
        let parts = grouped(runs, members.to_vec(), &[setting.to_owned()]).into_iter();
        let valued = parts.map(|part| (self.value(runs, &part, result), part));
        let is_descending = result.better == Better::Higher;
        let best = valued.min_by(|(a, _), (b, _)| Value::order(a.as_ref(), b.as_ref(), is_descending));
        best.map_or_else(Vec::new, |(_, part)| part)
    }

    fn sort(&self, runs: &[&RunFacts], groups: Vec<Group>, keys: &[SortKey], columns: &Columns) -> Vec<Group> {
        let keys: Vec<(&Column, bool)> =
            keys.iter().filter_map(|key| Some((columns.get(&key.field)?, key.is_descending))).collect();
        let values = |group: &Group| -> Vec<Option<Value>> {
            keys.iter().map(|(column, _)| self.value(runs, &group.shown, column)).collect()
        };
        let keys_of_order: Vec<(&str, bool)> =
            keys.iter().map(|(column, is_descending)| (column.field.as_str(), *is_descending)).collect();
        let mut valued: Vec<(Vec<Option<Value>>, Group)> =
            groups.into_iter().map(|group| (values(&group), group)).collect();
        valued.sort_by(|(a, _), (b, _)| {
            let [a, b] = [a, b].map(|values| values.iter().map(Option::as_ref).collect::<Vec<_>>());
            order(&keys_of_order, &a, &b)
        });
        valued.into_iter().map(|(_, group)| group).collect()
    }
}
