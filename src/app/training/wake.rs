//! When the window is drawn again for what the threads find out.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use egui::Context;

/// News that come together are drawn together.
const SOON: Duration = Duration::from_millis(50);
/// In another room a training that goes on is no reason to draw all the time; what waits must only not pile up.
const UNSEEN: Duration = Duration::from_secs(5);

/// Has the window drawn again, as soon as what is new can be seen.
#[derive(Clone)]
pub struct Wake {
    context: Context,
    is_shown: Arc<AtomicBool>,
}

impl Wake {
    pub fn new(context: Context) -> Wake {
        Wake { context, is_shown: Arc::default() }
    }

    /// Takes note whether the trainings are shown.
    pub fn show(&self, is_shown: bool) {
        if self.is_shown.swap(is_shown, Ordering::Relaxed) != is_shown {
            self.context.request_repaint();
        }
    }

    /// For what is seen only where trainings are shown.
    pub fn soon(&self) {
        self.context.request_repaint_after(if self.is_shown.load(Ordering::Relaxed) { SOON } else { UNSEEN });
    }

    /// For what is seen everywhere.
    pub fn now(&self) {
        self.context.request_repaint();
    }
}
