//! The curves of a plot: lines, bands and points, drawn by the GPU or as shapes.

use std::ops::RangeInclusive;
use std::sync::Arc;

use eframe::egui_wgpu::{Callback, CallbackResources, CallbackTrait, RenderState, ScreenDescriptor, wgpu};
use egui::emath::GuiRounding as _;
use egui::{Color32, Id, PaintCallbackInfo, Pos2, Rect, Shape, Stroke, Ui};
use egui_plot::{
    FilledArea, Line, LineStyle, MarkerShape, PlotBounds, PlotGeometry, PlotItem, PlotItemBase, PlotPoint, PlotPoints,
    PlotTransform, PlotUi, Points,
};
use valleyscope_experiments::view::Dash;

use crate::draw::polylines;
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

/// Draws a line through points, as far as it is near the view.
pub(crate) fn line(plot: &mut PlotUi<'_>, name: &str, points: &[[f64; 2]], width: f32, color: Color32, view: [f64; 2]) {
    let line = Line::new(name, PlotPoints::from(near_line(points, view)));
    plot.line(line.color(color).width(width).allow_hover(false));
}

/// Draws a line as dashes of this length, in points, that leave a line below it visible.
pub(crate) fn dashes(
    plot: &mut PlotUi<'_>,
    name: &str,
    points: &[[f64; 2]],
    [width, length]: [f32; 2],
    color: Color32,
    view: [f64; 2],
) {
    let line = Line::new(name, PlotPoints::from(near_line(points, view))).style(LineStyle::Dashed { length });
    plot.line(line.color(color).width(width).allow_hover(false));
}

/// Draws a line with a dash pattern.
pub(crate) fn dashed(
    plot: &mut PlotUi<'_>,
    name: &str,
    points: &[[f64; 2]],
    width: f32,
    dash: Dash,
    color: Color32,
    view: [f64; 2],
) {
    plot.add(DashedLine::new(name, near_line(points, view), Stroke::new(width, color), dash));
}

/// Fills the area between the low and the high ends `[x, low, high]`.
pub(crate) fn band(plot: &mut PlotUi<'_>, ends: impl Iterator<Item = [f64; 3]>, color: Color32, view: [f64; 2]) {
    let ends: Vec<[f64; 3]> = ends.map(|[x, low, high]| [x, near(low, view), near(high, view)]).collect();
    let [x, low, high] = [0, 1, 2].map(|index| ends.iter().map(|end| end[index]).collect::<Vec<f64>>());
    plot.add(FilledArea::new("", &x, &low, &high).fill_color(color).allow_hover(false));
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
    let point = Points::new("", [x, near(y, view)]).shape(shape).radius(radius);
    plot.points(point.color(color).allow_hover(false));
}

/// Draws a vertical line at a point from `low` to `high`; with a `cap`, also horizontal lines twice as wide at its
/// ends.
pub(crate) fn error_bar(
    plot: &mut PlotUi<'_>,
    [x, low, high]: [f64; 3],
    cap: Option<f64>,
    color: Color32,
    view: [f64; 2],
) {
    let caps = cap.into_iter().flat_map(|cap| [low, high].map(|y| [[x - cap, y], [x + cap, y]]));
    for ends in caps.chain([[[x, low], [x, high]]]) {
        line(plot, "", &ends, 1.2, color, view);
    }
}

/// Creates the renderer for the window's device, once.
pub(crate) fn install_curves(render_state: &RenderState) {
    let renderer = CurveRenderer::new(&render_state.device, render_state.target_format, 1);
    render_state.renderer.write().callback_resources.insert(renderer);
}

/// The curves as an item of a plot.
pub(crate) struct CurveItem {
    /// The id of the plot for the GPU.
    id: u64,
    set: Arc<CurveSet>,
    /// The positions in the plot of 0 and 1 of the curves' coordinates, on both axes.
    corners: [PlotPoint; 2],
    base: PlotItemBase,
}

impl CurveItem {
    /// Makes an item of curves whose coordinates from 0 to 1 span these ranges.
    pub(crate) fn new(plot: &str, set: Arc<CurveSet>, x: [f64; 2], y: [f64; 2]) -> CurveItem {
        let id = Id::unique(("curves", plot)).value();
        let corners = [0, 1].map(|end| PlotPoint::new(x[end], y[end]));
        CurveItem { id, set, corners, base: PlotItemBase::new(String::new()) }
    }
}

impl PlotItem for CurveItem {
    fn shapes(&self, ui: &Ui, transform: &PlotTransform, shapes: &mut Vec<Shape>) {
        // Scrolled-out parts have no pixels, and a picture begins and ends with whole ones.
        let scale = ui.pixels_per_point();
        let visible = transform.frame().intersect(ui.ctx().content_rect()).round_to_pixels(scale);
        if !visible.is_positive() {
            return;
        }
        let corners = self.corners.map(|corner| transform.position_from_point(&corner));
        let placement = curve_placement(corners, visible, scale);
        let paint = Paint { id: self.id, set: Arc::clone(&self.set), placement };
        shapes.push(Callback::new_paint_callback(visible, paint).into());
    }

    fn initialize(&mut self, _x_range: RangeInclusive<f64>) {}

    fn color(&self) -> Color32 {
        Color32::TRANSPARENT
    }

    /// Has no geometry, as the plot's own readout shows the pointer's values.
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
        px_per_place: px(one.x - zero.x, zero.y - one.y),
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

/// A dashed line through points.
pub(crate) struct DashedLine {
    points: Vec<[f64; 2]>,
    stroke: Stroke,
    dash: Dash,
    base: PlotItemBase,
}

impl DashedLine {
    pub(crate) fn new(name: &str, points: Vec<[f64; 2]>, stroke: Stroke, dash: Dash) -> DashedLine {
        DashedLine { points, stroke, dash, base: PlotItemBase::new(name.to_owned()) }
    }
}

impl PlotItem for DashedLine {
    fn shapes(&self, _ui: &Ui, transform: &PlotTransform, shapes: &mut Vec<Shape>) {
        let at = |[x, y]: &[f64; 2]| transform.position_from_point(&PlotPoint::new(*x, *y));
        shapes.push(polylines(&[self.points.iter().map(at).collect()], self.stroke, self.dash));
    }

    fn initialize(&mut self, _x_range: RangeInclusive<f64>) {}

    fn color(&self) -> Color32 {
        self.stroke.color
    }

    /// Has no geometry, as the plot's own readout shows the pointer's values.
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
        let Placement { size_px, px_per_place, origin_px } = curve_placement(corners, visible, 2.0);
        assert_eq!((size_px, px_per_place), ([400.0, 120.0], [400.0, 200.0]));
        // Place (0, 0) is the lower left corner of the visible part, and y goes up.
        assert_eq!(origin_px, [-200.0, -60.0]);
    }
}
