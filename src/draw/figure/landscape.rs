//! The figure of one or more landscapes: the trajectories of their optimizers, and plots of the loss.

use std::slice;
use std::sync::Arc;

use egui::{Align, Color32, Pos2, Rect, Stroke, Vec2, pos2, vec2};
use valleyscope_engine::landscape::{Coordinate, Landscape, LandscapeMetric};
use valleyscope_engine::optimizer::Marker;
use valleyscope_engine::simulation::Bucket;
use valleyscope_experiments::preset::LETTERS;
use valleyscope_experiments::view::range::{suiting, union, with_margin};
use valleyscope_experiments::view::{
    AutoScale, Background, Camera, Dash, HeightField, Orbit, Pen, SpaceView, SymLog, ViewSettings, Viewport,
};

use super::page::{Content, Figure, GAP, KEY, LEAST_HEIGHT, MARGIN, NARROWEST_PANEL, PAGE_MM, WIDE};
use super::trajectories::{Ensemble, TracedRun, Trajectories, pens};
use crate::draw::axis::{Axis, ColorBar};
use crate::draw::canvas::{Canvas, LINE, MapImage, Style, area, rgb, scales};
use crate::draw::curves::{CURVE_WIDTH, CurveAxis, CurveLines, CurvePlot, draw_key, names_at_ends};
use crate::draw::diagnostics::middle;
use crate::draw::landscape::{
    ASPECT, LabelledSides, LandscapePainter, Paths, along_valley, around, contour_stroke, pixel_rgb, space_axes,
};
use crate::draw::map::Swatch;
use crate::draw::projection::{Projection, SpaceProjection};
use crate::draw::scale::Scale;
use crate::draw::surface;
use crate::draw::svg::{CREATOR, FigureError, FigureMetadata, Format, POINTS_PER_MM, Svg};

/// Height over width of a plot below the landscape.
const PLOT_ASPECT: f32 = 0.5;
/// The landscape's fraction of the width where plots are beside it.
const SHARE: f32 = 0.58;
/// The number of landscapes in a row.
const COLUMNS: usize = 2;
/// The pieces of the line of the loss on the axis of u, where it is not straight.
const AXIS_PIECES: usize = 200;
/// The depth to which the floor is drawn, over the largest depth of the optimizers.
const BEYOND: f64 = 1.25;
/// The colour of the floor's line, and of the keys of runs side by side.
const GREY: [u8; 3] = [120; 3];
const BLACK: [u8; 3] = [0; 3];

// Lengths in font sizes.
/// The radius of markers.
const RADIUS: f32 = 0.3;
/// The space above a panel, and that above a landscape in the plane, with the name of its vertical axis.
const ABOVE: f32 = 0.4;
const ABOVE_PLANE: f32 = 1.3 * LINE;
/// The gap between landscapes.
const BETWEEN: f32 = 1.4;

// Lengths in points.
/// The font size of small pictures, by which their markers are measured.
const SMALL_EM: f32 = 8.0;
/// The size of a pixel of the colours in the plane, and the pixels of a surface per point.
const PIXEL: f32 = 1.0 / 3.0;
const PX_PER_POINT: f64 = 4.0;
/// The part of a view's width from which on a particle is seen apart from the mean.
const SEEN: f64 = 0.004;
const PARTICLE_WIDTH: f32 = 0.35;
const PARTICLE_OPACITY: f32 = 0.45;
/// The radius of particles along the valley, and the width of their outlines.
const POINT: f32 = 0.9;
const OUTLINE: f32 = 0.2;
/// The width of the dark line behind that of a mean.
const HALO: f32 = 2.2;

/// A landscape with trajectories, and its plots.
#[derive(Clone, Debug)]
struct LandscapeFigure {
    panes: Vec<LandscapePlot>,
    /// The colours of all landscapes.
    bar: ColorBar,
    /// The names of lines with their pens, the optimizers of all runs first.
    names: Vec<(String, Pen)>,
    /// The markers of the optimizers, with the colours of their fillings.
    markers: Vec<(Marker, Color32)>,
    /// The legend's entries for lines.
    keys: Vec<Key>,
    plots: Vec<Plot>,
}

/// The landscape of a run, with trajectories.
#[derive(Clone, Debug)]
struct LandscapePlot {
    /// The title above; empty for a single run.
    title: String,
    landscape: Landscape,
    view: ViewSettings,
    camera: Camera,
    scale: SymLog,
    start: [f64; 2],
    spread: f64,
    tracks: Vec<Ensemble>,
}

