//! Measures of a training: noise, signal and oscillation of its gradients, as events hold them.

use std::borrow::Cow;
use std::fmt;

use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use valleyscope_engine::terminal_escape::visible;

use super::history::RunHistory;
use super::metric::number::MaybeNumber;
use super::metric::{MetricId, MetricInfo, MetricScale, MetricValues, Unit};

/// The measures of all parameters together after a step, and of each parameter tensor.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Measure {
    #[serde(flatten)]
    pub metrics: MetricValues,
    /// The names of parameter tensors, with their [`Measure::OF_TENSOR`], in the order of the model.
    #[serde(default, serialize_with = "write_tensors", deserialize_with = "read_tensors")]
    pub tensors: Vec<(String, MetricValues)>,
}

impl Measure {
    /// σ̂ = √(S / G²): the noise of the batch's gradient in units of the signal. S estimates the variance of that
    /// gradient, and G² its squared mean, each summed over the parameters.
    pub const NOISE: MetricId = MetricId::of("noise");
    /// B S / G², the batch size at which signal and noise are equal
    /// ([arXiv:1812.06162](https://arxiv.org/abs/1812.06162)).
    pub const NOISE_SCALE: MetricId = MetricId::of("noise_scale");
    /// The fraction of Adam's v̂ that is the squared mean gradient.
    pub const SIGNAL: MetricId = MetricId::of("signal");
    /// The fraction of Adam's v̂ that is noise.
    pub const NOISE_SHARE: MetricId = MetricId::of("noise_share");
    /// The fraction of Adam's v̂ that is neither signal nor noise, as of a gradient that changes its sign.
    pub const OSCILLATION: MetricId = MetricId::of("oscillation");
    /// The slope of ln S over ln G² of single parameters: 1 for multiplicative noise, 0 for additive noise.
    pub const EXPONENT: MetricId = MetricId::of("exponent");
    /// The mean change of a parameter without weight decay, in units of the learning rate.
    pub const EFFECTIVE_STEP: MetricId = MetricId::of("effective_step");

    /// The measures of a parameter tensor; other values of an event are ignored.
    pub const OF_TENSOR: [MetricId; 4] = [Measure::NOISE, Measure::SIGNAL, Measure::NOISE_SHARE, Measure::OSCILLATION];
    /// The largest number of tensors of an event; further ones are ignored.
    pub const MOST_TENSORS: usize = 1024;

    /// Describes the metrics of all parameters.
    pub fn infos() -> [MetricInfo; 7] {
        let on_log_axis = |info| MetricInfo { scale: MetricScale::Log, ..info };
        [
            on_log_axis(Measure::NOISE.described("Noise of the gradient", Unit::Plain)),
            on_log_axis(Measure::NOISE_SCALE.described("Noise scale (samples)", Unit::Plain)),
            Measure::SIGNAL.described("Signal share", Unit::Fraction),
            Measure::NOISE_SHARE.described("Noise share", Unit::Fraction),
            Measure::OSCILLATION.described("Oscillation share", Unit::Fraction),
            Measure::EXPONENT.described("Exponent of the noise", Unit::Plain),
            on_log_axis(Measure::EFFECTIVE_STEP.described("Effective step", Unit::Plain)),
        ]
    }

    pub const WHICH_BATCH: &str = "Which batch size?";
    pub const WHICH_BATCH_HELP: &str = "The noise scale is the batch size at which the signal and the noise of a \
         batch's gradient are equal. Smaller batches learn about as much from each sample; larger ones hardly learn \
         more in a step. From McCandlish et al., An Empirical Model of Large-Batch Training, arXiv:1812.06162";

    /// Answers [`Measure::WHICH_BATCH`] by the newest measures of a run, if it has a noise scale.
    pub fn which_batch(history: &RunHistory) -> Option<String> {
        let (step, samples) = history.latest_at(Measure::NOISE_SCALE)?;
        if let Some((newest, _)) = history.latest_at(Measure::NOISE_SHARE).filter(|(newest, _)| *newest > step) {
            return Some(format!(
                "a far larger one: at step {newest} the noise hides the signal (noise scale without a value)"
            ));
        }
        let now = history.started().and_then(|started| started.batch_size);
        let now = now.map_or_else(String::new, |batch| format!("; the run began with {batch}"));
        let scale = if samples < 10.0 { format!("{samples:.1}") } else { format!("{samples:.0}") };
        Some(format!("signal and noise are equal at {scale} samples a step (noise scale, step {step}){now}"))
    }
}

fn write_tensors<S: Serializer>(tensors: &[(String, MetricValues)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(tensors.iter().map(|(name, values)| (name, values)))
}

/// Reads the tensors with a valid name and a measure. Any other value than a map has none.
fn read_tensors<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<(String, MetricValues)>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Field {
        Tensors(Tensors),
        Other(IgnoredAny),
    }
    match Field::deserialize(deserializer)? {
        Field::Tensors(Tensors(tensors)) => Ok(tensors),
        Field::Other(IgnoredAny) => Ok(Vec::new()),
    }
}

struct Tensors(Vec<(String, MetricValues)>);

impl<'de> Deserialize<'de> for Tensors {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries;

        impl<'de> Visitor<'de> for Entries {
            type Value = Tensors;

