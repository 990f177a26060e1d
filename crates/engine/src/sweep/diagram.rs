//! The results of a sweep: the metrics of runs, the cell of a pixel, and the diagram of all pixels.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::adaptive::Sampling;
use super::adaptive::allocation::{Race, RaceRules};
use super::axis::{Tuned, index_in};
use super::plane::Metrics;
use super::spec::SweepSpec;
use super::uniform_certainty::{
    Estimate, FEWEST_TO_BE_SURE, Gap, Splits, mean_and_deviation, mean_or, median, with_one_nan,
};
use super::work::{center, centers, coarsest_block, first_picture_block, halved};
use crate::landscape::{Coordinate, LandscapeSpec};
use crate::random::Normals;

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
            *present = Some(Arc::new(cell));
        }
    }

    /// Inserts the pixels of races that are not over.
    pub fn insert_races(&mut self, races: impl IntoIterator<Item = ([usize; 2], Race)>) {
        let Sampling::Adaptive(adaptive) = self.spec.sampling else { return };
        let rules = RaceRules::new(&self.spec, &adaptive);
        for (pixel, race) in races {
            let cell = Arc::new(race).cell(&self.spec, &rules);
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

/// The best average of an optimizer over its candidates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Score {
    pub value: f64,
    /// The index of the candidate; of equal ones the smallest.
    pub best: usize,
}

/// The winner by a metric, and its gaps to the others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The optimizer with the best score; none if the best scores are equal.
    pub winner: Option<usize>,
    /// The gap between the winner and each optimizer; unknown for the winner itself, and without a winner.
    pub gaps: Vec<Gap>,
    /// The error probabilities of adaptive sampling, by the sweep's own metric: for each optimizer a bound of the probability of
    /// as much evidence against it if it were the best; 0 for the winner. Empty by other metrics and with uniform sampling, where
    /// the winner's certainty follows from the gaps.
    pub error_probabilities: Vec<f64>,
}

impl Comparison {
    /// Returns the optimizer nearest to the winner, and the certainty of the lead over it: from 0.5 and less, if chance
    /// alone would suffice, to 1. With uniform sampling the nearest is the one with the smallest gap in standard errors. With
    /// adaptive sampling it is the one with the best score: runs stop as soon as the winner is certain, so that neither standard
    /// errors nor error probabilities rank the optimizers.
    pub fn rival(&self) -> Option<(usize, f64)> {
        if !self.error_probabilities.is_empty() {
            let others = (0..self.gaps.len()).filter(|index| Some(*index) != self.winner);
            let nearest = others.min_by(|a, b| self.gaps[*a].value.total_cmp(&self.gaps[*b].value));
            return nearest.map(|index| (index, 1.0 - self.error_probabilities[index]));
        }
        let known = self.gaps.iter().enumerate().filter_map(|(index, gap)| Some((index, gap, gap.certainty()?)));
        // If errors are 0, and so the ratios infinite, the smallest gap decides.
        let nearest = known.min_by(|(_, a, _), (_, b, _)| {
            (a.value / a.error).total_cmp(&(b.value / b.error)).then(a.value.total_cmp(&b.value))
        });
        nearest.map(|(index, _, certainty)| (index, certainty))
    }

    /// Returns the certainty of the winner: 1 minus the probabilities that another optimizer is truly better.
    pub fn certainty(&self) -> Option<f64> {
        if !self.error_probabilities.is_empty() {
            // One of the others at most is the best, so that their probabilities are not added.
            return Some(1.0 - self.error_probabilities.iter().copied().fold(0.0, f64::max));
        }
        let others = self.gaps.iter().enumerate().filter(|(index, _)| Some(*index) != self.winner);
        let error_probability =
            others.map(|(_, gap)| gap.certainty().map(|certainty| 1.0 - certainty)).sum::<Option<f64>>()?;
        self.winner.map(|_| (1.0 - error_probability).max(0.0))
    }
}

/// The replicates that adaptive sampling has given to a pixel, and what follows from them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sampled {
    /// The replicates of each optimizer and candidate.
    pub replicates: Vec<Vec<u32>>,
    /// For each optimizer a bound of the distance between its score and the winner's, which holds with about the requested
    /// certainty; empty without a winner.
    pub apart: Vec<f64>,
    /// Whether the pixel has no further runs: it is decided, or its budget is used up.
    pub is_over: bool,
    /// The race that is not over, from which the pixel continues; results from a file have none.
    #[serde(skip)]
    pub race: Option<Arc<Race>>,
}

/// The results of the runs of one pixel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// The number of replicates behind the results; with adaptive sampling, the largest of a candidate.
    pub replicates: usize,
    /// The averages over replicates of the three metrics, for each optimizer and candidate.
    pub averages: Vec<Vec<[f64; 3]>>,
    /// The population standard deviations of the three metrics, for each optimizer and candidate; NaN if a run is
    /// not finite.
    pub deviations: Vec<Vec<[f64; 3]>>,
    /// The number of runs that have diverged, for each optimizer: whose last loss is not finite.
    pub diverged: Vec<u32>,
    /// The comparison by each of the three metrics.
    pub comparisons: [Comparison; 3],
    /// The replicates that adaptive sampling has given to the pixel; none with uniform sampling.
    pub sampled: Option<Sampled>,
}

