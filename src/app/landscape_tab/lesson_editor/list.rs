//! The list of a lesson's steps, with its tools.

use egui::{Button, CornerRadius, RichText, ScrollArea, Ui, vec2};

use crate::app::form::small_button;
use crate::app::landscape_tab::LandscapeTab;
use crate::app::lesson::first_sentence;
use crate::app::live::{Action, LandscapeAction, Requests};

/// An operation on the list of steps.
#[derive(Clone, Copy)]
enum ListEdit {
    Add,
    Duplicate,
    Remove,
    Swap(usize),
}

impl LandscapeTab {
    /// Shows the list of steps with its tools.
    pub(super) fn steps_of_lesson(&mut self, ui: &mut Ui, requests: &mut Requests) {
        let step = self.editor.lesson_step();
        let steps = &self.editor.draft.lesson.steps;
        let count = steps.len();
        let mut asked = None;
        ui.horizontal_wrapped(|ui| {
            ui.spacing_mut().item_spacing.x = 3.0;
            let mut tool = |enabled, text, name, help, edit| {
                if small_button(ui, enabled, text, name, help) {
                    asked = Some(edit);
                }
            };
            tool(true, "Add", "Add a step", "Add a step after this one", ListEdit::Add);
            tool(true, "Copy", "Copy the step", "Add a copy of this step after it", ListEdit::Duplicate);
            tool(true, "Remove", "Remove the step", "Remove this step", ListEdit::Remove);
            let (up, down) = (step.saturating_sub(1), step + 1);
            tool(step > 0, "Up", "Move the step up", "Move this step before the previous one", ListEdit::Swap(up));
            let help = "Move this step after the next one";
            tool(down < count, "Down", "Move the step down", help, ListEdit::Swap(down));
        });
        ScrollArea::vertical().id_salt("steps of the lesson").auto_shrink(false).show(ui, |ui| {
            for (index, it) in steps.iter().enumerate() {
                if let Some(section) = &it.section {
                    ui.label(RichText::new(section).strong());
                }
                let is_wrong = self.editor.draft.lesson.error_at(index).is_some();
                let text = format!("{}   {}", index + 1, first_sentence(&it.text));
                let text = if is_wrong { RichText::new(text).color(ui.visuals().error_fg_color) } else { text.into() };
                let entry =
                    Button::selectable(index == step, text).truncate().min_size(vec2(ui.available_width(), 0.0));
                let name = format!("Edit step {}{}", index + 1, if is_wrong { ", which has an error" } else { "" });
                let entry = ui.add(entry.corner_radius(CornerRadius::same(3))).accessible_name(name);
                if index == step && self.lesson_editor.listed.replace(step) != Some(step) {
                    entry.scroll_to_me(None);
                }
                if entry.clicked() {
                    requests.actions.push(Action::Landscape(LandscapeAction::GoToStep(index)));
                }
            }
        });
        if let Some(edit) = asked {
            self.edit_list(edit, requests);
        }
    }

    fn edit_list(&mut self, edit: ListEdit, requests: &mut Requests) {
        let step = self.editor.lesson_step();
        // A step that does not fit any more shows its error.
        let _ = self.editor.edit_lesson(|lesson| match edit {
            ListEdit::Add => lesson.add_after(step),
            ListEdit::Duplicate => lesson.duplicate(step),
            ListEdit::Remove => lesson.remove(step),
            ListEdit::Swap(other) => lesson.swap(step, other),
        });
        if self.editor.lesson().is_some() {
            let shown = LandscapeAction::GoToStep(self.editor.lesson_step());
            requests.actions.push(Action::Landscape(shown));
        }
    }
}