/// An entry of the legend.
#[derive(Clone, Debug)]
struct Key {
    text: String,
    pen: Pen,
    /// The index of an optimizer whose marker is in the middle of the line.
    marker: Option<usize>,
}

#[derive(Clone, Debug)]
struct Plot {
    horizontal: CurveAxis,
    curves: CurvePlot,
    /// The final points of the optimizers.
    ends: Vec<(usize, [f64; 2])>,
}

impl Figure {
    /// A figure of trajectories on their landscape with its contour lines, and beside it the loss over the steps and,
    /// where u is a metric of the landscape, the loss on the axis of u with the final positions of the optimizers (the
    /// paper's Fig. 1c and its figure of saturation).
    pub fn landscape(trajectories: &Trajectories) -> Figure {
        let ensembles = trajectories.ensembles(false);
        let (panes, bar) = LandscapePlot::of_runs(trajectories, &ensembles);
        let depth = trajectories.spec().landscape.metric(Coordinate::U);
        let floors = if depth.is_some() { floors(trajectories) } else { Vec::new() };
        let names = names(&floors, &ensembles);
        let keys = keys(&panes, &names, &ensembles);
        let swatch = |key: &Key| Swatch { color: Some(key.pen.color_on(Background::Light)), text: key.text.clone() };
        let mut legend: Vec<Swatch> = keys.iter().map(swatch).collect();
        let notes = [note_of_particles(trajectories, &panes[0], &ensembles), note_of_run_away(&panes, &ensembles)];
        legend.extend(notes.into_iter().flatten().map(|text| Swatch { color: None, text }));
        let figure = LandscapeFigure {
            names,
            markers: ensembles.iter().map(|ensemble| (ensemble.marker, filling(ensemble))).collect(),
            keys,
            plots: std::iter::once(over_steps(&ensembles))
                .chain(depth.map(|depth| along_axis(&floors, depth, &ensembles)))
                .collect(),
            panes,
            bar,
        };
        let about = FigureMetadata {
            title: trajectories.preset.title.clone(),
            programs: vec![format!("{CREATOR}, seed {}", trajectories.spec().seed)],
            specs: vec![trajectories.text()],
        };
        Figure { about, content: Arc::new(figure), legend }
    }
}

/// Draws the first landscape with its trajectories as a PNG of this size in points, without axes.
pub fn small_picture(trajectories: &Trajectories, size: Vec2, dpi: f64) -> Result<Vec<u8>, FigureError> {
    let (panes, _) = LandscapePlot::of_runs(trajectories, &trajectories.ensembles(false));
    let about = FigureMetadata { title: String::new(), programs: Vec::new(), specs: Vec::new() };
    let width_mm = f64::from(size.x) / POINTS_PER_MM;
    let drawn = Svg::drawn(about, width_mm, Style::of_figure(SMALL_EM, Background::Light), |canvas| {
        panes[0].draw(canvas, area(0.0, 0.0, size.x, size.y), None);
        Ok(size.y)
    });
    drawn?.to_file(Format::Png, dpi)
}

/// The landscapes of the runs whose losses on the axis of u are drawn, with the indices of the runs: each landscape
/// once.
fn floors(trajectories: &Trajectories) -> Vec<(usize, Landscape)> {
    let mut floors: Vec<(usize, Landscape)> = Vec::new();
    for (index, run) in trajectories.runs.iter().enumerate() {
        let landscape = run.spec().landscape.landscape();
        if floors.iter().all(|(_, other)| *other != landscape) {
            floors.push((index, landscape));
        }
    }
    floors
}

/// The names of lines: the optimizers, in each run with pens of their own, and the losses on the axis of u.
fn names(floors: &[(usize, Landscape)], ensembles: &[Ensemble]) -> Vec<(String, Pen)> {
    let optimizers = ensembles.iter().map(|ensemble| ensemble.name.clone()).zip(pens(ensembles));
    let axis = |(run, landscape): &(usize, Landscape)| {
        let name = match landscape {
            Landscape::Valley(_) => "floor of the valley, L(u, v = 0) = −cu",
            Landscape::Program(_) => "loss on the axis of u, L(u, v = 0)",
        };
        (name.to_owned(), Pen::new(GREY, 0).dashed(Dash::SIDE_BY_SIDE[*run]))
    };
    optimizers.chain(floors.iter().map(axis)).collect()
}

