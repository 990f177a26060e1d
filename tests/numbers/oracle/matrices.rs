//! The rules that need matrices, as rows of numbers, and the eigenvectors of symmetric ones by Jacobi's rotations.

use super::rules::adam_direction;
use super::{Hyper, Parameter, Reading, StepInput, masked, norm};

pub(super) type Matrix = Vec<Vec<f64>>;

pub(super) fn transposed(matrix: &Matrix) -> Matrix {
    (0..matrix[0].len()).map(|column| matrix.iter().map(|row| row[column]).collect()).collect()
}

pub(super) fn product(a: &Matrix, b: &Matrix) -> Matrix {
    let b = transposed(b);
    a.iter().map(|row| b.iter().map(|column| dot(row, column)).collect()).collect()
}

pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Returns the eigenvalues in falling order, and their eigenvectors as columns.
pub(super) fn eigen(matrix: &Matrix) -> (Vec<f64>, Matrix) {
    let size = matrix.len();
    let mut a = matrix.clone();
    let mut vectors: Matrix = (0..size).map(|i| (0..size).map(|j| f64::from(u8::from(i == j))).collect()).collect();
    for _ in 0..60 {
        for p in 0..size {
            for q in p + 1..size {
                if a[p][q] == 0.0 {
                    continue;
                }
                let tau = (a[q][q] - a[p][p]) / (2.0 * a[p][q]);
                let tan = tau.signum() / (tau.abs() + tau.hypot(1.0));
                let cos = 1.0 / tan.hypot(1.0);
                let sin = tan * cos;
                for row in a.iter_mut().chain(&mut vectors) {
                    (row[p], row[q]) = (cos * row[p] - sin * row[q], sin * row[p] + cos * row[q]);
                }
                let (upper, lower) = a.split_at_mut(q);
                for (above, below) in upper[p].iter_mut().zip(&mut lower[0]) {
                    (*above, *below) = (cos * *above - sin * *below, sin * *above + cos * *below);
                }
                (a[p][q], a[q][p]) = (0.0, 0.0);
            }
        }
    }
    let mut order: Vec<usize> = (0..size).collect();
    order.sort_by(|&i, &j| a[j][j].total_cmp(&a[i][i]));
    let values = order.iter().map(|&index| a[index][index]).collect();
    (values, vectors.iter().map(|row| order.iter().map(|&index| row[index]).collect()).collect())
}

/// Returns the outer products of a tensor over its axes: `g gᵗ` of a vector, `g gᵗ` and `gᵗ g` of a matrix.
pub(super) fn statistics(tensor: &Matrix) -> Vec<Matrix> {
    let of_rows = product(tensor, &transposed(tensor));
    if tensor[0].len() == 1 { vec![of_rows] } else { vec![of_rows, product(&transposed(tensor), tensor)] }
}

/// Returns a tensor multiplied by a matrix on each side that has one.
pub(super) fn on_sides(sides: &[Matrix], tensor: &Matrix) -> Matrix {
    let left = product(&sides[0], tensor);
    sides.get(1).map_or_else(|| left.clone(), |right| product(&left, right))
}

/// Muon, kellerjordan.github.io/posts/muon, as in `muon.py` of KellerJordan/Muon, in double precision.
pub(super) fn muon(parameter: &mut Parameter, hyper: &Hyper, seen: &StepInput<'_>, reading: Reading) -> Vec<f64> {
    let Some(rows) = parameter.rows else {
        let direction = adam_direction(parameter, hyper, seen.gradient, reading);
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

const SIDES: [&str; 2] = ["left", "right"];
const ROOTS: [&str; 2] = ["root_left", "root_right"];

/// Shampoo: `Shampoo` of pytorch_optimizer for sums (arXiv:1802.09568), `distributed_shampoo` of
/// facebookresearch/optimizers for running averages and grafting (arXiv:2309.06497). Each statistic is a matrix, and
/// its root comes from eigenvalues.
///
/// A parameter with one column, such as x and y of the plane, is a vector, of order 1. There the matrix of 2 × 2 is
/// remembered as two pairs: its diagonal, and the number beside it.
pub(super) fn shampoo(parameter: &mut Parameter, hyper: &Hyper, seen: &StepInput<'_>, _: Reading) -> Vec<f64> {
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

const STATISTIC: [[&str; 3]; 2] = [["diagonal", "mixed", "left"], ["diagonal", "mixed", "right"]];
const BASIS: [&str; 2] = ["basis_left", "basis_right"];

/// SOAP, arXiv:2409.11321, as in `soap.py` of nikhilvyas/SOAP, in double precision: eigenvectors by Jacobi's rotations,
/// and refreshed by Gram-Schmidt.
///
/// For two elements (the plane, or a vector with `precondition_1d`), the state holds the first eigenvector as the
/// basis, and the squares along it and across it.
pub(super) fn soap(parameter: &mut Parameter, hyper: &Hyper, seen: &StepInput<'_>, _: Reading) -> Vec<f64> {
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
