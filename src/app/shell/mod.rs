//! The app as a whole, which connects the tabs, the dialogs and the files.

pub(crate) mod actions;
mod dispatch;
pub(crate) mod editor;
pub(crate) mod export;
pub(crate) mod export_sheet;
pub(crate) mod files;
pub(crate) mod graphics;
pub mod jobs;
pub(crate) mod launch;
pub(crate) mod menu;
pub(crate) mod messages;
pub(crate) mod presets;
pub mod session;
pub(crate) mod tab;
pub(crate) mod tabs;
pub(crate) mod thumbnails;
pub(crate) mod window;

use std::path::Path;
use std::sync::Arc;

use actions::Requests;
use egui::{Context, Panel, Ui, ViewportCommand};
use export_sheet::ExportSheet;
use files::{FileContent, FileEvent, Files, OpenedContent, Purpose};
use graphics::{GraphicsFault, GraphicsFaults};
use messages::{Help, Messages, Quitting};
use presets::{ComparePresets, PresetCatalog, SaveDecision, SavePreset};
use session::{Saver, SessionTexts, UNSAVED};
use tab::{AppOptions, ExitState, Start, TabFrame, TabWindow};
use tabs::{Session, TabName, Tabs, WindowState};
use valleyscope_experiments::difference::DifferenceTable;
use valleyscope_experiments::preset::Preset;
use valleyscope_runs::atomic_file::Overwrite;
use window::WindowLayout;

use super::landscape::editor::Document;
use super::landscape::live::Live;
use super::phase::PhasePanel;
use super::training::TrainingPanel;
use super::widgets::plot::{install_curves, set_readouts};
use super::widgets::theme;
use crate::draw::FallbackFonts;
use crate::player::{PlayerCommand, RecordedCloud};

