//! Typed rules, against the built-in rules, and errors in their texts.

use std::fmt::Write;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use valleyscope_engine::language::tokens;
use valleyscope_engine::optimizer::program::{Program, text_of};
use valleyscope_engine::optimizer::{RuleKind, RuleSpec, StepInputs, TypedRule};
use valleyscope_engine::simulation::{ParticleId, Setting, Simulation};
use valleyscope_experiments::preset::Preset;

use crate::specs::{rated, simulation};

const FOCUS: &str = "\
state m, avg
param beta1 = 0.9 in 0..1, beta2 = 0.9 in 0..1, gamma = 0.2 in -1..1
m   = beta1*m + (1 - beta1)*g
avg = avg + (1 - beta2)/(1 - beta2^t)*(theta - avg)
theta = theta - eta*(sign(m) + gamma*sign(theta - avg) + omega*theta)
";

/// NAdam as text. The product of the momenta is a state, as it is not among the hyperparameters.
const NADAM: &str = "\
state m, s, product
param beta1 = 0.9 in 0..1, beta2 = 0.999 in 0..1, psi = 0.004 in 0..1
mu = beta1*(1 - 0.5*0.96^(psi*t))
next = beta1*(1 - 0.5*0.96^(psi*(t + 1)))
product = where(t == 1, mu, product*mu)
m = beta1*m + (1 - beta1)*g
s = beta2*s + (1 - beta2)*g^2
n = (1 - mu)/(1 - product)*g + next/(1 - product*next)*m
theta = theta - eta*(n/(sqrt(s/(1 - beta2^t)) + 1e-8) + omega*theta)
";

/// Returns a rule as written in a preset: `Typed(name: …, text: …, …)`.
fn written(text: &str, hyperparameters: &str) -> String {
    format!("Typed(name: \"mine\", text: {text:?}, learning_rate: 0.01{hyperparameters})")
}

/// Returns the positions of a few particles after some steps with noise.
fn positions(rule: &str, steps: u64) -> Vec<[f64; 2]> {
    let preset = format!(
        "Landscape(version: 1, title: \"t\", simulations: [(spec: (
            landscape: Valley(sharpness: 10.0, slope: 0.1, rotation_degrees: 30.0),
            noise: 0.5, steps: {steps}, particles: 13, seed: 3,
            optimizers: [(id: 1, rule: {rule})],
        ))])"
    );
    let Preset::Landscape(preset) = Preset::parse(&preset, "test").unwrap_or_else(|error| panic!("{error}")) else {
        panic!("it is a landscape");
    };
    let mut simulation = Simulation::new(preset.spec().clone());
    (0..steps).for_each(|_| simulation.advance());
    simulation.ensembles()[0].positions().collect()
}

fn assert_close(what: &str, found: &[[f64; 2]], expected: &[[f64; 2]]) {
    assert!(expected.iter().flatten().all(|value| value.is_finite()), "{what}: the run diverged");
    for (found, expected) in found.iter().flatten().zip(expected.iter().flatten()) {
        assert!((found - expected).abs() <= 1e-12 * expected.abs().max(1e-2), "{what}: {found} and {expected}");
    }
}

/// Returns a rule in RON without its typed form: the defaults of the plane.
fn built_in(kind: RuleKind) -> String {
    format!("{}(learning_rate: 0.01)", kind.key())
}

#[test]
fn built_in_rules_as_text_take_the_same_steps() {
    let mut not_written = Vec::new();
    for &kind in RuleKind::ALL {
        match text_of(&RuleSpec::on_plane(kind)) {
            Ok(text) => {
                assert_close(&text, &positions(&written(&text, ""), 60), &positions(&built_in(kind), 60));
            }
            Err(_) => not_written.push(kind.info().name),
        }
    }
    assert_eq!(not_written, ["Sophia", "Muon", "NAdam", "Adam-mini", "Shampoo", "SOAP", "Schedule-Free"]);
}

/// Rules with each other choice, including cautious steps, agree too.
#[test]
fn built_in_rules_with_other_choices_as_text_take_the_same_steps() {
    let mut compared = 0;
    for &kind in RuleKind::ALL {
        for of in kind.info().hyperparameters {
            for (value, choice) in of.choices().iter().enumerate().skip(1) {
                let rule = RuleSpec::on_plane(kind).with(of.key, value as f64).unwrap();
                let Ok(text) = text_of(&rule) else { continue };
                let chosen = format!("{}(learning_rate: 0.01, {}: {})", kind.key(), of.key, choice.key);
                let what = format!("{chosen}\n{text}");
                assert_close(&what, &positions(&written(&text, ""), 60), &positions(&chosen, 60));
                compared += 1;
            }
        }
    }
    assert!(compared >= 12, "{compared} were compared");
}

