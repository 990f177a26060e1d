//! The runs of a lesson: which steps show which runs, and the runs as they are recorded.

use valleyscope_engine::landscape::LandscapeSpec;
use valleyscope_engine::simulation::{PlotRequest, Setting, SettingError, Simulation, SimulationSpec};
use valleyscope_experiments::preset::{LandscapePreset, LessonStep, TitledSimulation, titles_side_by_side};
use valleyscope_experiments::view::DiagnosticMetric;

use crate::draw::Paths;

/// The largest number of recorded steps of a run, and the smallest to which many runs are thinned.
const FRAMES: [u64; 2] = [50, 4000];
/// The largest number of recorded positions of a page, of all runs together.
const POSITIONS: u64 = 750_000;
/// The largest number of recorded positions, means and points of plots of a page together. A point of a plot counts
/// twice, as plots have more noise than paths.
const RECORDED: u64 = 875_000;
/// The number of landscapes that [`RECORDED`] allows for; each further one lowers it in proportion, as its contour
/// lines take as much space.
const LANDSCAPES: u64 = 3;
const ROOM_OF_LANDSCAPE: u64 = 4_000;
/// The particles of each optimizer for which long runs are thinned.
const THINNED_FOR: u64 = 10;

/// A run, which one or more steps of the lesson show.
#[derive(Clone, Debug)]
pub(super) struct RunPlan {
    pub spec: SimulationSpec,
    /// The steps at which the run is continued, with the setting of the next pause.
    pub continued: Vec<(u64, Option<u64>)>,
    pub end: u64,
    /// The number of steps from a recorded one to the next.
    pub stride: u64,
    /// The number of recorded particles of each optimizer.
    pub particles: usize,
    pub metrics: Vec<DiagnosticMetric>,
}

/// The part of some runs that a step of the lesson shows, on the clock of the first.
#[derive(Clone, Debug)]
pub(super) struct StepPlan {
    /// The step of the runs when the lesson's step is shown.
    pub from: u64,
    pub to: u64,
    /// The step's own simulation, and those with which it is compared.
    pub panes: Vec<PanePlan>,
}

/// A simulation that a step of the lesson shows.
#[derive(Clone, Debug)]
pub(super) struct PanePlan {
    pub run: usize,
    /// The title among the compared simulations; empty for a single one.
    pub title: String,
    /// The step's plots, as indices of the run's metrics; none for one that the landscape lacks.
    pub show: Vec<Option<usize>>,
    /// The settings in force.
    pub spec: SimulationSpec,
}

/// Plans the runs of a lesson that fits its simulation, and the parts that its steps show.
///
/// # Errors
///
/// Fails if the settings of a step or of a simulation that it compares do not fit.
pub(super) fn plan(preset: &LandscapePreset) -> Result<(Vec<RunPlan>, Vec<StepPlan>), SettingError> {
    let (mut runs, mut steps): (Vec<RunPlan>, Vec<StepPlan>) = (Vec::new(), Vec::new());
    for (index, step) in preset.lesson.iter().enumerate() {
        let shown = preset.simulations_at(index)?;
        let pause = shown[0].spec.steps;
        let before = steps.last().filter(|before| continues(step, &shown, before));
        let (from, to) = match before {
            None => (0, pause.unwrap_or(LandscapePreset::DEFAULT_STEPS)),
            Some(before) => {
                let from = if preset.lesson[index - 1].play { before.to } else { before.from };
                let pause = pause.unwrap_or(before.to.max(LandscapePreset::DEFAULT_STEPS));
                (from, if step.set.is_empty() { before.to } else { pause.max(from) })
            }
        };
        let first = match before {
            Some(before) => before.panes[0].run,
            None => {
                runs.extend(shown.iter().map(|it| RunPlan::new(&it.spec, to)));
                runs.len() - shown.len()
            }
        };
        for (run, it) in runs[first..].iter_mut().zip(&shown) {
            run.extend_to(to, it.spec.steps);
        }
        steps.push(StepPlan { from, to, panes: panes(shown, &mut runs[first..], first, &step.show) });
    }
    thin(&mut runs);
    Ok((runs, steps))
}

