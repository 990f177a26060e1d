//! The work of a sweep, which threads share: each takes task after task until none is left.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use super::backend::Backend;
use super::cell::Cell;
use super::pixel_runs::pixel_runs;
use super::runs::Runs;
use super::spec::SweepSpec;
use super::tasks::{PixelOrder, Portion, Task, tasks};

/// A computed pixel.
#[derive(Clone, Debug)]
pub struct Finished {
    /// Row and column.
    pub pixel: [usize; 2],
    /// Computed from all replicates, or for a first picture from some.
    pub cell: Cell,
    /// The runs of a cell computed from all replicates, where the sweep was asked to keep them.
    pub runs: Option<Vec<Runs>>,
}

/// The job of a sweep: its spec, and how it is computed.
pub struct SweepJob<'a> {
    pub spec: Arc<SweepSpec>,
    pub backend: Backend,
    pub order: PixelOrder,
    /// Whether finished pixels keep the runs that they were computed from.
    pub keep_runs: bool,
    /// Whether the pixel in a row and column is known already, and left out.
    pub known: &'a dyn Fn([usize; 2]) -> bool,
}

impl SweepJob<'_> {
    /// All pixels, row by row, without their runs.
    pub fn new(spec: Arc<SweepSpec>, backend: Backend) -> Self {
        SweepJob { spec, backend, order: PixelOrder::RowByRow, keep_runs: false, known: &|_| false }
    }
}

/// The work of a sweep, and how much of it is done.
pub struct SweepWork {
    spec: Arc<SweepSpec>,
    backend: Backend,
    tasks: Vec<Task>,
    keep_runs: bool,
    next: AtomicUsize,
    cancelled: AtomicBool,
    steps: AtomicU64,
    all_steps: u64,
    pixels: AtomicUsize,
    all_pixels: usize,
    /// The runs of pixels of which only the preview, or only the rest, is known.
    halves: Mutex<HashMap<[usize; 2], Vec<Runs>>>,
}

impl SweepWork {
    /// Lists the tasks of a job.
    pub fn new(job: SweepJob<'_>) -> SweepWork {
        let SweepJob { spec, backend, order, keep_runs, known } = job;
        let tasks = tasks(&spec, order, known);
        let all_steps = tasks.iter().map(|task| task.steps).sum();
        let all_pixels = tasks.iter().filter(|task| task.portion != Portion::Preview).count();
        SweepWork {
            spec,
            backend,
            tasks,
            keep_runs,
            next: AtomicUsize::new(0),
            cancelled: AtomicBool::new(false),
            steps: AtomicU64::new(0),
            all_steps,
            pixels: AtomicUsize::new(0),
            all_pixels,
            halves: Mutex::new(HashMap::new()),
        }
    }

    /// Does task after task in the calling thread, until none is left, the work is cancelled, or `take` returns false.
    /// `take` is called with each pixel that is finished. Several threads may call this at the same time.
    pub fn run(&self, mut take: impl FnMut(Finished) -> bool) {
        while let Some(task) = self.tasks.get(self.next.fetch_add(1, Ordering::Relaxed)) {
            let replicates = task.portion.replicates(&self.spec);
            let Some(runs) = pixel_runs(self.backend, &self.spec, task.pixel, replicates, &self.cancelled) else {
                return;
            };
            self.steps.fetch_add(task.steps, Ordering::Relaxed);
            let Some(finished) = self.finish(task, runs) else { continue };
            if !take(finished) {
                return;
            }
        }
    }

    /// Requests the end of the work. Pixels that are not finished within some milliseconds will not be.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Returns the number of optimizer steps taken.
    pub fn steps(&self) -> u64 {
        self.steps.load(Ordering::Relaxed)
    }

    /// Returns the number of optimizer steps of the whole work.
    pub fn all_steps(&self) -> u64 {
        self.all_steps
    }

    /// Returns the number of pixels computed from all replicates.
    pub fn pixels(&self) -> usize {
        self.pixels.load(Ordering::Relaxed)
    }

    /// Returns the number of pixels of the whole work.
    pub fn all_pixels(&self) -> usize {
        self.all_pixels
    }

    /// Returns the result of the task's pixel after these runs, if any.
    fn finish(&self, task: &Task, runs: Vec<Runs>) -> Option<Finished> {
        let cell = |runs: &[Runs]| Cell::new(runs, self.spec.average, self.spec.common_random_numbers);
        let runs = match task.portion {
            Portion::Whole => runs,
            Portion::Preview | Portion::Rest => {
                let preview = (task.portion == Portion::Preview).then(|| cell(&runs));
                let mut halves = self.halves.lock().expect("no thread panics while it holds the lock");
                let Some(other) = halves.remove(&task.pixel) else {
                    halves.insert(task.pixel, runs);
                    return preview.map(|cell| Finished { pixel: task.pixel, cell, runs: None });
                };
                drop(halves);
                let [first, second] = if task.portion == Portion::Rest { [other, runs] } else { [runs, other] };
                first.iter().zip(&second).map(|(first, second)| first.followed_by(second)).collect()
            }
        };
        self.pixels.fetch_add(1, Ordering::Relaxed);
        Some(Finished { pixel: task.pixel, cell: cell(&runs), runs: self.keep_runs.then_some(runs) })
    }
}
