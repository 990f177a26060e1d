//! The table of the parameters of runs, which defines each label, help, unit and extent once. Each rule and each
//! landscape has a table of its own ([`crate::optimizer::Hyperparameter`], [`BoundedParameter`]).

use std::fmt::Display;

use serde::{Deserialize, Serialize};

use crate::elementary::geometric;
use crate::quantity::{
    Budget, Certainty, Dimension, LearningRate, Noise, OutOfRange, ParticleCount, Range, Replicates, StepCount,
    Temperature,
};

/// The description of a parameter for controls, figures and titles. Its type in [`crate::quantity`] defines the range
/// of its values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameter {
    /// The name of the parameter's field in presets.
    pub key: &'static str,
    /// The symbol in formulas and before a value; empty without one.
    pub symbol: &'static str,
    /// The label beside a control: name and symbol.
    pub label: &'static str,
    /// The unit after a value.
    pub unit: &'static str,
    /// The effect of the parameter.
    pub help: &'static str,
    /// The value in the FOCUS paper; empty if the paper lacks the parameter.
    pub paper: &'static str,
    /// The extent of a slider. A typed number may lie outside, within the quantity's range.
    pub slider: Extent,
    /// The initial extent of an axis of a diagram.
    pub axis: Extent,
    /// The change of a dragged number for each point of the pointer's movement.
    pub drag_step: f64,
    /// Whether all values are whole numbers.
    pub is_whole: bool,
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

impl Parameter {
    /// Creates a parameter whose slider and axis have this extent.
    pub const fn new(key: &'static str, label: &'static str, extent: Extent) -> Parameter {
        Parameter {
            key,
            symbol: "",
            label,
            unit: "",
            help: "",
            paper: "",
            slider: extent,
            axis: extent,
            drag_step: 1.0,
            is_whole: false,
        }
    }

    pub(crate) const fn symbol(self, symbol: &'static str) -> Parameter {
        Parameter { symbol, ..self }
    }

    pub const fn unit(self, unit: &'static str) -> Parameter {
        Parameter { unit, ..self }
    }

    pub const fn help(self, help: &'static str) -> Parameter {
        Parameter { help, ..self }
    }

    pub const fn paper(self, paper: &'static str) -> Parameter {
        Parameter { paper, ..self }
    }

    /// Sets the initial extent of an axis, if it differs from that of the slider.
    pub(crate) const fn axis(self, axis: Extent) -> Parameter {
        Parameter { axis, ..self }
    }

    pub(crate) const fn drag_step(self, drag_step: f64) -> Parameter {
        Parameter { drag_step, ..self }
    }

    pub(crate) const fn whole(self) -> Parameter {
        Parameter { is_whole: true, ..self }
    }

    /// Returns the label of an axis, such as `rotation φ (°)`. Symbols keep their capitals.
    pub fn axis_label(&self) -> String {
        let mut letters = self.label.chars();
        match letters.next() {
            Some(first) if self.label != self.symbol => first.to_lowercase().chain(letters).collect(),
            _ => self.label.to_owned(),
        }
    }

    /// Formats the parameter with a value, such as `φ = 30°`.
    pub fn with(&self, value: impl Display) -> String {
        format!("{} = {value}{}", self.symbol, self.unit)
    }

    /// Returns the help and the paper's value, for a tooltip.
    pub fn explanation(&self) -> String {
        match self.paper {
            "" => self.help.to_owned(),
            paper => format!("{}\n\nIn the paper: {paper}.", self.help),
        }
    }
}

/// A parameter of a landscape or of a noise: its description, its range and its default.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BoundedParameter {
    pub parameter: Parameter,
    pub range: Range,
    pub default: f64,
}

impl BoundedParameter {
    /// Creates a parameter whose slider and axis span this extent of the range.
    pub(crate) const fn new(
        key: &'static str,
        symbol: &'static str,
        label: &'static str,
        [min, max]: [f64; 2],
        extent: Extent,
    ) -> BoundedParameter {
        let parameter = Parameter::new(key, label, extent).symbol(symbol).drag_step(0.01);
        BoundedParameter { parameter, range: Range { name: key, min, max }, default: extent.low }
    }

    pub(crate) const fn help(self, help: &'static str) -> BoundedParameter {
        BoundedParameter { parameter: self.parameter.help(help), ..self }
    }

    pub(crate) const fn paper(self, paper: &'static str) -> BoundedParameter {
        BoundedParameter { parameter: self.parameter.paper(paper), ..self }
    }

    /// Sets the initial extent of an axis, if it differs from that of the slider.
    pub(crate) const fn axis(self, axis: Extent) -> BoundedParameter {
        BoundedParameter { parameter: self.parameter.axis(axis), ..self }
    }

    pub(crate) const fn drag_step(self, step: f64) -> BoundedParameter {
        BoundedParameter { parameter: self.parameter.drag_step(step), ..self }
    }

    pub(crate) const fn default(self, default: f64) -> BoundedParameter {
        BoundedParameter { default, ..self }
    }

    /// Returns the key in presets.
    pub const fn key(&self) -> &'static str {
        self.parameter.key
    }

    /// Returns the value, or an error if it is out of range.
    pub fn checked(&self, value: f64) -> Result<f64, OutOfRange> {
        self.range.checked(value)
    }

    /// Returns the nearest value of the range; of NaN the default.
    pub fn nearest(&self, value: f64) -> f64 {
        if value.is_nan() { self.default } else { value.clamp(self.range.min, self.range.max) }
    }
}

