//! The controls of a learning-rate schedule, for the optimizers of simulations and sweeps.

use egui::{DragValue, Ui};
use valleyscope_engine::optimizer::{Decay, Schedule};
use valleyscope_engine::quantity::{DecaySteps, FinalShare, WarmupSteps};

use super::highlight::Highlight;
use crate::app::boxes::check_box;
use crate::app::form;

pub(super) const LABEL: &str = "Schedule of η";

/// Returns the initial length of a decay in a run without an end.
fn first_steps() -> DecaySteps {
    DecaySteps::clamped(1000)
}

/// Shows the schedule of an optimizer's learning rate in a run of `run` steps.
pub(crate) fn schedule(ui: &mut Ui, owner: &str, schedule: &mut Schedule, run: Option<u64>) {
    let shown = ui.scope(|ui| {
        let help = "How the learning rate changes over the run.";
        form::line(ui, LABEL, help, |ui| {
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
    Highlight::mark(ui, shown.response.rect, &format!("{owner}: {LABEL}"));
}

/// Shows the choice of the decay.
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
