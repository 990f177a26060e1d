//! The history against all its samples, and the memory that it takes.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::OnceLock;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use valleyscope_engine::quantity::Temperature;
use valleyscope_engine::shares::Shares;
use valleyscope_engine::simulation::{
    Bucket, BucketSpread, History, PlotRequest, RECENT_STEPS, Sample, Setting, Simulation, SimulationSpec, Spread,
};

use crate::specs::{all_rules, sgd, simulation, valley};

thread_local! {
    static HELD: Cell<isize> = const { Cell::new(0) };
}

/// Returns the number of bytes that this thread has allocated and not freed.
pub fn held_bytes() -> isize {
    HELD.get()
}

/// The system's allocator, which also counts.
struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn note(bytes: usize, sign: isize) {
    // While a thread ends, its counter may already be dropped.
    let _ = HELD.try_with(|held| held.set(held.get() + sign * bytes as isize));
}

// SAFETY: every call is passed on unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(layout.size(), 1);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        note(layout.size(), -1);
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// Returns the sample of a step: pseudo-random numbers that need not be stored.
fn sample(step: u64) -> Sample {
    let number = |quantity: u64| {
        let bits = (step + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(11 * quantity as u32);
        (bits.wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 44) as f64 - 500_000.0
    };
    let spread = |quantity: u64| {
        let mean = number(quantity);
        let std = number(quantity + 1).abs();
        Spread { mean, std, min: mean - std, max: mean + 2.0 * std }
    };
    Sample {
        loss: spread(0),
        u: spread(1),
        abs_v: spread(2),
        effective_step: if step == 0 { Spread::UNDEFINED } else { spread(3) },
        shares: if step == 0 { Shares::UNKNOWN } else { Shares::from_array([number(7), number(8), number(9)]) },
        entropy: number(5),
        diverged: (step % 7) as u32,
    }
}

/// Returns Θ, which changes now and then.
fn theta(step: u64) -> f64 {
    if step % 1000 < 400 { 0.5 } else { 0.125 }
}

fn history_of(steps: u64) -> History {
    let mut history = History::default();
    (0..steps).for_each(|step| history.push(sample(step), theta(step)));
    history
}

/// A number of steps beyond a level of 2,048 buckets of 4,096 steps.
const VERY_LONG: u64 = 9_000_000;
const LONG: u64 = 5_000_000;

fn long() -> &'static History {
    static HISTORY: OnceLock<History> = OnceLock::new();
    HISTORY.get_or_init(|| history_of(LONG))
}

fn very_long() -> &'static History {
    static HISTORY: OnceLock<History> = OnceLock::new();
    HISTORY.get_or_init(|| {
        let mut history = long().clone();
        (LONG..VERY_LONG).for_each(|step| history.push(sample(step), theta(step)));
        history
    })
}

/// Returns the correct bucket, from all samples of its steps.
/// Returns the mean shares over steps; step 0 has none.
fn shares(first: u64, steps: u64) -> Shares {
    let known: Vec<Sample> = (first.max(1)..first + steps).map(sample).collect();
    let mean = |share: usize| known.iter().map(|it| it.shares.to_array()[share]).sum::<f64>() / known.len() as f64;
    Shares::from_array([mean(0), mean(1), mean(2)])
}

fn brute_force(first: u64, steps: u64) -> Bucket {
    let of = |quantity: fn(&Sample) -> Spread| {
        let mut bucket = BucketSpread {
            steps: 0,
            mean_low: f64::INFINITY,
            mean: 0.0,
            mean_high: f64::NEG_INFINITY,
            std: 0.0,
            min: f64::INFINITY,
            max: f64::NEG_INFINITY,
        };
        for spread in (first..first + steps).map(|step| quantity(&sample(step))).filter(|spread| !spread.mean.is_nan())
        {
            bucket.steps += 1;
            bucket.mean_low = bucket.mean_low.min(spread.mean);
            bucket.mean_high = bucket.mean_high.max(spread.mean);
            bucket.mean += spread.mean;
            bucket.std += spread.std;
            bucket.min = bucket.min.min(spread.min);
            bucket.max = bucket.max.max(spread.max);
        }
        bucket.mean /= bucket.steps as f64;
        bucket.std /= bucket.steps as f64;
        bucket
    };
    let samples = || (first..first + steps).map(sample);
    Bucket {
        first_step: first,
        steps,
        loss: of(|sample| sample.loss),
        u: of(|sample| sample.u),
        abs_v: of(|sample| sample.abs_v),
        effective_step: of(|sample| sample.effective_step),
        entropy: samples().map(|sample| sample.entropy).sum::<f64>() / steps as f64,
        free_energy: (first..first + steps)
            .map(|step| sample(step).loss.mean - theta(step) * sample(step).entropy)
            .sum::<f64>()
            / steps as f64,
        shares: shares(first, steps),
        diverged: samples().map(|sample| sample.diverged).max().unwrap(),
    }
}

