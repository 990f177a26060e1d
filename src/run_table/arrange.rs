//! The order and the groups of runs.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use valleyscope_engine::optimizer::{RuleKind, RuleSpec};
use valleyscope_experiments::view::ticks::RangeEdge;
use valleyscope_runs::Better;

use super::aggregate::Statistic;
use super::column::{Column, Columns, FieldError};
use super::facts::{BEGAN, OPTIMIZER, REPLICATES, RUN, RunFacts};
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
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    pub members: Vec<usize>,
    /// The members that represent the group: all of them, or those of the best value of a setting.
    pub shown: Vec<usize>,
    pub choice: GroupChoice,
}

/// How the runs that represent a group were chosen.
#[derive(Clone, Debug, PartialEq)]
pub enum GroupChoice {
    All,
    /// They have the value of a setting with the best result.
    Best {
        /// The field of the result.
        result: String,
        /// The end of the values tried in the group, if the best is there and no other value is as good.
        edge: Option<RangeEdge>,
        /// The number of values with this result.
        equal: usize,
        /// The number of runs without a value of the setting.
        without: usize,
    },
    /// All of them, as no value can be called the best: the reason, which begins with "its runs".
    Undecided(String),
}

impl Group {
    /// Returns the edge of the values tried, if the best value is there.
    pub fn edge(&self) -> Option<RangeEdge> {
        if let GroupChoice::Best { edge, .. } = self.choice { edge } else { None }
    }
}

/// The fields of a grouping.
pub struct Replicates;

impl Replicates {
    /// The field that replicates share: runs that differ only in the seed and the place of their data.
    pub const FIELD: &str = REPLICATES;
}

