//! The marks of a run that a lesson sets: named steps, and steps at which the run pauses.

use egui::{Rect, Sense, Stroke, Ui, WidgetInfo};
use valleyscope_experiments::preset::{LessonDraft, first_step_of_run, marks_at};
use valleyscope_experiments::view::ticks::grouped;

use super::live::{Action, LandscapeAction, Requests};

/// A marked step of a run.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RunMark {
    pub step: u64,
    pub text: String,
    /// Whether the run pauses there.
    pub is_pause: bool,
}

impl RunMark {
    /// Returns the step and the text, as in "Step 300: Adam starves".
    pub(super) fn words(&self) -> String {
        format!("Step {}: {}", grouped(self.step), self.text)
    }
}

/// Returns the marks of the run at a step of a lesson, in the order of their steps. `pause` is where the run pauses by
/// the settings under the controls.
pub(super) fn run_marks(lesson: &LessonDraft, lesson_step: usize, pause: Option<u64>) -> Vec<RunMark> {
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
pub(super) fn go_to(step: u64, shown: u64, last: u64) -> Action {
    Action::Landscape(match step.checked_sub(last) {
        // Steps beyond the last one are counted from the shown one.
        Some(1..) => LandscapeAction::Step(i64::try_from(step - shown).unwrap_or(i64::MAX)),
        _ => LandscapeAction::Seek(step),
    })
}

/// The place of the marks above a timeline.
pub(super) struct MarkRail {
    /// The left end, and the points per step.
    pub left: f32,
    pub points_per_step: f32,
    /// The upper end of marks, and their lower one.
    pub top: f32,
    pub bottom: f32,
}

/// Shows marks above a timeline: named ones as triangles, pauses as two bars. A click goes to a step.
pub(super) fn show(ui: &mut Ui, rail: &MarkRail, marks: &[RunMark], [shown, last]: [u64; 2], requests: &mut Requests) {
    for (index, mark) in marks.iter().enumerate() {
        let x = rail.left + rail.points_per_step * mark.step as f32;
        let area = Rect::from_x_y_ranges(x - 5.0..=x + 5.0, rail.top..=rail.bottom);
        // Without the focus of Tab, as the marks of changed settings.
        let response = ui.interact(area, ui.scope_id().with(("run mark", index)), Sense::CLICK | Sense::HOVER);
        let words = mark.words();
        response.widget_info(|| WidgetInfo::labeled(egui::Role::Button, true, words.clone()));
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
        response.on_hover_text(format!("{words}\nClick to go there."));
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
            simulation: (noise: 0.0, optimizers: [(id: 0, rule: Adam(learning_rate: 0.01))]),
            lesson: [
                (text: "One.", set: [Noise(1.0), Steps(100)], marks: [(step: 50, text: "half")]),
                (text: "Two.", set: [Steps(200)], marks: [(step: 20, text: "early")]),
                (text: "Three.", set: [Noise(2.0)]),
            ])"#;
        let Ok(Preset::Landscape(preset)) = Preset::parse(text, "test") else { panic!("it is a landscape") };
        let lesson = LessonDraft::of(&preset);
        let words = |step, pause| run_marks(&lesson, step, pause).iter().map(RunMark::words).collect::<Vec<_>>();
        assert_eq!(words(0, Some(100)), ["Step 50: half", "Step 100: pause"]);
        let both = ["Step 20: early", "Step 50: half", "Step 100: pause", "Step 200: pause"];
        assert_eq!(words(1, Some(200)), both);
        assert_eq!(words(2, Some(200)), ["Step 200: pause"]);
        assert_eq!(words(2, None), [""; 0]);
    }

    #[test]
    fn a_step_of_the_past_is_sought_and_one_of_the_future_taken() {
        assert_eq!(go_to(50, 20, 50), Action::Landscape(LandscapeAction::Seek(50)));
        assert_eq!(go_to(80, 20, 50), Action::Landscape(LandscapeAction::Step(60)));
    }
}
