//! The landscape tab: one simulation with its controls, its picture, its plots and its lesson.

pub mod animation_export;
pub(crate) mod branches;
pub mod canvas;
pub(crate) mod controls;
pub(crate) mod editor;
mod export;
mod layout;
pub(crate) mod lesson;
mod lesson_editor;
pub(crate) mod live;
mod opening;
pub mod picture;
mod picture_options;
pub mod plots;
mod recorded;
mod speaker;
pub(crate) mod timeline;
pub(crate) mod transport;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::app::shell::actions::{self, Action, Keys, LandscapeAction, Requests};
use canvas::{FormulaPanel, LandscapePanel};
use controls::ControlsPanel;
use controls::sliders::SettingAnimations;
use editor::{Document, LandscapeEditor};
use egui::{Context, Key, Modifiers, Rect, Ui, vec2};
use lesson::LessonStage;
use lesson_editor::LessonEditor;
use live::{Live, PlayerLink};
use opening::{Opening, built_in};
use plots::DiagnosticsPanel;
use recorded::{RememberedCloud, Reopening};
use serde::{Deserialize, Serialize};
use timeline::TimelineBar;
use valleyscope_engine::simulation::ParticleId;
use valleyscope_experiments::preset::{LandscapePreset, LessonDraft, Preset, is_made_title};
use valleyscope_experiments::view::{Camera, Orbit, ViewProjection, ViewSettings};
use valleyscope_runs::atomic_file::Overwrite;

use super::shell::editor::{EditorStatus, HistoryStep, PresetDraft};
use super::shell::export::{ExportKind, ExportSource};
use super::shell::files::OpenedContent;
use super::shell::jobs::Wake;
use super::shell::tab::{Memory, RegisteredTab, Start, Tab, TabFrame, TabInfo, TabWindow, stored_preset};
use super::widgets::setting::Pins;
use crate::draw::RunPlots;
use crate::player::{Playback, PlaybackPace, PlayerCommand};

/// The time between two snapshots of a player whose landscape is not shown.
const UNSEEN: Duration = Duration::from_millis(500);
/// The longest time that a frame spends on taking snapshots.
const SNAPSHOT_TIME: Duration = Duration::from_millis(4);

/// The landscape tab.
pub(crate) struct LandscapeTab {
    editor: LandscapeEditor,
    player: PlayerLink,
    live: Live,
    pace: PlaybackPace,
    /// The waker for the player's updates, which only this tab shows.
    wake: Wake,
    landscape: LandscapePanel,
    formula: FormulaPanel,
    diagnostics: DiagnosticsPanel,
    controls: ControlsPanel,
    timeline: TimelineBar,
    stage: LessonStage,
    lesson_editor: LessonEditor,
    /// Whether the speaker notes are shown.
    has_notes: bool,
    /// Whether the end of the lesson is shown, after its last step.
    is_at_end: bool,
    /// The opening, while it is shown.
    opening: Option<Opening>,
    /// The settings that move by themselves.
    animated: SettingAnimations,
    /// The recorded clouds of the last session, while they are read.
    reopening: Option<Reopening>,
    /// The area in which the landscape was last drawn.
    area: Option<Rect>,
}

impl RegisteredTab for LandscapeTab {
    const INFO: TabInfo = TabInfo {
        title: "Landscape",
        preset_kinds: &["Landscape"],
        presets_heading: "Landscapes",
        keys: &[
            timeline::PLAY,
            ("← and →", "One step back or forth; ten with Shift"),
            ("Home", "Show the start of the run"),
            ("End", "Show the last step of the run"),
            ("< and >", "Play slower or faster"),
            (
                "Alt 1 to Alt 9",
                "Speed: 1, 2, 5, 10, 30, 60, 200, 1000 steps a second, and as fast as it goes; without Alt on the timeline",
            ),
            ("Shift and a drag on the timeline", "Play a range of steps over and over"),
            ("R", "Restart at step 0"),
            ("F", "Follow the particles, or stop following"),
            ("2", "Show the landscape from above"),
            ("3", "Show the landscape as a surface in space, or from above"),
            ("4", "Show the landscape along the valley, each axis with its own scale, or from above"),
            (
                "Arrows on the landscape",
                "Move the view; in space turn it, or move it with Ctrl; along the valley stretch it by ↑ and ↓ with \
                 Shift; first Tab to the landscape",
            ),
        ],
        exports: &[
            ExportKind::Picture,
            ExportKind::Figure,
            ExportKind::Animation,
            ExportKind::WebPage,
            ExportKind::Data,
        ],
        has_plots: true,
        presented_size: vec2(900.0, 506.0),
    };

