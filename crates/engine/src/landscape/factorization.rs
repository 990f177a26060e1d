use super::{Definition, HomeView, LandscapeInfo, ROTATION};
use crate::expression::Algebra;

/// The factorization of a number: `L = ½(1 − uv)²`, with its minima on the curve uv = 1.
pub struct Factorization;

impl Definition<0> for Factorization {
    const INFO: LandscapeInfo = LandscapeInfo {
        name: "Factorization",
        formula: "½(1 − uv)²",
        about: "Flat and sharp minima on one curve, uv = 1.",
        source: "matrix factorization with one entry",
        parameters: &[ROTATION],
        metrics: &[],
        start: [2.0, 0.1],
        home: HomeView { center: [0.0, 0.0], width: 9.0 },
    };

    fn loss<A: Algebra>([]: [A; 0], [u, v]: [A; 2]) -> A {
        let rest = A::splat(1.0) - u * v;
        A::splat(0.5) * rest * rest
    }
}
