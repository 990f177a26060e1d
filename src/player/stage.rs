//! The sessions of a player, all on one clock, with the data for drawing them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use valleyscope_engine::optimizer::Schedule;
use valleyscope_engine::simulation::{
    Bucket, Change, Ensemble, ParticleId, PlotRequest, Record, Sample, Setting, SettingError, Simulation,
    SimulationSpec, Timeline,
};

use super::message::{Branch, EnsembleView, OptimizerHistory, Playback, SessionView, Snapshot};
use super::recorded::{RecordedCloud, RecordedEnsemble};
use super::trail::{Drawing, MeanPath, Trail, trail_columns};

/// The largest number of old futures and sessions without a change. A new one replaces the oldest: each stores up to 64
/// MiB of keyframes, and its histories.
const MOST_BRANCHES: usize = 4;

/// One to four compared sessions, the first of which sets the clock, and the branches of these sessions.
#[derive(Default)]
pub(crate) struct Stage {
    /// The compared sessions; at least one.
    sessions: Vec<Session>,
    branches: Vec<Branch<Session>>,
    last_id: u64,
    /// The recorded clouds, which all compared sessions show.
    recorded: Vec<RecordedCloud>,
    selected: Option<ParticleId>,
    trail_length: usize,
}

impl Stage {
    pub(super) fn new(spec: SimulationSpec) -> Stage {
        let mut stage = Stage::default();
        stage.load(vec![Record { spec, changes: Vec::new() }]);
        stage
    }

    /// Begins these sessions at step 0.
    pub(crate) fn load(&mut self, records: Vec<Record>) {
        self.branches.clear();
        let session = |record| {
            let mut session = Session::new(Timeline::replay(record), self.trail_length);
            session.select(self.selected);
            session.set_recorded(&self.recorded);
            session
        };
        self.sessions = records.into_iter().map(session).collect();
    }

    /// Begins all sessions again with the settings in force.
    pub(super) fn restart(&mut self) {
        let unchanged = |session: &Session| Record { spec: session.simulation().spec().clone(), changes: Vec::new() };
        self.load(self.sessions.iter().map(unchanged).collect());
    }

    /// The session whose step all others follow.
    pub(super) fn first(&self) -> &Session {
        &self.sessions[0]
    }

    pub(super) fn simulation(&self) -> &Simulation {
        self.first().simulation()
    }

    pub(crate) fn step(&self) -> u64 {
        self.first().step()
    }

    fn all_sessions(&self) -> impl Iterator<Item = &Session> {
        self.sessions.iter().chain(self.branches.iter().map(|branch| &branch.session))
    }

    fn sessions_mut(&mut self) -> impl Iterator<Item = &mut Session> {
        let branches = self.branches.iter_mut().map(|branch| &mut branch.session);
        self.sessions.iter_mut().chain(branches)
    }

    /// Takes a step in the first session, and in all others that have reached its step.
    pub(crate) fn take_step(&mut self) {
        let step = self.step();
        self.sessions_mut().filter(|session| session.step() == step).for_each(Session::take_step);
    }

    /// Takes steps in the sessions that have yet to reach the first one's step, for at most this time.
    pub(super) fn catch_up(&mut self, most: Duration) {
        let (step, begin) = (self.step(), Instant::now());
        for session in self.sessions_mut() {
            session.seek(step);
            while session.step() < step && begin.elapsed() < most {
                session.take_step();
            }
        }
    }

    /// Whether a session has yet to reach the first one's step.
    pub(super) fn is_behind(&self) -> bool {
        let step = self.step();
        self.all_sessions().any(|session| session.step() < step)
    }

    /// Shows a step that the first session has reached in all sessions, as far as they have reached it.
    pub(super) fn seek(&mut self, step: u64) {
        let step = step.min(self.first().last_step());
        self.sessions_mut().for_each(|session| session.seek(step));
    }

    /// Changes a setting of the session of this index, and updates the branches without some of its changes.
    pub(super) fn set(&mut self, index: usize, setting: &Setting) -> Result<(), SettingError> {
        let Some(session) = self.sessions.get_mut(index) else { return Ok(()) };
        let step = session.step();
        let mut after = session.simulation().spec().clone();
        after.apply(setting)?;
        let old = (step < session.last_step() && is_another_future(session, &after)).then(|| session.clone());
        session.apply(setting)?;
        if let Some(old) = old {
            self.add_old_future(index, step, old);
        }
        self.renew_without(index);
        Ok(())
    }

