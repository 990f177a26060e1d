//! The diagram of a sweep, filled in while it is computed.

use std::sync::Arc;

use super::cell::Cell;
use super::race::{Race, Racing};
use super::sampling::Sampling;
use super::spec::SweepSpec;
use super::tasks::{center, centers, coarsest_block, first_picture_block, halved};
use super::tuned::{Tuned, index_in};

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
    /// The number of pixels whose results are final.
    complete: usize,
    /// The number of runs of all pixels.
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

    /// Returns the learning rate of a candidate at a pixel.
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

    /// Returns the value that a candidate has of a tuned setting, by the setting's place among those of the optimizer.
    pub fn tuned_value(&self, optimizer: usize, tuned: usize, candidate: usize) -> f64 {
        let variant = candidate / self.learning_rates[optimizer].len().max(1);
        self.tuned[optimizer][tuned][index_in(&self.spec.optimizers[optimizer].tune, tuned, variant)]
    }

    /// Returns the values of each tuned setting of an optimizer.
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
        let place = &mut self.cells[row * self.columns.len() + column];
        let (runs, was_complete) = place.as_ref().map_or((0, false), |known| (known.runs(), known.is_complete(all)));
        if runs <= cell.runs() && (cell.is_complete(all) || !was_complete) {
            self.complete += usize::from(cell.is_complete(all)) - usize::from(was_complete);
            self.runs += cell.runs() - runs;
            *place = Some(Arc::new(cell));
        }
    }

    /// Inserts the pixels of races that are not over.
    pub fn insert_races(&mut self, races: impl IntoIterator<Item = ([usize; 2], Race)>) {
        let Sampling::Adaptive(adaptive) = self.spec.sampling else { return };
        let racing = Racing::new(&self.spec, &adaptive);
        for (pixel, race) in races {
            let cell = Arc::new(race).cell(&self.spec, &racing);
            self.insert(pixel, cell);
        }
    }

    /// Returns the race from which a pixel continues, if one was begun.
    pub fn race(&self, pixel: [usize; 2]) -> Option<&Arc<Race>> {
        self.cell(pixel)?.sampled.as_ref()?.race.as_ref()
    }

    /// Returns the number of runs of all pixels.
    pub fn runs(&self) -> u64 {
        self.runs
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
        }
    }

    /// Returns the number of pixels whose results are final: from all replicates, or with adaptive sampling, those that are
    /// decided or have used up their budget.
    pub fn complete(&self) -> usize {
        self.complete
    }

    pub fn is_complete(&self) -> bool {
        self.complete() == self.cells.len()
    }
}
