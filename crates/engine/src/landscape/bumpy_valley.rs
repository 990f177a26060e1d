use super::{DEPTH, Definition, HomeView, LandscapeInfo, ROTATION, SHARPNESS, SLOPE, SPREAD};
use crate::expression::{Algebra, Function};
use crate::quantity::Range;
use crate::setting::SettingInfo;

/// A narrowing valley with barriers on its floor: `L = (a/2) u²v² − cu + h(1 − cos ku)`.
pub struct BumpyValley;

impl Definition<4> for BumpyValley {
    const INFO: LandscapeInfo = LandscapeInfo {
        name: "Bumpy valley",
        formula: "(a/2) u²v² − cu + h(1 − cos ku)",
        about: "The paper's valley with barriers across its floor.",
        source: "the FOCUS paper, equation 1, with a periodic barrier",
        parameters: &[
            SHARPNESS,
            SLOPE,
            SettingInfo::number("h", "Height h", Range::new("height", 0.0, 100.0))
                .slider(0.0, 0.2)
                .default(0.02)
                .help("Half the height of the barriers."),
            SettingInfo::number("k", "Wavenumber k", Range::new("wavenumber", 0.0, 100.0))
                .slider(0.0, 20.0)
                .default(6.0)
                .help("How dense the barriers are: one each 2π/k of u."),
            ROTATION.default(30.0),
        ],
        metrics: &[DEPTH, SPREAD],
        start: [0.0, 0.0],
        home: HomeView { center: [0.9, 0.5], width: 3.0 },
    };

    fn loss<A: Algebra>([a, c, height, wavenumber]: [A; 4], [u, v]: [A; 2]) -> A {
        let wall = u * v;
        let barrier = height * (A::splat(1.0) - (wavenumber * u).function(Function::Cos));
        A::splat(0.5) * a * wall * wall - c * u + barrier
    }
}
