//! The results of a sweep as files: written, and opened again.
//!
//! A folder of results holds `spec.ron`, a preset that repeats the sweep; `phase.npz` with the whole diagram;
//! `phase.csv`, a table of its scores; and, if requested, the final metrics of all runs (see [`RawFormat`]). Nothing in
//! them depends on the time or the machine.

mod arrays;
mod check;
mod open;
mod raw;
mod raw_export;
pub mod scan;
mod table;

use std::io::{self, Write};
use std::path::Path;

pub use check::{KEPT_RECORD, check_sweep, is_sweep};
pub use open::ResultError;
pub use raw::{RawFormat, RawRefused};
pub use raw_export::{RawExport, RawFailure, RawPlan, RawProgress};
pub use table::{write_table, write_tables};

use valleyscope_engine::sweep::{Diagram, Precision};
use valleyscope_experiments::preset::{FormatVersion, Preset, SweepPreset};
use valleyscope_runs::atomic_file::{AtomicFile, Overwrite, write_file};

/// The result of a sweep.
#[derive(Clone, Debug)]
pub struct SweepResult {
    /// The text in the preset.
    pub title: String,
    /// The text in the preset.
    pub description: String,
    pub diagram: Diagram,
    /// The precision of the runs.
    pub precision: Precision,
}

impl SweepResult {
    pub const SPEC: &'static str = "spec.ron";
    pub const ARRAYS: &'static str = "phase.npz";
    pub const TABLE: &'static str = "phase.csv";

    /// Returns the preset that repeats the sweep.
    pub fn preset(&self) -> Preset {
        Preset::Sweep(self.sweep_preset())
    }

    /// Returns the preset that repeats the sweep, as one of a sweep.
    pub fn sweep_preset(&self) -> SweepPreset {
        SweepPreset {
            version: FormatVersion,
            title: self.title.clone(),
            description: self.description.clone(),
            sweep: (**self.diagram.spec()).clone(),
        }
    }

    /// Returns program version, precision and seed, as in `phase.npz`.
    pub fn program(&self) -> String {
        let (version, precision) = (env!("CARGO_PKG_VERSION"), self.precision.name());
        format!("valleyscope {version}, {precision}, seed {}", self.diagram.spec().seed)
    }

    /// Writes `spec.ron`, `phase.csv` and `phase.npz` into a folder that exists, each as a whole or not at all.
    pub fn write(&self, folder: &Path, overwrite: Overwrite) -> io::Result<()> {
        write_file(&folder.join(Self::SPEC), overwrite, self.preset().to_ron().as_bytes())?;
        let mut table = AtomicFile::for_target(&folder.join(Self::TABLE))?;
        write_table(&mut table, &self.diagram)?;
        table.commit(overwrite)?;
        let mut arrays = AtomicFile::for_target(&folder.join(Self::ARRAYS))?;
        self.write_arrays(&mut arrays)?;
        arrays.flush()?;
        arrays.commit(overwrite)
    }
}
