//! The controls of the optimizers of a sweep, with their learning rates and tuned settings.

use egui::text::LayoutJob;
use egui::{CollapsingHeader, Color32, Rect, TextFormat, TextStyle, Ui, UiBuilder, Vec2, pos2};
use valleyscope_engine::optimizer::{RuleKind, RuleSpec, Schedule};
use valleyscope_engine::quantity::{LearningRate, PointCount, Range};
use valleyscope_engine::setting::{Extent, Key, LEARNING_RATE, SCHEDULE_END, Spacing};
use valleyscope_engine::simulation::{distinct_name, states_other_settings};
use valleyscope_engine::sweep::{
    Axis, LearningRates, Quantity, SweepOptimizer, SweepSpec, Tuned, can_tune, tuned_info,
};
use valleyscope_experiments::view::{OwnColors, sweep_colors, usual_colors};

use crate::app::landscape::controls::schedule;
use crate::app::widgets::form::check_box;
use crate::app::widgets::icons::{Icon, color_swatch, icon_button};
use crate::app::widgets::text_editor::{RuleChoice, TextEditor, TextTab};
use crate::app::widgets::{form, number, text_editor};

/// The side of the button that removes an optimizer, in points.
const REMOVE: f32 = 16.0;
const COLOR_HELP: &str = "Colour in the map and the plots. Changing it needs no new computation.";

