//! The editor of a tab: the draft, its undo history, its saved states, and the preset that it is saved as.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use egui::Context;
use egui::util::undoer::{Settings, Undoer};
use valleyscope_experiments::preset::{Preset, lists_changes};
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
    if is_dirty && !lists_changes(title) { " · changed" } else { "" }
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

/// A state that undo restores.
#[derive(Clone, PartialEq)]
struct Revision<D> {
    draft: D,
    saved_state: usize,
}

/// A draft with its saved state and its undo history.
pub(crate) struct Editor<D: Draft> {
    pub draft: D,
    /// The saved states that undo can reach, by their numbers in order.
    saved_states: BTreeMap<usize, SavedState<D::Saved>>,
    /// The number of the current saved state.
    present: usize,
    /// The states that undo can restore. Changes in quick succession, as while a slider is dragged, count as one.
    history: Undoer<Revision<D>>,
}

impl<D: Draft> Editor<D> {
    /// Makes an editor with an empty history. `file` belongs to `saved`, from which the draft may differ.
    pub(crate) fn new(draft: D, saved: D::Saved, file: Option<PathBuf>) -> Editor<D> {
        let state = SavedState { content: saved, file, written_here: false };
        let settings = Settings { max_undos: MOST_UNDOS, stable_time: 0.5, auto_save_interval: 20.0 };
        let (saved_states, history) = (BTreeMap::from([(0, state)]), Undoer::with_settings(settings));
        Editor { draft, saved_states, present: 0, history }
    }

    /// Opens another preset. Undo restores the current one.
    pub(crate) fn open(&mut self, draft: D, saved: D::Saved, file: Option<PathBuf>) {
        self.change(|editor| editor.replace(draft, saved, file));
    }

    /// Opens another preset without an undo step; the history records it like any change.
    pub(crate) fn replace(&mut self, draft: D, saved: D::Saved, file: Option<PathBuf>) {
        self.present = self.saved_states.keys().next_back().map_or(0, |newest| newest + 1);
        self.saved_states.insert(self.present, SavedState { content: saved, file, written_here: false });
        // Each opened preset is an undo point, so that undo rarely reaches an older state.
        self.saved_states = self.saved_states.split_off(&self.present.saturating_sub(MOST_UNDOS));
        self.draft = draft;
    }

    /// Changes the draft in a separate undo step, however soon other changes precede or follow.
    pub(crate) fn change(&mut self, change: impl FnOnce(&mut Self)) {
        self.history.add_undo(&self.revision());
        change(self);
        self.history.add_undo(&self.revision());
    }

    /// Makes `draft` the state that undo restores next. Later states are dropped, as the change that led to them was
    /// undone; `latest` is the last of them.
    pub(crate) fn continue_from(&mut self, draft: D, latest: D) {
        let [state, latest] = [draft, latest].map(|draft| Revision { draft, saved_state: self.present });
        continue_from(&mut self.history, &state, latest);
    }

    fn present(&self) -> &SavedState<D::Saved> {
        &self.saved_states[&self.present]
    }

    pub(crate) fn saved_state(&self) -> &D::Saved {
        &self.present().content
    }

    pub(crate) fn saved_state_mut(&mut self) -> &mut D::Saved {
        &mut self.saved_states.get_mut(&self.present).expect("the present state is known").content
    }

    /// The number of the saved state, which differs for each opened preset.
    pub(crate) fn saved_state_number(&self) -> usize {
        self.present
    }

    pub(crate) fn file(&self) -> Option<&Path> {
        self.present().file.as_deref()
    }

    pub(crate) fn is_dirty(&self) -> bool {
        self.draft.differs_from(self.saved_state())
    }

    /// Makes a draft of `preset` that replaces the saved state when it is saved.
    pub(crate) fn preset_draft(&self, preset: Preset) -> PresetDraft {
        PresetDraft {
            preset,
            replaces: Some(self.present),
            lesson_step: 0,
            drops_changes: false,
            drops_settings: false,
        }
    }

    /// Records that a preset was written to `file`, even if another was opened meanwhile. Returns the saved state if it
    /// replaces one that undo can reach.
    pub(crate) fn saved(&mut self, written: PresetDraft, file: &Path) -> Option<&D::Saved> {
        let number = written.replaces?;
        if number == self.present {
            self.draft.take_description(&written.preset);
        }
        let state = self.saved_states.get_mut(&number)?;
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
            can_undo: self.history.has_undo(&revision),
            can_redo: self.history.has_redo(&revision),
        }
    }

    /// Records the draft for undo, as `prepare` changes it, once a frame. Requests further frames until a change is
    /// stored.
    pub(crate) fn record_for_undo(&mut self, ctx: &Context, prepare: impl FnOnce(&mut D)) {
        let mut revision = self.revision();
        prepare(&mut revision.draft);
        self.history.feed_state(ctx.time(), &revision);
        if self.history.is_in_flux() {
            ctx.request_repaint_after(Duration::from_millis(600));
        }
    }

    /// The preset's file, and whether saving may replace it without a question. A file that this program has not written
    /// requires one, as it may hold comments.
    pub(crate) fn target(&self) -> Option<(&Path, Overwrite)> {
        let overwrite = if self.present().written_here { Overwrite::Yes } else { Overwrite::No };
        Some((self.file()?, overwrite))
    }

    pub(crate) fn undo_or_redo(&mut self, step: HistoryStep) {
        let revision = self.revision();
        let found = match step {
            HistoryStep::Undo => self.history.undo(&revision),
            HistoryStep::Redo => self.history.redo(&revision),
        };
        // A state that is too old is not known any more.
        if let Some(Revision { draft, saved_state }) = found.cloned()
            && self.saved_states.contains_key(&saved_state)
        {
            (self.draft, self.present) = (draft, saved_state);
        }
    }

    fn revision(&self) -> Revision<D> {
        Revision { draft: self.draft.clone(), saved_state: self.present }
    }
}

/// The largest number of states that undo can restore.
const MOST_UNDOS: usize = 200;

/// Makes `state` the newest one before the changes that follow. The states after it are dropped; `latest` is the
/// current one.
fn continue_from<S: Clone + PartialEq>(history: &mut Undoer<S>, state: &S, latest: S) {
    let (mut earlier, mut newer) = (history.clone(), latest);
    while let Some(older) = earlier.undo(&newer).cloned() {
        if older == *state {
            *history = earlier;
            return;
        }
        newer = older;
    }
    history.add_undo(state);
}

#[cfg(test)]
mod tests {
    use egui::util::undoer::Undoer;

    use super::continue_from;

    /// Undoes from each of these states in turn, after four states were recorded and changes follow a state.
    fn undone(state: u8, from: [u8; 3]) -> [Option<u8>; 3] {
        let mut history = Undoer::default();
        (1..=4).for_each(|state| history.add_undo(&state));
        continue_from(&mut history, &state, 4);
        history.add_undo(&9);
        from.map(|from| history.undo(&from).copied())
    }

    #[test]
    fn a_history_continues_from_an_earlier_state() {
        assert_eq!(undone(2, [9, 2, 1]), [Some(2), Some(1), None]);
    }

    #[test]
    fn an_unknown_state_is_added() {
        assert_eq!(undone(7, [9, 7, 4]), [Some(7), Some(4), Some(3)]);
    }
}
