//! The description of the canvas for screen readers.

use valleyscope_experiments::view::ticks::{grouped, significant};

use super::legend::mean_losses;
use super::projection::Projection;
use crate::app::{Document, Live};
use crate::player::Playback;

/// Describes the canvas for screen readers. `left_out` are the optimizers that have run away.
pub(super) fn summary(document: &Document, live: &Live, projection: &Projection, left_out: &[u32]) -> String {
    let corners = match projection {
        Projection::Plane(viewport) => {
            let [width, height] = viewport.size_px;
            [[0.0, height], [width, 0.0]].map(|corner| viewport.xy_from_px(corner))
        }
        Projection::Space(space) => [-1.0, 1.0].map(|side| space.view.xy_from_place([side; 2])),
    };
    let [[left, bottom], [right, top]] = corners.map(|corner| corner.map(|value| significant(value, 3)));
    let mut text = format!("In view: x from {left} to {right}, y from {bottom} to {top}.");
    if let Projection::Space(space) = projection {
        let [azimuth, elevation] = [space.view.orbit.azimuth, space.view.orbit.elevation].map(f64::round);
        text += &format!(" A surface in space, seen from {elevation}° above, azimuth {azimuth}°.");
    }
    let Some(snapshot) = &live.snapshot else { return text + " Nothing is simulated yet." };
    let playback = match snapshot.playback {
        Playback::Playing => "playing",
        Playback::Paused => "paused",
        Playback::Finished => "finished",
    };
    text += &format!(" Step {}, {playback}.", grouped(snapshot.step));
    for view in live.visible() {
        let name = document.spec.name_of(view.optimizer).unwrap_or_else(|| "An optimizer".to_owned());
        let loss = significant(view.sample.loss.mean, 4);
        text += &format!(" {name}: {} particles, mean loss {loss}", view.particles);
        if view.sample.diverged > 0 {
            text += &format!(", {} diverged", view.sample.diverged);
        }
        if left_out.contains(&view.optimizer) {
            text += ", run away and not followed";
        }
        text += ".";
    }
    for (branch, session) in live.pale() {
        let label = branch.label(&live.marks, &document.spec);
        text += &format!(" Pale: {label}, mean loss {}.", mean_losses(document, live, session));
    }
    if let Some(particle) = live.selected {
        text += &format!(" Particle {} is selected.", particle.particle + 1);
    }
    text
}
