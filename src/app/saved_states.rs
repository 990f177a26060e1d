//! The saved states of a draft, which undo restores with it.

use std::collections::BTreeMap;

use super::history::MOST_UNDOS;

/// The saved states that undo can reach, numbered in order; one of them is the present one.
#[derive(Debug)]
pub(super) struct SavedStates<S> {
    known: BTreeMap<usize, S>,
    present: usize,
}

impl<S> SavedStates<S> {
    pub(super) fn new(state: S) -> Self {
        SavedStates { known: BTreeMap::from([(0, state)]), present: 0 }
    }

    /// Adds a state and makes it the present one.
    pub(super) fn open(&mut self, state: S) {
        self.present = self.known.keys().next_back().map_or(0, |newest| newest + 1);
        self.known.insert(self.present, state);
        // Each opened preset is an undo point, so that undo rarely reaches an older state.
        let oldest = self.present.saturating_sub(MOST_UNDOS);
        self.known = self.known.split_off(&oldest);
    }

    pub(super) fn present(&self) -> &S {
        &self.known[&self.present]
    }

    pub(super) fn present_mut(&mut self) -> &mut S {
        self.known.get_mut(&self.present).expect("the present state is known")
    }

    /// Returns the number of the present state.
    pub(super) fn number(&self) -> usize {
        self.present
    }

    /// Returns the state of this number, unless it is too old.
    pub(super) fn get_mut(&mut self, number: usize) -> Option<&mut S> {
        self.known.get_mut(&number)
    }

    /// Makes the state of this number the present one; returns false if it is too old.
    pub(super) fn go_to(&mut self, number: usize) -> bool {
        let is_known = self.known.contains_key(&number);
        if is_known {
            self.present = number;
        }
        is_known
    }
}
