//! Reading the file of a part of a sweep, while the part may still be computed.

use std::fs::{File, TryLockError};
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use valleyscope_engine::sweep::{Finished, PartLabel, Precision, SweepPart, SweepSpec};
use valleyscope_runs::plain_file::{self, Links};

use super::record::RecordLayout;
use super::report::sweep_in;
use super::{Flaw, Identity, LONGEST_HEADER, SweepCheckpointError, header, header_text, is_cut};

/// The file of a part, open for reading its records so far.
#[derive(Debug)]
pub struct PartFile {
    pub label: PartLabel,
    /// The whole sweep.
    pub spec: SweepSpec,
    pub precision: Precision,
    /// Whether the file contains the runs.
    pub keeps_runs: bool,
    /// The version of Valleyscope that computes the part.
    pub program: String,
    /// Whether a process is computing the part.
    pub is_at_work: bool,
    text: String,
    file: File,
    path: PathBuf,
}

impl PartFile {
    /// Opens the file of a part; `None` where its header is missing or cut, as while its process is starting.
    ///
    /// # Errors
    ///
    /// Returns an error where it cannot be read, is no file of a part, is damaged in its beginning, or of another
    /// format.
    pub fn open(path: &Path) -> Result<Option<PartFile>, SweepCheckpointError> {
        let failed = |source| SweepCheckpointError::File { path: path.to_owned(), source };
        let mut file = plain_file::open(path, Links::Followed).map_err(failed)?;
        let is_at_work = match file.try_lock_shared() {
            Ok(()) => file.unlock().map(|()| false).map_err(failed)?,
            Err(TryLockError::WouldBlock) => true,
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        };
        let mut beginning = Vec::new();
        (&mut file).take(LONGEST_HEADER).read_to_end(&mut beginning).map_err(failed)?;
        if is_cut(&beginning) {
            return Ok(None);
        }
        let text = header_text(&beginning).map_err(|flaw| flaw.at(path))?.to_owned();
        let foreign = || Flaw::Foreign.at(path);
        let (spec, program, keeps_runs) = sweep_in(&text).ok_or_else(foreign)?;
        let value = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        let words = |name| ron::from_str::<String>(value(name)?).ok();
        let part = value("part").and_then(|part| part.parse::<SweepPart>().ok());
        // Each part has at least one pixel.
        let pixels: usize = spec.shape().iter().product();
        let part = part.filter(|part| part.count() as usize <= pixels).ok_or_else(foreign)?;
        let precision =
            [Precision::Single, Precision::Double].into_iter().find(|it| value("precision") == Some(it.name()));
        let (precision, title) = (precision.ok_or_else(foreign)?, words("title").ok_or_else(foreign)?);
        let description = words("description").ok_or_else(foreign)?;
        let (label, path) = (PartLabel { part, title, description }, path.to_owned());
        Ok(Some(PartFile { label, spec, precision, keeps_runs, program, is_at_work, text, file, path }))
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the first difference between the sweeps of two parts: a name, the value here, and the value in `other`.
    /// Both are of this version of Valleyscope.
    pub fn difference(&self, other: &PartFile) -> Option<[String; 3]> {
        let [here, there] = [self, other].map(|file| file.label.part.count());
        if here != there {
            return Some(["number of parts".to_owned(), here.to_string(), there.to_string()]);
        }
        let label = PartLabel { part: self.label.part, ..other.label.clone() };
        let expected = Identity::of_part(&label, &other.spec, other.precision, other.keeps_runs);
        expected.difference(&self.text)
    }

    /// Reads all intact records; returns the number of damaged ones. An incomplete last record is skipped, as it may be
    /// about to be written.
    pub fn read(&mut self, mut take: impl FnMut(Finished)) -> io::Result<u64> {
        let layout = RecordLayout::of(&self.spec, self.keeps_runs);
        let start = header(&self.text).len() as u64;
        let records = (self.file.metadata()?.len().saturating_sub(start)) / layout.length() as u64;
        self.file.seek(SeekFrom::Start(start))?;
        let mut reader = BufReader::with_capacity(1 << 20, &self.file);
        let mut record = vec![0; layout.length()];
        let mut damaged = 0;
        for _ in 0..records {
            reader.read_exact(&mut record)?;
            match layout.decode(&record) {
                Some(finished) => take(finished),
                None => damaged += 1,
            }
        }
        Ok(damaged)
    }
}
