//! The layout of exported figures, and its controls in a menu.

use egui::containers::menu::{MenuButton, MenuConfig};
use egui::{DragValue, Grid, IntoAtoms, PopupCloseBehavior, Response, Ui};

use super::theme::frame_fields;
use crate::app::boxes::check_box;
use crate::figure::{Figure, FigureError, Format, Options};

/// The layout of a figure's file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct FigureLayout {
    pub options: Options,
    /// The resolution of a PNG in dots per inch.
    pub dpi: f64,
}

impl Default for FigureLayout {
    fn default() -> Self {
        FigureLayout { options: Options::default(), dpi: 300.0 }
    }
}

impl FigureLayout {
    /// Encodes a figure as a file.
    pub(super) fn file(&self, figure: &Figure, format: Format) -> Result<Vec<u8>, FigureError> {
        figure.render(&self.options)?.to_file(format, self.dpi)
    }

    /// Shows the controls of the layout.
    pub(super) fn ui(&mut self, ui: &mut Ui) {
        Grid::new("figure").num_columns(2).show(ui, |ui| {
            frame_fields(ui);
            let mut row = |name: &str, label: &str, value: &mut f64, range, suffix: &str| {
                ui.label(label);
                ui.add(DragValue::new(value).range(range).suffix(suffix)).accessible_name(name);
                ui.end_row();
            };
            row("Figure width", "Width of figures", &mut self.options.width_mm, 30.0..=500.0, " mm");
            row("Figure font size", "Size of their type", &mut self.options.font_size, 4.0..=40.0, " pt");
            row("Figure resolution", "Dots per inch of PNG", &mut self.dpi, 50.0..=1200.0, " dpi");
        });
        check_box(ui, &mut self.options.title, "Title above");
    }

    /// Shows a menu that exports plots, with the layout above the files; returns the chosen file. A line separates the
    /// table from the figures.
    pub(super) fn export_menu<F: Copy + PartialEq>(
        &mut self,
        ui: &mut Ui,
        files: &[(F, &str)],
        table: F,
    ) -> (Response, Option<F>) {
        let mut asked = None;
        let (menu, _) = stays_open("Export").ui(ui, |ui| {
            self.ui(ui);
            ui.separator();
            for (file, label) in files {
                if *file == table {
                    ui.separator();
                }
                if ui.button(*label).clicked() {
                    asked = Some(*file);
                    ui.close();
                }
            }
        });
        (menu, asked)
    }
}

/// Makes a menu that stays open while its controls are used.
pub(super) fn stays_open(name: impl IntoAtoms<'static>) -> MenuButton<'static> {
    let config = MenuConfig::new().close_behavior(PopupCloseBehavior::CloseOnClickOutside);
    MenuButton::new(name).config(config)
}
