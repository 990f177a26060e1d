//! The landscape of a figure in the plane: the loss as colours with contour lines, and trajectories.

use std::collections::BTreeMap;

use valleyscope_engine::landscape::{Landscape, Uv};
use valleyscope_engine::optimizer::Marker;
use valleyscope_experiments::view::range::{Extent, suiting, union};
use valleyscope_experiments::view::{AutoScale, AxisScale, Camera, Colormap, Dash, SymLog, ViewSettings, Viewport};

use super::FigureError;
use super::canvas::{Area, CURVE_WIDTH, Canvas, ColorBar, LINE, Parts, Side, Stroke};
use super::curves::CurveAxis;
use super::map::{MapImage, Scale};
use super::surface::SurfacePlot;
use super::trajectories::{Ensemble, TracedRun, Trajectories};

/// The height of the plot over its width.
pub(crate) const ASPECT: f64 = 0.84;
/// The width of the view over that of the drawn trajectories in its middle.
const ROOM: f64 = 1.16;
/// The narrowest view, in spreads of the start.
const LEAST_SPREADS: f64 = 40.0;
/// The distance from the origin beyond which a position has run away.
const RUN_AWAY: f64 = 1e4;

// Lengths in points.
/// The size of a pixel of the colours.
const PIXEL: f64 = 1.0 / 3.0;
/// The size of a cell of the grid for contour lines.
const CELL: f64 = 1.5;
/// The smallest distance between contour lines; closer ones would merge, and are left out.
const CLOSEST: f64 = 2.0;
const CONTOUR_WIDTH: f64 = 0.5;
/// The opacity of contour lines, as in the window.
const CONTOUR_OPACITY: f64 = 0.3;
const PARTICLE_WIDTH: f64 = 0.35;
const PARTICLE_OPACITY: f64 = 0.45;
/// The smallest distance between points of a path; closer ones are left out.
const FINEST: f64 = 0.25;

/// The landscape with trajectories.
#[derive(Clone, Debug)]
pub(super) struct LandscapePlot {
    pub landscape: Landscape,
    pub view: ViewSettings,
    pub scale: SymLog,
    pub horizontal: CurveAxis,
    pub vertical: CurveAxis,
    bar: ColorBar,
    pub start: [f64; 2],
    pub tracks: Vec<Track>,
}

/// The sides of a landscape with labels.
#[derive(Clone, Copy, Debug)]
pub(super) struct LabelledSides {
    /// The distance from the frame to the left end of the vertical axis' label; `None` without labels there.
    pub left: Option<f64>,
    pub below: bool,
}

/// The paths of an optimizer.
#[derive(Clone, Debug)]
pub(super) struct Track {
    pub color: [u8; 3],
    pub marker: Marker,
    pub mean: Vec<[f64; 2]>,
    pub particles: Vec<Vec<[f64; 2]>>,
}

impl LandscapePlot {
    /// Width of the dark line behind that of a mean, in points.
    pub(super) const HALO: f64 = 2.2;
    /// Radius of the marker at an end, in font sizes.
    pub(super) const END: f64 = 0.32;

