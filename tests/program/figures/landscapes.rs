//! The figure of a landscape.

use std::collections::BTreeSet;

use base64::Engine;
use resvg::usvg::roxmltree::{Document, Node};
use valleyscope::draw::{
    CurveAxis, CurveLines, CurvePlot, Curves, Figure, FigureError, Format, Options, PAGE_MM, Trajectories,
    TrajectoriesError,
};
use valleyscope_engine::landscape::{LandscapeFormula, LandscapeKind, LandscapeSpec};
use valleyscope_engine::optimizer::RuleKind;
use valleyscope_engine::quantity::{LearningRate, Noise, StartCoordinate};
use valleyscope_engine::simulation::{Setting, Simulation};
use valleyscope_experiments::preset::{LandscapePreset, Preset, PresetSimulation, built_ins};
use valleyscope_experiments::view::{
    AxisScale, Camera, HeightField, Orbit, Pen, SpaceView, SymLog, ViewProjection, ViewSettings,
};

use super::grids::{dashes, frames, height_of, is_colored, near, paths, texts};

const ADAM: &str = "#f46f43";
/// The widths of means, and of contour lines.
const MEAN: &str = "1.1";
const CONTOUR: &str = "0.5";

/// Frames in the order in which they are drawn.
const GROUND: usize = 0;
const OVER_STEPS: usize = 2;
const ALONG_FLOOR: usize = 3;

fn preset(name: &str) -> LandscapePreset {
    let found = built_ins().iter().find(|built_in| built_in.name == name).expect("a built-in preset");
    let Preset::Landscape(preset) = &found.preset else { panic!("{name} is a landscape") };
    preset.clone()
}

/// Returns a preset of so few steps that each of them is a point of the curves.
fn short() -> LandscapePreset {
    let mut preset = preset("fig1c");
    preset.spec_mut().steps = Some(200);
    preset.spec_mut().start.x = StartCoordinate::clamped(0.3);
    preset.spec_mut().start.y = StartCoordinate::clamped(-0.1);
    preset
}

fn complete(preset: &LandscapePreset) -> Trajectories {
    let mut trajectories = Trajectories::new(preset).expect("there are optimizers");
    while !trajectories.is_complete() {
        trajectories.advance();
    }
    trajectories
}

fn drawn(preset: &LandscapePreset, width_mm: f64) -> String {
    let options = Options { width_mm, ..Options::default() };
    Figure::landscape(&complete(preset)).render(&options).expect("rendered").to_string()
}

/// Converts a value to its place on the paper and back, by two labels of an axis.
struct Axis {
    values: [f64; 2],
    places: [f64; 2],
}

impl Axis {
    fn by(labels: impl Iterator<Item = (f64, f64)>) -> Axis {
        let labels: Vec<(f64, f64)> = labels.collect();
        let (first, last) = (labels[0], labels[labels.len() - 1]);
        assert!(labels.len() >= 2 && first.0 != last.0, "labels at the axis: {labels:?}");
        Axis { values: [first.0, last.0], places: [first.1, last.1] }
    }

    fn place(&self, value: f64) -> f64 {
        let part = (value - self.values[0]) / (self.values[1] - self.values[0]);
        self.places[0] + part * (self.places[1] - self.places[0])
    }

    fn value(&self, place: f64) -> f64 {
        let part = (place - self.places[0]) / (self.places[1] - self.places[0]);
        self.values[0] + part * (self.values[1] - self.values[0])
    }
}

/// Returns the horizontal and the vertical axis of a frame, by the labels right below and right beside it.
fn axes(document: &Document<'_>, frame: usize) -> [Axis; 2] {
    const NEAR: f64 = 26.0;
    let [left, top, right, bottom] = frames(document)[frame];
    let number = |text: &str| text.replace('−', "-").replace('\u{2009}', "").parse::<f64>().ok();
    let texts = texts(document);
    let below = texts.iter().filter(|(_, x, y)| (bottom..bottom + NEAR).contains(y) && (left..=right).contains(x));
    let beside = texts.iter().filter(|(_, x, y)| (left - NEAR..left).contains(x) && (top..=bottom).contains(y));
    let below = Axis::by(below.filter_map(|(text, x, _)| Some((number(text)?, *x))));
    [below, Axis::by(beside.filter_map(|(text, _, y)| Some((number(text)?, *y))))]
}

