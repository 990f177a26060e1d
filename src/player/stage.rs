//! The sessions of a player, all on one clock.

use std::sync::Arc;
use std::time::{Duration, Instant};

use valleyscope_engine::optimizer::Schedule;
use valleyscope_engine::simulation::{
    Change, ParticleId, PlotRequest, Record, Setting, SettingError, Simulation, SimulationSpec, Timeline,
};

use super::OptimizerHistory;
use super::session::Session;
use super::snapshot::{SessionKind, SessionView};

/// The most old futures and sessions without a change. The oldest gives way to another one: each keeps up to 64 MiB of
/// keyframes, and its histories.
const MOST_BRANCHES: usize = 4;

/// One to four sessions side by side, the first of which is the clock of all, and the branches of these sessions.
pub(super) struct Stage {
    /// The sessions side by side, with their ids.
    beside: Vec<(u64, Session)>,
    branches: Vec<Branch>,
    next_id: u64,
    selected: Option<ParticleId>,
    trail_length: usize,
}

/// An old future, or a session without some changes.
struct Branch {
    id: u64,
    kind: SessionKind,
    session: Session,
}

impl Stage {
    pub(super) fn new(spec: SimulationSpec) -> Stage {
        let mut stage = Stage { beside: Vec::new(), branches: Vec::new(), next_id: 0, selected: None, trail_length: 0 };
        stage.load(vec![Record { spec, changes: Vec::new() }]);
        stage
    }

    /// Begins these sessions at step 0.
    pub(super) fn load(&mut self, records: Vec<Record>) {
        self.branches.clear();
        self.beside.clear();
        for record in records {
            let mut session = Session::new(Timeline::replay(record), self.trail_length);
            session.select(self.selected);
            let id = self.new_id();
            self.beside.push((id, session));
        }
    }

    /// Begins all sessions again with the settings in force.
    pub(super) fn restart(&mut self) {
        let spec = |(_, session): &(u64, Session)| session.simulation().spec().clone();
        self.load(self.beside.iter().map(|it| Record { spec: spec(it), changes: Vec::new() }).collect());
    }

