//! Scalars of TensorBoard's event files.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use valleyscope_runs::MetricId;

use super::RunError;
use super::scalars::{Scalars, ScalarsError};
use crate::tensorboard::{Entry, event_files, read_entries};

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

/// Reads all scalars of a run. Where two files hold the same step of a tag, the later file's counts: it is of a resumed
/// run.
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

/// An error of reading, or of what is done with an entry.
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
            // Parts have writers of their own.
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

/// Returns whether seconds since 1970 are a time that a run can have.
fn is_time(seconds: f64) -> bool {
    valleyscope_runs::Timestamp::from_microsecond((seconds * 1e6).round() as i64).is_ok() && seconds.is_finite()
}

/// Divides folders of event files, each after those above it, into runs and their parts: `add_scalars` writes each curve
/// into a folder of its own, and `add_hparams` the settings of a run.
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
        // What cannot be read is reported when all of it is.
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
    // tensorboardX makes the folder `TAG/NAME`, PyTorch `TAG_NAME` with `_` in place of `/`; both write only this tag.
    let suffix = tags.first().filter(|_| tags.len() == 1).and_then(|tag| {
        let in_folders = below.strip_prefix(tag.as_str()).and_then(|rest| rest.strip_prefix('/'));
        let joined = || below.strip_prefix(&tag.replace('/', "_")).and_then(|rest| rest.strip_prefix('_'));
        in_folders.or_else(joined).filter(|suffix| !suffix.is_empty())
    });
    // The name is the time at which it was made.
    let is_time = names.len() == 1 && names[0].parse::<f64>().is_ok_and(|time| time > 1e9);
    match suffix {
        Some(suffix) => Kind::Curve(suffix.to_owned()),
        None if has_settings && is_time => Kind::Settings,
        None => Kind::Run,
    }
}
