//! Draws the tab in the window and in a presentation, carries out the requests of its panels, and undoes changes at the
//! step at which they were made.

use std::path::PathBuf;

use egui::{Align, Atom, CentralPanel, Context, Layout, Panel, RichText, ScrollArea, Ui, vec2};
use valleyscope_engine::quantity::Range;
use valleyscope_engine::setting::{SettingInfo, SettingPath};
use valleyscope_engine::simulation::{ParticleId, Record, SimulationSpec};
use valleyscope_experiments::preset::{LandscapePreset, LessonStep, TitledSimulation};
use valleyscope_experiments::view::{Colormap, Inset, ViewProjection, ViewSettings};

use super::canvas::{FIRST_SCALE, color_scale, colormap_name};
use super::controls::{controls_set_by, show_slider, sliders_set_by};
use super::editor::LandscapeDraft;
use super::lesson::LessonStage;
use super::live::{in_force_until, run_marks};
use super::{LandscapeTab, lesson, transport};
use crate::app::shell::actions::{Action, LandscapeAction, Requests};
use crate::app::shell::editor::HistoryStep;
use crate::app::shell::window::{Edge, SidePanel, WindowLayout};
use crate::app::widgets::form::{Highlight, check_box, radio_button};
use crate::app::widgets::setting::Control;
use crate::player::{Playback, PlaybackPace, PlayerCommand};

/// The width of a window, in points, below which it does not show the plots.
pub(super) const ROOM_FOR_PLOTS: f32 = 760.0;
/// The smallest heights of the formulas, and of the part below them, in points.
const LEAST_FORMULAS: f32 = 140.0;
const LEAST_PLOTS: f32 = 250.0;
/// The least height of what a lesson's step shows above the plots, in points.
const LEAST_STAGE: f32 = 120.0;

impl LandscapeTab {
    pub(super) fn draw(&mut self, ui: &mut Ui, layout: &mut WindowLayout, requests: &mut Requests) {
        if self.opening.is_some() && self.draw_opening(ui, requests) {
            return;
        }
        self.live.chosen = self.live.chosen.min(self.editor.draft.document.count() - 1);
        let pointed_at = self.editor.lesson().map_or(&[][..], |(step, lesson)| &lesson[step].show);
        self.diagnostics.point_at(pointed_at);
        let of_text = self.editor.settings_of_text();
        self.prepare_lesson(ui.ctx(), of_text.is_empty());
        if let Some((step, lesson)) = self.editor.lesson() {
            let frame = egui::Frame::side_top_panel(ui.style()).inner_margin(egui::Margin::symmetric(12, 6));
            let is_presented = layout.is_presenting();
            let bar = |ui: &mut Ui| lesson::lesson_bar(ui, (step, lesson), &of_text, is_presented, requests);
            Panel::top("lesson").frame(frame).show(ui, bar);
        }
        self.show_end(ui.ctx(), requests);
        self.animated.window(ui.ctx(), &self.editor.draft.document, &self.live);
        if layout.is_presenting() {
            self.repeat_changed_run(ui.ctx(), requests);
            return self.draw_presentation(ui, layout, requests);
        }
        let (document, live) = (&mut self.editor.draft.document, &mut self.live);
        Panel::bottom("transport").show(ui, |ui| {
            ui.add_space(2.0);
            self.timeline.ui(ui, document, live, requests);
            // All simulations share the clock. They share the seed, too, so that their noise is the same.
            let shared = (document.spec(0).steps, document.spec(0).seed);
            transport::bar(ui, document.spec_mut(0), live, &mut self.pace, requests);
            document.share_changed(shared);
            ui.add_space(2.0);
        });
        self.show_notes(ui);
        self.show_lesson_editor(ui, layout, requests);
        self.beside_landscape(ui, layout, requests);
        self.draw_landscape(ui, false, requests);
    }

