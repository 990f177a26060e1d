//! The panel beside the landscape in which a lesson's step shows an update rule and a figure.

use std::io::Cursor;
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::sync::{Arc, Weak};

use egui::{ColorImage, Context, Image, RichText, ScrollArea, TextureHandle, TextureOptions, Ui, Vec2};
use image::DynamicImage;
use image::codecs::png::PngDecoder;
use valleyscope_engine::simulation::SimulationSpec;
use valleyscope_experiments::preset::{LessonFigure, LessonStep};
use valleyscope_experiments::view::formula::{GRADIENT_MEANING, gradient_formula};
use valleyscope_experiments::view::rule_summary::formulas;

use crate::lesson_picture;

/// Dots per inch of pictures, which are enlarged on large screens.
const DPI: f64 = 250.0;
/// The least height of a picture, in points.
const LEAST_PICTURE: f32 = 120.0;

/// The pictures of a lesson's figures. They are computed in the background, one after another, as soon as the lesson is
/// open.
#[derive(Default)]
pub(super) struct LessonStage {
    figures: Vec<(LessonFigure, Picture)>,
}

/// The picture of a figure.
enum Picture {
    Waiting,
    /// A thread computes it, and ends early when the mark of interest is dropped.
    Coming {
        made: Receiver<Result<ColorImage, String>>,
        _interest: Arc<()>,
    },
    There(TextureHandle),
    Failed(String),
}

impl LessonStage {
    /// Returns whether a step shows anything here.
    pub(super) fn is_needed(step: &LessonStep) -> bool {
        step.formula.is_some() || step.figure.is_some()
    }

    /// Computes the figures of a lesson, those of the present step first. Call in each frame.
    pub(super) fn prepare(&mut self, ctx: &Context, lesson: &[LessonStep], present: usize) {
        let wanted = || lesson.iter().filter_map(|step| step.figure.as_ref());
        self.figures.retain(|(figure, _)| wanted().any(|wanted| wanted == figure));
        for figure in wanted() {
            if self.figures.iter().all(|(known, _)| known != figure) {
                self.figures.push((figure.clone(), Picture::Waiting));
            }
        }
        for (_, picture) in &mut self.figures {
            picture.take(ctx);
        }
        let is_busy = self.figures.iter().any(|(_, picture)| matches!(picture, Picture::Coming { .. }));
        if is_busy {
            return;
        }
        let shown = lesson.get(present).and_then(|step| step.figure.as_ref());
        let mut waiting: Vec<_> =
            self.figures.iter_mut().filter(|(_, picture)| matches!(picture, Picture::Waiting)).collect();
        waiting.sort_by_key(|(figure, _)| shown != Some(figure));
        if let Some((figure, picture)) = waiting.into_iter().next() {
            *picture = Picture::begin(ctx, figure.clone());
        }
    }

    /// Returns the share of the height that a step takes above plots.
    pub(super) fn share(step: &LessonStep) -> f32 {
        match (&step.formula, &step.figure) {
            (Some(_), None) => 0.48,
            (None, _) => 0.52,
            (Some(_), Some(_)) => 0.65,
        }
    }

    /// Shows the update rule and the figure of a step. A presentation, whose type is large, leaves out the meanings of
    /// the formulas.
    pub(super) fn ui(&self, ui: &mut Ui, step: &LessonStep, spec: &SimulationSpec, is_presented: bool) {
        ScrollArea::vertical().auto_shrink(false).show(ui, |ui| {
            if let Some(id) = step.formula {
                update_rule(ui, spec, id, !is_presented);
            }
            if let Some(figure) = &step.figure {
                let picture = self.figures.iter().find(|(known, _)| known == figure).map(|(_, picture)| picture);
                show_figure(ui, figure, picture.unwrap_or(&Picture::Waiting));
            }
        });
    }
}

