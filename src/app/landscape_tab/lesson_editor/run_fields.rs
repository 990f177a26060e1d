//! The fields of a lesson's step for the run that it shows: settings, what is beside, pause, plots and view.

use egui::Ui;
use valleyscope_experiments::preset::{LessonDraft, titles_side_by_side};
use valleyscope_experiments::view::{DiagnosticMetric, ViewSettings};

use super::{Present, row};
use crate::app::boxes::{Outlined, check_box};
use crate::app::form::drag;
use crate::app::icons::{Icon, icon_button};
use crate::app::landscape_tab::LandscapeTab;
use crate::app::live::{Action, LandscapeAction, Requests};
use crate::setting_marks::words_of;

/// A part of a step that is to be taken out.
enum TakenOut {
    /// The setting with this index.
    Setting(usize),
    /// The simulation with this index among those beside the step's own.
    Beside(usize),
}

impl LandscapeTab {
    /// Shows the fields of the run that a step shows, and of the way it is shown.
    pub(super) fn run_fields(&mut self, ui: &mut Ui, step: usize, present: &Present, requests: &mut Requests) {
        let lesson = &mut self.editor.draft.lesson;
        let taken_out = settings(ui, lesson, step, present).map(TakenOut::Setting);
        if let Some(taken_out) = taken_out.or(beside(ui, lesson, step, present).map(TakenOut::Beside)) {
            // A step that does not fit any more shows its error.
            let _ = self.editor.edit_lesson(|lesson| {
                match taken_out {
                    TakenOut::Setting(index) => _ = lesson.steps[step].set.remove(index),
                    TakenOut::Beside(index) => _ = lesson.steps[step].beside.remove(index),
                }
                step
            });
            requests.actions.push(Action::Landscape(LandscapeAction::GoToStep(step)));
        }
        let lesson = &mut self.editor.draft.lesson;
        let spec = &mut self.editor.draft.document.spec;
        run(ui, lesson, step, &mut spec.steps);
        plots(ui, &mut lesson.steps[step].show, present);
        if view(ui, step, &mut lesson.steps[step].view, &present.view) {
            self.editor.draft.document.view = lesson.view_at(step).unwrap_or_else(|| present.view.clone());
        }
    }
}

/// Shows what a step sets. Returns the index of a setting that is to be taken out.
fn settings(ui: &mut Ui, lesson: &mut LessonDraft, step: usize, present: &Present) -> Option<usize> {
    let mut removed = None;
    row(ui, "Settings", |ui| {
        let before = step.checked_sub(1).map(|before| lesson.simulation_at(before));
        let before = before.and_then(Result::ok).unwrap_or_else(|| lesson.simulation.clone());
        let now = lesson.simulation_at(step).unwrap_or_else(|_| before.clone());
        if lesson.steps[step].set.is_empty() {
            ui.weak(as_before(step));
        }
        for (index, setting) in lesson.steps[step].set.iter().enumerate() {
            ui.horizontal(|ui| {
                let words = words_of(setting, &before, &now);
                let name = format!("Take out {}", words.replace('\n', ", "));
                if icon_button(ui, Icon::Close, 18.0, &name, "Leave this as in the step before").clicked() {
                    removed = Some(index);
                }
                ui.label(words);
            });
        }
        let help = "Set what differs from the step before to its present value, and show what is beside now";
        let button = ui.button("Take over the present settings").on_hover_text(help);
        let Present { spec, beside, .. } = present;
        if lesson.differs_at(step, spec, beside) {
            ui.colored_label(ui.visuals().warn_fg_color, "The present settings are others.");
            if let Err(reason) = lesson.settings_beside(spec, beside) {
                ui.colored_label(ui.visuals().warn_fg_color, format!("{reason}."));
            }
        }
        if button.clicked() {
            // A step before with an error reports it.
            let _ = lesson.take_over(step, spec, beside);
        }
    });
    removed
}

