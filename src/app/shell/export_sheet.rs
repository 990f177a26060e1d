//! The sheet of every export: the kinds of files that a tab has, a preview, the options, and one button.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use egui::accesskit::Role;
use egui::emath::GuiRounding as _;
use egui::{
    Align, Button, Color32, ColorImage, Context, DragValue, Frame, Grid, Id, Label, Layout, Margin, Modal, Popup,
    ProgressBar, Rect, RichText, ScrollArea, Sense, Spinner, Stroke, StrokeKind, TextEdit, TextureHandle,
    TextureOptions, Theme, Ui, UiBuilder, Vec2, WidgetInfo, pos2, vec2,
};
use valleyscope_experiments::preset::LandscapePreset;

use super::actions::{Action, Requests};
use super::export::{ExportKind, ExportOptions, ExportSource, FigureOptions, FileFormat, Made, Preview, decoded, size};
use super::files::{FileContent, Purpose};
use super::jobs::{Exports, Job, Progress};
use super::tabs::TabName;
use crate::app::landscape::animation_export::AnimationOptions;
use crate::app::landscape::picture::PictureOptions;
use crate::app::widgets::form::{cell, check_box, radio_button, titled, visible_scroll_bar};
use crate::app::widgets::theme::{frame_fields, primary_button};
use crate::draw::{Format, Options};

/// The size of the sheet in a small window that has room for it and its part of a larger one, and the room around it, in
/// points.
const SIZE: Vec2 = vec2(1120.0, 640.0);
const PART: f32 = 0.85;
const AROUND: Vec2 = vec2(72.0, 72.0);
/// The widths of the kinds and of the options, the heights of the heading and of the buttons, and the gap between parts,
/// in points.
const KINDS: f32 = 168.0;
const OPTIONS: f32 = 318.0;
const HEADING: f32 = 28.0;
const BUTTONS: f32 = 30.0;
const GAP: f32 = 16.0;
/// The width of the names of options, and the space after the field of a title, in points.
const NAMES: f32 = 76.0;
const TITLE_END: f32 = 40.0;
/// The width of the numbers of a lesson's steps, in points.
const STEP_NUMBER: f32 = 22.0;
/// The space around the preview's picture, in points.
const MAT: f32 = 16.0;
/// The height of the picture of a lesson, in points.
const PICTURE: f32 = 170.0;
/// The most bytes of a text in the preview.
const TEXT: usize = 6_000;
/// The size of the bar of progress, in points.
const BAR: Vec2 = vec2(200.0, 8.0);
/// The time for which the preview shows each frame of an animation.
const FRAME_TIME: Duration = Duration::from_millis(450);

/// The sheet, and the options of the last export.
pub(crate) struct ExportSheet {
    open: Option<OpenSheet>,
    options: ExportOptions,
    /// The indices of the format and of the content that were chosen last.
    choices: BTreeMap<(TabName, ExportKind), [usize; 2]>,
    /// Pictures follow the window's theme until another is chosen.
    is_theme_chosen: bool,
    /// The animations in progress.
    pub exports: Exports,
}

impl Default for ExportSheet {
    fn default() -> Self {
        let options = ExportOptions {
            kind: ExportKind::Figure,
            format: FileFormat::Image(Format::Pdf),
            content: 0,
            content_name: "",
            title: String::new(),
            is_title_typed: false,
            picture: PictureOptions::new(Theme::Dark),
            figure: FigureOptions {
                has_title: false,
                width_mm: None,
                font_size: Options::default().font_size,
                dpi: 300.0,
            },
            animation: AnimationOptions::default(),
            preview_px: [1, 1],
        };
        let (choices, exports) = Default::default();
        ExportSheet { open: None, options, choices, is_theme_chosen: false, exports }
    }
}

