//! Finds the parts of a curve that lie on other curves, which are drawn as dashes so that both can be seen.

use std::ops::Range;

use super::curves::{CurvePoint, DiagnosticCurve};

/// The dashes of a curve on one other curve, and the least length of those on several, in points.
const DASH: f32 = 10.0;
const LEAST_DASH: f32 = 3.0;

/// A part of a curve's run.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Part {
    /// The indices of its points. Neighbouring parts share a point.
    pub points: Range<usize>,
    /// The length of its dashes; `None` for a whole line.
    pub dash: Option<f32>,
}

/// Divides a run of points into the parts that lie within `near` of curves drawn before it, and the others.
pub(super) fn parts(run: &[CurvePoint], below: &[&DiagnosticCurve], near: f64) -> Vec<Part> {
    let mut counts = vec![0_usize; run.len()];
    for curve in below {
        let mut others = curve.points().peekable();
        for (count, point) in counts.iter_mut().zip(run) {
            while others.next_if(|other| other.x < point.x).is_some() {}
            let meets = others.peek().is_some_and(|other| other.x == point.x && (other.y - point.y).abs() <= near);
            *count += usize::from(meets);
        }
    }
    // A line between two points lies on another one if both its ends do.
    let on = |index: usize| counts[index].min(counts[index + 1]);
    let mut parts: Vec<Part> = Vec::new();
    for index in 0..run.len().saturating_sub(1) {
        let dash = match on(index) {
            0 => None,
            others => Some((DASH / others as f32).max(LEAST_DASH)),
        };
        match parts.last_mut() {
            Some(part) if part.dash == dash => part.points.end = index + 2,
            _ => parts.push(Part { points: index..index + 2, dash }),
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::{Part, parts};
    use crate::app::diagnostics::curves::{CurvePoint, DiagnosticCurve};

    fn run(values: &[f64]) -> Vec<CurvePoint> {
        let point = |(step, &y): (usize, &f64)| CurvePoint { x: step as f64, y, envelope: [y; 2], band: None };
        values.iter().enumerate().map(point).collect()
    }

    #[test]
    fn a_curve_is_dashed_where_it_lies_on_another() {
        let below = DiagnosticCurve { runs: vec![run(&[0.0, 1.0, 2.0, 3.0, 4.0])], ..DiagnosticCurve::default() };
        let above = run(&[0.0, 1.001, 2.0, 9.0, 8.0]);
        let found = parts(&above, &[&below], 0.01);
        let [on, off] = [Some(10.0), None];
        assert_eq!(found, [Part { points: 0..3, dash: on }, Part { points: 2..5, dash: off }]);
        let third = parts(&above, &[&below, &below], 0.01);
        assert_eq!(third[0].dash, Some(5.0), "a third curve has shorter dashes than the second");
        assert_eq!(parts(&above, &[], 0.01), [Part { points: 0..5, dash: None }]);
    }
}
