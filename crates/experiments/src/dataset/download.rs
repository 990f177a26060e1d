//! Downloads of files, complete or not at all, from several mirrors.
//!
//! Received bytes go into a file that ends in `.part`, which the next attempt continues, from the same mirror or
//! another, at any time. When it is complete its SHA-256 is checked, and it is renamed; if the sum is wrong it is
//! deleted. A lock lets one process at a time work on a folder.

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use super as dataset;
use sha2::{Digest, Sha256};
use ureq::Agent;
use ureq::http::{HeaderMap, HeaderValue, StatusCode, header};

/// The usual time limit for a silent mirror.
pub const PATIENCE: Duration = Duration::from_secs(15);

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
        answers.join("; ")
    )]
    NoMirror { name: String, answers: Vec<String> },
    #[error("the download was cancelled; trying again resumes it")]
    Cancelled,
}

/// The lock file of a folder. It stays there, empty.
const LOCK: &str = ".download.lock";
/// The largest number of times that a mirror which cuts connections is asked to continue.
const MOST_CUTS: usize = 20;
/// The number of bytes received at once.
const CHUNK: usize = 1 << 16;

/// The reason why an attempt with one mirror ended early.
enum AttemptError {
    /// An error that applies to all mirrors.
    Final(DownloadError),
    /// The connection broke or fell silent. The received bytes stay in the partial file.
    Cut(String),
    /// The mirror has another file.
    Refused(String),
}

impl From<DownloadError> for AttemptError {
    fn from(error: DownloadError) -> AttemptError {
        AttemptError::Final(error)
    }
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
        let path = folder.join(LOCK);
        let lock = dataset::wait(&path, cancelled).map_err(|source| DownloadError::File { path, source })?;
        let _lock = lock.ok_or(DownloadError::Cancelled)?;
        let mut before = 0;
        for file in self.files {
            self.bring(file, folder, &mut |done| report(before + done), cancelled)?;
            before += file.bytes;
            report(before);
        }
        Ok(())
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
            match self.complete_from(mirror, file, &mut part, report, cancelled) {
                Ok(()) => return part.commit(&target),
                Err(AttemptError::Final(error)) => return Err(error),
                // A silent mirror was waited for meanwhile.
                Err(_) if cancelled() => return Err(DownloadError::Cancelled),
                Err(AttemptError::Cut(reason) | AttemptError::Refused(reason)) => {
                    answers.push(format!("{mirror}: {reason}"));
                }
            }
        }
        Err(DownloadError::NoMirror { name: file.name.to_owned(), answers })
    }

    /// Completes the partial file from one mirror, and checks its sum.
    fn complete_from(
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
            let had = part.length;
            match self.receive(&url, part, report, cancelled) {
                Ok(()) if part.has_sum()? => return Ok(()),
                Ok(()) => {
                    part.clear()?;
                    // Bytes of an earlier attempt may have been wrong, and the mirror's right.
                    if had == 0 {
                        return Err(AttemptError::Refused("sent a file with another SHA-256".to_owned()));
                    }
                }
                Err(AttemptError::Cut(reason)) => {
                    cuts += 1;
                    if part.length <= had || cuts == MOST_CUTS {
                        return Err(AttemptError::Cut(reason));
                    }
                }
                Err(refusal) => return Err(refusal),
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
        let mut request = self.agent().get(url).header(header::ACCEPT_ENCODING, "identity");
        if part.length > 0 {
            request = request.header(header::RANGE, format!("bytes={}-", part.length));
        }
        let mut response = request.call().map_err(|error| AttemptError::Cut(error.to_string()))?;
        let (from, total) = match response.status() {
            StatusCode::OK => (0, response.headers().get(header::CONTENT_LENGTH).and_then(number)),
            StatusCode::PARTIAL_CONTENT => content_range(response.headers())
                .ok_or_else(|| AttemptError::Cut("did not say which part of the file it sent".to_owned()))?,
            StatusCode::RANGE_NOT_SATISFIABLE if part.length > 0 => {
                part.clear()?;
                return self.receive(url, part, report, cancelled);
            }
            status => return Err(AttemptError::Refused(format!("answered {status}"))),
        };
        let whole = part.wanted.bytes;
        if let Some(total) = total.filter(|&total| total != whole) {
            return Err(AttemptError::Refused(format!("has a file of {total} bytes, expected {whole}")));
        }
        if from == 0 {
            // A server without ranges sends the whole file also where a part was requested.
            part.clear()?;
        } else if from != part.length {
            return Err(AttemptError::Refused("sent another part of the file than was asked for".to_owned()));
        }
        let mut reader = response.body_mut().as_reader();
        let mut buffer = vec![0; CHUNK];
        while part.missing() > 0 {
            report(part.length);
            if cancelled() {
                return Err(DownloadError::Cancelled.into());
            }
            match reader.read(&mut buffer).map_err(|error| AttemptError::Cut(error.to_string()))? {
                0 => return Err(AttemptError::Cut(format!("ended {} bytes too early", part.missing()))),
                count => part.append(&buffer[..count])?,
            }
        }
        report(part.length);
        Ok(())
    }

    fn agent(&self) -> Agent {
        let limit = Some(self.patience);
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .user_agent(concat!("valleyscope/", env!("CARGO_PKG_VERSION")))
            .timeout_resolve(limit)
            .timeout_connect(limit)
            .timeout_recv_response(limit)
            .timeout_per_read(limit)
            // A redirection is followed on a separate connection: the last one may be about to end unannounced.
            .max_idle_connections(0);
        config.build().into()
    }
}

