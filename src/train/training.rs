//! What a workload provides so that the worker can train it.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use tch::{Device, Tensor};

use super::checkpoint::NamedTensors;
use super::device::Devices;
use super::error::TrainError;
use super::layout::ParameterLayout;
use super::optimizer::FlatOptimizer;
use super::saved::SavedRun;
use super::worker::{Ended, Work};
use crate::preset::Preset;
use crate::quantity::{OutOfRange, SampleTemperature, SampleTokens, TopK};
use crate::run::{MetricId, MetricValues, WholeLoss};
use crate::workload::{RunSpec, RunsPreset, Workload, for_each_workload};

/// A preset that the worker can train.
pub trait Trained: Workload {
    /// Trains it to its end, or until it is asked to stop.
    fn train(&self, work: &mut Work<'_>) -> anyhow::Result<Ended>;

    /// Writes a model that a run has saved into a folder, in the form that other programs read.
    fn export(&self, _saved: &SavedRun, _folder: &Path) -> anyhow::Result<()> {
        anyhow::bail!(NO_MODEL)
    }

    /// The loss of a model that a run has saved, over all data that are kept from training.
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
        /// The training that a preset is.
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

/// Data to train on, and what is said of them.
#[derive(Debug)]
pub struct Obtained<D> {
    pub data: D,
    /// In words, such as `MNIST, in FOLDER`.
    pub source: String,
    /// A hash of them: a run goes on with the same only.
    pub fingerprint: String,
    /// Whether the program made them itself, in place of real ones.
    pub is_synthetic: bool,
    /// What the user had better know about them.
    pub warnings: Vec<String>,
}

/// What came of asking for data: `None` where it was cancelled before they were there.
pub type ObtainResult<D> = Result<Option<Obtained<D>>, Box<dyn Error + Send + Sync>>;

/// The libtorch half of a [`RunSpec`].
pub trait TrainedSpec: RunSpec {
    type Data;
    type Training: Training;

    /// The data that the spec asks for. `say` is told in a line from time to time what long work is being done.
    fn obtain(&self, say: &mut dyn FnMut(&str), cancelled: &dyn Fn() -> bool) -> ObtainResult<Self::Data>;

    /// The training before its first step, whose parameters are set by [`Training::start`] or those of a checkpoint.
    fn begin(&self, data: Self::Data, device: Device) -> Result<Self::Training, TrainError>;

    /// Writes a model that a run has saved into a folder, in the form that other programs read.
    ///
    /// # Errors
    ///
    /// Where there is no such form, a file is there already, and where the checkpoint cannot be used.
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
    /// 0 takes the likeliest token each time.
    pub temperature: f64,
    /// Only so many of the likeliest tokens are drawn from.
    pub top_k: Option<u32>,
}

impl SampleRequest {
    /// # Errors
    ///
    /// Where it asks for more than a preset may: nothing can be done beside it.
    pub fn new(prompt: String, tokens: u32, temperature: f64, top_k: Option<u32>) -> Result<SampleRequest, TrainError> {
        let refuse = |error: OutOfRange| TrainError::Refused(error.to_string());
        SampleTokens::new(u64::from(tokens)).map_err(refuse)?;
        SampleTemperature::new(temperature).map_err(refuse)?;
        top_k.map(|top_k| TopK::new(u64::from(top_k))).transpose().map_err(refuse)?;
        Ok(SampleRequest { prompt, tokens, temperature, top_k })
    }
}

/// A mean over all data that are kept from training.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeanLoss {
    pub metric: MetricId,
    pub loss: f64,
    /// How many it is over, and of what.
    pub count: u64,
    pub unit: &'static str,
}

/// Called between the parts of long work. An error, [`TrainError::Interrupted`] where it is to stop, ends the work there.
pub type Check<'a> = dyn FnMut() -> Result<(), TrainError> + 'a;

/// A training, as far as it has come.
pub trait Training {
    /// Steps taken.
    fn step(&self) -> u64;

    /// One step; returns the loss of its batch, `[1]`, which is on the device. One that is interrupted by `check` was not
    /// begun: what a checkpoint holds is as before, and the next call takes the same step.
    fn advance(&mut self, check: &mut Check<'_>) -> Result<Tensor, TrainError>;

    /// What the training curve shows of the last step besides the loss and the rate. Waits for the device.
    fn point(&mut self) -> Result<MetricValues, TrainError>;

    /// How the rate of training is called, and how much a step adds to it.
    fn rate(&self) -> (MetricId, f64);

    /// How good the model is; the first metric is the loss by which the best checkpoint is chosen.
    fn evaluate(&mut self, check: &mut Check<'_>) -> Result<MetricValues, TrainError>;

    /// The loss over all data that are kept from training, none of them twice. `progress` hears from time to time how much
    /// is done, and of how much.
    fn evaluate_all(&mut self, progress: &mut dyn FnMut(u64, u64)) -> Result<MeanLoss, TrainError>;

    /// Number of trainable parameters.
    fn parameters(&self) -> u64;

    /// The model's parameters as a flat tensor, their layout, and what changes them.
    fn optimized(&self) -> (&Tensor, &ParameterLayout, &FlatOptimizer);

    /// All that a checkpoint holds. The names of what the optimizer remembers begin with `optimizer.`.
    fn tensors(&self) -> NamedTensors<'_>;

    /// Goes on after `step` steps from a checkpoint's tensors, which have the names and shapes of
    /// [`Training::tensors`], and its products of decay rates ([`FlatOptimizer::powers`]).
    fn restore(
        &mut self,
        step: u64,
        powers: &BTreeMap<String, f64>,
        saved: &[(String, Tensor)],
    ) -> Result<(), TrainError>;

    /// Sets the parameters to those before the first step. Not called where the run goes on from a checkpoint.
    fn start(&mut self) -> Result<(), TrainError>;

    /// The name of the first tensor of parameters or gradients that has a number that is not finite, where that is known.
    fn first_not_finite(&self) -> Result<Option<String>, TrainError> {
        Ok(None)
    }

    /// The text that it writes at its set interval; `None` where it writes none.
    fn usual_sample(&self) -> Option<SampleRequest> {
        None
    }

    /// Text that the model writes, after the prompt.
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
    /// All trainings of an optimizer with a batch size, by their indices in the scan's axes, or `None` when it was stopped
    /// before their end.
    fn train_point(
        &self,
        optimizer: usize,
        batch_size: usize,
        stop: &AtomicBool,
    ) -> Result<Option<PointLosses>, TrainError>;
}

/// What came of a point, for each learning rate (outer) and replicate (inner).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PointLosses {
    /// Of the last step's batch.
    pub train_loss: Vec<Vec<f64>>,
    pub test_loss: Vec<Vec<f64>>,
    pub test_accuracy: Vec<Vec<f64>>,
}
