//! A colour scale that suits the part of the landscape in view, and keeps still while the view moves.

use valleyscope_engine::landscape::Landscape;

use super::ticks::nice_step;
use super::{SymLog, Viewport};

/// The number of columns of the grid on which the losses in view are sampled.
const COLUMNS: usize = 36;
const ROWS: usize = 24;
/// A scale is kept until it is wrong by this factor.
const TOLERANCE: f64 = 2.5;
/// The size of a negative loss, over the largest loss, that may be a rounding error.
const ROUNDING: f64 = 1e-12;
/// The scale where no loss is in view.
const NOTHING_IN_VIEW: SymLog = SymLog::symmetric(1.0, 10.0);

/// The colour scale of the previous view, which is kept if possible.
#[derive(Debug, Default)]
pub struct AutoScale {
    current: Option<(Vec<(Landscape, Viewport)>, SymLog)>,
}

impl AutoScale {
    /// Returns the scale for the parts of landscapes that are in view, one or several side by side.
    ///
    /// The upper end of the colours is about the highest loss in view, except for the highest tenth. The lower end is 0
    /// where no loss in view is negative, so that all colours are used, and else symmetric to the upper end. Linear is a
    /// twelfth of the deepest descent in view, so that the gentle slope −cu takes a good part of the colours however
    /// high the walls are. All are rounded to 1, 2 or 5 times a power of ten, and kept until they are off by more than a
    /// factor of 2.5. Negative colours are kept while only the views of the landscapes change. Several views share the
    /// largest ends and the smallest linear part.
    pub fn update(&mut self, views: &[(&Landscape, Viewport)]) -> SymLog {
        let is_same = |current: &[(Landscape, Viewport)], also_views: bool| {
            let is_same = |((of, at), (landscape, viewport)): (&(Landscape, Viewport), &(&Landscape, Viewport))| {
                of == *landscape && (!also_views || at == viewport)
            };
            current.len() == views.len() && current.iter().zip(views).all(is_same)
        };
        if let Some((_, scale)) = self.current.as_ref().filter(|(current, _)| is_same(current, true)) {
            return *scale;
        }
        // Landscapes side by side are often the same, in the same view.
        let distinct = views.iter().enumerate().filter(|(index, view)| !views[..*index].contains(view));
        let wanted = distinct.map(|(_, (landscape, viewport))| suitable(landscape, viewport));
        let shared = |a: SymLog, b: SymLog| SymLog {
            linear: a.linear.min(b.linear),
            min: a.min.min(b.min),
            max: a.max.max(b.max),
        };
        let wanted = wanted.reduce(shared).unwrap_or(NOTHING_IN_VIEW);
        let scale = match &self.current {
            None => SymLog { linear: nice_step(wanted.linear), max: nice_step(wanted.max), ..wanted },
            Some((of, current)) => SymLog {
                linear: keep_or_round(current.linear, wanted.linear),
                min: if is_same(of, false) { wanted.min.min(current.min) } else { wanted.min },
                max: keep_or_round(current.max, wanted.max),
            },
        };
        let min = if scale.min < 0.0 { -scale.max } else { 0.0 };
        let scale = SymLog { linear: scale.linear.min(scale.max), min, ..scale };
        let views = views.iter().map(|(landscape, viewport)| ((*landscape).clone(), *viewport));
        self.current = Some((views.collect(), scale));
        scale
    }
}

fn keep_or_round(current: f64, wanted: f64) -> f64 {
    if (wanted / current).ln().abs() <= TOLERANCE.ln() { current } else { nice_step(wanted) }
}

/// Returns the unrounded scale for the losses on a coarse grid over the view.
fn suitable(landscape: &Landscape, viewport: &Viewport) -> SymLog {
    let [width, height] = viewport.size_px;
    let at = |column: usize, row: usize| {
        let px = [width * (column as f32 + 0.5) / COLUMNS as f32, height * (row as f32 + 0.5) / ROWS as f32];
        viewport.xy_from_px(px)
    };
    let x: Vec<f64> = (0..COLUMNS).map(|column| at(column, 0)[0]).collect();
    let mut losses = vec![0.0; COLUMNS * ROWS];
    for (row, losses) in losses.chunks_exact_mut(COLUMNS).enumerate() {
        landscape.losses_along(&x, at(0, row)[1], losses);
    }
    losses.retain(|loss| loss.is_finite());
    if losses.is_empty() {
        return NOTHING_IN_VIEW;
    }
    losses.sort_by(f64::total_cmp);
    let deepest = (-losses[0]).max(0.0);
    let highest = losses[(losses.len() * 9) / 10].max(deepest);
    let max = highest.clamp(1e-12, 1e12);
    let is_negative = deepest > ROUNDING * max;
    let linear = if is_negative { deepest / 12.0 } else { max / 1000.0 };
    SymLog { linear: linear.clamp(1e-6 * max, max), min: if is_negative { -max } else { 0.0 }, max }
}
