//! The record of a run: positions and plotted quantities at its recorded steps.

use valleyscope_engine::simulation::{PlotRequest, Setting, Simulation};

use super::plan::RunPlan;
use crate::figure::Paths;

/// A run as far as it has been recorded.
#[derive(Clone, Debug)]
pub(super) struct Recording {
    pub plan: RunPlan,
    /// The enabled optimizers, in their order.
    pub ensembles: Vec<EnsembleRecording>,
    /// The number of recorded steps.
    pub frames: usize,
}

/// The record of an optimizer.
#[derive(Clone, Debug)]
pub(super) struct EnsembleRecording {
    pub mean: Vec<[f64; 2]>,
    /// The paths of the first particles.
    pub particles: Vec<Vec<[f64; 2]>>,
    /// The mean and the deviation over all particles, of each of the plan's metrics.
    pub metrics: Vec<Vec<[f64; 2]>>,
}

impl EnsembleRecording {
    pub(super) fn paths(&self) -> Paths<'_> {
        (&self.mean, &self.particles)
    }
}

impl Recording {
    pub(super) fn new(plan: RunPlan, simulation: &Simulation) -> Recording {
        let empty = EnsembleRecording {
            mean: Vec::new(),
            particles: vec![Vec::new(); plan.particles],
            metrics: vec![Vec::new(); plan.metrics.len()],
        };
        Recording { ensembles: vec![empty; simulation.ensembles().len()], plan, frames: 0 }
    }

    pub(super) fn is_complete(&self, simulation: &Simulation) -> bool {
        simulation.step() >= self.plan.end
    }

    /// Records the simulation's present step if it is one of the recorded, and continues the run if it pauses here.
    pub(super) fn keep(&mut self, simulation: &mut Simulation) {
        let step = simulation.step();
        if step.is_multiple_of(self.plan.stride) || self.is_complete(simulation) {
            self.record(simulation);
        }
        for (_, steps) in self.plan.continued.iter().filter(|(paused_at, _)| *paused_at == step) {
            simulation.apply(&Setting::Steps(*steps)).expect("a number of steps fits every simulation");
        }
    }

    fn record(&mut self, simulation: &Simulation) {
        let step = simulation.step();
        let now = PlotRequest { first_step: step, last_step: Some(step), buckets: 1, log_steps: false };
        let simulated = simulation.ensembles().iter().zip(simulation.histories());
        for (recording, (ensemble, history)) in self.ensembles.iter_mut().zip(simulated) {
            recording.mean.push(ensemble.mean_position());
            for (path, position) in recording.particles.iter_mut().zip(ensemble.positions()) {
                path.push(position);
            }
            let bucket = history.view(&now)[0];
            for (values, metric) in recording.metrics.iter_mut().zip(&self.plan.metrics) {
                let value = metric.value(&bucket);
                values.push([value.mean, value.std]);
            }
        }
        self.frames += 1;
    }
}
