use serde::{Deserialize, Serialize};
use valleyscope_engine::quantity::{BatchSize, LearningRate, PointCount, Replicates, TrainingSteps};
use valleyscope_engine::setting::LEARNING_RATE;
use valleyscope_engine::spec_error::{SpecError, broken};
use valleyscope_engine::sweep::{LearningRates, SweepPart};
use valleyscope_runs::{ScanAxes, Started};

use super::{DOUBLE, FAMILY, MNIST, PRECISIONS, SEED, data_status};
use crate::dataset::DataChoice;
use crate::format_version::FormatVersion;
use crate::workload::form::{self, FieldInfo, FormSection, Section, Show, Value, choice, number};
use crate::workload::runs::check_name;
use crate::workload::runs::{LARGEST_STACK, MOST_SCANNED, ONE_PROCESS_ONLY};
use crate::workload::{DataStatusResult, DeviceChoice, FloatType, ScanOptimizer, Workload, WorkloadInfo};

/// A scan of MNIST trainings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MnistScanPreset {
    pub version: FormatVersion,
    /// The title in menus, one line.
    pub title: String,
    /// One sentence that describes what can be seen.
    #[serde(default)]
    pub description: String,
    pub scan: MnistScanSpec,
}

/// The paper's scan over batch sizes and learning rates (Fig. 2c and d).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MnistScanSpec {
    pub optimizers: Vec<ScanOptimizer>,
    pub batch_sizes: Vec<BatchSize>,
    #[serde(default = "learning_rates")]
    pub learning_rates: LearningRates,
    #[serde(default = "Replicates::of::<3>")]
    pub replicates: Replicates,
    #[serde(default = "TrainingSteps::of::<400>")]
    pub steps: TrainingSteps,
    #[serde(default)]
    pub seed: u64,
    #[serde(default)]
    pub data: DataChoice,
    #[serde(default)]
    pub device: DeviceChoice,
    #[serde(default)]
    pub precision: FloatType,
    /// The part of the scan's grid points that the run trains; without it, all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<SweepPart>,
}

static INFO: WorkloadInfo = WorkloadInfo {
    name: "MNIST classifier, scan over batch sizes",
    family: FAMILY,
    dataset: &MNIST,
    with_smaller_batches: "",
};
/// The cost of a step besides that of its images, in images.
const STEP_COST: u64 = 16;

fn learning_rates() -> LearningRates {
    LearningRates { from: LearningRate::clamped(1e-4), to: LearningRate::clamped(1.0), count: PointCount::clamped(20) }
}

impl MnistScanSpec {
    /// Returns the number of trainings of one optimizer and batch size: learning rates times replicates.
    pub fn stack(&self) -> usize {
        self.learning_rates.count.get() * self.replicates.get()
    }

    /// Checks the rules between fields, and returns the first that the scan breaks.
    pub fn check(&self) -> Result<(), SpecError> {
        for (path, found) in [("optimizers", self.optimizers.len()), ("batch_sizes", self.batch_sizes.len())] {
            if !(1..=MOST_SCANNED).contains(&found) {
                return broken(path, format!("must have 1 to {MOST_SCANNED} elements, found {found}"));
            }
        }
        for (index, size) in self.batch_sizes.iter().enumerate() {
            if let Some(first) = self.batch_sizes[..index].iter().position(|other| other == size) {
                let complaint = format!("is {}, the same as `batch_sizes[{first}]`", size.get());
                return broken(format!("batch_sizes[{index}]"), complaint);
            }
        }
        let LearningRates { from, to, count } = self.learning_rates;
        if from >= to && count.get() > 1 {
            let complaint = format!("is {}, not below `learning_rates.to`, which is {}", from.get(), to.get());
            return broken("learning_rates.from", complaint);
        }
        let (stack, points) = (self.stack(), self.grid_points());
        if stack > LARGEST_STACK {
            let complaint = format!(
                "times `learning_rates.count` is {stack}, more than the {LARGEST_STACK} trainings of a grid point that \
                 are possible"
            );
            return broken("replicates", complaint);
        }
        if let Some(part) = self.part.filter(|part| part.count() as usize > points) {
            let complaint =
                format!("is {part}: expected at most {points} parts, one for each optimizer and batch size");
            return broken("part", complaint);
        }
        Ok(())
    }

    /// Returns the grid points that a run of the scan trains, by their indices of optimizer and batch size. A part has
    /// about the same cost as each other part.
    fn own_points(&self) -> Vec<[usize; 2]> {
        let all = ScanAxes::points_of(self.optimizers.len(), self.batch_sizes.len());
        let Some(part) = self.part else { return all };
        let costs: Vec<u64> =
            all.iter().map(|[_, column]| self.batch_sizes[*column].get() as u64 + STEP_COST).collect();
        let numbers = SweepPart::divide(part.count(), &costs);
        all.into_iter().zip(numbers).filter(|(_, number)| *number == part.number()).map(|(point, _)| point).collect()
    }

    fn size(&self) -> String {
        let points = self.grid_points();
        format!("{} trainings at {points} grid points", points * self.stack())
    }

    /// Returns the number of grid points of the scan: optimizers times batch sizes.
    pub(crate) fn grid_points(&self) -> usize {
        self.optimizers.len() * self.batch_sizes.len()
    }
}

