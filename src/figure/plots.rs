//! Plots of measured values with their errors over the same positions, such as those of a scan.

use valleyscope_engine::optimizer::Marker;
use valleyscope_experiments::view::ticks::{Tick, Ticks};
use valleyscope_experiments::view::{AxisScale, Background, Dash, contrasting};

use super::canvas::{
    Area, Axis, CURVE_WIDTH, Canvas, GAP, KEY, LABEL_GAP, LEAST_HEIGHT, LINE, MARGIN, NARROWEST_PANEL, Parts, Side,
    Stroke, TICK, WIDE, have_room, minor_values,
};
use super::map::Swatch;
use super::{Content, Figure, FigureMetadata, Mark, Scale, files};
use crate::sweep::result::scan::{NEGLIGIBLE, ScanResult};

// Lengths in font sizes.
const RADIUS: f64 = 0.26;
const CAP: f64 = 0.28;
const RING: f64 = 0.5;

/// Height over width of the first of several plots below each other, of the others, and of plots side by side.
const ASPECTS: [f64; 3] = [0.66, 0.42, 0.72];
const FEWEST_LABELS: usize = 3;
const BAR_WIDTH: f64 = 0.7;
/// The fraction of a vertical axis that is left free beyond the values at each end.
const FREE: f64 = 0.07;
/// The lowest point of an error bar that extends a logarithmic axis, as a fraction of the value.
const LOWEST_PART: f64 = 0.2;

/// Plots over one horizontal axis.
#[derive(Clone, Debug)]
pub(super) struct Plots {
    pub label: String,
    /// Places on the horizontal axis, from left to right, with their labels.
    pub ticks: Vec<(f64, String)>,
    pub plots: Vec<Plot>,
}

#[derive(Clone, Debug)]
pub(super) struct Plot {
    pub title: Option<String>,
    /// The label of the vertical axis.
    pub label: String,
    pub vertical: Vertical,
    pub series: Vec<Series>,
}

#[derive(Clone, Debug)]
pub(super) enum Vertical {
    /// A logarithmic axis; a value that is not positive is drawn on the lower edge.
    Log,
    /// A linear axis, with lines, dashed or not, at values that are always in view.
    Linear { guides: Vec<(f64, bool)> },
}

/// Values of one kind.
#[derive(Clone, Debug)]
pub(super) struct Series {
    pub color: [u8; 3],
    pub marker: Marker,
    /// The measured value at each tick, if known.
    pub points: Vec<Option<Measured>>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Measured {
    pub value: f64,
    /// The error to both sides; NaN where it is not known.
    pub error: f64,
    /// Whether a ring marks the point.
    pub is_ringed: bool,
}

/// Draws the key of a series in a legend: a piece of its line with its marker, in the middle of a line of text.
pub(super) fn draw_key(canvas: &mut Canvas, [x, y]: [f64; 2], marker: Marker, color: [u8; 3], em: f64) {
    let end = x + KEY * em;
    canvas.path(
        &[vec![[x, y], [end, y]]],
        Stroke { color: line(color), width: CURVE_WIDTH, dash: Dash::Solid, opacity: 1.0 },
    );
    canvas.marker(marker, [(x + end) / 2.0, y], RADIUS * em, [color, line(color)]);
}

fn line(color: [u8; 3]) -> [u8; 3] {
    contrasting(color, Background::Light)
}

/// The arrangement of the plots.
struct Arrangement {
    columns: usize,
    /// The width from the left end of a plot's share to its frame.
    left: f64,
    /// The distance between the left ends of neighbouring plots' shares.
    stride: f64,
    width: f64,
}

impl Plots {
    /// Returns the marker of the legend's entry with this index.
    pub(super) fn marker(&self, index: usize) -> Marker {
        self.plots[0].series[index].marker
    }

    /// Draws the plots from `y` downwards. Returns their lower end, or `None` where there is no room for them.
    pub(super) fn draw(&self, canvas: &mut Canvas, mut y: f64, inner: f64, em: f64) -> Option<f64> {
        let arrangement = self.arrange(inner, em)?;
        let mut end = y;
        for (index, plot) in self.plots.iter().enumerate() {
            let below = index / arrangement.columns;
            let column = index % arrangement.columns;
            if column == 0 && below > 0 {
                y = end;
            }
            let top = y + if self.is_titled(below, arrangement.columns) { 1.2 * LINE * em } else { 0.4 * em };
            let area = Area {
                x: MARGIN * em + column as f64 * arrangement.stride + arrangement.left,
                y: top,
                width: arrangement.width,
                height: self.height(index, arrangement.columns, arrangement.width, em),
            };
            plot.draw(canvas, area, self, em);
            let beside = plot.axis(area.height, em);
            beside.draw_label_upright(canvas, area, area.x - arrangement.left + 0.5 * LINE * em);
            let is_lowest = index + arrangement.columns >= self.plots.len();
            end = area.bottom() + TICK * em;
            if is_lowest {
                end = self.draw_ticks(canvas, area, em);
            }
        }
        Some(end)
    }

