//! The tools of the plots.

use egui::containers::menu::{MenuButton, MenuConfig};
use egui::{DragValue, PopupCloseBehavior, TextStyle, Ui};
use valleyscope_engine::quantity::Temperature;
use valleyscope_engine::simulation::SimulationSpec;
use valleyscope_experiments::preset::LETTERS;
use valleyscope_experiments::view::ticks::grouped;
use valleyscope_experiments::view::{Band, DiagnosticMetric};

use super::data::{EnsembleHistory, TableContents};
use super::{DiagnosticsPanel, GAP, LEAST_HEIGHT, SMALLEST, columns_for};
use crate::app::landscape::editor::Document;
use crate::app::landscape::live::Live;
use crate::app::shell::actions::{Action, Requests};
use crate::app::shell::export::ExportKind;
use crate::player::OptimizerHistory;

/// The height of a panel, in points, below which its tools are in a menu.
const LOW: f32 = 340.0;
/// The height of the tools in a narrow panel, in points.
const TOOLS: f32 = 110.0;
/// The number of plots that have room below the tools; with less room the tools are in a menu, and further plots are
/// scrolled.
const USUAL_PLOTS: usize = 4;
const MENU_WIDTH: f32 = 240.0;

impl DiagnosticsPanel {
    /// Shows the choice of plots and their options: in rows of buttons, or in a menu where these would take the room of
    /// the plots.
    pub(super) fn toolbar(&mut self, ui: &mut Ui, document: &Document, requests: &mut Requests) {
        let size = ui.available_size();
        let plots = self.displayed(&document.spec(0).landscape).len().min(USUAL_PLOTS);
        let rows = plots.div_ceil(columns_for(plots, size, LEAST_HEIGHT));
        if size.y < LOW.max(TOOLS + rows as f32 * (SMALLEST.y + GAP)) {
            let stay_open = MenuConfig::new().close_behavior(PopupCloseBehavior::CloseOnClickOutside);
            MenuButton::new("Plots").config(stay_open).ui(ui, |ui| {
                ui.set_max_width(MENU_WIDTH);
                self.tools(ui, document, requests);
            });
        } else {
            self.tools(ui, document, requests);
        }
    }

    fn tools(&mut self, ui: &mut Ui, document: &Document, requests: &mut Requests) {
        ui.horizontal_wrapped(|ui| {
            let landscape = &document.spec(0).landscape;
            let displayed = self.displayed(landscape);
            for metric in DiagnosticMetric::ALL {
                let Some(info) = metric.info(landscape) else { continue };
                let mut shown = displayed.contains(&metric);
                if ui.toggle_value(&mut shown, info.name).on_hover_text(info.explanation).changed() {
                    self.display(metric, shown);
                }
            }
            ui.separator();
            if ui
                .toggle_value(&mut self.choices.log_steps, "Log steps")
                .on_hover_text("Steps on a logarithmic axis")
                .changed()
            {
                self.zoom.x = None;
            }
            egui::ComboBox::from_id_salt("diagnostics band")
                .selected_text(self.choices.band.name())
                .show_ui(ui, |ui| {
                    for band in Band::ALL {
                        ui.selectable_value(&mut self.choices.band, band, band.name());
                    }
                })
                .response
                .accessible_name("Spread over the particles")
                .on_hover_text("The meaning of the band around each curve");
            ui.toggle_value(&mut self.choices.whole_range, "Whole range")
                .on_hover_text("Extend the vertical axes to the values of diverged optimizers");
            let text = if self.frozen {
                format!("Frozen at step {}", grouped(self.history.last_step))
            } else {
                "Freeze".to_owned()
            };
            ui.toggle_value(&mut self.frozen, text)
                .on_hover_text("Keep the plots as they are while the simulation continues.")
                .accessible_name("Freeze the plots");
            let reset = ui.add_enabled(self.zoom.is_zoomed(), egui::Button::new("Reset zoom"));
            if reset.on_hover_text("Show everything").clicked() {
                self.zoom.reset();
            }
            if ui.button("Export…").accessible_name("Export the plots").clicked() {
                requests.actions.push(Action::Export(Some(ExportKind::Data)));
            }
        });
    }

    /// Returns the table of the shown metrics and optimizers over the steps in view.
    pub(in crate::app::landscape) fn table(&self, document: &Document, live: &Live) -> TableContents {
        let scale = self.x_scale();
        let [from, to] = self.zoom.x.map_or([0.0, f64::INFINITY], |x| x.map(|end| scale.value(end).max(0.0)));
        // Frozen plots stay as they are on the screen; the player's history has gone on, or belongs to another run.
        let last = if self.frozen { self.history.last_step as f64 } else { f64::INFINITY };
        let shown = || self.history.ensembles.iter().filter(|ensemble| !live.hidden.contains(&ensemble.optimizer));
        // A name in a table does not depend on the other optimizers' settings.
        let is_side_by_side = self.history.is_side_by_side();
        let named = |ensemble: &EnsembleHistory| {
            let spec = document.specs().nth(ensemble.session).map(|spec| live.with_recorded(spec));
            let name = spec.and_then(|spec| spec.name_of(ensemble.optimizer));
            let name = name.unwrap_or_else(|| ensemble.name.clone());
            let name = if is_side_by_side { format!("{name} ({})", LETTERS[ensemble.session]) } else { name };
            (ensemble.session, ensemble.optimizer, name)
        };
        let history = |of: &EnsembleHistory| OptimizerHistory {
            session: of.session,
            optimizer: of.optimizer,
            buckets: of.buckets.clone(),
        };
        TableContents {
            optimizers: shown().map(named).collect(),
            metrics: self.displayed(&document.spec(0).landscape),
            steps: [from.ceil() as u64, to.min(last).floor() as u64],
            frozen: self.frozen.then(|| shown().map(history).collect()),
        }
    }
}

/// Shows the choice of the free energy's Θ: each optimizer's learning rate, or a number.
pub(super) fn temperature_control(ui: &mut Ui, spec: &mut SimulationSpec) {
    let mut own = spec.temperature.is_none();
    let text = egui::RichText::new("Θ = η").text_style(TextStyle::Small);
    let response = ui
        .toggle_value(&mut own, text)
        .on_hover_text(
            "On: the temperature Θ is each optimizer's learning rate. Off: the number beside it.\n\
             A change counts from the next step on.",
        )
        .accessible_name("Temperature is the learning rate");
    if response.changed() {
        let first = spec.optimizers.iter().find(|optimizer| optimizer.enabled);
        let rate = first.map_or(0.01, |optimizer| optimizer.rule.learning_rate.get());
        spec.temperature = (!own).then(|| Temperature::clamped(rate));
    }
    if let Some(temperature) = &mut spec.temperature {
        let mut value = temperature.get();
        let speed = (0.01 * value).max(1e-5);
        let drag = DragValue::new(&mut value).prefix("Θ ").speed(speed).range(Temperature::MIN..=Temperature::MAX);
        if ui.add(drag.max_decimals(6)).accessible_name("Temperature Θ").changed() {
            *temperature = Temperature::clamped(value);
        }
    }
}
