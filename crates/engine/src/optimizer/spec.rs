//! A rule with its hyperparameters, as it stands in presets.

use std::sync::LazyLock;

use super::{
    Hyperparameter, HyperparameterChoice, MOST_HYPERPARAMETERS, Marker, Numbers, Rule, RuleInfo, RuleKind, Schedule,
    TypedRule, with_rule,
};
use crate::quantity::{LearningRate, OutOfRange};

/// An update rule and its hyperparameters, without the learning rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RuleSpec {
    kind: RuleKind,
    /// The values of the hyperparameters, in the order of the rule's table; the rest stays 0.
    values: [f64; MOST_HYPERPARAMETERS],
}

/// An update rule with its learning rate, and how that changes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RatedRule {
    pub rule: RuleSpec,
    /// η
    pub learning_rate: LearningRate,
    pub schedule: Schedule,
}

impl RuleSpec {
    /// The rule as the paper's toy model has it.
    pub fn on_plane(kind: RuleKind) -> RuleSpec {
        RuleSpec::with_defaults(kind, |hyperparameter| hyperparameter.on_plane)
    }

    /// The rule as the paper's trainings have it.
    pub fn in_training(kind: RuleKind) -> RuleSpec {
        RuleSpec::with_defaults(kind, |hyperparameter| hyperparameter.in_training)
    }

    fn with_defaults(kind: RuleKind, default: impl Fn(&Hyperparameter) -> f64) -> RuleSpec {
        let mut values = [0.0; MOST_HYPERPARAMETERS];
        for (value, hyperparameter) in values.iter_mut().zip(kind.info().hyperparameters) {
            *value = default(hyperparameter);
        }
        RuleSpec { kind, values }
    }

    /// The rule with another text. Hyperparameters that both have keep their values where these were set and the new
    /// range allows them.
    pub fn with_text(&self, typed: &'static TypedRule) -> RuleSpec {
        let mut rule = RuleSpec::on_plane(RuleKind::Typed(typed));
        for (of, value) in self.hyperparameters() {
            let is_set = value != of.on_plane;
            if let (true, Some(index)) = (is_set, rule.index(of.key)) {
                rule.values[index] = rule.info().hyperparameters[index].checked(value).unwrap_or(rule.values[index]);
            }
        }
        rule
    }

    /// The rule in the place of another: hyperparameters that both have keep the other's values, as far as their ranges
    /// allow it. Both have a hyperparameter where it [means the same](Hyperparameter::means_the_same_as) in both.
    pub fn in_place_of(mut self, before: &RuleSpec) -> RuleSpec {
        for (index, of) in self.info().hyperparameters.iter().enumerate() {
            let kept = before.value_of(of).and_then(|value| of.checked(value).ok());
            self.values[index] = kept.unwrap_or(self.values[index]);
        }
        self
    }

    /// The value of the hyperparameter with the meaning of `of`, which may be another rule's.
    fn value_of(&self, of: &Hyperparameter) -> Option<f64> {
        self.hyperparameters().find(|(own, _)| own.means_the_same_as(of)).map(|(_, value)| value)
    }

    /// Describes what a rule that took the place of another set anew and what it kept, such as `FOCUS in place of Adam;
    /// new: γ 0.2; changed: Squares β₂ 0.95 → Average β₂ 0.99; without: ε; kept: η, ω 0.1`.
    pub fn replacement(&self, before: &RuleSpec, keeps_learning_rate: bool) -> String {
        let (mut new, mut changed) = (Vec::new(), Vec::new());
        let mut kept: Vec<String> = keeps_learning_rate.then(|| "η".to_owned()).into_iter().collect();
        for (of, value) in self.hyperparameters() {
            let words = of.words(value);
            let same_symbol =
                before.hyperparameters().find(|(old, _)| !of.symbol.is_empty() && old.symbol == of.symbol);
            match (before.value_of(of), same_symbol) {
                _ if words.is_empty() => {}
                (Some(old), _) if old == value => kept.push(words),
                (Some(old), _) => changed.push(format!("{} → {}", of.words(old), of.words_of_value(value))),
                (None, Some((old, old_value))) => {
                    changed.push(format!("{} → {}", old.labelled(old_value), of.labelled(value)));
                }
                (None, None) => new.push(words),
            }
        }
        let is_gone = |of: &Hyperparameter| {
            self.hyperparameters().all(|(own, _)| own.symbol != of.symbol && !own.means_the_same_as(of))
        };
        let gone = before.hyperparameters().filter(|(of, _)| !of.symbol.is_empty() && is_gone(of));
        let gone = gone.map(|(of, _)| of.symbol.to_owned()).collect();
        let mut text = format!("{} in place of {}", self.name(), before.name());
        for (what, words) in [("new", new), ("changed", changed), ("without", gone), ("kept", kept)] {
            if !words.is_empty() {
                text.push_str(&format!("; {what}: {}", words.join(", ")));
            }
        }
        text
    }

    /// Describes the kept hyperparameters of a rule that took the place of another that differ from its own defaults,
    /// such as `ω 0.1 → 0.01`; empty where none do.
    pub fn own_values(&self, before: &RuleSpec, own: &RuleSpec) -> Vec<String> {
        let both = self.hyperparameters().zip(own.hyperparameters());
        let differs =
            both.filter(|((of, value), (_, default))| value != default && before.value_of(of) == Some(*value));
        let words = |((of, value), (_, own)): ((&Hyperparameter, f64), (_, f64))| {
            format!("{} → {}", of.words(value), of.words_of_value(own))
        };
        differs.map(words).collect()
    }

