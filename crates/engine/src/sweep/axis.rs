//! Axes of a diagram, tuned settings, and the settings that both give to a pixel.

use serde::{Deserialize, Serialize};

use crate::identifier::{NameFormat, key_format};
use crate::landscape::{LandscapeKind, LandscapeSpec};
use crate::noise::{NoiseKind, NoiseSpec};
use crate::optimizer::{Decay, RuleKind, RuleSpec, Schedule, ShownSetting, axis_info, built_in_axis_keys};
use crate::quantity::{
    Dimension, LearningRate, Noise, Number as _, OutOfRange, PointCount, Range, StepCount, number_text,
};
use crate::setting::{DIMENSION, Key, LEARNING_RATE, NOISE, SCHEDULE_END, STEPS, SettingInfo, Spacing};
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
/// setting of some optimizers' rules. Settings are named by their keys.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Quantity {
    Landscape(#[serde(with = "of_landscape")] Key),
    /// The noise σ, of whatever kind.
    Noise,
    NoiseParameter(#[serde(with = "of_noise")] Key),
    Steps,
    /// The dimension d.
    Dimension,
    /// The learning rate or a hyperparameter, and the ids of the optimizers for which it is varied.
    Of(#[serde(with = "of_rule")] Key, Vec<u32>),
}

const OF_LANDSCAPE: NameFormat = NameFormat {
    of: "LandscapeParameter",
    expecting: "the name of a parameter of the landscape",
    built_in: || distinct_keys(LandscapeKind::ALL.iter().map(|kind| kind.info().parameters)),
    typed: Some("OfFormula"),
};
const OF_NOISE: NameFormat = NameFormat {
    of: "NoiseParameter",
    expecting: "the name of a parameter of the noise",
    built_in: || distinct_keys(NoiseKind::ALL.iter().map(|kind| &kind.info().parameters[1..])),
    typed: None,
};
const OF_RULE: NameFormat = NameFormat {
    of: "Hyperparameter",
    expecting: "the name of a hyperparameter",
    built_in: built_in_axis_keys,
    typed: Some("OfTyped"),
};
const TUNED: NameFormat = NameFormat {
    of: "TunedSetting",
    expecting: "the name of a hyperparameter, or `ScheduleEnd`",
    built_in: || built_in_axis_keys().into_iter().skip(1).chain([SCHEDULE_END.key]).collect(),
    typed: Some("OfTyped"),
};
key_format!(of_landscape, OF_LANDSCAPE);
key_format!(of_noise, OF_NOISE);
key_format!(of_rule, OF_RULE);
key_format!(tuned, TUNED);

fn distinct_keys(tables: impl Iterator<Item = &'static [SettingInfo]>) -> Vec<Key> {
    let mut keys = Vec::new();
    for setting in tables.flatten() {
        if !keys.contains(&setting.key) {
            keys.push(setting.key);
        }
    }
    keys
}

impl Quantity {
    /// Lists the quantities that can vary for a landscape and a noise, besides settings of optimizers.
    pub fn of_all(landscape: &LandscapeSpec, noise: &NoiseSpec) -> Vec<Quantity> {
        let of_landscape = landscape.info().parameters.iter().map(|of| Quantity::Landscape(of.key));
        let of_noise = noise.info().parameters[1..].iter().map(|of| Quantity::NoiseParameter(of.key));
        let others = [Some(Quantity::Steps), landscape.valley().map(|_| Quantity::Dimension)];
        of_landscape.chain([Quantity::Noise]).chain(of_noise).chain(others.into_iter().flatten()).collect()
    }

    /// Returns the setting that varies on this landscape; for a hyperparameter that of the first rule that has it. A
    /// parameter that the landscape lacks is described by its key.
    pub fn info(&self, landscape: &LandscapeSpec) -> SettingInfo {
        match self {
            Quantity::Landscape(key) => match landscape.parameter(key) {
                Some(of) => *of,
                None => SettingInfo::number("", key, Range::new(key, 0.0, 1.0)),
            },
            Quantity::NoiseParameter(key) => {
                let mut all = NoiseKind::ALL.iter().flat_map(|kind| kind.info().parameters);
                *all.find(|of| of.key == *key).expect("some noise has the parameter")
            }
            Quantity::Of(key, _) => *axis_info(key).unwrap_or(&LEARNING_RATE),
            Quantity::Noise => NOISE,
            Quantity::Steps => STEPS,
            Quantity::Dimension => DIMENSION,
        }
    }

    /// Returns the key of the setting in file formats.
    pub fn key(&self) -> Key {
        match self {
            Quantity::Landscape(key) | Quantity::NoiseParameter(key) | Quantity::Of(key, _) => key,
            Quantity::Noise => NOISE.key,
            Quantity::Steps => STEPS.key,
            Quantity::Dimension => DIMENSION.key,
        }
    }

    /// Returns the path of a setting that no optimizer has; `None` for a setting of rules.
    pub fn path(&self) -> Option<String> {
        match self {
            Quantity::Landscape(key) => Some(format!("landscape.{key}")),
            Quantity::NoiseParameter(key) => Some(format!("noise.{key}")),
            Quantity::Noise | Quantity::Steps | Quantity::Dimension => Some(self.key().to_owned()),
            Quantity::Of(..) => None,
        }
    }

    /// Returns whether it is the setting at a path in a preset of a sweep: of the optimizer with this id, or of all.
    pub fn is_at(&self, optimizer: Option<u32>, path: &str) -> bool {
        match (self, optimizer) {
            (Quantity::Of(key, ids), Some(id)) if ids.contains(&id) => {
                let is_rate = *key == LEARNING_RATE.key && path.starts_with("learning_rates.");
                is_rate || path.strip_prefix("rule.") == Some(key)
            }
            (_, None) => self.path().is_some_and(|own| own == path),
            _ => false,
        }
    }

    pub fn is_whole(&self) -> bool {
        match self {
            Quantity::Landscape(_) | Quantity::Noise | Quantity::NoiseParameter(_) => false,
            Quantity::Steps | Quantity::Dimension => true,
            Quantity::Of(key, _) => axis_info(key).is_some_and(SettingInfo::is_whole),
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
            Quantity::Landscape(key) => point.landscape.set(key, value)?,
            Quantity::Noise => point.noise = point.noise.with_sigma(Noise::new(value)?),
            Quantity::NoiseParameter(key) => point.noise.set(key, value)?,
            Quantity::Steps => point.steps.enter(value)?,
            Quantity::Dimension => point.dimension.enter(value)?,
            Quantity::Of(key, ids) => {
                for optimizer in point.optimizers.iter_mut().filter(|optimizer| ids.contains(&optimizer.id)) {
                    if *key == LEARNING_RATE.key {
                        optimizer.learning_rates = vec![LearningRate::new(value)?.get()];
                        continue;
                    }
                    for Variant { rule, .. } in &mut optimizer.variants {
                        if rule.has_axis(key) {
                            rule.set(key, value)?;
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
        matches!(&self.of, Quantity::Of(of, ids) if *of == key && ids.contains(&optimizer))
    }

    pub(super) fn varies_rate_of(&self, optimizer: u32) -> bool {
        self.varies(LEARNING_RATE.key, optimizer)
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

/// A setting of an optimizer that takes several values, of which the best counts at each pixel: a hyperparameter that
/// is a number, or the end of a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tuned {
    #[serde(with = "tuned")]
    pub of: Key,
    /// The first value.
    pub from: f64,
    /// The last value.
    pub to: f64,
    pub count: PointCount,
    pub spacing: Spacing,
}

/// Returns whether an optimizer with this rule and schedule has a setting that can be tuned.
pub fn can_tune(key: &str, rule: &RuleSpec, schedule: &Schedule) -> bool {
    match key == SCHEDULE_END.key {
        true => matches!(schedule.decay, Decay::Cosine { .. }),
        false => key != LEARNING_RATE.key && rule.has_axis(key),
    }
}

/// Returns the value of a tuned setting, if an optimizer with this rule and schedule has it.
pub fn tuned_value(key: &str, rule: &RuleSpec, schedule: &Schedule) -> Option<f64> {
    match schedule.decay {
        Decay::Cosine { to, .. } if key == SCHEDULE_END.key => Some(to.get()),
        _ => rule.get(key),
    }
}

/// Returns the description of a tuned setting; of a hyperparameter that of the first rule that has it.
pub fn tuned_info(key: &str) -> &'static SettingInfo {
    axis_info(key).unwrap_or(&SCHEDULE_END)
}

/// Returns the symbol of a tuned setting, which rules share that call it otherwise; of the end of a schedule the label.
pub fn tuned_label(key: &str) -> &'static str {
    let info = tuned_info(key);
    if key == SCHEDULE_END.key { info.label } else { info.symbol }
}

impl Variant {
    /// Sets a tuned setting.
    pub(super) fn set(&mut self, key: &str, value: f64) -> Result<(), OutOfRange> {
        match &mut self.schedule.decay {
            Decay::Cosine { to, .. } if key == SCHEDULE_END.key => to.enter(value),
            _ => self.rule.set(key, value),
        }
    }
}

impl Tuned {
    /// Describes the grid among the settings of an optimizer with this rule.
    pub(super) fn shown(&self, rule: &RuleSpec) -> ShownSetting {
        let meaning = match rule.hyperparameter(self.of) {
            Some(of) if self.of != SCHEDULE_END.key => ShownSetting::meaning_of(of),
            _ => ShownSetting::SCHEDULE_END.to_owned(),
        };
        let [from, to] = [self.from, self.to].map(number_text);
        let text = format!("{} {from}…{to}", tuned_info(self.of).symbol);
        ShownSetting { is_usual: false, ..ShownSetting::new(meaning, text) }
    }

    pub fn values(&self) -> Vec<f64> {
        self.range().values()
    }

    pub(super) fn range(&self) -> ValueRange {
        let Tuned { from, to, count, spacing, of } = *self;
        ValueRange { from, to, count, spacing, is_whole: tuned_info(of).is_whole() }
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
                variant.set(tuned.of, *value).expect("values between the ends of a checked grid are in range");
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
