//! What the running averages of an optimizer have in common over all parameters.

use crate::elementary;

use super::{Algebra, Elapsed, MOST_HYPERPARAMETERS, Numbers, Rule, RuleSpec};

/// The steps taken, and for each decay rate the product over them.
///
/// An average that starts at 0 and is pulled by `1 − β` towards its input has gathered the weight
/// `1 − Πβ` after some steps; dividing by it removes the bias. With a constant β the product is βᵗ.
/// Kept as a product it stays right when β is changed on the way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BiasCorrection {
    /// Steps taken, `t`.
    pub steps: u64,
    /// Of each hyperparameter of the rule in its order; 1 for those that are no decay rates.
    pub(super) powers: [f64; MOST_HYPERPARAMETERS],
}

impl BiasCorrection {
    /// Before the first step.
    pub const START: BiasCorrection = BiasCorrection { steps: 0, powers: [1.0; MOST_HYPERPARAMETERS] };

    /// After some steps of a rule, with the products of decay rates that `power` gives by their keys.
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
        Ok(BiasCorrection { steps, powers })
    }

    /// The same for a rule that takes the place of another: products by the names of the decay rates, βᵗ where the other
    /// rule has none.
    pub fn carried_over(&self, from: &RuleSpec, to: &RuleSpec) -> BiasCorrection {
        let known = |key: &str| self.powers(from).find(|(of, _)| *of == key).map(|(_, power)| power);
        let power = |key: &str| known(key).or_else(|| Some(elementary::power_of_any(to.get(key)?, self.steps as f64)));
        BiasCorrection::new(self.steps, to, power).expect("each of its decay rates has a value")
    }

    /// The products of a rule's decay rates, by their keys.
    pub fn powers(&self, rule: &RuleSpec) -> impl Iterator<Item = (&'static str, f64)> {
        let all = rule.info().hyperparameters.iter().zip(self.powers);
        all.filter(|(hyperparameter, _)| hyperparameter.is_decay_rate()).map(|(of, power)| (of.key, power))
    }

    /// One step of the rule `R` later.
    #[inline(always)]
    pub fn after<R: Rule>(mut self, rule: &RuleSpec) -> BiasCorrection {
        self.steps += 1;
        for (index, hyperparameter) in R::info(rule).hyperparameters.iter().enumerate() {
            if hyperparameter.is_decay_rate() {
                let (rate, t) = (rule.values()[index], self.steps as f64);
                self.powers[index] *= R::decay_factor(hyperparameter, rate, &rule.hyper::<R>(), t);
            }
        }
        self
    }

    /// The coefficients of the step of the rule `R` that this belongs to.
    #[inline(always)]
    pub fn coefficients<R: Rule, A: Algebra>(&self, rule: &RuleSpec) -> R::Coefficients<A> {
        R::coefficients(&rule.hyper::<R>(), &self.elapsed::<R>(rule), A::splat)
    }

    /// The same, in the place of those of another step with the same hyperparameters.
    #[inline(always)]
    pub fn set_coefficients<R: Rule, A: Algebra>(&self, rule: &RuleSpec, coefficients: &mut R::Coefficients<A>) {
        R::set_coefficients(coefficients, &rule.hyper::<R>(), &self.elapsed::<R>(rule), A::splat);
    }

    /// How far a run of the rule `R` has come.
    #[inline(always)]
    pub fn elapsed<R: Rule>(&self, rule: &RuleSpec) -> Elapsed<f64, R::Hyper<f64>> {
        let power = Numbers::from_fn(|index| self.powers[index]);
        Elapsed { t: self.steps as f64, power, typed: rule.kind().typed() }
    }
}