struct OpenSheet {
    tab: TabName,
    source: Arc<dyn ExportSource>,
    /// The file of the last options, or the reason why there is none.
    made: Option<(ExportOptions, Result<Made, String>)>,
    textures: Vec<TextureHandle>,
    /// The file in progress, and its options.
    job: Option<(ExportOptions, Job<Result<Made, String>>)>,
    /// True once the button was pressed, until the file is made.
    is_asked: bool,
}

/// The pressed button.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pressed {
    Export,
    Copy,
    Cancel,
}

impl ExportSheet {
    /// Opens the sheet for a tab's content, with a kind of that tab, or with the kind that was chosen last.
    pub(crate) fn open(
        &mut self,
        ctx: &Context,
        tab: TabName,
        kind: Option<ExportKind>,
        source: Arc<dyn ExportSource>,
    ) {
        Popup::close_all(ctx);
        let kinds = tab.info().exports;
        let kind = kind.unwrap_or(self.options.kind);
        self.options.kind = if kinds.contains(&kind) { kind } else { kinds[0] };
        (self.options.title, self.options.is_title_typed) = (source.title(), false);
        if !self.is_theme_chosen {
            self.options.picture.theme = ctx.theme();
        }
        source.suggest(&mut self.options);
        self.open = Some(OpenSheet { tab, source, made: None, textures: Vec::new(), job: None, is_asked: false });
    }

    /// Shows the sheet while it is open; returns the request to save the file.
    pub(crate) fn show(&mut self, ctx: &Context, requests: &mut Requests) -> Option<Purpose> {
        requests.actions.extend(self.exports.ui(ctx));
        let sheet = self.open.as_mut()?;
        let options = &mut self.options;
        let choice = self.choices.entry((sheet.tab, options.kind)).or_default();
        let theme = options.picture.theme;
        let mut pressed = None;
        let frame = Frame::popup(&ctx.global_style()).inner_margin(Margin::same(18));
        let modal = Modal::new(Id::unique("export")).frame(frame).show(ctx, |ui| {
            pressed = sheet.contents(ui, options, choice);
        });
        self.is_theme_chosen |= options.picture.theme != theme;
        let [format, content] = *self.choices.entry((sheet.tab, options.kind)).or_default();
        let formats = options.kind.formats(&*sheet.source);
        options.format = formats[format.min(formats.len() - 1)].0;
        let contents = sheet.source.contents(options.kind);
        options.content = content.min(contents.len().saturating_sub(1));
        options.content_name = contents.get(options.content).copied().unwrap_or_default();
        sheet.update(ctx, options);
        if pressed == Some(Pressed::Cancel) || modal.should_close() {
            self.open = None;
            return None;
        }
        sheet.is_asked |= pressed == Some(Pressed::Export);
        let made = sheet.made.as_ref().filter(|(of, _)| *of == *options);
        let Some((_, Ok(made))) = made else {
            sheet.is_asked &= made.is_none();
            return None;
        };
        if pressed == Some(Pressed::Copy)
            && let Purpose::Save { content: FileContent::Bytes(png), .. } = &made.purpose
            && let Ok(image) = decoded(png)
        {
            requests.actions.push(Action::CopyImage(Arc::new(image)));
        }
        let purpose = sheet.is_asked.then(|| made.purpose.clone())?;
        self.open = None;
        Some(purpose)
    }
}

impl OpenSheet {
    /// Takes the file in progress, and begins the next one where the options have changed.
    fn update(&mut self, ctx: &Context, options: &ExportOptions) {
        // Another content does not wait for the end of one that takes long to cancel.
        self.job.take_if(|(of, _)| (of.kind, of.content) != (options.kind, options.content));
        if let Some((of, job)) = &self.job {
            if of != options {
                job.progress().cancel();
            }
            ctx.request_repaint_after(Duration::from_millis(50));
            let Some(ended) = job.poll() else { return };
            let made = ended.unwrap_or_else(|failed| Err(format!("Nothing was made: {failed}.")));
            if let Some((of, _)) = self.job.take().filter(|(of, _)| of == options) {
                let pictures = made.as_ref().map_or(&[][..], |made| made.preview.pictures());
                let texture =
                    |picture: &ColorImage| ctx.load_texture("preview", picture.clone(), TextureOptions::LINEAR);
                self.textures = pictures.iter().map(texture).collect();
                self.made = Some((of, made));
            }
        }
        if self.made.as_ref().is_none_or(|(of, _)| of != options) {
            let (source, of) = (Arc::clone(&self.source), options.clone());
            let job = Job::with_parts(ctx, source.parts(options), move |progress| source.make(&of, progress));
            self.job = Some((options.clone(), job));
        }
    }

