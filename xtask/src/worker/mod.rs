//! Setting up the training worker: finding a PyTorch, building the worker with it, and installing it in the user's data
//! folder.

mod download;
mod job;
mod pytorch;

use std::fs::OpenOptions;
use std::io::{BufRead, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use std::{fs, io, thread};

use job::{Job, Stdout};
use pytorch::Choice;
use valleyscope_machine as machine;
use valleyscope_machine::{SetUp, SetUpRefusal, SetUpState, WorkerFolder};

use super::cargo::{MESSAGES, built, cargo, json_text};
use super::{Stop, say, setup};

pub use pytorch::PyTorch;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audience {
    /// A user who may decline a large download.
    Person,
    /// No user can answer, but one may read the output.
    Reader,
    /// No user: this is a process in the background.
    Nobody,
}

/// The number of steps: finding a PyTorch, building the worker, installing it.
const STEPS: u32 = 3;
const DECLINED: &str = "The training worker was declined; `cargo xtask setup` asks again.";

impl Audience {
    pub fn here() -> Audience {
        let in_ci = std::env::var_os("CI").is_some_and(|value| !value.is_empty() && value != "false");
        let terminal = io::stdin().is_terminal() && io::stderr().is_terminal();
        if terminal && !in_ci { Audience::Person } else { Audience::Reader }
    }
}

/// Sets up the worker, until it answers a handshake.
pub fn set_up(audience: Audience) -> Result<(), Stop> {
    let text = in_session(audience, STEPS, |job| work(job, audience), |text| (SetUpState::Done, text.clone()))?;
    say(text);
    Ok(())
}

/// Does work as the only set-up, and reports its outcome.
fn in_session<T>(
    audience: Audience,
    steps: u32,
    work: impl FnOnce(&mut Job<'_>) -> Result<T, Stop>,
    done: impl FnOnce(&T) -> (SetUpState, String),
) -> Result<T, Stop> {
    let session = begin(&folder()?)?;
    let mut job = Job { session: &session, detached: audience == Audience::Nobody, step: (1, steps) };
    let outcome = work(&mut job);
    let (state, message) = match &outcome {
        Ok(result) => done(result),
        Err(stop) => (stop.state, stop.message.clone()),
    };
    session.report(state, &message, job.step, None);
    outcome
}

fn work(job: &mut Job<'_>, audience: Audience) -> Result<String, Stop> {
    job.begin("Looking for PyTorch")?;
    setup::provide(machine::for_building().into_iter().chain(machine::for_building_worker()).collect())?;
    let pytorch = provide_pytorch(job, audience)?;
    job.step.0 = 2;
    let program = build(&pytorch, job)?;
    job.step.0 = 3;
    job.begin("Installing the training worker")?;
    install(&program, &pytorch, job.session.folder())?;
    check(job.session.folder())
}

/// Finds the PyTorch to build with, or installs one unless the user declines.
fn provide_pytorch(job: &mut Job<'_>, audience: Audience) -> Result<PyTorch, Stop> {
    match choose(job.session.folder()) {
        Choice::Use(pytorch) => {
            say(format_args!("using PyTorch {} in {}", pytorch.version, pytorch.root.display()));
            Ok(pytorch)
        }
        Choice::Install(variant) => {
            let announcement = pytorch::announcement(variant, job.session.folder());
            say(&announcement);
            if audience == Audience::Person && !agrees() {
                return Err(Stop { state: SetUpState::Declined, ..Stop::failed(DECLINED) });
            }
            download::install(variant, job.session, job)
        }
    }
}

fn choose(folder: &WorkerFolder) -> Choice {
    let candidates = pytorch::candidates(folder, &pytorch::pythons());
    let (choice, notes) = pytorch::choose(candidates, machine::has_nvidia_gpu(), PyTorch::at);
    notes.iter().for_each(say);
    choice
}

fn agrees() -> bool {
    eprint!("       Continue? [Y/n] ");
    let mut answer = String::new();
    let read = io::stdin().lock().read_line(&mut answer);
    // The end of the input does not count as yes.
    matches!(read, Ok(1..)) && matches!(answer.trim().to_lowercase().as_str(), "" | "y" | "yes")
}

/// Decides whether to set up the worker in the background; asks the user here if that requires a download. A user who
/// has declined is not asked again, unless they have `asked_for` it.
pub fn may_set_up_in_background(asked_for: bool) -> Result<bool, Stop> {
    let folder = folder()?;
    let status = folder.status();
    if folder.is_being_set_up() {
        let message = status.map(|status| status.message).unwrap_or_default();
        say(format_args!("the training worker is being set up already ({message}); see {}", folder.log().display()));
        return Ok(false);
    }
    let Choice::Install(variant) = choose(&folder) else { return Ok(true) };
    if !asked_for && status.is_some_and(|status| status.state == SetUpState::Declined) {
        say("the training worker is left out, as it was declined; `cargo xtask setup` installs it");
        return Ok(false);
    }
    say(pytorch::announcement(variant, &folder));
    if Audience::here() != Audience::Person || agrees() {
        return Ok(true);
    }
    let session = begin(&folder)?;
    session.report(SetUpState::Declined, DECLINED, (1, STEPS), None);
    say("the training worker is left out; `cargo xtask setup` installs it");
    Ok(false)
}

/// Sets up the worker in another process, which outlives this one and asks no questions.
pub fn set_up_in_background() -> Result<(), Stop> {
    let folder = folder()?;
    std::fs::create_dir_all(folder.path()).map_err(|error| cannot_write(&folder, &error))?;
    // Appended to, as two processes that start at the same time write the same log until one of them ends.
    let log = OpenOptions::new().append(true).create(true).open(folder.log());
    let log = log.and_then(|log| log.set_len(0).and(Ok((log.try_clone()?, log))));
    let (log, copy) = log.map_err(|error| cannot_write(&folder, &error))?;
    let own = std::env::current_exe().map_err(Stop::failed)?;
    // At low priority, which the programs that it starts inherit.
    let mut command = Command::new(if cfg!(unix) { Path::new("nice") } else { &own });
    if cfg!(unix) {
        command.args(["-n", "10"]).arg(&own);
    }
    command.args(["setup", "--only-worker", "--detached"]).stdin(Stdio::null()).stdout(log).stderr(copy);
    machine::detach(&mut command);
    command.spawn().map_err(|error| Stop::failed(format!("xtask: cannot continue in the background: {error}")))?;
    say(format_args!("the training worker is set up in the background; see {}", folder.log().display()));
    Ok(())
}

/// Requests the end of the running set-up.
pub fn cancel() -> Result<(), Stop> {
    let folder = folder()?;
    if !folder.is_being_set_up() {
        return Err(Stop::failed("No set-up of the training worker is running."));
    }
    folder.cancel().map_err(|error| cannot_write(&folder, &error))?;
    while folder.is_being_set_up() {
        thread::sleep(Duration::from_millis(100));
    }
    say("the set-up of the training worker has ended");
    Ok(())
}

/// Finds a PyTorch to test with. If none fits, installs one after the user at a terminal has agreed.
pub fn pytorch_for_tests() -> Result<PyTorch, Stop> {
    setup::provide(machine::for_building_worker())?;
    let folder = folder()?;
    if let Choice::Use(pytorch) = choose(&folder) {
        return Ok(pytorch);
    }
    if folder.is_being_set_up() {
        say(format_args!("waiting for the running set-up; see {}", folder.log().display()));
        while folder.is_being_set_up() {
            thread::sleep(Duration::from_millis(500));
        }
    }
    let here = || "PyTorch is here, and the training worker is not built yet.".to_owned();
    let audience = Audience::here();
    in_session(audience, 1, |job| provide_pytorch(job, audience), |_| (SetUpState::Interrupted, here()))
}

fn folder() -> Result<WorkerFolder, Stop> {
    WorkerFolder::of_user().ok_or_else(|| {
        Stop::failed("There is no folder for the training worker: neither HOME nor XDG_DATA_HOME is set.")
    })
}

fn begin(folder: &WorkerFolder) -> Result<SetUp, Stop> {
    SetUp::begin(folder).map_err(|refusal| match refusal {
        SetUpRefusal::Held => Stop::failed(format!(
            "The training worker is being set up already; see {}, or end it with `cargo xtask setup --cancel`.",
            folder.log().display()
        )),
        SetUpRefusal::Folder(error) => cannot_write(folder, &error),
    })
}

fn cannot_write(folder: &WorkerFolder, error: &io::Error) -> Stop {
    Stop::failed(format!(
        "{} cannot be written: {error}. Make it writable, or set XDG_DATA_HOME to a folder that is.",
        folder.path().display()
    ))
}

/// Sets up cargo to build with this PyTorch, whatever the environment says.
pub fn with_pytorch<'a>(command: &'a mut Command, pytorch: &PyTorch) -> &'a mut Command {
    for variable in ["LIBTORCH_USE_PYTORCH", "LIBTORCH_INCLUDE", "LIBTORCH_LIB", "LIBTORCH_STATIC"] {
        command.env_remove(variable);
    }
    command.env("LIBTORCH", &pytorch.root)
}

