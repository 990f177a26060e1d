//! Scores of a scan, and their comparison.

use valleyscope_runs::{GridPoint, ScanAxes};

/// The loss that NaN and infinite losses count as.
pub const NOT_FINITE: f64 = 100.0;
/// An improvement closer to 0 than this counts as none, as a fraction.
pub const NEGLIGIBLE: f64 = 0.05;

/// The score of an optimizer with one batch size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScanScore {
    /// The mean over replicates of the last test loss.
    pub mean: f64,
    /// The sample standard deviation over replicates (n − 1); NaN where there is only one.
    pub deviation: f64,
    /// The index of the best learning rate.
    pub learning_rate: usize,
    pub replicates: usize,
}

impl ScanScore {
    /// Returns the score from the test losses for each learning rate (outer) and replicate (inner); `None` where there
    /// are none.
    pub fn of(test_loss: &[Vec<f64>]) -> Option<ScanScore> {
        let scores = test_loss.iter().enumerate().filter(|(_, losses)| !losses.is_empty());
        let scores = scores.map(|(learning_rate, losses)| {
            let losses: Vec<f64> = losses.iter().map(|&loss| counted(loss)).collect();
            let (mean, deviation) = mean_and_deviation(&losses);
            ScanScore { mean, deviation, learning_rate, replicates: losses.len() }
        });
        // The first of equal scores has the smallest learning rate.
        scores.min_by(|a, b| a.mean.total_cmp(&b.mean))
    }
}

/// Returns the value that a loss has in an average.
pub fn counted(loss: f64) -> f64 {
    if loss.is_finite() { loss } else { NOT_FINITE }
}

/// Returns the mean, and the sample deviation with n − 1, which is NaN for a single value.
fn mean_and_deviation(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let deviation = if values.len() < 2 { f64::NAN } else { (squares / (count - 1.0)).sqrt() };
    (mean, deviation)
}

/// The improvement of another optimizer's loss on Adam's, as a fraction of Adam's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Improvement {
    /// The improvement (A − B)/A, as a fraction.
    pub value: f64,
    /// The error √[ (B²/A⁴) σ_A² + (1/A²) σ_B² ].
    pub error: f64,
}

impl Improvement {
    /// Returns the improvement of an optimizer with the loss B on Adam with the loss A.
    pub fn of(adam: ScanScore, other: ScanScore) -> Improvement {
        let (a, b) = (adam.mean, other.mean);
        let by_adam = b / (a * a) * adam.deviation;
        let by_other = other.deviation / a;
        Improvement { value: (a - b) / a, error: by_adam.hypot(by_other) }
    }
}

/// The known scores of a scan.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScanScores {
    /// The scores by optimizer (outer) and batch size (inner).
    scores: Vec<Vec<Option<ScanScore>>>,
}

impl ScanScores {
    /// Returns the scores of these grid points; those outside of the axes are ignored.
    pub fn of<'p>(axes: &ScanAxes, points: impl IntoIterator<Item = &'p GridPoint>) -> ScanScores {
        let mut scores = vec![vec![None; axes.batch_sizes.len()]; axes.optimizers.len()];
        for point in points {
            let [optimizer, batch_size] = point.index;
            if let Some(place) = scores.get_mut(optimizer).and_then(|row| row.get_mut(batch_size)) {
                *place = ScanScore::of(&point.test_loss);
            }
        }
        ScanScores { scores }
    }

    /// Returns the score of an optimizer with a batch size, by their indices in the axes.
    pub fn get(&self, optimizer: usize, batch_size: usize) -> Option<ScanScore> {
        *self.scores.get(optimizer)?.get(batch_size)?
    }

    /// Returns the known scores of an optimizer, one for each batch size.
    pub fn optimizer(&self, optimizer: usize) -> &[Option<ScanScore>] {
        self.scores.get(optimizer).map_or(&[], Vec::as_slice)
    }

    /// Returns the improvement of an optimizer on Adam, for each batch size where both are known.
    pub fn improvements(&self, adam: usize, other: usize) -> Vec<Option<Improvement>> {
        let pairs = self.optimizer(adam).iter().zip(self.optimizer(other));
        pairs.map(|(adam, other)| Some(Improvement::of((*adam)?, (*other)?))).collect()
    }
}
