//! Settings that commands change while a training runs.
//!
//! A change takes effect between two steps, after a checkpoint. The event of the change names the step, and each later
//! checkpoint has all changed settings, so a resumed run continues with them whatever became of the events.

use std::collections::BTreeMap;

use valleyscope_experiments::workload::{RunSpec, changes, live_settings, with_live_settings};
use valleyscope_runs::{Checkpoint, Event, SettingChange};

use super::error::TrainError;
use super::group::{Group, Order};
use super::loss_window::StepWork;
use super::trainer::{Trainer, TrainerError};
use super::training::Training;

/// The settings in force, in one process of a training.
pub(crate) struct LiveSettings<S> {
    spec: S,
    /// The settings that commands have changed, by their paths in the config.
    changed: BTreeMap<String, f64>,
    /// The number of changes that rank 0 has shared with the other processes.
    shared: u64,
}

impl<S: RunSpec> LiveSettings<S> {
    /// Begins with the settings of a config.
    pub(crate) fn new(spec: S) -> LiveSettings<S> {
        LiveSettings { spec, changed: BTreeMap::new(), shared: 0 }
    }

    /// Returns the settings that commands have changed, by their paths in the config.
    pub(crate) fn changed(&self) -> &BTreeMap<String, f64> {
        &self.changed
    }

    /// Puts settings in force in a training.
    ///
    /// # Errors
    ///
    /// Fails with [`TrainError::Refused`] and without a change if they do not fit.
    pub(crate) fn adopt<T: Training<Spec = S>>(
        &mut self,
        training: &mut T,
        settings: BTreeMap<String, f64>,
    ) -> Result<Vec<SettingChange>, TrainError> {
        let spec = with_live_settings(&self.spec, &settings).map_err(TrainError::Refused)?;
        let changes = changes(&live_settings(&self.spec), &live_settings(&spec));
        if !changes.is_empty() {
            training.adopt(&spec)?;
            self.spec = spec;
            self.changed.extend(settings);
        }
        Ok(changes)
    }

    /// Returns the operations of a step of each of several processes.
    fn step_operations(&self, group: &Group) -> f64 {
        self.spec.needs(self.spec.samples_at_once()).step_operations / group.size() as f64
    }

    /// Returns the key of the text with which rank 0 shares the next change.
    fn next_key(&mut self) -> String {
        self.shared += 1;
        format!("settings/{}", self.shared)
    }

    /// Receives settings that rank 0 has changed, and puts them in force.
    pub(crate) fn receive<T: Training<Spec = S>>(&mut self, group: &Group, training: &mut T) -> Result<(), TrainError> {
        let text = group.share_text(&self.next_key(), "")?;
        let settings = serde_json::from_str(&text);
        let settings = settings.map_err(|error| TrainError::Lost(format!("rank 0 sent invalid settings: {error}")))?;
        self.adopt(training, settings).map(drop)
    }
}

impl<T: Training> Trainer<'_, T> {
    /// Carries out a command to change settings: saves a checkpoint of the training before the change, records the
    /// change, and continues with it. Refused settings leave everything as it was.
    pub(super) fn change_settings(&mut self, id: &str, settings: BTreeMap<String, f64>) -> Result<(), TrainerError> {
        let (step, before, mut settings) = (self.run.step(), self.live.changed.clone(), settings);
        let steps = settings.get(SettingChange::STEPS).copied();
        if let Some(steps) = steps.filter(|steps| *steps <= step as f64) {
            let message = format!("expected more than the {step} steps that were taken, found {steps}");
            return Ok(self.session.answer(id, false, &message)?);
        }
        // A command `SetSteps` changes the end of the course and not the spec.
        let steps = steps.filter(|steps| *steps != self.course.steps as f64);
        if steps.is_none() {
            settings.remove(SettingChange::STEPS);
        }
        let mut changes = match self.live.adopt(self.run, settings.clone()) {
            Err(TrainError::Refused(why)) => return Ok(self.session.answer(id, false, &why)?),
            outcome => outcome?,
        };
        if let Some(steps) = steps {
            changes.retain(|change| change.name != SettingChange::STEPS);
            changes.push(SettingChange::of_steps(self.course.steps, steps));
        }
        if changes.is_empty() {
            return Ok(self.session.answer(id, true, "these settings are in force already")?);
        }
        self.save_with(before)?;
        let message = format!("{} after step {step}", SettingChange::list(&changes));
        self.session.record(step, Event::Changed { changes })?;
        self.order(Order::Change)?;
        let text = serde_json::to_string(&settings).expect("numbers and names are text");
        self.group.share_text(&self.live.next_key(), &text)?;
        self.course.steps = steps.map_or(self.course.steps, |steps| steps as u64);
        self.count_operations();
        Ok(self.session.answer(id, true, &message)?)
    }

    /// Puts the settings in force that were so after the step of the checkpoint from which the run resumes: those of
    /// the checkpoint, and those that were changed after it was saved. Returns the work of a step before the checkpoint.
    pub(super) fn restore_settings(&mut self, checkpoint: &Checkpoint) -> Result<StepWork, TrainError> {
        self.put_back(checkpoint.settings.clone())?;
        let work = self.step_work();
        let since = self.session.before().changes().iter().filter(|(step, _)| *step == checkpoint.step);
        self.put_back(since.map(|(_, change)| (change.name.clone(), change.now)).collect())?;
        Ok(work)
    }

    fn put_back(&mut self, settings: BTreeMap<String, f64>) -> Result<(), TrainError> {
        self.live.adopt(self.run, settings).map_err(|error| match error {
            TrainError::Refused(why) => TrainError::Refused(format!(
                "the settings that were changed while the run was trained cannot be used: {why}"
            )),
            other => other,
        })?;
        self.count_operations();
        Ok(())
    }

    /// Describes the changes of settings after the step from which the run resumes.
    pub(super) fn undone_changes(&self) -> Option<String> {
        let step = self.run.step();
        let undone = self.session.before().changes().iter().filter(|(at, _)| *at > step);
        let undone: Vec<String> = undone.map(|(at, change)| format!("{} of step {at}", change.words())).collect();
        (!undone.is_empty()).then(|| {
            let list = undone.join(", ");
            format!("the run goes back to step {step}, which undoes {list}; set that again if it is still wanted")
        })
    }

    fn count_operations(&mut self) {
        self.instruments.usage.set_step_operations(self.live.step_operations(&self.group));
    }
}