    /// Runs a finished run again with the settings that were changed at its end, once no button is pressed.
    fn repeat_changed_run(&self, ctx: &Context, requests: &mut Requests) {
        let Some(session) = self.live.session(0).filter(|_| self.live.playback() == Playback::Finished) else { return };
        let is_changed = session.record.changes.last().is_some_and(|change| change.step >= session.last_step);
        if is_changed && !ctx.input(|input| input.pointer.any_down()) {
            let again = [LandscapeAction::Restart, LandscapeAction::Play];
            requests.actions.extend(again.map(Action::Landscape));
        }
    }

    /// Prepares the figures and the marks of the lesson's step, which hold if the run has the step's settings.
    fn prepare_lesson(&mut self, ctx: &Context, holds: bool) {
        let (draft, step) = (&self.editor.draft, self.editor.lesson_step());
        self.stage.prepare(ctx, &draft.lesson.steps, step);
        self.live.run_marks = run_marks(&draft.lesson, step, draft.document.spec(0).steps, holds);
        self.landscape.color_lesson(&draft.lesson);
    }

    /// Returns the lesson's step if it shows anything beside the landscape.
    pub(super) fn staged(&self) -> Option<LessonStep> {
        let (step, lesson) = self.editor.lesson()?;
        Some(&lesson[step]).filter(|step| LessonStage::is_needed(step)).cloned()
    }

    /// Records the steps of the selected particle, or else of the first one of the optimizer whose update rule the
    /// lesson's step shows. A run that is to be recorded plays after this.
    pub(super) fn trace(&mut self) {
        let formula = self.editor.lesson().and_then(|(step, lesson)| lesson[step].formula);
        let of_formula = formula.map(|optimizer| ParticleId { optimizer, particle: 0 });
        self.player.trace(self.live.selected.or(of_formula));
    }

    /// Draws the landscape into the rest of the window.
    pub(super) fn draw_landscape(&mut self, ui: &mut Ui, is_presented: bool, requests: &mut Requests) {
        CentralPanel::default().frame(egui::Frame::NONE.fill(ui.visuals().extreme_bg_color)).show(ui, |ui| {
            self.area = Some(ui.available_rect_before_wrap());
            let document = &mut self.editor.draft.document;
            match is_presented {
                true => self.landscape.presentation(ui, document, &mut self.live, requests),
                false => self.landscape.ui(ui, document, &mut self.live, requests),
            }
        });
    }

    /// Shows the controls at the left and the plots at the right. However small the window, the landscape keeps the
    /// largest part of it.
    fn beside_landscape(&mut self, ui: &mut Ui, layout: &mut WindowLayout, requests: &mut Requests) {
        let staged = self.staged();
        let preset = self.editor.saved_state_number();
        let (document, live) = (&mut self.editor.draft.document, &mut self.live);
        let width = ui.available_width();
        let left = SidePanel::controls(width);
        left.show_collapsible(ui, &mut layout.sizes, &mut layout.controls, |ui, _| {
            self.controls.ui(ui, preset, document, live, requests);
        });
        let most = (ui.available_width() - (0.42 * width).max(300.0)).max(200.0);
        // In a window too narrow for both, the landscape has priority.
        layout.room_for_plots = width >= ROOM_FOR_PLOTS;
        let mut shown = layout.plots && layout.room_for_plots;
        let (name, edge, range) = ("plots", Edge::Right, 200.0..=most);
        let right = SidePanel { name, edge, usual: 0.28 * width, range, frame: None };
        right.show_collapsible(ui, &mut layout.sizes, &mut shown, |ui, sizes| {
            // In a low window, the parts may need more than the panel has.
            ui.shrink_clip_rect(ui.max_rect().expand(4.0));
            if let Some(step) = &staged {
                let height = ui.available_height();
                let (name, edge, range) = ("lesson stage", Edge::Top, LEAST_STAGE..=(0.7 * height).max(LEAST_STAGE));
                let top = SidePanel { name, edge, usual: LessonStage::share(step) * height, range, frame: None };
                top.show(ui, sizes, |ui, _| self.stage.ui(ui, step, document.spec(0), live));
            }
            if live.selected.is_some() {
                let height = ui.available_height();
                let most = (height - LEAST_PLOTS).max(LEAST_FORMULAS);
                let (name, edge, range) = ("formulas", Edge::Top, LEAST_FORMULAS..=most);
                let top = SidePanel { name, edge, usual: 0.5 * height, range, frame: None };
                top.show(ui, sizes, |ui, _| {
                    ScrollArea::vertical().auto_shrink(false).show(ui, |ui| {
                        self.formula.ui(ui, document, live, requests);
                    });
                });
            } else {
                // Allows choosing a particle without a pointer.
                Panel::top("particle").show(ui, |ui| {
                    self.formula.ui(ui, document, live, requests);
                    ui.add_space(4.0);
                });
            }
            self.diagnostics.ui(ui, document, live, requests);
        });
        if layout.room_for_plots {
            layout.plots = shown;
        }
    }
}

