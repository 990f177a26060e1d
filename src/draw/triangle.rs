//! The triangle of signal, noise and oscillation.

use egui::{Align, Pos2, Rect, Shape, Stroke, pos2};
use valleyscope_engine::shares::Shares;
use valleyscope_experiments::view::{Background, Dash, Pen, Triangle, TrianglePoint};

use super::canvas::{Canvas, LINE, rgb};

/// The names of the corners, at each of which one share is 1.
const CORNERS: [&str; 3] = ["signal", "noise", "oscillation"];
/// The shares at which lines parallel to the sides are drawn.
const GRID: [f64; 3] = [0.25, 0.5, 0.75];
/// Height of a triangle with equal sides over its width.
const ASPECT: f32 = 0.866;
/// Radius of a pixel's point, in font sizes.
const RADIUS: f32 = 0.24;

/// The triangle of the shares in a picture: signal above, noise at the right, oscillation at the left.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TriangleFrame {
    corners: [Pos2; 3],
}

impl TriangleFrame {
    /// The largest triangle in an area that leaves room for the names of its corners.
    pub(crate) fn within(area: Rect, em: f32) -> TriangleFrame {
        let room = Rect::from_min_max(
            area.min + egui::vec2(2.6 * em, LINE * em),
            area.max - egui::vec2(2.6 * em, 1.3 * LINE * em),
        );
        let width = room.width().min(room.height() / ASPECT).max(0.0);
        let (middle, top) = (room.center().x, room.center().y - width * ASPECT / 2.0);
        let bottom = top + width * ASPECT;
        let corners = [pos2(middle, top), pos2(middle + width / 2.0, bottom), pos2(middle - width / 2.0, bottom)];
        TriangleFrame { corners }
    }

    /// The height of the area that a triangle of this width takes, with the names of its corners.
    pub(crate) fn height(width: f32, em: f32) -> f32 {
        (width - 5.2 * em) * ASPECT + 2.3 * LINE * em
    }

    /// The position of shares. Negative ones count as 0, so that all positions are in the triangle.
    pub(crate) fn at(&self, shares: Shares) -> Pos2 {
        let within = shares.to_array().map(|share| share.clamp(0.0, 1.0) as f32);
        let total = within.iter().sum::<f32>().max(f32::MIN_POSITIVE);
        let [x, y] = [|corner: &Pos2| corner.x, |corner: &Pos2| corner.y].map(|coordinate| {
            let weighted = self.corners.iter().zip(within).map(|(corner, share)| share / total * coordinate(corner));
            weighted.sum::<f32>()
        });
        pos2(x, y)
    }

    /// The area around the triangle, without the names of its corners.
    pub(crate) fn area(&self) -> Rect {
        Rect::from_points(&self.corners)
    }

    /// Draws sides, lines of equal shares and the names of the corners.
    pub(crate) fn draw(&self, canvas: &Canvas) {
        let em = canvas.style.em;
        let thin = Stroke::new(canvas.style.line.width, canvas.style.text.gamma_multiply(0.18));
        let (mut lines, mut ticks) = (Vec::new(), Vec::new());
        for share in GRID {
            for of in 0..3 {
                let end = |other: usize| {
                    let mut shares = [0.0; 3];
                    (shares[of], shares[other]) = (share, 1.0 - share);
                    self.at(Shares::from_array(shares))
                };
                lines.push(vec![end((of + 1) % 3), end((of + 2) % 3)]);
                ticks.push((of, end((of + 2) % 3), share));
            }
        }
        canvas.lines(&lines, thin, Dash::Solid);
        let [top, right, left] = self.corners;
        canvas.lines(&[vec![top, right, left, top]], canvas.style.line, Dash::Solid);
        // Each share is written at the side where the share before it is 0, beside the end of its line.
        let beside = [egui::vec2(-1.3, 0.0), egui::vec2(1.1, -0.3), egui::vec2(0.0, 0.75)];
        for (of, at, share) in ticks {
            let color = canvas.style.text.gamma_multiply(0.7);
            canvas.text_in(color, 0.8 * em, at + beside[of] * em, &format!("{share}"));
        }
        canvas.text(top - egui::vec2(0.0, 0.6 * LINE * em), Align::Center, CORNERS[0]);
        let below = egui::vec2(0.0, 1.35 * em);
        canvas.text(right + below + egui::vec2(2.4 * em, 0.0), Align::RIGHT, CORNERS[1]);
        canvas.text(left + below - egui::vec2(2.4 * em, 0.0), Align::LEFT, CORNERS[2]);
    }

    /// Draws the pixels of a diagram in the colours of their winners, those of certain ones stronger and on top.
    pub(crate) fn draw_pixels(&self, canvas: &Canvas, triangle: &Triangle, colors: &[[u8; 3]]) {
        let mut points: Vec<&TrianglePoint> = triangle.points.iter().filter(|point| point.winner.is_some()).collect();
        points.sort_by(|one, other| one.certainty.total_cmp(&other.certainty));
        let radius = RADIUS * canvas.style.em;
        let shapes = points.into_iter().filter_map(|point| {
            let color = rgb(*colors.get(point.winner?)?);
            let color = color.gamma_multiply(opacity(point.certainty));
            Some(Shape::circle_filled(self.at(point.shares), radius, color))
        });
        canvas.painter.extend(shapes);
    }

    /// Draws a ring around shares.
    pub(crate) fn draw_ring(&self, canvas: &Canvas, shares: Shares) {
        let (at, em) = (self.at(shares), canvas.style.em);
        for (radius, color) in [(0.62, egui::Color32::BLACK), (0.5, egui::Color32::WHITE)] {
            canvas.painter.circle_stroke(at, radius * em, Stroke::new(0.12 * em, color));
        }
    }

    /// Draws a line through shares, from old to new, and a ring around the last ones.
    pub(crate) fn draw_path(&self, canvas: &Canvas, path: &[Shares], pen: Pen) {
        let mut line: Vec<Pos2> = path.iter().map(|shares| self.at(*shares)).collect();
        let Some(last) = line.last().copied() else { return };
        // Parts that are shorter than a pixel are left out.
        line.dedup_by(|at, before| at.distance(*before) < 0.7);
        let (em, lines) = (canvas.style.em, [line]);
        let outline = match canvas.style.background {
            Background::Light => egui::Color32::WHITE,
            Background::Dark => egui::Color32::BLACK,
        };
        for (color, wider, dash) in [(outline, 0.2 * em, Dash::Solid), (canvas.color(pen), 0.0, pen.dash)] {
            canvas.lines(&lines, Stroke::new(0.16 * em + wider, color), dash);
            canvas.painter.circle_stroke(last, 0.6 * em, Stroke::new(0.2 * em + wider, color));
        }
    }
}

/// The opacity of a pixel with this certainty: full at 1, least at one half and below.
fn opacity(certainty: f64) -> f32 {
    (0.15 + 0.85 * (2.0 * certainty - 1.0).clamp(0.0, 1.0)) as f32
}
