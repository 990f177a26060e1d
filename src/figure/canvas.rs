//! The elements of figures as SVG text: shapes and texts, axes with ticks, and colour bars. Lengths are in points, y
//! downwards.

use std::collections::BTreeSet;
use std::fmt::Write;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use valleyscope_engine::optimizer::{Marker, MarkerShape};
use valleyscope_experiments::view::ticks::{Tick, Ticks};
use valleyscope_experiments::view::{AxisScale, Dash};

use super::files::Markup;
use super::map::{MapImage, Mark, Scale};
use super::{FigureError, files};

/// A rectangle.
#[derive(Clone, Copy, Debug)]
pub(super) struct Area {
    pub x: f64,
    pub y: f64,
    pub width: f64,
    pub height: f64,
}

impl Area {
    pub(super) fn right(self) -> f64 {
        self.x + self.width
    }

    pub(super) fn bottom(self) -> f64 {
        self.y + self.height
    }
}

/// The point of a text that is at the given position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// The stroke of a path.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stroke {
    pub color: [u8; 3],
    pub width: f64,
    pub dash: Dash,
    /// The opacity, from 0 to 1.
    pub opacity: f64,
}

/// Collects elements.
pub(super) struct Canvas {
    pub body: String,
    /// Whether some text is set in fonts of the system.
    pub uses_system_fonts: bool,
    /// The characters of texts that no font has.
    pub blank: BTreeSet<char>,
    font_size: f64,
    gradients: usize,
    clips: usize,
}

/// The distance from the middle of a line of text down to its baseline, in font sizes.
const BASELINE: f64 = 0.36;
const LINE_WIDTH: f64 = 0.6;
/// A diagonal cross, from the end of one arm around.
const CROSS: [[f64; 2]; 12] = [
    [-1.2, -0.7],
    [-0.7, -1.2],
    [0.0, -0.5],
    [0.7, -1.2],
    [1.2, -0.7],
    [0.5, 0.0],
    [1.2, 0.7],
    [0.7, 1.2],
    [0.0, 0.5],
    [-0.7, 1.2],
    [-1.2, 0.7],
    [-0.5, 0.0],
];
/// Five points, from the top around.
const PLUS: [[f64; 2]; 12] = [
    [-0.35, -1.35],
    [0.35, -1.35],
    [0.35, -0.35],
    [1.35, -0.35],
    [1.35, 0.35],
    [0.35, 0.35],
    [0.35, 1.35],
    [-0.35, 1.35],
    [-0.35, 0.35],
    [-1.35, 0.35],
    [-1.35, -0.35],
    [-0.35, -0.35],
];
const STAR: [[f64; 2]; 10] = [
    [0.0, -1.5],
    [0.38, -0.53],
    [1.43, -0.46],
    [0.62, 0.2],
    [0.88, 1.21],
    [0.0, 0.65],
    [-0.88, 1.21],
    [-0.62, 0.2],
    [-1.43, -0.46],
    [-0.38, -0.53],
];
/// Colours of a bar between which the viewer interpolates.
const STOPS: usize = 32;

/// Returns the corners of a marker of radius 1, y downwards; `None` for the circle. All shapes have about equal areas.
pub(crate) fn marker_corners(shape: MarkerShape) -> Option<&'static [[f64; 2]]> {
    Some(match shape {
        MarkerShape::Circle => return None,
        MarkerShape::Square => &[[-0.88, -0.88], [0.88, -0.88], [0.88, 0.88], [-0.88, 0.88]],
        MarkerShape::Triangle => &[[0.0, -1.3], [1.2, 0.85], [-1.2, 0.85]],
        MarkerShape::Diamond => &[[0.0, -1.3], [1.3, 0.0], [0.0, 1.3], [-1.3, 0.0]],
        MarkerShape::Cross => &CROSS,
        MarkerShape::Star => &STAR,
        MarkerShape::Plus => &PLUS,
        MarkerShape::Down => &[[0.0, 1.3], [-1.2, -0.85], [1.2, -0.85]],
        MarkerShape::Left => &[[-1.3, 0.0], [0.85, -1.2], [0.85, 1.2]],
        MarkerShape::Right => &[[1.3, 0.0], [-0.85, 1.2], [-0.85, -1.2]],
    })
}

impl Canvas {
    pub(super) fn new(font_size: f64) -> Canvas {
        Canvas {
            body: String::new(),
            uses_system_fonts: false,
            blank: BTreeSet::new(),
            font_size,
            gradients: 0,
            clips: 0,
        }
    }

    fn push(&mut self, element: std::fmt::Arguments<'_>) {
        writeln!(self.body, "{element}").expect("a string takes all that is written");
    }

