//! The timeline's menu: the loop by numbers, and what the run would be without each change.

use egui::{Button, Popup, PopupCloseBehavior, ScrollArea, Ui};

use super::TimelineBar;
use super::looping;
use crate::app::document::Document;
use crate::app::form;
use crate::app::icons::{Icon, icon_button};
use crate::app::live::{Live, Requests};
use crate::app::mark_menu::MarkedChanges;
use crate::app::number;
use crate::app::typed::TypedField;
use crate::player::PlayerCommand;

/// The width of the menu and the largest height of its list, in points.
const WIDTH: f32 = 260.0;
const LIST: f32 = 200.0;

impl TimelineBar {
    /// Shows the button that opens the menu.
    pub(super) fn menu(&mut self, ui: &mut Ui, document: &Document, live: &Live, requests: &mut Requests) {
        let hint = "Play a range of steps over and over, or see the run without a change";
        let button = icon_button(ui, Icon::More, super::MENU, "Timeline menu", hint);
        let popup = Popup::menu(&button).close_behavior(PopupCloseBehavior::CloseOnClickOutside);
        let shown = popup.show(|ui| {
            ui.set_width(WIDTH);
            self.loop_fields(ui, live, requests);
            ui.separator();
            changes(ui, document, live, requests);
        });
        if shown.is_none() {
            self.typed = None;
        }
    }

    fn loop_fields(&mut self, ui: &mut Ui, live: &Live, requests: &mut Requests) {
        let Some(snapshot) = &live.snapshot else { return };
        let shown = snapshot.looped.unwrap_or([0, snapshot.last_step]);
        let mut ends = self.typed.unwrap_or(shown);
        ui.strong("Loop");
        for (end, [name, accessible]) in
            ends.iter_mut().zip([["From step", "First step of the loop"], ["To step", "Last step of the loop"]])
        {
            form::line(ui, name, "The steps that are played over and over", |ui| {
                let field = TypedField { name: accessible, width: 72.0 };
                if let Some(entered) = field.show(ui, &end.to_string(), number::read_whole).entered {
                    *end = entered;
                }
            });
        }
        if ends != shown || self.typed.is_some() {
            self.typed = Some(ends);
        }
        ui.horizontal(|ui| {
            let play = ui.add_enabled(ends[0] < ends[1], Button::new("Play the loop"));
            if play.on_disabled_hover_text("The last step must be after the first one.").clicked() {
                looping::play(ends, requests);
                self.typed = None;
                ui.close();
            }
            let end = ui.add_enabled(snapshot.looped.is_some(), Button::new("End the loop"));
            if end.on_disabled_hover_text("No steps are played over and over.").clicked() {
                requests.commands.push(PlayerCommand::Loop(None));
            }
        });
    }
}

/// Shows an entry for each change of the session, which adds or removes the session without it.
fn changes(ui: &mut Ui, document: &Document, live: &Live, requests: &mut Requests) {
    ui.strong("What if not");
    let mut groups = live.marks.groups(|step| step as f64, 1.0).peekable();
    if groups.peek().is_none() {
        ui.weak("No setting was changed.");
    }
    ScrollArea::vertical().max_height(LIST).show(ui, |ui| {
        for group in groups {
            let marked = MarkedChanges::of(group, &document.spec, live);
            let changes = marked.text.replace('\n', ", ");
            marked.what_if_not(ui, [&changes, &format!("{changes}: what if not")], requests);
        }
    });
}
