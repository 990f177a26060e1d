//! The running simulations as the panels see them, with their branches and marks, and the connection to their thread.

use std::collections::{BTreeMap, BTreeSet};

use egui::Rect;
use valleyscope_engine::simulation::{Change, ParticleId, Record, Setting, SimulationSpec, StepTrace};
use valleyscope_experiments::preset::{LessonDraft, first_step_of_run, marks_at};
use valleyscope_experiments::view::ticks::grouped;

use super::editor::Document;
use crate::app::shell::actions::Requests;
use crate::player::marks::{SettingMark, SettingMarks, text, text_before};
use crate::player::{
    BranchView, EnsembleView, Playback, PlaybackPace, Player, PlayerCommand, RecordedCloud, SessionView, Snapshot,
};

/// The running simulations: the newest snapshot, and the choices of view that are not part of the document.
#[derive(Default)]
pub struct Live {
    /// The newest snapshot. Its `columns` are those since the previous one.
    pub snapshot: Option<Snapshot>,
    /// The marks of each session's changes.
    pub(crate) marks: Vec<SettingMarks>,
    /// The marks of the run that the lesson's step shows.
    pub(crate) run_marks: Vec<RunMark>,
    /// The marks of each branch's changes, by its id.
    pub(crate) branch_marks: BTreeMap<u64, SettingMarks>,
    /// The ids of hidden branches.
    pub(crate) hidden_branches: BTreeSet<u64>,
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
    pub(crate) legend: LegendState,
    /// The duration of a frame while an animation is recorded. The camera then moves by it for each snapshot, not by
    /// the clock.
    pub frame_secs: Option<f32>,
}

