//! The editor of the training under the controls, and the status of its data.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use egui::Context;
use serde::{Deserialize, Serialize};
use valleyscope_engine::optimizer::RuleSpec;
use valleyscope_engine::quantity::number_text;
use valleyscope_engine::setting::SettingPath;
use valleyscope_engine::spec_error::SpecError;
use valleyscope_experiments::dataset::DataChoice;
use valleyscope_experiments::preset::{BuiltIn, GridPreset, Preset, built_ins, is_made_title};
use valleyscope_experiments::run::CapacityReport;
use valleyscope_experiments::workload::form::{FormSection, Role, Value};
use valleyscope_experiments::workload::{DataStatus, Workload};
use valleyscope_runs::Handshake;

use super::charts::Choices;
use super::names::Pens;
use super::table::TableChoices;
use crate::app::shell::editor::{Draft, Editor, PresetDraft};
use crate::app::shell::jobs::Job;
use crate::app::widgets::setting::Pins;

/// The state to restore in the next session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrainingMemory {
    /// The text of the current preset.
    pub preset: String,
    /// The preset as last opened or saved.
    pub clean: String,
    /// The source of the data that replaces the preset's.
    pub inherited_data: Option<DataChoice>,
    /// The choice of data for each dataset, by its name.
    pub data: BTreeMap<String, DataChoice>,
    pub file: Option<PathBuf>,
    /// The folders of the compared runs.
    pub selected: Vec<PathBuf>,
    pub choices: Choices,
    /// The pens of the runs, so that their lines stay the same.
    pub pens: Pens,
    pub table: TableChoices,
    #[serde(default)]
    pub(crate) pins: Pins,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ForkPoint {
    /// The run's folder.
    pub run: PathBuf,
    pub step: u64,
}

pub(super) fn first_of(kind: &str) -> &'static BuiltIn {
    let found = built_ins().iter().find(|built_in| built_in.preset.kind() == kind);
    found.expect("each workload has a built-in preset")
}

pub(super) struct TrainingEditor {
    pub presets: Editor<Preset>,
    /// The choice of data for each dataset, by its name, when another preset was opened.
    chosen_data: BTreeMap<String, DataChoice>,
    /// The index of the last chosen run in a preset of several runs, which may since have fewer.
    chosen: usize,
    /// The last checked grid, with its fault.
    checked: RefCell<Option<(Preset, Option<TrainingFault>)>>,
}

/// The path of a fault in what varies.
pub(super) const GRID: &str = "grid";

/// A reason why the settings under the controls cannot be trained.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TrainingFault {
    /// The path of the field in the shown run; empty if it is not one of its fields.
    pub path: String,
    pub message: String,
}

impl TrainingFault {
    pub(super) fn is_at(&self, path: &str) -> bool {
        let rest = self.path.strip_prefix(path).filter(|_| !path.is_empty());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('['))
    }
}

/// The state in which a preset of trainings was opened or saved.
#[derive(Debug)]
pub(crate) struct SavedTraining {
    pub clean: Preset,
    /// The source of the data that replaces the preset's, as chosen for another experiment.
    pub inherited_data: Option<DataChoice>,
    /// The stem of the names of the runs' folders.
    pub stem: String,
    /// The checkpoint from which the run begins.
    pub fork: Option<ForkPoint>,
}

impl SavedTraining {
    fn new(clean: Preset, stem: impl Into<String>) -> SavedTraining {
        SavedTraining { clean, inherited_data: None, stem: stem.into(), fork: None }
    }

    /// Makes the state in which a file or a built-in preset opens.
    pub(super) fn opened(preset: Preset, file: Option<&Path>) -> SavedTraining {
        let built_in = built_ins().iter().find(|built_in| built_in.preset == preset).map(|it| it.name.to_owned());
        let of_file = || Some(file?.file_stem()?.to_string_lossy().into_owned());
        let stem = built_in.or_else(of_file).unwrap_or_else(|| preset.kind().to_lowercase());
        SavedTraining::new(preset, stem)
    }

    pub(super) fn begun(&self) -> Preset {
        let mut preset = self.clean.clone();
        if let Some(data) = &self.inherited_data {
            take_data(&mut preset, data);
        }
        preset
    }
}

impl Draft for Preset {
    type Saved = SavedTraining;

