//! The scalars of a run from elsewhere, in bounded memory, and how they are read from event files of TensorBoard:
//! points beyond [`SORTED_AT_ONCE`] are sorted into temporary files.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::io::{BufReader, BufWriter, ErrorKind, Read, Seek, Write};
use std::iter::Peekable;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use valleyscope_runs::MetricId;

use super::RunError;
use crate::runs::tensorboard::{Entry, event_files, read_entries};

/// The most tags of a run, and the most points of all tags.
pub(super) const MOST_TAGS: usize = 256;
const MOST_POINTS: u32 = 20_000_000;
/// The number of points that are sorted in memory, 40 MB of them.
const SORTED_AT_ONCE: usize = 1 << 20;

/// A value of a tag at a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Point {
    pub(super) step: u64,
    /// The index into [`Scalars::tags`].
    pub(super) tag: usize,
    /// The position among all points that were read.
    order: u32,
    /// Seconds since 1970; NaN if unknown.
    pub(super) time: f64,
    /// Seconds of training; NaN if unknown.
    pub(super) wall_s: f64,
    pub(super) value: f64,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tag {
    pub(super) name: String,
    pub(super) title: Option<String>,
    /// Whether it is a setting, so that its points are not shown.
    pub(super) is_setting: bool,
}

pub(super) struct Scalars {
    pub(super) tags: Vec<Tag>,
    pub(super) settings: Map<String, Value>,
    pub(super) left_out: LeftOut,
    /// A column with a text in each row, whose texts differ and repeat.
    pub(super) varying_text: Option<String>,
    /// The time at which the training began, in seconds since 1970, for points that have no other time; NaN if unknown.
    pub(super) began: f64,
    indices: BTreeMap<String, usize>,
    /// The points that are in none of the files.
    points: Vec<Point>,
    /// Files of sorted points.
    sorted: Vec<File>,
    /// Restarts of the writing program with their orders. Steps increase, as a restart at an earlier step includes
    /// those before it.
    restarts: Vec<(u32, u64)>,
    /// The number of points and restarts.
    order: u32,
    folder: PathBuf,
}

/// Why the scalars of a run cannot be collected.
#[derive(Debug, thiserror::Error)]
pub(super) enum ScalarsError {
    #[error("it has more than {most} {what}; that is too much for a run")]
    TooMuch { most: usize, what: &'static str },
    #[error("cannot sort the points in a temporary file in {}: {source}", folder.display())]
    Sort { folder: PathBuf, source: io::Error },
}

/// Counts of the points that later points or restarts replaced.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Replaced {
    /// The number of other points at the step of a later one, by tag.
    pub(super) by_points: Vec<u64>,
    /// The number of points that a restart made void.
    pub(super) by_restarts: u64,
}

impl Scalars {
    /// Collects scalars. Temporary files are made in `folder`.
    pub(super) fn new(folder: &Path) -> Scalars {
        Scalars {
            tags: Vec::new(),
            settings: Map::new(),
            left_out: LeftOut::default(),
            varying_text: None,
            began: f64::NAN,
            indices: BTreeMap::new(),
            points: Vec::new(),
            sorted: Vec::new(),
            restarts: Vec::new(),
            order: 0,
            folder: folder.to_owned(),
        }
    }

    /// Finds the index of the tag of a name, which is added if it is new.
    pub(super) fn tag(&mut self, name: &str) -> Result<usize, ScalarsError> {
        if let Some(index) = self.indices.get(name) {
            return Ok(*index);
        }
        let index = self.new_tag(name)?;
        self.indices.insert(name.to_owned(), index);
        Ok(index)
    }

    /// Adds a tag, even if another one has its name.
    pub(super) fn new_tag(&mut self, name: &str) -> Result<usize, ScalarsError> {
        if self.tags.len() == MOST_TAGS {
            return Err(ScalarsError::TooMuch { most: MOST_TAGS, what: "tags" });
        }
        self.tags.push(Tag { name: name.to_owned(), title: None, is_setting: false });
        Ok(self.tags.len() - 1)
    }

    /// Lists the indices of the tags that are not settings.
    pub(super) fn metric_tags(&self) -> impl Iterator<Item = usize> + Clone {
        (0..self.tags.len()).filter(|tag| !self.tags[*tag].is_setting)
    }

