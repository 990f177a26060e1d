//! The commands to a player's thread, the snapshots that it sends, and the speed at which it plays.

use std::sync::Arc;
use std::sync::mpsc::Sender;

use serde::{Deserialize, Serialize};
use valleyscope_engine::optimizer::RatedRule;
use valleyscope_engine::quantity::number_text;
use valleyscope_engine::simulation::{
    Bucket, Change, ParticleId, PlotRequest, Record, Sample, Setting, SimulationSpec, StepTrace,
};

use super::recorded::RecordedCloud;

#[derive(Clone, Debug)]
pub enum PlayerCommand {
    /// Begins these sessions at step 0, on one clock, and repeats their changes at their steps. Whether they play does
    /// not change.
    Load(Vec<Record>),
    /// Changes the session of this index before its next step. At a step of the past, the later steps are removed
    /// first; they stay as a branch, an old future.
    Set(usize, Setting),
    /// Computes the session of this index without some of its changes, as a branch.
    Without(usize, Vec<Change>),
    /// Removes the branch with this id.
    Remove(u64),
    /// Replaces the session to which the branch with this id belongs by the branch; the session becomes an old future.
    GoBackTo(u64),
    /// Repeats these steps: at the last of them or later, a playing simulation continues at the first one. `None` ends
    /// the loop, as does another simulation.
    Loop(Option<[u64; 2]>),
    /// Restarts at step 0 with the current settings.
    Restart,
    Play,
    Pause,
    /// Takes this many steps as fast as possible, also beyond the requested number of steps, then pauses. The snapshot
    /// that shows the last of them is the first whose `playback` is not `Playing`.
    Advance(u64),
    /// Pauses and shows this step again, or the last one reached if it is later. Continuing repeats the run to its last
    /// step.
    Seek(u64),
    /// Pauses and shows the step this number of steps earlier.
    Back(u64),
    /// Holds a playing simulation at its step, or continues it from there. Whether it plays does not change, and steps
    /// requested by [`Advance`](PlayerCommand::Advance) are taken in any case.
    Hold(bool),
    Speed(PlaybackPace),
    /// Shows these recorded clouds beside the ensembles of each compared session.
    Recorded(Vec<RecordedCloud>),
    /// The particle whose steps are recorded.
    Select(Option<ParticleId>),
    /// The largest number of past positions to send for the trails.
    TrailLength(usize),
    Plot(PlotRequest),
    /// Answers with the histories of the compared sessions, in the finest stored buckets.
    History(Sender<Vec<OptimizerHistory>>),
}

#[derive(Clone, Debug)]
pub struct OptimizerHistory {
    pub session: usize,
    /// The optimizer's id.
    pub optimizer: u32,
    pub buckets: Vec<Bucket>,
}

impl PlayerCommand {
    /// Whether the command sets or replaces settings, so that [`Snapshot::settings`] counts it.
    pub fn sets_settings(&self) -> bool {
        matches!(self, Self::Load(_) | Self::Restart | Self::Set(..) | Self::GoBackTo(_))
    }
}

pub(super) enum Message {
    Command(PlayerCommand),
    /// The last snapshot was taken, and the next one is requested.
    SnapshotTaken,
}

/// The state of all sessions at one step of their clock, and the changes since the previous snapshot.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The number of restarts. At a new number, curves start again.
    pub run: u64,
    /// The number of restarts and seeks. At a new number, trails start again.
    pub track: u64,
    /// The shown step of the clock, which is the first session's, counted from the start.
    pub step: u64,
    /// The last step that the first session has reached.
    pub last_step: u64,
    pub playback: Playback,
    /// The first and the last step of the loop that is played.
    pub looped: Option<[u64; 2]>,
    /// The number of commands so far that set or replaced settings. While it is smaller than the number of those sent,
    /// the specifications are older than the settings sent last.
    pub settings: u64,
    /// The speed over a recent interval: steps per second, and particle steps per second of all ensembles together.
    pub steps_per_sec: f64,
    pub particle_steps_per_sec: f64,
    /// The sessions of the compared simulations, in their order; at least one.
    pub sessions: Vec<SessionView>,
    pub branches: Vec<BranchView>,
}

impl Snapshot {
    pub fn branches_of(&self, session: usize) -> impl Iterator<Item = &BranchView> {
        self.branches.iter().filter(move |branch| branch.of == session)
    }
}

#[derive(Clone, Debug)]
pub struct SessionView {
    /// The shown step: the clock's, unless the session was just begun or changed and has yet to reach it.
    pub step: u64,
    /// The last step that the session has reached, which may be later than the first session's.
    pub last_step: u64,
    /// The specification, with the settings in force.
    pub spec: Arc<SimulationSpec>,
    /// The session's start, and its changes up to its last step.
    pub record: Arc<Record>,
    /// The enabled optimizers' ensembles, in the order of the specification, then the recorded clouds.
    pub ensembles: Vec<EnsembleView>,
    /// The last step of the selected particle, which has the same optimizer and number in all sessions; none before the
    /// first step or without a selection.
    pub step_trace: Option<Box<StepTrace>>,
}

