//! The paper's classifier of handwritten digits (Appendix "MLP").

mod scan;

use serde::{Deserialize, Serialize};
use valleyscope_engine::optimizer::RuleSpec;
use valleyscope_engine::quantity::{
    BatchSize, CheckpointInterval, EvaluationInterval, KeepInterval, LearningRate, LoggingInterval, MeasureInterval,
    Processes, TrainingSteps,
};
use valleyscope_runs::{Measure, MetricId, Started};

use super::form::{self, FieldInfo, Section, Show, Value, choice, number};
use super::runs::{is_one, is_usual_interval};
use super::{
    Common, CommonMut, Course, DataStatus, DataStatusResult, Dataset, DatasetFiles, DeviceChoice, FloatType, Needs,
    NotFinite, RunSpec, RunsPreset, Sharing, WorkloadInfo,
};
use crate::dataset::DataChoice;
use crate::dataset::mnist::{self, MnistSource, MnistSources};

pub use scan::{MnistScanPreset, MnistScanSpec};

/// Trainings of the MNIST classifier, one after another.
pub type MnistPreset = RunsPreset<MnistSpec>;

pub(super) static MNIST: Dataset = Dataset {
    name: "mnist",
    automatic: "Automatic: the cache, else a download, and with no network digits that the program draws",
    folder: "the four IDX files of MNIST, packed or not",
    synthetic: "Drawn digits (not MNIST)",
    files: Some(DatasetFiles {
        title: FAMILY,
        cache: || mnist::cache_folder().ok(),
        lacking_in: |folder| mnist::check_present(folder).err().map(|error| error.to_string()),
    }),
};
const FAMILY: &str = "MNIST";
const SEED: &str = "Names the initial weights and the order of the images. Runs that differ only in it are replicates.";
const DOUBLE: &str = "Double precision is for checking";
const BATCH_SIZE: FieldInfo =
    FieldInfo::whole("batch_size", "Batch size", BatchSize::RANGE, "Images a step").identity().live();
const PRECISIONS: &[(FloatType, &str)] = &[(FloatType::Float32, "float32"), (FloatType::Float64, "float64")];

/// One training of the paper's MNIST classifier (Appendix "MLP").
///
/// 784 → 128 × 5 → 10 units, ReLU, batch normalisation before each linear layer; inputs in [0, 1], cross
/// entropy, weight decay on the linear weights only.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MnistSpec {
    /// The name in lists and legends; without it, the optimizer's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(deserialize_with = "RuleSpec::deserialize_in_training")]
    pub optimizer: RuleSpec,
    pub learning_rate: LearningRate,
    #[serde(default = "BatchSize::of::<128>")]
    pub batch_size: BatchSize,
    #[serde(default = "TrainingSteps::of::<400>")]
    pub steps: TrainingSteps,
    /// The seed of the initial weights and of the order of the images.
    #[serde(default)]
    pub seed: u64,
    /// Steps from one point of the training curve to the next.
    #[serde(default = "LoggingInterval::of::<1>")]
    pub log_every: LoggingInterval,
    /// Steps from one evaluation on the test images to the next.
    #[serde(default = "EvaluationInterval::of::<20>")]
    pub eval_every: EvaluationInterval,
    #[serde(default = "CheckpointInterval::of::<100>")]
    pub checkpoint_every: CheckpointInterval,
    /// The interval of checkpoints that are kept, beside the last two and the best.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep_every: Option<KeepInterval>,
    /// Steps from one measure of the gradient's noise, signal and oscillation to the next; 0 for none.
    #[serde(default = "MeasureInterval::of::<100>", skip_serializing_if = "is_usual_interval")]
    pub measure_every: MeasureInterval,
    #[serde(default)]
    pub not_finite: NotFinite,
    #[serde(default)]
    pub data: DataChoice,
    #[serde(default)]
    pub device: DeviceChoice,
    /// Processes on this machine that share each batch; others may start them instead.
    #[serde(default = "Processes::of::<1>", skip_serializing_if = "is_one")]
    pub processes: Processes,
    /// Whether each of several processes keeps the optimizer's memory for a part of the parameters only, and steps
    /// these.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shard_optimizer: bool,
    #[serde(default)]
    pub precision: FloatType,
}

/// The sizes of the layers: pixels, units of the paper's hidden layers, and digits.
pub const SIZES: [i64; 7] = [784, 128, 128, 128, 128, 128, 10];

fn data_status(choice: &DataChoice) -> DataStatusResult {
    let data = match mnist::locate(choice, &MnistSources::of_this_machine())? {
        Some(folder) => format!("files in {}", folder.display()),
        None if *choice == DataChoice::Synthetic => MnistSource::Synthetic.to_string(),
        None => {
            "MNIST, which is downloaded first; without a network, digits that the program draws. `valleyscope data \
                 mnist` downloads it without training."
                .to_owned()
        }
    };
    Ok(DataStatus { data, is_fallback: false, warnings: Vec::new() })
}

impl RunSpec for MnistSpec {
    const INFO: &'static WorkloadInfo =
        &WorkloadInfo { name: "MNIST classifier", family: FAMILY, dataset: &MNIST, with_smaller_batches: "" };

