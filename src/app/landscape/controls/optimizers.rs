//! The cards of the optimizers, and their learning-rate schedules.

use std::collections::BTreeMap;

use egui::{Checkbox, RichText, Ui};
use valleyscope_engine::optimizer::{Decay, RatedRule, RuleSpec, Schedule};
use valleyscope_engine::quantity::{DecaySteps, FinalShare, Number as _, WarmupSteps};
use valleyscope_engine::setting::{LEARNING_RATE, SCHEDULE_END, SettingInfo, SettingPath, SettingValue};
use valleyscope_engine::simulation::{OptimizerSpec, SimulationSpec, defaults};
use valleyscope_experiments::view::{OwnColors, usual_colors};

use super::actions;
use crate::app::landscape::live::Live;
use crate::app::landscape::recorded;
use crate::app::shell::actions::{Action, Requests};
use crate::app::widgets::form::{Highlight, Outlined, check_box};
use crate::app::widgets::number::TypedField;
use crate::app::widgets::optimizer_cards::{CardEdit, CardOptimizer, CardParts, OptimizerCards};
use crate::app::widgets::setting::{Control, Pins, unpinned_row};
use crate::app::widgets::text_editor::TextTab;
use crate::app::widgets::{form, number};

impl CardOptimizer for OptimizerSpec {
    fn new(rule: RuleSpec) -> OptimizerSpec {
        let rule = rule.rated(defaults::learning_rate());
        OptimizerSpec { id: 0, name: None, color: None, enabled: true, rule }
    }

    fn parts(&mut self) -> CardParts<'_> {
        let (id, rule) = (Some(&mut self.id), &mut self.rule.rule);
        CardParts { id, name: &mut self.name, color: &mut self.color, rule }
    }

    fn label(&self) -> &str {
        self.label()
    }

    fn rated(&self) -> RatedRule {
        self.rule
    }

    fn has_one_rate(&self) -> bool {
        true
    }

    fn is_enabled(&self) -> bool {
        self.enabled
    }
}

/// Shows a card for each optimizer of the simulation that the controls set, those of recorded clouds, and the menu that
/// adds an optimizer.
pub(super) fn cards(ui: &mut Ui, spec: &mut SimulationSpec, pins: &mut Pins, live: &mut Live, requests: &mut Requests) {
    let names = spec.distinct_names();
    let run = spec.steps;
    let shown = live.with_recorded(spec);
    let own_colors = shown.optimizers.iter().map(|optimizer| (optimizer.color, optimizer.rule.rule.rgb()));
    let usual_colors = usual_colors(&own_colors.collect::<Vec<OwnColors>>());
    let is_last = |it: &OptimizerSpec| it.enabled && spec.optimizers.iter().filter(|it| it.enabled).count() == 1;
    let is_last: Vec<bool> = spec.optimizers.iter().map(is_last).collect();
    let cards = OptimizerCards {
        tab: TextTab::Simulation,
        names: &names,
        usual_colors: &usual_colors,
        most: SimulationSpec::MAX_OPTIMIZERS,
        usual: RuleSpec::on_plane,
        is_needed: &is_last,
        why_needed: "At least one optimizer is simulated.",
    };
    let ensembles = live.session(live.chosen).into_iter().flat_map(|session| &session.ensembles);
    let diverged: BTreeMap<u32, u32> = ensembles.map(|it| (it.optimizer, it.sample.diverged)).collect();
    let status = |ui: &mut Ui, index: usize, optimizer: &mut OptimizerSpec| {
        ui.add_enabled(!is_last[index], Outlined(Checkbox::without_text(&mut optimizer.enabled)))
            .on_hover_text("Simulate this optimizer. A change restarts the run.")
            .on_disabled_hover_text("At least one optimizer is simulated.")
            .accessible_name(format!("{}: enabled", names[index]));
        if let Some(&diverged @ 1..) = diverged.get(&optimizer.id) {
            let warning = RichText::new(format!("{diverged} diverged")).small();
            ui.label(warning.color(ui.visuals().warn_fg_color))
                .on_hover_text("Number of particles whose position or loss is no longer finite");
        }
    };
    let settings = |ui: &mut Ui, index: usize, it: &mut OptimizerSpec| rule(ui, &names[index], it, run, pins);
    let edit = cards.show(ui, &mut spec.optimizers, requests, status, settings);
    recorded::cards(ui, spec, live, requests);
    let Some(edit) = cards.add_menu(ui).or(edit) else { return };
    cards.apply(ui, &mut spec.optimizers, &edit);
    if let CardEdit::Remove(index) = edit {
        requests.actions.push(Action::Notify(format!("Removed {}. Undo brings it back.", names[index])));
    }
}

/// Shows the learning rate of a rule with its schedule in a run of `run` steps, and the rule's hyperparameters in the
/// order of its table.
fn rule(ui: &mut Ui, owner: &str, optimizer: &mut OptimizerSpec, run: Option<u64>, pins: &mut Pins) {
    let (id, rule) = (optimizer.id, &mut optimizer.rule);
    for (of, value) in rule.settings().filter(|(of, _)| !of.is_for_vectors) {
        let it = SettingValue { path: SettingPath::of_rule(id, of.key), info: of, value, default: of.default };
        if let Some(value) = unpinned_row(ui, owner, &it, pins, &actions(&it.path)) {
            rule.set(of.key, value).expect("the control keeps to the range");
        }
        if of.key == LEARNING_RATE.key {
            schedule(ui, owner, &mut rule.schedule, run);
        }
    }
}

pub(crate) const SCHEDULE_LABEL: &str = "Schedule of η";

const FALLS_TO: SettingInfo = SettingInfo { label: "Falls to", ..SCHEDULE_END };
const WARMUP: SettingInfo = SettingInfo::whole("", "Warm-up", WarmupSteps::RANGE)
    .slider(0.0, 1000.0)
    .help("The steps in which the learning rate grows to η.");

/// Returns the initial length of a decay in a run without an end.
fn first_steps() -> DecaySteps {
    DecaySteps::clamped(1000)
}

/// Shows the schedule of an optimizer's learning rate in a run of `run` steps.
pub(crate) fn schedule(ui: &mut Ui, owner: &str, schedule: &mut Schedule, run: Option<u64>) {
    let shown = ui.scope(|ui| {
        let help = "How the learning rate changes over the run.";
        form::line(ui, SCHEDULE_LABEL, help, |ui| {
            decays(ui, owner, &mut schedule.decay, run);
        });
        if let Decay::Cosine { to, steps } = &mut schedule.decay {
            let mut share = to.get();
            Control { of: &FALLS_TO, default: 0.0 }.show(ui, owner, &mut share);
            *to = FinalShare::clamped(share);
            let help = "The step at which the cosine ends.";
            form::line(ui, "Ends", help, |ui| end(ui, owner, steps, run));
        }
        let mut warmup = schedule.warmup.value();
        Control { of: &WARMUP, default: 0.0 }.show(ui, owner, &mut warmup);
        schedule.warmup = WarmupSteps::clamped(warmup as u64);
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
            ui.label("at step");
            let field = TypedField { name: &form::owned(owner, "end of the decay"), width: form::FIELD_WIDTH };
            if let Some(step) = field.show(ui, &end.get().to_string(), number::read_whole).entered {
                *end = DecaySteps::clamped(step);
            }
        }
        None if run.is_none() => {
            ui.weak("(no end)").on_hover_text("“Stop at step” below the landscape sets it.");
        }
        None => {}
    }
}
