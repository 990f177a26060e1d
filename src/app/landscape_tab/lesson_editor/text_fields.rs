//! The fields of a lesson's step for its texts and for what it points at: section, text, marks, formula and figure.

use egui::{ComboBox, TextEdit, Ui};
use valleyscope_engine::simulation::SimulationSpec;
use valleyscope_engine::sweep::{Axis, SweepSpec};
use valleyscope_experiments::preset::{LessonFigure, LessonMark, LessonStep, Preset};

use super::{Present, row};
use crate::app::boxes::check_box;
use crate::app::form::drag;
use crate::app::icons::{Icon, icon_button};
use crate::app::landscape_tab::LandscapeTab;
use crate::app::phase::position_of;
use crate::lesson_picture::preset_of;

impl LandscapeTab {
    /// Shows the fields of the texts of a step, and of what it points at.
    pub(super) fn text_fields(&mut self, ui: &mut Ui, step: usize, present: &Present) {
        let lesson = &mut self.editor.draft.lesson;
        let edited = &mut lesson.steps[step];
        section(ui, edited);
        row(ui, "Text", |ui| {
            let field = TextEdit::multiline(&mut edited.text).desired_rows(5).desired_width(f32::INFINITY);
            ui.add(field.char_limit(LessonStep::LONGEST_TEXT)).accessible_name("Text of the step");
        });
        marks(ui, edited, present.step);
        formula(ui, edited, &present.spec);
        figure(ui, edited, &present.spec);
    }
}

fn section(ui: &mut Ui, step: &mut LessonStep) {
    row(ui, "Section", |ui| {
        let mut text = step.section.clone().unwrap_or_default();
        let field = TextEdit::singleline(&mut text).hint_text("Begins with this step; none if empty");
        let field = field.desired_width(f32::INFINITY).char_limit(LessonStep::LONGEST_SECTION);
        if ui.add(field).accessible_name("Section of the step").changed() {
            step.section = Some(text).filter(|text| !text.is_empty());
        }
    });
}

/// Shows the named marks in the run.
fn marks(ui: &mut Ui, step: &mut LessonStep, shown: u64) {
    row(ui, "Marks", |ui| {
        let mut removed = None;
        for (index, mark) in step.marks.iter_mut().enumerate() {
            ui.horizontal(|ui| {
                ui.add(drag(&mut mark.step)).accessible_name(format!("Step of mark {}", index + 1));
                let room = (ui.available_width() - 28.0).max(40.0);
                let field =
                    TextEdit::singleline(&mut mark.text).desired_width(room).char_limit(LessonMark::LONGEST_TEXT);
                ui.add(field).accessible_name(format!("Words of mark {}", index + 1));
                let name = format!("Remove mark {}", index + 1);
                if icon_button(ui, Icon::Close, 20.0, &name, "Remove").clicked() {
                    removed = Some(index);
                }
            });
        }
        if let Some(index) = removed {
            step.marks.remove(index);
        }
        let help = "Mark the shown step of the run on the timeline and in the plots";
        if ui.button(format!("Mark step {shown}")).on_hover_text(help).clicked() {
            step.marks.push(LessonMark { step: shown, text: "here".to_owned() });
        }
    });
}

/// Shows the choice of the optimizer whose update rule is shown.
fn formula(ui: &mut Ui, step: &mut LessonStep, spec: &SimulationSpec) {
    row(ui, "Formula", |ui| {
        let name = |id: u32| spec.name_of(id).unwrap_or_else(|| format!("optimizer {id}"));
        ui.scope(|ui| {
            ui.set_max_width(180.0);
            ComboBox::from_id_salt("formula of the step")
                .selected_text(step.formula.map_or_else(|| "none".to_owned(), name))
                .show_ui(ui, |ui| {
                    ui.selectable_value(&mut step.formula, None, "none");
                    for optimizer in spec.optimizers.iter().filter(|optimizer| optimizer.enabled) {
                        ui.selectable_value(&mut step.formula, Some(optimizer.id), name(optimizer.id));
                    }
                })
                .response
                .accessible_name("Update rule that the step shows");
        });
    });
}

/// Shows the choice of the figure and of a point on it.
fn figure(ui: &mut Ui, step: &mut LessonStep, spec: &SimulationSpec) {
    row(ui, "Figure", |ui| {
        let mut name = step.figure.as_ref().map(|figure| figure.name.clone());
        let before = name.clone();
        ui.horizontal_wrapped(|ui| {
            ui.scope(|ui| {
                ui.set_max_width(180.0);
                ComboBox::from_id_salt("figure of the step")
                    .selected_text(name.clone().unwrap_or_else(|| "none".to_owned()))
                    .show_ui(ui, |ui| {
                        ui.selectable_value(&mut name, None, "none");
                        for figure in LessonFigure::NAMES {
                            ui.selectable_value(&mut name, Some(figure.to_owned()), figure);
                        }
                    })
                    .response
                    .accessible_name("Figure that the step shows");
            });
            if name != before {
                step.figure = name.map(|name| LessonFigure { name, point: None });
            }
            if let Some(figure) = step.figure.as_mut().filter(|figure| figure.is_diagram()) {
                point(ui, figure, spec);
            }
        });
    });
}

/// Shows the point that is marked on a phase diagram.
fn point(ui: &mut Ui, figure: &mut LessonFigure, spec: &SimulationSpec) {
    let Some(Preset::Sweep(preset)) = preset_of(figure) else { return };
    let axes = [&preset.sweep.columns, &preset.sweep.rows];
    let mut has_point = figure.point.is_some();
    let help = "Mark the present settings on the phase diagram";
    if check_box(ui, &mut has_point, "Point").on_hover_text(help).changed() {
        figure.point = has_point.then(|| present_point(&preset.sweep, spec));
    }
    for (axis, value) in axes.into_iter().zip(figure.point.iter_mut().flatten()) {
        let symbol = axis.of.parameter(&preset.sweep.landscape).symbol;
        ui.label(symbol);
        let range = axis.from.min(axis.to)..=axis.from.max(axis.to);
        ui.add(drag(value).range(range).speed(0.01)).accessible_name(format!("{symbol} of the point"));
    }
}

/// Returns the point of the present settings on a diagram, or else the one in its middle.
fn present_point(sweep: &SweepSpec, spec: &SimulationSpec) -> [f64; 2] {
    let ends = |axis: &Axis| [axis.from.min(axis.to), axis.from.max(axis.to)];
    let axes = [&sweep.columns, &sweep.rows].map(ends);
    let settings = position_of(spec, sweep).map(|[row, column]| [column, row]);
    let inside =
        settings.filter(|point| axes.iter().zip(point).all(|([low, high], value)| (low..=high).contains(&value)));
    inside.unwrap_or(axes.map(|[low, high]| 0.5 * (low + high)))
}
