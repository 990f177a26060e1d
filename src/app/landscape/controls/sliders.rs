//! The animation of settings while the run plays.

use egui::{Align2, ComboBox, Context, ScrollArea, Ui, vec2};
use valleyscope_engine::setting::{SettingPath, SettingValue, Spacing};
use valleyscope_engine::simulation::SimulationSpec;
use valleyscope_experiments::preset::LETTERS;

use crate::app::landscape::editor::Document;
use crate::app::landscape::live::Live;
use crate::app::widgets::form::{check_box, show_window, take_escape};
use crate::app::widgets::icons::{Icon, icon_button};
use crate::app::widgets::number::TypedField;
use crate::app::widgets::setting::{RowAction, set_motions};
use crate::app::widgets::{form, number};
use crate::player::Snapshot;

/// Returns the settings of a simulation that have sliders and act at once.
fn live_settings(spec: &SimulationSpec) -> impl Iterator<Item = SettingValue> {
    let enabled: Vec<u32> = spec.optimizers.iter().filter(|it| it.enabled).map(|it| it.id).collect();
    let is_shown = move |it: &SettingValue| {
        !it.path.restarts() && it.info.is_axis() && it.path.optimizer.is_none_or(|id| enabled.contains(&id))
    };
    spec.settings().into_iter().filter(is_shown)
}

/// Returns the label of a setting after the name of its optimizer.
fn label(spec: &SimulationSpec, SettingValue { path, info, .. }: &SettingValue) -> String {
    form::owned(&path.optimizer.and_then(|id| spec.name_of(id)).unwrap_or_default(), info.label)
}