#[test]
fn the_file_describes_its_content() {
    let preset = preset("saturation");
    let svg = drawn(&preset, PAGE_MM);
    let document = Document::parse(&svg).expect("well-formed XML");
    let texts: Vec<&str> = texts(&document).into_iter().map(|(text, ..)| text).collect();
    for label in ["x", "y", "u", "v", "loss L", "steps", "depth u", "Adam", "FOCUS"] {
        assert!(texts.contains(&label), "{label} is not among {texts:?}");
    }
    for part in ["L(u, v = 0) = −cu", "means of 100 particles"] {
        assert!(texts.iter().any(|text| text.contains(part)), "{part} is not in {texts:?}");
    }
    let description = document.descendants().find(|node| node.tag_name().name() == "description");
    let text = description.and_then(|node| node.text()).expect("the preset");
    assert_eq!(Preset::parse(text, "the figure").expect("a preset"), Preset::Landscape(preset));
}

#[test]
fn the_loss_along_a_depth_is_drawn_inside_its_panel() {
    let mut preset = short();
    for (kind, has_depth) in [
        (LandscapeKind::PowerValley, true),
        (LandscapeKind::BoundedValley, true),
        (LandscapeKind::Quadratic, false),
        (LandscapeKind::Rosenbrock, false),
        (LandscapeKind::Beale, false),
    ] {
        preset.spec_mut().landscape = LandscapeSpec::new(kind);
        let svg = drawn(&preset, PAGE_MM);
        let document = Document::parse(&svg).expect("well-formed XML");
        let texts = texts(&document);
        let is_there = |part: &str| texts.iter().any(|(text, ..)| text.contains(part));
        assert!(!is_there("−cu"), "{}", kind.key());
        assert_eq!(is_there("loss on the axis of u, L(u, v = 0)"), has_depth, "{}", kind.key());
        assert_eq!(is_there("depth u"), has_depth, "{}", kind.key());
        if has_depth {
            // The floor lies inside its panel, whatever the losses of the optimizers.
            let [left, top, right, bottom] = frames(&document)[ALONG_FLOOR];
            let floor = &paths(&document, "#787878", MEAN)[0];
            let is_inside =
                |[x, y]: &[f64; 2]| (left - 0.1..=right + 0.1).contains(x) && (top - 0.1..=bottom + 0.1).contains(y);
            assert!(floor.len() > 1 && floor.iter().all(is_inside), "{}: {floor:?}", kind.key());
        }
    }
}

/// Returns the picture of the landscape.
fn picture(document: &Document<'_>) -> image::RgbImage {
    let image = document.descendants().find(|node| node.has_tag_name("image")).expect("a picture");
    let link = image.attribute(("http://www.w3.org/1999/xlink", "href")).expect("an address");
    let data = link.strip_prefix("data:image/png;base64,").expect("an embedded PNG file");
    let png = base64::engine::general_purpose::STANDARD.decode(data).expect("base64");
    image::load_from_memory(&png).expect("a PNG file").to_rgb8()
}

#[test]
fn losses_that_are_no_numbers_are_hatched() {
    let mut preset = short();
    let formula = LandscapeFormula::new("Half a plane", "L = ln(x) + y^2").expect("a loss");
    preset.spec_mut().landscape = LandscapeSpec::new(LandscapeKind::Formula(formula));
    preset.spec_mut().start.x = StartCoordinate::clamped(1.0);
    let camera = Camera::new([0.0, 0.0], 4.0);
    preset.view = Some(ViewSettings { camera: Some(camera), follow: false, ..ViewSettings::default() });
    let svg = drawn(&preset, PAGE_MM);
    let document = Document::parse(&svg).expect("well-formed XML");
    let picture = picture(&document);
    let [lines, between] = [[56; 3], [107; 3]];
    for y in (0..picture.height()).step_by(7) {
        let row: Vec<[u8; 3]> = (0..picture.width()).map(|x| picture.get_pixel(x, y).0).collect();
        let (left, right) = row.split_at(row.len() / 2);
        assert!(left.contains(&lines) && left.contains(&between), "row {y}");
        assert!(left.iter().all(|rgb| [lines, between].contains(rgb)), "row {y}");
        assert!(right.iter().all(|rgb| ![lines, between].contains(rgb)), "row {y}");
    }
    // The lines are slanted.
    let first = |y: u32| (0..picture.width()).position(|x| picture.get_pixel(x, y).0 == between);
    assert_ne!(first(0), first(1));
}

#[test]
fn the_axis_of_losses_has_at_least_two_labels() {
    let mut preset = short();
    for slope in [0.1, 0.137, 0.7, 3.3] {
        preset.spec_mut().landscape.set("slope", slope).expect("a slope");
        for width_mm in [85.0, 120.0, PAGE_MM] {
            let svg = drawn(&preset, width_mm);
            let document = Document::parse(&svg).expect("well-formed XML");
            for frame in [OVER_STEPS, ALONG_FLOOR] {
                // Two labels with different values are expected there.
                axes(&document, frame);
            }
        }
    }
}

