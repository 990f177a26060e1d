//! The thread of a player: its sessions and its pace.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError};
use std::time::{Duration, Instant};

use valleyscope_engine::simulation::{PlotRequest, Record, SimulationSpec};

use super::pace::{Pace, Rate};
use super::snapshot::{Playback, Snapshot};
use super::stage::Stage;
use super::{Message, PlayerCommand};

/// The time for which the thread steps before it checks commands and the clock again.
const SLICE: Duration = Duration::from_millis(2);
/// The shortest time between two snapshots of a playing simulation.
const SNAPSHOT_INTERVAL: Duration = Duration::from_millis(8);

/// The state that the thread owns.
pub(super) struct Worker {
    inbox: Receiver<Message>,
    outbox: SyncSender<Snapshot>,
    wake: Box<dyn Fn() + Send>,
    stage: Stage,
    run: u64,
    /// The number of restarts and seeks.
    track: u64,
    /// The number of commands so far that set or replaced settings.
    settings: u64,
    /// The step to seek, after all other seeks among the waiting messages.
    sought: Option<u64>,
    /// The first and the last of the steps that are played over and over.
    looped: Option<[u64; 2]>,
    pace: Pace,
    rate: Rate,
    plot: PlotRequest,
    /// Something has changed since the last snapshot.
    dirty: bool,
    /// The last snapshot has not been taken yet.
    under_way: bool,
    last_snapshot: Instant,
}

impl Worker {
    pub(super) fn new(
        spec: SimulationSpec,
        inbox: Receiver<Message>,
        outbox: SyncSender<Snapshot>,
        wake: Box<dyn Fn() + Send>,
    ) -> Self {
        let now = Instant::now();
        Worker {
            inbox,
            outbox,
            wake,
            stage: Stage::new(spec),
            run: 0,
            track: 0,
            settings: 0,
            sought: None,
            looped: None,
            pace: Pace::new(now),
            rate: Rate::new(now),
            plot: PlotRequest::default(),
            dirty: true,
            under_way: false,
            last_snapshot: now,
        }
    }

    pub(super) fn run(mut self) {
        while self.take_messages().is_ok() {
            self.finish_seek();
            let due = self.pace.steps_due(Instant::now());
            if due > 0 {
                self.advance(due);
            }
            if self.stage.is_behind() {
                // Longer than a slice, so that it gets nearer to a simulation that plays at full speed.
                self.stage.catch_up(4 * SLICE);
                self.dirty = true;
            }
            self.publish();
        }
    }

    /// Handles all pending messages, and waits for one when there is nothing else to do. An error means that the handle
    /// was dropped.
    fn take_messages(&mut self) -> Result<(), TryRecvError> {
        if let Some(patience) = self.patience() {
            match self.inbox.recv_timeout(patience) {
                Ok(message) => self.handle(message),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(TryRecvError::Disconnected),
            }
        }
        loop {
            match self.inbox.try_recv() {
                Ok(message) => self.handle(message),
                Err(TryRecvError::Empty) => return Ok(()),
                Err(gone) => return Err(gone),
            }
        }
    }

    /// How long to wait for a message; `None` when there is work to do now.
    fn patience(&self) -> Option<Duration> {
        const IDLE: Duration = Duration::from_secs(3600);
        let until_snapshot = if self.dirty && !self.under_way {
            SNAPSHOT_INTERVAL.saturating_sub(self.last_snapshot.elapsed())
        } else {
            IDLE
        };
        let until_step = if self.stage.is_behind() { Duration::ZERO } else { self.pace.until_due().unwrap_or(IDLE) };
        Some(until_snapshot.min(until_step)).filter(|patience| !patience.is_zero())
    }

    fn handle(&mut self, message: Message) {
        match message {
            Message::SnapshotTaken => self.under_way = false,
            Message::Command(command) => {
                self.dirty = true;
                self.handle_command(command);
            }
        }
    }

