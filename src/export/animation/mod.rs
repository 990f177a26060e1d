//! Animated files, videos and folders of pictures, written frame by frame on a separate thread.

mod file;
mod images;

use std::io;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use file::FrameWriter;
pub use file::{AnimationFile, AnimationFormat, EncodeError};
use image::RgbImage;
use images::{ApngWriter, GifWriter};
use tempfile::TempDir;
use valleyscope_runs::atomic_file::{AtomicFile, Overwrite};

use crate::draw::encoded;

fn writer(file: AnimationFile) -> Result<Box<dyn FrameWriter>, EncodeError> {
    Ok(match file.format {
        AnimationFormat::Gif => Box::new(GifWriter::begin(file)?),
        AnimationFormat::Apng => Box::new(ApngWriter::begin(file)?),
        AnimationFormat::Mp4 | AnimationFormat::WebM => Box::new(VideoWriter::begin(file)?),
        AnimationFormat::PngFolder => Box::new(FolderWriter::begin(file)?),
    })
}

/// A thread that writes frames of one size as they arrive. The target appears when the last frame is written; dropping
/// the encoder removes the file.
pub struct Encoder {
    /// Takes the frames, and at the end none.
    messages: Option<SyncSender<Option<RgbImage>>>,
    thread: Option<JoinHandle<Result<(), EncodeError>>>,
    target: PathBuf,
}

const WAITING: usize = 3;

impl Encoder {
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
    /// Fails with the error with which the thread has ended.
    pub fn write(&mut self, frame: RgbImage) -> Result<(), EncodeError> {
        self.send(Some(frame))
    }

    /// Blocks until the file is complete; returns its path.
    ///
    /// # Errors
    ///
    /// Fails if it could not be written.
    pub fn finish(mut self) -> Result<PathBuf, EncodeError> {
        self.send(None)?;
        self.join()?;
        Ok(std::mem::take(&mut self.target))
    }

    fn send(&mut self, message: Option<RgbImage>) -> Result<(), EncodeError> {
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
        // The result is not needed; this removes the unfinished file.
        let _ = self.join();
    }
}

/// Writes frames until none comes. The file is dropped when they end before.
fn encode(file: AnimationFile, inbox: &Receiver<Option<RgbImage>>) -> Result<(), EncodeError> {
    let mut writer = writer(file)?;
    for message in inbox {
        match message {
            Some(frame) => writer.write(frame)?,
            None => return writer.finish(),
        }
    }
    Ok(())
}

/// Writes frame_00001.png, frame_00002.png, … into a folder, which appears when they are complete.
struct FolderWriter {
    file: AnimationFile,
    folder: TempDir,
    frames: u64,
}

impl FolderWriter {
    fn begin(file: AnimationFile) -> Result<FolderWriter, EncodeError> {
        let mut builder = tempfile::Builder::new();
        builder.prefix(".animation-");
        // The user's umask determines who may read it.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o777));
        let parent = file.target.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let folder = builder.tempdir_in(parent).map_err(|source| file.failed(source))?;
        Ok(FolderWriter { file, folder, frames: 0 })
    }
}

impl FrameWriter for FolderWriter {
    fn write(&mut self, frame: RgbImage) -> Result<(), EncodeError> {
        self.frames += 1;
        let name = format!("frame_{:05}.png", self.frames);
        let path = self.file.target.join(&name);
        let png = encoded(frame.as_raw(), [frame.width(), frame.height()]);
        let png = png.map_err(|error| EncodeError::Encode { path: path.clone(), reason: error.to_string() })?;
        std::fs::write(self.folder.path().join(&name), png).map_err(|source| EncodeError::Write { path, source })
    }

    fn finish(self: Box<Self>) -> Result<(), EncodeError> {
        let FolderWriter { file, folder, .. } = *self;
        // An empty folder, such as one just made in a file dialog, is replaced; anything else stays.
        if file.target.exists() && std::fs::remove_dir(&file.target).is_err() {
            return Err(EncodeError::Exists(file.target));
        }
        std::fs::rename(folder.path(), &file.target).map_err(|source| file.failed(source))?;
        // It has been renamed, and must not be removed.
        let _ = folder.keep();
        Ok(())
    }
}

const MOST_MESSAGES: u64 = 64 << 10;

struct VideoWriter {
    file: AnimationFile,
    ffmpeg: Ffmpeg,
    /// The file that ffmpeg writes.
    output: AtomicFile,
}

/// The running program. Dropping this ends it.
struct Ffmpeg {
    child: Child,
    messages: Option<JoinHandle<String>>,
    /// The path of the file that it writes, and that of the target, which replaces it in messages.
    paths: [String; 2],
}

