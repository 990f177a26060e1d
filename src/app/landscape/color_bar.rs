//! The colour bar, and the popup that sets the colour scale.

use egui::{Align2, Color32, DragValue, FontId, Mesh, Popup, Rect, Sense, Shape, Stroke, Ui, WidgetInfo, pos2, vec2};
use valleyscope_experiments::view::ticks::{Ticks, significant};
use valleyscope_experiments::view::{Colormap, SymLog, ViewSettings};

/// The width of the coloured strip, in points.
pub(super) const STRIP: f32 = 14.0;
/// The number of colour steps along the strip.
const SHADES: usize = 128;
const SPACING: f32 = 22.0;

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
        "{:?}, {kind}: −{max} to {max}, linear below {linear}",
        view.colormap,
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
    ui.strong("Colours of the loss");
    egui::Grid::new("color settings").num_columns(2).show(ui, |ui| {
        let label = ui.label("Colour map");
        egui::ComboBox::from_id_salt("color map")
            .selected_text(format!("{:?}", view.colormap))
            .show_ui(ui, |ui| {
                for colormap in Colormap::ALL {
                    ui.selectable_value(&mut view.colormap, colormap, name(colormap));
                }
            })
            .response
            .labelled_by(label.id);
        ui.end_row();
        let label = ui.label("Scale");
        let mut automatic = view.scale.is_none();
        let response = ui
            .checkbox(&mut automatic, "automatic")
            .on_hover_text("Fit the colours to the visible part of the landscape. Off: use the values below.")
            .labelled_by(label.id);
        if response.changed() {
            view.scale = (!automatic).then_some(shown);
        }
        ui.end_row();
        let mut scale = shown;
        let label = ui.label("Largest loss");
        let largest = ui
            .add_enabled(!automatic, log_drag(&mut scale.max))
            .labelled_by(label.id)
            .on_hover_text("The loss at the upper end of the colours; the lower end is its negative.");
        ui.end_row();
        let label = ui.label("Linear below");
        let linear = ui
            .add_enabled(!automatic, log_drag(&mut scale.linear))
            .labelled_by(label.id)
            .on_hover_text("Colour smaller losses about linearly, and larger ones logarithmically.");
        ui.end_row();
        if !automatic && (largest.changed() || linear.changed()) {
            if linear.changed() {
                scale.max = scale.max.max(scale.linear);
            }
            scale.linear = scale.linear.min(scale.max);
            view.scale = Some(scale);
        }
    });
}

fn name(colormap: Colormap) -> &'static str {
    match colormap {
        Colormap::Viridis => "Viridis",
        Colormap::Cividis => "Cividis (for colour vision deficiency)",
        Colormap::Magma => "Magma",
        Colormap::Inferno => "Inferno",
        Colormap::Plasma => "Plasma",
    }
}

/// Makes a drag control for a positive number, whose speed is proportional to its size.
fn log_drag(value: &mut f64) -> DragValue<'_> {
    let speed = 0.02 * *value;
    DragValue::new(value)
        .range(1e-12..=1e12)
        .speed(speed)
        .custom_formatter(|value, _| significant(value, 3))
        .custom_parser(|text| {
            // The displayed notation can be typed back in: 2.50×10⁻⁷ as well as 2.5e-7.
            let plain: String = text
                .replace('−', "-")
                .replace("×10", "e")
                .chars()
                .filter(|character| !character.is_whitespace())
                .map(|character| match character {
                    '⁻' => '-',
                    '¹' => '1',
                    '²' => '2',
                    '³' => '3',
                    '⁰' | '⁴'..='⁹' => char::from_digit(character as u32 - '⁰' as u32, 10).unwrap_or(character),
                    other => other,
                })
                .collect();
            plain.parse().ok()
        })
}
