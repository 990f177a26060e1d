//! The curves of a plot, drawn by the GPU from buffers that stay while nothing changes.

use std::ops::RangeInclusive;
use std::sync::Arc;

use eframe::egui_wgpu::{Callback, CallbackResources, CallbackTrait, RenderState, ScreenDescriptor, wgpu};
use egui::emath::GuiRounding as _;
use egui::{Color32, Id, PaintCallbackInfo, Pos2, Rect, Shape, Ui};
use egui_plot::{PlotBounds, PlotGeometry, PlotItem, PlotItemBase, PlotPoint, PlotTransform};

use crate::gpu::{CurveRenderer, CurveSet, Placement};

/// Creates the renderer for the window's device, once.
pub(crate) fn install(render_state: &RenderState) {
    let renderer = CurveRenderer::new(&render_state.device, render_state.target_format, 1);
    render_state.renderer.write().callback_resources.insert(renderer);
}

/// The curves as an item of a plot.
pub(in crate::app) struct CurveItem {
    /// The id of the plot for the GPU.
    id: u64,
    set: Arc<CurveSet>,
    /// The positions of the curves' places 0 and 1 in the plot, on both axes.
    corners: [PlotPoint; 2],
    base: PlotItemBase,
}

impl CurveItem {
    /// Makes an item of curves whose places from 0 to 1 span these ranges.
    pub(in crate::app) fn new(plot: &str, set: Arc<CurveSet>, x: [f64; 2], y: [f64; 2]) -> CurveItem {
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
        let placement = placement(corners, visible, scale);
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

/// Returns the placement of curves in a picture of this part of the window, if places 0 and 1 are at these positions.
fn placement([zero, one]: [Pos2; 2], visible: Rect, pixels_per_point: f32) -> Placement {
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

#[cfg(test)]
mod tests {
    use egui::{pos2, vec2};

    use super::*;

    #[test]
    fn curves_stay_where_they_are_when_a_part_of_the_plot_is_scrolled_out() {
        // A plot of 200 × 100 points, whose upper 40 are out of the window.
        let corners = [pos2(50.0, 60.0), pos2(250.0, -40.0)];
        let visible = Rect::from_min_size(pos2(50.0, 0.0), vec2(200.0, 60.0));
        let Placement { size_px, px_per_place, origin_px } = placement(corners, visible, 2.0);
        assert_eq!((size_px, px_per_place), ([400.0, 120.0], [400.0, 200.0]));
        // Place (0, 0) is the lower left corner of the visible part, and y goes up.
        assert_eq!(origin_px, [-200.0, -60.0]);
    }
}
