//! The opening of a first start: the narrowing valley in space, three clouds that race down it, and a large slider of
//! the noise.

use std::f64::consts::TAU;

use egui::{
    Align, Align2, Button, CentralPanel, Context, Event, FontId, Frame, Key, Layout, Modifiers, Popup, Rect, RichText,
    Sense, Slider, Ui, UiBuilder, WidgetInfo, pos2, vec2,
};
use valleyscope_engine::setting::{NOISE, SettingPath};
use valleyscope_engine::simulation::SimulationSpec;
use valleyscope_experiments::preset::{LandscapePreset, Preset, built_ins};
use valleyscope_experiments::view::Orbit;

use super::LandscapeTab;
use super::live::Live;
use crate::app::shell::actions::{Action, LandscapeAction, Requests};
use crate::app::widgets::icons::{color_of, draw_marker, marker_of};
use crate::app::widgets::{number, theme};
use crate::player::Playback;

/// The name of the preset that the opening shows, and of the one to which it leads.
const PRESET: &str = "opening";
const NEXT: &str = "lesson";

/// The time between the end of a race and the next one, in seconds.
const REST_SECS: f64 = 4.0;
/// The direction of the camera in the middle of its flight, in which it sways.
const MIDDLE: Orbit = Orbit::HOME;
/// The time of a sway to and fro, in seconds.
const SWAY_SECS: f64 = 30.0;
/// The largest angle of the sway, in degrees.
const SWAY: f64 = 14.0;

/// The width of a window in which the lengths below hold, and how many times as large they are at most in a wider one.
const USUAL_WIDTH: f32 = 1280.0;
const LARGEST: f32 = 1.5;
/// The lengths of the opening's parts, in points.
const MARGIN: f32 = 24.0;
const CAPTION_WIDTH: f32 = 400.0;
const BAR_SIZE: [f32; 2] = [820.0, 78.0];
const BUTTON_HEIGHT: f32 = 42.0;
const GAP: f32 = 16.0;
const TEXT: f32 = 15.5;
const LARGE_TEXT: f32 = 17.0;
const ROW_HEIGHT: f32 = 27.0;
/// The widths of an optimizer's mark and name before its bar, and of the word behind it.
const NAME_WIDTH: f32 = 92.0;
const WORD_WIDTH: f32 = 52.0;
/// The width that the slider leaves for its number.
const NUMBER_WIDTH: f32 = 64.0;
/// The part of the best mean loss by which an optimizer leads at least.
const LEAD: f64 = 0.01;
/// The part of the race after which one leads.
const EARLIEST: f64 = 0.04;

/// The opening while it is shown.
pub(super) struct Opening {
    /// Whether the camera flies. Any input ends that.
    is_flying: bool,
    flown_secs: f64,
    /// The time at which the race ended, by egui's clock.
    ended_at: Option<f64>,
}

impl Opening {
    pub(super) fn begin() -> Opening {
        Opening { is_flying: true, flown_secs: 0.0, ended_at: None }
    }

    pub(super) fn preset() -> LandscapePreset {
        built_in(PRESET)
    }

    /// Moves the camera on. Returns its direction while it flies.
    fn fly(&mut self, ctx: &Context) -> Option<Orbit> {
        self.is_flying &= !ctx.input(|input| input.raw.events.iter().any(is_input));
        if !self.is_flying || theme::is_motion_reduced(ctx) {
            return None;
        }
        ctx.request_repaint();
        self.flown_secs += f64::from(ctx.input(|input| input.stable_dt).min(0.1));
        Some(Orbit { azimuth: MIDDLE.azimuth + SWAY * (TAU * self.flown_secs / SWAY_SECS).sin(), ..MIDDLE })
    }

    /// Returns whether the race has been at its end for long enough to begin again.
    fn is_rested(&mut self, ctx: &Context, live: &Live) -> bool {
        if live.playback() != Playback::Finished {
            self.ended_at = None;
            return false;
        }
        let rested = ctx.time() - *self.ended_at.get_or_insert(ctx.time());
        ctx.request_repaint_after_secs((REST_SECS - rested).max(0.0) as f32);
        rested >= REST_SECS
    }
}

/// Returns a built-in preset of the landscape.
pub(super) fn built_in(name: &str) -> LandscapePreset {
    match built_ins().iter().find(|built_in| built_in.name == name).map(|built_in| &built_in.preset) {
        Some(Preset::Landscape(preset)) => preset.clone(),
        _ => unreachable!("{name} is a built-in preset of the landscape"),
    }
}

/// Returns whether an event is input on purpose. Moving the pointer is not.
fn is_input(event: &Event) -> bool {
    match event {
        Event::Key { pressed, .. } | Event::PointerButton { pressed, .. } => *pressed,
        Event::MouseWheel { .. } | Event::Zoom(_) | Event::Touch { .. } | Event::AccessKitActionRequest(_) => true,
        _ => false,
    }
}

