//! The controls panel: landscape, noise and start, and a card for each optimizer.

pub(crate) mod optimizers;
pub(crate) mod sliders;

use egui::{Button, Context, Frame, Id, Label, Margin, ScrollArea, TextStyle, Ui};
use valleyscope_engine::landscape::{LandscapeFormula, LandscapeKind, LandscapeSpec, StartPosition};
use valleyscope_engine::noise::{NoiseInfo, NoiseKind, NoiseSpec};
use valleyscope_engine::quantity::Temperature;
use valleyscope_engine::setting::{self, SettingPath, SettingValue};
use valleyscope_engine::simulation::{Setting, SimulationSpec, StartSpec};
use valleyscope_experiments::preset::{LETTERS, Preset, PresetSimulation, TitledSimulation, built_ins};
use valleyscope_experiments::view::{Camera, ViewSettings};

use super::editor::Document;
use super::live::Live;
use crate::app::phase::diagram_over;
use crate::app::shell::actions::{Action, Requests};
use crate::app::shell::messages::{decision_buttons, show_modal};
use crate::app::widgets::form::{check_box, scrolled_list};
use crate::app::widgets::setting::{Pins, RowAction, SliderStyle, pinned_card, setting_row, unpinned_row};
use crate::app::widgets::text_editor::{TextEditor, TextTab};
use crate::app::widgets::theme::text_width;
use crate::app::widgets::{form, text_editor};

pub(crate) use optimizers::schedule;

/// The time for which a reopened panel keeps its scroll position, in seconds. A window that leaves full screen gets its
/// size in several frames, and a larger one may not scroll as far.
const HELD_SECS: f64 = 0.5;

/// The controls panel and its scroll position.
#[derive(Default)]
pub(crate) struct ControlsPanel {
    pub pins: Pins,
    /// The editor's number of the preset, and its scroll position.
    preset: usize,
    offset: f32,
    /// The frame, by egui's count, in which it was last drawn.
    last_frame: u64,
    held_until: Option<f64>,
}

impl ControlsPanel {
    /// Shows the controls of a preset, which has its own scroll position.
    pub(crate) fn ui(
        &mut self,
        ui: &mut Ui,
        preset: usize,
        document: &mut Document,
        live: &mut Live,
        requests: &mut Requests,
    ) {
        if std::mem::replace(&mut self.preset, preset) != preset {
            self.offset = 0.0;
        }
        simulation_switch(ui, document, live);
        let (now, frame) = (ui.ctx().time(), ui.ctx().cumulative_frame_nr());
        if self.last_frame + 1 < frame && self.last_frame > 0 {
            self.held_until = Some(now + HELD_SECS);
        }
        self.last_frame = frame;
        let touched = ui.input(|input| input.pointer.any_pressed() || input.smooth_scroll_delta.y != 0.0);
        self.held_until = self.held_until.filter(|until| now < *until && !touched);
        let mut area = ScrollArea::vertical().auto_shrink(false).id_salt(("landscape controls", preset));
        if self.held_until.is_some() {
            area = area.vertical_scroll_offset(self.offset);
        }
        let shown = area.show(ui, |ui| {
            ui.add_space(2.0);
            let Document { simulations, view } = document;
            let spec = &mut simulations[live.chosen].spec;
            let owned = |it: SettingValue| (it.path.optimizer.and_then(|id| spec.name_of(id)).unwrap_or_default(), it);
            let settings = spec.settings().into_iter().map(owned).collect();
            pinned_card(
                ui,
                &mut self.pins,
                settings,
                |it| actions(&it.path),
                |path, value| {
                    spec.set(path, value).expect("the control keeps to the range");
                },
            );
            landscape_card(ui, spec, view, &mut self.pins, requests);
            start_card(ui, spec, &mut self.pins);
            optimizers::cards(ui, spec, &mut self.pins, live, requests);
            ui.add_space(8.0);
            if let Some(path) = RowAction::Vary.take(ui.ctx()) {
                requests.actions.push(match diagram_over(spec, &path) {
                    Ok(preset) => Action::Open(Box::new(Preset::Sweep(preset))),
                    Err(reason) => Action::Notify(reason),
                });
            }
        });
        if self.held_until.is_none() {
            self.offset = shown.state.unclamped_offset().y;
        }
    }
}

