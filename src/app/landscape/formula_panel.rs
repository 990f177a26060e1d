//! The panel with the selected particle's formulas.

use std::collections::BTreeMap;

use egui::{Color32, DragValue, FontSelection, Label, RichText, TextStyle, Ui};
use valleyscope_engine::optimizer::StepInputs;
use valleyscope_engine::simulation::{ParticleId, StepTrace};
use valleyscope_experiments::view::formula::{Formula, formulas, result_text, text};
use valleyscope_experiments::view::ticks::grouped;

use super::marker::{color_of, draw_marker, line_color, marker_of};
use super::pre_step_readout;
use crate::app::theme::text_width;
use crate::app::{Document, Live, Requests};
use crate::player::Playback;

/// The lines of the selected particle's update rule with the numbers of its last step.
#[derive(Debug, Default)]
pub struct FormulaPanel {
    /// The selected particle.
    particle: Option<ParticleId>,
    /// The displayed step, from 1.
    step: u64,
    /// The largest width of the numbers of each formula so far, in points. Results start beyond it, so that they do not
    /// move while the numbers change.
    reached: BTreeMap<String, f32>,
}

/// The height of a window, in points, below which the panel omits the hint at choosing a particle.
const LOW_WINDOW: f32 = 640.0;

/// The least width of the list of optimizers, with which the chooser of a small window is a single row.
const NARROW_LIST: f32 = 64.0;

impl FormulaPanel {
    pub fn ui(&mut self, ui: &mut Ui, document: &Document, live: &mut Live, requests: &mut Requests) {
        particle_chooser(ui, document, live, requests);
        ui.add_space(3.0);
        if live.selected.is_none() {
            // In a low window the plots need the room.
            if ui.ctx().content_rect().height() >= LOW_WINDOW {
                ui.separator();
                ui.label("Click on a particle, or choose one above, to see how its rule moves it.");
            }
            return;
        }
        ui.separator();
        let paused = live.snapshot.as_ref().is_some_and(|snapshot| snapshot.playback != Playback::Playing);
        let Some(step) = live.step_trace() else {
            pre_step_readout::show(ui, document, live);
            return;
        };
        if self.particle != Some(step.id) || step.step() < self.step {
            *self = FormulaPanel { particle: Some(step.id), ..FormulaPanel::default() };
        }
        self.step = step.step();
        heading(ui, step);
        if step.after.iter().any(|value| !value.is_finite()) {
            let text = "This particle has diverged: its position is not a finite number any more.";
            ui.label(RichText::new(text).color(ui.visuals().error_fg_color));
        }
        for formula in formulas(step) {
            let reached = self.reached.entry(formula.rule.clone()).or_default();
            formula_block(ui, &formula, reached);
        }
        if !paused {
            ui.add_space(6.0);
            ui.weak("Pause and single-step (→) to follow the numbers from step to step.");
        }
    }
}

/// Shows controls that choose a particle without the pointer.
fn particle_chooser(ui: &mut Ui, document: &Document, live: &mut Live, requests: &mut Requests) {
    let ensembles: Vec<(u32, usize)> = live.visible().map(|view| (view.optimizer, view.particles)).collect();
    let Some(&(first, _)) = ensembles.first() else {
        ui.label("Nothing is simulated yet.");
        return;
    };
    let label = |id: u32| document.spec.name_of(id).unwrap_or_else(|| format!("optimizer {id}"));
    let mut chosen = live.selected;
    ui.horizontal_wrapped(|ui| {
        let mut optimizer = chosen.map_or(first, |particle| particle.optimizer);
        let before = optimizer;
        egui::ComboBox::from_id_salt("formula optimizer")
            .selected_text(label(optimizer))
            .width(NARROW_LIST)
            .height(500.0)
            .show_ui(ui, |ui| {
                for &(id, _) in &ensembles {
                    ui.selectable_value(&mut optimizer, id, label(id));
                }
            })
            .response
            .accessible_name("Optimizer of the selected particle");
        let count = ensembles.iter().find(|(id, _)| *id == optimizer).map_or(1, |&(_, particles)| particles.max(1));
        let mut number = chosen.map_or(1, |particle| particle.particle + 1).min(count);
        let number_before = number;
        let response = ui
            .add(DragValue::new(&mut number).range(1..=count).speed(0.2).prefix("particle "))
            .accessible_name("Number of the selected particle");
        let touched = response.changed() || number != number_before || optimizer != before;
        if touched {
            chosen = Some(ParticleId { optimizer, particle: number - 1 });
        }
        if chosen.is_none() && ui.button("Show").on_hover_text("Show the formulas of this particle").clicked() {
            chosen = Some(ParticleId { optimizer, particle: number - 1 });
        }
        if chosen.is_some() && ui.button("Deselect").clicked() {
            chosen = None;
        }
        if let Some(particle) = chosen {
            let optimizers = &document.spec.optimizers;
            if optimizers.iter().any(|spec| spec.id == particle.optimizer) {
                let (rect, _) = ui.allocate_exact_size(egui::Vec2::splat(14.0), egui::Sense::hover());
                let marker = marker_of(optimizers, particle.optimizer);
                let color = line_color(color_of(optimizers, particle.optimizer), ui.ctx().theme());
                ui.painter().add(draw_marker(marker, rect.center(), 4.5, color, ui.visuals().text_color()));
            }
        }
    });
    live.select(chosen, requests);
}

