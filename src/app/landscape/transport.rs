//! The transport bar: play, step, restart, speed, seed and number of steps.

use egui::{Button, Response, RichText, Sense, Slider, SliderClamping, TextStyle, Ui, vec2};
use valleyscope_engine::simulation::SimulationSpec;
use valleyscope_experiments::view::ticks::grouped;

use super::live::Live;
use crate::app::shell::actions::{Action, LandscapeAction, Requests};
use crate::app::widgets::form::check_box;
use crate::app::widgets::icons::{Icon, icon_button};
use crate::app::widgets::number::TypedField;
use crate::app::widgets::theme::text_width;
use crate::app::widgets::{form, number};
use crate::player::{Playback, PlaybackPace, Snapshot};

/// Returns the initial end of a run at `step`: the next of 1000, 2000, 5000, 10,000, ….
fn next_stop(step: u64) -> u64 {
    let mut stops = (3..19).flat_map(|exponent| [1, 2, 5].map(|digit| digit * 10_u64.pow(exponent)));
    stops.find(|&stop| stop > step).unwrap_or(u64::MAX)
}

/// Shows the transport bar, with the end and the seed of the first simulation.
pub(crate) fn bar(
    ui: &mut Ui,
    spec: &mut SimulationSpec,
    live: &Live,
    pace: &mut PlaybackPace,
    requests: &mut Requests,
) {
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing = vec2(6.0, 6.0);
        buttons(ui, live, requests);
        divider(ui);
        progress(ui, live);
        divider(ui);
        speed(ui, pace);
        divider(ui);
        steps(ui, &mut spec.steps, live.snapshot.as_ref().map_or(0, |snapshot| snapshot.step));
        divider(ui);
        seed(ui, &mut spec.seed);
    });
}

/// Draws a vertical line as high as the controls. A separator would cross all rows of the bar.
fn divider(ui: &mut Ui) {
    let (area, _) = ui.allocate_exact_size(vec2(5.0, ui.spacing().interact_size.y), Sense::hover());
    let stroke = ui.visuals().widgets.noninteractive.bg_stroke;
    ui.painter().vline(area.center().x, area.y_range(), stroke);
}

fn buttons(ui: &mut Ui, live: &Live, requests: &mut Requests) {
    let side = 30.0;
    play_button(ui, live, side, requests);
    if icon_button(ui, Icon::StepBack, side, "Step back", "Show the step before (←)").clicked() {
        requests.actions.push(Action::Landscape(LandscapeAction::Step(-1)));
    }
    if icon_button(ui, Icon::Step, side, "Single step", "Take a single step (→)").clicked() {
        requests.actions.push(Action::Landscape(LandscapeAction::Step(1)));
    }
    if icon_button(ui, Icon::Restart, side, "Restart", "Restart at step 0 (R)").clicked() {
        requests.actions.push(Action::Landscape(LandscapeAction::Restart));
    }
}

fn play_button(ui: &mut Ui, live: &Live, side: f32, requests: &mut Requests) {
    let (icon, name) = if live.is_playing() { (Icon::Pause, "Pause") } else { (Icon::Play, "Play") };
    if icon_button(ui, icon, side, name, &format!("{name} (space)")).clicked() {
        requests.actions.push(Action::Landscape(LandscapeAction::TogglePlay));
    }
}

fn progress(ui: &mut Ui, live: &Live) {
    let Some(snapshot) = &live.snapshot else {
        ui.weak("Step 0");
        return;
    };
    // At least four digits, so that the bar does not move while the number grows.
    let widest = 10_u64.pow(snapshot.step.max(1000).ilog10());
    reserved(ui, RichText::new(step_text(snapshot.step)).strong(), &step_text(widest));
    let rate = match snapshot.playback {
        Playback::Playing => format!("{} steps/s", number::rate(snapshot.steps_per_sec)),
        _ if snapshot.step < snapshot.last_step => format!("of {}", grouped(snapshot.last_step)),
        resting => in_words(resting).to_owned(),
    };
    let particle_steps = number::rate(snapshot.particle_steps_per_sec);
    let response = reserved(ui, RichText::new(rate).weak(), "888 steps/s");
    response.on_hover_text(format!("{particle_steps} particle steps a second, over all optimizers"));
}