    fn contents(&self, ui: &mut Ui, options: &mut ExportOptions, choice: &mut [usize; 2]) -> Option<Pressed> {
        let room = ui.ctx().content_rect().size() - AROUND;
        let size = SIZE.max(PART * room).min(room);
        let whole = ui.allocate_exact_size(size, Sense::hover()).0;
        let inside = whole.with_min_y(whole.top() + HEADING + 6.0).with_max_y(whole.bottom() - BUTTONS - GAP);
        let part = |ui: &mut Ui, name: &str, area: Rect, add: &mut dyn FnMut(&mut Ui)| {
            ui.scope_builder(UiBuilder::new().id_salt(name).max_rect(area), |ui| add(ui));
        };
        part(ui, "heading", whole.with_max_y(whole.top() + HEADING), &mut |ui| {
            ui.label(RichText::new("Export").heading().strong());
        });
        part(ui, "kinds", inside.with_max_x(inside.left() + KINDS), &mut |ui| {
            for kind in self.tab.info().exports {
                kind_button(ui, *kind, &mut options.kind);
            }
        });
        let middle = inside.with_min_x(inside.left() + KINDS + GAP).with_max_x(inside.right() - OPTIONS - GAP);
        let px = |side: f32| ((side - 2.0 * MAT) * ui.pixels_per_point()).max(1.0) as u32;
        options.preview_px = [px(middle.width()), px(middle.height())];
        part(ui, "preview", middle, &mut |ui| self.show_preview(ui, middle, options));
        part(ui, "options", inside.with_min_x(inside.right() - OPTIONS), &mut |ui| {
            visible_scroll_bar(ui);
            ScrollArea::vertical().auto_shrink(false).show(ui, |ui| self.show_options(ui, options, choice));
        });
        let mut pressed = None;
        part(ui, "buttons", whole.with_min_y(whole.bottom() - BUTTONS), &mut |ui| pressed = self.buttons(ui, options));
        pressed
    }

    fn show_preview(&self, ui: &mut Ui, area: Rect, options: &ExportOptions) {
        let visuals = ui.visuals();
        let (mat, line) = (visuals.widgets.inactive.weak_bg_fill, visuals.widgets.noninteractive.bg_stroke);
        ui.painter().rect(area, 8.0, mat, line, StrokeKind::Inside);
        let inner = area.shrink(MAT);
        let made = self.made.as_ref().filter(|(of, _)| of.kind == options.kind);
        match made {
            None => {
                // Without parts, and after the last one, nobody knows how long it takes.
                let progress = self.job.as_ref().map(|(_, job)| job.progress()).filter(|it| it.parts() > 0);
                match progress.map(Progress::share).filter(|share| *share < 1.0) {
                    Some(share) => {
                        let bar = ProgressBar::new(share).desired_height(BAR.y);
                        ui.put(Rect::from_center_size(inner.center(), BAR), bar)
                    }
                    None => ui.put(inner, Spinner::new().size(28.0)),
                };
            }
            Some((_, Err(reason))) => {
                let room = inner.shrink2(vec2(24.0, 0.4 * inner.height()));
                let layout = Layout::top_down(Align::Center);
                ui.scope_builder(UiBuilder::new().max_rect(room).layout(layout), |ui| ui.label(reason));
            }
            Some((_, Ok(made))) => {
                // A preview of other options is drawn faintly.
                let opacity = if self.job.is_some() { 0.4 } else { 1.0 };
                ui.scope(|ui| {
                    ui.multiply_opacity(opacity);
                    self.show_made(ui, inner, &made.preview);
                });
                if self.job.is_some() {
                    ui.put(inner, Spinner::new().size(28.0));
                }
            }
        }
    }

