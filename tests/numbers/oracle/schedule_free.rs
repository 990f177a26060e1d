//! Schedule-Free AdamW, arXiv:2405.15682, as in `adamw_schedulefree.py` of `schedulefree`, with x as the parameters.
//! They are the weighted mean of all z, summed up anew in each step.

use super::{Hyper, Parameter, Reading, StepInput, masked};

pub(super) fn step(parameter: &mut Parameter, hyper: &Hyper, seen: &StepInput<'_>, _reading: Reading) -> Vec<f64> {
    let (beta1, beta2, warmup) = (hyper.get("beta1"), hyper.get("beta2"), hyper.get("warmup"));
    let t = parameter.steps as f64;
    let eta = if warmup > 0.0 { hyper.eta * (t / warmup).min(1.0) } else { hyper.eta };
    parameter.largest_rate = parameter.largest_rate.max(eta);
    let weight = t.powf(hyper.get("r")) * parameter.largest_rate.powf(hyper.get("weight_lr_power"));
    let squares: Vec<f64> = seen.gradient.iter().map(|gradient| gradient * gradient).collect();
    let s = parameter.keep("s", beta2, &squares);
    // This updates the products that a library keeps.
    parameter.gathered("beta1", beta1);
    let gathered = parameter.gathered("beta2", beta2);
    let direction =
        seen.gradient.iter().zip(s).map(|(gradient, s)| gradient / ((s / gathered).sqrt() + hyper.get("eps")));
    let direction = masked(hyper, seen.gradient, direction.collect());
    let y = parameter.gradient_point(beta1);
    let mut z = parameter.base.take().unwrap_or_else(|| parameter.theta.clone());
    for ((z, direction), y) in z.iter_mut().zip(&direction).zip(y) {
        *z -= eta * direction + eta * hyper.omega() * y;
    }
    parameter.past.push((weight, z.clone()));
    parameter.base = Some(z);
    if parameter.past.iter().any(|(weight, _)| *weight > 0.0) {
        parameter.theta = parameter.average(None);
    }
    direction
}
