//! The runs of one pixel.

use std::marker::PhantomData;
use std::ops::Range;
use std::sync::atomic::AtomicBool;

use super::backend::Backend;
use super::kernel::{Metrics, NOISE_BLOCK, Noise, RunBatch, StepBlocks, ToyProblem};
use super::nd_batch::NdProblem;
use super::pixel_key::PixelKey;
use super::point::Point;
use super::runs::{Runs, append};
use super::shared_noise::{LaneAssignment, SharedNoiseBatch};
use super::spec::SweepSpec;
use crate::instructions::{OfSet, OwnFunction, VectorSet, WideWork};
use crate::landscape::StartPlace;
use crate::lanes::{Lanes, Planar, Real};
use crate::optimizer::{BiasCorrection, Need, Rule, with_rule, zero_state};
use crate::random::Normals;

/// Computes the runs of some replicates at a pixel, for each optimizer in the order of the spec. Returns `None` if
/// `cancelled` before the end.
pub fn pixel_runs(
    backend: Backend,
    spec: &SweepSpec,
    [row, column]: [usize; 2],
    replicates: Range<usize>,
    cancelled: &AtomicBool,
) -> Option<Vec<Runs>> {
    let point = spec.point(row, column);
    let work = PixelRuns { spec, point: &point, key: PixelKey::new(spec, row, column), replicates, cancelled };
    backend.run(work)
}

struct PixelRuns<'a> {
    spec: &'a SweepSpec,
    point: &'a Point,
    key: PixelKey,
    replicates: Range<usize>,
    cancelled: &'a AtomicBool,
}

impl WideWork for PixelRuns<'_> {
    type Output = Option<Vec<Runs>>;

    #[inline(always)]
    fn run<S: VectorSet, const N: usize, V>(self) -> Option<Vec<Runs>>
    where
        V: Normals<N, Number: Real + Into<f64>> + Planar + OfSet,
    {
        if self.point.dimension.get() > 2 {
            return NdProblem::new(self.spec, self.point).runs::<S, N, V>(self.key, self.replicates, self.cancelled);
        }
        if self.key.common {
            return self.common::<S, N, V>();
        }
        let mut all = Vec::with_capacity(self.point.optimizers.len());
        for (index, optimizer) in self.point.optimizers.iter().enumerate() {
            let runs = with_rule!(optimizer.rule.kind(), R => {
                S::in_function(Independent::<N, V, R> { pixel: &self, index, of: PhantomData })
            });
            all.push(runs?);
        }
        Some(all)
    }
}

/// The runs of an optimizer, each with noise of its own.
struct Independent<'a, const N: usize, V, R> {
    pixel: &'a PixelRuns<'a>,
    index: usize,
    of: PhantomData<(V, R)>,
}

impl<const N: usize, V, R: Rule> OwnFunction for Independent<'_, N, V, R>
where
    V: Normals<N, Number: Real + Into<f64>> + Planar + OfSet,
{
    type Output = Option<Runs>;
    type Home = R;

    #[inline(always)]
    fn run(self) -> Option<Runs> {
        self.pixel.independent::<N, V, R>(self.index)
    }
}

/// The run of an optimizer in a lane.
#[derive(Clone, Copy)]
struct Lane {
    rate: usize,
    replicate: usize,
}

