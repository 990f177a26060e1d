//! The data of the plots.

use egui::{Color32, Theme};
use valleyscope_engine::simulation::{Bucket, SimulationSpec};
use valleyscope_experiments::view::DiagnosticMetric;

use crate::app::Document;
use crate::app::landscape::marker::{color_of, line_color};
use crate::player::{EnsembleView, Snapshot};

/// The data of the plots: the newest snapshot's, or an older one's while frozen.
#[derive(Default)]
pub(super) struct DiagnosticsHistory {
    /// Identifies the data: run, number of set settings, last step, and for each curve its ends and its number of
    /// buckets.
    pub fingerprint: Vec<u64>,
    /// The last step of the run.
    pub last_step: u64,
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
    /// Takes a snapshot's data if they differ. [`DiagnosticsHistory::name_ensembles`] sets the names.
    pub(super) fn update(&mut self, snapshot: &Snapshot) {
        let mut fingerprint = vec![snapshot.run, snapshot.settings, snapshot.last_step];
        for view in &snapshot.ensembles {
            fingerprint.extend([u64::from(view.optimizer), view.particles as u64, view.plot.len() as u64]);
            fingerprint.extend(view.plot.first().map(|bucket| bucket.first_step));
            fingerprint.extend(view.plot.last().into_iter().flat_map(|bucket| [bucket.first_step, bucket.steps]));
        }
        if fingerprint == self.fingerprint {
            return;
        }
        self.fingerprint = fingerprint;
        self.last_step = snapshot.last_step;
        let ensemble = |view: &EnsembleView| EnsembleHistory {
            optimizer: view.optimizer,
            name: String::new(),
            particles: view.particles,
            buckets: view.plot.clone(),
        };
        self.ensembles = snapshot.ensembles.iter().map(ensemble).collect();
    }

    /// Names the ensembles by `spec`. Call once a frame, as a name depends on all optimizers.
    pub(super) fn name_ensembles(&mut self, spec: &SimulationSpec) {
        let names = spec.shown_names();
        for ensemble in &mut self.ensembles {
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
    /// Returns the colour of its lines.
    pub(super) fn color(&self, document: &Document, theme: Theme) -> Color32 {
        let spec = document.spec.optimizers.iter().find(|spec| spec.id == self.optimizer);
        line_color(spec.map_or(Color32::GRAY, color_of), theme)
    }
}
