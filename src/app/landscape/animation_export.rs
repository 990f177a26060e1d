//! Saves pictures of a run in the background: one of the shown step, or those of a session, step by step, as an
//! animated file, a video or a folder.

use std::path::PathBuf;
use std::sync::Arc;

use egui::{Button, ColorImage, Context, DragValue, Grid, ScrollArea, Ui};
use valleyscope_engine::simulation::{Record, Setting};
use valleyscope_experiments::view::ticks::grouped;
use valleyscope_runs::atomic_file::Overwrite;

use super::picture::{PictureStage, PictureSubject};
use super::picture_options::{LABEL_WIDTH, PictureOptions};
use crate::app::shell::graphics::Graphics;
use crate::app::shell::jobs::{Exported, Exports, Job, Progress};
use crate::app::shell::{files, messages};
use crate::app::widgets::form::radio_button;
use crate::export::animation::{AnimationFile, AnimationFormat, EncodeError, Encoder};
use crate::player::PlaybackPace;

/// The largest number of frames of the animation that the dialog suggests.
const USUAL_FRAMES: u64 = 400;
/// The height of the dialog without its settings, and of the window around it, in points.
const AROUND_SETTINGS: f32 = 190.0;
/// The allowed frame rates: GIF players slow down faster animations.
const FRAMES_PER_SEC: std::ops::RangeInclusive<u32> = 1..=50;

/// The dialog of the export.
#[derive(Default)]
pub(crate) struct PictureExport {
    is_open: bool,
}

impl PictureExport {
    pub(crate) fn open(&mut self) {
        self.is_open = true;
    }

    /// Shows the dialog if it is open. Returns true once the user has asked for the picture.
    pub(crate) fn ui(&mut self, ctx: &Context, options: &mut PictureOptions, in_space: bool) -> bool {
        if !self.is_open {
            return false;
        }
        let (mut save, mut cancel) = (false, false);
        let is_closed = messages::show_modal(ctx, "picture export", "Export a picture", |ui| {
            ui.weak("The step that is shown, as PNG.");
            ui.add_space(6.0);
            options.ui(ui);
            let problem = options.problem(in_space);
            if let Some(problem) = &problem {
                ui.colored_label(ui.visuals().error_fg_color, problem);
            }
            ui.add_space(6.0);
            ui.horizontal(|ui| {
                save = ui.add_enabled(problem.is_none(), Button::new("Save…")).clicked();
                cancel = ui.button("Cancel").clicked();
            });
        });
        self.is_open = !(save || cancel || is_closed);
        save
    }
}

/// Draws a picture of a session at a step in the background.
pub(crate) fn start_picture(
    ctx: &Context,
    exports: &mut Exports,
    graphics: Graphics,
    subject: PictureSubject,
    options: PictureOptions,
    step: u64,
) {
    let name = "landscape.png".to_owned();
    let suggested_name = name.clone();
    let work = move |progress: &Progress| {
        let mut stage = PictureStage::open(&graphics, subject, options, step, 0.0)?;
        if !stage.go_to(step, || progress.is_cancelled()) {
            return Ok(None);
        }
        let drawn = stage.draw()?;
        progress.add_part();
        let size = [drawn.width(), drawn.height()].map(|side| side as usize);
        let image = Arc::new(ColorImage::from_rgb(size, drawn.as_raw()));
        Ok(Some(Exported::Picture { image, suggested_name }))
    };
    exports.start(ctx, name, 1, Box::new(work));
}

/// The settings of an animation.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    pub steps: FrameSteps,
    pub format: AnimationFormat,
    /// The path of the file, or of the folder to make.
    pub target: PathBuf,
    /// Repeats the session with its changes of settings if true; else records the present settings from step 0.
    pub replay: bool,
}

