//! Animations of a run: the options of the steps that they show, and the job that draws and writes them.

use std::path::PathBuf;

use egui::{DragValue, Ui};
use valleyscope_engine::simulation::Setting;

use super::picture::{PictureOptions, PictureStage, PictureSubject};
use crate::app::shell::export_sheet::{choose, row};
use crate::app::shell::graphics::Graphics;
use crate::app::shell::jobs::Progress;
use crate::export::animation::{AnimationFile, AnimationFormat, EncodeError, Encoder};
use crate::player::PlaybackPace;

/// The largest number of frames of the animation that is suggested.
const USUAL_FRAMES: u64 = 400;
/// The allowed frame rates: GIF players slow down faster animations.
const FRAMES_PER_SEC: std::ops::RangeInclusive<u32> = 1..=50;

/// The steps of an animation, and the settings with which they are repeated.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AnimationOptions {
    pub steps: FrameSteps,
    /// Repeats the session with its changes of settings if true; else records the present settings from step 0.
    pub replay: bool,
    /// The number of visible changes of settings in the session after its start.
    pub changes: usize,
}

impl AnimationOptions {
    pub(crate) fn ui(&mut self, ui: &mut Ui) {
        let steps = &mut self.steps;
        row(ui, "Steps", |ui| {
            ui.add(DragValue::new(&mut steps.from)).accessible_name("First step");
            ui.label("to");
            ui.add(DragValue::new(&mut steps.to)).accessible_name("Last step");
        });
        row(ui, "Speed", |ui| {
            ui.add(DragValue::new(&mut steps.every).range(1..=1_000_000))
                .on_hover_text("The last step always gets a frame, even after fewer steps.")
                .accessible_name("Steps a frame");
            ui.label("steps a frame");
            ui.end_row();
            ui.add(DragValue::new(&mut steps.frames_per_sec).range(FRAMES_PER_SEC)).accessible_name("Frames a second");
            ui.label("frames a second");
        });
        if self.changes == 0 {
            return;
        }
        row(ui, "Run", |ui| {
            let with =
                if self.changes == 1 { "its change".to_owned() } else { format!("its {} changes", self.changes) };
            let mut chosen = usize::from(!self.replay);
            choose(ui, &mut chosen, &[&format!("As it went, with {with}"), "With the present settings"]);
            self.replay = chosen == 0;
        });
    }
}

/// Returns whether a setting changes a frame. The step at which a run pauses does not, as the animation goes to its own
/// last step.
pub(super) fn is_seen(setting: &Setting) -> bool {
    !matches!(setting, Setting::Steps(_))
}

/// The largest number of frames: file names have five digits.
const MOST_FRAMES: u64 = 99_999;

/// The steps that an animation shows, and their speed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrameSteps {
    pub from: u64,
    pub to: u64,
    /// The number of steps from one frame to the next.
    pub every: u64,
    pub frames_per_sec: u32,
}

impl FrameSteps {
    /// Suggests frames that repeat a run of so many steps at a pace.
    pub fn suggested(last_step: u64, pace: PlaybackPace) -> FrameSteps {
        let to = last_step.max(100);
        let frames_per_sec = 20;
        let at_pace = if pace.unlimited { 1 } else { (pace.steps_per_sec / f64::from(frames_per_sec)).round() as u64 };
        FrameSteps { from: 0, to, every: at_pace.max(to.div_ceil(USUAL_FRAMES)).max(1), frames_per_sec }
    }

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
    pub graphics: Graphics,
    pub subject: PictureSubject,
    pub options: PictureOptions,
    pub steps: FrameSteps,
    pub format: AnimationFormat,
}

impl AnimationJob {
    /// Draws all frames and writes them to a file, or into a folder to make; returns its path, or `None` once it is
    /// cancelled. Blocks until then. A file that is there is replaced.
    ///
    /// # Errors
    ///
    /// Returns the reason if a frame was not drawn, or the file was not written. There is no file then.
    pub fn run(self, target: PathBuf, progress: &Progress) -> Result<Option<PathBuf>, EncodeError> {
        let AnimationJob { graphics, subject, options, steps, format } = self;
        let frames_per_sec = steps.frames_per_sec.max(1);
        let mut encoder = Encoder::start(AnimationFile {
            format,
            target,
            size: options.size,
            frames: steps.frames(),
            frames_per_sec,
            exact_colors: subject.colors(),
        });
        let stage = PictureStage::open(&graphics, subject, options, steps.to, 1.0 / frames_per_sec as f32);
        let mut stage = stage.map_err(EncodeError::NotDrawn)?;
        for frame in 0..steps.frames() {
            if !stage.go_to(steps.step_of(frame), || progress.is_cancelled()) {
                return Ok(None);
            }
            encoder.write(stage.draw().map_err(EncodeError::NotDrawn)?)?;
            progress.add_part();
        }
        progress.warn(stage.take_warning());
        Ok(Some(encoder.finish()?))
    }
}
