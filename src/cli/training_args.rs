//! The preset of a training as an argument, and the changes of it.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use valleyscope_engine::quantity::Replicates;
use valleyscope_engine::sweep::SweepPart;
use valleyscope_experiments::preset::{GridPreset, Library, Preset, Variation};

use super::Failure;
use super::run_args::{data, device};

/// A preset to train, and changes of it.
#[derive(clap::Args)]
pub(super) struct TrainingArgs {
    /// Name of a built-in preset or of one of your own, or a file
    #[arg(value_name = "PRESET")]
    preset: OsString,
    #[command(flatten)]
    settings: SettingsArgs,
}

/// Changes of a preset.
#[derive(clap::Args)]
pub(super) struct SettingsArgs {
    /// Device: cpu, cuda, or cuda:1 and so on
    #[arg(long, value_name = "DEVICE", value_parser = device)]
    pub device: Option<String>,
    /// Folder of the training data
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Set a field of the preset, such as lr=0.01 or optimizer.gamma=0.4; may be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = assignment)]
    pub set: Vec<(String, String)>,
    /// Number of processes on this machine, which share each batch; a resumed run may have another number
    ///
    /// Each has an equal share of the processors, or a GPU of its own. The losses are those of a single process, up to
    /// rounding. On several machines, `valleyscope-train run` is started by torchrun or srun instead.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub processes: Option<u16>,
    #[command(flatten)]
    pub grid: GridArgs,
    /// Train only a part of several trainings, such as 3/8, the third of eight parts of about equal cost
    #[arg(long, value_name = "K/N", allow_hyphen_values = true)]
    part: Option<SweepPart>,
}

/// The settings that vary in a grid of trainings.
#[derive(clap::Args)]
pub(super) struct GridArgs {
    /// Train with each of several values of a setting: learning_rate=1e-4..1e-2:5:log for five values with equal
    /// quotients, batch_size=16..64:4 with equal distances, or optimizer=Adam,Signum,FOCUS; may be repeated, for all
    /// combinations
    #[arg(long, value_name = "KEY=VALUES", value_parser = str::parse::<Variation>)]
    pub vary: Vec<Variation>,
    /// Number of seeds with which each combination is trained, from the preset's own seed on
    #[arg(long, value_name = "N")]
    pub seeds: Option<Replicates>,
}

impl GridArgs {
    pub(super) fn is_empty(&self) -> bool {
        self.vary.is_empty() && self.seeds.is_none()
    }

    /// Makes the grid of a preset's trainings; a preset without varying settings stays as it is. A setting that the
    /// preset varies too takes these values.
    pub(super) fn applied_to(&self, preset: Preset) -> Result<Preset, Failure> {
        if self.is_empty() {
            return Ok(preset);
        }
        let mut grid = GridPreset::of(preset);
        grid.vary.retain(|it| !self.vary.iter().any(|own| own.setting == it.setting));
        grid.vary.extend(self.vary.iter().cloned());
        grid.seeds = self.seeds.unwrap_or(grid.seeds);
        let grid = Preset::Grid(grid);
        grid.check().map_err(Failure::bad_input)?;
        Ok(grid)
    }
}

impl TrainingArgs {
    /// Returns the stem of the names of its runs.
    pub(super) fn stem(&self) -> String {
        self.settings.stem(&self.preset)
    }

    pub(super) fn trainings(&self) -> Result<Vec<Preset>, Failure> {
        self.settings.trainings(load(&self.preset)?, &format!("preset {}", self.preset.display()))
    }
}

/// Loads the preset of a training.
pub(super) fn load(name: &OsStr) -> Result<Preset, Failure> {
    let preset = Library::open().load(name).map_err(Failure::bad_input)?.preset;
    if preset.workload().is_none() {
        let expected = format!("a training, of the kind {}", Preset::TRAININGS.join(", "));
        return Err(super::wrong_kind(&expected, name, &preset));
    }
    Ok(preset)
}

