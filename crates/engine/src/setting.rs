//! The table of settings: what defines the key, texts, range, extents and defaults of a number or choice once.
//!
//! A setting is an entry of the table of its landscape, noise or rule, of the constants here, or of a workload's
//! fields. Controls, `--set`, axes, tuned values, columns, differences and the book's pages are made from it.
//! [`SettingValue`] is a setting with its path and its value.

use std::borrow::Cow;
use std::fmt::{self, Display};

use serde::de::{DeserializeSeed, EnumAccess, VariantAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, de};

use crate::elementary::geometric;
use crate::identifier::{Identifier, lasting};
use crate::quantity::{
    Beta, Budget, Certainty, Dimension, FinalShare, LearningRate, Noise, OutOfRange, ParticleCount, Range, Replicates,
    StartCoordinate, StartSpread, StepCount, Temperature, number_text,
};

/// The key of a setting.
pub type Key = &'static str;

/// The description of a setting for presets, controls, sweeps, lists and figures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SettingInfo {
    /// The name of its field in presets, `--set` and archives.
    pub key: &'static str,
    /// The symbol in formulas and before a value; empty without one.
    pub symbol: &'static str,
    /// The label beside a control: name and symbol.
    pub label: &'static str,
    /// The unit after a value.
    pub unit: &'static str,
    /// The effect of the setting.
    pub help: &'static str,
    /// The value in the FOCUS paper; empty if the paper lacks the setting.
    pub paper: &'static str,
    pub kind: SettingKind,
    /// The extent of a slider. A typed number may lie outside, within the range.
    pub slider: Extent,
    /// The initial extent of an axis of a diagram and of a grid of tuned values.
    pub axis: Extent,
    /// The default; of a hyperparameter that on the plane, as in the paper's toy model.
    pub default: f64,
    /// The default of a hyperparameter in the training of networks.
    pub in_training: f64,
    /// Whether it acts only on parameters that a rule for matrices takes for vectors
    /// ([`Algebra::by_shape`](crate::optimizer::Algebra::by_shape)), of which there are none on the plane.
    pub is_for_vectors: bool,
}

/// The kind of values of a setting.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SettingKind {
    /// β of a running average. The product over all steps is kept, for the average's bias.
    DecayRate,
    Number(Range),
    /// A number without a fraction.
    Whole(Range),
    /// One of a few choices; the value is its index.
    Choice(&'static [SettingChoice]),
    /// A value that no number stands for, such as a rule or a folder.
    Other,
}

/// A value of a setting that is a choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SettingChoice {
    /// The name in presets.
    pub key: &'static str,
    /// The label in controls, after the setting's.
    pub label: &'static str,
    pub help: &'static str,
    /// The text in the name of a run with this value; empty for one that is named only beside another value.
    pub text: &'static str,
}

/// Two ends, and the spacing between them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Extent {
    pub low: f64,
    pub high: f64,
    pub spacing: Spacing,
}

impl Extent {
    pub const fn linear(low: f64, high: f64) -> Extent {
        Extent { low, high, spacing: Spacing::Linear }
    }

    pub const fn logarithmic(low: f64, high: f64) -> Extent {
        Extent { low, high, spacing: Spacing::Log }
    }
}

impl SettingInfo {
    const fn new(key: &'static str, label: &'static str, kind: SettingKind, extent: Extent) -> SettingInfo {
        SettingInfo {
            key,
            symbol: "",
            label,
            unit: "",
            help: "",
            paper: "",
            kind,
            slider: extent,
            axis: extent,
            default: extent.low,
            in_training: extent.low,
            is_for_vectors: false,
        }
    }

    /// Creates a number whose key is the name of its range, and whose slider and axis span the range.
    pub const fn number(symbol: &'static str, label: &'static str, range: Range) -> SettingInfo {
        let extent = Extent::linear(range.min, range.max);
        SettingInfo::new(range.name, label, SettingKind::Number(range), extent).symbol(symbol)
    }

    /// Creates a number without a fraction, like [`SettingInfo::number`].
    pub const fn whole(symbol: &'static str, label: &'static str, range: Range) -> SettingInfo {
        let kind = SettingKind::Whole(range);
        SettingInfo { kind, ..SettingInfo::number(symbol, label, range) }
    }