#[test]
fn rules_written_by_hand_are_the_built_in_ones() {
    let nadam = RuleKind::named("NAdam").unwrap();
    assert_close(NADAM, &positions(&written(NADAM, ""), 60), &positions(&built_in(nadam), 60));
    let with = |hyperparameters: &str| positions(&written(FOCUS, hyperparameters), 60);
    let focus = |hyperparameters: &str| positions(&format!("Focus(learning_rate: 0.01{hyperparameters})"), 60);
    for of in [", weight_decay: 0.0, gamma: -0.4", ", weight_decay: 0.3, beta1: 0.5, beta2: 0.99, gamma: 0.8"] {
        assert_close(of, &with(of), &focus(of));
    }
}

/// If states are assigned to each other, or a state to θ, the values before the step count.
#[test]
fn states_can_be_exchanged() {
    let text = |a: &str, m: &str, old: &str| {
        format!(
            "state last, m, a, b\nold = last\nb = {a}\na = {m}\nm = 0.5*m + g\nlast = theta - eta*(b + g)\ntheta = {old}"
        )
    };
    let found = positions(&written(&text("a", "m", "old"), ""), 60);
    // This holds too if each is computed and not only moved.
    let computed = |name: &str| format!("where(t > 0, {name}, g)");
    let expected = text(&computed("a"), &computed("m"), &computed("old"));
    assert_eq!(found, positions(&written(&expected, ""), 60));
    assert!(found.iter().flatten().all(|value| value.is_finite() && *value != 0.0));
}

#[test]
fn a_retyped_text_replaces_that_of_its_name() {
    let of = |text| TypedRule::new("Typed once more", text).unwrap();
    let [first, second] = ["theta = theta - eta*g", "theta = theta - 2*eta*g"].map(of);
    let latest = || TypedRule::latest().into_iter().find(|rule| rule.name() == first.name()).unwrap();
    assert_eq!(latest(), second);
    of(first.text()).make_latest();
    assert_eq!(latest(), first);
    of(second.text()).make_latest();
    assert_eq!(latest(), second);
}

/// The mistakes with their messages: line and column, what was expected, and what was found.
const MISTAKES: &[(&str, &str)] = &[
    ("", "line 1, column 1: expected a line `theta = …` that takes the step, found none"),
    ("m = g", "line 1, column 6: expected a line `theta = …` that takes the step, found none"),
    (
        "theta = theta - eta*g2",
        "line 1, column 21: expected a number, a function or one of eta, g, omega, pi, t, theta, found `g2`",
    ),
    ("theta = theta -", "line 1, column 16: expected a number, a name, a function or `(`, found the end of the text"),
    ("theta = (g\n", "line 1, column 9: expected `)` behind this `(`, found the end of the text"),
    (
        "u = max(g,\n2\ntheta = u",
        "line 1, column 8: expected `)`, as `max` takes 2 numbers behind this `(`, found `theta` in line 3",
    ),
    ("theta = max(g +\n3 3)", "line 2, column 3: expected `,`, as `max` takes 2 numbers, found `3`"),
    (
        "state m\ntheta = m - g",
        "line 1, column 7: expected a line `m = …`, as without one the state stays 0, found none",
    ),
    ("state m m2", "line 1, column 9: expected `,` or the end of the line, found `m2`"),
    ("Theta = g", "line 1, column 1: expected `theta` in small letters, found `Theta`"),
    (
        "m = 0.9*m + g\ntheta = theta - eta*m",
        "line 1, column 9: expected a number, a function or one of eta, g, omega, pi, t, theta, found `m`, which has no value yet; \
         `state m` in a line before keeps one from step to step",
    ),
    (
        "theta = u\nu = g",
        "line 1, column 9: expected a number, a function or one of eta, g, omega, pi, t, theta, found `u`, which has a value only after \
         this",
    ),
    (
        "theta = sgn(g)",
        "line 1, column 9: expected one of the functions sign, abs, sqrt, exp, ln, tanh, sin, cos, norm, mean, sum, min, max, \
         dot, clamp, where, found `sgn`",
    ),
    (
        "param a = 1 in 0..2\na = g",
        "line 2, column 1: expected a state, `theta` or a new name to assign to, found `a`, which is a hyperparameter",
    ),
    ("theta = g $ 2", "line 1, column 11: expected an operator or the end of the line, found `$`"),
    ("g = theta", "line 1, column 1: expected a state, `theta` or a new name to assign to, found `g`, which is given"),
    (
        "sqrt = theta",
        "line 1, column 1: expected a state, `theta` or a new name to assign to, found `sqrt`, which is a function",
    ),
    ("# β\nstate m, m", "line 2, column 10: expected a name that nothing has yet, found `m`"),
    ("param a = 1", "line 1, column 12: expected `in` and the range, as in `0.9 in 0..1`, found the end of the text"),
    ("param a = 2 in 0..1", "line 1, column 11: expected a default from 0 to 1, found 2"),
    ("param a = 2 in 3..1", "line 1, column 16: expected a range whose end is larger than its start, found 3..1"),
    ("theta = max(g)", "line 1, column 14: expected `,`, as `max` takes 2 numbers, found `)`"),
    ("theta = abs(g, g)", "line 1, column 14: expected `)`, as `abs` takes 1 number, found `,`"),
    (
        "theta = norm(t)",
        "line 1, column 9: expected something in `norm` that differs between parameters, such as `g`, found a number that is \
         the same for all of them",
    ),
    ("state a, b, c, d, e, f, h", "line 1, column 25: expected at most 6 states, found one more"),
    ("param text = 1 in 0..2", "line 1, column 7: expected a name that presets do not use themselves, found `text`"),
    ("theta = 1e999", "line 1, column 9: expected a number of at most 1.8e308, found `1e999`"),
];