/// The width of the list of presets, in points.
const PRESET_LIST_WIDTH: f32 = 300.0;

/// Shows a button for each simulation, of which the chosen one has its settings in the controls, the menu that adds another
/// one, and whether they share a view.
fn simulation_switch(ui: &mut Ui, document: &mut Document, live: &mut Live) {
    let chosen = &mut live.chosen;
    ui.horizontal_wrapped(|ui| {
        if document.count() > 1 {
            for (index, title) in document.titles().iter().enumerate() {
                let button = Button::selectable(*chosen == index, LETTERS[index]);
                let hint = format!("{title}\nThe controls show and set these settings.");
                if ui.add(button).on_hover_text(hint).accessible_name(format!("Settings of {title}")).clicked() {
                    *chosen = index;
                }
            }
            ui.separator();
        }
        ui.add_enabled_ui(document.count() < PresetSimulation::MOST, |ui| {
            let menu = ui.menu_button("+ Side by side", |ui| {
                if let Some(added) = added_simulation(ui, document, *chosen) {
                    *chosen = document.count();
                    document.simulations.push(added);
                    ui.close();
                }
            });
            menu.response.on_hover_text("Run another simulation beside this one, on the same clock.");
        });
        if document.count() > 1 {
            let mut is_linked = !live.has_own_cameras;
            ui.toggle_value(&mut is_linked, "Link views")
                .on_hover_text("Move the views of all landscapes together. Off: each has a view of its own.");
            live.has_own_cameras = !is_linked;
        }
        // The first one is the clock of all.
        if *chosen == 0 {
            return;
        }
        let letter = LETTERS[*chosen];
        let remove = ui.button("Remove").on_hover_text(format!("Remove {letter}. Undo brings it back."));
        if remove.accessible_name(format!("Remove {letter}")).clicked() {
            document.simulations.remove(*chosen);
            *chosen -= 1;
        }
    });
}

/// Shows what can be added; returns the chosen simulation.
fn added_simulation(ui: &mut Ui, document: &Document, chosen: usize) -> Option<TitledSimulation> {
    ui.set_width(PRESET_LIST_WIDTH);
    let spec = document.spec(chosen);
    let same = format!("The settings of {} again, to change some", LETTERS[chosen]);
    let mut added = ui.button(same).clicked().then(|| TitledSimulation::untitled(spec.clone()));
    ui.separator();
    ui.weak("Another preset");
    scrolled_list(ui, |ui| {
        let presets = built_ins().iter().filter_map(|built_in| match &built_in.preset {
            Preset::Landscape(preset) => Some(preset),
            _ => None,
        });
        for preset in presets {
            if ui.add(Button::new(&preset.title).truncate()).clicked() {
                let spec = on_the_clock_of(document.spec(0), preset.spec());
                added = Some(TitledSimulation { title: Some(preset.title.clone()), spec });
            }
        }
    });
    added
}

/// Returns a simulation with the seed of another one, and with the step at which that pauses.
fn on_the_clock_of(first: &SimulationSpec, simulation: &SimulationSpec) -> SimulationSpec {
    SimulationSpec { seed: first.seed, steps: first.steps, ..simulation.clone() }
}

/// The label of the choice of the noise.
pub(crate) const NOISE: &str = "Noise";
/// The tab of the landscape's editor.
const TAB: TextTab = TextTab::Simulation;

/// Shows the landscape, its parameters and the noise on its gradient.
fn landscape_card(
    ui: &mut Ui,
    spec: &mut SimulationSpec,
    view: &mut ViewSettings,
    pins: &mut Pins,
    requests: &mut Requests,
) {
    form::card(ui, "Landscape", |ui| {
        let before = spec.landscape;
        match landscape_choice(ui, TAB, &mut spec.landscape, requests) {
            // The view of a document belongs to its landscape.
            Some(LandscapeChange::Chosen) => {
                view.camera = None;
                move_start(&mut spec.start, &before, &spec.landscape);
            }
            Some(LandscapeChange::Copied) => view.camera = view.camera.or(Some(Camera::home(&before))),
            None => {}
        }
        sliders(ui, spec, pins, |path| path.starts_with("landscape."));
        noise_choice(ui, TAB, &mut spec.noise);
        sliders(ui, spec, pins, |path| path.starts_with(setting::NOISE.key));
    });
    landscape_editor(ui.ctx(), TAB, &mut spec.landscape);
}

