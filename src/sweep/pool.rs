//! A sweep in a pool of threads: its pixels arrive through a channel.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, OnceLock, mpsc};
use std::time::{Duration, Instant};

use rayon::prelude::*;
use valleyscope_engine::shares::Shares;
use valleyscope_engine::sweep::{Backend, Diagram, Finished, Precision, SweepJob, SweepWork, adam_shares};

/// The thread pool of sweeps, separate from all other threads.
#[derive(Clone)]
pub struct Pool(Arc<rayon::ThreadPool>);

impl Pool {
    pub fn new(threads: usize) -> Result<Pool, rayon::ThreadPoolBuildError> {
        let builder = rayon::ThreadPoolBuilder::new().num_threads(threads);
        Ok(Pool(Arc::new(builder.thread_name(|index| format!("sweep {index}")).build()?)))
    }

    pub fn threads(&self) -> usize {
        self.0.current_num_threads()
    }

    /// Computes the shares of Adam's gradients at all pixels of a diagram, row by row; those of unknown pixels are
    /// unknown. Returns `None` if `is_cancelled` before the end.
    pub fn measure(&self, diagram: &Diagram, is_cancelled: impl Fn() -> bool + Sync) -> Option<Vec<Shares>> {
        let spec = diagram.spec();
        let pixels: Vec<[usize; 2]> = spec.pixels().collect();
        let shares = |pixel: [usize; 2]| match diagram.cell(pixel) {
            _ if is_cancelled() => None,
            None => Some(Shares::UNKNOWN),
            Some(cell) => Some(adam_shares(Backend::new(Precision::Double), spec, pixel, cell)),
        };
        self.0.install(|| pixels.into_par_iter().map(shares).collect())
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Optimizer steps taken, and their total.
    pub steps: u64,
    pub all_steps: u64,
    /// Pixels computed from all replicates, and their total.
    pub pixels: usize,
    pub all_pixels: usize,
    /// Time since the start; it stops at the end.
    pub elapsed: Duration,
}

impl Progress {
    /// Optimizer steps a second.
    pub fn rate(&self) -> f64 {
        self.steps as f64 / self.elapsed.as_secs_f64()
    }

    pub fn left(&self) -> Option<Duration> {
        Duration::try_from_secs_f64(self.all_steps.saturating_sub(self.steps) as f64 / self.rate()).ok()
    }
}

/// A sweep that is running, or has ended.
pub struct Sweep {
    work: Arc<SweepWork>,
    started: Instant,
    ended: Arc<OnceLock<Instant>>,
    finished: Receiver<Finished>,
}

impl Sweep {
    /// Begins a sweep. `wake` is called after each pixel that is finished, and at the end.
    pub fn start(pool: &Pool, job: SweepJob<'_>, wake: impl Fn() + Send + Sync + 'static) -> Sweep {
        let work = Arc::new(SweepWork::new(job));
        let ended = Arc::new(OnceLock::new());
        let (sender, finished) = mpsc::channel();
        let sweep = Sweep { work: Arc::clone(&work), started: Instant::now(), ended: Arc::clone(&ended), finished };
        let pool = pool.clone();
        // A separate thread waits for the pool, so that no other thread must.
        std::thread::spawn(move || {
            let take = |finished| {
                let is_wanted = sender.send(finished).is_ok();
                if is_wanted {
                    wake();
                }
                is_wanted
            };
            // The panic was reported by its thread; the sweep ends without the pixels that it affected.
            let _ = catch_unwind(AssertUnwindSafe(|| pool.0.broadcast(|_| work.run(&take))));
            ended.get_or_init(Instant::now);
            drop(sender);
            wake();
        });
        sweep
    }

    /// The channel of finished pixels, which closes after the last.
    pub fn finished(&self) -> &Receiver<Finished> {
        &self.finished
    }

    /// Requests the end of the sweep. Pixels that are not finished within some milliseconds will not be.
    pub fn cancel(&self) {
        self.work.cancel();
    }

    pub fn has_ended(&self) -> bool {
        self.ended.get().is_some()
    }

    pub fn progress(&self) -> Progress {
        let until = self.ended.get().copied().unwrap_or_else(Instant::now);
        Progress {
            steps: self.work.steps(),
            all_steps: self.work.all_steps(),
            pixels: self.work.pixels(),
            all_pixels: self.work.all_pixels(),
            elapsed: until - self.started,
        }
    }
}

impl Drop for Sweep {
    fn drop(&mut self) {
        self.cancel();
    }
}
