//! The work of a sweep, which threads share: each takes task after task until none is left.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use serde::{Deserialize, Serialize};

use super::backend::Backend;
use super::cell::Cell;
use super::pixel_key::PixelKey;
use super::pixel_runs::{PixelRuns, pixel_runs};
use super::race::{Course, Race, Racing};
use super::runs::Runs;
use super::sampling::{Adaptive, Sampling};
use super::spec::SweepSpec;
use super::tasks::{PixelOrder, Portion, Task, Tasks, Work};

/// A computed pixel.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Finished {
    /// Row and column.
    pub pixel: [usize; 2],
    /// The final result, or for a first picture one from some of the runs.
    pub cell: Cell,
    /// The runs of a cell computed from all replicates, where the sweep was asked to keep them.
    pub runs: Option<Vec<Runs>>,
}

/// The work was cancelled within a task.
struct Cancelled;

/// The job of a sweep: its spec, and how it is computed.
pub struct SweepJob<'a> {
    pub spec: Arc<SweepSpec>,
    pub backend: Backend,
    pub order: PixelOrder,
    /// Whether finished pixels keep the runs that they were computed from; with adaptive sampling they do not.
    pub keep_runs: bool,
    /// Whether the pixel in a row and column is known already, and left out.
    pub known: &'a dyn Fn([usize; 2]) -> bool,
    /// The race of adaptive sampling with which the pixel in a row and column continues.
    pub begun: &'a dyn Fn([usize; 2]) -> Option<Arc<Race>>,
}

impl SweepJob<'_> {
    /// All pixels, row by row, without their runs.
    pub fn new(spec: Arc<SweepSpec>, backend: Backend) -> Self {
        SweepJob { spec, backend, order: PixelOrder::RowByRow, keep_runs: false, known: &|_| false, begun: &|_| None }
    }
}

/// The work of a sweep, and how much of it is done.
pub struct SweepWork {
    spec: Arc<SweepSpec>,
    backend: Backend,
    tasks: Tasks,
    keep_runs: bool,
    next: AtomicUsize,
    cancelled: AtomicBool,
    steps: AtomicU64,
    all_steps: AtomicU64,
    pixels: AtomicUsize,
    all_pixels: usize,
    /// The runs of pixels of which only the preview, or only the rest, is known.
    halves: Mutex<HashMap<[usize; 2], Vec<Runs>>>,
    /// The races of adaptive sampling.
    races: Option<Races>,
}

/// The races of a sweep.
struct Races {
    adaptive: Adaptive,
    /// Computed by the first race, as it takes some time.
    racing: OnceLock<Racing>,
    /// The race of each pixel, row by row.
    of_pixels: Vec<Mutex<RaceState>>,
}

/// The state of a pixel's race.
enum RaceState {
    Ahead,
    Begun(Arc<Race>),
    Over,
}

