//! The figure of a landscape: the trajectories of its optimizers, and plots of the loss.

use valleyscope_engine::landscape::{Landscape, Uv};
use valleyscope_engine::optimizer::Marker;
use valleyscope_engine::simulation::Bucket;
use valleyscope_experiments::view::range::{suiting, union, with_margin};
use valleyscope_experiments::view::{AxisScale, Background, Pen};

use super::axis::{Axis, Side};
use super::canvas::{Area, Canvas};
use super::curves::{self, CurveAxis, CurveLines, CurvePlot};
use super::landscape_plot::{ASPECT, LandscapePlot};
use super::map::Swatch;
use super::style::{GAP, LEAST_HEIGHT, MARGIN, NARROWEST_PANEL, WIDE};
use super::svg::CREATOR;
use super::trajectories::{Ensemble, Trajectories};
use super::{Content, Figure, FigureError, FigureMetadata};

/// Height over width of a plot below the landscape.
const PLOT_ASPECT: f64 = 0.5;
/// The landscape's fraction of the width where plots are beside it.
const SHARE: f64 = 0.58;
/// The pieces of the line of the loss on the axis of u, where it is not straight.
const AXIS_PIECES: usize = 200;
/// The depth to which the floor is drawn, over the largest depth of the optimizers.
const BEYOND: f64 = 1.25;
/// The number of points at which the axis of u is compared with a floor.
const FLOOR_POINTS: usize = 16;
/// The slope across a floor, over the slope a thousandth of its length beside it.
const FLAT: f64 = 1e-3;
/// The slope across a floor that the rotation makes of that along it, by rounding.
const ROUNDING: f64 = 1e-9;
/// The colour of the floor's line.
const GREY: [u8; 3] = [120; 3];
/// The radius of markers, in font sizes.
const RADIUS: f64 = 0.3;
/// The space above a panel, in font sizes.
const ABOVE: f64 = 0.4;

/// A landscape with trajectories, and its plots.
#[derive(Clone, Debug)]
pub(super) struct LandscapeFigure {
    ground: LandscapePlot,
    /// The names of lines with their pens, the optimizers first.
    names: Vec<(String, Pen)>,
    /// The markers of the optimizers, with their colours.
    markers: Vec<(Marker, [u8; 3])>,
    plots: Vec<Plot>,
}

#[derive(Clone, Debug)]
struct Plot {
    horizontal: CurveAxis,
    curves: CurvePlot,
    /// The final points of the optimizers.
    ends: Vec<(usize, [f64; 2])>,
}

impl Figure {
    /// Returns a figure of trajectories on their landscape with its contour lines, and beside it the loss over the
    /// steps (the paper's Fig. 1c) and, where the axis of u is the floor of a valley, the loss on that axis with the
    /// final positions of the optimizers (its figure of saturation).
    pub fn landscape(trajectories: &Trajectories) -> Figure {
        let ensembles = trajectories.ensembles();
        let ground = LandscapePlot::of(trajectories, &ensembles);
        let landscape = trajectories.spec().landscape.landscape();
        let floor = along_axis(&landscape, &ensembles);
        let names = names(&landscape, &ensembles, floor.is_some());
        let swatch =
            |(name, pen): &(String, Pen)| Swatch { color: Some(pen.color_on(Background::Light)), text: name.clone() };
        let mut legend: Vec<Swatch> = names.iter().map(swatch).collect();
        let notes = [note_of_particles(trajectories), note_of_run_away(&ground, &ensembles)];
        legend.extend(notes.into_iter().flatten().map(|text| Swatch { color: None, text }));
        let figure = LandscapeFigure {
            names,
            markers: ensembles.iter().map(|ensemble| (ensemble.marker, ensemble.spec.rgb())).collect(),
            plots: [over_steps(&ensembles)].into_iter().chain(floor).collect(),
            ground,
        };
        let about = FigureMetadata {
            title: trajectories.title().to_owned(),
            programs: vec![format!("{CREATOR}, seed {}", trajectories.spec().seed)],
            specs: vec![trajectories.text()],
        };
        Figure { about, content: Content::Landscape(Box::new(figure)), legend }
    }
}

