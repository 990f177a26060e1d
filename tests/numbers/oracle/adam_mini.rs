//! Adam-mini, arXiv:2406.16793.

use super::{Hyper, Parameter, Reading, StepInput, masked};

pub(super) fn step(parameter: &mut Parameter, hyper: &Hyper, seen: &StepInput<'_>, _: Reading) -> Vec<f64> {
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
