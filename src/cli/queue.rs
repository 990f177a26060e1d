//! `valleyscope queue`: the trainings that wait beside the runs, and the work on them.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::anyhow;
use clap::Subcommand;
use valleyscope_engine::terminal_escape::visible;
use valleyscope_experiments::preset::Preset;
use valleyscope_experiments::run::trained_together;
use valleyscope_runs::{
    Claim, EntryEnd, Queue, QueueEntry, QueueError, QueueRunner, RunFolder, RunReader, Status, WorkerProgram, now,
};

use super::output::{Interrupt, print, table};
use super::run_args::{RunsLocation, find_worker};
use super::runs::watch::Watch;
use super::training_args::TrainingArgs;
use super::{Failure, say};
use crate::runs::status_line;

#[derive(clap::Args)]
pub(super) struct QueueArgs {
    #[command(subcommand)]
    command: QueueCommand,
    /// Folder that contains the runs and their queue [default: the one in VALLEYSCOPE_RUNS, or `runs` in the user's folder
    /// for data]
    #[arg(long, global = true, value_name = "DIR")]
    runs: Option<PathBuf>,
}

#[derive(Subcommand)]
enum QueueCommand {
    /// List the trainings in their order, with what is known of their runs
    List,
    /// Add the trainings of a preset at the end
    Add(TrainingArgs),
    /// Remove a training on which no program works
    Remove {
        /// Names or numbers of entries, as listed
        #[arg(required = true, value_name = "ENTRY")]
        entries: Vec<String>,
    },
    /// Move a training before another one, or to the end
    Move {
        /// Name or number of an entry, as listed
        entry: String,
        /// The entry before which it comes [default: to the end]
        #[arg(value_name = "NEXT")]
        before: Option<String>,
    },
    /// Begin no further training, here or on another machine; those under way go on
    Pause {
        /// Let them begin again
        #[arg(long)]
        off: bool,
    },
    /// Train the entries, in their order, until none is left
    ///
    /// The queue is a folder, and several machines that share it can work on it at the same time. A training whose
    /// worker has died is resumed from its checkpoint, at most three times. Ctrl-C stops the trainings under way with a
    /// checkpoint, and leaves them in the queue.
    Run(RunArgs),
}

#[derive(clap::Args)]
pub(super) struct RunArgs {
    /// Number of trainings at the same time
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
    jobs: u16,
    #[command(flatten)]
    work: WorkArgs,
}

/// The arguments of commands that work on the queue.
#[derive(clap::Args)]
pub(super) struct WorkArgs {
    /// Run this command of the shell after a training has failed, and at the end of all
    ///
    /// The variable VALLEYSCOPE_EVENT is `failed` or `end`, VALLEYSCOPE_RUN the folder of the run that failed or of the
    /// only one, and VALLEYSCOPE_FINISHED and VALLEYSCOPE_FAILED are the numbers of trainings.
    #[arg(long, value_name = "COMMAND")]
    on_end: Option<String>,
    /// The worker that trains [default: the one beside valleyscope, or the installed one]
    #[arg(long, value_name = "PATH")]
    pub worker: Option<PathBuf>,
}

/// The interval between looks at entries that other programs work on.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

impl From<QueueError> for Failure {
    fn from(error: QueueError) -> Failure {
        match error {
            QueueError::Missing(_) | QueueError::Claimed(_) => Failure::bad_input(error),
            _ => Failure::Failed(error.into()),
        }
    }
}

