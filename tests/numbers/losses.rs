//! Losses as programs, against values and derivatives that SymPy computed with 40 digits (`goldens/landscapes.npz`) and
//! against central differences, and mistakes in their texts.
//!
//! `landscapes.npz` has for each landscape 20 points (`Beale_at`) and there L, ∂L/∂x, ∂L/∂y, ∂²L/∂x² and ∂²L/∂y²
//! (`Beale_values`).

use std::f64::consts::PI;

use valleyscope_engine::lanes::Lanes;
use valleyscope_engine::loss::{BoundLoss, Loss, LossProgram};
use valleyscope_engine::optimizer::{Algebra, Function};

use crate::golden::Golden;

/// Defines a loss by its parameters and its expression of u and v.
macro_rules! losses {
    ($($name:ident[$($parameter:ident),*] = |$u:ident, $v:ident| $loss:expr;)*) => {$(
        struct $name;

        impl Loss for $name {
            const PARAMETERS: usize = <[&str]>::len(&[$(stringify!($parameter)),*]);

            fn loss<A: Algebra>(parameters: &[A], [$u, $v]: [A; 2]) -> A {
                let &[$($parameter),*] = parameters else { panic!("the loss has other parameters") };
                $loss
            }
        }
    )*};
}

fn n<A: Algebra>(value: f64) -> A {
    A::splat(value)
}

fn square<A: Algebra>(of: A) -> A {
    of * of
}

losses! {
    Valley[a, c] = |u, v| n::<A>(0.5) * a * square(u * v) - c * u;
    PowerValley[a, c, p] = |u, v| n::<A>(0.5) * a * u.abs().power(p) * v * v - c * u;
    River[a, c, b, size, k] = |u, v| {
        let bend = v - size * (k * u).function(Function::Sin);
        n::<A>(0.5) * a * (n::<A>(1.0) + b * u * u) * square(bend) - c * u
    };
    TwoValleys[a, c, r, s, d, tau] = |u, v| {
        let first = n::<A>(0.5) * a * square(v - d) - c * u;
        let second = n::<A>(0.5) * r * a * square(v + d) - s * c * u;
        let least = first.minimum(second);
        let part = |loss: A| ((least - loss) / tau).function(Function::Exp);
        least - tau * (part(first) + part(second)).function(Function::Ln)
    };
    Rosenbrock[b] = |u, v| square(n::<A>(1.0) - u) + b * square(v - u * u);
    Beale[] = |u, v| {
        square(n::<A>(1.5) - u + u * v) + square(n::<A>(2.25) - u + u * v * v) + square(n::<A>(2.625) - u + u * v * v * v)
    };
    Himmelblau[] = |u, v| square(u * u + v - n(11.0)) + square(u + v * v - n(7.0));
    Rastrigin[height] = |u, v| {
        let wave = |u: A| height * (n::<A>(2.0 * PI) * u).function(Function::Cos);
        n::<A>(2.0) * height + u * u - wave(u) + v * v - wave(v)
    };
    Factorization[] = |u, v| n::<A>(0.5) * square(n::<A>(1.0) - u * v);
}

/// A landscape of the goldens: recorded, as text, and with its parameters and its rotation.
struct Case {
    name: &'static str,
    program: &'static LossProgram,
    text: &'static str,
    parameters: &'static [(&'static str, f64)],
    rotation_degrees: f64,
}

impl Case {
    fn new<L: Loss>(
        name: &'static str,
        rotation_degrees: f64,
        parameters: &'static [(&'static str, f64)],
        text: &'static str,
    ) -> Case {
        assert_eq!(parameters.len(), L::PARAMETERS);
        let program = Box::leak(Box::new(LossProgram::record::<L>()));
        Case { name, program, text, parameters, rotation_degrees }
    }

    fn bind(&self, program: &'static LossProgram) -> BoundLoss {
        let values: Vec<f64> = self.parameters.iter().map(|(_, value)| *value).collect();
        program.bind(&values, self.rotation_degrees.to_radians())
    }

    fn names(&self) -> Vec<&'static str> {
        self.parameters.iter().map(|(name, _)| *name).collect()
    }

    /// Returns a program of lines in the language, with the declarations of the parameters.
    fn typed(&self, lines: &str) -> &'static LossProgram {
        let declared: Vec<String> =
            self.parameters.iter().map(|(name, value)| format!("param {name} = {value} in -1000..1000\n")).collect();
        let text = declared.concat() + lines;
        let program = LossProgram::new(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        Box::leak(Box::new(program))
    }
}

