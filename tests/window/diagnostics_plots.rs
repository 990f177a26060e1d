//! The plots: their arithmetic, and the panel by its accessible names.

use egui::{Modifiers, Vec2, vec2};
use egui_kittest::Harness;
use egui_kittest::kittest::{NodeT as _, Queryable as _};
use valleyscope::app::landscape::plots::{Band, DiagnosticMetric, columns_for, csv_of};
use valleyscope::draw::DiagnosticCurve;
use valleyscope_engine::landscape::{LandscapeFormula, LandscapeKind, LandscapeSpec};
use valleyscope_engine::optimizer::{RuleKind, RuleSpec};
use valleyscope_engine::quantity::{LearningRate, Noise};
use valleyscope_engine::shares::Shares;
use valleyscope_engine::simulation::{Bucket, BucketSpread, OptimizerSpec, SimulationSpec};
use valleyscope_experiments::view::AxisScale;
use valleyscope_experiments::view::range::suiting;
use valleyscope_experiments::view::ticks::Ticks;

use crate::says::says;

use super::canvas_space::{Shown, Stage, advance_to, button, harness, three_optimizers, until};

fn flat(mean: f64, std: f64) -> BucketSpread {
    BucketSpread { steps: 2, mean_low: mean, mean, mean_high: mean, std, min: mean - 2.0 * std, max: mean + 2.0 * std }
}

fn bucket(first_step: u64, loss: f64, diverged: u32) -> Bucket {
    let one = flat(1.0, 0.5);
    Bucket {
        first_step,
        steps: 2,
        loss: flat(loss, 0.1),
        u: one,
        abs_v: one,
        effective_step: one,
        entropy: -3.0,
        free_energy: loss + 0.75,
        shares: Shares::from_array([0.1, 0.5, 0.4]),
        diverged,
    }
}

const LINEAR: [AxisScale; 2] = [AxisScale::Linear; 2];

#[test]
fn places_on_axes_convert_back_to_their_values() {
    for scale in [AxisScale::Linear, AxisScale::Log, AxisScale::SymLog { linear: 0.01 }] {
        for value in [1e-12, 0.003, 1.0, 7e5, 1e200] {
            assert!((scale.value(scale.position(value)) / value - 1.0).abs() < 1e-9, "{scale:?} {value}");
        }
    }
    let symlog = AxisScale::SymLog { linear: 0.1 };
    assert_eq!(symlog.position(0.0), 0.0);
    assert_eq!(symlog.position(-5.0), -symlog.position(5.0));
    assert!(AxisScale::Log.position(0.0).is_nan() && AxisScale::Log.position(-1.0).is_nan());
    assert!(symlog.position(f64::NAN).is_nan());
}

/// Returns the labels of an axis of `length` points between two places.
fn labels(scale: AxisScale, places: [f64; 2], length: f64, apart: f64) -> Vec<String> {
    Ticks::placed(scale, places, length, apart).into_iter().map(|tick| tick.label).collect()
}

#[test]
fn logarithmic_marks_are_at_round_values_as_close_as_there_is_room() {
    let labels = |low: f64, high: f64, points: f64| labels(AxisScale::Log, [low.log10(), high.log10()], points, 18.0);
    assert_eq!(labels(0.04, 1.5, 100.0), ["0.05", "0.1", "0.2", "0.5", "1"]);
    assert_eq!(labels(0.04, 1.5, 70.0), ["0.1", "0.3", "1"]);
    assert_eq!(labels(0.025, 35.0, 120.0), ["0.03", "0.1", "0.3", "1", "3", "10", "30"]);
    assert_eq!(labels(0.22, 0.83, 200.0), ["0.3", "0.5", "0.7"]);
    assert_eq!(labels(0.22, 0.83, 250.0), ["0.25", "0.3", "0.35", "0.4", "0.5", "0.6", "0.7", "0.8"]);
    assert!((2..=6).contains(&labels(1e-8, 1e4, 100.0).len()));
    assert!(labels(0.41, 0.45, 200.0).len() >= 2);
}

