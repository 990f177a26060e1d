//! The runs that a lesson consists of, and the parts of them that its steps show.

use valleyscope_engine::simulation::SimulationSpec;
use valleyscope_experiments::preset::LandscapePreset;
use valleyscope_experiments::view::DiagnosticMetric;
/// The largest number of recorded steps of a run, and the smallest to which many runs are thinned.
const FRAMES: [u64; 2] = [50, 4000];
/// The largest number of recorded positions of a page, of all runs together.
const POSITIONS: u64 = 750_000;
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

/// The part of a run that a step of the lesson shows.
#[derive(Clone, Debug)]
pub(super) struct StepPlan {
    pub run: usize,
    /// The step at which the run is when the lesson's step is shown.
    pub from: u64,
    pub to: u64,
    /// The plots, as indices of the run's metrics.
    pub show: Vec<usize>,
    /// The settings in force.
    pub spec: SimulationSpec,
}

/// Returns the runs of a lesson that fits its simulation, and the parts that its steps show.
pub(super) fn plan(preset: &LandscapePreset) -> (Vec<RunPlan>, Vec<StepPlan>) {
    let (mut runs, mut steps): (Vec<RunPlan>, Vec<StepPlan>) = (Vec::new(), Vec::new());
    for (index, step) in preset.lesson.iter().enumerate() {
        let spec = preset.simulation_at(index).expect("the lesson fits the simulation");
        let continues = index > 0 && (step.set.is_empty() || step.goes_on());
        let before = steps.last().filter(|_| continues);
        let (from, to) = match before {
            None => (0, spec.steps.unwrap_or(LandscapePreset::DEFAULT_STEPS)),
            Some(before) => {
                let from = if preset.lesson[index - 1].play { before.to } else { before.from };
                let pause = spec.steps.unwrap_or(before.to.max(LandscapePreset::DEFAULT_STEPS));
                (from, if step.set.is_empty() { before.to } else { pause.max(from) })
            }
        };
        if before.is_none() {
            runs.push(RunPlan {
                spec: spec.clone(),
                continued: Vec::new(),
                end: to,
                stride: 1,
                particles: 1,
                metrics: Vec::new(),
            });
        }
        let run = runs.len() - 1;
        let show = metrics_of(&mut runs[run], &step.show);
        if to > runs[run].end {
            let paused_at = runs[run].end;
            runs[run].continued.push((paused_at, spec.steps));
            runs[run].end = to;
        }
        steps.push(StepPlan { run, from, to, show, spec });
    }
    thin(&mut runs);
    (runs, steps)
}

/// Returns the indices of the plots of a step among the metrics of its run, to which new ones are added. A step that
/// names no plot shows the loss.
fn metrics_of(run: &mut RunPlan, named: &[DiagnosticMetric]) -> Vec<usize> {
    let shown = if named.is_empty() { &[DiagnosticMetric::Loss] } else { named };
    let mut index = |metric: &DiagnosticMetric| {
        run.metrics.iter().position(|known| known == metric).unwrap_or_else(|| {
            run.metrics.push(*metric);
            run.metrics.len() - 1
        })
    };
    shown.iter().map(&mut index).collect()
}

/// Chooses which steps and how many particles are recorded, so that a page stays small.
fn thin(runs: &mut [RunPlan]) {
    let optimizers = |run: &RunPlan| run.spec.optimizers.iter().filter(|optimizer| optimizer.enabled).count() as u64;
    let all: u64 = runs.iter().map(optimizers).sum();
    let frames = (POSITIONS / (THINNED_FOR * all.max(1))).clamp(FRAMES[0], FRAMES[1]);
    for run in &mut *runs {
        run.stride = run.end.div_ceil(frames).max(1);
    }
    let positions: u64 = runs.iter().map(|run| optimizers(run) * (run.end.div_ceil(run.stride) + 1)).sum();
    let particles = (POSITIONS / positions.max(1)).max(1) as usize;
    for run in runs {
        run.particles = run.spec.particles.get().min(particles);
    }
}