    /// Whether the draft has changes other than data that were chosen for another experiment.
    fn differs_from(&self, saved: &SavedTraining) -> bool {
        *self != saved.begun()
    }

    fn saved_as(written: PresetDraft, file: &Path, before: &SavedTraining) -> Option<SavedTraining> {
        written.preset.workload()?;
        Some(SavedTraining { fork: before.fork.clone(), ..SavedTraining::opened(written.preset, Some(file)) })
    }

    fn take_description(&mut self, preset: &Preset) {
        let mut preset = preset.clone();
        self.words_mut().into_iter().zip(preset.words_mut()).for_each(|(word, saved)| word.clone_from(saved));
        if let (Some(own), Some(saved)) = (self.workload_mut(), preset.workload()) {
            own.take_names_of(saved);
        }
    }
}

impl Default for TrainingEditor {
    fn default() -> TrainingEditor {
        let BuiltIn { preset, name, .. } = first_of(Preset::WORKLOADS[0]);
        TrainingEditor::restored(preset.clone(), SavedTraining::new(preset.clone(), *name), None, BTreeMap::new())
    }
}

impl TrainingEditor {
    pub(super) fn restored(
        preset: Preset,
        saved: SavedTraining,
        file: Option<PathBuf>,
        chosen_data: BTreeMap<String, DataChoice>,
    ) -> TrainingEditor {
        TrainingEditor {
            presets: Editor::new(preset, saved, file),
            chosen_data,
            chosen: 0,
            checked: RefCell::default(),
        }
    }

    /// Opens another preset, with the current choice of data if the preset makes none. Undo restores the current
    /// preset.
    pub(super) fn open(&mut self, preset: Preset, file: Option<PathBuf>) {
        let saved = self.with_inherited_data(SavedTraining::opened(preset, file.as_deref()));
        self.presets.open(saved.begun(), saved, file);
    }

    pub(super) fn take(&mut self, kind: &str) {
        let BuiltIn { preset, name, .. } = first_of(kind);
        let saved = self.with_inherited_data(SavedTraining::new(preset.clone(), *name));
        self.presets.replace(saved.begun(), saved, None);
    }

    /// Loads the training of another run, to continue from one of its checkpoints on the same data.
    pub(super) fn fork(&mut self, training: Preset, stem: String, point: ForkPoint) {
        let saved = SavedTraining { fork: Some(point), ..SavedTraining::new(training.clone(), stem) };
        self.presets.open(training, saved, None);
        self.chosen = 0;
    }

    pub(super) fn forget_fork(&mut self) {
        self.presets.saved_state_mut().fork = None;
    }

    /// Makes the next run begin at step 0 after a run from this checkpoint has begun, unless another checkpoint was
    /// chosen since.
    pub(super) fn fork_begun(&mut self, fork: &ForkPoint) {
        if self.presets.saved_state().fork.as_ref() == Some(fork) {
            self.forget_fork();
        }
    }

    /// Adds to the state to open next the data that were chosen for its dataset if it makes no choice.
    fn with_inherited_data(&mut self, saved: SavedTraining) -> SavedTraining {
        self.chosen_data = self.chosen_data();
        self.chosen = 0;
        let is_automatic = |it: &&dyn Workload| it.runs().iter().all(|run| *run.data == DataChoice::Automatic);
        let dataset = saved.clean.workload().filter(is_automatic).map(|workload| workload.info().dataset);
        let inherited_data = dataset.and_then(|dataset| self.chosen_data.get(dataset.name).cloned());
        SavedTraining { inherited_data, ..saved }
    }

    pub(super) fn preset(&self) -> &Preset {
        &self.presets.draft
    }

    /// The choice of data for each dataset, by its name. Each applies to the next preset that uses the dataset and
    /// makes no choice.
    pub(super) fn chosen_data(&self) -> BTreeMap<String, DataChoice> {
        let (mut chosen, data) = (self.chosen_data.clone(), self.data());
        let clean = self.presets.saved_state().clean.workload();
        let is_of_preset = clean.is_some_and(|it| it.runs().iter().any(|run| *run.data == data));
        let Some(dataset) = self.preset().workload().map(|workload| workload.info().dataset.name) else {
            return chosen;
        };
        match data {
            // Synthetic data that the preset itself requests do not apply to the next preset.
            DataChoice::Synthetic if is_of_preset => {}
            DataChoice::Automatic => drop(chosen.remove(dataset)),
            DataChoice::Synthetic | DataChoice::Folder(_) => drop(chosen.insert(dataset.to_owned(), data)),
        }
        chosen
    }

