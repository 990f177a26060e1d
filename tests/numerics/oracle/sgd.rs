//! Gradient descent with momentum, as PyTorch has it, with decoupled weight decay.

use super::{Hyper, Parameter, Reading, Seen};

pub(super) fn step(parameter: &mut Parameter, hyper: &Hyper, seen: &Seen<'_>, _: Reading) -> Vec<f64> {
    let beta1 = hyper.get("beta1");
    let m = parameter.memory("m");
    for (m, gradient) in m.iter_mut().zip(seen.gradient) {
        *m = beta1 * *m + gradient;
    }
    let direction = m.clone();
    parameter.move_and_decay(hyper, &direction);
    direction
}
