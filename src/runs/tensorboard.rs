//! TensorBoard's event files: scalars of runs, written for TensorBoard and read from other programs' runs.
//!
//! An event file is a sequence of records in TFRecord framing (module `record`), each a protobuf message `Event`
//! (module `message`; `tensorboard/compat/proto/event.proto` is its source). A folder with event files is a run.

use std::collections::BTreeMap;
use std::fs::{File, TryLockError};
use std::io::{BufReader, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::{fs, io};

use prost::{Message, Oneof};
use serde_json::{Map, Number as JsonNumber, Value as Json};
use valleyscope_runs::plain_file::Links;
use valleyscope_runs::{MetricInfo, RunFolder, RunHistory, RunReader, Timestamp, plain_file};

/// Something that an event file holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Entry {
    /// A number, with its time in seconds since 1970.
    Scalar {
        tag: String,
        title: Option<String>,
        step: i64,
        time: f64,
        value: f64,
    },
    /// A value of another kind, such as `histograms`.
    Other {
        tag: String,
        kind: String,
    },
    Settings(Map<String, Json>),
    /// A start of the writing program, which makes the earlier points from a step on void.
    Restart {
        step: i64,
    },
    /// Records that cannot be read, in the plural, and which of them.
    Unreadable {
        what: String,
        record: String,
    },
    /// The end of the readable part, within or before a record.
    Ends(String),
}

/// Lists the event files of a folder in the order of their names, which begin with the time of their creation.
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

pub fn is_event_file(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().contains("tfevents"))
}

