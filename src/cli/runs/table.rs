//! `valleyscope runs list` with a filter, an order, columns or groups: the table of the window, as text, CSV or JSON.

use anyhow::anyhow;
use rayon::prelude::*;
use serde_json::{Map, json};
use valleyscope_engine::terminal_escape::visible_path;
use valleyscope_experiments::run::RunConfig;
use valleyscope_experiments::view::ticks::RangeEdge;
use valleyscope_runs::{Concern, RunFolder, RunReader, now};

use super::find::RunsLocation;
use super::notes;
use crate::cli::output::{cell, print, print_content};
use crate::cli::{Failure, say};
use crate::export::{CsvCell, CsvWriter};
use crate::run_table::{
    Aggregate, Column, Columns, Filter, Group, Grouping, MetricAliases, Replicates, RunFacts, RunSettings, RunSource,
    SortKey, Statistic, TableLayout, Value, csv_cell, listed_fields, ordered,
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
    /// Show these fields [default: settings that differ, losses, rate and time; with --csv or --json all fields]
    #[arg(long, value_name = "FIELDS")]
    columns: Option<String>,
    /// Summarize the runs with equal values of these fields; `replicates` are runs that differ only in the seed
    #[arg(long, value_name = "FIELDS")]
    group_by: Option<String>,
    /// Show of each group only the runs of the best value of this setting, such as each optimizer at its best learning
    /// rate; the best has the best result by --sort, or else the best loss on held-out data that its runs have in common
    #[arg(long, value_name = "FIELD", requires = "group_by")]
    best_over: Option<String>,
    /// The statistic of numbers that a group shows: their mean and deviation, their median, or the best
    #[arg(long, value_enum, default_value_t, requires = "group_by")]
    statistic: Statistic,
    /// Show a metric under the name of another one, such as val/loss=val_loss; may be repeated
    #[arg(long, value_name = "NAME=SHOWN", value_parser = crate::cli::assignment)]
    alias: Vec<(String, String)>,
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
        texts.iter().any(|text| text.is_some()) || !self.alias.is_empty() || self.csv || self.json
    }
}

pub(super) fn run(place: &RunsLocation, args: &TableArgs) -> Result<(), Failure> {
    let aliases = aliases(args)?;
    let facts: Vec<RunFacts> = place.list()?.par_iter().map(|run| read(run, &aliases)).collect();
    let runs: Vec<&RunFacts> = facts.iter().collect();
    if runs.is_empty() {
        // No field is known, so that none can be called unknown.
        say(format_args!("there are no runs in {}", place.folder.display()));
        return if args.json { print_content("[]\n") } else { Ok(()) };
    }
    let columns = Columns::of(&runs, false);
    let filter = args.filter.as_deref().unwrap_or_default();
    let admits = Filter::parse(filter, &columns)
        .map_err(|error| Failure::BadInput(anyhow!("--filter: {error}\n{}", error.marked(filter))))?;
    let found = runs.iter().copied().filter(|run| admits.admits(run, &[])).collect();
    let table = table(found, args, &columns)?;
    if args.csv {
        return print_content(&table.csv()?);
    }
    if args.json {
        return print_content(&table.json(args.columns.is_some()));
    }
    if table.rows.is_empty() {
        say(format_args!("none of {} runs in {} fits", runs.len(), place.folder.display()));
        return Ok(());
    }
    print(&table.text())
}

/// Makes the table of these runs, and prints what must be said about its groups.
fn table(runs: Vec<&RunFacts>, args: &TableArgs, columns: &Columns) -> Result<Table, Failure> {
    let sort = SortKey::parse(args.sort.as_deref().unwrap_or_default(), columns);
    let sort = sort.map_err(|error| Failure::BadInput(anyhow!("--sort: {error}")))?;
    let by = args.group_by.as_deref().map(|text| fields(text, columns, "--group-by")).transpose()?;
    let best_over = args.best_over.as_deref().map(|text| best_over(text, columns)).transpose()?;
    // What is usual and best follows from the runs that are shown.
    let columns = columns.while_shown(&runs);
    let shown = shown_columns(args, &columns, &runs)?;
    let order = ordered(&runs, (0..runs.len()).collect(), &sort);
    let Some(by) = by else { return Ok(Table::of_runs(&runs, &order, &shown)) };
    let grouping = Grouping { by, statistic: args.statistic, best_over };
    let groups = grouping.groups(&runs, order, &sort, &columns);
    let undecided = grouping.undecided(&runs, &groups, &columns).into_iter().map(|words| format!("warning: {words}"));
    let remarks = grouping.remarks(&runs, &groups, &columns);
    undecided.chain(remarks).for_each(|remark| say(format_args!("{remark}")));
    let keeps_all = args.csv || args.json || args.columns.is_some();
    Ok(Table::of_groups(&runs, &groups, &grouping, &columns, &shown, keeps_all))
}