/// The share of the width that the plots take.
const PLOTS: f32 = 0.38;

impl LandscapeTab {
    /// Draws everything below the lesson's text.
    pub(super) fn draw_presentation(&mut self, ui: &mut Ui, layout: &WindowLayout, requests: &mut Requests) {
        Panel::bottom("presentation bar").show(ui, |ui| {
            ui.add_space(2.0);
            ui.horizontal_top(|ui| {
                let (document, live) = (&mut self.editor.draft.document, &mut self.live);
                ui.vertical(|ui| {
                    // At the height of the timeline's slider, which has its marks above.
                    ui.add_space(6.0);
                    ui.horizontal(|ui| transport::state(ui, live, self.pace, requests));
                });
                ui.vertical(|ui| self.timeline.ui(ui, document, live, requests));
            });
            self.presented_sliders(ui);
            ui.add_space(1.0);
        });
        self.show_notes(ui);
        let has_room = ui.available_width() >= ROOM_FOR_PLOTS;
        let staged = self.staged();
        let landscape = &self.editor.draft.document.spec(0).landscape;
        let has_plots = self.diagnostics.is_presented(landscape, layout.plots);
        if has_room && (has_plots || staged.is_some()) {
            let width = PLOTS * ui.available_width();
            let (document, live) = (&mut self.editor.draft.document, &mut self.live);
            Panel::right("presented plots").resizable(false).exact_size(width).show(ui, |ui| {
                if let Some(step) = &staged {
                    self.stage.presentation(ui, step, document.spec(0), live, has_plots);
                }
                if has_plots {
                    self.diagnostics.presentation(ui, document, live, requests);
                }
            });
        }
        self.draw_landscape(ui, true, requests);
    }

    /// Shows the sliders in a row that is as wide as the window: those of the lesson's step and the pinned ones.
    fn presented_sliders(&mut self, ui: &mut Ui) {
        let of_lesson = self.lesson_sliders();
        let spec = self.editor.draft.document.spec_mut(self.live.chosen);
        let sliders = self.controls.pins.sliders(of_lesson, spec);
        ui.horizontal_top(|ui| {
            ui.spacing_mut().item_spacing.x *= 2.0;
            let gaps = ui.spacing().item_spacing.x * (sliders.len() - 1) as f32;
            let width = (ui.available_width() - gaps) / sliders.len() as f32;
            for slider in &sliders {
                ui.allocate_ui_with_layout(vec2(width, 0.0), Layout::top_down(Align::Min), |ui| {
                    ui.set_width(width);
                    ui.spacing_mut().item_spacing.x *= 0.5;
                    show_slider(ui, spec, slider);
                });
            }
        });
    }

    /// Returns the sliders that the lesson's step sets, or else those of the last step before it that sets any.
    fn lesson_sliders(&self) -> Vec<SettingPath> {
        let Some((present, steps)) = self.editor.lesson() else { return Vec::new() };
        let lesson = &self.editor.draft.lesson;
        let of_step = |step: usize| {
            let before = match step {
                0 => lesson.spec().clone(),
                _ => lesson.spec_at(step - 1).ok()?,
            };
            let sliders = sliders_set_by(&steps[step].set, &before, &lesson.spec_at(step).ok()?);
            (!sliders.is_empty()).then_some(sliders)
        };
        (0..=present).rev().find_map(of_step).unwrap_or_default()
    }
}

