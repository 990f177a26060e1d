//! The figure of a grid of trainings, from the runs that are found in a folder.

use std::collections::HashMap;
use std::ffi::OsStr;

use anyhow::anyhow;
use rayon::prelude::*;
use valleyscope_experiments::preset::Preset;
use valleyscope_experiments::run::{RunConfig, computation};
use valleyscope_runs::Notes;

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
    let axes = GridAxes { x: args.x.clone(), best_over: args.best_over.clone() };
    let result = GridResult::of(grid.title(), &runs.iter().collect::<Vec<_>>(), &axes);
    let mut result = result.map_err(|error| Failure::BadInput(anyhow!(error)))?;
    result.counts[1] = all;
    result.remarks.iter().for_each(|remark| say(format_args!("{remark}")));
    let specs = vec![grid.to_ron()];
    Ok(if args.parallel { Figure::parallel(&result, specs) } else { Figure::grid(&result, specs) })
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
