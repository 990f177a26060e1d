//! `valleyscope runs list` and `diff`: runs as a table, and the settings in which they differ.

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
use valleyscope_experiments::run::RunConfig;
use valleyscope_experiments::view::ticks::RangeEdge;
use valleyscope_experiments::workload::STEPS;
use valleyscope_runs::{Concern, MetricId, Ranks, RunFolder, RunHistory, RunReader, Started, now};

use super::{RunsLocation, began, cell, in_force, left, newest, notes, print, progress, rate};
use crate::cli::differences::print_differences;
use crate::cli::output::print_content;
use crate::cli::{Failure, output, say};
use crate::export::{CsvCell, CsvWriter};
use crate::runs::{
    Aggregate, Column, Columns, Filter, Group, Grouping, MetricAliases, Replicates, RunFacts, RunSettings, RunSource,
    SortKey, Statistic, TableLayout, Value, csv_cell, listed_fields, ordered,
};

const HEADER: [&str; 10] =
    ["RUN", "STATUS", "STEP", "RATE", "LEFT", "RANKS", "LOSS", "EVALUATED", "OPTIMIZER", "TITLE"];

/// The largest number of characters in each column. A name is never cut, as users type it; the system limits its
/// length.
const LONGEST_PLAIN: [usize; HEADER.len()] = [usize::MAX, 40, 45, 20, 20, 30, 40, 1000, 1000, 1000];

/// The largest width of lines in a file, a pipe or a narrow terminal, unless names or numbers are long.
const WIDTH: usize = 100;

/// The columns whose texts are shortened in the middle to fit, and the fewest characters left of each.
const SHORTENED: [(usize, usize); 3] = [(7, 30), (OPTIMIZER, 30), (TITLE, 12)];

/// Spaces between two columns.
const GAP: usize = 2;

/// The columns of the optimizer and of the title.
const OPTIMIZER: usize = 8;
const TITLE: usize = 9;

type Row = [String; HEADER.len()];

/// A run with its row.
struct Listed {
    began: Timestamp,
    row: Row,
    /// The settings to be named where they differ from other runs'.
    settings: Vec<ShownSetting>,
}

pub(super) fn plain(place: &RunsLocation) -> Result<(), Failure> {
    // An unreadable run does not hide the others.
    let listed = |run: &RunFolder| row(run).unwrap_or_else(|error| unreadable(run, &error));
    let mut runs: Vec<Listed> = place.list()?.iter().map(listed).collect();
    if runs.is_empty() {
        say(format_args!("there are no runs in {}", place.folder.display()));
        return Ok(());
    }
    runs.sort_by_key(|run| std::cmp::Reverse(run.began));
    name_differences(&mut runs);
    let rows: Vec<Row> =
        std::iter::once(HEADER.map(str::to_owned)).chain(runs.into_iter().map(|run| run.row)).collect();
    print(&aligned(&rows, width()))
}

/// Adds to each optimizer the settings in which its run differs from others, besides those that each row has.
fn name_differences(runs: &mut [Listed]) {
    let settings: Vec<Vec<ShownSetting>> = runs.iter_mut().map(|run| std::mem::take(&mut run.settings)).collect();
    for (run, words) in runs.iter_mut().zip(differing(&settings)) {
        let text = std::iter::once(run.row[OPTIMIZER].clone()).filter(|text| !text.is_empty()).chain(words);
        let text = text.collect::<Vec<_>>().join(", ");
        run.row[OPTIMIZER] = cell(&text, LONGEST_PLAIN[OPTIMIZER]);
    }
}

/// Returns the settings of a run that its row does not have anyway.
fn other_settings(training: Option<&Preset>) -> Vec<ShownSetting> {
    let settings = training.map(Preset::shown_settings).unwrap_or_default();
    let is_shown = |setting: &ShownSetting| ["η ", "batch ", "seed "].iter().any(|it| setting.words.starts_with(it));
    settings.into_iter().filter(|setting| setting.meaning != STEPS && !is_shown(setting)).collect()
}

/// Returns the row of a run whose files cannot be read; the reason is printed separately.
fn unreadable(run: &RunFolder, error: &io::Error) -> Listed {
    say(format_args!("warning: cannot read {}: {error}", visible_path(&run.events())));
    let mut row = Row::default();
    (row[0], row[1]) = (run.name(), "unreadable".to_owned());
    Listed { began: began(run, &RunHistory::default()), row: in_a_line(row), settings: Vec::new() }
}

/// Returns the row with each cell in one line, and no wider than its column may be.
fn in_a_line(row: Row) -> Row {
    let mut longest = LONGEST_PLAIN.into_iter();
    row.map(|text| cell(&text, longest.next().expect("there is one for each column")))
}

/// Returns a run with its row.
fn row(run: &RunFolder) -> io::Result<Listed> {
    let mut reader = RunReader::brief(run.clone());
    let status = reader.status(now())?;
    let history = reader.history();
    let title = notes(run).title;
    let training = in_force(run, history);
    let title = if title.is_empty() { history.started().map_or("", |started| &started.title) } else { &title };
    let open = status.is_open();
    let concerns = Concern::summary(&Concern::of(&status, history, now()));
    let row = [
        run.name(),
        [status.word(), concerns].into_iter().filter(|words| !words.is_empty()).collect::<Vec<_>>().join(", "),
        progress(history) + &fork(history),
        rate(history).filter(|_| open).unwrap_or_default(),
        left(history).filter(|_| open).unwrap_or_default(),
        Ranks::of(history).map(|ranks| ranks.brief()).unwrap_or_default(),
        newest(history, &[("", MetricId::LOSS.info())]).concat(),
        evaluation(history),
        optimizer(history.started(), training.as_ref()),
        title.lines().next().unwrap_or_default().to_owned() + &synthetic(history),
    ];
    Ok(Listed { began: began(run, history), row: in_a_line(row), settings: other_settings(training.as_ref()) })
}

