//! The editor of a lesson: its steps at the left, and the fields of the shown one.

mod list;
mod run_fields;
mod text_fields;

use egui::{ScrollArea, Ui};
use valleyscope_engine::simulation::SimulationSpec;
use valleyscope_experiments::preset::TitledSimulation;
use valleyscope_experiments::view::{DiagnosticMetric, ViewSettings};

use super::LandscapeTab;
use crate::app::form::cell;
use crate::app::icons::{Icon, icon_button};
use crate::app::live::Requests;
use crate::app::side_panel::{Edge, SidePanel};
use crate::app::window_layout::WindowLayout;

/// The width of the list of steps, in points.
const LIST: f32 = 250.0;
/// The width of the names of fields, in points.
const NAMES: f32 = 62.0;
/// The width from which the fields are in two columns, in points.
const TWO_COLUMNS: f32 = 620.0;

/// The state of the editor.
#[derive(Default)]
pub(super) struct LessonEditor {
    pub is_open: bool,
    /// The step to which the list was scrolled.
    listed: Option<usize>,
}

/// The present state of the window, which a step can take over.
struct Present {
    spec: SimulationSpec,
    /// The simulations beside it.
    beside: Vec<TitledSimulation>,
    view: ViewSettings,
    plots: Vec<DiagnosticMetric>,
    /// The shown step of the run.
    step: u64,
}

impl LandscapeTab {
    /// Shows the editor while it is open.
    pub(super) fn show_lesson_editor(&mut self, ui: &mut Ui, layout: &mut WindowLayout, requests: &mut Requests) {
        if !self.lesson_editor.is_open || self.editor.lesson().is_none() {
            return;
        }
        let height = ui.available_height();
        let (name, edge, range) = ("lesson editor", Edge::Bottom, 120.0..=(0.6 * height).max(120.0));
        let panel = SidePanel { name, edge, usual: 270.0, range, frame: None };
        panel.show(ui, &mut layout.sizes, |ui, _| {
            let area = ui.available_rect_before_wrap();
            let width = LIST.min(0.4 * area.width());
            ui.horizontal_top(|ui| {
                let column = |ui: &mut Ui, width: f32| ui.set_width(width);
                ui.vertical(|ui| {
                    column(ui, width);
                    self.steps_of_lesson(ui, requests);
                });
                ui.separator();
                ui.vertical(|ui| {
                    column(ui, ui.available_width());
                    self.step_of_lesson(ui, requests);
                });
            });
        });
    }

    /// Shows the fields of the shown step.
    fn step_of_lesson(&mut self, ui: &mut Ui, requests: &mut Requests) {
        // The last step may just have been removed.
        let Some((step, _)) = self.editor.lesson() else { return };
        let present = Present {
            spec: self.editor.draft.document.spec.clone(),
            beside: self.editor.draft.document.beside.clone(),
            view: self.view(),
            plots: self.diagnostics.displayed(&self.editor.draft.document.spec.landscape),
            step: self.live.snapshot.as_ref().map_or(0, |snapshot| snapshot.step),
        };
        ui.horizontal(|ui| {
            ui.strong(format!("Step {}", step + 1));
            let error = self.editor.draft.lesson.error_at(step);
            if let Some(error) = &error {
                ui.colored_label(ui.visuals().error_fg_color, error.to_string());
            }
            ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                if icon_button(ui, Icon::Close, 22.0, "Close the editor of the lesson", "Close").clicked() {
                    self.lesson_editor.is_open = false;
                }
            });
        });
        ScrollArea::vertical().id_salt(("step of the lesson", step)).auto_shrink(false).show(ui, |ui| {
            if ui.available_width() >= TWO_COLUMNS {
                ui.columns(2, |columns| {
                    self.text_fields(&mut columns[0], step, &present);
                    self.run_fields(&mut columns[1], step, &present, requests);
                });
            } else {
                self.text_fields(ui, step, &present);
                self.run_fields(ui, step, &present, requests);
            }
        });
    }
}

/// Shows a row with the name of a field.
fn row(ui: &mut Ui, name: &str, add: impl FnOnce(&mut Ui)) {
    ui.horizontal_top(|ui| {
        cell(ui, NAMES, |ui| ui.label(name));
        ui.vertical(|ui| {
            ui.set_width(ui.available_width());
            add(ui);
        });
    });
    ui.add_space(2.0);
}
