//! The list of runs, for the window and the command line: facts, columns, filters, order and groups; and runs of other
//! programs.
//!
//! [`RunFacts`] are the values of one run, read with its events. [`Columns`] are those of all listed runs: the table of
//! facts (`facts.rs`), and the runs' settings and metrics. A [`Filter`] is typed text; [`ordered`] and [`grouped`]
//! arrange the runs that match it. A [`PrintedTable`] is a table of runs or groups as text, CSV or JSON.

mod aliases;
mod column;
mod compared;
mod facts;
mod filter;
mod grid;
pub mod import;
mod table;
pub mod tensorboard;
mod value;

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::HashMap;

use facts::{BEGAN, OPTIMIZER, RUN};
use serde::{Deserialize, Serialize};
use valleyscope_engine::optimizer::{RuleKind, RuleSpec};
use valleyscope_experiments::view::ticks::RangeEdge;
use valleyscope_runs::Better;

pub use aliases::{MetricAliases, proposals};
pub(crate) use column::lower_first;
pub use column::{Column, Columns, TableLayout};
pub use compared::run_column;
#[cfg(feature = "app")]
pub(crate) use facts::is_held_out;
pub use facts::{REPLICATES, RunFacts, RunSettings, RunSource, progress, status_line};
pub use filter::{Filter, FilterError, listed_fields};
pub use grid::{GridAxes, GridCurve, GridMean, GridResult};
pub(crate) use grid::{positions_of, short_text};
pub use table::PrintedTable;
pub use value::{Aggregate, Format, Statistic, Value};

/// A field by which runs are sorted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SortKey {
    pub field: String,
    pub is_descending: bool,
}

impl SortKey {
    /// Parses fields separated by commas, each with a minus before it for the descending order.
    pub fn parse(text: &str, columns: &Columns) -> Result<Vec<SortKey>, String> {
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
        result: String,
        /// The end of the values tried in the group, if the best is there and no other value is as good.
        edge: Option<RangeEdge>,
        /// The number of values with this result.
        equal: usize,
        /// The number of runs without a value of the setting.
        without: usize,
    },
    /// All of them, as no value is known to be the best: the reason, which begins with "its runs".
    Undecided(String),
}

impl Group {
    pub fn edge(&self) -> Option<RangeEdge> {
        if let GroupChoice::Best { edge, .. } = self.choice { edge } else { None }
    }
}

/// The smallest and the largest value that a setting can have; infinite if no upper limit is known.
fn limits(setting: &str, run: &RunFacts) -> [f64; 2] {
    let range = || {
        let Some(Value::Text(rule)) = run.get(OPTIMIZER) else { return None };
        let rule = RuleSpec::in_training(RuleKind::shown_as(rule)?);
        rule.hyperparameter(setting.strip_prefix("optimizer.")?)?.range()
    };
    range().map_or([0.0, f64::INFINITY], |range| [range.min, range.max])
}

/// Sorts the indices of runs: by the keys, and then the newest first.
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
    let mut known: HashMap<Vec<Option<String>>, usize> = HashMap::new();
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for index in indices {
        let key = fields.iter().map(|field| runs[index].get(field).map(Value::key));
        let group = *known.entry(key.collect()).or_insert(groups.len());
        if group == groups.len() {
            groups.push(Vec::new());
        }
        groups[group].push(index);
    }
    groups
}

impl Grouping {
    /// Groups runs, and sorts the groups by their values; those of equal values stay in order.
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

