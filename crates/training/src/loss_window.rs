//! The losses of the steps since the last point of the training curve.

use tch::Tensor;
use valleyscope_runs::Checkpoint;

use super::error::TrainError;

/// Accumulates the losses of the steps since the last point of the training curve.
#[derive(Default)]
pub(super) struct LossWindow {
    /// The sum of this session's losses.
    loss: Option<Tensor>,
    /// The sum of an earlier session's losses, until the next step.
    before: Option<f64>,
    pub steps: u64,
    /// Seconds of training at the beginning of the window.
    pub wall_s: f64,
}

impl LossWindow {
    /// Creates an empty window that begins at this second of training.
    pub(super) fn beginning(wall_s: f64) -> LossWindow {
        LossWindow { wall_s, ..LossWindow::default() }
    }

    pub(super) fn restored(checkpoint: &Checkpoint) -> LossWindow {
        match checkpoint.since {
            Some((steps, sum, wall_s)) => LossWindow { before: Some(sum), loss: None, steps, wall_s },
            None => LossWindow::beginning(checkpoint.wall_s),
        }
    }

    /// Returns the values for a checkpoint; they are exact, as a double holds every single.
    pub(super) fn saved(&self) -> Result<Option<(u64, f64, f64)>, TrainError> {
        Ok(self.sum()?.map(|sum| (self.steps, sum, self.wall_s)))
    }

    pub(super) fn add(&mut self, loss: Tensor) -> Result<(), TrainError> {
        self.steps += 1;
        if let Some(sum) = self.before.take() {
            self.loss = Some(loss.f_full_like(sum)?);
        }
        match &mut self.loss {
            Some(sum) => drop(sum.f_add_(&loss)?),
            None => self.loss = Some(loss),
        }
        Ok(())
    }

    fn sum(&self) -> Result<Option<f64>, TrainError> {
        Ok(match &self.loss {
            Some(sum) => Some(sum.f_double_value(&[0])?),
            None => self.before,
        })
    }

    /// Returns the mean loss. Blocks on the device.
    pub(super) fn mean(&self) -> Result<f64, TrainError> {
        Ok(self.sum()?.unwrap_or(f64::NAN) / self.steps as f64)
    }
}
