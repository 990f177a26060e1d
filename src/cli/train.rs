//! `valleyscope train`: a training without a window.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, anyhow};
use clap::builder::{OsStringValueParser, TypedValueParser};
use rayon::prelude::*;
use valleyscope_experiments::preset::Preset;
use valleyscope_experiments::run::{CapacityReport, Fork, ForkError, RunConfig};
use valleyscope_experiments::workload::DeviceChoice;
use valleyscope_runs::{
    CheckpointChoice, Handshake, Notes, Queue, RunFolder, RunReader, Status, WorkerProgram, now, runs_folder,
};

use super::output::{Interrupt, print, table};
use super::queue::{self, Work, WorkArgs};
use super::run_args::{CheckpointName, RunsLocation, find_worker};
use super::runs::watch::{Watch, outcome};
use super::training_args::{SettingsArgs, check_processes, load};
use super::{Failure, say};
use crate::runs::{GridAxes, GridResult, MetricAliases, RunFacts, lower_first};

#[derive(clap::Args)]
pub(super) struct TrainArgs {
    /// Name of a built-in preset or of one of your own, or a file [with --fork: the other run's own settings]
    #[arg(value_name = "PRESET", required_unless_present_any = ["resume", "fork"])]
    preset: Option<OsString>,
    #[command(flatten)]
    settings: SettingsArgs,
    /// Folder for runs, also for the run to resume or fork [default: the one in VALLEYSCOPE_RUNS, or `runs` in the
    /// user's folder for data; for a fork, the folder of the other run]
    #[arg(long, value_name = "DIR")]
    runs: Option<PathBuf>,
    /// Resume a stopped run: its name, the beginning of it, `last`, or its folder
    #[arg(long, value_name = "RUN", conflicts_with_all = ["preset", "part", "vary", "seeds"])]
    resume: Option<OsString>,
    /// Start a new run from a checkpoint of another: its newest, that of STEP, or the best by evaluation
    ///
    /// The fork has the settings of the other run, or those of PRESET, changed by --set. Its steps count on from the
    /// checkpoint's: `steps` is the number at its end, and the schedule continues. The optimizer keeps its state where
    /// its rule is the same, and starts with an empty one where it is another. Each step's batch is determined by seed,
    /// data, batch size and the number of the step: where these are equal, the fork trains on the same batches. The
    /// checkpoint is not copied where the file system can link files, and the other run is not changed.
    #[arg(long, value_name = "RUN[@STEP|@best]", conflicts_with_all = ["resume", "part", "vary", "seeds"], value_parser = OsStringValueParser::new().try_map(CheckpointName::parse))]
    fork: Option<CheckpointName>,
    /// Write the points of the curves as they come for TensorBoard, into a folder of the run's name in this one
    ///
    /// A resumed run continues its event file, without points that it shows twice. If this command ends before the
    /// training, `valleyscope runs watch --tensorboard DIR` goes on.
    #[arg(long, value_name = "DIR")]
    tensorboard: Option<PathBuf>,
    #[command(flatten)]
    work: WorkArgs,
}

/// Refuses other settings for a run that is resumed, and names the command that accepts them.
fn refuse_settings_of_resumed(args: &TrainArgs) -> Result<(), Failure> {
    let Some(run) = &args.resume else { return Ok(()) };
    let given = [
        ("--set", "--set KEY=VALUE", !args.settings.set.is_empty()),
        ("--device", "--device DEVICE", args.settings.device.is_some()),
        ("--data", "--data DIR", args.settings.data.is_some()),
    ];
    let Some((option, usage, _)) = given.into_iter().find(|(.., is_given)| *is_given) else { return Ok(()) };
    let run = run.display();
    Err(Failure::BadInput(anyhow!(
        "a resumed run keeps its settings, and {option} changes them; `valleyscope train --fork {run} {usage}` starts a \
         new run with others from its last checkpoint, and `valleyscope runs set {run} KEY=VALUE` changes some while it runs"
    )))
}