fn cases() -> Vec<Case> {
    let of_valley = &[("a", 10.0), ("c", 0.1)];
    vec![
        Case::new::<Valley>("Valley", 30.0, of_valley, "L = a/2*u^2*v^2 - c*u"),
        Case::new::<PowerValley>(
            "PowerValley",
            30.0,
            &[("a", 10.0), ("c", 0.1), ("p", 3.0)],
            "L = a/2*abs(u)^p*v^2 - c*u",
        ),
        Case::new::<River>(
            "River",
            0.0,
            &[("a", 10.0), ("c", 0.1), ("b", 1.0), ("A", 0.5), ("k", 1.5)],
            "L = a/2*(1 + b*u^2)*(v - A*sin(k*u))^2 - c*u",
        ),
        Case::new::<TwoValleys>(
            "TwoValleys",
            0.0,
            &[("a", 1.0), ("c", 0.1), ("r", 20.0), ("s", 2.0), ("d", 0.5), ("tau", 0.05)],
            "L1 = a/2*(v - d)^2 - c*u\nL2 = r*a/2*(v + d)^2 - s*c*u\nl = min(L1, L2)\n\
             L = l - tau*ln(exp((l - L1)/tau) + exp((l - L2)/tau))",
        ),
        Case::new::<Rosenbrock>("Rosenbrock", 0.0, &[("b", 100.0)], "L = (1 - u)^2 + b*(v - u^2)^2"),
        Case::new::<Beale>("Beale", 0.0, &[], "L = (1.5 - u + u*v)^2 + (2.25 - u + u*v^2)^2 + (2.625 - u + u*v^3)^2"),
        Case::new::<Himmelblau>("Himmelblau", 0.0, &[], "L = (u^2 + v - 11)^2 + (u + v^2 - 7)^2"),
        Case::new::<Rastrigin>("Rastrigin", 0.0, &[("A", 10.0)], "L = 2*A + u^2 - A*cos(2*pi*u) + v^2 - A*cos(2*pi*v)"),
        Case::new::<Factorization>("Factorization", 0.0, &[], "L = (1 - u*v)^2/2"),
    ]
}

fn values(bound: &BoundLoss, [x, y]: [f64; 2]) -> [f64; 5] {
    let (loss, [by_x, by_y]) = bound.loss_and_gradient([x, y]);
    assert_eq!(loss, bound.loss([x, y]), "the loss has the same bits with and without the gradient");
    let [by_x_twice, by_y_twice] = bound.hessian_diagonal([x, y]);
    [loss, by_x, by_y, by_x_twice, by_y_twice]
}

/// The size below which terms that cancel leave nothing of the goldens' 40 digits: ∂²L/∂u² of two valleys is 1e-250 far
/// from where they meet.
const LEAST: f64 = 1e-38;

#[test]
fn losses_and_their_derivatives_agree_with_40_digits() {
    let golden = Golden::read("landscapes");
    for case in cases() {
        let points = golden.array(&format!("{}_at", case.name)).chunks_exact(2);
        let expected = golden.array(&format!("{}_values", case.name)).chunks_exact(5);
        assert_eq!((points.len(), expected.len()), (20, 20));
        let programs = [case.program, case.typed(case.text), case.typed(&case.program.loss_text(&case.names()))];
        for bound in programs.map(|program| case.bind(program)) {
            for (at, expected) in points.clone().zip(expected.clone()) {
                for (found, &expected) in values(&bound, [at[0], at[1]]).into_iter().zip(expected) {
                    assert!(
                        (found - expected).abs() <= 1e-12 * expected.abs() + LEAST,
                        "{} at {at:?}: {found}, expected {expected}",
                        case.name
                    );
                }
            }
        }
    }
}

/// The text of a built-in loss has its values bit for bit.
#[test]
fn built_in_losses_as_text_have_the_same_bits() {
    for case in cases() {
        let typed = case.typed(&case.program.loss_text(&case.names()));
        for at in points() {
            let [found, expected] = [typed, case.program].map(|program| values(&case.bind(program), at));
            assert_eq!(found, expected, "{} at {at:?}", case.name);
        }
    }
}

/// Returns points around the origin.
fn points() -> impl Iterator<Item = [f64; 2]> {
    (0..400).map(|index| {
        let [x, y] = [index % 20, index / 20].map(f64::from);
        [0.31 * (x - 9.4), 0.27 * (y - 9.7)]
    })
}

