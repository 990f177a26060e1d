//! The plotted quantities of a simulation, the ranges of axes that suit curves, and where curves reach a loss.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use valleyscope_engine::landscape::{Coordinate, LandscapeSpec};
use valleyscope_engine::shares::Shares;
use valleyscope_engine::simulation::{Bucket, BucketSpread};

use super::AxisScale;

/// The smallest and the largest value of a curve.
pub type Extent = [f64; 2];

/// A curve that needs this many times the range of all smaller ones is an outlier: they would be one or two pixels
/// high.
const RUNAWAY: f64 = 100.0;
/// A band that needs this many times the range of all smaller ones is an outlier. It is fainter and matters less than
/// the curve itself.
const WIDE: f64 = 20.0;

/// The positions up to which curves that have blown up determine the range of their plot.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ceiling {
    /// A curve that reaches a higher position has blown up.
    blown_up: f64,
    /// The highest position of a blown-up curve that determines the range.
    limit: f64,
}

impl Ceiling {
    /// Computes the ceiling for losses of trainings: one above ten times the largest initial loss has diverged, and
    /// determines the range up to that initial loss. An untrained model has about the loss of guessing, which no useful
    /// training exceeds for long. `None` without a positive initial loss.
    pub fn of_losses(initial: impl Iterator<Item = f64>, scale: AxisScale) -> Option<Ceiling> {
        Ceiling::above(initial, 10.0, scale)
    }

    /// Computes the ceiling for norms of gradients and other quantities that may grow: one above a thousand times the
    /// largest initial value has blown up, and determines the range up to that value.
    pub fn of_sizes(initial: impl Iterator<Item = f64>, scale: AxisScale) -> Option<Ceiling> {
        Ceiling::above(initial, 1e3, scale)
    }

    fn above(initial: impl Iterator<Item = f64>, factor: f64, scale: AxisScale) -> Option<Ceiling> {
        let initial: Vec<f64> = initial.filter(|value| value.is_finite() && *value > 0.0).collect();
        let smallest = initial.iter().copied().reduce(f64::min)?;
        // A run that diverges before its first record must not determine the ceiling of others.
        let largest = initial.into_iter().filter(|value| *value <= 100.0 * smallest).fold(smallest, f64::max);
        let [blown_up, limit] = [factor * largest, largest].map(|value| scale.position(value));
        (blown_up.is_finite() && limit.is_finite()).then_some(Ceiling { blown_up, limit })
    }

    /// The highest position that determines the range, of a curve with these positions.
    pub fn of_curve(self, positions: impl Iterator<Item = f64>) -> f64 {
        if positions.fold(f64::NEG_INFINITY, f64::max) > self.blown_up { self.limit } else { f64::INFINITY }
    }
}

/// The positions of a curve on a vertical axis, by which the range of the axis is chosen.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CurvePositions {
    /// The lower and the upper end of the line at its points.
    pub line: Vec<Extent>,
    /// The ends of the band and of everything else that is drawn around the line.
    pub around: Vec<Extent>,
    /// The position of the last value; `None` where it has no position, such as a negative value on a logarithmic axis.
    pub end: Option<f64>,
}

impl CurvePositions {
    /// The positions of a line in pieces, of which an empty last one marks that the last value has no position.
    pub fn of_line(pieces: &[Vec<[f64; 2]>]) -> CurvePositions {
        let last = pieces.last().and_then(|piece| piece.last());
        // A line that shows the extents of many values has two points at its last one.
        let ends =
            pieces.last().into_iter().flatten().rev().take_while(|[x, _]| last.is_some_and(|last| last[0] == *x));
        CurvePositions {
            end: ends.map(|[_, y]| *y).reduce(f64::max),
            line: pieces.iter().flatten().map(|[_, y]| [*y; 2]).collect(),
            around: Vec::new(),
        }
    }

