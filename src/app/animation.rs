//! Saves the landscape, step by step, as a GIF or as a folder of pictures.
//!
//! The player is restarted, advanced by a number of steps, waited for, and drawn off screen, frame by frame. The
//! recording ends by restoring the player's step.

mod caption;
mod encoder;
mod palette;
mod recording;

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, channel};

use egui::{Context, DragValue, Ui};

pub use encoder::{AnimationFile, AnimationFormat, EncodeError, Encoder};
use valleyscope_engine::simulation::{Record, Setting};
use valleyscope_experiments::view::ticks::grouped;

use super::landscape::LandscapePanel;
use super::picture_export::choose_size;
use super::{Action, Document, Live, PictureSize, Requests, dialog, native_dialog};
use crate::player::PlayerCommand;
use recording::{PlayerPosition, Recording};

/// The largest number of frames: file names have five digits.
const MOST_FRAMES: u64 = 99_999;
/// The allowed frame rates: GIF players slow down faster animations.
const FRAMES_PER_SEC: std::ops::RangeInclusive<u32> = 1..=50;

/// The settings of a recording.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    pub from_step: u64,
    pub to_step: u64,
    pub every: u64,
    pub frames_per_sec: u32,
    pub size: PictureSize,
    pub format: AnimationFormat,
    /// The path of the GIF, or of the folder to make.
    pub target: PathBuf,
    /// Repeats the session with its changes of settings if true; else records the present settings from step 0.
    pub replay: bool,
}

impl Settings {
    /// Suggests settings for a run at `step`, with about 200 frames.
    fn suggested(step: u64) -> Settings {
        let to_step = step.max(100);
        let folder = directories::UserDirs::new()
            .map(|dirs| dirs.picture_dir().unwrap_or_else(|| dirs.home_dir()).to_owned())
            .unwrap_or_default();
        Settings {
            from_step: 0,
            to_step,
            every: to_step.div_ceil(200).max(1),
            frames_per_sec: 20,
            size: PictureSize::Times(1),
            format: AnimationFormat::Gif,
            target: folder.join("valleyscope.gif"),
            replay: false,
        }
    }

    /// Returns the number of frames: one every `stride` steps, and one of the last step.
    pub fn frames(&self) -> u64 {
        self.to_step.saturating_sub(self.from_step).div_ceil(self.every.max(1)) + 1
    }

    /// Returns the step of a frame, counted from 0. The last frame shows the last step, even where that is not a whole
    /// number of strides after the first.
    pub fn step_of(&self, frame: u64) -> u64 {
        self.from_step.saturating_add(frame.saturating_mul(self.every.max(1))).min(self.to_step)
    }

    /// Returns why these settings cannot be recorded, if they cannot.
    pub fn problem(&self) -> Option<String> {
        if self.from_step > self.to_step {
            return Some(format!("The last step ({}) is before the first ({}).", self.to_step, self.from_step));
        }
        if self.frames() > MOST_FRAMES {
            return Some(format!("{} frames are too many; at most {MOST_FRAMES}.", self.frames()));
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
            AnimationFormat::Gif => self.target.is_dir(),
            AnimationFormat::PngFolder => self.target.exists() && !is_empty_folder(&self.target),
        };
        taken.then(|| format!("{} exists already. Choose another name.", self.target.display()))
    }

    /// Returns whether the recording would replace a file.
    fn replaces(&self) -> bool {
        self.format == AnimationFormat::Gif && self.target.is_file()
    }
}

fn is_empty_folder(path: &std::path::Path) -> bool {
    std::fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none())
}

/// The landscape to record, with its simulation.
pub struct Subject<'a> {
    pub panel: &'a mut LandscapePanel,
    pub document: &'a mut Document,
    pub live: &'a mut Live,
}

/// The dialog of the export, and the recording in progress.
#[derive(Default)]
pub struct AnimationExport {
    state: State,
    /// The pending record of the session so far.
    session: Option<Receiver<Record>>,
    /// The number of visible changes of settings in the session after its start.
    changes: usize,
    /// The settings of the last export.
    settings: Option<Settings>,
    /// The checked settings, their problem if any, and whether they replace a file. Kept so that the disk is checked
    /// only when the settings change.
    checked: Option<(Settings, Option<String>, bool)>,
    /// True where the system has file dialogs.
    can_pick: bool,
    /// The open file dialog's pending result.
    picking: Option<Receiver<Option<PathBuf>>>,
}