    /// Adds a constant learning rate.
    pub fn rated(self, learning_rate: LearningRate) -> RatedRule {
        RatedRule { rule: self, learning_rate, schedule: Schedule::default() }
    }

    pub fn kind(&self) -> RuleKind {
        self.kind
    }

    pub fn info(&self) -> &'static RuleInfo {
        self.kind.info()
    }

    /// Returns the name that is shown: that of its kind, or "Cautious Adam" and the like if its steps are masked.
    pub fn name(&self) -> &'static str {
        static CAUTIOUS: LazyLock<Vec<String>> = LazyLock::new(|| {
            RuleKind::ALL.iter().map(|kind| RuleKind::CAUTIOUS.to_owned() + kind.info().name).collect()
        });
        match self.is_cautious() {
            true => &CAUTIOUS[self.kind.index() as usize],
            false => self.info().name,
        }
    }

    /// Red, green and blue of the rule, wherever it is shown without others that are too much like it.
    pub fn rgb(&self) -> [u8; 3] {
        self.info().color
    }

    /// The rule's mark, the same wherever it is shown.
    pub fn marker(&self) -> Marker {
        self.info().marker
    }

    /// All hyperparameters with their values.
    pub fn hyperparameters(&self) -> impl Iterator<Item = (&'static Hyperparameter, f64)> + use<> {
        self.info().hyperparameters.iter().zip(self.values)
    }

    /// The value of a hyperparameter; of a choice its index. None where the rule has no such hyperparameter.
    pub fn get(&self, key: &str) -> Option<f64> {
        Some(self.values[self.index(key)?])
    }

    /// The chosen value of a hyperparameter that is a choice.
    pub fn choice(&self, key: &str) -> Option<&'static HyperparameterChoice> {
        self.hyperparameter(key)?.choices().get(self.get(key)? as usize)
    }

    /// Sets a hyperparameter; of a choice, by its index.
    ///
    /// # Errors
    ///
    /// Where the value is out of range, or the rule has no such hyperparameter.
    pub fn set(&mut self, key: &str, value: f64) -> Result<(), OutOfRange> {
        let Some(index) = self.index(key) else {
            let keys: Vec<&str> = self.info().hyperparameters.iter().map(|hyperparameter| hyperparameter.key).collect();
            let expected = format!("one of {}", keys.join(", "));
            return Err(OutOfRange { name: "a hyperparameter of the rule", expected, found: key.to_owned() });
        };
        self.values[index] = self.info().hyperparameters[index].checked(value)?;
        Ok(())
    }

    /// Returns the rule with a hyperparameter set.
    ///
    /// # Errors
    ///
    /// Those of [`RuleSpec::set`].
    pub fn with(mut self, key: &str, value: f64) -> Result<RuleSpec, OutOfRange> {
        self.set(key, value)?;
        Ok(self)
    }

    /// ω; 0 where the rule has none.
    pub fn weight_decay(&self) -> f64 {
        self.get(Hyperparameter::WEIGHT_DECAY).unwrap_or(0.0)
    }

    /// Whether its steps are [masked](super::Rates::is_cautious).
    #[inline(always)]
    pub fn is_cautious(&self) -> bool {
        let last = self.info().hyperparameters.last().map(|of| of.key);
        // A typed rule may have a number of that name.
        self.kind.typed().is_none()
            && last == Some(Hyperparameter::MASK)
            && self.values[self.info().hyperparameters.len() - 1] == Hyperparameter::IS_CAUTIOUS
    }

    /// Returns whether the step of an element of a parameter depends on no other element.
    #[inline(always)]
    pub fn needs_gradient_only(&self) -> bool {
        self.info().needs_gradient_only() && !self.is_cautious()
    }

    /// The state, by its index, of which a part is added to θ where the gradient of a step is taken, and that part
    /// ([`Rule::GRADIENT_TOWARD`]). None: the gradient is taken at θ.
    pub fn gradient_toward(&self) -> Option<(usize, f64)> {
        with_rule!(self.kind, R => Some((R::GRADIENT_TOWARD?, R::part_toward(&self.hyper::<R>()))))
    }

    /// [`Rule::WEIGHS_STEPS`]
    pub fn weighs_steps(&self) -> bool {
        with_rule!(self.kind, R => R::WEIGHS_STEPS)
    }

    /// Finds one of its hyperparameters by its key.
    pub fn hyperparameter(&self, key: &str) -> Option<&'static Hyperparameter> {
        Some(&self.info().hyperparameters[self.index(key)?])
    }

    pub(super) fn index(&self, key: &str) -> Option<usize> {
        self.info().hyperparameters.iter().position(|hyperparameter| hyperparameter.key == key)
    }

    /// Sets the value with this index, which was checked.
    pub(super) fn set_checked(&mut self, index: usize, value: f64) {
        self.values[index] = value;
    }

    #[inline(always)]
    pub(super) fn values(&self) -> &[f64; MOST_HYPERPARAMETERS] {
        &self.values
    }

    /// The values as the rule `R`, which must be this one, takes them.
    #[inline(always)]
    pub(crate) fn hyper<R: Rule>(&self) -> R::Hyper<f64> {
        Numbers::from_fn(|index| self.values[index])
    }
}

impl RatedRule {
    pub fn name(&self) -> &'static str {
        self.rule.name()
    }

    /// The learning rate of step t = 1, 2, … of a run of so many steps.
    pub(crate) fn learning_rate_at(&self, t: u64, run: Option<u64>) -> f64 {
        self.learning_rate.get() * self.schedule.over(run).factor(t)
    }
}
