//! A rule with the values of its hyperparameters, as in presets, and its serialization.

use std::sync::LazyLock;

use serde::de::Deserializer;
use serde::ser::SerializeStructVariant;
use serde::{Deserialize, Serialize, Serializer, de};

use super::{
    IS_CAUTIOUS, MASK, MOST_HYPERPARAMETERS, Marker, Numbers, Rule, RuleInfo, RuleKind, Schedule, TypedRule,
    WEIGHT_DECAY, with_rule,
};
use crate::configured::{self, Configured, Kind, RateFields};
use crate::quantity::{LearningRate, Number, OutOfRange};
use crate::setting::{self, SettingChoice, SettingInfo};
use crate::typed_text::{NAME, TypedFields};

/// An update rule and its hyperparameters, without the learning rate.
pub type RuleSpec = Configured<RuleKind, MOST_HYPERPARAMETERS>;

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
        RuleSpec::new(kind)
    }

    /// The rule as the paper's trainings have it.
    pub fn in_training(kind: RuleKind) -> RuleSpec {
        RuleSpec::with_defaults(kind, |hyperparameter| hyperparameter.in_training)
    }

    /// The rule with another text. Hyperparameters that both have keep their values where these were set and the new
    /// range allows them.
    pub fn with_text(&self, typed: &'static TypedRule) -> RuleSpec {
        self.converted(RuleKind::Typed(typed))
    }

    /// Returns the rule as a replacement of another: hyperparameters that both have keep the other's values, as far as
    /// their ranges allow it. Both have a hyperparameter where it [means the same](SettingInfo::means_the_same_as) in
    /// both.
    pub fn in_place_of(mut self, before: &RuleSpec) -> RuleSpec {
        for (index, of) in self.info().hyperparameters.iter().enumerate() {
            let kept = before.value_of(of).and_then(|value| of.checked(value).ok());
            self.values[index] = kept.unwrap_or(self.values[index]);
        }
        self
    }

    /// The value of the hyperparameter with the meaning of `of`, which may be another rule's.
    fn value_of(&self, of: &SettingInfo) -> Option<f64> {
        self.hyperparameters().find(|(own, _)| own.means_the_same_as(of)).map(|(_, value)| value)
    }

    /// Describes which hyperparameters a rule that replaced another has set anew and which it has kept, such as `FOCUS
    /// in place of Adam; new: γ 0.2; changed: Squares β₂ 0.95 → Average β₂ 0.99; without: ε; kept: η, ω 0.1`.
    pub fn replacement(&self, before: &RuleSpec, keeps_learning_rate: bool) -> String {
        let (mut new, mut changed) = (Vec::new(), Vec::new());
        let mut kept: Vec<String> = keeps_learning_rate.then(|| "η".to_owned()).into_iter().collect();
        for (of, value) in self.hyperparameters() {
            let text = of.text(value);
            let same_symbol =
                before.hyperparameters().find(|(old, _)| !of.symbol.is_empty() && old.symbol == of.symbol);
            match (before.value_of(of), same_symbol) {
                _ if text.is_empty() => {}
                (Some(old), _) if old == value => kept.push(text),
                (Some(old), _) => changed.push(format!("{} → {}", of.text(old), of.value_text(value))),
                (None, Some((old, old_value))) => {
                    changed.push(format!("{} → {}", old.labelled(old_value), of.labelled(value)));
                }
                (None, None) => new.push(text),
            }
        }
        let is_gone = |of: &SettingInfo| {
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

    /// Describes the kept hyperparameters of a rule that replaced another and that differ from its own defaults,
    /// such as `ω 0.1 → 0.01`; empty where none do.
    pub fn own_values(&self, before: &RuleSpec, own: &RuleSpec) -> Vec<String> {
        let both = self.hyperparameters().zip(own.hyperparameters());
        let differs =
            both.filter(|((of, value), (_, default))| value != default && before.value_of(of) == Some(*value));
        let words = |((of, value), (_, own)): ((&SettingInfo, f64), (_, f64))| {
            format!("{} → {}", of.text(value), of.value_text(own))
        };
        differs.map(words).collect()
    }

    pub fn rated(self, learning_rate: LearningRate) -> RatedRule {
        RatedRule { rule: self, learning_rate, schedule: Schedule::default() }
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
    pub fn hyperparameters(&self) -> impl Iterator<Item = (&'static SettingInfo, f64)> + use<> {
        self.parameters()
    }

    /// Finds one of its hyperparameters by its key.
    pub fn hyperparameter(&self, key: &str) -> Option<&'static SettingInfo> {
        self.parameter(key)
    }

    /// The chosen value of a hyperparameter that is a choice.
    pub fn choice(&self, key: &str) -> Option<&'static SettingChoice> {
        self.hyperparameter(key)?.choices().get(self.get(key)? as usize)
    }

    /// ω; 0 where the rule has none.
    pub fn weight_decay(&self) -> f64 {
        self.get(WEIGHT_DECAY).unwrap_or(0.0)
    }

    /// Whether its steps are [masked](super::Rates::is_cautious).
    #[inline(always)]
    pub fn is_cautious(&self) -> bool {
        let last = self.info().hyperparameters.last().map(|of| of.key);
        // A typed rule may have a number of that name.
        self.kind.typed().is_none()
            && last == Some(MASK)
            && self.values[self.info().hyperparameters.len() - 1] == IS_CAUTIOUS
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

    /// Lists the learning rate and the hyperparameters, with their values.
    pub fn settings(&self) -> impl Iterator<Item = (&'static SettingInfo, f64)> + use<> {
        std::iter::once((&setting::LEARNING_RATE, self.learning_rate.get())).chain(self.rule.hyperparameters())
    }

    /// Returns the value of the learning rate or of a hyperparameter; `None` if the rule lacks it.
    pub fn get(&self, key: &str) -> Option<f64> {
        if key == RateFields::LEARNING_RATE { Some(self.learning_rate.get()) } else { self.rule.get(key) }
    }

    /// Sets the learning rate or a hyperparameter.
    ///
    /// # Errors
    ///
    /// Fails as [`RuleSpec::set`] does.
    pub fn set(&mut self, key: &str, value: f64) -> Result<(), OutOfRange> {
        if key == RateFields::LEARNING_RATE { self.learning_rate.enter(value) } else { self.rule.set(key, value) }
    }

    /// The learning rate of step t = 1, 2, … of a run of so many steps.
    pub(crate) fn learning_rate_at(&self, t: u64, run: Option<u64>) -> f64 {
        self.learning_rate.get() * self.schedule.over(run).factor(t)
    }
}

/// The longest axis with a statistic. That of a vocabulary would not fit into memory.
pub const LONGEST_AXIS: i64 = 10_000;

impl RuleSpec {
    /// The lengths of the axes of a parameter tensor of this shape that have a statistic: of the rows and of the
    /// columns of a matrix, and instead of the rows those of a vector's elements, which SOAP steps without a
    /// statistic unless `precondition_1d` is on.
    pub fn statistics(&self, shape: &[i64]) -> [Option<i64>; 2] {
        let has_of_vectors = match self.kind() {
            RuleKind::Soap => self.choice("precondition_1d").is_some_and(|vectors| vectors.key == "On"),
            kind => kind == RuleKind::Shampoo,
        };
        let axes = match (self.kind(), shape) {
            (RuleKind::Shampoo | RuleKind::Soap, &[rows, columns]) => [Some(rows), Some(columns)],
            _ if has_of_vectors => [Some(shape.iter().product()), None],
            _ => [None; 2],
        };
        axes.map(|axis| axis.filter(|length| *length <= LONGEST_AXIS))
    }
}

impl RuleSpec {
    /// Reads a rule. Missing hyperparameters have their defaults on the plane.
    pub(crate) fn deserialize_on_plane<'de, D: Deserializer<'de>>(deserializer: D) -> Result<RuleSpec, D::Error> {
        configured::deserialize(deserializer, RuleSpec::on_plane, None).map(|(rule, _)| rule)
    }

    /// Reads a rule. Missing hyperparameters have their defaults in training.
    pub fn deserialize_in_training<'de, D: Deserializer<'de>>(deserializer: D) -> Result<RuleSpec, D::Error> {
        let (rule, _) = configured::deserialize(deserializer, RuleSpec::in_training, None)?;
        match rule.kind() {
            RuleKind::External => Err(de::Error::custom("no training takes the steps of an external optimizer")),
            _ => Ok(rule),
        }
    }
}

impl<'de> Deserialize<'de> for RatedRule {
    /// Reads a rule with its learning rate, which must be given. Missing hyperparameters have their defaults on the
    /// plane, and a missing schedule is constant.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let rates = Some(RateFields::default());
        let (rule, rates) = configured::deserialize(deserializer, RuleSpec::on_plane, rates)?;
        let rates = rates.unwrap_or_default();
        let learning_rate = rates.learning_rate.expect("a rated rule without it is refused");
        Ok(RatedRule { rule, learning_rate, schedule: rates.schedule.unwrap_or_default() })
    }
}