#[test]
fn marks_are_at_round_times() {
    let labels = |low: f64, high: f64| labels(AxisScale::Clock, [low, high], 600.0, 46.0);
    // 2026-01-01 00:00:00 UTC.
    let midnight = 1_767_225_600.0;
    assert_eq!(labels(midnight + 1.0, midnight + 3.9), ["00:00:01", "00:00:02", "00:00:03"]);
    assert_eq!(labels(midnight, midnight + 3600.0), ["01-01", "00:10", "00:20", "00:30", "00:40", "00:50", "01:00"]);
    let days = labels(midnight + 40_000.0, midnight + 210_000.0);
    assert_eq!(days, ["12:00", "18:00", "01-02", "06:00", "12:00", "18:00", "01-03", "06:00"]);
    // Every 50 days since 1970.
    assert_eq!(labels(midnight, midnight + 400.0 * 86_400.0).first().map(String::as_str), Some("02-16"));
}

#[test]
fn labels_of_an_axis_leave_nothing_out() {
    let linear = |low: f64, high: f64| labels(AxisScale::Linear, [low, high], 200.0, 46.0);
    assert_eq!(linear(0.0, 4e8), ["0", "1×10⁸", "2×10⁸", "3×10⁸", "4×10⁸"]);
    assert_eq!(linear(2.000_001, 2.000_021), ["2.000005", "2.000010", "2.000015", "2.000020"]);
    assert_eq!(labels(AxisScale::Percent, [0.9, 1.0], 140.0, 46.0), ["90 %", "95 %", "100 %"]);
}

#[test]
fn axes_far_beyond_all_numbers_have_marks_in_bounded_time() {
    for scale in [AxisScale::Log, AxisScale::SymLog { linear: 0.01 }, AxisScale::Linear] {
        for [low, high] in [[-1e9, 1e9], [400.0, 500.0], [-500.0, -400.0]] {
            assert!(labels(scale, [low, high], 200.0, 28.0).len() < 40, "{scale:?} from {low} to {high}");
        }
    }
}

#[test]
fn logarithmic_axes_are_marked_at_decades() {
    // On an axis of 280 points.
    let text = |scale: AxisScale, low: f64, high: f64| labels(scale, [low, high], 280.0, 46.0);
    assert_eq!(text(AxisScale::Log, -2.2, 2.1), ["0.01", "0.1", "1", "10", "100"]);
    assert_eq!(text(AxisScale::Log, 0.0, 0.7), ["1", "2", "3", "5"]);
    assert_eq!(text(AxisScale::Log, -9.0, 90.0), ["1", "10²⁰", "10⁴⁰", "10⁶⁰", "10⁸⁰"]);
    let symlog = AxisScale::SymLog { linear: 0.1 };
    let marks = text(symlog, symlog.position(-12.0), symlog.position(1.2));
    for expected in ["−10", "−1", "0", "1"] {
        assert!(marks.contains(&expected.to_owned()), "{marks:?}");
    }
}

#[test]
fn a_diverged_curve_has_a_gap_and_reports_the_divergence() {
    let buckets = [bucket(0, 1.0, 0), bucket(2, f64::NAN, 3), bucket(4, f64::NAN, 5), bucket(6, 2.0, 5)];
    let curve = DiagnosticCurve::new(&buckets, DiagnosticMetric::Loss, Band::Deviation, LINEAR);
    assert_eq!(curve.runs.len(), 2, "a gap where the mean is not finite");
    assert_eq!(curve.diverged, Some((2, 5)));
    assert_eq!(curve.runs[0][0].x, 0.5, "a point stands in the middle of its bucket");
    assert_eq!(curve.runs[0][0].band, Some([0.9, 1.1]));
}

