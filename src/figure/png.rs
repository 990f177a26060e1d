//! Figures and maps as PNG files.

use image::codecs::png::PngEncoder;
use image::{ExtendedColorType, ImageEncoder};
use resvg::tiny_skia::{Color, Pixmap, Transform};

use super::FigureError;
use super::map::MapImage;
use super::svg::{CREATOR, Svg};

/// The largest number of pixels of a picture, which take 400 MB while it is drawn.
pub(super) const MAX_PIXELS: f64 = 1e8;
const MM_PER_INCH: f64 = 25.4;

impl Svg {
    /// Returns the figure as a PNG file with `dpi` dots per inch: width in mm × dpi / 25.4 pixels wide.
    pub fn to_png(&self, dpi: f64) -> Result<Vec<u8>, FigureError> {
        if !(10.0..=4800.0).contains(&dpi) {
            return Err(FigureError::OutOfRange { name: "dpi", expected: "from 10 to 4800".to_owned(), found: dpi });
        }
        let [width, height] = [self.width_mm, self.height_mm()].map(|length| (length * dpi / MM_PER_INCH).round());
        if width * height > MAX_PIXELS {
            return Err(FigureError::TooLarge { width, height });
        }
        let too_large = || FigureError::TooLarge { width, height };
        let mut pixmap = Pixmap::new(width as u32, height as u32).ok_or_else(too_large)?;
        pixmap.fill(Color::WHITE);
        let tree = self.tree()?;
        let scale = width as f32 / tree.size().width();
        resvg::render(&tree, Transform::from_scale(scale, scale), &mut pixmap.as_mut());
        let (size, mut rgb) = ([pixmap.width(), pixmap.height()], pixmap.take());
        for pixel in 0..rgb.len() / 4 {
            rgb.copy_within(4 * pixel..4 * pixel + 3, 3 * pixel);
        }
        rgb.truncate(rgb.len() / 4 * 3);
        let png = encoded(&rgb, size)?;
        let about = &self.about;
        let mut chunks = resolution(dpi);
        for (keyword, text) in [
            ("Title", about.title.as_str()),
            ("Software", CREATOR),
            ("Source", &about.programs()),
            ("Description", &about.description()),
        ] {
            chunks.extend(international_text(keyword, text));
        }
        Ok([&png[..HEADER_LENGTH], &chunks, &png[HEADER_LENGTH..]].concat())
    }
}

/// Returns a map as a PNG file, one pixel per cell.
pub(super) fn of_map(image: &MapImage) -> Result<Vec<u8>, FigureError> {
    // Without opacity, which would be a second image in a PDF.
    let rgb: Vec<u8> = image.rgba.chunks_exact(4).flat_map(|pixel| [pixel[0], pixel[1], pixel[2]]).collect();
    encoded(&rgb, [image.width as u32, image.height as u32])
}

pub(crate) fn encoded(rgb: &[u8], [width, height]: [u32; 2]) -> Result<Vec<u8>, FigureError> {
    let mut png = Vec::new();
    let encoder = PngEncoder::new(&mut png);
    let written = encoder.write_image(rgb, width, height, ExtendedColorType::Rgb8);
    written.map_err(|error| FigureError::Draw(error.to_string()))?;
    Ok(png)
}

/// The length of the signature and the chunk IHDR, after which other chunks may follow.
const HEADER_LENGTH: usize = 8 + 25;

/// Returns the chunk pHYs: pixels per metre.
fn resolution(dpi: f64) -> Vec<u8> {
    let per_metre = ((dpi / MM_PER_INCH * 1000.0).round() as u32).to_be_bytes();
    const METRES: u8 = 1;
    chunk(b"pHYs", &[per_metre.as_slice(), &per_metre, &[METRES]].concat())
}

/// Returns the chunk iTXt: a text in UTF-8, neither compressed nor translated.
fn international_text(keyword: &str, text: &str) -> Vec<u8> {
    chunk(b"iTXt", &[keyword.as_bytes(), &[0; 5], text.as_bytes()].concat())
}

fn chunk(kind: &[u8; 4], contents: &[u8]) -> Vec<u8> {
    let length = u32::try_from(contents.len()).expect("a chunk is far smaller than 4 GiB").to_be_bytes();
    let checked = [kind.as_slice(), contents].concat();
    [length.as_slice(), &checked, &crc32fast::hash(&checked).to_be_bytes()].concat()
}