pub fn read_entries<E: From<io::Error>>(path: &Path, mut take: impl FnMut(Entry) -> Result<(), E>) -> Result<(), E> {
    let mut file = BufReader::new(plain_file::open(path, Links::Refused)?);
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    let unreadable =
        |what: &str, record: String| Entry::Unreadable { what: format!("records of {name} {what}"), record };
    for number in 1_u64.. {
        let bytes = match read(&mut file)? {
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
                // Other values of the plugin list the metrics that belong to the settings, or hold the state of a run
                // that ended.
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

/// Writes all points of a run as the scalars of an event file, and returns their number.
///
/// A tag is a metric's name in the events. A number is a float32, as TensorBoard's writers store it, so the seventh
/// digit is lost. The points of a metric follow each other, and equal runs are equal bytes.
pub fn write_history(history: &RunHistory, mut out: impl Write) -> io::Result<u64> {
    out.write_all(&first_record(history.began().unwrap_or(Timestamp::UNIX_EPOCH)))?;
    let mut written = 0;
    for info in history.metrics() {
        let Some(metric) = info.metric() else { continue };
        let curve = history.curve(metric);
        let points = curve.step.iter().zip(curve.time_s).zip(curve.value);
        for (index, ((&step, &time), &number)) in points.enumerate() {
            out.write_all(&scalar_record(&info, (step, time), number, index == 0))?;
            written += 1;
        }
    }
    out.flush()?;
    Ok(written)
}

fn first_record(began: Timestamp) -> Vec<u8> {
    let version = What::FileVersion("brain.Event:2".to_owned());
    framed(&Event { wall_time: began.as_duration().as_secs_f64(), step: 0, what: Some(version) })
}

/// Encodes a record of a number at a step, with its time in seconds since 1970. TensorBoard takes the description of a
/// tag from its first point.
fn scalar_record(info: &MetricInfo, (step, time): (u64, f64), number: f64, is_described: bool) -> Vec<u8> {
    let plugin = Some(Plugin { name: "scalars".to_owned(), content: Vec::new() });
    let metadata = is_described.then(|| Metadata { plugin, display_name: info.title.clone() });
    let value = Value { tag: info.name.clone(), metadata, number: Some(Number::Simple(number as f32)) };
    let step = i64::try_from(step).unwrap_or(i64::MAX);
    framed(&Event { wall_time: time, step, what: Some(What::Summary(Summary { value: vec![value] })) })
}

/// Encodes a record that makes all earlier points void.
fn restart_record(time: f64) -> Vec<u8> {
    framed(&Event { wall_time: time, step: 0, what: Some(What::SessionLog(SessionLog::START)) })
}

fn framed(event: &Event) -> Vec<u8> {
    let mut bytes = Vec::new();
    write(&mut bytes, &event.encode_to_vec()).expect("a vector takes any bytes");
    bytes
}

// An event file that follows a run.
//
// New points are appended as they are read. If a resumed run takes steps again, or another command continues the file,
// all points are written again after an event of TensorBoard's that marks a restart: TensorBoard drops the points
// before it, so none is shown twice.

/// Chooses the path of the event file of a run that began at a time, in a folder of the run's name in `folder`.
pub fn event_file(folder: &Path, run: &RunFolder, began: Timestamp) -> PathBuf {
    folder.join(run.name()).join(format!("events.out.tfevents.{}.valleyscope", began.as_second()))
}

/// Follows a run, and writes its points into an event file.
pub struct LiveEvents {
    reader: RunReader,
    folder: PathBuf,
    /// The file, once the run has begun.
    file: Option<LiveFile>,
}

/// Why the event file of a run cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {} for TensorBoard: {source}", path.display())]
pub struct LiveError {
    path: PathBuf,
    source: io::Error,
}

impl LiveEvents {
    /// Follows a run, into a folder of its name in `folder`.
    pub fn new(run: RunFolder, folder: &Path) -> LiveEvents {
        LiveEvents { reader: RunReader::new(run), folder: folder.to_owned(), file: None }
    }

    pub fn poll(&mut self) -> Result<(), LiveError> {
        // Another reader of the same events reports errors of reading; those read before are written.
        let is_new = self.reader.poll().unwrap_or(false);
        let Some(began) = self.reader.history().began().filter(|_| is_new) else { return Ok(()) };
        let path = event_file(&self.folder, self.reader.run(), began);
        let failed = |source| LiveError { path: path.clone(), source };
        let file = match &mut self.file {
            Some(file) => file,
            empty => empty.insert(LiveFile::open(&path, began, self.reader.history()).map_err(failed)?),
        };
        file.follow(self.reader.history()).map_err(failed)
    }
}

/// An event file, and what was written into it.
struct LiveFile {
    file: File,
    /// The number of points of each tag since the last restart.
    written: BTreeMap<String, usize>,
    /// The [`RunHistory::generation`] to which these points belong; none if an earlier command wrote them.
    generation: Option<u64>,
}

impl LiveFile {
    /// Opens or creates the file. Bytes after the last whole record are cut off.
    fn open(path: &Path, began: Timestamp, history: &RunHistory) -> io::Result<LiveFile> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let mut file = plain_file::open_to_append(path)?;
        file.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => {
                io::Error::other("another command is writing it; let that one go on, or end it")
            }
            TryLockError::Error(error) => error,
        })?;
        let mut length = 0;
        let mut records = BufReader::new(&file);
        records.seek(SeekFrom::Start(0))?;
        while let Next::Record(bytes) = read(&mut records)? {
            length += FRAME + bytes.len() as u64;
        }
        file.set_len(length)?;
        if length == 0 {
            file.write_all(&first_record(began))?;
        }
        let generation = (length == 0).then(|| history.generation());
        Ok(LiveFile { file, written: BTreeMap::new(), generation })
    }

    fn follow(&mut self, history: &RunHistory) -> io::Result<()> {
        let mut bytes = Vec::new();
        if self.generation.replace(history.generation()) != Some(history.generation()) {
            let time = history.last().map_or(0.0, |last| last.time.as_duration().as_secs_f64());
            bytes.extend(restart_record(time));
            self.written.clear();
        }
        for info in history.metrics() {
            let Some(metric) = info.metric() else { continue };
            let curve = history.curve(metric);
            let written = self.written.entry(info.name.clone()).or_default();
            for index in *written..curve.len() {
                let point = (curve.step[index], curve.time_s[index]);
                bytes.extend(scalar_record(&info, point, curve.value[index], index == 0));
            }
            *written = curve.len();
        }
        // One write, so that TensorBoard rarely reads a part of a record.
        self.file.write_all(&bytes)
    }
}

