//! Descriptions of real trainings: their specs, forms, data and requirements.
//!
//! A workload is a folder of this module and a line of [`for_each_workload`]. The folder holds its spec and the form
//! that edits the spec; its model is in the worker's crate. Presets, window, runs and curves use it only through
//! [`Workload`].
//!
//! ```text
//! RunsPreset<S: RunSpec>   trainings one after another     ┐
//!                                                          ├ Workload ── variants of Preset
//! MnistScanPreset          a scan                          ┘
//! ```

mod choices;
mod dataset;
pub mod form;
pub mod gpt2;
pub mod mnist;
mod needs;
mod runs;
mod scan;
mod settings;

pub use choices::{DeviceChoice, FloatType, NotFinite, Sharing};
pub use dataset::{Dataset, DatasetFiles, Outlook, OutlookResult, without_folder};
pub use gpt2::{Attention, Gpt2Precision, Gpt2Preset, Gpt2Shape, Gpt2Spec};
pub use mnist::{MnistPreset, MnistScanPreset, MnistScanSpec, MnistSpec};
pub use needs::Needs;
pub use runs::{Common, CommonMut, Course, RunSpec, RunsPreset};
pub use scan::ONE_PROCESS_ONLY;
pub use scan::{LARGEST_STACK, MOST_SCANNED, ScanOptimizer, ScanPart};
pub use settings::{BATCH, STEPS, changes, shown_settings};

use valleyscope_engine::spec_error::SpecError;
use valleyscope_runs::Started;

use self::form::Form;
use crate::dataset::DataChoice;
use crate::preset::Preset;

/// Calls a macro with every workload: the first word of its presets' files, and the type of such presets. A workload is
/// registered by a line here.
#[macro_export]
macro_rules! for_each_workload {
    ($macro:ident) => {
        $macro! {
            /// Trainings of the MNIST classifier.
            Mnist($crate::workload::MnistPreset),
            /// A scan of MNIST trainings over batch sizes and learning rates.
            MnistScan($crate::workload::MnistScanPreset),
            /// Pre-trainings of GPT-2.
            Gpt2($crate::workload::Gpt2Preset),
        }
    };
}
pub use for_each_workload;

/// The datasets of all workloads.
pub static DATASETS: [&Dataset; 2] = [&mnist::MNIST, &gpt2::TEXT];

/// A preset that a worker trains.
pub trait Workload {
    /// Returns the name for users, such as `MNIST classifier`.
    fn name(&self) -> &'static str;

    /// Returns the name that distinguishes its runs from those of other workloads, such as `MNIST`.
    fn family(&self) -> &'static str;

    /// Returns the title in menus, one line.
    fn title(&self) -> &str;

    /// One sentence about the experiment.
    fn description(&self) -> &str;

    /// Returns the title and the description, mutable.
    fn words_mut(&mut self) -> [&mut String; 2];

    /// Checks the rules between fields, and returns the first that the preset breaks.
    fn check(&self) -> Result<(), SpecError>;

    /// Returns the name of each of its runs in lists and legends; one name for a scan.
    fn labels(&self) -> Vec<String>;

    /// Returns the paths of its runs in the preset: `runs[0]`, `runs[1]` …, or `scan`.
    fn places(&self) -> Vec<String>;

    /// Returns its runs, each as a preset of its own that a worker can train.
    fn trainings(&self) -> Vec<Preset>;

    /// Returns the fields common to all trainings; none for a scan, and for a preset of several runs.
    fn training(&self) -> Option<Common<'_>>;

    /// Returns the model of a training in words, such as `4 layers, 4 heads`: equal ones can take each other's
    /// checkpoints. None for a scan, and for a preset of several runs.
    fn model(&self) -> Option<String>;

    /// Returns the settings of a training's evaluations, besides model and data: losses of equal ones can be compared.
    /// None for a scan, and for a preset of several runs.
    fn evaluation(&self) -> Option<String>;

    /// Returns the optimizers of a scan; none for other workloads.
    fn scanned(&self) -> &[ScanOptimizer];

    /// Returns the part of a scan that the preset is; none for a whole scan, and for other workloads.
    fn part(&self) -> Option<ScanPart>;

    /// Returns the dataset, in words.
    fn dataset(&self) -> &'static Dataset;

    /// Returns the source of the data of a run.
    fn data(&self, run: usize) -> &DataChoice;

    /// Sets the source of the data of all runs.
    fn set_data(&mut self, data: &DataChoice);

    /// Returns the data that the first run would use if it began now, without reading them all.
    ///
    /// # Errors
    ///
    /// Returns an error where the names, lengths and headers of files show that it could not begin.
    fn outlook(&self) -> OutlookResult;

    /// Returns the device of the first run.
    fn device(&self) -> DeviceChoice;

    /// Returns the processes of the first run on a machine.
    fn sharing(&self) -> Sharing;

    /// Checks that as many processes can train each of its runs together.
    ///
    /// # Errors
    ///
    /// Returns a sentence with the largest number that can.
    fn check_processes(&self, processes: usize) -> Result<(), String>;

    /// Returns the requirements of a run on the machine, where they are known beforehand.
    fn needs(&self, run: usize) -> Option<Needs>;

    /// Returns the largest `batch_size` with which a run would need at most `memory` bytes, as far as that is known.
    fn fitting(&self, run: usize, memory: u64, on_gpu: bool) -> Option<u64>;

    /// Returns [`RunSpec::WITH_SMALLER_BATCHES`]; empty for a scan.
    fn with_smaller_batches(&self) -> &'static str;

    /// Removes names of runs and of scanned optimizers that come from another preset and belong to other settings.
    fn forget_names_of(&mut self, other: &dyn Workload);

    /// Gives runs and scanned optimizers the names that they have in another preset.
    fn take_names_of(&mut self, other: &dyn Workload);

    /// Adds the workload's description of a run to that of all runs.
    fn describe(&self, started: Started) -> Started;

    /// Returns the preset's text without the fields that may differ between replicates; none for a scan.
    fn replicate_key(&self) -> Option<String>;

    /// Returns the fields of a run, mutable.
    fn form(&mut self, run: usize) -> Form<'_>;
}
