//! The thread of a player: its simulation, its pace, and the data that are kept for drawing.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError};
use std::time::{Duration, Instant};

use valleyscope_engine::simulation::{Ensemble, ParticleId, PlotRequest, Record, Simulation, SimulationSpec, Timeline};

use super::pace::{Pace, Rate};
use super::snapshot::{EnsembleView, Playback, Snapshot};
use super::trail::{MeanPath, Trail, trail_columns};
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
    timeline: Timeline,
    drawings: Vec<Drawing>,
    run: u64,
    /// The number of restarts and seeks.
    track: u64,
    /// The number of commands so far that set or replaced settings.
    settings: u64,
    /// The record of the session, and whether it has changed since it was made.
    record: Arc<Record>,
    is_record_old: bool,
    /// The step to seek, after all other seeks among the waiting messages.
    sought: Option<u64>,
    pace: Pace,
    rate: Rate,
    selected: Option<ParticleId>,
    trail_length: usize,
    plot: PlotRequest,
    /// Something has changed since the last snapshot.
    dirty: bool,
    /// The last snapshot has not been taken yet.
    under_way: bool,
    last_snapshot: Instant,
}

/// The data of an ensemble that are kept only for drawing.
struct Drawing {
    trail: Trail,
    mean_path: MeanPath,
}

impl Drawing {
    fn new(ensemble: &Ensemble, trail_length: usize) -> Self {
        let mut mean_path = MeanPath::new();
        mean_path.extend_to(0, ensemble.mean_position());
        Drawing { trail: Trail::new(ensemble, trail_length), mean_path }
    }
}

impl Worker {
    pub(super) fn new(
        spec: SimulationSpec,
        inbox: Receiver<Message>,
        outbox: SyncSender<Snapshot>,
        wake: Box<dyn Fn() + Send>,
    ) -> Self {
        let now = Instant::now();
        let timeline = Timeline::new(spec);
        let mut worker = Worker {
            inbox,
            outbox,
            wake,
            record: Arc::new(timeline.record()),
            is_record_old: false,
            timeline,
            drawings: Vec::new(),
            run: 0,
            track: 0,
            settings: 0,
            sought: None,
            pace: Pace::new(now),
            rate: Rate::new(now),
            selected: None,
            trail_length: 0,
            plot: PlotRequest::default(),
            dirty: true,
            under_way: false,
            last_snapshot: now,
        };
        worker.begin_drawings();
        worker
    }

    pub(super) fn run(mut self) {
        while self.take_messages().is_ok() {
            self.finish_seek();
            let due = self.pace.steps_due(Instant::now());
            if due > 0 {
                self.advance(due);
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
        let until_step = self.pace.until_due().unwrap_or(IDLE);
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
                let from = self.sought.unwrap_or_else(|| self.simulation().step());
                return self.seek_later(from.saturating_sub(steps));
            }
            command => command,
        };
        self.finish_seek();
        match command {
            PlayerCommand::Seek(_) | PlayerCommand::Back(_) => {}
            PlayerCommand::Load(spec) => self.begin(Timeline::new(*spec)),
            PlayerCommand::Replay(record) => self.begin(Timeline::replay(*record)),
            PlayerCommand::Restart => self.begin(Timeline::new(self.simulation().spec().clone())),
            PlayerCommand::Set(setting) => {
                if let Err(error) = self.timeline.apply(&setting) {
                    log::warn!("a setting was not applied: {error}");
                }
                let last_step = self.timeline.last_step();
                self.drawings.iter_mut().for_each(|drawing| drawing.mean_path.cut_after(last_step));
                self.is_record_old = true;
            }
            PlayerCommand::Play => self.pace.play(),
            PlayerCommand::Pause => self.pace.pause(),
            PlayerCommand::Advance(steps) => self.pace.advance(steps),
            PlayerCommand::Hold(is_held) => {
                self.pace.hold(is_held);
                self.rate = Rate::new(Instant::now());
            }
            PlayerCommand::Speed(speed) => self.pace.set_speed(speed),
            PlayerCommand::Select(selected) => {
                self.selected = selected;
                self.timeline.select(selected);
            }
            PlayerCommand::TrailLength(length) => {
                self.trail_length = length;
                let capacity = self.trail_capacity();
                for drawing in &mut self.drawings {
                    drawing.trail.set_capacity(capacity);
                }
            }
            PlayerCommand::Plot(request) => self.plot = request,
            PlayerCommand::Record(answer) => {
                // The receiver may have been dropped meanwhile.
                let _ = answer.send(self.timeline.record());
            }
            PlayerCommand::History(answer) => {
                let ensembles = self.simulation().ensembles().iter().zip(self.simulation().histories());
                let histories = ensembles.map(|(ensemble, history)| (ensemble.optimizer(), history.finest()));
                let _ = answer.send(histories.collect());
            }
        }
    }

    fn simulation(&self) -> &Simulation {
        self.timeline.simulation()
    }

