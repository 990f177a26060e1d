//! Animated GIFs and PNGs, whose frames are differences to the previous frame.

use std::fs::File;
use std::io::BufWriter;

use gif::{DisposalMethod, Encoder, EncodingError, Frame, Repeat};
use image::RgbImage;
use png;
use png::{BitDepth, BlendOp, ColorType, Compression, DisposeOp, Writer};
use valleyscope_runs::atomic_file::{AtomicFile, Overwrite};

use super::file::{AnimationFile, EncodeError, FrameWriter};

/// Writes a GIF. Each frame has a separate palette for the pixels that it changes.
pub(super) struct GifWriter {
    file: AnimationFile,
    encoder: Encoder<AtomicFile>,
    before: Option<RgbImage>,
    /// The number of frames written, and the time at which the next is shown, in hundredths of a second.
    frames: u64,
    shown_until: u64,
}

impl GifWriter {
    pub(super) fn begin(file: AnimationFile) -> Result<GifWriter, EncodeError> {
        let [width, height] = file.size.map(side);
        let target = AtomicFile::for_target(&file.target).map_err(|source| file.failed(source))?;
        let begun = Encoder::new(target, width, height, &[]).and_then(|mut encoder| {
            encoder.set_repeat(Repeat::Infinite)?;
            Ok(encoder)
        });
        let encoder = begun.map_err(|source| gif_error(&file, source))?;
        Ok(GifWriter { file, encoder, before: None, frames: 0, shown_until: 0 })
    }
}

impl FrameWriter for GifWriter {
    fn write(&mut self, frame: RgbImage) -> Result<(), EncodeError> {
        let Difference { corner, size, pixels } = Difference::new(self.before.as_ref(), &frame);
        let drawn = indexed(&pixels, &self.file.exact_colors);
        // The rounded times of the frames add up to the time of the whole.
        self.frames += 1;
        let until = (100 * self.frames).div_ceil(u64::from(self.file.frames_per_sec.max(1)));
        let delay = u16::try_from(until - self.shown_until).unwrap_or(u16::MAX);
        self.shown_until = until;
        let written = self.encoder.write_frame(&Frame {
            delay,
            dispose: DisposalMethod::Keep,
            transparent: drawn.transparent,
            left: side(corner[0]),
            top: side(corner[1]),
            width: side(size[0]),
            height: side(size[1]),
            palette: Some(drawn.palette.concat()),
            buffer: drawn.indices.into(),
            ..Frame::default()
        });
        self.before = Some(frame);
        written.map_err(|source| gif_error(&self.file, source))
    }

    fn finish(self: Box<Self>) -> Result<(), EncodeError> {
        let GifWriter { file, encoder, .. } = *self;
        let target = encoder.into_inner().map_err(|source| gif_error(&file, source))?;
        target.commit(Overwrite::Yes).map_err(|source| file.failed(source))
    }
}

fn side(pixels: u32) -> u16 {
    u16::try_from(pixels).unwrap_or(u16::MAX)
}

fn gif_error(file: &AnimationFile, error: EncodingError) -> EncodeError {
    match error {
        EncodingError::Io(source) => file.failed(source),
        other => EncodeError::Encode { path: file.target.clone(), reason: other.to_string() },
    }
}

const MOST_COLORS: usize = 256;
/// The number of frequent colours that stay exact: backgrounds and text.
const FREQUENT: usize = 16;
/// The weights of red, green and blue, roughly by the eye's sensitivity.
const AXIS_WEIGHTS: [f64; 3] = [1.4, 2.0, 1.2];
/// The number of rounds in which each colour of the palette moves to the mean of the colours that it represents.
const ROUNDS: usize = 2;

/// A colour of the picture. Its weight is the root of its number of pixels, so that few lines and points count in a
/// large heatmap.
#[derive(Clone, Copy)]
struct Entry {
    rgb: [u8; 3],
    pixels: u32,
}

impl Entry {
    fn weight(&self) -> f64 {
        f64::from(self.pixels).sqrt()
    }
}

