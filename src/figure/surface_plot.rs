//! The landscape of a figure as a surface in space: an embedded image, with contour lines, trajectories and axes as
//! vectors. Lines behind the surface are faint.

use valleyscope_experiments::view::{
    AxisLine, Camera, Dash, HeightField, Orbit, Sight, SpaceAxes, SpaceAxesStyle, SpaceView,
};

use super::FigureError;
use super::canvas::{Anchor, Area, Canvas, Stroke};
use super::contour::Grid;
use super::landscape_plot::{LandscapePlot, Track};
use super::style::{CURVE_WIDTH, LABEL_GAP, TICK};

/// The number of pixels of the image per point.
const PX_PER_POINT: f64 = 4.0;
/// The number of cells along each side of the grid for contour lines.
const CELLS: usize = 220;
/// The smallest distance between contour lines, in points, as on the plane.
const CLOSEST: f64 = 2.0;
/// The longest straight piece of a path, in halves of the square in view.
const PIECE: f64 = 1.0 / 64.0;
/// The opacity of lines behind the surface, over that of those in front.
const BEHIND: f64 = 0.25;
const WALL: [u8; 3] = [110; 3];

/// The surface on its area.
pub(super) struct SurfacePlot<'a> {
    ground: &'a LandscapePlot,
    area: Area,
    view: SpaceView,
    heights: HeightField,
}

/// A connected part of a line, in front of the surface or behind it.
struct Piece {
    points: Vec<[f64; 2]>,
    is_hidden: bool,
}