impl SweepWork {
    /// Lists the tasks of a job.
    pub fn new(job: SweepJob<'_>) -> SweepWork {
        let SweepJob { spec, backend, order, keep_runs, known, begun } = job;
        let tasks = Tasks::new(&spec, order, known);
        let races = match spec.sampling {
            Sampling::Uniform => None,
            Sampling::Adaptive(adaptive) => {
                let state = |pixel| Mutex::new(begun(pixel).map_or(RaceState::Ahead, RaceState::Begun));
                Some(Races { adaptive, racing: OnceLock::new(), of_pixels: spec.pixels().map(state).collect() })
            }
        };
        let most_runs = spec.most_runs_of_pixel() as u64;
        let steps = tasks.last_pass().iter().map(|task| match task.work {
            Work::Replicates(_) => task.steps,
            // The last task of each pixel counts for its whole race.
            Work::Race { .. } => {
                let runs = begun(task.pixel).map_or(0, |race| race.runs() as u64);
                task.steps * most_runs.saturating_sub(runs)
            }
        });
        let all_steps = AtomicU64::new(steps.sum());
        let ends_pixel = |task: &&Task| match task.work {
            Work::Replicates(portion) => portion != Portion::Preview,
            Work::Race { .. } => true,
        };
        let all_pixels = tasks.last_pass().iter().filter(ends_pixel).count();
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
            races,
        }
    }

    /// Does task after task in the calling thread, until none is left, the work is cancelled, or `take` returns false.
    /// `take` is called with each pixel that is finished. Several threads may call this at the same time.
    pub fn run(&self, mut take: impl FnMut(Finished) -> bool) {
        while let Some(task) = self.tasks.get(self.next.fetch_add(1, Ordering::Relaxed)) {
            let done = match task.work {
                Work::Replicates(portion) => self.compute(&task, portion),
                Work::Race { until } => self.race(&task, until),
            };
            let Ok(finished) = done else { return };
            if !finished.is_none_or(&mut take) {
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

    /// Returns the number of optimizer steps of the whole work; with adaptive sampling, the most that it may take, which
    /// falls with each race that is over before its budget is used up.
    pub fn all_steps(&self) -> u64 {
        self.all_steps.load(Ordering::Relaxed)
    }

    /// Returns the number of pixels whose results are final.
    pub fn pixels(&self) -> usize {
        self.pixels.load(Ordering::Relaxed)
    }

    /// Returns the number of pixels of the whole work.
    pub fn all_pixels(&self) -> usize {
        self.all_pixels
    }

    /// Computes the replicates of the task's pixel; returns its result, if any.
    fn compute(&self, task: &Task, portion: Portion) -> Result<Option<Finished>, Cancelled> {
        let replicates = portion.replicates(&self.spec);
        let runs = pixel_runs(self.backend, &self.spec, task.pixel, replicates, &self.cancelled).ok_or(Cancelled)?;
        self.steps.fetch_add(task.steps, Ordering::Relaxed);
        Ok(self.finish(task.pixel, portion, runs))
    }

    /// Continues the race of the task's pixel; returns its result so far, unless it is over already.
    fn race(&self, task: &Task, until: Option<usize>) -> Result<Option<Finished>, Cancelled> {
        let races = self.races.as_ref().expect("only adaptive sampling has races");
        let [row, column] = task.pixel;
        let place = &races.of_pixels[row * self.spec.shape()[1] + column];
        // Another thread may be at an earlier task of this pixel; then this one waits for it.
        let mut state = place.lock().expect("no thread panics while it holds the lock");
        let mut race = match std::mem::replace(&mut *state, RaceState::Over) {
            RaceState::Ahead => Arc::new(Race::new(&self.spec.candidate_counts())),
            RaceState::Begun(race) => race,
            RaceState::Over => return Ok(None),
        };
        let point = self.spec.point(row, column);
        let key = PixelKey::new(&self.spec, row, column);
        let pixel = PixelRuns { spec: &self.spec, point: &point, key, cancelled: &self.cancelled };
        let racing = races.racing.get_or_init(|| Racing::new(&self.spec, &races.adaptive));
        let course = Course { backend: self.backend, pixel, racing };
        let before = race.runs();
        Arc::make_mut(&mut race).advance(&course, until).ok_or(Cancelled)?;
        self.steps.fetch_add(task.steps * (race.runs() - before) as u64, Ordering::Relaxed);
        let cell = race.cell(&self.spec, racing);
        if race.is_over() {
            let unused = self.spec.most_runs_of_pixel().saturating_sub(race.runs());
            self.all_steps.fetch_sub(task.steps * unused as u64, Ordering::Relaxed);
            self.pixels.fetch_add(1, Ordering::Relaxed);
        } else {
            *state = RaceState::Begun(race);
        }
        Ok(Some(Finished { pixel: task.pixel, cell, runs: None }))
    }

    /// Returns the result of a pixel after the runs of a portion, if any.
    fn finish(&self, pixel: [usize; 2], portion: Portion, runs: Vec<Runs>) -> Option<Finished> {
        let cell = |runs: &[Runs]| Cell::new(runs, self.spec.average, self.spec.common_random_numbers);
        let runs = match portion {
            Portion::Whole => runs,
            Portion::Preview | Portion::Rest => {
                let preview = (portion == Portion::Preview).then(|| cell(&runs));
                let mut halves = self.halves.lock().expect("no thread panics while it holds the lock");
                let Some(other) = halves.remove(&pixel) else {
                    halves.insert(pixel, runs);
                    return preview.map(|cell| Finished { pixel, cell, runs: None });
                };
                drop(halves);
                let [first, second] = if portion == Portion::Rest { [other, runs] } else { [runs, other] };
                first.iter().zip(&second).map(|(first, second)| first.followed_by(second)).collect()
            }
        };
        self.pixels.fetch_add(1, Ordering::Relaxed);
        Some(Finished { pixel, cell: cell(&runs), runs: self.keep_runs.then_some(runs) })
    }
}
