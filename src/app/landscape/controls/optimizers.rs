//! The cards of the optimizers, and their learning-rate schedules.

use egui::collapsing_header::CollapsingState;
use egui::{Align, Button, Checkbox, DragValue, Layout, RichText, TextEdit, Ui, vec2};
use valleyscope_engine::optimizer::{Decay, RatedRule, RuleKind, RuleSpec, Schedule};
use valleyscope_engine::quantity::{DecaySteps, FinalShare, WarmupSteps};
use valleyscope_engine::setting::{LEARNING_RATE, SettingPath};
use valleyscope_engine::simulation::{OptimizerSpec, SimulationSpec, defaults, distinct_name, states_other_settings};
use valleyscope_engine::terminal_escape::{is_unseen, is_visible_name};
use valleyscope_experiments::view::{OwnColors, usual_colors};

use super::setting_control;
use crate::app::landscape::live::Live;
use crate::app::shell::actions::{Action, Requests};
use crate::app::widgets::form::{Highlight, Outlined, check_box};
use crate::app::widgets::icons::color_swatch;
use crate::app::widgets::number::{Pins, SliderStyle};
use crate::app::widgets::text_editor::{RuleChoice, TextEditor, TextTab};
use crate::app::widgets::{form, text_editor, theme};

/// The button pressed on a card.
enum CardAction {
    Explain,
    AsText,
    Duplicate,
    Remove,
}

/// Shows a card for each optimizer of the simulation that the controls set.
pub(super) fn cards(ui: &mut Ui, spec: &mut SimulationSpec, pins: &mut Pins, live: &Live, requests: &mut Requests) {
    let mut pressed = None;
    let room = has_room(spec);
    let only_one = spec.optimizers.len() == 1;
    let only_one_enabled = spec.optimizers.iter().filter(|optimizer| optimizer.enabled).count() == 1;
    let names = spec.distinct_names();
    let run = spec.steps;
    let shown = live.with_recorded(spec);
    let own_colors = shown.optimizers.iter().map(|optimizer| (optimizer.color, optimizer.rule.rule.rgb()));
    let usual_colors = usual_colors(&own_colors.collect::<Vec<OwnColors>>());
    for (index, (optimizer, name)) in spec.optimizers.iter_mut().zip(&names).enumerate() {
        let mut ensembles = live.session(live.chosen).into_iter().flat_map(|session| &session.ensembles);
        let diverged = ensembles.find(|it| it.optimizer == optimizer.id).map_or(0, |it| it.sample.diverged);
        let (id, before) = (optimizer.id, optimizer.rule);
        let last = optimizer.enabled && only_one_enabled;
        let usual_color = usual_colors[index];
        let card = Card { name, usual_color, run, room, removable: !only_one && !last, last_enabled: last, diverged };
        if let Some(press) = ui.push_id(("optimizer", id), |ui| card.show(ui, optimizer, pins)).inner {
            pressed = Some((index, press));
        }
        editor(id, name).show(ui.ctx(), &mut optimizer.rule.rule);
        if optimizer.rule != before {
            let RatedRule { rule, learning_rate, .. } = optimizer.rule;
            optimizer.name.take_if(|name| states_other_settings(name, &rule, Some(learning_rate)));
        }
    }
    match pressed {
        Some((index, CardAction::Remove)) => {
            spec.optimizers.remove(index);
            requests.actions.push(Action::Notify(format!("Removed {}. Undo brings it back.", names[index])));
        }
        Some((index, CardAction::Duplicate)) => duplicate(spec, index),
        Some((index, CardAction::AsText)) => as_text(ui, spec, index, requests),
        Some((index, CardAction::Explain)) => {
            let kind = spec.optimizers[index].rule.rule.kind();
            requests.actions.push(Action::ShowOptimizer(kind));
        }
        None => {}
    }
}

/// Opens the editor of a typed rule, or of a typed copy of a built-in one.
fn as_text(ui: &Ui, spec: &mut SimulationSpec, index: usize, requests: &mut Requests) {
    let optimizer = &spec.optimizers[index];
    let (id, rated) = (optimizer.id, optimizer.rule);
    if rated.rule.kind().typed().is_some() {
        return editor(id, "").open(ui.ctx());
    }
    match text_editor::rule_as_text(&rated.rule) {
        Ok(rule) => {
            let rule = RatedRule { rule, ..rated };
            let id = add(spec, OptimizerSpec { id: 0, name: None, color: None, enabled: true, rule });
            editor(id, "").open(ui.ctx());
        }
        Err(reason) => requests.actions.push(Action::Notify(reason)),
    }
}

