//! The sliders of the controls panel by their settings, for presentations, and their animation while the run plays.

use std::borrow::Cow;

use egui::{Align2, ComboBox, Context, ScrollArea, Ui, Window, vec2};
use serde::{Deserialize, Serialize};
use valleyscope_engine::parameter::{LEARNING_RATE, Parameter, TEMPERATURE};
use valleyscope_engine::quantity::{LearningRate, Temperature};
use valleyscope_engine::simulation::SimulationSpec;
use valleyscope_engine::spacing::Spacing;
use valleyscope_experiments::preset::LETTERS;

use super::{Motion, optimizers};
use crate::app::landscape::controls;
use crate::app::landscape::editor::Document;
use crate::app::landscape::live::Live;
use crate::app::widgets::form::check_box;
use crate::app::widgets::icons::{Icon, icon_button};
use crate::app::widgets::number::{Adjustable as _, HyperparameterValue, SliderStyle, TypedField};
use crate::app::widgets::{form, number};
use crate::player::Snapshot;

/// The setting of a slider.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum SliderId {
    Landscape(Cow<'static, str>),
    Noise(Cow<'static, str>),
    Particles,
    StartX,
    StartY,
    StartSpread,
    Temperature,
    /// The learning rate of the optimizer with this id.
    LearningRate(u32),
    Hyperparameter(u32, Cow<'static, str>),
}

impl SliderId {
    pub(crate) fn of_noise(spec: &SimulationSpec) -> Option<SliderId> {
        spec.noise.parameters().next().map(|(of, _)| SliderId::Noise(of.parameter.key.into()))
    }

    /// Returns whether the simulation has the setting.
    pub(crate) fn is_in(&self, spec: &SimulationSpec) -> bool {
        let rule = |id: u32| spec.optimizers.iter().find(|other| other.id == id).map(|other| other.rule.rule);
        match self {
            SliderId::Landscape(key) => spec.landscape.get(key).is_some(),
            SliderId::Noise(key) => spec.noise.get(key).is_some(),
            SliderId::Temperature => spec.temperature.is_some(),
            SliderId::LearningRate(id) => rule(*id).is_some(),
            SliderId::Hyperparameter(id, key) => {
                rule(*id).is_some_and(|rule| rule.hyperparameters().any(|(of, _)| of.key == key && of.is_axis()))
            }
            SliderId::Particles | SliderId::StartX | SliderId::StartY | SliderId::StartSpread => true,
        }
    }

    /// Returns the sliders of a simulation whose settings act at once.
    pub(crate) fn live_ones(spec: &SimulationSpec) -> Vec<SliderId> {
        let landscape = spec.landscape.parameters().map(|(of, _)| SliderId::Landscape(of.key().into()));
        let noise = spec.noise.parameters().map(|(of, _)| SliderId::Noise(of.parameter.key.into()));
        let temperature = spec.temperature.map(|_| SliderId::Temperature);
        let optimizers = spec.optimizers.iter().filter(|optimizer| optimizer.enabled).flat_map(|optimizer| {
            let id = optimizer.id;
            let others = optimizer.rule.rule.hyperparameters();
            let others = others.filter(|(of, _)| of.is_axis() && !of.is_for_vectors);
            let others = others.map(move |(of, _)| SliderId::Hyperparameter(id, of.key.into()));
            std::iter::once(SliderId::LearningRate(id)).chain(others)
        });
        landscape.chain(noise).chain(temperature).chain(optimizers).collect()
    }

    /// Returns whether a changed value acts at once; otherwise it restarts the run.
    pub(crate) fn is_live(&self) -> bool {
        !matches!(self, SliderId::Particles | SliderId::StartX | SliderId::StartY | SliderId::StartSpread)
    }

    /// Returns the parameter of a live slider, its value, and the name of its owner, which is empty for the simulation.
    pub(crate) fn setting(&self, spec: &SimulationSpec) -> Option<(Parameter, f64, String)> {
        let of_all = |parameter: Parameter, value: f64| Some((parameter, value, String::new()));
        match self {
            SliderId::Landscape(key) => {
                let (of, value) = spec.landscape.parameters().find(|(of, _)| of.key() == key)?;
                of_all(of.parameter, value)
            }
            SliderId::Noise(key) => {
                let (of, value) = spec.noise.parameters().find(|(of, _)| of.parameter.key == key)?;
                of_all(of.parameter, value)
            }
            SliderId::Temperature => of_all(TEMPERATURE, spec.temperature?.get()),
            SliderId::LearningRate(id) | SliderId::Hyperparameter(id, _) => {
                let index = spec.optimizers.iter().position(|optimizer| optimizer.id == *id)?;
                let (rated, owner) = (&spec.optimizers[index].rule, spec.distinct_names().swap_remove(index));
                let SliderId::Hyperparameter(_, key) = self else {
                    return Some((LEARNING_RATE, rated.learning_rate.get(), owner));
                };
                let (of, value) = rated.rule.hyperparameters().find(|(of, _)| of.key == key)?;
                Some((of.parameter(), value, owner))
            }
            SliderId::Particles | SliderId::StartX | SliderId::StartY | SliderId::StartSpread => None,
        }
    }

    /// Sets the value of a live slider, or the nearest valid one.
    pub(crate) fn set(&self, spec: &mut SimulationSpec, value: f64) {
        const IN_RANGE: &str = "the nearest valid value is in the range";
        match self {
            SliderId::Landscape(key) => {
                if let Some((of, _)) = spec.landscape.parameters().find(|(of, _)| of.key() == key) {
                    spec.landscape.set(of.key(), of.nearest(value)).expect(IN_RANGE);
                }
            }
            SliderId::Noise(key) => {
                let parameter = spec.noise.parameters().enumerate().find(|(_, (of, _))| of.parameter.key == key);
                if let Some((index, (of, _))) = parameter {
                    spec.noise.set(index, of.nearest(value)).expect(IN_RANGE);
                }
            }
            SliderId::Temperature => spec.temperature = spec.temperature.map(|_| Temperature::clamped(value)),
            SliderId::LearningRate(id) | SliderId::Hyperparameter(id, _) => {
                let Some(optimizer) = spec.optimizers.iter_mut().find(|optimizer| optimizer.id == *id) else { return };
                let SliderId::Hyperparameter(_, key) = self else {
                    optimizer.rule.learning_rate = LearningRate::clamped(value);
                    return;
                };
                let rule = &mut optimizer.rule.rule;
                if let Some((of, _)) = rule.hyperparameters().find(|(of, _)| of.key == key) {
                    let value = HyperparameterValue { of, value }.nearest(value).value;
                    rule.set(of.key, if of.is_whole() { value.round() } else { value }).expect(IN_RANGE);
                }
            }
            SliderId::Particles | SliderId::StartX | SliderId::StartY | SliderId::StartSpread => {}
        }
    }

    pub(crate) fn show(&self, ui: &mut Ui, spec: &mut SimulationSpec) {
        let style = SliderStyle::Named(self.clone());
        match self {
            SliderId::Landscape(key) => {
                if let Some((of, value)) = spec.landscape.parameters().find(|(of, _)| of.key() == key) {
                    controls::landscape_parameter(ui, &mut spec.landscape, of, value, style);
                }
            }
            SliderId::Noise(key) => {
                let parameter = spec.noise.parameters().enumerate().find(|(_, (of, _))| of.parameter.key == key);
                if let Some((index, (of, value))) = parameter {
                    controls::noise_parameter(ui, &mut spec.noise, index, of, value, style);
                }
            }
            SliderId::Particles => controls::particles(ui, spec, style),
            SliderId::StartX => controls::start_x(ui, spec, style),
            SliderId::StartY => controls::start_y(ui, spec, style),
            SliderId::StartSpread => controls::start_spread(ui, spec, style),
            SliderId::Temperature => controls::temperature(ui, spec, style),
            SliderId::LearningRate(id) | SliderId::Hyperparameter(id, _) => {
                let names = spec.distinct_names();
                let mut optimizers = spec.optimizers.iter_mut().zip(names);
                let Some((optimizer, name)) = optimizers.find(|(other, _)| other.id == *id) else { return };
                let SliderId::Hyperparameter(_, key) = self else {
                    return optimizers::learning_rate(ui, &name, &mut optimizer.rule, style);
                };
                let rule = &mut optimizer.rule.rule;
                if let Some((of, value)) = rule.hyperparameters().find(|(of, _)| of.key == key) {
                    optimizers::hyperparameter(ui, &name, rule, of, value, style);
                }
            }
        }
    }
}

/// The sliders that a presentation shows, whatever its lesson's step sets.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Pins(Vec<SliderId>);

impl Pins {
    /// The largest number of sliders in a presentation.
    pub(crate) const MOST: usize = 3;

    pub(crate) fn has(&self, slider: &SliderId) -> bool {
        self.0.contains(slider)
    }

    /// Pins a slider or unpins it. The oldest pin gives way to one more than fit.
    pub(crate) fn toggle(&mut self, slider: SliderId) {
        if self.has(&slider) {
            self.0.retain(|other| *other != slider);
        } else {
            self.0.push(slider);
            self.0.drain(..self.0.len().saturating_sub(Pins::MOST));
        }
    }

    /// Returns the sliders of a presentation: those of the lesson, then the pinned ones, as far as the simulation has
    /// them; without any, that of the noise.
    pub(crate) fn sliders(&self, of_lesson: Vec<SliderId>, spec: &SimulationSpec) -> Vec<SliderId> {
        let mut shown: Vec<SliderId> = Vec::new();
        for slider in of_lesson.into_iter().chain(self.0.iter().cloned()) {
            if slider.is_in(spec) && !shown.contains(&slider) {
                shown.push(slider);
            }
        }
        if shown.is_empty() {
            shown.extend(SliderId::of_noise(spec));
        }
        shown.truncate(Pins::MOST);
        shown
    }
}

/// The longest time that a frame counts, in seconds; the run is held while the window is hidden.
const LONGEST_FRAME: f64 = 0.25;
/// The duration of a new animation, in seconds.
const FIRST_SECS: f64 = 10.0;

/// The motion of a setting.
#[derive(Clone, Debug)]
struct SettingAnimation {
    /// The index of the simulation whose setting moves.
    simulation: usize,
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
pub(crate) struct SettingAnimations {
    all: Vec<SettingAnimation>,
    is_open: bool,
    /// The number of simulations side by side in the last frame.
    count: usize,
    /// The time of the last frame in which the run played, by egui's clock.
    last_secs: Option<f64>,
}

impl SettingAnimations {
    pub(crate) fn open(&mut self) {
        self.is_open = true;
    }

    /// Removes all, as they belong to another document.
    pub(crate) fn clear(&mut self) {
        self.all.clear();
    }

    /// Adds a setting, moving it over a part of its slider; an added one stays as it is.
    fn add(&mut self, simulation: usize, slider: SliderId, document: &Document) {
        let Some((parameter, value, _)) = document.specs().nth(simulation).and_then(|spec| slider.setting(spec)) else {
            return;
        };
        if self.all.iter().any(|animation| animation.is_of(simulation, &slider)) {
            return;
        }
        let [low, high] = [parameter.slider.low, parameter.slider.high];
        let doubled = if value > 0.0 { 2.0 * value } else { 0.5 * (low + high) };
        let to = if doubled <= high { doubled } else { low };
        let (secs, is_back_and_forth) = (FIRST_SECS, false);
        self.all.push(SettingAnimation { simulation, slider, from: value, to, secs, is_back_and_forth, running: None });
    }

    /// Remembers the values before the controls of this frame change them.
    pub(crate) fn begin_frame(&mut self, document: &Document) {
        if document.count() < std::mem::replace(&mut self.count, document.count()) {
            // Another simulation may have the index of a removed one.
            self.all.retain(|animation| animation.simulation == 0);
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
    pub(crate) fn advance(&mut self, ctx: &Context, document: &mut Document, live: &Live, is_held: bool) {
        let is_at_end = |snapshot: &Snapshot| snapshot.step == snapshot.last_step;
        let plays = !is_held && live.is_playing() && live.snapshot.as_ref().is_some_and(is_at_end);
        let plays = plays && live.frame_secs.is_none();
        let now = ctx.time();
        let secs = self.last_secs.replace(now).map_or(0.0, |last| (now - last).clamp(0.0, LONGEST_FRAME));
        for animation in &mut self.all {
            let value = animation.value_in(document);
            if animation.running.as_ref().is_some_and(|running| value != Some(running.seen)) {
                animation.running = None;
            }
            if let Some(spec) = document.specs_mut().nth(animation.simulation).filter(|_| plays) {
                animation.move_by(secs, spec);
            }
        }
        // The controls show the chosen simulation.
        let moving =
            self.all.iter().filter(|animation| animation.simulation == live.chosen && animation.running.is_some());
        let motions: Vec<_> = moving.map(|it| (it.slider.clone(), Motion(it.description()))).collect();
        if plays && self.all.iter().any(|animation| animation.running.is_some()) {
            ctx.request_repaint();
        }
        Motion::set_all(ctx, motions);
    }

    /// Restores the values before the running animations in a state for undo, so that each is one step of it.
    pub(crate) fn undo_state(&self, document: &mut Document) {
        for animation in &self.all {
            if let (Some(running), Some(spec)) = (&animation.running, document.specs_mut().nth(animation.simulation)) {
                animation.slider.set(spec, running.before);
            }
        }
    }
}

impl SettingAnimation {
    fn is_of(&self, simulation: usize, slider: &SliderId) -> bool {
        self.simulation == simulation && self.slider == *slider
    }

    /// Returns the present value of the setting; `None` if it is gone.
    fn value_in(&self, document: &Document) -> Option<f64> {
        let (_, value, _) = self.slider.setting(document.specs().nth(self.simulation)?)?;
        Some(value)
    }

    fn start(&mut self, spec: &SimulationSpec) {
        let value = self.slider.setting(spec).map(|(_, value, _)| value);
        self.running = value.map(|value| Running { elapsed: 0.0, before: value, seen: value });
    }

    fn move_by(&mut self, secs: f64, spec: &mut SimulationSpec) {
        let Some(running) = &mut self.running else { return };
        running.elapsed += secs;
        let phase = running.elapsed / self.secs;
        let is_over = !self.is_back_and_forth && phase >= 1.0;
        let value = self.value_at(phase, spec);
        self.slider.set(spec, value);
        if is_over {
            self.running = None;
        }
    }

    /// Returns the value at a phase of the motion: 0 and 2 are the start, 1 is the end, and so on.
    fn value_at(&self, phase: f64, spec: &SimulationSpec) -> f64 {
        let spacing = self.slider.setting(spec).map_or(Spacing::Linear, |(parameter, ..)| parameter.slider.spacing);
        let share = match self.is_back_and_forth {
            true => 1.0 - (1.0 - phase.rem_euclid(2.0)).abs(),
            false => phase.min(1.0),
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
    fn description(&self) -> String {
        let [from, to, secs] = [self.from, self.to, self.secs].map(number::text);
        let way = if self.is_back_and_forth { " and back, again and again" } else { "" };
        format!("Moves from {from} to {to} in {secs} s{way}.")
    }
}

/// The width of the window and of a field, in points.
const WINDOW_WIDTH: f32 = 340.0;
const FIELD_WIDTH: f32 = 58.0;
/// The longest animation, in seconds.
const LONGEST_SECS: f64 = 3600.0;

impl SettingAnimations {
    /// Shows the window while it is open. A slider's menu opens it.
    pub(crate) fn window(&mut self, ctx: &Context, document: &Document, live: &Live) {
        if let Some(slider) = Motion::take_request(ctx) {
            self.add(live.chosen, slider, document);
            self.is_open = true;
        }
        let mut is_open = self.is_open;
        let window = Window::new("Animate settings").open(&mut is_open).resizable(false).collapsible(true);
        window.pivot(Align2::CENTER_BOTTOM).default_pos(ctx.content_rect().center_bottom() - vec2(0.0, 120.0)).show(
            ctx,
            |ui| {
                ui.set_width(WINDOW_WIDTH);
                let most = 0.4 * ui.ctx().content_rect().height();
                ScrollArea::vertical().max_height(most).show(ui, |ui| self.contents(ui, document, live));
            },
        );
        self.is_open = is_open;
    }

    fn contents(&mut self, ui: &mut Ui, document: &Document, live: &Live) {
        let mut removed = None;
        for (index, animation) in self.all.iter_mut().enumerate() {
            let Some(spec) = document.specs().nth(animation.simulation) else { continue };
            let Some((parameter, _, owner)) = animation.slider.setting(spec) else { continue };
            let mut name = form::owned(&owner, parameter.label);
            if document.count() > 1 {
                name = format!("{}: {name}", LETTERS[animation.simulation]);
            }
            if ui.push_id(index, |ui| animation.row(ui, &name, spec, live)).inner {
                removed = Some(index);
            }
            ui.separator();
        }
        if let Some(index) = removed {
            self.all.remove(index);
        }
        if self.all.is_empty() {
            ui.weak("Choose a setting. It moves while the run plays, as if you dragged its slider.");
        }
        let mut added = None;
        ComboBox::from_id_salt("animate")
            .selected_text("Add a setting")
            .width(0.6 * WINDOW_WIDTH)
            .show_ui(ui, |ui| {
                let Some(spec) = document.specs().nth(live.chosen) else { return };
                for slider in SliderId::live_ones(spec) {
                    let is_new = !self.all.iter().any(|animation| animation.is_of(live.chosen, &slider));
                    let Some((parameter, _, owner)) = slider.setting(spec).filter(|_| is_new) else { continue };
                    if ui.selectable_label(false, form::owned(&owner, parameter.label)).clicked() {
                        added = Some(slider);
                    }
                }
            })
            .response
            .accessible_name("Setting to animate");
        if let Some(slider) = added {
            self.add(live.chosen, slider, document);
        }
    }
}

impl SettingAnimation {
    /// Shows the animation's settings and its buttons; returns whether it is to be removed.
    fn row(&mut self, ui: &mut Ui, name: &str, spec: &SimulationSpec, live: &Live) -> bool {
        let is_removed = ui.horizontal(|ui| {
            ui.strong(name);
            let state = match &self.running {
                Some(_) if live.is_playing() => "moving",
                Some(_) => "waits for the run to play",
                None => "",
            };
            ui.weak(state);
            let right = egui::Layout::right_to_left(egui::Align::Center);
            let remove = |ui: &mut Ui| {
                icon_button(ui, Icon::Close, 18.0, &format!("Remove the animation of {name}"), "Remove this animation")
                    .clicked()
            };
            ui.with_layout(right, remove).inner
        });
        let slider = &self.slider;
        let nearest = |value: f64| {
            let mut spec = spec.clone();
            slider.set(&mut spec, value);
            slider.setting(&spec).map_or(value, |(_, value, _)| value)
        };
        ui.horizontal(|ui| {
            for (label, value) in [("From", &mut self.from), ("to", &mut self.to)] {
                ui.label(label);
                let accessible = format!("{name}: animate {}", label.to_lowercase());
                let field = TypedField { name: &accessible, width: FIELD_WIDTH };
                if let Some(entered) = field.show(ui, &number::text(*value), number::read).entered {
                    *value = nearest(entered);
                }
            }
            ui.label("in");
            let accessible = format!("{name}: seconds of the animation");
            let field = TypedField { name: &accessible, width: FIELD_WIDTH };
            let typed = field.show(ui, &number::text(self.secs), |text| {
                let secs = number::read(text)?;
                let refused = || format!("The time must be a number above 0 and up to {LONGEST_SECS} s, found {secs}");
                (secs > 0.0 && secs <= LONGEST_SECS).then_some(secs).ok_or_else(refused)
            });
            self.secs = typed.entered.unwrap_or(self.secs);
            ui.label("s");
        });
        ui.horizontal(|ui| {
            let back = check_box(ui, &mut self.is_back_and_forth, "Back and forth");
            back.on_hover_text("Again and again, until it is stopped")
                .accessible_name(format!("{name}: back and forth"));
            let (verb, hint) = match self.running {
                None => ("Start", "Move the setting while the run plays"),
                Some(_) => ("Stop", "Leave the setting as it is"),
            };
            let button = ui.button(verb).on_hover_text(hint).accessible_name(format!("{verb} animating {name}"));
            if button.clicked() {
                match self.running {
                    None => self.start(spec),
                    Some(_) => self.running = None,
                }
            }
        });
        is_removed.inner
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
        preset.spec().clone()
    }

    #[test]
    fn a_setting_moves_in_equal_steps_of_its_slider() {
        let spec = spec();
        let noise = SliderId::of_noise(&spec).expect("it has noise");
        let [from, to, secs] = [1.0, 3.0, 2.0];
        let mut animation =
            SettingAnimation { simulation: 0, slider: noise, from, to, secs, is_back_and_forth: false, running: None };
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