/// Parses the first byte and the length of the file in `Content-Range: bytes FROM-TO/TOTAL`.
fn content_range(headers: &HeaderMap) -> Option<(u64, Option<u64>)> {
    let range = headers.get(header::CONTENT_RANGE)?.to_str().ok()?.strip_prefix("bytes ")?;
    let (part, total) = range.split_once('/')?;
    let (from, _) = part.split_once('-')?;
    Some((from.trim().parse().ok()?, total.trim().parse().ok()))
}

fn number(value: &HeaderValue) -> Option<u64> {
    value.to_str().ok()?.trim().parse().ok()
}

struct PartialFile<'a> {
    file: File,
    path: PathBuf,
    wanted: &'a DownloadFile<'a>,
    length: u64,
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

fn has_sum(path: &Path, wanted: &DownloadFile<'_>) -> bool {
    let right_length = path.metadata().is_ok_and(|found| found.len() == wanted.bytes);
    right_length && File::open(path).and_then(|mut file| sum(&mut file)).is_ok_and(|sum| sum == wanted.sha256)
}

/// The SHA-256 of the rest of a file, in hexadecimal.
pub(super) fn sum(file: &mut File) -> io::Result<String> {
    let mut hash = Sha256::new();
    io::copy(&mut BufReader::with_capacity(1 << 16, file), &mut hash)?;
    Ok(format!("{:x}", hash.finalize()))
}

impl<'a> PartialFile<'a> {
    fn open(target: &Path, wanted: &'a DownloadFile<'a>) -> Result<PartialFile<'a>, DownloadError> {
        let path = with_suffix(target, ".part");
        let open = || {
            let mut file = File::options().read(true).write(true).create(true).truncate(false).open(&path)?;
            let length = file.seek(SeekFrom::End(0))?;
            Ok((file, length))
        };
        match open() {
            Ok((file, length)) => {
                let mut part = PartialFile { file, path, wanted, length };
                if length > wanted.bytes {
                    part.clear()?;
                }
                Ok(part)
            }
            Err(source) => Err(DownloadError::File { path, source }),
        }
    }

    fn missing(&self) -> u64 {
        self.wanted.bytes - self.length
    }

    /// Adds bytes, of which those beyond the file's end are dropped.
    fn append(&mut self, bytes: &[u8]) -> Result<(), DownloadError> {
        let count = bytes.len().min(usize::try_from(self.missing()).unwrap_or(usize::MAX));
        self.file.write_all(&bytes[..count]).map_err(|source| self.failed(source))?;
        self.length += count as u64;
        Ok(())
    }

    fn clear(&mut self) -> Result<(), DownloadError> {
        self.file.set_len(0).and_then(|()| self.file.rewind()).map_err(|source| self.failed(source))?;
        self.length = 0;
        Ok(())
    }

    fn has_sum(&mut self) -> Result<bool, DownloadError> {
        let sum = self.file.rewind().and_then(|()| sum(&mut self.file)).map_err(|source| self.failed(source))?;
        Ok(sum == self.wanted.sha256)
    }

    fn commit(self, target: &Path) -> Result<(), DownloadError> {
        self.file.sync_all().map_err(|source| self.failed(source))?;
        let PartialFile { file, path, .. } = self;
        drop(file);
        let failed = |source| DownloadError::File { path: target.to_owned(), source };
        if target.symlink_metadata().is_ok() {
            fs::rename(target, with_suffix(target, ".old")).map_err(failed)?;
        }
        fs::rename(path, target).map_err(failed)
    }

    fn failed(&self, source: io::Error) -> DownloadError {
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
                DownloadError::DiskFull { path: self.path.clone(), missing: self.missing() }
            }
            _ => DownloadError::File { path: self.path.clone(), source },
        }
    }
}