impl SettingsArgs {
    /// Returns the stem of the names of a preset's runs.
    pub(super) fn stem(&self, preset: &OsStr) -> String {
        let stem = Path::new(preset).file_stem().unwrap_or(preset).to_string_lossy();
        self.part.map_or_else(|| stem.clone().into_owned(), |part| format!("{stem}-{}", part.stem()))
    }

    /// Makes the trainings of a preset with these changes. Errors call the preset `called`.
    pub(super) fn trainings(&self, mut preset: Preset, called: &str) -> Result<Vec<Preset>, Failure> {
        let mut settings = self.set.clone();
        for (option, key, given) in [
            ("--device", "device", self.device.is_some()),
            ("--data", "data", self.data.is_some()),
            ("--processes", "processes", self.processes.is_some()),
        ] {
            if given && settings.iter().any(|(set, _)| set == key) {
                let twice = anyhow!("{option} and --set {key}=… set the same field twice; give one of them");
                return Err(Failure::BadInput(twice));
            }
        }
        if let Some(device) = &self.device {
            settings.push(("device".to_owned(), device.clone()));
        }
        if let Some(folder) = &self.data {
            settings.push(("data".to_owned(), data(folder)?));
        }
        let before = preset.clone();
        if let Some(processes) = self.processes {
            // The preset's own number is replaced, and may be too large for the other settings.
            settings.push(("processes".to_owned(), "1".to_owned()));
            preset = super::changed(&preset, &settings)?;
            check_processes(&preset, processes)?;
            settings = vec![("processes".to_owned(), processes.to_string())];
        }
        preset = super::changed(&preset, &settings)?;
        let mut trainings = match self.grid.applied_to(preset)? {
            Preset::Grid(grid) if matches!(before, Preset::Grid(_)) => {
                grid.combinations().map_err(Failure::bad_input)?
            }
            grid @ Preset::Grid(_) => match grid.as_changed_from(&before) {
                Preset::Grid(grid) => grid.combinations().map_err(Failure::bad_input)?,
                _ => unreachable!("a title does not change the kind"),
            },
            preset => preset.trainings_as_changed_from(&before.trainings()),
        };
        if let Some(part) = self.part {
            trainings = of_part(trainings, part, called)?;
        }
        for workload in trainings.iter_mut().filter_map(Preset::workload_mut) {
            workload.complete().map_err(|error| Failure::BadInput(anyhow!(error)))?;
        }
        Ok(trainings)
    }
}

/// Selects the trainings of a part, whose cost is about that of each other part.
fn of_part(trainings: Vec<Preset>, part: SweepPart, called: &str) -> Result<Vec<Preset>, Failure> {
    if part.count() as usize > trainings.len() {
        return Err(Failure::BadInput(anyhow!(
            "--part {part}: expected at most {} parts, one for each training of the {called}",
            trainings.len()
        )));
    }
    let cost = |training: &Preset| {
        let (needs, steps) = (training.workload()?.needs(0)?, training.training()?.course.steps);
        Some((needs.step_operations * steps as f64) as u64)
    };
    let costs: Vec<u64> = trainings.iter().map(|training| cost(training).unwrap_or(1)).collect();
    let numbers = SweepPart::divide(part.count(), &costs);
    Ok(trainings.into_iter().zip(numbers).filter(|(_, number)| *number == part.number()).map(|(it, _)| it).collect())
}

fn assignment(text: &str) -> Result<(String, String), String> {
    let (key, value) = super::assignment(text)?;
    // The value may be written as for --device, or as in a preset.
    let value = if key.ends_with("device") { device(&value).unwrap_or(value) } else { value };
    Ok((key, value))
}

/// Refuses more processes than can share a step, before anything is started.
pub(super) fn check_processes(preset: &Preset, processes: u16) -> Result<(), Failure> {
    let Some(workload) = preset.workload() else { return Ok(()) };
    let checked = workload.check_processes(usize::from(processes));
    checked.map_err(|why| Failure::BadInput(anyhow!("--processes: {why}")))
}