/// βᵗ is the product of the values of β in each step, also if the text changes meanwhile; a new β counts as if it had
/// always existed.
#[test]
fn products_of_decay_rates_survive_a_change_of_the_text() {
    let rule = |text: &str, values: &[(&str, f64)]| {
        let typed = RuleSpec::on_plane(RuleKind::Typed(TypedRule::new("mine", text).unwrap()));
        rated(0.1, values.iter().fold(typed, |rule, (key, value)| rule.with(key, *value).unwrap()))
    };
    let first = "param beta1 = 0.9 in 0..1\ntheta = theta - eta*beta1^t";
    let second = "param beta2 = 0.99 in 0..1, beta1 = 0.9 in 0..1\ntheta = theta - eta*(beta1^t + 2*beta2^t)";
    let changes = [
        (0, rule(first, &[])),
        (10, rule(first, &[("beta1", 0.8)])),
        (20, rule(second, &[("beta1", 0.8), ("beta2", 0.95)])),
        (30, rule(second, &[("beta1", 0.95), ("beta2", 0.9)])),
        (40, rule(first, &[("beta1", 0.99)])),
    ];
    let mut simulation = Simulation::new(simulation(1.0, 1, &[changes[0].1]));
    let [mut expected, _] = simulation.ensembles()[0].position(0);
    let (mut beta1_power, mut beta2_power) = (1.0, 1.0);
    for step in 0..50 {
        let (_, rule) = changes.iter().rev().find(|(from, _)| *from <= step).unwrap();
        if changes.iter().any(|(from, _)| *from == step) {
            simulation.apply(&Setting::Rule { optimizer: 1, rule: *rule }).unwrap();
        }
        simulation.advance();
        beta1_power *= rule.rule.get("beta1").unwrap();
        let of_beta2 = rule.rule.get("beta2").map(|beta2| {
            if step == 20 {
                beta2_power = beta2.powi(20);
            }
            beta2_power *= beta2;
            2.0 * beta2_power
        });
        expected -= 0.1 * (beta1_power + of_beta2.unwrap_or(0.0));
        let [x, _] = simulation.ensembles()[0].position(0);
        assert!((x - expected).abs() < 1e-13, "step {step}: {x} where {expected} is right");
    }
}

#[test]
fn mistakes_are_reported_with_position_and_expectation() {
    for (text, expected) in MISTAKES {
        let error = Program::new(text).unwrap_err();
        assert_eq!(error.to_string(), *expected, "of {text:?}");
        assert!(error.range.end <= text.len() && text.get(error.range.clone()).is_some(), "of {text:?}");
    }
}