#[test]
fn the_name_of_the_losses_axis_in_space_touches_no_label() {
    for (min, max) in [(-5.0, 5.0), (0.0, 10.0)] {
        let mut preset = short();
        preset.view = Some(ViewSettings {
            projection: ViewProjection::Space,
            scale: Some(SymLog { linear: 0.01, min, max }),
            ..ViewSettings::default()
        });
        for width_mm in [85.0, PAGE_MM] {
            let svg = drawn(&preset, width_mm);
            let document = Document::parse(&svg).expect("well-formed XML");
            let texts = texts(&document);
            let (_, x, y) = texts.iter().find(|(text, ..)| *text == "loss L").expect("the axis");
            let nearest = texts.iter().filter(|(text, at, _)| *text != "loss L" && (at - x).abs() < 30.0);
            let distance = nearest.map(|(.., height)| (height - y).abs()).fold(f64::INFINITY, f64::min);
            assert!(distance > 7.0, "{distance} points at {width_mm} mm with {max}");
        }
    }
}

#[test]
fn trajectories_lead_from_the_start_to_where_the_simulation_ends() {
    let preset = short();
    let svg = drawn(&preset, PAGE_MM);
    let document = Document::parse(&svg).expect("well-formed XML");
    let [x, y] = axes(&document, GROUND);
    let mut simulation = Simulation::new(preset.spec().clone());
    let start = simulation.ensembles()[0].mean_position();
    (0..200).for_each(|_| simulation.advance());
    let end = simulation.ensembles()[0].mean_position();
    let mean = &paths(&document, ADAM, MEAN)[0];
    for ([at_x, at_y], [expected_x, expected_y]) in [(mean[0], start), (mean[mean.len() - 1], end)] {
        near(at_x, x.place(expected_x));
        near(at_y, y.place(expected_y));
    }
    assert!((start[0] - 0.3).abs() < 1e-3, "the start that was asked for");
    // Single particles begin within some spreads of the start.
    let particles = paths(&document, ADAM, "0.35");
    assert!(particles[0].len() > 100);
    let [first_x, first_y] = particles[0][0];
    assert!((first_x - x.place(0.3)).hypot(first_y - y.place(-0.1)) < 1.0);
}

#[test]
fn contour_lines_have_the_losses_of_their_levels() {
    contours_have_their_levels(SymLog::symmetric(0.01, 0.5));
    contours_have_their_levels(SymLog { linear: 0.01, min: -0.03, max: 0.5 });
}

fn contours_have_their_levels(scale: SymLog) {
    let mut preset = short();
    preset.view = Some(ViewSettings { scale: Some(scale), ..ViewSettings::default() });
    let svg = drawn(&preset, PAGE_MM);
    let document = Document::parse(&svg).expect("well-formed XML");
    let ([x, y], [left, _, right, _]) = (axes(&document, GROUND), frames(&document)[GROUND]);
    let landscape = preset.spec().landscape.landscape();
    let mut levels = BTreeSet::new();
    let lines = ["#000000", "#ffffff"].map(|color| paths(&document, color, CONTOUR)).concat();
    for [at_x, at_y] in lines.into_iter().flatten().filter(|[x, _]| (left..=right).contains(x)) {
        let loss = landscape.loss([x.value(at_x), y.value(at_y)]);
        let level = (scale.position(loss) - scale.position(0.0)) * f64::from(SymLog::CONTOURS);
        assert!((level - level.round()).abs() < 0.01, "a contour line at the loss {loss}, level {level}");
        levels.insert(level.round() as i64);
    }
    assert!(levels.len() >= 8, "{levels:?}");
    assert!(levels.contains(&0), "the loss 0: {levels:?}");
}

#[test]
fn without_contours_and_axes_of_the_valley_there_are_none() {
    let mut preset = short();
    preset.view = Some(ViewSettings { contours: false, uv_frame: false, ..ViewSettings::default() });
    let svg = drawn(&preset, PAGE_MM);
    let document = Document::parse(&svg).expect("well-formed XML");
    assert!(["#000000", "#ffffff"].iter().all(|color| paths(&document, color, CONTOUR).is_empty()));
    assert!(texts(&document).iter().all(|(text, ..)| *text != "u"));
}

