//! Work in the background: exports with their progress on the screen, and waking the window.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::Duration;

use egui::{Align, Align2, Area, Button, ColorImage, Context, Id, Label, Layout, Order, ProgressBar, vec2};
use valleyscope_experiments::view::ticks::grouped;

use crate::app::landscape::live::{Action, Requests};

/// The width of the progress of an export, in points.
const PROGRESS_WIDTH: f32 = 340.0;
/// The time between two looks at the progress.
const INTERVAL: Duration = Duration::from_millis(100);

/// The progress of an export, which its thread reports and the window can stop.
#[derive(Debug)]
pub struct Progress {
    frames: u64,
    done: AtomicU64,
    is_cancelled: AtomicBool,
    warning: OnceLock<String>,
}

impl Progress {
    /// Makes the progress of an export of so many frames.
    pub fn new(frames: u64) -> Progress {
        Progress { frames, done: AtomicU64::new(0), is_cancelled: AtomicBool::new(false), warning: OnceLock::new() }
    }

    /// Returns the number of frames to draw.
    pub fn frames(&self) -> u64 {
        self.frames
    }

    /// Returns the number of frames drawn so far.
    pub fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }

    pub fn add_frame(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }

    /// Sets the warning about what was exported, if there is one.
    pub fn warn(&self, warning: Option<String>) {
        if let Some(warning) = warning {
            // The first one stays.
            let _ = self.warning.set(warning);
        }
    }

    pub fn warning(&self) -> Option<&str> {
        self.warning.get().map(String::as_str)
    }

    pub fn cancel(&self) {
        self.is_cancelled.store(true, Ordering::Relaxed);
    }

    pub fn is_cancelled(&self) -> bool {
        self.is_cancelled.load(Ordering::Relaxed)
    }
}

/// The outcome of a finished export.
#[derive(Debug)]
pub enum Exported {
    /// A file or a folder of so many frames was written.
    Animation { path: PathBuf, frames: u64 },
    /// A picture that is to be saved.
    Picture { image: Arc<ColorImage>, suggested_name: String },
}

/// The work of an export. It returns `None` once it is cancelled, and an error with the reason why it failed.
pub type Work = Box<dyn FnOnce(&Progress) -> Result<Option<Exported>, String> + Send>;

/// The exports in progress. They end, and leave nothing behind, when this is dropped.
#[derive(Default)]
pub struct Exports {
    running: Vec<Running>,
    started: u64,
}

struct Running {
    number: u64,
    name: String,
    progress: Arc<Progress>,
    outcome: Receiver<Result<Option<Exported>, String>>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.progress.cancel();
        if let Some(thread) = self.thread.take() {
            // A failed thread has sent no outcome, which was reported.
            let _ = thread.join();
        }
    }
}

impl Exports {
    /// Starts an export of so many frames in the background. `name` is shown with its progress.
    pub fn start(&mut self, ctx: &Context, name: String, frames: u64, work: Work) {
        let progress = Arc::new(Progress::new(frames));
        let (answer, outcome) = channel();
        let (of_thread, ctx) = (Arc::clone(&progress), ctx.clone());
        let thread = std::thread::spawn(move || {
            // The window may be closed.
            let _ = answer.send(work(&of_thread));
            ctx.request_repaint();
        });
        self.started += 1;
        self.running.push(Running { number: self.started, name, progress, outcome, thread: Some(thread) });
    }

    /// Returns the names of the exports that would be lost if the window closed.
    pub fn unfinished(&self) -> impl Iterator<Item = &str> {
        self.running.iter().filter(|export| !export.progress.is_cancelled()).map(|export| export.name.as_str())
    }

    /// Shows the progress of the exports; returns the messages about finished ones.
    pub fn ui(&mut self, ctx: &Context) -> Vec<Action> {
        let mut actions = Vec::new();
        self.running.retain(|export| match export.outcome.try_recv() {
            Ok(outcome) => {
                actions.extend(export.report(outcome));
                false
            }
            Err(TryRecvError::Empty) => true,
            Err(TryRecvError::Disconnected) => {
                actions.extend(export.report(Err("the thread that draws it failed".to_owned())));
                false
            }
        });
        if self.running.is_empty() {
            return actions;
        }
        ctx.request_repaint_after(INTERVAL);
        Area::new(Id::unique("exports"))
            .order(Order::Foreground)
            .anchor(Align2::RIGHT_BOTTOM, vec2(-14.0, -84.0))
            .show(ctx, |ui| {
                egui::Frame::popup(ui.style()).show(ui, |ui| {
                    ui.set_width(PROGRESS_WIDTH.min(ctx.content_rect().width() - 40.0));
                    for export in &self.running {
                        ui.push_id(export.number, |ui| export.ui(ui));
                    }
                });
            });
        actions
    }
}

