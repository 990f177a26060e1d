//! The figure of a diagram's pixels in the triangle of signal, noise and oscillation.

use std::sync::Arc;

use valleyscope_engine::sweep::Metric;
use valleyscope_experiments::view::Triangle;

use super::page::{COLUMN_MM, Content, Figure, MARGIN, NARROWEST_PANEL};
use crate::draw::canvas::{Canvas, area};
use crate::draw::map::{Map, shared_optimizers};
use crate::draw::triangle::TriangleFrame;
use crate::sweep::result::SweepResult;

#[derive(Debug)]
struct Pixels {
    triangle: Triangle,
    /// The colours of the optimizers, in their order.
    colors: Vec<[u8; 3]>,
}

impl Figure {
    /// A figure of the pixels of a measured diagram by the shares of Adam's gradients, in the colours of their winners.
    pub fn triangle(result: &SweepResult, metric: Metric) -> Figure {
        let Figure { about, legend, .. } = Figure::map(result, metric, Map::Triangle);
        let triangle = Triangle::of(&result.diagram, metric);
        let optimizers = shared_optimizers(&[result.diagram.spec()]).swap_remove(0);
        let colors = optimizers.iter().map(|optimizer| optimizer.color).collect();
        Figure { about, content: Arc::new(Pixels { triangle, colors }), legend }
    }
}

impl Content for Pixels {
    fn draw(&self, canvas: &Canvas, y: f32, inner: f32) -> Option<f32> {
        let em = canvas.style.em;
        if inner < 2.0 * NARROWEST_PANEL * em {
            return None;
        }
        let area = area(MARGIN * em, y, inner, TriangleFrame::height(inner, em));
        let frame = TriangleFrame::within(area, em);
        frame.draw(canvas);
        frame.draw_pixels(canvas, &self.triangle, &self.colors);
        Some(area.bottom())
    }

    fn usual_width_mm(&self) -> f64 {
        COLUMN_MM
    }
}
