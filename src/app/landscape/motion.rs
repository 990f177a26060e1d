//! Camera movements: by hand, to fit the particles, and to follow them.

use valleyscope_experiments::view::{Camera, Viewport};

/// The allowed widths of the view in units of the plane.
const WIDTHS: std::ops::RangeInclusive<f64> = 1e-9..=1e9;
/// The largest distance of the view from the origin.
const MOST_DISTANCE: f64 = 1e9;
/// The narrowest view that following chooses, so that particles near the start are not magnified to the whole view.
const FOLLOW_WIDTH: f64 = 1.5;
/// The time in which a following camera covers most of its way, in seconds.
const FOLLOW_SECS: f64 = 0.25;

/// A box in the plane, its sides along x and y.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    pub min: [f64; 2],
    pub max: [f64; 2],
}

impl Bounds {
    pub fn of_point(point: [f64; 2]) -> Self {
        Bounds { min: point, max: point }
    }

    /// Returns the part of the plane that a camera shows with this aspect, width over height.
    pub fn of_view(camera: Camera, aspect: f64) -> Self {
        let half = [0.5 * camera.width, 0.5 * camera.width / aspect];
        let [x, y] = camera.center;
        Bounds { min: [x - half[0], y - half[1]], max: [x + half[0], y + half[1]] }
    }

    pub fn union(self, other: Bounds) -> Self {
        Bounds {
            min: [self.min[0].min(other.min[0]), self.min[1].min(other.min[1])],
            max: [self.max[0].max(other.max[0]), self.max[1].max(other.max[1])],
        }
    }

    /// Returns the largest distance of the box from a point, along x or y.
    fn reach_from(&self, point: [f64; 2]) -> f64 {
        let along = |axis: usize| (self.max[axis] - point[axis]).max(point[axis] - self.min[axis]);
        along(0).max(along(1))
    }

    /// Returns the box around most of the points: points that are not finite are left out, and each side ends where
    /// outliers begin (1.5 times the distance between the 5th and the 95th percentile beyond them), so that one
    /// particle thrown far off does not hide all others.
    pub fn robust(points: impl Iterator<Item = [f32; 2]>) -> Option<Self> {
        let (mut x, mut y): (Vec<f32>, Vec<f32>) =
            points.filter(|[x, y]| x.is_finite() && y.is_finite()).map(|[x, y]| (x, y)).unzip();
        let ([left, right], [bottom, top]) = (robust_range(&mut x)?, robust_range(&mut y)?);
        Some(Bounds { min: [left, bottom], max: [right, top] })
    }
}

/// The distance from the start beyond which a position counts as run away, like one that is not finite.
pub(super) const RUN_AWAY_DISTANCE: f64 = 1e4;
/// The distance from the start within which an ensemble is never left out.
const ALWAYS_INCLUDED: f64 = 10.0;
/// The ratio of distances from which an ensemble is left out, compared with all that are nearer.
const EXCLUDED_RATIO: f64 = 30.0;

/// The ensembles that a view includes.
#[derive(Clone, Debug, PartialEq)]
pub struct FramedEnsembles {
    /// The box around the start and these ensembles; `None` where all have run away.
    pub bounds: Option<Bounds>,
    /// True for each included ensemble.
    pub inside: Vec<bool>,
}

impl FramedEnsembles {
    /// Selects the ensembles to include, by their boxes. Those that run away while others do not are left out, so that
    /// one optimizer on its way to infinity does not move the view along. An ensemble without a box has run away.
    pub fn select(start: [f64; 2], ensembles: &[Option<Bounds>]) -> FramedEnsembles {
        let mut by_reach: Vec<(usize, f64, Bounds)> = ensembles
            .iter()
            .enumerate()
            .filter_map(|(index, bounds)| bounds.map(|bounds| (index, bounds.reach_from(start), bounds)))
            .collect();
        by_reach.sort_by(|a, b| a.1.total_cmp(&b.1));
        let mut framed = FramedEnsembles { bounds: None, inside: vec![false; ensembles.len()] };
        let mut farthest = 0.0;
        for (index, reach, bounds) in by_reach {
            if framed.bounds.is_some() && reach > ALWAYS_INCLUDED.max(EXCLUDED_RATIO * farthest) {
                break;
            }
            farthest = reach;
            framed.inside[index] = true;
            framed.bounds = Some(framed.bounds.unwrap_or(Bounds::of_point(start)).union(bounds));
        }
        framed
    }
}

/// The number of points below which none is an outlier.
const ENOUGH_FOR_OUTLIERS: usize = 8;

fn robust_range(values: &mut [f32]) -> Option<[f64; 2]> {
    let (min, max) = values.iter().fold((f32::INFINITY, f32::NEG_INFINITY), |(min, max), &v| (min.min(v), max.max(v)));
    if values.is_empty() {
        return None;
    }
    let (min, max) = (f64::from(min), f64::from(max));
    if values.len() < ENOUGH_FOR_OUTLIERS {
        return Some([min, max]);
    }
    let rank = values.len() / 20;
    let from_end = values.len() - 1 - rank;
    let low = f64::from(*values.select_nth_unstable_by(rank, f32::total_cmp).1);
    let high = f64::from(*values.select_nth_unstable_by(from_end, f32::total_cmp).1);
    let reach = 1.5 * (high - low);
    Some([min.max(low - reach), max.min(high + reach)])
}

