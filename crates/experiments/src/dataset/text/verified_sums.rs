//! Records of large files whose sums were compared with `meta.json`.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use valleyscope_runs::atomic_file::write_plain_file;
use valleyscope_runs::plain_file::{self, Links};

use super::TextError;

/// A record that a file of this length and time had this sum.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CheckedFile {
    path: PathBuf,
    bytes: u64,
    /// The time of its last change: seconds since 1970, and nanoseconds.
    modified: (u64, u32),
    sha256: String,
}

impl CheckedFile {
    /// The longest record, in bytes.
    const LONGEST: u64 = 1 << 16;

    /// Returns the record of a file in its current state.
    pub(super) fn of(path: &Path, sha256: &str) -> Result<CheckedFile, TextError> {
        let look = || {
            let found = fs::metadata(path)?;
            Ok((path.canonicalize()?, found.len(), found.modified()?))
        };
        let (path, bytes, modified) = look().map_err(TextError::at(path))?;
        let modified = modified.duration_since(UNIX_EPOCH).unwrap_or_default();
        let modified = (modified.as_secs(), modified.subsec_nanos());
        Ok(CheckedFile { path, bytes, modified, sha256: sha256.to_owned() })
    }

    /// Returns whether a folder has this record.
    pub(super) fn is_in(&self, folder: &Path) -> bool {
        let text = plain_file::read_text(&self.place(folder), Links::Refused, Self::LONGEST);
        text.is_ok_and(|text| serde_json::from_str(&text).is_ok_and(|known: CheckedFile| known == *self))
    }

    /// Writes the record into a folder. Where that fails, the file is compared again the next time.
    pub(super) fn keep(&self, folder: &Path) {
        if let Ok(text) = serde_json::to_string(self) {
            let _ = fs::create_dir_all(folder).and_then(|()| write_plain_file(&self.place(folder), text.as_bytes()));
        }
    }

    fn place(&self, folder: &Path) -> PathBuf {
        let name = format!("{:x}", Sha256::digest(self.path.as_os_str().as_encoded_bytes()));
        folder.join(format!("checked-{}.json", &name[..16]))
    }
}
