//! Diagrams while they are filled, the cells of pixels from their runs, and tuned settings, whose candidates have the
//! runs of the rule with their values.

use std::sync::Arc;

use valleyscope::sweep::pool::{Pool, Sweep};
use valleyscope_engine::optimizer::{Decay, RuleSpec, Schedule};
use valleyscope_engine::quantity::{Dimension, FinalShare, Replicates, StartSpread, StepCount};
use valleyscope_engine::setting::Key;
use valleyscope_engine::sweep::{
    Average, Backend, Cell, Diagram, LearningRates, Metric, Metrics, PixelOrder, Precision, Quantity, Runs, Spacing,
    SweepJob, SweepOptimizer, SweepSpec, Tuned, pixel_runs,
};

use crate::sweep::{adam, count, fig2a, optimizer, sgd, signum, toy_focus};

/// Returns a cell that can be distinguished from others.
fn marked(mark: usize, replicates: usize) -> Cell {
    Cell::new(&[runs(&[&vec![mark as f64; replicates]]), runs(&[&vec![1e9; replicates]])], Average::Mean, false)
}

/// Returns runs with these final losses for each learning rate; the other metrics follow from them.
fn runs(losses: &[&[f64]]) -> Runs {
    let metrics = |loss: &f64| Metrics { final_loss: *loss, smallest_loss: loss - 1.0, depth: -loss };
    Runs { replicates: losses[0].len(), metrics: losses.iter().copied().flatten().map(metrics).collect() }
}

#[test]
fn unknown_pixels_show_the_middle_of_the_smallest_known_block() {
    let mut diagram = Diagram::new(Arc::new(fig2a([7, 10])));
    assert!(diagram.known_near([3, 3]).is_none() && diagram.filled().cell([0, 0]).is_none());
    diagram.insert([4, 4], marked(1, 50));
    // The middle of the block of 8 × 8 at the origin.
    assert_eq!(diagram.known_near([0, 7]), Some([4, 4]));
    assert_eq!(diagram.known_near([6, 8]), None);
    diagram.insert([2, 6], marked(2, 50));
    // The middle of the block of 4 × 4 from row 0 and column 4.
    assert_eq!(diagram.known_near([0, 7]), Some([2, 6]));
    assert_eq!(diagram.known_near([0, 3]), Some([4, 4]));
    diagram.insert([0, 7], marked(3, 50));
    assert_eq!(diagram.known_near([0, 7]), Some([0, 7]));
    assert_eq!(diagram.known_near([1, 7]), Some([2, 6]));
    let filled = diagram.filled();
    for row in 0..7 {
        for column in 0..10 {
            let expected = diagram.known_near([row, column]).and_then(|near| diagram.cell(near));
            // It is the same cell, not a copy.
            let found = filled.cell([row, column]).map(Arc::as_ptr);
            assert_eq!(found, expected.map(Arc::as_ptr), "{row}, {column}");
        }
    }
    assert_eq!(diagram.complete(), 3);
}

#[test]
fn a_first_picture_fills_the_whole_diagram() {
    for shape in [[24, 26], [31, 29], [12, 13], [100, 13], [1, 200]] {
        let mut spec = fig2a(shape);
        spec.steps = valleyscope_engine::quantity::StepCount::clamped(2);
        for optimizer in &mut spec.optimizers {
            optimizer.learning_rates = LearningRates { count: count(1), ..LearningRates::default() };
        }
        let spec = Arc::new(spec);
        let backend = Backend::new(Precision::Single);
        let pool = Pool::new(1).unwrap();
        let job = SweepJob { order: PixelOrder::CoarseToFine, ..SweepJob::new(Arc::clone(&spec), backend) };
        let sweep = Sweep::start(&pool, job, || ());
        let mut diagram = Diagram::new(spec);
        for finished in sweep.finished().iter().take_while(|finished| finished.cell.replicates == 8) {
            diagram.insert(finished.pixel, finished.cell);
        }
        let filled = diagram.filled();
        for pixel in (0..shape[0]).flat_map(|row| (0..shape[1]).map(move |column| [row, column])) {
            assert!(filled.cell(pixel).is_some(), "{pixel:?} of {shape:?} is unknown");
        }
        assert_eq!((diagram.complete(), filled.is_complete()), (0, false));
    }
}

