//! Whole runs on the plane, many side by side: the innermost loop of a sweep.
//!
//! Batches of runs are stepped 32 steps at a time: first the noise of those steps is drawn, in short loops, then the
//! steps are taken. One long loop would be a longer chain of dependent operations than the processor's out-of-order
//! window holds. For the same reason x and y are stepped as one vector ([`crate::lanes::Planar`]) of eight registers,
//! each operation on all of them, and in single precision Adam divides by multiplying ([`crate::lanes`]), as operations
//! that wait for the one divider would stall the rest.
//!
//! Closures are avoided here: their bodies are not compiled for the vector instructions of the enclosing function.

use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, Ordering};

use super::axis::{Point, Variant};
use super::runs::Metrics;
use crate::instructions::{OfSet, OwnFunction, VectorSet};
use crate::landscape::{Landscape, Local};
use crate::lanes::{Arithmetic, Lanes, Planar, Real, Vector};
use crate::noise::{Action, GradientNoise};
use crate::optimizer::{BiasCorrection, Need, Numbers, PlaneBatch, Rates, Rule, RuleInput, SideBySide, with_rule};
use crate::random::Normals;

/// A vector of runs, one per lane.
#[derive(Clone, Copy)]
pub(super) struct RunBatch<V: Planar> {
    learning_rate: V::Both,
    /// The parameters x and y.
    theta: V::Both,
    /// The landscape at θ.
    local: Local<V>,
    metrics: Metrics<V>,
}

impl<V: Planar + OfSet> RunBatch<V> {
    /// Creates the runs before the first step.
    #[inline(always)]
    pub(super) fn new(landscape: &Landscape, theta: [V; 2], learning_rate: V) -> Self {
        let local = landscape.local(theta);
        let metrics = Metrics { final_loss: local.loss, smallest_loss: V::splat(f64::INFINITY), depth: V::splat(0.0) };
        RunBatch { learning_rate: V::both([learning_rate; 2]), theta: V::both(theta), local, metrics }
    }

    pub(super) fn metrics(&self) -> Metrics<V> {
        self.metrics
    }

    /// The parameters x and y.
    #[inline(always)]
    pub(super) fn theta(&self) -> [V; 2] {
        V::apart(self.theta)
    }
}

/// The number of steps whose noise is drawn at once, which fits into the L1 cache. Drawing and stepping in two loops
/// keeps the processor busy: in one loop, every step would wait for its draws.
pub(super) const NOISE_BLOCK: usize = 32;

/// Draws of the noise for x and y at each step of a block, with mean 0 and variance 1.
#[derive(Clone, Copy)]
pub(super) struct Noise<V>([[V; 2]; NOISE_BLOCK]);

impl<V: Real + OfSet> Noise<V> {
    #[inline(always)]
    pub(super) fn new() -> Self {
        Noise([[V::splat(0.0); 2]; NOISE_BLOCK])
    }

    /// Draws the noise of `steps` steps, at most a block.
    #[inline(always)]
    pub(super) fn draw<const N: usize>(&mut self, noise: &GradientNoise, generator: &mut V::Generator, steps: usize)
    where
        V: Normals<N>,
    {
        V::normal_pairs(generator, &mut self.0[..steps]);
        noise.shape(&mut self.0[..steps]);
    }
}

/// Returns the factors or terms `mean + σ n` for draws n of the noise.
#[inline(always)]
fn scaled<V: Planar>(noise: &GradientNoise, draws: [V; 2]) -> V::Both {
    V::both(draws).mul_add(V::Both::splat(noise.sigma), V::Both::splat(noise.mean))
}

/// The landscape and the noise of the runs. Steps with additive noise are taken on programs only, so that those on the
/// compiled valley need not ask for the kind of noise.
#[derive(Clone)]
pub(super) struct ToyProblem {
    pub landscape: Landscape,
    pub noise: GradientNoise,
}

impl ToyProblem {
    pub(super) fn of(point: &Point) -> ToyProblem {
        let (landscape, noise) = (&point.landscape, point.noise.noise());
        let landscape = match noise.action {
            Action::Multiplies => landscape.landscape(),
            Action::Adds => landscape.as_program(),
        };
        ToyProblem { landscape, noise }
    }

