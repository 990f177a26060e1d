//! Adam, arXiv:1412.6980, with decoupled weight decay.

use super::{Hyper, Misreading, Parameter, Reading, StepInput, masked};

pub(super) fn step(parameter: &mut Parameter, hyper: &Hyper, seen: &StepInput<'_>, reading: Reading) -> Vec<f64> {
    let direction = direction(parameter, hyper, seen.gradient, reading);
    let direction = masked(hyper, seen.gradient, direction);
    parameter.move_and_decay(hyper, &direction);
    direction
}

/// Returns m̂ / (√ŝ + ε).
pub(super) fn direction(parameter: &mut Parameter, hyper: &Hyper, gradient: &[f64], reading: Reading) -> Vec<f64> {
    let (beta1, beta2) = (hyper.get("beta1"), hyper.get("beta2"));
    let m = parameter.keep("m", beta1, gradient);
    let squares: Vec<f64> = gradient.iter().map(|gradient| gradient.powi(2)).collect();
    let s = parameter.keep("s", beta2, &squares);
    let mut weights = [parameter.gathered("beta1", beta1), parameter.gathered("beta2", beta2)];
    if reading == Some(Misreading::NoBiasCorrection) {
        weights = [1.0; 2];
    }
    m.iter().zip(s).map(|(m, s)| m / weights[0] / ((s / weights[1]).sqrt() + hyper.get("eps"))).collect()
}