/// Texts with every function, and with branches.
const TEXTS: &[&str] = &[
    "L = sin(x*y) + cos(x - y)^3 + tanh(x)*exp(-y^2)",
    "L = ln(1 + x^2 + y^4) + sqrt(1 + u^2) + v/(2 + x^2)",
    "L = abs(x) + max(x, y) + min(x*y, 1) + clamp(x, -1, y)^2",
    "L = where(x > y, x^2*y, where(x + y < 1, sin(x), ln(10 + x - y)))",
    "L = abs(x)^2.5 + (1 + y^2)^x + 2^(x*y/4) + abs(y)^-1.5",
    "param k = 2 in -5..5, p = 3 in 0..5\nr = sqrt(x^2 + y^2)\nL = r^p + k*cos(k*r + phi) + sign(x)*y^-2",
    "a = x*y\nb = a^2 - x/a\nL = (b >= 0)*b + (b < 0)*a^-3 + exp(-abs(a))",
];

fn typed(text: &str) -> &'static LossProgram {
    Box::leak(Box::new(LossProgram::new(text).unwrap_or_else(|error| panic!("{error}\n{text}"))))
}

#[test]
fn derivatives_agree_with_central_differences() {
    for text in TEXTS {
        let program = typed(text);
        let defaults: Vec<f64> = program.parameters().iter().map(|parameter| parameter.default).collect();
        let bound = program.bind(&defaults, 0.4);
        for [x, y] in points() {
            let [_, by_x, by_y, by_x_twice, by_y_twice] = values(&bound, [x, y]);
            let step = 1e-5;
            let slope = |along: [f64; 2], of: &dyn Fn([f64; 2]) -> f64| {
                let at = |by: f64| of([x + by * along[0], y + by * along[1]]);
                (at(step) - at(-step)) / (2.0 * step)
            };
            let ([along_x, along_y], loss) = ([[1.0, 0.0], [0.0, 1.0]], |at| bound.loss(at));
            for (found, expected) in [
                (by_x, slope(along_x, &loss)),
                (by_y, slope(along_y, &loss)),
                (by_x_twice, slope(along_x, &|at| bound.loss_and_gradient(at).1[0])),
                (by_y_twice, slope(along_y, &|at| bound.loss_and_gradient(at).1[1])),
            ] {
                let scale = expected.abs().max(bound.loss([x, y]).abs()).max(1.0);
                assert!((found - expected).abs() <= 1e-5 * scale, "{text} at {x}, {y}: {found} and {expected}");
            }
        }
    }
}

/// A text for the gradient, as shown, has the values of the gradient.
#[test]
fn gradients_as_text_have_the_values_of_the_gradient() {
    for case in cases() {
        let gradient = case.program.gradient_text(&case.names());
        let [lines, first, second] = {
            let (rest, second) = gradient.trim_end().rsplit_once("\nL_v = ").unwrap();
            let (rest, first) = rest.rsplit_once("L_u = ").unwrap();
            [rest, first, second].map(str::to_owned)
        };
        let parts = [first, second].map(|part| case.bind(case.typed(&format!("{lines}L = {part}"))));
        let (sin, cos) = case.rotation_degrees.to_radians().sin_cos();
        for at in points() {
            let [by_u, by_v] = [0, 1].map(|index| parts[index].loss(at));
            let (_, [by_x, by_y]) = case.bind(case.program).loss_and_gradient(at);
            let expected = [by_x * cos + by_y * sin, by_y * cos - by_x * sin];
            for (found, expected) in [by_u, by_v].into_iter().zip(expected) {
                let scale = by_x.abs().max(by_y.abs()).max(1.0);
                assert!((found - expected).abs() <= 1e-12 * scale, "{}: {gradient}: {found} and {expected}", case.name);
            }
        }
    }
}

#[test]
fn lanes_have_the_bits_of_single_numbers() {
    for case in cases() {
        let bound = case.bind(case.program);
        for at in points() {
            let lanes = at.map(|coordinate| Lanes([coordinate, coordinate + 0.125, -coordinate]));
            let (loss, gradient) = bound.loss_and_gradient(lanes);
            for lane in 0..3 {
                let of_one = bound.loss_and_gradient([lanes[0].0[lane], lanes[1].0[lane]]);
                assert_eq!((loss.0[lane], gradient.map(|by| by.0[lane])), of_one, "{}", case.name);
            }
        }
    }
}

