//! The switch between simulations side by side, and the buttons that add and remove them.

use egui::{Button, Ui};
use valleyscope_engine::simulation::SimulationSpec;
use valleyscope_experiments::preset::{Beside, LETTERS, LandscapePreset, Preset, TitledSimulation, built_ins};

use crate::app::document::Document;
use crate::app::form::scrolled_list;

/// The width of the list of presets, in points.
const LIST: f32 = 300.0;

/// Shows a button for each simulation, of which the chosen one has its settings in the controls, and the menu that adds
/// another one.
pub(super) fn switch(ui: &mut Ui, document: &mut Document, chosen: &mut usize) {
    ui.horizontal_wrapped(|ui| {
        if document.count() > 1 {
            for (place, title) in document.titles().iter().enumerate() {
                let button = Button::selectable(*chosen == place, LETTERS[place]);
                let hint = format!("{title}\nThe controls show and set these settings.");
                if ui.add(button).on_hover_text(hint).accessible_name(format!("Settings of {title}")).clicked() {
                    *chosen = place;
                }
            }
            ui.separator();
        }
        ui.add_enabled_ui(document.beside.len() < Beside::MOST, |ui| {
            let menu = ui.menu_button("+ Side by side", |ui| {
                if let Some(added) = added(ui, document, *chosen) {
                    document.beside.push(added);
                    *chosen = document.beside.len();
                    ui.close();
                }
            });
            menu.response.on_hover_text("Run another simulation beside this one, on the same clock.");
        });
        let Some(index) = chosen.checked_sub(1) else { return };
        let letter = LETTERS[*chosen];
        let remove = ui.button("Remove").on_hover_text(format!("Remove {letter}. Undo brings it back."));
        if remove.accessible_name(format!("Remove {letter}")).clicked() {
            document.beside.remove(index);
            *chosen = index;
        }
    });
}

/// Shows what can be added; returns the chosen simulation.
fn added(ui: &mut Ui, document: &Document, chosen: usize) -> Option<TitledSimulation> {
    ui.set_width(LIST);
    let spec = document.specs().nth(chosen)?;
    let same = format!("The settings of {} again, to change some", LETTERS[chosen]);
    let mut added = ui.button(same).clicked().then(|| TitledSimulation { title: None, spec: spec.clone() });
    ui.separator();
    ui.weak("Another preset");
    scrolled_list(ui, |ui| {
        let presets = built_ins().iter().filter_map(|built_in| match &built_in.preset {
            Preset::Landscape(preset) => Some(preset),
            _ => None,
        });
        for LandscapePreset { title, simulation, .. } in presets {
            if ui.add(Button::new(title).truncate()).clicked() {
                let spec = on_the_clock_of(&document.spec, simulation);
                added = Some(TitledSimulation { title: Some(title.clone()), spec });
            }
        }
    });
    added
}

/// Returns a simulation with the seed of another one, and with the step at which that pauses.
fn on_the_clock_of(first: &SimulationSpec, simulation: &SimulationSpec) -> SimulationSpec {
    SimulationSpec { seed: first.seed, steps: first.steps, ..simulation.clone() }
}