impl VideoWriter {
    fn begin(file: AnimationFile) -> Result<VideoWriter, EncodeError> {
        let output = AtomicFile::for_target(&file.target).map_err(|source| file.failed(source))?;
        let ffmpeg = Ffmpeg::start(&file, output.path()).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => EncodeError::NoFfmpeg(file.format.name()),
            _ => EncodeError::Ffmpeg { path: file.target.clone(), reason: source.to_string() },
        })?;
        Ok(VideoWriter { file, ffmpeg, output })
    }
}

impl FrameWriter for VideoWriter {
    fn write(&mut self, frame: RgbImage) -> Result<(), EncodeError> {
        let written = self.ffmpeg.child.stdin.as_mut().map(|stdin| stdin.write_all(frame.as_raw()));
        match written {
            Some(Ok(())) => Ok(()),
            // The program has ended, and its messages have the reason.
            _ => Err(self.ffmpeg.end().map_or_else(
                |reason| failed(&self.file, reason),
                |()| failed(&self.file, "it ended before the last frame".to_owned()),
            )),
        }
    }

    fn finish(mut self: Box<Self>) -> Result<(), EncodeError> {
        self.ffmpeg.end().map_err(|reason| failed(&self.file, reason))?;
        let VideoWriter { file, output, .. } = *self;
        match output.path().metadata() {
            Ok(written) if written.len() == 0 => Err(failed(&file, "it wrote an empty file".to_owned())),
            Ok(_) => output.commit(Overwrite::Yes).map_err(|source| file.failed(source)),
            Err(source) => Err(file.failed(source)),
        }
    }
}

fn failed(file: &AnimationFile, reason: String) -> EncodeError {
    EncodeError::Ffmpeg { path: file.target.clone(), reason }
}

impl Ffmpeg {
    fn start(file: &AnimationFile, output: &std::path::Path) -> io::Result<Ffmpeg> {
        let [width, height] = file.size;
        let mut command = Command::new("ffmpeg");
        command.args(["-hide_banner", "-loglevel", "error", "-nostdin", "-y"]);
        command.args(["-f", "rawvideo", "-pix_fmt", "rgb24"]);
        command.args(["-video_size", &format!("{width}x{height}")]);
        command.args(["-framerate", &file.frames_per_sec.to_string(), "-i", "-"]);
        // Players need an even number of pixels on each side, and colours at half the resolution by the standard of HD.
        command.args(["-vf", "crop=trunc(iw/2)*2:trunc(ih/2)*2,scale=out_color_matrix=bt709", "-pix_fmt", "yuv420p"]);
        command.args(["-colorspace", "bt709", "-color_primaries", "bt709", "-color_trc", "bt709"]);
        match file.format {
            AnimationFormat::WebM => command.args(["-c:v", "libvpx-vp9", "-crf", "28", "-b:v", "0", "-f", "webm"]),
            _ => command.args(["-c:v", "libx264", "-crf", "18", "-movflags", "+faststart", "-f", "mp4"]),
        };
        command.arg(output).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        // Read in a thread, so that the program never waits for a reader.
        let messages = child.stderr.take().map(|messages| std::thread::spawn(move || read(messages)));
        let paths = [output, &file.target].map(|path| path.display().to_string());
        Ok(Ffmpeg { child, messages, paths })
    }

    /// Blocks until the program has written its file; fails with its messages. On a full disk the exit status can be 0,
    /// and only the messages, which are all errors, report it.
    fn end(&mut self) -> Result<(), String> {
        drop(self.child.stdin.take());
        let status = self.child.wait().map_err(|error| error.to_string())?;
        let messages = self.messages.take().and_then(|messages| messages.join().ok()).unwrap_or_default();
        match messages.lines().rfind(|line| !line.trim().is_empty()) {
            Some(message) => {
                let [written, target] = &self.paths;
                Err(message.trim().replace(written.as_str(), target))
            }
            None if status.success() => Ok(()),
            None => Err(status.to_string()),
        }
    }
}

impl Drop for Ffmpeg {
    fn drop(&mut self) {
        // The program may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn read(messages: ChildStderr) -> String {
    let mut bytes = Vec::new();
    let mut messages = messages;
    // Unreadable messages are left out of the error.
    let _ = messages.by_ref().take(MOST_MESSAGES).read_to_end(&mut bytes);
    let _ = io::copy(&mut messages, &mut io::sink());
    String::from_utf8_lossy(&bytes).into_owned()
}
