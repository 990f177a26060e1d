//! A session of a run in the process that writes it.

use std::cell::RefCell;
use std::sync::Arc;

use anyhow::bail;
use tch::Device;
use valleyscope_experiments::run::{Capacity, RunConfig, SystemMemory};
use valleyscope_experiments::workload::Common;
use valleyscope_runs::{CheckpointOrigin, Event, RunCommand, RunSession, Started, StopRequest};

use super::device::Devices;
use super::error::{MemoryAdvice, TrainError};
use super::follower::{share_data, share_stop};
use super::group::{Group, LocalProcesses};
use super::progress::ProgressLines;
use super::trainer::{Instruments, Trainer, TrainerError};
use super::training::{Ended, ObtainResult, Obtained, TrainedSpec, Training};
use super::usage::Usage;
use super::wait_metrics::WaitMetrics;

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
    /// Trains one run of a workload.
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

    /// Returns the advice for a run that lacks memory.
    fn memory_advice<S: TrainedSpec>(&self, spec: &S) -> MemoryAdvice {
        // The estimate is for one process that takes all samples.
        if !self.group.is_alone() {
            return MemoryAdvice::General;
        }
        let Common { device, rule, .. } = spec.common();
        let capacity = Capacity::look(device, &self.devices.handshake(), self.session.run().path());
        let (Some(memory), is_gpu) = (capacity.memory, capacity.is_gpu()) else { return MemoryAdvice::General };
        // A GPU's memory is its total; of a processor's, `memory` is only what other programs leave free at the moment.
        let whole = if is_gpu { memory } else { SystemMemory::here().map_or(memory, |system| system.total) };
        match spec.fitting(memory, is_gpu) {
            Some(fits) if fits < spec.samples_at_once() => {
                MemoryAdvice::Batch { fits, with: S::INFO.with_smaller_batches }
            }
            None if spec.fitting(whole, is_gpu).is_none() => MemoryAdvice::Model(rule.name()),
            // A `batch_size` that was estimated to fit, but did not, is no advice.
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

    /// Obtains the data of a preset, which must be those of earlier sessions; `None` if it was asked to stop before.
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

    /// Returns the description that a resumed run records again, if the original line is lost or the number of
    /// processes has changed.
    pub(super) fn again(&self, started: Started) -> Option<Started> {
        let before = self.session.before();
        // Commands may have changed the number of steps.
        let steps = before.steps().unwrap_or(started.steps);
        let whole = before.started().is_some_and(|before| before.processes == started.processes);
        (!whole).then_some(Started { steps, ..started })
    }

    /// Describes a run, without the parts specific to its kind.
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
