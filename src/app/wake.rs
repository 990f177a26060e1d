//! Redraws the window for updates from other threads.
//!
//! An update is drawn within 50 ms while its tab is shown, and within some seconds while another is.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use egui::Context;

/// Redraws the window when a tab changes: soon while the tab is shown, and else just often enough that pending updates
/// do not accumulate.
#[derive(Clone)]
pub(super) struct Wake {
    context: Context,
    is_shown: Arc<AtomicBool>,
    seen: Duration,
    unseen: Duration,
}

impl Wake {
    /// Makes the waker of a hidden tab. A change is drawn after a delay: `seen` while the tab is shown, so that
    /// simultaneous changes are drawn together, and `unseen` while it is not.
    pub(super) fn new(context: Context, seen: Duration, unseen: Duration) -> Wake {
        Wake { context, is_shown: Arc::default(), seen, unseen }
    }

    /// Sets whether the tab is shown.
    pub(super) fn show(&self, is_shown: bool) {
        if self.is_shown.swap(is_shown, Ordering::Relaxed) != is_shown {
            self.now();
        }
    }

    /// Wakes for changes that are visible only in the tab.
    pub(super) fn soon(&self) {
        self.context.request_repaint_after(if self.is_shown.load(Ordering::Relaxed) { self.seen } else { self.unseen });
    }

    /// Wakes for changes that are visible everywhere.
    pub(super) fn now(&self) {
        self.context.request_repaint();
    }
}
