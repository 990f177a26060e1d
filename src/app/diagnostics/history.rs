//! What the plots are drawn from.

use egui::{Color32, Theme};

use crate::app::Document;
use crate::app::landscape::marker::{color_of, line_color};
use crate::quantity::Temperature;
use crate::simulation::{Bucket, EnsembleView, Rule, Snapshot};

/// What the plots are drawn from: the newest snapshot's, or an older one's while frozen.
#[derive(Default)]
pub struct History {
    /// Tells snapshots apart: run, step, and for each curve the learning rate (Θ may follow it), where it begins
    /// and ends and in how many buckets.
    pub fingerprint: Vec<u64>,
    pub step: u64,
    pub ensembles: Vec<Ensemble>,
}

pub struct Ensemble {
    pub optimizer: u32,
    pub rule: Rule,
    pub particles: usize,
    pub buckets: Vec<Bucket>,
}

impl History {
    /// Takes over what a snapshot shows, if it shows anything else.
    pub fn update(&mut self, snapshot: &Snapshot) {
        let mut fingerprint = vec![snapshot.run, snapshot.step];
        for view in &snapshot.ensembles {
            fingerprint.extend([u64::from(view.optimizer), view.particles as u64, view.plot.len() as u64]);
            fingerprint.push(view.rule.learning_rate().get().to_bits());
            fingerprint.extend(view.plot.first().map(|bucket| bucket.first_step));
            fingerprint.extend(view.plot.last().into_iter().flat_map(|bucket| [bucket.first_step, bucket.steps]));
        }
        if fingerprint == self.fingerprint {
            return;
        }
        self.fingerprint = fingerprint;
        self.step = snapshot.step;
        let ensemble = |view: &EnsembleView| Ensemble {
            optimizer: view.optimizer,
            rule: view.rule,
            particles: view.particles,
            buckets: view.plot.clone(),
        };
        self.ensembles = snapshot.ensembles.iter().map(ensemble).collect();
    }
}

impl Ensemble {
    pub fn name<'a>(&self, document: &'a Document) -> &'a str {
        let spec = document.spec.optimizers.iter().find(|spec| spec.id == self.optimizer);
        spec.map_or("(removed)", |spec| spec.label())
    }

    /// The colour of its lines.
    pub fn color(&self, document: &Document, theme: Theme) -> Color32 {
        let spec = document.spec.optimizers.iter().find(|spec| spec.id == self.optimizer);
        line_color(spec.map_or(Color32::GRAY, color_of), theme)
    }

    /// Θ: the document's, else the optimizer's learning rate.
    pub fn temperature(&self, document: &Document) -> f64 {
        document.spec.temperature.map_or_else(|| self.rule.learning_rate().get(), Temperature::get)
    }
}
