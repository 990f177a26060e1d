//! Building the worker with a PyTorch, installing it, and checking that it works.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use valleyscope_machine::WorkerFolder;

use super::job::{Ended, Job, Stdout};
use super::pytorch::PyTorch;
use crate::cargo::{MESSAGES, built, cargo, json_text};
use crate::say;

/// Sets up cargo to build with this PyTorch, whatever the environment says.
pub fn with_pytorch<'a>(command: &'a mut Command, pytorch: &PyTorch) -> &'a mut Command {
    for variable in ["LIBTORCH_USE_PYTORCH", "LIBTORCH_INCLUDE", "LIBTORCH_LIB", "LIBTORCH_STATIC"] {
        command.env_remove(variable);
    }
    command.env("LIBTORCH", &pytorch.root)
}

/// Builds the worker and returns its path.
pub fn build(pytorch: &PyTorch, job: &mut Job<'_>) -> Result<PathBuf, Ended> {
    let mut command = cargo("build");
    command.args(["--release", "--package", "valleyscope-training", "--bin", "valleyscope-train", MESSAGES]);
    // Its output goes through a pipe, where cargo would otherwise show no progress.
    command.env("CARGO_TERM_PROGRESS_WHEN", "always").env("CARGO_TERM_PROGRESS_WIDTH", "80");
    with_pytorch(&mut command, pytorch);
    match job.carry_out("Building the training worker", &mut command, Stdout::Kept, || None)? {
        Ok(messages) => built(&messages, "valleyscope-train")
            .ok_or_else(|| Ended::failed("cargo does not report the path of the worker")),
        Err(words) => Err(Ended::failed(format!("The training worker cannot be built:\n{words}"))),
    }
}

/// Installs the worker and the link to its libraries, without disturbing a worker that trains.
pub fn install(program: &Path, pytorch: &PyTorch, folder: &WorkerFolder) -> Result<(), Ended> {
    let place = folder.program();
    put(program, pytorch, folder)
        .map_err(|error| Ended::failed(format!("The worker cannot be installed as {}: {error}", place.display())))
}

fn put(program: &Path, pytorch: &PyTorch, folder: &WorkerFolder) -> io::Result<()> {
    let place = folder.program();
    let bin = place.parent().expect("a program is in a folder");
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
    fs::rename(aside, place)
}

/// Runs the installed worker's handshake, and describes it in a few words.
pub fn check(folder: &WorkerFolder) -> Result<String, Ended> {
    let program = folder.program();
    let output = Command::new(&program).arg("--handshake").stdin(Stdio::null()).output();
    let output = output.map_err(|error| Ended::failed(format!("{} does not start: {error}", program.display())))?;
    let text = String::from_utf8_lossy(&output.stdout);
    // Libraries may print something before this line.
    match text.lines().rev().find(|line| line.contains(r#""protocol""#)) {
        Some(answer) if output.status.success() => {
            say(format_args!("{} answers {answer}", program.display()));
            Ok(description(answer))
        }
        _ => {
            let said = String::from_utf8_lossy(&output.stderr);
            let (program, status) = (program.display(), output.status);
            Err(Ended::failed(format!("{program} is built but does not work ({status}): {}", said.trim())))
        }
    }
}

/// Describes a handshake for a person.
fn description(handshake: &str) -> String {
    let text = |name| json_text(handshake, name);
    let devices: Vec<_> =
        handshake.match_indices(r#""kind":"#).filter_map(|(at, _)| json_text(&handshake[at..], "kind")).collect();
    let mut words = format!(
        "The training worker {} works with libtorch {} on {}.",
        text("version").unwrap_or_default(),
        text("libtorch").unwrap_or_default(),
        if devices.is_empty() { "the processor".to_owned() } else { devices.join(", ") }
    );
    if let Some(problem) = text("problem") {
        words.push_str(&format!("\nCUDA cannot be used: {problem}"));
    }
    words
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
