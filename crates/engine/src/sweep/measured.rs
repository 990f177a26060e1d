//! The shares of Adam's gradients at a pixel: why its step is small there.

use super::axis::{Point, PointOptimizer};
use super::cell::Cell;
use super::pixel_runs::{Backend, start};
use super::plane::{Noise, RunBatch, ToyProblem};
use super::runs::{PixelKey, Run, RunLanes};
use super::space::{Arena, NdBatch, NdProblem};
use super::spec::SweepSpec;
use crate::instructions::{OfSet, VectorSet, WideWork};
use crate::lanes::{Planar, Real};
use crate::noise::{Action, GradientNoise};
use crate::optimizer::{Adam, BiasCorrection, Rates, Rule, zero_state};
use crate::random::Normals;
use crate::shares::{AverageBias, GradientAverages, Shares};

/// Computes the shares of the gradients of Adam's runs at a pixel whose results are known: of the runs of its best
/// candidate by the sweep's metric, over the last half of the steps. Signal, square and noise are summed over these
/// steps and the runs before they are divided. The variance of the noise is the known one, so that multiplicative noise
/// has the share σ²/(1 + σ²).
///
/// Unknown in a sweep without Adam, and where a run diverges. The runs are computed again by `backend`, with the same
/// keys; their bits do not depend on the vectors' width.
pub fn adam_shares(backend: Backend, spec: &SweepSpec, pixel: [usize; 2], cell: &Cell) -> Shares {
    let Some(adam) = spec.adam() else { return Shares::UNKNOWN };
    let candidate = cell.score(adam, spec.metric).best;
    let point = spec.point(pixel[0], pixel[1]);
    let replicates = cell.replicates_of(adam, candidate);
    let key = spec.pixel_key(pixel[0], pixel[1]);
    let optimizer = &point.optimizers[adam];
    backend.run(MeasuredRuns { spec, point: &point, optimizer, key, candidate, replicates })
}

/// Runs of a candidate of Adam.
struct MeasuredRuns<'a> {
    spec: &'a SweepSpec,
    point: &'a Point,
    optimizer: &'a PointOptimizer,
    key: PixelKey,
    candidate: usize,
    replicates: usize,
}

impl WideWork for MeasuredRuns<'_> {
    type Output = Shares;

    #[inline(always)]
    fn run<S: VectorSet, const N: usize, V>(self) -> Shares
    where
        V: Normals<N, Number: Real + Into<f64>> + Planar + OfSet,
    {
        let MeasuredRuns { optimizer, key, candidate, .. } = self;
        let runs: Vec<Run> = (0..self.replicates).map(|replicate| Run { candidate, replicate }).collect();
        let mut all = [0.0; 3];
        for runs in runs.chunks(N) {
            let lanes = RunLanes { optimizer, key, runs };
            let sums = match self.point.dimension.get() {
                2 => self.on_plane::<N, V>(&lanes),
                _ => self.in_space::<N, V>(&lanes),
            };
            for (all, sum) in all.iter_mut().zip(sums.sums) {
                let lanes = sum.to_lanes();
                for lane in 0..runs.len() {
                    *all += lanes.0[lane].into();
                }
            }
        }
        Shares::of_sums(all)
    }
}

impl MeasuredRuns<'_> {
    /// Sums up the terms of runs on the plane.
    #[inline(always)]
    fn on_plane<const N: usize, V>(&self, lanes: &RunLanes<'_>) -> TermSums<V>
    where
        V: Normals<N, Number: Real + Into<f64>> + Planar + OfSet,
    {
        let problem = ToyProblem::of(self.point);
        let variant = lanes.variant();
        let mut generator = lanes.generator::<N, V>();
        let theta = start(self.spec, V::normal_pair(&mut generator));
        let mut batch = RunBatch::new(&problem.landscape, theta, lanes.learning_rates::<N, V>());
        let mut state: <Adam as Rule>::State<V::Both> = zero_state::<Adam, V::Both>();
        let (mut bias, mut draws) = (BiasCorrection::START, Noise::<V>::new());
        let mut averages = [GradientAverages::start(); 2];
        let mut sums = TermSums::new(self.point.steps.get());
        for _ in 0..self.point.steps.get() {
            let gradient = problem.exact_gradient(&batch);
            for (averages, gradient) in averages.iter_mut().zip(gradient) {
                *averages = averages.after(gradient, variance(&problem.noise, gradient));
            }
            sums.add(&averages);
            draws.draw(&problem.noise, &mut generator, 1);
            bias = problem.advance::<N, V, Adam>(variant, bias, &mut batch, &mut state, [&draws, &draws], 1);
        }
        sums
    }

    /// Sums up the terms of runs in more than two dimensions.
    #[inline(always)]
    fn in_space<const N: usize, V>(&self, lanes: &RunLanes<'_>) -> TermSums<V>
    where
        V: Normals<N, Number: Real + Into<f64>> + OfSet,
    {
        let problem = NdProblem::new(self.spec, self.point);
        let variant = lanes.variant();
        let rates = Rates {
            learning_rate: lanes.learning_rates::<N, V>(),
            weight_decay: V::splat(variant.rule.weight_decay()),
            is_cautious: variant.rule.is_cautious(),
        };
        let mut generator = lanes.generator::<N, V>();
        let mut batch = NdBatch::<N, V, Adam>::new(&problem, rates, &mut generator, None);
        let arena = Arena::new(problem.valley.direction.len());
        let mut averages = vec![GradientAverages::start(); problem.valley.direction.len()];
        let mut sums = TermSums::new(self.point.steps.get());
        for _ in 0..self.point.steps.get() {
            let slopes = problem.valley.slopes(batch.terms);
            for (coordinate, averages) in averages.iter_mut().enumerate() {
                let gradient = problem.valley.gradient(slopes, coordinate, batch.theta[coordinate]);
                *averages = averages.after(gradient, variance(&problem.noise, gradient));
            }
            sums.add(&averages);
            batch.step(&problem, variant, &arena, &mut generator);
        }
        sums
    }
}

/// The variance of a coordinate's noise where the exact gradient is `gradient`.
#[inline(always)]
fn variance<V: Real>(noise: &GradientNoise, gradient: V) -> V {
    let variance = V::splat(noise.sigma * noise.sigma);
    match noise.action {
        Action::Multiplies => variance * gradient * gradient,
        Action::Adds => variance,
    }
}

/// Sums of the terms m², q and n over the last half of the steps and the coordinates, a number for each run.
struct TermSums<V> {
    sums: [V; 3],
    bias: AverageBias,
    step: usize,
    /// The steps that are left out.
    first_half: usize,
}

impl<V: Real> TermSums<V> {
    #[inline(always)]
    fn new(steps: usize) -> Self {
        TermSums { sums: [V::splat(0.0); 3], bias: AverageBias::START, step: 0, first_half: steps / 2 }
    }

    /// Adds the coordinates' averages after a step.
    #[inline(always)]
    fn add(&mut self, averages: &[GradientAverages<V>]) {
        self.bias = self.bias.after_step();
        self.step += 1;
        if self.step <= self.first_half {
            return;
        }
        let factors = self.bias.factors();
        for coordinate in averages {
            let terms = coordinate.terms();
            for of in 0..3 {
                self.sums[of] = terms[of].mul_add(V::splat(factors[of]), self.sums[of]);
            }
        }
    }
}