    /// The extents of the line and of the band around it, above their floors.
    fn extents(&self, floors: [f64; 2]) -> Option<(Extent, Option<Extent>)> {
        let above = |extents: &[Extent], floor: f64| {
            let above = extents.iter().filter(|[_, high]| *high >= floor);
            above.map(|[low, high]| [if *low < floor { floor } else { *low }, *high]).reduce(union)
        };
        Some((above(&self.line, floors[0])?, above(&self.around, floors[1])))
    }
}

/// A few values on a logarithmic axis are left out if the next higher ones are this many decades above them, and this
/// many times the range of all others.
const FAR_BELOW: [f64; 2] = [2.0, 2.0];
/// The number of values, for each of which one may be left out.
const FOR_EACH_LEFT_OUT: usize = 10;

/// Chooses the vertical range of a plot of these curves with a margin: a minority of outliers is left out, and on a
/// logarithmic axis also a few values far below all others.
pub fn suited(curves: &[CurvePositions], scale: AxisScale) -> Extent {
    if scale == AxisScale::Log {
        // The lower ends of bands may be close to 0, arbitrarily far down.
        let upper = |curve: &CurvePositions| CurvePositions {
            around: curve.around.iter().map(|[_, high]| [*high; 2]).collect(),
            ..curve.clone()
        };
        return with_margin(&without_dips(&curves.iter().map(upper).collect::<Vec<_>>()));
    }
    with_margin(&curves.iter().filter_map(|curve| curve.extents([f64::NEG_INFINITY; 2])).collect::<Vec<_>>())
}

/// The vertical range of a plot of these curves with all their values, with a margin.
pub fn whole(curves: &[CurvePositions]) -> Extent {
    let all = curves.iter().flat_map(|curve| curve.line.iter().chain(&curve.around)).copied().reduce(union);
    with_margin(all.map(|all| (all, None)).as_slice())
}

/// Computes the extents of curves and of their bands on a logarithmic axis without dips, a few values far below the
/// others. A curve of at least [`FOR_EACH_LEFT_OUT`] values is compared with itself, a shorter one with all curves.
fn without_dips(curves: &[CurvePositions]) -> Vec<(Extent, Option<Extent>)> {
    let lows = |extents: &[Extent], floor: f64| -> Vec<f64> {
        extents.iter().map(|[low, _]| *low).filter(|low| *low >= floor).collect()
    };
    let all = |floors: &[f64]| -> Vec<f64> {
        curves.iter().zip(floors).flat_map(|(curve, floor)| lows(&curve.line, *floor)).collect()
    };
    let own =
        |curve: &CurvePositions| floor_of(lows(&curve.line, f64::NEG_INFINITY), curve.end.unwrap_or(f64::INFINITY));
    let mut floors: Vec<f64> = curves.iter().map(own).collect();
    let ends = curves.iter().filter_map(|curve| curve.end).fold(f64::INFINITY, f64::min);
    let of_all = floor_of(all(&floors), ends);
    let short = curves.iter().zip(&mut floors).filter(|(curve, _)| curve.line.len() < FOR_EACH_LEFT_OUT);
    short.for_each(|(_, floor)| *floor = of_all);
    let mut lines_and_around = all(&floors);
    let lowest = lines_and_around.iter().copied().fold(f64::INFINITY, f64::min);
    lines_and_around.extend(curves.iter().flat_map(|curve| lows(&curve.around, f64::NEG_INFINITY)));
    let around = floor_of(lines_and_around, lowest);
    curves.iter().zip(floors).filter_map(|(curve, floor)| curve.extents([floor, around])).collect()
}

/// Finds the lowest of these positions that is not far below the others. Positions from `end` upwards count in any
/// case: a curve that ends there has descended to it.
fn floor_of(mut positions: Vec<f64>, end: f64) -> f64 {
    let [least, ratio] = FAR_BELOW;
    let most = positions.len() / FOR_EACH_LEFT_OUT;
    let highest = positions.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let lowest = positions.iter().copied().fold(f64::INFINITY, f64::min);
    if most == 0 || highest - lowest < least {
        return f64::NEG_INFINITY;
    }
    // Only the lowest ones need an order.
    positions.select_nth_unstable_by(most, f64::total_cmp);
    positions.truncate(most + 1);
    positions.sort_unstable_by(f64::total_cmp);
    let is_gap = |pair: &&[f64]| pair[1] - pair[0] >= least.max(ratio * (highest - pair[1])) && pair[0] < end;
    let next = positions.windows(2).rfind(is_gap).map(|pair| pair[1]);
    next.unwrap_or(f64::NEG_INFINITY)
}

