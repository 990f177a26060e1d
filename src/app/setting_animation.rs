//! Settings that move by themselves while the run plays, as if their sliders were dragged.

mod window;

use egui::Context;
use valleyscope_engine::simulation::SimulationSpec;
use valleyscope_engine::spacing::Spacing;

use super::controls::{Motion, SliderId};
use super::document::Document;
use super::live::Live;
use super::{form, number};

/// The longest time that a frame counts, in seconds; the run is held while the window is hidden.
const LONGEST_FRAME: f64 = 0.25;
/// The duration of a new animation, in seconds.
const FIRST_SECS: f64 = 10.0;

/// The motion of a setting.
#[derive(Clone, Debug)]
struct SettingAnimation {
    /// The place of the simulation whose setting moves: the first is 0.
    place: usize,
    slider: SliderId,
    from: f64,
    to: f64,
    /// The time from one end to the other, in seconds.
    secs: f64,
    is_back_and_forth: bool,
    /// The state while it moves.
    running: Option<Running>,
}

#[derive(Clone, Debug)]
struct Running {
    /// The time for which it has moved, in seconds.
    elapsed: f64,
    /// The value before it began, which undo restores.
    before: f64,
    /// The value at the beginning of the frame.
    seen: f64,
}

/// The animated settings, and the window in which they are set.
#[derive(Default)]
pub(super) struct SettingAnimations {
    all: Vec<SettingAnimation>,
    is_open: bool,
    /// The number of simulations side by side in the last frame.
    count: usize,
    /// The time of the last frame in which the run played, by egui's clock.
    last_secs: Option<f64>,
}

impl SettingAnimations {
    pub(super) fn open(&mut self) {
        self.is_open = true;
    }

    /// Removes all, as they belong to another document.
    pub(super) fn clear(&mut self) {
        self.all.clear();
    }

    /// Adds a setting, moving it over a part of its slider; an added one stays as it is.
    fn add(&mut self, place: usize, slider: SliderId, document: &Document) {
        let Some((parameter, value, _)) = document.specs().nth(place).and_then(|spec| slider.setting(spec)) else {
            return;
        };
        if self.all.iter().any(|animation| animation.is_of(place, &slider)) {
            return;
        }
        let [low, high] = [parameter.slider.low, parameter.slider.high];
        let doubled = if value > 0.0 { 2.0 * value } else { 0.5 * (low + high) };
        let to = if doubled <= high { doubled } else { low };
        let (secs, is_back_and_forth) = (FIRST_SECS, false);
        self.all.push(SettingAnimation { place, slider, from: value, to, secs, is_back_and_forth, running: None });
    }

    /// Remembers the values before the controls of this frame change them.
    pub(super) fn begin_frame(&mut self, document: &Document) {
        if document.count() < std::mem::replace(&mut self.count, document.count()) {
            // Another simulation may have taken the place of a removed one.
            self.all.retain(|animation| animation.place == 0);
        }
        for animation in &mut self.all {
            let value = animation.value_in(document);
            match (&mut animation.running, value) {
                (Some(running), Some(value)) => running.seen = value,
                _ => animation.running = None,
            }
        }
    }

    /// Moves the settings while new steps are played. A setting that was changed by hand in this frame stops.
    /// A held run takes no steps.
    pub(super) fn advance(&mut self, ctx: &Context, document: &mut Document, live: &Live, is_held: bool) {
        let plays = !is_held && live.snapshot.as_ref().is_some_and(|it| live.is_playing() && it.step == it.last_step);
        let plays = plays && live.frame_secs.is_none();
        let now = ctx.time();
        let secs = self.last_secs.replace(now).map_or(0.0, |last| (now - last).clamp(0.0, LONGEST_FRAME));
        for animation in &mut self.all {
            let value = animation.value_in(document);
            if animation.running.as_ref().is_some_and(|running| value != Some(running.seen)) {
                animation.running = None;
            }
            if let Some(spec) = document.specs_mut().nth(animation.place).filter(|_| plays) {
                animation.move_by(secs, spec);
            }
        }
        // The controls show the chosen simulation.
        let moving = self.all.iter().filter(|animation| animation.place == live.chosen && animation.running.is_some());
        let motions: Vec<_> = moving.map(|it| (it.slider.clone(), Motion(it.words()))).collect();
        if plays && self.all.iter().any(|animation| animation.running.is_some()) {
            ctx.request_repaint();
        }
        Motion::set_all(ctx, motions);
    }

