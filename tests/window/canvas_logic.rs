//! The canvas' arithmetic: ticks, camera, colour scale and formulas.

use valleyscope::app::landscape::canvas::{
    Bounds, Follower, compressed_length, fitted, framed, limited, panned, zoomed,
};
use valleyscope_engine::landscape::{Landscape, LandscapeKind, LandscapeSpec, NarrowValley};
use valleyscope_engine::noise::NoiseKind;
use valleyscope_engine::optimizer::{Batch, BiasCorrection, RuleKind, RuleSpec, StepInputs, trace};
use valleyscope_engine::simulation::{ParticleId, StepTrace};
use valleyscope_experiments::view::formula::formulas;
use valleyscope_experiments::view::ticks::{
    RangeEdge, Ticks, fixed, grouped, nice_step, short, significant, with_edge,
};
use valleyscope_experiments::view::{AutoScale, AxisScale, Camera, SymLog, Viewport};

fn labels(ticks: &Ticks) -> Vec<&str> {
    ticks.ticks.iter().map(|tick| tick.label.as_str()).collect()
}

#[test]
fn ticks_are_round_and_labelled_with_enough_digits() {
    let ticks = Ticks::linear(-0.6, 2.4, 6);
    assert_eq!(labels(&ticks), ["−0.5", "0.0", "0.5", "1.0", "1.5", "2.0"]);
    assert_eq!(ticks.note, None);
    assert_eq!(labels(&Ticks::linear(0.0, 100.0, 5)), ["0", "20", "40", "60", "80", "100"]);
}

#[test]
fn thousands_are_grouped_alike_on_axes_and_in_words() {
    assert_eq!(labels(&Ticks::linear(0.0, 42_000.0, 4)), ["0", "20\u{2009}000", "40\u{2009}000"]);
    assert_eq!(labels(&Ticks::linear(-1000.0, 1000.0, 2)), ["−1\u{2009}000", "0", "1\u{2009}000"]);
    assert_eq!(short(50_000.0), grouped(50_000));
    assert_eq!(short(-2_000.5), "−2\u{2009}000.5");
    assert_eq!(
        ["12", "123", "1234567"].map(|it| grouped(it.parse().unwrap())),
        ["12", "123", "1\u{2009}234\u{2009}567"]
    );
}

#[test]
fn ticks_stay_readable_at_the_deepest_zoom() {
    let center = 0.866_025_403_784;
    let ticks = Ticks::linear(center - 5e-10, center + 5e-10, 7);
    assert!(ticks.ticks.len() >= 4, "{ticks:?}");
    let note = ticks.note.as_deref().expect("the labels share an offset");
    assert!(note.starts_with("×10⁻¹⁰ + 0.86602"), "{note}");
    let mut different = labels(&ticks);
    different.dedup();
    assert_eq!(different.len(), ticks.ticks.len(), "neighbouring labels differ: {ticks:?}");
    assert!(different.iter().all(|label| label.chars().count() <= 5), "{different:?}");
    // Label times factor plus offset is the value.
    let offset: f64 = note.rsplit(' ').next().expect("an offset").parse().expect("a number");
    for tick in &ticks.ticks {
        let label: f64 = tick.label.replace('−', "-").parse().expect("a number");
        assert!((label * 1e-10 + offset - tick.value).abs() < 1e-15, "{tick:?}");
    }
}

#[test]
fn large_and_small_ranges_share_a_factor() {
    let ticks = Ticks::linear(0.0, 4e8, 4);
    assert_eq!(ticks.note.as_deref(), Some("×10⁸"));
    assert_eq!(labels(&ticks), ["0", "1", "2", "3", "4"]);
    assert_eq!(Ticks::linear(-3e-7, 3e-7, 6).note.as_deref(), Some("×10⁻⁷"));
}

#[test]
fn an_axis_without_distinct_values_has_no_ticks() {
    for (low, high) in [(1.0, 1.0), (2.0, 1.0), (f64::NAN, 1.0), (0.0, f64::INFINITY), (1e9, 1e9 + 1e-8)] {
        assert_eq!(Ticks::linear(low, high, 5), Ticks::default());
    }
}

