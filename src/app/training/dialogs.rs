//! Forms about one run: title and note, questions before it is deleted, forked or resumed, changed settings, and texts
//! generated with its model.

use std::collections::BTreeMap;

use egui::{Button, Context, Key, Label, RichText, ScrollArea, Stroke, StrokeKind, TextEdit, Ui};
use valleyscope_engine::setting::{SettingInfo, SettingPath, SettingValue};
use valleyscope_engine::terminal_escape::{visible, visible_lines};
use valleyscope_experiments::preset::Preset;
use valleyscope_experiments::run::with_changed_settings;
use valleyscope_experiments::view::ticks::grouped;
use valleyscope_experiments::workload::{Workload, changes};
use valleyscope_runs::{Notes, RunCommand, RunFolder, SettingChange, TextRequest, TextSample};

use super::detail::RunAction;
use super::summary::Summary;
use crate::app::shell::messages::show_modal;
use crate::app::widgets::form::radio_button;
use crate::app::widgets::form::{cell, small_button, visible_scroll_bar, with_quotes};
use crate::app::widgets::number;
use crate::app::widgets::number::{TypedField, show_refusal};

pub(super) enum Dialog {
    Describe {
        run: RunFolder,
        notes: Notes,
        title: String,
        focused: bool,
    },
    Fork {
        run: RunFolder,
        title: String,
        /// The training with which it began, and the changes of its settings since.
        training: Box<Preset>,
        changes: Vec<(u64, SettingChange)>,
        /// The steps of its checkpoints, and the index of the chosen one.
        steps: Vec<u64>,
        chosen: usize,
    },
    Ask(RunQuestion),
}

/// A question about runs.
pub(super) struct RunQuestion {
    pub heading: &'static str,
    pub text: String,
    pub warnings: Vec<String>,
    /// The texts of the buttons that agree and cancel.
    pub answers: [&'static str; 2],
    /// The action that follows if the user agrees.
    pub decision: RunDecision,
}

pub(super) enum RunDecision {
    Trash(Vec<RunFolder>),
    Resume(RunFolder),
    Remove(Vec<RunFolder>),
}

impl Dialog {
    /// Shows the dialog; returns whether the user agrees, once that is decided. Escape cancels.
    pub(super) fn show(&mut self, ctx: &Context) -> Option<bool> {
        let (mut is_agreed, mut is_cancelled) = (false, false);
        let (heading, [yes, no]) = match self {
            Dialog::Describe { .. } => ("Title and note", ["Keep", "Cancel"]),
            Dialog::Fork { .. } => {
                ("Start another run from a checkpoint of this one?", ["Take the settings", "Cancel"])
            }
            Dialog::Ask(question) => (question.heading, question.answers),
        };
        let is_closed = show_modal(ctx, "about a run", heading, |ui| {
            let is_entered = self.content(ui);
            ui.add_space(6.0);
            ui.horizontal(|ui| {
                is_agreed = ui.button(yes).clicked() || is_entered;
                is_cancelled = ui.button(no).clicked();
            });
        });
        (is_agreed || is_cancelled || is_closed).then_some(is_agreed)
    }

