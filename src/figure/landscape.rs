//! The figure of one or more landscapes: the trajectories of their optimizers, and plots of the loss.

use valleyscope_engine::landscape::{Coordinate, Landscape, LandscapeMetric, Uv};
use valleyscope_engine::optimizer::Marker;
use valleyscope_engine::simulation::Bucket;
use valleyscope_experiments::preset::LETTERS;
use valleyscope_experiments::view::range::{suiting, union, with_margin};
use valleyscope_experiments::view::{AxisScale, Background, Dash, Pen};

use super::canvas::{Area, Axis, Canvas, GAP, LEAST_HEIGHT, LINE, MARGIN, NARROWEST_PANEL, Side, WIDE};
use super::curves::{CurveAxis, CurveLines, CurvePlot};
use super::files::CREATOR;
use super::landscape_plot::{ASPECT, LabelledSides, LandscapePlot};
use super::map::Swatch;
use super::trajectories::{Ensemble, TracedRun, Trajectories};
use super::{Content, Figure, FigureError, FigureMetadata, curves};

/// Height over width of a plot below the landscape.
const PLOT_ASPECT: f64 = 0.5;
/// The landscape's fraction of the width where plots are beside it.
const SHARE: f64 = 0.58;
/// The pieces of the line of the loss on the axis of u, where it is not straight.
const AXIS_PIECES: usize = 200;
/// The depth to which the floor is drawn, over the largest depth of the optimizers.
const BEYOND: f64 = 1.25;
/// The colour of the floor's line, and of the keys of runs side by side.
const GREY: [u8; 3] = [120; 3];
const BLACK: [u8; 3] = [0; 3];
/// The radius of markers, in font sizes.
const RADIUS: f64 = 0.3;
/// The space above a panel, in font sizes.
const ABOVE: f64 = 0.4;

/// A landscape with trajectories, and its plots.
#[derive(Clone, Debug)]
pub(super) struct LandscapeFigure {
    panes: Vec<Pane>,
    /// The names of lines with their pens, the optimizers of all runs first.
    names: Vec<(String, Pen)>,
    /// The markers of the optimizers, with the colours of their fillings.
    markers: Vec<(Marker, [u8; 3])>,
    /// The legend's entries for lines.
    keys: Vec<Key>,
    plots: Vec<Plot>,
}

