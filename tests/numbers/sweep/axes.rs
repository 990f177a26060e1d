//! Axes and settings of diagrams: the spacing of values, hyperparameters, landscapes, kinds of noise, schedules and
//! typed rules.

use proptest::prelude::*;
use statrs::distribution::{ContinuousCDF, Normal, StudentsT};
use valleyscope::sweep::pool::{Pool, Sweep};
use valleyscope_engine::landscape::{LandscapeFormula, LandscapeKind, LandscapeSpec};
use valleyscope_engine::noise::{NoiseKind, NoiseSpec};
use valleyscope_engine::optimizer::program::text_of;
use valleyscope_engine::optimizer::{Decay, Need, RuleKind, RuleSpec, Schedule, TypedRule};
use valleyscope_engine::quantity::{Dimension, Noise, Replicates, StartSpread, StepCount, WarmupSteps};
use valleyscope_engine::sweep::{
    Axis, Backend, LearningRates, PixelOrder, Precision, Quantity, Spacing, SweepJob, SweepOptimizer, SweepSpec,
};

use crate::noise::{heavy_tailed, of_kind};
use crate::schedules::{cosine, expected_factor};
use crate::statistics::{Moments, assert_within, kolmogorov_smirnov};
use crate::sweep::oracle::SLOPE;
use crate::sweep::{
    backends, bits, count, fig2a, odd, only, optimizer, rules_of_whole_parameters, runs, runs_with, sgd,
};

const ALL: [Spacing; 3] = [Spacing::Linear, Spacing::Log, Spacing::LogComplement];

/// Ends that every spacing allows, in either order.
fn ends() -> impl Strategy<Value = [f64; 2]> {
    let end = || {
        (0.5..6.0_f64, any::<bool>()).prop_map(|(size, is_near_one)| {
            let small = 10_f64.powf(-size);
            if is_near_one { 1.0 - small } else { small }
        })
    };
    (end(), end()).prop_filter("the ends differ", |(a, b)| (a - b).abs() > 1e-9).prop_map(|(a, b)| [a, b])
}

proptest! {
    #[test]
    fn positions_give_values_that_go_from_end_to_end(ends in ends(), count in 2..200_usize) {
        for spacing in ALL {
            let at = |index: usize| spacing.value(ends, index as f64 / (count - 1) as f64);
            prop_assert_eq!([at(0), at(count - 1)], ends);
            let rises = ends[0] < ends[1];
            for index in 1..count {
                prop_assert!(at(index) == at(index - 1) || (at(index) > at(index - 1)) == rises, "{spacing:?}");
            }
        }
    }

    #[test]
    fn a_value_has_the_position_that_it_was_made_of_within_a_pixel(ends in ends(), position in 0.0..=1.0_f64) {
        for spacing in ALL {
            let found = spacing.position(ends, spacing.value(ends, position));
            // A pixel of the longest side of a diagram.
            prop_assert!((found - position).abs() < 1e-4, "{spacing:?}: {position}, {found}");
        }
    }
}

#[test]
fn decay_rates_with_another_nine_are_equally_far_apart() {
    let position = |value| Spacing::LogComplement.position([0.0, 0.9999], value);
    for (nines, value) in [0.0, 0.9, 0.99, 0.999, 0.9999].into_iter().enumerate() {
        assert!((position(value) - nines as f64 / 4.0).abs() < 1e-12, "{value}");
        let found = Spacing::LogComplement.value([0.0, 0.9999], nines as f64 / 4.0);
        assert!((found - value).abs() < 1e-14, "{found}, not {value}");
    }
}

#[test]
fn ends_without_a_logarithm_are_not_allowed() {
    assert!(ALL.iter().all(|spacing| spacing.allows(0.5)));
    assert!(!Spacing::Log.allows(0.0) && Spacing::LogComplement.allows(0.0) && Spacing::LogComplement.allows(-1.0));
    assert!(Spacing::Log.allows(1.0) && !Spacing::LogComplement.allows(1.0));
    assert!(!ALL[1..].iter().any(|spacing| spacing.allows(f64::NAN)));
}

/// Returns the final losses of two rules with the same noise at a pixel, where the second one has the column's value.
fn final_losses(rules: [RuleSpec; 2], columns: &Axis, column: usize) -> [Vec<f64>; 2] {
    let spec = SweepSpec { steps: StepCount::clamped(40), columns: columns.clone(), ..typed_spec(rules, 2) };
    let runs = <[_; 2]>::try_from(runs(Precision::Double, &spec, [1, column], 0..9)).unwrap();
    runs.map(|runs| runs.metrics.iter().map(|metrics| metrics.final_loss).collect())
}

