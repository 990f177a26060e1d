//! Sophia-G, arXiv:2305.14342, as in `sophia.py` of Liuhong99/Sophia; a negative curvature counts as 0.

use super::{Hyper, Parameter, Reading, StepInput, masked, sign};

pub(super) fn step(parameter: &mut Parameter, hyper: &Hyper, seen: &StepInput<'_>, _: Reading) -> Vec<f64> {
    let before = parameter.steps - 1;
    if before > 0 && before.is_multiple_of(hyper.get("interval") as u64) {
        parameter.keep("h", hyper.get("beta2"), &(seen.curvature)());
    }
    let h = parameter.memory("h").clone();
    let m = parameter.keep("m", hyper.get("beta1"), seen.gradient);
    let of = |(m, h): (f64, f64)| sign(m) * (m.abs() / (hyper.get("rho") * h.max(0.0) + hyper.get("eps"))).min(1.0);
    let direction: Vec<f64> = m.into_iter().zip(h).map(of).collect();
    let direction = masked(hyper, seen.gradient, direction);
    parameter.move_and_decay(hyper, &direction);
    direction
}