pub(super) fn show(ui: &mut Ui, view: &mut ViewSettings) {
    ui.menu_button("Colour map", |ui| {
        for colormap in Colormap::ALL {
            radio_button(ui, &mut view.colormap, colormap, colormap_name(colormap));
        }
    });
    ui.separator();
    let with_key = |text: &'static str, key: &'static str| (text, Atom::grow(), RichText::new(key).weak());
    for (projection, key) in ViewProjection::ALL.into_iter().zip(["2", "3", "4"]) {
        let [_, label, title] = projection.words();
        radio_button(ui, &mut view.projection, projection, with_key(label, key)).accessible_name(title);
    }
    let mut has_inset = view.inset.is_some();
    if check_box(ui, &mut has_inset, "Inset with the view along the valley").changed() {
        view.inset = has_inset.then(Inset::default);
    }
    ui.separator();
    check_box(ui, &mut view.contours, "Contour lines");
    check_box(ui, &mut view.uv_frame, "Frame of u and v");
    check_box(ui, &mut view.mean_path, "Mean path of each optimizer");
    check_box(ui, &mut view.glyphs, "Arrows on the selected particle");
    check_box(ui, &mut view.follow, with_key("Follow the particles", "F"));
    let mut trail = f64::from(view.trail_steps);
    Control { of: &TRAIL, default: f64::from(ViewSettings::default().trail_steps) }.show(ui, "", &mut trail);
    view.trail_steps = trail as u32;
    color_scale(ui, &mut view.scale, FIRST_SCALE);
}

const TRAIL: SettingInfo =
    SettingInfo::whole("", "Trail (steps)", Range::new("trail_steps", 0.0, ViewSettings::MAX_TRAIL_STEPS as f64))
        .slider(0.0, 500.0)
        .unit(" steps")
        .help("The number of past steps drawn behind each particle.")
        .paper("no such setting");

impl LandscapeTab {
    /// Sends commands to the player.
    pub(crate) fn command(&mut self, commands: Vec<PlayerCommand>) {
        for command in commands {
            self.player.send(command);
        }
    }

    pub(crate) fn act(&mut self, ctx: &Context, action: LandscapeAction, requests: &mut Requests) {
        match action {
            LandscapeAction::Set(spec) => *self.editor.draft.document.spec_mut(0) = *spec,
            LandscapeAction::Play => self.player.send(PlayerCommand::Play),
            LandscapeAction::TogglePlay => self.player.toggle_play(self.live.playback()),
            LandscapeAction::Step(steps @ ..0) => self.player.send(PlayerCommand::Back(steps.unsigned_abs())),
            LandscapeAction::Step(steps) => self.player.send(PlayerCommand::Advance(steps.unsigned_abs())),
            LandscapeAction::Seek(step) => self.player.send(PlayerCommand::Seek(step)),
            LandscapeAction::Restart => self.player.send(PlayerCommand::Restart),
            LandscapeAction::GoToStep(step) => self.go_to_lesson_step(ctx, step, requests),
            LandscapeAction::EditLesson => self.edit_lesson(),
            LandscapeAction::EndLesson => {
                self.is_at_end = true;
                self.player.send(PlayerCommand::Pause);
            }
            LandscapeAction::SaveSession => {
                let session = self.editor.session_draft(self.live.records());
                requests.actions.push(Action::AskToSave(Box::new(session)));
            }
        }
    }

