//! Metrics: quantities that a run logs, each with a name, and a description by which readers show them.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;
use serde::de::{Error, IgnoredAny, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use valleyscope_engine::terminal_escape::visible;

pub use super::words::Better;
use super::words::{Words, training_loss};
use number::{MaybeNumber, Number};

/// The name of a metric, as in the events of a run and as a column of tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MetricId(&'static str);

impl MetricId {
    /// Training loss: mean over the batch, or over the steps since the last point.
    pub const LOSS: MetricId = MetricId("loss");
    pub const LEARNING_RATE: MetricId = MetricId("lr");
    /// Euclidean norm of the gradient before clipping.
    pub const GRAD_NORM: MetricId = MetricId("grad_norm");
    pub const SAMPLES_PER_S: MetricId = MetricId("samples_per_s");
    pub const TOKENS_PER_S: MetricId = MetricId("tokens_per_s");
    pub const TRAIN_LOSS: MetricId = MetricId("train_loss");
    pub const VAL_LOSS: MetricId = MetricId("val_loss");
    pub const TEST_LOSS: MetricId = MetricId("test_loss");
    pub const TEST_ACCURACY: MetricId = MetricId("test_accuracy");
    /// The number of processes that share each batch.
    pub const PROCESSES: MetricId = MetricId("processes");
    /// The fraction of the time for which rank 0 has waited for the other processes and the network.
    pub const WAIT_SHARE: MetricId = MetricId("wait_share");
    /// The rank that has waited least for the others.
    pub const SLOWEST_RANK: MetricId = MetricId("slowest_rank");

    const KNOWN: [MetricId; 9] = [
        MetricId::LOSS,
        MetricId::LEARNING_RATE,
        MetricId::GRAD_NORM,
        MetricId::SAMPLES_PER_S,
        MetricId::TOKENS_PER_S,
        MetricId::TRAIN_LOSS,
        MetricId::VAL_LOSS,
        MetricId::TEST_LOSS,
        MetricId::TEST_ACCURACY,
    ];
    /// The names of the fields that all events have. No metric may have such a name, which would make its event
    /// unreadable.
    const RESERVED: [&str; 4] = ["step", "time", "wall_s", "event"];
    /// The largest length of a name in bytes.
    pub const LONGEST_NAME: usize = 1024;
    /// The largest number of names read from files: names live as long as the program, and files may hold any.
    const MOST_NAMES: usize = 10_000;

    /// Names a metric that the program itself logs.
    pub const fn of(name: &'static str) -> MetricId {
        MetricId(name)
    }

    /// Whether events have a field of this name that is no metric.
    pub fn is_reserved(name: &str) -> bool {
        Self::RESERVED.contains(&name)
    }

    /// Interns the name of a metric from a file, in any script. None if it is not a valid name, of 1 to
    /// [`MetricId::LONGEST_NAME`] bytes without control characters and not [reserved](MetricId::is_reserved), and if
    /// there are too many others.
    pub fn named(name: &str) -> Option<MetricId> {
        static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
        if let Some(known) = Self::KNOWN.iter().find(|known| known.0 == name) {
            return Some(*known);
        }
        let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = names.get(name) {
            return Some(MetricId(known));
        }
        let is_visible = !name.trim().is_empty() && matches!(visible(name), Cow::Borrowed(_));
        if !is_visible || name.len() > Self::LONGEST_NAME || Self::is_reserved(name) {
            return None;
        }
        if names.len() >= Self::MOST_NAMES {
            return None;
        }
        let name: &'static str = Box::leak(name.into());
        names.insert(name);
        Some(MetricId(name))
    }

    pub fn name(self) -> &'static str {
        self.0
    }

    /// Describes a metric of training on a linear axis, of which neither direction is better.
    pub fn described(self, title: impl Into<String>, unit: Unit) -> MetricInfo {
        MetricInfo {
            name: self.0.to_owned(),
            title: title.into(),
            unit,
            scale: MetricScale::Linear,
            better: Better::Neither,
            source: MetricSource::Training,
        }
    }

    /// The usual description, for metrics that a run does not describe itself: by the words of its name ([`Words`])
    /// unless the program logs it.
    pub fn info(self) -> MetricInfo {
        use {Better::*, MetricScale::*, MetricSource::*, Unit::*};
        let usual = |title: &str, unit, scale, better, source| MetricInfo {
            scale,
            better,
            source,
            ..self.described(title, unit)
        };
        match self {
            MetricId::LOSS => usual("Train loss", Plain, Log, Lower, Training),
            MetricId::LEARNING_RATE => usual("Learning rate", Exact, Linear, Neither, Training),
            MetricId::GRAD_NORM => usual("Gradient norm", Plain, Linear, Neither, Training),
            MetricId::SAMPLES_PER_S => usual("Samples a second", Rate, Linear, Higher, Training),
            MetricId::TOKENS_PER_S => usual("Tokens a second", Rate, Linear, Higher, Training),
            MetricId::TRAIN_LOSS => usual("Train loss, evaluated", Plain, Log, Lower, Evaluation),
            MetricId::VAL_LOSS => usual("Validation loss", Plain, Log, Lower, Evaluation),
            MetricId::TEST_LOSS => usual("Test loss", Plain, Log, Lower, Evaluation),
            MetricId::TEST_ACCURACY => usual("Test accuracy", Fraction, Linear, Higher, Evaluation),
            MetricId(name) => {
                let words = Words::of(name);
                let scale = if words.better() == Lower { Log } else { Linear };
                let source = if words.is_evaluation() { Evaluation } else { Training };
                usual(&name.replace('_', " "), Plain, scale, words.better(), source)
            }
        }
    }
}