    /// Shows the part between heading and buttons; returns whether Enter agrees.
    fn content(&mut self, ui: &mut Ui) -> bool {
        match self {
            Dialog::Describe { notes, title, focused, .. } => return describe(ui, notes, title, focused),
            Dialog::Ask(RunQuestion { text, warnings, .. }) => {
                ScrollArea::vertical().max_height(180.0).show(ui, |ui| ui.add(Label::new(&*text).wrap()));
                for warning in warnings {
                    ui.add(Label::new(RichText::new(&*warning).color(ui.visuals().warn_fg_color)).wrap());
                }
            }
            Dialog::Fork { title, changes, steps, chosen, .. } => {
                ui.add(Label::new(&*title).wrap());
                checkpoint(ui, steps, chosen);
                let until = changes.iter().filter(|(at, _)| *at <= steps[*chosen]);
                let changed: Vec<String> = until.map(|(at, it)| format!("{} after step {at}", it.text())).collect();
                if !changed.is_empty() {
                    let text = format!("With what was changed while it ran: {}.", changed.join(", "));
                    ui.add(Label::new(visible(&text)).wrap());
                }
                ui.label("Its settings are loaded into the controls, where they can be changed. Start begins the run.");
            }
        }
        false
    }
}

/// Shows the fields of a run's title and note; returns whether Enter was pressed in the title.
fn describe(ui: &mut Ui, notes: &mut Notes, hint: &str, focused: &mut bool) -> bool {
    let label = ui.label("Title; empty for that of the preset");
    let field = TextEdit::singleline(&mut notes.title).desired_width(f32::INFINITY).char_limit(200);
    let title = ui.add(field.hint_text(hint)).labelled_by(label.id);
    if !std::mem::replace(focused, true) {
        title.request_focus();
    }
    let label = ui.label("Note");
    let note = TextEdit::multiline(&mut notes.note).desired_width(f32::INFINITY).desired_rows(3);
    ui.add(note.char_limit(10_000)).labelled_by(label.id);
    title.lost_focus() && ui.input(|input| input.key_pressed(Key::Enter))
}

fn checkpoint(ui: &mut Ui, steps: &[u64], chosen: &mut usize) {
    let name = |index: usize| {
        let newest = if index + 1 == steps.len() { ", the newest" } else { "" };
        format!("step {}{newest}", grouped(steps[index]))
    };
    ui.label("Checkpoint");
    ScrollArea::vertical().max_height(140.0).show(ui, |ui| {
        for index in (0..steps.len()).rev() {
            radio_button(ui, chosen, index, name(index));
        }
    });
}

/// The widths of a name and of its field, in points.
const NAME: f32 = 108.0;
const FIELD: f32 = 84.0;

#[derive(Debug, Default)]
pub(super) struct ChangeForm {
    /// The run that they are of.
    run: Option<RunFolder>,
    entered: BTreeMap<String, f64>,
    /// The values that the worker was asked to put in force.
    requested: BTreeMap<String, f64>,
    /// True while a field holds text that is no value.
    has_unreadable: bool,
}

impl ChangeForm {
    pub(super) fn settings(&self) -> BTreeMap<String, f64> {
        self.entered.clone()
    }

    /// Shows the settings of a run, whose training has those in force; returns whether the entered ones are to be
    /// applied.
    pub(super) fn show(&mut self, ui: &mut Ui, run: &Summary, training: &Preset) -> bool {
        if self.run.as_ref() != Some(&run.run) {
            *self = ChangeForm { run: Some(run.run.clone()), ..ChangeForm::default() };
        }
        let mut in_force = training.workload().map_or_else(Vec::new, Workload::live);
        // A command `SetSteps` changes the steps of the run and not those of its training.
        let steps = in_force.iter_mut().find(|it| it.path.path == SettingChange::STEPS);
        if let (Some(setting), Some(steps)) = (steps, run.steps) {
            setting.value = steps as f64;
        }
        // The worker has put some of them in force.
        self.entered.retain(|path, value| in_force.iter().any(|it| it.path.path == *path && it.value != *value));
        // The buttons stay visible above the fields, which scroll in a low window.
        let fault = self.fault(training);
        let is_applied = self.apply(ui, run, training, fault.as_deref(), &in_force);
        let had_unreadable = std::mem::take(&mut self.has_unreadable);
        ui.scope(|ui| {
            visible_scroll_bar(ui);
            ScrollArea::vertical().auto_shrink(false).id_salt("change").show(ui, |ui| {
                // A name and its field stay in one row.
                let width = NAME + FIELD + 2.0 * ui.spacing().item_spacing.x;
                ui.horizontal_wrapped(|ui| {
                    for setting in &in_force {
                        let is_at_fault = fault.as_ref().is_some_and(|fault| fault.contains(&*setting.path.path));
                        cell(ui, width, |ui| self.field(ui, setting, is_at_fault));
                    }
                });
            });
        });
        if self.has_unreadable != had_unreadable {
            ui.ctx().request_repaint();
        }
        is_applied
    }

    fn fault(&self, training: &Preset) -> Option<String> {
        training.clone().workload_mut()?.set_live(&self.entered).err()
    }

