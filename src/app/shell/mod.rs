//! The app as a whole: it brings the panels, the document and the running simulation together.

mod act;
mod draw;
mod intake;
mod options;

use std::sync::mpsc::Receiver;

use egui::{Context, Rect, Ui};

pub use options::{Aftermath, Layout, Options};

use super::animation::AnimationExport;
use super::desk::Desk;
use super::diagnostics::DiagnosticsPanel;
use super::document::Document;
use super::engine::EngineLink;
use super::files::Files;
use super::graphics::GraphicsFaults;
use super::help::Help;
use super::keyboard::{self, Situation};
use super::landscape::{FormulaPanel, LandscapePanel};
use super::live::{Live, Requests};
use super::messages::Messages;
use super::picture::Pictures;
use super::save_preset::SavePreset;
use super::session::{self, Session, Surroundings};
use super::shelf::Shelf;
use super::theme;
use super::transport::Pace;
use crate::preset::{Loaded, Preset, Source, built_ins};
use crate::simulation::{Command, Record};
use crate::view::ViewSettings;

/// The panels that have a state of their own.
struct Panels {
    landscape: LandscapePanel,
    formula: FormulaPanel,
    diagnostics: DiagnosticsPanel,
    /// Where the landscape was drawn last.
    landscape_area: Option<Rect>,
}

impl Panels {
    fn new(cc: &eframe::CreationContext<'_>) -> Panels {
        Panels {
            landscape: LandscapePanel::new(cc.wgpu_render_state.as_ref()),
            formula: FormulaPanel::default(),
            diagnostics: DiagnosticsPanel::default(),
            landscape_area: None,
        }
    }
}

/// What appears above the panels.
struct Dialogs {
    messages: Messages,
    help: Help,
    files: Files,
    pictures: Pictures,
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
            animation: AnimationExport::default(),
            save_preset: None,
            recording: None,
        }
    }
}

/// The app.
pub struct Valleyscope {
    desk: Desk,
    engine: EngineLink,
    live: Live,
    pace: Pace,
    layout: Layout,
    panels: Panels,
    dialogs: Dialogs,
    shelf: Shelf,
    context: Context,
    faults: Option<GraphicsFaults>,
    /// Nothing can be drawn any more; the window is about to close.
    device_lost: bool,
    aftermath: Aftermath,
    /// The window's title as it was set last.
    title: String,
}

impl Valleyscope {
    pub fn new(cc: &eframe::CreationContext<'_>, options: Options) -> Valleyscope {
        let ctx = cc.egui_ctx.clone();
        theme::install(&ctx);
        let mut messages = Messages::default();
        if let Some((title, text)) = options.report {
            messages.report(title, text);
        }
        let mut shelf = Shelf::new(options.library);
        let (mut pace, mut layout) = (Pace::default(), Layout::default());
        let desk = match restore(cc.storage, &mut messages) {
            Some((around, desk)) => {
                (pace, layout) = (around.pace, around.layout);
                shelf.recall(around.recent);
                ctx.set_theme(around.theme);
                ctx.set_zoom_factor(around.zoom);
                desk
            }
            None => first_desk(),
        };
        pace = options.pace.unwrap_or(pace);
        shelf.refresh(&ctx);
        let wake = ctx.clone();
        let engine = EngineLink::start(&desk.document, pace, move || wake.request_repaint());
        if options.play {
            engine.send(Command::Play);
        }
        let files = Files::new(ctx.clone(), options.native_dialogs, shelf.folder().map(Into::into));
        let mut app = Valleyscope {
            desk,
            engine,
            live: Live::default(),
            pace,
            layout,
            panels: Panels::new(cc),
            dialogs: Dialogs::new(messages, files),
            shelf,
            faults: cc.wgpu_render_state.as_ref().map(|render_state| GraphicsFaults::watch(render_state, &ctx)),
            context: ctx,
            device_lost: false,
            aftermath: options.aftermath,
            title: String::new(),
        };
        if let Some(Loaded { preset: Preset::Landscape(preset), source, .. }) = options.preset {
            let file = match source {
                Source::BuiltIn(_) => None,
                Source::User { path, .. } | Source::File(path) => Some(path),
            };
            app.open(preset, file);
        }
        app
    }

    /// What is under the controls.
    pub fn document(&self) -> &Document {
        &self.desk.document
    }

    /// The running simulation as the panels see it.
    pub fn live(&self) -> &Live {
        &self.live
    }

    fn session(&self) -> Session {
        let around = Surroundings {
            pace: self.pace,
            layout: self.layout,
            recent: self.shelf.recent().to_vec(),
            theme: self.context.options(|options| options.theme_preference),
            zoom: self.context.zoom_factor(),
        };
        Session::new(&self.desk, around)
    }
}

/// The stored session; one that can't be used is reported.
fn restore(storage: Option<&dyn eframe::Storage>, messages: &mut Messages) -> Option<(Surroundings, Desk)> {
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

/// What a first start shows.
fn first_desk() -> Desk {
    let Preset::Landscape(preset) = &built_ins()[0].preset;
    Desk::new(preset.clone(), None, &ViewSettings::default())
}

impl eframe::App for Valleyscope {
    fn logic(&mut self, ctx: &Context, _frame: &mut eframe::Frame) {
        self.take_snapshots();
        self.take_graphics_faults(ctx);
        self.take_answers();
        self.shelf.poll();
    }

    fn ui(&mut self, ui: &mut Ui, _frame: &mut eframe::Frame) {
        if self.device_lost {
            return;
        }
        let mut requests = Requests::default();
        let situation = Situation {
            presenting: self.layout.presenting,
            lesson: self.desk.lesson().map(|(step, lesson)| (step, lesson.len())),
        };
        keyboard::handle(ui.ctx(), situation, &mut self.desk.document.view.follow, &mut requests);
        self.panels(ui, &mut requests);
        self.dialogs(ui.ctx());
        self.dialogs.animation.ui(ui.ctx(), &self.desk.document, &mut self.live, &mut requests);
        self.carry_out(ui.ctx(), requests);
        self.settle(ui.ctx());
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
        self.aftermath.leave(|remains| remains.session = Some(session));
    }
}
