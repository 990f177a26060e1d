//! The dialog that exports the landscape, or the plots of its run, as a figure for a paper, as `valleyscope figure`
//! draws them.

use egui::{Button, Context, ProgressBar, RadioButton, Ui};
use valleyscope_engine::simulation::Record;
use valleyscope_experiments::preset::LandscapePreset;
use valleyscope_experiments::view::ticks::grouped;
use valleyscope_experiments::view::{SymLog, ViewSettings};

use super::animation_export::Subject;
use super::picture::PictureSubject;
use super::picture_options::PictureOptions;
use super::plots::PlotChoices;
use super::{LandscapeTab, animation_export};
use crate::app::shell::actions::{Action, Requests};
use crate::app::shell::jobs::Job;
use crate::app::shell::messages;
use crate::app::widgets::form::{FigureLayout, Outlined, radio_button};
use crate::draw::{Figure, Format, Options, PAGE_MM, RunPlots, Trajectories};

/// The dialog of the export, and the last chosen layout.
pub(crate) struct FigureExport {
    open: bool,
    shows_plots: bool,
    paper: FigureLayout,
    format: Format,
    /// The figure in progress: the file, or the reason why there is none.
    pending: Option<Job<Result<Vec<u8>, String>>>,
}

/// The contents of a figure.
pub(crate) struct FigureSubject {
    /// The landscape with its present settings.
    pub preset: LandscapePreset,
    /// The session so far, with its changes, and its last step.
    pub session: LandscapePreset,
    pub last_step: u64,
    /// The plots on the screen.
    pub plots: RunPlots,
}

impl Default for FigureExport {
    fn default() -> Self {
        let options = Options { width_mm: PAGE_MM, ..Options::default() };
        FigureExport {
            open: false,
            shows_plots: false,
            paper: FigureLayout { options, ..FigureLayout::default() },
            format: Format::Pdf,
            pending: None,
        }
    }
}

impl FigureExport {
    pub(crate) fn open(&mut self) {
        self.open = true;
    }

    pub(crate) fn is_open(&self) -> bool {
        self.open
    }

    /// Shows the dialog; returns the action that saves the file or reports the failure.
    pub(crate) fn ui(&mut self, ctx: &Context, subject: &FigureSubject) -> Option<Action> {
        let (mut save, mut cancel) = (false, false);
        let is_closed = messages::show_modal(ctx, "figure export", "Export a figure", |ui| {
            ui.add_enabled_ui(self.pending.is_none(), |ui| {
                self.choose_content(ui, subject);
                ui.add_space(6.0);
                self.choose(ui);
            });
            ui.add_space(6.0);
            if let Some(pending) = &self.pending {
                ui.add(ProgressBar::new(pending.progress().share())).accessible_name("Progress of the figure");
                ui.add_space(6.0);
            }
            ui.horizontal(|ui| {
                save = ui.add_enabled(self.pending.is_none(), Button::new("Save…")).clicked();
                cancel = ui.button("Cancel").clicked();
            });
        });
        if cancel || is_closed {
            self.close();
            return None;
        }
        if save {
            match begin(ctx, subject, self.shows_plots, self.paper, self.format) {
                Ok(pending) => self.pending = Some(pending),
                Err(reason) => return Some(self.answer(Err(reason))),
            }
        }
        let Some(made) = self.pending.as_ref()?.poll() else {
            ctx.request_repaint_after(std::time::Duration::from_millis(50));
            return None;
        };
        Some(self.answer(made.unwrap_or_else(|_| Err("The thread that draws the figure failed.".to_owned()))))
    }

    fn choose_content(&mut self, ui: &mut Ui, subject: &FigureSubject) {
        let is_empty = subject.plots.metrics.is_empty() || subject.last_step == 0;
        self.shows_plots &= !is_empty;
        ui.horizontal(|ui| {
            radio_button(ui, &mut self.shows_plots, false, "Landscape");
            let plots = ui.add_enabled(!is_empty, Outlined(RadioButton::new(self.shows_plots, "Plots")));
            if plots.on_disabled_hover_text("Take a step, and choose plots beside the landscape first.").clicked() {
                self.shows_plots = true;
            }
        });
        if self.shows_plots {
            ui.weak(format!(
                "The plots that are shown beside the landscape, over the session up to step {}, with marks where a setting \
                 was changed.",
                grouped(subject.last_step)
            ));
        } else {
            ui.weak(
                "The landscape with the trajectories of its optimizers, computed from the start with the present settings, \
                 and their losses.",
            );
        }
    }

    fn choose(&mut self, ui: &mut Ui) {
        self.paper.ui(ui);
        ui.horizontal(|ui| {
            for format in Format::ALL {
                radio_button(ui, &mut self.format, format, format.extension().to_uppercase());
            }
        });
    }

    pub(crate) fn unfinished(&self) -> Option<String> {
        self.pending.is_some().then(|| self.suggested_name())
    }

    fn suggested_name(&self) -> String {
        let name = if self.shows_plots { "plots" } else { "landscape" };
        format!("{name}.{}", self.format.extension())
    }

    fn close(&mut self) {
        self.open = false;
        self.pending = None;
    }

