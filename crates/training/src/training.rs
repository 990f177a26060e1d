//! The interface between workloads and the worker.
//!
//! [`TrainedSpec::begin`] creates a training whose parameters are zero. [`Training::start`] draws them, or reads those
//! of another model. A resumed run takes them from its checkpoint, whose tensors are read once and checked before the
//! training's own tensors change.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use tch::{Device, Tensor};
use valleyscope_experiments::workload::{RunSpec, changes, live_settings, with_live_settings};
use valleyscope_runs::{Measure, MetricId, MetricValues, OptimizerProgress, SettingChange, TextRequest, WholeLoss};

use super::checkpoint::{NamedTensors, SavedRun, TrainingState};
use super::error::TrainError;
use super::group::Group;
use super::layout::ParameterLayout;
use super::optimizer::FlatOptimizer;

#[derive(Clone, Debug)]
pub(crate) struct Obtained<D> {
    pub data: D,
    /// The source, such as `MNIST, in FOLDER`.
    pub source: String,
    /// A hash of the data: a run resumes only with the same.
    pub fingerprint: String,
    /// Whether the data are synthetic instead of real ones.
    pub is_synthetic: bool,
    pub warnings: Vec<String>,
}

/// The outcome of obtaining data: `None` if it was cancelled.
pub(crate) type ObtainResult<D> = Result<Option<Obtained<D>>, Box<dyn Error + Send + Sync>>;

/// The libtorch half of a [`RunSpec`].
pub(crate) trait TrainedSpec: RunSpec {
    type Data;
    type Training: Training<Spec = Self>;

    /// Obtains the data of the spec. `say` receives a line from time to time about long work.
    fn obtain(&self, say: &mut dyn FnMut(&str), cancelled: &dyn Fn() -> bool) -> ObtainResult<Self::Data>;

    /// Creates the training before its first step. [`Training::start`] or a checkpoint sets its parameters.
    fn begin(&self, data: Self::Data, device: Device) -> Result<Self::Training, TrainError>;

    /// Writes a saved model of a run into a folder, in a format that other programs read.
    ///
    /// # Errors
    ///
    /// Fails if there is no such format, if a file exists already, and if the checkpoint cannot be used.
    fn export(&self, _saved: &SavedRun, _folder: &Path) -> Result<(), TrainError> {
        let name = Self::INFO.family;
        Err(TrainError::Refused(format!("models of {name} cannot be exported: other programs read no format of them")))
    }
}

/// A callback between the parts of long work. An error, such as [`TrainError::Interrupted`], ends the work.
pub(crate) type Check<'a> = dyn FnMut() -> Result<(), TrainError> + 'a;

pub trait Training {
    type Spec: RunSpec;

    /// Continues with the settings of a spec that differs from the current one in [live](RunSpec::live) settings only.
    ///
    /// # Errors
    ///
    /// Fails with [`TrainError::Refused`] and without a change if the settings do not fit the data or the number of
    /// processes.
    fn adopt(&mut self, spec: &Self::Spec) -> Result<(), TrainError>;

    /// Joins a group: from now on the training computes the gradients of a part of each batch, and steps with the sum
    /// over all processes.
    ///
    /// # Errors
    ///
    /// Fails if batches are too small to be divided among them.
    fn join(&mut self, group: Arc<Group>) -> Result<(), TrainError>;

    fn step(&self) -> u64;