/// Returns the names under which this command shows metrics.
fn aliases(args: &TableArgs) -> Result<MetricAliases, Failure> {
    let mut aliases = MetricAliases::default();
    let set = args.alias.iter().try_for_each(|(name, shown)| aliases.set(name, shown));
    set.map_err(|error| Failure::BadInput(anyhow!(error)))?;
    Ok(aliases)
}

/// Reads a run. An unreadable one does not hide the others.
fn read(run: &RunFolder, aliases: &MetricAliases) -> RunFacts {
    let config = RunConfig::read(run).ok();
    let settings = RunSettings::read(run, config.as_ref().map(|config| &config.preset));
    let notes = notes(run);
    let (mut reader, now) = (RunReader::brief(run.clone()), now());
    match reader.status(now) {
        Ok(status) => {
            let (settings, status, notes, history) = (&settings, &status, &notes, reader.history());
            let concerns = &Concern::of(status, history, now);
            RunFacts::of(RunSource { run, settings, history, status, notes, concerns, aliases })
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

/// Returns the columns that were asked for, or the usual ones that are not empty. A file has all columns of its runs,
/// whichever other runs there are.
fn shown_columns<'c>(args: &TableArgs, columns: &'c Columns, runs: &[&RunFacts]) -> Result<Vec<&'c Column>, Failure> {
    let Some(text) = &args.columns else {
        if args.csv || args.json {
            return Ok(columns.iter().filter(|column| runs.iter().any(|run| run.has_field(&column.field))).collect());
        }
        let usual = TableLayout::default().shown(columns).into_iter();
        return Ok(usual.filter(|column| runs.iter().any(|run| column.of(run).is_some())).collect());
    };
    let fields = fields(text, columns, "--columns")?;
    Ok(fields.iter().filter_map(|field| columns.get(field)).collect())
}

/// A table for output.
struct Table {
    header: Vec<Heading>,
    rows: Vec<Vec<Cell>>,
}

/// The head of a column.
struct Heading {
    field: String,
    /// The title in the text; a column without one is only in files.
    title: String,
    /// Whether files have a column for the deviation.
    deviates: bool,
}

impl Heading {
    fn of(column: &Column) -> Heading {
        Heading { field: column.field.clone(), title: column.heading.clone(), deviates: false }
    }
}

/// A cell: its text for people, and its values for programs.
struct Cell {
    text: String,
    value: Option<Value>,
    deviation: Option<f64>,
    /// Whether the runs of the row have the column's field, also if its value is not known.
    has_field: bool,
}

impl Cell {
    fn of(column: &Column, run: &RunFacts) -> Cell {
        let value = column.of(run);
        let text = value.map_or_else(String::new, |value| column.format.text(value).into_owned());
        Cell { text, value: value.cloned(), deviation: None, has_field: run.has_field(&column.field) }
    }

    /// Makes the cell of a value that belongs to the row itself.
    fn of_row(text: String, value: Option<Value>) -> Cell {
        Cell { text, value, deviation: None, has_field: true }
    }

    fn mean(column: &Column, aggregate: &Aggregate) -> Cell {
        let deviation = if let Aggregate::Mean { deviation, .. } = aggregate { Some(*deviation) } else { None };
        let value = aggregate.value().map(|value| value.into_owned());
        Cell { deviation, ..Cell::of_row(aggregate.text(column.format).into_owned(), value) }
    }
}

impl Table {
    fn of_runs(runs: &[&RunFacts], order: &[usize], shown: &[&Column]) -> Table {
        let row = |index: &usize| shown.iter().map(|column| Cell::of(column, runs[*index])).collect();
        Table {
            header: shown.iter().map(|column| Heading::of(column)).collect(),
            rows: order.iter().map(row).collect(),
        }
    }

    /// Makes a table of groups: the fields that their runs share, the number of runs, and a statistic of numbers. A column
    /// whose values differ in a group is left out unless `keeps_all`.
    fn of_groups(
        runs: &[&RunFacts],
        groups: &[Group],
        grouping: &Grouping,
        columns: &Columns,
        shown: &[&Column],
        keeps_all: bool,
    ) -> Table {
        let shared: Vec<&Column> = grouping.by.iter().filter_map(|field| columns.get(field)).collect();
        let best_over = grouping.best_over.as_ref().and_then(|field| columns.get(field));
        let of_all = |column: &Column, group: &Group| {
            column.of_group(group.shown.iter().map(|index| runs[*index]), grouping.statistic)
        };
        let is_common = |column: &Column| {
            let is_same = |group: &Group| !matches!(of_all(column, group), Aggregate::Several(_));
            keeps_all || (column.format.is_number() && !column.is_setting) || groups.iter().all(is_same)
        };
        let is_key = |column: &Column| shared.iter().copied().chain(best_over).any(|key| key.field == column.field);
        let others: Vec<&Column> =
            shown.iter().copied().filter(|column| !is_key(column) && is_common(column)).collect();
        let row = |group: &Group| {
            let first = runs[group.shown[0]];
            let mut cells: Vec<Cell> = shared.iter().map(|column| Cell::of(column, first)).collect();
            if let Some(column) = best_over {
                let (best, mark) =
                    (Cell::mean(column, &of_all(column, group)), group.edge().map_or("", RangeEdge::mark));
                let edge = Some(mark.trim_end()).filter(|mark| !mark.is_empty());
                let edge = Cell::of_row(String::new(), edge.map(|mark| Value::Text(mark.to_owned())));
                cells.extend([Cell { text: format!("{mark}{}", best.text), ..best }, edge]);
            }
            let count = group.shown.len();
            cells.push(Cell::of_row(count.to_string(), Some(Value::Whole(count as u64))));
            cells.extend(others.iter().map(|column| {
                let has_field = group.shown.iter().any(|index| runs[*index].has_field(&column.field));
                Cell { has_field, ..Cell::mean(column, &of_all(column, group)) }
            }));
            cells
        };
        let measured = |column: &&Column| Heading {
            deviates: column.format.is_number()
                && !column.is_setting
                && grouping.statistic.has_deviation(column.better),
            ..Heading::of(column)
        };
        let mut header: Vec<Heading> = shared.iter().map(|column| Heading::of(column)).collect();
        header.extend(best_over.into_iter().flat_map(|column| {
            // Only files have the mark of an edge in a column of its own.
            let edge = Heading { field: format!("{}_edge", column.field), title: String::new(), deviates: false };
            [Heading::of(column), edge]
        }));
        header.push(Heading { field: "runs".to_owned(), title: "RUNS".to_owned(), deviates: false });
        header.extend(others.iter().map(measured));
        Table { header, rows: groups.iter().map(row).collect() }
    }

    fn text(&self) -> String {
        let shown: Vec<usize> =
            (0..self.header.len()).filter(|column| !self.header[*column].title.is_empty()).collect();
        let longest = |column: usize| if self.header[column].field == "run" { usize::MAX } else { LONGEST };
        let titles = shown.iter().map(|column| self.header[*column].title.clone()).collect::<Vec<_>>();
        let cut = |row: &Vec<Cell>| shown.iter().map(|column| cell(&row[*column].text, longest(*column))).collect();
        let rows: Vec<Vec<String>> = std::iter::once(titles).chain(self.rows.iter().map(cut)).collect();
        let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..shown.len()).map(width).collect();
        let line = |row: &Vec<String>| {
            let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
            cells.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
        };
        rows.iter().map(line).collect()
    }

    fn csv(&self) -> Result<String, Failure> {
        let mut header = Vec::new();
        for Heading { field, deviates, .. } in &self.header {
            header.push(field.clone());
            header.extend(deviates.then(|| format!("{field}_std")));
        }
        let mut table = CsvWriter::new(Vec::new(), &header.iter().map(String::as_str).collect::<Vec<_>>())?;
        for row in &self.rows {
            let mut cells = Vec::new();
            for (cell, heading) in row.iter().zip(&self.header) {
                cells.push(csv_cell(cell.value.as_ref()));
                if heading.deviates {
                    cells.push(cell.deviation.map_or(CsvCell::Text(""), CsvCell::Number));
                }
            }
            table.row(&cells)?;
        }
        Ok(String::from_utf8_lossy(&table.into_inner()).into_owned())
    }

    /// Writes the rows as objects. Each has the fields of its own runs, or all columns, with `null` for what is not known;
    /// so its keys do not depend on other runs. Numbers that are not finite are texts, as in the events of a run.
    fn json(&self, has_all: bool) -> String {
        let number = |number: f64| match number {
            number if number.is_finite() => json!(number),
            number => json!(number.to_string()),
        };
        let object = |row: &Vec<Cell>| {
            let mut object = Map::new();
            for (cell, heading) in row.iter().zip(&self.header).filter(|(cell, _)| has_all || cell.has_field) {
                let value = match &cell.value {
                    None => serde_json::Value::Null,
                    Some(Value::Text(text)) => json!(text),
                    Some(Value::Whole(whole)) => json!(whole),
                    Some(Value::Number(value)) => number(*value),
                };
                object.insert(heading.field.clone(), value);
                if heading.deviates {
                    let deviation = cell.deviation.map_or(serde_json::Value::Null, number);
                    object.insert(format!("{}_std", heading.field), deviation);
                }
            }
            object
        };
        let all: Vec<Map<String, serde_json::Value>> = self.rows.iter().map(object).collect();
        serde_json::to_string_pretty(&all).expect("texts and finite numbers can be written") + "\n"
    }
}
