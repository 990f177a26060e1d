//! The data of the plots: histories, curves, and their export as a table.

use egui::{Color32, Theme};
use valleyscope_engine::simulation::Bucket;
use valleyscope_experiments::preset::LETTERS;
use valleyscope_experiments::view::DiagnosticMetric;

use crate::app::landscape::editor::Document;
use crate::app::landscape::live::Live;
use crate::app::widgets::icons::{line_color, rgb_of};
use crate::draw::short_name;
use crate::export::{CsvCell, CsvWriter};
use crate::player::{BranchView, EnsembleView, OptimizerHistory, SessionView};

/// The data of the plots: the newest snapshot's, or an older one's while frozen.
#[derive(Default)]
pub(super) struct DiagnosticsHistory {
    /// The last step of the run and its shown branches.
    pub last_step: u64,
    /// The last step of the preset's run, at which the player pauses; `None` for a run without an end.
    pub pause: Option<u64>,
    pub ensembles: Vec<EnsembleHistory>,
    pub branches: Vec<BranchHistory>,
}

/// The data of a branch, from the step on at which it differs from the session.
pub(super) struct BranchHistory {
    /// The id of the branch.
    pub id: u64,
    /// The index of the session to which it belongs.
    session: usize,
    /// The branch's name.
    pub label: String,
    pub ensembles: Vec<EnsembleHistory>,
}

pub(super) struct EnsembleHistory {
    /// The index of its session.
    pub session: usize,
    pub optimizer: u32,
    /// The optimizer's name where all are shown together.
    pub name: String,
    pub rgb: [u8; 3],
    pub particles: usize,
    pub buckets: Vec<Bucket>,
}

impl DiagnosticsHistory {
    /// Takes the data of the newest snapshot's sessions and shown branches. [`DiagnosticsHistory::name`] sets the names.
    pub(super) fn update(&mut self, document: &Document, live: &Live) {
        self.pause = document.spec(0).steps;
        let Some(snapshot) = &live.snapshot else { return };
        // For a moment, the snapshot may have a session whose simulation was removed.
        let sessions = || snapshot.sessions.iter().take(document.count()).enumerate();
        let branches = || sessions().flat_map(|(index, _)| live.shown_branches_of(index));
        let shown = branches().map(|branch| branch.session.last_step);
        self.last_step = shown.fold(snapshot.last_step, u64::max);
        let histories = |index: usize, session: &SessionView, since: u64| -> Vec<EnsembleHistory> {
            session.ensembles.iter().map(|view| EnsembleHistory::of(view, index, since)).collect()
        };
        self.ensembles = sessions().flat_map(|(index, session)| histories(index, session, 0)).collect();
        let branch = |BranchView { id, of, since, session, .. }: &BranchView| BranchHistory {
            id: *id,
            session: *of,
            label: String::new(),
            ensembles: histories(*of, session, *since),
        };
        self.branches = branches().map(branch).collect();
    }

    /// Sets names and colours of the ensembles, and the branches' names. Call once a frame, as these depend on
    /// all optimizers.
    pub(super) fn name(&mut self, document: &Document, live: &Live) {
        for history in &mut self.branches {
            let spec = document.specs().nth(history.session);
            let branch = live.shown_branches_of(history.session).find(|branch| branch.id == history.id);
            if let (Some(branch), Some(spec)) = (branch, spec) {
                history.label = live.label_of(branch, spec);
            }
        }
        for (index, spec) in document.specs().enumerate() {
            let spec = live.with_recorded(spec);
            let names = spec.shown_names();
            let of_branches = self.branches.iter_mut().flat_map(|branch| &mut branch.ensembles);
            for ensemble in self.ensembles.iter_mut().chain(of_branches).filter(|it| it.session == index) {
                let found = spec.optimizers.iter().position(|optimizer| optimizer.id == ensemble.optimizer);
                ensemble.name = found.map_or_else(|| "(removed)".to_owned(), |found| names[found].clone());
                ensemble.rgb = rgb_of(&spec.optimizers, ensemble.optimizer);
            }
        }
    }

    pub(super) fn is_side_by_side(&self) -> bool {
        self.ensembles.iter().any(|ensemble| ensemble.session > 0)
    }
}

