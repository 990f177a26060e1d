//! Landscapes as they are read from presets.

use std::fmt;

use serde::Deserialize;
use serde::de::{self, DeserializeSeed, Deserializer, EnumAccess, MapAccess, VariantAccess, Visitor};

use super::{BoundedParameter, LandscapeFormula, LandscapeKind, LandscapeSpec, MOST_PARAMETERS};
use crate::identifier::{Identifier, lasting};

/// The name of a typed landscape.
pub(super) const NAME: &str = "name";
/// The text of a typed landscape.
pub(super) const TEXT: &str = "text";

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
        let (mut name, mut text) = (None::<String>, None::<String>);
        // The names of parameters are known once the text is read.
        let mut values: Vec<(String, f64)> = Vec::new();
        while let Some(key) = map.next_key::<String>()? {
            let field = match key.as_str() {
                NAME => Some((NAME, &mut name)),
                TEXT => Some((TEXT, &mut text)),
                _ => None,
            };
            match field {
                Some((key, Some(_))) => return Err(de::Error::duplicate_field(key)),
                Some((_, field)) => *field = Some(map.next_value()?),
                None => values.push((key, map.next_value()?)),
            }
        }
        let text = text.ok_or_else(|| de::Error::missing_field(TEXT))?;
        let name = name.unwrap_or_else(|| LandscapeFormula::UNNAMED.to_owned());
        let formula = LandscapeFormula::new(&name, &text).map_err(de::Error::custom)?;
        let mut spec = LandscapeSpec::new(LandscapeKind::Formula(formula));
        for (place, (key, value)) in values.iter().enumerate() {
            let known = || {
                let keys = spec.info().parameters.iter().map(BoundedParameter::key);
                lasting([NAME, TEXT].into_iter().chain(keys).collect())
            };
            let index = spec.index(key).ok_or_else(|| de::Error::unknown_field(key, known()))?;
            let of = &spec.info().parameters[index];
            if values[..place].iter().any(|(before, _)| before == key) {
                return Err(de::Error::duplicate_field(of.key()));
            }
            spec.set_checked(index, of.checked(*value).map_err(de::Error::custom)?);
        }
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
