//! Texts of losses.

use std::cell::Cell;

use valleyscope_engine::loss::LossProgram;

use crate::driver::{Target, fuzz};
use crate::messages::expect_plain;

const WORDS: &str = "x y u v phi pi L = L= param in .. + - * / ^ ( ) , < >= == != 0 1 2 0.5 -3 64 65 1e-8 1e300 1e308 sin( cos( \
    exp( ln( tanh( sqrt( abs( sign( max( min( clamp( where( norm( state # β \u{301} \0 ^-2 ^0.5 ^x a= a b";

const SEEDS: &[&str] = &[
    "param b = 100 in 1..1000\nL = (1 - x)^2 + b*(y - x^2)^2",
    "param a = 10 in 0..100, c = 0.1 in 0..1, p = 3 in 0..8\nL = a/2*abs(u)^p*v^2 - c*u",
    "L = (1.5 - u + u*v)^2 + (2.25 - u + u*v^2)^2 + (2.625 - u + u*v^3)^2",
    "param A = 10 in 0..20\nL = 2*A + u^2 - A*cos(2*pi*u) + v^2 - A*cos(2*pi*v)",
    "param t = 0.05 in 0..1\na = (v - 0.5)^2 - u\nb = 20*(v + 0.5)^2 - 2*u\nl = min(a, b)\n\
     L = l - t*ln(exp((l - a)/t) + exp((l - b)/t))",
    "r = sqrt(x^2 + y^2)\nL = where(r > 1, ln(r), tanh(r)*r^1.5 + sin(phi)) + clamp(x, -1, y) + sign(x)*max(x, 2)",
    "a = x*y\nb = a^2 - x/a\nL = (b >= 0)*b + (b < 0)*a^-3 + exp(-abs(a))^x",
];

/// The number of accepted texts that are evaluated; each stays in memory.
const EVALUATED: usize = 300;

#[test]
fn losses() {
    let seeds = SEEDS.iter().map(|text| text.as_bytes().to_vec()).collect();
    let target = Target { name: "losses", seeds, words: WORDS, memory: 16 << 20, cases: 3000 };
    let evaluated = Cell::new(0);
    fuzz(&target, |input| {
        let text = String::from_utf8_lossy(input);
        let program = match LossProgram::new(&text) {
            Ok(program) => program,
            Err(error) => {
                assert!(text.get(error.range.clone()).is_some(), "{error}");
                return expect_plain(&error.to_string(), &text);
            }
        };
        let names: Vec<&str> = program.parameters().iter().map(|parameter| parameter.name.as_str()).collect();
        assert!(program.wgsl().contains("fn landscape_gradient(") && program.gradient_text(&names).contains("L_x = "));
        // What is written is a loss again, with the same parameters.
        let declarations = program.parameters().iter().map(|parameter| {
            let [low, high] = parameter.range;
            format!("param {} = {} in {low}..{high}\n", parameter.name, parameter.default)
        });
        let written = declarations.collect::<String>() + &program.loss_text(&names);
        // Written with all its powers and names it may be longer than a text can be.
        if written.len() > 10_000 || written.lines().count() > 200 {
            return;
        }
        let again = LossProgram::new(&written).unwrap_or_else(|error| panic!("{error}\n{written}"));
        if evaluated.get() < EVALUATED {
            evaluated.set(evaluated.get() + 1);
            let defaults: Vec<f64> = program.parameters().iter().map(|parameter| parameter.default).collect();
            let [first, second] = [program, again].map(|program| &*Box::leak(Box::new(program)));
            let [first, second] = [first, second].map(|program| program.bind(&defaults, 0.4));
            for at in [[0.3, -0.7], [1.5, 0.25], [0.0, 0.0]] {
                let [found, expected]: [f64; 2] = [first.loss(at), second.loss(at)];
                assert!(found == expected || found.is_nan() && expected.is_nan(), "{found} and {expected}:\n{written}");
                first.hessian_diagonal(at);
            }
        }
    });
}
