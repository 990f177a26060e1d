//! The curves of plots.
//!
//! The buffers stay until a curve, its pen or the view changes; in each frame only a plot's position in the window is
//! uploaded. `egui_plot` draws marks and bands; its own lines would be laid out and tessellated again in each frame,
//! half a second for a hundred runs.

use std::collections::HashMap;
use std::sync::Arc;

use super::pipeline::{CURVE, Curve, Frame, PointBuffer, Primitive, Target, Uniforms, rgb, split};

/// The missing point before and after each line.
const NO_POINT: [f32; 2] = [f32::NAN; 2];

/// Colour, width and dashes of a line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CurveStyle {
    /// The sRGB colour.
    pub color: [u8; 3],
    pub opacity: f32,
    /// The width in physical pixels.
    pub width_px: f32,
    /// The length of a dash and the period of the dashes, in physical pixels; `None` for a solid line.
    pub dash_px: Option<[f32; 2]>,
}

/// Lines of a plot, in the order in which they are drawn.
#[derive(Clone, Debug, Default)]
pub struct CurveSet {
    /// The points in plot coordinates, from 0 to 1 across the visible part of the plot; each line has a missing point
    /// before its first and after its last one.
    points: Vec<[f32; 2]>,
    /// The length of the line up to the start and the end of each segment, in pixels, modulo the period of the dashes;
    /// by the index of the point before the segment.
    lengths: Vec<[f32; 2]>,
    draws: Vec<Draw>,
}

#[derive(Clone, Copy, Debug)]
struct Draw {
    style: CurveStyle,
    /// The missing point before the line.
    first: u64,
    segments: u32,
}

impl CurveSet {
    /// Adds a line through points in plot coordinates, from 0 to 1 across the visible part of the plot, of about
    /// `size_px` physical pixels. The line has a gap at points that are not finite. A line of a single point is not
    /// drawn.
    pub fn add(&mut self, style: CurveStyle, size_px: [f64; 2], line: impl Iterator<Item = [f64; 2]>) {
        let first = self.points.len();
        let period = style.dash_px.map_or(f64::INFINITY, |[_, period]| f64::from(period));
        self.points.push(NO_POINT);
        let (mut before, mut length): (Option<[f64; 2]>, f64) = (None, 0.0);
        for point in line {
            if let Some(before) = before {
                let step = ((point[0] - before[0]) * size_px[0]).hypot((point[1] - before[1]) * size_px[1]);
                self.lengths.push([length as f32, (length + step) as f32]);
                // Only the phase of the dashes at the next segment matters; after a gap the line starts again.
                length = if step.is_finite() { (length + step) % period } else { 0.0 };
            }
            self.points.push(point.map(|coordinate| coordinate as f32));
            before = Some(point);
        }
        self.points.push(NO_POINT);
        match (self.points.len() - first).checked_sub(3) {
            Some(segments) if segments > 0 => {
                self.lengths.resize(self.points.len(), [0.0; 2]);
                self.draws.push(Draw { style, first: first as u64, segments: segments as u32 });
            }
            _ => {
                self.points.truncate(first);
                self.lengths.truncate(first);
            }
        }
    }
}

/// The position of a plot's curves in the picture, in physical pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Placement {
    /// The size of the render target.
    pub size_px: [f32; 2],
    /// The number of pixels per unit of plot coordinates.
    pub px_per_unit: [f32; 2],
    /// The position of the plot's (0, 0) from the middle of the render target, x to the right and y up.
    pub origin_px: [f32; 2],
}

impl Placement {
    fn frame(self) -> Frame {
        let [x, y] = self.px_per_unit;
        let [(x_hi, x_lo), (y_hi, y_lo)] =
            [0, 1].map(|axis| split(-f64::from(self.origin_px[axis]) / f64::from(self.px_per_unit[axis])));
        Frame {
            offset_per_unit: [x, 0.0, 0.0, y],
            center_hi: [x_hi, y_hi],
            center_lo: [x_lo, y_lo],
            size_px: self.size_px,
            ..Frame::default()
        }
    }
}