// TFRecord framing.
//
// ```text
// u64 length | u32 masked CRC-32C of the length | the bytes | u32 masked CRC-32C of the bytes     (little-endian)
// ```
//
// A checksum is masked as rotate_right(crc, 15) + 0xa282ead8 (modulo 2³²).

/// The largest length of a record, in bytes. Events with pictures or graphs take some megabytes.
const LONGEST: u64 = 256 << 20;
/// The largest length of a record that is decoded, in bytes: a decoded one takes up to 80 times the memory. Events with
/// scalars alone take less than this.
const LONGEST_DECODED: u64 = 4 << 20;

/// The bytes of a record besides its content.
const FRAME: u64 = 16;

enum Next {
    Record(Vec<u8>),
    /// A record with too many bytes to be decoded, of this number.
    Long(u64),
    /// The file ends here.
    End,
    /// The file ends within a record, which is still being written or was cut.
    Cut,
    /// A checksum or a length is wrong.
    Damaged,
}

fn masked(bytes: &[u8]) -> [u8; 4] {
    crc32c::crc32c(bytes).rotate_right(15).wrapping_add(0xa282_ead8).to_le_bytes()
}

fn write(out: &mut impl Write, record: &[u8]) -> io::Result<()> {
    let length = (record.len() as u64).to_le_bytes();
    out.write_all(&length)?;
    out.write_all(&masked(&length))?;
    out.write_all(record)?;
    out.write_all(&masked(record))
}

fn read(file: &mut impl Read) -> io::Result<Next> {
    let mut length = [0; 8];
    match fill(file, &mut length)? {
        0 => return Ok(Next::End),
        8 => {}
        _ => return Ok(Next::Cut),
    }
    let mut sum = [0; 4];
    if fill(file, &mut sum)? < 4 {
        return Ok(Next::Cut);
    }
    let bytes = u64::from_le_bytes(length);
    if sum != masked(&length) || bytes > LONGEST {
        return Ok(Next::Damaged);
    }
    if bytes > LONGEST_DECODED {
        return skip(file, bytes);
    }
    // The vector grows with the available bytes, whatever length the file claims.
    let mut record = Vec::new();
    file.take(bytes).read_to_end(&mut record)?;
    if (record.len() as u64) < bytes || fill(file, &mut sum)? < 4 {
        return Ok(Next::Cut);
    }
    Ok(if sum == masked(&record) { Next::Record(record) } else { Next::Damaged })
}

/// Skips a record of `bytes` bytes and its checksum.
fn skip(file: &mut impl Read, bytes: u64) -> io::Result<Next> {
    let passed = io::copy(&mut file.take(bytes + 4), &mut io::sink())?;
    Ok(if passed == bytes + 4 { Next::Long(bytes) } else { Next::Cut })
}

