//! The order and the groups of runs.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::aggregate::Aggregate;
use super::column::{Columns, FieldError};
use super::facts::{BEGAN, REPLICATES, RUN, RunFacts};
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
        let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
        let key = |part: &str| {
            let field = part.strip_prefix(['-', '−']);
            let column = columns.find(field.unwrap_or(part))?;
            Ok(SortKey { field: column.field.clone(), is_descending: field.is_some() })
        };
        parts.map(key).collect()
    }
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
pub fn grouped(runs: &[&RunFacts], indices: Vec<usize>, fields: &[String]) -> Vec<Vec<usize>> {
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

/// Sorts groups by their means; those of equal means stay in order.
pub fn sort_groups(runs: &[&RunFacts], groups: &mut Vec<Vec<usize>>, keys: &[SortKey]) {
    let keys: Vec<(&str, bool)> = keys.iter().map(|key| (key.field.as_str(), key.is_descending)).collect();
    let value = |group: &[usize], field: &str| {
        let aggregate = Aggregate::of(group.iter().map(|index| runs[*index].get(field)));
        aggregate.value().map(Cow::into_owned)
    };
    let values = |group: &[usize]| keys.iter().map(|(field, _)| value(group, field)).collect::<Vec<_>>();
    let mut valued: Vec<(Vec<Option<Value>>, Vec<usize>)> =
        std::mem::take(groups).into_iter().map(|group| (values(&group), group)).collect();
    valued.sort_by(|(a, _), (b, _)| {
        let [a, b] = [a, b].map(|values| values.iter().map(Option::as_ref).collect::<Vec<_>>());
        order(&keys, &a, &b)
    });
    *groups = valued.into_iter().map(|(_, group)| group).collect();
}
