//! The states in which a draft was opened or saved, so that undo restores them too.

use std::collections::BTreeMap;

use super::history::MOST_UNDOS;

/// The saved states that undo can lead back to, by numbers that count them; one of them is the present one.
#[derive(Debug)]
pub(super) struct SavedStates<S> {
    known: BTreeMap<usize, S>,
    present: usize,
}

impl<S> SavedStates<S> {
    pub(super) fn new(state: S) -> Self {
        SavedStates { known: BTreeMap::from([(0, state)]), present: 0 }
    }

    /// Makes another state the present one.
    pub(super) fn open(&mut self, state: S) {
        self.present = self.known.keys().next_back().map_or(0, |newest| newest + 1);
        self.known.insert(self.present, state);
        // Each preset that is opened is a point of its own, so that hardly one this old can be come back to.
        let oldest = self.present.saturating_sub(MOST_UNDOS);
        self.known = self.known.split_off(&oldest);
    }

    pub(super) fn present(&self) -> &S {
        &self.known[&self.present]
    }

    pub(super) fn present_mut(&mut self) -> &mut S {
        self.known.get_mut(&self.present).expect("the present state is known")
    }

    /// The number of the present one.
    pub(super) fn number(&self) -> usize {
        self.present
    }

    /// The state of this number, unless it is too old.
    pub(super) fn get_mut(&mut self, number: usize) -> Option<&mut S> {
        self.known.get_mut(&number)
    }

    /// Makes the state of this number the present one; false where it is too old.
    pub(super) fn go_to(&mut self, number: usize) -> bool {
        let is_known = self.known.contains_key(&number);
        if is_known {
            self.present = number;
        }
        is_known
    }
}