    fn begin(start: &mut Start<'_>) -> LandscapeTab {
        let restored = start.restore_memory("The last session was not restored", LandscapeMemory::restore);
        let opening =
            (start.options.opening && start.options.opened.is_empty() && restored.is_none()).then(Opening::begin);
        let (editor, pace, view) = match restored {
            Some((editor, pace, view)) => (editor, pace, Some(view)),
            None => {
                let first = if opening.is_some() { Opening::preset() } else { built_in("lesson") };
                (LandscapeEditor::opened(first, &ViewSettings::default()), PlaybackPace::default(), None)
            }
        };
        let wake = Wake::new(start.cc.egui_ctx.clone(), Duration::ZERO, UNSEEN);
        let player_wake = wake.clone();
        let mut player = PlayerLink::start(&editor.draft.document, pace, move || player_wake.soon());
        // A preset from the command line plays with its own view, whatever the last session's state.
        let is_asked = start.options.opened.iter().any(|(content, _)| matches!(content, OpenedContent::Preset(_)));
        if start.options.play && (is_asked || view.as_ref().is_none_or(|view| view.playing)) {
            player.send(PlayerCommand::Play);
        }
        let mut tab = LandscapeTab {
            editor,
            player,
            live: Live::default(),
            pace,
            wake,
            landscape: LandscapePanel::new(start.cc.wgpu_render_state.as_ref()),
            formula: FormulaPanel::default(),
            diagnostics: DiagnosticsPanel::default(),
            controls: ControlsPanel::default(),
            timeline: TimelineBar::default(),
            stage: LessonStage::default(),
            lesson_editor: LessonEditor::default(),
            has_notes: false,
            is_at_end: false,
            opening,
            animated: SettingAnimations::default(),
            reopening: view.as_ref().and_then(|view| Reopening::begin(&start.cc.egui_ctx, &view.recorded)),
            area: None,
        };
        if let Some(view) = view {
            tab.diagnostics.choices = view.plots.clone();
            tab.controls.pins = view.pins.clone();
            if !is_asked {
                tab.restore_view(view);
            }
        }
        tab
    }
}

impl Tab for LandscapeTab {
    fn target(&self) -> Option<(&Path, Overwrite)> {
        self.editor.target()
    }

    fn saved(&mut self, written: PresetDraft, file: &Path) {
        self.editor.saved(written, file);
    }

    fn status(&self) -> EditorStatus {
        let saved = &self.editor.saved_state().preset;
        match self.editor.is_dirty() {
            true => {
                let named = self.named();
                self.editor.status(&named.title, &named.description)
            }
            false => self.editor.status(&saved.title, &saved.description),
        }
    }

    fn to_save(&self) -> PresetDraft {
        self.editor.document_draft(self.named())
    }

    /// Undoes or redoes. A restored lesson step starts its run as when it was first shown.
    fn undo_or_redo(&mut self, step: HistoryStep) {
        let lesson_step = self.editor.lesson_step();
        self.undo_or_redo_in_time(step);
        if self.editor.lesson_step() != lesson_step {
            self.begin_document();
            self.play_lesson_step();
        }
    }

    fn open(
        &mut self,
        content: OpenedContent,
        file: Option<&Path>,
        requests: &mut Requests,
    ) -> Result<(), OpenedContent> {
        match content {
            OpenedContent::Recorded(clouds) => {
                self.open_recorded(clouds, requests);
                if self.live.playback() == Playback::Finished {
                    self.player.send(PlayerCommand::Seek(0));
                }
                self.player.send(PlayerCommand::Play);
            }
            OpenedContent::Preset(preset) => match *preset {
                Preset::Landscape(preset) => self.open_landscape(preset, file.map(Path::to_owned), requests),
                other => return Err(OpenedContent::Preset(Box::new(other))),
            },
            other => return Err(other),
        }
        Ok(())
    }

