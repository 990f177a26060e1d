//! Rows of maps, of one diagram or of several compared ones.

use valleyscope_engine::sweep;
use valleyscope_engine::sweep::{Diagram, Metric, SweepSpec};
use valleyscope_experiments::view::ticks::short;
use valleyscope_experiments::view::{AxisScale, Dash};

use super::canvas::{
    Area, Axis, Canvas, ColorBar, LABEL_GAP, LINE, MARGIN, NARROWEST_PANEL, Parts, Side, Stroke, TICK, ticks,
};
use super::map::{Map, MapColors, MapImage, Mark, SharedOptimizer, Swatch, UNKNOWN, shared_optimizers};
use super::regions::{Letters, RegionLetter, Regions, ink};
use super::titles::axis_label;
use super::{Content, Figure, FigureError, FigureMetadata, wrapped};
use crate::sweep::result::SweepResult;

/// Height over width of a single panel, and of one of several.
const ASPECT: [f64; 2] = [0.8, 1.0];

/// Maps side by side. A map whose axis beside it is that of the map at its left has no labels there.
#[derive(Clone, Debug, Default)]
pub(super) struct Row {
    panels: Vec<Panel>,
    pub bar: Option<ColorBar>,
    /// A marked point: its values on the horizontal and on the vertical axis.
    point: Option<[f64; 2]>,
}

#[derive(Clone, Debug)]
struct Panel {
    rows: sweep::Axis,
    columns: sweep::Axis,
    row_label: String,
    column_label: String,
    title: Option<String>,
    image: MapImage,
    winners: Vec<Option<usize>>,
    optimizers: Vec<SharedOptimizer>,
    /// The letters of the optimizers, if they are drawn.
    letters: Option<Vec<String>>,
}

impl Row {
    /// Returns a row of maps that share a colour scale; colours that need a name are put into the legend.
    pub(super) fn of(result: &SweepResult, metric: Metric, maps: &[Map], legend: &mut Vec<Swatch>) -> Row {
        let diagram = &result.diagram;
        let mut row = Row::default();
        for map in maps {
            row.add(diagram, *map, metric, map.subject(diagram), legend);
            row.bar = map
                .scale(diagram, metric)
                .map(|scale| ColorBar { scale, label: map.quantity(&diagram.spec().landscape, metric) });
        }
        row
    }

    /// Adds the map of a diagram in its own colours; those that need a name are put into the legend if not there yet.
    pub(super) fn add(
        &mut self,
        diagram: &Diagram,
        map: Map,
        metric: Metric,
        title: Option<String>,
        legend: &mut Vec<Swatch>,
    ) {
        self.add_in(diagram, map, metric, &map.colors(diagram, metric, UNKNOWN), title, legend);
    }

    /// Adds a map in these colours.
    pub(super) fn add_in(
        &mut self,
        diagram: &Diagram,
        map: Map,
        metric: Metric,
        colors: &MapColors,
        title: Option<String>,
        legend: &mut Vec<Swatch>,
    ) {
        let spec = diagram.spec();
        self.panels.push(Panel {
            rows: spec.rows.clone(),
            columns: spec.columns.clone(),
            row_label: axis_label(spec, &spec.rows),
            column_label: axis_label(spec, &spec.columns),
            title,
            image: map.image_with(diagram, metric, colors),
            winners: map.winners(diagram, metric),
            optimizers: colors.winners.clone(),
            letters: None,
        });
        for swatch in map.legend_with(diagram, metric, colors) {
            if !legend.contains(&swatch) {
                legend.push(swatch);
            }
        }
    }

    /// Draws the letters of winners, and the borders of their regions.
    pub(super) fn set_letters(&mut self, letters: &Letters) {
        for panel in &mut self.panels {
            panel.letters = Some(letters.of_optimizers(&panel.optimizers));
        }
    }

    /// Returns whether a map has regions that are too small for a letter.
    pub(super) fn has_specks(&self) -> bool {
        self.panels.iter().any(|panel| Regions::of(&panel.winners, panel.image.width).has_specks)
    }

    /// Lists the optimizers in maps of winners.
    pub(super) fn optimizers(&self) -> impl Iterator<Item = &SharedOptimizer> {
        self.panels.iter().filter(|panel| panel.winners.iter().any(Option::is_some)).flat_map(|panel| &panel.optimizers)
    }

    /// Marks a point on each map, unless it is outside of the axes.
    pub(super) fn mark(&mut self, point: [f64; 2]) {
        self.point = Some(point);
    }

