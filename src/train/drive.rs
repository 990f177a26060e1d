//! Takes a training through its steps: events, evaluations, checkpoints, commands.

use super::checkpoint::CheckpointError;
use super::error::TrainError;
use super::mnist::MnistRun;
use crate::run::checkpoint::orphans;
use crate::run::{
    Checkpoint, Command, Eval, Event, Origin, RunFolder, RunSession, SessionError, Started, StopRequest, Train,
};
use crate::workload::{MnistSpec, NotFinite};

/// Why a sample is refused.
pub const NO_TEXT: &str = "a classifier of images writes no text";

/// Why a session ends early.
#[derive(Debug, thiserror::Error)]
pub enum DriveError {
    #[error(transparent)]
    Train(#[from] TrainError),
    #[error(transparent)]
    Session(#[from] SessionError),
    #[error("cannot save or read a checkpoint: {0}")]
    Checkpoint(#[from] CheckpointError),
}

/// How a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    Finished,
    /// It was asked to; it can be resumed.
    Stopped,
    /// The loss is no finite number, and the spec says that this is the end.
    NotFinite,
}

/// A training and the run that it writes.
pub struct Drive<'a> {
    pub spec: &'a MnistSpec,
    pub run: &'a mut MnistRun,
    pub session: &'a mut RunSession,
    pub stop: &'a StopRequest,
    /// Of which its checkpoints are.
    origin: Origin,
    best: Option<(u64, f64)>,
    steps: u64,
    since: Since,
    warned: bool,
    saved: Option<u64>,
}

/// What the training curve says of the steps since its last point.
#[derive(Default)]
struct Since {
    /// The sum.
    loss: Option<tch::Tensor>,
    steps: u64,
    /// When it began.
    wall_s: f64,
}

impl<'a> Drive<'a> {
    pub fn new(
        spec: &'a MnistSpec,
        run: &'a mut MnistRun,
        session: &'a mut RunSession,
        stop: &'a StopRequest,
        origin: Origin,
    ) -> Self {
        let (steps, since) = (spec.steps.get() as u64, Since::default());
        Drive { spec, run, session, stop, origin, best: None, steps, since, warned: false, saved: None }
    }

    /// Goes back to the newest checkpoint that can be read; those that cannot are warned of. A run that has none yet
    /// begins anew; one whose checkpoints cannot be used does not, as that would lose what was trained.
    ///
    /// The run ends with so many steps, where that is not the spec's; it says again what it is, where `again` is given.
    pub fn resume(
        &mut self,
        steps: Option<u64>,
        again: Option<Started>,
        mut warnings: Vec<String>,
    ) -> Result<(), DriveError> {
        self.steps = steps.unwrap_or(self.steps);
        let mut wall_s = 0.0;
        let mut unusable = Vec::new();
        for step in Checkpoint::steps(self.session.run())?.into_iter().rev() {
            match Checkpoint::load(self.session.run(), step, &self.origin, &self.run.tensors()) {
                Ok((checkpoint, tensors)) => {
                    self.run.restore(step, checkpoint.clock(), &tensors)?;
                    self.best = checkpoint.best;
                    self.since = Since::restored(&checkpoint, self.run)?;
                    self.saved = Some(step);
                    wall_s = checkpoint.wall_s;
                    break;
                }
                Err(error) => unusable.push(format!("the checkpoint of step {step} cannot be used: {error}")),
            }
        }
        if let (None, Some(newest)) = (self.saved, unusable.first()) {
            return Err(TrainError::Refused(format!(
                "{newest}, and neither can an older one; start a new run, or delete all files checkpoint-* of this one \
                 to train it from the beginning"
            ))
            .into());
        }
        if self.saved.is_none() && !self.session.before().checkpoints().is_empty() {
            if !orphans(self.session.run()).unwrap_or_default().is_empty() {
                return Err(TrainError::Refused(
                    "the run has tensors of checkpoints without the files checkpoint-*.ron that say what they are; put \
                     those back, or delete all files checkpoint-* to train it from the beginning"
                        .to_owned(),
                )
                .into());
            }
            warnings.push("the run's checkpoints are gone; it begins again at step 0".to_owned());
        }
        warnings.extend(unusable);
        warnings.extend(self.lost_points());
        self.session.resume(self.run.step(), wall_s)?;
        if let Some(started) = again {
            self.session.record(self.run.step(), Event::Started(started))?;
        }
        for message in warnings {
            self.session.record(self.run.step(), Event::Warning { message })?;
        }
        Ok(())
    }

    /// Says so where the events end before the last point of the training curve that was taken until now, as they were
    /// safe before the checkpoint was.
    fn lost_points(&self) -> Option<String> {
        let (step, before) = (self.run.step(), self.session.before());
        let point = step - step % self.spec.log_every.get() as u64;
        (before.lines() > 0 && before.step() < point).then(|| {
            let (events, reached) = (RunFolder::EVENTS, before.step());
            format!("{events} ended after step {reached}; what happened from then to step {step} is lost")
        })
    }

