//! The axes of the surface in space as lines and labels: x and y along the near edges of the box, the loss along its left
//! edge, and grid lines on the two walls behind the surface.

use super::ticks::Ticks;
use super::{SpaceView, SymLog};

/// The sizes of the axes' parts, in the units of the canvas.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpaceAxesStyle {
    /// The length of a tick, and the gap between it and its label.
    pub tick: f64,
    pub gap: f64,
    /// The distance of an axis' name from the axis.
    pub name: f64,
    /// The smallest distances between ticks: along x and y, and along the loss.
    pub spacing: [f64; 2],
}

/// A straight line on the canvas.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AxisLine {
    pub ends: [[f64; 2]; 2],
    /// True for the frame of a wall, false for the grid on it.
    pub is_frame: bool,
}

/// A text on the canvas.
#[derive(Clone, Debug, PartialEq)]
pub struct AxisLabel {
    /// The point beside which the text stands, and the direction of length 1 from the point to the text.
    pub at: [f64; 2],
    pub outward: [f64; 2],
    pub text: String,
}

/// The axes of a surface.
#[derive(Clone, Debug)]
pub struct SpaceAxes {
    view: SpaceView,
    style: SpaceAxesStyle,
    /// The sides, −1 or 1, of the near edges: the x axis lies at this y, the y axis at this x.
    near: [f64; 2],
    /// The heights of the x axis and of the y axis: on the floor where the side of the box above it is seen, else on top.
    levels: [f64; 2],
    /// The place of the left edge.
    left: [f64; 2],
    ticks: [Ticks; 2],
    /// The heights of the labelled losses.
    heights: Vec<(f64, String)>,
}

const FLOOR: f64 = -0.5;
const TOP: f64 = 0.5;

impl SpaceAxes {
    pub fn new(view: SpaceView, scale: &SymLog, style: SpaceAxesStyle) -> SpaceAxes {
        let back = view.axes().back;
        let near = [0, 1].map(|axis| if back[axis] < 0.0 { -1.0 } else { 1.0 });
        let eye = view.eye();
        let levels = [0, 1].map(|axis: usize| if eye[1 - axis].abs() > 1.0 { FLOOR } else { TOP });
        let at = |point| view.project(point).px.map(f64::from);
        let corners = [[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]];
        let left = corners.into_iter().min_by(|one, other| {
            let [one, other] = [one, other].map(|[x, y]| at([*x, *y, 0.0])[0]);
            one.total_cmp(&other)
        });
        let left = left.unwrap_or(corners[0]);
        let length = |[from, to]: [[f64; 2]; 2]| (to[0] - from[0]).hypot(to[1] - from[1]);
        let [low, high] = [-1.0, 1.0].map(|side| view.xy_from_place([side; 2]));
        let ticks = [0, 1].map(|axis| {
            let edge = [-1.0, 1.0].map(|along| at(on_edge(near, levels, axis, along)));
            Ticks::at_least_two([low[axis], high[axis]], length(edge), style.spacing[0])
        });
        let vertical = [FLOOR, TOP].map(|height| at([left[0], left[1], height]));
        let most = (length(vertical) / style.spacing[1]) as usize;
        let losses = Ticks::symlog(scale, most);
        let heights = losses.ticks.into_iter().map(|tick| (scale.position(tick.value) - 0.5, tick.label));
        // Seen nearly from above, the labels would cover each other.
        let heights = heights.filter(|(height, _)| most > 1 && (FLOOR..=TOP).contains(height)).collect();
        SpaceAxes { view, style, near, levels, left, ticks, heights }
    }

    /// Returns the lines on the walls behind the surface, to be drawn before it.
    pub fn walls(&self) -> Vec<AxisLine> {
        let [far_x, far_y] = self.near.map(|side| -side);
        let line = |from, to, is_frame| AxisLine { ends: [self.at(from), self.at(to)], is_frame };
        let upright = |x, y, is_frame| line([x, y, FLOOR], [x, y, TOP], is_frame);
        let mut lines: Vec<AxisLine> = Vec::new();
        lines.extend(self.ticks[0].ticks.iter().map(|tick| upright(self.along(0, tick.value), far_y, false)));
        lines.extend(self.ticks[1].ticks.iter().map(|tick| upright(far_x, self.along(1, tick.value), false)));
        let levels = self.heights.iter().map(|(height, _)| (*height, false)).chain([(FLOOR, true), (TOP, true)]);
        for (height, is_frame) in levels {
            lines.push(line([-1.0, far_y, height], [1.0, far_y, height], is_frame));
            lines.push(line([far_x, -1.0, height], [far_x, 1.0, height], is_frame));
        }
        lines.extend([[far_x, far_y], [-far_x, far_y], [far_x, -far_y]].map(|[x, y]| upright(x, y, true)));
        lines
    }

    /// Returns the axes with their ticks, to be drawn after the surface.
    pub fn lines(&self) -> Vec<AxisLine> {
        let line = |ends| AxisLine { ends, is_frame: true };
        let mut lines: Vec<AxisLine> = Vec::new();
        for axis in 0..2 {
            lines.push(line([-1.0, 1.0].map(|along| self.at(on_edge(self.near, self.levels, axis, along)))));
            let outward = self.outward(axis);
            lines.extend(self.marks(axis).map(|(at, _)| line([at, moved(at, outward, self.style.tick)])));
        }
        lines.push(line([FLOOR, TOP].map(|height| self.at([self.left[0], self.left[1], height]))));
        lines.extend(self.losses().map(|(at, _)| line([at, moved(at, LEFT, self.style.tick)])));
        lines
    }

