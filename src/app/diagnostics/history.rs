//! The data of the plots.

use egui::{Color32, Theme};
use valleyscope_engine::simulation::{Bucket, SimulationSpec};
use valleyscope_experiments::preset::LETTERS;
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
    /// The place of the session to which it belongs.
    place: usize,
    /// The branch's name.
    pub label: String,
    pub ensembles: Vec<EnsembleHistory>,
}

pub(super) struct EnsembleHistory {
    /// The place of its simulation among those side by side.
    pub place: usize,
    pub optimizer: u32,
    /// The optimizer's name where all are shown together.
    pub name: String,
    pub particles: usize,
    pub buckets: Vec<Bucket>,
}

impl DiagnosticsHistory {
    /// Takes the data of the simulations side by side and of the shown branches if they differ.
    /// [`DiagnosticsHistory::name`] sets the names.
    pub(super) fn update(&mut self, snapshots: &[&Snapshot], live: &Live) {
        let Some(snapshot) = snapshots.first() else { return };
        let mut fingerprint = vec![snapshot.run, snapshot.settings, snapshot.last_step];
        let own = of_all(snapshots).map(|(place, view)| (place as u64, view));
        let branches = || {
            let places = 0..snapshots.len();
            places.flat_map(|place| live.pale_in(place).map(move |(branch, session)| (place, branch, session)))
        };
        let pale = branches().flat_map(|(_, branch, session)| session.ensembles.iter().map(|view| (branch.id, view)));
        for (session, view) in own.chain(pale) {
            fingerprint.extend([session, u64::from(view.optimizer), view.particles as u64, view.plot.len() as u64]);
            fingerprint.extend(view.plot.first().map(|bucket| bucket.first_step));
            fingerprint.extend(view.plot.last().into_iter().flat_map(|bucket| [bucket.first_step, bucket.steps]));
        }
        if fingerprint == self.fingerprint {
            return;
        }
        self.fingerprint = fingerprint;
        let shown = branches().map(|(_, branch, _)| branch.last_step);
        self.last_step = shown.fold(snapshot.last_step, u64::max);
        self.ensembles = of_all(snapshots).map(|(place, view)| EnsembleHistory::of(view, place, 0)).collect();
        let pale = |(place, branch, session): (usize, &Branch, &SessionView)| PaleHistory {
            id: branch.id,
            place,
            label: String::new(),
            ensembles: session.ensembles.iter().map(|view| EnsembleHistory::of(view, place, branch.since)).collect(),
        };
        self.pale = branches().map(pale).collect();
    }

    /// Names the ensembles and the branches. Call once a frame, as a name depends on all optimizers.
    pub(super) fn name(&mut self, document: &Document, live: &Live) {
        for pale in &mut self.pale {
            if let (Some(branch), Some(spec)) = (live.branches.shown(pale.id), document.specs().nth(pale.place)) {
                pale.label = branch.label(live.marks_of(pale.place), spec);
            }
        }
        for (place, spec) in document.specs().enumerate() {
            let names = spec.shown_names();
            let pale = self.pale.iter_mut().flat_map(|pale| &mut pale.ensembles);
            for ensemble in self.ensembles.iter_mut().chain(pale).filter(|ensemble| ensemble.place == place) {
                let index = spec.optimizers.iter().position(|optimizer| optimizer.id == ensemble.optimizer);
                ensemble.name = index.map_or_else(|| "(removed)".to_owned(), |index| names[index].clone());
            }
        }
    }

    /// Returns whether curves of several simulations are drawn.
    pub(super) fn is_side_by_side(&self) -> bool {
        self.ensembles.iter().any(|ensemble| ensemble.place > 0)
    }

    /// Returns the means of the ensembles that stay finite, or of all if none does. They determine the default axis.
    pub(super) fn sensible_means(&self, metric: DiagnosticMetric) -> Vec<f64> {
        let stays = |ensemble: &&EnsembleHistory| ensemble.buckets.last().is_none_or(|bucket| bucket.diverged == 0);
        let any_stays = self.ensembles.iter().any(|ensemble| stays(&ensemble));
        let counting = self.ensembles.iter().filter(|ensemble| !any_stays || stays(ensemble));
        counting.flat_map(|ensemble| &ensemble.buckets).map(|bucket| metric.value(bucket).mean).collect()
    }
}

/// Returns the ensembles of all snapshots, with the places of their simulations.
fn of_all<'a>(snapshots: &'a [&Snapshot]) -> impl Iterator<Item = (usize, &'a EnsembleView)> {
    snapshots.iter().enumerate().flat_map(|(place, snapshot)| snapshot.ensembles.iter().map(move |view| (place, view)))
}

impl EnsembleHistory {
    /// Takes the data of an ensemble of the simulation at a place, from a step on.
    fn of(view: &EnsembleView, place: usize, since: u64) -> EnsembleHistory {
        let before = view.plot.partition_point(|bucket| bucket.first_step + bucket.steps <= since);
        EnsembleHistory {
            place,
            optimizer: view.optimizer,
            name: String::new(),
            particles: view.particles,
            buckets: view.plot[before..].to_vec(),
        }
    }

    /// Returns the colour of its lines.
    pub(super) fn color(&self, document: &Document, theme: Theme) -> Color32 {
        let optimizers = self.spec(document).map_or(&[][..], |spec| &spec.optimizers);
        line_color(color_of(optimizers, self.optimizer), theme)
    }

    /// Returns its simulation; `None` if that was removed.
    pub(super) fn spec<'d>(&self, document: &'d Document) -> Option<&'d SimulationSpec> {
        document.specs().nth(self.place)
    }

    /// Returns its name among those of simulations side by side.
    pub(super) fn name_beside(&self) -> String {
        format!("{} ({})", self.name, LETTERS[self.place])
    }
}