#[test]
fn an_axis_of_decay_rates_is_marked_at_nines() {
    let shown =
        |low, high| Ticks::log_complement(low, high, 8).ticks.into_iter().map(|tick| tick.label).collect::<Vec<_>>();
    assert_eq!(shown(0.0, 0.9999), ["0", "0.9", "0.99", "0.999", "0.9999"]);
    assert_eq!(shown(0.9, 0.999_999), ["0.9", "0.99", "0.999", "0.9999", "0.99999", "0.999999"]);
    assert_eq!(shown(0.5, 0.9), ["0.5", "0.8", "0.9"]);
    assert_eq!(shown(-1.0, 0.9999), ["0", "0.9", "0.99", "0.999", "0.9999"]);
    assert_eq!(Ticks::log_complement(0.0, 1.0, 8), Ticks::default(), "1 is infinitely far");
    assert_eq!(AxisScale::LogComplement.position(0.0), 0.0);
    for value in [0.0, 0.5, 0.9, 0.999] {
        let place = AxisScale::LogComplement.position(value);
        assert!((AxisScale::LogComplement.value(place) - value).abs() < 1e-15, "{value}");
    }
}

#[test]
fn the_colour_bar_is_marked_at_powers_of_ten_on_both_sides() {
    let scale = SymLog::symmetric(0.01, 10.0);
    assert_eq!(labels(&Ticks::symlog(&scale, 20)), ["−10", "−1", "−0.1", "−0.01", "0", "0.01", "0.1", "1", "10"]);
    assert_eq!(labels(&Ticks::symlog(&scale, 5)), ["−10", "−0.1", "0", "0.1", "10"]);
    let wide = Ticks::symlog(&SymLog::symmetric(0.1, 1e5), 20);
    let wide = labels(&wide);
    assert!(wide.contains(&"10⁴") && wide.contains(&"10⁻¹"), "one way of writing a bar: {wide:?}");
    assert_eq!(labels(&Ticks::symlog(&SymLog::symmetric(3.0, 7.0), 9)), ["−7", "0", "7"]);
}

#[test]
fn the_colour_bar_is_marked_on_its_longer_side_where_its_ends_differ() {
    let ticks = |min: f64, max: f64, most: usize| {
        let ticks = Ticks::symlog(&SymLog { linear: 0.01, min, max }, most);
        ticks.ticks.into_iter().map(|tick| tick.label).collect::<Vec<_>>()
    };
    assert_eq!(ticks(0.0, 10.0, 20), ["0", "0.01", "0.1", "1", "10"]);
    assert_eq!(ticks(0.0, 10.0, 3), ["0", "0.1", "10"]);
    assert_eq!(ticks(-0.2, 10.0, 20), ["−0.1", "−0.01", "0", "0.01", "0.1", "1", "10"]);
    assert_eq!(ticks(-10.0, 0.1, 20), ["−10", "−1", "−0.1", "−0.01", "0", "0.01", "0.1"]);
    // A label at the lower end would touch that of 0.
    assert_eq!(ticks(-1e-4, 10.0, 20), ["0", "0.01", "0.1", "1", "10"]);
    assert_eq!(ticks(0.0, 0.005, 9), ["0", "0.005"]);
}

#[test]
fn losses_that_are_never_negative_have_all_colours_and_others_keep_0_in_the_middle() {
    let view = |camera| Viewport { camera, size_px: [900.0, 600.0] };
    for &kind in LandscapeKind::ALL {
        let spec = LandscapeSpec::new(kind);
        let (landscape, home) = (spec.landscape(), view(Camera::home(&spec)));
        let scale = AutoScale::default().update(&[(&landscape, home)]);
        let is_negative = (0..=60).flat_map(|x| (0..=40).map(move |y| [x, y])).any(|[x, y]| {
            let px = [15.0 * x as f32, 15.0 * y as f32];
            landscape.loss(home.xy_from_px(px)) < 0.0
        });
        assert_eq!(scale.min, if is_negative { -scale.max } else { 0.0 }, "{}: {scale:?}", kind.key());
        assert_eq!(scale.position(0.0), if is_negative { 0.5 } else { 0.0 }, "{}", kind.key());
        assert_eq!(scale.contour_levels(SymLog::CONTOURS).filter(|level| *level == 0.0).count(), 1, "{}", kind.key());
    }
    let rosenbrock = LandscapeSpec::new(LandscapeKind::Rosenbrock).landscape();
    let valley = Landscape::Valley(NarrowValley::new(10.0, 0.1, 30_f64.to_radians()));
    let mut auto = AutoScale::default();
    assert_eq!(auto.update(&[(&rosenbrock, view(Camera::HOME))]).min, 0.0);
    assert!(auto.update(&[(&valley, view(Camera::HOME))]).min < 0.0);
    // The upper side of the valley alone: the colours do not jump.
    let uphill = Camera::new([-5.0, -3.0], 1.0);
    assert!(auto.update(&[(&valley, view(uphill))]).min < 0.0);
    assert_eq!(AutoScale::default().update(&[(&valley, view(uphill))]).min, 0.0);
}

