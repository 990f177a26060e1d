//! `valleyscope runs list` and `diff`: runs as a table, and the settings in which they differ.
//!
//! Without options, the command prints a line of at most the terminal's width for each run. With options, it prints the
//! columns of the window's table, as text, CSV or JSON.

use std::ffi::OsString;
use std::io;

use anyhow::anyhow;
use console::Term;
use jiff::Timestamp;
use rayon::prelude::*;
use serde_json::{Map, json};
use valleyscope_engine::optimizer::{ShownSetting, differing};
use valleyscope_engine::terminal_escape::visible_path;
use valleyscope_experiments::difference::{SettingColumn, run_column};
use valleyscope_experiments::preset::Preset;
use valleyscope_experiments::view::ticks::RangeEdge;
use valleyscope_experiments::workload::STEPS;
use valleyscope_runs::{Concern, MetricInfo, Ranks, RunFolder, RunHistory, RunReader, now};

use super::{in_force, left, newest, notes, progress, rate};
use crate::cli::output::{cell, print, print_content, print_differences};
use crate::cli::run_args::{RunsLocation, began};
use crate::cli::{Failure, say};
use crate::export::{CsvCell, CsvWriter};
use crate::runs::{
    Aggregate, Column, Columns, Filter, Group, Grouping, MetricAliases, Replicates, RunFacts, RunSettings, RunSource,
    SortKey, Statistic, TableLayout, Value, csv_cell, listed_fields, ordered,
};

/// The largest number of characters of a cell; names of runs are never cut, as users type them.
const LONGEST: usize = 40;
/// The largest width of the brief list in a file, a pipe or a narrow terminal, unless names or numbers are long.
const WIDTH: usize = 100;
const GAP: usize = 2;

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
    /// rate; the best has the best result by --sort, or else the best loss on held-out data that its runs have in
    /// common
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
    /// Whether an option selects other rows, columns or forms than those of the brief list.
    fn is_given(&self) -> bool {
        let texts = [&self.filter, &self.sort, &self.columns, &self.group_by];
        texts.iter().any(|text| text.is_some()) || !self.alias.is_empty() || self.csv || self.json
    }
}

pub(super) fn list(location: &RunsLocation, args: &TableArgs) -> Result<(), Failure> {
    let aliases = aliases(args)?;
    let folders = location.list()?;
    if folders.is_empty() {
        // No field is known, so none is reported as unknown.
        say(format_args!("there are no runs in {}", location.folder.display()));
        return if args.json { print_content("[]\n") } else { Ok(()) };
    }
    if !args.is_given() {
        let width = Term::stdout().size_checked().map_or(WIDTH, |(_, columns)| usize::from(columns).max(WIDTH));
        return print(&Table::brief(&folders).text(width));
    }
    let facts: Vec<RunFacts> = folders.par_iter().map(|run| read(run, &aliases)).collect();
    let runs: Vec<&RunFacts> = facts.iter().collect();
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
        say(format_args!("none of {} runs in {} fits", runs.len(), location.folder.display()));
        return Ok(());
    }
    print(&table.text(usize::MAX))
}

/// Makes the table of these runs, and prints notes about its groups.
fn table(runs: Vec<&RunFacts>, args: &TableArgs, columns: &Columns) -> Result<Table, Failure> {
    let sort = SortKey::parse(args.sort.as_deref().unwrap_or_default(), columns);
    let sort = sort.map_err(|error| Failure::BadInput(anyhow!("--sort: {error}")))?;
    let by = args.group_by.as_deref().map(|text| fields(text, columns, "--group-by")).transpose()?;
    let best_over = args.best_over.as_deref().map(|text| best_over(text, columns)).transpose()?;
    // The usual columns and the better direction follow from the runs that are shown.
    let columns = columns.while_shown(&runs);
    let shown = shown_columns(args, &columns, &runs)?;
    let order = ordered(&runs, (0..runs.len()).collect(), &sort);
    let Some(by) = by else { return Ok(Table::of_runs(&runs, &order, &shown)) };
    let grouping = Grouping { by, statistic: args.statistic, best_over };
    let groups = grouping.groups(&runs, order, &sort, &columns);
    let undecided = grouping.undecided(&runs, &groups, &columns).into_iter().map(|reason| format!("warning: {reason}"));
    let remarks = grouping.remarks(&runs, &groups, &columns);
    undecided.chain(remarks).for_each(|remark| say(format_args!("{remark}")));
    let keeps_all = args.csv || args.json || args.columns.is_some();
    Ok(Table::of_groups(&runs, &groups, &grouping, &columns, &shown, keeps_all))
}