#[test]
fn in_space_ends_lie_on_the_surface_and_axes_have_names() {
    let mut preset = short();
    let (camera, scale) = (Camera::new([0.5, 0.2], 2.0), SymLog::symmetric(0.02, 5.0));
    let orbit = Orbit { azimuth: -60.0, elevation: 50.0 };
    preset.view = Some(ViewSettings {
        projection: ViewProjection::Space,
        orbit: Some(orbit),
        follow: false,
        camera: Some(camera),
        scale: Some(scale),
        ..ViewSettings::default()
    });
    let mut simulation = Simulation::new(preset.spec().clone());
    (0..200).for_each(|_| simulation.advance());
    let mean = simulation.ensembles()[0].mean_position();
    let landscape = preset.spec().landscape.landscape();
    let loss = |xy| landscape.loss(xy);
    for width_mm in [85.0, PAGE_MM] {
        let svg = drawn(&preset, width_mm);
        let document = Document::parse(&svg).expect("well-formed XML");
        for name in ["x", "y", "loss L"] {
            assert!(texts(&document).iter().any(|(text, ..)| *text == name), "no axis {name}");
        }
        let image = document.descendants().find(|node| node.has_tag_name("image")).expect("the surface");
        let number = |node: &resvg::usvg::roxmltree::Node<'_, '_>, name: &str| -> f64 {
            node.attribute(name).and_then(|text| text.parse().ok()).expect("a number")
        };
        let [x, y, width, height] = ["x", "y", "width", "height"].map(|name| number(&image, name));
        let view = SpaceView { camera, orbit, size_px: [width as f32, height as f32], cover: 0.0 };
        let heights = HeightField::sample(loss, camera, &scale);
        let [px, py] = view.project(heights.point(view.box_from_xy(mean)).expect("in view")).px.map(f64::from);
        let circles = document.descendants().filter(|node| node.has_tag_name("circle"));
        let ends: Vec<[f64; 2]> = circles.map(|circle| ["cx", "cy"].map(|name| number(&circle, name))).collect();
        let nearest = ends.iter().map(|end| (end[0] - x - px).hypot(end[1] - y - py)).fold(f64::INFINITY, f64::min);
        assert!(nearest < 0.05, "no end at {px}, {py}, but at {ends:?}");
    }
}

#[test]
fn along_the_valley_the_axes_are_u_and_v_and_the_stretch_is_named() {
    let mut preset = short();
    preset.view = Some(ViewSettings { projection: ViewProjection::Valley, ..ViewSettings::default() });
    let svg = drawn(&preset, PAGE_MM);
    let document = Document::parse(&svg).expect("well-formed XML");
    let texts = texts(&document);
    for name in ["u", "v"] {
        assert!(texts.iter().any(|(text, ..)| *text == name), "no axis {name}");
    }
    assert!(texts.iter().all(|(text, ..)| !["x", "y"].contains(text)));
    let named = |text: &str| ["stretched ", "shrunk "].iter().find_map(|is| text.strip_prefix(is)).map(str::to_owned);
    let stretch = texts.iter().find_map(|(text, ..)| named(text)).expect("the stretch is named");
    let stretch: f64 = stretch.trim_end_matches('×').parse().expect("a number");
    assert!(stretch.log2().fract() == 0.0, "{stretch}");
    // The final means are where the labels of the axes say.
    let mut simulation = Simulation::new(preset.spec().clone());
    (0..200).for_each(|_| simulation.advance());
    let uv = preset.spec().landscape.landscape().uv_from_xy(simulation.ensembles()[0].mean_position());
    let [across, up] = axes(&document, GROUND);
    let mean = &paths(&document, ADAM, MEAN)[0];
    let [x, y] = mean[mean.len() - 1];
    near(x, across.place(uv[0]));
    near(y, up.place(uv[1]));
}

#[test]
fn losses_are_drawn_at_their_labels() {
    let preset = short();
    let mut simulation = Simulation::new(preset.spec().clone());
    (0..200).for_each(|_| simulation.advance());
    let sample = *simulation.ensembles()[0].sample();
    for width_mm in [85.0, PAGE_MM] {
        let svg = drawn(&preset, width_mm);
        let document = Document::parse(&svg).expect("well-formed XML");
        let [steps, losses] = axes(&document, OVER_STEPS);
        // The mean's path on the landscape comes first.
        let curve = &paths(&document, ADAM, MEAN)[1];
        let [x, y] = curve[curve.len() - 1];
        near(x, steps.place(200.0));
        near(y, losses.place(sample.loss.mean));
        let [depths, losses] = axes(&document, ALONG_FLOOR);
        let circles = document.descendants().filter(|node| node.has_tag_name("circle"));
        let is_there = |name: &str, at: f64, node: resvg::usvg::roxmltree::Node<'_, '_>| {
            node.attribute(name)
                .and_then(|place| place.parse::<f64>().ok())
                .is_some_and(|place| (place - at).abs() < 0.01)
        };
        let mut marks = circles.filter(|node| {
            is_there("cx", depths.place(sample.u.mean), *node) && is_there("cy", losses.place(sample.loss.mean), *node)
        });
        assert!(marks.next().is_some(), "Adam's marker along the floor");
        let floor = &paths(&document, "#787878", MEAN)[0];
        let (from, to) = (floor[0], floor[floor.len() - 1]);
        for [x, y] in [from, to] {
            near(y, losses.place(-0.1 * depths.value(x)));
        }
    }
}

