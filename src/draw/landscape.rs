//! A landscape with what is drawn on it, in the plane or in space: contour lines, paths, the start, and axes.

use egui::{Align, Color32, Pos2, Rect, Shape, Stroke, StrokeKind, pos2, vec2};
use valleyscope_engine::landscape::{Landscape, LandscapeSpec};
use valleyscope_experiments::view::range::{Extent, suiting, union};
use valleyscope_experiments::view::ticks::Ticks;
use valleyscope_experiments::view::{
    AxisLine, AxisScale, Camera, Colormap, Dash, Lens, LensAxes, SpaceAxes, SpaceAxesStyle, SpaceView, SymLog, Viewport,
};

use super::axis::{Axis, Parts, Side, TICK};
use super::canvas::{Canvas, LINE, against, polylines, rgb};
use super::contours::Grid;
use super::projection::{LinePiece, Projection};

/// The height of a figure's landscape over its width.
pub(crate) const ASPECT: f64 = 0.84;
/// The width of the view over that of the drawn trajectories in its middle.
const ROOM: f64 = 1.16;
/// The narrowest view, in spreads of the start.
const LEAST_SPREADS: f64 = 40.0;
/// The distance from the origin beyond which a position has run away.
const RUN_AWAY: f64 = 1e4;

// Lengths in points.
/// The size of a cell of the grid for contour lines.
const CELL: f32 = 1.5;
/// The distances between contour lines below which they fade, by equal parts, until they are left out: they would merge.
const CLOSEST: [f64; 4] = [2.0, 3.0, 4.0, 5.0];
/// The smallest distance between points of a path; closer ones are left out.
const FINEST: f32 = 0.25;
/// The opacity of contour lines, as on the GPU.
const CONTOUR_OPACITY: f32 = 0.3;
const CONTOUR_WIDTH: f32 = 0.5;

// Lengths in font sizes.
/// The smallest distances between labels of ticks, beside and above each other.
const SPACING: [f32; 2] = [4.4, 2.4];
/// The widths of the valley's axes and of the dark lines behind them.
const AXIS: [f32; 2] = [0.09, 0.22];
/// The lengths of their dashes and gaps.
const DASHES: [f32; 2] = [0.6, 0.43];
/// The number of straight pieces of an axis of the valley on a surface.
const POINTS: usize = 72;
/// The corners of a circle that lies on the surface in space.
const START_CIRCLE: usize = 64;

/// A panel with a landscape, and the mapping of the plane to it.
pub(crate) struct LandscapePainter<'a> {
    pub canvas: &'a Canvas,
    pub panel: Rect,
    pub projection: &'a Projection,
}

/// The sides of a landscape with the labels of ticks and the name of the axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LabelledSides {
    pub left: bool,
    pub below: bool,
}

