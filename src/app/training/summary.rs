//! The summary of a run for lists.

use valleyscope_engine::optimizer::ShownSetting;
use valleyscope_runs::{Better, Concern, Forked, MetricInfo, Notes, Ranks, RunFolder, Status, Timestamp};

use crate::run_table::RunFacts;

/// The summary of a run.
#[derive(Clone, Debug)]
pub struct Summary {
    pub run: RunFolder,
    /// The user's title, or else the preset's.
    pub title: String,
    pub notes: Notes,
    pub status: Status,
    /// The run's problems, the gravest first, escaped for display.
    pub concerns: Vec<Concern>,
    pub optimizer: String,
    /// The hyperparameters that differ from the rule's defaults, formatted.
    pub non_default_hyperparameters: Vec<String>,
    /// Whether the preset gives a name to the run.
    pub is_named: bool,
    /// The settings to be named where they differ from other runs'.
    pub shown: Vec<ShownSetting>,
    /// The settings that do not affect learning, to be named where runs differ in nothing else.
    pub bookkeeping: Vec<ShownSetting>,
    /// The name that distinguishes runs of its workload, if its config can be read.
    pub family: Option<&'static str>,
    /// The settings that distinguish it from the other runs; empty where they are not known.
    pub settings: String,
    /// The red, green and blue of its optimizer.
    pub color: [u8; 3],
    pub learning_rate: Option<f64>,
    pub batch_size: Option<u64>,
    pub seed: Option<u64>,
    pub step: u64,
    pub steps: Option<u64>,
    pub steps_per_s: Option<f64>,
    pub seconds_left: Option<f64>,
    /// The processes that train it, if there are several.
    pub ranks: Option<Ranks>,
    pub loss: Option<f64>,
    /// The newest evaluation.
    pub evaluated: Vec<(MetricInfo, f64)>,
    pub began: Option<Timestamp>,
    pub is_scan: bool,
    /// True if its model generates text.
    pub writes_text: bool,
    /// The description of its data, if they are a synthetic replacement of real ones.
    pub synthetic: Option<String>,
    /// The origin of a fork.
    pub forked: Option<Forked>,
    /// A key that is equal for runs that differ in the seed only.
    pub config: Option<String>,
    /// The reason why it cannot be read, if it cannot.
    pub trouble: Option<String>,
    /// Its values in the table of runs.
    pub facts: RunFacts,
}

impl Summary {
    pub fn is_open(&self) -> bool {
        self.status.is_open()
    }

    /// Returns the loss by which evaluated runs are compared.
    pub fn evaluated_loss(&self) -> Option<f64> {
        self.evaluated.iter().find(|(info, _)| info.better == Better::Lower).map(|(_, loss)| *loss)
    }

    /// Returns the texts besides its facts in which words are searched.
    pub fn texts(&self) -> Vec<&str> {
        vec![&self.title, &self.settings]
    }

    /// Returns all its fields, for comparison.
    fn parts(&self) -> impl PartialEq {
        let Summary {
            run,
            title,
            notes,
            status,
            concerns,
            optimizer,
            non_default_hyperparameters,
            is_named,
            shown,
            bookkeeping,
            family,
            settings,
            color,
            learning_rate,
            batch_size,
            seed,
            step,
            steps,
            steps_per_s,
            seconds_left,
            ranks,
            loss,
            evaluated,
            began,
            is_scan,
            writes_text,
            synthetic,
            forked,
            config,
            trouble,
            facts,
        } = self;
        let numbers = [learning_rate, steps_per_s, seconds_left, loss].map(|number| number.map(f64::to_bits));
        let evaluated: Vec<_> = evaluated.iter().map(|(info, value)| (info, value.to_bits())).collect();
        let words = (
            run,
            title,
            notes,
            status,
            concerns,
            optimizer,
            (non_default_hyperparameters, is_named, shown, bookkeeping),
            forked,
            config,
            trouble,
            synthetic,
        );
        (
            (words, family, settings, ranks, facts),
            (color, batch_size, seed, step, steps, began, is_scan, writes_text),
            numbers,
            evaluated,
        )
    }
}

/// Compares numbers by their bits, so that a summary with a NaN loss equals itself.
impl PartialEq for Summary {
    fn eq(&self, other: &Summary) -> bool {
        self.parts() == other.parts()
    }
}