    /// Takes one step; returns the loss of its batch, `[1]`, on the device. A step interrupted by `check` has no
    /// effect: the state for a checkpoint stays, and the next call takes the same step. Several processes call it
    /// together, and are not interrupted.
    fn advance(&mut self, check: &mut Check<'_>) -> Result<Tensor, TrainError>;

    /// Computes the metrics of the last step for the training curve, besides the loss and the rate. Blocks on the
    /// device.
    fn point(&mut self) -> Result<MetricValues, TrainError>;

    /// Takes the measures of the gradients if the last step was measured.
    fn measured(&mut self) -> Option<Measure> {
        None
    }

    /// The metric of the rate of training, and the amount that a step adds to it.
    fn rate(&self) -> (MetricId, f64);

    /// Evaluates the model, with all processes together; the first metric is the loss by which the best checkpoint is
    /// chosen.
    fn evaluate(&mut self, check: &mut Check<'_>) -> Result<MetricValues, TrainError>;

    /// Computes the loss over all held-out data, each item once. `progress` receives the amount done and the total from
    /// time to time. Data and device are left empty.
    fn evaluate_all(&mut self, progress: &mut dyn FnMut(u64, u64)) -> Result<WholeLoss, TrainError>;

    fn parameters(&self) -> u64;

    /// The model's parameters as a flat tensor, their layout, and the optimizer.
    fn optimized(&self) -> (&Tensor, &ParameterLayout, &FlatOptimizer);

    /// Lists the tensors of a checkpoint. The names of the optimizer's states begin with `optimizer.`.
    fn tensors(&self) -> NamedTensors<'_>;

    fn state(&self) -> TrainingState<'_> {
        TrainingState { tensors: self.tensors(), progress: self.optimized().2.progress() }
    }

    /// Continues after `step` steps from a checkpoint's tensors, which have the names and shapes of
    /// [`Training::tensors`], and the optimizer's progress.
    fn restore(
        &mut self,
        step: u64,
        optimizer: &OptimizerProgress,
        saved: &[(String, Tensor)],
    ) -> Result<(), TrainError>;

    /// Sets the parameters to those before the first step. Not called if the run continues from a checkpoint.
    fn start(&mut self) -> Result<(), TrainError>;

    /// Finds the first tensor of parameters or gradients with a number that is not finite, and returns its name, if the
    /// training can find it.
    fn first_not_finite(&self) -> Result<Option<String>, TrainError> {
        Ok(None)
    }

    /// The request for a text at intervals; `None` if the model generates none.
    fn usual_sample(&self) -> Option<TextRequest> {
        None
    }

    /// Generates a text that follows the prompt; `step` is the number of steps of the model, which determines the
    /// draws.
    fn sample(&mut self, _request: &TextRequest, _step: u64, _check: &mut Check<'_>) -> Result<String, TrainError> {
        Err(TrainError::Refused(NO_TEXT.to_owned()))
    }
}

pub(super) const NO_TEXT: &str = "the model writes no text";

/// The settings in force, in one process of a training.
///
/// A change by a command takes effect between two steps, after a checkpoint. The event of the change names the step,
/// and each later checkpoint has all changed settings, so a resumed run continues with them even if events are lost.
pub(crate) struct LiveSettings<S> {
    spec: S,
    /// The settings that commands have changed, by their paths in the config.
    changed: BTreeMap<String, f64>,
}

impl<S: RunSpec> LiveSettings<S> {
    pub(crate) fn new(spec: S) -> LiveSettings<S> {
        LiveSettings { spec, changed: BTreeMap::new() }
    }

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

    /// Computes the operations of a step of each of several processes.
    pub(super) fn step_operations(&self, group: &Group) -> f64 {
        self.spec.needs(self.spec.samples_at_once()).step_operations / group.size() as f64
    }

    /// Receives settings that rank 0 has changed, and puts them in force.
    pub(crate) fn receive<T: Training<Spec = S>>(&mut self, group: &Group, training: &mut T) -> Result<(), TrainError> {
        let text = group.share_text("")?;
        let settings = serde_json::from_str(&text);
        let settings = settings.map_err(|error| TrainError::Lost(format!("rank 0 sent invalid settings: {error}")))?;
        self.adopt(training, settings).map(drop)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    Finished,
    /// The session stopped on request; it can be resumed.
    Stopped,
    /// The loss is not finite, and the spec ends the run in this case.
    NotFinite,
}
