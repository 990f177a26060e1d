//! Atomic writing of files: they appear as a whole or not at all.

use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use tempfile::TempPath;

use crate::plain_file::{self, Links};

/// Whether an atomic write replaces an existing file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overwrite {
    /// Keep the existing file and fail with [`io::ErrorKind::AlreadyExists`].
    No,
    /// Replace the existing file.
    Yes,
}

/// A temporary file in the folder of its target, renamed to the target once it is complete. Dropping it before removes
/// it.
///
/// It is locked as long as this value exists, so that files left by a killed program can be distinguished from those
/// being written.
pub struct AtomicFile {
    /// Closed before the file is removed.
    file: BufWriter<File>,
    path: TempPath,
    target: PathBuf,
}

const PREFIX: &str = ".valleyscope-";
const SUFFIX: &str = ".tmp";

impl AtomicFile {
    /// Creates a temporary file that will become `target`. If `target` is a symbolic link, the file that it points to
    /// is replaced.
    pub fn for_target(target: &Path) -> io::Result<AtomicFile> {
        let target = match target.metadata() {
            Ok(existing) if existing.is_file() => target.canonicalize()?,
            Ok(_) => return Err(io::Error::new(io::ErrorKind::InvalidInput, "it exists and is not a regular file")),
            Err(_) => target.to_owned(),
        };
        AtomicFile::in_folder_of(target)
    }

    /// Creates a temporary file for a target in a folder with untrusted contents, such as that of a run. Refuses a
    /// symbolic link and anything else that is not a regular file.
    pub fn for_plain_target(target: &Path) -> io::Result<AtomicFile> {
        plain_file::check(target)?;
        AtomicFile::in_folder_of(target.to_owned())
    }

    fn in_folder_of(target: PathBuf) -> io::Result<AtomicFile> {
        let folder = match target.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        if !folder.is_dir() {
            let message = format!("there is no folder {}", folder.display());
            return Err(io::Error::new(io::ErrorKind::NotFound, message));
        }
        let mut builder = tempfile::Builder::new();
        builder.prefix(PREFIX).suffix(SUFFIX);
        // The user's umask determines who may read a result.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        // Separate from its path, which would be in each error of writing.
        let (file, path) = builder.tempfile_in(folder).map_err(|error| without_path(&error))?.into_parts();
        // Without support for locks, left-over files stay.
        let _ = file.try_lock();
        Ok(AtomicFile { file: BufWriter::new(file), path, target })
    }

    /// The temporary file's path, for another program to write the content.
    pub fn path(&self) -> &Path {
        // Locks on Windows would refuse the other program's writes.
        #[cfg(windows)]
        let _ = self.file.get_ref().unlock();
        &self.path
    }

    fn is_name(name: &str) -> bool {
        name.starts_with(PREFIX) && name.ends_with(SUFFIX)
    }

    /// Renames the file to its target, after all of it has reached the disk.
    pub fn commit(self, overwrite: Overwrite) -> io::Result<()> {
        let AtomicFile { file, path, target } = self;
        let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.sync_all()?;
        match overwrite {
            Overwrite::Yes => path.persist(target)?,
            Overwrite::No => path.persist_noclobber(target)?,
        }
        Ok(())
    }

    /// Lists the temporary files that killed programs have left in a folder.
    pub fn left_behind(folder: &Path) -> io::Result<Vec<PathBuf>> {
        let mut left = Vec::new();
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            if path.file_name().and_then(|name| name.to_str()).is_some_and(AtomicFile::is_name)
                && let Ok(file) = plain_file::open(&path, Links::Refused)
                && file.try_lock().is_ok()
            {
                left.push(path);
            }
        }
        Ok(left)
    }

    /// Removes the temporary files that killed programs have left in a folder. A file that cannot be removed stays.
    ///
    /// # Errors
    ///
    /// Fails if the folder cannot be read.
    pub fn clear(folder: &Path) -> io::Result<()> {
        for path in AtomicFile::left_behind(folder)? {
            let _ = std::fs::remove_file(path);
        }
        Ok(())
    }
}

/// Drops the temporary file's path from an error: it means nothing to a user.
fn without_path(error: &io::Error) -> io::Error {
    let cause = error.get_ref().and_then(|inner| inner.source()).map_or_else(|| error.to_string(), ToString::to_string);
    io::Error::new(error.kind(), cause)
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Seek for AtomicFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

pub fn write_file(path: &Path, overwrite: Overwrite, content: &[u8]) -> io::Result<()> {
    if overwrite == Overwrite::No && path.symlink_metadata().is_ok() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    let mut file = AtomicFile::for_target(path)?;
    file.write_all(content)?;
    file.commit(overwrite)
}

/// Replaces the file at `path` atomically, under the checks of [`AtomicFile::for_plain_target`].
pub fn write_plain_file(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = AtomicFile::for_plain_target(path)?;
    file.write_all(content)?;
    file.commit(Overwrite::Yes)
}
