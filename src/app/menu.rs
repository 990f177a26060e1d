//! The bar at the top.

use std::path::Path;

use egui::containers::menu::{MenuBar, MenuButton, MenuConfig};
use egui::text::LayoutJob;
use egui::{Align, Button, Context, Layout as UiLayout, PopupCloseBehavior, ScrollArea, TextFormat, TextStyle};
use egui::{FontSelection, Rect, RichText, ThemePreference, Ui, WidgetText};

use super::controls::{Adjustable, Knob, TRAIL};
use super::desk::Desk;
use super::live::{Action, Requests};
use super::shelf::Shelf;
use super::shell::Layout;
use crate::preset::{Preset, built_ins};
use crate::view::{Colormap, SymLog, ViewSettings};

/// Widest line of a preset's description in a menu.
const DESCRIPTION_WIDTH: f32 = 400.0;

/// Shows the bar. `landscape` is where the landscape was drawn last.
pub fn bar(
    ui: &mut Ui,
    desk: &mut Desk,
    shelf: &mut Shelf,
    layout: &mut Layout,
    landscape: Option<Rect>,
    requests: &mut Requests,
) {
    MenuBar::new().ui(ui, |ui| {
        ui.menu_button("File", |ui| file(ui, shelf, landscape, requests));
        ui.menu_button("Edit", |ui| edit(ui, desk, requests));
        let (response, _) = MenuButton::new("Presets").ui(ui, |ui| presets(ui, shelf, requests));
        if response.clicked() {
            shelf.refresh(ui.ctx());
        }
        let stay_open = MenuConfig::new().close_behavior(PopupCloseBehavior::CloseOnClickOutside);
        MenuButton::new("View").config(stay_open).ui(ui, |ui| view(ui, &mut desk.document.view, layout, requests));
        ui.menu_button("Help", |ui| {
            item(ui, "Keys", "?", Action::ShowKeys, requests);
            item(ui, "About Valleyscope", "", Action::ShowAbout, requests);
        });
        ui.with_layout(UiLayout::right_to_left(Align::Center), |ui| title(ui, desk));
    });
}

fn title(ui: &mut Ui, desk: &Desk) {
    let origin = desk.origin();
    let changed = if desk.is_dirty() { " · changed" } else { "" };
    let text = RichText::new(format!("{}{changed}", origin.preset.title)).weak();
    let label = ui.add(egui::Label::new(text).truncate());
    if !origin.preset.description.is_empty() {
        label.on_hover_text(&origin.preset.description);
    }
}

fn item(ui: &mut Ui, text: &str, keys: &str, action: Action, requests: &mut Requests) {
    let button = if keys.is_empty() { Button::new(text) } else { Button::new(text).shortcut_text(keys) };
    if ui.add(button).accessible_name(text).clicked() {
        choose(ui, action, requests);
    }
}

/// Asks for an action and closes the menu, also where a key or a screen reader has pressed its entry.
fn choose(ui: &Ui, action: Action, requests: &mut Requests) {
    requests.actions.push(action);
    ui.close();
}

fn file(ui: &mut Ui, shelf: &Shelf, landscape: Option<Rect>, requests: &mut Requests) {
    item(ui, "Open preset…", "Ctrl O", Action::OpenPreset, requests);
    ui.add_enabled_ui(!shelf.recent().is_empty(), |ui| {
        ui.menu_button("Recent files", |ui| {
            for path in shelf.recent() {
                if ui.button(short(path)).on_hover_text(path.display().to_string()).clicked() {
                    choose(ui, Action::OpenFile(path.clone()), requests);
                }
            }
        });
    });
    ui.separator();
    item(ui, "Save", "Ctrl S", Action::Save, requests);
    item(ui, "Save as…", "Ctrl Shift S", Action::SaveAs, requests);
    item(ui, "Save session for replay…", "", Action::SaveSession, requests);
    ui.separator();
    if let Some(area) = landscape {
        let suggested_name = "landscape.png".to_owned();
        item(ui, "Export picture…", "", Action::SavePicture { area, suggested_name }, requests);
        item(ui, "Export animation…", "", Action::OpenAnimationExport { area }, requests);
        ui.separator();
    }
    item(ui, "Quit", "Ctrl Q", Action::Quit, requests);
}

