//! Who writes a run, and whether it still lives.
//!
//! The file `lock` is locked as long as the worker lives, however it ends, and says who that is. Only the same
//! machine's system knows of the lock. Elsewhere (a mounted folder, a mirror, a copy) there is only the
//! heartbeat, a file with the time of day that the worker renews every ten seconds.

use std::fs::{self, File, TryLockError};
use std::io::{self, Seek, Write};
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::folder::RunFolder;
use crate::plain_file::{self, Links};

/// Between two beats of the heart.
pub const BEAT: Duration = Duration::from_secs(10);
/// More bytes than the lock and the heartbeat hold.
const MOST: u64 = 1 << 16;

/// The worker that holds a run, or was the last to hold it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    pub host: String,
    pub pid: u32,
    /// When it took the lock.
    pub started: Timestamp,
    /// Number of the lock's file in its file system, by which a copy is told from the original.
    #[serde(default)]
    pub inode: Option<u64>,
    /// Lines of events when it took the lock, by which its own are told from those of earlier holders.
    #[serde(default)]
    pub lines: Option<u64>,
}

/// What is known of a run's lock from here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Life {
    /// No worker has ever taken the lock.
    Unborn,
    /// The lock is held on this machine. It does not say by whom where the system keeps a locked file from being
    /// read.
    Alive(Option<Holder>),
    /// Its last holder, on this machine, is gone.
    Gone(Holder),
    /// It is or was held on another machine, or this is a copy of the folder.
    Elsewhere(Holder),
    /// The lock cannot be read.
    Unknown,
}

/// The lock of a run, held until this is dropped.
#[derive(Debug)]
pub struct Lock {
    file: File,
    /// Of events when it was taken.
    lines: u64,
}

#[derive(Debug)]
pub enum Refusal {
    Held(Option<Holder>),
    File(io::Error),
}

impl Refusal {
    pub fn into_error(self) -> io::Error {
        match self {
            Refusal::Held(_) => io::Error::new(io::ErrorKind::ResourceBusy, "another process writes it"),
            Refusal::File(error) => error,
        }
    }
}

impl Lock {
    /// Takes the lock.
    pub fn take(run: &RunFolder) -> Result<Lock, Refusal> {
        let file = plain_file::open_to_write(&run.lock()).map_err(Refusal::File)?;
        lock(&file).map_err(|error| match error {
            TryLockError::WouldBlock => Refusal::Held(read(run).ok().flatten()),
            TryLockError::Error(source) => Refusal::File(source),
        })?;
        Ok(Lock { file, lines: 0 })
    }

    /// Writes down who holds it, and how many lines of events there are.
    pub fn sign(&mut self, lines: u64) -> io::Result<()> {
        self.lines = lines;
        let holder = Holder {
            host: host(),
            pid: std::process::id(),
            started: Timestamp::now(),
            inode: self.file.metadata().ok().and_then(|data| inode(&data)),
            lines: Some(lines),
        };
        let text = serde_json::to_string(&holder).expect("it holds nothing that JSON cannot express") + "\n";
        self.file.set_len(0)?;
        self.file.rewind()?;
        self.file.write_all(text.as_bytes())
    }

    /// Takes the lock again where its file was removed or replaced, by which a second worker could have come in.
    ///
    /// # Errors
    ///
    /// Where one has.
    pub fn keep(&mut self, run: &RunFolder) -> Result<(), Refusal> {
        if plain_file::is_at(&self.file, &run.lock()).map_err(Refusal::File)? {
            return Ok(());
        }
        let lines = self.lines;
        *self = Lock::take(run)?;
        self.sign(lines).map_err(Refusal::File)
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
pub fn read(run: &RunFolder) -> io::Result<Option<Holder>> {
    match plain_file::read(&run.lock(), Links::Refused, MOST) {
        Ok(text) => Ok(serde_json::from_slice(&text).ok()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

impl Life {
    /// Looks at the lock of a run.
    pub fn of(run: &RunFolder) -> Life {
        let file = match plain_file::open(&run.lock(), Links::Refused) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Life::Unborn,
            Err(_) => return Life::Unknown,
        };
        let held = matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock));
        let data = file.metadata();
        drop(file);
        let holder = read(run).ok().flatten();
        if held {
            return Life::Alive(holder);
        }
        let Some(holder) = holder else { return Life::Unborn };
        let original = match (holder.inode, data.ok().and_then(|data| inode(&data))) {
            (Some(then), Some(now)) => then == now,
            _ => true,
        };
        if holder.host == host() && original { Life::Gone(holder) } else { Life::Elsewhere(holder) }
    }
}

/// The name of this machine in the network.
pub fn host() -> String {
    #[cfg(unix)]
    let name = Some(rustix::system::uname().nodename().to_string_lossy().into_owned());
    #[cfg(not(unix))]
    let name = std::env::var("COMPUTERNAME").ok();
    name.filter(|name| !name.is_empty()).unwrap_or_else(|| "localhost".to_owned())
}

/// The number of a file in its file system, where the system has such.
pub fn inode(data: &fs::Metadata) -> Option<u64> {
    #[cfg(unix)]
    return Some(std::os::unix::fs::MetadataExt::ino(data));
    #[cfg(not(unix))]
    return {
        let _ = data;
        None
    };
}

/// Renews the heartbeat.
pub fn beat(run: &RunFolder) -> io::Result<()> {
    // In place and of equal length, so that it needs no more room on a full disk.
    let text = format!("{:.9}\n", Timestamp::now());
    plain_file::open_to_write(&run.heartbeat())?.write_all(text.as_bytes())
}

/// How long ago the heart of a run beat last.
pub fn last_beat(run: &RunFolder, now: Timestamp) -> Option<SignedDuration> {
    let path = run.heartbeat();
    // What the file says outlives copying; its time may not.
    let said = plain_file::read_text(&path, Links::Refused, MOST).ok();
    let said = said.and_then(|text| text.trim_end().parse::<Timestamp>().ok());
    let time = said.or_else(|| Timestamp::try_from(fs::symlink_metadata(&path).ok()?.modified().ok()?).ok())?;
    Some(now.duration_since(time).max(SignedDuration::ZERO))
}