    /// Makes the preset with its current title: after a change of its settings, title and description are made from
    /// them.
    pub(super) fn named(&self) -> Preset {
        let preset = self.preset().clone();
        if self.presets.is_dirty() { preset.as_changed_from(&self.presets.saved_state().begun()) } else { preset }
    }

    /// Returns the trainings with their titles.
    ///
    /// # Errors
    ///
    /// Returns the first combination of a grid that cannot be trained.
    pub(super) fn named_trainings(&self) -> Result<Vec<Preset>, String> {
        if let Preset::Grid(grid) = self.named() {
            return grid.combinations().map_err(|error| error.to_string());
        }
        Ok(self.preset().trainings_as_changed_from(&self.presets.saved_state().begun().trainings()))
    }

    /// Makes the preset to save. In the user's own file its title stays if the user has set it.
    pub(super) fn draft(&self) -> PresetDraft {
        let is_own = self.presets.file().is_some() && !is_made_title(self.preset().title());
        let preset = if is_own { self.preset().clone() } else { self.named() };
        self.presets.preset_draft(preset)
    }

    /// The index of the shown run of the preset; 0 if it has only one.
    pub(super) fn chosen(&self) -> usize {
        self.chosen.min(self.runs().saturating_sub(1))
    }

    /// The number of runs under the controls, of a grid those of its base.
    fn runs(&self) -> usize {
        self.preset().workload().map_or(0, |workload| workload.places().len())
    }

    pub(super) fn choose(&mut self, run: usize) {
        self.chosen = run;
    }

    /// Returns the fields of the shown run.
    pub(super) fn form(&mut self) -> Vec<FormSection> {
        let chosen = self.chosen();
        self.presets.draft.workload_mut().map_or_else(Vec::new, |workload| workload.form(chosen))
    }

