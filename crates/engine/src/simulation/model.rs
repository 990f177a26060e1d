//! A simulation: all ensembles on one landscape, step by step.

use std::collections::VecDeque;

use super::diagnostics::Sample;
use super::ensemble::Ensemble;
use super::history::History;
use super::spec::{Change, Record, Setting, SettingError, SimulationSpec};
use super::step_trace::{ParticleId, StepTrace};
use crate::landscape::Landscape;
use crate::quantity::Temperature;

/// Ensembles of particles, one for each enabled optimizer, on a landscape.
#[derive(Clone, Debug)]
pub struct Simulation {
    /// The specification with the settings in force.
    spec: SimulationSpec,
    landscape: Landscape,
    /// The landscape of the last step, to which the ensembles' diagnostics belong.
    measured_on: Landscape,
    step: u64,
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

    /// Returns the histories of the ensembles, in the same order.
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

    /// Returns the initial specification and all changes with their steps.
    pub fn record(&self) -> &Record {
        &self.record
    }

    /// Takes one step with every ensemble.
    pub fn advance(&mut self) {
        let noise = self.spec.noise.noise();
        for (ensemble, history) in self.ensembles.iter_mut().zip(&mut self.histories) {
            ensemble.advance(&self.landscape, noise, self.spec.steps);
            history.push(*ensemble.sample(), temperature(&self.spec, ensemble));
        }
        if self.measured_on != self.landscape {
            self.measured_on = self.landscape.clone();
        }
        self.step += 1;
        self.repeat_due_changes();
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
                if self.step == 0 {
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
    /// had an effect and is kept.
    fn note(&mut self, set: Setting) {
        let step = self.step;
        let changes = &mut self.record.changes;
        let of_this_step = changes.partition_point(|change| change.step < step);
        match changes[of_this_step..].iter_mut().find(|change| change.set.same_target(&set)) {
            Some(change) => change.set = set,
            None => changes.push(Change { step, set }),
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