/// Returns the mark of synthetic data, whose numbers are not those of real ones.
fn synthetic(history: &RunHistory) -> String {
    let started = history.started().filter(|started| started.synthetic);
    started.map_or_else(String::new, |started| format!(" ({})", started.data))
}

/// Returns the step at which a fork begins. The name of the other run does not fit into a line.
fn fork(history: &RunHistory) -> String {
    history.forked().map_or_else(String::new, |forked| format!(", forked at {}", forked.from_step))
}

fn evaluation(history: &RunHistory) -> String {
    newest(history, &history.evaluated().into_iter().map(|info| ("", info)).collect::<Vec<_>>()).join(", ")
}

/// Returns the optimizer with its learning rate and batch size, as far as there is one of each: those of the training or,
/// if its config cannot be read, those with which the run began.
fn optimizer(started: Option<&Started>, training: Option<&Preset>) -> String {
    let common = training.and_then(Preset::training);
    let name = started.map(|started| started.optimizer.clone()).or_else(|| Some(common.as_ref()?.label().to_owned()));
    let rate = common.as_ref().map(|common| common.learning_rate.get()).or_else(|| started?.learning_rate);
    let batch = common.as_ref().map(|common| common.batch_size).or_else(|| started?.batch_size);
    let parts = [name, rate.map(|rate| format!("lr {rate}")), batch.map(|batch| format!("batch {batch}"))];
    parts.into_iter().flatten().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
}

/// Returns the largest width of lines: that of the terminal, if there is a wide one.
fn width() -> usize {
    Term::stdout().size_checked().map_or(WIDTH, |(_, columns)| usize::from(columns).max(WIDTH))
}

/// Returns the rows as lines with aligned columns, narrowed to a width. Columns with nothing in them are left out.
fn aligned(rows: &[Row], width: usize) -> String {
    let longest = |rows: &[Row], column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let mut widths: [usize; HEADER.len()] = std::array::from_fn(|column| match longest(&rows[1..], column) {
        0 => 0,
        _ => longest(rows, column),
    });
    narrow(&mut widths, width);
    let titles: Vec<&str> = rows[1..].iter().map(|row| row[TITLE].as_str()).collect();
    let common = common_beginning(&titles);
    let line = |row: &Row| {
        let shown = row.iter().zip(widths).enumerate().filter(|(_, (_, width))| *width > 0);
        let cells = shown.map(|(column, (cell, width))| {
            let is_cut = cell.chars().count() > width;
            // Of a cut title the part stays in which it differs from the others.
            let rest = (column == TITLE && is_cut && common > 0).then(|| cell.get(common..)).flatten();
            let cell = rest.map_or_else(|| cell.clone(), |rest| format!("…{rest}"));
            format!("{:width$}", without_middle(&cell, width))
        });
        cells.collect::<Vec<_>>().join(&" ".repeat(GAP)).trim_end().to_owned() + "\n"
    };
    rows.iter().map(line).collect()
}

/// Returns the number of bytes of the words with which all texts begin, if there are several different ones.
fn common_beginning(texts: &[&str]) -> usize {
    let Some(first) = texts.first().filter(|first| texts.iter().any(|text| text != *first)) else { return 0 };
    let same =
        |text: &&str| first.chars().zip(text.chars()).take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8()).sum();
    let bytes: usize = texts.iter().map(same).min().unwrap_or(0);
    first[..bytes].rfind(' ').map_or(0, |space| space + 1)
}

/// Narrows the widest columns until a line has at most `most` characters.
fn narrow(widths: &mut [usize; HEADER.len()], most: usize) {
    let shown = widths.iter().filter(|&&width| width > 0);
    let line = shown.map(|width| width + GAP).sum::<usize>().saturating_sub(GAP);
    for _ in most..line {
        let spare = SHORTENED.map(|(column, fewest)| (widths[column].saturating_sub(fewest), column));
        let Some((1.., column)) = spare.into_iter().max() else { return };
        widths[column] -= 1;
    }
}

/// Returns the text, without its middle where it has more than `most` characters. More of its beginning stays.
fn without_middle(text: &str, most: usize) -> String {
    let count = text.chars().count();
    if count <= most {
        return text.to_owned();
    }
    let end = most.saturating_sub(1) / 3;
    let beginning = text.chars().take(most.saturating_sub(1 + end));
    beginning.chain(['…']).chain(text.chars().skip(count - end)).collect()
}

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
    output::print(&table.text())
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
        let cut =
            |row: &Vec<Cell>| shown.iter().map(|column| output::cell(&row[*column].text, longest(*column))).collect();
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

pub(super) fn diff(place: &RunsLocation, runs: &[OsString]) -> Result<(), Failure> {
    let column = |name: &OsString| {
        let run = place.find(name)?;
        let name = run.name();
        let column = run_column(&run, name).map_err(|error| Failure::Failed(anyhow!(error)))?;
        // The folder is the name.
        Ok(SettingColumn { place: String::new(), ..column })
    };
    print_differences(&runs.iter().map(column).collect::<Result<Vec<_>, Failure>>()?)
}