    /// Returns the value of a field of the shown run, by its path.
    pub(super) fn value(&mut self, path: &str) -> Option<Value<'_>> {
        let chosen = self.chosen();
        self.presets.draft.workload_mut()?.value(chosen, path)
    }

    /// Returns the number at a path in the shown run of a preset, after setting it to `new`, if given.
    fn number(preset: &mut Preset, run: usize, path: &SettingPath, new: Option<f64>) -> Option<f64> {
        let workload = preset.workload_mut()?;
        let of_rule = |rule: &mut RuleSpec, key: &str| {
            new.into_iter().for_each(|new| rule.set(key, new).expect("the control keeps to the range"));
            rule.get(key)
        };
        if let Some(Value::Number(number)) = workload.value(run, &path.path) {
            new.into_iter().for_each(|new| number.enter(new).expect("the control keeps to the range"));
            return Some(number.value());
        }
        let (field, key) = path.path.rsplit_once('.')?;
        if let Some(Value::Rule(rule)) = workload.value(run, field) { of_rule(rule, key) } else { None }
    }

    /// Sets the number at a path in the shown run.
    pub(super) fn set(&mut self, path: &SettingPath, value: f64) {
        let run = self.chosen();
        TrainingEditor::number(&mut self.presets.draft, run, path, Some(value));
    }

    /// Returns a function that finds the number at a path in the shown run of the preset as it was opened or saved.
    pub(super) fn usual(&self) -> impl FnMut(&SettingPath) -> Option<f64> + use<> {
        let (mut preset, run) = (self.presets.saved_state().begun(), self.chosen());
        move |path| TrainingEditor::number(&mut preset, run, path, None)
    }

    /// Whether a setting varies.
    pub(super) fn varies(&self, path: &str) -> bool {
        matches!(self.preset(), Preset::Grid(grid) if grid.vary.iter().any(|it| it.setting == path))
    }

    /// Lists the settings of the form that can vary, with their labels.
    pub(super) fn can_vary(&mut self) -> Vec<(String, String)> {
        let fields = self.preset().workload().map_or_else(Vec::new, Workload::fields);
        let is_recording = |key: &str| fields.iter().any(|of| of.setting.key == key && of.role == Role::Bookkeeping);
        let mut settings = Vec::new();
        for of in self.form().into_iter().flat_map(|section| section.fields) {
            match self.value(of.key) {
                Some(Value::Number(_)) if !is_recording(of.key) => {
                    settings.push((of.key.to_owned(), of.label.to_owned()));
                }
                Some(Value::Rule(rule)) => {
                    settings.push((of.key.to_owned(), of.label.to_owned()));
                    let own = rule.hyperparameters().filter(|(info, _)| info.range().is_some());
                    settings.extend(own.map(|(info, _)| (format!("{}.{}", of.key, info.key), info.label.to_owned())));
                }
                _ => {}
            }
        }
        // What varies most often is first, and the numbers of the rule are last.
        let first = ["learning_rate", "optimizer", "batch_size", "steps"];
        let rank = |path: &str| first.iter().position(|key| *key == path).unwrap_or(first.len());
        settings.sort_by_key(|(path, _): &(String, String)| (path.contains('.'), rank(path)));
        settings
    }

    /// Makes a setting vary: numbers around the present one, and the paper's optimizers.
    pub(super) fn vary(&mut self, path: &str) {
        let path = path.to_owned();
        let mut draft = self.preset().clone();
        let number = TrainingEditor::number(&mut draft, self.chosen(), &SettingPath::new(path.clone()), None);
        let values = match number {
            None => "Adam, Signum, FOCUS".to_owned(),
            Some(value) if value > 0.0 && value.fract() == 0.0 => format!("{value}, {}", 2.0 * value),
            Some(value) if value > 0.0 && value < 0.5 => {
                format!("{}..{}:5:log", number_text(value / 10.0), number_text((value * 10.0).min(1.0)))
            }
            Some(value) => format!("{}, {}", number_text(value), number_text(0.5 * (1.0 + value))),
        };
        let mut grid = GridPreset::of(draft);
        if let Ok(variation) = format!("{path}={values}").parse()
            && !self.varies(&path)
        {
            grid.vary.push(variation);
            self.set_grid(grid);
        }
    }

    /// Replaces what varies; a grid in which nothing does becomes its trainings.
    pub(super) fn set_grid(&mut self, grid: GridPreset) {
        self.presets.draft = match grid {
            GridPreset { vary, seeds, mut base, title, description, .. } if vary.is_empty() && seeds.get() == 1 => {
                let words = base.words_mut();
                words.into_iter().zip([title, description]).for_each(|(word, own)| *word = own);
                *base
            }
            grid => Preset::Grid(grid),
        };
    }

    pub(super) fn data(&self) -> DataChoice {
        self.preset().workload().map(|workload| workload.data(self.chosen()).clone()).unwrap_or_default()
    }

    pub(super) fn set_data(&mut self, data: &DataChoice) {
        take_data(&mut self.presets.draft, data);
    }

    pub(super) fn fault(&self) -> Option<TrainingFault> {
        self.broken_rule().or_else(|| self.lack_of_steps()).or_else(|| self.broken_grid())
    }

    fn broken_grid(&self) -> Option<TrainingFault> {
        let Preset::Grid(_) = self.preset() else { return None };
        let mut checked = self.checked.borrow_mut();
        if checked.as_ref().is_none_or(|(grid, _)| grid != self.preset()) {
            // Of the message, the user sees the value at fault and what was expected.
            let message = |SpecError { complaint, .. }: SpecError| {
                let complaint = complaint.trim_start_matches("cannot be: ");
                complaint.split("; `valleyscope").next().unwrap_or(complaint).replace('`', "")
            };
            let fault = self.preset().check().err();
            let fault = fault.map(|error| TrainingFault { path: GRID.to_owned(), message: message(error) });
            *checked = Some((self.preset().clone(), fault));
        }
        checked.as_ref().and_then(|(_, fault)| fault.clone())
    }

    /// Describes the fault of a fork without steps left after its checkpoint's step.
    fn lack_of_steps(&self) -> Option<TrainingFault> {
        let from = self.presets.saved_state().fork.as_ref()?.step;
        let steps = self.preset().workload()?.runs().get(self.chosen())?.course.steps;
        (steps <= from).then(|| TrainingFault {
            path: "steps".to_owned(),
            message: format!("steps must be more than {from}, the step that the fork goes on from, found {steps}"),
        })
    }

    fn broken_rule(&self) -> Option<TrainingFault> {
        let error = self.preset().workload()?.check().err()?;
        let runs = self.runs();
        let in_run = (0..runs).find_map(|run| Some((run, error.path.strip_prefix(&format!("runs[{run}]."))?)));
        let (run, path) = in_run.unwrap_or((self.chosen(), &*error.path));
        let message = format!("{path} {}", error.complaint).replace('`', "");
        Some(if run == self.chosen() {
            TrainingFault { path: path.to_owned(), message }
        } else {
            TrainingFault { path: String::new(), message: format!("Run {}: {message}", run + 1) }
        })
    }

    pub(super) fn field_name(&mut self, fault: &TrainingFault) -> Option<&'static str> {
        let form = self.form();
        let mut fields = form.iter().flat_map(|section| &section.fields);
        fields.find(|field| fault.is_at(field.key)).map(|field| field.label)
    }
}

