//! Axes with ticks and labels, and colour bars.

use egui::{Align, Align2, Mesh, Pos2, Rect, Shape, pos2, vec2};
use valleyscope_experiments::view::AxisScale;
use valleyscope_experiments::view::ticks::{Tick, Ticks};

use super::canvas::{Canvas, LINE, area, rgb};
use super::scale::{Mark, Scale};

// Lengths in font sizes.
/// Length of a labelled tick.
pub(crate) const TICK: f32 = 0.35;
const MINOR_TICK: f32 = 0.2;
/// The gap between a tick and its label.
pub(crate) const LABEL_GAP: f32 = 0.25;
/// The gap between labels beside each other.
const BETWEEN_LABELS: f32 = 0.35;
/// Height of a vertical axis, of a colour bar, and width of a horizontal axis for each of its labels.
const LABEL_HEIGHT: f32 = 1.8;
const BAR_LABEL_HEIGHT: f32 = 2.2;
const LABEL_WIDTH: f32 = 4.0;

/// The side of a panel at which an axis is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Bottom,
    Left,
    Right,
}

/// The drawn parts of labelled ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Parts {
    Ticks,
    Labels,
    Both,
}

impl Parts {
    pub(crate) fn labelled(is_labelled: bool) -> Parts {
        if is_labelled { Parts::Both } else { Parts::Ticks }
    }
}

/// An axis for drawing. Positions go from 0 at the left or lower end to 1.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    pub label: String,
    pub marks: Vec<Mark>,
    /// Positions of ticks without labels.
    pub minor: Vec<f64>,
}

