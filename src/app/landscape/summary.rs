//! The description of the canvas for screen readers.

use valleyscope_experiments::view::Viewport;
use valleyscope_experiments::view::ticks::{grouped, significant};

use crate::app::{Document, Live};
use crate::player::Playback;

/// Describes the canvas for screen readers. `left_out` are the optimizers that have run away.
pub(super) fn summary(document: &Document, live: &Live, viewport: &Viewport, left_out: &[u32]) -> String {
    let [width, height] = viewport.size_px;
    let [left, bottom] = viewport.xy_from_px([0.0, height]).map(|value| significant(value, 3));
    let [right, top] = viewport.xy_from_px([width, 0.0]).map(|value| significant(value, 3));
    let mut text = format!("In view: x from {left} to {right}, y from {bottom} to {top}.");
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
    if let Some(particle) = live.selected {
        text += &format!(" Particle {} is selected.", particle.particle + 1);
    }
    text
}
