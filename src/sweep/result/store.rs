//! The records of a sweep in its folder: the finished pixels, and the unfinished pixels of adaptive sampling, its
//! races.
//!
//! A folder is unfinished while its records do not cover the grid. `pixels.bin` begins with [`MAGIC`] and the header of
//! the sweep, and grows by a record for each pixel, so that an interruption costs only a few seconds of work.
//! `races.bin` begins with the same header, and is written anew as a whole. Each header and each record is a value in
//! postcard's format with its CRC-32 (little-endian), in a COBS frame (Cheshire and Baker 1999), which holds no zero
//! byte and ends with one: a record that is damaged or cut off costs no other.

use std::fs::{File, TryLockError};
use std::io;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use valleyscope_engine::sweep::{Cell, Diagram, Finished, Precision, Race, SweepPart, SweepSpec};
use valleyscope_experiments::preset::{FormatVersion, SweepPreset};
use valleyscope_runs::atomic_file::{AtomicFile, Overwrite};
use valleyscope_runs::plain_file;
use valleyscope_runs::plain_file::{Links, ignore_missing};

/// The reason why the records in a folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("cannot use {}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("another process is at work on {}; wait until it has ended, or choose another folder", .0.display())]
    Busy(PathBuf),
    #[error("expected the records of a sweep in {}, found another file; remove it, or choose another folder", .0.display())]
    Foreign(PathBuf),
    #[error(
        "{} is of Valleyscope {found}, which alone can go on with it, and this is version {}; go on with that version, or \
         remove the file", path.display(), env!("CARGO_PKG_VERSION")
    )]
    Version { path: PathBuf, found: String },
    #[error("the beginning of {} is damaged; remove it to begin the sweep again", .0.display())]
    Damaged(PathBuf),
    #[error(
        "{} is of another sweep: its `{field}` is {found}, and {expected} is asked for; ask for the same as when it was \
         begun, choose another folder, or remove that file to begin again", path.display()
    )]
    Different { path: PathBuf, field: String, found: String, expected: String },
}

/// The sweep whose results a folder has, and how they are computed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SweepHeader {
    #[serde(serialize_with = "preset_to_texts", deserialize_with = "preset_of_texts")]
    pub preset: Arc<SweepPreset>,
    pub precision: Precision,
    /// Whether the records contain all runs of their pixels.
    pub keeps_runs: bool,
    /// The part of the pixels that belong in the folder; without it, all.
    pub part: Option<SweepPart>,
}

/// Serializes a preset as its title, its description and its sweep as RON, which all formats can hold.
fn preset_to_texts<S: Serializer>(preset: &Arc<SweepPreset>, serializer: S) -> Result<S::Ok, S::Error> {
    let sweep = ron::to_string(&preset.sweep).map_err(serde::ser::Error::custom)?;
    (&preset.title, &preset.description, sweep).serialize(serializer)
}

fn preset_of_texts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<SweepPreset>, D::Error> {
    let (title, description, sweep): (String, String, String) = Deserialize::deserialize(deserializer)?;
    let sweep: SweepSpec = ron::from_str(&sweep).map_err(D::Error::custom)?;
    sweep.check().map_err(D::Error::custom)?;
    Ok(Arc::new(SweepPreset { version: FormatVersion, title, description, sweep }))
}

impl SweepHeader {
    /// Finds the first field in which two headers differ, its value here, and its value in `other`. Titles count in
    /// parts only.
    pub fn difference(&self, other: &SweepHeader) -> Option<[String; 3]> {
        let [own, others] = [self, other].map(SweepHeader::fields);
        let value = |fields: &[(String, String)], name: &str| {
            let known = fields.iter().find(|(field, _)| field == name);
            known.map_or("the default", |(_, value)| value).to_owned()
        };
        own.iter().chain(&others).find_map(|(name, _)| {
            let (own, other) = (value(&own, name), value(&others, name));
            (own != other).then(|| [name.clone(), own, other])
        })
    }

    fn fields(&self) -> Vec<(String, String)> {
        let SweepPreset { title, description, sweep, .. } = &*self.preset;
        let mut fields = vec![("precision", self.precision.name().to_owned()), ("raw", self.keeps_runs.to_string())];
        // One field per line.
        let lines = ron::ser::to_string_pretty(sweep, ron::ser::PrettyConfig::new().depth_limit(1));
        let lines = lines.expect("a sweep holds no value that RON cannot express");
        let of_sweep = lines.lines().filter_map(|line| line.trim_start().strip_suffix(',')?.split_once(": "));
        fields.extend(of_sweep.map(|(name, value)| (name, value.to_owned())));
        if let Some(part) = self.part {
            let label = [("part", part.to_string()), ("title", title.clone()), ("description", description.clone())];
            fields.extend(label);
        }
        fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        append(&(env!("CARGO_PKG_VERSION"), self), &mut bytes);
        bytes
    }

