//! The chart of a metric.

use egui::{Align2, Color32, FontId, Rect, Sense, Stroke, TextStyle, Ui, pos2, vec2};
use egui_plot::{Plot, PlotPoint};
use valleyscope_engine::optimizer::MarkerShape;
use valleyscope_engine::simulation::Bucket;
use valleyscope_experiments::view::ticks::{grouped, significant};
use valleyscope_experiments::view::{AxisScale, Dash, DiagnosticInfo, DiagnosticMetric};

use crate::app::landscape::branches::{MarkedChanges, branch_curve_opacity};
use crate::app::widgets::plot::{
    CurveEnd, LeavingCurve, PlotAxis, PlotFrame, PlotPainter, ShownPlot, beyond, describe, readout,
};
use crate::app::widgets::theme::text_width;
use crate::draw::{CurvePoint, DiagnosticCurve, Part, middle, parts, range_in_view};

/// The width of curves, and of those of branches, in points.
const CURVE_WIDTH: f32 = 1.6;
const BRANCH_WIDTH: f32 = 1.1;

/// The lengths of the dashes and gaps of the line of a mark, in points.
const MARK_DASH: [f32; 2] = [4.0, 2.47];

/// The height of a strip above a plot that shows who is ahead, in heights of small letters.
pub(super) const STRIP: f32 = 1.3;
/// The height of the lowest plot that has a strip, in heights of small letters.
const LOWEST_WITH_STRIP: f32 = 2.0;
const STRIP_OPACITY: f32 = 0.3;
/// The space beside a caption in the strip, in points.
const CAPTION_GAP: f32 = 2.0;
/// The opacity of marks that do not hold.
const STALE: f32 = 0.4;

/// The distance from a mark within which the pointer is on it, in points.
const POINTED: f32 = 5.0;

/// The curve of an ensemble in a chart.
pub(super) struct ChartSeries<'a> {
    pub name: String,
    /// The name at the end of the curve.
    pub short_name: String,
    pub color: Color32,
    /// The dash pattern of its simulation among those side by side.
    pub dash: Dash,
    pub buckets: &'a [Bucket],
    pub curve: &'a DiagnosticCurve,
}

/// The curves of a branch in a chart.
pub(super) struct BranchSeries<'a> {
    pub label: &'a str,
    pub series: Vec<ChartSeries<'a>>,
}

/// A chart: its metric, curves and axes, with ranges in positions on the axes.
pub(super) struct Chart<'a> {
    pub metric: DiagnosticMetric,
    /// The metric's description on the landscape.
    pub info: &'a DiagnosticInfo,
    pub series: Vec<ChartSeries<'a>>,
    pub branches: Vec<BranchSeries<'a>>,
    pub scales: [AxisScale; 2],
    pub x: [f64; 2],
    /// The vertical range; `None` fits the curves in view.
    pub y: Option<[f64; 2]>,
    /// The vertical range before any step is taken.
    pub to_come: [f64; 2],
    /// The width beside the curves for their names; 0 without names.
    pub gutter: f32,
    /// Whether the fitted range holds all values.
    pub whole_range: bool,
    /// The pointer's position on the axis of steps, in this chart or another.
    pub hover: Option<f64>,
    /// The position of the shown step; `None` for the last one.
    pub cursor: Option<f64>,
    pub marks: Vec<&'a ChartMark>,
    /// The strips above the plot, one for each simulation: its letter among several, and who is ahead.
    pub strips: Vec<(String, Vec<ChartLead>)>,
}

/// An interval of steps in which an optimizer is ahead of all others, or some that are equally far, or none.
pub(super) struct ChartLead {
    pub names: Vec<String>,
    pub colors: Vec<Color32>,
    pub steps: [f64; 2],
    /// Its ends, as positions on the axis of steps.
    pub positions: [f64; 2],
}

