//! Work in the background: jobs with a result, exports with their progress on the screen, and waking the window.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::Duration;

use egui::{Align, Align2, Area, Button, Context, Id, Label, Layout, Order, ProgressBar, vec2};
use valleyscope_experiments::view::ticks::grouped;

use super::actions::Action;
use super::files::file_name;
use crate::app::landscape::animation_export::AnimationJob;
use crate::export::animation::EncodeError;

/// The width of the progress of an export, in points.
const PROGRESS_WIDTH: f32 = 340.0;
/// The time between two updates of the visible progress.
const INTERVAL: Duration = Duration::from_millis(100);

/// Work on a separate thread, which wakes the window at its end. Dropping a job cancels it.
pub(crate) struct Job<T> {
    result: Receiver<T>,
    progress: Arc<Progress>,
    thread: Option<JoinHandle<()>>,
}

/// The error of a job whose thread ended without a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the thread that does it failed")]
pub(crate) struct JobFailed;

impl<T: Send + 'static> Job<T> {
    pub(crate) fn start(ctx: &Context, work: impl FnOnce(&Progress) -> T + Send + 'static) -> Job<T> {
        Job::with_parts(ctx, 0, work)
    }

    /// Starts work with a number of parts, by which its progress is measured.
    pub(crate) fn with_parts(ctx: &Context, parts: u64, work: impl FnOnce(&Progress) -> T + Send + 'static) -> Job<T> {
        let (sender, result) = channel();
        let progress = Arc::new(Progress::new(parts));
        let (of_thread, ctx) = (Arc::clone(&progress), ctx.clone());
        let thread = std::thread::spawn(move || {
            // A dropped job has no receiver.
            let _ = sender.send(work(&of_thread));
            ctx.request_repaint();
        });
        Job { result, progress, thread: Some(thread) }
    }
}

impl<T> Job<T> {
    /// Takes the result once the work has ended; `None` before and after.
    pub(crate) fn poll(&self) -> Option<Result<T, JobFailed>> {
        match self.result.try_recv() {
            Ok(result) => Some(Ok(result)),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => Some(Err(JobFailed)),
        }
    }

    /// Takes the result of a job that has ended, and clears its slot.
    pub(crate) fn take(slot: &mut Option<Job<T>>) -> Option<Result<T, JobFailed>> {
        let result = slot.as_ref()?.poll()?;
        *slot = None;
        Some(result)
    }

    /// Removes the jobs that have ended, and returns their results.
    pub(crate) fn take_ended(jobs: &mut Vec<Job<T>>) -> Vec<Result<T, JobFailed>> {
        let mut results = Vec::new();
        jobs.retain(|job| job.poll().map(|result| results.push(result)).is_none());
        results
    }

    pub(crate) fn progress(&self) -> &Progress {
        &self.progress
    }

    /// Cancels the work and waits until its thread has ended.
    pub(crate) fn end(&mut self) {
        self.progress.cancel();
        if let Some(thread) = self.thread.take() {
            // A failed thread has sent no result, which `poll` reports.
            let _ = thread.join();
        }
    }
}

impl<T> Drop for Job<T> {
    fn drop(&mut self) {
        self.progress.cancel();
    }
}

/// The progress of a job, which its thread reports, and by which the window can stop it.
#[derive(Debug)]
pub struct Progress {
    parts: u64,
    done: AtomicU64,
    is_cancelled: AtomicBool,
    warning: OnceLock<String>,
}

impl Progress {
    pub fn new(parts: u64) -> Progress {
        Progress { parts, done: AtomicU64::new(0), is_cancelled: AtomicBool::new(false), warning: OnceLock::new() }
    }

    pub fn parts(&self) -> u64 {
        self.parts
    }

    pub fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }

    /// The completed fraction, from 0 to 1.
    pub fn share(&self) -> f32 {
        self.done() as f32 / self.parts.max(1) as f32
    }

    pub fn set_done(&self, parts: u64) {
        self.done.store(parts, Ordering::Relaxed);
    }

    pub fn add_part(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }

    /// Sets the warning about the result, if there is one.
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