#[test]
fn sizes_are_bounded() {
    let refused = |text: &str, of: &str| {
        let error = Program::new(text).unwrap_err().to_string();
        assert!(error.contains(of), "{error}");
    };
    refused(&format!("theta = {}g{}", "(".repeat(100), ")".repeat(100)), "at most 64 brackets");
    refused(&format!("theta = {}g", "-".repeat(100)), "at most 64 brackets");
    refused(&format!("theta = g{}", "^g".repeat(100)), "at most 64 brackets");
    refused(&format!("theta = g{}", " + g".repeat(600)), "at most 512 operations");
    refused(&"# nothing\n".repeat(1100), "at most 10000 characters");
    let again: String = std::iter::repeat_n("u = u*u\n", 60).collect();
    refused(&format!("u = g*g\n{again}theta = theta - u"), "at most 20000 numbers");
    let named: String = (1..300).map(|number| format!("a{number} = a{} + g\n", number - 1)).collect();
    refused(&format!("a0 = g + 1\n{named}theta = theta - g"), "at most 255 assignments");
    let many: String = (1..40).map(|number| format!(" + {number}.5*g")).collect();
    refused(&format!("theta = theta{many}"), "at most 32 constants");
    let mut kept = String::new();
    (1..40).for_each(|number| writeln!(kept, "a{number} = g^(theta + {number})").unwrap());
    let sum: String = (1..40).rev().map(|number| format!(" + a{number}*a{number}")).collect();
    refused(&format!("{kept}theta = theta{sum}"), "at most 32");
}

#[test]
fn nan_is_a_result() {
    let after = |step: &str| positions(&written(&format!("theta = {step}"), ""), 1)[0][0];
    assert_eq!(after("1/(theta - theta)"), f64::INFINITY);
    assert!(after("(theta - theta)/(theta - theta)").is_nan());
    assert!(after("sqrt(-abs(theta))").is_nan() && after("ln(-abs(theta))").is_nan());
    assert_eq!(after("exp(1e5 + theta)"), f64::INFINITY);
    assert_eq!(after("ln(theta - theta)"), f64::NEG_INFINITY);
    for function in ["max(x, 1)", "max(1, x)", "min(x, 1)", "min(1, x)", "max(x, g)", "max(g, x)", "clamp(x, -1, 1)"] {
        let text = format!("x = sqrt(-1 - abs(g))\ntheta = {function}");
        assert!(positions(&written(&text, ""), 1)[0][0].is_nan(), "{function}");
    }
    assert_eq!(after("where(theta != theta, 1, 2)"), 2.0);
    for condition in ["0/0", "sqrt(-1 - abs(g))", "ln(-1 - abs(theta))*(g < 0)"] {
        assert!(after(&format!("where({condition}, 1, 2)")).is_nan(), "{condition}");
    }
    assert_eq!(after("(theta >= theta) + 2*(theta > theta) + 4*(theta <= theta) + 8*(theta < theta)"), 5.0);
}

#[test]
fn functions_of_the_whole_parameter_use_x_and_y() {
    let text = "theta = where(norm(theta)^2 == dot(theta, theta), mean(theta), sum(theta))";
    let start = positions("Sgd(learning_rate: 0.00000001)", 1);
    for ([x, y], [a, b]) in positions(&written("theta = sum(theta) - mean(theta)", ""), 1).iter().zip(start) {
        assert!((x - 0.5 * (a + b)).abs() < 1e-6 && x == y);
    }
    assert!(Program::new(text).unwrap().needs_whole_parameter());
}

#[test]
fn a_preset_with_a_typed_rule_is_read_as_it_was_written() {
    let rule = written(FOCUS, ", gamma: 0.5");
    let text = format!(
        "Landscape(version: 1, title: \"t\", simulations: [(spec: (landscape: Valley(sharpness: 10.0, slope: 0.1, \
         rotation_degrees: 30.0), noise: 1.0, steps: 100, optimizers: [(id: 1, rule: {rule})]))])"
    );
    let preset = Preset::parse(&text, "test").unwrap();
    let ron = preset.to_ron();
    assert!(ron.contains("\nm   = beta1*m + (1 - beta1)*g\n"), "the text stays readable:\n{ron}");
    assert_eq!(Preset::parse(&ron, "test").unwrap(), preset);
    let with_quotes = text.replace("state m, avg\\n", "state m, avg # of \\\"this\\\" and \\\\ that\\n");
    let preset = Preset::parse(&with_quotes, "test").unwrap();
    assert_eq!(Preset::parse(&preset.to_ron(), "test").unwrap(), preset);
    for (from, to, expected) in [
        ("gamma: 0.5", "kappa: 0.5", "kappa"),
        ("gamma: 0.5", "gamma: 1.5", "-1"),
        ("sign(m)", "sing(m)", "line 5, column 22"),
        ("name: \"mine\"", "name: \"Adam\"", "Adam"),
        ("name: \"mine\"", "name: \" Adam\"", "spaces"),
        ("name: \"mine\"", "name: \"a\\nb\"", "control characters"),
        ("name: \"mine\"", "name: \"\u{200b}\"", "visible character"),
        ("name: \"mine\"", "name: \"\\u{2800}\"", "found `\\u{2800}`"),
        ("name: \"mine\"", "name: \"mi\u{202e}ne\"", "found `mi\\u{202e}ne`"),
        ("name: \"mine\"", "name: \"mine\u{feff}\"", "invisible"),
        ("name: \"mine\", ", "", "name"),
    ] {
        let error = Preset::parse(&text.replace(from, to), "test").unwrap_err().to_string();
        assert!(error.contains(expected), "{from} → {to}: {error}");
    }
}