/// Shows the simulations beside that of a step. Returns the index of one that is to be taken out.
fn beside(ui: &mut Ui, lesson: &LessonDraft, step: usize, present: &Present) -> Option<usize> {
    let own = lesson.simulation_at(step).unwrap_or_else(|_| present.spec.clone());
    let beside = lesson.beside_at(step, &own).unwrap_or_default();
    if beside.is_empty() {
        return None;
    }
    let mut removed = None;
    row(ui, "Beside", |ui| {
        let all = std::iter::once((None, &own)).chain(beside.iter().map(|it| (it.title.as_deref(), &it.spec)));
        let titles = titles_side_by_side(all).split_off(1);
        if lesson.steps[step].beside.is_empty() {
            ui.weak(format!("{}, as beside every step without others", titles.join("; ")));
            return;
        }
        for (index, title) in titles.iter().enumerate() {
            ui.horizontal(|ui| {
                let name = format!("Take out {title}");
                if icon_button(ui, Icon::Close, 18.0, &name, "Do not show this beside").clicked() {
                    removed = Some(index);
                }
                ui.label(title.as_str());
            });
        }
    });
    removed
}

/// Shows how the run begins, whether it plays, and where it pauses.
fn run(ui: &mut Ui, lesson: &mut LessonDraft, step: usize, steps: &mut Option<u64>) {
    row(ui, "Run", |ui| {
        ui.horizontal_wrapped(|ui| {
            let mut begins = lesson.begins_run(step);
            let is_free = !lesson.has_to_begin_run(step);
            let why = "A step with other settings than the one before begins a run.";
            let choice = ui.add_enabled(is_free, Outlined(egui::Checkbox::new(&mut begins, "Begins anew")));
            if choice.on_disabled_hover_text(why).changed() {
                lesson.set_begins_run(step, begins);
            }
            check_box(ui, &mut lesson.steps[step].play, "Plays when shown");
            let mut pause = lesson.pause(step);
            let before = pause;
            let mut pauses = pause.is_some();
            if check_box(ui, &mut pauses, "Pauses at step").changed() {
                pause = pauses.then_some(500);
            }
            if let Some(pause) = &mut pause {
                ui.add(drag(pause).range(1..=u64::MAX)).accessible_name("Step at which the run pauses");
            }
            if pause != before {
                lesson.set_pause(step, pause);
                *steps = pause;
            }
        });
    });
}

/// Shows the choice of the plots that a step names.
fn plots(ui: &mut Ui, show: &mut Vec<DiagnosticMetric>, present: &Present) {
    row(ui, "Plots", |ui| {
        ui.horizontal_wrapped(|ui| {
            for metric in DiagnosticMetric::ALL {
                let Some(info) = metric.info(&present.spec.landscape) else { continue };
                let mut is_shown = show.contains(&metric);
                let name = info.name.as_ref();
                let toggle = ui.toggle_value(&mut is_shown, name).on_hover_text(info.explanation);
                if toggle.accessible_name(format!("The step names {name}")).changed() {
                    show.retain(|shown| *shown != metric);
                    show.extend(is_shown.then_some(metric));
                }
            }
            let help = "Name the plots that are shown now, in their order";
            if ui.button("Take over the shown plots").on_hover_text(help).clicked() {
                show.clone_from(&present.plots);
            }
        });
    });
}

/// Returns the words for what a step, counted from 0, leaves as it is.
fn as_before(step: usize) -> &'static str {
    if step == 0 { "as in the preset" } else { "as in the step before" }
}

/// Shows whether a step has a view of its own. Returns whether that was changed.
fn view(ui: &mut Ui, step: usize, own: &mut Option<ViewSettings>, present: &ViewSettings) -> bool {
    let mut is_changed = false;
    row(ui, "View", |ui| {
        ui.horizontal_wrapped(|ui| {
            let help = "Show the landscape as now from this step on: camera, surface in space, and what is drawn";
            if ui.button("Take over the present view").on_hover_text(help).clicked() {
                *own = Some(present.clone());
                is_changed = true;
            }
            match own {
                Some(_) if ui.button("View as in the step before").clicked() => {
                    *own = None;
                    is_changed = true;
                }
                Some(_) => {}
                None => _ = ui.weak(as_before(step)),
            }
        });
    });
    is_changed
}
