//! Modal dialogs.

use egui::{Context, Frame, Id, Margin, Modal, RichText, Ui};

/// The width of a dialog where the window has room for it, in points.
const WIDTH: f32 = 440.0;

/// Shows a modal dialog with this heading; returns whether it is to be closed without an answer, as by Escape. `id`
/// distinguishes the dialogs of a window.
pub(super) fn show(ctx: &Context, id: &'static str, heading: &str, content: impl FnOnce(&mut Ui)) -> bool {
    let frame = Frame::popup(&ctx.global_style()).inner_margin(Margin::same(16));
    let modal = Modal::new(Id::unique(id)).frame(frame).show(ctx, |ui| {
        ui.set_width(WIDTH.min(ctx.content_rect().width() - 60.0));
        ui.label(RichText::new(heading).heading().strong());
        content(ui);
    });
    modal.should_close()
}
