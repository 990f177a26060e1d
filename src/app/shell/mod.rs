//! The app as a whole, which connects the tabs, the dialogs and the files.

mod actions;
mod clipboard;
mod closing;
mod draw;
mod events;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use egui::{Context, Ui};

use valleyscope_experiments::preset::{Loaded, PresetSource};
use valleyscope_runs::RunFolder;

use super::compare_presets::ComparePresets;
use super::differences::DifferencesWindow;
use super::document::Document;
use super::fallback_fonts::FallbackFonts;
use super::files::Files;
use super::graphics::GraphicsFaults;
use super::help::Help;
use super::keyboard;
use super::live::{Live, Requests};
use super::messages::Messages;
use super::opened::OpenedContent;
use super::options::{AppOptions, ExitState};
use super::phase::PhasePanel;
use super::plot::install_curves;
use super::presentation::Presentation;
use super::preset_catalog::PresetCatalog;
use super::quit::Quitting;
use super::save_preset::SavePreset;
use super::screenshot::Screenshots;
use super::session::{self, Session, WindowState};
use super::store::{Saver, SessionTexts, UNSAVED};
use super::tab::{Start, TabFrame};
use super::tabs::{TabName, Tabs};
use super::theme;
use super::training::TrainingPanel;
use super::window_layout::WindowLayout;
use crate::player::PlayerCommand;
use crate::result::SweepResult;

/// The dialogs above the panels.
struct Dialogs {
    messages: Messages,
    help: Help,
    compare_presets: ComparePresets,
    differences: DifferencesWindow,
    files: Files,
    screenshots: Screenshots,
    save_preset: Option<SavePreset>,
}

impl Dialogs {
    fn new(messages: Messages, files: Files) -> Dialogs {
        Dialogs {
            messages,
            help: Help::default(),
            compare_presets: ComparePresets::default(),
            differences: DifferencesWindow::default(),
            files,
            screenshots: Screenshots::default(),
            save_preset: None,
        }
    }
}

/// The desktop app, as eframe runs it.
pub struct Valleyscope {
    tabs: Tabs,
    layout: WindowLayout,
    dialogs: Dialogs,
    catalog: PresetCatalog,
    context: Context,
    fonts: Arc<FallbackFonts>,
    faults: Option<GraphicsFaults>,
    /// True once the device is lost; the window is about to close.
    device_lost: bool,
    exit_state: ExitState,
    saver: Option<Saver>,
    quitting: Quitting,
    /// The time, by egui's clock, at which the clipboard's text was asked for.
    paste_asked: Option<f64>,
    /// The computing time from which dropping a diagram needs a question.
    worth_asking: Duration,
    /// The window's title as it was last set.
    title: String,
    /// The last session's text, where it could not be used; it is set aside.
    unreadable: Option<String>,
}

impl Valleyscope {
    pub fn new(cc: &eframe::CreationContext<'_>, mut options: AppOptions) -> Valleyscope {
        let ctx = cc.egui_ctx.clone();
        theme::install(&ctx);
        let fonts = FallbackFonts::install(&ctx, true);
        if let Some(render_state) = &cc.wgpu_render_state {
            install_curves(render_state);
        }
        let mut messages = Messages::default();
        if let Some((title, text)) = options.report.take() {
            messages.report(title, text);
        }
        let mut catalog = PresetCatalog::new(options.library.clone());
        let stored = options.session.get(session::KEY).cloned();
        let restored = stored.as_ref().map(|text| restore(text, &mut messages));
        let is_unreadable = matches!(restored, Some(None));
        let (window, memories) = restored.flatten().map(|Session { window, tabs, .. }| (window, tabs)).unzip();
        if let Some(WindowState { recent, theme, zoom, .. }) = &window {
            catalog.restore_recent(recent.clone());
            ctx.set_theme(*theme);
            ctx.set_zoom_factor(*zoom);
        }
        catalog.refresh(&ctx);
        let files = Files::new(ctx.clone(), options.native_dialogs, catalog.folder().map(Into::into));
        let mut start =
            Start { cc, options: &options, messages: &mut messages, memory: None, has_refused: is_unreadable };
        let shown = window.as_ref().map(|window| window.tab).unwrap_or_default();
        let tabs = Tabs::begin(&mut start, shown, memories.unwrap_or_default());
        let unreadable = stored.filter(|_| start.has_refused);
        let AppOptions { preset, result, run, play, store, exit_state, worth_asking, .. } = options;
        let wake = ctx.clone();
        let saver = store.map(|store| Saver::start(store, move || wake.request_repaint()));
        let saver = saver.and_then(|started| {
            let failed = |error: &io::Error| messages.report(UNSAVED, format!("its thread cannot start: {error}"));
            started.inspect_err(failed).ok()
        });
        let mut app = Valleyscope {
            tabs,
            layout: window.map(|window| window.layout).unwrap_or_default(),
            dialogs: Dialogs::new(messages, files),
            catalog,
            faults: cc.wgpu_render_state.as_ref().map(|render_state| GraphicsFaults::watch(render_state, &ctx)),
            saver,
            context: ctx,
            fonts,
            device_lost: false,
            exit_state,
            quitting: Quitting::No,
            paste_asked: None,
            worth_asking,
            title: String::new(),
            unreadable,
        };
        app.show(preset, result, run);
        if !play {
            app.tabs.landscape.command(vec![PlayerCommand::Pause]);
        }
        app
    }

