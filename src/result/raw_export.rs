//! Raw arrays of a diagram whose runs were not kept: the runs are computed again, row by row.
//!
//! The runs of a single row are in memory at a time, and its file is written before the next row is begun.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use valleyscope_engine::sweep::{Backend, Precision, Runs, SweepJob, SweepSpec};
use valleyscope_runs::atomic_file::{AtomicFile, Overwrite};

use super::raw::{RawFormat, RawRefused};
use crate::sweep_pool::{Pool, Sweep};

/// The requested raw arrays.
#[derive(Clone, Debug, PartialEq)]
pub struct RawPlan {
    format: RawFormat,
    spec: Arc<SweepSpec>,
    precision: Precision,
}

impl RawPlan {
    /// Returns the raw arrays of a sweep, which must be one of the paper's.
    pub fn of(spec: &Arc<SweepSpec>, precision: Precision) -> Result<RawPlan, RawRefused> {
        Ok(RawPlan { format: RawFormat::of(spec)?, spec: Arc::clone(spec), precision })
    }

    /// Returns the number of rows of the diagram, each of which becomes a file.
    pub fn rows(&self) -> usize {
        self.spec.shape()[0]
    }

    pub fn file_name(&self, row: usize) -> String {
        self.format.file_name(row)
    }
}

/// The reason why not all rows were written. The rows before are complete.
#[derive(Debug, thiserror::Error)]
pub enum RawFailure {
    /// A file exists already; nothing was computed or written.
    #[error("there are raw arrays already, such as {0}")]
    Exists(String),
    #[error("cannot use the folder: {0}")]
    Folder(#[source] io::Error),
    #[error("cannot write {name}: {source}")]
    Row { name: String, source: io::Error },
    #[error("cancelled")]
    Cancelled,
    #[error("a thread of the sweep has failed; its message is in the terminal")]
    Thread,
}

/// The progress of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawProgress {
    /// Rows whose files are complete.
    pub rows: usize,
    /// Computed pixels.
    pub pixels: usize,
    pub all_pixels: usize,
}

/// An export that is running, or has ended. Dropped before its end it is cancelled, and leaves only complete files.
pub struct RawExport {
    shared: Arc<Shared>,
    ended: Receiver<Result<(), RawFailure>>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    rows: AtomicUsize,
    pixels: AtomicUsize,
    all_pixels: usize,
    cancelled: AtomicBool,
    held: AtomicBool,
}

impl RawExport {
    /// Computes all runs of a sweep in a pool, and writes the rows' files into a folder, which is created if needed.
    /// `wake` is called at the end.
    pub fn start(
        pool: &Pool,
        plan: RawPlan,
        folder: PathBuf,
        overwrite: Overwrite,
        wake: impl FnOnce() + Send + 'static,
    ) -> RawExport {
        let shared = Arc::new(Shared { all_pixels: plan.spec.shape().iter().product(), ..Shared::default() });
        let (sender, ended) = channel();
        let job = Job { pool: pool.clone(), plan, folder, overwrite, shared: Arc::clone(&shared) };
        let thread = std::thread::spawn(move || {
            // The receiver is gone when the export was dropped.
            let _ = sender.send(job.all_rows());
            wake();
        });
        RawExport { shared, ended, thread: Some(thread) }
    }

    pub fn progress(&self) -> RawProgress {
        RawProgress {
            rows: self.shared.rows.load(Ordering::Relaxed),
            pixels: self.shared.pixels.load(Ordering::Relaxed),
            all_pixels: self.shared.all_pixels,
        }
    }

    /// Cancels the export.
    pub fn cancel(&self) {
        self.shared.cancelled.store(true, Ordering::Relaxed);
    }

    /// Pauses the export while `held`, so that others can use the pool. Computed pixels of a row are kept.
    pub fn hold(&self, held: bool) {
        self.shared.held.store(held, Ordering::Relaxed);
    }

    /// Returns the outcome, once the export has ended.
    pub fn outcome(&self) -> Option<Result<(), RawFailure>> {
        match self.ended.try_recv() {
            Ok(outcome) => Some(outcome),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => Some(Err(RawFailure::Thread)),
        }
    }
}

impl Drop for RawExport {
    fn drop(&mut self) {
        self.cancel();
        if let Some(thread) = self.thread.take() {
            // A panic has already been reported by its thread.
            let _ = thread.join();
        }
    }
}

/// The interval between checks for cancelling and holding.
const TICK: Duration = Duration::from_millis(20);

struct Job {
    pool: Pool,
    plan: RawPlan,
    folder: PathBuf,
    overwrite: Overwrite,
    shared: Arc<Shared>,
}

impl Job {
    fn all_rows(&self) -> Result<(), RawFailure> {
        self.prepare()?;
        let RawPlan { format, spec, .. } = &self.plan;
        for row in 0..self.plan.rows() {
            let pixels = self.row(row)?;
            let written = format.write_row(&self.folder, self.overwrite, spec, row, &pixels);
            written.map_err(|source| RawFailure::Row { name: format.file_name(row), source })?;
            self.shared.rows.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Checks in advance that the files can be written.
    fn prepare(&self) -> Result<(), RawFailure> {
        std::fs::create_dir_all(&self.folder).map_err(RawFailure::Folder)?;
        let mut names = self.plan.format.file_names(&self.plan.spec);
        if self.overwrite == Overwrite::No
            && let Some(name) = names.find(|name| self.folder.join(name).symlink_metadata().is_ok())
        {
            return Err(RawFailure::Exists(name));
        }
        AtomicFile::for_target(&self.folder.join(self.plan.file_name(0))).map(drop).map_err(RawFailure::Folder)
    }

    /// Returns the runs of a row, column by column.
    fn row(&self, row: usize) -> Result<Vec<Vec<Runs>>, RawFailure> {
        let mut pixels: Vec<Option<Vec<Runs>>> = vec![None; self.plan.spec.shape()[1]];
        while pixels.iter().any(Option::is_none) {
            if self.shared.cancelled.load(Ordering::Relaxed) {
                return Err(RawFailure::Cancelled);
            }
            if self.shared.held.load(Ordering::Relaxed) {
                std::thread::sleep(TICK);
                continue;
            }
            if !self.compute(row, &mut pixels) {
                return Err(RawFailure::Thread);
            }
        }
        Ok(pixels.into_iter().flatten().collect())
    }

    /// Computes the missing pixels of a row, until the row is complete, held or cancelled. Returns false where a thread
    /// has failed.
    fn compute(&self, row: usize, pixels: &mut [Option<Vec<Runs>>]) -> bool {
        let RawPlan { spec, precision, .. } = &self.plan;
        let known = |[of, column]: [usize; 2]| of != row || pixels[column].is_some();
        let job =
            SweepJob { keep_runs: true, known: &known, ..SweepJob::new(Arc::clone(spec), Backend::new(*precision)) };
        let sweep = Sweep::start(&self.pool, job, || {});
        let mut stopped = false;
        loop {
            match sweep.finished().recv_timeout(TICK) {
                Ok(finished) => {
                    pixels[finished.pixel[1]] = finished.runs;
                    self.shared.pixels.fetch_add(1, Ordering::Relaxed);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if self.shared.cancelled.load(Ordering::Relaxed) || self.shared.held.load(Ordering::Relaxed) {
                stopped = true;
                sweep.cancel();
            }
        }
        stopped || pixels.iter().all(Option::is_some)
    }
}