impl Axis {
    pub(crate) fn over(
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

    /// The axis, with a note of what its labels leave out.
    pub(crate) fn with_note(mut self, note: Option<String>) -> Axis {
        if let Some(note) = note {
            self.label = format!("{} ({note})", self.label);
        }
        self
    }

    /// The number of labels that fit on an axis of this height or width.
    pub(crate) fn room(side: Side, length: f32, em: f32) -> usize {
        let each = if side == Side::Bottom { LABEL_WIDTH } else { LABEL_HEIGHT };
        ((length / (each * em)) as usize).clamp(2, 9)
    }

    /// The width of the widest of its ticks' labels.
    pub(crate) fn label_width(&self, canvas: &Canvas) -> f32 {
        canvas.widest(self.marks.iter().map(|mark| mark.label.as_str()))
    }

    /// The height of this axis below a panel, with the labels of its ticks and its own.
    pub(crate) fn depth(em: f32) -> f32 {
        (TICK + LABEL_GAP + 2.0 * LINE) * em
    }

    /// Draws ticks and labels at a side of a panel. Labels of a horizontal axis that would touch the previous ones are
    /// left out.
    pub(crate) fn draw(&self, canvas: &Canvas, panel: Rect, side: Side, parts: Parts) {
        let em = canvas.style.em;
        let mut free_from = f32::NEG_INFINITY;
        for Mark { position, label } in &self.marks {
            if parts != Parts::Labels {
                draw_tick(canvas, panel, side, *position, TICK * em);
            }
            if parts == Parts::Ticks {
                continue;
            }
            let at = point_at(panel, side, *position);
            let away = vec2((TICK + LABEL_GAP) * em, 0.0);
            match side {
                Side::Bottom => {
                    let half = canvas.width(label) / 2.0;
                    if free_from <= at.x - half {
                        canvas.text(pos2(at.x, label_line(panel, em)), Align::Center, label);
                        free_from = at.x + half + BETWEEN_LABELS * em;
                    }
                }
                Side::Left => drop(canvas.text(at - away, Align::RIGHT, label)),
                Side::Right => drop(canvas.text(at + away, Align::LEFT, label)),
            }
        }
        if parts != Parts::Labels {
            self.minor.iter().for_each(|position| draw_tick(canvas, panel, side, *position, MINOR_TICK * em));
        }
    }

    /// The areas of the labels at the left of a panel.
    pub(crate) fn labels_at_left(&self, canvas: &Canvas, panel: Rect) -> impl Iterator<Item = Rect> {
        let away = vec2((TICK + LABEL_GAP) * canvas.style.em, 0.0);
        self.marks.iter().map(move |Mark { position, label }| {
            let size = vec2(canvas.width(label), canvas.style.em);
            Align2::RIGHT_CENTER.anchor_size(point_at(panel, Side::Left, *position) - away, size)
        })
    }

    /// Draws the label of a horizontal axis below those of its ticks. Returns its area.
    pub(crate) fn draw_label_below(&self, canvas: &Canvas, panel: Rect) -> Rect {
        let middle = pos2(panel.center().x, label_line(panel, canvas.style.em) + LINE * canvas.style.em);
        canvas.text_within(middle, Align::Center, panel.width(), &self.label)
    }

    /// Draws the label of a vertical axis in a line around `x`. Returns its area.
    pub(crate) fn draw_label_upright(&self, canvas: &Canvas, panel: Rect, x: f32) -> Rect {
        canvas.upright_text_within(pos2(x, panel.center().y), panel.height(), &self.label)
    }

    /// Draws the label of an axis at the left, beside those of its ticks. Returns its area.
    pub(crate) fn draw_label_beside(&self, canvas: &Canvas, panel: Rect) -> Rect {
        let away = (TICK + LABEL_GAP + 0.6 * LINE) * canvas.style.em + self.label_width(canvas);
        self.draw_label_upright(canvas, panel, panel.left() - away)
    }
}

/// Whether two labels of a horizontal axis have room beside each other, each given by its middle and half its width.
pub(crate) fn have_room([one, half_one]: [f32; 2], [next, half_next]: [f32; 2], em: f32) -> bool {
    one + half_one + BETWEEN_LABELS * em <= next - half_next
}

fn label_line(panel: Rect, em: f32) -> f32 {
    panel.bottom() + (TICK + LABEL_GAP + 0.5) * em
}

fn point_at(panel: Rect, side: Side, position: f64) -> Pos2 {
    let position = position as f32;
    match side {
        Side::Bottom => pos2(panel.left() + position * panel.width(), panel.bottom()),
        Side::Left => pos2(panel.left(), panel.bottom() - position * panel.height()),
        Side::Right => pos2(panel.right(), panel.bottom() - position * panel.height()),
    }
}

fn draw_tick(canvas: &Canvas, panel: Rect, side: Side, position: f64, length: f32) {
    let at = point_at(panel, side, position);
    canvas.line(match side {
        Side::Bottom => [at, at + vec2(0.0, length)],
        Side::Left => [at - vec2(length, 0.0), at],
        Side::Right => [at, at + vec2(length, 0.0)],
    });
}

/// The ticks of an axis from `low` to `high`, at most about `most`, but at least two wherever values can be
/// distinguished, as a single one does not show the scale.
pub(crate) fn ticks(scale: AxisScale, [low, high]: [f64; 2], most: usize) -> Vec<Tick> {
    let marks = |most: usize| match scale {
        AxisScale::Linear => Ticks::linear(low, high, most).in_full(),
        AxisScale::Percent => Ticks::percent(low, high, most),
        AxisScale::Log => log_ticks(low, high, most),
        AxisScale::LogComplement => Ticks::log_complement(low, high, most).ticks,
        AxisScale::SymLog { .. } => Ticks::placed(scale, [low, high].map(|end| scale.position(end)), most as f64, 1.0),
        AxisScale::Clock => Ticks::clock(low, high, (high - low) / most as f64).ticks,
    };
    let tried = [most, most + 1, 2 * most, 3 * most].into_iter().map(marks);
    tried.into_iter().find(|marks| marks.len() >= 2).unwrap_or_else(|| marks(most))
}

/// The ticks of a logarithmic axis: as on a linear one where less than a decade holds few of 1, 2 and 5 times the
/// powers of ten.
fn log_ticks(low: f64, high: f64, most: usize) -> Vec<Tick> {
    const FEWEST: usize = 3;
    let ticks = Ticks::log(low, high, most).in_full();
    let is_short = ticks.len() < FEWEST && high < 10.0 * low;
    if is_short { Ticks::linear(low, high, most.min(5)).in_full() } else { ticks }
}

/// 2 to 9 times the powers of ten on a logarithmic axis of some decades, or their complements; none on other axes.
pub(crate) fn minor_values(scale: AxisScale, [low, high]: [f64; 2]) -> impl Iterator<Item = f64> {
    const MOST_DECADES: f64 = 6.0;
    let is_complement = scale == AxisScale::LogComplement;
    let [low, high] = if is_complement { [1.0 - high, 1.0 - low] } else { [low, high] };
    let few = (is_complement || scale == AxisScale::Log) && (high / low).log10() <= MOST_DECADES;
    let exponents = few.then(|| low.log10().floor() as i32..=high.log10().ceil() as i32).into_iter().flatten();
    let values = exponents.flat_map(|exponent| (2..10).map(move |digit| f64::from(digit) * 10_f64.powi(exponent)));
    let within = values.filter(move |value| (low..=high).contains(value));
    within.map(move |value| if is_complement { 1.0 - value } else { value })
}

// Lengths in font sizes.
/// The gap between the panel and the bar.
const BESIDE: f32 = 0.9;
const WIDTH: f32 = 1.1;
/// The number of colour steps along the bar.
const SHADES: u32 = 128;

/// A colour scale with its label.
#[derive(Clone, Debug)]
pub(crate) struct ColorBar {
    pub scale: Scale,
    pub label: String,
}

impl ColorBar {
    fn axis(&self, height: f32, em: f32) -> Axis {
        let (marks, note) = self.scale.marks(((height / (BAR_LABEL_HEIGHT * em)) as usize).clamp(2, 9));
        Axis { label: self.label.clone(), marks, minor: Vec::new() }.with_note(note)
    }

