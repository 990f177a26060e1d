//! The interface of workloads for training by the worker.
//!
//! [`TrainedSpec::begin`] makes a training whose parameters are zero. [`Training::start`] draws them, or reads those
//! of another model. A resumed run gets them from its checkpoint, whose tensors are read once and checked on the way,
//! before the training's own are touched.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use tch::{Device, Tensor};
use valleyscope_engine::quantity::{OutOfRange, SampleTemperature, SampleTokens, TopK};
use valleyscope_experiments::preset::Preset;
use valleyscope_experiments::workload::{ONE_PROCESS_ONLY, RunSpec, RunsPreset, Workload, for_each_workload};
use valleyscope_runs::{MetricId, MetricValues, OptimizerProgress, WholeLoss};

use super::checkpoint::{NamedTensors, TrainingState};
use super::device::Devices;
use super::error::TrainError;
use super::follower::Follower;
use super::group::Group;
use super::layout::ParameterLayout;
use super::optimizer::FlatOptimizer;
use super::saved::SavedRun;
use super::worker::{Ended, Work};

/// A preset that the worker can train.
pub trait Trained: Workload {
    /// Trains it to its end, or until it is asked to stop.
    fn train(&self, work: &mut Work<'_>) -> anyhow::Result<Ended>;

    /// Takes part in the training of which another process writes the run.
    fn follow(&self, _follower: &Follower<'_>) -> anyhow::Result<Ended> {
        anyhow::bail!(ONE_PROCESS_ONLY)
    }

    /// Writes a model that a run has saved into a folder, in the form that other programs read.
    fn export(&self, _saved: &SavedRun, _folder: &Path) -> anyhow::Result<()> {
        anyhow::bail!(NO_MODEL)
    }

    /// The loss of a model that a run has saved, over all held-out data.
    fn evaluate(&self, _saved: &SavedRun, _devices: &Devices) -> anyhow::Result<WholeLoss> {
        anyhow::bail!(NO_MODEL)
    }
}

const NO_MODEL: &str = "expected a run of one training, found a scan, which saves no models";

impl<S: TrainedSpec> Trained for RunsPreset<S>
where
    RunsPreset<S>: Workload,
{
    fn train(&self, work: &mut Work<'_>) -> anyhow::Result<Ended> {
        work.run(only(self)?)
    }

    fn follow(&self, follower: &Follower<'_>) -> anyhow::Result<Ended> {
        follower.run(only(self)?)
    }

    fn export(&self, saved: &SavedRun, folder: &Path) -> anyhow::Result<()> {
        Ok(only(self)?.export(saved, folder)?)
    }

    fn evaluate(&self, saved: &SavedRun, devices: &Devices) -> anyhow::Result<WholeLoss> {
        saved.evaluate(only(self)?, devices)
    }
}

fn only<S>(preset: &RunsPreset<S>) -> anyhow::Result<&S> {
    match &preset.runs[..] {
        [spec] => Ok(spec),
        runs => anyhow::bail!("expected a config.ron of one run, found one of {}", runs.len()),
    }
}

macro_rules! define_trained {
    ($($(#[$about:meta])* $kind:ident($preset:ty)),+ $(,)?) => {
        /// The training of a preset.
        pub(super) fn trained(preset: &Preset) -> anyhow::Result<&dyn Trained> {
            match preset {
                $(Preset::$kind(preset) => Ok(preset),)+
                Preset::Landscape(_) | Preset::Sweep(_) => anyhow::bail!(
                    "expected a training, of the kind {}, found a preset of the kind {}",
                    Preset::WORKLOADS.join(" or "),
                    preset.kind()
                ),
            }
        }
    };
}
for_each_workload!(define_trained);

/// Training data, and their description.
#[derive(Debug)]
pub struct Obtained<D> {
    pub data: D,
    /// In words, such as `MNIST, in FOLDER`.
    pub source: String,
    /// A hash of them: a run resumes only with the same.
    pub fingerprint: String,
    /// Whether they are synthetic, in place of real ones.
    pub is_synthetic: bool,
    /// Warnings about them for the user.
    pub warnings: Vec<String>,
}

/// The outcome of obtaining data: `None` where it was cancelled before.
pub type ObtainResult<D> = Result<Option<Obtained<D>>, Box<dyn Error + Send + Sync>>;

/// The libtorch half of a [`RunSpec`].
pub trait TrainedSpec: RunSpec {
    type Data;
    type Training: Training;

    /// The data that the spec requests. `say` gets a line from time to time about long work.
    fn obtain(&self, say: &mut dyn FnMut(&str), cancelled: &dyn Fn() -> bool) -> ObtainResult<Self::Data>;

    /// The training before its first step, whose parameters are set by [`Training::start`] or those of a checkpoint.
    fn begin(&self, data: Self::Data, device: Device) -> Result<Self::Training, TrainError>;

    /// Writes a model that a run has saved into a folder, in the form that other programs read.
    ///
    /// # Errors
    ///
    /// Where there is no such form, a file exists already, and where the checkpoint cannot be used.
    fn export(&self, _saved: &SavedRun, _folder: &Path) -> Result<(), TrainError> {
        let name = Self::FAMILY;
        Err(TrainError::Refused(format!(
            "models of {name} have no form that other programs read, and are not exported"
        )))
    }
}

/// Text to be written by a model.
#[derive(Clone, Debug, PartialEq)]
pub struct SampleRequest {
    pub prompt: String,
    pub tokens: u32,
    /// 0 takes the most likely token each time.
    pub temperature: f64,
    /// The number of the most likely tokens to draw from.
    pub top_k: Option<u32>,
}

impl SampleRequest {
    /// # Errors
    ///
    /// Where it exceeds the limits of a preset: nothing else can be done meanwhile.
    pub fn new(prompt: String, tokens: u32, temperature: f64, top_k: Option<u32>) -> Result<SampleRequest, TrainError> {
        let refuse = |error: OutOfRange| TrainError::Refused(error.to_string());
        SampleTokens::new(u64::from(tokens)).map_err(refuse)?;
        SampleTemperature::new(temperature).map_err(refuse)?;
        top_k.map(|top_k| TopK::new(u64::from(top_k))).transpose().map_err(refuse)?;
        Ok(SampleRequest { prompt, tokens, temperature, top_k })
    }
}

/// A mean over all held-out data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeanLoss {
    pub metric: MetricId,
    pub loss: f64,
    /// The number of values, and their kind.
    pub count: u64,
    pub unit: &'static str,
}

/// Called between the parts of long work. An error, [`TrainError::Interrupted`] where it is to stop, ends the work there.
pub type Check<'a> = dyn FnMut() -> Result<(), TrainError> + 'a;

/// A training in progress.
pub trait Training {
    /// From now on computes the gradients of a part of each batch, and steps with the sum over all processes of the group.
    ///
    /// # Errors
    ///
    /// Where batches are too small to be divided among so many.
    fn join(&mut self, group: Arc<Group>) -> Result<(), TrainError>;

    /// Steps taken.
    fn step(&self) -> u64;

    /// Takes one step; returns the loss of its batch, `[1]`, which is on the device. A step interrupted by `check` has
    /// no effect: the state for a checkpoint is as before, and the next call takes the same step. Several processes call it
    /// together, and are not interrupted.
    fn advance(&mut self, check: &mut Check<'_>) -> Result<Tensor, TrainError>;

    /// The metrics of the last step for the training curve, besides the loss and the rate. Waits for the device.
    fn point(&mut self) -> Result<MetricValues, TrainError>;

    /// The metric of the rate of training, and the amount that a step adds to it.
    fn rate(&self) -> (MetricId, f64);

    /// Evaluates the model, with all processes together; the first metric is the loss by which the best checkpoint is chosen.
    fn evaluate(&mut self, check: &mut Check<'_>) -> Result<MetricValues, TrainError>;

    /// The loss over all held-out data, none of them twice. `progress` gets from time to time the amount done, and the
    /// total.
    fn evaluate_all(&mut self, progress: &mut dyn FnMut(u64, u64)) -> Result<MeanLoss, TrainError>;

    /// Number of trainable parameters.
    fn parameters(&self) -> u64;

    /// The model's parameters as a flat tensor, their layout, and the optimizer.
    fn optimized(&self) -> (&Tensor, &ParameterLayout, &FlatOptimizer);

    /// The tensors of a checkpoint. The names of the optimizer's states begin with `optimizer.`.
    fn tensors(&self) -> NamedTensors<'_>;

    /// All that a checkpoint holds of it.
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

    /// Sets the parameters to those before the first step. Not called where the run continues from a checkpoint.
    fn start(&mut self) -> Result<(), TrainError>;

    /// The name of the first tensor of parameters or gradients that has a number that is not finite, where that is known.
    fn first_not_finite(&self) -> Result<Option<String>, TrainError> {
        Ok(None)
    }

    /// The text that it writes at its set interval; `None` where it writes none.
    fn usual_sample(&self) -> Option<SampleRequest> {
        None
    }

    /// Text that the model writes, following the prompt.
    fn sample(&mut self, _request: &SampleRequest, _check: &mut Check<'_>) -> Result<String, TrainError> {
        Err(TrainError::Refused(NO_TEXT.to_owned()))
    }
}

/// Why a sample is refused.
pub(super) const NO_TEXT: &str = "the model writes no text";

/// Copies a checkpoint's tensors into those of a training.
///
/// # Errors
///
/// Where one is missing or of another shape: the checkpoint is of another training.
pub fn restore_tensors(tensors: &NamedTensors<'_>, saved: &[(String, Tensor)]) -> Result<(), TrainError> {
    for (name, tensor) in tensors {
        let Some((_, found)) = saved.iter().find(|(other, found)| other == name && found.size() == tensor.size())
        else {
            let shape = tensor.size();
            return Err(TrainError::Refused(format!("expected `{name}` of {shape:?} among a checkpoint's tensors")));
        };
        tensor.shallow_clone().f_copy_(found)?;
    }
    Ok(())
}

/// The libtorch half of a scan.
pub trait TrainedScan: Workload {
    type Data;
    type Scan<'a>: PointTraining
    where
        Self: 'a;

    /// As for [`TrainedSpec::obtain`].
    fn obtain(&self, say: &mut dyn FnMut(&str), cancelled: &dyn Fn() -> bool) -> ObtainResult<Self::Data>;

    fn begin(&self, data: Self::Data, device: Device) -> Result<Self::Scan<'_>, TrainError>;
}

/// The trainings of a scan's points.
pub trait PointTraining: Sync {
    /// Does all trainings of an optimizer with a batch size, by their indices in the scan's axes; `None` when it was
    /// stopped before their end.
    fn train_point(
        &self,
        optimizer: usize,
        batch_size: usize,
        stop: &AtomicBool,
    ) -> Result<Option<PointLosses>, TrainError>;
}

/// The results of a point, for each learning rate (outer) and replicate (inner).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PointLosses {
    /// The loss of the last step's batch.
    pub train_loss: Vec<Vec<f64>>,
    pub test_loss: Vec<Vec<f64>>,
    pub test_accuracy: Vec<Vec<f64>>,
}
