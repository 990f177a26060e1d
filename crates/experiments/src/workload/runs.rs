//! Presets of trainings: their specs, and the settings that trainings of all workloads share.

use std::collections::BTreeMap;
use std::error::Error;

use serde::{Deserialize, Serialize};
use valleyscope_engine::optimizer::{RuleSpec, ShownSetting};
use valleyscope_engine::quantity::{LearningRate, MeasureInterval, Processes, number_text};
use valleyscope_engine::setting::SettingValue;
use valleyscope_engine::simulation::OptimizerSpec;
use valleyscope_engine::spec_error::{SpecError, broken};
use valleyscope_runs::Started;

use super::form::{self, FieldInfo, FormSection, Section, Value, live_settings, with_live_settings};
use super::{DataStatusResult, Needs, Workload, WorkloadInfo};
use crate::dataset::DataChoice;
use crate::format_version::FormatVersion;

/// Trainings of a workload, one after another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunsPreset<S> {
    pub version: FormatVersion,
    /// The title in menus, one line; that of a grid takes the place of its base's.
    #[serde(default)]
    pub title: String,
    /// One sentence about the experiment.
    #[serde(default)]
    pub description: String,
    /// The trainings, 1 to [`RunsPreset::MOST_RUNS`] of them.
    pub runs: Vec<S>,
}

/// The spec of one training of a workload.
pub trait RunSpec: Clone + Sized + 'static {
    const INFO: &'static WorkloadInfo;

    /// The fields in the order of the form. Neither model, data, optimizer's states nor
    /// [evaluations](RunSpec::evaluation) depend on those that can be changed while the training runs.
    const FIELDS: &'static [Section<Self>];

    /// Returns the fields that trainings of all workloads have.
    fn common(&self) -> Common<'_>;

    /// Returns the fields that are changed from outside of the workload, mutable.
    fn common_mut(&mut self) -> CommonMut<'_>;

    /// Checks the rules between fields, and returns the first that the spec breaks, with the path from the spec.
    fn check(&self) -> Result<(), SpecError> {
        Ok(())
    }

    /// Returns the largest number of processes that share a step, as far as it does not depend on the data, and why.
    fn most_processes(&self) -> (usize, &'static str);

    /// Checks that as many processes can share a step.
    fn check_processes(&self, processes: usize) -> Result<(), String> {
        let (most, why) = self.most_processes();
        if processes <= most {
            return Ok(());
        }
        Err(format!("expected at most {most} processes, {why}, found {processes}"))
    }

    /// Returns the number of samples that the passes take at once.
    fn samples_at_once(&self) -> u64;

    /// Returns its requirements on the machine with this number of samples at once.
    fn needs(&self, samples_at_once: u64) -> Needs;

    /// Returns the largest number of samples at once, up to its own, with which it needs at most `memory` bytes.
    fn fitting(&self, memory: u64, on_gpu: bool) -> Option<u64> {
        let [mut fits, mut most] = [0, self.samples_at_once()];
        while fits < most {
            let half = most - (most - fits) / 2;
            if self.needs(half).memory(on_gpu) <= memory { fits = half } else { most = half - 1 }
        }
        (fits > 0).then_some(fits)
    }

    /// Returns the data that the training would use if it began now; see [`Workload::data_status`].
    fn data_status(&self) -> DataStatusResult;

    /// Sets what is left to the data; see [`Workload::complete`].
    fn complete(&mut self) -> Result<(), Box<dyn Error + Send + Sync>> {
        self.data_status().map(drop)
    }

    /// Returns the model's settings in words, without its kind: a training continues only from checkpoints of an equal
    /// model.
    fn model(&self) -> String;

    /// Returns the settings of its evaluations, besides model and data: losses of equal ones can be compared.
    fn evaluation(&self) -> String {
        String::new()
    }

    /// Completes the description of a run by the facts that [`RunSpec::common`] does not cover.
    fn describe(&self, started: Started) -> Started;
}