    /// The width from the panel to the right end of its label.
    pub(crate) fn width(&self, canvas: &Canvas, height: f32) -> f32 {
        let em = canvas.style.em;
        (BESIDE + WIDTH + TICK + LABEL_GAP + LINE) * em + self.axis(height, em).label_width(canvas)
    }

    /// Draws it to the right of a panel. Returns the area of its colours.
    pub(crate) fn draw(&self, canvas: &Canvas, panel: Rect) -> Rect {
        let em = canvas.style.em;
        let bar = area(panel.right() + BESIDE * em, panel.top(), WIDTH * em, panel.height());
        let (bar, axis) = self.draw_strip(canvas, bar);
        let x = bar.right() + (TICK + LABEL_GAP + 0.6 * LINE) * em + axis.label_width(canvas);
        axis.draw_label_upright(canvas, panel, x);
        bar
    }

    /// Draws colours and ticks without the label. Returns the area of the colours, and the axis beside them.
    pub(crate) fn draw_strip(&self, canvas: &Canvas, whole: Rect) -> (Rect, Axis) {
        let tip = 0.8 * whole.width();
        let [below, above] = self.scale.beyond();
        let mut bar = whole;
        bar.min.y += if above { tip } else { 0.0 };
        bar.max.y -= if below { tip } else { 0.0 };
        canvas.painter.add(gradient(bar, &self.scale));
        // A triangle at an end beyond which values lie.
        for (there, base, end, position) in
            [(below, bar.bottom(), whole.bottom(), 0.0), (above, bar.top(), whole.top(), 1.0)]
        {
            if there {
                let corners = vec![pos2(bar.left(), base), pos2(bar.center().x, end), pos2(bar.right(), base)];
                canvas.painter.add(Shape::convex_polygon(corners, rgb(self.scale.rgb_at(position)), canvas.style.line));
            }
        }
        canvas.frame(bar);
        let axis = self.axis(bar.height(), canvas.style.em);
        axis.draw(canvas, bar, Side::Right, Parts::Both);
        (bar, axis)
    }
}

/// The colours of a scale from below upwards as one mesh.
fn gradient(bar: Rect, scale: &Scale) -> Shape {
    let mut mesh = Mesh::default();
    for shade in 0..=SHADES {
        let part = shade as f32 / SHADES as f32;
        let color = rgb(scale.rgb_at(f64::from(part)));
        let y = bar.bottom() - part * bar.height();
        mesh.colored_vertex(pos2(bar.left(), y), color);
        mesh.colored_vertex(pos2(bar.right(), y), color);
        if shade > 0 {
            let corner = 2 * shade;
            mesh.add_triangle(corner - 2, corner - 1, corner);
            mesh.add_triangle(corner - 1, corner, corner + 1);
        }
    }
    Shape::mesh(mesh)
}
