//! The table of the scores of one pixel.

use std::sync::Arc;

use egui::text::{LayoutJob, TextWrapping};
use egui::{
    Align2, Color32, Galley, Label, Rect, Response, ScrollArea, TextFormat, TextStyle, Ui, UiBuilder, pos2, vec2,
};
use valleyscope_engine::quantity::{LearningRate, Range};
use valleyscope_engine::sweep::{LearningRates, Tuned, tuned_info};
use valleyscope_experiments::view::ticks::{RangeEdge, with_edge};

use super::readout::PixelScores;
use crate::draw::rgb;

/// The space between columns, in points.
const BETWEEN: f32 = 8.0;
/// The space above and below the text of a row, in points.
const ABOVE: f32 = 2.0;
const HEADINGS: [&str; 4] = ["score", "± error", "best η", "diverged"];
/// The heading of diverged runs in small type, where their number stands without that of all runs.
const DIVERGED_IN_SHORT: &str = "div.";
const BEST_RATE: usize = 2;
const DIVERGED: usize = 3;
const MARK: &str = "■ ";
/// A shortened name that always has room beside the numbers, with its mark.
const SHORTEST_NAME: &str = "■ Signum";
/// The sideways shift of a second drawing of the winner's row, which makes it bold, in points.
const BOLD: f32 = 0.5;

/// The end of the tried values of a setting at which the best one of an optimizer lies.
pub(super) struct BestEdge {
    pub edge: RangeEdge,
    /// A sentence that names the range to widen and the command for it.
    pub note: String,
}

impl BestEdge {
    /// Returns that of the learning rate and those of the tuned settings of an optimizer.
    pub(super) fn all(scores: &PixelScores<'_>, index: usize) -> Vec<BestEdge> {
        let tuned = 0..scores.optimizers()[index].tune.len();
        let of_tuned = tuned.filter_map(|setting| BestEdge::of_tuned(scores, index, setting));
        BestEdge::of_rate(scores, index).into_iter().chain(of_tuned).collect()
    }

    fn of_rate(scores: &PixelScores<'_>, index: usize) -> Option<BestEdge> {
        let rate = |candidate: usize| scores.diagram.learning_rate(scores.pixel, index, candidate);
        let score = scores.score(index);
        let edge = RangeEdge::of(rate(score.best), (0..scores.cell.averages[index].len()).map(rate));
        let LearningRates { from, to, .. } = scores.optimizers()[index].learning_rates;
        let Range { min, max, .. } = LearningRate::RANGE;
        let ends = [from.get(), to.get()];
        let edge = edge.filter(|_| score.value.is_finite())?.unless_limit([min, max])?;
        Some(BestEdge::new(edge, "η", "the learning rates", &format!("optimizers[{index}].learning_rates"), ends))
    }

    pub(super) fn of_tuned(scores: &PixelScores<'_>, index: usize, setting: usize) -> Option<BestEdge> {
        let Tuned { of, from, to, .. } = scores.optimizers()[index].tune[setting];
        let (score, diagram) = (scores.score(index), scores.diagram);
        let best = diagram.tuned_value(index, setting, score.best);
        let edge = RangeEdge::of(best, diagram.tuned_values(index)[setting].iter().copied());
        let info = tuned_info(of);
        let Range { min, max, .. } = info.range()?;
        let edge = edge.filter(|_| score.value.is_finite())?.unless_limit([min, max])?;
        let symbol = info.symbol;
        let values = format!("the values of {symbol}");
        Some(BestEdge::new(edge, symbol, &values, &format!("optimizers[{index}].tune[{setting}]"), [from, to]))
    }

    /// Describes the edge of the values at a path in the sweep, from one of these ends to the other.
    fn new(edge: RangeEdge, symbol: &str, values: &str, path: &str, [from, to]: [f64; 2]) -> BestEdge {
        let end = if edge.is_low() == (from <= to) { "from" } else { "to" };
        let sentence = edge.sentence(values);
        BestEdge {
            edge, note: format!("best {symbol} {sentence} under “Optimizers”, or by --set {path}.{end}=VALUE")
        }
    }
}

