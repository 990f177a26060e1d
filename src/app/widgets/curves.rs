//! The curves of a plot: lines, bands and points, drawn by the GPU or as shapes.

use std::sync::Arc;

use eframe::egui_wgpu::{Callback, CallbackResources, CallbackTrait, RenderState, ScreenDescriptor, wgpu};
use egui::emath::GuiRounding as _;
use egui::{Align2, Color32, FontId, Id, PaintCallbackInfo, Painter, Pos2, Rect, Shape, Stroke, TextStyle, Ui};
use egui_plot::{PlotPoint, PlotTransform};
use valleyscope_engine::optimizer::{Marker, MarkerShape};
use valleyscope_experiments::view::Dash;

use crate::draw::{band_shape, marker_shape, polylines};
use crate::gpu::{CurveRenderer, CurveSet, Placement};

/// Clamps a point far outside of the view, whose exact distance does not matter and would overflow pixels.
fn near(y: f64, [bottom, top]: [f64; 2]) -> f64 {
    let far = 100.0 * (top - bottom);
    y.clamp(bottom - far, top + far)
}

/// Clips a line to the surroundings of the view without moving its visible segments.
pub(crate) fn near_line(line: &[[f64; 2]], view: [f64; 2]) -> Vec<[f64; 2]> {
    let mut kept = Vec::with_capacity(line.len());
    for (index, &[x, y]) in line.iter().enumerate() {
        let end = near(y, view);
        // The points at which the segments to the neighbours come near.
        let neighbors =
            [index.checked_sub(1), Some(index + 1)].into_iter().flatten().filter_map(|other| line.get(other));
        let crossings = neighbors.filter(|[_, other]| (y - end) * (other - end) < 0.0);
        let crossings = crossings.map(|[other_x, other]| [x + (other_x - x) * ((end - y) / (other - y)), end]);
        let before = kept.len();
        kept.extend(crossings);
        if kept.len() == before {
            kept.push([x, end]);
        }
    }
    kept
}

/// Draws shapes at positions of a plot, above its grid.
pub(crate) struct PlotPainter {
    painter: Painter,
    transform: PlotTransform,
    font: FontId,
    /// The ranges of positions in view.
    view: [[f64; 2]; 2],
}

impl PlotPainter {
    pub(crate) fn new(ui: &Ui, transform: PlotTransform, view: [[f64; 2]; 2]) -> PlotPainter {
        let painter = ui.painter().with_clip_rect(transform.frame().intersect(ui.clip_rect()));
        PlotPainter { painter, transform, font: TextStyle::Small.resolve(ui.style()), view }
    }

    /// Returns the point of a position.
    pub(crate) fn at(&self, [x, y]: [f64; 2]) -> Pos2 {
        self.transform.position_from_point(&PlotPoint::new(x, y))
    }

    fn points(&self, line: &[[f64; 2]]) -> Vec<Pos2> {
        near_line(line, self.view[1]).into_iter().map(|position| self.at(position)).collect()
    }

    /// Draws a line, as far as it is near the view.
    pub(crate) fn line(&self, line: &[[f64; 2]], stroke: Stroke, dash: Dash) {
        self.painter.add(polylines(&[self.points(line)], stroke, dash));
    }

    /// Draws a line as dashes with these lengths and gaps, in points.
    pub(crate) fn dashes(&self, line: &[[f64; 2]], stroke: Stroke, [dash, gap]: [f32; 2]) {
        self.painter.extend(Shape::dashed_line(&self.points(line), stroke, dash, gap));
    }

    /// Returns the ends of a line from the lower to the upper edge.
    pub(crate) fn upright(&self, x: f64) -> [[f64; 2]; 2] {
        self.view[1].map(|y| [x, y])
    }

    /// Fills the area between the low and the high ends `[x, low, high]`.
    pub(crate) fn band(&self, ends: impl Iterator<Item = [f64; 3]>, color: Color32) {
        let ends = ends.map(|[x, low, high]| [low, high].map(|y| self.at([x, near(y, self.view[1])])));
        self.painter.add(band_shape(ends, color));
    }

    /// Draws a single point.
    pub(crate) fn point(&self, [x, y]: [f64; 2], shape: MarkerShape, radius: f32, color: Color32) {
        let at = self.at([x, near(y, self.view[1])]);
        self.painter.add(marker_shape(Marker::filled(shape), at, radius, color, Stroke::NONE));
    }

    /// Returns the width of a small text, in points.
    pub(crate) fn width(&self, text: &str) -> f32 {
        self.painter.layout_no_wrap(text.to_owned(), self.font.clone(), Color32::PLACEHOLDER).size().x
    }

    /// Writes a small text.
    pub(crate) fn text(&self, at: [f64; 2], anchor: Align2, text: &str, color: Color32) {
        self.painter.text(self.at(at), anchor, text, self.font.clone(), color);
    }

