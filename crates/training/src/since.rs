//! The steps since the last point of the training curve.

use tch::Tensor;
use valleyscope_runs::Checkpoint;

use super::error::TrainError;

/// The data for the training curve of the steps since its last point.
#[derive(Default)]
pub(super) struct Since {
    /// The sum of the losses.
    loss: Option<Tensor>,
    /// The sum so far, of an earlier session, until the next step.
    before: Option<f64>,
    pub steps: u64,
    /// Seconds of training at its beginning.
    pub wall_s: f64,
}

impl Since {
    /// No steps yet, from this second of training on.
    pub(super) fn beginning(wall_s: f64) -> Since {
        Since { wall_s, ..Since::default() }
    }

    pub(super) fn restored(checkpoint: &Checkpoint) -> Since {
        match checkpoint.since {
            Some((steps, sum, wall_s)) => Since { before: Some(sum), loss: None, steps, wall_s },
            None => Since::beginning(checkpoint.wall_s),
        }
    }

    /// The values for a checkpoint; exact, as a double holds every single.
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

    /// The mean loss. Waits for the device.
    pub(super) fn mean(&self) -> Result<f64, TrainError> {
        Ok(self.sum()?.unwrap_or(f64::NAN) / self.steps as f64)
    }
}