    /// Reads the beginning of a file of records; also returns its length. `None` if the file ends before, as while it
    /// is begun, or if the disk was full.
    fn read(file: &File, path: &Path) -> Result<Option<(SweepHeader, u64)>, StoreError> {
        let failed = |source| StoreError::File { path: path.to_owned(), source };
        let damaged = || StoreError::Damaged(path.to_owned());
        let mut input = BufReader::new(file);
        let (mut magic, mut frame) = (Vec::new(), Vec::new());
        input.by_ref().take(MAGIC.len() as u64).read_to_end(&mut magic).map_err(failed)?;
        if !MAGIC.starts_with(&magic) {
            return Err(StoreError::Foreign(path.to_owned()));
        }
        let Some(length) = read_frame(&mut input, LONGEST_HEADER, &mut frame).map_err(failed)? else {
            return Ok(None);
        };
        let content = content(&frame).ok_or_else(damaged)?;
        let (found, rest) = postcard::take_from_bytes::<String>(&content).map_err(|_| damaged())?;
        if found != env!("CARGO_PKG_VERSION") {
            return Err(StoreError::Version { path: path.to_owned(), found });
        }
        let header: SweepHeader = postcard::from_bytes(rest).map_err(|_| damaged())?;
        let pixels: usize = header.preset.sweep.shape().iter().product();
        if header.part.is_some_and(|part| part.count() as usize > pixels) {
            return Err(damaged());
        }
        Ok(Some((header, MAGIC.len() as u64 + length)))
    }
}

const MAGIC: &[u8; 8] = b"\x89vssweep";
const LONGEST_HEADER: u64 = 1 << 20;

/// Appends a record with its checksum, in a frame.
fn append(record: &impl Serialize, bytes: &mut Vec<u8>) {
    let mut content = postcard::to_allocvec(record).expect("memory takes any record");
    let check = crc32fast::hash(&content);
    content.extend(check.to_le_bytes());
    bytes.extend(cobs::encode_vec(&content));
    bytes.push(0);
}

/// Reads the next frame without the zero that ends it; returns its length with the zero. Of a frame of `most` bytes or
/// more, which is damaged, the rest is skipped. At the end, returns `None`, and `frame` is the incomplete rest.
fn read_frame(input: &mut impl BufRead, most: u64, frame: &mut Vec<u8>) -> io::Result<Option<u64>> {
    frame.clear();
    let length = input.take(most).read_until(0, frame)? as u64;
    match frame.pop_if(|last| *last == 0) {
        Some(_) => Ok(Some(length)),
        None if length < most => Ok(None),
        None => Ok(Some(length + input.skip_until(0)? as u64)),
    }
}

/// Decodes the content of a frame, if its checksum is right.
fn content(frame: &[u8]) -> Option<Vec<u8>> {
    let mut content = cobs::decode_vec(frame).ok()?;
    let check = content.split_off(content.len().checked_sub(size_of::<u32>())?);
    (crc32fast::hash(&content).to_le_bytes() == check.as_slice()).then_some(content)
}

fn record<T: DeserializeOwned>(frame: &[u8]) -> Option<T> {
    postcard::from_bytes(&content(frame)?).ok()
}

/// Computes an upper limit of the bytes of a record's frame.
fn most_bytes(spec: &SweepSpec, keeps_runs: bool) -> u64 {
    /// The most numbers of a candidate in a pixel or a race, and of an optimizer, each of at most 10 bytes.
    const NUMBERS: [usize; 2] = [40, 100];
    let runs = if keeps_runs { 3 * spec.replicates.get() } else { 0 };
    let candidates: usize = spec.candidate_counts().iter().sum();
    (2 * 10 * (candidates * (NUMBERS[0] + runs) + NUMBERS[1] * spec.optimizers.len())) as u64
}