    fn show_made(&self, ui: &mut Ui, inner: Rect, preview: &Preview) {
        match preview {
            Preview::Frames(frames) => {
                let shown = (ui.ctx().time() / FRAME_TIME.as_secs_f64()) as usize % frames.len();
                if frames.len() > 1 {
                    ui.ctx().request_repaint_after(FRAME_TIME);
                }
                show_picture(ui, inner, &self.textures[shown]);
            }
            Preview::Rows(rows) => {
                card(ui, inner, |ui| {
                    ScrollArea::both().auto_shrink(false).show(ui, |ui| {
                        Grid::new("rows").striped(true).spacing([16.0, 3.0]).show(ui, |ui| {
                            for (index, row) in rows.iter().enumerate() {
                                for cell in row {
                                    let text = RichText::new(cell).small();
                                    ui.label(if index == 0 { text.strong() } else { text });
                                }
                                ui.end_row();
                            }
                        });
                    });
                });
            }
            Preview::Text(text) => {
                let end = text.floor_char_boundary(TEXT);
                card(ui, inner, |ui| {
                    ScrollArea::both().auto_shrink(false).show(ui, |ui| {
                        ui.add(Label::new(RichText::new(&text[..end]).monospace().small()).extend());
                    });
                });
            }
            Preview::Lesson { lesson, has_notes, .. } => card(ui, inner, |ui| {
                visible_scroll_bar(ui);
                let picture = self.textures.first();
                ScrollArea::vertical().auto_shrink(false).show(ui, |ui| show_lesson(ui, lesson, picture, *has_notes));
            }),
        }
    }

    fn show_options(&self, ui: &mut Ui, options: &mut ExportOptions, [format, content]: &mut [usize; 2]) {
        frame_fields(ui);
        ui.spacing_mut().item_spacing.y = 9.0;
        let ExportOptions { kind, title, is_title_typed, picture, figure, animation, .. } = options;
        let contents = self.source.contents(*kind);
        *content = (*content).min(contents.len().saturating_sub(1));
        if !contents.is_empty() {
            row(ui, "Show", |ui| choose(ui, content, &contents));
        }
        let has_title = match kind {
            ExportKind::Picture | ExportKind::Animation => Some(&mut picture.title),
            ExportKind::Figure => Some(&mut figure.has_title),
            ExportKind::WebPage | ExportKind::Data => None,
        };
        if let Some(has_title) = has_title {
            row(ui, "Title", |ui| {
                check_box(ui, has_title, "").accessible_name("Title above");
                let field = TextEdit::singleline(title).desired_width(ui.available_width() - TITLE_END).char_limit(200);
                *is_title_typed |= ui.add_enabled(*has_title, field).accessible_name("Title of the file").changed();
            });
        }
        match kind {
            ExportKind::Picture => picture.ui(ui),
            ExportKind::Animation => {
                picture.ui(ui);
                animation.ui(ui);
            }
            ExportKind::Figure => self.figure_options(ui, figure, *content),
            ExportKind::WebPage => {
                ui.weak(match *content {
                    0 => {
                        "One file that plays the lesson in any browser: the texts, the runs, the plots and the figures. \
                         It needs neither Valleyscope nor a network."
                    }
                    _ => "The texts of all steps and what to say to each, to print or to open on a second screen.",
                });
            }
            ExportKind::Data => {}
        }
        let formats = kind.formats(&*self.source);
        *format = (*format).min(formats.len() - 1);
        let names: Vec<String> = formats.iter().map(|(format, _)| format.name()).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        match formats.iter().any(|(_, about)| !about.is_empty()) {
            true => {
                let list = |ui: &mut Ui| {
                    for (index, (_, about)) in formats.iter().enumerate() {
                        ui.spacing_mut().item_spacing.y = 2.0;
                        radio_button(ui, format, index, names[index]);
                        ui.indent(index, |ui| ui.add(Label::new(RichText::new(*about).weak()).wrap()));
                        ui.add_space(8.0);
                    }
                };
                row(ui, "Format", |ui| ui.vertical(list).inner);
            }
            false => row(ui, "Format", |ui| choose(ui, format, &names)),
        }
    }

