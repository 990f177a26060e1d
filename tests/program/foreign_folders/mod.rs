//! Damaged and malicious folders of runs, sweeps and presets, given to the real program.

// The paths of a user's folders are those of Linux.
#![cfg(target_os = "linux")]

mod check;
mod list;

use valleyscope_runs::{Event, MetricId, MetricValues, RunFolder, RunSession, Started};

use super::doctor::Sandbox;

impl Sandbox {
    /// Returns a run that was trained for some steps by a worker in this process.
    fn record(&self, stem: &str, config: &str, started: Started, events: Vec<Event>) -> RunFolder {
        let run = RunFolder::create(&self.runs(), stem, config).unwrap();
        let mut session = RunSession::begin(&run).unwrap();
        session.record(0, Event::Started(started)).unwrap();
        for step in 1..=5 {
            let train = MetricValues::from([
                (MetricId::LOSS, 2.0 / step as f64),
                (MetricId::LEARNING_RATE, 0.001),
                (MetricId::GRAD_NORM, 1.0),
            ]);
            session.record(step, Event::Train(train)).unwrap();
        }
        for event in events {
            session.record(5, event).unwrap();
        }
        run
    }
}