fn aliases(args: &TableArgs) -> Result<MetricAliases, Failure> {
    let mut aliases = MetricAliases::default();
    let set = args.alias.iter().try_for_each(|(name, shown)| aliases.set(name, shown));
    set.map_err(|error| Failure::BadInput(anyhow!(error)))?;
    Ok(aliases)
}

/// Reads a run. An unreadable one does not prevent listing the others.
fn read(run: &RunFolder, aliases: &MetricAliases) -> RunFacts {
    let (settings, notes) = (RunSettings::read(run), notes(run));
    let (mut reader, now) = (RunReader::brief(run.clone()), now());
    match reader.status(now) {
        Ok(status) => {
            let (settings, status, notes, history) = (&settings, &status, &notes, reader.history());
            let concerns = &Concern::of(status, history, now);
            RunFacts::of(RunSource { run, settings, history, status, notes, concerns, aliases })
        }
        Err(error) => {
            say_unreadable(run, &error);
            RunFacts::unreadable(run)
        }
    }
}

fn say_unreadable(run: &RunFolder, error: &io::Error) {
    say(format_args!("warning: cannot read {}: {error}", visible_path(&run.events())));
}

fn fields(text: &str, columns: &Columns, option: &str) -> Result<Vec<String>, Failure> {
    let field = |part: &str| match part {
        Replicates::FIELD if option == "--group-by" => Ok(part.to_owned()),
        part => columns.find(part).map(|column| column.field.clone()),
    };
    let found: Result<Vec<String>, _> = listed_fields(text).map(field).collect();
    found.map_err(|error| Failure::BadInput(anyhow!("{option}: {error}")))
}

fn best_over(text: &str, columns: &Columns) -> Result<String, Failure> {
    let field = columns.find(text).map_err(|error| Failure::BadInput(anyhow!("--best-over: {error}")))?;
    Ok(field.field.clone())
}

/// Selects the requested columns, or the usual ones that are not empty. A file has all columns of its runs, whatever
/// other runs exist.
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

/// The columns of the brief list: their titles, the largest number of characters, and the smallest to which texts are
/// shortened in a narrow line.
const BRIEF: [(&str, usize, usize); 10] = [
    ("RUN", usize::MAX, usize::MAX),
    ("STATUS", 40, usize::MAX),
    ("STEP", 45, usize::MAX),
    ("RATE", 20, usize::MAX),
    ("LEFT", 20, usize::MAX),
    ("RANKS", 30, usize::MAX),
    ("LOSS", 40, usize::MAX),
    ("EVALUATED", 1000, 30),
    ("OPTIMIZER", 1000, 30),
    (TITLE, 1000, 12),
];
/// The column of the titles, which is shortened to the part in which they differ.
const TITLE: &str = "TITLE";

struct BriefLine {
    began: Timestamp,
    /// The cells before the optimizer.
    cells: [String; 8],
    /// The optimizer with its learning rate and batch size.
    optimizer: Vec<String>,
    /// The settings to be named if they differ from other runs'.
    settings: Vec<ShownSetting>,
    title: String,
}

impl BriefLine {
    fn of(run: &RunFolder) -> BriefLine {
        BriefLine::read(run).unwrap_or_else(|error| {
            say_unreadable(run, &error);
            let mut cells = [const { String::new() }; 8];
            (cells[0], cells[1]) = (run.name(), "unreadable".to_owned());
            let began = began(run, &RunHistory::default());
            BriefLine { began, cells, optimizer: Vec::new(), settings: Vec::new(), title: String::new() }
        })
    }

    fn read(run: &RunFolder) -> io::Result<BriefLine> {
        let mut reader = RunReader::brief(run.clone());
        let status = reader.status(now())?;
        let (history, is_open) = (reader.history(), status.is_open());
        let (started, training) = (history.started(), in_force(run, history));
        let common = training.as_ref().and_then(Preset::training);
        let concerns = Concern::summary(&Concern::of(&status, history, now()));
        // The name of the run that a fork continues does not fit into a line.
        let fork = history.forked().map(|forked| format!(", forked at {}", forked.from_step));
        let evaluated: Vec<_> = history.evaluated().into_iter().map(|info| ("", info)).collect();
        let cells = [
            run.name(),
            joined([status.label(), concerns]),
            progress(history) + &fork.unwrap_or_default(),
            rate(history).filter(|_| is_open).unwrap_or_default(),
            left(history).filter(|_| is_open).unwrap_or_default(),
            Ranks::of(history).map(|ranks| ranks.brief()).unwrap_or_default(),
            MetricInfo::of_training_loss(&history.metrics())
                .map_or_else(String::new, |loss| newest(history, &[("", loss.clone())]).concat()),
            newest(history, &evaluated).join(", "),
        ];
        // The settings are those of the training or, if its config cannot be read, those with which the run began.
        let name = started.map(|it| it.optimizer.clone()).or_else(|| Some(common.as_ref()?.label().to_owned()));
        let rate = common.as_ref().map(|it| it.learning_rate.get()).or_else(|| started?.learning_rate);
        let batch = common.as_ref().map(|it| it.batch_size).or_else(|| started?.batch_size);
        let optimizer = [name, rate.map(|rate| format!("lr {rate}")), batch.map(|batch| format!("batch {batch}"))];
        let own = notes(run).title;
        let title = if own.is_empty() { started.map_or("", |started| &started.title) } else { &own };
        // Results on synthetic data are not comparable with those on real ones.
        let data = started.filter(|started| started.synthetic).map(|started| format!(" ({})", started.data));
        Ok(BriefLine {
            began: began(run, history),
            cells,
            optimizer: optimizer.into_iter().flatten().collect(),
            settings: training.as_ref().map(other_settings).unwrap_or_default(),
            title: title.lines().next().unwrap_or_default().to_owned() + &data.unwrap_or_default(),
        })
    }
}

