//! The work of a worker on a run of any workload.

use std::cell::RefCell;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use tch::Device;
use valleyscope_engine::terminal_escape::visible_lines;
use valleyscope_experiments::preset::Preset;
use valleyscope_experiments::run::{Capacity, RunConfig, SystemMemory};
use valleyscope_experiments::workload::{Common, RunsPreset, for_each_workload};
use valleyscope_runs::{
    CheckpointOrigin, Event, RunCommand, RunSession, SessionError, Started, StopRequest, TextRequest, WholeLoss,
};

use super::checkpoint::{OPTIMIZER, SavedRun};
use super::device::{Devices, Usage};
use super::error::TrainError;
use super::follower::{Follower, STOPPED};
use super::group::{Group, LocalProcesses, WaitMetrics};
use super::trainer::{Instruments, Trainer};
use super::training::{Ended, ObtainResult, Obtained, TrainedSpec, Training};

/// A session of a run, with its config and the devices.
pub(crate) struct Work<'a> {
    /// The other processes started by this one, which end before the lock of the run is released.
    pub(super) processes: Option<LocalProcesses>,
    pub(super) session: RunSession,
    pub(super) stop: StopRequest,
    pub(super) devices: &'a Devices,
    pub(super) config: RunConfig,
    /// The processes that train ranks.
    pub(super) group: Arc<Group>,
    /// The number of libtorch's threads, if it is not the default.
    pub(super) threads: Option<u64>,
}

