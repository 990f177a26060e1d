//! Tuned settings: candidates have the runs of the rule with their values, and the best of them counts.

use std::sync::Arc;

use valleyscope_engine::optimizer::{Decay, RuleSpec, Schedule};
use valleyscope_engine::quantity::{Dimension, FinalShare, Replicates, StartSpread, StepCount};
use valleyscope_engine::setting::Key;
use valleyscope_engine::sweep::{
    Average, Backend, Cell, Diagram, LearningRates, Metric, Precision, Quantity, Spacing, SweepOptimizer, SweepSpec,
    Tuned, pixel_runs,
};

use super::specs::{adam, count, fig2a, optimizer, sgd, signum, toy_focus};

const RATES: usize = 3;

fn tuned(of: Key, from: f64, to: f64, values: usize) -> Tuned {
    Tuned { of, from, to, count: count(values), spacing: Spacing::Linear }
}

/// Returns a sweep whose runs differ in their settings only: all candidates of a replicate share their noise.
fn common(dimension: u64, optimizers: Vec<SweepOptimizer>) -> SweepSpec {
    let rates = LearningRates { count: count(RATES), ..LearningRates::default() };
    let optimizers = optimizers.into_iter().map(|it| SweepOptimizer { learning_rates: rates, ..it }).collect();
    SweepSpec {
        dimension: Dimension::clamped(dimension),
        steps: StepCount::clamped(70),
        replicates: Replicates::clamped(5),
        common_random_numbers: true,
        optimizers,
        ..fig2a([2, 3])
    }
}

fn cell(spec: &SweepSpec, pixel: [usize; 2]) -> Cell {
    spec.check().unwrap();
    let replicates = 0..spec.replicates.get();
    let runs = pixel_runs(Backend::new(Precision::Single), spec, pixel, replicates, &false.into()).unwrap();
    Cell::new(&runs, Average::Mean, spec.common_random_numbers)
}

/// Compares the candidates of a tuned optimizer with the optimizers that have their values.
#[track_caller]
fn compare(dimension: u64, tune: Vec<Tuned>, rule: RuleSpec, alone: &[SweepOptimizer]) {
    let with_grid = SweepOptimizer { tune, ..optimizer(0, rule) };
    let grid = cell(&common(dimension, vec![with_grid, optimizer(1, signum())]), [1, 2]);
    let each = cell(&common(dimension, [alone, &[optimizer(99, signum())]].concat()), [1, 2]);
    let (last, averages) = each.averages.split_last().unwrap();
    assert_eq!(grid.averages[0], averages.concat());
    assert_eq!(grid.averages[1], *last);
}

fn with(rule: RuleSpec, values: &[(&str, f64)]) -> RuleSpec {
    let mut rule = rule;
    values.iter().for_each(|(key, value)| rule.set(key, *value).unwrap());
    rule
}

#[test]
fn candidates_are_the_products_of_all_grids() {
    let tune = vec![tuned("gamma", -0.5, 0.5, 2), tuned("beta2", 0.5, 0.9, 3)];
    let values = [-0.5, 0.5].into_iter().flat_map(|gamma| [0.5, 0.7, 0.9].map(|beta2| [gamma, beta2]));
    let alone: Vec<SweepOptimizer> = (0..)
        .zip(values)
        .map(|(id, [gamma, beta2])| optimizer(id, with(toy_focus(), &[("gamma", gamma), ("beta2", beta2)])))
        .collect();
    for dimension in [2, 5] {
        compare(dimension, tune.clone(), toy_focus(), &alone);
    }
}

#[test]
fn the_end_of_a_schedule_is_tuned() {
    let schedule = |share: f64| {
        let to = FinalShare::new(share).unwrap();
        Schedule { decay: Decay::Cosine { to, steps: None }, ..Schedule::default() }
    };
    let with_end = |id, end| SweepOptimizer { schedule: schedule(end), ..optimizer(id, sgd()) };
    let grid = SweepOptimizer { tune: vec![tuned("schedule_end", 0.0, 1.0, 3)], ..with_end(0, 0.3) };
    let spec = |optimizers| common(2, optimizers);
    let grid = cell(&spec(vec![grid, optimizer(5, signum())]), [0, 1]);
    let each = cell(&spec(vec![with_end(0, 0.0), with_end(1, 0.5), with_end(2, 1.0)]), [0, 1]);
    assert_eq!(grid.averages[0], each.averages.concat());
    assert!(each.averages[0] != each.averages[2], "the end changes the runs");
}

#[test]
fn one_value_gives_the_runs_of_the_rule_without_tuning() {
    for common_random_numbers in [false, true] {
        let plain =
            SweepSpec { common_random_numbers, ..common(2, vec![optimizer(0, toy_focus()), optimizer(1, adam())]) };
        let mut grid = plain.clone();
        grid.optimizers[0].rule = with(toy_focus(), &[("gamma", 0.7)]);
        grid.optimizers[0].tune = vec![tuned("gamma", 0.2, 0.2, 1), tuned("beta1", 0.9, 0.9, 1)];
        assert_eq!(format!("{:?}", cell(&grid, [1, 1])), format!("{:?}", cell(&plain, [1, 1])));
    }
}