    fn figure_options(&self, ui: &mut Ui, figure: &mut FigureOptions, content: usize) {
        row(ui, "Type size", |ui| {
            let field = DragValue::new(&mut figure.font_size).range(4.0..=40.0).speed(0.1).suffix(" pt");
            ui.add(field).accessible_name("Size of type");
        });
        let is_shown = |of: &ExportOptions| (of.kind, of.content) == (ExportKind::Figure, content);
        let made = self.made.as_ref().filter(|(of, _)| is_shown(of)).and_then(|(_, made)| made.as_ref().ok());
        let known = figure.width_mm.or(made.map(|made| made.usual_width_mm));
        row(ui, "Width", |ui| {
            let mut width = known.unwrap_or(Options::default().width_mm);
            let mut field = DragValue::new(&mut width).range(30.0..=500.0).suffix(" mm");
            if known.is_none() {
                field = field.custom_formatter(|_, _| "…".to_owned());
            }
            if ui.add_enabled(known.is_some(), field).accessible_name("Width of figures").changed() {
                figure.width_mm = Some(width);
            }
            let reset = ui.add_enabled(figure.width_mm.is_some(), Button::new("Reset"));
            if reset.on_hover_text("A column of a journal, or a page for several panels").clicked() {
                figure.width_mm = None;
            }
        });
        row(ui, "Resolution", |ui| {
            ui.add(DragValue::new(&mut figure.dpi).range(50.0..=1200.0).suffix(" dpi"))
                .on_hover_text("Of a PNG, and of what is drawn in pixels in other formats")
                .accessible_name("Dots per inch");
        });
    }

    /// Shows what the file is, and the buttons.
    fn buttons(&self, ui: &mut Ui, options: &ExportOptions) -> Option<Pressed> {
        let made = self.made.as_ref().filter(|(of, _)| of == options).map(|(_, made)| made);
        let mut pressed = None;
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            ui.spacing_mut().button_padding = vec2(16.0, 5.0);
            let is_refused = matches!(made, Some(Err(_)));
            let export = ui.add_enabled(!is_refused && !self.is_asked, primary_button(ui, "Export…"));
            if export.accessible_name("Export the file").clicked() {
                pressed = Some(Pressed::Export);
            }
            if options.format == FileFormat::Image(Format::Png) {
                let copy = ui.add_enabled(matches!(made, Some(Ok(_))), Button::new("Copy"));
                if copy.on_hover_text("Copy the picture to the clipboard").accessible_name("Copy the picture").clicked()
                {
                    pressed = Some(Pressed::Copy);
                }
            }
            if ui.button("Cancel").clicked() {
                pressed = Some(Pressed::Cancel);
            }
            ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
                let text = match made {
                    Some(Ok(made)) => {
                        let mut facts = vec![options.format.name(), made.about.clone(), size(&made.purpose)];
                        facts.retain(|fact| !fact.is_empty());
                        facts.join(" · ")
                    }
                    Some(Err(_)) => "There is nothing to export yet.".to_owned(),
                    None if self.is_asked => "Making the file…".to_owned(),
                    None => "Drawing the preview…".to_owned(),
                };
                ui.add(Label::new(RichText::new(text).weak()).truncate());
            });
        });
        pressed
    }
}

