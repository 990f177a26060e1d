//! The editor of a lesson: its steps at the left, and the fields of the shown one.

use egui::{Button, ComboBox, CornerRadius, Label, RichText, ScrollArea, TextEdit, Ui, vec2};
use valleyscope_engine::simulation::SimulationSpec;
use valleyscope_engine::sweep::{Axis, SweepSpec};
use valleyscope_experiments::preset::{
    LessonDraft, LessonFigure, LessonMark, LessonStep, Preset, TitledSimulation, titles_side_by_side,
};
use valleyscope_experiments::view::{DiagnosticMetric, ViewSettings};

use super::LandscapeTab;
use crate::app::phase::position_of;
use crate::app::shell::actions::{Action, LandscapeAction, Requests};
use crate::app::shell::window::{Edge, SidePanel, WindowLayout};
use crate::app::widgets::form::{Outlined, cell, check_box, small_button};
use crate::app::widgets::icons::{Icon, icon_button};
use crate::app::widgets::number::drag;
use crate::export::lesson_page::figures::preset_of;
use crate::player::marks::change_text;

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
    simulations: Vec<TitledSimulation>,
    view: ViewSettings,
    plots: Vec<DiagnosticMetric>,
    /// The shown step of the run.
    step: u64,
}

impl Present {
    fn spec(&self) -> &SimulationSpec {
        &self.simulations[0].spec
    }
}

impl LandscapeTab {
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