pub fn union(a: Extent, b: Extent) -> Extent {
    [a[0].min(b[0]), a[1].max(b[1])]
}

fn length([low, high]: Extent) -> f64 {
    high - low
}

/// Selects the curves that determine a range: all, except where a minority needs more than `factor` times the range of
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

/// Adds a margin to the vertical range of a plot of these curves: the extent that suits them, with a margin.
pub fn with_margin(curves: &[(Extent, Option<Extent>)]) -> Extent {
    let Some([low, high]) = suiting(curves) else { return [0.0, 1.0] };
    let margin = if high > low { 0.06 * (high - low) } else { (0.1 * high.abs()).max(1e-3) };
    [low - margin, high + margin]
}

/// The extent that suits these curves, given the extent of each one's means and, if shown, of its band. A minority that
/// would flatten the others is left out. `None` without a curve.
pub fn suiting(curves: &[(Extent, Option<Extent>)]) -> Option<Extent> {
    let means: Vec<Extent> = curves.iter().map(|(mean, _)| *mean).collect();
    let is_included = sensible(&means, RUNAWAY);
    let curves: Vec<_> = curves.iter().zip(is_included).filter_map(|(curve, keep)| keep.then_some(*curve)).collect();
    let whole: Vec<Extent> = curves.iter().map(|&(mean, band)| band.map_or(mean, |band| union(mean, band))).collect();
    let narrow = sensible(&whole, WIDE);
    let parts = curves.iter().zip(&whole).zip(narrow).map(|((curve, whole), keep)| if keep { *whole } else { curve.0 });
    parts.reduce(union)
}

/// The horizontal range of a plot of curves over this extent: a margin keeps points at its ends fully visible.
pub fn across(extent: Option<Extent>) -> Extent {
    const MARGIN: f64 = 0.02;
    match extent {
        Some([low, high]) if high > low => [low - MARGIN * (high - low), high + MARGIN * (high - low)],
        Some([only, _]) if only > 0.0 => [0.0, (1.0 + MARGIN) * only],
        Some([only, _]) => [only - 0.5, only + 0.5],
        None => [0.0, 1.0],
    }
}

/// The point where a curve first reaches a level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Crossing {
    pub step: f64,
    /// Seconds of training.
    pub wall_s: f64,
}

/// Finds the first point where a curve of points `[step, wall_s, value]`, in their order, is at a level or below.
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

/// The lowest level that all curves reach: the largest of their smallest finite values. None where a curve has no
/// finite value.
pub fn common_level<P: IntoIterator<Item = [f64; 3]>>(curves: impl IntoIterator<Item = P>) -> Option<f64> {
    let mut level: Option<f64> = None;
    for curve in curves {
        let finite = curve.into_iter().map(|[_, _, value]| value).filter(|value| value.is_finite());
        let lowest = finite.reduce(f64::min)?;
        level = Some(level.map_or(lowest, |level| level.max(lowest)));
    }
    level
}

/// Formats the ratio of a baseline and another number, such as `1.80 × fewer`; `more` replaces `fewer` where the other
/// number is larger. Empty where one of them is 0, as at the first step.
pub fn speedup(baseline: f64, taken: f64, [fewer, more]: [&str; 2]) -> String {
    let ratio = baseline / taken;
    match ratio {
        _ if !(ratio.is_finite() && ratio > 0.0) => String::new(),
        1.0.. => format!("{ratio:.2} × {fewer}"),
        _ => format!("{:.2} × {more}", 1.0 / ratio),
    }
}

