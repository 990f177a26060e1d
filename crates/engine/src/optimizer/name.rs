//! Names of hyperparameters, whatever rule they are of.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Hyperparameter, RuleKind, RuleSpec, TypedRule};
use crate::parameter_name::NameFormat;

/// The name of the learning rate, or of a hyperparameter that some rule has and that is a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HyperparameterName(&'static str);

const FORMAT: NameFormat = NameFormat {
    of: "Hyperparameter",
    expecting: "the name of a hyperparameter",
    built_in: HyperparameterName::built_in,
    typed: Some("OfTyped"),
};

impl HyperparameterName {
    pub const LEARNING_RATE: HyperparameterName = HyperparameterName("learning_rate");
    pub const WEIGHT_DECAY: HyperparameterName = HyperparameterName(Hyperparameter::WEIGHT_DECAY);

    /// Lists the keys of the learning rate and of the hyperparameters of the built-in rules.
    pub(crate) fn built_in() -> Vec<&'static str> {
        let mut keys = vec![HyperparameterName::LEARNING_RATE.0];
        for hyperparameter in RuleKind::ALL.iter().flat_map(|kind| kind.info().hyperparameters) {
            if hyperparameter.is_axis() && !keys.contains(&hyperparameter.key) {
                keys.push(hyperparameter.key);
            }
        }
        keys
    }

    /// The hyperparameter with this key.
    pub fn new(key: &str) -> Option<HyperparameterName> {
        HyperparameterName::all().find(|name| name.0 == key)
    }

    /// All of them: the learning rate, those of the built-in rules, then those of the rules typed so far.
    pub fn all() -> impl Iterator<Item = HyperparameterName> {
        let mut names: Vec<HyperparameterName> =
            HyperparameterName::built_in().into_iter().map(HyperparameterName).collect();
        for hyperparameter in TypedRule::tables().into_iter().flatten() {
            if names.iter().all(|name| name.0 != hyperparameter.key) {
                names.push(HyperparameterName(hyperparameter.key));
            }
        }
        names.into_iter()
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
}

impl Serialize for HyperparameterName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        FORMAT.serialize(self.0, serializer)
    }
}

impl<'de> Deserialize<'de> for HyperparameterName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        FORMAT.deserialize(deserializer).map(HyperparameterName)
    }
}
