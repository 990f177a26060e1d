//! Modal questions, notices that disappear, reports that stay, and the windows of help.

use std::time::Duration;

use egui::text::LayoutJob;
use egui::{
    Align, Align2, Context, Frame, Id, Label, Layout, Margin, Modal, Order, Rect, RichText, ScrollArea, TextFormat,
    TextStyle, Ui, Vec2, Window, vec2,
};
use valleyscope_engine::optimizer::{RuleKind, TypedRule};
use valleyscope_experiments::view::formula::Formula;
use valleyscope_experiments::view::rule_summary::{RuleSummary, defaults, values};

use super::menu::KeyGroup;
use crate::app::widgets::form::{WINDOW_MARGIN, show_window, take_escape, visible_scroll_bar};
use crate::app::widgets::icons::{Icon, icon_button};
use crate::app::widgets::theme::{primary_button, text_width};

/// The size of the list of keys, the widths of its columns, the first of which has the longest texts, and the width of
/// keys, in points.
const KEYS_SIZE: Vec2 = vec2(1208.0, 612.0);
const COLUMN_WIDTHS: [f32; 3] = [442.0, 324.0, 366.0];
const KEYS_WIDTH: f32 = 150.0;
/// The space around the name of a key on its cap, in points.
const CAP: Margin = Margin { left: 6, right: 6, top: 1, bottom: 1 };
/// The time for which a notice is shown.
const NOTICE_SECS: f64 = 5.0;
/// The offset of notices from the landscape's corner, past its tools and the labels of its axis, in points.
const FROM_CORNER: Vec2 = vec2(70.0, 64.0);
/// The width of a landscape below which notices do not fit next to its legend, in points.
const NARROW: f32 = 520.0;
/// The largest number of notices at a time; older ones are removed.
const MOST_NOTICES: usize = 4;

struct Notice {
    text: String,
    /// The time at which it disappears, by egui's clock; set when it is first shown.
    until_secs: Option<f64>,
}

struct Report {
    /// Distinguishes windows of equal text.
    number: u64,
    title: String,
    text: String,
}

#[derive(Default)]
pub(crate) struct Messages {
    notices: Vec<Notice>,
    reports: Vec<Report>,
    reports_so_far: u64,
}

impl Messages {
    pub(crate) fn notify(&mut self, text: impl Into<String>) {
        let text = text.into();
        // A newer notice of a kind, such as "Speed: …", replaces the older one.
        fn kind(text: &str) -> &str {
            text.split_once(": ").map_or(text, |(kind, _)| kind)
        }
        self.notices.retain(|notice| kind(&notice.text) != kind(&text));
        self.notices.push(Notice { text, until_secs: None });
        let surplus = self.notices.len().saturating_sub(MOST_NOTICES);
        self.notices.drain(..surplus);
    }

    /// Shows a failure until it is dismissed. Equal text is shown once at a time.
    pub(crate) fn report(&mut self, title: impl Into<String>, text: impl Into<String>) {
        let (title, text) = (title.into(), text.into());
        if self.reports.iter().any(|report| report.title == title && report.text == text) {
            return;
        }
        self.reports_so_far += 1;
        self.reports.push(Report { number: self.reports_so_far, title, text });
    }

    /// Dismisses the newest report on Escape, unless a field or a popup needs the key.
    pub(crate) fn dismiss_by_key(&mut self, ctx: &Context) {
        if !self.reports.is_empty() && take_escape(ctx) {
            self.reports.pop();
        }
    }

    /// Shows the reports, and the notices at the left of `free`, the tab's picture: at the bottom if `is_below`, else
    /// to the right of the landscape's legend, where nothing else is drawn.
    pub(crate) fn show(&mut self, ctx: &Context, free: Option<Rect>, is_below: bool) {
        self.show_notices(ctx, free.unwrap_or_else(|| ctx.content_rect()), is_below);
        let screen = ctx.content_rect();
        self.reports.retain(|report| show_report(ctx, screen, report));
    }

    fn show_notices(&mut self, ctx: &Context, free: Rect, is_below: bool) {
        let now = ctx.time();
        for notice in &mut self.notices {
            let until = *notice.until_secs.get_or_insert(now + NOTICE_SECS);
            ctx.request_repaint_after(Duration::from_secs_f64((until - now).clamp(0.0, NOTICE_SECS)));
        }
        self.notices.retain(|notice| notice.until_secs.is_none_or(|until| now < until));
        if self.notices.is_empty() {
            return;
        }
        // In a narrow landscape there is no space to the right of the legend, and no key below.
        let (pivot, corner) = match is_below || free.width() < NARROW {
            true => (Align2::LEFT_BOTTOM, free.left_bottom() + vec2(FROM_CORNER.x, -FROM_CORNER.y)),
            false => (Align2::LEFT_TOP, free.left_top() + FROM_CORNER),
        };
        let width = (0.55 * free.width() - FROM_CORNER.x).clamp(160.0, 520.0);
        egui::Area::new(Id::unique("notices"))
            .order(Order::Tooltip)
            .pivot(pivot)
            .fixed_pos(corner)
            .constrain_to(ctx.content_rect())
            .accessible_name("Notices")
            .show(ctx, |ui| self.notices.retain(|notice| show_notice(ui, notice, width)));
    }
}