    fn begin(&mut self, timeline: Timeline) {
        self.timeline = timeline;
        self.timeline.select(self.selected);
        self.run += 1;
        self.track += 1;
        self.is_record_old = true;
        self.pace.drop_ahead();
        self.rate = Rate::new(Instant::now());
        self.begin_drawings();
    }

    fn begin_drawings(&mut self) {
        let capacity = self.trail_capacity();
        self.drawings = self.simulation().ensembles().iter().map(|ensemble| Drawing::new(ensemble, capacity)).collect();
    }

    /// Pauses, and seeks this step once all waiting messages are read, unless one of them seeks another.
    fn seek_later(&mut self, step: u64) {
        self.pace.pause();
        self.sought = Some(step);
    }

    /// Shows the step that was sought, with its trails.
    fn finish_seek(&mut self) {
        let Some(step) = self.sought.take() else { return };
        let step = step.min(self.timeline.last_step());
        if step == self.simulation().step() {
            return;
        }
        let capacity = self.trail_capacity();
        self.timeline.seek(step.saturating_sub(capacity.saturating_sub(1) as u64));
        for (drawing, ensemble) in self.drawings.iter_mut().zip(self.timeline.simulation().ensembles()) {
            drawing.trail = Trail::new(ensemble, capacity);
        }
        while self.simulation().step() < step {
            self.take_step();
        }
        self.track += 1;
        self.rate = Rate::new(Instant::now());
    }

    fn take_step(&mut self) {
        self.timeline.advance();
        let simulation = self.timeline.simulation();
        for (drawing, ensemble) in self.drawings.iter_mut().zip(simulation.ensembles()) {
            drawing.trail.push(ensemble);
            drawing.mean_path.extend_to(simulation.step(), ensemble.mean_position());
        }
    }

    /// Takes up to `due` steps, as many as fit in a slice of time.
    fn advance(&mut self, due: u64) {
        let begin = Instant::now();
        // Single steps are taken beyond the end too.
        let stops = !self.pace.is_ahead();
        let mut taken = 0;
        // Changes of a replayed session become part of the record as they are made.
        self.is_record_old |= self.simulation().is_replaying();
        while taken < due && !(stops && self.simulation().is_finished()) && (taken == 0 || begin.elapsed() < SLICE) {
            self.take_step();
            taken += 1;
        }
        self.pace.took(taken);
        if stops && self.simulation().is_finished() {
            self.pace.pause();
        }
        self.dirty = true;
    }

    fn playback(&self) -> Playback {
        if self.pace.is_moving() {
            Playback::Playing
        } else if self.simulation().is_finished() {
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
        if std::mem::take(&mut self.is_record_old) {
            self.record = Arc::new(self.timeline.record());
        }
        let simulation = self.timeline.simulation();
        let steps_per_sec = self.rate.measure(now, simulation.step(), self.pace.is_moving());
        let particles: usize = simulation.ensembles().iter().map(Ensemble::particles).sum();
        let snapshot = Snapshot {
            run: self.run,
            track: self.track,
            step: simulation.step(),
            last_step: self.timeline.last_step(),
            playback: self.playback(),
            spec: Arc::new(simulation.spec().clone()),
            settings: self.settings,
            record: Arc::clone(&self.record),
            steps_per_sec,
            particle_steps_per_sec: steps_per_sec * particles as f64,
            step_trace: simulation.step_trace(),
            ensembles: self.views(),
        };
        // There is room: the last snapshot was taken. A dropped handle ends the thread soon.
        let _ = self.outbox.try_send(snapshot);
        self.under_way = true;
        // A step, also one of a playing simulation, makes the next one due.
        self.dirty = false;
        self.last_snapshot = now;
        (self.wake)();
    }

    fn views(&mut self) -> Vec<EnsembleView> {
        let simulation = self.timeline.simulation();
        let ensembles = simulation.ensembles().iter().zip(simulation.present_samples()).zip(simulation.histories());
        let views = ensembles.zip(&mut self.drawings).map(|(((ensemble, sample), history), drawing)| EnsembleView {
            optimizer: ensemble.optimizer(),
            rule: *ensemble.rule(),
            particles: ensemble.particles(),
            columns: Arc::new(drawing.trail.take()),
            mean_path: Arc::new(drawing.mean_path.path_to(simulation.step(), ensemble.mean_position())),
            bounds: bounds(ensemble),
            sample,
            plot: history.view(&self.plot),
        });
        views.collect()
    }

    fn trail_capacity(&self) -> usize {
        trail_columns(self.trail_length, self.simulation().ensembles().iter().map(Ensemble::particles).sum())
    }
}

fn bounds(ensemble: &Ensemble) -> Option<[f64; 4]> {
    let finite = ensemble.positions().filter(|[x, y]| x.is_finite() && y.is_finite());
    finite.fold(None, |bounds: Option<[f64; 4]>, [x, y]| {
        let [min_x, min_y, max_x, max_y] = bounds.unwrap_or([x, y, x, y]);
        Some([min_x.min(x), min_y.min(y), max_x.max(x), max_y.max(y)])
    })
}
