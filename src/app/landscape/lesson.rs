//! A lesson's text and navigation, and the panel in which a step shows an update rule and a figure.

use std::collections::BTreeMap;
use std::sync::Arc;

use egui::containers::menu::MenuButton;
use egui::text::LayoutJob;
use egui::{
    Align, Button, Color32, ColorImage, Context, FontId, Galley, Image, Layout, RichText, ScrollArea, TextFormat,
    TextStyle, TextureHandle, TextureOptions, Theme, Ui, Vec2, vec2,
};
use valleyscope_engine::simulation::SimulationSpec;
use valleyscope_experiments::preset::{LessonFigure, LessonStep};
use valleyscope_experiments::view::Background;
use valleyscope_experiments::view::formula::{Formula, formulas, result_text};
use valleyscope_experiments::view::ticks::grouped;

use super::canvas::particle::result_color;
use super::live::Live;
use crate::app::shell::actions::{Action, LandscapeAction, Requests, choose, item};
use crate::app::shell::export::decoded;
use crate::app::shell::jobs::{Job, Progress};
use crate::app::widgets::theme::{background, primary_button};
use crate::export::lesson_page::figures::{ComputedFigure, alternative_text, title_of};

/// The entry of menus that shows the editor of the lesson.
pub(crate) const EDIT_LESSON: &str = "Edit the lesson…";
/// The width of the contents, in points.
const CONTENTS_WIDTH: f32 = 380.0;
/// The largest part of the window's height that the contents take.
const CONTENTS_HEIGHT: f32 = 0.6;

/// The sizes of a lesson's text in points, of which the first is taken that needs at most two lines.
const TEXT_SIZES: [f32; 7] = [17.0, 16.0, 15.0, 14.0, 13.0, 12.0, 11.0];

/// Shows the step `index` of a lesson, with its text and the buttons of the lesson. `described` lists the settings of the
/// text from which the run differs; if there are any, the text fades and a note names them. In a presentation the bar has
/// the same height in all steps.
pub(crate) fn lesson_bar(
    ui: &mut Ui,
    (index, lesson): (usize, &[LessonStep]),
    described: &[String],
    is_presented: bool,
    requests: &mut Requests,
) {
    let count = lesson.len();
    let lines = if is_presented { 2.0 } else { 1.0 };
    let height = lines * ui.text_style_height(&TextStyle::Heading);
    let size = vec2(ui.available_width(), height.max(ui.spacing().interact_size.y));
    ui.allocate_ui_with_layout(size, Layout::right_to_left(Align::Center), |ui| {
        let is_last = index + 1 >= count;
        let (text, name, action) = match is_last {
            false => ("Next", "Next step of the lesson", LandscapeAction::GoToStep(index + 1)),
            true => ("End", "End of the lesson", LandscapeAction::EndLesson),
        };
        if ui.add(primary_button(ui, text)).on_hover_text("Page Down").accessible_name(name).clicked() {
            requests.actions.push(Action::Landscape(action));
        }
        let back = ui.add_enabled(index > 0, Button::new("Back")).on_hover_text("Page Up");
        if back.accessible_name("Previous step of the lesson").clicked() {
            requests.actions.push(Action::Landscape(LandscapeAction::GoToStep(index - 1)));
        }
        if ui.button("Again").on_hover_text("Apply this step's settings again and restart the run").clicked() {
            requests.actions.push(Action::Landscape(LandscapeAction::GoToStep(index)));
        }
        ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
            let number = format!("{} / {count}", index + 1);
            let button = MenuButton::new(RichText::new(&number).heading().strong());
            let (menu, _) = button.ui(ui, |ui| contents(ui, index, lesson, requests));
            menu.on_hover_text("Contents: go to a step")
                .accessible_name(format!("Step {number}, contents of the lesson"));
            let width = ui.available_width();
            let laid_out = |size| step_text(ui, (index, lesson), described, size, width);
            let text = largest(TEXT_SIZES, laid_out, |text| text.rows.len() <= 2);
            ui.label(text);
        });
    });
}

/// Returns the layout in the first of the sizes that fits, or else in the last one.
fn largest<T>(sizes: impl IntoIterator<Item = f32>, laid_out: impl Fn(f32) -> T, fits: impl Fn(&T) -> bool) -> T {
    let mut all = sizes.into_iter().map(laid_out);
    let mut last = all.next().expect("there is a size");
    while !fits(&last)
        && let Some(next) = all.next()
    {
        last = next;
    }
    last
}

