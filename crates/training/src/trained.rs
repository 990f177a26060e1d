//! The trainings of all kinds of presets.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context;
use tch::Device;
use valleyscope_engine::terminal_escape::visible_lines;
use valleyscope_experiments::preset::Preset;
use valleyscope_experiments::workload::{ONE_PROCESS_ONLY, RunsPreset, Workload, for_each_workload};
use valleyscope_runs::WholeLoss;

use super::device::Devices;
use super::follower::Follower;
use super::named_tensors::OPTIMIZER;
use super::saved_run::SavedRun;
use super::training::{Ended, MeanLoss, Obtained, SampleRequest, TrainedSpec, Training};
use super::work::Work;

/// A preset that the worker can train.
pub(crate) trait Trained: Workload {
    /// Trains the preset to its end, or until a request to stop.
    fn train(&self, work: &mut Work<'_>) -> anyhow::Result<Ended>;

    /// Takes part in a training whose run another process writes.
    fn follow(&self, _follower: &Follower<'_>) -> anyhow::Result<Ended> {
        anyhow::bail!(ONE_PROCESS_ONLY)
    }

    /// Writes a saved model of a run into a folder, in a format that other programs read.
    fn export(&self, _saved: &SavedRun, _folder: &Path) -> anyhow::Result<()> {
        anyhow::bail!(NO_MODEL)
    }

    /// Writes a text by a saved model of a run.
    fn sample(&self, _saved: &SavedRun, _request: &SampleRequest, _devices: &Devices) -> anyhow::Result<String> {
        anyhow::bail!(NO_MODEL)
    }

    /// Computes the loss of a saved model of a run over all held-out data.
    fn evaluate(&self, _saved: &SavedRun, _devices: &Devices) -> anyhow::Result<WholeLoss> {
        anyhow::bail!(NO_MODEL)
    }
}

const NO_MODEL: &str = "expected a run of one training, found a scan, which saves no models";

impl<S: TrainedSpec> Trained for RunsPreset<S> {
    fn train(&self, work: &mut Work<'_>) -> anyhow::Result<Ended> {
        work.run(only(self)?)
    }

    fn follow(&self, follower: &Follower<'_>) -> anyhow::Result<Ended> {
        follower.run(only(self)?)
    }

    fn export(&self, saved: &SavedRun, folder: &Path) -> anyhow::Result<()> {
        Ok(only(self)?.export(saved, folder)?)
    }

    fn sample(&self, saved: &SavedRun, request: &SampleRequest, devices: &Devices) -> anyhow::Result<String> {
        let (mut training, ..) = open(only(self)?, saved, devices)?;
        Ok(training.sample(request, saved.step, &mut || Ok(()))?)
    }

    fn evaluate(&self, saved: &SavedRun, devices: &Devices) -> anyhow::Result<WholeLoss> {
        evaluate(only(self)?, saved, devices)
    }
}

fn only<S>(preset: &RunsPreset<S>) -> anyhow::Result<&S> {
    match &preset.runs[..] {
        [spec] => Ok(spec),
        runs => anyhow::bail!("expected a config.ron of one run, found one of {}", runs.len()),
    }
}

/// Opens a training with a saved model, whose optimizer is before its first step; returns also the source and the
/// fingerprint of its data, and its device.
fn open<S: TrainedSpec>(
    spec: &S,
    saved: &SavedRun,
    devices: &Devices,
) -> anyhow::Result<(S::Training, [String; 2], Device)> {
    let device = devices.open(spec.common().device, 0)?;
    let obtained = spec.obtain(&mut say, &|| false).map_err(anyhow::Error::from_boxed)?;
    let Obtained { data, source, fingerprint, warnings, .. } = obtained.context("obtaining the data was cancelled")?;
    warnings.iter().for_each(|warning| say(&format!("warning: {warning}")));
    let training = spec.begin(data, device)?;
    let mut tensors = training.tensors();
    tensors.retain(|(name, _)| !name.starts_with(OPTIMIZER));
    saved.restore(&tensors)?;
    Ok((training, [source, fingerprint], device))
}

/// Computes the loss of a saved model over all held-out data.
fn evaluate<S: TrainedSpec>(spec: &S, saved: &SavedRun, devices: &Devices) -> anyhow::Result<WholeLoss> {
    let (mut training, [source, fingerprint], device) = open(spec, saved, devices)?;
    let MeanLoss { metric, loss, count, unit } = training.evaluate_all(&mut progress())?;
    Ok(WholeLoss {
        metric: metric.to_string(),
        loss,
        count,
        unit: unit.to_owned(),
        data: source,
        is_of_run: saved.origin.data.is_empty() || saved.origin.data == fingerprint,
        device: devices.describe(device),
    })
}

fn say(line: &str) {
    eprintln!("{}", visible_lines(line));
}

/// Prints the progress of an evaluation from time to time.
fn progress() -> impl FnMut(u64, u64) {
    const INTERVAL: Duration = Duration::from_secs(10);
    let mut said = Instant::now();
    move |done, of| {
        if said.elapsed() >= INTERVAL {
            said = Instant::now();
            say(&format!("{done} of {of} evaluated"));
        }
    }
}

macro_rules! define_trained {
    ($($(#[$about:meta])* $kind:ident($preset:ty)),+ $(,)?) => {
        /// Returns the training of a preset.
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