/// Reads until the buffer is full or the file ends; returns the number of bytes.
fn fill(file: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// Something that happened at a step.
#[derive(Clone, PartialEq, Message)]
struct Event {
    /// Seconds since 1970.
    #[prost(double, tag = "1")]
    pub wall_time: f64,
    #[prost(int64, tag = "2")]
    pub step: i64,
    #[prost(oneof = "What", tags = "3, 5, 7")]
    pub what: Option<What>,
}

#[derive(Clone, PartialEq, Oneof)]
enum What {
    /// The first event of a file: `brain.Event:2`.
    #[prost(string, tag = "3")]
    FileVersion(String),
    #[prost(message, tag = "5")]
    Summary(Summary),
    #[prost(message, tag = "7")]
    SessionLog(SessionLog),
}

/// A start or an end of the writing program.
#[derive(Clone, PartialEq, Message)]
struct SessionLog {
    #[prost(int32, tag = "1")]
    pub status: i32,
}

impl SessionLog {
    /// Makes the earlier points of all tags from the event's step on void.
    const START: SessionLog = SessionLog { status: 1 };

    fn is_start(&self) -> bool {
        *self == SessionLog::START
    }
}

#[derive(Clone, PartialEq, Message)]
struct Summary {
    #[prost(message, repeated, tag = "1")]
    pub value: Vec<Value>,
}

#[derive(Clone, PartialEq, Message)]
struct Value {
    #[prost(string, tag = "1")]
    pub tag: String,
    #[prost(message, optional, tag = "9")]
    pub metadata: Option<Metadata>,
    #[prost(oneof = "Number", tags = "2, 8")]
    pub number: Option<Number>,
}

#[derive(Clone, PartialEq, Oneof)]
enum Number {
    /// A scalar as PyTorch's and older TensorFlow's writers store it.
    #[prost(float, tag = "2")]
    Simple(f32),
    /// A scalar as TensorFlow 2 stores it: a tensor of rank 0.
    #[prost(message, tag = "8")]
    Tensor(Box<Tensor>),
}

#[derive(Clone, PartialEq, Message)]
struct Metadata {
    #[prost(message, optional, tag = "1")]
    pub plugin: Option<Plugin>,
    /// The title of the tag.
    #[prost(string, tag = "2")]
    pub display_name: String,
}

#[derive(Clone, PartialEq, Message)]
struct Plugin {
    /// `scalars` for scalars.
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(bytes = "vec", tag = "2")]
    pub content: Vec<u8>,
}

/// The content of the plugin `hparams`.
#[derive(Clone, PartialEq, Message)]
struct HparamsContent {
    #[prost(message, optional, tag = "3")]
    pub start: Option<HparamsStart>,
}

#[derive(Clone, PartialEq, Message)]
struct HparamsStart {
    #[prost(btree_map = "string, message", tag = "1")]
    pub hparams: BTreeMap<String, HparamValue>,
}

/// `google.protobuf.Value`.
#[derive(Clone, PartialEq, Message)]
struct HparamValue {
    #[prost(oneof = "Hparam", tags = "2, 3, 4")]
    pub kind: Option<Hparam>,
}

#[derive(Clone, PartialEq, Oneof)]
enum Hparam {
    #[prost(double, tag = "2")]
    Number(f64),
    #[prost(string, tag = "3")]
    Text(String),
    #[prost(bool, tag = "4")]
    Bool(bool),
}

#[derive(Clone, PartialEq, Message)]
struct Tensor {
    /// The type of numbers, as in `types.proto`.
    #[prost(int32, tag = "1")]
    pub dtype: i32,
    #[prost(message, optional, tag = "2")]
    pub shape: Option<Shape>,
    #[prost(bytes = "vec", tag = "4")]
    pub content: Vec<u8>,
    #[prost(float, repeated, tag = "5")]
    pub floats: Vec<f32>,
    #[prost(double, repeated, tag = "6")]
    pub doubles: Vec<f64>,
    #[prost(int32, repeated, tag = "7")]
    pub ints: Vec<i32>,
    #[prost(int64, repeated, tag = "10")]
    pub longs: Vec<i64>,
    #[prost(bool, repeated, tag = "11")]
    pub bools: Vec<bool>,
    /// The bits of float16 and bfloat16.
    #[prost(int32, repeated, tag = "13")]
    pub halves: Vec<i32>,
    #[prost(uint32, repeated, tag = "16")]
    pub unsigned: Vec<u32>,
    #[prost(uint64, repeated, tag = "17")]
    pub unsigned_longs: Vec<u64>,
}

#[derive(Clone, PartialEq, Message)]
struct Shape {
    #[prost(message, repeated, tag = "2")]
    pub dimensions: Vec<Dimension>,
}

