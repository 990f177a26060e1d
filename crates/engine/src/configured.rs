//! Landscapes, noises and rules with the values of their settings, and their form in presets.

use std::fmt;

use serde::de::{Deserializer, EnumAccess, MapAccess, VariantAccess, Visitor};
use serde::ser::SerializeStructVariant;
use serde::{Serialize, Serializer, de};

use crate::identifier::{Identifier, lasting};
use crate::optimizer::Schedule;
use crate::quantity::{LearningRate, OutOfRange};
use crate::setting::{self, SettingInfo};
use crate::typed_text::{NAME, TEXT, TypedFields};

/// A kind of landscape, noise or rule.
pub trait Kind: Copy + PartialEq + 'static {
    /// The owner and the settings as error messages name them, such as "a parameter of the landscape" and "parameters".
    const SETTINGS: [&'static str; 2];

    /// Returns the settings in their order.
    fn table(self) -> &'static [SettingInfo];
}

/// A kind with the values of its settings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Configured<K, const MOST: usize> {
    pub(crate) kind: K,
    /// The values in the order of the table; the rest stays 0.
    pub(crate) values: [f64; MOST],
}

impl<K: Kind, const MOST: usize> Configured<K, MOST> {
    /// Creates the kind with its defaults; those of a rule on the plane.
    pub fn new(kind: K) -> Self {
        Self::with_defaults(kind, |of| of.default)
    }

    pub(crate) fn with_defaults(kind: K, default: impl Fn(&SettingInfo) -> f64) -> Self {
        let mut values = [0.0; MOST];
        values.iter_mut().zip(kind.table()).for_each(|(value, of)| *value = default(of));
        Configured { kind, values }
    }

    pub fn kind(&self) -> K {
        self.kind
    }

    /// Lists the settings with their values.
    pub fn parameters(&self) -> impl Iterator<Item = (&'static SettingInfo, f64)> + use<K, MOST> {
        self.kind.table().iter().zip(self.values)
    }

    /// Finds a setting by its key.
    pub fn parameter(&self, key: &str) -> Option<&'static SettingInfo> {
        Some(&self.kind.table()[self.index(key)?])
    }

    pub(crate) fn index(&self, key: &str) -> Option<usize> {
        self.kind.table().iter().position(|of| of.key == key)
    }

    /// Returns the value of a setting, of a choice its index; `None` without such a setting.
    pub fn get(&self, key: &str) -> Option<f64> {
        Some(self.values[self.index(key)?])
    }

    /// Sets a setting, a choice by its index.
    ///
    /// # Errors
    ///
    /// Fails for a value out of range, and without such a setting.
    pub fn set(&mut self, key: &str, value: f64) -> Result<(), OutOfRange> {
        let Some(index) = self.index(key) else {
            let keys: Vec<&str> = self.kind.table().iter().map(|of| of.key).collect();
            let expected = format!("one of {}", keys.join(", "));
            return Err(OutOfRange { name: K::SETTINGS[0], expected, found: key.to_owned() });
        };
        self.values[index] = self.kind.table()[index].checked(value)?;
        Ok(())
    }

    /// Returns a copy with a setting set.
    ///
    /// # Errors
    ///
    /// Fails as [`Configured::set`] does.
    pub fn with(mut self, key: &str, value: f64) -> Result<Self, OutOfRange> {
        self.set(key, value)?;
        Ok(self)
    }

    /// Returns `onto` with the values that are new in this one since `before`; `None` if the three are not of one kind.
    pub(crate) fn moved(&self, before: &Self, mut onto: Self) -> Option<Self> {
        if [before.kind, onto.kind] != [self.kind; 2] {
            return None;
        }
        for ((own, old), value) in self.values.iter().zip(before.values).zip(&mut onto.values) {
            if *own != old {
                *value = *own;
            }
        }
        Some(onto)
    }

    /// Returns another kind with the values of the settings of equal keys that were set and that it allows.
    pub(crate) fn converted(&self, kind: K) -> Self {
        let mut converted = Self::new(kind);
        for (of, value) in self.parameters().filter(|(of, value)| *value != of.default) {
            // A refused value stays the default.
            let _ = converted.set(of.key, value);
        }
        converted
    }
}