#[test]
fn positions_on_the_colour_bar_have_their_values() {
    for min in [-10.0, -0.05, 0.0] {
        let scale = SymLog { linear: 0.01, min, max: 10.0 };
        assert_eq!(scale.position(min), 0.0);
        assert!((scale.position(10.0) - 1.0).abs() < 1e-15);
        for value in [-20.0, -0.3, 0.0, 1e-5, 4.0, 30.0] {
            let position = scale.position(value);
            assert!((scale.value(position) - value).abs() < 1e-12 * (1.0 + value.abs()), "{value} of {scale:?}");
            let slope = (scale.position(value + 1e-7) - position) / 1e-7;
            assert!((scale.slope(value) / slope - 1.0).abs() < 1e-4, "{value} of {scale:?}");
        }
    }
}

#[test]
fn numbers_are_formatted_by_significant_digits() {
    assert_eq!(significant(0.0, 4), "0");
    assert_eq!(significant(-0.012_341, 4), "−0.01234");
    assert_eq!(significant(9.999_96, 4), "10.00");
    assert_eq!(significant(1.5e-7, 3), "1.50×10⁻⁷");
    assert_eq!(significant(f64::NAN, 3), "NaN");
    assert_eq!(significant(f64::NEG_INFINITY, 3), "−∞");
    assert_eq!(fixed(-0.001, 1), "0.0");
    assert_eq!(short(-1e5), "−10⁵");
    assert_eq!(short(0.001), "0.001");
    assert_eq!([1.5e6, 2e6, -2.5e-7].map(short), ["1.5×10⁶", "2×10⁶", "−2.5×10⁻⁷"]);
    assert_eq!(grouped(1_234_567), "1\u{2009}234\u{2009}567");
    assert_eq!(nice_step(0.2), 0.2);
    assert_eq!(nice_step(0.21), 0.5);
    assert_eq!(nice_step(7.0), 10.0);
}

const VIEW: Viewport = Viewport { camera: Camera::new([0.5, -0.25], 3.0), size_px: [800.0, 500.0] };

#[test]
fn zoom_keeps_the_point_under_the_pointer() {
    let pointer = [123.0, 432.0];
    let before = VIEW.xy_from_px(pointer);
    for factor in [0.1, 0.9, 1.1, 30.0, 1e5] {
        let after = Viewport { camera: zoomed(&VIEW, pointer, factor), ..VIEW };
        assert!((after.camera.width * factor / 3.0 - 1.0).abs() < 1e-12);
        let moved = after.px_from_xy(before);
        assert!((moved[0] - pointer[0]).abs() < 0.01 && (moved[1] - pointer[1]).abs() < 0.01, "{factor}: {moved:?}");
    }
}

#[test]
fn zoom_ends_at_its_limits_and_does_not_drift_there() {
    let mut viewport = Viewport { camera: Camera::new([0.0, 0.0], 1e-8), ..VIEW };
    (0..100).for_each(|_| viewport.camera = zoomed(&viewport, [10.0, 10.0], 2.0));
    assert_eq!(viewport.camera.width, 1e-9);
    assert!(viewport.camera.center.iter().all(|c| c.abs() < 1e-8), "{:?}", viewport.camera);
    assert_eq!(limited(Camera::new([f64::NAN, 1e300], f64::NAN)).center, [0.0, 1e9]);
    assert_eq!(zoomed(&VIEW, [0.0, 0.0], 1e-30).width, 1e9);
}

#[test]
fn a_drag_moves_the_plane_with_the_pointer() {
    let grabbed = VIEW.xy_from_px([100.0, 100.0]);
    let after = Viewport { camera: panned(&VIEW, [40.0, -30.0]), ..VIEW };
    let now = after.px_from_xy(grabbed);
    assert!((now[0] - 140.0).abs() < 1e-3 && (now[1] - 70.0).abs() < 1e-3, "{now:?}");
}

#[test]
fn the_box_of_particles_leaves_out_what_is_not_finite_or_far_off() {
    let cloud = (0..100).map(|i| [i as f32 * 0.01, 1.0 - i as f32 * 0.005]);
    let wild = [[1e20, 0.0], [f32::NAN, 0.5], [0.2, f32::INFINITY]];
    let bounds = Bounds::robust(cloud.chain(wild)).expect("there are finite points");
    assert_eq!(bounds.min[0], 0.0);
    assert!(bounds.max[0] < 2.5, "{bounds:?}");
    assert_eq!(bounds.max[1], 1.0);
    assert_eq!(Bounds::robust([[f32::NAN, 0.0]].into_iter()), None);
    // Two particles are never outliers.
    let two = Bounds::robust([[0.0, 0.0], [1e6, 5.0]].into_iter()).expect("two points");
    assert_eq!(two.max, [1e6, 5.0]);
}

