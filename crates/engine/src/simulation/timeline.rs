//! A simulation that returns to its earlier steps.

use super::model::{Keyframe, Simulation};
use super::spec::{Change, Record, Setting, SettingError, SimulationSpec};
use super::step_trace::ParticleId;

/// The most memory of all keyframes together, in bytes. A single keyframe may exceed it.
const BUDGET: usize = 64 << 20;
/// The first number of steps from one keyframe to the next.
const FIRST_SPACING: u64 = 64;

/// A simulation whose steps so far can be shown again, with the same bits.
///
/// A seek restores the last keyframe before the step and takes the steps from there. A keyframe holds the particles,
/// their random streams, the optimizers' states and the settings in force; it is stored every 64 steps at first. When
/// all keyframes together take more than 64 MiB, every other one is removed and the spacing doubles. Four optimizers of
/// 1,000 particles take about 0.3 MiB per keyframe: in 10⁵ steps the spacing grows to 512. `cargo bench
/// --bench simulation seek` measures seeks among them.
///
/// Recorded changes are repeated at their steps. A change at an earlier step begins a new future: the later steps and
/// changes are removed.
#[derive(Clone, Debug)]
pub struct Timeline {
    simulation: Simulation,
    /// The keyframes in the order of their steps, the first of them at step 0.
    keyframes: Vec<Keyframe>,
    /// The number of steps from one keyframe to the next.
    spacing: u64,
    /// The size of all keyframes in bytes.
    bytes: usize,
    selected: Option<ParticleId>,
}

impl Timeline {
    /// Creates a simulation at step 0.
    pub fn new(spec: SimulationSpec) -> Self {
        Timeline::of(Simulation::new(spec))
    }

    /// Creates the start of a recorded session, whose changes will be made again at their steps.
    pub fn replay(record: Record) -> Self {
        Timeline::of(Simulation::replay(record))
    }

    fn of(simulation: Simulation) -> Self {
        Timeline { simulation, keyframes: Vec::new(), spacing: FIRST_SPACING, bytes: 0, selected: None }
    }

    /// Returns the simulation at the present step; its histories extend to the last one.
    pub fn simulation(&self) -> &Simulation {
        &self.simulation
    }

    /// Returns the last step that was reached.
    pub fn last_step(&self) -> u64 {
        self.simulation.last_step()
    }

    /// Returns the size of all keyframes in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Takes one step: a step of the past once more, or a new one.
    pub fn advance(&mut self) {
        let step = self.simulation.step();
        if step == self.last_step() && step.is_multiple_of(self.spacing) {
            self.store_keyframe();
        }
        self.simulation.advance();
    }

    fn store_keyframe(&mut self) {
        let keyframe = self.simulation.keyframe();
        self.bytes += keyframe.bytes();
        self.keyframes.push(keyframe);
        while self.bytes > BUDGET && self.keyframes.len() > 1 {
            self.spacing *= 2;
            self.retain(|keyframe, spacing| keyframe.step.is_multiple_of(spacing));
        }
    }

    fn retain(&mut self, is_kept: impl Fn(&Keyframe, u64) -> bool) {
        self.keyframes.retain(|keyframe| is_kept(keyframe, self.spacing));
        self.bytes = self.keyframes.iter().map(Keyframe::bytes).sum();
    }

    /// Shows a step of the past again, or the last one if `step` is later. The record of the selected particle's step is
    /// the same as when the run took it.
    pub fn seek(&mut self, step: u64) {
        let step = step.min(self.last_step());
        let present = self.simulation.step();
        let before = self.keyframes.get(self.keyframe_before(step));
        if let Some(keyframe) = before.filter(|keyframe| present > step || keyframe.step > present) {
            self.simulation.return_to(keyframe);
            self.simulation.select(self.selected);
        }
        while self.simulation.step() < step {
            self.simulation.advance();
        }
    }

    /// Returns the index of the last keyframe from which `step` is reached by a step, or that of step 0.
    fn keyframe_before(&self, step: u64) -> usize {
        self.keyframes.partition_point(|keyframe| keyframe.step < step).saturating_sub(1)
    }

