//! The columns of listed runs: facts, settings and metrics; and the user's choice and order of them.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::{Deserialize, Serialize};
use valleyscope_engine::setting::SettingInfo;
use valleyscope_experiments::view::ticks::{RangeEdge, with_edge};
use valleyscope_runs::{Better, MetricInfo, MetricSource};

use super::facts::{
    FACTS, NAME, RUN, RunFacts, RunSetting, STATE, STEP, Shown, aliases, best_of, is_held_out, is_result, last_of,
    smoothed_of,
};
use super::value::{Aggregate, Format, Statistic, Value};

/// A column of a table of runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// The field's name in filters.
    pub field: String,
    pub title: String,
    /// The title above the column, such as the symbol of a hyperparameter.
    pub short: String,
    /// The title above a column of text, in capitals: the name that users type.
    pub heading: String,
    pub help: String,
    pub format: Format,
    pub better: Better,
    /// A setting of the runs, by which they can be grouped.
    pub is_setting: bool,
    /// Shown unless the user hides it.
    pub is_usual: bool,
}

impl Column {
    fn new(field: impl Into<String>, title: impl Into<String>, help: &str, format: Format) -> Column {
        let (field, title, help) = (field.into(), title.into(), help.to_owned());
        let (short, heading) = (title.clone(), field.replace('_', " ").to_uppercase());
        Column {
            field,
            title,
            short,
            heading,
            help,
            format,
            better: Better::Neither,
            is_setting: false,
            is_usual: true,
        }
    }

    fn hidden(self) -> Column {
        Column { is_usual: false, ..self }
    }

    /// The value of a run.
    pub fn of<'f>(&self, facts: &'f RunFacts) -> Option<&'f Value> {
        facts.get(&self.field)
    }

    /// The value of a run for users; empty without one.
    pub fn text<'f>(&self, facts: &'f RunFacts) -> Cow<'f, str> {
        self.of(facts).map_or(Cow::Borrowed(""), |value| self.format.text(value))
    }

    /// The value of a group of runs: a statistic of what is measured.
    pub fn of_group<'f>(&self, runs: impl Iterator<Item = &'f RunFacts>, statistic: Statistic) -> Aggregate {
        let values = runs.map(|run| self.of(run));
        if self.is_setting { Aggregate::of_setting(values) } else { Aggregate::by(statistic, self.better, values) }
    }

    /// The value of a run with the short title, such as `η 0.001`, and with the mark of an edge; a text stands alone.
    pub fn named(&self, facts: &RunFacts, edge: Option<RangeEdge>) -> String {
        match self.of(facts) {
            Some(Value::Text(text)) => text.clone(),
            Some(value) => format!("{} {}", lower_first(&self.short), with_edge(edge, &self.format.text(value))),
            None => format!("no {}", lower_first(&self.short)),
        }
    }

    /// The title within a sentence, without a symbol at its end.
    pub fn word(&self) -> String {
        let words: Vec<&str> = self.title.split(' ').filter(|word| word.is_ascii()).collect();
        if words.is_empty() { self.short.clone() } else { words.join(" ").to_lowercase() }
    }

    /// Names the values of the setting, such as `the learning rates`.
    pub fn values_word(&self) -> String {
        let word = self.word();
        let is_singular = word.is_ascii() && !word.ends_with('s');
        if is_singular { format!("the {word}s") } else { format!("the values of {word}") }
    }
}

/// The columns of listed runs, in their usual order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Columns(Vec<Column>);

