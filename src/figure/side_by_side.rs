//! The layout of landscapes side by side: in a row, or in two rows of two, with shared axes and one colour bar, above
//! plots of all runs.

use super::axis::{Axis, Side};
use super::canvas::Area;
use super::landscape::{Arrangement, LandscapeFigure, Plot};
use super::landscape_plot::{ASPECT, LabelledSides};
use super::style::{GAP, LEAST_HEIGHT, LINE, MARGIN, NARROWEST_PANEL, WIDE};

/// The height of a plot below the landscapes over its width.
const PLOT_ASPECT: f64 = 0.5;
/// The number of landscapes in a row.
const COLUMNS: usize = 2;
/// The gap between landscapes, in font sizes.
const BETWEEN: f64 = 1.4;

impl LandscapeFigure {
    /// Arranges several landscapes from `y` downwards, and the plots below them; `None` where there is no room.
    pub(super) fn arrange_side_by_side(&self, y: f64, inner: f64, em: f64) -> Option<Arrangement> {
        let (panes, first) = (self.panes(), &self.panes()[0].ground);
        let title = 1.3 * LINE * em;
        // The labels depend on the size, and the size on the labels: labels for a guessed size are about as wide.
        let guess = 0.4 * inner * ASPECT;
        let left = first.gutter(guess, em);
        let rows = panes.len().div_ceil(COLUMNS);
        let bar = first.bar_width(rows as f64 * guess, em);
        let width = (inner - left - bar - BETWEEN * em) / COLUMNS as f64;
        if width < NARROWEST_PANEL * em {
            return None;
        }
        let height = ASPECT * width;
        let ground = |index: usize| Area {
            x: MARGIN * em + left + (index % COLUMNS) as f64 * (width + BETWEEN * em),
            y: y + title + (index / COLUMNS) as f64 * (height + title),
            width,
            height,
        };
        let grounds: Vec<Area> = (0..panes.len()).map(ground).collect();
        let labels = |index: usize| LabelledSides {
            left: (index.is_multiple_of(COLUMNS)).then_some(left),
            // The lowest landscape of each column is labelled.
            below: index + COLUMNS >= panes.len(),
        };
        let bottom = grounds.iter().map(|area| area.bottom()).fold(y, f64::max);
        let barred = Area { x: ground(1).x, y: ground(1).y, width, height: bottom - ground(1).y };
        let (plots, gutter) = self.plots_below(bottom + Axis::depth(em) + 0.4 * em, inner, em)?;
        let end = plots.iter().map(|area| area.bottom()).fold(bottom, f64::max) + Axis::depth(em);
        let labels = (0..panes.len()).map(labels).collect();
        Some(Arrangement { grounds, labels, barred, plots, gutter, end })
    }

    /// Returns the areas of the plots from `y` downwards, side by side where they have room, and the width from the left
    /// ends of their labels to their frames.
    fn plots_below(&self, y: f64, inner: f64, em: f64) -> Option<(Vec<Area>, f64)> {
        let plots = self.plots();
        let columns = if inner >= WIDE * em { plots.len().clamp(1, COLUMNS) } else { 1 };
        let share = (inner - (columns - 1) as f64 * GAP * em) / columns as f64;
        let height = (PLOT_ASPECT * share).max(LEAST_HEIGHT * em);
        let gutter = plots.iter().map(|plot| plot.curves.vertical.gutter(height, em)).fold(0.0, f64::max);
        // The last label extends beyond its plot.
        let overhang = |plot: &Plot| plot.horizontal.at(Side::Bottom, share - gutter, em).label_width(em) / 2.0;
        let width = share - gutter - plots.iter().map(overhang).fold(0.3 * em, f64::max);
        let area = |index: usize| Area {
            x: MARGIN * em + (index % columns) as f64 * (share + GAP * em) + gutter,
            y: y + (index / columns) as f64 * (height + Axis::depth(em) + 0.4 * em),
            width,
            height,
        };
        (width >= NARROWEST_PANEL * em).then(|| ((0..plots.len()).map(area).collect(), gutter))
    }
}
