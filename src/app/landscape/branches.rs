//! The list of the branches, and the groups of changed settings that share a mark.

use egui::{
    Color32, Popup, PopupCloseBehavior, ProgressBar, Response, RichText, Sense, SetOpenCommand, Stroke, TextWrapMode,
    Ui, vec2,
};
use valleyscope_engine::simulation::{Change, SimulationSpec};
use valleyscope_experiments::view::ticks::grouped;

use super::editor::Document;
use super::live::Live;
use crate::app::shell::actions::{Action, LandscapeAction, Requests};
use crate::app::widgets::icons::{Icon, icon_button};
use crate::player::PlayerCommand;
use crate::player::marks::{SettingMark, changes_of, text};

/// The opacity of a branch's particles and mean paths on the landscape.
pub(crate) const BRANCH_OPACITY: f32 = 0.45;

/// Returns the opacity of a branch's curves in plots, with which all colours stand out from the background.
pub(crate) fn branch_curve_opacity(visuals: &egui::Visuals) -> f32 {
    if visuals.dark_mode { 0.6 } else { 0.75 }
}

/// The side of the buttons, in points.
const BUTTON_SIDE: f32 = 20.0;
/// The width of a sample of a pale line, in points.
const SAMPLE_WIDTH: f32 = 16.0;
/// The width of the progress of a session that is being computed, in points.
const PROGRESS_WIDTH: f32 = 60.0;

/// Shows an entry for each branch of the session; nothing without any.
pub(crate) fn branch_list(ui: &mut Ui, document: &Document, live: &mut Live, requests: &mut Requests) {
    if live.branches_of(live.chosen).next().is_none() {
        return;
    }
    let mut toggled = None;
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing = vec2(3.0, 2.0);
        for branch in live.branches_of(live.chosen) {
            let label = live.label_of(branch, document.spec(live.chosen));
            let is_hidden = live.hidden_branches.contains(&branch.id);
            let progress = live.progress_of(branch);
            let most = ui.max_rect().width();
            // An entry stays together: its width is that of the text with the sample and three buttons.
            let text = RichText::new(&label).small();
            let text = if is_hidden { text.weak() } else { text };
            let galley = egui::WidgetText::from(text).into_galley(
                ui,
                Some(TextWrapMode::Truncate),
                (most - 4.0 * BUTTON_SIDE - SAMPLE_WIDTH - PROGRESS_WIDTH).max(60.0),
                egui::TextStyle::Small,
            );
            let bar = if progress.is_some() { PROGRESS_WIDTH + 6.0 } else { 0.0 };
            let width = galley.size().x + SAMPLE_WIDTH + 3.0 * BUTTON_SIDE + bar + 30.0;
            ui.allocate_ui_with_layout(
                vec2(width, BUTTON_SIDE),
                egui::Layout::left_to_right(egui::Align::Center),
                |ui| {
                    draw_sample(ui, is_hidden);
                    ui.label(galley).on_hover_text(&label);
                    if let Some(progress) = progress {
                        let bar = ProgressBar::new(progress).desired_width(PROGRESS_WIDTH).desired_height(8.0);
                        ui.add(bar).accessible_name(format!("Computing: {label}"));
                    }
                    let (icon, verb) = if is_hidden { (Icon::EyeClosed, "Show") } else { (Icon::Eye, "Hide") };
                    let hint = format!("{verb} this pale run in the landscape and in the plots");
                    if icon_button(ui, icon, BUTTON_SIDE, &format!("{verb}: {label}"), &hint).clicked() {
                        toggled = Some(branch.id);
                    }
                    let hint = "Go on with this pale run. The present run stays as an old future.";
                    if icon_button(ui, Icon::Back, BUTTON_SIDE, &format!("Go back to: {label}"), hint).clicked() {
                        requests.commands.push(PlayerCommand::GoBackTo(branch.id));
                    }
                    if icon_button(ui, Icon::Close, BUTTON_SIDE, &format!("Remove: {label}"), "Remove this pale run")
                        .clicked()
                    {
                        requests.commands.push(PlayerCommand::Remove(branch.id));
                    }
                    ui.add_space(12.0);
                },
            );
        }
    });
    if let Some(id) = toggled {
        let _ = live.hidden_branches.remove(&id) || live.hidden_branches.insert(id);
    }
}

