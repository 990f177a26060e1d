//! `valleyscope runs list` with a filter, an order, columns or groups: the table of the window, as text, CSV or JSON.

use anyhow::anyhow;
use jiff::Timestamp;
use rayon::prelude::*;
use serde_json::{Map, json};
use valleyscope_engine::terminal_escape::visible_path;
use valleyscope_experiments::run::RunConfig;
use valleyscope_runs::{Concern, Notes, RunFolder, RunReader};

use super::find::RunsLocation;
use crate::cli::output::{cell, print, print_content};
use crate::cli::{Failure, say};
use crate::export::{CsvCell, CsvWriter};
use crate::run_table::{
    Aggregate, Column, Columns, Filter, Group, Grouping, Replicates, RunFacts, RunSettings, RunSource, SortKey,
    Statistic, TableLayout, Value, csv_cell, listed_fields, ordered,
};

/// The largest number of characters of a cell; names of runs are never cut, as users type them.
const LONGEST: usize = 40;

#[derive(clap::Args, Debug, Default)]
pub(super) struct TableArgs {
    /// Only the runs that fit, such as 'optimizer = FOCUS, lr < 1e-3, state = finished, note ~ baseline'
    #[arg(long, value_name = "FILTER")]
    filter: Option<String>,
    /// Sort by these fields, separated by commas; a minus before a field reverses its order
    #[arg(long, value_name = "FIELDS", allow_hyphen_values = true)]
    sort: Option<String>,
    /// Show these fields [default: settings that differ, losses, rate and time]
    #[arg(long, value_name = "FIELDS")]
    columns: Option<String>,
    /// Summarize the runs with equal values of these fields; `replicates` are runs that differ only in the seed
    #[arg(long, value_name = "FIELDS")]
    group_by: Option<String>,
    /// Show of each group only the runs of the best value of this setting, such as each optimizer at its best learning
    /// rate; the best has the best result by --sort, or else the best loss on held-out data
    #[arg(long, value_name = "FIELD", requires = "group_by")]
    best_over: Option<String>,
    /// The statistic of numbers that a group shows: their mean and deviation, their median, or the best
    #[arg(long, value_enum, default_value_t, requires = "group_by")]
    statistic: Statistic,
    /// Print comma-separated values, with all digits
    #[arg(long, conflicts_with = "json")]
    csv: bool,
    /// Print an array of JSON objects
    #[arg(long)]
    json: bool,
}

impl TableArgs {
    /// Returns whether the table is requested.
    pub(super) fn is_requested(&self) -> bool {
        let texts = [&self.filter, &self.sort, &self.columns, &self.group_by];
        texts.iter().any(|text| text.is_some()) || self.csv || self.json
    }
}

pub(super) fn run(place: &RunsLocation, args: &TableArgs) -> Result<(), Failure> {
    let facts: Vec<RunFacts> = place.list()?.par_iter().map(read).collect();
    let runs: Vec<&RunFacts> = facts.iter().collect();
    let columns = Columns::of(&runs, false);
    let filter = args.filter.as_deref().unwrap_or_default();
    let admits = Filter::parse(filter, &columns)
        .map_err(|error| Failure::BadInput(anyhow!("--filter: {error}\n{}", error.marked(filter))))?;
    let sort = SortKey::parse(args.sort.as_deref().unwrap_or_default(), &columns);
    let sort = sort.map_err(|error| Failure::BadInput(anyhow!("--sort: {error}")))?;
    let found = (0..runs.len()).filter(|index| admits.admits(runs[*index], &[])).collect();
    let found = ordered(&runs, found, &sort);
    let table = match args.group_by.as_deref().map(|text| fields(text, &columns, "--group-by")).transpose()? {
        None => {
            let shown = shown_columns(args, &columns, &runs)?;
            Table::of_runs(&runs, &found, &shown)
        }
        Some(by) => {
            let best_over = args.best_over.as_deref().map(|text| best_over(text, &columns)).transpose()?;
            let grouping = Grouping { by, statistic: args.statistic, best_over };
            let groups = grouping.groups(&runs, found, &sort, &columns);
            let shown = shown_columns(args, &columns, &runs)?;
            Table::of_groups(&runs, &groups, &grouping, &columns, &shown)
        }
    };
    if args.csv {
        return print_content(&table.csv()?);
    }
    if args.json {
        return print_content(&table.json());
    }
    if table.rows.is_empty() {
        say(format_args!("none of {} runs in {} fits", runs.len(), place.folder.display()));
        return Ok(());
    }
    print(&table.text())
}

