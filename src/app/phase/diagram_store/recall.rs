//! Kept diagrams that are shown again, and those that are removed.

use std::collections::HashSet;
use std::sync::Arc;

use valleyscope_engine::sweep::{Diagram, Precision, SweepSpec};

use super::{DiagramStore, TitledDiagram};

/// A kept diagram in place of the newest one, whose results are being read.
pub(super) struct Recall {
    pub number: u64,
    /// Computes the missing pixels afterwards if true.
    pub then_runs: bool,
}

impl DiagramStore {
    /// Takes the results of a diagram that were read.
    pub(super) fn loaded(&mut self, number: u64, mut diagram: Diagram, precision: Precision) {
        let Some(kept) = self.library.get(number) else { return self.not_loaded(number) };
        diagram.recolor(Arc::clone(&kept.spec));
        let loaded = TitledDiagram {
            diagram,
            precision,
            worked: kept.record.worked,
            ..TitledDiagram::empty(number, Arc::clone(&kept.record.preset), (*kept.spec).clone())
        };
        match self.recall.take_if(|recall| recall.number == number) {
            Some(recall) => {
                let newest = self.pending.as_mut().unwrap_or(&mut self.present);
                *newest = loaded;
                self.version += 1;
                self.show_newest();
                if recall.then_runs && !self.present.diagram.is_complete() {
                    self.start();
                }
            }
            None => self.library.put_back(loaded),
        }
    }

    /// Computes a diagram anew whose results cannot be read. Their files stay, so it gets another number.
    pub(super) fn not_loaded(&mut self, number: u64) {
        let Some(recall) = self.recall.take_if(|recall| recall.number == number) else { return };
        let number = self.next_number();
        self.pending.as_mut().unwrap_or(&mut self.present).number = number;
        if recall.then_runs {
            self.start();
        }
    }

    /// Shows the kept diagram of a sweep, if there is one. Its missing pixels are not computed.
    pub(in crate::app::phase) fn recall_alike(&mut self, sweep: &SweepSpec) {
        if let Some(number) = self.library.find(sweep) {
            self.show_kept(number);
        }
    }

    /// Returns a kept diagram. Where its results are not in memory, it is empty until they were read; where they cannot be
    /// read, it is another diagram of its settings.
    pub(super) fn recalled(&mut self, number: u64) -> Option<TitledDiagram> {
        if let Some(titled) = self.library.take(number) {
            return Some(titled);
        }
        let kept = self.library.get(number)?;
        let empty = TitledDiagram::empty(number, Arc::clone(&kept.record.preset), (*kept.spec).clone());
        if !kept.is_loading() {
            return Some(TitledDiagram { number: self.next_number(), ..empty });
        }
        let empty = TitledDiagram { worked: kept.record.worked, ..empty };
        self.recall = Some(Recall { number, then_runs: false });
        Some(empty)
    }

    /// Shows a kept diagram in place of the present one, once its results are in memory.
    pub(in crate::app::phase) fn show_kept(&mut self, number: u64) {
        if self.newest().number == number {
            return;
        }
        self.stop();
        if let Some(unseen) = self.pending.take() {
            self.keep(unseen);
        }
        if self.present.number != number {
            self.pending = self.recalled(number);
        }
        if self.recall.is_none() {
            self.show_newest();
        }
    }

    /// Removes a kept diagram; the present one stays on the screen until another takes its place. One that is being
    /// computed is stopped, as its pixels are kept no more, until it is computed again.
    pub(in crate::app::phase) fn remove_kept(&mut self, number: u64) {
        if self.newest().number == number {
            self.stop();
        }
        self.library.remove(number);
        let was_being_read = self.recall.take_if(|recall| recall.number == number).is_some();
        let fresh = self.next_number();
        for titled in self.pending.iter_mut().chain([&mut self.present]).filter(|titled| titled.number == number) {
            titled.number = fresh;
            titled.is_removed = true;
        }
        if was_being_read {
            self.show_newest();
        }
    }

    /// Returns the numbers of the diagrams that are shown or computed.
    pub(in crate::app::phase) fn in_use(&self) -> HashSet<u64> {
        self.pending.iter().chain([&self.present]).map(|titled| titled.number).collect()
    }
}
