//! The runs of one pixel: their random streams, their backend, and how they are split into vectors.

use std::marker::PhantomData;
use std::ops::Range;
use std::sync::atomic::AtomicBool;

use serde::{Deserialize, Serialize};

use super::axis::{Point, PointOptimizer};
use super::external::ExternalRunsAt;
use super::plane::{LaneAssignment, NOISE_BLOCK, Noise, RunBatch, StepBlocks, ToyProblem, VariantRuns};
use super::runs::{Metrics, PixelKey, Run, RunLanes, Runs, append, of_all_candidates, of_equal_variant};
use super::space::RunsInSpace;
use super::spec::SweepSpec;
use crate::instructions::{Instructions, OfSet, OwnFunction, VectorSet, WideWork, vectorized};
use crate::landscape::StartPosition;
use crate::lanes::{Planar, Real};
use crate::optimizer::{BiasCorrection, Need, Rule, RuleKind, with_rule, zero_state};
use crate::random::Normals;

/// Computes the runs of some replicates at a pixel, for each optimizer in the order of the spec. Returns `None` if
/// `cancelled` before the end. Those of external optimizers are unknown: NaN.
pub fn pixel_runs(
    backend: Backend,
    spec: &SweepSpec,
    [row, column]: [usize; 2],
    replicates: Range<usize>,
    cancelled: &AtomicBool,
) -> Option<Vec<Runs>> {
    let point = spec.point(row, column);
    let pixel = PixelRuns { spec, point: &point, key: spec.pixel_key(row, column), external: None, cancelled };
    all_runs(backend, pixel, replicates)
}

/// Computes the runs of some replicates, for each optimizer. Returns `None` if cancelled before the end, or if a run of
/// an external optimizer is not known.
pub(super) fn all_runs(backend: Backend, pixel: PixelRuns<'_>, replicates: Range<usize>) -> Option<Vec<Runs>> {
    backend.run(AllRuns { pixel, replicates })
}

#[derive(Clone, Copy)]
pub(super) struct PixelRuns<'a> {
    pub spec: &'a SweepSpec,
    pub point: &'a Point,
    pub key: PixelKey,
    /// The runs of external optimizers at the pixel.
    pub external: Option<ExternalRunsAt<'a>>,
    pub cancelled: &'a AtomicBool,
}

/// Some runs of an optimizer.
#[derive(Clone, Copy)]
pub(super) struct SomeRuns<'a> {
    pub pixel: PixelRuns<'a>,
    pub optimizer: usize,
    pub runs: &'a [Run],
}

impl WideWork for SomeRuns<'_> {
    type Output = Option<Vec<Metrics<f64>>>;

    #[inline(always)]
    fn run<S: VectorSet, const N: usize, V>(self) -> Option<Vec<Metrics<f64>>>
    where
        V: Normals<N, Number: Real + Into<f64>> + Planar + OfSet,
    {
        let SomeRuns { pixel, optimizer, runs } = self;
        if pixel.point.optimizers[optimizer].kind() == RuleKind::External {
            return pixel.external(optimizer, runs);
        }
        let is_on_plane = pixel.point.dimension.get() == 2;
        with_rule!(pixel.point.optimizers[optimizer].kind(), R => {
            if is_on_plane {
                S::in_function(RunsOnPlane::<N, V, R> { runs: self, of: PhantomData })
            } else {
                S::in_function(RunsInSpace::<N, V, R> { runs: self, of: PhantomData })
            }
        })
    }
}

/// The runs of some replicates, of all candidates of all optimizers.
struct AllRuns<'a> {
    pixel: PixelRuns<'a>,
    replicates: Range<usize>,
}