    /// Adds a point. Of the points of a tag at one step the last one counts.
    pub(super) fn push(&mut self, step: u64, tag: usize, times: [f64; 2], value: f64) -> Result<(), ScalarsError> {
        let [time, wall_s] = times;
        let order = self.next()?;
        if self.points.len() == SORTED_AT_ONCE {
            self.spill().map_err(self.cannot_sort())?;
        }
        self.points.push(Point { step, tag, order, time, wall_s, value });
        Ok(())
    }

    /// Records a restart of the writing program, which makes all earlier points from a step on void.
    pub(super) fn restart(&mut self, step: u64) -> Result<(), ScalarsError> {
        let order = self.next()?;
        while self.restarts.last().is_some_and(|(_, later)| *later >= step) {
            self.restarts.pop();
        }
        self.restarts.push((order, step));
        Ok(())
    }

    fn next(&mut self) -> Result<u32, ScalarsError> {
        if self.order == MOST_POINTS {
            return Err(ScalarsError::TooMuch { most: MOST_POINTS as usize, what: "points" });
        }
        self.order += 1;
        Ok(self.order)
    }

    fn cannot_sort(&self) -> impl FnOnce(io::Error) -> ScalarsError + use<> {
        let folder = self.folder.clone();
        |source| ScalarsError::Sort { folder, source }
    }

    fn sort(&mut self) {
        self.points.sort_unstable_by_key(|point| (point.step, point.tag, point.order));
    }

    /// Moves the points in memory to a file, which has no name and disappears when it is closed.
    fn spill(&mut self) -> io::Result<()> {
        self.sort();
        std::fs::create_dir_all(&self.folder)?;
        let mut file = BufWriter::new(tempfile::tempfile_in(&self.folder)?);
        for point in self.points.drain(..) {
            file.write_all(&point.to_bytes())?;
        }
        self.sorted.push(file.into_inner().map_err(io::IntoInnerError::into_error)?);
        Ok(())
    }

    /// Passes the points of each step to `take`, in the order of the steps and of the tags; returns counts of the
    /// replaced points.
    pub(super) fn for_each_step<E: From<ScalarsError>>(
        &mut self,
        mut take: impl FnMut(&[Point]) -> Result<(), E>,
    ) -> Result<Replaced, E> {
        self.sort();
        let mut replaced = Replaced { by_points: vec![0; self.tags.len()], by_restarts: 0 };
        let mut row: Vec<Point> = Vec::new();
        let failed = || self.cannot_sort();
        for point in merged(&self.points, &self.sorted).map_err(|source| failed()(source))? {
            let mut point = point.map_err(|source| failed()(source))?;
            if point.time.is_nan() {
                point.time = self.began + if point.wall_s.is_nan() { 0.0 } else { point.wall_s };
            }
            if self.is_void(&point) {
                replaced.by_restarts += 1;
                continue;
            }
            match row.last_mut() {
                Some(last) if last.step != point.step => {
                    take(&row)?;
                    row.clear();
                }
                Some(last) if last.tag == point.tag => {
                    let is_other = last.value.to_bits() != point.value.to_bits() || last.time != point.time;
                    replaced.by_points[point.tag] += u64::from(is_other);
                    *last = point;
                    continue;
                }
                _ => {}
            }
            row.push(point);
        }
        if !row.is_empty() {
            take(&row)?;
        }
        Ok(replaced)
    }

    /// Whether a later restart was at the point's step or before it.
    fn is_void(&self, point: &Point) -> bool {
        let next = self.restarts.partition_point(|(order, _)| *order < point.order);
        self.restarts.get(next).is_some_and(|(_, step)| *step <= point.step)
    }
}

/// Describes what an import leaves out of a run, or changes in it, as lines for users.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct LeftOut {
    /// Sentences about the whole run.
    notes: Vec<String>,
    reasons: Vec<Reason>,
    /// The number of further entries with other reasons.
    more: u64,
}

#[derive(Clone, Debug, PartialEq)]
struct Reason {
    /// In the plural, such as "points of `loss` with a negative step".
    what: String,
    example: String,
    count: u64,
}

impl LeftOut {
    const MOST_NAMED: usize = 50;

    /// Counts `count` entries that were left out for a reason, with an example, which may be empty.
    pub(super) fn add(&mut self, what: &str, count: u64, example: impl FnOnce() -> String) {
        match self.reasons.iter().position(|reason| reason.what == what) {
            Some(index) => self.reasons[index].count += count,
            None if count == 0 => {}
            None if self.reasons.len() < Self::MOST_NAMED => {
                self.reasons.push(Reason { what: what.to_owned(), example: example(), count });
            }
            None => self.more += count,
        }
    }