fn step_text(
    ui: &Ui,
    (index, lesson): (usize, &[LessonStep]),
    described: &[String],
    size: f32,
    width: f32,
) -> Arc<Galley> {
    let mut job = LayoutJob::default();
    job.wrap.max_width = width;
    let visuals = ui.visuals();
    let mut append = |text: &str, color| job.append(text, 0.0, TextFormat::simple(FontId::proportional(size), color));
    if let Some(section) = lesson[..=index].iter().rev().find_map(|step| step.section.as_ref()) {
        append(section, visuals.strong_text_color());
        append(" · ", visuals.weak_text_color());
    }
    let holds = described.is_empty();
    append(&lesson[index].text, if holds { visuals.text_color() } else { visuals.weak_text_color() });
    if !holds {
        let note = format!(" Settings changed: this text describes {}.", described.join(", "));
        append(&note, visuals.warn_fg_color);
    }
    ui.painter().layout_job(job)
}

/// Shows the sections and steps of a lesson, and the way to its editor. A click goes to a step.
fn contents(ui: &mut Ui, index: usize, lesson: &[LessonStep], requests: &mut Requests) {
    let height = CONTENTS_HEIGHT * ui.ctx().content_rect().height();
    ui.set_width(CONTENTS_WIDTH);
    ScrollArea::vertical().max_height(height).show(ui, |ui| entries(ui, Some(index), lesson, requests));
    ui.separator();
    item(ui, EDIT_LESSON, "", Action::Landscape(LandscapeAction::EditLesson), requests);
}

/// Shows the steps and their sections: while one of them is present by their first sentences, and at the end by their whole
/// texts. A click goes to a step.
pub(super) fn entries(ui: &mut Ui, present: Option<usize>, lesson: &[LessonStep], requests: &mut Requests) {
    for (at, step) in lesson.iter().enumerate() {
        if let Some(section) = &step.section {
            ui.label(RichText::new(section).strong());
        }
        let text = if present.is_some() { step.first_sentence() } else { &step.text };
        let entry = Button::selectable(present == Some(at), format!("{}   {text}", at + 1));
        let entry = if present.is_some() { entry.truncate() } else { entry.wrap() };
        if ui.add(entry).accessible_name(format!("Go to step {}: {text}", at + 1)).clicked() {
            choose(ui, Action::Landscape(LandscapeAction::GoToStep(at)), requests);
        }
    }
}

/// Dots per inch of pictures, which are enlarged on large screens.
const PICTURE_DPI: f64 = 250.0;
/// The least height of a picture, in points.
const LEAST_PICTURE: f32 = 120.0;

/// The figures of a lesson by their names. Their pictures are made in the background, one after another, as soon as the
/// lesson is open.
#[derive(Default)]
pub(crate) struct LessonStage {
    figures: BTreeMap<String, StagedFigure>,
    /// The picture that is being made.
    job: Option<(Pictured, Job<Result<MadePicture, String>>)>,
}

/// The subject of a picture: a figure with its point, in a theme.
type Pictured = (LessonFigure, Theme);

/// A figure, which is computed once, whatever point is marked on it.
#[derive(Default)]
struct StagedFigure {
    computed: Option<ComputedFigure>,
    /// The newest picture, or the reason why there is none.
    picture: Option<(Pictured, Result<TextureHandle, String>)>,
}

/// A picture, and the figure that it shows.
type MadePicture = (ColorImage, ComputedFigure);

impl LessonStage {
    pub(crate) fn is_needed(step: &LessonStep) -> bool {
        step.formula.is_some() || step.figure.is_some()
    }

    /// Makes the pictures of a lesson, that of the present step first. Where steps mark several points on a figure, it
    /// has that of the present step. Call in each frame.
    pub(crate) fn prepare(&mut self, ctx: &Context, lesson: &[LessonStep], present: usize) {
        let figures = lesson.get(present).into_iter().chain(lesson).filter_map(|step| step.figure.as_ref());
        let mut wanted: Vec<&LessonFigure> = Vec::new();
        for figure in figures {
            if wanted.iter().all(|other| other.name != figure.name) {
                wanted.push(figure);
            }
        }
        let is_wanted = |name: &str| wanted.iter().any(|figure| figure.name == name);
        self.figures.retain(|name, _| is_wanted(name));
        self.job.take_if(|((figure, _), _)| !is_wanted(&figure.name));
        self.take_made(ctx);
        let theme = ctx.theme();
        let is_missing = |figure: &&LessonFigure| {
            let picture = self.figures.get(&figure.name).and_then(|staged| staged.picture.as_ref());
            picture.is_none_or(|((of, made_in), _)| (of, *made_in) != (*figure, theme))
        };
        if self.job.is_none()
            && let Some(figure) = wanted.into_iter().find(is_missing)
        {
            let computed = self.figures.get(&figure.name).and_then(|staged| staged.computed.clone());
            let made = figure.clone();
            let make = move |progress: &Progress| make_picture(&made, background(theme), computed, progress);
            self.job = Some(((figure.clone(), theme), Job::start(ctx, make)));
        }
    }