/// Shows a notice; returns false when it was dismissed.
fn show_notice(ui: &mut Ui, notice: &Notice, width: f32) -> bool {
    let mut keep = true;
    egui::Frame::popup(ui.style()).show(ui, |ui| {
        ui.set_max_width(width);
        ui.horizontal(|ui| {
            ui.add(Label::new(&notice.text).wrap());
            let name = format!("Dismiss “{}”", notice.text);
            keep = !icon_button(ui, Icon::Close, 18.0, &name, "Dismiss").clicked();
        });
    });
    keep
}

fn show_report(ctx: &Context, screen: egui::Rect, report: &Report) -> bool {
    let mut open = true;
    let mut dismissed = false;
    let shift = 22.0 * (report.number % 6) as f32;
    let size = vec2(560.0, 260.0).min(screen.size() - vec2(60.0, 80.0));
    let at = screen.center() - 0.5 * size + vec2(shift, shift);
    let id = Id::unique(("report", report.number));
    show_window(
        ctx,
        &report.title,
        &mut open,
        |window| window.id(id).order(Order::Foreground).default_pos(at).default_size(size),
        |ui| {
            egui::Panel::bottom("report_buttons").frame(egui::Frame::NONE).show_separator_line(false).show(ui, |ui| {
                ui.horizontal(|ui| {
                    if ui.button("Copy").clicked() {
                        ui.ctx().copy_text(report.text.clone());
                    }
                    dismissed = ui.button("Dismiss").clicked();
                });
            });
            ScrollArea::both().auto_shrink(false).show(ui, |ui| {
                for line in report.text.lines() {
                    if is_excerpt(line) {
                        let line = evenly_spaced(ui, line);
                        ui.add(Label::new(line).extend());
                    } else {
                        ui.add(Label::new(line).wrap());
                    }
                }
            });
        },
    );
    open && !dismissed
}

/// Whether a line of a report quotes a file or marks a position in it: a number or blanks, and a bar.
fn is_excerpt(line: &str) -> bool {
    let before_bar = line.split_once('|').map(|(before, _)| before);
    before_bar.is_some_and(|before| before.chars().all(|c| c.is_ascii_digit() || c == ' '))
}

/// Lays out text with all characters in cells of equal width, so that marks align with the text above. The bundled
/// typeface is proportional.
fn evenly_spaced(ui: &Ui, text: &str) -> LayoutJob {
    let font = TextStyle::Monospace.resolve(ui.style());
    let color = ui.visuals().strong_text_color();
    let cell = 0.68 * font.size;
    let mut job = LayoutJob::default();
    let mut before: Option<f32> = None;
    for c in text.chars() {
        let width = ui.fonts_mut(|fonts| fonts.glyph_width(&font, c));
        let format = TextFormat {
            font_id: font.clone(),
            color,
            extra_letter_spacing: before.map_or(0.0, |before| cell - 0.5 * (before + width)),
            ..TextFormat::default()
        };
        let leading_space = if before.is_none() { 0.5 * (cell - width) } else { 0.0 };
        job.append(c.encode_utf8(&mut [0; 4]), leading_space, format);
        before = Some(width);
    }
    job
}

/// Places a window in the middle of the screen, at most as large as that.
pub(super) fn centred<'w>(ctx: &Context, size: Vec2) -> impl FnOnce(Window<'w>) -> Window<'w> + use<'w> {
    let screen = ctx.content_rect();
    let size = size.min(screen.size() - vec2(40.0, 90.0));
    move |window| window.default_size(size).default_pos(screen.center() - 0.5 * size)
}

/// The width of a dialog where the window has room for it, in points.
const MODAL_WIDTH: f32 = 440.0;

/// Shows a modal dialog with this heading; returns whether it is to be closed without an answer, as by Escape. `id`
/// distinguishes the dialogs of a window.
pub(crate) fn show_modal(ctx: &Context, id: &'static str, heading: &str, content: impl FnOnce(&mut Ui)) -> bool {
    let frame = Frame::popup(&ctx.global_style()).inner_margin(WINDOW_MARGIN);
    let modal = Modal::new(Id::unique(id)).frame(frame).show(ctx, |ui| {
        ui.set_width(MODAL_WIDTH.min(ctx.content_rect().width() - 60.0));
        ui.label(RichText::new(heading).heading().strong());
        content(ui);
    });
    modal.should_close()
}