    fn to_memory(&self) -> Memory {
        let view = ViewState {
            // A run that has ended was not paused.
            playing: self.live.playback() != Playback::Paused,
            camera: Some(self.landscape.camera()),
            orbit: self.landscape.orbit(),
            selected: self.live.selected.map(|selected| (selected.optimizer, selected.particle)),
            hidden: self.live.hidden.clone(),
            chosen: self.live.chosen,
            has_own_cameras: self.live.has_own_cameras,
            plots: self.diagnostics.choices(),
            pins: self.controls.pins.clone(),
            recorded: self.remembered_clouds(),
        };
        Memory::new(&LandscapeMemory::new(&self.editor, self.pace, view))
    }

    fn logic(&mut self, frame: TabFrame, requests: &mut Requests) {
        self.take_snapshots();
        self.take_reopened(requests);
        self.animated.begin_frame(&self.editor.draft.document);
        self.player.hold(!(frame.is_window_visible && frame.is_shown));
    }

    fn ui(&mut self, ui: &mut Ui, window: TabWindow<'_>, requests: &mut Requests) {
        self.draw(ui, window.layout, requests);
    }

    fn area(&self) -> Option<Rect> {
        self.area
    }

    fn export_source(&mut self) -> Arc<dyn ExportSource> {
        self.begin_export()
    }
}

impl LandscapeTab {
    /// Updates computations from the draft at the end of a frame, after its requests were carried out.
    pub(super) fn end_frame(&mut self, ctx: &Context, is_shown: bool, requests: &mut Requests) {
        self.wake.show(is_shown);
        self.animated.advance(ctx, &mut self.editor.draft.document, &self.live, self.player.is_held());
        self.begin_future();
        if !is_shown {
            self.opening = None;
        }
        let begun_by = self.player.follow(&self.editor.draft.document, self.pace);
        // What replaces a run that has ended plays.
        if begun_by.is_some() && self.live.playback() == Playback::Finished {
            self.player.send(PlayerCommand::Play);
        }
        let under_way = self.live.snapshot.as_ref().is_some_and(|snapshot| snapshot.step > 0);
        if let Some(reason) = begun_by.filter(|_| under_way) {
            requests.actions.push(Action::Notify(format!("Restarted at step 0: {reason}.")));
        }
        let document = &self.editor.draft.document;
        self.live.chosen = self.live.chosen.min(document.count() - 1);
        let is_simulated = |selected: ParticleId| {
            document.specs().any(|spec| {
                selected.particle < spec.particles.get()
                    && spec.optimizers.iter().any(|optimizer| optimizer.id == selected.optimizer && optimizer.enabled)
            })
        };
        if self.live.selected.is_some_and(|selected| !is_simulated(selected)) {
            self.live.selected = None;
            self.player.send(PlayerCommand::Select(None));
        }
        self.trace();
        self.record_for_undo(ctx);
    }

    /// The command of Escape, before it ends a presentation.
    pub(super) fn ended_by_escape(&self) -> Option<PlayerCommand> {
        self.live.looped().map(|_| PlayerCommand::Loop(None))
    }

    /// Converts keys to requests while the tab is shown and no text is typed.
    pub(super) fn handle_keys(&mut self, keys: &Keys<'_>, requests: &mut Requests) {
        let mut ask = |is_asked: bool, action: LandscapeAction| {
            requests.actions.extend(is_asked.then_some(Action::Landscape(action)));
        };
        ask(keys.pressed_once(Key::R), LandscapeAction::Restart);
        let is_on_timeline = self.timeline.has_focus(keys.ctx());
        if let Some(pace) = timeline::pressed_speed(keys, self.pace, is_on_timeline) {
            self.pace = pace;
            requests.actions.push(Action::Notify(format!("Speed: {}", pace.words())));
        }
        if !keys.is_control_focused() || is_on_timeline {
            requests.actions.extend(timeline::pressed(keys).map(Action::Landscape));
        }
        if keys.pressed_once(Key::F) {
            let follow = &mut self.editor.draft.document.view.follow;
            *follow = !*follow;
        }
        if self.editor.lesson().is_some() && keys.pressed_once(Key::N) {
            self.has_notes = !self.has_notes;
        }
        for (projection, key) in ViewProjection::ALL.into_iter().zip([Key::Num2, Key::Num3, Key::Num4]) {
            if keys.pressed_once(key) {
                self.editor.draft.document.view.toggle(projection);
            }
        }
    }

