//! One card for each optimizer.

use egui::collapsing_header::CollapsingState;
use egui::{Align, Button, Checkbox, Layout, RichText, TextEdit, Ui, vec2};

use super::copy_color::copy_color;
use super::knobs;
use super::quantity::Knob;
use super::spotlight::Spotlight;
use crate::app::live::{Action, Live, Requests};
use crate::app::theme;
use crate::optimizer::DecayTarget;
use crate::quantity::{Beta, LearningRate, WeightDecay};
use crate::simulation::{OptimizerSpec, Rule, SimulationSpec, defaults, distinct_name};

/// What was pressed on a card.
enum Pressed {
    Duplicate,
    Remove,
}

/// Shows all cards, and below them the menu that adds an optimizer.
pub fn cards(ui: &mut Ui, spec: &mut SimulationSpec, live: &Live, requests: &mut Requests) {
    let mut pressed = None;
    let room = spec.optimizers.len() < SimulationSpec::MAX_OPTIMIZERS;
    let only_one = spec.optimizers.len() == 1;
    let only_one_enabled = spec.optimizers.iter().filter(|optimizer| optimizer.enabled).count() == 1;
    let names = spec.distinct_names();
    for (index, (optimizer, name)) in spec.optimizers.iter_mut().zip(&names).enumerate() {
        let diverged = live
            .snapshot
            .iter()
            .flat_map(|snapshot| &snapshot.ensembles)
            .find(|ensemble| ensemble.optimizer == optimizer.id)
            .map_or(0, |ensemble| ensemble.sample.diverged);
        let id = optimizer.id;
        let last = optimizer.enabled && only_one_enabled;
        let card = Card { name, room, removable: !only_one && !last, last_enabled: last, diverged };
        if let Some(press) = ui.push_id(("optimizer", id), |ui| card.show(ui, optimizer)).inner {
            pressed = Some((index, press));
        }
    }
    match pressed {
        Some((index, Pressed::Remove)) => {
            spec.optimizers.remove(index);
            requests.actions.push(Action::Notify(format!("Removed {}. Undo brings it back.", names[index])));
        }
        Some((index, Pressed::Duplicate)) => duplicate(spec, index),
        None => {}
    }
    add_menu(ui, spec, room);
}

/// One optimizer's card.
struct Card<'a> {
    name: &'a str,
    /// Another optimizer may be added.
    room: bool,
    /// The last one, and the last enabled one, stay.
    removable: bool,
    last_enabled: bool,
    diverged: u32,
}

impl Card<'_> {
    fn show(&self, ui: &mut Ui, optimizer: &mut OptimizerSpec) -> Option<Pressed> {
        let mut pressed = None;
        let style = ui.style().clone();
        theme::card(&style).show(ui, |ui| {
            ui.set_width(ui.available_width());
            let id = ui.make_persistent_id("card");
            let mut state = CollapsingState::load_with_default_open(ui.ctx(), id, true);
            if Spotlight::falls_on(ui.ctx(), self.name) {
                state.set_open(true);
            }
            let header = state.show_header(ui, |ui| self.header(ui, optimizer));
            header.body_unindented(|ui| {
                ui.add_enabled_ui(optimizer.enabled, |ui| rule(ui, self.name, &mut optimizer.rule));
                pressed = self.footer(ui, optimizer);
            });
        });
        pressed
    }

    fn header(&self, ui: &mut Ui, optimizer: &mut OptimizerSpec) {
        let mut rgb = optimizer.rgb();
        let swatch = ui
            .color_edit_button_srgb(&mut rgb)
            .on_hover_text("Colour of the particles and curves")
            .accessible_name(format!("{}: colour", self.name));
        if swatch.changed() {
            optimizer.color = (rgb != optimizer.rule.rgb()).then_some(rgb);
        }
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            ui.add_enabled(!self.last_enabled, Checkbox::without_text(&mut optimizer.enabled))
                .on_hover_text("Simulate this optimizer. A change begins the run again.")
                .on_disabled_hover_text("At least one optimizer is simulated.")
                .accessible_name(format!("{}: enabled", self.name));
            if self.diverged > 0 {
                let warning = RichText::new(format!("{} diverged", self.diverged)).small();
                ui.label(warning.color(ui.visuals().warn_fg_color))
                    .on_hover_text("So many particles are no longer at a finite position.");
            }
            // The hint is the name in force, so it looks like one.
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
                optimizer.name = (!name.trim().is_empty()).then_some(name);
            }
        });
    }

    fn footer(&self, ui: &mut Ui, optimizer: &mut OptimizerSpec) -> Option<Pressed> {
        let mut pressed = None;
        ui.horizontal(|ui| {
            let rule = RichText::new(optimizer.rule.name()).small().weak();
            ui.label(rule);
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                let remove = Button::new(RichText::new("Remove").small());
                let response = ui.add_enabled(self.removable, remove);
                let response = response.on_disabled_hover_text("At least one optimizer is simulated.");
                if response.accessible_name(format!("{}: remove", self.name)).clicked() {
                    pressed = Some(Pressed::Remove);
                }
                let duplicate = Button::new(RichText::new("Duplicate").small());
                let response = ui.add_enabled(self.room, duplicate).on_disabled_hover_text(full());
                if response.accessible_name(format!("{}: duplicate", self.name)).clicked() {
                    pressed = Some(Pressed::Duplicate);
                }
            });
        });
        pressed
    }
}

