//! The timeline: the steps of the run, the shown one, and the marks of changed settings.

use egui::{Align2, Context, Id, Key, Modifiers, Rect, Sense, Slider, Stroke, TextStyle, Ui, WidgetInfo, pos2, vec2};
use valleyscope_experiments::view::ticks::grouped;

use super::document::Document;
use super::keys::Keys;
use super::live::{Action, LandscapeAction, Live, Requests};
use super::theme::text_width;
use crate::player::{PlayerCommand, Snapshot};
use crate::setting_marks::{SettingMark, text};

/// The height of the slider, in points.
const SLIDER: f32 = 16.0;
/// The height above the slider in which the marks are, in points.
const MARKS: f32 = 9.0;
/// The distance below which marks share a group, in points.
const NEAR: f32 = 7.0;

/// The bar with the steps of a landscape's run.
#[derive(Default)]
pub(super) struct TimelineBar {
    /// The id of the slider, once it was drawn.
    slider: Option<Id>,
}

impl TimelineBar {
    /// Shows the timeline over the available width.
    pub(super) fn ui(&mut self, ui: &mut Ui, document: &Document, live: &Live, requests: &mut Requests) {
        let Some(snapshot) = &live.snapshot else { return };
        let font = TextStyle::Small.resolve(ui.style());
        let last = grouped(snapshot.last_step);
        // At least four digits, so that the slider does not move while the number grows.
        let widest = grouped(10_u64.pow(snapshot.last_step.max(1000).ilog10()));
        let label = text_width(ui, &font, &widest.replace('1', "8")).max(text_width(ui, &font, &last)) + 8.0;
        let (area, _) = ui.allocate_exact_size(vec2(ui.available_width(), MARKS + SLIDER), Sense::hover());
        let rail = Rect::from_min_max(area.min + vec2(0.0, MARKS), pos2(area.right() - label, area.bottom()));
        let color = ui.visuals().weak_text_color();
        if snapshot.last_step > 0 {
            ui.painter().text(pos2(area.right(), rail.center().y), Align2::RIGHT_CENTER, last, font, color);
        }
        ui.scope_builder(egui::UiBuilder::new().max_rect(rail), |ui| self.slider(ui, snapshot, requests));
        marks(ui, rail, snapshot.last_step, document, live, requests);
    }

    fn slider(&mut self, ui: &mut Ui, snapshot: &Snapshot, requests: &mut Requests) {
        ui.spacing_mut().slider_width = ui.available_width();
        ui.spacing_mut().interact_size.y = ui.available_height();
        let mut step = snapshot.step;
        let slider = Slider::new(&mut step, 0..=snapshot.last_step.max(1)).show_value(false);
        let response = ui.add_enabled(snapshot.last_step > 0, slider).accessible_name("Timeline");
        self.slider = Some(response.id);
        if response.changed() {
            requests.commands.push(PlayerCommand::Seek(step));
        }
        let step_at = |at: f32| {
            let share = (at - left(response.rect)) / (right(response.rect) - left(response.rect));
            (f64::from(share.clamp(0.0, 1.0)) * snapshot.last_step as f64).round() as u64
        };
        if let Some(pointer) = response.hover_pos() {
            let step = if response.dragged() { step } else { step_at(pointer.x) };
            response.on_hover_text_at_pointer(format!("Step {}", grouped(step)));
        }
    }

    /// Returns whether the keys go to the timeline.
    pub(super) fn has_focus(&self, ctx: &Context) -> bool {
        self.slider.is_some_and(|slider| ctx.memory(|memory| memory.has_focus(slider)))
    }
}

/// The keys of time, and their effects, for the list of keys.
pub(super) const KEYS: [(&str, &str); 4] = [
    ("Space", "Play from the shown step, or pause"),
    ("← and →", "One step back or forth; ten with Shift"),
    ("Home", "Show the start of the run"),
    ("End", "Show the last step of the run"),
];

/// Returns the action of a pressed key of time.
pub(super) fn pressed(keys: &Keys<'_>) -> Option<LandscapeAction> {
    // With Shift first, as the keys without it match, too.
    let steps = [
        (Modifiers::SHIFT, Key::ArrowRight, 10),
        (Modifiers::SHIFT, Key::ArrowLeft, -10),
        (Modifiers::NONE, Key::ArrowRight, 1),
        (Modifiers::NONE, Key::ArrowLeft, -1),
    ];
    // In a slow frame, a key may be pressed several times.
    let moved = steps.into_iter().map(|(modifiers, key, steps)| steps * keys.presses(modifiers, key) as i64).sum();
    if moved != 0 {
        return Some(LandscapeAction::Step(moved));
    }
    if keys.pressed_once(Key::Space) {
        return Some(LandscapeAction::TogglePlay);
    }
    let ends = [(Key::Home, 0), (Key::End, u64::MAX)];
    ends.into_iter().find(|&(key, _)| keys.pressed_once(key)).map(|(_, step)| LandscapeAction::Seek(step))
}

/// Returns where the slider's handle is at its lowest and highest value.
fn left(slider: Rect) -> f32 {
    slider.left() + slider.height() / 2.5
}

fn right(slider: Rect) -> f32 {
    slider.right() - slider.height() / 2.5
}

/// Shows the marks of changed settings above the slider. A click on one seeks its step.
fn marks(ui: &mut Ui, slider: Rect, last_step: u64, document: &Document, live: &Live, requests: &mut Requests) {
    let points_per_step = (right(slider) - left(slider)) / last_step.max(1) as f32;
    let top = slider.top() - MARKS + 1.0;
    let near = f64::from(NEAR / points_per_step);
    for (index, group) in live.marks.groups(|step| step as f64, near).enumerate() {
        let [first, last] = ends(group);
        let [from, to] = [first, last].map(|step| left(slider) + points_per_step * step as f32);
        let area = Rect::from_x_y_ranges(from - 4.0..=to + 4.0, top..=slider.top() + 2.0);
        // Without the focus of Tab: a session may have very many.
        let response = ui.interact(area, ui.scope_id().with(("mark", index)), Sense::CLICK | Sense::HOVER);
        let words = words(group, document);
        response.widget_info(|| WidgetInfo::labeled(egui::Role::Button, true, words.replace('\n', ", ")));
        let color = if response.hovered() { ui.visuals().strong_text_color() } else { ui.visuals().warn_fg_color };
        let flag = Rect::from_x_y_ranges(from - 2.5..=to + 2.5, top..=top + 4.0);
        ui.painter().vline(from, top..=slider.center().y - 3.0, Stroke::new(1.5, color));
        ui.painter().rect_filled(flag, 1.5, color);
        if response.clicked() {
            requests.actions.push(Action::Landscape(LandscapeAction::Seek(first)));
        }
        response.on_hover_text(format!("{words}\nClick to go there."));
    }
}

/// Returns the first and the last step of a group.
fn ends(group: &[SettingMark]) -> [u64; 2] {
    [group.first(), group.last()].map(|mark| mark.map_or(0, |mark| mark.step))
}

/// Formats the changes of a group and their step, as in "Step 500: σ 1 → 2".
pub(super) fn words(group: &[SettingMark], document: &Document) -> String {
    let [first, last] = ends(group);
    let steps = if first == last {
        format!("Step {}", grouped(first))
    } else {
        format!("Steps {} to {}", grouped(first), grouped(last))
    };
    format!("{steps}: {}", text(group, |id| document.spec.name_of(id)))
}
