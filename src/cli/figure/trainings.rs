//! The figure of a preset of trainings, from the runs that are found in a folder.

use std::ffi::OsStr;
use std::path::Path;

use anyhow::anyhow;
use jiff::Timestamp;
use valleyscope_engine::optimizer::{ShownSetting, differing_by_key, with_settings};
use valleyscope_experiments::preset::Preset;
use valleyscope_experiments::run::RunConfig;
use valleyscope_experiments::view::Pen;
use valleyscope_experiments::view::ticks::grouped;
use valleyscope_experiments::workload::Common;
use valleyscope_runs::{MetricInfo, RunFolder, RunHistory, RunReader};

use crate::cli::run_args::{RunsLocation, began};
use crate::cli::{Failure, say};
use crate::draw::{Figure, TimeAxis, TrainedRun};

/// The presets that compare trainings over training time.
const WALLTIME_PRESETS: [&str; 2] = ["walltime", "walltime-bf16"];

/// Draws the runs of a preset's trainings that are found in a folder, and prints which are missing.
pub(super) fn figure(name: &OsStr, preset: &Preset, folder: Option<&Path>) -> Result<Figure, Failure> {
    let location = RunsLocation::of(folder)?;
    let all = trainings(preset);
    let command = command(name, preset, folder);
    let candidates = candidates(&location)?;
    let which = |index: usize| format!("run {} of {}, {}", index + 1, all.len(), all[index].label);
    for (index, training) in all.iter().enumerate() {
        say_what_is_left_out(&candidates, training, &which(index));
    }
    let found: Vec<Option<&Candidate>> = all.iter().map(|training| furthest(&candidates, training)).collect();
    if found.iter().all(Option::is_none) {
        return Err(Failure::BadInput(anyhow!(
            "no run of {} was found in {}, with all settings of the preset; train with `{command}`",
            name.display(),
            location.folder.display()
        )));
    }
    let (count, mut runs) = (all.len(), Vec::new());
    for (index, (Training { label, pen, .. }, candidate)) in all.iter().zip(found).enumerate() {
        let which = which(index);
        let Some(Candidate { run, config, .. }) = candidate else {
            let folder = location.folder.display();
            say(format_args!("{which}, was not found in {folder}; `{command}` trains all {count}"));
            continue;
        };
        let history = history(run)?;
        if evaluated(&history).is_none() {
            say(format_args!("{which}, is {}, {}, and was not evaluated so far", run.name(), far(&history)));
            continue;
        }
        say(format_args!("{which}, is {}, {}", run.name(), far(&history)));
        runs.push(TrainedRun { label: label.clone(), pen: *pen, config: config.text().to_owned(), history });
    }
    warn_of_data(&runs);
    let metric = runs.iter().find_map(|run| evaluated(&run.history)).ok_or_else(|| {
        Failure::BadInput(anyhow!(
            "no run of {} in {} was evaluated so far; draw the figure once one was",
            name.display(),
            location.folder.display()
        ))
    })?;
    let is_timed = Path::new(name).file_stem().is_some_and(|stem| WALLTIME_PRESETS.iter().any(|clock| stem == *clock));
    let over = if is_timed { TimeAxis::Time } else { TimeAxis::Steps };
    Ok(Figure::trainings(preset.title(), over, &metric, &runs))
}

/// The runs that began as a training, without forks: they have not taken all steps with their settings.
fn begun_as<'c>(candidates: &'c [Candidate], training: &Training) -> impl Iterator<Item = &'c Candidate> {
    let whole = candidates.iter().filter(|candidate| !candidate.is_fork);
    whole.filter(|candidate| candidate.config.computes_the_same_as(&training.preset))
}

/// The run of a training that has taken the most steps; among equal ones, the latest. Runs whose settings were changed
/// are excluded.
fn furthest<'c>(candidates: &'c [Candidate], training: &Training) -> Option<&'c Candidate> {
    let unchanged = begun_as(candidates, training).filter(|candidate| candidate.changes.is_empty());
    unchanged.max_by_key(|candidate| (candidate.step, candidate.began))
}

/// Prints which runs of a training are left out, as their settings were changed while they were trained.
fn say_what_is_left_out(candidates: &[Candidate], training: &Training, which: &str) {
    for Candidate { run, changes, .. } in begun_as(candidates, training).filter(|it| !it.changes.is_empty()) {
        say(format_args!("{which}: {} is left out, as its settings were changed while it ran: {changes}", run.name()));
    }
}

