//! Pictures to files, on a thread of their own.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, TrySendError, channel, sync_channel};

use image::codecs::gif::{GifEncoder, Repeat};
use image::codecs::png::PngEncoder;
use image::{Delay, ExtendedColorType, Frame, ImageEncoder as _, RgbaImage};
use tempfile::{NamedTempFile, TempDir};

/// What an animation is saved as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// One file that moves, with 256 colours a frame.
    #[default]
    Gif,
    /// A folder with frame_00001.png, frame_00002.png, …
    PngFolder,
}

/// Why an animation could not be saved.
#[derive(Debug, thiserror::Error)]
pub enum EncodeError {
    #[error("cannot write to {}: {source}. Choose another place, or make room there", path.display())]
    Write { path: PathBuf, source: std::io::Error },
    #[error("cannot encode {}: {source}", path.display())]
    Encode { path: PathBuf, source: image::ImageError },
    #[error("{} already exists. Choose another name", .0.display())]
    Exists(PathBuf),
    #[error("frame {frame} is {}×{} pixels, the first one {}×{}: the window must keep its size", found[0], found[1], first[0], first[1])]
    OtherSize { frame: u32, found: [u32; 2], first: [u32; 2] },
    #[error("the thread that writes the animation ended without an answer")]
    Vanished,
}

enum Message {
    Frame(RgbaImage),
    Finish,
}

/// A thread that writes frames as they come. Nothing is seen at the target until the last one is written;
/// a dropped encoder leaves nothing behind.
pub struct Encoder {
    messages: SyncSender<Message>,
    outcome: Receiver<Result<PathBuf, EncodeError>>,
}

/// Frames that may wait for the thread.
const WAITING: usize = 3;

impl Encoder {
    /// Starts writing to `target`. `replace` lets a GIF take the place of a file that is there already; a
    /// folder that is not empty is never touched.
    pub fn start(format: Format, target: PathBuf, frames_per_sec: u32, replace: bool) -> Encoder {
        let (messages, inbox) = sync_channel(WAITING);
        let (answer, outcome) = channel();
        std::thread::spawn(move || {
            let written = match format {
                Format::Gif => write_gif(&target, frames_per_sec, replace, &inbox),
                Format::PngFolder => write_folder(&target, &inbox),
            };
            // Nobody listens any more when the export was cancelled.
            if let Some(result) = written.transpose() {
                let _ = answer.send(result.map(|()| target));
            }
        });
        Encoder { messages, outcome }
    }

    /// Hands over a frame, or gives it back when the thread has enough to do. A frame that the thread does
    /// not want any more is dropped: [`Encoder::outcome`] says why.
    pub fn offer(&self, frame: RgbaImage) -> Option<RgbaImage> {
        match self.messages.try_send(Message::Frame(frame)) {
            Err(TrySendError::Full(Message::Frame(frame))) => Some(frame),
            _ => None,
        }
    }

    /// Says that there are no more frames. False while the thread has too much to do to hear it.
    pub fn finish(&self) -> bool {
        !matches!(self.messages.try_send(Message::Finish), Err(TrySendError::Full(_)))
    }

    /// Where the animation was saved, or why not, once it is known.
    pub fn outcome(&self) -> Option<Result<PathBuf, EncodeError>> {
        match self.outcome.try_recv() {
            Ok(outcome) => Some(outcome),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => Some(Err(EncodeError::Vanished)),
        }
    }
}

/// Takes frames until the last one. `None` when they end without [`Message::Finish`].
fn each_frame(
    inbox: &Receiver<Message>,
    mut write: impl FnMut(u32, RgbaImage) -> Result<(), EncodeError>,
) -> Result<Option<()>, EncodeError> {
    let mut first = None;
    for number in 1.. {
        match inbox.recv() {
            Ok(Message::Frame(frame)) => {
                let found: [u32; 2] = frame.dimensions().into();
                let first = *first.get_or_insert(found);
                if found != first {
                    return Err(EncodeError::OtherSize { frame: number, found, first });
                }
                write(number, frame)?;
            }
            Ok(Message::Finish) => return Ok(Some(())),
            Err(_) => return Ok(None),
        }
    }
    Ok(None)
}

fn parent_of(target: &Path) -> &Path {
    target.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// NeuQuant's trade of quality for time, 1 to 30; the heatmap's few smooth colours need no better.
const GIF_SPEED: i32 = 10;

fn write_gif(
    target: &Path,
    frames_per_sec: u32,
    replace: bool,
    inbox: &Receiver<Message>,
) -> Result<Option<()>, EncodeError> {
    let failed = |source| EncodeError::Write { path: target.to_owned(), source };
    let unencoded = |source: image::ImageError| match source {
        image::ImageError::IoError(source) => failed(source),
        source => EncodeError::Encode { path: target.to_owned(), source },
    };
    let mut file = NamedTempFile::new_in(parent_of(target)).map_err(failed)?;
    let mut writer = BufWriter::new(file.as_file_mut());
    let finished = {
        let mut encoder = GifEncoder::new_with_speed(&mut writer, GIF_SPEED);
        encoder.set_repeat(Repeat::Infinite).map_err(unencoded)?;
        // GIF counts in hundredths of a second.
        let delay = Delay::from_numer_denom_ms(1000, frames_per_sec.max(1));
        each_frame(inbox, |_, frame| encoder.encode_frame(Frame::from_parts(frame, 0, 0, delay)).map_err(unencoded))?
    };
    if finished.is_none() {
        return Ok(None);
    }
    writer.flush().map_err(failed)?;
    drop(writer);
    let persisted = if replace { file.persist(target) } else { file.persist_noclobber(target) };
    persisted.map_err(|error| match error.error.kind() {
        std::io::ErrorKind::AlreadyExists => EncodeError::Exists(target.to_owned()),
        _ => failed(error.error),
    })?;
    Ok(Some(()))
}

fn write_folder(target: &Path, inbox: &Receiver<Message>) -> Result<Option<()>, EncodeError> {
    let failed = |source| EncodeError::Write { path: target.to_owned(), source };
    let folder: TempDir =
        tempfile::Builder::new().prefix(".animation-").tempdir_in(parent_of(target)).map_err(failed)?;
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
    // An empty folder, such as one just made in a file dialog, may be taken; anything else may not.
    if target.exists() && std::fs::remove_dir(target).is_err() {
        return Err(EncodeError::Exists(target.to_owned()));
    }
    std::fs::rename(folder.path(), target).map_err(failed)?;
    // It is not there any more to be removed.
    let _ = folder.keep();
    Ok(Some(()))
}
