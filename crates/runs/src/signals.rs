//! Handlers of the signals that a worker survives.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

/// A flag that a signal to end sets.
#[derive(Clone, Debug)]
pub struct StopRequest(Arc<AtomicBool>);

impl StopRequest {
    /// Installs the handlers. The process then survives the end of its terminal or connection, closed readers of its
    /// output, and files that grow too large; a signal to end only sets the flag. A second Ctrl-C ends the process at
    /// once.
    pub fn listen() -> io::Result<StopRequest> {
        #[cfg(unix)]
        {
            use signal_hook::consts::{SIGHUP, SIGPIPE, SIGXFSZ};
            // This flag is never read.
            let ignored = Arc::new(AtomicBool::new(false));
            for signal in [SIGHUP, SIGPIPE, SIGXFSZ] {
                flag::register(signal, Arc::clone(&ignored))?;
            }
        }
        let raised = Arc::new(AtomicBool::new(false));
        let interrupted = Arc::new(AtomicBool::new(false));
        // In this order, the first Ctrl-C does not see the flag that it sets.
        flag::register_conditional_shutdown(SIGINT, 130, Arc::clone(&interrupted))?;
        flag::register(SIGINT, interrupted)?;
        for signal in [SIGINT, SIGTERM] {
            flag::register(signal, Arc::clone(&raised))?;
        }
        Ok(StopRequest(raised))
    }

    /// Sets the flag within the program.
    pub fn raise(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub fn is_raised(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
