//! Adaptive sampling: the runs are those of uniform sampling, and the order of work does not matter.
//!
//! Calibration: a winner with a certainty of 95 % is the true one in as many cases, where the truth is the winner over
//! 2,000 replicates.

use std::collections::HashMap;
use std::fmt::Write;
use std::sync::Arc;

use valleyscope::sweep::pool::{Pool, Sweep};
use valleyscope_engine::quantity::{Budget, Certainty, Dimension, Replicates, StepCount};
use valleyscope_engine::sweep::{
    Adaptive, Average, Backend, Cell, Diagram, Finished, LearningRates, Metric, PixelOrder, Precision, Race, Sampling,
    SweepJob, SweepOptimizer, SweepSpec, SweepWork,
};

use crate::sweep::{count, fig2a, mars, only, optimizer, runs, sgd, signum};

/// Returns a sweep of short runs, sampled adaptively.
fn short(shape: [usize; 2]) -> SweepSpec {
    let mut spec = SweepSpec { steps: StepCount::clamped(60), ..fig2a(shape) };
    let rates = LearningRates { count: count(5), ..LearningRates::default() };
    spec.optimizers =
        spec.optimizers.into_iter().map(|optimizer| SweepOptimizer { learning_rates: rates, ..optimizer }).collect();
    SweepSpec { sampling: Sampling::Adaptive(Adaptive::default()), ..spec }
}

/// Returns all that a sweep delivers until its end, and the steps that it has taken.
fn delivered(spec: &SweepSpec, threads: usize, order: PixelOrder) -> (Vec<Finished>, u64) {
    let job = SweepJob { order, ..SweepJob::new(Arc::new(spec.clone()), Backend::new(Precision::Single)) };
    let sweep = Sweep::start(&Pool::new(threads).unwrap(), job, || ());
    let all: Vec<Finished> = sweep.finished().iter().collect();
    let progress = sweep.progress();
    assert_eq!((progress.pixels, progress.steps), (progress.all_pixels, progress.all_steps));
    (all, progress.steps)
}

fn cells(spec: &SweepSpec) -> HashMap<[usize; 2], Cell> {
    delivered(spec, 2, PixelOrder::RowByRow).0.into_iter().map(|finished| (finished.pixel, finished.cell)).collect()
}

fn certainty(cell: &Cell) -> f64 {
    cell.comparison(Metric::FinalLoss).certainty().unwrap_or(0.0)
}

#[test]
fn results_depend_on_neither_threads_nor_order() {
    let spec = short([13, 14]);
    let (rows, steps) = delivered(&spec, 1, PixelOrder::RowByRow);
    let expected: HashMap<_, _> = rows.iter().map(|it| (it.pixel, format!("{:?}", it.cell))).collect();
    assert_eq!(expected.len(), 13 * 14);
    for threads in [1, 4] {
        let (all, steps_here) = delivered(&spec, threads, PixelOrder::CoarseToFine);
        assert_eq!(steps_here, steps);
        let (over, so_far): (Vec<_>, Vec<_>) = all.iter().partition(|it| it.cell.is_complete(50));
        assert!(so_far.len() > 13 * 14, "a pixel is shown before it is decided");
        let found: HashMap<_, _> = over.iter().map(|it| (it.pixel, format!("{:?}", it.cell))).collect();
        assert!(found == expected, "{threads} threads");
    }
}

