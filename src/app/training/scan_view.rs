//! A scan's picture: best test loss by batch size, and by how much Signum improves on Adam.

use egui::{Color32, Label, RichText, Ui, WidgetInfo};
use egui_plot::{GridMark, HLine, Legend, Line, LineStyle, Plot, PlotPoints, Points};

use super::export::ScanFile;
use super::marks;
use crate::app::diagnostics::labelled_grid;
use crate::app::figure_layout::{FigureLayout, stays_open};
use crate::app::landscape::marker::line_color;
use crate::result::scan::{NEGLIGIBLE, NOT_FINITE, ScanResult};
use crate::view::ticks::{beyond, short, significant};

const PERCENT: f64 = 100.0;
/// Points between labels of the losses, at least.
const APART: f64 = 18.0;
/// The radius of a marker, in points.
const RADIUS: f32 = 3.5;
const AROUND: f64 = PERCENT * NEGLIGIBLE;

/// Shows the picture.
pub(super) fn show(ui: &mut Ui, scan: &ScanResult, name: &str, figure_layout: &mut FigureLayout) -> Option<ScanFile> {
    let known = scan.known();
    let all = scan.axes.grid_points();
    let rates = &scan.axes.learning_rates;
    let about = format!(
        "{name}: {known} of {all} pixels, each the best of {} learning rates with {} replicates of {} steps",
        rates.len(),
        scan.axes.replicates,
        scan.axes.steps
    );
    let asked = export_menu(ui, known > 0, figure_layout);
    ui.add(egui::Label::new(RichText::new(about).small().weak()).wrap());
    let height = ui.available_height();
    ui.label(RichText::new("Best test loss by batch size, with the deviation over replicates").small().weak());
    losses(ui, scan, (0.55 * height - 24.0).max(120.0));
    let about = format!("Improvement of Signum on Adam by batch size, in % (dashed: ±{AROUND} %)");
    ui.label(RichText::new(about).small().weak());
    improvement(ui, scan, (ui.available_height() - 6.0).max(110.0));
    asked
}

/// The menu for exporting the scan.
fn export_menu(ui: &mut Ui, is_possible: bool, figure_layout: &mut FigureLayout) -> Option<ScanFile> {
    let mut asked = None;
    ui.add_enabled_ui(is_possible, |ui| {
        let (menu, _) = stays_open("Export").ui(ui, |ui| {
            figure_layout.ui(ui);
            ui.separator();
            for (file, label) in ScanFile::ALL {
                if file == ScanFile::Table {
                    ui.separator();
                }
                if ui.button(label).clicked() {
                    asked = Some(file);
                    ui.close();
                }
            }
        });
        menu.on_disabled_hover_text("There is nothing to export until the first pixel is complete");
    });
    asked
}

fn color(ui: &Ui, scan: &ScanResult, optimizer: usize) -> Color32 {
    let [red, green, blue] = scan.colors[optimizer];
    line_color(Color32::from_rgb(red, green, blue), ui.theme())
}

/// The position of a batch size on the axis.
fn place(scan: &ScanResult, index: usize) -> f64 {
    (scan.axes.batch_sizes[index] as f64).log2()
}

fn plot<'p>(ui: &Ui, id: &'static str, scan: &ScanResult, height: f32) -> Plot<'p> {
    let places: Vec<(f64, u64)> =
        (0..scan.axes.batch_sizes.len()).map(|index| (place(scan, index), scan.axes.batch_sizes[index])).collect();
    let grid: Vec<GridMark> = places.iter().map(|(value, _)| GridMark { value: *value, step_size: 1.0 }).collect();
    let ends = places
        .iter()
        .map(|(place, _)| *place)
        .fold([f64::INFINITY, f64::NEG_INFINITY], |ends, place| [ends[0].min(place), ends[1].max(place)]);
    let plot = Plot::new(id)
        .height(height)
        .x_grid_spacer(move |_| grid.clone())
        .x_axis_formatter(move |mark, _| {
            let size = places.iter().find(|(value, _)| *value == mark.value);
            size.map_or_else(String::new, |(_, size)| size.to_string())
        })
        .show_x(false)
        .show_y(false)
        .allow_scroll(false)
        .allow_drag(false)
        .allow_zoom(false)
        .allow_boxed_zoom(false)
        .grid_color(ui.visuals().weak_text_color().gamma_multiply(0.35));
    // All batch sizes have their place from the beginning, also while only some are known.
    if ends[0] <= ends[1] { plot.include_x(ends[0] - 0.4).include_x(ends[1] + 0.4) } else { plot }
}