/// Shows the rows of the settings of a simulation that no optimizer has, whose paths are `shown`, and that are not
/// pinned.
fn sliders(ui: &mut Ui, spec: &mut SimulationSpec, pins: &mut Pins, is_shown: impl Fn(&str) -> bool) {
    let settings = spec.settings().into_iter();
    for it in settings.filter(|it| it.path.optimizer.is_none() && is_shown(&it.path.path)) {
        if let Some(value) = unpinned_row(ui, "", &it, pins, &actions(&it.path)) {
            spec.set(&it.path, value).expect("the control keeps to the range");
        }
    }
}

/// Lists the actions of a setting's menu.
fn actions(path: &SettingPath) -> Vec<RowAction> {
    let can_vary = path.path.starts_with("landscape.")
        || path.path.starts_with(setting::NOISE.key)
        || path.path.strip_prefix("rule.").is_some_and(|key| key != setting::LEARNING_RATE.key);
    let animate = (!path.restarts()).then_some(RowAction::Animate);
    animate.into_iter().chain(can_vary.then_some(RowAction::Vary)).collect()
}

/// Shows the slider of a setting, if the simulation has it, outside of the cards.
pub(crate) fn show_slider(ui: &mut Ui, spec: &mut SimulationSpec, path: &SettingPath) {
    let Some(it) = spec.setting(path) else { return };
    let owner = path.optimizer.and_then(|id| spec.name_of(id)).unwrap_or_default();
    let style = SliderStyle::Named(path.clone());
    if let Some(value) = setting_row(ui, &owner, it.info, [it.value, it.default], style) {
        spec.set(path, value).expect("the control keeps to the range");
    }
}

/// Moves the start to that of another landscape, unless the user has moved it.
fn move_start(start: &mut StartSpec, before: &LandscapeSpec, after: &LandscapeSpec) {
    if (StartPosition { x: start.x, y: start.y }) == before.start() {
        StartPosition { x: start.x, y: start.y } = after.start();
    }
}

/// Shows the choice of the noise. Another one keeps the parameters that both have.
pub(crate) fn noise_choice(ui: &mut Ui, tab: TextTab, noise: &mut NoiseSpec) {
    ui.horizontal(|ui| {
        let help = "The noise on the gradients.";
        form::list_field(ui, NOISE, help, ("noise", tab), noise.info().name, 0.0, |ui| {
            for &kind in NoiseKind::ALL {
                let NoiseInfo { name, formula, about, source, .. } = kind.info();
                let help = format!("{about}\n\nThe noisy gradient: {formula}\n\nSource: {source}.");
                let is_chosen = kind == noise.kind();
                if ui.selectable_label(is_chosen, *name).on_hover_text(help).clicked() && !is_chosen {
                    *noise = NoiseSpec::new(kind).in_place_of(noise);
                }
            }
        });
    });
}

/// Shows the number of particles, their start, and the temperature of the plots.
fn start_card(ui: &mut Ui, spec: &mut SimulationSpec, pins: &mut Pins) {
    form::card(ui, "Particles and start", |ui| {
        sliders(ui, spec, pins, |path| path == setting::PARTICLES.key || path.starts_with("start."));
        temperature_choice(ui, &mut spec.temperature);
        sliders(ui, spec, pins, |path| path == setting::TEMPERATURE.key);
    });
}

fn temperature_choice(ui: &mut Ui, temperature: &mut Option<Temperature>) {
    let mut follows = temperature.is_none();
    let toggle = check_box(ui, &mut follows, "Temperature Θ = learning rate η").on_hover_text(
        "The free energy F = E − ΘS weighs the entropy with Θ. Each optimizer's learning rate is a natural choice.",
    );
    if toggle.changed() {
        *temperature = (!follows).then(|| Temperature::clamped(setting::TEMPERATURE.default));
    }
}

/// The label of the choice of the landscape.
pub(crate) const LANDSCAPE: &str = "Landscape L";
/// The label of the button that opens the landscape as text.
const LANDSCAPE_TEXT: &str = "Text";