    /// Returns the landscapes of all runs, in one view and with one colour scale.
    pub(super) fn of_runs(trajectories: &Trajectories, ensembles: &[Ensemble<'_>]) -> Vec<LandscapePlot> {
        let (start, view) = (trajectories.spec().start, trajectories.view());
        let (start, spread) = ([start.x.get(), start.y.get()], start.spread.get());
        // A view that does not follow the particles keeps its camera.
        let camera = view.camera.filter(|_| !view.follow);
        let camera = camera.unwrap_or_else(|| around(ensembles.iter().map(paths), start, spread));
        let viewport = Viewport { camera, size_px: [1000.0, (1000.0 * ASPECT) as f32] };
        let landscapes: Vec<Landscape> =
            trajectories.runs().iter().map(|run| run.spec().landscape.landscape()).collect();
        let views: Vec<(&Landscape, Viewport)> = landscapes.iter().map(|landscape| (landscape, viewport)).collect();
        let scale = view.scale.unwrap_or_else(|| AutoScale::default().update(&views));
        let runs = trajectories.runs().iter().enumerate();
        let mut plots: Vec<LandscapePlot> = runs
            .map(|(index, run)| {
                let of_run: Vec<&Ensemble<'_>> = ensembles.iter().filter(|ensemble| ensemble.run == index).collect();
                LandscapePlot::of(run, &of_run, view.clone(), camera, scale)
            })
            .collect();
        // Colours beyond the scale in one of the landscapes are marked on the bar that all share.
        let beyond = plots.iter().map(LandscapePlot::beyond).fold([false; 2], |a, b| [a[0] || b[0], a[1] || b[1]]);
        for plot in &mut plots {
            plot.bar.scale = Scale::loss(scale, plot.view.colormap, beyond);
        }
        plots
    }

    fn of(
        run: &TracedRun,
        ensembles: &[&Ensemble<'_>],
        view: ViewSettings,
        camera: Camera,
        scale: SymLog,
    ) -> LandscapePlot {
        let spec = run.spec();
        let landscape = spec.landscape.landscape();
        let start = [spec.start.x.get(), spec.start.y.get()];
        let half = [0.5 * camera.width, 0.5 * ASPECT * camera.width];
        let axis = |label: &str, side: usize| CurveAxis {
            label: label.to_owned(),
            scale: AxisScale::Linear,
            range: [camera.center[side] - half[side], camera.center[side] + half[side]],
        };
        let track = |ensemble: &&Ensemble<'_>| Track {
            color: ensemble.color,
            marker: ensemble.marker,
            mean: ensemble.mean.to_vec(),
            particles: ensemble.particles.to_vec(),
        };
        LandscapePlot {
            landscape,
            scale,
            horizontal: axis("x", 0),
            vertical: axis("y", 1),
            bar: ColorBar { scale: Scale::loss(scale, view.colormap, [false; 2]), label: "loss L".to_owned() },
            start,
            tracks: ensembles.iter().map(track).collect(),
            view,
        }
    }

    /// Returns whether losses in view lie below and above the colour scale.
    fn beyond(&self) -> [bool; 2] {
        let (losses, SymLog { min, max, .. }) = (self.losses([48, 48]), self.scale);
        [losses.iter().any(|loss| *loss < min), losses.iter().any(|loss| *loss > max)]
    }

    /// Returns the width from the left end of the vertical axis' label to the frame.
    pub(super) fn gutter(&self, height: f64, em: f64) -> f64 {
        // In space, the axes are drawn inside the area.
        if self.view.space { 0.0 } else { self.vertical.gutter(height, em) }
    }

    /// Returns the width from the frame to the right end of the colour bar.
    pub(super) fn bar_width(&self, height: f64, em: f64) -> f64 {
        self.bar.width(height, em)
    }

    /// Returns whether the optimizer's final mean is in view.
    pub(super) fn holds_end(&self, ensemble: &Ensemble<'_>) -> bool {
        ensemble.mean.last().is_some_and(|[x, y]| {
            [self.horizontal.part(*x), self.vertical.part(*y)].iter().all(|part| (0.0..=1.0).contains(part))
        })
    }

    /// Returns the tracks in the order of drawing, those that lead furthest from the start first: optimizers follow the
    /// same floor, and a longer track drawn later would hide a shorter one.
    pub(super) fn longest_first(&self) -> Vec<&Track> {
        let length = |track: &&Track| {
            let [x, y] = track.mean.last().copied().unwrap_or(self.start);
            (x - self.start[0]).hypot(y - self.start[1])
        };
        let mut tracks: Vec<&Track> = self.tracks.iter().collect();
        tracks.sort_by(|one, other| length(other).total_cmp(&length(one)));
        tracks
    }

    /// Draws landscape, trajectories and axes with the labels of these sides.
    pub(super) fn draw(
        &self,
        canvas: &mut Canvas,
        area: Area,
        labels: LabelledSides,
        em: f64,
    ) -> Result<(), FigureError> {
        match self.view.space {
            true => SurfacePlot::new(self, area).draw(canvas, em),
            false => self.draw_plane(canvas, area, labels, em),
        }
    }

    /// Draws the colour bar beside an area.
    pub(super) fn draw_bar(&self, canvas: &mut Canvas, area: Area, em: f64) {
        let bar = self.bar.draw(canvas, area, em);
        if self.view.contours {
            for level in self.scale.contour_levels() {
                let y = bar.bottom() - self.scale.position(level) * bar.height;
                canvas.path(&[vec![[bar.x, y], [bar.right(), y]]], self.contour_stroke(level));
            }
        }
    }

    fn draw_plane(&self, canvas: &mut Canvas, area: Area, labels: LabelledSides, em: f64) -> Result<(), FigureError> {
        canvas.image(area, &self.colors(area))?;
        let frame = Frame { plot: self, area };
        canvas.clipped(area, |canvas| {
            if self.view.contours {
                frame.draw_contours(canvas);
            }
            if self.view.uv_frame {
                frame.draw_valley_axes(canvas, em);
            }
            for track in &self.tracks {
                frame.draw_particles(canvas, track);
            }
            for track in self.longest_first() {
                frame.draw_mean(canvas, track);
            }
            frame.draw_start(canvas, em);
            for track in &self.tracks {
                frame.draw_end(canvas, track, em);
            }
        });
        canvas.frame(area);
        let parts = |is_labelled: bool| if is_labelled { Parts::Both } else { Parts::Ticks };
        let below = self.horizontal.at(Side::Bottom, area.width, em);
        below.draw_marks(canvas, area, Side::Bottom, parts(labels.below), em);
        if labels.below {
            below.draw_label_below(canvas, area, em);
        }
        let beside = self.vertical.at(Side::Left, area.height, em);
        beside.draw_marks(canvas, area, Side::Left, parts(labels.left.is_some()), em);
        if let Some(left) = labels.left {
            beside.draw_label_upright(canvas, area, area.x - left + 0.5 * LINE * em);
        }
        Ok(())
    }

    /// Returns the losses at the middles of the cells of a grid, from the top.
    fn losses(&self, [columns, rows]: [usize; 2]) -> Vec<f64> {
        let along = |axis: &CurveAxis, part: f64| axis.range[0] + part * (axis.range[1] - axis.range[0]);
        let y = |row: usize| along(&self.vertical, 1.0 - (row as f64 + 0.5) / rows as f64);
        let x = |column: usize| along(&self.horizontal, (column as f64 + 0.5) / columns as f64);
        let points = (0..rows).flat_map(|row| (0..columns).map(move |column| [x(column), y(row)]));
        points.map(|xy| self.loss(xy)).collect()
    }

    pub(super) fn loss(&self, xy: [f64; 2]) -> f64 {
        self.landscape.loss(xy)
    }

    fn colors(&self, area: Area) -> MapImage {
        let [width, height] = [area.width, area.height].map(|length| (length / PIXEL).ceil() as usize);
        let color = |(index, loss): (usize, f64)| {
            let pixel = [index % width, index / width];
            let [red, green, blue] = pixel_rgb(loss, &self.scale, self.view.colormap, pixel);
            [red, green, blue, u8::MAX]
        };
        MapImage { width, height, rgba: self.losses([width, height]).into_iter().enumerate().flat_map(color).collect() }
    }

    pub(super) fn particle_stroke(color: [u8; 3]) -> Stroke {
        Stroke { color, width: PARTICLE_WIDTH, dash: Dash::Solid, opacity: PARTICLE_OPACITY }
    }

    /// Draws the cross of the start.
    pub(super) fn draw_cross(canvas: &mut Canvas, [x, y]: [f64; 2], em: f64, opacity: f64) {
        let arms = [[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]].map(|[along, across]| {
            [0.25, 0.75].map(|length| [x + length * em * along, y + length * em * across]).to_vec()
        });
        for (color, width) in [([0; 3], 2.0), ([255; 3], 0.9)] {
            canvas.path(&arms, Stroke { color, width, dash: Dash::Solid, opacity });
        }
    }

    /// Returns the stroke of a contour line: dark on light colours and light on dark ones, the same all along a line.
    pub(super) fn contour_stroke(&self, level: f64) -> Stroke {
        let color = against(self.view.colormap.rgb(self.scale.position(level)));
        Stroke { color, width: CONTOUR_WIDTH, dash: Dash::Solid, opacity: CONTOUR_OPACITY }
    }
}

/// The path of an optimizer's mean, and those of its particles.
pub(crate) type Paths<'a> = (&'a [[f64; 2]], &'a [Vec<[f64; 2]>]);

fn paths<'a>(ensemble: &Ensemble<'a>) -> Paths<'a> {
    (ensemble.mean, ensemble.particles)
}