#[test]
fn a_pixel_has_its_columns_hyperparameter() {
    let divided = [
        RuleKind::Adam,
        RuleKind::Mars,
        RuleKind::Sophia,
        RuleKind::RmsProp,
        RuleKind::NAdam,
        RuleKind::AdEmaMix,
        RuleKind::AdamMini,
        RuleKind::AdaBelief,
        RuleKind::Shampoo,
        RuleKind::Soap,
        RuleKind::ScheduleFree,
    ];
    let divided = divided.map(|kind| (kind, "eps", [1e-3, 1.0], Spacing::Log));
    let rates = [
        (RuleKind::Soap, "shampoo_beta", [0.0, 0.99], Spacing::LogComplement),
        (RuleKind::Adam, "beta1", [0.9, 0.999], Spacing::LogComplement),
        (RuleKind::Adam, "beta2", [0.9, 0.999], Spacing::LogComplement),
    ];
    for (kind, key, [from, to], spacing) in divided.into_iter().chain(rates) {
        let of = Quantity::Of(key, vec![1]);
        let columns = Axis { of, from, to, count: count(3), spacing };
        let (rule, values) = (RuleSpec::on_plane(kind), columns.values());
        for (column, &value) in values.iter().enumerate() {
            let at = |value| final_losses([rule.with(key, value).unwrap(), rule], &columns, column);
            let [fixed, varied] = at(value);
            assert!(fixed.iter().all(|loss| loss.is_finite()), "{} with {key} {value}", rule.name());
            assert_eq!(fixed, varied, "{} with {key} {value}", rule.name());
            let [other, varied] = at(values[(column + 1) % 3]);
            assert_ne!(other, varied, "{} depends on {key}", rule.name());
        }
    }
}

#[test]
fn soaps_statistics_have_the_decay_rate_of_its_squares_unless_they_have_their_own() {
    let soap = RuleSpec::on_plane(RuleKind::Soap).with("beta2", 0.8).unwrap();
    let columns = fig2a([3, 3]).columns;
    let losses = |beta| final_losses([soap, soap.with("shampoo_beta", beta).unwrap()], &columns, 1);
    let [usual, same] = losses(0.8);
    assert_eq!(usual, same);
    let [usual, other] = losses(0.5);
    assert_ne!(usual, other);
}

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

/// Returns small sweeps of all kinds of steps with each kind of noise, on a plane and in a space.
fn sweeps() -> Vec<SweepSpec> {
    let kinds = [of_kind(NoiseKind::Additive, 1.0), heavy_tailed(1.0, 2.5)];
    let with = |noise: NoiseSpec, dimension: u64, common: bool| {
        let mut spec = SweepSpec { common_random_numbers: common, noise, ..odd(dimension) };
        let learning_rates = LearningRates { count: count(3), ..LearningRates::default() };
        let whole = rules_of_whole_parameters().into_iter();
        let whole = whole.filter(|rule| dimension == 2 || !rule.info().needs(Need::Axes));
        let whole = (20..).zip(whole).map(|(id, rule)| SweepOptimizer { learning_rates, ..optimizer(id, rule) });
        spec.optimizers.extend(whole);
        spec
    };
    let places = [(2, false), (2, true), (5, false)];
    kinds.into_iter().flat_map(|noise| places.map(|(dimension, common)| with(noise, dimension, common))).collect()
}

#[test]
fn each_kind_of_noise_gives_the_same_bits_in_every_kind_of_vector() {
    for precision in Precision::ALL {
        let backends = backends(precision);
        let (plain, others) = backends.split_first().expect("plain instructions are everywhere");
        for spec in sweeps() {
            let expected = bits(&runs_with(*plain, &spec, [1, 2], 0..11));
            for backend in others {
                let found = bits(&runs_with(*backend, &spec, [1, 2], 0..11));
                assert!(found == expected, "{backend:?}, {:?}, {:?}", spec.noise, spec.dimension);
            }
        }
    }
}

#[test]
fn each_kind_of_noise_gives_the_same_diagram_on_any_number_of_threads() {
    for spec in sweeps() {
        let swept = |threads: usize| {
            let pool = Pool::new(threads).unwrap();
            let backend = Backend::new(Precision::Single);
            let known = |_: [usize; 2]| false;
            let (spec, order) = (std::sync::Arc::new(spec.clone()), PixelOrder::RowByRow);
            let job = SweepJob { order, keep_runs: true, known: &known, ..SweepJob::new(spec, backend) };
            let sweep = Sweep::start(&pool, job, || ());
            let pixels = sweep.finished().iter();
            let mut pixels: Vec<_> = pixels.filter_map(|done| Some((done.pixel, bits(&done.runs?)))).collect();
            pixels.sort();
            pixels
        };
        let alone = swept(1);
        assert_eq!(alone.len(), 6);
        assert!(alone == swept(3), "{:?}, {:?}", spec.noise, spec.dimension);
        // The kind is seen in the results, and an axis of σ keeps it.
        let paper = SweepSpec { noise: NoiseKind::Multiplicative.into(), ..spec.clone() };
        let [here, there] = [&spec, &paper].map(|spec| bits(&runs(Precision::Single, spec, [1, 2], 0..11)));
        assert!(here != there, "{:?}", spec.noise);
    }
}

