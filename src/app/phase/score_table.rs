//! The table of the scores of one pixel.

use std::sync::Arc;

use egui::text::{LayoutJob, TextWrapping};
use egui::{Color32, Galley, Grid, RichText, ScrollArea, TextFormat, TextStyle, Ui};
use valleyscope_engine::sweep::{Cell, Diagram, Metric};
use valleyscope_experiments::view::ticks::beyond;

use super::readout::number;

/// The space between columns, in points.
const BETWEEN: f32 = 8.0;
const HEADINGS: [&str; 4] = ["score", "± error", "best η", "diverged"];
/// A name that always has room beside the numbers, with its mark.
const SHORTEST_NAME: &str = "■ FOCUS, γ";
const BEYOND: &str = "At the end of the tried learning rates: a better one may be outside.";

/// The row of an optimizer.
struct Row {
    name: String,
    color: Color32,
    /// Score, error, best learning rate and diverged runs.
    numbers: [String; 4],
    /// Whether a better learning rate may be beyond the tried ones.
    is_beyond: bool,
}

/// Shows the scores of all optimizers. In a narrow panel the names are above the table.
pub(super) fn show(ui: &mut Ui, diagram: &Diagram, pixel: [usize; 2], cell: &Cell, metric: Metric, colors: &[[u8; 3]]) {
    let rows = rows(diagram, pixel, cell, metric, colors);
    let width = |text: &str, style| one_line(ui, text, style, f32::INFINITY).size().x;
    let widths = |style: &TextStyle| -> f32 {
        let column = |index: usize| {
            let numbers = rows.iter().map(|row| width(&row.numbers[index], style.clone()));
            numbers.fold(width(HEADINGS[index], TextStyle::Small), f32::max)
        };
        (0..HEADINGS.len()).map(|index| column(index) + BETWEEN).sum()
    };
    let room = ui.available_width() - ui.spacing().scroll.allocated_width();
    let beside = room - widths(&TextStyle::Body);
    let is_wide = beside >= width(SHORTEST_NAME, TextStyle::Body);
    let style = if is_wide || widths(&TextStyle::Body) <= room { TextStyle::Body } else { TextStyle::Small };
    ScrollArea::horizontal().id_salt("scores").show(ui, |ui| {
        if is_wide {
            wide(ui, &rows, beside);
        } else {
            narrow(ui, &rows, room, &style);
        }
    });
}

fn rows(diagram: &Diagram, pixel: [usize; 2], cell: &Cell, metric: Metric, colors: &[[u8; 3]]) -> Vec<Row> {
    let spec = diagram.spec();
    let names = spec.shown_names().into_iter().zip(colors).enumerate();
    let row = |(index, (name, &[red, green, blue])): (usize, (String, &[u8; 3]))| {
        let score = cell.score(index, metric);
        let error = cell.score_deviation(index, metric)
            / ((cell.replicates_of(index, score.best_rate).max(2) - 1) as f64).sqrt();
        let rate = |rate| diagram.learning_rate(pixel, index, rate);
        let best = if score.value.is_finite() { rate(score.best_rate) } else { f64::NAN };
        let beyond = beyond(best, (0..cell.averages[index].len()).map(rate));
        let runs: usize = (0..cell.averages[index].len()).map(|rate| cell.replicates_of(index, rate)).sum();
        let diverged = match cell.diverged[index] {
            0 => "–".to_owned(),
            diverged => format!("{diverged}/{runs}"),
        };
        Row {
            name,
            color: Color32::from_rgb(red, green, blue),
            is_beyond: !beyond.is_empty(),
            numbers: [number(score.value), number(error), format!("{beyond}{}", number(best)), diverged],
        }
    };
    names.map(row).collect()
}

/// Shows names beside their numbers. `width` is the room of a name with its mark.
fn wide(ui: &mut Ui, rows: &[Row], width: f32) {
    Grid::new("scores").num_columns(1 + HEADINGS.len()).spacing([BETWEEN, 3.0]).striped(true).show(ui, |ui| {
        ui.label("");
        headings(ui);
        for row in rows {
            name(ui, row, width);
            numbers(ui, row, &TextStyle::Body);
        }
    });
}

/// Shows the names above the table, whose rows begin with their marks.
fn narrow(ui: &mut Ui, rows: &[Row], width: f32, style: &TextStyle) {
    for row in rows {
        name(ui, row, width);
    }
    ui.add_space(3.0);
    Grid::new("scores").num_columns(1 + HEADINGS.len()).spacing([BETWEEN, 3.0]).striped(true).show(ui, |ui| {
        ui.label("");
        headings(ui);
        for row in rows {
            ui.label(RichText::new("■").color(row.color)).on_hover_text(&row.name);
            numbers(ui, row, style);
        }
    });
}

fn headings(ui: &mut Ui) {
    for heading in HEADINGS {
        ui.label(RichText::new(heading).small().weak());
    }
    ui.end_row();
}

fn name(ui: &mut Ui, row: &Row, width: f32) {
    ui.horizontal(|ui| {
        let mark = ui.label(RichText::new("■").color(row.color));
        let room = width - mark.rect.width() - ui.spacing().item_spacing.x;
        // The pointer shows a shortened name in full.
        ui.label(one_line(ui, &row.name, TextStyle::Body, room));
    });
}

fn numbers(ui: &mut Ui, row: &Row, style: &TextStyle) {
    for (index, text) in row.numbers.iter().enumerate() {
        let label = ui.label(RichText::new(text).text_style(style.clone()));
        if index == 2 && row.is_beyond {
            label.on_hover_text(BEYOND);
        }
    }
    ui.end_row();
}

/// Lays out a text in one line, shortened where it is wider than `width`.
fn one_line(ui: &Ui, text: &str, style: TextStyle, width: f32) -> Arc<Galley> {
    let format = TextFormat::simple(style.resolve(ui.style()), ui.visuals().text_color());
    let mut job = LayoutJob::single_section(text.to_owned(), format);
    job.wrap = TextWrapping::truncate_at_width(width);
    ui.painter().layout_job(job)
}
