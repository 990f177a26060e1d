//! Matrices as rows of numbers, and the eigenvectors of symmetric ones by Jacobi's rotations.

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
