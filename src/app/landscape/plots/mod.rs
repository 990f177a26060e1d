//! The plots of how the ensembles fare.

mod chart;
mod data;
mod leads;
mod toolbar;

use std::collections::{BTreeMap, BTreeSet};

use chart::{BranchSeries, Chart, ChartLead, ChartMark, ChartSeries, STRIP, pointed_at};
pub(super) use data::TableContents;
use data::{DiagnosticsHistory, EnsembleHistory};
use egui::{Color32, Rect, Sense, TextStyle, Ui, Vec2, vec2};
use leads::{Lead, leads};
use toolbar::temperature_control;
use valleyscope_engine::landscape::LandscapeSpec;
use valleyscope_engine::simulation::PlotRequest;
use valleyscope_experiments::preset::LETTERS;
use valleyscope_experiments::view::ticks::grouped;
use valleyscope_experiments::view::{AutoScale, AxisScale, Camera, Dash, SymLog, Viewport};

use super::branches;
use super::branches::MarkedChanges;
use crate::app::landscape::editor::Document;
use crate::app::landscape::live::Live;
use crate::app::shell::actions::{Action, LandscapeAction, Requests};
use crate::app::widgets::plot::{ShownPlot, Zoom, names_width};
use crate::draw::{DiagnosticCurve, RunPlots, diagnostic_scale};
use crate::player::PlayerCommand;
use crate::player::marks::SettingMark;

pub use data::csv_of;
pub(crate) use leads::MeanLoss;
pub use valleyscope_experiments::view::{Band, DiagnosticMetric};

/// The range of the number of buckets of a curve, whatever the plot's width.
const BUCKETS: std::ops::RangeInclusive<usize> = 100..=500;
/// The smallest size of a plot beside all tools; with less room, these are in a menu.
const SMALLEST: Vec2 = vec2(220.0, 110.0);
/// The smallest width of a plot where those in one column would be lower than this, in points.
const NARROWEST: f32 = 150.0;
const LOWEST: f32 = 76.0;
/// The largest width of plots in one column over their height.
const WIDEST: f32 = 4.0;
/// The smallest height of a plot in points; with less room, the panel scrolls.
const LEAST_HEIGHT: f32 = 88.0;
/// The smallest height of a plot that is not scrolled, in points.
const LEAST_FIXED: f32 = 64.0;
/// The height of the title of a plot, in points.
const TITLE: f32 = 18.0;
/// The distance below which marks of changed settings share a line, in points.
const NEAR_MARKS: f32 = 3.0;
/// The gap between plots, in points.
const GAP: f32 = 6.0;
/// The smallest number of steps on the horizontal axis of a run without an end.
const FIRST_STEPS: u64 = 100;
/// The deepest descent in view over the linear part of its colour scale.
const DESCENT: f64 = 12.0;

/// The panel of plots of the metrics, with a curve for each optimizer.
#[derive(Default)]
pub struct DiagnosticsPanel {
    pub(super) choices: RunPlots,
    /// The metrics that the lesson step points at. They come first, and are shown whether chosen or not.
    pointed_at: Vec<DiagnosticMetric>,
    /// The metrics that the user has hidden since `pointed_at` changed.
    hidden_at_step: BTreeSet<DiagnosticMetric>,
    frozen: bool,
    /// Whether the plots have no controls: those of a picture or of a presentation.
    is_bare: bool,
    zoom: Zoom<DiagnosticMetric>,
    hover: Option<f64>,
    history: DiagnosticsHistory,
    /// The marks of changed settings in this frame.
    marks: Vec<ChartMark>,
    curves: Curves,
    /// The detail that was requested last.
    detail: Option<PlotRequest>,
}

/// The drawn curves.
#[derive(Default)]
struct Curves {
    metrics: Vec<MetricCurves>,
    /// The intervals in which one of the shown ensembles of a session is ahead, for each session with several.
    leads: Vec<(usize, Vec<Lead>)>,
}

/// The curves of a metric on its axis.
struct MetricCurves {
    scale: AxisScale,
    /// The curve of each ensemble of the session.
    session: Vec<DiagnosticCurve>,
    /// The curve of each ensemble of each shown branch.
    branches: Vec<Vec<DiagnosticCurve>>,
}