    pub(super) fn note(&mut self, sentence: String) {
        self.notes.push(sentence);
    }

    /// Formats the notes and a line for each reason, such as "points of `loss` with a negative step are left out (3,
    /// such as -1)".
    pub(super) fn lines(&self) -> impl Iterator<Item = String> {
        let line = |Reason { what, example, count }: &Reason| match example.as_str() {
            "" => format!("{what} are left out ({count})"),
            example => format!("{what} are left out ({count}, such as {example})"),
        };
        let rest = (self.more > 0).then(|| format!("{} more are left out for other reasons", self.more));
        self.notes.iter().cloned().chain(self.reasons.iter().map(line)).chain(rest)
    }
}

/// Merges all points in order: those in memory and those in files, which are each sorted.
fn merged<'s>(
    points: &'s [Point],
    sorted: &'s [File],
) -> io::Result<impl Iterator<Item = io::Result<Point>> + use<'s>> {
    type Sorted<'s> = Box<dyn Iterator<Item = io::Result<Point>> + 's>;
    let mut parts: Vec<Peekable<Sorted<'s>>> = Vec::new();
    for mut file in sorted {
        file.rewind()?;
        let mut reader = BufReader::new(file);
        let part: Sorted<'s> = Box::new(std::iter::from_fn(move || Point::read(&mut reader).transpose()));
        parts.push(part.peekable());
    }
    let part: Sorted<'s> = Box::new(points.iter().copied().map(Ok));
    parts.push(part.peekable());
    Ok(std::iter::from_fn(move || {
        let key = |part: &mut Peekable<Sorted<'s>>| match part.peek()? {
            Ok(point) => Some((point.step, point.tag, point.order)),
            // An error precedes all points.
            Err(_) => Some((0, 0, 0)),
        };
        let keys = parts.iter_mut().enumerate().filter_map(|(index, part)| Some((key(part)?, index)));
        let (_, first) = keys.min()?;
        parts[first].next()
    }))
}

impl Point {
    const BYTES: usize = 40;

    fn to_bytes(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..8].copy_from_slice(&self.step.to_le_bytes());
        bytes[8..12].copy_from_slice(&(self.tag as u32).to_le_bytes());
        bytes[12..16].copy_from_slice(&self.order.to_le_bytes());
        for (index, number) in [self.time, self.wall_s, self.value].into_iter().enumerate() {
            bytes[16 + 8 * index..][..8].copy_from_slice(&number.to_le_bytes());
        }
        bytes
    }

    /// Reads the next point of a file; none at its end.
    fn read(file: &mut impl Read) -> io::Result<Option<Point>> {
        let mut bytes = [0; Self::BYTES];
        match file.read_exact(&mut bytes) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(None),
            outcome => outcome?,
        }
        let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
        let number = |at: usize| f64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
        let step = u64::from_le_bytes(bytes[..8].try_into().expect("eight bytes"));
        let (tag, order) = (word(8) as usize, word(12));
        Ok(Some(Point { step, tag, order, time: number(16), wall_s: number(24), value: number(32) }))
    }
}

/// A folder of event files that is a run.
pub(super) struct LogFolder {
    pub(super) path: PathBuf,
    /// The only file to be read, if a file was named.
    pub(super) only: Option<PathBuf>,
    /// Folders below it that hold a part of the same run.
    pub(super) parts: Vec<LogPart>,
}

/// A folder that a writer made for a part of a run.
pub(super) struct LogPart {
    pub(super) path: PathBuf,
    /// The name of the curve, which is appended to its tag if `add_scalars` has written several curves of one tag.
    pub(super) suffix: Option<String>,
}

/// The kind of a folder of event files.
enum Kind {
    Run,
    /// A curve of `add_scalars`, with its name.
    Curve(String),
    /// The settings and results of `add_hparams`.
    Settings,
}

/// Reads all scalars of a run. If two files have the same step of a tag, the later file's point counts: it is of a
/// resumed run.
pub(super) fn read_logs(into: &Path, log: &LogFolder) -> Result<Scalars, RunError> {
    let mut scalars = Scalars::new(into);
    let files = match &log.only {
        Some(file) => vec![file.clone()],
        None => files_of(&log.path)?,
    };
    for file in files {
        read_file(&file, &mut scalars, None)?;
    }
    for part in &log.parts {
        for file in files_of(&part.path)? {
            read_file(&file, &mut scalars, Some(part))?;
        }
    }
    Ok(scalars)
}