/// Shows whether the run plays, its step, the noise and the speed in a row, for presentations. The titles of simulations
/// side by side name the noise where it differs.
pub(crate) fn state(ui: &mut Ui, live: &Live, pace: PlaybackPace, requests: &mut Requests) {
    let Some(snapshot) = &live.snapshot else { return };
    play_button(ui, live, ui.spacing().interact_size.y, requests);
    let of =
        |snapshot: &Snapshot| if live.is_side_by_side() { step_text(snapshot.step) } else { step_and_noise(snapshot) };
    let speed = match pace.unlimited {
        true => "full speed".to_owned(),
        false => format!("{} steps/s", number::text(pace.steps_per_sec)),
    };
    let text = |of: String, playback| format!("{of} · {} · {speed}", in_words(playback));
    // At least four digits, so that what follows does not move while the number grows.
    let widest = step_text(10_u64.pow(snapshot.step.max(1000).ilog10())).replace('1', "8");
    let widest = of(snapshot).replacen(&step_text(snapshot.step), &widest, 1);
    let shown = RichText::new(text(of(snapshot), snapshot.playback));
    reserved(ui, shown, &text(widest, Playback::Finished));
}

/// Formats the step of a snapshot and its noise, as in "Step 1,200 · σ = 1" and "Step 5 · additive noise, σ = 1".
pub(crate) fn step_and_noise(snapshot: &Snapshot) -> String {
    format!("{} · {}", step_text(snapshot.step), snapshot.sessions[0].spec.noise.text_with(number::text))
}

/// Formats a step, as in "Step 1,200".
pub(crate) fn step_text(step: u64) -> String {
    format!("Step {}", grouped(step))
}

pub(crate) fn in_words(playback: Playback) -> &'static str {
    match playback {
        Playback::Playing => "playing",
        Playback::Paused => "paused",
        Playback::Finished => "finished",
    }
}

/// Shows a label as wide as `widest`.
fn reserved(ui: &mut Ui, text: RichText, widest: &str) -> Response {
    let font = TextStyle::Body.resolve(ui.style());
    let width = text_width(ui, &font, widest);
    form::cell(ui, width, |ui| ui.label(text))
}

fn speed(ui: &mut Ui, pace: &mut PlaybackPace) {
    ui.label("Speed");
    ui.add_enabled_ui(!pace.unlimited, |ui| {
        ui.spacing_mut().slider_width = 70.0;
        let slider = Slider::new(&mut pace.steps_per_sec, PlaybackPace::SLOWEST..=PlaybackPace::FASTEST)
            .logarithmic(true)
            .clamping(SliderClamping::Edits)
            .show_value(false);
        ui.add(slider).on_hover_text("Steps a second while playing").accessible_name("Speed");
    });
    let field = TypedField { name: "Speed, steps a second", width: 48.0 };
    let typed = field.show(ui, &number::text(pace.steps_per_sec), |text| {
        let value = number::read(text)?;
        let range = PlaybackPace::SLOWEST..=PlaybackPace::FASTEST;
        let refused = || format!("Speed must be a number from {} to {}, found {value}", range.start(), range.end());
        range.contains(&value).then_some(value).ok_or_else(refused)
    });
    if let Some(steps_per_sec) = typed.entered {
        *pace = PlaybackPace { steps_per_sec, unlimited: false };
    }
    let max = Button::selectable(pace.unlimited, "Max");
    if ui.add(max).on_hover_text("As fast as it goes").accessible_name("As fast as it goes").clicked() {
        pace.unlimited = !pace.unlimited;
    }
}

/// Shows the control for the number of steps of a run at `step`.
fn steps(ui: &mut Ui, steps: &mut Option<u64>, step: u64) {
    let mut stops = steps.is_some();
    let toggle = check_box(ui, &mut stops, "Stop at step").on_hover_text("Pause after this many steps");
    if toggle.changed() {
        *steps = stops.then(|| next_stop(step));
    }
    if let Some(steps) = steps {
        let field = TypedField { name: "Number of steps", width: 56.0 };
        let typed = field.show(ui, &steps.to_string(), number::read_whole);
        if let Some(entered) = typed.entered {
            *steps = entered;
        }
    }
}

fn seed(ui: &mut Ui, seed: &mut u64) {
    let help = "The same seed gives the same run. A change restarts the run.";
    ui.label("Seed").on_hover_text(help);
    let field = TypedField { name: "Seed", width: 64.0 };
    let typed = field.show(ui, &seed.to_string(), number::read_whole);
    typed.response.on_hover_text(help);
    if let Some(entered) = typed.entered {
        *seed = entered;
    }
    if icon_button(ui, Icon::Dice, 24.0, "New seed", "Another seed").clicked() {
        // Short enough to read out to a colleague.
        *seed = u64::from(rand::random::<u32>() % 1_000_000);
    }
}

#[cfg(test)]
mod tests {
    use super::next_stop;

    #[test]
    fn a_new_stop_is_at_the_next_round_number() {
        let stops = [0, 999, 1000, 1001, 4999, 12_345, 9 * 10_u64.pow(18)].map(next_stop);
        assert_eq!(stops, [1000, 1000, 2000, 2000, 5000, 20_000, u64::MAX]);
    }
}
