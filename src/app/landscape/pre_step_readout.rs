//! The readout of a particle before its step is recorded.

use egui::{Grid, Ui};
use valleyscope_engine::landscape::Landscape;
use valleyscope_engine::simulation::ParticleId;
use valleyscope_experiments::view::formula::text;

use crate::app::{Document, Live};

/// A particle's position, and the gradient there without noise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct PreStepReadout {
    pub position: [f64; 2],
    pub gradient: [f64; 2],
}

impl PreStepReadout {
    pub(super) fn of(particle: ParticleId, live: &Live, landscape: &Landscape) -> Option<PreStepReadout> {
        let view = live.visible().find(|view| view.optimizer == particle.optimizer)?;
        let newest = view.columns.len().checked_sub(view.particles)?;
        let position = view.columns[newest..].get(particle.particle)?.map(f64::from);
        Some(PreStepReadout { position, gradient: landscape.gradient(position) })
    }
}

/// Shows the position of the selected particle, and how to see its next step.
pub(super) fn show(ui: &mut Ui, document: &Document, live: &Live) {
    ui.label("Press → for this particle’s next step, formula by formula.");
    let landscape = document.spec.landscape.landscape();
    let Some(readout) = live.selected.and_then(|particle| PreStepReadout::of(particle, live, &landscape)) else {
        return;
    };
    ui.add_space(4.0);
    ui.label("Where it is now:");
    Grid::new("pre-step readout").num_columns(3).spacing([12.0, 2.0]).show(ui, |ui| {
        for (axis, name) in ["x", "y"].into_iter().enumerate() {
            ui.label(format!("{name} = {}", text(readout.position[axis])));
            ui.label(format!("∂L/∂{name} = {}", text(readout.gradient[axis])));
            ui.end_row();
        }
    });
}
