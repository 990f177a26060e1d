//! The heights of a landscape's surface in space, sampled on a grid.

use valleyscope_engine::elementary::ln;
use valleyscope_engine::instructions::VectorSet;
use valleyscope_engine::landscape::Landscape;
use valleyscope_engine::lanes::{Arithmetic, Lanes, Relation, Vector};
use valleyscope_engine::vectorized;

use super::space::{FLOOR, Ray, SpaceView, TOP};
use super::{Camera, SymLog};

/// The first thing that a line of sight meets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sight {
    Surface([f64; 2]),
    /// The side of the box below the surface.
    Side,
    Nothing,
}

/// The surface over the square in view. Between the points of the grid, heights are interpolated bilinearly.
#[derive(Clone, Debug, PartialEq)]
pub struct HeightField {
    /// Heights in the box, row by row from the smallest y; NaN where the loss is not finite.
    heights: Vec<f32>,
    lowest: f64,
    highest: f64,
}

impl HeightField {
    /// The number of points along each side of the grid.
    pub const SIDE: usize = 257;
    /// How far the surface may leave the box, below and above, where a loss is beyond the colours.
    const BEYOND: f64 = 0.25;
    /// The distance within which a point counts as lying on the surface.
    const NEAR: f64 = 0.03;
    /// The steps of a ray from one point of the grid to the next.
    const STEPS_PER_CELL: f64 = 2.0;

    /// Samples a landscape over the square that the camera shows. The height of a loss is its position on the colour
    /// bar less ½, a little beyond the box at most; there is none where the loss is not finite.
    pub fn of(landscape: &Landscape, camera: Camera, scale: &SymLog) -> HeightField {
        HeightField::of_rows(|x, y, losses| landscape.losses_along(x, y, losses), camera, scale)
    }

    /// Samples a function of (x, y) in the same way.
    pub fn sample(loss: impl Fn([f64; 2]) -> f64, camera: Camera, scale: &SymLog) -> HeightField {
        let of_row = |x: &[f64], y: f64, losses: &mut [f64]| {
            x.iter().zip(losses).for_each(|(x, found)| *found = loss([*x, y]));
        };
        HeightField::of_rows(of_row, camera, scale)
    }

    /// Samples a function that writes the losses at points of one y.
    fn of_rows(of_row: impl Fn(&[f64], f64, &mut [f64]), camera: Camera, scale: &SymLog) -> HeightField {
        let last = (HeightField::SIDE - 1) as f64;
        let at = |index: usize, axis: usize| camera.center[axis] + camera.width * (index as f64 / last - 0.5);
        let columns: Vec<f64> = (0..HeightField::SIDE).map(|column| at(column, 0)).collect();
        let mut losses = vec![0.0; HeightField::SIDE * HeightField::SIDE];
        for (row, losses) in losses.chunks_exact_mut(HeightField::SIDE).enumerate() {
            of_row(&columns, at(row, 1), losses);
        }
        let mut heights = vec![0.0; losses.len()];
        let [lowest, highest] = heights_of(&losses, &mut heights, scale);
        HeightField { heights, lowest, highest }
    }

    pub fn heights(&self) -> &[f32] {
        &self.heights
    }

    /// The height at a point of the box; `None` outside the square and where there is no surface.
    pub fn height(&self, at: [f64; 2]) -> Option<f64> {
        let last = HeightField::SIDE - 1;
        let [x, y] = at.map(|part| 0.5 * (part + 1.0) * last as f64);
        if !(x >= 0.0 && y >= 0.0 && x <= last as f64 && y <= last as f64) {
            return None;
        }
        let [column, row] = [x, y].map(|part| (part as usize).min(last - 1));
        let (along, up) = (x - column as f64, y - row as f64);
        let at = |column: usize, row: usize| f64::from(self.heights[row * HeightField::SIDE + column]);
        let below = at(column, row) * (1.0 - along) + at(column + 1, row) * along;
        let above = at(column, row + 1) * (1.0 - along) + at(column + 1, row + 1) * along;
        let height = below * (1.0 - up) + above * up;
        height.is_finite().then_some(height)
    }

