//! Encodes pictures to files, on a thread of its own.

use std::io;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use image::RgbImage;
use valleyscope_runs::atomic_file::Overwrite;

use super::apng::ApngWriter;
use super::folder::FolderWriter;
use super::gif::GifWriter;
use super::video::{self, VideoWriter};

/// The format of an animation.
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
        match self {
            AnimationFormat::Gif => "GIF",
            AnimationFormat::Apng => "APNG",
            AnimationFormat::Mp4 => "MP4",
            AnimationFormat::WebM => "WebM",
            AnimationFormat::PngFolder => "PNG folder",
        }
    }

    /// Returns the ending of a file's name, which is empty for a folder.
    pub fn extension(self) -> &'static str {
        match self {
            AnimationFormat::Gif => "gif",
            AnimationFormat::Apng => "apng",
            AnimationFormat::Mp4 => "mp4",
            AnimationFormat::WebM => "webm",
            AnimationFormat::PngFolder => "",
        }
    }

    /// Returns whether the format needs the program ffmpeg.
    pub fn needs_ffmpeg(self) -> bool {
        matches!(self, AnimationFormat::Mp4 | AnimationFormat::WebM)
    }

    /// Returns whether this machine can write the format.
    pub fn is_available(self) -> bool {
        !self.needs_ffmpeg() || video::is_available()
    }
}

/// The error of an animation that could not be saved.
#[derive(Debug, thiserror::Error)]
pub enum EncodeError {
    #[error("cannot write to {}: {source}. Choose another place, or make room there", path.display())]
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
    /// The path of the file, or of the folder to make.
    pub target: PathBuf,
    /// Width and height of the frames, in pixels.
    pub size: [u32; 2],
    pub frames: u64,
    pub frames_per_sec: u32,
    /// Sets whether an existing file is replaced. A folder that is not empty is never changed.
    pub overwrite: Overwrite,
    /// The colours that a GIF keeps exactly, at most 128.
    pub kept_colors: Vec<[u8; 3]>,
}

impl AnimationFile {
    /// Returns the error of writing to the target.
    pub(super) fn failed(&self, source: io::Error) -> EncodeError {
        match source.kind() {
            io::ErrorKind::AlreadyExists => EncodeError::Exists(self.target.clone()),
            _ => EncodeError::Write { path: self.target.clone(), source },
        }
    }
}

/// A file that grows frame by frame. One that is dropped before it is finished leaves nothing behind.
pub(super) trait FrameWriter {
    fn write(&mut self, frame: RgbImage) -> Result<(), EncodeError>;

    /// Completes the file, which appears at its target.
    fn finish(self: Box<Self>) -> Result<(), EncodeError>;
}

fn writer(file: AnimationFile) -> Result<Box<dyn FrameWriter>, EncodeError> {
    Ok(match file.format {
        AnimationFormat::Gif => Box::new(GifWriter::begin(file)?),
        AnimationFormat::Apng => Box::new(ApngWriter::begin(file)?),
        AnimationFormat::Mp4 | AnimationFormat::WebM => Box::new(VideoWriter::begin(file)?),
        AnimationFormat::PngFolder => Box::new(FolderWriter::begin(file)?),
    })
}

enum Message {
    Frame(RgbImage),
    Finish,
}

/// A thread that writes frames of one size as they arrive. The target appears when the last frame is written; a dropped
/// encoder leaves nothing behind.
pub struct Encoder {
    messages: Option<SyncSender<Message>>,
    thread: Option<JoinHandle<Result<(), EncodeError>>>,
    target: PathBuf,
}

/// The capacity of the thread's queue, in frames.
const WAITING: usize = 3;

impl Encoder {
    /// Starts the thread.
    pub fn start(file: AnimationFile) -> Encoder {
        let (messages, inbox) = sync_channel(WAITING);
        let target = file.target.clone();
        let thread = std::thread::spawn(move || encode(file, &inbox));
        Encoder { messages: Some(messages), thread: Some(thread), target }
    }

    /// Sends a frame, once there is room in the thread's queue.
    ///
    /// # Errors
    ///
    /// Returns the error with which the thread has ended.
    pub fn write(&mut self, frame: RgbImage) -> Result<(), EncodeError> {
        self.send(Message::Frame(frame))
    }

    /// Waits until the file is complete, and returns its path.
    ///
    /// # Errors
    ///
    /// Returns the reason why it could not be written.
    pub fn finish(mut self) -> Result<PathBuf, EncodeError> {
        self.send(Message::Finish)?;
        self.join()?;
        Ok(std::mem::take(&mut self.target))
    }

    fn send(&mut self, message: Message) -> Result<(), EncodeError> {
        let sent = self.messages.as_ref().is_some_and(|messages| messages.send(message).is_ok());
        if sent { Ok(()) } else { self.join().and(Err(EncodeError::Vanished)) }
    }

    fn join(&mut self) -> Result<(), EncodeError> {
        self.messages = None;
        let ended = self.thread.take().map(JoinHandle::join);
        ended.unwrap_or(Ok(Ok(()))).unwrap_or(Err(EncodeError::Vanished))
    }
}

impl Drop for Encoder {
    fn drop(&mut self) {
        // Nothing waits for the outcome; the unfinished file is gone after this.
        let _ = self.join();
    }
}

/// Writes frames until the last one. The file is dropped when they end without [`Message::Finish`].
fn encode(file: AnimationFile, inbox: &Receiver<Message>) -> Result<(), EncodeError> {
    let mut writer = writer(file)?;
    loop {
        match inbox.recv() {
            Ok(Message::Frame(frame)) => writer.write(frame)?,
            Ok(Message::Finish) => return writer.finish(),
            Err(_) => return Ok(()),
        }
    }
}
