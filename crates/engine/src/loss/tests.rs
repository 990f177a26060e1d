//! These tests check the text of losses, and derivatives at corners and poles.

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
fn losses_and_gradients_are_written_in_the_language() {
    let written = |program: LossProgram, names: &[&str]| program.loss_text(names) + &program.gradient_text(names);
    assert_eq!(
        written(LossProgram::record::<Rosenbrock>(), &["b"]),
        "L = (1 - u)^2 + b*(v - u^2)^2\nL_u = -4*b*(v - u^2)*u - 2*(1 - u)\nL_v = 2*b*(v - u^2)\n"
    );
    assert_eq!(
        written(LossProgram::record::<PowerValley>(), &["a", "c", "p"]),
        "L = 0.5*a*abs(u)^p*v*v - c*u\nL_u = 0.5*a*p*v^2*(sign(u)*where(u, abs(u)^(p - 1), p == 1)) - c\nL_v = a*abs(u)^p*v\n"
    );
    assert_eq!(
        written(LossProgram::record::<Rastrigin>(), &["A"]),
        "L = 2*A + u^2 - A*cos(2*pi*u) + v^2 - A*cos(2*pi*v)\n\
         L_u = 2*pi*A*sin(2*pi*u) + 2*u\nL_v = 2*pi*A*sin(2*pi*v) + 2*v\n"
    );
    let typed = LossProgram::new("param k = 2 in 0..9\nr = sqrt(x^2 + y^2)\nL = sin(k*r) - r").unwrap();
    assert_eq!(
        written(typed, &["k"]),
        "a1 = sqrt(x^2 + y^2)\nL = sin(k*a1) - a1\n\
         a1 = sqrt(x^2 + y^2)\na2 = (k*cos(k*a1) - 1)/(2*a1)\nL_x = 2*a2*x\nL_y = 2*a2*y\n"
    );
}

#[test]
fn powers_of_sizes_have_their_derivatives_at_zero() {
    let program = Box::leak(Box::new(LossProgram::record::<PowerValley>()));
    for (p, curvature) in
        [(0.0, 0.0), (0.5, 0.0), (0.999, 0.0), (1.0, 0.0), (1.5, 0.0), (2.0, 10.0), (2.5, 0.0), (3.0, 0.0)]
    {
        let bound = program.bind(&[10.0, 0.1, p], 0.0);
        let (loss, gradient) = bound.loss_and_gradient([0.0, 1.0]);
        assert_eq!((loss, gradient[0]), (if p == 0.0 { 5.0 } else { 0.0 }, -0.1), "{p}");
        assert_eq!(bound.hessian_diagonal([0.0, 1.0])[0], curvature, "{p}");
        // On the floor, the walls have no slope however steep they are beside it.
        assert_eq!(bound.loss_and_gradient([0.0, 0.0]).1, [-0.1, 0.0], "{p}");
    }
}

#[test]
fn typed_powers_of_sizes_have_their_derivatives_at_zero_and_beside_it() {
    for (p, signed_at_zero) in [(0.5, 0.0), (1.0, 1.0), (1.5, 0.0)] {
        for exponent in [format!("{p}"), "p".to_owned()] {
            let text = format!("param p = {p} in 0..9\nL = abs(x)^{exponent} + sign(y)*abs(y)^{exponent}");
            let program = Box::leak(Box::new(LossProgram::new(&text).unwrap()));
            let bound = program.bind(&[p], 0.0);
            assert_eq!(bound.loss_and_gradient([0.0, 0.0]), (0.0, [0.0, signed_at_zero]), "{text}");
            assert_eq!(bound.hessian_diagonal([0.0, 0.0]), [0.0, 0.0], "{text}");
            for x in [-0.3_f64, 1e-9, 2.0] {
                let [slope, signed] = bound.loss_and_gradient([x, x]).1;
                let expected = p * x.abs().powf(p - 1.0);
                assert!((slope / (x.signum() * expected) - 1.0).abs() < 1e-12, "{text} at {x}: {slope}");
                assert!((signed / expected - 1.0).abs() < 1e-12, "{text} at {x}: {signed}");
                let curvature = p * (p - 1.0) * x.abs().powf(p - 2.0);
                let found = bound.hessian_diagonal([x, x]);
                for (found, expected) in found.into_iter().zip([curvature, x.signum() * curvature]) {
                    assert!((found - expected).abs() <= 1e-12 * expected.abs(), "{text} at {x}: {found}");
                }
            }
        }
    }
}