#[derive(Debug)]
pub(super) struct Indexed {
    pub palette: Vec<[u8; 3]>,
    /// The index of a pixel without a colour; `None` where each pixel has one. The palette has a colour at this index,
    /// which is never visible.
    pub transparent: Option<u8>,
    pub indices: Vec<u8>,
}

/// Reduces pixels to at most [`MOST_COLORS`] colours, or one less where some pixels have no colour. The first 128
/// colours of `exact` that occur stay unchanged.
pub(super) fn indexed(pixels: &[Option<[u8; 3]>], exact: &[[u8; 3]]) -> Indexed {
    let entries = colors_of(pixels);
    let has_none = pixels.iter().any(Option::is_none);
    let all: Vec<[u8; 3]> = entries.iter().map(|entry| entry.rgb).collect();
    let mut palette = suited(entries, exact, MOST_COLORS - usize::from(has_none));
    let index_of = |rgb: &[u8; 3]| u8::try_from(nearest(&palette, *rgb)).expect("there are at most 256 colours");
    let known: Vec<u8> = all.iter().map(index_of).collect();
    let transparent = has_none.then(|| u8::try_from(palette.len()).expect("there are at most 255 colours"));
    palette.extend(has_none.then_some([0; 3]));
    let index = |pixel: &Option<[u8; 3]>| {
        let known = pixel.and_then(|rgb| all.binary_search(&rgb).ok()).map(|index| known[index]);
        known.or(transparent).unwrap_or_default()
    };
    Indexed { indices: pixels.iter().map(index).collect(), palette, transparent }
}

/// Chooses at most `most` colours that suit `entries`, including the first 128 of `exact` that are among them.
fn suited(mut entries: Vec<Entry>, exact: &[[u8; 3]], most: usize) -> Vec<[u8; 3]> {
    if entries.len() <= most {
        return entries.into_iter().map(|entry| entry.rgb).collect();
    }
    let mut fixed = Vec::new();
    let is_there = |rgb: &&[u8; 3]| entries.binary_search_by_key(*rgb, |entry| entry.rgb).is_ok();
    for rgb in exact.iter().filter(is_there).take(MOST_COLORS / 2) {
        if !fixed.contains(rgb) {
            fixed.push(*rgb);
        }
    }
    entries.retain(|entry| !fixed.contains(&entry.rgb));
    entries.sort_by_key(|entry| (std::cmp::Reverse(entry.pixels), entry.rgb));
    fixed.extend(entries.drain(..FREQUENT.min(entries.len())).map(|entry| entry.rgb));
    palette(&fixed, entries, most)
}

fn colors_of(pixels: &[Option<[u8; 3]>]) -> Vec<Entry> {
    let mut colors: Vec<[u8; 3]> = pixels.iter().flatten().copied().collect();
    colors.sort_unstable();
    let runs = colors.chunk_by(|a, b| a == b);
    runs.map(|run| Entry { rgb: run[0], pixels: u32::try_from(run.len()).unwrap_or(u32::MAX) }).collect()
}

/// Chooses `fixed`, and the colours that suit `entries` best: the box of colours with the largest error is split until
/// there are enough, and each colour then becomes the mean of the nearest entries.
fn palette(fixed: &[[u8; 3]], entries: Vec<Entry>, most: usize) -> Vec<[u8; 3]> {
    let mut boxes = vec![ColorBox::new(entries)];
    while boxes.len() < most - fixed.len() {
        let errors = boxes.iter().map(|colors| colors.error).enumerate();
        let Some((widest, error)) = errors.max_by(|a, b| a.1.total_cmp(&b.1)) else { break };
        if error <= 0.0 {
            break;
        }
        let (low, high) = boxes.swap_remove(widest).cut();
        boxes.extend([low, high]);
    }
    let mut palette = fixed.to_vec();
    palette.extend(boxes.iter().map(|colors| mean(&colors.entries).map(|value| value.round() as u8)));
    let entries: Vec<Entry> = boxes.into_iter().flat_map(|colors| colors.entries).collect();
    for _ in 0..ROUNDS {
        let mut members = vec![Vec::new(); palette.len()];
        for entry in &entries {
            members[nearest(&palette, entry.rgb)].push(*entry);
        }
        for (color, members) in palette.iter_mut().zip(&members).skip(fixed.len()) {
            if !members.is_empty() {
                *color = mean(members).map(|value| value.round() as u8);
            }
        }
    }
    palette
}