    /// Updates the branches without some changes of the session of this index. Branches whose removed changes the
    /// session no longer has are dropped.
    fn renew_without(&mut self, index: usize) {
        let session = &self.sessions[index];
        let is_without = |branch: &Branch<Session>| branch.of == index && !branch.removed.is_empty();
        if !self.branches.iter().any(is_without) {
            return;
        }
        let record = session.whole_record();
        self.branches.retain_mut(|branch| {
            let is_of_session = branch.removed.iter().all(|change| change.is_among(&record.changes));
            if is_without(branch) && is_of_session && !branch.session.follow(&record.without(&branch.removed)) {
                branch.session = session.without(&branch.removed);
            }
            !is_without(branch) || is_of_session
        });
    }

    /// Adds the session of this index without some of its changes, unless there is such a branch.
    pub(super) fn add_without(&mut self, index: usize, removed: Vec<Change>) {
        let Some(session) = self.sessions.get_mut(index) else { return };
        let record = session.record();
        let is_of_session = removed.iter().all(|change| change.is_among(&record.changes));
        let is_known = self.branches.iter().any(|branch| branch.of == index && branch.removed == removed);
        if let Some(since) = removed.iter().map(|change| change.step).min()
            && is_of_session
            && !is_known
        {
            let without = session.without(&removed);
            self.add_branch(index, since, removed, without);
        }
    }

    /// Adds a session that was replaced as a branch of the one of this index, from which it differs since a step.
    fn add_old_future(&mut self, index: usize, since: u64, old: Session) {
        // Older futures share no more steps with the current session.
        for branch in self.branches.iter_mut().filter(|branch| branch.of == index && branch.removed.is_empty()) {
            branch.since = branch.since.min(since);
        }
        self.add_branch(index, since, Vec::new(), old);
    }

    /// Adds a branch, whose trails are not drawn.
    fn add_branch(&mut self, of: usize, since: u64, removed: Vec<Change>, mut session: Session) {
        if self.branches.len() == MOST_BRANCHES {
            self.branches.remove(0);
        }
        session.set_recorded(&[]);
        session.set_trail_length(0);
        self.last_id += 1;
        self.branches.push(Branch { id: self.last_id, of, since, removed, session });
    }

    /// Replaces the session of the branch with this id by the branch; the session becomes an old future.
    pub(super) fn go_back_to(&mut self, id: u64) {
        let Some(found) = self.branches.iter().position(|branch| branch.id == id) else { return };
        let Branch { of: index, since, session, .. } = self.branches.remove(found);
        let Some(present) = self.sessions.get_mut(index) else { return };
        let old = std::mem::replace(present, session);
        present.set_recorded(&self.recorded);
        present.set_trail_length(self.trail_length);
        present.retake_trails();
        self.renew_without(index);
        self.add_old_future(index, since, old);
        // The session may have yet to reach the step of the clock, which the first one sets.
        let step = self.step();
        self.sessions_mut().for_each(|session| session.seek(step));
    }

    pub(super) fn remove(&mut self, id: u64) {
        self.branches.retain(|branch| branch.id != id);
    }

    /// Shows these recorded clouds beside the ensembles of the compared sessions.
    pub(crate) fn set_recorded(&mut self, clouds: Vec<RecordedCloud>) {
        self.sessions.iter_mut().for_each(|session| session.set_recorded(&clouds));
        self.recorded = clouds;
    }

    pub(crate) fn select(&mut self, selected: Option<ParticleId>) {
        self.selected = selected;
        self.sessions_mut().for_each(|session| session.select(selected));
    }

    pub(crate) fn set_trail_length(&mut self, length: usize) {
        self.trail_length = length;
        self.sessions.iter_mut().for_each(|session| session.set_trail_length(length));
    }

    pub(super) fn particles(&self) -> usize {
        self.all_sessions().map(Session::particles).sum()
    }

    pub(super) fn histories(&self) -> Vec<OptimizerHistory> {
        let histories = self.sessions.iter().enumerate().flat_map(|(index, session)| {
            let simulation = session.simulation();
            let ensembles = simulation.ensembles().iter().zip(simulation.histories());
            let recorded = session.recorded.iter().map(|recorded| (&recorded.ensemble, &recorded.history));
            ensembles.chain(recorded).map(move |(ensemble, history)| OptimizerHistory {
                session: index,
                optimizer: ensemble.optimizer(),
                buckets: history.finest(),
            })
        });
        histories.collect()
    }

