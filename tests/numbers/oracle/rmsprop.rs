//! RMSProp, as PyTorch's `RMSprop`, with weight decay of either kind.

use super::{Hyper, Parameter, Reading, StepInput, masked};

pub(super) fn step(parameter: &mut Parameter, hyper: &Hyper, seen: &StepInput<'_>, _: Reading) -> Vec<f64> {
    let gradient = parameter.with_coupled_decay(hyper, seen.gradient);
    let squares: Vec<f64> = gradient.iter().map(|gradient| gradient.powi(2)).collect();
    let s = parameter.keep("s", hyper.get("beta2"), &squares);
    let a = parameter.keep("a", hyper.get("beta2"), &gradient);
    let is_centred = hyper.choices["form"] == "Centred";
    let sizes = s.into_iter().zip(a).map(|(s, a)| if is_centred { (s - a * a).max(0.0) } else { s }.sqrt());
    let steps: Vec<f64> =
        gradient.iter().zip(sizes).map(|(gradient, size)| gradient / (size + hyper.get("eps"))).collect();
    let b = parameter.memory("b");
    for (b, step) in b.iter_mut().zip(steps) {
        *b = hyper.get("momentum") * *b + step;
    }
    let direction = b.clone();
    let direction = masked(hyper, &gradient, direction);
    parameter.move_and_decay_unless_coupled(hyper, &direction);
    direction
}
