//! A painter with a style: texts, lines, markers and images.

use std::sync::Arc;

use egui::epaint::{CircleShape, PathStroke, TextShape};
use egui::text::LayoutJob;
use egui::{
    Align, Color32, ColorImage, FontFamily, FontId, Galley, Painter, Pos2, Rect, Shape, Stroke, StrokeKind,
    TextureOptions, Vec2, pos2, vec2,
};
use valleyscope_engine::optimizer::{Marker, MarkerShape};
use valleyscope_experiments::view::{Background, Dash, Pen};

/// The colours and sizes of a picture. Lengths that are given in font sizes are multiples of `em`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Style {
    /// The size of texts, in points.
    pub em: f32,
    pub text: Color32,
    /// The lines of frames, axes and ticks.
    pub line: Stroke,
    pub background: Background,
}

impl Style {
    /// The style of figures: black on white paper, or light on [`Style::DARK_PAPER`].
    pub(crate) fn of_figure(em: f32, background: Background) -> Style {
        let [text, line] = match background {
            Background::Light => [Color32::BLACK; 2],
            Background::Dark => [Color32::from_rgb(203, 209, 220), Color32::from_rgb(142, 151, 167)],
        };
        Style { em, text, line: Stroke::new(0.6, line), background }
    }

    /// The colour of dark figures' paper: that of the window's panels.
    pub(crate) const DARK_PAPER: Color32 = Color32::from_rgb(22, 25, 31);
}

/// A painter with a style.
pub(crate) struct Canvas {
    pub painter: Painter,
    pub style: Style,
}

/// The distance from the middle of a line of text down to its baseline, in font sizes.
const BASELINE: f32 = 0.36;
/// The height of a line of text, in font sizes.
pub(crate) const LINE: f32 = 1.35;
/// The shortest dash or gap, in points: shorter ones could not be distinguished.
const SHORTEST_DASH: f32 = 1.0;

pub(crate) fn rgb([red, green, blue]: [u8; 3]) -> Color32 {
    Color32::from_rgb(red, green, blue)
}

pub(crate) fn area(x: f32, y: f32, width: f32, height: f32) -> Rect {
    Rect::from_min_size(pos2(x, y), vec2(width, height))
}

/// Black or white, whichever has more contrast with a colour.
pub(crate) fn against([red, green, blue]: [u8; 3]) -> [u8; 3] {
    const LIGHT: f64 = 0.45 * 255.0;
    let luminance = 0.299 * f64::from(red) + 0.587 * f64::from(green) + 0.114 * f64::from(blue);
    if luminance > LIGHT { [0; 3] } else { [255; 3] }
}

impl Canvas {
    /// Lays out a text in one line.
    fn galley(&self, text: &str, size: f32, color: Color32, align: Align) -> Arc<Galley> {
        let font = FontId::new(size, FontFamily::Proportional);
        let job = LayoutJob { halign: align, ..LayoutJob::simple_singleline(text.to_owned(), font, color) };
        self.painter.layout_job(LayoutJob { round_output_to_gui: false, ..job })
    }

    pub(crate) fn width(&self, text: &str) -> f32 {
        self.galley(text, self.style.em, self.style.text, Align::LEFT).size().x
    }