fn around(from: [f64; 2], reach: f64) -> Option<Bounds> {
    Some(Bounds { min: from, max: [from[0] + reach, from[1] + 0.5 * reach] })
}

#[test]
fn ensembles_that_run_away_are_left_out_unless_they_are_all() {
    let start = [0.5, 0.0];
    let inside = |reaches: &[f64]| {
        let boxes: Vec<_> = reaches.iter().map(|&reach| around(start, reach)).collect();
        framed(start, &boxes).1
    };
    assert_eq!(inside(&[2.0, 3.0, 1.0]), [true, true, true]);
    assert_eq!(inside(&[2.0, 5e3, 1.0]), [true, false, true], "one is far beyond the others");
    assert_eq!(inside(&[1e-4, 8.0]), [true, true], "one that has hardly moved leaves no one behind");
    assert_eq!(inside(&[4e3, 5e3]), [true, true], "far off, but together");
    assert_eq!(inside(&[5e3]), [true], "and alone");
    let (bounds, inside) = framed(start, &[around(start, 2.0), None]);
    assert_eq!(inside, [true, false]);
    assert_eq!(bounds.expect("one is there").max, [2.5, 1.0]);
    assert_eq!(framed(start, &[None, None]).0, None);
}

#[test]
fn a_restarted_run_has_the_initial_view() {
    let mut follower = Follower::default();
    let far = Camera::new([2.5, 1.4], 7.0);
    let start = Bounds::of_point([0.0, 0.0]);
    follower.aim_at_restart(Camera::HOME, &start, 1.6);
    assert_eq!(follower.advance(far, f32::INFINITY), Camera::HOME);
    // The movement goes to the start if the initial view does not show it.
    follower.aim_at_restart(Camera::new([500.0, 0.0], 3.0), &start, 1.6);
    assert_eq!(follower.advance(far, f32::INFINITY).center, [0.0, 0.0]);
}

#[test]
fn fitting_leaves_room_and_keeps_to_a_least_width() {
    let bounds = Bounds { min: [0.0, 0.0], max: [1.0, 2.0] };
    let camera = fitted(&bounds, 2.0, 0.0);
    assert_eq!(camera.center, [0.5, 1.0]);
    assert!(camera.width / 2.0 > 2.0, "the height of the view holds the box: {camera:?}");
    assert_eq!(fitted(&Bounds::of_point([3.0, 4.0]), 1.5, 0.01), Camera::new([3.0, 4.0], 0.01));
}

#[test]
fn following_waits_until_particles_leave_and_then_settles() {
    let mut follower = Follower::default();
    let camera = Camera::HOME;
    follower.aim(camera, &Bounds { min: [0.0, 0.0], max: [1.5, 0.9] }, 1.6);
    assert!(!follower.is_moving(), "what is well in view does not move the camera");
    let away = Bounds { min: [0.0, 0.0], max: [4.0, 2.0] };
    follower.aim(camera, &away, 1.6);
    assert!(follower.is_moving());
    let mut now = camera;
    let mut frames = 0;
    while follower.is_moving() {
        let next = follower.advance(now, 1.0 / 60.0);
        assert!(next.width >= now.width, "it opens up without swinging back");
        now = next;
        frames += 1;
        assert!(frames < 300, "it arrives");
    }
    let half = 0.5 * now.width;
    assert!(now.center[0] - half < 0.0 && now.center[0] + half > 4.0, "{now:?}");
    follower.aim(now, &away, 1.6);
    assert!(!follower.is_moving(), "having arrived it stays");
}

#[test]
fn the_automatic_scale_shows_slope_and_walls_and_keeps_still() {
    let landscape = Landscape::Valley(NarrowValley::new(10.0, 0.1, 30_f64.to_radians()));
    let mut auto = AutoScale::default();
    let view = Viewport { camera: Camera::HOME, size_px: [900.0, 600.0] };
    let scale = auto.update(&[(&landscape, view)]);
    let floor = landscape.loss([2.0 * 0.866, 2.0 * 0.5]);
    assert!((-0.21..-0.19).contains(&floor));
    let step = 0.5 - scale.position(floor);
    assert!(step > 0.12, "the slope takes a good part of the colours, {step} with {scale:?}");
    assert!(scale.max > 5.0 && scale.max < 200.0, "the walls are not cut off low: {scale:?}");

    let mut changes = 0;
    let mut last = scale;
    for frame in 0..200 {
        let camera = Camera::new([0.9 + 0.002 * f64::from(frame), 0.5], 3.0 + 0.005 * f64::from(frame));
        let now = auto.update(&[(&landscape, Viewport { camera, ..view })]);
        changes += i32::from(now != last);
        last = now;
    }
    assert!(changes <= 3, "the scale changed {changes} times in one slow pan");

    for (sharpness, slope, width) in [(1000.0, 0.1, 1e9), (10.0, 0.0, 3.0), (1e-6, 100.0, 1e-9), (1e6, -100.0, 1e9)] {
        let landscape = Landscape::Valley(NarrowValley::new(sharpness, slope, 0.3));
        let camera = Camera::new([0.0, 0.0], width);
        let scale = AutoScale::default().update(&[(&landscape, Viewport { camera, ..view })]);
        assert!(scale.linear > 0.0 && scale.max >= scale.linear && scale.max.is_finite(), "{scale:?}");
    }
}

