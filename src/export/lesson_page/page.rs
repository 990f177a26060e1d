//! The page as text: its data as JSON, in the template of `assets/lesson/`.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use valleyscope_engine::optimizer::{Marker, ShownSetting, markers};
use valleyscope_engine::quantity::number_text;
use valleyscope_engine::simulation::SimulationSpec;
use valleyscope_experiments::preset::{LandscapePreset, LessonStep, Preset, marks_at};
use valleyscope_experiments::view::range::{suiting, union};
use valleyscope_experiments::view::rule_summary::formulas_from_gradient;
use valleyscope_experiments::view::ticks::grouped;
use valleyscope_experiments::view::{Background, Pen, simulation_colors};

use super::background::{LandscapePicture, css};
use super::figures::PageFigure;
use super::recording::{EnsembleRecording, PanePlan, Recording, StepPlan};
use crate::draw::{CREATOR, escaped, marker_corners};

const TEMPLATE: &str = include_str!("../../../assets/lesson/page.html");
const STYLE: &str = include_str!("../../../assets/lesson/page.css");
const SCRIPTS: [&str; 4] = [
    include_str!("../../../assets/lesson/data.js"),
    include_str!("../../../assets/lesson/landscape.js"),
    include_str!("../../../assets/lesson/plots.js"),
    include_str!("../../../assets/lesson/player.js"),
];

#[derive(Serialize)]
struct Page<'a> {
    title: &'a str,
    description: &'a str,
    footer: String,
    /// The preset's text, which the program opens.
    preset: String,
    start: [f64; 2],
    trail_steps: u32,
    mean_path: bool,
    optimizers: Vec<OptimizerStyle>,
    grounds: &'a [LandscapePicture],
    figures: &'a [PageFigure],
    runs: Vec<Run>,
    steps: Vec<Step<'a>>,
}

#[derive(PartialEq, Serialize)]
struct OptimizerStyle {
    color: String,
    /// The colours of its curves on a light and on a dark background.
    curve: [String; 2],
    /// The corners of its marker; none for a circle.
    corners: Option<&'static [[f32; 2]]>,
    is_open: bool,
}

/// A run. Its data are the series of each optimizer: x and y of the mean, x and y of each particle, and the mean and
/// the deviation of each metric.
#[derive(Serialize)]
struct Run {
    ground: usize,
    end: u64,
    stride: u64,
    frames: usize,
    particles: usize,
    /// The ranges of x and y.
    place: [[f64; 2]; 2],
    metrics: Vec<Metric>,
    data: String,
    /// The start, if it differs from the page's.
    #[serde(skip_serializing_if = "Option::is_none")]
    start: Option<[f64; 2]>,
    /// The optimizers, if they differ from the page's.
    #[serde(skip_serializing_if = "Option::is_none")]
    optimizers: Option<Vec<OptimizerStyle>>,
}

#[derive(Serialize)]
struct Metric {
    title: Cow<'static, str>,
    name: Cow<'static, str>,
    explanation: &'static str,
    /// The ranges of the mean and of the deviation.
    range: [[f64; 2]; 2],
    /// The exact mean and deviation of each optimizer at the first step, which the page shows before it plays.
    first: Vec<[f64; 2]>,
}

#[derive(Serialize)]
struct Step<'a> {
    section: Option<&'a str>,
    text: &'a str,
    notes: &'a str,
    run: usize,
    from: u64,
    to: u64,
    play: bool,
    show: &'a [Option<usize>],
    /// The steps and the texts of the marks in the run.
    marks: Vec<(u64, &'a str)>,
    /// The index of the optimizer whose update rule is shown.
    formula: Option<usize>,
    figure: Option<usize>,
    #[serde(flatten)]
    words: SettingsText,
    /// The title among the compared simulations.
    #[serde(skip_serializing_if = "str::is_empty")]
    title: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    beside: Vec<Pane<'a>>,
}