/// Formats a number with three digits, in the width of a column.
pub(super) fn number(value: f64) -> String {
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

/// The row of an optimizer.
struct Row {
    name: String,
    color: Color32,
    /// Score, error, best learning rate and diverged runs.
    numbers: [String; 4],
    /// The end of the tried learning rates at which the best one lies.
    edge: Option<BestEdge>,
    is_winner: bool,
}

/// The rows and their layout.
struct Table {
    rows: Vec<Row>,
    style: TextStyle,
    /// The width of the names with their marks.
    name_width: f32,
    /// The shown columns of numbers, with their widths.
    columns: Vec<(usize, f32)>,
}

/// Shows the scores of all optimizers. The headings stay visible while the rows are scrolled.
pub(super) fn show(ui: &mut Ui, scores: &PixelScores<'_>) {
    let table = Table::of(ui, rows(scores));
    if table.width() <= ui.available_width() {
        table.show(ui);
        return;
    }
    ScrollArea::horizontal().id_salt("scores").show(ui, |ui| {
        table.show(ui);
        // Otherwise the scroll bar would cover the last row.
        ui.add_space(ui.spacing().scroll.bar_width);
    });
}

fn rows(scores: &PixelScores<'_>) -> Vec<Row> {
    let PixelScores { diagram, pixel, cell, metric, .. } = *scores;
    let winner = cell.comparison(metric).winner;
    let names = scores.names.iter().zip(scores.colors).enumerate();
    let row = |(index, (name, color)): (usize, (&String, &[u8; 3]))| {
        let score = scores.score(index);
        let error = scores.error(index, score.best, cell.score_deviation(index, metric));
        let best = if score.value.is_finite() { diagram.learning_rate(pixel, index, score.best) } else { f64::NAN };
        let edge = BestEdge::of_rate(scores, index);
        let runs: usize = (0..cell.averages[index].len()).map(|candidate| cell.replicates_of(index, candidate)).sum();
        let diverged = match cell.diverged[index] {
            0 => "–".to_owned(),
            diverged => format!("{diverged}/{runs}"),
        };
        Row {
            name: name.clone(),
            color: rgb(*color),
            is_winner: winner == Some(index),
            numbers: [
                number(score.value),
                number(error),
                with_edge(edge.as_ref().map(|it| it.edge), &number(best)),
                diverged,
            ],
            edge,
        }
    };
    names.map(row).collect()
}

/// Returns the heading of a column in this type.
fn heading(column: usize, style: &TextStyle) -> &'static str {
    if column == DIVERGED && *style == TextStyle::Small { DIVERGED_IN_SHORT } else { HEADINGS[column] }
}

impl Row {
    /// Returns a number in this type.
    fn number(&self, column: usize, style: &TextStyle) -> &str {
        let number = self.numbers[column].as_str();
        let is_short = column == DIVERGED && *style == TextStyle::Small;
        number.split_once('/').filter(|_| is_short).map_or(number, |(diverged, _)| diverged)
    }
}

impl Table {
    /// Lays out rows in the available width, in small type where it is narrow. Diverged runs have a column if there are
    /// some.
    fn of(ui: &Ui, rows: Vec<Row>) -> Table {
        let width = |text: &str, style: &TextStyle| line(ui, text, style, Color32::PLACEHOLDER, f32::INFINITY).size().x;
        let has_diverged = rows.iter().any(|row| row.numbers[DIVERGED] != "–");
        let columns = |style: &TextStyle| -> Vec<(usize, f32)> {
            let shown = (0..HEADINGS.len()).filter(|column| *column != DIVERGED || has_diverged);
            let widest = |column: usize| {
                let numbers = rows.iter().map(|row| width(row.number(column, style), style));
                (column, numbers.fold(width(heading(column, style), &TextStyle::Small), f32::max).ceil())
            };
            shown.map(widest).collect()
        };
        let room = |columns: &[(usize, f32)]| {
            ui.available_width() - columns.iter().map(|(_, width)| width + BETWEEN).sum::<f32>() - 2.0 * ABOVE
        };
        let widest = |style: &TextStyle| {
            let names = rows.iter().map(|row| width(&format!("{MARK}{}", row.name), style));
            names.fold(0.0, f32::max).ceil() + 1.0
        };
        let usual = columns(&TextStyle::Body);
        let fits = room(&usual) >= widest(&TextStyle::Body);
        let style = if fits { TextStyle::Body } else { TextStyle::Small };
        let columns = if fits { usual } else { columns(&style) };
        let least = widest(&style).min(width(SHORTEST_NAME, &style));
        let name_width = room(&columns).max(least);
        Table { rows, style, name_width, columns }
    }

