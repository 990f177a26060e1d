//! The colour bar of the canvas and its settings.

use egui::{Align, ComboBox, Popup, Rect, Sense, TextStyle, Ui, WidgetInfo, vec2};
use valleyscope_engine::parameter::{Extent, Parameter};
use valleyscope_engine::quantity::OutOfRange;
use valleyscope_experiments::view::ticks::significant;
use valleyscope_experiments::view::{Colormap, SymLog, ViewSettings};

use crate::app::landscape::controls::{Adjustable, Control};
use crate::app::widgets::form::check_box;
use crate::app::widgets::{number, theme};
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

/// An end of the colour scale as a slider's quantity.
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

    fn checked(self, value: f64) -> Result<Self, OutOfRange> {
        let expected = || format!("a number from {:e} to {:e}", Self::MIN, Self::MAX);
        let refused = || OutOfRange { name: "scale", expected: expected(), found: number::text(value) };
        (Self::MIN..=Self::MAX).contains(&value).then_some(ScaleEnd(value)).ok_or_else(refused)
    }

    fn nearest(self, value: f64) -> Self {
        ScaleEnd(value.clamp(Self::MIN, Self::MAX))
    }
}

const SCALE_LINEAR: Parameter = Parameter::new("linear", "Linear below", Extent::logarithmic(1e-4, 10.0))
    .help("Colour smaller losses about linearly, and larger ones logarithmically.")
    .paper("no such setting");

const SCALE_MAX: Parameter = Parameter::new("max", "Largest loss", Extent::logarithmic(1e-2, 1e6))
    .help("The loss at the upper end of the colour bar.")
    .paper("no such setting");

const SCALE_DEPTH: Parameter = Parameter::new("depth", "Depth below 0", Extent::logarithmic(1e-2, 1e6))
    .help("How far the lower end of the colour bar is below 0.")
    .paper("no such setting");

/// The usual scale, when it is first fixed from a menu and when its controls are reset.
pub(crate) const FIRST_SCALE: SymLog = SymLog::symmetric(0.01, 10.0);

/// Shows the controls of the colour scale; `first` is the scale when it is first fixed.
pub(crate) fn color_scale(ui: &mut Ui, scale: &mut Option<SymLog>, first: SymLog) {
    let mut follows = scale.is_none();
    if check_box(ui, &mut follows, "Colour scale follows the view").changed() {
        *scale = (!follows).then_some(first);
    }
    if let Some(scale) = scale {
        let (mut linear, mut max) = (ScaleEnd(scale.linear), ScaleEnd(scale.max));
        Control(&SCALE_LINEAR).show(ui, "", &mut linear, ScaleEnd(FIRST_SCALE.linear));
        Control(&SCALE_MAX).show(ui, "", &mut max, ScaleEnd(FIRST_SCALE.max));
        let mut has_negative = scale.min < 0.0;
        if check_box(ui, &mut has_negative, "Colours for losses below 0").changed() {
            scale.min = if has_negative { -max.0 } else { 0.0 };
        }
        if has_negative {
            let mut depth = ScaleEnd(-scale.min);
            Control(&SCALE_DEPTH).show(ui, "", &mut depth, ScaleEnd(-FIRST_SCALE.min));
            scale.min = -depth.0;
        }
        // The linear part lies inside the scale.
        *scale = SymLog { linear: linear.0.min(max.0), max: max.0, ..*scale };
    }
}

pub(crate) fn colormap_name(colormap: Colormap) -> String {
    match colormap {
        Colormap::Cividis => "Cividis (for colour vision deficiency)".to_owned(),
        other => format!("{other:?}"),
    }
}