    pub(crate) fn widest<'t>(&self, texts: impl IntoIterator<Item = &'t str>) -> f32 {
        texts.into_iter().map(|text| self.width(text)).fold(0.0, f32::max)
    }

    /// Draws a text in one line around the height `at.y`, aligned at `at.x`. Returns its area.
    pub(crate) fn text(&self, at: Pos2, align: Align, text: &str) -> Rect {
        self.paint_galley(self.galley(text, self.style.em, self.style.text, align), at, self.style.em)
    }

    /// Draws a text around a point, in a colour and a size.
    pub(crate) fn text_in(&self, color: Color32, size: f32, at: Pos2, text: &str) -> Rect {
        self.paint_galley(self.galley(text, size, color, Align::Center), at, size)
    }

    /// Draws a text that is aligned in a width at `at.x`, smaller where it would not fit.
    pub(crate) fn text_within(&self, at: Pos2, align: Align, width: f32, text: &str) -> Rect {
        let size = self.fitted(text, width);
        self.paint_galley(self.galley(text, size, self.style.text, align), at, size)
    }

    /// Draws a text from below upwards around a point, smaller where it would not fit into a height. Returns its area.
    pub(crate) fn upright_text_within(&self, at: Pos2, height: f32, text: &str) -> Rect {
        let size = self.fitted(text, height);
        let galley = self.galley(text, size, self.style.text, Align::Center);
        let (length, top) = (galley.size().x, at.x - baseline(&galley) + BASELINE * size);
        let turned = TextShape::new(pos2(top, at.y), galley, self.style.text).with_angle(-std::f32::consts::FRAC_PI_2);
        self.painter.add(turned);
        Rect::from_center_size(at, vec2(LINE * size, length))
    }

    fn paint_galley(&self, galley: Arc<Galley>, at: Pos2, size: f32) -> Rect {
        let corner = pos2(at.x, at.y - baseline(&galley) + BASELINE * size);
        let area = galley.rect.translate(corner.to_vec2());
        self.painter.galley(corner, galley, self.style.text);
        area
    }

    fn fitted(&self, text: &str, width: f32) -> f32 {
        self.style.em * (width / self.width(text)).min(1.0)
    }

    /// A text in lines no wider than `width`, if its words are not wider.
    pub(crate) fn wrapped(&self, text: &str, width: f32) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        for word in text.split_whitespace() {
            match lines.last_mut() {
                Some(line) if self.width(&format!("{line} {word}")) <= width => {
                    line.push(' ');
                    line.push_str(word);
                }
                _ => lines.push(word.to_owned()),
            }
        }
        lines
    }

    /// Draws lines as one shape, each through its points.
    pub(crate) fn lines(&self, lines: &[Vec<Pos2>], stroke: Stroke, dash: Dash) {
        self.painter.add(polylines(lines, stroke, dash));
    }

    /// Draws a straight line in the style of axes.
    pub(crate) fn line(&self, ends: [Pos2; 2]) {
        self.painter.line_segment(ends, self.style.line);
    }

    pub(crate) fn frame(&self, area: Rect) {
        self.painter.rect_stroke(area, 0.0, self.style.line, StrokeKind::Middle);
    }

    pub(crate) fn clipped(&self, area: Rect) -> Canvas {
        let clip = self.painter.clip_rect().intersect(area);
        Canvas { painter: self.painter.with_clip_rect(clip), style: self.style }
    }

    /// The colour of a pen's lines on the background.
    pub(crate) fn color(&self, pen: Pen) -> Color32 {
        rgb(pen.color_on(self.style.background))
    }

    /// Draws a picture, whose pixels stay sharp at any size unless it is `smooth`.
    pub(crate) fn image(&self, area: Rect, image: &MapImage, smooth: bool) {
        let options = if smooth { TextureOptions::LINEAR } else { TextureOptions::NEAREST };
        let pixels = ColorImage::from_rgba_unmultiplied([image.width, image.height], &image.rgba);
        // The texture is freed after the pass that paints it.
        let texture = self.painter.ctx().load_texture("picture", pixels, options);
        self.painter.image(texture.id(), area, WHOLE, Color32::WHITE);
    }

    /// Draws the marker of a legend's entry or of a position.
    pub(crate) fn marker(&self, marker: Marker, center: Pos2, radius: f32, fill: Color32, outline: Color32) {
        self.painter.add(marker_shape(marker, center, radius, fill, Stroke::new(self.style.line.width, outline)));
    }
}

/// The part of a texture that a whole picture is.
pub(crate) const WHOLE: Rect = Rect { min: Pos2::ZERO, max: pos2(1.0, 1.0) };

/// The distance from the top of a line of text down to its baseline.
fn baseline(galley: &Galley) -> f32 {
    let row = galley.rows.first();
    row.and_then(|row| Some(row.pos.y + row.glyphs.first()?.pos.y)).unwrap_or_default()
}

