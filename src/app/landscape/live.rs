//! The running simulations as the panels see them, and the connection to their thread.

use std::collections::BTreeSet;
use std::sync::mpsc::{Receiver, channel};

use valleyscope_engine::simulation::{ParticleId, Record, Setting, SimulationSpec, StepTrace};

use super::branches::{Branch, Branches, RunMark};
use super::editor::Document;
use super::transport::PlaybackPace;
use crate::app::shell::actions::Requests;
use crate::player::marks::SettingMarks;
use crate::player::{EnsembleView, Playback, Player, PlayerCommand, RecordedCloud, SessionView, Snapshot};

/// The running simulations: the newest snapshot, and the choices of view that are not part of the document.
#[derive(Default)]
pub struct Live {
    /// The newest snapshot. Its `columns` are those since the previous one.
    pub snapshot: Option<Snapshot>,
    /// The marks of each session's changes.
    pub(crate) marks: Vec<SettingMarks>,
    /// The marks of the run that the lesson's step shows.
    pub(crate) run_marks: Vec<RunMark>,
    pub(crate) branches: Branches,
    /// The recorded clouds, which the player shows beside the ensembles of each session.
    pub recorded: Vec<RecordedCloud>,
    /// The index of the simulation that the controls set.
    pub chosen: usize,
    /// Whether landscapes side by side have cameras of their own.
    pub has_own_cameras: bool,
    /// The selected particle, in all simulations that have it.
    pub selected: Option<ParticleId>,
    /// The ids of optimizers that are simulated but hidden. Legends toggle them.
    pub hidden: BTreeSet<u32>,
    /// The duration of a frame while an animation is recorded. The camera then moves by it for each snapshot, not by
    /// the clock.
    pub frame_secs: Option<f32>,
}

impl Live {
    /// Takes the newest snapshot.
    pub fn take(&mut self, snapshot: Snapshot) {
        self.branches.update(&snapshot);
        self.marks.resize_with(snapshot.sessions.len(), SettingMarks::default);
        for (marks, session) in self.marks.iter_mut().zip(&snapshot.sessions) {
            marks.update(&session.record);
        }
        self.snapshot = Some(snapshot);
    }

    /// Returns the newest states of the sessions, in the order of the document's simulations; none before the first
    /// snapshot.
    pub fn sessions(&self) -> &[SessionView] {
        self.snapshot.as_ref().map_or(&[], |snapshot| &snapshot.sessions)
    }

    pub fn session(&self, index: usize) -> Option<&SessionView> {
        self.sessions().get(index)
    }

    pub(crate) fn is_side_by_side(&self) -> bool {
        self.sessions().len() > 1
    }

    pub(crate) fn marks_of(&self, session: usize) -> &SettingMarks {
        self.marks.get(session).unwrap_or(SettingMarks::NONE)
    }

    /// Returns all sessions, up to their last steps.
    pub(crate) fn records(&self) -> Vec<Record> {
        self.sessions().iter().map(|session| Record::clone(&session.record)).collect()
    }

    /// Returns a specification with the recorded clouds after its optimizers, for names, colours and marks of all that
    /// is drawn.
    pub fn with_recorded(&self, spec: &SimulationSpec) -> SimulationSpec {
        let mut spec = spec.clone();
        spec.optimizers.extend(self.recorded.iter().map(|cloud| cloud.optimizer.clone()));
        spec
    }

    /// Returns the shown ensembles of a session, in the specification's order, and the shown recorded clouds.
    pub fn visible(&self, session: usize) -> impl Iterator<Item = &EnsembleView> {
        self.session(session).into_iter().flat_map(|session| self.visible_of(session))
    }

    /// Returns the shown ensembles of a session that optimizers move.
    pub(crate) fn simulated(&self, session: usize) -> impl Iterator<Item = &EnsembleView> {
        let is_recorded = |view: &EnsembleView| self.recorded.iter().any(|cloud| cloud.optimizer.id == view.optimizer);
        self.visible(session).filter(move |view| !is_recorded(view))
    }

