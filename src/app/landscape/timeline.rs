//! The timeline: the steps of the run, the shown one, the marks of changed settings, the branches, and the range that
//! is played over and over.

use egui::{
    Align2, Button, Context, Id, Key, Modifiers, Popup, PopupCloseBehavior, Rect, Response, ScrollArea, Sense, Shape,
    Slider, Stroke, TextStyle, Ui, Vec2, WidgetInfo, pos2, vec2,
};
use valleyscope_experiments::view::ticks::grouped;

use super::branches;
use super::branches::MarkedChanges;
use super::editor::Document;
use super::live::{Live, RunMark};
use super::transport::step_text;
use crate::app::shell::actions::{Action, DIGIT_KEYS, Keys, LandscapeAction, Requests};
use crate::app::widgets::icons::{Icon, icon_button};
use crate::app::widgets::number::TypedField;
use crate::app::widgets::theme::text_width;
use crate::app::widgets::{form, number};
use crate::player::{PlaybackPace, PlayerCommand, SessionView};

/// The height of the slider, in points.
const SLIDER: f32 = 16.0;
/// The height above the slider in which the marks are, in points.
const MARKS: f32 = 9.0;
/// The distance below which marks share a group, in points.
const NEAR: f32 = 7.0;

/// The height of the line of a branch, in points.
const BRANCH: f32 = 4.0;
/// The side of the button of the menu, in points.
const MENU: f32 = 20.0;

/// The bar with the steps of a landscape's run.
#[derive(Default)]
pub(crate) struct TimelineBar {
    /// The id of the slider, once it was drawn.
    slider: Option<Id>,
    /// The range that is being chosen by a drag with Shift: its start, and the step at the pointer.
    chosen: Option<[u64; 2]>,
    /// The range typed in the menu.
    typed: Option<[u64; 2]>,
}

/// The positions of steps along the slider.
#[derive(Clone, Copy)]
struct Rail {
    slider: Rect,
    /// The step at the right end: the last one of the run and its branches.
    end: u64,
}

impl Rail {
    /// Returns where the slider's handle is at its lowest and highest value.
    fn ends(&self) -> [f32; 2] {
        let inset = self.slider.height() / 2.5;
        [self.slider.left() + inset, self.slider.right() - inset]
    }

    fn x(&self, step: u64) -> f32 {
        let ([left, right], share) = (self.ends(), step as f64 / self.end.max(1) as f64);
        left + (right - left) * share as f32
    }

    fn step(&self, x: f32) -> u64 {
        let [left, right] = self.ends();
        let share = (x - left) / (right - left);
        (f64::from(share.clamp(0.0, 1.0)) * self.end as f64).round() as u64
    }
}

impl TimelineBar {
    pub(crate) fn ui(&mut self, ui: &mut Ui, document: &Document, live: &mut Live, requests: &mut Requests) {
        self.rail(ui, document, live, requests);
        branches::branch_list(ui, document, live, requests);
    }

    fn rail(&mut self, ui: &mut Ui, document: &Document, live: &Live, requests: &mut Requests) {
        let Some(session) = live.session(live.chosen) else { return };
        let font = TextStyle::Small.resolve(ui.style());
        // Marks of the lesson and a pause that are still to come have room, too.
        let end = live.run_marks.iter().map(|mark| mark.step).fold(session.last_step, u64::max);
        let last = grouped(end);
        // At least four digits, so that the slider does not move while the number grows.
        let widest = grouped(10_u64.pow(end.max(1000).ilog10()));
        let label = text_width(ui, &font, &widest.replace('1', "8")).max(text_width(ui, &font, &last)) + 8.0;
        let lines = BRANCH * live.branches_of(live.chosen).count() as f32;
        let (area, _) = ui.allocate_exact_size(vec2(ui.available_width(), MARKS + SLIDER + lines), Sense::hover());
        let top = area.top() + MARKS;
        let right = area.right() - label - MENU - 2.0;
        let slider = Rect::from_x_y_ranges(area.left()..=right, top..=top + SLIDER);
        let end = live.branches_of(live.chosen).map(|branch| branch.session.last_step).fold(end, u64::max);
        let rail = Rail { slider, end };
        let color = ui.visuals().weak_text_color();
        let has_steps = rail.end > 0;
        if has_steps {
            let at = pos2(area.right() - MENU - 2.0, slider.center().y);
            ui.painter().text(at, Align2::RIGHT_CENTER, last, font, color);
        }
        ui.scope_builder(egui::UiBuilder::new().max_rect(slider), |ui| self.slider(ui, rail, session, requests));
        let reached = session.last_step;
        if rail.end > reached {
            let done = Rect::from_x_y_ranges(rail.x(0)..=rail.x(reached), slider.bottom() - 2.0..=slider.bottom());
            ui.painter().rect_filled(done, 1.0, color);
        }
        draw_branches(ui, rail, document, live);
        self.loop_band(ui, rail, live.looped(), requests);
        draw_marks(ui, rail, document, live, requests);
        draw_run_marks(ui, rail, &live.run_marks, session, requests);
        let button = Rect::from_center_size(pos2(area.right() - 0.5 * MENU, slider.center().y), Vec2::splat(MENU));
        let button = egui::UiBuilder::new().max_rect(button);
        ui.scope_builder(button, |ui| self.menu(ui, document, live, requests));
    }

