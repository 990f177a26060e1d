//! Draws the frames of an animation and writes them.

use std::path::PathBuf;

use valleyscope_runs::atomic_file::Overwrite;

use crate::animation::{AnimationFile, AnimationFormat, EncodeError, Encoder};
use crate::app::exports::Progress;
use crate::app::graphics::Graphics;
use crate::app::picture::{PictureOptions, PictureStage, PictureSubject};

/// The largest number of frames: file names have five digits.
const MOST_FRAMES: u64 = 99_999;

/// The reason why an animation was not saved.
#[derive(Debug, thiserror::Error)]
pub enum AnimationError {
    #[error("the frames cannot be drawn: {0}")]
    NotDrawn(String),
    #[error(transparent)]
    Encode(#[from] EncodeError),
}

/// The steps that an animation shows, and their speed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameSteps {
    pub from: u64,
    pub to: u64,
    /// The number of steps from one frame to the next.
    pub every: u64,
    pub frames_per_sec: u32,
}

impl FrameSteps {
    /// Returns the number of frames: one every `every` steps, and one of the last step.
    pub fn frames(&self) -> u64 {
        self.to.saturating_sub(self.from).div_ceil(self.every.max(1)).saturating_add(1)
    }

    /// Returns why these steps cannot be shown, if they cannot.
    pub fn problem(&self) -> Option<String> {
        let FrameSteps { from, to, .. } = self;
        if from > to {
            return Some(format!("The last step ({to}) is before the first ({from})"));
        }
        let frames = self.frames();
        (frames > MOST_FRAMES).then(|| format!("{frames} frames are too many; at most {MOST_FRAMES}"))
    }

    /// Returns the step of a frame, counted from 0. The last frame shows the last step, even where that is not a whole
    /// number of strides after the first.
    pub fn step_of(&self, frame: u64) -> u64 {
        self.from.saturating_add(frame.saturating_mul(self.every.max(1))).min(self.to)
    }
}

/// An animation to draw and to write.
#[derive(Clone, Debug)]
pub struct AnimationJob {
    pub subject: PictureSubject,
    pub options: PictureOptions,
    pub steps: FrameSteps,
    pub format: AnimationFormat,
    /// The path of the file, or of the folder to make.
    pub target: PathBuf,
    pub overwrite: Overwrite,
}

impl AnimationJob {
    /// Draws all frames and writes them; returns the path of the file or folder, or `None` once it is cancelled. Blocks
    /// until then.
    ///
    /// # Errors
    ///
    /// Returns the reason if a frame was not drawn, or the file was not written. There is no file then.
    pub fn run(self, graphics: &Graphics, progress: &Progress) -> Result<Option<PathBuf>, AnimationError> {
        let AnimationJob { subject, options, steps, format, target, overwrite } = self;
        let mut encoder = Encoder::start(AnimationFile {
            format,
            target,
            size: options.size,
            frames: steps.frames(),
            frames_per_sec: steps.frames_per_sec.max(1),
            overwrite,
            kept_colors: subject.colors(),
        });
        let frame_secs = 1.0 / steps.frames_per_sec.max(1) as f32;
        let stage = PictureStage::open(graphics, subject, options, steps.to, frame_secs);
        let mut stage = stage.map_err(AnimationError::NotDrawn)?;
        for frame in 0..steps.frames() {
            if !stage.go_to(steps.step_of(frame), || progress.is_cancelled()) {
                return Ok(None);
            }
            encoder.write(stage.draw().map_err(AnimationError::NotDrawn)?)?;
            progress.add_frame();
        }
        progress.warn(stage.take_warning());
        Ok(Some(encoder.finish()?))
    }
}
