use super::{Definition, HomeView, LandscapeInfo, ROTATION};
use crate::expression::Algebra;

/// A saddle between two minima: `L = ½(u² − v²) + ¼v⁴`.
pub struct Saddle;

impl Definition<0> for Saddle {
    const INFO: LandscapeInfo = LandscapeInfo {
        name: "Saddle",
        formula: "½(u² − v²) + ¼v⁴",
        about: "A saddle at 0 between minima at v = ±1: how fast is it left?",
        source: "a double well along v",
        parameters: &[ROTATION],
        metrics: &[],
        start: [1.0, 0.0],
        home: HomeView { center: [0.0, 0.0], width: 6.0 },
    };

    fn loss<A: Algebra>([]: [A; 0], [u, v]: [A; 2]) -> A {
        let square = v * v;
        A::splat(0.5) * (u * u - square) + A::splat(0.25) * square * square
    }
}
