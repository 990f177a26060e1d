//! Noise as it is read from presets.

use std::fmt;

use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, Visitor};

use super::{NoiseInfo, NoiseKind, NoiseSpec};

impl<'de> Deserialize<'de> for NoiseSpec {
    /// Reads a noise: a number is σ of multiplicative noise, and `HeavyTailed(1.0, 3.0)` gives all values of a kind.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<NoiseSpec, D::Error> {
        match Written::deserialize(deserializer)? {
            Written::Number(sigma) => noise(NoiseKind::Multiplicative, &[sigma]),
            Written::Kind(Call { name, values }) => match NoiseKind::named(&name) {
                Some(kind) => noise(kind, &values),
                None => Err(de::Error::custom(wanted())),
            },
            Written::Other(de::IgnoredAny) => Err(de::Error::custom(wanted())),
        }
    }
}

/// Returns the noise of this kind with the values of all parameters.
fn noise<E: de::Error>(kind: NoiseKind, values: &[f64]) -> Result<NoiseSpec, E> {
    let NoiseInfo { parameters, .. } = kind.info();
    if values.len() != parameters.len() {
        return Err(E::custom(format!("expected `{}`", form(kind))));
    }
    let mut spec = NoiseSpec::new(kind);
    for (index, value) in values.iter().enumerate() {
        spec.set(index, *value).map_err(E::custom)?;
    }
    Ok(spec)
}

/// Lists what may be written. The reader of presets adds what was found.
fn wanted() -> String {
    let kinds: Vec<String> = NoiseKind::ALL.iter().map(|kind| format!("`{}`", form(*kind))).collect();
    format!("expected a number or one of {}", kinds.join(", "))
}

/// Returns the form of a noise in presets, such as `HeavyTailed(σ, ν)`.
fn form(kind: NoiseKind) -> String {
    let symbols: Vec<&str> = kind.info().parameters.iter().map(|of| of.parameter.symbol).collect();
    format!("{}({})", kind.key(), symbols.join(", "))
}

/// A noise as it is written. The reader of RON gives a name before values as a map with one entry.
#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    Number(f64),
    Kind(Call),
    Other(de::IgnoredAny),
}

/// A name with values.
struct Call {
    name: String,
    values: Vec<f64>,
}

impl<'de> Deserialize<'de> for Call {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Call, D::Error> {
        deserializer.deserialize_map(CallReader)
    }
}

struct CallReader;

impl<'de> Visitor<'de> for CallReader {
    type Value = Call;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a noise with its values")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Call, A::Error> {
        let name: String = map.next_key()?.ok_or_else(|| de::Error::custom("the noise is missing"))?;
        let values = match map.next_value()? {
            Values::One(value) => vec![value],
            Values::Some(values) => values,
        };
        Ok(Call { name, values })
    }
}

/// The values after a name.
#[derive(Deserialize)]
#[serde(untagged)]
enum Values {
    One(f64),
    Some(Vec<f64>),
}
