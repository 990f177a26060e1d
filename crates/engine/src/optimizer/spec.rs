//! A rule with the values of its hyperparameters, as in presets, and its serialization.

use std::fmt;
use std::sync::LazyLock;

use serde::de::{Deserializer, EnumAccess, MapAccess, VariantAccess, Visitor};
use serde::ser::SerializeStructVariant;
use serde::{Deserialize, Serialize, Serializer, de};

use super::{
    IS_CAUTIOUS, MASK, MOST_HYPERPARAMETERS, Marker, Numbers, Rule, RuleInfo, RuleKind, Schedule, TypedRule,
    WEIGHT_DECAY, with_rule,
};
use crate::identifier::{Identifier, lasting};
use crate::quantity::{LearningRate, Number, OutOfRange};
use crate::setting::{self, SettingChoice, SettingInfo};
use crate::typed_text::{NAME, TEXT, TypedFields};

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
        RuleSpec::with_defaults(kind, |hyperparameter| hyperparameter.default)
    }

    /// The rule as the paper's trainings have it.
    pub fn in_training(kind: RuleKind) -> RuleSpec {
        RuleSpec::with_defaults(kind, |hyperparameter| hyperparameter.in_training)
    }

    fn with_defaults(kind: RuleKind, default: impl Fn(&SettingInfo) -> f64) -> RuleSpec {
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
            let is_set = value != of.default;
            if let (true, Some(index)) = (is_set, rule.index(of.key)) {
                rule.values[index] = rule.info().hyperparameters[index].checked(value).unwrap_or(rule.values[index]);
            }
        }
        rule
    }

    /// Returns the rule as a replacement of another: hyperparameters that both have keep the other's values, as far as their ranges
    /// allow it. Both have a hyperparameter where it [means the same](SettingInfo::means_the_same_as) in both.
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

    /// Describes which hyperparameters a rule that replaced another has set anew and which it has kept, such as `FOCUS in place of Adam;
    /// new: γ 0.2; changed: Squares β₂ 0.95 → Average β₂ 0.99; without: ε; kept: η, ω 0.1`.
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
    pub fn hyperparameters(&self) -> impl Iterator<Item = (&'static SettingInfo, f64)> + use<> {
        self.info().hyperparameters.iter().zip(self.values)
    }

    /// The value of a hyperparameter; of a choice its index. None where the rule has no such hyperparameter.
    pub fn get(&self, key: &str) -> Option<f64> {
        Some(self.values[self.index(key)?])
    }

    /// The chosen value of a hyperparameter that is a choice.
    pub fn choice(&self, key: &str) -> Option<&'static SettingChoice> {
        self.hyperparameter(key)?.choices().get(self.get(key)? as usize)
    }

    /// Sets a hyperparameter; of a choice, by its index.
    ///
    /// # Errors
    ///
    /// Where the value is out of range, or the rule has no such hyperparameter.
    pub fn set(&mut self, key: &str, value: f64) -> Result<(), OutOfRange> {
        setting::set(self.info().hyperparameters, &mut self.values, key, value, "a hyperparameter of the rule")
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

    /// Finds one of its hyperparameters by its key.
    pub fn hyperparameter(&self, key: &str) -> Option<&'static SettingInfo> {
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

    /// Lists the learning rate and the hyperparameters, with their values.
    pub fn settings(&self) -> impl Iterator<Item = (&'static SettingInfo, f64)> + use<> {
        std::iter::once((&setting::LEARNING_RATE, self.learning_rate.get())).chain(self.rule.hyperparameters())
    }

    /// Returns the value of the learning rate or of a hyperparameter; `None` if the rule lacks it.
    pub fn get(&self, key: &str) -> Option<f64> {
        if key == LEARNING_RATE { Some(self.learning_rate.get()) } else { self.rule.get(key) }
    }

    /// Sets the learning rate or a hyperparameter.
    ///
    /// # Errors
    ///
    /// Fails as [`RuleSpec::set`] does.
    pub fn set(&mut self, key: &str, value: f64) -> Result<(), OutOfRange> {
        if key == LEARNING_RATE { self.learning_rate.enter(value) } else { self.rule.set(key, value) }
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

/// The fields of a rated rule that are no hyperparameters.
pub(super) const LEARNING_RATE: &str = setting::LEARNING_RATE.key;
const SCHEDULE: &str = "schedule";

impl RuleSpec {
    /// Reads a rule. Missing hyperparameters have their defaults on the plane.
    pub(crate) fn deserialize_on_plane<'de, D: Deserializer<'de>>(deserializer: D) -> Result<RuleSpec, D::Error> {
        let reader = RuleReader { default: RuleSpec::on_plane, is_rated: false };
        Ok(deserializer.deserialize_enum("Rule", RuleKind::names_in_presets(), reader)?.0)
    }

    /// Reads a rule. Missing hyperparameters have their defaults in training.
    pub fn deserialize_in_training<'de, D: Deserializer<'de>>(deserializer: D) -> Result<RuleSpec, D::Error> {
        let reader = RuleReader { default: RuleSpec::in_training, is_rated: false };
        Ok(deserializer.deserialize_enum("Rule", RuleKind::names_in_presets(), reader)?.0)
    }
}

impl<'de> Deserialize<'de> for RatedRule {
    /// Reads a rule with its learning rate, which must be given. Missing hyperparameters have their defaults on the
    /// plane, and a missing schedule is constant.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let reader = RuleReader { default: RuleSpec::on_plane, is_rated: true };
        let (rule, rates) = deserializer.deserialize_enum("Rule", RuleKind::names_in_presets(), reader)?;
        let learning_rate = rates.learning_rate.expect("a rated rule without it is refused");
        Ok(RatedRule { rule, learning_rate, schedule: rates.schedule.unwrap_or_default() })
    }
}

/// The fields of a rated rule that are no hyperparameters, as far as they were read.
#[derive(Default)]
struct RateFields {
    learning_rate: Option<LearningRate>,
    schedule: Option<Schedule>,
}

impl RateFields {
    const NAMES: [&str; 2] = [LEARNING_RATE, SCHEDULE];

    /// The field of this name; none where it is another's.
    fn named(key: &str) -> Option<&'static str> {
        Self::NAMES.into_iter().find(|name| *name == key)
    }

    fn read<'de, A: MapAccess<'de>>(&mut self, name: &'static str, map: &mut A) -> Result<(), A::Error> {
        let is_repeated = match name {
            LEARNING_RATE => self.learning_rate.replace(map.next_value()?).is_some(),
            _ => self.schedule.replace(map.next_value()?).is_some(),
        };
        if is_repeated { Err(de::Error::duplicate_field(name)) } else { Ok(()) }
    }
}

