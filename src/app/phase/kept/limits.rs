//! The limits of kept diagrams, which are stored beside them.

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};
use valleyscope_runs::atomic_file::{Overwrite, write_file};
use valleyscope_runs::plain_file::{self, Links};

/// The largest file of limits, in bytes.
const MOST_BYTES: u64 = 4096;

/// The limits of kept diagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::app::phase) struct Limits {
    pub diagrams: usize,
    pub megabytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { diagrams: 40, megabytes: 1000 }
    }
}

impl Limits {
    /// The most megabytes that a limit may be, more than any disk has.
    const MOST_MEGABYTES: u64 = 1_000_000_000;

    /// The name of their file in the folder of diagrams.
    pub(super) const FILE: &'static str = "limits.ron";

    /// Reads the limits in a folder of diagrams; `None` if none were stored. Limits that cannot be meant are refused.
    pub(super) fn read(root: &Path) -> Result<Option<Limits>, String> {
        let refused = |reason| format!("{reason}; no diagram makes room for others until you set the limits");
        let path = root.join(Self::FILE);
        let text = match plain_file::read_text(&path, Links::Refused, MOST_BYTES) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(refused(error.to_string())),
        };
        let limits: Limits = ron::from_str(&text).map_err(|error| refused(format!("it is damaged: {error}")))?;
        if limits.diagrams == 0 || !(1..=Self::MOST_MEGABYTES).contains(&limits.megabytes) {
            let Limits { diagrams, megabytes } = limits;
            let most = Self::MOST_MEGABYTES;
            let expected = format!("expected 1 diagram or more, and 1 to {most} megabytes");
            return Err(refused(format!("{expected}, found {diagrams} and {megabytes}")));
        }
        Ok(Some(limits))
    }

    pub(super) fn write(self, root: &Path) -> io::Result<()> {
        std::fs::create_dir_all(root)?;
        let text = ron::to_string(&self).expect("limits hold no value that RON cannot express");
        write_file(&root.join(Self::FILE), Overwrite::Yes, text.as_bytes())
    }
}
