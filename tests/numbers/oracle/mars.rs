//! MARS-AdamW, arXiv:2411.10438, as in `MARS/optimizers/mars.py` of AGI-Arena/MARS with `optimize_1d`.

use super::{Hyper, Parameter, Reading, StepInput, adam, masked, norm};

pub(super) fn step(parameter: &mut Parameter, hyper: &Hyper, seen: &StepInput<'_>, reading: Reading) -> Vec<f64> {
    let (beta1, gamma) = (hyper.get("beta1"), hyper.get("gamma"));
    let place = std::mem::take(parameter.memory("place"));
    let compared = match hyper.choices["form"] {
        "Exact" if parameter.steps == 1 => vec![0.0; place.len()],
        "Exact" => (seen.gradient_at)(&place),
        _ => parameter.memory("previous").clone(),
    };
    *parameter.memory("place") = parameter.theta.clone();
    *parameter.memory("previous") = seen.gradient.to_vec();
    let corrected = seen.gradient.iter().zip(compared);
    let mut corrected: Vec<f64> =
        corrected.map(|(gradient, other)| gradient + gamma * (beta1 / (1.0 - beta1)) * (gradient - other)).collect();
    let length = norm(&corrected);
    if length > 1.0 {
        corrected.iter_mut().for_each(|c| *c /= length);
    }
    let direction = adam::direction(parameter, hyper, &corrected, reading);
    let direction = masked(hyper, seen.gradient, direction);
    parameter.move_and_decay(hyper, &direction);
    direction
}