pub(crate) fn polylines(lines: &[Vec<Pos2>], stroke: Stroke, dash: Dash) -> Shape {
    let drawn = lines.iter().filter(|line| line.len() > 1);
    if dash == Dash::Solid {
        return Shape::Vec(drawn.map(|line| Shape::line(line.clone(), PathStroke::from(stroke))).collect());
    }
    let lengths: Vec<f32> =
        dash.lengths().iter().map(|length| (stroke.width * *length as f32).max(SHORTEST_DASH)).collect();
    let [dashes, gaps] = [0, 1].map(|first| lengths.iter().skip(first).step_by(2).copied().collect::<Vec<f32>>());
    Shape::Vec(drawn.flat_map(|line| Shape::dashed_line_with_offset(line, stroke, &dashes, &gaps, 0.0)).collect())
}

/// A diagonal cross and four arms, each from the end of one arm around.
const CROSS: [[f32; 2]; 12] = of_quarter([[-1.2, -0.7], [-0.7, -1.2], [0.0, -0.5]]);
const PLUS: [[f32; 2]; 12] = of_quarter([[-0.35, -1.35], [0.35, -1.35], [0.35, -0.35]]);
/// Five points, from the top around.
const STAR: [[f32; 2]; 10] = [
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

/// The corners of a shape that a quarter turn does not change.
const fn of_quarter(quarter: [[f32; 2]; 3]) -> [[f32; 2]; 12] {
    let mut corners = [[0.0; 2]; 12];
    let mut index = 0;
    while index < 12 {
        corners[index] = if index < 3 { quarter[index] } else { [0.0 - corners[index - 3][1], corners[index - 3][0]] };
        index += 1;
    }
    corners
}

/// The corners of a marker of radius 1, y downwards; `None` for the circle, and for letters, which are in one. All shapes
/// have about equal areas, and each is seen whole from its centre.
pub(crate) fn marker_corners(shape: MarkerShape) -> Option<&'static [[f32; 2]]> {
    Some(match shape {
        MarkerShape::Circle | MarkerShape::Letter(_) => return None,
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

/// The radius of a letter's circle in radii of other markers.
const LETTERED: f32 = 1.5;
/// The lines of the letters from A on, in a box of 4 by 6: the coordinates x and y, downwards, of each point.
const LETTERS: &str = "062046 1434|003041423303 334445360600|4130100105163645|00204244260600|40000646 0333|\
    400006 0333|41301001051636454323|0006 4046 0343|2026 1030 1636|4045361605|0006 400346|\
    000646|0600234046|06004640|103041453616050110|06003041423303|\
    103041453616050110 2446|06003041423303 2346|413010010213334445361605|\
    0040 2026|000516364540|002640|0016233640|0046 4006|002340 2326|00400646";

/// Returns the lines of a letter from A to Z around its middle, in a circle of radius 1.
fn letter_lines(letter: char) -> impl Iterator<Item = impl Iterator<Item = Vec2>> {
    let index = u32::from(letter).wrapping_sub(u32::from('A')) as usize;
    let lines = LETTERS.split('|').nth(index).unwrap_or_default().split(' ');
    let digit = |digit: u8| f32::from(digit.saturating_sub(b'0'));
    lines.map(move |line| {
        line.as_bytes().chunks_exact(2).map(move |at| 0.19 * vec2(digit(at[0]) - 2.0, digit(at[1]) - 3.0))
    })
}

/// A marker of about this radius around a point, with an outline. An open marker has a hole in the colour of the
/// outline.
pub(crate) fn marker_shape(marker: Marker, center: Pos2, radius: f32, fill: Color32, outline: Stroke) -> Shape {
    if marker.is_open {
        let filled = Marker::filled(marker.shape);
        let hole = marker_shape(filled, center, Marker::HOLE * radius, outline.color, Stroke::NONE);
        return Shape::Vec(vec![marker_shape(filled, center, Marker::OPEN * radius, fill, outline), hole]);
    }
    if let MarkerShape::Letter(letter) = marker.shape {
        let radius = LETTERED * radius;
        let disc = Shape::Circle(CircleShape { center, radius, fill, stroke: outline });
        let [red, green, blue, _] = fill.to_array();
        let ink = rgb(against([red, green, blue])).gamma_multiply(f32::from(fill.a()) / 255.0);
        let lines = letter_lines(letter).map(|line| line.map(|at| center + radius * at).collect());
        let letter = polylines(&lines.collect::<Vec<_>>(), Stroke::new(0.26 * radius, ink), Dash::Solid);
        return Shape::Vec(vec![disc, letter]);
    }
    let Some(corners) = marker_corners(marker.shape) else {
        return Shape::Circle(CircleShape { center, radius, fill, stroke: outline });
    };
    let corners: Vec<Pos2> = corners.iter().map(|[dx, dy]| center + radius * vec2(*dx, *dy)).collect();
    if corners.len() <= 4 {
        return Shape::convex_polygon(corners, fill, outline);
    }
    // Painters fill convex polygons only.
    let next = corners.iter().cycle().skip(1);
    let parts = corners
        .iter()
        .zip(next)
        .map(|(one, other)| Shape::convex_polygon(vec![center, *one, *other], fill, Stroke::NONE));
    let parts = Shape::Vec(parts.collect());
    Shape::Vec(vec![parts, Shape::closed_line(corners, PathStroke::from(outline))])
}

/// The distance between means, in points, from which ensembles do not hide each other.
const APART: f32 = 8.0;
/// The factors of the sizes of an ensemble's marks for each ensemble drawn above it and below it at the same position.
const GROWTH: f32 = 1.6;
const SHRINKAGE: f32 = 0.75;
/// The limits of the factor for many ensembles at the same position.
const SCALES: std::ops::RangeInclusive<f32> = 0.6..=2.2;

/// Returns the scales of marks in the order in which they are drawn: those below others grow and those above shrink,
/// the more the nearer they are.
pub(crate) fn scales(positions: &[Pos2]) -> Vec<f32> {
    let near = |a: Pos2, b: Pos2| (1.0 - a.distance(b) / APART).max(0.0);
    let scale = |(index, &position): (usize, &Pos2)| {
        let count = |others: &[Pos2]| others.iter().map(|&other| near(position, other)).sum::<f32>();
        let factor = SHRINKAGE.powf(count(&positions[..index])) * GROWTH.powf(count(&positions[index + 1..]));
        factor.clamp(*SCALES.start(), *SCALES.end())
    };
    positions.iter().enumerate().map(scale).collect()
}

/// A picture with a pixel for each cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapImage {
    /// Columns of the diagram.
    pub width: usize,
    /// Rows of the diagram.
    pub height: usize,
    /// Red, green, blue and opacity (always full), line by line from the top: the diagram's last row first.
    pub rgba: Vec<u8>,
}

impl MapImage {
    pub fn cell(&self, row: usize, column: usize) -> [u8; 3] {
        let at = 4 * ((self.height - 1 - row) * self.width + column);
        [self.rgba[at], self.rgba[at + 1], self.rgba[at + 2]]
    }

    /// An image of at most `most` pixels a side; some rows and columns of a larger one are left out.
    pub fn thinned(&self, most: usize) -> MapImage {
        let [width, height] = [self.width, self.height].map(|side| side.min(most));
        let rows = (0..height).map(|y| y * self.height / height);
        let pixels = rows.flat_map(|row| (0..width).map(move |x| row * self.width + x * self.width / width));
        let rgba = pixels.flat_map(|pixel| &self.rgba[4 * pixel..4 * pixel + 4]).copied().collect();
        MapImage { width, height, rgba }
    }
}

#[cfg(test)]
mod tests {
    use egui::pos2;

    use super::scales;

    #[test]
    fn marks_at_one_place_are_nested_and_others_keep_their_size() {
        let here = pos2(100.0, 50.0);
        assert_eq!(scales(&[here, pos2(140.0, 50.0)]), [1.0, 1.0]);
        let nested = scales(&[here, pos2(300.0, 50.0), here]);
        assert!(nested[0] > 2.0 * nested[2] && nested[1] == 1.0, "{nested:?}");
        let near = scales(&[here, pos2(104.0, 50.0)]);
        assert!(near[0] < nested[0] && near[0] > 1.0, "{near:?}");
        let many = scales(&[here; 16]);
        assert!(many.iter().all(|scale| (0.6..=2.2).contains(scale)), "{many:?}");
    }
}
