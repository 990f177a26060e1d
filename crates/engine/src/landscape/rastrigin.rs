use std::f64::consts::TAU;

use super::{Definition, HomeView, LandscapeInfo, ROTATION};
use crate::expression::{Algebra, Function};
use crate::quantity::Range;
use crate::setting::SettingInfo;

/// Rastrigin's function: `L = 2A + u² − A cos 2πu + v² − A cos 2πv` (Rastrigin, 1974).
pub struct Rastrigin;

impl Definition<1> for Rastrigin {
    const INFO: LandscapeInfo = LandscapeInfo {
        name: "Rastrigin",
        formula: "2A + u² − A cos 2πu + v² − A cos 2πv",
        about: "Many local minima around the lowest one at 0.",
        source: "Rastrigin, Systems of Extremal Control (1974)",
        parameters: &[
            SettingInfo::number("A", "Amplitude A", Range::new("amplitude", 0.0, 1000.0))
                .slider(0.0, 20.0)
                .default(10.0)
                .help("How high the barriers between the minima are."),
            ROTATION,
        ],
        metrics: &[],
        start: [2.6, 1.8],
        home: HomeView { center: [0.0, 0.0], width: 12.0 },
    };

    fn loss<A: Algebra>([amplitude]: [A; 1], [u, v]: [A; 2]) -> A {
        let part = |at: A| at * at - amplitude * (A::splat(TAU) * at).function(Function::Cos);
        A::splat(2.0) * amplitude + part(u) + part(v)
    }
}