/// The metric by which a run is compared, once it was measured.
fn evaluated(history: &RunHistory) -> Option<MetricInfo> {
    let info = Figure::judged_by(history)?;
    (!history.curve(info.metric()?).is_empty()).then_some(info)
}

/// Describes the progress of a run.
fn far(history: &RunHistory) -> String {
    let step = grouped(history.step());
    match history.steps() {
        Some(steps) => format!("step {step} of {}", grouped(steps)),
        None => format!("step {step}"),
    }
}

fn command(name: &OsStr, preset: &Preset, folder: Option<&Path>) -> String {
    let command = preset.command(&name.display().to_string());
    let folder = folder.map_or_else(String::new, |folder| format!(" --runs {}", folder.display()));
    format!("valleyscope {command}{folder}")
}

/// Warns of different data, whose curves cannot be compared.
fn warn_of_data(runs: &[TrainedRun]) {
    let started = |run: &TrainedRun| run.history.started().cloned().unwrap_or_default();
    let mut prints: Vec<String> = runs.iter().map(|run| started(run).fingerprint).collect();
    prints.retain(|print| !print.is_empty());
    prints.sort();
    prints.dedup();
    if prints.len() > 1 {
        let data: Vec<String> = runs.iter().map(|run| format!("{} from {}", run.label, started(run).data)).collect();
        say(format_args!("warning: the runs have learned from different data: {}", data.join("; ")));
    }
}

/// A training of a preset, with its label and pen.
struct Training {
    preset: Preset,
    label: String,
    pen: Pen,
}

fn trainings(preset: &Preset) -> Vec<Training> {
    let trainings = preset.trainings();
    let commons: Vec<Common<'_>> = trainings.iter().filter_map(Preset::training).collect();
    let labels = labels(&trainings, &commons);
    let colors: Vec<[u8; 3]> = commons.iter().map(|common| common.rule.rgb()).collect();
    let drawn: Vec<(String, Pen)> = labels.into_iter().zip(Pen::side_by_side(&colors)).collect();
    let training = |(preset, (label, pen))| Training { preset, label, pen };
    trainings.into_iter().zip(drawn).map(training).collect()
}

/// The names of trainings: for each its label, and the settings that differ among those without a name of their own, or
/// among those of its name; where these are equal too, the seed or the number of the run.
fn labels(trainings: &[Preset], commons: &[Common<'_>]) -> Vec<String> {
    let settings: Vec<Vec<ShownSetting>> = trainings.iter().map(Preset::shown_settings).collect();
    let names: Vec<Option<&str>> = commons.iter().map(|common| common.name).collect();
    let texts = differing_by_key(&names, &settings).into_iter().zip(commons);
    let named: Vec<String> = texts.map(|(texts, common)| with_settings(common.label(), &texts)).collect();
    let distinguished = |index: usize| {
        let same: Vec<usize> = (0..named.len()).filter(|it| named[*it] == named[index]).collect();
        let has_own_seed = same.iter().filter(|it| commons[**it].seed == commons[index].seed).count() == 1;
        let mark = match same.len() {
            1 => Vec::new(),
            _ if has_own_seed => vec![format!("seed {}", commons[index].seed)],
            _ => vec![format!("run {}", index + 1)],
        };
        with_settings(&named[index], &mark)
    };
    (0..named.len()).map(distinguished).collect()
}

/// A run that may be one of a preset's.
struct Candidate {
    run: RunFolder,
    config: RunConfig,
    is_fork: bool,
    /// The settings that were changed while it was trained, as text.
    changes: String,
    step: u64,
    began: Timestamp,
}

fn candidates(location: &RunsLocation) -> Result<Vec<Candidate>, Failure> {
    let mut candidates = Vec::new();
    for run in location.list()? {
        match candidate(&run) {
            Ok(candidate) => candidates.push(candidate),
            Err(error) => say(format_args!("{} is skipped: {error}", run.name())),
        }
    }
    Ok(candidates)
}

fn candidate(run: &RunFolder) -> anyhow::Result<Candidate> {
    let mut reader = RunReader::brief(run.clone());
    reader.poll()?;
    let history = reader.history();
    let config = RunConfig::begun(run, history)?;
    let (is_fork, changes) = (history.forked().is_some(), history.changes_text());
    Ok(Candidate { run: run.clone(), config, is_fork, changes, step: history.step(), began: began(run, history) })
}

fn history(run: &RunFolder) -> Result<RunHistory, Failure> {
    let mut reader = RunReader::new(run.clone());
    reader.poll().map_err(|error| anyhow!(error).context(format!("cannot read {}", run.events().display())))?;
    Ok(reader.history().clone())
}