impl fmt::Display for MetricId {
    fn fmt(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        text.write_str(self.0)
    }
}

/// The description of a metric, as recorded at the start of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MetricInfo {
    pub name: String,
    /// The title for users, such as `Test loss`.
    pub title: String,
    #[serde(default, deserialize_with = "known_or_default")]
    pub unit: Unit,
    #[serde(default, deserialize_with = "known_or_default")]
    pub scale: MetricScale,
    #[serde(default, deserialize_with = "known_or_default")]
    pub better: Better,
    #[serde(default, deserialize_with = "known_or_default")]
    pub source: MetricSource,
}

/// Reads a name of this version; the names of later versions become the default.
fn known_or_default<'de, D: Deserializer<'de>, T: serde::de::DeserializeOwned + Default>(
    deserializer: D,
) -> Result<T, D::Error> {
    let value = serde_json::Value::deserialize(deserializer)?;
    Ok(serde_json::from_value(value).unwrap_or_default())
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// No unit.
    #[default]
    Plain,
    /// A number such as a learning rate, all of whose digits matter.
    Exact,
    /// A rate per second.
    Rate,
    /// A fraction from 0 to 1, shown in per cent.
    Fraction,
}

/// The initial kind of axis of a metric's plot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MetricScale {
    #[default]
    Linear,
    Log,
}

/// The kind of events that hold a metric.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MetricSource {
    #[default]
    Training,
    Evaluation,
}

impl MetricInfo {
    /// The part of the name before the first slash, which related metrics share; empty without one.
    pub fn group(&self) -> &str {
        self.name.split_once('/').map_or("", |(group, _)| group)
    }

    pub fn metric(&self) -> Option<MetricId> {
        MetricId::named(&self.name)
    }

    /// Finds the loss of the training among the metrics of a run: `loss`, or else the one of training whose name says
    /// so ([`training_loss`]).
    pub fn of_training_loss(infos: &[MetricInfo]) -> Option<&MetricInfo> {
        let of_training = infos.iter().filter(|info| info.source == MetricSource::Training);
        let name = training_loss(of_training.map(|info| info.name.as_str()))?;
        infos.iter().find(|info| info.name == name)
    }

    /// Describes a value, such as `test loss 0.1234` or `test accuracy 97.12 %`.
    pub fn labeled_value(&self, value: f64) -> String {
        let mut title = self.title.chars();
        let first = title.next().map_or_else(String::new, |first| first.to_lowercase().collect());
        format!("{first}{} {}", title.as_str(), self.value(value))
    }

    pub fn value(&self, value: f64) -> String {
        match self.unit {
            Unit::Plain => format!("{value:.4}"),
            Unit::Exact => value.to_string(),
            Unit::Rate => format!("{value:.0}"),
            Unit::Fraction => format!("{:.2} %", 100.0 * value),
        }
    }
}

/// Values of metrics, in the order in which they were written: a point of the training curves, or an evaluation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MetricValues(Vec<(MetricId, f64)>);

impl MetricValues {
    /// The largest number of metrics of an event; further ones in a file are ignored.
    pub const MOST: usize = 256;

    pub fn get(&self, metric: MetricId) -> Option<f64> {
        self.iter().find(|(other, _)| *other == metric).map(|(_, value)| value)
    }

