//! The curves of a plot: lines, bands and points, drawn by the GPU or as shapes.

use std::ops::RangeInclusive;
use std::sync::Arc;

use eframe::egui_wgpu::{Callback, CallbackResources, CallbackTrait, RenderState, ScreenDescriptor, wgpu};
use egui::emath::GuiRounding as _;
use egui::{Color32, Id, PaintCallbackInfo, Pos2, Rect, Shape, Stroke, Ui};
use egui_plot::{PlotBounds, PlotGeometry, PlotItem, PlotItemBase, PlotPoint, PlotTransform, PlotUi};
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

/// The point of a position of a plot.
pub(crate) type At<'a> = &'a dyn Fn([f64; 2]) -> Pos2;

/// Adds a shape at positions of a plot. It has no readout, as the plot's own one shows the pointer's values.
fn add(plot: &mut PlotUi<'_>, shape: impl Fn(At<'_>) -> Shape + 'static) {
    plot.add(PlotShape::new(move |_: &Ui, transform: &PlotTransform| {
        Some(shape(&|[x, y]| transform.position_from_point(&PlotPoint::new(x, y))))
    }));
}

/// Draws a line through points, as far as it is near the view.
pub(crate) fn line(plot: &mut PlotUi<'_>, points: &[[f64; 2]], stroke: Stroke, dash: Dash, view: [f64; 2]) {
    let points = near_line(points, view);
    add(plot, move |at| polylines(&[points.iter().copied().map(at).collect()], stroke, dash));
}

/// Draws a line as dashes of this length, in points, that leave a line below it visible.
pub(crate) fn dashes(plot: &mut PlotUi<'_>, points: &[[f64; 2]], stroke: Stroke, length: f32, view: [f64; 2]) {
    let points = near_line(points, view);
    add(plot, move |at| {
        let points: Vec<Pos2> = points.iter().copied().map(at).collect();
        Shape::Vec(Shape::dashed_line(&points, stroke, length, length))
    });
}

/// Fills the area between the low and the high ends `[x, low, high]`.
pub(crate) fn band(plot: &mut PlotUi<'_>, ends: impl Iterator<Item = [f64; 3]>, color: Color32, view: [f64; 2]) {
    let ends: Vec<[[f64; 2]; 2]> = ends.map(|[x, low, high]| [low, high].map(|y| [x, near(y, view)])).collect();
    add(plot, move |at| band_shape(ends.iter().map(|ends| ends.map(at)), color));
}

/// Draws a single point.
pub(crate) fn point(
    plot: &mut PlotUi<'_>,
    [x, y]: [f64; 2],
    shape: MarkerShape,
    radius: f32,
    color: Color32,
    view: [f64; 2],
) {
    let position = [x, near(y, view)];
    add(plot, move |at| marker_shape(Marker::filled(shape), at(position), radius, color, Stroke::NONE));
}

/// Creates the renderer for the window's device, once.
pub(crate) fn install_curves(render_state: &RenderState) {
    let renderer = CurveRenderer::new(&render_state.device, render_state.target_format, 1);
    render_state.renderer.write().callback_resources.insert(renderer);
}

/// Adds curves that the GPU draws, whose coordinates from 0 to 1 span these ranges.
pub(crate) fn curves(plot: &mut PlotUi<'_>, name: &str, set: Arc<CurveSet>, [x, y]: [[f64; 2]; 2]) {
    let id = Id::unique(("curves", name)).value();
    let corners = [0, 1].map(|end| PlotPoint::new(x[end], y[end]));
    plot.add(PlotShape::new(move |ui: &Ui, transform: &PlotTransform| {
        // Scrolled-out parts have no pixels, and a picture begins and ends with whole ones.
        let scale = ui.pixels_per_point();
        let visible = transform.frame().intersect(ui.ctx().content_rect()).round_to_pixels(scale);
        let placement = curve_placement(corners.map(|corner| transform.position_from_point(&corner)), visible, scale);
        let paint = Paint { id, set: Arc::clone(&set), placement };
        visible.is_positive().then(|| Callback::new_paint_callback(visible, paint).into())
    }));
}

/// An item of a plot that is drawn by a function.
struct PlotShape<D> {
    draw: D,
    base: PlotItemBase,
}

impl<D> PlotShape<D> {
    fn new(draw: D) -> PlotShape<D> {
        PlotShape { draw, base: PlotItemBase::new(String::new()) }
    }
}

impl<D: Fn(&Ui, &PlotTransform) -> Option<Shape>> PlotItem for PlotShape<D> {
    fn shapes(&self, ui: &Ui, transform: &PlotTransform, shapes: &mut Vec<Shape>) {
        shapes.extend((self.draw)(ui, transform));
    }

    fn initialize(&mut self, _x_range: RangeInclusive<f64>) {}

    fn color(&self) -> Color32 {
        Color32::TRANSPARENT
    }

    fn geometry(&self) -> PlotGeometry<'_> {
        PlotGeometry::None
    }

    fn bounds(&self) -> PlotBounds {
        PlotBounds::NOTHING
    }

    fn base(&self) -> &PlotItemBase {
        &self.base
    }

    fn base_mut(&mut self) -> &mut PlotItemBase {
        &mut self.base
    }
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
