use super::{DEPTH, Definition, HomeView, LandscapeInfo, ROTATION, SHARPNESS, SLOPE, SPREAD};
use crate::expression::Algebra;
use crate::quantity::Range;
use crate::setting::SettingInfo;

/// A narrowing valley with a minimum at (U, 0): `L = (a/2) u²v² − cu + cu²/(2U)`.
pub struct BoundedValley;

impl Definition<3> for BoundedValley {
    const INFO: LandscapeInfo = LandscapeInfo {
        name: "Bounded valley",
        formula: "(a/2) u²v² − cu + cu²/(2U)",
        about: "The paper's valley with a true minimum at u = U.",
        source: "the FOCUS paper, equation 1, with a floor that levels off",
        parameters: &[
            SHARPNESS,
            SLOPE,
            SettingInfo::number("U", "Length U", Range::new("length", 1e-3, 1e3))
                .slider(0.5, 20.0)
                .logarithmic()
                .default(3.0)
                .help("The position of the minimum, u = U on the floor."),
            ROTATION.default(30.0),
        ],
        metrics: &[DEPTH, SPREAD],
        start: [0.0, 0.0],
        home: HomeView { center: [1.0, 0.5], width: 7.5 },
    };

    fn loss<A: Algebra>([a, c, length]: [A; 3], [u, v]: [A; 2]) -> A {
        let wall = u * v;
        A::splat(0.5) * a * wall * wall - c * u + A::splat(0.5) * c * u * u / length
    }
}
