//! The controls of a sweep: axes, fixed quantities, replicates, and the optimizers with their learning rates.

use std::ops::RangeInclusive;

use egui::{Label, RichText, Ui};
use valleyscope_engine::landscape::{LandscapeKind, LandscapeParameterName, LandscapeSpec};
use valleyscope_engine::noise::NoiseParameterName;
use valleyscope_engine::parameter::{self, Parameter};
use valleyscope_engine::quantity::{Budget, Certainty, Dimension, Range, Replicates, StartCoordinate, StepCount};
use valleyscope_engine::spec_error::{MessagePart, SpecError};
use valleyscope_engine::sweep::{Adaptive, Average, Metric, Quantity, Sampling, SweepSpec};

use super::axis_controls::{axis, axis_of};
use super::optimizer_controls::optimizers;
use crate::app::boxes::check_box;
use crate::app::controls::{LandscapeChange, landscape_choice, landscape_editor, noise_choice};
use crate::app::form;
use crate::app::live::Requests;
use crate::app::number;
use crate::app::text_editor::TextTab;
use crate::app::typed::TypedField;

/// Shows the controls of a sweep, and a fault beside its field.
pub(super) fn show(ui: &mut Ui, spec: &mut SweepSpec, fault: Option<&SpecError>, requests: &mut Requests) {
    let about = |part: &str| fault.filter(|fault| fault.path.starts_with(part));
    heading(ui, "Axes");
    let shown = spec.clone();
    axis(ui, "Rows", &shown, &mut spec.rows);
    show_fault(ui, about("rows"));
    ui.add_space(6.0);
    axis(ui, "Columns", &shown, &mut spec.columns);
    show_fault(ui, about("columns"));
    heading(ui, "Everywhere");
    fixed_quantities(ui, spec, requests);
    heading(ui, "Runs");
    runs(ui, spec);
    show_fault(
        ui,
        fault.filter(|fault| !["rows", "columns", "optimizers"].iter().any(|it| fault.path.starts_with(it))),
    );
    heading(ui, "Optimizers");
    show_fault(ui, about("optimizers"));
    optimizers(ui, spec);
}

fn show_fault(ui: &mut Ui, fault: Option<&SpecError>) {
    if let Some(fault) = fault {
        let color = ui.visuals().error_fg_color;
        ui.add(Label::new(RichText::new(describe_fault(fault)).color(color)).wrap());
    }
}

/// Describes a fault by the labels of the window in place of a preset file's paths.
fn describe_fault(fault: &SpecError) -> String {
    let words = fault.parts().map(|part| match part {
        MessagePart::Words(words) => words.to_owned(),
        MessagePart::InFile("spacing: Linear") => "linear spacing".to_owned(),
        MessagePart::InFile(path) => path.split('.').filter_map(label).collect::<Vec<_>>().join(": "),
    });
    let words: String = words.collect();
    let mut letters = words.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    first.chain(letters).chain(['.']).collect()
}

/// Returns the label of the field at a path. A quantity that varies along an axis has no label of its own.
fn label(field: &str) -> Option<String> {
    match field {
        "of" => None,
        "count" => Some("how many".to_owned()),
        "learning_rates" => Some("learning rates".to_owned()),
        _ => match field.strip_prefix("optimizers[").and_then(|rest| rest.strip_suffix(']')?.parse::<usize>().ok()) {
            Some(index) => Some(format!("optimizer {}", index + 1)),
            None if field.starts_with("tune[") => Some("tuned values".to_owned()),
            None => Some(field.to_owned()),
        },
    }
}

fn heading(ui: &mut Ui, text: &str) {
    form::heading(ui, 8.0, text);
    ui.add_space(2.0);
}

/// Shows a field for a parameter, dragged or typed; a value out of its type's range is moved to the nearest end.
macro_rules! number {
    ($ui:expr, $parameter:expr, $value:expr, $type:ty) => {{
        let range = <$type>::MIN as f64..=<$type>::MAX as f64;
        if let Some(number) = number_field($ui, &$parameter, $value.get() as f64, range) {
            $value = <$type>::clamped(number as _);
        }
    }};
}

