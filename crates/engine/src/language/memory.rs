//! This module holds the numbers of a running program.

use std::mem::MaybeUninit;

/// Slots for numbers. They begin uninitialized: a number may be some hundred bytes, and most programs use few slots.
#[derive(Clone, Copy)]
pub(crate) struct Memory<A: Copy, const SLOTS: usize> {
    slots: [MaybeUninit<A>; SLOTS],
    /// The number of initialized slots, which are the first.
    written: usize,
}

impl<A: Copy, const SLOTS: usize> Memory<A, SLOTS> {
    #[inline(always)]
    pub(crate) fn new() -> Memory<A, SLOTS> {
        Memory { slots: [MaybeUninit::uninit(); SLOTS], written: 0 }
    }

    /// Writes to an initialized slot or to the first after them.
    #[inline(always)]
    pub(crate) fn write(&mut self, index: u8, value: A) {
        let index = usize::from(index);
        assert!(index <= self.written, "slots are used in their order");
        self.slots[index].write(value);
        self.written = self.written.max(index + 1);
    }

    /// Returns the number in an initialized slot.
    #[inline(always)]
    pub(crate) fn at(&self, index: u8) -> &A {
        let index = usize::from(index);
        assert!(index < self.written, "a number is computed before it is used");
        // SAFETY: `write` leaves no gap, so that all slots below `written` are filled.
        unsafe { self.slots[index].assume_init_ref() }
    }
}
