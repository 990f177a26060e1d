//! The branches of the sessions, and the marks of changed settings and of lessons on the timeline.

use std::collections::BTreeSet;

use egui::{
    Color32, Popup, PopupCloseBehavior, ProgressBar, Rect, Response, RichText, Sense, SetOpenCommand, Stroke,
    TextWrapMode, Ui, WidgetInfo, vec2,
};
use valleyscope_engine::simulation::{Change, SimulationSpec};
use valleyscope_experiments::preset::{LessonDraft, first_step_of_run, marks_at};
use valleyscope_experiments::view::ticks::grouped;

use super::editor::Document;
use super::live::Live;
use super::timeline::changes_text;
use crate::app::shell::actions::{Action, LandscapeAction, Requests};
use crate::app::widgets::icons::{Icon, icon_button};
use crate::player::marks::{SettingMark, SettingMarks, changes_of, text, text_before};
use crate::player::{BranchKind, BranchView, PlayerCommand, SessionView, Snapshot};

/// The opacity of a branch's particles and mean paths on the landscape.
pub(crate) const BRANCH_OPACITY: f32 = 0.45;

/// Returns the opacity of a branch's curves in plots, with which all colours stand out from the background.
pub(crate) fn branch_curve_opacity(visuals: &egui::Visuals) -> f32 {
    if visuals.dark_mode { 0.6 } else { 0.75 }
}

/// A branch of a session.
pub(crate) struct Branch {
    pub id: u64,
    /// The index of the session to which it belongs.
    session: usize,
    /// The step from which on it differs from the session to which it belongs.
    pub since: u64,
    /// The last step that it has reached.
    pub last_step: u64,
    /// The share of its steps that are computed, until it has reached the shown step.
    pub progress: Option<f32>,
    /// The changes that it leaves out; none of an old future.
    removed: Vec<Change>,
    marks: SettingMarks,
}

/// The branches of the sessions side by side, and which of them are hidden.
#[derive(Default)]
pub(crate) struct Branches {
    all: Vec<Branch>,
    hidden: BTreeSet<u64>,
}

impl Branches {
    /// Takes the branches of a snapshot.
    pub(crate) fn update(&mut self, snapshot: &Snapshot) {
        let mut before = std::mem::take(&mut self.all);
        for BranchView { id, kind, session } in &snapshot.branches {
            let removed = match kind {
                BranchKind::Without { removed, .. } => removed.clone(),
                BranchKind::OldFuture { .. } => Vec::new(),
            };
            let known = before.iter().position(|branch| branch.id == *id).map(|index| before.swap_remove(index));
            let mut marks = known.map(|branch| branch.marks).unwrap_or_default();
            marks.update(&session.record);
            let (since, last_step) = (kind.since(), session.last_step);
            let progress = branch_progress(session, since, snapshot.step);
            self.all.push(Branch { id: *id, session: kind.session(), since, last_step, progress, removed, marks });
        }
        let all = &self.all;
        self.hidden.retain(|id| all.iter().any(|branch| branch.id == *id));
    }

    pub(crate) fn of(&self, session: usize) -> impl Iterator<Item = &Branch> {
        self.all.iter().filter(move |branch| branch.session == session)
    }

    /// Returns the branch with this id, unless it is hidden.
    pub(crate) fn shown(&self, id: u64) -> Option<&Branch> {
        self.all.iter().find(|branch| branch.id == id && !self.is_hidden(id))
    }

    pub(crate) fn is_hidden(&self, id: u64) -> bool {
        self.hidden.contains(&id)
    }

    /// Hides a branch, or shows it again.
    pub(crate) fn toggle(&mut self, id: u64) {
        let _ = self.hidden.remove(&id) || self.hidden.insert(id);
    }

    /// Returns the id of the branch of a session without all these changes, if there is one.
    pub(crate) fn without(&self, session: usize, changes: &[Change]) -> Option<u64> {
        let leaves_out = |branch: &&Branch| changes.iter().all(|change| change.is_among(&branch.removed));
        self.of(session).filter(|branch| !branch.removed.is_empty()).find(leaves_out).map(|branch| branch.id)
    }

    pub(crate) fn last_step(&self, session: usize) -> u64 {
        self.of(session).map(|branch| branch.last_step).max().unwrap_or_default()
    }
}

/// Returns the computed share of the steps of a session from `since` on, or `None` if it has reached this step.
fn branch_progress(view: &SessionView, since: u64, step: u64) -> Option<f32> {
    let all = step.saturating_sub(since).max(1) as f32;
    (view.step < step).then(|| (view.step.saturating_sub(since) as f32 / all).min(1.0))
}

