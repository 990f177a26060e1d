use serde::{Deserialize, Serialize};
use valleyscope_engine::quantity::{FinalLearningRate, WarmupSteps};

/// The schedule of the learning rate: a linear warm-up, then half a cosine.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Schedule {
    /// W, the steps of the warm-up.
    pub warmup: WarmupSteps,
    /// The learning rate after the last step.
    pub min_lr: FinalLearningRate,
}

impl Schedule {
    /// Returns the learning rate of update i = 0, 1, … of a run of N steps:
    ///
    /// ```text
    /// η(i) = peak · i/W                                               for i < W
    /// η(i) = min_lr + ½ (peak − min_lr) (1 + cos π (i − W)/(N − W))   for W ≤ i < N
    /// η(i) = min_lr                                                   from N on
    /// ```
    pub fn learning_rate(&self, peak: f64, update: u64, steps: u64) -> f64 {
        let (warmup, least) = (self.warmup.get() as u64, self.min_lr.get());
        if update < warmup {
            return peak * update as f64 / warmup as f64;
        }
        if update >= steps {
            return least;
        }
        let share = (update - warmup) as f64 / (steps - warmup) as f64;
        least + 0.5 * (peak - least) * (1.0 + (std::f64::consts::PI * share).cos())
    }
}
