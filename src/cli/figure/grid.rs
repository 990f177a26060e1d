//! The figure of a grid of trainings, from the runs that are found in a folder.

use std::collections::HashMap;
use std::ffi::OsStr;

use anyhow::anyhow;
use rayon::prelude::*;
use valleyscope_engine::terminal_escape::visible_path;
use valleyscope_experiments::preset::Preset;
use valleyscope_experiments::run::{RunConfig, computation};
use valleyscope_runs::{Notes, RunFolder, RunReader};

use super::FigureArgs;
use crate::cli::run_args::RunsLocation;
use crate::cli::{Failure, say};
use crate::draw::Figure;
use crate::runs::{GridAxes, GridResult, MetricAliases, RunFacts};

/// Draws the runs of a grid that are found in a folder, and prints how many are missing and which best values are at the
/// edge of those tried.
pub(super) fn figure(name: &OsStr, grid: &Preset, args: &FigureArgs) -> Result<Figure, Failure> {
    let location = RunsLocation::of(args.runs.as_deref())?;
    let runs = runs_of(grid, &location)?;
    let all = grid.trainings().len();
    let (folder, command) = (location.folder.display(), grid.command(&name.display().to_string()));
    if runs.is_empty() {
        return Err(Failure::BadInput(anyhow!(
            "none of the {all} trainings of {} was found in {folder}, with all settings of the preset; train with \
             `valleyscope {command}`",
            name.display()
        )));
    }
    say(format_args!("{} of {all} trainings were found in {folder}", runs.len()));
    let result = GridResult::of(grid.title(), &runs.iter().collect::<Vec<_>>(), &axes(args));
    let mut result = result.map_err(|error| Failure::BadInput(anyhow!(error)))?;
    result.counts[1] = all;
    Ok(drawn(&result, vec![grid.to_ron()], args))
}

/// Draws a grid in one run, which an older version trained.
pub(super) fn figure_of_run(run: &RunFolder, args: &FigureArgs) -> Result<Figure, Failure> {
    let mut reader = RunReader::new(run.clone());
    reader.poll().map_err(|error| anyhow!(error).context(format!("cannot read {}", visible_path(&run.events()))))?;
    let result = GridResult::of_one_run(reader.history(), &axes(args));
    let result = result.map_err(|error| Failure::BadInput(anyhow!("there is no figure of {}: {error}", run.name())))?;
    Ok(drawn(&result, vec![run.config_text().unwrap_or_default()], args))
}

fn axes(args: &FigureArgs) -> GridAxes {
    GridAxes { x: args.x.clone(), best_over: args.best_over.clone() }
}

fn drawn(result: &GridResult, specs: Vec<String>, args: &FigureArgs) -> Figure {
    result.remarks.iter().for_each(|remark| say(format_args!("{remark}")));
    if args.parallel { Figure::parallel(result, specs) } else { Figure::grid(result, specs) }
}

/// Reads the runs of a grid's trainings in a folder; of several runs of one training, that with the most steps.
pub(in crate::cli) fn runs_of(grid: &Preset, location: &RunsLocation) -> Result<Vec<RunFacts>, Failure> {
    let trainings: Vec<Preset> = grid.trainings();
    let wanted: HashMap<String, usize> =
        trainings.par_iter().enumerate().map(|(index, training)| (computation(training), index)).collect();
    let folders = location.list()?;
    let found = folders.par_iter().filter_map(|run| {
        let config = RunConfig::read(run).ok()?;
        let index = *wanted.get(&computation(&config.preset))?;
        let facts = RunFacts::read(run, &Notes::default(), &MetricAliases::default()).ok()?;
        Some((index, facts))
    });
    let mut found: Vec<(usize, RunFacts)> = found.collect();
    found.sort_by_key(|(index, facts)| (*index, std::cmp::Reverse(facts.number("step").unwrap_or(0.0) as u64)));
    found.dedup_by_key(|(index, _)| *index);
    Ok(found.into_iter().map(|(_, facts)| facts).collect())
}
