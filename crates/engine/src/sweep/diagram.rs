//! The diagram of a sweep, and the order from coarse to fine in which its pixels become known.

use std::sync::Arc;

use super::adaptive::Sampling;
use super::adaptive::allocation::{Race, RaceRules};
use super::axis::{Tuned, index_in};
use super::cell::Cell;
use super::spec::SweepSpec;
use crate::shares::Shares;

/// A diagram with the pixels of a sweep that are known so far.
#[derive(Clone, Debug)]
pub struct Diagram {
    spec: Arc<SweepSpec>,
    rows: Vec<f64>,
    columns: Vec<f64>,
    learning_rates: Vec<Vec<f64>>,
    /// The values of each tuned setting of each optimizer.
    tuned: Vec<Vec<Vec<f64>>>,
    cells: Vec<Option<Arc<Cell>>>,
    /// The shares of Adam's gradients at each pixel, row by row; empty where they are not computed.
    shares: Arc<[Shares]>,
    /// The number of pixels whose results are final.
    complete: usize,
    runs: u64,
}

impl Diagram {
    /// Creates a diagram without known pixels.
    pub fn new(spec: Arc<SweepSpec>) -> Self {
        let [rows, columns] = spec.shape();
        Diagram {
            rows: spec.rows.values(),
            columns: spec.columns.values(),
            learning_rates: spec.learning_rates(),
            tuned: spec.optimizers.iter().map(|it| it.tune.iter().map(Tuned::values).collect()).collect(),
            cells: vec![None; rows * columns],
            shares: Arc::default(),
            complete: 0,
            runs: 0,
            spec,
        }
    }

    pub fn spec(&self) -> &Arc<SweepSpec> {
        &self.spec
    }

    /// Changes the colours of the optimizers to those of a sweep with the same results.
    pub fn recolor(&mut self, spec: Arc<SweepSpec>) {
        debug_assert!(self.spec.is_alike_but_for_colors(&spec), "the results belong to another sweep");
        self.spec = spec;
    }

    /// Returns the values of the rows, the first at the bottom of a picture.
    pub fn rows(&self) -> &[f64] {
        &self.rows
    }

    pub fn columns(&self) -> &[f64] {
        &self.columns
    }

    /// Returns the learning rates of each optimizer; none if the learning rate is an axis.
    pub fn learning_rates(&self) -> &[Vec<f64>] {
        &self.learning_rates
    }

    pub fn learning_rate(&self, [row, column]: [usize; 2], optimizer: usize, candidate: usize) -> f64 {
        match self.learning_rates[optimizer].get(self.rate_of(optimizer, candidate)) {
            Some(rate) => *rate,
            None if self.spec.rows.varies_rate_of(self.spec.optimizers[optimizer].id) => self.rows[row],
            None => self.columns[column],
        }
    }

    /// Returns the index of a candidate's learning rate among those of the optimizer.
    pub fn rate_of(&self, optimizer: usize, candidate: usize) -> usize {
        candidate % self.learning_rates[optimizer].len().max(1)
    }

    /// Returns the value that a candidate has of a tuned setting, by the setting's index among those of the optimizer.
    pub fn tuned_value(&self, optimizer: usize, tuned: usize, candidate: usize) -> f64 {
        let variant = candidate / self.learning_rates[optimizer].len().max(1);
        self.tuned[optimizer][tuned][index_in(&self.spec.optimizers[optimizer].tune, tuned, variant)]
    }

    pub fn tuned_values(&self, optimizer: usize) -> &[Vec<f64>] {
        &self.tuned[optimizer]
    }

    /// Returns the results of a pixel, if known.
    pub fn cell(&self, [row, column]: [usize; 2]) -> Option<&Arc<Cell>> {
        self.cells[row * self.columns.len() + column].as_ref()
    }

    /// Inserts the results of a pixel, unless it already has results from more runs.
    pub fn insert(&mut self, [row, column]: [usize; 2], cell: Cell) {
        let all = self.spec.replicates.get();
        let present = &mut self.cells[row * self.columns.len() + column];
        let (runs, was_complete) = present.as_ref().map_or((0, false), |known| (known.runs(), known.is_complete(all)));
        if runs <= cell.runs() && (cell.is_complete(all) || !was_complete) {
            self.complete += usize::from(cell.is_complete(all)) - usize::from(was_complete);
            self.runs += cell.runs() - runs;
            self.shares = Arc::default();
            *present = Some(Arc::new(cell));
        }
    }