/// The fields that trainings of all workloads have.
#[derive(Clone, Copy, Debug)]
pub struct Common<'a> {
    pub name: Option<&'a str>,
    pub rule: &'a RuleSpec,
    pub learning_rate: LearningRate,
    /// The number of samples of a step.
    pub batch_size: u64,
    pub seed: u64,
    pub course: Course,
    pub data: &'a DataChoice,
    pub device: DeviceChoice,
    pub sharing: Sharing,
    /// The name in the events of a run.
    pub precision: &'static str,
}

/// The fields that are changed from outside of the workload.
#[derive(Debug)]
pub struct CommonMut<'a> {
    pub name: &'a mut Option<String>,
    pub seed: &'a mut u64,
    pub data: &'a mut DataChoice,
}

/// The intervals of a training's actions, in steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Course {
    pub steps: u64,
    pub log_every: u64,
    pub eval_every: u64,
    pub checkpoint_every: u64,
    /// The interval of checkpoints that are kept, beside the last two and the best.
    pub keep_every: Option<u64>,
    /// The interval of measures of the gradients; 0 for none.
    pub measure_every: u64,
    /// The interval of text samples, where there are any.
    pub sample_every: Option<u64>,
    pub not_finite: NotFinite,
}

impl Common<'_> {
    /// Returns the name in lists and legends: the training's own or, without one, the optimizer's.
    pub fn label(&self) -> &str {
        self.name.unwrap_or(self.rule.name())
    }

    /// Describes what usually varies among trainings, such as `FOCUS, γ 0.4, η 0.001, batch 128, seed 1`.
    pub fn summary(&self) -> String {
        let Common { learning_rate, batch_size, seed, .. } = self;
        let settings = self.rule.shown_settings(&RuleSpec::in_training(self.rule.kind()), |_| true).into_iter();
        let settings = settings.filter(|it| !it.is_usual).filter_map(ShownSetting::said);
        let settings: String = settings.map(|text| format!(", {text}")).collect();
        format!("{}{settings}, η {}, batch {batch_size}, seed {seed}", self.label(), number_text(learning_rate.get()))
    }
}

impl<S> RunsPreset<S> {
    const MOST_RUNS: usize = 256;
}

