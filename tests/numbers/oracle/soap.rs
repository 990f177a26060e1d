//! SOAP, arXiv:2409.11321, as in `soap.py` of nikhilvyas/SOAP, in double precision: eigenvectors by Jacobi's rotations,
//! and refreshed by Gram-Schmidt.
//!
//! For two elements (the plane, or a vector with `precondition_1d`), the state holds the first eigenvector as the basis,
//! and the squares along it and across it.

use super::shampoo::{keep_square, square};
use super::symmetric::{Matrix, dot, eigen, on_sides, product, statistics, transposed};
use super::{Hyper, Parameter, Reading, StepInput, masked, norm};

const STATISTIC: [[&str; 3]; 2] = [["diagonal", "mixed", "left"], ["diagonal", "mixed", "right"]];
const BASIS: [&str; 2] = ["basis_left", "basis_right"];

pub(super) fn step(parameter: &mut Parameter, hyper: &Hyper, seen: &StepInput<'_>, _: Reading) -> Vec<f64> {
    let (beta1, beta2, count) = (hyper.get("beta1"), hyper.get("beta2"), seen.gradient.len());
    let (rows, n) = (parameter.rows.unwrap_or(count), parameter.steps - 1);
    let columns = count / rows;
    let tensor = |values: &[f64]| -> Matrix { values.chunks(columns).map(<[f64]>::to_vec).collect() };
    let gradient = tensor(seen.gradient);
    // Without `precondition_1d` vectors have no basis, except for that of the plane, a matrix of 2 × 1.
    let is_turned = parameter.rows.is_some() || hyper.choices["precondition_1d"] == "On";
    let outer = if is_turned { statistics(&gradient) } else { Vec::new() };
    let beta = if hyper.get("shampoo_beta") < 0.0 { beta2 } else { hyper.get("shampoo_beta") };
    let mut laws: Vec<Matrix> =
        (0..outer.len()).map(|side| square(parameter, STATISTIC[side], outer[side].len())).collect();
    for (law, outer) in laws.iter_mut().zip(&outer) {
        for (law, outer) in law.iter_mut().flatten().zip(outer.iter().flatten()) {
            *law = beta * *law + (1.0 - beta) * outer;
        }
    }
    for (side, law) in laws.iter().enumerate() {
        keep_square(parameter, STATISTIC[side], law);
    }
    if n == 0 {
        for (side, law) in laws.iter().enumerate() {
            let (_, basis) = eigen(law);
            keep_basis(parameter, side, &basis, seen.gradient);
        }
        return vec![0.0; count];
    }
    let bases: Vec<Matrix> = (0..laws.len()).map(|side| basis(parameter, side, laws[side].len())).collect();
    let turned_back: Vec<Matrix> = bases.iter().enumerate().map(|(side, q)| turn(q, side == 0)).collect();
    let turned: Vec<Matrix> = bases.iter().enumerate().map(|(side, q)| turn(q, side == 1)).collect();
    let on = |sides: &[Matrix], values: &[f64]| match sides {
        [] => values.to_vec(),
        sides => on_sides(sides, &tensor(values)).concat(),
    };
    let m = parameter.keep("m", beta1, seen.gradient);
    let squares: Vec<f64> = on(&turned, seen.gradient).into_iter().map(|gradient| gradient.powi(2)).collect();
    let is_plane = count == 2 && !laws.is_empty();
    let mut s = squares_of(parameter, is_plane);
    for (s, square) in s.iter_mut().zip(squares) {
        *s = beta2 * *s + (1.0 - beta2) * square;
    }
    let weights = [parameter.gathered("beta1", beta1), parameter.gathered("beta2", beta2)];
    let step: Vec<f64> = on(&turned, &m).iter().zip(&s).map(|(m, s)| m / (s.sqrt() + hyper.get("eps"))).collect();
    let bias = weights[1].sqrt() / weights[0];
    let direction: Vec<f64> = on(&turned_back, &step).into_iter().map(|direction| bias * direction).collect();
    let direction = masked(hyper, seen.gradient, direction);
    for (theta, direction) in parameter.theta.iter_mut().zip(&direction) {
        *theta = (*theta - hyper.eta * direction) * (1.0 - hyper.eta * hyper.omega());
    }
    for (side, law) in laws.iter().enumerate() {
        if n.is_multiple_of(hyper.get("interval") as u64) {
            let order = order(law, &bases[side]);
            let sorted: Matrix = bases[side].iter().map(|row| order.iter().map(|&from| row[from]).collect()).collect();
            let new = gram_schmidt(&product(law, &sorted));
            if is_plane {
                // The column of this place went on to that one, and its squares with it.
                let place = order.iter().position(|&from| from == 0).unwrap();
                let was: Vec<f64> = bases[side].iter().map(|row| row[0]).collect();
                let column: Matrix = new.iter().map(|row| vec![row[place]]).collect();
                keep_basis(parameter, side, &column, &was);
            } else {
                s = permuted(&tensor(&s), side, &order).concat();
                *parameter.memory(BASIS[side]) = new.concat();
            }
        }
    }
    if is_plane {
        (*parameter.memory("along"), *parameter.memory("across")) = (vec![s[0]; 2], vec![s[1]; 2]);
    } else {
        *parameter.memory("squares") = s;
    }
    direction
}