impl ChartLead {
    /// Describes the interval, as in "Adam is ahead from step 1,310 to 2,000".
    fn description(&self) -> String {
        let [from, to] = self.steps.map(|step| grouped(step as u64));
        let who = match self.names.len() {
            0 => "No optimizer is clearly".to_owned(),
            1 => format!("{} is", self.names[0]),
            _ => format!("{} are", self.names.join(" and ")),
        };
        format!("{who} ahead from step {from} to {to}")
    }

    /// The caption in the strip of a simulation, whose letter ends the names among several.
    fn caption(&self, letter: &str) -> String {
        let names: Vec<&str> = self.names.iter().map(|name| name.strip_suffix(letter).unwrap_or(name)).collect();
        if names.is_empty() { "no clear leader".to_owned() } else { names.join(" ≈ ") }
    }
}

fn lead_at(leads: &[ChartLead], position: f64) -> Option<&ChartLead> {
    leads.iter().find(|lead| (lead.positions[0]..=lead.positions[1]).contains(&position))
}

/// The mark of changed settings on the axis of steps, or of a step that a lesson names.
pub(super) struct ChartMark {
    pub position: f64,
    /// The words that a lesson gives the step. The chart writes them beside the mark's line.
    pub label: Option<String>,
    /// False for a step that a lesson names for other settings than those of the run.
    pub holds: bool,
    pub marked: MarkedChanges,
}

pub(super) fn pointed_at<'a>(shown: &ShownPlot, marks: impl Iterator<Item = &'a ChartMark>) -> Option<&'a ChartMark> {
    let x_of = |position: f64| shown.transform.position_from_point(&PlotPoint::new(position, 0.0)).x;
    let pointer = x_of(shown.pointer?[0]);
    let distance = |mark: &ChartMark| (x_of(mark.position) - pointer).abs();
    let nearest = marks.min_by(|a, b| distance(a).total_cmp(&distance(b)))?;
    (distance(nearest) <= POINTED).then_some(nearest)
}

