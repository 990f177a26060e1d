//! The colour bar, which explains colours.

use super::axis::{Axis, Parts, Side};
use super::canvas::{Area, Canvas};
use super::scale::Scale;
use super::style::{LABEL_GAP, LINE, TICK};

// Lengths in font sizes.
/// The gap between the panel and the bar.
const BESIDE: f64 = 0.9;
const WIDTH: f64 = 1.1;
/// The height for each label.
const LABEL_HEIGHT: f64 = 2.2;

/// A colour scale with its label.
#[derive(Clone, Debug)]
pub(super) struct ColorBar {
    pub scale: Scale,
    pub label: String,
}

impl ColorBar {
    fn axis(&self, height: f64, em: f64) -> Axis {
        let (marks, note) = self.scale.marks(((height / (LABEL_HEIGHT * em)) as usize).clamp(2, 9));
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