impl Workload for MnistScanPreset {
    fn info(&self) -> &'static WorkloadInfo {
        &INFO
    }

    fn check(&self) -> Result<(), SpecError> {
        for (index, optimizer) in self.scan.optimizers.iter().enumerate() {
            check_name(optimizer.name.as_deref()).map_err(|error| error.at(&format!("scan.optimizers[{index}]")))?;
        }
        self.scan.data.check().and_then(|()| self.scan.check()).map_err(|error| error.at("scan"))
    }

    fn labels(&self) -> Vec<String> {
        vec![self.title.clone()]
    }

    fn places(&self) -> Vec<String> {
        vec!["scan".to_owned()]
    }

    fn trainings(&self) -> Vec<Self> {
        vec![self.clone()]
    }

    fn scanned(&self) -> &[ScanOptimizer] {
        &self.scan.optimizers
    }

    fn scanned_mut(&mut self) -> &mut [ScanOptimizer] {
        &mut self.scan.optimizers
    }

    fn take_part(&mut self) -> Option<SweepPart> {
        self.scan.part.take()
    }

    fn data(&self, _: usize) -> &DataChoice {
        &self.scan.data
    }

    fn set_data(&mut self, data: &DataChoice) {
        self.scan.data = data.clone();
    }

    fn data_status(&self) -> DataStatusResult {
        data_status(&self.scan.data)
    }

    fn device(&self) -> DeviceChoice {
        self.scan.device
    }

    fn check_processes(&self, processes: usize) -> Result<(), String> {
        if processes == 1 { Ok(()) } else { Err(ONE_PROCESS_ONLY.to_owned()) }
    }

    fn describe(&self, started: Started) -> Started {
        let scan = &self.scan;
        let axes = ScanAxes {
            optimizers: scan.optimizers.iter().map(|optimizer| optimizer.label().to_owned()).collect(),
            batch_sizes: scan.batch_sizes.iter().map(|size| size.get() as u64).collect(),
            learning_rates: scan.learning_rates.values(),
            replicates: scan.replicates.get() as u64,
            steps: scan.steps.get() as u64,
        };
        Started {
            steps: scan.own_points().len() as u64,
            optimizer: axes.optimizers.join(", "),
            seed: Some(scan.seed),
            precision: scan.precision.name().to_owned(),
            scan: Some(axes),
            own_points: scan.part.map(|_| scan.own_points()),
            ..started
        }
    }

    fn fields(&self) -> Vec<&'static FieldInfo> {
        form::infos(FIELDS)
    }

    fn form(&mut self, _: usize) -> Vec<FormSection> {
        form::form(FIELDS, &mut self.scan)
    }

    fn value(&mut self, _: usize, path: &str) -> Option<Value<'_>> {
        form::value(FIELDS, &mut self.scan, path)
    }
}

const FIELDS: &[Section<MnistScanSpec>] = &[
    Section {
        heading: "Data and device",
        show: Show::Open,
        fields: &[
            form::data(&MNIST).at(|it| Some(Value::Data(&mut it.data, &MNIST))),
            form::DEVICE.at(|it| Some(Value::Device(&mut it.device))),
            form::precision(DOUBLE).at(|it| choice(&mut it.precision, PRECISIONS)),
        ],
    },
    Section {
        heading: "Grid",
        show: Show::Open,
        fields: &[
            FieldInfo::other("batch_sizes", "Batch sizes", "Images a step, separated by commas")
                .at(|it| Some(Value::BatchSizes(&mut it.batch_sizes))),
            FieldInfo::number("learning_rates.from", "η from", LearningRate::RANGE, "The smallest learning rate")
                .slider(LEARNING_RATE.slider)
                .text(|_, rate| format!("η from {rate}"))
                .at(|it| number(&mut it.learning_rates.from)),
            FieldInfo::number("learning_rates.to", "η to", LearningRate::RANGE, "The largest learning rate")
                .slider(LEARNING_RATE.slider)
                .text(|_, rate| format!("η to {rate}"))
                .at(|it| number(&mut it.learning_rates.to)),
            FieldInfo::whole(
                "learning_rates.count",
                "η, how many",
                PointCount::RANGE,
                "Learning rates, with equal quotients",
            )
            .text(|_, count| format!("{count} η"))
            .at(|it| number(&mut it.learning_rates.count)),
            FieldInfo::whole(
                "replicates",
                "Replicates",
                Replicates::RANGE,
                "Trainings with each learning rate. The paper takes 3.",
            )
            .at(|it| number(&mut it.replicates)),
            form::steps("Steps of each training. The paper takes 400.").at(|it| number(&mut it.steps)),
            form::seed(SEED).at(|it| Some(Value::Seed(&mut it.seed))),
        ],
    },
    Section {
        heading: "Optimizers",
        show: Show::Open,
        fields: &[
            FieldInfo::other("optimizers", "", "").identity().at(|it| Some(Value::Optimizers(&mut it.optimizers))),
            FieldInfo::other("trainings", "", "").identity().at(|it| Some(Value::Note(it.size()))),
        ],
    },
    Section { heading: "", show: Show::Never, fields: &[FieldInfo::other("part", "Part", "").identity().at(|_| None)] },
];
