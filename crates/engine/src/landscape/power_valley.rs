use super::{DEPTH, Definition, HomeView, LandscapeInfo, ROTATION, SHARPNESS, SLOPE, SPREAD};
use crate::expression::Algebra;
use crate::quantity::Range;
use crate::setting::SettingInfo;

/// A valley that narrows as a power of u: `L = (a/2) |u|ᵖ v² − cu`. p = 0 does not narrow, p = 2 is the paper's
/// valley.
pub struct PowerValley;

impl Definition<3> for PowerValley {
    const INFO: LandscapeInfo = LandscapeInfo {
        name: "Power valley",
        formula: "(a/2) |u|ᵖ v² − cu",
        about: "How fast a valley narrows: not at all for p = 0, as in the paper for p = 2.",
        source: "generalizes the FOCUS paper, equation 1",
        parameters: &[
            SHARPNESS,
            SLOPE,
            SettingInfo::number("p", "Exponent p", Range::new("exponent", 0.0, 8.0))
                .slider(0.0, 4.0)
                .default(3.0)
                .help("How fast the valley narrows: its curvature grows as |u|ᵖ."),
            ROTATION.default(30.0),
        ],
        metrics: &[DEPTH, SPREAD],
        start: [0.0, 0.0],
        home: HomeView { center: [0.9, 0.5], width: 3.0 },
    };

    fn loss<A: Algebra>([a, c, p]: [A; 3], [u, v]: [A; 2]) -> A {
        A::splat(0.5) * a * u.abs().power(p) * v * v - c * u
    }
}
