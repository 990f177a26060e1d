//! Losses as programs, against values and derivatives that SymPy computed with 40 digits (`goldens/landscapes.npz`) and
//! against central differences, and mistakes in their texts.
//!
//! `landscapes.npz` has for each landscape 20 points (`Beale_at`) and there L, ∂L/∂x, ∂L/∂y, ∂²L/∂x² and ∂²L/∂y²
//! (`Beale_values`).

use valleyscope_engine::landscape::{LandscapeKind, LandscapeSpec};
use valleyscope_engine::lanes::Lanes;
use valleyscope_engine::loss::{BoundLoss, LossProgram};

use crate::golden::Golden;

/// A registered landscape with the defaults of its parameters, which are those of the goldens.
struct Case {
    name: &'static str,
    program: &'static LossProgram,
    /// The names and the values of the parameters, without the rotation.
    parameters: Vec<(&'static str, f64)>,
    rotation_degrees: f64,
}

impl Case {
    fn new(kind: LandscapeKind) -> Case {
        let spec = LandscapeSpec::new(kind);
        let parameters = spec.parameters().map(|(of, value)| (of.key, value));
        Case {
            name: kind.key(),
            program: kind.program(),
            parameters: parameters.filter(|(name, _)| *name != "rotation_degrees").collect(),
            rotation_degrees: spec.rotation_degrees(),
        }
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

fn cases() -> impl Iterator<Item = Case> {
    LandscapeKind::ALL.iter().copied().map(Case::new)
}

/// Landscapes as one would type them.
const AS_TYPED: &[(LandscapeKind, &str)] = &[
    (LandscapeKind::Valley, "L = sharpness/2*u^2*v^2 - slope*u"),
    (LandscapeKind::PowerValley, "L = sharpness/2*abs(u)^exponent*v^2 - slope*u"),
    (LandscapeKind::River, "L = sharpness/2*(1 + narrowing*u^2)*(v - amplitude*sin(wavenumber*u))^2 - slope*u"),
    (
        LandscapeKind::TwoValleys,
        "L1 = sharpness/2*(v - separation)^2 - slope*u\n\
         L2 = sharpness_ratio*sharpness/2*(v + separation)^2 - slope_ratio*slope*u\n\
         l = min(L1, L2)\n\
         L = l - softness*ln(exp((l - L1)/softness) + exp((l - L2)/softness))",
    ),
    (LandscapeKind::Rosenbrock, "L = (1 - u)^2 + b*(v - u^2)^2"),
    (LandscapeKind::Beale, "L = (1.5 - u + u*v)^2 + (2.25 - u + u*v^2)^2 + (2.625 - u + u*v^3)^2"),
    (LandscapeKind::Himmelblau, "L = (u^2 + v - 11)^2 + (u + v^2 - 7)^2"),
    (LandscapeKind::Rastrigin, "L = 2*amplitude + u^2 - amplitude*cos(2*pi*u) + v^2 - amplitude*cos(2*pi*v)"),
    (LandscapeKind::Factorization, "L = (1 - u*v)^2/2"),
];

fn values(bound: &BoundLoss, [x, y]: [f64; 2]) -> [f64; 5] {
    let (loss, [by_x, by_y]) = bound.loss_and_gradient([x, y]);
    assert_eq!(loss, bound.loss([x, y]), "the loss has the same bits with and without the gradient");
    let [by_x_twice, by_y_twice] = bound.hessian_diagonal([x, y]);
    [loss, by_x, by_y, by_x_twice, by_y_twice]
}

/// The size below which terms that cancel leave nothing of the goldens' 40 digits: ∂²L/∂u² of two valleys is 1e-250 far
/// from where they meet.
const LEAST: f64 = 1e-38;

/// Compares a program of a landscape with the goldens.
fn assert_agrees(case: &Case, program: &'static LossProgram) {
    let golden = Golden::read("landscapes");
    let points = golden.array(&format!("{}_at", case.name)).chunks_exact(2);
    let expected = golden.array(&format!("{}_values", case.name)).chunks_exact(5);
    assert_eq!((points.len(), expected.len()), (20, 20));
    let bound = case.bind(program);
    for (at, expected) in points.zip(expected) {
        for (found, &expected) in values(&bound, [at[0], at[1]]).into_iter().zip(expected) {
            assert!(
                (found - expected).abs() <= 1e-12 * expected.abs() + LEAST,
                "{} at {at:?}: {found}, expected {expected}",
                case.name
            );
        }
    }
}

#[test]
fn losses_and_their_derivatives_agree_with_40_digits() {
    for case in cases() {
        assert_agrees(&case, case.program);
        assert_agrees(&case, case.typed(&case.program.loss_text(&case.names())));
    }
    for (kind, text) in AS_TYPED {
        let case = Case::new(*kind);
        assert_agrees(&case, case.typed(text));
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
    let sum = |count: usize, term: &dyn Fn(usize) -> String| (0..count).map(term).collect::<Vec<_>>().join(" + ");
    // Each line doubles the expression.
    let doubled = |count: usize| {
        let lines: String = (0..count).map(|index| format!("z{} = sin(z{index})*z{index}\n", index + 1)).collect();
        format!("z0 = x\n{lines}L = z{count}")
    };
    let waves = |count: usize| format!("L = {}", sum(count, &|index| format!("exp(x*x*{index}.5)")));
    let uniform =
        |count: usize| format!("param k = 1 in 0..9\nL = x*({})", sum(count, &|index| format!("sin(k + {index})^63")));
    let [long, waves, doubled, uniform] =
        [[waves(40), waves(300)], [waves(40), waves(120)], [doubled(5), doubled(40)], [uniform(70), uniform(85)]];
    for ([within, beyond], expected) in [
        (long, "at most 512 operations"),
        (doubled, "at most 20000 numbers in an expression, written out"),
        (waves, "keeps at most 64 numbers at a time"),
        (uniform, "at most 1024 operations on parameters"),
    ] {
        LossProgram::new(&within).unwrap_or_else(|error| panic!("{expected}: {error}"));
        let error = LossProgram::new(&beyond).expect_err(expected).to_string();
        assert!(error.contains(expected), "{error} instead of {expected}");
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
