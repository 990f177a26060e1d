//! Downloads of files, complete or not at all, from several mirrors.
//!
//! Received bytes go into a file that ends in `.part`, which the next attempt continues, from the same mirror or
//! another, at any time. When it is complete its SHA-256 is checked, and it is renamed; if the sum is wrong it is
//! deleted. A lock lets one process at a time work on a folder.

mod partial_file;
mod request;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub(super) use partial_file::sum;

use partial_file::{PartialFile, has_sum};
use request::{HttpRequest, ServerResponse};

use crate::dataset::lock;

/// The usual time limit for a silent mirror.
pub const PATIENCE: Duration = Duration::from_secs(15);

/// A file to get.
#[derive(Clone, Copy, Debug)]
pub struct DownloadFile<'a> {
    /// The file's name, in the folder and after the mirror's address.
    pub name: &'a str,
    pub bytes: u64,
    /// SHA-256 in hexadecimal.
    pub sha256: &'a str,
}

/// The files of a download, and their mirrors.
#[derive(Clone, Copy, Debug)]
pub struct Download<'a> {
    pub files: &'a [DownloadFile<'a>],
    /// Addresses that the files' names are appended to, tried in turn.
    pub mirrors: &'a [String],
    /// The time limit for a silent mirror.
    pub patience: Duration,
}

/// The progress of a download, in bytes of all files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DownloadProgress {
    pub done: u64,
    pub total: u64,
}

#[derive(Debug, thiserror::Error)]
pub enum DownloadError {
    #[error("cannot use {}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error(
        "the disk is full: {} takes {missing} more bytes; free some space and try again, which resumes the \
         download", path.display()
    )]
    DiskFull { path: PathBuf, missing: u64 },
    #[error(
        "no mirror gave {name}: {}; try again later, which resumes the download, or get the files by other \
         means and name their folder",
        answers.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
    )]
    NoMirror { name: String, answers: Vec<Refusal> },
    #[error("the download was cancelled; trying again resumes it")]
    Cancelled,
}

/// The failure of a mirror.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub mirror: String,
    pub reason: String,
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.mirror, self.reason)
    }
}

/// The lock file of a folder. It stays there, empty.
const LOCK: &str = ".download.lock";
/// The largest number of times that a mirror which cuts connections is asked to continue.
const MOST_CUTS: usize = 20;
/// The polling interval.
const TICK: Duration = Duration::from_millis(50);

/// The reason why an attempt with one mirror ended early.
enum AttemptError {
    /// An error that applies to all mirrors.
    Final(DownloadError),
    /// The connection broke or fell silent. The received bytes are kept.
    Cut(String),
    /// The mirror's file is another one.
    Refused(String),
}

