use super::{Definition, HomeView, LandscapeInfo, ROTATION};
use crate::expression::Algebra;
use crate::quantity::Range;
use crate::setting::SettingInfo;

/// A quadratic bowl: `L = ½(u² + κv²)`.
pub struct Quadratic;

impl Definition<1> for Quadratic {
    const INFO: LandscapeInfo = LandscapeInfo {
        name: "Quadratic",
        formula: "½(u² + κv²)",
        about: "A bowl whose condition number is κ.",
        source: "the textbook example",
        parameters: &[
            SettingInfo::number("κ", "Condition number κ", Range::new("condition_number", 1e-3, 1e6))
                .slider(1.0, 1000.0)
                .logarithmic()
                .default(100.0)
                .help("The quotient of the curvatures across and along."),
            ROTATION.default(30.0),
        ],
        metrics: &[],
        start: [1.5, 0.5],
        home: HomeView { center: [0.0, 0.0], width: 6.0 },
    };

    fn loss<A: Algebra>([kappa]: [A; 1], [u, v]: [A; 2]) -> A {
        A::splat(0.5) * (u * u + kappa * v * v)
    }
}
