//! Reading event files of other programs, entry by entry.

use std::fs;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

use prost::Message;
use serde_json::{Map, Value};
use valleyscope_runs::plain_file::{self, Links};

use super::message::{Event, HPARAMS, What};
use super::record::{self, Next};

/// Something that an event file holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Entry {
    /// A number, with its time in seconds since 1970.
    Scalar { tag: String, title: Option<String>, step: i64, time: f64, value: f64 },
    /// A value of another kind, such as `histograms`.
    Other { tag: String, kind: String },
    /// The settings of the run.
    Settings(Map<String, Value>),
    /// A start of the writing program, which makes the earlier points from a step on void.
    Restart { step: i64 },
    /// Records that cannot be read, in the plural, and which of them.
    Unreadable { what: String, record: String },
    /// The end of what can be read, within or before a record.
    Ends(String),
}

/// Returns the event files of a folder in the order of their names, which begin with the time of their making.
pub fn event_files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_file() && is_event_file(&entry.path()) {
            files.push(entry.path());
        }
    }
    files.sort();
    Ok(files)
}

/// Returns whether a file's name is that of an event file.
pub fn is_event_file(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().contains("tfevents"))
}

/// Reads an event file, and passes each entry on.
pub fn read_entries<E: From<io::Error>>(path: &Path, mut take: impl FnMut(Entry) -> Result<(), E>) -> Result<(), E> {
    let mut file = BufReader::new(plain_file::open(path, Links::Refused)?);
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    let unreadable =
        |what: &str, record: String| Entry::Unreadable { what: format!("records of {name} {what}"), record };
    for number in 1_u64.. {
        let bytes = match record::read(&mut file)? {
            Next::Record(bytes) => bytes,
            Next::Long(bytes) => {
                let megabytes = bytes as f64 / 1e6;
                take(unreadable("that are too long", format!("record {number} of {megabytes:.1} MB")))?;
                continue;
            }
            Next::End => return Ok(()),
            Next::Cut => return take(Entry::Ends(format!("{name} ends within its record {number}"))),
            Next::Damaged => {
                let what = format!("record {number} of {name} is damaged; what follows it was not read");
                return take(Entry::Ends(what));
            }
        };
        let Ok(event) = Event::decode(bytes.as_slice()) else {
            take(unreadable("that are no events", format!("record {number}")))?;
            continue;
        };
        let summary = match event.what {
            Some(What::Summary(summary)) => summary,
            Some(What::SessionLog(log)) if log.is_start() => {
                take(Entry::Restart { step: event.step })?;
                continue;
            }
            _ => continue,
        };
        for value in summary.value {
            let entry = match value.scalar().map_err(str::to_owned) {
                Ok(scalar) => {
                    let title = value.metadata.map(|metadata| metadata.display_name).filter(|title| !title.is_empty());
                    Entry::Scalar { tag: value.tag, title, step: event.step, time: event.wall_time, value: scalar }
                }
                // Other values of the plugin list the metrics that belong to the settings, or hold the state of a run that ended.
                Err(kind) if kind == HPARAMS => match value.hparams() {
                    Some(settings) => Entry::Settings(settings),
                    None => continue,
                },
                Err(kind) => Entry::Other { tag: value.tag, kind },
            };
            take(entry)?;
        }
    }
    Ok(())
}