    /// Returns the ensembles of a session or a branch whose optimizers are not hidden.
    pub(crate) fn visible_of<'a>(&'a self, session: &'a SessionView) -> impl Iterator<Item = &'a EnsembleView> {
        session.ensembles.iter().filter(|ensemble| !self.hidden.contains(&ensemble.optimizer))
    }

    /// Returns the shown branches of a session, which are drawn pale.
    pub(crate) fn branches_of(&self, session: usize) -> impl Iterator<Item = (&Branch, &SessionView)> {
        let views = self.snapshot.iter().flat_map(move |snapshot| snapshot.branches_of(session));
        views.filter_map(|view| Some((self.branches.shown(view.id)?, &view.session)))
    }

    /// Selects a particle, at once here and in the player for its next snapshots.
    pub fn select(&mut self, particle: Option<ParticleId>, requests: &mut Requests) {
        if self.selected != particle {
            self.selected = particle;
            requests.commands.push(PlayerCommand::Select(particle));
        }
    }

    /// Returns the selected particle's last step in a session, once the player has recorded it.
    pub fn step_trace(&self, session: usize) -> Option<&StepTrace> {
        let step = self.session(session)?.step_trace.as_deref()?;
        (Some(step.id) == self.selected).then_some(step)
    }

    /// Returns the first and the last of the steps that are played over and over.
    pub(crate) fn looped(&self) -> Option<[u64; 2]> {
        self.snapshot.as_ref()?.looped
    }

    pub fn playback(&self) -> Playback {
        self.snapshot.as_ref().map_or(Playback::Paused, |snapshot| snapshot.playback)
    }

    pub fn is_playing(&self) -> bool {
        self.playback() == Playback::Playing
    }
}

/// A request to the landscape tab.
#[derive(Clone, Debug, PartialEq)]
pub enum LandscapeAction {
    /// Replaces the settings under the controls by these.
    Set(Box<SimulationSpec>),
    Play,
    TogglePlay,
    /// Pauses and moves by so many steps, back where the number is negative.
    Step(i64),
    /// Pauses and shows this step, or the last one if it is later.
    Seek(u64),
    Restart,
    /// Applies the lesson step of this index, from 0.
    GoToStep(usize),
    /// Shows the editor of the lesson, or hides it. A preset without a lesson gets one.
    EditLesson,
    /// Saves the start of the session and every change since, so that it can be repeated exactly.
    SaveSession,
    OpenPictureExport,
    OpenFigureExport,
    OpenAnimationExport,
}

/// The player, and the state that was last sent to it.
pub(crate) struct PlayerLink {
    player: Player,
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
    pub(crate) fn start(document: &Document, pace: PlaybackPace, wake: impl Fn() + Send + 'static) -> PlayerLink {
        let specs: Vec<SimulationSpec> = document.specs().cloned().collect();
        let player = Player::spawn(specs[0].clone(), wake);
        player.send(PlayerCommand::Speed(pace.speed()));
        player.send(PlayerCommand::TrailLength(document.view.trail_steps as usize));
        let trail_steps = document.view.trail_steps;
        let mut link = PlayerLink { player, specs, pace, trail_steps, is_held: false, settings: 0 };
        if document.count() > 1 {
            link.load(document);
        }
        link
    }