impl DiagnosticsPanel {
    /// Resets the view for the next document: shows all its curves, none of them frozen.
    pub fn reset_view(&mut self) {
        self.frozen = false;
        self.zoom.reset();
    }

    /// Shows the metrics that a lesson step points at before any others, beside the user's choice. Call in each frame;
    /// a metric that the user hides stays hidden until the lesson points at other metrics.
    pub fn point_at(&mut self, metrics: &[DiagnosticMetric]) {
        if self.pointed_at != metrics {
            self.pointed_at = metrics.to_vec();
            self.hidden_at_step.clear();
        }
    }

    /// Returns the displayed metrics of a landscape in order. A chosen metric that it lacks stays chosen, for
    /// landscapes that have it.
    pub fn displayed(&self, landscape: &LandscapeSpec) -> Vec<DiagnosticMetric> {
        let of_lesson = self.pointed_at.iter().filter(|metric| !self.hidden_at_step.contains(metric));
        let others = self.choices.metrics.iter().filter(|metric| !self.pointed_at.contains(metric));
        of_lesson.chain(others).copied().filter(|metric| metric.info(landscape).is_some()).collect()
    }

    /// Shows or hides a metric, as the user's choice.
    fn display(&mut self, metric: DiagnosticMetric, is_shown: bool) {
        self.choices.metrics.retain(|shown| *shown != metric);
        if is_shown {
            self.choices.metrics.push(metric);
            self.choices.metrics.sort_unstable();
            self.hidden_at_step.remove(&metric);
        } else {
            self.hidden_at_step.insert(metric);
        }
    }

    pub fn choices(&self) -> RunPlots {
        self.choices.clone()
    }

    pub fn ui(&mut self, ui: &mut Ui, document: &mut Document, live: &Live, requests: &mut Requests) {
        self.is_bare = false;
        self.toolbar(ui, document, requests);
        let displayed = self.displayed(&document.spec(0).landscape);
        self.plots(ui, &displayed, LEAST_HEIGHT, document, live, requests);
    }

    /// Returns the metrics of a presentation: those that the lesson points at, or else the displayed ones.
    fn presented(&self, landscape: &LandscapeSpec) -> Vec<DiagnosticMetric> {
        let pointed_at = self.pointed_at.iter().copied().filter(|metric| metric.info(landscape).is_some());
        let pointed_at: Vec<_> = pointed_at.collect();
        if pointed_at.is_empty() { self.displayed(landscape) } else { pointed_at }
    }

    /// Returns whether a presentation has plots: those that the lesson points at, or else those of a window that
    /// `shows_plots`.
    pub fn is_presented(&self, landscape: &LandscapeSpec, shows_plots: bool) -> bool {
        (shows_plots || !self.pointed_at.is_empty()) && !self.presented(landscape).is_empty()
    }

    /// Shows the plots of a presentation without tools.
    pub fn presentation(&mut self, ui: &mut Ui, document: &mut Document, live: &Live, requests: &mut Requests) {
        self.is_bare = true;
        if self.frozen {
            ui.weak(format!("Frozen at step {}", grouped(self.history.last_step)));
        }
        let presented = self.presented(&document.spec(0).landscape);
        self.plots(ui, &presented, LEAST_FIXED, document, live, requests);
    }

    /// Makes the plots of pictures of a run of so many steps.
    pub fn of_picture(choices: RunPlots, last_step: u64) -> DiagnosticsPanel {
        let mut panel = DiagnosticsPanel { choices, is_bare: true, ..Default::default() };
        panel.history.pause = Some(last_step);
        panel.zoom.x = Some(panel.whole_run());
        panel
    }

    pub fn picture(&mut self, ui: &mut Ui, document: &mut Document, live: &Live) {
        let presented = self.presented(&document.spec(0).landscape);
        self.prepare(&presented, document, live);
        self.marks = self.chart_marks(document, live, ui.available_width());
        // Nothing in a picture can be clicked.
        self.grid(ui, &presented, LEAST_FIXED, document, live, &mut Requests::default());
    }

