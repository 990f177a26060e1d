//! The figure of a run's plots: its metrics over the steps, with a curve for each optimizer.

use std::collections::BTreeSet;
use std::sync::Arc;

use valleyscope_engine::simulation::Bucket;
use valleyscope_experiments::view::range::{CurvePlaces, suited, whole};
use valleyscope_experiments::view::ticks::grouped;
use valleyscope_experiments::view::{AxisScale, Band, Dash, DiagnosticInfo, DiagnosticMetric, Pen};

use super::Figure;
use super::curves::{CurveAxis, CurveLines, CurveMark, CurvePlot, Curves};
use super::map::Swatch;
use super::svg::CREATOR;
use super::trajectories::{RunCurve, Trajectories};
use crate::setting_marks::{SettingMarks, text};

/// The part of the axis of steps within which changed settings share a mark.
const NEAR: f64 = 0.02;

/// The plots of a run and their options.
#[derive(Clone, Debug, PartialEq)]
pub struct RunPlots {
    /// The plots, in their order.
    pub metrics: Vec<DiagnosticMetric>,
    /// The metrics on a logarithmic axis.
    pub log: BTreeSet<DiagnosticMetric>,
    pub log_steps: bool,
    pub band: Band,
    /// Whether the vertical axes hold all values, those of diverged optimizers too.
    pub whole_range: bool,
}

impl RunPlots {
    fn horizontal(&self) -> AxisScale {
        if self.log_steps { AxisScale::Log } else { AxisScale::Linear }
    }
}

impl Figure {
    /// Returns a figure of the plots of a run, as far as it has been run. Marks show where a setting was changed, with
    /// the changes below. A metric that the landscape of the preset's own run lacks has no plot.
    pub fn run_plots(trajectories: &Trajectories, plots: &RunPlots) -> Figure {
        let runs = trajectories.curves(plots.log_steps);
        let scale = plots.horizontal();
        let last = trajectories.step().max(1) as f64;
        let range = if plots.log_steps { [0.0, last.max(10.0).log10()] } else { [0.0, last] };
        let names = runs.iter().enumerate().map(|(index, run)| {
            let is_alike = |other: &&RunCurve| (other.run, other.color) == (run.run, run.color);
            let pen = Pen::new(run.color, runs[..index].iter().filter(is_alike).count());
            (run.name.clone(), if run.run == 0 { pen } else { pen.dashed(Dash::SIDE_BY_SIDE[run.run]) })
        });
        let marks = marks(trajectories, scale, range);
        let lines = |(index, (_, text)): (usize, &(f64, String))| format!("{}: {text}", index + 1);
        let notes: Vec<String> = marks.iter().enumerate().map(lines).collect();
        let mark =
            |(index, (place, _)): (usize, &(f64, String))| CurveMark { place: *place, label: (index + 1).to_string() };
        let landscape = &trajectories.spec().landscape;
        let infos = plots.metrics.iter().filter_map(|metric| Some((*metric, metric.info(landscape)?)));
        let mut figure = Figure::curves(Curves {
            title: trajectories.title().to_owned(),
            specs: vec![trajectories.text()],
            names: names.collect(),
            horizontal: CurveAxis { label: "steps".to_owned(), scale, range },
            plots: infos.map(|(metric, info)| plot(&runs, metric, info, plots)).collect(),
            marks: marks.iter().enumerate().map(mark).collect(),
        });
        figure.about.programs = vec![format!("{CREATOR}, seed {}", trajectories.spec().seed)];
        figure.legend.extend(note_of_band(trajectories, plots.band).map(|text| Swatch { color: None, text }));
        figure.legend.extend(notes.into_iter().map(|text| Swatch { color: None, text }));
        figure
    }
}

fn note_of_band(trajectories: &Trajectories, band: Band) -> Option<String> {
    let particles = trajectories.spec().particles.get();
    let spread = match band {
        Band::Deviation => ", ± 1 standard deviation",
        Band::Extremes => ", from the smallest to the largest",
        Band::Hidden => "",
    };
    (particles > 1).then(|| format!("means of {particles} particles{spread}"))
}

