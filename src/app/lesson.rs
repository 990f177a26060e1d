//! The bar with a lesson's text, its navigation and its contents.

use egui::containers::menu::MenuButton;
use egui::text::LayoutJob;
use egui::{Align, Button, FontSelection, Label, Layout, RichText, ScrollArea, Ui};
use valleyscope_experiments::preset::LessonStep;

use super::live::{Action, LandscapeAction, Requests};
use super::menu_item::{choose, item};

/// The entry of menus that shows the editor of the lesson.
pub(super) const EDIT: &str = "Edit the lesson…";
/// The width of the contents, in points.
const CONTENTS_WIDTH: f32 = 380.0;
/// The largest part of the window's height that the contents take.
const CONTENTS_HEIGHT: f32 = 0.6;

/// Shows the step `index` of a lesson, with its text and the buttons of the lesson.
pub(super) fn strip(ui: &mut Ui, index: usize, lesson: &[LessonStep], requests: &mut Requests) {
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
                ui.add(Label::new(text(ui, index, lesson)).wrap());
            });
        });
    });
}

/// Returns a step's text, after the name of its section.
fn text(ui: &Ui, index: usize, lesson: &[LessonStep]) -> LayoutJob {
    let mut job = LayoutJob::default();
    let mut append = |text: RichText| {
        text.heading().append_to(&mut job, ui.style(), FontSelection::Default, Align::Center);
    };
    if let Some(section) = lesson[..=index].iter().rev().find_map(|step| step.section.as_ref()) {
        append(RichText::new(format!("{section} ")).strong());
        append(RichText::new("· ").weak());
    }
    append(RichText::new(&lesson[index].text));
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
    item(ui, EDIT, "", Action::Landscape(LandscapeAction::EditLesson), requests);
}

/// Returns the text up to the end of its first sentence.
pub(super) fn first_sentence(text: &str) -> &str {
    let line = text.trim().lines().next().unwrap_or_default();
    line.find(". ").map_or(line, |end| &line[..=end])
}