/// Draws a pale line, as the branch has in the plots.
fn draw_sample(ui: &mut Ui, is_hidden: bool) {
    let (area, _) = ui.allocate_exact_size(vec2(SAMPLE_WIDTH, BUTTON_SIDE), Sense::hover());
    let color = if is_hidden { Color32::TRANSPARENT } else { branch_color(ui) };
    ui.painter().hline(area.shrink(2.0).x_range(), area.center().y, Stroke::new(2.0, color));
}

/// Returns the colour of a branch where it stands for all its optimizers.
pub(crate) fn branch_color(ui: &Ui) -> Color32 {
    ui.visuals().text_color().gamma_multiply(BRANCH_OPACITY)
}

/// A group of changed settings that share a mark, or a step that a lesson names.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct MarkedChanges {
    /// The first step with a change.
    pub step: u64,
    /// The steps and the changes.
    pub text: String,
    /// The index of the session.
    session: usize,
    changes: Vec<Change>,
    /// The session without these changes, if there is one.
    without: Option<u64>,
}

impl MarkedChanges {
    /// Returns a group of changes of the chosen session.
    pub(crate) fn of(group: &[SettingMark], document: &Document, live: &Live) -> MarkedChanges {
        let (session, changes) = (live.chosen, changes_of(group));
        MarkedChanges {
            step: group.first().map_or(0, |mark| mark.step),
            text: changes_text(group, document.spec(session)),
            session,
            without: live.branch_without(session, &changes),
            changes,
        }
    }

    /// Makes a mark of a step without changes, which a lesson names.
    pub(crate) fn none(step: u64, text: String) -> MarkedChanges {
        MarkedChanges { step, text, session: 0, changes: Vec::new(), without: None }
    }

    /// Returns whether the session without the changes is shown beside the one with them.
    pub(crate) fn is_muted(&self) -> bool {
        self.without.is_some()
    }

    pub(crate) fn hint(&self) -> String {
        if self.changes.is_empty() {
            return format!("{}\nClick to go there.", self.text);
        }
        let muted = if self.is_muted() { "\nThe pale run is this session without the change." } else { "" };
        format!("{}{muted}\nClick to go there. Right click: what if not.", self.text)
    }

    /// Shows the entry that adds or removes the session without the changes.
    /// It has a label and an accessible name.
    pub(crate) fn what_if_not(&self, ui: &mut Ui, [label, name]: [&str; 2], requests: &mut Requests) {
        let (checked, hint) = match self.is_muted() {
            false => ("", "Compute the session without this change, and show it beside the one with it."),
            true => ("✓ ", "The session without this change is shown. Click to remove it."),
        };
        let button = ui.button(format!("{checked}{label}")).on_hover_text(hint).accessible_name(name);
        if button.clicked() {
            requests.commands.push(match self.without {
                None => PlayerCommand::Without(self.session, self.changes.clone()),
                Some(id) => PlayerCommand::Remove(id),
            });
            ui.close();
        }
    }
}

/// Returns the first and the last step of a group.
pub(crate) fn ends(group: &[SettingMark]) -> [u64; 2] {
    [group.first(), group.last()].map(|mark| mark.map_or(0, |mark| mark.step))
}

/// Formats the changes of a group and their step, as in "Step 500: σ 1 → 2".
fn changes_text(group: &[SettingMark], spec: &SimulationSpec) -> String {
    let [first, last] = ends(group);
    let steps = if first == last {
        format!("Step {}", grouped(first))
    } else {
        format!("Steps {} to {}", grouped(first), grouped(last))
    };
    format!("{steps}: {}", text(group, |id| spec.name_of(id)))
}

/// Shows a menu after a right click on a mark. `pointed` is the mark at the pointer.
pub(crate) fn mark_menu(response: &Response, pointed: Option<&MarkedChanges>, requests: &mut Requests) {
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

/// Returns the action that shows a marked step: looks back at it, or takes the steps to it.
pub(crate) fn go_to(step: u64, shown: u64, last: u64) -> Action {
    Action::Landscape(match step.checked_sub(last) {
        // Steps beyond the last one are counted from the shown one.
        Some(1..) => LandscapeAction::Step(i64::try_from(step - shown).unwrap_or(i64::MAX)),
        _ => LandscapeAction::Seek(step),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_of_the_past_is_sought_and_one_of_the_future_taken() {
        assert!(matches!(go_to(50, 20, 50), Action::Landscape(LandscapeAction::Seek(50))));
        assert!(matches!(go_to(80, 20, 50), Action::Landscape(LandscapeAction::Step(60))));
    }
}
