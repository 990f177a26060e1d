//! Names of hyperparameters, whatever rule they are of.

use std::fmt;

use serde::de::{Deserializer, EnumAccess, VariantAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};

use super::identifier::{Identifier, lasting};
use super::{Hyperparameter, RuleKind, RuleSpec};

/// The name of the learning rate, or of a hyperparameter that some rule has and that is a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HyperparameterName(&'static str);

impl HyperparameterName {
    pub const LEARNING_RATE: HyperparameterName = HyperparameterName("learning_rate");
    pub const WEIGHT_DECAY: HyperparameterName = HyperparameterName(Hyperparameter::WEIGHT_DECAY);

    /// The hyperparameter with this key.
    pub fn new(key: &str) -> Option<HyperparameterName> {
        HyperparameterName::all().find(|name| name.0 == key)
    }

    /// All of them: the learning rate, then those of the rules.
    pub fn all() -> impl Iterator<Item = HyperparameterName> {
        let mut keys = vec![Self::LEARNING_RATE.0];
        for hyperparameter in RuleKind::ALL.iter().flat_map(|kind| kind.info().hyperparameters) {
            if hyperparameter.is_axis() && !keys.contains(&hyperparameter.key) {
                keys.push(hyperparameter.key);
            }
        }
        keys.into_iter().map(HyperparameterName)
    }

    /// As in file formats.
    pub fn key(self) -> &'static str {
        self.0
    }

    /// What the first rule that has it says of it; none of the learning rate.
    pub fn hyperparameter(self) -> Option<&'static Hyperparameter> {
        let mut all = RuleKind::ALL.iter().flat_map(|kind| kind.info().hyperparameters);
        all.find(|hyperparameter| hyperparameter.key == self.0 && hyperparameter.is_axis())
    }

    /// Whether `rule` depends on it.
    pub fn is_of(self, rule: &RuleSpec) -> bool {
        self == Self::LEARNING_RATE || rule.hyperparameter(self.0).is_some_and(Hyperparameter::is_axis)
    }

    /// In presets: `WeightDecay` for `weight_decay`.
    fn type_name(self) -> String {
        let word = |word: &str| {
            let mut chars = word.chars();
            chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
        };
        self.0.split('_').map(word).collect()
    }

    /// The names in presets, in the order of [`HyperparameterName::all`].
    fn type_names() -> &'static [&'static str] {
        lasting(HyperparameterName::all().map(HyperparameterName::type_name).collect())
    }
}

impl Serialize for HyperparameterName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let index = HyperparameterName::all().position(|name| name == *self).expect("it is one of all");
        serializer.serialize_unit_variant("Hyperparameter", index as u32, Self::type_names()[index])
    }
}

impl<'de> Deserialize<'de> for HyperparameterName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_enum("Hyperparameter", Self::type_names(), NameReader)
    }
}

struct NameReader;

impl<'de> Visitor<'de> for NameReader {
    type Value = HyperparameterName;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the name of a hyperparameter")
    }

    fn visit_enum<A: EnumAccess<'de>>(self, data: A) -> Result<HyperparameterName, A::Error> {
        let of = |found: &str| HyperparameterName::all().find(|name| name.type_name() == found);
        let names = HyperparameterName::type_names();
        let (name, unit) = data.variant_seed(Identifier { names, of, is_field: false })?;
        unit.unit_variant()?;
        Ok(name)
    }
}
