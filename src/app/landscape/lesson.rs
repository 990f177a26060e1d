//! A lesson's text and navigation, and the panel in which a step shows an update rule and a figure.

use std::io::Cursor;

use egui::containers::menu::MenuButton;
use egui::text::LayoutJob;
use egui::{
    Align, Button, ColorImage, Context, FontSelection, Image, Label, Layout, RichText, ScrollArea, TextureHandle,
    TextureOptions, Theme, Ui, Vec2,
};
use image::DynamicImage;
use image::codecs::png::PngDecoder;
use valleyscope_engine::simulation::SimulationSpec;
use valleyscope_experiments::preset::{LessonFigure, LessonStep};
use valleyscope_experiments::view::Background;
use valleyscope_experiments::view::rule_summary::formulas_from_gradient;

use crate::app::shell::actions::{Action, LandscapeAction, Requests, choose, item};
use crate::app::shell::jobs::{Job, Progress};
use crate::app::widgets::theme::background;
use crate::export::lesson_page::figures::{ComputedFigure, alternative_text, title_of};

/// The entry of menus that shows the editor of the lesson.
pub(crate) const EDIT_LESSON: &str = "Edit the lesson…";
/// The width of the contents, in points.
const CONTENTS_WIDTH: f32 = 380.0;
/// The largest part of the window's height that the contents take.
const CONTENTS_HEIGHT: f32 = 0.6;

/// Shows the step `index` of a lesson, with its text and the buttons of the lesson. `described` are the settings of the
/// text that the run does not have: then the text fades, and says which ones it describes.
pub(crate) fn lesson_bar(
    ui: &mut Ui,
    index: usize,
    lesson: &[LessonStep],
    described: &[String],
    requests: &mut Requests,
) {
    let count = lesson.len();
    let go_to = |index| Action::Landscape(LandscapeAction::GoToStep(index));
    ui.horizontal(|ui| {
        let number = format!("{} / {count}", index + 1);
        let button = MenuButton::new(RichText::new(&number).heading().strong());
        let (contents, _) = button.ui(ui, |ui| contents(ui, index, lesson, requests));
        contents
            .on_hover_text("Contents: go to a step")
            .accessible_name(format!("Step {number}, contents of the lesson"));
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            let last = index + 1 >= count;
            let next = ui.add_enabled(!last, Button::new("Next")).on_hover_text("Page Down");
            if next.accessible_name("Next step of the lesson").clicked() {
                requests.actions.push(go_to(index + 1));
            }
            let back = ui.add_enabled(index > 0, Button::new("Back")).on_hover_text("Page Up");
            if back.accessible_name("Previous step of the lesson").clicked() {
                requests.actions.push(go_to(index - 1));
            }
            if ui.button("Again").on_hover_text("Apply this step's settings again and restart the run").clicked() {
                requests.actions.push(go_to(index));
            }
            ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
                ui.add(Label::new(step_text(ui, index, lesson, described)).wrap());
            });
        });
    });
}

fn step_text(ui: &Ui, index: usize, lesson: &[LessonStep], described: &[String]) -> LayoutJob {
    let mut job = LayoutJob::default();
    let mut append = |text: RichText| {
        text.heading().append_to(&mut job, ui.style(), FontSelection::Default, Align::Center);
    };
    if let Some(section) = lesson[..=index].iter().rev().find_map(|step| step.section.as_ref()) {
        append(RichText::new(format!("{section} ")).strong());
        append(RichText::new("· ").weak());
    }
    let text = RichText::new(&lesson[index].text);
    if described.is_empty() {
        append(text);
    } else {
        append(text.weak());
        let note = format!(" Settings changed: this text describes {}.", described.join(", "));
        append(RichText::new(note).color(ui.visuals().warn_fg_color));
    }
    job
}

