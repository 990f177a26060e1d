//! The app as a whole: it brings the panels, the document and the running simulation together.

mod actions;
mod closing;
mod draw;
mod events;
mod options;

use std::sync::mpsc::Receiver;
use std::time::Duration;

use egui::{Context, Rect, Ui};

pub use options::{AppOptions, ExitState};

use valleyscope_engine::simulation::{EngineCommand, ParticleId, Record};
use valleyscope_experiments::preset::{Loaded, Preset, PresetSource, SweepPreset, built_ins};
use valleyscope_experiments::view::ViewSettings;
use valleyscope_runs::RunFolder;

use super::animation::{AnimationExport, Subject};
use super::controls::ControlsPanel;
use super::diagnostics::DiagnosticsPanel;
use super::document::Document;
use super::engine::EngineLink;
use super::figure_export::FigureExport;
use super::files::Files;
use super::graphics::GraphicsFaults;
use super::help::Help;
use super::keyboard::{self, Situation};
use super::landscape::{FormulaPanel, LandscapePanel};
use super::landscape_editor::LandscapeEditor;
use super::live::{Live, Requests};
use super::messages::Messages;
use super::phase::PhasePanel;
use super::picture::Pictures;
use super::picture_export::PictureExport;
use super::playback::PlaybackPace;
use super::plot::install_curves;
use super::preset_catalog::PresetCatalog;
use super::quit::Quitting;
use super::save_preset::SavePreset;
use super::session::{self, Session, ViewState, WindowState};
use super::theme;
use super::training::TrainingPanel;
use super::wake::Wake;
use super::window_layout::{Tab, WindowLayout};
use crate::result::SweepResult;

/// The panels that have a state of their own.
struct Panels {
    landscape: LandscapePanel,
    formula: FormulaPanel,
    diagnostics: DiagnosticsPanel,
    controls: ControlsPanel,
    phase: PhasePanel,
    training: TrainingPanel,
    /// The area in which the landscape was drawn last.
    landscape_area: Option<Rect>,
}

impl Panels {
    fn new(cc: &eframe::CreationContext<'_>, training: TrainingPanel) -> Panels {
        if let Some(render_state) = &cc.wgpu_render_state {
            install_curves(render_state);
        }
        Panels {
            landscape: LandscapePanel::new(cc.wgpu_render_state.as_ref()),
            formula: FormulaPanel::default(),
            diagnostics: DiagnosticsPanel::default(),
            controls: ControlsPanel::default(),
            phase: PhasePanel::new(cc.egui_ctx.clone(), first_sweep()),
            training,
            landscape_area: None,
        }
    }
}

/// The dialogs above the panels.
struct Dialogs {
    messages: Messages,
    help: Help,
    files: Files,
    pictures: Pictures,
    picture_export: PictureExport,
    figure_export: FigureExport,
    animation: AnimationExport,
    save_preset: Option<SavePreset>,
    /// A session's record on its way, to be saved.
    recording: Option<Receiver<Record>>,
}

impl Dialogs {
    fn new(messages: Messages, files: Files) -> Dialogs {
        Dialogs {
            messages,
            help: Help::default(),
            files,
            pictures: Pictures::default(),
            picture_export: PictureExport::default(),
            figure_export: FigureExport::default(),
            animation: AnimationExport::default(),
            save_preset: None,
            recording: None,
        }
    }
}

/// The app.
pub struct Valleyscope {
    editor: LandscapeEditor,
    engine: EngineLink,
    live: Live,
    pace: PlaybackPace,
    layout: WindowLayout,
    panels: Panels,
    dialogs: Dialogs,
    catalog: PresetCatalog,
    /// The waking for the engine, which is not visible in other tabs.
    landscape_wake: Wake,
    context: Context,
    faults: Option<GraphicsFaults>,
    /// Whether the device is lost; the window is about to close.
    device_lost: bool,
    exit_state: ExitState,
    quitting: Quitting,
    /// The computing time from which on a diagram is not dropped without a question.
    worth_asking: Duration,
    /// The window's title as it was set last.
    title: String,
}

/// Between two looks at an engine whose landscape is not shown.
const UNSEEN: Duration = Duration::from_millis(500);

