//! Rules as they are written to presets and configurations.

use serde::ser::SerializeStructVariant;
use serde::{Serialize, Serializer};

use super::read::{LEARNING_RATE, SCHEDULE};
use super::{RatedRule, RuleSpec};
use crate::typed_fields::{NAME, TEXT};

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
        serializer.serialize_unit_variant("HyperparameterChoice", 0, self.0)
    }
}
