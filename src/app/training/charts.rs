//! The curves of the selected runs.

use std::collections::BTreeMap;
use std::sync::Arc;

use egui::{
    Button, Color32, ComboBox, FontId, Id, RichText, ScrollArea, Slider, TextStyle, Ui, Vec2, WidgetInfo, vec2,
};
use egui_plot::{HLine, LineStyle, Plot, VLine};

use super::choices::{Choices, USUAL};
use super::curve_cache::CurveCache;
use super::curve_item::CurveItem;
use super::legend::{last_value, legend, tooltip};
use super::lines::{CurveCanvas, y_in_view};
use super::marks;
use super::named_curves::NamedCurves;
use super::plot_export::PlotExport;
use super::plotter::union;
use super::reaching::Reaching;
use super::track::{Horizontal, Track, TrackLook};
use crate::app::diagnostics::{AxisMark, AxisScale, plot_frame};
use crate::app::figure_layout::{FigureLayout, stays_open};
use crate::app::number as text;
use crate::app::typed::TypedField;
use crate::figure::Format;
use crate::run::{MetricId, MetricInfo, Unit};
use crate::view::range::{self, across};

/// Narrower plots are put below each other, in points.
const NARROWEST: f32 = 330.0;
const LOWEST: f32 = 150.0;
/// Longer menus are scrolled.
const MENU_HEIGHT: f32 = 420.0;
/// Points between labels beside each other and above each other, at least.
const BESIDE: f64 = 42.0;
const ABOVE: f64 = 21.0;
/// Points that a plot's axes take, about.
const AXES: Vec2 = vec2(66.0, 24.0);
/// Points that a plot leaves at its right for the last label.
const MARGIN: f32 = 8.0;

/// The state of the plots.
#[derive(Default)]
pub(super) struct Charts {
    pub choices: Choices,
    /// What is zoomed to, in places. `None` shows everything.
    x: Option<[f64; 2]>,
    y: BTreeMap<MetricId, [f64; 2]>,
    hover: Option<f64>,
    reaching: Reaching,
    cache: CurveCache,
}

/// What was asked for in the toolbar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ChartAction {
    Table,
    Figure(Format),
}

impl Charts {
    /// Shows everything again.
    pub(super) fn look_anew(&mut self) {
        self.x = None;
        self.y.clear();
    }

