//! Raw arrays: the runs of a diagram are computed again in the background, and their final metrics written.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use egui::{Context, ProgressBar, RichText, Ui};
use valleyscope_engine::sweep::{Backend, Precision, Runs, SweepJob, SweepSpec};
use valleyscope_runs::atomic_file::{AtomicFile, Overwrite};

use super::diagram_store::DiagramStore;
use crate::app::shell::actions::{Action, Requests};
use crate::app::shell::jobs::{Job, Progress};
use crate::sweep::pool::{Pool, Sweep};
use crate::sweep::result::RawFormat;

/// The interval between updates of the progress.
const UPDATE_INTERVAL: Duration = Duration::from_millis(100);
/// The interval between checks for cancelling and holding.
const TICK: Duration = Duration::from_millis(20);

/// The requested raw arrays.
#[derive(Clone, Debug, PartialEq)]
pub struct RawPlan {
    format: RawFormat,
    spec: Arc<SweepSpec>,
    precision: Precision,
}

impl RawPlan {
    /// Counts the rows of the diagram, each of which becomes a file.
    pub(super) fn rows(&self) -> usize {
        self.spec.shape()[0]
    }

    pub(super) fn file_name(&self, row: usize) -> String {
        self.format.file_name(row)
    }

    /// Whether a folder holds a file of a row already.
    pub(in crate::app) fn has_files(&self, folder: &Path) -> bool {
        self.format.file_names(&self.spec).any(|name| folder.join(name).symlink_metadata().is_ok())
    }
}

/// The export of raw arrays, at most one at a time.
#[derive(Default)]
pub(super) struct RawExports {
    running: Option<Running>,
}

struct Running {
    plan: RawPlan,
    folder: PathBuf,
    is_held: Arc<AtomicBool>,
    /// Ends with the number of complete rows, and the reason why they are not all.
    job: Job<(usize, Result<(), String>)>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.job.end();
    }
}

impl RawExports {
    /// Reports the end of an export. The export pauses while a diagram `is_computing`.
    pub(super) fn poll(&mut self, is_computing: bool, requests: &mut Requests) {
        let Some(Running { plan, folder, is_held, job }) = &self.running else { return };
        is_held.store(is_computing, Ordering::Relaxed);
        let Some(ended) = job.poll() else { return };
        let (rows, outcome) = ended.unwrap_or_else(|failed| (0, Err(failed.to_string())));
        let rows = complete_rows(plan, folder, rows);
        let report = |title: &str, text| Action::Report { title: title.to_owned(), text };
        requests.actions.push(match outcome {
            Ok(()) => Action::Notify(rows),
            Err(_) if job.progress().is_cancelled() => report("The export of raw arrays was cancelled", rows),
            Err(reason) => report("Not all raw arrays were exported", format!("{reason}.\n\n{rows}")),
        });
        self.running = None;
    }

    /// Computes the runs of a diagram again and writes them into a folder.
    pub(super) fn begin(&mut self, ctx: &Context, pool: Pool, plan: RawPlan, folder: PathBuf) {
        let is_held = Arc::<AtomicBool>::default();
        let (of_job, held) = (plan.clone(), Arc::clone(&is_held));
        let (pixels, target) = (plan.spec.shape().iter().product::<usize>(), folder.clone());
        let work = move |progress: &Progress| of_job.write(&pool, &target, progress, &held);
        self.running = Some(Running { plan, folder, is_held, job: Job::with_parts(ctx, pixels as u64, work) });
    }

    /// Plans the raw arrays of the present diagram, or returns why it has none.
    pub(super) fn plan(&self, diagrams: &DiagramStore) -> Result<RawPlan, String> {
        let present = &diagrams.present;
        match self.running {
            Some(_) => Err("Raw arrays are being exported already.".to_owned()),
            None => {
                let (spec, precision) = (Arc::clone(present.spec()), present.precision);
                let format = RawFormat::of(&spec).map_err(|refused| format!("{refused}."))?;
                Ok(RawPlan { format, spec, precision })
            }
        }
    }

