//! The texts that a run has written, and the request for another one.

use egui::{Label, RichText, ScrollArea, TextEdit, Ui};
use valleyscope_experiments::view::ticks::grouped;
use valleyscope_runs::{RunCommand, TextSample};

use crate::app::form::small_button;

/// The message where there are no texts.
const NOTHING: &str = "No text so far. With `sample` in the preset, the model writes one at an interval.";

/// Makes the command for a text that continues a prompt, drawn with the defaults of nanoGPT's `sample.py`.
pub(super) fn command(prompt: &str) -> RunCommand {
    // Sampling needs a token before the first.
    let prompt = if prompt.is_empty() { "\n" } else { prompt };
    RunCommand::Sample { prompt: prompt.to_owned(), tokens: 200, temperature: 0.8, top_k: Some(200) }
}

/// Joins all texts, each below its step.
pub(super) fn joined(samples: &[TextSample]) -> String {
    samples.iter().map(|sample| format!("{}\n{}\n\n", heading(sample), sample.text)).collect()
}

fn heading(sample: &TextSample) -> String {
    format!("step {}, {}", grouped(sample.step), sample.time.strftime("%Y-%m-%d %H:%M:%S UTC"))
}

/// Shows the texts in order; returns whether the user requests another one.
pub(super) fn show(ui: &mut Ui, samples: &[TextSample], is_alive: bool, prompt: &mut String) -> bool {
    let mut is_asked = false;
    if is_alive {
        ui.horizontal(|ui| {
            let field = TextEdit::singleline(prompt).hint_text("Prompt").desired_width(240.0);
            ui.add(field).accessible_name("Prompt of the text");
            let help = "The model goes on with the prompt after its current step, with 200 tokens";
            is_asked = small_button(ui, true, "Write now", "Write a text now", help);
        });
    }
    if samples.is_empty() {
        ui.weak(NOTHING);
    }
    ScrollArea::vertical().auto_shrink(false).id_salt("samples").show(ui, |ui| {
        for sample in samples {
            ui.add(Label::new(RichText::new(heading(sample)).small().strong()));
            let text = RichText::new(&sample.text).monospace();
            ui.add(Label::new(text).selectable(true).wrap());
            ui.add_space(6.0);
        }
    });
    is_asked
}
