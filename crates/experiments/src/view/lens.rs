//! The view along a valley: the axes of the view, each with its own scale, which follows the particles in steps of a
//! power of two.

use serde::{Deserialize, Serialize};
use valleyscope_engine::landscape::{Coordinate, LandscapeSpec};

use super::Camera;
use super::range::{Extent, union};

/// The axes of a view of the plane, and how much the second one is stretched.
///
/// The coordinates of a point in the lens are its lengths along both axes, so that for the axes u and v they are u and v.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lens {
    pub axes: LensAxes,
    /// The direction of the first axis, which points to the right: a vector of length 1. The second one points upwards.
    pub right: [f64; 2],
    /// The length on the screen of a unit of the second axis, over that of the first.
    pub stretch: f64,
}

/// The coordinates of a lens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LensAxes {
    /// x and y
    Xy,
    /// The landscape's coordinates u and v.
    Uv,
    /// The principal axes of the particles' positions.
    Principal,
}

impl Default for Lens {
    fn default() -> Lens {
        Lens::NONE
    }
}

/// The share of the half of the view that the particles need at least; where they need less, the scale grows.
const LEAST_SHARE: f64 = 0.4;
/// The ratio of variances from which on the particles have principal axes.
const ELONGATED: f64 = 1.5;
/// The least half of the view along the second axis, over the distance of its middle from the origin: single-precision
/// positions are coarser than the pixels of a narrower view.
const FINEST: f64 = 1.0 / 32_768.0;
/// The distance of the particles from the floor, in halves of their range, within which the floor is in the middle.
const NEAR_FLOOR: f64 = 3.0;

impl Lens {
    /// The plane from above.
    pub const NONE: Lens = Lens { axes: LensAxes::Xy, right: [1.0, 0.0], stretch: 1.0 };

    /// The lens along a landscape's valley, or else along the principal axes of points, where these are known; or along
    /// those of a lens `before`.
    pub fn along(landscape: &LandscapeSpec, points: &[[f64; 2]], before: Option<Lens>) -> Lens {
        if landscape.info().metric(Coordinate::U).is_some() {
            let right = landscape.landscape().xy_from_uv([1.0, 0.0]);
            return Lens { axes: LensAxes::Uv, right, stretch: 1.0 };
        }
        let before = before.map_or([1.0, 0.0], |lens| lens.right);
        Lens { axes: LensAxes::Principal, right: principal_axis(points, before), stretch: 1.0 }
    }

    pub fn is_none(&self) -> bool {
        *self == Lens::NONE
    }

    /// The names of both axes.
    pub fn names(&self) -> [&'static str; 2] {
        match self.axes {
            LensAxes::Xy => ["x", "y"],
            LensAxes::Uv => ["u", "v"],
            LensAxes::Principal => ["1st principal axis", "2nd principal axis"],
        }
    }

    /// The coordinates of a point in the lens.
    pub fn coordinates(&self, [x, y]: [f64; 2]) -> [f64; 2] {
        let [cos, sin] = self.right;
        [cos * x + sin * y, cos * y - sin * x]
    }

    /// The point with these coordinates.
    pub fn xy(&self, [along, across]: [f64; 2]) -> [f64; 2] {
        let [cos, sin] = self.right;
        [cos * along - sin * across, sin * along + cos * across]
    }

    /// A label of the second axis after its name, such as "stretched 64×"; `None` without a lens.
    pub fn stretch_label(&self) -> Option<String> {
        let stretch = if self.stretch < 1.0 { 1.0 / self.stretch } else { self.stretch };
        let is = if self.stretch < 1.0 { "shrunk" } else { "stretched" };
        (!self.is_none()).then(|| format!("{is} {stretch:.0}×"))
    }

    /// The camera that shows these ranges of both coordinates on a canvas of this aspect, width over height.
    ///
    /// Half its width is a power of two, and so is the stretch. Those of the camera `before` stay while the ranges fill
    /// at least two fifths of its halves, so that they do not flicker. The floor of a valley is in the middle of the
    /// height unless the particles are far from it.
    pub fn framing(self, ranges: [Extent; 2], aspect: f64, before: Option<&Camera>) -> Camera {
        self.framed(ranges, aspect, before, |half| half.log2().ceil().exp2())
    }

    /// The camera of a picture that does not move: as wide as the range, with a power of two as its stretch.
    pub fn fitting(self, ranges: [Extent; 2], aspect: f64) -> Camera {
        self.framed(ranges, aspect, None, |half| half)
    }

    fn framed(
        self,
        [along, across]: [Extent; 2],
        aspect: f64,
        before: Option<&Camera>,
        rounded: impl Fn(f64) -> f64,
    ) -> Camera {
        let before = before.filter(|camera| is_step(0.5 * camera.width) && is_step(camera.lens.stretch));
        let middle = |[low, high]: Extent| 0.5 * (low + high);
        let half = |[low, high]: Extent| 0.5 * (high - low);
        let is_near = self.axes == LensAxes::Uv && middle(across).abs() <= NEAR_FLOOR * half(across);
        let across = if is_near { union(across, [-across[1], -across[0]]) } else { across };
        let center = self.xy([middle(along), middle(across)]);
        let finest = FINEST * center[0].hypot(center[1]).max(f64::MIN_POSITIVE.sqrt());
        let kept = |now: f64, needed: f64| (LEAST_SHARE..=1.0).contains(&(needed / now));
        let needed = half(along).max(finest);
        let width = match before.map(|camera| 0.5 * camera.width).filter(|now| kept(*now, needed)) {
            Some(half) => half,
            None => rounded(needed),
        };
        // With a stretch of 1, the half of the height is this.
        let height = width / aspect;
        let needed = half(across).max(finest);
        let stretch = match before.map(|camera| camera.lens.stretch).filter(|now| kept(height / now, needed)) {
            Some(stretch) => stretch,
            None => (height / needed).log2().floor().exp2(),
        };
        Camera { center, width: 2.0 * width, lens: Lens { stretch, ..self } }
    }

