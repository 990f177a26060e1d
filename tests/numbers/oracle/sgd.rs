//! Gradient descent with momentum, as PyTorch's `SGD`, with weight decay of either kind.

use super::{Hyper, Parameter, Reading, StepInput, masked};

pub(super) fn step(parameter: &mut Parameter, hyper: &Hyper, seen: &StepInput<'_>, _: Reading) -> Vec<f64> {
    let beta1 = hyper.get("beta1");
    // The first gradient is taken whole, as in PyTorch.
    let share = if parameter.steps == 1 { 1.0 } else { 1.0 - hyper.get("dampening") };
    let gradient = parameter.with_coupled_decay(hyper, seen.gradient);
    let m = parameter.memory("m");
    for (m, gradient) in m.iter_mut().zip(&gradient) {
        *m = beta1 * *m + share * gradient;
    }
    let mut direction = m.clone();
    if hyper.choices["form"] == "Nesterov" {
        direction = direction.iter().zip(&gradient).map(|(m, gradient)| gradient + beta1 * m).collect();
    }
    let direction = masked(hyper, &gradient, direction);
    parameter.move_and_decay_unless_coupled(hyper, &direction);
    direction
}
