//! The controls of tuned settings: a switch beside a setting, and the grid of its values.

use egui::Ui;
use valleyscope_engine::parameter::Extent;
use valleyscope_engine::quantity::PointCount;
use valleyscope_engine::sweep::{Spacing, SweepOptimizer, Tuned, TunedSetting};

use super::axis_controls::{count, log_switch};
use crate::app::boxes::check_box;
use crate::app::form;

/// The number of values of a setting that has just been chosen for tuning.
const FIRST_COUNT: u64 = 5;
const HELP: &str =
    "Try several values instead of one. At each pixel the best counts, together with the best learning rate.";

/// Shows the switch between a fixed and a tuned setting; turned on, with a grid over the setting's usual extent.
pub(super) fn switch(ui: &mut Ui, owner: &str, optimizer: &mut SweepOptimizer, of: TunedSetting, is_axis: bool) {
    let place = optimizer.tuned(of);
    let mut is_tuned = place.is_some();
    let parameter = of.parameter();
    // A setting that has become an axis can still be turned off.
    let switch = ui.add_enabled_ui(!is_axis || is_tuned, |ui| check_box(ui, &mut is_tuned, "tune")).inner;
    let switch = switch.accessible_name(form::owned(owner, &format!("tune {}", parameter.label)));
    let switch = switch.on_hover_text(HELP).on_disabled_hover_text("It varies along an axis.");
    if !switch.changed() {
        return;
    }
    match place {
        Some(place) => {
            optimizer.tune.remove(place);
        }
        None => {
            let Extent { low, high, spacing } = parameter.axis;
            optimizer.tune.push(Tuned { of, from: low, to: high, count: PointCount::clamped(FIRST_COUNT), spacing });
        }
    }
}

/// Shows the switch of the schedule's end, and of settings that were tuned and that the optimizer no longer has.
pub(super) fn beside_rule(ui: &mut Ui, owner: &str, optimizer: &mut SweepOptimizer) {
    let end = TunedSetting::SCHEDULE_END;
    let lacks = |of: &TunedSetting| !of.is_of(&optimizer.rule, &optimizer.schedule);
    let mut shown: Vec<TunedSetting> = optimizer.tune.iter().map(|tuned| tuned.of).filter(lacks).collect();
    shown.extend((!lacks(&end)).then_some(end));
    for of in shown {
        let parameter = of.parameter();
        let help = if of == end { "The share of η that is left at the end of the cosine." } else { parameter.help };
        let name = if of == end { "End e" } else { parameter.label };
        form::line(ui, name, help, |ui| {
            switch(ui, owner, optimizer, of, false);
            if of == end && optimizer.tuned(of).is_some() {
                ui.weak("in place of the share above");
            }
        });
        grid(ui, owner, optimizer, of);
    }
}

/// Shows the grid of a setting, if it is tuned.
pub(super) fn grid(ui: &mut Ui, owner: &str, optimizer: &mut SweepOptimizer, of: TunedSetting) {
    let Some(place) = optimizer.tuned(of) else { return };
    let tuned = &mut optimizer.tune[place];
    let parameter = of.parameter();
    let name = |what: &str| form::owned(owner, &format!("{} {what}", parameter.label));
    ui.horizontal_wrapped(|ui| {
        ui.add_space(form::NAME_WIDTH.min(16.0));
        ui.label(parameter.symbol);
        let speed = (0.005 * (tuned.to - tuned.from).abs()).max(1e-6);
        for (end, value) in [("from", &mut tuned.from), ("to", &mut tuned.to)] {
            ui.label(end);
            let field = match tuned.spacing {
                Spacing::Linear => ui.add(form::drag(value).speed(speed)),
                spacing => form::spaced_drag(ui, value, spacing),
            };
            field.accessible_name(name(end));
        }
        count(ui, &mut tuned.count, &name("how many values"));
        log_switch(ui, &mut tuned.spacing, parameter.axis.spacing, &name("logarithmic"));
    });
}
