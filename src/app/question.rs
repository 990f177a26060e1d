//! A modal question with two answers.

use egui::{Context, Id, Modal, RichText};

use super::theme;

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
        let modal = Modal::new(Id::unique(self.id)).frame(theme::dialog(&ctx.global_style())).show(ctx, |ui| {
            ui.set_width(420.0_f32.min(ctx.content_rect().width() - 60.0));
            ui.label(RichText::new(self.heading).heading().strong());
            ui.label(self.text);
            ui.add_space(6.0);
            ui.horizontal(|ui| {
                yes = ui.button(self.yes).clicked();
                no = ui.button(self.no).clicked();
            });
        });
        let no = no || modal.should_close();
        (yes || no).then_some(yes)
    }
}
