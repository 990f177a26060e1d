//! Figures of phase diagrams: rows of maps, of one diagram or of several compared ones.

use std::sync::Arc;

use egui::{Align, Color32, Rect, pos2};
use valleyscope_engine::optimizer::WEIGHT_DECAY;
use valleyscope_engine::setting::DIMENSION;
use valleyscope_engine::sweep::{Diagram, Metric, Quantity, SweepSpec};
use valleyscope_experiments::view::ticks::short;

use super::page::{COLUMN_MM, Content, Figure, MARGIN, NARROWEST_PANEL, PAGE_MM};
use crate::draw::axis::{Axis, ColorBar, LABEL_GAP, Parts, Side, TICK};
use crate::draw::canvas::{Canvas, LINE, MapImage, area};
use crate::draw::map::{Map, MapColors, MapSide, SharedOptimizer, Swatch, UNKNOWN, shared_optimizers};
use crate::draw::regions::{LetteredRegions, Letters};
use crate::draw::svg::FigureMetadata;
use crate::sweep::result::SweepResult;

/// Height over width of a single panel, and of one of several.
const ASPECT: [f32; 2] = [0.8, 1.0];
/// The largest number of lines of a title.
const MOST_TITLE_LINES: usize = 3;
/// The largest number of maps in a row.
const MOST_IN_A_ROW: usize = 3;

/// Rows of maps below each other.
#[derive(Clone, Debug)]
struct Maps {
    rows: Vec<Row>,
    /// A marked point: its values on the horizontal and on the vertical axis.
    point: Option<[f64; 2]>,
}

/// Maps side by side. A map whose axis beside it is that of the map at its left has no labels there.
#[derive(Clone, Debug)]
struct Row {
    panels: Vec<Panel>,
    bar: Option<ColorBar>,
}

#[derive(Clone, Debug)]
struct Panel {
    spec: Arc<SweepSpec>,
    title: Option<String>,
    image: MapImage,
    winners: Vec<Option<usize>>,
    optimizers: Vec<SharedOptimizer>,
    regions: Option<LetteredRegions>,
}

/// A diagram that is shown beside others.
pub struct Compared<'a> {
    pub result: &'a SweepResult,
    /// The title above its map.
    pub title: String,
    pub metric: Metric,
}

/// A map of a figure.
struct Shown<'a> {
    result: &'a SweepResult,
    map: Map,
    metric: Metric,
    title: Option<String>,
}

impl<'a> Shown<'a> {
    fn of(result: &'a SweepResult, metric: Metric, map: Map) -> Shown<'a> {
        Shown { result, map, metric, title: map.subject(&result.diagram) }
    }
}

impl Row {
    /// Rows of maps of one kind, which share their colours and a colour scale by the first one's metric; colours that
    /// need a name are put into the legend.
    fn of(kind: Map, shown: Vec<Shown<'_>>, per_row: usize, legend: &mut Vec<Swatch>) -> Vec<Row> {
        let diagrams: Vec<&Diagram> = shown.iter().map(|it| &it.result.diagram).collect();
        let specs: Vec<&SweepSpec> = diagrams.iter().map(|diagram| &**diagram.spec()).collect();
        let metric = shown.first().map(|first| first.metric).unwrap_or_default();
        let scale = kind.shared_scale(&diagrams, metric);
        let bar = scale.clone().zip(specs.first());
        let mut bar = bar.map(|(scale, spec)| ColorBar { scale, label: kind.quantity(&spec.landscape, metric) });
        let (mut panels, mut scales) = (Vec::new(), Vec::new());
        for (Shown { result, map, metric, title }, winners) in shown.into_iter().zip(shared_optimizers(&specs)) {
            let scale = scale.clone().map(|scale| map.colored(scale, &winners));
            scales.extend(scale.clone());
            let (diagram, colors) = (&result.diagram, MapColors { winners, scale, unknown: UNKNOWN });
            for swatch in map.legend_with(diagram, metric, &colors) {
                if !legend.contains(&swatch) {
                    legend.push(swatch);
                }
            }
            panels.push(Panel {
                spec: Arc::clone(diagram.spec()),
                title,
                image: map.image_with(diagram, metric, &colors),
                winners: map.winners(diagram, metric),
                optimizers: colors.winners,
                regions: None,
            });
        }
        // The bar of maps in several colours has none.
        if let (Some(bar), Some(first)) =
            (&mut bar, scales.first().filter(|first| scales.iter().all(|it| it == *first)))
        {
            bar.scale = first.clone();
        }
        let mut rows = Vec::new();
        while !panels.is_empty() {
            let rest = panels.split_off(per_row.min(panels.len()));
            rows.push(Row { panels: std::mem::replace(&mut panels, rest), bar: bar.take() });
        }
        rows
    }

