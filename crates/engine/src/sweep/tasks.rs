//! The tasks of a sweep, and their order.
//!
//! The order from coarse to fine begins with 8 replicates of the middle pixel of each block, from few large blocks to the
//! first picture's 12 × 13 or more. The missing replicates follow, then finer blocks. Nothing is computed twice.
//!
//! Adaptive sampling from coarse to fine makes several passes over the pixels. Each pass continues the races that are not
//! over, so that the diagram is refined where it is uncertain.

use std::ops::Range;

use super::spec::SweepSpec;

/// The order in which pixels are computed. It does not change the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PixelOrder {
    /// Pictures of the whole from few pixels and replicates, each finer than the one before, up to the first
    /// picture; then still finer, until every pixel is exact.
    CoarseToFine,
    /// Compute one row after another.
    RowByRow,
}

/// A unit of work on a pixel.
#[derive(Clone, Copy, Debug)]
pub(super) struct Task {
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
/// The smallest number of rows and columns of a first picture, if the diagram has that many.
const PREVIEW_SHAPE: [usize; 2] = [12, 13];
/// The smallest number of blocks of the coarser pictures before it, if the diagram has that many pixels.
const COARSEST: usize = 9;

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

/// The tasks of a sweep, in order. Those of the passes of adaptive sampling are made one by one, as a window begins sweeps
/// while a setting is dragged.
pub(super) struct Tasks {
    /// The tasks of the last pass, which end pixels; with uniform sampling, all tasks.
    last: Vec<Task>,
    /// The runs of each pixel after the passes before.
    before: Vec<usize>,
}

impl Tasks {
    /// Lists the tasks of a sweep.
    pub(super) fn new(spec: &SweepSpec, order: PixelOrder, known: impl Fn([usize; 2]) -> bool) -> Tasks {
        match spec.sampling.is_uniform() {
            true => Tasks { last: uniform_tasks(spec, order, known), before: Vec::new() },
            false => Tasks { last: last_races(spec, order, known), before: passes(spec, order) },
        }
    }

    /// Returns a task by its place in the order.
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
    pub(super) fn last_pass(&self) -> &[Task] {
        &self.last
    }
}

/// Lists the tasks that end the races of adaptive sampling.
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
    // The first pass ends after about one look at each candidate.
    let first = 4 * spec.candidate_counts().iter().sum::<usize>();
    let grown = std::iter::successors(Some(first), |runs| Some(2 * runs));
    grown.take_while(|runs| *runs < spec.most_runs_of_pixel()).collect()
}

/// Lists the tasks of uniform sampling.
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

/// Returns a block's side, half of it, and so on to 1.
pub(super) fn halved(block: usize) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(block), |block| Some(block / 2)).take_while(|block| *block > 0)
}

/// Returns the side of the square blocks of the first picture, which has one pixel of each.
pub(super) fn first_picture_block(shape: [usize; 2]) -> usize {
    doubled(1, shape, |[rows, columns]| rows >= PREVIEW_SHAPE[0] && columns >= PREVIEW_SHAPE[1])
}

/// Returns the side of the blocks of the coarsest picture.
pub(super) fn coarsest_block(shape: [usize; 2]) -> usize {
    doubled(first_picture_block(shape), shape, |[rows, columns]| rows * columns >= COARSEST)
}

/// Doubles a block's side while there are enough rows and columns of blocks.
fn doubled(mut block: usize, shape: [usize; 2], is_enough: impl Fn([usize; 2]) -> bool) -> usize {
    while is_enough(shape.map(|side| side.div_ceil(2 * block))) {
        block *= 2;
    }
    block
}

/// Lists the pixels that represent the square blocks, row by row.
pub(super) fn centers(shape: [usize; 2], block: usize) -> impl Iterator<Item = [usize; 2]> {
    let finest = first_picture_block(shape);
    let [rows, columns] = shape;
    (0..rows)
        .step_by(block)
        .flat_map(move |row| (0..columns).step_by(block).map(move |column| center(shape, [row, column], block, finest)))
}

/// Returns the pixel that represents the square block around a pixel: its middle. For a block larger than those of the
/// first picture, whose side is `finest`, it is moved to the nearest pixel of that picture.
pub(super) fn center(shape: [usize; 2], pixel: [usize; 2], block: usize, finest: usize) -> [usize; 2] {
    [0, 1].map(|side| {
        let last = shape[side] - 1;
        let middle = (pixel[side] / block * block + block / 2).min(last);
        if block > finest { (middle / finest * finest + finest / 2).min(last) } else { middle }
    })
}
