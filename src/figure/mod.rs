//! Figures for publication: maps of phase diagrams, plots of scans, curves of trainings and landscapes with
//! trajectories, with axes, legends and colour bars.
//!
//! A [`Map`] is the quantity by which the cells of a diagram are coloured; its image, one pixel per cell, is shown by
//! both the window and figures. A [`Figure`] is one or more maps or plots, or a landscape, with axes and legends; laid
//! out at a width it is an [`Svg`], from which the PNG and the PDF are made. Text is set in the bundled font, and
//! characters that it lacks in fonts of the system. Every file has title, program version, seed and spec as metadata, and no time: equal results give equal bytes.

mod axis;
mod canvas;
mod check;
mod color_bar;
mod compared;
mod contour;
mod curves;
mod difference;
mod font;
mod labels;
mod landscape;
mod landscape_plot;
mod layout;
mod map;
mod pdf;
mod plot;
mod png;
mod region_merge;
mod regions;
mod rows;
mod run_plots;
mod scale;
mod scan;
mod short_titles;
mod side_by_side;
mod style;
mod surface_plot;
mod surface_raster;
mod svg;
mod system_fonts;
mod trainings;
mod trajectories;
mod xml;

pub use check::{PICTURE_DPI, PICTURES, check_pictures};
pub use compared::Compared;
pub use curves::{CurveAxis, CurveLines, CurveMark, CurvePlot, Curves, metric_scale};
pub use difference::{as_changed, as_changed_from, difference, is_made_title, over_axes};
pub use labels::{axis_label, axis_meanings};
pub use map::{Map, MapColors, MapImage, SharedOptimizer, Swatch, shared_optimizers};
pub use regions::{Letters, RegionLetter, Regions, ink};
pub use run_plots::RunPlots;
pub use scale::{Mark, Scale};
pub use short_titles::{TitledSweep, in_short, settings_among, short_titles};
pub use svg::{Format, Svg};
pub use system_fonts::blank_warning;
pub use trainings::{TimeAxis, TrainedRun};
pub use trajectories::{Trajectories, TrajectoriesError};

use valleyscope_engine::landscape::LandscapeParameterName;
use valleyscope_engine::optimizer::HyperparameterName;
use valleyscope_engine::parameter::DIMENSION;
use valleyscope_engine::sweep::{Metric, Quantity};
use valleyscope_experiments::view::ticks::short;

pub(crate) use canvas::marker_corners;
pub(crate) use contour::Grid;
pub(crate) use landscape_plot::{ASPECT, Paths, against, around, pixel_rgb};
pub(crate) use png::encoded;
pub(crate) use svg::CREATOR;
#[cfg(feature = "app")]
pub(crate) use system_fonts::{SystemFonts, is_ignorable};
pub(crate) use xml::escaped;

use self::landscape::LandscapeFigure;
use self::plot::Plots;
use self::rows::Row;
use crate::result::SweepResult;

/// The layout options of a figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    pub width_mm: f64,
    /// The font size in points.
    pub font_size: f64,
    /// Whether the title is drawn above the figure.
    pub title: bool,
}

/// The width of a column of a journal.
pub const COLUMN_MM: f64 = 85.0;
/// The width of a page of a journal.
pub const PAGE_MM: f64 = 180.0;

impl Default for Options {
    /// Returns the options for a column of a journal.
    fn default() -> Self {
        Options { width_mm: COLUMN_MM, font_size: 8.0, title: false }
    }
}

/// The reason why a figure cannot be made.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum FigureError {
    #[error("{name} must be {expected}, found {found}")]
    OutOfRange { name: &'static str, expected: String, found: f64 },
    #[error(
        "{width_mm} mm is too narrow for this figure in {font_size} point; choose a larger width or a smaller font"
    )]
    TooNarrow { width_mm: f64, font_size: f64 },
    #[error(
        "a picture of {width} × {height} pixels is larger than can be drawn, which is {} million pixels; choose fewer dots \
         per inch or a smaller width", png::MAX_PIXELS / 1e6
    )]
    TooLarge { width: f64, height: f64 },
    #[error("the figure cannot be drawn: {0}")]
    Draw(String),
}

/// Maps of one or more diagrams, plots, curves, or a landscape.
#[derive(Clone, Debug)]
pub struct Figure {
    about: FigureMetadata,
    content: Content,
    legend: Vec<Swatch>,
}

#[derive(Clone, Debug)]
enum Content {
    Maps(Vec<Row>),
    Plots(Plots),
    Curves(Curves),
    Landscape(Box<LandscapeFigure>),
}

/// The metadata of a file.
#[derive(Clone, Debug)]
struct FigureMetadata {
    title: String,
    /// Program version, precision and seed of each result.
    programs: Vec<String>,
    /// The presets that repeat the results.
    specs: Vec<String>,
}

impl Figure {
    /// Returns a figure of the best optimizer at each pixel; paler where that is less certain, if `certainty` is set.
    pub fn winners(result: &SweepResult, metric: Metric, certainty: bool) -> Figure {
        Figure::maps(result, metric, &[Map::Winner { certainty }])
    }

