//! The picture of a map, made on a thread of its own.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::time::{Duration, Instant};

use egui::{ColorImage, Context, TextureHandle, TextureOptions};
use valleyscope_engine::sweep::{Diagram, Metric, SweepSpec};

use crate::app::theme;
use crate::figure::{Map, MapImage, Scale, Swatch};

/// The displayed map of a diagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MapLook {
    pub map: Map,
    pub metric: Metric,
}

/// The explanation of the colours.
pub(super) struct ColorKey {
    pub scale: Option<Scale>,
    pub legend: Vec<Swatch>,
    /// The label of the scale.
    pub label: String,
}

/// The texture of a map, renewed when the diagram or the look has changed.
#[derive(Default)]
pub(super) struct MapPicture {
    texture: Option<TextureHandle>,
    /// The sweep that the texture shows.
    spec: Option<Arc<SweepSpec>>,
    pub color_key: Option<ColorKey>,
    /// The look, the version and the colour of unknown cells of the newest texture, which may still be in progress.
    wanted: Option<(MapLook, u64, [u8; 3])>,
    coming: Option<Receiver<(MapImage, ColorKey, Arc<SweepSpec>)>>,
    asked: Option<Instant>,
}

/// The smallest time between pictures of a diagram that fills in.
const LEAST_INTERVAL: Duration = Duration::from_millis(60);
/// The additional time between pictures for each cell, which is copied for the drawing thread.
const PER_CELL: Duration = Duration::from_nanos(1000);

impl MapPicture {
    pub(super) fn texture(&self) -> Option<&TextureHandle> {
        self.texture.as_ref()
    }

    /// Returns the sweep of the visible picture.
    pub(super) fn spec(&self) -> Option<&Arc<SweepSpec>> {
        self.spec.as_ref()
    }

    /// Returns whether the map has a colour bar.
    pub(super) fn has_bar(&self) -> bool {
        self.color_key.as_ref().is_some_and(|color_key| color_key.scale.is_some())
    }

    /// Takes a finished picture, and requests another where it is outdated.
    pub(super) fn update(&mut self, ctx: &Context, diagram: &Diagram, version: u64, look: MapLook) {
        if let Some(coming) = &self.coming {
            match coming.try_recv() {
                Ok((image, color_key, spec)) => {
                    self.show(ctx, &image);
                    (self.color_key, self.spec) = (Some(color_key), Some(spec));
                    self.coming = None;
                }
                Err(TryRecvError::Empty) => return,
                Err(TryRecvError::Disconnected) => self.coming = None,
            }
        }
        let unknown = theme::not_computed(ctx.theme());
        let same_look = self.wanted.is_some_and(|(wanted, _, color)| (wanted, color) == (look, unknown));
        if self.wanted == Some((look, version, unknown)) {
            return;
        }
        let between = LEAST_INTERVAL + PER_CELL * u32::try_from(diagram.cell_count()).unwrap_or(u32::MAX);
        if let Some(asked) = self.asked.filter(|_| same_look)
            && let Some(wait) = between.checked_sub(asked.elapsed())
        {
            ctx.request_repaint_after(wait);
            return;
        }
        self.wanted = Some((look, version, unknown));
        self.asked = Some(Instant::now());
        let (sender, receiver) = channel();
        let (diagram, ctx) = (diagram.clone(), ctx.clone());
        std::thread::spawn(move || {
            let filled = diagram.filled();
            let color_key = ColorKey {
                scale: look.map.scale(&filled, look.metric),
                legend: look.map.legend_with(&filled, look.metric, unknown),
                label: look.map.quantity(&diagram.spec().landscape, look.metric),
            };
            let image = look.map.image_with(&filled, look.metric, unknown);
            // The panel may be gone.
            let _ = sender.send((image, color_key, Arc::clone(diagram.spec())));
            ctx.request_repaint();
        });
        self.coming = Some(receiver);
    }

    fn show(&mut self, ctx: &Context, image: &MapImage) {
        let image = shrunk(image, ctx.input(|input| input.max_texture_side));
        match &mut self.texture {
            Some(texture) => texture.set(image, TextureOptions::NEAREST),
            None => self.texture = Some(ctx.load_texture("phase diagram", image, TextureOptions::NEAREST)),
        }
    }
}

/// Converts an image to at most `most` pixels a side; some rows and columns of a larger one are left out.
fn shrunk(image: &MapImage, most: usize) -> ColorImage {
    let [width, height] = [image.width, image.height].map(|side| side.min(most));
    let rows = (0..height).map(|y| y * image.height / height);
    let pixels = rows.flat_map(|row| (0..width).map(move |x| row * image.width + x * image.width / width));
    let rgba: Vec<u8> = pixels.flat_map(|pixel| &image.rgba[4 * pixel..4 * pixel + 4]).copied().collect();
    ColorImage::from_rgba_unmultiplied([width, height], &rgba)
}
