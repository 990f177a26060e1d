//! The folder of the training worker, and the status of its set-up.
//!
//! The set-up (`cargo xtask setup`) and the program communicate only through a folder, `worker` in the user's data
//! folder.
//!
//! | file | holds |
//! | --- | --- |
//! | `bin/valleyscope-train` | the worker |
//! | `lib` | a link to the libraries of the PyTorch that it was built with |
//! | `pytorch-…` | a PyTorch for the worker only, if no other fits |
//! | `setup.lock` | locked as long as a set-up is running |
//! | `setup.txt` | the status or the outcome of the set-up ([`SetUpStatus`]) |
//! | `setup.log` | the output of a set-up in the background |
//! | `setup.cancel` | its presence asks the set-up to end |
//!
//! `setup.txt` has a line `name=value` for each field, the message last, which may have several lines; it is replaced
//! atomically. Lines with other names are skipped.

use std::env;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

/// The user's folder for the program's data, if the system defines one: the same as that of the `directories` crate,
/// computed with the standard library alone.
pub fn data_folder() -> Option<PathBuf> {
    let variable = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || env::home_dir().filter(|home| !home.as_os_str().is_empty());
    if cfg!(windows) {
        Some(variable("APPDATA")?.join("valleyscope").join("data"))
    } else if cfg!(target_os = "macos") {
        Some(home()?.join("Library/Application Support/valleyscope"))
    } else {
        let folder = variable("XDG_DATA_HOME").or_else(|| Some(home()?.join(".local/share")))?;
        Some(folder.join("valleyscope"))
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerFolder {
    path: PathBuf,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetUpStatus {
    pub state: SetUpState,
    /// The current action, or the outcome, for users. It may have several lines.
    pub message: String,
    /// The current step, counted from 1, and the number of steps.
    pub step: (u32, u32),
    /// The progress of this step, if known.
    pub percent: Option<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetUpState {
    Working,
    Done,
    Failed,
    /// The set-up ended on request.
    Cancelled,
    /// The user declined the download.
    Declined,
    /// The set-up ended before it was done, without a message.
    Interrupted,
}

/// A running set-up: while this value exists, no other can begin.
#[derive(Debug)]
pub struct SetUp {
    folder: WorkerFolder,
    lock: File,
}

#[derive(Debug)]
pub enum SetUpRefusal {
    /// Another set-up is running.
    Held,
    Folder(io::Error),
}

/// The libraries of a PyTorch for the worker, with their approximate sizes in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PyTorchVariant {
    pub name: &'static str,
    pub purpose: &'static str,
    pub download: u64,
    /// The bytes that unpacking takes, besides the download.
    pub unpacked: u64,
    /// The bytes that stay on the disk.
    pub disk: u64,
}

const STATES: [(SetUpState, &str); 6] = [
    (SetUpState::Working, "working"),
    (SetUpState::Done, "done"),
    (SetUpState::Failed, "failed"),
    (SetUpState::Cancelled, "cancelled"),
    (SetUpState::Declined, "declined"),
    (SetUpState::Interrupted, "interrupted"),
];

impl PyTorchVariant {
    /// The libraries for the processor.
    pub const CPU: PyTorchVariant = PyTorchVariant {
        name: "cpu",
        purpose: "for the processor",
        download: 540_000_000,
        unpacked: 1_300_000_000,
        disk: 700_000_000,
    };
    /// All libraries, including NVIDIA's.
    pub const CUDA: PyTorchVariant = PyTorchVariant {
        name: "cuda",
        purpose: "with CUDA for this machine's NVIDIA GPU",
        download: 2_750_000_000,
        unpacked: 5_000_000_000,
        disk: 5_000_000_000,
    };

    /// The libraries that the set-up installs on a machine with or without an NVIDIA GPU. PyTorch with CUDA is published
    /// for Linux only.
    pub fn for_machine(has_gpu: bool) -> PyTorchVariant {
        if has_gpu && cfg!(target_os = "linux") { PyTorchVariant::CUDA } else { PyTorchVariant::CPU }
    }
}

impl WorkerFolder {
    /// The folder of the worker in the user's data folder, if the system defines one.
    pub fn of_user() -> Option<WorkerFolder> {
        Some(WorkerFolder { path: data_folder()?.join("worker") })
    }

    pub fn at(path: &Path) -> WorkerFolder {
        WorkerFolder { path: path.to_owned() }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn program(&self) -> PathBuf {
        self.path.join("bin").join(format!("valleyscope-train{}", env::consts::EXE_SUFFIX))
    }

    pub fn libraries(&self) -> PathBuf {
        self.path.join("lib")
    }

    pub fn log(&self) -> PathBuf {
        self.path.join("setup.log")
    }

    /// Reads the status of the running or the last set-up; `None` if there has been none.
    pub fn status(&self) -> Option<SetUpStatus> {
        // In this order, as the set-up may end in between.
        let at_work = self.is_being_set_up();
        let mut status = SetUpStatus::from_text(&fs::read_to_string(self.status_file()).ok()?)?;
        if status.state == SetUpState::Working && !at_work {
            status.state = SetUpState::Interrupted;
        }
        Some(status)
    }

    pub fn is_being_set_up(&self) -> bool {
        File::open(self.lock_file()).is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
    }

    /// Requests the end of the running set-up, which takes a moment.
    pub fn cancel(&self) -> io::Result<()> {
        File::create(self.cancel_file()).map(drop)
    }

    fn status_file(&self) -> PathBuf {
        self.path.join("setup.txt")
    }

    fn lock_file(&self) -> PathBuf {
        self.path.join("setup.lock")
    }

    fn cancel_file(&self) -> PathBuf {
        self.path.join("setup.cancel")
    }
}

impl SetUp {
    pub fn begin(folder: &WorkerFolder) -> Result<SetUp, SetUpRefusal> {
        fs::create_dir_all(folder.path()).map_err(SetUpRefusal::Folder)?;
        let lock = OpenOptions::new().write(true).create(true).truncate(false).open(folder.lock_file());
        let lock = lock.map_err(SetUpRefusal::Folder)?;
        // Another process holds the lock for an instant when it checks for a running set-up.
        let mut tries = 0;
        loop {
            match lock.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if tries < 50 => thread::sleep(Duration::from_millis(20)),
                Err(TryLockError::WouldBlock) => return Err(SetUpRefusal::Held),
                Err(TryLockError::Error(error)) => return Err(SetUpRefusal::Folder(error)),
            }
            tries += 1;
        }
        // Removes a request that was too late for the previous set-up.
        let _ = fs::remove_file(folder.cancel_file());
        Ok(SetUp { folder: folder.clone(), lock })
    }

    pub fn folder(&self) -> &WorkerFolder {
        &self.folder
    }

    pub fn is_cancelled(&self) -> bool {
        self.folder.cancel_file().exists()
    }

    /// Writes the status. If that fails, the set-up's own errors explain why.
    pub fn report(&self, state: SetUpState, message: &str, step: (u32, u32), percent: Option<u8>) {
        let status = SetUpStatus { state, message: message.to_owned(), step, percent };
        let aside = self.folder.path.join("setup.txt.new");
        let _ = fs::write(&aside, status.to_text()).and_then(|()| fs::rename(&aside, self.folder.status_file()));
    }
}

impl Drop for SetUp {
    fn drop(&mut self) {
        // A pending request is answered by this end, or was too late.
        let _ = fs::remove_file(self.folder.cancel_file());
        // Closing alone would release the lock only after programs that are just being started, which have the file
        // open until then.
        let _ = self.lock.unlock();
    }
}

impl SetUpStatus {
    fn to_text(&self) -> String {
        let state = STATES.iter().find(|(state, _)| *state == self.state).map_or("", |(_, name)| name);
        let percent = self.percent.map(|percent| format!("percent={percent}\n")).unwrap_or_default();
        let ((step, steps), message) = (self.step, &self.message);
        format!("state={state}\nstep={step}\nsteps={steps}\n{percent}message={message}")
    }

    fn from_text(text: &str) -> Option<SetUpStatus> {
        let (fields, message) = text.split_once("\nmessage=")?;
        let field = |name: &str| fields.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
        let (state, _) = STATES.into_iter().find(|(_, name)| field("state") == Some(name))?;
        Some(SetUpStatus {
            state,
            message: message.to_owned(),
            step: (field("step")?.parse().ok()?, field("steps")?.parse().ok()?),
            percent: field("percent").and_then(|percent| percent.parse().ok()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(state: SetUpState, message: &str, percent: Option<u8>) -> SetUpStatus {
        SetUpStatus { state, message: message.to_owned(), step: (2, 3), percent }
    }

    #[test]
    fn a_status_round_trips() {
        for (state, _) in STATES {
            for message in ["", "Building", "two\nlines = 2", r"a \n that is none, and C:\new\\"] {
                for percent in [None, Some(0), Some(100)] {
                    let whole = status(state, message, percent);
                    assert_eq!(SetUpStatus::from_text(&whole.to_text()), Some(whole));
                }
            }
        }
    }

    #[test]
    fn rejects_a_cut_or_foreign_status() {
        let text = status(SetUpState::Working, "Building", None).to_text();
        assert_eq!(SetUpStatus::from_text(text.split("steps").next().unwrap()), None);
        assert_eq!(SetUpStatus::from_text(&text.replace("working", "dancing")), None);
        assert_eq!(SetUpStatus::from_text(""), None);
        let newer = format!("mood=good\n{text}");
        assert!(SetUpStatus::from_text(&newer).is_some());
    }
}