/// Returns the names of lines: the optimizers, each with a pen of its own, and the loss on the axis of u if it is drawn.
fn names(landscape: &Landscape, ensembles: &[Ensemble<'_>], has_floor: bool) -> Vec<(String, Pen)> {
    let optimizers = ensembles.iter().enumerate().map(|(index, ensemble)| {
        let color = ensemble.spec.rgb();
        let before = ensembles[..index].iter().filter(|other| other.spec.rgb() == color).count();
        (ensemble.name.clone(), Pen::new(color, before))
    });
    let axis = match landscape {
        Landscape::Valley(_) => "floor of the valley, L(u, v = 0) = −cu",
        Landscape::Program(_) => "floor of the valley, L(u, v = 0)",
    };
    optimizers.chain(has_floor.then(|| (axis.to_owned(), Pen::new(GREY, 0)))).collect()
}

fn note_of_particles(trajectories: &Trajectories) -> Option<String> {
    let particles = trajectories.spec().particles.get();
    (particles > 1).then(|| format!("means of {particles} particles, ± 1 standard deviation; thin: single particles"))
}

fn note_of_run_away(ground: &LandscapePlot, ensembles: &[Ensemble<'_>]) -> Option<String> {
    let away = ensembles.iter().filter(|ensemble| !ground.holds_end(ensemble));
    let away: Vec<&str> = away.map(|ensemble| ensemble.name.as_str()).collect();
    (!away.is_empty()).then(|| format!("run away, out of view: {}", away.join(", ")))
}

/// Returns the mean loss over the steps, in a band of a standard deviation over the particles to each side.
fn over_steps(ensembles: &[Ensemble<'_>]) -> Plot {
    let (mut curves, mut extents, mut last) = (Vec::new(), Vec::new(), 1);
    for (index, Ensemble { history, .. }) in ensembles.iter().enumerate() {
        let finite: Vec<&Bucket> = history.iter().take_while(|bucket| bucket.loss.mean.is_finite()).collect();
        let line: Vec<[f64; 2]> = finite.iter().map(|bucket| [middle(bucket), bucket.loss.mean]).collect();
        let band: Vec<[f64; 3]> = finite
            .iter()
            .filter(|bucket| bucket.loss.std.is_finite())
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

/// Returns the step in the middle of a bucket.
fn middle(bucket: &Bucket) -> f64 {
    bucket.first_step as f64 + 0.5 * (bucket.steps - 1) as f64
}

/// Returns the loss on the axis of u and the final means of the optimizers; `None` where that axis is no floor, so that
/// its loss has nothing to do with the optimizers'.
fn along_axis(landscape: &Landscape, ensembles: &[Ensemble<'_>]) -> Option<Plot> {
    let end = |(index, ensemble): (usize, &Ensemble<'_>)| {
        let bucket = ensemble.history.last()?;
        let place = [bucket.u.mean, bucket.loss.mean];
        place.iter().all(|value| value.is_finite()).then_some((index, place))
    };
    let ends: Vec<(usize, [f64; 2])> = ensembles.iter().enumerate().filter_map(end).collect();
    let depths_reached: Vec<_> = ends.iter().map(|(_, [u, _])| ([*u; 2], None)).collect();
    let reached = suiting(&depths_reached).map_or([0.0; 2], |reached| union(reached, [0.0; 2]));
    let depths = if reached[0] < reached[1] { reached.map(|u| BEYOND * u) } else { [0.0, 1.0] };
    if !is_floor(landscape, depths) {
        return None;
    }
    let pieces = match landscape {
        // A straight line.
        Landscape::Valley(_) => 1,
        Landscape::Program(_) => AXIS_PIECES,
    };
    let place = |index: usize| match index as f64 / pieces as f64 {
        1.0 => depths[1],
        part => depths[0] + part * (depths[1] - depths[0]),
    };
    let on_axis = |u: f64| [u, landscape.loss(landscape.xy_from_uv(Uv { u, v: 0.0 }))];
    let axis_line: Vec<[f64; 2]> =
        (0..=pieces).map(|index| on_axis(place(index))).filter(|[_, loss]| loss.is_finite()).collect();
    let in_range = ends.iter().filter(|(_, [u, _])| (depths[0]..=depths[1]).contains(u));
    let losses: Vec<_> = in_range.map(|(_, [_, loss])| ([*loss; 2], None)).collect();
    let drawn = axis_line.iter().map(|[_, loss]| [*loss; 2]).chain(suiting(&losses)).reduce(union);
    let range = with_margin(&drawn.map(|extent| (extent, None)).into_iter().collect::<Vec<_>>());
    let line = CurveLines { index: ensembles.len(), raw: Vec::new(), line: vec![axis_line], band: Vec::new() };
    Some(Plot {
        horizontal: axis("depth u", depths),
        curves: CurvePlot { vertical: axis("loss L", range), curves: vec![line] },
        ends,
    })
}

/// Returns whether the axis of u is a floor (or a ridge) between two depths: no slope leads away from it.
fn is_floor(landscape: &Landscape, depths: [f64; 2]) -> bool {
    let length = depths[1] - depths[0];
    let slopes = |u: f64, v: f64| {
        let [x, y] = landscape.gradient(landscape.xy_from_uv(Uv { u, v }));
        let Uv { u, v } = landscape.uv_from_xy([x, y]);
        [u.abs(), v.abs()]
    };
    (0..=FLOOR_POINTS).map(|index| depths[0] + length * index as f64 / FLOOR_POINTS as f64).all(|u| {
        let beside = [-1.0, 1.0].map(|side| slopes(u, 1e-3 * side * length)[1]);
        let [along, across] = slopes(u, 0.0);
        across <= FLAT * beside[0].max(beside[1]) + ROUNDING * along
    })
}

fn axis(label: &str, range: [f64; 2]) -> CurveAxis {
    CurveAxis { label: label.to_owned(), scale: AxisScale::Linear, range }
}

/// The areas of the landscape and of the plots.
struct Arrangement {
    ground: Area,
    plots: Vec<Area>,
    /// The widths from the left ends of the labels to the frames, of the landscape and of the plots.
    gutters: [f64; 2],
    end: f64,
}

impl LandscapeFigure {
    /// Draws the key of the legend's entry with this index.
    pub(super) fn draw_key(&self, canvas: &mut Canvas, [x, y]: [f64; 2], width: f64, index: usize, em: f64) {
        curves::draw_key(canvas, [x, y], width, self.names[index].1);
        if index < self.markers.len() {
            self.draw_marker(canvas, [x + width / 2.0, y], index, em);
        }
    }

    fn draw_marker(&self, canvas: &mut Canvas, at: [f64; 2], index: usize, em: f64) {
        let (marker, color) = self.markers[index];
        canvas.marker(marker, at, RADIUS * em, [color, self.names[index].1.color_on(Background::Light)]);
    }

    /// Draws landscape and plots from `y` downwards. Returns their lower end, or `None` where there is no room for
    /// them.
    pub(super) fn draw(&self, canvas: &mut Canvas, y: f64, inner: f64, em: f64) -> Result<Option<f64>, FigureError> {
        let Some(Arrangement { ground, plots, gutters, end }) = self.arrange(y, inner, em) else { return Ok(None) };
        self.ground.draw(canvas, ground, gutters[0], em)?;
        for (Plot { horizontal, curves, ends }, area) in self.plots.iter().zip(plots) {
            curves.draw(canvas, horizontal, &self.names, area, gutters[1], em);
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
    fn arrange(&self, y: f64, inner: f64, em: f64) -> Option<Arrangement> {
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
        let mut gutters = [self.ground.gutter(guess, em), plot_gutters.fold(0.0, f64::max)];
        if !is_wide {
            // The frames are aligned below each other.
            gutters = [gutters[0].max(gutters[1]); 2];
        }
        let width = share - gutters[0] - self.ground.bar_width(guess, em);
        let ground = Area { x: left + gutters[0], y: top, width, height: ASPECT * width };
        let height = if is_wide { half(ground.height) } else { plot_height };
        // The last label extends beyond its plot.
        let overhang = |plot: &Plot| plot.horizontal.at(Side::Bottom, room - gutters[1], em).label_width(em) / 2.0;
        let width = room - gutters[1] - self.plots.iter().map(overhang).fold(0.3 * em, f64::max);
        if ground.width.min(width) < NARROWEST_PANEL * em {
            return None;
        }
        let first = if is_wide { top } else { ground.bottom() + between };
        let area =
            |index: usize| Area { x: start + gutters[1], y: first + index as f64 * (height + between), width, height };
        let plots: Vec<Area> = (0..self.plots.len()).map(area).collect();
        let lowest = plots.iter().map(|area| area.bottom()).fold(ground.bottom(), f64::max);
        Some(Arrangement { ground, plots, gutters, end: lowest + Axis::depth(em) })
    }
}