/// Whether a record belongs to a sweep: its tables have the sizes that all readers of cells rely on.
fn is_of(finished: &Finished, header: &SweepHeader) -> bool {
    let spec = &header.preset.sweep;
    let ([rows, columns], counts, replicates) = (spec.shape(), spec.candidate_counts(), spec.replicates.get());
    let Finished { pixel: [row, column], cell, runs } = finished;
    let Cell { averages, deviations, diverged, comparisons, sampled, .. } = cell;
    let has_all = |table: &[Vec<[f64; 3]>]| table.iter().map(Vec::len).eq(counts.iter().copied());
    let is_of_each = |length: usize| length == counts.len();
    let is_known = |length: usize| length == 0 || is_of_each(length);
    let are_compared = comparisons.iter().all(|comparison| {
        is_of_each(comparison.gaps.len())
            && is_known(comparison.error_probabilities.len())
            && comparison.winner.is_none_or(|winner| winner < counts.len())
    });
    let is_sampled = match sampled {
        None => spec.sampling.is_uniform(),
        Some(sampled) => {
            !spec.sampling.is_uniform()
                && sampled.replicates.iter().map(Vec::len).eq(counts.iter().copied())
                && is_known(sampled.apart.len())
        }
    };
    let has_runs = runs.as_ref().map_or(!header.keeps_runs, |runs| {
        let lengths = counts.iter().map(|count| count * replicates);
        header.keeps_runs
            && runs.iter().map(|runs| runs.metrics.len()).eq(lengths)
            && runs.iter().all(|runs| runs.replicates == replicates)
    });
    *row < rows
        && *column < columns
        && has_all(averages)
        && has_all(deviations)
        && is_of_each(diverged.len())
        && are_compared
        && is_sampled
        && has_runs
        && cell.is_complete(replicates)
}

/// A file of finished pixels, open for reading, also while another process adds to it.
#[derive(Debug)]
pub struct SweepRecords {
    pub header: SweepHeader,
    /// Whether another process is computing the sweep.
    pub is_at_work: bool,
    file: File,
    path: PathBuf,
    /// The offset of the first record.
    start: u64,
}

pub struct ReadRecords {
    /// Records whose bytes have changed.
    pub damaged: u64,
    /// The offset of the end of the last whole record, and the number of bytes after it.
    pub end: u64,
    pub cut: u64,
}

impl SweepRecords {
    /// The usual name of the file.
    pub const FILE: &'static str = "pixels.bin";

    /// Opens the file in a folder; `None` if it or its header is missing, as while its process is starting. As long as
    /// this value lives, no process begins to add to it.
    pub fn open(folder: &Path) -> Result<Option<SweepRecords>, StoreError> {
        let path = folder.join(SweepRecords::FILE);
        let failed = |source| StoreError::File { path: path.clone(), source };
        let file = match plain_file::open(&path, Links::Refused) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened.map_err(failed)?,
        };
        let is_at_work = match file.try_lock_shared() {
            Ok(()) => false,
            Err(TryLockError::WouldBlock) => true,
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        };
        let header = SweepHeader::read(&file, &path)?;
        Ok(header.map(|(header, start)| SweepRecords { header, is_at_work, file, path, start }))
    }

    /// Allows other processes to begin to add records.
    pub fn release(&self) -> io::Result<()> {
        self.file.unlock()
    }

    /// Reads all intact records with their offsets. A record that is cut off at the end is skipped, as it may be about to
    /// be written.
    pub fn read(&self, mut take: impl FnMut(u64, Finished)) -> io::Result<ReadRecords> {
        let most = most_bytes(&self.header.preset.sweep, self.header.keeps_runs);
        let mut file = &self.file;
        file.seek(SeekFrom::Start(self.start))?;
        let mut input = BufReader::with_capacity(1 << 20, file);
        let (mut end, mut damaged, mut frame) = (self.start, 0, Vec::new());
        while let Some(length) = read_frame(&mut input, most, &mut frame)? {
            match record(&frame).filter(|finished| is_of(finished, &self.header)) {
                Some(finished) => take(end, finished),
                // A crash of the system may leave zeros, which are no damage.
                None => damaged += u64::from(!frame.is_empty()),
            }
            end += length;
        }
        let cut = self.file.metadata()?.len().saturating_sub(end);
        Ok(ReadRecords { damaged, end, cut })
    }
}

/// The records of a sweep in its folder, which is locked as long as this value lives.
#[derive(Debug)]
pub struct SweepStore {
    records: SweepRecords,
    /// Whether they were begun by this value.
    pub is_new: bool,
    /// The offset of each pixel's record, row by row.
    offsets: Vec<Option<u64>>,
    /// The offset of the next record.
    end: u64,
    /// The bytes of records that are not yet in the file.
    waiting: Vec<u8>,
}

impl SweepStore {
    /// The name of the file of races.
    pub const RACES: &'static str = "races.bin";

