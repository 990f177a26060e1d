//! Arguments that name runs, checkpoints, devices, data and the worker.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use jiff::Timestamp;
use valleyscope_runs::{
    CheckpointChoice, ChoiceError, FolderError, LaunchError, RunFolder, RunHistory, RunReader, WorkerProgram,
    runs_folder,
};

use super::Failure;

const LAST: &str = "last";

/// The name of a run with one of its checkpoints: `RUN`, `RUN@STEP` or `RUN@best`.
#[derive(Clone, Debug)]
pub(crate) struct CheckpointName {
    pub run: OsString,
    pub choice: CheckpointChoice,
}

impl CheckpointName {
    pub(crate) fn parse(text: OsString) -> Result<CheckpointName, String> {
        let parts = text.to_str().and_then(|text| text.rsplit_once('@'));
        // The path of a folder may also contain the sign.
        let Some((run, step)) = parts.filter(|(_, step)| !step.contains(std::path::is_separator)) else {
            return Ok(CheckpointName { run: text, choice: CheckpointChoice::Newest });
        };
        let choice = match step.parse() {
            Ok(step) => Some(CheckpointChoice::Step(step)),
            Err(_) => (step == "best").then_some(CheckpointChoice::Best),
        };
        let choice = choice.filter(|_| !run.is_empty());
        let choice =
            choice.ok_or("expected a run, or a run, @ and the step of a checkpoint, such as last@400 or last@best")?;
        Ok(CheckpointName { run: run.into(), choice })
    }

    /// Finds the step of the named checkpoint.
    pub(crate) fn step(&self, run: &RunFolder) -> Result<u64, Failure> {
        self.choice.find(run).map(|checkpoint| checkpoint.step).map_err(|error| match error {
            ChoiceError::ReadFolder { .. } => Failure::Failed(error.into()),
            _ => Failure::bad_input(error),
        })
    }
}

pub(crate) struct RunsLocation {
    pub folder: PathBuf,
}

impl RunsLocation {
    pub(crate) fn of(named: Option<&Path>) -> Result<RunsLocation, Failure> {
        if let Some(folder) = named {
            if !folder.is_dir() {
                return Err(Failure::BadInput(anyhow!("--runs must be a folder, and {} is none", folder.display())));
            }
            return Ok(RunsLocation { folder: folder.to_owned() });
        }
        let folder = runs_folder();
        let folder = folder.ok_or_else(|| anyhow!("this system has no folder for data; name one with --runs DIR"))?;
        Ok(RunsLocation { folder })
    }

    /// Uses the named folder, or else the default one, for a command that writes a run into it. A named folder may be
    /// missing, as the command creates it.
    pub(crate) fn for_new_run(named: Option<&Path>) -> Result<RunsLocation, Failure> {
        match named {
            Some(folder) if !folder.exists() => Ok(RunsLocation { folder: folder.to_owned() }),
            named => RunsLocation::of(named),
        }
    }

    pub(crate) fn list(&self) -> Result<Vec<RunFolder>, Failure> {
        RunFolder::list(&self.folder).map_err(|error| Failure::Failed(error.into()))
    }

    /// Finds the run with this name, beginning of a name, or folder; `last` is the run that began last, and `./last` a
    /// folder of that name.
    pub(crate) fn find(&self, run: &OsStr) -> Result<RunFolder, Failure> {
        let path = Path::new(run);
        if path.components().count() > 1 || path.is_absolute() || matches!(path.to_str(), Some("." | "..")) {
            return RunFolder::open(path).map_err(Failure::bad_input);
        }
        let name = run.to_string_lossy();
        if name == LAST {
            let none = || Failure::BadInput(anyhow!("there are no runs in {}", self.folder.display()));
            let began = |run: &RunFolder| {
                let mut reader = RunReader::brief(run.clone());
                // An unreadable run counts as begun when its folder was created.
                let _ = reader.poll();
                began(run, reader.history())
            };
            return self.list()?.into_iter().max_by_key(began).ok_or_else(none);
        }
        match RunFolder::open(&self.folder.join(path)) {
            Err(FolderError::Missing(_)) => {}
            found => return found.map_err(Failure::bad_input),
        }
        let runs = self.list()?;
        let alike: Vec<&RunFolder> = runs.iter().filter(|run| run.name().starts_with(&*name)).collect();
        match alike[..] {
            [only] => Ok(only.clone()),
            [] if path.is_dir() => RunFolder::open(path).map_err(Failure::bad_input),
            [] => Err(Failure::BadInput(self.unknown(&name, &runs))),
            _ => {
                let names = alike.iter().map(|run| run.shown_name()).collect::<Vec<_>>();
                Err(Failure::BadInput(anyhow!("`{name}` may be any of {}; say which", listed(&names))))
            }
        }
    }

    fn unknown(&self, name: &str, runs: &[RunFolder]) -> anyhow::Error {
        let folder = self.folder.display();
        let mut ranked: Vec<(f64, String)> = runs
            .iter()
            .map(|run| {
                // Names end with the time, which users rarely type.
                let begins: String = run.name().chars().take(name.chars().count()).collect();
                (strsim::jaro_winkler(&begins, name), run.shown_name())
            })
            .filter(|&(likeness, _)| likeness > 0.7)
            .collect();
        ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
        let names: Vec<String> = ranked.into_iter().map(|(_, name)| name).collect();
        let hint = if names.is_empty() {
            "`valleyscope runs list` names all".to_owned()
        } else {
            format!("did you mean {}?", listed(&names))
        };
        anyhow!("there is no run `{name}` in {folder}; {hint}")
    }
}

/// The time at which a run's training began, or at which its folder was created if it has not begun.
pub(crate) fn began(run: &RunFolder, history: &RunHistory) -> Timestamp {
    history.began().or_else(|| run.made()).unwrap_or(Timestamp::MIN)
}

fn listed(names: &[String]) -> String {
    const SHOWN: usize = 5;
    let shown = names.iter().take(SHOWN).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    if names.len() > SHOWN { format!("{shown} and {} more", names.len() - SHOWN) } else { shown }
}

/// Converts an argument to a device as written in a preset.
pub(crate) fn device(text: &str) -> Result<String, String> {
    let text = text.to_ascii_lowercase();
    let number = match &*text {
        "cpu" => return Ok("Cpu".to_owned()),
        "cuda" => Some(0),
        _ => text.strip_prefix("cuda:").and_then(|number| number.parse::<u32>().ok()),
    };
    number.map(|number| format!("Cuda({number})")).ok_or_else(|| "expected cpu, cuda, or cuda: and a number".to_owned())
}

pub(crate) fn data(folder: &Path) -> Result<String, Failure> {
    // The worker may have another working directory.
    let folder = folder.canonicalize().with_context(|| format!("--data {}", folder.display()));
    let folder = folder.map_err(Failure::BadInput)?;
    let text = folder.to_str().ok_or_else(|| anyhow!("the path {} is no text", folder.display()))?;
    Ok(format!("Folder({})", ron::to_string(text).expect("a text can be expressed")))
}

pub(crate) fn find_worker(named: Option<&Path>) -> Result<WorkerProgram, Failure> {
    WorkerProgram::find(named).map_err(|error| match error {
        LaunchError::NoFile { .. } => Failure::bad_input(error),
        _ => Failure::Failed(error.into()),
    })
}
