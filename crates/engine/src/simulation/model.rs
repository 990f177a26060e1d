//! A simulation: all ensembles on one landscape, step by step.

use std::collections::VecDeque;

use super::diagnostics::Sample;
use super::ensemble::Ensemble;
use super::history::{Bucket, History};
use super::spec::{Change, Record, Setting, SettingError, SimulationSpec};
use super::step_trace::{ParticleId, StepTrace};
use crate::landscape::Landscape;
use crate::quantity::Temperature;

/// The state of a simulation at a step, after the changes of that step.
#[derive(Clone, Debug)]
pub(super) struct Keyframe {
    pub step: u64,
    spec: SimulationSpec,
    landscape: Landscape,
    measured_on: Landscape,
    ensembles: Vec<Ensemble>,
    open_buckets: Vec<Vec<Option<Bucket>>>,
}

impl Keyframe {
    /// Returns the size in memory.
    pub(super) fn bytes(&self) -> usize {
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

    /// Returns the number of steps taken.
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

    /// Takes one step with every ensemble.
    pub fn advance(&mut self) {
        let noise = self.spec.noise.noise();
        let is_new = self.step == self.last_step;
        for (ensemble, history) in self.ensembles.iter_mut().zip(&mut self.histories) {
            ensemble.advance(&self.landscape, noise, self.spec.steps);
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
    }

    /// Returns the last step that was reached.
    pub(super) fn last_step(&self) -> u64 {
        self.last_step
    }

    /// Returns the changes that are repeated after the present step.
    pub(super) fn scheduled(&self) -> impl Iterator<Item = &Change> {
        self.scheduled.iter()
    }

    /// Replaces the changes that are repeated after the present step.
    pub(super) fn schedule(&mut self, changes: impl Iterator<Item = Change>) {
        self.scheduled = changes.collect();
    }

    /// Returns the present state, from which [`return_to`](Simulation::return_to) continues. The present step must be
    /// the last one.
    pub(super) fn keyframe(&self) -> Keyframe {
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
    pub(super) fn return_to(&mut self, keyframe: &Keyframe) {
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
    pub(super) fn begin_anew_at(&mut self, keyframe: &Keyframe) {
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

/// Returns the histories of step 0.
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