impl Download<'_> {
    /// Downloads the files into a folder, which is created if needed. Existing files with the right sum stay as they
    /// are; one with another sum is renamed to end in `.old`.
    pub fn into_folder(
        &self,
        folder: &Path,
        progress: &mut dyn FnMut(DownloadProgress),
        cancelled: &dyn Fn() -> bool,
    ) -> Result<(), DownloadError> {
        let failed = |source| DownloadError::File { path: folder.to_owned(), source };
        fs::create_dir_all(folder).map_err(failed)?;
        let total = self.files.iter().map(|file| file.bytes).sum();
        let mut report = |done| progress(DownloadProgress { done, total });
        let _lock = self.lock(folder, &mut report, cancelled)?;
        let mut before = 0;
        for file in self.files {
            self.bring(file, folder, &mut |done| report(before + done), cancelled)?;
            before += file.bytes;
            report(before);
        }
        Ok(())
    }

    /// Waits until no other process works on the folder.
    fn lock(
        &self,
        folder: &Path,
        report: &mut dyn FnMut(u64),
        cancelled: &dyn Fn() -> bool,
    ) -> Result<File, DownloadError> {
        let path = folder.join(LOCK);
        let mut waiting = || report(self.files.iter().map(|file| arrived(file, folder)).sum());
        let held = lock::wait(&path, &mut waiting, cancelled);
        held.map_err(|source| DownloadError::File { path, source })?.ok_or(DownloadError::Cancelled)
    }

    fn bring(
        &self,
        file: &DownloadFile<'_>,
        folder: &Path,
        report: &mut dyn FnMut(u64),
        cancelled: &dyn Fn() -> bool,
    ) -> Result<(), DownloadError> {
        let target = folder.join(file.name);
        if has_sum(&target, file) {
            return Ok(());
        }
        let mut part = PartialFile::open(&target, file)?;
        let mut answers = Vec::new();
        for mirror in self.mirrors {
            match self.bring_from(mirror, file, &mut part, report, cancelled) {
                Ok(()) => return part.commit(&target),
                Err(AttemptError::Final(error)) => return Err(error),
                Err(AttemptError::Cut(reason) | AttemptError::Refused(reason)) => {
                    answers.push(Refusal { mirror: mirror.clone(), reason });
                }
            }
        }
        Err(DownloadError::NoMirror { name: file.name.to_owned(), answers })
    }

    /// Completes the part with one mirror, and checks it.
    fn bring_from(
        &self,
        mirror: &str,
        file: &DownloadFile<'_>,
        part: &mut PartialFile<'_>,
        report: &mut dyn FnMut(u64),
        cancelled: &dyn Fn() -> bool,
    ) -> Result<(), AttemptError> {
        let url = format!("{}/{}", mirror.trim_end_matches('/'), file.name);
        let mut cuts = 0;
        loop {
            let had = part.length();
            match self.receive(&url, part, report, cancelled) {
                Ok(()) if part.has_sum().map_err(AttemptError::Final)? => return Ok(()),
                Ok(()) => {
                    part.clear().map_err(AttemptError::Final)?;
                    // Bytes of an earlier attempt may have been wrong, and the mirror's right.
                    if had == 0 {
                        return Err(AttemptError::Refused("sent a file with another SHA-256".to_owned()));
                    }
                }
                Err(AttemptError::Cut(reason)) => {
                    cuts += 1;
                    if part.length() <= had || cuts == MOST_CUTS {
                        return Err(AttemptError::Cut(reason));
                    }
                }
                Err(trouble) => return Err(trouble),
            }
        }
    }

    /// Requests the missing bytes from a mirror, and appends them.
    fn receive(
        &self,
        url: &str,
        part: &mut PartialFile<'_>,
        report: &mut dyn FnMut(u64),
        cancelled: &dyn Fn() -> bool,
    ) -> Result<(), AttemptError> {
        if part.missing() == 0 {
            return Ok(());
        }
        let request = HttpRequest::send(url.to_owned(), part.length(), self.patience);
        loop {
            if cancelled() {
                return Err(AttemptError::Final(DownloadError::Cancelled));
            }
            let Some(answer) = request.wait(TICK).map_err(AttemptError::Cut)? else { continue };
            match answer {
                ServerResponse::Begins { from, total } => {
                    let whole = part.length() + part.missing();
                    if let Some(total) = total.filter(|&total| total != whole) {
                        return Err(AttemptError::Refused(format!("has a file of {total} bytes, expected {whole}")));
                    }
                    if from == 0 {
                        // A server without ranges sends the whole file also where a part was requested.
                        part.clear().map_err(AttemptError::Final)?;
                    } else if from != part.length() {
                        return Err(AttemptError::Refused(
                            "sent another part of the file than was asked for".to_owned(),
                        ));
                    }
                }
                ServerResponse::NoSuchPart if part.length() > 0 => {
                    part.clear().map_err(AttemptError::Final)?;
                    return self.receive(url, part, report, cancelled);
                }
                ServerResponse::NoSuchPart => return Err(AttemptError::Refused("answered 416".to_owned())),
                ServerResponse::Status(status) => return Err(AttemptError::Refused(format!("answered {status}"))),
                ServerResponse::Bytes(bytes) => part.append(&bytes).map_err(AttemptError::Final)?,
                ServerResponse::End if part.missing() > 0 => {
                    return Err(AttemptError::Cut(format!("ended {} bytes too early", part.missing())));
                }
                ServerResponse::End => return Ok(()),
            }
            report(part.length());
            if part.missing() == 0 {
                return Ok(());
            }
        }
    }
}

/// Returns the bytes of a file that are in the folder already.
fn arrived(file: &DownloadFile<'_>, folder: &Path) -> u64 {
    let target = folder.join(file.name);
    let length = |path: &Path| path.metadata().ok().map(|found| found.len().min(file.bytes));
    length(&target).or_else(|| length(&partial_file::path(&target))).unwrap_or(0)
}