#[derive(Default)]
enum State {
    #[default]
    Closed,
    Asking,
    Recording(Box<Recording>),
}

impl AnimationExport {
    /// Shows the dialog. `session` requests the record of the session so far.
    pub fn open(&mut self, live: &Live, session: impl FnOnce() -> Receiver<Record>) {
        if !self.is_recording() {
            let step = live.snapshot.as_ref().map_or(0, |snapshot| snapshot.step);
            self.settings.get_or_insert_with(|| Settings::suggested(step)).replay = false;
            self.session = Some(session());
            self.changes = 0;
            self.can_pick = native_dialog::is_available();
            self.checked = None;
            self.state = State::Asking;
        }
    }

    /// Returns whether a recording is in progress. Nothing else may then send commands to the player.
    pub fn is_recording(&self) -> bool {
        matches!(self.state, State::Recording(_))
    }

    /// Returns, during a recording, whether the run will play once its step is restored.
    pub fn plays_after(&self) -> Option<bool> {
        match &self.state {
            State::Recording(recording) => Some(recording.plays_after()),
            State::Closed | State::Asking => None,
        }
    }

    /// Returns whether the dialog or a recording is on the screen.
    pub fn is_open(&self) -> bool {
        !matches!(self.state, State::Closed)
    }

    /// Starts a recording with these settings, without the dialog.
    pub fn start(&mut self, settings: Settings, ctx: &Context, mut subject: Subject<'_>, requests: &mut Requests) {
        self.state = match Recording::start(settings.clone(), ctx, &mut subject, requests) {
            Ok(recording) => State::Recording(Box::new(recording)),
            Err(reason) => {
                let text = EncodeError::NotDrawn(reason).to_string() + ".";
                requests.actions.push(Action::Report { title: "The animation was not saved".to_owned(), text });
                State::Closed
            }
        };
        self.settings = Some(settings);
    }

    /// Shows the dialog or advances the recording. Call once a frame after the panel was drawn, even while closed.
    pub fn ui(&mut self, ctx: &Context, mut subject: Subject<'_>, requests: &mut Requests) {
        match &mut self.state {
            State::Closed => {}
            State::Asking => match self.dialog(ctx, &subject) {
                Answer::None => {}
                Answer::Close => self.state = State::Closed,
                Answer::Start(settings) => self.start(settings, ctx, subject, requests),
            },
            State::Recording(recording) => {
                recording.advance(&mut subject, requests);
                let cancelled = recording.progress(ctx);
                if cancelled {
                    recording.cancel(subject.live.snapshot.as_ref().map(PlayerPosition::of), requests);
                }
                if recording.is_over() {
                    subject.live.frame_secs = None;
                    requests.commands.extend(recording.plays_after().then_some(PlayerCommand::Play));
                    requests.actions.extend(recording.report());
                    self.state = State::Closed;
                }
                ctx.request_repaint();
            }
        }
    }

    fn dialog(&mut self, ctx: &Context, subject: &Subject<'_>) -> Answer {
        if let Some(picked) = self.picking.as_ref().and_then(|picking| picking.try_recv().ok()) {
            self.picking = None;
            if let (Some(settings), Some(path)) = (&mut self.settings, picked) {
                settings.target = path;
            }
        }
        let Some(settings) = &mut self.settings else { return Answer::Close };
        if let Some(record) = self.session.as_ref().and_then(|session| session.try_recv().ok()) {
            self.session = None;
            self.changes = record.changes.iter().filter(|change| change.step > 0 && is_seen(&change.set)).count();
            // By default the export repeats the changes of the session.
            settings.replay = self.changes > 0;
        }
        let mut answer = Answer::None;
        let mut pick = false;
        let is_closed = dialog::show(ctx, "animation export", "Export an animation", |ui| {
            pick = settings_grid(ui, settings, self.changes, subject, self.can_pick);
            ui.add_space(6.0);
            let secs = settings.frames() as f64 / f64::from(settings.frames_per_sec);
            ui.weak(format!("{} frames, {secs:.1} seconds.", grouped(settings.frames())));
            ui.weak(
                "The export restarts the run. Afterwards the run returns to its present step, and continues if \
                     it was playing.",
            );
            if self.checked.as_ref().is_none_or(|(checked, ..)| checked != settings) {
                self.checked = Some((settings.clone(), settings.problem(), settings.replaces()));
            }
            let (problem, replaces) = self.checked.as_ref().map_or((&None, false), |(_, p, r)| (p, *r));
            if let Some(problem) = problem {
                ui.colored_label(ui.visuals().error_fg_color, problem);
            }
            ui.add_space(6.0);
            ui.horizontal(|ui| {
                let text = if replaces { "Replace the file and export" } else { "Export" };
                if ui.add_enabled(problem.is_none(), egui::Button::new(text)).clicked() {
                    answer = Answer::Start(settings.clone());
                }
                if ui.button("Cancel").clicked() {
                    answer = Answer::Close;
                }
            });
        });
        if pick && self.picking.is_none() {
            self.picking = Some(pick_target(ctx, settings));
        }
        if is_closed && self.picking.is_none() {
            answer = Answer::Close;
        }
        answer
    }
}