/// Returns the factors Q on the right of a tensor, or Qᵗ on its left.
fn turn(basis: &Matrix, is_plain: bool) -> Matrix {
    if is_plain { basis.clone() } else { transposed(basis) }
}

/// Returns the columns in the falling order of diag(Qᵗ L Q).
fn order(law: &Matrix, basis: &Matrix) -> Vec<usize> {
    let columns = transposed(basis);
    let sizes: Vec<f64> = transposed(&product(law, basis)).iter().zip(&columns).map(|(a, b)| dot(a, b)).collect();
    let mut order: Vec<usize> = (0..sizes.len()).collect();
    order.sort_by(|&i, &j| sizes[j].total_cmp(&sizes[i]));
    order
}

fn permuted(tensor: &Matrix, side: usize, order: &[usize]) -> Matrix {
    match side {
        0 => order.iter().map(|&from| tensor[from].clone()).collect(),
        _ => tensor.iter().map(|row| order.iter().map(|&from| row[from]).collect()).collect(),
    }
}

/// Returns the matrix with columns made orthonormal one after another, twice because of rounding.
fn gram_schmidt(matrix: &Matrix) -> Matrix {
    let mut done: Matrix = Vec::new();
    for mut column in transposed(matrix) {
        for _ in 0..2 {
            for other in &done {
                let share = dot(other, &column);
                column.iter_mut().zip(other).for_each(|(value, other)| *value -= share * other);
            }
        }
        let length = norm(&column);
        done.push(column.into_iter().map(|value| value / length).collect());
    }
    transposed(&done)
}

fn squares_of(parameter: &mut Parameter, is_plane: bool) -> Vec<f64> {
    let (along, across) = (parameter.memory("along")[0], parameter.memory("across")[0]);
    if is_plane { vec![along, across] } else { parameter.memory("squares").clone() }
}

fn basis(parameter: &mut Parameter, side: usize, size: usize) -> Matrix {
    if parameter.theta.len() == 2 {
        let axis = parameter.memory("axis").clone();
        return vec![vec![axis[0], -axis[1]], vec![axis[1], axis[0]]];
    }
    parameter.memory(BASIS[side]).chunks(size).map(<[f64]>::to_vec).collect()
}

/// Remembers a basis; on the plane its first column, with the sign that is nearer to another vector.
fn keep_basis(parameter: &mut Parameter, side: usize, basis: &Matrix, near: &[f64]) {
    if parameter.theta.len() == 2 {
        let column: Vec<f64> = basis.iter().map(|row| row[0]).collect();
        let sign = if dot(&column, near) < 0.0 { -1.0 } else { 1.0 };
        *parameter.memory("axis") = column.into_iter().map(|value| sign * value).collect();
    } else {
        *parameter.memory(BASIS[side]) = basis.concat();
    }
}