    fn height(&self, index: usize, columns: usize, width: f64, em: f64) -> f64 {
        let aspect = if columns > 1 { ASPECTS[2] } else { ASPECTS[index.min(1)] };
        (aspect * width).max(LEAST_HEIGHT * em)
    }

    fn is_titled(&self, row: usize, columns: usize) -> bool {
        self.plots.iter().skip(row * columns).take(columns).any(|plot| plot.title.is_some())
    }

    fn arrange(&self, inner: f64, em: f64) -> Option<Arrangement> {
        let columns = if inner >= WIDE * em { self.plots.len().max(1) } else { 1 };
        let gap = GAP * em;
        let share = (inner - (columns - 1) as f64 * gap) / columns as f64;
        let right = 0.3 * em + self.overhang(share, em);
        let mut width = 0.8 * share;
        let mut left = 0.0;
        // Labels depend on the size, and the size on the labels.
        for _ in 0..2 {
            let widths = self
                .plots
                .iter()
                .enumerate()
                .map(|(index, plot)| plot.axis(self.height(index, columns, width, em), em).label_width(em));
            left = widths.fold(0.0, f64::max) + (TICK + 2.0 * LABEL_GAP + LINE) * em;
            width = share - left - right;
        }
        (width >= NARROWEST_PANEL * em).then_some(Arrangement { columns, left, stride: share + gap, width })
    }

    /// Returns the length by which the last tick's label extends beyond a frame that is somewhat narrower than this.
    fn overhang(&self, width: f64, em: f64) -> f64 {
        let Some((_, label)) = self.ticks.last() else { return 0.0 };
        let inside = (1.0 - self.position(self.ticks.len() - 1)) * 0.7 * width;
        (files::width(label, em) / 2.0 - inside).max(0.0)
    }

    /// Returns the position of a tick along the axis, from 0 to 1; half a unit is left free at the ends.
    fn position(&self, index: usize) -> f64 {
        let tick = |index: usize| self.ticks[index].0;
        let (first, last) = (tick(0), tick(self.ticks.len() - 1));
        (tick(index) - first + 0.5) / (last - first + 1.0)
    }

    fn axis(&self, ticks: impl IntoIterator<Item = usize>) -> Axis {
        let mark = |index: usize| Mark { position: self.position(index), label: self.ticks[index].1.clone() };
        Axis { label: self.label.clone(), marks: ticks.into_iter().map(mark).collect(), minor: Vec::new() }
    }

    /// Places whose labels have room side by side: each second, third and so on where all are equally far apart, else
    /// all, of which the axis labels as many as there is room for.
    fn labelled(&self, width: f64, em: f64) -> Vec<usize> {
        let extent = |index: usize| [self.position(index) * width, files::width(&self.ticks[index].1, em) / 2.0];
        let count = self.ticks.len();
        let gaps: Vec<f64> = self.ticks.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
        if gaps.windows(2).any(|pair| (pair[1] - pair[0]).abs() >= 1e-9) {
            return (0..count).collect();
        }
        let each = |stride: usize| (0..count).step_by(stride).collect::<Vec<_>>();
        let fits = |pair: &[usize]| have_room(extent(pair[0]), extent(pair[1]), em);
        let stride = (1..count).find(|stride| each(*stride).windows(2).all(fits));
        each(stride.unwrap_or(count.max(1)))
    }