/// Sets a setting to the nearest valid value, if the simulation has it.
pub(crate) fn set_nearest(spec: &mut SimulationSpec, path: &SettingPath, value: f64) {
    if let Some(SettingValue { info, .. }) = spec.setting(path) {
        spec.set(path, info.nearest(value)).expect("the nearest valid value is in the range");
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
    slider: SettingPath,
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
    fn add(&mut self, simulation: usize, slider: SettingPath, document: &Document) {
        let Some(SettingValue { info, value, .. }) =
            document.specs().nth(simulation).and_then(|it| it.setting(&slider))
        else {
            return;
        };
        if self.all.iter().any(|animation| animation.is_of(simulation, &slider)) {
            return;
        }
        let [low, high] = [info.slider.low, info.slider.high];
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
        let motions: Vec<_> = moving.map(|it| (it.slider.clone(), it.description())).collect();
        if plays && self.all.iter().any(|animation| animation.running.is_some()) {
            ctx.request_repaint();
        }
        set_motions(ctx, motions);
    }

    /// Restores the values before the running animations in a state for undo, so that each is one step of it.
    pub(crate) fn undo_state(&self, document: &mut Document) {
        for animation in &self.all {
            if let (Some(running), Some(spec)) = (&animation.running, document.specs_mut().nth(animation.simulation)) {
                set_nearest(spec, &animation.slider, running.before);
            }
        }
    }
}

impl SettingAnimation {
    fn is_of(&self, simulation: usize, slider: &SettingPath) -> bool {
        self.simulation == simulation && self.slider == *slider
    }

    /// Returns the present value of the setting; `None` if it is gone.
    fn value_in(&self, document: &Document) -> Option<f64> {
        Some(document.specs().nth(self.simulation)?.setting(&self.slider)?.value)
    }

    fn start(&mut self, spec: &SimulationSpec) {
        let value = spec.setting(&self.slider).map(|it| it.value);
        self.running = value.map(|value| Running { elapsed: 0.0, before: value, seen: value });
    }

    fn move_by(&mut self, secs: f64, spec: &mut SimulationSpec) {
        let Some(running) = &mut self.running else { return };
        running.elapsed += secs;
        let phase = running.elapsed / self.secs;
        let is_over = !self.is_back_and_forth && phase >= 1.0;
        let value = self.value_at(phase, spec);
        set_nearest(spec, &self.slider, value);
        if is_over {
            self.running = None;
        }
    }

    /// Returns the value at a phase of the motion: 0 and 2 are the start, 1 is the end, and so on.
    fn value_at(&self, phase: f64, spec: &SimulationSpec) -> f64 {
        let share = match self.is_back_and_forth {
            true => 1.0 - (1.0 - phase.rem_euclid(2.0)).abs(),
            false => phase.min(1.0),
        };
        let ends = [self.from, self.to];
        let spacing = spec.setting(&self.slider).map(|it| it.info.slider.spacing);
        let spacing = spacing.filter(|it| ends.iter().all(|end| it.allows(*end))).unwrap_or(Spacing::Linear);
        match (share, spacing) {
            (0.0, _) => self.from,
            (1.0, _) => self.to,
            (_, Spacing::LogComplement) => number::rounded_in(spacing.value(ends, share), spacing),
            _ => number::rounded(spacing.value(ends, share), 4),
        }
    }

    /// Describes the motion, as in "Moves from 1 to 2 in 10 s."
    fn description(&self) -> String {
        let [from, to, secs] = [self.from, self.to, self.secs].map(number::text);
        let way = if self.is_back_and_forth { " and back, again and again" } else { "" };
        format!("Moves from {from} to {to} in {secs} s{way}.")
    }
}

/// The width of the window, in points.
const WINDOW_WIDTH: f32 = 340.0;
/// The longest animation, in seconds.
const LONGEST_SECS: f64 = 3600.0;

impl SettingAnimations {
    /// Shows the window while it is open. A slider's menu opens it.
    pub(crate) fn window(&mut self, ctx: &Context, document: &Document, live: &Live) {
        if let Some(slider) = RowAction::Animate.take(ctx) {
            self.add(live.chosen, slider, document);
            self.is_open = true;
        }
        // A list in the window takes the key first.
        let mut is_open = self.is_open && !take_escape(ctx);
        let at = ctx.content_rect().center_bottom() - vec2(0.0, 120.0);
        show_window(
            ctx,
            "Animate settings",
            &mut is_open,
            |it| it.resizable(false).default_width(WINDOW_WIDTH).pivot(Align2::CENTER_BOTTOM).default_pos(at),
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
            let Some(setting) = spec.setting(&animation.slider) else { continue };
            let mut name = label(spec, &setting);
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
                for setting in live_settings(spec) {
                    let is_new = !self.all.iter().any(|animation| animation.is_of(live.chosen, &setting.path));
                    if is_new && ui.selectable_label(false, label(spec, &setting)).clicked() {
                        added = Some(setting.path);
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
        let info = spec.setting(&self.slider).map(|it| it.info);
        let nearest = |value: f64| info.map_or(value, |info| info.nearest(value));
        ui.horizontal(|ui| {
            for (label, value) in [("From", &mut self.from), ("to", &mut self.to)] {
                ui.label(label);
                let accessible = format!("{name}: animate {}", label.to_lowercase());
                let field = TypedField { name: &accessible, width: form::FIELD_WIDTH };
                if let Some(entered) = field.show(ui, &number::text(*value), number::read).entered {
                    *value = nearest(entered);
                }
            }
            ui.label("in");
            let accessible = format!("{name}: seconds of the animation");
            let field = TypedField { name: &accessible, width: form::FIELD_WIDTH };
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
    use valleyscope_engine::setting::{LEARNING_RATE, NOISE};
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
        let noise = SettingPath::new(NOISE.key);
        let [from, to, secs] = [1.0, 3.0, 2.0];
        let mut animation =
            SettingAnimation { simulation: 0, slider: noise, from, to, secs, is_back_and_forth: false, running: None };
        let values = |animation: &SettingAnimation| [0.0, 0.25, 1.0, 1.5, 2.25].map(|at| animation.value_at(at, &spec));
        assert_eq!(values(&animation), [1.0, 1.5, 3.0, 3.0, 3.0]);
        animation.is_back_and_forth = true;
        assert_eq!(values(&animation), [1.0, 1.5, 3.0, 2.0, 1.5]);
        let rate = SettingPath::of_rule(spec.optimizers[0].id, LEARNING_RATE.key);
        animation = SettingAnimation { slider: rate, from: 0.001, to: 0.1, ..animation };
        assert_eq!(animation.value_at(0.5, &spec), 0.01, "a learning rate moves on its logarithmic slider");
    }

    #[test]
    fn each_live_slider_returns_the_value_to_which_it_was_set() {
        let mut spec = spec();
        let live: Vec<SettingValue> = live_settings(&spec).collect();
        for SettingValue { path, info, value: before, .. } in live {
            let to = if before == info.slider.low { info.slider.high } else { info.slider.low };
            set_nearest(&mut spec, &path, to);
            assert_eq!(spec.setting(&path).map(|it| it.value), Some(to), "{path:?}");
            set_nearest(&mut spec, &path, before);
        }
    }
}