#[test]
fn an_axis_of_the_tails_gives_the_runs_of_each_noise() {
    let noise = heavy_tailed(1.0, 3.0);
    let of = Quantity::NoiseParameter(noise.info().parameters[1].key);
    assert_eq!((of.key(), of.info(&odd(2).landscape).label), ("degrees_of_freedom", "Degrees of freedom ν"));
    let freedoms = [2.5, 20.0];
    let columns = Axis { of, from: freedoms[0], to: freedoms[1], count: count(2), spacing: Spacing::Linear };
    let swept = SweepSpec { noise, columns, ..odd(2) };
    for (column, freedom) in freedoms.into_iter().enumerate() {
        // σ is 1 in this column.
        let sigma =
            Axis { of: Quantity::Noise, from: 1.0 - column as f64, to: 2.0 - column as f64, ..swept.columns.clone() };
        let fixed = SweepSpec { noise: heavy_tailed(1.0, freedom), columns: sigma, ..odd(2) };
        let [found, expected] = [&swept, &fixed].map(|spec| bits(&runs(Precision::Double, spec, [1, column], 0..11)));
        assert!(found == expected, "ν = {freedom}");
    }
}

/// Returns u/η after one step of gradient descent from the origin, for many replicates.
fn first_steps(noise: NoiseSpec, slope: f64, rotation: f64, dimension: u64, precision: Precision) -> Vec<f64> {
    let rule = sgd().with("beta1", 0.0).and_then(|rule| rule.with("weight_decay", 0.0)).unwrap();
    let mut spec = odd(dimension);
    spec.noise = noise;
    spec.steps = StepCount::clamped(1);
    spec.start_spread = StartSpread::clamped(0.0);
    spec.landscape = spec.landscape.with("slope", slope).unwrap().with("rotation_degrees", rotation).unwrap();
    // A flat valley, in which the loss is −c u.
    (spec.rows.from, spec.rows.count) = (1e-6, count(1));
    (spec.columns.from, spec.columns.count) = (SIGMA, count(1));
    spec.optimizers = vec![SweepOptimizer { learning_rates: only(RATE), ..optimizer(1, rule) }];
    let runs = runs(precision, &spec, [0, 0], 0..COUNT);
    runs[0].metrics.iter().map(|metrics| -metrics.final_loss / slope / RATE).collect()
}

const COUNT: usize = 4000;
const SIGMA: f64 = 0.5;
const RATE: f64 = 0.01;

#[test]
fn the_first_steps_of_a_sweep_have_the_distribution_of_the_noise() {
    for precision in Precision::ALL {
        for (dimension, slope) in [(2, 0.1), (2, 10.0), (5, 0.1), (5, 10.0)] {
            let at = first_steps(of_kind(NoiseKind::Additive, 3.0), slope, 30.0, dimension, precision);
            let normal = Normal::new(slope, SIGMA).unwrap();
            let distance = kolmogorov_smirnov(&at, |at| normal.cdf(at)) * (COUNT as f64).sqrt();
            assert!(distance < 2.0, "{dimension} dimensions, slope {slope}: {distance}");
            let Moments { variance, .. } = Moments::of(&at);
            assert_within("variance", variance, SIGMA * SIGMA, SIGMA * SIGMA * (2.0 / COUNT as f64).sqrt());
        }
        for (slope, freedom) in [(0.1, 2.5), (10.0, 2.5), (0.1, 10.0)] {
            let at = first_steps(heavy_tailed(3.0, freedom), slope, 0.0, 2, precision);
            let scale = slope * SIGMA * ((freedom - 2.0_f64) / freedom).sqrt();
            let student = StudentsT::new(slope, scale, freedom).unwrap();
            let distance = kolmogorov_smirnov(&at, |at| student.cdf(at)) * (COUNT as f64).sqrt();
            assert!(distance < 2.0, "ν = {freedom}, slope {slope}: {distance}");
        }
    }
}

const ETA: f64 = 0.05;
const OMEGA: f64 = 0.2;

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

