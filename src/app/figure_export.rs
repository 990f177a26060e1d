//! The dialog that exports the landscape, or the plots of its run, as a figure for a paper, as `valleyscope figure` draws
//! them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, TryRecvError, channel};

use egui::{Button, Context, ProgressBar, RadioButton, Ui};
use valleyscope_experiments::preset::LandscapePreset;
use valleyscope_experiments::view::ticks::grouped;

use super::dialog;
use super::figure_layout::FigureLayout;
use super::live::Action;
use crate::app::boxes::{Outlined, radio_button};
use crate::figure::{Figure, Format, Options, PAGE_MM, RunPlots, Trajectories};

/// The dialog of the export, and the last chosen layout.
pub(super) struct FigureExport {
    open: bool,
    shows_plots: bool,
    paper: FigureLayout,
    format: Format,
    coming: Option<PendingFigure>,
}

/// The contents of a figure.
pub(super) struct FigureSubject {
    /// The landscape with its present settings.
    pub preset: LandscapePreset,
    /// The session so far, with its changes, and its last step.
    pub session: LandscapePreset,
    pub last_step: u64,
    /// The plots on the screen.
    pub plots: RunPlots,
}

/// A figure in progress. Its thread ends early when this is dropped.
struct PendingFigure {
    file: Receiver<Result<Vec<u8>, String>>,
    steps: u64,
    done: Arc<AtomicU64>,
}

impl Default for FigureExport {
    fn default() -> Self {
        let options = Options { width_mm: PAGE_MM, ..Options::default() };
        FigureExport {
            open: false,
            shows_plots: false,
            paper: FigureLayout { options, ..FigureLayout::default() },
            format: Format::Pdf,
            coming: None,
        }
    }
}

impl FigureExport {
    pub(super) fn open(&mut self) {
        self.open = true;
    }

    pub(super) fn is_open(&self) -> bool {
        self.open
    }

    /// Shows the dialog; returns the action that saves the file or reports the failure.
    pub(super) fn ui(&mut self, ctx: &Context, subject: &FigureSubject) -> Option<Action> {
        let (mut save, mut cancel) = (false, false);
        let is_closed = dialog::show(ctx, "figure export", "Export a figure", |ui| {
            ui.add_enabled_ui(self.coming.is_none(), |ui| {
                self.choose_content(ui, subject);
                ui.add_space(6.0);
                self.choose(ui);
            });
            ui.add_space(6.0);
            if let Some(coming) = &self.coming {
                let part = coming.done.load(Ordering::Relaxed) as f32 / coming.steps.max(1) as f32;
                ui.add(ProgressBar::new(part)).accessible_name("Progress of the figure");
                ui.add_space(6.0);
            }
            ui.horizontal(|ui| {
                save = ui.add_enabled(self.coming.is_none(), Button::new("Save…")).clicked();
                cancel = ui.button("Cancel").clicked();
            });
        });
        if cancel || is_closed {
            self.close();
            return None;
        }
        if save {
            match begin(ctx, subject, self.shows_plots, self.paper, self.format) {
                Ok(coming) => self.coming = Some(coming),
                Err(reason) => return Some(self.answer(Err(reason))),
            }
        }
        let made = match self.coming.as_ref()?.file.try_recv() {
            Ok(made) => made,
            Err(TryRecvError::Empty) => {
                ctx.request_repaint_after(std::time::Duration::from_millis(50));
                return None;
            }
            Err(TryRecvError::Disconnected) => Err("The thread that draws the figure failed.".to_owned()),
        };
        Some(self.answer(made))
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

    /// Returns the name of the figure in progress, if there is one.
    pub(super) fn unfinished(&self) -> Option<String> {
        self.coming.is_some().then(|| self.suggested_name())
    }

    fn suggested_name(&self) -> String {
        let name = if self.shows_plots { "plots" } else { "landscape" };
        format!("{name}.{}", self.format.extension())
    }

    fn close(&mut self) {
        self.open = false;
        self.coming = None;
    }

    fn answer(&mut self, made: Result<Vec<u8>, String>) -> Action {
        self.close();
        match made {
            Ok(bytes) => Action::SaveBytes { bytes, suggested_name: self.suggested_name() },
            Err(text) => Action::Report { title: "The figure was not exported".to_owned(), text },
        }
    }
}

/// Starts a thread that makes the file of a figure.
fn begin(
    ctx: &Context,
    subject: &FigureSubject,
    shows_plots: bool,
    paper: FigureLayout,
    format: Format,
) -> Result<PendingFigure, String> {
    let preset = if shows_plots { &subject.session } else { &subject.preset };
    let mut trajectories = Trajectories::new(preset).map_err(|error| error.to_string())?;
    if shows_plots {
        trajectories = trajectories.until(subject.last_step);
    }
    let plots = shows_plots.then(|| subject.plots.clone());
    let (sender, file) = channel();
    let done = Arc::new(AtomicU64::new(0));
    let coming = PendingFigure { file, steps: trajectories.steps(), done: Arc::clone(&done) };
    let ctx = ctx.clone();
    std::thread::spawn(move || {
        while !trajectories.is_complete() {
            // The dialog holds the other reference while it waits.
            if Arc::strong_count(&done) == 1 {
                return;
            }
            trajectories.advance();
            done.store(trajectories.step(), Ordering::Relaxed);
        }
        let figure = match &plots {
            Some(plots) => Figure::run_plots(&trajectories, plots),
            None => Figure::landscape(&trajectories),
        };
        let made = paper.file(&figure, format).map_err(|error| error.to_string());
        // The dialog may be closed.
        let _ = sender.send(made);
        ctx.request_repaint();
    });
    Ok(coming)
}
