//! NAdam, Dozat 2016, as PyTorch's `NAdam` with `decoupled_weight_decay`.

use super::{Hyper, Parameter, Reading, StepInput, masked};

pub(super) fn step(parameter: &mut Parameter, hyper: &Hyper, seen: &StepInput<'_>, _: Reading) -> Vec<f64> {
    let (beta1, beta2) = (hyper.get("beta1"), hyper.get("beta2"));
    let mu = |t: f64| beta1 * (1.0 - 0.5 * 0.96_f64.powf(t * hyper.get("momentum_decay")));
    let (now, next) = (mu(parameter.steps as f64), mu(parameter.steps as f64 + 1.0));
    let m = parameter.keep("m", beta1, seen.gradient);
    let squares: Vec<f64> = seen.gradient.iter().map(|gradient| gradient.powi(2)).collect();
    let s = parameter.keep("s", beta2, &squares);
    let rest = parameter.gathered("beta1", now);
    let s_weight = parameter.gathered("beta2", beta2);
    let rest_after = 1.0 - (1.0 - rest) * next;
    let of = |((gradient, m), s): ((&f64, f64), f64)| {
        ((1.0 - now) * gradient / rest + next * m / rest_after) / ((s / s_weight).sqrt() + hyper.get("eps"))
    };
    let direction: Vec<f64> = seen.gradient.iter().zip(m).zip(s).map(of).collect();
    let direction = masked(hyper, seen.gradient, direction);
    parameter.move_and_decay(hyper, &direction);
    direction
}