/// Returns the camera that shows all means and most of the particles, except for optimizers that have run away. The
/// particles start with this spread.
pub(crate) fn around<'a>(ensembles: impl Iterator<Item = Paths<'a>>, start: [f64; 2], spread: f64) -> Camera {
    let is_here = |xy: &[f64; 2]| xy.iter().all(|coordinate| coordinate.abs() < RUN_AWAY);
    let here: Vec<Paths<'a>> = ensembles.filter(|(mean, _)| mean.last().is_some_and(is_here)).collect();
    let extent = |path: &[[f64; 2]], side: usize| -> Option<Extent> {
        path.iter()
            .map(|xy| xy[side])
            .filter(|coordinate| coordinate.abs() < RUN_AWAY)
            .map(|coordinate| [coordinate; 2])
            .reduce(union)
    };
    let [x, y] = [0, 1].map(|side| {
        let extents = here.iter().filter_map(|(mean, particles)| {
            let particles = particles.iter().filter_map(|path| extent(path, side)).reduce(union);
            Some((extent(mean, side)?, particles))
        });
        suiting(&extents.collect::<Vec<_>>()).map_or([start[side]; 2], |reached| union(reached, [start[side]; 2]))
    });
    let [width, height] = [x, y].map(|[low, high]| high - low);
    let center = [x, y].map(|[low, high]| 0.5 * (low + high));
    Camera { center, width: (ROOM * width.max(height / ASPECT)).max(LEAST_SPREADS * spread).max(1e-9) }
}