impl Running {
    fn ui(&self, ui: &mut egui::Ui) {
        let (done, frames) = (self.progress.done(), self.progress.frames);
        let state = match done {
            _ if self.progress.is_cancelled() => "stopping".to_owned(),
            done if done < frames => format!("frame {} of {}", grouped(done + 1), grouped(frames)),
            _ => "writing the last frames".to_owned(),
        };
        ui.horizontal(|ui| {
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                let cancel = ui.add_enabled(!self.progress.is_cancelled(), Button::new("Cancel"));
                if cancel.accessible_name(format!("Cancel the export of {}", self.name)).clicked() {
                    self.progress.cancel();
                }
                ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
                    ui.add(Label::new(format!("Exporting {}: {state}", self.name)).truncate());
                });
            });
        });
        let part = done as f32 / frames.max(1) as f32;
        ui.add(ProgressBar::new(part).desired_height(4.0)).accessible_name("Progress of the export");
    }

    /// Returns the message about an outcome; `None` for one that was cancelled.
    fn report(&self, outcome: Result<Option<Exported>, String>) -> Option<Action> {
        Some(match outcome {
            Ok(Some(Exported::Animation { path, frames })) => {
                let saved = format!("Saved {} frames to {}", grouped(frames), path.display());
                Action::Notify(self.progress.warning().map_or(saved.clone(), |warning| format!("{saved}; {warning}")))
            }
            Ok(Some(Exported::Picture { image, suggested_name })) => Action::SaveImage { image, suggested_name },
            Ok(None) => return None,
            Err(reason) => Action::Report { title: format!("{} was not saved", self.name), text: format!("{reason}.") },
        })
    }
}

/// The exports in progress, each of which ends in a request: to save the file, or to report a failure.
#[derive(Default)]
pub(crate) struct PendingExports(Vec<Receiver<Action>>);

impl PendingExports {
    /// Starts a thread that makes an export.
    pub(crate) fn begin(&mut self, ctx: &Context, make: impl FnOnce() -> Action + Send + 'static) {
        let (sender, receiver) = channel();
        let ctx = ctx.clone();
        std::thread::spawn(move || {
            // The window may be closed.
            let _ = sender.send(make());
            ctx.request_repaint();
        });
        self.0.push(receiver);
    }

    /// Passes on the requests of finished exports.
    pub(crate) fn poll(&mut self, requests: &mut Requests) {
        self.0.retain(|export| match export.try_recv() {
            Ok(action) => {
                requests.actions.push(action);
                false
            }
            Err(error) => error == TryRecvError::Empty,
        });
    }
}

/// Redraws the window when a tab changes: soon while the tab is shown, and else just often enough that pending updates
/// do not accumulate.
#[derive(Clone)]
pub(crate) struct Wake {
    context: Context,
    is_shown: Arc<AtomicBool>,
    seen: Duration,
    unseen: Duration,
}

impl Wake {
    /// Makes the waker of a hidden tab. A change is drawn after a delay: `seen` while the tab is shown, so that
    /// simultaneous changes are drawn together, and `unseen` while it is not.
    pub(crate) fn new(context: Context, seen: Duration, unseen: Duration) -> Wake {
        Wake { context, is_shown: Arc::default(), seen, unseen }
    }

    /// Sets whether the tab is shown.
    pub(crate) fn show(&self, is_shown: bool) {
        if self.is_shown.swap(is_shown, Ordering::Relaxed) != is_shown {
            self.now();
        }
    }

    /// Wakes for changes that are visible only in the tab.
    pub(crate) fn soon(&self) {
        self.context.request_repaint_after(if self.is_shown.load(Ordering::Relaxed) { self.seen } else { self.unseen });
    }

    /// Wakes for changes that are visible everywhere.
    pub(crate) fn now(&self) {
        self.context.request_repaint();
    }
}
