//! The contents of a checkpoint of an unknown sweep.

use std::fs::{File, TryLockError};
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use valleyscope_engine::sweep::SweepSpec;
use valleyscope_runs::plain_file::{self, Links};

use super::record::RecordLayout;
use super::{LONGEST_HEADER, NOT_OF_SPEC, SweepCheckpoint, SweepCheckpointError, header, header_text};

/// The contents of a checkpoint.
#[derive(Debug)]
pub struct CheckpointReport {
    /// The sweep; none if the file ends before its spec.
    pub spec: Option<SweepSpec>,
    /// The version of Valleyscope that began the sweep, the only one that can resume it.
    pub program: String,
    /// Pixels with an intact record.
    pub known: usize,
    /// Records whose bytes have changed.
    pub damaged: u64,
    /// The number of bytes after the last record of full length.
    pub cut: u64,
    /// Locked as long as this value exists, so that no sweep writes to it.
    _file: File,
}

impl SweepCheckpoint {
    /// Reads all records of a checkpoint and compares them with their checksums. The file is not changed.
    pub fn examine(path: &Path) -> Result<CheckpointReport, SweepCheckpointError> {
        let failed = |source| SweepCheckpointError::File { path: path.to_owned(), source };
        let mut file = plain_file::open(path, Links::Refused).map_err(failed)?;
        match file.try_lock_shared() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(SweepCheckpointError::Busy(path.to_owned())),
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
        let length = file.metadata().map_err(failed)?.len();
        if length == 0 {
            return Ok(CheckpointReport {
                spec: None,
                program: String::new(),
                known: 0,
                damaged: 0,
                cut: 0,
                _file: file,
            });
        }
        let mut beginning = Vec::new();
        (&mut file).take(LONGEST_HEADER).read_to_end(&mut beginning).map_err(failed)?;
        let text = header_text(&beginning).map_err(|flaw| flaw.at(path))?;
        let (spec, program, keep_runs) =
            sweep_in(text).ok_or_else(|| SweepCheckpointError::Damaged(path.to_owned()))?;
        let layout = RecordLayout::of(&spec, keep_runs);
        let records = length - header(text).len() as u64;
        file.seek(SeekFrom::Start(header(text).len() as u64)).map_err(failed)?;
        let (known, damaged) = count(&file, &layout, records).map_err(failed)?;
        let cut = records % layout.length() as u64;
        Ok(CheckpointReport { spec: Some(spec), program, known, damaged, cut, _file: file })
    }
}

/// Returns the number of pixels with an intact record, and of damaged records.
fn count(file: &File, layout: &RecordLayout, bytes: u64) -> io::Result<(usize, u64)> {
    let mut reader = BufReader::with_capacity(1 << 20, file);
    let mut record = vec![0; layout.length()];
    let mut known = std::collections::HashSet::new();
    let mut damaged = 0;
    for _ in 0..bytes / layout.length() as u64 {
        reader.read_exact(&mut record)?;
        match layout.pixel(&record) {
            Some(pixel) => {
                known.insert(pixel);
            }
            None => damaged += 1,
        }
    }
    Ok((known.len(), damaged))
}

/// Returns the sweep in a checkpoint's text, the version of the program, and whether the runs are kept.
pub(super) fn sweep_in(text: &str) -> Option<(SweepSpec, String, bool)> {
    let lines = || text.lines().filter_map(|line| line.split_once(' '));
    let fields =
        lines().filter(|(name, _)| !NOT_OF_SPEC.contains(name)).map(|(name, value)| format!("{name}: {value}"));
    let spec: SweepSpec = ron::from_str(&format!("({})", fields.collect::<Vec<_>>().join(", "))).ok()?;
    spec.check().ok()?;
    let value = |of: &str| lines().find(|(name, _)| *name == of).map(|(_, value)| value);
    Some((spec, value("program")?.to_owned(), value("raw")? == "true"))
}
