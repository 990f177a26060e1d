//! The values under the pointer.

use egui::{Align2, Color32, FontId, Painter, Pos2, Rect, pos2, vec2};
use valleyscope_engine::landscape::Landscape;
use valleyscope_experiments::view::ticks::significant;

use super::legend::{SHADE, WEAK_TEXT};

/// The landscape's values at one point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Readout {
    pub xy: [f64; 2],
    pub uv: [f64; 2],
    pub loss: f64,
    pub gradient: [f64; 2],
    /// The sum of the curvatures along x and y, which on the floor of the paper's valley is a u².
    pub curvature: f64,
}

impl Readout {
    pub fn at(landscape: &Landscape, xy: [f64; 2]) -> Self {
        let uv = landscape.uv_from_xy(xy);
        let ([along_x, along_y], loss) = (landscape.hessian_diagonal(xy), landscape.loss(xy));
        Readout {
            xy,
            uv: [uv.u, uv.v],
            loss,
            gradient: landscape.gradient(xy),
            // Its formula may have a value where the loss has none.
            curvature: if loss.is_nan() { loss } else { along_x + along_y },
        }
    }

    /// Returns names and values in two columns of four.
    pub fn cells(&self) -> [[(&'static str, String); 4]; 2] {
        let text = |value: f64| significant(value, 5);
        [
            [("x", text(self.xy[0])), ("y", text(self.xy[1])), ("u", text(self.uv[0])), ("v", text(self.uv[1]))],
            [
                ("L", text(self.loss)),
                ("∂L/∂x", text(self.gradient[0])),
                ("∂L/∂y", text(self.gradient[1])),
                ("ΔL", text(self.curvature)),
            ],
        ]
    }
}

const PADDING: f32 = 7.0;
/// The distance from particles, in points.
const CLEAR: f32 = 12.0;

/// Draws the values into a corner of the canvas: the first, from the lower left on, that is free of `taken` and of
/// `particles` and not near the pointer.
pub(super) fn draw(
    painter: &Painter,
    canvas: Rect,
    pointer: Pos2,
    readout: &Readout,
    font: &FontId,
    (taken, particles): (&[Rect], &[Pos2]),
) {
    let (name_color, value_color) = (WEAK_TEXT, Color32::from_gray(245));
    let line = (font.size * 1.35).round();
    // As wide as the widest number, so that the box keeps its size while the pointer moves.
    let widest = painter.layout_no_wrap("−8.8888×10⁻⁸⁸".to_owned(), font.clone(), value_color).size().x;
    let names = ["y", "∂L/∂x"].map(|name| painter.layout_no_wrap(name.to_owned(), font.clone(), name_color).size().x);
    let column = |index: usize| names[index] + 7.0 + widest;
    let size = vec2(column(0) + column(1) + 12.0 + 2.0 * PADDING, 4.0 * line + 2.0 * PADDING - 4.0);
    let inside = canvas.shrink(8.0);
    if size.x > inside.width() || size.y > 0.6 * inside.height() {
        return;
    }
    let corners = [Align2::LEFT_BOTTOM, Align2::LEFT_TOP, Align2::RIGHT_BOTTOM, Align2::RIGHT_TOP];
    let corners = corners.map(|corner| corner.align_size_within_rect(size, inside));
    // Where two boxes do not fit side by side: above or below the existing ones.
    let beside = taken.iter().filter(|other| other.is_positive()).flat_map(|other| {
        let top = if other.center().y < canvas.center().y { other.bottom() + 8.0 } else { other.top() - 8.0 - size.y };
        [inside.left(), inside.right() - size.x].map(|left| Rect::from_min_size(pos2(left, top), size))
    });
    let mut places = corners.into_iter().chain(beside);
    let away = |place: &Rect| !place.expand(20.0).contains(pointer);
    let clear = |place: &Rect| {
        let covers = |at: &Pos2| place.expand(CLEAR).contains(*at);
        !taken.iter().any(|other| other.intersects(*place)) && !particles.iter().any(covers)
    };
    let Some(area) = places.clone().find(|place| away(place) && clear(place)).or_else(|| places.find(away)) else {
        return;
    };
    painter.rect_filled(area, 5.0, SHADE);
    let mut left = area.left() + PADDING;
    for (index, cells) in readout.cells().iter().enumerate() {
        for (row, (name, value)) in cells.iter().enumerate() {
            let y = area.top() + PADDING - 2.0 + row as f32 * line;
            painter.text(pos2(left, y), Align2::LEFT_TOP, name, font.clone(), name_color);
            let right = left + column(index);
            painter.text(pos2(right, y), Align2::RIGHT_TOP, value, font.clone(), value_color);
        }
        left += column(index) + 12.0;
    }
}

#[cfg(test)]
mod tests {
    use valleyscope_engine::landscape::{LandscapeFormula, LandscapeKind, LandscapeSpec};

    use super::*;

    #[test]
    fn no_curvature_is_shown_where_the_loss_is_nan() {
        let formula = LandscapeFormula::new("half", "L = 0*ln(x) + y^2").expect("it has no mistake");
        let landscape = LandscapeSpec::new(LandscapeKind::Formula(formula)).landscape();
        assert_eq!(Readout::at(&landscape, [0.5, 1.0]).curvature, 2.0);
        let outside = Readout::at(&landscape, [-0.5, 1.0]);
        assert!(outside.loss.is_nan() && outside.curvature.is_nan());
    }
}
