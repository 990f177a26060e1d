//! The windows of keyboard shortcuts and about the program.

use egui::{Context, Grid, RichText, ScrollArea, Window, vec2};

use super::keyboard::SHORTCUTS;

/// The open help windows.
#[derive(Default)]
pub(super) struct Help {
    pub keys: bool,
    pub about: bool,
}

impl Help {
    pub(super) fn show(&mut self, ctx: &Context) {
        let screen = ctx.content_rect();
        let centred = |title: &'static str, size: egui::Vec2| {
            let size = size.min(screen.size() - vec2(40.0, 90.0));
            Window::new(title).collapsible(false).default_size(size).default_pos(screen.center() - 0.5 * size)
        };
        centred("Keys", vec2(500.0, 640.0)).open(&mut self.keys).show(ctx, |ui| {
            ScrollArea::vertical().auto_shrink(false).show(ui, |ui| {
                Grid::new("keys").num_columns(2).spacing(vec2(24.0, 6.0)).show(ui, |ui| {
                    for (keys, what) in SHORTCUTS {
                        ui.label(RichText::new(keys).strong());
                        ui.label(what);
                        ui.end_row();
                    }
                });
            });
        });
        centred("About Valleyscope", vec2(440.0, 230.0)).open(&mut self.about).show(ctx, |ui| {
            ui.label(RichText::new(format!("Valleyscope {}", env!("CARGO_PKG_VERSION"))).heading().strong());
            ui.label("See why one optimizer beats another in a narrowing valley.");
            ui.add_space(6.0);
            ui.label(
                "The landscape, the optimizers and the experiments are those of: Yizhou Liu, Ziming Liu and Jeff Gore, \
                 FOCUS: First Order Concentrated Updating Scheme.",
            );
            ui.add_space(6.0);
            ui.label("Licence: MIT or Apache 2.0. The typeface is derived from Inter, SIL Open Font License.");
        });
        if (self.keys || self.about)
            && !ctx.text_edit_focused()
            && ctx.input_mut(|input| input.consume_key(egui::Modifiers::NONE, egui::Key::Escape))
        {
            *self = Help::default();
        }
    }
}
