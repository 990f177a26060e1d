//! Rules as they are read from presets and configurations.

use std::fmt;

use serde::Deserialize;
use serde::de::{self, DeserializeSeed, Deserializer, EnumAccess, MapAccess, VariantAccess, Visitor};

use super::{
    Hyperparameter, HyperparameterChoice, HyperparameterKind, MOST_HYPERPARAMETERS, RatedRule, RuleKind, RuleSpec,
    Schedule, TypedRule,
};
use crate::identifier::{Identifier, lasting};
use crate::quantity::LearningRate;
use crate::typed_fields::{NAME, TEXT, TypedFields};

/// The fields of a rated rule that are no hyperparameters.
pub(super) const LEARNING_RATE: &str = "learning_rate";
pub(super) const SCHEDULE: &str = "schedule";

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

    /// Reads the value of one of the fields.
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

/// The value of a hyperparameter, checked where it stands; of a choice, its index.
impl<'de> DeserializeSeed<'de> for &'static Hyperparameter {
    type Value = f64;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<f64, D::Error> {
        match self.kind {
            HyperparameterKind::Choice(choices) => deserializer.deserialize_enum(self.key, &[], ChoiceReader(choices)),
            HyperparameterKind::DecayRate | HyperparameterKind::Number(_) | HyperparameterKind::Whole(_) => {
                self.checked(f64::deserialize(deserializer)?).map_err(de::Error::custom)
            }
        }
    }
}

/// One of a few choices, as its index.
struct ChoiceReader(&'static [HyperparameterChoice]);

impl<'de> Visitor<'de> for ChoiceReader {
    type Value = f64;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "one of {}", self.0.iter().map(|choice| choice.key).collect::<Vec<_>>().join(", "))
    }

    fn visit_enum<A: EnumAccess<'de>>(self, data: A) -> Result<f64, A::Error> {
        let names = lasting(self.0.iter().map(|choice| choice.key).collect());
        let of = |name: &str| names.iter().position(|key| *key == name);
        let (index, unit) = data.variant_seed(Identifier { names, of, is_field: false })?;
        unit.unit_variant()?;
        Ok(index as f64)
    }
}
