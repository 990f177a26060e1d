//! The summary of a run for lists, and how the watching thread reads it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use valleyscope_engine::optimizer::{RuleKind, RuleSpec, ShownSetting};
use valleyscope_engine::terminal_escape::{visible, visible_lines};
use valleyscope_experiments::preset::Preset;
use valleyscope_runs::{
    Concern, Forked, MetricInfo, Notes, Ranks, RunFolder, RunHistory, RunReader, Status, Timestamp,
};

use super::names::{CurveFacts, traits};
use crate::runs::{Columns, MetricAliases, RunFacts, RunSettings, RunSource, status_line};

/// The summary of a run: its [facts](RunFacts), and what lists name, colour and offer of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    pub run: RunFolder,
    /// The user's title, or else the preset's.
    pub title: String,
    pub notes: Notes,
    pub status: Status,
    /// The status, the kinds of problems and the progress.
    pub status_line: String,
    /// The run's problems, the gravest first, escaped for display.
    pub concerns: Vec<Concern>,
    /// The facts by which it and its curve are named.
    pub(super) naming: CurveFacts,
    /// The settings that distinguish it from the other runs; empty if they are not known.
    pub settings: String,
    /// The red, green and blue of its optimizer.
    pub color: [u8; 3],
    /// The number of steps at the end of the run.
    pub steps: Option<u64>,
    /// The processes that train it, if there are several.
    pub ranks: Option<Ranks>,
    pub evaluated: Vec<MetricInfo>,
    /// True if its model generates text.
    pub writes_text: bool,
    pub forked: Option<Forked>,
    /// The reason why it cannot be read, if it cannot.
    pub read_error: Option<String>,
    /// Its values in the table of runs.
    pub facts: RunFacts,
}

impl Summary {
    pub fn is_open(&self) -> bool {
        self.status.is_open()
    }

    pub fn step(&self) -> u64 {
        self.facts.number("step").map_or(0, |step| step as u64)
    }

    pub fn loss(&self) -> Option<f64> {
        self.facts.last(self.facts.training_loss()?)
    }

    pub fn evaluation(&self) -> impl Iterator<Item = (&MetricInfo, f64)> {
        self.evaluated.iter().filter_map(|info| Some((info, self.facts.last(info)?)))
    }

    /// The texts besides its facts that a search includes.
    pub fn texts(&self) -> Vec<&str> {
        vec![&self.title, &self.settings]
    }

    /// The name of the run in a list: its settings and then its title, or the reverse if the user has given it a title.
    /// The second is empty if no settings are known.
    pub fn heading(&self) -> [String; 2] {
        let settings = self.settings.clone();
        if settings.is_empty() || !self.notes.title.is_empty() {
            [self.title.clone(), settings]
        } else {
            [settings, self.title.clone()]
        }
    }

    pub fn in_full(&self) -> String {
        let [first, second] = self.heading();
        if second.is_empty() { first } else { format!("{first} ({second})") }
    }
}

/// The runs and what is known about all of them together.
#[derive(Default)]
pub(super) struct ListedRuns {
    /// A number that differs for each list; 0 before the first.
    pub generation: u64,
    pub runs: Vec<Arc<Summary>>,
    /// The indices of the runs, by their folders.
    pub indices: HashMap<PathBuf, usize>,
    pub columns: Arc<Columns>,
    /// The reason why the folder cannot be read, if it cannot.
    pub read_error: Option<String>,
    /// The names under which metrics are shown.
    pub aliases: Arc<MetricAliases>,
}

impl ListedRuns {
    pub(super) fn find(&self, run: &Path) -> Option<&Summary> {
        Some(&self.runs[*self.indices.get(run)?])
    }
}

pub(super) struct Watched {
    reader: RunReader,
    notes: Notes,
    noted: Option<SystemTime>,
    /// The config, once it was read: it never changes.
    config: Option<Config>,
    /// The last summary. The text of its settings is empty, as it depends on the other runs.
    summary: Option<Summary>,
    shown_name: String,
    /// The last summary with the text of its settings, until the run changes.
    listed: Option<Arc<Summary>>,
    /// The files at that time, if the run changes only together with them.
    rest: Option<FileStamps>,
}

