//! Pictures of a part of the window.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use egui::{ColorImage, Context, Rect};

/// A picture of the window, and the name suggested for its file.
pub(super) struct Screenshot {
    pub image: Arc<ColorImage>,
    pub suggested_name: String,
}

/// Requested pictures of the window.
pub(super) struct Screenshots {
    waiting: Option<Waiting>,
    taken: Receiver<Screenshot>,
    give: Sender<Screenshot>,
}

struct Waiting {
    area: Rect,
    suggested_name: String,
    /// The number of frames until the menu that requested the picture has closed.
    frames: u32,
}

impl Default for Screenshots {
    fn default() -> Self {
        let (give, taken) = channel();
        Screenshots { waiting: None, taken, give }
    }
}

impl Screenshots {
    /// Requests a picture of `area`, in points.
    pub(super) fn ask(&mut self, area: Rect, suggested_name: String) {
        self.waiting = Some(Waiting { area, suggested_name, frames: 3 });
    }

    /// Requests the window's pixels when the menu has closed. Call once a frame.
    pub(super) fn request_when_due(&mut self, ctx: &Context) {
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
                // The window may be closed.
                let _ = give.send(Screenshot { image, suggested_name });
                wake.request_repaint();
            });
        }
    }

    /// Returns the next finished picture.
    pub(super) fn take(&mut self) -> Option<Screenshot> {
        self.taken.try_recv().ok()
    }
}

/// Returns the pixels of `area`, in points, clipped to the window, at least one.
fn part(window: &ColorImage, area: Rect, pixels_per_point: f32) -> ColorImage {
    let [width, height] = window.size;
    let pixel = |points: f32, most: usize| ((points * pixels_per_point).round().max(0.0) as usize).min(most);
    let (left, right) = (pixel(area.left(), width.saturating_sub(1)), pixel(area.right(), width));
    let (top, bottom) = (pixel(area.top(), height.saturating_sub(1)), pixel(area.bottom(), height));
    let size = [right.max(left + 1).min(width) - left, bottom.max(top + 1).min(height) - top];
    window.region_by_pixels([left, top], size)
}
