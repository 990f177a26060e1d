//! Shampoo: `Shampoo` of pytorch_optimizer for sums (arXiv:1802.09568), `distributed_shampoo` of
//! facebookresearch/optimizers for running averages and grafting (arXiv:2309.06497). Each statistic is a matrix, and
//! its root comes from eigenvalues.
//!
//! A parameter with one column, such as x and y of the plane, is a vector, of order 1. There the matrix of 2 × 2 is
//! remembered as two pairs: its diagonal, and the number beside it.

use super::symmetric::{Matrix, eigen, on_sides, product, statistics, transposed};
use super::{Hyper, Parameter, Reading, StepInput, masked, norm};

const SIDES: [&str; 2] = ["left", "right"];
const ROOTS: [&str; 2] = ["root_left", "root_right"];

pub(super) fn step(parameter: &mut Parameter, hyper: &Hyper, seen: &StepInput<'_>, _: Reading) -> Vec<f64> {
    let rows = parameter.rows.unwrap_or(seen.gradient.len());
    let columns = seen.gradient.len() / rows;
    let tensor = |values: &[f64]| -> Matrix { values.chunks(columns).map(<[f64]>::to_vec).collect() };
    let (t, interval) = (parameter.steps, hyper.get("interval") as u64);
    let (beta2, is_sum) = (hyper.get("beta2"), hyper.choices["statistics"] == "Sum");
    let [kept, added] = if is_sum { [1.0, 1.0] } else { [beta2, 1.0 - beta2] };
    let weight = parameter.gathered("beta2", beta2);
    let weight = if is_sum { 1.0 } else { weight };

    let mut roots = Vec::new();
    let outer = statistics(&tensor(seen.gradient));
    let exponent = -0.5 / outer.len() as f64;
    for (side, outer) in outer.into_iter().enumerate() {
        let mut statistic = square(parameter, ["diagonal", "mixed", SIDES[side]], outer.len());
        for (statistic, outer) in statistic.iter_mut().flatten().zip(outer.iter().flatten()) {
            *statistic = kept * *statistic + added * outer;
        }
        keep_square(parameter, ["diagonal", "mixed", SIDES[side]], &statistic);
        let names = ["root", "mixed_root", ROOTS[side]];
        if t.is_multiple_of(interval) {
            let mut regular = statistic;
            for (index, row) in regular.iter_mut().enumerate() {
                row.iter_mut().for_each(|value| *value /= weight);
                row[index] += hyper.get("eps");
            }
            keep_square(parameter, names, &power(&regular, exponent));
        } else if t < interval {
            let one = (0..outer.len()).map(|i| (0..outer.len()).map(|j| f64::from(u8::from(i == j))).collect());
            keep_square(parameter, names, &one.collect());
        }
        roots.push(square(parameter, names, outer.len()));
    }

    let m = parameter.keep("m", hyper.get("beta1"), seen.gradient);
    let m_weight = parameter.gathered("beta1", hyper.get("beta1"));
    let m: Vec<f64> = m.into_iter().map(|m| m / m_weight).collect();
    let squares: Vec<f64> = seen.gradient.iter().map(|gradient| gradient.powi(2)).collect();
    let s = parameter.keep("s", hyper.get("graft_beta2"), &squares);
    let s_weight = parameter.gathered("graft_beta2", hyper.get("graft_beta2"));
    let mut direction = on_sides(&roots, &tensor(&m)).concat();
    if hyper.choices["grafting"] == "Adam" {
        let adam: Vec<f64> =
            m.iter().zip(&s).map(|(m, s)| m / ((s / s_weight).sqrt() + hyper.get("graft_eps"))).collect();
        let longer = norm(&adam) / (norm(&direction) + 1e-16);
        direction.iter_mut().for_each(|direction| *direction *= longer);
        direction = if t < interval { adam } else { direction };
    }
    let direction = masked(hyper, seen.gradient, direction);
    parameter.move_and_decay(hyper, &direction);
    direction
}

/// Returns a symmetric matrix to a power.
fn power(matrix: &Matrix, exponent: f64) -> Matrix {
    let (values, vectors) = eigen(matrix);
    let scaled = vectors.iter().map(|row| row.iter().zip(&values).map(|(v, value)| v * value.powf(exponent)).collect());
    product(&scaled.collect(), &transposed(&vectors))
}

/// Returns a state that is a symmetric matrix: stored on the plane as its diagonal and the number beside it, else as a
/// whole.
pub(super) fn square(parameter: &mut Parameter, [diagonal, mixed, whole]: [&'static str; 3], size: usize) -> Matrix {
    if parameter.theta.len() == 2 {
        let (diagonal, mixed) = (parameter.memory(diagonal).clone(), parameter.memory(mixed)[0]);
        return vec![vec![diagonal[0], mixed], vec![mixed, diagonal[1]]];
    }
    let memory = parameter.memory(whole);
    memory.resize(size * size, 0.0);
    memory.chunks(size).map(<[f64]>::to_vec).collect()
}

pub(super) fn keep_square(parameter: &mut Parameter, [diagonal, mixed, whole]: [&'static str; 3], matrix: &Matrix) {
    if parameter.theta.len() == 2 {
        *parameter.memory(diagonal) = vec![matrix[0][0], matrix[1][1]];
        *parameter.memory(mixed) = vec![matrix[0][1]; 2];
    } else {
        *parameter.memory(whole) = matrix.concat();
    }
}