    pub(super) fn open_landscape(&mut self, preset: LandscapePreset, file: Option<PathBuf>, requests: &mut Requests) {
        let title = preset.title.clone();
        // The settings of all simulations fit, as was checked when the preset was read.
        let records = preset.records().ok().filter(|records| records.iter().any(|record| !record.changes.is_empty()));
        self.editor.open_preset(preset, file);
        self.opening = None;
        // A speed that suited another run may hide all that happens in this one.
        self.pace = PlaybackPace::default();
        // Hidden and selected items belong to the previous document.
        self.live.hidden.clear();
        self.live.chosen = 0;
        self.is_at_end = false;
        self.animated.clear();
        self.landscape.reset_view();
        self.diagnostics.reset_view();
        match records {
            Some(records) => {
                self.player.replay(&mut self.editor.draft.document, records);
                let notice = format!("The recorded changes of “{title}” are repeated.");
                requests.actions.push(Action::Notify(notice));
            }
            None => self.player.load(&self.editor.draft.document),
        }
        // At its own speed, and recorded, before it plays.
        self.player.follow(&self.editor.draft.document, self.pace);
        self.trace();
        // It plays, whatever the run before did.
        self.player.send(PlayerCommand::Play);
    }

    /// Shows a lesson step. Its settings take effect from the start of a run, so that one begins; a step that only sets
    /// a later pause continues the previous run.
    fn go_to_lesson_step(&mut self, ctx: &Context, index: usize, requests: &mut Requests) {
        self.is_at_end = false;
        let (index_before, before) = (self.editor.lesson_step(), self.editor.draft.document.simulations.clone());
        if let Err(error) = self.editor.go_to_step(index) {
            let text = format!(
                "Step {} of the lesson can't be shown: {error}. Undo restores the settings that the lesson needs.",
                index + 1
            );
            requests.actions.push(Action::Report { title: "The lesson does not fit".to_owned(), text });
            return;
        }
        let Some(step) = self.editor.lesson().and_then(|(_, lesson)| lesson.get(index).cloned()) else { return };
        let now = &self.editor.draft.document.simulations;
        let is_same = |(now, before): (&TitledSimulation, &TitledSimulation)| {
            SimulationSpec { steps: before.spec.steps, ..now.spec.clone() } == before.spec
        };
        let is_same_run = now.len() == before.len() && now.iter().zip(&before).all(is_same);
        let first = &now[0].spec;
        let goes_on = step.goes_on() && index == index_before + 1 && is_same_run && !self.is_finished_by(first.steps);
        let controls = controls_set_by(&step.set, &before[0].spec, first);
        let is_changed = *now != before || !step.set.is_empty();
        self.look_as_lesson();
        if !goes_on && is_changed {
            self.begin_document();
        }
        self.play_lesson_step();
        Highlight::set(ctx, controls);
    }

    /// Shows the editor of the lesson, or hides it. A document without a lesson gets one.
    fn edit_lesson(&mut self) {
        if self.editor.lesson().is_none() {
            self.editor.begin_lesson();
            self.lesson_editor.is_open = true;
        } else {
            self.lesson_editor.is_open = !self.lesson_editor.is_open;
        }
    }

    /// Takes the camera of the lesson's view, if it has one.
    fn look_as_lesson(&mut self) {
        let Some(view) = self.editor.draft.lesson.view_at(self.editor.lesson_step()) else { return };
        if view.camera.is_some() || view.orbit.is_some() {
            let camera = view.camera.unwrap_or_else(|| self.landscape.camera());
            let orbit = view.orbit.unwrap_or_else(|| self.landscape.orbit());
            self.landscape.restore_view(&self.editor.draft.document, camera, orbit);
        }
    }

    /// Plays the run if the lesson step asks for it.
    pub(super) fn play_lesson_step(&mut self) {
        let plays = self.editor.lesson().is_some_and(|(index, lesson)| lesson[index].play);
        if plays {
            // A later pause has to be in force before the run plays on.
            self.player.follow(&self.editor.draft.document, self.pace);
            self.trace();
            self.player.send(PlayerCommand::Play);
        }
    }

    /// Returns whether the run has reached the step where it would pause.
    fn is_finished_by(&self, steps: Option<u64>) -> bool {
        let step = self.live.snapshot.as_ref().map_or(0, |snapshot| snapshot.step);
        steps.is_some_and(|steps| step >= steps)
    }

    /// Starts the document's run.
    pub(super) fn begin_document(&mut self) {
        self.player.load(&self.editor.draft.document);
    }
}