    /// Sends the player the changes since the last call: settings act in its next step, other changes restart the run.
    /// Returns the reason for a restart.
    pub(crate) fn follow(&mut self, document: &Document, pace: PlaybackPace) -> Option<&'static str> {
        let mut begun_by = None;
        if !self.specs.iter().eq(document.specs()) {
            let has_same_count = self.specs.len() == document.count();
            let settings: Option<Vec<Vec<Setting>>> =
                self.specs.iter().zip(document.specs()).map(|(from, to)| from.settings_to(to)).collect();
            match settings.filter(|_| has_same_count) {
                Some(settings) => {
                    for (index, settings) in settings.into_iter().enumerate() {
                        settings.into_iter().for_each(|setting| self.send(PlayerCommand::Set(index, setting)));
                    }
                    self.specs = document.specs().cloned().collect();
                }
                None => {
                    let changed = self.specs.iter().zip(document.specs()).find(|(from, to)| from != to);
                    begun_by = Some(match changed.filter(|_| has_same_count) {
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
    pub(crate) fn replay(&mut self, document: &mut Document, records: Vec<Record>) {
        for (spec, record) in document.specs_mut().zip(&records) {
            spec.clone_from(&record.spec);
        }
        self.specs = document.specs().cloned().collect();
        self.send(PlayerCommand::Load(records));
    }

    /// Starts `document` at step 0, even if it is unchanged.
    pub(crate) fn load(&mut self, document: &Document) {
        self.specs = document.specs().cloned().collect();
        self.send(PlayerCommand::Load(self.specs.iter().map(unchanged).collect()));
    }

    /// Returns whether a snapshot was made after all settings that were sent.
    pub(crate) fn is_current(&self, snapshot: &Snapshot) -> bool {
        snapshot.settings >= self.settings
    }

    /// Returns the settings that the player has at the shown step, or will have.
    pub(crate) fn specs(&self) -> &[SimulationSpec] {
        &self.specs
    }

    /// Shows the step of an earlier change, after which `in_force` are the settings.
    pub(crate) fn seek_change(&mut self, step: u64, in_force: Vec<SimulationSpec>) {
        self.specs = in_force;
        self.send(PlayerCommand::Seek(step));
    }

    /// Returns whether a playing run is held at its step.
    pub(crate) fn is_held(&self) -> bool {
        self.is_held
    }

    /// Holds a playing run at its step, or releases it.
    pub(crate) fn hold(&mut self, is_held: bool) {
        if self.is_held != is_held {
            self.is_held = is_held;
            self.send(PlayerCommand::Hold(is_held));
        }
    }

    pub(crate) fn send(&mut self, command: PlayerCommand) {
        self.settings += u64::from(command.sets_settings());
        self.player.send(command);
    }

    pub(crate) fn toggle_play(&mut self, playback: Playback) {
        match playback {
            Playback::Playing => self.send(PlayerCommand::Pause),
            Playback::Paused => self.send(PlayerCommand::Play),
            Playback::Finished => {
                self.send(PlayerCommand::Restart);
                self.send(PlayerCommand::Play);
            }
        }
    }

    /// Requests the records of the sessions so far; the receiver gets them.
    pub(crate) fn records(&mut self) -> Receiver<Vec<Record>> {
        let (sender, receiver) = channel();
        self.send(PlayerCommand::Records(sender));
        receiver
    }

    pub(crate) fn next_snapshot(&self) -> Option<Snapshot> {
        self.player.try_snapshot()
    }

    /// Applies the settings in force at the shown step to the document, where they differ from those sent last:
    /// recorded changes were repeated, or another step was sought.
    pub(crate) fn show_settings(&mut self, document: &mut Document, snapshot: &Snapshot) {
        if !self.is_current(snapshot) {
            return;
        }
        let in_force = snapshot.sessions.iter().map(|session| &session.spec);
        for ((sent, shown), in_force) in self.specs.iter_mut().zip(document.specs_mut()).zip(in_force) {
            for setting in sent.settings_to(in_force).unwrap_or_default() {
                if sent.apply(&setting).is_err() || shown.apply(&setting).is_err() {
                    log::warn!("a recorded change does not fit the document: {setting:?}");
                }
            }
        }
    }
}

fn unchanged(spec: &SimulationSpec) -> Record {
    Record { spec: spec.clone(), changes: Vec::new() }
}

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