impl Cell {
    /// The smallest number of replicates that determine the certainty of a winner.
    pub const FEWEST_TO_BE_SURE: usize = FEWEST_TO_BE_SURE;

    /// Summarises the runs of each optimizer. With `paired`, runs of the same replicate share their noise.
    pub fn new(runs: &[Runs], average: Average, paired: bool) -> Cell {
        let replicates = runs.first().map_or(0, |runs| runs.replicates);
        let tables = Metric::ALL.map(|metric| runs.iter().map(|runs| Table::new(runs, metric)).collect::<Vec<_>>());
        let per_candidate = |of: &dyn Fn(&Table, usize) -> f64| -> Vec<Vec<[f64; 3]>> {
            let optimizers = 0..runs.len();
            optimizers
                .map(|optimizer| {
                    let candidates = 0..tables[0][optimizer].candidates();
                    candidates
                        .map(|candidate| [0, 1, 2].map(|metric| of(&tables[metric][optimizer], candidate)))
                        .collect()
                })
                .collect()
        };
        let averages = per_candidate(&|table, candidate| average.of(table.values(candidate), table.metric));
        let deviations = per_candidate(&|table, candidate| mean_and_deviation(table.values(candidate), f64::NAN)[1]);
        let diverged = runs
            .iter()
            .map(|runs| runs.metrics.iter().filter(|metrics| !metrics.final_loss.is_finite()).count() as u32);
        let diverged = diverged.collect();
        let mut cell = Cell { replicates, averages, deviations, diverged, comparisons: [UNDECIDED; 3], sampled: None };
        let splits = Splits::of(replicates);
        cell.comparisons = Metric::ALL.map(|metric| {
            let winner = cell.winner(metric);
            let gaps = winner.zip(splits.as_ref()).map(|(winner, splits)| {
                let tables = &tables[metric as usize];
                splits.gaps(tables, winner, average, paired)
            });
            let gaps = gaps.unwrap_or_else(|| vec![Gap::UNKNOWN; runs.len()]);
            Comparison { winner, gaps, error_probabilities: Vec::new() }
        });
        cell
    }

    /// Returns whether no further runs follow in a sweep with these replicates.
    pub fn is_complete(&self, replicates: usize) -> bool {
        self.sampled.as_ref().map_or(self.replicates == replicates, |sampled| sampled.is_over)
    }

    pub fn replicates_of(&self, optimizer: usize, candidate: usize) -> usize {
        self.sampled.as_ref().map_or(self.replicates, |sampled| sampled.replicates[optimizer][candidate] as usize)
    }

    pub fn runs(&self) -> u64 {
        match &self.sampled {
            Some(sampled) => sampled.replicates.iter().flatten().map(|count| u64::from(*count)).sum(),
            None => (self.averages.iter().map(Vec::len).sum::<usize>() * self.replicates) as u64,
        }
    }

    /// Returns the best average of an optimizer over its candidates.
    pub fn score(&self, optimizer: usize, metric: Metric) -> Score {
        let values = self.averages[optimizer].iter().map(|averages| averages[metric as usize]);
        let mut best = Score { value: metric.worst(), best: 0 };
        for (candidate, value) in values.enumerate() {
            if metric.is_better(value, best.value) {
                best = Score { value, best: candidate };
            }
        }
        best
    }

    /// Returns the population standard deviation of an optimizer's metric of its best candidate.
    pub fn score_deviation(&self, optimizer: usize, metric: Metric) -> f64 {
        self.deviations[optimizer][self.score(optimizer, metric).best][metric as usize]
    }

    pub fn comparison(&self, metric: Metric) -> &Comparison {
        &self.comparisons[metric as usize]
    }

    /// Returns the optimizer whose score is better than all others'; none if the best scores are equal.
    pub fn winner(&self, metric: Metric) -> Option<usize> {
        let scores: Vec<f64> = (0..self.averages.len()).map(|index| self.score(index, metric).value).collect();
        let ahead_of_all = |index: &usize| {
            let others = scores.iter().enumerate().filter(|(other, _)| other != index);
            others.clone().count() > 0 && others.clone().all(|(_, other)| metric.is_better(scores[*index], *other))
        };
        (0..scores.len()).find(ahead_of_all)
    }
}

const UNDECIDED: Comparison = Comparison { winner: None, gaps: Vec::new(), error_probabilities: Vec::new() };

/// The metric by which runs are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Metric {
    /// The loss after the last step; the smaller, the better.
    #[default]
    FinalLoss,
    /// The smallest loss after any step; the smaller, the better.
    SmallestLoss,
    /// The largest u after any step, on a landscape of which u is a [metric](crate::landscape::LandscapeMetric); the
    /// larger, the better.
    Depth,
}

impl Metric {
    pub const ALL: [Metric; 3] = [Metric::FinalLoss, Metric::SmallestLoss, Metric::Depth];

