//! The options of a picture of the run: contents, size, theme and caption.

use std::collections::{BTreeMap, BTreeSet};

use egui::{ComboBox, DragValue, Theme, Ui, Vec2, vec2};
use valleyscope_engine::simulation::{Record, SimulationSpec};

use crate::app::shell::export_sheet::row;
use crate::app::widgets::form::{check_box, radio_button};
use crate::app::widgets::number;
use crate::app::widgets::theme::BODY_SIZE;
use crate::player::marks::settings_of_rule;

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

/// The size of a picture: in points, for its layout, and in pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct PictureExtent {
    pub points: Vec2,
    pub pixels_per_point: f32,
}

impl PictureExtent {
    pub(crate) fn pixels(&self) -> [u32; 2] {
        let pixels = |points: f32| (points * self.pixels_per_point).round().max(1.0) as u32;
        [pixels(self.points.x), pixels(self.points.y)]
    }
}

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

    pub(crate) fn ui(&mut self, ui: &mut Ui) {
        row(ui, "Type size", |ui| {
            let percent = DragValue::new(&mut self.text_percent).range(TEXT_PERCENT).suffix(" %");
            ui.add(percent).on_hover_text("The size of type and strokes").accessible_name("Size of type");
            let points = BODY_SIZE * self.extent().pixels_per_point;
            ui.weak(format!("{points:.0} pixels"));
        });
        row(ui, "With", |ui| {
            check_box(ui, &mut self.step, "Step");
            check_box(ui, &mut self.settings, "Settings");
            check_box(ui, &mut self.legend, "Legend");
            check_box(ui, &mut self.color_bar, "Colour bar");
        });
        row(ui, "Size", |ui| self.choose_size(ui));
        row(ui, "Theme", |ui| {
            radio_button(ui, &mut self.theme, Theme::Light, "Light");
            radio_button(ui, &mut self.theme, Theme::Dark, "Dark");
        });
    }

    fn choose_size(&mut self, ui: &mut Ui) {
        let [width, height] = &mut self.size;
        ui.add(DragValue::new(width).range(SIDES)).accessible_name("Width in pixels");
        ui.label("×");
        ui.add(DragValue::new(height).range(SIDES)).accessible_name("Height in pixels");
        let list = ComboBox::from_id_salt("picture size").width(20.0).selected_text("pixels");
        let list = list.show_ui(ui, |ui| {
            for size in SIZES {
                ui.selectable_value(&mut self.size, size, format!("{} × {}", size[0], size[1]));
            }
        });
        list.response.accessible_name("Usual sizes");
    }
}

/// A setting of an optimizer: the optimizer's id, and the setting's key.
type RuleSetting = (u32, &'static str);

/// The settings of optimizers that change in a recorded session.
#[derive(Debug, Default)]
pub(super) struct VariedSettings(BTreeSet<RuleSetting>);

impl VariedSettings {
    pub(super) fn of(session: &Record) -> VariedSettings {
        let mut spec = session.spec.clone();
        let first = settings_of(&spec);
        let mut varied = BTreeSet::new();
        for change in &session.changes {
            // The session was made with it, so it fits.
            let _ = spec.apply(&change.set);
            let differing = settings_of(&spec).into_iter().filter(|(setting, text)| first.get(setting) != Some(text));
            varied.extend(differing.map(|(setting, _)| setting));
        }
        VariedSettings(varied)
    }

    /// Formats the settings in force: the noise, the landscape with its parameters, and the varied ones of optimizers.
    pub(super) fn caption(&self, spec: &SimulationSpec) -> String {
        let parameters: Vec<String> =
            spec.landscape.parameters().map(|(of, value)| of.with(number::text(value))).collect();
        let name = spec.landscape.kind().name();
        let landscape = match parameters.is_empty() {
            true => name.to_owned(),
            false => format!("{name}: {}", parameters.join(", ")),
        };
        let texts = [spec.noise.text_with(number::text), landscape].into_iter().chain(self.texts(spec));
        texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join(" · ")
    }

    /// Returns the values of the varied settings that a specification has, as in "FOCUS: γ = 0.2".
    fn texts(&self, spec: &SimulationSpec) -> Vec<String> {
        let owners = spec.distinct_names().into_iter().zip(&spec.optimizers);
        let of_owner = owners.flat_map(|(name, optimizer)| {
            let settings = settings_of_rule(&optimizer.rule).into_iter();
            let varied = settings.filter(|(key, _)| self.0.contains(&(optimizer.id, key)));
            varied.map(move |(_, words)| format!("{name}: {words}"))
        });
        of_owner.collect()
    }
}

/// Returns the settings of all optimizers in words.
fn settings_of(spec: &SimulationSpec) -> BTreeMap<RuleSetting, String> {
    let of_optimizers = spec.optimizers.iter().flat_map(|optimizer| {
        settings_of_rule(&optimizer.rule).into_iter().map(|(key, words)| ((optimizer.id, key), words))
    });
    of_optimizers.collect()
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

#[cfg(test)]
mod caption_tests {
    use super::VariedSettings;
    use valleyscope_engine::simulation::{Record, SimulationSpec};

    use crate::player::marks::tests::record;

    /// Returns a session with these changes, the settings after them, and the settings that vary.
    fn session(changes: &str) -> (Record, SimulationSpec, VariedSettings) {
        let session = Record::clone(&record(changes));
        let mut last = session.spec.clone();
        for change in &session.changes {
            last.apply(&change.set).expect("it fits");
        }
        let varied = VariedSettings::of(&session);
        (session, last, varied)
    }

    #[test]
    fn captions_show_the_settings_that_the_session_changes() {
        let (session, last, varied) = session(
            "(step: 3, set: Noise(2)), (step: 5, set: Landscape(Valley(sharpness: 20))), \
            (step: 7, set: Rule(optimizer: 1, rule: Focus(learning_rate: 0.02, gamma: 0.5)))",
        );
        assert_eq!(varied.texts(&session.spec), ["FOCUS: η = 0.01", "FOCUS: γ = 0.2"]);
        assert_eq!(varied.texts(&last), ["FOCUS: η = 0.02", "FOCUS: γ = 0.5"]);
        let caption = varied.caption(&last);
        assert!(caption.contains("σ = 2 · ") && caption.contains("a = 20, "), "{caption}");
    }

    #[test]
    fn another_kind_of_landscape_moves_no_setting_of_an_optimizer() {
        let (session, last, varied) = session(
            "(step: 3, set: Landscape(Rosenbrock())), \
            (step: 7, set: Rule(optimizer: 1, rule: Focus(learning_rate: 0.01, gamma: 0.5)))",
        );
        assert_eq!(varied.texts(&session.spec), ["FOCUS: γ = 0.2"]);
        assert_eq!(varied.texts(&last), ["FOCUS: γ = 0.5"]);
        assert!(varied.caption(&last).contains("Rosenbrock: "), "{}", varied.caption(&last));
    }

    #[test]
    fn a_changed_schedule_is_in_the_caption_though_it_renames_the_optimizer() {
        let (session, last, varied) = session(
            "(step: 7, set: Rule(optimizer: 0, rule: \
            Adam(learning_rate: 0.01, schedule: (warmup: 5, decay: Cosine(to: 0.1, steps: 20)))))",
        );
        assert_eq!(varied.texts(&session.spec), ["Adam: schedule = constant"]);
        let expected = "Adam (cosine): schedule = cosine, warm-up 5, to 0.1 η, over 20 steps";
        assert_eq!(varied.texts(&last), [expected]);
    }
}
