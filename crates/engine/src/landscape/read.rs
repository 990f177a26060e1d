//! Landscapes as they are read from presets.

use std::fmt;

use serde::Deserialize;
use serde::de::{self, DeserializeSeed, Deserializer, EnumAccess, MapAccess, VariantAccess, Visitor};

use super::{BoundedParameter, LandscapeFormula, LandscapeKind, LandscapeSpec, MOST_PARAMETERS};
use crate::identifier::{Identifier, lasting};
use crate::typed_fields::{NAME, TEXT, TypedFields};

impl LandscapeKind {
    /// Lists the names in presets.
    fn names_in_presets() -> &'static [&'static str] {
        lasting(Self::ALL.iter().map(|kind| kind.key()).chain([Self::FORMULA]).collect())
    }
}

impl<'de> Deserialize<'de> for LandscapeSpec {
    /// Reads a landscape. Missing parameters have their defaults.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<LandscapeSpec, D::Error> {
        deserializer.deserialize_enum("Landscape", LandscapeKind::names_in_presets(), LandscapeReader)
    }
}

struct LandscapeReader;

impl<'de> Visitor<'de> for LandscapeReader {
    type Value = LandscapeSpec;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a landscape")
    }

    fn visit_enum<A: EnumAccess<'de>>(self, data: A) -> Result<LandscapeSpec, A::Error> {
        let of = |name: &str| match LandscapeKind::named(name) {
            Some(kind) => Some(Some(kind)),
            None => (name == LandscapeKind::FORMULA).then_some(None),
        };
        let names = LandscapeKind::names_in_presets();
        let (kind, fields) = data.variant_seed(Identifier { names, of, is_field: false })?;
        match kind {
            Some(kind) => {
                let names = lasting(kind.info().parameters.iter().map(BoundedParameter::key).collect());
                fields.struct_variant(names, ParameterReader { spec: LandscapeSpec::new(kind), names })
            }
            None => fields.struct_variant(&[NAME, TEXT], FormulaReader),
        }
    }
}

/// Reads the parameters of a built-in landscape, over its defaults.
struct ParameterReader {
    spec: LandscapeSpec,
    names: &'static [&'static str],
}

impl<'de> Visitor<'de> for ParameterReader {
    type Value = LandscapeSpec;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "the parameters of {}", self.spec.info().name)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<LandscapeSpec, A::Error> {
        let ParameterReader { mut spec, names } = self;
        let mut seen = [false; MOST_PARAMETERS];
        let of = |name: &str| names.iter().position(|key| *key == name);
        while let Some(index) = map.next_key_seed(Identifier { names, of, is_field: true })? {
            spec.set_checked(index, map.next_value_seed(&spec.info().parameters[index])?);
            if std::mem::replace(&mut seen[index], true) {
                return Err(de::Error::duplicate_field(names[index]));
            }
        }
        Ok(spec)
    }
}

/// Reads the name, the text and the parameters of a typed landscape.
struct FormulaReader;

impl<'de> Visitor<'de> for FormulaReader {
    type Value = LandscapeSpec;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the name, the text and the parameters of a typed landscape")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<LandscapeSpec, A::Error> {
        let mut fields = TypedFields::default();
        while let Some(key) = map.next_key()? {
            fields.read(key, &mut map)?;
        }
        let name = fields.name.as_deref().unwrap_or(LandscapeFormula::UNNAMED);
        let formula = LandscapeFormula::new(name, fields.text()?).map_err(de::Error::custom)?;
        let mut spec = LandscapeSpec::new(LandscapeKind::Formula(formula));
        let parameters = spec.info().parameters;
        let keys: Vec<&str> = parameters.iter().map(BoundedParameter::key).collect();
        fields.set_parameters(&[], &keys, |index, value| {
            spec.set_checked(index, parameters[index].checked(value)?);
            Ok(())
        })?;
        Ok(spec)
    }
}

/// The value of a parameter, checked where it stands.
impl<'de> DeserializeSeed<'de> for &'static BoundedParameter {
    type Value = f64;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<f64, D::Error> {
        self.checked(f64::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}