/// Shows the buttons of a dialog at its right, the first one outermost.
pub(crate) fn decision_row<R>(ui: &mut Ui, buttons: impl FnOnce(&mut Ui) -> R) -> R {
    let size = vec2(ui.available_width(), 28.0);
    let shown = ui.allocate_ui_with_layout(size, Layout::right_to_left(Align::Center), |ui| {
        ui.spacing_mut().button_padding = vec2(16.0, 5.0);
        buttons(ui)
    });
    shown.inner
}

/// Shows the two buttons of a question; returns whether each was pressed.
pub(crate) fn decision_buttons(ui: &mut Ui, yes: &str, no: &str) -> [bool; 2] {
    decision_row(ui, |ui| [ui.add(primary_button(ui, yes)), ui.button(no)].map(|button| button.clicked()))
}

pub(crate) struct Question<'a> {
    /// The id that distinguishes the questions of a window.
    pub id: &'static str,
    pub heading: &'a str,
    pub text: &'a str,
    pub yes: &'a str,
    pub no: &'a str,
}

impl Question<'_> {
    /// Shows the question; returns the answer, once there is one. Escape answers no.
    pub(crate) fn ask(&self, ctx: &Context) -> Option<bool> {
        let (mut yes, mut no) = (false, false);
        let is_closed = show_modal(ctx, self.id, self.heading, |ui| {
            ui.label(self.text);
            ui.add_space(6.0);
            [yes, no] = decision_buttons(ui, self.yes, self.no);
        });
        let no = no || is_closed;
        (yes || no).then_some(yes)
    }
}

/// The state of closing the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Quitting {
    #[default]
    No,
    /// Waits for the answer to the question.
    Asked,
    /// Closes the window, with any losses.
    Decided,
}

/// Asks whether to drop phase diagrams that are on no disk, and to stop exports; returns the answer, once there is one.
pub(crate) fn ask_quit(ctx: &Context, diagrams: &[String], exports: &[String]) -> Option<bool> {
    let heading = if diagrams.is_empty() { "Quit and stop exports?" } else { "Quit and drop phase diagrams?" };
    let mut text = Vec::new();
    for (introduction, lines) in
        [("Computed and on no disk:", diagrams), ("Not finished, and nothing of it will be kept:", exports)]
    {
        if !lines.is_empty() {
            text.push(introduction);
            text.extend(lines.iter().map(String::as_str));
        }
    }
    Question { id: "quit", heading, text: &text.join("\n"), yes: "Quit", no: "Cancel" }.ask(ctx)
}

#[derive(Default)]
pub(crate) struct Help {
    pub keys: bool,
    pub optimizer: Option<RuleKind>,
    pub about: bool,
}

impl Help {
    /// Shows the open windows. `shortcuts` are the keys and their effects.
    pub(crate) fn show(&mut self, ctx: &Context, shortcuts: impl FnOnce() -> Vec<KeyGroup>) {
        let size = KEYS_SIZE.min(ctx.content_rect().size() - vec2(40.0, 60.0));
        let placed = |window: Window<'static>| window.fixed_size(size).anchor(Align2::CENTER_CENTER, Vec2::ZERO);
        show_window(ctx, "Keys", &mut self.keys, placed, |ui| {
            visible_scroll_bar(ui);
            ScrollArea::both().auto_shrink(false).show(ui, |ui| {
                let groups = shortcuts();
                let columns = [&groups[..1], &groups[1..3], &groups[3..]];
                ui.horizontal_top(|ui| {
                    for (groups, width) in columns.into_iter().zip(COLUMN_WIDTHS) {
                        ui.vertical(|ui| {
                            ui.set_width(width);
                            groups.iter().for_each(|group| show_keys(ui, group));
                        });
                    }
                });
            });
        });
        if let Some(mut shown) = self.optimizer {
            let mut is_open = true;
            let placed = centred(ctx, vec2(820.0, 620.0));
            show_window(ctx, "Optimizers", &mut is_open, placed, |ui| optimizers(ui, &mut shown));
            self.optimizer = is_open.then_some(shown);
        }
        let title = concat!("Valleyscope ", env!("CARGO_PKG_VERSION"));
        show_window(ctx, title, &mut self.about, centred(ctx, vec2(440.0, 230.0)), |ui| {
            ui.label("See why one optimizer beats another in a narrowing valley.");
            ui.add_space(6.0);
            ui.label(
                "The landscape, the optimizers and the experiments are those of: Yizhou Liu, Ziming Liu and Jeff Gore, \
                 FOCUS: First Order Concentrated Updating Scheme.",
            );
            ui.add_space(6.0);
            ui.label("Licence: MIT or Apache 2.0. The typeface is derived from Inter, SIL Open Font License.");
        });
        if (self.keys || self.optimizer.is_some() || self.about) && take_escape(ctx) {
            *self = Help::default();
        }
    }
}