#[test]
fn the_score_is_that_of_the_best_candidate_and_the_diagram_names_its_values() {
    let tune = vec![tuned("gamma", -0.5, 0.5, 3), tuned("beta1", 0.8, 0.9, 2)];
    let mut spec = common(2, vec![SweepOptimizer { tune, ..optimizer(0, toy_focus()) }, optimizer(1, adam())]);
    spec.common_random_numbers = false;
    assert_eq!(spec.candidate_counts(), [6 * RATES, RATES]);
    let cell = cell(&spec, [0, 0]);
    let losses: Vec<f64> = cell.averages[0].iter().map(|averages| averages[0]).collect();
    let score = cell.score(0, Metric::FinalLoss);
    assert_eq!(score.value, losses.iter().copied().fold(f64::INFINITY, f64::min));
    assert_eq!(losses[score.best], score.value);
    let diagram = Diagram::new(Arc::new(spec.clone()));
    let rates = spec.optimizers[0].learning_rates.values();
    let point = spec.point(0, 0);
    for candidate in 0..6 * RATES {
        let (variant, rate) = (point.optimizers[0].variant(candidate), rates[candidate % RATES]);
        let values = [0, 1].map(|place| diagram.tuned_value(0, place, candidate));
        assert_eq!(values.map(Some), [variant.rule.get("gamma"), variant.rule.get("beta1")]);
        assert_eq!(values[0], [-0.5, 0.0, 0.5][candidate / (2 * RATES)]);
        assert_eq!(diagram.learning_rate([0, 0], 0, candidate), rate);
        assert_eq!(point.optimizers[0].learning_rate(candidate), rate);
    }
}

#[test]
fn an_axis_varies_all_candidates() {
    let tune = vec![tuned("gamma", -0.5, 0.5, 2)];
    let mut spec = common(2, vec![SweepOptimizer { tune, ..optimizer(0, toy_focus()) }, optimizer(1, adam())]);
    spec.columns.of = Quantity::Of("beta1", vec![0]);
    (spec.columns.from, spec.columns.to) = (0.5, 0.9);
    let point = spec.point(0, 2);
    let found = point.optimizers[0].variants.iter().map(|it| (it.rule.get("gamma"), it.rule.get("beta1")));
    assert_eq!(found.collect::<Vec<_>>(), [(Some(-0.5), Some(0.9)), (Some(0.5), Some(0.9))]);
    // A learning rate that is an axis leaves one candidate for each value.
    spec.columns.of = Quantity::Of("learning_rate", vec![0]);
    (spec.columns.from, spec.columns.to) = (0.01, 0.1);
    assert_eq!(spec.candidate_counts(), [2, RATES]);
    assert_eq!(cell(&spec, [0, 2]).averages[0].len(), 2);
    assert_eq!(Diagram::new(Arc::new(spec)).learning_rate([0, 2], 0, 1), 0.1);
}

#[test]
fn names_say_what_is_tuned() {
    let tune = vec![tuned("gamma", -0.5, 0.5, 3)];
    let spec = common(
        2,
        vec![
            SweepOptimizer { tune: vec![tuned("gamma", 0.1, 0.9, 3)], ..optimizer(3, toy_focus()) },
            SweepOptimizer { tune: tune.clone(), ..optimizer(0, toy_focus()) },
            optimizer(1, toy_focus()),
            SweepOptimizer { name: Some("Own".to_owned()), tune, ..optimizer(2, toy_focus()) },
        ],
    );
    assert_eq!(spec.shown_names(), ["FOCUS, γ 0.1…0.9", "FOCUS, γ -0.5…0.5", "FOCUS, γ 0.2", "Own"]);
}

/// Runs have neither noise nor spread here, so that their streams of random numbers change nothing.
#[test]
fn candidates_with_noise_of_their_own_have_the_settings_of_their_variants() {
    let tune = vec![tuned("gamma", -0.5, 0.5, 3)];
    let alone: Vec<SweepOptimizer> =
        (0..).zip([-0.5, 0.0, 0.5]).map(|(id, gamma)| optimizer(id, with(toy_focus(), &[("gamma", gamma)]))).collect();
    for dimension in [2, 5] {
        let quiet = |optimizers| {
            let mut spec = common(dimension, optimizers);
            (spec.common_random_numbers, spec.start_spread) = (false, StartSpread::clamped(0.0));
            // One replicate fills no vector; many leave lanes over.
            spec.replicates = Replicates::clamped(7);
            cell(&spec, [1, 0])
        };
        let grid =
            quiet(vec![SweepOptimizer { tune: tune.clone(), ..optimizer(0, toy_focus()) }, optimizer(9, signum())]);
        let each = quiet([&alone[..], &[optimizer(9, signum())]].concat());
        assert_eq!(grid.averages[0], each.averages[..3].concat());
        assert!(each.averages[0] != each.averages[1], "γ changes the runs");
    }
}