impl Chart<'_> {
    /// Draws the chart into all of the available space.
    pub(super) fn show(&self, ui: &mut Ui) -> ShownPlot {
        let all = self.series.iter().chain(self.branches.iter().flat_map(|branch| &branch.series));
        let curves = all.map(|series| series.curve);
        let has_steps = self.series.iter().flat_map(|series| series.buckets).any(|bucket| bucket.first_step > 0);
        let fitted = || match has_steps {
            true => range_in_view(curves, self.metric, self.scales[1], self.x, self.whole_range),
            false => self.to_come,
        };
        let y = self.y.unwrap_or_else(fitted);
        let mut size = ui.available_size() - vec2(self.gutter, 0.0);
        let font = TextStyle::Small.resolve(ui.style());
        let height = STRIP * font.size * self.strips.len() as f32;
        let has_strips = PlotFrame::area(size).y >= LOWEST_WITH_STRIP * font.size + height;
        if has_strips {
            ui.add_space(height);
            size.y -= height;
        }
        let [x_scale, y_scale] = self.scales;
        let frame = PlotFrame {
            axes: [PlotAxis::new(x_scale, self.x), PlotAxis::new(y_scale, y)],
            size,
            is_moved: [true, self.y.is_some()],
            pointer: self.hover,
        };
        // A line's width, in positions.
        let near = f64::from(CURVE_WIDTH / PlotFrame::area(frame.size).y.max(1.0)) * (y[1] - y[0]);
        let [mark, cursor] = [ui.visuals().warn_fg_color, ui.visuals().strong_text_color()];
        let (named, opacity) = (ui.visuals().hyperlink_color, branch_curve_opacity(ui.visuals()));
        let shown = frame.show(ui, Plot::new(("diagnostics", self.metric.key())), |plot| {
            for ChartMark { position, label, holds, marked } in &self.marks {
                let color = match (label, holds) {
                    (None, _) => mark.gamma_multiply(0.8),
                    (_, true) => named,
                    (_, false) => named.gamma_multiply(STALE),
                };
                plot.dashes(&plot.upright(*position), Stroke::new(1.0, color), MARK_DASH);
                if marked.is_muted() {
                    // Struck out.
                    let high = y[1] - 0.06 * (y[1] - y[0]);
                    plot.point([*position, high], MarkerShape::Cross, 5.0, cursor);
                }
            }
            self.draw_branches(plot, opacity);
            self.draw(plot, near);
            self.labels(plot, y, cursor);
            if let Some(position) = self.cursor {
                plot.line(&plot.upright(position), Stroke::new(1.5, cursor), Dash::Solid);
            }
        });
        if has_strips {
            for row in 0..self.strips.len() {
                self.strip(ui, &shown, &font, row);
            }
        }
        if self.gutter > 0.0 && PlotFrame::area(size).y > 1.7 * font.size {
            let ends = self.series.iter().filter_map(|series| self.end(series, y));
            shown.name_ends(ui, self.gutter, &ends.collect::<Vec<_>>());
        }
        if self.y.is_none() {
            shown.mark_leaving(ui, y[1], self.series.iter().filter_map(|series| self.leaving(series, y)));
        }
        if !self.series.iter().any(|series| series.curve.defined) {
            let text = match self.metric {
                _ if self.series.is_empty() => "No optimizer is shown",
                DiagnosticMetric::FreeEnergy => "Needs 3 particles or more,\nnot all on a line",
                _ if !has_steps => "No step\nwas taken yet",
                _ => "No finite values",
            };
            shown.note(ui, text);
        }
        if let Some([pointer, _]) = shown.pointer {
            self.tooltip(&shown.response, pointer, pointed_at(&shown, self.marks.iter().copied()));
        }
        describe(&shown.response, &format!("Plot of {}", self.info.title), || self.summary());
        shown
    }

    /// Writes the words of marks next to their lines, on the side with more room, at the top or at the bottom of the
    /// plot: where the curves are further away. Neighbours are in different lines. Words without enough room are left
    /// out, as the timeline has them, too.
    fn labels(&self, plot: &PlotPainter, y: [f64; 2], color: Color32) {
        let labelled = self.marks.iter().filter_map(|mark| Some((*mark, mark.label.as_deref()?)));
        let middle = 0.5 * (self.x[0] + self.x[1]);
        let is_low = self.is_low_near(labelled.clone().map(|(mark, _)| mark.position), y);
        for (index, (mark, label)) in labelled.enumerate() {
            let (position, opacity) = (mark.position, if mark.holds { 1.0 } else { STALE });
            let is_right = position > middle;
            let ends = [position, if is_right { self.x[0] } else { self.x[1] }];
            let [from, to] = ends.map(|end| plot.at([end, y[0]]).x);
            if plot.width(label) > (to - from).abs() {
                continue;
            }
            let lines = "\n".repeat(index % 3);
            let caption = if is_right { format!("{label} ") } else { format!(" {label}") };
            let (caption, height) = match is_low {
                true => (format!("{lines}{caption}"), y[1]),
                false => (format!("{caption}{lines}"), y[0]),
            };
            let anchor = match [is_right, is_low] {
                [true, true] => Align2::RIGHT_TOP,
                [false, true] => Align2::LEFT_TOP,
                [true, false] => Align2::RIGHT_BOTTOM,
                [false, false] => Align2::LEFT_BOTTOM,
            };
            plot.text([position, height], anchor, &caption, color.gamma_multiply(opacity));
        }
    }

    /// Draws a strip above a plot, in the colours of those who are ahead, with the captions that fit.
    fn strip(&self, ui: &mut Ui, shown: &ShownPlot, font: &FontId, row: usize) {
        let (frame, (letter, leads)) = (*shown.transform.frame(), &self.strips[row]);
        let bottom = frame.top() - STRIP * font.size * (self.strips.len() - 1 - row) as f32 - 1.0;
        let area = Rect::from_x_y_ranges(frame.x_range(), bottom + 1.0 - STRIP * font.size..=bottom);
        let (painter, neutral) = (ui.painter(), ui.visuals().text_color());
        // The label of the topmost tick is below.
        let heading = area.left_center() - vec2(4.0, 1.5);
        let weak = ui.visuals().weak_text_color();
        painter.text(heading, Align2::RIGHT_CENTER, format!("best L{letter}"), font.clone(), weak);
        for lead in leads {
            let x_of = |position: f64| shown.transform.position_from_point(&PlotPoint::new(position, 0.0)).x;
            let [from, to] = lead.positions.map(|position| area.x_range().clamp(x_of(position)));
            let none = [neutral.gamma_multiply(0.5)];
            let colors = if lead.colors.is_empty() { &none[..] } else { &lead.colors[..] };
            let height = area.height() / colors.len() as f32;
            for (color, row) in colors.iter().zip(0_u8..) {
                let top = area.top() + height * f32::from(row);
                let part = Rect::from_x_y_ranges(from..=to, top..=top + height);
                painter.rect_filled(part, 0.0, color.gamma_multiply(STRIP_OPACITY));
            }
            let (caption, center) = (lead.caption(letter), pos2(0.5 * (from + to), area.center().y));
            if text_width(ui, font, &caption) + CAPTION_GAP < to - from {
                painter.text(center, Align2::CENTER_CENTER, caption, font.clone(), ui.visuals().strong_text_color());
            }
        }
        let strip = ui.interact(area, shown.response.id.with(("best", row)), Sense::hover());
        if let Some(at) = strip.hover_pos() {
            let at = shown.transform.value_from_position(at).x;
            if let Some(lead) = lead_at(leads, at) {
                strip.on_hover_text(format!("{} (lowest mean loss).", lead.description()));
            }
        }
    }

    /// Returns where the curve of a series ends in view, if it does, for its name.
    fn end(&self, series: &ChartSeries<'_>, [bottom, top]: [f64; 2]) -> Option<CurveEnd> {
        let [from, to] = self.x;
        let last = series.curve.points().take_while(|point| point.x <= to).last()?;
        let is_in_view = last.x >= from && (bottom..=top).contains(&last.y);
        let name = series.short_name.clone();
        is_in_view.then_some(CurveEnd { name, color: series.color, end: [last.x, last.y] })
    }

    /// Returns whether the curves are in the lower half of the plot near these positions.
    fn is_low_near(&self, positions: impl Iterator<Item = f64>, [low, high]: [f64; 2]) -> bool {
        let heights = positions.flat_map(|at| self.series.iter().filter_map(move |series| nearest(series.curve, at)));
        let heights: Vec<f64> = heights.map(|[_, height]| height.clamp(low, high)).collect();
        heights.iter().sum::<f64>() <= 0.5 * (low + high) * heights.len() as f64
    }

    /// Draws the curves; one within `near` of another is dashed there.
    fn draw(&self, plot: &PlotPainter, near: f64) {
        for series in &self.series {
            for run in &series.curve.runs {
                let ends = |of: fn(&CurvePoint) -> Option<[f64; 2]>| {
                    run.iter().filter_map(move |point| of(point).map(|[low, high]| [point.x, low, high]))
                };
                plot.band(ends(|point| point.band), series.color.gamma_multiply(0.18));
                plot.band(ends(|point| Some(point.envelope)), series.color.gamma_multiply(0.35));
            }
        }
        let is_side_by_side = self.series.iter().any(|series| series.dash != Dash::Solid);
        let lines: Vec<Vec<Vec<[f64; 2]>>> = self.series.iter().map(|series| series.curve.line()).collect();
        for (index, ChartSeries { color, curve, dash: own_dash, .. }) in self.series.iter().enumerate() {
            let stroke = Stroke::new(CURVE_WIDTH, *color);
            // Dashes distinguish simulations side by side.
            let below = if is_side_by_side { 0..0 } else { 0..index };
            let below: Vec<&[Vec<[f64; 2]>]> = below.map(|other| lines[other].as_slice()).collect();
            for run in &lines[index] {
                if let [only] = run[..] {
                    plot.point(only, MarkerShape::Circle, 2.5, *color);
                }
                if *own_dash != Dash::Solid {
                    plot.line(run, stroke, *own_dash);
                    continue;
                }
                for Part { points, dash } in parts(run, &below, near) {
                    match dash {
                        None => plot.line(&run[points], stroke, Dash::Solid),
                        Some(length) => plot.dashes(&run[points], stroke, [length; 2]),
                    }
                }
            }
            if let (Some(_), Some(last)) = (curve.diverged, curve.points().last()) {
                plot.point([last.x, last.y], MarkerShape::Cross, 5.0, *color);
            }
            for position in [self.hover, self.cursor].into_iter().flatten() {
                if let Some(at) = nearest(curve, position) {
                    plot.point(at, MarkerShape::Circle, 3.0, *color);
                }
            }
        }
    }

    /// Draws the curves of the branches.
    fn draw_branches(&self, plot: &PlotPainter, opacity: f32) {
        for ChartSeries { color, curve, .. } in self.branches.iter().flat_map(|branch| &branch.series) {
            let color = color.gamma_multiply(opacity);
            curve.line().iter().for_each(|run| plot.line(run, Stroke::new(BRANCH_WIDTH, color), Dash::Solid));
            if let Some(at) = self.hover.or(self.cursor).and_then(|position| nearest(curve, position)) {
                plot.point(at, MarkerShape::Circle, 2.0, color);
            }
        }
    }

    /// Returns the point where a curve leaves the view, if it does.
    fn leaving(&self, series: &ChartSeries<'_>, [bottom, top]: [f64; 2]) -> Option<LeavingCurve> {
        let mut in_view = series.curve.points().filter(|point| (self.x[0]..=self.x[1]).contains(&point.x));
        let first = in_view.find(|point| !(bottom..=top).contains(&point.y))?;
        let seen = series.curve.points().filter(|point| (self.x[0]..=self.x[1]).contains(&point.x));
        let step = |position: f64| format!("step {}", grouped(self.scales[0].value(position).max(0.0).round() as u64));
        let beyond = beyond(seen.map(|point| [point.x, point.y]), [bottom, top], self.scales[1], step);
        let (name, color) = (series.name.clone(), series.color);
        Some(LeavingCurve { name, color, first: [first.x, first.y], beyond })
    }

    /// Shows all optimizers' values at the pointer's step, and the changes of a mark at the pointer.
    fn tooltip(&self, response: &egui::Response, hover: f64, mark: Option<&ChartMark>) {
        let step = self.scales[0].value(hover).max(0.0);
        let title = format!("{}, step {}", self.info.title, grouped(step.round() as u64));
        let is_averaged = self.series.iter().any(|series| series.buckets.iter().any(|bucket| bucket.steps > 1));
        let averaged = is_averaged.then(|| "Averaged over the steps that share a pixel.".to_owned());
        let changes = mark.map(|mark| mark.marked.hint());
        let ahead =
            self.strips.iter().filter_map(|(_, leads)| Some(format!("{}.", lead_at(leads, hover)?.description())));
        let notes: Vec<String> = changes.into_iter().chain(ahead).chain(averaged).collect();
        let note = (!notes.is_empty()).then(|| notes.join("\n"));
        readout(response, &title, note.as_deref(), |ui| {
            ui.label("");
            for heading in ["mean", "deviation", "min … max"] {
                ui.weak(heading);
            }
            ui.end_row();
            self.series.iter().for_each(|series| self.tooltip_row(ui, series, series.color, step));
            for BranchSeries { label, series } in &self.branches {
                // As many rows as optimizers; the branch has no values before the step at which it begins.
                let reaches =
                    |series: &ChartSeries<'_>| series.buckets.first().is_some_and(|it| it.first_step as f64 <= step);
                if series.iter().any(reaches) {
                    ui.weak(*label);
                    ui.end_row();
                    let opacity = branch_curve_opacity(ui.visuals());
                    let color = |series: &ChartSeries<'_>| series.color.gamma_multiply(opacity);
                    series.iter().for_each(|series| self.tooltip_row(ui, series, color(series), step));
                }
            }
        });
    }

    /// Shows an optimizer's values at a step.
    fn tooltip_row(&self, ui: &mut Ui, series: &ChartSeries<'_>, color: Color32, step: f64) {
        let Some(bucket) = nearest_bucket(series.buckets, step) else { return };
        let value = self.metric.value(bucket);
        ui.horizontal(|ui| {
            let (rect, _) = ui.allocate_exact_size(vec2(10.0, 10.0), Sense::hover());
            ui.painter().hline(rect.x_range(), rect.center().y, Stroke::new(3.0, color));
            ui.label(&series.name);
        });
        let text = |value: f64| if value.is_nan() { "—".to_owned() } else { significant(value, 4) };
        ui.label(text(value.mean));
        ui.label(text(value.std));
        let ends = format!("{} … {}", text(value.min), text(value.max));
        ui.label(if value.min.is_nan() { "—".to_owned() } else { ends });
        if bucket.diverged > 0 {
            ui.label(format!("✗ {}", bucket.diverged));
        }
        ui.end_row();
    }

    fn summary(&self) -> String {
        let last = |series: &ChartSeries<'_>| {
            let value = series.buckets.last().map(|bucket| self.metric.value(bucket).mean);
            let text = match value {
                Some(value) if value.is_finite() => significant(value, 4),
                _ => "—".to_owned(),
            };
            format!("{} {text}", series.name)
        };
        let list = |series: &[ChartSeries<'_>]| series.iter().map(last).collect::<Vec<_>>().join(", ");
        let branches = self.branches.iter().map(|branch| format!("{}: {}", branch.label, list(&branch.series)));
        let leads = self.strips.iter().flat_map(|(_, leads)| leads).map(ChartLead::description);
        std::iter::once(list(&self.series)).chain(branches).chain(leads).collect::<Vec<_>>().join("; ")
    }
}

