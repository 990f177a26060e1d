//! The worker's command line.

use std::cell::RefCell;
use std::io::{self, IsTerminal, Stdout, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, bail};
use clap::{Parser, Subcommand};
use tch::Device;
use valleyscope_engine::terminal_escape::visible_lines;
use valleyscope_experiments::run::{Capacity, RunConfig, SystemMemory};
use valleyscope_experiments::workload::{Common, Sharing, Workload};
use valleyscope_runs::{
    self as run, CheckpointOrigin, Event, Handshake, PROTOCOL, RunFolder, RunSession, Started, StopRequest,
};

use super::device::Devices;
use super::error::{MemoryAdvice, TrainError};
use super::follower::{share_config, share_data, share_stop};
use super::group::{Group, LocalProcesses, RankEnv};
use super::progress::ProgressLines;
use super::rank_arguments::RankArguments;
use super::saved_run;
use super::thread_spin::ThreadSpin;
use super::trainer::{Instruments, Trainer, TrainerError};
use super::training::{ObtainResult, Obtained, TrainedSpec, Training, trained};
use super::usage::Usage;
use super::wait_metrics::WaitMetrics;

/// Trains the run in a folder, for `valleyscope`, which starts it.
#[derive(Parser)]
#[command(version, name = "valleyscope-train")]
struct Args {
    /// Print this worker's version and devices as a line of JSON
    #[arg(long)]
    handshake: bool,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Train the run in a folder
    Run {
        folder: PathBuf,
        /// Resume from the last checkpoint
        #[arg(long)]
        resume: bool,
        #[command(flatten)]
        ranks: RankArguments,
    },
    /// Write the model of a run's checkpoint into a folder
    Export {
        folder: PathBuf,
        #[arg(long)]
        step: u64,
        #[arg(long)]
        out: PathBuf,
    },
    /// Compute the loss of a run's checkpoint over all held-out data
    Evaluate {
        folder: PathBuf,
        #[arg(long)]
        step: u64,
        /// Change a field of the run's config
        #[arg(long, value_name = "KEY=VALUE", value_parser = assignment)]
        set: Vec<(String, String)>,
    },
}

fn assignment(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("expected KEY=VALUE")?;
    Ok((key.to_owned(), value.to_owned()))
}

/// Runs the worker's program.
pub fn main() -> ExitCode {
    let args = Args::parse();
    let devices = Devices::look();
    if args.handshake {
        let said = serde_json::to_string(&handshake(&devices)).expect("a handshake is plain text");
        println!("{said}");
        return ExitCode::SUCCESS;
    }
    let outcome = match args.command {
        Some(Command::Run { folder, resume, ranks }) => run(&folder, resume, &ranks, &devices),
        Some(Command::Export { folder, step, out }) => Ok(saved_run::export(&folder, step, &out)),
        Some(Command::Evaluate { folder, step, set }) => Ok(saved_run::evaluate(&folder, step, &set, &devices)),
        None => {
            eprintln!("expected a command or `--handshake`; see --help");
            return ExitCode::from(2);
        }
    };
    outcome.unwrap_or_else(|error| {
        eprintln!("{}", visible_lines(&format!("{error:#}")));
        ExitCode::FAILURE
    })
}

fn handshake(devices: &Devices) -> Handshake {
    Handshake {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        protocol: PROTOCOL,
        libtorch: LIBTORCH.to_owned(),
        cuda: (devices.list().len() > 1).then(|| CUDA.to_owned()),
        devices: devices.list(),
        problem: devices.problem().map(str::to_owned),
    }
}

/// The version of libtorch that tch binds.
const LIBTORCH: &str = "2.11.0";
/// The CUDA version of libtorch's builds.
const CUDA: &str = "13.0";

/// The ending of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    Finished,
    /// The session stopped on request; it can be resumed.
    Stopped,
    /// The loss is not finite, and the spec ends the run in this case.
    NotFinite,
}