fn heading(ui: &mut Ui, step: &StepTrace) {
    ui.horizontal_wrapped(|ui| {
        ui.strong(step.inputs.rule.name());
        ui.label(format!("step t = {}", grouped(step.step())));
    });
    ui.weak(hyperparameters(&step.inputs));
    ui.add_space(4.0);
}

/// Formats the learning rate of the step and the rule's hyperparameters in one line.
fn hyperparameters(inputs: &StepInputs) -> String {
    let numbers = inputs.rule.hyperparameters().filter(|(of, _)| of.is_axis());
    let numbers = numbers.map(|(of, value)| (of.symbol, value));
    let all = std::iter::once(("η", inputs.learning_rate)).chain(numbers);
    all.map(|(symbol, value)| format!("{symbol} {}", text(value))).collect::<Vec<_>>().join("   ")
}

/// The indent of a coordinate's numbers, and the gap between the numbers and their result, in points.
const INDENT: f32 = 14.0;
const GAP: f32 = 8.0;

/// Shows a formula with its meaning, and below it a line for each coordinate. A result that does not fit goes to a line
/// of its own. Updates `reached`, the largest width of the numbers so far.
fn formula_block(ui: &mut Ui, formula: &Formula, reached: &mut f32) {
    ui.add_space(3.0);
    ui.horizontal_wrapped(|ui| {
        ui.label(RichText::new(&formula.rule).strong()).on_hover_text(formula.meaning);
        ui.weak(RichText::new(formula.meaning).small());
    });
    let font = FontSelection::from(TextStyle::Body).resolve(ui.style());
    let width_of = |text: &str| text_width(ui, &font, text);
    *reached = formula.filled.iter().map(|filled| INDENT + width_of(filled)).fold(*reached, f32::max);
    let fits = *reached + GAP + width_of(WIDEST_RESULT) <= ui.available_width();
    ui.scope(|ui| {
        ui.spacing_mut().item_spacing = egui::Vec2::ZERO;
        ui.spacing_mut().interact_size.y = 0.0;
        for (axis, name) in ["x", "y"].into_iter().enumerate() {
            let result = result_text(formula.result[axis]);
            ui.horizontal(|ui| {
                let left = ui.cursor().left();
                ui.weak(name);
                ui.add_space(left + INDENT - ui.cursor().left());
                ui.add(Label::new(&formula.filled[axis]).wrap());
                if fits {
                    ui.add_space(left + *reached + GAP - ui.cursor().left());
                    show_result(ui, &result);
                }
            });
            if !fits {
                ui.horizontal(|ui| {
                    ui.add_space(INDENT);
                    show_result(ui, &result);
                });
            }
        }
    });
}

/// The widest result.
const WIDEST_RESULT: &str = "= −8.8888×10⁻⁸⁸";

fn show_result(ui: &mut Ui, result: &str) {
    ui.weak("= ");
    ui.label(RichText::new(result).color(result_color(ui)));
}

fn result_color(ui: &Ui) -> Color32 {
    match ui.ctx().theme() {
        egui::Theme::Dark => Color32::from_rgb(140, 200, 255),
        egui::Theme::Light => Color32::from_rgb(0, 80, 160),
    }
}