/// An old future of the session of index `of`, as it continued before a setting was changed in its past; or that session
/// without some of its changes.
#[derive(Clone, Debug)]
pub struct Branch<S> {
    /// The number that names the branch until it is removed; never used for another one.
    pub id: u64,
    pub of: usize,
    /// The step from which on the branch differs from its session.
    pub since: u64,
    /// The changes that the branch leaves out; none of an old future.
    pub removed: Vec<Change>,
    pub session: S,
}

pub type BranchView = Branch<SessionView>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Playback {
    Playing,
    Paused,
    /// The requested number of steps is reached; continuing requires a larger one.
    Finished,
}

/// The data of one ensemble for drawing.
#[derive(Clone, Debug)]
pub struct EnsembleView {
    /// The optimizer's id.
    pub optimizer: u32,
    pub rule: RatedRule,
    pub particles: usize,
    /// Positions (x, y) since the previous snapshot, `columns × particles`, oldest column first. The last column
    /// belongs to the session's step, the previous column to the previous step, and so on. There is at least one
    /// column, which repeats the last one if no step was taken since, and at most the trail length plus one. Positions
    /// of diverged particles are not finite.
    pub columns: Arc<Vec<[f32; 2]>>,
    /// The ensemble's mean position from the start to the session's step, thinned to a bounded number of points.
    pub mean_path: Arc<Vec<[f32; 2]>>,
    /// The diagnostics of the session's step, on the landscape in force.
    pub sample: Sample,
    /// The history of the run up to its last step, over the requested range of steps, oldest first.
    pub plot: Vec<Bucket>,
}

impl EnsembleView {
    /// The positions of the particles at the session's step.
    pub fn newest(&self) -> &[[f32; 2]] {
        &self.columns[self.columns.len().saturating_sub(self.particles)..]
    }
}

/// The speed of the simulation; kept with the session.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlaybackPace {
    pub steps_per_sec: f64,
    /// Plays at full speed if true, regardless of `steps_per_sec`.
    pub unlimited: bool,
}

impl PlaybackPace {
    pub const SLOWEST: f64 = 1.0;
    pub const FASTEST: f64 = 10_000.0;

    /// The speeds of the digits 1 to 9 in steps a second; `None` is as fast as it goes.
    pub const OF_DIGITS: [Option<f64>; 9] =
        [Some(1.0), Some(2.0), Some(5.0), Some(10.0), Some(30.0), Some(60.0), Some(200.0), Some(1000.0), None];

    /// Returns the speed of a digit, by its index in [`PlaybackPace::OF_DIGITS`].
    pub fn of_digit(self, index: usize) -> PlaybackPace {
        match Self::OF_DIGITS[index] {
            Some(steps_per_sec) => PlaybackPace { steps_per_sec, unlimited: false },
            None => PlaybackPace { unlimited: true, ..self },
        }
    }

    /// Returns the next faster speed of a digit, or the next slower one.
    pub fn next(self, faster: bool) -> PlaybackPace {
        let rate = |speed: Option<f64>| speed.unwrap_or(f64::INFINITY);
        let own = rate((!self.unlimited).then_some(self.steps_per_sec));
        let found = match faster {
            true => Self::OF_DIGITS.iter().position(|speed| rate(*speed) > own),
            false => Self::OF_DIGITS.iter().rposition(|speed| rate(*speed) < own),
        };
        found.map_or(self, |index| self.of_digit(index))
    }

    /// Formats the speed, as in "60 steps a second".
    pub fn words(self) -> String {
        match (self.unlimited, self.steps_per_sec) {
            (true, _) => "as fast as it goes".to_owned(),
            (false, 1.0) => "1 step a second".to_owned(),
            (false, rate) => format!("{} steps a second", number_text(rate)),
        }
    }
}

impl Default for PlaybackPace {
    fn default() -> Self {
        PlaybackPace { steps_per_sec: 60.0, unlimited: false }
    }
}

#[cfg(test)]
mod tests {
    use super::PlaybackPace;

    #[test]
    fn the_next_speed_is_that_of_the_next_digit() {
        let own = PlaybackPace { steps_per_sec: 45.0, unlimited: false };
        assert_eq!(own.next(true).words(), "60 steps a second");
        assert_eq!(own.next(false).words(), "30 steps a second");
        let slowest = own.of_digit(0);
        assert_eq!((slowest.words(), slowest.next(false)), ("1 step a second".to_owned(), slowest));
        let fastest = own.of_digit(8);
        assert_eq!((fastest.words(), fastest.next(true)), ("as fast as it goes".to_owned(), fastest));
        assert_eq!(fastest.next(false).words(), "1000 steps a second");
    }
}
