//! Names as users type them, and names of variants and fields that are known from tables and not from a type.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use serde::Deserializer;
use serde::de::{self, DeserializeSeed, Visitor};

/// Returns the element with a name as it is shown or as in presets: exactly this one, or else up to what [`folded`] leaves
/// out.
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
pub(crate) fn type_name(key: &str) -> String {
    let word = |word: &str| {
        let mut chars = word.chars();
        chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
    };
    key.split('_').map(word).collect()
}
