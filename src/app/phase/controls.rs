//! The settings of a sweep: axes, fixed quantities, replicates, and the optimizers with their learning rates.

use egui::{Button, CollapsingHeader, ComboBox, DragValue, Label, RichText, Ui};
use valleyscope_engine::optimizer::{HyperparameterKind, HyperparameterName, RuleSpec, Schedule};
use valleyscope_engine::quantity::{
    Dimension, LearningRate, Noise, PointCount, Replicates, Rotation, Sharpness, Slope, StepCount,
};
use valleyscope_engine::simulation::{distinct_name, kept_name};
use valleyscope_engine::spec_error::{Part, SpecError};
use valleyscope_engine::sweep::{Average, Axis, LearningRates, Quantity, Spacing, SweepOptimizer, SweepSpec};

use crate::app::controls::{color_swatch, schedule};
use crate::app::form;
use crate::app::live::{Action, Requests};
use crate::app::number;
use crate::app::rule_text::{self, RuleEditor};
use crate::app::theme::legible;
use crate::app::typed::TypedField;
use crate::figure::{axis_label, optimizer_colors};

/// Shows the controls of a sweep, and a fault beside its field.
pub(super) fn show(ui: &mut Ui, spec: &mut SweepSpec, fault: Option<&SpecError>, requests: &mut Requests) {
    let about = |part: &str| fault.filter(|fault| fault.path.starts_with(part));
    heading(ui, "Axes");
    let shown = spec.clone();
    axis(ui, "Rows", &shown, &mut spec.rows);
    complain(ui, about("rows"));
    ui.add_space(6.0);
    axis(ui, "Columns", &shown, &mut spec.columns);
    complain(ui, about("columns"));
    heading(ui, "Everywhere");
    everywhere(ui, spec);
    heading(ui, "Runs");
    runs(ui, spec);
    complain(ui, fault.filter(|fault| !["rows", "columns", "optimizers"].iter().any(|it| fault.path.starts_with(it))));
    heading(ui, "Optimizers");
    complain(ui, about("optimizers"));
    optimizers(ui, spec, requests);
}

fn complain(ui: &mut Ui, fault: Option<&SpecError>) {
    if let Some(fault) = fault {
        let color = ui.visuals().error_fg_color;
        ui.add(Label::new(RichText::new(in_words(fault)).color(color)).wrap());
    }
}

/// A fault in the words of the window, which has labels where a preset's file has paths.
fn in_words(fault: &SpecError) -> String {
    let words = fault.parts().map(|part| match part {
        Part::Words(words) => words.to_owned(),
        Part::InFile("spacing: Linear") => "linear spacing".to_owned(),
        Part::InFile(path) => path.split('.').filter_map(label).collect::<Vec<_>>().join(": "),
    });
    let words: String = words.collect();
    let mut letters = words.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    first.chain(letters).chain(['.']).collect()
}

/// The label of a field in the controls, by its path. A quantity that varies along an axis has no label of its own.
fn label(field: &str) -> Option<String> {
    match field {
        "of" => None,
        "count" => Some("how many".to_owned()),
        "learning_rates" => Some("learning rates".to_owned()),
        _ => match field.strip_prefix("optimizers[").and_then(|rest| rest.strip_suffix(']')?.parse::<usize>().ok()) {
            Some(index) => Some(format!("optimizer {}", index + 1)),
            None => Some(field.to_owned()),
        },
    }
}

fn heading(ui: &mut Ui, text: &str) {
    form::heading(ui, 8.0, text);
    ui.add_space(2.0);
}

const NAME_WIDTH: f32 = 104.0;

/// A line with a name and something to change.
fn line(ui: &mut Ui, name: &str, help: &str, add: impl FnOnce(&mut Ui)) {
    form::line(ui, NAME_WIDTH, name, help, add);
}