    /// Chooses the column by which the best value of a setting is found among runs: the first of the order, if it is a
    /// result, or else the best loss that these runs have in common.
    ///
    /// # Errors
    ///
    /// Fails with the reason why there is none.
    pub fn result<'c, 'f>(
        keys: &[SortKey],
        columns: &'c Columns,
        runs: impl Iterator<Item = &'f RunFacts>,
    ) -> Result<&'c Column, String> {
        let first = keys.first().and_then(|key| columns.get(&key.field));
        first.filter(|column| column.better != Better::Neither).map_or_else(|| columns.usual_result(runs), Ok)
    }

    fn value(&self, runs: &[&RunFacts], group: &[usize], column: &Column) -> Option<Value> {
        let aggregate = column.of_group(group.iter().map(|index| runs[*index]), self.statistic);
        aggregate.value().map(Cow::into_owned)
    }

    /// Selects the runs of the value of a setting whose result is best. Values without a result do not take part.
    ///
    /// # Errors
    ///
    /// Fails with the reason why no value is the best.
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

    /// Describes the groups that have no best value of the setting, each with the reason.
    pub fn undecided(&self, runs: &[&RunFacts], groups: &[Group], columns: &Columns) -> Vec<String> {
        let words = |group: &Group| {
            let GroupChoice::Undecided(reason) = &group.choice else { return None };
            let (name, count) = (self.name(runs, group, columns), group.members.len());
            Some(format!("{name}: all {count} are shown, as {reason}"))
        };
        groups.iter().filter_map(words).collect()
    }

    /// Describes the result by which the best values were chosen, and which of them are at the edge of those tried.
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

    fn name(&self, runs: &[&RunFacts], group: &Group, columns: &Columns) -> String {
        let first = runs[group.members[0]];
        let fields = self.by.iter().filter_map(|field| columns.get(field).or_else(|| columns.get(RUN)));
        fields.map(|column| column.named(first, None)).collect::<Vec<_>>().join(", ")
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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use valleyscope_engine::optimizer::RuleKind;
    use valleyscope_experiments::preset::{Preset, built_ins};
    use valleyscope_runs::{
        Concern, Event, MetricId, MetricValues, Notes, RunFolder, RunReader, RunSession, Started, Timestamp,
    };

    use super::*;

    /// Writes a run of the built-in preset with these settings, whose last loss is `loss`.
    fn written(folder: &Path, settings: &[(&str, &str)], loss: f64, notes: Notes) -> RunFacts {
        let results = [(MetricId::TEST_LOSS, Some(2.0 * loss)), (MetricId::TEST_ACCURACY, Some(0.5))];
        evaluated(folder, settings, loss, &results, notes)
    }

    /// Writes such a run that logs these metrics of evaluations, with the results of one as far as there are any.
    fn evaluated(
        folder: &Path,
        settings: &[(&str, &str)],
        loss: f64,
        results: &[(MetricId, Option<f64>)],
        notes: Notes,
    ) -> RunFacts {
        let mnist = built_ins().iter().find(|built_in| built_in.name == "mnist").expect("it is built in");
        let set = |preset: Preset, (key, value): &(&str, &str)| preset.with(key, value).expect("it can be set");
        let preset = settings.iter().fold(mnist.preset.clone(), set);
        let run = RunFolder::create(folder, "mnist", &preset.to_ron()).expect("a run can be made");
        let mut session = RunSession::begin(&run).expect("a session can begin");
        let metrics = [MetricId::LOSS].into_iter().chain(results.iter().map(|(metric, _)| *metric));
        let metrics = metrics.map(MetricId::info).collect();
        let started = Started { title: "One run".to_owned(), steps: 40, metrics, ..Started::default() };
        session.record(0, Event::Started(started)).expect("it can be written");
        for (step, loss) in [(10, 2.0), (20, loss)] {
            session
                .record(step, Event::Train(MetricValues::from([(MetricId::LOSS, loss)])))
                .expect("it can be written");
        }
        let eval = results.iter().filter_map(|(metric, value)| Some((*metric, (*value)?))).collect();
        session.record(20, Event::Eval(eval)).expect("it can be written");
        session.record(20, Event::Finished).expect("it can be written");
        drop(session);
        notes.write(&run).expect("it can be written");
        let mut reader = RunReader::brief(run.clone());
        let status = reader.status(Timestamp::now()).expect("it can be read");
        let settings = RunSettings::of(preset);
        RunFacts::of(RunSource {
            run: &run,
            settings: &settings,
            history: reader.history(),
            status: &status,
            notes: &notes,
            concerns: &Concern::of(&status, reader.history(), Timestamp::now()),
            aliases: &MetricAliases::default(),
        })
    }

    /// Makes four runs: two of FOCUS that differ in the seed, and two of Adam, of which one has diverged.
    fn four() -> Vec<RunFacts> {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let noted = Notes { note: "the baseline".to_owned(), tags: vec!["good".to_owned()], ..Notes::default() };
        [
            (&[("seed", "1")][..], 0.5, noted),
            (&[("seed", "2")], 0.7, Notes::default()),
            (&[("optimizer", "Adam"), ("learning_rate", "0.01")], 0.25, Notes::default()),
            (&[("optimizer", "Adam"), ("learning_rate", "1.0")], f64::NAN, Notes::default()),
        ]
        .into_iter()
        .map(|(settings, loss, notes)| written(folder.path(), settings, loss, notes))
        .collect()
    }

    fn found(runs: &[RunFacts], filter: &str) -> Vec<usize> {
        let all: Vec<&RunFacts> = runs.iter().collect();
        let columns = Columns::of(&all, true);
        let filter = Filter::parse(filter, &columns).unwrap_or_else(|error| panic!("{}", error.marked(filter)));
        (0..runs.len()).filter(|index| filter.admits(&runs[*index], &[])).collect()
    }

    #[test]
    fn a_filter_compares_settings_losses_states_and_notes() {
        let runs = four();
        for (filter, expected) in [
            ("", &[0, 1, 2, 3][..]),
            ("optimizer = focus", &[0, 1]),
            ("optimizer = FOCUS, seed > 1", &[1]),
            ("optimizer ~ cus", &[0, 1]),
            ("lr < 1e-1, optimizer=Adam", &[2]),
            ("learning_rate = 1e-2", &[2]),
            ("gamma = 0.2", &[0, 1]),
            ("optimizer.gamma != 0.2", &[2, 3]),
            ("best_test_loss <= 1", &[0, 2]),
            ("loss >= 0.5", &[0, 1]),
            ("test_accuracy = 50 %", &[0, 1, 2, 3]),
            ("test_accuracy > 50 %", &[]),
            ("state = finished, note ~ BASE", &[0]),
            ("state = diverged", &[3]),
            ("state != diverged", &[0, 1, 2]),
            ("loss = NaN", &[3]),
            ("loss != nan", &[0, 1, 2]),
            ("tags = good", &[0]),
            ("tags !~ good", &[1, 2, 3]),
            ("baseline", &[0]),
            ("\"the baseline\", focus", &[0]),
            ("began > 2020-01-01, time < 2 h", &[]),
            ("began > 2020-01-01", &[0, 1, 2, 3]),
        ] {
            assert_eq!(found(&runs, filter), expected, "{filter}");
        }
    }

    #[test]
    fn a_filter_takes_every_shown_name_of_a_rule() {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let run = |rule: &RuleKind| written(folder.path(), &[("optimizer", rule.key())], 0.5, Notes::default());
        let runs: Vec<RunFacts> = RuleKind::ALL.iter().map(run).collect();
        for (index, rule) in RuleKind::ALL.iter().enumerate() {
            for name in [rule.info().name, rule.key(), &rule.info().name.replace('-', " ")] {
                assert_eq!(found(&runs, &format!("optimizer = {name}")), [index], "{name}");
            }
            for filter in [format!("optimizer ~ {}", rule.key()), rule.key().to_owned()] {
                assert!(found(&runs, &filter).contains(&index), "{filter}");
            }
        }
    }

    #[test]
    fn a_mistake_in_a_filter_is_named_and_marked() {
        let runs = four();
        let all: Vec<&RunFacts> = runs.iter().collect();
        let columns = Columns::of(&all, true);
        for (filter, message, mark) in [
            ("optimiser = FOCUS", "there is no field `optimiser`; did you mean `optimizer`?", "^^^^^^^^^"),
            ("seed = 1, lr < big", "expected a number such as 0.01 or 1e-3, found `big`", "               ^^^"),
            ("lr <", "expected a value after `lr <`", "    ^"),
            ("seed = 1, = 3", "expected a field before `=`", "          ^"),
            ("name < 3", "`<` compares numbers, and `name` has texts; use = or ~", "       ^"),
            ("state = finnished", "there is no state `finnished`; did you mean `finished`?", "        ^^^^^^^^^"),
            ("note ~ \"a", "expected a closing quote `\"`", "       ^^"),
            ("began < soon", "expected a date such as 2026-03-01 or 2026-03-01T12:00, found `soon`", "        ^^^^"),
        ] {
            let error = Filter::parse(filter, &columns).expect_err(filter);
            assert_eq!(error.message, message);
            assert_eq!(error.marked(filter), format!("{filter}\n{mark}"));
        }
    }

    #[test]
    fn settings_that_differ_and_losses_on_held_out_data_are_the_usual_columns() {
        let runs = four();
        let all: Vec<&RunFacts> = runs.iter().collect();
        let columns = Columns::of(&all, true);
        let shown = |layout: &TableLayout| {
            layout.shown(&columns).iter().map(|column| column.field.clone()).collect::<Vec<_>>().join(" ")
        };
        let mut layout = TableLayout::default();
        assert_eq!(
            shown(&layout),
            "name optimizer optimizer.beta2 learning_rate seed state problem loss test_loss best_test_loss test_accuracy step rate time tags note"
        );
        layout.show("note", false);
        layout.show("batch_size", true);
        layout.move_to(&columns, "batch_size", "loss");
        assert_eq!(
            shown(&layout),
            "name optimizer optimizer.beta2 learning_rate seed state problem batch_size loss test_loss best_test_loss test_accuracy step rate time tags"
        );
        // Without the first two runs, the seed no longer differs, and the other columns stay where they are.
        let less = Columns::of(&all[2..], true);
        assert!(!layout.shown(&less).iter().any(|column| column.field == "seed"));
        layout.reset();
        assert!(layout.is_usual());
    }

    #[test]
    fn runs_are_sorted_by_several_fields_and_a_diverged_one_is_last() {
        let runs = four();
        let all: Vec<&RunFacts> = runs.iter().collect();
        let columns = Columns::of(&all, true);
        let sorted = |text: &str| {
            let keys = SortKey::parse(text, &columns).expect("they are fields");
            ordered(&all, (0..all.len()).collect(), &keys)
        };
        assert_eq!(sorted("loss"), [2, 0, 1, 3]);
        assert_eq!(sorted("-loss"), [1, 0, 2, 3]);
        let by_both = sorted("optimizer, -seed");
        assert_eq!(by_both[2..], [1, 0]);
        assert!(SortKey::parse("lost", &columns).is_err());
    }

    #[test]
    fn groups_are_the_replicates_or_share_settings_and_are_sorted_by_their_means() {
        let runs = four();
        let all: Vec<&RunFacts> = runs.iter().collect();
        let columns = Columns::of(&all, true);
        let groups = |grouping: &Grouping, sort: &str| {
            let keys = SortKey::parse(sort, &columns).expect("a field");
            let groups = grouping.groups(&all, (0..all.len()).collect(), &keys, &columns);
            groups.into_iter().map(|group| group.shown).collect::<Vec<_>>()
        };
        let by = |field: &str| Grouping { by: vec![field.to_owned()], ..Grouping::default() };
        assert_eq!(groups(&by("optimizer"), ""), [vec![0, 1], vec![2, 3]]);
        assert_eq!(groups(&by(REPLICATES), ""), [vec![0, 1], vec![2], vec![3]]);
        let sorted = groups(&by("learning_rate"), "loss");
        assert_eq!(sorted, [vec![2], vec![0, 1], vec![3]]);
        // Adam's diverged run spoils its mean, but neither its median nor its best learning rate.
        assert_eq!(groups(&by("optimizer"), "loss"), [[0, 1], [2, 3]]);
        let best = Grouping { statistic: Statistic::Best, ..by("optimizer") };
        assert_eq!(groups(&best, "loss"), [[2, 3], [0, 1]]);
        let best_over = Grouping { best_over: Some("learning_rate".to_owned()), ..by("optimizer") };
        assert_eq!(groups(&best_over, ""), [vec![0, 1], vec![2]]);
        assert_eq!(groups(&best_over, "loss"), [vec![2], vec![0, 1]]);
        let losses = sorted[1].iter().map(|index| all[*index].get("loss"));
        let loss = Aggregate::by(Statistic::Mean, Better::Neither, losses);
        assert_eq!(loss.text(Format::Measured), "0.60 ± 0.14");
    }

    /// Makes runs of two rules at several learning rates with these test losses, and one with a validation loss before
    /// them.
    fn rated() -> Vec<RunFacts> {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let of = |settings: &[(&str, &str)], metric, loss| {
            evaluated(folder.path(), settings, 1.0, &[(metric, loss)], Notes::default())
        };
        let other = of(&[("optimizer", "Adam"), ("seed", "7")], MetricId::VAL_LOSS, Some(4.0));
        let rated = |rule: &'static str, rates: [(&'static str, Option<f64>); 4]| {
            rates.map(|(rate, loss)| of(&[("optimizer", rule), ("learning_rate", rate)], MetricId::TEST_LOSS, loss))
        };
        let adam = rated(
            "Adam",
            [("0.003", Some(0.388)), ("0.001", Some(0.3)), ("0.0003", Some(0.289)), ("0.0001", Some(0.31))],
        );
        let focus =
            rated("Focus", [("0.003", None), ("0.001", Some(0.294)), ("0.0003", Some(0.244)), ("0.0001", None)]);
        [other].into_iter().chain(adam).chain(focus).collect()
    }

    #[test]
    fn the_best_value_follows_from_the_loss_that_the_shown_runs_have_in_common() {
        let runs = rated();
        let all: Vec<&RunFacts> = runs.iter().collect();
        let columns = Columns::of(&all, true);
        let by_optimizer = Grouping {
            by: vec!["optimizer".to_owned()],
            best_over: Some("learning_rate".to_owned()),
            ..Grouping::default()
        };
        let shown: Vec<&RunFacts> = all[1..].to_vec();
        let columns_of_shown = columns.while_shown(&shown);
        assert!(columns_of_shown.get("best_test_loss").is_some_and(|column| column.is_usual));
        assert!(columns_of_shown.get("best_val_loss").is_some_and(|column| !column.is_usual), "a filter may name it");
        assert!(columns.get("seed").is_some_and(|column| column.is_usual));
        assert!(
            columns_of_shown.get("seed").is_some_and(|column| !column.is_usual),
            "the seeds of the shown runs are equal"
        );
        let groups = by_optimizer.groups(&shown, (0..shown.len()).collect(), &[], &columns_of_shown);
        // A value without a result is not the best, at any index; nor does it widen the range of those tried.
        assert_eq!(groups.iter().map(|group| &group.shown[..]).collect::<Vec<_>>(), [[2], [6]]);
        let remarks = by_optimizer.remarks(&shown, &groups, &columns_of_shown);
        assert_eq!(
            remarks,
            [
                "the best learning rate is that of best_test_loss",
                "FOCUS: the best learning rate, 0.0003, is at the edge of the learning rates tried, 0.0003 to 0.001: widen \
                 them below 0.0003"
            ]
        );
        // With the other run Adam's runs are judged by different losses, and a result that no run has decides nothing.
        let groups = by_optimizer.groups(&all, (0..all.len()).collect(), &[], &columns);
        assert_eq!(groups[0].shown.len(), 5);
        assert_eq!(
            by_optimizer.undecided(&all, &groups, &columns),
            [
                "Adam: all 5 are shown, as its runs are judged by different losses (best_val_loss in 1, best_test_loss in 4): filter them, \
              group by workload too, or sort by a result"
            ]
        );
        let by_missing = SortKey::parse("best_val_loss", &columns).expect("a field");
        let groups = by_optimizer.groups(&shown, (0..shown.len()).collect(), &by_missing, &columns_of_shown);
        let undecided = by_optimizer.undecided(&shown, &groups, &columns_of_shown);
        assert_eq!(
            undecided[0],
            "Adam: all 4 are shown, as its runs with a learning_rate have no finite best_val_loss"
        );
        let by_loss = SortKey::parse("best_test_loss", &columns).expect("a field");
        let groups = by_optimizer.groups(&all, (0..all.len()).collect(), &by_loss, &columns);
        assert_eq!(groups.iter().map(|group| &group.shown[..]).collect::<Vec<_>>(), [[7], [3]]);
    }

    #[test]
    fn a_setting_that_cannot_be_widened_is_at_no_edge() {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let runs: Vec<RunFacts> = [("0.0", 0.1), ("0.1", 0.2), ("0.2", 0.3)]
            .map(|(decay, loss)| written(folder.path(), &[("optimizer.weight_decay", decay)], loss, Notes::default()))
            .into_iter()
            .collect();
        let all: Vec<&RunFacts> = runs.iter().collect();
        let columns = Columns::of(&all, true);
        let best_over = Some("optimizer.weight_decay".to_owned());
        let grouping = Grouping { by: vec!["optimizer".to_owned()], best_over, ..Grouping::default() };
        let groups = grouping.groups(&all, vec![0, 1, 2], &[], &columns);
        assert_eq!((groups[0].shown.as_slice(), groups[0].edge()), (&[0][..], None));
    }

    #[test]
    fn an_unknown_field_is_never_answered_with_itself() {
        let columns = Columns::of(&[], true);
        let error = SortKey::parse("lr", &columns).expect_err("no run has it").to_string();
        assert!(error.starts_with("there is no field `lr`") && !error.contains("did you mean `lr`"), "{error}");
    }
}
