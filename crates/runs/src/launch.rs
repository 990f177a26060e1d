//! Starting workers, and requesting exports, losses and texts of saved models.

use std::ffi::OsString;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use valleyscope_machine::{WorkerFolder, data_folder, detach};

use super::PROTOCOL;
use super::command::TextRequest;
use super::folder::RunFolder;
use super::lock::{self, LockOwner, LockState};
use super::metric::{MetricId, number};
use super::plain_file;
use super::status::last_output;

/// The command that builds and installs the worker, also to replace an unusable one.
pub const SETUP: &str = "cargo xtask setup";
/// The environment variable that names the worker.
const VARIABLE: &str = "VALLEYSCOPE_TRAIN";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerProgram {
    path: PathBuf,
}

/// A worker's description of itself and of the machine, printed as one line of JSON.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Handshake {
    pub version: String,
    pub protocol: u32,
    pub libtorch: String,
    /// The CUDA version that libtorch was built for, if any.
    pub cuda: Option<String>,
    pub devices: Vec<Device>,
    /// Why CUDA cannot be used on a machine that seems to have it.
    pub problem: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Device {
    /// The name for `--device`, such as `cpu` or `cuda:0`.
    pub name: String,
    /// The kind of device, such as `NVIDIA H200`.
    pub kind: String,
    /// Memory in bytes.
    #[serde(default)]
    pub memory: Option<u64>,
}

#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    #[error(
        "the worker that trains, {}, is not installed: it is neither beside valleyscope nor in the user's folder for data{}; \
         install it with `{SETUP}`, or name it with --worker PATH or {VARIABLE}",
        WorkerProgram::NAME,
        in_folder()
    )]
    Missing,
    #[error("{named_by} names {} as the worker, which is not a file; correct it, or omit it to use the worker that `{SETUP}` installs", path.display())]
    NoFile { named_by: &'static str, path: PathBuf },
    #[error("cannot start the worker {}: {source}; build it again with `{SETUP}`", path.display())]
    Spawn { path: PathBuf, source: io::Error },
    #[error("the worker {} did not answer within {} s; see `valleyscope doctor`", path.display(), HANDSHAKE.as_secs())]
    Mute { path: PathBuf },
    #[error("the worker {} cannot be used ({status}); build it again with `{SETUP}`{}", path.display(), quoted(stderr))]
    Broken { path: PathBuf, status: ExitStatus, stderr: String },
    #[error(
        "the worker {} is of another version: it speaks protocol {found}, and this program speaks {PROTOCOL}; build it \
         again with `{SETUP}`", path.display()
    )]
    Protocol { path: PathBuf, found: u32 },
    #[error("cannot write the log {}: {source}", path.display())]
    Log { path: PathBuf, source: io::Error },
    #[error("the worker ended before it began to train ({status}){}", quoted(last_output))]
    Died { status: ExitStatus, last_output: String },
    #[error("{0}")]
    Refused(String),
    #[error("the worker did not begin to train within {} s; see {}", waited.as_secs(), log.display())]
    Late { waited: Duration, log: PathBuf },
}

const HANDSHAKE: Duration = Duration::from_secs(60);

fn in_folder() -> String {
    data_folder().map_or_else(String::new, |folder| format!(" ({})", folder.display()))
}

fn quoted(output: &str) -> String {
    if output.is_empty() { String::new() } else { format!("; its last output:\n{output}") }
}

/// The variable with the path of the command, where another program, such as Python, runs Valleyscope as a library.
pub const COMMAND: &str = "VALLEYSCOPE_COMMAND";

impl WorkerProgram {
    pub const NAME: &str = "valleyscope-train";
    /// The time in which a worker that was started takes its run: it loads gigabytes of libraries first.
    pub const START_TIMEOUT: Duration = Duration::from_secs(120);

