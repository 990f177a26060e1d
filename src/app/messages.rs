//! Messages of the app: short notices that disappear, and reports that stay until they are dismissed.

use std::time::Duration;

use egui::text::LayoutJob;
use egui::{
    Align2, Context, Id, Key, Label, Modifiers, Order, Rect, ScrollArea, TextFormat, TextStyle, Ui, Vec2, Window, vec2,
};

use super::icons::{Icon, icon_button};

/// The time for which a notice is shown.
const NOTICE_SECS: f64 = 5.0;
/// The offset of notices from the landscape's corner, past its tools and the labels of its axis, in points.
const FROM_CORNER: Vec2 = vec2(70.0, 64.0);
/// The width of a landscape below which notices do not fit beside its legend, in points.
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

/// The notices and reports on the screen.
#[derive(Default)]
pub(super) struct Messages {
    notices: Vec<Notice>,
    reports: Vec<Report>,
    reports_so_far: u64,
}

impl Messages {
    /// Shows a short notice for some seconds.
    pub(super) fn notify(&mut self, text: impl Into<String>) {
        let text = text.into();
        self.notices.retain(|notice| notice.text != text);
        self.notices.push(Notice { text, until_secs: None });
        let surplus = self.notices.len().saturating_sub(MOST_NOTICES);
        self.notices.drain(..surplus);
    }

    /// Shows a failure until it is dismissed. Equal text is shown once at a time.
    pub(super) fn report(&mut self, title: impl Into<String>, text: impl Into<String>) {
        let (title, text) = (title.into(), text.into());
        if self.reports.iter().any(|report| report.title == title && report.text == text) {
            return;
        }
        self.reports_so_far += 1;
        self.reports.push(Report { number: self.reports_so_far, title, text });
    }

    /// Dismisses the newest report on Escape, unless a field or a popup needs the key.
    pub(super) fn dismiss_by_key(&mut self, ctx: &Context) {
        let is_needed = ctx.text_edit_focused()
            || ctx.memory(|memory| memory.top_modal_layer().is_some())
            || egui::Popup::is_any_open(ctx);
        if !self.reports.is_empty()
            && !is_needed
            && ctx.input_mut(|input| input.consume_key(Modifiers::NONE, Key::Escape))
        {
            self.reports.pop();
        }
    }

    /// Shows the reports, and the notices at the left of `free`, the tab's picture: at the bottom if `is_below`, else
    /// beside the landscape's legend, where nothing else is written.
    pub(super) fn show(&mut self, ctx: &Context, free: Option<Rect>, is_below: bool) {
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
        // In a narrow landscape there is no space beside the legend, and no key below.
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

/// Shows a report; returns false when it was dismissed.
fn show_report(ctx: &Context, screen: egui::Rect, report: &Report) -> bool {
    let mut open = true;
    let mut dismissed = false;
    let shift = 22.0 * (report.number % 6) as f32;
    let size = vec2(560.0, 260.0).min(screen.size() - vec2(60.0, 80.0));
    Window::new(&report.title)
        .id(Id::unique(("report", report.number)))
        .open(&mut open)
        .collapsible(false)
        .order(Order::Foreground)
        .default_pos(screen.center() - 0.5 * size + vec2(shift, shift))
        .default_size(size)
        .show(ctx, |ui| {
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
        });
    open && !dismissed
}

/// Returns whether a line of a report quotes a file or marks a position in it: a number or blanks, and a bar.
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
