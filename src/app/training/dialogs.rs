//! The dialogs about one run: its title and note, and the questions before it is deleted, forked or resumed.

use egui::{Context, Key, Label, RichText, ScrollArea, TextEdit, Ui};
use valleyscope_engine::terminal_escape::visible;
use valleyscope_experiments::preset::Preset;
use valleyscope_experiments::view::ticks::grouped;
use valleyscope_runs::{Notes, NotesEdit, RunFolder, SettingChange};

use super::run_detail::training_after;
use crate::app::boxes::radio_button;
use crate::app::dialog;

/// An open dialog about a run.
pub(super) enum Dialog {
    Describe {
        run: RunFolder,
        notes: Notes,
        /// The notes when the dialog was opened.
        before: Notes,
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
    /// Asks once whether to delete several runs.
    DeleteSeveral {
        runs: Vec<RunFolder>,
        /// The runs' names, one per line.
        names: String,
        /// The warnings about runs that stay, or that may still be trained.
        warnings: Vec<String>,
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
    /// Asks whether to resume a run whose worker may still be running.
    Resume { run: RunFolder, title: String, lost: String },
    /// Asks whether to delete runs for good after the trash has refused them.
    RemoveForGood { runs: Vec<RunFolder>, reason: String },
}

/// The user's decision in a dialog.
pub(super) enum DialogDecision {
    Edit(RunFolder, Vec<NotesEdit>),
    Trash(Vec<RunFolder>),
    Resume(RunFolder),
    Remove(Vec<RunFolder>),
    /// Loads the settings of a run into the controls, to continue from its checkpoint.
    Fork {
        run: RunFolder,
        step: u64,
        training: Box<Preset>,
    },
    Cancelled,
}

impl Dialog {
    /// Shows the dialog; returns the decision, once there is one. Escape cancels.
    pub(super) fn show(&mut self, ctx: &Context) -> Option<DialogDecision> {
        let (mut is_agreed, mut is_cancelled) = (false, false);
        let (heading, yes, no) = self.texts();
        let is_closed = dialog::show(ctx, "about a run", heading, |ui| {
            let is_entered = self.content(ui);
            ui.add_space(6.0);
            ui.horizontal(|ui| {
                is_agreed = ui.button(yes).clicked() || is_entered;
                is_cancelled = ui.button(no).clicked();
            });
        });
        if is_agreed {
            return Some(self.agreed());
        }
        (is_cancelled || is_closed).then_some(DialogDecision::Cancelled)
    }

    /// Returns the heading, and the texts of the two buttons.
    fn texts(&self) -> (&'static str, &'static str, &'static str) {
        match self {
            Dialog::Describe { .. } => ("Title and note", "Keep", "Cancel"),
            Dialog::Delete { .. } => ("Move this run to the trash?", "Move to trash", "Keep the run"),
            Dialog::DeleteSeveral { .. } => ("Move these runs to the trash?", "Move to trash", "Keep the runs"),
            Dialog::Fork { .. } => ("Start another run from a checkpoint of this one?", "Take the settings", "Cancel"),
            Dialog::Resume { .. } => ("Resume this run here?", "Resume it here", "Leave it"),
            Dialog::RemoveForGood { .. } => ("Delete for good?", "Delete for good", "Keep"),
        }
    }

    /// Returns the decision of the first button.
    fn agreed(&self) -> DialogDecision {
        match self {
            Dialog::Describe { run, notes, before, .. } => DialogDecision::Edit(run.clone(), edits(before, notes)),
            Dialog::Delete { run, .. } => DialogDecision::Trash(vec![run.clone()]),
            Dialog::DeleteSeveral { runs, .. } => DialogDecision::Trash(runs.clone()),
            Dialog::Fork { run, training, changes, steps, chosen, .. } => {
                let step = steps[*chosen];
                let in_force = training_after(training, changes, step).map(Box::new);
                let training = in_force.unwrap_or_else(|| training.clone());
                DialogDecision::Fork { run: run.clone(), step, training }
            }
            Dialog::Resume { run, .. } => DialogDecision::Resume(run.clone()),
            Dialog::RemoveForGood { runs, .. } => DialogDecision::Remove(runs.clone()),
        }
    }

    /// Shows the part between heading and buttons; returns whether Enter agrees.
    fn content(&mut self, ui: &mut Ui) -> bool {
        let warning = |ui: &mut Ui, text: &str| {
            ui.add(Label::new(RichText::new(text).color(ui.visuals().warn_fg_color)).wrap());
        };
        match self {
            Dialog::Describe { notes, title, focused, .. } => return describe(ui, notes, title, focused),
            Dialog::Delete { run, title, lost } => {
                ui.add(Label::new(format!("{title}\n{}", run.path().display())).wrap());
                ui.label("Its curves and checkpoints go with it.");
                if let Some(lost) = lost {
                    warning(ui, lost);
                }
            }
            Dialog::DeleteSeveral { runs, names, warnings } => {
                ui.label(format!("{} runs, with their curves and checkpoints:", runs.len()));
                ScrollArea::vertical().max_height(160.0).show(ui, |ui| ui.add(Label::new(&*names).wrap()));
                warnings.iter().for_each(|text| warning(ui, text));
            }
            Dialog::Fork { title, changes, steps, chosen, .. } => {
                ui.add(Label::new(&*title).wrap());
                checkpoint(ui, steps, chosen);
                let until = changes.iter().filter(|(at, _)| *at <= steps[*chosen]);
                let changed: Vec<String> = until.map(|(at, it)| format!("{} after step {at}", it.words())).collect();
                if !changed.is_empty() {
                    let text = format!("With what was changed while it ran: {}.", changed.join(", "));
                    ui.add(Label::new(visible(&text)).wrap());
                }
                ui.label("Its settings are loaded into the controls, where they can be changed. Start begins the run.");
            }
            Dialog::Resume { run, title, lost } => {
                ui.add(Label::new(format!("{title}\n{}", run.path().display())).wrap());
                warning(ui, lost);
            }
            Dialog::RemoveForGood { runs, reason } => {
                let paths = runs.iter().map(|run| run.path().display().to_string()).collect::<Vec<_>>().join("\n");
                let text = format!("{paths}\ncould not be moved to the trash: {reason}\nDeleting can't be undone.");
                ui.add(Label::new(text).wrap());
            }
        }
        false
    }
}

/// Returns the parts of notes that differ.
fn edits(before: &Notes, now: &Notes) -> Vec<NotesEdit> {
    let title = (before.title != now.title).then(|| NotesEdit::Title(now.title.clone()));
    let note = (before.note != now.note).then(|| NotesEdit::Note(now.note.clone()));
    title.into_iter().chain(note).collect()
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

/// Shows the choice of the checkpoint, the newest first.
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