/// Shows a group of keys as caps, each with its effect at the right.
fn show_keys(ui: &mut Ui, (heading, keys): &KeyGroup) {
    ui.label(RichText::new(*heading).strong());
    ui.spacing_mut().item_spacing.y = 4.0;
    for (keys, effect) in *keys {
        ui.horizontal_top(|ui| {
            ui.vertical(|ui| {
                ui.set_width(KEYS_WIDTH);
                ui.horizontal_wrapped(|ui| {
                    ui.spacing_mut().item_spacing = vec2(4.0, 4.0);
                    // The name of a key stays together.
                    let words = keys.replace("Page ", "Page\u{a0}").replace(", or ", " or ").replace(',', " or");
                    let words: Vec<&str> = words.split(' ').collect();
                    for chord in words.chunk_by(|one, next| is_key(one) && is_key(next)) {
                        show_chord(ui, chord);
                    }
                });
            });
            ui.vertical(|ui| {
                ui.add_space(2.0);
                ui.add(Label::new(*effect).wrap());
            });
        });
    }
    ui.add_space(12.0);
}

fn is_key(word: &str) -> bool {
    const NAMES: [&str; 9] = ["Ctrl", "Shift", "Alt", "Space", "Home", "End", "Esc", "Tab", "Enter"];
    let is_sign = word.chars().count() == 1 && word != "a";
    let is_function = word.strip_prefix('F').is_some_and(|number| number.parse::<u8>().is_ok());
    is_sign || is_function || NAMES.contains(&word) || word.starts_with("Page")
}

/// Shows keys that are pressed together as caps in one line, and another word as text.
fn show_chord(ui: &mut Ui, words: &[&str]) {
    if !is_key(words[0]) {
        ui.weak(words[0]);
        return;
    }
    let font = TextStyle::Body.resolve(ui.style());
    let cap = |word: &&str| text_width(ui, &font, word) + 2.0 * f32::from(CAP.left) + ui.spacing().item_spacing.x;
    if ui.available_size_before_wrap().x < words.iter().map(cap).sum::<f32>() - ui.spacing().item_spacing.x {
        ui.end_row();
    }
    for word in words {
        let visuals = ui.visuals();
        let frame = Frame::new().fill(visuals.widgets.inactive.weak_bg_fill).corner_radius(4.0).inner_margin(CAP);
        frame.stroke(visuals.widgets.noninteractive.bg_stroke).show(ui, |ui| {
            ui.add(Label::new(RichText::new(*word).strong()).extend());
        });
    }
}

/// Shows the list of optimizers, and to its right the chosen one's description.
fn optimizers(ui: &mut Ui, shown: &mut RuleKind) {
    let height = ui.available_height();
    ui.with_layout(Layout::left_to_right(Align::Min), |ui| {
        ui.vertical(|ui| {
            ui.set_width(110.0);
            ui.set_min_height(height);
            let typed = TypedRule::latest().into_iter().map(RuleKind::Typed);
            for kind in RuleKind::ALL.iter().copied().chain(typed) {
                ui.selectable_value(shown, kind, kind.info().name);
            }
        });
        ui.separator();
        ScrollArea::vertical().id_salt(*shown).auto_shrink(false).show(ui, |ui| {
            ui.vertical(|ui| optimizer(ui, *shown));
        });
    });
}

fn optimizer(ui: &mut Ui, kind: RuleKind) {
    let summary = RuleSummary::new(kind);
    let info = summary.info();
    ui.label(RichText::new(info.name).heading().strong());
    ui.label(format!("Source: {}", info.source));
    ui.add_space(8.0);
    ui.weak("A step, with the parameter θ, its gradient g, the learning rate η and the number of the step t from 1");
    lines(ui, &summary.formulas);
    for variant in &summary.variants {
        ui.add_space(8.0);
        ui.weak(variant.title()).on_hover_text(variant.choice.help);
        lines(ui, &variant.formulas);
    }
    ui.add_space(8.0);
    ui.weak("Hyperparameters besides the learning rate, with their defaults");
    for of in info.hyperparameters {
        let [on_plane, in_training] = defaults(of);
        ui.add_space(4.0);
        ui.horizontal_wrapped(|ui| {
            ui.strong(of.label);
            ui.label(format!("on the plane {on_plane}, in training {in_training}"));
            ui.weak(format!("{}, {}", of.key, values(of)));
        });
        ui.label(of.help);
    }
}

fn lines(ui: &mut Ui, formulas: &[Formula]) {
    for formula in formulas {
        ui.horizontal_wrapped(|ui| {
            ui.strong(&formula.rule);
            ui.weak(RichText::new(formula.meaning).small());
        });
    }
}
