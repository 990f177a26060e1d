//! A session of a scan: its grid points, one after another.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context;
use valleyscope_runs::{self as run, Event, GridPoint, RunHistory, SessionError};

use super::training::{Ended, NO_TEXT, Obtained, PointLosses, PointTraining, TrainedScan};
use super::work::Work;

impl Work<'_> {
    /// Trains all points of a scan.
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

    /// Trains a point in a thread of its own, and answers commands meanwhile.
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

/// Returns the grid points of a scan up to the first unreadable one: readers drop the points after the step from which
/// a run resumes.
fn complete(before: &RunHistory) -> HashSet<[usize; 2]> {
    let mut known: Vec<(u64, [usize; 2])> = before.grid_points().map(|point| (point.done, point.index)).collect();
    known.sort_unstable();
    let whole = known.into_iter().zip(1..).take_while(|((done, _), place)| done == place);
    whole.map(|((_, point), _)| point).collect()
}