    /// Updates the curves of these metrics.
    fn prepare(&mut self, metrics: &[DiagnosticMetric], document: &Document, live: &Live) {
        if !self.frozen {
            self.history.update(document, live);
        }
        self.history.name(document, live);
        self.update_curves(metrics, &live.hidden);
    }

    /// Shows plots that are as high as `least` at least, which may be scrolled.
    fn plots(
        &mut self,
        ui: &mut Ui,
        metrics: &[DiagnosticMetric],
        least: f32,
        document: &mut Document,
        live: &Live,
        requests: &mut Requests,
    ) {
        let width = ui.available_width();
        self.prepare(metrics, document, live);
        self.marks = if self.frozen { Vec::new() } else { self.chart_marks(document, live, width) };
        self.grid(ui, metrics, least, document, live, requests);
        let columns = columns_for(metrics.len().max(1), ui.min_rect().size(), least);
        self.request_detail(requests, width / columns as f32);
    }

    fn x_scale(&self) -> AxisScale {
        if self.choices.log_steps { AxisScale::Log } else { AxisScale::Linear }
    }

    fn update_curves(&mut self, metrics: &[DiagnosticMetric], hidden: &BTreeSet<u32>) {
        let (history, x_scale) = (&self.history, self.x_scale());
        let curves_of = |&metric: &DiagnosticMetric| {
            let histories = history.ensembles.iter().map(|ensemble| &ensemble.buckets);
            let y_scale = diagnostic_scale(metric, self.choices.log.contains(&metric), histories);
            let curves = |ensembles: &[EnsembleHistory], band| {
                let curve = |it: &EnsembleHistory| DiagnosticCurve::new(&it.buckets, metric, band, [x_scale, y_scale]);
                ensembles.iter().map(curve).collect()
            };
            MetricCurves {
                scale: y_scale,
                session: curves(&history.ensembles, self.choices.band),
                branches: history.branches.iter().map(|branch| curves(&branch.ensembles, Band::Hidden)).collect(),
            }
        };
        let shown = history.ensembles.iter().enumerate().filter(|(_, it)| !hidden.contains(&it.optimizer));
        let mut of_sessions: BTreeMap<usize, Vec<_>> = BTreeMap::new();
        for (index, it) in shown {
            of_sessions.entry(it.session).or_default().push((index, it.particles, it.buckets.as_slice()));
        }
        let races = of_sessions.iter().filter(|(_, ensembles)| ensembles.len() > 1);
        let leads = races.map(|(session, ensembles)| (*session, leads(ensembles))).collect();
        self.curves = Curves { metrics: metrics.iter().map(curves_of).collect(), leads };
    }

    /// Returns the marks of changed settings on the axis of steps.
    fn chart_marks(&self, document: &Document, live: &Live, width: f32) -> Vec<ChartMark> {
        let scale = self.x_scale();
        let [from, to] = self.zoom.x.unwrap_or_else(|| self.whole_run());
        let near = (to - from) * f64::from(NEAR_MARKS / width.max(1.0));
        // The position of step 0 on a logarithmic axis is infinitely far away.
        let groups = live.marks_of(live.chosen).groups(|step| scale.position(step as f64).max(-1.0), near);
        let mark = |group: &[SettingMark]| {
            let step = group.first().map_or(0, |mark| mark.step);
            let position = scale.position(step as f64);
            ChartMark { position, label: None, holds: true, marked: MarkedChanges::of(group, document, live) }
        };
        let named = live.run_marks.iter().filter(|mark| !mark.is_pause).map(|mark| {
            let position = scale.position(mark.step as f64);
            ChartMark {
                position,
                label: Some(mark.text.clone()),
                holds: mark.holds,
                marked: MarkedChanges::none(mark.step, mark.description()),
            }
        });
        let named = named.filter(|mark| (from..=to).contains(&mark.position));
        groups.map(mark).filter(|mark| mark.position.is_finite()).chain(named).collect()
    }

