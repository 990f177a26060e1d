//! Whole runs on the plane, many side by side: the innermost loop of a sweep.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::landscape::{Landscape, Valley};
use crate::lanes::{Planar, Real, Vector};
use crate::optimizer::{Clock, Optimizer};
use crate::random::Normals;

/// What a run is judged by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Metrics<R> {
    /// The loss after the last step.
    pub final_loss: R,
    /// The smallest loss after any step.
    pub smallest_loss: R,
    /// The largest `u` after any step, at least 0.
    pub depth: R,
}

impl<R> Metrics<R> {
    #[inline(always)]
    pub fn map<T>(self, f: impl Fn(R) -> T) -> Metrics<T> {
        Metrics { final_loss: f(self.final_loss), smallest_loss: f(self.smallest_loss), depth: f(self.depth) }
    }
}

/// A vector of runs, each lane one.
#[derive(Clone, Copy)]
pub(super) struct Bundle<V: Planar, M> {
    learning_rate: V::Both,
    /// x and y
    theta: V::Both,
    memory: M,
    valley: Valley<V>,
    metrics: Metrics<V>,
}

impl<V: Planar, M: Copy> Bundle<V, M> {
    /// Before the first step.
    #[inline(always)]
    pub fn new(landscape: &Landscape, theta: [V; 2], memory: M, learning_rate: V) -> Self {
        let valley = landscape.uv_from_xy(theta);
        let loss = landscape.loss(valley);
        let metrics = Metrics { final_loss: loss, smallest_loss: V::splat(f64::INFINITY), depth: V::splat(0.0) };
        Bundle { learning_rate: V::both([learning_rate; 2]), theta: V::both(theta), memory, valley, metrics }
    }

    pub fn metrics(&self) -> Metrics<V> {
        self.metrics
    }
}

/// Steps whose noise is drawn at once: it stays in the first cache. Drawing and stepping in two loops keeps
/// the processor busy: in one, every step would wait for its draws.
pub(super) const STRETCH: usize = 32;

/// Draws from Normal(0, 1) for x and y at each step of a stretch.
#[derive(Clone, Copy)]
pub(super) struct Noise<V>([[V; 2]; STRETCH]);

impl<V: Real> Noise<V> {
    #[inline(always)]
    pub fn new() -> Self {
        Noise([[V::splat(0.0); 2]; STRETCH])
    }

    /// Draws for `steps` steps, at most a stretch.
    #[inline(always)]
    pub fn draw<const N: usize>(&mut self, generator: &mut V::Generator, steps: usize)
    where
        V: Normals<N>,
    {
        V::normal_pairs(generator, &mut self.0[..steps]);
    }
}

/// Where the runs take place.
#[derive(Clone, Copy)]
pub(super) struct Ground {
    pub landscape: Landscape,
    /// σ
    pub noise: f64,
}

impl Ground {
    /// Takes a step for each pair of draws; returns the clock after them.
    #[inline(always)]
    pub fn advance<const N: usize, V: Vector<N> + Planar, O: Optimizer>(
        &self,
        optimizer: &O,
        mut clock: Clock,
        bundle: &mut Bundle<V, O::Memory<V::Both>>,
        noise: &Noise<V>,
        steps: usize,
    ) -> Clock {
        let mut in_registers = *bundle;
        for draws in &noise.0[..steps.min(STRETCH)] {
            clock = optimizer.tick(clock);
            let factors = O::with_learning_rate(optimizer.factors::<V::Both>(&clock), in_registers.learning_rate);
            self.step::<N, V, O>(factors, &mut in_registers, *draws);
        }
        *bundle = in_registers;
        clock
    }

    #[inline(always)]
    fn step<const N: usize, V: Vector<N> + Planar, O: Optimizer>(
        &self,
        factors: O::Factors<V::Both>,
        bundle: &mut Bundle<V, O::Memory<V::Both>>,
        draws: [V; 2],
    ) {
        let gradient = V::both(self.landscape.gradient(bundle.valley));
        let noisy = gradient * V::both(draws).mul_add(V::Both::splat(self.noise), V::Both::splat(1.0));
        let (memory, moved) = O::step(&factors, bundle.theta, noisy, bundle.memory);
        bundle.theta = moved.theta;
        bundle.memory = memory;
        bundle.valley = self.landscape.uv_from_xy(V::apart(moved.theta));
        let loss = self.landscape.loss(bundle.valley);
        bundle.metrics = Metrics {
            final_loss: loss,
            smallest_loss: loss.smaller(bundle.metrics.smallest_loss),
            depth: bundle.valley.u.larger(bundle.metrics.depth),
        };
    }
}

/// The steps of a run in stretches, with a look at whether the sweep is cancelled before each.
///
/// A loop over it, and no closure that it calls: code in a closure would not be compiled for the vector
/// instructions of the function around it.
pub(super) struct Stretches<'a> {
    left: usize,
    longest: usize,
    cancelled: &'a AtomicBool,
}

impl<'a> Stretches<'a> {
    pub fn new(steps: usize, longest: usize, cancelled: &'a AtomicBool) -> Self {
        Stretches { left: steps, longest, cancelled }
    }

    /// The length of the next stretch; 0 after the last and when cancelled.
    #[inline(always)]
    pub fn next(&mut self) -> usize {
        if self.cancelled.load(Ordering::Relaxed) {
            return 0;
        }
        let next = self.left.min(self.longest);
        self.left -= next;
        next
    }

    /// Whether all steps were taken.
    pub fn are_through(&self) -> bool {
        self.left == 0
    }
}