    /// Sets the value of a metric, and appends it if it is new.
    pub fn set(&mut self, metric: MetricId, value: f64) {
        match self.0.iter_mut().find(|(other, _)| *other == metric) {
            Some((_, old)) => *old = value,
            None => self.0.push((metric, value)),
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = (MetricId, f64)> + Clone {
        self.0.iter().copied()
    }

    /// Describes the values with the metrics' usual titles.
    pub fn sentence(&self) -> String {
        self.iter().map(|(metric, value)| metric.info().labeled_value(value)).collect::<Vec<_>>().join(", ")
    }
}

impl<const N: usize> From<[(MetricId, f64); N]> for MetricValues {
    fn from(values: [(MetricId, f64); N]) -> MetricValues {
        values.into_iter().collect()
    }
}

impl FromIterator<(MetricId, f64)> for MetricValues {
    fn from_iter<I: IntoIterator<Item = (MetricId, f64)>>(values: I) -> MetricValues {
        let mut metrics = MetricValues::default();
        values.into_iter().for_each(|(metric, value)| metrics.set(metric, value));
        metrics
    }
}

impl Serialize for MetricValues {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (metric, value) in self.iter() {
            map.serialize_entry(metric.name(), &Number(value))?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for MetricValues {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Point::deserialize(deserializer)?.metrics)
    }
}

/// The fields of all events besides the name.
#[derive(Serialize, Deserialize)]
pub(super) struct Head {
    pub step: u64,
    pub time: Timestamp,
    #[serde(with = "number")]
    pub wall_s: f64,
}

/// An event with metrics. Values that are no numbers are of other versions, and ignored.
pub(super) struct Point {
    pub head: Head,
    pub metrics: MetricValues,
}

impl<'de> Deserialize<'de> for Point {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Name<'l>(#[serde(borrow)] Cow<'l, str>);

        struct Fields;

        impl<'de> Visitor<'de> for Fields {
            type Value = Point;

            fn expecting(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
                text.write_str("an event")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Point, A::Error> {
                let (mut step, mut time, mut wall_s, mut metrics) = (None, None, None, MetricValues::default());
                while let Some(Name(name)) = map.next_key()? {
                    match &*name {
                        "step" => step = Some(map.next_value()?),
                        "time" => time = Some(map.next_value()?),
                        "wall_s" => wall_s = Some(map.next_value::<Number>()?.0),
                        name if MetricId::is_reserved(name) => drop(map.next_value::<IgnoredAny>()?),
                        name => {
                            if let MaybeNumber(Some(value)) = map.next_value()?
                                && metrics.0.len() < MetricValues::MOST
                                && let Some(metric) = MetricId::named(name)
                            {
                                metrics.set(metric, value);
                            }
                        }
                    }
                }
                let (Some(step), Some(time), Some(wall_s)) = (step, time, wall_s) else {
                    return Err(A::Error::custom("expected `step`, `time` and `wall_s`"));
                };
                Ok(Point { head: Head { step, time, wall_s }, metrics })
            }
        }

        deserializer.deserialize_map(Fields)
    }
}

/// Numbers in JSON, which has no NaN and no infinities: they are written as the strings `"NaN"`, `"inf"` and `"-inf"`.
/// Finite numbers are read back with the same bits.
///
/// For `#[serde(with = "number")]`.
pub(super) mod number {
    use std::borrow::Cow;

    use serde::de::{Error, IgnoredAny};
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(crate) struct Number(pub f64);

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
            let MaybeNumber(number) = MaybeNumber::deserialize(deserializer)?;
            number.map(Number).ok_or_else(|| D::Error::custom("expected a number, \"NaN\", \"inf\" or \"-inf\""))
        }
    }

    /// A number, or none for any other value.
    pub(crate) struct MaybeNumber(pub Option<f64>);

    impl<'de> Deserialize<'de> for MaybeNumber {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            #[derive(Deserialize)]
            #[serde(untagged)]
            enum AnyValue<'l> {
                Number(f64),
                Text(Cow<'l, str>),
                Other(IgnoredAny),
            }
            Ok(MaybeNumber(match AnyValue::deserialize(deserializer)? {
                AnyValue::Number(number) => Some(number),
                AnyValue::Text(text) => match &*text {
                    "NaN" => Some(f64::NAN),
                    "inf" => Some(f64::INFINITY),
                    "-inf" => Some(f64::NEG_INFINITY),
                    _ => None,
                },
                AnyValue::Other(IgnoredAny) => None,
            }))
        }
    }

    pub(crate) fn serialize<S: Serializer>(number: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        Number(*number).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        Ok(Number::deserialize(deserializer)?.0)
    }
}
