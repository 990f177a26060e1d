//! The toy landscape.

use super::{Misreading, Reading};

/// The loss `(a/2) u² v² − c u`; the valley's axis lies `phi` radians counter-clockwise from x.
#[derive(Clone, Copy, Debug)]
pub struct Valley {
    pub a: f64,
    pub c: f64,
    pub phi: f64,
    /// Whether noise is added to gradients and curvatures, and does not multiply them.
    pub adds_noise: bool,
}

impl Valley {
    /// Returns the matrix that takes (x, y) to (u, v).
    fn into_valley(self, reading: Reading) -> [[f64; 2]; 2] {
        let phi = if reading == Some(Misreading::OtherRotation) { -self.phi } else { self.phi };
        [[phi.cos(), phi.sin()], [-phi.sin(), phi.cos()]]
    }

    pub fn uv(self, position: [f64; 2]) -> [f64; 2] {
        times(self.into_valley(None), position)
    }

    pub fn loss(self, position: [f64; 2]) -> f64 {
        let [u, v] = self.uv(position);
        self.a / 2.0 * u.powi(2) * v.powi(2) - self.c * u
    }

    /// Returns the diagonal of the Hessian with its noise, as a factor `1 + σ draw`: second derivatives along x and y, by the chain rule.
    pub fn noisy_curvature(self, position: [f64; 2], sigma: f64, draws: [f64; 2]) -> [f64; 2] {
        let rotation = self.into_valley(None);
        let [u, v] = times(rotation, position);
        let hessian = [[self.a * v * v, 2.0 * self.a * u * v], [2.0 * self.a * u * v, self.a * u * u]];
        [0, 1].map(|axis| {
            // The derivatives of u and v by x, or by y.
            let along = [rotation[0][axis], rotation[1][axis]];
            let [by_u, by_v] = times(hessian, along);
            let exact = along[0] * by_u + along[1] * by_v;
            if self.adds_noise { exact + sigma * draws[axis] } else { exact * (1.0 + sigma * draws[axis]) }
        })
    }

    pub fn gradient(self, position: [f64; 2]) -> [f64; 2] {
        self.noisy_gradient(position, 0.0, [0.0; 2], None)
    }

    /// Returns the noisy gradient, where `draws` come from Normal(0, 1).
    pub fn noisy_gradient(self, position: [f64; 2], sigma: f64, draws: [f64; 2], reading: Reading) -> [f64; 2] {
        let spread = if reading == Some(Misreading::VarianceForDeviation) { sigma.sqrt() } else { sigma };
        let [draw_x, draw_y] = draws;
        let draw_y = if reading == Some(Misreading::OneDrawForBoth) { draw_x } else { draw_y };
        let factors = [1.0 + spread * draw_x, 1.0 + spread * draw_y];

        let rotation = self.into_valley(reading);
        let [u, v] = times(rotation, position);
        let in_valley = [self.a * u * v * v - self.c, self.a * u * u * v];
        if reading == Some(Misreading::NoiseBeforeRotatingBack) {
            times(transposed(rotation), [factors[0] * in_valley[0], factors[1] * in_valley[1]])
        } else {
            let [x, y] = times(transposed(rotation), in_valley);
            if self.adds_noise {
                return [x + spread * draw_x, y + spread * draw_y];
            }
            [factors[0] * x, factors[1] * y]
        }
    }
}

fn times(matrix: [[f64; 2]; 2], vector: [f64; 2]) -> [f64; 2] {
    matrix.map(|row| row[0] * vector[0] + row[1] * vector[1])
}

fn transposed([[a, b], [c, d]]: [[f64; 2]; 2]) -> [[f64; 2]; 2] {
    [[a, c], [b, d]]
}
