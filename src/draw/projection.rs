//! The mapping of the plane to a canvas, flat or onto a surface in space.

use std::sync::Arc;

use egui::{Pos2, Rect, Vec2};
use valleyscope_experiments::view::{HeightField, Lens, SpaceView, Viewport};

/// The mapping of points of the plane to the canvas, in points from its top left.
#[derive(Clone, Debug)]
pub enum Projection {
    Plane(Viewport),
    Space(SpaceProjection),
}

/// The surface as it is seen.
#[derive(Clone, Debug)]
pub struct SpaceProjection {
    pub view: SpaceView,
    pub heights: Arc<HeightField>,
}

/// The position of a point on the canvas.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlaneMark {
    pub px: [f32; 2],
    /// True if the surface is in front of the point.
    pub is_hidden: bool,
}

/// The opacity of marks behind the surface.
const BEHIND: f32 = 0.3;

impl PlaneMark {
    /// The factor of the opacity with which the mark is drawn.
    pub(crate) fn opacity(self) -> f32 {
        if self.is_hidden { BEHIND } else { 1.0 }
    }

    pub(crate) fn on(self, canvas: Rect) -> Pos2 {
        canvas.min + Vec2::from(self.px)
    }
}

impl Projection {
    /// The position of a point; `None` in space where there is no surface.
    pub fn mark(&self, xy: [f64; 2]) -> Option<PlaneMark> {
        match self {
            Projection::Plane(viewport) => Some(PlaneMark { px: viewport.px_from_xy(xy), is_hidden: false }),
            Projection::Space(SpaceProjection { view, heights }) => {
                let point = heights.point(view.box_from_xy(xy))?;
                Some(PlaneMark { px: view.project(point).px, is_hidden: heights.hides(view, point) })
            }
        }
    }

    /// The position of a point, whether or not it is hidden.
    pub fn px(&self, xy: [f64; 2]) -> Option<[f32; 2]> {
        match self {
            Projection::Plane(viewport) => Some(viewport.px_from_xy(xy)),
            Projection::Space(SpaceProjection { view, heights }) => {
                heights.point(view.box_from_xy(xy)).map(|point| view.project(point).px)
            }
        }
    }

    /// The point of the plane under a pixel; `None` in space beside the surface.
    pub fn xy(&self, px: [f32; 2]) -> Option<[f64; 2]> {
        match self {
            Projection::Plane(viewport) => Some(viewport.xy_from_px(px)),
            Projection::Space(SpaceProjection { view, heights }) => {
                heights.hit(&view.ray(px)).map(|place| view.xy_from_box(place))
            }
        }
    }

    /// The units of the plane per pixel, to the right; in space, in the middle of the box.
    pub fn units_per_px(&self) -> f64 {
        match self {
            Projection::Plane(viewport) => viewport.units_per_px(),
            Projection::Space(SpaceProjection { view, .. }) => 0.5 * view.camera.width / view.px_per_unit(),
        }
    }

    /// The axes of the view.
    pub(crate) fn lens(&self) -> Lens {
        match self {
            Projection::Plane(viewport) => viewport.camera.lens,
            Projection::Space(_) => Lens::NONE,
        }
    }

    /// The length on the screen of a vector of the plane.
    pub(crate) fn length_px(&self, vector: [f64; 2]) -> f64 {
        let [right, up] = match self {
            Projection::Plane(viewport) => viewport.px_of_vector(vector),
            Projection::Space(_) => vector.map(|part| part / self.units_per_px()),
        };
        right.hypot(up)
    }

    /// The lower left and the upper right corner of the part of the plane in view, in coordinates of the lens.
    pub(crate) fn corners(&self) -> [[f64; 2]; 2] {
        match self {
            Projection::Plane(viewport) => viewport.corners(),
            Projection::Space(space) => [-1.0, 1.0].map(|side| space.view.xy_from_box([side; 2])),
        }
    }

    /// The pieces of a line through points of the plane that are drawn: on the plane a single one, in space the
    /// connected parts of the surface in front, and those behind.
    pub(crate) fn line(&self, canvas: Rect, points: impl IntoIterator<Item = [f64; 2]>) -> Vec<LinePiece> {
        let mut pieces: Vec<LinePiece> = Vec::new();
        let mut is_joined = false;
        for xy in points {
            let Some(mark) = self.mark(xy) else {
                is_joined = false;
                continue;
            };
            let at = mark.on(canvas);
            match pieces.last_mut().filter(|_| is_joined) {
                Some(last) => {
                    last.points.push(at);
                    if last.opacity != mark.opacity() {
                        pieces.push(LinePiece { points: vec![at], opacity: mark.opacity() });
                    }
                }
                None => pieces.push(LinePiece { points: vec![at], opacity: mark.opacity() }),
            }
            is_joined = true;
        }
        pieces
    }

    /// The number of straight pieces in which a line from one point to another follows the ground.
    pub(crate) fn pieces(&self, from: [f64; 2], to: [f64; 2]) -> usize {
        match self {
            Projection::Plane(_) => 1,
            Projection::Space(SpaceProjection { view, .. }) => {
                let length = (to[0] - from[0]).hypot(to[1] - from[1]) / view.camera.width;
                ((64.0 * length).ceil()).clamp(1.0, 96.0) as usize
            }
        }
    }
}

/// A connected part of a line, with one opacity.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LinePiece {
    pub points: Vec<Pos2>,
    pub opacity: f32,
}