/// Shows the optimizers, each with its rule and learning rates, and a menu that adds one.
pub(super) fn optimizers(ui: &mut Ui, spec: &mut SweepSpec) {
    let (mut removed, mut replaced) = (None, None);
    let can_remove = spec.optimizers.len() > 2;
    let steps = spec.steps.get() as u64;
    let colors = sweep_colors(&spec.optimizers);
    let own_colors = spec.optimizers.iter().map(|optimizer| (optimizer.color, optimizer.rule.rgb()));
    let usual_colors = usual_colors(&own_colors.collect::<Vec<OwnColors>>());
    let (rows, columns) = (spec.rows.clone(), spec.columns.clone());
    let before: Vec<RuleSpec> = spec.optimizers.iter().map(|optimizer| optimizer.rule).collect();
    for (index, optimizer) in spec.optimizers.iter_mut().enumerate() {
        let title = title(ui, optimizer.label(), colors[index]);
        let card = CollapsingHeader::new(title).id_salt(optimizer.id).show(ui, |ui| {
            let label = optimizer.label().to_owned();
            form::line(ui, "Colour", COLOR_HELP, |ui| {
                let name = form::owned(&label, "colour");
                color_swatch(ui, &mut optimizer.color, usual_colors[index], COLOR_HELP, &name);
            });
            let (name, usual) = (form::owned(&label, "rule"), RuleSpec::on_plane);
            let choice = RuleChoice { tab: TextTab::Sweep, optimizer: optimizer.id, name: &name, usual };
            let help = "The update rule. A new one keeps the settings that both have.";
            form::line(ui, "Rule", help, |ui| {
                if choice.menu(ui, &mut optimizer.rule) {
                    replaced = Some(index);
                }
            });
            choice.note(ui, &mut optimizer.rule);
            rule(ui, &label, optimizer, [&rows, &columns]);
            if optimizer.rule.kind().typed().is_some()
                && form::small_button(ui, true, "Edit text", &form::owned(&label, "text"), "The rule as text")
            {
                editor(optimizer.id, "").open(ui.ctx());
            }
            let rated = optimizer.rule.rated(optimizer.learning_rates.from);
            ui.menu_button("Copy as…", |ui| text_editor::copy_entries(ui, &rated));
            rates(ui, &label, &mut optimizer.learning_rates);
            schedule(ui, &label, &mut optimizer.schedule, Some(steps));
            beside_rule(ui, &label, optimizer);
        });
        if remove_button(ui, card.header_response.rect, optimizer.label(), can_remove) {
            removed = Some(index);
        }
    }
    for (optimizer, before) in spec.optimizers.iter_mut().zip(before) {
        let label = optimizer.label().to_owned();
        editor(optimizer.id, &label).show(ui.ctx(), &mut optimizer.rule);
        if optimizer.rule != before {
            optimizer.name.take_if(|name| states_other_settings(name, &optimizer.rule, None));
        }
    }
    if let Some(index) = replaced {
        on_rule_replaced(spec, index);
    }
    if let Some(index) = removed {
        remove(spec, index);
    }
    ui.menu_button("Add an optimizer", |ui| {
        if let Some(kind) = text_editor::choices::<RuleKind>(ui, None)
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

/// Shows the button that removes an optimizer, at the right end of its card's head. Returns whether it was pressed.
fn remove_button(ui: &mut Ui, head: Rect, label: &str, can_remove: bool) -> bool {
    let right = ui.max_rect().right() - REMOVE;
    let area = Rect::from_center_size(pos2(right, head.center().y), Vec2::splat(REMOVE));
    let mut ui = ui.new_child(UiBuilder::new().id_salt((label, "remove")).max_rect(area));
    let button = ui.add_enabled_ui(can_remove, |ui| {
        icon_button(ui, Icon::Close, REMOVE, &form::owned(label, "remove"), "Remove from the sweep")
    });
    button.inner.on_disabled_hover_text("A comparison needs two optimizers.").clicked()
}

/// Lays out an optimizer's colour in the map and its name.
fn title(ui: &Ui, label: &str, [red, green, blue]: [u8; 3]) -> LayoutJob {
    let font = TextStyle::Button.resolve(ui.style());
    let mut job = LayoutJob::default();
    job.append("■ ", 0.0, TextFormat::simple(font.clone(), Color32::from_rgb(red, green, blue)));
    job.append(label, 0.0, TextFormat::simple(font, Color32::PLACEHOLDER));
    job
}

fn editor(id: u32, owner: &str) -> TextEditor<'_, RuleKind> {
    TextEditor::new(TextTab::Sweep, id, owner)
}

/// Adds an optimizer, also to the axes that vary a hyperparameter of all that have it; returns its id.
fn add(spec: &mut SweepSpec, rule: RuleSpec) -> u32 {
    let is_free = |id: &u32| spec.optimizers.iter().all(|optimizer| optimizer.id != *id);
    let id = (0..).find(is_free).expect("a sweep has few optimizers");
    let of_all = [&spec.rows, &spec.columns].map(|axis| unswept_note(spec, axis).is_none());
    for (axis, of_all) in [&mut spec.rows, &mut spec.columns].into_iter().zip(of_all) {
        if let Quantity::Of(key, ids) = &mut axis.of
            && of_all
            && rule.has_axis(key)
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
        tune: Vec::new(),
        schedule: Schedule::default(),
    });
    id
}

/// Removes an optimizer with a new rule from the axes of hyperparameters that the rule does not have, drops its tuned
/// settings that the rule does not have, and gives it a distinct name.
fn on_rule_replaced(spec: &mut SweepSpec, index: usize) {
    let optimizer = &spec.optimizers[index];
    let (id, rule, schedule) = (optimizer.id, optimizer.rule, optimizer.schedule);
    spec.optimizers[index].tune.retain(|tuned| can_tune(tuned.of, &rule, &schedule));
    for axis in [&mut spec.rows, &mut spec.columns] {
        if let Quantity::Of(key, ids) = &mut axis.of
            && !rule.has_axis(key)
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

/// Shows the hyperparameters of an optimizer. `axes` are those of the sweep.
fn rule(ui: &mut Ui, owner: &str, optimizer: &mut SweepOptimizer, axes: [&Axis; 2]) {
    for (of, value) in optimizer.rule.hyperparameters().filter(|(of, _)| !of.is_for_vectors) {
        let mut set = value;
        form::line(ui, of.label, of.help, |ui| {
            for (index, choice) in of.choices().iter().enumerate() {
                ui.selectable_value(&mut set, index as f64, choice.label).on_hover_text(choice.help);
            }
            let Some(Range { min, max, .. }) = of.range() else { return };
            if optimizer.tuned(of.key).is_none() {
                let field = match of.slider.spacing {
                    Spacing::Linear => {
                        let speed = 0.005 * (of.slider.high - of.slider.low);
                        let decimals = if of.is_whole() { 0 } else { 6 };
                        ui.add(number::drag(&mut set).speed(speed).max_decimals(decimals).range(min..=max))
                    }
                    spacing => number::spaced_drag(ui, &mut set, spacing),
                };
                field.on_hover_text(of.help).accessible_name(form::owned(owner, of.label));
            }
            let is_axis = axes.iter().any(|axis| axis.varies(of.key, optimizer.id));
            switch(ui, owner, optimizer, of.key, is_axis);
        });
        grid(ui, owner, optimizer, of.key);
        if set != value {
            optimizer.rule.set(of.key, of.nearest(set)).expect("the nearest value is in the range");
        }
    }
}

fn rates(ui: &mut Ui, owner: &str, rates: &mut LearningRates) {
    ui.horizontal_wrapped(|ui| {
        ui.label(LEARNING_RATE.symbol).on_hover_text("The learning rates that are tried");
        for (end, value) in [("from", &mut rates.from), ("to", &mut rates.to)] {
            let mut number = value.get();
            ui.label(end);
            let drag = number::drag(&mut number).speed(0.01 * value.get());
            if ui.add(drag).accessible_name(form::owned(owner, &format!("learning rates {end}"))).changed() {
                *value = LearningRate::clamped(number);
            }
        }
    });
    ui.horizontal_wrapped(|ui| {
        count(ui, &mut rates.count, &form::owned(owner, "how many learning rates"));
        ui.label("learning rates, with equal ratios");
    });
}

/// The number of values of a setting that has just been chosen for tuning.
const FIRST_COUNT: u64 = 5;
const HELP: &str =
    "Try several values instead of one. At each pixel the best counts, together with the best learning rate.";

/// Shows the switch between a fixed and a tuned setting; turned on, with a grid over the setting's usual extent.
pub(super) fn switch(ui: &mut Ui, owner: &str, optimizer: &mut SweepOptimizer, of: Key, is_axis: bool) {
    let index = optimizer.tuned(of);
    let mut is_tuned = index.is_some();
    let info = tuned_info(of);
    // A setting that has become an axis can still be turned off.
    let switch = ui.add_enabled_ui(!is_axis || is_tuned, |ui| check_box(ui, &mut is_tuned, "tune")).inner;
    let switch = switch.accessible_name(form::owned(owner, &format!("tune {}", info.label)));
    let switch = switch.on_hover_text(HELP).on_disabled_hover_text("It varies along an axis.");
    if !switch.changed() {
        return;
    }
    match index {
        Some(index) => {
            optimizer.tune.remove(index);
        }
        None => {
            let Extent { low, high, spacing } = info.axis;
            optimizer.tune.push(Tuned { of, from: low, to: high, count: PointCount::clamped(FIRST_COUNT), spacing });
        }
    }
}

/// Shows the switch of the schedule's end, and of settings that were tuned and that the optimizer no longer has.
pub(super) fn beside_rule(ui: &mut Ui, owner: &str, optimizer: &mut SweepOptimizer) {
    let lacks = |of: Key| !can_tune(of, &optimizer.rule, &optimizer.schedule);
    let mut shown: Vec<Key> = optimizer.tune.iter().map(|tuned| tuned.of).filter(|of| lacks(of)).collect();
    shown.extend((!lacks(SCHEDULE_END.key)).then_some(SCHEDULE_END.key));
    for of in shown {
        let (info, is_end) = (tuned_info(of), of == SCHEDULE_END.key);
        form::line(ui, if is_end { "End e" } else { info.label }, info.help, |ui| {
            switch(ui, owner, optimizer, of, false);
            if is_end && optimizer.tuned(of).is_some() {
                ui.weak("in place of the share above");
            }
        });
        grid(ui, owner, optimizer, of);
    }
}

/// Shows the grid of a setting, if it is tuned.
pub(super) fn grid(ui: &mut Ui, owner: &str, optimizer: &mut SweepOptimizer, of: Key) {
    let Some(index) = optimizer.tuned(of) else { return };
    let tuned = &mut optimizer.tune[index];
    let info = tuned_info(of);
    let name = |what: &str| form::owned(owner, &format!("{} {what}", info.label));
    ui.horizontal_wrapped(|ui| {
        ui.add_space(form::NAME_WIDTH.min(16.0));
        ui.label(info.symbol);
        let speed = (0.005 * (tuned.to - tuned.from).abs()).max(1e-6);
        for (end, value) in [("from", &mut tuned.from), ("to", &mut tuned.to)] {
            ui.label(end);
            let field = match tuned.spacing {
                Spacing::Linear => ui.add(number::drag(value).speed(speed)),
                spacing => number::spaced_drag(ui, value, spacing),
            };
            field.accessible_name(name(end));
        }
        count(ui, &mut tuned.count, &name("how many values"));
        log_switch(ui, &mut tuned.spacing, info.axis.spacing, &name("logarithmic"));
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

/// Shows the control of the number of values.
pub(super) fn count(ui: &mut Ui, count: &mut PointCount, name: &str) {
    let mut number = count.get();
    ui.label("in");
    let drag = number::drag(&mut number).range(PointCount::MIN..=PointCount::MAX);
    if ui.add(drag).on_hover_text("How many").accessible_name(name).changed() {
        *count = PointCount::clamped(number as u64);
    }
}

/// Names the optimizers that have the hyperparameter of an axis, but keep their own value.
pub(super) fn unswept_note(spec: &SweepSpec, axis: &Axis) -> Option<String> {
    let Quantity::Of(key, ids) = &axis.of else { return None };
    let others = optimizers_with(spec, key).filter(|optimizer| !ids.contains(&optimizer.id));
    let labels: Vec<&str> = others.map(SweepOptimizer::label).collect();
    match &labels[..] {
        [] => None,
        [one] => Some(format!("{one} keeps its own.")),
        [first @ .., last] => Some(format!("{} and {last} keep their own.", first.join(", "))),
    }
}

pub(super) fn optimizers_with(spec: &SweepSpec, key: Key) -> impl Iterator<Item = &SweepOptimizer> {
    spec.optimizers.iter().filter(move |optimizer| optimizer.rule.has_axis(key))
}