#[test]
fn the_view_of_a_preset_that_does_not_follow_is_kept() {
    let mut preset = short();
    let camera = Camera::new([10.0, -5.0], 4.0);
    preset.view = Some(ViewSettings { camera: Some(camera), follow: false, ..ViewSettings::default() });
    let svg = drawn(&preset, PAGE_MM);
    let document = Document::parse(&svg).expect("well-formed XML");
    let [left, _, right, _] = frames(&document)[GROUND];
    let [x, _] = axes(&document, GROUND);
    assert!((x.value(left) - 8.0).abs() < 1e-3 && (x.value(right) - 12.0).abs() < 1e-3);
    assert!(svg.contains("out of view: Adam, Signum"), "no optimizer is in view");
}

#[test]
fn an_optimizer_that_runs_away_is_named_and_does_not_widen_the_view() {
    let mut preset = preset("four-optimizers");
    preset.spec_mut().steps = Some(300);
    for optimizer in &mut preset.spec_mut().optimizers {
        if optimizer.rule.rule.kind() == RuleKind::Sgd {
            optimizer.rule.learning_rate = LearningRate::clamped(1e3);
        }
    }
    let svg = drawn(&preset, PAGE_MM);
    let document = Document::parse(&svg).expect("well-formed XML");
    let away = texts(&document).into_iter().find(|(text, ..)| text.contains("run away")).expect("it is named").0;
    assert!(away.contains("SGD") && !away.contains("Adam"), "{away}");
    let [left, _, right, _] = frames(&document)[GROUND];
    let [x, _] = axes(&document, GROUND);
    assert!(x.value(right) - x.value(left) < 50.0);
}

#[test]
fn a_preset_without_steps_runs_a_thousand_and_recorded_changes_are_applied() {
    let mut preset = preset("fig1c");
    preset.spec_mut().steps = None;
    assert_eq!(Trajectories::new(&preset).expect("there are optimizers").steps(), 1000);
    preset.simulations[0].changes = vec![valleyscope_engine::simulation::Change {
        step: 10,
        set: valleyscope_engine::simulation::Setting::Steps(Some(30)),
    }];
    assert_eq!(complete(&preset).step(), 30);
}

#[test]
fn without_an_optimizer_there_is_no_figure() {
    let mut preset = preset("fig1c");
    preset.spec_mut().optimizers.iter_mut().for_each(|optimizer| optimizer.enabled = false);
    let refusal = Trajectories::new(&preset).expect_err("nothing to draw");
    assert_eq!(refusal, TrajectoriesError::NoOptimizer { count: 2 });
    assert!(refusal.to_string().contains("enabled: false"), "{refusal}");
}

#[test]
fn a_landscape_is_drawn_in_every_format_and_width_or_refused() {
    let figure = Figure::landscape(&complete(&short()));
    assert_eq!(figure.usual_width_mm(), PAGE_MM);
    for width_mm in [60.0, 85.0, PAGE_MM] {
        let svg = figure.render(&Options { width_mm, title: true, ..Options::default() }).expect("wide enough");
        let page = width_mm * 72.0 / 25.4;
        let document = svg.to_string();
        let document = Document::parse(&document).expect("well-formed XML");
        assert!(frames(&document).iter().all(|[left, top, right, _]| *left > 0.0 && *top > 0.0 && *right < page));
        for (format, start) in [(Format::Png, &b"\x89PNG"[..]), (Format::Svg, b"<svg"), (Format::Pdf, b"%PDF")] {
            assert!(svg.to_file(format, 100.0).expect("drawn") == svg.to_file(format, 100.0).expect("drawn"));
            assert!(svg.to_file(format, 100.0).expect("drawn").starts_with(start));
        }
    }
    let narrow = figure.render(&Options { width_mm: 25.0, font_size: 20.0, title: false, ..Options::default() });
    assert!(matches!(narrow, Err(FigureError::TooNarrow { .. })));
}

/// Returns the short preset with further noises beside its own.
fn beside(noises: &[f64]) -> LandscapePreset {
    let mut preset = short();
    preset.simulations.extend(noises.iter().map(|noise| {
        let set = vec![Setting::Noise(Noise::clamped(*noise).into())];
        PresetSimulation { set, ..PresetSimulation::default() }
    }));
    preset
}