/// Returns whether a setting changes a frame. The step at which a run pauses does not, as the recording goes to its own
/// last step.
fn is_seen(setting: &Setting) -> bool {
    !matches!(setting, Setting::Steps(_))
}

enum Answer {
    None,
    Close,
    Start(Settings),
}

/// Shows the settings; returns whether to choose a path in a file dialog.
fn settings_grid(ui: &mut Ui, settings: &mut Settings, changes: usize, subject: &Subject<'_>, can_pick: bool) -> bool {
    let mut pick = false;
    egui::Grid::new("animation settings").num_columns(2).spacing([12.0, 6.0]).show(ui, |ui| {
        let label = ui.label("From step");
        ui.add(DragValue::new(&mut settings.from_step)).labelled_by(label.id);
        ui.end_row();
        let label = ui.label("To step");
        ui.add(DragValue::new(&mut settings.to_step)).labelled_by(label.id);
        ui.end_row();
        let label = ui.label("Steps a frame");
        ui.add(DragValue::new(&mut settings.every).range(1..=1_000_000))
            .on_hover_text("The last step always gets a frame, even after fewer steps.")
            .labelled_by(label.id);
        ui.end_row();
        let label = ui.label("Frames a second");
        ui.add(DragValue::new(&mut settings.frames_per_sec).range(FRAMES_PER_SEC)).labelled_by(label.id);
        ui.end_row();
        ui.label("Size");
        ui.vertical(|ui| choose_size(ui, &mut settings.size, subject.panel));
        ui.end_row();
        ui.label("Settings");
        choose_settings(ui, &mut settings.replay, changes);
        ui.end_row();
        ui.label("Save as");
        ui.horizontal(|ui| {
            let before = settings.format;
            ui.radio_value(&mut settings.format, AnimationFormat::Gif, "GIF");
            ui.radio_value(&mut settings.format, AnimationFormat::PngFolder, "folder of PNG pictures");
            if settings.format != before {
                settings.target.set_extension(if settings.format == AnimationFormat::Gif { "gif" } else { "" });
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
                .add_enabled(can_pick, egui::Button::new("Choose…"))
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
        ui.label("as they are now").on_hover_text("No setting was changed since step 0.");
        return;
    }
    ui.vertical(|ui| {
        let with = if changes == 1 { "its change".to_owned() } else { format!("its {changes} changes") };
        ui.radio_value(replay, true, format!("as the session went, with {with}"))
            .on_hover_text("Replay the session, with each change of a setting at its step.");
        ui.radio_value(replay, false, "as they are now, from step 0 on")
            .on_hover_text("Restart with the present settings, without the changes.");
    });
}

/// Opens the system's file dialog; the receiver gets the chosen path, or `None`.
fn pick_target(ctx: &Context, settings: &Settings) -> Receiver<Option<PathBuf>> {
    let (answer, picked) = channel();
    let mut dialog = rfd::FileDialog::new().set_title("Save the animation");
    if let Some(folder) = settings.target.parent() {
        dialog = dialog.set_directory(folder);
    }
    if let Some(name) = settings.target.file_name() {
        dialog = dialog.set_file_name(name.to_string_lossy());
    }
    if settings.format == AnimationFormat::Gif {
        dialog = dialog.add_filter("GIF", &["gif"]);
    }
    let ctx = ctx.clone();
    std::thread::spawn(move || {
        // The receiving dialog may be closed.
        let _ = answer.send(dialog.save_file());
        ctx.request_repaint();
    });
    picked
}