/// Reads a run. An unreadable one does not hide the others.
fn read(run: &RunFolder) -> RunFacts {
    let config = RunConfig::read(run).ok();
    let settings = RunSettings::read(run, config.as_ref().map(|config| &config.preset));
    let notes = Notes::read(run).unwrap_or_else(|error| {
        say(format_args!("warning: cannot read {}: {error}", visible_path(&run.notes())));
        Notes::default()
    });
    let (mut reader, now) = (RunReader::brief(run.clone()), Timestamp::now());
    match reader.status(now) {
        Ok(status) => {
            let (settings, status, notes, history) = (&settings, &status, &notes, reader.history());
            let concerns = &Concern::of(status, history, now);
            RunFacts::of(RunSource { run, settings, history, status, notes, concerns })
        }
        Err(error) => {
            say(format_args!("warning: cannot read {}: {error}", visible_path(&run.events())));
            RunFacts::unreadable(run)
        }
    }
}

/// Parses the names of columns, separated by commas.
fn fields(text: &str, columns: &Columns, option: &str) -> Result<Vec<String>, Failure> {
    let field = |part: &str| match part {
        Replicates::FIELD if option == "--group-by" => Ok(part.to_owned()),
        part => columns.find(part).map(|column| column.field.clone()),
    };
    let found: Result<Vec<String>, _> = listed_fields(text).map(field).collect();
    found.map_err(|error| Failure::BadInput(anyhow!("{option}: {error}")))
}

/// Parses the setting over which groups are at their best.
fn best_over(text: &str, columns: &Columns) -> Result<String, Failure> {
    let field = columns.find(text).map_err(|error| Failure::BadInput(anyhow!("--best-over: {error}")))?;
    Ok(field.field.clone())
}

/// Returns the columns that were asked for, or the usual ones that are not empty.
fn shown_columns<'c>(args: &TableArgs, columns: &'c Columns, runs: &[&RunFacts]) -> Result<Vec<&'c Column>, Failure> {
    let Some(text) = &args.columns else {
        let usual = TableLayout::default().shown(columns).into_iter();
        return Ok(usual.filter(|column| runs.iter().any(|run| column.of(run).is_some())).collect());
    };
    let fields = fields(text, columns, "--columns")?;
    Ok(fields.iter().filter_map(|field| columns.get(field)).collect())
}

/// A table for output.
struct Table {
    header: Vec<(String, String)>,
    rows: Vec<Vec<Cell>>,
}

/// A cell: its text for people, and its values for programs.
struct Cell {
    text: String,
    value: Option<Value>,
    deviation: Option<f64>,
}

impl Cell {
    fn of(column: &Column, value: Option<&Value>) -> Cell {
        let text = value.map_or_else(String::new, |value| column.format.text(value).into_owned());
        Cell { text, value: value.cloned(), deviation: None }
    }

    fn mean(column: &Column, aggregate: &Aggregate) -> Cell {
        let deviation = if let Aggregate::Mean { deviation, .. } = aggregate { Some(*deviation) } else { None };
        let value = aggregate.value().map(|value| value.into_owned());
        Cell { text: aggregate.text(column.format).into_owned(), value, deviation }
    }
}

impl Table {
    fn of_runs(runs: &[&RunFacts], found: &[usize], shown: &[&Column]) -> Table {
        let row = |index: &usize| shown.iter().map(|column| Cell::of(column, column.of(runs[*index]))).collect();
        Table { header: header(shown), rows: found.iter().map(row).collect() }
    }