    /// Creates β of a running average.
    pub(crate) const fn decay_rate(symbol: &'static str, label: &'static str) -> SettingInfo {
        let of = SettingInfo { kind: SettingKind::DecayRate, ..SettingInfo::number(symbol, label, Beta::RANGE) };
        of.slider(0.0, 0.9999).spacing(Spacing::LogComplement).default(0.9)
    }

    /// Creates a choice whose default is the first of `choices`.
    pub const fn choice(label: &'static str, choices: &'static [SettingChoice]) -> SettingInfo {
        SettingInfo::new("", label, SettingKind::Choice(choices), Extent::linear(0.0, 0.0))
    }

    /// Creates a setting that is no number.
    pub const fn other(label: &'static str) -> SettingInfo {
        SettingInfo::new("", label, SettingKind::Other, Extent::linear(0.0, 0.0))
    }

    pub const fn key(self, key: &'static str) -> SettingInfo {
        SettingInfo { key, ..self }
    }

    pub(crate) const fn symbol(self, symbol: &'static str) -> SettingInfo {
        SettingInfo { symbol, ..self }
    }

    pub const fn unit(self, unit: &'static str) -> SettingInfo {
        SettingInfo { unit, ..self }
    }

    pub const fn help(self, help: &'static str) -> SettingInfo {
        SettingInfo { help, ..self }
    }

    pub const fn paper(self, paper: &'static str) -> SettingInfo {
        SettingInfo { paper, ..self }
    }

    /// Sets the ends of the slider and of an axis.
    pub const fn slider(self, low: f64, high: f64) -> SettingInfo {
        let extent = Extent { low, high, spacing: self.slider.spacing };
        SettingInfo { slider: extent, axis: extent, ..self }
    }

    /// Sets the spacing of values along the slider and an axis.
    pub const fn spacing(self, spacing: Spacing) -> SettingInfo {
        let extent = Extent { spacing, ..self.slider };
        SettingInfo { slider: extent, axis: extent, ..self }
    }

    pub const fn logarithmic(self) -> SettingInfo {
        self.spacing(Spacing::Log)
    }

    /// Sets the initial extent of an axis, if it differs from that of the slider.
    pub(crate) const fn axis(self, axis: Extent) -> SettingInfo {
        SettingInfo { axis, ..self }
    }

    pub const fn default(self, default: f64) -> SettingInfo {
        self.defaults(default, default)
    }

    /// Sets the defaults on the plane and in training.
    pub(crate) const fn defaults(self, default: f64, in_training: f64) -> SettingInfo {
        SettingInfo { default, in_training, ..self }
    }

    /// Restricts the effect to vectors, so that there is none on the plane.
    pub(crate) const fn for_vectors(self) -> SettingInfo {
        SettingInfo { is_for_vectors: true, ..self }
    }

    #[inline(always)]
    pub const fn is_decay_rate(&self) -> bool {
        matches!(self.kind, SettingKind::DecayRate)
    }

    pub const fn is_whole(&self) -> bool {
        matches!(self.kind, SettingKind::Whole(_))
    }

    /// Whether it can be an axis of a diagram: a number that matters on the plane.
    pub const fn is_axis(&self) -> bool {
        self.range().is_some() && !self.is_for_vectors
    }

    /// Returns the range of the values; `None` if they are no numbers.
    pub const fn range(&self) -> Option<Range> {
        match self.kind {
            SettingKind::DecayRate => Some(Beta::RANGE),
            SettingKind::Number(range) | SettingKind::Whole(range) => Some(range),
            SettingKind::Choice(_) | SettingKind::Other => None,
        }
    }

