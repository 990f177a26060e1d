//! Drives the player from frame to frame.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, channel};

use egui::{Align2, Color32, ColorImage, Context, Id, Modal, vec2};
use image::RgbaImage;
use valleyscope_engine::simulation::{OptimizerSpec, Record};
use valleyscope_experiments::view::ticks::grouped;
use valleyscope_runs::atomic_file::Overwrite;

use super::caption::VariedSettings;
use super::encoder::{AnimationFile, EncodeError, Encoder};
use super::{Settings, Subject};
use crate::app::transport::step;
use crate::app::{Action, Offscreen, PictureExtent, Requests};
use crate::player::{Playback, PlayerCommand, Snapshot};

/// An export in progress.
pub(super) struct Recording {
    settings: Settings,
    offscreen: Offscreen,
    extent: PictureExtent,
    encoder: Option<Encoder>,
    phase: Phase,
    /// The sessions to restore, none before they are known, and their position.
    sessions: Vec<Record>,
    session_answer: Receiver<Record>,
    return_to: u64,
    /// True if the run played when the recording began.
    plays_after: bool,
    /// The settings that change during the recording.
    varied: VariedSettings,
    frames_done: u64,
    outcome: Option<Result<PathBuf, EncodeError>>,
}

enum Phase {
    /// Waits until the player rests and the record of the session arrives.
    Recall,
    /// Waits until another run than this one begins.
    Begin {
        old_run: u64,
    },
    /// Waits for a step.
    Reach {
        step: u64,
    },
    /// Waits for room in the encoder's queue.
    HandOver {
        frame: RgbaImage,
    },
    /// Waits for the files.
    Finish {
        told: bool,
    },
    /// Waits until the session has restarted, and then until it has reached its step.
    Return {
        old_run: u64,
    },
    ReturnTo {
        step: u64,
    },
    Over,
}

/// The position of the player.
#[derive(Clone, Copy)]
pub(super) struct PlayerPosition {
    run: u64,
    step: u64,
    playback: Playback,
}

impl PlayerPosition {
    pub(super) fn of(snapshot: &Snapshot) -> PlayerPosition {
        PlayerPosition { run: snapshot.run, step: snapshot.step, playback: snapshot.playback }
    }

    /// Returns whether the player rests at `step`.
    fn is_at(self, step: u64) -> bool {
        self.playback != Playback::Playing && self.step == step
    }
}

impl Recording {
    /// Starts a recording.
    ///
    /// # Errors
    ///
    /// Returns why the landscape cannot be drawn.
    pub(super) fn start(
        settings: Settings,
        ctx: &Context,
        subject: &mut Subject<'_>,
        requests: &mut Requests,
    ) -> Result<Recording, String> {
        let offscreen = subject.panel.offscreen(ctx)?;
        let extent = subject.panel.extent(ctx, settings.size);
        let (answer, session_answer) = channel();
        requests.commands.extend([PlayerCommand::Pause, PlayerCommand::Record(answer)]);
        subject.live.frame_secs = Some(1.0 / settings.frames_per_sec.max(1) as f32);
        let encoder = Encoder::start(AnimationFile {
            format: settings.format,
            target: settings.target.clone(),
            frames_per_sec: settings.frames_per_sec,
            overwrite: if settings.replaces() { Overwrite::Yes } else { Overwrite::No },
            kept_colors: subject.document.spec.optimizers.iter().map(OptimizerSpec::rgb).collect(),
        });
        Ok(Recording {
            offscreen,
            extent,
            encoder: Some(encoder),
            phase: Phase::Recall,
            sessions: Vec::new(),
            session_answer,
            return_to: 0,
            plays_after: subject.live.is_playing(),
            varied: VariedSettings::default(),
            frames_done: 0,
            outcome: None,
            settings,
        })
    }

    /// Advances as far as possible without waiting for the player or the encoder. Call after the panel was drawn.
    pub(super) fn advance(&mut self, subject: &mut Subject<'_>, requests: &mut Requests) {
        let Some(here) = subject.live.snapshot.as_ref().map(PlayerPosition::of) else { return };
        if let Some(outcome) = self.encoder.as_ref().and_then(Encoder::outcome) {
            self.end(outcome, here, requests);
            return;
        }
        let phase = std::mem::replace(&mut self.phase, Phase::Over);
        self.phase = match phase {
            // A playing player is ahead of the snapshot; the step at which it pauses is the one to restore.
            Phase::Recall if here.playback != Playback::Playing => match self.session_answer.try_recv() {
                Ok(record) => {
                    let beside = subject.live.records_beside();
                    self.begin(std::iter::once(record).chain(beside).collect(), here, requests)
                }
                Err(_) => Phase::Recall,
            },
            Phase::Begin { old_run } if here.run != old_run => self.reach(self.settings.from_step, here, requests),
            Phase::Reach { step } if here.is_at(step) => match self.draw(subject) {
                Ok(frame) => self.hand_over(frame, here, requests),
                Err(reason) => return self.end(Err(EncodeError::NotDrawn(reason)), here, requests),
            },
            Phase::HandOver { frame } => self.hand_over(frame, here, requests),
            Phase::Finish { told: false } => Phase::Finish { told: self.encoder.as_ref().is_none_or(Encoder::finish) },
            Phase::Return { old_run } if here.run != old_run => {
                if self.return_to > here.step {
                    requests.commands.push(PlayerCommand::Advance(self.return_to - here.step));
                }
                Phase::ReturnTo { step: self.return_to }
            }
            Phase::ReturnTo { step } if here.is_at(step) => Phase::Over,
            waiting => waiting,
        };
    }

