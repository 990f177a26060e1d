//! A session of the player: a timeline with the data that are kept for drawing it.

use std::sync::Arc;

use valleyscope_engine::simulation::{
    Change, Ensemble, ParticleId, PlotRequest, Record, Setting, SettingError, Simulation, Timeline,
};

use super::snapshot::EnsembleView;
use super::trail::{MeanPath, Trail, trail_columns};

/// A timeline with its trails, its mean paths and its record.
#[derive(Clone)]
pub(super) struct Session {
    timeline: Timeline,
    drawings: Vec<Drawing>,
    trail_length: usize,
    /// The record of the session, and whether it has changed since it was made.
    record: Arc<Record>,
    is_record_old: bool,
}

/// The data of an ensemble that are kept only for drawing.
#[derive(Clone)]
struct Drawing {
    trail: Trail,
    mean_path: MeanPath,
}

impl Session {
    pub(super) fn new(timeline: Timeline, trail_length: usize) -> Session {
        let record = Arc::new(timeline.record());
        let mut session = Session { timeline, drawings: Vec::new(), trail_length, record, is_record_old: false };
        let capacity = session.trail_capacity();
        let drawing = |ensemble| {
            let mut mean_path = MeanPath::new();
            mean_path.extend_to(0, Ensemble::mean_position(ensemble));
            Drawing { trail: Trail::new(ensemble, capacity), mean_path }
        };
        session.drawings = session.simulation().ensembles().iter().map(drawing).collect();
        session
    }

    /// Returns this session without some of its changes, at a step before the first of them. Its trails hold one
    /// position.
    pub(super) fn without(&self, removed: &[Change]) -> Session {
        let timeline = self.timeline.without(removed);
        let simulation = timeline.simulation();
        let drawing = |(drawing, ensemble): (&Drawing, &Ensemble)| {
            let mut mean_path = drawing.mean_path.clone();
            mean_path.cut_after(simulation.step());
            Drawing { trail: Trail::new(ensemble, 1), mean_path }
        };
        let drawings = self.drawings.iter().zip(simulation.ensembles()).map(drawing).collect();
        let record = Arc::clone(&self.record);
        Session { timeline, drawings, trail_length: 0, record, is_record_old: true }
    }

    /// Takes over the changes of a record that repeats this session up to the last step reached; returns false for
    /// another record.
    pub(super) fn follow(&mut self, record: &Record) -> bool {
        self.is_record_old = true;
        self.timeline.follow(record)
    }

    pub(super) fn simulation(&self) -> &Simulation {
        self.timeline.simulation()
    }

    pub(super) fn step(&self) -> u64 {
        self.simulation().step()
    }

    pub(super) fn last_step(&self) -> u64 {
        self.timeline.last_step()
    }

    pub(super) fn take_step(&mut self) {
        // Changes of a replayed session become part of the record as they are made.
        self.is_record_old |= self.simulation().is_replaying();
        self.timeline.advance();
        let simulation = self.timeline.simulation();
        for (drawing, ensemble) in self.drawings.iter_mut().zip(simulation.ensembles()) {
            drawing.trail.push(ensemble);
            drawing.mean_path.extend_to(simulation.step(), ensemble.mean_position());
        }
    }

    /// Shows a step that was reached, or the last one if `step` is later, with its trails.
    pub(super) fn seek(&mut self, step: u64) {
        let step = step.min(self.last_step());
        if step == self.step() {
            return;
        }
        let capacity = self.trail_capacity();
        self.timeline.seek(step.saturating_sub(capacity.saturating_sub(1) as u64));
        for (drawing, ensemble) in self.drawings.iter_mut().zip(self.timeline.simulation().ensembles()) {
            drawing.trail = Trail::new(ensemble, capacity);
        }
        while self.step() < step {
            self.take_step();
        }
    }

    /// Changes a setting before the next step. At a step of the past, the later steps are removed first.
    pub(super) fn apply(&mut self, setting: &Setting) -> Result<(), SettingError> {
        self.timeline.apply(setting)?;
        let last_step = self.last_step();
        self.drawings.iter_mut().for_each(|drawing| drawing.mean_path.cut_after(last_step));
        self.is_record_old = true;
        Ok(())
    }

    pub(super) fn select(&mut self, selected: Option<ParticleId>) {
        self.timeline.select(selected);
    }

    pub(super) fn set_trail_length(&mut self, length: usize) {
        self.trail_length = length;
        let capacity = self.trail_capacity();
        self.drawings.iter_mut().for_each(|drawing| drawing.trail.set_capacity(capacity));
    }

    /// Takes the steps of the trails again, for a session whose trails were shorter.
    pub(super) fn retake_trails(&mut self) {
        let step = self.step();
        self.seek(step.saturating_sub(1));
        self.seek(step);
    }

    /// Returns the session's start and its changes up to the last step.
    pub(super) fn record(&mut self) -> Arc<Record> {
        if std::mem::take(&mut self.is_record_old) {
            self.record = Arc::new(self.timeline.record());
        }
        Arc::clone(&self.record)
    }

    /// Returns the session's start and all its changes, also those of a replayed session that are yet to be repeated.
    pub(super) fn whole_record(&self) -> Record {
        self.timeline.whole_record()
    }

    pub(super) fn particles(&self) -> usize {
        self.simulation().ensembles().iter().map(Ensemble::particles).sum()
    }

    /// Returns the ensembles' data for drawing, with the positions since the last call.
    pub(super) fn views(&mut self, plot: &PlotRequest) -> Vec<EnsembleView> {
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
            plot: history.view(plot),
        });
        views.collect()
    }

    fn trail_capacity(&self) -> usize {
        trail_columns(self.trail_length, self.particles())
    }
}

fn bounds(ensemble: &Ensemble) -> Option<[f64; 4]> {
    let finite = ensemble.positions().filter(|[x, y]| x.is_finite() && y.is_finite());
    finite.fold(None, |bounds: Option<[f64; 4]>, [x, y]| {
        let [min_x, min_y, max_x, max_y] = bounds.unwrap_or([x, y, x, y]);
        Some([min_x.min(x), min_y.min(y), max_x.max(x), max_y.max(y)])
    })
}