    pub const fn choices(&self) -> &'static [SettingChoice] {
        if let SettingKind::Choice(choices) = self.kind { choices } else { &[] }
    }

    /// Returns the value, or an error if the setting cannot have it.
    pub fn checked(&self, value: f64) -> Result<f64, OutOfRange> {
        let refused = |expected| Err(OutOfRange { name: self.key, expected, found: value.to_string() });
        match self.range() {
            Some(Range { min, max, .. }) if self.is_whole() && value.fract() != 0.0 => {
                refused(format!("a whole number from {min} to {max}"))
            }
            Some(range) => range.checked(value),
            None if self.choices().get(value as usize).is_some() && value.fract() == 0.0 && value >= 0.0 => Ok(value),
            None => refused(format!("the number of a choice, less than {}", self.choices().len())),
        }
    }

    /// Returns the nearest value that the setting can have; of NaN the default.
    pub fn nearest(&self, value: f64) -> f64 {
        match self.range() {
            _ if value.is_nan() => self.default,
            Some(Range { min, max, .. }) if self.is_whole() => value.round().clamp(min, max),
            Some(Range { min, max, .. }) => value.clamp(min, max),
            None => value.clamp(0.0, self.choices().len().saturating_sub(1) as f64),
        }
    }

    /// Whether it has the meaning of another rule's: the same key and the same label. `beta2` of Adam ("Squares β₂")
    /// and of FOCUS ("Average β₂") are different hyperparameters.
    pub fn means_the_same_as(&self, other: &SettingInfo) -> bool {
        self.key == other.key && self.label == other.label
    }

    /// Returns the label of an axis, such as `rotation φ (°)`. Symbols keep their capitals.
    pub fn axis_label(&self) -> String {
        let mut letters = self.label.chars();
        match letters.next() {
            Some(first) if self.label != self.symbol => first.to_lowercase().chain(letters).collect(),
            _ => self.label.to_owned(),
        }
    }

    /// Formats the setting with a value, such as `φ = 30°`, or `100 particles` for one without a symbol.
    pub fn with(&self, value: impl Display) -> String {
        match self.symbol {
            "" => format!("{value} {}", self.label.to_lowercase()),
            symbol => format!("{symbol} = {value}{}", self.unit),
        }
    }

    /// Returns the help and the paper's value, for a tooltip.
    pub fn explanation(&self) -> String {
        match self.paper {
            "" => self.help.to_owned(),
            paper => format!("{}\n\nIn the paper: {paper}.", self.help),
        }
    }

    /// Formats a hyperparameter's value for a name, such as `ω 0.1` or `Nesterov`, or for a choice without such a text
    /// `momentum heavy ball`; empty for a mask, which is part of the rule's name.
    pub(crate) fn text(&self, value: f64) -> String {
        match self.choices().get(value as usize) {
            Some(_) if self.choices().iter().all(|choice| choice.text.is_empty()) => String::new(),
            Some(choice) if choice.text.is_empty() => format!("{} {}", self.label.to_lowercase(), choice.label),
            Some(choice) => choice.text.to_owned(),
            None if value < 0.0 => format!("{} −{}", self.symbol, number_text(-value)),
            None => format!("{} {}", self.symbol, number_text(value)),
        }
    }

    /// Formats a value without its symbol.
    pub(crate) fn value_text(&self, value: f64) -> String {
        let text = self.text(value);
        text.strip_prefix(self.symbol).map_or_else(|| text.clone(), |value| value.trim_start().to_owned())
    }

    /// Formats the label with a value, such as `Squares β₂ 0.95`.
    pub(crate) fn labelled(&self, value: f64) -> String {
        format!("{} {}", self.label, self.value_text(value))
    }

    /// Returns whether a value is named only beside another one.
    pub(crate) fn is_silent(&self, value: f64) -> bool {
        self.choices().get(value as usize).is_some_and(|choice| choice.text.is_empty())
    }
}

/// Reads a value and checks it; that of a choice by its name, as its index.
impl<'de> DeserializeSeed<'de> for &'static SettingInfo {
    type Value = f64;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<f64, D::Error> {
        match self.kind {
            SettingKind::Choice(choices) => deserializer.deserialize_enum(self.key, &[], ChoiceReader(choices)),
            _ => self.checked(f64::deserialize(deserializer)?).map_err(de::Error::custom),
        }
    }
}

struct ChoiceReader(&'static [SettingChoice]);

impl<'de> Visitor<'de> for ChoiceReader {
    type Value = f64;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "one of {}", self.0.iter().map(|choice| choice.key).collect::<Vec<_>>().join(", "))
    }

    fn visit_enum<A: EnumAccess<'de>>(self, data: A) -> Result<f64, A::Error> {
        let names = lasting(self.0.iter().map(|choice| choice.key).collect());
        let of = |name: &str| names.iter().position(|key| *key == name);
        let (index, unit) = data.variant_seed(Identifier { names, of, is_field: false })?;
        unit.unit_variant()?;
        Ok(index as f64)
    }
}

/// The address of a setting: its path as for `--set`, from the simulation or the training, or from the optimizer that
/// has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettingPath {
    /// The id of the optimizer.
    pub optimizer: Option<u32>,
    pub path: Cow<'static, str>,
}

