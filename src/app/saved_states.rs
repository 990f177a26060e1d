//! Where what is under the controls came from, so that undo leads back to that too.

use std::collections::BTreeMap;

use super::history::MOST_UNDOS;

/// The origins that undo can lead back to, by numbers that count them; one of them is the present one.
#[derive(Debug)]
pub struct SavedStates<SavedState> {
    known: BTreeMap<usize, SavedState>,
    present: usize,
}

impl<SavedState> SavedStates<SavedState> {
    pub fn new(saved_state: SavedState) -> Self {
        SavedStates { known: BTreeMap::from([(0, saved_state)]), present: 0 }
    }

    /// Makes another origin the present one.
    pub fn open(&mut self, saved_state: SavedState) {
        self.present = self.known.keys().next_back().map_or(0, |newest| newest + 1);
        self.known.insert(self.present, saved_state);
        // Each preset that is opened is a point of its own, so that hardly one this old can be come back to.
        let oldest = self.present.saturating_sub(MOST_UNDOS);
        self.known = self.known.split_off(&oldest);
    }

    pub fn present(&self) -> &SavedState {
        &self.known[&self.present]
    }

    /// The number of the present one.
    pub fn number(&self) -> usize {
        self.present
    }

    /// The origin of this number, unless it is too old.
    pub fn get_mut(&mut self, number: usize) -> Option<&mut SavedState> {
        self.known.get_mut(&number)
    }

    /// Makes the origin of this number the present one; false where it is too old.
    pub fn go_to(&mut self, number: usize) -> bool {
        let is_known = self.known.contains_key(&number);
        if is_known {
            self.present = number;
        }
        is_known
    }
}

/// A preset and the number of its origin: a point that undo goes back to, or what may be saved in the place of that
/// origin.
#[derive(Clone, Debug, PartialEq)]
pub struct Revision<P> {
    pub preset: P,
    pub saved_state: usize,
}
