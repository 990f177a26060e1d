//! A colour scale that suits the part of the landscape in view, and keeps still while the view moves.

use valleyscope_engine::landscape::Landscape;

use super::ticks::nice_step;
use super::{SymLog, Viewport};

/// The number of columns of the grid on which the losses in view are sampled.
const COLUMNS: usize = 36;
const ROWS: usize = 24;
/// A scale is kept until it is wrong by this factor.
const TOLERANCE: f64 = 2.5;
/// The scale where no loss is in view.
const NOTHING_IN_VIEW: SymLog = SymLog { linear: 1.0, max: 10.0 };

/// The colour scale of the previous view, which is kept if possible.
#[derive(Debug, Default)]
pub struct AutoScale {
    current: Option<SymLog>,
}

impl AutoScale {
    /// Returns the scale for the parts of landscapes that are in view, one or several side by side.
    ///
    /// The end of the colours is about the highest loss in view, except for the highest tenth. Linear is a twelfth of
    /// the deepest descent in view, so that the gentle slope −cu takes a good part of the colours however high the
    /// walls are. Both are rounded to 1, 2 or 5 times a power of ten, and kept until they are off by more than a factor
    /// of 2.5. Several views share the largest end and the smallest linear part.
    pub fn update(&mut self, views: &[(&Landscape, Viewport)]) -> SymLog {
        // Landscapes side by side are often the same, in the same view.
        let distinct = views.iter().enumerate().filter(|(index, view)| !views[..*index].contains(view));
        let wanted = distinct.map(|(_, (landscape, viewport))| suitable(landscape, viewport));
        let shared = |a: SymLog, b: SymLog| SymLog { linear: a.linear.min(b.linear), max: a.max.max(b.max) };
        let wanted = wanted.reduce(shared).unwrap_or(NOTHING_IN_VIEW);
        let scale = match self.current {
            None => SymLog { linear: nice_step(wanted.linear), max: nice_step(wanted.max) },
            Some(current) => SymLog {
                linear: keep_or_round(current.linear, wanted.linear),
                max: keep_or_round(current.max, wanted.max),
            },
        };
        let scale = SymLog { linear: scale.linear.min(scale.max), ..scale };
        self.current = Some(scale);
        scale
    }
}

fn keep_or_round(current: f64, wanted: f64) -> f64 {
    if (wanted / current).ln().abs() <= TOLERANCE.ln() { current } else { nice_step(wanted) }
}

/// Returns the unrounded scale for the losses on a coarse grid over the view.
fn suitable(landscape: &Landscape, viewport: &Viewport) -> SymLog {
    let [width, height] = viewport.size_px;
    let mut losses = Vec::with_capacity(COLUMNS * ROWS);
    for row in 0..ROWS {
        for column in 0..COLUMNS {
            let px = [width * (column as f32 + 0.5) / COLUMNS as f32, height * (row as f32 + 0.5) / ROWS as f32];
            let loss = landscape.loss(viewport.xy_from_px(px));
            if loss.is_finite() {
                losses.push(loss);
            }
        }
    }
    if losses.is_empty() {
        return NOTHING_IN_VIEW;
    }
    losses.sort_by(f64::total_cmp);
    let deepest = (-losses[0]).max(0.0);
    let highest = losses[(losses.len() * 9) / 10].max(deepest);
    let max = highest.clamp(1e-12, 1e12);
    let linear = if deepest > 0.0 { deepest / 12.0 } else { max / 1000.0 };
    SymLog { linear: linear.clamp(1e-6 * max, max), max }
}
