//! Quantities whose types guarantee their ranges.
//!
//! A value of one of these types is always finite and inside its range, whether a preset, a slider or the command line
//! has set it. An error states the expected range and the value found.

use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, de};

/// The error of a number outside the range of its quantity.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{name} must be {expected}, found {found}")]
pub struct OutOfRange {
    pub name: &'static str,
    pub expected: String,
    pub found: String,
}

/// The range of a quantity that is a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    pub name: &'static str,
    pub min: f64,
    pub max: f64,
}

impl Range {
    pub const fn new(name: &'static str, min: f64, max: f64) -> Range {
        Range { name, min, max }
    }

    /// Returns the value, or an error if it is out of range.
    pub(crate) fn checked(self, value: f64) -> Result<f64, OutOfRange> {
        let Range { name, min, max } = self;
        if (min..=max).contains(&value) {
            return Ok(value);
        }
        Err(OutOfRange { name, expected: format!("a number from {min} to {max}"), found: value.to_string() })
    }
}

/// Formats a number with at most five significant digits, without trailing zeros: `0.0001`, `12.5`, `1e-8`.
pub fn number_text(value: f64) -> String {
    let rounded = rounded(value, 5);
    let size = rounded.abs();
    if rounded == 0.0 {
        "0".to_owned()
    } else if (1e-4..1e7).contains(&size) {
        rounded.to_string()
    } else {
        format!("{rounded:e}")
    }
}

/// Returns the nearest number with `digits` significant digits.
pub fn rounded(value: f64, digits: usize) -> f64 {
    // Only decimal text leaves no binary remainder such as 0.30000000000000004.
    format!("{value:.*e}", digits.saturating_sub(1)).parse().unwrap_or(value)
}

/// A quantity of any type, as a number.
pub trait Number {
    fn value(&self) -> f64;

    /// Sets the value, unless it is out of range.
    fn enter(&mut self, value: f64) -> Result<(), OutOfRange>;
}