    pub(super) fn ui(
        &mut self,
        ui: &mut Ui,
        groups: &[NamedCurves<'_>],
        figure_layout: &mut FigureLayout,
    ) -> Option<ChartAction> {
        let asked = self.toolbar(ui, groups, figure_layout);
        legend(ui, groups);
        self.reaching.ui(ui, groups, &offered(groups));
        let shown = self.shown(groups);
        self.grid(ui, groups, &shown);
        asked
    }

    fn shown(&self, groups: &[NamedCurves<'_>]) -> Vec<MetricInfo> {
        offered(groups).into_iter().filter(|info| self.choices.shows(info)).collect()
    }

    /// What the plots show, to be exported as a figure.
    pub(super) fn plots(&self, groups: &[NamedCurves<'_>]) -> Vec<PlotExport> {
        /// More than a printer shows in a column of a journal.
        const COLUMNS: usize = 1500;
        let shown = self.shown(groups);
        let x = self.x.unwrap_or_else(|| self.everything(groups, &shown));
        let plot = |info: MetricInfo| {
            let scales = [self.choices.x_scale(), self.choices.scale(&info)];
            let metric = info.metric();
            let tracks = groups.iter().enumerate();
            let tracks =
                tracks.filter_map(|(index, group)| Some((index, Arc::clone(group.drawn.tracks.get(&metric?)?))));
            PlotExport {
                look: TrackLook { horizontal: self.choices.horizontal, scales, x, columns: COLUMNS },
                y: metric.and_then(|metric| self.y.get(&metric).copied()),
                tracks: tracks.collect(),
                info,
            }
        };
        shown.into_iter().map(plot).filter(|plot| !plot.tracks.is_empty()).collect()
    }

    fn toolbar(
        &mut self,
        ui: &mut Ui,
        groups: &[NamedCurves<'_>],
        figure_layout: &mut FigureLayout,
    ) -> Option<ChartAction> {
        let mut asked = None;
        ui.horizontal_wrapped(|ui| {
            stays_open("Plots").ui(ui, |ui| {
                ScrollArea::vertical().max_height(MENU_HEIGHT).show(ui, |ui| {
                    for info in offered(groups) {
                        let mut shown = self.choices.shows(&info);
                        if ui.checkbox(&mut shown, &info.title).changed() {
                            Choices::toggle(&mut self.choices.toggled, &info);
                        }
                    }
                });
            });
            stays_open("Log axes").ui(ui, |ui| {
                let can = self.choices.horizontal != Horizontal::Clock;
                if ui.add_enabled(can, egui::Checkbox::new(&mut self.choices.log_x, "Horizontal axis")).changed() {
                    self.x = None;
                }
                ui.separator();
                for info in offered(groups) {
                    let mut log = self.choices.scale(&info) == AxisScale::Log;
                    if ui.checkbox(&mut log, &info.title).changed() {
                        Choices::toggle(&mut self.choices.rescaled, &info);
                        info.metric().and_then(|metric| self.y.remove(&metric));
                    }
                }
            });
            let horizontal = self.choices.horizontal;
            let combo = ComboBox::from_id_salt("horizontal axis").selected_text(format!("over {}", horizontal.name()));
            let shown = combo.show_ui(ui, |ui| {
                for choice in Horizontal::ALL {
                    ui.selectable_value(&mut self.choices.horizontal, choice, choice.name());
                }
            });
            shown.response.accessible_name("Horizontal axis");
            if horizontal != self.choices.horizontal {
                self.x = None;
            }
            let help = "Exponential smoothing, over all points; the curve as it is stays behind, faint";
            ui.label("Smoothing").on_hover_text(help);
            ui.spacing_mut().slider_width = 80.0;
            let slider = Slider::new(&mut self.choices.smoothing, 0.0..=Choices::MOST_SMOOTHING).show_value(false);
            ui.add(slider.max_decimals(3)).on_hover_text(help).accessible_name("Smoothing");
            let field = TypedField { name: "Smoothing, number", width: 40.0 };
            let typed = field.show(ui, &text::text(self.choices.smoothing), smoothing);
            self.choices.smoothing = typed.entered.unwrap_or(self.choices.smoothing);
            ui.checkbox(&mut self.choices.grouped, "Group replicates")
                .on_hover_text("Runs that differ only in the seed as one mean curve, with a deviation on both sides");
            ui.toggle_value(&mut self.reaching.is_open, "Reaching a loss")
                .on_hover_text("When each run reaches a loss, and how much sooner than another");
            let zoomed = self.x.is_some() || !self.y.is_empty();
            if ui.add_enabled(zoomed, Button::new("Reset zoom")).clicked() {
                self.look_anew();
            }
            asked = export_menu(ui, figure_layout);
        });
        asked
    }

    fn grid(&mut self, ui: &mut Ui, groups: &[NamedCurves<'_>], shown: &[MetricInfo]) {
        if shown.is_empty() {
            ui.weak("No plot is chosen. “Plots” shows them.");
            return;
        }
        let size = ui.available_size();
        let most = ((size.x / NARROWEST) as usize).clamp(1, shown.len().min(3));
        let rows = shown.len().div_ceil(most);
        // Four plots are two by two, where there is room for three beside each other.
        let columns = shown.len().div_ceil(rows);
        let gap = ui.spacing().item_spacing;
        let cell = vec2(
            (size.x - gap.x * columns as f32) / columns as f32,
            ((size.y - gap.y * (rows + 1) as f32) / rows as f32).max(LOWEST),
        );
        let x = self.x.unwrap_or_else(|| self.everything(groups, shown));
        let hover = self.hover.take();
        self.cache.retain(&shown.iter().filter_map(MetricInfo::metric).collect::<Vec<_>>());
        ScrollArea::vertical().auto_shrink(false).show(ui, |ui| {
            for row in shown.chunks(columns) {
                ui.horizontal(|ui| {
                    for info in row {
                        let layout = egui::Layout::top_down(egui::Align::Min);
                        ui.allocate_ui_with_layout(cell, layout, |ui| {
                            ui.set_min_size(cell);
                            self.chart(ui, groups, info, x, hover);
                        });
                    }
                });
            }
        });
        if self.hover != hover {
            ui.ctx().request_repaint();
        }
    }

    /// The range of places that holds all curves.
    fn everything(&self, groups: &[NamedCurves<'_>], shown: &[MetricInfo]) -> [f64; 2] {
        let tracks =
            groups.iter().flat_map(|group| shown.iter().filter_map(|info| group.drawn.tracks.get(&info.metric()?)));
        let reaches = tracks.filter_map(|track| track.reach(self.choices.horizontal, self.choices.x_scale()));
        across(reaches.reduce(range::union))
    }

    fn chart(&mut self, ui: &mut Ui, groups: &[NamedCurves<'_>], info: &MetricInfo, x: [f64; 2], hover: Option<f64>) {
        let Some(metric) = info.metric() else { return };
        let scales = [self.choices.x_scale(), self.choices.scale(info)];
        let look = TrackLook {
            horizontal: self.choices.horizontal,
            scales,
            x,
            columns: (ui.available_width() - 60.0).max(50.0) as usize,
        };
        // Over tokens only text has a place.
        let has_place = |track: &Arc<Track>| track.len() == 0 || track.reach(look.horizontal, scales[0]).is_some();
        let tracks = groups.iter().filter_map(|group| Some((group, group.drawn.tracks.get(&metric)?)));
        let (drawn, tracks): (Vec<_>, Vec<_>) = tracks.filter(|(_, track)| has_place(track)).unzip();
        let lines = self.cache.lines(metric, &tracks, look);
        let curves = drawn.into_iter().zip(tracks).zip(lines);
        let mut curves: Vec<_> = curves.map(|((group, track), lines)| (group, track, lines)).collect();
        // What forks share with other runs is drawn below the curves of those.
        curves.sort_by_key(|(.., lines)| lines.fork.is_none());
        let log = if scales[1] == AxisScale::Log { " (log)" } else { "" };
        let text = format!("{}{log} over {}", info.title, self.choices.horizontal.name());
        ui.label(RichText::new(text).small().weak());
        let zoomed_y = self.y.get(&metric).copied();
        let y = zoomed_y.unwrap_or_else(|| y_in_view(x, curves.iter().map(|(_, _, lines)| &**lines)));
        let size = (ui.available_size() - AXES).into();
        let canvas = CurveCanvas { theme: ui.theme(), x, y, size, pixels_per_point: ui.pixels_per_point() };
        let drawn = curves.iter().map(|(group, _, lines)| (Arc::clone(lines), group.pen)).collect();
        let set = self.cache.set(metric, drawn, canvas);
        let plot = plot(ui, info, &look, y, [zoomed_y.is_some(), curves.is_empty()]);
        let (cursor, id) = (ui.visuals().weak_text_color(), Id::unique(("curves", &info.name)).value());
        let shown = plot.show(ui, |plot| {
            plot.set_plot_bounds_x(x[0]..=x[1]);
            plot.set_plot_bounds_y(y[0]..=y[1]);
            for (group, _, lines) in &curves {
                canvas.band(plot, group.pen, lines);
            }
            plot.add(CurveItem::new(id, set, x, y));
            for (group, _, lines) in &curves {
                canvas.marks(plot, group.pen, lines);
            }
            if let Some(level) = self.reaching.level(metric) {
                let line = HLine::new("", scales[1].place(level)).color(cursor).style(LineStyle::dashed_loose());
                plot.hline(line.width(1.0).allow_hover(false));
            }
            if let Some(hover) = hover {
                plot.vline(VLine::new("pointer", hover).color(cursor).width(1.0).allow_hover(false));
            }
        });
        if curves.is_empty() {
            let font = TextStyle::Small.resolve(ui.style());
            let is_measured = groups.iter().any(|group| group.drawn.tracks.contains_key(&metric));
            let text = match (groups.is_empty(), is_measured) {
                (true, _) => "Nothing is known of it so far".to_owned(),
                (false, false) => "Not measured so far".to_owned(),
                (false, true) => format!("Has no place over {}", look.horizontal.name()),
            };
            let center = shown.transform.frame().center();
            ui.painter().text(center, egui::Align2::CENTER_CENTER, text, font, ui.visuals().weak_text_color());
        }
        self.react(ui, &shown, metric, x, y);
        if let Some(at) = shown.response.hover_pos() {
            let place = shown.transform.value_from_position(at);
            self.hover = Some(place.x);
            let values: Vec<_> = curves.iter().map(|(group, track, _)| (*group, *track)).collect();
            tooltip(&shown.response, info, &look, [place.x, place.y], &values);
        }
        shown.response.widget_info(|| {
            let values: Vec<String> = curves.iter().map(|(group, track, _)| last_value(group, track, &look)).collect();
            WidgetInfo {
                label: Some(format!("Plot of {}", info.title)),
                current_text_value: Some(values.join("; ")),
                ..WidgetInfo::new(egui::Role::Figure)
            }
        });
    }

    /// Zooms and pans as the user did.
    fn react(&mut self, ui: &Ui, shown: &egui_plot::PlotResponse<()>, metric: MetricId, x: [f64; 2], y: [f64; 2]) {
        if shown.response.double_clicked() {
            self.look_anew();
            return;
        }
        let bounds = shown.transform.bounds();
        let moved = |now: [f64; 2], set: [f64; 2]| {
            let tolerance = 1e-9 * (set[1] - set[0]).abs();
            now.iter().zip(&set).any(|(now, set)| (now - set).abs() > tolerance).then_some(now)
        };
        let acted = shown.response.dragged() || shown.response.drag_stopped() || ui.input(|i| i.zoom_delta() != 1.0);
        if shown.response.dragged() || (acted && shown.response.contains_pointer()) {
            self.x = moved([bounds.min()[0], bounds.max()[0]], x).or(self.x);
            if let Some(y) = moved([bounds.min()[1], bounds.max()[1]], y) {
                self.y.insert(metric, y);
            }
        }
        if let Some(pointer) = shown.response.hover_pos() {
            let wheel = ui.input(|input| if input.modifiers.command { 0.0 } else { input.smooth_scroll_delta.y });
            if wheel != 0.0 {
                ui.input_mut(|input| input.smooth_scroll_delta.y = 0.0);
                let at = shown.transform.value_from_position(pointer);
                let factor = (f64::from(-wheel) / 240.0).exp();
                let zoomed = |ends: [f64; 2], at: f64| ends.map(|end| at + (end - at) * factor);
                match ui.input(|input| input.modifiers.shift) {
                    true => drop(self.y.insert(metric, zoomed(y, at.y))),
                    false => self.x = Some(zoomed(x, at.x)),
                }
            }
        }
    }
}

/// Reads a weight for smoothing.
fn smoothing(typed: &str) -> Result<f64, String> {
    let (value, most) = (text::read(typed)?, Choices::MOST_SMOOTHING);
    let refused = || format!("Smoothing must be a number from 0 to {most}, found {value}");
    (0.0..=most).contains(&value).then_some(value).ok_or_else(refused)
}

/// The menu that saves what is shown.
fn export_menu(ui: &mut Ui, figure_layout: &mut FigureLayout) -> Option<ChartAction> {
    const FILES: [(ChartAction, &str); 4] = [
        (ChartAction::Figure(Format::Png), "Figure as PNG…"),
        (ChartAction::Figure(Format::Svg), "Figure as SVG…"),
        (ChartAction::Figure(Format::Pdf), "Figure as PDF…"),
        (ChartAction::Table, "All points as CSV…"),
    ];
    let mut asked = None;
    stays_open("Export").ui(ui, |ui| {
        figure_layout.ui(ui);
        ui.separator();
        for (what, text) in FILES {
            if what == ChartAction::Table {
                ui.separator();
            }
            if ui.button(text).clicked() {
                asked = Some(what);
                ui.close();
            }
        }
    });
    asked
}

fn plot<'p>(ui: &Ui, info: &MetricInfo, look: &TrackLook, y: [f64; 2], [zoomed_y, is_empty]: [bool; 2]) -> Plot<'p> {
    let size = ui.available_size();
    let per_x = f64::from(size.x - AXES.x) / (look.x[1] - look.x[0]);
    let per_y = f64::from(size.y - AXES.y) / (y[1] - y[0]);
    let mut marks = [
        match (look.horizontal, look.scales[0]) {
            (Horizontal::Clock, _) => marks::clock(look.x[0], look.x[1], per_x),
            (_, AxisScale::Log) => marks::log(look.x[0], look.x[1], per_x, BESIDE),
            (_, scale) => scale.marks(look.x[0], look.x[1], per_x),
        },
        match look.scales[1] {
            AxisScale::Log => marks::log(y[0], y[1], per_y, ABOVE),
            scale => scale.marks(y[0], y[1], 1.3 * per_y),
        },
    ];
    if info.unit == Unit::Fraction && look.scales[1] == AxisScale::Linear {
        for (mark, label) in &mut marks[1] {
            *label = format!("{} %", text::text(100.0 * mark.value));
        }
    }
    if is_empty {
        // Numbers would look like a measurement's.
        marks = Default::default();
    }
    let font = TextStyle::Small.resolve(ui.style());
    let width = size.x - overhang(ui, font, &marks[0], look.x[1], per_x);
    plot_frame(Plot::new(("training", &info.name)), ui, vec2(width, size.y), zoomed_y, &marks)
}

/// How far the last label of the horizontal axis stands out beyond what is left for it.
fn overhang(ui: &Ui, font: FontId, marks: &[AxisMark], end: f64, per_x: f64) -> f32 {
    let Some((mark, label)) = marks.last() else { return 0.0 };
    let width = ui.painter().layout_no_wrap(label.clone(), font, Color32::WHITE).size().x;
    let beyond = 0.5 * width - ((end - mark.value) * per_x) as f32;
    (beyond - MARGIN).max(0.0)
}

/// What the runs log; before one is shown, what runs usually log.
fn offered(groups: &[NamedCurves<'_>]) -> Vec<MetricInfo> {
    let offered = union(groups.iter().map(|group| &group.drawn.metrics[..]));
    if offered.is_empty() { USUAL.map(MetricId::info).to_vec() } else { offered }
}
