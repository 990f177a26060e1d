//! The picture of a scan: best test loss by batch size, and the improvement of Signum on Adam.

use egui::{Color32, RichText, Ui, Vec2, vec2};
use egui_plot::{HLine, Legend, Line, LineStyle, Plot, PlotUi, Points};
use valleyscope_engine::optimizer::Marker;
use valleyscope_experiments::view::AxisScale;
use valleyscope_experiments::view::range::{Extent, union, with_margin};
use valleyscope_experiments::view::ticks::{Tick, significant, with_edge};

use super::export::ScanFile;
use super::pens::ScanColors;
use crate::app::controls::color_swatch;
use crate::app::figure_layout::FigureLayout;
use crate::app::landscape::marker::{line_color, shape_in_plot};
use crate::app::plot::{PlotAxis, PlotFrame, ShownPlot, error_bar, readout};
use crate::result::scan::{NEGLIGIBLE, ScanResult};

const PERCENT: f64 = 100.0;
/// The radius of a marker, in points.
const RADIUS: f32 = 3.5;
/// The radius of a ring around a marker, in points.
const RING: f32 = 6.5;
/// The size of the button for an optimizer's colour, in points.
const SWATCH: Vec2 = vec2(16.0, 14.0);
const AROUND: f64 = PERCENT * NEGLIGIBLE;

/// An action on the picture.
pub(super) enum ScanAction {
    Export(ScanFile),
    /// Sets the colour of the optimizer of this name; `None` restores its usual one.
    Color(String, Option<[u8; 3]>),
}

/// Shows the picture, in which these colours were chosen by the names of optimizers; returns the requested action.
pub(super) fn show(
    ui: &mut Ui,
    scan: &ScanResult,
    name: &str,
    chosen: &ScanColors,
    figure_layout: &mut FigureLayout,
) -> Option<ScanAction> {
    let known = scan.known();
    let all = scan.axes.grid_points();
    let rates = &scan.axes.learning_rates;
    let about = format!(
        "{name}: {known} of {all} grid points, each the best of {} learning rates with {} replicates of {} steps",
        rates.len(),
        scan.axes.replicates,
        scan.axes.steps
    );
    let export = ui.add_enabled_ui(known > 0, |ui| {
        let (menu, asked) = figure_layout.export_menu(ui, &ScanFile::ALL, ScanFile::Table);
        menu.on_disabled_hover_text("There is nothing to export until the first grid point is complete");
        asked
    });
    ui.add(egui::Label::new(RichText::new(about).small().weak()).wrap());
    let color = colors(ui, scan, chosen);
    let height = ui.available_height();
    let about = "Best test loss by batch size, with the deviation over replicates";
    ui.label(RichText::new(about).small().weak());
    for (edge, of) in scan.edges() {
        let ringed = format!("Ringed: best η {} ({of})", edge.sentence("the learning rates"));
        ui.add(egui::Label::new(RichText::new(ringed).small()).wrap());
    }
    losses(ui, scan, (0.55 * height - 24.0).max(120.0));
    let about = format!("Improvement of Signum on Adam by batch size, in % (dashed: ±{AROUND} %)");
    ui.label(RichText::new(about).small().weak());
    improvement(ui, scan, (ui.available_height() - 6.0).max(110.0));
    export.inner.map(ScanAction::Export).or(color)
}

/// Shows the optimizers' colours, and returns the choice of one.
fn colors(ui: &mut Ui, scan: &ScanResult, chosen: &ScanColors) -> Option<ScanAction> {
    let mut action = None;
    let usual = scan.recolored(&ScanColors::new()).colors;
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().interact_size = SWATCH;
        for (name, usual) in scan.axes.optimizers.iter().zip(usual) {
            let mut color = chosen.get(name).copied();
            let help = "Colour in the plots and their exports";
            color_swatch(ui, &mut color, usual, help, &format!("Colour of {name}"));
            ui.label(RichText::new(name).small());
            if color != chosen.get(name).copied() {
                action = Some(ScanAction::Color(name.clone(), color));
            }
        }
    });
    action
}

