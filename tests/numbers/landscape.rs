//! The landscape against its formula, central differences and the oracle.

use std::f64::consts::{FRAC_PI_2, PI};

use proptest::prelude::*;
use valleyscope_engine::landscape::{NarrowValley, Uv, ValleyInSpace};

use crate::oracle;

/// Returns a landscape from the range of the sliders and a point on it.
fn place() -> impl Strategy<Value = (f64, f64, f64, [f64; 2])> {
    let sharpness = (-1.0_f64..3.0).prop_map(|exponent| 10_f64.powf(exponent));
    (sharpness, -1.0..1.0, -PI..PI, prop::array::uniform2(-4.0..4.0))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    /// The error of the difference quotient with h = 1e-6 is the rounding of L over h, with some ε of its largest term
    /// a r⁴ + c r, plus h²/6 of the third derivative, which is at most 6 a r.
    #[test]
    fn gradient_is_the_slope_of_the_loss((a, c, phi, [x, y]) in place()) {
        let landscape = NarrowValley::new(a, c, phi);
        let loss = |x: f64, y: f64| landscape.loss(landscape.uv_from_xy([x, y]));
        let h = 1e-6;
        let slope = |low: f64, high: f64, along: &dyn Fn(f64) -> f64| (along(high) - along(low)) / (high - low);
        let numeric = [slope(x - h, x + h, &|x| loss(x, y)), slope(y - h, y + h, &|y| loss(x, y))];
        let analytic = landscape.gradient(landscape.uv_from_xy([x, y]));
        let r = x.hypot(y) + h;
        let tolerance = 4.0 * f64::EPSILON * (a * r.powi(4) + c.abs() * r) / h + h * h * a * r + 1e-13;
        for (numeric, analytic) in numeric.into_iter().zip(analytic) {
            prop_assert!((numeric - analytic).abs() <= tolerance, "{numeric} against {analytic} ± {tolerance}");
        }
    }

    /// The gradient is of third degree, so its difference quotient is off by h²/6 of its third derivative, at most 6 a,
    /// and by rounding.
    #[test]
    fn the_hessians_diagonal_is_the_slope_of_the_gradient((a, c, phi, [x, y]) in place()) {
        let landscape = NarrowValley::new(a, c, phi);
        let gradient = |x: f64, y: f64| landscape.gradient(landscape.uv_from_xy([x, y]));
        let h = 1e-4;
        let slope = |axis: usize, high: [f64; 2], low: [f64; 2]| (high[axis] - low[axis]) / (2.0 * h);
        let numeric = [
            slope(0, gradient(x + h, y), gradient(x - h, y)),
            slope(1, gradient(x, y + h), gradient(x, y - h)),
        ];
        let r = x.hypot(y) + h;
        let tolerance = 8.0 * f64::EPSILON * (a * r.powi(3) + c.abs()) / h + 2.0 * h * h * a;
        let analytic = landscape.hessian_diagonal(landscape.uv_from_xy([x, y]));
        for (numeric, analytic) in numeric.into_iter().zip(analytic) {
            prop_assert!((numeric - analytic).abs() <= tolerance, "{numeric} against {analytic} ± {tolerance}");
        }
    }

    #[test]
    fn in_space_the_hessians_diagonal_is_the_slope_of_the_gradient(
        (a, c, _, _) in place(),
        direction in prop::array::uniform5(-1.0..1.0_f64),
        theta in prop::array::uniform5(-2.0..2.0_f64),
    ) {
        let length = direction.iter().map(|r| r * r).sum::<f64>().sqrt();
        prop_assume!(length > 1e-3);
        let direction = direction.map(|r| r / length).to_vec();
        let valley = ValleyInSpace { sharpness: a, slope: c, direction };
        let h = 1e-4;
        for coordinate in 0..theta.len() {
            let at = |offset: f64| {
                let mut theta = theta;
                theta[coordinate] += offset;
                valley.gradient(valley.slopes(valley.terms(&theta)), coordinate, theta[coordinate])
            };
            let numeric = (at(h) - at(-h)) / (2.0 * h);
            let analytic = valley.hessian_diagonal(valley.terms(&theta), coordinate, theta[coordinate]);
            let r = theta.iter().map(|theta| theta * theta).sum::<f64>().sqrt() + h;
            let tolerance = 16.0 * f64::EPSILON * (a * r.powi(3) + c.abs()) / h + 4.0 * h * h * a;
            prop_assert!((numeric - analytic).abs() <= tolerance, "{numeric} against {analytic} ± {tolerance}");
        }
    }

    #[test]
    fn loss_and_gradient_agree_with_the_oracle((a, c, phi, [x, y]) in place()) {
        let landscape = NarrowValley::new(a, c, phi);
        let valley = oracle::Valley { a, c, phi, adds_noise: false };
        let at = landscape.uv_from_xy([x, y]);
        let r = x.hypot(y);
        prop_assert!((landscape.loss(at) - valley.loss([x, y])).abs() <= 1e-15 * (a * r.powi(4) + c.abs() * r));
        for (ours, theirs) in landscape.gradient(at).into_iter().zip(valley.gradient([x, y])) {
            prop_assert!((ours - theirs).abs() <= 4e-15 * (a * r.powi(3) + c.abs()), "{ours} against {theirs}");
        }
    }

    #[test]
    fn rotating_there_and_back_changes_nothing((a, c, phi, [x, y]) in place()) {
        let landscape = NarrowValley::new(a, c, phi);
        let at = landscape.uv_from_xy([x, y]);
        let [x2, y2] = landscape.xy_from_uv(at);
        let tolerance = 1e-15 * x.hypot(y);
        prop_assert!((x - x2).abs() <= tolerance && (y - y2).abs() <= tolerance);
        prop_assert!((at.u.hypot(at.v) - x.hypot(y)).abs() <= tolerance);
    }

    /// The loss is a parabola across the valley, so a second difference of any width is exact.
    #[test]
    fn curvature_is_the_second_derivative_across_the_valley((a, c, phi, [u, _]) in place()) {
        let landscape = NarrowValley::new(a, c, phi);
        let loss = |v: f64| landscape.loss(Uv { u, v });
        let second_difference = loss(1.0) - 2.0 * loss(0.0) + loss(-1.0);
        prop_assert!((second_difference - a * u * u).abs() <= 1e-14 * (a * u * u + c.abs() * u.abs()));
    }
}