    /// Inserts the pixels of races that are not over.
    pub fn insert_races(&mut self, races: impl IntoIterator<Item = ([usize; 2], Race)>) {
        let Sampling::Adaptive(adaptive) = self.spec.sampling else { return };
        let rules = RaceRules::new(&self.spec, &adaptive);
        for (pixel, race) in races {
            let cell = Cell::of_race(&Arc::new(race), &self.spec, &rules);
            self.insert(pixel, cell);
        }
    }

    /// Returns the race from which a pixel continues, if one was begun.
    pub fn race(&self, pixel: [usize; 2]) -> Option<&Arc<Race>> {
        self.cell(pixel)?.sampled.as_ref()?.race.as_ref()
    }

    pub fn runs(&self) -> u64 {
        self.runs
    }

    /// Returns the shares of Adam's gradients at a pixel, if known; see [`adam_shares`](super::adam_shares).
    pub fn shares(&self, [row, column]: [usize; 2]) -> Option<Shares> {
        self.shares.get(row * self.columns.len() + column).copied().filter(Shares::is_known)
    }

    /// Returns whether the shares are computed.
    pub fn has_shares(&self) -> bool {
        !self.shares.is_empty()
    }

    /// Sets the shares of all pixels, row by row.
    pub fn set_shares(&mut self, shares: Vec<Shares>) {
        assert_eq!(shares.len(), self.cells.len(), "each pixel has shares");
        self.shares = shares.into();
    }

    /// Returns the number of pixels.
    pub fn cell_count(&self) -> usize {
        self.cells.len()
    }

    /// Returns the pixel itself if it is known, else the middle of the smallest square block around it whose middle is
    /// known. So a sweep from coarse to fine is displayed.
    pub fn known_near(&self, pixel: [usize; 2]) -> Option<[usize; 2]> {
        let shape = self.spec.shape();
        let (largest, finest) = (2 * shape[0].max(shape[1]), first_picture_block(shape));
        let blocks = std::iter::successors(Some(1), |block| Some(2 * block)).take_while(|block| *block < largest);
        blocks.map(|block| center(shape, pixel, block, finest)).find(|middle| self.cell(*middle).is_some())
    }

    /// Returns whether the coarsest picture of a sweep from coarse to fine is complete.
    pub fn has_coarse_picture(&self) -> bool {
        self.knows_blocks_of(coarsest_block(self.spec.shape()))
    }

    /// Returns whether the first picture is complete, which a sweep from coarse to fine computes before whole pixels.
    pub fn has_first_picture(&self) -> bool {
        self.knows_blocks_of(first_picture_block(self.spec.shape()))
    }

    /// Returns the side of the smallest square blocks whose pixels are all known; none before the coarsest picture.
    pub fn finest_blocks(&self) -> Option<usize> {
        halved(coarsest_block(self.spec.shape())).take_while(|block| self.knows_blocks_of(*block)).last()
    }

    fn knows_blocks_of(&self, block: usize) -> bool {
        centers(self.spec.shape(), block).all(|pixel| self.cell(pixel).is_some())
    }

    /// Returns the diagram with every unknown pixel replaced by the known one near it.
    pub fn filled(&self) -> Diagram {
        let cells: Vec<_> = self.spec.pixels().map(|pixel| self.cell(self.known_near(pixel)?).cloned()).collect();
        let all = self.spec.replicates.get();
        Diagram {
            spec: Arc::clone(&self.spec),
            rows: self.rows.clone(),
            columns: self.columns.clone(),
            learning_rates: self.learning_rates.clone(),
            tuned: self.tuned.clone(),
            complete: cells.iter().flatten().filter(|cell| cell.is_complete(all)).count(),
            runs: cells.iter().flatten().map(|cell| cell.runs()).sum(),
            cells,
            shares: Arc::clone(&self.shares),
        }
    }

    /// Returns the number of pixels whose results are final: from all replicates, or with adaptive sampling, those that
    /// are decided or have used up their budget.
    pub fn complete(&self) -> usize {
        self.complete
    }

    pub fn is_complete(&self) -> bool {
        self.complete() == self.cells.len()
    }
}

/// The smallest number of rows and columns of a first picture, if the diagram has that many.
const PREVIEW_SHAPE: [usize; 2] = [12, 13];
/// The smallest number of blocks of the coarser pictures before it, if the diagram has that many pixels.
const COARSEST: usize = 9;

/// Returns a block's side, half of it, and so on to 1.
pub(super) fn halved(block: usize) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(block), |block| Some(block / 2)).take_while(|block| *block > 0)
}

/// Returns the side of the square blocks of the first picture, which has one pixel of each.
pub(super) fn first_picture_block(shape: [usize; 2]) -> usize {
    doubled(1, shape, |[rows, columns]| rows >= PREVIEW_SHAPE[0] && columns >= PREVIEW_SHAPE[1])
}

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