struct ColorBox {
    entries: Vec<Entry>,
    /// The axis on which they differ the most, and their error: the sum of the weighted squares.
    axis: usize,
    error: f64,
}

impl ColorBox {
    fn new(entries: Vec<Entry>) -> ColorBox {
        let mean = mean(&entries);
        let error_on = |axis: usize| -> f64 {
            let distance = |entry: &Entry| AXIS_WEIGHTS[axis] * (f64::from(entry.rgb[axis]) - mean[axis]);
            entries.iter().map(|entry| entry.weight() * distance(entry).powi(2)).sum()
        };
        let errors = [0, 1, 2].map(error_on);
        let axis = (0..3).max_by(|a, b| errors[*a].total_cmp(&errors[*b])).unwrap_or(0);
        let error = if entries.len() > 1 { errors[axis] } else { 0.0 };
        ColorBox { entries, axis, error }
    }

    fn cut(self) -> (ColorBox, ColorBox) {
        let middle = mean(&self.entries)[self.axis];
        let (low, high) = self.entries.into_iter().partition(|entry| f64::from(entry.rgb[self.axis]) < middle);
        (ColorBox::new(low), ColorBox::new(high))
    }
}

fn mean(entries: &[Entry]) -> [f64; 3] {
    let total: f64 = entries.iter().map(Entry::weight).sum();
    [0, 1, 2].map(|axis| entries.iter().map(|entry| entry.weight() * f64::from(entry.rgb[axis])).sum::<f64>() / total)
}

fn nearest(palette: &[[u8; 3]], rgb: [u8; 3]) -> usize {
    let distance = |color: &[u8; 3]| -> f64 {
        (0..3).map(|axis| (AXIS_WEIGHTS[axis] * (f64::from(color[axis]) - f64::from(rgb[axis]))).powi(2)).sum()
    };
    let mut best = (f64::INFINITY, 0);
    for (index, color) in palette.iter().enumerate() {
        let distance = distance(color);
        if distance < best.0 {
            best = (distance, index);
        }
    }
    best.1
}

/// Writes an animated PNG, which also shows its first frame in programs without animations.
pub(super) struct ApngWriter {
    file: AnimationFile,
    writer: Writer<BufWriter<File>>,
    target: AtomicFile,
    before: Option<RgbImage>,
}

impl ApngWriter {
    pub(super) fn begin(file: AnimationFile) -> Result<ApngWriter, EncodeError> {
        let target = AtomicFile::for_target(&file.target).map_err(|source| file.failed(source))?;
        let begin = || -> Result<Writer<BufWriter<File>>, png::EncodingError> {
            let [width, height] = file.size;
            let output = BufWriter::new(File::create(target.path())?);
            let mut encoder = png::Encoder::new(output, width, height);
            encoder.set_color(ColorType::Rgba);
            encoder.set_depth(BitDepth::Eight);
            encoder.set_compression(Compression::High);
            encoder.set_animated(u32::try_from(file.frames).unwrap_or(u32::MAX), 0)?;
            encoder.set_frame_delay(1, u16::try_from(file.frames_per_sec).unwrap_or(u16::MAX))?;
            encoder.set_blend_op(BlendOp::Over)?;
            encoder.set_dispose_op(DisposeOp::None)?;
            encoder.write_header()
        };
        let writer = begin().map_err(|source| apng_error(&file, source))?;
        Ok(ApngWriter { file, writer, target, before: None })
    }

    fn write_difference(&mut self, difference: &Difference) -> Result<(), png::EncodingError> {
        let Difference { corner, size, pixels } = difference;
        if self.before.is_some() {
            // This order keeps the rectangle within the picture.
            self.writer.reset_frame_position()?;
            self.writer.set_frame_dimension(size[0], size[1])?;
            self.writer.set_frame_position(corner[0], corner[1])?;
        }
        let rgba = |pixel: &Option<[u8; 3]>| match pixel {
            Some([red, green, blue]) => [*red, *green, *blue, 255],
            None => [0; 4],
        };
        let bytes: Vec<u8> = pixels.iter().flat_map(rgba).collect();
        self.writer.write_image_data(&bytes)
    }
}

