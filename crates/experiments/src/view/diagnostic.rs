//! The quantities of a simulation that are plotted, and the spread over its particles.

use serde::{Deserialize, Serialize};
use valleyscope_engine::simulation::{Bucket, BucketSpread};

/// A quantity of a simulation that has its own plot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum DiagnosticMetric {
    Loss,
    Depth,
    AbsV,
    EffectiveStep,
    FreeEnergy,
}

/// The drawing of the spread over particles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Band {
    /// Mean ± standard deviation.
    #[default]
    Deviation,
    /// The range from the smallest to the largest value of any particle.
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

    /// Returns the metric over a bucket; NaN where it is not defined.
    pub fn value(self, bucket: &Bucket) -> BucketSpread {
        (self.info().value)(bucket)
    }

    /// Returns the description of the metric.
    pub fn info(self) -> DiagnosticInfo {
        match self {
            DiagnosticMetric::Loss => DiagnosticInfo {
                title: "loss L",
                name: "Loss",
                key: "loss",
                explanation: "The exact loss, without noise, averaged over the particles.",
                is_positive: false,
                value: |bucket| bucket.loss,
            },
            DiagnosticMetric::Depth => DiagnosticInfo {
                title: "depth u",
                name: "Depth u",
                key: "u",
                explanation: "How far along the valley the particles are.",
                is_positive: false,
                value: |bucket| bucket.u,
            },
            DiagnosticMetric::AbsV => DiagnosticInfo {
                title: "spread |v|",
                name: "Spread |v|",
                key: "abs_v",
                explanation: "How far from the valley's floor the particles are.",
                is_positive: true,
                value: |bucket| bucket.abs_v,
            },
            DiagnosticMetric::EffectiveStep => DiagnosticInfo {
                title: "effective step size",
                name: "Effective step",
                key: "effective_step",
                explanation: "The size of a step without weight decay, in learning rates, averaged over the coordinates. \
                              1 for Signum; for Adam it is |m̂|/√ŝ, which noise starves.",
                is_positive: true,
                value: |bucket| bucket.effective_step,
            },
            DiagnosticMetric::FreeEnergy => DiagnosticInfo {
                title: "free energy F = E − ΘS",
                name: "Free energy",
                key: "free_energy",
                explanation: "E is the mean loss, S = ½ ln det(2πe Σ) the entropy of the particles' positions, and Θ the \
                              temperature: each optimizer's learning rate η unless it is set. Each step counts with the Θ \
                              in force at it. Shown for 3 particles or more.",
                is_positive: false,
                value: |bucket| BucketSpread::of_ensemble(bucket.free_energy, bucket.steps),
            },
        }
    }
}

/// The description of a metric.
#[derive(Clone, Copy, Debug)]
pub struct DiagnosticInfo {
    /// The plot's title.
    pub title: &'static str,
    /// A short name for switches.
    pub name: &'static str,
    /// The name in files.
    pub key: &'static str,
    pub explanation: &'static str,
    /// Whether values are never negative, so that a logarithmic axis is a plain logarithm.
    pub is_positive: bool,
    value: fn(&Bucket) -> BucketSpread,
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

    /// Returns the band's ends, if the value has a band.
    pub fn of(self, value: &BucketSpread) -> Option<[f64; 2]> {
        let ends = match self {
            Band::Deviation => [value.mean - value.std, value.mean + value.std],
            Band::Extremes => [value.min, value.max],
            Band::Hidden => return None,
        };
        ends.iter().all(|end| end.is_finite()).then_some(ends)
    }
}