    const FIELDS: &'static [Section<MnistSpec>] = &[
        Section {
            heading: "Data and device",
            show: Show::Open,
            fields: &[
                form::data(&MNIST).at(|it| Some(Value::Data(&mut it.data, &MNIST))),
                form::DEVICE.at(|it| Some(Value::Device(&mut it.device))),
                form::PROCESSES.at(|it| number(&mut it.processes)),
                form::SHARD.at(|it| (it.processes.get() > 1).then_some(Value::Switch(&mut it.shard_optimizer))),
                form::precision(DOUBLE).at(|it| choice(&mut it.precision, PRECISIONS)),
            ],
        },
        Section {
            heading: "Optimizer",
            show: Show::Open,
            fields: &[
                form::RULE.at(|it| Some(Value::Rule(&mut it.optimizer))),
                form::RATE.at(|it| number(&mut it.learning_rate)),
            ],
        },
        Section {
            heading: "Training",
            show: Show::Open,
            fields: &[
                BATCH_SIZE.at(|it| number(&mut it.batch_size)),
                form::steps("Steps of the run. The paper takes 400.").at(|it| number(&mut it.steps)),
                form::seed(SEED).at(|it| Some(Value::Seed(&mut it.seed))),
            ],
        },
        Section {
            heading: "Logging and checkpoints",
            show: Show::Folded,
            fields: &[
                form::LOG_EVERY.at(|it| number(&mut it.log_every)),
                form::interval("eval_every", "Test every", "Steps between evaluations on the test images")
                    .at(|it| number(&mut it.eval_every)),
                form::CHECKPOINT_EVERY.at(|it| number(&mut it.checkpoint_every)),
                form::MEASURE_EVERY.at(|it| number(&mut it.measure_every)),
                form::NOT_FINITE.at(|it| choice(&mut it.not_finite, form::AT_NAN)),
            ],
        },
        Section {
            heading: "",
            show: Show::Never,
            fields: &[form::NAME.at(|_| None), form::KEEP_EVERY.at(|it| it.keep_every.as_mut().and_then(number))],
        },
    ];

    fn common(&self) -> Common<'_> {
        Common {
            name: self.name.as_deref(),
            rule: &self.optimizer,
            learning_rate: self.learning_rate,
            batch_size: self.batch_size.get() as u64,
            seed: self.seed,
            course: Course {
                steps: self.steps.get() as u64,
                log_every: self.log_every.get() as u64,
                eval_every: self.eval_every.get() as u64,
                checkpoint_every: self.checkpoint_every.get() as u64,
                keep_every: self.keep_every.map(|every| every.get() as u64),
                measure_every: self.measure_every.get() as u64,
                sample_every: None,
                not_finite: self.not_finite,
            },
            data: &self.data,
            device: self.device,
            sharing: Sharing { processes: self.processes, shard_optimizer: self.shard_optimizer },
            precision: self.precision.name(),
        }
    }

    fn common_mut(&mut self) -> CommonMut<'_> {
        CommonMut { name: &mut self.name, seed: &mut self.seed, data: &mut self.data }
    }

    fn most_processes(&self) -> (usize, &'static str) {
        (self.batch_size.get(), "one for each image of a batch (`batch_size`)")
    }

    fn samples_at_once(&self) -> u64 {
        self.batch_size.get() as u64
    }

    fn needs(&self, batch: u64) -> Needs {
        let bytes = if self.precision == FloatType::Float64 { 8 } else { 4 };
        let [train, test] = mnist::WHOLE.map(|count| count as u64);
        // Memory holds all images and the tensors of a batch's passes; all test images are one batch.
        let (pixels, units) = (SIZES[0] as u64, SIZES.iter().sum::<i64>() as u64);
        let activations = ((train + test) * pixels + batch.max(test) * units * 4) * bytes;
        // Each layer has the weight and bias of a normalisation, and those of a linear layer.
        let of_layer = |sides: &[i64]| [(2, vec![sides[0]]), (1, vec![sides[1], sides[0]]), (1, vec![sides[1]])];
        let tensors: Vec<(u64, Vec<i64>)> = SIZES.windows(2).flat_map(of_layer).collect();
        let parameters = SIZES.windows(2).map(|sides| (sides[0] * (sides[1] + 2) + sides[1]) as u64).sum::<u64>();
        let step_operations = 6.0 * parameters as f64 * batch as f64;
        Needs::of_model(&tensors, bytes, &self.optimizer, &self.common().course, activations, step_operations)
    }

    fn data_status(&self) -> DataStatusResult {
        data_status(&self.data)
    }

    fn model(&self) -> String {
        format!("numbers in {}", self.precision.name())
    }

    fn describe(&self, started: Started) -> Started {
        let metrics = [
            MetricId::LOSS,
            MetricId::LEARNING_RATE,
            MetricId::GRAD_NORM,
            MetricId::SAMPLES_PER_S,
            MetricId::TEST_LOSS,
            MetricId::TEST_ACCURACY,
        ];
        let measures = Measure::infos().into_iter().filter(|_| self.measure_every.get() > 0);
        Started { metrics: metrics.map(MetricId::info).into_iter().chain(measures).collect(), ..started }
    }
}