/// A field for a quantity, dragged or typed; a value out of its range is moved to the nearest end.
macro_rules! number {
    ($ui:expr, $name:expr, $help:expr, $value:expr, $type:ty, $speed:expr) => {
        number!($ui, "" => $name, $help, $value, $type, $speed)
    };
    ($ui:expr, $owner:expr => $name:expr, $help:expr, $value:expr, $type:ty, $speed:expr) => {
        line($ui, $name, $help, |ui| {
            let mut number = $value.get() as f64;
            let drag = DragValue::new(&mut number).speed($speed).range(<$type>::MIN as f64..=<$type>::MAX as f64);
            let drag = drag.max_decimals(6).update_while_editing(false).custom_parser(finite);
            if ui.add(drag).on_hover_text($help).accessible_name(form::owned($owner, $name)).changed() {
                $value = <$type>::clamped(number as _);
            }
        })
    };
}

/// A number as it is typed. What is none, as `nan` and `inf`, leaves the old one.
fn finite(text: &str) -> Option<f64> {
    let text: String = text.chars().filter(|c| !c.is_whitespace()).map(|c| if c == '−' { '-' } else { c }).collect();
    text.parse().ok().filter(|number: &f64| number.is_finite())
}

/// Shows the quantities that are the same in all pixels. A quantity of an axis has no value here.
fn everywhere(ui: &mut Ui, spec: &mut SweepSpec) {
    let is_axis = |spec: &SweepSpec, of: Quantity| spec.rows.of == of || spec.columns.of == of;
    if !is_axis(spec, Quantity::Sharpness) {
        number!(ui, "Sharpness a", "Sharpness of the walls.", spec.landscape.sharpness, Sharpness, 0.1);
    }
    if !is_axis(spec, Quantity::Slope) {
        number!(ui, "Slope c", "Slope along the valley.", spec.landscape.slope, Slope, 0.01);
    }
    if !is_axis(spec, Quantity::Rotation) {
        let help = "How far the valley is turned.";
        number!(ui, "Rotation φ (°)", help, spec.landscape.rotation_degrees, Rotation, 1.0);
    }
    if !is_axis(spec, Quantity::Noise) {
        number!(ui, "Noise σ", "Gradient noise.", spec.noise, Noise, 0.01);
    }
    if !is_axis(spec, Quantity::Dimension) {
        let help = "2: the plane, with the valley turned by φ. More: a valley in a random direction.";
        number!(ui, "Dimension d", help, spec.dimension, Dimension, 1.0);
    }
    if !is_axis(spec, Quantity::Steps) {
        number!(ui, "Steps", "Steps of each run. The paper takes 1000.", spec.steps, StepCount, 10.0);
    }
}

fn runs(ui: &mut Ui, spec: &mut SweepSpec) {
    let help = "Runs with each learning rate, with different noise. The paper takes 50.";
    number!(ui, "Replicates", help, spec.replicates, Replicates, 1.0);
    line(ui, "Seed", "Another seed, other noise.", |ui| {
        let field = TypedField { name: "Seed of the sweep", width: 84.0 };
        if let Some(entered) = field.show(ui, &spec.seed.to_string(), number::read_whole).entered {
            spec.seed = entered;
        }
    });
    line(ui, "Average", "How runs are averaged before optimizers are compared. The paper takes the mean.", |ui| {
        ui.selectable_value(&mut spec.average, Average::Mean, "mean");
        ui.selectable_value(&mut spec.average, Average::Median, "median");
    });
    ui.checkbox(&mut spec.common_random_numbers, "Common random numbers").on_hover_text(
        "The same noise for all optimizers and learning rates of a pixel: takes most of the chance out of the \
         comparison, and is faster.",
    );
}

