//! The history behind undo and redo.

use egui::util::undoer::{Settings, Undoer};

/// The largest number of states that undo keeps.
pub(super) const MOST_UNDOS: usize = 200;

/// The states that undo can restore. Changes in quick succession, as while a slider is dragged, count as one.
pub(super) struct UndoHistory<State> {
    undoer: Undoer<State>,
}

impl<State: Clone + PartialEq> Default for UndoHistory<State> {
    fn default() -> Self {
        let settings = Settings { max_undos: MOST_UNDOS, stable_time: 0.5, auto_save_interval: 20.0 };
        UndoHistory { undoer: Undoer::with_settings(settings) }
    }
}

impl<State: Clone + PartialEq> UndoHistory<State> {
    /// Records the state at a time.
    pub(super) fn feed(&mut self, time_secs: f64, state: &State) {
        self.undoer.feed_state(time_secs, state);
    }

    /// Makes the state an undo point, whatever follows.
    pub(super) fn mark(&mut self, state: &State) {
        self.undoer.add_undo(state);
    }

    /// Makes `state` the newest one before what follows. The states after it are forgotten; `latest` is the present one.
    pub(super) fn continue_from(&mut self, state: &State, latest: &State) {
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

    /// Returns whether a change is still to become an undo point.
    pub(super) fn is_in_flux(&self) -> bool {
        self.undoer.is_in_flux()
    }

    pub(super) fn can_undo(&self, state: &State) -> bool {
        self.undoer.has_undo(state)
    }

    pub(super) fn can_redo(&self, state: &State) -> bool {
        self.undoer.has_redo(state)
    }

    pub(super) fn undo(&mut self, state: &State) -> Option<State> {
        self.undoer.undo(state).cloned()
    }

    pub(super) fn redo(&mut self, state: &State) -> Option<State> {
        self.undoer.redo(state).cloned()
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
