//! Signals that do not end a worker.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

/// Becomes true when the worker is asked to end by a signal.
#[derive(Clone, Debug)]
pub struct StopRequest(Arc<AtomicBool>);

impl StopRequest {
    /// From now on the process survives the end of the terminal or connection that it was started from, closed readers
    /// of its output, and files that grow too large, and a request to end only raises a flag. A second Ctrl-C ends the
    /// process at once.
    pub fn listen() -> io::Result<StopRequest> {
        #[cfg(unix)]
        {
            use signal_hook::consts::{SIGHUP, SIGPIPE, SIGXFSZ};
            // A flag that is never read.
            let ignored = Arc::new(AtomicBool::new(false));
            for signal in [SIGHUP, SIGPIPE, SIGXFSZ] {
                flag::register(signal, Arc::clone(&ignored))?;
            }
        }
        let raised = Arc::new(AtomicBool::new(false));
        let interrupted = Arc::new(AtomicBool::new(false));
        // In this order the first Ctrl-C does not see the flag that it raises itself.
        flag::register_conditional_shutdown(SIGINT, 130, Arc::clone(&interrupted))?;
        flag::register(SIGINT, interrupted)?;
        for signal in [SIGINT, SIGTERM] {
            flag::register(signal, Arc::clone(&raised))?;
        }
        Ok(StopRequest(raised))
    }

    /// Asks for it within the program.
    pub fn raise(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub fn is_raised(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
