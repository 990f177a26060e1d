//! Help texts and slider ranges of the quantities.

use valleyscope_engine::optimizer::Hyperparameter;

use super::parameter::ParameterSpec;

pub(super) const SHARPNESS: ParameterSpec = ParameterSpec {
    label: "Sharpness a",
    help: "How quickly the valley narrows: the curvature across it is a·u². Larger values make steeper walls.",
    paper: "10 in the examples, 0.1 to 1000 in the phase diagram",
    low: 0.1,
    high: 1000.0,
    logarithmic: true,
};

pub(super) const SLOPE: ParameterSpec = ParameterSpec {
    label: "Slope c",
    help: "How steeply the floor of the valley falls along u. It is what drives every optimizer onward.",
    paper: "0.1",
    low: 0.0,
    high: 1.0,
    logarithmic: false,
};

pub(super) const ROTATION: ParameterSpec = ParameterSpec {
    label: "Rotation φ (°)",
    help: "The angle between the valley and the x axis, counter-clockwise. Optimizers that work on each \
           coordinate alone behave differently when the valley is not along an axis.",
    paper: "30",
    low: -90.0,
    high: 90.0,
    logarithmic: false,
};

pub(super) const NOISE: ParameterSpec = ParameterSpec {
    label: "Noise σ",
    help: "Each gradient coordinate is multiplied by its own draw from Normal(1, σ).",
    paper: "0 to 3",
    low: 0.0,
    high: 3.0,
    logarithmic: false,
};

pub(super) const PARTICLES: ParameterSpec = ParameterSpec {
    label: "Particles",
    help: "How many independent copies each optimizer moves. A change begins the run again.",
    paper: "50 replicates",
    low: 1.0,
    high: 10_000.0,
    logarithmic: true,
};

const START_HELP: &str = "The middle of the particles' start. A change begins the run again; the start can also be \
                          placed on the landscape.";

pub(super) const START_X: ParameterSpec =
    ParameterSpec { label: "Start x", help: START_HELP, paper: "0", low: -2.0, high: 2.0, logarithmic: false };

pub(super) const START_Y: ParameterSpec =
    ParameterSpec { label: "Start y", help: START_HELP, paper: "0", low: -2.0, high: 2.0, logarithmic: false };

pub(super) const START_SPREAD: ParameterSpec = ParameterSpec {
    label: "Start spread",
    help: "The standard deviation of the particles' start in each coordinate. A change begins the run again.",
    paper: "0.0001",
    low: 1e-6,
    high: 1.0,
    logarithmic: true,
};

pub(super) const TEMPERATURE: ParameterSpec = ParameterSpec {
    label: "Temperature Θ",
    help: "Weighs the entropy in the free energy F = E − ΘS of the plots. It does not act on the particles.",
    paper: "the learning rate plays this part",
    low: 1e-5,
    high: 10.0,
    logarithmic: true,
};

pub(super) const LEARNING_RATE: ParameterSpec = ParameterSpec {
    label: "Learning rate η",
    help: "The size of a step.",
    paper: "20 values from 0.001 to 1",
    low: 1e-4,
    high: 1.0,
    logarithmic: true,
};

pub(crate) const TRAIL: ParameterSpec = ParameterSpec {
    label: "Trail (steps)",
    help: "How many past steps are drawn behind each particle.",
    paper: "no such setting",
    low: 0.0,
    high: 500.0,
    logarithmic: false,
};

/// The controls of a simulation's settings, with the paths of these in a preset.
pub const CONTROLS: [(&str, &ParameterSpec); 10] = [
    ("simulation.landscape.sharpness", &SHARPNESS),
    ("simulation.landscape.slope", &SLOPE),
    ("simulation.landscape.rotation_degrees", &ROTATION),
    ("simulation.noise", &NOISE),
    ("simulation.particles", &PARTICLES),
    ("simulation.start.x", &START_X),
    ("simulation.start.y", &START_Y),
    ("simulation.start.spread", &START_SPREAD),
    ("simulation.temperature", &TEMPERATURE),
    ("simulation.optimizers[0].rule.learning_rate", &LEARNING_RATE),
];

/// The control of a rule's hyperparameter that is a number.
pub(super) const fn of_rule(hyperparameter: &Hyperparameter) -> ParameterSpec {
    let &Hyperparameter { label, help, paper, slider: [low, high], is_logarithmic: logarithmic, .. } = hyperparameter;
    ParameterSpec { label, help, paper, low, high, logarithmic }
}