/// Reads a rule, with its learning rate and schedule where it is rated.
struct RuleReader {
    default: fn(RuleKind) -> RuleSpec,
    is_rated: bool,
}

impl<'de> Visitor<'de> for RuleReader {
    type Value = (RuleSpec, RateFields);

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an update rule")
    }

    fn visit_enum<A: EnumAccess<'de>>(self, data: A) -> Result<Self::Value, A::Error> {
        let of = |name: &str| match RuleKind::named(name) {
            Some(kind) => Some(Some(kind)),
            None => (name == RuleKind::TYPED).then_some(None),
        };
        let names = RuleKind::names_in_presets();
        let (kind, fields) = data.variant_seed(Identifier { names, of, is_field: false })?;
        let of_rated = RateFields::NAMES.into_iter().filter(|_| self.is_rated);
        let Some(kind) = kind else {
            let names = lasting([NAME, TEXT].into_iter().chain(of_rated).collect());
            return fields.struct_variant(names, TypedReader(self));
        };
        let names = lasting(of_rated.chain(kind.info().hyperparameters.iter().map(|of| of.key)).collect());
        fields.struct_variant(names, HyperparameterReader { rule: (self.default)(kind), names })
    }
}

/// The fields of a rule, over its defaults.
struct HyperparameterReader {
    rule: RuleSpec,
    names: &'static [&'static str],
}

