//! A file of the finished pixels of a sweep, so that an interruption costs only a few seconds of work.
//!
//! The file only grows. Numbers are little-endian:
//!
//! | part | bytes |
//! | --- | --- |
//! | magic | 8 |
//! | format version | 4 |
//! | length of the text | 4 |
//! | text: a line for each value that must be equal to resume | |
//! | CRC-32 of all before | 4 |
//! | records of equal length: row, column, the cell's numbers, the runs if they are kept, CRC-32 of the record | |
//!
//! A damaged record counts as missing, and so does a truncated last one.

use std::fs::{File, TryLockError};
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

mod part_file;
mod races;
mod record;
mod report;

use valleyscope_engine::sweep::{Finished, PartLabel, Precision, SweepSpec};

pub use part_file::PartFile;
pub use races::{RACES, read_races, write_races};
pub use report::CheckpointReport;

use valleyscope_runs::plain_file::{self, Links};

use self::record::RecordLayout;

/// The reason why a sweep cannot resume from a checkpoint.
#[derive(Debug, thiserror::Error)]
pub enum SweepCheckpointError {
    #[error("cannot use {}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("another process is at work on {}; wait until it has ended, or choose another folder", .0.display())]
    Busy(PathBuf),
    #[error("{} is no checkpoint of a sweep; remove it, or choose another folder", .0.display())]
    Foreign(PathBuf),
    #[error(
        "{} has the format version {found}, and this program reads version {}; go on with the version of Valleyscope \
         that began it, or remove it", path.display(), SweepCheckpoint::VERSION
    )]
    Version { path: PathBuf, found: u32 },
    #[error("the beginning of {} is damaged; remove it to begin the sweep again", .0.display())]
    Damaged(PathBuf),
    #[error(
        "{} is of another sweep: its `{field}` is {found}, and {expected} is asked for; ask for the same as when it was \
         begun, choose another folder, or remove that file to begin again", path.display()
    )]
    Different { path: PathBuf, field: String, found: String, expected: String },
}

/// The finished pixels of a sweep in a file, which is locked as long as this lives.
#[derive(Debug)]
pub struct SweepCheckpoint {
    file: File,
    path: PathBuf,
    is_new: bool,
    layout: RecordLayout,
    /// The offset of each pixel's record, row by row.
    places: Vec<Option<u64>>,
    /// The offset of the next record.
    end: u64,
    /// The bytes of records that are not in the file yet.
    waiting: Vec<u8>,
}

const MAGIC: [u8; 8] = *b"\x89vssweep";

impl SweepCheckpoint {
    /// The usual name of the file, beside the results.
    pub const FILE: &str = "checkpoint.bin";
    pub const VERSION: u32 = 1;

    /// Opens the file of a sweep, or creates it. With `keep_runs` it also contains the runs of all pixels.
    pub fn open(
        path: &Path,
        spec: &SweepSpec,
        precision: Precision,
        keep_runs: bool,
    ) -> Result<SweepCheckpoint, SweepCheckpointError> {
        SweepCheckpoint::open_as(path, spec, keep_runs, &Identity::of(spec, precision, keep_runs))
    }

    /// Opens the file of the sweep that the file itself names; also returns this sweep and its precision. Only the
    /// version of the program that began it can.
    pub fn open_own(path: &Path) -> Result<(SweepCheckpoint, SweepSpec, Precision), SweepCheckpointError> {
        let failed = |source| SweepCheckpointError::File { path: path.to_owned(), source };
        let mut beginning = Vec::new();
        let file = plain_file::open(path, Links::Refused).map_err(failed)?;
        file.take(LONGEST_HEADER).read_to_end(&mut beginning).map_err(failed)?;
        let text = header_text(&beginning).map_err(|flaw| flaw.at(path))?;
        let damaged = || SweepCheckpointError::Damaged(path.to_owned());
        let (spec, _, keep_runs) = report::sweep_in(text).ok_or_else(damaged)?;
        let precision = precision_in(text).ok_or_else(damaged)?;
        Ok((SweepCheckpoint::open(path, &spec, precision, keep_runs)?, spec, precision))
    }

