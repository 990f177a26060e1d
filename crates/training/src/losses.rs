//! The training loss between two points of its curve, and jumps of it.

use std::collections::VecDeque;

use tch::Tensor;
use valleyscope_experiments::view::ticks::significant;
use valleyscope_runs::Checkpoint;

use super::error::TrainError;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct StepWork {
    /// Samples or tokens, whichever the training's metric of its rate counts.
    pub amount: f64,
    /// Floating-point operations of this process.
    pub operations: f64,
}

impl StepWork {
    fn add(&mut self, other: StepWork, steps: u64) {
        self.amount += steps as f64 * other.amount;
        self.operations += steps as f64 * other.operations;
    }
}

/// Accumulates the losses of the steps since the last point of the training curve.
#[derive(Default)]
pub(super) struct LossWindow {
    /// The sum of this session's losses.
    loss: Option<Tensor>,
    /// The sum of an earlier session's losses, until the next step.
    before: Option<f64>,
    pub steps: u64,
    /// The work of these steps: a command may change the size of a step.
    pub work: StepWork,
    /// Seconds of training at the beginning of the window.
    pub wall_s: f64,
}

impl LossWindow {
    /// Creates an empty window that begins at this second of training.
    pub(super) fn beginning(wall_s: f64) -> LossWindow {
        LossWindow { wall_s, ..LossWindow::default() }
    }

    /// Restores the window of a checkpoint, whose steps have each done this work.
    pub(super) fn restored(checkpoint: &Checkpoint, step: StepWork) -> LossWindow {
        match checkpoint.since {
            Some((steps, sum, wall_s)) => {
                let mut work = StepWork::default();
                work.add(step, steps);
                LossWindow { before: Some(sum), loss: None, steps, work, wall_s }
            }
            None => LossWindow::beginning(checkpoint.wall_s),
        }
    }

    /// The values for a checkpoint; they are exact, as a double represents every single.
    pub(super) fn saved(&self) -> Result<Option<(u64, f64, f64)>, TrainError> {
        Ok(self.sum()?.map(|sum| (self.steps, sum, self.wall_s)))
    }

    pub(super) fn add(&mut self, loss: Tensor, step: StepWork) -> Result<(), TrainError> {
        self.steps += 1;
        self.work.add(step, 1);
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

    pub(super) fn mean(&self) -> Result<f64, TrainError> {
        Ok(self.sum()?.unwrap_or(f64::NAN) / self.steps as f64)
    }
}

/// Detects jumps in the points of a training curve as they arrive.
///
/// Logarithms are compared, as small losses scatter by factors. A jump is a median of the newest three points that is
/// above all earlier points, and above their median by six deviations and by 5 %. A deviation is 1.4826 times the
/// median absolute deviation from the median: the standard deviation of a normal distribution, robust against single
/// outliers ([Rousseeuw and Croux, 1993](https://doi.org/10.1080/01621459.1993.10476408)).
#[derive(Clone, Debug, Default)]
pub struct LossSpikes {
    /// Logarithms of the newest points, the newest last.
    recent: VecDeque<f64>,
}

impl LossSpikes {
    const NEWEST: usize = 3;
    /// The smallest number of earlier points for a comparison, and the largest number that is stored.
    const BEFORE: [usize; 2] = [16, 50];
    const DEVIATIONS: f64 = 6.0;
    const RISE: f64 = 1.05;

    /// Adds the next point; returns a message if the loss has jumped. A jump is reported once: after it, the points for
    /// comparison are collected anew. Losses that are not finite or not positive are skipped.
    pub fn next(&mut self, loss: f64) -> Option<String> {
        if !(loss.is_finite() && loss > 0.0) {
            return None;
        }
        self.recent.push_back(loss.ln());
        let [least, most] = Self::BEFORE;
        if self.recent.len() > most + Self::NEWEST {
            self.recent.pop_front();
        }
        let count = self.recent.len().checked_sub(Self::NEWEST).filter(|count| *count >= least)?;
        let points = self.recent.make_contiguous();
        let (before, newest) = points.split_at(count);
        let (usual, newest) = (median(before), median(newest));
        let deviation = 1.4826 * median(&before.iter().map(|point| (point - usual).abs()).collect::<Vec<_>>());
        let highest = before.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let bound = highest.max(usual + (Self::DEVIATIONS * deviation).max(Self::RISE.ln()));
        if newest <= bound {
            return None;
        }
        self.recent.clear();
        let [usual, newest] = [usual, newest].map(|point| significant(point.exp(), 3));
        Some(format!("the training loss has jumped to {newest}; the median of the {count} points before was {usual}"))
    }
}

/// The middle value, or the upper of the two in the middle.
fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_step_counts_with_the_work_that_it_has_done() {
        let step = |amount: f64| StepWork { amount, operations: 10.0 * amount };
        let mut window = LossWindow::beginning(0.0);
        for amount in [128.0, 128.0, 64.0] {
            window.add(Tensor::from(1.0), step(amount)).expect("a number can be added");
        }
        assert_eq!((window.steps, window.work), (3, step(320.0)));
    }
}
