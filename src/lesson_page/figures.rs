//! The figures that the steps of a lesson show, as pictures.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use valleyscope_experiments::preset::{LessonFigure, LessonStep};

use crate::lesson_picture::{ComputedFigure, LessonPictureError, alternative_text, title_of};

/// Dots per inch of the pictures. A figure as wide as a journal's page takes about 200 kB.
const DPI: f64 = 130.0;

/// A figure with its picture.
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
    /// Makes the pictures of a lesson's figures, each once. Those that differ only in their points are computed once.
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
        let png = made.png(figure.point, DPI)?;
        Ok(PageFigure {
            figure: figure.clone(),
            title: title_of(figure).to_owned(),
            words: alternative_text(figure),
            image: format!("data:image/png;base64,{}", STANDARD.encode(png)),
        })
    }

    /// Returns whether it is the picture of a figure.
    pub(super) fn is_of(&self, figure: &LessonFigure) -> bool {
        self.figure == *figure
    }
}
