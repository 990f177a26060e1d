//! Who writes a run, and whether it still lives.
//!
//! The file `lock` is locked as long as the worker lives, however it ends, and says who that is. Only the same
//! machine's system knows of the lock. Elsewhere (a mounted folder, a mirror) there is only the heartbeat, a file with
//! the time of day that the worker renews every ten seconds. A copy on the same machine is nobody's, as nobody holds
//! the copied lock.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::folder::RunFolder;
use crate::plain_file::{self, Links};

/// Between two beats of the heart.
pub(super) const BEAT: Duration = Duration::from_secs(10);
/// More bytes than the lock and the heartbeat hold.
const MOST: u64 = 1 << 16;

/// The worker that holds a run, or was the last to hold it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockOwner {
    pub host: String,
    pub pid: u32,
    /// When it took the lock.
    pub started: Timestamp,
    /// Lines of events when it took the lock, by which its own are told from those of earlier holders.
    #[serde(default)]
    pub lines: Option<u64>,
    /// Lines of events when it let go of the lock, by which lines that were cut off since are missed. None while it
    /// holds the lock, and where it was killed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<u64>,
}

impl LockOwner {
    /// So many lines of events were written, as far as it says.
    pub(super) fn written(&self) -> u64 {
        self.end.max(self.lines).unwrap_or(0)
    }
}

/// What is known of a run's lock from here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LockState {
    /// No worker has ever taken the lock.
    NeverTaken,
    /// The lock is held on this machine. It does not say by whom where the system keeps a locked file from being
    /// read.
    Held(Option<LockOwner>),
    /// Its last holder, on this machine, is gone.
    Free(LockOwner),
    /// It is or was held on another machine.
    Remote(LockOwner),
    /// The lock cannot be read.
    Unknown,
}

/// The lock of a run, held until this is dropped.
#[derive(Debug)]
pub(super) struct Lock {
    file: File,
    /// Of events when it was taken.
    lines: u64,
}

#[derive(Debug)]
pub(super) enum LockRefusal {
    Held(Option<LockOwner>),
    File(io::Error),
}

impl LockRefusal {
    pub(super) fn into_error(self) -> io::Error {
        match self {
            LockRefusal::Held(_) => io::Error::new(io::ErrorKind::ResourceBusy, "another process writes it"),
            LockRefusal::File(error) => error,
        }
    }
}

impl Lock {
    /// Takes the lock.
    pub(super) fn take(run: &RunFolder) -> Result<Lock, LockRefusal> {
        let file = plain_file::open_to_write(&run.lock()).map_err(LockRefusal::File)?;
        lock(&file).map_err(|error| match error {
            TryLockError::WouldBlock => LockRefusal::Held(read(run).ok().flatten()),
            TryLockError::Error(source) => LockRefusal::File(source),
        })?;
        Ok(Lock { file, lines: 0 })
    }

    /// What the last holder has left in it; nothing where it cannot be read.
    pub(super) fn last_owner(&mut self) -> Option<LockOwner> {
        let mut text = Vec::new();
        self.file.rewind().ok()?;
        (&mut self.file).take(MOST).read_to_end(&mut text).ok()?;
        serde_json::from_slice(&text).ok()
    }

    /// Writes down who holds it, and how many lines of events there are.
    pub(super) fn sign(&mut self, lines: u64) -> io::Result<()> {
        self.lines = lines;
        let (host, pid, started) = (host(), std::process::id(), Timestamp::now());
        self.write(&LockOwner { host, pid, started, lines: Some(lines), end: None })
    }

    /// Writes down how many lines of events there are when it is let go.
    pub(super) fn sign_off(&mut self, lines: u64) -> io::Result<()> {
        match self.last_owner() {
            Some(owner) => self.write(&LockOwner { end: Some(lines), ..owner }),
            None => Ok(()),
        }
    }

    /// Writes over what is there before the rest is cut, so that a full disk does not leave it empty.
    fn write(&mut self, owner: &LockOwner) -> io::Result<()> {
        let text = serde_json::to_string(owner).expect("it holds nothing that JSON cannot express") + "\n";
        self.file.rewind()?;
        self.file.write_all(text.as_bytes())?;
        self.file.set_len(text.len() as u64)
    }

    /// Takes the lock again where its file was removed or replaced, by which a second worker could have come in.
    ///
    /// # Errors
    ///
    /// Where one has.
    pub(super) fn keep(&mut self, run: &RunFolder) -> Result<(), LockRefusal> {
        if plain_file::is_at(&self.file, &run.lock()).map_err(LockRefusal::File)? {
            return Ok(());
        }
        let lines = self.lines;
        *self = Lock::take(run)?;
        self.sign(lines).map_err(LockRefusal::File)
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing alone would wait for programs that are just being started, and have the file open until they are.
        let _ = self.file.unlock();
    }
}

/// Locks the file. Those who look whether it is locked hold it for a moment, which is waited for.
fn lock(file: &File) -> Result<(), TryLockError> {
    const PATIENCE: Duration = Duration::from_secs(1);
    let asked = Instant::now();
    loop {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) if asked.elapsed() < PATIENCE => {
                std::thread::sleep(Duration::from_millis(20));
            }
            outcome => return outcome,
        }
    }
}

/// Who is said to hold the lock, or to have held it last. None where nobody ever did, or who did was stopped
/// before it could say who it is.
pub(super) fn read(run: &RunFolder) -> io::Result<Option<LockOwner>> {
    match plain_file::read(&run.lock(), Links::Refused, MOST) {
        Ok(text) => Ok(serde_json::from_slice(&text).ok()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

impl LockState {
    /// Looks at the lock of a run.
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

/// The name of this machine in the network.
pub(super) fn host() -> String {
    #[cfg(unix)]
    let name = Some(rustix::system::uname().nodename().to_string_lossy().into_owned());
    #[cfg(not(unix))]
    let name = std::env::var("COMPUTERNAME").ok();
    name.filter(|name| !name.is_empty()).unwrap_or_else(|| "localhost".to_owned())
}

/// Renews the heartbeat.
pub(super) fn beat(run: &RunFolder) -> io::Result<()> {
    // In place and of equal length, so that it needs no more room on a full disk.
    let text = format!("{:.9}\n", Timestamp::now());
    plain_file::open_to_write(&run.heartbeat())?.write_all(text.as_bytes())
}

/// How long ago the heart of a run beat last.
pub(super) fn last_beat(run: &RunFolder, now: Timestamp) -> Option<SignedDuration> {
    let path = run.heartbeat();
    // What the file says outlives copying; its time may not.
    let said = plain_file::read_text(&path, Links::Refused, MOST).ok();
    let said = said.and_then(|text| text.trim_end().parse::<Timestamp>().ok());
    let time = said.or_else(|| Timestamp::try_from(fs::symlink_metadata(&path).ok()?.modified().ok()?).ok())?;
    Some(now.duration_since(time).max(SignedDuration::ZERO))
}
