//! The plots of training curves as a figure to export.

use std::fs;
use std::sync::Arc;

use valleyscope_experiments::view::{AxisScale, Pen};
use valleyscope_runs::{MetricInfo, RunFolder};

use super::lines::{Fit, Lines, y_in_view};
use super::track::{Horizontal, Track, TrackLook};
use crate::figure::{CurveAxis, CurveLines, CurvePlot, Curves, Figure};

/// All plots, to be exported as one figure.
pub(super) struct CurvesExport {
    /// The common title, if the names leave it out.
    pub title: Option<String>,
    /// The names and pens of the curves.
    pub names: Vec<(String, Pen)>,
    pub runs: Vec<RunFolder>,
    pub plots: Vec<PlotExport>,
}

/// One plot of the figure.
pub(super) struct PlotExport {
    pub info: MetricInfo,
    pub look: TrackLook,
    /// The zoomed vertical range, in places.
    pub y: Option<[f64; 2]>,
    /// The choice of the range where it is not zoomed.
    pub fit: Fit,
    /// The tracks, each with the index of its name.
    pub tracks: Vec<(usize, Arc<Track>)>,
}

impl CurvesExport {
    /// Makes the plots' figure. Its file holds the configs of the runs.
    pub(super) fn figure(self) -> Figure {
        // Runs without a curve have no place in the legend.
        let is_drawn = |index: usize| self.plots.iter().any(|plot| plot.tracks.iter().any(|(of, _)| *of == index));
        let drawn: Vec<usize> = (0..self.names.len()).filter(|index| is_drawn(*index)).collect();
        let names: Vec<(String, Pen)> = drawn.iter().map(|index| self.names[*index].clone()).collect();
        let common = self.title.map(|title| title + ": ").unwrap_or_default();
        let title = common + &names.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join("; ");
        // A run whose config is gone can still be drawn.
        let specs = self.runs.iter().filter_map(|run| fs::read_to_string(run.config()).ok()).collect();
        let look = self.plots.first().map(|plot| plot.look);
        let horizontal = look.map(|look| (look.horizontal, look.scales[0], look.x));
        let (over, scale, range) = horizontal.unwrap_or((Horizontal::Step, AxisScale::Linear, [0.0, 1.0]));
        let horizontal = CurveAxis { label: over.name().to_owned(), scale, range };
        Figure::curves(Curves {
            title,
            specs,
            names,
            horizontal,
            plots: self.plots.iter().map(|plot| plot.plot(&drawn)).collect(),
            marks: Vec::new(),
        })
    }
}

impl PlotExport {
    /// Makes the plot with the indices of the drawn names.
    fn plot(&self, drawn: &[usize]) -> CurvePlot {
        let lines: Vec<(usize, Lines)> =
            self.tracks.iter().map(|(index, track)| (*index, Lines::of(track, &self.look))).collect();
        let range = self.y.unwrap_or_else(|| y_in_view(self.look.x, lines.iter().map(|(_, lines)| lines), self.fit));
        let vertical = CurveAxis::vertical(&self.info, self.look.scales[1], range);
        let place = |index| drawn.iter().position(|of| *of == index).expect("it is drawn here");
        let curve = |(index, Lines { raw, line, band, .. })| CurveLines { index: place(index), raw, line, band };
        CurvePlot { vertical, curves: lines.into_iter().map(curve).collect() }
    }
}