    /// Changes a setting before the next step. At a step of the past, the later steps and all their changes are removed
    /// first.
    pub fn apply(&mut self, setting: &Setting) -> Result<(), SettingError> {
        self.simulation.spec().clone().apply(setting)?;
        self.remove_future();
        self.simulation.apply(setting)
    }

    fn remove_future(&mut self) {
        let step = self.simulation.step();
        if step == self.last_step() {
            return;
        }
        let before = self.keyframe_before(step);
        self.simulation.begin_anew_at(&self.keyframes[before]);
        self.simulation.select(self.selected);
        while self.simulation.step() < step {
            self.simulation.advance();
        }
        self.spacing = FIRST_SPACING;
        self.retain(|keyframe, _| keyframe.step < step);
    }

    /// Returns the session without these changes (see [`Record::without`]), at the step of a keyframe before the first
    /// of them. The steps after it have yet to be taken.
    pub fn without(&self, removed: &[Change]) -> Timeline {
        let record = self.whole_record().without(removed);
        let first = removed.iter().map(|change| change.step).min().unwrap_or(u64::MAX);
        let before = self.keyframes.partition_point(|keyframe| keyframe.step < first);
        let Some(keyframe) = before.checked_sub(1).map(|index| &self.keyframes[index]) else {
            let mut anew = Timeline::replay(record);
            anew.select(self.selected);
            return anew;
        };
        let mut timeline = Timeline::of(self.simulation.clone());
        timeline.simulation.begin_anew_at(keyframe);
        timeline.select(self.selected);
        timeline.simulation.schedule(record.changes.into_iter().filter(|change| change.step > keyframe.step));
        timeline.keyframes = self.keyframes[..before - 1].to_vec();
        timeline.bytes = timeline.keyframes.iter().map(Keyframe::bytes).sum();
        timeline
    }

    /// Takes over the changes of a record that repeats this session up to the last step reached. Returns false for
    /// another record; the session is then to be made anew.
    pub fn follow(&mut self, record: &Record) -> bool {
        let (step, last) = (self.simulation.step(), self.last_step());
        let before = |changes: &[Change]| changes.partition_point(|change| change.step < last);
        let until = |changes: &[Change]| changes.partition_point(|change| change.step <= last);
        let made: Vec<Change> = self.changes().copied().collect();
        let (past, present) = made.split_at(before(&made));
        let (its_past, rest) = record.changes.split_at(before(&record.changes));
        let (its_present, later) = rest.split_at(until(rest));
        let common = present.iter().zip(its_present).take_while(|(own, its)| own == its).count();
        // At the last step itself, changes can be added, and replaced by others of the same setting.
        let is_replaced = |own: &Change| its_present[common..].iter().any(|its| its.set.same_target(&own.set));
        let is_continued = if step < last { present == its_present } else { present[common..].iter().all(is_replaced) };
        if self.simulation.record().spec != record.spec || past != its_past || !is_continued {
            return false;
        }
        if step == last && !its_present[common..].iter().all(|its| self.simulation.apply(&its.set).is_ok()) {
            return false;
        }
        let made_again = self.changes().filter(|change| change.step > step).copied().collect::<Vec<_>>();
        self.simulation.schedule(made_again.into_iter().chain(later.iter().copied()));
        true
    }

    /// Records the steps of this particle from now on.
    pub fn select(&mut self, selected: Option<ParticleId>) {
        self.selected = selected;
        self.simulation.select(selected);
    }

    /// Returns the initial specification and the changes up to the last step that was reached.
    pub fn record(&self) -> Record {
        let spec = self.simulation.record().spec.clone();
        Record { spec, changes: self.changes().copied().collect() }
    }

    /// Returns the initial specification and all changes, also those of a replayed session that are yet to be repeated.
    pub fn whole_record(&self) -> Record {
        let Record { spec, changes } = self.simulation.record();
        let all = changes.iter().chain(self.simulation.scheduled()).copied();
        Record { spec: spec.clone(), changes: all.collect() }
    }

    /// Returns the changes up to the last step that was reached, in the order of their steps.
    pub fn changes(&self) -> impl Iterator<Item = &Change> {
        let later = self.simulation.scheduled().filter(|change| change.step <= self.last_step());
        self.simulation.record().changes.iter().chain(later)
    }
}
