//! Parallel axes: a line for each combination of a grid's settings, through their values and the result.

use egui::{Align, Color32, Rect, Stroke, pos2};
use valleyscope_experiments::view::range::with_margin;
use valleyscope_experiments::view::{AxisScale, Background, Colormap, Dash};

use super::axis::{Axis, Parts, Side};
use super::canvas::{Canvas, LINE, rgb};
use super::curves::{CURVE_WIDTH, CurveAxis};
use super::scale::Mark;
use crate::runs::{GridResult, Value, positions_of, short_text};

/// The settings of a grid and its result as axes side by side.
#[derive(Clone, Debug)]
pub(crate) struct ParallelAxes {
    axes: Vec<Axis>,
    result: CurveAxis,
    /// Lines from the worst to the best: positions on the axes, and on that of the result.
    lines: Vec<(Vec<f64>, f64)>,
}

/// The width of the best line, in widths of the others.
const BEST_WIDTH: f32 = 2.5;

impl ParallelAxes {
    pub(crate) fn of(result: &GridResult) -> ParallelAxes {
        let rows = result.rows.iter().filter(|(_, result)| result.mean.is_finite());
        let rows: Vec<(&[Option<Value>], f64)> = rows.map(|(values, result)| (&values[..], result.mean)).collect();
        let is_positive = rows.iter().all(|(_, mean)| *mean > 0.0);
        let scale = if is_positive { AxisScale::Log } else { AxisScale::Linear };
        let ends = rows.iter().map(|(_, mean)| ([scale.position(*mean); 2], None)).collect::<Vec<_>>();
        let range = with_margin(&ends);
        let vertical = CurveAxis { label: result.result.title.clone(), scale, range };
        let mut axes = Vec::new();
        let mut at: Vec<Vec<f64>> = vec![Vec::new(); rows.len()];
        for (index, column) in result.varied.iter().enumerate() {
            let (values, places) = positions_of(rows.iter().filter_map(|(values, _)| values[index].as_ref()));
            let last = places.last().copied().filter(|last| *last > 0.0).unwrap_or(1.0);
            // Combinations without the setting are at the lower end, below its values.
            let place = |value: Option<&Value>| {
                let known = value.and_then(|value| values.iter().position(|other| other == value));
                known.map_or(0.0, |known| 0.06 + 0.9 * places[known] / last)
            };
            at.iter_mut().zip(&rows).for_each(|(at, (row, _))| at.push(place(row[index].as_ref())));
            let marks =
                values.iter().map(|value| Mark { position: place(Some(value)), label: short_text(column, value) });
            axes.push(Axis { label: column.word(), marks: marks.collect(), minor: Vec::new() });
        }
        let mut lines: Vec<(Vec<f64>, f64)> =
            at.into_iter().zip(&rows).map(|(at, (_, mean))| (at, vertical.part(scale.position(*mean)))).collect();
        lines.sort_by(|a, b| b.1.total_cmp(&a.1));
        ParallelAxes { axes, result: vertical, lines }
    }

    /// Draws the axes into an area, with their names above. The colour of a line shows the result.
    pub(crate) fn draw(&self, canvas: &Canvas, area: Rect) {
        let em = canvas.style.em;
        let panel = area.with_min_y(area.top() + 1.5 * LINE * em);
        let count = self.axes.len();
        let x = |index: usize| panel.left() + index as f32 / count.max(1) as f32 * panel.width();
        let y = |part: f64| panel.bottom() - part as f32 * panel.height();
        for (index, (at, result)) in self.lines.iter().enumerate() {
            let points = at.iter().chain([result]).enumerate().map(|(axis, part)| pos2(x(axis), y(*part)));
            let is_best = index + 1 == self.lines.len();
            let width = if is_best { BEST_WIDTH * CURVE_WIDTH } else { CURVE_WIDTH };
            let color = rgb(Colormap::default().rgb(0.9 * (1.0 - result)));
            canvas.lines(&[points.collect()], Stroke::new(width, color), Dash::Solid);
        }
        let result = self.result.at(Side::Right, panel.height(), em);
        for (index, axis) in self.axes.iter().chain([&result]).enumerate() {
            let line = Rect::from_min_max(pos2(x(index), panel.top()), pos2(x(index), panel.bottom()));
            if (1..count).contains(&index) {
                // The lines of the combinations are faint behind labels.
                let background =
                    if canvas.style.background == Background::Light { Color32::WHITE } else { Color32::BLACK };
                for label in axis.labels_at_left(canvas, line) {
                    canvas.painter.rect_filled(label, 0.0, background.gamma_multiply(0.85));
                }
            }
            canvas.line([line.center_top(), line.center_bottom()]);
            axis.draw(canvas, line, if index < count { Side::Left } else { Side::Right }, Parts::Both);
            let room = panel.width() / (count + 1) as f32;
            canvas.text_within(pos2(x(index), area.top() + 0.6 * LINE * em), Align::Center, room, &axis.label);
        }
    }

    /// The widths that the labels of the first and of the last axis need beyond the area.
    pub(crate) fn margins(&self, canvas: &Canvas, height: f32) -> [f32; 2] {
        let em = canvas.style.em;
        let result = self.result.at(Side::Right, height, em);
        let of = |axis: &Axis| axis.label_width(canvas).max(canvas.width(&axis.label) / 2.0) + em;
        [self.axes.first().map_or(0.0, of), of(&result)]
    }
}
