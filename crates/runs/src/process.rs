//! Sending a signal to the worker of a run, and to no other process.

use super::folder::RunFolder;
use super::lock::{LockOwner, host};

/// Sends the worker of a run on this machine a signal to end. Anybody may write to the lock file, so the process that
/// it names gets no signal unless it is verified to hold the lock.
///
/// # Errors
///
/// Returns why no signal was sent, as the end of a sentence.
pub(super) fn ask_to_end(run: &RunFolder, owner: Option<&LockOwner>) -> Result<(), String> {
    let Some(owner) = owner else { return Err("its lock names no process".to_owned()) };
    if owner.host != host() {
        return Err(format!("its lock names a process on another machine, {}", owner.host));
    }
    end(run, owner.pid)
}

#[cfg(target_os = "linux")]
fn end(run: &RunFolder, number: u32) -> Result<(), String> {
    use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
    let pid = i32::try_from(number).ok().and_then(Pid::from_raw);
    let pid = pid.ok_or_else(|| format!("its lock names {number}, which is not a process's number"))?;
    let failed = |error: rustix::io::Errno| format!("process {number} cannot be sent a signal: {error}");
    // Refers to this process even if it ends and another gets its number.
    let process = pidfd_open(pid, PidfdFlags::empty()).map_err(failed)?;
    match holds_lock(run, number) {
        Ok(true) => pidfd_send_signal(&process, Signal::TERM).map_err(failed),
        Ok(false) => Err(format!("process {number}, which its lock names, does not hold the lock")),
        Err(error) => Err(format!("it cannot be determined whether process {number} is its worker: {error}")),
    }
}

/// Returns whether a process has the run's lock file open and locked.
#[cfg(target_os = "linux")]
fn holds_lock(run: &RunFolder, process: u32) -> std::io::Result<bool> {
    use std::fs;
    use std::os::unix::fs::MetadataExt;
    let place = |data: &fs::Metadata| (data.dev(), data.ino());
    let lock = place(&run.lock().symlink_metadata()?);
    for open in fs::read_dir(format!("/proc/{process}/fd"))? {
        let open = open?;
        // A file that is closed meanwhile cannot be examined.
        if fs::metadata(open.path()).is_ok_and(|data| place(&data) == lock) {
            let about = format!("/proc/{process}/fdinfo/{}", open.file_name().display());
            let about = fs::read_to_string(about).unwrap_or_default();
            if about
                .lines()
                .any(|line| line.starts_with("lock:") && line.contains(" FLOCK ") && line.contains(" WRITE "))
            {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

#[cfg(not(target_os = "linux"))]
fn end(_: &RunFolder, number: u32) -> Result<(), String> {
    Err(format!("it cannot be determined on this system whether process {number} is its worker"))
}
