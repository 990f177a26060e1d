//! The choice of what a picture shows, its size and its theme.

use egui::{Checkbox, ComboBox, DragValue, Grid, Theme, Ui, vec2};

use crate::app::animation::LABELS;
use crate::app::boxes::{Outlined, check_box, radio_button};
use crate::app::offscreen::PictureExtent;

/// The size in pixels at which text has its usual size; in larger pictures it grows with them.
const USUAL: [u32; 2] = [800, 600];
/// The allowed sides of a picture, in pixels.
const SIDES: std::ops::RangeInclusive<u32> = 64..=8_192;
/// The longest side of a picture in space, in pixels, each of which takes 36 bytes on the GPU while it is drawn.
const LONGEST_IN_SPACE: u32 = 4_096;
/// The sizes to choose from.
const SIZES: [[u32; 2]; 5] = [USUAL, [1280, 720], [1920, 1080], [3840, 2160], [2000, 1500]];
/// The allowed sizes of text, in percent.
const TEXT_PERCENT: std::ops::RangeInclusive<u32> = 50..=300;

/// The parts of the tab that a picture shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PictureContent {
    Landscape,
    Plots,
    /// The landscape at the left, and the plots at the right.
    #[default]
    Both,
}

impl PictureContent {
    pub const ALL: [PictureContent; 3] = [PictureContent::Landscape, PictureContent::Plots, PictureContent::Both];

    pub fn name(self) -> &'static str {
        match self {
            PictureContent::Landscape => "landscape",
            PictureContent::Plots => "plots",
            PictureContent::Both => "both",
        }
    }

    pub(super) fn has_landscape(self) -> bool {
        self != PictureContent::Plots
    }

    pub(super) fn has_plots(self) -> bool {
        self != PictureContent::Landscape
    }
}

/// The content, the size and the theme of a picture.
#[derive(Clone, Debug, PartialEq)]
pub struct PictureOptions {
    pub content: PictureContent,
    /// Width and height in pixels.
    pub size: [u32; 2],
    /// The size of text and strokes, in percent of the usual one.
    pub text_percent: u32,
    pub theme: Theme,
    pub title: bool,
    pub step: bool,
    pub settings: bool,
    pub legend: bool,
    pub color_bar: bool,
}

impl PictureOptions {
    /// Returns the options for a picture of everything.
    pub fn new(theme: Theme) -> PictureOptions {
        PictureOptions {
            content: PictureContent::default(),
            size: USUAL,
            text_percent: 100,
            theme,
            title: true,
            step: true,
            settings: true,
            legend: true,
            color_bar: true,
        }
    }

    /// Returns the size in pixels and in points.
    pub(super) fn extent(&self) -> PictureExtent {
        let [width, height] = self.size.map(|side| side as f32);
        let larger = (width / USUAL[0] as f32).min(height / USUAL[1] as f32).max(1.0);
        let pixels_per_point = larger * self.text_percent as f32 / 100.0;
        PictureExtent { points: vec2(width, height) / pixels_per_point, pixels_per_point }
    }

    /// Returns why these options cannot be drawn, if they cannot. A surface in space takes more memory.
    pub fn problem(&self, in_space: bool) -> Option<String> {
        let most = if in_space && self.content.has_landscape() { LONGEST_IN_SPACE } else { *SIDES.end() };
        let least = *SIDES.start();
        let wrong = self.size.into_iter().find(|side| !(least..=most).contains(side))?;
        let of = if most == LONGEST_IN_SPACE { " in space" } else { "" };
        Some(format!("The sides of a picture{of} are {least} to {most} pixels long, found {wrong}."))
    }

    /// Shows the options in rows of a grid.
    pub(in crate::app) fn ui(&mut self, ui: &mut Ui) {
        Grid::new("picture options").num_columns(2).min_col_width(LABELS).spacing([12.0, 6.0]).show(ui, |ui| {
            ui.label("Show");
            ui.horizontal(|ui| {
                let choices = [
                    (PictureContent::Both, "Landscape and plots"),
                    (PictureContent::Landscape, "Landscape"),
                    (PictureContent::Plots, "Plots"),
                ];
                for (content, name) in choices {
                    radio_button(ui, &mut self.content, content, name);
                }
            });
            ui.end_row();
            ui.label("With");
            ui.horizontal_wrapped(|ui| {
                check_box(ui, &mut self.title, "Title");
                check_box(ui, &mut self.step, "Step");
                check_box(ui, &mut self.settings, "Settings");
                check_box(ui, &mut self.legend, "Legend");
                let bar = Outlined(Checkbox::new(&mut self.color_bar, "Colour bar"));
                ui.add_enabled(self.content.has_landscape(), bar);
            });
            ui.end_row();
            ui.label("Size");
            ui.horizontal(|ui| self.choose_size(ui));
            ui.end_row();
            ui.label("Theme");
            ui.horizontal(|ui| {
                radio_button(ui, &mut self.theme, Theme::Light, "Light");
                radio_button(ui, &mut self.theme, Theme::Dark, "Dark");
                ui.add_space(12.0);
                let label = ui.label("Text");
                let percent = DragValue::new(&mut self.text_percent).range(TEXT_PERCENT).suffix(" %");
                ui.add(percent).labelled_by(label.id).on_hover_text("The size of text and strokes.");
            });
            ui.end_row();
        });
    }

    fn choose_size(&mut self, ui: &mut Ui) {
        let text = |[width, height]: [u32; 2]| format!("{width} × {height}");
        let list = ComboBox::from_id_salt("picture size").width(110.0).selected_text(text(self.size));
        let list = list.show_ui(ui, |ui| {
            for size in SIZES {
                ui.selectable_value(&mut self.size, size, text(size));
            }
        });
        list.response.accessible_name("Usual sizes");
        let [width, height] = &mut self.size;
        ui.add(DragValue::new(width).range(SIDES)).accessible_name("Width in pixels");
        ui.label("×");
        ui.add(DragValue::new(height).range(SIDES)).accessible_name("Height in pixels");
        ui.label("pixels");
    }
}

#[cfg(test)]
mod tests {
    use egui::Theme;

    use super::{PictureContent, PictureOptions};

    #[test]
    fn text_grows_with_the_picture_and_stays_legible_in_a_small_one() {
        let of = |size, text_percent| {
            let options = PictureOptions { size, text_percent, ..PictureOptions::new(Theme::Dark) };
            assert_eq!(options.extent().pixels(), size);
            options.extent().pixels_per_point
        };
        assert_eq!(of([800, 600], 100), 1.0);
        assert_eq!(of([1920, 1080], 100), 1.8);
        assert_eq!(of([400, 300], 100), 1.0);
        assert_eq!(of([800, 600], 150), 1.5);
    }

    #[test]
    fn a_picture_in_space_is_smaller_at_most() {
        let options = PictureOptions { size: [6000, 4000], ..PictureOptions::new(Theme::Light) };
        assert_eq!(options.problem(false), None);
        assert!(options.problem(true).is_some_and(|text| text.contains("4096") && text.contains("6000")));
        let plots = PictureOptions { content: PictureContent::Plots, ..options };
        assert_eq!(plots.problem(true), None, "plots are flat");
    }
}
