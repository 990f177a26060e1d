//! Lion, arXiv:2302.06675.

use super::{Hyper, Parameter, Reading, StepInput, masked, sign};

pub(super) fn step(parameter: &mut Parameter, hyper: &Hyper, seen: &StepInput<'_>, _: Reading) -> Vec<f64> {
    let beta1 = hyper.get("beta1");
    let mixed = parameter.memory("m").iter().zip(seen.gradient);
    let direction: Vec<f64> = mixed.map(|(m, gradient)| sign(beta1 * m + (1.0 - beta1) * gradient)).collect();
    parameter.keep("m", hyper.get("beta2"), seen.gradient);
    let direction = masked(hyper, seen.gradient, direction);
    parameter.move_and_decay(hyper, &direction);
    direction
}