    fn answer(&mut self, made: Result<Vec<u8>, String>) -> Action {
        self.close();
        match made {
            Ok(bytes) => Action::SaveBytes { bytes, suggested_name: self.suggested_name() },
            Err(text) => Action::Report { title: "The figure was not exported".to_owned(), text },
        }
    }
}

/// Starts to make the file of a figure.
fn begin(
    ctx: &Context,
    subject: &FigureSubject,
    shows_plots: bool,
    paper: FigureLayout,
    format: Format,
) -> Result<Job<Result<Vec<u8>, String>>, String> {
    let preset = if shows_plots { &subject.session } else { &subject.preset };
    let mut trajectories = Trajectories::new(preset).map_err(|error| error.to_string())?;
    if shows_plots {
        trajectories = trajectories.until(subject.last_step);
    }
    let plots = shows_plots.then(|| subject.plots.clone());
    Ok(Job::with_parts(ctx, trajectories.steps(), move |progress| {
        while !trajectories.is_complete() {
            if progress.is_cancelled() {
                return Err("It was cancelled.".to_owned());
            }
            trajectories.advance();
            progress.set_done(trajectories.step());
        }
        let figure = match &plots {
            Some(plots) => Figure::run_plots(&trajectories, plots),
            None => Figure::landscape(&trajectories),
        };
        paper.file(&figure, format).map_err(|error| error.to_string())
    }))
}

impl LandscapeTab {
    pub(super) fn open_animation_export(&mut self) {
        let Some(snapshot) = &self.live.snapshot else { return };
        self.animation.open(&self.live.records(), snapshot.last_step, self.pace);
    }

    /// Shows the dialogs of pictures and animations, and the progress of those in the background.
    pub(super) fn show_exports(&mut self, ctx: &Context, requests: &mut Requests) {
        let in_space = self.editor.draft.document.view.is_in_space();
        let mut options = self.picture_options.take().unwrap_or_else(|| PictureOptions::new(ctx.theme()));
        let is_picture = self.picture_export.ui(ctx, &mut options, in_space);
        let animation = self.animation.ui(ctx, &mut options, in_space);
        if is_picture || animation.is_some() {
            let scale = self.landscape.scale(&self.editor.draft.document, &self.live);
            match (self.landscape.graphics(), &self.live.snapshot) {
                (Ok(graphics), Some(snapshot)) if is_picture => {
                    let mut subject = self.picture_subject(self.live.records(), scale);
                    subject.view.follow = false;
                    animation_export::start_picture(
                        ctx,
                        &mut self.exports,
                        graphics,
                        subject,
                        options.clone(),
                        snapshot.step,
                    );
                }
                (Ok(graphics), Some(_)) => {
                    let specs = self.editor.draft.document.specs().cloned();
                    let present: Vec<Record> = specs.map(|spec| Record { spec, changes: Vec::new() }).collect();
                    let view = self.picture_subject(present.clone(), scale);
                    let subject = Subject { sessions: &self.live.records(), present: &present, view: &view };
                    if let Some(settings) = animation {
                        animation_export::start(ctx, &mut self.exports, graphics, settings, &subject, &options);
                    }
                }
                (Err(reason), _) => requests.actions.push(Action::Report {
                    title: "The landscape was not exported".to_owned(),
                    text: format!("It cannot be drawn: {reason}."),
                }),
                (Ok(_), None) => {}
            }
        }
        // Before the first export, they follow the window's theme.
        let is_chosen = options != PictureOptions::new(ctx.theme());
        self.picture_options = is_chosen.then_some(options);
        requests.actions.extend(self.exports.ui(ctx));
    }

    pub(super) fn figure_subject(&self) -> Option<FigureSubject> {
        let snapshot = self.live.snapshot.as_ref()?;
        let LandscapePreset { title, description, .. } = self.named();
        let present = self.editor.present_preset();
        let preset = LandscapePreset { title, description, view: Some(self.view()), ..present };
        let session = self.editor.session_preset(self.live.records());
        let (title, description) = (preset.title.clone(), preset.description.clone());
        let session = LandscapePreset { title, description, view: preset.view.clone(), ..session };
        let PlotChoices { log, log_steps, band, whole_range, .. } = self.diagnostics.choices();
        let metrics = self.diagnostics.displayed(&preset.spec().landscape);
        let plots = RunPlots { metrics, log, log_steps, band, whole_range };
        Some(FigureSubject { preset, session, last_step: snapshot.last_step, plots })
    }

    /// Returns sessions as they are looked at now, with the same scale of colours.
    fn picture_subject(&self, records: Vec<Record>, scale: SymLog) -> PictureSubject {
        let document = &self.editor.draft.document;
        PictureSubject {
            title: self.named().title,
            records,
            titles: self.editor.draft.document.simulations.iter().map(|simulation| simulation.title.clone()).collect(),
            view: ViewSettings { scale: Some(scale), ..document.view.clone() },
            seen: Some(self.landscape.seen()),
            selected: self.live.selected,
            hidden: self.live.hidden.clone(),
            recorded: self.live.recorded.clone(),
            plots: self.diagnostics.displayed(&self.editor.draft.document.spec(0).landscape),
            choices: self.diagnostics.choices(),
        }
    }
}