#[test]
fn values_without_a_logarithm_are_gaps() {
    let buckets = [bucket(0, -1.0, 0), bucket(2, 0.0, 0), bucket(4, 3.0, 0)];
    let curve =
        DiagnosticCurve::new(&buckets, DiagnosticMetric::Loss, Band::Hidden, [AxisScale::Linear, AxisScale::Log]);
    assert_eq!(curve.points().count(), 1);
    let start = DiagnosticCurve::new(
        &[bucket(0, 1.0, 0)],
        DiagnosticMetric::Loss,
        Band::Hidden,
        [AxisScale::Log, AxisScale::Linear],
    );
    assert_eq!(start.points().count(), 1, "half a step after the start has a logarithm");
}

#[test]
fn the_free_energy_is_that_of_the_history() {
    let value = DiagnosticMetric::FreeEnergy.value(&bucket(0, 1.0, 0));
    assert_eq!(value.mean, 1.75, "as the history has it, with the temperature of each step");
    assert!(value.std.is_nan(), "an ensemble's entropy has no spread over particles");
    let undefined = Bucket { entropy: f64::NAN, free_energy: f64::NAN, ..bucket(0, 1.0, 0) };
    let curve = DiagnosticCurve::new(&[undefined], DiagnosticMetric::FreeEnergy, Band::Deviation, LINEAR);
    assert!(!curve.defined && curve.runs.is_empty());
}

#[test]
fn the_table_reads_back_exactly() {
    let buckets = [bucket(0, 0.1 + 0.2, 0), bucket(2, f64::NAN, 4)];
    let text = csv_of(&[("Adam, \"tuned\"", &buckets)], &[DiagnosticMetric::Loss, DiagnosticMetric::FreeEnergy]);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "first_step,last_step,optimizer,metric,mean,mean_low,mean_high,std,min,max,diverged");
    assert_eq!(lines.len(), 1 + 2 * 2);
    assert!(lines[1].starts_with("0,1,\"Adam, \"\"tuned\"\"\",loss,0.30000000000000004,"), "{}", lines[1]);
    assert!(lines[2].contains(",loss,NaN,") && lines[2].ends_with(",4"), "{}", lines[2]);
    assert!(lines[3].contains(",free_energy,"));
}

#[test]
fn a_few_runaway_curves_do_not_flatten_the_others() {
    let calm = ([-1.0, 2.0], Some([-1.5, 2.5]));
    let runaway = ([0.0, 1e40], Some([-1e40, 1e41]));
    let noisy = ([0.0, 1.0], Some([-900.0, 900.0]));
    assert_eq!(suiting(&[calm, calm, runaway]), Some([-1.5, 2.5]));
    assert_eq!(suiting(&[calm, runaway]), Some([-1.5, 2.5]));
    assert_eq!(suiting(&[calm, calm, runaway, ([0.0, 1e39], None)]), Some([-1.5, 2.5]));
    assert_eq!(suiting(&[calm, calm, noisy]), Some([-1.5, 2.5]), "the mean counts, the wide band does not");
    assert_eq!(suiting(&[runaway]), Some([-1e40, 1e41]), "alone it is all there is to see");
    let slow = ([0.0, 0.001], None);
    assert_eq!(suiting(&[calm, calm, slow]), Some([-1.5, 2.5]), "a slow one does not make the others runaways");
    assert_eq!(suiting(&[]), None);
}

#[test]
fn small_axes_have_two_labels() {
    for (scale, low, high) in [
        (AxisScale::Linear, 0.3, 1.9),
        (AxisScale::Log, -0.6, 0.9),
        (AxisScale::Log, -3.2, 2.4),
        (AxisScale::Linear, -7e-5, 2e-5),
    ] {
        let marks = labels(scale, [low, high], 60.0, 28.0);
        assert!(marks.len() >= 2, "{scale:?} from {low} to {high} has {marks:?}");
    }
}

#[test]
fn plots_are_laid_out_to_suit_the_space() {
    assert_eq!(columns_for(4, vec2(800.0, 600.0), 0.0), 2);
    assert_eq!(columns_for(4, vec2(1400.0, 200.0), 0.0), 4);
    assert_eq!(columns_for(4, vec2(260.0, 900.0), 0.0), 1);
    assert_eq!(columns_for(4, vec2(340.0, 200.0), 88.0), 1, "names have room");
    assert_eq!(columns_for(4, vec2(340.0, 200.0), 0.0), 2, "all have room");
    assert_eq!(columns_for(1, vec2(900.0, 200.0), 0.0), 1);
    assert_eq!(columns_for(3, Vec2::ZERO, 0.0), 1);
}