    /// Returns the labels of the ticks and the names of the axes.
    pub fn labels(&self) -> Vec<AxisLabel> {
        let beyond = self.style.tick + self.style.gap;
        let label = |at, outward, distance, text: &str| AxisLabel {
            at: moved(at, outward, distance),
            outward,
            text: text.to_owned(),
        };
        let mut labels = Vec::new();
        for (axis, name) in ["x", "y"].into_iter().enumerate() {
            let outward = self.outward(axis);
            labels.extend(self.marks(axis).map(|(at, text)| label(at, outward, beyond, text)));
            let name = match &self.ticks[axis].note {
                Some(note) => format!("{name}   ({note})"),
                None => name.to_owned(),
            };
            labels.push(label(self.at(on_edge(self.near, self.levels, axis, 0.0)), outward, self.style.name, &name));
        }
        labels.extend(self.losses().map(|(at, text)| label(at, LEFT, beyond, text)));
        let top = self.at([self.left[0], self.left[1], TOP]);
        // A tick at the top has its label beside it.
        labels.push(label(top, [-0.6, -0.8], 0.6 * self.style.spacing[1], "loss L"));
        labels
    }

    /// Returns the positions of an axis' ticks, with their labels.
    fn marks(&self, axis: usize) -> impl Iterator<Item = ([f64; 2], &str)> {
        let at = move |value| self.at(on_edge(self.near, self.levels, axis, self.along(axis, value)));
        self.ticks[axis].ticks.iter().map(move |tick| (at(tick.value), tick.label.as_str()))
    }

    /// Returns the positions of the labelled losses on the left edge.
    fn losses(&self) -> impl Iterator<Item = ([f64; 2], &str)> {
        let [x, y] = self.left;
        self.heights.iter().map(move |(height, label)| (self.at([x, y, *height]), label.as_str()))
    }

    fn at(&self, point: [f64; 3]) -> [f64; 2] {
        self.view.project(point).px.map(f64::from)
    }

    /// Returns the place along an axis, from −1 to 1, of a coordinate.
    fn along(&self, axis: usize, value: f64) -> f64 {
        let mut xy = self.view.camera.center;
        xy[axis] = value;
        self.view.place_from_xy(xy)[axis]
    }

    /// Returns the direction on the canvas that leads away from the box at the near edge along an axis.
    fn outward(&self, axis: usize) -> [f64; 2] {
        let edge = on_edge(self.near, self.levels, axis, 0.0);
        let mut beyond = edge;
        beyond[1 - axis] *= 1.1;
        let ([x0, y0], [x1, y1]) = (self.at(edge), self.at(beyond));
        let (dx, dy) = (x1 - x0, y1 - y0);
        let length = dx.hypot(dy);
        // An edge seen from its end has no side.
        if length < 1e-6 { [0.0, 1.0] } else { [dx / length, dy / length] }
    }
}

const LEFT: [f64; 2] = [-1.0, 0.0];

fn moved(at: [f64; 2], direction: [f64; 2], distance: f64) -> [f64; 2] {
    [0, 1].map(|axis| at[axis] + distance * direction[axis])
}

/// Returns the point of the near edge along an axis, from −1 to 1 along it.
fn on_edge(near: [f64; 2], levels: [f64; 2], axis: usize, along: f64) -> [f64; 3] {
    let mut point = [near[0], near[1], levels[axis]];
    point[axis] = along;
    point
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::{Camera, Orbit};

    #[test]
    fn each_axis_has_its_name_and_its_ticks_at_their_values() {
        let camera = Camera { center: [1.0, 2.0], width: 4.0 };
        let style = SpaceAxesStyle { tick: 5.0, gap: 3.0, name: 40.0, spacing: [46.0, 26.0] };
        let scale = SymLog::symmetric(0.01, 10.0);
        for azimuth in [-160.0, -110.0, -45.0, 20.0, 70.0, 135.0] {
            let view = SpaceView { camera, orbit: Orbit { azimuth, elevation: 40.0 }, size_px: [900.0, 600.0] };
            let axes = SpaceAxes::new(view, &scale, style);
            let labels = axes.labels();
            for name in ["x", "y", "loss L"] {
                assert_eq!(labels.iter().filter(|label| label.text == name).count(), 1, "{name} from {azimuth}");
            }
            let inside = |[x, y]: [f64; 2]| (0.0..900.0).contains(&x) && (0.0..600.0).contains(&y);
            assert!(labels.len() > 12 && labels.iter().all(|label| inside(label.at)), "{labels:?}");
            assert!(axes.lines().iter().all(|line| line.ends.into_iter().all(inside)));
            // The tick of x = 2 lies on the near edge.
            let y = if azimuth < 0.0 { -1.0 } else { 1.0 };
            let at = view.project([0.5, y, -0.5]).px.map(f64::from);
            let near = |line: &AxisLine| (line.ends[0][0] - at[0]).hypot(line.ends[0][1] - at[1]) < 1e-3;
            assert!(axes.lines().iter().any(near), "no tick of x = 2 from {azimuth}");
        }
    }
}