/// Returns the colour of a pixel with this loss.
pub(crate) fn pixel_rgb(loss: f64, scale: &SymLog, colormap: Colormap, pixel: [usize; 2]) -> [u8; 3] {
    if loss.is_nan() { hatch(pixel) } else { colormap.rgb(scale.position(loss)) }
}

/// Returns the colour of a pixel whose loss is not a number: slanted lines, as in the window.
fn hatch([column, row]: [usize; 2]) -> [u8; 3] {
    const PERIOD: usize = 14;
    const LINE: usize = 5;
    if (column + row) % PERIOD < LINE { [56; 3] } else { [107; 3] }
}

/// Returns black or white, whichever has more contrast with a colour.
pub(crate) fn against([red, green, blue]: [u8; 3]) -> [u8; 3] {
    const LIGHT: f64 = 0.45 * 255.0;
    let luminance = 0.299 * f64::from(red) + 0.587 * f64::from(green) + 0.114 * f64::from(blue);
    if luminance > LIGHT { [0; 3] } else { [255; 3] }
}

/// A landscape in its frame.
struct Frame<'a> {
    plot: &'a LandscapePlot,
    area: Area,
}

impl Frame<'_> {
    /// Returns the position of a point on the paper, clamped far outside.
    fn at(&self, [x, y]: [f64; 2]) -> [f64; 2] {
        let [part, height] =
            [self.plot.horizontal.part(x), self.plot.vertical.part(y)].map(|part| part.clamp(-10.0, 11.0));
        [self.area.x + part * self.area.width, self.area.bottom() - height * self.area.height]
    }

    /// Returns the number of points per unit of the plane.
    fn scale(&self) -> f64 {
        let [low, high] = self.plot.horizontal.range;
        self.area.width / (high - low)
    }

    fn draw_contours(&self, canvas: &mut Canvas) {
        let (plot, landscape) = (self.plot, &self.plot.landscape);
        let [[left, right], [bottom, top]] = [plot.horizontal.range, plot.vertical.range];
        let cells = [self.area.width, self.area.height].map(|length| (length / CELL).ceil() as usize);
        let grid = Grid::new(|xy| plot.loss(xy), [left, bottom], [right, top], cells);
        let least = CLOSEST / self.scale();
        for level in plot.scale.contour_levels() {
            let lines = grid.separate_lines(landscape, &plot.scale, level, least);
            let pieces: Vec<Vec<[f64; 2]>> = lines.iter().map(|piece| self.path(piece)).collect();
            if !pieces.is_empty() {
                canvas.path(&pieces, plot.contour_stroke(level));
            }
        }
    }

    /// Draws the valley's axes through the origin: u along its floor, v across.
    fn draw_valley_axes(&self, canvas: &mut Canvas, em: f64) {
        let stroke = Stroke { color: [255; 3], width: 0.6, dash: Dash::Dashed, opacity: 0.8 };
        let origin = self.at([0.0, 0.0]);
        for (name, axis) in [("u", Uv { u: 1.0, v: 0.0 }), ("v", Uv { u: 0.0, v: 1.0 })] {
            let [x, y] = self.plot.landscape.xy_from_uv(axis);
            let Some([from, to]) = self.across(origin, [x, -y]) else { continue };
            canvas.path(&[vec![from, to]], stroke);
            let beside = [to[0] - 1.3 * em * x - 0.75 * em * y, to[1] + 1.3 * em * y - 0.75 * em * x];
            let Area { x: left, y: top, .. } = self.area;
            let inside = |at: f64, from: f64, to: f64| at.clamp(from + 0.6 * em, to - 0.6 * em);
            let label = [inside(beside[0], left, self.area.right()), inside(beside[1], top, self.area.bottom())];
            canvas.text_in([255; 3], label, name);
        }
    }

    /// Returns the part inside the frame of the line through a point along a direction, in that direction.
    fn across(&self, through: [f64; 2], direction: [f64; 2]) -> Option<[[f64; 2]; 2]> {
        let Area { x, y, .. } = self.area;
        let edges = [[x, self.area.right()], [y, self.area.bottom()]];
        let (mut from, mut to) = (f64::NEG_INFINITY, f64::INFINITY);
        for side in 0..2 {
            let ends = edges[side].map(|edge| (edge - through[side]) / direction[side]);
            // For a line along an edge both are infinite, or NaN on the edge, and neither narrows the range.
            from = from.max(ends[0].min(ends[1]));
            to = to.min(ends[0].max(ends[1]));
        }
        let at = |length: f64| [0, 1].map(|side| through[side] + length * direction[side]);
        (from < to).then(|| [at(from), at(to)])
    }

    /// Returns a path on the paper, up to its first position that is not finite, without points too close to be
    /// distinguished.
    fn path(&self, points: &[[f64; 2]]) -> Vec<[f64; 2]> {
        let mut path: Vec<[f64; 2]> = Vec::new();
        let finite = points.iter().take_while(|[x, y]| x.is_finite() && y.is_finite());
        for (index, xy) in finite.enumerate() {
            let [x, y] = self.at(*xy);
            let is_far = path.last().is_none_or(|last| (x - last[0]).hypot(y - last[1]) >= FINEST);
            if is_far || index + 1 == points.len() {
                path.push([x, y]);
            }
        }
        path
    }

    fn draw_particles(&self, canvas: &mut Canvas, track: &Track) {
        let paths: Vec<Vec<[f64; 2]>> = track.particles.iter().map(|path| self.path(path)).collect();
        canvas.path(&paths, LandscapePlot::particle_stroke(track.color));
    }

    fn draw_mean(&self, canvas: &mut Canvas, track: &Track) {
        let path = [self.path(&track.mean)];
        for (color, width) in [([0; 3], LandscapePlot::HALO), (track.color, CURVE_WIDTH)] {
            canvas.path(&path, Stroke { color, width, dash: Dash::Solid, opacity: 1.0 });
        }
    }

    /// Draws the start as a cross, as in the window.
    fn draw_start(&self, canvas: &mut Canvas, em: f64) {
        LandscapePlot::draw_cross(canvas, self.at(self.plot.start), em, 1.0);
    }

    fn draw_end(&self, canvas: &mut Canvas, track: &Track, em: f64) {
        let last = track.mean.last().filter(|[x, y]| x.is_finite() && y.is_finite());
        if let Some(last) = last {
            canvas.marker(track.marker, self.at(*last), LandscapePlot::END * em, [track.color, [0; 3]]);
        }
    }
}