fn color(ui: &Ui, scan: &ScanResult, optimizer: usize) -> Color32 {
    let [red, green, blue] = scan.colors[optimizer];
    line_color(Color32::from_rgb(red, green, blue), ui.theme())
}

/// Returns the axes of a plot over the batch sizes, all of which have their place from the beginning.
fn axes(scan: &ScanResult, vertical: PlotAxis) -> [PlotAxis; 2] {
    let places = scan.axes.batch_sizes.iter().map(|size| [(*size as f64).log10(); 2]);
    let [from, to] = places.reduce(union).unwrap_or_default();
    let tick = |size: &u64| Tick { value: *size as f64, label: size.to_string() };
    let marks = scan.axes.batch_sizes.iter().map(tick).collect();
    let horizontal = PlotAxis { scale: AxisScale::Log, range: [from - 0.12, to + 0.12], marks: Some(marks) };
    [horizontal, vertical]
}

fn frame(ui: &Ui, axes: [PlotAxis; 2], height: f32) -> PlotFrame {
    PlotFrame { axes, size: vec2(ui.available_width(), height), is_moved: [false; 2], pointer: None }
}

/// A measured value over its batch size, in places, and its error bar if its error is known.
struct Measured {
    at: [f64; 2],
    bar: Option<[f64; 2]>,
    is_ringed: bool,
}

impl Measured {
    fn extent(&self) -> Extent {
        self.bar.map_or([self.at[1]; 2], |bar| union(bar, [self.at[1]; 2]))
    }
}

/// Draws the values of an optimizer with error bars and markers on a line.
fn draw(plot: &mut PlotUi<'_>, name: &str, measured: &[Measured], marker: Marker, color: Color32, view: [f64; 2]) {
    for Measured { at, bar, .. } in measured {
        if let Some([low, high]) = bar {
            error_bar(plot, [at[0], *low, *high], Some(0.018), color, view);
        }
    }
    let points: Vec<[f64; 2]> = measured.iter().map(|measured| measured.at).collect();
    let marks = Points::new("", points.clone()).shape(shape_in_plot(marker)).filled(!marker.is_open);
    plot.points(marks.color(color).radius(RADIUS).allow_hover(false));
    let ringed: Vec<[f64; 2]> = measured.iter().filter(|it| it.is_ringed).map(|it| it.at).collect();
    let rings = Points::new("", ringed).shape(egui_plot::MarkerShape::Circle).filled(false);
    plot.points(rings.color(color).radius(RING).allow_hover(false));
    plot.line(Line::new(name, points).color(color).width(1.6).allow_hover(false));
}

fn losses(ui: &mut Ui, scan: &ScanResult, height: f32) {
    let mut words = Vec::new();
    let optimizers: Vec<Vec<Measured>> = (0..scan.axes.optimizers.len())
        .map(|optimizer| {
            let scores = scan.scores.optimizer(optimizer).iter().enumerate();
            let mut scores: Vec<_> =
                scores.filter_map(|(index, score)| Some((scan.axes.batch_sizes[index], (*score)?, index))).collect();
            scores.sort_by_key(|(size, ..)| *size);
            let name = &scan.axes.optimizers[optimizer];
            words.extend(
                scores.iter().map(|(size, score, _)| format!("{name} at {size}: {}", significant(score.mean, 3))),
            );
            let measured = scores.iter().map(|(size, score, index)| {
                let log = |value: f64| value.max(1e-12).log10();
                let low = log((score.mean - score.deviation).max(0.1 * score.mean)).min(log(score.mean));
                let bar = score.deviation.is_finite().then(|| [low, log(score.mean + score.deviation)]);
                let is_ringed = scan.edge(optimizer, *index).is_some();
                Measured { at: [(*size as f64).log10(), log(score.mean)], bar, is_ringed }
            });
            measured.collect()
        })
        .collect();
    // Losses of diverged grid points, 100, must not flatten the others: the axis is logarithmic.
    let extent = optimizers.iter().flatten().map(Measured::extent).reduce(union);
    let vertical = PlotAxis::new(AxisScale::Log, with_margin(extent.map(|extent| (extent, None)).as_slice()));
    let legend = Legend::default().text_style(egui::TextStyle::Small).follow_insertion_order(true);
    let colors: Vec<Color32> = (0..optimizers.len()).map(|index| color(ui, scan, index)).collect();
    let view = vertical.range;
    let frame = frame(ui, axes(scan, vertical), height);
    let shown = frame.show(ui, Plot::new("scan losses").legend(legend), |plot| {
        for (index, measured) in optimizers.iter().enumerate() {
            draw(plot, &scan.axes.optimizers[index], measured, scan.markers[index], colors[index], view);
        }
    });
    tooltip(scan, &shown, |optimizer, index| {
        let score = scan.scores.get(optimizer, index)?;
        let rates = &scan.axes.learning_rates;
        let rate = rates.get(score.learning_rate).copied().unwrap_or(f64::NAN);
        let best = with_edge(scan.edge(optimizer, index), &significant(rate, 3));
        Some(format!("{} ± {}, best η {best}", significant(score.mean, 3), significant(score.deviation, 2)))
    });
    shown.describe("Plot of best test loss by batch size", || words.join("; "));
}