    fn step_of_lesson(&mut self, ui: &mut Ui, requests: &mut Requests) {
        // The last step may just have been removed.
        let Some((step, _)) = self.editor.lesson() else { return };
        let present = Present {
            simulations: self.editor.draft.document.simulations.clone(),
            view: self.view(),
            plots: self.diagnostics.displayed(&self.editor.draft.document.spec(0).landscape),
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

/// An operation on the list of steps at one of them. Returns the step to show.
type ListEdit = fn(&mut LessonDraft, usize) -> usize;

impl LandscapeTab {
    fn steps_of_lesson(&mut self, ui: &mut Ui, requests: &mut Requests) {
        let step = self.editor.lesson_step();
        let steps = &self.editor.draft.lesson.steps;
        let count = steps.len();
        let mut asked = None;
        ui.horizontal_wrapped(|ui| {
            ui.spacing_mut().item_spacing.x = 3.0;
            let mut tool = |enabled, text, name, help, edit: ListEdit| {
                if small_button(ui, enabled, text, name, help) {
                    asked = Some(edit);
                }
            };
            tool(true, "Add", "Add a step", "Add a step after this one", LessonDraft::add_after);
            tool(true, "Copy", "Copy the step", "Add a copy of this step after it", LessonDraft::duplicate);
            tool(true, "Remove", "Remove the step", "Remove this step", LessonDraft::remove);
            let (up, down): (ListEdit, ListEdit) =
                (|lesson, step| lesson.swap(step, step - 1), |lesson, step| lesson.swap(step, step + 1));
            tool(step > 0, "Up", "Move the step up", "Move this step before the previous one", up);
            tool(step + 1 < count, "Down", "Move the step down", "Move this step after the next one", down);
        });
        ScrollArea::vertical().id_salt("steps of the lesson").auto_shrink(false).show(ui, |ui| {
            for (index, it) in steps.iter().enumerate() {
                if let Some(section) = &it.section {
                    ui.label(RichText::new(section).strong());
                }
                let is_wrong = self.editor.draft.lesson.error_at(index).is_some();
                let text = format!("{}   {}", index + 1, it.first_sentence());
                let text = if is_wrong { RichText::new(text).color(ui.visuals().error_fg_color) } else { text.into() };
                let entry =
                    Button::selectable(index == step, text).truncate().min_size(vec2(ui.available_width(), 0.0));
                let name = format!("Edit step {}{}", index + 1, if is_wrong { ", which has an error" } else { "" });
                let entry = ui.add(entry.corner_radius(CornerRadius::same(3))).accessible_name(name);
                if index == step && self.lesson_editor.listed.replace(step) != Some(step) {
                    entry.scroll_to_me(None);
                }
                if entry.clicked() {
                    requests.actions.push(Action::Landscape(LandscapeAction::GoToStep(index)));
                }
            }
        });
        if let Some(edit) = asked {
            self.edit_steps(|lesson| edit(lesson, step), requests);
        }
    }

    /// Edits the steps, and shows the one that `edit` returns. A step that does not fit any more shows its error.
    fn edit_steps(&mut self, edit: impl FnOnce(&mut LessonDraft) -> usize, requests: &mut Requests) {
        let _ = self.editor.edit_lesson(edit);
        if self.editor.lesson().is_some() {
            let shown = LandscapeAction::GoToStep(self.editor.lesson_step());
            requests.actions.push(Action::Landscape(shown));
        }
    }
}

impl LandscapeTab {
    /// Shows the fields of the texts of a step, and of what it points at.
    fn text_fields(&mut self, ui: &mut Ui, step: usize, present: &Present) {
        let lesson = &mut self.editor.draft.lesson;
        let edited = &mut lesson.steps[step];
        section(ui, edited);
        let mut text = |name, help: &str, text: &mut String, rows, most| {
            row(ui, name, |ui| {
                let field = TextEdit::multiline(text).desired_rows(rows).desired_width(f32::INFINITY);
                ui.add(field.hint_text(help).char_limit(most)).accessible_name(format!("{name} of the step"));
            });
        };
        text("Text", "For the class, two lines", &mut edited.text, 2, LessonStep::LONGEST_TEXT);
        text("Notes", "For the speaker (N)", &mut edited.notes, 4, LessonStep::LONGEST_NOTES);
        formula(ui, edited, present.spec());
        figure(ui, edited, present.spec());
        // The rows with lists are the last ones, so that no row moves when a list grows.
        marks(ui, edited, present.step);
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

fn marks(ui: &mut Ui, step: &mut LessonStep, shown: u64) {
    row(ui, "Marks", |ui| {
        let help = "Mark the shown step of the run on the timeline and in the plots";
        if ui.button(format!("Mark step {shown}")).on_hover_text(help).clicked() {
            step.marks.push(LessonMark { step: shown, text: "here".to_owned() });
        }
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
    });
}

/// Shows the choice of the optimizer whose update rule is shown, and its highlighted term.
fn formula(ui: &mut Ui, step: &mut LessonStep, spec: &SimulationSpec) {
    row(ui, "Formula", |ui| {
        let name = |id: u32| spec.name_of(id).unwrap_or_else(|| format!("optimizer {id}"));
        ui.horizontal(|ui| {
            ComboBox::from_id_salt("formula of the step")
                .width(120.0)
                .selected_text(step.formula.map_or_else(|| "none".to_owned(), name))
                .show_ui(ui, |ui| {
                    ui.selectable_value(&mut step.formula, None, "none");
                    for optimizer in spec.optimizers.iter().filter(|optimizer| optimizer.enabled) {
                        ui.selectable_value(&mut step.formula, Some(optimizer.id), name(optimizer.id));
                    }
                })
                .response
                .accessible_name("Update rule that the step shows");
            let mut term = step.term.clone().unwrap_or_default();
            let field = TextEdit::singleline(&mut term).hint_text("Highlighted part, such as √ŝ");
            let field = field.char_limit(LessonStep::LONGEST_TERM).desired_width(ui.available_width());
            let field = ui.add_enabled(step.formula.is_some(), field).accessible_name("Highlighted part of the rule");
            if field.changed() {
                step.term = Some(term).filter(|term| !term.is_empty());
            }
            step.term.take_if(|_| step.formula.is_none());
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
        let symbol = axis.of.info(&preset.sweep.landscape).symbol;
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

impl LandscapeTab {
    /// Shows the fields of the run that a step shows, and of the way it is shown.
    fn run_fields(&mut self, ui: &mut Ui, step: usize, present: &Present, requests: &mut Requests) {
        let lesson = &mut self.editor.draft.lesson;
        run(ui, lesson, step, &mut self.editor.draft.document.spec_mut(0).steps);
        plots(ui, &mut lesson.steps[step].show, present);
        if view(ui, step, &mut lesson.steps[step].view, &present.view) {
            self.editor.draft.document.view = lesson.view_at(step).unwrap_or_else(|| present.view.clone());
        }
        // The rows with lists are the last ones, so that no row moves when a list grows.
        let (mut set, mut beside) = (lesson.steps[step].set.clone(), lesson.steps[step].compared.clone());
        let setting = settings(ui, lesson, step, present).map(|index| _ = set.remove(index));
        let other = compared(ui, lesson, step, present).map(|index| _ = beside.remove(index));
        if setting.or(other).is_some() {
            let edit = |lesson: &mut LessonDraft| {
                (lesson.steps[step].set, lesson.steps[step].compared) = (set, beside);
                step
            };
            self.edit_steps(edit, requests);
        }
    }
}

/// Shows what a step sets. Returns the index of a setting that is to be taken out.
fn settings(ui: &mut Ui, lesson: &mut LessonDraft, step: usize, present: &Present) -> Option<usize> {
    let mut removed = None;
    row(ui, "Settings", |ui| {
        let before = step.checked_sub(1).map(|before| lesson.spec_at(before));
        let before = before.and_then(Result::ok).unwrap_or_else(|| lesson.spec().clone());
        let now = lesson.spec_at(step).unwrap_or_else(|_| before.clone());
        let help = "Set what differs from the step before to its present value, and show what is beside now";
        let differs = lesson.differs_at(step, &present.simulations);
        ui.horizontal(|ui| {
            let button = ui.button("Take over the present settings").on_hover_text(help);
            if differs {
                let text = RichText::new("The present settings are others.").color(ui.visuals().warn_fg_color);
                ui.add(Label::new(text).truncate());
            }
            if button.clicked() {
                // A step before with an error reports it.
                let _ = lesson.take_over(step, &present.simulations);
            }
        });
        if lesson.steps[step].set.is_empty() {
            ui.weak(as_before(step));
        }
        for (index, setting) in lesson.steps[step].set.iter().enumerate() {
            ui.horizontal(|ui| {
                let words = change_text(setting, &before, &now);
                let name = format!("Take out {}", words.replace('\n', ", "));
                if icon_button(ui, Icon::Close, 18.0, &name, "Leave this as in the step before").clicked() {
                    removed = Some(index);
                }
                ui.label(words);
            });
        }
        if let Some(reason) = lesson.compared_settings(&present.simulations).err().filter(|_| differs) {
            ui.colored_label(ui.visuals().warn_fg_color, format!("{reason}."));
        }
    });
    removed
}

/// Shows the simulations that a step compares with its own. Returns the index of one that is to be taken out.
fn compared(ui: &mut Ui, lesson: &LessonDraft, step: usize, present: &Present) -> Option<usize> {
    let first = lesson.spec_at(step).unwrap_or_else(|_| present.spec().clone());
    let simulations = lesson.simulations_at(step, &first).unwrap_or_default();
    if simulations.len() <= 1 {
        return None;
    }
    let mut removed = None;
    row(ui, "Beside", |ui| {
        let titles = titles_side_by_side(&simulations).split_off(1);
        if lesson.steps[step].compared.is_empty() {
            ui.weak(format!("{}, as beside every step without others", titles.join("; ")));
            return;
        }
        for (index, title) in titles.iter().enumerate() {
            ui.horizontal(|ui| {
                let name = format!("Take out {title}");
                if icon_button(ui, Icon::Close, 18.0, &name, "Do not show this beside").clicked() {
                    removed = Some(index);
                }
                ui.label(title.as_str());
            });
        }
    });
    removed
}

/// Shows how the run begins, whether it plays, and where it pauses.
fn run(ui: &mut Ui, lesson: &mut LessonDraft, step: usize, steps: &mut Option<u64>) {
    row(ui, "Run", |ui| {
        ui.horizontal_wrapped(|ui| {
            let mut begins = lesson.begins_run(step);
            let is_free = !lesson.has_to_begin_run(step);
            let why = "A step with other settings than the one before begins a run.";
            let choice = ui.add_enabled(is_free, Outlined(egui::Checkbox::new(&mut begins, "Begins anew")));
            if choice.on_disabled_hover_text(why).changed() {
                lesson.set_begins_run(step, begins);
            }
            check_box(ui, &mut lesson.steps[step].play, "Plays when shown");
            let mut pause = lesson.pause(step);
            let before = pause;
            let mut pauses = pause.is_some();
            if check_box(ui, &mut pauses, "Pauses at step").changed() {
                pause = pauses.then_some(500);
            }
            if let Some(pause) = &mut pause {
                ui.add(drag(pause).range(1..=u64::MAX)).accessible_name("Step at which the run pauses");
            }
            if pause != before {
                lesson.set_pause(step, pause);
                *steps = pause;
            }
        });
    });
}

fn plots(ui: &mut Ui, show: &mut Vec<DiagnosticMetric>, present: &Present) {
    row(ui, "Plots", |ui| {
        ui.horizontal_wrapped(|ui| {
            for metric in DiagnosticMetric::ALL {
                let Some(info) = metric.info(&present.spec().landscape) else { continue };
                let mut is_shown = show.contains(&metric);
                let name = info.name.as_ref();
                let toggle = ui.toggle_value(&mut is_shown, name).on_hover_text(info.explanation);
                if toggle.accessible_name(format!("The step names {name}")).changed() {
                    show.retain(|shown| *shown != metric);
                    show.extend(is_shown.then_some(metric));
                }
            }
            let help = "Name the plots that are shown now, in their order";
            if ui.button("Take over the shown plots").on_hover_text(help).clicked() {
                show.clone_from(&present.plots);
            }
        });
    });
}

/// Returns the words for what a step, counted from 0, leaves as it is.
fn as_before(step: usize) -> &'static str {
    if step == 0 { "as in the preset" } else { "as in the step before" }
}

/// Shows whether a step has a view of its own. Returns whether that was changed.
fn view(ui: &mut Ui, step: usize, own: &mut Option<ViewSettings>, present: &ViewSettings) -> bool {
    let mut is_changed = false;
    row(ui, "View", |ui| {
        ui.horizontal_wrapped(|ui| {
            let help = "Show the landscape as now from this step on: camera, surface in space, and what is drawn";
            if ui.button("Take over the present view").on_hover_text(help).clicked() {
                *own = Some(present.clone());
                is_changed = true;
            }
            match own {
                Some(_) if ui.button("View as in the step before").clicked() => {
                    *own = None;
                    is_changed = true;
                }
                Some(_) => {}
                None => _ = ui.weak(as_before(step)),
            }
        });
    });
    is_changed
}