    pub(super) fn panel_count(&self) -> usize {
        self.panels.len()
    }

    /// Returns whether the labels of the axis beside a panel are drawn: not where they repeat those of the panel at its
    /// left.
    fn is_labelled(&self, index: usize) -> bool {
        index == 0 || !self.panels[index].has_rows_of(&self.panels[index - 1])
    }

    fn title_lines(&self, width: f64, em: f64) -> usize {
        let titles = self.panels.iter().filter_map(|panel| panel.title.as_ref());
        titles.map(|title| title_lines(title, width, em).len()).max().unwrap_or(0)
    }

    /// Draws panels, axes and colour bar from `y` downwards. Returns the lower end.
    fn draw(&self, canvas: &mut Canvas, columns: &Columns, mut y: f64, em: f64) -> Result<f64, FigureError> {
        let lines = self.title_lines(columns.panel_width, em);
        y += if lines > 0 { lines as f64 * LINE * em } else { 0.3 * em };
        let mut last = Area { x: columns.left, y, width: columns.panel_width, height: columns.panel_height };
        for (index, panel) in self.panels.iter().enumerate() {
            last.x = columns.left + index as f64 * (columns.panel_width + columns.gap);
            panel.draw(canvas, last, self.is_labelled(index), self.point, em)?;
        }
        if let Some(bar) = &self.bar {
            bar.draw(canvas, last, em);
        }
        Ok(last.bottom() + Axis::depth(em))
    }
}

impl Panel {
    fn has_rows_of(&self, other: &Panel) -> bool {
        let side = |panel: &Panel| {
            let sweep::Axis { from, to, count, spacing, .. } = panel.rows;
            (from.to_bits(), to.to_bits(), count, spacing, panel.row_label.clone())
        };
        side(self) == side(other)
    }

    fn axis_below(&self, width: f64, em: f64) -> Axis {
        axis(&self.columns, &self.column_label, width / (3.5 * em))
    }

    fn axis_beside(&self, height: f64, em: f64) -> Axis {
        axis(&self.rows, &self.row_label, height / (2.0 * em))
    }

    fn draw(
        &self,
        canvas: &mut Canvas,
        area: Area,
        is_labelled: bool,
        point: Option<[f64; 2]>,
        em: f64,
    ) -> Result<(), FigureError> {
        let title = self.title.iter().flat_map(|title| title_lines(title, area.width, em));
        let lines: Vec<String> = title.collect();
        for (index, line) in lines.iter().enumerate() {
            let above = (lines.len() - 1 - index) as f64 + 0.6;
            canvas.text_within([area.x + area.width / 2.0, area.y - above * LINE * em], area.width, line);
        }
        canvas.image(area, &self.image)?;
        self.draw_letters(canvas, area, em);
        canvas.frame(area);
        if let Some(point) = point {
            self.draw_point(canvas, area, point, em);
        }
        let below = self.axis_below(area.width, em);
        below.draw_marks(canvas, area, Side::Bottom, Parts::Both, em);
        below.draw_minor_ticks(canvas, area, Side::Bottom, em);
        below.draw_label_below(canvas, area, em);
        let beside = self.axis_beside(area.height, em);
        let parts = if is_labelled { Parts::Both } else { Parts::Ticks };
        beside.draw_marks(canvas, area, Side::Left, parts, em);
        beside.draw_minor_ticks(canvas, area, Side::Left, em);
        if is_labelled {
            let x = area.x - (TICK + LABEL_GAP + 0.6 * LINE) * em - beside.label_width(em);
            beside.draw_label_upright(canvas, area, x);
        }
        Ok(())
    }

    fn draw_point(&self, canvas: &mut Canvas, area: Area, [x, y]: [f64; 2], em: f64) {
        let [across, up] = [position(&self.columns, x), position(&self.rows, y)];
        if !(0.0..=1.0).contains(&across) || !(0.0..=1.0).contains(&up) {
            return;
        }
        let at = [area.x + across * area.width, area.y + (1.0 - up) * area.height];
        for (radius, color) in [(0.75, [0; 3]), (0.6, [255; 3]), (0.3, [0; 3])] {
            canvas.dot(at, radius * em, color);
        }
    }