fn axis(ui: &mut Ui, name: &str, spec: &SweepSpec, axis: &mut Axis) {
    let spread = (axis.to - axis.from).abs();
    ui.horizontal(|ui| {
        ui.label(RichText::new(name).weak());
        let combo = ComboBox::from_id_salt(name).selected_text(axis_label(spec, axis)).truncate().height(500.0);
        let combo = combo.width(ui.available_width() - 8.0);
        let shown = combo.show_ui(ui, |ui| {
            let against = if *axis == spec.rows { &spec.columns } else { &spec.rows };
            for (of, range) in choices(spec) {
                if of != axis.of && of.overlaps(&against.of) {
                    continue;
                }
                let other = Axis { of: of.clone(), ..axis.clone() };
                if ui.selectable_label(axis.of == of, axis_label(spec, &other)).clicked() {
                    let (from, to, spacing) = range;
                    *axis = Axis { of, from, to, spacing, count: axis.count };
                }
            }
        });
        shown.response.accessible_name(format!("{name}: what varies"));
    });
    if let Some(left_out) = left_out(spec, axis) {
        ui.add(Label::new(RichText::new(left_out).small().weak()).wrap());
    }
    ui.horizontal(|ui| {
        for (end, value) in [("from", &mut axis.from), ("to", &mut axis.to)] {
            ui.label(end);
            let speed = match axis.spacing {
                Spacing::Linear => 0.005 * spread,
                Spacing::Log => 0.01 * value.abs(),
            };
            let drag = DragValue::new(value)
                .speed(speed.max(1e-6))
                .max_decimals(6)
                .update_while_editing(false)
                .custom_parser(finite);
            ui.add(drag).accessible_name(format!("{name} {end}"));
        }
    });
    ui.horizontal(|ui| {
        let mut count = axis.count.get();
        ui.label("in");
        let drag = DragValue::new(&mut count)
            .range(PointCount::MIN..=PointCount::MAX)
            .update_while_editing(false)
            .custom_parser(finite);
        if ui.add(drag).on_hover_text("How many").accessible_name(format!("{name}: how many")).changed() {
            axis.count = PointCount::clamped(count as u64);
        }
        let mut log = axis.spacing == Spacing::Log;
        let help = "Logarithmic: equal quotients rather than equal differences.";
        let toggle = ui.checkbox(&mut log, "log").on_hover_text(help).accessible_name(format!("{name}: logarithmic"));
        if toggle.changed() {
            axis.spacing = if log { Spacing::Log } else { Spacing::Linear };
        }
    });
}

/// The optimizers that have the hyperparameter of an axis, but keep their own value.
fn left_out(spec: &SweepSpec, axis: &Axis) -> Option<String> {
    let Quantity::Of(hyperparameter, ids) = &axis.of else { return None };
    let others = having(spec, *hyperparameter).filter(|optimizer| !ids.contains(&optimizer.id));
    let labels: Vec<&str> = others.map(SweepOptimizer::label).collect();
    match &labels[..] {
        [] => None,
        [one] => Some(format!("{one} keeps its own.")),
        [first @ .., last] => Some(format!("{} and {last} keep their own.", first.join(", "))),
    }
}

/// The optimizers that have a hyperparameter.
fn having(spec: &SweepSpec, hyperparameter: HyperparameterName) -> impl Iterator<Item = &SweepOptimizer> {
    spec.optimizers.iter().filter(move |optimizer| hyperparameter.is_of(&optimizer.rule))
}

/// The quantities that an axis can vary, with initial ranges.
fn choices(spec: &SweepSpec) -> Vec<(Quantity, (f64, f64, Spacing))> {
    let mut choices = vec![
        (Quantity::Sharpness, (0.1, 1000.0, Spacing::Log)),
        (Quantity::Noise, (0.0, 3.0, Spacing::Linear)),
        (Quantity::Slope, (0.01, 1.0, Spacing::Log)),
        (Quantity::Rotation, (0.0, 90.0, Spacing::Linear)),
        (Quantity::Steps, (10.0, 10_000.0, Spacing::Log)),
        (Quantity::Dimension, (2.0, 100.0, Spacing::Log)),
    ];
    for hyperparameter in HyperparameterName::all() {
        let range = match hyperparameter.hyperparameter() {
            None => (1e-3, 1.0, Spacing::Log),
            Some(of) => (of.slider[0], of.slider[1], Spacing::Linear),
        };
        let ids: Vec<u32> = having(spec, hyperparameter).map(|optimizer| optimizer.id).collect();
        if ids.len() > 1 {
            choices.push((Quantity::Of(hyperparameter, ids.clone()), range));
        }
        // Also for one optimizer alone, so that adam.beta2 and focus.beta2 can be the two axes.
        choices.extend(ids.into_iter().map(|id| (Quantity::Of(hyperparameter, vec![id]), range)));
    }
    choices
}

const COLOR_HELP: &str = "Colour in the map and the plots. A change of it needs no new computation.";

