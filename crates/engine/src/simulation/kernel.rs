//! A step of many particles, in the widest vectors of the machine.

use super::diagnostics::{Observed, Sample, Sums};
use crate::instructions::{OfSet, VectorSet, vectorized};
use crate::landscape::Landscape;
use crate::lanes::{Doubles, Lanes, Planar, each};
use crate::noise::GradientNoise;
use crate::optimizer::{
    Algebra, BiasCorrection, Need, Numbers, PlaneBatch, Rates, Rule, RuleInput, RuleSpec, SideBySide,
};
use crate::random::Streams;

/// The number of particles per block: as many doubles as the widest registers hold.
pub(super) const WIDTH: usize = 8;
pub(super) type Block = Lanes<f64, WIDTH>;
/// A value for each coordinate, x and y.
pub(super) type Pair<T> = [T; 2];

/// The inputs of a step besides the particles.
#[derive(Clone, Copy)]
pub(super) struct Step<'a> {
    pub landscape: &'a Landscape,
    pub noise: GradientNoise,
    /// The learning rate η of this step.
    pub learning_rate: f64,
    /// The fraction of the state [`Rule::GRADIENT_TOWARD`] that is added to positions for the gradient.
    pub part_toward: f64,
    /// The diagnostics and the mean position before the step.
    pub pivots: (Sample, [f64; 2]),
}

/// The particles that a step moves.
pub(super) struct Particles<'a> {
    pub count: usize,
    pub positions: &'a mut [Pair<Block>],
    pub streams: &'a mut [Streams<WIDTH>],
}

/// Draws the noise of the gradient and of the curvature, as factors or terms; that of the curvature only for a rule
/// that needs it.
#[inline(always)]
pub(super) fn draw_noise<V: Doubles<WIDTH> + OfSet>(
    has_curvature: bool,
    streams: &mut Streams<WIDTH>,
    noise: &GradientNoise,
) -> [Pair<V>; 2] {
    let of_gradient = draw_pair(streams, noise);
    let of_curvature = if has_curvature { draw_pair(streams, noise) } else { of_gradient };
    [of_gradient, of_curvature]
}

#[inline(always)]
fn draw_pair<V: Doubles<WIDTH> + OfSet>(streams: &mut Streams<WIDTH>, noise: &GradientNoise) -> Pair<V> {
    let mut draws = [streams.normal_pair::<V>()];
    noise.shape(&mut draws);
    let (sigma, mean) = (V::splat(noise.sigma), V::splat(noise.mean));
    [mean + sigma * draws[0][0], mean + sigma * draws[0][1]]
}

impl Step<'_> {
    /// Takes the step with the rule `R`, described by `rule`, and sums up the diagnostics. `states` holds those of each
    /// block one after another.
    pub(super) fn run<R: Rule>(
        &self,
        rule: &RuleSpec,
        bias: &mut BiasCorrection,
        particles: Particles<'_>,
        states: &mut [Pair<Block>],
    ) -> Sums<Block> {
        *bias = bias.after::<R>(rule, self.learning_rate);
        let rates = Rates {
            learning_rate: self.learning_rate,
            weight_decay: rule.weight_decay(),
            is_cautious: rule.is_cautious(),
        };
        let update = Update { rule, bias, rates };
        step_blocks::<R>(self, update, particles, states)
    }

    #[inline(always)]
    fn blocks<R: Rule, V: Doubles<WIDTH> + Planar + OfSet>(
        &self,
        update: Update<'_>,
        Particles { count, positions, streams }: Particles<'_>,
        mut states: &mut [Pair<Block>],
    ) -> Sums<Block> {
        let (coefficients, rates) = update.splat::<R, V::Both>();
        let info = R::info(update.rule);
        let has_curvature = info.needs(Need::Curvature);
        let mut sums = Sums::<V>::about(&self.pivots.0, self.pivots.1);
        let mut partial = None;
        for (index, (position, streams)) in positions.iter_mut().zip(streams).enumerate() {
            let of_block;
            (of_block, states) = states.split_at_mut(info.states.len());
            let observed = self.block::<R, V>(&coefficients, rates, has_curvature, position, streams, of_block);
            if index < count / WIDTH {
                sums.add(&observed);
            } else {
                partial = Some(observed);
            }
        }
        let mut sums = sums.map(V::to_lanes);
        if let Some(observed) = partial {
            sums.add_some(&observed.map(V::to_lanes), count % WIDTH);
        }
        sums
    }

    /// Steps one block and returns its observed quantities.
    #[inline(always)]
    fn block<R: Rule, V: Doubles<WIDTH> + Planar + OfSet>(
        &self,
        coefficients: &R::Coefficients<V::Both>,
        rates: Rates<V::Both>,
        has_curvature: bool,
        position: &mut Pair<Block>,
        streams: &mut Streams<WIDTH>,
        states: &mut [Pair<Block>],
    ) -> Observed<V> {
        let theta = each(*position, V::from_lanes);
        let place = match R::GRADIENT_TOWARD {
            None => theta,
            Some(state) => {
                let (part, [x, y]) = (V::splat(self.part_toward), each(states[state], V::from_lanes));
                [x.mul_add(part, theta[0]), y.mul_add(part, theta[1])]
            }
        };
        let gradient = self.landscape.gradient(place);
        let [noise, curvature_noise] = draw_noise(has_curvature, streams, &self.noise);
        let action = self.noise.action;
        let batch = PlaneBatch { landscape: self.landscape, at: place, action, noise, curvature_noise };
        let noisy = action.apply(gradient, noise);
        let seen = RuleInput { rates, theta: V::both(theta), gradient: V::both(noisy), batch: SideBySide(batch) };
        let state = Numbers::from_fn(|index| match states.get(index) {
            Some(state) => V::both(each(*state, V::from_lanes)),
            None => V::Both::splat(0.0),
        });
        let (state, moved) = R::step(coefficients, seen, state);
        for (place, state) in states.iter_mut().zip(state.as_ref()) {
            *place = each(V::apart(*state), V::to_lanes);
        }
        let [x, y] = V::apart(moved.theta);
        *position = each([x, y], V::to_lanes);
        let [direction_x, direction_y] = V::apart(moved.direction);
        Observed {
            position: [x, y],
            uv: self.landscape.uv_from_xy([x, y]),
            loss: self.landscape.loss([x, y]),
            effective_step: V::splat(0.5) * (direction_x.abs() + direction_y.abs()),
        }
    }
}

vectorized! {
    /// Takes the step of all blocks with the rule `R`.
    fn step_blocks<R: Rule>(
        step: &Step<'_>, update: Update<'_>, particles: Particles<'_>, states: &mut [Pair<Block>],
    ) -> Sums<Block> {
        step.blocks::<R, <Vectors as VectorSet>::Doubles>(update, particles, states)
    }
}

/// The rule of a step, with its bias correction and rates.
#[derive(Clone, Copy)]
struct Update<'a> {
    rule: &'a RuleSpec,
    /// The bias correction of this step.
    bias: &'a BiasCorrection,
    rates: Rates<f64>,
}

impl Update<'_> {
    /// Returns the coefficients and rates of the rule `R`, the same in every lane of a vector.
    #[inline(always)]
    fn splat<R: Rule, A: Algebra>(self) -> (R::Coefficients<A>, Rates<A>) {
        let Rates { learning_rate, weight_decay, is_cautious } = self.rates;
        let rates = Rates { learning_rate: A::splat(learning_rate), weight_decay: A::splat(weight_decay), is_cautious };
        (self.bias.coefficients::<R, A>(self.rule), rates)
    }
}
