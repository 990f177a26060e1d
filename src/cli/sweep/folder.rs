//! The folder for a sweep's results.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{fs, io};

use anyhow::{Context, anyhow};
use valleyscope_engine::sweep::{Diagram, Finished, Runs, SweepPart, SweepSpec};
use valleyscope_runs::atomic_file::{AtomicFile, Overwrite, write_file};
use valleyscope_runs::plain_file::ignore_missing;

use crate::cli::output::say;
use crate::cli::{Failure, warn_of_missing_glyphs};
use crate::draw::Format;
use crate::sweep::pictures::{PICTURE_DPI, PICTURES, drawing, write_pictures};
use crate::sweep::result::{RawFormat, StoreError, SweepHeader, SweepRecords, SweepResult, SweepStore};

pub(super) struct ResultFolder {
    pub path: PathBuf,
    raw: Option<RawFormat>,
}

impl ResultFolder {
    /// Makes the folder if needed; that of a part is in `out`, which may hold others.
    pub(super) fn make(out: &Path, part: Option<SweepPart>, raw: Option<RawFormat>) -> Result<ResultFolder, Failure> {
        let path = part.map_or_else(|| out.to_owned(), |part| out.join(part.stem()));
        for folder in [out, &path] {
            if folder.exists() && !folder.is_dir() {
                return Err(Failure::BadInput(anyhow!("--out must be a folder, and {} is a file", folder.display())));
            }
        }
        fs::create_dir_all(&path).with_context(|| format!("cannot make the folder {}", path.display()))?;
        Ok(ResultFolder { path, raw })
    }

    /// Locks the folder, in which the sweep can begin, or resume from its records; returns `None` if the results are
    /// complete. Existing results, and records without `resume`, are refused.
    pub(super) fn open(
        &self,
        header: &SweepHeader,
        resume: bool,
    ) -> Result<Option<(StoredDiagram, Overwrite)>, Failure> {
        let (spec, folder) = (&header.preset.sweep, self.path.display());
        let records = self.path.join(SweepRecords::FILE);
        let present = || self.present(spec).with_context(|| format!("cannot look into {folder}"));
        let in_the_way = |result: &str| {
            let sweep = if resume { "another sweep" } else { "a sweep" };
            Err(Failure::BadInput(anyhow!(
                "there are results of {sweep} in {folder} already, such as {result}, and nothing is overwritten; \
                 choose another folder for --out, or move them away"
            )))
        };
        let without_records = |result: &str| {
            let is_complete = resume && self.holds_all_of(header)?;
            if is_complete { Ok(None) } else { in_the_way(result) }
        };
        // A sweep removes its records after writing all results, so results without records belong to no running sweep.
        // If there are records, even empty ones, their owner may be writing results, and only the lock shows when it
        // has ended.
        if let Some(result) = present()?.first().filter(|_| records.symlink_metadata().is_err()) {
            return without_records(result);
        }
        let stored = StoredDiagram::open(&self.path, header)?;
        // New records do not justify overwriting: another process may have finished the sweep and removed its records
        // during the wait for the lock.
        let present = present()?;
        if let Some(result) = present.first().filter(|_| stored.store.is_new) {
            stored.store.remove().with_context(|| format!("cannot remove {}", records.display()))?;
            return without_records(result);
        }
        // A killed sweep may have left files; the records are locked, so no other sweep is running here.
        AtomicFile::clear(&self.path).with_context(|| format!("cannot look into {folder}"))?;
        // If the records are complete, the results are of the same sweep, which was stopped while it wrote them. The
        // window writes the preset at the beginning.
        let is_own = stored.store.is_complete() || present == [SweepResult::SPEC];
        if let Some(result) = present.first().filter(|_| !is_own) {
            return in_the_way(result);
        }
        let overwrite = if is_own { Overwrite::Yes } else { Overwrite::No };
        let known = stored.store.known();
        if !resume && known > 0 {
            return Err(Failure::BadInput(anyhow!(
                "{folder} holds an unfinished sweep, {known} of {} pixels; go on with it by --resume, choose another folder \
                 for --out, or remove {} to begin again",
                spec.shape().iter().product::<usize>(),
                records.display()
            )));
        }
        Ok(Some((stored, overwrite)))
    }

    pub(super) const PARTIAL_PICTURE: &'static str = "phase-so-far.png";

    pub(super) fn draw_so_far(&self, result: &SweepResult) -> anyhow::Result<()> {
        let drawing = drawing(result)?;
        write_file(&self.path.join(Self::PARTIAL_PICTURE), Overwrite::Yes, &drawing.to_file(Format::Png, PICTURE_DPI)?)
            .with_context(|| format!("cannot write {}", Self::PARTIAL_PICTURE))
    }