/// Returns whether two sums of numbers of this size agree up to the order of summation.
fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-8 || a.is_nan() && b.is_nan()
}

#[track_caller]
fn assert_bucket(found: &Bucket) {
    let expected = brute_force(found.first_step, found.steps);
    let pairs = [
        (&found.loss, &expected.loss),
        (&found.u, &expected.u),
        (&found.abs_v, &expected.abs_v),
        (&found.effective_step, &expected.effective_step),
    ];
    for (found, expected) in pairs {
        assert_eq!(found.steps, expected.steps);
        if expected.steps > 0 {
            assert_eq!(
                (found.mean_low, found.mean_high, found.min, found.max),
                (expected.mean_low, expected.mean_high, expected.min, expected.max)
            );
            assert!(close(found.mean, expected.mean) && close(found.std, expected.std), "{found:?} {expected:?}");
        }
    }
    assert!(close(found.entropy, expected.entropy), "{} {}", found.entropy, expected.entropy);
    assert!(close(found.free_energy, expected.free_energy), "{} {}", found.free_energy, expected.free_energy);
    assert_eq!(found.diverged, expected.diverged);
    let shares = found.shares.to_array().into_iter().zip(expected.shares.to_array());
    assert!(shares.into_iter().all(|(found, expected)| close(found, expected)), "{found:?} {expected:?}");
}

/// Checks that the buckets cover the request without gap or overlap, and are not too many.
#[track_caller]
fn assert_covers(view: &[Bucket], request: &PlotRequest, taken: u64) {
    let end = request.last_step.map_or(taken, |last| taken.min(last + 1));
    if request.first_step >= end {
        assert!(view.is_empty(), "{request:?}");
        return;
    }
    assert!(view.len() <= request.buckets, "{} buckets for {request:?}", view.len());
    let (first, last) = (view.first().unwrap(), view.last().unwrap());
    assert!(first.first_step <= request.first_step, "begins at {} for {request:?}", first.first_step);
    assert!(first.first_step + first.steps > request.first_step, "begins with nothing asked for: {request:?}");
    assert!(last.first_step < end && last.first_step + last.steps >= end, "ends with {last:?} for {request:?}");
    assert!(last.first_step + last.steps <= taken, "ends after the last step taken: {request:?}");
    for pair in view.windows(2) {
        assert!(pair[1].steps > 0);
        assert_eq!(pair[0].first_step + pair[0].steps, pair[1].first_step, "{request:?}");
    }
}

fn random_request(random: &mut StdRng, taken: u64) -> PlotRequest {
    let somewhere = |random: &mut StdRng| {
        let below = (taken as f64).powf(random.random_range(0.0..1.0)) as u64;
        if random.random_bool(0.5) { below } else { taken - below }
    };
    let (a, b) = (somewhere(random), somewhere(random));
    PlotRequest {
        first_step: if random.random_bool(0.2) { 0 } else { a.min(b) },
        last_step: if random.random_bool(0.3) { None } else { Some(a.max(b)) },
        buckets: 10_f64.powf(random.random_range(0.0..3.0)) as usize,
        log_steps: random.random_bool(0.5),
    }
}

/// Any view of histories of any length is complete, and each bucket is right where that is cheap to check.
#[test]
fn views_are_complete_and_right() {
    let mut random = StdRng::seed_from_u64(1);
    for taken in [1, 2, 9, 100, 4_095, 4_097, 20_001, 50_000, 300_000] {
        let history = history_of(taken);
        assert_eq!(history.len(), taken);
        for _ in 0..60 {
            let request = random_request(&mut random, taken);
            let view = history.view(&request);
            assert_covers(&view, &request, taken);
            for bucket in view.iter().filter(|bucket| bucket.steps < 300).step_by(7) {
                assert_bucket(bucket);
            }
            for bucket in view.first().into_iter().chain(view.last()).filter(|bucket| bucket.steps < 20_000) {
                assert_bucket(bucket);
            }
        }
    }
}