impl SurfacePlot<'_> {
    pub(super) fn new(ground: &LandscapePlot, area: Area) -> SurfacePlot<'_> {
        let [[left, right], [bottom, top]] = [ground.horizontal.range, ground.vertical.range];
        let camera = Camera { center: [0.5 * (left + right), 0.5 * (bottom + top)], width: right - left };
        let orbit = ground.view.orbit.unwrap_or(Orbit::HOME).limited();
        let view = SpaceView { camera, orbit, size_px: [area.width as f32, area.height as f32] };
        let heights = HeightField::of(&ground.landscape, camera, &ground.scale);
        SurfacePlot { ground, area, view, heights }
    }

    /// Draws the surface with everything on it.
    pub(super) fn draw(&self, canvas: &mut Canvas, em: f64) -> Result<(), FigureError> {
        let style =
            SpaceAxesStyle { tick: TICK * em, gap: LABEL_GAP * em, name: 2.6 * em, spacing: [2.8 * em, 2.0 * em] };
        let axes = SpaceAxes::new(self.view, &self.ground.scale, style);
        let image = super::surface_raster::image(&self.view, &self.heights, self.ground.view.colormap, PX_PER_POINT);
        canvas.smooth_image(self.area, &image)?;
        self.draw_walls(canvas, &axes.walls());
        if self.ground.view.contours {
            self.draw_contours(canvas);
        }
        for track in &self.ground.tracks {
            self.draw_particles(canvas, track);
        }
        for track in self.ground.longest_first() {
            self.draw_mean(canvas, track);
        }
        self.draw_start(canvas, em);
        for track in &self.ground.tracks {
            self.draw_end(canvas, track, em);
        }
        let lines: Vec<Vec<[f64; 2]>> =
            axes.lines().iter().map(|line| line.ends.map(|end| self.on_paper(end)).to_vec()).collect();
        canvas.path(&lines, Stroke { color: [0; 3], width: 0.5, dash: Dash::Solid, opacity: 1.0 });
        for label in axes.labels() {
            let [across, down] = label.outward;
            let anchor = match across {
                across if across < -0.4 => Anchor::End,
                across if across > 0.4 => Anchor::Start,
                _ => Anchor::Middle,
            };
            let [x, y] = self.on_paper(label.at);
            canvas.text([x, y + 0.5 * em * down], anchor, &label.text);
        }
        Ok(())
    }

    fn on_paper(&self, [x, y]: [f64; 2]) -> [f64; 2] {
        [self.area.x + x, self.area.y + y]
    }

    /// Draws the lines on the walls, less what the surface hides.
    fn draw_walls(&self, canvas: &mut Canvas, walls: &[AxisLine]) {
        for line in walls {
            let [from, to] = line.ends;
            let visible = |part: &f64| {
                let at = [0, 1].map(|axis| from[axis] + part * (to[axis] - from[axis]));
                let sight = self.heights.sight(&self.view.ray(at.map(|part| part as f32)));
                (sight == Sight::Nothing).then(|| self.on_paper(at))
            };
            let parts: Vec<f64> = (0..=100).map(|part| f64::from(part) / 100.0).collect();
            let mut pieces: Vec<Vec<[f64; 2]>> = vec![Vec::new()];
            for part in &parts {
                match visible(part) {
                    Some(at) => pieces.last_mut().expect("one is there").push(at),
                    None => pieces.push(Vec::new()),
                }
            }
            let ends = |piece: Vec<[f64; 2]>| match piece[..] {
                [first, .., last] => Some(vec![first, last]),
                _ => None,
            };
            let pieces: Vec<_> = pieces.into_iter().filter_map(ends).collect();
            if !pieces.is_empty() {
                let opacity = if line.is_frame { 1.0 } else { 0.4 };
                canvas.path(&pieces, Stroke { color: WALL, width: 0.35, dash: Dash::Solid, opacity });
            }
        }
    }

    /// Returns the pieces of a path of the plane on the surface, up to its first position that is not finite.
    fn pieces(&self, path: &[[f64; 2]]) -> Vec<Piece> {
        let finite = path.iter().take_while(|[x, y]| x.is_finite() && y.is_finite());
        let places: Vec<[f64; 2]> = finite.map(|xy| self.view.place_from_xy(*xy)).collect();
        let mut dense: Vec<[f64; 2]> = places.first().copied().into_iter().collect();
        for pair in places.windows(2) {
            let length = (pair[1][0] - pair[0][0]).hypot(pair[1][1] - pair[0][1]);
            let count = (length / PIECE).ceil().clamp(1.0, 256.0) as usize;
            let at = |part: f64| [0, 1].map(|axis| pair[0][axis] + part * (pair[1][axis] - pair[0][axis]));
            dense.extend((1..=count).map(|index| at(index as f64 / count as f64)));
        }
        let mut pieces: Vec<Piece> = Vec::new();
        let mut is_joined = false;
        for (index, place) in dense.iter().enumerate() {
            let Some(point) = self.heights.point(*place) else {
                is_joined = false;
                continue;
            };
            let at = self.on_paper(self.view.project(point).px.map(f64::from));
            let last = pieces.last_mut().filter(|_| is_joined);
            let is_close = last
                .as_ref()
                .and_then(|piece| piece.points.last())
                .is_some_and(|last| (at[0] - last[0]).hypot(at[1] - last[1]) < 0.25);
            if is_close && index + 1 < dense.len() {
                continue;
            }
            let is_hidden = self.heights.hides(&self.view, point);
            match last {
                Some(piece) => {
                    piece.points.push(at);
                    if piece.is_hidden != is_hidden {
                        pieces.push(Piece { points: vec![at], is_hidden });
                    }
                }
                None => pieces.push(Piece { points: vec![at], is_hidden }),
            }
            is_joined = true;
        }
        pieces.retain(|piece| piece.points.len() > 1);
        pieces
    }

    /// Draws pieces of paths, those behind the surface faintly.
    fn stroke(&self, canvas: &mut Canvas, pieces: &[Piece], stroke: Stroke) {
        for is_hidden in [true, false] {
            let lines: Vec<Vec<[f64; 2]>> =
                pieces.iter().filter(|piece| piece.is_hidden == is_hidden).map(|piece| piece.points.clone()).collect();
            if !lines.is_empty() {
                let opacity = if is_hidden { BEHIND * stroke.opacity } else { stroke.opacity };
                canvas.path(&lines, Stroke { opacity, ..stroke });
            }
        }
    }

    fn draw_contours(&self, canvas: &mut Canvas) {
        let half = 0.5 * self.view.camera.width;
        let center = self.view.camera.center;
        let [low, high] = [-half, half].map(|half| center.map(|center| center + half));
        let grid = Grid::new(|xy| self.ground.loss(xy), low, high, [CELLS; 2]);
        let least = CLOSEST * half / self.view.px_per_unit();
        for level in self.ground.scale.contour_levels() {
            let mut shown: Vec<Vec<[f64; 2]>> = Vec::new();
            for line in grid.separate_lines(&self.ground.landscape, &self.ground.scale, level, least) {
                let pieces = self.pieces(&line).into_iter().filter(|piece| !piece.is_hidden);
                shown.extend(pieces.map(|piece| piece.points));
            }
            if !shown.is_empty() {
                canvas.path(&shown, self.ground.contour_stroke(level));
            }
        }
    }

    fn draw_particles(&self, canvas: &mut Canvas, track: &Track) {
        let pieces: Vec<Piece> = track.particles.iter().flat_map(|path| self.pieces(path)).collect();
        self.stroke(canvas, &pieces, LandscapePlot::particle_stroke(track.color));
    }

    fn draw_mean(&self, canvas: &mut Canvas, track: &Track) {
        let pieces = self.pieces(&track.mean);
        for (color, width) in [([0; 3], LandscapePlot::HALO), (track.color, CURVE_WIDTH)] {
            self.stroke(canvas, &pieces, Stroke { color, width, dash: Dash::Solid, opacity: 1.0 });
        }
    }

    /// Returns the position of a point of the plane, and whether it is hidden.
    fn at(&self, xy: [f64; 2]) -> Option<([f64; 2], bool)> {
        let point = self.heights.point(self.view.place_from_xy(xy))?;
        Some((self.on_paper(self.view.project(point).px.map(f64::from)), self.heights.hides(&self.view, point)))
    }

    fn draw_start(&self, canvas: &mut Canvas, em: f64) {
        if let Some((at, is_hidden)) = self.at(self.ground.start) {
            LandscapePlot::draw_cross(canvas, at, em, if is_hidden { BEHIND } else { 1.0 });
        }
    }

    fn draw_end(&self, canvas: &mut Canvas, track: &Track, em: f64) {
        // Ends are the result of the figure, and drawn in full also behind a hill.
        if let Some((at, _)) = track.mean.last().and_then(|last| self.at(*last)) {
            canvas.marker(track.marker, at, LandscapePlot::END * em, [track.color, [0; 3]]);
        }
    }
}
