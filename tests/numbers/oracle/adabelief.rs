//! AdaBelief, arXiv:2010.07468, as in `adabelief-pytorch` without rectification, with decoupled weight decay.

use super::{Hyper, Misreading, Parameter, Reading, StepInput, masked};

pub(super) fn step(parameter: &mut Parameter, hyper: &Hyper, seen: &StepInput<'_>, reading: Reading) -> Vec<f64> {
    let (beta1, beta2) = (hyper.get("beta1"), hyper.get("beta2"));
    let m = parameter.keep("m", beta1, seen.gradient);
    let deviations: Vec<f64> = seen.gradient.iter().zip(&m).map(|(gradient, m)| (gradient - m).powi(2)).collect();
    parameter.keep("s", beta2, &deviations);
    let s = parameter.memory("s");
    s.iter_mut().for_each(|s| *s += hyper.get("eps"));
    let s = s.clone();
    let mut weights = [parameter.gathered("beta1", beta1), parameter.gathered("beta2", beta2)];
    if reading == Some(Misreading::NoBiasCorrection) {
        weights = [1.0; 2];
    }
    let of = |(m, s): (f64, f64)| m / weights[0] / ((s / weights[1]).sqrt() + hyper.get("eps"));
    let direction: Vec<f64> = m.into_iter().zip(s).map(of).collect();
    let direction = masked(hyper, seen.gradient, direction);
    parameter.move_and_decay(hyper, &direction);
    direction
}
