//! The inputs of a step besides its rule: rates, schedule, bias correction and, on the plane, the batch.

use std::f64::consts::FRAC_PI_2;

use serde::{Deserialize, Serialize};

use super::{
    Algebra, Batch, MOST_HYPERPARAMETERS, Moved, Numbers, RatioCorrection, Relation, Rule, RuleInput, RuleSpec, Scalar,
    StepArrow, StepPart, StepSettings, lasting,
};
use crate::elementary::{self, cos, sin};
use crate::instructions::OfSet;
use crate::landscape::Landscape;
use crate::lanes::{Planar, Real};
use crate::noise::Action;
use crate::quantity::{DecaySteps, FinalShare, WarmupSteps};

/// The settings of a step that may differ between parameters.
#[derive(Clone, Copy, Debug)]
pub struct Rates<A> {
    /// η
    pub learning_rate: A,
    /// ω; 0 for parameters that do not decay.
    pub weight_decay: A,
    /// Whether steps are masked, without the elements that would move up the gradient (Liang et al.,
    /// [arXiv:2411.16085](https://arxiv.org/abs/2411.16085), as the
    /// [`c_adamw.py`](https://github.com/kyleliang919/C-Optim/blob/2c0517c/c_adamw.py) of its authors has it):
    ///
    /// ```text
    /// φ = 1 where d g > 0, else 0
    /// d ← d φ / max(mean φ, 0.001)
    /// ```
    ///
    /// The mean is over the parameter: x and y on the plane, all coordinates in more dimensions, a tensor in training.
    /// Weight decay is not masked, unless it is coupled, which makes it a part of g. The states do not depend on the
    /// mask.
    pub is_cautious: bool,
}

const MASK: StepPart = StepPart::quantity("φ", "1 where d has the gradient's sign, else 0");
const MASKED: StepPart = StepPart::quantity("d′", "the direction where it has the gradient's sign");
/// The least mean of a mask that a step is divided by.
pub const LEAST_MEAN_OF_MASK: f64 = 1e-3;

impl<A: Algebra> Rates<A> {
    /// `θ − η (d + ω x)` with the direction d, where x, mostly θ itself, is what decays (decoupled weight decay,
    /// [arXiv:1711.05101](https://arxiv.org/abs/1711.05101)). The decay is drawn as an arrow.
    #[inline(always)]
    pub(crate) fn decayed_step(self, theta: A, direction: A, decayed: A) -> A {
        A::draw(&StepArrow::DECAY, || self.weight_decay * decayed);
        theta.add_product(-self.learning_rate, direction.add_product(self.weight_decay, decayed))
    }

    /// Returns the direction of a step, masked if the step [is cautious](Rates::is_cautious).
    #[inline(always)]
    pub(crate) fn masked(self, direction: A, gradient: A) -> A {
        if !self.is_cautious {
            return direction;
        }
        let mask = A::splat(0.0).compared(Relation::Less, direction * gradient).named(&MASK);
        (direction * mask / mask.mean().larger(A::splat(LEAST_MEAN_OF_MASK))).named(&MASKED)
    }
}

impl<A: Algebra, B> RuleInput<A, B> {
    /// Adds coupled weight decay to the gradient, which becomes `g + ω θ`, and removes the decoupled one.
    #[inline(always)]
    pub(crate) fn coupled(self) -> Self {
        let gradient = self.gradient.add_product(self.rates.weight_decay, self.theta);
        RuleInput { gradient, rates: Rates { weight_decay: A::splat(0.0), ..self.rates }, ..self }
    }

    /// Returns the move along a direction, which is masked and drawn as an arrow, with decay of θ.
    #[inline(always)]
    pub(crate) fn moved(self, direction: A, arrow: &'static StepArrow) -> Moved<A> {
        let direction = self.rates.masked(direction, self.gradient);
        A::draw(arrow, || direction);
        Moved { theta: self.rates.decayed_step(self.theta, direction, self.theta), direction }
    }

    /// Returns the [move](RuleInput::moved) along a direction, and draws the momentum m of which the direction is made.
    #[inline(always)]
    pub(crate) fn moved_by_momentum(self, m: A, direction: A, arrow: &'static StepArrow) -> Moved<A> {
        A::draw(&StepArrow::MOMENTUM, || m);
        self.moved(direction, arrow)
    }
}