impl Picture {
    /// Begins to compute a picture in a thread.
    fn begin(ctx: &Context, figure: LessonFigure) -> Picture {
        let (sender, made) = channel();
        let interest = Arc::new(());
        let (wanted, ctx): (Weak<()>, _) = (Arc::downgrade(&interest), ctx.clone());
        std::thread::spawn(move || {
            let png = lesson_picture::png(&figure, DPI, || wanted.strong_count() > 0);
            let image = png.map_err(|error| error.to_string()).and_then(|png| png.map(|png| decoded(&png)).transpose());
            if let Some(image) = image.transpose() {
                // The lesson may be closed.
                let _ = sender.send(image);
                ctx.request_repaint();
            }
        });
        Picture::Coming { made, _interest: interest }
    }

    /// Takes the picture if it is there.
    fn take(&mut self, ctx: &Context) {
        let Picture::Coming { made, .. } = self else { return };
        *self = match made.try_recv() {
            Ok(Ok(image)) => Picture::There(ctx.load_texture("figure of a lesson", image, TextureOptions::LINEAR)),
            Ok(Err(reason)) => Picture::Failed(reason),
            Err(TryRecvError::Empty) => return,
            Err(TryRecvError::Disconnected) => Picture::Failed("the thread that computes it failed".to_owned()),
        };
    }
}

fn decoded(png: &[u8]) -> Result<ColorImage, String> {
    let decoder = PngDecoder::new(Cursor::new(png)).map_err(|error| error.to_string())?;
    let image = DynamicImage::from_decoder(decoder).map_err(|error| error.to_string())?.into_rgb8();
    Ok(ColorImage::from_rgb([image.width() as usize, image.height() as usize], image.as_raw()))
}

/// Shows the update rule of an optimizer, with the gradient that it gets.
fn update_rule(ui: &mut Ui, spec: &SimulationSpec, id: u32, has_meanings: bool) {
    let (Some(optimizer), Some(name)) = (spec.optimizers.iter().find(|it| it.id == id), spec.name_of(id)) else {
        return;
    };
    ui.spacing_mut().item_spacing.y = 2.0;
    ui.label(RichText::new(format!("A step of {name}")).strong());
    let rule = optimizer.rule.rule;
    let gradient = (gradient_formula(&spec.noise.kind(), &rule), GRADIENT_MEANING);
    let lines = formulas(rule).into_iter().map(|formula| (formula.rule, formula.meaning));
    for (formula, meaning) in std::iter::once(gradient).chain(lines) {
        ui.horizontal_wrapped(|ui| {
            ui.spacing_mut().interact_size.y = 0.0;
            ui.label(RichText::new(formula).strong()).on_hover_text(meaning);
            if has_meanings {
                ui.weak(RichText::new(meaning).small());
            }
        });
    }
    ui.add_space(6.0);
}

fn show_figure(ui: &mut Ui, figure: &LessonFigure, picture: &Picture) {
    let title = lesson_picture::preset_of(figure).map_or(figure.name.as_str(), |preset| preset.title());
    ui.label(RichText::new(title).strong());
    match picture {
        Picture::There(texture) => {
            let room = Vec2::new(ui.available_width(), ui.available_height().max(LEAST_PICTURE));
            let image = Image::new(texture).max_size(room).fit_to_exact_size(fitting(texture.size_vec2(), room));
            ui.vertical_centered(|ui| {
                let marked = if figure.point.is_some() { ", with a marked point" } else { "" };
                ui.add(image.alt_text(format!("Figure {}{marked}", figure.name)));
            });
        }
        Picture::Failed(reason) => {
            ui.label(RichText::new(format!("This figure is not shown: {reason}.")).color(ui.visuals().error_fg_color));
        }
        Picture::Waiting | Picture::Coming { .. } => {
            ui.horizontal(|ui| {
                ui.spinner();
                ui.label("Computing this figure …");
            });
        }
    }
}

/// Returns the largest size of these proportions that has room.
fn fitting(size: Vec2, room: Vec2) -> Vec2 {
    size * (room / size).min_elem()
}
