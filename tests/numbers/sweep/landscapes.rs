//! Sweeps on landscapes that run as programs.

use valleyscope_engine::landscape::{LandscapeFormula, LandscapeKind, LandscapeSpec};
use valleyscope_engine::optimizer::{RuleKind, RuleSpec};
use valleyscope_engine::quantity::StepCount;
use valleyscope_engine::sweep::{Precision, Quantity, SweepOptimizer, SweepSpec};

use super::specs::{backends, bits, count, fig2a, only, optimizer, runs, runs_with};

/// Returns a short sweep of every rule on a landscape.
fn every_rule(landscape: LandscapeSpec, steps: u64) -> SweepSpec {
    let mut spec = SweepSpec { landscape, steps: StepCount::clamped(steps), ..fig2a([2, 3]) };
    spec.optimizers = (0..)
        .zip(RuleKind::ALL)
        .map(|(id, kind)| SweepOptimizer { learning_rates: only(0.01), ..optimizer(id, RuleSpec::on_plane(*kind)) })
        .collect();
    spec.rows.from = 1.0;
    spec
}

fn typed_valley() -> LandscapeSpec {
    let text = "param sharpness = 10 in 0.001..1e6, slope = 0.1 in 0..1\nL = sharpness/2*(u*v)^2 - slope*u";
    let formula = LandscapeFormula::new("Typed valley", text).unwrap();
    LandscapeSpec::new(LandscapeKind::Formula(formula)).with("rotation_degrees", 30.0).unwrap()
}

/// Rounding differs, and grows over steps: the sweep is short.
#[test]
fn the_valley_as_a_program_is_the_compiled_valley() {
    let power = LandscapeSpec::new(LandscapeKind::PowerValley).with("exponent", 2.0).unwrap();
    let of = |landscape| runs(Precision::Double, &every_rule(landscape, 12), [1, 2], 0..5);
    let compiled = of(LandscapeSpec::default());
    for program in [power, typed_valley()] {
        for ((expected, found), kind) in compiled.iter().zip(of(program)).zip(RuleKind::ALL) {
            for (expected, found) in expected.metrics.iter().zip(found.metrics) {
                let [expected, found] = [expected, &found].map(|it| [it.final_loss, it.smallest_loss, it.depth]);
                let differ =
                    |index: usize| (found[index] - expected[index]).abs() > 1e-7 * expected[index].abs().max(1e-6);
                assert!(!(0..3).any(differ), "{}: {found:?}, expected {expected:?}", kind.info().name);
            }
        }
    }
}

#[test]
fn programs_have_the_same_bits_with_all_vector_instructions() {
    for landscape in
        [LandscapeSpec::new(LandscapeKind::River), LandscapeSpec::new(LandscapeKind::TwoValleys), typed_valley()]
    {
        for precision in Precision::ALL {
            for common_random_numbers in [false, true] {
                let spec = SweepSpec { common_random_numbers, ..every_rule(landscape, 40) };
                let all: Vec<_> = backends(precision)
                    .into_iter()
                    .map(|backend| bits(&runs_with(backend, &spec, [1, 1], 0..7)))
                    .collect();
                assert!(all.iter().all(|other| *other == all[0]), "{}", landscape.kind().name());
            }
        }
    }
}

#[test]
fn a_sweep_begins_at_the_start_of_its_landscape() {
    let mut spec = every_rule(LandscapeSpec::new(LandscapeKind::Himmelblau), 1);
    spec.rows.of = Quantity::Steps;
    (spec.rows.from, spec.rows.to, spec.rows.count) = (1.0, 2.0, count(2));
    let himmelblau = runs(Precision::Double, &spec, [0, 0], 0..3);
    assert!(himmelblau[0].metrics.iter().all(|it| (it.final_loss - 170.0).abs() < 2.0), "{:?}", himmelblau[0].metrics);
    spec.landscape = LandscapeSpec::new(LandscapeKind::Factorization);
    let factorization = runs(Precision::Double, &spec, [0, 0], 0..3);
    assert!(factorization[0].metrics.iter().all(|it| (it.final_loss - 0.32).abs() < 0.1), "it begins at (2, 0.1)");
}

#[test]
fn a_sweep_begins_at_its_own_start() {
    let mut spec = every_rule(LandscapeSpec::new(LandscapeKind::Factorization), 1);
    spec.rows.of = Quantity::Steps;
    (spec.rows.from, spec.rows.to, spec.rows.count) = (1.0, 2.0, count(2));
    spec.start = Some(LandscapeSpec::new(LandscapeKind::Saddle).start());
    let [x, y] = [spec.start().x.get(), spec.start().y.get()];
    let expected = spec.landscape.landscape().loss([x, y]);
    assert!(spec.landscape.start() != spec.start() && (expected - 0.32).abs() > 0.1, "{expected}");
    let found = runs(Precision::Double, &spec, [0, 0], 0..3);
    assert!(found[0].metrics.iter().all(|it| (it.final_loss - expected).abs() < 0.1), "{expected}");
    let mut in_space = fig2a([2, 3]);
    in_space.start = spec.start;
    in_space.dimension = valleyscope_engine::quantity::Dimension::clamped(3);
    assert_eq!(in_space.check().unwrap_err().path, "start");
}

#[test]
fn axes_of_infinite_length_are_refused() {
    let mut spec = fig2a([2, 3]);
    spec.rows.spacing = valleyscope_engine::setting::Spacing::Linear;
    (spec.rows.from, spec.rows.to) = (-1e308, 1e308);
    assert_eq!(spec.check().unwrap_err().path, "rows.to");
}

#[test]
fn parameters_that_a_landscape_lacks_are_no_axes() {
    let spec = every_rule(LandscapeSpec::new(LandscapeKind::Himmelblau), 1);
    let fault = spec.check().unwrap_err();
    assert_eq!(fault.path, "rows.of");
    assert!(fault.to_string().contains("sharpness, which Himmelblau lacks; it has rotation_degrees"), "{fault}");
    let mut spec = every_rule(LandscapeSpec::new(LandscapeKind::River), 1);
    spec.dimension = valleyscope_engine::quantity::Dimension::clamped(3);
    assert!(spec.check().unwrap_err().to_string().contains("River has 2 dimensions"));
}