/// Returns the places of changed settings on the axis of steps, with their steps and changes.
fn marks(trajectories: &Trajectories, scale: AxisScale, [from, to]: [f64; 2]) -> Vec<(f64, String)> {
    let mut marks = SettingMarks::default();
    marks.update(&Arc::new(trajectories.record()));
    // The place of step 0 on a logarithmic axis is infinitely far away.
    let place = |step: u64| scale.place(step as f64).max(from - 1.0);
    let groups = marks.groups(place, NEAR * (to - from));
    let shown = groups.filter_map(|group| {
        let [first, last] = [group.first()?.step, group.last()?.step];
        let steps = match first == last {
            true => format!("step {}", grouped(first)),
            false => format!("steps {} to {}", grouped(first), grouped(last)),
        };
        let changes = text(group, |id| trajectories.spec().name_of(id)).replace('\n', ", ");
        Some((place(first), format!("{steps}, {changes}")))
    });
    shown.filter(|(place, _)| (from..=to).contains(place)).collect()
}

fn plot(runs: &[RunCurve], metric: DiagnosticMetric, info: DiagnosticInfo, plots: &RunPlots) -> CurvePlot {
    let stays = |run: &&RunCurve| run.history.last().is_none_or(|bucket| bucket.diverged == 0);
    let any_stays = runs.iter().any(|run| stays(&run));
    let counts = |run: &&RunCurve| !any_stays || stays(run);
    let scale = match (plots.log.contains(&metric), metric.is_positive()) {
        (false, _) => AxisScale::Linear,
        (true, true) => AxisScale::Log,
        (true, false) => {
            let means = runs.iter().filter(counts).flat_map(|run| &run.history).map(|bucket| metric.value(bucket).mean);
            AxisScale::symlog_for(means)
        }
    };
    let curves: Vec<CurveLines> = runs
        .iter()
        .enumerate()
        .map(|(index, run)| lines(index, &run.history, metric, plots.band, [plots.horizontal(), scale]))
        .collect();
    // A curve that runs away while others do not would flatten them.
    let counting = curves.iter().filter(|curve| plots.whole_range || counts(&&runs[curve.index]));
    let places: Vec<CurvePlaces> = counting.map(CurveLines::places).collect();
    let range = if plots.whole_range { whole(&places) } else { suited(&places, scale) };
    let range = if scale == AxisScale::Linear { metric.range(range) } else { range };
    let vertical = CurveAxis { label: info.title.into_owned(), scale, range };
    CurvePlot { vertical, curves }
}

/// Returns the curve of a metric in places, split where it has none.
fn lines(
    index: usize,
    history: &[Bucket],
    metric: DiagnosticMetric,
    band: Band,
    [horizontal, vertical]: [AxisScale; 2],
) -> CurveLines {
    let means = history.iter().map(|bucket| metric.value(bucket).mean_low).filter(|mean| *mean > 0.0);
    let floor = vertical.place(means.fold(f64::INFINITY, f64::min));
    let (mut line, mut ends, mut is_open) = (Vec::<Vec<[f64; 2]>>::new(), Vec::new(), false);
    for bucket in history {
        let value = metric.value(bucket);
        let middle = bucket.first_step as f64 + 0.5 * bucket.steps.saturating_sub(1) as f64;
        let [x, y] = [horizontal.place(middle), vertical.place(value.mean)];
        if !(x.is_finite() && y.is_finite()) {
            is_open &= !x.is_finite();
            continue;
        }
        if !is_open {
            line.push(Vec::new());
            is_open = true;
        }
        if let Some(piece) = line.last_mut() {
            piece.push([x, y]);
        }
        // An end of the band without a place on a logarithmic axis goes to the lowest mean.
        let place = |end: f64| Some(vertical.place(end)).filter(|place| place.is_finite()).unwrap_or(floor);
        ends.extend(band.of(&value).map(|[low, high]| [x, place(low), place(high)]));
    }
    if !is_open && !line.is_empty() {
        // An empty last piece marks where the curve ends early.
        line.push(Vec::new());
    }
    CurveLines { index, raw: Vec::new(), line, band: ends }
}
