//! Figures for publication: maps of phase diagrams, plots of scans, curves of trainings and landscapes with
//! trajectories, with axes, legends and colour bars.
//!
//! A [`Map`] is the quantity by which the cells of a diagram are coloured; its image, one pixel per cell, is shown by
//! both the window and figures. A [`Figure`] is one or more maps or plots, or a landscape, with axes and legends; laid
//! out at a width it is an [`Svg`], from which the PNG and the PDF are made. Text is set in the bundled font, and
//! characters that it lacks in fonts of the system. Every file has title, program version, seed and spec as metadata, and no time: equal results give equal bytes.

mod canvas;
mod curves;
mod files;
mod landscape;
mod landscape_plot;
mod map;
mod map_rows;
mod plots;
mod regions;
mod surface;
mod titles;
mod trajectories;

use std::io::Cursor;
use std::path::Path;

use canvas::{Area, Canvas, KEY, LINE, MARGIN};
use files::POINTS_PER_MM;
use image::codecs::png::PngDecoder;
use image::{DynamicImage, ImageDecoder, Limits};
use landscape::LandscapeFigure;
use map_rows::Row;
use plots::Plots;
use valleyscope_engine::optimizer::WEIGHT_DECAY;
use valleyscope_engine::setting::DIMENSION;
use valleyscope_engine::sweep::{Metric, Quantity};
use valleyscope_experiments::view::ticks::short;
use valleyscope_runs::plain_file::Links;
use valleyscope_runs::{Findings, plain_file};

use super::sweep::result::SweepResult;

pub(crate) use canvas::marker_corners;
pub use curves::{CurveAxis, CurveLines, CurveMark, CurvePlot, Curves, RunPlots, TimeAxis, TrainedRun, metric_scale};
pub(crate) use files::{CREATOR, encoded, escaped};
pub use files::{Format, Svg, blank_warning};
#[cfg(feature = "app")]
pub(crate) use files::{SystemFonts, is_ignorable};
pub(crate) use landscape_plot::{ASPECT, Grid, Paths, against, around, pixel_rgb};
pub use map::{Map, MapColors, MapImage, Mark, Scale, SharedOptimizer, Swatch, shared_optimizers};
pub use map_rows::Compared;
pub use regions::{Letters, RegionLetter, Regions, ink};
pub use titles::{
    TitledSweep, as_changed, as_changed_from, axis_label, axis_meanings, difference, in_short, is_made_title,
    over_axes, settings_among, short_titles,
};
pub use trajectories::{Trajectories, TrajectoriesError};

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
         per inch or a smaller width", files::MAX_PIXELS / 1e6
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
        let is_decay = |of: &Quantity| matches!(of, Quantity::Of(WEIGHT_DECAY, _));
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
                    let [.., rotation] = spec.landscape.info().parameters else { unreachable!("all can be turned") };
                    rotation.with(short(spec.landscape.rotation_degrees()))
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

impl Figure {
    /// Lays the figure out.
    pub fn render(&self, options: &Options) -> Result<Svg, FigureError> {
        let range = |name, value: f64, low: f64, high: f64| match (low..=high).contains(&value) {
            true => Ok(()),
            false => Err(FigureError::OutOfRange { name, expected: format!("from {low} to {high}"), found: value }),
        };
        range("width_mm", options.width_mm, 20.0, 2000.0)?;
        range("font_size", options.font_size, 3.0, 72.0)?;
        let em = options.font_size;
        let width = options.width_mm * POINTS_PER_MM;
        let inner = width - 2.0 * MARGIN * em;
        let mut canvas = Canvas::new(em);
        let mut y = MARGIN * em;
        if options.title {
            for line in wrapped(&self.about.title, inner, em) {
                canvas.text_within([width / 2.0, y + 0.5 * LINE * em], inner, &line);
                y += LINE * em;
            }
            y += 0.4 * em;
        }
        let end = match &self.content {
            Content::Maps(rows) => map_rows::draw(rows, &mut canvas, y, inner, em)?,
            Content::Plots(plots) => plots.draw(&mut canvas, y, inner, em),
            Content::Curves(curves) => curves.draw(&mut canvas, y, inner, em),
            Content::Landscape(figure) => figure.draw(&mut canvas, y, inner, em)?,
        };
        y = end.ok_or(FigureError::TooNarrow { width_mm: options.width_mm, font_size: em })?;
        y = self.draw_legend(&mut canvas, y, inner, em);
        let height = y + MARGIN * em;
        let Canvas { body, uses_system_fonts, blank, .. } = canvas;
        let about = self.about.clone();
        Ok(Svg { about, width_mm: options.width_mm, size: [width, height], body, uses_system_fonts, blank })
    }

