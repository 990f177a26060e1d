//! Icons on buttons, markers of optimizers, and colour swatches, drawn without a font.

use eframe::icon_data::from_png_bytes;
use egui::color_picker::{Alpha, color_picker_color32};
use egui::{
    Button, Color32, IconData, Label, Popup, PopupCloseBehavior, Pos2, Rect, Response, RichText, Role, Sense, Shape,
    Stroke, Theme, Ui, Vec2, WidgetInfo, pos2, vec2,
};
use valleyscope_engine::optimizer::{Marker, MarkerShape, markers};
use valleyscope_engine::simulation::OptimizerSpec;
use valleyscope_experiments::view::{contrasting, legible, simulation_colors};

use super::theme::background;
use crate::draw::{marker_shape, rgb};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Icon {
    Play,
    Pause,
    Step,
    StepBack,
    Restart,
    Dice,
    Close,
    /// An arrow that returns.
    Back,
    Eye,
    EyeClosed,
    /// Three dots, for a menu.
    More,
    Pin,
    Pinned,
}

/// Shows a square button with an icon; `name` is its accessible name, `hint` the tooltip.
pub(crate) fn icon_button(ui: &mut Ui, icon: Icon, side: f32, name: &str, hint: &str) -> Response {
    let (rect, response) = ui.allocate_exact_size(Vec2::splat(side), Sense::click());
    let enabled = ui.is_enabled();
    response.widget_info(|| WidgetInfo::labeled(egui::accesskit::Role::Button, enabled, name));
    if ui.is_rect_visible(rect) {
        let visuals = ui.style().interact(&response);
        let is_framed =
            matches!(icon, Icon::Play | Icon::Pause | Icon::Step | Icon::StepBack | Icon::Restart | Icon::Dice);
        if is_framed || response.hovered() || response.has_focus() {
            ui.painter().rect(
                rect,
                visuals.corner_radius,
                visuals.weak_bg_fill,
                visuals.bg_stroke,
                egui::StrokeKind::Inside,
            );
        }
        let inner = Rect::from_center_size(rect.center(), Vec2::splat(side * 0.42));
        let color = if icon == Icon::Pinned { ui.visuals().hyperlink_color } else { visuals.fg_stroke.color };
        ui.painter().extend(shapes(icon, inner, color));
    }
    response.on_hover_text(hint)
}