    fn field(&mut self, ui: &mut Ui, setting: &SettingValue, is_at_fault: bool) {
        let SettingValue { path: SettingPath { path, .. }, info, value, .. } = setting;
        let SettingInfo { label, help, .. } = info;
        let shown = self.entered.get(&**path).unwrap_or(value);
        let is_changed = shown != value;
        cell(ui, NAME, |ui| {
            let text = RichText::new(*label);
            let text = if is_changed { text.strong() } else { text };
            ui.add(Label::new(text).truncate()).on_hover_text(*help);
        });
        let name = format!("Change {label}");
        let field = TypedField { name: &name, width: FIELD };
        let text = if info.is_whole() { format!("{shown:.0}") } else { number::text(*shown) };
        let typed = field.show(ui, &text, |text| {
            if info.is_whole() { number::read_whole(text).map(|it| it as f64) } else { number::read(text) }
        });
        if let Some(reason) = &typed.fault {
            self.has_unreadable = true;
            show_refusal(ui, &typed.response, reason);
        }
        let visuals = ui.visuals();
        let outline = match (is_at_fault || typed.fault.is_some(), is_changed) {
            (true, _) => Some(visuals.error_fg_color),
            (false, true) => Some(visuals.hyperlink_color),
            (false, false) => None,
        };
        if let Some(color) = outline {
            ui.painter().rect_stroke(typed.response.rect, 3.0, Stroke::new(1.0, color), StrokeKind::Outside);
        }
        typed.response.on_hover_text(format!("{help} In force: {}", number::text(*value)));
        if let Some(entered) = typed.entered {
            self.entered.insert(path.to_string(), entered);
        }
    }

    /// Shows what applying the values does, or why they cannot be applied; returns whether that was chosen.
    fn apply(
        &mut self,
        ui: &mut Ui,
        run: &Summary,
        training: &Preset,
        fault: Option<&str>,
        in_force: &[SettingValue],
    ) -> bool {
        let mut training = training.clone();
        // Refused values leave the training as it is.
        let _ = training.workload_mut().map(|workload| workload.set_live(&self.entered));
        let now = training.workload().map_or_else(Vec::new, Workload::live);
        let mut changed = changes(in_force, &now);
        changed.retain(|change| self.entered.contains_key(&change.name));
        let list = SettingChange::list(&changed);
        let mut is_applied = false;
        ui.horizontal_wrapped(|ui| {
            let is_requested = !self.entered.is_empty() && self.entered == self.requested;
            let has_too_few = self.entered.get(SettingChange::STEPS).is_some_and(|steps| *steps <= run.step() as f64);
            let is_sound = fault.is_none() && !has_too_few && !self.has_unreadable;
            let can_apply = !self.entered.is_empty() && is_sound && !is_requested;
            let apply = ui.add_enabled(can_apply, Button::new("Apply"));
            is_applied = apply.accessible_name("Apply the changed settings").clicked();
            let back = ui.add_enabled(!self.entered.is_empty(), Button::new("Put back"));
            if back.on_hover_text("Show the values in force again").clicked() {
                self.entered.clear();
                self.requested.clear();
            }
            let color = ui.visuals().error_fg_color;
            let text = match fault {
                Some(fault) => RichText::new(with_quotes(fault)).color(color),
                None if has_too_few => {
                    let text = format!("Steps must be more than the {} that were taken.", grouped(run.step()));
                    RichText::new(text).color(color)
                }
                _ if self.entered.is_empty() => RichText::new("Type other values to go on with.").weak(),
                _ if is_requested => RichText::new("Requested. The worker changes them after the present step.").weak(),
                _ => RichText::new(format!("Saves a checkpoint after the present step, then continues with {list}.")),
            };
            ui.add(Label::new(text).wrap());
        });
        if is_applied {
            self.requested.clone_from(&self.entered);
        }
        is_applied
    }
}

const NOTHING: &str = "No text so far. With “sample” in the preset, the model writes one at an interval.";
/// The smallest width of each of several texts in a row, in points.
const NARROWEST: f32 = 220.0;

#[derive(Debug, Default)]
pub(super) struct Texts {
    prompt: String,
    written: Vec<WrittenText>,
}

#[derive(Debug)]
struct WrittenText {
    run: RunFolder,
    name: String,
    /// The checkpoint's step with the text, or the reason why there is none; `None` while it is generated.
    outcome: Option<Result<(u64, String), String>>,
}

impl Texts {
    /// Makes the request for a text that continues the prompt, with the defaults of nanoGPT's `sample.py`.
    pub(super) fn request(&self) -> TextRequest {
        // Sampling needs a token before the first.
        let prompt = if self.prompt.is_empty() { "\n" } else { &self.prompt };
        TextRequest { prompt: prompt.to_owned(), tokens: 200, temperature: 0.8, top_k: Some(200) }
    }

    pub(super) fn command(&self) -> RunCommand {
        RunCommand::Sample(self.request())
    }

