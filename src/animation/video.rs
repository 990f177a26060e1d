//! Videos, which the program ffmpeg encodes.

use std::io::{self, Read as _, Write as _};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::thread::JoinHandle;

use image::RgbImage;
use valleyscope_machine::Look;
use valleyscope_runs::atomic_file::AtomicFile;

use super::encoder::{AnimationFile, AnimationFormat, EncodeError, FrameWriter};

/// The most bytes of ffmpeg's messages that are kept.
const MOST_MESSAGES: u64 = 64 << 10;

/// Returns whether ffmpeg is on the PATH.
pub(super) fn is_available() -> bool {
    Look::Program("ffmpeg").finds()
}

/// Pipes frames to ffmpeg.
pub(super) struct VideoWriter {
    file: AnimationFile,
    ffmpeg: Ffmpeg,
    /// The file that ffmpeg writes.
    output: AtomicFile,
}

/// The running program. It is ended when this is dropped.
struct Ffmpeg {
    child: Child,
    messages: Option<JoinHandle<String>>,
    /// The path of the file that it writes, and that of the target, which its messages are to name.
    paths: [String; 2],
}

impl VideoWriter {
    pub(super) fn begin(file: AnimationFile) -> Result<VideoWriter, EncodeError> {
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
            _ => Err(self.ffmpeg.end().map_or_else(|reason| failed(&self.file, reason), |()| unexplained(&self.file))),
        }
    }

    fn finish(mut self: Box<Self>) -> Result<(), EncodeError> {
        self.ffmpeg.end().map_err(|reason| failed(&self.file, reason))?;
        let VideoWriter { file, output, .. } = *self;
        match output.path().metadata() {
            Ok(written) if written.len() == 0 => Err(failed(&file, "it wrote an empty file".to_owned())),
            Ok(_) => output.commit(file.overwrite).map_err(|source| file.failed(source)),
            Err(source) => Err(file.failed(source)),
        }
    }
}

fn failed(file: &AnimationFile, reason: String) -> EncodeError {
    EncodeError::Ffmpeg { path: file.target.clone(), reason }
}

fn unexplained(file: &AnimationFile) -> EncodeError {
    failed(file, "it ended before the last frame".to_owned())
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
        // Read meanwhile, so that the program never waits for a reader.
        let messages = child.stderr.take().map(|messages| std::thread::spawn(move || read(messages)));
        let paths = [output, &file.target].map(|path| path.display().to_string());
        Ok(Ffmpeg { child, messages, paths })
    }

    /// Waits until the program has written its file; returns its messages if it failed. Full disks can leave the exit
    /// status 0, and then only the messages, which are all of errors, report them.
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
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn read(messages: ChildStderr) -> String {
    let mut bytes = Vec::new();
    let mut messages = messages;
    // What cannot be read is left out of the error.
    let _ = messages.by_ref().take(MOST_MESSAGES).read_to_end(&mut bytes);
    let _ = io::copy(&mut messages, &mut io::sink());
    String::from_utf8_lossy(&bytes).into_owned()
}
