//! A line with any dash pattern as an item of a plot.

use std::ops::RangeInclusive;

use egui::{Color32, Painter, Pos2, Shape, Stroke, Ui};
use egui_plot::{PlotBounds, PlotGeometry, PlotItem, PlotItemBase, PlotPoint, PlotTransform};
use valleyscope_experiments::view::Dash;

/// The shortest dash or gap, in points: shorter ones could not be distinguished.
const SHORTEST: f32 = 2.0;

/// A dashed line through places.
pub(super) struct DashedLine {
    places: Vec<[f64; 2]>,
    stroke: Stroke,
    dash: Dash,
    base: PlotItemBase,
}

impl DashedLine {
    pub(super) fn new(name: &str, places: Vec<[f64; 2]>, stroke: Stroke, dash: Dash) -> DashedLine {
        DashedLine { places, stroke, dash, base: PlotItemBase::new(name.to_owned()) }
    }
}

/// Draws a sample of a line, as a legend has it.
pub(in crate::app) fn sample(painter: &Painter, ends: [Pos2; 2], dash: Dash, stroke: Stroke) {
    let [dashes, gaps] = lengths(dash, stroke.width);
    if dashes.is_empty() {
        painter.line_segment(ends, stroke);
    } else {
        painter.extend(Shape::dashed_line_with_offset(&ends, stroke, &dashes, &gaps, 0.0));
    }
}

/// Returns the lengths of a pattern's dashes and of its gaps, in points.
fn lengths(dash: Dash, width: f32) -> [Vec<f32>; 2] {
    let lengths: Vec<f32> = dash.lengths().iter().map(|length| (width * *length as f32).max(SHORTEST)).collect();
    [0, 1].map(|first| lengths.iter().skip(first).step_by(2).copied().collect())
}

impl PlotItem for DashedLine {
    fn shapes(&self, _ui: &Ui, transform: &PlotTransform, shapes: &mut Vec<Shape>) {
        let at = |[x, y]: &[f64; 2]| transform.position_from_point(&PlotPoint::new(*x, *y));
        let points: Vec<Pos2> = self.places.iter().map(at).collect();
        let [dashes, gaps] = lengths(self.dash, self.stroke.width);
        shapes.extend(Shape::dashed_line_with_offset(&points, self.stroke, &dashes, &gaps, 0.0));
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
