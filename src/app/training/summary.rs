//! The summary of a run for lists.

use valleyscope_engine::optimizer::ShownSetting;
use valleyscope_runs::{Better, Concern, Forked, MetricInfo, Notes, Ranks, RunFolder, Status, Timestamp};

/// A run in the list.
#[derive(Clone, Debug)]
pub struct Summary {
    pub run: RunFolder,
    /// The user's, or else the preset's.
    pub title: String,
    pub notes: Notes,
    pub status: Status,
    /// Its problems, the gravest first, for display as they are.
    pub concerns: Vec<Concern>,
    pub optimizer: String,
    /// Hyperparameters that are not the rule's usual ones, in words.
    pub unusual: Vec<String>,
    /// The settings to be named where they differ from other runs'; none where the run has a name of its own.
    pub shown: Vec<ShownSetting>,
    /// The name that distinguishes runs of its workload, if its config can be read.
    pub family: Option<&'static str>,
    /// The settings that distinguish it from the other runs; empty where they are not known.
    pub settings: String,
    /// Red, green and blue of its optimizer.
    pub color: [u8; 3],
    pub learning_rate: Option<f64>,
    pub batch_size: Option<u64>,
    pub seed: Option<u64>,
    pub step: u64,
    pub steps: Option<u64>,
    pub steps_per_s: Option<f64>,
    pub seconds_left: Option<f64>,
    /// The processes that train it, where they are several.
    pub ranks: Option<Ranks>,
    pub loss: Option<f64>,
    /// The newest evaluation.
    pub evaluated: Vec<(MetricInfo, f64)>,
    pub began: Option<Timestamp>,
    pub is_scan: bool,
    /// Whether its model is one of text.
    pub writes_text: bool,
    /// The description of its data, where these are synthetic in place of real ones.
    pub synthetic: Option<String>,
    /// The origin of a fork.
    pub forked: Option<Forked>,
    /// Equal for runs that differ in the seed only.
    pub config: Option<String>,
    /// Why it cannot be read, if it cannot.
    pub trouble: Option<String>,
}

impl Summary {
    pub fn is_open(&self) -> bool {
        self.status.is_open()
    }

    /// The loss by which runs are compared, where they are evaluated.
    pub fn evaluated_loss(&self) -> Option<f64> {
        self.evaluated.iter().find(|(info, _)| info.better == Better::Lower).map(|(_, loss)| *loss)
    }

    /// All its fields, for comparison.
    fn parts(&self) -> impl PartialEq {
        let Summary { run, title, notes, status, concerns, optimizer, unusual, shown, family, .. } = self;
        let Summary { settings, color, .. } = self;
        let Summary { learning_rate, batch_size, seed, .. } = self;
        let Summary { step, steps, steps_per_s, seconds_left, ranks, loss, evaluated, .. } = self;
        let Summary { began, is_scan, writes_text, synthetic, forked, config, trouble, .. } = self;
        let numbers = [learning_rate, steps_per_s, seconds_left, loss].map(|number| number.map(f64::to_bits));
        let evaluated: Vec<_> = evaluated.iter().map(|(info, value)| (info, value.to_bits())).collect();
        let words =
            (run, title, notes, status, concerns, optimizer, (unusual, shown), forked, config, trouble, synthetic);
        (
            (words, family, settings, ranks),
            (color, batch_size, seed, step, steps, began, is_scan, writes_text),
            numbers,
            evaluated,
        )
    }
}

/// Numbers are equal where their bits are: a loss that is no number does not make a run differ from itself.
impl PartialEq for Summary {
    fn eq(&self, other: &Summary) -> bool {
        self.parts() == other.parts()
    }
}
