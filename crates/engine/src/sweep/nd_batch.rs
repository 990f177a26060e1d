//! Whole runs in more than two dimensions.

use std::marker::PhantomData;
use std::sync::atomic::AtomicBool;

use super::coordinates::{Arena, Coordinates};
use super::kernel::{Metrics, StepBlocks};
use super::pixel_key::PixelKey;
use super::pixel_runs::{Run, of_equal_variant};
use super::point::{Point, PointOptimizer, Variant};
use super::runs::append;
use super::spec::SweepSpec;
use crate::instructions::{OfSet, OwnFunction, VectorSet};
use crate::landscape::{ValleyInSpace, ValleyTerms};
use crate::lanes::{Lanes, Real};
use crate::noise::{Action, GradientNoise};
use crate::optimizer::{
    Batch, BiasCorrection, Need, NoBatch, Numbers, Rates, Rule, RuleInput, RuleSpec, with_rule, zero_state,
};
use crate::random::{Key, Normals};

/// The valley, the noise and the steps of the runs of a pixel in more than two dimensions.
pub(super) struct NdProblem<'a> {
    spec: &'a SweepSpec,
    point: &'a Point,
    valley: ValleyInSpace,
    noise: GradientNoise,
}

/// The number of steps between two checks for cancellation.
const STEP_BLOCK: usize = 16;

impl<'a> NdProblem<'a> {
    pub(super) fn new(spec: &'a SweepSpec, point: &'a Point) -> Self {
        let direction = direction(spec.seed, point.dimension.get());
        let [sharpness, slope] = point.landscape.valley().expect("only the valley has more than two dimensions");
        let valley = ValleyInSpace { sharpness, slope, direction };
        NdProblem { spec, point, valley, noise: point.noise.noise() }
    }

    /// Computes runs of an optimizer.
    #[inline(always)]
    pub(super) fn runs_of<S: VectorSet, const N: usize, V>(
        &self,
        optimizer: usize,
        runs: &[Run],
        key: PixelKey,
        cancelled: &AtomicBool,
    ) -> Option<Vec<Metrics<f64>>>
    where
        V: Normals<N, Number: Real + Into<f64>> + OfSet,
    {
        let point = &self.point.optimizers[optimizer];
        let job = Job { runs, key, cancelled };
        with_rule!(point.kind(), R => {
            S::in_function(OfOptimizer::<N, V, R> { problem: self, point, job, of: PhantomData })
        })
    }

    #[inline(always)]
    fn of_optimizer<const N: usize, V, R: Rule>(
        &self,
        point: &PointOptimizer,
        job: &Job<'_>,
    ) -> Option<Vec<Metrics<f64>>>
    where
        V: Normals<N, Number: Real + Into<f64>> + OfSet,
    {
        let mut metrics = Vec::with_capacity(job.runs.len());
        let arena = Arena::new(self.valley.direction.len());
        for runs in of_equal_variant(point, job.runs, N) {
            let variant = point.variant(runs[0].candidate);
            // Lanes beyond the last run repeat it.
            let lane_of = |lane: usize| runs[lane.min(runs.len() - 1)];
            let learning_rates = Lanes::from_fn(|lane| V::Number::splat(point.learning_rate(lane_of(lane).candidate)));
            let rates = Rates {
                learning_rate: V::from_lanes(learning_rates),
                weight_decay: <V as Real>::splat(variant.rule.weight_decay()),
                is_cautious: variant.rule.is_cautious(),
            };
            let mut generator = V::generator(&std::array::from_fn(|lane| {
                let Run { candidate, replicate } = lane_of(lane);
                job.key.of_run(point.id, candidate, replicate)
            }));
            let curvature_generator = R::info(&variant.rule).needs(Need::Curvature).then(|| {
                V::generator(&std::array::from_fn(|lane| {
                    let Run { candidate, replicate } = lane_of(lane);
                    job.key.of_curvature(point.id, candidate, replicate)
                }))
            });
            let mut batch = NdBatch::<N, V, R>::new(self, rates, &mut generator, curvature_generator);
            let mut blocks = StepBlocks::new(self.point.steps.get(), STEP_BLOCK, job.cancelled);
            loop {
                let steps = blocks.next();
                if steps == 0 {
                    break;
                }
                for _ in 0..steps {
                    batch.step(self, variant, &arena, &mut generator);
                }
            }
            if !blocks.are_through() {
                return None;
            }
            append::<N, V>(&mut metrics, batch.metrics, runs.len());
        }
        Some(metrics)
    }
}

