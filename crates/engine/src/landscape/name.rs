//! Names of the parameters of landscapes, whatever landscape has them.

use std::fmt;

use serde::de::{Deserializer, EnumAccess, VariantAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};

use super::{LandscapeKind, LandscapeSpec};
use crate::identifier::{Identifier, lasting, type_name};

/// The name of a parameter that some landscape has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LandscapeParameterName(&'static str);

impl LandscapeParameterName {
    pub const SHARPNESS: LandscapeParameterName = LandscapeParameterName("sharpness");
    pub const SLOPE: LandscapeParameterName = LandscapeParameterName("slope");
    pub const ROTATION: LandscapeParameterName = LandscapeParameterName("rotation_degrees");

    /// Lists the names of the parameters of a landscape.
    pub fn of(landscape: &LandscapeSpec) -> impl Iterator<Item = LandscapeParameterName> + use<> {
        landscape.info().parameters.iter().map(|parameter| LandscapeParameterName(parameter.key()))
    }

    /// Lists the names of the parameters of the built-in landscapes.
    fn built_in() -> impl Iterator<Item = LandscapeParameterName> {
        let mut keys: Vec<&'static str> = Vec::new();
        for parameter in LandscapeKind::ALL.iter().flat_map(|kind| kind.info().parameters) {
            if !keys.contains(&parameter.key()) {
                keys.push(parameter.key());
            }
        }
        keys.into_iter().map(LandscapeParameterName)
    }

    /// Returns the key in file formats.
    pub fn key(self) -> &'static str {
        self.0
    }

    /// Lists the names in presets: those of the built-in landscapes, and the word before a name that a text gives.
    fn type_names() -> &'static [&'static str] {
        let built_in = LandscapeParameterName::built_in().map(|name| type_name(name.0));
        lasting(built_in.chain([OF_FORMULA.to_owned()]).collect())
    }
}

impl Serialize for LandscapeParameterName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let names = Self::type_names();
        match LandscapeParameterName::built_in().position(|name| name == *self) {
            Some(index) => serializer.serialize_unit_variant("LandscapeParameter", index as u32, names[index]),
            None => serializer.serialize_newtype_variant("LandscapeParameter", names.len() as u32, OF_FORMULA, self.0),
        }
    }
}

impl<'de> Deserialize<'de> for LandscapeParameterName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_enum("LandscapeParameter", Self::type_names(), NameReader)
    }
}

/// The word in presets before the name of a parameter that only typed landscapes have: `OfFormula("kappa")`.
const OF_FORMULA: &str = "OfFormula";

struct NameReader;

impl<'de> Visitor<'de> for NameReader {
    type Value = LandscapeParameterName;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the name of a parameter of the landscape")
    }

    fn visit_enum<A: EnumAccess<'de>>(self, data: A) -> Result<LandscapeParameterName, A::Error> {
        let of = |found: &str| match LandscapeParameterName::built_in().find(|name| type_name(name.0) == found) {
            Some(name) => Some(Some(name)),
            None => (found == OF_FORMULA).then_some(None),
        };
        let names = LandscapeParameterName::type_names();
        let (name, content) = data.variant_seed(Identifier { names, of, is_field: false })?;
        match name {
            Some(name) => content.unit_variant().map(|()| name),
            // Whether the landscape has it is checked once all is read.
            None => content.newtype_variant::<String>().map(|key| LandscapeParameterName(lasting(vec![key])[0])),
        }
    }
}