fn editor(id: u32, owner: &str) -> TextEditor<'_, RuleKind> {
    TextEditor::new(TextTab::Simulation, id, owner)
}

/// The card of an optimizer.
struct Card<'a> {
    name: &'a str,
    /// The colour that it has unless another is chosen.
    usual_color: [u8; 3],
    /// The number of steps of the simulation, if it has an end.
    run: Option<u64>,
    /// True if another optimizer may be added.
    room: bool,
    /// False for the last optimizer and for the last enabled one, which stay.
    removable: bool,
    last_enabled: bool,
    diverged: u32,
}

impl Card<'_> {
    fn show(&self, ui: &mut Ui, optimizer: &mut OptimizerSpec, pins: &mut Pins) -> Option<CardAction> {
        let mut pressed = None;
        let style = ui.style().clone();
        theme::card(&style).show(ui, |ui| {
            ui.set_width(ui.available_width());
            let id = ui.make_persistent_id("card");
            let mut state = CollapsingState::load_with_default_open(ui.ctx(), id, true);
            if Highlight::includes_control_of(ui.ctx(), self.name) {
                state.set_open(true);
            }
            let header = state.show_header(ui, |ui| self.header(ui, optimizer));
            header.body_unindented(|ui| {
                ui.add_enabled_ui(optimizer.enabled, |ui| {
                    choose_rule(ui, self.name, optimizer);
                    rule(ui, self.name, optimizer, self.run, pins);
                });
                pressed = self.footer(ui, optimizer);
            });
        });
        pressed
    }

    fn header(&self, ui: &mut Ui, optimizer: &mut OptimizerSpec) {
        let (help, name) = ("Colour of the particles and curves", format!("{}: colour", self.name));
        color_swatch(ui, &mut optimizer.color, self.usual_color, help, &name);
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            ui.add_enabled(!self.last_enabled, Outlined(Checkbox::without_text(&mut optimizer.enabled)))
                .on_hover_text("Simulate this optimizer. A change restarts the run.")
                .on_disabled_hover_text("At least one optimizer is simulated.")
                .accessible_name(format!("{}: enabled", self.name));
            if self.diverged > 0 {
                let warning = RichText::new(format!("{} diverged", self.diverged)).small();
                ui.label(warning.color(ui.visuals().warn_fg_color))
                    .on_hover_text("Number of particles whose position or loss is no longer finite");
            }
            // The hint is the present name, so it looks like text.
            ui.visuals_mut().weak_text_color = Some(ui.visuals().strong_text_color());
            let mut name = optimizer.name.clone().unwrap_or_default();
            let field = TextEdit::singleline(&mut name)
                .hint_text(self.name)
                .desired_width(ui.available_width())
                .char_limit(OptimizerSpec::LONGEST_NAME)
                .font(egui::TextStyle::Button)
                .align(egui::Align2::LEFT_CENTER)
                .min_size(vec2(0.0, ui.spacing().interact_size.y))
                .frame(egui::Frame::NONE);
            let response = ui.add(field).accessible_name(format!("{}: name", optimizer.id));
            if response.changed() {
                name.retain(|c| !is_unseen(c));
                optimizer.name = Some(name).filter(|name| is_visible_name(name));
            }
        });
    }

    fn footer(&self, ui: &mut Ui, optimizer: &mut OptimizerSpec) -> Option<CardAction> {
        let mut pressed = None;
        ui.horizontal(|ui| {
            let rule = ui.link(RichText::new(optimizer.rule.name()).small());
            let rule = rule.on_hover_text("Formulas, source and hyperparameters");
            if rule.accessible_name(format!("{}: explain", self.name)).clicked() {
                pressed = Some(CardAction::Explain);
            }
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                let remove = Button::new(RichText::new("Remove").small());
                let response = ui.add_enabled(self.removable, remove);
                let response = response.on_disabled_hover_text("At least one optimizer is simulated.");
                if response.accessible_name(format!("{}: remove", self.name)).clicked() {
                    pressed = Some(CardAction::Remove);
                }
                let duplicate = Button::new(RichText::new("Duplicate").small());
                let response = ui.add_enabled(self.room, duplicate).on_disabled_hover_text(full());
                if response.accessible_name(format!("{}: duplicate", self.name)).clicked() {
                    pressed = Some(CardAction::Duplicate);
                }
                let menu =
                    ui.menu_button(RichText::new("…").small(), |ui| text_editor::copy_entries(ui, &optimizer.rule));
                let menu = menu.response.on_hover_text("Copy the rule as code");
                menu.accessible_name(format!("{}: copy as code", self.name));
                let is_typed = optimizer.rule.rule.kind().typed().is_some();
                let has_mistake = editor(optimizer.id, "").has_mistake(ui.ctx(), &optimizer.rule.rule);
                let (label, help) = match (is_typed, has_mistake) {
                    (true, true) => ("Edit text", "The name or the text has a mistake; the last valid rule runs"),
                    (true, false) => ("Edit text", "Edit the rule's text while it runs"),
                    (false, _) => ("As text", "Edit a copy of the rule as text"),
                };
                let label = RichText::new(label).small();
                let label = if has_mistake { label.color(ui.visuals().error_fg_color) } else { label };
                let button = Button::new(label);
                let response = ui.add_enabled(self.room || is_typed, button).on_disabled_hover_text(full());
                let response = response.on_hover_text(help);
                if response.accessible_name(format!("{}: text", self.name)).clicked() {
                    pressed = Some(CardAction::AsText);
                }
            });
        });
        pressed
    }
}