/// Shows the sections and steps of a lesson, and the way to its editor. A click goes to a step.
fn contents(ui: &mut Ui, index: usize, lesson: &[LessonStep], requests: &mut Requests) {
    let height = CONTENTS_HEIGHT * ui.ctx().content_rect().height();
    ui.set_width(CONTENTS_WIDTH);
    ScrollArea::vertical().max_height(height).show(ui, |ui| {
        for (at, step) in lesson.iter().enumerate() {
            if let Some(section) = &step.section {
                ui.label(RichText::new(section).strong());
            }
            let sentence = first_sentence(&step.text);
            let entry = Button::selectable(at == index, format!("{}   {sentence}", at + 1)).truncate();
            if ui.add(entry).accessible_name(format!("Go to step {}: {sentence}", at + 1)).clicked() {
                choose(ui, Action::Landscape(LandscapeAction::GoToStep(at)), requests);
            }
        }
    });
    ui.separator();
    item(ui, EDIT_LESSON, "", Action::Landscape(LandscapeAction::EditLesson), requests);
}

/// Returns the text up to the end of its first sentence.
pub(crate) fn first_sentence(text: &str) -> &str {
    let line = text.trim().lines().next().unwrap_or_default();
    line.find(". ").map_or(line, |end| &line[..=end])
}

/// Dots per inch of pictures, which are enlarged on large screens.
const PICTURE_DPI: f64 = 250.0;
/// The distance of the lines of an update rule, in points.
const LINE_GAP: f32 = 2.0;
/// The least height of a picture, in points.
const LEAST_PICTURE: f32 = 120.0;

/// The pictures of a lesson's figures. They are made in the background, one after another, as soon as the lesson is
/// open. A figure is computed once, whatever points are marked on it.
#[derive(Default)]
pub(crate) struct LessonStage {
    /// The theme of the pictures.
    theme: Option<Theme>,
    computed: Vec<(String, ComputedFigure)>,
    pictures: Vec<(LessonFigure, Picture)>,
}

/// The picture of a figure.
enum Picture {
    Queued,
    Computing(Job<Result<MadePicture, String>>),
    Ready(TextureHandle),
    Failed(String),
}

/// A picture, and the figure that it shows.
struct MadePicture {
    image: ColorImage,
    computed: ComputedFigure,
}

impl LessonStage {
    pub(crate) fn is_needed(step: &LessonStep) -> bool {
        step.formula.is_some() || step.figure.is_some()
    }

    /// Makes the pictures of a lesson, those of the present step first. Call in each frame.
    pub(crate) fn prepare(&mut self, ctx: &Context, lesson: &[LessonStep], present: usize) {
        let wanted: Vec<&LessonFigure> = lesson.iter().filter_map(|step| step.figure.as_ref()).collect();
        let theme = ctx.theme();
        if self.theme.replace(theme) != Some(theme) {
            self.pictures.clear();
        }
        self.take_made(ctx);
        self.forget_unwanted(&wanted);
        for figure in &wanted {
            if self.pictures.iter().all(|(known, _)| known != *figure) {
                self.pictures.push(((*figure).clone(), Picture::Queued));
            }
        }
        if self.pictures.iter().any(|(_, picture)| matches!(picture, Picture::Computing(_))) {
            return;
        }
        let shown = lesson.get(present).and_then(|step| step.figure.as_ref());
        let queued = self.pictures.iter_mut().filter(|(_, picture)| matches!(picture, Picture::Queued));
        if let Some((figure, picture)) = queued.min_by_key(|(figure, _)| shown != Some(figure)) {
            let computed = self.computed.iter().find(|(name, _)| *name == figure.name).map(|(_, made)| made.clone());
            let figure = figure.clone();
            let make = move |progress: &Progress| make_picture(&figure, background(theme), computed, progress);
            *picture = Picture::Computing(Job::start(ctx, make));
        }
    }

    /// Takes the picture that has been made, if there is one.
    fn take_made(&mut self, ctx: &Context) {
        for (figure, picture) in &mut self.pictures {
            let Picture::Computing(job) = picture else { continue };
            let Some(made) = job.poll() else { continue };
            *picture = match made {
                Ok(Ok(MadePicture { image, computed })) => {
                    if self.computed.iter().all(|(name, _)| *name != figure.name) {
                        self.computed.push((figure.name.clone(), computed));
                    }
                    Picture::Ready(ctx.load_texture("figure of a lesson", image, TextureOptions::LINEAR))
                }
                Ok(Err(reason)) => Picture::Failed(reason),
                Err(failed) => Picture::Failed(failed.to_string()),
            };
        }
    }