    /// Goes through the lesson. A field in which text is typed loses the focus, so that its value is taken first.
    pub(super) fn handle_clicker(&mut self, keys: &Keys<'_>, requests: &mut Requests) {
        if self.opening.is_some() && keys.pressed(Modifiers::NONE, Key::PageDown) {
            return self.leave_for_lesson(requests);
        }
        if self.editor.lesson().is_none() {
            return;
        }
        let is_forth = keys.pressed(Modifiers::NONE, Key::PageDown);
        if !is_forth && !keys.pressed(Modifiers::NONE, Key::PageUp) {
            return;
        }
        requests.actions.extend(self.turn_page(is_forth));
        let ctx = keys.ctx();
        if let Some(field) = ctx.memory(|memory| memory.focused()).filter(|_| ctx.text_edit_focused()) {
            ctx.memory_mut(|memory| memory.surrender_focus(field));
        }
    }

    /// Names the keys of a clicker as a hint; empty if there is nothing to go through.
    pub(super) fn clicker_hint(&self) -> &'static str {
        if self.editor.lesson().is_some() { "Page Down: next. N: speaker notes. " } else { "" }
    }

    /// Shows its entries of the Edit menu, with a line above them, while the tab is shown.
    pub(super) fn edit_menu(&self, ui: &mut Ui, requests: &mut Requests) {
        ui.separator();
        let text = if self.editor.lesson().is_some() { lesson::EDIT_LESSON } else { "Begin a lesson…" };
        actions::item(ui, text, "", Action::Landscape(LandscapeAction::EditLesson), requests);
    }

    /// Shows its drawing settings in the View menu, with a line below them, whatever tab is shown.
    pub(super) fn view_menu(&mut self, ui: &mut Ui, is_shown: bool) {
        // They have no effect on other tabs.
        ui.add_enabled_ui(is_shown, |ui| {
            layout::show(ui, &mut self.editor.draft.document.view);
            if ui.button("Animate settings…").clicked() {
                self.animated.open();
                ui.close();
            }
        });
        ui.separator();
    }

    pub(super) fn set_pace(&mut self, pace: PlaybackPace) {
        self.pace = pace;
    }

    pub(super) fn document(&self) -> &Document {
        &self.editor.draft.document
    }

    pub(super) fn live(&self) -> &Live {
        &self.live
    }

    /// Returns the landscape as a preset. Its view is kept while it does not follow the particles, and the direction
    /// from which it is seen in space.
    fn preset(&self) -> LandscapePreset {
        let mut preset = self.editor.preset();
        if preset.view.as_ref() == Some(&self.editor.draft.document.view) {
            preset.view = Some(self.view());
        }
        preset
    }

    /// Returns the landscape as a preset with its present title: after a change of its settings, title and description
    /// are made from them, unless the user has given the title of the preset's own file.
    fn named(&self) -> LandscapePreset {
        let mut preset = self.preset();
        let is_own = self.editor.file().is_some() && !is_made_title(&preset.title);
        if is_own || !self.editor.is_dirty() {
            return preset;
        }
        let mut before = self.editor.saved_state().preset.clone();
        if preset.lesson_misfit().is_some() {
            // It is saved without the lesson, with the settings of the present step, which are no change.
            *preset.spec_mut() = self.editor.draft.document.spec(0).clone();
            if let Ok(at_step) = before.spec_at(self.editor.lesson_step()) {
                *before.spec_mut() = at_step;
            }
        }
        let titled = Preset::Landscape(preset.clone()).as_changed_from(&Preset::Landscape(before));
        titled.title().clone_into(&mut preset.title);
        titled.description().clone_into(&mut preset.description);
        preset
    }

    /// Returns the view with its camera while it does not follow the particles, and the direction from which it is seen
    /// in space.
    fn view(&self) -> ViewSettings {
        let mut view = self.editor.draft.document.view.clone();
        if !view.follow {
            view.camera = Some(self.landscape.camera());
        }
        if view.is_in_space() {
            view.orbit = Some(self.landscape.orbit());
        }
        view
    }

    /// Restores the view of the last session.
    fn restore_view(&mut self, view: ViewState) {
        if let Some(camera) = view.camera {
            self.landscape.restore_view(&self.editor.draft.document, camera, view.orbit);
        }
        self.live.hidden = view.hidden;
        self.live.has_own_cameras = view.has_own_cameras;
        self.live.chosen = view.chosen.min(self.editor.draft.document.count() - 1);
        self.live.selected = view.selected.map(|(optimizer, particle)| ParticleId { optimizer, particle });
        self.player.send(PlayerCommand::Select(self.live.selected));
    }

    fn take_snapshots(&mut self) {
        let begin = Instant::now();
        while let Some(snapshot) = self.player.next_snapshot() {
            self.landscape.absorb(&snapshot);
            self.player.show_settings(&mut self.editor.draft.document, &snapshot);
            self.live.take(snapshot);
            if begin.elapsed() > SNAPSHOT_TIME {
                break;
            }
        }
    }
}