/// The replacement of a landscape by [`landscape_choice`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LandscapeChange {
    /// Another landscape was chosen.
    Chosen,
    /// The landscape was copied as text, with the same losses.
    Copied,
}

/// Shows the choice of a tab's landscape and the button that opens it as text. Another landscape keeps the parameters
/// that both have.
pub(crate) fn landscape_choice(
    ui: &mut Ui,
    tab: TextTab,
    landscape: &mut LandscapeSpec,
    requests: &mut Requests,
) -> Option<LandscapeChange> {
    let before = *landscape;
    let mut change = None;
    ui.horizontal(|ui| {
        let small = TextStyle::Small.resolve(ui.style());
        let spacing = ui.spacing();
        let button = spacing.item_spacing.x + 2.0 * spacing.button_padding.x + text_width(ui, &small, LANDSCAPE_TEXT);
        let (id, help) = (("landscape", tab), "The loss L(x, y).");
        form::list_field(ui, LANDSCAPE, help, id, before.kind().name(), button, |ui| {
            let known = LandscapeFormula::latest();
            let chosen = text_editor::choices(ui, Some(before.kind())).filter(|kind| *kind != before.kind());
            if let Some(kind) = chosen {
                *landscape = LandscapeSpec::new(kind).in_place_of(&before);
                if kind.formula().is_some_and(|own| !known.contains(&own)) {
                    landscape_text_editor(tab, "").open(ui.ctx());
                }
                change = Some(LandscapeChange::Chosen);
            }
        });
        if text_button(ui, tab, landscape) {
            match landscape.kind().formula() {
                Some(_) => landscape_text_editor(tab, "").open(ui.ctx()),
                None => {
                    ui.data_mut(|data| data.insert_temp(conversion_id(tab), true));
                }
            }
        }
    });
    let is_asked = ui.data(|data| data.get_temp(conversion_id(tab))) == Some(true);
    if let Some(is_agreed) = is_asked.then(|| ask_to_convert(ui.ctx(), landscape)).flatten() {
        ui.data_mut(|data| data.remove::<bool>(conversion_id(tab)));
        match text_editor::landscape_as_text(landscape) {
            Ok(copy) if is_agreed => {
                *landscape = copy;
                landscape_text_editor(tab, "").open(ui.ctx());
                change = Some(LandscapeChange::Copied);
            }
            Err(reason) if is_agreed => requests.actions.push(Action::Notify(reason)),
            _ => {}
        }
    }
    change
}

fn conversion_id(tab: TextTab) -> Id {
    Id::unique(("landscape as text", tab))
}

/// Shows the text of a built-in landscape, and asks whether a typed one takes its place; returns the answer, once there
/// is one.
fn ask_to_convert(ctx: &Context, landscape: &LandscapeSpec) -> Option<bool> {
    let (mut yes, mut no) = (false, false);
    let heading = format!("{} as text", landscape.kind().name());
    let is_closed = show_modal(ctx, "landscape as text", &heading, |ui| {
        ui.label(
            "A typed landscape with the same losses takes the place of the built-in one. Then its text can be edited. \
             Undo brings the built-in one back.",
        );
        ui.add_space(8.0);
        let frame = Frame::new().fill(ui.visuals().code_bg_color).stroke(ui.visuals().window_stroke).corner_radius(6.0);
        frame.inner_margin(Margin::same(10)).show(ui, |ui| {
            ScrollArea::both().max_height(280.0).auto_shrink([false, true]).show(ui, |ui| {
                let text = text_editor::landscape_text(landscape);
                ui.add(Label::new(text_editor::layout(ui, text.trim_end(), None, f32::INFINITY)));
            });
        });
        ui.add_space(10.0);
        [yes, no] = decision_buttons(ui, "Convert", "Cancel");
    });
    (yes || no || is_closed).then_some(yes)
}

/// Shows the window with the text of a tab's landscape, if it is open.
pub(crate) fn landscape_editor(ctx: &Context, tab: TextTab, landscape: &mut LandscapeSpec) {
    landscape_text_editor(tab, landscape.kind().name()).show(ctx, landscape);
}

fn landscape_text_editor(tab: TextTab, owner: &str) -> TextEditor<'_, LandscapeKind> {
    TextEditor::new(tab, 0, owner)
}

