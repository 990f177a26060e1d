//! Runs of one optimizer that share their noise.

use std::marker::PhantomData;

use super::kernel::{Metrics, Noise, RunBatch, ToyProblem};
use super::point::{PointOptimizer, Variant};
use crate::instructions::{OfSet, OwnFunction, VectorSet};
use crate::landscape::Landscape;
use crate::lanes::{Lanes, Planar, Real, Vector};
use crate::optimizer::{BiasCorrection, Numbers, Rule, with_rule};

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

/// The runs of a variant of an optimizer on the plane, in batches of some learning rates.
pub(super) struct SharedNoiseBatch<'a, V: Planar + OfSet> {
    variant: &'a Variant,
    bias: BiasCorrection,
    batches: Vec<RunBatch<V>>,
    /// The rule's state, batch after batch.
    states: Vec<V::Both>,
}

impl<'a, V: Planar + OfSet> SharedNoiseBatch<'a, V> {
    /// Creates the runs of each variant of an optimizer at `start`.
    #[inline(always)]
    pub(super) fn of_variants<const N: usize>(
        optimizer: &'a PointOptimizer,
        lanes: LaneAssignment,
        landscape: &Landscape,
        start: [V; 2],
    ) -> Vec<Self>
    where
        V: Vector<N, Number: Real>,
    {
        let rates = &optimizer.learning_rates;
        let of_variant = |variant| SharedNoiseBatch::new::<N>(variant, rates, lanes, landscape, start);
        optimizer.variants.iter().map(of_variant).collect()
    }

    /// Creates the runs of a variant with these learning rates at `start`.
    #[inline(always)]
    fn new<const N: usize>(
        variant: &'a Variant,
        learning_rates: &[f64],
        lanes: LaneAssignment,
        landscape: &Landscape,
        start: [V; 2],
    ) -> Self
    where
        V: Vector<N, Number: Real>,
    {
        let batches: Vec<RunBatch<V>> = learning_rates
            .chunks(lanes.rates)
            .map(|rates| {
                let rate = |lane| V::Number::splat(rates[lanes.rate(lane).min(rates.len() - 1)]);
                RunBatch::new(landscape, start, V::from_lanes(Lanes::from_fn(rate)))
            })
            .collect();
        let states = vec![V::Both::splat(0.0); batches.len() * variant.rule.info().states.len()];
        SharedNoiseBatch { variant, bias: BiasCorrection::START, batches, states }
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
            S::in_function(Advance::<N, V, R> { batch: self, problem, noise, steps, of: PhantomData });
        });
    }

    #[inline(always)]
    fn advance_with<const N: usize, R: Rule>(&mut self, problem: &ToyProblem, noise: [&Noise<V>; 2], steps: usize)
    where
        V: Vector<N>,
    {
        let (count, start) = (R::info(&self.variant.rule).states.len(), self.bias);
        for (index, batch) in self.batches.iter_mut().enumerate() {
            let states = &mut self.states[index * count..(index + 1) * count];
            let mut state: R::State<V::Both> = Numbers::from_fn(|of| match states.get(of) {
                Some(state) => *state,
                None => V::Both::splat(0.0),
            });
            self.bias = problem.advance::<N, V, R>(self.variant, start, batch, &mut state, noise, steps);
            states.copy_from_slice(&state.as_ref()[..count]);
        }
    }

    /// Returns the metrics of each batch so far.
    pub(super) fn metrics(&self) -> Vec<Metrics<V>> {
        self.batches.iter().map(RunBatch::metrics).collect()
    }
}

/// Steps of the rule `R` with the same draws in all batches of a variant.
struct Advance<'a, 'b, const N: usize, V: Planar + OfSet, R> {
    batch: &'a mut SharedNoiseBatch<'b, V>,
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
        self.batch.advance_with::<N, R>(self.problem, self.noise, self.steps);
    }
}
