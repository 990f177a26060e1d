//! The settings that vary: along an axis of the diagram, at each pixel, and in a new diagram of a landscape.

use egui::Context;
use valleyscope_engine::landscape::StartPosition;
use valleyscope_engine::quantity::{Dimension, PointCount, Replicates, StepCount};
use valleyscope_engine::setting::{Extent, SettingPath, SettingValue};
use valleyscope_engine::simulation::{OptimizerSpec, SimulationSpec};
use valleyscope_engine::sweep::{
    Average, Metric, Quantity, Sampling, SweepOptimizer, SweepSpec, Tuned, can_tune, tuned_info,
};
use valleyscope_experiments::preset::{FormatVersion, SweepPreset};

use super::controls::{axis_of, choices};
use crate::app::widgets::optimizer_cards::CardOptimizer as _;
use crate::app::widgets::setting::RowAction;

/// The number of values of a setting that has just been chosen for tuning.
const FIRST_COUNT: u64 = 5;
/// The number of rows, of columns and of replicates of a diagram that a landscape opens.
const SIDE: u64 = 24;
const REPLICATES: u32 = 10;

/// Lists the actions that vary a setting of a sweep.
pub(super) fn actions(spec: &SweepSpec, path: &SettingPath) -> Vec<RowAction> {
    let mut actions = Vec::new();
    if quantity(spec, path).is_some() {
        actions.extend([RowAction::VaryAlongRows, RowAction::VaryAlongColumns]);
    }
    if tuned(spec, path).is_some() {
        actions.push(RowAction::Tune);
    }
    actions
}

/// Returns the axis, as text, along which the setting at a path varies.
pub(super) fn varies_along(spec: &SweepSpec, path: &SettingPath) -> Option<&'static str> {
    let varies = |of: &Quantity| of.is_at(path.optimizer, &path.path);
    let axes = [(&spec.rows.of, "varies along the rows"), (&spec.columns.of, "varies along the columns")];
    axes.into_iter().find(|(of, _)| varies(of)).map(|(_, text)| text)
}

fn quantity(spec: &SweepSpec, path: &SettingPath) -> Option<Quantity> {
    // That of one optimizer alone is after that of several.
    choices(spec).into_iter().rfind(|of| of.is_at(path.optimizer, &path.path))
}

/// Returns the index of the optimizer and the key of a setting that can be tuned.
fn tuned(spec: &SweepSpec, path: &SettingPath) -> Option<(usize, &'static str)> {
    let index = spec.optimizers.iter().position(|it| Some(it.id) == path.optimizer)?;
    let SweepOptimizer { rule, schedule, .. } = &spec.optimizers[index];
    let key = rule.hyperparameters().find(|(of, _)| path.path.strip_prefix("rule.") == Some(of.key))?.0.key;
    can_tune(key, rule, schedule).then_some((index, key))
}

/// Makes the settings vary whose menus ask for it.
pub(super) fn take(ctx: &Context, spec: &mut SweepSpec) {
    for (action, is_row) in [(RowAction::VaryAlongRows, true), (RowAction::VaryAlongColumns, false)] {
        let Some(of) = action.take(ctx).and_then(|path| quantity(spec, &path)) else { continue };
        let landscape = spec.landscape;
        let (axis, other) =
            if is_row { (&mut spec.rows, &mut spec.columns) } else { (&mut spec.columns, &mut spec.rows) };
        if of.overlaps(&other.of) {
            std::mem::swap(axis, other);
        }
        *axis = axis_of(&landscape, of, axis.count);
    }
    if let Some((index, key)) = RowAction::Tune.take(ctx).and_then(|path| tuned(spec, &path)) {
        tune(&mut spec.optimizers[index], key);
    }
}

/// Tries values over the usual extent of a setting.
pub(super) fn tune(optimizer: &mut SweepOptimizer, of: &'static str) {
    let Extent { low, high, spacing } = tuned_info(of).axis;
    optimizer.tune.push(Tuned { of, from: low, to: high, count: PointCount::clamped(FIRST_COUNT), spacing });
}

/// Returns a phase diagram of the optimizers of a simulation, along whose columns the setting at a path varies. Along
/// the rows the noise does, or the first parameter of the landscape if the noise is that setting.
///
/// # Errors
///
/// Fails with the reason why there is no such diagram.
pub(in crate::app) fn diagram_over(spec: &SimulationSpec, path: &SettingPath) -> Result<SweepPreset, String> {
    let SimulationSpec { landscape, noise, start, .. } = spec;
    let all = Quantity::of_all(landscape, noise);
    let found = spec.setting(path).and_then(|SettingValue { info, .. }| match path.optimizer {
        Some(id) => Some((info, Quantity::Of(info.key, vec![id]))),
        None => Some((info, all.iter().find(|of| of.is_at(None, &path.path))?.clone())),
    });
    let (info, of) = found.ok_or("This setting cannot be an axis.")?;
    let rows = if of == Quantity::Noise { all[0].clone() } else { Quantity::Noise };
    let axis = |of: Quantity| axis_of(landscape, of, PointCount::clamped(SIDE));
    let sweep = SweepSpec {
        landscape: *landscape,
        dimension: Dimension::of::<2>(),
        noise: *noise,
        seed: spec.seed,
        steps: spec.steps.map_or(StepCount::of::<1000>(), StepCount::clamped),
        replicates: Replicates::clamped(REPLICATES.into()),
        start: Some(StartPosition { x: start.x, y: start.y }).filter(|start| *start != landscape.start()),
        start_spread: start.spread,
        common_random_numbers: true,
        metric: Metric::default(),
        average: Average::default(),
        sampling: Sampling::Uniform,
        rows: axis(rows),
        columns: axis(of),
        optimizers: spec.optimizers.iter().filter(|it| it.enabled).map(swept).collect(),
    };
    sweep.check().map_err(|fault| format!("No phase diagram of these settings: {fault}"))?;
    let (title, description) = (format!("Varied: {}", info.label), String::new());
    Ok(SweepPreset { version: FormatVersion, title, description, sweep })
}

/// Returns the optimizer of a diagram with the rule of one of a simulation, and with the usual learning rates.
fn swept(OptimizerSpec { id, name, color, rule, .. }: &OptimizerSpec) -> SweepOptimizer {
    let schedule = rule.schedule;
    SweepOptimizer { id: *id, name: name.clone(), color: *color, schedule, ..SweepOptimizer::new(rule.rule) }
}