/// The pipeline and the buffers that draw the curves of plots on one device. Like [`super::Renderer`], it needs no more
/// than the limits of WebGL 2.
pub struct CurveRenderer {
    pipeline: wgpu::RenderPipeline,
    plots: HashMap<u64, Plot>,
}

struct Plot {
    set: Arc<CurveSet>,
    frame: Uniforms<Frame>,
    curves: Uniforms<Curve>,
    /// The style of each draw.
    styles: Vec<u32>,
    points: PointBuffer,
    lengths: PointBuffer,
}

impl CurveRenderer {
    /// Creates the pipeline for render passes as in [`super::Renderer::new`].
    pub fn new(device: &wgpu::Device, format: wgpu::TextureFormat, samples: u32) -> CurveRenderer {
        let frame = Uniforms::<Frame>::new(device, "frame").layout;
        let curves = Uniforms::<Curve>::new(device, "curve").layout;
        let primitive = Primitive {
            shader: CURVE,
            entries: "curve",
            bind_groups: &[&frame, &curves],
            // An instance has four points of the line, and the lengths.
            points: 5,
            opaque: false,
        };
        CurveRenderer { pipeline: Target::flat(format, samples).pipeline(device, &primitive), plots: HashMap::new() }
    }

    /// Uploads the data that [`CurveRenderer::paint`] needs to draw the curves of a plot, if not uploaded yet.
    pub fn prepare(
        &mut self,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        id: u64,
        set: &Arc<CurveSet>,
        placement: Placement,
    ) {
        let plot = self.plots.entry(id).or_insert_with(|| Plot::new(device));
        if !Arc::ptr_eq(&plot.set, set) {
            plot.upload(device, queue, Arc::clone(set));
        }
        plot.frame.clear();
        plot.frame.push(placement.frame());
        plot.frame.upload(device, queue);
    }

    /// Frees the buffers of plots whose curves have no other owner. Call this when all plots of a picture are prepared.
    pub fn forget(&mut self) {
        self.plots.retain(|_, plot| Arc::strong_count(&plot.set) > 1);
    }

    /// Draws the curves of a plot into the pass's viewport.
    pub fn paint(&self, pass: &mut wgpu::RenderPass<'_>, id: u64) {
        let Some(plot) = self.plots.get(&id) else { return };
        pass.set_pipeline(&self.pipeline);
        plot.frame.bind(pass, 0, 0);
        for (draw, style) in plot.set.draws.iter().zip(&plot.styles) {
            plot.curves.bind(pass, 1, *style);
            for point in 0..4 {
                plot.points.bind(pass, point, draw.first + u64::from(point), draw.segments);
            }
            plot.lengths.bind(pass, 4, draw.first, draw.segments);
            pass.draw(0..4, 0..draw.segments);
        }
    }
}

impl Plot {
    fn new(device: &wgpu::Device) -> Plot {
        Plot {
            set: Arc::default(),
            frame: Uniforms::new(device, "frame"),
            curves: Uniforms::new(device, "curve"),
            styles: Vec::new(),
            points: PointBuffer::new(device, "curves"),
            lengths: PointBuffer::new(device, "curves"),
        }
    }

    fn upload(&mut self, device: &wgpu::Device, queue: &wgpu::Queue, set: Arc<CurveSet>) {
        self.curves.clear();
        self.styles = set.draws.iter().map(|draw| self.curves.push(uniform(&draw.style))).collect();
        self.curves.upload(device, queue);
        self.points.write(device, queue, &set.points);
        self.lengths.write(device, queue, &set.lengths);
        self.set = set;
    }
}

fn uniform(style: &CurveStyle) -> Curve {
    let [dash_px, period_px] = style.dash_px.unwrap_or_default();
    Curve {
        color: rgb(style.color),
        opacity: style.opacity,
        half_width_px: 0.5 * style.width_px,
        period_px,
        dash_px,
        padding: 0.0,
    }
}
