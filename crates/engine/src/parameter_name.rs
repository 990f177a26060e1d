//! Names of parameters in presets.

use std::fmt;

use serde::Serializer;
use serde::de::{Deserializer, EnumAccess, VariantAccess, Visitor};

use crate::identifier::{Identifier, lasting, type_name};

/// The form of the names of some parameters in presets: `WeightDecay` for the key `weight_decay`, and a word before a
/// key that only a typed text declares, as in `OfTyped("kappa")`.
pub(crate) struct NameFormat {
    /// The type in messages of the reader.
    pub of: &'static str,
    pub expecting: &'static str,
    /// Lists the keys of built-in parameters.
    pub built_in: fn() -> Vec<&'static str>,
    /// The word before the key of a typed text; `None` if there are no typed ones.
    pub typed: Option<&'static str>,
}

impl NameFormat {
    fn names(&self) -> &'static [&'static str] {
        let built_in = (self.built_in)().into_iter().map(type_name);
        lasting(built_in.chain(self.typed.map(str::to_owned)).collect())
    }

    /// Writes the name of the parameter with this key.
    pub(crate) fn serialize<S: Serializer>(&self, key: &str, serializer: S) -> Result<S::Ok, S::Error> {
        let names = self.names();
        match ((self.built_in)().iter().position(|known| *known == key), self.typed) {
            (Some(index), _) => serializer.serialize_unit_variant(self.of, index as u32, names[index]),
            (None, Some(typed)) => serializer.serialize_newtype_variant(self.of, names.len() as u32, typed, key),
            (None, None) => Err(serde::ser::Error::custom(format!("there is no parameter {key}"))),
        }
    }

    /// Reads a name and returns its key. Whether a typed text has the parameter is checked later.
    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(&self, deserializer: D) -> Result<&'static str, D::Error> {
        deserializer.deserialize_enum(self.of, self.names(), NameReader(self))
    }
}

struct NameReader<'a>(&'a NameFormat);

impl<'de> Visitor<'de> for NameReader<'_> {
    type Value = &'static str;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.0.expecting)
    }

    fn visit_enum<A: EnumAccess<'de>>(self, data: A) -> Result<&'static str, A::Error> {
        let of = |found: &str| match (self.0.built_in)().into_iter().find(|key| type_name(key) == found) {
            Some(key) => Some(Some(key)),
            None => (self.0.typed == Some(found)).then_some(None),
        };
        let (key, content) = data.variant_seed(Identifier { names: self.0.names(), of, is_field: false })?;
        match key {
            Some(key) => content.unit_variant().map(|()| key),
            None => content.newtype_variant::<String>().map(|key| lasting(vec![key])[0]),
        }
    }
}
