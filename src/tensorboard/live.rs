//! An event file that follows a run.
//!
//! New points are appended as they are read. Where a resumed run takes steps again, an event of TensorBoard's that marks
//! a restart comes first: TensorBoard drops the earlier points from that step on, so none is shown twice. A file of an
//! earlier command is continued.

use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::io::{self, BufReader, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use prost::Message;
use valleyscope_runs::plain_file;
use valleyscope_runs::{MetricId, RunFolder, RunHistory, RunReader, Timestamp};

use super::message::{Event, What};
use super::record::{self, Next};
use super::write::{first_record, restart_record, scalar_record};

/// Returns the path of the event file of a run that began at a time, in a folder of the run's name in `folder`.
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

    /// Reads new events of the run, and writes its new points.
    pub fn poll(&mut self) -> Result<(), LiveError> {
        // Another reader of the same events reports errors of reading; those read before are written.
        let is_new = self.reader.poll().unwrap_or(false);
        let Some(began) = self.reader.history().began().filter(|_| is_new) else { return Ok(()) };
        let path = event_file(&self.folder, self.reader.run(), began);
        let failed = |source| LiveError { path: path.clone(), source };
        let file = match &mut self.file {
            Some(file) => file,
            empty => empty.insert(LiveFile::open(&path, began).map_err(failed)?),
        };
        file.follow(self.reader.history()).map_err(failed)
    }
}

/// Step and time of the points of each tag.
type Points = BTreeMap<String, Vec<(u64, f64)>>;

/// An event file, and the points that it holds.
struct LiveFile {
    file: File,
    written: Points,
    /// The [`RunHistory::generation`] to which the points belong.
    generation: Option<u64>,
}

impl LiveFile {
    /// Opens or creates the file. What follows the last whole record is cut off.
    fn open(path: &Path, began: Timestamp) -> io::Result<LiveFile> {
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
        let (written, length) = points(&file)?;
        file.set_len(length)?;
        if length == 0 {
            file.write_all(&first_record(began))?;
        }
        Ok(LiveFile { file, written, generation: None })
    }

    /// Writes the points of a history that the file lacks.
    fn follow(&mut self, history: &RunHistory) -> io::Result<()> {
        let mut bytes = Vec::new();
        if self.generation.replace(history.generation()) != Some(history.generation())
            && let Some(step) = self.first_outdated(history)
        {
            let time = history.last().map_or(0.0, |last| last.time.as_duration().as_secs_f64());
            bytes.extend(restart_record(step, time));
            self.written.values_mut().for_each(|points| points.retain(|(at, _)| *at < step));
        }
        for info in history.metrics() {
            let Some(metric) = info.metric() else { continue };
            let curve = history.curve(metric);
            let written = self.written.entry(info.name.clone()).or_default();
            for index in written.len()..curve.len() {
                let (step, time) = (curve.step[index], curve.time_s[index]);
                bytes.extend(scalar_record(&info, (step, time), curve.value[index], written.is_empty()));
                written.push((step, time));
            }
        }
        // One write, so that TensorBoard rarely reads a part of a record.
        self.file.write_all(&bytes)
    }

    /// Returns the first step of which the file holds another point than the history.
    fn first_outdated(&self, history: &RunHistory) -> Option<u64> {
        let first = |(tag, points): (&String, &Vec<(u64, f64)>)| {
            let curve = MetricId::named(tag).map(|metric| history.curve(metric));
            let now = curve.iter().flat_map(|curve| curve.step.iter().copied().zip(curve.time_s.iter().copied()));
            let common = points.iter().zip(now).take_while(|(written, now)| *written == now).count();
            points.get(common).map(|(step, _)| *step)
        };
        self.written.iter().filter_map(first).min()
    }
}

/// Returns the points in a file, and the number of its bytes up to the first record that is
/// cut or damaged.
fn points(file: &File) -> io::Result<(Points, u64)> {
    let (mut points, mut length) = (Points::new(), 0);
    let mut records = BufReader::new(file);
    records.seek(SeekFrom::Start(0))?;
    while let Next::Record(bytes) = record::read(&mut records)? {
        let Ok(event) = Event::decode(bytes.as_slice()) else { break };
        length += record::FRAME + bytes.len() as u64;
        let Ok(step) = u64::try_from(event.step) else { continue };
        match event.what {
            Some(What::Summary(summary)) => {
                for value in summary.value {
                    points.entry(value.tag).or_default().push((step, event.wall_time));
                }
            }
            Some(What::SessionLog(log)) if log.is_start() => {
                points.values_mut().for_each(|points| points.retain(|(at, _)| *at < step));
            }
            _ => {}
        }
    }
    Ok((points, length))
}