/// Whether a step shows the runs of the previous step, whatever their pauses.
fn continues(step: &LessonStep, shown: &[TitledSimulation], before: &StepPlan) -> bool {
    let is_same = |(now, before): (&TitledSimulation, &PanePlan)| {
        SimulationSpec { steps: before.spec.steps, ..now.spec.clone() } == before.spec
    };
    let is_same_comparison = shown.len() == before.panes.len() && shown.iter().zip(&before.panes).skip(1).all(is_same);
    is_same_comparison && (step.set.is_empty() || step.goes_on())
}

/// Makes the panes of simulations, whose runs are `runs`, the first of which has the index `first`.
fn panes(
    shown: Vec<TitledSimulation>,
    runs: &mut [RunPlan],
    first: usize,
    plots: &[DiagnosticMetric],
) -> Vec<PanePlan> {
    let titles = match shown.len() {
        1 => vec![String::new()],
        _ => titles_side_by_side(&shown),
    };
    let with_runs = shown.into_iter().zip(titles).zip(runs).zip(first..);
    let pane = |(((shown, title), run), index): (((TitledSimulation, String), &mut RunPlan), usize)| PanePlan {
        run: index,
        title,
        show: run.metrics_of(plots),
        spec: shown.spec,
    };
    with_runs.map(pane).collect()
}

impl RunPlan {
    fn new(spec: &SimulationSpec, end: u64) -> RunPlan {
        RunPlan { spec: spec.clone(), continued: Vec::new(), end, stride: 1, particles: 1, metrics: Vec::new() }
    }

    /// Continues the run to a step if it ends earlier, with this setting of the next pause.
    fn extend_to(&mut self, end: u64, pause: Option<u64>) {
        if end > self.end {
            self.continued.push((self.end, pause));
            self.end = end;
        }
    }

    /// Finds the indices of a step's plots among the metrics, and adds new ones. A step that names no plot shows the
    /// loss.
    fn metrics_of(&mut self, named: &[DiagnosticMetric]) -> Vec<Option<usize>> {
        let shown = if named.is_empty() { &[DiagnosticMetric::Loss] } else { named };
        shown.iter().map(|metric| self.index_of(*metric)).collect()
    }

    fn index_of(&mut self, metric: DiagnosticMetric) -> Option<usize> {
        metric.info(&self.spec.landscape)?;
        let known = self.metrics.iter().position(|known| *known == metric);
        Some(known.unwrap_or_else(|| {
            self.metrics.push(metric);
            self.metrics.len() - 1
        }))
    }
}

/// Chooses which steps and how many particles are recorded, so that a page stays small.
fn thin(runs: &mut [RunPlan]) {
    let optimizers = |run: &RunPlan| run.spec.optimizers.iter().filter(|optimizer| optimizer.enabled).count() as u64;
    let all: u64 = runs.iter().map(optimizers).sum();
    let frames = (POSITIONS / (THINNED_FOR * all.max(1))).clamp(FRAMES[0], FRAMES[1]);
    for run in &mut *runs {
        run.stride = run.end.div_ceil(frames).max(1);
    }
    let recorded = |run: &RunPlan| optimizers(run) * (run.end.div_ceil(run.stride) + 1);
    let positions = runs.iter().map(recorded).sum::<u64>().max(1);
    let others: u64 = runs.iter().map(|run| recorded(run) * (1 + 2 * run.metrics.len() as u64)).sum();
    let room = RECORDED.saturating_sub(others + ROOM_OF_LANDSCAPE * landscapes(runs).saturating_sub(LANDSCAPES));
    let particles = (POSITIONS.min(room) / positions).max(1) as usize;
    for run in runs {
        run.particles = run.spec.particles.get().min(particles);
    }
}

fn landscapes(runs: &[RunPlan]) -> u64 {
    let mut known: Vec<LandscapeSpec> = Vec::new();
    for run in runs {
        if !known.contains(&run.spec.landscape) {
            known.push(run.spec.landscape);
        }
    }
    known.len() as u64
}

/// A run as far as it has been recorded.
#[derive(Clone, Debug)]
pub(super) struct Recording {
    pub plan: RunPlan,
    /// The enabled optimizers, in their order.
    pub ensembles: Vec<EnsembleRecording>,
    pub frames: usize,
}

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

    /// Records the simulation's current step if it is one of the recorded, and continues the run if it pauses here.
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