    pub(super) fn line(&mut self, from: [f64; 2], to: [f64; 2]) {
        let ([x1, y1], [x2, y2]) = (from, to);
        self.push(format_args!(
            r##"<path d="M{x1:.3} {y1:.3}L{x2:.3} {y2:.3}" stroke="#000" stroke-width="{LINE_WIDTH}"/>"##
        ));
    }

    /// Draws lines as one path, each through its points.
    pub(super) fn path(&mut self, lines: &[Vec<[f64; 2]>], stroke: Stroke) {
        let mut data = String::new();
        for (index, [x, y]) in lines.iter().flat_map(|line| line.iter().enumerate()) {
            let command = if index == 0 { 'M' } else { 'L' };
            write!(data, "{command}{x:.3} {y:.3}").expect("a string takes all that is written");
        }
        let (color, width) = (hex(stroke.color), stroke.width);
        let opacity =
            if stroke.opacity < 1.0 { format!(r#" stroke-opacity="{}""#, stroke.opacity) } else { String::new() };
        let lengths: Vec<String> = stroke.dash.lengths().iter().map(|length| (length * width).to_string()).collect();
        let dashes = match lengths.is_empty() {
            true => String::new(),
            false => format!(r#" stroke-dasharray="{}""#, lengths.join(" ")),
        };
        self.push(format_args!(
            r#"<path d="{data}" fill="none" stroke="{color}" stroke-width="{width}" stroke-linejoin="round"{dashes}{opacity}/>"#
        ));
    }

    /// Fills the polygon of these points.
    pub(super) fn filled(&mut self, points: &[[f64; 2]], color: [u8; 3], opacity: f64) {
        let points = points.iter().map(|[x, y]| format!("{x:.3},{y:.3}")).collect::<Vec<_>>().join(" ");
        self.push(format_args!(r#"<polygon points="{points}" fill="{}" fill-opacity="{opacity}"/>"#, hex(color)));
    }

    pub(super) fn dot(&mut self, [x, y]: [f64; 2], radius: f64, color: [u8; 3]) {
        self.push(format_args!(r#"<circle cx="{x:.3}" cy="{y:.3}" r="{radius:.3}" fill="{}"/>"#, hex(color)));
    }

    /// Clips the drawing at the edges of an area.
    pub(super) fn clipped(&mut self, area: Area, draw: impl FnOnce(&mut Canvas)) {
        self.clips += 1;
        let (id, Area { x, y, width, height }) = (format!("plot{}", self.clips), area);
        self.push(format_args!(
            r#"<clipPath id="{id}"><rect x="{x:.3}" y="{y:.3}" width="{width:.3}" height="{height:.3}"/></clipPath>"#
        ));
        self.push(format_args!(r#"<g clip-path="url(#{id})">"#));
        draw(self);
        self.push(format_args!("</g>"));
    }

    /// Draws a marker of about this radius around a point, with an edge.
    pub(super) fn marker(&mut self, marker: Marker, [x, y]: [f64; 2], radius: f64, [fill, edge]: [[u8; 3]; 2]) {
        let colors = format!(r#"fill="{}" stroke="{}" stroke-width="{LINE_WIDTH}""#, hex(fill), hex(edge));
        if marker.is_open {
            let filled = Marker::filled(marker.shape);
            self.marker(filled, [x, y], f64::from(Marker::OPEN) * radius, [fill, edge]);
            return self.marker(filled, [x, y], f64::from(Marker::HOLE) * radius, [edge; 2]);
        }
        let Some(corners) = marker_corners(marker.shape) else {
            return self.push(format_args!(r#"<circle cx="{x:.3}" cy="{y:.3}" r="{radius:.3}" {colors}/>"#));
        };
        let corners = corners.iter().map(|[dx, dy]| format!("{:.3},{:.3}", x + radius * dx, y + radius * dy));
        let corners = corners.collect::<Vec<_>>().join(" ");
        self.push(format_args!(r#"<polygon points="{corners}" {colors}/>"#));
    }

    /// Draws a thin circle.
    pub(super) fn ring(&mut self, [x, y]: [f64; 2], radius: f64, color: [u8; 3]) {
        let stroke = format!(r#"fill="none" stroke="{}" stroke-width="{LINE_WIDTH}""#, hex(color));
        self.push(format_args!(r#"<circle cx="{x:.3}" cy="{y:.3}" r="{radius:.3}" {stroke}/>"#));
    }

    /// Draws a filled rectangle with a thin frame.
    pub(super) fn swatch(&mut self, area: Area, [red, green, blue]: [u8; 3]) {
        let Area { x, y, width, height } = area;
        self.push(format_args!(
            r##"<rect x="{x:.3}" y="{y:.3}" width="{width:.3}" height="{height:.3}" fill="#{red:02x}{green:02x}{blue:02x}" stroke="#000" stroke-width="0.3"/>"##
        ));
    }

    pub(super) fn frame(&mut self, area: Area) {
        let Area { x, y, width, height } = area;
        self.push(format_args!(
            r##"<rect x="{x:.3}" y="{y:.3}" width="{width:.3}" height="{height:.3}" fill="none" stroke="#000" stroke-width="{LINE_WIDTH}"/>"##
        ));
    }

    /// Draws a text whose anchor is at `x` and whose middle is at `y`.
    pub(super) fn text(&mut self, [x, y]: [f64; 2], anchor: Anchor, text: &str) {
        self.sized_text([x, y], anchor, text, self.font_size, "");
    }

    /// Draws a text around a point, in a colour.
    pub(super) fn text_in(&mut self, color: [u8; 3], at: [f64; 2], text: &str) {
        self.sized_text(at, Anchor::Middle, text, self.font_size, &format!(r#" fill="{}""#, hex(color)));
    }

    /// Draws a text that begins at `x`, smaller where it would not fit.
    pub(super) fn text_from(&mut self, [x, y]: [f64; 2], width: f64, text: &str) {
        let size = self.fitted(text, width);
        self.sized_text([x, y], Anchor::Start, text, size, "");
    }

    /// Draws a text in the middle of a width, smaller where it would not fit.
    pub(super) fn text_within(&mut self, [x, y]: [f64; 2], width: f64, text: &str) {
        let size = self.fitted(text, width);
        self.sized_text([x, y], Anchor::Middle, text, size, "");
    }

    /// Draws a text from below upwards in the middle of a height, smaller where it would not fit.
    pub(super) fn upright_text_within(&mut self, [x, y]: [f64; 2], height: f64, text: &str) {
        let size = self.fitted(text, height);
        let turn = format!(r#" transform="rotate(-90 {x:.3} {y:.3})""#);
        self.sized_text([x, y], Anchor::Middle, text, size, &turn);
    }

    fn fitted(&self, text: &str, width: f64) -> f64 {
        self.font_size * (width / files::width(text, self.font_size)).min(1.0)
    }

    fn sized_text(&mut self, [x, y]: [f64; 2], anchor: Anchor, text: &str, size: f64, attributes: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let Markup { xml, uses_system, blank } = files::markup(text);
        self.uses_system_fonts |= uses_system;
        self.blank.extend(blank);
        let y = y + BASELINE * size;
        self.push(format_args!(
            r#"<text x="{x:.3}" y="{y:.3}" font-size="{size:.3}" text-anchor="{anchor}"{attributes}>{xml}</text>"#
        ));
    }

    /// Draws a map, whose pixels stay sharp at any size.
    pub(super) fn image(&mut self, area: Area, image: &MapImage) -> Result<(), FigureError> {
        let sharp = r#" image-rendering="pixelated" style="image-rendering:pixelated""#;
        self.image_with(area, image, sharp)
    }

    /// Draws an image that is interpolated between its pixels.
    pub(super) fn smooth_image(&mut self, area: Area, image: &MapImage) -> Result<(), FigureError> {
        self.image_with(area, image, "")
    }

    fn image_with(&mut self, area: Area, image: &MapImage, attributes: &str) -> Result<(), FigureError> {
        let data = BASE64_STANDARD.encode(files::of_map(image)?);
        let Area { x, y, width, height } = area;
        self.push(format_args!(
            r#"<image x="{x:.3}" y="{y:.3}" width="{width:.3}" height="{height:.3}" preserveAspectRatio="none"{attributes} xlink:href="data:image/png;base64,{data}"/>"#
        ));
        Ok(())
    }

    /// Draws the colours of a scale from below upwards, with a triangle at an end beyond which values lie.
    pub(super) fn color_bar(&mut self, area: Area, scale: &Scale) {
        self.gradients += 1;
        let id = format!("colors{}", self.gradients);
        let stops: String = (0..=STOPS)
            .map(|index| index as f64 / STOPS as f64)
            .map(|position| format!(r#"<stop offset="{position}" stop-color="{}"/>"#, hex(scale.rgb_at(position))))
            .collect();
        self.push(format_args!(r#"<linearGradient id="{id}" x1="0" y1="1" x2="0" y2="0">{stops}</linearGradient>"#));
        let Area { x, y, width, height } = area;
        self.push(format_args!(
            r#"<rect x="{x:.3}" y="{y:.3}" width="{width:.3}" height="{height:.3}" fill="url(#{id})"/>"#
        ));
        let [below, above] = scale.beyond();
        let tip = 0.8 * width;
        for (there, base, tip, position) in [(below, area.bottom(), tip, 0.0), (above, y, -tip, 1.0)] {
            if there {
                let (color, right, middle, end) =
                    (hex(scale.rgb_at(position)), area.right(), x + width / 2.0, base + tip);
                self.push(format_args!(
                    r##"<path d="M{x:.3} {base:.3}L{middle:.3} {end:.3}L{right:.3} {base:.3}Z" fill="{color}" stroke="#000" stroke-width="{LINE_WIDTH}"/>"##
                ));
            }
        }
        self.frame(area);
    }
}

fn hex([red, green, blue]: [u8; 3]) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

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
        AxisScale::SymLog { .. } => Ticks::placed(scale, [low, high].map(|end| scale.position(end)), most as f64, 1.0),
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
        self.marks.iter().map(|mark| files::width(&mark.label, em)).fold(0.0, f64::max)
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
            let [x, y] = point_at(area, side, *position);
            match side {
                Side::Bottom => {
                    let half = files::width(label, em) / 2.0;
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

fn label_line(area: Area, em: f64) -> f64 {
    area.bottom() + (TICK + LABEL_GAP + 0.5) * em
}

fn point_at(area: Area, side: Side, position: f64) -> [f64; 2] {
    match side {
        Side::Bottom => [area.x + position * area.width, area.bottom()],
        Side::Left => [area.x, area.bottom() - position * area.height],
        Side::Right => [area.right(), area.bottom() - position * area.height],
    }
}

fn draw_tick(canvas: &mut Canvas, area: Area, side: Side, position: f64, length: f64) {
    let [x, y] = point_at(area, side, position);
    match side {
        Side::Bottom => canvas.line([x, y], [x, y + length]),
        Side::Left => canvas.line([x - length, y], [x, y]),
        Side::Right => canvas.line([x, y], [x + length, y]),
    }
}

// Lengths in font sizes.
/// The gap between the panel and the bar.
const BESIDE: f64 = 0.9;
const WIDTH: f64 = 1.1;
/// The height for each label.
const BAR_LABEL_HEIGHT: f64 = 2.2;

/// A colour scale with its label.
#[derive(Clone, Debug)]
pub(super) struct ColorBar {
    pub scale: Scale,
    pub label: String,
}

impl ColorBar {
    fn axis(&self, height: f64, em: f64) -> Axis {
        let (marks, note) = self.scale.marks(((height / (BAR_LABEL_HEIGHT * em)) as usize).clamp(2, 9));
        Axis { label: self.label.clone(), marks, minor: Vec::new() }.with_note(note)
    }

    /// Returns the width from the panel to the right end of its label.
    pub(super) fn width(&self, height: f64, em: f64) -> f64 {
        (BESIDE + WIDTH + TICK + LABEL_GAP + LINE) * em + self.axis(height, em).label_width(em)
    }

    /// Draws it to the right of a panel. Returns the area of its colours.
    pub(super) fn draw(&self, canvas: &mut Canvas, panel: Area, em: f64) -> Area {
        let [below, above] = self.scale.beyond().map(|beyond| if beyond { 0.8 * WIDTH * em } else { 0.0 });
        let area = Area {
            x: panel.right() + BESIDE * em,
            y: panel.y + above,
            width: WIDTH * em,
            height: panel.height - above - below,
        };
        canvas.color_bar(area, &self.scale);
        let axis = self.axis(area.height, em);
        axis.draw_marks(canvas, area, Side::Right, Parts::Both, em);
        let x = area.right() + (TICK + LABEL_GAP + 0.6 * LINE) * em + axis.label_width(em);
        axis.draw_label_upright(canvas, panel, x);
        area
    }
}

/// The margin around a figure.
pub(super) const MARGIN: f64 = 0.5;
/// Length of a labelled tick.
pub(super) const TICK: f64 = 0.35;
/// The gap between a tick and its label.
pub(super) const LABEL_GAP: f64 = 0.25;
/// Height of a line of text.
pub(super) const LINE: f64 = 1.35;
/// Width of a line's key in a legend.
pub(super) const KEY: f64 = 2.2;
/// The gap between plots beside each other.
pub(super) const GAP: f64 = 1.2;
pub(super) const NARROWEST_PANEL: f64 = 5.0;
/// The smallest height of a plot, so that its label has room.
pub(super) const LEAST_HEIGHT: f64 = 8.0;
/// The width from which plots are side by side.
pub(super) const WIDE: f64 = 46.0;
/// The width of a curve, in points.
pub(super) const CURVE_WIDTH: f64 = 1.1;