    /// Shows the progress of the export.
    pub(super) fn bar(&self, ui: &mut Ui, diagrams: &DiagramStore) {
        let Some(Running { plan, job, .. }) = &self.running else { return };
        let progress = job.progress();
        let rows = progress.done() as usize / plan.spec.shape()[1];
        ui.horizontal(|ui| {
            let waiting = if diagrams.is_running() { ", waiting for the diagram" } else { "" };
            let text = format!("Raw arrays: {rows} of {} rows{waiting}", plan.rows());
            if ui.button("Cancel").accessible_name("Cancel the raw arrays").clicked() {
                progress.cancel();
            }
            ui.add(egui::Label::new(RichText::new(text).small().weak()).truncate());
        });
        ui.add(ProgressBar::new(progress.share()).desired_height(6.0));
        ui.ctx().request_repaint_after(UPDATE_INTERVAL);
    }
}

/// Formats the complete rows and their folder.
fn complete_rows(plan: &RawPlan, folder: &Path, rows: usize) -> String {
    let (all, folder) = (plan.rows(), folder.display());
    match rows {
        0 => format!("None of the {all} rows is complete in {folder}."),
        1 => format!("1 of {all} rows is complete in {folder}: {}.", plan.file_name(0)),
        rows => {
            let (first, last) = (plan.file_name(0), plan.file_name(rows - 1));
            format!("{rows} of {all} rows are complete in {folder}: {first} to {last}.")
        }
    }
}

impl RawPlan {
    /// Writes the rows' files into a folder, which is created if needed, instead of any that are there; returns the number
    /// of complete ones. While it `is_held`, others can use the pool, and the computed pixels of a row stay.
    fn write(
        &self,
        pool: &Pool,
        folder: &Path,
        progress: &Progress,
        is_held: &AtomicBool,
    ) -> (usize, Result<(), String>) {
        let RawPlan { format, spec, .. } = self;
        let cannot_use = |error: std::io::Error| format!("cannot use the folder: {error}");
        let mut complete = 0;
        let mut all = || {
            std::fs::create_dir_all(folder).map_err(cannot_use)?;
            AtomicFile::for_target(&folder.join(format.file_name(0))).map(drop).map_err(cannot_use)?;
            for row in 0..self.rows() {
                let pixels = self.row(pool, row, progress, is_held)?;
                let written = format.write_row(folder, Overwrite::Yes, spec, row, &pixels);
                written.map_err(|error| format!("cannot write {}: {error}", format.file_name(row)))?;
                complete += 1;
            }
            Ok(())
        };
        let outcome = all();
        (complete, outcome)
    }

    /// Computes a row, in a sweep that ends while the export is held and begins again with the missing pixels.
    fn row(
        &self,
        pool: &Pool,
        row: usize,
        progress: &Progress,
        is_held: &AtomicBool,
    ) -> Result<Vec<Vec<Runs>>, String> {
        let RawPlan { spec, precision, .. } = self;
        let mut pixels: Vec<Option<Vec<Runs>>> = vec![None; spec.shape()[1]];
        let mut running: Option<Sweep> = None;
        while pixels.iter().any(Option::is_none) {
            if progress.is_cancelled() {
                return Err("it was cancelled".to_owned());
            }
            if is_held.load(Ordering::Relaxed) {
                running = None;
                std::thread::sleep(TICK);
                continue;
            }
            let sweep = running.get_or_insert_with(|| {
                let known = |[of, column]: [usize; 2]| of != row || pixels[column].is_some();
                let job = SweepJob::new(Arc::clone(spec), Backend::new(*precision));
                Sweep::start(pool, SweepJob { keep_runs: true, known: &known, ..job }, || {})
            });
            match sweep.finished().recv_timeout(TICK) {
                Ok(finished) => {
                    pixels[finished.pixel[1]] = finished.runs;
                    progress.add_part();
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err("a thread of the sweep has failed; its message is in the terminal".to_owned());
                }
            }
        }
        Ok(pixels.into_iter().flatten().collect())
    }
}