    /// Forgets the figures that the lesson does not show any more. While a picture with another point is not ready, the
    /// one before stays, and a figure goes on being computed.
    fn forget_unwanted(&mut self, wanted: &[&LessonFigure]) {
        let is_wanted = |figure: &LessonFigure| wanted.contains(&figure);
        let is_ready = |figure: &&LessonFigure| {
            self.pictures.iter().any(|(known, picture)| known == *figure && matches!(picture, Picture::Ready(_)))
        };
        let missing: Vec<String> =
            wanted.iter().filter(|figure| !is_ready(figure)).map(|figure| figure.name.clone()).collect();
        let mut kept: Vec<LessonFigure> = Vec::new();
        // The newest of several pictures of a figure stands in for the missing one.
        let mut standing_in: Vec<&str> = Vec::new();
        for (figure, picture) in self.pictures.iter().rev().filter(|(figure, _)| missing.contains(&figure.name)) {
            let is_kept = match picture {
                Picture::Computing(_) => true,
                Picture::Ready(_) if !standing_in.contains(&figure.name.as_str()) => {
                    standing_in.push(&figure.name);
                    true
                }
                _ => false,
            };
            kept.extend(is_kept.then(|| figure.clone()));
        }
        self.pictures.retain(|(figure, _)| is_wanted(figure) || kept.contains(figure));
        self.computed.retain(|(name, _)| wanted.iter().any(|figure| figure.name == *name));
    }

    /// Returns the height that a step takes above plots in a presentation: that of its update rule, and a share of
    /// `available` for its figure.
    pub(crate) fn presented_height(ui: &Ui, step: &LessonStep, spec: &SimulationSpec, available: f32) -> f32 {
        let rule = |id| Some(spec.optimizers.iter().find(|it| it.id == id)?.rule.rule);
        let lines = step.formula.and_then(rule).map_or(0, |rule| {
            // With the line of the name, and the space below.
            formulas_from_gradient(&spec.noise.kind(), rule).len() + 2
        });
        let line = ui.text_style_height(&egui::TextStyle::Body) + LINE_GAP;
        let figure = if step.figure.is_some() { 0.55 * available } else { 0.0 };
        (lines as f32 * line + figure).min(0.75 * available)
    }

    /// Returns the share of the height that a step takes above plots at first.
    pub(crate) fn share(step: &LessonStep) -> f32 {
        match (&step.formula, &step.figure) {
            (Some(_), None) => 0.48,
            (None, _) => 0.52,
            (Some(_), Some(_)) => 0.65,
        }
    }

    /// Shows the update rule and the figure of a step. A presentation, whose type is large, leaves out the meanings of
    /// the formulas.
    pub(crate) fn ui(&self, ui: &mut Ui, step: &LessonStep, spec: &SimulationSpec, is_presented: bool) {
        ScrollArea::vertical().auto_shrink(false).show(ui, |ui| {
            if let Some(id) = step.formula {
                update_rule(ui, spec, id, !is_presented);
            }
            if let Some(figure) = &step.figure {
                show_figure(ui, figure, self.picture_of(figure));
            }
        });
    }

    /// Returns the picture of a figure, or while it is made that of the same figure with another point.
    fn picture_of(&self, figure: &LessonFigure) -> &Picture {
        let own = self.pictures.iter().find(|(known, _)| known == figure).map(|(_, picture)| picture);
        let is_stand_in = |(known, picture): &&(LessonFigure, Picture)| {
            known.name == figure.name && matches!(picture, Picture::Ready(_))
        };
        match own {
            Some(picture @ (Picture::Ready(_) | Picture::Failed(_))) => picture,
            _ => self.pictures.iter().rfind(is_stand_in).map_or(&Picture::Queued, |(_, picture)| picture),
        }
    }
}