/// Returns the smallest and the largest value that a setting can have; without an upper limit where none is known.
fn limits(setting: &str, run: &RunFacts) -> [f64; 2] {
    let range = || {
        let Some(Value::Text(rule)) = run.get(OPTIMIZER) else { return None };
        let rule = RuleSpec::in_training(RuleKind::shown_as(rule)?);
        rule.hyperparameter(setting.strip_prefix("optimizer.")?)?.range()
    };
    range().map_or([0.0, f64::INFINITY], |range| [range.min, range.max])
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
    let mut places: HashMap<Vec<Option<String>>, usize> = HashMap::new();
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for index in indices {
        let key = fields.iter().map(|field| runs[index].get(field).map(Value::key));
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
        let group = |members: Vec<usize>| {
            let Some(setting) = &self.best_over else {
                return Group { shown: members.clone(), members, choice: GroupChoice::All };
            };
            match self.best(runs, &members, setting, keys, columns) {
                Ok((shown, choice)) => Group { members, shown, choice },
                Err(reason) => Group { shown: members.clone(), members, choice: GroupChoice::Undecided(reason) },
            }
        };
        let groups = grouped(runs, indices, &self.by).into_iter().map(group).collect();
        self.sort(runs, groups, keys, columns)
    }

    /// Returns the column by which the best value of a setting is found among runs: the first of the order, if it is a
    /// result, or else the best loss that these runs have in common.
    ///
    /// # Errors
    ///
    /// Returns why there is none.
    pub fn result<'c, 'f>(
        keys: &[SortKey],
        columns: &'c Columns,
        runs: impl Iterator<Item = &'f RunFacts>,
    ) -> Result<&'c Column, String> {
        let first = keys.first().and_then(|key| columns.get(&key.field));
        first.filter(|column| column.better != Better::Neither).map_or_else(|| columns.usual_result(runs), Ok)
    }

    /// Returns the value of a column for a group.
    fn value(&self, runs: &[&RunFacts], group: &[usize], column: &Column) -> Option<Value> {
        let aggregate = column.of_group(group.iter().map(|index| runs[*index]), self.statistic);
        aggregate.value().map(Cow::into_owned)
    }

    /// Returns the runs of the value of a setting whose result is best. Values without a result do not take part.
    ///
    /// # Errors
    ///
    /// Returns why no value can be called the best.
    fn best(
        &self,
        runs: &[&RunFacts],
        members: &[usize],
        setting: &str,
        keys: &[SortKey],
        columns: &Columns,
    ) -> Result<(Vec<usize>, GroupChoice), String> {
        let result = Grouping::result(keys, columns, members.iter().map(|index| runs[*index]))?;
        let of = |part: &[usize]| part.first().and_then(|index| runs[*index].get(setting));
        let parts = grouped(runs, members.to_vec(), &[setting.to_owned()]).into_iter();
        let (parts, without): (Vec<Vec<usize>>, Vec<_>) = parts.partition(|part| of(part).is_some());
        if parts.is_empty() {
            return Err(format!("its runs have no {setting}"));
        }
        let measured = parts.into_iter().filter_map(|part| Some((self.value(runs, &part, result)?, part)));
        let measured: Vec<(Value, Vec<usize>)> = measured.collect();
        let tried: Vec<f64> = measured.iter().filter_map(|(_, part)| of(part)?.number()).collect();
        let is_finite = |(value, _): &(Value, Vec<usize>)| value.number().is_none_or(f64::is_finite);
        let is_descending = result.better == Better::Higher;
        let compare = |a: &Value, b: &Value| Value::order(Some(a), Some(b), is_descending);
        let finite: Vec<(Value, Vec<usize>)> = measured.into_iter().filter(is_finite).collect();
        let Some((value, shown)) = finite.iter().min_by(|(a, _), (b, _)| compare(a, b)) else {
            return Err(format!("its runs with a {setting} have no finite {}", result.field));
        };
        let equal = finite.iter().filter(|(other, _)| compare(other, value).is_eq()).count();
        let best = of(shown).and_then(Value::number).filter(|_| equal == 1);
        let edge = best.and_then(|best| RangeEdge::of(best, tried));
        let edge = edge.and_then(|edge| edge.unless_limit(limits(setting, runs[shown[0]])));
        let without = without.iter().map(Vec::len).sum();
        Ok((shown.clone(), GroupChoice::Best { result: result.field.clone(), edge, equal, without }))
    }

    /// Returns the groups that have no best value of the setting, each with the reason, in words.
    pub fn undecided(&self, runs: &[&RunFacts], groups: &[Group], columns: &Columns) -> Vec<String> {
        let words = |group: &Group| {
            let GroupChoice::Undecided(reason) = &group.choice else { return None };
            let (name, count) = (self.name(runs, group, columns), group.members.len());
            Some(format!("{name}: all {count} are shown, as {reason}"))
        };
        groups.iter().filter_map(words).collect()
    }

    /// Returns the result by which the best values were chosen, and which of them are at the edge of those tried, in words.
    pub fn remarks(&self, runs: &[&RunFacts], groups: &[Group], columns: &Columns) -> Vec<String> {
        let Some(column) = self.best_over.as_ref().and_then(|field| columns.get(field)) else { return Vec::new() };
        let mut results: Vec<&str> = Vec::new();
        for group in groups {
            if let GroupChoice::Best { result, .. } = &group.choice
                && !results.contains(&result.as_str())
            {
                results.push(result);
            }
        }
        let title = column.word();
        let chosen = (!results.is_empty()).then(|| format!("the best {title} is that of {}", results.join(" or ")));
        let edge = |group: &Group| {
            let (edge, best) = (group.edge()?, column.of(runs[group.shown[0]])?);
            let (name, best) = (self.name(runs, group, columns), column.format.text(best));
            Some(format!("{name}: the best {title}, {best}, is {}", edge.sentence(&column.values_word())))
        };
        let doubtful = |group: &Group| {
            let GroupChoice::Best { equal, without, .. } = group.choice else { return Vec::new() };
            let name = self.name(runs, group, columns);
            let equal =
                (equal > 1).then(|| format!("{name}: {equal} values of {title} are equally good; one is shown"));
            let without = (without > 0).then(|| format!("{name}: {without} runs without {title} are left out"));
            equal.into_iter().chain(without).collect()
        };
        let edges = groups.iter().filter_map(edge);
        chosen.into_iter().chain(edges).chain(groups.iter().flat_map(doubtful)).collect()
    }

    /// Names a group by the values that its runs share.
    fn name(&self, runs: &[&RunFacts], group: &Group, columns: &Columns) -> String {
        let first = runs[group.members[0]];
        let word = |field: &String| {
            let column = columns.get(field).or_else(|| columns.get(RUN))?;
            let value = column.of(first).map(|value| column.format.text(value).into_owned());
            Some(value.unwrap_or_else(|| format!("no {}", column.word())))
        };
        self.by.iter().filter_map(word).collect::<Vec<_>>().join(", ")
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
