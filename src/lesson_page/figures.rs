//! The figures that the steps of a lesson show, as pictures.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use valleyscope_experiments::preset::{LessonFigure, LessonStep};

use crate::lesson_picture::{self, LessonPictureError};

/// Dots per inch of the pictures. A figure as wide as a journal's page takes about 200 kB.
const DPI: f64 = 130.0;

/// A figure with its picture.
#[derive(Serialize)]
pub(super) struct PageFigure {
    #[serde(skip)]
    figure: LessonFigure,
    title: &'static str,
    /// A description of the picture.
    words: String,
    /// The picture, as the address of an image.
    image: String,
}

impl PageFigure {
    /// Computes the figures of a lesson, each once.
    pub(super) fn of(lesson: &[LessonStep]) -> Result<Vec<PageFigure>, LessonPictureError> {
        let mut figures: Vec<PageFigure> = Vec::new();
        for figure in lesson.iter().filter_map(|step| step.figure.as_ref()) {
            if figures.iter().all(|known| known.figure != *figure) {
                figures.push(PageFigure::new(figure)?);
            }
        }
        Ok(figures)
    }

    fn new(figure: &LessonFigure) -> Result<PageFigure, LessonPictureError> {
        let png = lesson_picture::png(figure, DPI, || true)?.unwrap_or_default();
        let marked = if figure.point.is_some() { ", with a marked point" } else { "" };
        Ok(PageFigure {
            figure: figure.clone(),
            title: lesson_picture::preset_of(figure).map_or("", |preset| preset.title()),
            words: format!("Figure {}{marked}", figure.name),
            image: format!("data:image/png;base64,{}", STANDARD.encode(png)),
        })
    }

    /// Returns whether it is the picture of a figure.
    pub(super) fn is_of(&self, figure: &LessonFigure) -> bool {
        self.figure == *figure
    }
}