    /// Draws the borders of regions, and a letter in each that has room for it.
    fn draw_letters(&self, canvas: &mut Canvas, area: Area, em: f64) {
        let Some(letters) = &self.letters else { return };
        let (width, height) = (self.image.width, self.image.height);
        let cell = [area.width / width as f64, area.height / height as f64];
        let position = |[column, row]: [f64; 2]| [area.x + column * cell[0], area.bottom() - row * cell[1]];
        let regions = Regions::of(&self.winners, width);
        let borders: Vec<Vec<[f64; 2]>> = regions.borders.iter().map(|ends| ends.map(position).to_vec()).collect();
        if !borders.is_empty() {
            canvas.path(&borders, Stroke { color: [0; 3], width: BORDER, dash: Dash::Solid, opacity: 1.0 });
        }
        for RegionLetter { winner, at, reach } in regions.letters {
            if 2.0 * reach * cell[0].min(cell[1]) >= LETTER_ROOM * em {
                let [row, column] = [at[1], at[0]].map(|coordinate| coordinate as usize);
                canvas.text_in(ink(self.image.cell(row, column)), position(at), &letters[winner]);
            }
        }
    }
}

/// The width of the borders of regions, in points.
const BORDER: f64 = 0.8;
/// The smallest side of a square with a letter, in font sizes: about the height of a capital.
const LETTER_ROOM: f64 = 0.8;
/// The largest number of lines of a title.
const MOST_TITLE_LINES: usize = 3;

/// Returns a panel's title in lines; the last one may be wider than the panel.
fn title_lines(title: &str, width: f64, em: f64) -> Vec<String> {
    let mut lines = wrapped(title, width, em);
    if lines.len() > MOST_TITLE_LINES {
        let rest = lines.split_off(MOST_TITLE_LINES - 1);
        lines.push(rest.join(" "));
    }
    lines
}

/// Draws rows below each other from `y` downwards. Returns the lower end; `None` where they are too narrow.
pub(super) fn draw(
    rows: &[Row],
    canvas: &mut Canvas,
    mut y: f64,
    inner: f64,
    em: f64,
) -> Result<Option<f64>, FigureError> {
    let columns = Columns::of(rows, inner, em);
    if columns.panel_width < NARROWEST_PANEL * em {
        return Ok(None);
    }
    for (index, row) in rows.iter().enumerate() {
        y += if index > 0 { 0.8 * em } else { 0.0 };
        y = row.draw(canvas, &columns, y, em)?;
    }
    Ok(Some(y))
}

/// The division of the width into columns, the same for all rows.
struct Columns {
    /// The left end of the first panel.
    left: f64,
    panel_width: f64,
    panel_height: f64,
    gap: f64,
}

impl Columns {
    fn of(rows: &[Row], inner: f64, em: f64) -> Columns {
        let count = rows.iter().map(|row| row.panels.len()).max().unwrap_or(1).max(1);
        // The labels depend on the size, and the size on the labels: those of a guess are about as wide.
        let guess = Columns::with_labels_of(0.7 * inner / count as f64, rows, count, inner, em);
        if count == 1 {
            return guess;
        }
        // Side by side, a wider label would run into that of the neighbour.
        let fitted = Columns::with_labels_of(guess.panel_width, rows, count, inner, em);
        if fitted.gap > guess.gap { fitted } else { guess }
    }

    /// Divides `inner` into columns, with as much room for labels as those of panels with this `width` need.
    fn with_labels_of(width: f64, rows: &[Row], count: usize, inner: f64, em: f64) -> Columns {
        let widest = |labels: Vec<f64>| labels.into_iter().fold(0.0, f64::max);
        let aspect = ASPECT[usize::from(count > 1)];
        let panels = || rows.iter().flat_map(|row| &row.panels);
        let beside = widest(panels().map(|panel| panel.axis_beside(width * aspect, em).label_width(em)).collect());
        let below = widest(panels().map(|panel| panel.axis_below(width, em).label_width(em)).collect());
        let (tick, half) = ((TICK + LABEL_GAP) * em, below / 2.0);
        let left = LINE * em + tick + beside;
        let bars = rows.iter().filter_map(|row| row.bar.as_ref());
        let right = widest(bars.map(|bar| bar.width(width * aspect, em)).collect()).max(half);
        let mut gap = if count > 1 { (2.0 * half + 0.6 * em).max(em) } else { 0.0 };
        if rows.iter().any(|row| (1..row.panels.len()).any(|index| row.is_labelled(index))) {
            gap = left + half + 0.6 * em;
        }
        let panel_width = (inner - left - right - gap * (count - 1) as f64) / count as f64;
        Columns { left: MARGIN * em + left, panel_width, panel_height: panel_width * aspect, gap }
    }
}