fn at_step(spec: SimulationSpec, step: u64) -> Harness<'static, Stage> {
    let mut harness = harness(Stage::new(spec, Shown::Diagnostics, None), [760.0, 560.0]);
    advance_to(&mut harness, step);
    harness
}

#[test]
fn each_plot_has_a_name_and_describes_its_last_values() {
    let harness = at_step(three_optimizers(20), 50);
    for metric in
        [DiagnosticMetric::Loss, DiagnosticMetric::Depth, DiagnosticMetric::AbsV, DiagnosticMetric::EffectiveStep]
    {
        let label = format!("Plot of {}", metric.info(&LandscapeSpec::default()).expect("the valley has it").title);
        says(harness.get_by_label(&label).value().expect("a summary"), &["Adam", "FOCUS"]);
    }
    assert!(harness.query_by_label("Plot of free energy F = E − ΘS").is_none());
}

/// Returns the texts that are drawn.
fn drawn(harness: &Harness<'_, Stage>) -> Vec<String> {
    let texts = harness.output().shapes.iter().filter_map(|clipped| match &clipped.shape {
        egui::Shape::Text(text) => Some(text.galley.text().to_owned()),
        _ => None,
    });
    texts.collect()
}

#[test]
fn plots_at_step_0_have_the_axes_of_the_run_to_come() {
    let harness = at_step(SimulationSpec { steps: Some(800), ..three_optimizers(20) }, 0);
    let texts = drawn(&harness);
    for expected in ["800", "−0.2"] {
        assert!(texts.iter().any(|text| text == expected), "no {expected} in {texts:?}");
    }
    assert!(!texts.iter().any(|text| text.contains('.') && text.contains("×10")), "{texts:?}");
}

#[test]
fn names_are_at_the_ends_of_curves_and_one_plot_says_who_is_ahead() {
    let harness = at_step(three_optimizers(60), 400);
    let texts = drawn(&harness);
    let count = |of: &dyn Fn(&str) -> bool| texts.iter().filter(|text| of(text)).count();
    assert!(count(&|text| text == "Adam") >= 2, "no names at the ends of curves: {texts:?}");
    let ahead = ["loss L", "depth u", "spread |v|", "effective step size"].map(|plot| {
        let value = harness.get_by_label(&format!("Plot of {plot}")).value().expect("a summary");
        value.contains("is ahead from step")
    });
    assert_eq!(ahead, [true, false, false, false]);
    assert!(count(&|text| text == "best L") == 1, "one strip shows the leader: {texts:?}");
}

#[test]
fn plots_are_those_of_the_landscape_and_come_back_with_it() {
    let mut harness = at_step(three_optimizers(20), 50);
    let shown = |harness: &Harness<'_, Stage>, label: &str| harness.query_by_label(label).is_some();
    assert!(shown(&harness, "Plot of depth u") && shown(&harness, "Spread |v|"));
    let choose = |harness: &mut Harness<'_, Stage>, kind| {
        harness.state_mut().document.spec_mut(0).landscape = LandscapeSpec::new(kind);
        harness.run_steps(3);
    };
    choose(&mut harness, LandscapeKind::Rosenbrock);
    for label in ["Plot of depth u", "Plot of spread |v|", "Depth u", "Spread |v|"] {
        assert!(!shown(&harness, label), "Rosenbrock has no {label}");
    }
    assert!(shown(&harness, "Plot of loss L") && shown(&harness, "Plot of effective step size"));
    choose(&mut harness, LandscapeKind::River);
    assert!(shown(&harness, "Plot of depth u") && shown(&harness, "Plot of distance |v|"));
    let of_text = LandscapeFormula::new("Bent valley", "L = u^2*v^2 - u").unwrap();
    choose(&mut harness, LandscapeKind::Formula(of_text));
    assert!(shown(&harness, "Plot of reach u"));
    choose(&mut harness, LandscapeKind::Beale);
    for label in ["Loss", "Effective step"] {
        harness.get_by_label(label).click();
        harness.run_steps(3);
    }
    assert!(shown(&harness, "Beale has none of the chosen plots. Choose others above."));
    choose(&mut harness, LandscapeKind::Valley);
    assert!(shown(&harness, "Plot of depth u") && shown(&harness, "Plot of spread |v|"), "the choice is kept");
}

