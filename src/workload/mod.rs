//! Real training: what is trained, on what, with which optimizer.
//!
//! A workload is a folder of this module and a line of [`for_each_workload`]. The folder holds what is the workload's
//! own: its spec, the form that edits the spec, its data and, with libtorch, its model. Everything else (presets,
//! window, command line, worker, runs, curves) knows it through [`Workload`] only.
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

pub use choices::{DataChoice, DeviceChoice, FloatType, NotFinite, TokenizerKind};
pub use dataset::{Dataset, Outlook, OutlookResult, without_folder};
pub use gpt2::{Attention, Gpt2Precision, Gpt2Preset, Gpt2Shape, Gpt2Spec};
pub use mnist::{MnistPreset, MnistScanPreset, MnistScanSpec, MnistSpec};
pub use needs::Needs;
pub use runs::{Common, CommonMut, Course, RunSpec, RunsPreset};
pub use scan::{LARGEST_STACK, MOST_SCANNED, ScanOptimizer};

use self::form::Form;
use crate::preset::Preset;
use crate::run::Started;
use crate::spec_error::SpecError;

/// Calls a macro with every workload: the first word of its presets' files, and the type of such presets. A workload is
/// registered by a line here.
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
pub(crate) use for_each_workload;

/// A preset that a worker trains.
pub trait Workload {
    /// What users choose it by, such as `MNIST classifier, one run`.
    fn name(&self) -> &'static str;

    /// What runs of it are told from those of other workloads by, such as `MNIST`.
    fn family(&self) -> &'static str;

    /// Shown in menus; one line.
    fn title(&self) -> &str;

    /// A sentence about what there is to see.
    fn description(&self) -> &str;

    /// The title and the description, to be changed.
    fn words_mut(&mut self) -> [&mut String; 2];

    /// The first rule between fields that the preset breaks.
    fn check(&self) -> Result<(), SpecError>;

    /// What each of its runs is called in lists and legends; one name for a scan.
    fn labels(&self) -> Vec<String>;

    /// Where the fields of each of its runs are in the preset: `runs[0]`, `runs[1]` …, or `scan`.
    fn places(&self) -> Vec<String>;

    /// Its runs, each as a preset of its own that a worker can train.
    fn trainings(&self) -> Vec<Preset>;

    /// What trainings have in common; none of a scan, and of a preset of several runs.
    fn training(&self) -> Option<Common<'_>>;

    /// The model of a training in words, such as `4 layers, 4 heads`: equal ones can take each other's checkpoints. None of
    /// a scan, and of a preset of several runs.
    fn model(&self) -> Option<String>;

    /// What the evaluations of a training compute, besides model and data: losses of equal ones can be compared. None of a
    /// scan, and of a preset of several runs.
    fn evaluation(&self) -> Option<String>;

    /// The optimizers of a scan; none of anything else.
    fn scanned(&self) -> &[ScanOptimizer];

    /// What is trained on, in words.
    fn dataset(&self) -> &'static Dataset;

    /// Where the data of a run of it come from.
    fn data(&self, run: usize) -> &DataChoice;

    /// Takes the data of all runs from there.
    fn set_data(&mut self, data: &DataChoice);

    /// What the first run would learn from if it began now, without reading it all.
    ///
    /// # Errors
    ///
    /// Where the names, lengths and heads of files show that it could not begin.
    fn outlook(&self) -> OutlookResult;

    /// Where the first run is to take place.
    fn device(&self) -> DeviceChoice;

    /// What a run of it needs of the machine, where that is known beforehand.
    fn needs(&self, run: usize) -> Option<Needs>;

    /// The largest `batch_size` with which a run would need no more memory than this, in bytes, as far as that is known.
    fn fitting(&self, run: usize, memory: u64, on_gpu: bool) -> Option<u64>;

    /// What a run of it says of itself at its start, added to what all runs say.
    fn describe(&self, started: Started) -> Started;

    /// The preset as a text without what need not be equal for replicates; none for a scan.
    fn replicate_key(&self) -> Option<String>;

    /// The fields of a run, to be changed.
    fn form(&mut self, run: usize) -> Form<'_>;
}
