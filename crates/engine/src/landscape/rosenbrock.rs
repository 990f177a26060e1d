use super::{Definition, HomeView, LandscapeInfo, ROTATION};
use crate::expression::Algebra;
use crate::quantity::Range;
use crate::setting::SettingInfo;

/// Rosenbrock's function: `L = (1 − u)² + b(v − u²)²` (Rosenbrock, [Computer Journal 3,
/// 1960](https://doi.org/10.1093/comjnl/3.3.175)).
pub struct Rosenbrock;

impl Definition<1> for Rosenbrock {
    const INFO: LandscapeInfo = LandscapeInfo {
        name: "Rosenbrock",
        formula: "(1 − u)² + b(v − u²)²",
        about: "A curved valley with its minimum at (1, 1).",
        source: "Rosenbrock, Computer Journal 3, 175 (1960)",
        parameters: &[
            SettingInfo::number("b", "Coefficient b", Range::new("b", 1e-3, 1e6))
                .slider(1.0, 1000.0)
                .logarithmic()
                .default(100.0)
                .help("How steep the walls of the curved valley are."),
            ROTATION,
        ],
        metrics: &[],
        start: [-1.2, 1.0],
        home: HomeView { center: [0.0, 1.0], width: 6.0 },
    };

    fn loss<A: Algebra>([b]: [A; 1], [u, v]: [A; 2]) -> A {
        let (along, across) = (A::splat(1.0) - u, v - u * u);
        along * along + b * across * across
    }
}