pub(super) fn run(args: &QueueArgs) -> Result<(), Failure> {
    let location = RunsLocation::for_new_run(args.runs.as_deref())?;
    let queue = Queue::of(&location.folder);
    match &args.command {
        QueueCommand::List => list(&queue),
        QueueCommand::Add(training) => {
            let names = add(&queue, &training.stem(), &training.trainings()?)?;
            print(&names.iter().map(|name| format!("{name}\n")).collect::<String>())
        }
        QueueCommand::Remove { entries } => {
            Ok(queue.named(entries)?.iter().try_for_each(|entry| queue.remove(entry))?)
        }
        QueueCommand::Move { entry, before } => Ok(queue.move_before(entry, before.as_deref())?),
        QueueCommand::Pause { off } => Ok(queue.set_paused(!off)?),
        QueueCommand::Run(args) => {
            let worker = find_worker(args.work.worker.as_deref())?;
            worker.handshake().map_err(anyhow::Error::from)?;
            let Some(_runner) = queue.runner()? else {
                let folder = location.folder.display();
                return Err(Failure::Failed(anyhow!(
                    "another program of this machine works on the queue in {folder} already"
                )));
            };
            Work::new(&queue, &worker, &args.work, args.jobs, None).run(&|_| true, &Interrupt::listen()?)
        }
    }
}

fn list(queue: &Queue) -> Result<(), Failure> {
    let entries = queue.entries()?;
    if entries.is_empty() {
        say(format_args!("the queue of {} is empty", queue.runs().display()));
        return Ok(());
    }
    say_if_paused(queue);
    let rows = entries.iter().zip(1..).map(|(entry, number): (_, usize)| {
        let preset = Preset::parse(&entry.config, RunFolder::CONFIG).ok();
        let training = preset.as_ref().and_then(Preset::training).map_or_else(String::new, |it| it.summary());
        let title = preset.as_ref().map_or("", Preset::title);
        [
            number.to_string(),
            visible(&entry.name).into_owned(),
            state(queue, entry),
            visible(&training).into_owned(),
            visible(title).into_owned(),
        ]
    });
    print(&table(&rows.collect::<Vec<_>>(), ""))
}

fn say_if_paused(queue: &Queue) {
    if queue.is_paused() {
        say(format_args!("the queue is paused; `valleyscope queue pause --off` lets its trainings begin"));
    }
}

/// Describes the state of an entry's run.
fn state(queue: &Queue, entry: &QueueEntry) -> String {
    let Ok(run) = RunFolder::open(&queue.runs().join(&entry.name)) else { return "waiting".to_owned() };
    let mut reader = RunReader::brief(run);
    match reader.status(now()) {
        Ok(status) if entry.starts > 0 => status_line(&status, &[], reader.history()),
        _ => "waiting".to_owned(),
    }
}

/// Adds trainings at the end of a queue; returns the names of their entries.
pub(super) fn add(queue: &Queue, stem: &str, trainings: &[Preset]) -> Result<Vec<String>, QueueError> {
    queue.add(stem, trainings.iter().map(Preset::to_ron))
}

/// The work of this program on a queue.
pub(super) struct Work<'a> {
    queue: &'a Queue,
    worker: &'a WorkerProgram,
    args: &'a WorkArgs,
    jobs: u16,
    tensorboard: Option<&'a Path>,
    tally: Mutex<Tally>,
}

/// The numbers of trainings by their ends, and those under way.
#[derive(Default)]
struct Tally {
    finished: usize,
    failed: usize,
    stopped: usize,
    busy: usize,
    /// The entries that this program cannot train, and leaves in the queue.
    passed_over: Vec<String>,
}

