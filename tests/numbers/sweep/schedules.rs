//! Learning rates that change over the runs of a sweep.

use valleyscope_engine::optimizer::{Decay, Need, RuleKind, RuleSpec, Schedule};
use valleyscope_engine::quantity::{
    DecaySteps, Dimension, FinalShare, Noise, Replicates, StartSpread, StepCount, WarmupSteps,
};
use valleyscope_engine::sweep::{Axis, Precision, Quantity, Spacing, SweepOptimizer, SweepSpec};

use super::oracle::SLOPE;
use super::specs::{bits, count, fig2a, only, optimizer, runs};

const ETA: f64 = 0.05;
const OMEGA: f64 = 0.2;

fn cosine(to: f64, steps: Option<u64>) -> Decay {
    Decay::Cosine { to: FinalShare::clamped(to), steps: steps.map(DecaySteps::clamped) }
}

fn schedules() -> Vec<Schedule> {
    let of = |warmup: u64, decay| Schedule { warmup: WarmupSteps::clamped(warmup), decay };
    vec![
        of(0, Decay::Constant),
        of(30, Decay::Constant),
        of(0, Decay::InverseRoot),
        of(30, Decay::InverseRoot),
        of(0, cosine(0.0, None)),
        of(30, cosine(0.1, None)),
        of(30, cosine(0.1, Some(90))),
    ]
}

/// Returns the factor of η after `taken` steps of a run.
fn factor(schedule: &Schedule, taken: usize, steps: usize) -> f64 {
    let (warmup, t) = (schedule.warmup.get(), (taken + 1) as f64);
    match schedule.decay {
        _ if taken < warmup => t / warmup as f64,
        Decay::Constant => 1.0,
        Decay::InverseRoot => (warmup.max(1) as f64 / t).sqrt(),
        Decay::Cosine { to, steps: own } => {
            let end = own.map_or(steps, DecaySteps::get);
            let past = if taken >= end { 1.0 } else { (taken - warmup) as f64 / (end - warmup) as f64 };
            to.get() + (1.0 - to.get()) * 0.5 * (1.0 + (std::f64::consts::PI * past).cos())
        }
    }
}

/// Returns a spec of gradient descent without noise from the origin, with every schedule; the number of steps grows
/// along the columns.
fn spec(dimension: u64, is_common: bool) -> SweepSpec {
    let rule = RuleSpec::on_plane(RuleKind::Sgd);
    let rule = rule.with("beta1", 0.0).and_then(|rule| rule.with("weight_decay", OMEGA)).unwrap();
    let scheduled = |(id, schedule)| SweepOptimizer { schedule, learning_rates: only(ETA), ..optimizer(id, rule) };
    SweepSpec {
        dimension: Dimension::clamped(dimension),
        noise: Noise::clamped(0.0).into(),
        start_spread: StartSpread::clamped(0.0),
        replicates: Replicates::clamped(3),
        steps: StepCount::clamped(77),
        common_random_numbers: is_common,
        columns: Axis { of: Quantity::Steps, from: 50.0, to: 200.0, count: count(4), spacing: Spacing::Linear },
        optimizers: (0..).zip(schedules()).map(scheduled).collect(),
        ..fig2a([2, 4])
    }
}

/// Along the floor of the valley, where that is wide enough to be stable, u grows by ηₜ c and decays by ηₜ ω in each
/// step, in any number of dimensions.
#[test]
fn each_step_has_its_learning_rate() {
    for (dimension, is_common) in [(2, false), (2, true), (5, false), (40, false)] {
        let spec = spec(dimension, is_common);
        for (column, steps) in [50, 100, 150, 200].into_iter().enumerate() {
            for (precision, allowed) in [(Precision::Double, 1e-12), (Precision::Single, 1e-4)] {
                for (found, schedule) in runs(precision, &spec, [0, column], 0..3).iter().zip(schedules()) {
                    let mut u = 0.0;
                    for taken in 0..steps {
                        let eta = ETA * factor(&schedule, taken, steps);
                        u += eta * (SLOPE - OMEGA * u);
                    }
                    for run in &found.metrics {
                        let what = format!("{dimension} dimensions, {steps} steps, {precision:?}, {schedule:?}");
                        assert!((run.depth - u).abs() <= allowed * u, "{what}: {} where {u} is right", run.depth);
                        assert!((run.final_loss + SLOPE * u).abs() <= allowed * u, "{what}: {}", run.final_loss);
                    }
                }
            }
        }
    }
}

/// A cosine that ends at the whole learning rate changes no bit, for each rule.
#[test]
fn a_factor_of_one_changes_no_bit() {
    for dimension in [2, 5] {
        let of_plane = |kind: &&RuleKind| dimension == 2 || !kind.info().needs(Need::Axes);
        let kinds: Vec<RuleKind> = RuleKind::ALL.iter().filter(of_plane).copied().collect();
        for kinds in kinds.chunks(SweepSpec::MAX_OPTIMIZERS) {
            let of = |schedule: Schedule| {
                let scheduled = |(id, kind): (u32, &RuleKind)| {
                    let rule = RuleSpec::on_plane(*kind);
                    SweepOptimizer { schedule, learning_rates: only(0.03), ..optimizer(id, rule) }
                };
                let optimizers = (0..).zip(kinds).map(scheduled).collect();
                SweepSpec {
                    dimension: Dimension::clamped(dimension),
                    steps: StepCount::clamped(100),
                    optimizers,
                    ..fig2a([3, 3])
                }
            };
            let cosine = Schedule { decay: cosine(1.0, None), ..Schedule::default() };
            for precision in Precision::ALL {
                let [constant, decayed] =
                    [Schedule::default(), cosine].map(|schedule| bits(&runs(precision, &of(schedule), [1, 1], 0..5)));
                assert_eq!(constant, decayed, "{dimension} dimensions, {precision:?}");
            }
        }
    }
}
