//! A modal question with two answers.

use egui::Context;

use super::dialog;

/// A modal question, and the texts of its answers.
pub(super) struct Question<'a> {
    /// The id that distinguishes the questions of a window.
    pub id: &'static str,
    pub heading: &'a str,
    pub text: &'a str,
    pub yes: &'a str,
    pub no: &'a str,
}

impl Question<'_> {
    /// Shows the question; returns the answer, once there is one. Escape answers no.
    pub(super) fn ask(&self, ctx: &Context) -> Option<bool> {
        let (mut yes, mut no) = (false, false);
        let is_closed = dialog::show(ctx, self.id, self.heading, |ui| {
            ui.label(self.text);
            ui.add_space(6.0);
            ui.horizontal(|ui| {
                yes = ui.button(self.yes).clicked();
                no = ui.button(self.no).clicked();
            });
        });
        let no = no || is_closed;
        (yes || no).then_some(yes)
    }
}