/// The landscape of a run.
#[derive(Clone, Debug)]
pub(super) struct Pane {
    /// The title above; empty for a single run.
    pub title: String,
    pub plot: LandscapePlot,
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
pub(super) struct Plot {
    pub horizontal: CurveAxis,
    pub curves: CurvePlot,
    /// The final points of the optimizers.
    ends: Vec<(usize, [f64; 2])>,
}

impl Figure {
    /// Returns a figure of trajectories on their landscape with its contour lines, and beside it the loss over the
    /// steps and, where u is a metric of the landscape, the loss on the axis of u with the final positions of the
    /// optimizers (the paper's Fig. 1c and its figure of saturation).
    pub fn landscape(trajectories: &Trajectories) -> Figure {
        let ensembles = trajectories.ensembles();
        let panes = panes(trajectories, &ensembles);
        let depth = trajectories.spec().landscape.metric(Coordinate::U);
        let floors = if depth.is_some() { floors(trajectories) } else { Vec::new() };
        let names = names(&floors, &ensembles);
        let keys = keys(&panes, &names, &ensembles);
        let swatch = |key: &Key| Swatch { color: Some(key.pen.color_on(Background::Light)), text: key.text.clone() };
        let mut legend: Vec<Swatch> = keys.iter().map(swatch).collect();
        let notes = [note_of_particles(trajectories), note_of_run_away(&panes, &ensembles)];
        legend.extend(notes.into_iter().flatten().map(|text| Swatch { color: None, text }));
        let figure = LandscapeFigure {
            names,
            markers: ensembles.iter().map(|ensemble| (ensemble.marker, filling(ensemble))).collect(),
            keys,
            plots: std::iter::once(over_steps(&ensembles))
                .chain(depth.map(|depth| along_axis(&floors, depth, &ensembles)))
                .collect(),
            panes,
        };
        let about = FigureMetadata {
            title: trajectories.title().to_owned(),
            programs: vec![format!("{CREATOR}, seed {}", trajectories.spec().seed)],
            specs: vec![trajectories.text()],
        };
        Figure { about, content: Content::Landscape(Box::new(figure)), legend }
    }
}

/// Returns the landscapes of the runs, with titles where there are several.
fn panes(trajectories: &Trajectories, ensembles: &[Ensemble<'_>]) -> Vec<Pane> {
    let runs = trajectories.runs();
    let title = |index: usize| if runs.len() > 1 { runs[index].title.clone() } else { String::new() };
    let panels = LandscapePlot::of_runs(trajectories, ensembles).into_iter().enumerate();
    panels.map(|(index, plot)| Pane { title: title(index), plot }).collect()
}

/// Returns the landscapes of the runs whose losses on the axis of u are drawn, with the indices of the runs: each
/// landscape once.
fn floors(trajectories: &Trajectories) -> Vec<(usize, Landscape)> {
    let mut floors: Vec<(usize, Landscape)> = Vec::new();
    for (index, run) in trajectories.runs().iter().enumerate() {
        let landscape = run.spec().landscape.landscape();
        if floors.iter().all(|(_, other)| *other != landscape) {
            floors.push((index, landscape));
        }
    }
    floors
}

/// Returns the names of lines: the optimizers, in each run with pens of their own, and the losses on the axis of u.
fn names(floors: &[(usize, Landscape)], ensembles: &[Ensemble<'_>]) -> Vec<(String, Pen)> {
    let optimizers = ensembles.iter().enumerate().map(|(index, ensemble)| {
        let (run, color) = (ensemble.run, ensemble.color);
        let is_alike = |other: &&Ensemble<'_>| other.run == run && other.color == color;
        let before = ensembles[..index].iter().filter(is_alike).count();
        let pen = Pen::new(color, before);
        (ensemble.name.clone(), if run == 0 { pen } else { pen.dashed(Dash::SIDE_BY_SIDE[run]) })
    });
    let axis = |(run, landscape): &(usize, Landscape)| {
        let name = match landscape {
            Landscape::Valley(_) => "floor of the valley, L(u, v = 0) = −cu",
            Landscape::Program(_) => "loss on the axis of u, L(u, v = 0)",
        };
        (name.to_owned(), Pen::new(GREY, 0).dashed(Dash::SIDE_BY_SIDE[*run]))
    };
    optimizers.chain(floors.iter().map(axis)).collect()
}

/// Returns the legend's entries: an optimizer of several runs once, and the line of each run.
fn keys(panes: &[Pane], names: &[(String, Pen)], ensembles: &[Ensemble<'_>]) -> Vec<Key> {
    let mut keys: Vec<Key> = Vec::new();
    for (index, ensemble) in ensembles.iter().enumerate() {
        let (text, pen) = (ensemble.name.clone(), names[index].1);
        let is_alike =
            |other: &Ensemble<'_>| other.run != ensemble.run && (&other.name, other.color) == (&text, ensemble.color);
        if !ensembles[..index].iter().any(is_alike) {
            keys.push(Key { text, pen: pen.dashed(Dash::Solid), marker: Some(index) });
        }
    }
    if panes.len() > 1 {
        let line = |(run, pane): (usize, &Pane)| {
            let pen = Pen::new(BLACK, 0).dashed(Dash::SIDE_BY_SIDE[run]);
            Key { text: pane.title.clone(), pen, marker: None }
        };
        keys.extend(panes.iter().enumerate().map(line));
    }
    if let Some((text, pen)) = names.get(ensembles.len()) {
        keys.push(Key { text: text.clone(), pen: pen.dashed(Dash::Solid), marker: None });
    }
    keys
}

/// Returns the colour of the filling of an optimizer's marker: its own in the first run, and white in the others.
fn filling(ensemble: &Ensemble<'_>) -> [u8; 3] {
    if ensemble.run == 0 { ensemble.color } else { [255; 3] }
}

fn note_of_particles(trajectories: &Trajectories) -> Option<String> {
    let particles = |run: &TracedRun| run.spec().particles.get();
    let (first, runs) = (particles(&trajectories.runs()[0]), trajectories.runs());
    let count = if runs.iter().all(|run| particles(run) == first) { format!("{first} ") } else { String::new() };
    let deviation = if runs.len() == 1 { ", ± 1 standard deviation" } else { "" };
    (first > 1).then(|| format!("means of {count}particles{deviation}; thin: single particles"))
}

fn note_of_run_away(panes: &[Pane], ensembles: &[Ensemble<'_>]) -> Option<String> {
    let name = |ensemble: &Ensemble<'_>| match panes.len() {
        1 => ensemble.name.clone(),
        _ => format!("{} in {}", ensemble.name, LETTERS[ensemble.run]),
    };
    let away = ensembles.iter().filter(|ensemble| !panes[ensemble.run].plot.holds_end(ensemble));
    let away: Vec<String> = away.map(name).collect();
    (!away.is_empty()).then(|| format!("run away, out of view: {}", away.join(", ")))
}

/// Returns the mean loss over the steps, for a single run in a band of a standard deviation over the particles to each
/// side.
fn over_steps(ensembles: &[Ensemble<'_>]) -> Plot {
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
    Plot {
        horizontal: axis("steps", [0.0, last as f64]),
        curves: CurvePlot { vertical: axis("loss L", with_margin(&extents)), curves },
        ends: Vec::new(),
    }
}

fn middle(bucket: &Bucket) -> f64 {
    bucket.first_step as f64 + 0.5 * (bucket.steps - 1) as f64
}

/// Returns the loss on the axis of u, which is the floor of the paper's valley, and the final means of the optimizers.
fn along_axis(floors: &[(usize, Landscape)], depth: &LandscapeMetric, ensembles: &[Ensemble<'_>]) -> Plot {
    let end = |(index, ensemble): (usize, &Ensemble<'_>)| {
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
    let line = |(index, line): (usize, Vec<[f64; 2]>)| CurveLines {
        index: ensembles.len() + index,
        raw: Vec::new(),
        line: vec![line],
        band: Vec::new(),
    };
    Plot {
        horizontal: axis(&depth.title(), depths),
        curves: CurvePlot {
            vertical: axis("loss L", range),
            curves: lines.into_iter().enumerate().map(line).collect(),
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
    let on_axis = |u: f64| [u, landscape.loss(landscape.xy_from_uv(Uv { u, v: 0.0 }))];
    (0..=pieces).map(|index| on_axis(depth_at(index))).filter(|[_, loss]| loss.is_finite()).collect()
}

fn axis(label: &str, range: [f64; 2]) -> CurveAxis {
    CurveAxis { label: label.to_owned(), scale: AxisScale::Linear, range }
}

/// The areas of the landscapes and of the plots.
pub(super) struct Arrangement {
    pub panels: Vec<Area>,
    /// The labelled sides of the landscapes.
    pub labels: Vec<LabelledSides>,
    /// The area beside which the colour bar is.
    pub barred: Area,
    pub plots: Vec<Area>,
    /// The width from the left ends of the plots' labels to their frames.
    pub gutter: f64,
    pub end: f64,
}

impl LandscapeFigure {
    /// Draws the key of the legend's entry with this index.
    pub(super) fn draw_key(&self, canvas: &mut Canvas, [x, y]: [f64; 2], width: f64, index: usize, em: f64) {
        let key = &self.keys[index];
        curves::draw_key(canvas, [x, y], width, key.pen);
        if let Some(marker) = key.marker {
            self.draw_marker(canvas, [x + width / 2.0, y], marker, em);
        }
    }

    pub(super) fn panes(&self) -> &[Pane] {
        &self.panes
    }

    pub(super) fn plots(&self) -> &[Plot] {
        &self.plots
    }

    fn draw_marker(&self, canvas: &mut Canvas, at: [f64; 2], index: usize, em: f64) {
        let (marker, color) = self.markers[index];
        canvas.marker(marker, at, RADIUS * em, [color, self.names[index].1.color_on(Background::Light)]);
    }

    /// Draws landscape and plots from `y` downwards. Returns their lower end, or `None` where there is no room for
    /// them.
    pub(super) fn draw(&self, canvas: &mut Canvas, y: f64, inner: f64, em: f64) -> Result<Option<f64>, FigureError> {
        let arranged = match self.panes.as_slice() {
            [single] => self.arrange(&single.plot, y, inner, em),
            _ => self.arrange_side_by_side(y, inner, em),
        };
        let Some(Arrangement { panels, labels, barred, plots, gutter, end }) = arranged else { return Ok(None) };
        for ((Pane { title, plot }, area), labels) in self.panes.iter().zip(panels).zip(labels) {
            plot.draw(canvas, area, labels, em)?;
            if !title.is_empty() {
                canvas.text_within([area.x + area.width / 2.0, area.y - 0.6 * LINE * em], area.width, title);
            }
        }
        self.panes[0].plot.draw_bar(canvas, barred, em);
        for (Plot { horizontal, curves, ends }, area) in self.plots.iter().zip(plots) {
            curves.draw(canvas, horizontal, &self.names, area, gutter, em);
            for (index, [u, loss]) in ends {
                let [part, height] = [horizontal.part(*u), curves.vertical.part(*loss)];
                if [part, height].iter().all(|part| (0.0..=1.0).contains(part)) {
                    let at = [area.x + part * area.width, area.bottom() - height * area.height];
                    self.draw_marker(canvas, at, *index, em);
                }
            }
        }
        Ok(Some(end))
    }

    /// Arranges the plots beside the landscape, with the same total height, if there is room, else below it.
    fn arrange(&self, landscape: &LandscapePlot, y: f64, inner: f64, em: f64) -> Option<Arrangement> {
        let is_wide = inner >= WIDE * em;
        let (left, top, between) = (MARGIN * em, y + ABOVE * em, Axis::depth(em) + ABOVE * em);
        let share = if is_wide { SHARE * (inner - GAP * em) } else { inner };
        let (start, room) = if is_wide { (left + share + GAP * em, inner - share - GAP * em) } else { (left, inner) };
        let count = self.plots.len() as f64;
        // The labels depend on the size, and the size on the labels: labels for a guessed size are about as wide.
        let guess = 0.8 * ASPECT * share;
        let half = |height: f64| (height - (count - 1.0) * between) / count;
        let plot_height = if is_wide { half(guess) } else { (PLOT_ASPECT * room).max(LEAST_HEIGHT * em) };
        let plot_gutters = self.plots.iter().map(|plot| plot.curves.vertical.gutter(plot_height, em));
        let mut gutters = [landscape.gutter(guess, em), plot_gutters.fold(0.0, f64::max)];
        if !is_wide {
            // The frames are aligned below each other.
            gutters = [gutters[0].max(gutters[1]); 2];
        }
        let width = share - gutters[0] - landscape.bar_width(guess, em);
        let panel = Area { x: left + gutters[0], y: top, width, height: ASPECT * width };
        let height = if is_wide { half(panel.height) } else { plot_height };
        // The last label extends beyond its plot.
        let overhang = |plot: &Plot| plot.horizontal.at(Side::Bottom, room - gutters[1], em).label_width(em) / 2.0;
        let width = room - gutters[1] - self.plots.iter().map(overhang).fold(0.3 * em, f64::max);
        if panel.width.min(width) < NARROWEST_PANEL * em {
            return None;
        }
        let first = if is_wide { top } else { panel.bottom() + between };
        let area =
            |index: usize| Area { x: start + gutters[1], y: first + index as f64 * (height + between), width, height };
        let plots: Vec<Area> = (0..self.plots.len()).map(area).collect();
        let lowest = plots.iter().map(|area| area.bottom()).fold(panel.bottom(), f64::max);
        Some(Arrangement {
            panels: vec![panel],
            labels: vec![LabelledSides { left: Some(gutters[0]), below: true }],
            barred: panel,
            plots,
            gutter: gutters[1],
            end: lowest + Axis::depth(em),
        })
    }
}

/// The number of landscapes in a row.
const COLUMNS: usize = 2;
/// The gap between landscapes, in font sizes.
const BETWEEN: f64 = 1.4;

impl LandscapeFigure {
    /// Arranges several landscapes from `y` downwards, and the plots below them; `None` where there is no room.
    pub(super) fn arrange_side_by_side(&self, y: f64, inner: f64, em: f64) -> Option<Arrangement> {
        let (panes, first) = (self.panes(), &self.panes()[0].plot);
        let title = 1.3 * LINE * em;
        // The labels depend on the size, and the size on the labels: labels for a guessed size are about as wide.
        let guess = 0.4 * inner * ASPECT;
        let left = first.gutter(guess, em);
        let rows = panes.len().div_ceil(COLUMNS);
        let bar = first.bar_width(rows as f64 * guess, em);
        let width = (inner - left - bar - BETWEEN * em) / COLUMNS as f64;
        if width < NARROWEST_PANEL * em {
            return None;
        }
        let height = ASPECT * width;
        let panel = |index: usize| Area {
            x: MARGIN * em + left + (index % COLUMNS) as f64 * (width + BETWEEN * em),
            y: y + title + (index / COLUMNS) as f64 * (height + title),
            width,
            height,
        };
        let panels: Vec<Area> = (0..panes.len()).map(panel).collect();
        let labels = |index: usize| LabelledSides {
            left: (index.is_multiple_of(COLUMNS)).then_some(left),
            // The lowest landscape of each column is labelled.
            below: index + COLUMNS >= panes.len(),
        };
        let bottom = panels.iter().map(|area| area.bottom()).fold(y, f64::max);
        let barred = Area { x: panel(1).x, y: panel(1).y, width, height: bottom - panel(1).y };
        let (plots, gutter) = self.plots_below(bottom + Axis::depth(em) + 0.4 * em, inner, em)?;
        let end = plots.iter().map(|area| area.bottom()).fold(bottom, f64::max) + Axis::depth(em);
        let labels = (0..panes.len()).map(labels).collect();
        Some(Arrangement { panels, labels, barred, plots, gutter, end })
    }

    /// Returns the areas of the plots from `y` downwards, side by side where they have room, and the width from the left
    /// ends of their labels to their frames.
    fn plots_below(&self, y: f64, inner: f64, em: f64) -> Option<(Vec<Area>, f64)> {
        let plots = self.plots();
        let columns = if inner >= WIDE * em { plots.len().clamp(1, COLUMNS) } else { 1 };
        let share = (inner - (columns - 1) as f64 * GAP * em) / columns as f64;
        let height = (PLOT_ASPECT * share).max(LEAST_HEIGHT * em);
        let gutter = plots.iter().map(|plot| plot.curves.vertical.gutter(height, em)).fold(0.0, f64::max);
        // The last label extends beyond its plot.
        let overhang = |plot: &Plot| plot.horizontal.at(Side::Bottom, share - gutter, em).label_width(em) / 2.0;
        let width = share - gutter - plots.iter().map(overhang).fold(0.3 * em, f64::max);
        let area = |index: usize| Area {
            x: MARGIN * em + (index % columns) as f64 * (share + GAP * em) + gutter,
            y: y + (index / columns) as f64 * (height + Axis::depth(em) + 0.4 * em),
            width,
            height,
        };
        (width >= NARROWEST_PANEL * em).then(|| ((0..plots.len()).map(area).collect(), gutter))
    }
}
