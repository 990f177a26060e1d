//! The one picture kit: axes and ticks, colour bars, maps, curves and landscapes, painted on egui's painter.
//!
//! The window paints on its own painter. A figure runs the same functions in a context without a window, whose shapes
//! `svg` writes as SVG, with text as text; PNG and PDF are made from the SVG. A `Canvas` is a painter with a `Style`,
//! so that a picture on paper and one on a dark screen differ only in sizes and colours. `figure` chooses and lays out
//! the contents of figures.

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

pub(crate) use canvas::{against, marker_corners};
pub(crate) use contours::Grid;
pub(crate) use fonts::blank_warning;
pub(crate) use landscape::{ASPECT, Paths, around, pixel_rgb};
pub(crate) use svg::{CREATOR, encoded, escaped};

#[cfg(feature = "app")]
pub(crate) use axis::{Axis, ColorBar, LABEL_GAP, Parts, Side, TICK};
#[cfg(feature = "app")]
pub(crate) use canvas::{Canvas, LINE, Style, WHOLE, marker_shape, polylines, rgb};
pub(crate) use curves::{Fit, y_in_view};
#[cfg(feature = "app")]
pub(crate) use curves::{Part, band_shape, parts};
#[cfg(feature = "app")]
pub(crate) use diagnostics::{diagnostic_scale, middle, range_in_view};
#[cfg(feature = "app")]
pub(crate) use fonts::{FallbackFonts, install_font};
#[cfg(feature = "app")]
pub(crate) use grid_plots::GridPlots;
#[cfg(feature = "app")]
pub(crate) use landscape::{LabelledSides, LandscapePainter, space_axes};
#[cfg(feature = "app")]
pub(crate) use map::MapSide;
#[cfg(feature = "app")]
pub(crate) use parallel::ParallelAxes;
#[cfg(feature = "app")]
pub(crate) use regions::{LetteredRegions, Letters};
#[cfg(feature = "app")]
pub(crate) use triangle::TriangleFrame;
