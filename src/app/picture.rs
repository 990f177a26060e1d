//! Pictures of a part of the window.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use egui::{ColorImage, Context, Rect};

/// A picture that was taken, and the name suggested for its file.
pub(super) struct Picture {
    pub image: Arc<ColorImage>,
    pub suggested_name: String,
}

/// Pictures on their way.
pub(super) struct Pictures {
    waiting: Option<Waiting>,
    taken: Receiver<Picture>,
    give: Sender<Picture>,
}

struct Waiting {
    area: Rect,
    suggested_name: String,
    /// Frames until the menu that asked for the picture is no longer in it.
    frames: u32,
}

impl Default for Pictures {
    fn default() -> Self {
        let (give, taken) = channel();
        Pictures { waiting: None, taken, give }
    }
}

impl Pictures {
    /// Requests a picture of `area`, in points.
    pub(super) fn ask(&mut self, area: Rect, suggested_name: String) {
        self.waiting = Some(Waiting { area, suggested_name, frames: 3 });
    }

    /// Call once a frame: asks the window for its pixels when the time has come.
    pub(super) fn tick(&mut self, ctx: &Context) {
        let Some(waiting) = &mut self.waiting else { return };
        ctx.request_repaint();
        waiting.frames = waiting.frames.saturating_sub(1);
        if waiting.frames > 0 {
            return;
        }
        if let Some(Waiting { area, suggested_name, .. }) = self.waiting.take() {
            let (give, wake) = (self.give.clone(), ctx.clone());
            let (area, pixels_per_point) = (area.intersect(ctx.content_rect()), ctx.pixels_per_point());
            ctx.request_screenshot(move |window| {
                let image = Arc::new(part(&window, area, pixels_per_point));
                // Nobody listens any more once the window is closed.
                let _ = give.send(Picture { image, suggested_name });
                wake.request_repaint();
            });
        }
    }

    /// The next picture that has arrived.
    pub(super) fn take(&mut self) -> Option<Picture> {
        self.taken.try_recv().ok()
    }
}

/// The pixels of `area`, in points, as far as the window goes, and one at least.
fn part(window: &ColorImage, area: Rect, pixels_per_point: f32) -> ColorImage {
    let [width, height] = window.size;
    let pixel = |points: f32, most: usize| ((points * pixels_per_point).round().max(0.0) as usize).min(most);
    let (left, right) = (pixel(area.left(), width.saturating_sub(1)), pixel(area.right(), width));
    let (top, bottom) = (pixel(area.top(), height.saturating_sub(1)), pixel(area.bottom(), height));
    let size = [right.max(left + 1).min(width) - left, bottom.max(top + 1).min(height) - top];
    window.region_by_pixels([left, top], size)
}