/// A quantity of a simulation that has its own plot. `Depth` is the coordinate u and `AbsV` is |v|, on landscapes of
/// which these are [metrics](valleyscope_engine::landscape::LandscapeMetric).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum DiagnosticMetric {
    Loss,
    Depth,
    AbsV,
    EffectiveStep,
    FreeEnergy,
    Noise,
    Signal,
    NoiseShare,
    Oscillation,
}

/// The drawing of the spread over particles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Band {
    /// Mean ± standard deviation.
    #[default]
    Deviation,
    /// The smallest and the largest value of any particle.
    Extremes,
    Hidden,
}

impl DiagnosticMetric {
    pub const ALL: [DiagnosticMetric; 9] = [
        DiagnosticMetric::Loss,
        DiagnosticMetric::Depth,
        DiagnosticMetric::AbsV,
        DiagnosticMetric::EffectiveStep,
        DiagnosticMetric::FreeEnergy,
        DiagnosticMetric::Noise,
        DiagnosticMetric::Signal,
        DiagnosticMetric::NoiseShare,
        DiagnosticMetric::Oscillation,
    ];

    /// Lists the metrics of runs on this landscape.
    pub fn of(landscape: &LandscapeSpec) -> impl Iterator<Item = DiagnosticMetric> + use<> {
        let landscape = *landscape;
        DiagnosticMetric::ALL.into_iter().filter(move |metric| metric.info(&landscape).is_some())
    }

    /// The metric over a bucket; NaN where it is not defined.
    pub fn value(self, bucket: &Bucket) -> BucketSpread {
        match self {
            DiagnosticMetric::Loss => bucket.loss,
            DiagnosticMetric::Depth => bucket.u,
            DiagnosticMetric::AbsV => bucket.abs_v,
            DiagnosticMetric::EffectiveStep => bucket.effective_step,
            DiagnosticMetric::FreeEnergy => BucketSpread::of_ensemble(bucket.free_energy, bucket.steps),
            _ => BucketSpread::of_ensemble(self.of_shares(&bucket.shares), bucket.effective_step.steps),
        }
    }

    /// The value of a metric that follows from the shares; NaN for others.
    pub fn of_shares(self, shares: &Shares) -> f64 {
        match self {
            DiagnosticMetric::Noise => shares.sigma(),
            DiagnosticMetric::Signal => shares.signal,
            DiagnosticMetric::NoiseShare => shares.noise,
            DiagnosticMetric::Oscillation => shares.oscillation,
            _ => f64::NAN,
        }
    }

    /// Lists the metrics that follow from the shares.
    pub const OF_SHARES: [DiagnosticMetric; 4] = [
        DiagnosticMetric::Noise,
        DiagnosticMetric::Signal,
        DiagnosticMetric::NoiseShare,
        DiagnosticMetric::Oscillation,
    ];