    /// Opens the documents given at the start.
    fn show(&mut self, preset: Option<Loaded>, result: Option<SweepResult>, run: Option<RunFolder>) {
        let ctx = self.context.clone();
        if let Some(Loaded { preset, source, .. }) = preset {
            let file = match source {
                PresetSource::BuiltIn(_) => None,
                PresetSource::User { path, .. } | PresetSource::File(path) => Some(path),
            };
            self.open(&ctx, OpenedContent::Preset(Box::new(preset)), file.as_deref());
        }
        if let Some(result) = result {
            self.open(&ctx, OpenedContent::Result(Box::new(result)), None);
        }
        if let Some(run) = run {
            self.open(&ctx, OpenedContent::Run(run), None);
        }
    }

    /// Returns the document under the controls.
    pub fn document(&self) -> &Document {
        self.tabs.landscape.document()
    }

    /// Returns the phase diagram's panel.
    pub fn phase(&self) -> &PhasePanel {
        &self.tabs.phase
    }

    /// Returns the training panel.
    pub fn training(&self) -> &TrainingPanel {
        &self.tabs.training
    }

    /// Returns the running simulation.
    pub fn live(&self) -> &Live {
        self.tabs.landscape.live()
    }

    /// Returns whether a presentation's screen is black, and so shows nothing of the window.
    fn is_black(&self) -> bool {
        self.layout.presentation.as_ref().is_some_and(Presentation::is_black)
    }

    /// Returns the session, as it is stored.
    pub fn session(&self) -> SessionTexts {
        let window = WindowState {
            tab: self.tabs.shown_name(),
            layout: self.layout.clone(),
            recent: self.catalog.recent().to_vec(),
            theme: self.context.options(|options| options.theme_preference),
            zoom: self.layout.presentation.as_ref().map_or(self.context.zoom_factor(), Presentation::zoom_before),
        };
        let text = Session::new(window, self.tabs.to_memories()).to_text();
        let unreadable = self.unreadable.clone().map(|text| (session::UNREADABLE_KEY.to_owned(), text));
        std::iter::once((session::KEY.to_owned(), text)).chain(unreadable).collect()
    }

    /// Passes the session to the thread that writes it, now or soon.
    fn keep_session(&mut self, ctx: &Context) {
        let Some(wait) = self.saver.as_ref().map(Saver::wait) else { return };
        if !wait.is_zero() {
            return ctx.request_repaint_after(wait);
        }
        let session = self.session();
        let Some(saver) = &mut self.saver else { return };
        saver.set(session);
        if let Some(reason) = saver.take_trouble() {
            let text = format!(
                "{reason}\n\nValleyscope tries again while the window is open. Until that succeeds, the next start \
                 restores an earlier session."
            );
            self.dialogs.messages.report(UNSAVED, text);
        }
    }
}

/// Parses the stored session; reports one that can't be used.
fn restore(text: &str, messages: &mut Messages) -> Option<Session> {
    match Session::restore(text) {
        Ok(restored) => Some(restored),
        Err(reason) => {
            messages.report(
                "The last session was not restored",
                format!("{reason}\n\nIt was set aside, and Valleyscope starts with a built-in preset.\n\n{text}"),
            );
            None
        }
    }
}

impl eframe::App for Valleyscope {
    /// Returns the colour that shows through where panels do not meet to the pixel.
    fn clear_color(&self, visuals: &egui::Visuals) -> [f32; 4] {
        visuals.panel_fill.to_normalized_gamma_f32()
    }

    fn logic(&mut self, ctx: &Context, _frame: &mut eframe::Frame) {
        self.confirm_close(ctx);
        self.take_graphics_faults(ctx);
        self.take_answers(ctx);
        self.catalog.poll();
        let is_window_visible = !self.is_black() && ctx.input(|input| input.viewport().visible()).unwrap_or(true);
        let mut requests = Requests::default();
        for &tab in TabName::ALL {
            let frame = TabFrame { is_shown: self.tabs.is_shown(tab), is_window_visible };
            self.tabs.get_mut(tab).logic(frame, &mut requests);
        }
        self.carry_out(ctx, requests);
        // A visible window is drawn next, which may change the session.
        if ctx.input(|input| input.viewport().visible()) == Some(false) {
            self.keep_session(ctx);
        }
    }

    fn ui(&mut self, ui: &mut Ui, _frame: &mut eframe::Frame) {
        if self.device_lost {
            return;
        }
        let mut requests = Requests::default();
        if let Some(presentation) = &mut self.layout.presentation {
            presentation.fit(ui.ctx(), self.tabs.shown_name().info().presented_size);
            presentation.take_keys(ui.ctx());
        }
        // Before the presentation, which Escape leaves too.
        self.dialogs.messages.dismiss_by_key(ui.ctx());
        self.take_paste(ui.ctx());
        keyboard::handle(ui.ctx(), self.layout.presentation.as_mut(), &mut self.tabs, &mut requests);
        if !self.is_black() {
            self.panels(ui, &mut requests);
        }
        self.dialogs(ui.ctx(), &mut requests);
        self.carry_out(ui.ctx(), requests);
        self.end_frame(ui.ctx());
        self.keep_session(ui.ctx());
    }
}

impl Drop for Valleyscope {
    fn drop(&mut self) {
        if let Some(saver) = self.saver.take() {
            let saved = saver.finish(self.session());
            self.exit_state.leave(|exit_report| exit_report.saved = saved);
        }
    }
}
