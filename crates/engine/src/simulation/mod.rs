//! Ensembles of particles that optimizers move on a landscape.
//!
//! [`Simulation`] holds all ensembles: it advances when called, and uses neither clock nor thread. The caller decides
//! when: the command line takes all steps at once, the window's player takes them at a pace.
//!
//! A particle's trajectory depends only on the seed, its optimizer's id, its own number, and the settings in force at
//! each step. A [`Record`] therefore suffices to repeat a session, and a [`Timeline`] shows any of its steps again.

mod ensemble;
mod history;
mod spec;

pub use ensemble::{Ensemble, ParticleId, StepTrace, noise_key};
pub use history::{Bucket, BucketSpread, History, PlotRequest, RECENT_STEPS, Sample, Spread};
pub(crate) use spec::is_given;
pub use spec::{
    Change, OptimizerSpec, Record, Setting, SettingError, SimulationSpec, StartSpec, defaults, distinct_name,
    states_other_settings,
};

use std::collections::VecDeque;

use crate::landscape::Landscape;
use crate::optimizer::ExternalStep;
use crate::quantity::Temperature;

/// The state of a simulation at a step, after the changes of that step.
#[derive(Clone, Debug)]
struct Keyframe {
    pub step: u64,
    spec: SimulationSpec,
    landscape: Landscape,
    measured_on: Landscape,
    ensembles: Vec<Ensemble>,
    open_buckets: Vec<Vec<Option<Bucket>>>,
}

impl Keyframe {
    /// Returns the size in memory.
    fn bytes(&self) -> usize {
        let open: usize = self.open_buckets.iter().map(|levels| size_of_val(levels.as_slice())).sum();
        let ensembles: usize = self.ensembles.iter().map(Ensemble::bytes).sum();
        size_of::<Keyframe>() + size_of_val(self.spec.optimizers.as_slice()) + open + ensembles
    }
}

/// Ensembles of particles, one for each enabled optimizer, on a landscape.
#[derive(Clone, Debug)]
pub struct Simulation {
    /// The specification with the settings in force.
    spec: SimulationSpec,
    landscape: Landscape,
    /// The landscape of the last step, to which the ensembles' diagnostics belong.
    measured_on: Landscape,
    step: u64,
    /// The last step that was reached, to which the histories extend. Later than `step` after a return.
    last_step: u64,
    ensembles: Vec<Ensemble>,
    histories: Vec<History>,
    record: Record,
    /// Remaining changes of a recorded session.
    scheduled: VecDeque<Change>,
}

impl Simulation {
    /// Creates all particles at their starting positions, at step 0.
    pub fn new(spec: SimulationSpec) -> Self {
        let enabled = spec.optimizers.iter().filter(|optimizer| optimizer.enabled);
        let ensembles: Vec<_> = enabled.map(|optimizer| Ensemble::new(&spec, optimizer)).collect();
        Simulation {
            landscape: spec.landscape.landscape(),
            measured_on: spec.landscape.landscape(),
            step: 0,
            last_step: 0,
            histories: first_histories(&spec, &ensembles),
            ensembles,
            record: Record { spec: spec.clone(), changes: Vec::new() },
            scheduled: VecDeque::new(),
            spec,
        }
    }

    /// Creates the start of a recorded session, whose changes will be made again at their steps.
    pub fn replay(record: Record) -> Self {
        let mut simulation = Simulation::new(record.spec);
        simulation.scheduled = record.changes.into();
        simulation.repeat_due_changes();
        simulation
    }

    pub fn step(&self) -> u64 {
        self.step
    }

    /// Returns the specification, with the settings in force.
    pub fn spec(&self) -> &SimulationSpec {
        &self.spec
    }

    /// Returns the enabled optimizers' ensembles, in the order of the specification.
    pub fn ensembles(&self) -> &[Ensemble] {
        &self.ensembles
    }

