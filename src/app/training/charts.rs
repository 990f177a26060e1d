//! The plots of the selected runs.

use std::sync::Arc;

use egui::{Button, ComboBox, Label, RichText, ScrollArea, Slider, Stroke, Ui, vec2};
use egui_plot::Plot;
use serde::{Deserialize, Serialize};
use valleyscope_experiments::view::range::{Ceiling, across};
use valleyscope_experiments::view::{AxisScale, range};
use valleyscope_runs::{Better, MetricId, MetricInfo, MetricScale, Unit};

use super::curves::{self, ChartCurve, CurveCache, CurveCanvas, PlotExport};
use super::legend::{LegendResponse, TimeToLoss, last_value, legend, tooltip};
use super::names::{NamedCurves, color};
use super::plotter::union;
use super::track::{Horizontal, Track, TrackView};
use crate::app::widgets::form::{Outlined, check_box, stays_open};
use crate::app::widgets::number as text;
use crate::app::widgets::number::TypedField;
use crate::app::widgets::plot::{
    CurveEnd, LeavingCurve, PlotAxis, PlotFrame, PlotPainter, ShownPlot, Zoom, beyond, describe, names_width,
};
use crate::draw::{Fit, differ_without_settings, metric_scale, short_name, y_in_view};
use crate::gpu::CurveSet;
use crate::runs::{MetricAliases, proposals};

/// The smallest width of each of several plots in a row, in points.
const NARROWEST: f32 = 330.0;
const LOWEST: f32 = 150.0;
/// The opacity of the other curves while an entry of the legend is pointed at.
const DIM: f32 = 0.15;
const MENU_HEIGHT: f32 = 420.0;
/// The lengths of the dashes and gaps of the line of a level, in points.
const LEVEL_DASH: [f32; 2] = [10.0, 6.18];

#[derive(Default)]
pub(super) struct Charts {
    pub choices: Choices,
    /// Whether they are shown in a presentation, without buttons of the speaker.
    pub is_presented: bool,
    zoom: Zoom<MetricId>,
    hover: Option<f64>,
    time_to_loss: TimeToLoss,
    cache: CurveCache,
    /// The curve whose entry in the legend is pointed at.
    pointed: Option<usize>,
    /// The names under which metrics are shown.
    pub aliases: Arc<MetricAliases>,
    /// A metric to be shown under another name; `None` restores its own.
    pub renamed: Option<(String, Option<String>)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ChartAction {
    Differences,
    Export,
    /// Sets the colour of the curve of this index; `None` restores its usual one.
    Color(usize, Option<[u8; 3]>),
}

impl Charts {
    pub(super) fn reset_view(&mut self) {
        self.zoom.reset();
    }