    /// Opens the file of a part of a sweep, or creates it.
    pub fn open_part(
        path: &Path,
        label: &PartLabel,
        spec: &SweepSpec,
        precision: Precision,
        keep_runs: bool,
    ) -> Result<SweepCheckpoint, SweepCheckpointError> {
        SweepCheckpoint::open_as(path, spec, keep_runs, &Identity::of_part(label, spec, precision, keep_runs))
    }

    fn open_as(
        path: &Path,
        spec: &SweepSpec,
        keep_runs: bool,
        identity: &Identity,
    ) -> Result<SweepCheckpoint, SweepCheckpointError> {
        let failed = |source| SweepCheckpointError::File { path: path.to_owned(), source };
        let mut file = open_locked(path)?;
        let expected = header(&identity.text());
        let mut found = vec![0; expected.len()];
        let length = read_most(&mut file, &mut found).map_err(failed)?;
        found.truncate(length);
        let is_new = found != expected;
        if is_new {
            // A sweep that was stopped while it wrote the header has no finished pixel.
            if !expected.starts_with(&found) {
                file.rewind().map_err(failed)?;
                return Err(refusal(path, &file, identity).unwrap_or_else(failed));
            }
            begin(&mut file, &expected).map_err(failed)?;
        }
        let [rows, columns] = spec.shape();
        let mut checkpoint = SweepCheckpoint {
            file,
            path: path.to_owned(),
            is_new,
            layout: RecordLayout::of(spec, keep_runs),
            places: vec![None; rows * columns],
            end: expected.len() as u64,
            waiting: Vec::new(),
        };
        checkpoint.find_records().map_err(failed)?;
        Ok(checkpoint)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns whether opening created the file.
    pub fn is_new(&self) -> bool {
        self.is_new
    }

    /// Returns whether a pixel is known.
    pub fn is_known(&self, pixel: [usize; 2]) -> bool {
        self.places[self.layout.index(pixel)].is_some()
    }

    /// Returns the number of known pixels.
    pub fn known(&self) -> usize {
        self.places.iter().flatten().count()
    }

    /// Returns the number of pixels in the file, with which a sweep resumes.
    pub fn saved(&self) -> usize {
        self.places.iter().flatten().filter(|place| **place < self.end).count()
    }

    /// Returns whether all pixels are known.
    pub fn is_complete(&self) -> bool {
        self.places.iter().all(Option::is_some)
    }

    /// Returns whether the path still leads to the file: neither it nor its folder was removed, moved or replaced.
    pub fn is_in_place(&self) -> bool {
        plain_file::is_at(&self.file, &self.path).unwrap_or(false)
    }

    /// Returns the result of a pixel, if known, with the runs where they are kept. Added pixels must have been saved.
    pub fn read(&mut self, pixel: [usize; 2]) -> io::Result<Option<Finished>> {
        let Some(place) = self.places[self.layout.index(pixel)] else { return Ok(None) };
        let mut record = vec![0; self.layout.length()];
        self.file.seek(SeekFrom::Start(place))?;
        self.file.read_exact(&mut record)?;
        match self.layout.decode(&record) {
            Some(finished) => Ok(Some(finished)),
            None => Err(io::Error::new(io::ErrorKind::InvalidData, "a record has changed while the sweep was running")),
        }
    }

    /// Adds a pixel, which is safe after the next [`SweepCheckpoint::save`].
    pub fn add(&mut self, finished: &Finished) {
        let index = self.layout.index(finished.pixel);
        self.places[index] = Some(self.end + self.waiting.len() as u64);
        self.layout.encode(finished, &mut self.waiting);
    }

    /// Writes the added pixels, and returns when they have reached the disk.
    ///
    /// # Errors
    ///
    /// Returns an error also if the path no longer leads to the file, as data written to it would be lost. Where the
    /// disk is full, the pixels that fitted count as saved.
    pub fn save(&mut self) -> io::Result<()> {
        if !self.is_in_place() {
            let message = "it was removed, moved or replaced while the sweep was at work";
            return Err(io::Error::new(io::ErrorKind::NotFound, message));
        }
        if self.waiting.is_empty() {
            return Ok(());
        }
        self.file.seek(SeekFrom::Start(self.end))?;
        let outcome = self.file.write_all(&self.waiting);
        let written = match outcome {
            Ok(()) => self.waiting.len(),
            Err(_) => self.whole_records_written()?,
        };
        self.file.sync_data()?;
        self.end += written as u64;
        self.waiting.drain(..written);
        outcome
    }

    /// Returns the number of bytes of waiting records that a failed write has written completely.
    fn whole_records_written(&self) -> io::Result<usize> {
        let there = self.file.metadata()?.len().saturating_sub(self.end);
        let length = self.layout.length();
        Ok((there as usize).min(self.waiting.len()) / length * length)
    }

    /// Removes the file, when it is no longer needed.
    pub fn remove(self) -> io::Result<()> {
        std::fs::remove_file(&self.path)
    }

    /// Finds all intact records, and truncates the file after the last.
    fn find_records(&mut self) -> io::Result<()> {
        let length = self.layout.length();
        let records = (self.file.metadata()?.len() - self.end) / length as u64;
        self.file.seek(SeekFrom::Start(self.end))?;
        let mut reader = BufReader::with_capacity(1 << 20, &self.file);
        let mut record = vec![0; length];
        for _ in 0..records {
            reader.read_exact(&mut record)?;
            if let Some(finished) = self.layout.decode(&record) {
                self.places[self.layout.index(finished.pixel)] = Some(self.end);
            }
            self.end += length as u64;
        }
        self.file.set_len(self.end)
    }
}

/// Opens a checkpoint, or creates it, and locks it. A file that its owner removed during the wait for the lock is not
/// used, as data written to it would be lost.
fn open_locked(path: &Path) -> Result<File, SweepCheckpointError> {
    const ATTEMPTS: usize = 100;
    let failed = |source| SweepCheckpointError::File { path: path.to_owned(), source };
    for _ in 0..ATTEMPTS {
        let file = plain_file::open_to_write(path).map_err(failed)?;
        plain_file::lock(&file).map_err(|error| match error {
            TryLockError::WouldBlock => SweepCheckpointError::Busy(path.to_owned()),
            TryLockError::Error(source) => failed(source),
        })?;
        if plain_file::is_at(&file, path).map_err(failed)? {
            return Ok(file);
        }
    }
    Err(SweepCheckpointError::Busy(path.to_owned()))
}

/// Reads until `buffer` is full or the file ends.
fn read_most(file: &mut File, buffer: &mut [u8]) -> io::Result<usize> {
    let mut bytes = Vec::with_capacity(buffer.len());
    let length = file.take(buffer.len() as u64).read_to_end(&mut bytes)?;
    buffer[..length].copy_from_slice(&bytes);
    Ok(length)
}

/// Writes the header, and returns when it has reached the disk.
fn begin(file: &mut File, header: &[u8]) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    file.write_all(header)?;
    file.sync_all()
}