    /// Makes a snapshot of all sessions, with the positions since the last one, at rest in the first run.
    pub(crate) fn snapshot(&mut self, plot: &PlotRequest) -> Snapshot {
        let view = |branch: &mut Branch<Session>| {
            let Branch { id, of, since, ref removed, ref mut session } = *branch;
            Branch { id, of, since, removed: removed.clone(), session: session.view(plot) }
        };
        Snapshot {
            run: 0,
            track: 0,
            step: self.step(),
            last_step: self.first().last_step(),
            playback: Playback::Paused,
            looped: None,
            settings: 0,
            steps_per_sec: 0.0,
            particle_steps_per_sec: 0.0,
            sessions: self.sessions.iter_mut().map(|session| session.view(plot)).collect(),
            branches: self.branches.iter_mut().map(view).collect(),
        }
    }
}

/// Whether a session continues differently with these settings from its current step on, or has later changes, which it
/// would lose.
fn is_another_future(session: &Session, after: &SimulationSpec) -> bool {
    let before = session.simulation().spec();
    let is_moved = SimulationSpec { steps: before.steps, ..after.clone() } != *before;
    // The step of the next pause moves no particle, unless the decay of a learning rate ends there.
    let schedules = |spec: &SimulationSpec| -> Vec<Schedule> {
        spec.optimizers.iter().map(|optimizer| optimizer.rule.schedule.over(spec.steps)).collect()
    };
    let has_later = || session.whole_record().changes.last().is_some_and(|change| change.step > session.step());
    is_moved || schedules(before) != schedules(after) || has_later()
}

/// A timeline with its trails, its mean paths and its record.
#[derive(Clone)]
pub(super) struct Session {
    timeline: Timeline,
    drawings: Vec<Drawing>,
    recorded: Vec<RecordedEnsemble>,
    trail_length: usize,
    /// The record of the session, and whether it has changed since it was made.
    record: Arc<Record>,
    is_record_old: bool,
}

impl Session {
    pub(super) fn new(timeline: Timeline, trail_length: usize) -> Session {
        let record = Arc::new(timeline.record());
        let (drawings, recorded) = (Vec::new(), Vec::new());
        let mut session = Session { timeline, drawings, recorded, trail_length, record, is_record_old: false };
        let capacity = session.trail_capacity();
        let drawing = |ensemble| {
            let mut mean_path = MeanPath::new();
            mean_path.extend_to(0, Ensemble::mean_position(ensemble));
            Drawing { trail: Trail::new(ensemble, capacity), mean_path }
        };
        session.drawings = session.simulation().ensembles().iter().map(drawing).collect();
        session
    }

    /// Makes this session without some of its changes, at a step before the first of them. Its trails have one
    /// position.
    pub(super) fn without(&self, removed: &[Change]) -> Session {
        let timeline = self.timeline.without(removed);
        let simulation = timeline.simulation();
        let drawing = |(drawing, ensemble): (&Drawing, &Ensemble)| {
            let mut mean_path = drawing.mean_path.clone();
            mean_path.cut_after(simulation.step());
            Drawing { trail: Trail::new(ensemble, 1), mean_path }
        };
        let drawings = self.drawings.iter().zip(simulation.ensembles()).map(drawing).collect();
        let record = Arc::clone(&self.record);
        Session { timeline, drawings, recorded: Vec::new(), trail_length: 0, record, is_record_old: true }
    }

    /// Adopts the changes of a record that repeats this session up to the last step reached; returns false for another
    /// record.
    pub(super) fn follow(&mut self, record: &Record) -> bool {
        self.is_record_old = true;
        self.timeline.follow(record)
    }

    pub(super) fn simulation(&self) -> &Simulation {
        self.timeline.simulation()
    }

    pub(super) fn step(&self) -> u64 {
        self.simulation().step()
    }

    pub(super) fn last_step(&self) -> u64 {
        self.timeline.last_step()
    }

    pub(super) fn take_step(&mut self) {
        // Changes of a replayed session become part of the record as they are made.
        self.is_record_old |= self.simulation().is_replaying();
        self.timeline.advance();
        let simulation = self.timeline.simulation();
        for (drawing, ensemble) in self.drawings.iter_mut().zip(simulation.ensembles()) {
            drawing.trail.push(ensemble);
            drawing.mean_path.extend_to(simulation.step(), ensemble.mean_position());
        }
    }

