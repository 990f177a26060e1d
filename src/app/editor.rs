//! The editor that each tab has: the draft under the controls, undo, and the preset that it is saved as.

use std::path::{Path, PathBuf};
use std::time::Duration;

use egui::Context;
use valleyscope_experiments::preset::Preset;
use valleyscope_runs::atomic_file::Overwrite;

use super::history::UndoHistory;
use super::saved_states::SavedStates;

/// The value that the user edits in a tab.
pub(super) trait Draft: Clone + PartialEq {
    /// The state in which it was opened or saved.
    type Saved;

    /// Whether there are changes that were not saved.
    fn differs_from(&self, saved: &Self::Saved) -> bool;

    /// The saved state once `written` is in `file`, in the place of `before`; none where it is a preset of another tab.
    fn saved_as(written: PresetDraft, file: &Path, before: &Self::Saved) -> Option<Self::Saved>;

    /// Takes title and description from a preset that was saved in its place, where they are part of the draft.
    fn take_words(&mut self, preset: &Preset);
}

/// A preset that may be saved.
#[derive(Clone, Debug, PartialEq)]
pub struct PresetDraft {
    pub preset: Preset,
    /// The saved state of the editor that it replaces when it is saved; none for a copy beside the draft.
    pub replaces: Option<usize>,
    /// The step of the lesson at which the draft is, from 0.
    pub lesson_step: usize,
    /// Whether the preset that it replaces has recorded changes, which it leaves out.
    pub drops_changes: bool,
}

/// A way in the history of an editor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HistoryStep {
    Undo,
    Redo,
}

/// The editor of a tab, whatever its draft is.
pub(super) trait AnyEditor {
    /// The preset's file, and whether it may be replaced without a question. The first time it is someone's work,
    /// perhaps with comments.
    fn target(&self) -> Option<(&Path, Overwrite)>;

    fn go_in_history(&mut self, step: HistoryStep);

    /// Records that a preset was written to a file.
    fn saved(&mut self, written: PresetDraft, file: &Path);
}

impl<D: Draft> AnyEditor for Editor<D> {
    fn target(&self) -> Option<(&Path, Overwrite)> {
        let overwrite = if self.saved_states.present().written_here { Overwrite::Yes } else { Overwrite::No };
        Some((self.file()?, overwrite))
    }

    fn go_in_history(&mut self, step: HistoryStep) {
        let revision = self.revision();
        let found = match step {
            HistoryStep::Undo => self.history.undo(&revision),
            HistoryStep::Redo => self.history.redo(&revision),
        };
        if let Some(Revision { draft, saved_state }) = found
            && self.saved_states.go_to(saved_state)
        {
            self.draft = draft;
        }
    }

    fn saved(&mut self, written: PresetDraft, file: &Path) {
        Editor::saved(self, written, file);
    }
}

/// The state of an editor in words, and whether undo and redo are possible.
pub(super) struct EditorStatus {
    pub title: String,
    pub description: String,
    pub is_dirty: bool,
    pub can_undo: bool,
    pub can_redo: bool,
}

/// The state in which a draft was opened or saved, and its file.
#[derive(Debug)]
struct SavedState<S> {
    content: S,
    /// The file that Save writes to; none for a built-in preset.
    file: Option<PathBuf>,
    /// The file was written by this run of the program, so that its comments are not someone's work.
    written_here: bool,
}

impl<S> SavedState<S> {
    fn opened(content: S, file: Option<PathBuf>) -> SavedState<S> {
        SavedState { content, file, written_here: false }
    }
}

/// The state to which undo goes back.
#[derive(Clone, PartialEq)]
struct Revision<D> {
    draft: D,
    saved_state: usize,
}

/// A draft with what it was saved as and its past.
pub(super) struct Editor<D: Draft> {
    pub draft: D,
    saved_states: SavedStates<SavedState<D::Saved>>,
    history: UndoHistory<Revision<D>>,
}

impl<D: Draft> Editor<D> {
    /// An editor without a past. `file` is that of `saved`, from which the draft may differ.
    pub(super) fn new(draft: D, saved: D::Saved, file: Option<PathBuf>) -> Editor<D> {
        let saved_states = SavedStates::new(SavedState::opened(saved, file));
        Editor { draft, saved_states, history: UndoHistory::default() }
    }

    /// Opens another preset. Undo brings the present one back.
    pub(super) fn open(&mut self, draft: D, saved: D::Saved, file: Option<PathBuf>) {
        self.change(|editor| editor.replace(draft, saved, file));
    }

    /// Opens another preset without a mark in the history, which notices it like any change.
    pub(super) fn replace(&mut self, draft: D, saved: D::Saved, file: Option<PathBuf>) {
        self.saved_states.open(SavedState::opened(saved, file));
        self.draft = draft;
    }

    /// Changes the draft in a step of its own: undo leads to what was before, whatever came shortly before or after.
    pub(super) fn change(&mut self, change: impl FnOnce(&mut Self)) {
        self.history.mark(&self.revision());
        change(self);
        self.history.mark(&self.revision());
    }

    /// The state in which the draft was opened or saved.
    pub(super) fn saved_state(&self) -> &D::Saved {
        &self.saved_states.present().content
    }

    pub(super) fn saved_state_mut(&mut self) -> &mut D::Saved {
        &mut self.saved_states.present_mut().content
    }

    /// The number of the saved state: another one where another preset was opened.
    pub(super) fn saved_state_number(&self) -> usize {
        self.saved_states.number()
    }

    pub(super) fn file(&self) -> Option<&Path> {
        self.saved_states.present().file.as_deref()
    }

    /// There are changes that were not saved.
    pub(super) fn is_dirty(&self) -> bool {
        self.draft.differs_from(self.saved_state())
    }

    /// The draft as this preset, to be saved in the place of what it was opened as.
    pub(super) fn preset_draft(&self, preset: Preset) -> PresetDraft {
        PresetDraft { preset, replaces: Some(self.saved_states.number()), lesson_step: 0, drops_changes: false }
    }

    /// Records that a preset was written to `file`; another one may have been opened meanwhile. Returns the saved
    /// state, where it replaces one that undo can still reach.
    pub(super) fn saved(&mut self, written: PresetDraft, file: &Path) -> Option<&D::Saved> {
        let number = written.replaces?;
        if number == self.saved_states.number() {
            self.draft.take_words(&written.preset);
        }
        let state = self.saved_states.get_mut(number)?;
        let content = D::saved_as(written, file, &state.content)?;
        *state = SavedState { content, file: Some(file.to_owned()), written_here: true };
        Some(&state.content)
    }

    pub(super) fn status(&self, title: &str, description: &str) -> EditorStatus {
        let revision = self.revision();
        EditorStatus {
            title: title.to_owned(),
            description: description.to_owned(),
            is_dirty: self.is_dirty(),
            can_undo: self.history.can_undo(&revision),
            can_redo: self.history.can_redo(&revision),
        }
    }

    /// Records the draft in each frame, for undo. While a change is not stored yet, further frames are requested.
    pub(super) fn remember(&mut self, ctx: &Context) {
        let revision = self.revision();
        self.history.feed(ctx.time(), &revision);
        if self.history.is_in_flux() {
            ctx.request_repaint_after(Duration::from_millis(600));
        }
    }

    fn revision(&self) -> Revision<D> {
        Revision { draft: self.draft.clone(), saved_state: self.saved_states.number() }
    }
}