    /// Opens the records of the asked sweep in a folder, or begins them; without one, opens those of any sweep. Also
    /// returns the finished pixels.
    pub fn open(folder: &Path, asked: Option<&SweepHeader>) -> Result<(SweepStore, Diagram), StoreError> {
        let path = folder.join(SweepRecords::FILE);
        let failed = |source| StoreError::File { path: path.clone(), source };
        let mut file = open_locked(&path)?;
        let found = SweepHeader::read(&file, &path)?;
        let is_new = found.is_none();
        let (header, start) = match (found, asked) {
            (Some((found, start)), asked) => {
                if let Some([field, found, expected]) = asked.and_then(|asked| found.difference(asked)) {
                    return Err(StoreError::Different { path, field, found, expected });
                }
                (found, start)
            }
            // A sweep that was stopped while it wrote the header has no finished pixel.
            (None, Some(asked)) => {
                let bytes = asked.to_bytes();
                begin(&mut file, &bytes).map_err(failed)?;
                (asked.clone(), bytes.len() as u64)
            }
            (None, None) => return Err(StoreError::Damaged(path)),
        };
        let spec = Arc::new(header.preset.sweep.clone());
        let (mut diagram, mut offsets) = (Diagram::new(Arc::clone(&spec)), vec![None; spec.shape().iter().product()]);
        let records = SweepRecords { header, is_at_work: false, file, path: path.clone(), start };
        let taken = |offset, finished: Finished| {
            offsets[index(&spec, finished.pixel)] = Some(offset);
            diagram.insert(finished.pixel, finished.cell);
        };
        let ReadRecords { end, .. } = records.read(taken).map_err(failed)?;
        records.file.set_len(end).map_err(failed)?;
        Ok((SweepStore { records, is_new, offsets, end, waiting: Vec::new() }, diagram))
    }

    pub fn header(&self) -> &SweepHeader {
        &self.records.header
    }

    pub fn path(&self) -> &Path {
        &self.records.path
    }

    pub fn is_known(&self, pixel: [usize; 2]) -> bool {
        self.offset(pixel).is_some()
    }

    pub fn known(&self) -> usize {
        self.offsets.iter().flatten().count()
    }

    /// Counts the pixels in the file, with which a sweep resumes.
    pub fn saved(&self) -> usize {
        self.offsets.iter().flatten().filter(|offset| **offset < self.end).count()
    }

    pub fn is_complete(&self) -> bool {
        self.offsets.iter().all(Option::is_some)
    }

    /// Whether the path still leads to the file: neither it nor its folder was removed, moved or replaced.
    pub fn is_at_path(&self) -> bool {
        plain_file::is_at(&self.records.file, self.path()).unwrap_or(false)
    }

    fn offset(&self, pixel: [usize; 2]) -> Option<u64> {
        self.offsets[index(&self.header().preset.sweep, pixel)]
    }

    /// Reads the record of a pixel, if known. Added pixels must have been saved.
    pub fn read(&self, pixel: [usize; 2]) -> io::Result<Option<Finished>> {
        let Some(offset) = self.offset(pixel) else { return Ok(None) };
        let SweepRecords { header, file, .. } = &self.records;
        let (mut file, mut frame) = (file, Vec::new());
        file.seek(SeekFrom::Start(offset))?;
        read_frame(&mut BufReader::new(file), most_bytes(&header.preset.sweep, header.keeps_runs), &mut frame)?;
        let finished = record(&frame).filter(|finished| is_of(finished, header));
        let changed = || io::Error::new(io::ErrorKind::InvalidData, "a record has changed while the sweep was running");
        finished.ok_or_else(changed).map(Some)
    }

    /// Adds a pixel, which is safe after the next [`SweepStore::save`].
    pub fn add(&mut self, finished: &Finished) {
        let index = index(&self.header().preset.sweep, finished.pixel);
        self.offsets[index] = Some(self.end + self.waiting.len() as u64);
        append(finished, &mut self.waiting);
    }

    /// Writes the added pixels, and blocks until they have reached the disk.
    ///
    /// # Errors
    ///
    /// Fails also if the path no longer leads to the file, as data written to it would be lost. If the disk is full,
    /// the pixels that fitted count as saved.
    pub fn save(&mut self) -> io::Result<()> {
        if !self.is_at_path() {
            let message = "it was removed, moved or replaced while the sweep was at work";
            return Err(io::Error::new(io::ErrorKind::NotFound, message));
        }
        if self.waiting.is_empty() {
            return Ok(());
        }
        let mut file = &self.records.file;
        file.seek(SeekFrom::Start(self.end))?;
        let outcome = file.write_all(&self.waiting);
        let mut written = self.waiting.len();
        if outcome.is_err() {
            let there = file.metadata()?.len().saturating_sub(self.end);
            let partly = &self.waiting[..written.min(there as usize)];
            written = partly.iter().rposition(|byte| *byte == 0).map_or(0, |end| end + 1);
        }
        file.sync_data()?;
        self.end += written as u64;
        self.waiting.drain(..written);
        outcome
    }

