//! The menu of a mark of changed settings: go there, or see the session without the changes.

use egui::{Popup, PopupCloseBehavior, Response, SetOpenCommand, Ui};
use valleyscope_engine::simulation::{Change, SimulationSpec};

use super::live::{Action, LandscapeAction, Live, Requests};
use super::timeline::words;
use crate::player::PlayerCommand;
use crate::setting_marks::{SettingMark, changes_of};

/// A group of changed settings that share a mark, or a step that a lesson names.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct MarkedChanges {
    /// The first step with a change.
    pub step: u64,
    /// The steps and the changes.
    pub text: String,
    /// The place of the session.
    place: usize,
    changes: Vec<Change>,
    /// The session without these changes, if there is one.
    without: Option<u64>,
}

impl MarkedChanges {
    /// Returns a group of changes of the chosen session, whose settings are `spec`.
    pub(super) fn of(group: &[SettingMark], spec: &SimulationSpec, live: &Live) -> MarkedChanges {
        let changes = changes_of(group);
        let without = live.branches.without(live.chosen, &changes);
        MarkedChanges {
            step: group.first().map_or(0, |mark| mark.step),
            text: words(group, spec),
            place: live.chosen,
            changes,
            without,
        }
    }

    /// Makes a mark of a step without changes, which a lesson names.
    pub(super) fn none(step: u64, text: String) -> MarkedChanges {
        MarkedChanges { step, text, place: 0, changes: Vec::new(), without: None }
    }

    /// Returns whether the session without the changes is shown beside the one with them.
    pub(super) fn is_muted(&self) -> bool {
        self.without.is_some()
    }

    /// Returns the explanation of a mark at the pointer.
    pub(super) fn hint(&self) -> String {
        if self.changes.is_empty() {
            return format!("{}\nClick to go there.", self.text);
        }
        let muted = if self.is_muted() { "\nThe pale run is this session without the change." } else { "" };
        format!("{}{muted}\nClick to go there. Right click: what if not.", self.text)
    }

    /// Shows the entry that adds or removes the session without the changes.
    /// It has a label and an accessible name.
    pub(super) fn what_if_not(&self, ui: &mut Ui, [label, name]: [&str; 2], requests: &mut Requests) {
        let (checked, hint) = match self.is_muted() {
            false => ("", "Compute the session without this change, and show it beside the one with it."),
            true => ("✓ ", "The session without this change is shown. Click to remove it."),
        };
        let button = ui.button(format!("{checked}{label}")).on_hover_text(hint).accessible_name(name);
        if button.clicked() {
            requests.commands.push(match self.without {
                None => PlayerCommand::Without(self.place, self.changes.clone()),
                Some(id) => PlayerCommand::Remove(id),
            });
            ui.close();
        }
    }
}

/// Shows a menu after a right click on a mark. `pointed` is the mark at the pointer.
pub(super) fn show(response: &Response, pointed: Option<&MarkedChanges>, requests: &mut Requests) {
    let id = response.id.with("mark's menu");
    let ctx = &response.ctx;
    let mut open = None;
    if response.secondary_clicked() {
        open = Some(SetOpenCommand::Bool(pointed.is_some()));
        if let Some(pointed) = pointed {
            ctx.data_mut(|data| data.insert_temp(id, pointed.clone()));
        }
    }
    let Some(marked) = ctx.data(|data| data.get_temp::<MarkedChanges>(id)) else { return };
    let popup = Popup::menu(response).id(id).at_pointer_fixed().open_memory(open);
    popup.close_behavior(PopupCloseBehavior::CloseOnClick).show(|ui| {
        ui.weak(&marked.text);
        if ui.button("Go there").clicked() {
            requests.actions.push(Action::Landscape(LandscapeAction::Seek(marked.step)));
        }
        if !marked.changes.is_empty() {
            marked.what_if_not(ui, ["What if not"; 2], requests);
        }
    });
}
