//! The rules that need no matrices.

use super::{Hyper, Misreading, Parameter, Reading, StepInput, masked, norm, sign};

/// Adam, arXiv:1412.6980, with decoupled weight decay.
pub(super) fn adam(parameter: &mut Parameter, hyper: &Hyper, seen: &StepInput<'_>, reading: Reading) -> Vec<f64> {
    let direction = adam_direction(parameter, hyper, seen.gradient, reading);
    let direction = masked(hyper, seen.gradient, direction);
    parameter.move_and_decay(hyper, &direction);
    direction
}

/// Returns m̂ / (√ŝ + ε).
pub(super) fn adam_direction(parameter: &mut Parameter, hyper: &Hyper, gradient: &[f64], reading: Reading) -> Vec<f64> {
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

/// AdaBelief, arXiv:2010.07468, as in `adabelief-pytorch` without rectification, with decoupled weight decay.
pub(super) fn adabelief(parameter: &mut Parameter, hyper: &Hyper, seen: &StepInput<'_>, reading: Reading) -> Vec<f64> {
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

/// Adam-mini, arXiv:2406.16793.
pub(super) fn adam_mini(parameter: &mut Parameter, hyper: &Hyper, seen: &StepInput<'_>, _: Reading) -> Vec<f64> {
    let (beta1, beta2) = (hyper.get("beta1"), hyper.get("beta2"));
    let count = seen.gradient.len();
    let m = parameter.keep("m", beta1, seen.gradient);
    let blocks = if parameter.blocks.is_empty() { vec![(1, count)] } else { parameter.blocks.clone() };
    let lengths = blocks.iter().flat_map(|&(blocks, elements)| std::iter::repeat_n(elements, blocks));
    let (mut means, mut rest) = (Vec::new(), seen.gradient);
    for length in lengths {
        let block;
        (block, rest) = rest.split_at(length);
        let mean = block.iter().map(|gradient| gradient.powi(2)).sum::<f64>() / length as f64;
        means.extend(std::iter::repeat_n(mean, length));
    }
    let s = parameter.keep("s", beta2, &means);
    let weights = [parameter.gathered("beta1", beta1), parameter.gathered("beta2", beta2)];
    let of = |(m, s): (&f64, f64)| m / weights[0] / ((s / weights[1]).sqrt() + hyper.get("eps"));
    let direction: Vec<f64> = m.iter().zip(s).map(of).collect();
    let direction = masked(hyper, seen.gradient, direction);
    parameter.move_and_decay(hyper, &direction);
    direction
}

/// AdEMAMix, arXiv:2409.03137, as in `ademamix.py` of apple/ml-ademamix.
pub(super) fn ademamix(parameter: &mut Parameter, hyper: &Hyper, seen: &StepInput<'_>, _: Reading) -> Vec<f64> {
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

/// FOCUS, arXiv:2501.12243.
pub(super) fn focus(parameter: &mut Parameter, hyper: &Hyper, seen: &StepInput<'_>, reading: Reading) -> Vec<f64> {
    let (beta2, gamma) = (hyper.get("beta2"), hyper.get("gamma"));
    let m = parameter.keep("m", hyper.get("beta1"), seen.gradient);
    let is_late = reading == Some(Misreading::AverageAfterStep);
    if !is_late {
        parameter.add_to_past(beta2);
    }
    let pull = parameter.pull(reading);
    let direction: Vec<f64> = m.into_iter().zip(pull).map(|(m, pull)| sign(m) + gamma * pull).collect();
    let decays_average = hyper.choices["decay"] == "Average";
    let decays_average = decays_average != (reading == Some(Misreading::OtherDecayTarget));
    let decayed = if decays_average { parameter.average(reading) } else { parameter.theta.clone() };
    let direction = masked(hyper, seen.gradient, direction);
    parameter.move_by(hyper, &direction, &decayed);
    if is_late {
        parameter.add_to_past(beta2);
    }
    direction
}

/// Lion, arXiv:2302.06675.
pub(super) fn lion(parameter: &mut Parameter, hyper: &Hyper, seen: &StepInput<'_>, _: Reading) -> Vec<f64> {
    let beta1 = hyper.get("beta1");
    let mixed = parameter.memory("m").iter().zip(seen.gradient);
    let direction: Vec<f64> = mixed.map(|(m, gradient)| sign(beta1 * m + (1.0 - beta1) * gradient)).collect();
    parameter.keep("m", hyper.get("beta2"), seen.gradient);
    let direction = masked(hyper, seen.gradient, direction);
    parameter.move_and_decay(hyper, &direction);
    direction
}

/// MARS-AdamW, arXiv:2411.10438, as in `MARS/optimizers/mars.py` of AGI-Arena/MARS with `optimize_1d`.
pub(super) fn mars(parameter: &mut Parameter, hyper: &Hyper, seen: &StepInput<'_>, reading: Reading) -> Vec<f64> {
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
    let direction = adam_direction(parameter, hyper, &corrected, reading);
    let direction = masked(hyper, seen.gradient, direction);
    parameter.move_and_decay(hyper, &direction);
    direction
}

/// NAdam, Dozat 2016, as PyTorch's `NAdam` with `decoupled_weight_decay`.
pub(super) fn nadam(parameter: &mut Parameter, hyper: &Hyper, seen: &StepInput<'_>, _: Reading) -> Vec<f64> {
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

/// RMSProp, as PyTorch's `RMSprop`, with weight decay of either kind.
pub(super) fn rmsprop(parameter: &mut Parameter, hyper: &Hyper, seen: &StepInput<'_>, _: Reading) -> Vec<f64> {
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

/// Schedule-Free AdamW, arXiv:2405.15682, as in `adamw_schedulefree.py` of `schedulefree`, with x as the parameters.
/// They are the weighted mean of all z, summed up anew in each step.
pub(super) fn schedule_free(
    parameter: &mut Parameter,
    hyper: &Hyper,
    seen: &StepInput<'_>,
    _reading: Reading,
) -> Vec<f64> {
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

/// Gradient descent with momentum, as PyTorch's `SGD`, with weight decay of either kind.
pub(super) fn sgd(parameter: &mut Parameter, hyper: &Hyper, seen: &StepInput<'_>, _: Reading) -> Vec<f64> {
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

/// Signum, arXiv:1802.04434, with decoupled weight decay.
pub(super) fn signum(parameter: &mut Parameter, hyper: &Hyper, seen: &StepInput<'_>, _: Reading) -> Vec<f64> {
    let m = parameter.keep("m", hyper.get("beta1"), seen.gradient);
    let direction: Vec<f64> = m.into_iter().map(sign).collect();
    let direction = masked(hyper, seen.gradient, direction);
    parameter.move_and_decay(hyper, &direction);
    direction
}

/// Sophia-G, arXiv:2305.14342, as in `sophia.py` of Liuhong99/Sophia; a negative curvature counts as 0.
pub(super) fn sophia(parameter: &mut Parameter, hyper: &Hyper, seen: &StepInput<'_>, _: Reading) -> Vec<f64> {
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
