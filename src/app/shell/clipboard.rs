//! Presets as text on the clipboard.

use egui::{Context, Event, Popup, ViewportCommand};
use valleyscope_experiments::preset::Preset;

use super::Valleyscope;
use crate::app::opened::OpenedContent;

/// The time within which the clipboard answers, in seconds.
const PATIENCE_SECS: f64 = 1.0;
const NO_PRESET: &str = "The clipboard holds no preset";

impl Valleyscope {
    /// Copies the preset of the shown tab.
    pub(super) fn copy_preset(&mut self, ctx: &Context) {
        let preset = self.tabs.shown().to_save().preset;
        ctx.copy_text(preset.to_ron());
        self.dialogs.messages.notify(format!("“{}” is on the clipboard, as text.", preset.title()));
    }

    /// Asks for the clipboard's text, which arrives with a later frame.
    pub(super) fn ask_paste(&mut self, ctx: &Context) {
        ctx.send_viewport_cmd(ViewportCommand::RequestPaste);
        ctx.request_repaint();
        self.paste_asked = Some(ctx.time());
    }

    /// Opens the preset whose text is pasted, unless a field, a dialog or a menu takes the text.
    pub(super) fn take_paste(&mut self, ctx: &Context) {
        let is_taken = ctx.text_edit_focused()
            || ctx.memory(|memory| memory.top_modal_layer().is_some())
            || Popup::is_any_open(ctx);
        if is_taken && self.paste_asked.is_none() {
            return;
        }
        let pasted = ctx.input_mut(|input| {
            let index = input.events.iter().position(|event| matches!(event, Event::Paste(_)))?;
            Some(input.events.remove(index))
        });
        match (pasted, self.paste_asked) {
            (Some(Event::Paste(text)), _) => {
                self.paste_asked = None;
                self.paste(ctx, &text);
            }
            (_, Some(asked)) if ctx.time() - asked > PATIENCE_SECS => {
                self.paste_asked = None;
                self.dialogs.messages.report(NO_PRESET, "There is no text on it. Copy the text of a preset first.");
            }
            (_, Some(_)) => ctx.request_repaint(),
            (_, None) => {}
        }
    }

    fn paste(&mut self, ctx: &Context, text: &str) {
        match Preset::parse(text, "the clipboard") {
            Ok(preset) => self.open(ctx, OpenedContent::Preset(Box::new(preset)), None),
            Err(error) => self.dialogs.messages.report(
                NO_PRESET,
                format!(
                    "{error}\n\nThe text of a preset begins with its kind, such as “Landscape(version: 1, …”. Edit, Copy \
                     preset puts that of the shown preset on the clipboard."
                ),
            ),
        }
    }
}