/// Returns a spec of gradient descent without noise from the origin, with every schedule; the number of steps grows
/// along the columns.
fn scheduled_spec(dimension: u64, is_common: bool) -> SweepSpec {
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
        let spec = scheduled_spec(dimension, is_common);
        for (column, steps) in [50, 100, 150, 200].into_iter().enumerate() {
            for (precision, allowed) in [(Precision::Double, 1e-12), (Precision::Single, 1e-4)] {
                for (found, schedule) in runs(precision, &spec, [0, column], 0..3).iter().zip(schedules()) {
                    let mut u = 0.0;
                    for t in 1..=steps {
                        let eta = ETA * expected_factor(&schedule, t, Some(steps));
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

fn typed(name: &str, text: &str) -> RuleSpec {
    RuleSpec::on_plane(RuleKind::Typed(TypedRule::new(name, text).unwrap()))
}

/// Returns a sweep of two optimizers with the same noise, over more steps than a block of noise.
fn typed_spec(rules: [RuleSpec; 2], dimension: u64) -> SweepSpec {
    let optimizers = (0..).zip(rules).map(|(id, rule)| {
        let mut optimizer = optimizer(id, rule);
        optimizer.learning_rates = only(0.005);
        optimizer
    });
    SweepSpec {
        dimension: Dimension::clamped(dimension),
        steps: StepCount::clamped(77),
        replicates: Replicates::clamped(9),
        common_random_numbers: true,
        optimizers: optimizers.collect(),
        ..fig2a([3, 3])
    }
}

fn agree(rules: [RuleSpec; 2], dimension: u64) -> bool {
    let spec = typed_spec(rules, dimension);
    let [built_in, text] = <[_; 2]>::try_from(runs(Precision::Double, &spec, [1, 1], 0..9)).unwrap();
    let close = |a: f64, b: f64| (a - b).abs() <= 1e-9 * a.abs().max(1e-3);
    built_in.metrics.iter().zip(&text.metrics).all(|(a, b)| {
        assert!(a.final_loss.is_finite(), "{} diverged in {dimension} dimensions", rules[0].name());
        close(a.final_loss, b.final_loss) && close(a.smallest_loss, b.smallest_loss) && close(a.depth, b.depth)
    })
}

#[test]
fn built_in_rules_and_their_texts_give_the_same_runs() {
    let mut compared = 0;
    for &kind in RuleKind::ALL {
        for mask in [0.0, 1.0] {
            let rule = RuleSpec::on_plane(kind).with("mask", mask).unwrap();
            let Ok(text) = text_of(&rule) else { continue };
            let typed = typed(&format!("{} in a sweep", rule.name()), &text);
            for dimension in [2, 5] {
                assert!(agree([rule, typed], dimension), "{} in {dimension} dimensions:\n{text}", rule.name());
            }
            compared += 1;
        }
    }
    assert!(compared >= 14, "{compared}");
}

#[test]
fn a_mask_changes_runs() {
    for kind in [RuleKind::Adam, RuleKind::Signum, RuleKind::Focus, RuleKind::Lion, RuleKind::Mars, RuleKind::Muon] {
        let rule = RuleSpec::on_plane(kind);
        for dimension in [2, 5] {
            assert!(!agree([rule, rule.with("mask", 1.0).unwrap()], dimension), "{}", rule.name());
        }
    }
}

/// A hyperparameter on an axis has the pixel's value, also in products over the steps.
#[test]
fn a_typed_hyperparameter_is_an_axis() {
    let adam = RuleSpec::on_plane(RuleKind::Adam);
    let text = text_of(&adam).unwrap().replace("beta2", "squares");
    let own = typed("Adam with an axis", &text);
    let axis =
        Axis { of: Quantity::Of("squares", vec![1]), from: 0.5, to: 0.99, count: count(3), spacing: Spacing::Linear };
    let spec = SweepSpec { columns: axis, ..typed_spec([adam, own], 2) };
    for (column, beta2) in [0.5, 0.745, 0.99].into_iter().enumerate() {
        let fixed = SweepSpec {
            columns: fig2a([3, 3]).columns,
            ..self::typed_spec([adam.with("beta2", beta2).unwrap(), adam], 2)
        };
        // All columns have the noise of the axis.
        let fixed = SweepSpec { columns: Axis { from: 1.0, to: 1.0 + 1e-12, ..fixed.columns }, ..fixed };
        let of =
            |spec: &SweepSpec, index: usize| runs(Precision::Double, spec, [1, column], 0..9)[index].metrics.clone();
        for (a, b) in of(&spec, 1).iter().zip(&of(&fixed, 0)) {
            assert!((a.final_loss - b.final_loss).abs() <= 1e-9, "{column}: {} {}", a.final_loss, b.final_loss);
        }
    }
}
