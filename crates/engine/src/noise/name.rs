//! Names of the parameters of noise besides σ, whatever noise has them.

use std::fmt;

use serde::de::{Deserializer, EnumAccess, VariantAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};

use super::{BoundedParameter, NoiseKind, NoiseSpec};
use crate::identifier::{Identifier, lasting, type_name};
use crate::parameter::Parameter;

/// The name of a parameter that some noise has besides σ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoiseParameterName(&'static str);

impl NoiseParameterName {
    /// Lists the names of the parameters of a noise besides σ.
    pub fn of(noise: &NoiseSpec) -> impl Iterator<Item = NoiseParameterName> + use<> {
        noise.info().parameters.iter().skip(1).map(|of| NoiseParameterName(of.key()))
    }

    fn all() -> impl Iterator<Item = &'static BoundedParameter> {
        NoiseKind::ALL.iter().flat_map(|kind| kind.info().parameters.iter().skip(1))
    }

    /// Returns the key in file formats.
    pub fn key(self) -> &'static str {
        self.0
    }

    /// Returns the description in the first noise that has the parameter.
    pub fn parameter(self) -> Parameter {
        let mut all = NoiseParameterName::all();
        all.find(|of| of.key() == self.0).expect("a name is of a parameter").parameter
    }

    fn type_names() -> &'static [&'static str] {
        lasting(NoiseParameterName::all().map(|of| type_name(of.key())).collect())
    }
}

impl Serialize for NoiseParameterName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let index = NoiseParameterName::all().position(|of| of.key() == self.0).expect("a name is of a parameter");
        serializer.serialize_unit_variant("NoiseParameter", index as u32, Self::type_names()[index])
    }
}

impl<'de> Deserialize<'de> for NoiseParameterName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_enum("NoiseParameter", Self::type_names(), NameReader)
    }
}

struct NameReader;

impl<'de> Visitor<'de> for NameReader {
    type Value = NoiseParameterName;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the name of a parameter of the noise")
    }

    fn visit_enum<A: EnumAccess<'de>>(self, data: A) -> Result<NoiseParameterName, A::Error> {
        let names = NoiseParameterName::type_names();
        let of = |found: &str| NoiseParameterName::all().find(|of| type_name(of.key()) == found);
        let (of, content) = data.variant_seed(Identifier { names, of, is_field: false })?;
        content.unit_variant().map(|()| NoiseParameterName(of.key()))
    }
}