/// The runs of an optimizer.
struct OfOptimizer<'a, const N: usize, V, R> {
    problem: &'a NdProblem<'a>,
    point: &'a PointOptimizer,
    job: Job<'a>,
    of: PhantomData<(V, R)>,
}

impl<const N: usize, V, R: Rule> OwnFunction for OfOptimizer<'_, N, V, R>
where
    V: Normals<N, Number: Real + Into<f64>> + OfSet,
{
    type Output = Option<Vec<Metrics<f64>>>;
    type Home = R;

    #[inline(always)]
    fn run(self) -> Option<Vec<Metrics<f64>>> {
        self.problem.of_optimizer::<N, V, R>(self.point, &self.job)
    }
}

struct Job<'a> {
    runs: &'a [Run],
    key: PixelKey,
    cancelled: &'a AtomicBool,
}

/// A vector of runs.
struct NdBatch<const N: usize, V: Normals<N> + OfSet, R: Rule> {
    /// The rates, with the base of the learning rate, which is that without its schedule.
    rates: Rates<V>,
    bias: BiasCorrection,
    theta: Vec<V>,
    /// The states of each coordinate.
    states: Vec<R::State<V>>,
    /// The gradient of each coordinate, for rules that are not element-wise; the noise of gradient and curvature, as
    /// factors or terms, follows.
    gradient: Vec<V>,
    noise: Vec<V>,
    curvature_noise: Vec<V>,
    curvature_generator: Option<V::Generator>,
    /// A buffer for one of the states, and for the parameters at which the gradient is computed, if not at θ.
    column: Vec<V>,
    terms: ValleyTerms<V>,
    metrics: Metrics<V>,
}

impl<const N: usize, V: Normals<N> + OfSet, R: Rule> NdBatch<N, V, R> {
    #[inline(always)]
    fn new(
        problem: &NdProblem<'_>,
        rates: Rates<V>,
        generator: &mut V::Generator,
        curvature_generator: Option<V::Generator>,
    ) -> Self {
        let spread = V::splat(problem.spec.start_spread.get());
        let dimension = problem.valley.direction.len();
        let mut theta = Vec::with_capacity(dimension + 1);
        while theta.len() < dimension {
            theta.extend(V::normal_pair(generator).map(|normal| spread * normal));
        }
        theta.truncate(dimension);
        let metrics =
            Metrics { final_loss: V::splat(f64::NAN), smallest_loss: V::splat(f64::INFINITY), depth: V::splat(0.0) };
        let terms = problem.valley.terms(&theta);
        let states = vec![zero_state::<R, V>(); dimension];
        let [gradient, noise, curvature_noise, column] = [(); 4].map(|()| vec![V::splat(0.0); dimension]);
        let bias = BiasCorrection::START;
        NdBatch {
            rates,
            bias,
            theta,
            states,
            gradient,
            noise,
            curvature_noise,
            curvature_generator,
            column,
            terms,
            metrics,
        }
    }

    #[inline(always)]
    fn step(
        &mut self,
        problem: &NdProblem<'_>,
        Variant { rule, schedule }: &Variant,
        arena: &Arena<V>,
        generator: &mut V::Generator,
    ) {
        let rate = schedule.factor(self.bias.steps + 1);
        let rates = Rates { learning_rate: self.rates.learning_rate * <V as Real>::splat(rate), ..self.rates };
        self.bias = self.bias.after::<R>(rule, rate);
        let coefficients = self.bias.coefficients::<R, V>(rule);
        let (valley, noise) = (&problem.valley, &problem.noise);
        let [sigma, mean] = [noise.sigma, noise.mean].map(V::splat);
        if let Some(index) = R::GRADIENT_TOWARD {
            let part = V::splat(R::part_toward(&rule.hyper::<R>()));
            for coordinate in 0..self.theta.len() {
                let toward = self.states[coordinate].as_ref()[index];
                self.column[coordinate] = Real::mul_add(toward, part, self.theta[coordinate]);
            }
            self.terms = valley.terms(&self.column);
        }
        let slopes = valley.slopes(self.terms);
        let is_of_elements = rule.needs_gradient_only();
        for (pair, thetas) in self.theta.chunks_mut(2).enumerate() {
            let draws: [V; 2] = draw(noise, generator);
            for (within, theta) in thetas.iter_mut().enumerate() {
                let coordinate = 2 * pair + within;
                let at = if R::GRADIENT_TOWARD.is_some() { self.column[coordinate] } else { *theta };
                let gradient = valley.gradient(slopes, coordinate, at);
                let drawn = draws[within].mul_add(sigma, mean);
                let noisy = noise.action.apply_to(gradient, drawn);
                if is_of_elements {
                    let seen = RuleInput { rates, theta: *theta, gradient: noisy, batch: NoBatch };
                    let moved = R::step_in_place(&coefficients, seen, &mut self.states[coordinate]);
                    *theta = moved.theta;
                } else {
                    self.gradient[coordinate] = noisy;
                    self.noise[coordinate] = drawn;
                }
            }
        }
        if let Some(generator) = &mut self.curvature_generator {
            for drawn in self.curvature_noise.chunks_mut(2) {
                for (drawn, draw) in drawn.iter_mut().zip(draw::<N, V>(noise, generator)) {
                    *drawn = draw.mul_add(sigma, mean);
                }
            }
        }
        if !is_of_elements {
            self.step_whole(problem, rule, rates, arena);
        }
        self.terms = valley.terms(&self.theta);
        let loss = valley.loss(self.terms);
        self.metrics = Metrics {
            final_loss: loss,
            smallest_loss: loss.smaller(self.metrics.smallest_loss),
            depth: self.terms.u.larger(self.metrics.depth),
        };
    }