#[test]
fn a_diagram_is_complete_when_all_pixels_have_all_replicates() {
    let mut diagram = Diagram::new(Arc::new(SweepSpec { replicates: Replicates::clamped(9), ..fig2a([1, 2]) }));
    diagram.insert([0, 0], marked(1, 9));
    diagram.insert([0, 1], marked(2, 8));
    assert_eq!((diagram.complete(), diagram.is_complete()), (1, false));
    diagram.insert([0, 1], marked(3, 9));
    assert!(diagram.is_complete());
    // A late first picture replaces nothing.
    diagram.insert([0, 1], marked(2, 8));
    assert!(diagram.is_complete());
}

#[test]
fn rows_columns_and_learning_rates_are_those_of_the_paper() {
    let diagram = Diagram::new(Arc::new(fig2a([96, 100])));
    for (row, found) in diagram.rows().iter().enumerate() {
        assert!((found / crate::sweep::oracle::log_spaced(-1.0, 3.0, 96, row) - 1.0).abs() < 1e-14, "{row}");
    }
    for (column, found) in diagram.columns().iter().enumerate() {
        assert!((found - 3.0 * column as f64 / 99.0).abs() < 1e-15, "{column}");
    }
    for rates in diagram.learning_rates() {
        assert_eq!(rates.len(), 20);
        assert!(
            rates
                .iter()
                .enumerate()
                .all(|(index, rate)| (rate / crate::sweep::oracle::rate(index) - 1.0).abs() < 1e-14)
        );
    }
    assert_eq!((diagram.rows()[0], diagram.rows()[95], diagram.columns()[99]), (0.1, 1000.0, 3.0));
}

#[test]
fn a_score_is_the_best_mean_over_learning_rates() {
    let first = runs(&[&[1.0, 2.0, 3.0, 6.0], &[-5.0, -1.0, -5.0, -1.0], &[-90.0, f64::NAN, -90.0, -90.0]]);
    let second = runs(&[&[-2.0, -2.0, -2.0, -2.5], &[0.0, 0.0, 0.0, f64::INFINITY]]);
    let cell = Cell::new(&[first, second], Average::Mean, false);
    let score = cell.score(0, Metric::FinalLoss);
    assert_eq!((score.value, score.best), (-3.0, 1));
    assert_eq!(cell.score_deviation(0, Metric::FinalLoss), 2.0, "the population's deviation");
    assert_eq!(cell.averages[0][0], [3.0, 2.0, -3.0]);
    // A diverged run makes all metrics of its learning rate infinite.
    assert_eq!(cell.averages[0][2], [f64::INFINITY, f64::INFINITY, f64::NEG_INFINITY]);
    assert!(cell.deviations[0][2].iter().all(|deviation| deviation.is_nan()));
    assert_eq!(cell.diverged, [1, 1]);
    assert_eq!(cell.score(1, Metric::Depth).value, 2.125);
    assert_eq!(Metric::ALL.map(|metric| cell.winner(metric)), [Some(0); 3]);
}

#[test]
fn a_median_survives_a_run_that_diverges() {
    let first = runs(&[&[1.0, f64::NAN, -3.0, 0.0, -4.0]]);
    let second = runs(&[&[-1.0, -1.0, -1.0, -1.0, -1.0]]);
    let cell = Cell::new(&[first.clone(), second.clone()], Average::Median, false);
    assert_eq!(cell.averages[0][0], [0.0, -1.0, 0.0]);
    assert_eq!(cell.winner(Metric::FinalLoss), Some(1));
    assert_eq!(Cell::new(&[first, second], Average::Mean, false).averages[0][0][0], f64::INFINITY);
}

#[test]
fn equal_scores_have_no_winner_and_no_certainty() {
    let same = runs(&[&[-1.0, -2.0, -1.0, -2.0]]);
    let cell = Cell::new(&[same.clone(), same.clone()], Average::Mean, false);
    assert_eq!((cell.winner(Metric::FinalLoss), cell.comparison(Metric::FinalLoss).certainty()), (None, None));
    let nowhere = runs(&[&[f64::NAN; 4]]);
    let cell = Cell::new(&[nowhere.clone(), nowhere.clone()], Average::Mean, false);
    assert_eq!(cell.winner(Metric::Depth), None);
    let cell = Cell::new(&[nowhere, same], Average::Mean, false);
    assert_eq!((cell.winner(Metric::Depth), cell.diverged[0]), (Some(1), 4));
    assert_eq!(cell.comparison(Metric::Depth).certainty(), Some(1.0));
}