impl Live {
    /// Takes the newest snapshot.
    pub fn take(&mut self, snapshot: Snapshot) {
        for branch in &snapshot.branches {
            self.branch_marks.entry(branch.id).or_default().update(&branch.session.record);
        }
        let is_branch = |id: &u64| snapshot.branches.iter().any(|branch| branch.id == *id);
        self.branch_marks.retain(|id, _| is_branch(id));
        self.hidden_branches.retain(is_branch);
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

    /// Returns the document with the settings in force at the shown step of a run of it.
    pub fn in_force(&self, document: &Document) -> Document {
        document.with_settings(self.sessions().iter().map(|session| &*session.spec))
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

    /// Returns the branches of a session, also the hidden ones.
    pub(crate) fn branches_of(&self, session: usize) -> impl Iterator<Item = &BranchView> {
        self.snapshot.iter().flat_map(move |snapshot| snapshot.branches_of(session))
    }

    /// Returns the shown branches of a session, which are drawn pale.
    pub(crate) fn shown_branches_of(&self, session: usize) -> impl Iterator<Item = &BranchView> {
        self.branches_of(session).filter(|branch| !self.hidden_branches.contains(&branch.id))
    }

    /// Returns the id of the branch of a session without all these changes, if there is one.
    pub(crate) fn branch_without(&self, session: usize, changes: &[Change]) -> Option<u64> {
        let leaves_out = |branch: &&BranchView| {
            !branch.removed.is_empty() && changes.iter().all(|change| change.is_among(&branch.removed))
        };
        self.branches_of(session).find(leaves_out).map(|branch| branch.id)
    }

    /// Returns the computed share of the steps of a branch, or `None` if it has reached the shown step.
    pub(crate) fn progress_of(&self, branch: &BranchView) -> Option<f32> {
        let (shown, since, reached) = (self.snapshot.as_ref()?.step, branch.since, branch.session.step);
        let all = shown.saturating_sub(since).max(1) as f32;
        (reached < shown).then(|| (reached.saturating_sub(since) as f32 / all).min(1.0))
    }

    /// Formats what distinguishes a branch from its session, as in "Old future from step 120 · σ stays 1" and "Without σ
    /// 1 → 2 at step 500".
    pub(crate) fn label_of(&self, branch: &BranchView, spec: &SimulationSpec) -> String {
        let difference = self.difference_of(branch, spec);
        if !branch.removed.is_empty() {
            return difference;
        }
        let from = format!("Old future from step {}", grouped(branch.since));
        if difference.is_empty() { from } else { format!("{from} · {difference}") }
    }

    /// Formats the same in few words, with the difference first, as in "σ stays 1, from step 120".
    pub(crate) fn short_label_of(&self, branch: &BranchView, spec: &SimulationSpec) -> String {
        let (difference, since) = (self.difference_of(branch, spec), grouped(branch.since));
        match difference.is_empty() {
            true => format!("From step {since}"),
            false if branch.removed.is_empty() => format!("{difference}, from step {since}"),
            false => difference,
        }
    }

    /// Formats the settings that distinguish a branch from its session; empty if there are none.
    fn difference_of(&self, branch: &BranchView, spec: &SimulationSpec) -> String {
        let BranchView { id, of, since, removed, .. } = branch;
        let session = self.marks_of(*of);
        let name_of = |id| spec.name_of(id);
        let in_line = |text: String| text.replace('\n', ", ");
        let at = |marks: &[SettingMark]| grouped(marks.first().map_or(0, |mark| mark.step));
        if !removed.is_empty() {
            let marks = session.of_changes(removed);
            return format!("Without {} at step {}", in_line(text(&marks, name_of)), at(&marks));
        }
        let own = self.branch_marks.get(id).map_or(&[][..], |marks| marks.first_from(*since));
        match own.is_empty() {
            true => in_line(text_before(session.first_from(*since), name_of)),
            false => format!("{} at step {}", in_line(text(own, name_of)), at(own)),
        }
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

/// The state of the legend between frames.
#[derive(Default)]
pub(crate) struct LegendState {
    /// The ids of the optimizers in the order of the rows.
    pub order: Vec<u32>,
    /// Whether all rows are shown, however many they are.
    pub is_unfolded: bool,
    /// The area of the last frame. Rows do not change places while the pointer is on them.
    pub area: Option<Rect>,
}

/// A marked step of a run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RunMark {
    pub step: u64,
    pub text: String,
    /// Whether the run pauses there.
    pub is_pause: bool,
    /// False where the lesson names the step for other settings than those of the run.
    pub holds: bool,
}

impl RunMark {
    /// Returns the step and the text, as in "Step 300: Adam starves".
    pub(crate) fn description(&self) -> String {
        let note = if self.holds { "" } else { " (with the lesson's settings)" };
        format!("Step {}: {}{note}", grouped(self.step), self.text)
    }
}

/// Returns the marks of the run at a step of a lesson, in the order of their steps. `pause` is where the run pauses by
/// the settings under the controls. The named marks hold if the run has the settings of the lesson.
pub(crate) fn run_marks(lesson: &LessonDraft, lesson_step: usize, pause: Option<u64>, holds: bool) -> Vec<RunMark> {
    let earlier = first_step_of_run(&lesson.steps, lesson_step)..lesson_step;
    let mut pauses: Vec<u64> = earlier.filter_map(|step| lesson.pause(step)).chain(pause).collect();
    pauses.sort_unstable();
    pauses.dedup();
    let pauses = pauses.into_iter().map(|step| RunMark { step, text: "pause".to_owned(), is_pause: true, holds: true });
    let named = marks_at(&lesson.steps, lesson_step).into_iter();
    let named = named.map(|mark| RunMark { step: mark.step, text: mark.text.clone(), is_pause: false, holds });
    let mut marks: Vec<RunMark> = named.chain(pauses).collect();
    marks.sort_by_key(|mark| mark.step);
    marks
}

/// The player, and the state that was last sent to it.
pub(crate) struct PlayerLink {
    player: Player,
    specs: Vec<SimulationSpec>,
    pace: PlaybackPace,
    trail_steps: u32,
    /// The particle whose steps the player records.
    traced: Option<ParticleId>,
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
        player.send(PlayerCommand::Speed(pace));
        player.send(PlayerCommand::TrailLength(document.view.trail_steps as usize));
        let trail_steps = document.view.trail_steps;
        let mut link = PlayerLink { player, specs, pace, trail_steps, traced: None, is_held: false, settings: 0 };
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
            self.send(PlayerCommand::Speed(pace));
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
        if let PlayerCommand::Select(particle) = &command {
            self.traced = *particle;
        }
        self.player.send(command);
    }

    /// Records the steps of a particle.
    pub(crate) fn trace(&mut self, particle: Option<ParticleId>) {
        if self.traced != particle {
            self.send(PlayerCommand::Select(particle));
        }
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

/// Returns the settings of a session in force after the changes up to a step.
pub(super) fn in_force_until(record: &Record, step: u64) -> SimulationSpec {
    let mut in_force = record.spec.clone();
    for change in record.changes.iter().take_while(|change| change.step <= step) {
        // The session was made with the change, so it fits.
        let _ = in_force.apply(&change.set);
    }
    in_force
}

#[cfg(test)]
mod tests {
    use valleyscope_experiments::preset::Preset;

    use super::*;

    #[test]
    fn a_run_keeps_its_marks_and_pauses_while_it_goes_on() {
        let text = r#"Landscape(version: 1, title: "A lesson",
            simulations: [(spec: (noise: 0.0, optimizers: [(id: 0, rule: Adam(learning_rate: 0.01))]))],
            lesson: [
                (text: "One.", set: [Noise(1.0), Steps(100)], marks: [(step: 50, text: "half")]),
                (text: "Two.", set: [Steps(200)], marks: [(step: 20, text: "early")]),
                (text: "Three.", set: [Noise(2.0)]),
            ])"#;
        let Ok(Preset::Landscape(preset)) = Preset::parse(text, "test") else { panic!("it is a landscape") };
        let lesson = LessonDraft::of(&preset);
        let description =
            |step, pause| run_marks(&lesson, step, pause, true).iter().map(RunMark::description).collect::<Vec<_>>();
        assert_eq!(description(0, Some(100)), ["Step 50: half", "Step 100: pause"]);
        let both = ["Step 20: early", "Step 50: half", "Step 100: pause", "Step 200: pause"];
        assert_eq!(description(1, Some(200)), both);
        assert_eq!(description(2, Some(200)), ["Step 200: pause"]);
        assert_eq!(description(2, None), [""; 0]);
    }
}
