//! AdEMAMix, arXiv:2409.03137, as in `ademamix.py` of apple/ml-ademamix.

use super::{Hyper, Parameter, Reading, StepInput, masked};

pub(super) fn step(parameter: &mut Parameter, hyper: &Hyper, seen: &StepInput<'_>, _: Reading) -> Vec<f64> {
    let [beta1, beta2, beta3] = ["beta1", "beta2", "beta3"].map(|key| hyper.get(key));
    let t = parameter.steps as f64;
    let part = |warmup: f64| if t < warmup { t / warmup } else { 1.0 };
    let alpha = hyper.get("alpha") * part(hyper.get("alpha_warmup"));
    let slow_rate = match part(hyper.get("beta3_warmup")) {
        1.0 => beta3,
        part => {
            let half_life = |beta: f64| 0.5_f64.ln() / (beta + 1e-8).ln() - 1.0;
            let now = (1.0 - part) * half_life(beta1) + part * half_life(beta3);
            0.5_f64.powf(1.0 / (now + 1.0))
        }
    };
    let m = parameter.keep("m", beta1, seen.gradient);
    let squares: Vec<f64> = seen.gradient.iter().map(|gradient| gradient.powi(2)).collect();
    let s = parameter.keep("s", beta2, &squares);
    let slow = parameter.keep("n", slow_rate, seen.gradient);
    let weights = [parameter.gathered("beta1", beta1), parameter.gathered("beta2", beta2)];
    let eps = hyper.get("eps");
    let of = |((m, s), slow): ((f64, f64), f64)| (m / weights[0] + alpha * slow) / ((s / weights[1]).sqrt() + eps);
    let direction: Vec<f64> = m.into_iter().zip(s).zip(slow).map(of).collect();
    let direction = masked(hyper, seen.gradient, direction);
    parameter.move_and_decay(hyper, &direction);
    direction
}