#[test]
fn arrows_grow_with_the_logarithm_of_their_size() {
    assert_eq!(compressed_length(0.0), 0.0);
    assert_eq!(compressed_length(f64::NAN), 0.0);
    let lengths: Vec<f32> = [1e-9, 1e-4, 1e-2, 1.0, 100.0, 1e9].into_iter().map(compressed_length).collect();
    assert!(lengths.windows(2).all(|pair| pair[0] <= pair[1]), "{lengths:?}");
    assert_eq!((lengths[0], lengths[5]), (16.0, 84.0));
}

/// A batch with gradient θ / 2 and a fixed curvature.
#[derive(Clone, Copy)]
struct Given;

impl Batch<[f64; 2]> for Given {
    fn gradient_at(self, theta: [f64; 2]) -> [f64; 2] {
        theta.map(|theta| theta / 2.0)
    }

    fn curvature(self) -> [f64; 2] {
        [4.0, -2.0]
    }
}

/// Returns the first step, from θ = (0.5, −0.25) with ∇L = (0.2, −0.4) and noise (1.5, 0.5), so g = (0.3, −0.2), and η
/// = 0.01.
fn step(rule: RuleSpec, states: &[[f64; 2]], powers: f64) -> StepTrace {
    step_number(1, rule, states, powers)
}

/// Returns the step of this number from the same state.
fn step_number(number: u64, rule: RuleSpec, states: &[[f64; 2]], powers: f64) -> StepTrace {
    let inputs = StepInputs {
        rule,
        learning_rate: 0.01,
        bias: BiasCorrection::new(number, &rule, |key| rule.get(key).map(|rate| rate * powers)).unwrap(),
        theta: [0.5, -0.25],
        gradient: [0.3, -0.2],
        states: states.to_vec(),
    };
    let trace = trace(&inputs, Given);
    StepTrace {
        id: ParticleId { optimizer: 0, particle: 0 },
        after: trace.values(trace.theta),
        gradient: [0.2, -0.4],
        noise_kind: NoiseKind::Multiplicative,
        noise: [1.5, 0.5],
        curvature: [2.0, -4.0],
        curvature_noise: [2.0, 0.5],
        shares: valleyscope_engine::shares::Shares::UNKNOWN,
        inputs,
        trace,
    }
}

fn shown(step: &StepTrace) -> Vec<(String, String, f64)> {
    formulas(step).into_iter().map(|line| (line.rule, line.filled[0].clone(), line.result[0])).collect()
}

#[test]
fn adams_formulas_hold_the_numbers_of_the_step() {
    let step = step(RuleSpec::on_plane(RuleKind::Adam), &[[0.0; 2]; 2], 1.0);
    let lines = shown(&step);
    let texts: Vec<(&str, &str)> = lines.iter().map(|(rule, filled, _)| (rule.as_str(), filled.as_str())).collect();
    assert_eq!(
        texts,
        [
            ("g = ξ ∇L(θ),  ξ ~ Normal(1, σ)", "1.5 · 0.2"),
            ("m ← β₁ m + (1 − β₁) g", "0.9 · 0 + 0.1 · 0.3"),
            ("s ← β₂ s + (1 − β₂) g²", "0.999 · 0 + 0.001 · (0.3)²"),
            ("m̂ = m / (1 − β₁ᵗ)", "0.03 / 0.1"),
            ("ŝ = s / (1 − β₂ᵗ)", "9.000×10⁻⁵ / 0.001"),
            ("d = m̂ / (√ŝ + ε)", "0.3 / (√0.09 + 10⁻⁸)"),
            ("θ ← θ − η (d + ω θ)", "0.5 − 0.01 · (1.000 + 0.1 · 0.5)"),
        ]
    );
    // By hand: m̂ = 0.3 and √ŝ = 0.3, so d is 1 but for ε.
    assert!((lines[6].2 - 0.4895).abs() < 1e-9);
    let second = &formulas(&step)[2].filled[1];
    assert_eq!(second, "0.999 · 0 + 0.001 · (−0.2)²");
}