    /// The point of the surface over a point of the box.
    pub fn point(&self, [x, y]: [f64; 2]) -> Option<[f64; 3]> {
        self.height([x, y]).map(|height| [x, y, height])
    }

    /// The upward normal of the surface at a point, of length 1.
    pub fn normal(&self, at: [f64; 2]) -> Option<[f64; 3]> {
        let step = 2.0 / (HeightField::SIDE - 1) as f64;
        let slope = |axis: usize| {
            let neighbor = |side: f64| {
                let mut neighbor = at;
                neighbor[axis] = (neighbor[axis] + side * step).clamp(-1.0, 1.0);
                Some((neighbor[axis], self.height(neighbor).or_else(|| self.height(at))?))
            };
            let ((from, low), (to, high)) = (neighbor(-1.0)?, neighbor(1.0)?);
            Some((high - low) / (to - from))
        };
        let (dx, dy) = (slope(0)?, slope(1)?);
        let length = (dx * dx + dy * dy + 1.0).sqrt();
        Some([-dx / length, -dy / length, 1.0 / length])
    }

    /// Finds the point of the surface that a line of sight meets first.
    pub fn hit(&self, ray: &Ray) -> Option<[f64; 2]> {
        match self.sight(ray) {
            Sight::Surface(at) => Some(at),
            Sight::Side | Sight::Nothing => None,
        }
    }

    /// Finds the surface or the side of the box, whichever a line of sight from above meets first.
    pub fn sight(&self, ray: &Ray) -> Sight {
        let Some([from, to]) = self.within(ray) else { return Sight::Nothing };
        let across = ray.direction[0].hypot(ray.direction[1]) * (to - from);
        let cells = 0.5 * (HeightField::SIDE - 1) as f64 * across;
        let steps = (HeightField::STEPS_PER_CELL * cells).ceil().max(8.0) as usize;
        let above = |distance: f64| {
            let [x, y, z] = ray.at(distance);
            self.height([x, y].map(|part| part.clamp(-1.0, 1.0))).map(|height| z - height)
        };
        let mut before = above(from);
        if before.is_some_and(|above| above < -1e-9) {
            return Sight::Side;
        }
        let (mut near, step) = (from, (to - from) / steps as f64);
        for index in 1..=steps {
            let far = if index == steps { to } else { from + step * index as f64 };
            let here = above(far);
            if before.is_some() && here.is_some_and(|above| above <= 0.0) {
                let [x, y, _] = ray.at(crossing(near, far, above));
                return Sight::Surface([x, y]);
            }
            (near, before) = (far, here);
        }
        Sight::Nothing
    }

    /// Whether a hill, or the side of the box below the surface, is in front of a point.
    pub fn hides(&self, view: &SpaceView, point: [f64; 3]) -> bool {
        let eye = view.eye();
        let to_eye = [0, 1, 2].map(|axis| eye[axis] - point[axis]);
        let length = to_eye.iter().map(|part| part * part).sum::<f64>().sqrt();
        let ray = Ray { origin: point, direction: to_eye.map(|part| part / length) };
        let across = ray.direction[0].hypot(ray.direction[1]).max(1e-3);
        let step = 2.0 / (HeightField::SIDE - 1) as f64 / across;
        let mut distance = HeightField::NEAR;
        loop {
            let [x, y, z] = ray.at(distance);
            if z > self.highest || x.abs() > 1.0 || y.abs() > 1.0 {
                return false;
            }
            if self.height([x, y]).is_some_and(|height| z < height - 1e-4) {
                return true;
            }
            distance += step.min(0.05);
        }
    }

