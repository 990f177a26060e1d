//! The data of the plots.

use egui::{Color32, Theme};
use valleyscope_engine::simulation::Bucket;
use valleyscope_experiments::view::DiagnosticMetric;

use crate::app::branches::Branch;
use crate::app::landscape::marker::{color_of, line_color};
use crate::app::{Document, Live};
use crate::player::{EnsembleView, SessionView, Snapshot};

/// The data of the plots: the newest snapshot's, or an older one's while frozen.
#[derive(Default)]
pub(super) struct DiagnosticsHistory {
    /// Identifies the data: run, number of set settings, last step, and for each curve its ends and its number of
    /// buckets.
    pub fingerprint: Vec<u64>,
    /// The last step of the run and its shown branches.
    pub last_step: u64,
    pub ensembles: Vec<EnsembleHistory>,
    pub pale: Vec<PaleHistory>,
}

/// The data of a branch, from the step on at which it differs from the session.
pub(super) struct PaleHistory {
    /// The id of the branch.
    pub id: u64,
    /// The branch's name.
    pub label: String,
    pub ensembles: Vec<EnsembleHistory>,
}

pub(super) struct EnsembleHistory {
    pub optimizer: u32,
    /// The optimizer's name where all are shown together.
    pub name: String,
    pub particles: usize,
    pub buckets: Vec<Bucket>,
}

impl DiagnosticsHistory {
    /// Takes the data of a snapshot and its shown branches if they differ. [`DiagnosticsHistory::name`] sets the names.
    pub(super) fn update(&mut self, snapshot: &Snapshot, live: &Live) {
        let mut fingerprint = vec![snapshot.run, snapshot.settings, snapshot.last_step];
        let first = snapshot.ensembles.iter().map(|view| (0, view));
        let pale = live.pale().flat_map(|(branch, session)| session.ensembles.iter().map(|view| (branch.id, view)));
        for (session, view) in first.chain(pale) {
            fingerprint.extend([session, u64::from(view.optimizer), view.particles as u64, view.plot.len() as u64]);
            fingerprint.extend(view.plot.first().map(|bucket| bucket.first_step));
            fingerprint.extend(view.plot.last().into_iter().flat_map(|bucket| [bucket.first_step, bucket.steps]));
        }
        if fingerprint == self.fingerprint {
            return;
        }
        self.fingerprint = fingerprint;
        let shown = live.pale().map(|(branch, _)| branch.last_step);
        self.last_step = shown.fold(snapshot.last_step, u64::max);
        self.ensembles = snapshot.ensembles.iter().map(|view| EnsembleHistory::of(view, 0)).collect();
        let pale = |(branch, session): (&Branch, &SessionView)| PaleHistory {
            id: branch.id,
            label: String::new(),
            ensembles: session.ensembles.iter().map(|view| EnsembleHistory::of(view, branch.since)).collect(),
        };
        self.pale = live.pale().map(pale).collect();
    }

    /// Names the ensembles and the branches. Call once a frame, as a name depends on all optimizers.
    pub(super) fn name(&mut self, document: &Document, live: &Live) {
        for pale in &mut self.pale {
            if let Some(branch) = live.branches.shown(pale.id) {
                pale.label = branch.label(&live.marks, document);
            }
        }
        let (spec, pale) = (&document.spec, self.pale.iter_mut().flat_map(|pale| &mut pale.ensembles));
        let names = spec.shown_names();
        for ensemble in self.ensembles.iter_mut().chain(pale) {
            let index = spec.optimizers.iter().position(|optimizer| optimizer.id == ensemble.optimizer);
            ensemble.name = index.map_or_else(|| "(removed)".to_owned(), |index| names[index].clone());
        }
    }

    /// Returns the means of the ensembles that stay finite, or of all if none does. They determine the default axis.
    pub(super) fn sensible_means(&self, metric: DiagnosticMetric) -> Vec<f64> {
        let stays = |ensemble: &&EnsembleHistory| ensemble.buckets.last().is_none_or(|bucket| bucket.diverged == 0);
        let any_stays = self.ensembles.iter().any(|ensemble| stays(&ensemble));
        let counting = self.ensembles.iter().filter(|ensemble| !any_stays || stays(ensemble));
        counting.flat_map(|ensemble| &ensemble.buckets).map(|bucket| metric.value(bucket).mean).collect()
    }
}

impl EnsembleHistory {
    /// Takes the data of an ensemble from a step on.
    fn of(view: &EnsembleView, since: u64) -> EnsembleHistory {
        let before = view.plot.partition_point(|bucket| bucket.first_step + bucket.steps <= since);
        EnsembleHistory {
            optimizer: view.optimizer,
            name: String::new(),
            particles: view.particles,
            buckets: view.plot[before..].to_vec(),
        }
    }

    /// Returns the colour of its lines.
    pub(super) fn color(&self, document: &Document, theme: Theme) -> Color32 {
        let spec = document.spec.optimizers.iter().find(|spec| spec.id == self.optimizer);
        line_color(spec.map_or(Color32::GRAY, color_of), theme)
    }
}