    /// Steps the parameter as a whole along [`NdBatch::gradient`].
    #[inline(always)]
    fn step_whole(&mut self, problem: &NdProblem<'_>, rule: &RuleSpec, rates: Rates<V>, arena: &Arena<V>) {
        arena.clear();
        let coefficients = self.bias.coefficients::<R, Coordinates<'_, V>>(rule);
        let Rates { learning_rate, weight_decay, is_cautious } = rates;
        let rates = Rates {
            learning_rate: Coordinates::Same(learning_rate),
            weight_decay: Coordinates::Same(weight_decay),
            is_cautious,
        };
        let theta = arena.number(&self.theta);
        let batch = SpaceBatch {
            valley: &problem.valley,
            arena,
            theta,
            terms: self.terms,
            action: problem.noise.action,
            noise: arena.number(&self.noise),
            curvature_noise: arena.number(&self.curvature_noise),
        };
        let seen = RuleInput { rates, theta, gradient: arena.number(&self.gradient), batch };
        let state = Numbers::from_fn(|index| {
            for (column, state) in self.column.iter_mut().zip(&self.states) {
                *column = state.as_ref()[index];
            }
            arena.number(&self.column)
        });
        let (state, moved) = R::step(&coefficients, seen, state);
        for (coordinate, after) in self.states.iter_mut().enumerate() {
            *after = Numbers::from_fn(|index| state.as_ref()[index].value(coordinate));
        }
        moved.theta.write(&mut self.theta);
    }
}

/// Draws the noise of two coordinates.
#[inline(always)]
fn draw<const N: usize, V: Normals<N> + OfSet>(noise: &GradientNoise, generator: &mut V::Generator) -> [V; 2] {
    let mut draws = [V::normal_pair(generator)];
    noise.shape(&mut draws);
    draws[0]
}

/// The batch of a step in more than two dimensions.
#[derive(Clone, Copy)]
struct SpaceBatch<'a, V> {
    valley: &'a ValleyInSpace,
    arena: &'a Arena<V>,
    /// The parameters θ before the step, and their terms.
    theta: Coordinates<'a, V>,
    terms: ValleyTerms<V>,
    action: Action,
    /// The noise of each coordinate of the gradient, and of the curvature.
    noise: Coordinates<'a, V>,
    curvature_noise: Coordinates<'a, V>,
}

impl<'a, V: Real> Batch<Coordinates<'a, V>> for SpaceBatch<'a, V> {
    #[inline(always)]
    fn gradient_at(self, theta: Coordinates<'a, V>) -> Coordinates<'a, V> {
        let mut values = vec![V::splat(0.0); self.valley.direction.len()];
        theta.write(&mut values);
        let slopes = self.valley.slopes(self.valley.terms(&values));
        for (coordinate, value) in values.iter_mut().enumerate() {
            *value = self.valley.gradient(slopes, coordinate, *value);
        }
        self.action.apply_to(self.arena.number(&values), self.noise)
    }

    #[inline(always)]
    fn curvature(self) -> Coordinates<'a, V> {
        let mut values = vec![V::splat(0.0); self.valley.direction.len()];
        self.theta.write(&mut values);
        for (coordinate, value) in values.iter_mut().enumerate() {
            *value = self.valley.hessian_diagonal(self.terms, coordinate, *value);
        }
        self.action.apply_to(self.arena.number(&values), self.curvature_noise)
    }
}

/// Returns the valley's direction in a sweep with this seed, uniform on the sphere.
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
