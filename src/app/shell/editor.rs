//! The editor of a tab: the draft, its undo history, its saved states, and the preset that it is saved as.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use egui::Context;
use egui::util::undoer::{Settings, Undoer};
use valleyscope_experiments::preset::{Preset, split_changed};
use valleyscope_runs::atomic_file::Overwrite;

/// The value that the user edits in a tab.
pub(crate) trait Draft: Clone + PartialEq {
    /// The state in which the draft was opened or saved.
    type Saved;

    fn differs_from(&self, saved: &Self::Saved) -> bool;

    /// Makes the saved state after `written` was saved to `file`, which replaces `before`; `None` for a preset of
    /// another tab.
    fn saved_as(written: PresetDraft, file: &Path, before: &Self::Saved) -> Option<Self::Saved>;

    /// Takes title and description from a preset saved for the draft, if they are part of the draft.
    fn take_description(&mut self, preset: &Preset);
}

/// A preset that is ready to be saved.
#[derive(Clone, Debug, PartialEq)]
pub struct PresetDraft {
    pub preset: Preset,
    /// The number of the saved state that it replaces; `None` for a copy of the draft.
    pub replaces: Option<usize>,
    /// The index of the draft's lesson step, from 0.
    pub lesson_step: usize,
    /// True if the replaced preset has recorded changes, which this one leaves out.
    pub drops_changes: bool,
    /// True if settings or the view of the lesson were changed since its step was shown, which this one leaves out.
    pub drops_settings: bool,
}

/// A direction in an editor's undo history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HistoryStep {
    Undo,
    Redo,
}

/// The interface of a tab's editor, independent of its draft's type.
pub(crate) trait AnyEditor {
    /// The preset's file, and whether saving may replace it without a question. A file that this program has not
    /// written requires one, as it may hold comments.
    fn target(&self) -> Option<(&Path, Overwrite)>;

    fn undo_or_redo(&mut self, step: HistoryStep);

    fn saved(&mut self, written: PresetDraft, file: &Path);
}

impl<D: Draft> AnyEditor for Editor<D> {
    fn target(&self) -> Option<(&Path, Overwrite)> {
        let overwrite = if self.saved_states.present().written_here { Overwrite::Yes } else { Overwrite::No };
        Some((self.file()?, overwrite))
    }

    fn undo_or_redo(&mut self, step: HistoryStep) {
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

/// A description of an editor's state for the window's title and menus.
pub(crate) struct EditorStatus {
    pub title: String,
    pub description: String,
    pub is_dirty: bool,
    pub can_undo: bool,
    pub can_redo: bool,
}

/// The mark of unsaved changes that follows a title; empty where the title lists changes itself.
pub(crate) fn change_mark(title: &str, is_dirty: bool) -> &'static str {
    if is_dirty && split_changed(title).is_none() { " · changed" } else { "" }
}

/// The state in which a draft was opened or saved, and its file.
#[derive(Debug)]
struct SavedState<S> {
    content: S,
    /// The file that Save writes to; `None` for a built-in preset.
    file: Option<PathBuf>,
    /// True if this process wrote the file, so that it holds no comments of the user.
    written_here: bool,
}

impl<S> SavedState<S> {
    fn opened(content: S, file: Option<PathBuf>) -> SavedState<S> {
        SavedState { content, file, written_here: false }
    }
}

/// A state that undo restores.
#[derive(Clone, PartialEq)]
struct Revision<D> {
    draft: D,
    saved_state: usize,
}

/// A draft with its saved state and its undo history.
pub(crate) struct Editor<D: Draft> {
    pub draft: D,
    saved_states: SavedStates<SavedState<D::Saved>>,
    history: UndoHistory<Revision<D>>,
}

impl<D: Draft> Editor<D> {
    /// Makes an editor with an empty history. `file` belongs to `saved`, from which the draft may differ.
    pub(crate) fn new(draft: D, saved: D::Saved, file: Option<PathBuf>) -> Editor<D> {
        let saved_states = SavedStates::new(SavedState::opened(saved, file));
        Editor { draft, saved_states, history: UndoHistory::default() }
    }

