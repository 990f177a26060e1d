//! Axes of a diagram, tuned settings, and the settings that both give to a pixel.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::spec::SweepSpec;
use crate::identifier::NameFormat;
use crate::landscape::{LandscapeParameterName, LandscapeSpec};
use crate::noise::{NoiseParameterName, NoiseSpec};
use crate::optimizer::{Decay, Hyperparameter, HyperparameterName, RuleKind, RuleSpec, Schedule, ShownSetting};
use crate::parameter::{DIMENSION, Extent, LEARNING_RATE, NOISE, Parameter, STEPS, Spacing};
use crate::quantity::{
    Dimension, FinalShare, LearningRate, Noise, OutOfRange, PointCount, Range, StepCount, number_text,
};
use crate::spec_error::{SpecError, broken};

/// An axis of a diagram: the quantity that varies along it, and its range.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Axis {
    pub of: Quantity,
    /// The value of the first row or column.
    pub from: f64,
    /// The value of the last row or column.
    pub to: f64,
    pub count: PointCount,
    pub spacing: Spacing,
}

/// A quantity that varies along an axis: a parameter of the landscape or of the noise, a field of the runs, or a
/// hyperparameter of some optimizers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Quantity {
    Landscape(LandscapeParameterName),
    /// The noise σ, of whatever kind.
    Noise,
    NoiseParameter(NoiseParameterName),
    Steps,
    /// The dimension d.
    Dimension,
    /// A hyperparameter, and the ids of the optimizers for which it is varied.
    Of(HyperparameterName, Vec<u32>),
}

impl Quantity {
    /// Returns the parameter that varies on this landscape; for a hyperparameter, the [`Hyperparameter`] of the first
    /// rule that has it. A parameter that the landscape lacks is described by its key.
    pub fn parameter(&self, landscape: &LandscapeSpec) -> Parameter {
        match self {
            Quantity::Landscape(name) => match landscape.parameter(name.key()) {
                Some(of) => of.parameter,
                None => Parameter::new(name.key(), name.key(), Extent::linear(0.0, 1.0)),
            },
            Quantity::Noise => NOISE,
            Quantity::NoiseParameter(name) => name.parameter(),
            Quantity::Steps => STEPS,
            Quantity::Dimension => DIMENSION,
            Quantity::Of(name, _) => name.hyperparameter().map_or(LEARNING_RATE, Hyperparameter::parameter),
        }
    }

    /// Returns the name in file formats, without the optimizers of a hyperparameter.
    pub fn name(&self) -> &'static str {
        match self {
            Quantity::Landscape(parameter) => parameter.key(),
            Quantity::Of(hyperparameter, _) => hyperparameter.key(),
            Quantity::Noise => NOISE.key,
            Quantity::NoiseParameter(parameter) => parameter.key(),
            Quantity::Steps => STEPS.key,
            Quantity::Dimension => DIMENSION.key,
        }
    }

    pub fn is_whole(&self) -> bool {
        match self {
            Quantity::Landscape(_) | Quantity::Noise | Quantity::NoiseParameter(_) => false,
            Quantity::Steps | Quantity::Dimension => true,
            Quantity::Of(name, _) => name.hyperparameter().is_some_and(|of| of.parameter().is_whole),
        }
    }

    /// Returns whether both vary the same property of some optimizer or of the landscape.
    pub fn overlaps(&self, other: &Quantity) -> bool {
        match (self, other) {
            (Quantity::Of(this, these), Quantity::Of(that, those)) => {
                this == that && these.iter().any(|id| those.contains(id))
            }
            _ => self == other,
        }
    }

    /// Sets the quantity to `value` at a point. Optimizers without the hyperparameter stay unchanged.
    pub(super) fn put(&self, point: &mut Point, value: f64) -> Result<(), OutOfRange> {
        match self {
            Quantity::Landscape(parameter) => point.landscape.set(parameter.key(), value)?,
            Quantity::Noise => point.noise = point.noise.with_sigma(Noise::new(value)?),
            Quantity::NoiseParameter(parameter) => {
                let index = point.noise.index(parameter.key()).expect("the noise was checked to have it");
                point.noise.set(index, value)?;
            }
            Quantity::Steps => point.steps = StepCount::new(value as u64)?,
            Quantity::Dimension => point.dimension = Dimension::new(value as u64)?,
            Quantity::Of(hyperparameter, ids) => {
                for optimizer in point.optimizers.iter_mut().filter(|optimizer| ids.contains(&optimizer.id)) {
                    if *hyperparameter == HyperparameterName::LEARNING_RATE {
                        optimizer.learning_rates = vec![LearningRate::new(value)?.get()];
                        continue;
                    }
                    for Variant { rule, .. } in &mut optimizer.variants {
                        if hyperparameter.is_of(rule) {
                            rule.set(hyperparameter.key(), value)?;
                        }
                    }
                }
            }
        }
        Ok(())
    }
}

impl Axis {
    pub fn varies(&self, key: &str, optimizer: u32) -> bool {
        matches!(&self.of, Quantity::Of(hyperparameter, ids) if hyperparameter.key() == key && ids.contains(&optimizer))
    }

    pub(super) fn varies_rate_of(&self, optimizer: u32) -> bool {
        self.varies(HyperparameterName::LEARNING_RATE.key(), optimizer)
    }

    /// Returns the values of all rows or columns, in their order.
    pub fn values(&self) -> Vec<f64> {
        self.range().values()
    }