fn improvement(ui: &mut Ui, scan: &ScanResult, height: f32) {
    let mut words = Vec::new();
    let weak = ui.visuals().weak_text_color();
    let pair = scan.adam_and_signum();
    let improvements = pair.map(|[adam, signum]| scan.scores.improvements(adam, signum)).unwrap_or_default();
    let known = improvements.iter().enumerate();
    let mut known: Vec<_> = known.filter_map(|(index, it)| Some((scan.axes.batch_sizes[index], (*it)?))).collect();
    known.sort_by_key(|(size, _)| *size);
    let measured = known.iter().map(|(size, it)| {
        let [value, error] = [it.value, it.error].map(|part| PERCENT * part);
        words.push(format!("{size}: {} ± {} %", significant(value, 3), significant(error, 2)));
        let bar = error.is_finite().then_some([value - error, value + error]);
        Measured { at: [(*size as f64).log10(), value], bar, is_ringed: false }
    });
    let measured: Vec<Measured> = measured.collect();
    let extent = measured.iter().map(Measured::extent).fold([-2.0 * AROUND, 2.0 * AROUND], union);
    let vertical = PlotAxis::new(AxisScale::Linear, with_margin(&[(extent, None)]));
    let color = pair.map_or(weak, |[_, signum]| color(ui, scan, signum));
    let view = vertical.range;
    let frame = frame(ui, axes(scan, vertical), height);
    let shown = frame.show(ui, Plot::new("scan improvement"), |plot| {
        for (at, style) in
            [(0.0, LineStyle::Solid), (AROUND, LineStyle::dashed_loose()), (-AROUND, LineStyle::dashed_loose())]
        {
            plot.hline(HLine::new("", at).color(weak).width(1.0).style(style).allow_hover(false));
        }
        if let Some([_, signum]) = pair {
            draw(plot, "", &measured, scan.markers[signum], color, view);
        }
    });
    if pair.is_none() {
        shown.note(ui, "Needs an optimizer of the rule Adam and one of the rule Signum");
    }
    shown.describe("Plot of the improvement of Signum on Adam", || words.join("; "));
}

/// Shows all optimizers' values at the batch size nearest to the pointer.
fn tooltip(scan: &ScanResult, shown: &ShownPlot, text: impl Fn(usize, usize) -> Option<String>) {
    let Some([at, _]) = shown.pointer else { return };
    let away = |index: &usize| ((scan.axes.batch_sizes[*index] as f64).log10() - at).abs();
    let nearest = (0..scan.axes.batch_sizes.len()).min_by(|a, b| away(a).total_cmp(&away(b)));
    let Some(index) = nearest else { return };
    readout(&shown.response, &format!("Batch size {}", scan.axes.batch_sizes[index]), None, |ui| {
        for (optimizer, name) in scan.axes.optimizers.iter().enumerate() {
            ui.label(name);
            ui.label(text(optimizer, index).unwrap_or_else(|| "not trained yet".to_owned()));
            ui.end_row();
        }
    });
}