    /// Takes a step for each pair of draws with the rule `R` of an optimizer; returns the bias correction after them.
    /// Only rules that need it use the noise of the curvature.
    #[inline(always)]
    pub(super) fn advance<const N: usize, V: Vector<N> + Planar + OfSet, R: Rule>(
        &self,
        Variant { rule, schedule }: &Variant,
        mut bias: BiasCorrection,
        batch: &mut RunBatch<V>,
        state: &mut R::State<V::Both>,
        [noise, curvature_noise]: [&Noise<V>; 2],
        steps: usize,
    ) -> BiasCorrection {
        let (mut batch_in_registers, mut state_in_registers) = (*batch, *state);
        let mut rates = Rates {
            learning_rate: batch_in_registers.learning_rate,
            weight_decay: V::Both::splat(rule.weight_decay()),
            is_cautious: rule.is_cautious(),
        };
        let is_constant = schedule.is_constant();
        let mut rate = BiasCorrection::CONSTANT_RATE;
        let part_toward = V::Both::splat(R::part_toward(&rule.hyper::<R>()));
        let mut coefficients = bias.after::<R>(rule, rate).coefficients::<R, V::Both>(rule);
        for step in 0..steps.min(NOISE_BLOCK) {
            if !is_constant {
                rate = schedule.factor(bias.steps + 1);
                rates.learning_rate = batch_in_registers.learning_rate * V::Both::splat(rate);
            }
            bias = bias.after::<R>(rule, rate);
            bias.set_coefficients::<R, V::Both>(rule, &mut coefficients);
            let (batch, state) = (&mut batch_in_registers, &mut state_in_registers);
            let draws = [noise.0[step], curvature_noise.0[step]];
            self.step::<N, V, R>(&coefficients, rates, part_toward, batch, state, draws);
        }
        (*batch, *state) = (batch_in_registers, state_in_registers);
        bias
    }

    #[inline(always)]
    fn step<const N: usize, V: Vector<N> + Planar + OfSet, R: Rule>(
        &self,
        coefficients: &R::Coefficients<V::Both>,
        rates: Rates<V::Both>,
        part_toward: V::Both,
        batch: &mut RunBatch<V>,
        state: &mut R::State<V::Both>,
        [draws, curvature_draws]: [[V; 2]; 2],
    ) {
        let (at, local) = match R::GRADIENT_TOWARD {
            None => (V::apart(batch.theta), batch.local),
            Some(index) => {
                let at = V::apart(state.as_ref()[index].mul_add(part_toward, batch.theta));
                (at, self.landscape.local(at))
            }
        };
        let noise = scaled(&self.noise, draws);
        let gradient = self.noisy_gradient(&local, noise);
        let of_step = SideBySide(PlaneBatch {
            landscape: &self.landscape,
            at,
            action: self.noise.action,
            noise: V::apart(noise),
            curvature_noise: V::apart(scaled(&self.noise, curvature_draws)),
        });
        let seen = RuleInput { rates, theta: batch.theta, gradient, batch: of_step };
        let moved = R::step_in_place(coefficients, seen, state);
        self.move_to::<N, V>(batch, moved.theta);
    }

    /// The gradient where the landscape is `local`, with these factors or terms of noise.
    #[inline(always)]
    fn noisy_gradient<V: Planar + OfSet>(&self, local: &Local<V>, noise: V::Both) -> V::Both {
        let exact = V::both(self.landscape.gradient_at(local));
        match self.landscape {
            Landscape::Valley(_) => exact * noise,
            Landscape::Program(_) => self.noise.action.apply_to(exact, noise),
        }
    }

    /// The exact gradient of the runs, before the next step.
    #[inline(always)]
    pub(super) fn exact_gradient<V: Planar + OfSet>(&self, batch: &RunBatch<V>) -> [V; 2] {
        self.landscape.gradient_at(&batch.local)
    }

    /// Moves the runs to `theta`, the end of a step.
    #[inline(always)]
    fn move_to<const N: usize, V: Vector<N> + Planar + OfSet>(&self, batch: &mut RunBatch<V>, theta: V::Both) {
        batch.theta = theta;
        let theta = V::apart(theta);
        batch.local = self.landscape.local(theta);
        let loss = batch.local.loss;
        batch.metrics = Metrics {
            final_loss: loss,
            smallest_loss: loss.smaller(batch.metrics.smallest_loss),
            depth: self.landscape.depth(&batch.local, theta).larger(batch.metrics.depth),
        };
    }

    /// Draws the noise of the next step of the runs; returns their gradients.
    #[inline(always)]
    pub(super) fn next_gradient<const N: usize, V: Normals<N> + Planar + OfSet>(
        &self,
        batch: &RunBatch<V>,
        generator: &mut V::Generator,
    ) -> [V; 2] {
        let mut draws = [V::normal_pair(generator)];
        self.noise.shape(&mut draws);
        V::apart(self.noisy_gradient(&batch.local, scaled(&self.noise, draws[0])))
    }

    /// Moves the runs to `theta`, where a step that the caller took ends.
    #[inline(always)]
    pub(super) fn step_to<const N: usize, V: Vector<N> + Planar + OfSet>(
        &self,
        batch: &mut RunBatch<V>,
        theta: [V; 2],
    ) {
        self.move_to::<N, V>(batch, V::both(theta));
    }
}

/// Splits the steps of a run into blocks, with a check for cancellation before each.
///
/// It is used in a loop rather than calling a closure: code in a closure would not be compiled for the vector
/// instructions of the enclosing function.
pub(super) struct StepBlocks<'a> {
    left: usize,
    longest: usize,
    cancelled: &'a AtomicBool,
}