    /// Draws as many labels as fit, and the axis' own label. Returns the lower end.
    fn draw_ticks(&self, canvas: &mut Canvas, area: Area, em: f64) -> f64 {
        let below = self.axis(self.labelled(area.width, em));
        below.draw_marks(canvas, area, Side::Bottom, Parts::Labels, em);
        below.draw_label_below(canvas, area, em);
        area.bottom() + (TICK + LABEL_GAP + 0.5) * em + 1.6 * LINE * em
    }
}

impl Plot {
    fn scale(&self) -> Scale {
        let known = || self.series.iter().flat_map(|series| series.points.iter().flatten());
        let error = |point: &Measured| if point.error.is_finite() { point.error } else { 0.0 };
        match &self.vertical {
            Vertical::Log => {
                let ends = known().filter(|point| point.value > 0.0).flat_map(|point| {
                    [(point.value - error(point)).max(LOWEST_PART * point.value), point.value + error(point)]
                });
                let [low, high] = ends.fold([f64::INFINITY, 0.0], |[low, high], end| [low.min(end), high.max(end)]);
                if high == 0.0 {
                    return Scale::log(Vec::new());
                }
                // Marks need a range.
                let free = (FREE * (high / low).ln()).exp().max(1.25);
                Scale::log(vec![low / free, high * free])
            }
            Vertical::Linear { guides } => {
                let ends = known().flat_map(|point| [point.value - error(point), point.value + error(point)]);
                let ends = ends.chain(guides.iter().map(|(value, _)| *value));
                let [low, high] = ends
                    .filter(|end| end.is_finite())
                    .fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], end| [low.min(end), high.max(end)]);
                let free = FREE * (high - low);
                if low <= high { Scale::linear(vec![low - free, high + free]) } else { Scale::linear(Vec::new()) }
            }
        }
    }

    fn axis(&self, height: f64, em: f64) -> Axis {
        let scale = self.scale();
        let [low, high] = scale.ends();
        let most = Axis::room(Side::Left, height, em);
        let kind = match self.vertical {
            Vertical::Log => AxisScale::Log,
            Vertical::Linear { .. } => AxisScale::Linear,
        };
        let (mut marks, mut note) = scale.marks(most);
        if kind == AxisScale::Log && marks.len() < FEWEST_LABELS {
            // Less than a decade may hold few of 1, 2 and 5 times the powers of ten.
            let Ticks { ticks, note: left_out } = Ticks::linear(low, high, most.min(5));
            let mark = |tick: Tick| Mark { position: scale.position(tick.value), label: tick.label };
            (marks, note) = (ticks.into_iter().map(mark).collect(), left_out);
        }
        let minor = minor_values(kind, [low, high]).map(|value| scale.position(value)).collect();
        Axis { label: self.label.clone(), marks, minor }.with_note(note)
    }

    fn draw(&self, canvas: &mut Canvas, area: Area, plots: &Plots, em: f64) {
        if let Some(title) = &self.title {
            canvas.text_within([area.x + area.width / 2.0, area.y - 0.6 * LINE * em], area.width, title);
        }
        let scale = self.scale();
        let height_of = |value: f64| area.bottom() - part_of(&scale, value) * area.height;
        plots.axis(0..plots.ticks.len()).draw_marks(canvas, area, Side::Bottom, Parts::Ticks, em);
        let beside = self.axis(area.height, em);
        beside.draw_marks(canvas, area, Side::Left, Parts::Both, em);
        beside.draw_minor_ticks(canvas, area, Side::Left, em);
        if let Vertical::Linear { guides } = &self.vertical {
            for &(value, dashed) in guides {
                let y = height_of(value);
                let dash = if dashed { Dash::Dashed } else { Dash::Solid };
                let stroke = Stroke { color: [120; 3], width: 0.6, dash, opacity: 1.0 };
                canvas.path(&[vec![[area.x, y], [area.right(), y]]], stroke);
            }
        }
        for series in &self.series {
            let at = |index: usize, value: f64| [area.x + plots.position(index) * area.width, height_of(value)];
            series.draw_lines(canvas, &at, [area.y, area.bottom()], em);
        }
        for series in &self.series {
            for (index, point) in series.known() {
                let center = [area.x + plots.position(index) * area.width, height_of(point.value)];
                canvas.marker(series.marker, center, RADIUS * em, [series.color, line(series.color)]);
                if point.is_ringed {
                    canvas.ring(center, RING * em, line(series.color));
                }
            }
        }
        canvas.frame(area);
    }
}

/// Returns the position of a value along an axis, from 0 to 1, clamped to its ends.
fn part_of(scale: &Scale, value: f64) -> f64 {
    let part = scale.position(value);
    // NaN for a value that is not positive on a logarithmic axis.
    if part.is_nan() { 0.0 } else { part.clamp(0.0, 1.0) }
}

impl Series {
    fn known(&self) -> impl Iterator<Item = (usize, Measured)> {
        self.points.iter().enumerate().filter_map(|(index, point)| Some((index, (*point)?)))
    }