    /// Returns the name in file formats.
    pub fn name(self) -> &'static str {
        match self {
            Metric::FinalLoss => "final_loss",
            Metric::SmallestLoss => "smallest_loss",
            Metric::Depth => "depth",
        }
    }

    /// Lists the metrics by which runs on a landscape are compared.
    pub fn of(landscape: &LandscapeSpec) -> impl Iterator<Item = Metric> + use<> {
        let landscape = *landscape;
        Metric::ALL.into_iter().filter(move |metric| metric.is_of(&landscape))
    }

    /// Returns whether runs on this landscape are compared by the metric.
    pub fn is_of(self, landscape: &LandscapeSpec) -> bool {
        match self {
            Metric::FinalLoss | Metric::SmallestLoss => true,
            Metric::Depth => landscape.metric(Coordinate::U).is_some(),
        }
    }

    /// Returns the name that is shown for runs on this landscape.
    pub fn label(self, landscape: &LandscapeSpec) -> &'static str {
        match self {
            Metric::FinalLoss => "final loss",
            Metric::SmallestLoss => "smallest loss",
            Metric::Depth => landscape.metric(Coordinate::U).map_or("largest u", |metric| metric.name),
        }
    }

    /// Returns the value that replaces one that is not finite.
    pub(super) fn worst(self) -> f64 {
        match self {
            Metric::FinalLoss | Metric::SmallestLoss => f64::INFINITY,
            Metric::Depth => f64::NEG_INFINITY,
        }
    }

    /// Returns the metric's value of a run; not finite if the final loss is not, as such a run has lost, whatever its
    /// earlier losses.
    pub(super) fn of_run(self, run: &Metrics<f64>) -> f64 {
        match self {
            Metric::FinalLoss => run.final_loss,
            _ if !run.final_loss.is_finite() => f64::NAN,
            Metric::SmallestLoss => run.smallest_loss,
            Metric::Depth => run.depth,
        }
    }

    /// Returns the advantage of `this` over `that`, positive if it is better.
    pub fn advantage(self, this: f64, that: f64) -> f64 {
        match self {
            Metric::FinalLoss | Metric::SmallestLoss => that - this,
            Metric::Depth => this - that,
        }
    }

    pub(crate) fn is_better(self, this: f64, that: f64) -> bool {
        match self {
            Metric::FinalLoss | Metric::SmallestLoss => this < that,
            Metric::Depth => this > that,
        }
    }
}

/// The kind of average of a metric over replicates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Average {
    /// The mean, as in the paper; one run that is not finite spoils it.
    #[default]
    Mean,
    Median,
}

impl Average {
    pub fn of(self, values: &[f64], metric: Metric) -> f64 {
        let worst = metric.worst();
        match self {
            Average::Mean => mean_or(values, worst),
            Average::Median => median(values, worst),
        }
    }

    pub(super) fn estimate(self, values: &[f64], worst: f64) -> Option<Estimate> {
        match self {
            Average::Mean => Estimate::of_mean(values, worst),
            Average::Median => Estimate::of_median(values, worst),
        }
    }
}

/// The values of one metric of an optimizer's runs.
pub(super) struct Table {
    pub metric: Metric,
    pub replicates: usize,
    /// The values, candidates before replicates.
    values: Vec<f64>,
}

impl Table {
    pub(super) fn new(runs: &Runs, metric: Metric) -> Table {
        let values = runs.metrics.iter().map(|run| metric.of_run(run)).collect();
        Table { metric, replicates: runs.replicates, values }
    }

    pub(super) fn candidates(&self) -> usize {
        self.values.len() / self.replicates
    }

    pub(super) fn values(&self, candidate: usize) -> &[f64] {
        &self.values[candidate * self.replicates..][..self.replicates]
    }
}

/// The results of the runs of one optimizer at one pixel: candidates before replicates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Runs {
    /// The number of replicates of each candidate.
    pub replicates: usize,
    /// The metrics, at the index `candidate × replicates + replicate`.
    pub metrics: Vec<Metrics<f64>>,
}

impl Runs {
    /// Appends the replicates of `later` to those of these runs.
    pub(super) fn followed_by(&self, later: &Runs) -> Runs {
        let candidates = self.metrics.chunks(self.replicates).zip(later.metrics.chunks(later.replicates));
        let metrics = candidates.flat_map(|(these, those)| these.iter().chain(those)).copied().collect();
        Runs { replicates: self.replicates + later.replicates, metrics }
    }
}

/// Appends the metrics of at most `most` lanes.
#[inline(always)]
pub(super) fn append<const N: usize, V>(all: &mut Vec<Metrics<f64>>, metrics: Metrics<V>, most: usize)
where
    V: Normals<N, Number: Into<f64>>,
{
    let lanes = metrics.map(V::to_lanes);
    for lane in 0..N.min(most) {
        all.push(Metrics {
            final_loss: with_one_nan(lanes.final_loss.0[lane].into()),
            smallest_loss: with_one_nan(lanes.smallest_loss.0[lane].into()),
            depth: with_one_nan(lanes.depth.0[lane].into()),
        });
    }
}
