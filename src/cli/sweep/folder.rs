//! The folder for a sweep's results.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use valleyscope_engine::sweep::{Precision, Runs, SweepSpec};
use valleyscope_runs::atomic_file::{AtomicFile, Overwrite, write_file};

use crate::cli::{Failure, warn_of_blanks};
use crate::figure::{Figure, Format, Options, PICTURE_DPI, PICTURES};
use crate::result::{RawFormat, SweepResult};
use crate::sweep_checkpoint::{SweepCheckpoint, SweepCheckpointError};

/// The folder of a sweep's results.
pub(super) struct ResultFolder<'a> {
    pub path: &'a Path,
    pub raw: Option<RawFormat>,
}

/// The state of a folder.
pub(super) enum FolderState {
    /// The sweep can begin, or resume from its checkpoint.
    Open { checkpoint: SweepCheckpoint, overwrite: Overwrite },
    /// The results are complete.
    Complete,
}

impl ResultFolder<'_> {
    /// Creates the folder if needed, and locks it. Existing results, and a checkpoint without `resume`, are refused.
    pub(super) fn open(&self, spec: &SweepSpec, precision: Precision, resume: bool) -> Result<FolderState, Failure> {
        let folder = self.path.display();
        if self.path.exists() && !self.path.is_dir() {
            return Err(Failure::BadInput(anyhow!("--out must be a folder, and {folder} is a file")));
        }
        fs::create_dir_all(self.path).with_context(|| format!("cannot make the folder {folder}"))?;
        let path = self.checkpoint();
        let present = || self.present_result(spec).with_context(|| format!("cannot look into {folder}"));
        let in_the_way = |result: String| {
            let sweep = if resume { "another sweep" } else { "a sweep" };
            Err(Failure::BadInput(anyhow!(
                "there are results of {sweep} in {folder} already, such as {result}, and nothing is overwritten; \
                 choose another folder for --out, or move them away"
            )))
        };
        let without_checkpoint = |result: String| {
            let is_complete = resume && self.holds_all_of(spec, precision)?;
            if is_complete { Ok(FolderState::Complete) } else { in_the_way(result) }
        };
        // A sweep removes its checkpoint after writing all results, so results without one belong to no running sweep.
        // With one, even an empty one, its owner may be writing them, and only the lock shows when it has ended.
        if let Some(result) = present()?.filter(|_| path.symlink_metadata().is_err()) {
            return without_checkpoint(result);
        }
        let checkpoint = SweepCheckpoint::open(&path, spec, precision, self.raw.is_some()).map_err(refused)?;
        // A new checkpoint does not justify overwriting: another process may have finished the sweep and removed its
        // own during the wait for the lock.
        let result = present()?;
        if let Some(result) = result.clone().filter(|_| checkpoint.is_new()) {
            checkpoint.remove().with_context(|| format!("cannot remove {}", path.display()))?;
            return without_checkpoint(result);
        }
        // A killed sweep may have left files; the checkpoint is locked, so no other sweep is running here.
        AtomicFile::clear(self.path).with_context(|| format!("cannot look into {folder}"))?;
        // Beside a complete checkpoint, results are of the same sweep, which was stopped while it wrote them.
        let overwrite = if checkpoint.is_complete() { Overwrite::Yes } else { Overwrite::No };
        if let Some(result) = result.filter(|_| overwrite == Overwrite::No) {
            return in_the_way(result);
        }
        if !resume && checkpoint.known() > 0 {
            return Err(Failure::BadInput(anyhow!(
                "{folder} holds an unfinished sweep, {} of {} pixels; go on with it by --resume, choose another folder for \
                 --out, or remove {} to begin again",
                checkpoint.known(),
                spec.shape().iter().product::<usize>(),
                path.display()
            )));
        }
        Ok(FolderState::Open { checkpoint, overwrite })
    }

    /// The name of the picture of an incomplete diagram.
    pub(super) const PARTIAL_PICTURE: &'static str = "phase-so-far.png";

    /// Draws an incomplete diagram.
    pub(super) fn draw_so_far(&self, result: &SweepResult) -> anyhow::Result<()> {
        let figure = Figure::as_in_the_paper(result, false);
        let drawing = figure.render(&Options { width_mm: figure.usual_width_mm(), ..Options::default() })?;
        write_file(&self.path.join(Self::PARTIAL_PICTURE), Overwrite::Yes, &drawing.to_file(Format::Png, PICTURE_DPI)?)
            .with_context(|| format!("cannot write {}", Self::PARTIAL_PICTURE))
    }

    /// Removes the picture of the incomplete diagram.
    pub(super) fn remove_so_far(&self) -> anyhow::Result<()> {
        match fs::remove_file(self.path.join(Self::PARTIAL_PICTURE)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(error).with_context(|| format!("cannot remove {}", Self::PARTIAL_PICTURE))
            }
            _ => Ok(()),
        }
    }

    fn checkpoint(&self) -> PathBuf {
        self.path.join(SweepCheckpoint::FILE)
    }

    /// Writes all results. The checkpoint contains the runs, if they are kept.
    pub(super) fn finish(
        &self,
        result: &SweepResult,
        checkpoint: &mut SweepCheckpoint,
        overwrite: Overwrite,
    ) -> anyhow::Result<()> {
        let spec = result.diagram.spec();
        let [rows, columns] = spec.shape();
        if let Some(raw) = self.raw {
            for row in 0..rows {
                let runs = (0..columns).map(|column| runs(checkpoint, [row, column]));
                let runs = runs.collect::<io::Result<Vec<_>>>();
                let runs = runs.with_context(|| format!("cannot read {}", self.checkpoint().display()))?;
                raw.write_row(self.path, overwrite, spec, row, &runs)
                    .with_context(|| format!("cannot write {}", raw.file_name(row)))?;
            }
        }
        let place = self.path.display();
        result.write(self.path, overwrite).with_context(|| format!("cannot write the results into {place}"))?;
        let figure = Figure::as_in_the_paper(result, false);
        let drawing = figure.render(&Options { width_mm: figure.usual_width_mm(), ..Options::default() })?;
        warn_of_blanks(&drawing);
        for name in PICTURES {
            let path = self.path.join(name);
            let format = Format::of(&path).expect("pictures have the names of formats");
            write_file(&path, overwrite, &drawing.to_file(format, PICTURE_DPI)?)
                .with_context(|| format!("cannot write {name}"))?;
        }
        Ok(())
    }

    /// Returns the names of all files of the results.
    fn results(&self, spec: &SweepSpec) -> impl Iterator<Item = String> {
        let usual = [SweepResult::SPEC, SweepResult::TABLE, SweepResult::ARRAYS].into_iter().chain(PICTURES);
        let raw = self.raw.into_iter().flat_map(|raw| raw.file_names(spec));
        usual.map(str::to_owned).chain(raw)
    }

    fn present_result(&self, spec: &SweepSpec) -> io::Result<Option<String>> {
        for name in self.results(spec) {
            match self.path.join(&name).symlink_metadata() {
                Ok(_) => return Ok(Some(name)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    /// Returns whether the results of exactly this sweep are complete.
    fn holds_all_of(&self, spec: &SweepSpec, precision: Precision) -> Result<bool, Failure> {
        if !self.results(spec).all(|name| self.path.join(name).exists()) {
            return Ok(false);
        }
        let there = SweepResult::open(self.path).map_err(Failure::bad_input)?;
        Ok(**there.diagram.spec() == *spec && there.precision == precision && there.diagram.is_complete())
    }
}

fn runs(checkpoint: &mut SweepCheckpoint, pixel: [usize; 2]) -> io::Result<Vec<Runs>> {
    let known = checkpoint.read(pixel)?.and_then(|finished| finished.runs);
    known.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "the checkpoint lacks the runs of a pixel"))
}

pub(super) fn refused(error: SweepCheckpointError) -> Failure {
    match error {
        SweepCheckpointError::File { .. } | SweepCheckpointError::Busy(_) => Failure::Failed(error.into()),
        _ => Failure::BadInput(error.into()),
    }
}