struct Dialogs {
    messages: Messages,
    help: Help,
    compare_presets: ComparePresets,
    /// The shown table of differences.
    differences: Option<DifferenceTable>,
    files: Files,
    export: ExportSheet,
    save_preset: Option<SavePreset>,
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
    /// The time, by egui's clock, at which the clipboard's text was requested.
    paste_asked: Option<f64>,
    /// The window's title as it was last set.
    title: String,
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
        let restored = options.session.get(session::KEY).map(|text| restore(text, &mut messages));
        let is_unreadable = matches!(restored, Some(None));
        let (window, memories) = restored.flatten().map(|Session { window, tabs, .. }| (window, tabs)).unzip();
        if let Some(WindowState { recent, theme, zoom, reduced_motion, .. }) = &window {
            catalog.recent.clone_from(recent);
            ctx.set_theme(*theme);
            theme::reduce_motion(&ctx, *reduced_motion);
            ctx.set_zoom_factor(*zoom);
        }
        catalog.refresh(&ctx);
        let files = Files::new(ctx.clone(), options.native_dialogs, catalog.folder().map(Into::into));
        let mut start =
            Start { cc, options: &options, messages: &mut messages, memory: None, has_refused: is_unreadable };
        let shown = window.as_ref().map(|window| window.tab).unwrap_or_default();
        let tabs = Tabs::begin(&mut start, shown, memories.unwrap_or_default());
        if let Some(store) = options.store.as_ref().filter(|_| start.has_refused) {
            store.set_unreadable_aside();
        }
        let AppOptions { opened, play, pace, session, store, exit_state, .. } = options;
        let mut app = Valleyscope {
            tabs,
            layout: window.map(|window| window.layout).unwrap_or_default(),
            dialogs: Dialogs {
                messages,
                help: Help::default(),
                compare_presets: ComparePresets::default(),
                differences: None,
                files,
                export: ExportSheet::default(),
                save_preset: None,
            },
            catalog,
            faults: cc.wgpu_render_state.as_ref().map(|render_state| GraphicsFaults::watch(render_state, &ctx)),
            saver: store.map(|store| Saver::new(&ctx, store, session)),
            context: ctx,
            fonts,
            device_lost: false,
            exit_state,
            quitting: Quitting::No,
            paste_asked: None,
            title: String::new(),
        };
        for (content, file) in opened {
            let ctx = app.context.clone();
            // Without another one, clouds are shown on the landscape on which they were recorded.
            if let OpenedContent::Recorded(clouds) = &content
                && let Some(preset) = clouds.first().and_then(RecordedCloud::preset)
            {
                app.open(&ctx, OpenedContent::Preset(Box::new(Preset::Landscape(preset))), None);
            }
            app.open(&ctx, content, file.as_deref());
        }
        if let Some(pace) = pace {
            app.tabs.landscape.set_pace(pace);
        }
        if !play {
            app.tabs.landscape.command(vec![PlayerCommand::Pause]);
        }
        app
    }

    pub fn document(&self) -> &Document {
        self.tabs.landscape.document()
    }

    pub fn phase(&self) -> &PhasePanel {
        &self.tabs.phase
    }

    pub fn training(&self) -> &TrainingPanel {
        &self.tabs.training
    }

    pub fn live(&self) -> &Live {
        self.tabs.landscape.live()
    }

    /// Whether a presentation's screen is black and hides the window.
    fn is_black(&self) -> bool {
        self.layout.presentation.as_ref().is_some_and(|presentation| presentation.is_black)
    }

    pub fn session(&self) -> SessionTexts {
        let window = WindowState {
            tab: self.tabs.shown_name(),
            layout: self.layout.clone(),
            recent: self.catalog.recent.clone(),
            theme: self.context.options(|options| options.theme_preference),
            zoom: self.layout.presentation.as_ref().map_or(self.context.zoom_factor(), |it| it.zoom_before),
            reduced_motion: theme::is_motion_reduced(&self.context),
        };
        SessionTexts::from([(session::KEY.to_owned(), Session::new(window, self.tabs.to_memories()).to_text())])
    }

    /// Saves the session, now or soon.
    fn store_session(&mut self, ctx: &Context) {
        let Some(wait) = self.saver.as_ref().map(Saver::wait) else { return };
        if !wait.is_zero() {
            return ctx.request_repaint_after(wait);
        }
        let session = self.session();
        let Some(saver) = &mut self.saver else { return };
        if let Some(reason) = saver.save(ctx, session) {
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
    /// The colour between panels that do not meet to the pixel.
    fn clear_color(&self, visuals: &egui::Visuals) -> [f32; 4] {
        visuals.panel_fill.to_normalized_gamma_f32()
    }

    fn logic(&mut self, ctx: &Context, _frame: &mut eframe::Frame) {
        self.confirm_close(ctx);
        self.take_graphics_faults(ctx);
        self.take_answers(ctx);
        self.catalog.poll(ctx);
        let is_window_visible = !self.is_black() && ctx.input(|input| input.viewport().visible()).unwrap_or(true);
        self.requested(ctx, |tabs, requests| {
            for &tab in TabName::ALL {
                let frame = TabFrame { is_shown: tabs.is_shown(tab), is_window_visible };
                tabs.get_mut(tab).logic(frame, requests);
            }
        });
        // A visible window is drawn next, which may change the session.
        if ctx.input(|input| input.viewport().visible()) == Some(false) {
            self.store_session(ctx);
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
        let presentation = self.layout.presentation.as_ref();
        set_readouts(ui.ctx(), presentation.is_none_or(|it| it.wants_readouts(ui.ctx())));
        // Before the presentation, which Escape leaves too.
        self.dialogs.messages.dismiss_by_key(ui.ctx());
        self.take_paste(ui.ctx());
        menu::handle_shortcuts(ui.ctx(), self.layout.presentation.as_mut(), &mut self.tabs, &mut requests);
        if !self.is_black() {
            self.panels(ui, &mut requests);
        }
        self.dialogs(ui.ctx(), &mut requests);
        self.carry_out(ui.ctx(), requests);
        self.end_frame(ui.ctx());
        self.store_session(ui.ctx());
    }
}

impl Drop for Valleyscope {
    fn drop(&mut self) {
        if let Some(saver) = self.saver.take() {
            let saved = saver.finish(&self.session());
            self.exit_state.leave(|exit_report| exit_report.unsaved = saved.err());
        }
    }
}

impl Valleyscope {
    fn panels(&mut self, ui: &mut Ui, requests: &mut Requests) {
        if !self.layout.is_presenting() {
            Panel::top("menu").show(ui, |ui| {
                menu::bar(ui, &mut self.tabs, &mut self.catalog, &mut self.layout, requests);
            });
        }
        let simulation = self.tabs.landscape.document().spec(0).clone();
        let window = TabWindow { layout: &mut self.layout, catalog: &self.catalog, simulation: &simulation };
        self.tabs.shown_mut().ui(ui, window, requests);
    }

    fn dialogs(&mut self, ctx: &Context, requests: &mut Requests) {
        self.dialogs.help.show(ctx, menu::shortcuts);
        let draft = || self.tabs.shown().to_save().preset;
        let groups = || self.tabs.shown_name().preset_groups();
        self.dialogs.compare_presets.show(ctx, groups, draft, &self.catalog, requests);
        presets::show_differences(ctx, &mut self.dialogs.differences);
        self.dialogs.files.show(ctx);
        self.show_save_preset(ctx);
        self.show_drop_target(ctx);
        if let Some(purpose) = self.dialogs.export.show(ctx, requests) {
            self.dialogs.files.ask(purpose);
        }
        self.tabs.phase.ask_about_library(ctx);
        let free = self.tabs.shown().area();
        let is_landscape = self.tabs.is_shown(TabName::Landscape);
        self.dialogs.messages.show(ctx, free, !is_landscape);
        self.show_quit_question(ctx);
        if let Some(presentation) = &mut self.layout.presentation {
            presentation.draw(ctx);
        }
    }

    fn show_save_preset(&mut self, ctx: &Context) {
        let Some(dialog) = &mut self.dialogs.save_preset else { return };
        let Some(decision) = dialog.show(ctx) else { return };
        let Some(content) = self.dialogs.save_preset.take().map(SavePreset::into_content) else { return };
        match (decision, self.catalog.folder()) {
            (SaveDecision::Cancelled, _) => {}
            (SaveDecision::ToLibrary(name), Some(folder)) => {
                self.dialogs.files.save(folder.join(name), content, Overwrite::No);
            }
            (SaveDecision::ToLibrary(name) | SaveDecision::AsFile(name), _) => {
                self.dialogs.files.ask(Purpose::Save { content, suggested_name: name });
            }
        }
    }

    /// Accepts files that are dropped on the window, and shows where to drop them.
    fn show_drop_target(&mut self, ctx: &Context) {
        for file in ctx.input(|input| input.raw.dropped_files.clone()) {
            let path = file.path().to_owned();
            let is_known =
                |extension: &std::ffi::OsStr| ["ron", "npz"].iter().any(|known| extension.eq_ignore_ascii_case(known));
            if path.is_dir() || path.extension().is_some_and(is_known) {
                self.dialogs.files.open(path);
            } else {
                let text = format!(
                    "{} is not a preset, a result, a recording or the folder of a run: a file's name must end in .ron \
                     or .npz.",
                    path.display()
                );
                self.dialogs.messages.report("The dropped file was not opened", text);
            }
        }
        if ctx.input(|input| input.raw.hovered_files.is_empty()) {
            return;
        }
        let screen = ctx.content_rect();
        let layer = egui::LayerId::new(egui::Order::Tooltip, egui::Id::unique("drop target"));
        let painter = ctx.layer_painter(layer);
        let visuals = &ctx.global_style().visuals;
        painter.rect_filled(screen, 0.0, visuals.extreme_bg_color.gamma_multiply(0.8));
        let frame = egui::Stroke::new(3.0, visuals.hyperlink_color);
        painter.rect_stroke(screen.shrink(12.0), 12.0, frame, egui::StrokeKind::Inside);
        let font = egui::TextStyle::Heading.resolve(&ctx.global_style());
        let text = "Drop a preset (.ron), a result or a recording (.npz) or a run's folder to open it";
        painter.text(screen.center(), egui::Align2::CENTER_CENTER, text, font, visuals.strong_text_color());
    }
}

impl Valleyscope {
    fn take_graphics_faults(&mut self, ctx: &Context) {
        for fault in self.faults.as_ref().map(GraphicsFaults::take).unwrap_or_default() {
            match fault {
                GraphicsFault::Error(error) => self.dialogs.messages.report(
                    "Something could not be drawn",
                    format!(
                        "{error}\n\nThe simulation continues and nothing is lost. If the picture stays wrong, close \
                         the window and reopen it, which restores the session. `valleyscope doctor` shows the \
                         graphics drivers found."
                    ),
                ),
                GraphicsFault::Lost(reason) => {
                    self.exit_state.leave(|exit_report| exit_report.device_lost = Some(reason));
                    self.device_lost = true;
                    ctx.send_viewport_cmd(ViewportCommand::Close);
                }
            }
        }
    }

    fn take_answers(&mut self, ctx: &Context) {
        for event in self.dialogs.files.take_events() {
            match event {
                FileEvent::Opened { path, content } => {
                    if !matches!(content, OpenedContent::Run(_)) {
                        self.catalog.add_recent(&path);
                    }
                    self.open(ctx, content, Some(&path));
                }
                FileEvent::Saved { path, content } => self.saved(ctx, &path, content),
                FileEvent::Gone(path) => self.catalog.recent.retain(|recent| *recent != path),
                FileEvent::Data(folder) => self.tabs.training.use_data_in(&folder),
                FileEvent::Runs { follows: false, folder } => self.tabs.training.import_runs(folder),
                FileEvent::Runs { follows: true, folder } => self.tabs.training.follow_runs(folder),
                FileEvent::Failed { title, reason } => self.dialogs.messages.report(title, reason),
            }
        }
    }

    fn saved(&mut self, ctx: &Context, path: &Path, content: FileContent) {
        match content {
            FileContent::Animation(animation) => {
                return self.dialogs.export.exports.start(ctx, path, Arc::unwrap_or_clone(animation));
            }
            FileContent::Raw(plan) => return self.tabs.phase.export_raw(ctx, plan, path.to_owned()),
            FileContent::Preset(draft) => {
                self.tabs.get_mut(TabName::that_opens(&draft.preset)).saved(*draft, path);
                self.catalog.add_recent(path);
                self.catalog.refresh(&self.context);
            }
            FileContent::Bytes(_) => {}
        }
        self.dialogs.messages.notify(format!("Saved {}", path.display()));
    }
}

impl Valleyscope {
    /// Cancels a request to close the window if diagrams or exports would be lost. Presets and trainings need no
    /// question: the session stores unsaved settings, and trainings continue without the window. A window whose
    /// graphics device is lost cannot show a question.
    fn confirm_close(&mut self, ctx: &Context) {
        let is_requested = ctx.input(|input| input.viewport().close_requested());
        if !is_requested || self.device_lost || self.quitting == Quitting::Decided {
            return;
        }
        if self.unsaved().iter().any(|lines| !lines.is_empty()) {
            ctx.send_viewport_cmd(ViewportCommand::CancelClose);
            if ctx.input(|input| input.viewport().minimized == Some(true)) {
                ctx.send_viewport_cmd(ViewportCommand::Minimized(false));
            }
            self.quitting = Quitting::Asked;
        }
    }

    fn show_quit_question(&mut self, ctx: &Context) {
        if self.quitting != Quitting::Asked {
            return;
        }
        let unsaved @ [diagrams, exports] = &self.unsaved();
        // The exports may have finished meanwhile.
        let is_safe = unsaved.iter().all(Vec::is_empty);
        match if is_safe { Some(false) } else { messages::ask_quit(ctx, diagrams, exports) } {
            None => {}
            Some(false) => self.quitting = Quitting::No,
            Some(true) => {
                self.quitting = Quitting::Decided;
                ctx.send_viewport_cmd(ViewportCommand::Close);
            }
        }
    }

    /// Lists what closing the window would drop: diagrams, and exports.
    fn unsaved(&self) -> [Vec<String>; 2] {
        let exports = self.dialogs.export.exports.unfinished().map(str::to_owned);
        [self.tabs.phase.unsaved(), exports.collect()]
    }
}
