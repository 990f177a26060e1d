//! Names of the parameters of noise besides σ, whatever noise has them.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{BoundedParameter, NoiseKind, NoiseSpec};
use crate::parameter::Parameter;
use crate::parameter_name::NameFormat;

/// The name of a parameter that some noise has besides σ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoiseParameterName(&'static str);

const FORMAT: NameFormat = NameFormat {
    of: "NoiseParameter",
    expecting: "the name of a parameter of the noise",
    built_in: || all().map(BoundedParameter::key).collect(),
    typed: None,
};

fn all() -> impl Iterator<Item = &'static BoundedParameter> {
    NoiseKind::ALL.iter().flat_map(|kind| kind.info().parameters.iter().skip(1))
}

impl NoiseParameterName {
    /// Lists the names of the parameters of a noise besides σ.
    pub fn of(noise: &NoiseSpec) -> impl Iterator<Item = NoiseParameterName> + use<> {
        noise.info().parameters.iter().skip(1).map(|of| NoiseParameterName(of.key()))
    }

    /// Returns the key in file formats.
    pub fn key(self) -> &'static str {
        self.0
    }

    /// Returns the description in the first noise that has the parameter.
    pub fn parameter(self) -> Parameter {
        all().find(|of| of.key() == self.0).expect("a name is of a parameter").parameter
    }
}

impl Serialize for NoiseParameterName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        FORMAT.serialize(self.0, serializer)
    }
}

impl<'de> Deserialize<'de> for NoiseParameterName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        FORMAT.deserialize(deserializer).map(NoiseParameterName)
    }
}
