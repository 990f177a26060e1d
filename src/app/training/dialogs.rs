//! The dialogs about one run: its title and note, and the questions before it is deleted, forked or resumed.

use egui::{Context, Id, Key, Label, Modal, RichText, ScrollArea, TextEdit, Ui};
use valleyscope_experiments::preset::Preset;
use valleyscope_experiments::view::ticks::grouped;
use valleyscope_runs::{Notes, RunFolder};

use crate::app::theme;

/// An open dialog about a run.
pub(super) enum Dialog {
    Describe {
        run: RunFolder,
        notes: Notes,
        /// The run's current title.
        title: String,
        focused: bool,
    },
    Delete {
        run: RunFolder,
        title: String,
        /// The warning about a worker that may still be running.
        lost: Option<String>,
    },
    Fork {
        run: RunFolder,
        title: String,
        training: Box<Preset>,
        /// The steps of its checkpoints, and the index of the chosen one.
        steps: Vec<u64>,
        chosen: usize,
    },
    /// Asks whether to resume a run whose worker may still be running.
    Resume { run: RunFolder, title: String, lost: String },
    /// Asks whether to delete a run for good after the trash has refused it.
    RemoveForGood { run: RunFolder, reason: String },
}

/// The user's decision in a dialog.
pub(super) enum DialogDecision {
    Write(RunFolder, Notes),
    Trash(RunFolder),
    Resume(RunFolder),
    Remove(RunFolder),
    /// Loads the settings of a run into the controls, to continue from its checkpoint.
    Fork {
        run: RunFolder,
        step: u64,
        training: Box<Preset>,
    },
    Cancelled,
}

impl Dialog {
    pub(super) fn show(&mut self, ctx: &Context) -> Option<DialogDecision> {
        let mut decision = None;
        let modal = Modal::new(Id::unique("about a run")).frame(theme::dialog(&ctx.global_style())).show(ctx, |ui| {
            ui.set_width(440.0_f32.min(ctx.content_rect().width() - 60.0));
            match self {
                Dialog::Describe { run, notes, title: hint, focused } => {
                    ui.label(RichText::new("Title and note").heading().strong());
                    let label = ui.label("Title; empty for that of the preset");
                    let field = TextEdit::singleline(&mut notes.title).desired_width(f32::INFINITY).char_limit(200);
                    let title = ui.add(field.hint_text(hint.as_str())).labelled_by(label.id);
                    if !std::mem::replace(focused, true) {
                        title.request_focus();
                    }
                    let label = ui.label("Note");
                    let note = TextEdit::multiline(&mut notes.note).desired_width(f32::INFINITY).desired_rows(3);
                    ui.add(note.char_limit(10_000)).labelled_by(label.id);
                    ui.add_space(6.0);
                    let entered = title.lost_focus() && ui.input(|input| input.key_pressed(Key::Enter));
                    ui.horizontal(|ui| {
                        if ui.button("Keep").clicked() || entered {
                            decision = Some(DialogDecision::Write(run.clone(), notes.clone()));
                        }
                        if ui.button("Cancel").clicked() {
                            decision = Some(DialogDecision::Cancelled);
                        }
                    });
                }
                Dialog::Delete { run, title, lost } => {
                    ui.label(RichText::new("Move this run to the trash?").heading().strong());
                    let text = format!("{title}\n{}", run.path().display());
                    ui.add(Label::new(text).wrap());
                    ui.label("Its curves and checkpoints go with it.");
                    if let Some(lost) = lost {
                        ui.add(Label::new(RichText::new(&*lost).color(ui.visuals().warn_fg_color)).wrap());
                    }
                    ui.add_space(6.0);
                    ui.horizontal(|ui| {
                        if ui.button("Move to trash").clicked() {
                            decision = Some(DialogDecision::Trash(run.clone()));
                        }
                        if ui.button("Keep the run").clicked() {
                            decision = Some(DialogDecision::Cancelled);
                        }
                    });
                }
                Dialog::Fork { run, title, training, steps, chosen } => {
                    ui.label(RichText::new("Start another run from a checkpoint of this one?").heading().strong());
                    ui.add(Label::new(&*title).wrap());
                    checkpoint(ui, steps, chosen);
                    ui.label(
                        "Its settings are loaded into the controls, where they can be changed. Start begins the \
                              run.",
                    );
                    ui.add_space(6.0);
                    ui.horizontal(|ui| {
                        if ui.button("Take the settings").clicked() {
                            let (run, training) = (run.clone(), training.clone());
                            decision = Some(DialogDecision::Fork { run, step: steps[*chosen], training });
                        }
                        if ui.button("Cancel").clicked() {
                            decision = Some(DialogDecision::Cancelled);
                        }
                    });
                }
                Dialog::Resume { run, title, lost } => {
                    ui.label(RichText::new("Resume this run here?").heading().strong());
                    let text = format!("{title}\n{}", run.path().display());
                    ui.add(Label::new(text).wrap());
                    ui.add(Label::new(RichText::new(&*lost).color(ui.visuals().warn_fg_color)).wrap());
                    ui.add_space(6.0);
                    ui.horizontal(|ui| {
                        if ui.button("Resume it here").clicked() {
                            decision = Some(DialogDecision::Resume(run.clone()));
                        }
                        if ui.button("Leave it").clicked() {
                            decision = Some(DialogDecision::Cancelled);
                        }
                    });
                }
                Dialog::RemoveForGood { run, reason } => {
                    ui.label(RichText::new("Delete this run for good?").heading().strong());
                    let path = run.path().display();
                    let text =
                        format!("{path}\ncould not be moved to the trash: {reason}\nDeleting it can't be undone.");
                    ui.add(Label::new(text).wrap());
                    ui.add_space(6.0);
                    ui.horizontal(|ui| {
                        if ui.button("Delete for good").clicked() {
                            decision = Some(DialogDecision::Remove(run.clone()));
                        }
                        if ui.button("Keep the run").clicked() {
                            decision = Some(DialogDecision::Cancelled);
                        }
                    });
                }
            }
        });
        if modal.should_close() && decision.is_none() { Some(DialogDecision::Cancelled) } else { decision }
    }
}

/// Shows the choice of the checkpoint, the newest first.
fn checkpoint(ui: &mut Ui, steps: &[u64], chosen: &mut usize) {
    let name = |index: usize| {
        let newest = if index + 1 == steps.len() { ", the newest" } else { "" };
        format!("step {}{newest}", grouped(steps[index]))
    };
    ui.label("Checkpoint");
    ScrollArea::vertical().max_height(140.0).show(ui, |ui| {
        for index in (0..steps.len()).rev() {
            ui.radio_value(chosen, index, name(index));
        }
    });
}
