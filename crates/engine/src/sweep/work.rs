//! The work of a sweep, which threads share: each thread takes task after task until none is left.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::fmt;
use std::fmt::Display;
use std::ops::Range;
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use serde::{Deserialize, Serialize};

use super::adaptive::allocation::{Race, RaceContext, RaceRules};
use super::adaptive::{Adaptive, Sampling};
use super::axis::Point;
use super::cell::Cell;
use super::diagram::{centers, coarsest_block, first_picture_block, halved};
use super::external::ExternalRuns;
use super::pixel_runs::{Backend, PixelRuns, all_runs};
use super::runs::Runs;
use super::spec::SweepSpec;

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
    /// The known runs of external optimizers. Pixels that need others stay as they are. Without it, all are NaN.
    pub external: Option<Arc<ExternalRuns>>,
}

impl SweepJob<'_> {
    /// All pixels, row by row, without their runs.
    pub fn new(spec: Arc<SweepSpec>, backend: Backend) -> Self {
        let (known, begun) = (&|_| false, &|_| None);
        SweepJob { spec, backend, order: PixelOrder::RowByRow, keep_runs: false, known, begun, external: None }
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
    external: Option<Arc<ExternalRuns>>,
}

struct Races {
    adaptive: Adaptive,
    /// Computed by the first race, which takes a tenth of a second.
    rules: OnceLock<RaceRules>,
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
    pub fn new(job: SweepJob<'_>) -> SweepWork {
        let SweepJob { spec, backend, order, keep_runs, known, begun, external } = job;
        let tasks = Tasks::new(&spec, order, known);
        let races = match spec.sampling {
            Sampling::Uniform => None,
            Sampling::Adaptive(adaptive) => {
                let state = |pixel| Mutex::new(begun(pixel).map_or(RaceState::Ahead, RaceState::Begun));
                Some(Races { adaptive, rules: OnceLock::new(), of_pixels: spec.pixels().map(state).collect() })
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
            external,
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

    /// Returns the number of optimizer steps of the whole work; with adaptive sampling, the most that it may take,
    /// which falls with each race that is over before its budget is used up.
    pub fn all_steps(&self) -> u64 {
        self.all_steps.load(Ordering::Relaxed)
    }

    /// Returns the number of pixels whose results are final.
    pub fn pixels(&self) -> usize {
        self.pixels.load(Ordering::Relaxed)
    }

    pub fn all_pixels(&self) -> usize {
        self.all_pixels
    }

    /// Computes the replicates of the task's pixel; returns its result, if any.
    fn compute(&self, task: &Task, portion: Portion) -> Result<Option<Finished>, Cancelled> {
        let point = self.spec.point(task.pixel[0], task.pixel[1]);
        let Some(runs) = all_runs(self.backend, self.runs_at(task.pixel, &point), portion.replicates(&self.spec))
        else {
            return self.misses_runs();
        };
        self.steps.fetch_add(task.steps, Ordering::Relaxed);
        Ok(self.finish(task.pixel, portion, runs))
    }

    fn runs_at<'a>(&'a self, pixel: [usize; 2], point: &'a Point) -> PixelRuns<'a> {
        let external = self.external.as_ref().map(|external| external.at(pixel));
        let key = self.spec.pixel_key(pixel[0], pixel[1]);
        PixelRuns { spec: &self.spec, point, key, external, cancelled: &self.cancelled }
    }

    /// The outcome of a task without its runs: it was cancelled, or misses runs of external optimizers.
    fn misses_runs(&self) -> Result<Option<Finished>, Cancelled> {
        if self.cancelled.load(Ordering::Relaxed) { Err(Cancelled) } else { Ok(None) }
    }

    /// Continues the race of the task's pixel; returns its result so far, unless it is over already.
    fn race(&self, task: &Task, until: Option<usize>) -> Result<Option<Finished>, Cancelled> {
        let races = self.races.as_ref().expect("only adaptive sampling has races");
        let [row, column] = task.pixel;
        let race_state = &races.of_pixels[row * self.spec.shape()[1] + column];
        // Another thread may be at an earlier task of this pixel; then this one waits for it.
        let mut state = race_state.lock().expect("no thread panics while it holds the lock");
        let mut race = match std::mem::replace(&mut *state, RaceState::Over) {
            RaceState::Ahead => Arc::new(Race::new(&self.spec.candidate_counts())),
            RaceState::Begun(race) => race,
            RaceState::Over => return Ok(None),
        };
        let point = self.spec.point(row, column);
        let pixel = self.runs_at(task.pixel, &point);
        let rules = races.rules.get_or_init(|| RaceRules::new(&self.spec, &races.adaptive));
        let context = RaceContext { backend: self.backend, pixel, rules };
        let before = race.runs();
        let is_through = Arc::make_mut(&mut race).advance(&context, until).is_some();
        if !is_through && self.cancelled.load(Ordering::Relaxed) {
            return Err(Cancelled);
        }
        if race.runs() == 0 {
            // Runs of external optimizers are missing.
            *state = RaceState::Ahead;
            return Ok(None);
        }
        self.steps.fetch_add(task.steps * (race.runs() - before) as u64, Ordering::Relaxed);
        let cell = Cell::of_race(&race, &self.spec, rules);
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

/// The order in which pixels are computed. It does not change the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PixelOrder {
    /// Computes 8 replicates of the middle pixel of each block, from few large blocks to the first picture's 12 × 13 or
    /// more; then the missing replicates, then finer blocks. Nothing is computed twice.
    ///
    /// Adaptive sampling makes several passes over the pixels, each of which continues the races that are not over, so
    /// that the diagram is refined where it is uncertain.
    CoarseToFine,
    RowByRow,
}

/// A unit of work on a pixel.
#[derive(Clone, Copy, Debug)]
struct Task {
    pub pixel: [usize; 2],
    pub work: Work,
    /// Optimizer steps that it takes; of a race, those of each run.
    pub steps: u64,
}

/// The work of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Work {
    /// Compute some replicates of all candidates.
    Replicates(Portion),
    /// Continue the pixel's race until it has this many runs; without a number, to its end.
    Race { until: Option<usize> },
}

/// The replicates of a pixel that a task computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Portion {
    /// The first replicates, for a first picture.
    Preview,
    /// The replicates without those of the preview.
    Rest,
    Whole,
}

/// The number of replicates of a first picture.
const PREVIEW: usize = 8;
/// The largest number of pixels of a first picture: their runs are kept until the rest of them is done.
const MOST_PREVIEWS: usize = 10_000;

impl Portion {
    pub(super) fn replicates(self, spec: &SweepSpec) -> Range<usize> {
        let all = spec.replicates.get();
        let preview = PREVIEW.min(all);
        match self {
            Portion::Preview => 0..preview,
            Portion::Rest => preview..all,
            Portion::Whole => 0..all,
        }
    }
}

/// The tasks of a sweep, in order. Those of the passes of adaptive sampling are made one by one, as a window begins
/// sweeps while a setting is dragged.
struct Tasks {
    /// The tasks of the last pass, which end pixels; with uniform sampling, all tasks.
    last: Vec<Task>,
    /// The runs of each pixel after the passes before.
    before: Vec<usize>,
}

impl Tasks {
    pub(super) fn new(spec: &SweepSpec, order: PixelOrder, known: impl Fn([usize; 2]) -> bool) -> Tasks {
        match spec.sampling.is_uniform() {
            true => Tasks { last: uniform_tasks(spec, order, known), before: Vec::new() },
            false => Tasks { last: last_races(spec, order, known), before: passes(spec, order) },
        }
    }

    /// Returns a task by its index in the order.
    pub(super) fn get(&self, index: usize) -> Option<Task> {
        let pass = index.checked_div(self.last.len())?;
        match self.before.get(pass) {
            Some(runs) => {
                let work = Work::Race { until: Some(*runs) };
                Some(Task { work, ..self.last[index % self.last.len()] })
            }
            None => self.last.get(index - self.before.len() * self.last.len()).copied(),
        }
    }

    /// Returns the tasks of the last pass; with uniform sampling, all of them.
    fn last_pass(&self) -> &[Task] {
        &self.last
    }
}

fn last_races(spec: &SweepSpec, order: PixelOrder, known: impl Fn([usize; 2]) -> bool) -> Vec<Task> {
    let steps = spec.steps_of_runs();
    let task = |pixel: [usize; 2]| Task { pixel, work: Work::Race { until: None }, steps: steps(pixel) };
    if order == PixelOrder::RowByRow {
        return spec.pixels().filter(|pixel| !known(*pixel)).map(task).collect();
    }
    let shape = spec.shape();
    let mut is_new = first_visits(shape);
    let blocks = halved(coarsest_block(shape));
    blocks.flat_map(|block| centers(shape, block)).filter(|it| is_new(*it) && !known(*it)).map(task).collect()
}

/// Returns the runs of each pixel after each pass but the last of adaptive sampling.
fn passes(spec: &SweepSpec, order: PixelOrder) -> Vec<usize> {
    if order == PixelOrder::RowByRow {
        return Vec::new();
    }
    // The first pass ends after about one analysis of each candidate.
    let first = 4 * spec.candidate_counts().iter().sum::<usize>();
    let grown = std::iter::successors(Some(first), |runs| Some(2 * runs));
    grown.take_while(|runs| *runs < spec.most_runs_of_pixel()).collect()
}

fn uniform_tasks(spec: &SweepSpec, order: PixelOrder, known: impl Fn([usize; 2]) -> bool) -> Vec<Task> {
    let shape = spec.shape();
    let steps = spec.steps_of_runs();
    let runs: usize = spec.candidate_counts().iter().sum();
    let mut tasks = Vec::new();
    let mut add = |pixel: [usize; 2], portion: Portion| {
        if !known(pixel) {
            let replicates = portion.replicates(spec).len();
            let steps = steps(pixel) * (runs * replicates) as u64;
            tasks.push(Task { pixel, work: Work::Replicates(portion), steps });
        }
    };
    let mut is_new = first_visits(shape);
    let mut block = 1;
    if order == PixelOrder::CoarseToFine {
        let first_picture = first_picture_block(shape);
        let blocks = halved(coarsest_block(shape)).take_while(|block| *block >= first_picture);
        let pixels: Vec<_> = blocks.flat_map(|block| centers(shape, block)).filter(|it| is_new(*it)).collect();
        let mut portion = Portion::Whole;
        if spec.replicates.get() > PREVIEW && pixels.len() <= MOST_PREVIEWS {
            pixels.iter().for_each(|pixel| add(*pixel, Portion::Preview));
            portion = Portion::Rest;
        }
        pixels.into_iter().for_each(|pixel| add(pixel, portion));
        block = first_picture / 2;
    }
    let finer = halved(block).flat_map(|block| centers(shape, block)).filter(|it| is_new(*it));
    finer.for_each(|pixel| add(pixel, Portion::Whole));
    tasks
}

/// Returns a function that returns true for a pixel at its first call with it, then false.
fn first_visits([rows, columns]: [usize; 2]) -> impl FnMut([usize; 2]) -> bool {
    let mut visited = vec![false; rows * columns];
    move |[row, column]| !std::mem::replace(&mut visited[row * columns + column], true)
}

/// A part of a sweep's pixels that is computed separately: its number, counted from 1, and the number of parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct SweepPart {
    count: u32,
    number: u32,
}

/// Why a text is not a part.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PartError {
    #[error("expected a part and the number of parts, such as 3/8, found {0:?}")]
    NoPart(String),
    #[error(
        "expected a number before the slash, such as 3/8, found {0:?}; the variable that names a job of an array is set only \
         in that job"
    )]
    NoNumber(String),
    #[error(
        "expected a part from 1 to {count}, found {found}; parts are counted from 1: for SLURM that is --array=1-{count}, \
         and where jobs are counted from 0, add 1"
    )]
    Outside { found: u64, count: u32 },
    #[error("expected from 1 to {most} parts, found {found}")]
    WrongCount { found: u64, most: u32 },
}

