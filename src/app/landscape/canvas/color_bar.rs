//! The colour bar of the canvas and its settings.

use egui::{Align, ComboBox, Popup, Rect, Sense, TextStyle, Ui, WidgetInfo, vec2};
use valleyscope_engine::quantity::Range;
use valleyscope_engine::setting::SettingInfo;
use valleyscope_experiments::view::ticks::significant;
use valleyscope_experiments::view::{Colormap, SymLog, ViewSettings};

use crate::app::widgets::form::check_box;
use crate::app::widgets::setting::Control;
use crate::app::widgets::theme;
use crate::draw::{Canvas, ColorBar, Scale};

/// The width of the coloured strip, in points.
pub(crate) const STRIP: f32 = 14.0;
/// The width of the settings, in points.
const SETTINGS_WIDTH: f32 = 300.0;

/// Draws the bar into `strip`, with labels to its right; a click opens the settings.
pub(crate) fn show_color_bar(ui: &mut Ui, strip: Rect, scale: SymLog, view: &mut ViewSettings) {
    let canvas = Canvas { painter: ui.painter().clone(), style: theme::drawing(ui, &TextStyle::Small) };
    let colors = Scale::loss(scale, view.colormap, [false; 2]);
    ColorBar { scale: colors, label: String::new() }.draw_strip(&canvas, strip);
    // Aligned with the strip's right edge, as the label of the topmost tick may be beyond it.
    canvas.text(strip.right_top() - vec2(0.0, 0.9 * canvas.style.em), Align::RIGHT, "loss L");

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
        .show(|ui| color_settings(ui, scale, view));
}

fn color_settings(ui: &mut Ui, shown: SymLog, view: &mut ViewSettings) {
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

const fn scale_end(label: &'static str, help: &'static str) -> SettingInfo {
    SettingInfo::number("", label, Range::new("scale", 1e-9, 1e12)).logarithmic().help(help).paper("no such setting")
}

const SCALE_LINEAR: SettingInfo =
    scale_end("Linear below", "Colour smaller losses about linearly, and larger ones logarithmically.")
        .slider(1e-4, 10.0);
const SCALE_MAX: SettingInfo =
    scale_end("Largest loss", "The loss at the upper end of the colour bar.").slider(1e-2, 1e6);
const SCALE_DEPTH: SettingInfo =
    scale_end("Depth below 0", "How far the lower end of the colour bar is below 0.").slider(1e-2, 1e6);

/// The usual scale, when it is first fixed from a menu and when its controls are reset.
pub(crate) const FIRST_SCALE: SymLog = SymLog::symmetric(0.01, 10.0);

/// Shows the controls of the colour scale; `first` is the scale when it is first fixed.
pub(crate) fn color_scale(ui: &mut Ui, scale: &mut Option<SymLog>, first: SymLog) {
    let mut follows = scale.is_none();
    if check_box(ui, &mut follows, "Automatic colour scale").changed() {
        *scale = (!follows).then_some(first);
    }
    if let Some(scale) = scale {
        let [mut linear, mut max] = [scale.linear, scale.max];
        Control { of: &SCALE_LINEAR, default: FIRST_SCALE.linear }.show(ui, "", &mut linear);
        Control { of: &SCALE_MAX, default: FIRST_SCALE.max }.show(ui, "", &mut max);
        let mut has_negative = scale.min < 0.0;
        if check_box(ui, &mut has_negative, "Colours for losses below 0").changed() {
            scale.min = if has_negative { -max } else { 0.0 };
        }
        if has_negative {
            let mut depth = -scale.min;
            Control { of: &SCALE_DEPTH, default: -FIRST_SCALE.min }.show(ui, "", &mut depth);
            scale.min = -depth;
        }
        // The linear part lies inside the scale.
        *scale = SymLog { linear: linear.min(max), max, ..*scale };
    }
}

pub(crate) fn colormap_name(colormap: Colormap) -> String {
    match colormap {
        Colormap::Cividis => "Cividis (for colour vision deficiency)".to_owned(),
        other => format!("{other:?}"),
    }
}