fn full() -> String {
    format!("At most {} optimizers run side by side.", SimulationSpec::MAX_OPTIMIZERS)
}

/// The parameters of a rule, in the order of its formula.
fn rule(ui: &mut Ui, owner: &str, rule: &mut Rule) {
    let beta = |ui: &mut Ui, knob: &Knob, value: &mut Beta, default| knob.show(ui, owner, value, default);
    let rate = |ui: &mut Ui, value: &mut LearningRate| {
        knobs::LEARNING_RATE.show(ui, owner, value, defaults::learning_rate());
    };
    let decay = |ui: &mut Ui, value: &mut WeightDecay| {
        knobs::WEIGHT_DECAY.show(ui, owner, value, defaults::weight_decay());
    };
    match rule {
        Rule::Adam { learning_rate, beta1, beta2, weight_decay } => {
            rate(ui, learning_rate);
            beta(ui, &knobs::BETA1, beta1, defaults::beta1());
            beta(ui, &knobs::ADAM_BETA2, beta2, defaults::adam_beta2());
            decay(ui, weight_decay);
        }
        Rule::Signum { learning_rate, beta1, weight_decay } | Rule::Sgd { learning_rate, beta1, weight_decay } => {
            rate(ui, learning_rate);
            beta(ui, &knobs::BETA1, beta1, defaults::beta1());
            decay(ui, weight_decay);
        }
        Rule::Focus { learning_rate, beta1, beta2, gamma, weight_decay, decay: target } => {
            rate(ui, learning_rate);
            beta(ui, &knobs::BETA1, beta1, defaults::beta1());
            beta(ui, &knobs::FOCUS_BETA2, beta2, defaults::focus_beta2());
            knobs::GAMMA.show(ui, owner, gamma, defaults::gamma());
            decay(ui, weight_decay);
            decay_target(ui, owner, target);
        }
    }
}

fn decay_target(ui: &mut Ui, owner: &str, target: &mut DecayTarget) {
    let choices = [
        (DecayTarget::Parameters, "parameters θ", "Decay acts on the parameters, as in the paper's toy figures."),
        (
            DecayTarget::Average,
            "average of θ",
            "Decay acts on the averaged parameters, as in the paper's training code.",
        ),
    ];
    ui.horizontal_wrapped(|ui| {
        ui.label("Decay of the");
        for (choice, text, help) in choices {
            let response = ui.selectable_value(target, choice, text).on_hover_text(help);
            response.accessible_name(format!("{owner}: decay of the {text}"));
        }
    });
}

/// The rules with the toy model's defaults, in the order of the menu.
fn fresh_rules() -> [Rule; 4] {
    let (learning_rate, beta1) = (defaults::learning_rate(), defaults::beta1());
    let weight_decay = defaults::weight_decay();
    [
        Rule::Adam { learning_rate, beta1, beta2: defaults::adam_beta2(), weight_decay },
        Rule::Signum { learning_rate, beta1, weight_decay },
        Rule::Focus {
            learning_rate,
            beta1,
            beta2: defaults::focus_beta2(),
            gamma: defaults::gamma(),
            weight_decay,
            decay: DecayTarget::default(),
        },
        Rule::Sgd { learning_rate, beta1, weight_decay },
    ]
}

fn add_menu(ui: &mut Ui, spec: &mut SimulationSpec, room: bool) {
    ui.add_enabled_ui(room, |ui| {
        let (response, _) = egui::containers::menu::MenuButton::new("+ Add optimizer").ui(ui, |ui| {
            for rule in fresh_rules() {
                if ui.button(rule.name()).clicked() {
                    add(spec, OptimizerSpec { id: 0, name: None, color: None, enabled: true, rule });
                    ui.close();
                }
            }
        });
        response.on_disabled_hover_text(full());
    });
}

fn duplicate(spec: &mut SimulationSpec, index: usize) {
    let copy = spec.optimizers[index].clone();
    add(spec, copy);
}

/// Adds an optimizer with an id, a name and a colour that no other has.
fn add(spec: &mut SimulationSpec, mut optimizer: OptimizerSpec) {
    let highest = spec.optimizers.iter().map(|other| other.id).max().unwrap_or(0);
    let free = || (0..).find(|id| spec.optimizers.iter().all(|other| other.id != *id));
    optimizer.id = highest.checked_add(1).or_else(free).unwrap_or_default();
    let names = spec.distinct_names();
    let name = distinct_name(optimizer.label(), |name| names.iter().any(|other| other == name));
    if name != optimizer.label() {
        optimizer.name = Some(name);
    }
    let taken: Vec<[u8; 3]> = spec.optimizers.iter().map(OptimizerSpec::rgb).collect();
    if taken.contains(&optimizer.rgb()) {
        optimizer.color = Some(copy_color(optimizer.rule.rgb(), &taken));
    }
    spec.optimizers.push(optimizer);
}
