//! Parallel loops over parts of a task, on libtorch's own OpenMP threads.
//!
//! Threads of our own would compete with libtorch's, each of which spins on a processor until the next product
//! ([`super::thread_spin`]). PyTorch on Linux ships GNU OpenMP, whose entry point for a parallel region is an ordinary
//! function. On other systems the calling thread does all parts.

use std::sync::{Mutex, PoisonError};

/// Runs `work` on all items, each on some thread.
pub(crate) fn share<I: Iterator<Item: Send> + Send>(items: I, work: impl Fn(I::Item) + Sync) {
    if items.size_hint().1 == Some(1) {
        return items.for_each(work);
    }
    let items = Mutex::new(items);
    let take_all = || {
        loop {
            // The lock is released before the work begins.
            let next = items.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some(item) = next else { return };
            work(item);
        }
    };
    match usize::try_from(tch::get_num_threads()) {
        Ok(threads) if threads > 1 => gomp::on_threads(threads, &take_all),
        _ => take_all(),
    }
}

#[cfg(target_os = "linux")]
mod gomp {
    use std::ffi::{c_uint, c_void};
    use std::sync::OnceLock;

    use libloading::os::unix::Library;

    /// `void GOMP_parallel(void (*work)(void *), void *data, unsigned threads, unsigned flags)`: calls the work on each
    /// thread of a team that includes the caller, and returns when all have finished.
    type Parallel = unsafe extern "C" fn(unsafe extern "C" fn(*mut c_void), *mut c_void, c_uint, c_uint);

    /// Returns the function in libtorch's OpenMP library, if that is GNU's.
    fn parallel() -> Option<Parallel> {
        static FOUND: OnceLock<Option<Parallel>> = OnceLock::new();
        *FOUND.get_or_init(|| {
            // SAFETY: the only function of this name is that of GNU OpenMP, which has this type.
            unsafe { Library::this().get::<Parallel>(b"GOMP_parallel\0").ok().map(|found| *found) }
        })
    }

    /// Runs `work` on each of `threads` threads at once.
    pub(super) fn on_threads<W: Fn() + Sync>(threads: usize, work: &W) {
        /// Calls the work. A panic ends the process here, as it cannot unwind through C.
        unsafe extern "C" fn call<W: Fn() + Sync>(work: *mut c_void) {
            // SAFETY: it points to the work below, which lives until all threads have finished.
            unsafe { (*work.cast::<W>().cast_const())() }
        }
        match parallel() {
            // SAFETY: the work may be called by many threads, and outlives the call.
            Some(parallel) => unsafe {
                parallel(call::<W>, std::ptr::from_ref(work).cast_mut().cast(), threads as c_uint, 0);
            },
            None => work(),
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod gomp {
    pub(super) fn on_threads<W: Fn() + Sync>(_threads: usize, work: &W) {
        work();
    }
}