/// A kind that presets name as a variant whose fields are its settings, such as `Adam(beta1: 0.9)`, or a typed one.
pub(crate) trait Variant: Kind {
    /// The type in messages of the reader.
    const TYPE: &'static str;
    /// One of its values in messages.
    const VALUE: &'static str;
    /// The name of typed ones.
    const TYPED: &'static str;

    /// Returns all names, that of typed ones last.
    fn names() -> &'static [&'static str];

    /// Returns the built-in one of this name.
    fn named(name: &str) -> Option<Self>;

    /// Returns the typed one with the name and the text of these fields.
    fn typed<E: de::Error>(fields: &TypedFields) -> Result<Self, E>;

    fn variant(self) -> (u32, &'static str);

    /// Returns the name and the text of a typed one.
    fn texts(self) -> Option<[&'static str; 2]>;
}

/// The fields of a rule with its learning rate that are no hyperparameters, as far as they were read.
#[derive(Default)]
pub(crate) struct RateFields {
    pub learning_rate: Option<LearningRate>,
    pub schedule: Option<Schedule>,
}

impl RateFields {
    pub(crate) const LEARNING_RATE: &str = setting::LEARNING_RATE.key;
    pub(crate) const SCHEDULE: &str = "schedule";
    pub(crate) const NAMES: &[&str] = &[Self::LEARNING_RATE, Self::SCHEDULE];

    fn read<'de, A: MapAccess<'de>>(&mut self, name: &str, map: &mut A) -> Result<(), A::Error> {
        let (name, is_repeated) = match name {
            Self::LEARNING_RATE => (Self::LEARNING_RATE, self.learning_rate.replace(map.next_value()?).is_some()),
            _ => (Self::SCHEDULE, self.schedule.replace(map.next_value()?).is_some()),
        };
        if is_repeated { Err(de::Error::duplicate_field(name)) } else { Ok(()) }
    }
}

/// Reads a variant over the defaults that a function gives; with `rates`, a rule that must have a learning rate.
pub(crate) fn deserialize<'de, D: Deserializer<'de>, K: Variant, const MOST: usize>(
    deserializer: D,
    default: fn(K) -> Configured<K, MOST>,
    rates: Option<RateFields>,
) -> Result<(Configured<K, MOST>, Option<RateFields>), D::Error> {
    deserializer.deserialize_enum(K::TYPE, K::names(), VariantReader { default, rates })
}

struct VariantReader<K, const MOST: usize> {
    default: fn(K) -> Configured<K, MOST>,
    rates: Option<RateFields>,
}

impl<'de, K: Variant, const MOST: usize> Visitor<'de> for VariantReader<K, MOST> {
    type Value = (Configured<K, MOST>, Option<RateFields>);

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(K::VALUE)
    }

    fn visit_enum<A: EnumAccess<'de>>(self, data: A) -> Result<Self::Value, A::Error> {
        let of = |name: &str| match K::named(name) {
            Some(kind) => Some(Some(kind)),
            None => (name == K::TYPED).then_some(None),
        };
        let (kind, content) = data.variant_seed(Identifier { names: K::names(), of, is_field: false })?;
        let keys: Vec<&str> = match kind {
            Some(kind) => kind.table().iter().map(|of| of.key).collect(),
            None => Vec::new(),
        };
        let of_typed: &[&str] = if kind.is_none() { &[NAME, TEXT] } else { &[] };
        let of_rates = self.rates.iter().flat_map(|_| RateFields::NAMES);
        let names = lasting(of_typed.iter().chain(of_rates).copied().chain(keys).collect());
        content.struct_variant(names, FieldReader { kind, names, default: self.default, rates: self.rates })
    }
}