    /// Opens another preset. Undo restores the current one.
    pub(crate) fn open(&mut self, draft: D, saved: D::Saved, file: Option<PathBuf>) {
        self.change(|editor| editor.replace(draft, saved, file));
    }

    /// Opens another preset without an undo step; the history records it like any change.
    pub(crate) fn replace(&mut self, draft: D, saved: D::Saved, file: Option<PathBuf>) {
        self.saved_states.open(SavedState::opened(saved, file));
        self.draft = draft;
    }

    /// Changes the draft in a separate undo step, however soon other changes precede or follow.
    pub(crate) fn change(&mut self, change: impl FnOnce(&mut Self)) {
        self.history.mark(&self.revision());
        change(self);
        self.history.mark(&self.revision());
    }

    /// Makes `draft` the state that undo restores next. Later states are dropped, as the change that led to them was
    /// undone; `latest` is the last of them.
    pub(crate) fn continue_from(&mut self, draft: D, latest: D) {
        let saved_state = self.saved_states.number();
        let [state, latest] = [draft, latest].map(|draft| Revision { draft, saved_state });
        self.history.continue_from(&state, &latest);
    }

    pub(crate) fn saved_state(&self) -> &D::Saved {
        &self.saved_states.present().content
    }

    pub(crate) fn saved_state_mut(&mut self) -> &mut D::Saved {
        let present = self.saved_states.number();
        &mut self.saved_states.get_mut(present).expect("the present state is known").content
    }

    /// The number of the saved state, which differs for each opened preset.
    pub(crate) fn saved_state_number(&self) -> usize {
        self.saved_states.number()
    }

    pub(crate) fn file(&self) -> Option<&Path> {
        self.saved_states.present().file.as_deref()
    }

    pub(crate) fn is_dirty(&self) -> bool {
        self.draft.differs_from(self.saved_state())
    }

    /// Makes a draft of `preset` that replaces the saved state when it is saved.
    pub(crate) fn preset_draft(&self, preset: Preset) -> PresetDraft {
        PresetDraft {
            preset,
            replaces: Some(self.saved_states.number()),
            lesson_step: 0,
            drops_changes: false,
            drops_settings: false,
        }
    }

    /// Records that a preset was written to `file`, even if another was opened meanwhile. Returns the saved state if it
    /// replaces one that undo can reach.
    pub(crate) fn saved(&mut self, written: PresetDraft, file: &Path) -> Option<&D::Saved> {
        let number = written.replaces?;
        if number == self.saved_states.number() {
            self.draft.take_description(&written.preset);
        }
        let state = self.saved_states.get_mut(number)?;
        let content = D::saved_as(written, file, &state.content)?;
        *state = SavedState { content, file: Some(file.to_owned()), written_here: true };
        Some(&state.content)
    }

    pub(crate) fn status(&self, title: &str, description: &str) -> EditorStatus {
        let revision = self.revision();
        EditorStatus {
            title: title.to_owned(),
            description: description.to_owned(),
            is_dirty: self.is_dirty(),
            can_undo: self.history.can_undo(&revision),
            can_redo: self.history.can_redo(&revision),
        }
    }

    /// Records the draft for undo, as `prepare` changes it, once a frame. Requests further frames until a change is
    /// stored.
    pub(crate) fn record_for_undo(&mut self, ctx: &Context, prepare: impl FnOnce(&mut D)) {
        let mut revision = self.revision();
        prepare(&mut revision.draft);
        self.history.feed(ctx.time(), &revision);
        if self.history.is_in_flux() {
            ctx.request_repaint_after(Duration::from_millis(600));
        }
    }