    /// Takes the picture that has been made, if there is one.
    fn take_made(&mut self, ctx: &Context) {
        let Some(made) = self.job.as_ref().and_then(|(_, job)| job.poll()) else { return };
        let Some((pictured, _)) = self.job.take() else { return };
        let staged = self.figures.entry(pictured.0.name.clone()).or_default();
        let picture = made.map_err(|failed| failed.to_string()).flatten().map(|(image, computed)| {
            staged.computed = Some(computed);
            ctx.load_texture("figure of a lesson", image, TextureOptions::LINEAR)
        });
        staged.picture = Some((pictured, picture));
    }

    /// Returns the share of the height that a step takes above plots at first.
    pub(crate) fn share(step: &LessonStep) -> f32 {
        match (&step.formula, &step.figure) {
            (Some(_), None) => 0.45,
            (None, _) => 0.52,
            (Some(_), Some(_)) => 0.65,
        }
    }

    /// Shows the update rule and the figure of a step.
    pub(crate) fn ui(&self, ui: &mut Ui, step: &LessonStep, spec: &SimulationSpec, live: &Live) {
        ScrollArea::vertical().auto_shrink(false).show(ui, |ui| {
            update_rule(ui, step, spec, live, None);
            if let Some(figure) = &step.figure {
                show_figure(ui, figure, self.picture_of(figure));
            }
        });
    }

    /// Shows the update rule of a step, whole, and its figure, above the plots of a presentation if it has any.
    pub(crate) fn presentation(
        &self,
        ui: &mut Ui,
        step: &LessonStep,
        spec: &SimulationSpec,
        live: &Live,
        has_plots: bool,
    ) {
        let room = ui.available_height();
        update_rule(ui, step, spec, live, Some(RULE_SHARE * room));
        if let Some(figure) = &step.figure {
            let height = if has_plots { FIGURE_SHARE * room } else { room };
            let size = vec2(ui.available_width(), height.min(ui.available_height()));
            ui.allocate_ui(size, |ui| show_figure(ui, figure, self.picture_of(figure)));
        }
        if has_plots {
            ui.separator();
        }
    }

