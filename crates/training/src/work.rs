//! The work of a worker on a run: a training or a scan of any workload.

use std::cell::RefCell;
use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use tch::Device;
use valleyscope_engine::terminal_escape::visible_lines;
use valleyscope_experiments::preset::Preset;
use valleyscope_experiments::run::{Capacity, RunConfig, SystemMemory};
use valleyscope_experiments::workload::{Common, ONE_PROCESS_ONLY, RunsPreset, Workload, for_each_workload};
use valleyscope_runs as run;
use valleyscope_runs::{
    CheckpointOrigin, Event, GridPoint, RunCommand, RunHistory, RunSession, SessionError, Started, StopRequest,
    WholeLoss, plain_file,
};

use super::checkpoint::{OPTIMIZER, SavedRun};
use super::device::{Devices, Usage};
use super::error::{MemoryAdvice, TrainError};
use super::follower::{Follower, share_data, share_stop};
use super::group::{Group, LocalProcesses, WaitMetrics};
use super::trainer::{Instruments, Trainer, TrainerError};
use super::training::{
    Ended, MeanLoss, NO_TEXT, ObtainResult, Obtained, PointLosses, PointTraining, SampleRequest, TrainedScan,
    TrainedSpec, Training,
};

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
}

impl Work<'_> {
    pub(crate) fn run<S: TrainedSpec>(&mut self, spec: &S) -> anyhow::Result<Ended> {
        self.run_all(spec).map_err(|mut error| {
            let advice = || self.memory_advice(spec);
            if let Some(TrainerError::Train(short)) = error.downcast_mut() {
                short.advise(advice);
            } else if let Some(short) = error.downcast_mut::<TrainError>() {
                short.advise(advice);
            }
            error
        })
    }

    fn memory_advice<S: TrainedSpec>(&self, spec: &S) -> MemoryAdvice {
        // The estimate is for one process that takes all samples.
        if !self.group.is_alone() {
            return MemoryAdvice::General;
        }
        let Common { device, rule, .. } = spec.common();
        let capacity = Capacity::measure(device, &self.devices.handshake(), self.session.run().path());
        let (Some(memory), is_gpu) = (capacity.memory, capacity.is_gpu()) else { return MemoryAdvice::General };
        // A GPU's memory is its total; a processor's is only what other programs leave free at the moment.
        let whole = if is_gpu { memory } else { SystemMemory::here().map_or(memory, |system| system.total) };
        match spec.fitting(memory, is_gpu) {
            Some(fits) if fits < spec.samples_at_once() => {
                MemoryAdvice::Batch { fits, with: S::INFO.with_smaller_batches }
            }
            None if spec.fitting(whole, is_gpu).is_none() => MemoryAdvice::Model(rule.name()),
            // A `batch_size` that was estimated to fit, but did not, is not suggested.
            _ => MemoryAdvice::General,
        }
    }

    fn run_all<S: TrainedSpec>(&mut self, spec: &S) -> anyhow::Result<Ended> {
        let common = spec.common();
        let device = self.devices.open(common.device, 0)?;
        self.group.meet_on_devices(device)?;
        let obtained = self.data(|say, cancelled| spec.obtain(say, cancelled))?;
        let Some(obtained) = obtained else {
            share_stop(&self.group)?;
            return Ok(Ended::Stopped);
        };
        let started = self.started(&obtained, device);
        let Obtained { data, fingerprint, warnings, .. } = obtained;
        share_data(&self.group, &fingerprint)?;
        let mut training = spec.begin(data, device)?;
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
        Ok(trainer.go()?)
    }

    /// Obtains the data of a preset, which must be those of earlier sessions; `None` if the run is stopped before.
    pub(super) fn data<D>(
        &mut self,
        obtain: impl FnOnce(&mut dyn FnMut(&str), &dyn Fn() -> bool) -> ObtainResult<D>,
    ) -> anyhow::Result<Option<Obtained<D>>> {
        let mut progress = ProgressLines::new(self.session.run().log());
        let (stop, session) = (&self.stop, RefCell::new(&mut self.session));
        let cancelled = || stop.is_raised() || stopped_before_it_began(&mut session.borrow_mut());
        let obtained = obtain(&mut |line| progress.add(line), &cancelled).map_err(anyhow::Error::from_boxed)?;
        drop(progress);
        let Some(obtained) = obtained else { return Ok(None) };
        let Obtained { source: found, fingerprint, .. } = &obtained;
        let before = self.session.before().started().map(|started| started.fingerprint.as_str());
        if let Some(before) = before.filter(|before| !before.is_empty() && before != fingerprint) {
            bail!(
                "the run was trained on other data (fingerprint {before}) than what is found now: {found} ({fingerprint}); \
                 put the data back, or start a new run"
            );
        }
        Ok(Some(obtained))
    }

    pub(super) fn warn(&mut self, warnings: Vec<String>) -> anyhow::Result<()> {
        for message in warnings {
            self.session.record(self.session.step(), Event::Warning { message })?;
        }
        Ok(())
    }

    /// Decides on the description that a resumed run records again, if the original line is lost or the number of
    /// processes has changed.
    pub(super) fn again(&self, started: Started) -> Option<Started> {
        let before = self.session.before();
        // Commands may have changed the number of steps.
        let steps = before.steps().unwrap_or(started.steps);
        let whole = before.started().is_some_and(|before| before.processes == started.processes);
        (!whole).then_some(Started { steps, ..started })
    }

    pub(super) fn started<D>(&self, obtained: &Obtained<D>, device: Device) -> Started {
        Started {
            data: obtained.source.clone(),
            fingerprint: obtained.fingerprint.clone(),
            synthetic: obtained.is_synthetic,
            device: self.devices.describe(device),
            processes: (!self.group.is_alone()).then_some(self.group.size() as u64),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            ..self.config.started()
        }
    }
}

