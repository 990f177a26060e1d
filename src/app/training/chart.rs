//! The plot of one metric, with a curve for each run.

use std::sync::Arc;

use egui::Ui;
use egui_plot::{HLine, LineStyle, Plot, PlotUi};
use valleyscope_runs::{MetricId, MetricInfo};

use super::curve_cache::CurveCache;
use super::legend::{last_value, tooltip};
use super::lines::{CurveCanvas, Fit, Lines, y_in_view};
use super::marks;
use super::named_curves::NamedCurves;
use super::pens::color;
use super::track::{Track, TrackLook};
use crate::app::plot::{CurveItem, LeavingCurve, PlotAxis, PlotFrame, ShownPlot, beyond};

/// A plot to draw, with ranges in places on the axes.
pub(super) struct Chart<'a> {
    pub info: &'a MetricInfo,
    pub look: TrackLook,
    /// The vertical range; `None` fits the curves in view.
    pub y: Option<[f64; 2]>,
    /// The choice of the vertical range where `y` is `None`.
    pub fit: Fit,
    pub curves: Vec<ChartCurve<'a>>,
    /// A value that is marked by a line.
    pub level: Option<f64>,
    /// The pointer's place on the horizontal axis, in this plot or another.
    pub hover: Option<f64>,
}

/// A run's curve in a plot.
pub(super) struct ChartCurve<'a> {
    pub group: &'a NamedCurves<'a>,
    pub track: &'a Arc<Track>,
    pub lines: Arc<Lines>,
    /// Less than 1 while the legend's entry of another curve is pointed at.
    pub opacity: f32,
}

impl Chart<'_> {
    /// Draws the plot into all of the available space.
    pub(super) fn show(&self, ui: &mut Ui, cache: &mut CurveCache, metric: MetricId) -> ShownPlot {
        let TrackLook { scales, x, .. } = self.look;
        let y = self.y.unwrap_or_else(|| y_in_view(x, self.curves.iter().map(|curve| &*curve.lines), self.fit));
        // Without a curve, numbers would look like a measurement's.
        let marks = self.curves.is_empty().then(Vec::new);
        let axis = |scale, range| PlotAxis { scale, range, marks: marks.clone() };
        let frame = PlotFrame {
            axes: [axis(scales[0], x), axis(scales[1], y)],
            size: ui.available_size(),
            is_moved: [true, self.y.is_some()],
            pointer: self.hover,
        };
        let size = PlotFrame::area(frame.size).into();
        let canvas = CurveCanvas { theme: ui.theme(), x, y, size, pixels_per_point: ui.pixels_per_point() };
        let drawn = |curve: &ChartCurve<'_>| (Arc::clone(&curve.lines), curve.group.pen, curve.opacity);
        let drawn = self.curves.iter().map(drawn).collect();
        let item = CurveItem::new(&self.info.name, cache.set(metric, drawn, canvas), x, y);
        let weak = ui.visuals().weak_text_color();
        let shown = frame.show(ui, Plot::new(("training", &self.info.name)), |plot| {
            self.draw(plot, canvas, item);
            if let Some(level) = self.level {
                let line = HLine::new("", scales[1].place(level)).color(weak).style(LineStyle::dashed_loose());
                plot.hline(line.width(1.0).allow_hover(false));
            }
        });
        if self.y.is_none() {
            let leaving = |curve: &ChartCurve<'_>| {
                let first = canvas.leaving(&curve.lines)?;
                let color = color(curve.group.pen, canvas.theme);
                let at = |place: f64| self.look.horizontal.words(scales[0].value(place));
                let beyond = beyond(canvas.points_in_view(&curve.lines), y, scales[1], at);
                Some(LeavingCurve { name: curve.group.name.whole(), color, first, beyond })
            };
            shown.mark_leaving(ui, y[1], self.curves.iter().filter_map(leaving));
        }
        if let Some(pointer) = shown.pointer {
            let values: Vec<_> = self.curves.iter().map(|curve| (curve.group, curve.track)).collect();
            let near = marks::near(&self.look, &self.curves, pointer[0], f64::from(size[0]));
            tooltip(&shown.response, self.info, &self.look, pointer, &values, &near);
        }
        shown.describe(&format!("Plot of {}", self.info.title), || {
            let values = self.curves.iter().map(|curve| last_value(curve.group, curve.track, &self.look));
            values.chain(self.curves.iter().flat_map(marks::all)).collect::<Vec<_>>().join("; ")
        });
        shown
    }

    /// Draws bands below all lines, and marks above them.
    fn draw(&self, plot: &mut PlotUi<'_>, canvas: CurveCanvas, lines: CurveItem) {
        for ChartCurve { group, lines, opacity, .. } in &self.curves {
            canvas.band(plot, group.pen, lines, *opacity);
        }
        plot.add(lines);
        for ChartCurve { group, track, lines, .. } in &self.curves {
            let nearest = self.hover.and_then(|at| track.nearest(self.look.horizontal, self.look.scales[0], at));
            canvas.marks(plot, group.pen, lines, nearest.map(|nearest| self.look.place(&nearest)));
        }
        for curve in &self.curves {
            marks::draw(plot, canvas.theme, &self.look, canvas.y, curve);
        }
    }
}