#[test]
fn races_that_were_stored_continue_to_the_same_results() {
    let spec = Arc::new(short([7, 8]));
    let (all, steps) = delivered(&spec, 1, PixelOrder::CoarseToFine);
    let expected: HashMap<_, _> = all.iter().map(|it| (it.pixel, format!("{:?}", it.cell))).collect();
    for stop in [1, 60, 150, 300] {
        let job = || SweepJob {
            order: PixelOrder::CoarseToFine,
            ..SweepJob::new(Arc::clone(&spec), Backend::new(Precision::Single))
        };
        let (mut diagram, mut count) = (Diagram::new(Arc::clone(&spec)), 0);
        SweepWork::new(job()).run(|finished| {
            diagram.insert(finished.pixel, finished.cell);
            count += 1;
            count < stop
        });
        // What a file holds: the pixels that are over, and the races that are not.
        let mut read = Diagram::new(Arc::clone(&spec));
        let race = |pixel| Some((pixel, stored(diagram.race(pixel)?)));
        read.insert_races(spec.pixels().filter_map(race));
        for pixel in spec.pixels().filter(|pixel| diagram.race(*pixel).is_none()) {
            diagram.cell(pixel).into_iter().for_each(|cell| read.insert(pixel, (**cell).clone()));
        }
        assert_eq!((read.runs(), read.complete()), (diagram.runs(), diagram.complete()), "after {stop}");
        let known = |pixel| read.cell(pixel).is_some_and(|cell| cell.is_complete(50));
        let begun = |pixel| read.race(pixel).cloned();
        let rest = SweepWork::new(SweepJob { known: &known, begun: &begun, ..job() });
        let mut found: HashMap<_, _> = HashMap::new();
        rest.run(|finished| {
            found.insert(finished.pixel, format!("{:?}", finished.cell));
            true
        });
        for (pixel, expected) in &expected {
            let complete = || read.cell(*pixel).map(|cell| format!("{cell:?}"));
            assert_eq!(found.get(pixel).cloned().or_else(complete).as_ref(), Some(expected), "{pixel:?} after {stop}");
        }
        assert_eq!(rest.steps(), rest.all_steps(), "what is left is counted");
        let done = read.runs() * 60;
        assert_eq!(rest.steps() + done, steps, "no run is computed twice after {stop}");
    }
}

/// Returns a race as a file holds it.
fn stored(race: &Race) -> Race {
    let bytes = postcard::to_allocvec(race).unwrap();
    postcard::from_bytes(&bytes).unwrap()
}

#[test]
fn a_race_belongs_to_sweeps_with_its_candidates() {
    let spec = Arc::new(short([7, 8]));
    let (mut diagram, mut count) = (Diagram::new(Arc::clone(&spec)), 0);
    let order = PixelOrder::CoarseToFine;
    let job = SweepJob { order, ..SweepJob::new(Arc::clone(&spec), Backend::new(Precision::Single)) };
    SweepWork::new(job).run(|finished| {
        diagram.insert(finished.pixel, finished.cell);
        count += 1;
        count < 60
    });
    let race = spec.pixels().find_map(|pixel| diagram.race(pixel)).unwrap();
    assert!(race.is_of(&spec));
    let mut other = (*spec).clone();
    other.optimizers.pop();
    assert!(!race.is_of(&other));
}

#[test]
fn a_first_picture_costs_no_more_than_one_of_uniform_sampling() {
    let spec = Arc::new(short([48, 52]));
    let job = SweepJob {
        order: PixelOrder::CoarseToFine,
        ..SweepJob::new(Arc::clone(&spec), Backend::new(Precision::Single))
    };
    let mut diagram = Diagram::new(Arc::clone(&spec));
    SweepWork::new(job).run(|finished| {
        diagram.insert(finished.pixel, finished.cell);
        !diagram.has_first_picture()
    });
    let known: Vec<&Arc<Cell>> = spec.pixels().filter_map(|pixel| diagram.cell(pixel)).collect();
    let runs: u64 = known.iter().map(|cell| cell.runs()).sum();
    // Eight replicates each.
    let of_uniform = (12 * 13 * 8 * spec.candidate_counts().iter().sum::<usize>()) as u64;
    assert!(known.len() == 12 * 13 && runs <= of_uniform, "{} pixels, {runs} runs of {of_uniform}", known.len());
    assert_eq!(diagram.finest_blocks(), Some(4));
}

#[test]
fn averages_are_those_of_the_same_runs_of_uniform_sampling() {
    for dimension in [2, 3] {
        let mut spec = SweepSpec { dimension: Dimension::clamped(dimension), ..short([3, 2]) };
        spec.optimizers.push(SweepOptimizer { learning_rates: only(0.1), ..optimizer(3, mars()) });
        for (pixel, cell) in cells(&spec) {
            let sampled = cell.sampled.as_ref().expect("it is sampled adaptively");
            for (optimizer, replicates) in sampled.replicates.iter().enumerate() {
                for (rate, own) in replicates.iter().enumerate() {
                    let own = *own as usize;
                    let runs = &runs(Precision::Single, &spec, pixel, 0..own)[optimizer].metrics[rate * own..][..own];
                    let losses: Vec<f64> = runs.iter().map(|run| run.final_loss).collect();
                    let (expected, found) =
                        (Average::Mean.of(&losses, Metric::FinalLoss), cell.averages[optimizer][rate][0]);
                    let is_same = expected == found || (expected - found).abs() <= 1e-12 * expected.abs();
                    assert!(is_same, "{pixel:?}, {optimizer}, {rate}: {found} for {expected}");
                }
            }
        }
    }
}

