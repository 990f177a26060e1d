//! What is plotted.

use serde::{Deserialize, Serialize};

use crate::simulation::{Bucket, BucketSpread};

/// A quantity with a plot of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Metric {
    Loss,
    Depth,
    AbsV,
    EffectiveStep,
    FreeEnergy,
}

/// A metric over one bucket of steps. NaN where it is not defined.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Value {
    /// The ensemble's mean: lowest, mean and highest over the bucket's steps.
    pub mean_low: f64,
    pub mean: f64,
    pub mean_high: f64,
    /// Over the particles; NaN for a metric of the ensemble as a whole.
    pub std: f64,
    pub min: f64,
    pub max: f64,
}

/// How the spread over particles is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Band {
    /// Mean ± standard deviation.
    #[default]
    Deviation,
    /// From the smallest to the largest of any particle.
    Extremes,
    Hidden,
}

impl Metric {
    pub const ALL: [Metric; 5] = [Metric::Loss, Metric::Depth, Metric::AbsV, Metric::EffectiveStep, Metric::FreeEnergy];

    /// The plot's title.
    pub fn title(self) -> &'static str {
        match self {
            Metric::Loss => "loss L",
            Metric::Depth => "depth u",
            Metric::AbsV => "spread |v|",
            Metric::EffectiveStep => "effective step size",
            Metric::FreeEnergy => "free energy F = E − ΘS",
        }
    }

    /// A short name for switches.
    pub fn name(self) -> &'static str {
        match self {
            Metric::Loss => "Loss",
            Metric::Depth => "Depth u",
            Metric::AbsV => "Spread |v|",
            Metric::EffectiveStep => "Effective step",
            Metric::FreeEnergy => "Free energy",
        }
    }

    /// The name in files.
    pub fn key(self) -> &'static str {
        match self {
            Metric::Loss => "loss",
            Metric::Depth => "u",
            Metric::AbsV => "abs_v",
            Metric::EffectiveStep => "effective_step",
            Metric::FreeEnergy => "free_energy",
        }
    }

    pub fn explanation(self) -> &'static str {
        match self {
            Metric::Loss => "The exact loss, without noise, averaged over the particles.",
            Metric::Depth => "How far along the valley the particles are.",
            Metric::AbsV => "How far from the valley's floor the particles are.",
            Metric::EffectiveStep => {
                "The size of a step without weight decay, in learning rates, averaged over the coordinates. \
                 1 for Signum; for Adam it is |m̂|/√ŝ, which noise starves."
            }
            Metric::FreeEnergy => {
                "E is the mean loss, S = ½ ln det(2πe Σ) the entropy of the particles' positions, and Θ the \
                 temperature: each optimizer's learning rate η unless it is set. Each step counts with the Θ in force at \
                 it. Shown for 3 particles or more."
            }
        }
    }

    /// Whether values are never negative, so that a logarithmic axis is a plain logarithm.
    pub fn is_positive(self) -> bool {
        matches!(self, Metric::AbsV | Metric::EffectiveStep)
    }

    /// The metric over a bucket.
    pub fn value(self, bucket: &Bucket) -> Value {
        let of = |spread: &BucketSpread| Value {
            mean_low: spread.mean_low,
            mean: spread.mean,
            mean_high: spread.mean_high,
            std: spread.std,
            min: spread.min,
            max: spread.max,
        };
        match self {
            Metric::Loss => of(&bucket.loss),
            Metric::Depth => of(&bucket.u),
            Metric::AbsV => of(&bucket.abs_v),
            Metric::EffectiveStep => of(&bucket.effective_step),
            Metric::FreeEnergy => {
                let mean = bucket.free_energy;
                Value { mean_low: mean, mean, mean_high: mean, std: f64::NAN, min: f64::NAN, max: f64::NAN }
            }
        }
    }
}

impl Band {
    pub const ALL: [Band; 3] = [Band::Deviation, Band::Extremes, Band::Hidden];

    pub fn name(self) -> &'static str {
        match self {
            Band::Deviation => "mean ± deviation",
            Band::Extremes => "min to max",
            Band::Hidden => "mean only",
        }
    }

    /// The band's ends, if it has any here.
    pub fn of(self, value: &Value) -> Option<[f64; 2]> {
        let ends = match self {
            Band::Deviation => [value.mean - value.std, value.mean + value.std],
            Band::Extremes => [value.min, value.max],
            Band::Hidden => return None,
        };
        ends.iter().all(|end| end.is_finite()).then_some(ends)
    }
}
