//! The figure of a preset of trainings, from the runs that are found in a folder.

use std::ffi::OsStr;
use std::path::Path;

use anyhow::anyhow;
use jiff::Timestamp;

use crate::cli::runs::find::{RunsPlace, began};
use crate::cli::{Failure, say};
use crate::figure::{Figure, Over, TrainedRun};
use crate::preset::Preset;
use crate::run::{MetricInfo, RunConfig, RunFolder, RunHistory, RunReader};
use crate::view::Pen;
use crate::view::ticks::grouped;
use crate::workload::Common;

/// The presets that compare trainings over training time.
const BY_THE_CLOCK: [&str; 2] = ["walltime", "walltime-bf16"];

/// Draws the runs of a preset's trainings that are found in a folder, and prints which are missing.
pub(super) fn figure(name: &OsStr, preset: &Preset, folder: Option<&Path>) -> Result<Figure, Failure> {
    let place = RunsPlace::of(folder)?;
    let all = trainings(preset);
    let command = command(name, preset, folder);
    let candidates = candidates(&place)?;
    let found: Vec<Option<&Candidate>> = all.iter().map(|training| furthest(&candidates, training)).collect();
    if found.iter().all(Option::is_none) {
        return Err(Failure::BadInput(anyhow!(
            "no run of {} was found in {}, with all settings of the preset; train with `{command}`",
            name.display(),
            place.folder.display()
        )));
    }
    let (count, mut runs) = (all.len(), Vec::new());
    for (index, (Training { label, pen, .. }, candidate)) in all.iter().zip(found).enumerate() {
        let which = format!("run {} of {count}, {label}", index + 1);
        let Some(Candidate { run, config, .. }) = candidate else {
            let folder = place.folder.display();
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
            place.folder.display()
        ))
    })?;
    let is_timed = Path::new(name).file_stem().is_some_and(|stem| BY_THE_CLOCK.iter().any(|clock| stem == *clock));
    let over = if is_timed { Over::Time } else { Over::Steps };
    Ok(Figure::trainings(preset.title(), over, &metric, &runs))
}

/// The run of a training that has taken the most steps; of equal ones the one that began last. Forks are excluded, as
/// they have not taken all steps with their settings.
fn furthest<'c>(candidates: &'c [Candidate], training: &Training) -> Option<&'c Candidate> {
    let whole = candidates.iter().filter(|candidate| !candidate.is_fork);
    let same = whole.filter(|candidate| candidate.config.computes_the_same_as(&training.preset));
    same.max_by_key(|candidate| (candidate.step, candidate.began))
}

/// The metric by which a run is compared, once it was measured.
fn evaluated(history: &RunHistory) -> Option<MetricInfo> {
    let info = Figure::judged_by(history)?;
    (!history.curve(info.metric()?).is_empty()).then_some(info)
}

/// The progress of a run, in words.
fn far(history: &RunHistory) -> String {
    let step = grouped(history.step());
    match history.steps() {
        Some(steps) => format!("step {step} of {}", grouped(steps)),
        None => format!("step {step}"),
    }
}

/// The command that trains the runs.
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

/// The trainings of a preset, each with a label and a pen of its own.
fn trainings(preset: &Preset) -> Vec<Training> {
    let trainings = preset.trainings();
    let commons: Vec<Common<'_>> = trainings.iter().filter_map(|training| training.workload()?.training()).collect();
    let drawn: Vec<(String, Pen)> = (0..commons.len())
        .map(|index| {
            let color = commons[index].rule.rgb();
            let before = commons[..index].iter().filter(|common| common.rule.rgb() == color).count();
            (label(&commons, index), Pen::new(color, before))
        })
        .collect();
    let training = |(preset, (label, pen))| Training { preset, label, pen };
    trainings.into_iter().zip(drawn).map(training).collect()
}

/// The name of a training: its label, and the settings that distinguish it from others of the same label.
fn label(commons: &[Common<'_>], index: usize) -> String {
    let words = |common: &Common<'_>| {
        [
            format!("η {}", common.learning_rate.get()),
            format!("batch {}", common.batch_size),
            format!("{} steps", grouped(common.course.steps)),
            format!("seed {}", common.seed),
        ]
    };
    let own = &commons[index];
    let alike: Vec<&Common<'_>> = commons.iter().filter(|other| other.label() == own.label()).collect();
    let differs = |place: usize| alike.iter().any(|other| words(other)[place] != words(own)[place]);
    let mut parts = vec![own.label().to_owned()];
    parts.extend(words(own).into_iter().enumerate().filter(|(place, _)| differs(*place)).map(|(_, word)| word));
    if alike.iter().filter(|other| words(other) == words(own)).count() > 1 {
        parts.push(format!("run {}", index + 1));
    }
    parts.join(", ")
}

/// A run that may be one of a preset's.
struct Candidate {
    run: RunFolder,
    config: RunConfig,
    is_fork: bool,
    step: u64,
    began: Timestamp,
}

/// All runs in a folder that can be read.
fn candidates(place: &RunsPlace) -> Result<Vec<Candidate>, Failure> {
    let mut candidates = Vec::new();
    for run in place.list()? {
        match candidate(&run) {
            Ok(candidate) => candidates.push(candidate),
            Err(error) => say(format_args!("{} is passed over: {error}", run.name())),
        }
    }
    Ok(candidates)
}

fn candidate(run: &RunFolder) -> anyhow::Result<Candidate> {
    let mut reader = RunReader::brief(run.clone());
    reader.poll()?;
    let history = reader.history();
    let config = RunConfig::begun(run, history)?;
    let is_fork = history.forked().is_some();
    Ok(Candidate { run: run.clone(), config, is_fork, step: history.step(), began: began(run, history) })
}

/// The history of a run from all its events.
fn history(run: &RunFolder) -> Result<RunHistory, Failure> {
    let mut reader = RunReader::new(run.clone());
    reader.poll().map_err(|error| anyhow!(error).context(format!("cannot read {}", run.events().display())))?;
    Ok(reader.history().clone())
}