impl WideWork for AllRuns<'_> {
    type Output = Option<Vec<Runs>>;

    #[inline(always)]
    fn run<S: VectorSet, const N: usize, V>(self) -> Option<Vec<Runs>>
    where
        V: Normals<N, Number: Real + Into<f64>> + Planar + OfSet,
    {
        let AllRuns { pixel, replicates } = self;
        if !pixel.knows_external(|optimizer| of_all_candidates(&pixel.point.optimizers[optimizer], replicates.clone()))
        {
            return None;
        }
        let is_on_plane = pixel.point.dimension.get() == 2;
        if is_on_plane && pixel.key.common {
            let mut all = pixel.common::<S, N, V>(replicates.clone())?;
            for (optimizer, of) in pixel.point.optimizers.iter().enumerate() {
                if of.kind() == RuleKind::External {
                    all[optimizer].metrics = pixel.external(optimizer, &of_all_candidates(of, replicates.clone()))?;
                }
            }
            return Some(all);
        }
        let mut all = Vec::with_capacity(pixel.point.optimizers.len());
        for (optimizer, of) in pixel.point.optimizers.iter().enumerate() {
            let runs = of_all_candidates(of, replicates.clone());
            let metrics = SomeRuns { pixel, optimizer, runs: &runs }.run::<S, N, V>()?;
            all.push(Runs { replicates: replicates.len(), metrics });
        }
        Some(all)
    }
}

/// Runs of an optimizer on the plane with the rule `R`, each with noise of its own.
struct RunsOnPlane<'a, const N: usize, V, R> {
    runs: SomeRuns<'a>,
    of: PhantomData<(V, R)>,
}

impl<const N: usize, V, R: Rule> OwnFunction for RunsOnPlane<'_, N, V, R>
where
    V: Normals<N, Number: Real + Into<f64>> + Planar + OfSet,
{
    type Output = Option<Vec<Metrics<f64>>>;
    type Home = R;

    #[inline(always)]
    fn run(self) -> Option<Vec<Metrics<f64>>> {
        let SomeRuns { pixel, optimizer, runs } = self.runs;
        let optimizer = &pixel.point.optimizers[optimizer];
        let mut metrics = Vec::with_capacity(runs.len());
        let problem = ToyProblem::of(pixel.point);
        let [mut noise, mut curvature_noise] = [Noise::<V>::new(); 2];
        for runs in of_equal_variant(optimizer, runs, N) {
            let lanes = RunLanes { optimizer, key: pixel.key, runs };
            let variant = lanes.variant();
            let mut generator = lanes.generator::<N, V>();
            let has_curvature = R::info(&variant.rule).needs(Need::Curvature);
            let mut curvature_generator = has_curvature.then(|| lanes.curvature_generator::<N, V>());
            let start = start(pixel.spec, V::normal_pair(&mut generator));
            let mut batch = RunBatch::new(&problem.landscape, start, lanes.learning_rates::<N, V>());
            let mut state: R::State<V::Both> = zero_state::<R, V::Both>();
            let mut bias = BiasCorrection::START;
            let mut blocks = StepBlocks::new(pixel.point.steps.get(), NOISE_BLOCK, pixel.cancelled);
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
                bias = problem.advance::<N, V, R>(variant, bias, &mut batch, &mut state, noise, steps);
            }
            if !blocks.are_through() {
                return None;
            }
            append::<N, V>(&mut metrics, batch.metrics(), runs.len());
        }
        Some(metrics)
    }
}