impl LandscapePainter<'_> {
    /// The pieces of a path that are drawn, up to its first position that is not finite, without points too close to be
    /// distinguished.
    fn pieces(&self, path: &[[f64; 2]]) -> Vec<LinePiece> {
        let finite = path.iter().take_while(|[x, y]| x.is_finite() && y.is_finite());
        let finite: Vec<[f64; 2]> = finite.copied().collect();
        let mut dense: Vec<[f64; 2]> = finite.first().copied().into_iter().collect();
        for pair in finite.windows(2) {
            let count = self.projection.pieces(pair[0], pair[1]);
            let at = |part: f64| [0, 1].map(|axis| pair[0][axis] + part * (pair[1][axis] - pair[0][axis]));
            dense.extend(
                (1..=count).map(|index| if index == count { pair[1] } else { at(index as f64 / count as f64) }),
            );
        }
        // Far outside, the exact position does not matter.
        let near = self.panel.expand2(10.0 * self.panel.size());
        let mut pieces = self.projection.line(self.panel, dense);
        for LinePiece { points, .. } in &mut pieces {
            points.iter_mut().for_each(|at| *at = near.clamp(*at));
            let end = points.pop();
            points.dedup_by(|at, before| before.distance(*at) < FINEST);
            points.extend(end);
        }
        pieces
    }

    /// Draws paths as one shape for each opacity: those behind the surface are faint.
    pub(crate) fn draw_paths(&self, paths: &[Vec<[f64; 2]>], stroke: Stroke) {
        let pieces: Vec<LinePiece> = paths.iter().flat_map(|path| self.pieces(path)).collect();
        let (mut hidden, mut seen) = (Vec::new(), Vec::new());
        for LinePiece { points, opacity } in pieces {
            if opacity < 1.0 { hidden.push((points, opacity)) } else { seen.push(points) }
        }
        if let Some((_, opacity)) = hidden.first() {
            let faint = Stroke::new(stroke.width, stroke.color.gamma_multiply(*opacity));
            let points: Vec<Vec<Pos2>> = hidden.into_iter().map(|(points, _)| points).collect();
            self.canvas.lines(&points, faint, Dash::Solid);
        }
        if !seen.is_empty() {
            self.canvas.lines(&seen, stroke, Dash::Solid);
        }
    }

    /// Draws the contour lines of a landscape at the levels of a scale, less what the surface hides.
    pub(crate) fn draw_contours(&self, landscape: &Landscape, scale: &SymLog, colormap: Colormap) {
        let lens = self.projection.lens();
        let parts = match self.projection {
            Projection::Plane(viewport) => viewport.contours(landscape, scale),
            Projection::Space(_) => SymLog::CONTOURS,
        };
        let [low, high] = self.projection.corners();
        let cells = match self.projection {
            Projection::Plane(_) => [self.panel.width(), self.panel.height()],
            Projection::Space(_) => [self.panel.width(); 2],
        };
        let cells = cells.map(|length| (length / CELL).ceil() as usize);
        let grid = Grid::new(|at| landscape.loss(lens.xy(at)), low, high, cells);
        let distances = CLOSEST.map(|least| least * self.projection.units_per_px());
        for (level, least) in scale.contour_levels(parts).flat_map(|level| distances.map(|least| (level, least))) {
            let lines = grid.separate_lines(landscape, (scale, parts), level, (lens, least));
            let lines = lines.iter().map(|line| line.iter().map(|at| lens.xy(*at)).collect::<Vec<_>>());
            let pieces = lines.flat_map(|line| self.pieces(&line)).filter(|piece| piece.opacity == 1.0);
            let pieces: Vec<Vec<Pos2>> = pieces.map(|piece| piece.points).collect();
            if !pieces.is_empty() {
                let Stroke { width, color } = contour_stroke(scale, colormap, level);
                let part = color.gamma_multiply(1.0 / CLOSEST.len() as f32);
                self.canvas.lines(&pieces, Stroke::new(width, part), Dash::Solid);
            }
        }
    }

    /// Draws the start: a cross, and a circle of one spread about it where that is visible.
    pub(crate) fn draw_start(&self, start: [f64; 2], spread: f64) {
        let Some(mark) = self.projection.mark(start) else { return };
        let (at, em) = (mark.on(self.panel), self.canvas.style.em);
        if !self.panel.expand(20.0).contains(at) {
            return;
        }
        let arms = [vec2(1.0, 0.0), vec2(-1.0, 0.0), vec2(0.0, 1.0), vec2(0.0, -1.0)];
        let arms = arms.map(|arm| vec![at + 0.26 * em * arm, at + 0.78 * em * arm]);
        for (color, width) in [(Color32::from_black_alpha(200), 0.3), (Color32::WHITE, 0.13)] {
            let stroke = Stroke::new(width * em, color.gamma_multiply(mark.opacity()));
            self.canvas.painter.add(polylines(&arms, stroke, Dash::Solid));
        }
        let radius = (spread / self.projection.units_per_px()) as f32;
        if radius <= 0.35 * em || radius >= 4.0 * self.panel.width() {
            return;
        }
        let stroke = Stroke::new(AXIS[0] * em, Color32::from_white_alpha(190));
        match self.projection {
            Projection::Plane(Viewport { camera, .. }) if camera.lens.stretch == 1.0 => {
                self.canvas.painter.circle_stroke(at, radius, stroke);
            }
            _ => {
                let around = (0..=START_CIRCLE).map(|corner| {
                    let (sin, cos) = (std::f64::consts::TAU * corner as f64 / START_CIRCLE as f64).sin_cos();
                    [start[0] + spread * cos, start[1] + spread * sin]
                });
                self.draw_paths(&[around.collect()], stroke);
            }
        }
    }

    /// Draws the axes of u and v, which φ turns, through the origin. Their arrows and names avoid `taken`.
    pub(crate) fn draw_uv_axes(&self, landscape: &Landscape, taken: Rect) {
        let em = self.canvas.style.em;
        let (color, halo) = (Color32::from_white_alpha(210), Color32::from_black_alpha(110));
        for (name, axis) in [("u", [1.0, 0.0]), ("v", [0.0, 1.0])] {
            let Some([from, to]) = self.across(landscape.xy_from_uv(axis)) else { continue };
            let count = if matches!(self.projection, Projection::Plane(_)) { 1 } else { POINTS };
            let points = (0..=count).map(|index| index as f64 / count as f64);
            let points = points.map(|part| [0, 1].map(|axis| from[axis] + part * (to[axis] - from[axis])));
            let pieces = self.projection.line(self.panel, points);
            for piece in &pieces {
                for (color, width) in [(halo, AXIS[1]), (color, AXIS[0])] {
                    let stroke = Stroke::new(width * em, color.gamma_multiply(piece.opacity));
                    let [dash, gap] = DASHES.map(|length| length * em);
                    self.canvas.painter.add(Shape::Vec(Shape::dashed_line(&piece.points, stroke, dash, gap)));
                }
            }
            let Some(LinePiece { points, opacity }) = pieces.last() else { continue };
            let [.., before, end] = points[..] else { continue };
            self.draw_tip(name, [points[0], before, end], taken, *opacity);
        }
    }

    /// Draws the arrow and the name of an axis as near as possible to the end to which it points.
    fn draw_tip(&self, name: &str, [first, before, end]: [Pos2; 3], taken: Rect, opacity: f32) {
        let (em, painter) = (self.canvas.style.em, &self.canvas.painter);
        let (unit, keep_out) = ((end - before).normalized(), taken.expand(1.4 * em));
        let length = first.distance(end);
        let back = (0..).map(|step| (0.35 + step as f32) * em).take_while(|back| *back < 0.8 * length);
        let Some(tip) = back.map(|back| end - unit * back).find(|tip| !keep_out.contains(*tip)) else { return };
        let white = Color32::from_white_alpha(210).gamma_multiply(opacity);
        let [along, across] = [0.87 * em * unit, 0.35 * em * unit.rot90()];
        let outline = Stroke::new(AXIS[0] * em, Color32::from_black_alpha(110).gamma_multiply(opacity));
        painter.add(Shape::convex_polygon(vec![tip, tip - along + across, tip - along - across], white, outline));
        let beside = self.panel.shrink(0.8 * em).clamp(tip - 1.1 * em * unit + em * unit.rot90());
        let shifted = beside + vec2(0.08, 0.08) * em;
        for (color, at) in [(Color32::BLACK, shifted), (Color32::WHITE, beside)] {
            self.canvas.text_in(color.gamma_multiply(opacity), em, at, name);
        }
    }

    /// The part in view of the line through the origin along a direction.
    fn across(&self, direction: [f64; 2]) -> Option<[[f64; 2]; 2]> {
        let ([low, high], lens) = (self.projection.corners(), self.projection.lens());
        let direction = lens.coordinates(direction);
        let (mut from, mut to) = (f64::NEG_INFINITY, f64::INFINITY);
        for axis in 0..2 {
            let inset = 0.0005 * (high[axis] - low[axis]);
            let ends = [low[axis] + inset, high[axis] - inset].map(|end| end / direction[axis]);
            // For a line along a side both are infinite, or NaN on the side, and neither narrows the range.
            from = from.max(ends[0].min(ends[1]));
            to = to.min(ends[0].max(ends[1]));
        }
        let at = |length: f64| lens.xy(direction.map(|part| length * part));
        (from < to && from.is_finite() && to.is_finite()).then(|| [at(from), at(to)])
    }

    fn plane_axes(&self) -> [Axis; 2] {
        let ([low, high], em) = (self.projection.corners(), self.canvas.style.em);
        let (names, lengths) = (self.projection.lens().names(), [self.panel.width(), self.panel.height()]);
        [0, 1].map(|side| {
            let (name, length, range) = (names[side], lengths[side], [low[side], high[side]]);
            let Ticks { ticks, note } = Ticks::at_least_two(range, f64::from(length), f64::from(SPACING[side] * em));
            let position = |value: f64| (value - range[0]) / (range[1] - range[0]);
            Axis::over(name, AxisScale::Linear, range, ticks, position).with_note(note)
        })
    }

    /// Draws the frame of a landscape in the plane, and the axes outside of it: the name of the vertical one above it,
    /// so that it is upright, or in the heading of an inset.
    pub(crate) fn draw_plane_axes(&self, labelled: LabelledSides, title: Option<Rect>, is_inset: bool) {
        let LandscapePainter { canvas, panel, .. } = *self;
        let ([below, beside], em) = (self.plane_axes(), canvas.style.em);
        canvas.painter.rect_stroke(panel, 0.0, canvas.style.line, StrokeKind::Middle);
        below.draw(canvas, panel, Side::Bottom, Parts::labelled(labelled.below));
        if labelled.below {
            below.draw_label_below(canvas, panel);
        }
        beside.draw(canvas, panel, Side::Left, Parts::labelled(labelled.left));
        if labelled.left {
            // Above the label of a tick at the upper end.
            let corner = panel.left_top() - vec2(TICK * em, 0.8 * LINE * em);
            let lens = self.projection.lens();
            let (name, note) = match lens.axes {
                // A name that is longer than the labels begins at the panel.
                LensAxes::Principal => ("", beside.label.as_str()),
                _ => beside.label.split_at(1),
            };
            let notes = [note.trim().to_owned(), lens.stretch_label().unwrap_or_default()];
            let notes = notes.join("   ");
            if let Some(area) = title.filter(|_| is_inset) {
                let valley = if name.is_empty() { "" } else { "Along the valley, " };
                let text = format!("{valley}{name} {}", notes.trim());
                canvas.text_within(area.left_center(), Align::LEFT, area.width(), text.trim());
                return;
            }
            canvas.text(corner, Align::RIGHT, name);
            // A title is at the left, and the name of the colour bar at the right.
            let at_right = |area: Rect| (area.right() - 2.0 * em, Align::RIGHT);
            let (x, align) = title.map_or((panel.left(), Align::LEFT), at_right);
            canvas.text(pos2(x, corner.y), align, notes.trim());
        }
    }

    /// The width of the labels at the left of a landscape in the plane.
    pub(crate) fn gutter(&self) -> f32 {
        let [_, beside] = self.plane_axes();
        beside.label_width(self.canvas) + (TICK + 0.5) * self.canvas.style.em
    }

    /// Draws the walls behind the surface. Call before the surface is drawn.
    pub(crate) fn draw_walls(&self, axes: &SpaceAxes) {
        self.draw_lines(&axes.walls());
    }

    /// Draws the axes in space with ticks, labels and names. Call after the surface is drawn.
    pub(crate) fn draw_space_axes(&self, axes: &SpaceAxes) {
        let LandscapePainter { canvas, panel, .. } = *self;
        self.draw_lines(&axes.lines());
        for label in axes.labels() {
            let outward = label.outward.map(|part| part as f32);
            let half = 0.5 * vec2(canvas.width(&label.text), LINE * canvas.style.em);
            let reach = outward[0].abs() * half.x + outward[1].abs() * half.y;
            let mut at = self.on_panel(label.at) + reach * vec2(outward[0], outward[1]);
            // In a narrow panel, labels would begin or end outside of it.
            at.x = at.x.min(panel.right() - half.x - 2.0).max(panel.left() + half.x + 2.0);
            canvas.text(at, Align::Center, &label.text);
        }
    }

    fn draw_lines(&self, lines: &[AxisLine]) {
        let Stroke { width, color } = self.canvas.style.line;
        for line in lines {
            let color = if line.is_frame { color } else { color.gamma_multiply(0.35) };
            self.canvas.painter.line_segment(line.ends.map(|end| self.on_panel(end)), Stroke::new(width, color));
        }
    }

    fn on_panel(&self, [x, y]: [f64; 2]) -> Pos2 {
        self.panel.min + vec2(x as f32, y as f32)
    }
}

