//! These tests check the text of losses, and derivatives at corners and poles.

use super::*;
use crate::expression::{Algebra, Function, Node};
use crate::lanes::Arithmetic;

fn rosenbrock<'t>([b]: [Traced<'t>; 1], [u, v]: [Traced<'t>; 2]) -> Traced<'t> {
    let (away, off) = (Traced::splat(1.0) - u, v - u * u);
    away * away + b * off * off
}

fn power_valley<'t>([a, c, p]: [Traced<'t>; 3], [u, v]: [Traced<'t>; 2]) -> Traced<'t> {
    Traced::splat(0.5) * a * u.abs().power(p) * v * v - c * u
}

fn rastrigin<'t>([a]: [Traced<'t>; 1], [u, v]: [Traced<'t>; 2]) -> Traced<'t> {
    let wave = |u: Traced<'t>| (Traced::splat(2.0 * std::f64::consts::PI) * u).function(Function::Cos);
    Traced::splat(2.0) * a + u * u - a * wave(u) + v * v - a * wave(v)
}

#[test]
fn losses_and_gradients_are_written_in_the_language() {
    let written = |program: LossProgram, names: &[&str]| program.loss_text(names) + &program.gradient_text(names);
    assert_eq!(
        written(LossProgram::record(rosenbrock), &["b"]),
        "L = (1 - u)^2 + b*(v - u^2)^2\nL_u = -4*b*(v - u^2)*u - 2*(1 - u)\nL_v = 2*b*(v - u^2)\n"
    );
    assert_eq!(
        written(LossProgram::record(power_valley), &["a", "c", "p"]),
        "L = 0.5*a*abs(u)^p*v*v - c*u\nL_u = 0.5*a*p*v^2*(sign(u)*where(u, abs(u)^(p - 1), p == 1)) - c\nL_v = a*abs(u)^p*v\n"
    );
    assert_eq!(
        written(LossProgram::record(rastrigin), &["A"]),
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
    let program = Box::leak(Box::new(LossProgram::record(power_valley)));
    for (p, curvature) in
        [(0.0, 0.0), (0.5, 0.0), (0.999, 0.0), (1.0, 0.0), (1.5, 0.0), (2.0, 10.0), (2.5, 0.0), (3.0, 0.0)]
    {
        let bound = program.bind(&[10.0, 0.1, p], 0.0);
        let (loss, gradient) = bound.loss_and_gradient([0.0, 1.0]);
        assert_eq!((loss, gradient[0]), (if p == 0.0 { 5.0 } else { 0.0 }, -0.1), "{p}");
        assert_eq!(bound.hessian_diagonal([0.0, 1.0])[0], curvature, "{p}");
        // On the floor the slope of the walls is 0, however steep they are elsewhere.
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

/// Computes a text at (x, y) as it is written, without simplifying anything.
fn as_written(text: &str, [x, y]: [f64; 2]) -> f64 {
    let parsed = parse(text, &LOSSES).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let mut values: Vec<f64> = Vec::new();
    for index in 0..parsed.graph.len() {
        values.push(match parsed.graph.node(NodeId(index)) {
            Node::Constant(value) => value,
            Node::Input(Input::X) => x,
            Node::Input(Input::Y) => y,
            Node::Input(Input::Cosine) => 1.0,
            Node::Input(_) => 0.0,
            Node::Of(op) => {
                let (operation, [a, b, c]) = op.map(|operand| values[operand.0]).split();
                operation.result(&a, &b, &c)
            }
        });
    }
    values[parsed.target.0]
}

fn is_near(found: f64, expected: f64) -> bool {
    found == expected || f64::abs(found - expected) <= 1e-12 * f64::abs(expected)
}

/// Formulas of a constant k and a number F, where constants may be dropped or folded.
const FORMULAS: &[&str] = &[
    "k*F",
    "F*k + x^2",
    "k/F",
    "F/k",
    "F - k*F",
    "k*F - F*k",
    "(k*F)*y*F",
    "F^k",
    "k^F",
    "k*(k/F)",
    "x*(y*(k*F)) - k*F",
    "sqrt(k*F)^2",
    "sin(k*F) + cos(-(k*F)) + tanh(k/F)",
    "abs(k*F)*abs(k*F)",
    "sign(k*F)",
    "max(k*F, k*F)",
    "max(1, k*F) + max(k*F, 1)",
    "min(1, k*F) + min(k*F, 1)",
    "clamp(k*F, k, 1)",
    "where(k*F, 1, 2)",
    "where(F, k, k)",
    "where(k, F, x)",
    "where(k/k, F, 1)",
    "(F < k) + (F == F) + (k*F != k)",
    "where(x, k*F, 1)",
    "-(-(k*F))*-1",
];

#[test]
fn a_loss_that_is_not_a_number_as_written_is_not_a_number() {
    let numbers = ["ln(x)", "sqrt(x)", "1/x", "x/x", "x^2*y", "abs(x)^-1.5", "y*ln(x)", "exp(3000*x)", "(x - x)/0"];
    for (formula, number) in FORMULAS.iter().flat_map(|formula| numbers.map(|number| (formula, number))) {
        let with = |k: &str| format!("L = {}", formula.replace('k', k).replace('F', &format!("({number})")));
        for k in ["0", "1", "(-1)", "2", "0.5", "3", "(0/0)", "(1/0)"] {
            let text = with(k);
            let bound = Box::leak(Box::new(LossProgram::new(&text).unwrap())).bind(&[], 0.0);
            for at in [-1.5, -1.0, 0.0, 0.7, 1.0, 2.0].map(|x| [x, 0.4 - x]) {
                let (expected, (found, gradient)) = (as_written(&text, at), bound.loss_and_gradient(at));
                let is_same = is_near(found, expected) || found.is_nan() && expected.is_nan();
                assert!(is_same, "{text} at {at:?}: {found}, not {expected}");
                assert!(!found.is_nan() || gradient.iter().all(|by| by.is_nan()), "{text} at {at:?}: {gradient:?}");
            }
        }
        // A typed constant must give the same as a parameter, which is not folded.
        for k in [0.0, 1.0, -1.0, 2.0] {
            let named = format!("param c = {k} in -9..9\n{}", with("c"));
            let [typed, named] = [with(&format!("({k})")), named].map(|text| {
                Box::leak(Box::new(LossProgram::new(&text).unwrap_or_else(|error| panic!("{error}: {text}"))))
            });
            for at in [-1.5, -1.0, 0.7, 1.0, 2.0].map(|x| [x, 0.4 - x]) {
                let (loss, found) = typed.bind(&[], 0.0).loss_and_gradient(at);
                let (_, expected) = named.bind(&[k], 0.0).loss_and_gradient(at);
                for (found, expected) in found.into_iter().zip(expected).filter(|_| f64::is_finite(loss)) {
                    let is_same = is_near(found, expected) || f64::is_nan(expected);
                    assert!(is_same, "{formula}, {number}, {k} at {at:?}: {found}, not {expected}");
                }
            }
        }
    }
}
