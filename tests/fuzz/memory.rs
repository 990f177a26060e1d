//! An allocator that counts the program's memory.

use std::alloc::{GlobalAlloc, Layout, System};
use std::fs::File;
use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A limit of bytes at which the program ends at once, before the machine is short of memory.
const MOST: usize = 3 << 30;

static TAKEN: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

pub struct Counting;

#[global_allocator]
static COUNTING: Counting = Counting;

/// Resets the peak, and returns the number of allocated bytes.
pub fn start() -> usize {
    let taken = TAKEN.load(Ordering::Relaxed);
    PEAK.store(taken, Ordering::Relaxed);
    taken
}

/// Returns the largest number of bytes that were allocated at one time since the start.
pub fn peak() -> usize {
    PEAK.load(Ordering::Relaxed)
}

fn take(size: usize) {
    let taken = TAKEN.fetch_add(size, Ordering::Relaxed) + size;
    PEAK.fetch_max(taken, Ordering::Relaxed);
    if taken > MOST {
        // Nothing can be allocated for a message any more.
        if let Ok(mut stderr) = File::options().write(true).open("/dev/stderr") {
            let case = crate::driver::case();
            let _ = writeln!(stderr, "case {case} wants {size} bytes more than the {} that it has", taken - size);
        }
        std::process::abort();
    }
}

fn give_back(size: usize) {
    TAKEN.fetch_sub(size, Ordering::Relaxed);
}

// SAFETY: all calls are passed to the system's allocator; only sizes are counted.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        take(layout.size());
        // SAFETY: as the caller has promised.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        take(layout.size());
        // SAFETY: as the caller has promised.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        give_back(layout.size());
        // SAFETY: as the caller has promised.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        take(size);
        give_back(layout.size());
        // SAFETY: as the caller has promised.
        unsafe { System.realloc(pointer, layout, size) }
    }
}