fn shapes(icon: Icon, rect: Rect, color: Color32) -> Vec<Shape> {
    let at = |x: f32, y: f32| pos2(rect.left() + x * rect.width(), rect.top() + y * rect.height());
    let fill = |points: Vec<Pos2>| Shape::convex_polygon(points, color, Stroke::NONE);
    let bar = |left: f32, right: f32| Shape::rect_filled(Rect::from_two_pos(at(left, 0.0), at(right, 1.0)), 1.0, color);
    let stroke = Stroke::new((rect.width() * 0.14).max(1.2), color);
    match icon {
        Icon::Play => vec![fill(vec![at(0.1, 0.0), at(1.0, 0.5), at(0.1, 1.0)])],
        Icon::Pause => vec![bar(0.08, 0.38), bar(0.62, 0.92)],
        Icon::Step => vec![fill(vec![at(0.0, 0.0), at(0.7, 0.5), at(0.0, 1.0)]), bar(0.76, 1.0)],
        Icon::StepBack => vec![bar(0.0, 0.24), fill(vec![at(1.0, 0.0), at(1.0, 1.0), at(0.3, 0.5)])],
        Icon::Restart => {
            let arc = (0..=20).map(|step| {
                let angle = (-60.0 - 290.0 * step as f32 / 20.0).to_radians();
                rect.center() + 0.5 * rect.width() * vec2(angle.cos(), angle.sin())
            });
            let tip = fill(vec![at(0.95, 0.36), at(0.60, 0.22), at(0.92, -0.08)]);
            vec![Shape::line(arc.collect(), stroke), tip]
        }
        Icon::Dice => {
            let pips = [(0.25, 0.25), (0.75, 0.25), (0.5, 0.5), (0.25, 0.75), (0.75, 0.75)];
            let frame = Shape::rect_stroke(rect.expand(1.5), 3.0, stroke, egui::StrokeKind::Middle);
            let dots = pips.map(|(x, y)| Shape::circle_filled(at(x, y), 0.11 * rect.width(), color));
            std::iter::once(frame).chain(dots).collect()
        }
        Icon::Pin | Icon::Pinned => {
            let head = [at(0.2, 0.0), at(0.8, 0.0), at(0.8, 0.5), at(1.0, 0.62), at(0.0, 0.62), at(0.2, 0.5)];
            let needle = Shape::line_segment([at(0.5, 0.62), at(0.5, 1.1)], stroke);
            let head = match icon {
                Icon::Pinned => fill(head.to_vec()),
                _ => Shape::closed_line(head.to_vec(), Stroke::new(1.2, color)),
            };
            vec![needle, head]
        }
        Icon::Back => {
            let arc = (0..=12).map(|step| {
                let angle = (-90.0 + 180.0 * step as f32 / 12.0).to_radians();
                at(0.55, 0.6) + 0.4 * rect.width() * vec2(angle.cos(), angle.sin())
            });
            let line: Vec<Pos2> = std::iter::once(at(0.2, 0.2)).chain(arc).chain([at(0.2, 1.0)]).collect();
            vec![Shape::line(line, stroke), fill(vec![at(-0.15, 0.2), at(0.3, -0.15), at(0.3, 0.55)])]
        }
        Icon::Eye | Icon::EyeClosed => {
            let lid = |side: f32| {
                let point = |step: i32| {
                    let x = step as f32 / 10.0;
                    at(1.3 * x - 0.15, 0.5 + side * 0.45 * (std::f32::consts::PI * x).sin())
                };
                Shape::line((0..=10).map(point).collect(), Stroke::new(1.2, color))
            };
            let pupil = Shape::circle_filled(rect.center(), 0.2 * rect.width(), color);
            let cross = Shape::line_segment([at(0.0, 1.0), at(1.0, 0.0)], stroke);
            vec![lid(-1.0), lid(1.0), if icon == Icon::Eye { pupil } else { cross }]
        }
        Icon::More => [0.05, 0.5, 0.95].map(|x| Shape::circle_filled(at(x, 0.5), 0.13 * rect.width(), color)).to_vec(),
        Icon::Close => vec![
            Shape::line_segment([at(0.1, 0.1), at(0.9, 0.9)], stroke),
            Shape::line_segment([at(0.9, 0.1), at(0.1, 0.9)], stroke),
        ],
    }
}

/// Returns the window's icon: the narrowing valley, darkest on its floor.
pub(crate) fn window_icon() -> IconData {
    from_png_bytes(include_bytes!("../../../assets/icon.png")).expect("the icon is a PNG file")
}

pub(crate) fn marker_of(optimizers: &[OptimizerSpec], id: u32) -> Marker {
    let all = markers(optimizers.iter().map(|spec| spec.rule.rule.marker()));
    let index = optimizers.iter().position(|spec| spec.id == id);
    index.map_or(Marker::filled(MarkerShape::Circle), |index| all[index])
}

/// Draws the marker filled and outlined; an open marker has a hole in the colour of the outline.
pub(crate) fn draw_marker(marker: Marker, center: Pos2, radius: f32, fill: Color32, outline: Color32) -> Shape {
    marker_shape(marker, center, radius, fill, Stroke::new(1.2, outline))
}

/// The colour of the optimizer with this id among the others; grey without it.
pub(crate) fn rgb_of(optimizers: &[OptimizerSpec], id: u32) -> [u8; 3] {
    let index = optimizers.iter().position(|spec| spec.id == id);
    index.map_or([128; 3], |index| simulation_colors(optimizers)[index])
}

