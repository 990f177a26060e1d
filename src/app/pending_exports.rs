//! Runs exports in threads, and passes on their files when they are finished.

use std::sync::mpsc::{Receiver, TryRecvError, channel};

use egui::Context;

use super::live::{Action, Requests};

/// The exports in progress, each of which ends in a request: to save the file, or to report a failure.
#[derive(Default)]
pub(super) struct PendingExports(Vec<Receiver<Action>>);

impl PendingExports {
    /// Starts a thread that makes an export.
    pub(super) fn begin(&mut self, ctx: &Context, make: impl FnOnce() -> Action + Send + 'static) {
        let (sender, receiver) = channel();
        let ctx = ctx.clone();
        std::thread::spawn(move || {
            // The window may be closed.
            let _ = sender.send(make());
            ctx.request_repaint();
        });
        self.0.push(receiver);
    }

    /// Passes on the requests of finished exports.
    pub(super) fn poll(&mut self, requests: &mut Requests) {
        self.0.retain(|export| match export.try_recv() {
            Ok(action) => {
                requests.actions.push(action);
                false
            }
            Err(error) => error == TryRecvError::Empty,
        });
    }
}
