//! The data of the figure of a landscape: a preset's simulation, run step by step.

use valleyscope_engine::optimizer::{Marker, markers};
use valleyscope_engine::simulation::{Bucket, History, OptimizerSpec, PlotRequest, Record, Simulation, SimulationSpec};
use valleyscope_experiments::preset::{LandscapePreset, Preset};
use valleyscope_experiments::view::ViewSettings;

/// The number of steps of a preset that names none, as in the paper's runs.
const DEFAULT_STEPS: u64 = 1000;
/// The number of particles of each optimizer whose paths are recorded.
const PARTICLES: usize = 8;
/// The largest number of points of a path; of longer runs every second step is kept, or every third, and so on.
const POINTS: u64 = 4000;
/// The largest number of points of a curve over the steps.
const BUCKETS: usize = 300;

/// The reason why a preset of a landscape has no figure.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TrajectoriesError {
    #[error(
        "expected a preset with an optimizer that is enabled, found {count} of which none is; take `enabled: false` away \
         from one of them"
    )]
    NoOptimizer { count: usize },
}

/// The trajectories of a preset's optimizers on its landscape, as far as they have been run.
#[derive(Clone, Debug)]
pub struct Trajectories {
    preset: LandscapePreset,
    steps: u64,
    /// The number of steps between the points of the paths.
    stride: u64,
    simulation: Simulation,
    /// The paths of the enabled optimizers.
    ensembles: Vec<Paths>,
}

/// The paths of the particles of an optimizer.
#[derive(Clone, Debug, Default)]
struct Paths {
    mean: Vec<[f64; 2]>,
    /// The paths of the first particles.
    particles: Vec<Vec<[f64; 2]>>,
}

/// The data of an optimizer.
pub(super) struct Ensemble<'a> {
    pub name: String,
    pub spec: &'a OptimizerSpec,
    pub marker: Marker,
    pub mean: &'a [[f64; 2]],
    pub particles: &'a [Vec<[f64; 2]>],
    pub history: Vec<Bucket>,
}

/// The history of an optimizer, for plots.
pub(super) struct RunCurve {
    pub name: String,
    pub color: [u8; 3],
    pub history: Vec<Bucket>,
}

impl Trajectories {
    /// Returns a preset's simulation at step 0. It runs for the preset's steps, or for 1000 where the preset names
    /// none.
    ///
    /// # Errors
    ///
    /// Returns an error where none of the optimizers is enabled.
    pub fn new(preset: &LandscapePreset) -> Result<Trajectories, TrajectoriesError> {
        let simulation = Simulation::replay(preset.record());
        if simulation.ensembles().is_empty() {
            return Err(TrajectoriesError::NoOptimizer { count: preset.simulation.optimizers.len() });
        }
        let steps = preset.planned_steps().unwrap_or(DEFAULT_STEPS);
        let mut trajectories = Trajectories {
            preset: preset.clone(),
            steps,
            stride: steps.div_ceil(POINTS).max(1),
            ensembles: vec![Paths::default(); simulation.ensembles().len()],
            simulation,
        };
        trajectories.keep();
        Ok(trajectories)
    }

    /// Returns the steps taken.
    pub fn step(&self) -> u64 {
        self.simulation.step()
    }

    /// Returns the number of steps to take in all.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    pub fn is_complete(&self) -> bool {
        self.step() >= self.steps
    }

    /// Takes a step.
    pub fn advance(&mut self) {
        self.simulation.advance();
        if self.step().is_multiple_of(self.stride) || self.is_complete() {
            self.keep();
        }
    }

    /// Records the current positions.
    fn keep(&mut self) {
        for (paths, ensemble) in self.ensembles.iter_mut().zip(self.simulation.ensembles()) {
            paths.mean.push(ensemble.mean_position());
            paths.particles.resize(ensemble.particles().min(PARTICLES), Vec::new());
            for (path, position) in paths.particles.iter_mut().zip(ensemble.positions()) {
                path.push(position);
            }
        }
    }

    /// Returns the specification, with the settings in force now.
    pub(super) fn spec(&self) -> &SimulationSpec {
        self.simulation.spec()
    }

    pub(super) fn view(&self) -> ViewSettings {
        self.preset.view.clone().unwrap_or_default()
    }

    pub(super) fn title(&self) -> &str {
        &self.preset.title
    }

    /// Returns the text of the preset.
    pub(super) fn text(&self) -> String {
        Preset::Landscape(self.preset.clone()).to_ron()
    }

    /// Returns the run that goes to this step, whatever its preset's number of steps.
    pub fn until(mut self, step: u64) -> Trajectories {
        self.steps = step;
        self.stride = step.div_ceil(POINTS).max(1);
        self
    }

    /// Returns the start and the changes of settings so far.
    pub(super) fn record(&self) -> Record {
        self.simulation.record().clone()
    }

    /// Returns the histories of the enabled optimizers, in their order, in points that are equally far apart on an axis
    /// of steps, which is logarithmic if `log_steps` is set.
    pub(super) fn curves(&self, log_steps: bool) -> Vec<RunCurve> {
        let enabled = self.spec().optimizers.iter().zip(self.spec().shown_names()).filter(|(spec, _)| spec.enabled);
        let request = PlotRequest { buckets: BUCKETS, log_steps, ..PlotRequest::default() };
        let curve = |((spec, name), history): ((&OptimizerSpec, String), &History)| RunCurve {
            name,
            color: spec.rgb(),
            history: history.view(&request),
        };
        enabled.zip(self.simulation.histories()).map(curve).collect()
    }

    /// Returns the enabled optimizers, in their order.
    pub(super) fn ensembles(&self) -> Vec<Ensemble<'_>> {
        let optimizers = &self.spec().optimizers;
        let all = optimizers.iter().zip(self.spec().shown_names());
        let all = all.zip(markers(optimizers.iter().map(|spec| spec.rule.rule.marker())));
        let enabled = all.filter(|((spec, _), _)| spec.enabled);
        let known = self.ensembles.iter().zip(self.simulation.histories());
        let request = PlotRequest { buckets: BUCKETS, ..PlotRequest::default() };
        enabled
            .zip(known)
            .map(|(((spec, name), marker), (paths, history))| Ensemble {
                name,
                spec,
                marker,
                mean: &paths.mean,
                particles: &paths.particles,
                history: history.view(&request),
            })
            .collect()
    }
}
