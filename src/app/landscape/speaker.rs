//! The panel of speaker notes, and the card at the end of a lesson, which leads to the next one.

use egui::{Align, Context, Frame, Id, Layout, Modal, Panel, RichText, ScrollArea, TextStyle, Ui, vec2};
use valleyscope_experiments::preset::{Preset, next_lesson};

use super::LandscapeTab;
use super::lesson::entries;
use crate::app::shell::actions::{Action, Keys, LandscapeAction, Requests};
use crate::app::widgets::icons::{Icon, icon_button};
use crate::app::widgets::theme::primary_button;

/// The largest share of the window's height that the notes take.
const NOTES_SHARE: f32 = 0.22;
/// The side of the button that hides them, in points.
const CLOSE: f32 = 20.0;
/// The largest width of the end of a lesson, in points, and its largest share of the window.
const END_WIDTH: f32 = 660.0;
const END_SHARE: f32 = 0.8;

impl LandscapeTab {
    /// Shows the speaker notes of the lesson's step.
    pub(super) fn show_notes(&mut self, ui: &mut Ui) {
        let Some((index, lesson)) = self.editor.lesson().filter(|_| self.has_notes) else { return };
        let text = match lesson[index].notes.as_str() {
            "" => RichText::new("This step has no notes.").weak(),
            notes => RichText::new(notes),
        };
        let (frame, spacing) = (Frame::side_top_panel(ui.style()), ui.spacing());
        let [width, most] = [ui.available_width(), NOTES_SHARE * ui.ctx().content_rect().height()];
        let font = TextStyle::Body.resolve(ui.style());
        let room = width - frame.total_margin().sum().x - spacing.scroll.allocated_width();
        let lines = ui.painter().layout(text.text().to_owned(), font, ui.visuals().text_color(), room);
        let heading = spacing.interact_size.y.max(ui.text_style_height(&TextStyle::Body)).max(CLOSE);
        // With the line above the panel.
        let around = frame.total_margin().sum().y + ui.visuals().widgets.noninteractive.bg_stroke.width;
        let height = (around + heading + 2.0 * spacing.item_spacing.y + lines.size().y).ceil();
        let mut is_hidden = false;
        Panel::bottom("speaker notes").resizable(false).exact_size(height.min(most)).show(ui, |ui| {
            ui.horizontal(|ui| {
                ui.strong(format!("Speaker notes {} / {}", index + 1, lesson.len()));
                ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                    let hide = icon_button(ui, Icon::Close, CLOSE, "Hide the speaker notes", "Hide (N)");
                    is_hidden = hide.clicked();
                });
            });
            // egui's least height would make the panel higher than its size, and cut off its upper part.
            let notes = ScrollArea::vertical().id_salt(("notes", index)).auto_shrink(false).min_scrolled_height(0.0);
            notes.show(ui, |ui| ui.label(text));
        });
        self.has_notes &= !is_hidden;
    }

    /// Shows what was seen in the lesson, and the next lesson.
    pub(super) fn show_end(&mut self, ctx: &Context, requests: &mut Requests) {
        let Some((_, lesson)) = self.editor.lesson().filter(|_| self.is_at_end) else { return };
        let (next, title) = (self.next_lesson(), self.lesson_title());
        let size = ctx.content_rect().size();
        let frame = Frame::window(&ctx.global_style()).inner_margin(16);
        let (mut is_closed, mut is_next) = (false, false);
        let end = Modal::new(Id::unique("end of the lesson")).frame(frame).show(ctx, |ui| {
            ui.set_width(END_WIDTH.min(END_SHARE * size.x));
            ui.label(RichText::new(format!("What was seen in “{}”", title)).heading().strong());
            ui.add_space(4.0);
            ScrollArea::vertical().max_height(0.6 * size.y).show(ui, |ui| {
                entries(ui, None, lesson, requests);
            });
            ui.separator();
            let row = vec2(ui.available_width(), ui.spacing().interact_size.y);
            ui.allocate_ui_with_layout(row, Layout::right_to_left(Align::Center), |ui| {
                if let Some(next) = next {
                    let button = primary_button(ui, format!("Next lesson: {}", next.title()));
                    is_next = ui.add(button).on_hover_text("Page Down").clicked();
                } else {
                    ui.weak("This was the last lesson.");
                }
                is_closed = ui.button("Close").on_hover_text("Back to the lesson (Esc or Page Up)").clicked();
            });
        });
        self.is_at_end &= !(is_closed || end.should_close());
        requests.actions.extend(next.filter(|_| is_next).map(|next| Action::Open(Box::new(next.clone()))));
        // Other keys have no effect below a modal dialog.
        self.handle_clicker(&Keys::new(ctx), requests);
    }

    fn lesson_title(&self) -> &str {
        &self.editor.saved_state().preset.title
    }

    fn next_lesson(&self) -> Option<&'static Preset> {
        next_lesson(self.lesson_title())
    }

    /// Returns the request of Page Down, or of Page Up.
    pub(super) fn turn_page(&mut self, is_forth: bool) -> Option<Action> {
        let (step, lesson) = self.editor.lesson()?;
        let last = lesson.len() - 1;
        let action = match (self.is_at_end, is_forth) {
            (true, true) => return self.next_lesson().map(|next| Action::Open(Box::new(next.clone()))),
            (true, false) => {
                self.is_at_end = false;
                return None;
            }
            (false, true) if step == last => LandscapeAction::EndLesson,
            (false, true) => LandscapeAction::GoToStep(step + 1),
            (false, false) => LandscapeAction::GoToStep(step.checked_sub(1)?),
        };
        Some(Action::Landscape(action))
    }
}
