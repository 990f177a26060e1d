//! Numbers in JSON, which knows no NaN and no infinities: they are written as the strings `"NaN"`, `"inf"` and
//! `"-inf"`. Finite numbers come back with the same bits.
//!
//! For `#[serde(with = "number")]`; [`optional`] and [`grid`] do the same for an optional number, whose field
//! is left out where there is none, and for rows of numbers.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

struct Number(f64);

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            number if number.is_nan() => serializer.serialize_str("NaN"),
            f64::INFINITY => serializer.serialize_str("inf"),
            f64::NEG_INFINITY => serializer.serialize_str("-inf"),
            number => serializer.serialize_f64(number),
        }
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;

        impl de::Visitor<'_> for Visitor {
            type Value = Number;

            fn expecting(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
                text.write_str("a number, \"NaN\", \"inf\" or \"-inf\"")
            }

            fn visit_f64<E>(self, number: f64) -> Result<Number, E> {
                Ok(Number(number))
            }

            fn visit_u64<E>(self, number: u64) -> Result<Number, E> {
                Ok(Number(number as f64))
            }

            fn visit_i64<E>(self, number: i64) -> Result<Number, E> {
                Ok(Number(number as f64))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Number, E> {
                match text {
                    "NaN" => Ok(Number(f64::NAN)),
                    "inf" => Ok(Number(f64::INFINITY)),
                    "-inf" => Ok(Number(f64::NEG_INFINITY)),
                    _ => Err(E::invalid_value(de::Unexpected::Str(text), &self)),
                }
            }
        }

        deserializer.deserialize_any(Visitor)
    }
}

pub fn serialize<S: Serializer>(number: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    Number(*number).serialize(serializer)
}

pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Ok(Number::deserialize(deserializer)?.0)
}

pub mod optional {
    use super::{Deserialize, Deserializer, Number, Serialize, Serializer};

    pub fn serialize<S: Serializer>(number: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
        number.map(Number).serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
        Ok(Option::<Number>::deserialize(deserializer)?.map(|number| number.0))
    }
}

pub mod grid {
    use super::{Deserialize, Deserializer, Number, Serializer};

    pub fn serialize<S: Serializer>(rows: &[Vec<f64>], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(rows.iter().map(|row| row.iter().copied().map(Number).collect::<Vec<_>>()))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Vec<f64>>, D::Error> {
        let rows = Vec::<Vec<Number>>::deserialize(deserializer)?;
        Ok(rows.into_iter().map(|row| row.into_iter().map(|number| number.0).collect()).collect())
    }
}