impl Work<'_> {
    pub(crate) fn run<S: TrainedSpec>(&mut self, spec: &S) -> anyhow::Result<Ended> {
        let device = self.devices.open(spec.common().device, 0)?;
        self.group.meet_on_devices(device)?;
        let obtained = self.data(|say, cancelled| spec.obtain(say, cancelled))?;
        let Some(obtained) = obtained else {
            self.group.share_text(STOPPED)?;
            self.group.wait_at_end();
            return Ok(Ended::Stopped);
        };
        self.group.share_text(&obtained.fingerprint)?;
        self.train(spec, obtained, device, |data| spec.begin(data, device))
    }

    /// Trains on obtained data, from which `begin` makes the training.
    pub(crate) fn train<S: TrainedSpec, D>(
        &mut self,
        spec: &S,
        obtained: Obtained<D>,
        device: Device,
        begin: impl FnOnce(D) -> Result<S::Training, TrainError>,
    ) -> anyhow::Result<Ended> {
        self.train_all(spec, obtained, device, begin).map_err(|mut error| {
            if let Some(TrainError::OutOfMemory { advice, .. }) = error.downcast_mut()
                && let Some(estimated) = self.memory_advice(spec)
            {
                *advice = estimated;
            }
            error
        })
    }

    /// The advice for a run that lacks memory, if it can be estimated how much fits.
    fn memory_advice<S: TrainedSpec>(&self, spec: &S) -> Option<String> {
        // The estimate is for one process that takes all samples.
        if !self.group.is_alone() {
            return None;
        }
        let Common { device, rule, .. } = spec.common();
        let capacity = Capacity::measure(device, &self.devices.handshake(), self.session.run().path());
        let (memory, is_gpu) = (capacity.memory?, capacity.is_gpu());
        // A GPU's memory is its total; a processor's is only what other programs leave free at the moment.
        let whole = if is_gpu { memory } else { SystemMemory::here().map_or(memory, |system| system.total) };
        match spec.fitting(memory, is_gpu) {
            Some(fits) if fits < spec.samples_at_once() => {
                let with = S::INFO.with_smaller_batches;
                Some(format!("take a batch_size of at most {fits}{with}, which should fit"))
            }
            None if spec.fitting(whole, is_gpu).is_none() => Some(format!(
                "no batch_size fits beside the model and the states of {}: take a smaller model or an optimizer with \
                 smaller states",
                rule.name()
            )),
            // A `batch_size` that was estimated to fit, but did not, is not suggested.
            _ => None,
        }
    }

    fn train_all<S: TrainedSpec, D>(
        &mut self,
        spec: &S,
        obtained: Obtained<D>,
        device: Device,
        begin: impl FnOnce(D) -> Result<S::Training, TrainError>,
    ) -> anyhow::Result<Ended> {
        let common = spec.common();
        self.check_data(&obtained)?;
        let started = self.started(&obtained, device);
        let Obtained { data, fingerprint, warnings, .. } = obtained;
        let mut training = begin(data)?;
        training.join(Arc::clone(&self.group))?;
        let mut started = Started { parameters: Some(training.parameters()), ..started };
        let operations = spec.needs(spec.samples_at_once()).step_operations / self.group.size() as f64;
        let usage = Usage::new(device, &started.device, common.precision, operations);
        let before = self.session.before();
        let origin = CheckpointOrigin {
            data: fingerprint,
            config: self.config.identity(before),
            preset: self.config.preset.to_ron(),
        };
        let instruments = Instruments::new(&training, usage, WaitMetrics::new(Arc::clone(&self.group)))?;
        started.metrics.extend(instruments.metrics(training.optimized().2));
        let resumed = if self.session.is_new() {
            self.session.record(0, Event::Started(started))?;
            self.warn(warnings)?;
            None
        } else {
            Some((self.again(started), warnings))
        };
        let (session, group) = (&mut self.session, Arc::clone(&self.group));
        let mut trainer = Trainer::new(spec.clone(), &mut training, session, &self.stop, origin, instruments, group);
        if let Some((again, warnings)) = resumed {
            trainer.resume(again, warnings)?;
        }
        trainer.go()
    }

    /// Obtains the data of a preset, which must be those of earlier sessions; `None` if the run is stopped before.
    pub(super) fn data<D>(
        &mut self,
        obtain: impl FnOnce(&mut dyn FnMut(&str), &dyn Fn() -> bool) -> ObtainResult<D>,
    ) -> anyhow::Result<Option<Obtained<D>>> {
        let work = RefCell::new(&mut *self);
        let obtained = obtain(&mut say, &|| work.borrow_mut().is_to_stop()).map_err(anyhow::Error::from_boxed)?;
        obtained.map(|obtained| self.check_data(&obtained).map(|()| obtained)).transpose()
    }

    /// Answers commands before the training begins; returns whether it is to stop.
    pub(super) fn is_to_stop(&mut self) -> bool {
        let reply = |command: &RunCommand| match command {
            RunCommand::Stop => (true, "stopped before the training began"),
            _ => (false, "the training has not begun yet; send it again when it has"),
        };
        // The training reports errors of reading or writing when it begins.
        self.stop.is_raised() || answer_commands(&mut self.session, reply).unwrap_or_default()
    }

    fn check_data<D>(&self, obtained: &Obtained<D>) -> anyhow::Result<()> {
        let Obtained { source: found, fingerprint, .. } = obtained;
        let before = self.session.before().started().map(|started| started.fingerprint.as_str());
        if let Some(before) = before.filter(|before| !before.is_empty() && before != fingerprint) {
            bail!(
                "the run was trained on other data (fingerprint {before}) than what is found now: {found} ({fingerprint}); \
                 put the data back, or start a new run"
            );
        }
        Ok(())
    }

    pub(super) fn warn(&mut self, warnings: Vec<String>) -> anyhow::Result<()> {
        for message in warnings {
            self.session.record(self.session.step(), Event::Warning { message })?;
        }
        Ok(())
    }

    /// Decides on the description that a resumed run records again, if the original line is lost or the number of
    /// processes or threads has changed.
    pub(super) fn again(&self, started: Started) -> Option<Started> {
        let before = self.session.before();
        // Commands may have changed the number of steps.
        let steps = before.steps().unwrap_or(started.steps);
        let of = |started: &Started| (started.processes, started.threads);
        let whole = before.started().is_some_and(|before| of(before) == of(&started));
        (!whole).then_some(Started { steps, ..started })
    }

    pub(super) fn started<D>(&self, obtained: &Obtained<D>, device: Device) -> Started {
        Started {
            data: obtained.source.clone(),
            fingerprint: obtained.fingerprint.clone(),
            synthetic: obtained.is_synthetic,
            device: self.devices.describe(device),
            processes: (!self.group.is_alone()).then_some(self.group.size() as u64),
            threads: self.threads,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            ..self.config.started()
        }
    }
}

