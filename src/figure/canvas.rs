//! The elements of figures, as SVG text. Lengths are in points, y downwards.

use std::collections::BTreeSet;
use std::fmt::Write;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use valleyscope_engine::optimizer::{Marker, MarkerShape};
use valleyscope_experiments::view::Dash;

use super::font::Markup;
use super::map::MapImage;
use super::scale::Scale;
use super::{FigureError, font, png};

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
        self.font_size * (width / font::width(text, self.font_size)).min(1.0)
    }

    fn sized_text(&mut self, [x, y]: [f64; 2], anchor: Anchor, text: &str, size: f64, attributes: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let Markup { xml, uses_system, blank } = font::markup(text);
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
        let data = BASE64_STANDARD.encode(png::of_map(image)?);
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