fn short(path: &Path) -> String {
    path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
}

fn edit(ui: &mut Ui, desk: &Desk, requests: &mut Requests) {
    ui.add_enabled_ui(desk.can_undo(), |ui| item(ui, "Undo", "Ctrl Z", Action::Undo, requests));
    ui.add_enabled_ui(desk.can_redo(), |ui| item(ui, "Redo", "Ctrl Shift Z", Action::Redo, requests));
}

fn presets(ui: &mut Ui, shelf: &Shelf, requests: &mut Requests) {
    let height = ui.ctx().content_rect().height() - 120.0;
    ScrollArea::vertical().max_height(height).show(ui, |ui| {
        for built_in in built_ins() {
            let Preset::Landscape(preset) = &built_in.preset;
            if preset_button(ui, &preset.title, &preset.description).clicked() {
                choose(ui, Action::OpenBuiltIn(built_in.name), requests);
            }
        }
        match shelf.own() {
            Ok(own) if own.is_empty() => {}
            Ok(own) => {
                ui.separator();
                ui.label(RichText::new("Your own").small().weak());
                for preset in own {
                    let about = match &preset.about {
                        Ok(description) => description,
                        Err(_) => "This file can't be read as a preset; open it to see why.",
                    };
                    if preset_button(ui, &preset.title, about).clicked() {
                        choose(ui, Action::OpenFile(preset.path.clone()), requests);
                    }
                }
            }
            Err(reason) => {
                ui.separator();
                ui.label(RichText::new(reason).small().color(ui.visuals().error_fg_color));
            }
        }
    });
}

/// A menu's entry with a sentence below its title.
fn preset_button(ui: &mut Ui, title: &str, about: &str) -> egui::Response {
    let format = |style: TextStyle, color| TextFormat {
        font_id: FontSelection::from(style).resolve(ui.style()),
        color,
        ..TextFormat::default()
    };
    let mut job = LayoutJob::default();
    job.wrap.max_width = DESCRIPTION_WIDTH;
    job.append(title, 0.0, format(TextStyle::Button, ui.visuals().strong_text_color()));
    if !about.is_empty() {
        job.append("\n", 0.0, TextFormat::default());
        job.append(about, 0.0, format(TextStyle::Small, ui.visuals().weak_text_color()));
    }
    ui.add(Button::new(WidgetText::from(job)).wrap()).accessible_name(title)
}

fn view(ui: &mut Ui, view: &mut ViewSettings, layout: &mut Layout, requests: &mut Requests) {
    ui.set_width(300.0);
    ui.horizontal(theme);
    ui.menu_button("Colour map", |ui| {
        for colormap in Colormap::ALL {
            let text = match colormap {
                Colormap::Cividis => "Cividis (for colour-blind readers)".to_owned(),
                other => format!("{other:?}"),
            };
            ui.radio_value(&mut view.colormap, colormap, text);
        }
    });
    ui.separator();
    ui.checkbox(&mut view.contours, "Contour lines");
    ui.checkbox(&mut view.uv_frame, "Frame of u and v");
    ui.checkbox(&mut view.mean_path, "Mean path of each optimizer");
    ui.checkbox(&mut view.glyphs, "Arrows on the selected particle");
    ui.checkbox(&mut view.follow, "Follow the particles (F)");
    let mut trail = TrailSteps(view.trail_steps);
    TRAIL.show(ui, "", &mut trail, TrailSteps(ViewSettings::default().trail_steps));
    view.trail_steps = trail.0;
    scale(ui, &mut view.scale);
    ui.separator();
    ui.checkbox(&mut layout.controls, "Controls");
    ui.checkbox(&mut layout.plots, "Plots");
    item(ui, "Presentation", "F11", Action::TogglePresentation, requests);
    ui.separator();
    zoom(ui);
}