/// Shows the field of a parameter, dragged or typed; returns a new value within the range.
fn number_field(ui: &mut Ui, of: &Parameter, mut value: f64, range: RangeInclusive<f64>) -> Option<f64> {
    let (help, mut is_changed) = (of.explanation(), false);
    form::line(ui, of.label, &help, |ui| {
        let drag = form::drag(&mut value).speed(of.drag_step).range(range);
        is_changed = ui.add(drag).on_hover_text(&help).accessible_name(of.label).changed();
    });
    is_changed.then_some(value)
}

/// Shows the quantities that are the same in all pixels. A quantity of an axis has no value here.
fn fixed_quantities(ui: &mut Ui, spec: &mut SweepSpec, requests: &mut Requests) {
    let is_axis = |spec: &SweepSpec, of: Quantity| spec.rows.of == of || spec.columns.of == of;
    let before = spec.landscape;
    match landscape_choice(ui, TextTab::Sweep, &mut spec.landscape, requests) {
        Some(LandscapeChange::Chosen) => {
            spec.start = None;
            keep_axes(spec, &before);
        }
        Some(LandscapeChange::Copied) => {
            spec.start = spec.start.or(Some(before.start())).filter(|start| *start != spec.landscape.start());
            keep_axes(spec, &before);
        }
        None => {}
    }
    // The axis of a parameter that a new text lacks stays until the text has it again.
    landscape_editor(ui.ctx(), TextTab::Sweep, &mut spec.landscape);
    if !spec.metric.is_of(&spec.landscape) {
        spec.metric = Metric::default();
    }
    for name in LandscapeParameterName::of(&spec.landscape) {
        if !is_axis(spec, Quantity::Landscape(name)) {
            landscape_parameter(ui, name, &mut spec.landscape);
        }
    }
    noise(ui, spec);
    let has_dimensions = spec.landscape.valley().is_some();
    if has_dimensions && !is_axis(spec, Quantity::Dimension) {
        number!(ui, parameter::DIMENSION, spec.dimension, Dimension);
    }
    if spec.dimension.get() == 2 && !is_axis(spec, Quantity::Dimension) {
        start(ui, spec);
    }
    if !is_axis(spec, Quantity::Steps) {
        number!(ui, parameter::STEPS, spec.steps, StepCount);
    }
}

/// Shows the fields of the place at which runs start on the plane.
fn start(ui: &mut Ui, spec: &mut SweepSpec) {
    let mut start = spec.start();
    for (of, value) in [(parameter::START_X, &mut start.x), (parameter::START_Y, &mut start.y)] {
        let Range { min, max, .. } = StartCoordinate::RANGE;
        if let Some(number) = number_field(ui, &of, value.get(), min..=max) {
            *value = StartCoordinate::clamped(number);
        }
    }
    if start != spec.start() {
        spec.start = Some(start).filter(|start| *start != spec.landscape.start());
    }
}

/// Shows the choice of the noise, and fields for the parameters that no axis varies.
fn noise(ui: &mut Ui, spec: &mut SweepSpec) {
    noise_choice(ui, TextTab::Sweep, &mut spec.noise);
    let landscape = spec.landscape;
    keep_axes(spec, &landscape);
    let quantities =
        [Quantity::Noise].into_iter().chain(NoiseParameterName::of(&spec.noise).map(Quantity::NoiseParameter));
    for ((index, (of, value)), quantity) in spec.noise.parameters().enumerate().zip(quantities) {
        if [&spec.rows.of, &spec.columns.of].contains(&&quantity) {
            continue;
        }
        if let Some(number) = number_field(ui, &of.parameter, value, of.range.min..=of.range.max) {
            spec.noise.set(index, of.nearest(number)).expect("it was brought into the range");
        }
    }
}

