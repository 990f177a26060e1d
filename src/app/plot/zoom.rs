//! The zoomed ranges of plots, and the gestures that change them.

use std::collections::BTreeMap;

use egui::{Response, Ui};
use egui_plot::PlotBounds;

/// The result of a gesture on a plot: the ranges of places to show.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(in crate::app) struct Gesture {
    x: Option<[f64; 2]>,
    y: Option<[f64; 2]>,
    is_reset: bool,
}

impl Gesture {
    /// Derives the gesture from the ranges where a plot ended up, the wheel, and double clicks.
    pub(super) fn of(
        ui: &Ui,
        response: &Response,
        bounds: &PlotBounds,
        [x, y]: [[f64; 2]; 2],
        pointer: Option<[f64; 2]>,
    ) -> Gesture {
        let moved = |axis: usize, set: [f64; 2]| {
            let now = [bounds.min()[axis], bounds.max()[axis]];
            let tolerance = 1e-9 * (set[1] - set[0]).abs();
            now.iter().zip(&set).any(|(now, set)| (now - set).abs() > tolerance).then_some(now)
        };
        let mut gesture = Gesture { is_reset: response.double_clicked(), ..Gesture::default() };
        let is_zoomed = ui.input(|input| input.zoom_delta() != 1.0) && response.contains_pointer();
        if response.dragged() || response.drag_stopped() || is_zoomed {
            (gesture.x, gesture.y) = (moved(0, x), moved(1, y));
        }
        if let Some(pointer) = pointer {
            let is_shifted = ui.input(|input| input.modifiers.shift);
            // With Shift the wheel scrolls sideways.
            let axis = usize::from(!is_shifted);
            let wheel = ui.input_mut(|input| std::mem::take(&mut input.smooth_scroll_delta[axis]));
            let factor = (f64::from(-wheel) / 240.0).exp();
            let zoomed = |range: [f64; 2], at: f64| Some(range.map(|end| at + (end - at) * factor));
            match wheel {
                0.0 => {}
                _ if is_shifted => gesture.y = zoomed(y, pointer[1]),
                _ => gesture.x = zoomed(x, pointer[0]),
            }
        }
        gesture
    }
}

/// The zoomed ranges of plots over one horizontal axis, in places; the others show everything.
#[derive(Debug)]
pub(in crate::app) struct Zoom<K> {
    pub x: Option<[f64; 2]>,
    pub y: BTreeMap<K, [f64; 2]>,
}

impl<K> Default for Zoom<K> {
    fn default() -> Self {
        Zoom { x: None, y: BTreeMap::new() }
    }
}

impl<K: Ord> Zoom<K> {
    pub(in crate::app) fn is_zoomed(&self) -> bool {
        self.x.is_some() || !self.y.is_empty()
    }

    /// Resets all ranges to everything.
    pub(in crate::app) fn reset(&mut self) {
        *self = Zoom::default();
    }

    /// Applies a gesture on one of the plots. The horizontal axis stays near the `whole` and is no shorter than
    /// `least`.
    pub(in crate::app) fn apply(&mut self, plot: K, gesture: Gesture, whole: [f64; 2], least: f64) {
        if gesture.is_reset {
            return self.reset();
        }
        let can_be_shown = |[from, to]: &[f64; 2]| {
            let smallest = 1e-12 * from.abs().max(to.abs());
            from.is_finite() && to.is_finite() && to - from > smallest
        };
        if let Some(x) = gesture.x.filter(can_be_shown) {
            self.x = Some(near(x, whole, least));
        }
        if let Some(y) = gesture.y.filter(can_be_shown) {
            self.y.insert(plot, y);
        }
    }
}

/// Moves or resizes a range that is too far from the whole or too short.
fn near([from, to]: [f64; 2], [start, end]: [f64; 2], least: f64) -> [f64; 2] {
    let room = 0.5 * (end - start);
    let [start, end] = [start - room, end + room];
    let length = (to - from).max(least).min(end - start);
    let from = (0.5 * (from + to - length)).min(end - length).max(start);
    [from, from + length]
}

#[cfg(test)]
mod tests {
    use super::{Gesture, Zoom, near};

    #[test]
    fn a_horizontal_axis_stays_near_the_whole() {
        let near = |x| near(x, [0.0, 100.0], 4.0);
        assert_eq!(near([10.0, 30.0]), [10.0, 30.0]);
        assert_eq!(near([-90.0, -30.0]), [-50.0, 10.0], "a drag beyond the end keeps the length");
        assert_eq!(near([-900.0, 900.0]), [-50.0, 150.0]);
        assert_eq!(near([50.0, 50.5]), [48.25, 52.25]);
        assert_eq!(super::near([0.0, 1e-9], [0.0, 1e-6], 4.0), [-0.5e-6, 1.5e-6], "the whole may be shorter");
    }

    #[test]
    fn ranges_that_cannot_be_shown_are_refused_and_a_double_click_shows_everything() {
        let mut zoom = Zoom::default();
        let mut apply = |gesture| {
            zoom.apply("loss", gesture, [0.0, 100.0], 4.0);
            (zoom.x, zoom.y.get("loss").copied())
        };
        let ranged = |x, y| Gesture { x: Some(x), y: Some(y), is_reset: false };
        assert_eq!(apply(ranged([f64::NAN, 1.0], [2.0, 2.0])), (None, None));
        assert_eq!(apply(ranged([0.0, f64::INFINITY], [1e9, 1e9 + 1e-6])), (None, None));
        assert_eq!(apply(ranged([5.0, 15.0], [0.0, 1e-15])), (Some([5.0, 15.0]), Some([0.0, 1e-15])));
        assert_eq!(apply(Gesture { is_reset: true, ..Gesture::default() }), (None, None));
    }
}