#[test]
fn metrics_are_chosen_and_axes_switched() {
    let mut harness = at_step(three_optimizers(20), 50);
    harness.get_by_label("Free energy").click();
    button(&mut harness, "Loss");
    assert!(harness.query_by_label("Plot of loss L").is_none());
    let value = harness.get_by_label("Plot of free energy F = E − ΘS").value().expect("a summary");
    assert!(!value.contains('—'), "20 particles have an entropy: {value}");
    harness.get_by_label("Logarithmic axis of Free energy").click();
    harness.get_by_label("Log steps").click();
    harness.run_steps(60);
    let last = harness.state().commands.iter().rfind(|command| command.starts_with("Plot")).expect("a request");
    assert!(last.contains("log_steps: true"), "{last}");
}

#[test]
fn the_temperature_is_the_learning_rate_until_it_is_set() {
    let mut harness = at_step(three_optimizers(20), 10);
    button(&mut harness, "Free energy");
    button(&mut harness, "Temperature is the learning rate");
    let temperature = harness.state().document.spec(0).temperature.expect("one of its own");
    assert_eq!(temperature.get(), 0.01);
    harness.get_by_label("Temperature Θ");
}

#[test]
fn few_particles_have_no_free_energy() {
    let mut harness = at_step(three_optimizers(2), 20);
    button(&mut harness, "Free energy");
    let value = harness.get_by_label("Plot of free energy F = E − ΘS").value().expect("a summary");
    assert_eq!(value, "Adam —, Signum —, FOCUS —");
}

#[test]
fn frozen_plots_stay_while_the_run_continues() {
    let mut harness = at_step(three_optimizers(20), 50);
    let before = harness.get_by_label("Plot of loss L").value();
    button(&mut harness, "Freeze the plots");
    advance_to(&mut harness, 500);
    assert_eq!(harness.get_by_label("Plot of loss L").value(), before);
    button(&mut harness, "Freeze the plots");
    assert_ne!(harness.get_by_label("Plot of loss L").value(), before);
}

fn wheel(modifiers: Modifiers) -> egui::Event {
    egui::Event::MouseWheel {
        source: egui::MouseWheelSource::Wheel,
        unit: egui::MouseWheelUnit::Point,
        delta: vec2(0.0, 240.0),
        phase: egui::TouchPhase::Move,
        modifiers,
    }
}

#[test]
fn with_shift_a_plot_is_zoomed_vertically_and_a_double_click_shows_everything() {
    let mut harness = at_step(three_optimizers(20), 500);
    let is_zoomed = |harness: &Harness<'_, Stage>| !harness.get_by_label("Reset zoom").accesskit_node().is_disabled();
    let requests = |harness: &Harness<'_, Stage>| {
        harness.state().commands.iter().filter(|command| command.starts_with("Plot")).count()
    };
    let center = harness.get_by_label("Plot of loss L").rect().center();
    harness.hover_at(center);
    harness.run_steps(60);
    let before = requests(&harness);
    harness.event_modifiers(wheel(Modifiers::SHIFT), Modifiers::SHIFT);
    harness.run_steps(60);
    assert!(is_zoomed(&harness));
    assert_eq!(requests(&harness), before, "the steps in view are as before");
    // Each event has a frame of its own, a quarter of a second long.
    harness.ctx.options_mut(|options| options.input_options.max_double_click_delay = 1.0);
    for pressed in [true, false, true, false] {
        let (button, modifiers) = (egui::PointerButton::Primary, Modifiers::NONE);
        harness.event(egui::Event::PointerButton { pos: center, button, pressed, modifiers });
    }
    harness.run_steps(3);
    assert!(!is_zoomed(&harness));
}

