//! Runs of one optimizer that share their noise.

use super::kernel::{BUNDLES, Bundle, Ground, Metrics, Noise};
use super::spec::PointOptimizer;
use crate::landscape::Landscape;
use crate::lanes::{Real, Vector};
use crate::optimizer::{Adam, Clock, Focus, Optimizer, Sgd, Signum};
use crate::simulation::Configured;

/// The runs of one optimizer on the plane, a bundle for each learning rate.
pub(super) enum Crowd<V: Real> {
    Adam(CrowdOf<V, Adam>),
    Signum(CrowdOf<V, Signum>),
    Focus(CrowdOf<V, Focus>),
    Sgd(CrowdOf<V, Sgd>),
}

pub(super) struct CrowdOf<V: Real, O: Optimizer> {
    optimizer: O,
    clock: Clock,
    bundles: Vec<Bundle<V, O::Memory<V>>>,
}

impl<V: Real> Crowd<V> {
    /// All runs at `start`.
    #[inline(always)]
    pub fn new(point: &PointOptimizer, landscape: &Landscape, start: [V; 2]) -> Self {
        let rates = &point.learning_rates;
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

    /// What has come of each learning rate so far.
    pub fn metrics(&self) -> Vec<Metrics<V>> {
        match self {
            Crowd::Adam(crowd) => crowd.metrics(),
            Crowd::Signum(crowd) => crowd.metrics(),
            Crowd::Focus(crowd) => crowd.metrics(),
            Crowd::Sgd(crowd) => crowd.metrics(),
        }
    }
}

impl<V: Real, O: Optimizer> CrowdOf<V, O> {
    #[inline(always)]
    fn new(optimizer: O, rates: &[f64], landscape: &Landscape, start: [V; 2]) -> Self {
        let bundle = |rate: &f64| Bundle::new(landscape, start, optimizer.fresh(), V::splat(*rate));
        let bundles = rates.iter().map(bundle).collect();
        CrowdOf { optimizer, clock: Clock::START, bundles }
    }

    #[inline(always)]
    fn advance<const N: usize>(&mut self, ground: &Ground, noise: &Noise<V>, steps: usize)
    where
        V: Vector<N>,
    {
        let (optimizer, start) = (&self.optimizer, self.clock);
        let (groups, rest) = self.bundles.as_chunks_mut::<BUNDLES>();
        for group in groups {
            self.clock = ground.advance::<N, BUNDLES, V, O>(optimizer, start, group, [noise; BUNDLES], steps);
        }
        for single in rest {
            self.clock = ground.advance::<N, 1, V, O>(optimizer, start, std::array::from_mut(single), [noise], steps);
        }
    }

    fn metrics(&self) -> Vec<Metrics<V>> {
        self.bundles.iter().map(Bundle::metrics).collect()
    }
}
