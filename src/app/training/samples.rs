//! The texts that a run has written, and requests for others: by the model of a run that is trained, and by the newest
//! checkpoints of several runs, side by side.

use egui::{Label, RichText, ScrollArea, TextEdit, Ui};
use valleyscope_engine::terminal_escape::visible_lines;
use valleyscope_experiments::view::ticks::grouped;
use valleyscope_runs::{RunCommand, RunFolder, TextRequest, TextSample};

use super::summary::Summary;
use crate::app::form::small_button;

/// The message where there are no texts.
const NOTHING: &str = "No text so far. With `sample` in the preset, the model writes one at an interval.";
/// The smallest width of a text beside others, in points.
const NARROWEST: f32 = 220.0;

/// The prompt, and the texts by checkpoints.
#[derive(Debug, Default)]
pub(super) struct Texts {
    prompt: String,
    written: Vec<WrittenText>,
}

/// A text by the newest checkpoint of a run.
#[derive(Debug)]
struct WrittenText {
    run: RunFolder,
    name: String,
    /// The checkpoint's step with the text, or why there is none; `None` while it is written.
    outcome: Option<Result<(u64, String), String>>,
}

/// A request of the user to write texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TextAction {
    /// A text by the model that is being trained.
    Now,
    /// Texts by the newest checkpoints of all chosen runs.
    Saved,
}

impl Texts {
    /// Makes the request for a text that continues the prompt, with the defaults of nanoGPT's `sample.py`.
    pub(super) fn request(&self) -> TextRequest {
        // Sampling needs a token before the first.
        let prompt = if self.prompt.is_empty() { "\n" } else { &self.prompt };
        TextRequest { prompt: prompt.to_owned(), tokens: 200, temperature: 0.8, top_k: Some(200) }
    }

    /// Makes the command for such a text.
    pub(super) fn command(&self) -> RunCommand {
        let TextRequest { prompt, tokens, temperature, top_k } = self.request();
        RunCommand::Sample { prompt, tokens, temperature, top_k }
    }

    /// Begins to show the texts of some runs.
    pub(super) fn begin(&mut self, runs: &[&Summary]) {
        let written = |run: &&Summary| WrittenText { run: run.run.clone(), name: run.in_full(), outcome: None };
        self.written = runs.iter().map(written).collect();
    }

    /// Takes the text of a run, or the reason why there is none.
    pub(super) fn set(&mut self, run: &RunFolder, outcome: Result<(u64, String), String>) {
        let outcome = outcome.map(|(step, text)| (step, visible_lines(&text).into_owned()));
        if let Some(written) = self.written.iter_mut().find(|written| written.run == *run) {
            written.outcome = Some(outcome);
        }
    }

    /// Shows the prompt, the texts by checkpoints, and the run's own texts. `writers` chosen runs can write texts.
    pub(super) fn show(
        &mut self,
        ui: &mut Ui,
        own: &[TextSample],
        run: &Summary,
        writers: usize,
    ) -> Option<TextAction> {
        let action = self.requests(ui, run.is_open(), writers);
        ScrollArea::both().auto_shrink(false).id_salt("samples").show(ui, |ui| {
            if !self.written.is_empty() {
                self.side_by_side(ui);
                ui.separator();
            }
            if own.is_empty() {
                ui.weak(NOTHING);
            }
            for sample in own {
                ui.add(Label::new(RichText::new(heading(sample)).small().strong()));
                show_text(ui, &sample.text);
            }
        });
        action
    }

    fn requests(&mut self, ui: &mut Ui, is_alive: bool, writers: usize) -> Option<TextAction> {
        let mut action = None;
        ui.horizontal(|ui| {
            let field = TextEdit::singleline(&mut self.prompt).hint_text("Prompt").desired_width(240.0);
            ui.add(field).accessible_name("Prompt of the text");
            let help = "The model goes on with the prompt after its current step, with 200 tokens";
            if is_alive && small_button(ui, true, "Write now", "Write a text now", help) {
                action = Some(TextAction::Now);
            }
            let text = if writers > 1 { format!("Write side by side ({writers} runs)") } else { "Write from checkpoint".to_owned() };
            let help = "The model of the newest checkpoint of each chosen run goes on with the prompt, with 200 tokens; the run \
                        may be finished";
            let is_writing = self.written.iter().any(|written| written.outcome.is_none());
            if small_button(ui, !is_writing, &text, "Write texts from checkpoints", help) {
                action = Some(TextAction::Saved);
            }
        });
        action
    }

    fn side_by_side(&self, ui: &mut Ui) {
        let count = self.written.len();
        let gaps = ui.spacing().item_spacing.x * (count - 1) as f32;
        let width = ((ui.available_width() - gaps) / count as f32).max(NARROWEST);
        ui.horizontal_top(|ui| {
            for WrittenText { name, outcome, .. } in &self.written {
                ui.vertical(|ui| {
                    ui.set_width(width);
                    let step = outcome.as_ref().and_then(|outcome| outcome.as_ref().ok()).map(|(step, _)| *step);
                    let step = step.map_or_else(String::new, |step| format!(", step {}", grouped(step)));
                    ui.add(Label::new(RichText::new(format!("{name}{step}")).small().strong()).truncate());
                    match outcome {
                        None => drop(ui.weak("Writing…")),
                        Some(Ok((_, text))) => show_text(ui, text),
                        Some(Err(why)) => {
                            let text = RichText::new(why).color(ui.visuals().error_fg_color);
                            ui.add(Label::new(text).selectable(true).wrap());
                        }
                    }
                });
            }
        });
    }
}

fn show_text(ui: &mut Ui, text: &str) {
    ui.add(Label::new(RichText::new(text).monospace()).selectable(true).wrap());
    ui.add_space(6.0);
}

/// Joins all texts, each below its step.
pub(super) fn joined(samples: &[TextSample]) -> String {
    samples.iter().map(|sample| format!("{}\n{}\n\n", heading(sample), sample.text)).collect()
}

fn heading(sample: &TextSample) -> String {
    format!("step {}, {}", grouped(sample.step), sample.time.strftime("%Y-%m-%d %H:%M:%S UTC"))
}