/// States can be set to a step's inputs: the gradient, θ before the step, the learning rate, ω, t and a number.
#[test]
fn states_can_be_set_to_a_steps_inputs() {
    const STATES: [&str; 6] = ["p", "q", "r", "o", "n", "s"];
    let rule = |state: &str| {
        let given = "p = g\nq = theta\nr = eta\no = omega\nn = t\ns = 2";
        let text = format!("state p, q, r, o, n, s\nkept = {state}\n{given}\ntheta = theta - eta*kept");
        let typed = TypedRule::new(&format!("keeps {state}"), &text).unwrap();
        rated(0.1, RuleSpec::on_plane(RuleKind::Typed(typed)))
    };
    for index in 0..STATES.len() {
        let mut simulation = Simulation::new(simulation(1.0, 1, &STATES.map(rule)));
        simulation.select(Some(ParticleId { optimizer: index as u32 + 1, particle: 0 }));
        let mut kept = [0.0; 2];
        for _ in 0..5 {
            simulation.advance();
            let step = simulation.step_trace().unwrap();
            for (axis, kept) in kept.iter().enumerate() {
                let expected = step.inputs.theta[axis] - 0.1 * kept;
                let found = step.after[axis];
                assert!((found - expected).abs() <= 1e-14, "{}: {found} and {expected}", STATES[index]);
            }
            let number = step.step() as f64;
            let StepInputs { theta, gradient, rule, .. } = step.inputs;
            kept = [gradient, theta, [0.1; 2], [rule.weight_decay(); 2], [number; 2], [2.0; 2]][index];
        }
    }
}

#[test]
fn equal_typed_rules_are_interned() {
    let [a, b] = [FOCUS; 2].map(|text| TypedRule::new("twice", text).unwrap());
    assert!(std::ptr::eq(a, b));
    assert_ne!(RuleKind::Typed(a), RuleKind::Typed(TypedRule::new("twice", NADAM).unwrap()));
}

/// A million texts: pieces of programs in any order, and programs with some characters changed.
#[test]
fn no_text_makes_the_parser_panic() {
    const PIECES: &[&str] = &[
        "state ",
        "param ",
        " in ",
        "m",
        "theta",
        "g",
        "t",
        "eta",
        "omega",
        "beta",
        "=",
        "==",
        "+",
        "-",
        "*",
        "/",
        "^",
        "(",
        ")",
        ",",
        "..",
        ".",
        "<",
        ">=",
        "!=",
        "0",
        "0.9",
        "1e-8",
        "2",
        "sign(",
        "norm(",
        "where(",
        "max(",
        "clamp(",
        "exp(",
        "#",
        "\n",
        "\n",
        " ",
        "β",
        "\u{301}",
        "\0",
        "theta = theta - eta*(",
        "m = ",
        "beta^t",
    ];
    let mut random = StdRng::seed_from_u64(11);
    let mut accepted = 0;
    for round in 0..1_000_000 {
        let text = if round % 2 == 0 {
            (0..random.random_range(1..24)).map(|_| PIECES[random.random_range(0..PIECES.len())]).collect()
        } else {
            let mut characters: Vec<char> = FOCUS.chars().collect();
            for _ in 0..random.random_range(1..4) {
                let at = random.random_range(0..characters.len());
                match random.random_range(0..3) {
                    0 => drop(characters.remove(at)),
                    1 => characters[at] = random.random_range('\0'..'\u{7f}'),
                    _ => characters.insert(at, PIECES[random.random_range(0..PIECES.len())].chars().next().unwrap()),
                }
            }
            characters.into_iter().collect::<String>()
        };
        match Program::new(&text) {
            Ok(_) => accepted += 1,
            Err(error) => assert!(text.get(error.range).is_some(), "{text:?}"),
        }
        let end = tokens(&text).into_iter().fold(0, |end, token| {
            assert!(token.range.start >= end && !token.range.is_empty());
            token.range.end
        });
        assert!(end <= text.len());
    }
    assert!(accepted > 1_000, "only {accepted} were programs");
}