/// A function's values at the corners of equal cells.
pub(crate) struct Grid<F> {
    function: F,
    /// The lower left corner.
    from: [f64; 2],
    /// The size of a cell.
    size: [f64; 2],
    cells: [usize; 2],
    /// The values, row by row from below.
    values: Vec<f64>,
}

/// An edge between two neighbouring corners: the lower or left one, by column and row, and whether it goes upwards.
type Edge = (usize, usize, bool);

/// The shortest part of a contour line that is shown alone, in smallest distances between lines.
const SHORTEST: f64 = 10.0;
/// Bisections of an edge to find the point at the level: to 10⁻⁹ of its length.
const HALVINGS: usize = 30;

impl<F: Fn([f64; 2]) -> f64> Grid<F> {
    pub(crate) fn new(function: F, from: [f64; 2], to: [f64; 2], cells: [usize; 2]) -> Grid<F> {
        let size = [0, 1].map(|axis| (to[axis] - from[axis]) / cells[axis] as f64);
        let mut grid = Grid { function, from, size, cells, values: Vec::new() };
        let corners = (0..=cells[1]).flat_map(|row| (0..=cells[0]).map(move |column| (column, row)));
        grid.values = corners.map(|corner| (grid.function)(grid.xy(corner))).collect();
        grid
    }