/// Returns the nearest camera within the limits.
pub fn limited(camera: Camera) -> Camera {
    let center = camera.center.map(|c| if c.is_nan() { 0.0 } else { c.clamp(-MOST_DISTANCE, MOST_DISTANCE) });
    // In narrower views, neighbouring pixels would be the same number.
    let finest = 1e-12 * center[0].abs().max(center[1].abs());
    let width = if camera.width.is_nan() { Camera::HOME.width } else { camera.width };
    Camera { center, width: width.clamp(WIDTHS.start().max(finest), *WIDTHS.end()) }
}

/// Returns the camera after the picture was dragged by `delta_px`.
pub fn panned(viewport: &Viewport, delta_px: [f32; 2]) -> Camera {
    let scale = viewport.units_per_px();
    let [x, y] = viewport.camera.center;
    let center = [x - f64::from(delta_px[0]) * scale, y + f64::from(delta_px[1]) * scale];
    limited(Camera { center, ..viewport.camera })
}

/// Returns the camera closer by `factor`, such that the point under `at_px` stays there.
pub fn zoomed(viewport: &Viewport, at_px: [f32; 2], factor: f64) -> Camera {
    zoomed_about(viewport.camera, viewport.xy_from_px(at_px), factor)
}

/// Returns the camera closer by `factor`, such that a point of the plane keeps its place in the view.
pub(super) fn zoomed_about(camera: Camera, fixed: [f64; 2], factor: f64) -> Camera {
    let width = limited(Camera { width: camera.width / factor, ..camera }).width;
    let ratio = width / camera.width;
    let center = [0, 1].map(|axis| fixed[axis] + (camera.center[axis] - fixed[axis]) * ratio);
    limited(Camera { center, width })
}

/// Returns the camera that shows `bounds` with room around it, at least `least_width` wide. `aspect` is the width of
/// the canvas over its height.
pub fn fitted(bounds: &Bounds, aspect: f64, least_width: f64) -> Camera {
    const ROOM: f64 = 1.25;
    let center = [0, 1].map(|axis| 0.5 * (bounds.min[axis] + bounds.max[axis]));
    let (width, height) = (bounds.max[0] - bounds.min[0], bounds.max[1] - bounds.min[1]);
    limited(Camera { center, width: (ROOM * width.max(height * aspect)).max(least_width) })
}

/// A camera movement that keeps the particles in view and starts only when necessary.
#[derive(Debug, Default)]
pub struct Follower {
    target: Option<Camera>,
}

impl Follower {
    /// Cancels the current movement.
    pub fn stop(&mut self) {
        self.target = None;
    }

    /// Returns whether the camera is moving to a target.
    pub fn is_moving(&self) -> bool {
        self.target.is_some()
    }

    /// Starts a movement when `bounds` leaves the view or has become small in it.
    pub fn aim(&mut self, camera: Camera, bounds: &Bounds, aspect: f64) {
        let seen_from = self.target.unwrap_or(camera);
        let fit = fitted(bounds, aspect, FOLLOW_WIDTH);
        let lost = seen_from.width > 3.0 * fit.width;
        if lost || !contains(&seen_from, aspect, bounds) {
            // Some way ahead of the particles, so that the next movement does not start at once.
            self.target = Some(limited(Camera { width: 1.2 * fit.width, ..fit }));
        }
    }

    /// Starts a movement to the view of a restarted run: `first`, if that shows `bounds`.
    pub fn aim_at_restart(&mut self, first: Camera, bounds: &Bounds, aspect: f64) {
        self.target = Some(first);
        self.aim(first, bounds, aspect);
    }

    /// Returns the camera `secs` later on its way.
    pub fn advance(&mut self, camera: Camera, secs: f32) -> Camera {
        let Some(target) = self.target else { return camera };
        let part = 1.0 - (-f64::from(secs) / FOLLOW_SECS).exp();
        let width = camera.width * (target.width / camera.width).powf(part);
        let center = [0, 1].map(|axis| camera.center[axis] + (target.center[axis] - camera.center[axis]) * part);
        let moved = Camera { center, width };
        let off = (0..2).map(|axis| (target.center[axis] - moved.center[axis]).abs()).fold(0.0, f64::max);
        if off < 1e-3 * target.width && (moved.width / target.width - 1.0).abs() < 1e-3 {
            self.target = None;
            return target;
        }
        moved
    }
}

/// Returns whether the middle nine tenths of the view contain the box.
fn contains(camera: &Camera, aspect: f64, bounds: &Bounds) -> bool {
    let half = [0.45 * camera.width, 0.45 * camera.width / aspect];
    (0..2).all(|axis| {
        bounds.min[axis] >= camera.center[axis] - half[axis] && bounds.max[axis] <= camera.center[axis] + half[axis]
    })
}
