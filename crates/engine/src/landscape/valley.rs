use super::{DEPTH, Definition, HomeView, LandscapeInfo, ROTATION, SHARPNESS, SLOPE, SPREAD};
use crate::expression::Algebra;

/// The narrowing valley of the FOCUS paper (section "Toy model", equation 1): `L = (a/2) u²v² − cu`.
pub struct Valley;

impl Definition<2> for Valley {
    const INFO: LandscapeInfo = LandscapeInfo {
        name: "Narrowing valley",
        formula: "(a/2) u²v² − cu",
        about: "A valley that falls along u and narrows as it falls, without a minimum.",
        source: "the FOCUS paper, equation 1",
        parameters: &[SHARPNESS, SLOPE, ROTATION.default(30.0)],
        metrics: &[DEPTH, SPREAD],
        start: [0.0, 0.0],
        home: HomeView { center: [0.9, 0.5], width: 3.0 },
    };

    fn loss<A: Algebra>([a, c]: [A; 2], [u, v]: [A; 2]) -> A {
        let wall = u * v;
        A::splat(0.5) * a * wall * wall - c * u
    }
}