/// A simulation that is compared with that of a step.
#[derive(Serialize)]
struct Pane<'a> {
    run: usize,
    title: &'a str,
    /// The step's plots, as indices of the run's metrics; `None` for a metric that the landscape lacks.
    show: &'a [Option<usize>],
    #[serde(flatten)]
    words: SettingsText,
}

pub(super) fn html(
    preset: &LandscapePreset,
    steps: &[StepPlan],
    runs: &[Recording],
    grounds: &[LandscapePicture],
    figures: &[PageFigure],
) -> String {
    let view = preset.view.clone().unwrap_or_default();
    let (start, styles) = (start_of(preset.spec()), optimizer_styles(preset.spec()));
    let packed = |run: &Recording| packed(run, grounds, &start, &styles);
    let page = Page {
        title: &preset.title,
        description: &preset.description,
        footer: footer(preset, runs),
        preset: Preset::Landscape(preset.clone()).to_ron(),
        start,
        trail_steps: view.trail_steps,
        mean_path: view.mean_path,
        grounds,
        figures,
        runs: runs.iter().map(packed).collect(),
        optimizers: styles,
        steps: (0..steps.len()).map(|index| step_data(&preset.lesson, index, &steps[index], figures)).collect(),
    };
    // A `<` could end the script that holds the data.
    let data = serde_json::to_string(&page).expect("its keys are texts").replace('<', "\\u003c");
    TEMPLATE
        .replacen("{{STYLE}}", STYLE, 1)
        .replacen("{{SCRIPT}}", &SCRIPTS.concat(), 1)
        .replacen("{{DATA}}", &data, 1)
        // The title is inserted last, as it may contain any text.
        .replacen("{{TITLE}}", &escaped(&preset.title), 1)
}

/// Formats the origin of the page, and what it leaves out.
fn footer(preset: &LandscapePreset, runs: &[Recording]) -> String {
    let all = |run: &Recording| run.plan.spec.particles.get();
    let few = runs.iter().filter(|run| run.plan.particles < all(run)).map(|run| run.plan.particles).min();
    let usual = preset.spec().particles.get();
    let is_usual = runs.iter().all(|run| all(run) == usual);
    let particles = match few {
        Some(few) if is_usual => format!("{} of {} particles", grouped(few as u64), grouped(usual as u64)),
        Some(few) => format!("at most {} particles", grouped(few as u64)),
        None if is_usual => format!("all {} particles", grouped(usual as u64)),
        None => "all particles".to_owned(),
    };
    let strides = || runs.iter().map(|run| run.plan.stride);
    let steps = match (strides().min().unwrap_or(1), strides().max().unwrap_or(1)) {
        (_, 1) => "every step".to_owned(),
        (1, most) => format!("every step, of long runs one in {}", grouped(most)),
        (least, most) if least == most => format!("one step in {}", grouped(most)),
        (least, most) => format!("one step in {} to {}", grouped(least), grouped(most)),
    };
    format!(
        "Made by {CREATOR}, seed {}. Recorded: {particles} of each optimizer, {steps}; a position to 1/20,000 of the \
         view's width. Means, deviations and plots are of all particles.",
        preset.spec().seed
    )
}

fn start_of(simulation: &SimulationSpec) -> [f64; 2] {
    [simulation.start.x.get(), simulation.start.y.get()]
}

fn optimizer_styles(simulation: &SimulationSpec) -> Vec<OptimizerStyle> {
    let marks = markers(simulation.optimizers.iter().map(|spec| spec.rule.rule.marker()));
    let all = simulation.optimizers.iter().zip(simulation_colors(&simulation.optimizers).into_iter().zip(marks));
    let (colors, marks): (Vec<[u8; 3]>, Vec<Marker>) =
        all.filter(|(spec, _)| spec.enabled).map(|(_, style)| style).unzip();
    let style = |(pen, (color, mark)): (Pen, (&[u8; 3], &Marker))| OptimizerStyle {
        color: css(*color),
        curve: [Background::Light, Background::Dark].map(|background| css(pen.color_on(background))),
        corners: marker_corners(mark.shape),
        is_open: mark.is_open,
    };
    Pen::side_by_side(&colors).into_iter().zip(colors.iter().zip(&marks)).map(style).collect()
}

