//! The state of an optimizer that its running averages share over all parameters.

use crate::elementary;

use super::{Algebra, MOST_HYPERPARAMETERS, Numbers, Rule, RuleSpec, StepSettings};

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

    /// Adds one step.
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
        for (place, hyperparameter) in powers.iter_mut().zip(rule.info().hyperparameters) {
            if hyperparameter.is_decay_rate() {
                *place = power(hyperparameter.key).ok_or(hyperparameter.key)?;
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

    /// The settings of the step of the rule `R` that this belongs to.
    #[inline(always)]
    pub fn settings<R: Rule>(&self, rule: &RuleSpec) -> StepSettings<f64, R::Hyper<f64>> {
        let power = Numbers::from_fn(|index| self.powers[index]);
        let (t, share) = (self.steps as f64, self.weights.share);
        StepSettings { hyper: rule.hyper::<R>(), t, power, share, typed: rule.kind().typed() }
    }
}
