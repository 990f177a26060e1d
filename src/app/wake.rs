//! When the window is drawn again for what threads find out.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use egui::Context;

/// Has the window drawn again for what is new in one of its rooms: soon while the room is shown, and else only so often
/// that what waits to be taken does not pile up.
#[derive(Clone)]
pub struct Wake {
    context: Context,
    is_shown: Arc<AtomicBool>,
    seen: Duration,
    unseen: Duration,
}

impl Wake {
    /// For a room that is not shown yet. News are drawn so long after they come: `seen` while it is shown, so that those
    /// that come together are drawn together, and `unseen` while it is not.
    pub fn new(context: Context, seen: Duration, unseen: Duration) -> Wake {
        Wake { context, is_shown: Arc::default(), seen, unseen }
    }

    /// Takes note whether the room is shown.
    pub fn show(&self, is_shown: bool) {
        if self.is_shown.swap(is_shown, Ordering::Relaxed) != is_shown {
            self.now();
        }
    }

    /// For what is seen only in the room.
    pub fn soon(&self) {
        self.context.request_repaint_after(if self.is_shown.load(Ordering::Relaxed) { self.seen } else { self.unseen });
    }

    /// For what is seen everywhere.
    pub fn now(&self) {
        self.context.request_repaint();
    }
}
