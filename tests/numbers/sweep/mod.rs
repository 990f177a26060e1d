//! The sweep engine: random streams, bits, distributions against an independent oracle, certainty against many
//! replicates, and control.

mod adaptive;
mod axes;
mod bits;
mod control;
mod diagram;
mod oracle;
mod truth;

use std::sync::atomic::AtomicBool;

use valleyscope_engine::instructions::Instructions;
use valleyscope_engine::landscape::LandscapeSpec;
use valleyscope_engine::optimizer::{RuleKind, RuleSpec, Schedule};
use valleyscope_engine::quantity::{Dimension, LearningRate, Noise, PointCount, Replicates, StartSpread, StepCount};
use valleyscope_engine::sweep::{
    Average, Axis, Backend, LearningRates, Metric, Metrics, Precision, Quantity, Runs, Sampling, Spacing,
    SweepOptimizer, SweepSpec, pixel_runs,
};

/// Returns the paper's Fig. 2a on a grid of this size: sharpness 0.1 to 1000 by noise 0 to 3.
pub fn fig2a([rows, columns]: [usize; 2]) -> SweepSpec {
    SweepSpec {
        landscape: LandscapeSpec::default(),
        dimension: Dimension::clamped(2),
        noise: Noise::clamped(1.0).into(),
        seed: 0,
        steps: StepCount::clamped(1000),
        replicates: Replicates::clamped(50),
        start: None,
        start_spread: StartSpread::clamped(1e-4),
        common_random_numbers: false,
        metric: Metric::FinalLoss,
        average: Average::Mean,
        sampling: Sampling::Uniform,
        rows: Axis {
            of: Quantity::Landscape("sharpness"),
            from: 0.1,
            to: 1000.0,
            count: count(rows),
            spacing: Spacing::Log,
        },
        columns: Axis { of: Quantity::Noise, from: 0.0, to: 3.0, count: count(columns), spacing: Spacing::Linear },
        optimizers: vec![optimizer(0, adam()), optimizer(1, toy_focus()), optimizer(2, signum())],
    }
}

/// Every update rule in a small diagram, in which no number of runs fills the lanes.
pub fn odd(dimension: u64) -> SweepSpec {
    let rates = |points| LearningRates { count: count(points), ..LearningRates::default() };
    let mut spec = SweepSpec {
        dimension: Dimension::clamped(dimension),
        seed: 11,
        steps: StepCount::clamped(77),
        replicates: Replicates::clamped(11),
        ..fig2a([2, 3])
    };
    spec.optimizers = vec![
        SweepOptimizer { learning_rates: rates(7), ..optimizer(4, adam()) },
        SweepOptimizer { learning_rates: rates(3), ..optimizer(9, toy_focus()) },
        SweepOptimizer { learning_rates: rates(5), ..optimizer(2, average_focus()) },
        SweepOptimizer { learning_rates: rates(1), ..optimizer(7, signum()) },
        SweepOptimizer { learning_rates: rates(6), ..optimizer(0, sgd()) },
    ];
    spec
}

pub fn count(points: usize) -> PointCount {
    PointCount::new(points as u64).unwrap()
}

pub fn optimizer(id: u32, rule: RuleSpec) -> SweepOptimizer {
    SweepOptimizer {
        id,
        name: None,
        color: None,
        rule,
        learning_rates: LearningRates::default(),
        tune: Vec::new(),
        schedule: Schedule::default(),
    }
}

pub fn only(rate: f64) -> LearningRates {
    let rate = LearningRate::new(rate).unwrap();
    LearningRates { from: rate, to: rate, count: count(1) }
}

/// Adam with the paper's hyperparameters.
pub fn adam() -> RuleSpec {
    RuleSpec::on_plane(RuleKind::Adam)
}

pub fn toy_focus() -> RuleSpec {
    RuleSpec::on_plane(RuleKind::Focus)
}

/// FOCUS with decay of the average.
pub fn average_focus() -> RuleSpec {
    toy_focus().with("decay", 1.0).unwrap()
}

pub fn signum() -> RuleSpec {
    RuleSpec::on_plane(RuleKind::Signum)
}

pub fn sgd() -> RuleSpec {
    RuleSpec::on_plane(RuleKind::Sgd)
}

/// MARS, which depends on a parameter as a whole.
pub fn mars() -> RuleSpec {
    RuleSpec::on_plane(RuleKind::Mars)
}

/// Every rule that needs more than each coordinate's gradient, with each of its choices.
pub fn rules_of_whole_parameters() -> Vec<RuleSpec> {
    let mut rules = Vec::new();
    for &kind in RuleKind::ALL.iter().filter(|kind| !kind.info().needs_gradient_only()) {
        let mut specs = vec![RuleSpec::on_plane(kind)];
        for of in kind.info().hyperparameters.iter().filter(|of| !of.choices().is_empty()) {
            let with = |spec: &RuleSpec| {
                let spec = *spec;
                (0..of.choices().len()).map(move |index| spec.with(of.key, index as f64).unwrap())
            };
            specs = specs.iter().flat_map(with).collect();
        }
        rules.extend(specs);
    }
    rules
}

/// Returns all runs of some replicates at a pixel.
pub fn runs_with(
    backend: Backend,
    spec: &SweepSpec,
    pixel: [usize; 2],
    replicates: std::ops::Range<usize>,
) -> Vec<Runs> {
    pixel_runs(backend, spec, pixel, replicates, &AtomicBool::new(false)).expect("nobody cancels it")
}

/// Returns all runs of some replicates at a pixel, in the widest registers of this machine.
pub fn runs(
    precision: Precision,
    spec: &SweepSpec,
    pixel: [usize; 2],
    replicates: std::ops::Range<usize>,
) -> Vec<Runs> {
    runs_with(Backend::new(precision), spec, pixel, replicates)
}

/// The backends of a precision that this processor has, the plain one first.
pub fn backends(precision: Precision) -> Vec<Backend> {
    let backend = |instructions| Backend::with_instructions(precision, instructions);
    Instructions::all().into_iter().map(backend).collect()
}

/// Returns the bits of all numbers; all NaNs count as equal.
pub fn bits(runs: &[Runs]) -> Vec<Vec<[u64; 3]>> {
    let bits = |number: f64| if number.is_nan() { u64::MAX } else { number.to_bits() };
    let of_run = |run: &Metrics<f64>| [run.final_loss, run.smallest_loss, run.depth].map(bits);
    runs.iter().map(|runs| runs.metrics.iter().map(of_run).collect()).collect()
}