impl EnsembleHistory {
    /// Takes the data of an ensemble of a session, from a step on.
    fn of(view: &EnsembleView, session: usize, since: u64) -> EnsembleHistory {
        let before = view.plot.partition_point(|bucket| bucket.first_step + bucket.steps <= since);
        EnsembleHistory {
            session,
            optimizer: view.optimizer,
            name: String::new(),
            rgb: view.rule.rule.rgb(),
            particles: view.particles,
            buckets: view.plot[before..].to_vec(),
        }
    }

    pub(super) fn color(&self, theme: Theme) -> Color32 {
        let [red, green, blue] = self.rgb;
        line_color(Color32::from_rgb(red, green, blue), theme)
    }

    /// Returns the optimizer's name without its settings, for the end of its curve.
    pub(super) fn short_name(&self, is_side_by_side: bool) -> String {
        let name = short_name(&self.name);
        if is_side_by_side { format!("{name} {}", LETTERS[self.session]) } else { name.to_owned() }
    }

    /// Returns the optimizer's name, with the letter of its simulation among several.
    pub(super) fn shown_name(&self, is_side_by_side: bool) -> String {
        if is_side_by_side { format!("{} ({})", self.name, LETTERS[self.session]) } else { self.name.clone() }
    }
}

/// An ensemble to write: its name and its buckets.
pub(super) type Ensemble<'a> = (&'a str, &'a [Bucket]);

const HEADER: [&str; 11] = [
    "first_step",
    "last_step",
    "optimizer",
    "metric",
    "mean",
    "mean_low",
    "mean_high",
    "std",
    "min",
    "max",
    "diverged",
];

/// Formats a table in long form, with a row for each bucket of each optimizer and metric. A bucket covers the steps
/// from `first_step` to `last_step`; numbers read back exactly, with `NaN`, `inf` and `-inf` for values that are not
/// finite.
pub fn csv_of(ensembles: &[Ensemble<'_>], metrics: &[DiagnosticMetric]) -> String {
    const IN_MEMORY: &str = "writing to memory cannot fail";
    let mut csv = CsvWriter::new(Vec::new(), &HEADER).expect(IN_MEMORY);
    for metric in metrics {
        for (name, buckets) in ensembles {
            for bucket in *buckets {
                let value = metric.value(bucket);
                csv.row(&[
                    CsvCell::Whole(bucket.first_step),
                    CsvCell::Whole(bucket.first_step + bucket.steps.saturating_sub(1)),
                    CsvCell::Text(name),
                    CsvCell::Text(metric.key()),
                    CsvCell::Number(value.mean),
                    CsvCell::Number(value.mean_low),
                    CsvCell::Number(value.mean_high),
                    CsvCell::Number(value.std),
                    CsvCell::Number(value.min),
                    CsvCell::Number(value.max),
                    CsvCell::Whole(u64::from(bucket.diverged)),
                ])
                .expect(IN_MEMORY);
            }
        }
    }
    String::from_utf8(csv.into_inner()).expect("names and numbers are text")
}

/// The contents of the table.
pub(in crate::app::landscape) struct TableContents {
    /// The shown optimizers: the indices of their sessions, their ids and their names.
    pub optimizers: Vec<(usize, u32, String)>,
    pub metrics: Vec<DiagnosticMetric>,
    /// The first and the last step, both included.
    pub steps: [u64; 2],
    /// The data of frozen plots; `None` for the player's whole history.
    pub frozen: Option<Vec<OptimizerHistory>>,
}

impl TableContents {
    pub(in crate::app::landscape) fn text(&self, histories: &[OptimizerHistory]) -> String {
        let [from, to] = self.steps;
        let asked_for = |bucket: &Bucket| bucket.first_step <= to && bucket.first_step + bucket.steps > from;
        let of = |(session, id, name)| -> Option<(&str, &[Bucket])> {
            let OptimizerHistory { buckets, .. } =
                histories.iter().find(|history| (&history.session, &history.optimizer) == (session, id))?;
            let first = buckets.iter().position(asked_for)?;
            let last = buckets.iter().rposition(asked_for)?;
            Some((name, &buckets[first..=last]))
        };
        let ensembles: Vec<_> =
            self.optimizers.iter().filter_map(|(session, id, name)| of((session, id, name.as_str()))).collect();
        csv_of(&ensembles, &self.metrics)
    }
}
