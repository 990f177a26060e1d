//! Losses against hand-written ones.

use super::*;
use crate::optimizer::Function;

struct Rosenbrock;

impl Loss for Rosenbrock {
    const PARAMETERS: usize = 1;

    fn loss<A: Algebra>(parameters: &[A], [u, v]: [A; 2]) -> A {
        let (away, off) = (A::splat(1.0) - u, v - u * u);
        away * away + parameters[0] * off * off
    }
}

struct PowerValley;

impl Loss for PowerValley {
    const PARAMETERS: usize = 3;

    fn loss<A: Algebra>(parameters: &[A], [u, v]: [A; 2]) -> A {
        let [a, c, p] = parameters else { unreachable!() };
        A::splat(0.5) * *a * u.abs().power(*p) * v * v - *c * u
    }
}

struct Rastrigin;

impl Loss for Rastrigin {
    const PARAMETERS: usize = 1;

    fn loss<A: Algebra>(parameters: &[A], [u, v]: [A; 2]) -> A {
        let a = parameters[0];
        let wave = |u: A| (A::splat(2.0 * std::f64::consts::PI) * u).function(Function::Cos);
        A::splat(2.0) * a + u * u - a * wave(u) + v * v - a * wave(v)
    }
}

#[test]
fn prints() {
    for (program, names) in [
        (LossProgram::record::<Rosenbrock>(), &["b"][..]),
        (LossProgram::record::<PowerValley>(), &["a", "c", "p"]),
        (LossProgram::record::<Rastrigin>(), &["A"]),
        (LossProgram::new("param b = 100 in 1..1000\nL = (1 - x)^2 + b*(y - x^2)^2").unwrap(), &["b"]),
    ] {
        println!("{}{}{}", program.loss_text(names), program.gradient_text(names), program.wgsl());
    }
}

#[test]
fn rosenbrock_has_its_derivatives() {
    let program = Box::leak(Box::new(LossProgram::record::<Rosenbrock>()));
    let bound = program.bind(&[100.0], 0.0);
    let [x, y] = [0.3, -0.7];
    let off: f64 = y - x * x;
    let (loss, [by_x, by_y]) = bound.loss_and_gradient([x, y]);
    let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-12 * b.abs().max(1.0), "{a} {b}");
    close(loss, (1.0 - x) * (1.0 - x) + 100.0 * off * off);
    close(bound.loss([x, y]), loss);
    close(by_x, -2.0 * (1.0 - x) - 400.0 * off * x);
    close(by_y, 200.0 * off);
    let [xx, yy] = bound.hessian_diagonal([x, y]);
    close(xx, 2.0 - 400.0 * off + 800.0 * x * x);
    close(yy, 200.0);
}

#[test]
fn powers_of_sizes_have_their_derivatives_at_zero() {
    let program = Box::leak(Box::new(LossProgram::record::<PowerValley>()));
    for (p, curvature) in [(0.0, 0.0), (1.0, 0.0), (2.0, 10.0), (3.0, 0.0)] {
        let bound = program.bind(&[10.0, 0.1, p], 0.0);
        let (loss, gradient) = bound.loss_and_gradient([0.0, 1.0]);
        assert_eq!((loss, gradient[0]), (if p == 0.0 { 5.0 } else { 0.0 }, -0.1), "{p}");
        assert_eq!(bound.hessian_diagonal([0.0, 1.0])[0], curvature, "{p}");
    }
}