#[test]
fn views_of_very_long_runs_are_complete_and_right() {
    let mut random = StdRng::seed_from_u64(2);
    for (history, taken) in [(long(), LONG), (very_long(), VERY_LONG)] {
        for _ in 0..200 {
            let request = random_request(&mut random, taken);
            let view = history.view(&request);
            assert_covers(&view, &request, taken);
            for bucket in view.iter().filter(|bucket| bucket.steps < 300).step_by(41) {
                assert_bucket(bucket);
            }
        }
        for log_steps in [false, true] {
            let request = PlotRequest { first_step: 0, last_step: None, buckets: 100, log_steps };
            let view = history.view(&request);
            assert_covers(&view, &request, taken);
            view.iter().rev().step_by(9).for_each(assert_bucket);
        }
    }
}

/// The view for a logarithmic axis shows the first thousands of steps as finely as the last millions.
#[test]
fn a_logarithmic_view_is_fine_everywhere() {
    for history in [long(), very_long()] {
        let request = PlotRequest { first_step: 0, last_step: None, buckets: 100, log_steps: true };
        for bucket in history.view(&request).iter().filter(|bucket| bucket.first_step >= 10) {
            let end = bucket.first_step + bucket.steps;
            assert!(end as f64 <= 2.4 * bucket.first_step as f64, "{} to {end}", bucket.first_step);
        }
    }
}

#[test]
fn one_bucket_can_hold_a_very_long_run() {
    let view = long().view(&PlotRequest { first_step: 0, last_step: None, buckets: 1, log_steps: false });
    let [bucket] = view.as_slice() else { panic!("{} buckets", view.len()) };
    assert_eq!((bucket.first_step, bucket.steps), (0, LONG));
    assert_bucket(bucket);
}

#[test]
fn the_last_twenty_thousand_steps_are_kept_in_full() {
    assert_eq!(RECENT_STEPS, 20_000);
    let history = long();
    (LONG - 20_000..LONG).for_each(|step| assert_eq!(history.sample(step), Some(&sample(step))));
    assert_eq!(history.sample(LONG), None);
    assert_eq!(history.sample(LONG / 2), None, "long ago, and only summarised");
    let request = PlotRequest { first_step: LONG - 20_000, last_step: None, buckets: 20_000, log_steps: false };
    let view = history.view(&request);
    assert_eq!(view.len(), 20_000);
    for (step, bucket) in (LONG - 20_000..).zip(&view) {
        let expected = sample(step);
        assert_eq!((bucket.first_step, bucket.steps), (step, 1));
        assert_eq!(
            (bucket.u.mean_low, bucket.u.mean, bucket.u.mean_high),
            (expected.u.mean, expected.u.mean, expected.u.mean)
        );
        assert_eq!((bucket.u.std, bucket.u.min, bucket.u.max), (expected.u.std, expected.u.min, expected.u.max));
        assert_eq!(bucket.entropy, expected.entropy);
    }
}

/// The exported view has each recorded step, the newest and the first, and between them buckets without gap or overlap.
#[test]
fn the_finest_view_has_every_step_that_is_kept_in_full() {
    let history = long();
    let finest = history.finest();
    let everything = PlotRequest { first_step: 0, last_step: None, buckets: finest.len(), log_steps: false };
    assert_covers(&finest, &everything, LONG);
    for bucket in finest.iter().step_by(97) {
        assert_bucket(bucket);
    }
    let in_full = finest.iter().filter(|bucket| bucket.steps == 1).count();
    assert!((24_000..24_200).contains(&in_full), "{in_full} steps in full");
    let short: Vec<(u64, u64)> = history_of(300).finest().iter().map(|b| (b.first_step, b.steps)).collect();
    assert_eq!(short, (0..300).map(|step| (step, 1)).collect::<Vec<_>>());
    assert!(History::default().finest().is_empty());
}