macro_rules! quantities {
    ($($(#[$doc:meta])* $type:ident: $name:literal, $low:expr, $high:expr;)+) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize)]
        #[serde(transparent)]
        pub struct $type(f64);

        impl $type {
            pub const NAME: &'static str = $name;
            pub const MIN: f64 = $low;
            pub const MAX: f64 = $high;
            pub const RANGE: Range = Range { name: $name, min: $low, max: $high };

            /// Creates the quantity of this value, unless it is out of range.
            pub fn new(value: f64) -> Result<Self, OutOfRange> {
                Self::RANGE.checked(value).map($type)
            }

            /// Creates the nearest quantity; NaN becomes the smallest.
            pub fn clamped(value: f64) -> Self {
                $type(value.max(Self::MIN).min(Self::MAX))
            }

            pub fn get(self) -> f64 {
                self.0
            }
        }

        impl Number for $type {
            fn value(&self) -> f64 {
                self.0
            }

            fn enter(&mut self, value: f64) -> Result<(), OutOfRange> {
                *self = Self::new(value)?;
                Ok(())
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Self::new(f64::deserialize(deserializer)?).map_err(de::Error::custom)
            }
        }
    )+};
}

quantities! {
    /// Standard deviation σ of the noise of each gradient coordinate.
    Noise: "noise", 0.0, 100.0;
    /// Learning rate η.
    LearningRate: "learning_rate", 1e-8, 10.0;
    /// Decay rate β of a running average.
    Beta: "decay rate beta", 0.0, 0.999_999;
    /// Strength γ of the attraction to the averaged parameters; negative repels.
    Gamma: "gamma", -10.0, 10.0;
    /// Weight decay ω.
    WeightDecay: "weight_decay", 0.0, 10.0;
    /// Standard deviation of the particles' starting positions. The paper uses 1e-4.
    StartSpread: "start spread", 0.0, 100.0;
    /// The certainty at which the winner of a pixel counts as decided. Half is chance.
    Certainty: "certainty", 0.5, 0.9999;
    /// The most steps of a pixel, as a multiple of those with uniform sampling.
    Budget: "budget", 0.01, 10_000.0;
    /// A coordinate of the starting point.
    StartCoordinate: "start coordinate", -1e6, 1e6;
    /// Share of the learning rate that is left at the end of its decay.
    FinalShare: "final share of the learning rate", 0.0, 1.0;
    /// Learning rate at the end of a schedule.
    FinalLearningRate: "min_lr", 0.0, 10.0;
    /// The norm to which longer gradients are clipped.
    ClipNorm: "clip", 1e-6, 1e6;
    /// Temperature at which the next token is drawn; at 0 it is the most likely one.
    SampleTemperature: "sample.temperature", 0.0, 100.0;
    /// Fraction of a text for validation.
    ValidationFraction: "val_fraction", 0.0001, 0.9;
    /// Temperature Θ of the free energy.
    Temperature: "temperature", 0.0, 1e6;
}

/// A number without a range of its own, which is checked with the fields around it.
impl Number for u32 {
    fn value(&self) -> f64 {
        f64::from(*self)
    }

    fn enter(&mut self, value: f64) -> Result<(), OutOfRange> {
        *self = whole(Range::new("the number", 0.0, f64::from(u32::MAX)), value)?;
        Ok(())
    }
}

/// Returns a number without a fraction, or an error if it has one or is out of range.
fn whole(Range { name, min, max }: Range, value: f64) -> Result<u32, OutOfRange> {
    if value.fract() == 0.0 && (min..=max).contains(&value) {
        return Ok(value as u32);
    }
    Err(OutOfRange { name, expected: format!("a whole number from {min} to {max}"), found: value.to_string() })
}

macro_rules! counts {
    ($($(#[$doc:meta])* $type:ident: $name:literal, $low:expr, $high:expr;)+) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
        #[serde(transparent)]
        pub struct $type(u32);

        impl $type {
            pub const NAME: &'static str = $name;
            pub const MIN: u32 = $low;
            pub const MAX: u32 = $high;
            pub const RANGE: Range = Range { name: $name, min: $low as f64, max: $high as f64 };

            /// Creates the count, unless it is out of range.
            pub fn new(count: u64) -> Result<Self, OutOfRange> {
                let known = u32::try_from(count).ok().filter(|count| (Self::MIN..=Self::MAX).contains(count));
                known.map($type).ok_or_else(|| Self::refused(&count.to_string()))
            }

            fn refused(found: &str) -> OutOfRange {
                let expected = format!("a whole number from {} to {}", Self::MIN, Self::MAX);
                OutOfRange { name: Self::NAME, expected, found: found.to_owned() }
            }

            /// The count `N`, which is checked at compile time.
            pub const fn of<const N: u32>() -> Self {
                const { assert!(Self::MIN <= N && N <= Self::MAX) };
                $type(N)
            }

            /// Creates the nearest count.
            pub fn clamped(count: u64) -> Self {
                $type(count.clamp(u64::from(Self::MIN), u64::from(Self::MAX)) as u32)
            }

            pub fn get(self) -> usize {
                self.0 as usize
            }
        }

        impl Number for $type {
            fn value(&self) -> f64 {
                f64::from(self.0)
            }

            fn enter(&mut self, count: f64) -> Result<(), OutOfRange> {
                *self = $type(whole(Self::RANGE, count)?);
                Ok(())
            }
        }

        impl FromStr for $type {
            type Err = OutOfRange;

            fn from_str(text: &str) -> Result<Self, OutOfRange> {
                text.parse().map_err(|_| Self::refused(text)).and_then(Self::new)
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Self::new(u64::deserialize(deserializer)?).map_err(de::Error::custom)
            }
        }
    )+};
}

counts! {
    /// Number of particles in an ensemble.
    ParticleCount: "particles", 1, 10_000;
    /// Number of steps of a run in a sweep. The paper takes 1000.
    StepCount: "steps", 1, 10_000_000;
    /// Number of runs with equal settings and different noise. The paper takes 50.
    Replicates: "replicates", 1, 100_000;
    /// Dimension d of the parameters. The paper takes 2, and 100 in one figure.
    Dimension: "dimension", 2, 10_000;
    /// Number of points of an axis or of a grid of learning rates.
    PointCount: "count", 1, 10_000;
    /// Images in a batch. Batch normalisation needs two.
    BatchSize: "batch_size", 2, 60_000;
    /// Steps of a training.
    TrainingSteps: "steps", 1, 1_000_000_000;
    /// Steps from one point of the training curve to the next.
    LoggingInterval: "log_every", 1, 1_000_000_000;
    /// Steps from one evaluation on the test images to the next.
    EvaluationInterval: "eval_every", 1, 1_000_000_000;
    /// Steps from one checkpoint to the next, or 0 for none.
    CheckpointInterval: "checkpoint_every", 0, 1_000_000_000;
    /// Steps from one checkpoint that is kept to the next.
    KeepInterval: "keep_every", 1, 1_000_000_000;
    /// Steps from one measure of the gradient's noise to the next, or 0 for none.
    MeasureInterval: "measure_every", 0, 1_000_000_000;
    /// Sequences in a micro-batch of a language model.
    SequenceCount: "batch_size", 1, 65_536;
    /// Micro-batches whose gradients are added up for one step.
    Accumulation: "accumulation", 1, 65_536;
    /// Processes that share each batch.
    Processes: "processes", 1, 1024;
    /// The step at which a decay of the learning rate ends.
    DecaySteps: "steps of the decay", 1, u32::MAX;
    /// Steps in which the learning rate grows from 0 to its peak.
    WarmupSteps: "warmup", 0, 1_000_000_000;
    /// Batches of an evaluation.
    EvaluationBatches: "eval_batches", 1, 1_000_000;
    /// Steps from one text that the model writes to the next, or 0 for none.
    SampleInterval: "sample.every", 0, 1_000_000_000;
    /// Tokens of a text that the model writes.
    SampleTokens: "sample.tokens", 1, 10_000;
    /// Number of the most likely tokens among which the next one is drawn.
    TopK: "sample.top_k", 1, 1_000_000;
}