impl FrameWriter for ApngWriter {
    fn write(&mut self, frame: RgbImage) -> Result<(), EncodeError> {
        let difference = Difference::new(self.before.as_ref(), &frame);
        let written = self.write_difference(&difference);
        self.before = Some(frame);
        written.map_err(|source| apng_error(&self.file, source))
    }

    fn finish(self: Box<Self>) -> Result<(), EncodeError> {
        let ApngWriter { file, writer, target, .. } = *self;
        writer.finish().map_err(|source| apng_error(&file, source))?;
        target.commit(Overwrite::Yes).map_err(|source| file.failed(source))
    }
}

fn apng_error(file: &AnimationFile, error: png::EncodingError) -> EncodeError {
    match error {
        png::EncodingError::IoError(source) => file.failed(source),
        other => EncodeError::Encode { path: file.target.clone(), reason: other.to_string() },
    }
}

/// The part of a frame that differs from the previous frame.
#[derive(Debug, PartialEq)]
pub(super) struct Difference {
    /// The left and the upper edge of the smallest rectangle that holds all changed pixels, in pixels.
    pub corner: [u32; 2],
    pub size: [u32; 2],
    /// The pixels of the rectangle, row by row; `None` where a pixel did not change.
    pub pixels: Vec<Option<[u8; 3]>>,
}

impl Difference {
    /// Computes the difference of a frame to the previous one. The first frame changes everything; a frame equal to the
    /// previous one repeats a single pixel.
    pub(super) fn new(before: Option<&RgbImage>, frame: &RgbImage) -> Difference {
        let (width, height) = frame.dimensions();
        let Some(before) = before.filter(|before| before.dimensions() == (width, height)) else {
            let pixels = frame.pixels().map(|pixel| Some(pixel.0)).collect();
            return Difference { corner: [0; 2], size: [width, height], pixels };
        };
        let ([mut left, mut top], [mut right, mut bottom]) = ([width, height], [0, 0]);
        for (x, y, pixel) in frame.enumerate_pixels() {
            if before.get_pixel(x, y) != pixel {
                (left, right) = (left.min(x), right.max(x + 1));
                (top, bottom) = (top.min(y), bottom.max(y + 1));
            }
        }
        if left >= right {
            return Difference { corner: [0; 2], size: [1; 2], pixels: vec![None] };
        }
        let changed = |x, y| {
            let pixel = frame.get_pixel(x, y);
            (before.get_pixel(x, y) != pixel).then_some(pixel.0)
        };
        let pixels = (top..bottom).flat_map(|y| (left..right).map(move |x| changed(x, y))).collect();
        Difference { corner: [left, top], size: [right - left, bottom - top], pixels }
    }
}

#[cfg(test)]
mod tests {
    use image::{Rgb, RgbImage};

    use super::Difference;

    #[test]
    fn only_the_changed_rectangle_is_kept_and_equal_pixels_in_it_are_left_out() {
        let before = RgbImage::from_pixel(9, 7, Rgb([10, 20, 30]));
        let mut frame = before.clone();
        frame.put_pixel(3, 2, Rgb([1, 2, 3]));
        frame.put_pixel(4, 4, Rgb([4, 5, 6]));
        let first = Difference::new(None, &before);
        assert_eq!((first.corner, first.size), ([0, 0], [9, 7]));
        assert!(first.pixels.iter().all(|pixel| *pixel == Some([10, 20, 30])));
        let next = Difference::new(Some(&before), &frame);
        assert_eq!((next.corner, next.size), ([3, 2], [2, 3]));
        assert_eq!(next.pixels, [Some([1, 2, 3]), None, None, None, None, Some([4, 5, 6])]);
        let same = Difference::new(Some(&frame), &frame);
        assert_eq!((same.size, same.pixels), ([1, 1], vec![None]));
    }
}
