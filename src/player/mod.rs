//! A player of a simulation: a thread that steps it for the window.
//!
//! The thread steps for some milliseconds, then reads its commands. They arrive through an unbounded channel, as a
//! person makes only a few. Snapshots return through a channel of capacity one: the next is made when the last has
//! been received. While another tab is shown or the window is hidden the player is held: it takes no steps, but still
//! counts as playing.

#[cfg_attr(not(feature = "app"), expect(dead_code, reason = "figures need a part of what the window needs"))]
pub(crate) mod marks;
mod stage;
mod thread;

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel, sync_channel};
use std::time::Duration;

use thread::Worker;
use valleyscope_engine::optimizer::RatedRule;
use valleyscope_engine::simulation::{
    Bucket, Change, ParticleId, PlotRequest, Record, Sample, Setting, SimulationSpec, StepTrace,
};

pub use stage::trail_columns;
pub use thread::Speed;

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

/// The state of a running simulation at one step, and the changes since the previous snapshot.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The number of restarts. At a new number, curves start again.
    pub run: u64,
    /// The number of restarts and seeks. At a new number, trails start again.
    pub track: u64,
    /// The shown step, counted from the start.
    pub step: u64,
    /// The last step that the run has reached.
    pub last_step: u64,
    pub playback: Playback,
    /// The first and the last of the steps that are played over and over.
    pub looped: Option<[u64; 2]>,
    /// The specification, with the settings in force.
    pub spec: Arc<SimulationSpec>,
    /// The number of commands so far that set or replaced settings. While it is smaller than the number of those sent,
    /// `spec` is older than the settings sent last.
    pub settings: u64,
    /// The session's start and its changes up to the last step.
    pub record: Arc<Record>,
    /// The speed over a recent interval: steps per second, and particle steps per second of all ensembles together.
    pub steps_per_sec: f64,
    pub particle_steps_per_sec: f64,
    /// The enabled optimizers' ensembles, in the order of the specification.
    pub ensembles: Vec<EnsembleView>,
    /// The selected particle's last step; none before the first step or without a selection.
    pub step_trace: Option<Box<StepTrace>>,
    /// The other sessions on the same clock: first those side by side with the first one, in their order.
    pub others: Vec<SessionView>,
}

impl Snapshot {
    /// Returns the snapshot of another session on the same clock.
    pub fn of(&self, other: SessionView) -> Snapshot {
        Snapshot {
            step: other.step,
            last_step: other.last_step,
            spec: other.spec,
            record: other.record,
            ensembles: other.ensembles,
            step_trace: other.step_trace,
            others: Vec::new(),
            ..*self
        }
    }
}

/// The state of another session than the first.
#[derive(Clone, Debug)]
pub struct SessionView {
    /// The number that names the session until it is removed; never used for another one.
    pub id: u64,
    pub kind: SessionKind,
    /// The shown step: the snapshot's, unless the session was begun or changed a moment ago and has yet to reach it.
    pub step: u64,
    /// The last step that the session has reached, which may be later than the first session's.
    pub last_step: u64,
    /// The specification, with the settings in force.
    pub spec: Arc<SimulationSpec>,
    /// The session's start and its changes up to its last step.
    pub record: Arc<Record>,
    /// The enabled optimizers' ensembles, in the order of the specification.
    pub ensembles: Vec<EnsembleView>,
    /// The step of the selected particle, which has the same optimizer and number in all sessions.
    pub step_trace: Option<Box<StepTrace>>,
}

/// The place of a session beside the first one. `of` is the place of the session to which it belongs: 0 for the first,
/// 1 for the one beside it, and so on.
#[derive(Clone, Debug, PartialEq)]
pub enum SessionKind {
    /// A session with settings of its own, at this place.
    Beside { place: usize },
    /// The session as it went on before a setting was changed in its past, after the step `since`.
    OldFuture { of: usize, since: u64 },
    /// The session without some of its changes.
    Without { of: usize, removed: Vec<Change> },
}

impl SessionKind {
    /// Returns whether it is a session side by side with the first one, no branch.
    pub fn is_beside(&self) -> bool {
        matches!(self, SessionKind::Beside { .. })
    }

    /// Returns of a branch the place of the session to which it belongs, and the step from which on the two differ.
    pub fn branch(&self) -> Option<(usize, u64)> {
        match self {
            SessionKind::Beside { .. } => None,
            SessionKind::OldFuture { of, since } => Some((*of, *since)),
            SessionKind::Without { of, removed } => {
                Some((*of, removed.iter().map(|change| change.step).min().unwrap_or_default()))
            }
        }
    }

    /// Returns whether it is a branch of the session at this place.
    pub fn is_branch_of(&self, place: usize) -> bool {
        self.branch().is_some_and(|(of, _)| of == place)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Playback {
    Playing,
    Paused,
    /// The requested number of steps is reached; playing on needs a larger one.
    Finished,
}

/// The data of one ensemble for drawing.
#[derive(Clone, Debug)]
pub struct EnsembleView {
    /// The optimizer's id.
    pub optimizer: u32,
    /// The rule in force.
    pub rule: RatedRule,
    pub particles: usize,
    /// Positions (x, y) since the previous snapshot, `columns × particles`, oldest column first. The last column
    /// belongs to the snapshot's step, the one before to the step before, and so on. There is at least one column,
    /// which repeats the last one if no step was taken since, and at most the trail length plus one. Positions of
    /// diverged particles are not finite.
    pub columns: Arc<Vec<[f32; 2]>>,
    /// The ensemble's mean position from the start to the snapshot's step, thinned to a bounded number of points.
    pub mean_path: Arc<Vec<[f32; 2]>>,
    /// The smallest box around the finite particles, as [min x, min y, max x, max y].
    pub bounds: Option<[f64; 4]>,
    /// The diagnostics of the snapshot's step, on the landscape in force.
    pub sample: Sample,
    /// The history of the run up to its last step, over the requested range of steps, oldest first.
    pub plot: Vec<Bucket>,
}
