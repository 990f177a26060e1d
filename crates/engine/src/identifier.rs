//! Names in presets: of variants and fields that are known from tables instead of types, and of parameters.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use serde::de::{DeserializeSeed, EnumAccess, VariantAccess, Visitor};
use serde::{Deserializer, Serializer, de};

/// Returns the element with a name as it is shown or as in presets: exactly this one, or else up to what [`folded`]
/// leaves out.
pub(crate) fn named<T: Copy>(all: &[T], names: impl Fn(T) -> [&'static str; 2], name: &str) -> Option<T> {
    let all = || all.iter().copied();
    all().find(|it| names(*it).contains(&name)).or_else(|| {
        let name = folded(name);
        all().find(|it| names(*it).map(folded).contains(&name))
    })
}

/// Returns a name without the differences that do not count where a user types it: capitals, spaces, hyphens and
/// underscores.
pub fn folded(name: &str) -> String {
    name.replace([' ', '-', '_'], "").to_lowercase()
}

/// The name of a variant or of a field, and what it stands for.
pub(crate) struct Identifier<F> {
    pub names: &'static [&'static str],
    pub of: F,
    pub is_field: bool,
}

impl<'de, T, F: Fn(&str) -> Option<T>> DeserializeSeed<'de> for Identifier<F> {
    type Value = T;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<T, D::Error> {
        deserializer.deserialize_identifier(self)
    }
}

impl<T, F: Fn(&str) -> Option<T>> Visitor<'_> for Identifier<F> {
    type Value = T;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "one of {}", self.names.join(", "))
    }

    fn visit_str<E: de::Error>(self, name: &str) -> Result<T, E> {
        let unknown = if self.is_field { E::unknown_field } else { E::unknown_variant };
        (self.of)(name).ok_or_else(|| unknown(name, self.names))
    }
}

/// The names for as long as the program runs, as errors need them. Equal ones are kept once, and there are few.
pub(crate) fn lasting<N: AsRef<str>>(names: Vec<N>) -> &'static [&'static str] {
    static KNOWN: Mutex<Vec<&'static [&'static str]>> = Mutex::new(Vec::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let is_same = |known: &&'static [&'static str]| known.iter().copied().eq(names.iter().map(AsRef::as_ref));
    if let Some(same) = known.iter().copied().find(is_same) {
        return same;
    }
    let names: Vec<&'static str> = names.iter().map(|name| &*name.as_ref().to_owned().leak()).collect();
    known.push(names.leak());
    known[known.len() - 1]
}

/// Returns the name of a variant for a key, such as `WeightDecay` for `weight_decay`.
fn type_name(key: &str) -> String {
    let word = |word: &str| {
        let mut chars = word.chars();
        chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
    };
    key.split('_').map(word).collect()
}

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

    pub(crate) fn serialize<S: Serializer>(&self, key: &str, serializer: S) -> Result<S::Ok, S::Error> {
        let names = self.names();
        match ((self.built_in)().iter().position(|known| *known == key), self.typed) {
            (Some(index), _) => serializer.serialize_unit_variant(self.of, index as u32, names[index]),
            (None, Some(typed)) => serializer.serialize_newtype_variant(self.of, names.len() as u32, typed, key),
            (None, None) => Err(serde::ser::Error::custom(format!("there is no parameter {key}"))),
        }
    }

    /// Reads a name and returns its key. Whether a typed text has the parameter is checked later.
    pub(crate) fn deserialize<'de, D: de::Deserializer<'de>>(&self, deserializer: D) -> Result<&'static str, D::Error> {
        deserializer.deserialize_enum(self.of, self.names(), NameReader(self))
    }
}

/// Defines how a key is written in presets, as a module for `#[serde(with = "…")]`.
macro_rules! key_format {
    ($module:ident, $format:expr) => {
        mod $module {
            use serde::{Deserializer, Serializer};

            use super::*;

            pub(super) fn serialize<S: Serializer>(key: &&'static str, serializer: S) -> Result<S::Ok, S::Error> {
                $format.serialize(key, serializer)
            }

            pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<&'static str, D::Error> {
                $format.deserialize(deserializer)
            }
        }
    };
}
pub(crate) use key_format;

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
