//! The lock of a run, which identifies the worker that writes it and shows whether that worker is alive.
//!
//! The file `lock` names the worker, and is locked as long as the worker lives, however it ends. A lock is visible only
//! on the same machine. Elsewhere (a mounted folder, a mirror) there is only the heartbeat, a file with the time of day
//! that the worker renews every ten seconds. A copied run on the same machine has no worker, as no process holds the
//! copied lock.

use std::fs::{self, File, TryLockError};
use std::io::{self, Seek, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use super::event::now;
use super::folder::RunFolder;
use super::plain_file::{self, Links};

pub(super) const BEAT: Duration = Duration::from_secs(10);
/// The largest length of the lock and of the heartbeat, in bytes.
const MOST: u64 = 1 << 16;

/// The worker that holds a run, or was its last holder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockOwner {
    pub host: String,
    pub pid: u32,
    /// The time at which the worker took the lock.
    pub started: Timestamp,
    /// The number of lines of events when it took the lock, which separates its own from those of earlier holders.
    pub lines: u64,
}

/// The state of a run's lock as seen from this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LockState {
    /// No worker has ever taken the lock.
    NeverTaken,
    /// The lock is held on this machine. The holder is unknown on systems where a locked file cannot be read.
    Held(Option<LockOwner>),
    /// The last holder, on this machine, has ended.
    Free(LockOwner),
    /// The lock is or was held on another machine.
    Remote(LockOwner),
    /// The lock cannot be read.
    Unknown,
}

/// The held lock of a run, released when dropped.
#[derive(Debug)]
pub(super) struct Lock {
    file: File,
    /// The number of lines of events when the lock was taken.
    lines: u64,
}

#[derive(Debug)]
pub(super) enum LockRefusal {
    Held(Option<LockOwner>),
    File(io::Error),
}

impl Lock {
    pub(super) fn take(run: &RunFolder) -> Result<Lock, LockRefusal> {
        let file = plain_file::open_to_write(&run.lock()).map_err(LockRefusal::File)?;
        plain_file::lock(&file).map_err(|error| match error {
            TryLockError::WouldBlock => LockRefusal::Held(read(run).ok().flatten()),
            TryLockError::Error(source) => LockRefusal::File(source),
        })?;
        Ok(Lock { file, lines: 0 })
    }

    /// Records the holder, and the number of lines of events.
    pub(super) fn record_holder(&mut self, lines: u64) -> io::Result<()> {
        self.lines = lines;
        let owner = LockOwner { host: host(), pid: std::process::id(), started: now(), lines };
        let text = serde_json::to_string(&owner).expect("it holds nothing that JSON cannot express") + "\n";
        // The old text is overwritten before the rest is truncated, so that a full disk does not leave it empty.
        self.file.rewind()?;
        self.file.write_all(text.as_bytes())?;
        self.file.set_len(text.len() as u64)
    }

    /// Takes the lock again if its file was removed or replaced, which could have admitted a second worker.
    ///
    /// # Errors
    ///
    /// Fails if a second worker holds the lock.
    pub(super) fn keep(&mut self, run: &RunFolder) -> Result<(), LockRefusal> {
        if plain_file::is_at(&self.file, &run.lock()).map_err(LockRefusal::File)? {
            return Ok(());
        }
        let lines = self.lines;
        *self = Lock::take(run)?;
        self.record_holder(lines).map_err(LockRefusal::File)
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing alone would release the lock only after programs that are just being started, which have the file
        // open until then.
        let _ = self.file.unlock();
    }
}

/// Reads the recorded holder of the lock. None if there never was one, or it stopped before it was recorded.
pub(super) fn read(run: &RunFolder) -> io::Result<Option<LockOwner>> {
    match plain_file::read(&run.lock(), Links::Refused, MOST) {
        Ok(text) => Ok(serde_json::from_slice(&text).ok()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

impl LockState {
    pub fn of(run: &RunFolder) -> LockState {
        let file = match plain_file::open(&run.lock(), Links::Refused) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return LockState::NeverTaken,
            Err(_) => return LockState::Unknown,
        };
        let held = matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock));
        drop(file);
        let owner = read(run).ok().flatten();
        if held {
            return LockState::Held(owner);
        }
        let Some(owner) = owner else { return LockState::NeverTaken };
        if owner.host == host() { LockState::Free(owner) } else { LockState::Remote(owner) }
    }
}

