//! The figures that steps of lessons show: computed coarsely, then drawn for the window and the page.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use valleyscope_engine::quantity::ParticleCount;
use valleyscope_engine::sweep::{Backend, Diagram, Precision, SweepJob, SweepWork};
use valleyscope_experiments::preset::{LandscapePreset, LessonFigure, LessonStep, Preset, SweepPreset, built_ins};
use valleyscope_experiments::view::Background;

use crate::draw::{COLUMN_MM, Figure, FigureError, Options, Trajectories, TrajectoriesError};
use crate::sweep::result::SweepResult;
use crate::sweep::titles::as_changed;

const PARTICLES: u64 = 10;

/// The font size of a figure as wide as a column of a journal, in points. It must be readable on a screen, from a
/// distance.
const FONT_SIZE: f64 = 10.5;

/// The reason why a figure has no picture.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum LessonPictureError {
    #[error("expected one of {}, found `{name}`", LessonFigure::NAMES.join(", "))]
    UnknownName { name: String },
    #[error(transparent)]
    Trajectories(#[from] TrajectoriesError),
    #[error(transparent)]
    Figure(#[from] FigureError),
}

/// A computed figure, for any marked point.
#[derive(Clone, Debug)]
pub struct ComputedFigure(Figure);

pub fn preset_of(figure: &LessonFigure) -> Option<&'static Preset> {
    preset_named(&figure.name)
}

fn preset_named(name: &str) -> Option<&'static Preset> {
    let is_known = LessonFigure::NAMES.contains(&name);
    let mut presets = built_ins().iter().filter(|_| is_known);
    presets.find(|built_in| built_in.name == name).map(|built_in| &built_in.preset)
}

pub fn title_of(figure: &LessonFigure) -> &str {
    preset_of(figure).map_or(figure.name.as_str(), |preset| preset.title())
}

/// Describes the picture of a figure for readers who cannot see it.
pub fn alternative_text(figure: &LessonFigure) -> String {
    let marked = if figure.point.is_some() { ", with a marked point" } else { "" };
    format!("Figure {}{marked}", figure.name)
}

impl ComputedFigure {
    /// Computes the figure of this name in the calling thread. Returns `None` as soon as it is no longer wanted.
    ///
    /// # Errors
    ///
    /// Fails for an unknown name, and if the figure's simulation cannot be made.
    pub fn compute(name: &str, is_wanted: impl Fn() -> bool) -> Result<Option<ComputedFigure>, LessonPictureError> {
        let computed = match preset_named(name) {
            Some(Preset::Sweep(preset)) => diagram(preset, is_wanted),
            Some(Preset::Landscape(preset)) => landscape(preset, is_wanted)?,
            _ => return Err(LessonPictureError::UnknownName { name: name.to_owned() }),
        };
        Ok(computed.map(ComputedFigure))
    }

    /// Draws the figure with a point marked, on a background, as a PNG file with `dpi` dots per inch.
    ///
    /// # Errors
    ///
    /// Fails if the figure cannot be drawn.
    pub fn png(&self, point: Option<[f64; 2]>, background: Background, dpi: f64) -> Result<Vec<u8>, FigureError> {
        let figure = match point {
            Some(point) => self.0.clone().with_point(point),
            None => self.0.clone(),
        };
        let width_mm = figure.usual_width_mm();
        let font_size = FONT_SIZE * (width_mm / COLUMN_MM).sqrt();
        let options = Options { width_mm, font_size, background, ..Options::default() };
        figure.render(&options)?.to_png(dpi)
    }
}

fn diagram(preset: &SweepPreset, is_wanted: impl Fn() -> bool) -> Option<Figure> {
    let preset = as_changed(preset.clone(), preset.sweep.quick());
    let spec = Arc::new(preset.sweep);
    let precision = Precision::default();
    let work = SweepWork::new(SweepJob::new(Arc::clone(&spec), Backend::new(precision)));
    let mut diagram = Diagram::new(spec);
    work.run(|finished| {
        diagram.insert(finished.pixel, finished.cell);
        is_wanted()
    });
    let result = SweepResult { title: preset.title, description: preset.description, diagram, precision };
    result.diagram.is_complete().then(|| Figure::as_in_the_paper(&result, false))
}