/// Returns the position of a value along a side of a map, from 0 to 1: a row's or column's value is in the middle of
/// its cells.
fn position(axis: &sweep::Axis, value: f64) -> f64 {
    let count = axis.count.get() as f64;
    let part = if count == 1.0 { 0.0 } else { axis.spacing.position([axis.from, axis.to], value) };
    (0.5 + part * (count - 1.0)) / count
}

/// Returns the axis of a side of a map, with about as many labels as fit.
fn axis(of: &sweep::Axis, label: &str, room: f64) -> Axis {
    if of.count.get() == 1 {
        let only = Mark { position: position(of, of.from), label: short(of.from) };
        return Axis { label: label.to_owned(), marks: vec![only], minor: Vec::new() };
    }
    let most = (room as usize).clamp(2, 8);
    let scale = AxisScale::from(of.spacing);
    let range = [of.from.min(of.to), of.from.max(of.to)];
    let ticks = ticks(scale, range, most).into_iter().filter(|tick| !of.of.is_whole() || tick.value.fract() == 0.0);
    let mut axis = Axis::over(label, scale, range, ticks, |value| position(of, value));
    // An axis can go down.
    axis.marks.sort_by(|one, other| one.position.total_cmp(&other.position));
    axis
}

/// The largest number of maps in a row.
const MOST_IN_A_ROW: usize = 3;

/// A diagram that is shown beside others.
pub struct Compared<'a> {
    pub result: &'a SweepResult,
    /// The title above its map.
    pub title: String,
    pub metric: Metric,
}

impl Figure {
    /// Returns a figure of the same map of several diagrams, with one legend and one colour scale, which is by the metric
    /// of the first. `map` is that of the diagram at the index `of`; the others show the optimizers of the same names, or
    /// at the same positions.
    pub fn compared(diagrams: &[Compared<'_>], map: Map, of: usize) -> Figure {
        let all: Vec<&Diagram> = diagrams.iter().map(|compared| &compared.result.diagram).collect();
        let maps: Vec<Map> = all.iter().map(|diagram| map.carried_over(all[of].spec(), diagram)).collect();
        let specs: Vec<&SweepSpec> = all.iter().map(|diagram| &**diagram.spec()).collect();
        let metric = diagrams.first().map(|first| first.metric).unwrap_or_default();
        let scale = map.shared_scale(&all, metric);
        let per_row = if all.len() == 4 { 2 } else { MOST_IN_A_ROW };
        let (mut rows, mut legend): (Vec<Row>, _) = (Vec::new(), Vec::new());
        for (index, (compared, winners)) in diagrams.iter().zip(shared_optimizers(&specs)).enumerate() {
            if index % per_row == 0 {
                rows.push(Row::default());
            }
            let (diagram, map) = (all[index], maps[index]);
            let title = match map.subject(diagram) {
                Some(subject) => format!("{}: {subject}", compared.title),
                None => compared.title.clone(),
            };
            let colors = MapColors { winners, scale: scale.clone(), unknown: UNKNOWN };
            if let Some(row) = rows.last_mut() {
                row.add_in(diagram, map, compared.metric, &colors, Some(title), &mut legend);
            }
        }
        if let (Some(row), Some(scale), Some(first)) = (rows.first_mut(), scale, all.first()) {
            row.bar = Some(ColorBar { scale, label: map.quantity(&first.spec().landscape, metric) });
        }
        // Notes stand behind the colours that they explain.
        legend.sort_by_key(|swatch| swatch.color.is_none());
        let results: Vec<&SweepResult> = diagrams.iter().map(|compared| compared.result).collect();
        Figure { about: FigureMetadata::of(&results), content: Content::Maps(rows), legend }
    }

    /// Returns the figure with borders around the regions of winners, and a letter in each region that the legend
    /// explains: for readers who see the colours differently, and for prints in grey. Other figures stay as they are.
    pub fn with_letters(mut self) -> Figure {
        let Content::Maps(rows) = &mut self.content else { return self };
        let letters = Letters::of(rows.iter().flat_map(Row::optimizers));
        rows.iter_mut().for_each(|row| row.set_letters(&letters));
        letters.explain(&mut self.legend);
        if rows.iter().any(Row::has_specks) {
            self.legend.push(Letters::note_of_specks());
        }
        self
    }
}