    /// Finds the worker: the one that was named, or that `VALLEYSCOPE_TRAIN` names, or that is in this program's
    /// folder, or that the set-up has installed in the user's data folder.
    pub fn find(named: Option<&Path>) -> Result<WorkerProgram, LaunchError> {
        if let Some((named_by, path)) = Self::named(named) {
            return match path.canonicalize() {
                Ok(path) if path.is_file() => Ok(WorkerProgram { path }),
                _ => Err(LaunchError::NoFile { named_by, path }),
            };
        }
        let file = format!("{}{}", Self::NAME, std::env::consts::EXE_SUFFIX);
        // Where another program, such as Python, runs this one as a library, the worker is not beside that program.
        let own = || std::env::var_os(COMMAND).is_none().then(std::env::current_exe)?.ok();
        let next_to_program = own().and_then(|program| Some(program.parent()?.join(file)));
        let installed = WorkerFolder::of_user().map(|folder| folder.program());
        let found = [next_to_program, installed].into_iter().flatten().find(|path| path.is_file());
        found.map(|path| WorkerProgram { path }).ok_or(LaunchError::Missing)
    }

    /// The worker that was named, or that `VALLEYSCOPE_TRAIN` names, with the source of the name.
    pub fn named(named: Option<&Path>) -> Option<(&'static str, PathBuf)> {
        let by_variable = || std::env::var_os(VARIABLE).filter(|value| !value.is_empty()).map(PathBuf::from);
        let named = named.map(|path| ("--worker", path.to_owned()));
        named.or_else(|| by_variable().map(|path| (VARIABLE, path)))
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Runs the worker to read its version and devices. Refuses a worker of another protocol.
    ///
    /// This takes seconds, as the worker loads its libraries.
    pub fn handshake(&self) -> Result<Handshake, LaunchError> {
        let path = self.path.clone();
        let failed = |source| LaunchError::Spawn { path: path.clone(), source };
        let mut child = Command::new(&self.path)
            .arg("--handshake")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let output = read_in_thread(child.stdout.take());
        let errors = read_in_thread(child.stderr.take());
        let Some(status) = wait(&mut child, HANDSHAKE).map_err(failed)? else {
            let _ = child.kill();
            let _ = child.wait();
            return Err(LaunchError::Mute { path });
        };
        let output = output.join().unwrap_or_default();
        // Libraries may print something before this line.
        for line in output.lines().rev() {
            // The other fields of another version may mean anything.
            if let Ok(Protocol { protocol: found }) = serde_json::from_str(line)
                && found != PROTOCOL
            {
                return Err(LaunchError::Protocol { path, found });
            }
            if let Ok(handshake) = serde_json::from_str(line) {
                return Ok(handshake);
            }
        }
        let stderr = errors.join().unwrap_or_default();
        Err(LaunchError::Broken { path, status, stderr: stderr.trim_end().to_owned() })
    }

    /// Starts the worker on a run, detached from this process: it continues when this process ends and when the
    /// terminal is closed. Its output and that of its libraries are appended to the run's log. With several
    /// `processes`, the worker starts the others.
    pub fn start(&self, run: &RunFolder, resume: bool, processes: Option<u16>) -> Result<Launched, LaunchError> {
        let processes = processes.map(|processes| ["--processes".to_owned(), processes.to_string()]);
        self.start_on(std::slice::from_ref(run), resume, processes)
    }

    /// Starts the worker on small runs, which it trains together, each with one thread; so their bits are the same
    /// together and alone.
    pub fn start_small(&self, runs: &[RunFolder]) -> Result<Launched, LaunchError> {
        self.start_on(runs, true, Some(["--threads", "1"].map(str::to_owned)))
    }

    fn start_on(&self, runs: &[RunFolder], resume: bool, more: Option<[String; 2]>) -> Result<Launched, LaunchError> {
        let run = runs.last().expect("there is a run to train");
        let path = run.log();
        let log = plain_file::open_to_append(&path).map_err(|source| LaunchError::Log { path, source })?;
        let mut command = Command::new(&self.path);
        command.arg("run").args(runs.iter().map(RunFolder::path));
        if resume {
            command.arg("--resume");
        }
        // The worker starts a separate training, even if a cluster has started this program as one of several ranks.
        for variable in ["RANK", "WORLD_SIZE", "SLURM_STEP_NUM_TASKS"] {
            command.env_remove(variable);
        }
        command.args(more.into_iter().flatten());
        // Stdout repeats the events in the folder, so it is dropped.
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        detach(&mut command);
        let before = lock::read(run).ok().flatten();
        let mut child = command.spawn().map_err(|source| LaunchError::Spawn { path: self.path.clone(), source })?;
        let pid = child.id();
        let exit = Arc::new(OnceLock::new());
        let of_thread = Arc::clone(&exit);
        // Waiting for the process keeps it from becoming a zombie.
        std::thread::spawn(move || {
            if let Ok(status) = child.wait() {
                let _ = of_thread.set(status);
            }
        });
        Ok(Launched { run: run.clone(), pid, before, exit })
    }
}

/// The version of a handshake.
#[derive(Deserialize)]
struct Protocol {
    protocol: u32,
}

impl Handshake {
    /// The handshake as one line, without its newline.
    pub fn to_line(&self) -> String {
        serde_json::to_string(self).expect("it holds nothing that JSON cannot express")
    }