/// The document, its view, and the speed of the run.
#[derive(Debug, Serialize, Deserialize)]
struct LandscapeMemory {
    /// The preset that was opened or saved last, and the present document, both as presets' text, so that reading
    /// checks them like any preset.
    origin: String,
    current: String,
    file: Option<PathBuf>,
    /// The lesson, if it was edited. It need not be valid yet.
    #[serde(default)]
    lesson: Option<LessonDraft>,
    lesson_step: usize,
    pace: PlaybackPace,
    view: ViewState,
}

/// The view of the landscape.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct ViewState {
    playing: bool,
    camera: Option<Camera>,
    /// The direction from which the surface in space is seen.
    orbit: Orbit,
    /// The selected particle: its optimizer's id, and its number from 0.
    selected: Option<(u32, usize)>,
    /// The ids of hidden optimizers.
    hidden: BTreeSet<u32>,
    /// The index of the simulation that the controls set.
    #[serde(default)]
    chosen: usize,
    /// Whether landscapes side by side have cameras of their own.
    #[serde(default)]
    has_own_cameras: bool,
    plots: RunPlots,
    /// The sliders that presentations show.
    #[serde(default)]
    pins: Pins,
    #[serde(default)]
    recorded: Vec<RememberedCloud>,
}

impl LandscapeMemory {
    fn new(editor: &LandscapeEditor, pace: PlaybackPace, view: ViewState) -> LandscapeMemory {
        let text = |preset: LandscapePreset| Preset::Landscape(preset).to_ron();
        let saved = &editor.saved_state().preset;
        let lesson = &editor.draft.lesson;
        LandscapeMemory {
            origin: text(saved.clone()),
            // Without the lesson, which need not be valid.
            current: text(editor.present_preset()),
            file: editor.file().map(Path::to_owned),
            lesson: (lesson.steps != saved.lesson).then(|| lesson.clone()),
            lesson_step: editor.lesson_step(),
            pace,
            view,
        }
    }

    /// Restores the editor, the pace and the view, or returns why they cannot be used.
    fn restore(self) -> Result<(LandscapeEditor, PlaybackPace, ViewState), String> {
        let landscape = |preset| if let Preset::Landscape(preset) = preset { Some(preset) } else { None };
        let preset = |text: &str, what: &str| stored_preset(text, what, "simulation", landscape);
        let origin = preset(&self.origin, "the preset of the last session")?;
        let current = preset(&self.current, "the last session")?;
        let simulations = current.resolved_simulations().map_err(|error| error.to_string())?;
        let document = Document { simulations, view: current.view.unwrap_or_default() };
        if let Some(lesson) = &self.lesson {
            lesson.check_simulations().map_err(|error| format!("the lesson of the last session: {error}"))?;
        }
        let editor = LandscapeEditor::restored(origin, self.file, document, self.lesson, self.lesson_step);
        let pace = if self.pace.steps_per_sec.is_finite() { self.pace } else { PlaybackPace::default() };
        Ok((editor, pace, self.view))
    }
}