    /// Restores the values before the running animations in a state for undo, so that each is one step of it.
    pub(super) fn undo_state(&self, document: &mut Document) {
        for animation in &self.all {
            if let (Some(running), Some(spec)) = (&animation.running, document.specs_mut().nth(animation.place)) {
                animation.slider.set(spec, running.before);
            }
        }
    }
}

impl SettingAnimation {
    fn is_of(&self, place: usize, slider: &SliderId) -> bool {
        self.place == place && self.slider == *slider
    }

    /// Returns the present value of the setting; `None` if it is gone.
    fn value_in(&self, document: &Document) -> Option<f64> {
        let (_, value, _) = self.slider.setting(document.specs().nth(self.place)?)?;
        Some(value)
    }

    fn start(&mut self, spec: &SimulationSpec) {
        let value = self.slider.setting(spec).map(|(_, value, _)| value);
        self.running = value.map(|value| Running { elapsed: 0.0, before: value, seen: value });
    }

    fn move_by(&mut self, secs: f64, spec: &mut SimulationSpec) {
        let Some(running) = &mut self.running else { return };
        running.elapsed += secs;
        let place = running.elapsed / self.secs;
        let is_over = !self.is_back_and_forth && place >= 1.0;
        let value = self.value_at(place, spec);
        self.slider.set(spec, value);
        if is_over {
            self.running = None;
        }
    }

    /// Returns the value at a place: 0 and 2 at the start, 1 at the end, and so on.
    fn value_at(&self, place: f64, spec: &SimulationSpec) -> f64 {
        let spacing = self.slider.setting(spec).map_or(Spacing::Linear, |(parameter, ..)| parameter.slider.spacing);
        let share = match self.is_back_and_forth {
            true => 1.0 - (1.0 - place.rem_euclid(2.0)).abs(),
            false => place.min(1.0),
        };
        if share == 0.0 || share == 1.0 {
            return if share == 0.0 { self.from } else { self.to };
        }
        let between = |from: f64, to: f64| match from > 0.0 && to > 0.0 {
            true => from * (to / from).powf(share),
            false => from + (to - from) * share,
        };
        let value = match spacing {
            Spacing::Linear => self.from + (self.to - self.from) * share,
            Spacing::Log => between(self.from, self.to),
            Spacing::LogComplement => return form::rounded(1.0 - between(1.0 - self.from, 1.0 - self.to), spacing),
        };
        number::rounded(value, 4)
    }

    /// Describes the motion, as in "Moves from 1 to 2 in 10 s."
    fn words(&self) -> String {
        let [from, to, secs] = [self.from, self.to, self.secs].map(number::text);
        let way = if self.is_back_and_forth { " and back, again and again" } else { "" };
        format!("Moves from {from} to {to} in {secs} s{way}.")
    }
}

#[cfg(test)]
mod tests {
    use valleyscope_experiments::preset::built_ins;

    use super::*;

    fn spec() -> SimulationSpec {
        let valleyscope_experiments::preset::Preset::Landscape(preset) = &built_ins()[0].preset else {
            panic!("the first preset is a landscape")
        };
        preset.simulation.clone()
    }

    #[test]
    fn a_setting_moves_in_equal_steps_of_its_slider() {
        let spec = spec();
        let noise = SliderId::of_noise(&spec).expect("it has noise");
        let [from, to, secs] = [1.0, 3.0, 2.0];
        let mut animation =
            SettingAnimation { place: 0, slider: noise, from, to, secs, is_back_and_forth: false, running: None };
        let values = |animation: &SettingAnimation| [0.0, 0.25, 1.0, 1.5, 2.25].map(|at| animation.value_at(at, &spec));
        assert_eq!(values(&animation), [1.0, 1.5, 3.0, 3.0, 3.0]);
        animation.is_back_and_forth = true;
        assert_eq!(values(&animation), [1.0, 1.5, 3.0, 2.0, 1.5]);
        let rate = SliderId::LearningRate(spec.optimizers[0].id);
        animation = SettingAnimation { slider: rate, from: 0.001, to: 0.1, ..animation };
        assert_eq!(animation.value_at(0.5, &spec), 0.01, "a learning rate moves on its logarithmic slider");
    }

    #[test]
    fn each_live_slider_returns_the_value_to_which_it_was_set() {
        let mut spec = spec();
        for slider in SliderId::live_ones(&spec) {
            let (parameter, before, _) = slider.setting(&spec).expect("it is live");
            let to = if before == parameter.slider.low { parameter.slider.high } else { parameter.slider.low };
            slider.set(&mut spec, to);
            assert_eq!(slider.setting(&spec).map(|(_, value, _)| value), Some(to), "{slider:?}");
            slider.set(&mut spec, before);
        }
    }
}