    /// Explains why the CUDA device of this number, counted from 0, cannot be used, if it cannot.
    pub fn lacks_cuda(&self, number: u32) -> Option<String> {
        let id = format!("cuda:{number}");
        if self.devices.iter().any(|device| device.name == id) {
            return None;
        }
        let found = self.devices.iter().map(|device| device.name.as_str()).collect::<Vec<_>>().join(", ");
        let why = self.problem.as_ref().map(|problem| format!(" ({problem})")).unwrap_or_default();
        Some(format!("expected a device that the worker can use, one of {found}, found {id}{why}"))
    }
}

/// Reads the whole output of a program in a thread, so that the program never blocks on it.
fn read_in_thread(from: Option<impl Read + Send + 'static>) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut from) = from {
            // On an error, the bytes read before it are used.
            let _ = from.read_to_end(&mut bytes);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// Waits for a program; returns its exit status if it ends in time.
fn wait(child: &mut Child, patience: Duration) -> io::Result<Option<ExitStatus>> {
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if begun.elapsed() >= patience {
            return Ok(None);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[derive(Clone, Debug)]
pub struct Launched {
    run: RunFolder,
    pid: u32,
    /// The holder of the run before this worker, or its last holder.
    before: Option<LockOwner>,
    exit: Arc<OnceLock<ExitStatus>>,
}

impl Launched {
    pub fn pid(&self) -> u32 {
        self.pid
    }

    pub fn exit(&self) -> Option<ExitStatus> {
        self.exit.get().copied()
    }

    /// Blocks until the worker holds the run, which takes seconds. A worker that has held the run and ended, or has
    /// ended successfully, in the meantime counts too.
    ///
    /// # Errors
    ///
    /// Fails if the worker ends before, with the end of its log, or takes longer than `patience`.
    pub fn wait_until_at_work(&self, patience: Duration) -> Result<(), LaunchError> {
        let begun = Instant::now();
        loop {
            // Read first, as the worker may take the lock and end in between.
            let ended = self.exit();
            match LockState::of(&self.run) {
                // If another worker holds the run, this one is about to be refused.
                LockState::Held(Some(owner)) if !self.is_new(&owner) => {}
                LockState::Held(_) => return Ok(()),
                // The worker held the run and ended between two polls; the events record its progress.
                LockState::Free(owner) if ended.is_some() && self.is_new(&owner) => return Ok(()),
                _ => {}
            }
            match ended {
                Some(status) if status.success() => return Ok(()),
                Some(status) => return Err(LaunchError::Died { status, last_output: last_output(&self.run) }),
                None if begun.elapsed() >= patience => {
                    return Err(LaunchError::Late { waited: patience, log: self.run.log() });
                }
                None => std::thread::sleep(Duration::from_millis(50)),
            }
        }
    }

    /// Whether this holder has taken the run since the worker was started.
    fn is_new(&self, owner: &LockOwner) -> bool {
        let is_same =
            |before: &LockOwner| (&before.host, before.pid, before.started) == (&owner.host, owner.pid, owner.started);
        !self.before.as_ref().is_some_and(is_same)
    }
}

/// A checkpoint of a run whose model a worker exports, evaluates or generates text with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedModel {
    pub run: RunFolder,
    pub step: u64,
}

/// The loss of a model over all held-out data.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WholeLoss {
    /// Name of the metric, such as `val_loss`.
    pub metric: String,
    #[serde(with = "number")]
    pub loss: f64,
    /// The number of averaged values, and their kind: `tokens`, `images`.
    pub count: u64,
    pub unit: String,
    pub data: String,
    /// Whether these are the run's data, as far as it records them.
    pub is_of_run: bool,
    pub device: String,
}

impl WholeLoss {
    /// A loss over `count` values of a kind. Data and device are empty.
    pub fn of(metric: MetricId, loss: f64, count: u64, unit: &str) -> WholeLoss {
        WholeLoss { metric: metric.to_string(), loss, count, unit: unit.to_owned(), ..WholeLoss::default() }
    }

    /// Describes the loss, such as `validation loss 1.9061`.
    pub fn text(&self) -> String {
        MetricId::named(&self.metric).unwrap_or(MetricId::LOSS).info().labeled_value(self.loss)
    }
}

impl SavedModel {
    /// Writes the model into a folder in a format that other programs read, by a worker. Creates the folder if needed.
    ///
    /// # Errors
    ///
    /// Fails with [`LaunchError::Refused`] and the worker's reason, and if the worker cannot be started.
    pub fn export(&self, worker: &WorkerProgram, folder: &Path) -> Result<(), LaunchError> {
        self.ask(worker, "export", ["--out".into(), folder.into()])
    }

    /// Computes the loss over all held-out data, by a worker. `settings` change fields of the run's config, as `--set`
    /// does.
    ///
    /// # Errors
    ///
    /// Fails as [`SavedModel::export`] does.
    pub fn evaluate(&self, worker: &WorkerProgram, settings: &[(String, String)]) -> Result<WholeLoss, LaunchError> {
        let settings = settings.iter().flat_map(|(key, value)| ["--set".into(), format!("{key}={value}").into()]);
        self.ask(worker, "evaluate", settings)
    }

    /// Generates a text that follows a prompt, by a worker. `settings` change fields of the run's config, as `--set`
    /// does.
    ///
    /// # Errors
    ///
    /// Fails as [`SavedModel::export`] does.
    pub fn sample(
        &self,
        worker: &WorkerProgram,
        text: &TextRequest,
        settings: &[(String, String)],
    ) -> Result<String, LaunchError> {
        let TextRequest { prompt, tokens, temperature, top_k } = text;
        let top_k = top_k.map(|top_k| format!("--top-k={top_k}"));
        let request =
            [format!("--prompt={prompt}"), format!("--tokens={tokens}"), format!("--temperature={temperature}")];
        let settings = settings.iter().map(|(key, value)| format!("--set={key}={value}"));
        self.ask(worker, "sample", request.into_iter().chain(top_k).chain(settings).map(OsString::from))
    }

    /// Runs the worker and parses its answer, a line of JSON. Its other output goes to this program's standard error.
    fn ask<A: DeserializeOwned>(
        &self,
        worker: &WorkerProgram,
        what: &str,
        arguments: impl IntoIterator<Item = OsString>,
    ) -> Result<A, LaunchError> {
        let mut command = Command::new(worker.path());
        command.arg(what).arg(self.run.path()).arg("--step").arg(self.step.to_string()).args(arguments);
        let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output();
        let path = worker.path().to_owned();
        let output = output.map_err(|source| LaunchError::Spawn { path: path.clone(), source })?;
        let text = String::from_utf8_lossy(&output.stdout);
        // Libraries may print something before this line.
        match text.lines().rev().find_map(|line| serde_json::from_str::<Result<A, String>>(line).ok()) {
            Some(answer) => answer.map_err(LaunchError::Refused),
            None => Err(LaunchError::Broken { path, status: output.status, stderr: String::new() }),
        }
    }
}
