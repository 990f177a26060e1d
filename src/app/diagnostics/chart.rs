//! One small plot.

use egui::{Align2, Color32, FontId, Rect, Shape, Stroke, TextStyle, Ui, WidgetInfo, pos2, vec2};
use egui_plot::{FilledArea, Line, MarkerShape, Plot, PlotPoint, PlotPoints, Points, VLine};

use super::axis::AxisScale;
use super::curves::{CurvePoint, DiagnosticCurve, middle};
use super::metric::DiagnosticMetric;
use super::plot_frame::plot_frame;
use crate::simulation::Bucket;
use crate::view::range::{union, with_margin};
use crate::view::ticks::{grouped, significant};

/// What one ensemble contributes to a plot.
pub(super) struct ChartSeries<'a> {
    pub name: String,
    pub color: Color32,
    pub buckets: &'a [Bucket],
    pub curve: &'a DiagnosticCurve,
}

/// A plot to draw: what, on which axes, and from where to where, in places on the axes.
pub(super) struct Chart<'a> {
    pub metric: DiagnosticMetric,
    pub series: Vec<ChartSeries<'a>>,
    pub scales: [AxisScale; 2],
    pub x: [f64; 2],
    /// `None` suits what is in view.
    pub y: Option<[f64; 2]>,
    /// Where the pointer is, in this plot or another, as a place on the axis of steps.
    pub hover: Option<f64>,
}

/// What the user did to a plot.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Touched {
    pub x: Option<[f64; 2]>,
    pub y: Option<[f64; 2]>,
    pub reset: bool,
    pub hover: Option<f64>,
    /// Where the curves were drawn.
    pub frame: Option<Rect>,
}

