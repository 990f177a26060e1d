//! Landscapes and losses: formulas, central differences, the oracle, and values and derivatives that SymPy computed
//! with 40 digits.
//!
//! `goldens/landscapes.npz` has for each landscape 20 points (`Beale_at`) and there L, ∂L/∂x, ∂L/∂y, ∂²L/∂x² and
//! ∂²L/∂y² (`Beale_values`).

use std::f64::consts::{FRAC_PI_2, PI};

use proptest::prelude::*;
use valleyscope_engine::landscape::{LandscapeFormula, LandscapeKind, LandscapeSpec, NarrowValley, ValleyInSpace};
use valleyscope_engine::lanes::Lanes;
use valleyscope_engine::loss::{BoundLoss, LossProgram};

use crate::oracle;
use crate::references::Golden;

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
        prop_assert!((at[0].hypot(at[1]) - x.hypot(y)).abs() <= tolerance);
    }
}

#[test]
fn worked_example() {
    // φ = 90°: u = y, v = −x. At (x, y) = (3, 2): u = 2, v = −3.
    let landscape = NarrowValley::new(10.0, 0.5, FRAC_PI_2);
    let at = landscape.uv_from_xy([3.0, 2.0]);
    assert_close(at[0], 2.0);
    assert_close(at[1], -3.0);
    // L = (10/2) · 4 · 9 − 0.5 · 2
    assert_close(landscape.loss(at), 179.0);
    // ∂L/∂u = 10 · 2 · 9 − 0.5 and ∂L/∂v = 10 · 4 · (−3)
    let slope = landscape.gradient_uv(at);
    assert_close(slope[0], 179.5);
    assert_close(slope[1], -120.0);
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
    assert_close(at[0], 2.0);
    assert!(at[1].abs() < 1e-15);
    assert_close(landscape.loss(at), -0.2);
}

fn assert_close(found: f64, expected: f64) {
    assert!((found - expected).abs() <= 1e-14 * expected.abs(), "{found} where {expected} is right");
}

/// The error of a value relative to its size, or to 1e-3 if it is smaller.
fn error(found: f64, expected: f64) -> f64 {
    (found - expected).abs() / expected.abs().max(1e-3)
}

#[test]
fn the_parts_of_a_landscape_agree_with_each_other() {
    for &kind in LandscapeKind::ALL {
        let landscape = LandscapeSpec::new(kind).with("rotation_degrees", 20.0).unwrap().landscape();
        for at in [[0.7, -0.4], [-1.3, 0.9], [2.1, 1.7]] {
            let name = kind.name();
            let local = landscape.local(at);
            assert!(error(local.loss, landscape.loss(at)) < 1e-14, "{name}");
            assert_eq!(landscape.gradient_at(&local), landscape.gradient(at), "{name}");
            let beside: Vec<f64> = (0..11).map(|index| at[0] + 0.1 * f64::from(index)).collect();
            let mut losses = [0.0; 11];
            landscape.losses_along(&beside, at[1], &mut losses);
            assert_eq!(losses[..], beside.iter().map(|x| landscape.loss([*x, at[1]])).collect::<Vec<_>>(), "{name}");
            let [u, v] = landscape.uv_from_xy(at);
            assert_eq!(landscape.depth(&local, at), u, "{name}");
            let back = landscape.xy_from_uv([u, v]);
            assert!((0..2).all(|axis| (back[axis] - at[axis]).abs() < 1e-14), "{name}: {back:?}");
            let h = 1e-6;
            for axis in 0..2 {
                let [mut low, mut high] = [at; 2];
                low[axis] -= h;
                high[axis] += h;
                let slope = (landscape.loss(high) - landscape.loss(low)) / (2.0 * h);
                assert!(error(slope, landscape.gradient(at)[axis]) < 1e-5, "{name}: {slope}");
            }
        }
    }
}

#[test]
fn parameters_are_kept_where_both_landscapes_have_them() {
    let valley = LandscapeSpec::default().with("sharpness", 42.0).unwrap();
    let river = LandscapeSpec::new(LandscapeKind::River).in_place_of(&valley);
    assert_eq!((river.get("sharpness"), river.get("narrowing")), (Some(42.0), Some(1.0)));
    assert_eq!(river.rotation_degrees(), 0.0, "the rotation is the landscape's own");
    assert!(river.with("exponent", 2.0).unwrap_err().to_string().contains("sharpness, slope, narrowing"));
    assert!(river.with("narrowing", -1.0).unwrap_err().to_string().contains("from 0 to 100"));
}

/// "Amplitude A" is the height of Rastrigin's waves, and how far the floor of the river bends.
#[test]
fn parameters_of_one_name_and_another_meaning_are_not_kept() {
    let rastrigin = LandscapeSpec::new(LandscapeKind::Rastrigin);
    let river = LandscapeSpec::new(LandscapeKind::River);
    assert_ne!(rastrigin.get("amplitude"), river.get("amplitude"));
    assert_eq!(river.in_place_of(&rastrigin).get("amplitude"), river.get("amplitude"));
}