fn has_room(spec: &SimulationSpec) -> bool {
    spec.optimizers.len() < SimulationSpec::MAX_OPTIMIZERS
}

fn full() -> String {
    format!("At most {} optimizers run side by side.", SimulationSpec::MAX_OPTIMIZERS)
}

fn choose_rule(ui: &mut Ui, owner: &str, optimizer: &mut OptimizerSpec) {
    let name = format!("{owner}: rule");
    let choice =
        RuleChoice { tab: TextTab::Simulation, optimizer: optimizer.id, name: &name, usual: RuleSpec::on_plane };
    let rule = &mut optimizer.rule.rule;
    ui.horizontal(|ui| {
        ui.label("Rule")
            .on_hover_text("The update rule. A new one keeps the settings that both have, and restarts the run.");
        choice.menu(ui, rule);
    });
    choice.note(ui, rule);
}

/// Shows the learning rate of a rule with its schedule in a run of `run` steps, and the rule's hyperparameters in the
/// order of its table.
fn rule(ui: &mut Ui, owner: &str, optimizer: &mut OptimizerSpec, run: Option<u64>, pins: &mut Pins) {
    let (id, rule) = (optimizer.id, &mut optimizer.rule);
    for (of, value) in rule.settings().filter(|(of, _)| !of.is_for_vectors) {
        let style = SliderStyle::Pinnable(pins, SettingPath::of_rule(id, of.key));
        if let Some(value) = setting_control(ui, owner, of, [value, of.default], style) {
            rule.set(of.key, value).expect("the control keeps to the range");
        }
        if of.key == LEARNING_RATE.key {
            schedule(ui, owner, &mut rule.schedule, run);
        }
    }
}

/// Shows the menu that adds an optimizer.
pub(super) fn add_menu(ui: &mut Ui, spec: &mut SimulationSpec) {
    ui.add_enabled_ui(has_room(spec), |ui| {
        let (response, _) = egui::containers::menu::MenuButton::new("+ Add optimizer").ui(ui, |ui| {
            if let Some(kind) = text_editor::choices::<RuleKind>(ui, None) {
                let rule = RuleSpec::on_plane(kind).rated(defaults::learning_rate());
                let id = add(spec, OptimizerSpec { id: 0, name: None, color: None, enabled: true, rule });
                if kind.typed().is_some() {
                    editor(id, "").open(ui.ctx());
                }
                ui.close();
            }
        });
        response.on_disabled_hover_text(full());
    });
}

fn duplicate(spec: &mut SimulationSpec, index: usize) {
    let copy = OptimizerSpec { color: None, ..spec.optimizers[index].clone() };
    add(spec, copy);
}

/// Adds an optimizer with a unique id and name; returns the id.
fn add(spec: &mut SimulationSpec, mut optimizer: OptimizerSpec) -> u32 {
    let highest = spec.optimizers.iter().map(|other| other.id).max().unwrap_or(0);
    let free = || (0..).find(|id| spec.optimizers.iter().all(|other| other.id != *id));
    optimizer.id = highest.checked_add(1).or_else(free).unwrap_or_default();
    let names = spec.distinct_names();
    let name = distinct_name(optimizer.label(), |name| names.iter().any(|other| other == name));
    if name != optimizer.label() {
        optimizer.name = Some(name);
    }
    let id = optimizer.id;
    spec.optimizers.push(optimizer);
    id
}

