//! Names of the parameters of landscapes, whatever landscape has them.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{LandscapeKind, LandscapeSpec};
use crate::parameter_name::NameFormat;

/// The name of a parameter that some landscape has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LandscapeParameterName(&'static str);

const FORMAT: NameFormat = NameFormat {
    of: "LandscapeParameter",
    expecting: "the name of a parameter of the landscape",
    built_in,
    typed: Some("OfFormula"),
};

/// Lists the keys of the parameters of the built-in landscapes.
fn built_in() -> Vec<&'static str> {
    let mut keys: Vec<&'static str> = Vec::new();
    for parameter in LandscapeKind::ALL.iter().flat_map(|kind| kind.info().parameters) {
        if !keys.contains(&parameter.key()) {
            keys.push(parameter.key());
        }
    }
    keys
}

impl LandscapeParameterName {
    pub const SHARPNESS: LandscapeParameterName = LandscapeParameterName("sharpness");
    pub const SLOPE: LandscapeParameterName = LandscapeParameterName("slope");
    pub const ROTATION: LandscapeParameterName = LandscapeParameterName("rotation_degrees");

    /// Lists the names of the parameters of a landscape.
    pub fn of(landscape: &LandscapeSpec) -> impl Iterator<Item = LandscapeParameterName> + use<> {
        landscape.info().parameters.iter().map(|parameter| LandscapeParameterName(parameter.key()))
    }

    /// Returns the key in file formats.
    pub fn key(self) -> &'static str {
        self.0
    }
}

impl Serialize for LandscapeParameterName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        FORMAT.serialize(self.0, serializer)
    }
}

impl<'de> Deserialize<'de> for LandscapeParameterName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        FORMAT.deserialize(deserializer).map(LandscapeParameterName)
    }
}
