//! Names of hyperparameters, whatever rule they are of.

use std::fmt;

use serde::de::{Deserializer, EnumAccess, VariantAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};

use super::{Hyperparameter, RuleKind, RuleSpec, TypedRule};
use crate::identifier::{Identifier, lasting, type_name};

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

    /// All of them: the learning rate, those of the built-in rules, then those of the rules typed so far.
    pub fn all() -> impl Iterator<Item = HyperparameterName> {
        let mut names: Vec<HyperparameterName> = HyperparameterName::built_in().collect();
        for hyperparameter in TypedRule::tables().into_iter().flatten() {
            if names.iter().all(|name| name.0 != hyperparameter.key) {
                names.push(HyperparameterName(hyperparameter.key));
            }
        }
        names.into_iter()
    }

    /// The learning rate and those of the built-in rules.
    fn built_in() -> impl Iterator<Item = HyperparameterName> {
        let mut keys = vec![Self::LEARNING_RATE.0];
        for hyperparameter in RuleKind::ALL.iter().flat_map(|kind| kind.info().hyperparameters) {
            if hyperparameter.is_axis() && !keys.contains(&hyperparameter.key) {
                keys.push(hyperparameter.key);
            }
        }
        keys.into_iter().map(HyperparameterName)
    }

    /// Returns the key in file formats.
    pub fn key(self) -> &'static str {
        self.0
    }

    /// Returns the hyperparameter of the first rule that has one of this name; `None` for the learning rate.
    pub fn hyperparameter(self) -> Option<&'static Hyperparameter> {
        let built_in = RuleKind::ALL.iter().map(|kind| kind.info().hyperparameters);
        let mut all = built_in.chain(TypedRule::tables()).flatten();
        all.find(|hyperparameter| hyperparameter.key == self.0 && hyperparameter.is_axis())
    }

    /// Whether `rule` depends on it.
    pub fn is_of(self, rule: &RuleSpec) -> bool {
        self == Self::LEARNING_RATE || rule.hyperparameter(self.0).is_some_and(Hyperparameter::is_axis)
    }

    /// Returns the name in presets: `WeightDecay` for `weight_decay`.
    fn type_name(self) -> String {
        type_name(self.0)
    }

    /// The names in presets: those of the built-in rules, and one that stands before a name that a typed rule gives.
    fn type_names() -> &'static [&'static str] {
        let built_in = HyperparameterName::built_in().map(HyperparameterName::type_name);
        lasting(built_in.chain([OF_TYPED.to_owned()]).collect())
    }
}

impl Serialize for HyperparameterName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let names = Self::type_names();
        match HyperparameterName::built_in().position(|name| name == *self) {
            Some(index) => serializer.serialize_unit_variant("Hyperparameter", index as u32, names[index]),
            None => serializer.serialize_newtype_variant("Hyperparameter", names.len() as u32, OF_TYPED, self.0),
        }
    }
}

impl<'de> Deserialize<'de> for HyperparameterName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_enum("Hyperparameter", Self::type_names(), NameReader)
    }
}

/// The word in presets before the name of a hyperparameter that only typed rules have: `OfTyped("kappa")`.
const OF_TYPED: &str = "OfTyped";

struct NameReader;

impl<'de> Visitor<'de> for NameReader {
    type Value = HyperparameterName;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the name of a hyperparameter")
    }

    fn visit_enum<A: EnumAccess<'de>>(self, data: A) -> Result<HyperparameterName, A::Error> {
        let of = |found: &str| match HyperparameterName::built_in().find(|name| name.type_name() == found) {
            Some(name) => Some(Some(name)),
            None => (found == OF_TYPED).then_some(None),
        };
        let names = HyperparameterName::type_names();
        let (name, content) = data.variant_seed(Identifier { names, of, is_field: false })?;
        match name {
            Some(name) => content.unit_variant().map(|()| name),
            // Whether an optimizer has it is known once all are read.
            None => content.newtype_variant::<String>().map(|key| HyperparameterName(lasting(vec![key])[0])),
        }
    }
}
