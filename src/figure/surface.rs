//! The landscape of a figure as a surface in space, with contour lines, trajectories and axes.

use valleyscope_experiments::view::{
    AxisLine, Camera, Colormap, Dash, HeightField, Orbit, Sight, SpaceAxes, SpaceAxesStyle, SpaceView,
};

use super::FigureError;
use super::canvas::{Anchor, Area, CURVE_WIDTH, Canvas, LABEL_GAP, Stroke, TICK};
use super::landscape_plot::{Grid, LandscapePlot, Track};
use super::map::MapImage;

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
    plot: &'a LandscapePlot,
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
    pub(super) fn new(plot: &LandscapePlot, area: Area) -> SurfacePlot<'_> {
        let [[left, right], [bottom, top]] = [plot.horizontal.range, plot.vertical.range];
        let camera = Camera { center: [0.5 * (left + right), 0.5 * (bottom + top)], width: right - left };
        let orbit = plot.view.orbit.unwrap_or(Orbit::HOME).limited();
        let view = SpaceView { camera, orbit, size_px: [area.width as f32, area.height as f32] };
        let heights = HeightField::of(&plot.landscape, camera, &plot.scale);
        SurfacePlot { plot, area, view, heights }
    }

    /// Draws the surface with everything on it.
    pub(super) fn draw(&self, canvas: &mut Canvas, em: f64) -> Result<(), FigureError> {
        let style =
            SpaceAxesStyle { tick: TICK * em, gap: LABEL_GAP * em, name: 2.6 * em, spacing: [2.8 * em, 2.0 * em] };
        let axes = SpaceAxes::new(self.view, &self.plot.scale, style);
        let image = image(&self.view, &self.heights, self.plot.view.colormap, PX_PER_POINT);
        canvas.smooth_image(self.area, &image)?;
        self.draw_walls(canvas, &axes.walls());
        if self.plot.view.contours {
            self.draw_contours(canvas);
        }
        for track in &self.plot.tracks {
            self.draw_particles(canvas, track);
        }
        for track in self.plot.longest_first() {
            self.draw_mean(canvas, track);
        }
        self.draw_start(canvas, em);
        for track in &self.plot.tracks {
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
        let positions: Vec<[f64; 2]> = finite.map(|xy| self.view.box_from_xy(*xy)).collect();
        let mut dense: Vec<[f64; 2]> = positions.first().copied().into_iter().collect();
        for pair in positions.windows(2) {
            let length = (pair[1][0] - pair[0][0]).hypot(pair[1][1] - pair[0][1]);
            let count = (length / PIECE).ceil().clamp(1.0, 256.0) as usize;
            let at = |part: f64| [0, 1].map(|axis| pair[0][axis] + part * (pair[1][axis] - pair[0][axis]));
            dense.extend((1..=count).map(|index| at(index as f64 / count as f64)));
        }
        let mut pieces: Vec<Piece> = Vec::new();
        let mut is_joined = false;
        for (index, position) in dense.iter().enumerate() {
            let Some(point) = self.heights.point(*position) else {
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
        let grid = Grid::new(|xy| self.plot.loss(xy), low, high, [CELLS; 2]);
        let least = CLOSEST * half / self.view.px_per_unit();
        for level in self.plot.scale.contour_levels() {
            let mut shown: Vec<Vec<[f64; 2]>> = Vec::new();
            for line in grid.separate_lines(&self.plot.landscape, &self.plot.scale, level, least) {
                let pieces = self.pieces(&line).into_iter().filter(|piece| !piece.is_hidden);
                shown.extend(pieces.map(|piece| piece.points));
            }
            if !shown.is_empty() {
                canvas.path(&shown, self.plot.contour_stroke(level));
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
        let point = self.heights.point(self.view.box_from_xy(xy))?;
        Some((self.on_paper(self.view.project(point).px.map(f64::from)), self.heights.hides(&self.view, point)))
    }

    fn draw_start(&self, canvas: &mut Canvas, em: f64) {
        if let Some((at, is_hidden)) = self.at(self.plot.start) {
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

/// The samples of a pixel along each of its sides.
const SAMPLES: usize = 2;
const FLOOR: f64 = -0.5;

/// A corner of a triangle.
#[derive(Clone, Copy)]
struct Corner {
    /// The position, in samples.
    at: [f64; 2],
    /// The inverse of the distance from the eye, which is linear over the picture.
    nearness: f64,
    /// The position on the colour bar.
    level: f64,
    brightness: f64,
}

/// The samples of the picture.
struct Raster {
    size: [usize; 2],
    nearness: Vec<f64>,
    rgb: Vec<[u8; 3]>,
}

/// Returns the surface as it is seen on a canvas of `view.size_px` units, with this number of pixels per unit, on white.
pub(super) fn image(view: &SpaceView, heights: &HeightField, colormap: Colormap, px_per_unit: f64) -> MapImage {
    let [width, height] = view.size_px.map(|size| (f64::from(size) * px_per_unit).ceil() as usize);
    let size = [width * SAMPLES, height * SAMPLES];
    let mut raster =
        Raster { size, nearness: vec![0.0; size[0] * size[1]], rgb: vec![[u8::MAX; 3]; size[0] * size[1]] };
    let scale = px_per_unit * SAMPLES as f64;
    let corner = |point: [f64; 3], level: f64, brightness: f64| {
        let projected = view.project(point);
        let at = projected.px.map(|px| f64::from(px) * scale);
        Corner { at, nearness: 1.0 / projected.distance, level, brightness }
    };
    let last = HeightField::SIDE - 1;
    let position = |column: usize, row: usize| [column, row].map(|index| 2.0 * index as f64 / last as f64 - 1.0);
    let on_surface = |column: usize, row: usize| {
        let position = position(column, row);
        let point = heights.point(position)?;
        Some(corner(point, point[2] + 0.5, view.brightness(heights.normal(position)?)))
    };
    let colored = |level: f64| colormap.rgb(level).map(f64::from);
    let points: Vec<Option<Corner>> =
        (0..=last).flat_map(|row| (0..=last).map(move |column| (column, row))).map(|(c, r)| on_surface(c, r)).collect();
    for row in 0..last {
        for column in 0..last {
            let at = |column: usize, row: usize| points[row * HeightField::SIDE + column];
            let [lower_left, upper_left] = [at(column, row), at(column, row + 1)];
            let [lower_right, upper_right] = [at(column + 1, row), at(column + 1, row + 1)];
            raster.triangle([lower_left, upper_left, lower_right], colored);
            raster.triangle([upper_left, lower_right, upper_right], colored);
        }
    }
    // Walls are duller, as in the window, so that the eye takes them for a cut.
    let dull = |level: f64| colored(level).map(|channel| 0.5 * (127.5 + channel));
    for (axis, side) in [(0, 0), (0, last), (1, 0), (1, last)] {
        let mut normal = [0.0; 3];
        normal[axis] = if side == 0 { -1.0 } else { 1.0 };
        let brightness = view.brightness(normal);
        let wall = |along: usize| {
            let [x, y] = if axis == 0 { position(side, along) } else { position(along, side) };
            let top = heights.height([x, y])?;
            let level = top + 0.5;
            Some([corner([x, y, top.min(FLOOR)], level, brightness), corner([x, y, top], level, brightness)])
        };
        for along in 0..last {
            let (Some([low, high]), Some([next_low, next_high])) = (wall(along), wall(along + 1)) else { continue };
            raster.triangle([low, high, next_low].map(Some), dull);
            raster.triangle([high, next_low, next_high].map(Some), dull);
        }
    }
    raster.averaged([width, height])
}

impl Raster {
    /// Draws a triangle where it is nearer than what was drawn before; none with a corner where there is no surface.
    fn triangle(&mut self, corners: [Option<Corner>; 3], color: impl Fn(f64) -> [f64; 3]) {
        let [Some(a), Some(b), Some(c)] = corners else { return };
        let cross =
            |o: [f64; 2], p: [f64; 2], q: [f64; 2]| (p[0] - o[0]) * (q[1] - o[1]) - (p[1] - o[1]) * (q[0] - o[0]);
        let area = cross(a.at, b.at, c.at);
        if area == 0.0 {
            return;
        }
        let range = |axis: usize| {
            let [low, high] = [f64::min, f64::max].map(|of| of(of(a.at[axis], b.at[axis]), c.at[axis]));
            let end = (high.ceil().max(0.0) as usize).min(self.size[axis]);
            (low.floor().max(0.0) as usize).min(end)..end
        };
        for y in range(1) {
            for x in range(0) {
                let at = [x as f64 + 0.5, y as f64 + 0.5];
                let parts = [cross(b.at, c.at, at) / area, cross(c.at, a.at, at) / area, cross(a.at, b.at, at) / area];
                if parts.iter().any(|part| *part < 0.0) {
                    continue;
                }
                let mixed = |of: fn(&Corner) -> f64| parts[0] * of(&a) + parts[1] * of(&b) + parts[2] * of(&c);
                let (index, nearness) = (y * self.size[0] + x, mixed(|corner| corner.nearness));
                if nearness > self.nearness[index] {
                    self.nearness[index] = nearness;
                    let brightness = mixed(|corner| corner.brightness);
                    let lit = |channel: f64| (channel * brightness).round().min(255.0) as u8;
                    self.rgb[index] = color(mixed(|corner| corner.level)).map(lit);
                }
            }
        }
    }

    /// Returns the picture with the mean colour of each pixel's samples.
    fn averaged(&self, [width, height]: [usize; 2]) -> MapImage {
        let mut rgba = Vec::with_capacity(4 * width * height);
        for y in 0..height {
            for x in 0..width {
                let samples = (0..SAMPLES * SAMPLES).map(|sample| {
                    let [column, row] = [x * SAMPLES + sample % SAMPLES, y * SAMPLES + sample / SAMPLES];
                    self.rgb[row * self.size[0] + column]
                });
                let sum = samples
                    .fold([0_u32; 3], |sum, rgb| [0, 1, 2].map(|channel| sum[channel] + u32::from(rgb[channel])));
                let count = (SAMPLES * SAMPLES) as u32;
                rgba.extend(sum.map(|sum| ((sum + count / 2) / count) as u8));
                rgba.push(u8::MAX);
            }
        }
        MapImage { width, height, rgba }
    }
}

#[cfg(test)]
mod tests {
    use valleyscope_experiments::view::{Camera, Orbit, SymLog};

    use super::*;

    #[test]
    fn each_point_has_its_colour_and_its_light() {
        let camera = Camera { center: [0.0; 2], width: 4.0 };
        let scale = SymLog::symmetric(0.5, 10.0);
        let heights = HeightField::sample(|[x, y]| 2.0 * x.sin() * y.cos(), camera, &scale);
        let view = SpaceView { camera, orbit: Orbit::HOME, size_px: [300.0, 240.0] };
        let image = image(&view, &heights, Colormap::Viridis, 2.0);
        assert_eq!([image.width, image.height], [600, 480]);
        let pixel = |[x, y]: [f32; 2]| {
            let index = 4 * ((2.0 * y) as usize * image.width + (2.0 * x) as usize);
            [0, 1, 2].map(|channel| image.rgba[index + channel])
        };
        assert_eq!(pixel([1.0, 1.0]), [255; 3], "beside the surface");
        let mut compared = 0;
        for (x, y) in (-8..=8).flat_map(|x| (-8..=8).map(move |y| (f64::from(x) / 10.0, f64::from(y) / 10.0))) {
            let point = heights.point([x, y]).expect("finite");
            if heights.hides(&view, point) {
                continue;
            }
            let brightness = view.brightness(heights.normal([x, y]).expect("finite"));
            let expected = Colormap::Viridis.rgb(point[2] + 0.5).map(|channel| f64::from(channel) * brightness);
            let found = pixel(view.project(point).px).map(f64::from);
            let differs = (0..3).any(|channel| (found[channel] - expected[channel].min(255.0)).abs() > 12.0);
            assert!(!differs, "{found:?} instead of {expected:?} at {x}, {y}");
            compared += 1;
        }
        assert!(compared > 100, "{compared}");
    }
}