impl<'a> Work<'a> {
    pub(super) fn new(
        queue: &'a Queue,
        worker: &'a WorkerProgram,
        args: &'a WorkArgs,
        jobs: u16,
        tensorboard: Option<&'a Path>,
    ) -> Work<'a> {
        Work { queue, worker, args, jobs, tensorboard, tally: Mutex::default() }
    }

    fn tally(&self) -> MutexGuard<'_, Tally> {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Trains the entries that are `wanted`, until those that are left are worked on elsewhere.
    pub(super) fn run(
        &self,
        wanted: &(dyn Fn(&QueueEntry) -> bool + Sync),
        interrupt: &Interrupt,
    ) -> Result<(), Failure> {
        say_if_paused(self.queue);
        let ends: Result<Vec<()>, QueueError> = std::thread::scope(|scope| {
            let jobs: Vec<_> = (0..self.jobs).map(|_| scope.spawn(|| self.work(wanted, interrupt))).collect();
            let ends = jobs.into_iter().map(|job| job.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            ends.collect()
        });
        if interrupt.is_raised() {
            let runs = self.queue.runs().display();
            say(format_args!("go on with `valleyscope queue run --runs {runs}`"));
            return Err(Failure::Interrupted);
        }
        self.args.on_end(self.counts(), "end", None);
        ends?;
        let Tally { failed, stopped, .. } = *self.tally();
        outcome(failed, stopped)
    }

    /// Trains one entry after another, as long as there are any, or others may be added while one is trained.
    fn work(&self, wanted: &(dyn Fn(&QueueEntry) -> bool + Sync), interrupt: &Interrupt) -> Result<(), QueueError> {
        while !interrupt.is_raised() {
            let passed_over = self.tally().passed_over.clone();
            let is_wanted = |entry: &QueueEntry| wanted(entry) && !passed_over.contains(&entry.name);
            let mut claims = self.queue.claim_together(is_wanted, trained_together)?;
            if claims.is_empty() {
                if self.tally().busy == 0 {
                    return Ok(());
                }
                std::thread::sleep(POLL_INTERVAL);
                continue;
            }
            self.tally().busy += 1;
            let begun = if claims.len() > 1 { self.start_together(&mut claims) } else { Ok(()) };
            let are_several = claims.len() > 1;
            let begun = begun.map_err(|error| error.to_string());
            for mut claim in claims {
                let trained = begun
                    .clone()
                    .and_then(|()| self.train(&mut claim, are_several, interrupt).map_err(|error| error.to_string()));
                if let Err(error) = trained {
                    say(format_args!("{} stays in the queue: {error}", claim.entry.name));
                    self.tally().passed_over.push(claim.entry.name.clone());
                    self.failed(&self.queue.runs().join(&claim.entry.name));
                }
            }
            self.tally().busy -= 1;
        }
        Ok(())
    }

    fn start_together(&self, claims: &mut [Claim]) -> Result<(), QueueError> {
        let left = self.queue.entries()?.len().saturating_sub(claims.len());
        say(format_args!("one worker trains {} of the queue together ({left} more in the queue)", claims.len()));
        Claim::start_together(claims, self.worker)
    }

    /// Trains an entry until its run ends, or stops it with a checkpoint if the user interrupts the command. Of one of
    /// several that are trained together, only the end is shown.
    fn train(&self, claim: &mut Claim, is_one_of_several: bool, interrupt: &Interrupt) -> Result<(), QueueError> {
        let run = claim.run_folder()?;
        if !is_one_of_several {
            let left = self.queue.entries()?.len().saturating_sub(1);
            say(format_args!("the run is in {} ({left} more in the queue)", run.path().display()));
        }
        let watch = Watch::from_now(run.clone()).with_tensorboard(self.tensorboard);
        let mut watch = if self.jobs == 1 && !is_one_of_several { watch } else { watch.one_of_several() };
        let mut is_end_shown = false;
        let end = claim.train(self.worker, |_| {
            // A run that cannot be read for a moment is shown later.
            is_end_shown = !is_one_of_several && matches!(watch.poll(), Ok(Some(_)));
            !interrupt.is_raised()
        })?;
        let EntryEnd::Ended(status) = end else {
            // Without a start there is nothing to stop.
            if claim.entry.starts > 0 {
                claim.interrupt()?;
                stop(&run, &mut watch);
            }
            return Ok(());
        };
        if is_one_of_several {
            say(format_args!("{}: {}", run.shown_name(), state(self.queue, &claim.entry)));
        } else if !is_end_shown {
            let _ = watch.poll();
        }
        match status {
            Status::Finished => self.tally().finished += 1,
            Status::Stopped => self.tally().stopped += 1,
            _ => {
                say(format_args!("{} has failed, and the queue goes on without it: {status}", run.shown_name()));
                self.failed(run.path());
            }
        }
        Ok(())
    }

    /// Returns the numbers of the trainings that have finished and failed.
    fn counts(&self) -> [usize; 2] {
        let Tally { finished, failed, .. } = *self.tally();
        [finished, failed]
    }

    fn failed(&self, run: &Path) {
        self.tally().failed += 1;
        let counts = self.counts();
        self.args.on_end(counts, "failed", Some(run));
    }
}

