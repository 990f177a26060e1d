//! The queue of trainings in the window: the thread that works on it, and the list of its entries.

use std::path::{Path, PathBuf};
use std::sync::Weak;
use std::time::{Duration, Instant, SystemTime};

use egui::{Label, RichText, ScrollArea, Sense, Ui, WidgetInfo};
use valleyscope_engine::terminal_escape::visible;
use valleyscope_experiments::preset::Preset;
use valleyscope_experiments::run::trained_together;
use valleyscope_experiments::view::ticks::grouped;
use valleyscope_runs::{Claim, EntryEnd, Queue, QueueEntry, QueueError, QueueRunner, RunFolder, Status, span};

use super::jobs::{check_capacity, worker_for};
use super::summary::ListedRuns;
use super::watcher::{Outbox, Update};
use super::worker::TrainingPaths;
use crate::app::widgets::form::{small_button, visible_scroll_bar};

/// The queue as it was last read.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct QueueState {
    entries: Vec<Waiting>,
    is_paused: bool,
}

/// An entry of the queue.
#[derive(Clone, Debug, PartialEq)]
struct Waiting {
    name: String,
    /// The title of its preset, and the name of its training.
    title: String,
    label: String,
    /// The number of steps of its training, if its config can be read.
    steps: Option<u64>,
    /// Whether a program trains it, here or on another machine.
    is_claimed: bool,
}

/// A change of the queue by the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum QueueChange {
    SetPaused(bool),
    Remove(String),
    /// Moves an entry before another one, or to the end.
    Move(String, Option<String>),
}

impl QueueChange {
    pub(super) fn apply(&self, queue: &Queue) -> Result<(), QueueError> {
        match self {
            QueueChange::SetPaused(is_paused) => queue.set_paused(*is_paused),
            QueueChange::Remove(name) => queue.remove(name),
            QueueChange::Move(name, next) => queue.move_before(name, next.as_deref()),
        }
    }
}

/// The usual height of the list, in points.
pub(super) const HEIGHT: f32 = 150.0;
/// The number of first entries among which those under way are looked for.
const MOST_UNDER_WAY: usize = 64;
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// The interval after which the entries are read again even if their folder shows no change.
const REREAD_INTERVAL: Duration = Duration::from_secs(5);

/// The thread's work on the queue of a folder of runs.
pub(super) struct QueueWork {
    queue: Queue,
    worker: Option<PathBuf>,
    /// A token that lives as long as the window.
    window: Weak<()>,
    outbox: Outbox,
    state: QueueState,
    /// The state after an error, until whose change this window begins no training.
    held: Option<QueueState>,
    /// The time of the last reading, and of the folder's last change before it.
    read: Option<(Instant, Option<SystemTime>)>,
}

impl QueueWork {
    pub(super) fn new(paths: &TrainingPaths, window: Weak<()>, outbox: Outbox) -> Option<QueueWork> {
        let (queue, worker) = (Queue::of(paths.runs.as_deref()?), paths.worker.clone());
        Some(QueueWork { queue, worker, window, outbox, state: QueueState::default(), held: None, read: None })
    }