/// Reads the fields of a variant; without a kind, those of a typed one.
struct FieldReader<K, const MOST: usize> {
    kind: Option<K>,
    names: &'static [&'static str],
    default: fn(K) -> Configured<K, MOST>,
    rates: Option<RateFields>,
}

impl<'de, K: Variant, const MOST: usize> Visitor<'de> for FieldReader<K, MOST> {
    type Value = (Configured<K, MOST>, Option<RateFields>);

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [_, settings] = K::SETTINGS;
        match self.kind {
            Some(kind) => write!(formatter, "the {settings} of {}", kind.variant().1),
            None => write!(formatter, "the name, the text and the {settings} of {} that is typed", K::VALUE),
        }
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<Self::Value, A::Error> {
        let spec = match self.kind {
            Some(kind) => self.built_in(kind, &mut map)?,
            None => self.typed(&mut map)?,
        };
        match self.rates {
            Some(RateFields { learning_rate: None, .. }) => Err(de::Error::missing_field(RateFields::LEARNING_RATE)),
            rates => Ok((spec, rates)),
        }
    }
}

impl<K: Variant, const MOST: usize> FieldReader<K, MOST> {
    fn built_in<'de, A: MapAccess<'de>>(&mut self, kind: K, map: &mut A) -> Result<Configured<K, MOST>, A::Error> {
        let names = self.names;
        let (mut spec, mut seen) = ((self.default)(kind), [false; MOST]);
        let of = |name: &str| names.iter().copied().find(|key| *key == name);
        while let Some(key) = map.next_key_seed(Identifier { names, of, is_field: true })? {
            match spec.index(key) {
                None => self.rates.get_or_insert_default().read(key, map)?,
                Some(index) => {
                    spec.values[index] = map.next_value_seed(&kind.table()[index])?;
                    if std::mem::replace(&mut seen[index], true) {
                        return Err(de::Error::duplicate_field(key));
                    }
                }
            }
        }
        Ok(spec)
    }

    fn typed<'de, A: MapAccess<'de>>(&mut self, map: &mut A) -> Result<Configured<K, MOST>, A::Error> {
        let mut fields = TypedFields::default();
        while let Some(key) = map.next_key::<String>()? {
            match &mut self.rates {
                Some(rates) if RateFields::NAMES.contains(&&*key) => rates.read(&key, map)?,
                _ => fields.read(key, map)?,
            }
        }
        let kind = K::typed(&fields)?;
        let mut spec = (self.default)(kind);
        let keys: Vec<&str> = kind.table().iter().map(|of| of.key).collect();
        let of_rates = if self.rates.is_some() { RateFields::NAMES } else { &[] };
        fields.set_parameters(of_rates, &keys, |index, value| {
            spec.values[index] = kind.table()[index].checked(value)?;
            Ok(())
        })?;
        Ok(spec)
    }
}

/// Writes a variant with its settings as fields; `extras` writes so many fields before them.
pub(crate) fn serialize<S: Serializer, K: Variant, const MOST: usize>(
    spec: &Configured<K, MOST>,
    serializer: S,
    (count, extras): (usize, impl FnOnce(&mut S::SerializeStructVariant) -> Result<(), S::Error>),
) -> Result<S::Ok, S::Error> {
    let ((index, key), texts) = (spec.kind.variant(), spec.kind.texts());
    let fields = spec.kind.table().len() + count + if texts.is_some() { 2 } else { 0 };
    let mut variant = serializer.serialize_struct_variant(K::TYPE, index, key, fields)?;
    if let Some([name, text]) = texts {
        variant.serialize_field(NAME, name)?;
        variant.serialize_field(TEXT, text)?;
    }
    extras(&mut variant)?;
    for (of, value) in spec.parameters() {
        match of.choices().get(value as usize) {
            Some(choice) => variant.serialize_field(of.key, &ChoiceName(choice.key))?,
            None => variant.serialize_field(of.key, &value)?,
        }
    }
    variant.end()
}

/// A variant without fields.
struct ChoiceName(&'static str);

impl Serialize for ChoiceName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_unit_variant("SettingChoice", 0, self.0)
    }
}
