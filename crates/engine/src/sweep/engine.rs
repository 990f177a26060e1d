//! All pixels of a sweep, in a pool of threads.
//!
//! The pool needs [`std::thread`] and [`Instant`], which wasm32-unknown-unknown lacks: there [`Pool::new`] fails, and a
//! page calls [`pixel_runs`] for one pixel after another.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::backend::Backend;
use super::cell::Cell;
use super::pixel_runs::pixel_runs;
use super::runs::Runs;
use super::spec::SweepSpec;
use super::tasks::{PixelOrder, Portion, Task, tasks};

/// The thread pool of sweeps, separate from all other threads.
#[derive(Clone)]
pub struct Pool(Arc<rayon::ThreadPool>);

impl Pool {
    /// Creates a pool of `threads` threads.
    pub fn new(threads: usize) -> Result<Pool, rayon::ThreadPoolBuildError> {
        let builder = rayon::ThreadPoolBuilder::new().num_threads(threads);
        Ok(Pool(Arc::new(builder.thread_name(|index| format!("sweep {index}")).build()?)))
    }

    pub fn threads(&self) -> usize {
        self.0.current_num_threads()
    }
}

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

/// The progress of a sweep.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Optimizer steps taken, and their total.
    pub steps: u64,
    pub all_steps: u64,
    /// Pixels computed from all replicates, and their total.
    pub pixels: usize,
    pub all_pixels: usize,
    /// Time since the start; it stops at the end.
    pub elapsed: Duration,
}

impl Progress {
    /// Optimizer steps a second.
    pub fn rate(&self) -> f64 {
        self.steps as f64 / self.elapsed.as_secs_f64()
    }

    /// Returns the remaining time at this rate.
    pub fn left(&self) -> Option<Duration> {
        Duration::try_from_secs_f64((self.all_steps - self.steps) as f64 / self.rate()).ok()
    }
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

/// A sweep that is running, or has ended.
pub struct Sweep {
    shared: Arc<Shared>,
    finished: Receiver<Finished>,
}

struct Shared {
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
    started: Instant,
    ended: Mutex<Option<Instant>>,
    /// The runs of pixels of which only the preview, or only the rest, is known.
    halves: Mutex<HashMap<[usize; 2], Vec<Runs>>>,
}

impl Sweep {
    /// Begins a sweep. `wake` is called after each pixel that is finished, and at the end.
    pub fn start(pool: &Pool, job: SweepJob<'_>, wake: impl Fn() + Send + Sync + 'static) -> Sweep {
        let SweepJob { spec, backend, order, keep_runs, known } = job;
        let tasks = tasks(&spec, order, known);
        let all_steps = tasks.iter().map(|task| task.steps).sum();
        let all_pixels = tasks.iter().filter(|task| task.portion != Portion::Preview).count();
        let shared = Arc::new(Shared {
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
            started: Instant::now(),
            ended: Mutex::new(None),
            halves: Mutex::new(HashMap::new()),
        });
        let (sender, finished) = mpsc::channel();
        let (workers, pool) = (Arc::clone(&shared), pool.clone());
        // A thread that waits for the pool, so that no other has to.
        std::thread::spawn(move || {
            let work = || pool.0.broadcast(|_| workers.work(&sender, &wake));
            // A panic was reported where it happened; the sweep ends without the pixels that it affected.
            let _ = catch_unwind(AssertUnwindSafe(work));
            *workers.ended.lock().expect(NO_PANIC) = Some(Instant::now());
            drop(sender);
            wake();
        });
        Sweep { shared, finished }
    }

    /// Returns the channel of finished pixels, which closes after the last.
    pub fn finished(&self) -> &Receiver<Finished> {
        &self.finished
    }

    /// Requests the end of the sweep. Pixels that are not finished within some milliseconds will not be.
    pub fn cancel(&self) {
        self.shared.cancelled.store(true, Ordering::Relaxed);
    }

    /// Returns whether all threads have finished.
    pub fn has_ended(&self) -> bool {
        self.shared.ended.lock().expect(NO_PANIC).is_some()
    }

    pub fn progress(&self) -> Progress {
        let shared = &self.shared;
        let until = shared.ended.lock().expect(NO_PANIC).unwrap_or_else(Instant::now);
        Progress {
            steps: shared.steps.load(Ordering::Relaxed),
            all_steps: shared.all_steps,
            pixels: shared.pixels.load(Ordering::Relaxed),
            all_pixels: shared.all_pixels,
            elapsed: until - shared.started,
        }
    }
}

impl Drop for Sweep {
    fn drop(&mut self) {
        self.cancel();
    }
}

const NO_PANIC: &str = "no thread panics while it holds the lock";

impl Shared {
    /// Does task after task in one thread, until there is none.
    fn work(&self, sender: &Sender<Finished>, wake: &impl Fn()) {
        while let Some(task) = self.tasks.get(self.next.fetch_add(1, Ordering::Relaxed)) {
            let replicates = task.portion.replicates(&self.spec);
            let Some(runs) = pixel_runs(self.backend, &self.spec, task.pixel, replicates, &self.cancelled) else {
                return;
            };
            self.steps.fetch_add(task.steps, Ordering::Relaxed);
            let Some(finished) = self.finish(task, runs) else { continue };
            if sender.send(finished).is_err() {
                return;
            }
            wake();
        }
    }

    /// Returns the result of the task's pixel after these runs, if any.
    fn finish(&self, task: &Task, runs: Vec<Runs>) -> Option<Finished> {
        let cell = |runs: &[Runs]| Cell::new(runs, self.spec.average, self.spec.common_random_numbers);
        let runs = match task.portion {
            Portion::Whole => runs,
            Portion::Preview | Portion::Rest => {
                let preview = (task.portion == Portion::Preview).then(|| cell(&runs));
                let mut halves = self.halves.lock().expect(NO_PANIC);
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