pub(crate) fn space_axes(view: SpaceView, scale: &SymLog, em: f32) -> SpaceAxes {
    let em = f64::from(em);
    SpaceAxes::new(
        view,
        scale,
        SpaceAxesStyle { tick: 0.43 * em, gap: 0.26 * em, name: 2.6 * em, spacing: [3.6 * em, 2.2 * em] },
    )
}

/// The stroke of a contour line: dark on light colours and light on dark ones, the same all along a line.
pub(crate) fn contour_stroke(scale: &SymLog, colormap: Colormap, level: f64) -> Stroke {
    let color = rgb(against(colormap.rgb(scale.position(level))));
    Stroke::new(CONTOUR_WIDTH, color.gamma_multiply(CONTOUR_OPACITY))
}

/// The path of an optimizer's mean, and those of its particles.
pub(crate) type Paths<'a> = (&'a [[f64; 2]], &'a [Vec<[f64; 2]>]);

/// The camera that shows all means and most of the particles, except for optimizers that have run away. The particles
/// start with this spread.
pub(crate) fn around<'a>(ensembles: impl Iterator<Item = Paths<'a>>, start: [f64; 2], spread: f64) -> Camera {
    let [x, y] = reach_in(Lens::NONE, ensembles, start);
    let [width, height] = [x, y].map(|[low, high]| high - low);
    let center = [x, y].map(|[low, high]| 0.5 * (low + high));
    Camera::new(center, (ROOM * width.max(height / ASPECT)).max(LEAST_SPREADS * spread).max(1e-9))
}