/// A vertical line over a point, with ends.
fn error_bar<'p>(plot: &mut egui_plot::PlotUi<'p>, [x, low, high]: [f64; 3], color: Color32) {
    for ends in [[[x, low], [x, high]], [[x - 0.06, low], [x + 0.06, low]], [[x - 0.06, high], [x + 0.06, high]]] {
        plot.line(Line::new("", PlotPoints::from(ends.to_vec())).color(color).width(1.2).allow_hover(false));
    }
}

fn losses(ui: &mut Ui, scan: &ScanResult, height: f32) {
    let colors: Vec<Color32> = (0..scan.axes.optimizers.len()).map(|index| color(ui, scan, index)).collect();
    let mut words = Vec::new();
    let plot = plot(ui, "scan losses", scan, height)
        .legend(Legend::default().text_style(egui::TextStyle::Small).follow_insertion_order(true))
        .y_axis_min_width(46.0)
        // Losses of diverged pixels, 100, must not flatten the others: the axis is logarithmic.
        .y_grid_spacer(move |input| {
            let (low, high) = input.bounds;
            let marks = marks::log(low, high, f64::from(height) / (high - low), APART);
            // Marks of a small step would be faint.
            marks.into_iter().map(|(mark, _)| GridMark { step_size: 1.0, ..mark }).collect()
        })
        .y_axis_formatter(|mark, _| short(10_f64.powf(mark.value)));
    let shown = plot.show(ui, |plot| {
        for (optimizer, name) in scan.axes.optimizers.iter().enumerate() {
            let scores = scan.scores.optimizer(optimizer).iter().enumerate();
            let mut scores: Vec<_> = scores.filter_map(|(index, score)| Some((index, (*score)?))).collect();
            scores.sort_by_key(|(index, _)| scan.axes.batch_sizes[*index]);
            let points: Vec<[f64; 2]> =
                scores.iter().map(|(index, score)| [place(scan, *index), score.mean.max(1e-12).log10()]).collect();
            for ((_, score), [x, y]) in scores.iter().zip(&points) {
                if score.deviation.is_finite() {
                    let low = (score.mean - score.deviation).max(0.1 * score.mean).max(1e-12).log10();
                    let high = (score.mean + score.deviation).max(1e-12).log10();
                    error_bar(plot, [*x, low.min(*y), high], colors[optimizer]);
                }
            }
            let marks = Points::new("", points.clone()).shape(scan.markers[optimizer].in_plot());
            plot.points(marks.color(colors[optimizer]).radius(RADIUS).allow_hover(false));
            plot.line(Line::new(name, points).color(colors[optimizer]).width(1.6));
            words.extend(scores.iter().map(|(index, score)| {
                format!("{name} at {}: {}", scan.axes.batch_sizes[*index], significant(score.mean, 3))
            }));
        }
    });
    tooltip(scan, &shown, |optimizer, index| {
        let score = scan.scores.get(optimizer, index)?;
        let rates = &scan.axes.learning_rates;
        let rate = rates.get(score.learning_rate).copied().unwrap_or(f64::NAN);
        let best = match beyond(rate, rates.iter().copied()) {
            _ if score.mean >= NOT_FINITE => significant(rate, 3),
            "" => significant(rate, 3),
            sign => format!("{sign}{} (a better one may lie beyond the range)", significant(rate, 3)),
        };
        Some(format!("{} ± {}, best η {best}", significant(score.mean, 3), significant(score.deviation, 2)))
    });
    name(&shown.response, "Plot of best test loss by batch size", words);
}

