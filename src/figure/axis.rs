//! The axes of all figures: positions of ticks, and drawing of ticks and labels around a panel.

use valleyscope_experiments::view::AxisScale;
use valleyscope_experiments::view::ticks::{Tick, Ticks};

use super::canvas::{Anchor, Area, Canvas};
use super::font;
use super::scale::Mark;
use super::style::{LABEL_GAP, LINE, TICK};

// Lengths in font sizes.
const MINOR_TICK: f64 = 0.2;
/// The gap between labels beside each other.
const BETWEEN_LABELS: f64 = 0.35;
/// Height of a vertical axis for each of its labels.
const LABEL_HEIGHT: f64 = 1.8;
/// Width of a horizontal axis for each of its labels.
const LABEL_WIDTH: f64 = 4.0;

/// Returns the ticks of an axis from `low` to `high`, at most about `most`, but at least two wherever values can be
/// distinguished, as a single one does not show the scale.
pub(super) fn ticks(scale: AxisScale, [low, high]: [f64; 2], most: usize) -> Vec<Tick> {
    let marks = |most: usize| match scale {
        AxisScale::Linear => Ticks::linear(low, high, most).in_full(),
        AxisScale::Percent => Ticks::percent(low, high, most),
        AxisScale::Log => Ticks::log(low, high, most).in_full(),
        AxisScale::LogComplement => Ticks::log_complement(low, high, most).ticks,
        AxisScale::SymLog { .. } => Ticks::placed(scale, [low, high].map(|end| scale.place(end)), most as f64, 1.0),
        AxisScale::Clock => Ticks::clock(low, high, (high - low) / most as f64).ticks,
    };
    let tried = [most, most + 1, 2 * most, 3 * most].into_iter().map(marks);
    tried.into_iter().find(|marks| marks.len() >= 2).unwrap_or_else(|| marks(most))
}

/// Returns 2 to 9 times the powers of ten on a logarithmic axis of some decades, or their complements; none on other
/// axes.
pub(super) fn minor_values(scale: AxisScale, [low, high]: [f64; 2]) -> impl Iterator<Item = f64> {
    const MOST_DECADES: f64 = 6.0;
    let is_complement = scale == AxisScale::LogComplement;
    let [low, high] = if is_complement { [1.0 - high, 1.0 - low] } else { [low, high] };
    let few = (is_complement || scale == AxisScale::Log) && (high / low).log10() <= MOST_DECADES;
    let exponents = few.then(|| low.log10().floor() as i32..=high.log10().ceil() as i32).into_iter().flatten();
    let values = exponents.flat_map(|exponent| (2..10).map(move |digit| f64::from(digit) * 10_f64.powi(exponent)));
    let within = values.filter(move |value| (low..=high).contains(value));
    within.map(move |value| if is_complement { 1.0 - value } else { value })
}

/// The side of a panel at which an axis is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Bottom,
    Left,
    Right,
}

/// The drawn parts of labelled ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Parts {
    Ticks,
    Labels,
    Both,
}

/// An axis for drawing. Positions go from 0 at the left or lower end to 1.
#[derive(Clone, Debug)]
pub(super) struct Axis {
    pub label: String,
    pub marks: Vec<Mark>,
    /// Positions of ticks without labels.
    pub minor: Vec<f64>,
}

impl Axis {
    /// Returns an axis over a range of values, with at most about `most` unabbreviated labels.
    pub(super) fn new(
        label: &str,
        scale: AxisScale,
        range: [f64; 2],
        most: usize,
        position: impl Fn(f64) -> f64,
    ) -> Axis {
        Axis::over(label, scale, range, ticks(scale, range, most), position)
    }

    /// Returns an axis over a range of values with these ticks.
    pub(super) fn over(
        label: &str,
        scale: AxisScale,
        range: [f64; 2],
        ticks: impl IntoIterator<Item = Tick>,
        position: impl Fn(f64) -> f64,
    ) -> Axis {
        let mark = |tick: Tick| Mark { position: position(tick.value), label: tick.label };
        let marks = ticks.into_iter().map(mark).collect();
        Axis { label: label.to_owned(), marks, minor: minor_values(scale, range).map(&position).collect() }
    }

