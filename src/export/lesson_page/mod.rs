//! A lesson as one HTML page that needs neither the program nor a network.
//!
//! The page holds recorded trajectories of every step of a lesson and of the simulations beside it, computed with the
//! random numbers of the window, the landscapes as pictures with contour lines, the plots and figures that the steps
//! name, the rules' formulas, and the preset. Its layout and its player are in `assets/lesson/`; equal presets give
//! equal bytes.

mod background;
pub mod figures;
mod page;

use std::collections::VecDeque;

use background::LandscapePicture;
use figures::{LessonPictureError, PageFigure};
use valleyscope_engine::landscape::LandscapeSpec;
use valleyscope_engine::simulation::{PlotRequest, Setting, SettingError, Simulation, SimulationSpec};
use valleyscope_engine::spec_error::SpecError;
use valleyscope_experiments::preset::{LandscapePreset, LessonStep, TitledSimulation, titles_side_by_side};
use valleyscope_experiments::view::DiagnosticMetric;

use crate::draw::{FigureError, Paths};

/// The reason why a preset has no lesson page.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum LessonPageError {
    #[error(
        "expected a preset with a lesson, found one without; write its steps into `lesson: […]`, as `valleyscope presets \
         show lesson` explains"
    )]
    NoLesson,
    #[error("the lesson does not fit the simulation: {0}")]
    Misfit(SpecError),
    #[error("a simulation of the lesson cannot be made: {0}")]
    Setting(#[from] SettingError),
    #[error(transparent)]
    Picture(#[from] FigureError),
    #[error(transparent)]
    Figure(#[from] LessonPictureError),
}

/// A lesson's page, as far as its runs have been computed.
pub struct LessonPage {
    preset: LandscapePreset,
    steps: Vec<StepPlan>,
    /// The runs that have not begun.
    waiting: VecDeque<RunPlan>,
    /// The run under way.
    current: Option<(Simulation, Recording)>,
    done: Vec<Recording>,
    taken: u64,
    total: u64,
}

impl LessonPage {
    /// Returns a lesson's page at the start of its first run.
    ///
    /// # Errors
    ///
    /// Returns an error for a preset without a lesson, and for a lesson that does not fit its simulation.
    pub fn new(preset: &LandscapePreset) -> Result<LessonPage, LessonPageError> {
        if preset.lesson.is_empty() {
            return Err(LessonPageError::NoLesson);
        }
        if let Some(misfit) = preset.lesson_misfit() {
            return Err(LessonPageError::Misfit(misfit));
        }
        let (runs, steps) = plan(preset)?;
        // A lesson may pause after more steps than can be taken.
        let total = runs.iter().map(|run| run.end).fold(0, u64::saturating_add);
        let mut page = LessonPage {
            preset: preset.clone(),
            steps,
            waiting: runs.into(),
            current: None,
            done: Vec::new(),
            taken: 0,
            total,
        };
        page.begin();
        Ok(page)
    }

    /// Returns the number of steps of all runs.
    pub fn steps(&self) -> u64 {
        self.total
    }

    /// Returns the number of steps taken.
    pub fn step(&self) -> u64 {
        self.taken
    }

    pub fn is_complete(&self) -> bool {
        self.current.is_none()
    }

    /// Takes a step of the run under way.
    pub fn advance(&mut self) {
        let Some((simulation, recording)) = &mut self.current else { return };
        simulation.advance();
        recording.keep(simulation);
        self.taken += 1;
        if recording.is_complete(simulation) {
            self.done.extend(self.current.take().map(|(_, recording)| recording));
            self.begin();
        }
    }

    /// Begins the next run. One without steps is complete at once.
    fn begin(&mut self) {
        while let Some(plan) = self.waiting.pop_front() {
            let mut simulation = Simulation::new(plan.spec.clone());
            let mut recording = Recording::new(plan, &simulation);
            recording.keep(&mut simulation);
            if !recording.is_complete(&simulation) {
                self.current = Some((simulation, recording));
                return;
            }
            self.done.push(recording);
        }
    }

    /// Returns the page of the completed runs.
    ///
    /// # Errors
    ///
    /// Fails if the landscape's picture or a figure cannot be made.
    pub fn to_html(&self) -> Result<String, LessonPageError> {
        let grounds = LandscapePicture::of(&self.preset, &self.steps, &self.done)?;
        let figures = PageFigure::of(&self.preset.lesson)?;
        Ok(page::html(&self.preset, &self.steps, &self.done, &grounds, &figures))
    }
}

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
struct RunPlan {
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
struct StepPlan {
    /// The step at which the runs are when the lesson's step is shown.
    pub from: u64,
    pub to: u64,
    /// The step's own simulation, and those with which it is compared.
    pub panes: Vec<PanePlan>,
}

/// A simulation that a step of the lesson shows.
#[derive(Clone, Debug)]
struct PanePlan {
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
/// Returns an error if the settings of a step or of a simulation that it compares do not fit.
fn plan(preset: &LandscapePreset) -> Result<(Vec<RunPlan>, Vec<StepPlan>), SettingError> {
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

/// A run as far as it has been recorded.
#[derive(Clone, Debug)]
struct Recording {
    pub plan: RunPlan,
    /// The enabled optimizers, in their order.
    pub ensembles: Vec<EnsembleRecording>,
    /// The number of recorded steps.
    pub frames: usize,
}

/// The record of an optimizer.
#[derive(Clone, Debug)]
struct EnsembleRecording {
    pub mean: Vec<[f64; 2]>,
    /// The paths of the first particles.
    pub particles: Vec<Vec<[f64; 2]>>,
    /// The mean and the deviation over all particles, of each of the plan's metrics.
    pub metrics: Vec<Vec<[f64; 2]>>,
}

impl EnsembleRecording {
    fn paths(&self) -> Paths<'_> {
        (&self.mean, &self.particles)
    }
}

impl Recording {
    fn new(plan: RunPlan, simulation: &Simulation) -> Recording {
        let empty = EnsembleRecording {
            mean: Vec::new(),
            particles: vec![Vec::new(); plan.particles],
            metrics: vec![Vec::new(); plan.metrics.len()],
        };
        Recording { ensembles: vec![empty; simulation.ensembles().len()], plan, frames: 0 }
    }

    fn is_complete(&self, simulation: &Simulation) -> bool {
        simulation.step() >= self.plan.end
    }

    /// Records the simulation's present step if it is one of the recorded, and continues the run if it pauses here.
    fn keep(&mut self, simulation: &mut Simulation) {
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
