//! The results of one pixel: scores, certainty, and the curve over learning rates.

use egui::{Color32, Grid, RichText, ScrollArea, Ui};
use egui_plot::{GridMark, Line, MarkerShape, Plot, PlotPoints, Points};

use super::metric_names::METRICS;
use crate::app::diagnostics::labelled_grid;
use crate::app::theme::legible;
use crate::figure::axis_label;
use crate::sweep::{Average, Cell, Diagram, Metric};
use crate::view::ticks::{beyond, fixed, short};

/// Shows a pixel; while it is not computed, the one that represents it on the map.
pub(super) fn show(ui: &mut Ui, diagram: &Diagram, pixel: [usize; 2], metric: Metric) {
    let spec = diagram.spec();
    let pixel = diagram.known_near(pixel).unwrap_or(pixel);
    let [row, column] = pixel;
    let line = |label: String, value: f64| match value.fract() {
        0.0 => format!("{label}: {}", fixed(value, 0)),
        _ => format!("{label}: {}", number(value)),
    };
    ui.label(line(axis_label(spec, &spec.rows), diagram.rows()[row]));
    ui.label(line(axis_label(spec, &spec.columns), diagram.columns()[column]));
    ui.add_space(4.0);
    let Some(cell) = diagram.cell(pixel) else {
        ui.label(RichText::new("Not computed yet.").weak());
        return;
    };
    verdict(ui, diagram, cell, metric);
    ui.add_space(4.0);
    scores(ui, diagram, pixel, cell, metric);
    ui.add_space(6.0);
    curve(ui, diagram, pixel, cell, metric);
}

/// The winner and its certainty.
fn verdict(ui: &mut Ui, diagram: &Diagram, cell: &Cell, metric: Metric) {
    let comparison = cell.comparison(metric);
    let Some(winner) = comparison.winner else {
        ui.label("No winner: the best scores are equal.");
        return;
    };
    let name = diagram.spec().optimizers[winner].label();
    let text = match comparison.certainty() {
        Some(certainty) if certainty < 0.5 => format!("{name} is ahead, no surer than chance"),
        Some(certainty) => format!("{name} wins, {} sure", percent(certainty)),
        None => format!("{name} wins; too few replicates to say how surely"),
    };
    ui.label(RichText::new(text).strong()).on_hover_text(
        "The learning rates are chosen on one half of the replicates and compared on the other, so that a lucky \
         choice gains nothing.",
    );
    let all = diagram.spec().replicates.get();
    if cell.replicates < all {
        ui.label(RichText::new(format!("so far from {} of {all} replicates", cell.replicates)).weak());
    }
}

/// Never a hundred percent: nothing is quite sure.
fn percent(certainty: f64) -> String {
    if certainty > 0.999 { "over 99.9 %".to_owned() } else { format!("{:.1} %", 100.0 * certainty) }
}

fn scores(ui: &mut Ui, diagram: &Diagram, pixel: [usize; 2], cell: &Cell, metric: Metric) {
    // In a narrow panel the table is scrolled.
    let area = ScrollArea::horizontal().id_salt("scores");
    area.show(ui, |ui| score_table(ui, diagram, pixel, cell, metric));
}

fn score_table(ui: &mut Ui, diagram: &Diagram, pixel: [usize; 2], cell: &Cell, metric: Metric) {
    Grid::new("scores").num_columns(5).spacing([8.0, 3.0]).striped(true).show(ui, |ui| {
        for heading in ["", "score", "± error", "best η", "diverged"] {
            ui.label(RichText::new(heading).small().weak());
        }
        ui.end_row();
        for (index, optimizer) in diagram.spec().optimizers.iter().enumerate() {
            let score = cell.score(index, metric);
            let error = cell.score_deviation(index, metric) / ((cell.replicates.max(2) - 1) as f64).sqrt();
            let [red, green, blue] = optimizer.rgb();
            ui.horizontal(|ui| {
                ui.label(RichText::new("■").color(Color32::from_rgb(red, green, blue)));
                ui.label(optimizer.label());
            });
            ui.label(number(score.value));
            ui.label(number(error));
            let rate = |rate| diagram.learning_rate(pixel, index, rate);
            let best = if score.value.is_finite() { rate(score.best_rate) } else { f64::NAN };
            let beyond = beyond(best, (0..cell.averages[index].len()).map(rate));
            let label = ui.label(format!("{beyond}{}", number(best)));
            if !beyond.is_empty() {
                label.on_hover_text("At the end of the learning rates that were tried: a better one may lie beyond.");
            }
            let runs = cell.averages[index].len() * cell.replicates;
            ui.label(match cell.diverged[index] {
                0 => "–".to_owned(),
                diverged => format!("{diverged}/{runs}"),
            });
            ui.end_row();
        }
    });
}

