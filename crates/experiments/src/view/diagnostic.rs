//! The quantities of a simulation that are plotted, and the spread over its particles.

use serde::{Deserialize, Serialize};
use valleyscope_engine::simulation::{Bucket, BucketSpread};

/// A quantity with a plot of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum DiagnosticMetric {
    Loss,
    Depth,
    AbsV,
    EffectiveStep,
    FreeEnergy,
}

/// A metric over one bucket of steps. NaN where it is not defined.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DiagnosticValue {
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

impl DiagnosticMetric {
    pub const ALL: [DiagnosticMetric; 5] = [
        DiagnosticMetric::Loss,
        DiagnosticMetric::Depth,
        DiagnosticMetric::AbsV,
        DiagnosticMetric::EffectiveStep,
        DiagnosticMetric::FreeEnergy,
    ];

    /// The plot's title.
    pub fn title(self) -> &'static str {
        match self {
            DiagnosticMetric::Loss => "loss L",
            DiagnosticMetric::Depth => "depth u",
            DiagnosticMetric::AbsV => "spread |v|",
            DiagnosticMetric::EffectiveStep => "effective step size",
            DiagnosticMetric::FreeEnergy => "free energy F = E − ΘS",
        }
    }

    /// A short name for switches.
    pub fn name(self) -> &'static str {
        match self {
            DiagnosticMetric::Loss => "Loss",
            DiagnosticMetric::Depth => "Depth u",
            DiagnosticMetric::AbsV => "Spread |v|",
            DiagnosticMetric::EffectiveStep => "Effective step",
            DiagnosticMetric::FreeEnergy => "Free energy",
        }
    }

    /// The name in files.
    pub fn key(self) -> &'static str {
        match self {
            DiagnosticMetric::Loss => "loss",
            DiagnosticMetric::Depth => "u",
            DiagnosticMetric::AbsV => "abs_v",
            DiagnosticMetric::EffectiveStep => "effective_step",
            DiagnosticMetric::FreeEnergy => "free_energy",
        }
    }

    pub fn explanation(self) -> &'static str {
        match self {
            DiagnosticMetric::Loss => "The exact loss, without noise, averaged over the particles.",
            DiagnosticMetric::Depth => "How far along the valley the particles are.",
            DiagnosticMetric::AbsV => "How far from the valley's floor the particles are.",
            DiagnosticMetric::EffectiveStep => {
                "The size of a step without weight decay, in learning rates, averaged over the coordinates. \
                 1 for Signum; for Adam it is |m̂|/√ŝ, which noise starves."
            }
            DiagnosticMetric::FreeEnergy => {
                "E is the mean loss, S = ½ ln det(2πe Σ) the entropy of the particles' positions, and Θ the \
                 temperature: each optimizer's learning rate η unless it is set. Each step counts with the Θ in force at \
                 it. Shown for 3 particles or more."
            }
        }
    }

    /// Whether values are never negative, so that a logarithmic axis is a plain logarithm.
    pub fn is_positive(self) -> bool {
        matches!(self, DiagnosticMetric::AbsV | DiagnosticMetric::EffectiveStep)
    }

    /// The metric over a bucket.
    pub fn value(self, bucket: &Bucket) -> DiagnosticValue {
        let of = |spread: &BucketSpread| DiagnosticValue {
            mean_low: spread.mean_low,
            mean: spread.mean,
            mean_high: spread.mean_high,
            std: spread.std,
            min: spread.min,
            max: spread.max,
        };
        match self {
            DiagnosticMetric::Loss => of(&bucket.loss),
            DiagnosticMetric::Depth => of(&bucket.u),
            DiagnosticMetric::AbsV => of(&bucket.abs_v),
            DiagnosticMetric::EffectiveStep => of(&bucket.effective_step),
            DiagnosticMetric::FreeEnergy => {
                let mean = bucket.free_energy;
                DiagnosticValue { mean_low: mean, mean, mean_high: mean, std: f64::NAN, min: f64::NAN, max: f64::NAN }
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
    pub fn of(self, value: &DiagnosticValue) -> Option<[f64; 2]> {
        let ends = match self {
            Band::Deviation => [value.mean - value.std, value.mean + value.std],
            Band::Extremes => [value.min, value.max],
            Band::Hidden => return None,
        };
        ends.iter().all(|end| end.is_finite()).then_some(ends)
    }
}
