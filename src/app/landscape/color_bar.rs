//! The colour bar, and the popup that sets the colour scale.

use egui::{Align2, Color32, ComboBox, FontId, Mesh, Popup, Rect, Sense, Shape, Stroke, Ui, WidgetInfo, pos2, vec2};
use valleyscope_experiments::view::ticks::{Ticks, significant};
use valleyscope_experiments::view::{Colormap, SymLog, ViewSettings};

use super::color_settings::{color_scale, colormap_name};

/// The width of the coloured strip, in points.
pub(super) const STRIP: f32 = 14.0;
/// The number of colour steps along the strip.
const SHADES: usize = 128;
const SPACING: f32 = 22.0;
/// The width of the settings, in points.
const SETTINGS_WIDTH: f32 = 300.0;

/// Returns the ticks that fit on a bar of this height.
pub(super) fn ticks(scale: &SymLog, height: f32) -> Ticks {
    Ticks::symlog(scale, (height / SPACING) as usize)
}

/// Draws the bar into `strip`, with labels to its right; a click opens the settings.
pub(super) fn show(ui: &mut Ui, strip: Rect, scale: SymLog, view: &mut ViewSettings, font: &FontId, ticks: &Ticks) {
    let text_color = ui.visuals().text_color();
    let painter = ui.painter();
    painter.add(gradient(strip, view.colormap));
    painter.rect_stroke(strip, 0.0, Stroke::new(1.0, ui.visuals().weak_text_color()), egui::StrokeKind::Outside);
    for tick in &ticks.ticks {
        let position = scale.position(tick.value) as f32;
        if !(0.0..=1.0).contains(&position) {
            continue;
        }
        let y = strip.bottom() - position * strip.height();
        painter.hline(strip.right()..=strip.right() + 3.0, y, Stroke::new(1.0, text_color));
        painter.text(pos2(strip.right() + 6.0, y), Align2::LEFT_CENTER, &tick.label, font.clone(), text_color);
    }
    // Aligned with the strip's right edge, as the label of the topmost tick may be beyond it.
    painter.text(strip.right_top() + vec2(0.0, -3.0), Align2::RIGHT_BOTTOM, "loss L", font.clone(), text_color);

    let id = ui.scope_id().with("color bar");
    let response = ui.interact(strip.expand2(vec2(2.0, 0.0)), id, Sense::click());
    let kind = if view.scale.is_some() { "fixed" } else { "automatic" };
    let summary = format!(
        "{:?}, {kind}: {min} to {max}, linear below {linear}",
        view.colormap,
        min = significant(scale.min, 3),
        max = significant(scale.max, 3),
        linear = significant(scale.linear, 3)
    );
    response.widget_info(|| WidgetInfo {
        current_text_value: Some(summary.clone()),
        ..WidgetInfo::labeled(egui::Role::Button, true, "Colour scale")
    });
    if response.has_focus() {
        ui.painter().rect_stroke(strip, 0.0, ui.visuals().selection.stroke, egui::StrokeKind::Outside);
    }
    let response = response
        .on_hover_cursor(egui::CursorIcon::PointingHand)
        .on_hover_text("Colours of the loss: linear about 0, logarithmic far from it.\nClick to set them.");
    Popup::menu(&response)
        .close_behavior(egui::PopupCloseBehavior::CloseOnClickOutside)
        .accessible_name("Colour scale settings")
        .show(|ui| settings(ui, scale, view));
}

/// Draws the strip as one mesh, with the highest values at the top.
fn gradient(strip: Rect, colormap: Colormap) -> Shape {
    let mut mesh = Mesh::default();
    for shade in 0..=SHADES {
        let part = shade as f32 / SHADES as f32;
        let [red, green, blue] = colormap.rgb(f64::from(part));
        let y = strip.bottom() - part * strip.height();
        mesh.colored_vertex(pos2(strip.left(), y), Color32::from_rgb(red, green, blue));
        mesh.colored_vertex(pos2(strip.right(), y), Color32::from_rgb(red, green, blue));
        if shade > 0 {
            let corner = 2 * shade as u32;
            mesh.add_triangle(corner - 2, corner - 1, corner);
            mesh.add_triangle(corner - 1, corner, corner + 1);
        }
    }
    Shape::mesh(mesh)
}

fn settings(ui: &mut Ui, shown: SymLog, view: &mut ViewSettings) {
    ui.set_width(SETTINGS_WIDTH);
    ui.strong("Colours of the loss");
    ui.horizontal(|ui| {
        let label = ui.label("Colour map");
        let combo = ComboBox::from_id_salt("color map").selected_text(colormap_name(view.colormap));
        let combo = combo.show_ui(ui, |ui| {
            for colormap in Colormap::ALL {
                ui.selectable_value(&mut view.colormap, colormap, colormap_name(colormap));
            }
        });
        combo.response.labelled_by(label.id);
    });
    color_scale(ui, &mut view.scale, shown);
}