impl PixelRuns<'_> {
    /// The runs of an external optimizer: unknown ones are NaN where nobody computes them, and else `None`.
    fn external(&self, optimizer: usize, runs: &[Run]) -> Option<Vec<Metrics<f64>>> {
        match &self.external {
            Some(external) => external.metrics(optimizer, runs),
            None => Some(vec![UNKNOWN; runs.len()]),
        }
    }

    /// Whether all of some runs of the external optimizers are known. Those that are not are noted as missing.
    pub(super) fn knows_external(&self, runs_of: impl Fn(usize) -> Vec<Run>) -> bool {
        let optimizers = self.point.optimizers.iter().enumerate();
        let external = optimizers.filter(|(_, of)| of.kind() == RuleKind::External);
        // `external` also records a run that is missing. `count` calls it for every optimizer, where `all` would stop.
        external.filter(|(optimizer, _)| self.external(*optimizer, &runs_of(*optimizer)).is_none()).count() == 0
    }

    /// Computes the runs of some replicates on the plane, with noise that is drawn once for each replicate.
    #[inline(always)]
    fn common<S: VectorSet, const N: usize, V>(&self, replicates: Range<usize>) -> Option<Vec<Runs>>
    where
        V: Normals<N, Number: Real + Into<f64>> + Planar + OfSet,
    {
        let problem = ToyProblem::of(self.point);
        let count = replicates.len();
        let optimizers = &self.point.optimizers;
        let empty = |candidates: usize| Runs { replicates: count, metrics: vec![UNKNOWN; candidates * count] };
        let mut all: Vec<Runs> = optimizers.iter().map(|optimizer| empty(optimizer.candidates())).collect();
        let [mut noise, mut curvature_noise] = [Noise::<V>::new(); 2];
        for first in replicates.clone().step_by(N) {
            let layout = LaneAssignment::new::<N>(replicates.end - first);
            let runs: [Run; N] =
                std::array::from_fn(|lane| Run { candidate: 0, replicate: first + layout.replicate(lane) });
            let lanes = RunLanes { optimizer: &optimizers[0], key: self.key, runs: &runs };
            let [mut generator, mut curvature_generator] =
                [lanes.generator::<N, V>(), lanes.curvature_generator::<N, V>()];
            let start = start(self.spec, V::normal_pair(&mut generator));
            let of_variant = |(of, variant): (&'_ PointOptimizer, _)| {
                VariantRuns::new::<N>(variant, &of.learning_rates, layout, &problem.landscape, start)
            };
            let variants = optimizers.iter().flat_map(|of| of.variants.iter().map(move |variant| (of, variant)));
            let mut batches: Vec<VariantRuns<'_, V>> = variants.map(of_variant).collect();
            let has_curvature = batches.iter().any(VariantRuns::needs_curvature);
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
            let here = first - replicates.start;
            let mut batches = batches.iter();
            for (runs, optimizer) in all.iter_mut().zip(optimizers) {
                let of_variants = runs.metrics.chunks_mut(count * optimizer.learning_rates.len());
                for (runs, batch) in of_variants.zip(&mut batches) {
                    let mut rows = runs.chunks_mut(count);
                    for metrics in batch.metrics() {
                        let mut lanes = Vec::with_capacity(N);
                        append::<N, V>(&mut lanes, metrics, N);
                        for (lanes, row) in lanes.chunks_exact(layout.replicates).zip(&mut rows) {
                            row[here..here + layout.replicates].copy_from_slice(lanes);
                        }
                    }
                }
            }
        }
        Some(all)
    }
}

/// The start of runs on the plane, for these draws.
#[inline(always)]
pub(super) fn start<V: Real>(spec: &SweepSpec, normals: [V; 2]) -> [V; 2] {
    let spread = V::splat(spec.start_spread.get());
    let StartPosition { x, y } = spec.start();
    let center = [x.get(), y.get()];
    // Without a sum where the centre is 0: there −0 stays −0.
    let coordinate = |axis: usize| match center[axis] {
        0.0 => spread * normals[axis],
        center => spread.mul_add(normals[axis], V::splat(center)),
    };
    [coordinate(0), coordinate(1)]
}

pub(super) const UNKNOWN: Metrics<f64> = Metrics { final_loss: f64::NAN, smallest_loss: f64::NAN, depth: f64::NAN };

/// Floating-point precision of the runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Precision {
    /// 24 bits, the default for sweeps.
    #[default]
    Single,
    /// 53 bits, as a check of single precision.
    Double,
}

impl Precision {
    pub const ALL: [Precision; 2] = [Precision::Single, Precision::Double];

    /// Returns the name on the command line and in result files.
    pub fn name(self) -> &'static str {
        match self {
            Precision::Single => "f32",
            Precision::Double => "f64",
        }
    }
}

/// The precision and the vector instructions of the runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backend {
    precision: Precision,
    instructions: Instructions,
}

impl Backend {
    /// Creates a backend that computes in this precision, in the widest registers of this processor.
    pub fn new(precision: Precision) -> Backend {
        Backend { precision, instructions: Instructions::widest() }
    }

    pub fn with_instructions(precision: Precision, instructions: Instructions) -> Backend {
        Backend { precision, instructions }
    }

    pub fn precision(&self) -> Precision {
        self.precision
    }

    pub fn instructions(&self) -> Instructions {
        self.instructions
    }

    pub(super) fn run<W: WideWork>(self, work: W) -> W::Output {
        in_precision(self.instructions, self.precision, work)
    }
}

vectorized! {
    in S: instructions;
    /// Runs the work in vectors of a precision.
    fn in_precision<W: WideWork>(instructions: Instructions; precision: Precision, work: W) -> W::Output {
        match precision {
            Precision::Single => S::in_singles(work),
            Precision::Double => S::in_doubles(work),
        }
    }
}