    /// Returns the picture of a figure, or while it is made that of the same figure with another point.
    fn picture_of(&self, figure: &LessonFigure) -> Option<&Result<TextureHandle, String>> {
        self.figures.get(&figure.name)?.picture.as_ref().map(|(_, picture)| picture)
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
    Ok((decoded(&png)?, computed))
}

/// The sizes of an update rule in a presentation, in points, of which the first is taken that leaves room for plots.
const RULE_SIZES: [f32; 9] = [16.0, 15.0, 14.0, 13.0, 12.0, 11.0, 10.0, 9.0, 8.0];
/// The largest of these sizes in which lines may be broken.
const LARGEST_BROKEN: f32 = 12.0;
/// The shares of the height that an update rule and a figure take above plots in a presentation.
const RULE_SHARE: f32 = 0.55;
const FIGURE_SHARE: f32 = 0.55;

/// Shows the update rule of a step with the numbers of a particle in it. In a presentation it is whole, as large as fits
/// into `room`, and leaves out the meanings. It gets no larger and no lower again, as the numbers change at each step.
fn update_rule(ui: &mut Ui, step: &LessonStep, spec: &SimulationSpec, live: &Live, room: Option<f32>) {
    let Some(name) = step.formula.and_then(|id| spec.name_of(id)) else { return };
    let laid_out = |size| ui.painter().layout_job(rule_text(ui, (step, &name), spec, live, size, room.is_none()));
    let id = ui.scope_id().with(("rule", &step.text, room.map(|room| room as u32)));
    let [smallest, highest]: [f32; 2] = ui.data(|data| data.get_temp(id)).unwrap_or([RULE_SIZES[0], 0.0]);
    let (size, rule) = match room {
        Some(room) => {
            let sizes = RULE_SIZES.into_iter().filter(|size| *size <= smallest);
            let is_unbroken = |rule: &Galley| rule.rows.len() == rule.text().lines().count();
            largest(
                sizes,
                |size| (size, laid_out(size)),
                |(size, rule)| rule.size().y <= room && (is_unbroken(rule) || *size <= LARGEST_BROKEN),
            )
        }
        None => (smallest, laid_out(TextStyle::Body.resolve(ui.style()).size)),
    };
    let height = rule.size().y.max(highest);
    ui.data_mut(|data| data.insert_temp(id, [size, if size < smallest { 0.0 } else { height }]));
    ui.allocate_ui(vec2(ui.available_width(), height), |ui| {
        ui.set_min_height(height);
        ui.label(rule);
    });
}

/// Lays out the lines of an update rule, with the term of the step highlighted and the numbers of a particle below its
/// line, or below the last one.
fn rule_text(
    ui: &Ui,
    (step, name): (&LessonStep, &str),
    spec: &SimulationSpec,
    live: &Live,
    size: f32,
    has_meanings: bool,
) -> LayoutJob {
    let trace = live.session(live.chosen).and_then(|session| session.step_trace.as_deref());
    let trace = trace.filter(|trace| Some(trace.id.optimizer) == step.formula);
    let visuals = ui.visuals();
    let (strong, weak, small) = (visuals.strong_text_color(), visuals.weak_text_color(), 0.8 * size);
    let mut job = LayoutJob::default();
    job.wrap.max_width = ui.available_width();
    let mut append = |text: &str, gap, size, color, background| {
        job.append(text, gap, TextFormat { background, ..TextFormat::simple(FontId::proportional(size), color) });
    };
    let plain = Color32::TRANSPARENT;
    append(&format!("A step of {name}"), 0.0, size, strong, plain);
    if let Some(trace) = trace {
        let of = format!("particle {}, step {}", trace.id.particle + 1, grouped(trace.step()));
        append(&of, size, small, weak, plain);
    }
    let lines = step.rule_lines(spec);
    let term = step.term.as_deref().filter(|term| !term.is_empty());
    let focus = lines.iter().position(|(line, _)| term.is_some_and(|term| line.contains(term)));
    let focus = focus.unwrap_or(lines.len().saturating_sub(1));
    for (index, (line, meaning)) in lines.iter().enumerate() {
        append("\n", 0.0, size, strong, plain);
        match term.and_then(|term| Some((line.split_once(term)?, term))) {
            Some(((before, after), term)) => {
                append(before, 0.0, size, strong, plain);
                append(term, 0.0, size, strong, visuals.selection.bg_fill);
                append(after, 0.0, size, strong, plain);
            }
            None => append(line, 0.0, size, strong, plain),
        }
        if has_meanings {
            append(&format!("\n{meaning}"), 0.0, small, weak, plain);
        }
        if index == focus {
            let symbol = |line: &str| line.split(' ').next().map(str::to_owned);
            let of_line = |formula: &Formula| symbol(&formula.rule) == symbol(line);
            let filled = trace.and_then(|trace| formulas(trace).into_iter().find(of_line));
            for (axis, name) in ["x", "y"].into_iter().enumerate() {
                append(&format!("\n{name}"), 0.0, small, weak, plain);
                let numbers = filled.as_ref().map_or("—", |formula| formula.filled[axis].as_str());
                append(numbers, 0.6 * small, small, visuals.text_color(), plain);
                let result = |formula: &Formula| format!("= {}", result_text(formula.result[axis]));
                append(&filled.as_ref().map_or_else(String::new, result), 0.5 * small, small, result_color(ui), plain);
            }
        }
    }
    job
}

fn show_figure(ui: &mut Ui, figure: &LessonFigure, picture: Option<&Result<TextureHandle, String>>) {
    ui.label(RichText::new(title_of(figure)).strong());
    match picture {
        Some(Ok(texture)) => {
            let room = Vec2::new(ui.available_width(), ui.available_height().max(LEAST_PICTURE));
            let image = Image::new(texture).max_size(room).fit_to_exact_size(fitting(texture.size_vec2(), room));
            ui.vertical_centered(|ui| {
                ui.add(image.alt_text(alternative_text(figure)));
            });
        }
        Some(Err(reason)) => {
            ui.label(RichText::new(format!("This figure is not shown: {reason}.")).color(ui.visuals().error_fg_color));
        }
        None => {
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

    /// Prepares the picture of a lesson's first step until it is ready.
    fn prepare_fully(stage: &mut LessonStage, ctx: &Context, lesson: &[LessonStep]) -> TextureHandle {
        let figure = lesson[0].figure.as_ref().expect("it has a figure");
        loop {
            stage.prepare(ctx, lesson, 0);
            match stage.figures.get(&figure.name).and_then(|staged| staged.picture.as_ref()) {
                Some(((of, theme), Ok(texture))) if (of, *theme) == (figure, ctx.theme()) => return texture.clone(),
                Some((_, Err(reason))) => panic!("{reason}"),
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
            assert!(matches!(shown, Some(Ok(_))), "the figure disappears in frame {frame}");
            assert!(stage.figures.len() == 1 && stage.figures["fig2a"].computed.is_some());
        }
        let last = prepare_fully(&mut stage, &ctx, &lesson([2.0, 10.0]));
        assert!(first.id() != last.id());
        let other = if ctx.theme() == Theme::Dark { Theme::Light } else { Theme::Dark };
        ctx.set_theme(other);
        let themed = prepare_fully(&mut stage, &ctx, &lesson([2.0, 10.0]));
        assert!(themed.id() != last.id(), "another theme has another picture");
        stage.prepare(&ctx, &[], 0);
        assert!(stage.figures.is_empty() && stage.job.is_none());
    }
}