    /// Writes the races of a diagram that are not over; removes their file if there are none.
    pub fn save_races(&self, diagram: &Diagram) -> io::Result<()> {
        let path = self.path().with_file_name(SweepStore::RACES);
        let races = || diagram.spec().pixels().filter_map(|pixel| Some((pixel, diagram.race(pixel)?)));
        if races().next().is_none() {
            return std::fs::remove_file(&path).or_else(ignore_missing);
        }
        let mut file = AtomicFile::for_target(&path)?;
        let mut bytes = self.header().to_bytes();
        for (pixel, race) in races() {
            append(&(pixel, &**race), &mut bytes);
            file.write_all(&bytes)?;
            bytes.clear();
        }
        file.commit(Overwrite::Yes)
    }

    /// Adds the races that are not over, if there are any, to a diagram.
    ///
    /// # Errors
    ///
    /// Fails with the reason why they cannot be used; then the diagram is unchanged.
    pub fn read_races(&self, diagram: &mut Diagram) -> Result<(), String> {
        let path = self.path().with_file_name(SweepStore::RACES);
        let cannot = |reason: &dyn std::fmt::Display| format!("cannot use {}: {reason}", path.display());
        let file = match plain_file::open(&path, Links::Refused) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            opened => opened.map_err(|error| cannot(&error))?,
        };
        let SweepHeader { preset, precision, .. } = self.header();
        let is_same = |found: &SweepHeader| {
            found.precision == *precision && found.preset.sweep.is_alike_but_for_colors(&preset.sweep)
        };
        let header = SweepHeader::read(&file, &path).map_err(|error| error.to_string())?;
        let (_, start) = header.filter(|(found, _)| is_same(found)).ok_or_else(|| cannot(&"it is of another sweep"))?;
        let races = races(&file, start, diagram.spec()).map_err(|error| cannot(&error))?;
        diagram.insert_races(races);
        Ok(())
    }

    /// Removes the files of records, when they are no longer needed.
    pub fn remove(self) -> io::Result<()> {
        std::fs::remove_file(self.path().with_file_name(SweepStore::RACES)).or_else(ignore_missing)?;
        std::fs::remove_file(self.path())
    }
}

fn index(spec: &SweepSpec, [row, column]: [usize; 2]) -> usize {
    row * spec.shape()[1] + column
}

/// Reads the races of a sweep from a file that was written as a whole.
fn races(mut file: &File, start: u64, spec: &SweepSpec) -> io::Result<Vec<([usize; 2], Race)>> {
    file.seek(SeekFrom::Start(start))?;
    let mut input = BufReader::with_capacity(1 << 20, file);
    let (mut races, mut frame, [rows, columns]) = (Vec::new(), Vec::new(), spec.shape());
    let damaged = || io::Error::new(io::ErrorKind::InvalidData, "it is damaged");
    while read_frame(&mut input, most_bytes(spec, false), &mut frame)?.is_some() {
        let is_of = |([row, column], race): &([usize; 2], Race)| *row < rows && *column < columns && race.is_of(spec);
        races.push(record(&frame).filter(is_of).ok_or_else(damaged)?);
    }
    if frame.is_empty() { Ok(races) } else { Err(damaged()) }
}

/// Opens a file of records, or creates it, and locks it. A file that its owner removed during the wait for the lock is
/// not used, as data written to it would be lost.
fn open_locked(path: &Path) -> Result<File, StoreError> {
    const ATTEMPTS: usize = 100;
    let failed = |source| StoreError::File { path: path.to_owned(), source };
    for _ in 0..ATTEMPTS {
        let file = plain_file::open_to_write(path).map_err(failed)?;
        plain_file::lock(&file).map_err(|error| match error {
            TryLockError::WouldBlock => StoreError::Busy(path.to_owned()),
            TryLockError::Error(source) => failed(source),
        })?;
        if plain_file::is_at(&file, path).map_err(failed)? {
            return Ok(file);
        }
    }
    Err(StoreError::Busy(path.to_owned()))
}

/// Writes the beginning of a file, and blocks until it has reached the disk.
fn begin(file: &mut File, beginning: &[u8]) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    file.write_all(beginning)?;
    file.sync_all()
}