#[derive(Clone, PartialEq, Message)]
struct Dimension {
    #[prost(int64, tag = "1")]
    pub size: i64,
}

impl Value {
    /// Extracts the scalar; fails with the kind of other values, such as `histograms`.
    fn scalar(&self) -> Result<f64, &str> {
        let plugin = self.plugin().map_or("", |plugin| plugin.name.as_str());
        if !matches!(plugin, "" | "scalars") {
            return Err(plugin);
        }
        let scalar = match &self.number {
            Some(Number::Simple(number)) => Some(f64::from(*number)),
            Some(Number::Tensor(tensor)) => tensor.scalar(),
            None => None,
        };
        scalar.ok_or("other kinds")
    }

    /// Extracts the settings of the run, if this is their description by `add_hparams` or the plugin's callback.
    fn hparams(&self) -> Option<Map<String, Json>> {
        let plugin = self.plugin().filter(|plugin| plugin.name == HPARAMS)?;
        let start = HparamsContent::decode(plugin.content.as_slice()).ok()?.start?;
        let json = |value: HparamValue| {
            Some(match value.kind? {
                // Numbers of other programs are whole in the file only by their value.
                Hparam::Number(number) if number.fract() == 0.0 && number.abs() < 1e15 => Json::from(number as i64),
                Hparam::Number(number) => {
                    JsonNumber::from_f64(number).map_or_else(|| number.to_string().into(), Json::Number)
                }
                Hparam::Text(text) => Json::String(text),
                Hparam::Bool(value) => Json::Bool(value),
            })
        };
        Some(start.hparams.into_iter().filter_map(|(name, value)| Some((name, json(value)?))).collect())
    }

    fn plugin(&self) -> Option<&Plugin> {
        self.metadata.as_ref()?.plugin.as_ref()
    }
}

/// The plugin whose values describe the settings of runs.
const HPARAMS: &str = "hparams";

impl Tensor {
    fn scalar(&self) -> Option<f64> {
        let sizes = self.shape.iter().flat_map(|shape| &shape.dimensions).map(|dimension| dimension.size);
        if sizes.into_iter().any(|size| size != 1) {
            return None;
        }
        /// Decodes the only number, or the first bytes of the content.
        fn one<T: Copy, const N: usize>(numbers: &[T], content: &[u8], of: fn([u8; N]) -> T) -> Option<T> {
            match numbers {
                [number] => Some(*number),
                [] => content.try_into().ok().map(of),
                _ => None,
            }
        }
        let Tensor { content, floats, doubles, ints, longs, bools, halves, unsigned, unsigned_longs, .. } = self;
        let bits = || Some(one(halves, content, |bytes| u16::from_le_bytes(bytes).into())? as u16);
        Some(match self.dtype {
            1 => one(floats, content, f32::from_le_bytes)?.into(),
            2 => one(doubles, content, f64::from_le_bytes)?,
            3 => one(ints, content, i32::from_le_bytes)?.into(),
            4 => one(ints, content, |bytes: [u8; 1]| bytes[0].into())?.into(),
            5 => one(ints, content, |bytes| i16::from_le_bytes(bytes).into())?.into(),
            6 => one(ints, content, |bytes| i8::from_le_bytes(bytes).into())?.into(),
            9 => one(longs, content, i64::from_le_bytes)? as f64,
            10 => u8::from(one(bools, content, |bytes: [u8; 1]| bytes[0] != 0)?).into(),
            14 => half::bf16::from_bits(bits()?).into(),
            17 => one(ints, content, |bytes| u16::from_le_bytes(bytes).into())?.into(),
            19 => half::f16::from_bits(bits()?).into(),
            22 => one(unsigned, content, u32::from_le_bytes)?.into(),
            23 => one(unsigned_longs, content, u64::from_le_bytes)? as f64,
            _ => return None,
        })
    }
}
