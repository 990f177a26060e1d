//! Animated GIFs, whose frames are differences.

use gif::{DisposalMethod, Encoder, EncodingError, Frame, Repeat};
use image::RgbImage;
use valleyscope_runs::atomic_file::AtomicFile;

use super::difference::Difference;
use super::encoder::{AnimationFile, EncodeError, FrameWriter};
use super::palette::indexed;

/// Writes a GIF. Each frame has a palette of its own for the pixels that it changes.
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
        let encoder = begun.map_err(|source| of(&file, source))?;
        Ok(GifWriter { file, encoder, before: None, frames: 0, shown_until: 0 })
    }
}

impl FrameWriter for GifWriter {
    fn write(&mut self, frame: RgbImage) -> Result<(), EncodeError> {
        let Difference { corner, size, pixels } = Difference::new(self.before.as_ref(), &frame);
        let drawn = indexed(&pixels, &self.file.kept_colors);
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
        written.map_err(|source| of(&self.file, source))
    }

    fn finish(self: Box<Self>) -> Result<(), EncodeError> {
        let GifWriter { file, encoder, .. } = *self;
        let target = encoder.into_inner().map_err(|source| of(&file, source))?;
        target.commit(file.overwrite).map_err(|source| file.failed(source))
    }
}

fn side(pixels: u32) -> u16 {
    u16::try_from(pixels).unwrap_or(u16::MAX)
}

fn of(file: &AnimationFile, error: EncodingError) -> EncodeError {
    match error {
        EncodingError::Io(source) => file.failed(source),
        other => EncodeError::Encode { path: file.target.clone(), reason: other.to_string() },
    }
}