    pub(super) fn range(&self) -> ValueRange {
        let Axis { from, to, count, spacing, .. } = *self;
        ValueRange { from, to, count, spacing, is_whole: self.of.is_whole() }
    }
}

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

    pub fn values(&self) -> Vec<f64> {
        self.range().values()
    }

    pub(super) fn range(&self) -> ValueRange {
        let Tuned { from, to, count, spacing, of } = *self;
        ValueRange { from, to, count, spacing, is_whole: of.parameter().is_whole }
    }
}

/// Returns the index of the value that a tuned setting, given by its index, has in a variant.
pub(super) fn index_in(tune: &[Tuned], tuned: usize, variant: usize) -> usize {
    variant / variant_count(&tune[tuned + 1..]) % tune[tuned].count.get()
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

/// Some values between two ends.
pub(super) struct ValueRange {
    pub from: f64,
    pub to: f64,
    pub count: PointCount,
    pub spacing: Spacing,
    pub is_whole: bool,
}

impl ValueRange {
    /// Returns the values, from the first end to the other.
    pub(super) fn values(&self) -> Vec<f64> {
        let values = spread(self.from, self.to, self.count.get(), self.spacing);
        if self.is_whole { values.into_iter().map(f64::round).collect() } else { values }
    }

    /// Returns the first fault of the fields, which are at this path. Messages call what has the values `owner`.
    pub(super) fn check(&self, path: &str, owner: &str) -> Result<(), SpecError> {
        let ValueRange { from, to, spacing, is_whole, .. } = *self;
        for (end, value) in [("from", from), ("to", to)] {
            if !value.is_finite() {
                return broken(format!("{path}.{end}"), format!("must be a finite number, found {value}"));
            }
            if is_whole && (value.fract() != 0.0 || value < 0.0) {
                return broken(format!("{path}.{end}"), format!("must be a whole number, found {value}"));
            }
            if !spacing.allows(value) {
                let has = if spacing == Spacing::Log { "positive values" } else { "values below 1" };
                let hint = format!("a logarithmic {owner} has only {has}; choose `spacing: Linear` or another range");
                return broken(format!("{path}.{end}"), format!("is {value}, and {hint}"));
            }
        }
        self.check_distances(path, owner)
    }

    /// Returns the first fault of the distances between the values.
    fn check_distances(&self, path: &str, owner: &str) -> Result<(), SpecError> {
        const WIDEST: f64 = 1e300;
        let ValueRange { from, to, count, spacing, is_whole } = *self;
        let too_far = |than: &str| {
            let hint = format!("further apart than {than}; choose ends that are nearer to each other");
            broken(format!("{path}.to"), format!("is {to}, and `{path}.from` is {from}, {hint}"))
        };
        let quotient = spacing.quotient([from, to]);
        if quotient.is_some_and(|quotient| !(1.0 / WIDEST..=WIDEST).contains(&quotient)) {
            return too_far(&format!("a logarithmic {owner} can span"));
        }
        if !(to - from).is_finite() {
            return too_far("the largest number");
        }
        if count.get() > 1 && from == to {
            let complaint = format!("is {to}, the same as `{path}.from`; its range must not be empty");
            return broken(format!("{path}.to"), complaint);
        }
        if is_whole && self.values().windows(2).any(|pair| pair[0] == pair[1]) {
            let hint = "the same whole number would come twice; choose a smaller count or a wider range";
            let count = count.get();
            return broken(format!("{path}.count"), format!("asks for {count} values from {from} to {to}, and {hint}"));
        }
        Ok(())
    }
}

/// Returns `count` numbers from `from` to `to`, both included; a single one is `from`.
pub(super) fn spread(from: f64, to: f64, count: usize, spacing: Spacing) -> Vec<f64> {
    let position = |index: usize| if count == 1 { 0.0 } else { index as f64 / (count - 1) as f64 };
    (0..count).map(|index| spacing.value([from, to], position(index))).collect()
}

/// The settings of the runs at one pixel.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    pub landscape: LandscapeSpec,
    pub dimension: Dimension,
    pub noise: NoiseSpec,
    pub steps: StepCount,
    pub optimizers: Vec<PointOptimizer>,
}

/// An optimizer at one pixel. Each of its variants with each learning rate is a candidate; the candidates are numbered
/// variant by variant.
#[derive(Clone, Debug, PartialEq)]
pub struct PointOptimizer {
    pub id: u32,
    /// The settings, one for each combination of the [tuned](super::Tuned) ones; all are of one kind of rule.
    pub variants: Vec<Variant>,
    pub learning_rates: Vec<f64>,
}

/// The settings of an optimizer without its learning rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Variant {
    pub rule: RuleSpec,
    /// The schedule over the steps of the point.
    pub schedule: Schedule,
}

impl PointOptimizer {
    pub(super) fn candidates(&self) -> usize {
        self.variants.len() * self.learning_rates.len()
    }

    pub(super) fn variant_of(&self, candidate: usize) -> usize {
        candidate / self.learning_rates.len()
    }

    pub fn variant(&self, candidate: usize) -> &Variant {
        &self.variants[self.variant_of(candidate)]
    }

    pub fn learning_rate(&self, candidate: usize) -> f64 {
        self.learning_rates[candidate % self.learning_rates.len()]
    }

    pub(super) fn kind(&self) -> RuleKind {
        self.variants[0].rule.kind()
    }
}
