//! Converts the history's buckets to curves.

use valleyscope_engine::simulation::Bucket;
use valleyscope_experiments::view::AxisScale;
use valleyscope_experiments::view::{Band, DiagnosticMetric};

/// A point of a curve, in places on the axes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CurvePoint {
    pub x: f64,
    pub y: f64,
    /// The lowest and the highest mean over the bucket's steps.
    pub envelope: [f64; 2],
    /// The spread over particles.
    pub band: Option<[f64; 2]>,
}

/// A curve as unbroken runs of points. Gaps are steps at which the metric is not finite or has no place on the axis.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DiagnosticCurve {
    pub runs: Vec<Vec<CurvePoint>>,
    /// The first step at which a particle was no longer finite, and the largest number of such particles.
    pub diverged: Option<(u64, u32)>,
    /// True if the metric has a finite value.
    pub defined: bool,
}

impl DiagnosticCurve {
    /// Makes the curve of a metric through `buckets`.
    pub fn new(
        buckets: &[Bucket],
        metric: DiagnosticMetric,
        band: Band,
        [x_scale, y_scale]: [AxisScale; 2],
    ) -> DiagnosticCurve {
        let mut curve = DiagnosticCurve::default();
        let mut run: Vec<CurvePoint> = Vec::new();
        let floor = lowest_positive(buckets, metric);
        for bucket in buckets {
            if bucket.diverged > 0 {
                let (first, most) = curve.diverged.unwrap_or((bucket.first_step, 0));
                curve.diverged = Some((first, most.max(bucket.diverged)));
            }
            let value = metric.value(bucket);
            curve.defined |= value.mean.is_finite();
            let (x, y) = (x_scale.place(middle(bucket)), y_scale.place(value.mean));
            if !(x.is_finite() && y.is_finite()) {
                if !run.is_empty() {
                    curve.runs.push(std::mem::take(&mut run));
                }
                continue;
            }
            // A band's end without a place on a logarithmic axis goes to the lowest mean.
            let place = |end: f64| match y_scale.place(end) {
                place if place.is_finite() => place,
                _ => y_scale.place(floor),
            };
            let envelope = [place(value.mean_low).min(y), place(value.mean_high).max(y)];
            let band = band.of(&value).map(|ends| ends.map(place));
            run.push(CurvePoint { x, y, envelope, band });
        }
        if !run.is_empty() {
            curve.runs.push(run);
        }
        curve
    }

    pub fn points(&self) -> impl Iterator<Item = &CurvePoint> {
        self.runs.iter().flatten()
    }
}

/// Returns the step in the middle of a bucket.
pub(super) fn middle(bucket: &Bucket) -> f64 {
    bucket.first_step as f64 + 0.5 * bucket.steps.saturating_sub(1) as f64
}

fn lowest_positive(buckets: &[Bucket], metric: DiagnosticMetric) -> f64 {
    let means = buckets.iter().map(|bucket| metric.value(bucket).mean_low).filter(|mean| *mean > 0.0);
    means.fold(f64::INFINITY, f64::min)
}