#[test]
fn worked_example() {
    // φ = 90°: u = y, v = −x. At (x, y) = (3, 2): u = 2, v = −3.
    let landscape = NarrowValley::new(10.0, 0.5, FRAC_PI_2);
    let at = landscape.uv_from_xy([3.0, 2.0]);
    assert_close(at.u, 2.0);
    assert_close(at.v, -3.0);
    // L = (10/2) · 4 · 9 − 0.5 · 2
    assert_close(landscape.loss(at), 179.0);
    // ∂L/∂u = 10 · 2 · 9 − 0.5 and ∂L/∂v = 10 · 4 · (−3)
    let slope = landscape.gradient_uv(at);
    assert_close(slope.u, 179.5);
    assert_close(slope.v, -120.0);
    // ∂L/∂x = −∂L/∂v and ∂L/∂y = ∂L/∂u
    let [x, y] = landscape.gradient(at);
    assert_close(x, 120.0);
    assert_close(y, 179.5);
}

#[test]
fn the_valley_lies_counter_clockwise_from_x() {
    let landscape = NarrowValley::new(10.0, 0.1, PI / 6.0);
    // A point on the axis, 30° up from x: downhill, on the floor.
    let at = landscape.uv_from_xy([3_f64.sqrt(), 1.0]);
    assert_close(at.u, 2.0);
    assert!(at.v.abs() < 1e-15);
    assert_close(landscape.loss(at), -0.2);
}

fn assert_close(found: f64, expected: f64) {
    assert!((found - expected).abs() <= 1e-14 * expected.abs(), "{found} where {expected} is right");
}
