use super::{Coordinate, DEPTH, Definition, HomeView, LandscapeInfo, LandscapeMetric, ROTATION, SHARPNESS, SLOPE};
use crate::expression::{Algebra, Function, Relation};
use crate::quantity::Range;
use crate::setting::SettingInfo;

/// Two valleys side by side, joined by a soft minimum: `L = −τ ln(e^(−L₁/τ) + e^(−L₂/τ))` with a wide, gentle `L₁ =
/// (a/2)(v − d)² − cu` and a narrow, steep `L₂ = (ra/2)(v + d)² − scu`.
pub struct TwoValleys;

impl Definition<6> for TwoValleys {
    const INFO: LandscapeInfo = LandscapeInfo {
        name: "Two valleys",
        formula: "−τ ln(e^(−L₁/τ) + e^(−L₂/τ)), L₁ = (a/2)(v − d)² − cu, L₂ = (ra/2)(v + d)² − scu",
        about: "A wide, gentle valley beside a narrow, steep one.",
        source: "a soft minimum of two valleys of constant width",
        parameters: &[
            SHARPNESS.default(1.0),
            SLOPE,
            SettingInfo::number("r", "Sharpness ratio r", Range::new("sharpness_ratio", 1e-3, 1e5))
                .slider(1.0, 1000.0)
                .logarithmic()
                .default(20.0)
                .help("How much sharper the second valley is."),
            SettingInfo::number("s", "Slope ratio s", Range::new("slope_ratio", -100.0, 100.0))
                .slider(0.0, 10.0)
                .default(2.0)
                .help("How much more steeply the second valley falls."),
            SettingInfo::number("d", "Separation d", Range::new("separation", 0.0, 100.0))
                .slider(0.0, 2.0)
                .default(0.5)
                .help("Half the distance between the floors."),
            SettingInfo::number("τ", "Softness τ", Range::new("softness", 1e-4, 100.0))
                .slider(1e-3, 1.0)
                .logarithmic()
                .default(0.05)
                .help("How smoothly one valley passes into the other."),
            ROTATION,
        ],
        metrics: &[
            DEPTH,
            LandscapeMetric {
                coordinate: Coordinate::AbsV,
                name: "distance",
                explanation: "How far from the middle between the two valleys, v = 0, the particles are.",
            },
        ],
        start: [0.0, 0.0],
        home: HomeView { center: [2.0, 0.0], width: 6.0 },
    };

    fn loss<A: Algebra>([a, c, sharpness_ratio, slope_ratio, separation, softness]: [A; 6], [u, v]: [A; 2]) -> A {
        let (wide, narrow) = (v - separation, v + separation);
        let first = A::splat(0.5) * a * wide * wide - c * u;
        let second = A::splat(0.5) * sharpness_ratio * a * narrow * narrow - slope_ratio * c * u;
        // The smaller loss stands outside of the exponential, which so cannot overflow. Where both are equal, the
        // formula of either branch has the derivatives of the soft minimum; those of a minimum would be 0.
        let is_first = first.compared(Relation::Less, second);
        let (lower, higher) = (is_first.choose(first, second), is_first.choose(second, first));
        lower
            - softness * (A::splat(1.0) + (-(higher - lower) / softness).function(Function::Exp)).function(Function::Ln)
    }
}
