//! An allocator that counts and limits the program's memory.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The number of bytes beyond which allocations fail, which ends the program before the machine is short of memory.
const MOST: usize = 3 << 30;

static TAKEN: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

/// Resets the peak, and returns the number of allocated bytes.
pub fn start() -> usize {
    let taken = TAKEN.load(Relaxed);
    PEAK.store(taken, Relaxed);
    taken
}

/// Returns the largest number of bytes that were allocated at one time since the start.
pub fn peak() -> usize {
    PEAK.load(Relaxed)
}

/// Limits the program's address space, with what libraries in C allocate: libtorch takes 2 GiB of it without using
/// them.
pub fn limit_address_space() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, setrlimit};
        let most = Some(8 << 30);
        setrlimit(Resource::As, Rlimit { current: most, maximum: most }).expect("the limit was higher");
    }
}

struct Counting;

#[global_allocator]
static COUNTING: Counting = Counting;

// SAFETY: the system's allocator does all; only sizes are counted. The other methods call these.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let taken = TAKEN.fetch_add(layout.size(), Relaxed) + layout.size();
        PEAK.fetch_max(taken, Relaxed);
        if taken > MOST {
            TAKEN.fetch_sub(layout.size(), Relaxed);
            return std::ptr::null_mut();
        }
        // SAFETY: as the caller has promised.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        TAKEN.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as the caller has promised.
        unsafe { System.dealloc(pointer, layout) }
    }
}
