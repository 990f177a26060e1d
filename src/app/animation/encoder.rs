//! Encodes pictures to files, on a thread of its own.

use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, TrySendError, channel, sync_channel};

use image::codecs::gif::{GifEncoder, Repeat};
use image::codecs::png::PngEncoder;
use image::{Delay, ExtendedColorType, Frame, ImageEncoder as _, RgbaImage};
use tempfile::TempDir;
use valleyscope_runs::atomic_file::{AtomicFile, Overwrite};

use super::palette::reduce;

/// The format of an animation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AnimationFormat {
    /// One animated file, with 256 colours a frame.
    #[default]
    Gif,
    /// A folder with frame_00001.png, frame_00002.png, …
    PngFolder,
}

/// The error of an animation that could not be saved.
#[derive(Debug, thiserror::Error)]
pub enum EncodeError {
    #[error("cannot write to {}: {source}. Choose another place, or make room there", path.display())]
    Write { path: PathBuf, source: std::io::Error },
    #[error("cannot encode {}: {source}", path.display())]
    Encode { path: PathBuf, source: image::ImageError },
    #[error("{} already exists. Choose another name", .0.display())]
    Exists(PathBuf),
    #[error("the landscape cannot be drawn: {0}")]
    NotDrawn(String),
    #[error("the thread that writes the animation ended without an answer")]
    Vanished,
}

/// The format and the target of an animation.
#[derive(Clone, Debug)]
pub struct AnimationFile {
    pub format: AnimationFormat,
    /// The path of the GIF, or of the folder to make.
    pub target: PathBuf,
    pub frames_per_sec: u32,
    /// Sets whether a GIF replaces an existing file. A folder that is not empty is never changed.
    pub overwrite: Overwrite,
    /// The colours that a GIF keeps exactly, at most 128.
    pub kept_colors: Vec<[u8; 3]>,
}

enum Message {
    Frame(RgbaImage),
    Finish,
}

/// A thread that writes frames of one size as they arrive. The target appears when the last frame is written; a dropped
/// encoder leaves nothing behind.
pub struct Encoder {
    messages: SyncSender<Message>,
    outcome: Receiver<Result<PathBuf, EncodeError>>,
}

/// The capacity of the thread's queue, in frames.
const WAITING: usize = 3;

impl Encoder {
    /// Starts the thread.
    pub fn start(output: AnimationFile) -> Encoder {
        let (messages, inbox) = sync_channel(WAITING);
        let (answer, outcome) = channel();
        std::thread::spawn(move || {
            let written = match output.format {
                AnimationFormat::Gif => write_gif(&output, &inbox),
                AnimationFormat::PngFolder => write_folder(&output.target, &inbox),
            };
            // The export may be cancelled.
            if let Some(result) = written.transpose() {
                let _ = answer.send(result.map(|()| output.target));
            }
        });
        Encoder { messages, outcome }
    }

    /// Sends a frame, or returns it when the thread's queue is full. A frame for a thread that has ended is dropped;
    /// [`Encoder::outcome`] has the reason.
    pub fn offer(&self, frame: RgbaImage) -> Option<RgbaImage> {
        match self.messages.try_send(Message::Frame(frame)) {
            Err(TrySendError::Full(Message::Frame(frame))) => Some(frame),
            _ => None,
        }
    }

    /// Marks the end of the frames. Returns false while the thread's queue is full.
    pub fn finish(&self) -> bool {
        !matches!(self.messages.try_send(Message::Finish), Err(TrySendError::Full(_)))
    }

    /// Returns the path of the saved animation or the error, once the thread has ended.
    pub fn outcome(&self) -> Option<Result<PathBuf, EncodeError>> {
        match self.outcome.try_recv() {
            Ok(outcome) => Some(outcome),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => Some(Err(EncodeError::Vanished)),
        }
    }
}

/// Handles frames until the last one. Returns `None` when they end without [`Message::Finish`].
fn each_frame(
    inbox: &Receiver<Message>,
    mut write: impl FnMut(u32, RgbaImage) -> Result<(), EncodeError>,
) -> Result<Option<()>, EncodeError> {
    for number in 1.. {
        match inbox.recv() {
            Ok(Message::Frame(frame)) => write(number, frame)?,
            Ok(Message::Finish) => return Ok(Some(())),
            Err(_) => return Ok(None),
        }
    }
    Ok(None)
}

fn parent_of(target: &Path) -> &Path {
    target.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The encoder's speed, which does not matter: frames already have few enough colours.
const ANY_SPEED: i32 = 10;

fn write_gif(output: &AnimationFile, inbox: &Receiver<Message>) -> Result<Option<()>, EncodeError> {
    let target = &output.target;
    let failed = |source: io::Error| match source.kind() {
        io::ErrorKind::AlreadyExists => EncodeError::Exists(target.clone()),
        _ => EncodeError::Write { path: target.clone(), source },
    };
    let unencoded = |source: image::ImageError| match source {
        image::ImageError::IoError(source) => failed(source),
        source => EncodeError::Encode { path: target.clone(), source },
    };
    let mut file = AtomicFile::for_target(target).map_err(failed)?;
    let finished = {
        let mut encoder = GifEncoder::new_with_speed(&mut file, ANY_SPEED);
        encoder.set_repeat(Repeat::Infinite).map_err(unencoded)?;
        // GIF counts in hundredths of a second.
        let delay = Delay::from_numer_denom_ms(1000, output.frames_per_sec.max(1));
        each_frame(inbox, |_, mut frame| {
            reduce(&mut frame, &output.kept_colors);
            encoder.encode_frame(Frame::from_parts(frame, 0, 0, delay)).map_err(unencoded)
        })?
    };
    if finished.is_some() {
        file.commit(output.overwrite).map_err(failed)?;
    }
    Ok(finished)
}

fn write_folder(target: &Path, inbox: &Receiver<Message>) -> Result<Option<()>, EncodeError> {
    let failed = |source| EncodeError::Write { path: target.to_owned(), source };
    let mut builder = tempfile::Builder::new();
    builder.prefix(".animation-");
    // The user's umask determines who may read it.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o777));
    let folder: TempDir = builder.tempdir_in(parent_of(target)).map_err(failed)?;
    let finished = each_frame(inbox, |number, frame| {
        let name = format!("frame_{number:05}.png");
        let written = || -> Result<(), image::ImageError> {
            let mut writer = BufWriter::new(File::create(folder.path().join(&name))?);
            let (width, height) = frame.dimensions();
            PngEncoder::new(&mut writer).write_image(frame.as_raw(), width, height, ExtendedColorType::Rgba8)?;
            writer.flush()?;
            Ok(())
        };
        written().map_err(|source| {
            let path = target.join(&name);
            match source {
                image::ImageError::IoError(source) => EncodeError::Write { path, source },
                source => EncodeError::Encode { path, source },
            }
        })
    })?;
    if finished.is_none() {
        return Ok(None);
    }
    // An empty folder, such as one just made in a file dialog, is replaced; anything else stays.
    if target.exists() && std::fs::remove_dir(target).is_err() {
        return Err(EncodeError::Exists(target.to_owned()));
    }
    std::fs::rename(folder.path(), target).map_err(failed)?;
    // It has been renamed, and is not to be removed.
    let _ = folder.keep();
    Ok(Some(()))
}
