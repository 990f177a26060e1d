//! The training under the controls.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::choices::Choices;
use crate::preset::{Preset, built_ins};
use crate::workload::DataChoice;
use crate::workload::form::Form;

/// What the next session finds again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrainingMemory {
    /// A preset's text.
    pub preset: String,
    /// The same as it was opened or saved last.
    #[serde(default)]
    pub clean: Option<String>,
    pub file: Option<PathBuf>,
    /// The folders of the runs that are compared.
    pub selected: Vec<PathBuf>,
    #[serde(default)]
    pub choices: Choices,
    /// Which of its colour's pens each run has, so that it keeps it.
    #[serde(default)]
    pub pens: BTreeMap<PathBuf, usize>,
}

/// The first built-in preset of a kind, and its name.
pub fn first_of(kind: &str) -> (Preset, &'static str) {
    let found = built_ins().iter().find(|built_in| built_in.preset.kind() == kind);
    let found = found.expect("each workload has a built-in preset");
    (found.preset.clone(), found.name)
}

/// The preset under the controls, and where it comes from.
pub struct Draft {
    pub preset: Preset,
    /// As it was opened or saved last.
    pub clean: Preset,
    /// The file that Save writes to, and whether this run of the program has written it.
    pub file: Option<(PathBuf, bool)>,
    /// What folders of runs are called.
    pub stem: String,
    /// Of a preset of several runs, the one that was chosen last, when there may have been more of them.
    chosen: usize,
}

impl Draft {
    pub fn new(preset: Preset, stem: impl Into<String>, file: Option<PathBuf>) -> Draft {
        Draft { clean: preset.clone(), preset, file: file.map(|file| (file, false)), stem: stem.into(), chosen: 0 }
    }

    /// What a file or a built-in preset opens as.
    pub fn opened(preset: Preset, file: Option<PathBuf>) -> Draft {
        let built_in = built_ins().iter().find(|built_in| built_in.preset == preset).map(|it| it.name.to_owned());
        let of_file = || Some(file.as_deref()?.file_stem()?.to_string_lossy().into_owned());
        let stem = built_in.or_else(of_file).unwrap_or_else(|| preset.kind().to_lowercase());
        Draft::new(preset, stem, file)
    }

    /// Which of the preset's runs is shown; 0 where it has but one.
    pub fn chosen(&self) -> usize {
        let runs = self.preset.workload().map_or(0, |workload| workload.places().len());
        self.chosen.min(runs.saturating_sub(1))
    }

    /// Shows another of the preset's runs.
    pub fn choose(&mut self, run: usize) {
        self.chosen = run;
    }

    /// Takes note that the preset was written to a file. The same run is shown as before.
    pub fn saved(&mut self, preset: Preset, path: &Path) {
        let chosen = self.chosen;
        *self = Draft::opened(preset, Some(path.to_owned()));
        self.file = Some((path.to_owned(), true));
        self.chosen = chosen;
    }

    /// The fields of what is shown.
    pub fn form(&mut self) -> Form<'_> {
        let chosen = self.chosen();
        self.preset.workload_mut().map_or_else(Vec::new, |workload| workload.form(chosen))
    }

    /// Where the data of what is shown come from.
    pub fn data(&self) -> DataChoice {
        let shown = self.preset.trainings().into_iter().nth(self.chosen());
        shown.and_then(|training| training.data().cloned()).unwrap_or_default()
    }

    /// The choice of data that holds for other experiments too. Digits that a preset has drawn are its own matter.
    pub fn lasting_data(&self) -> DataChoice {
        let data = self.data();
        let is_of_preset = self.clean.trainings().iter().any(|it| it.data() == Some(&data));
        if data == DataChoice::StandIn && is_of_preset { DataChoice::Automatic } else { data }
    }

    /// Takes the data of all runs from there.
    pub fn set_data(&mut self, data: &DataChoice) {
        if let Some(workload) = self.preset.workload_mut() {
            workload.set_data(data);
        }
    }

    /// Keeps the choice that was made for another experiment, unless the preset itself makes one.
    pub fn keep_data(&mut self, data: &DataChoice) {
        let is_automatic = self.preset.trainings().iter().all(|it| it.data() == Some(&DataChoice::Automatic));
        if is_automatic {
            self.set_data(data);
        }
    }

    /// Why it cannot be trained, if it cannot.
    pub fn fault(&self) -> Option<String> {
        let error = self.preset.workload()?.check().err()?;
        let path = error.path.rsplit_once("].").map_or(&*error.path, |(_, field)| field);
        Some(format!("{} {}", path.strip_prefix("scan.").unwrap_or(path), error.complaint).replace('`', ""))
    }
}
