//! FOCUS, arXiv:2501.12243.

use super::{Hyper, Misreading, Parameter, Reading, StepInput, masked, sign};

pub(super) fn step(parameter: &mut Parameter, hyper: &Hyper, seen: &StepInput<'_>, reading: Reading) -> Vec<f64> {
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