    fn grid(
        &mut self,
        ui: &mut Ui,
        metrics: &[DiagnosticMetric],
        least: f32,
        document: &mut Document,
        live: &Live,
        requests: &mut Requests,
    ) {
        if metrics.is_empty() {
            let is_lacking = !self.choices.metrics.is_empty() || !self.pointed_at.is_empty();
            ui.weak(match is_lacking {
                true => format!(
                    "{} has none of the chosen plots. Choose others above.",
                    document.spec(0).landscape.info().name
                ),
                false => "Choose plots above.".to_owned(),
            });
            return;
        }
        let area = ui.available_rect_before_wrap();
        let columns = columns_for(metrics.len(), area.size(), least);
        let rows = metrics.len().div_ceil(columns);
        // The row of the plot with the strips is higher by these.
        let strips = STRIP * TextStyle::Small.resolve(ui.style()).size * self.curves.leads.len() as f32;
        let cell = vec2(
            (area.width() - GAP * (columns - 1) as f32) / columns as f32,
            ((area.height() - strips - GAP * (rows - 1) as f32) / rows as f32).max(least),
        );
        let x = self.zoom.x.unwrap_or_else(|| self.whole_run());
        let host = metrics.iter().position(|metric| *metric == DiagnosticMetric::Loss).unwrap_or_default();
        let gutter = self.names_width(ui, live, cell.x);
        self.hover = self.hover.filter(|_| ui.ui_contains_pointer());
        let mut hover = None;
        egui::ScrollArea::vertical().auto_shrink(false).show(ui, |ui| {
            let (whole, _) = ui.allocate_exact_size(
                vec2(area.width(), strips + cell.y * rows as f32 + GAP * (rows - 1) as f32),
                Sense::hover(),
            );
            for (index, &metric) in metrics.iter().enumerate() {
                let (row, column) = (index / columns, index % columns);
                let [above, own] =
                    [row > host / columns, row == host / columns].map(|is| if is { strips } else { 0.0 });
                let offset = vec2(column as f32 * (cell.x + GAP), row as f32 * (cell.y + GAP) + above);
                let rect = Rect::from_min_size(whole.min + offset, cell + vec2(0.0, own));
                let shown = ui
                    .scope_builder(egui::UiBuilder::new().id_salt(metric.key()).max_rect(rect), |ui| {
                        self.cell(ui, (index, metric), (x, gutter), index == host, document, live)
                    })
                    .inner;
                let Some(shown) = shown else { continue };
                hover = hover.or(shown.pointer.map(|[x, _]| x));
                let pointed = pointed_at(&shown, marks_in(&self.marks, index == host)).map(|mark| &mark.marked);
                if let Some(marked) = pointed.filter(|_| shown.response.clicked()) {
                    requests.actions.push(Action::Landscape(LandscapeAction::Seek(marked.step)));
                }
                branches::mark_menu(&shown.response, pointed, requests);
                let least = if self.choices.log_steps { 1e-3 } else { 4.0 };
                self.zoom.apply(metric, shown.gesture, self.whole_run(), least);
            }
        });
        if self.hover != hover {
            self.hover = hover;
            ui.ctx().request_repaint();
        }
    }

    /// Returns the width beside the curves of a plot for their names; 0 where they would take too much of it.
    fn names_width(&self, ui: &Ui, live: &Live, width: f32) -> f32 {
        let is_side_by_side = self.history.is_side_by_side();
        let shown = self.history.ensembles.iter().filter(|it| !live.hidden.contains(&it.optimizer));
        names_width(ui, shown.map(|it| it.short_name(is_side_by_side)), width)
    }

