//! Settings that are tuned beside the learning rate.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::point::Variant;
use super::spec::SweepSpec;
use super::value_range::ValueRange;
use crate::optimizer::{Decay, Hyperparameter, HyperparameterName, RuleSpec, Schedule, ShownSetting};
use crate::parameter::{Extent, Parameter};
use crate::parameter_name::NameFormat;
use crate::quantity::{FinalShare, OutOfRange, PointCount, Range, number_text};
use crate::spacing::Spacing;

/// A setting of an optimizer that takes several values, of which the best counts at each pixel.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tuned {
    pub of: TunedSetting,
    /// The first value.
    pub from: f64,
    /// The last value.
    pub to: f64,
    pub count: PointCount,
    pub spacing: Spacing,
}

/// The name of a setting that can be tuned: a hyperparameter that is a number, or the end of a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TunedSetting(&'static str);

pub(super) const SCHEDULE_END: &str = "schedule_end";

const FORMAT: NameFormat = NameFormat {
    of: "TunedSetting",
    expecting: "the name of a hyperparameter, or `ScheduleEnd`",
    built_in,
    typed: Some("OfTyped"),
};

/// Lists the keys of the settings that can be tuned, without those of typed rules.
fn built_in() -> Vec<&'static str> {
    let mut keys = HyperparameterName::built_in();
    keys.retain(|key| *key != HyperparameterName::LEARNING_RATE.key());
    keys.push(SCHEDULE_END);
    keys
}

impl TunedSetting {
    /// The share of η that is left at the end of a [cosine schedule](Decay::Cosine).
    pub const SCHEDULE_END: TunedSetting = TunedSetting(SCHEDULE_END);

    /// Returns the setting with this key, whatever rules have it.
    pub fn new(key: &str) -> Option<TunedSetting> {
        if key == SCHEDULE_END {
            return Some(TunedSetting::SCHEDULE_END);
        }
        let name = HyperparameterName::new(key).filter(|name| *name != HyperparameterName::LEARNING_RATE);
        name.map(|name| TunedSetting(name.key()))
    }

    /// Returns the name in file formats.
    pub fn key(self) -> &'static str {
        self.0
    }

    /// Returns the symbol, label and range.
    pub fn parameter(self) -> Parameter {
        match HyperparameterName::new(self.0).and_then(HyperparameterName::hyperparameter) {
            Some(hyperparameter) => hyperparameter.parameter(),
            None => Parameter::new(SCHEDULE_END, "end of the schedule e", Extent::linear(0.0, 1.0)).symbol("e"),
        }
    }

    /// Returns the least and the largest possible value.
    pub fn limits(self) -> [f64; 2] {
        let hyperparameter = HyperparameterName::new(self.0).and_then(HyperparameterName::hyperparameter);
        let Range { min, max, .. } = hyperparameter.and_then(Hyperparameter::range).unwrap_or(FinalShare::RANGE);
        [min, max]
    }

    /// Returns the symbol, which rules share that call the setting otherwise; of the end of a schedule the label.
    pub fn short_label(self) -> String {
        let parameter = self.parameter();
        if self == TunedSetting::SCHEDULE_END { parameter.axis_label() } else { parameter.symbol.to_owned() }
    }

    /// Returns whether an optimizer with this rule and schedule depends on it.
    pub fn is_of(self, rule: &RuleSpec, schedule: &Schedule) -> bool {
        if self == TunedSetting::SCHEDULE_END {
            return matches!(schedule.decay, Decay::Cosine { .. });
        }
        let name = HyperparameterName::new(self.0).filter(|name| *name != HyperparameterName::LEARNING_RATE);
        name.is_some_and(|name| name.is_of(rule))
    }

    /// Returns the value of an optimizer with this rule and schedule.
    pub fn value_of(self, rule: &RuleSpec, schedule: &Schedule) -> Option<f64> {
        match schedule.decay {
            Decay::Cosine { to, .. } if self == TunedSetting::SCHEDULE_END => Some(to.get()),
            _ => rule.get(self.0),
        }
    }

    /// Returns the spacing of the values in all grids of this setting; linear where they differ.
    pub fn spacing<'s>(self, specs: impl IntoIterator<Item = &'s SweepSpec>) -> Spacing {
        let optimizers = specs.into_iter().flat_map(|spec| &spec.optimizers);
        let mut all = optimizers.flat_map(|it| &it.tune).filter(|it| it.of == self).map(|it| it.spacing);
        let first = all.next().unwrap_or(Spacing::Linear);
        if all.all(|spacing| spacing == first) { first } else { Spacing::Linear }
    }

    /// Sets the value of a variant.
    pub(super) fn put(self, variant: &mut Variant, value: f64) -> Result<(), OutOfRange> {
        match &mut variant.schedule.decay {
            Decay::Cosine { to, .. } if self == TunedSetting::SCHEDULE_END => *to = FinalShare::new(value)?,
            _ => variant.rule.set(self.0, value)?,
        }
        Ok(())
    }
}

impl Serialize for TunedSetting {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        FORMAT.serialize(self.0, serializer)
    }
}

impl<'de> Deserialize<'de> for TunedSetting {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        FORMAT.deserialize(deserializer).map(TunedSetting)
    }
}

impl Tuned {
    /// Describes the grid among the settings of an optimizer with this rule.
    pub(super) fn shown(&self, rule: &RuleSpec) -> ShownSetting {
        let key = self.of.key();
        let meaning = match rule.hyperparameter(key) {
            Some(hyperparameter) if self.of != TunedSetting::SCHEDULE_END => ShownSetting::meaning_of(hyperparameter),
            _ => ShownSetting::SCHEDULE_END.to_owned(),
        };
        let [from, to] = [self.from, self.to].map(number_text);
        let words = format!("{} {from}…{to}", self.of.parameter().symbol);
        ShownSetting { is_usual: false, ..ShownSetting::new(meaning, words) }
    }

    /// Returns the values, in their order.
    pub fn values(&self) -> Vec<f64> {
        self.range().values()
    }

    pub(super) fn range(&self) -> ValueRange {
        let Tuned { from, to, count, spacing, of } = *self;
        ValueRange { from, to, count, spacing, is_whole: of.parameter().is_whole }
    }
}

/// Returns the index of the value that the tuned setting at a place has in a variant.
pub(super) fn index_in(tune: &[Tuned], place: usize, variant: usize) -> usize {
    variant / variant_count(&tune[place + 1..]) % tune[place].count.get()
}

/// Returns the number of combinations of the values of tuned settings, at most [`usize::MAX`].
pub(super) fn variant_count(tune: &[Tuned]) -> usize {
    tune.iter().fold(1, |product: usize, tuned| product.saturating_mul(tuned.count.get()))
}

/// Returns the variants of settings: all combinations of the values of the tuned ones. The last of these changes from
/// variant to variant. The grids must be free of faults.
pub(super) fn variants(tune: &[Tuned], settings: Variant) -> Vec<Variant> {
    let mut variants = vec![settings];
    for tuned in tune {
        let mut next = Vec::with_capacity(variants.len() * tuned.count.get());
        let values = tuned.values();
        for variant in &variants {
            for value in &values {
                let mut variant = *variant;
                tuned.of.put(&mut variant, *value).expect("values between the ends of a checked grid are in range");
                next.push(variant);
            }
        }
        variants = next;
    }
    variants
}