    /// Returns the axis, with a note of what its labels leave out.
    pub(super) fn with_note(mut self, note: Option<String>) -> Axis {
        if let Some(note) = note {
            self.label = format!("{} ({note})", self.label);
        }
        self
    }

    /// Returns the number of labels that fit on an axis of this height or width.
    pub(super) fn room(side: Side, length: f64, em: f64) -> usize {
        let each = if side == Side::Bottom { LABEL_WIDTH } else { LABEL_HEIGHT };
        ((length / (each * em)) as usize).clamp(2, 9)
    }

    /// Returns the width of the widest of its ticks' labels.
    pub(super) fn label_width(&self, em: f64) -> f64 {
        self.marks.iter().map(|mark| font::width(&mark.label, em)).fold(0.0, f64::max)
    }

    /// Returns the height of this axis below a panel, with the labels of its ticks and its own.
    pub(super) fn depth(em: f64) -> f64 {
        (TICK + LABEL_GAP) * em + 2.0 * LINE * em
    }

    /// Draws the labelled ticks at a side of a panel. Labels of a horizontal axis that would touch the previous ones
    /// are left out.
    pub(super) fn draw_marks(&self, canvas: &mut Canvas, area: Area, side: Side, parts: Parts, em: f64) {
        let mut free_from = f64::NEG_INFINITY;
        for Mark { position, label } in &self.marks {
            if parts != Parts::Labels {
                draw_tick(canvas, area, side, *position, TICK * em);
            }
            if parts == Parts::Ticks {
                continue;
            }
            let [x, y] = place(area, side, *position);
            match side {
                Side::Bottom => {
                    let half = font::width(label, em) / 2.0;
                    if free_from <= x - half {
                        canvas.text([x, label_line(area, em)], Anchor::Middle, label);
                        free_from = x + half + BETWEEN_LABELS * em;
                    }
                }
                Side::Left => canvas.text([x - (TICK + LABEL_GAP) * em, y], Anchor::End, label),
                Side::Right => canvas.text([x + (TICK + LABEL_GAP) * em, y], Anchor::Start, label),
            }
        }
    }

    pub(super) fn draw_minor_ticks(&self, canvas: &mut Canvas, area: Area, side: Side, em: f64) {
        for position in &self.minor {
            draw_tick(canvas, area, side, *position, MINOR_TICK * em);
        }
    }

    /// Draws the label of a horizontal axis below those of its ticks.
    pub(super) fn draw_label_below(&self, canvas: &mut Canvas, area: Area, em: f64) {
        let middle = [area.x + area.width / 2.0, label_line(area, em) + LINE * em];
        canvas.text_within(middle, area.width, &self.label);
    }

    /// Draws the label of a vertical axis in a line around `x`.
    pub(super) fn draw_label_upright(&self, canvas: &mut Canvas, area: Area, x: f64) {
        canvas.upright_text_within([x, area.y + area.height / 2.0], area.height, &self.label);
    }
}

/// Returns whether two labels of a horizontal axis have room beside each other, each given by its middle and half its
/// width.
pub(super) fn have_room([one, half_one]: [f64; 2], [next, half_next]: [f64; 2], em: f64) -> bool {
    one + half_one + BETWEEN_LABELS * em <= next - half_next
}

/// Returns the middle of the line of the labels below a panel.
fn label_line(area: Area, em: f64) -> f64 {
    area.bottom() + (TICK + LABEL_GAP + 0.5) * em
}

/// Returns the point of a position on the panel's edge.
fn place(area: Area, side: Side, position: f64) -> [f64; 2] {
    match side {
        Side::Bottom => [area.x + position * area.width, area.bottom()],
        Side::Left => [area.x, area.bottom() - position * area.height],
        Side::Right => [area.right(), area.bottom() - position * area.height],
    }
}

fn draw_tick(canvas: &mut Canvas, area: Area, side: Side, position: f64, length: f64) {
    let [x, y] = place(area, side, position);
    match side {
        Side::Bottom => canvas.line([x, y], [x, y + length]),
        Side::Left => canvas.line([x - length, y], [x, y]),
        Side::Right => canvas.line([x, y], [x + length, y]),
    }
}