/// Shows the button; its tooltip has the formulas of the gradient.
fn text_button(ui: &mut Ui, tab: TextTab, landscape: &LandscapeSpec) -> bool {
    let (button, help) = landscape_text_editor(tab, "").button(ui, LANDSCAPE_TEXT, landscape);
    let button = ui.add(button).on_hover_ui(|ui| {
        ui.label(help);
        ui.add_space(4.0);
        text_editor::gradient(ui, landscape.kind());
    });
    button.accessible_name("Landscape: text").clicked()
}

/// A control that a change of a simulation sets.
struct SetControl {
    name: String,
    /// The setting of the control's slider; `None` for a choice.
    slider: Option<SettingPath>,
    /// Whether the value changes.
    is_changed: bool,
}

/// Returns the names of the controls that `settings` set to different values in two simulations; if nothing differs, of
/// all that they set.
pub(crate) fn controls_set_by(settings: &[Setting], before: &SimulationSpec, after: &SimulationSpec) -> Vec<String> {
    set_by(settings, before, after).map(|control| control.name).collect()
}

/// Returns the sliders among those controls. Those of a number that is set for most optimizers are first.
pub(crate) fn sliders_set_by(
    settings: &[Setting],
    before: &SimulationSpec,
    after: &SimulationSpec,
) -> Vec<SettingPath> {
    let sliders: Vec<SettingPath> = set_by(settings, before, after).filter_map(|control| control.slider).collect();
    let count = |slider: &SettingPath| match slider.path.strip_prefix("rule.") {
        Some(key) if key != setting::LEARNING_RATE.key => {
            sliders.iter().filter(|other| other.path == slider.path).count()
        }
        _ => 1,
    };
    let mut sorted = sliders.clone();
    sorted.sort_by_key(|slider| std::cmp::Reverse(count(slider)));
    sorted
}

fn set_by(
    settings: &[Setting],
    before: &SimulationSpec,
    after: &SimulationSpec,
) -> impl Iterator<Item = SetControl> + use<> {
    let set: Vec<SetControl> = settings.iter().flat_map(|setting| controls_of(setting, before, after)).collect();
    let any_changed = set.iter().any(|control| control.is_changed);
    set.into_iter().filter(move |control| control.is_changed || !any_changed)
}

fn controls_of(change: &Setting, before: &SimulationSpec, after: &SimulationSpec) -> Vec<SetControl> {
    let is_set = |SettingPath { optimizer, path }: &SettingPath| match change {
        Setting::Noise(_) => optimizer.is_none() && path.starts_with(setting::NOISE.key),
        Setting::Temperature(_) => *path == setting::TEMPERATURE.key,
        Setting::Landscape(_) => path.starts_with("landscape."),
        Setting::Steps(_) => false,
        Setting::Rule { optimizer: id, .. } => *optimizer == Some(*id),
    };
    let owner = |id: u32| after.name_of(id).unwrap_or_default();
    let old = before.settings();
    let set = after.settings().into_iter().filter(|it| is_set(&it.path)).map(|it| {
        let old = old.iter().find(|old| old.path == it.path);
        SetControl {
            name: form::owned(&it.path.optimizer.map(owner).unwrap_or_default(), it.info.label),
            slider: it.info.is_axis().then_some(it.path),
            is_changed: old.map_or(matches!(change, Setting::Temperature(_)), |old| old.value != it.value),
        }
    });
    let mut controls: Vec<SetControl> = set.collect();
    let choice = |name: String, is_changed| SetControl { name, slider: None, is_changed };
    match change {
        Setting::Noise(_) => {
            controls.insert(0, choice(NOISE.to_owned(), before.noise.kind() != after.noise.kind()));
        }
        Setting::Landscape(_) => {
            controls.insert(0, choice(LANDSCAPE.to_owned(), before.landscape.kind() != after.landscape.kind()));
        }
        Setting::Rule { optimizer: id, .. } if !controls.is_empty() => {
            let of = |spec: &SimulationSpec| spec.optimizers.iter().find(|it| it.id == *id).map(|it| it.rule.schedule);
            let name = form::owned(&owner(*id), optimizers::SCHEDULE_LABEL);
            controls.insert(1, choice(name, of(before) != of(after)));
        }
        _ => {}
    }
    controls
}
