//! *Change while it runs*: the settings in force of a run that is being trained, and other values for them.

use std::collections::BTreeMap;

use egui::{Button, Label, RichText, ScrollArea, Ui};
use valleyscope_experiments::preset::Preset;
use valleyscope_experiments::workload::{LiveSetting, Workload, changes};
use valleyscope_runs::{RunFolder, SettingChange};

use super::summary::Summary;
use crate::app::form::cell;
use crate::app::number;
use crate::app::typed::TypedField;

/// The widths of a name and of its field, in points.
const NAME: f32 = 108.0;
const FIELD: f32 = 84.0;

/// The entered values.
#[derive(Debug, Default)]
pub(super) struct ChangeForm {
    /// The run that they are of.
    run: Option<RunFolder>,
    entered: BTreeMap<String, f64>,
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
            *self = ChangeForm { run: Some(run.run.clone()), entered: BTreeMap::new() };
        }
        let mut in_force = training.workload().map_or_else(Vec::new, Workload::live);
        // A command `SetSteps` changes the steps of the run and not those of its training.
        let steps = in_force.iter_mut().find(|it| it.path == SettingChange::STEPS);
        if let (Some(setting), Some(steps)) = (steps, run.steps) {
            setting.value = steps as f64;
        }
        // The worker has put some of them in force.
        self.entered.retain(|path, value| in_force.iter().any(|it| it.path == *path && it.value != *value));
        let mut is_applied = false;
        ScrollArea::vertical().auto_shrink(false).id_salt("change").show(ui, |ui| {
            // A name and its field stay in one row.
            let width = NAME + FIELD + 2.0 * ui.spacing().item_spacing.x;
            ui.horizontal_wrapped(|ui| {
                in_force.iter().for_each(|setting| cell(ui, width, |ui| self.field(ui, setting)));
            });
            ui.add_space(4.0);
            is_applied = self.apply(ui, training, &in_force);
        });
        is_applied
    }

    fn field(&mut self, ui: &mut Ui, setting: &LiveSetting) {
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
        typed.response.on_hover_text(format!("{help} In force: {}", number::text(*value)));
        if let Some(entered) = typed.entered {
            self.entered.insert(path.clone(), entered);
        }
    }

    /// Shows what applying the values does, or why they cannot be applied; returns whether that was chosen.
    fn apply(&mut self, ui: &mut Ui, training: &Preset, in_force: &[LiveSetting]) -> bool {
        let mut training = training.clone();
        let fault = training.workload_mut().and_then(|workload| workload.set_live(&self.entered).err());
        let now = training.workload().map_or_else(Vec::new, Workload::live);
        let mut changed = changes(in_force, &now);
        changed.retain(|change| self.entered.contains_key(&change.name));
        let words = SettingChange::list(&changed);
        let mut is_applied = false;
        ui.horizontal_wrapped(|ui| {
            let can_apply = !self.entered.is_empty() && fault.is_none();
            let apply = ui.add_enabled(can_apply, Button::new("Apply"));
            is_applied = apply.accessible_name("Apply the changed settings").clicked();
            let back = ui.add_enabled(!self.entered.is_empty(), Button::new("Put back"));
            if back.on_hover_text("Show the values in force again").clicked() {
                self.entered.clear();
            }
            match &fault {
                Some(fault) => {
                    let text = RichText::new(fault.replace('`', "")).color(ui.visuals().error_fg_color);
                    ui.add(Label::new(text).wrap());
                }
                None if self.entered.is_empty() => drop(ui.weak("Type other values to go on with.")),
                None => {
                    let text = format!("Saves a checkpoint after the present step, then continues with {words}.");
                    ui.add(Label::new(text).wrap());
                }
            }
        });
        is_applied
    }
}
