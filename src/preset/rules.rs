//! What must hold between the fields of a preset, and what their types cannot say.

use std::fmt;

use super::{LandscapePreset, MnistPreset, MnistScanPreset, Preset, SweepPreset};
use crate::simulation::{Change, OptimizerSpec, Setting, SimulationSpec};
use crate::view::ViewSettings;
use crate::workload::DataChoice;

/// A rule that a preset breaks.
#[derive(Debug)]
pub struct Broken {
    /// The field to mark, like `simulation.optimizers[1].id`.
    pub path: String,
    /// What is wrong with it; reads on after the path.
    complaint: String,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` {}", self.path, self.complaint)
    }
}

fn broken<T>(path: impl Into<String>, complaint: impl Into<String>) -> Result<T, Broken> {
    Err(Broken { path: path.into(), complaint: complaint.into() })
}

/// The first rule that the preset breaks.
pub fn check(preset: &Preset) -> Result<(), Broken> {
    match preset {
        Preset::Landscape(preset) => check_landscape(preset),
        Preset::Sweep(preset) => check_sweep(preset),
        Preset::Mnist(preset) => check_mnist(preset),
        Preset::MnistScan(preset) => check_mnist_scan(preset),
    }
}

fn check_mnist(preset: &MnistPreset) -> Result<(), Broken> {
    check_line("title", &preset.title, 100)?;
    check_length("description", &preset.description, 0..=1000)?;
    const MOST: usize = MnistPreset::MOST_RUNS;
    if !(1..=MOST).contains(&preset.runs.len()) {
        return broken("runs", format!("must hold 1 to {MOST} runs, found {}", preset.runs.len()));
    }
    for (index, run) in preset.runs.iter().enumerate() {
        if let Some(name) = &run.name {
            check_line(&format!("runs[{index}].name"), name, OptimizerSpec::LONGEST_NAME)?;
        }
        check_data(&format!("runs[{index}].data"), &run.data)?;
    }
    Ok(())
}

/// A folder's path is no longer than systems allow.
fn check_data(path: &str, data: &DataChoice) -> Result<(), Broken> {
    match data {
        DataChoice::Folder(folder) => check_length(path, folder, 0..=4096),
        DataChoice::Automatic | DataChoice::StandIn => Ok(()),
    }
}

fn check_mnist_scan(preset: &MnistScanPreset) -> Result<(), Broken> {
    check_line("title", &preset.title, 100)?;
    check_length("description", &preset.description, 0..=1000)?;
    for (index, optimizer) in preset.scan.optimizers.iter().enumerate() {
        if let Some(name) = &optimizer.name {
            check_line(&format!("scan.optimizers[{index}].name"), name, OptimizerSpec::LONGEST_NAME)?;
        }
    }
    check_data("scan.data", &preset.scan.data)?;
    preset.scan.check().or_else(|error| broken(format!("scan.{}", error.path), error.complaint))
}

fn check_sweep(preset: &SweepPreset) -> Result<(), Broken> {
    check_line("title", &preset.title, SweepPreset::LONGEST_TITLE)?;
    check_length("description", &preset.description, 0..=SweepPreset::LONGEST_DESCRIPTION)?;
    let sweep = &preset.sweep;
    for (index, optimizer) in sweep.optimizers.iter().enumerate() {
        if let Some(name) = &optimizer.name {
            check_line(&format!("sweep.optimizers[{index}].name"), name, OptimizerSpec::LONGEST_NAME)?;
        }
    }
    sweep.check().or_else(|error| broken(format!("sweep.{}", error.path), error.complaint))
}

fn check_landscape(preset: &LandscapePreset) -> Result<(), Broken> {
    check_line("title", &preset.title, 100)?;
    check_length("description", &preset.description, 0..=1000)?;
    check_optimizers(&preset.simulation.optimizers)?;
    if let Some(view) = &preset.view {
        check_view(view)?;
    }
    check_lesson(preset)?;
    check_changes(&preset.simulation, &preset.changes)
}

/// A name that is shown in one line.
fn check_line(path: &str, text: &str, longest: usize) -> Result<(), Broken> {
    if text.trim().is_empty() {
        return broken(path, "must not be empty");
    }
    if text.contains(char::is_control) {
        return broken(path, "must be a single line without control characters");
    }
    check_length(path, text, 1..=longest)
}

fn check_length(path: &str, text: &str, allowed: std::ops::RangeInclusive<usize>) -> Result<(), Broken> {
    let length = text.chars().count();
    if allowed.contains(&length) {
        return Ok(());
    }
    let (least, most) = allowed.into_inner();
    broken(path, format!("must have {least} to {most} characters, found {length}"))
}

fn check_optimizers(optimizers: &[OptimizerSpec]) -> Result<(), Broken> {
    const PATH: &str = "simulation.optimizers";
    const MOST: usize = SimulationSpec::MAX_OPTIMIZERS;
    if !(1..=MOST).contains(&optimizers.len()) {
        return broken(PATH, format!("must hold 1 to {MOST} optimizers, found {}", optimizers.len()));
    }
    for (index, optimizer) in optimizers.iter().enumerate() {
        if let Some(first) = optimizers[..index].iter().position(|other| other.id == optimizer.id) {
            return broken(
                format!("{PATH}[{index}].id"),
                format!("is {}, the same as `{PATH}[{first}].id`; each optimizer needs an id of its own", optimizer.id),
            );
        }
        if let Some(name) = &optimizer.name {
            check_line(&format!("{PATH}[{index}].name"), name, OptimizerSpec::LONGEST_NAME)?;
        }
    }
    if optimizers.iter().all(|optimizer| !optimizer.enabled) {
        return broken(PATH, "must hold at least one optimizer with `enabled: true`, and all have `enabled: false`");
    }
    Ok(())
}

fn check_view(view: &ViewSettings) -> Result<(), Broken> {
    const LARGEST: f64 = 1e12;
    if let Some(camera) = &view.camera {
        if let Some(axis) = camera.center.iter().position(|center| center.is_nan() || center.abs() > LARGEST) {
            let found = camera.center[axis];
            return broken("view.camera.center", format!("must be within ±{LARGEST:e}, found {found}"));
        }
        check_within("view.camera.width", camera.width, 1e-12, LARGEST)?;
    }
    if let Some(scale) = &view.scale {
        check_within("view.scale.linear", scale.linear, f64::MIN_POSITIVE, f64::MAX)?;
        check_within("view.scale.max", scale.max, f64::MIN_POSITIVE, f64::MAX)?;
        if scale.max < scale.linear {
            let (max, linear) = (scale.max, scale.linear);
            return broken("view.scale.max", format!("is {max}, less than `view.scale.linear`, which is {linear}"));
        }
    }
    let most_steps = f64::from(ViewSettings::MAX_TRAIL_STEPS);
    check_within("view.trail_steps", f64::from(view.trail_steps), 0.0, most_steps)?;
    check_within("view.trail_width", f64::from(view.trail_width), 0.0, 100.0)?;
    check_within("view.point_radius", f64::from(view.point_radius), 0.0, 100.0)
}

fn check_within(path: &str, value: f64, least: f64, most: f64) -> Result<(), Broken> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    // Plain numbers where they are short.
    let text = |end: f64| if end == 0.0 || (1e-3..1e6).contains(&end) { end.to_string() } else { format!("{end:e}") };
    broken(path, format!("must be a number from {} to {}, found {value}", text(least), text(most)))
}

fn check_lesson(preset: &LandscapePreset) -> Result<(), Broken> {
    let mut simulation = preset.simulation.clone();
    for (number, step) in preset.lesson.iter().enumerate() {
        let text = &step.text;
        if text.trim().is_empty() {
            return broken(format!("lesson[{number}].text"), "must not be empty");
        }
        check_length(&format!("lesson[{number}].text"), text, 1..=1000)?;
        for (index, setting) in step.set.iter().enumerate() {
            check_setting(&mut simulation, setting, || format!("lesson[{number}].set[{index}]"))?;
        }
    }
    Ok(())
}

fn check_changes(simulation: &SimulationSpec, changes: &[Change]) -> Result<(), Broken> {
    let mut simulation = simulation.clone();
    for (index, change) in changes.iter().enumerate() {
        if let Some(before) = index.checked_sub(1).filter(|&before| changes[before].step > change.step) {
            return broken(
                format!("changes[{index}].step"),
                format!(
                    "is {}, before `changes[{before}].step`, which is {}; changes stand in the order of their steps",
                    change.step, changes[before].step
                ),
            );
        }
        check_setting(&mut simulation, &change.set, || format!("changes[{index}].set"))?;
    }
    Ok(())
}

/// A setting must fit an optimizer of `simulation`.
fn check_setting(
    simulation: &mut SimulationSpec,
    setting: &Setting,
    path: impl FnOnce() -> String,
) -> Result<(), Broken> {
    simulation.apply(setting).or_else(|error| broken(path(), format!("does not fit `simulation.optimizers`: {error}")))
}