/// Shows the field of a parameter of the landscape.
fn landscape_parameter(ui: &mut Ui, name: LandscapeParameterName, landscape: &mut LandscapeSpec) {
    let Some(of) = landscape.parameter(name.key()) else { return };
    let value = landscape.get(of.key()).unwrap_or(of.default);
    if let Some(number) = number_field(ui, &of.parameter, value, of.range.min..=of.range.max) {
        landscape.set(of.key(), of.nearest(number)).expect("it was brought into the range");
    }
}

/// Replaces the axes of parameters that only the landscape before had or that the noise lacks, and the dimension that only
/// the valley has.
fn keep_axes(spec: &mut SweepSpec, before: &LandscapeSpec) {
    if spec.landscape.kind() != LandscapeKind::Valley {
        spec.dimension = Dimension::of::<2>();
    }
    let (landscape, noise) = (spec.landscape, spec.noise);
    let others = [spec.columns.of.clone(), spec.rows.of.clone()];
    for (axis, other) in [&mut spec.rows, &mut spec.columns].into_iter().zip(others) {
        let is_lost = match &axis.of {
            Quantity::Landscape(name) => before.get(name.key()).is_some() && landscape.get(name.key()).is_none(),
            Quantity::NoiseParameter(name) => noise.get(name.key()).is_none(),
            Quantity::Dimension => landscape.kind() != LandscapeKind::Valley,
            _ => false,
        };
        let parameters = LandscapeParameterName::of(&landscape).map(Quantity::Landscape);
        let free = parameters.chain([Quantity::Noise, Quantity::Steps]).find(|of| !of.overlaps(&other));
        if let (true, Some(of)) = (is_lost, free) {
            *axis = axis_of(&landscape, of, axis.count);
        }
    }
}

/// Shows how replicates are spent.
fn sampling(ui: &mut Ui, sampling: &mut Sampling) {
    let help = "Uniform: all learning rates and tuned values have the same replicates, as in the paper. Adaptive: a few \
                replicates for all, then more where it is open who wins, until the winner is certain or the budget is \
                used up. The diagram is refined where it is uncertain.";
    form::line(ui, "Sampling", help, |ui| {
        ui.selectable_value(sampling, Sampling::Uniform, "uniform").on_hover_text(help);
        let is_adaptive = !sampling.is_uniform();
        if ui.selectable_label(is_adaptive, "adaptive").on_hover_text(help).clicked() && !is_adaptive {
            *sampling = Sampling::Adaptive(Adaptive::default());
        }
    });
    let Sampling::Adaptive(adaptive) = sampling else { return };
    number!(ui, parameter::CERTAINTY, adaptive.certainty, Certainty);
    number!(ui, parameter::BUDGET, adaptive.budget, Budget);
    number!(ui, parameter::MOST_REPLICATES, adaptive.most_replicates, Replicates);
}

fn runs(ui: &mut Ui, spec: &mut SweepSpec) {
    number!(ui, parameter::REPLICATES, spec.replicates, Replicates);
    sampling(ui, &mut spec.sampling);
    form::line(ui, "Seed", "A different seed gives different noise.", |ui| {
        let field = TypedField { name: "Seed of the sweep", width: 84.0 };
        if let Some(entered) = field.show(ui, &spec.seed.to_string(), number::read_whole).entered {
            spec.seed = entered;
        }
    });
    form::line(
        ui,
        "Average",
        "How runs are averaged before optimizers are compared. The paper takes the mean.",
        |ui| {
            ui.selectable_value(&mut spec.average, Average::Mean, "mean");
            ui.selectable_value(&mut spec.average, Average::Median, "median");
        },
    );
    check_box(ui, &mut spec.common_random_numbers, "Common random numbers").on_hover_text(
        "The same noise for all optimizers, learning rates and tuned values of a pixel: removes most of the chance from the \
         comparison, and is faster with uniform sampling.",
    );
}