/// Answers commands before there are data to train on; returns whether one was to stop.
fn stopped_before_it_began(session: &mut RunSession) -> bool {
    let mut stop = false;
    // The training reports errors of reading or writing when it begins.
    for (id, command) in session.commands().unwrap_or_default() {
        let (ok, message) = match command {
            RunCommand::Stop => {
                stop = true;
                (true, "stopped before the training began")
            }
            _ => (false, "the training has not begun yet; send it again when it has"),
        };
        let _ = session.answer(&id, ok, message);
    }
    stop
}

impl Work<'_> {
    pub(crate) fn scan<S: TrainedScan>(&mut self, preset: &S) -> anyhow::Result<Ended> {
        let device = self.devices.open(preset.device(), 0)?;
        let obtained = self.data(|say, cancelled| preset.obtain(say, cancelled))?;
        let Some(obtained) = obtained else { return Ok(Ended::Stopped) };
        let complete = complete(self.session.before());
        let mut done = complete.len() as u64;
        let started = self.started(&obtained, device);
        let axes = started.scan.clone().context("a scan has axes")?;
        let own = started.own_points.clone().unwrap_or_else(|| axes.points());
        if self.session.is_new() {
            self.session.record(0, Event::Started(started))?;
        } else {
            self.session.resume(done, self.session.wall_s())?;
            if let Some(started) = self.again(started) {
                self.session.record(done, Event::Started(started))?;
            }
        }
        let Obtained { data, warnings, .. } = obtained;
        self.warn(warnings)?;
        let scan = preset.begin(data, device)?;
        let flag = AtomicBool::new(false);
        self.session.begin_training();
        for &[row, column] in own.iter().filter(|point| !complete.contains(*point)) {
            let begun = Instant::now();
            let Some(losses) = self.point(&scan, [row, column], &flag)? else { return Ok(Ended::Stopped) };
            done += 1;
            let PointLosses { train_loss, test_loss, test_accuracy } = losses;
            let event = Event::GridPoint(GridPoint {
                index: [row, column],
                optimizer: axes.optimizers[row].clone(),
                batch_size: axes.batch_sizes[column],
                done,
                total: own.len() as u64,
                seconds: begun.elapsed().as_secs_f64(),
                train_loss,
                test_loss,
                test_accuracy,
            });
            self.session.record(done, event)?;
        }
        Ok(Ended::Finished)
    }

    /// Trains a point in a separate thread, and answers commands meanwhile.
    fn point(
        &mut self,
        scan: &impl PointTraining,
        [optimizer, batch_size]: [usize; 2],
        flag: &AtomicBool,
    ) -> anyhow::Result<Option<PointLosses>> {
        std::thread::scope(|scope| {
            let point = scope.spawn(|| scan.train_point(optimizer, batch_size, flag));
            while !point.is_finished() {
                std::thread::sleep(Duration::from_millis(20));
                // An error of receiving or answering ends the run at once, not only after the grid point.
                let asked = self.asked_to_stop().inspect_err(|_| flag.store(true, Ordering::Relaxed))?;
                if asked || self.stop.is_raised() {
                    flag.store(true, Ordering::Relaxed);
                }
            }
            match point.join() {
                Ok(outcome) => Ok(outcome?),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        })
    }

    /// Answers commands to a scan; returns whether one was to stop.
    fn asked_to_stop(&mut self) -> Result<bool, SessionError> {
        let mut stop = false;
        for (id, command) in self.session.commands()? {
            let (ok, message) = match command {
                run::RunCommand::Stop => {
                    stop = true;
                    (true, "stopping; finished grid points are kept")
                }
                run::RunCommand::Save => (true, "finished grid points are saved already"),
                run::RunCommand::SetSteps { .. } | run::RunCommand::Set { .. } => {
                    (false, "a scan's settings cannot be changed while it runs")
                }
                run::RunCommand::Sample { .. } => (false, NO_TEXT),
            };
            self.session.answer(&id, ok, message)?;
        }
        Ok(stop)
    }
}