impl SweepPart {
    /// The largest number of parts.
    pub(crate) const MOST: u32 = 1_000_000;

    pub fn number(self) -> u32 {
        self.number
    }

    pub fn count(self) -> u32 {
        self.count
    }

    /// Lists all parts of a sweep with `count` parts, in order.
    pub fn all(count: u32) -> impl Iterator<Item = SweepPart> {
        (1..=count).map(move |number| SweepPart { count, number })
    }

    /// Returns the number of the part of each pixel, row by row, for `count` parts.
    pub fn numbers(count: u32, spec: &SweepSpec) -> Vec<u32> {
        let cost = spec.costs();
        let [rows, columns] = spec.shape();
        let costs: Vec<u64> = (0..rows * columns).map(|index| cost([index / columns, index % columns])).collect();
        SweepPart::divide(count, &costs)
    }

    /// Returns the number of the part of each piece of work, by their costs, for `count` parts.
    ///
    /// Each piece, the costliest first, is assigned to the cheapest part so far, the first of equals. So parts differ
    /// in cost by that of one piece at most, and with equal costs, neighbours are in different parts.
    pub fn divide(count: u32, costs: &[u64]) -> Vec<u32> {
        let mut order: Vec<usize> = (0..costs.len()).collect();
        order.sort_by_key(|&index| Reverse(costs[index]));
        let mut cheapest: BinaryHeap<_> = (1..=count).map(|number| Reverse((0_u128, number))).collect();
        let mut numbers = vec![0; order.len()];
        for index in order {
            let Reverse((so_far, number)) = cheapest.pop().expect("there are parts");
            numbers[index] = number;
            cheapest.push(Reverse((so_far + u128::from(costs[index]), number)));
        }
        numbers
    }

