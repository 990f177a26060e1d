//! Small pictures of kept diagrams.

use std::io::Cursor;
use std::path::Path;

use egui::ColorImage;
use image::codecs::png::PngDecoder;
use image::{DynamicImage, ImageDecoder as _, RgbaImage};
use valleyscope_engine::sweep::Diagram;

use crate::figure::{Map, MapImage};

/// The largest side of a picture, in pixels.
const SIDE: usize = 128;
/// The largest file of a picture, in bytes.
pub(super) const MOST_BYTES: u64 = 1 << 20;

/// Draws the winners of a diagram, by the metric of its sweep; some rows and columns of a large one are left out.
pub(super) fn draw(diagram: &Diagram) -> ColorImage {
    let image = Map::Winner { certainty: true }.image(&diagram.filled(), diagram.spec().metric);
    let MapImage { width, height, rgba } = image.thinned(SIDE);
    ColorImage::from_rgba_unmultiplied([width, height], &rgba)
}

/// Encodes a picture as PNG.
pub(super) fn encode(image: &ColorImage) -> Vec<u8> {
    let [width, height] = image.size.map(|side| side as u32);
    let rgba = image.pixels.iter().flat_map(|color| color.to_array()).collect();
    let image = RgbaImage::from_raw(width, height, rgba).expect("an image has a color for each pixel");
    let mut bytes = Cursor::new(Vec::new());
    image.write_to(&mut bytes, image::ImageFormat::Png).expect("memory can be written");
    bytes.into_inner()
}

/// Reads the picture in a file; `None` if there is none that could have been written by [`encode`].
pub(super) fn read(path: &Path) -> Option<ColorImage> {
    use valleyscope_runs::plain_file::{self, Links};
    let bytes = plain_file::read(path, Links::Refused, MOST_BYTES).ok()?;
    let decoder = PngDecoder::new(Cursor::new(bytes)).ok()?;
    let (width, height) = decoder.dimensions();
    if width.max(height) as usize > SIDE {
        return None;
    }
    let image = DynamicImage::from_decoder(decoder).ok()?.into_rgba8();
    Some(ColorImage::from_rgba_unmultiplied([width as usize, height as usize], &image))
}