    /// Returns a figure of the winners as in the paper: by the sweep's metric or, where weight decay is varied, by each
    /// metric of the landscape, as these then disagree. Paler where less certain, if `certainty` is set, which adaptive
    /// sampling knows by the sweep's metric only.
    pub fn as_in_the_paper(result: &SweepResult, certainty: bool) -> Figure {
        let spec = result.diagram.spec();
        let is_decay = |of: &Quantity| matches!(of, Quantity::Of(HyperparameterName::WEIGHT_DECAY, _));
        let is_known = !certainty || spec.sampling.is_uniform();
        if is_known && (is_decay(&spec.rows.of) || is_decay(&spec.columns.of)) {
            Figure::winners_by_metric(result, certainty)
        } else {
            Figure::winners(result, spec.metric, certainty)
        }
    }

    /// Returns a figure of the winners by each metric of the landscape, side by side.
    pub fn winners_by_metric(result: &SweepResult, certainty: bool) -> Figure {
        let map = Map::Winner { certainty };
        let mut row = Row::default();
        let mut legend = Vec::new();
        let landscape = result.diagram.spec().landscape;
        for metric in Metric::of(&landscape) {
            row.add(&result.diagram, map, metric, Some(metric.label(&landscape).to_owned()), &mut legend);
        }
        Figure { about: FigureMetadata::of(&[result]), content: Content::Maps(vec![row]), legend }
    }

    /// Returns a figure of the winners in two diagrams over the same axes, side by side, each by its sweep's metric,
    /// with the rotation or the dimension of its landscape above (the paper's figure "moretoy"). Paler where less
    /// certain, if `certainty` is set.
    pub fn side_by_side(results: [&SweepResult; 2], certainty: bool) -> Figure {
        let (mut row, mut legend) = (Row::default(), Vec::new());
        for SweepResult { diagram, .. } in results {
            let spec = diagram.spec();
            let title = match spec.dimension.get() {
                2 => {
                    let of = Quantity::Landscape(LandscapeParameterName::ROTATION).parameter(&spec.landscape);
                    of.with(short(spec.landscape.rotation_degrees()))
                }
                dimension => DIMENSION.with(dimension),
            };
            row.add(diagram, Map::Winner { certainty }, spec.metric, Some(title), &mut legend);
        }
        Figure { about: FigureMetadata::of(&results), content: Content::Maps(vec![row]), legend }
    }

    /// Returns a figure of one map.
    pub fn map(result: &SweepResult, metric: Metric, map: Map) -> Figure {
        Figure::maps(result, metric, &[map])
    }

    /// Returns a figure of the differences between any two optimizers, a row for each diagram.
    pub fn pairs(results: &[(&SweepResult, Metric)]) -> Figure {
        let (mut rows, mut legend) = (Vec::new(), Vec::new());
        for (result, metric) in results {
            let count = result.diagram.spec().optimizers.len();
            let pairs = (0..count).flat_map(|one| (one + 1..count).map(move |other| Map::Difference(one, other)));
            rows.push(Row::of(result, *metric, &pairs.collect::<Vec<_>>(), &mut legend));
        }
        let sources: Vec<&SweepResult> = results.iter().map(|(result, _)| *result).collect();
        Figure { about: FigureMetadata::of(&sources), content: Content::Maps(rows), legend }
    }

    /// Returns the figure with a point on its maps: its values on the horizontal and on the vertical axis. A point
    /// outside of the axes is not drawn.
    pub fn with_point(mut self, point: [f64; 2]) -> Figure {
        if let Content::Maps(rows) = &mut self.content {
            rows.iter_mut().for_each(|row| row.mark(point));
        }
        self
    }

    /// Returns the default width: a journal's column for one map, one plot of curves or plots of a scan, its page for
    /// several maps or plots of curves side by side or a landscape.
    pub fn usual_width_mm(&self) -> f64 {
        match &self.content {
            Content::Maps(rows) if rows.iter().any(|row| row.panel_count() > 1) => PAGE_MM,
            Content::Curves(curves) if curves.plots.len() > 1 => PAGE_MM,
            Content::Landscape(_) => PAGE_MM,
            Content::Maps(_) | Content::Plots(_) | Content::Curves(_) => COLUMN_MM,
        }
    }

    /// Returns a figure of maps side by side that share a colour scale.
    fn maps(result: &SweepResult, metric: Metric, maps: &[Map]) -> Figure {
        let mut legend = Vec::new();
        let row = Row::of(result, metric, maps, &mut legend);
        Figure { about: FigureMetadata::of(&[result]), content: Content::Maps(vec![row]), legend }
    }
}

impl FigureMetadata {
    fn of(results: &[&SweepResult]) -> FigureMetadata {
        let titles: Vec<&str> = results.iter().map(|result| result.title.as_str()).collect();
        FigureMetadata {
            title: titles.join("; "),
            programs: results.iter().map(|result| result.program()).collect(),
            specs: results.iter().map(|result| result.preset().to_ron()).collect(),
        }
    }
}