    /// Returns the diagnostics of each ensemble, in the same order, on the landscape in force. If that has changed
    /// since the last step, they differ from [`Ensemble::sample`], which the histories keep.
    pub fn present_samples(&self) -> impl Iterator<Item = Sample> {
        let is_measured = self.landscape == self.measured_on;
        let sample = move |it: &Ensemble| if is_measured { *it.sample() } else { it.sample_on(&self.landscape) };
        self.ensembles.iter().map(sample)
    }

    /// Returns the histories of the ensembles up to the last step that was reached, in the same order.
    pub fn histories(&self) -> &[History] {
        &self.histories
    }

    /// Returns whether changes of a recorded session remain.
    pub fn is_replaying(&self) -> bool {
        !self.scheduled.is_empty()
    }

    /// Returns whether the requested number of steps is reached.
    pub fn is_finished(&self) -> bool {
        self.spec.steps.is_some_and(|steps| self.step >= steps)
    }

    /// Returns the initial specification and the changes up to the present step.
    pub fn record(&self) -> &Record {
        &self.record
    }

    /// Takes one step with every ensemble. The particles of external optimizers stay where they are.
    pub fn advance(&mut self) {
        self.advance_with(&mut |_, _, _| true);
    }

    /// Takes one step with every ensemble, those of external optimizers by `external`. Returns false where it stops; the
    /// simulation is then useless.
    pub fn advance_with(&mut self, external: ExternalStep<'_>) -> bool {
        let noise = self.spec.noise.noise();
        let is_new = self.step == self.last_step;
        for (ensemble, history) in self.ensembles.iter_mut().zip(&mut self.histories) {
            if !ensemble.advance(&self.landscape, noise, self.spec.steps, external) {
                return false;
            }
            if is_new {
                history.push(*ensemble.sample(), temperature(&self.spec, ensemble));
            }
        }
        if self.measured_on != self.landscape {
            self.measured_on = self.landscape.clone();
        }
        self.step += 1;
        self.last_step = self.last_step.max(self.step);
        self.repeat_due_changes();
        true
    }

    /// Returns the present state, from which [`return_to`](Simulation::return_to) continues. The present step must be
    /// the last one.
    fn keyframe(&self) -> Keyframe {
        let mut ensembles = self.ensembles.clone();
        for ensemble in &mut ensembles {
            ensemble.select(None);
        }
        Keyframe {
            step: self.step,
            spec: self.spec.clone(),
            landscape: self.landscape.clone(),
            measured_on: self.measured_on.clone(),
            ensembles,
            open_buckets: self.histories.iter().map(History::open_buckets).collect(),
        }
    }

    /// Goes to the state of another step. The later changes are repeated at their steps; the histories stay.
    fn return_to(&mut self, keyframe: &Keyframe) {
        let made = self.record.changes.partition_point(|change| change.step <= keyframe.step);
        for change in self.record.changes.drain(made..).rev() {
            self.scheduled.push_front(change);
        }
        while let Some(change) = self.scheduled.pop_front_if(|change| change.step <= keyframe.step) {
            self.record.changes.push(change);
        }
        self.step = keyframe.step;
        self.spec = keyframe.spec.clone();
        self.landscape = keyframe.landscape.clone();
        self.measured_on = keyframe.measured_on.clone();
        self.ensembles = keyframe.ensembles.clone();
    }

    /// Returns to the state of an earlier step and removes the later ones from the histories. The later changes are
    /// repeated all the same.
    fn begin_anew_at(&mut self, keyframe: &Keyframe) {
        self.return_to(keyframe);
        self.last_step = keyframe.step;
        for (history, open) in self.histories.iter_mut().zip(&keyframe.open_buckets) {
            history.cut(keyframe.step + 1, open);
        }
    }

    /// Repeats the changes of a recorded session at the present step. This happens as soon as the step is reached, not
    /// before the next one: so a simulation paused here shows them, a raised number of steps takes effect before the
    /// old one counts as the end, and another change reverts none of them.
    fn repeat_due_changes(&mut self) {
        while self.scheduled.front().is_some_and(|change| change.step <= self.step) {
            let change = self.scheduled.pop_front().expect("there is a first one");
            // An invalid change was refused when it was recorded.
            if self.put_in_force(&change.set).is_ok() {
                self.note(change.set);
            }
        }
    }