    /// Trains the entries of the queue, and sends its changes, until the window is closed.
    pub(super) fn run(&mut self) {
        self.poll();
        self.announce();
        while self.window.upgrade().is_some() {
            self.poll();
            if self.held.as_ref() != Some(&self.state)
                && let Err(error) = self.train_all()
            {
                (self.read, self.held) = (None, None);
                self.poll();
                self.held = Some(self.state.clone());
                let rest =
                    "This window trains no further entry of the queue until that is changed, or paused and continued.";
                self.outbox.send(Update::Failed(format!("{error}\n{rest}")));
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    /// Says with what an earlier queue goes on.
    fn announce(&self) {
        let QueueState { entries, is_paused } = &self.state;
        let Some(first) = entries.first() else { return };
        let more = match entries.len() - 1 {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let verb = if *is_paused { "is paused before" } else { "goes on with" };
        self.outbox.send(Update::notice(format!("The queue {verb} {}{more}.", first.title)));
    }

    /// Sends the entries if they have changed.
    fn poll(&mut self) {
        let changed = self.queue.changed();
        if self.read.is_some_and(|(at, seen)| seen == changed && at.elapsed() < REREAD_INTERVAL) {
            return;
        }
        self.read = Some((Instant::now(), changed));
        // A folder that is temporarily unreadable keeps its last state.
        let Ok(entries) = self.queue.entries() else { return };
        let entries =
            entries.into_iter().map(|entry| match self.state.entries.iter().find(|it| it.name == entry.name) {
                Some(known) => Waiting { is_claimed: entry.is_claimed, ..known.clone() },
                None => Waiting::of(entry),
            });
        let state = QueueState { entries: entries.collect(), is_paused: self.queue.is_paused() };
        if state != self.state {
            self.state.clone_from(&state);
            self.outbox.send(Update::Queue(state));
        }
    }

    fn train_all(&mut self) -> Result<(), String> {
        if self.state.entries.iter().all(|entry| entry.is_claimed) {
            return Ok(());
        }
        let Some(runner) = self.queue.runner().map_err(|error| error.to_string())? else { return Ok(()) };
        while self.window.upgrade().is_some() {
            let failed = |error: QueueError| error.to_string();
            let mut claims = self.queue.claim_together(|_| true, trained_together).map_err(failed)?;
            if claims.len() > 1 {
                let (worker, _) = worker_for(self.worker.as_deref(), &self.outbox)?;
                Claim::start_together(&mut claims, &worker).map_err(failed)?;
            } else if claims.is_empty() {
                break;
            }
            claims.into_iter().try_for_each(|claim| self.train(claim, &runner))?;
        }
        Ok(())
    }

    fn train(&mut self, mut claim: Claim, _: &QueueRunner) -> Result<(), String> {
        let (worker, has) = worker_for(self.worker.as_deref(), &self.outbox)?;
        if claim.entry.starts == 0
            && let Ok(training) = Preset::parse(&claim.entry.config, RunFolder::CONFIG)
        {
            check_capacity(&training, &has, self.queue.runs())?;
        }
        let run = claim.run_folder().map_err(|error| error.to_string())?;
        if claim.entry.starts == 0 {
            self.outbox.send(Update::Made(run, None));
        }
        self.read = None;
        let end = claim.train(&worker, |_| {
            self.poll();
            self.window.upgrade().is_some()
        });
        self.read = None;
        let name = &claim.entry.name;
        match end.map_err(|error| error.to_string())? {
            EntryEnd::Left | EntryEnd::Ended(Status::Finished) => {}
            EntryEnd::Ended(Status::Stopped) => {
                self.outbox.send(Update::notice(format!("{name} was stopped, and is no longer in the queue.")));
            }
            EntryEnd::Ended(status) => self.outbox.send(Update::Failed(format!("{name}: {status}"))),
        }
        Ok(())
    }
}

impl Waiting {
    fn of(entry: QueueEntry) -> Waiting {
        let preset = Preset::parse(&entry.config, RunFolder::CONFIG).ok();
        let training = preset.as_ref().and_then(Preset::training);
        Waiting {
            title: visible(preset.as_ref().map_or(entry.name.as_str(), Preset::title)).into_owned(),
            label: training.map(|training| visible(&training.summary()).into_owned()).unwrap_or_default(),
            steps: training.map(|training| training.course.steps),
            is_claimed: entry.is_claimed,
            name: entry.name,
        }
    }
}

impl QueueState {
    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Shows the entries in their order, which dragging changes; returns the change that the user makes.
    pub(super) fn ui(&self, ui: &mut Ui, listed: &ListedRuns, runs: &Path) -> Option<QueueChange> {
        let mut change = None;
        ui.horizontal(|ui| {
            ui.strong(format!("Queue ({})", grouped(self.entries.len() as u64)));
            let [text, name, help] = match self.is_paused {
                false => ["Pause", "Pause the queue", "Begin no further training; those under way go on"],
                true => ["Go on", "Go on with the queue", "The queue is paused"],
            };
            if small_button(ui, true, text, name, help) {
                change = Some(QueueChange::SetPaused(!self.is_paused));
            }
        });
        visible_scroll_bar(ui);
        let (height, count) = (ui.spacing().interact_size.y, self.entries.len());
        ScrollArea::vertical().auto_shrink(false).id_salt("queue").show_rows(ui, height, count, |ui, rows| {
            for index in rows {
                let entry = &self.entries[index];
                let state = match listed.find(&runs.join(&entry.name)).filter(|run| run.facts.number("step").is_some())
                {
                    Some(run) => run.status_line.clone(),
                    None => entry.waiting_text(self.seconds_per_step(entry, listed, runs)),
                };
                change = self.row(ui, index, &state).or(change.take());
            }
        });
        change
    }

    fn row(&self, ui: &mut Ui, index: usize, state: &str) -> Option<QueueChange> {
        let Waiting { name, title, label, is_claimed, .. } = &self.entries[index];
        let title = if label.is_empty() { title.clone() } else { format!("{label} · {title}") };
        let mut change = None;
        let row = ui.horizontal(|ui| {
            let help = format!("{name}\nDrag it to another place in the queue.");
            let text = Label::new(format!("{}. {title}", index + 1)).selectable(false).truncate().sense(Sense::drag());
            let removed = !is_claimed
                && small_button(ui, true, "×", &format!("Remove {name} from the queue"), "Remove it from the queue");
            change = removed.then(|| QueueChange::Remove(name.clone()));
            let label = ui.add(text).on_hover_text(help);
            label.dnd_set_drag_payload(name.clone());
            label.widget_info(|| WidgetInfo::labeled(egui::Role::Label, true, format!("{title}, {state}")));
            ui.add(Label::new(RichText::new(state).small().weak()).truncate());
        });
        // Dropped on a later row, an entry comes after that.
        let is_earlier = |dragged: &str| self.entries[..index].iter().any(|entry| entry.name == dragged);
        if let Some(dragged) = row.response.dnd_hover_payload::<String>().filter(|dragged| **dragged != *name) {
            let rect = row.response.rect;
            let y = if is_earlier(&dragged) { rect.bottom() } else { rect.top() };
            ui.painter().hline(rect.x_range(), y, ui.visuals().widgets.active.fg_stroke);
        }
        let dropped = row.response.dnd_release_payload::<String>().filter(|dragged| **dragged != *name);
        change.or_else(|| {
            let dragged = dropped?;
            let next = self.entries.get(if is_earlier(&dragged) { index + 1 } else { index });
            Some(QueueChange::Move((*dragged).clone(), next.map(|next| next.name.clone())))
        })
    }

    /// Measures the time of a step by the runs of an entry's preset that are under way.
    fn seconds_per_step(&self, of: &Waiting, listed: &ListedRuns, runs: &Path) -> Option<f64> {
        // The first entries are under way.
        let alike = self.entries.iter().take(MOST_UNDER_WAY).filter(|entry| entry.title == of.title);
        let under_way = alike.filter_map(|entry| listed.find(&runs.join(&entry.name)));
        under_way.filter_map(|run| run.facts.number("rate")).map(f64::recip).next()
    }
}

impl Waiting {
    /// Describes an entry that has not begun, with the time that its steps take at this pace.
    fn waiting_text(&self, seconds_per_step: Option<f64>) -> String {
        let seconds = self.steps.zip(seconds_per_step).map(|(steps, pace)| steps as f64 * pace);
        seconds.map_or_else(|| "waits".to_owned(), |seconds| format!("waits, takes about {}", span(seconds as u64)))
    }
}