    /// Returns the stem of the names of the part's files and folders, such as `part-3-of-8`.
    pub fn stem(self) -> String {
        format!("part-{}-of-{}", self.number, self.count)
    }

    /// Returns whether this may be the stem of a part's names.
    pub fn is_stem(name: &str) -> bool {
        name.strip_prefix("part-").is_some_and(|rest| rest.contains("-of-"))
    }
}

impl FromStr for SweepPart {
    type Err = PartError;

    fn from_str(text: &str) -> Result<SweepPart, PartError> {
        let no_part = || PartError::NoPart(text.to_owned());
        let (number, count) = text.split_once('/').ok_or_else(no_part)?;
        if number.is_empty() {
            return Err(PartError::NoNumber(text.to_owned()));
        }
        let [number, count] = [number, count].map(|digits| digits.parse::<u64>().map_err(|_| no_part()));
        let (number, count) = (number?, count?);
        let (most, wrong) = (SweepPart::MOST, |found| PartError::WrongCount { found, most: SweepPart::MOST });
        let count = u32::try_from(count).ok().filter(|count| (1..=most).contains(count)).ok_or_else(|| wrong(count))?;
        let inside = u32::try_from(number).ok().filter(|number| (1..=count).contains(number));
        let number = inside.ok_or(PartError::Outside { found: number, count })?;
        Ok(SweepPart { count, number })
    }
}

impl TryFrom<String> for SweepPart {
    type Error = PartError;

    fn try_from(text: String) -> Result<SweepPart, PartError> {
        text.parse()
    }
}

impl From<SweepPart> for String {
    fn from(part: SweepPart) -> String {
        part.to_string()
    }
}

impl Display for SweepPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.count)
    }
}