#[test]
fn one_replicate_gives_no_certainty() {
    let cell = Cell::new(&[runs(&[&[-2.0]]), runs(&[&[-1.0]])], Average::Mean, false);
    assert_eq!(cell.winner(Metric::FinalLoss), Some(0));
    assert_eq!(cell.comparison(Metric::FinalLoss).certainty(), None);
}

/// The certainty equals that of Welch's test on halves if there is one learning rate only.
#[test]
fn the_certainty_of_a_gap_follows_from_its_error() {
    let spread = |middle: f64| (0..40).map(|i| middle + f64::from(i % 4) - 1.5).collect::<Vec<f64>>();
    let cell = Cell::new(&[runs(&[&spread(-0.6)]), runs(&[&spread(0.0)])], Average::Mean, false);
    let gap = cell.comparison(Metric::FinalLoss).gaps[1];
    // Variance 1.25 · 20/19 in each of four halves of 20, about as much in random ones; the mean of two differences.
    let error = (4.0 * 1.25 / 19.0_f64).sqrt() / 2.0;
    assert!((gap.value - 0.6).abs() < 1e-12 && (gap.error - error).abs() < 0.03 * error, "{gap:?}");
    assert!((gap.freedom - 4.0 * 19.0).abs() < 1.0, "{gap:?}");
    // Student's t with 76 degrees of freedom at 2.339.
    let certainty = cell.comparison(Metric::FinalLoss).certainty().unwrap();
    assert!((certainty - 0.989_0).abs() < 3e-3, "{certainty}");
    // With common noise only the differences count, and here they are all equal.
    let paired = Cell::new(&[runs(&[&spread(-0.6)]), runs(&[&spread(0.0)])], Average::Mean, true);
    assert!(paired.comparison(Metric::FinalLoss).certainty().unwrap() > 0.999_999);
}

/// A learning rate that is barely the best and diverges in one replicate is chosen in few splits only, and does not
/// change a winner that is certain without it.
#[test]
fn a_single_divergence_of_a_learning_rate_does_not_decide() {
    let spread = |middle: f64| (0..40).map(|i| middle + 0.3 * (f64::from(i % 4) - 1.5)).collect::<Vec<f64>>();
    let mut marginal = spread(-0.52);
    marginal[7] = f64::NAN;
    marginal[20..].iter_mut().for_each(|loss| *loss += 0.06);
    let cell = Cell::new(&[runs(&[&spread(-0.5), &marginal]), runs(&[&spread(0.0)])], Average::Mean, false);
    let comparison = cell.comparison(Metric::FinalLoss);
    assert_eq!((comparison.winner, cell.score(0, Metric::FinalLoss).best), (Some(0), 0));
    assert!(comparison.gaps[1].value.is_finite(), "{:?}", comparison.gaps[1]);
    assert!(comparison.certainty().unwrap() > 0.99, "{:?}", comparison.gaps[1]);
}

/// Draws the losses of an optimizer: a row for each learning rate, around its mean.
fn noisy_losses(random: &mut rand::rngs::SmallRng, means: &[f64], replicates: usize, deviation: f64) -> Vec<Vec<f64>> {
    use rand_distr::{Distribution, Normal};
    let row = |mean: &f64| {
        let noise = Normal::new(*mean, deviation).expect("the deviation is positive");
        noise.sample_iter(&mut *random).take(replicates).collect()
    };
    means.iter().map(row).collect()
}

fn compared(first: &[Vec<f64>], second: &[Vec<f64>]) -> Cell {
    let runs = |losses: &[Vec<f64>]| runs(&losses.iter().map(Vec::as_slice).collect::<Vec<_>>());
    Cell::new(&[runs(first), runs(second)], Average::Mean, false)
}

