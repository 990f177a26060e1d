//! Animated PNGs, whose frames are differences in all colours.

use std::cell::RefCell;
use std::io::{self, Write};
use std::rc::Rc;

use image::RgbImage;
use png::{BitDepth, BlendOp, ColorType, Compression, DisposeOp, Encoder, EncodingError, Writer};
use valleyscope_runs::atomic_file::AtomicFile;

use super::difference::Difference;
use super::encoder::{AnimationFile, EncodeError, FrameWriter};

/// Writes an animated PNG, which also shows its first frame where animations are not known.
pub(super) struct ApngWriter {
    file: AnimationFile,
    writer: Writer<SharedFile>,
    target: SharedFile,
    before: Option<RgbImage>,
}

/// A file that the writer does not give back.
#[derive(Clone)]
struct SharedFile(Rc<RefCell<AtomicFile>>);

impl Write for SharedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.borrow_mut().flush()
    }
}

impl ApngWriter {
    pub(super) fn begin(file: AnimationFile) -> Result<ApngWriter, EncodeError> {
        let target = AtomicFile::for_target(&file.target).map_err(|source| file.failed(source))?;
        let target = SharedFile(Rc::new(RefCell::new(target)));
        let begin = || -> Result<Writer<SharedFile>, EncodingError> {
            let [width, height] = file.size;
            let mut encoder = Encoder::new(target.clone(), width, height);
            encoder.set_color(ColorType::Rgba);
            encoder.set_depth(BitDepth::Eight);
            encoder.set_compression(Compression::High);
            encoder.set_animated(u32::try_from(file.frames).unwrap_or(u32::MAX), 0)?;
            encoder.set_frame_delay(1, u16::try_from(file.frames_per_sec).unwrap_or(u16::MAX))?;
            encoder.set_blend_op(BlendOp::Over)?;
            encoder.set_dispose_op(DisposeOp::None)?;
            encoder.write_header()
        };
        let writer = begin().map_err(|source| of(&file, source))?;
        Ok(ApngWriter { file, writer, target, before: None })
    }

    fn write_difference(&mut self, difference: &Difference) -> Result<(), EncodingError> {
        let Difference { corner, size, pixels } = difference;
        if self.before.is_some() {
            // The order keeps the rectangle within the picture.
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
        written.map_err(|source| of(&self.file, source))
    }

    fn finish(self: Box<Self>) -> Result<(), EncodeError> {
        let ApngWriter { file, writer, target, .. } = *self;
        writer.finish().map_err(|source| of(&file, source))?;
        let target = Rc::into_inner(target.0).expect("the writer has dropped the only other reference").into_inner();
        target.commit(file.overwrite).map_err(|source| file.failed(source))
    }
}

fn of(file: &AnimationFile, error: EncodingError) -> EncodeError {
    match error {
        EncodingError::IoError(source) => file.failed(source),
        other => EncodeError::Encode { path: file.target.clone(), reason: other.to_string() },
    }
}