/// Lists the settings of a run that the brief list does not show otherwise.
fn other_settings(training: &Preset) -> Vec<ShownSetting> {
    let is_shown = |setting: &ShownSetting| ["η ", "batch ", "seed "].iter().any(|it| setting.text.starts_with(it));
    let settings = training.shown_settings().into_iter();
    settings.filter(|setting| setting.meaning != STEPS && !is_shown(setting)).collect()
}

fn joined(parts: impl IntoIterator<Item = String>) -> String {
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
}

struct Table {
    header: Vec<Heading>,
    rows: Vec<Vec<Cell>>,
}

struct Heading {
    field: String,
    /// The title in the text; a column without one is only in files.
    title: String,
    /// Whether files have a column for the deviation.
    deviates: bool,
    /// The largest number of characters of a text, and the smallest to which it is shortened in a narrow line.
    longest: usize,
    fewest: usize,
}

impl Heading {
    fn new(field: impl Into<String>, title: impl Into<String>) -> Heading {
        Heading { field: field.into(), title: title.into(), deviates: false, longest: LONGEST, fewest: usize::MAX }
    }

    fn of(column: &Column) -> Heading {
        let longest = if column.field == "run" { usize::MAX } else { LONGEST };
        Heading { longest, ..Heading::new(&column.field, &column.heading) }
    }
}

/// A cell: its text for users, and its values for programs.
struct Cell {
    text: String,
    value: Option<Value>,
    deviation: Option<f64>,
    /// Whether the runs of the row have the column's field, even if its value is not known.
    has_field: bool,
}

impl Cell {
    fn of(column: &Column, run: &RunFacts) -> Cell {
        let has_field = run.has_field(&column.field);
        Cell { has_field, ..Cell::of_row(column.text(run), column.of(run).cloned()) }
    }

    /// Makes the cell of a value that belongs to the row itself.
    fn of_row(text: impl Into<String>, value: Option<Value>) -> Cell {
        Cell { text: text.into(), value, deviation: None, has_field: true }
    }

    fn mean(column: &Column, aggregate: &Aggregate) -> Cell {
        let deviation = if let Aggregate::Mean { deviation, .. } = aggregate { Some(*deviation) } else { None };
        let value = aggregate.value().map(|value| value.into_owned());
        Cell { deviation, ..Cell::of_row(aggregate.text(column.format), value) }
    }
}

impl Table {
    /// Makes a line for each run, the newest first. Empty columns are left out.
    fn brief(runs: &[RunFolder]) -> Table {
        let mut lines: Vec<BriefLine> = runs.iter().map(BriefLine::of).collect();
        lines.sort_by_key(|line| std::cmp::Reverse(line.began));
        let differing = differing(&lines.iter().map(|line| line.settings.clone()).collect::<Vec<_>>());
        let cells = |(line, differing): (BriefLine, Vec<String>)| {
            let optimizer = joined(line.optimizer.into_iter().chain(differing));
            let texts = line.cells.into_iter().chain([optimizer, line.title]);
            texts.map(|text| Cell::of_row(text, None)).collect()
        };
        let mut rows: Vec<Vec<Cell>> = lines.into_iter().zip(differing).map(cells).collect();
        let has_text: Vec<bool> =
            (0..BRIEF.len()).map(|column| rows.iter().any(|row| !row[column].text.is_empty())).collect();
        for row in &mut rows {
            let mut has_text = has_text.iter();
            row.retain(|_| has_text.next() == Some(&true));
        }
        let shown = BRIEF.into_iter().zip(has_text).filter(|(_, has_text)| *has_text);
        let heading = |((title, longest, fewest), _)| Heading { longest, fewest, ..Heading::new(title, title) };
        Table { header: shown.map(heading).collect(), rows }
    }