    fn xy(&self, (column, row): (usize, usize)) -> [f64; 2] {
        [self.from[0] + column as f64 * self.size[0], self.from[1] + row as f64 * self.size[1]]
    }

    fn value(&self, (column, row): (usize, usize)) -> f64 {
        self.values[row * (self.cells[0] + 1) + column]
    }

    /// Returns the parts of a landscape's contour line at this level where its neighbours, also its own other side in a
    /// narrow valley, are at least `least` away, in units of the plane; closer ones would merge. Short parts are left
    /// out.
    pub(crate) fn separate_lines(
        &self,
        landscape: &Landscape,
        scale: &SymLog,
        level: f64,
        least: f64,
    ) -> Vec<Vec<[f64; 2]>> {
        let is_crowded = |xy: &[f64; 2]| {
            let gradient = landscape.gradient(*xy);
            let steepness = gradient[0].hypot(gradient[1]);
            let uphill =
                |distance: f64| (self.function)([0, 1].map(|axis| xy[axis] + distance * gradient[axis] / steepness));
            1.0 / (f64::from(SymLog::CONTOURS) * scale.slope(level) * steepness) < least
                || uphill(-least) > level
                || uphill(least) < level
        };
        let lines = self.contour(level);
        let parts = lines.iter().flat_map(|line| parts_apart(line, is_crowded, SHORTEST * least));
        parts.map(<[_]>::to_vec).collect()
    }

    /// Returns the contour lines at this level, each through its points. Cells with a corner where the function is not
    /// finite have none.
    fn contour(&self, level: f64) -> Vec<Vec<[f64; 2]>> {
        let mut neighbours: BTreeMap<Edge, Vec<Edge>> = BTreeMap::new();
        for row in 0..self.cells[1] {
            for column in 0..self.cells[0] {
                for [one, other] in self.segments(column, row, level) {
                    neighbours.entry(one).or_default().push(other);
                    neighbours.entry(other).or_default().push(one);
                }
            }
        }
        let mut lines = Vec::new();
        // Open lines are removed first; the remaining ones are closed.
        let ends: Vec<Edge> =
            neighbours.iter().filter(|(_, beside)| beside.len() == 1).map(|(edge, _)| *edge).collect();
        for end in ends {
            lines.extend(follow(&mut neighbours, end));
        }
        while let Some(edge) = neighbours.keys().next().copied() {
            lines.extend(follow(&mut neighbours, edge));
        }
        lines.into_iter().map(|line| line.into_iter().map(|edge| self.crossing(edge, level)).collect()).collect()
    }

    /// Returns the edges of a cell that are joined by a piece of a line.
    fn segments(&self, column: usize, row: usize, level: f64) -> Vec<[Edge; 2]> {
        // The corners go around from the lower left, each with the edge that leads to the next.
        let corners = [(column, row), (column + 1, row), (column + 1, row + 1), (column, row + 1)];
        let edges = [(column, row, false), (column + 1, row, true), (column, row + 1, false), (column, row, true)];
        let values = corners.map(|corner| self.value(corner));
        if values.iter().any(|value| !value.is_finite()) {
            return Vec::new();
        }
        let above = values.map(|value| value >= level);
        let crossed: Vec<Edge> =
            (0..4).filter(|corner| above[*corner] != above[(corner + 1) % 4]).map(|corner| edges[corner]).collect();
        match crossed[..] {
            [one, other] => vec![[one, other]],
            // In a saddle, opposite corners are connected if the middle is on the same side of the level.
            [below, right, top, left] => {
                let [x, y] = self.xy((column, row));
                let middle = (self.function)([x + self.size[0] / 2.0, y + self.size[1] / 2.0]) >= level;
                if middle == above[0] { vec![[below, right], [top, left]] } else { vec![[left, below], [right, top]] }
            }
            _ => Vec::new(),
        }
    }