fn files_of(folder: &Path) -> Result<Vec<PathBuf>, RunError> {
    event_files(folder).map_err(|source| RunError::Read { path: folder.to_owned(), source })
}

/// An error of reading an entry, or of handling it.
#[derive(Debug, thiserror::Error)]
enum EntryError {
    #[error(transparent)]
    Read(#[from] io::Error),
    #[error(transparent)]
    Scalars(#[from] ScalarsError),
}

fn read_file(path: &Path, scalars: &mut Scalars, part: Option<&LogPart>) -> Result<(), RunError> {
    let suffix = part.and_then(|part| part.suffix.as_deref());
    let mut last_time = f64::NAN;
    let read = read_entries(path, |entry| {
        match entry {
            Entry::Scalar { tag, title, step, time, value } => {
                if tag.len() > MetricId::LONGEST_NAME {
                    let what = format!("points of tags of more than {} bytes", MetricId::LONGEST_NAME);
                    scalars.left_out.add(&what, 1, || format!("`{}…`", tag.chars().take(40).collect::<String>()));
                    return Ok(());
                }
                let Ok(step) = u64::try_from(step) else {
                    let what = format!("points of `{tag}` with a negative step");
                    scalars.left_out.add(&what, 1, || step.to_string());
                    return Ok(());
                };
                if is_time(time) {
                    last_time = time;
                } else {
                    let what = format!("times of `{tag}` that are no times");
                    scalars.left_out.add(&what, 1, || format!("{time} at step {step}"));
                }
                let tag = suffix.map_or_else(|| tag.clone(), |suffix| format!("{tag}/{suffix}"));
                let index = scalars.tag(&tag)?;
                let title = title.filter(|title| suffix.is_none() && title.len() <= MetricId::LONGEST_NAME);
                if title.is_some() && scalars.tags[index].title.is_none() {
                    scalars.tags[index].title = title;
                }
                scalars.push(step, index, [last_time, f64::NAN], value)?;
            }
            Entry::Other { tag, kind } => {
                scalars.left_out.add(&format!("values of {kind}, which are no scalars,"), 1, || format!("`{tag}`"));
            }
            Entry::Settings(settings) => scalars.settings.extend(settings),
            // Parts have separate writers.
            Entry::Restart { step } if part.is_none() => scalars.restart(step.max(0).cast_unsigned())?,
            Entry::Restart { .. } => {}
            Entry::Unreadable { what, record } => scalars.left_out.add(&what, 1, || record),
            Entry::Ends(what) => scalars.left_out.note(what),
        }
        Ok(())
    });
    read.map_err(|error| match error {
        EntryError::Read(source) => RunError::Read { path: path.to_owned(), source },
        EntryError::Scalars(error) => RunError::Scalars(error),
    })
}

/// Whether seconds since 1970 are a time that a run can have.
fn is_time(seconds: f64) -> bool {
    valleyscope_runs::Timestamp::from_microsecond((seconds * 1e6).round() as i64).is_ok() && seconds.is_finite()
}

/// Divides folders of event files, each after those above it, into runs and their parts: `add_scalars` writes each
/// curve into a separate folder, and `add_hparams` the settings of a run.
pub(super) fn runs_of(folders: Vec<PathBuf>) -> Vec<LogFolder> {
    let mut runs: Vec<LogFolder> = Vec::new();
    let mut settings: Vec<(usize, PathBuf)> = Vec::new();
    for path in folders {
        let above = runs.iter().rposition(|run| path.starts_with(&run.path));
        let kind = above.map_or(Kind::Run, |above| kind_of(&path, &runs[above].path));
        match (above, kind) {
            (Some(above), Kind::Curve(suffix)) => runs[above].parts.push(LogPart { path, suffix: Some(suffix) }),
            (Some(above), Kind::Settings) => settings.push((above, path)),
            _ => runs.push(LogFolder { path, only: None, parts: Vec::new() }),
        }
    }
    for (above, path) in &settings {
        // Several are the results of as many runs.
        if settings.iter().filter(|(other, _)| other == above).count() == 1 {
            runs[*above].parts.push(LogPart { path: path.clone(), suffix: None });
        } else {
            runs.push(LogFolder { path: path.clone(), only: None, parts: Vec::new() });
        }
    }
    runs
}

fn kind_of(folder: &Path, above: &Path) -> Kind {
    let (mut tags, mut has_settings) = (BTreeSet::new(), false);
    for file in event_files(folder).unwrap_or_default() {
        // Unreadable entries are reported when the whole file is read.
        let _ = read_entries(&file, |entry| {
            match entry {
                Entry::Scalar { tag, .. } => drop(tags.insert(tag)),
                Entry::Settings(_) => has_settings = true,
                _ => {}
            }
            if tags.len() < 2 { Ok(()) } else { Err(io::Error::other("enough was read")) }
        });
    }
    let Ok(below) = folder.strip_prefix(above) else { return Kind::Run };
    let names: Vec<String> = below.iter().map(|name| name.to_string_lossy().into_owned()).collect();
    let below = names.join("/");
    // tensorboardX makes the folder `TAG/NAME`, PyTorch `TAG_NAME` with `_` instead of `/`; both write only this tag.
    let suffix = tags.first().filter(|_| tags.len() == 1).and_then(|tag| {
        let in_folders = below.strip_prefix(tag.as_str()).and_then(|rest| rest.strip_prefix('/'));
        let joined = || below.strip_prefix(&tag.replace('/', "_")).and_then(|rest| rest.strip_prefix('_'));
        in_folders.or_else(joined).filter(|suffix| !suffix.is_empty())
    });
    // The name is the time at which the folder was made.
    let is_time = names.len() == 1 && names[0].parse::<f64>().is_ok_and(|time| time > 1e9);
    match suffix {
        Some(suffix) => Kind::Curve(suffix.to_owned()),
        None if has_settings && is_time => Kind::Settings,
        None => Kind::Run,
    }
}

#[cfg(test)]
mod tests {
    use super::{Point, Replaced, SORTED_AT_ONCE, Scalars, ScalarsError};

    fn steps(scalars: &mut Scalars) -> (Vec<(u64, usize, f64)>, Replaced) {
        let mut points = Vec::new();
        let replaced = scalars.for_each_step(|row: &[Point]| {
            points.extend(row.iter().map(|point| (point.step, point.tag, point.value)));
            Ok::<(), ScalarsError>(())
        });
        (points, replaced.expect("the points can be sorted"))
    }

    #[test]
    fn points_are_sorted_in_files_as_in_memory() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut scalars = Scalars::new(folder.path());
        let tags = ["a", "b"].map(|name| scalars.tag(name).expect("a tag"));
        let count = SORTED_AT_ONCE as u64 + 1000;
        for step in (0..count).rev() {
            for tag in tags {
                scalars.push(step, tag, [0.0, f64::NAN], step as f64).expect("a point");
            }
        }
        // The last point at a step counts, in whatever part.
        scalars.push(count - 1, tags[1], [0.0, f64::NAN], -1.0).expect("a point");
        assert_eq!(scalars.sorted.len(), 2);
        let (points, replaced) = steps(&mut scalars);
        assert_eq!(points.len() as u64, 2 * count);
        assert!(points.is_sorted_by_key(|(step, tag, _)| (*step, *tag)));
        assert_eq!(points.last(), Some(&(count - 1, 1, -1.0)));
        assert_eq!(replaced, Replaced { by_points: vec![0, 1], by_restarts: 0 });
    }

    #[test]
    fn restarts_make_earlier_points_void() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut scalars = Scalars::new(folder.path());
        let tag = scalars.tag("a").expect("a tag");
        let push = |scalars: &mut Scalars, steps: std::ops::Range<u64>, value| {
            steps.for_each(|step| scalars.push(step, tag, [0.0; 2], value).expect("a point"));
        };
        push(&mut scalars, 0..6, 1.0);
        scalars.restart(4).expect("a restart");
        push(&mut scalars, 4..8, 2.0);
        scalars.restart(2).expect("a restart");
        scalars.restart(7).expect("a restart");
        push(&mut scalars, 8..9, 3.0);
        let (points, replaced) = steps(&mut scalars);
        assert_eq!(points, [(0, 0, 1.0), (1, 0, 1.0), (8, 0, 3.0)]);
        assert_eq!(replaced.by_restarts, 8);
    }
}