    /// Shows the slider. Beyond the last step there is nothing to show yet.
    fn slider(&mut self, ui: &mut Ui, rail: Rail, session: &SessionView, requests: &mut Requests) {
        ui.spacing_mut().slider_width = ui.available_width();
        ui.spacing_mut().interact_size.y = ui.available_height();
        let mut step = session.step;
        let slider = Slider::new(&mut step, 0..=rail.end.max(1)).show_value(false);
        let response = ui.add_enabled(session.last_step > 0, slider).accessible_name("Timeline");
        self.slider = Some(response.id);
        let is_choosing = self.choose_loop(ui, &response, rail, requests);
        // A slider takes no click that begins and ends within one frame.
        let is_short_click = || ui.input(|input| input.pointer.primary_pressed() && input.pointer.primary_released());
        if response.changed() && !is_choosing {
            requests.commands.push(PlayerCommand::Seek(step));
        } else if let Some(pointer) = response.hover_pos().filter(|_| response.enabled() && is_short_click()) {
            requests.commands.push(PlayerCommand::Seek(rail.step(pointer.x)));
        }
        if let Some(pointer) = response.hover_pos() {
            let text = match self.chosen {
                Some(chosen) => loop_text(chosen),
                None if response.dragged() => step_text(step),
                None => step_text(rail.step(pointer.x)),
            };
            response.on_hover_text_at_pointer(text);
        }
    }

    pub(crate) fn has_focus(&self, ctx: &Context) -> bool {
        self.slider.is_some_and(|slider| ctx.memory(|memory| memory.has_focus(slider)))
    }
}

/// The key that plays.
pub(crate) const PLAY: (&str, &str) = ("Space", "Play from the shown step, or pause");