impl Kind for RuleKind {
    const SETTINGS: [&'static str; 2] = ["a hyperparameter of the rule", "hyperparameters"];

    fn table(self) -> &'static [SettingInfo] {
        self.info().hyperparameters
    }
}

impl configured::Variant for RuleKind {
    const TYPE: &'static str = "Rule";
    const VALUE: &'static str = "an update rule";
    const TYPED: &'static str = RuleKind::TYPED;

    fn names() -> &'static [&'static str] {
        RuleKind::names_in_presets()
    }

    fn named(name: &str) -> Option<RuleKind> {
        RuleKind::named(name).or_else(|| (name == RuleKind::External.key()).then_some(RuleKind::External))
    }

    fn typed<E: de::Error>(fields: &TypedFields) -> Result<RuleKind, E> {
        let name = fields.name.as_deref().ok_or_else(|| E::missing_field(NAME))?;
        TypedRule::new(name, fields.text()?).map(RuleKind::Typed).map_err(E::custom)
    }

    fn variant(self) -> (u32, &'static str) {
        (self.index(), self.key())
    }

    fn texts(self) -> Option<[&'static str; 2]> {
        self.typed().map(|typed| [typed.name(), typed.text()])
    }
}

impl Serialize for RuleSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        configured::serialize(self, serializer, (0, |_| Ok(())))
    }
}

impl Serialize for RatedRule {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let rates = |variant: &mut S::SerializeStructVariant| {
            variant.serialize_field(RateFields::LEARNING_RATE, &self.learning_rate)?;
            variant.serialize_field(RateFields::SCHEDULE, &self.schedule)
        };
        configured::serialize(&self.rule, serializer, (RateFields::NAMES.len(), rates))
    }
}
