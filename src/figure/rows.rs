//! Rows of maps side by side.

use valleyscope_engine::sweep::{self, Diagram, Metric};
use valleyscope_experiments::view::AxisScale;
use valleyscope_experiments::view::ticks::short;

use super::FigureError;
use super::axis::{Axis, Parts, Side, ticks};
use super::canvas::{Area, Canvas};
use super::color_bar::ColorBar;
use super::labels::axis_label;
use super::map::{Map, MapImage, Swatch};
use super::scale::Mark;
use super::style::{LABEL_GAP, LINE, MARGIN, NARROWEST_PANEL, TICK};
use crate::result::SweepResult;

/// Height over width of a single panel, and of one of several.
const ASPECT: [f64; 2] = [0.8, 1.0];

/// Maps side by side, over the same axes.
#[derive(Clone, Debug)]
pub(super) struct Row {
    rows: sweep::Axis,
    columns: sweep::Axis,
    row_label: String,
    column_label: String,
    panels: Vec<Panel>,
    bar: Option<ColorBar>,
    /// A marked point: its values on the horizontal and on the vertical axis.
    point: Option<[f64; 2]>,
}

#[derive(Clone, Debug)]
struct Panel {
    title: Option<String>,
    image: MapImage,
}

impl Row {
    /// Returns a row without maps, over the axes of a diagram.
    pub(super) fn new(diagram: &Diagram) -> Row {
        let spec = diagram.spec();
        Row {
            rows: spec.rows.clone(),
            columns: spec.columns.clone(),
            row_label: axis_label(spec, &spec.rows),
            column_label: axis_label(spec, &spec.columns),
            panels: Vec::new(),
            bar: None,
            point: None,
        }
    }

    /// Returns a row of maps that share a colour scale; colours that need a name are put into the legend.
    pub(super) fn of(result: &SweepResult, metric: Metric, maps: &[Map], legend: &mut Vec<Swatch>) -> Row {
        let diagram = &result.diagram;
        let mut row = Row::new(diagram);
        for map in maps {
            row.add(diagram, *map, metric, map.subject(diagram), legend);
            row.bar = map
                .scale(diagram, metric)
                .map(|scale| ColorBar { scale, label: map.quantity(&diagram.spec().landscape, metric) });
        }
        row
    }

    /// Adds a map; colours that need a name are put into the legend if not there yet.
    pub(super) fn add(
        &mut self,
        diagram: &Diagram,
        map: Map,
        metric: Metric,
        title: Option<String>,
        legend: &mut Vec<Swatch>,
    ) {
        self.panels.push(Panel { title, image: map.image(diagram, metric) });
        for swatch in map.legend(diagram, metric) {
            if !legend.contains(&swatch) {
                legend.push(swatch);
            }
        }
    }

    /// Marks a point on each map, unless it is outside of the axes.
    pub(super) fn mark(&mut self, point: [f64; 2]) {
        self.point = Some(point);
    }

    pub(super) fn panel_count(&self) -> usize {
        self.panels.len()
    }

    fn axis_below(&self, width: f64, em: f64) -> Axis {
        axis(&self.columns, &self.column_label, width / (3.5 * em))
    }

    fn axis_beside(&self, height: f64, em: f64) -> Axis {
        axis(&self.rows, &self.row_label, height / (2.0 * em))
    }

    /// Draws panels, axes and colour bar from `y` downwards. Returns the lower end.
    fn draw(&self, canvas: &mut Canvas, columns: &Columns, mut y: f64, em: f64) -> Result<f64, FigureError> {
        let titled = self.panels.iter().any(|panel| panel.title.is_some());
        y += if titled { LINE * em } else { 0.3 * em };
        let mut last = Area { x: columns.left, y, width: columns.panel_width, height: columns.panel_height };
        for (index, panel) in self.panels.iter().enumerate() {
            last.x = columns.left + index as f64 * (columns.panel_width + columns.gap);
            self.draw_panel(canvas, panel, last, index == 0, em)?;
        }
        if let Some(bar) = &self.bar {
            bar.draw(canvas, last, em);
        }
        Ok(last.bottom() + Axis::depth(em))
    }

    fn draw_panel(
        &self,
        canvas: &mut Canvas,
        panel: &Panel,
        area: Area,
        is_first: bool,
        em: f64,
    ) -> Result<(), FigureError> {
        if let Some(title) = &panel.title {
            canvas.text_within([area.x + area.width / 2.0, area.y - 0.6 * LINE * em], area.width, title);
        }
        canvas.image(area, &panel.image)?;
        canvas.frame(area);
        self.draw_point(canvas, area, em);
        let below = self.axis_below(area.width, em);
        below.draw_marks(canvas, area, Side::Bottom, Parts::Both, em);
        below.draw_minor_ticks(canvas, area, Side::Bottom, em);
        below.draw_label_below(canvas, area, em);
        let beside = self.axis_beside(area.height, em);
        let parts = if is_first { Parts::Both } else { Parts::Ticks };
        beside.draw_marks(canvas, area, Side::Left, parts, em);
        beside.draw_minor_ticks(canvas, area, Side::Left, em);
        if is_first {
            let x = area.x - (TICK + LABEL_GAP + 0.6 * LINE) * em - beside.label_width(em);
            beside.draw_label_upright(canvas, area, x);
        }
        Ok(())
    }
}

impl Row {
    fn draw_point(&self, canvas: &mut Canvas, area: Area, em: f64) {
        let Some([x, y]) = self.point else { return };
        let [across, up] = [position(&self.columns, x), position(&self.rows, y)];
        if !(0.0..=1.0).contains(&across) || !(0.0..=1.0).contains(&up) {
            return;
        }
        let at = [area.x + across * area.width, area.y + (1.0 - up) * area.height];
        for (radius, color) in [(0.75, [0; 3]), (0.6, [255; 3]), (0.3, [0; 3])] {
            canvas.dot(at, radius * em, color);
        }
    }
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
        let widest = |labels: Vec<f64>| labels.into_iter().fold(0.0, f64::max);
        let count = rows.iter().map(|row| row.panels.len()).max().unwrap_or(1).max(1);
        let aspect = ASPECT[usize::from(count > 1)];
        // The labels depend on the size, and the size on the labels: those of a guess are about as wide.
        let guess = inner / count as f64 * 0.7;
        let beside = widest(rows.iter().map(|row| row.axis_beside(guess * aspect, em).label_width(em)).collect());
        let below = widest(rows.iter().map(|row| row.axis_below(guess, em).label_width(em)).collect());
        let (tick, half) = ((TICK + LABEL_GAP) * em, below / 2.0);
        let left = LINE * em + tick + beside;
        let bars = rows.iter().filter_map(|row| row.bar.as_ref());
        let right = widest(bars.map(|bar| bar.width(guess * aspect, em)).collect()).max(half);
        let gap = if count > 1 { (2.0 * half + 0.6 * em).max(em) } else { 0.0 };
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