    fn revision(&self) -> Revision<D> {
        Revision { draft: self.draft.clone(), saved_state: self.saved_states.number() }
    }
}

/// The largest number of states that undo can restore.
pub(crate) const MOST_UNDOS: usize = 200;

/// The states that undo can restore. Changes in quick succession, as while a slider is dragged, count as one.
pub(crate) struct UndoHistory<State> {
    undoer: Undoer<State>,
}

impl<State: Clone + PartialEq> Default for UndoHistory<State> {
    fn default() -> Self {
        let settings = Settings { max_undos: MOST_UNDOS, stable_time: 0.5, auto_save_interval: 20.0 };
        UndoHistory { undoer: Undoer::with_settings(settings) }
    }
}

impl<State: Clone + PartialEq> UndoHistory<State> {
    pub(crate) fn feed(&mut self, time_secs: f64, state: &State) {
        self.undoer.feed_state(time_secs, state);
    }

    /// Makes the state an undo point.
    pub(crate) fn mark(&mut self, state: &State) {
        self.undoer.add_undo(state);
    }

    /// Makes `state` the newest one before the changes that follow. The states after it are dropped; `latest` is the
    /// current one.
    pub(crate) fn continue_from(&mut self, state: &State, latest: &State) {
        let (mut earlier, mut newer) = (self.undoer.clone(), latest.clone());
        while let Some(older) = earlier.undo(&newer).cloned() {
            if older == *state {
                self.undoer = earlier;
                return;
            }
            newer = older;
        }
        self.mark(state);
    }

    /// Whether a change has not yet become an undo point.
    pub(crate) fn is_in_flux(&self) -> bool {
        self.undoer.is_in_flux()
    }

    pub(crate) fn can_undo(&self, state: &State) -> bool {
        self.undoer.has_undo(state)
    }

    pub(crate) fn can_redo(&self, state: &State) -> bool {
        self.undoer.has_redo(state)
    }

    pub(crate) fn undo(&mut self, state: &State) -> Option<State> {
        self.undoer.undo(state).cloned()
    }

    pub(crate) fn redo(&mut self, state: &State) -> Option<State> {
        self.undoer.redo(state).cloned()
    }
}

/// The saved states that undo can reach, numbered in order; one of them is the current one.
#[derive(Debug)]
pub(crate) struct SavedStates<S> {
    known: BTreeMap<usize, S>,
    present: usize,
}

impl<S> SavedStates<S> {
    pub(crate) fn new(state: S) -> Self {
        SavedStates { known: BTreeMap::from([(0, state)]), present: 0 }
    }

    /// Adds a state and makes it the current one.
    pub(crate) fn open(&mut self, state: S) {
        self.present = self.known.keys().next_back().map_or(0, |newest| newest + 1);
        self.known.insert(self.present, state);
        // Each opened preset is an undo point, so that undo rarely reaches an older state.
        let oldest = self.present.saturating_sub(MOST_UNDOS);
        self.known = self.known.split_off(&oldest);
    }

    pub(crate) fn present(&self) -> &S {
        &self.known[&self.present]
    }

    pub(crate) fn number(&self) -> usize {
        self.present
    }

    /// The state of this number, unless it is too old.
    pub(crate) fn get_mut(&mut self, number: usize) -> Option<&mut S> {
        self.known.get_mut(&number)
    }

    /// Makes the state of this number the current one; returns false if it is too old.
    pub(crate) fn go_to(&mut self, number: usize) -> bool {
        let is_known = self.known.contains_key(&number);
        if is_known {
            self.present = number;
        }
        is_known
    }
}

#[cfg(test)]
mod tests {
    use super::UndoHistory;

    #[test]
    fn a_history_goes_on_from_an_earlier_state() {
        let mut history = UndoHistory::default();
        (1..=4).for_each(|state| history.mark(&state));
        history.continue_from(&2, &4);
        history.mark(&9);
        assert_eq!([9, 2].map(|state| history.undo(&state)), [Some(2), Some(1)]);
        assert_eq!(history.undo(&1), None);
    }

    #[test]
    fn an_unknown_state_is_added() {
        let mut history = UndoHistory::default();
        (1..=2).for_each(|state| history.mark(&state));
        history.continue_from(&7, &2);
        history.mark(&9);
        assert_eq!([9, 7, 2].map(|state| history.undo(&state)), [Some(7), Some(2), Some(1)]);
    }
}
