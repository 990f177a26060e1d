//! All pixels of a sweep, in a pool of threads.

use std::collections::HashMap;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::cell::Cell;
use super::machine::Machine;
use super::spec::SweepSpec;
use super::tile::{Runs, tile};

/// Threads for sweeps, apart from all others.
#[derive(Clone)]
pub struct Pool(Arc<rayon::ThreadPool>);

impl Pool {
    /// A pool of so many threads.
    pub fn new(threads: usize) -> Result<Pool, rayon::ThreadPoolBuildError> {
        let builder = rayon::ThreadPoolBuilder::new().num_threads(threads);
        Ok(Pool(Arc::new(builder.thread_name(|index| format!("sweep {index}")).build()?)))
    }

    pub fn threads(&self) -> usize {
        self.0.current_num_threads()
    }
}

/// Which pixels come first. The result is the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// A first picture of the whole, from few pixels and replicates; then finer, until every pixel is exact.
    CoarseToFine,
    /// One row after another.
    RowByRow,
}

/// A pixel that was computed.
#[derive(Clone, Debug)]
pub struct Finished {
    /// Row and column.
    pub pixel: [usize; 2],
    /// Rests on all replicates, or for a first picture on some.
    pub cell: Cell,
    /// The runs behind a cell that rests on all replicates, where the sweep was asked to keep them.
    pub runs: Option<Vec<Runs>>,
}

/// How far a sweep has come.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Optimizer steps taken, and all that there are to take.
    pub steps: u64,
    pub all_steps: u64,
    /// Pixels that rest on all replicates, and all that there are to compute.
    pub pixels: usize,
    pub all_pixels: usize,
    /// Since the start; it stands still after the end.
    pub elapsed: Duration,
}

impl Progress {
    /// Optimizer steps a second.
    pub fn rate(&self) -> f64 {
        self.steps as f64 / self.elapsed.as_secs_f64()
    }

    /// The time that the rest will take at this rate.
    pub fn left(&self) -> Option<Duration> {
        Duration::try_from_secs_f64((self.all_steps - self.steps) as f64 / self.rate()).ok()
    }
}

/// What is done in one go.
#[derive(Clone, Copy, Debug)]
struct Task {
    pixel: [usize; 2],
    part: Part,
    /// Optimizer steps that it takes.
    steps: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// The first replicates, for a first picture.
    Preview,
    /// The replicates that the preview left out.
    Rest,
    Whole,
}

/// Replicates of a first picture.
const PREVIEW: usize = 8;
/// The most pixels of a first picture: their runs are kept until the rest of them is done.
const MOST_PREVIEWS: usize = 10_000;
/// Rows and columns that a first picture has at least, where the diagram has so many.
const PREVIEW_SHAPE: [usize; 2] = [12, 13];

/// A sweep that is running, or has ended.
pub struct Sweep {
    shared: Arc<Shared>,
    finished: Receiver<Finished>,
}