    fn of_runs(runs: &[&RunFacts], order: &[usize], shown: &[&Column]) -> Table {
        let row = |index: &usize| shown.iter().map(|column| Cell::of(column, runs[*index])).collect();
        Table {
            header: shown.iter().map(|column| Heading::of(column)).collect(),
            rows: order.iter().map(row).collect(),
        }
    }

    /// Makes a table of groups: the fields that their runs share, the number of runs, and a statistic of numbers. A
    /// column whose values differ in a group is left out unless `keeps_all`.
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
                let edge = Cell::of_row("", edge.map(|mark| Value::Text(mark.to_owned())));
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
            // Only files have the mark of an edge in a separate column.
            let edge = Heading::new(format!("{}_edge", column.field), "");
            [Heading::of(column), edge]
        }));
        header.push(Heading::new("runs", "RUNS"));
        header.extend(others.iter().map(measured));
        Table { header, rows: groups.iter().map(row).collect() }
    }

    /// Aligns the columns, and shortens texts until a line has at most `most` characters.
    fn text(&self, most: usize) -> String {
        let shown: Vec<usize> =
            (0..self.header.len()).filter(|column| !self.header[*column].title.is_empty()).collect();
        let headings: Vec<&Heading> = shown.iter().map(|column| &self.header[*column]).collect();
        let titles: Vec<String> = headings.iter().map(|heading| heading.title.clone()).collect();
        let cut = |row: &Vec<Cell>| {
            shown.iter().map(|column| cell(&row[*column].text, self.header[*column].longest)).collect()
        };
        let rows: Vec<Vec<String>> = std::iter::once(titles).chain(self.rows.iter().map(cut)).collect();
        let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let mut widths: Vec<usize> = (0..shown.len()).map(width).collect();
        narrow(&mut widths, &headings, most);
        let common = |column: usize| match &*headings[column].field {
            TITLE => common_beginning(&rows[1..].iter().map(|row| row[column].as_str()).collect::<Vec<_>>()),
            _ => 0,
        };
        let common: Vec<usize> = (0..shown.len()).map(common).collect();
        let line = |row: &Vec<String>| {
            let cells = row.iter().zip(&widths).zip(&common).map(|((cell, &width), &common)| {
                let rest = cell.get(common..).filter(|_| common > 0 && cell.chars().count() > width);
                let cell = rest.map_or_else(|| cell.clone(), |rest| format!("…{rest}"));
                format!("{:width$}", without_middle(&cell, width))
            });
            cells.collect::<Vec<_>>().join(&" ".repeat(GAP)).trim_end().to_owned() + "\n"
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

    /// Writes the rows as objects. Each has the fields of its own runs, or all columns, with `null` for unknown values;
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

/// Narrows the widest columns whose texts can be shortened until a line has at most `most` characters.
fn narrow(widths: &mut [usize], headings: &[&Heading], most: usize) {
    let line = widths.iter().map(|width| width + GAP).sum::<usize>().saturating_sub(GAP);
    for _ in most..line {
        let spare = (0..widths.len()).map(|column| (widths[column].saturating_sub(headings[column].fewest), column));
        let Some((1.., column)) = spare.max() else { return };
        widths[column] -= 1;
    }
}

/// Counts the bytes of the words with which all texts begin, if there are several different texts.
fn common_beginning(texts: &[&str]) -> usize {
    let Some(first) = texts.first().filter(|first| texts.iter().any(|text| text != *first)) else { return 0 };
    let same =
        |text: &&str| first.chars().zip(text.chars()).take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8()).sum();
    let bytes: usize = texts.iter().map(same).min().unwrap_or(0);
    first[..bytes].rfind(' ').map_or(0, |space| space + 1)
}

/// Removes the middle of a text of more than `most` characters. More of its beginning stays.
fn without_middle(text: &str, most: usize) -> String {
    let count = text.chars().count();
    if count <= most {
        return text.to_owned();
    }
    let end = most.saturating_sub(1) / 3;
    let beginning = text.chars().take(most.saturating_sub(1 + end));
    beginning.chain(['…']).chain(text.chars().skip(count - end)).collect()
}

pub(super) fn diff(location: &RunsLocation, runs: &[OsString]) -> Result<(), Failure> {
    let column = |name: &OsString| {
        let run = location.find(name)?;
        let name = run.name();
        let column = run_column(&run, name).map_err(|error| Failure::Failed(anyhow!(error)))?;
        // The folder is the name.
        Ok(SettingColumn { folder: String::new(), ..column })
    };
    print_differences(&runs.iter().map(column).collect::<Result<Vec<_>, Failure>>()?)
}