#[test]
fn corners_have_no_slope_and_branches_that_are_not_taken_do_no_harm() {
    let at = |text: &str, x: f64| {
        let bound = typed(text).bind(&[], 0.0);
        (bound.loss_and_gradient([x, 0.5]).1[0], bound.hessian_diagonal([x, 0.5])[0])
    };
    assert_eq!(at("L = abs(x)", 0.0), (0.0, 0.0));
    assert_eq!(at("L = max(x, 0) + min(x, 0)", 0.0), (0.0, 0.0));
    assert_eq!(at("L = clamp(3*x, -1, 1)", 0.1), (3.0, 0.0));
    assert_eq!(at("L = clamp(3*x, -1, 1)", 0.7), (0.0, 0.0));
    assert_eq!(at("L = sign(x) + (x > 0)", 0.3), (0.0, 0.0));
    assert_eq!(at("L = where(x > 0, x^2*ln(x), 0)", 0.0), (0.0, 0.0));
    assert_eq!(at("L = where(x > 0, sqrt(x), x^2)", -2.0), (-4.0, 2.0));
    assert_eq!(at("L = max(1/x, x^3)", 0.0), (f64::NEG_INFINITY, f64::INFINITY));
    assert_eq!(at("L = abs(x)^2 + abs(x)^3 + x^4", 0.0), (0.0, 2.0));
    assert_eq!(at("L = (x - 3)^5", 1.0), (80.0, -160.0));
    assert_eq!(at("L = x^-2", -2.0), (0.25, 0.375));
}

/// The mistakes with their messages: line and column, what was expected, and what was found.
const MISTAKES: &[(&str, &str)] = &[
    ("", "line 1, column 1: expected a line `L = …` with the loss, found none"),
    ("l = x", "line 1, column 1: expected `L` in capital letters, found `l`"),
    ("L = x + z", "line 1, column 9: expected a number, a function or one of phi, pi, u, v, x, y, found `z`"),
    (
        "L = norm(x)",
        "line 1, column 5: expected one of the functions sign, abs, sqrt, exp, ln, tanh, sin, cos, min, max, clamp, where, \
         found `norm`",
    ),
    ("state m\nL = x", "line 1, column 1: expected `param` or the name that a line assigns to, found `state`"),
    ("u = x\nL = u", "line 1, column 1: expected `L` or a new name to assign to, found `u`, which is given"),
    (
        "param b = 1 in 0..2\nb = x",
        "line 2, column 1: expected `L` or a new name to assign to, found `b`, which is a parameter",
    ),
    (
        "L = L + x",
        "line 1, column 5: expected a number, a function or one of phi, pi, u, v, x, y, found `L`, which has no value yet",
    ),
    (
        "param rotation_degrees = 1 in 0..2\nL = x",
        "line 1, column 7: expected a name that presets do not use themselves, found `rotation_degrees`",
    ),
];

#[test]
fn mistakes_are_reported_with_position_and_expectation() {
    for (text, expected) in MISTAKES {
        let error = LossProgram::new(text).unwrap_err();
        assert_eq!(error.to_string(), *expected, "of {text:?}");
    }
}

#[test]
fn losses_that_are_too_large_are_refused() {
    let sum: Vec<String> = (0..300).map(|index| format!("exp(x*{index}.5 + y)")).collect();
    let powers = "z1 = x*y\n".to_owned()
        + &(1..12)
            .map(|index| format!("z{} = where(z{index} > y, z{index}*x, sin(z{index})*y)\n", index + 1))
            .collect::<String>();
    for text in [format!("L = {}", sum.join(" + ")), powers + "L = z12^40*z11"] {
        match LossProgram::new(&text) {
            Err(error) => assert!(error.to_string().contains("expected"), "{error}"),
            Ok(program) => assert!(program.wgsl().len() < 1_000_000),
        }
    }
}

/// Bound losses are equal if program, parameters and rotation are.
#[test]
fn bound_losses_are_compared_by_program_and_numbers() {
    let program = typed("param b = 1 in 0..2\nL = b*x^2 + cos(phi)*y");
    assert_eq!(program.bind(&[1.0], 0.5), program.bind(&[1.0], 0.5));
    assert_ne!(program.bind(&[1.5], 0.5), program.bind(&[1.0], 0.5));
    assert_ne!(program.bind(&[1.0], 0.25), program.bind(&[1.0], 0.5));
    assert_ne!(typed("param b = 1 in 0..2\nL = b*x^2 + cos(phi)*y").bind(&[1.0], 0.5), program.bind(&[1.0], 0.5));
}