impl<'de> Visitor<'de> for HyperparameterReader {
    type Value = (RuleSpec, RateFields);

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "the hyperparameters of {}", self.rule.name())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let HyperparameterReader { mut rule, names } = self;
        let (mut rates, mut seen) = (RateFields::default(), [false; MOST_HYPERPARAMETERS]);
        let of = |name: &str| names.iter().copied().find(|key| *key == name);
        while let Some(key) = map.next_key_seed(Identifier { names, of, is_field: true })? {
            match rule.index(key) {
                None => rates.read(key, &mut map)?,
                Some(index) => {
                    rule.set_checked(index, map.next_value_seed(&rule.info().hyperparameters[index])?);
                    if std::mem::replace(&mut seen[index], true) {
                        return Err(de::Error::duplicate_field(key));
                    }
                }
            }
        }
        if rates.learning_rate.is_none() && names.contains(&LEARNING_RATE) {
            return Err(de::Error::missing_field(LEARNING_RATE));
        }
        Ok((rule, rates))
    }
}

/// The fields of a typed rule: its name and text, and the hyperparameters that the text has.
struct TypedReader(RuleReader);

impl<'de> Visitor<'de> for TypedReader {
    type Value = (RuleSpec, RateFields);

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the name, the text and the hyperparameters of a typed rule")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let RuleReader { default, is_rated } = self.0;
        let (mut fields, mut rates) = (TypedFields::default(), RateFields::default());
        while let Some(key) = map.next_key::<String>()? {
            match RateFields::named(&key).filter(|_| is_rated) {
                Some(field) => rates.read(field, &mut map)?,
                None => fields.read(key, &mut map)?,
            }
        }
        let name = fields.name.as_deref().ok_or_else(|| de::Error::missing_field(NAME))?;
        let typed = TypedRule::new(name, fields.text()?).map_err(de::Error::custom)?;
        if is_rated && rates.learning_rate.is_none() {
            return Err(de::Error::missing_field(LEARNING_RATE));
        }
        let mut rule = default(RuleKind::Typed(typed));
        let hyperparameters = rule.info().hyperparameters;
        let keys: Vec<&str> = hyperparameters.iter().map(|of| of.key).collect();
        let others: &[&str] = if is_rated { &RateFields::NAMES } else { &[] };
        fields.set_parameters(others, &keys, |index, value| {
            rule.set_checked(index, hyperparameters[index].checked(value)?);
            Ok(())
        })?;
        Ok((rule, rates))
    }
}

impl Serialize for RuleSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        write(self, None, serializer)
    }
}

impl Serialize for RatedRule {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        write(&self.rule, Some(self), serializer)
    }
}

/// Writes a rule as a variant of an enum with its hyperparameters as fields.
fn write<S: Serializer>(rule: &RuleSpec, rated: Option<&RatedRule>, serializer: S) -> Result<S::Ok, S::Error> {
    let of_typed = if rule.kind().typed().is_some() { 2 } else { 0 };
    let of_rated = if rated.is_some() { 2 } else { 0 };
    let fields = rule.info().hyperparameters.len() + of_rated + of_typed;
    let mut variant = serializer.serialize_struct_variant("Rule", rule.kind().index(), rule.kind().key(), fields)?;
    if let Some(typed) = rule.kind().typed() {
        variant.serialize_field(NAME, typed.name())?;
        variant.serialize_field(TEXT, typed.text())?;
    }
    if let Some(RatedRule { learning_rate, schedule, .. }) = rated {
        variant.serialize_field(LEARNING_RATE, learning_rate)?;
        variant.serialize_field(SCHEDULE, schedule)?;
    }
    for (hyperparameter, value) in rule.hyperparameters() {
        match hyperparameter.choices().get(value as usize) {
            Some(choice) => variant.serialize_field(hyperparameter.key, &ChoiceName(choice.key))?,
            None => variant.serialize_field(hyperparameter.key, &value)?,
        }
    }
    variant.end()
}

/// A variant without fields.
struct ChoiceName(&'static str);

impl Serialize for ChoiceName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_unit_variant("SettingChoice", 0, self.0)
    }
}
