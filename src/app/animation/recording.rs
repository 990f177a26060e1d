//! Driving the engine from frame to frame.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};

use egui::{Align2, Color32, ColorImage, Context, Id, Modal, Rect, ViewportCommand};
use image::RgbaImage;

use super::Settings;
use super::encoder::{EncodeError, Encoder};
use crate::app::picture::part;
use crate::app::{Action, Live, Requests};
use crate::simulation::{Command, Playback, Record, Snapshot};
use crate::view::ticks::grouped;

/// An export under way.
pub struct Recording {
    settings: Settings,
    area: Rect,
    encoder: Option<Encoder>,
    phase: Phase,
    /// The session to go back to, and where it was.
    session: Option<Record>,
    session_answer: Receiver<Record>,
    return_to: u64,
    frames_done: u64,
    outcome: Option<Result<PathBuf, EncodeError>>,
}

enum Phase {
    /// Waits for the engine to rest and for the record of the session.
    Recall,
    /// Waits for a run other than this one to begin.
    Begin {
        old_run: u64,
    },
    /// Waits for a step.
    Reach {
        step: u64,
    },
    /// Waits for the picture of a step.
    Photograph {
        step: u64,
        picture: Receiver<Arc<ColorImage>>,
    },
    /// Waits for room at the encoder.
    HandOver {
        step: u64,
        frame: RgbaImage,
    },
    /// Waits for the files.
    Finish {
        told: bool,
    },
    /// Waits for the session to begin anew, and then to be back at its step.
    Return {
        old_run: u64,
    },
    ReturnTo {
        step: u64,
    },
    Over,
}

impl Recording {
    pub fn start(settings: Settings, area: Rect, live: &mut Live, requests: &mut Requests) -> Recording {
        let (answer, session_answer) = channel();
        requests.commands.extend([Command::Pause, Command::Record(answer)]);
        live.frame_secs = Some(1.0 / settings.frames_per_sec.max(1) as f32);
        let encoder =
            Encoder::start(settings.format, settings.target.clone(), settings.frames_per_sec, settings.replaces());
        Recording {
            area,
            encoder: Some(encoder),
            phase: Phase::Recall,
            session: None,
            session_answer,
            return_to: 0,
            frames_done: 0,
            outcome: None,
            settings,
        }
    }

    /// Does what can be done without waiting.
    pub fn advance(&mut self, ctx: &Context, live: &Live, requests: &mut Requests) {
        let Some(snapshot) = &live.snapshot else { return };
        if let Some(failure) = self.encoder.as_ref().and_then(Encoder::outcome) {
            self.outcome = Some(failure);
            self.encoder = None;
            self.go_back(snapshot, requests);
            return;
        }
        let phase = std::mem::replace(&mut self.phase, Phase::Over);
        self.phase = match phase {
            // A playing engine is ahead of what is shown; where it rests is where to go back to.
            Phase::Recall if snapshot.playback != Playback::Playing => match self.session_answer.try_recv() {
                Ok(record) => self.begin(record, snapshot, requests),
                Err(_) => Phase::Recall,
            },
            Phase::Begin { old_run } if snapshot.run != old_run => {
                self.reach(self.settings.from_step, snapshot, requests)
            }
            Phase::Reach { step } if is_at(snapshot, step) => photograph(ctx, snapshot.step),
            Phase::Photograph { step, picture } => match picture.try_recv() {
                Ok(window) => {
                    let frame = opaque(&part(&window, self.area, ctx.pixels_per_point()));
                    self.hand_over(step, frame, snapshot, requests)
                }
                Err(_) => Phase::Photograph { step, picture },
            },
            Phase::HandOver { step, frame } => self.hand_over(step, frame, snapshot, requests),
            Phase::Finish { told: false } => Phase::Finish { told: self.encoder.as_ref().is_none_or(Encoder::finish) },
            Phase::Return { old_run } if snapshot.run != old_run => {
                if self.return_to > snapshot.step {
                    requests.commands.push(Command::Advance(self.return_to - snapshot.step));
                }
                Phase::ReturnTo { step: self.return_to }
            }
            Phase::ReturnTo { step } if is_at(snapshot, step) => Phase::Over,
            waiting => waiting,
        };
    }

    fn begin(&mut self, session: Record, snapshot: &Snapshot, requests: &mut Requests) -> Phase {
        let command = match self.settings.replay {
            true => Command::Replay(Box::new(session.clone())),
            false => Command::Restart,
        };
        requests.commands.push(command);
        self.session = Some(session);
        self.return_to = snapshot.step;
        Phase::Begin { old_run: snapshot.run }
    }

    fn reach(&self, step: u64, snapshot: &Snapshot, requests: &mut Requests) -> Phase {
        if step > snapshot.step {
            requests.commands.push(Command::Advance(step - snapshot.step));
        }
        Phase::Reach { step }
    }