            fn expecting(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
                text.write_str("measures by the names of tensors")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Tensors, A::Error> {
                let mut tensors = Vec::new();
                while let Some((name, values)) = map.next_entry::<String, serde_json::Value>()? {
                    let value = |of: MetricId| MaybeNumber::deserialize(values.get(of.name())?).ok()?.0;
                    let known = Measure::OF_TENSOR.into_iter().filter_map(|of| Some((of, value(of)?)));
                    let values: MetricValues = known.collect();
                    let is_valid = name.len() <= MetricId::LONGEST_NAME && matches!(visible(&name), Cow::Borrowed(_));
                    if is_valid && values != MetricValues::default() && tensors.len() < Measure::MOST_TENSORS {
                        tensors.push((name, values));
                    }
                }
                Ok(Tensors(tensors))
            }
        }

        deserializer.deserialize_map(Entries)
    }
}

#[cfg(test)]
mod tests {
    use super::{Measure, MetricId, MetricValues};
    use crate::{Event, EventRecord, RunHistory, Timestamp};

    fn record(step: u64, event: Event) -> EventRecord {
        EventRecord { step, time: Timestamp::UNIX_EPOCH, wall_s: 1.5, event }
    }

    fn line(step: u64, rest: &str) -> Vec<u8> {
        let head = format!(r#"{{"event":"measure","step":{step},"time":"2026-03-01T12:00:00Z","wall_s":1.5"#);
        format!("{head}{rest}}}").into_bytes()
    }

    fn parsed(rest: &str) -> Measure {
        match EventRecord::parse(&line(100, rest)).map(|record| record.event) {
            Ok(Event::Measure(measure)) => measure,
            other => panic!("{rest}: {other:?}"),
        }
    }

    #[test]
    fn lines_of_measures_are_read_back() {
        let of = |name: &str, noise| (name.to_owned(), MetricValues::from([(Measure::NOISE, noise)]));
        let measure = Measure {
            metrics: [(Measure::NOISE, 0.5), (Measure::NOISE_SCALE, 412.0)].into(),
            // In the order of the model, not of the alphabet.
            tensors: vec![of("layers.10.weight", 1.5), of("layers.2.weight", 0.25)],
        };
        let written = record(100, Event::Measure(measure));
        let line = written.to_line();
        assert!(line.starts_with(r#"{"event":"measure","step":100,"#), "{line}");
        assert_eq!(EventRecord::parse(line.as_bytes()).unwrap(), written);
    }

    #[test]
    fn odd_tensors_do_not_prevent_reading() {
        let noise = MetricValues::from([(Measure::NOISE, 0.5)]);
        for odd in ["", r#","tensors":7"#, r#","tensors":["a"]"#, r#","tensors":null"#, r#","tensors":{"a":3,"b":{}}"#]
        {
            assert_eq!(parsed(&format!(r#","noise":0.5{odd}"#)), Measure { metrics: noise.clone(), tensors: vec![] });
        }
        let found = parsed(r#","noise":0.5,"words":"x","tensors":{"a":{"noise":2,"else":3,"signal":"inf","x":[]}}"#);
        let values = [(Measure::NOISE, 2.0), (Measure::SIGNAL, f64::INFINITY)].into();
        assert_eq!(found, Measure { metrics: noise, tensors: vec![("a".to_owned(), values)] });
    }

    #[test]
    fn names_and_numbers_of_tensors_are_bounded() {
        let tensors: Vec<String> = (0..1100).map(|index| format!(r#""t{index}":{{"noise":1}}"#)).collect();
        assert_eq!(parsed(&format!(r#","tensors":{{{}}}"#, tensors.join(","))).tensors.len(), Measure::MOST_TENSORS);
        let long = "n".repeat(MetricId::LONGEST_NAME + 1);
        assert!(parsed(&format!(r#","tensors":{{"{long}":{{"noise":1}},"\u0007":{{"noise":1}}}}"#)).tensors.is_empty());
    }

    #[test]
    fn measures_are_curves_of_training_until_they_become_void() {
        let mut history = RunHistory::default();
        for step in [100, 200] {
            let tensors = format!(r#","noise":0.5,"own":{step},"tensors":{{"a":{{"noise":{step}}}}}"#);
            history.apply(EventRecord::parse(&line(step, &tensors)).unwrap());
        }
        assert_eq!(history.latest_at(Measure::NOISE), Some((200, 0.5)));
        assert_eq!(history.tensors().map(|(step, tensors)| (step, tensors.len())), Some((200, 1)));
        let titles: Vec<String> = history.metrics().into_iter().map(|info| info.title).collect();
        assert_eq!(titles, ["Noise of the gradient", "own"]);
        assert!(history.evaluated().is_empty() && history.recent().len() == 0);
        assert_eq!(Measure::which_batch(&history), None);
        history.apply(record(100, Event::Resumed { from_step: 100 }));
        assert_eq!(history.latest_at(Measure::NOISE), Some((100, 0.5)));
        assert!(history.tensors().is_none(), "those of step 200 are void");
        history.apply(EventRecord::parse(&line(200, r#","noise_scale":412.4"#)).unwrap());
        assert!(Measure::which_batch(&history).unwrap().contains("412 samples"));
    }
}