    /// Makes a table of groups: the fields that their runs share, the number of runs, and a statistic of numbers.
    fn of_groups(
        runs: &[&RunFacts],
        groups: &[Group],
        grouping: &Grouping,
        columns: &Columns,
        shown: &[&Column],
    ) -> Table {
        let keys = grouping.by.iter().chain(&grouping.best_over);
        let keys: Vec<&Column> = keys.filter_map(|field| columns.get(field)).collect();
        let of_all = |column: &Column, group: &Group| {
            column.of_group(group.shown.iter().map(|index| runs[*index]), grouping.statistic)
        };
        let is_common = |column: &Column| {
            let is_same = |group: &Group| !matches!(of_all(column, group), Aggregate::Several(_));
            (column.format.is_number() && !column.is_setting) || groups.iter().all(is_same)
        };
        let is_key = |column: &Column| keys.iter().any(|key| key.field == column.field);
        let others: Vec<&Column> =
            shown.iter().copied().filter(|column| !is_key(column) && is_common(column)).collect();
        let row = |group: &Group| {
            let first = runs[group.shown[0]];
            let mut cells: Vec<Cell> = keys.iter().map(|column| Cell::of(column, column.of(first))).collect();
            let count = group.shown.len();
            cells.push(Cell { text: count.to_string(), value: Some(Value::Number(count as f64)), deviation: None });
            cells.extend(others.iter().map(|column| Cell::mean(column, &of_all(column, group))));
            cells
        };
        let runs_title = ("runs".to_owned(), "RUNS".to_owned());
        let header = header(&keys).into_iter().chain([runs_title]).chain(header(&others)).collect();
        Table { header, rows: groups.iter().map(row).collect() }
    }

    fn text(&self) -> String {
        let longest = |column: usize| if self.header[column].0 == "run" { usize::MAX } else { LONGEST };
        let titles = self.header.iter().map(|(_, title)| title.clone()).collect::<Vec<_>>();
        let cut = |(column, shown): (usize, &Cell)| cell(&shown.text, longest(column));
        let rows = self.rows.iter().map(|row| row.iter().enumerate().map(cut).collect::<Vec<_>>());
        let rows: Vec<Vec<String>> = std::iter::once(titles).chain(rows).collect();
        let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..self.header.len()).map(width).collect();
        let line = |row: &Vec<String>| {
            let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
            cells.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
        };
        rows.iter().map(line).collect()
    }

    /// Returns which columns have a deviation beside their mean.
    fn deviating(&self) -> Vec<bool> {
        let deviates = |column: usize| self.rows.iter().any(|row| row[column].deviation.is_some());
        (0..self.header.len()).map(deviates).collect()
    }

    fn csv(&self) -> Result<String, Failure> {
        let deviating = self.deviating();
        let mut header = Vec::new();
        for ((field, _), deviates) in self.header.iter().zip(&deviating) {
            header.push(field.clone());
            header.extend(deviates.then(|| format!("{field}_std")));
        }
        let mut table = CsvWriter::new(Vec::new(), &header.iter().map(String::as_str).collect::<Vec<_>>())?;
        for row in &self.rows {
            let mut cells = Vec::new();
            for (cell, deviates) in row.iter().zip(&deviating) {
                cells.push(csv_cell(cell.value.as_ref()));
                if *deviates {
                    cells.push(cell.deviation.map_or(CsvCell::Text(""), CsvCell::Number));
                }
            }
            table.row(&cells)?;
        }
        Ok(String::from_utf8_lossy(&table.into_inner()).into_owned())
    }

    /// Numbers that are not finite are texts, as in the events of a run.
    fn json(&self) -> String {
        let number = |number: f64| match number {
            number if number.is_finite() => json!(number),
            number => json!(number.to_string()),
        };
        let object = |row: &Vec<Cell>| {
            let mut object = Map::new();
            for (cell, (field, _)) in row.iter().zip(&self.header) {
                match &cell.value {
                    None => continue,
                    Some(Value::Text(text)) => object.insert(field.clone(), json!(text)),
                    Some(Value::Number(value)) => object.insert(field.clone(), number(*value)),
                };
                if let Some(deviation) = cell.deviation {
                    object.insert(format!("{field}_std"), number(deviation));
                }
            }
            object
        };
        let all: Vec<Map<String, serde_json::Value>> = self.rows.iter().map(object).collect();
        serde_json::to_string_pretty(&all).expect("texts and finite numbers can be written") + "\n"
    }
}

/// Returns the fields of columns and their titles.
fn header(columns: &[&Column]) -> Vec<(String, String)> {
    columns.iter().map(|column| (column.field.clone(), column.heading.clone())).collect()
}