#[test]
fn a_line_that_is_a_difference_shows_both_numbers() {
    let lines = shown(&step(RuleSpec::on_plane(RuleKind::AdaBelief), &[[0.1; 2]; 2], 1.0));
    let (rule, filled, result) = &lines[2];
    assert_eq!((rule.as_str(), filled.as_str()), ("r = g − m", "0.3 − 0.12"));
    assert!((result - 0.18).abs() < 1e-12);
}

fn focus(decay: f64) -> Vec<(String, String, f64)> {
    let values = [("beta2", 0.99), ("gamma", -0.2), ("decay", decay)];
    let rule =
        values.iter().fold(RuleSpec::on_plane(RuleKind::Focus), |rule, (key, value)| rule.with(key, *value).unwrap());
    // β₂ᵗ = 0.98, so w = 0.01 / 0.02.
    shown(&step(rule, &[[-0.1, 0.1], [0.4, -0.25]], 0.98 / 0.99))
}

#[test]
fn focus_has_its_pull_and_both_forms_of_decay() {
    let lines = focus(0.0);
    assert_eq!(lines[1].1, "0.9 · (−0.1) + 0.1 · 0.3");
    assert_eq!(lines[2].0, "θ̂ ← θ̂ + w (θ − θ̂),  w = (1 − β₂) / (1 − β₂ᵗ)");
    assert_eq!(lines[2].1, "0.4 + 0.5 · 0.1");
    assert_eq!(lines[3].0, "d = sign(m) + γ sign(θ − θ̂)");
    assert_eq!(lines[3].1, "sign(−0.06) + (−0.2) · sign(0.05)");
    assert_eq!(lines[4].0, "θ ← θ − η (d + ω θ)");
    assert_eq!(lines[4].1, "0.5 − 0.01 · (−1.2 + 0.1 · 0.5)");
    let lines = focus(1.0);
    assert_eq!(lines[4].0, "θ ← θ − η (d + ω θ̂)");
    assert_eq!(lines[4].1, "0.5 − 0.01 · (−1.2 + 0.1 · 0.45)");
}

#[test]
fn signum_and_sgd_have_their_own_lines() {
    let lines = shown(&step(RuleSpec::on_plane(RuleKind::Signum), &[[0.0; 2]], 1.0));
    assert_eq!(lines[2].0, "d = sign(m)");
    assert_eq!(lines[2].1, "sign(0.03)");
    let lines = shown(&step(RuleSpec::on_plane(RuleKind::Sgd), &[[-0.1, 0.0]], 1.0));
    assert_eq!(lines[1].0, "m ← β₁ m + g");
    assert_eq!(lines[1].1, "0.9 · (−0.1) + 0.3");
    assert_eq!(lines[2].0, "θ ← θ − η (m + ω θ)");
}

#[test]
fn mars_shows_its_norm_and_the_gradient_that_it_keeps() {
    let step = step(RuleSpec::on_plane(RuleKind::Mars), &[[0.0; 2], [0.0; 2], [0.1, 0.2], [0.0; 2]], 1.0);
    let lines = shown(&step);
    let texts: Vec<(&str, &str)> = lines.iter().map(|(rule, filled, _)| (rule.as_str(), filled.as_str())).collect();
    assert_eq!(
        texts[1..3],
        [
            ("c = g + (γ β₁ / (1 − β₁)) (g − g′)", "0.3 + 0.475 · 0.2"),
            ("c̃ = c / max(‖c‖, 1)", "0.395 / max(‖(0.395, −0.39)‖, 1)"),
        ]
    );
    assert_eq!(texts[7..10], [("d = m̂ / (√ŝ + ε)", "0.395 / (√0.1560 + 10⁻⁸)"), ("g′ ← g", "0.3"), ("θ′ ← θ", "0.5")]);
}

#[test]
fn mars_in_its_exact_form_shows_the_gradient_at_the_last_place() {
    let rule = RuleSpec::on_plane(RuleKind::Mars).with("form", 1.0).unwrap();
    let states = [[0.0; 2], [0.0; 2], [0.1, 0.2], [0.4, 0.2]];
    let lines = shown(&step_number(2, rule, &states, 0.9));
    assert_eq!(lines[1].0, "c = g + (γ β₁ / (1 − β₁)) (g − ξ ∇L(θ′))");
    assert_eq!(lines[1].1, "0.3 + 0.475 · (0.3 − 0.2)");
}