pub(super) fn run(args: &TrainArgs) -> Result<(), Failure> {
    refuse_settings_of_resumed(args)?;
    let resumed = args.resume.as_ref().map(|run| RunsLocation::of(args.runs.as_deref())?.find(run)).transpose()?;
    if let Some(run) = &resumed {
        let status = RunReader::brief(run.clone()).status(now());
        let folder = run.path().display();
        match status {
            Ok(Status::Finished) if lacks_end(run) => say(format_args!(
                "the run has finished, and its last checkpoint is gone or damaged: it continues from the one before"
            )),
            Ok(Status::Finished) => {
                say(format_args!("the run in {folder} has finished; there is nothing left to train"));
                if let Err(error) = RunConfig::check_run(run) {
                    say(format_args!("warning: {error}"));
                }
                return Ok(());
            }
            Ok(silent @ Status::Silent { .. }) if !silent.is_lost() => {
                return Err(Failure::BadInput(anyhow!(
                    "the run in {folder} may still be trained, on another machine: {silent}; end it there, or wait until it \
                     was not heard from for ten minutes"
                )));
            }
            Ok(Status::Running(_)) => {
                return Err(Failure::BadInput(anyhow!(
                    "the run in {folder} is being trained already; `valleyscope runs watch {folder}` shows its progress"
                )));
            }
            _ => {}
        }
    }
    if let Some(run) = &resumed {
        let worker = find_worker(args.work.worker.as_deref())?;
        worker.handshake().map_err(anyhow::Error::from)?;
        check_config(run).map_err(Failure::BadInput)?;
        if let Some(processes) = args.settings.processes {
            check_processes(&RunConfig::read(run).map_err(Failure::bad_input)?.preset, processes)?;
        }
        return train(&worker, run, true, args, &Interrupt::listen()?);
    }
    let fork = args.fork.as_ref().map(|point| find(args, point)).transpose()?;
    let trainings = trainings(args, fork.as_ref())?;
    let worker = find_worker(args.work.worker.as_deref())?;
    let has = worker.handshake().map_err(anyhow::Error::from)?;
    trainings.iter().try_for_each(|training| check_device(training, &has, args))?;
    let origin_folder = fork.as_ref().and_then(|fork| fork.run.path().parent().map(Path::to_owned));
    let parent = args.runs.clone().or(origin_folder).or_else(runs_folder);
    let parent = parent.ok_or_else(|| anyhow!("this system has no folder for data; name one with --runs DIR"))?;
    check_capacity(&trainings, &has, &parent)?;
    let interrupt = Interrupt::listen()?;
    let stem = stem(args, fork.as_ref());
    match (&fork, &trainings[..]) {
        (Some(fork), [training]) => {
            train(&worker, &begin_fork(fork, &parent, &stem, training)?, true, args, &interrupt)
        }
        (None, [training]) => {
            let run = RunFolder::create(&parent, &stem, &training.to_ron()).map_err(anyhow::Error::from)?;
            train(&worker, &run, false, args, &interrupt)
        }
        (_, trainings) => train_queued(&Queue::of(&parent), &stem, trainings, &worker, args, &interrupt),
    }
}

/// Puts trainings into the queue, and trains them unless another program of this machine does.
fn train_queued(
    queue: &Queue,
    stem: &str,
    trainings: &[Preset],
    worker: &WorkerProgram,
    args: &TrainArgs,
    interrupt: &Interrupt,
) -> Result<(), Failure> {
    let names = queue::add(queue, stem, trainings)?;
    say(format_args!("{} trainings are in the queue of {}", names.len(), queue.runs().display()));
    let runner = queue::runner_or_end(queue, &names, interrupt)?;
    let work = Work::new(queue, worker, &args.work, 1, args.tensorboard.as_deref());
    // It trains none of those that other programs have trained.
    let ended = work.run(&|entry| runner.is_some() && names.contains(&entry.name), interrupt);
    print_results(queue, &names)?;
    ended?;
    queue::outcome_of(queue, &names)
}

