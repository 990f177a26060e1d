//! The means of the ensembles on the canvas. Marks at the same place are nested, so that none hides another.

use egui::{Color32, Pos2, Rect, Ui, Vec2};

use super::marker::{color_of, draw_marker, marker_of};
use super::projection::Projection;
use crate::app::branches::PALE;
use crate::app::{Document, Live};

/// The radius of the marker of a mean, in points.
const RADIUS: f32 = 4.5;
/// The factor of the radius for branches.
const PALE_RADIUS: f32 = 0.8;
/// The distance between means, in points, from which ensembles do not hide each other.
const APART: f32 = 8.0;
/// The factors of the sizes of an ensemble's marks for each ensemble drawn above it and below it at the same place.
const GROWTH: f32 = 1.6;
const SHRINKAGE: f32 = 0.75;
/// The limits of the factor for many ensembles at the same place.
const SCALES: std::ops::RangeInclusive<f32> = 0.6..=2.2;

/// The mean of a shown ensemble.
pub(super) struct EnsembleMean {
    pub id: u32,
    pub at: Pos2,
    opacity: f32,
    /// The factor of the sizes of the ensemble's marks, trails and particles.
    pub scale: f32,
}

/// Returns the means of the shown ensembles that have a place on the canvas or beside it.
pub(super) fn means(live: &Live, projection: &Projection, canvas: Rect) -> Vec<EnsembleMean> {
    let mut means: Vec<EnsembleMean> = live
        .visible()
        .filter_map(|view| {
            let &[x, y] = view.mean_path.last()?;
            let mark = projection.mark([f64::from(x), f64::from(y)])?;
            let at = mark.on(canvas);
            at.is_finite().then(|| EnsembleMean { id: view.optimizer, at, opacity: mark.opacity(), scale: 1.0 })
        })
        .collect();
    let places: Vec<Pos2> = means.iter().map(|mean| mean.at).collect();
    for (mean, scale) in means.iter_mut().zip(scales(&places)) {
        mean.scale = scale;
    }
    means
}

/// Returns the scales of marks in the order in which they are drawn: those below others grow and those above shrink, the
/// more the nearer they are.
fn scales(places: &[Pos2]) -> Vec<f32> {
    let near = |a: Pos2, b: Pos2| (1.0 - a.distance(b) / APART).max(0.0);
    let scale = |(index, &place): (usize, &Pos2)| {
        let count = |others: &[Pos2]| others.iter().map(|&other| near(place, other)).sum::<f32>();
        let factor = SHRINKAGE.powf(count(&places[..index])) * GROWTH.powf(count(&places[index + 1..]));
        factor.clamp(*SCALES.start(), *SCALES.end())
    };
    places.iter().enumerate().map(scale).collect()
}

/// Draws the markers of the means.
pub(super) fn draw(ui: &Ui, canvas: Rect, document: &Document, means: &[EnsembleMean]) {
    let painter = ui.painter().with_clip_rect(canvas);
    for mean in means.iter().filter(|mean| canvas.expand2(Vec2::splat(10.0)).contains(mean.at)) {
        let optimizers = &document.spec.optimizers;
        if !optimizers.iter().any(|spec| spec.id == mean.id) {
            continue;
        }
        let marker = marker_of(optimizers, mean.id);
        let colors = [color_of(optimizers, mean.id), Color32::BLACK];
        let [fill, outline] = colors.map(|color| color.gamma_multiply(mean.opacity));
        painter.add(draw_marker(marker, mean.at, mean.scale * RADIUS, fill, outline));
    }
}

/// Draws the markers of the means of branches, paler and smaller.
pub(super) fn draw_pale(ui: &Ui, canvas: Rect, projection: &Projection, document: &Document, live: &Live) {
    let painter = ui.painter().with_clip_rect(canvas);
    for view in live.pale().flat_map(|(_, session)| live.visible_of(session)) {
        let Some(spec) = document.spec.optimizers.iter().find(|spec| spec.id == view.optimizer) else { continue };
        let last = view.mean_path.last().map(|place| place.map(f64::from));
        let Some(mark) = last.and_then(|xy| projection.mark(xy)).filter(|mark| mark.on(canvas).is_finite()) else {
            continue;
        };
        let marker = marker_of(&document.spec.optimizers, spec.id);
        let opacity = (1.5 * PALE).min(1.0) * mark.opacity();
        let colors = [color_of(&document.spec.optimizers, spec.id), Color32::BLACK];
        let [fill, outline] = colors.map(|color| color.gamma_multiply(opacity));
        painter.add(draw_marker(marker, mark.on(canvas), PALE_RADIUS * RADIUS, fill, outline));
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
