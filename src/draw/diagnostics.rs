//! The curves of the metrics of a landscape's run.

use valleyscope_engine::simulation::Bucket;
use valleyscope_experiments::view::range::{CurvePositions, suited, whole};
use valleyscope_experiments::view::{AxisScale, Band, DiagnosticMetric};

use super::curves::CurveLines;

/// A point of a curve, as positions on the axes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CurvePoint {
    pub x: f64,
    pub y: f64,
    /// The lowest and the highest mean over the bucket's steps.
    pub envelope: [f64; 2],
    /// The spread over particles.
    pub band: Option<[f64; 2]>,
}

/// A curve as unbroken runs of points. Gaps are steps at which the metric is not finite or has no position on the axis.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DiagnosticCurve {
    pub runs: Vec<Vec<CurvePoint>>,
    /// The first step at which a particle was no longer finite, and the largest number of such particles.
    pub diverged: Option<(u64, u32)>,
    /// True if the metric has a finite value.
    pub defined: bool,
    /// True if the last bucket has no point.
    pub ends_early: bool,
}

/// The position of a band's end at 0 or below on a logarithmic axis: below every number above 0.
const FAR_BELOW: f64 = -1e3;

/// The part of a band that a range needs to hold: not an end far below.
fn needed([low, high]: [f64; 2]) -> [f64; 2] {
    [if low > FAR_BELOW { low } else { high }, high]
}

impl DiagnosticCurve {
    pub fn new(
        buckets: &[Bucket],
        metric: DiagnosticMetric,
        band: Band,
        [x_scale, y_scale]: [AxisScale; 2],
    ) -> DiagnosticCurve {
        let mut curve = DiagnosticCurve::default();
        let mut is_joined = false;
        let means = buckets.iter().map(|bucket| metric.value(bucket).mean_low).filter(|mean| *mean > 0.0);
        let floor = y_scale.position(means.fold(f64::INFINITY, f64::min));
        for bucket in buckets {
            if bucket.diverged > 0 {
                let (first, most) = curve.diverged.unwrap_or((bucket.first_step, 0));
                curve.diverged = Some((first, most.max(bucket.diverged)));
            }
            let value = metric.value(bucket);
            curve.defined |= value.mean.is_finite();
            let (x, y) = (x_scale.position(middle(bucket)), y_scale.position(value.mean));
            curve.ends_early = x.is_finite() && !y.is_finite();
            if !(x.is_finite() && y.is_finite()) {
                is_joined = false;
                continue;
            }
            // On a logarithmic axis, numbers up to 0 have no position.
            let or = |end: f64, other: f64| Some(y_scale.position(end)).filter(|it| it.is_finite()).unwrap_or(other);
            let envelope = [or(value.mean_low, floor).min(y), or(value.mean_high, floor).max(y)];
            let band = band.of(&value).map(|ends| ends.map(|end| or(end, FAR_BELOW)));
            let point = CurvePoint { x, y, envelope, band };
            match curve.runs.last_mut().filter(|_| is_joined) {
                Some(run) => run.push(point),
                None => curve.runs.push(vec![point]),
            }
            is_joined = true;
        }
        curve
    }

    pub fn points(&self) -> impl Iterator<Item = &CurvePoint> {
        self.runs.iter().flatten()
    }

    /// Whether no particle has diverged.
    fn goes_on(&self) -> bool {
        self.diverged.is_none() && self.defined
    }

    /// The positions of the runs.
    pub fn line(&self) -> Vec<Vec<[f64; 2]>> {
        self.runs.iter().map(|run| run.iter().map(|point| [point.x, point.y]).collect()).collect()
    }

    /// The curve as lines, with the index of its name.
    pub(super) fn lines(&self, index: usize) -> CurveLines {
        let band = self.points().filter_map(|point| point.band.map(|[low, high]| [point.x, low, high]));
        let mut lines = self.line();
        // An empty last piece marks where the curve ends early.
        lines.extend((self.ends_early && !lines.is_empty()).then(Vec::new));
        CurveLines { index, raw: Vec::new(), line: lines, band: band.collect() }
    }

    /// The positions between the ends of the horizontal axis by which the range of the vertical axis is chosen.
    fn positions(&self, [from, to]: [f64; 2]) -> CurvePositions {
        let points = || self.points().filter(|point| (from..=to).contains(&point.x));
        CurvePositions {
            line: points().map(|point| point.envelope).collect(),
            around: points().filter_map(|point| point.band).map(needed).collect(),
            end: points().last().filter(|_| !self.ends_early).map(|point| point.y),
        }
    }
}

pub(crate) fn middle(bucket: &Bucket) -> f64 {
    bucket.first_step as f64 + 0.5 * bucket.steps.saturating_sub(1) as f64
}

/// The scale of a metric's axis; on a logarithmic one, values may be negative where the metric may.
pub(crate) fn diagnostic_scale(
    metric: DiagnosticMetric,
    is_log: bool,
    histories: impl Iterator<Item = impl AsRef<[Bucket]>> + Clone,
) -> AxisScale {
    match (is_log, metric.is_positive()) {
        (false, _) => AxisScale::Linear,
        (true, true) => AxisScale::Log,
        (true, false) => {
            // The means of the ensembles that stay finite, or of all if none does.
            let stays = |history: &[Bucket]| history.last().is_none_or(|bucket| bucket.diverged == 0);
            let any_stays = histories.clone().any(|history| stays(history.as_ref()));
            let counting = histories.filter(|history| !any_stays || stays(history.as_ref()));
            let means = |history: &[Bucket]| -> Vec<f64> { history.iter().map(|it| metric.value(it).mean).collect() };
            AxisScale::symlog_for(counting.flat_map(|history| means(history.as_ref())))
        }
    }
}

/// The smallest range of positions that shows the curves between the ends of the horizontal axis. Without `whole_range`
/// it ignores curves that end in divergence where others go on, and what [`suited`] leaves out: they would flatten the
/// others.
pub(crate) fn range_in_view<'c>(
    curves: impl Iterator<Item = &'c DiagnosticCurve> + Clone,
    metric: DiagnosticMetric,
    scale: AxisScale,
    x: [f64; 2],
    whole_range: bool,
) -> [f64; 2] {
    let any_goes_on = curves.clone().any(DiagnosticCurve::goes_on);
    let counting = curves.filter(|curve| whole_range || !any_goes_on || curve.goes_on());
    let positions: Vec<CurvePositions> = counting.map(|curve| curve.positions(x)).collect();
    let range = if whole_range { whole(&positions) } else { suited(&positions, scale) };
    if scale == AxisScale::Linear { metric.range(range) } else { range }
}