impl<S: RunSpec> Workload for RunsPreset<S> {
    fn info(&self) -> &'static WorkloadInfo {
        S::INFO
    }

    fn check(&self) -> Result<(), SpecError> {
        let most = Self::MOST_RUNS;
        if !(1..=most).contains(&self.runs.len()) {
            return broken("runs", format!("must hold 1 to {most} runs, found {}", self.runs.len()));
        }
        for (place, run) in self.places().iter().zip(&self.runs) {
            let Common { name, data, sharing, .. } = run.common();
            let processes = run.check_processes(sharing.processes.get());
            let processes = processes.map_err(|why| SpecError::new("processes", format!("is too large: {why}")));
            let checks = check_name(name).and_then(|()| data.check()).and_then(|()| run.check()).and(processes);
            checks.map_err(|error| error.at(place))?;
        }
        Ok(())
    }

    fn trainings(&self) -> Vec<Self> {
        let single = |run: &S| RunsPreset {
            version: self.version,
            title: self.title.clone(),
            description: self.description.clone(),
            runs: vec![run.clone()],
        };
        self.runs.iter().map(single).collect()
    }

    fn runs(&self) -> Vec<Common<'_>> {
        self.runs.iter().map(S::common).collect()
    }

    fn runs_mut(&mut self) -> Vec<CommonMut<'_>> {
        self.runs.iter_mut().map(S::common_mut).collect()
    }

    fn model(&self) -> Option<String> {
        if let [run] = &self.runs[..] { Some(run.model()) } else { None }
    }

    fn evaluation(&self) -> Option<String> {
        if let [run] = &self.runs[..] { Some(run.evaluation()) } else { None }
    }

    fn data_status(&self) -> DataStatusResult {
        let run = self.runs.first().ok_or("the preset has no runs; give it one")?;
        run.data_status()
    }

    fn complete(&mut self) -> Result<(), Box<dyn Error + Send + Sync>> {
        self.runs.iter_mut().try_for_each(S::complete)
    }

    fn check_processes(&self, processes: usize) -> Result<(), String> {
        self.runs.iter().try_for_each(|run| run.check_processes(processes))
    }

    fn needs(&self, run: usize) -> Option<Needs> {
        self.runs.get(run).map(|run| run.needs(run.samples_at_once()))
    }

    fn fitting(&self, run: usize, memory: u64, on_gpu: bool) -> Option<u64> {
        self.runs.get(run)?.fitting(memory, on_gpu)
    }

    fn describe(&self, started: Started) -> Started {
        let [run] = &self.runs[..] else { return started };
        let common = run.common();
        run.describe(Started {
            steps: common.course.steps,
            optimizer: common.label().to_owned(),
            learning_rate: Some(common.learning_rate.get()),
            batch_size: Some(common.batch_size),
            seed: Some(common.seed),
            precision: common.precision.to_owned(),
            ..started
        })
    }

    fn fields(&self) -> Vec<&'static FieldInfo> {
        form::infos(S::FIELDS)
    }

    fn form(&mut self, run: usize) -> Vec<FormSection> {
        self.runs.get_mut(run).map_or_else(Vec::new, |run| form::form(S::FIELDS, run))
    }

    fn value(&mut self, run: usize, path: &str) -> Option<Value<'_>> {
        form::value(S::FIELDS, self.runs.get_mut(run)?, path)
    }

    fn live(&self) -> Vec<SettingValue> {
        if let [run] = &self.runs[..] { live_settings(run) } else { Vec::new() }
    }

    fn set_live(&mut self, settings: &BTreeMap<String, f64>) -> Result<(), String> {
        let [run] = &mut self.runs[..] else {
            return Err(format!("expected a preset of one run, found {}", self.runs.len()));
        };
        *run = with_live_settings(run, settings)?;
        Ok(())
    }
}

/// Checks a name, which is shown in one line.
pub(super) fn check_name(name: Option<&str>) -> Result<(), SpecError> {
    name.map_or(Ok(()), |name| SpecError::check_name("name", name, OptimizerSpec::LONGEST_NAME))
}

/// The device of the tensors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum DeviceChoice {
    /// The first CUDA device if there is a working one, else the processor.
    #[default]
    Automatic,
    Cpu,
    /// The CUDA device of this number, counted from 0.
    Cuda(u32),
}

/// The processes of a training on one machine, which share each batch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sharing {
    pub processes: Processes,
    /// Whether each process keeps the optimizer's memory for a part of the parameters only, and steps these.
    pub shard_optimizer: bool,
}

impl Sharing {
    /// Lists the settings with their paths and values, which a run's file leaves out where they are the defaults.
    pub fn settings(self) -> [(&'static str, String); 2] {
        [("processes", self.processes.get().to_string()), ("shard_optimizer", self.shard_optimizer.to_string())]
    }

    /// Returns the settings of a single process.
    pub fn none() -> Sharing {
        Sharing { processes: Processes::of::<1>(), shard_optimizer: false }
    }
}

/// Whether gradients are measured as often as they usually are.
pub(super) fn is_usual_interval(every: &MeasureInterval) -> bool {
    *every == MeasureInterval::of::<100>()
}

pub(super) fn is_one(processes: &Processes) -> bool {
    *processes == Processes::of::<1>()
}

/// Floating-point precision of the parameters and of everything computed with them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum FloatType {
    #[default]
    Float32,
    /// Double precision, for checks.
    Float64,
}

impl FloatType {
    /// Returns the name in the events of a run.
    pub fn name(self) -> &'static str {
        match self {
            FloatType::Float32 => "float32",
            FloatType::Float64 => "float64",
        }
    }
}

/// The action of a run when its loss is no longer finite.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum NotFinite {
    /// The run continues, and the curve shows the loss.
    #[default]
    GoOn,
    /// The run stops with a checkpoint.
    Stop,
}