impl LandscapeTab {
    /// Shows the opening in place of the present document. Undo restores that.
    pub(crate) fn show_opening(&mut self, requests: &mut Requests) {
        self.open_landscape(Opening::preset(), None, requests);
        self.live.select(None, requests);
        self.opening = Some(Opening::begin());
    }

    /// Leaves the opening for the first lesson.
    pub(super) fn leave_for_lesson(&mut self, requests: &mut Requests) {
        self.opening = None;
        requests.actions.push(Action::Open(Box::new(Preset::Landscape(built_in(NEXT)))));
    }

    /// Draws the opening, if it is shown, and returns whether it is. Escape and each open menu end it.
    pub(super) fn draw_opening(&mut self, ui: &mut Ui, requests: &mut Requests) -> bool {
        let is_left =
            Popup::is_any_open(ui.ctx()) || ui.input_mut(|input| input.consume_key(Modifiers::NONE, Key::Escape));
        let Some(opening) = self.opening.as_mut().filter(|_| !is_left) else {
            self.opening = None;
            return false;
        };
        if let Some(orbit) = opening.fly(ui.ctx()) {
            self.landscape.look_from(&self.editor.draft.document, orbit);
        }
        let begins_again = opening.is_rested(ui.ctx(), &self.live);
        CentralPanel::default().frame(Frame::NONE.fill(ui.visuals().extreme_bg_color)).show(ui, |ui| {
            let area = ui.available_rect_before_wrap();
            self.area = Some(area);
            self.landscape.alone(ui, &mut self.editor.draft.document, &mut self.live, requests);
            let inner = area.shrink(MARGIN.min(0.03 * area.width()));
            let size = (area.width() / USUAL_WIDTH).clamp(1.0, LARGEST);
            let spec = self.editor.draft.document.spec(0);
            card(ui, Rect::from_min_size(inner.min, vec2((size * CAPTION_WIDTH).min(inner.width()), 0.0)), |ui| {
                caption(ui, size, spec, &self.live);
            });
            let [width, height] = BAR_SIZE.map(|length| size * length);
            let bar = vec2(width.min(inner.width()), height);
            let mut is_set = false;
            card(ui, Align2::CENTER_BOTTOM.align_size_within_rect(bar, inner), |ui| {
                ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                    ui.spacing_mut().item_spacing.x = size * GAP;
                    self.buttons(ui, size, requests);
                    ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
                        is_set = noise_slider(ui, size, self.editor.draft.document.spec_mut(0));
                    });
                });
            });
            if is_set || begins_again {
                let again = [LandscapeAction::Restart, LandscapeAction::Play];
                requests.actions.extend(again.map(Action::Landscape));
            }
        });
        true
    }

    fn buttons(&mut self, ui: &mut Ui, size: f32, requests: &mut Requests) {
        let text = |text: &str| RichText::new(text).size(size * LARGE_TEXT).strong();
        let next = theme::primary_button(ui, text("Next")).min_size(size * vec2(104.0, BUTTON_HEIGHT));
        if ui.add(next).on_hover_text("The first lesson, step by step (Page Down)").clicked() {
            self.leave_for_lesson(requests);
        }
        let whole = ui.add(Button::new(text("All controls")).min_size(vec2(0.0, size * BUTTON_HEIGHT)).frame(false));
        if whole.on_hover_text("The whole window, with this race (Esc)").clicked() {
            self.opening = None;
        }
    }
}

/// Shows a card on the landscape, which grows with its content.
fn card(ui: &mut Ui, area: Rect, content: impl FnOnce(&mut Ui)) {
    let fill = ui.visuals().window_fill.gamma_multiply(0.9);
    let frame = Frame::new().fill(fill).stroke(ui.visuals().window_stroke).corner_radius(12).inner_margin(18);
    ui.scope_builder(UiBuilder::new().max_rect(area), |ui| {
        frame.show(ui, |ui| {
            ui.set_width(ui.available_width());
            content(ui);
        });
    });
}