    /// Draws the landscape in view, with the settings of its step.
    fn draw(&mut self, subject: &mut Subject<'_>) -> Result<RgbaImage, String> {
        let Subject { panel, document, live } = subject;
        let Some(snapshot) = &live.snapshot else { return Err("the run has not begun".to_owned()) };
        let mut document = document.in_force(live);
        let caption = if live.is_side_by_side() { step(snapshot) } else { self.varied.caption(snapshot) };
        let draw = |ui: &mut egui::Ui| panel.captioned(ui, &mut document, live, &caption);
        self.offscreen.draw(self.extent, draw).map(|image| opaque(&image))
    }

    /// Ends with this outcome, and restores the run.
    fn end(&mut self, outcome: Result<PathBuf, EncodeError>, here: PlayerPosition, requests: &mut Requests) {
        self.outcome = Some(outcome);
        self.encoder = None;
        self.go_back(here, requests);
    }

    fn begin(&mut self, sessions: Vec<Record>, here: PlayerPosition, requests: &mut Requests) -> Phase {
        let command = match self.settings.replay {
            true => PlayerCommand::Load(sessions.clone()),
            false => PlayerCommand::Restart,
        };
        requests.commands.push(command);
        if self.settings.replay {
            self.varied = VariedSettings::of(&sessions[0]);
        }
        self.sessions = sessions;
        self.return_to = here.step;
        Phase::Begin { old_run: here.run }
    }

    fn reach(&self, step: u64, here: PlayerPosition, requests: &mut Requests) -> Phase {
        if step > here.step {
            requests.commands.push(PlayerCommand::Advance(step - here.step));
        }
        Phase::Reach { step }
    }

    /// Sends a frame to the encoder and continues with the next step.
    fn hand_over(&mut self, frame: RgbaImage, here: PlayerPosition, requests: &mut Requests) -> Phase {
        let Some(encoder) = &self.encoder else { return Phase::Over };
        if let Some(frame) = encoder.offer(frame) {
            return Phase::HandOver { frame };
        }
        self.frames_done += 1;
        if self.frames_done == self.settings.frames() {
            return Phase::Finish { told: false };
        }
        self.reach(self.settings.step_of(self.frames_done), here, requests)
    }

    /// Restores the player's position.
    fn go_back(&mut self, here: PlayerPosition, requests: &mut Requests) {
        let sessions = std::mem::take(&mut self.sessions);
        self.phase = if sessions.is_empty() { Phase::Over } else { Phase::Return { old_run: here.run } };
        if !sessions.is_empty() {
            requests.commands.push(PlayerCommand::Load(sessions));
        }
    }

    /// Stops and leaves no files behind.
    pub(super) fn cancel(&mut self, here: Option<PlayerPosition>, requests: &mut Requests) {
        self.encoder = None;
        if let Some(here) = here
            && !matches!(self.phase, Phase::Return { .. } | Phase::ReturnTo { .. } | Phase::Over)
        {
            self.go_back(here, requests);
        }
    }

    /// Returns whether the run plays on when the recording is over.
    pub(super) fn plays_after(&self) -> bool {
        self.plays_after
    }

    pub(super) fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Over)
    }

    /// Returns the final message to the user; `None` when the recording was cancelled.
    pub(super) fn report(&mut self) -> Option<Action> {
        self.outcome.take().map(|outcome| match outcome {
            Ok(path) => Action::Notify(format!("Saved {} frames to {}", self.frames_done, path.display())),
            Err(error) => Action::Report { title: "The animation was not saved".to_owned(), text: format!("{error}.") },
        })
    }

    /// Shows the progress; returns true when the user cancels.
    pub(super) fn progress(&self, ctx: &Context) -> bool {
        const WIDTH: f32 = 270.0;
        let id = Id::unique("animation progress");
        // Low in the window, so that the moving landscape stays visible.
        let area = Modal::default_area(id).anchor(Align2::CENTER_BOTTOM, vec2(0.0, -60.0));
        Modal::new(id)
            .area(area)
            .backdrop_color(Color32::TRANSPARENT)
            .show(ctx, |ui| {
                ui.set_width(WIDTH);
                let total = self.settings.frames();
                let part = self.frames_done as f32 / total as f32;
                let text = match self.phase {
                    Phase::Finish { .. } => "Writing the last frames…".to_owned(),
                    Phase::Return { .. } | Phase::ReturnTo { .. } => "Restoring the run…".to_owned(),
                    _ => format!("Frame {} of {}", grouped(self.frames_done + 1), grouped(total)),
                };
                ui.label(text);
                ui.add(egui::ProgressBar::new(part)).accessible_name("Progress of the export");
                ui.button("Cancel the export").clicked() || ui.input(|input| input.key_pressed(egui::Key::Escape))
            })
            .inner
    }
}

/// Converts a picture to the encoder's format.
fn opaque(image: &ColorImage) -> RgbaImage {
    let [width, height] = image.size.map(|side| side as u32);
    RgbaImage::from_fn(width, height, |x, y| {
        let [red, green, blue, _] = image[(x as usize, y as usize)].to_array();
        image::Rgba([red, green, blue, 255])
    })
}
