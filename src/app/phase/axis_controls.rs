//! The controls of the axes of a sweep.

use egui::{ComboBox, Label, RichText, Ui};
use valleyscope_engine::landscape::{LandscapeKind, LandscapeParameterName, LandscapeSpec};
use valleyscope_engine::noise::NoiseParameterName;
use valleyscope_engine::optimizer::HyperparameterName;
use valleyscope_engine::parameter::Extent;
use valleyscope_engine::quantity::PointCount;
use valleyscope_engine::sweep::{Axis, Quantity, Spacing, SweepOptimizer, SweepSpec};

use crate::app::boxes::check_box;
use crate::app::form;
use crate::figure::{axis_label, axis_meanings};

/// Shows the controls of an axis: the quantity that varies, its ends, and the number of its values.
pub(super) fn axis(ui: &mut Ui, name: &str, spec: &SweepSpec, axis: &mut Axis) {
    let spread = (axis.to - axis.from).abs();
    ui.horizontal(|ui| {
        ui.label(RichText::new(name).weak());
        let combo = ComboBox::from_id_salt(name).selected_text(axis_label(spec, axis)).truncate().height(500.0);
        let combo = combo.width(ui.available_width() - 8.0);
        let shown = combo.show_ui(ui, |ui| {
            let against = if *axis == spec.rows { &spec.columns } else { &spec.rows };
            for of in choices(spec) {
                if of != axis.of && of.overlaps(&against.of) {
                    continue;
                }
                let other = Axis { of: of.clone(), ..axis.clone() };
                if ui.selectable_label(axis.of == of, axis_label(spec, &other)).clicked() {
                    *axis = axis_of(&spec.landscape, of, axis.count);
                }
            }
        });
        let response = shown.response.accessible_name(format!("{name}: what varies"));
        if let Some(meanings) = axis_meanings(spec, axis) {
            response.on_hover_text(meanings);
        }
    });
    if let Some(unswept_note) = unswept_note(spec, axis) {
        ui.add(Label::new(RichText::new(unswept_note).small().weak()).wrap());
    }
    ui.horizontal(|ui| {
        for (end, value) in [("from", &mut axis.from), ("to", &mut axis.to)] {
            ui.label(end);
            let name = format!("{name} {end}");
            let field = match axis.spacing {
                Spacing::Linear => ui.add(form::drag(value).speed((0.005 * spread).max(1e-6))),
                Spacing::Log => {
                    let speed = (0.01 * value.abs()).max(1e-6);
                    ui.add(form::drag(value).speed(speed))
                }
                Spacing::LogComplement => form::spaced_drag(ui, value, axis.spacing),
            };
            field.accessible_name(name);
        }
    });
    ui.horizontal(|ui| {
        count(ui, &mut axis.count, &format!("{name}: how many"));
        let usual = axis.of.parameter(&spec.landscape).axis.spacing;
        log_switch(ui, &mut axis.spacing, usual, &format!("{name}: logarithmic"));
    });
}

/// Shows the switch between linear and logarithmic spacing; `usual` is that of the quantity.
pub(super) fn log_switch(ui: &mut Ui, spacing: &mut Spacing, usual: Spacing, name: &str) {
    let mut log = *spacing != Spacing::Linear;
    let logarithmic = match usual {
        Spacing::LogComplement => Spacing::LogComplement,
        Spacing::Linear | Spacing::Log => Spacing::Log,
    };
    let help = match logarithmic {
        Spacing::LogComplement => "Logarithmic in 1 − x: 0, 0.9, 0.99 and 0.999 are equally far apart.",
        _ => "Logarithmic: equal ratios rather than equal differences.",
    };
    if check_box(ui, &mut log, "log").on_hover_text(help).accessible_name(name).changed() {
        *spacing = if log { logarithmic } else { Spacing::Linear };
    }
}

/// Returns an axis of a quantity over its initial extent; that of a parameter of the landscape is the landscape's own.
pub(super) fn axis_of(landscape: &LandscapeSpec, of: Quantity, count: PointCount) -> Axis {
    let Extent { low, high, spacing } = of.parameter(landscape).axis;
    Axis { of, from: low, to: high, spacing, count }
}

/// Shows the control of the number of values.
pub(super) fn count(ui: &mut Ui, count: &mut PointCount, name: &str) {
    let mut number = count.get();
    ui.label("in");
    let drag = form::drag(&mut number).range(PointCount::MIN..=PointCount::MAX);
    if ui.add(drag).on_hover_text("How many").accessible_name(name).changed() {
        *count = PointCount::clamped(number as u64);
    }
}

/// Names the optimizers that have the hyperparameter of an axis, but keep their own value.
pub(super) fn unswept_note(spec: &SweepSpec, axis: &Axis) -> Option<String> {
    let Quantity::Of(hyperparameter, ids) = &axis.of else { return None };
    let others = optimizers_with(spec, *hyperparameter).filter(|optimizer| !ids.contains(&optimizer.id));
    let labels: Vec<&str> = others.map(SweepOptimizer::label).collect();
    match &labels[..] {
        [] => None,
        [one] => Some(format!("{one} keeps its own.")),
        [first @ .., last] => Some(format!("{} and {last} keep their own.", first.join(", "))),
    }
}

/// Returns the optimizers that have a hyperparameter.
fn optimizers_with(spec: &SweepSpec, hyperparameter: HyperparameterName) -> impl Iterator<Item = &SweepOptimizer> {
    spec.optimizers.iter().filter(move |optimizer| hyperparameter.is_of(&optimizer.rule))
}

/// Returns the quantities that an axis can vary.
fn choices(spec: &SweepSpec) -> Vec<Quantity> {
    let parameters = LandscapeParameterName::of(&spec.landscape).map(Quantity::Landscape);
    let of_noise = NoiseParameterName::of(&spec.noise).map(Quantity::NoiseParameter);
    let mut choices: Vec<Quantity> = parameters.chain([Quantity::Noise]).chain(of_noise).collect();
    choices.push(Quantity::Steps);
    if spec.landscape.kind() == LandscapeKind::Valley {
        choices.push(Quantity::Dimension);
    }
    for hyperparameter in HyperparameterName::all() {
        let ids: Vec<u32> = optimizers_with(spec, hyperparameter).map(|optimizer| optimizer.id).collect();
        if ids.len() > 1 {
            choices.push(Quantity::Of(hyperparameter, ids.clone()));
        }
        // Also for one optimizer alone, so that adam.beta2 and focus.beta2 can be the two axes.
        choices.extend(ids.into_iter().map(|id| Quantity::Of(hyperparameter, vec![id])));
    }
    choices
}