/// Shows what the race is about, and its standings.
fn caption(ui: &mut Ui, size: f32, spec: &SimulationSpec, live: &Live) {
    ui.spacing_mut().item_spacing.y = size * 6.0;
    ui.label(RichText::new("Who wins in a narrowing valley?").size(size * 23.0).strong());
    let text = "Three optimizers run down the same noisy slope. The bars show how deep each has come. Drag the noise, and \
                another one wins.";
    ui.label(RichText::new(text).size(size * TEXT));
    ui.add_space(4.0);
    let Some(snapshot) = &live.snapshot else { return };
    let losses: Vec<(u32, f64)> = live.simulated(0).map(|view| (view.optimizer, view.sample.loss.mean)).collect();
    let mut sorted: Vec<f64> = losses.iter().map(|(_, loss)| *loss).collect();
    sorted.sort_by(f64::total_cmp);
    let [best, second, ..] = sorted[..] else { return };
    let done = spec.steps.map_or(1.0, |steps| snapshot.step as f64 / steps.max(1) as f64);
    let word = if live.playback() == Playback::Finished { "wins" } else { "leads" };
    for (id, loss) in losses {
        let is_first = loss == best && done > EARLIEST && second - best > LEAD * best.abs();
        let share = if best < 0.0 { done * (loss / best).max(0.0) } else { 0.0 };
        standing(ui, size, (spec, id), share as f32, if is_first { word } else { "" });
    }
}

/// Shows an optimizer with a bar as long as its share of the race, and a word behind it.
fn standing(ui: &mut Ui, size: f32, (spec, id): (&SimulationSpec, u32), share: f32, word: &str) {
    let (row, response) = ui.allocate_exact_size(vec2(ui.available_width(), size * ROW_HEIGHT), Sense::hover());
    let name = spec.name_of(id).unwrap_or_default();
    let (optimizers, painter, visuals) = (&spec.optimizers, ui.painter(), ui.visuals());
    let (color, font) = (color_of(optimizers, id), FontId::proportional(size * TEXT));
    let at = pos2(row.left() + size * 8.0, row.center().y);
    painter.add(draw_marker(marker_of(optimizers, id), at, size * 6.0, color, visuals.strong_text_color()));
    let text_color = if word.is_empty() { visuals.text_color() } else { visuals.strong_text_color() };
    painter.text(at + vec2(size * 16.0, 0.0), Align2::LEFT_CENTER, &name, font.clone(), text_color);
    let rail = row.with_min_x(row.left() + size * NAME_WIDTH).with_max_x(row.right() - size * WORD_WIDTH);
    let rail = rail.shrink2(vec2(0.0, size * 7.0));
    painter.rect_filled(rail, 4.0, visuals.widgets.inactive.bg_fill);
    painter.rect_filled(rail.with_max_x(rail.left() + share.min(1.0) * rail.width()), 4.0, color);
    painter.text(row.right_center(), Align2::RIGHT_CENTER, word, font, text_color);
    let label = format!("{name} {word}").trim_end().to_owned();
    response.widget_info(|| WidgetInfo { label: Some(label.clone()), ..WidgetInfo::new(egui::Role::Label) });
}

/// Shows the large slider of the noise. Returns whether a new value was set, not while it is dragged.
fn noise_slider(ui: &mut Ui, size: f32, spec: &mut SimulationSpec) -> bool {
    let path = SettingPath::new(NOISE.key);
    let Some(mut sigma) = spec.setting(&path).map(|noise| noise.value) else { return false };
    let spacing = ui.spacing_mut();
    (spacing.interact_size.y, spacing.slider_rail_height, spacing.item_spacing.x) =
        (size * 36.0, size * 8.0, size * 14.0);
    ui.label(RichText::new(NOISE.label).size(size * LARGE_TEXT).strong());
    ui.spacing_mut().slider_width = (ui.available_width() - size * NUMBER_WIDTH).max(60.0);
    let slider = Slider::new(&mut sigma, NOISE.slider.low..=NOISE.slider.high).show_value(false);
    let slider = ui.add(slider).accessible_name(NOISE.label);
    sigma = NOISE.nearest((20.0 * sigma).round() / 20.0);
    ui.label(RichText::new(number::text(sigma)).size(size * LARGE_TEXT).strong());
    if slider.changed() {
        spec.set(&path, sigma).expect("the slider keeps to the range");
    }
    slider.drag_stopped() || (slider.changed() && !slider.dragged())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::Trajectories;

    #[test]
    fn all_clouds_end_in_view() {
        let preset = Opening::preset();
        let camera = preset.view.as_ref().and_then(|view| view.camera).expect("it has a camera");
        for sigma in [NOISE.slider.low, 0.3, NOISE.slider.high] {
            let mut preset = preset.clone();
            let spec = preset.simulations[0].spec.as_mut().expect("it has one");
            spec.set(&SettingPath::new(NOISE.key), sigma).expect("it is in range");
            let mut race = Trajectories::new(&preset).expect("it has optimizers");
            while !race.is_complete() {
                race.advance();
            }
            for at in race.simulation().ensembles().iter().flat_map(|ensemble| ensemble.positions()) {
                let is_near = |axis: usize| (at[axis] - camera.center[axis]).abs() < 0.5 * camera.width;
                assert!(is_near(0) && is_near(1), "{at:?} with σ = {sigma}");
            }
        }
    }
}