/// Shows a kind with what it is for.
fn kind_button(ui: &mut Ui, kind: ExportKind, chosen: &mut ExportKind) {
    let [name, about] = kind.texts();
    let is_chosen = kind == *chosen;
    let color = if is_chosen { ui.visuals().strong_text_color() } else { ui.visuals().weak_text_color() };
    let text = titled(ui, name, about, color);
    // The empty text at the right keeps the others at the left.
    let button = Button::selectable(is_chosen, text).right_text("").min_size(vec2(KINDS, 44.0));
    if ui.add(button).accessible_name(name).clicked() {
        *chosen = kind;
    }
}

/// Shows an option with its name at the left.
pub(crate) fn row(ui: &mut Ui, name: &str, add: impl FnOnce(&mut Ui)) {
    ui.horizontal_top(|ui| {
        cell(ui, NAMES, |ui| ui.label(name));
        ui.vertical(|ui| ui.horizontal_wrapped(add));
    });
}

/// Shows names side by side, of which one is chosen.
pub(crate) fn choose(ui: &mut Ui, chosen: &mut usize, names: &[&str]) {
    if let [name] = names {
        ui.label(*name);
        return;
    }
    ui.spacing_mut().item_spacing.x = 12.0;
    for (index, name) in names.iter().enumerate() {
        radio_button(ui, chosen, index, *name);
    }
}

fn show_picture(ui: &mut Ui, room: Rect, texture: &TextureHandle) {
    let size = texture.size_vec2() / ui.pixels_per_point();
    let size = size * (room.size() / size).min_elem().min(1.0);
    let response = ui.allocate_rect(room, Sense::hover());
    response.widget_info(|| WidgetInfo::labeled(Role::Image, true, "Preview"));
    let area = Rect::from_center_size(room.center(), size).round_to_pixels(ui.pixels_per_point());
    let line = Stroke::new(1.0, ui.visuals().widgets.noninteractive.bg_stroke.color);
    ui.painter().rect_filled(area, 0.0, Color32::WHITE);
    ui.painter().image(texture.id(), area, Rect::from_min_max(pos2(0.0, 0.0), pos2(1.0, 1.0)), Color32::WHITE);
    ui.painter().rect_stroke(area, 0.0, line, StrokeKind::Outside);
}

/// Shows a picture of a lesson and the texts of its steps, as they are on the page of its notes.
fn show_lesson(ui: &mut Ui, lesson: &LandscapePreset, picture: Option<&TextureHandle>, has_notes: bool) {
    ui.label(RichText::new(&lesson.title).heading().strong());
    ui.add(Label::new(RichText::new(&lesson.description).weak()).wrap());
    if let Some(picture) = picture {
        ui.add_space(6.0);
        let room = Rect::from_min_size(ui.cursor().min, vec2(ui.available_width(), PICTURE));
        show_picture(ui, room, picture);
    }
    for (index, step) in lesson.lesson.iter().enumerate() {
        ui.add_space(10.0);
        if let Some(section) = &step.section {
            ui.label(RichText::new(section).color(ui.visuals().hyperlink_color));
        }
        ui.horizontal_top(|ui| {
            ui.scope(|ui| {
                ui.set_width(STEP_NUMBER);
                ui.weak((index + 1).to_string());
            });
            ui.vertical(|ui| {
                ui.add(Label::new(RichText::new(&step.text).strong()).wrap());
                if has_notes && !step.notes.is_empty() {
                    ui.add(Label::new(&step.notes).wrap());
                }
            });
        });
    }
}

/// Shows contents on a card.
fn card(ui: &mut Ui, area: Rect, add: impl FnOnce(&mut Ui)) {
    ui.painter().rect_filled(area, 6.0, ui.visuals().window_fill);
    ui.scope_builder(UiBuilder::new().max_rect(area.shrink(12.0)), add);
}