impl LandscapeTab {
    /// Undoes or redoes. A change of settings is undone at the step at which it was made; a playing run plays on from
    /// there.
    pub(super) fn undo_or_redo_in_time(&mut self, step: HistoryStep) {
        let latest = self.latest_settings();
        let document = &mut self.editor.draft.document;
        let shown: Vec<SimulationSpec> = document.specs().cloned().collect();
        let latest = latest.unwrap_or_else(|| shown.clone());
        document.set_specs(latest.iter().cloned());
        self.editor.undo_or_redo(step);
        let document = &mut self.editor.draft.document;
        if document.specs().eq(&latest) {
            document.set_specs(shown);
            return;
        }
        if let Some((step, in_force)) = self.undone_at() {
            let in_force = self.editor.draft.document.with_settings(&in_force);
            self.player.seek_change(step, in_force.specs().cloned().collect());
            if self.live.is_playing() {
                self.player.send(PlayerCommand::Play);
            }
        }
        // At once, so that this is not taken for a change that the user makes at the shown step.
        self.player.follow(&self.editor.draft.document, self.pace);
    }

    /// Returns the step of the last change before which one of the sessions had the settings of the document, and the
    /// settings of all sessions at that step, after it; `None` without such a change.
    fn undone_at(&self) -> Option<(u64, Vec<SimulationSpec>)> {
        let document = &self.editor.draft.document;
        let records: Vec<&Record> = self.live.sessions().iter().map(|session| &*session.record).collect();
        let last = |record: &Record| in_force_until(record, u64::MAX);
        let mut changed = records.iter().zip(document.specs()).filter(|(record, spec)| !is_at(&last(record), spec));
        let step = changed.find_map(|(record, spec)| undone_at(record, spec))?;
        Some((step, records.iter().map(|record| in_force_until(record, step)).collect()))
    }

    /// Records the document for undo, with the settings at the last step of the run.
    pub(super) fn record_for_undo(&mut self, ctx: &Context) {
        let latest = self.latest_settings();
        self.editor.record_for_undo(ctx, |draft| {
            if let Some(latest) = latest {
                draft.document.set_specs(latest);
            }
            self.animated.undo_state(&mut draft.document);
        });
    }

    /// Makes undo forget the later settings once a setting is changed at an earlier step. Call before the player gets
    /// the change.
    pub(super) fn begin_future(&mut self) {
        let Some(latest) = self.latest_settings() else { return };
        let LandscapeDraft { document, .. } = &self.editor.draft;
        let shown = document.with_settings(self.player.specs());
        if document.specs().eq(shown.specs()) {
            return;
        }
        let with = |specs: Vec<SimulationSpec>| {
            let mut draft = self.editor.draft.clone();
            draft.document.set_specs(specs);
            draft
        };
        let (shown, latest) = (with(shown.specs().cloned().collect()), with(latest));
        self.editor.continue_from(shown, latest);
    }

    /// Returns the settings at the last step of the run while an earlier one is shown, in the order of the simulations.
    fn latest_settings(&self) -> Option<Vec<SimulationSpec>> {
        let shown = self.live.snapshot.as_ref().filter(|snapshot| self.player.is_current(snapshot))?;
        if shown.step >= shown.last_step {
            return None;
        }
        let document = &self.editor.draft.document;
        let latest = (0..document.count()).map_while(|index| self.live.marks_of(index).latest());
        Some(document.with_settings(latest).specs().cloned().collect())
    }
}

fn is_at(spec: &SimulationSpec, target: &SimulationSpec) -> bool {
    spec.settings_to(target).is_some_and(|settings| settings.is_empty())
}

/// Returns the step of the last change before which the settings were those of `target`; `None` without such a change.
fn undone_at(record: &Record, target: &SimulationSpec) -> Option<u64> {
    let (mut spec, mut step) = (record.spec.clone(), None);
    for change in &record.changes {
        if is_at(&spec, target) {
            step = Some(change.step);
        }
        // The session was made with the change, so it fits.
        let _ = spec.apply(&change.set);
    }
    step
}