pub(super) fn take_data(preset: &mut Preset, data: &DataChoice) {
    if let Some(workload) = preset.workload_mut() {
        workload.set_data(data);
    }
}

// The data of the training under the controls, and its requirements on the machine and the disk.
//
// A separate thread determines them when the settings change and every few seconds, and once more before a run's folder
// is made. Data are searched by the code that obtains them, without reading them.

/// The interval between checks of the same data, in seconds.
const CHECK_INTERVAL_SECS: f64 = 5.0;

#[derive(Clone, Debug)]
pub(super) struct Feasibility {
    /// The data, or the reason why they cannot be used.
    pub data: Result<DataStatus, String>,
    /// The requirements of the training, if they and the worker are known.
    pub capacity: Option<CapacityReport>,
}

impl Feasibility {
    pub(super) fn refusal(&self) -> Option<&String> {
        self.data.as_ref().err().or_else(|| self.capacity.as_ref()?.lacks.as_ref())
    }
}

/// Determines the data of a training as they are now.
pub(super) fn data_status_of(training: &Preset) -> Result<DataStatus, String> {
    let workload = training.workload().ok_or("Expected a preset of a training.")?;
    workload.data_status().map_err(|error| error.to_string())
}

/// Checks the data repeatedly, and stores the newest answer.
#[derive(Default)]
pub(super) struct DataWatch {
    asked: Option<(Preset, f64)>,
    checking: Option<Job<(Preset, Feasibility)>>,
    answer: Option<(Preset, Feasibility)>,
}

impl DataWatch {
    /// Checks a training in the background unless the last check was of the same and is recent, and takes the answer.
    /// The requirements are known if those of the worker and the folder of runs are.
    pub(super) fn update(
        &mut self,
        ctx: &Context,
        training: Option<&Preset>,
        worker: Option<&Handshake>,
        runs: Option<&Path>,
    ) {
        if let Some(Ok(answer)) = Job::take(&mut self.checking) {
            self.answer = Some(answer);
        }
        let (Some(training), time) = (training, ctx.time()) else { return };
        let is_recent = |(asked, at): &(Preset, f64)| asked == training && time < at + CHECK_INTERVAL_SECS;
        if self.checking.is_some() || self.asked.as_ref().is_some_and(is_recent) {
            return;
        }
        let training = training.clone();
        self.asked = Some((training.clone(), time));
        let known = worker.cloned().zip(runs.map(Path::to_owned));
        self.checking = Some(Job::start(ctx, move |_| {
            let data = data_status_of(&training);
            let capacity = known.and_then(|(has, runs)| CapacityReport::of(&training, &has, &runs));
            (training, Feasibility { data, capacity })
        }));
    }

    /// The answer for a training. An answer for the same choice of data applies until a new one arrives.
    pub(super) fn of(&self, training: Option<&Preset>) -> Option<&Feasibility> {
        let (of, found) = self.answer.as_ref()?;
        let choice =
            |preset: &Preset| -> (&'static str, Option<DataChoice>) { (preset.kind(), preset.data().cloned()) };
        (choice(of) == choice(training?)).then_some(found)
    }

    pub(super) fn check_again(&mut self) {
        self.asked = None;
    }

    pub(super) fn fault(&self, training: Option<&Preset>) -> Option<TrainingFault> {
        let found = self.of(training)?;
        // The requirements follow from several fields.
        let path = if found.data.is_err() { "data" } else { "" };
        Some(TrainingFault { path: path.to_owned(), message: found.refusal()?.clone() })
    }
}