/// The schedule of the learning rate of an optimizer on the plane or in a sweep: a linear warm-up, then a decay. In
/// step t = 1, 2, … the learning rate is η times
///
/// ```text
/// t / W                                              for t ≤ W
/// 1                                                  for t > W, Constant
/// e + ½ (1 − e) (1 + cos π (t − 1 − W) / (N − W))    for W < t ≤ N, Cosine
/// e                                                  for t > W and t > N, Cosine
/// √(max(W, 1) / t)                                   for t > W, InverseRoot
/// ```
///
/// so that neither the first step nor the last one is lost. The warm-up of a GPT-2 training begins at 0 instead.
///
/// The factor is computed once a step outside of the vector loops: the learning rate may differ between the lanes of a
/// sweep, the factor does not.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Schedule {
    /// W
    pub warmup: WarmupSteps,
    pub decay: Decay,
}

/// The decay of the learning rate after the warm-up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Decay {
    #[default]
    Constant,
    /// Half a cosine (Loshchilov and Hutter, [arXiv:1608.03983](https://arxiv.org/abs/1608.03983)).
    Cosine {
        /// e, the share of η that is left at its end.
        #[serde(default = "Decay::nothing")]
        to: FinalShare,
        /// N; without it, that of the run. Where that has no end, the learning rate stays.
        #[serde(default)]
        steps: Option<DecaySteps>,
    },
    /// η √(max(W, 1)/t); without a warm-up η/√t, as in the paper's bound on the regret.
    InverseRoot,
}

impl Decay {
    /// The share of a learning rate that decays to 0.
    pub fn nothing() -> FinalShare {
        FinalShare::clamped(0.0)
    }

    /// The name for users.
    pub fn name(&self) -> &'static str {
        match self {
            Decay::Constant => "constant",
            Decay::Cosine { .. } => "cosine",
            Decay::InverseRoot => "1/√t",
        }
    }
}

impl Default for Schedule {
    /// η in all steps.
    fn default() -> Self {
        Schedule { warmup: WarmupSteps::clamped(0), decay: Decay::Constant }
    }
}

impl Schedule {
    /// Whether the learning rate is η in all steps.
    pub fn is_constant(&self) -> bool {
        *self == Schedule::default()
    }

    /// The schedule in a run of so many steps, which is the length of its decay where that has none of its own.
    pub fn over(mut self, run: Option<u64>) -> Schedule {
        if let Decay::Cosine { steps: steps @ None, .. } = &mut self.decay {
            *steps = run.map(DecaySteps::clamped);
        }
        self
    }

    /// Returns the factor of η in step t = 1, 2, …
    pub fn factor(&self, t: u64) -> f64 {
        let (step, warmup) = (t as f64, self.warmup.get() as f64);
        if step <= warmup {
            return step / warmup;
        }
        match self.decay {
            Decay::Constant | Decay::Cosine { steps: None, .. } => 1.0,
            Decay::Cosine { to, steps: Some(steps) } if t > steps.get() as u64 => to.get(),
            Decay::Cosine { to, steps: Some(steps) } => {
                let part = (step - 1.0 - warmup) / (steps.get() as f64 - warmup);
                // ½ (1 + cos x) = cos² ½x, from the cosine or the sine of at most a quarter of π.
                let root = if part <= 0.5 { cos(FRAC_PI_2 * part) } else { sin(FRAC_PI_2 * (1.0 - part)) };
                to.get() + (1.0 - to.get()) * root * root
            }
            Decay::InverseRoot => (warmup.max(1.0) / step).sqrt(),
        }
    }

    /// The name of an optimizer with this schedule, which has no name of its own: that of its rule, and of the schedule
    /// where the learning rate changes, as in "Adam (cosine)".
    pub(crate) fn named(&self, rule: &'static str) -> &'static str {
        let schedule = match self.decay {
            _ if self.is_constant() => return rule,
            Decay::Constant => "warm-up",
            decay => decay.name(),
        };
        lasting(vec![format!("{rule} ({schedule})")])[0]
    }
}

/// The decay rate β of a running average, with 1 − β.
#[derive(Clone, Copy, Debug)]
pub struct DecayRate<A> {
    beta: A,
    one_minus_beta: A,
}

impl<A: Algebra> DecayRate<A> {
    /// Creates the coefficients of an average with the decay rate β.
    #[inline(always)]
    pub(crate) fn new<S: Scalar>(beta: S, of: &impl Fn(S) -> A) -> DecayRate<A> {
        // The function itself is called: a call through the reference would not be inlined, and so not be compiled for
        // the vector instructions of the step.
        DecayRate { beta: (*of)(beta), one_minus_beta: (*of)(S::splat(1.0) - beta) }
    }

    /// `β m + (1 − β) x`: the average after its next value x.
    #[inline(always)]
    pub(crate) fn average(self, m: A, x: A) -> A {
        self.beta.mul_add(m, self.one_minus_beta * x)
    }

