//! *Change while it runs*: the settings in force of a run that is being trained, and other values for them.

use std::collections::BTreeMap;

use egui::{Button, Label, RichText, ScrollArea, Stroke, StrokeKind, Ui};
use valleyscope_experiments::preset::Preset;
use valleyscope_experiments::view::ticks::grouped;
use valleyscope_experiments::workload::{LiveSetting, Workload, changes};
use valleyscope_runs::{RunFolder, SettingChange};

use super::summary::Summary;
use crate::app::form::{cell, visible_scroll_bar};
use crate::app::number;
use crate::app::typed::{TypedField, show_refusal};

/// The widths of a name and of its field, in points.
const NAME: f32 = 108.0;
const FIELD: f32 = 84.0;

/// The entered values.
#[derive(Debug, Default)]
pub(super) struct ChangeForm {
    /// The run that they are of.
    run: Option<RunFolder>,
    entered: BTreeMap<String, f64>,
    /// The values that the worker was asked to put in force.
    requested: BTreeMap<String, f64>,
    /// True while a field holds text that is no value.
    has_unreadable: bool,
}

impl ChangeForm {
    /// Returns the settings to put in force.
    pub(super) fn settings(&self) -> BTreeMap<String, f64> {
        self.entered.clone()
    }

    /// Shows the settings of a run, whose training has those in force; returns whether the entered ones are to be put
    /// in force.
    pub(super) fn show(&mut self, ui: &mut Ui, run: &Summary, training: &Preset) -> bool {
        if self.run.as_ref() != Some(&run.run) {
            *self = ChangeForm { run: Some(run.run.clone()), ..ChangeForm::default() };
        }
        let mut in_force = training.workload().map_or_else(Vec::new, Workload::live);
        // A command `SetSteps` changes the steps of the run and not those of its training.
        let steps = in_force.iter_mut().find(|it| it.path == SettingChange::STEPS);
        if let (Some(setting), Some(steps)) = (steps, run.steps) {
            setting.value = steps as f64;
        }
        // The worker has put some of them in force.
        self.entered.retain(|path, value| in_force.iter().any(|it| it.path == *path && it.value != *value));
        // The buttons stay visible above the fields, which scroll in a low window.
        let fault = self.fault(training);
        let is_applied = self.apply(ui, run, training, fault.as_deref(), &in_force);
        let had_unreadable = std::mem::take(&mut self.has_unreadable);
        ui.scope(|ui| {
            visible_scroll_bar(ui);
            ScrollArea::vertical().auto_shrink(false).id_salt("change").show(ui, |ui| {
                // A name and its field stay in one row.
                let width = NAME + FIELD + 2.0 * ui.spacing().item_spacing.x;
                ui.horizontal_wrapped(|ui| {
                    for setting in &in_force {
                        let is_at_fault = fault.as_ref().is_some_and(|fault| fault.contains(&setting.path));
                        cell(ui, width, |ui| self.field(ui, setting, is_at_fault));
                    }
                });
            });
        });
        if self.has_unreadable != had_unreadable {
            ui.ctx().request_repaint();
        }
        is_applied
    }

    /// Returns why the training cannot have the entered values, if it cannot.
    fn fault(&self, training: &Preset) -> Option<String> {
        training.clone().workload_mut()?.set_live(&self.entered).err()
    }

    /// Shows the field of a setting, with an outline around a changed value.
    fn field(&mut self, ui: &mut Ui, setting: &LiveSetting, is_at_fault: bool) {
        let LiveSetting { path, label, help, value, is_whole } = setting;
        let shown = self.entered.get(path).unwrap_or(value);
        let is_changed = shown != value;
        cell(ui, NAME, |ui| {
            let text = RichText::new(label);
            let text = if is_changed { text.strong() } else { text };
            ui.add(Label::new(text).truncate()).on_hover_text(*help);
        });
        let name = format!("Change {label}");
        let field = TypedField { name: &name, width: FIELD };
        let text = if *is_whole { format!("{shown:.0}") } else { number::text(*shown) };
        let typed = field.show(ui, &text, |text| {
            if *is_whole { number::read_whole(text).map(|it| it as f64) } else { number::read(text) }
        });
        if let Some(reason) = &typed.fault {
            self.has_unreadable = true;
            show_refusal(ui, &typed.response, reason);
        }
        let visuals = ui.visuals();
        let outline = match (is_at_fault || typed.fault.is_some(), is_changed) {
            (true, _) => Some(visuals.error_fg_color),
            (false, true) => Some(visuals.hyperlink_color),
            (false, false) => None,
        };
        if let Some(color) = outline {
            ui.painter().rect_stroke(typed.response.rect, 3.0, Stroke::new(1.0, color), StrokeKind::Outside);
        }
        typed.response.on_hover_text(format!("{help} In force: {}", number::text(*value)));
        if let Some(entered) = typed.entered {
            self.entered.insert(path.clone(), entered);
        }
    }

    /// Shows what applying the values does, or why they cannot be applied; returns whether that was chosen.
    fn apply(
        &mut self,
        ui: &mut Ui,
        run: &Summary,
        training: &Preset,
        fault: Option<&str>,
        in_force: &[LiveSetting],
    ) -> bool {
        let mut training = training.clone();
        // Refused values leave the training as it is.
        let _ = training.workload_mut().map(|workload| workload.set_live(&self.entered));
        let now = training.workload().map_or_else(Vec::new, Workload::live);
        let mut changed = changes(in_force, &now);
        changed.retain(|change| self.entered.contains_key(&change.name));
        let words = SettingChange::list(&changed);
        let mut is_applied = false;
        ui.horizontal_wrapped(|ui| {
            let is_requested = !self.entered.is_empty() && self.entered == self.requested;
            let has_too_few = self.entered.get(SettingChange::STEPS).is_some_and(|steps| *steps <= run.step as f64);
            let is_sound = fault.is_none() && !has_too_few && !self.has_unreadable;
            let can_apply = !self.entered.is_empty() && is_sound && !is_requested;
            let apply = ui.add_enabled(can_apply, Button::new("Apply"));
            is_applied = apply.accessible_name("Apply the changed settings").clicked();
            let back = ui.add_enabled(!self.entered.is_empty(), Button::new("Put back"));
            if back.on_hover_text("Show the values in force again").clicked() {
                self.entered.clear();
                self.requested.clear();
            }
            let color = ui.visuals().error_fg_color;
            let text = match fault {
                Some(fault) => RichText::new(fault.replace('`', "")).color(color),
                None if has_too_few => {
                    let text = format!("Steps must be more than the {} that were taken.", grouped(run.step));
                    RichText::new(text).color(color)
                }
                _ if self.entered.is_empty() => RichText::new("Type other values to go on with.").weak(),
                _ if is_requested => RichText::new("Requested. The worker changes them after the present step.").weak(),
                _ => RichText::new(format!("Saves a checkpoint after the present step, then continues with {words}.")),
            };
            ui.add(Label::new(text).wrap());
        });
        if is_applied {
            self.requested.clone_from(&self.entered);
        }
        is_applied
    }
}