#[test]
fn zooming_asks_for_more_detail_and_resetting_for_everything() {
    let mut harness = at_step(three_optimizers(20), 5000);
    let center = harness.get_by_label("Plot of loss L").rect().center();
    harness.hover_at(center);
    harness.event(wheel(Modifiers::NONE));
    harness.run_steps(60);
    until(&mut harness, "a part is requested", |stage| {
        stage.commands.iter().any(|command| command.starts_with("Plot") && command.contains("last_step: Some"))
    });
    harness.remove_cursor();
    harness.get_by_label("Reset zoom").click();
    harness.run_steps(60);
    let last = harness.state().commands.iter().rfind(|command| command.starts_with("Plot")).expect("a request");
    assert!(last.contains("first_step: 0") && last.contains("last_step: None"), "{last}");
}

#[test]
fn plots_of_a_lesson_leave_the_choice_of_plots_as_it_was() {
    let mut harness = at_step(three_optimizers(20), 10);
    let chosen = harness.state().diagnostics.choices();
    // Returns whether the free energy and the loss are plotted while a lesson points at these metrics.
    let plots = |harness: &mut Harness<'_, Stage>, pointed_at: &[DiagnosticMetric]| {
        harness.state_mut().diagnostics.point_at(pointed_at);
        harness.run_steps(3);
        ["free energy F = E − ΘS", "loss L"].map(|title| harness.query_by_label(&format!("Plot of {title}")).is_some())
    };
    let free_energy = [DiagnosticMetric::FreeEnergy];
    assert_eq!(plots(&mut harness, &free_energy), [true, true]);
    assert_eq!(harness.state().diagnostics.choices(), chosen);
    button(&mut harness, "Free energy");
    assert_eq!(plots(&mut harness, &free_energy), [false, true], "hidden while the lesson points at it");
    assert_eq!(plots(&mut harness, &[]), [false, true]);
    assert_eq!(plots(&mut harness, &free_energy), [true, true], "at another step it is shown again");
    assert_eq!(plots(&mut harness, &[]), [false, true]);
    assert_eq!(harness.state().diagnostics.choices(), chosen);
}

/// Returns three optimizers, and SGD with a learning rate at which it diverges.
fn with_diverging_sgd() -> SimulationSpec {
    let mut spec = three_optimizers(20);
    spec.landscape.set("sharpness", 1000.0).unwrap();
    spec.noise = Noise::clamped(3.0).into();
    let rule = RuleSpec::on_plane(RuleKind::Sgd).with("weight_decay", 0.0).unwrap();
    let rule = rule.rated(LearningRate::clamped(1.0));
    spec.optimizers.push(OptimizerSpec { id: 9, name: None, color: None, enabled: true, rule });
    spec
}

#[test]
fn a_diverged_optimizer_leaves_the_plot_at_a_mark_unless_the_whole_range_is_shown() {
    let mut harness = at_step(with_diverging_sgd(), 300);
    let marks = |harness: &Harness<'_, Stage>| harness.query_all_by_label_contains("SGD, η 1, ω 0: up to ").count();
    assert!(marks(&harness) > 0);
    button(&mut harness, "Whole range");
    assert_eq!(marks(&harness), 0);
}

#[test]
fn extreme_settings_leave_a_window_that_draws() {
    let mut harness = at_step(with_diverging_sgd(), 300);
    for label in ["Log steps", "Logarithmic axis of Loss", "Logarithmic axis of Depth u"] {
        harness.get_by_label(label).click();
        harness.run_steps(3);
        let shapes = harness.output().shapes.clone();
        // Drawn shapes have finite corners: the tessellator refuses anything else.
        let _ = harness.ctx.tessellate(shapes, 1.0);
    }
    let value = harness.get_by_label("Plot of loss L").value().expect("a summary");
    assert!(value.contains("SGD, η 1, ω 0 —"), "a diverged optimizer is said to have no mean: {value}");
}