struct Config {
    settings: RunSettings,
    shown: Vec<ShownSetting>,
    bookkeeping: Vec<ShownSetting>,
}

impl Config {
    fn read(run: &RunFolder) -> Config {
        let settings = RunSettings::read(run);
        let listed = |list: fn(&Preset) -> Vec<ShownSetting>| settings.preset.as_ref().map_or_else(Vec::new, list);
        let (shown, bookkeeping) = (listed(Preset::shown_settings), listed(Preset::bookkeeping_settings));
        Config { shown: visible_settings(shown), bookkeeping: visible_settings(bookkeeping), settings }
    }

    /// Lists the settings in force that are named if they differ from other runs', with those that were changed while
    /// it ran.
    fn shown(&self, history: &RunHistory) -> Vec<ShownSetting> {
        let changes = history.changes_text();
        if changes.is_empty() || self.shown.is_empty() {
            return self.shown.clone();
        }
        let in_force = self.settings.in_force(history).map_or_else(Vec::new, |training| training.shown_settings());
        let changed = ShownSetting { is_usual: false, ..ShownSetting::new("changed while it ran", changes) };
        visible_settings(in_force.into_iter().chain([changed]).collect())
    }
}

fn visible_settings(settings: Vec<ShownSetting>) -> Vec<ShownSetting> {
    settings.into_iter().map(|it| ShownSetting { text: visible(&it.text).into_owned(), ..it }).collect()
}

/// The sizes and modification times of the files that change when a run is resumed, described, or copied again.
#[derive(Debug, PartialEq, Eq)]
struct FileStamps([Option<(u64, SystemTime)>; 4]);

impl FileStamps {
    fn of(run: &RunFolder) -> FileStamps {
        let stamp = |path: &Path| {
            let data = path.metadata().ok()?;
            Some((data.len(), data.modified().ok()?))
        };
        FileStamps([stamp(run.path()), stamp(&run.events()), stamp(&run.lock()), stamp(&run.notes())])
    }
}

impl Watched {
    pub(super) fn new(run: RunFolder) -> Watched {
        Watched {
            reader: RunReader::brief(run),
            notes: Notes::default(),
            noted: None,
            config: None,
            summary: None,
            shown_name: String::new(),
            listed: None,
            rest: None,
        }
    }

    pub(super) fn run(&self) -> &RunFolder {
        self.reader.run()
    }

    pub(super) fn history(&self) -> &RunHistory {
        self.reader.history()
    }

    pub(super) fn summary(&self) -> Option<&Summary> {
        self.summary.as_ref()
    }

    pub(super) fn shown_name(&self) -> String {
        if self.shown_name.is_empty() { self.run().name() } else { self.shown_name.clone() }
    }

    /// Whether its worker has ended or has been silent for long, so that occasional checks are enough.
    pub(super) fn is_at_rest(&self) -> bool {
        self.rest.is_some()
    }

    /// Checks the run; returns whether its summary has changed. For a run at rest only the sizes and times of files are
    /// read, as long as they stay the same.
    pub(super) fn poll(&mut self, now: Timestamp) -> bool {
        let stamp = FileStamps::of(self.run());
        // A summary of an open run also has the time since its worker's last heartbeat, which no file changes.
        let is_open = self.summary.as_ref().is_some_and(Summary::is_open);
        if self.rest.as_ref() == Some(&stamp) && !is_open {
            return false;
        }
        let summary = self.read(now);
        let rests = summary.read_error.is_none() && (!summary.is_open() || summary.status.is_lost());
        self.rest = rests.then_some(stamp);
        let is_new = self.summary.as_ref() != Some(&summary);
        if is_new {
            self.summary = Some(summary);
            self.listed = None;
        }
        is_new
    }

    /// Completes the summary with the text of its settings. The result is shared as long as nothing has changed.
    pub(super) fn listed(&mut self, settings: String) -> Option<Arc<Summary>> {
        if self.listed.as_ref().is_none_or(|listed| listed.settings != settings) {
            let mut summary = Summary { settings, ..self.summary.clone()? };
            let name = summary.in_full();
            summary.facts.set_name(name);
            [self.shown_name, _] = summary.heading();
            self.listed = Some(Arc::new(summary));
        }
        self.listed.clone()
    }