    /// `β s + (1 − β) x²`, where x² is `((1 − β) x) x`.
    #[inline(always)]
    pub(crate) fn average_of_squares(self, s: A, x: A) -> A {
        self.beta.mul_add(s, self.one_minus_beta * x * x)
    }
}

/// Adam's averages of the gradient and of its square: their decay rates, and the bias of their ratio.
#[derive(Clone, Copy, Debug)]
pub struct AdamAverages<A> {
    pub beta1: DecayRate<A>,
    pub beta2: DecayRate<A>,
    pub ratio: RatioCorrection<A>,
}

impl<A: Algebra> AdamAverages<A> {
    /// Creates the coefficients from β₁ and β₂, their powers β₁ᵗ and β₂ᵗ, and ε.
    #[inline(always)]
    pub(crate) fn new<S: Scalar>([beta1, beta2]: [S; 2], powers: [S; 2], epsilon: S, of: &impl Fn(S) -> A) -> Self {
        AdamAverages {
            beta1: DecayRate::new(beta1, of),
            beta2: DecayRate::new(beta2, of),
            ratio: RatioCorrection::new(powers, epsilon, of),
        }
    }
}

/// The steps taken, and for each decay rate the product over them; of rules that [weigh steps](Rule::WEIGHS_STEPS) also
/// the weights.
///
/// An average that starts at 0 and is pulled by `1 − β` towards its input has gathered the weight
/// `1 − Πβ` after some steps; dividing by it removes the bias. With a constant β the product is βᵗ.
/// Kept as a product it stays right when β is changed on the way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BiasCorrection {
    /// Steps taken, `t`.
    pub steps: u64,
    /// The product of each hyperparameter of the rule, in its order; 1 for hyperparameters that are not decay rates.
    pub(super) powers: [f64; MOST_HYPERPARAMETERS],
    pub(super) weights: StepWeights,
}

/// Totals of the weights of the steps so far, for rules that average over all steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepWeights {
    /// The largest learning rate so far.
    pub largest_rate: f64,
    /// The sum of the weights.
    pub sum: f64,
    /// The weight of the last step divided by the sum; 0 where the sum is.
    pub share: f64,
}

impl StepWeights {
    const START: StepWeights = StepWeights { largest_rate: 0.0, sum: 0.0, share: 0.0 };
    /// The keys, among [`BiasCorrection::powers`], of the two numbers from which the weights continue.
    const KEYS: [&str; 2] = ["largest_rate", "weight_sum"];

    #[inline(always)]
    pub(crate) fn with(self, weight: f64, largest_rate: f64) -> StepWeights {
        let sum = self.sum + weight;
        StepWeights { largest_rate, sum, share: if sum > 0.0 { weight / sum } else { 0.0 } }
    }

    /// Returns the totals after some steps with a learning rate of 1 and the weight 1.
    fn equal(steps: u64) -> StepWeights {
        StepWeights { largest_rate: 1.0, sum: steps as f64, share: 1.0 / steps.max(1) as f64 }
    }
}

impl BiasCorrection {
    /// The correction before the first step.
    pub const START: BiasCorrection =
        BiasCorrection { steps: 0, powers: [1.0; MOST_HYPERPARAMETERS], weights: StepWeights::START };

    /// Stands for the learning rate in [`BiasCorrection::after`] if it is the same in all steps: weights depend only on
    /// its changes.
    pub(crate) const CONSTANT_RATE: f64 = 1.0;