fn theme(ui: &mut Ui) {
    ui.label("Theme");
    let mut preference = ui.ctx().options(|options| options.theme_preference);
    let before = preference;
    for (choice, name) in
        [(ThemePreference::Light, "Light"), (ThemePreference::Dark, "Dark"), (ThemePreference::System, "System")]
    {
        ui.selectable_value(&mut preference, choice, name);
    }
    if preference != before {
        ui.ctx().set_theme(preference);
    }
}

fn zoom(ui: &mut Ui) {
    ui.horizontal(|ui| {
        let ctx: Context = ui.ctx().clone();
        ui.label(format!("Interface {:.0} %", 100.0 * ctx.zoom_factor()));
        if ui.button("−").on_hover_text("Ctrl −").accessible_name("Smaller interface").clicked() {
            egui::gui_zoom::zoom_out(&ctx);
        }
        if ui.button("+").on_hover_text("Ctrl +").accessible_name("Larger interface").clicked() {
            egui::gui_zoom::zoom_in(&ctx);
        }
        if ui.button("100 %").on_hover_text("Ctrl 0").accessible_name("Normal interface").clicked() {
            ctx.set_zoom_factor(1.0);
        }
    });
}

/// Steps of trail, as the slider sees them.
#[derive(Clone, Copy, PartialEq)]
struct TrailSteps(u32);

impl Adjustable for TrailSteps {
    fn number(self) -> f64 {
        f64::from(self.0)
    }

    fn checked(value: f64) -> Result<Self, String> {
        let whole = Self::nearest(value);
        if whole.number() == value {
            Ok(whole)
        } else {
            Err(format!("the trail must be a whole number from 0 to {}, found {value}", ViewSettings::MAX_TRAIL_STEPS))
        }
    }

    fn nearest(value: f64) -> Self {
        TrailSteps(value.round().clamp(0.0, f64::from(ViewSettings::MAX_TRAIL_STEPS)) as u32)
    }
}

/// An end of the colour scale.
#[derive(Clone, Copy, PartialEq)]
struct ScaleEnd(f64);

impl ScaleEnd {
    const MIN: f64 = 1e-9;
    const MAX: f64 = 1e12;
}

impl Adjustable for ScaleEnd {
    fn number(self) -> f64 {
        self.0
    }

    fn checked(value: f64) -> Result<Self, String> {
        let refused = || format!("the scale must be a number from {:e} to {:e}, found {value}", Self::MIN, Self::MAX);
        (Self::MIN..=Self::MAX).contains(&value).then_some(ScaleEnd(value)).ok_or_else(refused)
    }

    fn nearest(value: f64) -> Self {
        ScaleEnd(value.clamp(Self::MIN, Self::MAX))
    }
}

const SCALE_LINEAR: Knob = Knob {
    label: "Linear below",
    help: "Losses smaller than this are coloured about linearly, larger ones logarithmically.",
    paper: "no such setting",
    low: 1e-4,
    high: 10.0,
    logarithmic: true,
};

const SCALE_MAX: Knob = Knob {
    label: "Largest loss",
    help: "The loss at the end of the colour bar.",
    paper: "no such setting",
    low: 1e-2,
    high: 1e6,
    logarithmic: true,
};

/// The scale when it is first fixed.
const FIRST_SCALE: SymLog = SymLog { linear: 0.01, max: 10.0 };

fn scale(ui: &mut Ui, scale: &mut Option<SymLog>) {
    let mut follows = scale.is_none();
    if ui.checkbox(&mut follows, "Colour scale follows the view").changed() {
        *scale = (!follows).then_some(FIRST_SCALE);
    }
    if let Some(scale) = scale {
        let (mut linear, mut max) = (ScaleEnd(scale.linear), ScaleEnd(scale.max));
        SCALE_LINEAR.show(ui, "", &mut linear, ScaleEnd(FIRST_SCALE.linear));
        SCALE_MAX.show(ui, "", &mut max, ScaleEnd(FIRST_SCALE.max));
        // The linear part lies inside the scale.
        *scale = SymLog { linear: linear.0.min(max.0), max: max.0 };
    }
}
