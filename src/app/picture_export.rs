//! The dialog that saves a picture of the run at its shown step.

use std::sync::Arc;

use egui::{ColorImage, Context};

use super::dialog;
use super::exports::{Exported, Exports, Progress};
use super::graphics::Graphics;
use super::picture::{PictureOptions, PictureStage, PictureSubject};

/// The dialog of the export.
#[derive(Default)]
pub(super) struct PictureExport {
    is_open: bool,
}

impl PictureExport {
    pub(super) fn open(&mut self) {
        self.is_open = true;
    }

    /// Shows the dialog if it is open. Returns true once the user has asked for the picture.
    pub(super) fn ui(&mut self, ctx: &Context, options: &mut PictureOptions, in_space: bool) -> bool {
        if !self.is_open {
            return false;
        }
        let (mut save, mut cancel) = (false, false);
        let is_closed = dialog::show(ctx, "picture export", "Export a picture", |ui| {
            ui.weak("The step that is shown, as PNG.");
            ui.add_space(6.0);
            options.ui(ui);
            let problem = options.problem(in_space);
            if let Some(problem) = &problem {
                ui.colored_label(ui.visuals().error_fg_color, problem);
            }
            ui.add_space(6.0);
            ui.horizontal(|ui| {
                save = ui.add_enabled(problem.is_none(), egui::Button::new("Save…")).clicked();
                cancel = ui.button("Cancel").clicked();
            });
        });
        self.is_open = !(save || cancel || is_closed);
        save
    }
}

/// Draws a picture of a session at a step in the background.
pub(super) fn start(
    ctx: &Context,
    exports: &mut Exports,
    graphics: Graphics,
    subject: PictureSubject,
    options: PictureOptions,
    step: u64,
) {
    let name = "landscape.png".to_owned();
    let suggested_name = name.clone();
    let work = move |progress: &Progress| {
        let mut stage = PictureStage::open(&graphics, subject, options, step, 0.0)?;
        if !stage.go_to(step, || progress.is_cancelled()) {
            return Ok(None);
        }
        let drawn = stage.draw()?;
        progress.add_frame();
        let size = [drawn.width(), drawn.height()].map(|side| side as usize);
        let image = Arc::new(ColorImage::from_rgb(size, drawn.as_raw()));
        Ok(Some(Exported::Picture { image, suggested_name }))
    };
    exports.start(ctx, name, 1, Box::new(work));
}