impl Settings {
    /// Suggests settings that repeat a run of so many steps at a pace.
    pub fn suggested(last_step: u64, pace: PlaybackPace) -> Settings {
        let to = last_step.max(100);
        let frames_per_sec = 20;
        let at_pace = if pace.unlimited { 1 } else { (pace.steps_per_sec / f64::from(frames_per_sec)).round() as u64 };
        let folder = directories::UserDirs::new()
            .map(|dirs| dirs.picture_dir().unwrap_or_else(|| dirs.home_dir()).to_owned())
            .unwrap_or_default();
        Settings {
            steps: FrameSteps { from: 0, to, every: at_pace.max(to.div_ceil(USUAL_FRAMES)).max(1), frames_per_sec },
            format: AnimationFormat::Gif,
            target: folder.join("valleyscope.gif"),
            replay: false,
        }
    }

    /// Returns why these settings cannot be recorded, if they cannot.
    pub fn problem(&self) -> Option<String> {
        if let Some(problem) = self.steps.problem() {
            return Some(format!("{problem}."));
        }
        if !self.format.is_available() {
            return Some(format!("{}.", EncodeError::NoFfmpeg(self.format.name())));
        }
        if self.target.file_name().is_none() {
            return Some("Choose where to save it.".to_owned());
        }
        match self.target.parent() {
            Some(parent) if !parent.as_os_str().is_empty() && !parent.is_dir() => {
                return Some(format!("There is no folder {}.", parent.display()));
            }
            _ => {}
        }
        let taken = match self.format {
            AnimationFormat::PngFolder => self.target.exists() && !is_empty_folder(&self.target),
            _ => self.target.is_dir(),
        };
        taken.then(|| format!("{} exists already. Choose another name.", self.target.display()))
    }

    fn replaces(&self) -> bool {
        self.format != AnimationFormat::PngFolder && self.target.is_file()
    }
}

fn is_empty_folder(path: &std::path::Path) -> bool {
    std::fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none())
}

/// The sessions to show.
pub struct Subject<'a> {
    /// The sessions so far, and the present settings from step 0, in the order of the simulations.
    pub sessions: &'a [Record],
    pub present: &'a [Record],
    /// The way in which they are looked at. Its records are not used.
    pub view: &'a PictureSubject,
}

/// The dialog of the export.
#[derive(Default)]
pub struct AnimationExport {
    is_open: bool,
    /// The number of visible changes of settings in the session after its start.
    changes: usize,
    /// The settings of the last export.
    settings: Option<Settings>,
    check: SettingsCheck,
    /// True where the system has file dialogs.
    can_pick: bool,
    /// The open file dialog, which returns the chosen path.
    picking: Option<Job<Option<PathBuf>>>,
}

impl AnimationExport {
    /// Shows the dialog for sessions, which it suggests to repeat from their start to `last_step`, with their changes.
    pub fn open(&mut self, sessions: &[Record], last_step: u64, pace: PlaybackPace) {
        let suggested = Settings::suggested(last_step, pace);
        let changes = sessions.iter().flat_map(|session| &session.changes);
        self.changes = changes.filter(|change| change.step > 0 && is_seen(&change.set)).count();
        let settings = match self.settings.take() {
            Some(last) => Settings { steps: suggested.steps, ..last },
            None => suggested,
        };
        self.settings = Some(Settings { replay: self.changes > 0, ..settings });
        self.can_pick = files::has_native_dialogs();
        self.check = SettingsCheck::default();
        self.is_open = true;
    }