/// Packs a run. `usual_start` and `usual_styles` are those of the page.
fn packed(
    run: &Recording,
    grounds: &[LandscapePicture],
    usual_start: &[f64; 2],
    usual_styles: &[OptimizerStyle],
) -> Run {
    let index = LandscapePicture::index(grounds, run);
    let ground = &grounds[index];
    // Three times the view, whatever the run: a step then moves a particle by small codes, which take one byte.
    let place = [ground.x, ground.y].map(|[low, high]| [low - (high - low), high + (high - low)]);
    let metrics: Vec<Metric> = run
        .plan
        .metrics
        .iter()
        .enumerate()
        .map(|(index, metric)| {
            let info = metric.info(&run.plan.spec.landscape).expect("the lesson fits its landscapes");
            let first = run.ensembles.iter().map(|ensemble| ensemble.metrics[index][0]).collect();
            let range = ranges(run, index);
            Metric { title: info.title, name: info.name, explanation: info.explanation, range, first }
        })
        .collect();
    let mut packed = Packed::default();
    for EnsembleRecording { mean, particles, metrics: values } in &run.ensembles {
        for path in std::iter::once(mean).chain(particles) {
            for side in [0, 1] {
                packed.push(path.iter().map(|position| position[side]), place[side]);
            }
        }
        for (values, metric) in values.iter().zip(&metrics) {
            for part in [0, 1] {
                packed.push(values.iter().map(|value| value[part]), metric.range[part]);
            }
        }
    }
    Run {
        ground: index,
        end: run.plan.end,
        stride: run.plan.stride,
        frames: run.frames,
        particles: run.plan.particles,
        place,
        metrics,
        data: packed.to_base64(),
        start: Some(start_of(&run.plan.spec)).filter(|start| start != usual_start),
        optimizers: Some(optimizer_styles(&run.plan.spec)).filter(|styles| styles != usual_styles),
    }
}

/// Computes the ranges of a metric's mean and deviation, without most of the values of optimizers that have diverged.
fn ranges(run: &Recording, metric: usize) -> [[f64; 2]; 2] {
    let values = || run.ensembles.iter().map(|ensemble| ensemble.metrics[metric].iter());
    let extents = |part: usize| -> Vec<_> {
        let extent = |of: std::slice::Iter<'_, [f64; 2]>| {
            of.map(|value| value[part]).filter(|value| value.is_finite()).map(|value| [value; 2]).reduce(union)
        };
        values().filter_map(extent).map(|extent| (extent, None)).collect()
    };
    [0, 1].map(|part| {
        let [low, high] = suiting(&extents(part)).unwrap_or([0.0, 1.0]);
        range_of(values().flatten().map(|value| value[part]), [low - (high - low), high + (high - low)])
    })
}

fn step_data<'a>(lesson: &'a [LessonStep], index: usize, plan: &'a StepPlan, figures: &[PageFigure]) -> Step<'a> {
    let (step, own) = (&lesson[index], &plan.panes[0]);
    let enabled = || own.spec.optimizers.iter().filter(|optimizer| optimizer.enabled);
    let pane = |PanePlan { run, title, show, spec }: &'a PanePlan| Pane {
        run: *run,
        title,
        show,
        words: SettingsText::of(spec),
    };
    Step {
        section: step.section.as_deref(),
        text: &step.text,
        notes: &step.notes,
        run: own.run,
        from: plan.from,
        to: plan.to,
        play: step.play,
        show: &own.show,
        marks: marks_at(lesson, index).into_iter().map(|mark| (mark.step, mark.text.as_str())).collect(),
        formula: step.formula.and_then(|id| enabled().position(|optimizer| optimizer.id == id)),
        figure: step.figure.as_ref().and_then(|shown| figures.iter().position(|figure| figure.is_of(shown))),
        words: SettingsText::of(&own.spec),
        title: &own.title,
        beside: plan.panes[1..].iter().map(pane).collect(),
    }
}