/// The ranges of both coordinates in a lens of the start, all means and most of the particles.
fn reach_in<'a>(lens: Lens, ensembles: impl Iterator<Item = Paths<'a>>, start: [f64; 2]) -> [Extent; 2] {
    let start = lens.coordinates(start);
    let is_here = |xy: &[f64; 2]| xy.iter().all(|coordinate| coordinate.abs() < RUN_AWAY);
    let here: Vec<Paths<'a>> = ensembles.filter(|(mean, _)| mean.last().is_some_and(is_here)).collect();
    let extent = |path: &[[f64; 2]], side: usize| -> Option<Extent> {
        path.iter()
            .map(|xy| lens.coordinates(*xy)[side])
            .filter(|coordinate| coordinate.abs() < RUN_AWAY)
            .map(|coordinate| [coordinate; 2])
            .reduce(union)
    };
    [0, 1].map(|side| {
        let extents = here.iter().filter_map(|(mean, particles)| {
            let particles = particles.iter().filter_map(|path| extent(path, side)).reduce(union);
            Some((extent(mean, side)?, particles))
        });
        suiting(&extents.collect::<Vec<_>>()).map_or([start[side]; 2], |reached| union(reached, [start[side]; 2]))
    })
}

/// The camera along the valley that shows all means and most of the particles, except for optimizers that have run away.
pub(crate) fn along_valley<'a>(
    landscape: &LandscapeSpec,
    ensembles: impl Iterator<Item = Paths<'a>> + Clone,
    start: [f64; 2],
) -> Camera {
    let is_here = |xy: &[f64; 2]| xy.iter().all(|coordinate| coordinate.abs() < RUN_AWAY);
    let means = ensembles.clone().flat_map(|(mean, _)| mean.iter().copied().filter(is_here));
    let lens = Lens::along(landscape, &means.collect::<Vec<_>>(), None);
    let reach = reach_in(lens, ensembles, start);
    let room = |[low, high]: Extent| [low, high].map(|end| end + (ROOM - 1.0) * (end - 0.5 * (low + high)));
    lens.fitting(reach.map(room), 1.0 / ASPECT)
}

pub(crate) fn pixel_rgb(loss: f64, scale: &SymLog, colormap: Colormap, pixel: [usize; 2]) -> [u8; 3] {
    if loss.is_nan() { hatch(pixel) } else { colormap.rgb(scale.position(loss)) }
}

/// The colour of a pixel whose loss is not a number: slanted lines, as in the window.
fn hatch([column, row]: [usize; 2]) -> [u8; 3] {
    const PERIOD: usize = 14;
    const LINE: usize = 5;
    if (column + row) % PERIOD < LINE { [56; 3] } else { [107; 3] }
}
