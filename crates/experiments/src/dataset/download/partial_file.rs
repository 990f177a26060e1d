use std::fs::{self, File};
use std::io::{self, BufReader, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::{DownloadError, DownloadFile};

/// The received part of a file.
pub(super) struct PartialFile<'a> {
    file: File,
    path: PathBuf,
    wanted: &'a DownloadFile<'a>,
    length: u64,
}

/// Returns the path of the part of a file.
pub(super) fn path(target: &Path) -> PathBuf {
    with_suffix(target, ".part")
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Returns whether a file exists and has the expected sum.
pub(super) fn has_sum(path: &Path, wanted: &DownloadFile<'_>) -> bool {
    let right_length = path.metadata().is_ok_and(|found| found.len() == wanted.bytes);
    right_length && File::open(path).and_then(|mut file| sum(&mut file)).is_ok_and(|sum| sum == wanted.sha256)
}

/// Returns the SHA-256 of the rest of a file, in hexadecimal.
pub(in crate::dataset) fn sum(file: &mut File) -> io::Result<String> {
    let mut hash = Sha256::new();
    io::copy(&mut BufReader::with_capacity(1 << 16, file), &mut hash)?;
    Ok(format!("{:x}", hash.finalize()))
}

impl<'a> PartialFile<'a> {
    /// Opens the existing part of a file, or creates it.
    pub(super) fn open(target: &Path, wanted: &'a DownloadFile<'a>) -> Result<PartialFile<'a>, DownloadError> {
        let path = path(target);
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

    pub(super) fn length(&self) -> u64 {
        self.length
    }

    pub(super) fn missing(&self) -> u64 {
        self.wanted.bytes - self.length
    }

    /// Adds bytes, of which those beyond the file's end are dropped.
    pub(super) fn append(&mut self, bytes: &[u8]) -> Result<(), DownloadError> {
        let count = bytes.len().min(usize::try_from(self.missing()).unwrap_or(usize::MAX));
        self.file.write_all(&bytes[..count]).map_err(|source| self.failed(source))?;
        self.length += count as u64;
        Ok(())
    }

    /// Discards the received bytes.
    pub(super) fn clear(&mut self) -> Result<(), DownloadError> {
        self.file.set_len(0).and_then(|()| self.file.rewind()).map_err(|source| self.failed(source))?;
        self.length = 0;
        Ok(())
    }

    pub(super) fn has_sum(&mut self) -> Result<bool, DownloadError> {
        let sum = self.file.rewind().and_then(|()| sum(&mut self.file)).map_err(|source| self.failed(source))?;
        Ok(sum == self.wanted.sha256)
    }

    /// Renames the complete file.
    pub(super) fn commit(self, target: &Path) -> Result<(), DownloadError> {
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