/// A session of a run, with its config and the devices.
pub struct Work<'a> {
    /// The other processes started by this one, which end before the lock of the run is released.
    processes: Option<LocalProcesses>,
    pub(super) session: RunSession,
    pub(super) stop: StopRequest,
    pub(super) devices: &'a Devices,
    config: RunConfig,
    ranks: &'a RankArguments,
    /// The rank and the meeting point of this process, until it has joined the others.
    rank_env: &'a mut Option<RankEnv>,
    /// The processes that train ranks.
    pub(super) group: Arc<Group>,
}

/// Standard output for the lines of events: unchanged for a program, with control characters escaped for a terminal.
struct Echo {
    out: Stdout,
}

impl Write for Echo {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.out.is_terminal() {
            self.out.write_all(visible_lines(&String::from_utf8_lossy(bytes)).as_bytes())?;
            return Ok(bytes.len());
        }
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

fn run(folder: &Path, resume: bool, ranks: &RankArguments, devices: &Devices) -> anyhow::Result<ExitCode> {
    let stop = StopRequest::listen().context("cannot listen for signals")?;
    let mut rank_env = ranks.rank_env()?;
    let outcome = match rank_env.take_if(|rank_env| rank_env.rank > 0) {
        Some(rank_env) => {
            let _spin = ThreadSpin::adapt();
            let outcome = ranks.follow(folder, rank_env, devices, &stop);
            as_stopped(outcome, &stop)
        }
        None => lead(folder, resume, ranks, devices, &stop, &mut rank_env),
    };
    // A process that ends before it has joined the others informs them.
    if let (Some(rank_env), Err(error)) = (rank_env, &outcome) {
        Group::refuse(rank_env, &why_all_end(error));
    }
    // All processes end with the same code, so that their launcher does not restart them after some.
    outcome.map(|ended| if ended == Ended::NotFinite { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Turns the loss of another process into a stop if this one was asked to stop: torchrun and SLURM ask all others to
/// stop when one has died.
fn as_stopped(outcome: anyhow::Result<Ended>, stop: &StopRequest) -> anyhow::Result<Ended> {
    outcome.or_else(|error| match of_training(&error) {
        Some(TrainError::Lost(_) | TrainError::Interrupted) if stop.is_raised() => Ok(Ended::Stopped),
        _ => Err(error),
    })
}

/// Trains a run as the process that writes it.
fn lead(
    folder: &Path,
    resume: bool,
    ranks: &RankArguments,
    devices: &Devices,
    stop: &StopRequest,
    rank_env: &mut Option<RankEnv>,
) -> anyhow::Result<Ended> {
    let folder = RunFolder::open(folder)?;
    let config = RunConfig::read(&folder)?;
    // A refused start changes nothing in the folder.
    ranks.check(&config.preset, rank_env.as_ref())?;
    let mut session = RunSession::begin(&folder)?;
    session.echo_to(Echo { out: std::io::stdout() });
    if !session.is_new() && !resume {
        bail!("the run in {} was trained before; resume it instead", folder.path().display());
    }
    let (group, processes) = (Arc::new(Group::alone()), None);
    let mut work = Work { processes, session, stop: stop.clone(), devices, config, ranks, rank_env, group };
    let spin = ThreadSpin::adapt();
    let outcome = work.train();
    drop(spin);
    work.group.end(outcome.as_ref().err().map(why_all_end).as_deref());
    // Ends them first, so that a resumed run finds the devices free.
    work.processes = None;
    let step = work.session.step();
    let lost = outcome.as_ref().err().map(ToString::to_string);
    let outcome = as_stopped(outcome, stop);
    if let (Some(message), Ok(Ended::Stopped)) = (lost, &outcome) {
        work.session.record(step, Event::Warning { message })?;
    }
    match &outcome {
        Ok(Ended::Finished) => work.session.record(step, Event::Finished)?,
        Ok(Ended::Stopped) => work.session.record(step, Event::Stopped)?,
        Ok(Ended::NotFinite) => {
            let message = "the training loss is no longer finite, and the config ends the run in this case";
            work.session.record(step, Event::Failed { message: message.to_owned() })?;
        }
        Err(error) => {
            // The log has it too, in case it cannot be written here.
            let _ = work.session.record(step, Event::Failed { message: format!("{error:#}") });
        }
    }
    outcome
}

/// Returns the error of a training inside an error of the worker.
fn of_training(error: &anyhow::Error) -> Option<&TrainError> {
    error.downcast_ref::<TrainError>().or(match error.downcast_ref::<TrainerError>() {
        Some(TrainerError::Train(error)) => Some(error),
        _ => None,
    })
}

/// Describes why rank 0 ends with an error, which may be the loss of another rank, for the other processes.
fn why_all_end(error: &anyhow::Error) -> String {
    match of_training(error) {
        Some(TrainError::Lost(why)) => why.clone(),
        _ => format!("rank 0 ended: {error:#}"),
    }
}

impl Work<'_> {
    fn train(&mut self) -> anyhow::Result<Ended> {
        self.config.check(self.session.before())?;
        let sharing = self.config.preset.workload().map_or_else(Sharing::none, Workload::sharing);
        let (group, processes) = self.ranks.lead(self.session.run(), self.rank_env, sharing, &self.stop)?;
        (self.group, self.processes) = (Arc::new(group), processes);
        share_config(&self.group, self.config.text())?;
        trained(&self.config.preset.clone())?.train(self)
    }

    /// Trains one run of a workload.
    pub(crate) fn run<S: TrainedSpec>(&mut self, spec: &S) -> anyhow::Result<Ended> {
        self.run_all(spec).map_err(|mut error| {
            let advice = || self.memory_advice(spec);
            if let Some(TrainerError::Train(short)) = error.downcast_mut() {
                short.advise(advice);
            } else if let Some(short) = error.downcast_mut::<TrainError>() {
                short.advise(advice);
            }
            error
        })
    }

    /// Returns the advice for a run that lacks memory.
    fn memory_advice<S: TrainedSpec>(&self, spec: &S) -> MemoryAdvice {
        // The estimate is for one process that takes all samples.
        if !self.group.is_alone() {
            return MemoryAdvice::General;
        }
        let Common { device, rule, .. } = spec.common();
        let capacity = Capacity::look(device, &handshake(self.devices), self.session.run().path());
        let (Some(memory), is_gpu) = (capacity.memory, capacity.is_gpu()) else { return MemoryAdvice::General };
        // A GPU's memory is its total; of a processor's, `memory` is only what other programs leave free at the moment.
        let whole = if is_gpu { memory } else { SystemMemory::here().map_or(memory, |system| system.total) };
        match spec.fitting(memory, is_gpu) {
            Some(fits) if fits < spec.samples_at_once() => {
                MemoryAdvice::Batch { fits, with: S::INFO.with_smaller_batches }
            }
            None if spec.fitting(whole, is_gpu).is_none() => MemoryAdvice::Model(rule.name()),
            // A `batch_size` that was estimated to fit, but did not, is no advice.
            _ => MemoryAdvice::General,
        }
    }

    fn run_all<S: TrainedSpec>(&mut self, spec: &S) -> anyhow::Result<Ended> {
        let common = spec.common();
        let device = self.devices.open(common.device, 0)?;
        self.group.meet_on_devices(device)?;
        let obtained = self.data(|say, cancelled| spec.obtain(say, cancelled))?;
        let Some(obtained) = obtained else {
            share_stop(&self.group)?;
            return Ok(Ended::Stopped);
        };
        let started = self.started(&obtained, device);
        let Obtained { data, fingerprint, warnings, .. } = obtained;
        share_data(&self.group, &fingerprint)?;
        let mut training = spec.begin(data, device)?;
        training.join(Arc::clone(&self.group))?;
        let mut started = Started { parameters: Some(training.parameters()), ..started };
        let operations = spec.needs(spec.samples_at_once()).step_operations / self.group.size() as f64;
        let usage = Usage::new(device, &started.device, common.precision, operations);
        let (stop, steps) = (self.stop.clone(), self.session.before().steps());
        let (config, preset) = (self.config.identity(self.session.before()), self.config.preset.to_ron());
        let origin = CheckpointOrigin { data: fingerprint, config, preset };
        let instruments = Instruments::new(&training, usage, WaitMetrics::new(Arc::clone(&self.group)))?;
        started.metrics.extend(instruments.metrics(training.optimized().2));
        let course = common.course;
        if self.session.is_new() {
            self.session.record(0, Event::Started(started))?;
            self.warn(warnings)?;
            let trainer = Trainer::new(course, &mut training, &mut self.session, &stop, origin, instruments);
            return Ok(trainer.leading(&self.group).go()?);
        }
        let again = self.again(started);
        let trainer = Trainer::new(course, &mut training, &mut self.session, &stop, origin, instruments);
        let mut trainer = trainer.leading(&self.group);
        trainer.resume(steps, again, warnings)?;
        Ok(trainer.go()?)
    }

    /// Obtains the data of a preset, which must be those of earlier sessions; `None` if it was asked to stop before.
    pub(super) fn data<D>(
        &mut self,
        obtain: impl FnOnce(&mut dyn FnMut(&str), &dyn Fn() -> bool) -> ObtainResult<D>,
    ) -> anyhow::Result<Option<Obtained<D>>> {
        let mut progress = ProgressLines::new(self.session.run().log());
        let (stop, session) = (&self.stop, RefCell::new(&mut self.session));
        let cancelled = || stop.is_raised() || stopped_before_it_began(&mut session.borrow_mut());
        let obtained = obtain(&mut |line| progress.add(line), &cancelled).map_err(anyhow::Error::from_boxed)?;
        drop(progress);
        let Some(obtained) = obtained else { return Ok(None) };
        let Obtained { source: found, fingerprint, .. } = &obtained;
        let before = self.session.before().started().map(|started| started.fingerprint.as_str());
        if let Some(before) = before.filter(|before| !before.is_empty() && before != fingerprint) {
            bail!(
                "the run was trained on other data (fingerprint {before}) than what is found now: {found} ({fingerprint}); \
                 put the data back, or start a new run"
            );
        }
        Ok(Some(obtained))
    }

    pub(super) fn warn(&mut self, warnings: Vec<String>) -> anyhow::Result<()> {
        for message in warnings {
            self.session.record(self.session.step(), Event::Warning { message })?;
        }
        Ok(())
    }

    /// Returns the description that a resumed run records again, if the original line is lost or the number of
    /// processes has changed.
    pub(super) fn again(&self, started: Started) -> Option<Started> {
        let before = self.session.before();
        // Commands may have changed the number of steps.
        let steps = before.steps().unwrap_or(started.steps);
        let whole = before.started().is_some_and(|before| before.processes == started.processes);
        (!whole).then_some(Started { steps, ..started })
    }

    /// Describes a run, without the parts specific to its kind.
    pub(super) fn started<D>(&self, obtained: &Obtained<D>, device: Device) -> Started {
        Started {
            data: obtained.source.clone(),
            fingerprint: obtained.fingerprint.clone(),
            synthetic: obtained.is_synthetic,
            device: self.devices.describe(device),
            processes: (!self.group.is_alone()).then_some(self.group.size() as u64),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            ..self.config.started()
        }
    }
}

/// Answers commands before there are data to train on; returns whether one was to stop.
fn stopped_before_it_began(session: &mut RunSession) -> bool {
    let mut stop = false;
    // The training reports errors of reading or writing when it begins.
    for (id, command) in session.commands().unwrap_or_default() {
        let (ok, message) = match command {
            run::RunCommand::Stop => {
                stop = true;
                (true, "stopped before the training began")
            }
            _ => (false, "the training has not begun yet; send it again when it has"),
        };
        let _ = session.answer(&id, ok, message);
    }
    stop
}
