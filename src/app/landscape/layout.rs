//! The layout of the canvas and of the parts around it.

use egui::emath::GuiRounding as _;
use egui::{FontId, Rect, TextStyle, Ui, pos2};

use super::color_bar;
use crate::app::theme::text_width;

/// The size of a canvas, in points, below which it has no axes and no colour bar.
const LEAST_CANVAS: f32 = 110.0;

/// The areas of the canvas and of the parts around it, and the fonts of their labels.
pub(super) struct CanvasLayout {
    pub canvas: Rect,
    /// The area of the colour bar; `None` where it is not wanted or has no room.
    pub bar: Option<Rect>,
    /// Whether there is room for the axes.
    pub has_axes: bool,
    pub font: FontId,
    pub body: FontId,
    /// True if space is scarce, so that legends are short and keys are omitted.
    pub compact: bool,
    /// Whether the legend is on the canvas.
    pub has_legend: bool,
}

impl CanvasLayout {
    /// Lays out the canvas. In space it has its axes inside, and so reaches the edges.
    pub(super) fn new(ui: &Ui, area: Rect, in_space: bool) -> CanvasLayout {
        CanvasLayout::with_bar(ui, area, in_space, true)
    }

    /// Lays out the canvas, with a colour bar or without one.
    pub(super) fn with_bar(ui: &Ui, area: Rect, in_space: bool, has_bar: bool) -> CanvasLayout {
        let font = TextStyle::Small.resolve(ui.style());
        let width = |text: &str| text_width(ui, &font, text);
        // Labels of fixed widths, so that the canvas does not move while the view does.
        let left = if in_space { 4.0 } else { width("−0.0000") + 10.0 };
        let right = if has_bar { color_bar::STRIP + width("−0.001") + 20.0 } else { width("0.000") };
        let body = TextStyle::Body.resolve(ui.style());
        let pixels_per_point = ui.ctx().pixels_per_point();
        if area.width() < left + right + LEAST_CANVAS || area.height() < LEAST_CANVAS {
            let canvas = area.round_to_pixels(pixels_per_point);
            return CanvasLayout { canvas, bar: None, has_axes: false, font, body, compact: true, has_legend: true };
        }
        // The labels of the ticks and the name of the axis.
        let line = ui.fonts_mut(|fonts| fonts.row_height(&font));
        let below = if in_space { 8.0 } else { (2.0 * line + 8.0).max(2.0 * font.size + 14.0) };
        let above = font.size + 8.0;
        let canvas = Rect::from_min_max(
            pos2(area.left() + left, area.top() + above),
            pos2(area.right() - right, area.bottom() - below),
        )
        .round_to_pixels(pixels_per_point);
        let bar_left = canvas.right() + 10.0;
        let bar = Rect::from_min_max(pos2(bar_left, canvas.top()), pos2(bar_left + color_bar::STRIP, canvas.bottom()));
        let bar = has_bar.then_some(bar);
        let compact = canvas.width() < 420.0 || canvas.height() < 240.0;
        CanvasLayout { canvas, bar, has_axes: true, font, body, compact, has_legend: true }
    }
}