#[test]
fn simulations_side_by_side_share_axes_and_one_colour_bar() {
    for noises in [&[3.0][..], &[2.0, 3.0], &[2.0, 3.0, 4.0]] {
        let preset = beside(noises);
        let svg = drawn(&preset, PAGE_MM);
        let document = Document::parse(&svg).expect("well-formed XML");
        let count = 1 + noises.len();
        assert_eq!(document.descendants().filter(|node| node.has_tag_name("image")).count(), count);
        // The frames of the landscapes, of the bar and of two plots.
        let frames = frames(&document);
        assert_eq!(frames.len(), count + 3, "{frames:?}");
        let size = |[left, top, right, bottom]: [f64; 4]| [right - left, bottom - top];
        for frame in &frames[..count] {
            (0..2).for_each(|side| near(size(*frame)[side], size(frames[0])[side]));
        }
        near(frames[1][1], frames[0][1]);
        assert!(frames[1][0] > frames[0][2], "the second is at the right of the first");
        let texts = texts(&document);
        let titles = texts.iter().filter(|(text, ..)| text.contains(": σ = "));
        let expected = [1.0].iter().chain(noises).zip(["A", "B", "C", "D"]);
        let expected: Vec<String> = expected.map(|(noise, letter)| format!("{letter}: σ = {noise}")).collect();
        let found: Vec<&str> = titles.map(|(text, ..)| *text).collect();
        // Above the landscapes, and in the legend.
        assert_eq!(found[..count], expected);
        assert!(found[count..].iter().zip(&expected).all(|(found, title)| found.starts_with(title)), "{found:?}");
        for name in ["loss L", "Adam", "Signum"] {
            assert!(texts.iter().any(|(text, ..)| *text == name), "{name}");
        }
        assert_eq!(texts.iter().filter(|(text, ..)| *text == "Adam").count(), 1, "one entry for all simulations");
        assert_eq!(texts.iter().filter(|(text, ..)| *text == "y").count(), count.div_ceil(2), "a label for each row");
    }
}

#[test]
fn plots_of_simulations_side_by_side_are_whole_and_dashed() {
    let svg = drawn(&beside(&[2.0, 3.0, 4.0]), PAGE_MM);
    let document = Document::parse(&svg).expect("well-formed XML");
    let curves = document
        .descendants()
        .filter(|node| node.has_tag_name("path") && node.attribute("stroke-width") == Some("1.1"));
    let lengths: BTreeSet<Vec<i64>> = curves.map(|node| dashes(&node)).collect();
    let longest = |pattern: &Vec<i64>| pattern.iter().step_by(2).copied().max().unwrap_or_default();
    let patterns: BTreeSet<i64> = lengths.iter().map(longest).collect();
    assert_eq!(
        patterns.into_iter().collect::<Vec<_>>(),
        [0, 11, 44, 55],
        "whole, dotted, dashed and dash-dotted: {lengths:?}"
    );
}

const FOCUS: &str = "#80a6e2";

fn axis(label: &str, scale: AxisScale, range: [f64; 2]) -> CurveAxis {
    CurveAxis { label: label.to_owned(), scale, range }
}

/// One curve alone and one with a band, smoothed, that ends at step 30; losses on a logarithmic axis.
fn curves() -> Curves {
    let log = |x: f64, y: f64| [x, y.log10()];
    let whole = vec![log(0.0, 2.0), log(50.0, 0.5), log(100.0, 0.1)];
    let short = vec![log(0.0, 1.0), log(30.0, 0.2)];
    Curves {
        title: "Adam; FOCUS".to_owned(),
        specs: vec!["Mnist(version: 1)".to_owned()],
        names: vec![
            ("Adam".to_owned(), Pen::new([244, 111, 67], 0)),
            ("FOCUS".to_owned(), Pen::new([128, 166, 226], 0)),
        ],
        horizontal: axis("steps", AxisScale::Linear, [0.0, 100.0]),
        plots: vec![
            CurvePlot {
                vertical: axis("train loss", AxisScale::Log, [-1.2, 0.5]),
                curves: vec![
                    CurveLines { index: 0, raw: Vec::new(), line: vec![whole], band: Vec::new() },
                    CurveLines {
                        index: 1,
                        raw: vec![short.clone(), Vec::new()],
                        line: vec![short, Vec::new()],
                        band: vec![[0.0, -0.5, 0.5], [30.0, -0.8, -0.4]],
                    },
                ],
                dashes_ties: false,
            },
            CurvePlot {
                vertical: axis("test accuracy (%)", AxisScale::Percent, [0.0, 1.0]),
                curves: vec![CurveLines { index: 0, raw: Vec::new(), line: vec![vec![[50.0, 0.9]]], band: Vec::new() }],
                dashes_ties: false,
            },
        ],
        marks: Vec::new(),
    }
}