/// The best of equivalent learning rates looks better than it is, which must not raise the certainty.
#[test]
fn a_lucky_best_learning_rate_is_no_evidence() {
    use rand::SeedableRng;
    let mut random = rand::rngs::SmallRng::seed_from_u64(5);
    let trials = 2_000;
    for (rates, replicates) in [([20, 1], 10), ([20, 20], 10), ([20, 20], 50)] {
        // Both optimizers are equally good.
        let sure = (0..trials).filter(|_| {
            let [first, second] = rates.map(|rates| noisy_losses(&mut random, &vec![0.0; rates], replicates, 0.6));
            let cell = compared(&first, &second);
            cell.comparison(Metric::FinalLoss).certainty().is_some_and(|certainty| certainty >= 0.95)
        });
        let share = sure.count() as f64 / f64::from(trials);
        println!("{rates:?} learning rates, {replicates} replicates: {:.1} % of ties are 95 % sure", 100.0 * share);
        assert!(share < 0.07, "{rates:?} learning rates, {replicates} replicates: {share}");
    }
}

/// Returns the held-out lead of one split, with the replicates in their order.
fn lead_by_one_split(first: &[Vec<f64>], second: &[Vec<f64>]) -> f64 {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let half = first[0].len() / 2;
    let held_out = |losses: &[Vec<f64>], chooses_first: bool| {
        let [choose, compare] = if chooses_first { [0..half, half..2 * half] } else { [half..2 * half, 0..half] };
        let best = losses.iter().min_by(|a, b| mean(&a[choose.clone()]).total_cmp(&mean(&b[choose.clone()])));
        mean(&best.expect("there are learning rates")[compare])
    };
    let lead = |chooses_first| held_out(second, chooses_first) - held_out(first, chooses_first);
    (lead(true) + lead(false)) / 2.0
}

/// A true winner, whose learning rate is chosen on five runs, loses its held-out lead to a bad choice less often.
#[test]
fn several_splits_lose_fewer_true_winners_than_one() {
    use rand::SeedableRng;
    let mut random = rand::rngs::SmallRng::seed_from_u64(7);
    let rates = |best: f64, lowest: f64| {
        let means = (0..20).map(move |index| lowest + 0.05 * (-3.0 + 4.0 * f64::from(index) / 19.0 - best).powi(2));
        means.collect::<Vec<f64>>()
    };
    let (trials, mut one, mut several, mut wins) = (2_000, 0, 0, 0);
    for _ in 0..trials {
        let first = noisy_losses(&mut random, &rates(-1.0, -0.2), 10, 0.3);
        let second = noisy_losses(&mut random, &rates(-1.5, 0.0), 10, 0.3);
        let cell = compared(&first, &second);
        let comparison = cell.comparison(Metric::FinalLoss);
        if comparison.winner == Some(0) {
            wins += 1;
            several += u32::from(comparison.gaps[1].value < 0.0);
            one += u32::from(lead_by_one_split(&first, &second) < 0.0);
        }
    }
    println!("of {wins} winners one split loses {one}, several lose {several}");
    assert!(wins > 1_600, "{wins}");
    assert!(f64::from(several) < 0.6 * f64::from(one), "one split loses {one}, several lose {several}");
}

/// Few replicates determine a winner, but no certainty.
#[test]
fn winners_of_few_replicates_have_no_certainty() {
    for average in [Average::Mean, Average::Median] {
        for paired in [false, true] {
            for replicates in 1..4 {
                let cell =
                    Cell::new(&[runs(&[&vec![1.0; replicates]]), runs(&[&vec![2.0; replicates]])], average, paired);
                let comparison = cell.comparison(Metric::FinalLoss);
                assert_eq!((comparison.winner, comparison.certainty()), (Some(0), None), "{average:?} of {replicates}");
            }
        }
    }
}

/// The standard error of a median comes from order statistics far from the middle. Where these are infinite, the error
/// is unknown, and must not count as 0.
#[test]
fn medians_with_diverged_runs_are_not_certain() {
    let steady: Vec<f64> = (0..50).map(|index| 1.0 + 0.01 * f64::from(index)).collect();
    let mut wild: Vec<f64> = steady.iter().map(|loss| loss + 0.001).collect();
    let certainty = |wild: &[f64]| {
        let cell = Cell::new(&[runs(&[&steady]), runs(&[wild])], Average::Median, false);
        cell.comparison(Metric::FinalLoss).certainty()
    };
    assert!((0.4..0.7).contains(&certainty(&wild).expect("all is finite")));
    (0..50).step_by(3).for_each(|index| wild[index] = f64::INFINITY);
    assert_eq!(certainty(&wild), None);
    // With more than half of the runs diverged, the median itself is infinite, and the other wins with certainty.
    assert_eq!(certainty(&[f64::NAN; 50]), Some(1.0));
}

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