impl Columns {
    /// The columns of these runs, which are known by their `name`s or their folders.
    pub fn of(runs: &[&RunFacts], is_by_name: bool) -> Columns {
        let known = |field: &str| runs.iter().any(|run| run.get(field).is_some());
        let is_mixed = |field: &str| runs.iter().any(|run| run.get(field) != runs[0].get(field));
        let (differing, equal): (Vec<Column>, Vec<Column>) = of_settings(runs).into_iter().partition(|it| it.is_usual);
        let (mut differing, mut measured) = (Some(differing), Some(of_metrics(runs).into_iter().chain(equal)));
        let mut columns = Vec::new();
        for fact in FACTS.iter().filter(|fact| fact.shown != Shown::NoColumn) {
            // What distinguishes the runs is beside their names, and what was reached before the facts about the time.
            match fact.field {
                STATE => columns.extend(differing.take().into_iter().flatten()),
                STEP => columns.extend(measured.take().into_iter().flatten()),
                _ => {}
            }
            let is_usual = match fact.shown {
                _ if fact.field == RUN => !is_by_name,
                // A run without a title has the name of its folder.
                _ if fact.field == NAME => is_by_name || runs.iter().any(|run| run.get(NAME) != run.get(RUN)),
                Shown::IfKnown => known(fact.field),
                Shown::IfMixed => is_mixed(fact.field),
                shown => shown == Shown::Always,
            };
            columns.push(Column { is_usual, ..Column::new(fact.field, fact.title, fact.help, fact.format) });
        }
        if !is_by_name {
            columns.swap(0, 1);
        }
        // A setting of one run may have the name of a metric of another.
        let mut seen = BTreeSet::new();
        columns.retain(|column| seen.insert(column.field.clone()));
        Columns(columns)
    }

    /// The columns while only some of the runs are shown: which are usual depends on these, and columns that only other
    /// runs have are hidden at the end.
    pub fn while_shown(&self, shown: &[&RunFacts]) -> Columns {
        let is_by_name = self.0.first().is_none_or(|first| first.field == NAME);
        let mut columns = Columns::of(shown, is_by_name);
        let others = self.0.iter().filter(|column| columns.get(&column.field).is_none());
        let others: Vec<Column> = others.map(|column| column.clone().hidden()).collect();
        columns.0.extend(others);
        columns
    }

    pub fn iter(&self) -> impl Iterator<Item = &Column> + Clone {
        self.0.iter()
    }

    pub fn get(&self, field: &str) -> Option<&Column> {
        self.0.iter().find(|column| column.field == field)
    }

    /// The column that a user names: by its field, by the end of a setting's path, or by another usual name.
    pub fn find(&self, typed: &str) -> Result<&Column, String> {
        let typed = typed.trim().trim_matches('"');
        let lower = typed.to_lowercase();
        let named = |name: &str| self.0.iter().find(|column| column.field.to_lowercase() == name);
        let alias = || aliases().find(|(alias, _)| *alias == lower).and_then(|(_, field)| named(field));
        // Runs without settings may have measured their learning rate.
        let measured = || named(&format!("last_{lower}"));
        // An imported loss has the tag's name as its title.
        let titled = || self.0.iter().find(|column| column.title.to_lowercase() == lower);
        if let Some(column) = self.get(typed).or_else(|| named(&lower)).or_else(alias).or_else(measured).or_else(titled)
        {
            return Ok(column);
        }
        let end = format!(".{lower}");
        let ending: Vec<&Column> = self.0.iter().filter(|it| it.field.to_lowercase().ends_with(&end)).collect();
        match ending[..] {
            [only] => Ok(only),
            [] => Err(self.unknown(typed)),
            _ => {
                let all = ending.iter().map(|column| format!("`{}`", column.field)).collect::<Vec<_>>().join(" or ");
                Err(format!("`{typed}` may be {all}; say which"))
            }
        }
    }

    fn unknown(&self, typed: &str) -> String {
        let mut alike: Vec<(f64, &str)> = self
            .0
            .iter()
            .flat_map(|column| [Some(column.field.as_str()), column.field.rsplit_once('.').map(|(_, end)| end)])
            .flatten()
            .chain(aliases().filter(|(_, field)| self.get(field).is_some()).map(|(alias, _)| *alias))
            .map(|field| (strsim::jaro_winkler(field, typed), field))
            .filter(|(likeness, _)| *likeness > 0.75)
            .collect();
        alike.sort_by(|a, b| b.0.total_cmp(&a.0));
        let hint = match alike.first() {
            Some((_, field)) => format!("; did you mean `{field}`?"),
            None => {
                let usual = self.iter().filter(|column| column.is_usual).map(|column| column.field.as_str());
                format!("; fields are {} and others", usual.collect::<Vec<_>>().join(", "))
            }
        };
        format!("there is no field `{typed}`{hint}")
    }