/// The golden has no points where both valleys have one loss; there a minimum without softness has a corner.
#[test]
fn two_valleys_are_smooth_where_their_losses_are_equal() {
    let set = |spec: LandscapeSpec, key: &str, value: f64| spec.with(key, value).unwrap();
    let spec = set(LandscapeSpec::new(LandscapeKind::TwoValleys), "sharpness_ratio", 1.0);
    let same = set(set(spec, "slope_ratio", 1.0), "separation", 0.0).landscape();
    let ([by_u, by_v], [by_u_twice, by_v_twice]) = (same.gradient([0.7, 0.3]), same.hessian_diagonal([0.7, 0.3]));
    let found: [f64; 4] = [by_u, by_v, by_u_twice, by_v_twice];
    for (found, expected) in found.into_iter().zip([-0.1, 0.3, 0.0, 1.0]) {
        assert!((found - expected).abs() < 1e-12, "{found}, expected {expected}");
    }
    let apart = spec.landscape();
    let ([by_u, by_v], h): ([f64; 2], f64) = (apart.gradient([0.0, 0.0]), 1e-6);
    let slope = |[x, y]: [f64; 2]| (apart.loss([x, y]) - apart.loss([-x, -y])) / (2.0 * h);
    assert!((by_u - slope([h, 0.0])).abs() < 1e-6 && (by_v - slope([0.0, h])).abs() < 1e-6, "{by_u}, {by_v}");
}

#[test]
fn derivatives_are_no_numbers_where_the_loss_is_none() {
    let formula = LandscapeFormula::new("Logarithm of x", "L = ln(x) + y^2").unwrap();
    let landscape = LandscapeSpec::new(LandscapeKind::Formula(formula)).landscape();
    let at: [f64; 2] = [-1.0, 0.5];
    assert!(landscape.loss(at).is_nan());
    assert!(landscape.gradient(at).iter().all(|part| part.is_nan()));
    assert_eq!(landscape.gradient([2.0, 0.5]), [0.5, 1.0]);
}

#[test]
fn ranges_of_infinite_length_are_refused() {
    let error = LandscapeFormula::new("Wide", "param k = 0 in -1e308..1e308\nL = k*x").unwrap_err();
    assert!(error.to_string().contains("a range of finite length"), "{error}");
}

#[test]
fn labels_of_axes_keep_the_capitals_of_symbols() {
    let label = |kind: LandscapeKind, key: &str| {
        LandscapeSpec::new(kind).parameter(key).expect("it has the parameter").axis_label()
    };
    assert_eq!(label(LandscapeKind::River, "amplitude"), "amplitude A");
    assert_eq!(label(LandscapeKind::Valley, "sharpness"), "sharpness a");
    let formula = LandscapeFormula::new("Capital", "param K = 1 in 0..2\nL = K*x").unwrap();
    assert_eq!(label(LandscapeKind::Formula(formula), "K"), "K");
}

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

/// Compares loss, gradient and curvatures of a landscape with the goldens.
fn assert_agrees(name: &str, least: f64, found: impl Fn([f64; 2]) -> [f64; 5]) {
    let golden = Golden::read("landscapes");
    let points = golden.array(&format!("{name}_at")).chunks_exact(2);
    let expected = golden.array(&format!("{name}_values")).chunks_exact(5);
    assert_eq!((points.len(), expected.len()), (20, 20));
    for (at, expected) in points.zip(expected) {
        for (found, &expected) in found([at[0], at[1]]).into_iter().zip(expected) {
            let is_close = (found - expected).abs() <= 1e-12 * expected.abs() + least;
            assert!(is_close, "{name} at {at:?}: {found}, expected {expected}");
        }
    }
}

#[test]
fn losses_and_their_derivatives_agree_with_40_digits() {
    let program = |case: &Case, program| {
        let bound = case.bind(program);
        assert_agrees(case.name, LEAST, |at| values(&bound, at));
    };
    for case in cases() {
        program(&case, case.program);
        program(&case, case.typed(&case.program.loss_text(&case.names())));
    }
    for (kind, text) in AS_TYPED {
        let case = Case::new(*kind);
        program(&case, case.typed(text));
    }
    for &kind in LandscapeKind::ALL {
        let landscape = LandscapeSpec::new(kind).landscape();
        assert_agrees(kind.key(), 1e-15, |at| {
            let ([by_x, by_y], [by_x_twice, by_y_twice]) = (landscape.gradient(at), landscape.hessian_diagonal(at));
            [landscape.loss(at), by_x, by_y, by_x_twice, by_y_twice]
        });
    }
}

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