pub(super) fn header(text: &str) -> Vec<u8> {
    let mut header = MAGIC.to_vec();
    header.extend(SweepCheckpoint::VERSION.to_le_bytes());
    header.extend((text.len() as u32).to_le_bytes());
    header.extend(text.as_bytes());
    header.extend(crc32fast::hash(&header).to_le_bytes());
    header
}

/// An upper limit of the bytes of any sweep's header.
pub(super) const LONGEST_HEADER: u64 = 1 << 20;

/// A fault of a header.
pub(super) enum Flaw {
    Foreign,
    Version(u32),
    Damaged,
}

impl Flaw {
    pub(super) fn at(self, path: &Path) -> SweepCheckpointError {
        let path = path.to_owned();
        match self {
            Flaw::Foreign => SweepCheckpointError::Foreign(path),
            Flaw::Version(found) => SweepCheckpointError::Version { path, found },
            Flaw::Damaged => SweepCheckpointError::Damaged(path),
        }
    }
}

/// Returns whether a file ends within its header, for example because the disk was full when it was begun.
pub(super) fn is_cut(beginning: &[u8]) -> bool {
    let Some(rest) = beginning.strip_prefix(&MAGIC) else { return MAGIC.starts_with(beginning) };
    let length = rest.get(4..8).and_then(|length| length.try_into().ok()).map(u32::from_le_bytes);
    length.is_none_or(|length| {
        let whole = header("").len() as u64 + u64::from(length);
        whole <= LONGEST_HEADER && (beginning.len() as u64) < whole
    })
}

/// Returns the precision in a header's text.
fn precision_in(text: &str) -> Option<Precision> {
    let is_named = |precision: &Precision| text.lines().any(|line| line == format!("precision {}", precision.name()));
    Precision::ALL.into_iter().find(is_named)
}

