//! Ctrl-C, and the request to end that schedulers send.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

/// Becomes true when the user wants the command to end.
pub(super) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Installs the handlers: from now on a first signal only raises the flag, and a second one ends the program at
    /// once.
    pub(super) fn listen() -> io::Result<Interrupt> {
        let raised = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            // This handler is registered first, so that the first signal finds the flag lowered.
            flag::register_conditional_shutdown(signal, 130, Arc::clone(&raised))?;
            flag::register(signal, Arc::clone(&raised))?;
        }
        Ok(Interrupt(raised))
    }

    pub(super) fn is_raised(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
