//! An allocator that counts the memory held by each thread.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static HELD: Cell<isize> = const { Cell::new(0) };
}

/// Returns the number of bytes that this thread has allocated and not freed.
pub fn held_bytes() -> isize {
    HELD.get()
}

/// The system's allocator, which also counts.
struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn note(bytes: usize, sign: isize) {
    // While a thread ends, its counter may already be dropped.
    let _ = HELD.try_with(|held| held.set(held.get() + sign * bytes as isize));
}

// SAFETY: every call is passed on unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(layout.size(), 1);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        note(layout.size(), -1);
        unsafe { System.dealloc(pointer, layout) }
    }
}