fn optimizers(ui: &mut Ui, spec: &mut SweepSpec, requests: &mut Requests) {
    let (mut removed, mut exchanged) = (None, None);
    let can_remove = spec.optimizers.len() > 2;
    let steps = spec.steps.get() as u64;
    let colors = optimizer_colors(spec);
    let usual_colors: Vec<[u8; 3]> = (0..colors.len()).map(|index| usual_color(spec, &colors, index)).collect();
    for (index, optimizer) in spec.optimizers.iter_mut().enumerate() {
        let title = RichText::new(format!("■ {}", optimizer.label())).color(legible(ui, colors[index]));
        CollapsingHeader::new(title).id_salt(optimizer.id).show(ui, |ui| {
            let label = optimizer.label().to_owned();
            line(ui, "Colour", COLOR_HELP, |ui| {
                let name = form::owned(&label, "colour");
                color_swatch(ui, &mut optimizer.color, usual_colors[index], COLOR_HELP, &name);
            });
            let help = "The update rule. Another one keeps the settings that both have.";
            line(ui, "Rule", help, |ui| {
                let name = form::owned(&label, "rule");
                if let Some(notice) = rule_text::exchange(ui, &name, &mut optimizer.rule, RuleSpec::on_plane) {
                    requests.actions.push(Action::Notify(notice));
                    exchanged = Some(index);
                }
            });
            rule(ui, &label, optimizer);
            if optimizer.rule.kind().typed().is_some()
                && form::small_button(ui, true, "Edit text", &form::owned(&label, "text"), "The rule as text")
            {
                editor(optimizer.id, "").open(ui.ctx());
            }
            rates(ui, &label, &mut optimizer.learning_rates);
            schedule(ui, &label, &mut optimizer.schedule, Some(steps));
            let remove = ui.add_enabled(can_remove, Button::new("Remove").small());
            let remove = remove.accessible_name(form::owned(&label, "remove"));
            if remove.on_disabled_hover_text("A comparison needs two.").clicked() {
                removed = Some(index);
            }
        });
    }
    for optimizer in &mut spec.optimizers {
        let label = optimizer.label().to_owned();
        editor(optimizer.id, &label).show(ui.ctx(), &mut optimizer.rule);
    }
    if let Some(index) = exchanged {
        exchange(spec, index);
    }
    if let Some(index) = removed {
        remove(spec, index);
    }
    ui.menu_button("Add an optimizer", |ui| {
        if let Some(kind) = rule_text::choices(ui, None)
            && spec.optimizers.len() < SweepSpec::MAX_OPTIMIZERS
        {
            let id = add(spec, RuleSpec::on_plane(kind));
            if kind.typed().is_some() {
                editor(id, "").open(ui.ctx());
            }
            ui.close();
        }
    });
}

/// The colour of an optimizer where none is chosen for it; `colors` are those in use.
fn usual_color(spec: &SweepSpec, colors: &[[u8; 3]], index: usize) -> [u8; 3] {
    if spec.optimizers[index].color.is_none() {
        return colors[index];
    }
    let mut spec = spec.clone();
    spec.optimizers[index].color = None;
    optimizer_colors(&spec)[index]
}

fn editor(id: u32, owner: &str) -> RuleEditor<'_> {
    RuleEditor { of: ("sweep", id), owner }
}

/// Adds an optimizer, also to the axes that vary a hyperparameter of all that have it; returns its id.
fn add(spec: &mut SweepSpec, rule: RuleSpec) -> u32 {
    let is_free = |id: &u32| spec.optimizers.iter().all(|optimizer| optimizer.id != *id);
    let id = (0..).find(is_free).expect("a sweep has few optimizers");
    let of_all = [&spec.rows, &spec.columns].map(|axis| left_out(spec, axis).is_none());
    for (axis, of_all) in [&mut spec.rows, &mut spec.columns].into_iter().zip(of_all) {
        if let Quantity::Of(hyperparameter, ids) = &mut axis.of
            && of_all
            && hyperparameter.is_of(&rule)
        {
            ids.push(id);
        }
    }
    let is_taken = |name: &str| spec.optimizers.iter().any(|optimizer| optimizer.label() == name);
    let name = Some(distinct_name(rule.name(), is_taken)).filter(|name| name != rule.name());
    spec.optimizers.push(SweepOptimizer {
        id,
        name,
        color: None,
        rule,
        learning_rates: LearningRates::default(),
        schedule: Schedule::default(),
    });
    id
}

