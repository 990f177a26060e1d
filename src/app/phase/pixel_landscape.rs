//! Conversion from a pixel to its landscape, and from the landscape's settings to a place on the map.

use valleyscope_engine::landscape::StartPlace;
use valleyscope_engine::optimizer::{Decay, Hyperparameter, HyperparameterName, RatedRule, Schedule};
use valleyscope_engine::quantity::{LearningRate, Noise, ParticleCount};
use valleyscope_engine::simulation::{OptimizerSpec, SimulationSpec, StartSpec};
use valleyscope_engine::sweep::{Axis, Cell, Diagram, Metric, Quantity, SweepSpec};
use valleyscope_experiments::preset::LandscapePreset;
use valleyscope_experiments::view::ticks::significant;

use crate::figure::axis_label;

/// The number of particles of each optimizer in the landscape of a pixel.
const PARTICLES: u64 = 100;

/// Returns the landscape of a pixel, with each optimizer at its best settings there; `None` in more than two
/// dimensions.
pub(super) fn landscape(
    diagram: &Diagram,
    title: &str,
    pixel: [usize; 2],
    cell: &Cell,
    metric: Metric,
) -> Option<LandscapePreset> {
    let spec = diagram.spec();
    let value = |axis: &Axis, value: f64| format!("{} {}", axis_label(spec, axis), significant(value, 4));
    let row = value(&spec.rows, diagram.rows()[pixel[0]]);
    let column = value(&spec.columns, diagram.columns()[pixel[1]]);
    Some(LandscapePreset {
        description: format!("A pixel of the diagram \"{title}\", each optimizer at its best settings there."),
        ..LandscapePreset::new(format!("{row}, {column}"), simulation(diagram, pixel, cell, metric)?)
    })
}

fn simulation(diagram: &Diagram, pixel: [usize; 2], cell: &Cell, metric: Metric) -> Option<SimulationSpec> {
    let spec = diagram.spec();
    let point = spec.point(pixel[0], pixel[1]);
    if point.dimension.get() > 2 {
        return None;
    }
    let optimizers = point.optimizers.iter().zip(&spec.optimizers).enumerate().map(|(index, (at_point, optimizer))| {
        let best = cell.score(index, metric).best;
        let (rate, variant) = (diagram.learning_rate(pixel, index, best), at_point.variant(best));
        OptimizerSpec {
            id: optimizer.id,
            name: optimizer.name.clone(),
            color: optimizer.color,
            enabled: true,
            rule: RatedRule {
                rule: variant.rule,
                learning_rate: LearningRate::clamped(rate),
                schedule: with_end_of(optimizer.schedule, variant.schedule),
            },
        }
    });
    let StartPlace { x, y } = spec.start();
    Some(SimulationSpec {
        landscape: point.landscape,
        noise: point.noise,
        seed: spec.seed,
        steps: Some(point.steps.get() as u64),
        particles: ParticleCount::clamped(PARTICLES),
        start: StartSpec { x, y, spread: spec.start_spread },
        temperature: None,
        optimizers: optimizers.collect(),
    })
}

/// Returns a schedule that ends with another's share of η.
fn with_end_of(schedule: Schedule, other: Schedule) -> Schedule {
    match (schedule.decay, other.decay) {
        (Decay::Cosine { steps, .. }, Decay::Cosine { to, .. }) => {
            Schedule { decay: Decay::Cosine { to, steps }, ..schedule }
        }
        _ => schedule,
    }
}

/// Returns the value of an axis's quantity in the landscape; for a hyperparameter, that of the first optimizer of the
/// axis. Returns `None` if it has none.
fn present_value(simulation: &SimulationSpec, sweep: &SweepSpec, of: &Quantity) -> Option<f64> {
    match of {
        Quantity::Landscape(name) => simulation.landscape.get(name.key()),
        Quantity::Noise => Some(simulation.noise.sigma()),
        Quantity::NoiseParameter(name) => simulation.noise.get(name.key()),
        Quantity::Steps => simulation.steps.map(|steps| steps as f64),
        Quantity::Dimension => Some(2.0),
        Quantity::Of(hyperparameter, ids) => {
            let mut meant = simulation.optimizers.iter().filter(|optimizer| is_swept(&optimizer.rule, sweep, ids));
            meant.find_map(|optimizer| hyperparameter_of(&optimizer.rule, *hyperparameter))
        }
    }
}

/// Returns the position of the landscape's settings on a diagram: values of row and column.
pub(crate) fn position_of(simulation: &SimulationSpec, sweep: &SweepSpec) -> Option<[f64; 2]> {
    let is_axis = [&sweep.rows.of, &sweep.columns.of].contains(&&Quantity::Dimension);
    if simulation.landscape.kind() != sweep.landscape.kind() || (sweep.dimension.get() > 2 && !is_axis) {
        return None;
    }
    let [row, column] = [&sweep.rows.of, &sweep.columns.of].map(|of| present_value(simulation, sweep, of));
    Some([row?, column?])
}

/// Sets an axis's quantity in the landscape to this value, within its range; a hyperparameter is set for all optimizers
/// of the axis.
pub(super) fn set_value(simulation: &mut SimulationSpec, sweep: &SweepSpec, of: &Quantity, value: f64) {
    match of {
        Quantity::Landscape(name) => {
            if let Some(of) = simulation.landscape.parameter(name.key()) {
                simulation.landscape.set(of.key(), of.nearest(value)).expect("it was brought into the range");
            }
        }
        Quantity::Noise => simulation.noise = simulation.noise.with_sigma(Noise::clamped(value)),
        Quantity::NoiseParameter(name) => {
            if let Some(index) = simulation.noise.index(name.key()) {
                let nearest = simulation.noise.info().parameters[index].nearest(value);
                simulation.noise.set(index, nearest).expect("it was brought into the range");
            }
        }
        Quantity::Steps => simulation.steps = Some(value.round().max(1.0) as u64),
        Quantity::Dimension => {}
        Quantity::Of(hyperparameter, ids) => {
            for optimizer in &mut simulation.optimizers {
                if is_swept(&optimizer.rule, sweep, ids) {
                    set_hyperparameter(&mut optimizer.rule, *hyperparameter, value);
                }
            }
        }
    }
}

/// Returns whether a rule of the landscape is of the kind of one of these optimizers of a sweep.
fn is_swept(rule: &RatedRule, sweep: &SweepSpec, ids: &[u32]) -> bool {
    let mut named = sweep.optimizers.iter().filter(|optimizer| ids.contains(&optimizer.id));
    named.any(|optimizer| optimizer.rule.kind() == rule.rule.kind())
}

fn hyperparameter_of(rule: &RatedRule, name: HyperparameterName) -> Option<f64> {
    if name == HyperparameterName::LEARNING_RATE { Some(rule.learning_rate.get()) } else { rule.rule.get(name.key()) }
}

/// Sets a hyperparameter of a rule, if it has it, to the nearest value in its range.
fn set_hyperparameter(rule: &mut RatedRule, name: HyperparameterName, value: f64) {
    if name == HyperparameterName::LEARNING_RATE {
        rule.learning_rate = LearningRate::clamped(value);
    } else if let Some(range) = rule.rule.hyperparameter(name.key()).and_then(Hyperparameter::range) {
        let value = value.clamp(range.min, range.max);
        rule.rule.set(name.key(), value).expect("it was brought into the range");
    }
}
