//! The final metrics of all runs, as the paper's authors store them: the format, and its export from runs that are
//! computed again.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use valleyscope_engine::noise::NoiseKind;
use valleyscope_engine::optimizer::{MASK, RuleKind, WEIGHT_DECAY};
use valleyscope_engine::sweep::{Backend, Precision, Quantity, Runs, SweepJob, SweepSpec};
use valleyscope_runs::atomic_file::{AtomicFile, Overwrite};

use crate::export::write_npy;
use crate::sweep::pool::{Pool, Sweep};

/// The arrays that the authors' own analysis reads, one file per row of the diagram, float64. The optimizers are Adam,
/// FOCUS and Signum in this order, whatever their order in the spec.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RawFormat {
    /// Fig. 2a, rows of sharpness: `syn-exp-7-{row}.npy`, (3, columns, learning rates, replicates), the final loss.
    Sharpness,
    /// Fig. 2b, rows of weight decay: `syn-exp-6-{row}.npy`, (3, columns, learning rates, replicates, 3), the
    /// final loss, the smallest loss and the depth.
    WeightDecay,
}

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error(
    "raw arrays are those of the paper: {expected} was expected, found {found}; leave out the raw arrays, or take the \
     preset fig2a or fig2b"
)]
pub struct RawRefused {
    pub expected: &'static str,
    pub found: String,
}

fn refused<T>(expected: &'static str, found: impl Into<String>) -> Result<T, RawRefused> {
    Err(RawRefused { expected, found: found.into() })
}

impl RawFormat {
    /// Determines the format of a sweep's raw arrays.
    pub fn of(spec: &SweepSpec) -> Result<RawFormat, RawRefused> {
        indices(spec)?;
        if !spec.sampling.is_uniform() {
            return refused("`sampling: Uniform`", "Adaptive");
        }
        if let Some(tuned) = spec.optimizers.iter().find(|optimizer| !optimizer.tune.is_empty()) {
            return refused("no tuned settings", format!("some of {}", tuned.label()));
        }
        let rates = spec.learning_rates();
        if rates.iter().any(|of_one| of_one != &rates[0]) {
            return refused("the same learning rates for all optimizers", "different ones");
        }
        if spec.columns.of != Quantity::Noise {
            return refused("`columns` of noise", spec.columns.of.key());
        }
        if spec.landscape.valley().is_none() {
            return refused("the paper's valley", spec.landscape.info().name);
        }
        if spec.noise.kind() != NoiseKind::Multiplicative {
            return refused("multiplicative noise", format!("{} noise", spec.noise.info().name.to_lowercase()));
        }
        match &spec.rows.of {
            Quantity::Landscape("sharpness") => Ok(RawFormat::Sharpness),
            Quantity::Of(WEIGHT_DECAY, ids) if spec.optimizers.iter().all(|optimizer| ids.contains(&optimizer.id)) => {
                Ok(RawFormat::WeightDecay)
            }
            other => refused("`rows` of sharpness, or of the weight decay of all optimizers", other.key()),
        }
    }

    pub fn file_name(self, row: usize) -> String {
        match self {
            RawFormat::Sharpness => format!("syn-exp-7-{row}.npy"),
            RawFormat::WeightDecay => format!("syn-exp-6-{row}.npy"),
        }
    }

    /// The names of all rows' files.
    pub fn file_names(self, spec: &SweepSpec) -> impl Iterator<Item = String> + use<> {
        (0..spec.shape()[0]).map(move |row| self.file_name(row))
    }

    /// Writes the file of a row into a folder from the runs of its pixels, column by column. The spec must be
    /// one of this format, with all replicates run.
    pub fn write_row(
        self,
        folder: &Path,
        overwrite: Overwrite,
        spec: &SweepSpec,
        row: usize,
        pixels: &[Vec<Runs>],
    ) -> io::Result<PathBuf> {
        let indices = indices(spec).map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        let each = if self == RawFormat::WeightDecay { 3 } else { 1 };
        let mut shape = vec![3, pixels.len(), spec.candidate_counts()[0], spec.replicates.get()];
        shape.extend((each > 1).then_some(each));
        let runs = indices.iter().flat_map(|&index| pixels.iter().flat_map(move |pixel| &pixel[index].metrics));
        let values = runs.flat_map(|run| [run.final_loss, run.smallest_loss, run.depth].into_iter().take(each));
        let path = folder.join(self.file_name(row));
        let mut file = AtomicFile::for_target(&path)?;
        write_npy(&mut file, &shape, values)?;
        file.commit(overwrite)?;
        Ok(path)
    }
}

/// Finds the indices of Adam, FOCUS and Signum among the optimizers, which must be exactly these, with steps that are
/// neither scheduled nor masked.
fn indices(spec: &SweepSpec) -> Result<[usize; 3], RawRefused> {
    const EXPECTED: &str = "exactly Adam, FOCUS and Signum";
    let scheduled = spec.optimizers.iter().find(|optimizer| !optimizer.schedule.is_constant());
    if let Some(scheduled) = scheduled {
        return refused("constant learning rates", format!("a schedule of {}", scheduled.rule.name()));
    }
    let masked = spec.optimizers.iter().find(|optimizer| optimizer.rule.get(MASK).is_some_and(|mask| mask != 0.0));
    if let Some(masked) = masked {
        return refused("steps without a mask", format!("cautious steps of {}", masked.rule.name()));
    }
    let index = |kind| spec.optimizers.iter().position(|optimizer| optimizer.rule.kind() == kind);
    let indices = [RuleKind::Adam, RuleKind::Focus, RuleKind::Signum].map(index);
    match (indices, spec.optimizers.len()) {
        ([Some(adam), Some(focus), Some(signum)], 3) => Ok([adam, focus, signum]),
        _ => {
            let rules: Vec<&str> = spec.optimizers.iter().map(|optimizer| optimizer.rule.name()).collect();
            refused(EXPECTED, rules.join(", "))
        }
    }
}

/// The requested raw arrays.
#[derive(Clone, Debug, PartialEq)]
pub struct RawPlan {
    format: RawFormat,
    spec: Arc<SweepSpec>,
    precision: Precision,
}

impl RawPlan {
    /// Plans the raw arrays of a sweep, which must be one of the paper's.
    pub fn of(spec: &Arc<SweepSpec>, precision: Precision) -> Result<RawPlan, RawRefused> {
        Ok(RawPlan { format: RawFormat::of(spec)?, spec: Arc::clone(spec), precision })
    }

    /// Counts the rows of the diagram, each of which becomes a file.
    pub fn rows(&self) -> usize {
        self.spec.shape()[0]
    }

    pub fn file_name(&self, row: usize) -> String {
        self.format.file_name(row)
    }
}

/// The reason why not all rows were written. The earlier rows are complete.
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawProgress {
    /// Rows whose files are complete.
    pub rows: usize,
    /// Computed pixels.
    pub pixels: usize,
    pub all_pixels: usize,
}

/// An export that is running, or has ended. Dropping it before its end cancels it; only complete files stay.
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
            // The receiver is dropped with the export.
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

    pub fn cancel(&self) {
        self.shared.cancelled.store(true, Ordering::Relaxed);
    }

    /// Pauses the export while `held`, so that others can use the pool. Computed pixels of a row stay.
    pub fn hold(&self, held: bool) {
        self.shared.held.store(held, Ordering::Relaxed);
    }

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

    /// Computes the missing pixels of a row, until the row is complete, held or cancelled. Returns false if a thread
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