/// Removes an optimizer whose rule was changed from the axes that vary a hyperparameter which it does not have, and a name that
/// was made of the rule before.
fn exchange(spec: &mut SweepSpec, index: usize) {
    let optimizer = &mut spec.optimizers[index];
    optimizer.name = kept_name(optimizer.name.take());
    let (id, rule) = (optimizer.id, optimizer.rule);
    for axis in [&mut spec.rows, &mut spec.columns] {
        if let Quantity::Of(hyperparameter, ids) = &mut axis.of
            && !hyperparameter.is_of(&rule)
        {
            ids.retain(|other| *other != id);
        }
    }
    let is_taken = |name: &str| spec.optimizers.iter().any(|other| other.id != id && other.label() == name);
    let label = spec.optimizers[index].label();
    let name = distinct_name(label, is_taken);
    let is_other = name != label;
    if is_other {
        spec.optimizers[index].name = Some(name);
    }
}

/// Removes an optimizer, also from the axes.
fn remove(spec: &mut SweepSpec, index: usize) {
    let id = spec.optimizers.remove(index).id;
    for axis in [&mut spec.rows, &mut spec.columns] {
        if let Quantity::Of(_, ids) = &mut axis.of {
            ids.retain(|other| *other != id);
        }
    }
}

fn rule(ui: &mut Ui, owner: &str, optimizer: &mut SweepOptimizer) {
    for (of, value) in optimizer.rule.hyperparameters().filter(|(of, _)| !of.is_for_vectors) {
        let mut set = value;
        match of.kind {
            HyperparameterKind::Choice(choices) => line(ui, of.label, of.help, |ui| {
                for (index, choice) in choices.iter().enumerate() {
                    ui.selectable_value(&mut set, index as f64, choice.label).on_hover_text(choice.help);
                }
            }),
            HyperparameterKind::DecayRate | HyperparameterKind::Number(_) | HyperparameterKind::Whole(_) => {
                line(ui, of.label, of.help, |ui| {
                    let speed = 0.005 * (of.slider[1] - of.slider[0]);
                    let decimals = if of.is_whole() { 0 } else { 6 };
                    let drag = DragValue::new(&mut set).speed(speed).max_decimals(decimals).update_while_editing(false);
                    let (low, high) = of.range().map_or((f64::MIN, f64::MAX), |range| (range.min, range.max));
                    let drag = drag.range(low..=high).custom_parser(finite);
                    ui.add(drag).on_hover_text(of.help).accessible_name(form::owned(owner, of.label));
                })
            }
        }
        if of.is_whole() {
            set = set.round();
        }
        if set != value {
            optimizer.rule.set(of.key, set).expect("controls keep values in range");
        }
    }
}

fn rates(ui: &mut Ui, owner: &str, rates: &mut LearningRates) {
    ui.horizontal_wrapped(|ui| {
        ui.label("η").on_hover_text("The learning rates that are tried");
        for (end, value) in [("from", &mut rates.from), ("to", &mut rates.to)] {
            let mut number = value.get();
            ui.label(end);
            let drag = DragValue::new(&mut number)
                .speed(0.01 * value.get())
                .max_decimals(6)
                .update_while_editing(false)
                .custom_parser(finite);
            if ui.add(drag).accessible_name(form::owned(owner, &format!("learning rates {end}"))).changed() {
                *value = LearningRate::clamped(number);
            }
        }
    });
    ui.horizontal_wrapped(|ui| {
        let mut count = rates.count.get();
        ui.label("in");
        let drag = DragValue::new(&mut count)
            .range(PointCount::MIN..=PointCount::MAX)
            .update_while_editing(false)
            .custom_parser(finite);
        if ui.add(drag).accessible_name(form::owned(owner, "how many learning rates")).changed() {
            rates.count = PointCount::clamped(count as u64);
        }
        ui.label("learning rates, with equal quotients");
    });
}