#[derive(Serialize)]
pub(super) struct SettingsText {
    landscape: Vec<String>,
    noise: String,
    optimizers: Vec<OptimizerText>,
}

#[derive(Serialize)]
struct OptimizerText {
    name: String,
    settings: Vec<String>,
    formulas: Vec<(String, &'static str)>,
}

impl SettingsText {
    pub(super) fn of(spec: &SimulationSpec) -> SettingsText {
        let kind = spec.landscape.kind();
        let formula = match kind.formula() {
            Some(typed) => typed.text().to_owned(),
            None => format!("L = {}", kind.info().formula),
        };
        let parameters = spec.landscape.parameters().map(|(of, value)| of.with(number_text(value)));
        let enabled = spec.optimizers.iter().zip(spec.shown_names()).filter(|(optimizer, _)| optimizer.enabled);
        let optimizers = enabled.map(|(optimizer, name)| {
            let settings = optimizer.rule.shown_settings().into_iter().filter_map(ShownSetting::said);
            OptimizerText {
                name,
                settings: settings.collect(),
                formulas: formulas_from_gradient(&spec.noise.kind(), optimizer.rule.rule),
            }
        });
        SettingsText {
            landscape: [kind.name().to_owned(), formula].into_iter().chain(parameters).collect(),
            noise: spec.noise.text_with(number_text),
            optimizers: optimizers.collect(),
        }
    }
}

// Series of numbers in few bytes.
//
// A number becomes a code of 16 bits, its position in a range. The differences of successive codes of a series are
// stored, seven bits in a byte, the lowest first; the eighth bit is set if more follow. A difference d is stored as 2d,
// or −2d − 1 if it is negative. Differences count modulo 2¹⁶, and the first one from 0.

/// The code of the upper end of the range.
const LAST: u16 = 65_534;
/// The code of a number that is not finite or outside of the range.
const GAP: u16 = 65_535;

/// Series in sequence.
#[derive(Default)]
pub(super) struct Packed {
    bytes: Vec<u8>,
}

impl Packed {
    pub(super) fn push(&mut self, values: impl Iterator<Item = f64>, range: [f64; 2]) {
        let mut before = 0;
        for value in values {
            let code = code(value, range);
            let difference = code.wrapping_sub(before).cast_signed();
            let mut rest = ((difference << 1) ^ (difference >> 15)).cast_unsigned();
            while rest >= 0x80 {
                self.bytes.push((rest & 0x7f) as u8 | 0x80);
                rest >>= 7;
            }
            self.bytes.push(rest as u8);
            before = code;
        }
    }

    pub(super) fn to_base64(&self) -> String {
        STANDARD.encode(&self.bytes)
    }
}

fn code(value: f64, [low, high]: [f64; 2]) -> u16 {
    if !(low..=high).contains(&value) {
        return GAP;
    }
    ((value - low) / (high - low) * f64::from(LAST)).round() as u16
}

/// Finds the smallest range of the finite numbers, clamped to `bounds`; it is never empty.
pub(super) fn range_of(values: impl Iterator<Item = f64>, [least, most]: [f64; 2]) -> [f64; 2] {
    let inside = values.filter(|value| (least..=most).contains(value));
    let [low, high] =
        inside.fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], value| [low.min(value), high.max(value)]);
    match high - low {
        width if width > 0.0 => [low, high],
        0.0 => [low, low + low.abs().max(1e-9)],
        _ => [0.0, 1.0],
    }
}
