//! `valleyscope runs list` and `diff`: runs as a table, and the settings in which they differ.

use std::ffi::OsString;

use anyhow::anyhow;
use console::Term;
use rayon::prelude::*;
use valleyscope_engine::terminal_escape::visible_path;
use valleyscope_experiments::difference::SettingColumn;
use valleyscope_runs::RunFolder;

use super::notes;
use crate::cli::output::{print, print_content, print_differences};
use crate::cli::run_args::RunsLocation;
use crate::cli::{Failure, say};
use crate::runs::{
    Column, Columns, Filter, Grouping, MetricAliases, PrintedTable, REPLICATES, RunFacts, SortKey, Statistic,
    TableLayout, listed_fields, ordered, run_column,
};

#[derive(clap::Args, Debug, Default)]
pub(super) struct TableArgs {
    /// Only the runs that fit, such as 'optimizer = FOCUS, lr < 1e-3, state = finished, note ~ baseline'
    #[arg(long, value_name = "FILTER")]
    filter: Option<String>,
    /// Sort by these fields, separated by commas; a minus before a field reverses its order
    #[arg(long, value_name = "FIELDS", allow_hyphen_values = true)]
    sort: Option<String>,
    /// Show these fields [default: settings that differ, losses, rate and time, as far as they fit into a terminal;
    /// with --csv or --json all fields]
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

pub(super) fn list(location: &RunsLocation, args: &TableArgs) -> Result<(), Failure> {
    let aliases = aliases(args)?;
    let folders = location.list()?;
    if folders.is_empty() {
        // No field is known, so none is reported as unknown.
        say(format_args!("there are no runs in {}", location.folder.display()));
        return if args.json { print_content("[]\n") } else { Ok(()) };
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
        return print_content(&String::from_utf8_lossy(&table.csv()));
    }
    if args.json {
        return print_content(&table.json(args.columns.is_some()));
    }
    if table.is_empty() {
        say(format_args!("none of {} runs in {} fits", runs.len(), location.folder.display()));
        return Ok(());
    }
    // Requested columns are all shown.
    let terminal = Term::stdout().size_checked().filter(|_| args.columns.is_none());
    print(&table.text(terminal.map(|(_, columns)| usize::from(columns))))
}

/// Makes the table of these runs, and prints notes about its groups.
fn table(runs: Vec<&RunFacts>, args: &TableArgs, columns: &Columns) -> Result<PrintedTable, Failure> {
    let sort = SortKey::parse(args.sort.as_deref().unwrap_or_default(), columns).map_err(bad("--sort"))?;
    let by = args.group_by.as_deref().map(|text| fields(text, columns, "--group-by")).transpose()?;
    let best_over = args.best_over.as_deref().map(|text| columns.find(text)).transpose().map_err(bad("--best-over"))?;
    let best_over = best_over.map(|column| column.field.clone());
    // The usual columns and the better direction follow from the runs that are shown.
    let columns = columns.while_shown(&runs);
    let shown = shown_columns(args, &columns, &runs)?;
    let order = ordered(&runs, (0..runs.len()).collect(), &sort);
    let Some(by) = by else { return Ok(PrintedTable::of_runs(order.iter().map(|index| runs[*index]), &shown)) };
    let grouping = Grouping { by, statistic: args.statistic, best_over };
    let groups = grouping.groups(&runs, order, &sort, &columns);
    let undecided = grouping.undecided(&runs, &groups, &columns).into_iter().map(|reason| format!("warning: {reason}"));
    let remarks = grouping.remarks(&runs, &groups, &columns);
    undecided.chain(remarks).for_each(|remark| say(format_args!("{remark}")));
    let keeps_all = args.csv || args.json || args.columns.is_some();
    Ok(PrintedTable::of_groups(&runs, &groups, &grouping, &columns, &shown, keeps_all))
}

fn aliases(args: &TableArgs) -> Result<MetricAliases, Failure> {
    let mut aliases = MetricAliases::default();
    let set = args.alias.iter().try_for_each(|(name, shown)| aliases.set(name, shown));
    set.map_err(|error| Failure::BadInput(anyhow!(error)))?;
    Ok(aliases)
}

/// Reads a run. An unreadable one does not prevent listing the others.
fn read(run: &RunFolder, aliases: &MetricAliases) -> RunFacts {
    RunFacts::read(run, &notes(run), aliases).unwrap_or_else(|error| {
        say(format_args!("warning: cannot read {}: {error}", visible_path(&run.events())));
        RunFacts::unreadable(run)
    })
}

fn bad(option: &str) -> impl FnOnce(String) -> Failure {
    move |error| Failure::BadInput(anyhow!("{option}: {error}"))
}

fn fields(text: &str, columns: &Columns, option: &str) -> Result<Vec<String>, Failure> {
    let field = |part: &str| match part {
        REPLICATES if option == "--group-by" => Ok(part.to_owned()),
        part => columns.find(part).map(|column| column.field.clone()),
    };
    listed_fields(text).map(field).collect::<Result<_, _>>().map_err(bad(option))
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