/// The legend's entries: an optimizer of several runs once, and the line of each run.
fn keys(panes: &[LandscapePlot], names: &[(String, Pen)], ensembles: &[Ensemble]) -> Vec<Key> {
    let mut keys: Vec<Key> = Vec::new();
    for (index, ensemble) in ensembles.iter().enumerate() {
        let (text, pen) = (ensemble.name.clone(), names[index].1);
        let is_alike =
            |other: &Ensemble| other.run != ensemble.run && (&other.name, other.color) == (&text, ensemble.color);
        if !ensembles[..index].iter().any(is_alike) {
            keys.push(Key { text, pen: pen.dashed(Dash::Solid), marker: Some(index) });
        }
    }
    if panes.len() > 1 {
        let line = |(run, pane): (usize, &LandscapePlot)| {
            let pen = Pen::new(BLACK, 0).dashed(Dash::SIDE_BY_SIDE[run]);
            let text = if run > 0 { format!("{} (white markers)", pane.title) } else { pane.title.clone() };
            Key { text, pen, marker: None }
        };
        keys.extend(panes.iter().enumerate().map(line));
    }
    if let Some((text, pen)) = names.get(ensembles.len()) {
        keys.push(Key { text: text.clone(), pen: pen.dashed(Dash::Solid), marker: None });
    }
    keys
}

/// The colour of the filling of an optimizer's marker: its own in the first run, and white in the others.
fn filling(ensemble: &Ensemble) -> Color32 {
    if ensemble.run == 0 { rgb(ensemble.color) } else { Color32::WHITE }
}

/// Describes what is drawn of the particles, where some are seen apart from their means.
fn note_of_particles(trajectories: &Trajectories, pane: &LandscapePlot, ensembles: &[Ensemble]) -> Option<String> {
    let is_apart = |of: &Ensemble| {
        let far = |mean: [f64; 2], at: &[f64; 2]| (at[0] - mean[0]).hypot(at[1] - mean[1]) > SEEN * pane.camera.width;
        of.mean.last().is_some_and(|mean| of.cloud.iter().any(|at| far(*mean, at)))
    };
    let particles = |run: &TracedRun| run.spec().particles.get();
    let (first, runs) = (particles(&trajectories.runs[0]), &trajectories.runs);
    let count = if runs.iter().all(|run| particles(run) == first) { format!("{first} ") } else { String::new() };
    let deviation = if runs.len() == 1 { ", ± 1 standard deviation" } else { "" };
    let single = match pane.view.is_along_valley() {
        true => "points: particles at the last step",
        false => "thin: single particles",
    };
    let shown = if ensembles.iter().any(is_apart) { format!("{deviation}; {single}") } else { String::new() };
    (first > 1).then(|| format!("means of {count}particles{shown}"))
}

fn note_of_run_away(panes: &[LandscapePlot], ensembles: &[Ensemble]) -> Option<String> {
    let name = |ensemble: &Ensemble| match panes.len() {
        1 => ensemble.name.clone(),
        _ => format!("{} in {}", ensemble.name, LETTERS[ensemble.run]),
    };
    let away = ensembles.iter().filter(|ensemble| !panes[ensemble.run].holds_end(ensemble));
    let away: Vec<String> = away.map(name).collect();
    (!away.is_empty()).then(|| format!("run away, out of view: {}", away.join(", ")))
}

/// The mean loss over the steps, for a single run in a band of a standard deviation over the particles to each side.
fn over_steps(ensembles: &[Ensemble]) -> Plot {
    let has_bands = ensembles.iter().all(|ensemble| ensemble.run == 0);
    let (mut curves, mut extents, mut last) = (Vec::new(), Vec::new(), 1);
    for (index, Ensemble { history, .. }) in ensembles.iter().enumerate() {
        let finite: Vec<&Bucket> = history.iter().take_while(|bucket| bucket.loss.mean.is_finite()).collect();
        let line: Vec<[f64; 2]> = finite.iter().map(|bucket| [middle(bucket), bucket.loss.mean]).collect();
        let band: Vec<[f64; 3]> = finite
            .iter()
            .filter(|bucket| has_bands && bucket.loss.std.is_finite())
            .map(|bucket| [middle(bucket), bucket.loss.mean - bucket.loss.std, bucket.loss.mean + bucket.loss.std])
            .collect();
        if let Some(means) = line.iter().map(|[_, loss]| [*loss; 2]).reduce(union) {
            extents.push((means, band.iter().map(|[_, low, high]| [*low, *high]).reduce(union)));
        }
        last = last.max(history.last().map_or(0, |bucket| bucket.first_step + bucket.steps - 1));
        // An empty second piece marks where a curve ends early.
        let ended = (finite.len() < history.len()).then(Vec::new);
        curves.push(CurveLines { index, raw: Vec::new(), line: [line].into_iter().chain(ended).collect(), band });
    }
    let ends = curves.iter().filter_map(|curve| Some((curve.index, *curve.line.last()?.last()?)));
    let ends: Vec<_> = ends.filter(|_| has_bands).collect();
    Plot {
        horizontal: CurveAxis::linear("steps", [0.0, last as f64]),
        curves: CurvePlot { vertical: CurveAxis::linear("loss L", with_margin(&extents)), curves, dashes_ties: true },
        ends,
    }
}