#[test]
fn sophia_shows_the_curvature_when_it_is_estimated() {
    let rule = RuleSpec::on_plane(RuleKind::Sophia);
    let states = [[0.1, -0.1], [0.5, -0.5]];
    let lines = |number| {
        let lines = shown(&step_number(number, rule, &states, 1.0));
        lines.into_iter().skip(1).map(|(rule, filled, _)| (rule, filled)).collect::<Vec<_>>()
    };
    let texts = |lines: &[(&str, &str)]| -> Vec<(String, String)> {
        lines.iter().map(|(rule, filled)| ((*rule).to_owned(), (*filled).to_owned())).collect()
    };
    let estimated = [
        ("ĥ = ξ′ ∂²L/∂θ²,  ξ′ ~ Normal(1, σ)", "2 · 2"),
        ("h ← β₂ h + (1 − β₂) ĥ", "0.99 · 0.5 + 0.01 · 4"),
        ("m ← β₁ m + (1 − β₁) g", "0.965 · 0.1 + 0.035 · 0.3"),
        ("d = m / max(|m|, ρ max(0, h) + ε)", "0.107 / max(|0.107|, 0.04 · max(0, 0.535) + 10⁻¹⁵)"),
        ("θ ← θ − η (d + ω θ)", "0.5 − 0.01 · (1 + 0.1 · 0.5)"),
    ];
    assert_eq!(lines(11), texts(&estimated));
    let others = [
        estimated[2],
        ("d = m / max(|m|, ρ max(0, h) + ε)", "0.107 / max(|0.107|, 0.04 · max(0, 0.5) + 10⁻¹⁵)"),
        estimated[4],
    ];
    assert_eq!(lines(10), texts(&others));
}

#[test]
fn muon_shows_its_orthogonalization() {
    let lines = shown(&step(RuleSpec::on_plane(RuleKind::Muon), &[[0.1, -0.1], [0.0; 2]], 1.0));
    let texts: Vec<(&str, &str)> = lines.iter().map(|(rule, filled, _)| (rule.as_str(), filled.as_str())).collect();
    assert_eq!(
        texts[1..4],
        [
            ("m ← μ m + (1 − μ) g", "0.95 · 0.1 + 0.05 · 0.3"),
            ("v = μ m + (1 − μ) g", "0.95 · 0.11 + 0.05 · 0.3"),
            ("d = √2 NewtonSchulz(v)", "√2 NewtonSchulz(0.1195, −0.1098)"),
        ]
    );
    // The iteration brings the length of any vector that is not tiny to 0.985.
    let d = formulas(&step(RuleSpec::on_plane(RuleKind::Muon), &[[0.1, -0.1], [0.0; 2]], 1.0))[3].result;
    assert!((d[0].hypot(d[1]) - 0.98491).abs() < 1e-4, "{d:?}");
}

#[test]
fn shampoo_shows_its_matrices_as_their_diagonals_and_what_is_beside_them() {
    let rule = RuleSpec::on_plane(RuleKind::Shampoo);
    let states = [[0.1, 0.2], [0.02, 0.04], [0.5, 1.0], [0.25, 0.25], [1.0, 1.0], [0.0, 0.0]];
    let lines = shown(&step_number(11, rule, &states, 0.5));
    let texts: Vec<(&str, &str)> = lines.iter().map(|(rule, filled, _)| (rule.as_str(), filled.as_str())).collect();
    assert_eq!(
        texts[1..6],
        [
            ("m ← β₁ m + (1 − β₁) g", "0.9 · 0.1 + 0.1 · 0.3"),
            ("L ← β₂ L + (1 − β₂) g²", "0.99 · 0.5 + 0.01 · (0.3)²"),
            ("L′ ← β₂ L′ + (1 − β₂) g swap(g)", "0.99 · 0.25 + 0.01 · 0.3 · (−0.2)"),
            ("A′ = L′ / (1 − β₂ᵗ)", "0.2469 / 0.505"),
            ("A = L / (1 − β₂ᵗ) + ε", "0.4959 / 0.505 + 10⁻¹²"),
        ]
    );
    let rules: Vec<&str> = texts[6..].iter().map(|(rule, _)| *rule).collect();
    assert_eq!(
        rules,
        [
            "T = A + swap(A)",
            "D = √max(ε (T − ε), A swap(A) − A′²)",
            "P ← (swap(A) + D) / (D √(2 D + T))",
            "P′ ← −A′ / (D √(2 D + T))",
            "u = (P m + P′ swap(m)) / (1 − β₁ᵗ)",
            "s ← β₂′ s + (1 − β₂′) g²",
            "m̂ = m / (1 − β₁ᵗ)",
            "ŝ = s / (1 − β₂′ᵗ)",
            "v = m̂ / (√ŝ + ε′)",
            "d = u (‖v‖ / (‖u‖ + 10⁻¹⁶))",
            "θ ← θ − η (d + ω θ)",
        ]
    );
}

