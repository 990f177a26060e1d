//! Runs FOCUS on a sequence of losses, and records its regret.

use super::{Losses, RADIUS, Theorem};
use crate::optimizer::focus::Hyper;
use crate::optimizer::{Elapsed, Focus, NoBatch, Rates, Rule, RuleInput};

/// The regret of FOCUS on a sequence of losses.
#[derive(Clone, Debug, PartialEq)]
pub struct RegretCurve {
    pub losses: Losses,
    pub theorem: Theorem,
    /// The records in the order of their steps, some twenty for each power of ten.
    pub records: Vec<Record>,
}

/// The state after a number of steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Record {
    /// The number of steps T.
    pub steps: u64,
    /// The regret R(T), which may be too small by `gap`.
    pub regret: f64,
    pub gap: f64,
    /// The largest size of an entry of the gradients so far: the smallest G that satisfies the theorem's assumption.
    pub largest: f64,
    /// The theorem's bound for this G.
    pub bound: f64,
}

impl RegretCurve {
    /// Returns the first recorded number of steps at which the regret exceeds the bound.
    pub fn above_bound_from(&self) -> Option<u64> {
        self.records.iter().find(|record| record.regret > record.bound).map(|record| record.steps)
    }

    /// Returns the exponent p of `R(T) ~ T^p`, from about a tenth of the steps to the last. None if the regret is not
    /// positive.
    pub fn growth(&self) -> Option<f64> {
        let last = self.records.last()?;
        let first = self.records.iter().find(|record| 10 * record.steps >= last.steps)?;
        let is_positive = first.regret > 0.0 && last.regret > 0.0 && first.steps < last.steps;
        let slope = || (last.regret / first.regret).ln() / (last.steps as f64 / first.steps as f64).ln();
        is_positive.then(slope)
    }
}

/// A run of FOCUS in the box, from its middle.
struct Descent {
    theorem: Theorem,
    /// The decayed β₁,t and γ_t.
    decayed: [f64; 2],
    /// The power β₂ᵗ.
    beta2_power: f64,
    theta: Vec<f64>,
    /// The momentum m and the average of each coordinate.
    states: Vec<[f64; 2]>,
    gradient: Vec<f64>,
    /// The sum of all losses so far.
    sum: f64,
    largest: f64,
}

/// The decay rate of the averaged parameters, which does not affect the theorem's bound.
const BETA2: f64 = 0.9;

impl Descent {
    fn new(theorem: Theorem) -> Descent {
        let d = theorem.dimension;
        let [theta, gradient] = [vec![0.0; d], vec![0.0; d]];
        let states = vec![[0.0; 2]; d];
        let decayed = [theorem.beta1[0], theorem.gamma[0]];
        Descent { theorem, decayed, beta2_power: 1.0, theta, states, gradient, sum: 0.0, largest: 0.0 }
    }

    /// Computes the loss of a step, counted from 1, and then takes the step.
    fn step(&mut self, step: u64, loss: impl FnOnce(&[f64], &mut [f64]) -> f64) {
        self.sum += loss(&self.theta, &mut self.gradient);
        self.largest = self.gradient.iter().fold(self.largest, |largest, entry| largest.max(entry.abs()));
        self.decayed[0] *= self.theorem.beta1[1];
        self.decayed[1] *= self.theorem.gamma[1];
        let [beta1, gamma] = self.decayed;
        self.beta2_power *= BETA2;
        let hyper = Hyper { beta1, beta2: BETA2, gamma, weight_decay: 0.0, decay: 0.0, mask: 0.0 };
        let power = Hyper { beta2: self.beta2_power, ..hyper };
        let elapsed = Elapsed { t: step as f64, power, share: 1.0, typed: None };
        let coefficients = Focus::coefficients(&hyper, &elapsed, |number: f64| number);
        let rates = Rates {
            learning_rate: self.theorem.learning_rate / (step as f64).sqrt(),
            weight_decay: 0.0,
            is_cautious: false,
        };
        for ((theta, state), gradient) in self.theta.iter_mut().zip(&mut self.states).zip(&self.gradient) {
            let input = RuleInput { theta: *theta, gradient: *gradient, batch: NoBatch };
            let (after, moved) = Focus::step(&coefficients, rates, input, *state);
            *state = after;
            *theta = moved.theta.clamp(-RADIUS, RADIUS);
        }
    }
}

/// Runs FOCUS with the settings of each theorem, all of the same dimension, on the same sequence of losses for `steps`
/// steps. Stops without a result once `keep_on`, which is called before each step, returns false.
pub fn run(
    losses: Losses,
    theorems: &[Theorem],
    steps: u64,
    seed: u64,
    mut keep_on: impl FnMut() -> bool,
) -> Option<Vec<RegretCurve>> {
    let dimension = theorems.first()?.dimension;
    assert!(theorems.iter().all(|theorem| theorem.dimension == dimension), "the losses are of one dimension");
    let mut sequence = losses.sequence(dimension, seed);
    let mut descents: Vec<Descent> = theorems.iter().map(|theorem| Descent::new(*theorem)).collect();
    let mut courses: Vec<RegretCurve> =
        theorems.iter().map(|theorem| RegretCurve { losses, theorem: *theorem, records: Vec::new() }).collect();
    let mut next = 1;
    for step in 1..=steps {
        if !keep_on() {
            return None;
        }
        sequence.advance(step);
        descents.iter_mut().for_each(|descent| descent.step(step, |theta, gradient| sequence.loss(theta, gradient)));
        if step != next && step != steps {
            continue;
        }
        next = step + step.div_ceil(8);
        let (least, gap) = sequence.least();
        for (course, Descent { theorem, sum, largest, .. }) in courses.iter_mut().zip(&descents) {
            let bound = theorem.bound(step, *largest);
            course.records.push(Record { steps: step, regret: sum - least, gap, largest: *largest, bound });
        }
    }
    Some(courses)
}
