//! Runs of one optimizer that share their noise.

use super::kernel::{Bundle, Ground, Metrics, Noise};
use super::spec::PointOptimizer;
use crate::landscape::Landscape;
use crate::lanes::{Lanes, Planar, Real, Vector};
use crate::optimizer::{Adam, Clock, Focus, Optimizer, Sgd, Signum};
use crate::simulation::Configured;

/// How runs of the same noise share a vector: some replicates with the first learning rate, then the same with the
/// next one.
#[derive(Clone, Copy)]
pub(super) struct Layout {
    pub replicates: usize,
    rates: usize,
}

impl Layout {
    /// For as many of these replicates as a vector of `N` numbers takes.
    pub fn new<const N: usize>(replicates: usize) -> Self {
        let replicates = replicates.min(N);
        Layout { replicates, rates: N / replicates }
    }

    /// From 0.
    pub fn replicate(self, lane: usize) -> usize {
        lane % self.replicates
    }

    /// From 0. Lanes that are left over repeat runs with the last one.
    fn rate(self, lane: usize) -> usize {
        (lane / self.replicates).min(self.rates - 1)
    }
}

/// The runs of one optimizer on the plane, in bundles of some learning rates.
pub(super) enum Crowd<V: Planar> {
    Adam(CrowdOf<V, Adam>),
    Signum(CrowdOf<V, Signum>),
    Focus(CrowdOf<V, Focus>),
    Sgd(CrowdOf<V, Sgd>),
}

pub(super) struct CrowdOf<V: Planar, O: Optimizer> {
    optimizer: O,
    clock: Clock,
    bundles: Vec<Bundle<V, O::Memory<V::Both>>>,
}

impl<V: Planar> Crowd<V> {
    /// All runs at `start`.
    #[inline(always)]
    pub fn new<const N: usize>(point: &PointOptimizer, layout: Layout, landscape: &Landscape, start: [V; 2]) -> Self
    where
        V: Vector<N, Number: Real>,
    {
        let rates = point.learning_rates.chunks(layout.rates).map(|rates| {
            V::from_lanes(Lanes::from_fn(|lane| V::Number::splat(rates[layout.rate(lane).min(rates.len() - 1)])))
        });
        match point.rule.configured() {
            Configured::Adam(adam) => Crowd::Adam(CrowdOf::new(adam, rates, landscape, start)),
            Configured::Signum(signum) => Crowd::Signum(CrowdOf::new(signum, rates, landscape, start)),
            Configured::Focus(focus) => Crowd::Focus(CrowdOf::new(focus, rates, landscape, start)),
            Configured::Sgd(sgd) => Crowd::Sgd(CrowdOf::new(sgd, rates, landscape, start)),
        }
    }

    /// Takes so many steps with these draws.
    #[inline(always)]
    pub fn advance<const N: usize>(&mut self, ground: &Ground, noise: &Noise<V>, steps: usize)
    where
        V: Vector<N>,
    {
        match self {
            Crowd::Adam(crowd) => crowd.advance::<N>(ground, noise, steps),
            Crowd::Signum(crowd) => crowd.advance::<N>(ground, noise, steps),
            Crowd::Focus(crowd) => crowd.advance::<N>(ground, noise, steps),
            Crowd::Sgd(crowd) => crowd.advance::<N>(ground, noise, steps),
        }
    }

    /// What has come of each bundle so far.
    pub fn metrics(&self) -> Vec<Metrics<V>> {
        match self {
            Crowd::Adam(crowd) => crowd.metrics(),
            Crowd::Signum(crowd) => crowd.metrics(),
            Crowd::Focus(crowd) => crowd.metrics(),
            Crowd::Sgd(crowd) => crowd.metrics(),
        }
    }
}

impl<V: Planar, O: Optimizer> CrowdOf<V, O> {
    #[inline(always)]
    fn new(optimizer: O, rates: impl Iterator<Item = V>, landscape: &Landscape, start: [V; 2]) -> Self {
        let bundles = rates.map(|rates| Bundle::new(landscape, start, optimizer.fresh(), rates)).collect();
        CrowdOf { optimizer, clock: Clock::START, bundles }
    }

    #[inline(always)]
    fn advance<const N: usize>(&mut self, ground: &Ground, noise: &Noise<V>, steps: usize)
    where
        V: Vector<N>,
    {
        let (optimizer, start) = (&self.optimizer, self.clock);
        for bundle in &mut self.bundles {
            self.clock = ground.advance::<N, V, O>(optimizer, start, bundle, noise, steps);
        }
    }

    fn metrics(&self) -> Vec<Metrics<V>> {
        self.bundles.iter().map(Bundle::metrics).collect()
    }
}