    /// The name in files.
    pub fn key(self) -> &'static str {
        match self {
            DiagnosticMetric::Loss => "loss",
            DiagnosticMetric::Depth => "u",
            DiagnosticMetric::AbsV => "abs_v",
            DiagnosticMetric::EffectiveStep => "effective_step",
            DiagnosticMetric::FreeEnergy => "free_energy",
            DiagnosticMetric::Noise => "noise",
            DiagnosticMetric::Signal => "signal",
            DiagnosticMetric::NoiseShare => "noise_share",
            DiagnosticMetric::Oscillation => "oscillation",
        }
    }

    /// Whether values are never negative, so that a logarithmic axis is a plain logarithm.
    pub fn is_positive(self) -> bool {
        matches!(self, DiagnosticMetric::AbsV | DiagnosticMetric::EffectiveStep | DiagnosticMetric::Noise)
    }

    /// The range of a linear axis that shows values from `low` to `high`. That of an effective step and of a share
    /// reaches from 0 to above 1, so that 0.5 is in the middle.
    pub fn range(self, [low, high]: [f64; 2]) -> [f64; 2] {
        use DiagnosticMetric::{EffectiveStep, NoiseShare, Oscillation, Signal};
        match self {
            EffectiveStep | Signal | NoiseShare | Oscillation => [low.min(0.0), high.max(1.05)],
            _ => [low, high],
        }
    }

    /// The description of the metric on this landscape, or `None` if the landscape lacks it.
    pub fn info(self, landscape: &LandscapeSpec) -> Option<DiagnosticInfo> {
        match self {
            DiagnosticMetric::Loss => Some(DiagnosticInfo {
                title: "loss L".into(),
                name: "Loss".into(),
                explanation: "The exact loss, without noise, averaged over the particles.",
            }),
            DiagnosticMetric::Depth => DiagnosticInfo::of_coordinate(landscape, Coordinate::U),
            DiagnosticMetric::AbsV => DiagnosticInfo::of_coordinate(landscape, Coordinate::AbsV),
            DiagnosticMetric::EffectiveStep => Some(DiagnosticInfo {
                title: "effective step size".into(),
                name: "Effective step".into(),
                explanation: "The size of a step without weight decay, in learning rates, averaged over the coordinates. \
                              1 for Signum; for Adam it is |m̂|/√ŝ, which noise starves.",
            }),
            DiagnosticMetric::Noise => Some(DiagnosticInfo {
                title: "noise σ, measured".into(),
                name: "Noise".into(),
                explanation: "The noise of the gradients, measured: the root of its mean square over that of the exact \
                              gradients, over the particles and some hundred steps. Equals σ where noise multiplies.",
            }),
            DiagnosticMetric::Signal => Some(DiagnosticInfo {
                title: "signal share".into(),
                name: "Signal".into(),
                explanation: "The part of Adam’s second moment v̂ from gradients that agree from step to step. \
                              Signal, noise and oscillation add to 1; Adam’s step is about √signal learning rates.",
            }),
            DiagnosticMetric::NoiseShare => Some(DiagnosticInfo {
                title: "noise share".into(),
                name: "Noise share".into(),
                explanation: "The part of Adam’s second moment v̂ that is noise: σ²/(1 + σ²) where noise multiplies. It \
                              makes steps small for no good reason.",
            }),
            DiagnosticMetric::Oscillation => Some(DiagnosticInfo {
                title: "oscillation share".into(),
                name: "Oscillation".into(),
                explanation: "The part of Adam’s second moment v̂ from gradients that alternate, as between the \
                              walls of a valley. It makes steps small for a good reason.",
            }),
            DiagnosticMetric::FreeEnergy => Some(DiagnosticInfo {
                title: "free energy F = E − ΘS".into(),
                name: "Free energy".into(),
                explanation: "E is the mean loss, S = ½ ln det(2πe Σ) the entropy of the particles' positions, and Θ the \
                              temperature: each optimizer's learning rate η unless it is set. Each step counts with the Θ \
                              in force at it. Shown for 3 particles or more.",
            }),
        }
    }
}

/// The description of a metric on a landscape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiagnosticInfo {
    pub title: Cow<'static, str>,
    /// A short name for switches.
    pub name: Cow<'static, str>,
    pub explanation: &'static str,
}

impl DiagnosticInfo {
    fn of_coordinate(landscape: &LandscapeSpec, coordinate: Coordinate) -> Option<DiagnosticInfo> {
        let metric = landscape.metric(coordinate)?;
        let title = metric.title();
        let name = format!("{}{}", title[..1].to_uppercase(), &title[1..]);
        Some(DiagnosticInfo { title: title.into(), name: name.into(), explanation: metric.explanation })
    }
}

impl Band {
    pub const ALL: [Band; 3] = [Band::Deviation, Band::Extremes, Band::Hidden];

    pub fn name(self) -> &'static str {
        match self {
            Band::Deviation => "mean ± deviation",
            Band::Extremes => "min to max",
            Band::Hidden => "mean only",
        }
    }

    /// The band's ends, if the value has a band.
    pub fn of(self, value: &BucketSpread) -> Option<[f64; 2]> {
        let ends = match self {
            Band::Deviation => [value.mean - value.std, value.mean + value.std],
            Band::Extremes => [value.min, value.max],
            Band::Hidden => return None,
        };
        ends.iter().all(|end| end.is_finite()).then_some(ends)
    }
}