    /// Shows a title, a switch for the axis, and the plot. The intervals in which an optimizer is ahead and the steps
    /// that a lesson names are in one plot, the `host`.
    fn cell(
        &mut self,
        ui: &mut Ui,
        (index, metric): (usize, DiagnosticMetric),
        (x, gutter): ([f64; 2], f32),
        is_host: bool,
        document: &mut Document,
        live: &Live,
    ) -> Option<ShownPlot> {
        let info = metric.info(&document.spec(0).landscape)?;
        ui.spacing_mut().item_spacing = vec2(4.0, 1.0);
        ui.spacing_mut().interact_size.y = TITLE;
        ui.horizontal(|ui| {
            ui.set_max_height(TITLE);
            ui.label(egui::RichText::new(&*info.title).strong().text_style(TextStyle::Small))
                .on_hover_text(info.explanation);
            if self.is_bare {
                return;
            }
            if metric == DiagnosticMetric::FreeEnergy {
                temperature_control(ui, document.spec_mut(live.chosen));
            }
            ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                let mut log = self.choices.log.contains(&metric);
                let text = egui::RichText::new("log").text_style(TextStyle::Small);
                let hint =
                    if metric.is_positive() { "Logarithmic axis" } else { "Logarithmic axis on both sides of 0" };
                let response = ui.toggle_value(&mut log, text).on_hover_text(hint);
                let response = response.accessible_name(format!("Logarithmic axis of {}", info.name));
                if response.changed() {
                    let logarithmic = &mut self.choices.log;
                    let _ = logarithmic.remove(&metric) || logarithmic.insert(metric);
                    self.zoom.y.remove(&metric);
                }
            });
        });
        let MetricCurves { scale: y_scale, session, branches } = self.curves.metrics.get(index)?;
        let theme = ui.ctx().theme();
        let is_side_by_side = self.history.is_side_by_side();
        let style = |ensemble: &EnsembleHistory| {
            let is_shown = !live.hidden.contains(&ensemble.optimizer);
            let names = || [ensemble.shown_name(is_side_by_side), ensemble.short_name(is_side_by_side)];
            is_shown.then(|| (names(), ensemble.color(theme)))
        };
        let branches = self.history.branches.iter().zip(branches);
        let branches = branches
            .map(|(of, curves)| BranchSeries { label: &of.label, series: series(&of.ensembles, curves, style) });
        let looks_back = live.snapshot.as_ref().filter(|it| !self.frozen && it.step < it.last_step);
        let cursor = looks_back.map(|snapshot| self.x_scale().position(snapshot.step as f64));
        let cursor = cursor.filter(|position| position.is_finite());
        let x_scale = self.x_scale();
        let lead = |lead: &Lead| {
            let leaders = lead.ensembles.iter().filter_map(|index| self.history.ensembles.get(*index));
            let (names, colors) = leaders.map(|it| (it.short_name(is_side_by_side), it.color(theme))).unzip();
            // Up to the step after the last one, at which the next interval begins.
            let positions = [lead.steps[0], lead.steps[1] + 1.0].map(|step| x_scale.position(step).max(x[0]));
            ChartLead { names, colors, steps: lead.steps, positions }
        };
        let strip = |(session, leads): &(usize, Vec<Lead>)| {
            let letter = if is_side_by_side { format!(" {}", LETTERS[*session]) } else { String::new() };
            (letter, leads.iter().map(lead).collect())
        };
        let start = self.history.ensembles.iter().find_map(|it| Some(metric.value(it.buckets.first()?).mean));
        let chart = Chart {
            metric,
            info: &info,
            series: series(&self.history.ensembles, session, style),
            branches: branches.collect(),
            scales: [x_scale, *y_scale],
            x,
            to_come: range_to_come(metric, *y_scale, start.unwrap_or_default(), &document.spec(0).landscape),
            gutter,
            y: self.zoom.y.get(&metric).copied(),
            whole_range: self.choices.whole_range,
            hover: self.hover,
            cursor,
            marks: marks_in(&self.marks, is_host).collect(),
            strips: self.curves.leads.iter().filter(|_| is_host).map(strip).collect(),
        };
        Some(chart.show(ui))
    }

    /// Returns the first and the last step of the run, also of the part that is still to come, as positions on the axis.
    fn whole_run(&self) -> [f64; 2] {
        let DiagnosticsHistory { last_step, pause, .. } = self.history;
        let last = last_step.max(pause.unwrap_or(FIRST_STEPS)).max(10) as f64;
        if self.choices.log_steps { [0.0, last.log10()] } else { [0.0, last] }
    }

    /// Requests as much detail from the player as plots of this width can show.
    fn request_detail(&mut self, requests: &mut Requests, width: f32) {
        if self.frozen {
            return;
        }
        // A bucket for every second point is as fine as a curve looks. In steps of 50, so that dragging the panel's
        // edge does not send a request for every pixel.
        let buckets = (0.5 * width / 50.0).ceil() as usize * 50;
        let mut wanted = PlotRequest {
            first_step: 0,
            last_step: None,
            buckets: buckets.clamp(*BUCKETS.start(), *BUCKETS.end()),
            log_steps: self.choices.log_steps,
        };
        if let Some([from, to]) = self.zoom.x {
            let scale = self.x_scale();
            let room = 0.02 * (to - from);
            wanted.first_step = scale.value(from - room).floor().max(0.0) as u64;
            wanted.last_step = Some(scale.value(to + room).ceil().max(1.0) as u64);
        }
        if self.detail.replace(wanted) != Some(wanted) {
            requests.commands.push(PlayerCommand::Plot(wanted));
        }
    }
}

