//! Calling cargo and its kin.

use std::env;
use std::path::PathBuf;
use std::process::{Command, ExitStatus};

use crate::{Stop, say};

/// The cargo that runs this program, told to work on this project wherever it is called from.
pub fn cargo(subcommand: &str) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.arg(subcommand).arg("--manifest-path").arg(manifest());
    command
}

fn manifest() -> PathBuf {
    // Set by `cargo run`, so that it is right even after the folder has been moved.
    let own = env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
    own.with_file_name("Cargo.toml")
}

/// Runs a command to its end, after saying what it is.
pub fn step(what: &str, command: &mut Command) -> Result<(), Stop> {
    say(what);
    let status = status(command)?;
    if status.success() {
        return Ok(());
    }
    Err(Stop::failed(format!("xtask: failed ({status}): {what}")))
}

/// Runs a command to its end.
pub fn status(command: &mut Command) -> Result<ExitStatus, Stop> {
    command.status().map_err(|error| {
        let program = command.get_program().to_string_lossy().into_owned();
        Stop::failed(format!("xtask: cannot start {program}: {error}"))
    })
}