    /// Restores the correction after some steps of a rule. `power` returns the stored values by the keys of
    /// [`BiasCorrection::powers`]; without weights of the steps among them, all steps had the same weight.
    ///
    /// # Errors
    ///
    /// The first key of a decay rate for which it gives none.
    pub fn new(
        steps: u64,
        rule: &RuleSpec,
        power: impl Fn(&str) -> Option<f64>,
    ) -> Result<BiasCorrection, &'static str> {
        let mut powers = [1.0; MOST_HYPERPARAMETERS];
        for (product, hyperparameter) in powers.iter_mut().zip(rule.info().hyperparameters) {
            if hyperparameter.is_decay_rate() {
                *product = power(hyperparameter.key).ok_or(hyperparameter.key)?;
            }
        }
        let weights = match StepWeights::KEYS.map(&power) {
            _ if !rule.weighs_steps() => StepWeights::START,
            [Some(largest_rate), Some(sum)] => StepWeights { largest_rate, sum, share: 0.0 },
            _ => StepWeights::equal(steps),
        };
        Ok(BiasCorrection { steps, powers, weights })
    }

    /// Converts the products to those of a rule that replaces this one: products are matched by the keys of the decay
    /// rates, and are βᵗ where the replaced rule has no such decay rate.
    pub(crate) fn carried_over(&self, from: &RuleSpec, to: &RuleSpec) -> BiasCorrection {
        let known = |key: &str| self.powers(from).find(|(of, _)| *of == key).map(|(_, power)| power);
        let power = |key: &str| known(key).or_else(|| Some(elementary::power_of_any(to.get(key)?, self.steps as f64)));
        BiasCorrection::new(self.steps, to, power).expect("each of its decay rates has a value")
    }

    /// The products of a rule's decay rates, by their keys; of a rule that weighs steps also the largest learning rate
    /// and the sum of the weights.
    pub fn powers(&self, rule: &RuleSpec) -> impl Iterator<Item = (&'static str, f64)> {
        let all = rule.info().hyperparameters.iter().zip(self.powers);
        let products = all.filter(|(of, _)| of.is_decay_rate()).map(|(of, power)| (of.key, power));
        let StepWeights { largest_rate, sum, .. } = self.weights;
        let weights = StepWeights::KEYS.into_iter().zip([largest_rate, sum]).filter(|_| rule.weighs_steps());
        products.chain(weights.collect::<Vec<_>>())
    }

    /// One step of the rule `R` later, which had this learning rate, or any fixed multiple of it.
    #[inline(always)]
    pub fn after<R: Rule>(mut self, rule: &RuleSpec, learning_rate: f64) -> BiasCorrection {
        self.steps += 1;
        for (index, hyperparameter) in R::info(rule).hyperparameters.iter().enumerate() {
            if hyperparameter.is_decay_rate() {
                let (rate, t) = (rule.values()[index], self.steps as f64);
                self.powers[index] *= R::decay_factor(hyperparameter, rate, &rule.hyper::<R>(), t);
            }
        }
        if R::WEIGHS_STEPS {
            self.weights = R::weighed(self.weights, &rule.hyper::<R>(), self.steps as f64, learning_rate);
        }
        self
    }

    /// The coefficients of the step of the rule `R` that this belongs to.
    #[inline(always)]
    pub fn coefficients<R: Rule, A: Algebra>(&self, rule: &RuleSpec) -> R::Coefficients<A> {
        R::coefficients(&self.settings::<R>(rule), A::splat)
    }

    /// Updates the coefficients of another step of the same rule to those of this step ([`Rule::set_coefficients`]).
    #[inline(always)]
    pub(crate) fn set_coefficients<R: Rule, A: Algebra>(&self, rule: &RuleSpec, coefficients: &mut R::Coefficients<A>) {
        R::set_coefficients(coefficients, &self.settings::<R>(rule), A::splat);
    }

    #[inline(always)]
    pub fn settings<R: Rule>(&self, rule: &RuleSpec) -> StepSettings<f64, R::Hyper<f64>> {
        let power = Numbers::from_fn(|index| self.powers[index]);
        let (t, share) = (self.steps as f64, self.weights.share);
        StepSettings { hyper: rule.hyper::<R>(), t, power, share, typed: rule.kind().typed() }
    }
}

/// A point on a landscape and the draws of noise of a step there.
#[derive(Clone, Copy, Debug)]
pub struct PlaneBatch<'a, V> {
    pub landscape: &'a Landscape,
    /// The point (x, y) at which the gradient of the step is computed.
    pub at: [V; 2],
    /// How the noise acts on the gradient and on the curvature.
    pub action: Action,
    /// The noise of the gradient in x and y, as factors or terms.
    pub noise: [V; 2],
    /// The noise of the curvature, drawn as that of the gradient.
    pub curvature_noise: [V; 2],
}

impl<V: Real + OfSet> Batch<[V; 2]> for PlaneBatch<'_, V> {
    #[inline(always)]
    fn gradient_at(self, theta: [V; 2]) -> [V; 2] {
        self.action.apply(self.landscape.gradient(theta), self.noise)
    }

    #[inline(always)]
    fn curvature(self) -> [V; 2] {
        self.action.apply(self.landscape.hessian_diagonal(self.at), self.curvature_noise)
    }
}

/// The batch of both coordinates side by side.
#[derive(Clone, Copy, Debug)]
pub struct SideBySide<'a, V>(pub PlaneBatch<'a, V>);

impl<V: Planar + OfSet> Batch<V::Both> for SideBySide<'_, V> {
    #[inline(always)]
    fn gradient_at(self, theta: V::Both) -> V::Both {
        V::both(self.0.gradient_at(V::apart(theta)))
    }

    #[inline(always)]
    fn curvature(self) -> V::Both {
        V::both(self.0.curvature())
    }
}