    /// Draws curves on the GPU, whose coordinates from 0 to 1 span the view.
    pub(crate) fn curves(&self, name: &str, set: Arc<CurveSet>) {
        let id = Id::unique(("curves", name)).value();
        // Scrolled-out parts have no pixels, and a picture begins and ends with whole ones.
        let scale = self.painter.pixels_per_point();
        let visible = self.transform.frame().intersect(self.painter.ctx().content_rect()).round_to_pixels(scale);
        let [x, y] = self.view;
        let placement = curve_placement([0, 1].map(|end| self.at([x[end], y[end]])), visible, scale);
        if visible.is_positive() {
            self.painter.add(Callback::new_paint_callback(visible, Paint { id, set, placement }));
        }
    }
}

/// Creates the renderer for the window's device, once.
pub(crate) fn install_curves(render_state: &RenderState) {
    let renderer = CurveRenderer::new(&render_state.device, render_state.target_format, 1);
    render_state.renderer.write().callback_resources.insert(renderer);
}

/// Returns the placement of curves in a picture of this part of the window, if their coordinates 0 and 1 are there.
fn curve_placement([zero, one]: [Pos2; 2], visible: Rect, pixels_per_point: f32) -> Placement {
    let (center, px) = (visible.center(), |x: f32, y: f32| [x * pixels_per_point, y * pixels_per_point]);
    Placement {
        size_px: px(visible.width(), visible.height()),
        px_per_unit: px(one.x - zero.x, zero.y - one.y),
        origin_px: px(zero.x - center.x, center.y - zero.y),
    }
}

/// The paint callback of one frame's curves.
struct Paint {
    id: u64,
    set: Arc<CurveSet>,
    placement: Placement,
}

impl CallbackTrait for Paint {
    fn prepare(
        &self,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        _screen: &ScreenDescriptor,
        _encoder: &mut wgpu::CommandEncoder,
        resources: &mut CallbackResources,
    ) -> Vec<wgpu::CommandBuffer> {
        if let Some(renderer) = resources.get_mut::<CurveRenderer>() {
            renderer.prepare(device, queue, self.id, &self.set, self.placement);
        }
        Vec::new()
    }

    fn finish_prepare(
        &self,
        _device: &wgpu::Device,
        _queue: &wgpu::Queue,
        _encoder: &mut wgpu::CommandEncoder,
        resources: &mut CallbackResources,
    ) -> Vec<wgpu::CommandBuffer> {
        if let Some(renderer) = resources.get_mut::<CurveRenderer>() {
            renderer.forget();
        }
        Vec::new()
    }

    fn paint(&self, _info: PaintCallbackInfo, pass: &mut wgpu::RenderPass<'static>, resources: &CallbackResources) {
        if let Some(renderer) = resources.get::<CurveRenderer>() {
            renderer.paint(pass, self.id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::near_line;

    #[test]
    fn segments_from_far_outside_of_the_view_stay_in_their_place() {
        // In view are 0 to 1, and near it −100 to 101.
        let line = [[0.0, 0.5], [1.0, 1000.5], [2.0, 0.5], [3.0, -500.0], [4.0, -600.0]];
        let kept = near_line(&line, [0.0, 1.0]);
        let on =
            |from: [f64; 2], to: [f64; 2], y: f64| [from[0] + (to[0] - from[0]) * (y - from[1]) / (to[1] - from[1]), y];
        let expected = [
            line[0],
            on(line[0], line[1], 101.0),
            on(line[1], line[2], 101.0),
            line[2],
            on(line[2], line[3], -100.0),
            [4.0, -100.0],
        ];
        assert_eq!(kept.len(), expected.len(), "{kept:?}");
        for (kept, expected) in kept.iter().zip(expected) {
            assert!((0..2).all(|axis| (kept[axis] - expected[axis]).abs() < 1e-12), "{kept:?}, not {expected:?}");
        }
    }
}

#[cfg(test)]
mod curve_item_tests {
    use egui::{pos2, vec2};

    use super::*;

    #[test]
    fn curves_stay_where_they_are_when_a_part_of_the_plot_is_scrolled_out() {
        // A plot of 200 × 100 points, whose upper 40 are out of the window.
        let corners = [pos2(50.0, 60.0), pos2(250.0, -40.0)];
        let visible = Rect::from_min_size(pos2(50.0, 0.0), vec2(200.0, 60.0));
        let Placement { size_px, px_per_unit, origin_px } = curve_placement(corners, visible, 2.0);
        assert_eq!((size_px, px_per_unit), ([400.0, 120.0], [400.0, 200.0]));
        // Place (0, 0) is the lower left corner of the visible part, and y goes up.
        assert_eq!(origin_px, [-200.0, -60.0]);
    }
}
