//! The layout of the canvas and of the parts around it.

use egui::emath::GuiRounding as _;
use egui::{FontId, Rect, TextStyle, Ui, Vec2, pos2, vec2};

use super::axes::LabelledSides;
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
    /// The sides with labels of the axes.
    pub labelled: LabelledSides,
    /// The area of the title; `None` for a single canvas.
    pub title: Option<Rect>,
}

/// Both sides, as of a single canvas.
const BOTH: LabelledSides = LabelledSides { left: true, below: true };
/// The gap between canvases side by side, in points.
const GAP: f32 = 10.0;
/// The width of a canvas, in points, below which two are one above the other.
const NARROW: f32 = 190.0;

impl CanvasLayout {
    /// Lays out the canvas, with a colour bar or without one. In space it has its axes inside, and so reaches the edges.
    pub(super) fn new(ui: &Ui, area: Rect, in_space: bool, has_bar: bool) -> CanvasLayout {
        let font = TextStyle::Small.resolve(ui.style());
        let width = |text: &str| text_width(ui, &font, text);
        // Labels of fixed widths, so that the canvas does not move while the view does.
        let left = if in_space { 4.0 } else { width("−0.0000") + 10.0 };
        let right = if has_bar { color_bar::STRIP + width("−0.001") + 20.0 } else { width("0.000") };
        let body = TextStyle::Body.resolve(ui.style());
        let pixels_per_point = ui.ctx().pixels_per_point();
        if area.width() < left + right + LEAST_CANVAS || area.height() < LEAST_CANVAS {
            let canvas = area.round_to_pixels(pixels_per_point);
            return CanvasLayout {
                canvas,
                bar: None,
                has_axes: false,
                font,
                body,
                compact: true,
                has_legend: true,
                labelled: BOTH,
                title: None,
            };
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
        CanvasLayout { canvas, bar, has_axes: true, font, body, compact, has_legend: true, labelled: BOTH, title: None }
    }

    /// Lays out several canvases of the same size, with titles and one colour bar, which is that of the first: two in a
    /// row, or one above the other where that is larger, and more of them in rows of two. Axes that all share are
    /// labelled at the outer canvases alone.
    pub(super) fn side_by_side(
        ui: &Ui,
        area: Rect,
        count: usize,
        in_space: bool,
        has_bar: bool,
        share_axes: bool,
    ) -> Vec<CanvasLayout> {
        let around = CanvasLayout::new(ui, area, in_space, has_bar);
        let (inner, font, body) = (around.canvas, around.font, around.body);
        let is_narrow = inner.width() < 2.0 * NARROW || inner.height() > 1.1 * inner.width();
        let columns = if count == 2 && is_narrow { 1 } else { 2 };
        let rows = count.div_ceil(columns);
        let title = ui.fonts_mut(|fonts| fonts.row_height(&body)) + 6.0;
        let has_axes = around.has_axes;
        // What is left and below of each canvas, beside what is at the edges of the whole.
        let between = match has_axes && !share_axes {
            true => vec2(inner.left() - area.left(), area.bottom() - inner.bottom()),
            false => Vec2::ZERO,
        };
        // The name of the vertical axis and that of the bar are in the row of the titles.
        let top = if has_axes { inner.top() - font.size - 8.0 } else { inner.top() };
        let room = vec2(inner.width(), inner.bottom() - top);
        let gaps = vec2((columns - 1) as f32 * (GAP + between.x), (rows - 1) as f32 * (2.0 + between.y));
        let size = vec2((room.x - gaps.x) / columns as f32, (room.y - gaps.y - rows as f32 * title) / rows as f32);
        let pixels_per_point = ui.ctx().pixels_per_point();
        let canvas = |index: usize| {
            let (row, column) = ((index / columns) as f32, (index % columns) as f32);
            let min = pos2(
                inner.left() + column * (size.x + GAP + between.x),
                top + title + row * (size.y + 2.0 + between.y + title),
            );
            Rect::from_min_size(min, size.max(Vec2::ZERO)).round_to_pixels(pixels_per_point)
        };
        let bar = around.bar.map(|bar| Rect::from_x_y_ranges(bar.x_range(), canvas(0).top()..=inner.bottom()));
        let compact = size.x < 420.0 || size.y < 240.0 || around.compact;
        let layout = |index: usize| {
            let canvas = canvas(index);
            let is_lowest = index + columns >= count;
            CanvasLayout {
                canvas,
                bar,
                has_axes,
                font: font.clone(),
                body: body.clone(),
                compact,
                has_legend: false,
                labelled: LabelledSides {
                    left: !share_axes || index.is_multiple_of(columns),
                    below: !share_axes || is_lowest,
                },
                title: Some(Rect::from_min_max(canvas.left_top() - vec2(0.0, title), canvas.right_top())),
            }
        };
        (0..count).map(layout).collect()
    }
}