impl Branch {
    /// Formats what distinguishes the branch from the session with these marks, as in "Old future from step 120 · σ
    /// stays 1" and "Without σ 1 → 2 at step 500".
    pub(crate) fn label(&self, session: &SettingMarks, spec: &SimulationSpec) -> String {
        let difference = self.difference(session, spec);
        if !self.removed.is_empty() {
            return difference;
        }
        let from = format!("Old future from step {}", grouped(self.since));
        if difference.is_empty() { from } else { format!("{from} · {difference}") }
    }

    /// Formats the same in few words, with the difference first, as in "σ stays 1, from step 120".
    pub(crate) fn short_label(&self, session: &SettingMarks, spec: &SimulationSpec) -> String {
        let difference = self.difference(session, spec);
        match difference.is_empty() {
            true => format!("From step {}", grouped(self.since)),
            false if self.removed.is_empty() => format!("{difference}, from step {}", grouped(self.since)),
            false => difference,
        }
    }

    /// Formats the settings that distinguish the branch from the session with these marks; empty if there are none.
    fn difference(&self, session: &SettingMarks, spec: &SimulationSpec) -> String {
        let name_of = |id| spec.name_of(id);
        let in_line = |text: String| text.replace('\n', ", ");
        let at = |marks: &[SettingMark]| marks.first().map_or(0, |mark| mark.step);
        if !self.removed.is_empty() {
            let marks = session.of_changes(&self.removed);
            return format!("Without {} at step {}", in_line(text(&marks, name_of)), grouped(at(&marks)));
        }
        match (self.marks.first_from(self.since), session.first_from(self.since)) {
            ([], others) => in_line(text_before(others, name_of)),
            (own, _) => format!("{} at step {}", in_line(text(own, name_of)), grouped(at(own))),
        }
    }
}

/// The side of the buttons, in points.
const BUTTON_SIDE: f32 = 20.0;
/// The width of a sample of a pale line, in points.
const SAMPLE_WIDTH: f32 = 16.0;
/// The width of the progress of a session that is being computed, in points.
const PROGRESS_WIDTH: f32 = 60.0;

