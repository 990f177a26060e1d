//! The dialog that saves a preset: title, description and path.

use egui::{Button, Context, TextEdit, Ui};
use valleyscope_engine::spec_error::SpecError;
use valleyscope_experiments::preset::{Library, Preset};

use super::dialog;
use super::editor::PresetDraft;
use super::files::FileContent;

/// The dialog's state while it is open.
pub(super) struct SavePreset {
    draft: PresetDraft,
    /// The reason why the lesson is left out, if it is.
    misfit: Option<SpecError>,
    /// True once the title has had the focus, so that typing works at once.
    focused: bool,
}

/// The destination of the preset.
pub(super) enum Destination {
    /// The user's own presets, under this file name.
    Library(String),
    /// A file to ask for, with this suggested name.
    File(String),
}

/// The user's decision in a frame.
pub(super) enum SaveDecision {
    None,
    Cancelled,
    Save(FileContent, Destination),
}

impl SavePreset {
    /// Opens the dialog. A lesson with an error is left out, as its preset could not be opened.
    pub(super) fn new(mut draft: PresetDraft) -> SavePreset {
        let mut misfit = None;
        if let Preset::Landscape(preset) = &mut draft.preset {
            misfit = preset.lesson_misfit();
            if misfit.is_some() {
                preset.lesson.clear();
            }
        }
        SavePreset { draft, misfit, focused: false }
    }

    /// Returns whether saving omits something that the user must confirm.
    pub(super) fn warns(&self) -> bool {
        self.misfit.is_some() || self.draft.drops_changes || self.draft.drops_settings
    }

    pub(super) fn content(&self) -> FileContent {
        FileContent::Preset(Box::new(self.draft.clone()))
    }

    pub(super) fn show(&mut self, ctx: &Context) -> SaveDecision {
        let mut decision = SaveDecision::None;
        let changes = match &self.draft.preset {
            Preset::Landscape(preset) => preset.changes.len(),
            _ => 0,
        };
        let heading = if changes == 0 { "Save preset" } else { "Save session for replay" };
        let is_closed = dialog::show(ctx, "save preset", heading, |ui| {
            self.warnings(ui, changes);
            self.text_fields(ui);
            ui.add_space(6.0);
            decision = self.buttons(ui);
        });
        if is_closed && matches!(decision, SaveDecision::None) { SaveDecision::Cancelled } else { decision }
    }

    /// Shows the number of recorded changes, and the parts that the preset leaves out.
    fn warnings(&self, ui: &mut Ui, changes: usize) {
        if changes > 0 {
            let changes = match changes {
                1 => "one change".to_owned(),
                several => format!("{several} changes"),
            };
            ui.label(format!("With {changes} of settings, replayed at the same steps when opened."));
        }
        if let Some(misfit) = &self.misfit {
            ui.colored_label(
                ui.visuals().warn_fg_color,
                format!(
                    "Without the lesson, which could not be opened again: {misfit}. To keep the lesson, cancel and \
                     mend it, or undo the change."
                ),
            );
        }
        if self.draft.drops_settings && self.misfit.is_none() {
            let text = "Without what was changed since the lesson's step was shown: the lesson sets it. To keep it, cancel, \
                        and let the step take it over in the editor of the lesson.";
            ui.colored_label(ui.visuals().warn_fg_color, text);
        }
        if self.draft.drops_changes {
            let text = "Without the recorded changes: this saves the settings as they are now. “Save session for \
                        replay” in the File menu keeps the changes.";
            ui.colored_label(ui.visuals().warn_fg_color, text);
        }
    }

    /// Shows the fields of the title and the description.
    fn text_fields(&mut self, ui: &mut Ui) {
        let [title, description] = self.draft.preset.words_mut();
        let label = ui.label("Title");
        let title =
            ui.add(TextEdit::singleline(title).desired_width(f32::INFINITY).char_limit(100)).labelled_by(label.id);
        if !std::mem::replace(&mut self.focused, true) {
            title.request_focus();
        }
        let label = ui.label("A sentence about what there is to see");
        ui.add(TextEdit::multiline(description).desired_width(f32::INFINITY).desired_rows(2).char_limit(1000))
            .labelled_by(label.id);
    }

    fn buttons(&self, ui: &mut Ui) -> SaveDecision {
        let mut decision = SaveDecision::None;
        let title = self.draft.preset.title();
        let name = file_stem(title);
        let has_title = !title.trim().is_empty();
        let fault = Library::check_name(&name).err().filter(|_| has_title);
        if let Some(fault) = &fault {
            ui.label(format!("{fault}. Choose another title, or save as a file."));
        }
        ui.horizontal(|ui| {
            ui.add_enabled_ui(has_title, |ui| {
                let save = |destination| SaveDecision::Save(self.content(), destination);
                if ui.add_enabled(fault.is_none(), Button::new("Save to my presets")).clicked() {
                    decision = save(Destination::Library(format!("{name}.ron")));
                }
                if ui.button("Save as a file…").clicked() {
                    decision = save(Destination::File(format!("{name}.ron")));
                }
            });
            if ui.button("Cancel").clicked() {
                decision = SaveDecision::Cancelled;
            }
        });
        decision
    }
}

/// Makes a file name from a title: letters and digits, joined by dashes.
pub(super) fn file_stem(title: &str) -> String {
    let lowered = title.to_lowercase();
    let words: Vec<&str> = lowered.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let mut stem = words.join("-");
    // Systems limit names in bytes, not in characters.
    stem.truncate(stem.floor_char_boundary(80));
    if stem.is_empty() { "preset".to_owned() } else { stem }
}