    /// Shows the dialog if it is open. Returns the settings, and whether a file is replaced, once the user has asked
    /// for the export.
    pub fn ui(&mut self, ctx: &Context, options: &mut PictureOptions, in_space: bool) -> Option<(Settings, Overwrite)> {
        if !self.is_open {
            return None;
        }
        if let (Some(Ok(Some(path))), Some(settings)) = (Job::take(&mut self.picking), &mut self.settings) {
            settings.target = path;
        }
        let settings = self.settings.as_mut()?;
        let (mut start, mut cancel, mut pick) = (false, false, false);
        let is_closed = messages::show_modal(ctx, "animation export", "Export an animation", |ui| {
            ui.add_space(6.0);
            let room = (ctx.content_rect().height() - AROUND_SETTINGS).max(100.0);
            ScrollArea::vertical().max_height(room).show(ui, |ui| {
                options.ui(ui);
                ui.separator();
                pick = settings_grid(ui, settings, self.changes, self.can_pick);
            });
            ui.add_space(6.0);
            let frames = settings.steps.frames();
            let secs = frames as f64 / f64::from(settings.steps.frames_per_sec);
            ui.weak(format!("{} frames, {secs:.1} seconds.", grouped(frames)));
            self.check.update(ctx, settings);
            let problem = options.problem(in_space).or_else(|| self.check.outcome.problem.clone());
            if let Some(problem) = &problem {
                ui.colored_label(ui.visuals().error_fg_color, problem);
            }
            ui.add_space(6.0);
            ui.horizontal(|ui| {
                let text = if self.check.outcome.replaces { "Replace the file and export" } else { "Export animation" };
                let can_start = problem.is_none() && self.check.is_of(settings);
                start = ui.add_enabled(can_start, Button::new(text)).clicked();
                cancel = ui.button("Cancel").clicked();
                ui.weak("It is drawn in the background. The run goes on.");
            });
        });
        if pick && self.picking.is_none() {
            self.picking = Some(pick_target(ctx, settings));
        }
        let is_left = is_closed && self.picking.is_none();
        self.is_open = !(start || cancel || is_left);
        let overwrite = if self.check.outcome.replaces { Overwrite::Yes } else { Overwrite::No };
        start.then(|| (settings.clone(), overwrite))
    }
}

/// Checks settings against the disk and the PATH in a thread, as these can be slow, each time that they change.
#[derive(Default)]
struct SettingsCheck {
    /// The settings that were checked last.
    checked: Option<Settings>,
    outcome: CheckOutcome,
    /// The check in progress, which also returns its settings.
    pending: Option<Job<(Settings, CheckOutcome)>>,
}

#[derive(Default)]
struct CheckOutcome {
    problem: Option<String>,
    /// True where the animation would replace a file.
    replaces: bool,
}

impl SettingsCheck {
    /// Takes the result of a check, and starts one if these settings are not checked. Call in each frame.
    fn update(&mut self, ctx: &Context, settings: &Settings) {
        if let Some(Ok((checked, outcome))) = Job::take(&mut self.pending) {
            (self.checked, self.outcome) = (Some(checked), outcome);
        }
        if self.is_of(settings) || self.pending.is_some() {
            return;
        }
        let settings = settings.clone();
        self.pending = Some(Job::start(ctx, move |_| {
            let outcome = CheckOutcome { problem: settings.problem(), replaces: settings.replaces() };
            (settings, outcome)
        }));
    }

    fn is_of(&self, settings: &Settings) -> bool {
        self.checked.as_ref() == Some(settings)
    }
}

/// Starts an animation in the background.
pub fn start(
    ctx: &Context,
    exports: &mut Exports,
    graphics: Graphics,
    (settings, overwrite): (Settings, Overwrite),
    subject: &Subject<'_>,
    options: &PictureOptions,
) {
    let records = if settings.replay { subject.sessions } else { subject.present };
    let view = PictureSubject { records: records.to_vec(), ..subject.view.clone() };
    let name = settings.target.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let frames = settings.steps.frames();
    let Settings { steps, format, target, .. } = settings;
    let job = AnimationJob { subject: view, options: options.clone(), steps, format, target, overwrite };
    let work = move |progress: &_| match job.run(&graphics, progress) {
        Ok(path) => Ok(path.map(|path| Exported::Animation { path, frames })),
        Err(error) => Err(error.to_string()),
    };
    exports.start(ctx, name, frames, Box::new(work));
}

/// Returns whether a setting changes a frame. The step at which a run pauses does not, as the animation goes to its own
/// last step.
fn is_seen(setting: &Setting) -> bool {
    !matches!(setting, Setting::Steps(_))
}