impl Chart<'_> {
    /// The smallest range of places that shows the curves between the ends of the x axis. Curves that end
    /// in divergence don't count where others go on, nor does a minority that runs away: on their way out they
    /// would flatten the others.
    fn y_in_view(&self) -> [f64; 2] {
        let goes_on = |series: &&ChartSeries<'_>| series.curve.diverged.is_none() && series.curve.defined;
        let any_goes_on = self.series.iter().any(|series| goes_on(&series));
        let counting = self.series.iter().filter(|series| !any_goes_on || goes_on(series));
        let [from, to] = self.x;
        let visible = |point: &&CurvePoint| (from..=to).contains(&point.x);
        let extents: Vec<_> = counting
            .filter_map(|series| {
                let points = || series.curve.points().filter(visible);
                let mean = points().map(|point| point.envelope).reduce(union)?;
                Some((mean, points().filter_map(|point| point.band).reduce(union)))
            })
            .collect();
        with_margin(&extents)
    }

    /// Draws the plot into all of the available space.
    pub(super) fn show(&self, ui: &mut Ui) -> Touched {
        let size = ui.available_size();
        let y = self.y.unwrap_or_else(|| self.y_in_view());
        let font = TextStyle::Small.resolve(ui.style());
        let marks = [
            self.scales[0].marks(self.x[0], self.x[1], f64::from(size.x - 66.0) / (self.x[1] - self.x[0])),
            self.scales[1].marks(y[0], y[1], 1.3 * f64::from(size.y - 24.0) / (y[1] - y[0])),
        ];
        let plot = plot_frame(Plot::new(("diagnostics", self.metric.key())), ui, size, self.y.is_some(), &marks);
        let cursor = ui.visuals().weak_text_color();
        let shown = plot.show(ui, |plot| {
            plot.set_plot_bounds_x(self.x[0]..=self.x[1]);
            plot.set_plot_bounds_y(y[0]..=y[1]);
            self.draw(plot, y);
            if let Some(hover) = self.hover {
                plot.vline(VLine::new("pointer", hover).color(cursor).width(1.0).allow_hover(false));
            }
        });
        let mut touched = self.touched(ui, &shown, y);
        touched.frame = Some(*shown.transform.frame());
        self.mark_left(ui, &shown.transform, y, &font);
        self.annotate(ui, *shown.transform.frame(), &font);
        if let Some(hover) = touched.hover {
            self.tooltip(&shown.response, hover);
        }
        shown.response.widget_info(|| WidgetInfo {
            label: Some(format!("Plot of {}", self.metric.title())),
            current_text_value: Some(self.summary()),
            ..WidgetInfo::new(egui::Role::Figure)
        });
        touched
    }

    fn draw<'p>(&'p self, plot: &mut egui_plot::PlotUi<'p>, [bottom, top]: [f64; 2]) {
        // Far outside of the view it does not matter how far; pixels could not count that far.
        let far = 100.0 * (top - bottom);
        let near = |y: f64| y.clamp(bottom - far, top + far);
        for series in &self.series {
            for run in &series.curve.runs {
                let area = |ends: &dyn Fn(&CurvePoint) -> Option<[f64; 2]>, alpha: f32| {
                    let ends: Vec<_> = run.iter().filter_map(|point| Some((point.x, ends(point)?))).collect();
                    let x: Vec<f64> = ends.iter().map(|(x, _)| *x).collect();
                    let low: Vec<f64> = ends.iter().map(|(_, [low, _])| near(*low)).collect();
                    let high: Vec<f64> = ends.iter().map(|(_, [_, high])| near(*high)).collect();
                    let fill = series.color.gamma_multiply(alpha);
                    FilledArea::new(&series.name, &x, &low, &high).fill_color(fill).allow_hover(false)
                };
                plot.add(area(&|point| point.band, 0.18));
                plot.add(area(&|point| Some(point.envelope), 0.35));
            }
        }
        for series in &self.series {
            let dot =
                |at: [f64; 2]| Points::new(&series.name, [at[0], near(at[1])]).color(series.color).allow_hover(false);
            for run in &series.curve.runs {
                if let [only] = run.as_slice() {
                    plot.points(dot([only.x, only.y]).radius(2.5));
                } else {
                    let points: PlotPoints<'_> = run.iter().map(|point| [point.x, near(point.y)]).collect();
                    plot.line(Line::new(&series.name, points).color(series.color).width(1.6).allow_hover(false));
                }
            }
            if let (Some(_), Some(last)) = (series.curve.diverged, series.curve.points().last()) {
                plot.points(dot([last.x, last.y]).shape(MarkerShape::Cross).radius(5.0));
            }
            if let Some(at) = self.hover.and_then(|hover| nearest(series, hover)) {
                plot.points(dot(at).radius(3.0));
            }
        }
    }

    /// Reads off what the user did from where the plot ended up.
    fn touched(&self, ui: &Ui, shown: &egui_plot::PlotResponse<()>, y: [f64; 2]) -> Touched {
        let bounds = shown.transform.bounds();
        let moved = |now: [f64; 2], set: [f64; 2]| {
            let tolerance = 1e-9 * (set[1] - set[0]).abs();
            let differs = now.iter().zip(&set).any(|(now, set)| (now - set).abs() > tolerance);
            differs.then_some(now)
        };
        let acted = shown.response.dragged() || shown.response.drag_stopped() || ui.input(|i| i.zoom_delta() != 1.0);
        let mut touched = Touched { reset: shown.response.double_clicked(), ..Touched::default() };
        if acted {
            touched.x = moved([bounds.min()[0], bounds.max()[0]], self.x);
            touched.y = moved([bounds.min()[1], bounds.max()[1]], y);
        }
        if let Some(pointer) = shown.response.hover_pos() {
            let at = shown.transform.value_from_position(pointer).x;
            touched.hover = Some(at);
            let wheel = ui.input_mut(|input| std::mem::take(&mut input.smooth_scroll_delta).y);
            if wheel != 0.0 {
                let factor = (f64::from(-wheel) / 240.0).exp();
                touched.x = Some(self.x.map(|end| at + (end - at) * factor));
            }
        }
        touched
    }

    /// Marks the curves that leave the range chosen for the others: a small arrow where the first point lies
    /// outside, and the name.
    fn mark_left(&self, ui: &Ui, transform: &egui_plot::PlotTransform, [bottom, top]: [f64; 2], font: &FontId) {
        if self.y.is_some() {
            return;
        }
        let frame = *transform.frame();
        let painter = ui.painter().with_clip_rect(frame);
        let mut taken: Vec<Rect> = Vec::new();
        for series in &self.series {
            let in_view = |point: &&CurvePoint| (self.x[0]..=self.x[1]).contains(&point.x);
            let outside = |point: &&CurvePoint| !(bottom..=top).contains(&point.y);
            let Some(point) = series.curve.points().filter(in_view).find(outside) else { continue };
            let (edge, up) = if point.y > top { (frame.top() + 2.0, 1.0) } else { (frame.bottom() - 2.0, -1.0) };
            let name = painter.layout_no_wrap(series.name.clone(), font.clone(), series.color);
            let x = transform.position_from_point(&PlotPoint::new(point.x, point.y)).x;
            let size = vec2(12.0 + name.size().x, name.size().y);
            let left = x.min(frame.right() - size.x - 4.0).max(frame.left() + 4.0);
            let mut area = Rect::from_min_size(pos2(left, if up > 0.0 { edge } else { edge - size.y }), size);
            while taken.iter().any(|other| other.intersects(area)) && frame.contains_rect(area) {
                area = area.translate(vec2(0.0, up * size.y));
            }
            taken.push(area);
            let tip = pos2(area.left() + 4.0, area.center().y - up * 4.0);
            let corners = vec![tip, tip + vec2(4.0, up * 8.0), tip + vec2(-4.0, up * 8.0)];
            painter.add(Shape::convex_polygon(corners, series.color, Stroke::NONE));
            painter.galley(area.left_top() + vec2(12.0, 0.0), name, series.color);
        }
    }

    /// Says so where there is nothing to show.
    fn annotate(&self, ui: &Ui, frame: Rect, font: &FontId) {
        if self.series.iter().any(|series| series.curve.defined) {
            return;
        }
        let text = match self.metric {
            _ if self.series.is_empty() => "No optimizer is shown",
            DiagnosticMetric::FreeEnergy => "—\n3 particles or more, not all on a line",
            _ => "—",
        };
        let painter = ui.painter().with_clip_rect(frame);
        painter.text(frame.center(), Align2::CENTER_CENTER, text, font.clone(), ui.visuals().weak_text_color());
    }

    /// All optimizers' values at the pointer's step.
    fn tooltip(&self, response: &egui::Response, hover: f64) {
        let step = self.scales[0].value(hover).max(0.0);
        egui::Tooltip::for_widget(response).at_pointer().gap(14.0).show(|ui| {
            ui.set_max_width(420.0);
            ui.strong(format!("{}, step {}", self.metric.title(), grouped(step.round() as u64)));
            egui::Grid::new("values").num_columns(4).spacing([12.0, 2.0]).show(ui, |ui| {
                ui.label("");
                for heading in ["mean", "deviation", "min … max"] {
                    ui.weak(heading);
                }
                ui.end_row();
                for series in &self.series {
                    let Some(bucket) = nearest_bucket(series.buckets, step) else { continue };
                    let value = self.metric.value(bucket);
                    ui.horizontal(|ui| {
                        let (rect, _) = ui.allocate_exact_size(vec2(10.0, 10.0), egui::Sense::hover());
                        let middle = rect.center().y;
                        ui.painter().hline(rect.x_range(), middle, Stroke::new(3.0, series.color));
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
            });
            if self.series.iter().any(|series| series.buckets.iter().any(|bucket| bucket.steps > 1)) {
                ui.weak("Averaged over the steps that share a pixel.");
            }
        });
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
        self.series.iter().map(last).collect::<Vec<_>>().join(", ")
    }
}

/// The bucket that holds a step, or the nearest to it.
pub(super) fn nearest_bucket(buckets: &[Bucket], step: f64) -> Option<&Bucket> {
    let after = buckets.partition_point(|bucket| middle(bucket) < step);
    let candidates = [after.checked_sub(1), Some(after)].into_iter().flatten().filter_map(|index| buckets.get(index));
    candidates.min_by(|a, b| (middle(a) - step).abs().total_cmp(&(middle(b) - step).abs()))
}

/// The point of a curve nearest to a place on the axis of steps.
fn nearest(series: &ChartSeries<'_>, at: f64) -> Option<[f64; 2]> {
    let nearest = series.curve.points().min_by(|a, b| (a.x - at).abs().total_cmp(&(b.x - at).abs()));
    nearest.map(|point| [point.x, point.y])
}