/// Prints the best result of each curve of a grid, or all results of its only curve, and advice about those at the edge of
/// the tried values.
fn print_results(queue: &Queue, names: &[String]) -> Result<(), Failure> {
    let facts = names.par_iter().filter_map(|name| {
        let run = RunFolder::open(&queue.runs().join(name)).ok()?;
        RunFacts::read(&run, &Notes::default(), &MetricAliases::default()).ok()
    });
    let facts: Vec<RunFacts> = facts.collect();
    let Ok(result) = GridResult::of("", &facts.iter().collect::<Vec<_>>(), &GridAxes::default()) else { return Ok(()) };
    let is_single = result.curves.len() == 1;
    let rows = result.curves.iter().flat_map(|curve| {
        let points = curve.points.iter().zip(&result.ticks).enumerate();
        points.filter_map(|(index, (point, (_, at)))| {
            let (is_best, text) = (curve.best == Some(index), result.text(point.as_ref()?));
            let at = format!("{} {at}", lower_first(&result.x.short));
            match is_single {
                true => Some([at, text, if is_best { "best".to_owned() } else { String::new() }]),
                false => is_best.then(|| [curve.name.clone(), text, at]),
            }
        })
    });
    print(&table(&rows.collect::<Vec<_>>(), ""))?;
    result.remarks.iter().for_each(|remark| say(format_args!("{remark}")));
    Ok(())
}

fn find(args: &TrainArgs, point: &CheckpointName) -> Result<Fork, Failure> {
    let run = RunsLocation::for_new_run(args.runs.as_deref())?.find(&point.run)?;
    let step = match point.choice {
        CheckpointChoice::Newest => None,
        CheckpointChoice::Step(step) => Some(step),
        CheckpointChoice::Best => Some(point.step(&run)?),
    };
    Ok(Fork { run, step })
}

/// Creates the folder of a fork, and prints its description.
fn begin_fork(fork: &Fork, parent: &Path, stem: &str, training: &Preset) -> Result<RunFolder, Failure> {
    let (run, forked) = fork.create(parent, stem, training).map_err(|error| match error {
        ForkError::Folder(_) | ForkError::File { .. } => Failure::Failed(error.into()),
        _ => Failure::bad_input(error),
    })?;
    let newest = fork.run.newest_checkpoint().ok().flatten().filter(|_| fork.step.is_none());
    if let Some(newest) = newest.filter(|newest| *newest > forked.from_step) {
        say(format_args!(
            "warning: the checkpoint of step {newest} cannot be used, and the one before takes its place"
        ));
    }
    say(format_args!("{}", forked.sentence()));
    Ok(run)
}

/// Whether a finished run has lost the usable checkpoint of its last step, but has an earlier one, so that its last
/// steps are trained again.
fn lacks_end(run: &RunFolder) -> bool {
    let mut reader = RunReader::brief(run.clone());
    // Errors of reading are reported when the run is resumed.
    let _ = reader.poll();
    let newest = CheckpointChoice::Newest.find(run);
    newest.is_ok_and(|newest| reader.history().steps().is_some_and(|steps| newest.step < steps))
}

/// Refuses a run whose config has changed since it began, before its worker records the refusal in the run.
fn check_config(run: &RunFolder) -> anyhow::Result<()> {
    RunConfig::check_run(run).with_context(|| format!("the run in {} cannot go on", run.path().display()))
}

/// Refuses a training on a missing device before a folder is made for it.
fn check_device(training: &Preset, has: &Handshake, args: &TrainArgs) -> Result<(), Failure> {
    let Some(DeviceChoice::Cuda(number)) = training.device() else { return Ok(()) };
    let Some(complaint) = has.lacks_cuda(number) else { return Ok(()) };
    let advice = match args.settings.device {
        Some(_) => "leave --device out to take the best",
        None => "`--device cpu` takes the processor",
    };
    Err(Failure::BadInput(anyhow!("{complaint}; {advice}")))
}