    fn handle_command(&mut self, command: PlayerCommand) {
        self.settings += u64::from(command.sets_settings());
        let command = match command {
            PlayerCommand::Seek(step) => return self.seek_later(step),
            PlayerCommand::Back(steps) => {
                let from = self.sought.unwrap_or_else(|| self.stage.step());
                return self.seek_later(from.saturating_sub(steps));
            }
            command => command,
        };
        self.finish_seek();
        match command {
            PlayerCommand::Seek(_) | PlayerCommand::Back(_) => {}
            PlayerCommand::Load(records) if !records.is_empty() => {
                self.stage.load(records);
                self.looped = None;
                self.begin();
            }
            PlayerCommand::Load(_) => {}
            PlayerCommand::Restart => {
                self.stage.restart();
                self.begin();
            }
            PlayerCommand::Set(place, setting) => {
                if let Err(error) = self.stage.set(place, &setting) {
                    log::warn!("a setting was not applied: {error}");
                }
            }
            PlayerCommand::Without(place, removed) => self.stage.add_without(place, removed),
            PlayerCommand::Remove(id) => self.stage.remove(id),
            PlayerCommand::GoBackTo(id) => {
                self.stage.go_back_to(id);
                self.track += 1;
            }
            PlayerCommand::Loop(steps) => self.looped = steps.filter(|[first, last]| first < last),
            PlayerCommand::Play => self.pace.play(),
            PlayerCommand::Pause => self.pace.pause(),
            PlayerCommand::Advance(steps) => self.pace.advance(steps),
            PlayerCommand::Hold(is_held) => {
                self.pace.hold(is_held);
                self.rate = Rate::new(Instant::now());
            }
            PlayerCommand::Speed(speed) => self.pace.set_speed(speed),
            PlayerCommand::Select(selected) => self.stage.select(selected),
            PlayerCommand::TrailLength(length) => self.stage.set_trail_length(length),
            PlayerCommand::Plot(request) => self.plot = request,
            PlayerCommand::Record(answer) => {
                // The receiver may have been dropped meanwhile.
                let _ = answer.send(Record::clone(&self.stage.first_mut().record()));
            }
            PlayerCommand::History(answer) => {
                let _ = answer.send(self.stage.histories());
            }
        }
    }

    /// Counts another run, whose first step is shown.
    fn begin(&mut self) {
        self.run += 1;
        self.track += 1;
        self.pace.drop_ahead();
        self.rate = Rate::new(Instant::now());
    }

    /// Pauses, and seeks this step once all waiting messages are read, unless one of them seeks another.
    fn seek_later(&mut self, step: u64) {
        self.pace.pause();
        self.sought = Some(step);
    }

    /// Shows the step that was sought, with its trails.
    fn finish_seek(&mut self) {
        let Some(step) = self.sought.take() else { return };
        if step.min(self.stage.first().last_step()) == self.stage.step() {
            return;
        }
        self.stage.seek(step);
        self.track += 1;
        self.rate = Rate::new(Instant::now());
    }

    /// Takes up to `due` steps, as many as fit in a slice of time.
    fn advance(&mut self, due: u64) {
        let begin = Instant::now();
        // Single steps are taken beyond the end too.
        let stops = !self.pace.is_ahead();
        let mut taken = 0;
        while taken < due && !(stops && self.is_finished()) && (taken == 0 || begin.elapsed() < SLICE) {
            if let Some([first, _]) = self.looped.filter(|_| stops && self.is_at_loop_end()) {
                let last = self.stage.step();
                self.stage.seek(first);
                self.track += 1;
                self.rate.skip(last, self.stage.step());
            }
            self.stage.take_step();
            taken += 1;
        }
        self.pace.took(taken);
        if stops && self.is_finished() {
            self.pace.pause();
        }
        self.dirty = true;
    }

    fn is_at_loop_end(&self) -> bool {
        self.looped.is_some_and(|[_, last]| self.stage.step() >= last)
    }

    /// Returns whether a playing simulation pauses at its step.
    fn is_finished(&self) -> bool {
        self.stage.simulation().is_finished() && !self.is_at_loop_end()
    }

    fn playback(&self) -> Playback {
        if self.pace.is_moving() {
            Playback::Playing
        } else if self.is_finished() {
            Playback::Finished
        } else {
            Playback::Paused
        }
    }

    /// Sends a snapshot, if something has changed, the last one was taken, and it is old enough.
    fn publish(&mut self) {
        let now = Instant::now();
        if !self.dirty || self.under_way || now - self.last_snapshot < SNAPSHOT_INTERVAL {
            return;
        }
        let (step, playback) = (self.stage.step(), self.playback());
        let steps_per_sec = self.rate.measure(now, step, self.pace.is_moving());
        let particles = self.stage.particles();
        let first = self.stage.first_mut();
        let snapshot = Snapshot {
            run: self.run,
            track: self.track,
            step,
            last_step: first.last_step(),
            playback,
            looped: self.looped,
            spec: Arc::new(first.simulation().spec().clone()),
            settings: self.settings,
            record: first.record(),
            steps_per_sec,
            particle_steps_per_sec: steps_per_sec * particles as f64,
            step_trace: first.simulation().step_trace(),
            ensembles: first.views(&self.plot),
            others: self.stage.others(&self.plot),
        };
        // There is room: the last snapshot was taken. A dropped handle ends the thread soon.
        let _ = self.outbox.try_send(snapshot);
        self.under_way = true;
        // A step, also one of a playing simulation, makes the next one due.
        self.dirty = false;
        self.last_snapshot = now;
        (self.wake)();
    }
}