    /// Changes a setting before the next step. Drops the remaining changes of a recorded session: from here on it is
    /// another session.
    pub fn apply(&mut self, setting: &Setting) -> Result<(), SettingError> {
        self.put_in_force(setting)?;
        self.scheduled.clear();
        self.note(*setting);
        Ok(())
    }

    fn put_in_force(&mut self, setting: &Setting) -> Result<(), SettingError> {
        self.spec.apply(setting)?;
        match *setting {
            Setting::Landscape(landscape) => {
                self.landscape = landscape.landscape();
                if self.last_step == 0 {
                    // No step was taken on the landscape before.
                    self.measured_on = self.landscape.clone();
                    self.ensembles.iter_mut().for_each(|ensemble| ensemble.observe(&self.landscape));
                    self.histories = first_histories(&self.spec, &self.ensembles);
                }
            }
            Setting::Rule { optimizer, rule } => {
                for ensemble in self.ensembles.iter_mut().filter(|ensemble| ensemble.optimizer() == optimizer) {
                    ensemble.set_rule(rule);
                }
            }
            Setting::Noise(_) | Setting::Temperature(_) | Setting::Steps(_) => {}
        }
        Ok(())
    }

    /// Records a change at the present step. Of several changes of the same setting between two steps, only the last
    /// had an effect and is kept. Changes between typed rules are all kept: each may drop states.
    fn note(&mut self, set: Setting) {
        let step = self.step;
        let changes = &mut self.record.changes;
        let of_this_step = changes.partition_point(|change| change.step < step);
        match changes[of_this_step..].iter_mut().rfind(|change| change.set.same_target(&set)) {
            Some(change) if change.set.is_undone_by(&set) => change.set = set,
            _ => changes.push(Change { step, set }),
        }
    }

    /// Records the steps of this particle from now on.
    pub fn select(&mut self, selected: Option<ParticleId>) {
        for ensemble in &mut self.ensembles {
            let here = selected.filter(|id| id.optimizer == ensemble.optimizer());
            ensemble.select(here.map(|id| id.particle));
        }
    }

    /// Returns the selected particle's last step, if it was taken since the selection.
    pub fn step_trace(&self) -> Option<Box<StepTrace>> {
        self.ensembles.iter().find_map(Ensemble::step_trace)
    }
}

fn first_histories(spec: &SimulationSpec, ensembles: &[Ensemble]) -> Vec<History> {
    let first = |ensemble: &Ensemble| {
        let mut history = History::default();
        history.push(*ensemble.sample(), temperature(spec, ensemble));
        history
    };
    ensembles.iter().map(first).collect()
}

/// Returns Θ of an ensemble's free energy: the specification's, else the learning rate.
fn temperature(spec: &SimulationSpec, ensemble: &Ensemble) -> f64 {
    spec.temperature.map_or_else(|| ensemble.rule().learning_rate.get(), Temperature::get)
}

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
    bytes: usize,
    selected: Option<ParticleId>,
}

impl Timeline {
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

    pub fn last_step(&self) -> u64 {
        self.simulation.last_step
    }

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

    /// Shows a step of the past again, or the last one if `step` is later. The record of the selected particle's step
    /// is the same as when the run took it.
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
        timeline.simulation.scheduled =
            record.changes.into_iter().filter(|change| change.step > keyframe.step).collect();
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
        self.simulation.scheduled = made_again.into_iter().chain(later.iter().copied()).collect();
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
        let all = changes.iter().chain(self.simulation.scheduled.iter()).copied();
        Record { spec: spec.clone(), changes: all.collect() }
    }

    /// Returns the changes up to the last step that was reached, in the order of their steps.
    pub fn changes(&self) -> impl Iterator<Item = &Change> {
        let later = self.simulation.scheduled.iter().filter(|change| change.step <= self.last_step());
        self.simulation.record().changes.iter().chain(later)
    }
}