/// Makes a picture, from the computed figure if it is known.
fn make_picture(
    figure: &LessonFigure,
    background: Background,
    known: Option<ComputedFigure>,
    progress: &Progress,
) -> Result<MadePicture, String> {
    let computed = match known {
        Some(known) => known,
        None => ComputedFigure::compute(&figure.name, || !progress.is_cancelled())
            .map_err(|error| error.to_string())?
            .ok_or("it was cancelled")?,
    };
    let png = computed.png(figure.point, background, PICTURE_DPI).map_err(|error| error.to_string())?;
    Ok(MadePicture { image: decoded(&png)?, computed })
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
    ui.spacing_mut().item_spacing.y = LINE_GAP;
    ui.label(RichText::new(format!("A step of {name}")).strong());
    let rule = optimizer.rule.rule;
    for (formula, meaning) in formulas_from_gradient(&spec.noise.kind(), rule) {
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
    ui.label(RichText::new(title_of(figure)).strong());
    match picture {
        Picture::Ready(texture) => {
            let room = Vec2::new(ui.available_width(), ui.available_height().max(LEAST_PICTURE));
            let image = Image::new(texture).max_size(room).fit_to_exact_size(fitting(texture.size_vec2(), room));
            ui.vertical_centered(|ui| {
                ui.add(image.alt_text(alternative_text(figure)));
            });
        }
        Picture::Failed(reason) => {
            ui.label(RichText::new(format!("This figure is not shown: {reason}.")).color(ui.visuals().error_fg_color));
        }
        Picture::Queued | Picture::Computing(_) => {
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn lesson(point: [f64; 2]) -> Vec<LessonStep> {
        let figure = LessonFigure { name: "fig2a".to_owned(), point: Some(point) };
        vec![LessonStep { figure: Some(figure), ..LessonStep::default() }]
    }

    /// Prepares the pictures of a lesson until all are ready.
    fn prepare_fully(stage: &mut LessonStage, ctx: &Context, lesson: &[LessonStep]) -> TextureHandle {
        let figure = lesson[0].figure.as_ref().expect("it has a figure");
        loop {
            stage.prepare(ctx, lesson, 0);
            match stage.pictures.iter().find(|(known, _)| known == figure) {
                Some((_, Picture::Ready(texture))) => return texture.clone(),
                Some((_, Picture::Failed(reason))) => panic!("{reason}"),
                _ => std::thread::sleep(Duration::from_millis(5)),
            }
        }
    }

    #[test]
    fn a_moved_point_keeps_the_computed_figure_and_its_picture_until_the_next_is_ready() {
        let (mut stage, ctx) = (LessonStage::default(), Context::default());
        let first = prepare_fully(&mut stage, &ctx, &lesson([1.0, 10.0]));
        // Each frame of a drag asks for another point.
        for frame in 0..20 {
            let moved = lesson([1.0 + 0.01 * f64::from(frame), 10.0]);
            stage.prepare(&ctx, &moved, 0);
            let shown = stage.picture_of(moved[0].figure.as_ref().expect("it has a figure"));
            assert!(matches!(shown, Picture::Ready(_)), "the figure disappears in frame {frame}");
            assert_eq!(stage.computed.len(), 1);
            let threads = stage.pictures.iter().filter(|(_, picture)| matches!(picture, Picture::Computing(_)));
            assert!(threads.count() <= 1, "several pictures are made at once");
        }
        let last = prepare_fully(&mut stage, &ctx, &lesson([2.0, 10.0]));
        assert!(first.id() != last.id());
        let other = if ctx.theme() == Theme::Dark { Theme::Light } else { Theme::Dark };
        ctx.set_theme(other);
        let themed = prepare_fully(&mut stage, &ctx, &lesson([2.0, 10.0]));
        assert!(themed.id() != last.id() && stage.computed.len() == 1, "another theme has another picture");
        stage.prepare(&ctx, &lesson([2.0, 10.0]), 0);
        assert_eq!(stage.pictures.len(), 1, "pictures of earlier points stay");
        stage.prepare(&ctx, &[], 0);
        assert!(stage.pictures.is_empty() && stage.computed.is_empty());
    }
}
