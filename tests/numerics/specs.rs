//! Short ways to say what is simulated.

use valleyscope::optimizer::DecayTarget;
use valleyscope::quantity::{
    Beta, Gamma, LearningRate, Noise, ParticleCount, Rotation, Sharpness, Slope, StartCoordinate, StartSpread,
    WeightDecay,
};
use valleyscope::simulation::{LandscapeSpec, OptimizerSpec, Rule, SimulationSpec, StartSpec};

pub fn adam(learning_rate: f64, beta1: f64, beta2: f64, weight_decay: f64) -> Rule {
    Rule::Adam {
        learning_rate: LearningRate::new(learning_rate).unwrap(),
        beta1: Beta::new(beta1).unwrap(),
        beta2: Beta::new(beta2).unwrap(),
        weight_decay: WeightDecay::new(weight_decay).unwrap(),
    }
}

pub fn signum(learning_rate: f64, beta1: f64, weight_decay: f64) -> Rule {
    Rule::Signum {
        learning_rate: LearningRate::new(learning_rate).unwrap(),
        beta1: Beta::new(beta1).unwrap(),
        weight_decay: WeightDecay::new(weight_decay).unwrap(),
    }
}

pub fn sgd(learning_rate: f64, beta1: f64, weight_decay: f64) -> Rule {
    Rule::Sgd {
        learning_rate: LearningRate::new(learning_rate).unwrap(),
        beta1: Beta::new(beta1).unwrap(),
        weight_decay: WeightDecay::new(weight_decay).unwrap(),
    }
}

pub fn focus(learning_rate: f64, betas: [f64; 2], gamma: f64, weight_decay: f64, decay: DecayTarget) -> Rule {
    Rule::Focus {
        learning_rate: LearningRate::new(learning_rate).unwrap(),
        beta1: Beta::new(betas[0]).unwrap(),
        beta2: Beta::new(betas[1]).unwrap(),
        gamma: Gamma::new(gamma).unwrap(),
        weight_decay: WeightDecay::new(weight_decay).unwrap(),
        decay,
    }
}

pub fn valley(sharpness: f64, slope: f64, rotation_degrees: f64) -> LandscapeSpec {
    LandscapeSpec {
        sharpness: Sharpness::new(sharpness).unwrap(),
        slope: Slope::new(slope).unwrap(),
        rotation_degrees: Rotation::new(rotation_degrees).unwrap(),
    }
}

pub fn noise(sigma: f64) -> Noise {
    Noise::new(sigma).unwrap()
}

pub fn start(x: f64, y: f64, spread: f64) -> StartSpec {
    StartSpec {
        x: StartCoordinate::new(x).unwrap(),
        y: StartCoordinate::new(y).unwrap(),
        spread: StartSpread::new(spread).unwrap(),
    }
}

pub fn particles(count: u64) -> ParticleCount {
    ParticleCount::new(count).unwrap()
}

pub fn optimizer(id: u32, rule: Rule) -> OptimizerSpec {
    OptimizerSpec { id, name: None, color: None, enabled: true, rule }
}

/// The paper's landscape and start; the optimizers' ids count from 1.
pub fn simulation(sigma: f64, count: u64, rules: &[Rule]) -> SimulationSpec {
    SimulationSpec {
        landscape: valley(10.0, 0.1, 30.0),
        noise: noise(sigma),
        seed: 1,
        steps: None,
        particles: particles(count),
        start: start(0.0, 0.0, 1e-4),
        temperature: None,
        optimizers: (1..).zip(rules).map(|(id, &rule)| optimizer(id, rule)).collect(),
    }
}

/// Every kind of rule, with the paper's values for its toy model but for the learning rate.
pub fn all_rules(learning_rate: f64) -> [Rule; 6] {
    [
        adam(learning_rate, 0.9, 0.999, 0.1),
        signum(learning_rate, 0.9, 0.1),
        focus(learning_rate, [0.9, 0.9], 0.2, 0.1, DecayTarget::Parameters),
        focus(learning_rate, [0.9, 0.99], 0.2, 0.1, DecayTarget::Average),
        focus(learning_rate, [0.9, 0.9], -0.3, 0.1, DecayTarget::Parameters),
        sgd(0.1 * learning_rate, 0.9, 0.5),
    ]
}