pub(crate) fn pressed(keys: &Keys<'_>) -> Option<LandscapeAction> {
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

/// Returns the speed of a pressed key: the next slower or faster one, or that of a digit with Alt, or of a digit alone
/// on the focused timeline.
pub(crate) fn pressed_speed(keys: &Keys<'_>, pace: PlaybackPace, is_on_timeline: bool) -> Option<PlaybackPace> {
    let with_alt = DIGIT_KEYS.iter().position(|&digit| keys.pressed(Modifiers::ALT, digit));
    let alone = || DIGIT_KEYS.iter().position(|&digit| is_on_timeline && keys.pressed_once(digit));
    if let Some(index) = with_alt.or_else(alone) {
        return Some(pace.of_digit(index));
    }
    if keys.typed("<") {
        return Some(pace.next(false));
    }
    keys.typed(">").then(|| pace.next(true))
}

/// Draws a line for each branch below the slider, from the step at which it begins to its last one.
fn draw_branches(ui: &mut Ui, rail: Rail, document: &Document, live: &Live) {
    for (index, branch) in live.branches_of(live.chosen).enumerate() {
        let y = rail.slider.bottom() + BRANCH * (index as f32 + 0.5);
        let [from, to] = [branch.since, branch.session.last_step].map(|step| rail.x(step));
        let opacity = if live.hidden_branches.contains(&branch.id) { 0.4 } else { 1.0 };
        let stroke = Stroke::new(2.0, branches::branch_color(ui).gamma_multiply(opacity));
        ui.painter().hline(from..=to, y, stroke);
        ui.painter().vline(from, rail.slider.center().y + 4.0..=y + 1.0, stroke);
        let area = Rect::from_x_y_ranges(from..=to, y - 0.5 * BRANCH..=y + 0.5 * BRANCH);
        let response = ui.interact(area, ui.scope_id().with(("branch", branch.id)), Sense::hover());
        let label = live.label_of(branch, document.spec(live.chosen));
        response.on_hover_text(format!("{label}\nto step {}", grouped(branch.session.last_step)));
    }
}

/// Shows the marks of changed settings above the slider. A click on one seeks its step, a right click opens its menu.
fn draw_marks(ui: &mut Ui, rail: Rail, document: &Document, live: &Live, requests: &mut Requests) {
    let slider = rail.slider;
    let points_per_step = rail.x(1) - rail.x(0);
    let top = slider.top() - MARKS + 1.0;
    let near = f64::from(NEAR / points_per_step);
    for (index, group) in live.marks_of(live.chosen).groups(|step| step as f64, near).enumerate() {
        let [first, last] = branches::ends(group);
        let [from, to] = [first, last].map(|step| rail.x(step));
        let area = Rect::from_x_y_ranges(from - 4.0..=to + 4.0, top..=slider.top() + 2.0);
        // Without the focus of Tab: a session may have very many.
        let response = ui.interact(area, ui.scope_id().with(("mark", index)), Sense::CLICK | Sense::HOVER);
        let marked = MarkedChanges::of(group, document, live);
        let muted = if marked.is_muted() { ", muted" } else { "" };
        let name = format!("{}{muted}", marked.text.replace('\n', ", "));
        response.widget_info(|| WidgetInfo::labeled(egui::Role::Button, true, &name));
        let color = if response.hovered() { ui.visuals().strong_text_color() } else { ui.visuals().warn_fg_color };
        let flag = Rect::from_x_y_ranges(from - 2.5..=to + 2.5, top..=top + 4.0);
        ui.painter().vline(from, top..=slider.center().y - 3.0, Stroke::new(1.5, color));
        if marked.is_muted() {
            // Struck out: an empty flag with a line across.
            ui.painter().rect_stroke(flag, 1.5, Stroke::new(1.0, color), egui::StrokeKind::Inside);
            let ends = [flag.left_bottom() + vec2(-2.0, 3.0), flag.right_top() + vec2(2.0, -2.0)];
            ui.painter().line_segment(ends, Stroke::new(1.5, ui.visuals().strong_text_color()));
        } else {
            ui.painter().rect_filled(flag, 1.5, color);
        }
        branches::mark_menu(&response, Some(&marked), requests);
        if response.clicked() {
            requests.actions.push(Action::Landscape(LandscapeAction::Seek(first)));
        }
        response.on_hover_text(marked.hint());
    }
}

/// Shows the marks of a lesson above the slider: named ones as triangles, pauses as two bars. A click goes to a step.
fn draw_run_marks(ui: &mut Ui, rail: Rail, marks: &[RunMark], session: &SessionView, requests: &mut Requests) {
    let (top, visuals) = (rail.slider.top() - MARKS + 1.0, ui.visuals().clone());
    for (index, mark) in marks.iter().enumerate() {
        let x = rail.x(mark.step);
        let area = Rect::from_x_y_ranges(x - 5.0..=x + 5.0, top..=rail.slider.top() + 2.0);
        // Without the focus of Tab, as the marks of changed settings.
        let response = ui.interact(area, ui.scope_id().with(("run mark", index)), Sense::CLICK | Sense::HOVER);
        let description = mark.description();
        response.widget_info(|| WidgetInfo::labeled(egui::Role::Button, true, description.clone()));
        let color = match (response.hovered(), mark.is_pause) {
            (true, _) => visuals.strong_text_color(),
            (false, true) => visuals.weak_text_color(),
            (false, false) => visuals.hyperlink_color.gamma_multiply(if mark.holds { 1.0 } else { 0.4 }),
        };
        if mark.is_pause {
            for left in [x - 2.5, x + 0.5] {
                ui.painter().rect_filled(Rect::from_x_y_ranges(left..=left + 2.0, top..=top + 7.0), 0.0, color);
            }
        } else {
            let corners = [pos2(x - 4.5, top), pos2(x + 4.5, top), pos2(x, top + 7.0)];
            ui.painter().add(Shape::convex_polygon(corners.to_vec(), color, Stroke::NONE));
        }
        if response.clicked() {
            requests.actions.push(branches::go_to(mark.step, session.step, session.last_step));
        }
        response.on_hover_text(format!("{description}\nClick to go there."));
    }
}

/// Formats a range of steps, as in "Loop over steps 100 to 200".
fn loop_text(ends: [u64; 2]) -> String {
    let [first, last] = sorted(ends);
    format!("Loop over steps {} to {}", grouped(first), grouped(last))
}

/// Requests to play these steps over and over.
fn play_loop(ends: [u64; 2], requests: &mut Requests) {
    let ends = sorted(ends);
    let commands = [PlayerCommand::Loop(Some(ends)), PlayerCommand::Seek(ends[0]), PlayerCommand::Play];
    requests.commands.extend(commands.into_iter().filter(|_| ends[0] < ends[1]));
}

fn sorted([one, other]: [u64; 2]) -> [u64; 2] {
    [one.min(other), one.max(other)]
}

impl TimelineBar {
    /// Chooses the range of the loop by a drag with Shift; returns whether that is going on.
    fn choose_loop(&mut self, ui: &Ui, slider: &Response, rail: Rail, requests: &mut Requests) -> bool {
        let pointer = slider.interact_pointer_pos().map(|at| rail.step(at.x));
        if slider.drag_started() && ui.input(|input| input.modifiers.shift) {
            // A drag is noticed after some points.
            let begin = ui.input(|input| input.pointer.press_origin()).map(|at| rail.step(at.x)).or(pointer);
            self.chosen = begin.map(|step| [step; 2]);
        }
        let Some(chosen) = &mut self.chosen else { return false };
        chosen[1] = pointer.unwrap_or(chosen[1]);
        if !slider.dragged() {
            play_loop(*chosen, requests);
            self.chosen = None;
        }
        true
    }

    /// Draws the range of the loop. A click above the slider ends it.
    fn loop_band(&self, ui: &mut Ui, rail: Rail, looped: Option<[u64; 2]>, requests: &mut Requests) {
        let Some([first, last]) = self.chosen.map(sorted).or(looped) else { return };
        let [from, to] = [first, last].map(|step| rail.x(step.min(rail.end)));
        let strip = rail.slider.top() - MARKS + 1.0..=rail.slider.top() + 1.0;
        let response = ui.interact(
            Rect::from_x_y_ranges(from..=to, strip),
            ui.scope_id().with("loop"),
            Sense::CLICK | Sense::HOVER,
        );
        let text = loop_text([first, last]);
        response.widget_info(|| WidgetInfo::labeled(egui::Role::Button, true, format!("{text}: end")));
        let color = ui.visuals().hyperlink_color;
        let band = Rect::from_x_y_ranges(from..=to, response.rect.top()..=rail.slider.bottom());
        ui.painter().rect_filled(band, 2.0, color.gamma_multiply(if response.hovered() { 0.4 } else { 0.25 }));
        for x in [from, to] {
            ui.painter().vline(x, band.y_range(), Stroke::new(1.5, color));
        }
        if response.clicked() {
            requests.commands.push(PlayerCommand::Loop(None));
        }
        response.on_hover_text(format!("{text}. Click or Esc to end it."));
    }
}

/// The width of the menu and the largest height of its list, in points.
const MENU_WIDTH: f32 = 260.0;
const MENU_LIST_HEIGHT: f32 = 200.0;

impl TimelineBar {
    fn menu(&mut self, ui: &mut Ui, document: &Document, live: &Live, requests: &mut Requests) {
        let hint = "Play a range of steps over and over, or see the run without a change";
        let button = icon_button(ui, Icon::More, MENU, "Timeline menu", hint);
        let popup = Popup::menu(&button).close_behavior(PopupCloseBehavior::CloseOnClickOutside);
        let shown = popup.show(|ui| {
            ui.set_width(MENU_WIDTH);
            self.loop_fields(ui, live, requests);
            ui.separator();
            change_list(ui, document, live, requests);
        });
        if shown.is_none() {
            self.typed = None;
        }
    }

    fn loop_fields(&mut self, ui: &mut Ui, live: &Live, requests: &mut Requests) {
        let Some(session) = live.session(live.chosen) else { return };
        let shown = live.looped().unwrap_or([0, session.last_step]);
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
                play_loop(ends, requests);
                self.typed = None;
                ui.close();
            }
            let end = ui.add_enabled(live.looped().is_some(), Button::new("End the loop"));
            if end.on_disabled_hover_text("No steps are played over and over.").clicked() {
                requests.commands.push(PlayerCommand::Loop(None));
            }
        });
    }
}

/// Shows an entry for each change of the session, which adds or removes the session without it.
fn change_list(ui: &mut Ui, document: &Document, live: &Live, requests: &mut Requests) {
    ui.strong("What if not");
    let mut groups = live.marks_of(live.chosen).groups(|step| step as f64, 1.0).peekable();
    if groups.peek().is_none() {
        ui.weak("No setting was changed.");
    }
    ScrollArea::vertical().max_height(MENU_LIST_HEIGHT).show(ui, |ui| {
        for group in groups {
            let marked = MarkedChanges::of(group, document, live);
            let changes = marked.text.replace('\n', ", ");
            marked.what_if_not(ui, [&changes, &format!("{changes}: what if not")], requests);
        }
    });
}
