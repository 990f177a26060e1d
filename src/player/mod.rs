//! A player of a simulation: a thread that steps it for the window.
//!
//! The thread steps for some milliseconds, then reads its commands. They arrive through an unbounded channel, as a user
//! sends only a few. Snapshots return through a channel of capacity one: the next is made when the last has been
//! received. While another tab is shown or the window is hidden the player is held: it takes no steps, but still counts
//! as playing.

#[cfg_attr(not(feature = "app"), expect(dead_code, reason = "figures need a part of what the window needs"))]
pub(crate) mod marks;
mod message;
mod recorded;
mod stage;
mod thread;
mod trail;

use std::sync::mpsc::{Receiver, Sender, channel, sync_channel};
use std::time::Duration;

use message::Message;
use thread::Worker;
use valleyscope_engine::simulation::SimulationSpec;

pub use message::{
    Branch, BranchView, EnsembleView, OptimizerHistory, Playback, PlaybackPace, PlayerCommand, SessionView, Snapshot,
};
pub use recorded::{RecordedCloud, Recording, RecordingError};
#[cfg(feature = "app")]
pub(crate) use stage::Stage;
pub use trail::trail_columns;

/// The handle of the simulation's thread; dropping it ends the thread.
pub struct Player {
    messages: Sender<Message>,
    snapshots: Receiver<Snapshot>,
}

impl Player {
    /// Starts the thread with a paused simulation. `wake` is called from it whenever a new snapshot
    /// can be taken.
    pub fn spawn(spec: SimulationSpec, wake: impl Fn() + Send + 'static) -> Player {
        let (messages, inbox) = channel();
        // At most one snapshot is in the channel: a window that is not drawn costs no memory.
        let (outbox, snapshots) = sync_channel(1);
        let worker = Worker::new(spec, inbox, outbox, Box::new(wake));
        std::thread::Builder::new()
            .name("simulation".to_owned())
            .spawn(move || worker.run())
            .expect("the system can start a thread");
        Player { messages, snapshots }
    }

    /// Sends a command without blocking.
    pub fn send(&self, command: PlayerCommand) {
        self.post(Message::Command(command));
    }

    /// Takes the newest snapshot since the last call, if any, without blocking.
    pub fn try_snapshot(&self) -> Option<Snapshot> {
        self.wait_snapshot(Duration::ZERO)
    }

    /// Takes the next snapshot, blocking at most for `timeout`.
    pub fn wait_snapshot(&self, timeout: Duration) -> Option<Snapshot> {
        let snapshot = self.snapshots.recv_timeout(timeout).ok()?;
        self.post(Message::SnapshotTaken);
        Some(snapshot)
    }

    fn post(&self, message: Message) {
        // The thread ends only after its handle.
        let _ = self.messages.send(message);
    }
}