    fn width(&self) -> f32 {
        self.name_width + self.columns.iter().map(|(_, width)| width + BETWEEN).sum::<f32>() + 2.0 * ABOVE
    }

    fn show(&self, ui: &mut Ui) {
        let height = ui.text_style_height(&self.style) + 2.0 * ABOVE;
        let size = vec2(self.width(), height * (1 + self.rows.len()) as f32);
        let area = Rect::from_min_size(ui.cursor().min, size);
        ui.scope_builder(UiBuilder::new().max_rect(area), |ui| {
            ui.expand_to_include_rect(area);
            let at = |y: f32| Rect::from_min_size(pos2(area.left(), y), vec2(area.width(), height));
            for (index, row) in self.rows.iter().enumerate() {
                let area = at(area.top() + height * (index + 1) as f32);
                if index % 2 == 0 {
                    ui.painter().rect_filled(area, 3.0, ui.visuals().faint_bg_color);
                }
                self.show_row(ui, row, area.shrink(ABOVE));
            }
            let last = area.bottom() - 2.0 * height;
            let top = ui.clip_rect().top().min(last).max(area.top());
            if top > area.top() {
                ui.painter().rect_filled(at(top), 0.0, ui.visuals().panel_fill);
            }
            self.show_headings(ui, at(top).shrink(ABOVE));
        });
    }

    fn cells(&self, row: Rect) -> impl Iterator<Item = (usize, Rect)> {
        let mut right = row.left() + self.name_width;
        self.columns.iter().map(move |&(column, width)| {
            right += BETWEEN + width;
            (column, Rect::from_x_y_ranges(right - width..=right, row.y_range()))
        })
    }

    fn show_headings(&self, ui: &mut Ui, area: Rect) {
        let color = ui.visuals().weak_text_color();
        for (column, area) in self.cells(area) {
            let text = line(ui, heading(column, &self.style), &TextStyle::Small, color, f32::INFINITY);
            let response = put_right(ui, area, text);
            if column == DIVERGED {
                response.on_hover_text("Diverged runs, of those of all learning rates and tuned values");
            }
        }
    }

    fn show_row(&self, ui: &mut Ui, row: &Row, area: Rect) {
        let color = if row.is_winner { ui.visuals().strong_text_color() } else { ui.visuals().text_color() };
        let mark = line(ui, MARK, &self.style, row.color, f32::INFINITY);
        let after = mark.size().x;
        let center = |galley: &Galley| area.center().y - galley.size().y / 2.0;
        ui.painter().galley(pos2(area.left(), center(&mark)), mark, row.color);
        let name = line(ui, &row.name, &self.style, color, self.name_width - after);
        let at = Rect::from_min_size(pos2(area.left() + after, center(&name)), name.size());
        // The pointer shows a shortened name in full.
        ui.put(at, Label::new(Arc::clone(&name)));
        embolden(ui, row, at, name);
        for (column, area) in self.cells(area) {
            let number = line(ui, row.number(column, &self.style), &self.style, color, f32::INFINITY);
            let response = put_right(ui, area, Arc::clone(&number));
            embolden(ui, row, response.rect, number);
            if let (BEST_RATE, Some(edge)) = (column, &row.edge) {
                response.on_hover_text(&edge.note);
            } else if column == DIVERGED {
                response.on_hover_text(&row.numbers[column]);
            }
        }
    }
}

/// Draws a text of the winner's row again beside itself.
fn embolden(ui: &Ui, row: &Row, area: Rect, text: Arc<Galley>) {
    if row.is_winner {
        ui.painter().galley(area.min + vec2(BOLD, 0.0), text, ui.visuals().strong_text_color());
    }
}

/// Shows a text at the right end of its area.
fn put_right(ui: &mut Ui, area: Rect, text: Arc<Galley>) -> Response {
    ui.put(Align2::RIGHT_CENTER.align_size_within_rect(text.size(), area), Label::new(text))
}

/// Lays out a text in one line, shortened where it is wider than `width`.
fn line(ui: &Ui, text: &str, style: &TextStyle, color: Color32, width: f32) -> Arc<Galley> {
    let format = TextFormat::simple(style.resolve(ui.style()), color);
    let mut job = LayoutJob::single_section(text.to_owned(), format);
    job.wrap = TextWrapping::truncate_at_width(width);
    ui.painter().layout_job(job)
}