    pub(super) fn begin(&mut self, runs: &[&Summary]) {
        let written = |run: &&Summary| WrittenText { run: run.run.clone(), name: run.in_full(), outcome: None };
        self.written = runs.iter().map(written).collect();
    }

    pub(super) fn set(&mut self, run: &RunFolder, outcome: Result<(u64, String), String>) {
        let outcome = outcome.map(|(step, text)| (step, visible_lines(&text).into_owned()));
        if let Some(written) = self.written.iter_mut().find(|written| written.run == *run) {
            written.outcome = Some(outcome);
        }
    }

    /// Shows the prompt, the texts generated with checkpoints, and the run's own texts. `writers` chosen runs can
    /// generate texts.
    pub(super) fn show(&mut self, ui: &mut Ui, own: &[TextSample], run: &Summary, writers: usize) -> Option<RunAction> {
        let action = self.requests(ui, run.is_open(), writers);
        ScrollArea::both().auto_shrink(false).id_salt("samples").show(ui, |ui| {
            if !self.written.is_empty() {
                self.side_by_side(ui);
                ui.separator();
            }
            if own.is_empty() {
                ui.weak(NOTHING);
            }
            for sample in own {
                ui.add(Label::new(RichText::new(heading(sample)).small().strong()));
                show_text(ui, &sample.text);
            }
        });
        action
    }

    fn requests(&mut self, ui: &mut Ui, is_alive: bool, writers: usize) -> Option<RunAction> {
        let mut action = None;
        ui.horizontal(|ui| {
            let field = TextEdit::singleline(&mut self.prompt).hint_text("Prompt").desired_width(240.0);
            ui.add(field).accessible_name("Prompt of the text");
            let help = "The model goes on with the prompt after its current step, with 200 tokens";
            if is_alive && small_button(ui, true, "Write now", "Write a text now", help) {
                action = Some(RunAction::WriteText);
            }
            let text = if writers > 1 { format!("Write side by side ({writers} runs)") } else { "Write from checkpoint".to_owned() };
            let help = "The model of the newest checkpoint of each chosen run goes on with the prompt, with 200 tokens; the run \
                        may be finished";
            let is_writing = self.written.iter().any(|written| written.outcome.is_none());
            if small_button(ui, !is_writing, &text, "Write texts from checkpoints", help) {
                action = Some(RunAction::WriteSaved);
            }
        });
        action
    }

    fn side_by_side(&self, ui: &mut Ui) {
        let count = self.written.len();
        let gaps = ui.spacing().item_spacing.x * (count - 1) as f32;
        let width = ((ui.available_width() - gaps) / count as f32).max(NARROWEST);
        ui.horizontal_top(|ui| {
            for WrittenText { name, outcome, .. } in &self.written {
                ui.vertical(|ui| {
                    ui.set_width(width);
                    let step = outcome.as_ref().and_then(|outcome| outcome.as_ref().ok()).map(|(step, _)| *step);
                    let step = step.map_or_else(String::new, |step| format!(", step {}", grouped(step)));
                    ui.add(Label::new(RichText::new(format!("{name}{step}")).small().strong()).truncate());
                    match outcome {
                        None => drop(ui.weak("Writing…")),
                        Some(Ok((_, text))) => show_text(ui, text),
                        Some(Err(why)) => {
                            let text = RichText::new(why).color(ui.visuals().error_fg_color);
                            ui.add(Label::new(text).selectable(true).wrap());
                        }
                    }
                });
            }
        });
    }
}

fn show_text(ui: &mut Ui, text: &str) {
    ui.add(Label::new(RichText::new(text).monospace()).selectable(true).wrap());
    ui.add_space(6.0);
}

pub(super) fn joined(samples: &[TextSample]) -> String {
    samples.iter().map(|sample| format!("{}\n{}\n\n", heading(sample), sample.text)).collect()
}

fn heading(sample: &TextSample) -> String {
    format!("step {}, {}", grouped(sample.step), sample.time.strftime("%Y-%m-%d %H:%M:%S UTC"))
}

/// Applies the changes up to a step to a training; `None` if these are not its settings.
pub(super) fn training_after(begun: &Preset, changes: &[(u64, SettingChange)], step: u64) -> Option<Preset> {
    let until = changes.iter().filter(|(at, _)| *at <= step);
    let settings = until.map(|(_, change)| (change.name.clone(), change.now)).collect();
    with_changed_settings(begun, &settings).ok()
}