pub(crate) const SCHEDULE_LABEL: &str = "Schedule of η";

/// Returns the initial length of a decay in a run without an end.
fn first_steps() -> DecaySteps {
    DecaySteps::clamped(1000)
}

/// Shows the schedule of an optimizer's learning rate in a run of `run` steps.
pub(crate) fn schedule(ui: &mut Ui, owner: &str, schedule: &mut Schedule, run: Option<u64>) {
    let shown = ui.scope(|ui| {
        let help = "How the learning rate changes over the run.";
        form::line(ui, SCHEDULE_LABEL, help, |ui| {
            // Choices without room in a row are below each other, beside the name.
            ui.horizontal_wrapped(|ui| decays(ui, owner, &mut schedule.decay, run));
        });
        if let Decay::Cosine { to, steps } = &mut schedule.decay {
            let help = "The share of η that is left at the end of the cosine.";
            form::line(ui, "Falls to", help, |ui| share(ui, owner, to));
            let help = "The step at which the cosine ends.";
            form::line(ui, "Ends", help, |ui| end(ui, owner, steps, run));
        }
        form::line(ui, "Warm-up", "The steps in which the learning rate grows to η.", |ui| {
            let mut steps = schedule.warmup.get() as u64;
            let drag = DragValue::new(&mut steps).range(WarmupSteps::MIN..=WarmupSteps::MAX).suffix(" steps");
            let drag = drag.update_while_editing(false);
            if ui.add(drag).accessible_name(form::owned(owner, "warm-up of the learning rate")).changed() {
                schedule.warmup = WarmupSteps::clamped(steps);
            }
        });
    });
    Highlight::mark(ui, shown.response.rect, &format!("{owner}: {SCHEDULE_LABEL}"));
}

fn decays(ui: &mut Ui, owner: &str, decay: &mut Decay, run: Option<u64>) {
    let steps = if run.is_none() { Some(first_steps()) } else { None };
    let choices = [
        (Decay::Constant, "η in all steps."),
        (Decay::Cosine { to: Decay::nothing(), steps }, "Half a cosine, down to a share of η at the end."),
        (
            Decay::InverseRoot,
            "η √(W/t) after a warm-up of W steps; without one η/√t, as in the paper's bound on the regret.",
        ),
    ];
    for (choice, help) in choices {
        let label = choice.name();
        let is_chosen = std::mem::discriminant(decay) == std::mem::discriminant(&choice);
        let response = ui.selectable_label(is_chosen, label).on_hover_text(help);
        if response.accessible_name(form::owned(owner, &format!("schedule {label}"))).clicked() && !is_chosen {
            *decay = choice;
        }
    }
}

/// Shows the final share of η of a cosine.
fn share(ui: &mut Ui, owner: &str, to: &mut FinalShare) {
    let mut percent = 100.0 * to.get();
    let drag = DragValue::new(&mut percent).range(0.0..=100.0).speed(0.5).max_decimals(2).suffix(" %");
    let drag = drag.update_while_editing(false);
    if ui.add(drag).accessible_name(form::owned(owner, "final share of the learning rate")).changed() {
        *to = FinalShare::clamped(percent / 100.0);
    }
}

/// Shows the step at which a cosine ends: the run's, or one of its own.
fn end(ui: &mut Ui, owner: &str, steps: &mut Option<DecaySteps>, run: Option<u64>) {
    let mut with_run = steps.is_none();
    let help = "In a run without an end, the learning rate stays constant.";
    let toggle = check_box(ui, &mut with_run, "with the run").on_hover_text(help);
    if toggle.accessible_name(form::owned(owner, "decay to the run's end")).changed() {
        *steps = (!with_run).then(|| run.map_or_else(first_steps, DecaySteps::clamped));
    }
    match steps {
        Some(end) => {
            let mut step = end.get() as u64;
            let drag = DragValue::new(&mut step).range(DecaySteps::MIN..=DecaySteps::MAX).speed(5.0).prefix("step ");
            let drag = drag.update_while_editing(false);
            if ui.add(drag).accessible_name(form::owned(owner, "end of the decay")).changed() {
                *end = DecaySteps::clamped(step);
            }
        }
        None if run.is_none() => {
            ui.weak("(no end)").on_hover_text("“Stop at step” below the landscape sets it.");
        }
        None => {}
    }
}
