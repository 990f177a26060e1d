//! Numbers in JSON, which has no NaN and no infinities: they are written as the strings `"NaN"`, `"inf"` and `"-inf"`.
//! Finite numbers are read back with the same bits.
//!
//! For `#[serde(with = "number")]`; [`grid`] is for rows of numbers.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

pub(super) struct Number(pub f64);

impl Number {
    /// Returns the non-finite number of a word.
    pub(super) fn of_word(word: &str) -> Option<f64> {
        match word {
            "NaN" => Some(f64::NAN),
            "inf" => Some(f64::INFINITY),
            "-inf" => Some(f64::NEG_INFINITY),
            _ => None,
        }
    }
}

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
                let number = Number::of_word(text);
                number.map(Number).ok_or_else(|| E::invalid_value(de::Unexpected::Str(text), &self))
            }
        }

        deserializer.deserialize_any(Visitor)
    }
}

pub(super) fn serialize<S: Serializer>(number: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    Number(*number).serialize(serializer)
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Ok(Number::deserialize(deserializer)?.0)
}

pub(super) mod grid {
    use super::{Deserialize, Deserializer, Number, Serializer};

    pub(crate) fn serialize<S: Serializer>(rows: &[Vec<f64>], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(rows.iter().map(|row| row.iter().copied().map(Number).collect::<Vec<_>>()))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Vec<f64>>, D::Error> {
        let rows = Vec::<Vec<Number>>::deserialize(deserializer)?;
        Ok(rows.into_iter().map(|row| row.into_iter().map(|number| number.0).collect()).collect())
    }
}