    /// Shows a step that was reached, or the last one if `step` is later, with its trails.
    pub(super) fn seek(&mut self, step: u64) {
        let step = step.min(self.last_step());
        if step == self.step() {
            return;
        }
        let capacity = self.trail_capacity();
        self.timeline.seek(step.saturating_sub(capacity.saturating_sub(1) as u64));
        for (drawing, ensemble) in self.drawings.iter_mut().zip(self.timeline.simulation().ensembles()) {
            drawing.trail = Trail::new(ensemble, capacity);
        }
        self.recorded.iter_mut().for_each(|recorded| recorded.trail_end = None);
        while self.step() < step {
            self.take_step();
        }
    }

    /// Changes a setting before the next step. At a step of the past, the later steps are removed first.
    pub(super) fn apply(&mut self, setting: &Setting) -> Result<(), SettingError> {
        self.timeline.apply(setting)?;
        let last_step = self.last_step();
        self.drawings.iter_mut().for_each(|drawing| drawing.mean_path.cut_after(last_step));
        self.is_record_old = true;
        Ok(())
    }

    pub(super) fn select(&mut self, selected: Option<ParticleId>) {
        self.timeline.select(selected);
    }

    /// Shows these recorded clouds beside the ensembles. Those that are shown already stay as they are.
    pub(super) fn set_recorded(&mut self, clouds: &[RecordedCloud]) {
        let mut before = std::mem::take(&mut self.recorded);
        let shown = |cloud: &RecordedCloud| match before.iter().position(|recorded| recorded.is_of(cloud)) {
            Some(known) => before.swap_remove(known),
            None => RecordedEnsemble::new(cloud.clone()),
        };
        self.recorded = clouds.iter().map(shown).collect();
        // All particles share the room for trails.
        self.set_trail_length(self.trail_length);
    }

    pub(super) fn set_trail_length(&mut self, length: usize) {
        self.trail_length = length;
        let capacity = self.trail_capacity();
        self.drawings.iter_mut().for_each(|drawing| drawing.trail.set_capacity(capacity));
    }

    /// Takes the steps of the trails again, for a session whose trails were shorter.
    pub(super) fn retake_trails(&mut self) {
        let step = self.step();
        self.seek(step.saturating_sub(1));
        self.seek(step);
    }

    /// Records the session's start and its changes up to the last step.
    pub(super) fn record(&mut self) -> Arc<Record> {
        if std::mem::take(&mut self.is_record_old) {
            self.record = Arc::new(self.timeline.record());
        }
        Arc::clone(&self.record)
    }

    /// Records the session's start and all its changes, also those of a replayed session that are yet to be repeated.
    pub(super) fn whole_record(&self) -> Record {
        self.timeline.whole_record()
    }

    pub(super) fn particles(&self) -> usize {
        self.simulation().ensembles().iter().map(Ensemble::particles).sum()
    }

    /// Makes the session's state, with the positions since the last call.
    fn view(&mut self, plot: &PlotRequest) -> SessionView {
        SessionView {
            step: self.step(),
            last_step: self.last_step(),
            spec: Arc::new(self.simulation().spec().clone()),
            record: self.record(),
            step_trace: self.simulation().step_trace(),
            ensembles: self.ensemble_views(plot),
        }
    }

    fn ensemble_views(&mut self, plot: &PlotRequest) -> Vec<EnsembleView> {
        let (last_step, columns) = (self.last_step(), self.trail_capacity());
        let simulation = self.timeline.simulation();
        let step = simulation.step();
        let ensembles = simulation.ensembles().iter().zip(simulation.present_samples()).zip(simulation.histories());
        let simulated = ensembles
            .zip(&mut self.drawings)
            .map(|(((ensemble, sample), history), drawing)| drawing.view(step, ensemble, sample, history.view(plot)));
        let recorded = self.recorded.iter_mut().map(|recorded| {
            let sample = recorded.follow(simulation, last_step, columns);
            recorded.drawing.view(step, &recorded.ensemble, sample, recorded.history.view(plot))
        });
        simulated.chain(recorded).collect()
    }

    fn trail_capacity(&self) -> usize {
        let recorded: usize = self.recorded.iter().map(|recorded| recorded.ensemble.particles()).sum();
        trail_columns(self.trail_length, self.particles() + recorded)
    }
}

impl Drawing {
    /// Makes the data of an ensemble at a step, with its positions since the last call.
    fn view(&mut self, step: u64, ensemble: &Ensemble, sample: Sample, plot: Vec<Bucket>) -> EnsembleView {
        EnsembleView {
            optimizer: ensemble.optimizer(),
            rule: *ensemble.rule(),
            particles: ensemble.particles(),
            columns: Arc::new(self.trail.take()),
            mean_path: Arc::new(self.mean_path.path_to(step, ensemble.mean_position())),
            sample,
            plot,
        }
    }
}
