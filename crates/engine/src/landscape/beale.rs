use super::{Definition, HomeView, LandscapeInfo, ROTATION};
use crate::expression::Algebra;

/// Beale's function: `L = (1.5 − u + uv)² + (2.25 − u + uv²)² + (2.625 − u + uv³)²` (Beale, 1958).
pub struct Beale;

impl Definition<0> for Beale {
    const INFO: LandscapeInfo = LandscapeInfo {
        name: "Beale",
        formula: "(1.5 − u + uv)² + (2.25 − u + uv²)² + (2.625 − u + uv³)²",
        about: "Flat arms with steep corners; the minimum is at (3, 0.5).",
        source: "Beale, Technical Report 25, Princeton University (1958)",
        parameters: &[ROTATION],
        metrics: &[],
        start: [1.0, 1.0],
        home: HomeView { center: [0.5, 0.5], width: 12.0 },
    };

    fn loss<A: Algebra>([]: [A; 0], [u, v]: [A; 2]) -> A {
        let part = |of: f64, power: A| {
            let part = A::splat(of) - u + u * power;
            part * part
        };
        part(1.5, v) + part(2.25, v * v) + part(2.625, v * v * v)
    }
}