/// The network name of this machine.
pub fn host() -> String {
    #[cfg(unix)]
    let name = Some(rustix::system::uname().nodename().to_string_lossy().into_owned());
    #[cfg(not(unix))]
    let name = std::env::var("COMPUTERNAME").ok();
    name.filter(|name| !name.is_empty()).unwrap_or_else(|| "localhost".to_owned())
}

pub(super) fn beat(run: &RunFolder) -> io::Result<()> {
    // Written in place with a constant length, so that a full disk does not prevent it.
    let text = format!("{:.9}\n", now());
    plain_file::open_to_write(&run.heartbeat())?.write_all(text.as_bytes())
}

pub(super) fn last_beat(run: &RunFolder, now: Timestamp) -> Option<SignedDuration> {
    let path = run.heartbeat();
    // A copy keeps the content of the file, but maybe not its modification time.
    let written = plain_file::read_text(&path, Links::Refused, MOST).ok();
    let written = written.and_then(|text| text.trim_end().parse::<Timestamp>().ok());
    let time = written.or_else(|| Timestamp::try_from(fs::symlink_metadata(&path).ok()?.modified().ok()?).ok())?;
    Some(now.duration_since(time).max(SignedDuration::ZERO))
}

/// Sends the worker of a run on this machine a signal to end. Anybody may write to the lock file, so the process that
/// it names receives no signal unless it is verified to hold the lock.
///
/// # Errors
///
/// Fails with the reason why no signal was sent, as the end of a sentence.
pub(super) fn send_stop_signal(run: &RunFolder, owner: Option<&LockOwner>) -> Result<(), String> {
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
    // Refers to this process even if it ends and its number is reused.
    let process = pidfd_open(pid, PidfdFlags::empty()).map_err(failed)?;
    match holds_lock(run, number) {
        Ok(true) => pidfd_send_signal(&process, Signal::TERM).map_err(failed),
        Ok(false) => Err(format!("process {number}, which its lock names, does not hold the lock")),
        Err(error) => Err(format!("it cannot be determined whether process {number} is its worker: {error}")),
    }
}

/// Whether a process has the run's lock file open and locked.
#[cfg(target_os = "linux")]
fn holds_lock(run: &RunFolder, process: u32) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let identity = |data: &fs::Metadata| (data.dev(), data.ino());
    let lock = identity(&run.lock().symlink_metadata()?);
    for open in fs::read_dir(format!("/proc/{process}/fd"))? {
        let open = open?;
        // A file that is closed meanwhile cannot be examined.
        if fs::metadata(open.path()).is_ok_and(|data| identity(&data) == lock) {
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

/// A flag that a signal to end sets.
#[derive(Clone, Debug)]
pub struct StopRequest(Arc<AtomicBool>);

impl StopRequest {
    /// Installs the handlers. The process then survives the end of its terminal or connection, closed readers of its
    /// output, and files that grow too large; a signal to end only sets the flag. A second Ctrl-C ends the process at
    /// once.
    pub fn listen() -> io::Result<StopRequest> {
        #[cfg(unix)]
        {
            use signal_hook::consts::{SIGHUP, SIGPIPE, SIGXFSZ};
            // This flag is never read.
            let ignored = Arc::new(AtomicBool::new(false));
            for signal in [SIGHUP, SIGPIPE, SIGXFSZ] {
                flag::register(signal, Arc::clone(&ignored))?;
            }
        }
        let raised = Arc::new(AtomicBool::new(false));
        let interrupted = Arc::new(AtomicBool::new(false));
        // In this order, the first Ctrl-C does not see the flag that it sets.
        flag::register_conditional_shutdown(SIGINT, 130, Arc::clone(&interrupted))?;
        flag::register(SIGINT, interrupted)?;
        for signal in [SIGINT, SIGTERM] {
            flag::register(signal, Arc::clone(&raised))?;
        }
        Ok(StopRequest(raised))
    }

    pub fn raise(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub fn is_raised(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