    /// The distances between which a ray is over the square, no higher than the surface, and above the floor.
    fn within(&self, ray: &Ray) -> Option<[f64; 2]> {
        let (mut from, mut to) = (0.0_f64, f64::INFINITY);
        for (axis, [low, high]) in
            [[-1.0, 1.0], [-1.0, 1.0], [self.lowest.min(FLOOR) - 1e-6, self.highest + 1e-6]].into_iter().enumerate()
        {
            let ends = [low, high].map(|end| (end - ray.origin[axis]) / ray.direction[axis]);
            // For a ray along a side both are infinite, or NaN on the side, and neither narrows the range.
            from = from.max(ends[0].min(ends[1]));
            to = to.min(ends[0].max(ends[1]));
        }
        (from < to && to.is_finite()).then_some([from, to])
    }
}

vectorized! {
    /// Computes the heights of losses; returns the lowest and the highest one.
    fn heights_of<>(losses: &[f64], heights: &mut [f32], scale: &SymLog) -> [f64; 2] {
        const LENGTH: usize = 8;
        let splat = <Vectors as VectorSet>::Doubles::splat;
        let (inv_linear, inv_length) = (splat(1.0 / scale.linear), splat(1.0 / scale.length()));
        let (zero, none) = (splat(scale.zero() - 0.5), splat(f64::NAN));
        let [least, most] = [FLOOR - HeightField::BEYOND, TOP + HeightField::BEYOND].map(splat);
        let (mut lowest, mut highest) = (splat(f64::INFINITY), splat(f64::NEG_INFINITY));
        for (losses, heights) in losses.chunks(LENGTH).zip(heights.chunks_mut(LENGTH)) {
            // Lanes that are not used have no height.
            let mut lanes = [f64::NAN; LENGTH];
            lanes[..losses.len()].copy_from_slice(losses);
            let loss = <Vectors as VectorSet>::Doubles::from_lanes(Lanes(lanes));
            // One is added before the logarithm, which is as accurate for single precision.
            let above_zero = loss.sign() * inv_length * ln(splat(1.0) + loss.abs() * inv_linear);
            let height = (zero + above_zero).larger(least).smaller(most);
            let is_finite = loss.abs().compared(Relation::Less, splat(f64::INFINITY));
            let found = is_finite.choose(height, none);
            // NaN is ignored here.
            (lowest, highest) = (found.smaller(lowest), found.larger(highest));
            for (found, height) in found.to_lanes().0.into_iter().zip(heights) {
                *height = found as f32;
            }
        }
        let lowest = lowest.to_lanes().0.into_iter().fold(f64::INFINITY, f64::min);
        [lowest, highest.to_lanes().0.into_iter().fold(f64::NEG_INFINITY, f64::max)]
    }
}

/// Finds the distance at which a height above the surface, positive at `near`, changes its sign.
fn crossing(mut near: f64, mut far: f64, above: impl Fn(f64) -> Option<f64>) -> f64 {
    for _ in 0..30 {
        let middle = 0.5 * (near + far);
        if above(middle).is_some_and(|above| above > 0.0) { near = middle } else { far = middle }
    }
    0.5 * (near + far)
}

#[cfg(test)]
mod tests {
    use valleyscope_engine::landscape::{LandscapeKind, LandscapeSpec};

    use super::*;
    use crate::view::{AutoScale, Orbit, Viewport};

    const SCALE: SymLog = SymLog::symmetric(0.5, 10.0);
    const CAMERA: Camera = Camera::new([0.5, -0.25], 3.0);

    fn waves([x, y]: [f64; 2]) -> f64 {
        3.0 * (2.0 * x).sin() * (1.5 * y).cos() + x
    }

    fn view(orbit: Orbit) -> SpaceView {
        SpaceView { camera: CAMERA, orbit, size_px: [800.0, 600.0], cover: 0.0 }
    }

    #[test]
    fn heights_are_positions_on_the_colour_bar() {
        let field = HeightField::sample(waves, CAMERA, &SCALE);
        for at in [[0.0, 0.0], [0.5, -0.25], [-1.0, 1.0], [0.3, 0.7]] {
            let xy = view(Orbit::HOME).xy_from_box(at);
            let height = field.height(at).expect("the waves are finite");
            assert!((height - (SCALE.position(waves(xy)) - 0.5)).abs() < 1e-3, "{height} at {at:?}");
        }
        assert_eq!(field.height([1.01, 0.0]), None);
    }

