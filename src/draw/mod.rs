//! The one picture kit: axes and ticks, colour bars, maps, curves and landscapes, painted on egui's painter.
//!
//! The window paints on its own painter. A figure runs the same functions in a context without a window, whose shapes
//! `svg` writes as SVG, with text as text; PNG and PDF are made from the SVG. A `Canvas` is a painter with a `Style`,
//! so that a picture on paper and one on a dark screen differ only in sizes and colours. `figure` chooses and lays out
//! the contents of figures.

// Without the window, the parts that only it draws are unused.
#![cfg_attr(not(feature = "app"), allow(dead_code, unused_imports))]

mod axis;
mod canvas;
mod contours;
mod curves;
mod diagnostics;
mod figure;
mod fonts;
mod grid_plots;
mod landscape;
mod map;
mod parallel;
mod projection;
mod regions;
mod scale;
mod surface;
mod svg;
mod triangle;

pub use canvas::MapImage;
pub use curves::{CurveAxis, CurveLines, CurvePlot, metric_scale};
pub use diagnostics::{CurvePoint, DiagnosticCurve};
pub use figure::{
    COLUMN_MM, Compared, CurveMark, Curves, Figure, Options, PAGE_MM, RunPlots, TimeAxis, TrainedRun, Trajectories,
    TrajectoriesError, small_picture,
};
pub use map::{Map, MapColors, SharedOptimizer, Swatch, shared_optimizers};
pub use projection::{PlaneMark, Projection, SpaceProjection};
pub use scale::Scale;
pub use svg::{FigureError, Format, Svg};

pub(crate) use axis::{Axis, ColorBar, LABEL_GAP, Parts, Side, TICK};
pub(crate) use canvas::{Canvas, LINE, Style, WHOLE, against, marker_corners, marker_shape, polylines, rgb, scales};
pub(crate) use contours::Grid;
pub(crate) use curves::{Fit, Part, band_shape, differ_without_settings, parts, short_name, spread, y_in_view};
pub(crate) use diagnostics::{diagnostic_scale, middle, range_in_view};
pub(crate) use fonts::{FallbackFonts, blank_warning, install_font};
pub(crate) use grid_plots::GridPlots;
pub(crate) use landscape::{ASPECT, LabelledSides, LandscapePainter, Paths, around, pixel_rgb, space_axes};
pub(crate) use map::MapSide;
pub(crate) use parallel::ParallelAxes;
pub(crate) use regions::{LetteredRegions, Letters};
pub(crate) use svg::{CREATOR, encoded, escaped};
pub(crate) use triangle::TriangleFrame;