    /// Whether the labels of the axis beside a panel are drawn: not where they repeat those of the panel at its left.
    fn is_labelled(&self, index: usize) -> bool {
        index == 0 || !self.panels[index].has_rows_of(&self.panels[index - 1])
    }

    /// Draws panels, axes and colour bar from `y` downwards. Returns the lower end.
    fn draw(&self, canvas: &Canvas, columns: &Columns, mut y: f32, point: Option<[f64; 2]>) -> f32 {
        let em = canvas.style.em;
        let lines = self.panels.iter().map(|panel| panel.title_lines(canvas, columns.panel_width).len()).max();
        y += match lines {
            None | Some(0) => 0.3 * em,
            Some(lines) => lines as f32 * LINE * em,
        };
        let at = |index: usize| {
            let x = columns.left + index as f32 * (columns.panel_width + columns.gap);
            area(x, y, columns.panel_width, columns.panel_height)
        };
        for (index, panel) in self.panels.iter().enumerate() {
            panel.draw(canvas, at(index), self.is_labelled(index), point);
        }
        let last = at(self.panels.len().saturating_sub(1));
        if let Some(bar) = &self.bar {
            bar.draw(canvas, last);
        }
        last.bottom() + Axis::depth(em)
    }
}

impl Panel {
    fn has_rows_of(&self, other: &Panel) -> bool {
        let [one, two] = [self, other].map(|panel| &panel.spec.rows);
        (one.from.to_bits(), one.to.to_bits(), one.count, one.spacing)
            == (two.from.to_bits(), two.to.to_bits(), two.count, two.spacing)
            && self.axis_beside(1.0, 1.0).label == other.axis_beside(1.0, 1.0).label
    }

    fn axis_below(&self, width: f32, em: f32) -> Axis {
        MapSide(&self.spec.columns).axis(&self.spec, width / (3.5 * em))
    }

    fn axis_beside(&self, height: f32, em: f32) -> Axis {
        MapSide(&self.spec.rows).axis(&self.spec, height / (2.0 * em))
    }

    /// The title in lines; the last one may be wider than the panel.
    fn title_lines(&self, canvas: &Canvas, width: f32) -> Vec<String> {
        let mut lines = self.title.as_ref().map_or_else(Vec::new, |title| canvas.wrapped(title, width));
        if lines.len() > MOST_TITLE_LINES {
            let rest = lines.split_off(MOST_TITLE_LINES - 1);
            lines.push(rest.join(" "));
        }
        lines
    }

    fn draw(&self, canvas: &Canvas, panel: Rect, is_labelled: bool, point: Option<[f64; 2]>) {
        let em = canvas.style.em;
        let lines = self.title_lines(canvas, panel.width());
        for (index, line) in lines.iter().enumerate() {
            let above = (lines.len() - 1 - index) as f32 + 0.6;
            let middle = pos2(panel.center().x, panel.top() - above * LINE * em);
            canvas.text_within(middle, Align::Center, panel.width(), line);
        }
        canvas.image(panel, &self.image, false);
        if let Some(regions) = &self.regions {
            regions.draw(canvas, panel, self.spec.shape());
        }
        canvas.frame(panel);
        if let Some(point) = point {
            self.draw_point(canvas, panel, point);
        }
        let below = self.axis_below(panel.width(), em);
        below.draw(canvas, panel, Side::Bottom, Parts::Both);
        below.draw_label_below(canvas, panel);
        let beside = self.axis_beside(panel.height(), em);
        beside.draw(canvas, panel, Side::Left, Parts::labelled(is_labelled));
        if is_labelled {
            beside.draw_label_beside(canvas, panel);
        }
    }

    fn draw_point(&self, canvas: &Canvas, panel: Rect, [x, y]: [f64; 2]) {
        let [across, up] =
            [(&self.spec.columns, x), (&self.spec.rows, y)].map(|(axis, value)| MapSide(axis).position(value));
        if !(0.0..=1.0).contains(&across) || !(0.0..=1.0).contains(&up) {
            return;
        }
        let at = panel.lerp_inside(egui::vec2(across as f32, 1.0 - up as f32));
        for (radius, color) in [(0.75, Color32::BLACK), (0.6, Color32::WHITE), (0.3, Color32::BLACK)] {
            canvas.painter.circle_filled(at, radius * canvas.style.em, color);
        }
    }
}

impl Content for Maps {
    fn draw(&self, canvas: &Canvas, mut y: f32, inner: f32) -> Option<f32> {
        let em = canvas.style.em;
        let columns = Columns::of(&self.rows, canvas, inner);
        if columns.panel_width < NARROWEST_PANEL * em {
            return None;
        }
        for (index, row) in self.rows.iter().enumerate() {
            y += if index > 0 { 0.8 * em } else { 0.0 };
            y = row.draw(canvas, &columns, y, self.point);
        }
        Some(y)
    }