/// The animations that are drawn and written. Dropping this stops them and removes their files.
#[derive(Default)]
pub struct Exports {
    running: Vec<Export>,
}

struct Export {
    /// The name of the file, which is shown with the progress.
    name: String,
    job: Job<Result<Option<PathBuf>, EncodeError>>,
}

impl Drop for Export {
    fn drop(&mut self) {
        self.job.end();
    }
}

impl Exports {
    /// Starts to draw an animation and to write it to a path. A file that is there is replaced.
    pub(crate) fn start(&mut self, ctx: &Context, path: &Path, animation: AnimationJob) {
        let (frames, target) = (animation.steps.frames(), path.to_owned());
        let job = Job::with_parts(ctx, frames, move |progress| animation.run(target, progress));
        self.running.push(Export { name: file_name(path), job });
    }

    /// Lists the names of the exports that would be lost if the window closed.
    pub fn unfinished(&self) -> impl Iterator<Item = &str> {
        let running = self.running.iter().filter(|export| !export.job.progress().is_cancelled());
        running.map(|export| export.name.as_str())
    }

    /// Shows the progress of the exports; returns the messages about finished ones.
    pub fn ui(&mut self, ctx: &Context) -> Vec<Action> {
        let mut messages = Vec::new();
        self.running.retain(|Export { name, job }| {
            let ended = job.poll();
            let is_running = ended.is_none();
            messages.extend(ended.and_then(|ended| report(name, ended, job.progress())));
            is_running
        });
        if self.running.is_empty() {
            return messages;
        }
        ctx.request_repaint_after(INTERVAL);
        Area::new(Id::unique("exports"))
            .order(Order::Foreground)
            .anchor(Align2::RIGHT_BOTTOM, vec2(-14.0, -84.0))
            .show(ctx, |ui| {
                egui::Frame::popup(ui.style()).show(ui, |ui| {
                    ui.set_width(PROGRESS_WIDTH.min(ctx.content_rect().width() - 40.0));
                    for (index, Export { name, job }) in self.running.iter().enumerate() {
                        ui.push_id(index, |ui| show_progress(ui, name, job.progress()));
                    }
                });
            });
        messages
    }
}

fn show_progress(ui: &mut egui::Ui, name: &str, progress: &Progress) {
    let (done, frames) = (progress.done(), progress.parts());
    let state = match done {
        _ if progress.is_cancelled() => "stopping".to_owned(),
        done if done < frames => format!("frame {} of {}", grouped(done + 1), grouped(frames)),
        _ => "writing the last frames".to_owned(),
    };
    ui.horizontal(|ui| {
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            let cancel = ui.add_enabled(!progress.is_cancelled(), Button::new("Cancel"));
            if cancel.accessible_name(format!("Cancel the export of {name}")).clicked() {
                progress.cancel();
            }
            ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
                ui.add(Label::new(format!("Exporting {name}: {state}")).truncate());
            });
        });
    });
    ui.add(ProgressBar::new(progress.share()).desired_height(4.0)).accessible_name("Progress of the export");
}

/// Describes the outcome of an export in a message; `None` for a cancelled export.
fn report(
    name: &str,
    ended: Result<Result<Option<PathBuf>, EncodeError>, JobFailed>,
    progress: &Progress,
) -> Option<Action> {
    let failed = |reason| Action::Report { title: format!("{name} was not saved"), text: format!("{reason}.") };
    match ended {
        Ok(Ok(path)) => path.map(|path| {
            let warning = progress.warning().map(|warning| format!("; {warning}")).unwrap_or_default();
            Action::Notify(format!("Saved {} frames to {}{warning}", grouped(progress.parts()), path.display()))
        }),
        Ok(Err(error)) => Some(failed(error.to_string())),
        Err(error) => Some(failed(error.to_string())),
    }
}

/// Redraws the window when a tab changes: soon while the tab is shown, and otherwise just often enough that pending
/// updates do not accumulate.
#[derive(Clone, Default)]
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
