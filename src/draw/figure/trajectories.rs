//! The data of the figure of a landscape: a preset's simulation, run step by step.

use valleyscope_engine::optimizer::{ExternalStep, Marker, markers};
use valleyscope_engine::simulation::{
    Bucket, Change, PlotRequest, Record, Setting, SettingError, Simulation, SimulationSpec,
};
use valleyscope_experiments::preset::{LandscapePreset, Preset, planned_steps, titles_side_by_side};
use valleyscope_experiments::view::{Dash, Pen, simulation_colors};

/// The number of particles of each optimizer whose paths are recorded.
const PARTICLES: usize = 8;
/// The largest number of particles of each optimizer that are points at the last step.
const CLOUD: usize = 1000;
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
    #[error("a simulation of the preset cannot be made: {0}")]
    Setting(#[from] SettingError),
}

/// The trajectories of a preset's optimizers on its landscape, and of the simulations beside it, as far as they have
/// been run.
#[derive(Clone, Debug)]
pub struct Trajectories {
    pub(super) preset: LandscapePreset,
    /// The preset's own run, and those beside it.
    pub(super) runs: Vec<TracedRun>,
}

/// A simulation with the paths of its particles.
#[derive(Clone, Debug)]
pub(super) struct TracedRun {
    /// The title among the runs side by side.
    pub title: String,
    steps: u64,
    /// The number of steps between the points of the paths.
    stride: u64,
    pub simulation: Simulation,
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
#[derive(Clone, Debug)]
pub(super) struct Ensemble {
    /// The index of its run.
    pub run: usize,
    pub name: String,
    pub color: [u8; 3],
    pub marker: Marker,
    pub mean: Vec<[f64; 2]>,
    pub particles: Vec<Vec<[f64; 2]>>,
    /// The present positions of the first particles.
    pub cloud: Vec<[f64; 2]>,
    pub history: Vec<Bucket>,
}

impl Trajectories {
    /// A preset's simulations at step 0. Each runs for its steps, or for 1000 where it names none.
    ///
    /// # Errors
    ///
    /// Returns an error where none of the optimizers is enabled.
    pub fn new(preset: &LandscapePreset) -> Result<Trajectories, TrajectoriesError> {
        let titles = titles_side_by_side(&preset.resolved_simulations()?);
        let runs = preset.records()?.into_iter().zip(titles).map(|(record, title)| TracedRun::new(record, title));
        Ok(Trajectories { preset: preset.clone(), runs: runs.collect::<Result<_, _>>()? })
    }

    /// The steps taken.
    pub fn step(&self) -> u64 {
        self.runs.iter().map(|run| run.simulation.step()).max().unwrap_or(0)
    }

    /// The number of steps to take in all.
    pub fn steps(&self) -> u64 {
        self.runs.iter().map(|run| run.steps).max().unwrap_or(0)
    }

    pub fn is_complete(&self) -> bool {
        self.runs.iter().all(TracedRun::is_complete)
    }

    /// Takes a step with each run that is not complete.
    pub fn advance(&mut self) {
        self.advance_with(&mut |_, _, _| true);
    }

    /// Takes a step with each run that is not complete, those of external optimizers by `external`. Returns false where
    /// it stops.
    pub fn advance_with(&mut self, external: ExternalStep<'_>) -> bool {
        self.runs.iter_mut().filter(|run| !run.is_complete()).all(|run| run.advance_with(external))
    }

    /// The preset's own run.
    pub fn simulation(&self) -> &Simulation {
        &self.runs[0].simulation
    }

    /// The specification of the preset's own run, with the settings in force now.
    pub fn spec(&self) -> &SimulationSpec {
        self.runs[0].spec()
    }

    /// The text of the preset.
    pub(super) fn text(&self) -> String {
        Preset::Landscape(self.preset.clone()).to_ron()
    }

    /// The runs that go to this step, whatever the preset's number of steps. Their text ends there, too.
    pub fn until(mut self, step: u64) -> Trajectories {
        for (run, simulation) in self.runs.iter_mut().zip(&mut self.preset.simulations) {
            simulation.changes.retain(|change| change.step <= step);
            if run.steps != step {
                simulation.changes.push(Change { step, set: Setting::Steps(Some(step)) });
            }
            run.steps = step;
            run.stride = step.div_ceil(POINTS).max(1);
        }
        self
    }

    /// The enabled optimizers of all runs, in their order, with histories in points that are equally far apart on an
    /// axis of steps, which is logarithmic if `log_steps` is set.
    pub(super) fn ensembles(&self, log_steps: bool) -> Vec<Ensemble> {
        self.runs.iter().enumerate().flat_map(|(index, run)| run.ensembles(index, log_steps)).collect()
    }
}

/// The pens of optimizers, which differ in each run, and are dashed as the run.
pub(super) fn pens(ensembles: &[Ensemble]) -> Vec<Pen> {
    let pen = |(index, Ensemble { run, color, .. }): (usize, &Ensemble)| {
        let before = ensembles[..index].iter().filter(|other| (other.run, other.color) == (*run, *color)).count();
        let pen = Pen::new(*color, before);
        if *run == 0 { pen } else { pen.dashed(Dash::SIDE_BY_SIDE[*run]) }
    };
    ensembles.iter().enumerate().map(pen).collect()
}

impl TracedRun {
    fn new(record: Record, title: String) -> Result<TracedRun, TrajectoriesError> {
        let steps = planned_steps(&record).unwrap_or(LandscapePreset::DEFAULT_STEPS);
        let simulation = Simulation::replay(record);
        if simulation.ensembles().is_empty() {
            return Err(TrajectoriesError::NoOptimizer { count: simulation.spec().optimizers.len() });
        }
        let mut run = TracedRun {
            title,
            steps,
            stride: steps.div_ceil(POINTS).max(1),
            ensembles: vec![Paths::default(); simulation.ensembles().len()],
            simulation,
        };
        run.keep();
        Ok(run)
    }

    fn is_complete(&self) -> bool {
        self.simulation.step() >= self.steps
    }

    fn advance_with(&mut self, external: ExternalStep<'_>) -> bool {
        if !self.simulation.advance_with(external) {
            return false;
        }
        if self.simulation.step().is_multiple_of(self.stride) || self.is_complete() {
            self.keep();
        }
        true
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

    /// The specification, with the settings in force now.
    pub(super) fn spec(&self) -> &SimulationSpec {
        self.simulation.spec()
    }

    fn ensembles(&self, run: usize, log_steps: bool) -> Vec<Ensemble> {
        let optimizers = &self.spec().optimizers;
        let all = optimizers.iter().zip(self.spec().shown_names());
        let marks = markers(optimizers.iter().map(|spec| spec.rule.rule.marker()));
        let all = all.zip(simulation_colors(optimizers).into_iter().zip(marks));
        let enabled = all.filter(|((spec, _), _)| spec.enabled);
        let known = self.ensembles.iter().zip(self.simulation.ensembles()).zip(self.simulation.histories());
        let request = PlotRequest { buckets: BUCKETS, log_steps, ..PlotRequest::default() };
        enabled
            .zip(known)
            .map(|(((_, name), (color, marker)), ((paths, ensemble), history))| Ensemble {
                run,
                name,
                color,
                marker,
                mean: paths.mean.clone(),
                particles: paths.particles.clone(),
                cloud: ensemble.positions().take(CLOUD).collect(),
                history: history.view(&request),
            })
            .collect()
    }
}