    /// Draws swatches with their names in centred lines. Returns the lower end.
    fn draw_legend(&self, canvas: &mut Canvas, mut y: f64, inner: f64, em: f64) -> f64 {
        let (side, gap, end) = (0.9 * em, 1.1 * em, MARGIN * em + inner);
        let key = match &self.content {
            Content::Maps(_) => side,
            Content::Plots(_) | Content::Curves(_) | Content::Landscape(_) => KEY * em,
        };
        let entries = self.legend.iter().enumerate().map(|entry| {
            let before = if entry.1.color.is_some() { key + 0.4 * em } else { 0.0 };
            (entry, before, (before + files::width(&entry.1.text, em)).min(inner))
        });
        let mut lines: Vec<(f64, Vec<_>)> = Vec::new();
        for entry in entries {
            match lines.last_mut() {
                Some((taken, line)) if *taken + gap + entry.2 <= inner => {
                    *taken += gap + entry.2;
                    line.push(entry);
                }
                _ => lines.push((entry.2, vec![entry])),
            }
        }
        y += if lines.is_empty() { 0.0 } else { 0.5 * em };
        for (taken, line) in lines {
            let mut x = MARGIN * em + (inner - taken).max(0.0) / 2.0;
            let middle = y + 0.5 * LINE * em;
            for ((index, swatch), before, width) in line {
                match (swatch.color, &self.content) {
                    (Some(color), Content::Maps(_)) => {
                        canvas.swatch(Area { x, y: middle - side / 2.0, width: side, height: side }, color);
                    }
                    (Some(color), Content::Plots(plots)) => {
                        plots::draw_key(canvas, [x, middle], plots.marker(index), color, em);
                    }
                    (Some(_), Content::Curves(curves)) => {
                        curves::draw_key(canvas, [x, middle], key, curves.names[index].1);
                    }
                    (Some(_), Content::Landscape(figure)) => figure.draw_key(canvas, [x, middle], key, index, em),
                    (None, _) => {}
                }
                canvas.text_from([x + before, middle], end - x - before, &swatch.text);
                x += width + gap;
            }
            y += LINE * em;
        }
        y
    }
}

/// Returns a text in lines no wider than `width`, if its words are not wider.
fn wrapped(text: &str, width: f64, em: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if files::width(&format!("{line} {word}"), em) <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// The names of the pictures in the folder of a sweep.
pub const PICTURES: [&str; 2] = ["phase.png", "phase.svg"];
/// Dots per inch of the PNG.
pub const PICTURE_DPI: f64 = 300.0;
/// An upper limit of the bytes of a picture.
const MOST: u64 = 256 << 20;

/// Checks the pictures in the folder of a sweep. Those that this version would draw differently are checked as files of
/// their formats.
pub fn check_pictures(folder: &Path, findings: &mut Findings) {
    let there: Vec<&str> = PICTURES.into_iter().filter(|name| folder.join(name).symlink_metadata().is_ok()).collect();
    if there.is_empty() {
        return;
    }
    let result =
        plain_file::check(&folder.join(SweepResult::ARRAYS)).ok().and_then(|()| SweepResult::open(folder).ok());
    let drawing = result.filter(|result| result.diagram.is_complete()).and_then(|result| {
        let figure = Figure::as_in_the_paper(&result, false);
        figure.render(&Options { width_mm: figure.usual_width_mm(), ..Options::default() }).ok()
    });
    for name in there {
        let path = folder.join(name);
        let found = match plain_file::read(&path, Links::Refused, MOST) {
            Ok(found) => found,
            Err(error) => {
                findings.damaged(name, error.to_string());
                continue;
            }
        };
        let format = Format::of(&path).expect("pictures have the names of formats");
        let expected = drawing.as_ref().and_then(|drawing| drawing.to_file(format, PICTURE_DPI).ok());
        if expected.is_some_and(|expected| expected == found) {
            findings.intact(name, format!("shows {}", SweepResult::ARRAYS));
            continue;
        }
        let is_intact = if name.ends_with(".png") { is_png(&found) } else { is_svg(&found) };
        match is_intact {
            Ok(()) => findings.note(name, format!("is not what this version draws of {}", SweepResult::ARRAYS)),
            Err(wrong) => findings.damaged(name, format!("{wrong}; `valleyscope figure` draws it again")),
        }
    }
}

/// Reads all of a picture, with its checksums.
fn is_png(bytes: &[u8]) -> Result<(), String> {
    const LARGEST: u64 = 1 << 30;
    let mut limits = Limits::default();
    limits.max_alloc = Some(LARGEST);
    let decoder = PngDecoder::with_limits(Cursor::new(bytes), limits).map_err(|error| error.to_string())?;
    if decoder.total_bytes() > LARGEST {
        return Err("it is larger than any picture of a sweep".to_owned());
    }
    DynamicImage::from_decoder(decoder).map(drop).map_err(|error| error.to_string())?;
    if bytes.ends_with(b"IEND\xaeB`\x82") { Ok(()) } else { Err("it does not end as a PNG file does".to_owned()) }
}

/// Checks that the bytes begin and end as an SVG.
fn is_svg(bytes: &[u8]) -> Result<(), String> {
    let text = std::str::from_utf8(bytes).map_err(|error| format!("it is no text: {error}"))?;
    let begins = text.contains("<svg");
    match begins && text.trim_end().ends_with("</svg>") {
        true => Ok(()),
        false => Err("expected an SVG from <svg to </svg>, found another beginning or end".to_owned()),
    }
}