pub fn build(pytorch: &PyTorch, job: &mut Job<'_>) -> Result<PathBuf, Stop> {
    let mut command = cargo("build");
    command.args(["--release", "--package", "valleyscope-training", "--bin", "valleyscope-train", MESSAGES]);
    // Its output goes through a pipe, where cargo would otherwise show no progress.
    command.env("CARGO_TERM_PROGRESS_WHEN", "always").env("CARGO_TERM_PROGRESS_WIDTH", "80");
    with_pytorch(&mut command, pytorch);
    match job.carry_out("Building the training worker", &mut command, Stdout::Captured, || None)? {
        Ok(messages) => built(&messages, "valleyscope-train")
            .ok_or_else(|| Stop::failed("cargo does not report the path of the worker")),
        Err(text) => Err(Stop::failed(format!("The training worker cannot be built:\n{text}"))),
    }
}

/// The path of the installed worker.
pub fn installed() -> Result<PathBuf, Stop> {
    Ok(folder()?.program())
}

/// Installs the worker and the link to its libraries, without disturbing a worker that trains.
pub fn install(program: &Path, pytorch: &PyTorch, folder: &WorkerFolder) -> Result<(), Stop> {
    let target = folder.program();
    put(program, pytorch, folder)
        .map_err(|error| Stop::failed(format!("The worker cannot be installed as {}: {error}", target.display())))
}