    fn new_id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }

    /// Returns the session whose step all others follow.
    pub(super) fn first(&self) -> &Session {
        &self.beside[0].1
    }

    pub(super) fn simulation(&self) -> &Simulation {
        self.first().simulation()
    }

    pub(super) fn step(&self) -> u64 {
        self.first().step()
    }

    fn sessions_mut(&mut self) -> impl Iterator<Item = &mut Session> {
        let branches = self.branches.iter_mut().map(|branch| &mut branch.session);
        self.beside.iter_mut().map(|(_, session)| session).chain(branches)
    }

    /// Takes a step in the first session, and in all others that have reached its step.
    pub(super) fn take_step(&mut self) {
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

    /// Returns whether a session has yet to reach the first one's step.
    pub(super) fn is_behind(&self) -> bool {
        let step = self.step();
        self.beside.iter().any(|(_, session)| session.step() < step)
            || self.branches.iter().any(|branch| branch.session.step() < step)
    }

    /// Shows a step that the first session has reached in all sessions, as far as they have reached it.
    pub(super) fn seek(&mut self, step: u64) {
        let step = step.min(self.first().last_step());
        self.sessions_mut().for_each(|session| session.seek(step));
    }

    /// Changes a setting of the session at this place. The branches without some of its changes follow.
    pub(super) fn set(&mut self, place: usize, setting: &Setting) -> Result<(), SettingError> {
        let Some((_, session)) = self.beside.get_mut(place) else { return Ok(()) };
        let step = session.step();
        let mut after = session.simulation().spec().clone();
        after.apply(setting)?;
        let old = (step < session.last_step() && is_another_future(session, &after)).then(|| session.clone());
        session.apply(setting)?;
        if let Some(old) = old {
            self.add_old_future(place, step, old);
        }
        self.renew_without(place);
        Ok(())
    }

    /// Brings the sessions without some changes of the session at this place up to date with it. Those whose changes it
    /// has no more are removed.
    fn renew_without(&mut self, place: usize) {
        let session = &self.beside[place].1;
        let is_without = |branch: &Branch| matches!(branch.kind, SessionKind::Without { of, .. } if of == place);
        if !self.branches.iter().any(is_without) {
            return;
        }
        let record = session.whole_record();
        self.branches.retain_mut(|branch| {
            let SessionKind::Without { of, removed } = &branch.kind else { return true };
            if *of != place {
                return true;
            }
            let is_of_session = removed.iter().all(|change| change.is_among(&record.changes));
            if is_of_session && !branch.session.follow(&record.without(removed)) {
                branch.session = session.without(removed);
            }
            is_of_session
        });
    }

    /// Adds the session at this place without some of its changes, unless that is here already.
    pub(super) fn add_without(&mut self, place: usize, removed: Vec<Change>) {
        let Some((_, session)) = self.beside.get_mut(place) else { return };
        let record = session.record();
        let is_of_session = !removed.is_empty() && removed.iter().all(|change| change.is_among(&record.changes));
        let kind = SessionKind::Without { of: place, removed };
        if !is_of_session || self.branches.iter().any(|branch| branch.kind == kind) {
            return;
        }
        let SessionKind::Without { removed, .. } = &kind else { return };
        let without = self.beside[place].1.without(removed);
        self.add_branch(kind, without);
    }

    /// Keeps a session that was replaced at this place, from which the present one differs since a step.
    fn add_old_future(&mut self, place: usize, since: u64, old: Session) {
        // Older futures have no more in common with the present session.
        for branch in &mut self.branches {
            if let SessionKind::OldFuture { of, since: other } = &mut branch.kind
                && *of == place
            {
                *other = since.min(*other);
            }
        }
        self.add_branch(SessionKind::OldFuture { of: place, since }, old);
    }

    /// Adds a branch, whose trails are not drawn.
    fn add_branch(&mut self, kind: SessionKind, mut session: Session) {
        if self.branches.len() == MOST_BRANCHES {
            self.branches.remove(0);
        }
        session.set_trail_length(0);
        let id = self.new_id();
        self.branches.push(Branch { id, kind, session });
    }

    /// Puts the branch with this id at the place to which it belongs. The session there becomes an old future.
    pub(super) fn go_back_to(&mut self, id: u64) {
        let Some(index) = self.branches.iter().position(|branch| branch.id == id) else { return };
        let Branch { kind, session, .. } = self.branches.remove(index);
        let Some((place, since)) = kind.branch() else { return };
        let Some((_, present)) = self.beside.get_mut(place) else { return };
        let old = std::mem::replace(present, session);
        present.set_trail_length(self.trail_length);
        present.retake_trails();
        self.renew_without(place);
        self.add_old_future(place, since, old);
        // The session may have yet to reach the step of the clock, which it becomes at the first place.
        let step = self.step();
        self.sessions_mut().for_each(|session| session.seek(step));
    }

    /// Removes the branch with this id.
    pub(super) fn remove(&mut self, id: u64) {
        self.branches.retain(|branch| branch.id != id);
    }

    pub(super) fn select(&mut self, selected: Option<ParticleId>) {
        self.selected = selected;
        self.sessions_mut().for_each(|session| session.select(selected));
    }

    pub(super) fn set_trail_length(&mut self, length: usize) {
        self.trail_length = length;
        self.beside.iter_mut().for_each(|(_, session)| session.set_trail_length(length));
    }

    /// Returns the number of particles that take a step together.
    pub(super) fn particles(&self) -> usize {
        let branches = self.branches.iter().map(|branch| branch.session.particles());
        self.beside.iter().map(|(_, session)| session.particles()).chain(branches).sum()
    }

    /// Returns the histories of the sessions side by side.
    pub(super) fn histories(&self) -> Vec<OptimizerHistory> {
        let sessions = self.beside.iter().enumerate();
        let histories = sessions.flat_map(|(place, (_, session))| {
            let simulation = session.simulation();
            let ensembles = simulation.ensembles().iter().zip(simulation.histories());
            ensembles.map(move |(ensemble, history)| OptimizerHistory {
                place,
                optimizer: ensemble.optimizer(),
                buckets: history.finest(),
            })
        });
        histories.collect()
    }

    pub(super) fn first_mut(&mut self) -> &mut Session {
        &mut self.beside[0].1
    }

    /// Returns the states of all sessions but the first.
    pub(super) fn others(&mut self, plot: &PlotRequest) -> Vec<SessionView> {
        let beside = self.beside.iter_mut().enumerate().skip(1);
        let beside = beside.map(|(place, (id, session))| view(*id, SessionKind::Beside { place }, session, plot));
        let branches = self.branches.iter_mut();
        let branches = branches.map(|branch| view(branch.id, branch.kind.clone(), &mut branch.session, plot));
        beside.chain(branches).collect()
    }
}

/// Returns whether a session takes another course with these settings from its present step on, or has later changes,
/// which it would lose.
fn is_another_future(session: &Session, after: &SimulationSpec) -> bool {
    let before = session.simulation().spec();
    let is_moved = SimulationSpec { steps: before.steps, ..after.clone() } != *before;
    // The step of the next pause moves nothing, unless the decay of a learning rate ends there.
    let schedules = |spec: &SimulationSpec| -> Vec<Schedule> {
        spec.optimizers.iter().map(|optimizer| optimizer.rule.schedule.over(spec.steps)).collect()
    };
    let has_later = || session.whole_record().changes.last().is_some_and(|change| change.step > session.step());
    is_moved || schedules(before) != schedules(after) || has_later()
}

fn view(id: u64, kind: SessionKind, session: &mut Session, plot: &PlotRequest) -> SessionView {
    SessionView {
        id,
        kind,
        step: session.step(),
        last_step: session.last_step(),
        spec: Arc::new(session.simulation().spec().clone()),
        record: session.record(),
        step_trace: session.simulation().step_trace(),
        ensembles: session.views(plot),
    }
}
