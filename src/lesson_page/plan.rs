//! The runs that a lesson consists of, and the parts of them that its steps show.

use valleyscope_engine::landscape::LandscapeSpec;
use valleyscope_engine::simulation::{SettingError, SimulationSpec};
use valleyscope_experiments::preset::{LandscapePreset, LessonStep, TitledSimulation, titles_side_by_side};
use valleyscope_experiments::view::DiagnosticMetric;

/// The largest number of recorded steps of a run, and the smallest to which many runs are thinned.
const FRAMES: [u64; 2] = [50, 4000];
/// The largest number of recorded positions of a page, of all runs together.
const POSITIONS: u64 = 750_000;
/// The largest number of recorded positions, means and points of plots of a page together. A point of a plot counts
/// twice, as plots have more noise than paths.
const RECORDED: u64 = 875_000;
/// The landscapes of a page for which that leaves room, and the number by which each further one lowers it: its contour
/// lines take as much room.
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
    /// The step at which the runs are when the lesson's step is shown.
    pub from: u64,
    pub to: u64,
    /// The step's own simulation, and those beside it.
    pub panes: Vec<PanePlan>,
}

/// A simulation that a step of the lesson shows.
#[derive(Clone, Debug)]
pub(super) struct PanePlan {
    pub run: usize,
    /// The title among the simulations side by side; empty for one alone.
    pub title: String,
    /// The step's plots, as indices of the run's metrics; none for one that the landscape lacks.
    pub show: Vec<Option<usize>>,
    /// The settings in force.
    pub spec: SimulationSpec,
}

/// Returns the runs of a lesson that fits its simulation, and the parts that its steps show.
///
/// # Errors
///
/// Returns an error if the settings of a simulation beside that of a step do not fit it.
pub(super) fn plan(preset: &LandscapePreset) -> Result<(Vec<RunPlan>, Vec<StepPlan>), SettingError> {
    let (mut runs, mut steps): (Vec<RunPlan>, Vec<StepPlan>) = (Vec::new(), Vec::new());
    for (index, step) in preset.lesson.iter().enumerate() {
        let own = preset.simulation_at(index)?;
        let beside = preset.beside_at(index, &own)?;
        let shown: Vec<TitledSimulation> =
            std::iter::once(TitledSimulation { title: None, spec: own }).chain(beside).collect();
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

/// Returns whether a step shows the runs of the one before it, whatever their pauses.
fn continues(step: &LessonStep, shown: &[TitledSimulation], before: &StepPlan) -> bool {
    let is_same = |(now, before): (&TitledSimulation, &PanePlan)| {
        SimulationSpec { steps: before.spec.steps, ..now.spec.clone() } == before.spec
    };
    let is_same_beside = shown.len() == before.panes.len() && shown.iter().zip(&before.panes).skip(1).all(is_same);
    is_same_beside && (step.set.is_empty() || step.goes_on())
}

/// Returns the panes of simulations, whose runs are `runs`, the first of which has the index `first`.
fn panes(
    shown: Vec<TitledSimulation>,
    runs: &mut [RunPlan],
    first: usize,
    plots: &[DiagnosticMetric],
) -> Vec<PanePlan> {
    let titles = match shown.len() {
        1 => vec![String::new()],
        _ => titles_side_by_side(shown.iter().map(|it| (it.title.as_deref(), &it.spec))),
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

    /// Continues the run to a step if it ends before it, with this setting of the next pause.
    fn extend_to(&mut self, end: u64, pause: Option<u64>) {
        if end > self.end {
            self.continued.push((self.end, pause));
            self.end = end;
        }
    }

    /// Returns the indices of a step's plots among the metrics, to which new ones are added. A step that names no plot
    /// shows the loss.
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

/// Returns the number of different landscapes.
fn landscapes(runs: &[RunPlan]) -> u64 {
    let mut known: Vec<LandscapeSpec> = Vec::new();
    for run in runs {
        if !known.contains(&run.spec.landscape) {
            known.push(run.spec.landscape);
        }
    }
    known.len() as u64
}