/// Answers new commands by `reply`; returns whether one was to stop.
fn answer_commands(
    session: &mut RunSession,
    reply: impl Fn(&RunCommand) -> (bool, &'static str),
) -> Result<bool, SessionError> {
    let mut stop = false;
    for (id, command) in session.commands()? {
        let (ok, message) = reply(&command);
        session.answer(&id, ok, message)?;
        stop |= command == RunCommand::Stop;
    }
    Ok(stop)
}

/// The work of the worker on a run with a spec of any workload.
pub(crate) trait Trained {
    fn train(&self, work: &mut Work<'_>) -> anyhow::Result<Ended>;

    /// Takes part in a training whose run another process writes.
    fn follow(&self, follower: &Follower<'_>) -> anyhow::Result<Ended>;

    fn export(&self, saved: &SavedRun, folder: &Path) -> anyhow::Result<()>;

    fn sample(&self, saved: &SavedRun, request: &TextRequest, devices: &Devices) -> anyhow::Result<String>;

    fn evaluate(&self, saved: &SavedRun, devices: &Devices) -> anyhow::Result<WholeLoss>;
}

impl<S: TrainedSpec> Trained for S {
    fn train(&self, work: &mut Work<'_>) -> anyhow::Result<Ended> {
        work.run(self)
    }

    fn follow(&self, follower: &Follower<'_>) -> anyhow::Result<Ended> {
        follower.run(self)
    }

    fn export(&self, saved: &SavedRun, folder: &Path) -> anyhow::Result<()> {
        Ok(TrainedSpec::export(self, saved, folder)?)
    }

    fn sample(&self, saved: &SavedRun, request: &TextRequest, devices: &Devices) -> anyhow::Result<String> {
        let (mut training, ..) = open(self, saved, devices)?;
        Ok(training.sample(request, saved.step, &mut || Ok(()))?)
    }

    fn evaluate(&self, saved: &SavedRun, devices: &Devices) -> anyhow::Result<WholeLoss> {
        let (mut training, [data, fingerprint], device) = open(self, saved, devices)?;
        let is_of_run = saved.origin.data.is_empty() || saved.origin.data == fingerprint;
        let device = devices.describe(device);
        Ok(WholeLoss { data, is_of_run, device, ..training.evaluate_all(&mut progress())? })
    }
}

pub(super) fn only<S>(preset: &RunsPreset<S>) -> anyhow::Result<&S> {
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

pub(super) fn say(line: &str) {
    eprintln!("{}", visible_lines(line));
}

fn progress() -> impl FnMut(u64, u64) {
    const INTERVAL: Duration = Duration::from_secs(10);
    let mut printed = Instant::now();
    move |done, of| {
        if printed.elapsed() >= INTERVAL {
            printed = Instant::now();
            say(&format!("{done} of {of} evaluated"));
        }
    }
}

macro_rules! define_trained {
    ($($(#[$about:meta])* $kind:ident($preset:ty)),+ $(,)?) => {
        pub(super) fn trained(preset: &Preset) -> anyhow::Result<&dyn Trained> {
            match preset {
                $(Preset::$kind(preset) => Ok(only(preset)?),)+
                Preset::Landscape(_) | Preset::Sweep(_) | Preset::Grid(_) => anyhow::bail!(
                    "expected a training, of the kind {}, found a preset of the kind {}",
                    Preset::WORKLOADS.join(" or "),
                    preset.kind()
                ),
            }
        }
    };
}
for_each_workload!(define_trained);