/// Three digits, in the width of a column.
fn number(value: f64) -> String {
    if value.is_nan() {
        "–".to_owned()
    } else if value.is_infinite() {
        "diverged".to_owned()
    } else if value != 0.0 && !(1e-3..1e4).contains(&value.abs()) {
        format!("{value:.2e}").replace('-', "−")
    } else {
        format!("{value:.4}").replace('-', "−")
    }
}

/// The average over learning rates, with standard errors.
fn curve(ui: &mut Ui, diagram: &Diagram, pixel: [usize; 2], cell: &Cell, metric: Metric) {
    let (_, name) = METRICS[metric as usize];
    let average = match diagram.spec().average {
        Average::Mean => "Mean",
        Average::Median => "Median",
    };
    ui.label(RichText::new(format!("{average} {name} over learning rate η")).small());
    let label = |mark: GridMark, _: &std::ops::RangeInclusive<f64>| {
        if mark.value.fract() == 0.0 { short(10_f64.powi(mark.value as i32)) } else { String::new() }
    };
    let scores = (0..diagram.spec().optimizers.len()).map(|index| cell.score(index, metric).value);
    let scores = scores.filter(|score| score.is_finite());
    let best = scores.clone().fold(f64::INFINITY, f64::min);
    let worst = scores.fold(f64::NEG_INFINITY, f64::max);
    // Learning rates far too large would flatten all that matters.
    let reach = (3.0 * (worst - best)).max(0.5 * best.abs().max(worst.abs())).max(1e-6);
    let height = ui.available_height().clamp(120.0, 260.0);
    let plot = Plot::new("learning rates")
        .height(height)
        .x_axis_formatter(label)
        .y_grid_spacer(labelled_grid(height))
        .y_axis_formatter(|mark, _| short(mark.value))
        .grid_color(ui.visuals().weak_text_color().gamma_multiply(0.35))
        .y_axis_min_width(40.0)
        .allow_scroll(false)
        .allow_drag(false)
        .allow_zoom(false)
        .allow_boxed_zoom(false)
        .auto_bounds([true, false]);
    let shown = match metric {
        Metric::FinalLoss | Metric::SmallestLoss => best - 0.15 * reach..=best + reach,
        Metric::Depth => worst - reach..=worst + 0.15 * reach,
    };
    let colors: Vec<Color32> = diagram.spec().optimizers.iter().map(|optimizer| legible(ui, optimizer.rgb())).collect();
    plot.show(ui, |plot| {
        // Another pixel has other bounds.
        if shown.start().is_finite() && shown.end().is_finite() {
            plot.set_plot_bounds_y(shown);
        }
        for (index, optimizer) in diagram.spec().optimizers.iter().enumerate() {
            let color = colors[index];
            let averages = cell.averages[index].iter().zip(&cell.deviations[index]).enumerate();
            let points = averages.filter_map(|(rate, (average, deviation))| {
                let (average, deviation) = (average[metric as usize], deviation[metric as usize]);
                let place = diagram.learning_rate(pixel, index, rate).log10();
                let error = deviation / ((cell.replicates.max(2) - 1) as f64).sqrt();
                average.is_finite().then_some((place, average, error))
            });
            let points: Vec<(f64, f64, f64)> = points.collect();
            for (place, average, error) in points.iter().filter(|point| point.2.is_finite()) {
                let bar = vec![[*place, average - error], [*place, average + error]];
                plot.line(Line::new("", PlotPoints::from(bar)).color(color).width(1.5));
            }
            let line: Vec<[f64; 2]> = points.iter().map(|(place, average, _)| [*place, *average]).collect();
            plot.line(Line::new(optimizer.label(), PlotPoints::from(line)).color(color).width(1.5));
            let score = cell.score(index, metric);
            if score.value.is_finite() {
                let place = diagram.learning_rate(pixel, index, score.best_rate).log10();
                let best = Points::new("", vec![[place, score.value]]).color(color).radius(4.0);
                plot.points(best.shape(MarkerShape::Diamond));
            }
        }
    });
}
