//! The requirements of a training: its dataset, memory, disk and time.

use std::error::Error;
use std::path::{Path, PathBuf};

use valleyscope_engine::optimizer::{Need, RuleSpec};

use super::Course;

/// The words for a workload's dataset in forms and messages.
#[derive(Debug)]
pub struct Dataset {
    /// The name under which the choice of data for this dataset is stored.
    pub name: &'static str,
    /// The effect of [`DataChoice::Automatic`](crate::dataset::DataChoice::Automatic).
    pub automatic: &'static str,
    /// The contents of a folder of it.
    pub folder: &'static str,
    /// The synthetic data that replace it where nothing else is found.
    pub synthetic: &'static str,
    /// The files of a dataset that the program downloads.
    pub files: Option<DatasetFiles>,
}

/// The files of a dataset, which can be in any folder.
#[derive(Debug)]
pub struct DatasetFiles {
    /// The name of the dataset for users, such as `MNIST`.
    pub title: &'static str,
    /// The folder of the user into which they are downloaded.
    pub cache: fn() -> Option<PathBuf>,
    /// Returns the reason why a folder lacks some of the files, without reading them.
    pub lacking_in: fn(&Path) -> Option<String>,
}

impl DatasetFiles {
    /// Describes whether the files are in a folder.
    pub fn words_of(&self, folder: &Path) -> String {
        let title = self.title;
        (self.lacking_in)(folder)
            .map_or_else(|| format!("has the files of {title}"), |why| format!("no {title}: {why}"))
    }
}

/// The data that a training would use if it began now, as far as can be determined without reading them all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataStatus {
    /// The data in words, such as `tokens in FOLDER`.
    pub data: String,
    /// Whether the data would be synthetic without being requested.
    pub is_fallback: bool,
    /// Warnings for the user.
    pub warnings: Vec<String>,
}

/// The data of a training, or the reason why it could not begin with missing or unusable data.
pub type DataStatusResult = Result<DataStatus, Box<dyn Error + Send + Sync>>;

/// Returns the words for a run's data without the folder that the files were in.
pub fn without_folder(data: &str) -> &str {
    match data.split_once(", in ") {
        Some((what, _)) if !what.starts_with("files in ") => what,
        _ => data,
    }
}

/// The requirements of a training on its device and on the disk. The figures are estimates, within a fifth for a large
/// model.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Needs {
    /// Bytes of the parameters, their gradients and the rule's states, and of libtorch.
    kept: u64,
    /// Bytes of everything else that is on the device at once.
    activations: u64,
    /// Bytes of a checkpoint.
    checkpoint: u64,
    /// Bytes of the checkpoints that are kept, and of one that is being written.
    pub disk: u64,
    /// Multiplications and additions of a step, two for each pair.
    pub step_operations: f64,
}

/// Bytes that libtorch takes without a model.
const LIBRARY: u64 = 150 << 20;

impl Needs {
    /// Returns the requirements of a model with parameter tensors of these shapes and numbers, a number of bytes for
    /// each parameter, a gradient for each, the rule's states and the tensors that the rule needs of a batch;
    /// `activations` are the bytes of everything else in memory at once, and `step_operations` the operations of a
    /// step.
    pub(super) fn of_model(
        tensors: &[(u64, Vec<i64>)],
        bytes: u64,
        rule: &RuleSpec,
        course: &Course,
        activations: u64,
        step_operations: f64,
    ) -> Needs {
        let info = rule.info();
        let (mut parameters, mut statistics, mut largest) = (0, 0, 0);
        for (count, shape) in tensors {
            parameters += count * shape.iter().product::<i64>() as u64;
            for length in rule.statistics(shape).into_iter().flatten() {
                let square = (length * length) as u64;
                statistics += count * square;
                largest = square.max(largest);
            }
        }
        // Each axis with a statistic has that, and its root or eigenvectors, besides averages of the gradient and of
        // squares.
        let remembered = match info.needs(Need::Axes) {
            true => 2 * parameters + 2 * statistics,
            false => info.states.len() as u64 * parameters,
        };
        // Eigenvectors are found in double precision, with room for five matrices.
        let activations = activations.max(5 * 8 * largest);
        // Tensors kept while gradients are computed again, and the result.
        let asked = match rule.gradient_toward() {
            // A copy of the parameters, while others are in their place for the gradient.
            Some(_) => 1,
            None if info.needs(Need::GradientElsewhere) => 3,
            None => 2 * u64::from(info.needs(Need::Curvature)),
        };
        // An average of the gradients, and a copy of those of a part of the batch.
        let measured = if course.measure_every > 0 { 2 } else { 0 };
        let flat = parameters * bytes;
        // The disk holds the last two, the best and the next checkpoint, and those kept at multiples of `keep_every`.
        let common = |every: u64| every / greatest_divisor(every, course.checkpoint_every) * course.checkpoint_every;
        let kept = match course.checkpoint_every {
            0 => 0,
            _ => 4 + course.keep_every.map_or(0, |every| course.steps / common(every)),
        };
        let checkpoint = flat + remembered * bytes;
        Needs {
            kept: LIBRARY + flat * (2 + asked + measured) + remembered * bytes,
            activations,
            checkpoint,
            disk: checkpoint.saturating_mul(kept),
            step_operations,
        }
    }

    /// Returns the least requirements of `count` processes on one processor: each keeps a model, and they share a
    /// batch.
    pub(crate) fn of_processes(self, count: usize) -> Needs {
        Needs { kept: self.kept.saturating_mul(count as u64), ..self }
    }

    /// Returns the bytes on the device, at the most.
    pub fn memory(&self, on_gpu: bool) -> u64 {
        // The file of a checkpoint is built in main memory when the activations are freed, of whose memory the
        // allocator returns about half to the system, as measured.
        let file = if on_gpu { 0 } else { self.checkpoint };
        let (larger, smaller) = (self.activations.max(file), self.activations.min(file));
        self.kept.saturating_add(larger).saturating_add(smaller / 2)
    }
}

/// Returns the greatest common divisor of two numbers, of which none is 0.
fn greatest_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_divisor(b, a % b) }
}