    fn read(&mut self, now: Timestamp) -> Summary {
        let run = self.reader.run().clone();
        let noted = run.notes().metadata().and_then(|data| data.modified()).ok();
        if noted != self.noted {
            self.noted = noted;
            self.notes = Notes::read(&run).unwrap_or_default();
        }
        let (status, read_error) = match self.reader.status(now) {
            Ok(status) => (status, None),
            Err(error) => {
                let read_error = format!("cannot read {}: {error}", run.events().display());
                (Status::Failed(read_error.clone()), Some(read_error))
            }
        };
        let config = self.config.get_or_insert_with(|| Config::read(&run));
        let history = self.reader.history();
        let started = history.started();
        let preset = config.settings.preset.as_ref();
        let title = started.map(|started| started.title.clone()).filter(|title| !title.is_empty());
        let title = title.or_else(|| Some(preset?.title().to_owned()));
        let title =
            if self.notes.title.is_empty() { title.unwrap_or_else(|| run.name()) } else { self.notes.title.clone() };
        let title = visible(&title).into_owned();
        let spec = preset.and_then(Preset::training);
        let optimizer = spec.as_ref().map(|spec| spec.label().to_owned());
        let optimizer = started.map(|started| started.optimizer.clone()).or(optimizer).unwrap_or_default();
        let rule = spec.map(|spec| spec.rule.kind()).or_else(|| RuleKind::shown_as(&optimizer));
        let concerns = Concern::of(&status, history, now);
        let data = started.filter(|started| !started.data.is_empty());
        let data = data.map(|started| ShownSetting::new("data", visible(&started.data).into_owned()));
        let facts = RunFacts::of(RunSource {
            run: &run,
            settings: &config.settings,
            history,
            status: &status,
            notes: &self.notes,
            concerns: &concerns,
            // Only plots show several metrics as one: names of fields in tables and filters do not change.
            aliases: &MetricAliases::default(),
        });
        let naming = CurveFacts {
            title: if optimizer.is_empty() { title.clone() } else { self.notes.title.clone() },
            family: preset.and_then(Preset::workload).map(|workload| workload.info().family),
            optimizer: visible(&optimizer).into_owned(),
            // Its name includes them.
            hyperparameters: spec
                .filter(|spec| spec.name.is_none())
                .map_or_else(Vec::new, |spec| non_default_hyperparameters(spec.rule)),
            is_named: spec.is_some_and(|spec| spec.name.is_some()),
            settings: config.shown(history).into_iter().chain(data).collect(),
            bookkeeping: config.bookkeeping.clone(),
            traits: traits(&facts, history),
            folder: run.name(),
            runs: 1,
        };
        Summary {
            title,
            notes: self.notes.clone(),
            naming,
            settings: String::new(),
            color: rule.map_or(NEUTRAL, |rule| rule.info().color),
            steps: history.steps(),
            ranks: Ranks::of(history),
            evaluated: history.evaluated(),
            writes_text: started.is_some_and(|started| started.tokens_per_step.is_some()),
            forked: history.forked().cloned(),
            facts,
            status_line: status_line(&status, &concerns, history),
            concerns: concerns.into_iter().map(escaped).collect(),
            status,
            read_error,
            run,
        }
    }
}

fn escaped(concern: Concern) -> Concern {
    Concern { description: visible_lines(&concern.description).into_owned(), ..concern }
}

/// Describes the hyperparameters of a rule that differ from its defaults.
fn non_default_hyperparameters(rule: &RuleSpec) -> Vec<String> {
    let settings = rule.shown_settings(&RuleSpec::in_training(rule.kind()), |_| true).into_iter();
    settings.filter(|it| !it.is_usual).filter_map(ShownSetting::said).collect()
}

pub(super) fn color_of_rule(name: &str) -> [u8; 3] {
    RuleKind::shown_as(name).map_or(NEUTRAL, |rule| rule.info().color)
}

/// The colour of runs whose optimizer is unknown.
pub(super) const NEUTRAL: [u8; 3] = [150; 3];
