//! The thread of a player: its sessions and its pace.

use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError};
use std::time::{Duration, Instant};

use valleyscope_engine::simulation::{PlotRequest, SimulationSpec};

use super::message::{Message, Playback, PlaybackPace, PlayerCommand, Snapshot};
use super::stage::Stage;

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
    /// The first and the last step of the loop that is played.
    looped: Option<[u64; 2]>,
    pace: Pace,
    rate: Rate,
    plot: PlotRequest,
    /// Whether something has changed since the last snapshot.
    dirty: bool,
    /// The last snapshot has not been taken.
    is_sent: bool,
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
            rate: Rate::default(),
            plot: PlotRequest::default(),
            dirty: true,
            is_sent: false,
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
                // Longer than a slice, so that the others approach a simulation that plays at full speed.
                self.stage.catch_up(4 * SLICE);
                self.dirty = true;
            }
            self.publish();
        }
    }

    /// Handles all pending messages, and waits for one if there is no other work. An error means that the handle was
    /// dropped.
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

    /// The time to wait for a message; `None` while there is work.
    fn patience(&self) -> Option<Duration> {
        const IDLE: Duration = Duration::from_secs(3600);
        let until_snapshot = if self.dirty && !self.is_sent {
            SNAPSHOT_INTERVAL.saturating_sub(self.last_snapshot.elapsed())
        } else {
            IDLE
        };
        let until_step = if self.stage.is_behind() { Duration::ZERO } else { self.pace.until_due().unwrap_or(IDLE) };
        Some(until_snapshot.min(until_step)).filter(|patience| !patience.is_zero())
    }

    fn handle(&mut self, message: Message) {
        match message {
            Message::SnapshotTaken => self.is_sent = false,
            Message::Command(command) => {
                self.dirty = true;
                self.handle_command(command);
            }
        }
    }

    fn handle_command(&mut self, command: PlayerCommand) {
        self.settings += u64::from(command.sets_settings());
        if !matches!(command, PlayerCommand::Seek(_) | PlayerCommand::Back(_)) {
            self.finish_seek();
        }
        match command {
            PlayerCommand::Seek(step) => self.seek_later(step),
            PlayerCommand::Back(steps) => {
                let from = self.sought.unwrap_or_else(|| self.stage.step());
                self.seek_later(from.saturating_sub(steps));
            }
            PlayerCommand::Load(records) if records.is_empty() => {}
            PlayerCommand::Load(records) => {
                self.stage.load(records);
                self.looped = None;
                self.begin();
            }
            PlayerCommand::Restart => {
                self.stage.restart();
                self.begin();
            }
            PlayerCommand::Set(index, setting) => {
                if let Err(error) = self.stage.set(index, &setting) {
                    log::warn!("a setting was not applied: {error}");
                }
            }
            PlayerCommand::Without(index, removed) => self.stage.add_without(index, removed),
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
                self.rate = Rate::default();
            }
            PlayerCommand::Speed(speed) => self.pace.speed = speed,
            PlayerCommand::Recorded(clouds) => self.stage.set_recorded(clouds),
            PlayerCommand::Select(selected) => self.stage.select(selected),
            PlayerCommand::TrailLength(length) => self.stage.set_trail_length(length),
            PlayerCommand::Plot(request) => self.plot = request,
            PlayerCommand::History(answer) => {
                // The receiver may have been dropped meanwhile.
                let _ = answer.send(self.stage.histories());
            }
        }
    }

    /// Begins a new run, whose first step is shown.
    fn begin(&mut self) {
        self.run += 1;
        self.track += 1;
        self.pace.ahead = 0;
        self.rate = Rate::default();
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
        self.rate = Rate::default();
    }

    /// Takes up to `due` steps, as many as fit in a slice of time.
    fn advance(&mut self, due: u64) {
        let begin = Instant::now();
        // Single steps are taken beyond the end too.
        let stops = self.pace.ahead == 0;
        let mut taken = 0;
        while taken < due && !(stops && self.is_finished()) && (taken == 0 || begin.elapsed() < SLICE) {
            if let Some([first, _]) = self.looped.filter(|_| stops && self.is_at_loop_end()) {
                self.stage.seek(first);
                self.track += 1;
            }
            self.stage.take_step();
            taken += 1;
        }
        self.pace.took(taken);
        self.rate.taken += taken;
        if stops && self.is_finished() {
            self.pace.pause();
        }
        self.dirty = true;
    }

    fn is_at_loop_end(&self) -> bool {
        self.looped.is_some_and(|[_, last]| self.stage.step() >= last)
    }

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
        if !self.dirty || self.is_sent || now - self.last_snapshot < SNAPSHOT_INTERVAL {
            return;
        }
        let steps_per_sec = self.rate.measure(now, self.pace.is_moving());
        let snapshot = Snapshot {
            run: self.run,
            track: self.track,
            playback: self.playback(),
            looped: self.looped,
            settings: self.settings,
            steps_per_sec,
            particle_steps_per_sec: steps_per_sec * self.stage.particles() as f64,
            ..self.stage.snapshot(&self.plot)
        };
        // The channel has room, as the last snapshot was taken. A dropped handle ends the thread soon.
        let _ = self.outbox.try_send(snapshot);
        self.is_sent = true;
        // A step, also one of a playing simulation, makes the next one due.
        self.dirty = false;
        self.last_snapshot = now;
        (self.wake)();
    }
}

