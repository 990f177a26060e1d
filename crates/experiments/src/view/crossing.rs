//! The points where curves reach a loss, and the factors between them.

/// The point where a curve first reaches a level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Crossing {
    pub step: f64,
    /// Seconds of training.
    pub wall_s: f64,
}

/// Finds the first place where a curve of points `[step, wall_s, value]`, in their order, is at a level or below.
/// The curve consists of straight lines between its points; points that are not finite are left out, with the lines to
/// them. Returns `None` if the curve stays above the level.
pub fn first_crossing(points: impl IntoIterator<Item = [f64; 3]>, level: f64) -> Option<Crossing> {
    let mut above: Option<[f64; 3]> = None;
    for point in points {
        let [step, wall_s, value] = point;
        if value.is_finite() && value <= level {
            let Some(before) = above else { return Some(Crossing { step, wall_s }) };
            let part = (before[2] - level) / (before[2] - value);
            let between = |from: f64, to: f64| from + part * (to - from);
            return Some(Crossing { step: between(before[0], step), wall_s: between(before[1], wall_s) });
        }
        above = value.is_finite().then_some(point);
    }
    None
}

/// Returns the lowest level that all curves reach: the largest of their smallest finite values. None where a curve has
/// no finite value.
pub fn common_level<P: IntoIterator<Item = [f64; 3]>>(curves: impl IntoIterator<Item = P>) -> Option<f64> {
    let mut level: Option<f64> = None;
    for curve in curves {
        let finite = curve.into_iter().map(|[_, _, value]| value).filter(|value| value.is_finite());
        let lowest = finite.reduce(f64::min)?;
        level = Some(level.map_or(lowest, |level| level.max(lowest)));
    }
    level
}

/// Returns the ratio of a baseline and another number in words, such as `1.80 × fewer`; `more` is the word where the
/// other number is larger. Empty where one of them is 0, as at the first step.
pub fn speedup(baseline: f64, taken: f64, [fewer, more]: [&str; 2]) -> String {
    let ratio = baseline / taken;
    match ratio {
        _ if !(ratio.is_finite() && ratio > 0.0) => String::new(),
        1.0.. => format!("{ratio:.2} × {fewer}"),
        _ => format!("{:.2} × {more}", 1.0 / ratio),
    }
}
