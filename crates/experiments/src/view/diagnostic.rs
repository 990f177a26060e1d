//! The quantities of a simulation that are plotted, and the spread over its particles.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use valleyscope_engine::landscape::{Coordinate, LandscapeSpec};
use valleyscope_engine::simulation::{Bucket, BucketSpread};

/// A quantity of a simulation that has its own plot. `Depth` is the coordinate u and `AbsV` is |v|, on landscapes of
/// which these are [metrics](valleyscope_engine::landscape::LandscapeMetric).
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

    /// Lists the metrics of runs on this landscape.
    pub fn of(landscape: &LandscapeSpec) -> impl Iterator<Item = DiagnosticMetric> + use<> {
        let landscape = *landscape;
        DiagnosticMetric::ALL.into_iter().filter(move |metric| metric.info(&landscape).is_some())
    }

    /// Returns the metric over a bucket; NaN where it is not defined.
    pub fn value(self, bucket: &Bucket) -> BucketSpread {
        match self {
            DiagnosticMetric::Loss => bucket.loss,
            DiagnosticMetric::Depth => bucket.u,
            DiagnosticMetric::AbsV => bucket.abs_v,
            DiagnosticMetric::EffectiveStep => bucket.effective_step,
            DiagnosticMetric::FreeEnergy => BucketSpread::of_ensemble(bucket.free_energy, bucket.steps),
        }
    }

    /// Returns the name in files.
    pub fn key(self) -> &'static str {
        match self {
            DiagnosticMetric::Loss => "loss",
            DiagnosticMetric::Depth => "u",
            DiagnosticMetric::AbsV => "abs_v",
            DiagnosticMetric::EffectiveStep => "effective_step",
            DiagnosticMetric::FreeEnergy => "free_energy",
        }
    }

    /// Returns whether values are never negative, so that a logarithmic axis is a plain logarithm.
    pub fn is_positive(self) -> bool {
        matches!(self, DiagnosticMetric::AbsV | DiagnosticMetric::EffectiveStep)
    }

    /// Returns the range of a linear axis that shows values from `low` to `high`. That of an effective step reaches from 0
    /// to above 1, the size of a step of the sign: so 0.5 looks like half of it.
    pub fn range(self, [low, high]: [f64; 2]) -> [f64; 2] {
        match self {
            DiagnosticMetric::EffectiveStep => [low.min(0.0), high.max(1.05)],
            _ => [low, high],
        }
    }

    /// Returns the description of the metric on this landscape, or `None` if the landscape lacks it.
    pub fn info(self, landscape: &LandscapeSpec) -> Option<DiagnosticInfo> {
        match self {
            DiagnosticMetric::Loss => Some(DiagnosticInfo {
                title: "loss L".into(),
                name: "Loss".into(),
                explanation: "The exact loss, without noise, averaged over the particles.",
            }),
            DiagnosticMetric::Depth => DiagnosticInfo::of_coordinate(landscape, Coordinate::U),
            DiagnosticMetric::AbsV => DiagnosticInfo::of_coordinate(landscape, Coordinate::AbsV),
            DiagnosticMetric::EffectiveStep => Some(DiagnosticInfo {
                title: "effective step size".into(),
                name: "Effective step".into(),
                explanation: "The size of a step without weight decay, in learning rates, averaged over the coordinates. \
                              1 for Signum; for Adam it is |m̂|/√ŝ, which noise starves.",
            }),
            DiagnosticMetric::FreeEnergy => Some(DiagnosticInfo {
                title: "free energy F = E − ΘS".into(),
                name: "Free energy".into(),
                explanation: "E is the mean loss, S = ½ ln det(2πe Σ) the entropy of the particles' positions, and Θ the \
                              temperature: each optimizer's learning rate η unless it is set. Each step counts with the Θ \
                              in force at it. Shown for 3 particles or more.",
            }),
        }
    }
}

/// The description of a metric on a landscape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiagnosticInfo {
    /// The plot's title.
    pub title: Cow<'static, str>,
    /// A short name for switches.
    pub name: Cow<'static, str>,
    pub explanation: &'static str,
}

impl DiagnosticInfo {
    fn of_coordinate(landscape: &LandscapeSpec, coordinate: Coordinate) -> Option<DiagnosticInfo> {
        let metric = landscape.metric(coordinate)?;
        let title = metric.title();
        let name = format!("{}{}", title[..1].to_uppercase(), &title[1..]);
        Some(DiagnosticInfo { title: title.into(), name: name.into(), explanation: metric.explanation })
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
