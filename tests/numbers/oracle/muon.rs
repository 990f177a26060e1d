//! Muon, kellerjordan.github.io/posts/muon, as in `muon.py` of KellerJordan/Muon, in double precision.

use super::{Hyper, Parameter, Reading, StepInput, adam, masked, norm};

type Matrix = Vec<Vec<f64>>;

pub(super) fn step(parameter: &mut Parameter, hyper: &Hyper, seen: &StepInput<'_>, reading: Reading) -> Vec<f64> {
    let Some(rows) = parameter.rows else {
        let direction = adam::direction(parameter, hyper, seen.gradient, reading);
        let direction = masked(hyper, seen.gradient, direction);
        let rate = hyper.eta * hyper.get("vector_rate");
        let omega = hyper.omega() * hyper.get("vector_decay");
        for (theta, direction) in parameter.theta.iter_mut().zip(&direction) {
            *theta -= rate * (direction + omega * *theta);
        }
        return direction.into_iter().map(|direction| hyper.get("vector_rate") * direction).collect();
    };
    let momentum = hyper.get("momentum");
    let m = parameter.keep("m", momentum, seen.gradient);
    let nesterov: Vec<f64> =
        m.iter().zip(seen.gradient).map(|(m, gradient)| momentum * m + (1.0 - momentum) * gradient).collect();
    let columns = nesterov.len() / rows;
    let matrix: Matrix = nesterov.chunks(columns).map(<[f64]>::to_vec).collect();
    let larger = (rows as f64 / columns as f64).max(1.0).sqrt();
    let direction: Vec<f64> = newton_schulz(matrix).concat().into_iter().map(|value| larger * value).collect();
    let direction = masked(hyper, seen.gradient, direction);
    parameter.move_and_decay(hyper, &direction);
    direction
}

fn newton_schulz(matrix: Matrix) -> Matrix {
    let is_tall = matrix.len() > matrix[0].len();
    let length = norm(&matrix.concat()) + 1e-7;
    let mut x = if is_tall { transposed(&matrix) } else { matrix };
    x.iter_mut().flatten().for_each(|value| *value /= length);
    for _ in 0..5 {
        let k = product(&x, &transposed(&x));
        let kx = product(&k, &x);
        let kkx = product(&k, &kx);
        for (row, x) in x.iter_mut().enumerate() {
            for (column, x) in x.iter_mut().enumerate() {
                *x = 3.4445 * *x - 4.7750 * kx[row][column] + 2.0315 * kkx[row][column];
            }
        }
    }
    if is_tall { transposed(&x) } else { x }
}

fn transposed(matrix: &Matrix) -> Matrix {
    (0..matrix[0].len()).map(|column| matrix.iter().map(|row| row[column]).collect()).collect()
}

fn product(a: &Matrix, b: &Matrix) -> Matrix {
    let b = transposed(b);
    let dot = |row: &[f64], column: &[f64]| row.iter().zip(column).map(|(a, b)| a * b).sum();
    a.iter().map(|row| b.iter().map(|column| dot(row, column)).collect()).collect()
}
