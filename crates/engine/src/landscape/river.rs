use super::{Coordinate, DEPTH, Definition, HomeView, LandscapeInfo, LandscapeMetric, ROTATION, SHARPNESS, SLOPE};
use crate::expression::{Algebra, Function};
use crate::quantity::Range;
use crate::setting::SettingInfo;

/// A bent, narrowing valley: `L = (a/2)(1 + bu²)(v − A sin ku)² − cu` (river valleys: Wen et al.,
/// [arXiv:2410.05192](https://arxiv.org/abs/2410.05192)).
pub struct River;

impl Definition<5> for River {
    const INFO: LandscapeInfo = LandscapeInfo {
        name: "River",
        formula: "(a/2)(1 + bu²)(v − A sin ku)² − cu",
        about: "A valley whose floor bends from side to side and narrows.",
        source: "river valleys, Wen et al., arXiv:2410.05192",
        parameters: &[
            SHARPNESS,
            SLOPE,
            SettingInfo::number("b", "Narrowing b", Range::new("narrowing", 0.0, 100.0))
                .slider(0.0, 5.0)
                .default(1.0)
                .help("How quickly the valley narrows along u; 0 keeps its width."),
            SettingInfo::number("A", "Amplitude A", Range::new("amplitude", -10.0, 10.0))
                .slider(0.0, 2.0)
                .default(0.5)
                .help("How far the floor bends to either side."),
            SettingInfo::number("k", "Wavenumber k", Range::new("wavenumber", 0.0, 100.0))
                .slider(0.0, 6.0)
                .default(1.5)
                .help("How many bends there are: one turn each 2π/k of u."),
            ROTATION,
        ],
        metrics: &[
            DEPTH,
            LandscapeMetric {
                coordinate: Coordinate::AbsV,
                name: "distance",
                explanation: "How far from the straight line v = 0, about which the river bends, the particles are.",
            },
        ],
        start: [0.0, 0.0],
        home: HomeView { center: [2.0, 0.0], width: 7.5 },
    };

    fn loss<A: Algebra>([a, c, narrowing, amplitude, wavenumber]: [A; 5], [u, v]: [A; 2]) -> A {
        let across = v - amplitude * (wavenumber * u).function(Function::Sin);
        A::splat(0.5) * a * (A::splat(1.0) + narrowing * u * u) * across * across - c * u
    }
}