#[test]
fn curves_are_named_at_their_ends_in_place_of_the_legend_where_all_names_have_room() {
    let mut two = curves();
    two.plots.truncate(1);
    let places = |figure: &Curves, width_mm: f64| {
        let drawn = Figure::curves(figure.clone()).render(&Options { width_mm, ..Options::default() });
        let svg = drawn.expect("wide enough").to_string();
        let document = Document::parse(&svg).expect("well-formed XML");
        let frame = frames(&document)[0];
        let named = texts(&document).into_iter().filter(|(text, ..)| *text == "Adam" || *text == "FOCUS");
        (frame, named.map(|(_, x, y)| [x, y]).collect::<Vec<_>>())
    };
    let ([_, _, right, bottom], legend) = places(&two, 85.0);
    assert!(legend.len() == 2 && legend.iter().all(|[x, y]| *x < right && *y > bottom), "one ends early: {legend:?}");
    // The same end for both.
    two.plots[0].curves[1].line = two.plots[0].curves[0].line.clone();
    let ([_, _, right, bottom], names) = places(&two, 85.0);
    assert!(names.len() == 2 && names.iter().all(|[x, y]| *x > right && *y < bottom), "{names:?}");
    assert!(names[0][0] == names[1][0] && (names[0][1] - names[1][1]).abs() > 8.0, "one column: {names:?}");
    two.names[0].0 = "Adam with settings that need much room".to_owned();
    let ([_, _, right, bottom], legend) = places(&two, 85.0);
    assert!(legend.len() == 1 && legend[0][0] < right && legend[0][1] > bottom, "{legend:?}");
}

fn curve_drawn(width_mm: f64) -> String {
    let options = Options { width_mm, ..Options::default() };
    Figure::curves(curves()).render(&options).expect("rendered").to_string()
}

#[test]
fn curves_are_drawn_at_their_labels() {
    for width in [85.0, 180.0] {
        let svg = curve_drawn(width);
        let document = Document::parse(&svg).expect("well-formed XML");
        let frames = frames(&document);
        assert_eq!(frames.len(), 2);
        let [left, _, right, bottom] = frames[0];
        let height = height_of(&document, frames[0], true);
        let line = &paths(&document, ADAM, "1.1")[0];
        let x = |step: f64| left + step / 100.0 * (right - left);
        for ([step, loss], [found_x, found_y]) in [[0.0, 2.0], [50.0, 0.5], [100.0, 0.1]].into_iter().zip(line) {
            near(*found_x, x(step));
            near(*found_y, height(loss));
        }
        let below = texts(&document).into_iter().filter(|(_, _, y)| (bottom..bottom + 12.0).contains(y));
        let marks: Vec<(f64, f64)> = below.filter_map(|(text, x, _)| Some((text.parse().ok()?, x))).collect();
        assert!(marks.len() >= 3, "{marks:?}");
        let of_this = marks.iter().filter(|(_, found)| (left - 1.0..right + 1.0).contains(found));
        of_this.for_each(|(step, found)| near(*found, x(*step)));
    }
}

#[test]
fn a_smoothed_curve_that_ends_has_a_cross_a_faint_raw_curve_and_a_band() {
    let svg = curve_drawn(85.0);
    let document = Document::parse(&svg).expect("well-formed XML");
    let faint = document.descendants().find(|node| node.attribute("stroke-opacity").is_some()).expect("the raw curve");
    assert!(is_colored(&faint, "stroke", FOCUS));
    let band = document.descendants().find(|node| node.attribute("fill-opacity").is_some()).expect("the band");
    assert!(band.has_tag_name("polygon") && is_colored(&band, "fill", FOCUS));
    let lines = paths(&document, FOCUS, "1.1");
    let (curve, cross) = (&lines[0], &lines[1]);
    let end = curve[1];
    assert_eq!(cross.len(), 4);
    near(cross.iter().map(|point| point[0]).sum::<f64>() / 4.0, end[0]);
    near(cross.iter().map(|point| point[1]).sum::<f64>() / 4.0, end[1]);
}

