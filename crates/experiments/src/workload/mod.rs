//! Descriptions of real trainings: their specs, forms, data and requirements.
//!
//! A workload is a folder of this module and a line of [`for_each_workload`]. The folder holds its spec and the form
//! that edits the spec; its model is in the worker's crate. Presets, window, runs and curves use it only through
//! [`Workload`].
//!
//! [`RunsPreset`] implements it for the trainings of each [`RunSpec`].

pub mod form;
pub mod gpt2;
pub mod mnist;
mod requirements;
mod runs;

use std::collections::BTreeMap;
use std::error::Error;

use form::{FieldInfo, FormSection, Value};
use valleyscope_engine::setting::SettingValue;
use valleyscope_engine::spec_error::SpecError;
use valleyscope_runs::Started;

use super::dataset::DataChoice;

pub use form::{changes, live_path, live_settings, with_live_settings};
pub use gpt2::{Attention, Gpt2Precision, Gpt2Preset, Gpt2Shape, Gpt2Spec};
pub use mnist::{MnistPreset, MnistSpec};
pub use requirements::{DataStatus, DataStatusResult, Dataset, DatasetFiles, Needs, without_folder};
pub use runs::{Common, CommonMut, Course, DeviceChoice, FloatType, NotFinite, RunSpec, RunsPreset, Sharing};

/// Calls a macro with every workload: the first word of its presets' files, and the type of such presets. A workload is
/// registered by a line here.
#[macro_export]
macro_rules! for_each_workload {
    ($macro:ident) => {
        $macro! {
            /// Trainings of the MNIST classifier.
            Mnist($crate::workload::MnistPreset),
            /// Pre-trainings of GPT-2.
            Gpt2($crate::workload::Gpt2Preset),
        }
    };
}
pub use for_each_workload;

/// The datasets of all workloads.
pub static DATASETS: [&Dataset; 2] = [&mnist::MNIST, &gpt2::TEXT];

/// A workload in words.
#[derive(Debug)]
pub struct WorkloadInfo {
    /// The name for users, such as `MNIST classifier`.
    pub name: &'static str,
    /// The name that distinguishes its runs from those of other workloads, such as `MNIST`.
    pub family: &'static str,
    pub dataset: &'static Dataset,
    /// The compensation for a smaller `batch_size`, in words that follow a batch size; empty if there is none.
    pub with_smaller_batches: &'static str,
}

/// Trainings of one or several runs. The defaults of methods follow from [`Workload::runs`].
pub trait Workload {
    fn info(&self) -> &'static WorkloadInfo;

    /// Checks the rules between fields, and returns the first that the preset breaks.
    fn check(&self) -> Result<(), SpecError>;

    /// Returns its runs, each as a preset of its own that a worker can train.
    fn trainings(&self) -> Vec<Self>
    where
        Self: Sized;

    /// Returns the fields that all trainings have, of each run.
    fn runs(&self) -> Vec<Common<'_>>;

    /// Returns the fields of each run that are changed from outside of the workload.
    fn runs_mut(&mut self) -> Vec<CommonMut<'_>>;

    /// Returns the fields that all trainings have; none for a preset of several runs.
    fn training(&self) -> Option<Common<'_>> {
        if let [run] = self.runs()[..] { Some(run) } else { None }
    }

    /// Returns the name of each of its runs in lists and legends.
    fn labels(&self) -> Vec<String> {
        self.runs().iter().map(|run| run.label().to_owned()).collect()
    }

    /// Returns the paths of its runs in the preset: `runs[0]`, `runs[1]` ….
    fn places(&self) -> Vec<String> {
        (0..self.runs().len()).map(|run| format!("runs[{run}]")).collect()
    }

    /// Returns the model of a training in words, such as `4 layers, 4 heads`: equal ones can take each other's
    /// checkpoints. None for a preset of several runs.
    fn model(&self) -> Option<String>;

    /// Returns the settings of a training's evaluations, besides model and data: losses of equal ones can be compared.
    /// None for a preset of several runs.
    fn evaluation(&self) -> Option<String>;

    fn data(&self, run: usize) -> &DataChoice {
        const NONE: &DataChoice = &DataChoice::Automatic;
        self.runs().get(run).map_or(NONE, |run| run.data)
    }

    /// Sets the source of the data of all runs.
    fn set_data(&mut self, data: &DataChoice) {
        self.runs_mut().into_iter().for_each(|run| run.data.clone_from(data));
    }

    /// Returns the data that the first run would use if it began now, without reading them all.
    ///
    /// # Errors
    ///
    /// Returns an error where the names, lengths and headers of files show that it could not begin.
    fn data_status(&self) -> DataStatusResult;

    /// Sets the fields that are left to the data, such as a vocabulary, as a run's config has all of them. Reads the data
    /// where that is needed, and fails where they do not fit.
    fn complete(&mut self) -> Result<(), Box<dyn Error + Send + Sync>> {
        self.data_status().map(drop)
    }

    /// Returns the device of the first run.
    fn device(&self) -> DeviceChoice {
        self.runs().first().map_or(DeviceChoice::default(), |run| run.device)
    }

    /// Returns the processes of the first run on a machine.
    fn sharing(&self) -> Sharing {
        self.runs().first().map_or_else(Sharing::none, |run| run.sharing)
    }

    /// Checks that as many processes can train each of its runs together.
    ///
    /// # Errors
    ///
    /// Returns a sentence with the largest number that can.
    fn check_processes(&self, processes: usize) -> Result<(), String>;

    /// Returns the requirements of a run on the machine.
    fn needs(&self, run: usize) -> Option<Needs>;

    /// Returns the largest `batch_size` with which a run would need at most `memory` bytes.
    fn fitting(&self, run: usize, memory: u64, on_gpu: bool) -> Option<u64>;

    /// Removes names of runs that come from another preset and belong to other settings.
    fn forget_names_of(&mut self, other: &dyn Workload) {
        let settings = |it: &Common<'_>| (*it.rule, it.learning_rate, it.batch_size);
        let both = self.runs().into_iter().zip(other.runs());
        let is_outdated = both.map(|(own, old)| own.name == old.name && settings(&own) != settings(&old));
        let is_outdated: Vec<bool> = is_outdated.collect();
        for (run, _) in self.runs_mut().into_iter().zip(is_outdated).filter(|(_, is_outdated)| *is_outdated) {
            *run.name = None;
        }
    }

    /// Gives runs the names that they have in another preset.
    fn take_names_of(&mut self, other: &dyn Workload) {
        for (own, other) in self.runs_mut().into_iter().zip(other.runs()) {
            *own.name = other.name.map(str::to_owned);
        }
    }

    /// Adds the workload's description of a run to that of all runs.
    fn describe(&self, started: Started) -> Started;

    /// Lists the fields that a run can have, in the order of the form.
    fn fields(&self) -> Vec<&'static FieldInfo>;

    /// Returns the fields of a run in the form.
    fn form(&mut self, run: usize) -> Vec<FormSection>;

    /// Returns the value of the field at a path in a run; `None` if the run lacks it.
    fn value(&mut self, run: usize, path: &str) -> Option<Value<'_>>;

    /// Returns the settings of a training that can be changed while it runs; none for a preset of several runs.
    fn live(&self) -> Vec<SettingValue>;

    /// Changes settings of [`Workload::live`], by their paths, to values that fit each other.
    ///
    /// # Errors
    ///
    /// Returns a sentence with what was expected and what was found; then nothing is changed.
    fn set_live(&mut self, settings: &BTreeMap<String, f64>) -> Result<(), String>;
}

/// The meaning of the number of steps among the shown settings.
pub const STEPS: &str = "steps";