/// The loss on the axis of u, which is the floor of the paper's valley, and the final means of the optimizers.
fn along_axis(floors: &[(usize, Landscape)], depth: &LandscapeMetric, ensembles: &[Ensemble]) -> Plot {
    let end = |(index, ensemble): (usize, &Ensemble)| {
        let bucket = ensemble.history.last()?;
        let point = [bucket.u.mean, bucket.loss.mean];
        point.iter().all(|value| value.is_finite()).then_some((index, point))
    };
    let ends: Vec<(usize, [f64; 2])> = ensembles.iter().enumerate().filter_map(end).collect();
    let depths_reached: Vec<_> = ends.iter().map(|(_, [u, _])| ([*u; 2], None)).collect();
    let reached = suiting(&depths_reached).map_or([0.0; 2], |reached| union(reached, [0.0; 2]));
    let depths = if reached[0] < reached[1] { reached.map(|u| BEYOND * u) } else { [0.0, 1.0] };
    let lines: Vec<Vec<[f64; 2]>> = floors.iter().map(|(_, landscape)| axis_line(landscape, depths)).collect();
    let in_range = ends.iter().filter(|(_, [u, _])| (depths[0]..=depths[1]).contains(u));
    let losses: Vec<_> = in_range.map(|(_, [_, loss])| ([*loss; 2], None)).collect();
    let drawn = lines.iter().flatten().map(|[_, loss]| [*loss; 2]).chain(suiting(&losses)).reduce(union);
    let range = with_margin(&drawn.map(|extent| (extent, None)).into_iter().collect::<Vec<_>>());
    let line = |(index, line)| CurveLines::new(ensembles.len() + index, vec![line]);
    Plot {
        horizontal: CurveAxis::linear(&depth.title(), depths),
        curves: CurvePlot {
            vertical: CurveAxis::linear("loss L", range),
            curves: lines.into_iter().enumerate().map(line).collect(),
            dashes_ties: false,
        },
        ends,
    }
}

fn axis_line(landscape: &Landscape, depths: [f64; 2]) -> Vec<[f64; 2]> {
    let pieces = match landscape {
        // A straight line.
        Landscape::Valley(_) => 1,
        Landscape::Program(_) => AXIS_PIECES,
    };
    let depth_at = |index: usize| match index as f64 / pieces as f64 {
        1.0 => depths[1],
        part => depths[0] + part * (depths[1] - depths[0]),
    };
    let on_axis = |u: f64| [u, landscape.loss(landscape.xy_from_uv([u, 0.0]))];
    (0..=pieces).map(|index| on_axis(depth_at(index))).filter(|[_, loss]| loss.is_finite()).collect()
}

