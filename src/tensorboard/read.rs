//! Reading the scalars of other programs' runs.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

use prost::Message;
use valleyscope_runs::plain_file::{self, Links};

use super::message::{Event, What};
use super::record::{self, Next};

/// The most tags of a run, and the most points of all tags.
pub const MOST_TAGS: usize = 256;
pub const MOST_POINTS: usize = 20_000_000;
/// The most bytes of a tag, and of the title of one.
const LONGEST_TAG: usize = 4096;

/// The scalars of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scalars {
    /// The points of each tag by their steps: the time in seconds since 1970, and the value.
    pub tags: BTreeMap<String, BTreeMap<u64, (f64, f64)>>,
    /// The titles of tags that have one.
    pub titles: BTreeMap<String, String>,
    /// The records that could not be read. The points of all others are in `tags`.
    pub damage: Damage,
}

/// Descriptions of what could not be read: the first ones, and the number of all.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Damage {
    first: Vec<String>,
    count: u64,
}

impl Damage {
    /// The most descriptions that are kept.
    const MOST_NAMED: usize = 10;

    pub fn push(&mut self, description: String) {
        self.count += 1;
        if self.first.len() < Self::MOST_NAMED {
            self.first.push(description);
        }
    }

    /// Returns the descriptions, the last of which is the number of those that are not named.
    pub fn lines(&self) -> impl Iterator<Item = String> {
        let more = self.count - self.first.len() as u64;
        let rest = (more > 0).then(|| format!("{more} more could not be read"));
        self.first.iter().cloned().chain(rest)
    }
}

/// Why a folder of event files cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error("cannot read {}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("{} holds more than {most} {what}; that is too much for a run", path.display())]
    TooMuch { path: PathBuf, most: usize, what: &'static str },
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

/// Reads the scalars of all event files in a folder. Where two files hold the same step of a tag, the later file's counts:
/// it is of a resumed run. A start of the writing program makes the earlier points from its step on void, as in
/// TensorBoard.
pub fn read_folder(folder: &Path) -> Result<Scalars, ReadError> {
    let mut scalars = Scalars::default();
    let files = event_files(folder).map_err(|source| ReadError::File { path: folder.to_owned(), source })?;
    let mut points = 0;
    for path in files {
        read_file(&path, &mut scalars, &mut points)?;
    }
    Ok(scalars)
}

fn read_file(path: &Path, scalars: &mut Scalars, points: &mut usize) -> Result<(), ReadError> {
    let failed = |source| ReadError::File { path: path.to_owned(), source };
    let too_much = |most, what| ReadError::TooMuch { path: path.to_owned(), most, what };
    let mut file = BufReader::new(plain_file::open(path, Links::Refused).map_err(failed)?);
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    for number in 1_u64.. {
        let bytes = match record::read(&mut file).map_err(failed)? {
            Next::Record(bytes) => bytes,
            Next::Long(bytes) => {
                let megabytes = bytes as f64 / 1e6;
                scalars.damage.push(format!("record {number} of {name} has {megabytes:.1} MB and was not read"));
                continue;
            }
            Next::End => break,
            Next::Cut => {
                scalars.damage.push(format!("{name} ends within its record {number}"));
                break;
            }
            Next::Damaged => {
                scalars.damage.push(format!("record {number} of {name} is damaged; what follows it was not read"));
                break;
            }
        };
        let Ok(event) = Event::decode(bytes.as_slice()) else {
            scalars.damage.push(format!("record {number} of {name} is no event"));
            continue;
        };
        let Ok(step) = u64::try_from(event.step) else { continue };
        let summary = match event.what {
            Some(What::Summary(summary)) => summary,
            Some(What::SessionLog(log)) if log.is_start() => {
                scalars.tags.values_mut().for_each(|points| drop(points.split_off(&step)));
                continue;
            }
            _ => continue,
        };
        for value in summary.value {
            let Some(scalar) = value.scalar() else { continue };
            if value.tag.len() > LONGEST_TAG {
                let bytes = value.tag.len();
                scalars.damage.push(format!("a tag in record {number} of {name} has {bytes} bytes and was left out"));
                continue;
            }
            if !scalars.tags.contains_key(&value.tag) && scalars.tags.len() == MOST_TAGS {
                return Err(too_much(MOST_TAGS, "tags"));
            }
            *points += 1;
            if *points > MOST_POINTS {
                return Err(too_much(MOST_POINTS, "points"));
            }
            let title = value.metadata.map(|metadata| metadata.display_name);
            if let Some(title) = title.filter(|title| (1..=LONGEST_TAG).contains(&title.len())) {
                scalars.titles.insert(value.tag.clone(), title);
            }
            scalars.tags.entry(value.tag).or_default().insert(step, (event.wall_time, scalar));
        }
    }
    Ok(())
}
