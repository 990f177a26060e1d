//! Memory for the numbers of a program.

use std::mem::MaybeUninit;

/// Places for numbers. None is filled to begin with: a number may be some hundred bytes, and most programs use few
/// places.
#[derive(Clone, Copy)]
pub(crate) struct Memory<A: Copy, const PLACES: usize> {
    places: [MaybeUninit<A>; PLACES],
    /// The number of places, from the first on, that were written to.
    written: usize,
}

impl<A: Copy, const PLACES: usize> Memory<A, PLACES> {
    #[inline(always)]
    pub(crate) fn new() -> Memory<A, PLACES> {
        Memory { places: [MaybeUninit::uninit(); PLACES], written: 0 }
    }

    /// Writes to a place that was written to, or to the one after those.
    #[inline(always)]
    pub(crate) fn write(&mut self, index: u8, value: A) {
        let index = usize::from(index);
        assert!(index <= self.written, "places are used in their order");
        self.places[index].write(value);
        self.written = self.written.max(index + 1);
    }

    /// The number at a place that was written to.
    #[inline(always)]
    pub(crate) fn at(&self, index: u8) -> &A {
        let index = usize::from(index);
        assert!(index < self.written, "a number is computed before it is used");
        // SAFETY: `write` leaves no gap, so that all places below `written` are filled.
        unsafe { self.places[index].assume_init_ref() }
    }
}
