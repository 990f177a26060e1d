//! The diagrams that are shown side by side.

use std::collections::BTreeMap;

use super::kept::Library;
use super::picture::MapPicture;

/// The largest number of diagrams beside the present one.
const MOST_BESIDE: usize = 5;

/// The kept diagrams beside the present one, in the order of choosing, and the present one's place among them.
#[derive(Default)]
pub(super) struct Comparison {
    beside: Vec<u64>,
    place: usize,
    /// The number of the present diagram when [`Comparison::follow`] was last called.
    present: u64,
    pub pictures: BTreeMap<u64, MapPicture>,
}

impl Comparison {
    pub(super) fn is_empty(&self) -> bool {
        self.beside.is_empty()
    }

    pub(super) fn can_grow(&self) -> bool {
        self.beside.len() < MOST_BESIDE
    }

    pub(super) fn contains(&self, number: u64) -> bool {
        self.beside.contains(&number)
    }

    /// Returns the numbers beside the present one.
    pub(super) fn beside(&self) -> &[u64] {
        &self.beside
    }

    /// Returns the place of the present diagram among all.
    pub(super) fn place(&self) -> usize {
        self.place.min(self.beside.len())
    }

    /// Returns the numbers of all diagrams, with that of the present one at its place.
    pub(super) fn all(&self, present: u64) -> Vec<u64> {
        let mut all = self.beside.clone();
        all.insert(self.place(), present);
        all
    }

    pub(super) fn add(&mut self, number: u64) {
        if !self.contains(number) {
            self.beside.push(number);
        }
    }

    pub(super) fn remove(&mut self, number: u64) {
        if let Some(index) = self.beside.iter().position(|beside| *beside == number) {
            self.beside.remove(index);
            self.place -= usize::from(index < self.place);
        }
    }

    pub(super) fn clear(&mut self) {
        (self.beside, self.place) = (Vec::new(), 0);
    }

    /// Adapts to another present diagram, and forgets diagrams that are gone. Where one beside has become the present
    /// one, the one before stays at its own place.
    pub(super) fn follow(&mut self, present: u64, library: &Library) {
        self.show(present);
        let gone: Vec<u64> = self.beside.iter().copied().filter(|number| library.get(*number).is_none()).collect();
        gone.into_iter().for_each(|number| self.remove(number));
        self.pictures.retain(|number, _| self.beside.contains(number));
    }

    fn show(&mut self, present: u64) {
        let before = std::mem::replace(&mut self.present, present);
        if self.contains(present) {
            let mut all = self.all(before);
            self.place = all.iter().position(|number| *number == present).unwrap_or_default();
            all.remove(self.place);
            self.beside = all;
        }
    }

    /// Returns the places of the diagrams in the library's order of creation, and the present one's place among all.
    pub(super) fn to_memory(&self, library: &Library) -> (Vec<u64>, usize) {
        let order = |number: &u64| library.get(*number).map(|kept| kept.record.order);
        (self.beside.iter().filter_map(order).collect(), self.place())
    }

    /// Returns the comparison of a former session.
    pub(super) fn of_memory(orders: &[u64], place: usize, library: &Library) -> Comparison {
        let numbers = library.numbers();
        let number = |order: &u64| {
            let has_order = |number: &&u64| library.get(**number).is_some_and(|kept| kept.record.order == *order);
            numbers.iter().find(has_order).copied()
        };
        let mut comparison = Comparison { place, ..Comparison::default() };
        orders.iter().filter_map(number).take(MOST_BESIDE).for_each(|number| comparison.add(number));
        comparison
    }
}

#[cfg(test)]
mod tests {
    use super::Comparison;
    use crate::app::phase::kept::Library;

    #[test]
    fn showing_one_of_those_beside_keeps_the_order_of_all() {
        let library = Library::open(None, egui::Context::default());
        let mut comparison = Comparison { present: 1, ..Comparison::default() };
        comparison.add(2);
        comparison.add(3);
        assert_eq!(comparison.all(1), [1, 2, 3]);
        comparison.show(3);
        assert_eq!((comparison.all(3), comparison.beside()), (vec![1, 2, 3], &[1, 2][..]));
        comparison.remove(1);
        assert_eq!((comparison.all(3), comparison.place()), (vec![2, 3], 1));
        comparison.follow(3, &library);
        assert_eq!(comparison.all(3), [3], "those that are gone are forgotten");
    }
}