fn put(program: &Path, pytorch: &PyTorch, folder: &WorkerFolder) -> io::Result<()> {
    let target = folder.program();
    let bin = target.parent().expect("a program is in a folder");
    fs::create_dir_all(bin)?;
    let aside = bin.join(".valleyscope-train.new");
    fs::copy(program, &aside)?;
    #[cfg(unix)]
    {
        let link = folder.path().join(".lib.new");
        match fs::remove_file(&link) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => std::os::unix::fs::symlink(pytorch.lib(), &link)?,
        }
        fs::rename(link, folder.libraries())?;
    }
    #[cfg(not(unix))]
    let _ = pytorch;
    fs::rename(aside, target)
}

/// Runs the installed worker's handshake, and describes it briefly.
pub fn check(folder: &WorkerFolder) -> Result<String, Stop> {
    let program = folder.program();
    let output = Command::new(&program).arg("--handshake").stdin(Stdio::null()).output();
    let output = output.map_err(|error| Stop::failed(format!("{} does not start: {error}", program.display())))?;
    let text = String::from_utf8_lossy(&output.stdout);
    // Libraries may print something before this line.
    match text.lines().rev().find(|line| line.contains(r#""protocol""#)) {
        Some(answer) if output.status.success() => {
            say(format_args!("{} answers {answer}", program.display()));
            Ok(description(answer))
        }
        _ => {
            let stderr = String::from_utf8_lossy(&output.stderr);
            let (program, status) = (program.display(), output.status);
            Err(Stop::failed(format!("{program} is built but does not work ({status}): {}", stderr.trim())))
        }
    }
}

/// Describes a handshake for a user.
fn description(handshake: &str) -> String {
    let text = |name| json_text(handshake, name);
    let devices: Vec<_> =
        handshake.match_indices(r#""kind":"#).filter_map(|(at, _)| json_text(&handshake[at..], "kind")).collect();
    let mut description = format!(
        "The training worker {} works with libtorch {} on {}.",
        text("version").unwrap_or_default(),
        text("libtorch").unwrap_or_default(),
        if devices.is_empty() { "the processor".to_owned() } else { devices.join(", ") }
    );
    if let Some(problem) = text("problem") {
        description.push_str(&format!("\nCUDA cannot be used: {problem}"));
    }
    description
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn describes_a_handshake() {
        let plain = r#"{"version":"0.1.0","protocol":1,"libtorch":"2.11.0","cuda":null,"devices":[{"name":"cpu","kind":"Some CPU"}],"problem":null}"#;
        assert_eq!(description(plain), "The training worker 0.1.0 works with libtorch 2.11.0 on Some CPU.");
        let old = plain.replace(r#""problem":null"#, r#""problem":"the driver is too old""#);
        assert!(description(&old).ends_with("\nCUDA cannot be used: the driver is too old"));
    }
}