/// Returns the marks in a plot: those of changed settings, and in the `host` the steps that a lesson names.
fn marks_in(marks: &[ChartMark], is_host: bool) -> impl Iterator<Item = &ChartMark> {
    marks.iter().filter(move |mark| is_host || mark.label.is_none())
}

/// Returns the positions between which a metric may move from its value at the start, before any step is taken: a loss
/// down to the lowest ones in the landscape's first view, others from 0 to 1, and a decade on a logarithmic axis.
fn range_to_come(metric: DiagnosticMetric, scale: AxisScale, start: f64, landscape: &LandscapeSpec) -> [f64; 2] {
    let first_view = Viewport { camera: Camera::home(landscape), size_px: [1.0; 2] };
    let range = match (scale, metric) {
        (AxisScale::Log, _) => [0.1 * start, 10.0 * start],
        (_, DiagnosticMetric::Loss) => {
            let SymLog { linear, min, .. } = AutoScale::default().update(&[(&landscape.landscape(), first_view)]);
            [if min < 0.0 { -DESCENT * linear } else { 0.0 }, start]
        }
        _ => [start.min(0.0), start.max(1.0)],
    };
    let [low, high] = range.map(|value| scale.position(value));
    let room = 0.05 * (high - low);
    if room > 0.0 { [low - room, high + room] } else { [-2.0, 0.0] }
}

/// Returns the shown curves of ensembles. `style` returns the names and the colour of one unless it is hidden.
fn series<'a>(
    ensembles: &'a [EnsembleHistory],
    curves: &'a [DiagnosticCurve],
    style: impl Fn(&EnsembleHistory) -> Option<([String; 2], Color32)>,
) -> Vec<ChartSeries<'a>> {
    let shown = ensembles.iter().zip(curves).filter_map(|(ensemble, curve)| {
        let ([name, short_name], color) = style(ensemble)?;
        let dash = Dash::SIDE_BY_SIDE[ensemble.session];
        Some(ChartSeries { name, short_name, color, dash, buckets: &ensemble.buckets, curve })
    });
    shown.collect()
}

/// Returns the number of columns in which so many plots are easiest to read: one with enough height, or else the one
/// with the widest and highest plots, a bit wider than high. Where plots in one, which are `least` high at least, have
/// some height, each is wide enough for names at the ends of its curves.
pub fn columns_for(plots: usize, size: Vec2, least: f32) -> usize {
    let height = size.y / plots.max(1) as f32;
    if height >= SMALLEST.y && size.x <= WIDEST * height {
        return 1;
    }
    let score = |columns: usize| {
        let rows = plots.div_ceil(columns);
        (size.x / columns as f32 / 1.7).min(size.y / rows as f32)
    };
    let narrowest = if height.max(least) < LOWEST { NARROWEST } else { SMALLEST.x };
    let fits = |columns: &usize| *columns == 1 || size.x / *columns as f32 >= narrowest;
    (1..=plots.max(1)).filter(fits).max_by(|a, b| score(*a).total_cmp(&score(*b)).then(b.cmp(a))).unwrap_or(1)
}