/// Returns the bucket that holds a step, or the nearest one.
pub(super) fn nearest_bucket(buckets: &[Bucket], step: f64) -> Option<&Bucket> {
    let after = buckets.partition_point(|bucket| middle(bucket) < step);
    let candidates = [after.checked_sub(1), Some(after)].into_iter().flatten().filter_map(|index| buckets.get(index));
    candidates.min_by(|a, b| (middle(a) - step).abs().total_cmp(&(middle(b) - step).abs()))
}

/// Returns the point of a curve nearest to a position on the axis of steps.
fn nearest(curve: &DiagnosticCurve, at: f64) -> Option<[f64; 2]> {
    let nearest = curve.points().min_by(|a, b| (a.x - at).abs().total_cmp(&(b.x - at).abs()));
    nearest.map(|point| [point.x, point.y])
}

#[cfg(test)]
mod tests {
    use super::ChartLead;

    #[test]
    fn an_interval_says_who_is_ahead_or_that_nobody_is() {
        let of = |names: &[&str]| ChartLead {
            names: names.iter().map(|name| (*name).to_owned()).collect(),
            colors: Vec::new(),
            steps: [10.0, 1200.0],
            positions: [10.0, 1201.0],
        };
        let both = of(&["Signum", "FOCUS"]);
        assert_eq!(both.description(), "Signum and FOCUS are ahead from step 10 to 1\u{2009}200");
        assert_eq!(both.caption(""), "Signum ≈ FOCUS");
        assert_eq!(of(&["Adam A", "Signum A"]).caption(" A"), "Adam ≈ Signum");
        assert_eq!(of(&["Adam"]).caption(""), "Adam");
        assert!(of(&[]).description().starts_with("No optimizer is clearly ahead"));
        assert_eq!(of(&[]).caption(""), "no clear leader");
    }
}