    /// Gives a frame to the encoder and goes on to the next step.
    fn hand_over(&mut self, step: u64, frame: RgbaImage, snapshot: &Snapshot, requests: &mut Requests) -> Phase {
        let Some(encoder) = &self.encoder else { return Phase::Over };
        if let Some(frame) = encoder.offer(frame) {
            return Phase::HandOver { step, frame };
        }
        self.frames_done += 1;
        let next = self.settings.from_step + self.frames_done * self.settings.every;
        // A run that ended before its time has no more steps to show.
        let ended = snapshot.playback == Playback::Finished && snapshot.step < next;
        if next > self.settings.to_step || ended {
            return Phase::Finish { told: false };
        }
        self.reach(next, snapshot, requests)
    }

    /// Brings the engine back to where it was.
    fn go_back(&mut self, snapshot: &Snapshot, requests: &mut Requests) {
        self.phase = match self.session.take() {
            Some(session) => {
                requests.commands.push(Command::Replay(Box::new(session)));
                Phase::Return { old_run: snapshot.run }
            }
            None => Phase::Over,
        };
    }

    /// Stops, leaving no files behind.
    pub fn cancel(&mut self, live: &Live, requests: &mut Requests) {
        self.encoder = None;
        if let Some(snapshot) = &live.snapshot
            && !matches!(self.phase, Phase::Return { .. } | Phase::ReturnTo { .. } | Phase::Over)
        {
            self.go_back(snapshot, requests);
        }
    }

    pub fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Over)
    }

    /// What to tell the user in the end; nothing when it was cancelled.
    pub fn report(&mut self) -> Option<Action> {
        self.outcome.take().map(|outcome| match outcome {
            Ok(path) => Action::Notify(format!("Saved {} frames to {}", self.frames_done, path.display())),
            Err(error) => Action::Report { title: "The animation was not saved", text: format!("{error}.") },
        })
    }

    /// Shows how far it is, beside the recorded area; true when the user wants it to stop.
    pub fn progress(&self, ctx: &Context) -> bool {
        const SIZE: egui::Vec2 = egui::vec2(290.0, 84.0);
        let place = free_place(ctx.content_rect(), self.area, SIZE);
        let id = Id::unique("animation progress");
        let corner = place.unwrap_or(ctx.content_rect().min);
        let area = Modal::default_area(id).anchor(Align2::LEFT_TOP, corner.to_vec2());
        let modal = Modal::new(id).area(area).backdrop_color(Color32::TRANSPARENT);
        // With no place beside the area the progress must not be in the picture.
        if place.is_none() && matches!(self.phase, Phase::Photograph { .. }) {
            modal.frame(egui::Frame::NONE).show(ctx, |_| {});
            return false;
        }
        modal
            .show(ctx, |ui| {
                ui.set_width(SIZE.x - 20.0);
                let total = self.settings.frames();
                let part = self.frames_done as f32 / total as f32;
                let text = match self.phase {
                    Phase::Finish { .. } => "Writing the last frames…".to_owned(),
                    Phase::Return { .. } | Phase::ReturnTo { .. } => "Going back to where the run was…".to_owned(),
                    _ => format!("Frame {} of {}", grouped(self.frames_done + 1), grouped(total)),
                };
                ui.label(text);
                ui.add(egui::ProgressBar::new(part)).accessible_name("Progress of the export");
                ui.button("Cancel the export").clicked() || ui.input(|input| input.key_pressed(egui::Key::Escape))
            })
            .inner
    }
}

fn photograph(ctx: &Context, step: u64) -> Phase {
    let (answer, picture) = channel();
    let repaint = ctx.clone();
    ctx.send_viewport_cmd(ViewportCommand::Screenshot(egui::ScreenshotCallback::new(move |image| {
        // The export may have been cancelled meanwhile.
        let _ = answer.send(image);
        repaint.request_repaint();
    })));
    Phase::Photograph { step, picture }
}

/// Whether the engine rests at `step`, or ended before it.
fn is_at(snapshot: &Snapshot, step: u64) -> bool {
    match snapshot.playback {
        Playback::Playing => false,
        Playback::Paused => snapshot.step == step,
        Playback::Finished => true,
    }
}

/// A corner outside of `area` with room for something of this size.
fn free_place(window: Rect, area: Rect, size: egui::Vec2) -> Option<egui::Pos2> {
    let gap = 8.0;
    let corners = [
        egui::pos2(area.left() - size.x - gap, window.top() + gap),
        egui::pos2(area.right() + gap, window.top() + gap),
        egui::pos2(window.left() + gap, area.bottom() + gap),
        egui::pos2(window.left() + gap, area.top() - size.y - gap),
    ];
    corners.into_iter().find(|&corner| window.contains_rect(Rect::from_min_size(corner, size)))
}

/// A picture as the encoders take it.
fn opaque(image: &ColorImage) -> RgbaImage {
    let [width, height] = image.size.map(|side| side as u32);
    RgbaImage::from_fn(width, height, |x, y| {
        let [red, green, blue, _] = image[(x as usize, y as usize)].to_array();
        image::Rgba([red, green, blue, 255])
    })
}