/// Refuses trainings that need more memory or disk than available, before a folder is made for them.
fn check_capacity(trainings: &[Preset], has: &Handshake, runs: &Path) -> Result<(), Failure> {
    let reports = trainings.iter().filter_map(|training| CapacityReport::of(training, has, runs));
    let reports: Vec<CapacityReport> = reports.collect();
    if let Some(complaint) = reports.iter().find_map(|report| report.lacks.clone()) {
        return Err(Failure::BadInput(anyhow!(complaint)));
    }
    let largest = if reports.len() > 1 { "largest " } else { "" };
    if let Some(CapacityReport { needs, warning, .. }) = reports.into_iter().max_by_key(|report| report.memory) {
        say(format_args!("the {largest}training {needs}"));
        warning.into_iter().for_each(|warning| say(format_args!("warning: {warning}")));
    }
    Ok(())
}

/// Chooses the stem of the folder's name, before the time.
fn stem(args: &TrainArgs, fork: Option<&Fork>) -> String {
    let named = args.preset.as_deref().map(|name| args.settings.stem(name));
    named.or_else(|| fork.map(|fork| fork.run.stem())).unwrap_or_else(|| "run".to_owned())
}

/// Makes the requested trainings, with all changes of the command line.
fn trainings(args: &TrainArgs, fork: Option<&Fork>) -> Result<Vec<Preset>, Failure> {
    let (preset, called) = match (&args.preset, fork) {
        (Some(name), _) => (load(name)?, format!("preset {}", name.display())),
        (None, Some(fork)) => (fork.training().map_err(Failure::bad_input)?, format!("run {}", fork.run.name())),
        (None, None) => unreachable!("clap asks for one of them"),
    };
    let trainings = args.settings.trainings(preset, &called)?;
    if fork.is_some() && trainings.len() > 1 {
        return Err(Failure::BadInput(anyhow!(
            "expected a preset of one run to go on with from a checkpoint, and the {called} has {}; save one of them as a \
             preset of its own, or leave the preset out and use --set",
            trainings.len()
        )));
    }
    Ok(trainings)
}

/// Trains a run until it ends, and runs the user's command afterwards.
fn train(
    worker: &WorkerProgram,
    run: &RunFolder,
    resume: bool,
    args: &TrainArgs,
    interrupt: &Interrupt,
) -> Result<(), Failure> {
    let outcome = watched(worker, run, resume, args, interrupt);
    args.work.after_one(run, &outcome);
    outcome
}

/// Starts the worker, and shows its progress until it ends.
fn watched(
    worker: &WorkerProgram,
    run: &RunFolder,
    resume: bool,
    args: &TrainArgs,
    interrupt: &Interrupt,
) -> Result<(), Failure> {
    const POLL_INTERVAL: Duration = Duration::from_millis(100);
    say(format_args!("the run is in {}", run.path().display()));
    let mut watch = Watch::from_now(run.clone()).with_tensorboard(args.tensorboard.as_deref());
    // A new run's config has the number of processes.
    let processes = args.settings.processes.filter(|_| args.resume.is_some());
    let launched = worker.start(run, resume, processes).map_err(anyhow::Error::from)?;
    launched.wait_until_at_work(WorkerProgram::START_TIMEOUT).map_err(anyhow::Error::from)?;
    let mut stopping = false;
    loop {
        if let Some(ended) = watch.poll()? {
            if matches!(ended, Status::Stopped | Status::Crashed { .. }) {
                let name = run.path().display();
                say(format_args!("go on with `valleyscope train --resume {name}`"));
            }
            return outcome(&ended);
        }
        if interrupt.is_raised() && !stopping {
            stopping = true;
            say(format_args!("stopping with a checkpoint; a second Ctrl-C does not wait for that"));
            watch.stop()?;
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}