    fn usual_width_mm(&self) -> f64 {
        if self.rows.iter().any(|row| row.panels.len() > 1) { PAGE_MM } else { COLUMN_MM }
    }

    fn with_point(&self, point: [f64; 2]) -> Option<Arc<dyn Content>> {
        Some(Arc::new(Maps { point: Some(point), ..self.clone() }))
    }

    fn with_letters(&self, legend: &mut Vec<Swatch>) -> Option<Arc<dyn Content>> {
        let mut maps = self.clone();
        let panels = || self.rows.iter().flat_map(|row| &row.panels);
        let of_winners = panels().filter(|panel| panel.winners.iter().any(Option::is_some));
        let letters = Letters::of(of_winners.flat_map(|panel| &panel.optimizers));
        letters.explain(legend);
        let mut has_specks = false;
        for panel in maps.rows.iter_mut().flat_map(|row| &mut row.panels) {
            let own = letters.of_optimizers(&panel.optimizers);
            let regions = LetteredRegions::new(&panel.winners, &panel.image, own);
            has_specks |= regions.has_specks();
            panel.regions = Some(regions);
        }
        legend.extend(has_specks.then(Letters::note_of_specks));
        Some(Arc::new(maps))
    }
}

/// The division of the width into columns, the same for all rows.
struct Columns {
    /// The left end of the first panel.
    left: f32,
    panel_width: f32,
    panel_height: f32,
    gap: f32,
}

impl Columns {
    fn of(rows: &[Row], canvas: &Canvas, inner: f32) -> Columns {
        let count = rows.iter().map(|row| row.panels.len()).max().unwrap_or(1).max(1);
        // The labels depend on the size, and the size on the labels: those of a guess are about as wide.
        let guess = Columns::with_labels_of(0.7 * inner / count as f32, rows, count, canvas, inner);
        if count == 1 {
            return guess;
        }
        // Side by side, a wider label would run into that of the neighbour.
        let fitted = Columns::with_labels_of(guess.panel_width, rows, count, canvas, inner);
        if fitted.gap > guess.gap { fitted } else { guess }
    }

    /// Divides `inner` into columns, with as much room for labels as those of panels with this `width` need.
    fn with_labels_of(width: f32, rows: &[Row], count: usize, canvas: &Canvas, inner: f32) -> Columns {
        let em = canvas.style.em;
        let widest = |labels: &mut dyn Iterator<Item = f32>| labels.fold(0.0, f32::max);
        let aspect = ASPECT[usize::from(count > 1)];
        let panels = || rows.iter().flat_map(|row| &row.panels);
        let beside = widest(&mut panels().map(|panel| panel.axis_beside(width * aspect, em).label_width(canvas)));
        let below = widest(&mut panels().map(|panel| panel.axis_below(width, em).label_width(canvas)));
        let (tick, half) = ((TICK + LABEL_GAP) * em, below / 2.0);
        let left = LINE * em + tick + beside;
        let bars = rows.iter().filter_map(|row| row.bar.as_ref());
        let right = widest(&mut bars.map(|bar| bar.width(canvas, width * aspect))).max(half);
        let mut gap = if count > 1 { (2.0 * half + 0.6 * em).max(em) } else { 0.0 };
        if rows.iter().any(|row| (1..row.panels.len()).any(|index| row.is_labelled(index))) {
            gap = left + half + 0.6 * em;
        }
        let panel_width = (inner - left - right - gap * (count - 1) as f32) / count as f32;
        Columns { left: MARGIN * em + left, panel_width, panel_height: panel_width * aspect, gap }
    }
}

impl Figure {
    /// A figure of the winners as in the paper: by the sweep's metric or, where weight decay is varied, by each metric
    /// of the landscape, as these then disagree. Paler where less certain, if `certainty` is set, which adaptive
    /// sampling knows by the sweep's metric only.
    pub fn as_in_the_paper(result: &SweepResult, certainty: bool) -> Figure {
        let spec = result.diagram.spec();
        let is_decay = |of: &Quantity| matches!(of, Quantity::Of(WEIGHT_DECAY, _));
        let is_known = !certainty || spec.sampling.is_uniform();
        if is_known && (is_decay(&spec.rows.of) || is_decay(&spec.columns.of)) {
            Figure::winners_by_metric(result, certainty)
        } else {
            Figure::map(result, spec.metric, Map::Winner { certainty })
        }
    }

