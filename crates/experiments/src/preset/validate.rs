//! Validation of presets: rules between fields, and others that their types do not express.

use valleyscope_engine::simulation::{Change, OptimizerSpec, Setting, SimulationSpec};
use valleyscope_engine::spec_error::{SpecError, broken};

use super::{LandscapePreset, Preset, SweepPreset, beside, lesson};
use crate::view::{Orbit, ViewSettings};
use crate::workload::Workload;

/// Checks the preset, and returns the first rule that it breaks.
pub(super) fn check(preset: &Preset) -> Result<(), SpecError> {
    SpecError::check_line("title", preset.title(), Preset::LONGEST_TITLE)?;
    SpecError::check_length("description", preset.description(), 0..=Preset::LONGEST_DESCRIPTION)?;
    match preset {
        Preset::Landscape(preset) => check_landscape(preset),
        Preset::Sweep(preset) => check_sweep(preset),
        training => training.workload().map_or(Ok(()), Workload::check),
    }
}

fn check_sweep(preset: &SweepPreset) -> Result<(), SpecError> {
    let sweep = &preset.sweep;
    for (index, optimizer) in sweep.optimizers.iter().enumerate() {
        if let Some(name) = &optimizer.name {
            SpecError::check_name(&format!("sweep.optimizers[{index}].name"), name, OptimizerSpec::LONGEST_NAME)?;
        }
    }
    sweep.check().map_err(|error| error.at("sweep"))
}

fn check_landscape(preset: &LandscapePreset) -> Result<(), SpecError> {
    check_optimizers("simulation.optimizers", &preset.simulation)?;
    if let Some(view) = &preset.view {
        check_view(view)?;
    }
    beside::check(preset)?;
    lesson::check(preset)?;
    check_changes(&preset.simulation, &preset.changes, "changes")
}

/// Checks the optimizers of the simulation at this path.
pub(super) fn check_optimizers(
    path: &str,
    SimulationSpec { optimizers, .. }: &SimulationSpec,
) -> Result<(), SpecError> {
    const MOST: usize = SimulationSpec::MAX_OPTIMIZERS;
    if !(1..=MOST).contains(&optimizers.len()) {
        return broken(path, format!("must hold 1 to {MOST} optimizers, found {}", optimizers.len()));
    }
    for (index, optimizer) in optimizers.iter().enumerate() {
        if let Some(first) = optimizers[..index].iter().position(|other| other.id == optimizer.id) {
            return broken(
                format!("{path}[{index}].id"),
                format!("is {}, the same as `{path}[{first}].id`; each optimizer needs an id of its own", optimizer.id),
            );
        }
        if let Some(name) = &optimizer.name {
            SpecError::check_name(&format!("{path}[{index}].name"), name, OptimizerSpec::LONGEST_NAME)?;
        }
    }
    if optimizers.iter().all(|optimizer| !optimizer.enabled) {
        return broken(path, "must hold at least one optimizer with `enabled: true`, and all have `enabled: false`");
    }
    Ok(())
}

pub(super) fn check_view(view: &ViewSettings) -> Result<(), SpecError> {
    const LARGEST: f64 = 1e12;
    if let Some(camera) = &view.camera {
        if let Some(axis) = camera.center.iter().position(|center| center.is_nan() || center.abs() > LARGEST) {
            let found = camera.center[axis];
            return broken("view.camera.center", format!("must be within ±{LARGEST:e}, found {found}"));
        }
        check_within("view.camera.width", camera.width, 1e-12, LARGEST)?;
    }
    if let Some(orbit) = &view.orbit {
        check_within("view.orbit.azimuth", orbit.azimuth, -360.0, 360.0)?;
        let (lowest, highest) = Orbit::ELEVATIONS.into_inner();
        check_within("view.orbit.elevation", orbit.elevation, lowest, highest)?;
    }
    if let Some(scale) = &view.scale {
        check_within("view.scale.linear", scale.linear, f64::MIN_POSITIVE, f64::MAX)?;
        check_within("view.scale.min", scale.min, f64::MIN, 0.0)?;
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

fn check_within(path: &str, value: f64, least: f64, most: f64) -> Result<(), SpecError> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    // Plain numbers where they are short.
    let text =
        |end: f64| if end == 0.0 || (1e-3..1e6).contains(&end.abs()) { end.to_string() } else { format!("{end:e}") };
    broken(path, format!("must be a number from {} to {}, found {value}", text(least), text(most)))
}

/// Checks the recorded changes at this path.
pub(super) fn check_changes(simulation: &SimulationSpec, changes: &[Change], path: &str) -> Result<(), SpecError> {
    let mut simulation = simulation.clone();
    for (index, change) in changes.iter().enumerate() {
        if let Some(before) = index.checked_sub(1).filter(|&before| changes[before].step > change.step) {
            return broken(
                format!("{path}[{index}].step"),
                format!(
                    "is {}, before `{path}[{before}].step`, which is {}; changes stand in the order of their steps",
                    change.step, changes[before].step
                ),
            );
        }
        check_setting(&mut simulation, &change.set, || format!("{path}[{index}].set"))?;
    }
    Ok(())
}

/// Checks that a setting fits an optimizer of `simulation`.
pub(super) fn check_setting(
    simulation: &mut SimulationSpec,
    setting: &Setting,
    path: impl FnOnce() -> String,
) -> Result<(), SpecError> {
    simulation.apply(setting).or_else(|error| broken(path(), format!("does not fit `simulation.optimizers`: {error}")))
}