/// A change of Θ does not change the free energy of earlier steps.
#[test]
fn each_step_counts_with_its_own_temperature() {
    let mut simulation = Simulation::new(simulation(1.0, 20, &all_rules(0.01)[..1]));
    (0..10).for_each(|_| simulation.advance());
    simulation.apply(&Setting::Temperature(Some(Temperature::clamped(0.5)))).expect("it is a setting");
    (0..10).for_each(|_| simulation.advance());
    let history = &simulation.histories()[0];
    for bucket in history.finest() {
        let theta = if bucket.first_step <= 10 { 0.01 } else { 0.5 };
        let expected = history.sample(bucket.first_step).expect("kept").free_energy(theta);
        assert!(bucket.free_energy == expected || expected.is_nan(), "step {}", bucket.first_step);
    }
    assert!(history.finest()[15].free_energy.is_finite());
}

#[test]
fn a_view_of_nothing_is_empty() {
    let history = history_of(10);
    let empty = |first_step, last_step, buckets| {
        history.view(&PlotRequest { first_step, last_step, buckets, log_steps: false }).is_empty()
    };
    assert!(empty(10, None, 5));
    assert!(empty(5, Some(4), 5));
    assert!(empty(0, None, 0));
    assert!(!empty(9, Some(u64::MAX), 5));
    assert!(History::default().view(&PlotRequest::default()).is_empty());
    assert!(History::default().is_empty());
}

/// The histories of as many optimizers as there can be stay below 200 MB, however long they run.
#[test]
fn memory_is_bounded() {
    let before = held_bytes();
    let mut history = history_of(LONG);
    let held = held_bytes() - before;
    assert!(held > 20_000 * size_of::<Sample>() as isize, "{held} bytes cannot hold what is asked for");
    let all = held * SimulationSpec::MAX_OPTIMIZERS as isize;
    assert!(all <= 200_000_000, "{} MB of histories", all / 1_000_000);
    (LONG..LONG + 1_000_000).for_each(|step| history.push(sample(step), theta(step)));
    let grown = held_bytes() - before - held;
    assert!(grown <= 500_000, "a fifth more steps took {grown} bytes more");
}

/// A simulation at full speed allocates no more memory, except for histories.
#[test]
fn a_simulation_does_not_grow() {
    let mut simulation = Simulation::new(simulation(1.0, 8, &all_rules(0.01)[..2]));
    let mut advance = |steps: u64| {
        let before = held_bytes();
        (0..steps).for_each(|_| simulation.advance());
        held_bytes() - before
    };
    advance(RECENT_STEPS as u64 * 2);
    let grown = advance(RECENT_STEPS as u64);
    assert!(grown <= 2_000_000, "{grown} bytes in {RECENT_STEPS} steps");
}

/// The simulation's own history is that of its samples; the start is step 0.
#[test]
fn the_simulation_keeps_its_samples() {
    let mut simulation = Simulation::new(simulation(1.0, 5, &all_rules(0.01)));
    let mut samples: Vec<Vec<String>> = Vec::new();
    let text = |simulation: &Simulation| {
        simulation.ensembles().iter().map(|ensemble| format!("{:?}", ensemble.sample())).collect::<Vec<_>>()
    };
    samples.push(text(&simulation));
    for _ in 0..100 {
        simulation.advance();
        samples.push(text(&simulation));
    }
    for (index, history) in simulation.histories().iter().enumerate() {
        assert_eq!(history.len(), 101);
        for (step, samples) in samples.iter().enumerate() {
            assert_eq!(format!("{:?}", history.sample(step as u64).unwrap()), samples[index]);
        }
    }
}

/// A divergence is not hidden by averages: the mean of its bucket is not finite, and the count is kept.
#[test]
fn a_divergence_shows_in_every_bucket_that_holds_it() {
    let mut simulation = Simulation::new(SimulationSpec {
        landscape: valley(1000.0, 0.1, 30.0),
        ..simulation(3.0, 10, &[sgd(1.0, 0.9, 0.1)])
    });
    (0..5000).for_each(|_| simulation.advance());
    let history = &simulation.histories()[0];
    let gone = (0..).find(|&step| history.sample(step).unwrap().diverged > 0).unwrap();
    for buckets in [1, 10, 1000] {
        let view = history.view(&PlotRequest { first_step: 0, last_step: None, buckets, log_steps: true });
        for bucket in view.iter().filter(|bucket| bucket.first_step + bucket.steps > gone) {
            assert!(bucket.diverged > 0, "{bucket:?}");
            assert!(!bucket.loss.mean.is_finite(), "{bucket:?}");
        }
    }
}