#[cfg(test)]
mod tests {
    use super::{CurvePositions, suited, whole};
    use crate::view::AxisScale;

    /// The positions of losses at the steps 0, 1, 2, … on a logarithmic axis.
    fn curve(losses: impl IntoIterator<Item = f64>) -> CurvePositions {
        let mut pieces = vec![Vec::new()];
        for (step, loss) in losses.into_iter().enumerate() {
            match AxisScale::Log.position(loss) {
                position if position.is_finite() => pieces.last_mut().expect("a piece").push([step as f64, position]),
                _ => pieces.push(Vec::new()),
            }
        }
        CurvePositions::of_line(&pieces)
    }

    fn lowest(curves: &[CurvePositions]) -> f64 {
        suited(curves, AxisScale::Log)[0]
    }

    #[test]
    fn the_lower_end_of_a_band_does_not_lower_a_logarithmic_axis() {
        let mut banded = curve([1.0, 0.5, 0.1]);
        banded.around = vec![[-6.0, 1.0], [-6.0, 0.5], [-6.0, 0.0]];
        let [low, high] = suited(std::slice::from_ref(&banded), AxisScale::Log);
        assert!((-1.2..-1.0).contains(&low) && (1.0..1.2).contains(&high), "{low} to {high}");
        assert!(suited(&[banded], AxisScale::Linear)[0] < -6.0);
    }

    #[test]
    fn a_value_far_below_all_others_leaves_a_logarithmic_axis() {
        let around_1 = || (0..30).map(|step| 2.0 - 0.05 * f64::from(step));
        let dip = || around_1().enumerate().map(|(step, loss)| if step == 11 { 5e-7 } else { loss });
        let others = [curve(around_1()), curve(dip())];
        assert!(lowest(&others) > -0.5, "{}", lowest(&others));
        assert!(whole(&others)[0] < -6.0 && suited(&others, AxisScale::Linear)[0] < -6.0);
        // The only positive value of a run, and the last one before negative values.
        let only = curve([-1.0, -0.5, 5e-7, -0.5]);
        assert!(lowest(&[curve(around_1()), only]) > -0.5);
        assert!(lowest(&[curve(around_1().chain([5e-7, -0.1]))]) > -0.5);
        // A band and unsmoothed values around the line.
        let around = curve(dip()).line;
        assert!(lowest(&[CurvePositions { around, ..curve(around_1()) }]) > -0.5);
    }

    #[test]
    fn a_curve_far_below_all_others_stays_in_view() {
        let high = || curve((0..20).map(|step| 2.0 - 0.05 * f64::from(step)));
        let low = curve((0..20).map(|step| if step < 19 { 1e-5 } else { f64::NAN }));
        let curves: Vec<CurvePositions> = (0..10).map(|_| high()).chain([low]).collect();
        assert!(lowest(&curves) < -5.0, "{}", lowest(&curves));
        assert!(lowest(&[curve([1.0, 2e-3, 1.5])]) < -2.0);
    }

    #[test]
    fn a_descent_over_many_decades_stays_in_view() {
        let falling = |decades: f64, points: i32| {
            (0..points).map(move |point| 10_f64.powf(-decades * f64::from(point) / f64::from(points - 1)))
        };
        let level = curve([1.0; 40]);
        for points in [5, 13, 200] {
            let range = lowest(&[level.clone(), curve(falling(12.0, points))]);
            assert!(range < -12.0, "{range} of {points} points");
        }
        // Newton's method doubles the digits, to an exact minimum.
        assert!(lowest(&[curve([0.3, 1e-1, 1e-2, 1e-4, 1e-8, 1e-16, 0.0])]) < -16.0);
        // A sudden drop where the curve ends, and one that lasts.
        assert!(lowest(&[level.clone(), curve([1.0, 1.0, 1.0, 1e-6])]) < -6.0);
        assert!(lowest(&[curve([1.0; 40].into_iter().chain([1e-6; 20]))]) < -6.0);
        assert!(lowest(&[curve([1.0; 40].into_iter().chain([1e-6; 20]).chain([1.0; 20]))]) < -6.0);
    }
}
