//! A sweep with progress on stderr, until it is complete or interrupted.

use std::sync::mpsc::RecvTimeoutError;
use std::thread::available_parallelism;
use std::time::Duration;

use anyhow::{Context, anyhow};
use valleyscope_engine::sweep::{Backend, Diagram, Finished, Precision, SweepJob};
use valleyscope_experiments::preset::{Library, Preset, SweepPreset};

use crate::cli::output::{Interrupt, ProgressLine, ProgressUnit};
use crate::cli::{Failure, wrong_kind};
use crate::sweep::pool::{Pool, Progress, Sweep};

pub(crate) fn load(name_or_file: &std::ffi::OsStr) -> Result<SweepPreset, Failure> {
    match Library::open().load(name_or_file).map_err(Failure::bad_input)?.preset {
        Preset::Sweep(preset) => Ok(preset),
        other => Err(wrong_kind("a preset of the kind Sweep", name_or_file, &other)),
    }
}

pub(crate) struct SweepRunner {
    pub pool: Pool,
    pub backend: Backend,
    pub interrupt: Interrupt,
}

impl SweepRunner {
    /// Creates a runner with this number of threads, or as many as the machine runs at the same time.
    pub(crate) fn open(threads: Option<u64>, precision: Precision) -> Result<SweepRunner, Failure> {
        let all = || available_parallelism().map_or(1, |threads| threads.get());
        let threads = threads.map_or_else(all, |threads| threads as usize);
        let pool =
            Pool::new(threads).with_context(|| format!("cannot start {threads} threads; try fewer --threads"))?;
        Ok(SweepRunner { pool, backend: Backend::new(precision), interrupt: Interrupt::listen()? })
    }

    /// Runs a job whose pixels are taken as they are finished; some times a second there may be none. An interruption ends
    /// the job early, without an error.
    pub(crate) fn compute(
        &self,
        job: SweepJob<'_>,
        mut take: impl FnMut(Option<Finished>) -> Result<(), Failure>,
    ) -> Result<Progress, Failure> {
        const TICK: Duration = Duration::from_millis(50);
        job.spec.check_computable().map_err(Failure::bad_input)?;
        let sweep = Sweep::start(&self.pool, job, || {});
        let mut progress = ProgressLine::new(sweep.progress().all_steps, ProgressUnit::MILLION_STEPS, false);
        let outcome = loop {
            let finished = sweep.finished().recv_timeout(TICK);
            if matches!(finished, Err(RecvTimeoutError::Disconnected)) {
                break Ok(());
            }
            if self.interrupt.is_raised() {
                sweep.cancel();
            }
            if let Err(failure) = take(finished.ok()) {
                break Err(failure);
            }
            progress.set_total(sweep.progress().all_steps);
            progress.update(sweep.progress().steps);
        };
        progress.finish();
        let done = sweep.progress();
        outcome?;
        if done.pixels < done.all_pixels && !self.interrupt.is_raised() {
            return Err(anyhow!("a thread of the sweep has failed; its message is above").into());
        }
        Ok(done)
    }

    /// Computes the shares of a diagram that has none. An interruption ends it, as a failure.
    pub(crate) fn measure(&self, diagram: &mut Diagram) -> Result<(), Failure> {
        if !diagram.has_shares() {
            let shares = self.pool.measure(diagram, || self.interrupt.is_raised()).ok_or(Failure::Interrupted)?;
            diagram.set_shares(shares);
        }
        Ok(())
    }

    /// Describes the speed of the work, with threads and instructions.
    pub(crate) fn speed(&self, done: &Progress) -> String {
        let (seconds, millions) = (done.elapsed.as_secs_f64(), done.steps as f64 / 1e6);
        let rate = if seconds > 0.0 { millions / seconds } else { 0.0 };
        let (threads, backend) = (self.pool.threads(), self.backend);
        format!(
            "{} pixels, {millions:.1} million steps in {seconds:.2} s, {rate:.1} million steps a second; {threads} {}, \
             {}, {}",
            done.pixels,
            if threads == 1 { "thread" } else { "threads" },
            backend.instructions().name(),
            backend.precision().name()
        )
    }
}
