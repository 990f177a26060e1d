//! The steps of external optimizers: of many runs at a time, of any pixels, that share a learning rate.

use super::axis::Point;
use super::external::ExternalRun;
use super::pixel_runs::{Backend, Precision, start};
use super::plane::{RunBatch, ToyProblem};
use super::runs::{Metrics, append};
use super::spec::SweepSpec;
use crate::instructions::{OfSet, VectorSet, WideWork};
use crate::lanes::{Arithmetic, Lanes, Planar, Real};
use crate::optimizer::ExternalStep;
use crate::random::Normals;

/// Computes runs of an optimizer that share their learning rate, in double precision, with the starts and the noise of
/// the sweep's streams. Returns their metrics in order, or `None` if a step returned false.
pub fn external_metrics(spec: &SweepSpec, runs: &[ExternalRun], step: ExternalStep<'_>) -> Option<Vec<Metrics<f64>>> {
    Backend::new(Precision::Double).run(SteppedRuns { spec, runs, step })
}

struct SteppedRuns<'a> {
    spec: &'a SweepSpec,
    runs: &'a [ExternalRun],
    step: ExternalStep<'a>,
}

/// Runs of one pixel, as many as a vector has numbers.
struct Block<V: Planar, G> {
    /// The index of the pixel's problem.
    problem: usize,
    /// The index of the first run, and their number.
    first: usize,
    count: usize,
    steps: usize,
    generator: G,
    batch: RunBatch<V>,
}

impl WideWork for SteppedRuns<'_> {
    type Output = Option<Vec<Metrics<f64>>>;

    #[inline(always)]
    fn run<S: VectorSet, const N: usize, V>(self) -> Option<Vec<Metrics<f64>>>
    where
        V: Normals<N, Number: Real + Into<f64>> + Planar + OfSet,
    {
        let (mut problems, mut blocks) = (Vec::new(), Vec::new());
        let id = self.runs.first().map_or(0, |run| self.spec.optimizers[run.optimizer].id);
        let mut theta = vec![0.0; 2 * self.runs.len()];
        let mut gradient = vec![0.0; 2 * self.runs.len()];
        for of_pixel in self.runs.chunk_by(|one, next| one.pixel == next.pixel) {
            let point = self.spec.point(of_pixel[0].pixel[0], of_pixel[0].pixel[1]);
            problems.push(ToyProblem::of(&point));
            let first = blocks.last().map_or(0, |block: &Block<V, V::Generator>| block.first + block.count);
            for (index, runs) in of_pixel.chunks(N).enumerate() {
                let problem = problems.len() - 1;
                blocks.push(self.block::<N, V>(&problems[problem], &point, problem, first + index * N, runs));
            }
        }
        for block in &blocks {
            write(&mut theta, block.first, block.count, block.batch.theta());
        }
        for step in 0..blocks.iter().map(|block| block.steps).max().unwrap_or(0) {
            for block in &mut blocks {
                // Runs whose steps are over stay where they are, as far as their gradient is concerned.
                let next = match step < block.steps {
                    true => problems[block.problem].next_gradient::<N, V>(&block.batch, &mut block.generator),
                    false => [V::splat(0.0); 2],
                };
                write(&mut gradient, block.first, block.count, next);
            }
            if !(self.step)(id, &mut theta, &gradient) {
                return None;
            }
            for block in blocks.iter_mut().filter(|block| step < block.steps) {
                let after = read::<N, V>(&theta, block.first, block.count);
                problems[block.problem].step_to::<N, V>(&mut block.batch, after);
            }
        }
        let mut metrics = Vec::with_capacity(self.runs.len());
        blocks.iter().for_each(|block| append::<N, V>(&mut metrics, block.batch.metrics(), block.count));
        Some(metrics)
    }
}

impl SteppedRuns<'_> {
    /// Begins at most N runs of a pixel.
    #[inline(always)]
    fn block<const N: usize, V>(
        &self,
        of: &ToyProblem,
        point: &Point,
        problem: usize,
        first: usize,
        runs: &[ExternalRun],
    ) -> Block<V, V::Generator>
    where
        V: Normals<N, Number: Real + Into<f64>> + Planar + OfSet,
    {
        let key = self.spec.pixel_key(runs[0].pixel[0], runs[0].pixel[1]);
        // Numbers beyond the last run repeat it.
        let mut generator = V::generator(&std::array::from_fn(|index| {
            let run = &runs[index.min(runs.len() - 1)];
            key.of_run(point.optimizers[run.optimizer].id, run.candidate, run.replicate)
        }));
        let theta = start(self.spec, V::normal_pair(&mut generator));
        let batch = RunBatch::new(&of.landscape, theta, V::splat(0.0));
        Block { problem, first, count: runs.len(), steps: point.steps.get(), generator, batch }
    }
}

/// Writes x and y of `count` runs from the run `first`.
#[inline(always)]
fn write<const N: usize, V>(all: &mut [f64], first: usize, count: usize, of: [V; 2])
where
    V: Normals<N, Number: Real + Into<f64>>,
{
    let [x, y] = [of[0].to_lanes(), of[1].to_lanes()];
    for (lane, pair) in all[2 * first..][..2 * count].chunks_exact_mut(2).enumerate() {
        pair.copy_from_slice(&[x.0[lane].into(), y.0[lane].into()]);
    }
}

/// Reads x and y of `count` runs from the run `first`; the numbers beyond repeat the last.
#[inline(always)]
fn read<const N: usize, V>(all: &[f64], first: usize, count: usize) -> [V; 2]
where
    V: Normals<N, Number: Real + Into<f64>>,
{
    let mut lanes = [Lanes([V::Number::splat(0.0); N]); 2];
    for lane in 0..N {
        let at = 2 * (first + lane.min(count - 1));
        lanes[0].0[lane] = V::Number::splat(all[at]);
        lanes[1].0[lane] = V::Number::splat(all[at + 1]);
    }
    [V::from_lanes(lanes[0]), V::from_lanes(lanes[1])]
}