    #[test]
    fn a_landscape_has_the_heights_of_its_losses_and_all_of_the_box() {
        for &kind in LandscapeKind::ALL {
            let spec = LandscapeSpec::new(kind);
            let (landscape, camera) = (spec.landscape(), Camera::home(&spec));
            let viewport = Viewport { camera, size_px: [600.0; 2] };
            let scale = AutoScale::default().update(&[(&landscape, viewport)]);
            let field = HeightField::of(&landscape, camera, &scale);
            assert_eq!(field, HeightField::sample(|xy| landscape.loss(xy), camera, &scale), "{}", kind.key());
            let (lowest, highest) = (field.lowest, field.highest);
            assert!(highest > 0.4, "{}: {highest}", kind.key());
            // The lowest point may lie between two points of the grid.
            let is_never_negative = scale.min == 0.0;
            assert!(!is_never_negative || (-0.5..-0.35).contains(&lowest), "{}: {lowest}", kind.key());
        }
    }

    #[test]
    fn losses_that_are_not_finite_leave_a_hole() {
        for nothing in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let pole = |[x, y]: [f64; 2]| if x.hypot(y) < 0.5 { nothing } else { x };
            let camera = Camera::new([0.0; 2], 4.0);
            let field = HeightField::sample(pole, camera, &SCALE);
            assert_eq!((field.height([0.0; 2]), field.normal([0.0; 2])), (None, None));
            assert!(field.height([0.6, 0.6]).is_some());
            let above =
                SpaceView { camera, orbit: Orbit { azimuth: 0.0, elevation: 90.0 }, size_px: [400.0; 2], cover: 0.0 };
            assert_eq!(field.hit(&above.ray(above.project([0.0; 3]).px)), None);
        }
        let nowhere = HeightField::sample(|_| f64::NAN, CAMERA, &SCALE);
        assert_eq!(nowhere.hit(&view(Orbit::HOME).ray([400.0, 300.0])), None);
    }

    #[test]
    fn a_line_of_sight_meets_the_surface_the_side_below_it_or_nothing() {
        let camera = Camera::new([0.0; 2], 2.0);
        let field = HeightField::sample(|_| 0.0, camera, &SCALE);
        let view =
            SpaceView { camera, orbit: Orbit { azimuth: 0.0, elevation: 20.0 }, size_px: [400.0; 2], cover: 0.0 };
        let sight = |point| field.sight(&view.ray(view.project(point).px));
        let Sight::Surface([x, y]) = sight([0.3, -0.4, 0.0]) else { panic!("the surface is there") };
        assert!((x - 0.3).abs() < 1e-3 && (y + 0.4).abs() < 1e-3, "{x} {y}");
        assert_eq!(sight([1.0, 0.2, -0.3]), Sight::Side);
        assert_eq!(sight([1.0, 0.2, -0.6]), Sight::Nothing);
        assert_eq!(sight([-1.0, 0.2, 0.4]), Sight::Nothing);
    }

    #[test]
    fn a_hill_hides_what_is_behind_it() {
        let hill = |[x, _]: [f64; 2]| if x.abs() < 0.2 { 10.0 } else { 0.0 };
        let camera = Camera::new([0.0; 2], 2.0);
        let field = HeightField::sample(hill, camera, &SCALE);
        let low = SpaceView { camera, orbit: Orbit { azimuth: 0.0, elevation: 20.0 }, size_px: [400.0; 2], cover: 0.0 };
        assert!(field.hides(&low, field.point([-0.5, 0.0]).expect("flat")));
        assert!(!field.hides(&low, field.point([0.5, 0.0]).expect("flat")));
        assert!(!field.hides(&low, field.point([0.0, 0.0]).expect("the top")));
    }
}