    pub(super) fn ui(&mut self, ui: &mut Ui, groups: &[NamedCurves<'_>], note: Option<&str>) -> Option<ChartAction> {
        let mut asked = self.toolbar(ui, groups);
        if let Some(note) = note {
            ui.label(RichText::new(note).small().weak());
        }
        let LegendResponse { chosen, pointed } = legend(ui, groups);
        self.pointed = pointed;
        asked = chosen.map(|(curve, color)| ChartAction::Color(curve, color)).or(asked);
        self.time_to_loss.ui(ui, groups, &offered(groups));
        let shown = self.shown(groups);
        self.grid(ui, groups, &shown);
        asked
    }

    /// Returns the chosen metrics of those that the runs log.
    pub(super) fn shown(&self, groups: &[NamedCurves<'_>]) -> Vec<MetricInfo> {
        offered(groups).into_iter().filter(|info| self.choices.shows(info)).collect()
    }

    pub(super) fn plots(&self, groups: &[NamedCurves<'_>]) -> Vec<PlotExport> {
        /// The number of columns for a printed figure: more than a printer shows in a column of a journal.
        const COLUMNS: usize = 1500;
        let shown = self.shown(groups);
        let x = self.zoom.x.unwrap_or_else(|| self.everything(groups, &shown));
        let plot = |info: MetricInfo| {
            let scales = [self.choices.x_scale(), self.choices.scale(&info)];
            let metric = info.metric();
            let tracks = groups.iter().enumerate();
            let tracks =
                tracks.filter_map(|(index, group)| Some((index, Arc::clone(group.drawn.tracks.get(&metric?)?))));
            PlotExport {
                view: TrackView { horizontal: self.choices.horizontal, scales, x, columns: COLUMNS },
                y: metric.and_then(|metric| self.zoom.y.get(&metric).copied()),
                fit: self.fit(groups, &info),
                tracks: tracks.collect(),
                info,
            }
        };
        shown.into_iter().map(plot).filter(|plot| !plot.tracks.is_empty()).collect()
    }

    fn toolbar(&mut self, ui: &mut Ui, groups: &[NamedCurves<'_>]) -> Option<ChartAction> {
        let mut asked = None;
        ui.horizontal_wrapped(|ui| {
            stays_open("Plots").ui(ui, |ui| {
                ScrollArea::vertical().max_height(MENU_HEIGHT).show(ui, |ui| {
                    let mut group = String::new();
                    for info in offered(groups) {
                        if info.group() != group && !info.group().is_empty() {
                            info.group().clone_into(&mut group);
                            ui.label(RichText::new(&group).small().weak());
                        }
                        let mut shown = self.choices.shows(&info);
                        if check_box(ui, &mut shown, &info.title).changed() {
                            Choices::toggle(&mut self.choices.toggled, &info);
                        }
                    }
                });
            });
            self.log_axes(ui, groups);
            let horizontal = self.choices.horizontal;
            let combo = ComboBox::from_id_salt("horizontal axis").selected_text(format!("over {}", horizontal.name()));
            let shown = combo.show_ui(ui, |ui| {
                for choice in Horizontal::ALL {
                    ui.selectable_value(&mut self.choices.horizontal, choice, choice.name());
                }
            });
            shown.response.accessible_name("Horizontal axis");
            if horizontal != self.choices.horizontal {
                self.zoom.x = None;
            }
            let help = "Exponential smoothing over all points; the raw curve stays visible, faint";
            ui.label("Smoothing").on_hover_text(help);
            ui.spacing_mut().slider_width = 80.0;
            let slider = Slider::new(&mut self.choices.smoothing, 0.0..=Choices::MOST_SMOOTHING).show_value(false);
            ui.add(slider.max_decimals(3)).on_hover_text(help).accessible_name("Smoothing");
            let field = TypedField { name: "Smoothing, number", width: 40.0 };
            let typed = field.show(ui, &text::text(self.choices.smoothing), smoothing);
            self.choices.smoothing = typed.entered.unwrap_or(self.choices.smoothing);
            check_box(ui, &mut self.choices.grouped, "Group replicates").on_hover_text(
                "Show runs that differ only in the seed as one mean curve, with a deviation on both \
                                sides",
            );
            ui.toggle_value(&mut self.time_to_loss.is_open, "Reaching a loss")
                .on_hover_text("Compare the steps and times at which the runs reach a loss");
            ui.toggle_value(&mut self.choices.whole_range, "Whole range")
                .on_hover_text("Extend the vertical axes to the values of diverged runs");
            if ui.add_enabled(self.zoom.is_zoomed(), Button::new("Reset zoom")).clicked() {
                self.reset_view();
            }
            if self.is_presented {
                return;
            }
            if ui.button("Export…").accessible_name("Export the runs").clicked() {
                asked = Some(ChartAction::Export);
            }
            let runs: usize = groups.iter().map(|group| group.drawn.runs.len()).sum();
            let differences = ui.add_enabled(runs > 1, Button::new("Differences"));
            let differences = differences.on_hover_text("List the settings in which the shown runs differ");
            if differences.on_disabled_hover_text("Choose two runs or more.").clicked() {
                asked = Some(ChartAction::Differences);
            }
        });
        asked
    }

    fn log_axes(&mut self, ui: &mut Ui, groups: &[NamedCurves<'_>]) {
        stays_open("Log axes").ui(ui, |ui| {
            let can = self.choices.horizontal != Horizontal::Clock;
            if ui.add_enabled(can, Outlined(egui::Checkbox::new(&mut self.choices.log_x, "Horizontal axis"))).changed()
            {
                self.zoom.x = None;
            }
            ui.separator();
            for info in offered(groups) {
                let mut log = self.choices.scale(&info) == AxisScale::Log;
                if check_box(ui, &mut log, &info.title).changed() {
                    self.rescale(&info);
                }
            }
        });
    }

    /// Shows the plots of metrics.
    pub(super) fn grid(&mut self, ui: &mut Ui, groups: &[NamedCurves<'_>], shown: &[MetricInfo]) {
        if shown.is_empty() {
            ui.weak("No plot is chosen. Choose some under “Plots”.");
            return;
        }
        let size = ui.available_size();
        let most = ((size.x / NARROWEST) as usize).clamp(1, shown.len().min(3));
        let rows = shown.len().div_ceil(most);
        // Four plots are two by two, even where three fit in a row.
        let columns = shown.len().div_ceil(rows);
        let gap = ui.spacing().item_spacing;
        let cell = vec2(
            (size.x - gap.x * columns as f32) / columns as f32,
            ((size.y - gap.y * (rows + 1) as f32) / rows as f32).max(LOWEST),
        );
        let whole = self.everything(groups, shown);
        let hover = self.hover.take();
        self.cache.retain(&shown.iter().filter_map(MetricInfo::metric).collect::<Vec<_>>());
        ScrollArea::vertical().auto_shrink(false).show(ui, |ui| {
            for row in shown.chunks(columns) {
                ui.horizontal(|ui| {
                    for info in row {
                        let layout = egui::Layout::top_down(egui::Align::Min);
                        ui.allocate_ui_with_layout(cell, layout, |ui| {
                            ui.set_min_size(cell);
                            self.chart(ui, groups, info, whole, hover);
                        });
                    }
                });
            }
        });
        if self.hover != hover {
            ui.ctx().request_repaint();
        }
    }

    fn everything(&self, groups: &[NamedCurves<'_>], shown: &[MetricInfo]) -> [f64; 2] {
        let tracks =
            groups.iter().flat_map(|group| shown.iter().filter_map(|info| group.drawn.tracks.get(&info.metric()?)));
        let reaches = tracks.filter_map(|track| track.reach(self.choices.horizontal, self.choices.x_scale()));
        across(reaches.reduce(range::union))
    }

    fn chart(
        &mut self,
        ui: &mut Ui,
        groups: &[NamedCurves<'_>],
        info: &MetricInfo,
        whole: [f64; 2],
        hover: Option<f64>,
    ) {
        let Some(metric) = info.metric() else { return };
        let x = self.zoom.x.unwrap_or(whole);
        let scales = [self.choices.x_scale(), self.choices.scale(info)];
        let horizontal = self.choices.horizontal;
        let names: Vec<String> = groups.iter().map(|group| group.name.whole()).collect();
        let is_short = differ_without_settings(names.iter().map(String::as_str));
        let names = names.iter().map(|name| at_end(name, is_short));
        let gutter = names_width(ui, names, ui.available_width());
        let columns = (ui.available_width() - gutter - 60.0).max(50.0) as usize;
        let view = TrackView { horizontal, scales, x, columns };
        let y = self.zoom.y.get(&metric).copied();
        let level = self.time_to_loss.level(metric);
        let fit = self.fit(groups, info);
        let curves = self.curves(groups, metric, view);
        let chart = Chart { info, view, y, fit, curves, level, hover, gutter, is_short };
        self.title(ui, groups, info);
        let shown = chart.show(ui, &mut self.cache, metric);
        if chart.curves.is_empty() {
            let is_measured = groups.iter().any(|group| group.drawn.tracks.contains_key(&metric));
            match (groups.is_empty(), is_measured) {
                (true, _) => shown.note(ui, "No data so far"),
                (false, false) => shown.note(ui, "Not measured so far"),
                (false, true) => shown.note(ui, &format!("Not available over {}", horizontal.name())),
            }
        }
        self.hover = shown.pointer.map(|[x, _]| x).or(self.hover);
        let least = if scales[0] == AxisScale::Log { 1e-3 } else { 1e-6 * (whole[1] - whole[0]) };
        self.zoom.apply(metric, shown.gesture, whole, least);
    }

    /// Shows a plot's title, the switch of its axis, and the metrics that are shown together with it.
    fn title(&mut self, ui: &mut Ui, groups: &[NamedCurves<'_>], info: &MetricInfo) {
        let mut log = self.choices.scale(info) == AxisScale::Log;
        let title = format!("{} over {}", info.title, self.choices.horizontal.name());
        ui.horizontal(|ui| {
            ui.spacing_mut().interact_size.y = 0.0;
            ui.spacing_mut().button_padding.y = 0.0;
            ui.add(Label::new(RichText::new(title).small().weak()).truncate());
            let switch = ui.toggle_value(&mut log, RichText::new("log").small()).on_hover_text("Logarithmic axis");
            if switch.accessible_name(format!("Logarithmic axis of {}", info.title)).changed() {
                self.rescale(info);
            }
            self.together(ui, groups, info);
        });
    }

    /// Shows the menu of the metrics of other runs that can be shown in the same plot, and of those that are.
    fn together(&mut self, ui: &mut Ui, groups: &[NamedCurves<'_>], info: &MetricInfo) {
        let all = offered(groups);
        let runs: Vec<&[MetricInfo]> = groups.iter().map(|group| &group.drawn.metrics[..]).collect();
        let proposed = proposals(info, &all, &runs);
        let aliases = Arc::clone(&self.aliases);
        let present: Vec<&str> = aliases.shown_as(&info.name).collect();
        if proposed.is_empty() && present.is_empty() {
            return;
        }
        let text = if present.is_empty() { "with…".to_owned() } else { format!("with {}", present.join(", ")) };
        let menu = ui.menu_button(RichText::new(text).small(), |ui| {
            if !proposed.is_empty() {
                ui.label(RichText::new(format!("Show {} together with…", info.title)).small().weak());
            }
            for other in proposed {
                let button = ui.button(&other.title).on_hover_text(format!("Logged as {}", other.name));
                if button.accessible_name(format!("Show {} together with {}", info.name, other.name)).clicked() {
                    self.renamed = Some((info.name.clone(), Some(other.name.clone())));
                    ui.close();
                }
            }
            for name in present {
                if ui.button(format!("Show {name} in its own plot")).clicked() {
                    self.renamed = Some((name.to_owned(), None));
                    ui.close();
                }
            }
        });
        let help = "Show metrics that runs log under several names in one plot and one column";
        menu.response.on_hover_text(help).accessible_name(format!("Show {} together with…", info.title));
    }

    fn rescale(&mut self, info: &MetricInfo) {
        Choices::toggle(&mut self.choices.rescaled, info);
        info.metric().and_then(|metric| self.zoom.y.remove(&metric));
    }

    /// Chooses the vertical range of a plot that is not zoomed.
    fn fit(&self, groups: &[NamedCurves<'_>], info: &MetricInfo) -> Fit {
        if self.choices.whole_range {
            return Fit::Everything;
        }
        let scale = self.choices.scale(info);
        let of = |group: &NamedCurves<'_>, metric| group.drawn.tracks.get(&metric)?.initial();
        let own = || groups.iter().filter_map(|group| of(group, info.metric()?));
        let ceiling = match (info.better, &info.unit) {
            // The first training loss precedes the first evaluation, mostly before a divergence.
            (Better::Lower, _) if info.name.contains("loss") => {
                let initial = groups.iter().filter_map(|group| of(group, MetricId::LOSS));
                Ceiling::of_losses(initial, scale).or_else(|| Ceiling::of_losses(own(), scale))
            }
            (_, Unit::Plain) => Ceiling::of_sizes(own(), scale),
            _ => None,
        };
        Fit::Sensible(ceiling, scale)
    }

    fn curves<'a>(&mut self, groups: &'a [NamedCurves<'_>], metric: MetricId, view: TrackView) -> Vec<ChartCurve<'a>> {
        // Only runs on text have positions over tokens.
        let has_place = |track: &Track| track.len() == 0 || track.reach(view.horizontal, view.scales[0]).is_some();
        let tracks = groups.iter().filter_map(|group| Some((group, group.drawn.tracks.get(&metric)?)));
        let (drawn, tracks): (Vec<_>, Vec<_>) = tracks.filter(|(_, track)| has_place(track)).unzip();
        let lines = self.cache.lines(metric, &tracks, view);
        let curves = drawn.into_iter().zip(tracks).zip(lines);
        let pointed = self.pointed.and_then(|index| groups.get(index));
        let is_dim = |group: &NamedCurves<'_>| pointed.is_some_and(|pointed| !std::ptr::eq(pointed, group));
        let curve = |((group, track), lines)| ChartCurve {
            group,
            track,
            lines,
            opacity: if is_dim(group) { DIM } else { 1.0 },
        };
        let mut curves: Vec<ChartCurve<'a>> = curves.map(curve).collect();
        // The points that forks share with other runs are drawn below the others' curves, and all below the curve that
        // is pointed at.
        let is_pointed = |curve: &ChartCurve<'_>| pointed.is_some_and(|pointed| std::ptr::eq(pointed, curve.group));
        curves.sort_by_key(|curve| (is_pointed(curve), curve.lines.fork.is_none()));
        curves
    }
}

fn smoothing(typed: &str) -> Result<f64, String> {
    let (value, most) = (text::read(typed)?, Choices::MOST_SMOOTHING);
    let refused = || format!("Smoothing must be a number from 0 to {most}, found {value}");
    (0.0..=most).contains(&value).then_some(value).ok_or_else(refused)
}

/// Lists the metrics that the runs log; without runs, the usual ones.
fn offered(groups: &[NamedCurves<'_>]) -> Vec<MetricInfo> {
    let offered = union(groups.iter().map(|group| &group.drawn.metrics[..]));
    if offered.is_empty() { USUAL.map(MetricId::info).to_vec() } else { offered }
}

/// A plot to draw, with ranges in positions on the axes.
pub(super) struct Chart<'a> {
    pub info: &'a MetricInfo,
    pub view: TrackView,
    /// The vertical range; `None` fits the curves in view.
    pub y: Option<[f64; 2]>,
    /// The choice of the vertical range where `y` is `None`.
    pub fit: Fit,
    pub curves: Vec<ChartCurve<'a>>,
    /// A value that is marked by a line.
    pub level: Option<f64>,
    /// The pointer's position on the horizontal axis, in this plot or another.
    pub hover: Option<f64>,
    /// The width beside the curves for their names; 0 without names.
    pub gutter: f32,
    /// Whether the names at the ends of curves have no settings.
    pub is_short: bool,
}

fn at_end(name: &str, is_short: bool) -> String {
    if is_short { short_name(name) } else { name }.to_owned()
}

impl Chart<'_> {
    pub(super) fn show(&self, ui: &mut Ui, cache: &mut CurveCache, metric: MetricId) -> ShownPlot {
        let TrackView { scales, x, .. } = self.view;
        let y = self.y.unwrap_or_else(|| y_in_view(x, self.curves.iter().map(|curve| &curve.lines.curve), self.fit));
        // Without a curve, numbers would look like a measurement's.
        let axis = |scale, range| PlotAxis { scale, range, has_ticks: !self.curves.is_empty() };
        let frame = PlotFrame {
            axes: [axis(scales[0], x), axis(scales[1], y)],
            size: ui.available_size() - vec2(self.gutter, 0.0),
            is_moved: [true, self.y.is_some()],
            pointer: self.hover,
        };
        let size = PlotFrame::area(frame.size).into();
        let canvas = CurveCanvas { theme: ui.theme(), x, y, size, pixels_per_point: ui.pixels_per_point() };
        let drawn = |curve: &ChartCurve<'_>| (Arc::clone(&curve.lines), curve.group.pen, curve.opacity);
        let drawn = self.curves.iter().map(drawn).collect();
        let set = cache.set(metric, drawn, canvas);
        let weak = ui.visuals().weak_text_color();
        let shown = frame.show(ui, Plot::new(("training", &self.info.name)), |plot| {
            self.draw(plot, canvas, set);
            if let Some(level) = self.level {
                plot.dashes(&x.map(|x| [x, scales[1].position(level)]), Stroke::new(1.0, weak), LEVEL_DASH);
            }
        });
        if self.gutter > 0.0 {
            let end = |curve: &ChartCurve<'_>| {
                let line = curve.lines.curve.line.iter().flatten();
                let end = *line.take_while(|[at, _]| *at <= x[1]).last()?;
                let is_in_view = end[0] >= x[0] && (y[0]..=y[1]).contains(&end[1]);
                let color = color(curve.group.pen, canvas.theme).gamma_multiply(curve.opacity);
                let name = at_end(&curve.group.name.whole(), self.is_short);
                is_in_view.then_some(CurveEnd { name, color, end })
            };
            shown.name_ends(ui, self.gutter, &self.curves.iter().filter_map(end).collect::<Vec<_>>());
        }
        if self.y.is_none() {
            let leaving = |curve: &ChartCurve<'_>| {
                let first = canvas.leaving(&curve.lines)?;
                let color = color(curve.group.pen, canvas.theme);
                let at = |position: f64| self.view.horizontal.text(scales[0].value(position));
                let beyond = beyond(canvas.points_in_view(&curve.lines), y, scales[1], at);
                Some(LeavingCurve { name: curve.group.name.whole(), color, first, beyond })
            };
            shown.mark_leaving(ui, y[1], self.curves.iter().filter_map(leaving));
        }
        if let Some(pointer) = shown.pointer {
            let values: Vec<_> = self.curves.iter().map(|curve| (curve.group, curve.track)).collect();
            let near = curves::near(&self.view, &self.curves, pointer[0], f64::from(size[0]));
            tooltip(&shown.response, self.info, &self.view, pointer, &values, &near);
        }
        describe(&shown.response, &format!("Plot of {}", self.info.title), || {
            let values = self.curves.iter().map(|curve| last_value(curve.group, curve.track, &self.view));
            values.chain(self.curves.iter().flat_map(curves::all)).collect::<Vec<_>>().join("; ")
        });
        shown
    }

    /// Draws bands below all lines, and marks above them.
    fn draw(&self, plot: &PlotPainter, canvas: CurveCanvas, set: Arc<CurveSet>) {
        for ChartCurve { group, lines, opacity, .. } in &self.curves {
            canvas.band(plot, group.pen, lines, *opacity);
        }
        plot.curves(&self.info.name, set);
        for ChartCurve { group, track, lines, .. } in &self.curves {
            let nearest = self.hover.and_then(|at| track.nearest(self.view.horizontal, self.view.scales[0], at));
            canvas.marks(plot, group.pen, lines, nearest.map(|nearest| self.view.position_of(&nearest)));
        }
        for curve in &self.curves {
            curves::draw(plot, canvas.theme, &self.view, canvas.y, curve);
        }
    }
}

/// The choice of plots; stored with the session.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Choices {
    /// The metrics whose visibility differs from the default, by their names in the events.
    pub toggled: Vec<String>,
    /// The metrics whose axis is not the default of linear or logarithmic.
    pub rescaled: Vec<String>,
    pub horizontal: Horizontal,
    pub log_x: bool,
    pub smoothing: f64,
    /// Shows replicates as mean and band if true.
    pub grouped: bool,
    /// Extends the vertical axes to diverged runs if true.
    pub whole_range: bool,
    /// Whether the plots leave out runs that the list's search does not find.
    #[serde(default)]
    pub only_found: bool,
}

impl Choices {
    pub const MOST_SMOOTHING: f64 = 0.999;

    pub fn toggle(list: &mut Vec<String>, info: &MetricInfo) {
        match list.iter().position(|name| *name == info.name) {
            Some(index) => drop(list.remove(index)),
            None => list.push(info.name.clone()),
        }
    }

    /// Whether a metric is shown. By default results are, and the gradient's norm, which indicates problems.
    pub fn shows(&self, info: &MetricInfo) -> bool {
        let is_result = info.better != Better::Neither && info.unit != Unit::Rate;
        (is_result || info.metric() == Some(MetricId::GRAD_NORM)) != self.toggled.contains(&info.name)
    }

    pub fn scale(&self, info: &MetricInfo) -> AxisScale {
        let is_log = (info.scale == MetricScale::Log) != self.rescaled.contains(&info.name);
        metric_scale(info, is_log)
    }

    pub fn x_scale(&self) -> AxisScale {
        match self.horizontal {
            Horizontal::Clock => AxisScale::Clock,
            _ if self.log_x => AxisScale::Log,
            _ => AxisScale::Linear,
        }
    }
}

/// The metrics that are offered before any run is shown.
pub(super) const USUAL: [MetricId; 3] = [MetricId::LOSS, MetricId::LEARNING_RATE, MetricId::GRAD_NORM];
