//! Whole runs in more than two dimensions.

use std::ops::Range;
use std::sync::atomic::AtomicBool;

use super::kernel::{Metrics, Stretches};
use super::spec::{Point, PointOptimizer, SweepSpec};
use super::tile::{PixelKey, Runs, append};
use crate::landscape::{Place, ValleyInSpace};
use crate::lanes::{Lanes, Real, Vector};
use crate::optimizer::{Adam, Clock, Focus, Optimizer, Sgd, Signum};
use crate::random::{Key, Normals};
use crate::simulation::Configured;

/// Where the runs of a pixel take place when there are more than two dimensions.
pub(super) struct Space<'a> {
    spec: &'a SweepSpec,
    point: &'a Point,
    valley: ValleyInSpace,
}

/// Steps between two looks at whether the sweep is cancelled.
const STRETCH: usize = 16;

impl<'a> Space<'a> {
    pub fn new(spec: &'a SweepSpec, point: &'a Point) -> Self {
        let direction = direction(spec.seed, point.dimension.get());
        let landscape = &point.landscape;
        let valley = ValleyInSpace { sharpness: landscape.sharpness.get(), slope: landscape.slope.get(), direction };
        Space { spec, point, valley }
    }

    #[inline(always)]
    pub fn runs<const N: usize, V>(
        &self,
        key: PixelKey,
        replicates: Range<usize>,
        cancelled: &AtomicBool,
    ) -> Option<Vec<Runs>>
    where
        V: Normals<N, Number: Real + Into<f64>>,
    {
        let job = Job { key, replicates, cancelled };
        let mut all = Vec::with_capacity(self.point.optimizers.len());
        for optimizer in &self.point.optimizers {
            all.push(match optimizer.rule.configured() {
                Configured::Adam(adam) => self.of_optimizer::<N, V, Adam>(&adam, optimizer, &job)?,
                Configured::Signum(signum) => self.of_optimizer::<N, V, Signum>(&signum, optimizer, &job)?,
                Configured::Focus(focus) => self.of_optimizer::<N, V, Focus>(&focus, optimizer, &job)?,
                Configured::Sgd(sgd) => self.of_optimizer::<N, V, Sgd>(&sgd, optimizer, &job)?,
            });
        }
        Some(all)
    }

    #[inline(always)]
    fn of_optimizer<const N: usize, V, O: Optimizer>(
        &self,
        optimizer: &O,
        point: &PointOptimizer,
        job: &Job<'_>,
    ) -> Option<Runs>
    where
        V: Normals<N, Number: Real + Into<f64>>,
    {
        let replicates = job.replicates.len();
        let count = point.learning_rates.len() * replicates;
        let mut metrics = Vec::with_capacity(count);
        while metrics.len() < count {
            let first = metrics.len();
            // Lanes beyond the last run repeat it.
            let lane_of = |lane: usize| {
                let run = (first + lane).min(count - 1);
                (run / replicates, job.replicates.start + run % replicates)
            };
            let rates = Lanes::from_fn(|lane| V::Number::splat(point.learning_rates[lane_of(lane).0]));
            let mut generator = V::generator(&std::array::from_fn(|lane| {
                let (rate, replicate) = lane_of(lane);
                job.key.of_run(point.id, rate, replicate)
            }));
            let mut crew = Crew::<N, V, O>::new(self, optimizer, V::from_lanes(rates), &mut generator);
            let mut stretches = Stretches::new(self.point.steps.get(), STRETCH, job.cancelled);
            loop {
                let steps = stretches.next();
                if steps == 0 {
                    break;
                }
                for _ in 0..steps {
                    crew.step(self, optimizer, &mut generator);
                }
            }
            if !stretches.are_through() {
                return None;
            }
            append::<N, V>(&mut metrics, crew.metrics, count);
        }
        Some(Runs { replicates, metrics })
    }
}

struct Job<'a> {
    key: PixelKey,
    replicates: Range<usize>,
    cancelled: &'a AtomicBool,
}

/// A vector of runs.
struct Crew<const N: usize, V: Vector<N>, O: Optimizer> {
    learning_rate: V,
    clock: Clock,
    theta: Vec<V>,
    memory: Vec<O::Memory<V>>,
    place: Place<V>,
    metrics: Metrics<V>,
}

impl<const N: usize, V: Normals<N>, O: Optimizer> Crew<N, V, O> {
    #[inline(always)]
    fn new(space: &Space<'_>, optimizer: &O, learning_rate: V, generator: &mut V::Generator) -> Self {
        let spread = V::splat(space.spec.start_spread.get());
        let dimension = space.valley.direction.len();
        let mut theta = Vec::with_capacity(dimension + 1);
        while theta.len() < dimension {
            theta.extend(V::normal_pair(generator).map(|normal| spread * normal));
        }
        theta.truncate(dimension);
        let metrics =
            Metrics { final_loss: V::splat(f64::NAN), smallest_loss: V::splat(f64::INFINITY), depth: V::splat(0.0) };
        let place = space.valley.place(&theta);
        Crew { learning_rate, clock: Clock::START, theta, memory: vec![optimizer.fresh(); dimension], place, metrics }
    }

    #[inline(always)]
    fn step(&mut self, space: &Space<'_>, optimizer: &O, generator: &mut V::Generator) {
        self.clock = optimizer.tick(self.clock);
        let factors = O::with_learning_rate(optimizer.factors::<V>(&self.clock), self.learning_rate);
        let (valley, noise) = (&space.valley, V::splat(space.point.noise.get()));
        let slopes = valley.slopes(self.place);
        for (pair, thetas) in self.theta.chunks_mut(2).enumerate() {
            let draws = V::normal_pair(generator);
            for (within, theta) in thetas.iter_mut().enumerate() {
                let coordinate = 2 * pair + within;
                let gradient = valley.gradient(slopes, coordinate, *theta);
                let noisy = gradient * draws[within].mul_add(noise, V::splat(1.0));
                let (memory, moved) = O::step(&factors, *theta, noisy, self.memory[coordinate]);
                self.memory[coordinate] = memory;
                *theta = moved.theta;
            }
        }
        self.place = valley.place(&self.theta);
        let loss = valley.loss(self.place);
        self.metrics = Metrics {
            final_loss: loss,
            smallest_loss: loss.smaller(self.metrics.smallest_loss),
            depth: self.place.u.larger(self.metrics.depth),
        };
    }
}

/// A direction from the uniform distribution on the sphere, that of a sweep with this seed.
fn direction(seed: u64, dimension: usize) -> Vec<f64> {
    let mut generator = Lanes::<f64, 8>::generator(&std::array::from_fn(|_| Key::new(seed).at(u64::MAX)));
    let mut draws: Vec<f64> = Vec::with_capacity(dimension + 1);
    while draws.len() < dimension {
        draws.extend(Lanes::normal_pair(&mut generator).map(|normal: Lanes<f64, 8>| normal.0[0]));
    }
    draws.truncate(dimension);
    let length = draws.iter().map(|draw| draw * draw).sum::<f64>().sqrt();
    draws.iter().map(|draw| draw / length).collect()
}