fn landscape(preset: &LandscapePreset, is_wanted: impl Fn() -> bool) -> Result<Option<Figure>, LessonPictureError> {
    let mut preset = preset.clone();
    let particles = &mut preset.spec_mut().particles;
    *particles = (*particles).min(ParticleCount::clamped(PARTICLES));
    let mut trajectories = Trajectories::new(&preset)?;
    while !trajectories.is_complete() {
        if !is_wanted() {
            return Ok(None);
        }
        trajectories.advance();
    }
    Ok(Some(Figure::landscape(&trajectories)))
}

/// Dots per inch of the pictures. A figure as wide as a journal's page takes about 200 kB.
const DPI: f64 = 130.0;

#[derive(Serialize)]
pub(super) struct PageFigure {
    #[serde(skip)]
    figure: LessonFigure,
    title: String,
    /// A description of the picture.
    words: String,
    /// The picture, as the address of an image.
    image: String,
}

impl PageFigure {
    /// Makes the pictures of a lesson's figures, each once. Figures that differ only in their points are computed once.
    pub(super) fn of(lesson: &[LessonStep]) -> Result<Vec<PageFigure>, LessonPictureError> {
        let mut computed: Vec<(&str, ComputedFigure)> = Vec::new();
        let mut figures: Vec<PageFigure> = Vec::new();
        for figure in lesson.iter().filter_map(|step| step.figure.as_ref()) {
            let name = figure.name.as_str();
            if computed.iter().all(|(known, _)| *known != name) {
                computed.extend(ComputedFigure::compute(name, || true)?.map(|made| (name, made)));
            }
            let made = computed.iter().find(|(known, _)| *known == name);
            if let Some((_, made)) = made.filter(|_| figures.iter().all(|known| !known.is_of(figure))) {
                figures.push(PageFigure::new(figure, made)?);
            }
        }
        Ok(figures)
    }

    fn new(figure: &LessonFigure, made: &ComputedFigure) -> Result<PageFigure, LessonPictureError> {
        let png = made.png(figure.point, Background::Light, DPI)?;
        Ok(PageFigure {
            figure: figure.clone(),
            title: title_of(figure).to_owned(),
            words: alternative_text(figure),
            image: format!("data:image/png;base64,{}", STANDARD.encode(png)),
        })
    }

    pub(super) fn is_of(&self, figure: &LessonFigure) -> bool {
        self.figure == *figure
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(name: &str, point: Option<[f64; 2]>) -> LessonFigure {
        LessonFigure { name: name.to_owned(), point }
    }

    #[test]
    fn each_name_has_a_preset_and_diagrams_are_sweeps() {
        for name in LessonFigure::NAMES {
            let figure = figure(name, None);
            let preset = preset_of(&figure).expect("it is built in");
            assert_eq!(matches!(preset, Preset::Sweep(_)), figure.is_diagram(), "{name}");
        }
        assert!(preset_of(&figure("zoo", None)).is_none(), "a preset that is no figure");
        let error = ComputedFigure::compute("zoo", || true).map(|_| ());
        assert!(error.is_err_and(|error| error.to_string().contains("expected one of fig1c, saturation, fig2a")));
    }

    #[test]
    fn a_point_is_drawn_within_the_axes_only() {
        let computed = ComputedFigure::compute("fig2a", || true).expect("it is known").expect("it is wanted");
        let on = |point, background| computed.png(point, background, 50.0).expect("it can be drawn");
        let drawn = |point| on(point, Background::Light);
        assert!(on(None, Background::Dark) != drawn(None), "a dark figure is not dark");
        let plain = drawn(None);
        assert!(plain.starts_with(b"\x89PNG"));
        assert!(drawn(Some([1.0, 10.0])) != plain, "the point is not seen");
        assert!(drawn(Some([1.0, 10.0])) != drawn(Some([2.0, 10.0])), "the point is elsewhere");
        assert!(drawn(Some([9.0, 10.0])) == plain, "a point outside is drawn");
    }

    #[test]
    fn work_ends_when_the_figure_is_not_wanted() {
        for name in ["fig2a", "fig1c"] {
            assert!(ComputedFigure::compute(name, || false).expect("it is known").is_none(), "{name}");
        }
    }
}