    /// A figure of the winners by each metric of the landscape, side by side.
    pub fn winners_by_metric(result: &SweepResult, certainty: bool) -> Figure {
        let landscape = result.diagram.spec().landscape;
        let shown = Metric::of(&landscape).map(|metric| {
            let title = Some(metric.label(&landscape).to_owned());
            Shown { title, ..Shown::of(result, metric, Map::Winner { certainty }) }
        });
        let mut legend = Vec::new();
        let rows = Row::of(Map::Winner { certainty }, shown.collect(), usize::MAX, &mut legend);
        Figure::of_rows(&[result], rows, legend)
    }

    /// A figure of the winners in two diagrams over the same axes, side by side, each by its sweep's metric, with the
    /// rotation or the dimension of its landscape above (the paper's figure "moretoy"). Paler where less certain, if
    /// `certainty` is set.
    pub fn side_by_side(results: [&SweepResult; 2], certainty: bool) -> Figure {
        let compared = results.map(|result| {
            let spec = result.diagram.spec();
            let title = match spec.dimension.get() {
                2 => {
                    let [.., rotation] = spec.landscape.info().parameters else { unreachable!("all can be turned") };
                    rotation.with(short(spec.landscape.rotation_degrees()))
                }
                dimension => DIMENSION.with(dimension),
            };
            Compared { result, title, metric: spec.metric }
        });
        Figure::compared(&compared, Map::Winner { certainty }, 0)
    }

    /// A figure of one map.
    pub fn map(result: &SweepResult, metric: Metric, map: Map) -> Figure {
        let mut legend = Vec::new();
        let rows = Row::of(map, vec![Shown::of(result, metric, map)], 1, &mut legend);
        Figure::of_rows(&[result], rows, legend)
    }

    /// A figure of the differences between any two optimizers, a row for each diagram.
    pub fn pairs(results: &[(&SweepResult, Metric)]) -> Figure {
        let (mut rows, mut legend) = (Vec::new(), Vec::new());
        for (result, metric) in results {
            let count = result.diagram.spec().optimizers.len();
            let pairs = (0..count).flat_map(|one| (one + 1..count).map(move |other| Map::Difference(one, other)));
            let shown = pairs.map(|pair| Shown::of(result, *metric, pair)).collect();
            rows.extend(Row::of(Map::Difference(0, 1), shown, usize::MAX, &mut legend));
        }
        let sources: Vec<&SweepResult> = results.iter().map(|(result, _)| *result).collect();
        Figure::of_rows(&sources, rows, legend)
    }

    /// A figure of the same map of several diagrams, with one legend and one colour scale, which is by the metric of
    /// the first. `map` is that of the diagram at the index `of`; the others show the optimizers of the same names, or
    /// at the same positions.
    pub fn compared(diagrams: &[Compared<'_>], map: Map, of: usize) -> Figure {
        let from = diagrams[of].result.diagram.spec();
        let shown = diagrams.iter().map(|Compared { result, title, metric }| {
            let shown = Shown::of(result, *metric, map.carried_over(from, &result.diagram));
            let title = match &shown.title {
                Some(subject) => format!("{title}: {subject}"),
                None => title.clone(),
            };
            Shown { title: Some(title), ..shown }
        });
        let (per_row, mut legend) = (if diagrams.len() == 4 { 2 } else { MOST_IN_A_ROW }, Vec::new());
        let rows = Row::of(map, shown.collect(), per_row, &mut legend);
        // Notes stand behind the colours that they explain.
        legend.sort_by_key(|swatch| swatch.color.is_none());
        let results: Vec<&SweepResult> = diagrams.iter().map(|compared| compared.result).collect();
        Figure::of_rows(&results, rows, legend)
    }

    fn of_rows(results: &[&SweepResult], rows: Vec<Row>, legend: Vec<Swatch>) -> Figure {
        let titles: Vec<&str> = results.iter().map(|result| result.title.as_str()).collect();
        let about = FigureMetadata {
            title: titles.join("; "),
            programs: results.iter().map(|result| result.program()).collect(),
            specs: results.iter().map(|result| result.preset().to_ron()).collect(),
        };
        Figure { about, content: Arc::new(Maps { rows, point: None }), legend }
    }
}