    /// Draws error bars, and the line between neighbouring values, which has gaps where a value is not known.
    fn draw_lines(&self, canvas: &mut Canvas, at: &impl Fn(usize, f64) -> [f64; 2], [top, bottom]: [f64; 2], em: f64) {
        let color = line(self.color);
        for (index, Measured { value, error, .. }) in self.known() {
            if !error.is_finite() {
                continue;
            }
            let [x, high] = at(index, value + error);
            let [_, low] = at(index, value - error);
            let cap = |y: f64| vec![[x - CAP * em, y], [x + CAP * em, y]];
            let mut lines = vec![vec![[x, low], [x, high]]];
            // An end at the frame lies beyond it, and has no cap.
            lines.extend([low, high].into_iter().filter(|y| *y > top && *y < bottom).map(cap));
            canvas.path(&lines, Stroke { color, width: BAR_WIDTH, dash: Dash::Solid, opacity: 1.0 });
        }
        let centers = self.points.iter().enumerate().map(|(index, point)| Some(at(index, (*point)?.value)));
        let centers: Vec<Option<[f64; 2]>> = centers.collect();
        let pieces = centers.split(Option::is_none).map(|piece| piece.iter().copied().flatten().collect());
        let pieces: Vec<Vec<[f64; 2]>> = pieces.filter(|piece: &Vec<_>| piece.len() > 1).collect();
        if !pieces.is_empty() {
            canvas.path(&pieces, Stroke { color, width: CURVE_WIDTH, dash: Dash::Solid, opacity: 1.0 });
        }
    }
}

const PERCENT: f64 = 100.0;

impl Figure {
    /// Returns a figure of the best test loss of each optimizer by batch size, with its deviation over replicates (the
    /// paper's Fig. 2c); where Adam and Signum are among them also the improvement of Signum on Adam in %, with its
    /// error, the line at 0 and dashed lines at ±5 % (Fig. 2d).
    pub fn scan(result: &ScanResult) -> Figure {
        let axes = &result.axes;
        let mut order: Vec<usize> = (0..axes.batch_sizes.len()).collect();
        order.sort_by_key(|index| axes.batch_sizes[*index]);
        let mut plots = vec![losses(result, &order)];
        plots.extend(improvement(result, &order));
        let sizes = order.iter().map(|index| axes.batch_sizes[*index]);
        let ticks = sizes.map(|size| ((size as f64).log2(), size.to_string())).collect();
        Figure {
            about: about(result),
            content: Content::Plots(Plots { label: "batch size".to_owned(), ticks, plots }),
            legend: legend(result),
        }
    }
}

fn losses(result: &ScanResult, order: &[usize]) -> Plot {
    let series = result.colors.iter().zip(&result.markers).enumerate().map(|(index, (color, marker))| {
        let points = order.iter().map(|size| {
            let score = result.scores.get(index, *size)?;
            let is_ringed = result.edge(index, *size).is_some();
            Some(Measured { value: score.mean, error: score.deviation, is_ringed })
        });
        let points = points.collect();
        Series { color: *color, marker: *marker, points }
    });
    Plot { title: None, label: "best test loss".to_owned(), vertical: Vertical::Log, series: series.collect() }
}

fn improvement(result: &ScanResult, order: &[usize]) -> Option<Plot> {
    let [adam, signum] = result.adam_and_signum()?;
    let improvements = result.scores.improvements(adam, signum);
    let points = order.iter().map(|size| {
        let improvement = improvements[*size]?;
        Some(Measured { value: PERCENT * improvement.value, error: PERCENT * improvement.error, is_ringed: false })
    });
    let names = [signum, adam].map(|index| result.axes.optimizers[index].as_str());
    let around = PERCENT * NEGLIGIBLE;
    Some(Plot {
        title: Some(format!("{} over {} (dashed: ±{around} %)", names[0], names[1])),
        label: "improvement (%)".to_owned(),
        vertical: Vertical::Linear { guides: vec![(0.0, false), (around, true), (-around, true)] },
        series: vec![Series { color: result.colors[signum], marker: result.markers[signum], points: points.collect() }],
    })
}

fn legend(result: &ScanResult) -> Vec<Swatch> {
    let names = result.axes.optimizers.iter().zip(&result.colors);
    let mut legend: Vec<Swatch> =
        names.map(|(name, color)| Swatch { color: Some(*color), text: name.clone() }).collect();
    let mut note = |text: String| legend.push(Swatch { color: None, text });
    let (known, all) = (result.known() as u64, result.axes.grid_points());
    if known < all {
        note(format!("so far {known} of {all} points"));
    }
    if result.is_synthetic {
        note(result.data.clone());
    }
    for (edge, _) in result.edges() {
        let sentence = format!("ringed: best η {}", edge.sentence("the learning rates"));
        // Two lines where one has no room for it.
        sentence.splitn(2, ", ").for_each(|part| note(part.to_owned()));
    }
    legend
}

fn about(result: &ScanResult) -> FigureMetadata {
    let parts = [result.program(), result.data.clone()];
    let program = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ");
    FigureMetadata { title: result.title.clone(), programs: vec![program], specs: vec![result.spec.clone()] }
}