impl SettingPath {
    pub fn new(path: impl Into<Cow<'static, str>>) -> SettingPath {
        SettingPath { optimizer: None, path: path.into() }
    }

    /// Returns the path of a setting of the rule of the optimizer with this id: the learning rate or a hyperparameter.
    pub fn of_rule(optimizer: u32, key: &str) -> SettingPath {
        SettingPath { optimizer: Some(optimizer), path: format!("rule.{key}").into() }
    }
}

/// A setting of a simulation or of a training, with its value.
#[derive(Clone, Debug, PartialEq)]
pub struct SettingValue {
    pub path: SettingPath,
    pub info: &'static SettingInfo,
    pub value: f64,
    pub default: f64,
}

impl SettingValue {
    /// Creates a setting that no optimizer owns.
    pub fn new(path: impl Into<Cow<'static, str>>, info: &'static SettingInfo, value: f64) -> SettingValue {
        SettingValue { path: SettingPath::new(path), info, value, default: info.default }
    }
}

/// Returns the error of a path at which there is no setting.
pub(crate) fn unknown(path: &str) -> OutOfRange {
    let expected = "the path of one of the numbers".to_owned();
    OutOfRange { name: "a setting", expected, found: path.to_owned() }
}

pub const NOISE: SettingInfo = SettingInfo::number("σ", "Noise σ", Noise::RANGE)
    .slider(0.0, 3.0)
    .help("Each gradient coordinate is multiplied by its own draw from Normal(1, σ).")
    .paper("0 to 3")
    .default(1.0);

pub const DIMENSION: SettingInfo = SettingInfo::whole("d", "Dimension d", Dimension::RANGE)
    .slider(2.0, 100.0)
    .logarithmic()
    .help("2: the plane, with the valley turned by φ. More: a valley in a random direction.")
    .paper("2, and 100 in one figure");

pub const STEPS: SettingInfo = SettingInfo::whole("", "Steps", StepCount::RANGE)
    .slider(10.0, 10_000.0)
    .logarithmic()
    .help("Steps of each run.")
    .paper("1000")
    .default(1000.0);

pub const REPLICATES: SettingInfo = SettingInfo::whole("", "Replicates", Replicates::RANGE)
    .slider(1.0, 1000.0)
    .logarithmic()
    .help("Runs with each learning rate, with different noise.")
    .paper("50")
    .default(50.0);

pub const CERTAINTY: SettingInfo = SettingInfo::number("", "Certainty", Certainty::RANGE)
    .slider(0.5, 0.999)
    .help(
        "The certainty of a winner at which its pixel is decided. It holds though one looks again and again, and though \
         the best learning rate is chosen.",
    )
    .default(0.95);

pub const BUDGET: SettingInfo = SettingInfo::number("", "Budget", Budget::RANGE)
    .slider(0.1, 100.0)
    .logarithmic()
    .help("The most steps of a pixel, as a multiple of those that its replicates take with uniform sampling.")
    .default(5.0);

pub const MOST_REPLICATES: SettingInfo = SettingInfo::whole("", "Most replicates", Replicates::RANGE)
    .key("most_replicates")
    .slider(10.0, 100_000.0)
    .logarithmic()
    .help("The most replicates by which a learning rate is compared with the leader's.")
    .default(5000.0);

pub const PARTICLES: SettingInfo = SettingInfo::whole("", "Particles", ParticleCount::RANGE)
    .logarithmic()
    .help("How many independent copies each optimizer moves. A change begins the run again.")
    .paper("50 replicates")
    .default(100.0);

const START_HELP: &str = "The middle of the particles' start. A change begins the run again; the start can also be \
                          placed on the landscape.";

pub const START_X: SettingInfo = SettingInfo::number("start x", "Start x", StartCoordinate::RANGE)
    .key("x")
    .slider(-2.0, 2.0)
    .help(START_HELP)
    .paper("0");

pub const START_Y: SettingInfo = SettingInfo { symbol: "start y", label: "Start y", ..START_X.key("y") };

pub const START_SPREAD: SettingInfo = SettingInfo::number("start spread", "Start spread", StartSpread::RANGE)
    .key("spread")
    .slider(1e-6, 1.0)
    .logarithmic()
    .help("The standard deviation of the particles' start in each coordinate. A change begins the run again.")
    .paper("0.0001")
    .default(1e-4);