    /// Trains to the end, or until it is asked to stop.
    pub fn go(&mut self) -> Result<Ended, DriveError> {
        Checkpoint::sweep(self.session.run());
        self.session.begin_training();
        while self.run.step() < self.steps {
            let loss = self.run.advance()?;
            let step = self.run.step();
            let last = step == self.steps;
            self.since.add(loss)?;
            let due = |every: usize| last || step.is_multiple_of(every as u64);
            if due(self.spec.log_every.get()) {
                let finite = self.log()?;
                if !finite && self.spec.not_finite == NotFinite::Stop {
                    self.save()?;
                    return Ok(Ended::NotFinite);
                }
            }
            if due(self.spec.eval_every.get()) {
                self.evaluate()?;
            }
            if due(self.spec.checkpoint_every.get()) {
                self.save()?;
            }
            if (self.obey()? || self.stop.is_raised()) && self.run.step() < self.steps {
                self.save()?;
                return Ok(Ended::Stopped);
            }
        }
        self.save()?;
        Ok(Ended::Finished)
    }

    /// Adds a point to the training curve; says whether its loss is finite.
    fn log(&mut self) -> Result<bool, DriveError> {
        let step = self.run.step();
        let since = &self.since;
        let loss = since.mean()?;
        let now = self.session.wall_s();
        let samples = (since.steps * self.spec.batch_size.get() as u64) as f64;
        let point = Train {
            loss,
            lr: self.spec.learning_rate.get(),
            grad_norm: self.run.gradient_norm()?,
            samples_per_s: Some(samples / (now - since.wall_s)),
            tokens_per_s: None,
        };
        self.session.record(step, Event::Train(point))?;
        self.since = Since { wall_s: now, ..Since::default() };
        if !loss.is_finite() && !self.warned {
            self.warned = true;
            let message = format!("the training loss is {loss}: the run has diverged");
            self.session.record(step, Event::Warning { message })?;
        }
        Ok(loss.is_finite())
    }

    fn evaluate(&mut self) -> Result<(), DriveError> {
        let step = self.run.step();
        let evaluation = self.run.evaluate()?;
        let loss = evaluation.loss;
        if loss.is_finite() && self.best.is_none_or(|(_, best)| loss < best) {
            self.best = Some((step, loss));
        }
        let (test_loss, test_accuracy) = (Some(loss), Some(evaluation.accuracy));
        self.session.record(step, Event::Eval(Eval { test_loss, test_accuracy, ..Eval::default() }))?;
        // The best model is kept, so it must be saved when it is known to be.
        if self.best.is_some_and(|(best, _)| best == step) { self.save() } else { Ok(()) }
    }

    /// Saves a checkpoint, unless this step has one.
    fn save(&mut self) -> Result<(), DriveError> {
        let step = self.run.step();
        if self.saved == Some(step) {
            return Ok(());
        }
        // A run must never go on from later than its curve reaches.
        self.session.sync()?;
        let mut checkpoint =
            Checkpoint::new(step, self.session.wall_s(), self.run.clock(), self.best, self.origin.clone());
        checkpoint.since = self.since.saved()?;
        let saved = checkpoint.save(self.session.run(), self.run.tensors());
        let file = saved.map_err(|error| match error {
            CheckpointError::File { path, source } => DriveError::Session(self.session.failure(path, source)),
            other => DriveError::Checkpoint(other),
        })?;
        self.saved = Some(step);
        self.session.record(step, Event::Checkpoint { file })?;
        let keep_every = self.spec.keep_every.map(|every| every.get() as u64);
        Checkpoint::tidy(self.session.run(), step, self.best.map(|(step, _)| step), keep_every)?;
        Ok(())
    }

    /// Does what it was asked to; says whether that is to stop.
    fn obey(&mut self) -> Result<bool, DriveError> {
        let mut stop = false;
        for (id, command) in self.session.commands()? {
            match command {
                Command::Stop => {
                    self.save()?;
                    self.session.answer(&id, true, &format!("stopped after step {}", self.run.step()))?;
                    stop = true;
                }
                Command::Save => {
                    self.save()?;
                    self.session.answer(&id, true, &format!("saved step {}", self.run.step()))?;
                }
                Command::SetSteps { n } if n > self.run.step() => {
                    self.steps = n;
                    self.session.answer_steps(&id, n)?;
                }
                Command::SetSteps { n } => {
                    let message =
                        format!("expected more than the {} steps that were taken, found {n}", self.run.step());
                    self.session.answer(&id, false, &message)?;
                }
                Command::Sample { .. } => {
                    self.session.answer(&id, false, NO_TEXT)?;
                }
            }
        }
        Ok(stop)
    }
}

impl Since {
    fn restored(checkpoint: &Checkpoint, run: &MnistRun) -> Result<Since, TrainError> {
        let Some((steps, loss, wall_s)) = checkpoint.since else {
            return Ok(Since { wall_s: checkpoint.wall_s, ..Since::default() });
        };
        let loss = tch::Tensor::f_from_slice(&[loss])?.f_to_kind(run.mlp.kind())?.f_to_device(run.mlp.device())?;
        Ok(Since { loss: Some(loss), steps, wall_s })
    }

    /// For a checkpoint; exact, as a double holds every single.
    fn saved(&self) -> Result<Option<(u64, f64, f64)>, TrainError> {
        let Some(loss) = &self.loss else { return Ok(None) };
        Ok(Some((self.steps, loss.f_double_value(&[0])?, self.wall_s)))
    }

    fn add(&mut self, loss: tch::Tensor) -> Result<(), TrainError> {
        self.steps += 1;
        match &mut self.loss {
            Some(sum) => drop(sum.f_add_(&loss)?),
            None => self.loss = Some(loss),
        }
        Ok(())
    }

    /// Waits for the device.
    fn mean(&self) -> Result<f64, TrainError> {
        let sum = self.loss.as_ref().map_or(Ok(f64::NAN), |loss| loss.f_double_value(&[0]))?;
        Ok(sum / self.steps as f64)
    }
}
