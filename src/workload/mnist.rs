use serde::{Deserialize, Serialize};

use super::{DataChoice, DeviceChoice, FloatType, NotFinite, TrainingRule};
use crate::quantity::{
    BatchSize, CheckpointInterval, EvaluationInterval, LearningRate, LoggingInterval, PointCount, Replicates,
    TrainingSteps,
};
use crate::sweep::{LearningRates, SpecError};

/// One training of the paper's MNIST classifier (Appendix "MLP").
///
/// 784 → 128 × 5 → 10 units, ReLU, batch normalisation before each linear layer; inputs in [0, 1], cross
/// entropy, weight decay on the linear weights only.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MnistSpec {
    /// What lists and legends say; without it, the optimizer's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    pub optimizer: TrainingRule,
    pub learning_rate: LearningRate,
    #[serde(default = "batch_size")]
    pub batch_size: BatchSize,
    #[serde(default = "steps")]
    pub steps: TrainingSteps,
    /// Names the initial weights and the order of the images.
    #[serde(default)]
    pub seed: u64,
    /// Steps from one point of the training curve to the next.
    #[serde(default = "log_every")]
    pub log_every: LoggingInterval,
    /// Steps from one evaluation on the test images to the next.
    #[serde(default = "eval_every")]
    pub eval_every: EvaluationInterval,
    #[serde(default = "checkpoint_every")]
    pub checkpoint_every: CheckpointInterval,
    /// Every checkpoint at a multiple of this is kept, beside the last two and the best.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep_every: Option<CheckpointInterval>,
    #[serde(default)]
    pub not_finite: NotFinite,
    #[serde(default)]
    pub data: DataChoice,
    #[serde(default)]
    pub device: DeviceChoice,
    #[serde(default)]
    pub precision: FloatType,
}

fn batch_size() -> BatchSize {
    BatchSize::clamped(128)
}

fn steps() -> TrainingSteps {
    TrainingSteps::clamped(400)
}

fn log_every() -> LoggingInterval {
    LoggingInterval::clamped(1)
}

fn eval_every() -> EvaluationInterval {
    EvaluationInterval::clamped(20)
}

fn checkpoint_every() -> CheckpointInterval {
    CheckpointInterval::clamped(100)
}

impl MnistSpec {
    /// A run with this optimizer and the defaults of a preset.
    pub fn new(optimizer: TrainingRule, learning_rate: LearningRate) -> MnistSpec {
        MnistSpec {
            name: None,
            optimizer,
            learning_rate,
            batch_size: batch_size(),
            steps: steps(),
            seed: 0,
            log_every: log_every(),
            eval_every: eval_every(),
            checkpoint_every: checkpoint_every(),
            keep_every: None,
            not_finite: NotFinite::default(),
            data: DataChoice::default(),
            device: DeviceChoice::default(),
            precision: FloatType::default(),
        }
    }

    pub fn label(&self) -> &str {
        self.name.as_deref().unwrap_or(self.optimizer.name())
    }
}

/// The paper's scan over batch sizes and learning rates (Fig. 2c and d).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MnistScanSpec {
    pub optimizers: Vec<ScanOptimizer>,
    pub batch_sizes: Vec<BatchSize>,
    #[serde(default = "learning_rates")]
    pub learning_rates: LearningRates,
    #[serde(default = "replicates")]
    pub replicates: Replicates,
    #[serde(default = "steps")]
    pub steps: TrainingSteps,
    #[serde(default)]
    pub seed: u64,
    #[serde(default)]
    pub data: DataChoice,
    #[serde(default)]
    pub device: DeviceChoice,
    #[serde(default)]
    pub precision: FloatType,
}

/// An optimizer of a scan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScanOptimizer {
    /// What the legend says; without it, the rule's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Red, green, blue; without it, the rule's colour in the paper.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub color: Option<[u8; 3]>,
    pub rule: TrainingRule,
}

fn learning_rates() -> LearningRates {
    LearningRates { from: LearningRate::clamped(1e-4), to: LearningRate::clamped(1.0), count: PointCount::clamped(20) }
}

fn replicates() -> Replicates {
    Replicates::clamped(3)
}

impl ScanOptimizer {
    pub fn label(&self) -> &str {
        self.name.as_deref().unwrap_or(self.rule.name())
    }

    pub fn rgb(&self) -> [u8; 3] {
        self.color.unwrap_or(self.rule.rgb())
    }
}

impl MnistScanSpec {
    /// The most optimizers in a scan, and the most batch sizes.
    pub const MOST: usize = 64;
    /// The most trainings of one optimizer and batch size.
    pub const LARGEST_STACK: usize = 10_000;

    /// Trainings of one optimizer and batch size: learning rates times replicates.
    pub fn stack(&self) -> usize {
        self.learning_rates.count.get() * self.replicates.get()
    }

    /// The first rule between fields that the scan breaks.
    pub fn check(&self) -> Result<(), SpecError> {
        let refuse = |path: String, complaint: String| Err(SpecError { path, complaint });
        for (path, found) in [("optimizers", self.optimizers.len()), ("batch_sizes", self.batch_sizes.len())] {
            if !(1..=Self::MOST).contains(&found) {
                return refuse(path.to_owned(), format!("must have 1 to {} elements, found {found}", Self::MOST));
            }
        }
        for (index, size) in self.batch_sizes.iter().enumerate() {
            if let Some(first) = self.batch_sizes[..index].iter().position(|other| other == size) {
                let complaint = format!("is {}, the same as `batch_sizes[{first}]`", size.get());
                return refuse(format!("batch_sizes[{index}]"), complaint);
            }
        }
        let LearningRates { from, to, count } = self.learning_rates;
        if from >= to && count.get() > 1 {
            let complaint = format!("is {}, not below `learning_rates.to`, which is {}", from.get(), to.get());
            return refuse("learning_rates.from".to_owned(), complaint);
        }
        if self.stack() > Self::LARGEST_STACK {
            let complaint = format!(
                "times `learning_rates.count` is {}, more than the {} trainings of a pixel that are possible",
                self.stack(),
                Self::LARGEST_STACK
            );
            return refuse("replicates".to_owned(), complaint);
        }
        Ok(())
    }

    /// Pixels of the scan: optimizers times batch sizes.
    pub fn pixels(&self) -> usize {
        self.optimizers.len() * self.batch_sizes.len()
    }
}
