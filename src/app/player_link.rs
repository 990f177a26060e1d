//! The connection to the simulation's thread: the state that was sent to it, and pending changes.

use std::sync::mpsc::{Receiver, channel};

use valleyscope_engine::simulation::{Record, Setting, SimulationSpec};

use super::document::Document;
use super::playback::PlaybackPace;
use crate::player::{Playback, Player, PlayerCommand, Snapshot};

/// The player, and the state that was last sent to it.
pub(super) struct PlayerLink {
    player: Player,
    /// The simulations in the order of their places.
    specs: Vec<SimulationSpec>,
    pace: PlaybackPace,
    trail_steps: u32,
    /// True while the player holds at its step.
    is_held: bool,
    /// The number of commands sent that set or replaced settings.
    settings: u64,
}

impl PlayerLink {
    /// Starts a paused simulation. Its thread calls `wake` for each new snapshot.
    pub(super) fn start(document: &Document, pace: PlaybackPace, wake: impl Fn() + Send + 'static) -> PlayerLink {
        let player = Player::spawn(document.spec.clone(), wake);
        player.send(PlayerCommand::Speed(pace.speed()));
        player.send(PlayerCommand::TrailLength(document.view.trail_steps as usize));
        let (specs, trail_steps) = (vec![document.spec.clone()], document.view.trail_steps);
        let mut link = PlayerLink { player, specs, pace, trail_steps, is_held: false, settings: 0 };
        if document.count() > 1 {
            link.load(document);
        }
        link
    }

    /// Sends the player the changes since the last call: settings act in its next step, other changes restart the run.
    /// Returns the reason for a restart.
    pub(super) fn follow(&mut self, document: &Document, pace: PlaybackPace) -> Option<&'static str> {
        let mut begun_by = None;
        if !self.specs.iter().eq(document.specs()) {
            let has_same_places = self.specs.len() == document.count();
            let settings: Option<Vec<Vec<Setting>>> =
                self.specs.iter().zip(document.specs()).map(|(from, to)| from.settings_to(to)).collect();
            match settings.filter(|_| has_same_places) {
                Some(settings) => {
                    for (place, settings) in settings.into_iter().enumerate() {
                        settings.into_iter().for_each(|setting| self.send(PlayerCommand::Set(place, setting)));
                    }
                    self.specs = document.specs().cloned().collect();
                }
                None => {
                    let changed = self.specs.iter().zip(document.specs()).find(|(from, to)| from != to);
                    begun_by = Some(match changed.filter(|_| has_same_places) {
                        Some((from, to)) => restart_reason(from, to),
                        None if self.specs.len() < document.count() => "a simulation was added beside it",
                        None => "a simulation beside it was removed",
                    });
                    self.load(document);
                }
            }
        }
        if self.pace != pace {
            self.pace = pace;
            self.send(PlayerCommand::Speed(pace.speed()));
        }
        if self.trail_steps != document.view.trail_steps {
            self.trail_steps = document.view.trail_steps;
            self.send(PlayerCommand::TrailLength(self.trail_steps as usize));
        }
        begun_by
    }

    /// Replays recorded sessions side by side; their changes appear in `document` as they happen.
    pub(super) fn replay(&mut self, document: &mut Document, records: Vec<Record>) {
        for (spec, record) in document.specs_mut().zip(&records) {
            spec.clone_from(&record.spec);
        }
        self.specs = document.specs().cloned().collect();
        self.send(PlayerCommand::Load(records));
    }

    /// Starts `document` at step 0, even if it is unchanged.
    pub(super) fn load(&mut self, document: &Document) {
        self.specs = document.specs().cloned().collect();
        self.send(PlayerCommand::Load(self.specs.iter().map(unchanged).collect()));
    }

    /// Returns whether a snapshot was made after all settings that were sent.
    pub(super) fn is_current(&self, snapshot: &Snapshot) -> bool {
        snapshot.settings >= self.settings
    }

    /// Returns the settings that the player has at the shown step, or will have.
    pub(super) fn specs(&self) -> &[SimulationSpec] {
        &self.specs
    }

    /// Shows the step of an earlier change, after which `in_force` are the settings.
    pub(super) fn seek_change(&mut self, step: u64, in_force: Vec<SimulationSpec>) {
        self.specs = in_force;
        self.send(PlayerCommand::Seek(step));
    }

    /// Returns whether a playing run is held at its step.
    pub(super) fn is_held(&self) -> bool {
        self.is_held
    }

    /// Holds a playing run at its step, or releases it.
    pub(super) fn hold(&mut self, is_held: bool) {
        if self.is_held != is_held {
            self.is_held = is_held;
            self.send(PlayerCommand::Hold(is_held));
        }
    }

    pub(super) fn send(&mut self, command: PlayerCommand) {
        self.settings += u64::from(command.sets_settings());
        self.player.send(command);
    }

    pub(super) fn toggle_play(&mut self, playback: Playback) {
        match playback {
            Playback::Playing => self.send(PlayerCommand::Pause),
            Playback::Paused => self.send(PlayerCommand::Play),
            Playback::Finished => {
                self.send(PlayerCommand::Restart);
                self.send(PlayerCommand::Play);
            }
        }
    }

    /// Requests the record of the session so far; the receiver gets it.
    pub(super) fn record(&mut self) -> Receiver<Record> {
        let (sender, receiver) = channel();
        self.send(PlayerCommand::Record(sender));
        receiver
    }

    /// Returns the next snapshot, if any.
    pub(super) fn next_snapshot(&self) -> Option<Snapshot> {
        self.player.try_snapshot()
    }

    /// Applies the settings in force at the shown step to the document, where they differ from those sent last: recorded
    /// changes were repeated, or another step was sought.
    pub(super) fn show_settings(&mut self, document: &mut Document, snapshot: &Snapshot) {
        if !self.is_current(snapshot) {
            return;
        }
        let beside = snapshot.others.iter().filter(|other| other.kind.is_beside());
        let in_force = std::iter::once(&snapshot.spec).chain(beside.map(|other| &other.spec));
        for ((sent, shown), in_force) in self.specs.iter_mut().zip(document.specs_mut()).zip(in_force) {
            for setting in sent.settings_to(in_force).unwrap_or_default() {
                if sent.apply(&setting).is_err() || shown.apply(&setting).is_err() {
                    log::warn!("a recorded change does not fit the document: {setting:?}");
                }
            }
        }
    }
}

/// Returns the session of a simulation without changes.
fn unchanged(spec: &SimulationSpec) -> Record {
    Record { spec: spec.clone(), changes: Vec::new() }
}

/// Returns a description of the change that requires a restart.
fn restart_reason(from: &SimulationSpec, to: &SimulationSpec) -> &'static str {
    let ids = |spec: &SimulationSpec| -> Vec<u32> { spec.optimizers.iter().map(|optimizer| optimizer.id).collect() };
    if from.seed != to.seed {
        "the seed has changed"
    } else if from.particles != to.particles {
        "the number of particles has changed"
    } else if from.start != to.start {
        "the start has changed"
    } else if to.optimizers.len() > from.optimizers.len() {
        "an optimizer was added"
    } else if to.optimizers.len() < from.optimizers.len() {
        "an optimizer was removed"
    } else if ids(from) == ids(to) {
        "an optimizer was switched on or off"
    } else {
        "the optimizers have changed"
    }
}