/// The interval over which the displayed rate is measured, at first a shorter one.
const RATE_INTERVAL: Duration = Duration::from_millis(500);
const FIRST_RATE_INTERVAL: Duration = Duration::from_millis(100);

/// Determines how many steps are due at a time.
pub(super) struct Pace {
    playing: bool,
    /// Whether steps are held back although it plays.
    is_held: bool,
    speed: PlaybackPace,
    /// The number of steps to take at full speed before a pause.
    ahead: u64,
    /// The number of steps due, with a fractional part.
    due: f64,
    last: Instant,
}

impl Pace {
    /// The longest delay whose missed steps are caught up.
    const CATCH_UP: Duration = Duration::from_millis(100);

    /// Creates a paused pace of the usual speed.
    pub(super) fn new(now: Instant) -> Pace {
        Pace { playing: false, is_held: false, speed: PlaybackPace::default(), ahead: 0, due: 0.0, last: now }
    }

    /// Returns the steps a second, within the limits of a pace.
    fn rate(&self) -> f64 {
        self.speed.steps_per_sec.clamp(PlaybackPace::SLOWEST, PlaybackPace::FASTEST)
    }

    pub(super) fn play(&mut self) {
        if !self.playing {
            self.playing = true;
            self.last = Instant::now();
            self.due = 0.0;
        }
        self.ahead = 0;
    }

    pub(super) fn pause(&mut self) {
        self.playing = false;
        self.ahead = 0;
    }

    /// Holds the steps of a playing simulation, or releases them; the time in between does not count.
    pub(super) fn hold(&mut self, is_held: bool) {
        self.is_held = is_held;
        self.last = Instant::now();
        self.due = 0.0;
    }

    pub(super) fn advance(&mut self, steps: u64) {
        self.playing = false;
        self.ahead = self.ahead.saturating_add(steps);
    }

    pub(super) fn is_moving(&self) -> bool {
        self.playing || self.ahead > 0
    }

    pub(super) fn steps_due(&mut self, now: Instant) -> u64 {
        let elapsed = now - self.last;
        self.last = now;
        if self.ahead > 0 {
            return self.ahead;
        }
        if !self.playing || self.is_held {
            return 0;
        }
        if self.speed.unlimited {
            return u64::MAX;
        }
        // At a slow rate the wait for a single step may be longer than the catch-up time.
        let most = (self.rate() * Self::CATCH_UP.as_secs_f64()).max(1.0);
        self.due = (self.due + self.rate() * elapsed.as_secs_f64()).min(most);
        self.due as u64
    }

    pub(super) fn took(&mut self, steps: u64) {
        if self.ahead > 0 {
            self.ahead = self.ahead.saturating_sub(steps);
        } else {
            self.due = (self.due - steps as f64).max(0.0);
        }
    }

    /// The time until a step is due; `None` while none will be.
    pub(super) fn until_due(&self) -> Option<Duration> {
        if self.ahead == 0 && (!self.playing || self.is_held) {
            return None;
        }
        if self.ahead > 0 || self.speed.unlimited {
            return Some(Duration::ZERO);
        }
        let wait_secs = ((1.0 - self.due) / self.rate()).max(0.0);
        Some(Duration::from_secs_f64(wait_secs).saturating_sub(self.last.elapsed()))
    }
}

/// Measures steps per second.
#[derive(Default)]
struct Rate {
    /// The begin of the measurement, while the simulation moves: the pause before does not count.
    since: Option<Instant>,
    /// The number of steps taken since then.
    taken: u64,
    steps_per_sec: f64,
}

impl Rate {
    fn measure(&mut self, now: Instant, is_moving: bool) -> f64 {
        let Some(since) = self.since.filter(|_| is_moving) else {
            *self = Rate { since: is_moving.then_some(now), ..Rate::default() };
            return 0.0;
        };
        let (elapsed, taken) = (now - since, self.taken);
        let interval = if self.steps_per_sec == 0.0 { FIRST_RATE_INTERVAL } else { RATE_INTERVAL };
        // At a slow pace the time without a step is not informative: the rate is measured from one step to another.
        if taken > 0 && elapsed >= interval {
            *self = Rate { since: Some(now), taken: 0, steps_per_sec: taken as f64 / elapsed.as_secs_f64() };
        }
        self.steps_per_sec
    }
}