#[test]
fn no_pixel_takes_more_than_its_budget() {
    for budget in [0.2, 1.0, 3.0] {
        let adaptive = Adaptive { budget: Budget::clamped(budget), ..Adaptive::default() };
        let spec = SweepSpec { sampling: Sampling::Adaptive(adaptive), ..short([6, 5]) };
        let most = budget * (3 * 5 * 50) as f64;
        for (pixel, cell) in cells(&spec) {
            assert!(cell.runs() as f64 <= most, "{pixel:?}: {} runs of {most}", cell.runs());
        }
    }
}

#[test]
fn equal_optimizers_tie_within_a_bound() {
    // The same rule twice, with streams of their own: the scores are truly equal.
    for common_random_numbers in [false, true] {
        let mut spec = SweepSpec { common_random_numbers, seed: 3, ..short([8, 10]) };
        spec.optimizers = vec![optimizer(0, signum()), optimizer(1, signum())];
        let rates = LearningRates { count: count(5), ..LearningRates::default() };
        spec.optimizers.iter_mut().for_each(|optimizer| optimizer.learning_rates = rates);
        let cells = cells(&spec);
        let wrong = cells.values().filter(|cell| certainty(cell) >= 0.95).count();
        // Either of two equal candidates may be beaten: of 80 claims at most 10 % are expected, and of a Poisson number
        // with the mean 8 one in 100 exceeds 15. With common noise all differences are 0.
        let most = if common_random_numbers { 0 } else { 15 };
        assert!(wrong <= most, "{wrong} of 80 equal pairs have a winner");
        if common_random_numbers {
            continue;
        }
        for (pixel, cell) in cells.iter().filter(|(_, cell)| certainty(cell) < 0.95) {
            let winner = cell.comparison(Metric::FinalLoss).winner.expect("one of them leads");
            let sampled = cell.sampled.as_ref().expect("it is sampled adaptively");
            let apart = sampled.apart[1 - winner];
            assert!(sampled.is_over && apart.is_finite() && apart >= 0.0, "{pixel:?}: {apart}");
        }
    }
}

#[test]
fn ties_are_no_further_apart_than_their_bound() {
    let spec = short([8, 10]);
    let (mut ties, mut narrow) = (0, 0);
    for (pixel, cell) in cells(&spec) {
        let comparison = cell.comparison(Metric::FinalLoss);
        let winner = comparison.winner.expect("a pixel with a winner");
        let reference = SweepSpec { seed: 1, ..spec.clone() };
        let truth = runs(Precision::Single, &reference, pixel, 0..2000);
        let truth = Cell::new(&truth, Average::Mean, false);
        let score = |optimizer| truth.score(optimizer, Metric::FinalLoss).value;
        let error = |optimizer| truth.score_deviation(optimizer, Metric::FinalLoss) / 2000_f64.sqrt();
        for other in (0..3).filter(|other| comparison.error_probabilities[*other] > 0.05) {
            ties += 1;
            let bound = cell.sampled.as_ref().expect("it is sampled adaptively").apart[other];
            let distance = (score(winner) - score(other)).abs();
            let slack = 3.0 * (error(winner) + error(other));
            assert!(distance <= bound + slack, "{pixel:?}: {distance} apart, {bound} at most");
            // A bound that is much wider than the errors says nothing.
            let own_error = |optimizer| {
                let best = cell.score(optimizer, Metric::FinalLoss).best;
                cell.deviations[optimizer][best][0] / (cell.replicates_of(optimizer, best) as f64).sqrt()
            };
            narrow += usize::from(bound <= 8.0 * (own_error(winner) + own_error(other)) + distance);
        }
    }
    assert!(ties >= 10, "{ties} ties are too few to judge");
    assert!(2 * narrow > ties, "only {narrow} of {ties} bounds are near the errors of the scores");
}

#[test]
fn more_certainty_takes_more_runs() {
    // Where the winner is too certain to be found, a race is given up early; so pixels that are decided are compared.
    let decided = |certainty: f64| {
        let adaptive = Adaptive {
            certainty: Certainty::clamped(certainty),
            budget: Budget::clamped(1000.0),
            most_replicates: Replicates::clamped(3000),
        };
        let spec = SweepSpec { sampling: Sampling::Adaptive(adaptive), ..short([6, 5]) };
        let sure = cells(&spec).into_iter().filter(move |(_, cell)| self::certainty(cell) >= certainty);
        sure.map(|(pixel, cell)| (pixel, cell.runs())).collect::<HashMap<_, _>>()
    };
    let [low, middle, high] = [0.8, 0.95, 0.999].map(decided);
    assert!(high.len() > 15 && low.len() >= middle.len() && middle.len() >= high.len());
    for (pixel, runs) in &high {
        assert!(low[pixel] <= middle[pixel] && middle[pixel] <= *runs, "{pixel:?}");
    }
}