    /// Writes all results. The records contain the single runs, if those are needed.
    pub(super) fn finish(&self, result: &SweepResult, store: &SweepStore, overwrite: Overwrite) -> anyhow::Result<()> {
        let spec = result.diagram.spec();
        let [rows, columns] = spec.shape();
        if let Some(raw) = self.raw {
            for row in 0..rows {
                let runs = (0..columns).map(|column| runs(store, [row, column]));
                let runs = runs.collect::<io::Result<Vec<_>>>();
                let runs = runs.with_context(|| format!("cannot read {}", store.path().display()))?;
                raw.write_row(&self.path, overwrite, spec, row, &runs)
                    .with_context(|| format!("cannot write {}", raw.file_name(row)))?;
            }
        }
        let folder = self.path.display();
        result.write(&self.path, overwrite).with_context(|| format!("cannot write the results into {folder}"))?;
        let drawing = drawing(result)?;
        warn_of_missing_glyphs(&drawing);
        write_pictures(&drawing, &self.path, overwrite)
    }

    /// Removes the records of a complete sweep, and the picture of the incomplete diagram.
    pub(super) fn remove_records(&self, store: SweepStore) -> anyhow::Result<()> {
        let removed = fs::remove_file(self.path.join(Self::PARTIAL_PICTURE)).or_else(ignore_missing);
        removed.with_context(|| format!("cannot remove {}", Self::PARTIAL_PICTURE))?;
        store.remove().context("the results are complete, but the records beside them cannot be removed")
    }

    fn results(&self, spec: &SweepSpec) -> impl Iterator<Item = String> {
        let usual = [SweepResult::SPEC, SweepResult::TABLE, SweepResult::ARRAYS].into_iter().chain(PICTURES);
        let raw = self.raw.into_iter().flat_map(|raw| raw.file_names(spec));
        usual.map(str::to_owned).chain(raw)
    }

    fn present(&self, spec: &SweepSpec) -> io::Result<Vec<String>> {
        let mut present = Vec::new();
        for name in self.results(spec) {
            match self.path.join(&name).symlink_metadata() {
                Ok(_) => present.push(name),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(present)
    }

    fn holds_all_of(&self, header: &SweepHeader) -> Result<bool, Failure> {
        let spec = &header.preset.sweep;
        if !self.results(spec).all(|name| self.path.join(name).exists()) {
            return Ok(false);
        }
        let there = SweepResult::open(&self.path).map_err(Failure::bad_input)?;
        let is_same = **there.diagram.spec() == *spec && there.precision == header.precision;
        Ok(is_same && there.diagram.is_complete())
    }
}

fn runs(store: &SweepStore, pixel: [usize; 2]) -> io::Result<Vec<Runs>> {
    let known = store.read(pixel)?.and_then(|finished| finished.runs);
    known.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "the records lack the runs of a pixel"))
}

/// A diagram whose pixels are in memory and in the records of its folder.
pub(super) struct StoredDiagram {
    pub diagram: Diagram,
    pub store: SweepStore,
    saved: Instant,
}

impl StoredDiagram {
    /// Opens the records in a folder, or begins them. Reports results of adaptive sampling that cannot be used.
    fn open(folder: &Path, header: &SweepHeader) -> Result<StoredDiagram, Failure> {
        let (store, mut diagram) = SweepStore::open(folder, Some(header)).map_err(refused)?;
        if let Err(reason) = store.read_races(&mut diagram) {
            say(format_args!("{reason}; pixels that are not decided are computed anew"));
        }
        Ok(StoredDiagram { diagram, store, saved: Instant::now() })
    }

    pub(super) fn add(&mut self, finished: Finished) {
        self.store.add(&finished);
        self.diagram.insert(finished.pixel, finished.cell);
    }

    /// Adds a pixel, if there is one, and saves the pixels of every few seconds.
    pub(super) fn take(&mut self, finished: Option<Finished>) -> Result<(), Failure> {
        const BETWEEN_SAVES: Duration = Duration::from_secs(2);
        finished.into_iter().for_each(|finished| self.add(finished));
        if self.saved.elapsed() >= BETWEEN_SAVES { Ok(self.save()?) } else { Ok(()) }
    }

    pub(super) fn save(&mut self) -> anyhow::Result<()> {
        self.store.save().with_context(|| format!("cannot write {}", self.store.path().display()))?;
        self.saved = Instant::now();
        Ok(())
    }
}

pub(super) fn refused(error: StoreError) -> Failure {
    match error {
        StoreError::File { .. } | StoreError::Busy(_) => Failure::Failed(error.into()),
        _ => Failure::BadInput(error.into()),
    }
}