impl Valleyscope {
    pub fn new(cc: &eframe::CreationContext<'_>, options: AppOptions) -> Valleyscope {
        let ctx = cc.egui_ctx.clone();
        theme::install(&ctx);
        let mut messages = Messages::default();
        if let Some((title, text)) = options.report {
            messages.report(title, text);
        }
        let mut catalog = PresetCatalog::new(options.library);
        let (window, editor) = match restore(cc.storage, &mut messages) {
            Some((window, editor)) => (Some(window), editor),
            None => (None, first_editor()),
        };
        if let Some(window) = &window {
            catalog.recall(window.recent.clone());
            ctx.set_theme(window.theme);
            ctx.set_zoom_factor(window.zoom);
        }
        catalog.refresh(&ctx);
        let pace = options.pace.or(window.as_ref().map(|window| window.pace)).unwrap_or_default();
        let landscape_wake = Wake::new(ctx.clone(), Duration::ZERO, UNSEEN);
        let wake = landscape_wake.clone();
        let engine = EngineLink::start(&editor.draft.document, pace, move || wake.soon());
        // A requested preset plays with its own view, whatever the last session's state.
        let is_asked = options.preset.is_some();
        if options.play && (is_asked || window.as_ref().is_none_or(|window| window.view.playing)) {
            engine.send(EngineCommand::Play);
        }
        let files = Files::new(ctx.clone(), options.native_dialogs, catalog.folder().map(Into::into));
        let mut app = Valleyscope {
            editor,
            engine,
            live: Live::default(),
            pace,
            layout: window.as_ref().map(|window| window.layout).unwrap_or_default(),
            panels: Panels::new(cc, TrainingPanel::new(ctx.clone(), options.training)),
            dialogs: Dialogs::new(messages, files),
            catalog,
            faults: cc.wgpu_render_state.as_ref().map(|render_state| GraphicsFaults::watch(render_state, &ctx)),
            landscape_wake,
            context: ctx,
            device_lost: false,
            exit_state: options.exit_state,
            quitting: Quitting::No,
            worth_asking: options.worth_asking,
            title: String::new(),
        };
        if let Some(window) = window {
            app.recall(window, !is_asked);
        }
        app.show(options.preset, options.result, options.run);
        app
    }

    /// Brings back what the tabs of the last session showed; `restores_view` also at the landscape.
    fn recall(&mut self, window: WindowState, restores_view: bool) {
        let WindowState { view, sweep, training, .. } = window;
        self.panels.diagnostics.choose(view.plots.clone());
        if let Some(sweep) = sweep
            && let Err(reason) = self.panels.phase.recall(sweep)
        {
            self.dialogs.messages.report("The last phase diagram's preset was not restored", reason);
        }
        if let Some(training) = training
            && let Err(reason) = self.panels.training.recall(training)
        {
            self.dialogs.messages.report("The last training's preset was not restored", reason);
        }
        if restores_view {
            self.restore_view(view);
        }
    }

    /// Shows what the program was begun with.
    fn show(&mut self, preset: Option<Loaded>, result: Option<SweepResult>, run: Option<RunFolder>) {
        if let Some(Loaded { preset, source, .. }) = preset {
            let file = match source {
                PresetSource::BuiltIn(_) => None,
                PresetSource::User { path, .. } | PresetSource::File(path) => Some(path),
            };
            self.open_preset(preset, file);
        }
        if let Some(result) = result {
            self.open_result(result);
        }
        if let Some(run) = run {
            self.open_run(run);
        }
    }

    /// Whether the landscape is drawn, in its tab or for an animation.
    fn shows_landscape(&self) -> bool {
        self.layout.tab == Tab::Landscape || self.dialogs.animation.is_recording()
    }

    /// The document under the controls.
    pub fn document(&self) -> &Document {
        &self.editor.draft.document
    }

    /// The phase diagrams.
    pub fn phase(&self) -> &PhasePanel {
        &self.panels.phase
    }

    /// The real workloads.
    pub fn training(&self) -> &TrainingPanel {
        &self.panels.training
    }

    /// The running simulation as the panels see it.
    pub fn live(&self) -> &Live {
        &self.live
    }

    /// Restores the view of the last session.
    fn restore_view(&mut self, view: ViewState) {
        if let Some(camera) = view.camera {
            self.panels.landscape.restore_view(&self.editor.draft.document, camera);
        }
        self.live.hidden = view.hidden;
        self.live.selected = view.selected.map(|(optimizer, particle)| ParticleId { optimizer, particle });
        self.engine.send(EngineCommand::Select(self.live.selected));
    }

