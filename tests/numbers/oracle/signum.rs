//! Signum, arXiv:1802.04434, with decoupled weight decay.

use super::{Hyper, Parameter, Reading, StepInput, masked, sign};

pub(super) fn step(parameter: &mut Parameter, hyper: &Hyper, seen: &StepInput<'_>, _: Reading) -> Vec<f64> {
    let m = parameter.keep("m", hyper.get("beta1"), seen.gradient);
    let direction: Vec<f64> = m.into_iter().map(sign).collect();
    let direction = masked(hyper, seen.gradient, direction);
    parameter.move_and_decay(hyper, &direction);
    direction
}