impl<'a> StepBlocks<'a> {
    pub(super) fn new(steps: usize, longest: usize, cancelled: &'a AtomicBool) -> Self {
        StepBlocks { left: steps, longest, cancelled }
    }

    /// Returns the length of the next block; 0 after the last and when cancelled.
    #[inline(always)]
    pub(super) fn next(&mut self) -> usize {
        if self.cancelled.load(Ordering::Relaxed) {
            return 0;
        }
        let next = self.left.min(self.longest);
        self.left -= next;
        next
    }

    pub(super) fn are_through(&self) -> bool {
        self.left == 0
    }
}

/// The arrangement of runs with the same noise in a vector: some replicates with the first learning rate, then the same
/// with the next one.
#[derive(Clone, Copy)]
pub(super) struct LaneAssignment {
    pub replicates: usize,
    rates: usize,
}

impl LaneAssignment {
    /// Arranges as many of these replicates as fit into a vector of `N` numbers.
    pub(super) fn new<const N: usize>(replicates: usize) -> Self {
        let replicates = replicates.min(N);
        LaneAssignment { replicates, rates: N / replicates }
    }

    /// Returns the replicate of a lane, from 0.
    pub(super) fn replicate(self, lane: usize) -> usize {
        lane % self.replicates
    }

    /// Returns the learning rate of a lane, from 0. Left-over lanes repeat runs with the last one.
    fn rate(self, lane: usize) -> usize {
        (lane / self.replicates).min(self.rates - 1)
    }
}

/// The runs of a variant of an optimizer on the plane, in batches with the same noise.
pub(super) struct VariantRuns<'a, V: Planar + OfSet> {
    variant: &'a Variant,
    bias: BiasCorrection,
    batches: Vec<RunBatch<V>>,
    /// The rule's state, batch after batch.
    states: Vec<V::Both>,
}

impl<'a, V: Planar + OfSet> VariantRuns<'a, V> {
    /// Creates the runs of a variant with these learning rates at `start`.
    #[inline(always)]
    pub(super) fn new<const N: usize>(
        variant: &'a Variant,
        learning_rates: &[f64],
        lanes: LaneAssignment,
        landscape: &Landscape,
        start: [V; 2],
    ) -> Self
    where
        V: Vector<N, Number: Real>,
    {
        let batch_of = |rates: &[f64]| {
            let rate = |lane| V::Number::splat(rates[lanes.rate(lane).min(rates.len() - 1)]);
            RunBatch::new(landscape, start, V::from_lanes(Lanes::from_fn(rate)))
        };
        let batches: Vec<RunBatch<V>> = learning_rates.chunks(lanes.rates).map(batch_of).collect();
        let states = vec![V::Both::splat(0.0); batches.len() * variant.rule.info().states.len()];
        VariantRuns { variant, bias: BiasCorrection::START, batches, states }
    }

    /// Takes `steps` steps with these draws for the gradient and for the curvature.
    #[inline(always)]
    pub(super) fn advance<S: VectorSet, const N: usize>(
        &mut self,
        problem: &ToyProblem,
        noise: [&Noise<V>; 2],
        steps: usize,
    ) where
        V: Vector<N>,
    {
        with_rule!(self.variant.rule.kind(), R => {
            S::in_function(Advance::<N, V, R> { runs: self, problem, noise, steps, of: PhantomData });
        });
    }

    pub(super) fn needs_curvature(&self) -> bool {
        self.variant.rule.info().needs(Need::Curvature)
    }

    pub(super) fn metrics(&self) -> impl Iterator<Item = Metrics<V>> {
        self.batches.iter().map(|batch| batch.metrics)
    }
}

/// Steps of the rule `R` with the same draws in all batches of a variant.
struct Advance<'a, 'b, const N: usize, V: Planar + OfSet, R> {
    runs: &'a mut VariantRuns<'b, V>,
    problem: &'a ToyProblem,
    noise: [&'a Noise<V>; 2],
    steps: usize,
    of: PhantomData<R>,
}

impl<const N: usize, V: Vector<N> + Planar + OfSet, R: Rule> OwnFunction for Advance<'_, '_, N, V, R> {
    type Output = ();
    type Home = R;

    #[inline(always)]
    fn run(self) {
        let VariantRuns { variant, bias, batches, states } = self.runs;
        let (count, start) = (R::info(&variant.rule).states.len(), *bias);
        for (index, batch) in batches.iter_mut().enumerate() {
            let states = &mut states[index * count..(index + 1) * count];
            let mut state: R::State<V::Both> = Numbers::from_fn(|of| match states.get(of) {
                Some(state) => *state,
                None => V::Both::splat(0.0),
            });
            *bias = self.problem.advance::<N, V, R>(variant, start, batch, &mut state, self.noise, self.steps);
            states.copy_from_slice(&state.as_ref()[..count]);
        }
    }
}