fn improvement(ui: &mut Ui, scan: &ScanResult, height: f32) {
    let mut words = Vec::new();
    let weak = ui.visuals().weak_text_color();
    let pair = scan.adam_and_signum();
    let color = pair.map_or(weak, |[_, signum]| color(ui, scan, signum));
    let plot = plot(ui, "scan improvement", scan, height)
        .y_axis_min_width(46.0)
        .y_grid_spacer(labelled_grid(height))
        .y_axis_formatter(|mark, _| short(mark.value))
        .include_y(-2.0 * AROUND)
        .include_y(2.0 * AROUND);
    let shown = plot.show(ui, |plot| {
        for (at, style) in
            [(0.0, LineStyle::Solid), (AROUND, LineStyle::dashed_loose()), (-AROUND, LineStyle::dashed_loose())]
        {
            plot.hline(HLine::new("", at).color(weak).width(1.0).style(style).allow_hover(false));
        }
        let Some([adam, signum]) = pair else { return };
        let improvements = scan.scores.improvements(adam, signum);
        let mut known: Vec<_> =
            improvements.iter().enumerate().filter_map(|(index, it)| Some((index, (*it)?))).collect();
        known.sort_by_key(|(index, _)| scan.axes.batch_sizes[*index]);
        let points: Vec<[f64; 2]> = known.iter().map(|(index, it)| [place(scan, *index), PERCENT * it.value]).collect();
        for ((index, it), [x, y]) in known.iter().zip(&points) {
            if it.error.is_finite() {
                error_bar(plot, [*x, y - PERCENT * it.error, y + PERCENT * it.error], color);
            }
            let size = scan.axes.batch_sizes[*index];
            words.push(format!("{size}: {} ± {} %", significant(*y, 3), significant(PERCENT * it.error, 2)));
        }
        let marks = Points::new("", points.clone()).shape(scan.markers[signum].in_plot());
        plot.points(marks.color(color).radius(RADIUS).allow_hover(false));
        plot.line(Line::new("", points).color(color).width(1.6).allow_hover(false));
    });
    if pair.is_none() {
        let font = egui::TextStyle::Small.resolve(ui.style());
        let text = "Needs an optimizer whose name begins with Adam and one with Signum";
        let center = shown.transform.frame().center();
        ui.painter().text(center, egui::Align2::CENTER_CENTER, text, font, weak);
    }
    name(&shown.response, "Plot of the improvement of Signum on Adam", words);
}

fn name(response: &egui::Response, label: &str, words: Vec<String>) {
    response.widget_info(|| WidgetInfo {
        label: Some(label.to_owned()),
        current_text_value: Some(words.join("; ")),
        ..WidgetInfo::new(egui::Role::Figure)
    });
}

/// All optimizers' values at the batch size that is nearest to the pointer.
fn tooltip(scan: &ScanResult, shown: &egui_plot::PlotResponse<()>, text: impl Fn(usize, usize) -> Option<String>) {
    let Some(pointer) = shown.response.hover_pos() else { return };
    let at = shown.transform.value_from_position(pointer).x;
    let away = |index: &usize| (place(scan, *index) - at).abs();
    let nearest = (0..scan.axes.batch_sizes.len()).min_by(|a, b| away(a).total_cmp(&away(b)));
    let Some(index) = nearest else { return };
    egui::Tooltip::for_widget(&shown.response).at_pointer().gap(14.0).show(|ui| {
        ui.strong(format!("Batch size {}", scan.axes.batch_sizes[index]));
        for (optimizer, name) in scan.axes.optimizers.iter().enumerate() {
            let text = text(optimizer, index).unwrap_or_else(|| "not trained yet".to_owned());
            ui.add(Label::new(format!("{name}: {text}")).extend());
        }
    });
}
