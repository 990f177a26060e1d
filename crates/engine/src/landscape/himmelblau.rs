use super::{Definition, HomeView, LandscapeInfo, ROTATION};
use crate::expression::Algebra;

/// Himmelblau's function: `L = (u² + v − 11)² + (u + v² − 7)²` (Himmelblau, 1972).
pub struct Himmelblau;

impl Definition<0> for Himmelblau {
    const INFO: LandscapeInfo = LandscapeInfo {
        name: "Himmelblau",
        formula: "(u² + v − 11)² + (u + v² − 7)²",
        about: "Four minima of equal depth.",
        source: "Himmelblau, Applied Nonlinear Programming (1972)",
        parameters: &[ROTATION],
        metrics: &[],
        start: [0.0, 0.0],
        home: HomeView { center: [0.0, 0.0], width: 16.5 },
    };

    fn loss<A: Algebra>([]: [A; 0], [u, v]: [A; 2]) -> A {
        let (first, second) = (u * u + v - A::splat(11.0), u + v * v - A::splat(7.0));
        first * first + second * second
    }
}