    /// The column by which runs are judged: their best loss, on data that they do not learn from if they log one.
    ///
    /// # Errors
    ///
    /// Returns why they cannot be judged: no such loss is one of all runs. Runs without any metric do not count.
    pub fn usual_result<'f>(&self, runs: impl Iterator<Item = &'f RunFacts>) -> Result<&Column, String> {
        let mut counts: Vec<(String, usize)> = Vec::new();
        let mut measured = 0;
        for fields in runs.map(RunFacts::judging_fields).filter(|fields| !fields.is_empty()) {
            measured += 1;
            for field in fields {
                match counts.iter_mut().find(|(known, _)| *known == field) {
                    Some((_, count)) => *count += 1,
                    None => counts.push((field, 1)),
                }
            }
        }
        let common = counts.iter().find(|(_, count)| *count == measured).and_then(|(field, _)| self.get(field));
        common.ok_or_else(|| match measured {
            0 => "its runs have no loss".to_owned(),
            _ => {
                let counts = counts.iter().map(|(field, count)| format!("{field} in {count}"));
                let counts = counts.collect::<Vec<_>>().join(", ");
                format!(
                    "its runs are judged by different losses ({counts}): filter them, group by workload too, or sort by a \
                     result"
                )
            }
        })
    }
}

fn of_metrics(runs: &[&RunFacts]) -> Vec<Column> {
    let mut infos: Vec<&MetricInfo> = Vec::new();
    for info in runs.iter().flat_map(|run| run.metrics()) {
        if !infos.iter().any(|known| known.name == info.name) {
            infos.push(info);
        }
    }
    infos.sort_by_key(|info| info.source == MetricSource::Evaluation);
    let has_held_out = infos.iter().any(|info| is_held_out(info));
    let losses: BTreeSet<&str> = runs.iter().filter_map(|run| Some(run.training_loss()?.name.as_str())).collect();
    let mut columns = Vec::new();
    for info in infos {
        let column = |field: String, title: String, help: &str| Column {
            better: info.better,
            ..Column::new(field, title, help, Format::of_metric(info))
        };
        let is_result = is_result(info);
        let field = last_of(info);
        // The learning rate is a setting, too.
        let is_own = field == info.name;
        let title = if is_own { info.title.clone() } else { format!("Last {}", lower_first(&info.title)) };
        columns.push(Column { is_usual: is_result, ..column(field, title, "The last value") });
        if is_result {
            let of = lower_first(&info.title);
            // A run is judged by its best loss on data that it does not learn from.
            let is_usual = if has_held_out { is_held_out(info) } else { losses.contains(info.name.as_str()) };
            let best = column(best_of(info), format!("Best {of}"), "The best value so far");
            columns.push(Column { is_usual, ..best });
            let help = "An exponential average over about the last 50 points";
            columns.push(column(smoothed_of(info), format!("Smoothed {of}"), help).hidden());
        }
    }
    columns
}

/// A title within a sentence.
pub(crate) fn lower_first(title: &str) -> String {
    let mut chars = title.chars();
    chars.next().map_or_else(String::new, |first| first.to_lowercase().chain(chars).collect())
}

fn of_settings(runs: &[&RunFacts]) -> Vec<Column> {
    struct Seen<'f> {
        value: Option<&'f Value>,
        varies: bool,
        is_number: bool,
        index: usize,
        /// The distinct entries of the runs that have a value.
        infos: Vec<Option<&'static SettingInfo>>,
    }
    let mut seen: HashMap<&str, Seen<'_>> = HashMap::new();
    for RunSetting { path, value, info } in runs.iter().flat_map(|run| run.settings()) {
        let (index, value) = (seen.len(), value.as_ref());
        let known =
            seen.entry(path).or_insert(Seen { value, varies: false, is_number: true, index, infos: Vec::new() });
        known.varies |= known.value != value;
        known.is_number &= value.is_none_or(|value| value.number().is_some());
        let is_new = !known.infos.iter().any(|it| it.map(|it| it.label) == info.map(|it| it.label));
        known.infos.extend((value.is_some() && is_new).then_some(info));
    }
    let mut all: Vec<(&str, Seen<'_>)> = seen.into_iter().collect();
    all.sort_by_key(|(_, seen)| seen.index);
    let end = |path: &str| path.rsplit('.').next().unwrap_or_default().to_owned();
    let mut ends: HashMap<String, usize> = HashMap::new();
    all.iter().for_each(|(path, _)| *ends.entry(end(path)).or_default() += 1);
    let column = |(path, seen): &(&str, Seen<'_>)| {
        let words =
            Some(end(path)).filter(|end| ends[end] == 1).unwrap_or_else(|| (*path).to_owned()).replace('_', " ");
        let format = if seen.is_number { Format::Exact } else { Format::Text };
        let (title, short) = match &seen.infos[..] {
            // The label of a choice is the beginning of a phrase that its value ends.
            [Some(info)] if info.choices().is_empty() && info.symbol.is_empty() => (info.label.to_owned(), info.label),
            [Some(info)] if info.choices().is_empty() => (info.label.to_owned(), info.symbol),
            // β₂ has several meanings.
            [Some(SettingInfo { symbol, .. }), others @ ..]
                if !symbol.is_empty() && others.iter().all(|it| it.is_some_and(|it| it.symbol == *symbol)) =>
            {
                ((*symbol).to_owned(), *symbol)
            }
            _ => (upper_first(&words), ""),
        };
        let short = if short.is_empty() { title.clone() } else { short.to_owned() };
        let help = seen.infos.iter().flatten().map(|it| it.help).find(|help| !help.is_empty()).unwrap_or("A setting");
        let (heading, is_usual) = (words.to_uppercase(), seen.varies);
        Column { short, heading, is_setting: true, is_usual, ..Column::new(*path, title, help, format) }
    };
    all.iter().map(column).collect()
}

