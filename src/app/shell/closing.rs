//! Closing the window: diagrams that took long to compute are not dropped without a question.

use egui::{Context, ViewportCommand};

use super::Valleyscope;
use crate::app::quit::{self, QuitAnswer, Quitting};

impl Valleyscope {
    /// Holds a request to close the window back where diagrams would be lost. Presets and trainings need no question: the
    /// session keeps unsaved settings, and trainings go on without the window. A window whose graphics device is lost
    /// cannot show one.
    pub(super) fn hold_close(&mut self, ctx: &Context) {
        let is_requested = ctx.input(|input| input.viewport().close_requested());
        if !is_requested || self.device_lost || self.quitting == Quitting::Decided {
            return;
        }
        if !self.panels.phase.unsaved(self.worth_asking).is_empty() {
            ctx.send_viewport_cmd(ViewportCommand::CancelClose);
            if ctx.input(|input| input.viewport().minimized == Some(true)) {
                ctx.send_viewport_cmd(ViewportCommand::Minimized(false));
            }
            self.quitting = Quitting::Asked;
        }
    }

    /// Shows the question, and closes the window where it is so answered.
    pub(super) fn show_quit_question(&mut self, ctx: &Context) {
        if self.quitting != Quitting::Asked {
            return;
        }
        let unsaved = self.panels.phase.unsaved(self.worth_asking);
        let answer = match unsaved.is_empty() {
            // They were exported meanwhile.
            true => Some(QuitAnswer::Stay),
            false => quit::ask(ctx, &unsaved),
        };
        match answer {
            None => {}
            Some(QuitAnswer::Stay) => self.quitting = Quitting::No,
            Some(QuitAnswer::Export) => {
                self.quitting = Quitting::No;
                self.panels.phase.export_unsaved(ctx, self.worth_asking);
            }
            Some(QuitAnswer::Quit) => {
                self.quitting = Quitting::Decided;
                ctx.send_viewport_cmd(ViewportCommand::Close);
            }
        }
    }
}
