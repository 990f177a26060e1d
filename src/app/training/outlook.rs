//! What the training under the controls would learn from, as the disk has it.

use super::draft::Fault;
use crate::preset::Preset;
use crate::workload::{DataChoice, Outlook};

/// Seconds between two looks at the same data.
const BETWEEN: f64 = 5.0;

/// What was found, or why the training could not begin.
pub type Found = Result<Outlook, String>;

/// Asks for it again and again, and keeps the newest answer.
#[derive(Default)]
pub struct OutlookWatch {
    asked: Option<(Preset, f64)>,
    is_waiting: bool,
    answer: Option<(Preset, Found)>,
}

impl OutlookWatch {
    /// What is to be looked at now, if anything, at a time in seconds.
    pub fn question(&mut self, training: Option<&Preset>, time: f64) -> Option<Preset> {
        let training = training?;
        let is_known = |(asked, at): &(Preset, f64)| asked == training && time < at + BETWEEN;
        if self.is_waiting || self.asked.as_ref().is_some_and(is_known) {
            return None;
        }
        self.is_waiting = true;
        self.asked = Some((training.clone(), time));
        Some(training.clone())
    }

    pub fn hear(&mut self, training: Preset, found: Found) {
        self.is_waiting = false;
        self.answer = Some((training, found));
    }

    /// What is known of a training. What was found for the same choice of data holds until there is news.
    pub fn of(&self, training: Option<&Preset>) -> Option<&Found> {
        let (of, found) = self.answer.as_ref()?;
        let choice =
            |preset: &Preset| -> (&'static str, Option<DataChoice>) { (preset.kind(), preset.data().cloned()) };
        (choice(of) == choice(training?)).then_some(found)
    }

    /// Why its data cannot be used, if they cannot.
    pub fn fault(&self, training: Option<&Preset>) -> Option<Fault> {
        let message = self.of(training)?.as_ref().err()?.clone();
        Some(Fault { path: "data".to_owned(), message })
    }
}