#[test]
fn nothing_is_drawn_beyond_the_frames() {
    let mut zoomed = curves();
    zoomed.plots[0].vertical.range = [-0.5, 0.0];
    zoomed.horizontal.range = [20.0, 60.0];
    let svg = Figure::curves(zoomed).render(&Options::default()).expect("rendered");
    let text = svg.to_string();
    let document = Document::parse(&text).expect("well-formed XML");
    let rect = |node: Node<'_, '_>| ["x", "y", "width", "height"].map(|name| node.attribute(name).map(str::to_owned));
    let clips: Vec<_> = document.descendants().filter(|node| node.has_tag_name("clipPath")).collect();
    let is_frame = |node: &Node<'_, '_>| node.has_tag_name("rect") && node.attribute("fill") == Some("none");
    let frames: Vec<_> = document.descendants().filter(is_frame).map(rect).collect();
    assert_eq!(clips.iter().map(|clip| rect(clip.first_element_child().expect("a shape"))).collect::<Vec<_>>(), frames);
    let ids: Vec<String> =
        clips.iter().map(|clip| format!("url(#{})", clip.attribute("id").expect("a name"))).collect();
    // Everything in the colour of a curve is within such a group, except for the legend's keys.
    let is_ink = |node: &Node<'_, '_>| {
        [node.attribute("stroke"), node.attribute("fill")].iter().any(|color| [Some(ADAM), Some(FOCUS)].contains(color))
    };
    let free = document.descendants().filter(is_ink).filter(|node| {
        let group = node.parent().and_then(|parent| parent.attribute("clip-path"));
        !group.is_some_and(|group| ids.iter().any(|id| id == group))
    });
    assert_eq!(free.count(), 2, "a sign for each curve in the legend");
    assert!(svg.to_file(Format::Png, 100.0).expect("a picture").starts_with(b"\x89PNG"));
    assert!(svg.to_file(Format::Pdf, 100.0).expect("a document").starts_with(b"%PDF"));
}

#[test]
fn labels_of_an_axis_have_room_on_every_kind_of_axis() {
    let axes = [
        axis("samples", AxisScale::Log, [128_f64.log10(), 51_200_f64.log10()]),
        axis("steps", AxisScale::Linear, [0.0, 100_000.0]),
        axis("steps", AxisScale::Linear, [50_001_000.0, 50_004_000.0]),
        axis("steps", AxisScale::Log, [1.02e6_f64.log10(), 1.9e6_f64.log10()]),
        axis("wall-clock time (UTC)", AxisScale::Clock, [1.767e9, 1.767e9 + 60.0]),
        axis("wall-clock time (UTC)", AxisScale::Clock, [1.767e9, 1.767e9 + 3e5]),
    ];
    for (horizontal, width_mm) in axes.iter().flat_map(|axis| [(axis, 60.0), (axis, 85.0), (axis, 180.0)]) {
        let drawn = Curves { horizontal: horizontal.clone(), ..curves() };
        let svg = Figure::curves(drawn).render(&Options { width_mm, ..Options::default() }).expect("rendered");
        let text = svg.to_string();
        let document = Document::parse(&text).expect("well-formed XML");
        let page = width_mm * 72.0 / 25.4;
        // In the bundled font digits are 0.65 of its size wide at most.
        let half = |text: &str| 8.0 * 0.65 * text.chars().count() as f64 / 2.0;
        for [left, _, right, bottom] in frames(&document) {
            let is_below = |(_, x, y): &(&str, f64, f64)| {
                (bottom..bottom + 10.0).contains(y) && (left - 1.0..right + 1.0).contains(x)
            };
            let row = texts(&document).into_iter().filter(is_below);
            let mut row: Vec<(f64, f64)> = row.map(|(text, x, _)| (x, half(text))).collect();
            row.sort_by(|a, b| a.0.total_cmp(&b.0));
            assert!(!row.is_empty(), "no label on {horizontal:?}");
            let (last, half) = row[row.len() - 1];
            assert!(last + half <= page + 1.0, "{horizontal:?} at {width_mm} mm: the last label leaves the page");
            for pair in row.windows(2) {
                let apart = pair[1].0 - pair[0].0;
                assert!(apart >= pair[0].1 + pair[1].1 - 2.0, "{horizontal:?} at {width_mm} mm: {row:?}");
            }
        }
    }
}

#[test]
fn a_logarithmic_axis_of_less_than_a_decade_has_whole_numbers() {
    let mut close = curves();
    close.plots[0].vertical.range = [2.1e-5_f64.log10(), 4.9e-5_f64.log10()];
    let svg = Figure::curves(close).render(&Options::default()).expect("rendered").to_string();
    let document = Document::parse(&svg).expect("well-formed XML");
    let [left, top, _, bottom] = frames(&document)[0];
    let beside = texts(&document).into_iter().filter(|(_, x, y)| *x < left && *x > 20.0 && (top..bottom).contains(y));
    let labels: Vec<&str> = beside.map(|(text, _, _)| text).collect();
    assert!(labels.len() >= 2 && labels.iter().all(|label| label.ends_with("×10⁻⁵")), "{labels:?}");
}

#[test]
fn the_file_of_curves_describes_its_content() {
    let svg = curve_drawn(60.0);
    for said in ["Adam; FOCUS", "Mnist(version: 1)", ">train loss<", ">test accuracy (%)<", ">steps<", ">0.5<"] {
        assert!(svg.contains(said), "no {said}");
    }
    let narrow = Options { width_mm: 20.0, font_size: 12.0, ..Options::default() };
    assert!(matches!(Figure::curves(curves()).render(&narrow), Err(FigureError::TooNarrow { .. })));
}