#[test]
fn an_optimizer_whose_rivals_diverge_has_as_many_replicates_as_usual() {
    // Both diverge in some of the runs, so that with 50 replicates both means are often infinite.
    let mut spec = short([6, 6]);
    spec.optimizers = vec![optimizer(0, sgd()), optimizer(1, sgd())];
    spec.optimizers.iter_mut().for_each(|optimizer| optimizer.learning_rates = only(0.9));
    let uniform = SweepSpec { sampling: Sampling::Uniform, ..spec.clone() };
    let mut undecided = 0;
    for (pixel, cell) in cells(&spec) {
        let truth = Cell::new(&runs(Precision::Single, &uniform, pixel, 0..50), Average::Mean, false);
        if truth.diverged.iter().all(|count| (1..50).contains(count)) {
            undecided += 1;
            let winner = cell.comparison(Metric::FinalLoss).winner;
            assert!(winner.is_none(), "{pixel:?}: {winner:?} of {:?}", truth.diverged);
        }
    }
    assert!(undecided > 0, "no pixel has some runs that diverge");
}

#[test]
fn medians_are_refused() {
    let error = SweepSpec { average: Average::Median, ..short([2, 2]) }.check().unwrap_err();
    assert_eq!(error.path, "sampling");
}

const GRID: [usize; 2] = [12, 13];
const REFERENCE_REPLICATES: u64 = 2000;
const REFERENCE_SEED: u64 = 1_000_000;

/// The true winners by metric, a line for each row; written by `write_the_true_winners`.
const WINNERS: &str = include_str!("data/true_winners.csv");

fn swept(spec: SweepSpec) -> Diagram {
    let spec = Arc::new(spec);
    let pool = Pool::new(std::thread::available_parallelism().map_or(1, usize::from)).unwrap();
    let backend = Backend::new(Precision::Single);
    let sweep = Sweep::start(&pool, SweepJob::new(Arc::clone(&spec), backend), || ());
    let mut diagram = Diagram::new(spec);
    sweep.finished().iter().for_each(|finished| diagram.insert(finished.pixel, finished.cell));
    assert!(diagram.is_complete());
    diagram
}

fn pixels() -> impl Iterator<Item = [usize; 2]> {
    (0..GRID[0]).flat_map(|row| (0..GRID[1]).map(move |column| [row, column]))
}

/// Returns the true winner for each metric and pixel; none where the best scores are equal.
fn true_winners() -> Vec<Vec<Option<usize>>> {
    let mut blocks = vec![vec![]; 3];
    for line in WINNERS.lines().filter(|line| !line.starts_with('#')) {
        let mut words = line.split(',');
        let name = words.next().expect("a line begins with a metric");
        let metric = Metric::ALL.iter().position(|metric| metric.name() == name).expect("a metric");
        blocks[metric].extend(words.map(|winner| winner.parse().ok()));
    }
    assert!(blocks.iter().all(|block| block.len() == GRID[0] * GRID[1]));
    blocks
}

/// The number of winners with this certainty, and of those that are the true ones.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    sure: usize,
    right: usize,
}

impl Count {
    fn rate(self) -> f64 {
        self.right as f64 / self.sure as f64
    }
}

/// Returns the counts for each metric, over all pixels and `seeds` seeds.
fn count_winners(spec: &SweepSpec, seeds: u64, sure: f64) -> [Count; 3] {
    let truth = true_winners();
    let mut counts = [Count::default(); 3];
    for seed in 0..seeds {
        let diagram = swept(SweepSpec { seed, ..spec.clone() });
        for (metric, count) in Metric::ALL.into_iter().zip(&mut counts) {
            for (pixel, truth) in pixels().zip(&truth[metric as usize]) {
                let comparison = diagram.cell(pixel).expect("the diagram is complete").comparison(metric);
                if comparison.certainty().is_some_and(|certainty| certainty >= sure) {
                    count.sure += 1;
                    count.right += usize::from(comparison.winner == *truth);
                }
            }
        }
    }
    for (metric, count) in Metric::ALL.into_iter().zip(counts) {
        let all = seeds as usize * GRID[0] * GRID[1];
        println!(
            "{}, {} replicates, common noise {}, {:?}: {} of {all} winners are at least {sure} sure, {:.2} % of them right",
            metric.name(),
            spec.replicates.get(),
            spec.common_random_numbers,
            spec.average,
            count.sure,
            100.0 * count.rate()
        );
    }
    counts
}