struct Shared {
    spec: Arc<SweepSpec>,
    machine: Machine,
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
    /// Begins a sweep of all pixels but those that are `known`. `wake` is called after each pixel that is
    /// finished, and at the end.
    pub fn start(
        pool: &Pool,
        spec: Arc<SweepSpec>,
        machine: Machine,
        work: Work,
        keep_runs: bool,
        known: impl Fn([usize; 2]) -> bool,
        wake: impl Fn() + Send + Sync + 'static,
    ) -> Sweep {
        let tasks = tasks(&spec, work, known);
        let all_steps = tasks.iter().map(|task| task.steps).sum();
        let all_pixels = tasks.iter().filter(|task| task.part != Part::Preview).count();
        let shared = Arc::new(Shared {
            spec,
            machine,
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
        // A thread that waits for the pool, so that nobody else has to.
        std::thread::spawn(move || {
            let work = || pool.0.broadcast(|_| workers.work(&sender, &wake));
            // A panic was reported where it happened; the sweep ends without the pixels that it cost.
            let _ = catch_unwind(AssertUnwindSafe(work));
            *workers.ended.lock().expect(NO_PANIC) = Some(Instant::now());
            drop(sender);
            wake();
        });
        Sweep { shared, finished }
    }

    /// The pixels that were finished; the channel closes after the last.
    pub fn finished(&self) -> &Receiver<Finished> {
        &self.finished
    }

    /// Asks for an end. Pixels that are not finished within some milliseconds never will be.
    pub fn cancel(&self) {
        self.shared.cancelled.store(true, Ordering::Relaxed);
    }

    /// Whether all threads are through with it.
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
    /// What every thread does: the next task, until there is none.
    fn work(&self, sender: &Sender<Finished>, wake: &impl Fn()) {
        while let Some(task) = self.tasks.get(self.next.fetch_add(1, Ordering::Relaxed)) {
            let replicates = task.part.replicates(&self.spec);
            let Some(runs) = tile(self.machine, &self.spec, task.pixel, replicates, &self.cancelled) else { return };
            self.steps.fetch_add(task.steps, Ordering::Relaxed);
            let Some(finished) = self.finish(task, runs) else { continue };
            if sender.send(finished).is_err() {
                return;
            }
            wake();
        }
    }

    /// What has become known of the task's pixel by these runs.
    fn finish(&self, task: &Task, runs: Vec<Runs>) -> Option<Finished> {
        let cell = |runs: &[Runs]| Cell::new(runs, self.spec.average, self.spec.common_random_numbers);
        let runs = match task.part {
            Part::Whole => runs,
            Part::Preview | Part::Rest => {
                let preview = (task.part == Part::Preview).then(|| cell(&runs));
                let mut halves = self.halves.lock().expect(NO_PANIC);
                let Some(other) = halves.remove(&task.pixel) else {
                    halves.insert(task.pixel, runs);
                    return preview.map(|cell| Finished { pixel: task.pixel, cell, runs: None });
                };
                drop(halves);
                let [first, second] = if task.part == Part::Rest { [other, runs] } else { [runs, other] };
                first.iter().zip(&second).map(|(first, second)| first.followed_by(second)).collect()
            }
        };
        self.pixels.fetch_add(1, Ordering::Relaxed);
        Some(Finished { pixel: task.pixel, cell: cell(&runs), runs: self.keep_runs.then_some(runs) })
    }
}

impl Part {
    fn replicates(self, spec: &SweepSpec) -> Range<usize> {
        let all = spec.replicates.get();
        let preview = PREVIEW.min(all);
        match self {
            Part::Preview => 0..preview,
            Part::Rest => preview..all,
            Part::Whole => 0..all,
        }
    }
}

/// What is to be done, in order.
fn tasks(spec: &SweepSpec, work: Work, known: impl Fn([usize; 2]) -> bool) -> Vec<Task> {
    let shape @ [rows, columns] = spec.shape();
    let steps = spec.steps_of_runs();
    let runs: usize = spec.rate_counts().iter().sum();
    let mut tasks = Vec::new();
    let mut add = |pixel: [usize; 2], part: Part| {
        if !known(pixel) {
            let replicates = part.replicates(spec).len();
            tasks.push(Task { pixel, part, steps: steps(pixel) * (runs * replicates) as u64 });
        }
    };
    let mut planned = vec![false; rows * columns];
    let (mut block, mut part) = (1, Part::Whole);
    if work == Work::CoarseToFine {
        block = preview_block(shape);
        let previews = centers(shape, block).count();
        if spec.replicates.get() > PREVIEW && previews <= MOST_PREVIEWS {
            centers(shape, block).for_each(|pixel| add(pixel, Part::Preview));
            part = Part::Rest;
        }
    }
    while block > 0 {
        for pixel @ [row, column] in centers(shape, block) {
            if !std::mem::replace(&mut planned[row * columns + column], true) {
                add(pixel, part);
            }
        }
        part = Part::Whole;
        block /= 2;
    }
    tasks
}

/// The side of the square blocks that a first picture has one pixel of each.
fn preview_block([rows, columns]: [usize; 2]) -> usize {
    let mut block = 1;
    while rows.div_ceil(2 * block) >= PREVIEW_SHAPE[0] && columns.div_ceil(2 * block) >= PREVIEW_SHAPE[1] {
        block *= 2;
    }
    block
}

/// The middle pixel of every square block, row by row.
fn centers([rows, columns]: [usize; 2], block: usize) -> impl Iterator<Item = [usize; 2]> {
    let middle = move |first: usize, count: usize| (first + block / 2).min(count - 1);
    (0..rows).step_by(block).flat_map(move |row| {
        (0..columns).step_by(block).map(move |column| [middle(row, rows), middle(column, columns)])
    })
}
