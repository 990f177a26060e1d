//! The layout of exported figures, and its choice in a menu.

use egui::containers::menu::{MenuButton, MenuConfig};
use egui::{DragValue, Grid, PopupCloseBehavior, Response, Ui};

use crate::figure::{Figure, FigureError, Format, Options};

/// The layout of a figure's file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct FigureLayout {
    pub options: Options,
    /// Dots per inch of a PNG.
    pub dpi: f64,
}

impl Default for FigureLayout {
    fn default() -> Self {
        FigureLayout { options: Options::default(), dpi: 300.0 }
    }
}

impl FigureLayout {
    /// A figure's file.
    pub(super) fn file(&self, figure: &Figure, format: Format) -> Result<Vec<u8>, FigureError> {
        figure.render(&self.options)?.to_file(format, self.dpi)
    }

    /// Shows the choice.
    pub(super) fn ui(&mut self, ui: &mut Ui) {
        Grid::new("figure").num_columns(2).show(ui, |ui| {
            let mut row = |name: &str, label: &str, value: &mut f64, range, suffix: &str| {
                ui.label(label);
                ui.add(DragValue::new(value).range(range).suffix(suffix)).accessible_name(name);
                ui.end_row();
            };
            row("Figure width", "Width of figures", &mut self.options.width_mm, 30.0..=500.0, " mm");
            row("Figure font size", "Size of their type", &mut self.options.font_size, 4.0..=40.0, " pt");
            row("Figure resolution", "Dots per inch of PNG", &mut self.dpi, 50.0..=1200.0, " dpi");
        });
        ui.checkbox(&mut self.options.title, "Title above");
    }

    /// A menu that exports plots, with the choice of the layout above the files; returns which file was asked for. The
    /// table stands apart from the figures before it.
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

/// A menu that is open while things are chosen in it.
pub(super) fn stays_open(name: &'static str) -> MenuButton<'static> {
    let config = MenuConfig::new().close_behavior(PopupCloseBehavior::CloseOnClickOutside);
    MenuButton::new(name).config(config)
}