fn upper_first(words: &str) -> String {
    let mut chars = words.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// The columns that a user has chosen: what differs from the usual ones, which depend on the listed runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TableLayout {
    /// The fields that the user shows or hides, with whether they are shown; others are shown where they are usual.
    chosen: BTreeMap<String, bool>,
    /// The fields in the user's order; others follow those before which they usually are.
    order: Vec<String>,
}

impl TableLayout {
    pub fn shows(&self, column: &Column) -> bool {
        self.chosen.get(&column.field).copied().unwrap_or(column.is_usual)
    }

    pub fn show(&mut self, field: &str, is_shown: bool) {
        self.chosen.insert(field.to_owned(), is_shown);
    }

    /// All columns in the user's order.
    pub fn arranged<'c>(&self, columns: &'c Columns) -> Vec<&'c Column> {
        let mut arranged: Vec<&Column> = self.order.iter().filter_map(|field| columns.get(field)).collect();
        let mut before: Option<&str> = None;
        for column in columns.iter() {
            if !arranged.iter().any(|known| known.field == column.field) {
                let after = arranged.iter().position(|known| Some(known.field.as_str()) == before);
                arranged.insert(after.map_or(0, |index| index + 1), column);
            }
            before = Some(&column.field);
        }
        arranged
    }

    /// The shown columns in the user's order.
    pub fn shown<'c>(&self, columns: &'c Columns) -> Vec<&'c Column> {
        self.arranged(columns).into_iter().filter(|column| self.shows(column)).collect()
    }

    /// Moves a column to the position of another one.
    pub fn move_to(&mut self, columns: &Columns, field: &str, to: &str) {
        let mut order: Vec<String> = self.arranged(columns).iter().map(|column| column.field.clone()).collect();
        let index = |order: &[String], field: &str| order.iter().position(|other| other == field);
        let (Some(from), Some(to)) = (index(&order, field), index(&order, to)) else { return };
        let moved = order.remove(from);
        order.insert(to, moved);
        // Columns that other runs have keep their order.
        let others = std::mem::take(&mut self.order).into_iter().filter(|field| columns.get(field).is_none());
        self.order = order.into_iter().chain(others).collect();
    }

    /// Moves a column by one position among the shown ones.
    pub fn shift(&mut self, columns: &Columns, field: &str, to_left: bool) {
        let shown: Vec<String> = self.shown(columns).iter().map(|column| column.field.clone()).collect();
        let index = shown.iter().position(|other| other == field);
        let to = index.and_then(|index| if to_left { index.checked_sub(1) } else { Some(index + 1) });
        if let Some(to) = to.and_then(|to| shown.get(to)) {
            self.move_to(columns, field, to);
        }
    }

    /// Restores the usual columns and their order.
    pub fn reset(&mut self) {
        *self = TableLayout::default();
    }

    pub fn is_usual(&self) -> bool {
        *self == TableLayout::default()
    }
}