/// Shows an entry for each branch of the session; nothing without any.
pub(crate) fn branch_list(ui: &mut Ui, document: &Document, live: &mut Live, requests: &mut Requests) {
    if live.branches.of(live.chosen).next().is_none() {
        return;
    }
    let mut toggled = None;
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing = vec2(3.0, 2.0);
        for branch in live.branches.of(live.chosen) {
            let label = branch.label(live.marks_of(live.chosen), document.spec(live.chosen));
            let is_hidden = live.branches.is_hidden(branch.id);
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
            let progress = if branch.progress.is_some() { PROGRESS_WIDTH + 6.0 } else { 0.0 };
            let width = galley.size().x + SAMPLE_WIDTH + 3.0 * BUTTON_SIDE + progress + 30.0;
            ui.allocate_ui_with_layout(
                vec2(width, BUTTON_SIDE),
                egui::Layout::left_to_right(egui::Align::Center),
                |ui| {
                    draw_sample(ui, is_hidden);
                    ui.label(galley).on_hover_text(&label);
                    if let Some(progress) = branch.progress {
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
        live.branches.toggle(id);
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
            without: live.branches.without(session, &changes),
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

/// A marked step of a run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RunMark {
    pub step: u64,
    pub text: String,
    /// Whether the run pauses there.
    pub is_pause: bool,
}

impl RunMark {
    /// Returns the step and the text, as in "Step 300: Adam starves".
    pub(crate) fn description(&self) -> String {
        format!("Step {}: {}", grouped(self.step), self.text)
    }
}

/// Returns the marks of the run at a step of a lesson, in the order of their steps. `pause` is where the run pauses by
/// the settings under the controls.
pub(crate) fn run_marks(lesson: &LessonDraft, lesson_step: usize, pause: Option<u64>) -> Vec<RunMark> {
    let earlier = first_step_of_run(&lesson.steps, lesson_step)..lesson_step;
    let mut pauses: Vec<u64> = earlier.filter_map(|step| lesson.pause(step)).chain(pause).collect();
    pauses.sort_unstable();
    pauses.dedup();
    let pauses = pauses.into_iter().map(|step| RunMark { step, text: "pause".to_owned(), is_pause: true });
    let named = match lesson.steps.is_empty() {
        true => Vec::new(),
        false => marks_at(&lesson.steps, lesson_step),
    };
    let named = named.into_iter().map(|mark| RunMark { step: mark.step, text: mark.text.clone(), is_pause: false });
    let mut marks: Vec<RunMark> = named.chain(pauses).collect();
    marks.sort_by_key(|mark| mark.step);
    marks
}

/// Returns the action that shows a marked step: looks back at it, or takes the steps to it.
pub(crate) fn go_to(step: u64, shown: u64, last: u64) -> Action {
    Action::Landscape(match step.checked_sub(last) {
        // Steps beyond the last one are counted from the shown one.
        Some(1..) => LandscapeAction::Step(i64::try_from(step - shown).unwrap_or(i64::MAX)),
        _ => LandscapeAction::Seek(step),
    })
}

/// The position of the marks above a timeline.
pub(crate) struct MarkRail {
    /// The left end, and the points per step.
    pub left: f32,
    pub points_per_step: f32,
    /// The upper end of marks, and their lower one.
    pub top: f32,
    pub bottom: f32,
}

/// Shows marks above a timeline: named ones as triangles, pauses as two bars. A click goes to a step.
pub(crate) fn show_run_marks(
    ui: &mut Ui,
    rail: &MarkRail,
    marks: &[RunMark],
    [shown, last]: [u64; 2],
    requests: &mut Requests,
) {
    for (index, mark) in marks.iter().enumerate() {
        let x = rail.left + rail.points_per_step * mark.step as f32;
        let area = Rect::from_x_y_ranges(x - 5.0..=x + 5.0, rail.top..=rail.bottom);
        // Without the focus of Tab, as the marks of changed settings.
        let response = ui.interact(area, ui.scope_id().with(("run mark", index)), Sense::CLICK | Sense::HOVER);
        let description = mark.description();
        response.widget_info(|| WidgetInfo::labeled(egui::Role::Button, true, description.clone()));
        let color = match (response.hovered(), mark.is_pause) {
            (true, _) => ui.visuals().strong_text_color(),
            (false, true) => ui.visuals().weak_text_color(),
            (false, false) => ui.visuals().hyperlink_color,
        };
        match mark.is_pause {
            true => pause_sign(ui, x, rail, color),
            false => {
                let corners = [[x - 4.5, rail.top], [x + 4.5, rail.top], [x, rail.top + 7.0]];
                let corners = corners.map(egui::Pos2::from).to_vec();
                ui.painter().add(egui::Shape::convex_polygon(corners, color, Stroke::NONE));
            }
        }
        if response.clicked() {
            requests.actions.push(go_to(mark.step, shown, last));
        }
        response.on_hover_text(format!("{description}\nClick to go there."));
    }
}

fn pause_sign(ui: &Ui, x: f32, rail: &MarkRail, color: egui::Color32) {
    for left in [x - 2.5, x + 0.5] {
        let bar = Rect::from_x_y_ranges(left..=left + 2.0, rail.top..=rail.top + 7.0);
        ui.painter().rect_filled(bar, 0.0, color);
    }
}

#[cfg(test)]
mod tests {
    use valleyscope_experiments::preset::Preset;

    use super::*;

    #[test]
    fn a_run_keeps_its_marks_and_pauses_while_it_goes_on() {
        let text = r#"Landscape(version: 1, title: "A lesson",
            simulations: [(spec: (noise: 0.0, optimizers: [(id: 0, rule: Adam(learning_rate: 0.01))]))],
            lesson: [
                (text: "One.", set: [Noise(1.0), Steps(100)], marks: [(step: 50, text: "half")]),
                (text: "Two.", set: [Steps(200)], marks: [(step: 20, text: "early")]),
                (text: "Three.", set: [Noise(2.0)]),
            ])"#;
        let Ok(Preset::Landscape(preset)) = Preset::parse(text, "test") else { panic!("it is a landscape") };
        let lesson = LessonDraft::of(&preset);
        let description =
            |step, pause| run_marks(&lesson, step, pause).iter().map(RunMark::description).collect::<Vec<_>>();
        assert_eq!(description(0, Some(100)), ["Step 50: half", "Step 100: pause"]);
        let both = ["Step 20: early", "Step 50: half", "Step 100: pause", "Step 200: pause"];
        assert_eq!(description(1, Some(200)), both);
        assert_eq!(description(2, Some(200)), ["Step 200: pause"]);
        assert_eq!(description(2, None), [""; 0]);
    }

    #[test]
    fn a_step_of_the_past_is_sought_and_one_of_the_future_taken() {
        assert_eq!(go_to(50, 20, 50), Action::Landscape(LandscapeAction::Seek(50)));
        assert_eq!(go_to(80, 20, 50), Action::Landscape(LandscapeAction::Step(60)));
    }
}