pub const TEMPERATURE: SettingInfo = SettingInfo::number("Θ", "Temperature Θ", Temperature::RANGE)
    .slider(1e-5, 10.0)
    .logarithmic()
    .help("Weighs the entropy in the free energy F = E − ΘS of the plots. It does not act on the particles.")
    .paper("the learning rate plays this part")
    .default(0.01);

pub const LEARNING_RATE: SettingInfo = SettingInfo::number("η", "Learning rate η", LearningRate::RANGE)
    .slider(1e-4, 1.0)
    .logarithmic()
    .help("The size of a step.")
    .paper("20 values from 0.001 to 1")
    .axis(Extent::logarithmic(1e-3, 1.0))
    .default(0.01);

/// The share of η that is left at the end of a [cosine schedule](crate::optimizer::Decay::Cosine).
pub const SCHEDULE_END: SettingInfo = SettingInfo::number("e", "end of the schedule e", FinalShare::RANGE)
    .key("schedule_end")
    .help("The share of η that is left at the end of the cosine.");

/// The spacing of values between two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Spacing {
    /// Equal differences.
    Linear,
    /// Equal quotients.
    Log,
    /// Equal quotients of 1 − x, for decay rates: 0, 0.9, 0.99 and 0.999 are equally far apart.
    LogComplement,
}

impl Spacing {
    /// Whether an end can have this value: a positive one, or one below 1, where logarithms are taken.
    pub fn allows(self, end: f64) -> bool {
        match self {
            Spacing::Linear => true,
            Spacing::Log => end > 0.0,
            Spacing::LogComplement => end < 1.0,
        }
    }

    /// Returns the quotient of the ends, or of their complements, that are spaced by quotients.
    pub(crate) fn quotient(self, [from, to]: [f64; 2]) -> Option<f64> {
        match self {
            Spacing::Linear => None,
            Spacing::Log => Some(to / from),
            Spacing::LogComplement => Some((1.0 - to) / (1.0 - from)),
        }
    }

    /// Returns the position of a value, from 0 at the first end to 1 at the second. The ends must be different, and
    /// [allowed](Spacing::allows).
    pub fn position(self, [from, to]: [f64; 2], value: f64) -> f64 {
        match self {
            Spacing::Linear => (value - from) / (to - from),
            Spacing::Log => (value / from).ln() / (to / from).ln(),
            Spacing::LogComplement => ((1.0 - value) / (1.0 - from)).ln() / ((1.0 - to) / (1.0 - from)).ln(),
        }
    }

    /// Returns the value at a position from 0 to 1, the inverse of [`Spacing::position`]. It lies between the ends.
    pub fn value(self, [from, to]: [f64; 2], position: f64) -> f64 {
        let value = match (self, position) {
            (_, 1.0) => to,
            (Spacing::Linear, part) => from + (to - from) * part,
            (Spacing::Log, part) => geometric(from, to, part),
            (Spacing::LogComplement, 0.0) => from,
            (Spacing::LogComplement, part) => 1.0 - geometric(1.0 - from, 1.0 - to, part),
        };
        // Rounding must not move a value beyond the ends, which may be limits of the allowed range.
        value.clamp(from.min(to), from.max(to))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sliders_and_axes_lie_within_the_ranges_of_their_quantities() {
        let all = [
            NOISE,
            TEMPERATURE,
            LEARNING_RATE,
            DIMENSION,
            STEPS,
            REPLICATES,
            CERTAINTY,
            BUDGET,
            MOST_REPLICATES,
            PARTICLES,
            START_X,
            START_Y,
            START_SPREAD,
            SCHEDULE_END,
        ];
        for setting in all {
            let range = setting.range().expect("it is a number");
            for Extent { low, high, spacing } in [setting.slider, setting.axis] {
                assert!(range.min <= low && low < high && high <= range.max, "{}", setting.key);
                assert!(spacing.allows(low), "{}: no logarithm of {low}", setting.key);
            }
        }
    }

    #[test]
    fn labels_and_values_are_written_with_symbol_and_unit() {
        assert_eq!(NOISE.with("0.5"), "σ = 0.5");
        assert_eq!(START_X.with(1), "start x = 1");
        assert_eq!(STEPS.explanation(), format!("{}\n\nIn the paper: 1000.", STEPS.help));
    }
}