    /// Returns the point on an edge where the function has the level.
    fn crossing(&self, (column, row, upwards): Edge, level: f64) -> [f64; 2] {
        let next = if upwards { (column, row + 1) } else { (column + 1, row) };
        let is_above = self.value((column, row)) >= level;
        let (mut from, mut to) = (self.xy((column, row)), self.xy(next));
        for _ in 0..HALVINGS {
            let middle = [0, 1].map(|axis| 0.5 * (from[axis] + to[axis]));
            if ((self.function)(middle) >= level) == is_above { from = middle } else { to = middle }
        }
        from
    }
}

/// Returns the parts of a line that are not crowded and have at least a length, or the whole line.
fn parts_apart(
    line: &[[f64; 2]],
    is_crowded: impl Fn(&[f64; 2]) -> bool,
    shortest: f64,
) -> impl Iterator<Item = &[[f64; 2]]> {
    let length = |part: &[[f64; 2]]| -> f64 {
        part.windows(2).map(|ends| (ends[1][0] - ends[0][0]).hypot(ends[1][1] - ends[0][1])).sum()
    };
    let whole = line.len();
    let parts = line.split(is_crowded).filter(|part| part.len() > 1);
    parts.filter(move |part| part.len() == whole || length(part) >= shortest)
}

/// Removes a line from the joined edges, from one of its edges on.
fn follow(neighbours: &mut BTreeMap<Edge, Vec<Edge>>, start: Edge) -> Option<Vec<Edge>> {
    let mut line = vec![start];
    let mut next = neighbours.remove(&start)?.pop();
    while let Some(edge) = next {
        let previous = line[line.len() - 1];
        line.push(edge);
        let beside = neighbours.remove(&edge).unwrap_or_default();
        next = beside.into_iter().find(|other| *other != previous);
    }
    Some(line)
}

#[cfg(test)]
mod tests {
    use valleyscope_engine::landscape::{LandscapeKind, LandscapeSpec};
    use valleyscope_experiments::view::{AutoScale, Camera, Viewport};

    use super::*;

    #[test]
    fn lines_of_bent_valleys_are_not_in_fragments() {
        const POINTS: f64 = 300.0;
        for kind in [LandscapeKind::River, LandscapeKind::Rosenbrock, LandscapeKind::Beale] {
            let spec = LandscapeSpec::new(kind);
            let (landscape, Camera { center, width }) = (spec.landscape(), Camera::home(&spec));
            let viewport = Viewport { camera: Camera { center, width }, size_px: [POINTS as f32; 2] };
            let scale = AutoScale::default().update(&[(&landscape, viewport)]);
            let [from, to] = [-0.5, 0.5].map(|side| center.map(|center| center + side * width));
            let grid = Grid::new(|xy| landscape.loss(xy), from, to, [200; 2]);
            let least = 2.0 * width / POINTS;
            let (mut drawn, mut whole) = (0, 0);
            for level in scale.contour_levels() {
                let lines = grid.contour(level);
                for piece in grid.separate_lines(&landscape, &scale, level, least) {
                    let ends = |[one, other]: [&[f64; 2]; 2]| (one[0] - other[0]).hypot(one[1] - other[1]);
                    let length: f64 = piece.windows(2).map(|pair| ends([&pair[0], &pair[1]])).sum();
                    let is_whole = lines.contains(&piece);
                    assert!(is_whole || length >= SHORTEST * least, "{}: {length} at {level}", kind.key());
                    (drawn, whole) = (drawn + 1, whole + usize::from(is_whole));
                }
            }
            assert!(drawn >= 10 && whole >= 5, "{}: {drawn} pieces, {whole} whole lines", kind.key());
        }
    }
}