/// Shows the settings; returns whether to choose a path in a file dialog.
fn settings_grid(ui: &mut Ui, settings: &mut Settings, changes: usize, can_pick: bool) -> bool {
    let mut pick = false;
    let steps = &mut settings.steps;
    Grid::new("animation settings").num_columns(2).min_col_width(LABEL_WIDTH).spacing([12.0, 6.0]).show(ui, |ui| {
        ui.label("Steps");
        ui.horizontal(|ui| {
            let label = ui.label("from");
            ui.add(DragValue::new(&mut steps.from)).labelled_by(label.id);
            let label = ui.label("to");
            ui.add(DragValue::new(&mut steps.to)).labelled_by(label.id);
        });
        ui.end_row();
        ui.label("Speed");
        ui.horizontal(|ui| {
            ui.add(DragValue::new(&mut steps.every).range(1..=1_000_000))
                .on_hover_text("The last step always gets a frame, even after fewer steps.")
                .accessible_name("Steps a frame");
            ui.label("steps a frame,");
            ui.add(DragValue::new(&mut steps.frames_per_sec).range(FRAMES_PER_SEC)).accessible_name("Frames a second");
            ui.label("frames a second");
        });
        ui.end_row();
        ui.label("Run");
        choose_settings(ui, &mut settings.replay, changes);
        ui.end_row();
        ui.label("Save as");
        ui.horizontal(|ui| {
            let before = settings.format;
            for format in AnimationFormat::ALL {
                let button = radio_button(ui, &mut settings.format, format, format.name());
                match format {
                    AnimationFormat::PngFolder => button.on_hover_text("A folder with a picture for each frame."),
                    format if format.needs_ffmpeg() => button.on_hover_text("Needs the program ffmpeg."),
                    _ => button,
                };
            }
            if settings.format != before {
                settings.target.set_extension(settings.format.extension());
            }
        });
        ui.end_row();
        let label = ui.label("To");
        ui.horizontal(|ui| {
            let mut text = settings.target.to_string_lossy().into_owned();
            let edit = egui::TextEdit::singleline(&mut text).desired_width(230.0);
            if ui.add(edit).labelled_by(label.id).changed() {
                settings.target = PathBuf::from(text);
            }
            pick = ui
                .add_enabled(can_pick, Button::new("Choose…"))
                .on_hover_text("Choose the path in a file dialog")
                .on_disabled_hover_text("This desktop offers no file dialogs. Type the path instead.")
                .clicked();
        });
        ui.end_row();
    });
    pick
}

/// Chooses between the recorded session and the present settings, where they differ.
fn choose_settings(ui: &mut Ui, replay: &mut bool, changes: usize) {
    if changes == 0 {
        ui.label("with the settings as they are now").on_hover_text("No setting was changed since step 0.");
        return;
    }
    ui.vertical(|ui| {
        let with = if changes == 1 { "its change".to_owned() } else { format!("its {changes} changes") };
        radio_button(ui, replay, true, format!("as the session went, with {with}"))
            .on_hover_text("Replay the session, with each change of a setting at its step.");
        radio_button(ui, replay, false, "as they are now, from step 0 on")
            .on_hover_text("Restart with the present settings, without the changes.");
    });
}

/// Opens the system's file dialog, which returns the chosen path, or `None`.
fn pick_target(ctx: &Context, settings: &Settings) -> Job<Option<PathBuf>> {
    let mut dialog = rfd::FileDialog::new().set_title("Save the animation");
    if let Some(folder) = settings.target.parent() {
        dialog = dialog.set_directory(folder);
    }
    if let Some(name) = settings.target.file_name() {
        dialog = dialog.set_file_name(name.to_string_lossy());
    }
    if settings.format != AnimationFormat::PngFolder {
        dialog = dialog.add_filter(settings.format.name(), &[settings.format.extension()]);
    }
    Job::start(ctx, |_| dialog.save_file())
}

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
            exact_colors: subject.colors(),
        });
        let frame_secs = 1.0 / steps.frames_per_sec.max(1) as f32;
        let stage = PictureStage::open(graphics, subject, options, steps.to, frame_secs);
        let mut stage = stage.map_err(AnimationError::NotDrawn)?;
        for frame in 0..steps.frames() {
            if !stage.go_to(steps.step_of(frame), || progress.is_cancelled()) {
                return Ok(None);
            }
            encoder.write(stage.draw().map_err(AnimationError::NotDrawn)?)?;
            progress.add_part();
        }
        progress.warn(stage.take_warning());
        Ok(Some(encoder.finish()?))
    }
}