pub const NOISE: Parameter = Parameter::new(Noise::NAME, "Noise σ", Extent::linear(0.0, 3.0))
    .symbol("σ")
    .help("Each gradient coordinate is multiplied by its own draw from Normal(1, σ).")
    .paper("0 to 3")
    .drag_step(0.01);

pub const DIMENSION: Parameter = Parameter::new(Dimension::NAME, "Dimension d", Extent::logarithmic(2.0, 100.0))
    .symbol("d")
    .help("2: the plane, with the valley turned by φ. More: a valley in a random direction.")
    .paper("2, and 100 in one figure")
    .whole();

pub const STEPS: Parameter = Parameter::new(StepCount::NAME, "Steps", Extent::logarithmic(10.0, 10_000.0))
    .help("Steps of each run.")
    .paper("1000")
    .drag_step(10.0)
    .whole();

pub const REPLICATES: Parameter = Parameter::new(Replicates::NAME, "Replicates", Extent::logarithmic(1.0, 1000.0))
    .help("Runs with each learning rate, with different noise.")
    .paper("50")
    .whole();

pub const CERTAINTY: Parameter = Parameter::new(Certainty::NAME, "Certainty", Extent::linear(0.5, 0.999))
    .help(
        "The certainty of a winner at which its pixel is decided. It holds though one looks again and again, and though \
         the best learning rate is chosen.",
    )
    .drag_step(0.005);

pub const BUDGET: Parameter = Parameter::new(Budget::NAME, "Budget", Extent::logarithmic(0.1, 100.0))
    .help("The most steps of a pixel, as a multiple of those that its replicates take with uniform sampling.")
    .drag_step(0.1);

pub const MOST_REPLICATES: Parameter =
    Parameter::new("most_replicates", "Most replicates", Extent::logarithmic(10.0, 100_000.0))
        .help("The most replicates by which a learning rate is compared with the leader's.")
        .drag_step(10.0)
        .whole();

pub const PARTICLES: Parameter = Parameter::new(ParticleCount::NAME, "Particles", Extent::logarithmic(1.0, 10_000.0))
    .help("How many independent copies each optimizer moves. A change begins the run again.")
    .paper("50 replicates")
    .whole();

const START_HELP: &str = "The middle of the particles' start. A change begins the run again; the start can also be \
                          placed on the landscape.";

pub const START_X: Parameter =
    Parameter::new("x", "Start x", Extent::linear(-2.0, 2.0)).symbol("start x").help(START_HELP).paper("0");

pub const START_Y: Parameter =
    Parameter::new("y", "Start y", Extent::linear(-2.0, 2.0)).symbol("start y").help(START_HELP).paper("0");

pub const START_SPREAD: Parameter = Parameter::new("spread", "Start spread", Extent::logarithmic(1e-6, 1.0))
    .symbol("start spread")
    .help("The standard deviation of the particles' start in each coordinate. A change begins the run again.")
    .paper("0.0001");

pub const TEMPERATURE: Parameter = Parameter::new(Temperature::NAME, "Temperature Θ", Extent::logarithmic(1e-5, 10.0))
    .help("Weighs the entropy in the free energy F = E − ΘS of the plots. It does not act on the particles.")
    .paper("the learning rate plays this part");

pub const LEARNING_RATE: Parameter =
    Parameter::new(LearningRate::NAME, "Learning rate η", Extent::logarithmic(1e-4, 1.0))
        .symbol("η")
        .help("The size of a step.")
        .paper("20 values from 0.001 to 1")
        .axis(Extent::logarithmic(1e-3, 1.0));

/// The parameters of a simulation besides those of its landscape, with the paths of their fields in a preset.
pub const OF_SIMULATION: [(&str, Parameter); 7] = [
    ("simulations[0].spec.noise", NOISE),
    ("simulations[0].spec.particles", PARTICLES),
    ("simulations[0].spec.start.x", START_X),
    ("simulations[0].spec.start.y", START_Y),
    ("simulations[0].spec.start.spread", START_SPREAD),
    ("simulations[0].spec.temperature", TEMPERATURE),
    ("simulations[0].spec.optimizers[0].rule.learning_rate", LEARNING_RATE),
];

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
    use crate::quantity::Range;

    #[test]
    fn sliders_and_axes_lie_within_the_ranges_of_their_quantities() {
        let count = |name, min: u32, max: u32| Range { name, min: f64::from(min), max: f64::from(max) };
        let all = [
            (NOISE, Noise::RANGE),
            (TEMPERATURE, Temperature::RANGE),
            (LEARNING_RATE, LearningRate::RANGE),
            (DIMENSION, count(Dimension::NAME, Dimension::MIN, Dimension::MAX)),
            (STEPS, count(StepCount::NAME, StepCount::MIN, StepCount::MAX)),
            (REPLICATES, count(Replicates::NAME, Replicates::MIN, Replicates::MAX)),
            (CERTAINTY, Certainty::RANGE),
            (BUDGET, Budget::RANGE),
            (MOST_REPLICATES, count("most_replicates", Replicates::MIN, Replicates::MAX)),
            (PARTICLES, count(ParticleCount::NAME, ParticleCount::MIN, ParticleCount::MAX)),
        ];
        for (parameter, range) in all {
            assert_eq!(parameter.key, range.name);
            for Extent { low, high, spacing } in [parameter.slider, parameter.axis] {
                assert!(range.min <= low && low < high && high <= range.max, "{}", parameter.key);
                assert!(spacing.allows(low), "{}: no logarithm of {low}", parameter.key);
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
