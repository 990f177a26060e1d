//! The worker's command line.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, bail};
use clap::{Parser, Subcommand};
use serde::Serialize;
use tch::Device;
use valleyscope_engine::terminal_escape::visible_lines;
use valleyscope_experiments::preset::Preset;
use valleyscope_experiments::run::RunConfig;
use valleyscope_experiments::workload::{MnistSpec, Sharing, Workload};
use valleyscope_runs::{Event, RunFolder, RunSession, StopRequest, TextRequest};

use super::checkpoint::SavedRun;
use super::device::Devices;
use super::error::TrainError;
use super::follower::{Follower, RankLog};
use super::group::{Backend, Group, Joining, LocalProcesses, RankEnv};
use super::loops::ThreadSpin;
use super::mnist::MnistRun;
use super::training::{Ended, Obtained, TrainedSpec};
use super::work::{Work, only, say, trained};

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
    /// Train the run in a folder, or several small runs without checkpoints, which differ in learning rate and seed
    Run {
        #[arg(required = true, value_name = "FOLDER")]
        folders: Vec<PathBuf>,
        /// Resume from the last checkpoint
        #[arg(long)]
        resume: bool,
        /// Number of threads that share each product, on the processor [default: as many as processors]
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1024))]
        threads: Option<u64>,
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
    /// Write a text by the model of a run's checkpoint
    Sample {
        folder: PathBuf,
        #[arg(long)]
        step: u64,
        #[arg(long)]
        prompt: String,
        #[arg(long)]
        tokens: u32,
        #[arg(long)]
        temperature: f64,
        #[arg(long)]
        top_k: Option<u32>,
        /// Change a field of the run's config
        #[arg(long, value_name = "KEY=VALUE", value_parser = assignment)]
        set: Vec<(String, String)>,
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

pub fn main() -> ExitCode {
    let args = Args::parse();
    let devices = Devices::detect();
    if args.handshake {
        let line = serde_json::to_string(&devices.handshake()).expect("a handshake is plain text");
        println!("{line}");
        return ExitCode::SUCCESS;
    }
    let outcome = match args.command {
        Some(Command::Run { folders, resume, threads, ranks }) => match &folders[..] {
            [folder] => run(folder, resume, threads, &ranks, &devices),
            _ => run_several(&folders, resume, &ranks, &devices),
        },
        Some(Command::Export { folder, step, out }) => {
            let saved = SavedRun::open(&folder, step, &[]);
            Ok(answer(saved.and_then(|saved| trained(&saved.preset)?.export(&saved, &out))))
        }
        Some(Command::Sample { folder, step, prompt, tokens, temperature, top_k, set }) => {
            let _spin = ThreadSpin::adapt();
            let request = TextRequest { prompt, tokens, temperature, top_k };
            Ok(answer(request.check().map_err(anyhow::Error::msg).and_then(|()| {
                let saved = SavedRun::open(&folder, step, &set)?;
                trained(&saved.preset)?.sample(&saved, &request, &devices)
            })))
        }
        Some(Command::Evaluate { folder, step, set }) => {
            let _spin = ThreadSpin::adapt();
            let saved = SavedRun::open(&folder, step, &set);
            Ok(answer(saved.and_then(|saved| trained(&saved.preset)?.evaluate(&saved, &devices))))
        }
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

fn run(
    folder: &Path,
    resume: bool,
    threads: Option<u64>,
    ranks: &RankArguments,
    devices: &Devices,
) -> anyhow::Result<ExitCode> {
    let stop = StopRequest::listen().context("cannot listen for signals")?;
    let mut rank_env = ranks.rank_env()?;
    let outcome = match rank_env.take_if(|rank_env| rank_env.rank > 0) {
        Some(rank_env) => {
            let _spin = ThreadSpin::adapt();
            let outcome = ranks.follow(folder, rank_env, devices, &stop);
            as_stopped(outcome, &stop)
        }
        None => lead(folder, resume, threads, ranks, devices, &stop, &mut rank_env),
    };
    // A process that ends before it has joined the others informs them.
    if let (Some(rank_env), Err(error)) = (rank_env, &outcome) {
        Group::refuse(rank_env, &why_all_end(error));
    }
    // All processes end with the same code, so that their launcher does not restart them.
    outcome.map(|ended| if ended == Ended::NotFinite { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Converts the loss of another process to a stop if this one was asked to stop: torchrun and SLURM ask all others to
/// stop when one has died.
fn as_stopped(outcome: anyhow::Result<Ended>, stop: &StopRequest) -> anyhow::Result<Ended> {
    outcome.or_else(|error| match error.downcast_ref() {
        Some(TrainError::Lost(_) | TrainError::Interrupted) if stop.is_raised() => Ok(Ended::Stopped),
        _ => Err(error),
    })
}

/// Trains a run as the process that writes it.
fn lead(
    folder: &Path,
    resume: bool,
    threads: Option<u64>,
    ranks: &RankArguments,
    devices: &Devices,
    stop: &StopRequest,
    rank_env: &mut Option<RankEnv>,
) -> anyhow::Result<Ended> {
    let folder = RunFolder::open(folder)?;
    let config = RunConfig::read(&folder)?;
    // A refused start changes nothing in the folder.
    ranks.check(&config.preset, rank_env.as_ref())?;
    let mut work = begin(&folder, config, resume, devices, stop)?;
    work.threads = work.threads.or(threads.filter(|_| work.session.is_new()));
    work.session.echo_to(|line| {
        let mut out = std::io::stdout();
        // A terminal would obey control characters.
        let line = if out.is_terminal() { visible_lines(line) } else { line.into() };
        out.write_all(line.as_bytes()).and_then(|()| out.flush())
    });
    if let Some(threads) = work.threads {
        tch::set_num_threads(threads as i32);
    }
    let spin = ThreadSpin::adapt();
    let outcome = train(&mut work, ranks, rank_env);
    drop(spin);
    conclude(&mut work, outcome)
}

/// Begins the session of a run.
fn begin<'a>(
    folder: &RunFolder,
    config: RunConfig,
    resume: bool,
    devices: &'a Devices,
    stop: &StopRequest,
) -> anyhow::Result<Work<'a>> {
    let session = RunSession::begin(folder)?;
    if !session.is_new() && !resume {
        bail!("the run in {} was trained before; resume it instead", folder.path().display());
    }
    let threads = session.before().started().and_then(|started| started.threads).map(|threads| threads.clamp(1, 1024));
    let (group, processes, stop) = (Arc::new(Group::alone()), None, stop.clone());
    Ok(Work { processes, session, stop, devices, config, group, threads })
}

/// Ends the other processes of a run, and records how it has ended.
fn conclude(work: &mut Work<'_>, outcome: anyhow::Result<Ended>) -> anyhow::Result<Ended> {
    work.group.end(outcome.as_ref().err().map(why_all_end).as_deref());
    // Ends them first, so that a resumed run finds the devices free.
    work.processes = None;
    let step = work.session.step();
    let lost = outcome.as_ref().err().map(ToString::to_string);
    let outcome = as_stopped(outcome, &work.stop);
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
            // The log has the message too, in case it cannot be recorded as an event.
            let _ = work.session.record(step, Event::Failed { message: format!("{error:#}") });
        }
    }
    outcome
}

/// Trains several runs. On the processor each has one thread, and as many train at a time as libtorch has threads.
fn run_several(
    folders: &[PathBuf],
    resume: bool,
    ranks: &RankArguments,
    devices: &Devices,
) -> anyhow::Result<ExitCode> {
    let stop = StopRequest::listen().context("cannot listen for signals")?;
    if ranks.rank_env()?.is_some() || ranks.processes.is_some_and(|count| count > 1) {
        bail!("several processes train one run, found {} folders", folders.len());
    }
    let open = |folder: &PathBuf| {
        let folder = RunFolder::open(folder)?;
        let config = RunConfig::read(&folder)?;
        anyhow::Ok((folder, config))
    };
    let runs = folders.iter().map(open).collect::<anyhow::Result<Vec<_>>>()?;
    let specs = specs_of_several(&runs)?;
    let device = devices.open(specs[0].device, 0)?;
    let begin = |(folder, config)| {
        let work = begin(&folder, config, resume, devices, &stop)?;
        work.config.check(work.session.before())?;
        anyhow::Ok(Work { threads: (device == Device::Cpu).then_some(1), ..work })
    };
    let works = runs.into_iter().map(begin).collect::<anyhow::Result<Vec<_>>>()?;
    let at_once = if device == Device::Cpu { tch::get_num_threads() as usize } else { works.len() };
    let prepared = prepare_several(&specs, device, &stop);
    let fails = AtomicBool::new(false);
    let conclude = |work: &mut Work<'_>, outcome| match conclude(work, outcome) {
        Ok(Ended::Finished | Ended::Stopped) => {}
        Ok(Ended::NotFinite) => fails.store(true, Ordering::Relaxed),
        Err(error) => {
            say(&format!("{}: {error:#}", work.session.run().name()));
            fails.store(true, Ordering::Relaxed);
        }
    };
    match prepared {
        Ok(Some((trainings, obtained))) => {
            let left = Mutex::new(works.into_iter().zip(&specs).zip(trainings));
            let next = || left.lock().unwrap_or_else(PoisonError::into_inner).next();
            let train = || {
                tch::set_num_threads(1);
                while let Some(((mut work, spec), training)) = next() {
                    let outcome = match work.is_to_stop() {
                        true => Ok(Ended::Stopped),
                        false => work.train(spec, obtained.clone(), device, |()| Ok(training)),
                    };
                    conclude(&mut work, outcome);
                }
            };
            std::thread::scope(|scope| (0..at_once).for_each(|_| drop(scope.spawn(train))));
        }
        Ok(None) => works.into_iter().for_each(|mut work| conclude(&mut work, Ok(Ended::Stopped))),
        Err(error) => {
            let why = format!("{error:#}");
            works.into_iter().for_each(|mut work| conclude(&mut work, Err(anyhow::Error::msg(why.clone()))));
        }
    }
    Ok(if fails.into_inner() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Checks that several runs can be trained together: trainings of MNIST without checkpoints, which differ only in
/// learning rate, seed and name.
fn specs_of_several(runs: &[(RunFolder, RunConfig)]) -> anyhow::Result<Vec<MnistSpec>> {
    let spec = |(folder, config): &(RunFolder, RunConfig)| match &config.preset {
        Preset::Mnist(preset) if folder.checkpoints()?.is_empty() => Ok(only(preset)?.clone()),
        Preset::Mnist(_) => bail!("the run in {} has checkpoints; train it alone", folder.path().display()),
        other => bail!("expected runs of MNIST, found {} of the kind {}", folder.path().display(), other.kind()),
    };
    let specs = runs.iter().map(spec).collect::<anyhow::Result<Vec<_>>>()?;
    let first = &specs[0];
    let alike = |spec: &MnistSpec| {
        let (name, learning_rate, seed) = (first.name.clone(), first.learning_rate, first.seed);
        MnistSpec { name, learning_rate, seed, ..spec.clone() } == *first
    };
    if let Some(other) = specs.iter().position(|spec| !alike(spec)) {
        let [first, other] = [0, other].map(|index| runs[index].0.path().display());
        bail!("expected runs that differ only in learning rate, seed and name, found {first} and {other}");
    }
    if first.processes.get() > 1 {
        bail!("expected runs of one process, found `processes: {}`", first.processes.get());
    }
    Ok(specs)
}

/// Obtains the data of several runs, and creates their trainings; `None` if the worker is to stop.
fn prepare_several(
    specs: &[MnistSpec],
    device: Device,
    stop: &StopRequest,
) -> anyhow::Result<Option<(Vec<MnistRun>, Obtained<()>)>> {
    let obtained = specs[0].obtain(&mut say, &|| stop.is_raised()).map_err(anyhow::Error::from_boxed)?;
    let Some(Obtained { data, source, fingerprint, is_synthetic, warnings }) = obtained else { return Ok(None) };
    let trainings = MnistRun::several(specs, &data, device)?;
    Ok(Some((trainings, Obtained { data: (), source, fingerprint, is_synthetic, warnings })))
}

/// Joins the other processes of a run, and trains it.
fn train(work: &mut Work<'_>, ranks: &RankArguments, rank_env: &mut Option<RankEnv>) -> anyhow::Result<Ended> {
    work.config.check(work.session.before())?;
    let sharing = work.config.preset.workload().map_or_else(Sharing::none, Workload::sharing);
    let (group, processes) = ranks.lead(work.session.run(), rank_env, sharing, &work.stop)?;
    (work.group, work.processes) = (Arc::new(group), processes);
    work.group.share_text(work.config.text())?;
    trained(&work.config.preset.clone())?.train(work)
}

/// Describes why rank 0 ends with an error, which may be the loss of another rank, for the other processes.
fn why_all_end(error: &anyhow::Error) -> String {
    match error.downcast_ref() {
        Some(TrainError::Lost(why)) => why.clone(),
        _ => format!("rank 0 ended: {error:#}"),
    }
}

/// Prints the outcome for the calling program as a line of JSON.
fn answer(outcome: anyhow::Result<impl Serialize>) -> ExitCode {
    let outcome = outcome.map_err(|error| format!("{error:#}"));
    println!("{}", serde_json::to_string(&outcome).expect("an answer holds nothing that JSON cannot express"));
    if outcome.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

#[derive(Clone, Debug, clap::Args)]
pub(super) struct RankArguments {
    /// Train with N processes on this machine, which share each batch [default: as in the config]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    processes: Option<u16>,
    /// The network interface for connections to processes on other machines, such as eth0 [default: the loopback
    /// device, for processes of one machine]
    #[arg(long, value_name = "NAME")]
    interface: Option<String>,
    /// Abort when a rank is silent for this long, or takes this long plus twice the slowest other rank's time for its
    /// part of a step
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u16).range(5..))]
    timeout: u16,
    /// The backend by which GPUs exchange gradients and parameters
    #[arg(long, value_enum, default_value_t)]
    backend: Backend,
}

impl RankArguments {
    /// Reads this process's rank from torchrun, SLURM or another process of this program.
    pub(super) fn rank_env(&self) -> anyhow::Result<Option<RankEnv>> {
        let rank_env = RankEnv::read(self.interface.as_deref(), |name| std::env::var(name).ok())?;
        if let (Some(rank_env), Some(processes @ 2..)) = (&rank_env, self.processes) {
            bail!(
                "the environment says that this is process {} of {} (RANK, WORLD_SIZE), and --processes asks for {} more \
                 of each; leave --processes out where torchrun or srun starts them",
                rank_env.rank,
                rank_env.size,
                processes - 1
            );
        }
        Ok(rank_env)
    }

    /// Checks that a preset can be trained by this number of processes, before any is started.
    pub(super) fn check(&self, preset: &Preset, rank_env: Option<&RankEnv>) -> anyhow::Result<()> {
        let asked = rank_env.map(|rank_env| rank_env.size).or(self.processes.map(usize::from));
        let Some((count, workload)) = asked.zip(preset.workload()) else { return Ok(()) };
        workload.check_processes(count).map_err(anyhow::Error::msg)
    }

    fn joining(&self, sharing: Sharing) -> Joining {
        let patience = Duration::from_secs(u64::from(self.timeout));
        Joining { patience, backend: self.backend, divides_optimizer: sharing.shard_optimizer }
    }

    /// Joins the other processes as rank 0, after starting those of this machine.
    pub(super) fn lead(
        &self,
        run: &RunFolder,
        rank_env: &mut Option<RankEnv>,
        sharing: Sharing,
        stop: &StopRequest,
    ) -> anyhow::Result<(Group, Option<LocalProcesses>)> {
        if let Some(rank_env) = rank_env.take() {
            return Ok((Group::join(rank_env, self.joining(sharing), &mut || check_running(stop))?, None));
        }
        let count = self.processes.map_or(sharing.processes.get(), usize::from);
        if count == 1 {
            return Ok((Group::alone(), None));
        }
        let threads = share_processors(count);
        let timeout = self.timeout.to_string();
        let arguments = ["--timeout", &timeout, "--backend", self.backend.name()].map(str::to_owned);
        let (mut processes, rank_env) = LocalProcesses::start(run, count, threads, &arguments)?;
        let group = Group::join(rank_env, self.joining(sharing), &mut || {
            check_running(stop)?;
            processes.ended().map_or(Ok(()), |ended| Err(TrainError::Lost(ended)))
        });
        Ok((group?, Some(processes)))
    }

    pub(super) fn follow(
        &self,
        folder: &Path,
        rank_env: RankEnv,
        devices: &Devices,
        stop: &StopRequest,
    ) -> anyhow::Result<Ended> {
        let (rank, local_rank) = (rank_env.rank, rank_env.local_rank);
        let log = RankLog::open(folder, rank);
        log.say(&format!("rank {rank} of {}, process {}", rank_env.size, std::process::id()));
        let joined = Group::join(rank_env, self.joining(Sharing::none()), &mut || check_running(stop));
        let group = Arc::new(joined.inspect_err(|error| log.say(&error.to_string()))?);
        let follower = Follower { group: Arc::clone(&group), devices, local_rank, stop: stop.clone(), log };
        let outcome = follower.preset().and_then(|preset| trained(&preset)?.follow(&follower));
        let error = outcome.as_ref().err().map(|error| format!("{error:#}"));
        if let Some(error) = &error {
            follower.log.say(error);
        }
        group.end(error.as_deref());
        outcome
    }
}

/// Fails if the run is to stop.
fn check_running(stop: &StopRequest) -> Result<(), TrainError> {
    if stop.is_raised() { Err(TrainError::Interrupted) } else { Ok(()) }
}

/// Divides the processors among the processes of this machine, unless the environment sets the number of threads;
/// returns that number.
fn share_processors(processes: usize) -> Option<usize> {
    if std::env::var_os("OMP_NUM_THREADS").is_some() {
        return None;
    }
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let threads = (processors / processes).max(1);
    tch::set_num_threads(threads as i32);
    Some(threads)
}