/// The colour of the optimizer with this id as it is drawn on the landscape.
pub(crate) fn color_of(optimizers: &[OptimizerSpec], id: u32) -> Color32 {
    rgb(rgb_of(optimizers, id))
}

/// Adjusts a colour for lines on the theme's background.
pub fn line_color(color: Color32, theme: Theme) -> Color32 {
    rgb(contrasting([color.r(), color.g(), color.b()], background(theme)))
}

/// Adjusts a colour for text on the theme's background.
pub(crate) fn text_color(color: Color32, theme: Theme) -> Color32 {
    rgb(legible([color.r(), color.g(), color.b()], background(theme)))
}

/// The width of the picker, in points.
const PICKER: f32 = 180.0;
/// The largest width of the picker's heading, in points.
const PICKER_HEADING: f32 = 260.0;

/// Shows the colour and opens a colour picker; `usual` is the default colour, which a secondary click restores.
pub(crate) fn color_swatch(ui: &mut Ui, color: &mut Option<[u8; 3]>, usual: [u8; 3], help: &str, name: &str) {
    let choice = color_button(ui, color.unwrap_or(usual), color.is_some(), help, name);
    *color = choice.map_or(*color, |choice| choice.filter(|rgb| *rgb != usual));
}

/// Shows a button with this colour, which opens a colour picker. Returns the choice, if one is made; `None` in it
/// restores the usual colour, as does a secondary click. `is_chosen` is true for a colour other than the usual one.
pub(crate) fn color_button(
    ui: &mut Ui,
    shown: [u8; 3],
    is_chosen: bool,
    help: &str,
    name: &str,
) -> Option<Option<[u8; 3]>> {
    let (rect, button) = ui.allocate_exact_size(ui.spacing().interact_size, Sense::click());
    button.widget_info(|| WidgetInfo::labeled(Role::Button, true, name));
    let visuals = ui.style().interact(&button);
    ui.painter().rect_filled(rect.expand(visuals.expansion), visuals.corner_radius, rgb(shown));
    let button = button.on_hover_text(format!("{help}\nRight-click to restore the usual colour."));
    if button.secondary_clicked() {
        return Some(None);
    }
    let menu = Popup::menu(&button).close_behavior(PopupCloseBehavior::CloseOnClickOutside);
    menu.show(|ui| color_picker(ui, name, shown, is_chosen)).and_then(|shown| shown.inner)
}

/// Shows a colour picker after a right click on the entry of a legend with this colour. Returns the choice, if one is
/// made; `None` in it restores the usual colour. `is_chosen` is true for a colour other than the usual one.
pub(crate) fn color_menu(entry: &Response, name: &str, shown: [u8; 3], is_chosen: bool) -> Option<Option<[u8; 3]>> {
    let menu = Popup::context_menu(entry).close_behavior(PopupCloseBehavior::CloseOnClickOutside);
    menu.show(|ui| color_picker(ui, &format!("Colour of {name}"), shown, is_chosen)).and_then(|shown| shown.inner)
}

/// Shows the colour picker of all menus under a title. Returns the choice, if one is made; `None` in it restores the
/// usual colour.
pub(crate) fn color_picker(ui: &mut Ui, title: &str, before: [u8; 3], is_chosen: bool) -> Option<Option<[u8; 3]>> {
    ui.set_max_width(PICKER_HEADING);
    ui.spacing_mut().slider_width = PICKER;
    let mut choice = None;
    ui.add(Label::new(RichText::new(title).strong()).truncate());
    let mut color = rgb(before);
    if color_picker_color32(ui, &mut color, Alpha::Opaque) {
        choice = Some(Some([color.r(), color.g(), color.b()]));
    }
    if ui.add_enabled(is_chosen, Button::new("Usual colour")).clicked() {
        choice = Some(None);
        ui.close();
    }
    choice
}

/// The hint of entries whose colour a right click chooses.
pub(crate) const COLOR_HINT: &str = "Right-click to choose the colour.";
