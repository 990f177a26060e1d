//! Opening and locking files that must be regular: no symbolic link, FIFO, socket, device or folder.
//!
//! The folders of runs, presets and sweeps may be anyone's. A link instead of a file could lead to overwriting another
//! file; opening a FIFO may block forever; a device may be endless.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// Whether to follow a symbolic link as the last component of a path. Links among its folders are always followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Links {
    Refused,
    /// Follow a link to a regular file.
    Followed,
}

/// Opens a plain file for reading.
///
/// # Errors
///
/// Fails as [`File::open`] does, and with [`io::ErrorKind::InvalidInput`], naming the actual kind, if it is not a
/// regular file.
pub fn open(path: &Path, links: Links) -> io::Result<File> {
    open_with(OpenOptions::new().read(true), path, links)
}

/// Locks a file. Retries for a moment, as programs that check whether it is locked hold it that long.
pub fn lock(file: &File) -> Result<(), TryLockError> {
    const PATIENCE: Duration = Duration::from_secs(1);
    let asked = Instant::now();
    loop {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) if asked.elapsed() < PATIENCE => thread::sleep(Duration::from_millis(20)),
            outcome => return outcome,
        }
    }
}

/// Opens a plain file for reading and writing, and creates it if it is missing. Refuses links.
pub fn open_to_write(path: &Path) -> io::Result<File> {
    open_with(OpenOptions::new().read(true).write(true).create(true).truncate(false), path, Links::Refused)
}

/// Opens a plain file that exists for reading and writing. Refuses links.
pub fn open_existing(path: &Path) -> io::Result<File> {
    open_with(OpenOptions::new().read(true).write(true), path, Links::Refused)
}

/// Opens a plain file for appending, and creates it if it is missing. Refuses links.
pub fn open_to_append(path: &Path) -> io::Result<File> {
    open_with(OpenOptions::new().read(true).append(true).create(true), path, Links::Refused)
}

/// Refuses a FIFO in a folder: opening it may block forever until a writer opens it. The pipe of a shell, such as
/// `/dev/stdin`, is in no folder and has a writer.
pub fn refuse_fifo(path: &Path) -> io::Result<()> {
    match path.canonicalize().and_then(|target| target.symlink_metadata()) {
        Ok(data) if is_fifo(data.file_type()) => plain(&data),
        _ => Ok(()),
    }
}

/// Checks that a path is a regular file or does not exist. Refuses links.
pub fn check(path: &Path) -> io::Result<()> {
    match path.symlink_metadata() {
        Ok(data) => plain(&data),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// Reads a plain file of at most `most` bytes.
///
/// # Errors
///
/// Fails as [`open`] does, and with [`io::ErrorKind::FileTooLarge`] if the file is longer. No more than `most` bytes
/// are read into memory.
pub fn read(path: &Path, links: Links, most: u64) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    let file = open(path, links)?;
    file.take(most.saturating_add(1)).read_to_end(&mut content)?;
    if content.len() as u64 > most {
        let message = format!("expected at most {most} bytes, found more");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    Ok(content)
}

/// Reads the text of a plain file of at most `most` bytes.
///
/// # Errors
///
/// Fails as [`read`] does, and with [`io::ErrorKind::InvalidData`] if the text is not UTF-8.
pub fn read_text(path: &Path, links: Links, most: u64) -> io::Result<String> {
    String::from_utf8(read(path, links, most)?).map_err(|error| {
        let message = format!("expected UTF-8, found other bytes after {} bytes", error.utf8_error().valid_up_to());
        io::Error::new(io::ErrorKind::InvalidData, message)
    })
}

/// The last whole lines of a text, of at most `most` bytes; empty if it cannot be read.
pub fn last_lines(path: &Path, most: u64) -> String {
    let read = || -> io::Result<Vec<u8>> {
        let mut file = open(path, Links::Refused)?;
        let start = file.metadata()?.len().saturating_sub(most);
        file.seek(SeekFrom::Start(start))?;
        let mut end = Vec::new();
        file.take(most).read_to_end(&mut end)?;
        if start > 0
            && let Some(newline) = end.iter().position(|&byte| byte == b'\n')
        {
            end.drain(..=newline);
        }
        Ok(end)
    };
    String::from_utf8_lossy(&read().unwrap_or_default()).into_owned()
}

/// Accepts that a file to remove is missing.
pub fn ignore_missing(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) }
}

/// Whether an open file is the one at a path. On systems without file numbers; returns whether there is one.
pub fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let there = match path.symlink_metadata() {
        Ok(there) => there,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let held = file.metadata()?;
        Ok((held.dev(), held.ino()) == (there.dev(), there.ino()))
    }
    #[cfg(not(unix))]
    {
        let _ = (file, there);
        Ok(true)
    }
}

fn open_with(options: &mut OpenOptions, path: &Path, links: Links) -> io::Result<File> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        // Opens a FIFO at once, to refuse it, instead of blocking on its other end.
        let mut flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
        if links == Links::Refused {
            flags |= rustix::fs::OFlags::NOFOLLOW;
        }
        options.custom_flags(flags.bits().cast_signed());
    }
    let opened = options.open(path);
    let metadata = if links == Links::Refused { path.symlink_metadata() } else { path.metadata() };
    match opened {
        // The check is of the opened file, not of a later one at the path.
        Ok(file) => match plain(&file.metadata()?) {
            Ok(()) if cfg!(unix) || links == Links::Followed => Ok(file),
            Ok(()) => plain(&metadata?).map(|()| file),
            Err(refusal) => Err(refusal),
        },
        // For example a link, or a FIFO without a reader.
        Err(error) => match metadata.as_ref().map(plain) {
            Ok(Err(refusal)) => Err(refusal),
            _ => Err(error),
        },
    }
}

fn plain(data: &std::fs::Metadata) -> io::Result<()> {
    let kind = data.file_type();
    if kind.is_file() {
        return Ok(());
    }
    let found = if kind.is_symlink() {
        "a symbolic link"
    } else if kind.is_dir() {
        "a folder"
    } else {
        special(kind)
    };
    Err(io::Error::new(io::ErrorKind::InvalidInput, format!("expected a plain file, found {found}")))
}

#[cfg(unix)]
fn is_fifo(kind: std::fs::FileType) -> bool {
    std::os::unix::fs::FileTypeExt::is_fifo(&kind)
}

#[cfg(not(unix))]
fn is_fifo(_: std::fs::FileType) -> bool {
    false
}

#[cfg(unix)]
fn special(kind: std::fs::FileType) -> &'static str {
    use std::os::unix::fs::FileTypeExt;
    if kind.is_fifo() {
        "a FIFO"
    } else if kind.is_socket() {
        "a socket"
    } else {
        "a device"
    }
}

#[cfg(not(unix))]
fn special(_: std::fs::FileType) -> &'static str {
    "something else"
}
