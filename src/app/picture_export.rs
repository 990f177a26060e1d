//! The dialog that saves a picture of the landscape.

use std::sync::Arc;

use egui::{Context, DragValue, Ui};

use super::landscape::LandscapePanel;
use super::{Action, Document, Live, PictureSize, dialog};

/// The largest width of a picture, in pixels: the device allows no wider texture.
const WIDEST: u32 = 8_192;
/// The initial width: that of a paper's column at 600 dots per inch.
const FIRST_WIDTH: u32 = 2_000;

/// The dialog of the export, and the last chosen size.
pub(super) struct PictureExport {
    open: bool,
    size: PictureSize,
}

impl Default for PictureExport {
    fn default() -> Self {
        PictureExport { open: false, size: PictureSize::Times(1) }
    }
}

impl PictureExport {
    pub(super) fn open(&mut self) {
        self.open = true;
    }

    /// Shows the dialog if it is open; returns the request to save the picture, or to report why it was not drawn.
    pub(super) fn ui(
        &mut self,
        ctx: &Context,
        panel: &mut LandscapePanel,
        document: &mut Document,
        live: &mut Live,
    ) -> Option<Action> {
        if !self.open {
            return None;
        }
        let (mut save, mut cancel) = (false, false);
        let is_closed = dialog::show(ctx, "picture export", "Export a picture", |ui| {
            ui.weak("The landscape as it is in view, with its axes, colour bar and legend.");
            ui.add_space(6.0);
            choose_size(ui, &mut self.size, panel);
            ui.add_space(6.0);
            ui.horizontal(|ui| {
                save = ui.button("Save…").clicked();
                cancel = ui.button("Cancel").clicked();
            });
        });
        self.open = !(save || cancel || is_closed);
        save.then(|| {
            let extent = panel.extent(ctx, self.size);
            let drawn = panel
                .offscreen(ctx)
                .and_then(|mut offscreen| offscreen.draw(extent, |ui| panel.picture(ui, document, live)));
            match drawn {
                Ok(image) => Action::SaveImage { image: Arc::new(image), suggested_name: "landscape.png".to_owned() },
                Err(reason) => Action::Report {
                    title: "The picture was not saved".to_owned(),
                    text: format!("The landscape cannot be drawn: {reason}."),
                },
            }
        })
    }
}

/// Shows the choice of the picture's size with the resulting number of pixels.
pub(super) fn choose_size(ui: &mut Ui, size: &mut PictureSize, panel: &LandscapePanel) {
    ui.horizontal_wrapped(|ui| {
        ui.radio_value(size, PictureSize::Times(1), "As on the screen");
        ui.radio_value(size, PictureSize::Times(2), "Twice");
        let (is_width, mut width) = match *size {
            PictureSize::Width(width) => (true, width),
            PictureSize::Times(_) => (false, FIRST_WIDTH),
        };
        let chosen = ui.radio(is_width, "Width in pixels");
        let field = DragValue::new(&mut width).range(16..=WIDEST).speed(10.0);
        let typed = ui.add_enabled(is_width, field).labelled_by(chosen.id);
        if chosen.clicked() || typed.changed() {
            *size = PictureSize::Width(width);
        }
    });
    let [width, height] = panel.extent(ui.ctx(), *size).pixels();
    ui.weak(format!("{width} × {height} pixels"));
}