impl WorkArgs {
    /// Runs the user's command after a training that no queue has: at its end or its failure.
    pub(super) fn after_one(&self, run: &RunFolder, outcome: &Result<(), Failure>) {
        let has_failed = matches!(outcome, Err(Failure::Failed(_)));
        let counts = [usize::from(outcome.is_ok()), usize::from(has_failed)];
        self.on_end(counts, if has_failed { "failed" } else { "end" }, Some(run.path()));
    }

    fn on_end(&self, [finished, failed]: [usize; 2], event: &str, run: Option<&Path>) {
        let Some(command) = &self.on_end else { return };
        let mut shell = if cfg!(windows) { Command::new("cmd") } else { Command::new("sh") };
        shell.arg(if cfg!(windows) { "/C" } else { "-c" }).arg(command).env("VALLEYSCOPE_EVENT", event);
        shell.env("VALLEYSCOPE_FINISHED", finished.to_string()).env("VALLEYSCOPE_FAILED", failed.to_string());
        shell.env("VALLEYSCOPE_RUN", run.unwrap_or(Path::new("")));
        match shell.status() {
            Ok(status) if status.success() => {}
            Ok(status) => say(format_args!("warning: the command of --on-end has failed ({status})")),
            Err(error) => say(format_args!("warning: the command of --on-end cannot be run: {error}")),
        }
    }
}

fn outcome(failed: usize, stopped: usize) -> Result<(), Failure> {
    match (failed, stopped) {
        (0, 0) => Ok(()),
        (0, _) => Err(Failure::Stopped),
        (1, _) => Err(Failure::Failed(anyhow!("1 training of the queue has failed"))),
        _ => Err(Failure::Failed(anyhow!("{failed} trainings of the queue have failed"))),
    }
}

/// Returns the right to work on a queue, or waits until other programs have trained the entries of these names.
pub(super) fn runner_or_end(
    queue: &Queue,
    names: &[String],
    interrupt: &Interrupt,
) -> Result<Option<QueueRunner>, Failure> {
    let mut is_told = false;
    while queue.entries()?.iter().any(|entry| names.contains(&entry.name)) {
        if let Some(runner) = queue.runner()? {
            return Ok(Some(runner));
        }
        if !is_told {
            say(format_args!("another program of this machine works on the queue, and trains them in their turn"));
            say_if_paused(queue);
            is_told = true;
        }
        if interrupt.is_raised() {
            say(format_args!("the trainings stay in the queue; `valleyscope queue list` shows them"));
            return Err(Failure::Interrupted);
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    Ok(None)
}

/// Returns the outcome of trainings of these names that other programs have trained.
pub(super) fn outcome_of(queue: &Queue, names: &[String]) -> Result<(), Failure> {
    let status = |name: &String| RunReader::brief(RunFolder::open(&queue.runs().join(name)).ok()?).status(now()).ok();
    let ends: Vec<Status> = names.iter().filter_map(status).collect();
    let failed = ends.iter().filter(|end| matches!(end, Status::Failed(_) | Status::Crashed { .. })).count();
    outcome(failed, ends.iter().filter(|end| matches!(end, Status::Stopped)).count())
}

/// Stops a run with a checkpoint, and waits until it has ended.
fn stop(run: &RunFolder, watch: &mut Watch) {
    say(format_args!("stopping {} with a checkpoint; a second Ctrl-C does not wait for that", run.shown_name()));
    if matches!(RunReader::brief(run.clone()).status(now()), Ok(status) if status.is_open()) && watch.stop().is_ok() {
        while matches!(watch.poll(), Ok(None)) {
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}