#[track_caller]
fn assert_calibrated(counts: [Count; 3]) {
    for (metric, count) in Metric::ALL.into_iter().zip(counts) {
        assert!(count.rate() >= 0.93, "{}: {count:?}", metric.name());
    }
}

#[test]
fn certain_winners_are_right() {
    let counts = count_winners(&fig2a(GRID), 3, 0.95);
    assert_calibrated(counts);
    // A test without certain winners would pass trivially.
    assert!(counts.iter().all(|count_winners| count_winners.sure > 3 * 156 / 2), "{counts:?}");
}

#[test]
fn certain_winners_by_common_noise_are_right() {
    let counts = count_winners(&SweepSpec { common_random_numbers: true, ..fig2a(GRID) }, 3, 0.95);
    assert_calibrated(counts);
    assert!(counts.iter().all(|count_winners| count_winners.sure > 3 * 156 / 2), "{counts:?}");
}

/// Samples adaptively by this metric, whose winner is tested after each round until it is certain.
fn adaptive(metric: Metric) -> SweepSpec {
    SweepSpec { metric, sampling: Sampling::Adaptive(Adaptive::default()), ..fig2a(GRID) }
}

#[test]
fn winners_of_races_are_right() {
    let count = count_winners(&adaptive(Metric::FinalLoss), 2, 0.95)[Metric::FinalLoss as usize];
    assert!(count.rate() >= 0.95, "{count:?}");
    // Uniform sampling is as certain in 56 % of the pixels.
    assert!(count.sure > 2 * 156 * 7 / 10, "{count:?}");
}

/// `cargo test --release --test numbers -- --ignored races_over_twenty_seeds --nocapture`, a minute on two cores.
#[test]
#[ignore = "takes a minute in release"]
fn races_over_twenty_seeds() {
    for metric in Metric::ALL {
        let count = count_winners(&adaptive(metric), 20, 0.95)[metric as usize];
        assert!(count.rate() >= 0.95, "{}: {count:?}", metric.name());
    }
}

/// `cargo test --release --test numbers -- --ignored calibration_over_twenty_seeds --nocapture`, some minutes on two
/// cores.
#[test]
#[ignore = "takes minutes in release"]
fn calibration_over_twenty_seeds() {
    for common_random_numbers in [false, true] {
        let spec = SweepSpec { common_random_numbers, ..fig2a(GRID) };
        assert_calibrated(count_winners(&spec, 20, 0.95));
        for sure in [0.5, 0.8, 0.9, 0.99] {
            count_winners(&spec, 20, sure);
        }
    }
    // A first picture has as few replicates.
    let few = SweepSpec { replicates: Replicates::clamped(8), ..fig2a(GRID) };
    let counts = count_winners(&few, 20, 0.95);
    // With eight, the learning rate is chosen on four, and the error estimated from four.
    assert!(counts.iter().all(|count_winners| count_winners.rate() >= 0.9), "{counts:?}");
}

/// `cargo test --release --test numbers -- --ignored write_the_true_winners`, a minute on two cores.
#[test]
#[ignore = "writes a golden"]
fn write_the_true_winners() {
    let reference =
        SweepSpec { seed: REFERENCE_SEED, replicates: Replicates::clamped(REFERENCE_REPLICATES), ..fig2a(GRID) };
    assert_eq!(reference.average, Average::Mean);
    let diagram = swept(reference);
    let mut text =
        "# Indices of the winners (Adam, FOCUS, Signum) on 12 x 13 pixels of Fig. 2a over 2,000 replicates; \
        made by\n# cargo test --release --test numbers -- --ignored write_the_true_winners\n"
            .to_owned();
    for metric in Metric::ALL {
        for row in 0..GRID[0] {
            text += metric.name();
            for column in 0..GRID[1] {
                let winner = diagram.cell([row, column]).expect("the diagram is complete").winner(metric);
                match winner {
                    Some(winner) => write!(text, ",{winner}").expect("a text takes it"),
                    None => text += ",none",
                }
            }
            text.push('\n');
        }
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/numbers/sweep/data/true_winners.csv");
    std::fs::write(path, text).unwrap();
}