impl LandscapePlot {
    /// The landscapes of all runs, in one view and with one colour scale, and the bar of its colours. They have titles
    /// where there are several.
    fn of_runs(trajectories: &Trajectories, ensembles: &[Ensemble]) -> (Vec<LandscapePlot>, ColorBar) {
        let (start, view) = (trajectories.spec().start, trajectories.preset.view.clone().unwrap_or_default());
        let (start, spread) = ([start.x.get(), start.y.get()], start.spread.get());
        // A view that does not follow the particles keeps its camera.
        let paths = ensembles.iter().map(|ensemble| -> Paths<'_> { (&ensemble.mean, &ensemble.particles) });
        let clouds =
            ensembles.iter().map(|ensemble| -> Paths<'_> { (&ensemble.mean, slice::from_ref(&ensemble.cloud)) });
        let camera = view.camera.filter(|_| !view.follow).unwrap_or_else(|| match view.is_along_valley() {
            true => along_valley(&trajectories.spec().landscape, clouds, start),
            false => around(paths, start, spread),
        });
        let viewport = Viewport { camera, size_px: [1000.0, (1000.0 * ASPECT) as f32] };
        let landscapes: Vec<Landscape> = trajectories.runs.iter().map(|run| run.spec().landscape.landscape()).collect();
        let views: Vec<(&Landscape, Viewport)> = landscapes.iter().map(|landscape| (landscape, viewport)).collect();
        let scale = view.scale.unwrap_or_else(|| AutoScale::default().update(&views));
        let is_single = landscapes.len() == 1;
        let plot = |(index, run): (usize, &TracedRun)| {
            let of_run = ensembles.iter().filter(|ensemble| ensemble.run == index);
            let (start, title) = (run.spec().start, if is_single { String::new() } else { run.title.clone() });
            LandscapePlot {
                title,
                landscape: landscapes[index].clone(),
                view: view.clone(),
                camera,
                scale,
                start: [start.x.get(), start.y.get()],
                spread: start.spread.get(),
                tracks: of_run.cloned().collect(),
            }
        };
        let plots: Vec<LandscapePlot> = trajectories.runs.iter().enumerate().map(plot).collect();
        // Colours beyond the scale in one of the landscapes are marked on the bar that all share.
        let beyond = plots.iter().map(LandscapePlot::beyond).fold([false; 2], |a, b| [a[0] || b[0], a[1] || b[1]]);
        let bar = ColorBar { scale: Scale::loss(scale, view.colormap, beyond), label: "loss L".to_owned() };
        (plots, bar)
    }

    fn viewport(&self, size: [f32; 2]) -> Viewport {
        Viewport { camera: self.camera, size_px: size }
    }

    /// The losses at the middles of the pixels of a picture, from the top.
    fn losses(&self, [columns, rows]: [usize; 2]) -> impl Iterator<Item = f64> {
        let viewport = self.viewport([columns as f32, rows as f32]);
        let middles =
            (0..rows).flat_map(move |row| (0..columns).map(move |column| [column as f32 + 0.5, row as f32 + 0.5]));
        middles.map(move |px| self.landscape.loss(viewport.xy_from_px(px)))
    }

    /// Whether losses in view lie below and above the colour scale.
    fn beyond(&self) -> [bool; 2] {
        let (losses, SymLog { min, max, .. }) = (self.losses([56, 47]).collect::<Vec<f64>>(), self.scale);
        [losses.iter().any(|loss| *loss < min), losses.iter().any(|loss| *loss > max)]
    }

    /// Whether the optimizer's final mean is in view.
    fn holds_end(&self, ensemble: &Ensemble) -> bool {
        let [low, high] = self.viewport([1.0, ASPECT as f32]).corners();
        let is_inside = |at: [f64; 2]| (0..2).all(|axis| (low[axis]..=high[axis]).contains(&at[axis]));
        ensemble.mean.last().is_some_and(|end| is_inside(self.camera.lens.coordinates(*end)))
    }

    /// The tracks in the order of drawing, those that lead furthest from the start first: optimizers follow the same
    /// floor, and a longer track drawn later would hide a shorter one.
    fn longest_first(&self) -> Vec<&Ensemble> {
        let length = |track: &&Ensemble| {
            let [x, y] = track.mean.last().copied().unwrap_or(self.start);
            (x - self.start[0]).hypot(y - self.start[1])
        };
        let mut tracks: Vec<&Ensemble> = self.tracks.iter().collect();
        tracks.sort_by(|one, other| length(other).total_cmp(&length(one)));
        tracks
    }

    fn projection(&self, size: [f32; 2]) -> Projection {
        if !self.view.is_in_space() {
            return Projection::Plane(self.viewport(size));
        }
        let orbit = self.view.orbit.unwrap_or(Orbit::HOME).limited();
        let heights = Arc::new(HeightField::of(&self.landscape, self.camera, &self.scale));
        Projection::Space(SpaceProjection {
            view: SpaceView { camera: self.camera, orbit, size_px: size, cover: 0.0 },
            heights,
        })
    }

    /// The width of the labels at the left of a landscape of this height.
    fn gutter(&self, canvas: &Canvas, height: f32) -> f32 {
        // In space, the axes are drawn inside the area.
        if self.view.is_in_space() {
            return 0.0;
        }
        // The labels depend on the exact size.
        let gutter = |part: f32| {
            let panel = area(0.0, 0.0, part * height / ASPECT as f32, part * height);
            let projection = self.projection(panel.size().into());
            LandscapePainter { canvas, panel, projection: &projection }.gutter()
        };
        [0.9, 1.0, 1.1].map(gutter).into_iter().fold(0.0, f32::max)
    }

    /// Draws landscape and trajectories, and axes with the labels of these sides.
    fn draw(&self, canvas: &Canvas, panel: Rect, labelled: Option<LabelledSides>) {
        let projection = self.projection(panel.size().into());
        let painter = LandscapePainter { canvas, panel, projection: &projection };
        let axes = match &projection {
            Projection::Plane(_) => {
                canvas.image(panel, &self.colors(panel), false);
                None
            }
            Projection::Space(SpaceProjection { view, heights }) => {
                let axes = space_axes(*view, &self.scale, canvas.style.em);
                painter.draw_walls(&axes);
                canvas.image(panel, &surface::image(view, heights, self.view.colormap, PX_PER_POINT), true);
                Some(axes)
            }
        };
        self.draw_on(&LandscapePainter { canvas: &canvas.clipped(panel), ..painter });
        match (axes, labelled) {
            (Some(axes), _) => painter.draw_space_axes(&axes),
            (None, Some(labelled)) => painter.draw_plane_axes(labelled, None, false),
            (None, None) => {}
        }
    }

    /// Draws what is on the landscape.
    fn draw_on(&self, painter: &LandscapePainter<'_>) {
        let LandscapePainter { canvas, panel, projection } = *painter;
        if self.view.contours {
            painter.draw_contours(&self.landscape, &self.scale, self.view.colormap);
        }
        if self.view.uv_frame {
            painter.draw_uv_axes(&self.landscape, Rect::NOTHING);
        }
        for track in &self.tracks {
            if !self.view.is_along_valley() {
                let color = rgb(track.color).gamma_multiply(PARTICLE_OPACITY);
                painter.draw_paths(&track.particles, Stroke::new(PARTICLE_WIDTH, color));
                continue;
            }
            // Stretched across the valley, paths would fill the panel.
            let finite = track.cloud.iter().filter(|[x, y]| x.is_finite() && y.is_finite());
            let points = finite.filter_map(|xy| Some(projection.mark(*xy)?.on(panel)));
            for at in points.filter(|at| panel.contains(*at)) {
                canvas.painter.circle(at, POINT, rgb(track.color), Stroke::new(OUTLINE, Color32::BLACK));
            }
        }
        for track in self.longest_first() {
            for (color, width) in [(Color32::BLACK, HALO), (rgb(track.color), CURVE_WIDTH)] {
                painter.draw_paths(slice::from_ref(&track.mean), Stroke::new(width, color));
            }
        }
        painter.draw_start(self.start, self.spread);
        // Ends are the result of the figure, and drawn in full also behind a hill.
        let end = |track: &Ensemble| {
            let last = track.mean.last().filter(|[x, y]| x.is_finite() && y.is_finite())?;
            Some((track.marker, rgb(track.color), projection.mark(*last)?.on(panel)))
        };
        let ends: Vec<_> = self.tracks.iter().filter_map(end).collect();
        let nested = scales(&ends.iter().map(|(.., at)| *at).collect::<Vec<_>>());
        for ((marker, color, at), scale) in ends.into_iter().zip(nested) {
            canvas.marker(marker, at, scale.sqrt() * RADIUS * canvas.style.em, color, Color32::BLACK);
        }
    }

    fn colors(&self, panel: Rect) -> MapImage {
        let [width, height] = [panel.width(), panel.height()].map(|length| (length / PIXEL).ceil() as usize);
        let color = |(index, loss): (usize, f64)| {
            let pixel = [index % width, index / width];
            let [red, green, blue] = pixel_rgb(loss, &self.scale, self.view.colormap, pixel);
            [red, green, blue, u8::MAX]
        };
        MapImage { width, height, rgba: self.losses([width, height]).enumerate().flat_map(color).collect() }
    }

    /// Draws the colour bar beside an area, with the levels of contour lines.
    fn draw_bar(&self, bar: &ColorBar, canvas: &Canvas, panel: Rect) {
        let bar = bar.draw(canvas, panel);
        for level in self.scale.contour_levels(SymLog::CONTOURS).filter(|_| self.view.contours) {
            let y = bar.bottom() - self.scale.position(level) as f32 * bar.height();
            let stroke = contour_stroke(&self.scale, self.view.colormap, level);
            canvas.painter.line_segment([pos2(bar.left(), y), pos2(bar.right(), y)], stroke);
        }
    }
}

/// The areas of the landscapes and of the plots.
struct Arrangement {
    panels: Vec<Rect>,
    /// The labelled sides of the landscapes.
    labels: Vec<LabelledSides>,
    /// The area beside which the colour bar is.
    barred: Rect,
    plots: Vec<Rect>,
    /// The width from the left ends of the plots' labels to their frames.
    gutter: f32,
    /// Whether the names of the optimizers are at the ends of their curves.
    is_named: bool,
}

impl Content for LandscapeFigure {
    fn draw(&self, canvas: &Canvas, y: f32, inner: f32) -> Option<f32> {
        let em = canvas.style.em;
        let Arrangement { panels, labels, barred, plots, gutter, is_named } = match self.panes.as_slice() {
            [single] => self.arrange(canvas, single, y, inner),
            _ => self.arrange_side_by_side(canvas, y, inner),
        }?;
        for ((plot, panel), labels) in self.panes.iter().zip(&panels).zip(labels) {
            plot.draw(canvas, *panel, Some(labels));
            if !plot.title.is_empty() {
                let middle = pos2(panel.center().x, panel.top() - 0.6 * LINE * em);
                canvas.text_within(middle, Align::Center, panel.width() - 2.0 * em, &plot.title);
            }
        }
        self.panes[0].draw_bar(&self.bar, canvas, barred);
        for (index, (Plot { horizontal, curves, ends }, panel)) in self.plots.iter().zip(&plots).enumerate() {
            curves.draw(canvas, horizontal, &self.names, *panel, gutter);
            if is_named && index == 0 {
                curves.draw_names(canvas, horizontal, &self.names, *panel);
            }
            let ends = ends.iter().map(|(index, end)| (*index, curves.at(horizontal, *panel, *end)));
            let ends: Vec<(usize, Pos2)> = ends.filter(|(_, at)| panel.expand(0.01).contains(*at)).collect();
            let nested = scales(&ends.iter().map(|(_, at)| *at).collect::<Vec<_>>());
            ends.iter().zip(nested).for_each(|((index, at), scale)| self.draw_marker(canvas, *at, scale, *index));
        }
        let lowest = panels.iter().chain(&plots).map(|panel| panel.bottom()).fold(y, f32::max);
        Some(lowest + Axis::depth(em))
    }

    fn usual_width_mm(&self) -> f64 {
        PAGE_MM
    }

    fn key(&self) -> f32 {
        KEY
    }

    fn draw_key(&self, canvas: &Canvas, from: Pos2, index: usize, _color: Color32) {
        let (key, width) = (&self.keys[index], KEY * canvas.style.em);
        draw_key(canvas, from, width, key.pen);
        if let Some(marker) = key.marker {
            self.draw_marker(canvas, from + vec2(width / 2.0, 0.0), 1.0, marker);
        }
    }

    fn is_named(&self, canvas: &Canvas, inner: f32, index: usize) -> bool {
        let is_curve = self.keys.get(index).is_some_and(|key| key.marker.is_some())
            && names_at_ends(&self.names)[index] == self.names[index].0;
        let arranged = || self.arrange(canvas, &self.panes[0], 0.0, inner);
        is_curve && self.panes.len() == 1 && arranged().is_some_and(|arranged| arranged.is_named)
    }
}

impl LandscapeFigure {
    fn draw_marker(&self, canvas: &Canvas, at: Pos2, scale: f32, index: usize) {
        let (marker, fill) = self.markers[index];
        canvas.marker(marker, at, scale.sqrt() * RADIUS * canvas.style.em, fill, canvas.color(self.names[index].1));
    }

    /// Arranges the plots beside the landscape, with the same total height, if there is room, else below it.
    fn arrange(&self, canvas: &Canvas, landscape: &LandscapePlot, y: f32, inner: f32) -> Option<Arrangement> {
        let (em, aspect) = (canvas.style.em, ASPECT as f32);
        let is_wide = inner >= WIDE * em;
        let above = if landscape.view.is_in_space() { ABOVE } else { ABOVE_PLANE };
        let (left, top, between) = (MARGIN * em, y + above * em, Axis::depth(em) + ABOVE * em);
        let share = if is_wide { SHARE * (inner - GAP * em) } else { inner };
        let (start, room) = if is_wide { (left + share + GAP * em, inner - share - GAP * em) } else { (left, inner) };
        let count = self.plots.len() as f32;
        // The labels depend on the size, and the size on the labels: labels for a guessed size are about as wide.
        let guess = 0.8 * aspect * share;
        let half = |height: f32| (height - (count - 1.0) * between) / count;
        let plot_height = if is_wide { half(guess) } else { (PLOT_ASPECT * room).max(LEAST_HEIGHT * em) };
        let mut gutters = [landscape.gutter(canvas, guess), self.gutter(canvas, plot_height)];
        if !is_wide {
            // The frames are aligned below each other.
            gutters = [gutters[0].max(gutters[1]); 2];
        }
        let width = share - gutters[0] - self.bar.width(canvas, guess);
        let panel = area(left + gutters[0], top, width, aspect * width);
        let height = if is_wide { half(panel.height()) } else { plot_height };
        let Plot { horizontal, curves, .. } = &self.plots[0];
        let names = curves.names_width(canvas, horizontal, &self.names, [room, height]);
        let width = room - gutters[1] - self.overhang(canvas, room - gutters[1]).max(names.unwrap_or_default());
        if panel.width().min(width) < NARROWEST_PANEL * em {
            return None;
        }
        let first = if is_wide { top } else { panel.bottom() + between };
        let plot = |index: usize| area(start + gutters[1], first + index as f32 * (height + between), width, height);
        Some(Arrangement {
            panels: vec![panel],
            labels: vec![LabelledSides { left: true, below: true }],
            barred: panel,
            plots: (0..self.plots.len()).map(plot).collect(),
            gutter: gutters[1],
            is_named: names.is_some(),
        })
    }

    /// Arranges several landscapes from `y` downwards, and the plots below them; `None` where there is no room.
    fn arrange_side_by_side(&self, canvas: &Canvas, y: f32, inner: f32) -> Option<Arrangement> {
        let em = canvas.style.em;
        let title = ABOVE_PLANE * em;
        // The labels depend on the size, and the size on the labels: labels for a guessed size are about as wide.
        let guess = 0.4 * inner * ASPECT as f32;
        let left = self.panes[0].gutter(canvas, guess);
        let rows = self.panes.len().div_ceil(COLUMNS);
        let bar = self.bar.width(canvas, rows as f32 * guess);
        let width = (inner - left - bar - BETWEEN * em) / COLUMNS as f32;
        if width < NARROWEST_PANEL * em {
            return None;
        }
        let height = ASPECT as f32 * width;
        let panel = |index: usize| {
            let x = MARGIN * em + left + (index % COLUMNS) as f32 * (width + BETWEEN * em);
            area(x, y + title + (index / COLUMNS) as f32 * (height + title), width, height)
        };
        let panels: Vec<Rect> = (0..self.panes.len()).map(panel).collect();
        let labels = |index: usize| LabelledSides {
            left: index.is_multiple_of(COLUMNS),
            // The lowest landscape of each column is labelled.
            below: index + COLUMNS >= self.panes.len(),
        };
        let bottom = panels.iter().map(|panel| panel.bottom()).fold(y, f32::max);
        let (plots, gutter) = self.plots_below(canvas, bottom + Axis::depth(em) + ABOVE * em, inner)?;
        let labels = (0..self.panes.len()).map(labels).collect();
        Some(Arrangement { panels, labels, barred: panel(1).with_max_y(bottom), plots, gutter, is_named: false })
    }

    /// The areas of the plots from `y` downwards, side by side where they have room, and the width from the left ends
    /// of their labels to their frames.
    fn plots_below(&self, canvas: &Canvas, y: f32, inner: f32) -> Option<(Vec<Rect>, f32)> {
        let em = canvas.style.em;
        let columns = if inner >= WIDE * em { self.plots.len().clamp(1, COLUMNS) } else { 1 };
        let share = (inner - (columns - 1) as f32 * GAP * em) / columns as f32;
        let height = (PLOT_ASPECT * share).max(LEAST_HEIGHT * em);
        let gutter = self.gutter(canvas, height);
        let width = share - gutter - self.overhang(canvas, share - gutter);
        let plot = |index: usize| {
            let x = MARGIN * em + (index % columns) as f32 * (share + GAP * em) + gutter;
            area(x, y + (index / columns) as f32 * (height + Axis::depth(em) + ABOVE * em), width, height)
        };
        (width >= NARROWEST_PANEL * em).then(|| ((0..self.plots.len()).map(plot).collect(), gutter))
    }

    /// The width of the labels at the left of the plots, with this height.
    fn gutter(&self, canvas: &Canvas, height: f32) -> f32 {
        self.plots.iter().map(|plot| plot.curves.vertical.gutter(canvas, height)).fold(0.0, f32::max)
    }

    /// How far the last labels below the plots, with this width, extend beyond them.
    fn overhang(&self, canvas: &Canvas, width: f32) -> f32 {
        self.plots.iter().map(|plot| plot.horizontal.overhang(canvas, width)).fold(0.0, f32::max)
    }
}
