//! The format and the target of an animation.

use std::io;
use std::path::PathBuf;

use image::RgbImage;
use valleyscope_machine::Detection;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AnimationFormat {
    /// One animated file, with 256 colours a frame.
    #[default]
    Gif,
    /// One animated file in all colours.
    Apng,
    /// A video, which the program ffmpeg encodes.
    Mp4,
    WebM,
    /// A folder with frame_00001.png, frame_00002.png, …
    PngFolder,
}

impl AnimationFormat {
    pub const ALL: [AnimationFormat; 5] = [
        AnimationFormat::Gif,
        AnimationFormat::Apng,
        AnimationFormat::Mp4,
        AnimationFormat::WebM,
        AnimationFormat::PngFolder,
    ];

    pub fn name(self) -> &'static str {
        ["GIF", "APNG", "MP4", "WebM", "PNG folder"][self as usize]
    }

    /// The extension of a file's name; empty for a folder.
    pub fn extension(self) -> &'static str {
        ["gif", "apng", "mp4", "webm", ""][self as usize]
    }

    pub fn is_available(self) -> bool {
        let needs_ffmpeg = matches!(self, AnimationFormat::Mp4 | AnimationFormat::WebM);
        !needs_ffmpeg || Detection::Program("ffmpeg").finds()
    }
}

/// The error of an animation that could not be saved.
#[derive(Debug, thiserror::Error)]
pub enum EncodeError {
    #[error("the frames cannot be drawn: {0}")]
    NotDrawn(String),
    #[error("cannot write to {}: {source}. Choose another folder, or free space there", path.display())]
    Write { path: PathBuf, source: std::io::Error },
    #[error("cannot encode {}: {reason}", path.display())]
    Encode { path: PathBuf, reason: String },
    #[error("{} already exists. Choose another name", .0.display())]
    Exists(PathBuf),
    #[error(
        "{0} needs the program ffmpeg, which is not on the PATH. Install it (on Debian and Ubuntu: sudo apt-get install \
         ffmpeg), or save a GIF or an APNG"
    )]
    NoFfmpeg(&'static str),
    #[error("ffmpeg did not write {}: {reason}", path.display())]
    Ffmpeg { path: PathBuf, reason: String },
    #[error("the thread that writes the animation ended without an answer")]
    Vanished,
}

/// The format and the target of an animation.
#[derive(Clone, Debug)]
pub struct AnimationFile {
    pub format: AnimationFormat,
    /// The path of the file, which is replaced if it exists, or of the folder to make.
    pub target: PathBuf,
    /// Width and height of the frames, in pixels.
    pub size: [u32; 2],
    pub frames: u64,
    pub frames_per_sec: u32,
    /// The colours that stay exact in a GIF, at most 128.
    pub exact_colors: Vec<[u8; 3]>,
}

impl AnimationFile {
    pub(super) fn failed(&self, source: io::Error) -> EncodeError {
        EncodeError::Write { path: self.target.clone(), source }
    }
}

/// A file that grows frame by frame. Dropping it before it is finished removes it.
pub(super) trait FrameWriter {
    fn write(&mut self, frame: RgbImage) -> Result<(), EncodeError>;

    /// Completes the file, which appears at its target.
    fn finish(self: Box<Self>) -> Result<(), EncodeError>;
}
