//! Ranges of axes that suit most curves, robust against a few outliers and diverged curves.

use super::AxisScale;

/// The smallest and the largest value of a curve.
pub type Extent = [f64; 2];

/// A curve that needs this many times the range of all smaller ones has run away: it would leave them less than a pixel
/// or two.
const RUNAWAY: f64 = 100.0;
/// A band that needs this many times the range of all smaller ones has run away. It is paler and matters less than the
/// curve itself.
const WIDE: f64 = 20.0;

/// The places up to which curves that have blown up determine the range of their plot.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ceiling {
    /// A curve that reaches a higher place has blown up.
    blown_up: f64,
    /// The highest place of such a curve that determines the range.
    kept: f64,
}

impl Ceiling {
    /// Returns the ceiling for losses of trainings: one above ten times the largest initial loss has diverged, and
    /// determines the range up to that initial loss. An untrained model has about the loss of guessing, which no useful
    /// training exceeds for long. `None` without a positive initial loss.
    pub fn of_losses(initial: impl Iterator<Item = f64>, scale: AxisScale) -> Option<Ceiling> {
        Ceiling::above(initial, 10.0, scale)
    }

    /// Returns the ceiling for norms of gradients and other quantities that may well grow: one above a thousand times
    /// the largest initial value has blown up, and determines the range up to that value.
    pub fn of_sizes(initial: impl Iterator<Item = f64>, scale: AxisScale) -> Option<Ceiling> {
        Ceiling::above(initial, 1e3, scale)
    }

    fn above(initial: impl Iterator<Item = f64>, factor: f64, scale: AxisScale) -> Option<Ceiling> {
        let initial: Vec<f64> = initial.filter(|value| value.is_finite() && *value > 0.0).collect();
        let smallest = initial.iter().copied().reduce(f64::min)?;
        // A run that diverges before its first record must not determine the ceiling of others.
        let largest = initial.into_iter().filter(|value| *value <= 100.0 * smallest).fold(smallest, f64::max);
        let [blown_up, kept] = [factor * largest, largest].map(|value| scale.place(value));
        (blown_up.is_finite() && kept.is_finite()).then_some(Ceiling { blown_up, kept })
    }

    /// Returns the highest place that determines the range, of a curve with these places.
    pub fn of_curve(self, places: impl Iterator<Item = f64>) -> f64 {
        if places.fold(f64::NEG_INFINITY, f64::max) > self.blown_up { self.kept } else { f64::INFINITY }
    }
}

/// Returns the smallest extent that holds both.
pub fn union(a: Extent, b: Extent) -> Extent {
    [a[0].min(b[0]), a[1].max(b[1])]
}

fn length([low, high]: Extent) -> f64 {
    high - low
}

/// Returns the curves that determine a range: all, except where a minority needs more than `factor` times the range of
/// the others.
fn sensible(extents: &[Extent], factor: f64) -> Vec<bool> {
    let mut order: Vec<usize> = (0..extents.len()).collect();
    order.sort_by(|&a, &b| length(extents[a]).total_cmp(&length(extents[b])));
    let least = extents.len().div_ceil(2);
    let mut together = [f64::INFINITY, f64::NEG_INFINITY];
    let mut keep = vec![true; extents.len()];
    for (taken, &index) in order.iter().enumerate() {
        let with = union(together, extents[index]);
        if taken >= least && length(together) > 0.0 && length(with) > factor * length(together) {
            for &runaway in &order[taken..] {
                keep[runaway] = false;
            }
            break;
        }
        together = with;
    }
    keep
}

/// Returns the vertical range of a plot of these curves: the extent that suits them, with a margin.
pub fn with_margin(curves: &[(Extent, Option<Extent>)]) -> Extent {
    let Some([low, high]) = suiting(curves) else { return [0.0, 1.0] };
    let margin = if high > low { 0.06 * (high - low) } else { (0.1 * high.abs()).max(1e-3) };
    [low - margin, high + margin]
}

/// Returns the vertical range of a plot of these curves with all their values, with a margin.
pub fn whole_with_margin(curves: &[(Extent, Option<Extent>)]) -> Extent {
    let whole = curves.iter().map(|&(mean, band)| band.map_or(mean, |band| union(mean, band)));
    with_margin(whole.reduce(union).map(|whole| (whole, None)).as_slice())
}

/// Returns the extent that suits these curves, given the extent of each one's means and, if shown, of its band.
/// A minority that would flatten the others is left out. `None` without a curve.
pub fn suiting(curves: &[(Extent, Option<Extent>)]) -> Option<Extent> {
    let means: Vec<Extent> = curves.iter().map(|(mean, _)| *mean).collect();
    let kept = sensible(&means, RUNAWAY);
    let curves: Vec<_> = curves.iter().zip(kept).filter_map(|(curve, keep)| keep.then_some(*curve)).collect();
    let whole: Vec<Extent> = curves.iter().map(|&(mean, band)| band.map_or(mean, |band| union(mean, band))).collect();
    let narrow = sensible(&whole, WIDE);
    let parts = curves.iter().zip(&whole).zip(narrow).map(|((curve, whole), keep)| if keep { *whole } else { curve.0 });
    parts.reduce(union)
}

/// Returns the horizontal range of a plot of curves over this extent: a margin keeps points at its ends fully visible.
pub fn across(extent: Option<Extent>) -> Extent {
    const MARGIN: f64 = 0.02;
    match extent {
        Some([low, high]) if high > low => [low - MARGIN * (high - low), high + MARGIN * (high - low)],
        Some([only, _]) => [only - 0.5, only + 0.5],
        None => [0.0, 1.0],
    }
}
