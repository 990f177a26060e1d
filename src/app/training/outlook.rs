//! The data of the training under the controls, and its requirements on the machine and the disk.
//!
//! A separate thread determines them when the settings change and every few seconds, and once more before a run's
//! folder is made. Data are looked up by the code that obtains them, without reading them.

use valleyscope_experiments::dataset::DataChoice;
use valleyscope_experiments::preset::Preset;
use valleyscope_experiments::run::CapacityReport;
use valleyscope_experiments::workload::Outlook;

use super::editor::TrainingFault;

/// The interval between checks of the same data, in seconds.
const CHECK_INTERVAL_SECS: f64 = 5.0;

/// The data and the requirements of a training.
#[derive(Clone, Debug)]
pub(super) struct OutlookAnswer {
    /// The data, or why they cannot be used.
    pub data: Result<Outlook, String>,
    /// The requirements of the training, if they and the worker are known.
    pub capacity: Option<CapacityReport>,
}

impl OutlookAnswer {
    /// Returns why the training could not begin, if it could not.
    pub(super) fn refusal(&self) -> Option<&String> {
        self.data.as_ref().err().or_else(|| self.capacity.as_ref()?.lacks.as_ref())
    }
}

/// Requests the outlook repeatedly, and keeps the newest answer.
#[derive(Default)]
pub(super) struct OutlookWatch {
    asked: Option<(Preset, f64)>,
    is_waiting: bool,
    answer: Option<(Preset, OutlookAnswer)>,
}

impl OutlookWatch {
    /// Returns the training to ask about now, if any, at a time in seconds.
    pub(super) fn question(&mut self, training: Option<&Preset>, time: f64) -> Option<Preset> {
        let training = training?;
        let is_known = |(asked, at): &(Preset, f64)| asked == training && time < at + CHECK_INTERVAL_SECS;
        if self.is_waiting || self.asked.as_ref().is_some_and(is_known) {
            return None;
        }
        self.is_waiting = true;
        self.asked = Some((training.clone(), time));
        Some(training.clone())
    }

    pub(super) fn set(&mut self, training: Preset, found: OutlookAnswer) {
        self.is_waiting = false;
        self.answer = Some((training, found));
    }

    /// Returns the answer for a training. An answer for the same choice of data holds until a new one arrives.
    pub(super) fn of(&self, training: Option<&Preset>) -> Option<&OutlookAnswer> {
        let (of, found) = self.answer.as_ref()?;
        let choice =
            |preset: &Preset| -> (&'static str, Option<DataChoice>) { (preset.kind(), preset.data().cloned()) };
        (choice(of) == choice(training?)).then_some(found)
    }

    /// Asks again at once, as the worker has changed.
    pub(super) fn check_again(&mut self) {
        self.asked = None;
    }

    /// Returns why the training could not begin, if it could not.
    pub(super) fn fault(&self, training: Option<&Preset>) -> Option<TrainingFault> {
        let found = self.of(training)?;
        // Its requirements follow from several fields.
        let path = if found.data.is_err() { "data" } else { "" };
        Some(TrainingFault { path: path.to_owned(), message: found.refusal()?.clone() })
    }
}