    fn session(&self) -> Session {
        let window = WindowState {
            pace: self.pace,
            layout: self.layout,
            recent: self.catalog.recent().to_vec(),
            theme: self.context.options(|options| options.theme_preference),
            zoom: self.context.zoom_factor(),
            view: ViewState {
                playing: self.dialogs.animation.plays_after().unwrap_or(self.live.is_playing()),
                camera: Some(self.panels.landscape.camera()),
                selected: self.live.selected.map(|selected| (selected.optimizer, selected.particle)),
                hidden: self.live.hidden.clone(),
                plots: self.panels.diagnostics.choices(),
            },
            sweep: Some(self.panels.phase.memory()),
            training: Some(self.panels.training.memory()),
        };
        Session::new(&self.editor, window)
    }
}

/// The stored session; one that can't be used is reported.
fn restore(storage: Option<&dyn eframe::Storage>, messages: &mut Messages) -> Option<(WindowState, LandscapeEditor)> {
    let text = storage?.get_string(session::KEY)?;
    match Session::restore(&text) {
        Ok(restored) => Some(restored),
        Err(reason) => {
            messages.report(
                "The last session was not restored",
                format!("{reason}\n\nIt is kept aside, and Valleyscope begins with a built-in preset.\n\n{text}"),
            );
            None
        }
    }
}

/// The document of a first start.
fn first_editor() -> LandscapeEditor {
    let Preset::Landscape(preset) = &built_ins()[0].preset else { unreachable!("the first preset is a lesson") };
    LandscapeEditor::opened(preset.clone(), &ViewSettings::default())
}

/// The sweep under the controls at a first start.
fn first_sweep() -> SweepPreset {
    let mut sweeps = built_ins().iter().filter_map(|built_in| match &built_in.preset {
        Preset::Sweep(preset) => Some(preset.clone()),
        _ => None,
    });
    sweeps.next().expect("some built-in presets are sweeps")
}

impl eframe::App for Valleyscope {
    fn logic(&mut self, ctx: &Context, _frame: &mut eframe::Frame) {
        self.hold_close(ctx);
        let mut requests = Requests::default();
        self.panels.phase.tick(ctx, &mut requests);
        self.panels.training.tick(self.layout.tab == Tab::Training, &mut requests);
        self.carry_out(ctx, requests);
        self.take_snapshots();
        self.take_graphics_faults(ctx);
        self.take_answers();
        self.catalog.poll();
        let is_visible = ctx.input(|input| input.viewport().visible()).unwrap_or(true);
        self.engine.hold(!(is_visible && self.shows_landscape()));
    }

    fn ui(&mut self, ui: &mut Ui, _frame: &mut eframe::Frame) {
        if self.device_lost {
            return;
        }
        let mut requests = Requests::default();
        let situation = Situation {
            tab: self.layout.tab,
            presenting: self.layout.presenting,
            lesson: self.editor.lesson().map(|(step, lesson)| (step, lesson.len())),
        };
        // Before the presentation, which Escape leaves too.
        self.dialogs.messages.dismiss_by_key(ui.ctx());
        keyboard::handle(ui.ctx(), situation, &mut self.editor.draft.document.view.follow, &mut requests);
        self.panels(ui, &mut requests);
        self.dialogs(ui.ctx());
        let subject = Subject {
            panel: &mut self.panels.landscape,
            document: &mut self.editor.draft.document,
            live: &mut self.live,
        };
        self.dialogs.animation.ui(ui.ctx(), subject, &mut requests);
        self.carry_out(ui.ctx(), requests);
        self.sync(ui.ctx());
    }

    fn save(&mut self, storage: &mut dyn eframe::Storage) {
        if let Some(old) = storage.get_string(session::KEY)
            && Session::restore(&old).is_err()
        {
            storage.set_string(session::UNREADABLE_KEY, old);
        }
        storage.set_string(session::KEY, self.session().to_text());
    }
}

impl Drop for Valleyscope {
    fn drop(&mut self) {
        let session = self.session().to_text();
        self.exit_state.leave(|exit_report| exit_report.session = Some(session));
    }
}
