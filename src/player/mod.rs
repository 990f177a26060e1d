//! A player of a simulation: a thread that steps it for the window.
//!
//! The thread steps for some milliseconds, then reads its commands. They arrive through an unbounded channel, as a
//! person makes only a few. Snapshots return through a channel of capacity one: the next is made when the last has
//! been received. While another tab is shown or the window is hidden the player is held: it takes no steps, but still
//! counts as playing.

mod pace;
mod session;
mod snapshot;
mod stage;
mod thread;
mod trail;

pub use pace::Speed;
pub use snapshot::{EnsembleView, Playback, SessionKind, SessionView, Snapshot};
pub use trail::trail_columns;

use std::sync::mpsc::{Receiver, Sender, channel, sync_channel};
use std::time::Duration;

use valleyscope_engine::simulation::{Bucket, Change, ParticleId, PlotRequest, Record, Setting, SimulationSpec};

use self::thread::Worker;

/// A command to the player.
#[derive(Clone, Debug)]
pub enum PlayerCommand {
    /// Begin these sessions at step 0, side by side on one clock, and repeat their changes at their steps. Whether they
    /// play does not change.
    Load(Vec<Record>),
    /// Changes the session at this place, from 0, before its next step. At a step of the past, the later steps are
    /// removed first; they stay as a session of their own, whose kind is [`SessionKind::OldFuture`].
    Set(usize, Setting),
    /// Computes the session at this place without some of its changes, as [`SessionKind::Without`].
    Without(usize, Vec<Change>),
    /// Removes the session with this id, an old future or one without a change.
    Remove(u64),
    /// Puts the session with this id, an old future or one without a change, at the place to which it belongs. The
    /// session there becomes an old future.
    GoBackTo(u64),
    /// Plays these steps over and over: at the last of them or later, a playing simulation goes on at the first one.
    /// `None` ends it, and so does another simulation.
    Loop(Option<[u64; 2]>),
    /// Begin again at step 0 with the settings in force now.
    Restart,
    Play,
    Pause,
    /// Take this many steps as fast as possible, also beyond the number of steps asked for, then pause. The
    /// snapshot that shows the last of them has been reached when its `playback` is not `Playing`.
    Advance(u64),
    /// Pauses and shows this step again, or the last one reached if it is later. Playing on repeats the run to its last
    /// step.
    Seek(u64),
    /// Pauses and shows the step so many steps earlier.
    Back(u64),
    /// Holds a playing simulation at its step, or lets it go on from there. Whether it plays does not change, and steps
    /// asked for by [`Advance`](PlayerCommand::Advance) are taken all the same.
    Hold(bool),
    Speed(Speed),
    /// The particle whose steps are recorded.
    Select(Option<ParticleId>),
    /// The largest number of past positions to send for the trails.
    TrailLength(usize),
    Plot(PlotRequest),
    /// Answers with the first session so far.
    Record(Sender<Record>),
    /// Answers with the histories of the sessions side by side, in the finest stored buckets.
    History(Sender<Vec<OptimizerHistory>>),
}

/// The history of an optimizer.
#[derive(Clone, Debug)]
pub struct OptimizerHistory {
    /// The place of its session: 0 for the first.
    pub place: usize,
    /// The optimizer's id.
    pub optimizer: u32,
    pub buckets: Vec<Bucket>,
}

impl PlayerCommand {
    /// Returns the command that begins a single simulation.
    pub fn load(spec: SimulationSpec) -> PlayerCommand {
        PlayerCommand::Load(vec![Record { spec, changes: Vec::new() }])
    }

    /// Returns whether the command sets or replaces settings, so that [`Snapshot::settings`] counts it.
    pub fn sets_settings(&self) -> bool {
        matches!(self, Self::Load(_) | Self::Restart | Self::Set(..) | Self::GoBackTo(_))
    }
}

enum Message {
    Command(PlayerCommand),
    /// The last snapshot was taken, and the next one is wanted.
    SnapshotTaken,
}

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

    /// Sends a command; never waits.
    pub fn send(&self, command: PlayerCommand) {
        self.post(Message::Command(command));
    }

    /// Returns the newest snapshot since the last call, if any; never waits.
    pub fn try_snapshot(&self) -> Option<Snapshot> {
        let snapshot = self.snapshots.try_recv().ok()?;
        self.post(Message::SnapshotTaken);
        Some(snapshot)
    }

    /// Returns the next snapshot, waiting at most `timeout`.
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
