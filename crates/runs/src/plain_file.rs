//! Opening and locking files that must be regular: no symbolic link, no FIFO, no socket, no device, no folder.
//!
//! The folders of runs, presets and sweeps may come from anybody. A link in the place of a file could cause another
//! file to be overwritten; opening a FIFO may block for ever; a device may never end.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// Whether a symbolic link as the last component of a path is followed. Links among its folders always are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Links {
    Refused,
    /// Its target must be a regular file too.
    Followed,
}

/// Opens a plain file for reading.
///
/// # Errors
///
/// Those of [`File::open`]; [`io::ErrorKind::InvalidInput`] where it is not a regular file, with its actual kind.
pub fn open(path: &Path, links: Links) -> io::Result<File> {
    open_with(OpenOptions::new().read(true), path, links)
}

/// Locks a file. Programs that check whether it is locked hold it for a moment, which is waited for.
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

/// Opens a plain file for reading and writing, and makes an empty one where there is none. Links are refused.
pub fn open_to_write(path: &Path) -> io::Result<File> {
    open_with(OpenOptions::new().read(true).write(true).create(true).truncate(false), path, Links::Refused)
}

/// The same for appending.
pub fn open_to_append(path: &Path) -> io::Result<File> {
    open_with(OpenOptions::new().read(true).append(true).create(true), path, Links::Refused)
}

/// Refuses a FIFO in a folder: opening it may wait for a writer for ever. The pipe of a shell, such as `/dev/stdin`, is
/// in no folder and has a writer.
pub fn refuse_fifo(path: &Path) -> io::Result<()> {
    match path.canonicalize().and_then(|place| place.symlink_metadata()) {
        Ok(data) if is_fifo(data.file_type()) => plain(&data),
        _ => Ok(()),
    }
}

/// Checks that a path is a regular file or does not exist. Links are refused.
pub fn check(path: &Path) -> io::Result<()> {
    match path.symlink_metadata() {
        Ok(data) => plain(&data),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// The content of a plain file of at most `most` bytes.
///
/// # Errors
///
/// Those of [`open`]; [`io::ErrorKind::FileTooLarge`] where it is longer. No more than `most` bytes are read into
/// memory.
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

/// The text of a plain file of at most `most` bytes.
///
/// # Errors
///
/// Those of [`read`]; [`io::ErrorKind::InvalidData`] where it is not UTF-8.
pub fn read_text(path: &Path, links: Links, most: u64) -> io::Result<String> {
    String::from_utf8(read(path, links, most)?).map_err(|error| {
        let message = format!("expected UTF-8, found other bytes after {} bytes", error.utf8_error().valid_up_to());
        io::Error::new(io::ErrorKind::InvalidData, message)
    })
}

/// Whether an open file is the one at a path. On systems without file numbers, whether there is one.
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
        // A FIFO is opened at once, to be refused, instead of waiting for its other end.
        let mut flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
        if links == Links::Refused {
            flags |= rustix::fs::OFlags::NOFOLLOW;
        }
        options.custom_flags(flags.bits().cast_signed());
    }
    let opened = options.open(path);
    let look = if links == Links::Refused { path.symlink_metadata() } else { path.metadata() };
    match opened {
        // The opened file matters, not a later one at the path.
        Ok(file) => match plain(&file.metadata()?) {
            Ok(()) if cfg!(unix) || links == Links::Followed => Ok(file),
            Ok(()) => plain(&look?).map(|()| file),
            Err(refusal) => Err(refusal),
        },
        // For example a link, or a FIFO without a reader.
        Err(error) => match look.as_ref().map(plain) {
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