#[test]
fn soap_shows_what_is_along_its_axis_and_across_it() {
    let rule = RuleSpec::on_plane(RuleKind::Soap);
    let states = [[0.1, 0.2], [0.5; 2], [0.25; 2], [0.5, 1.0], [0.25, 0.25], [0.6, 0.8]];
    let rules = |number| shown(&step_number(number, rule, &states, 0.5)).into_iter().map(|(rule, ..)| rule);
    let usual = [
        "m ← β₁ m + (1 − β₁) g",
        "g₁ = q g + swap(q g)",
        "g₂ = q swap(g) − swap(q swap(g))",
        "s₁ ← β₂ s₁ + (1 − β₂) g₁²",
        "s₂ ← β₂ s₂ + (1 − β₂) g₂²",
        "m₁ = q m + swap(q m)",
        "m₂ = q swap(m) − swap(q swap(m))",
        "n₁ = m₁ / (√s₁ + ε)",
        "n₂ = m₂ / (√s₂ + ε)",
        "d = c (q n₁ − swap(q) n₂),  c = √(1 − β₂ⁿ) / (1 − β₁ⁿ),  n = t − 1",
        "L ← β₂ L + (1 − β₂) g²",
        "L′ ← β₂ L′ + (1 − β₂) g swap(g)",
        "p = L q + L′ swap(q)",
        "λ = q p + swap(q p)",
        "w = max(0, sign(L + swap(L) − 2 λ))",
        "p′ = (1 − w) p + w (swap(L) q − L′ swap(q))",
        "q ← (p′ + (1 − sign(‖p′‖)) q) / (‖p′‖ + 1 − sign(‖p′‖))",
        "θ ← θ − η (d + ω (θ − η d))",
    ];
    assert_eq!(rules(11).skip(1).collect::<Vec<_>>(), usual);
    // The axis turns in every tenth step after the first.
    let between: Vec<&str> = usual[..12].iter().chain(&usual[17..]).copied().collect();
    assert_eq!(rules(12).skip(1).collect::<Vec<_>>(), between);
    let first = rules(1).skip(1).collect::<Vec<_>>();
    assert!(first[2].starts_with("q ← (g + ") && first[3] == "θ ← θ", "{first:?}");
}

/// Checks that each number that a rule changes and keeps is shown with a formula, and so is the step, none of them
/// empty.
#[test]
fn every_registered_rule_shows_its_whole_step() {
    for &kind in RuleKind::ALL {
        let info = kind.info();
        // A step in which Sophia estimates the curvature.
        let step = step_number(11, RuleSpec::on_plane(kind), &vec![[0.1, 0.2]; info.states.len()], 0.5);
        let lines = formulas(&step);
        for part in info.states {
            // Muon's squares are for vectors, of which there are none here.
            let is_unused = kind == RuleKind::Muon && part.symbol == "s";
            let starts = format!("{} ← ", part.symbol);
            assert!(
                is_unused || lines.iter().any(|line| line.rule.starts_with(&starts)),
                "{}: {}",
                info.name,
                part.symbol
            );
        }
        let starts = if kind == RuleKind::ScheduleFree { "θ ← θ + c e" } else { "θ ← θ − η (" };
        assert!(lines.last().unwrap().rule.starts_with(starts), "{}", info.name);
        for line in &lines {
            assert!(!line.meaning.is_empty() && line.filled.iter().all(|filled| !filled.is_empty()), "{line:?}");
            assert!(line.result.iter().all(|value| value.is_finite()), "{line:?}");
        }
    }
}

#[test]
fn the_ends_of_a_tried_range_are_marked_with_what_to_widen() {
    let tried = [0.1, 0.001, 0.01];
    let mark = |best: f64| with_edge(RangeEdge::of(best, tried), "best");
    assert_eq!(tried.map(mark), ["≥ best", "≤ best", "best"]);
    let sentence = |best: f64| RangeEdge::of(best, tried).map(|edge| edge.sentence("the learning rates"));
    let above = "at the edge of the learning rates tried, 0.001 to 0.1: widen them above 0.1";
    assert_eq!(sentence(0.1).as_deref(), Some(above));
    assert_eq!(sentence(0.001), Some(above.replace("above 0.1", "below 0.001")));
    assert_eq!(sentence(f64::NAN), None);
    assert_eq!(RangeEdge::of(0.1, [0.1]), None, "nothing else was tried");
    assert_eq!(RangeEdge::of(0.1, []), None);
    let at_zero = RangeEdge::of(0.0, [0.0, 0.5]).unwrap();
    assert_eq!(at_zero.unless_limit([0.0, 1.0]), None, "nothing can be tried below 0");
    assert_eq!(at_zero.unless_limit([-1.0, 0.5]), Some(at_zero), "the other end is a limit");
}