    /// The lens at a part of the way to another.
    pub fn towards(self, to: Lens, part: f64) -> Lens {
        let right = [0, 1].map(|axis| self.right[axis] + (to.right[axis] - self.right[axis]) * part);
        let length = right[0].hypot(right[1]);
        let right = if length > 1e-6 { right.map(|side| side / length) } else { to.right };
        Lens { axes: to.axes, right, stretch: self.stretch * (to.stretch / self.stretch).powf(part) }
    }
}

fn is_step(value: f64) -> bool {
    value.log2().fract() == 0.0
}

/// The direction in which points vary most, in the half-plane of `before`; `before` where they vary about as much in all
/// directions.
fn principal_axis(points: &[[f64; 2]], before: [f64; 2]) -> [f64; 2] {
    let count = points.len().max(1) as f64;
    let mean = [0, 1].map(|axis| points.iter().map(|point| point[axis]).sum::<f64>() / count);
    let moment = |one: usize, other: usize| {
        points.iter().map(|point| (point[one] - mean[one]) * (point[other] - mean[other])).sum::<f64>() / count
    };
    let [xx, xy, yy] = [moment(0, 0), moment(0, 1), moment(1, 1)];
    let (middle, apart) = (0.5 * (xx + yy), (0.5 * (xx - yy)).hypot(xy));
    // A comparison with a number that is not one is false, too.
    let is_elongated = middle + apart > ELONGATED * (middle - apart);
    if !is_elongated {
        return before;
    }
    let (sin, cos) = (0.5 * (2.0 * xy).atan2(xx - yy)).sin_cos();
    let side = if cos * before[0] + sin * before[1] < 0.0 { -1.0 } else { 1.0 };
    [side * cos, side * sin]
}

#[cfg(test)]
mod tests {
    use valleyscope_engine::landscape::{LandscapeFormula, LandscapeKind};

    use super::*;
    use crate::view::Viewport;

    fn valley() -> Lens {
        Lens::along(&LandscapeSpec::default(), &[], None)
    }

    #[test]
    fn the_floor_of_the_valley_is_a_straight_line_across_the_middle() {
        let camera = valley().framing([[1.0, 2.0], [-0.01, 0.02]], 1.6, None);
        let viewport = Viewport { camera, size_px: [800.0, 500.0] };
        let landscape = LandscapeSpec::default().landscape();
        for u in [-1.0, 1.2, 1.9] {
            let [_, y] = viewport.px_from_xy(landscape.xy_from_uv([u, 0.0]));
            assert!((y - 250.0).abs() < 1e-3, "{y} at u = {u}");
        }
        let [_, up] = viewport.px_from_xy(landscape.xy_from_uv([1.5, 0.01]));
        assert!(up < 200.0, "v points upwards, and is stretched: {up}");
    }

    #[test]
    fn pixels_and_points_are_mapped_there_and_back() {
        let camera = valley().framing([[1.0, 2.5], [-3e-3, 2e-3]], 1.6, None);
        let viewport = Viewport { camera, size_px: [800.0, 500.0] };
        for px in [[0.0, 0.0], [799.0, 3.0], [123.0, 456.0]] {
            let again = viewport.px_from_xy(viewport.xy_from_px(px));
            assert!((0..2).all(|axis| (again[axis] - px[axis]).abs() < 1e-2), "{px:?} {again:?}");
        }
    }

    #[test]
    fn scales_are_powers_of_two_that_do_not_flicker() {
        let mut camera: Option<Camera> = None;
        let mut steps = Vec::new();
        for frame in 0..400 {
            // A cloud that grows slowly and trembles by a tenth.
            let size = 0.01 * (f64::from(frame) / 100.0).exp() * if frame % 2 == 0 { 1.0 } else { 1.1 };
            let next = valley().framing([[1.0, 2.0], [-size, size]], 1.6, camera.as_ref());
            assert!(is_step(0.5 * next.width) && is_step(next.lens.stretch), "{next:?}");
            let half = 0.5 * next.width / 1.6 / next.lens.stretch;
            assert!(size <= half && size >= 0.39 * half, "{size} of {half}");
            if steps.last() != Some(&next.lens.stretch) {
                steps.push(next.lens.stretch);
            }
            camera = Some(next);
        }
        assert!(steps.len() > 4 && steps.windows(2).all(|pair| pair[1] == 0.5 * pair[0]), "{steps:?}");
    }

    #[test]
    fn a_typed_landscape_is_seen_along_the_principal_axes_of_its_particles() {
        let formula = LandscapeFormula::new("bowl", "L = x^2 + y^2").expect("it has no mistake");
        let landscape = LandscapeSpec::new(LandscapeKind::Formula(formula));
        let along = |points: &[[f64; 2]], before| Lens::along(&landscape, points, before);
        let diagonal = [[0.0, 0.0], [1.0, 1.0], [2.0, 2.1], [3.0, 2.9]];
        let lens = along(&diagonal, None);
        assert_eq!(lens.axes, LensAxes::Principal);
        assert!((lens.right[0] - 0.5_f64.sqrt()).abs() < 0.03, "{:?}", lens.right);
        let opposite = Lens { right: [-1.0, 0.0], ..lens };
        assert!(along(&diagonal, Some(opposite)).right[0] < 0.0, "the picture is not turned upside down");
        let square = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]];
        assert_eq!(along(&square, Some(lens)).right, lens.right, "a round cloud keeps the axes");
        assert!(along(&[[f64::NAN; 2]], Some(lens)).right == lens.right);
    }
}