impl PixelRuns<'_> {
    /// Computes all runs of an optimizer, each with noise of its own. Lanes hold runs of any learning rate and
    /// replicate.
    #[inline(always)]
    fn independent<const N: usize, V, R: Rule>(&self, index: usize) -> Option<Runs>
    where
        V: Normals<N, Number: Real + Into<f64>> + Planar + OfSet,
    {
        let point = &self.point.optimizers[index];
        let count = point.learning_rates.len() * self.replicates.len();
        let lane_of = |run: usize| {
            // Lanes beyond the last run repeat it.
            let run = run.min(count - 1);
            Lane { rate: run / self.replicates.len(), replicate: self.replicates.start + run % self.replicates.len() }
        };
        let mut metrics = Vec::with_capacity(count);
        let problem = ToyProblem::of(self.point);
        let [mut noise, mut curvature_noise] = [Noise::<V>::new(); 2];
        while metrics.len() < count {
            let first = metrics.len();
            let lane = |index: usize| lane_of(first + index);
            let mut generator = V::generator(&std::array::from_fn(|index| {
                let Lane { rate, replicate } = lane(index);
                self.key.of_run(point.id, rate, replicate)
            }));
            let mut curvature_generator = R::info(&point.rule).needs(Need::Curvature).then(|| {
                V::generator(&std::array::from_fn(|index| {
                    let Lane { rate, replicate } = lane(index);
                    self.key.of_curvature(point.id, rate, replicate)
                }))
            });
            let rates = Lanes::from_fn(|index| V::Number::splat(point.learning_rates[lane(index).rate]));
            let start = self.start(V::normal_pair(&mut generator));
            let mut batch = RunBatch::new(&problem.landscape, start, V::from_lanes(rates));
            let mut state: R::State<V::Both> = zero_state::<R, V::Both>();
            let mut bias = BiasCorrection::START;
            let mut blocks = StepBlocks::new(self.point.steps.get(), NOISE_BLOCK, self.cancelled);
            loop {
                let steps = blocks.next();
                if steps == 0 {
                    break;
                }
                noise.draw(&problem.noise, &mut generator, steps);
                if let Some(generator) = &mut curvature_generator {
                    curvature_noise.draw(&problem.noise, generator, steps);
                }
                let noise = [&noise, &curvature_noise];
                bias = problem.advance::<N, V, R>(point, bias, &mut batch, &mut state, noise, steps);
            }
            if !blocks.are_through() {
                return None;
            }
            append::<N, V>(&mut metrics, batch.metrics(), count);
        }
        Some(Runs { replicates: self.replicates.len(), metrics })
    }

    /// Computes all runs of all optimizers, with noise that is drawn once for each replicate.
    #[inline(always)]
    fn common<S: VectorSet, const N: usize, V>(&self) -> Option<Vec<Runs>>
    where
        V: Normals<N, Number: Real + Into<f64>> + Planar + OfSet,
    {
        let problem = ToyProblem::of(self.point);
        let count = self.replicates.len();
        let empty = |rates: usize| Runs { replicates: count, metrics: vec![UNKNOWN; rates * count] };
        let mut all: Vec<Runs> =
            self.point.optimizers.iter().map(|optimizer| empty(optimizer.learning_rates.len())).collect();
        let [mut noise, mut curvature_noise] = [Noise::<V>::new(); 2];
        let has_curvature = self.point.optimizers.iter().any(|optimizer| optimizer.rule.info().needs(Need::Curvature));
        for first in self.replicates.clone().step_by(N) {
            let layout = LaneAssignment::new::<N>(self.replicates.end - first);
            let mut generator =
                V::generator(&std::array::from_fn(|lane| self.key.of_run(0, 0, first + layout.replicate(lane))));
            let curvature_key = |lane| self.key.of_curvature(0, 0, first + layout.replicate(lane));
            let mut curvature_generator = V::generator(&std::array::from_fn(curvature_key));
            let start = self.start(V::normal_pair(&mut generator));
            let batch = |optimizer| SharedNoiseBatch::new::<N>(optimizer, layout, &problem.landscape, start);
            let mut batches: Vec<SharedNoiseBatch<'_, V>> = self.point.optimizers.iter().map(batch).collect();
            let mut blocks = StepBlocks::new(self.point.steps.get(), NOISE_BLOCK, self.cancelled);
            loop {
                let steps = blocks.next();
                if steps == 0 {
                    break;
                }
                noise.draw(&problem.noise, &mut generator, steps);
                if has_curvature {
                    curvature_noise.draw(&problem.noise, &mut curvature_generator, steps);
                }
                for batch in &mut batches {
                    batch.advance::<S, N>(&problem, [&noise, &curvature_noise], steps);
                }
            }
            if !blocks.are_through() {
                return None;
            }
            let here = first - self.replicates.start;
            for (batch, runs) in batches.iter().zip(&mut all) {
                let mut rows = runs.metrics.chunks_mut(count);
                for metrics in batch.metrics() {
                    let mut lanes = Vec::with_capacity(N);
                    append::<N, V>(&mut lanes, metrics, N);
                    for (lanes, row) in lanes.chunks_exact(layout.replicates).zip(&mut rows) {
                        row[here..here + layout.replicates].copy_from_slice(lanes);
                    }
                }
            }
        }
        Some(all)
    }

    #[inline(always)]
    fn start<V: Real>(&self, normals: [V; 2]) -> [V; 2] {
        let spread = V::splat(self.spec.start_spread.get());
        let StartPlace { x, y } = self.spec.start();
        let center = [x.get(), y.get()];
        // Without a sum where the centre is 0: there −0 stays −0.
        let coordinate = |axis: usize| match center[axis] {
            0.0 => spread * normals[axis],
            center => spread.mul_add(normals[axis], V::splat(center)),
        };
        [coordinate(0), coordinate(1)]
    }
}

const UNKNOWN: Metrics<f64> = Metrics { final_loss: f64::NAN, smallest_loss: f64::NAN, depth: f64::NAN };