/// Returns the text in the header at the beginning of a file.
pub(super) fn header_text(beginning: &[u8]) -> Result<&str, Flaw> {
    let after_magic = beginning.strip_prefix(&MAGIC).and_then(|rest| rest.split_first_chunk::<4>());
    let (version, rest) = after_magic.ok_or(Flaw::Foreign)?;
    let version = u32::from_le_bytes(*version);
    if version != SweepCheckpoint::VERSION {
        return Err(Flaw::Version(version));
    }
    let text = rest.split_first_chunk::<4>().and_then(|(length, rest)| {
        let text = rest.get(..u32::from_le_bytes(*length) as usize)?;
        let text = std::str::from_utf8(text).ok()?;
        beginning.starts_with(&header(text)).then_some(text)
    });
    text.ok_or(Flaw::Damaged)
}

/// Returns the error for a file whose header is not the expected one.
fn refusal(path: &Path, file: &File, asked: &Identity) -> Result<SweepCheckpointError, io::Error> {
    let mut found = Vec::new();
    file.take(LONGEST_HEADER).read_to_end(&mut found)?;
    Ok(match header_text(&found).map(|text| asked.difference(text)) {
        Ok(Some([field, found, expected])) => {
            SweepCheckpointError::Different { path: path.to_owned(), field, found, expected }
        }
        Ok(None) => Flaw::Damaged.at(path),
        Err(flaw) => flaw.at(path),
    })
}

/// The names in the text that are not fields of the sweep.
pub(super) const NOT_OF_SPEC: [&str; 6] = ["program", "precision", "raw", "part", "title", "description"];

/// The values that must be equal for a sweep to resume, with their names.
pub(super) struct Identity(Vec<(&'static str, String)>);

/// Returns a value in a line of the text.
fn text(value: &impl serde::Serialize) -> String {
    ron::to_string(value).expect("a sweep holds no value that RON cannot express")
}

/// Returns the value of a name that has no line in the text: of a setting that came after the first checkpoints, the one that
/// it had in them.
fn usual(name: &str) -> Option<&'static str> {
    (name == "sampling").then_some("Uniform")
}

impl Identity {
    pub(super) fn of_part(label: &PartLabel, spec: &SweepSpec, precision: Precision, keep_runs: bool) -> Identity {
        let PartLabel { part, title, description } = label;
        let Identity(mut values) = Identity::of(spec, precision, keep_runs);
        values.extend([("part", part.to_string()), ("title", text(title)), ("description", text(description))]);
        Identity(values)
    }

    fn of(spec: &SweepSpec, precision: Precision, keep_runs: bool) -> Identity {
        let SweepSpec {
            landscape,
            dimension,
            noise,
            seed,
            steps,
            replicates,
            start,
            start_spread,
            common_random_numbers,
            metric,
            average,
            sampling,
            rows,
            columns,
            optimizers,
        } = spec;
        Identity(vec![
            ("program", env!("CARGO_PKG_VERSION").to_owned()),
            ("precision", precision.name().to_owned()),
            ("raw", text(&keep_runs)),
            ("landscape", text(landscape)),
            ("dimension", text(dimension)),
            ("noise", text(noise)),
            ("seed", text(seed)),
            ("steps", text(steps)),
            ("replicates", text(replicates)),
            ("start", text(start)),
            ("start_spread", text(start_spread)),
            ("common_random_numbers", text(common_random_numbers)),
            ("metric", text(metric)),
            ("average", text(average)),
            ("rows", text(rows)),
            ("columns", text(columns)),
            ("optimizers", text(optimizers)),
            ("sampling", text(sampling)),
        ])
    }

    fn text(&self) -> String {
        let has_line = |(name, value): &&(&str, String)| usual(name) != Some(value.as_str());
        self.0.iter().filter(has_line).map(|(name, value)| format!("{name} {value}\n")).collect()
    }

    /// Returns the first name whose value differs in `text`, its value there, and its value here.
    pub(super) fn difference(&self, text: &str) -> Option<[String; 3]> {
        self.0.iter().find_map(|(name, value)| {
            let found = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
            let found = found.or(usual(name)).unwrap_or("unknown");
            (found != value).then(|| [(*name).to_owned(), found.to_owned(), value.clone()])
        })
    }
}