/// Lists the grid points of a scan up to the first unreadable one: readers drop the points after the step from which a
/// run resumes.
fn complete(before: &RunHistory) -> HashSet<[usize; 2]> {
    let mut known: Vec<(u64, [usize; 2])> = before.grid_points().map(|point| (point.done, point.index)).collect();
    known.sort_unstable();
    let whole = known.into_iter().zip(1..).take_while(|((done, _), number)| done == number);
    whole.map(|((_, point), _)| point).collect()
}

/// A preset that the worker can train.
pub(crate) trait Trained: Workload {
    fn train(&self, work: &mut Work<'_>) -> anyhow::Result<Ended>;

    /// Takes part in a training whose run another process writes.
    fn follow(&self, _follower: &Follower<'_>) -> anyhow::Result<Ended> {
        anyhow::bail!(ONE_PROCESS_ONLY)
    }

    /// Writes a saved model of a run into a folder, in a format that other programs read.
    fn export(&self, _saved: &SavedRun, _folder: &Path) -> anyhow::Result<()> {
        anyhow::bail!(NO_MODEL)
    }

    /// Generates a text with a saved model of a run.
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

/// Lines at the end of a log that show the progress of long work. Dropping them removes them from the log, so that they
/// are not mistaken for the last messages of later work.
pub(super) struct ProgressLines {
    log: PathBuf,
    /// The length of the log before them in bytes; `None` without a log.
    before: Option<u64>,
    written: u64,
}

impl ProgressLines {
    /// Creates progress lines at the end of this log, to which standard error is redirected.
    pub(super) fn new(log: PathBuf) -> ProgressLines {
        let before = fs::symlink_metadata(&log).ok().map(|data| data.len());
        ProgressLines { log, before, written: 0 }
    }

    pub(super) fn add(&mut self, line: &str) {
        let line = visible_lines(line);
        eprintln!("{line}");
        self.written += line.len() as u64 + 1;
    }
}

impl Drop for ProgressLines {
    fn drop(&mut self) {
        let Some(before) = self.before.filter(|_| self.written > 0) else { return };
        // If other output followed, or the output is not the log, nothing is removed.
        let is_last = fs::symlink_metadata(&self.log).is_ok_and(|data| data.len() == before + self.written);
        if is_last && let Ok(file) = plain_file::open_to_write(&self.log) {
            // Lines that cannot be removed stay, which is harmless.
            let _ = file.set_len(before);
        }
    }
}
