//! The table of the steps and times at which the shown runs reach a loss, relative to one of them.

use std::sync::Arc;

use egui::{Grid, Label, RichText, ScrollArea, Ui};
use valleyscope_experiments::view::crossing::{Crossing, common_level, first_crossing, speedup};
use valleyscope_experiments::view::ticks::{grouped, significant};
use valleyscope_runs::{Better, MetricId, MetricInfo, MetricSource, RunFolder};

use super::legend::line;
use super::named_curves::NamedCurves;
use super::track::Track;
use crate::app::boxes::Outlined;
use crate::app::form::{small_button, visible_scroll_bar};
use crate::app::number;
use crate::app::typed::TypedField;

/// The largest height of the table, in points, and as a part of the height that the plots leave it.
const HIGHEST: f32 = 150.0;
const HIGHEST_PART: f32 = 0.25;
/// The largest height of the table in a low window, in points.
const LOWEST: f32 = 60.0;

/// The state of the table.
#[derive(Default)]
pub(super) struct TimeToLoss {
    pub is_open: bool,
    /// The typed loss, in place of the loss that all runs reach.
    typed: Option<f64>,
    /// The first run of the baseline's group, in place of the slowest group.
    baseline: Option<RunFolder>,
    found: Option<Crossings>,
}

/// The crossings of the loss in these tracks.
struct Crossings {
    metric: MetricId,
    typed: Option<f64>,
    tracks: Vec<Option<Arc<Track>>>,
    /// The loss; `None` where there is none that all runs reach.
    level: Option<f64>,
    crossings: Vec<Option<Crossing>>,
}

impl Crossings {
    fn of(metric: MetricId, typed: Option<f64>, tracks: Vec<Option<Arc<Track>>>) -> Crossings {
        let level = typed.or_else(|| {
            let curves: Option<Vec<_>> = tracks.iter().map(|track| Some(track.as_ref()?.points())).collect();
            common_level(curves?)
        });
        let crossings = tracks.iter().map(|track| first_crossing(track.as_ref()?.points(), level?)).collect();
        Crossings { metric, typed, tracks, level, crossings }
    }

    fn holds(&self, metric: MetricId, typed: Option<f64>, tracks: &[Option<Arc<Track>>]) -> bool {
        let is_same = |(a, b): (&Option<Arc<Track>>, &Option<Arc<Track>>)| match (a, b) {
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            (a, b) => a.is_none() && b.is_none(),
        };
        (self.metric, self.typed, self.tracks.len()) == (metric, typed, tracks.len())
            && self.tracks.iter().zip(tracks).all(is_same)
    }

    /// Returns the group that takes the most steps.
    fn slowest(&self) -> Option<usize> {
        let steps = |index: &usize| self.crossings[*index].map(|crossing| crossing.step);
        let known = (0..self.crossings.len()).filter(|index| steps(index).is_some());
        known.max_by(|a, b| steps(a).unwrap_or(0.0).total_cmp(&steps(b).unwrap_or(0.0)))
    }
}

impl TimeToLoss {
    /// Returns the loss to reach, if it is one of this metric.
    pub(super) fn level(&self, metric: MetricId) -> Option<f64> {
        self.found.as_ref().filter(|found| self.is_open && found.metric == metric)?.level
    }

    /// Shows the table of these groups, whose known metrics are `infos`.
    pub(super) fn ui(&mut self, ui: &mut Ui, groups: &[NamedCurves<'_>], infos: &[MetricInfo]) {
        if !self.is_open || groups.is_empty() {
            return;
        }
        let Some((info, metric)) = compared(groups, infos) else {
            self.found = None;
            ui.weak("The runs have no losses so far.");
            return;
        };
        let tracks: Vec<_> = groups.iter().map(|group| group.drawn.tracks.get(&metric).cloned()).collect();
        if !self.found.as_ref().is_some_and(|found| found.holds(metric, self.typed, &tracks)) {
            self.found = Some(Crossings::of(metric, self.typed, tracks));
        }
        self.head(ui, info);
        let Some(found) = &self.found else { return };
        let chosen = groups.iter().position(|group| self.baseline.as_ref() == Some(&group.drawn.runs[0]));
        let baseline = chosen.filter(|index| found.crossings[*index].is_some()).or_else(|| found.slowest());
        let mut choice = None;
        let highest = (HIGHEST_PART * ui.available_height()).clamp(LOWEST, HIGHEST);
        ui.scope(|ui| {
            visible_scroll_bar(ui);
            ScrollArea::both().max_height(highest).auto_shrink([false, true]).id_salt("reaching a loss").show(
                ui,
                |ui| {
                    Grid::new("reaching a loss").num_columns(5).spacing([14.0, 3.0]).show(ui, |ui| {
                        for (index, group) in groups.iter().enumerate() {
                            let baseline = baseline.map(|it| (it == index, found.crossings[it]));
                            if row(ui, group, found.crossings[index], baseline) {
                                choice = Some(group.drawn.runs[0].clone());
                            }
                            ui.end_row();
                        }
                    });
                },
            );
        });
        self.baseline = choice.or(self.baseline.take());
    }

    /// Shows the loss to reach.
    fn head(&mut self, ui: &mut Ui, info: &MetricInfo) {
        let level = self.found.as_ref().and_then(|found| found.level);
        ui.horizontal(|ui| {
            ui.label(RichText::new(format!("{} of", info.title)).small());
            let shown = level.map_or_else(String::new, |level| significant(level, 5));
            let field = TypedField { name: "Loss to reach", width: 64.0 };
            let typed = field.show(ui, &shown, number::read);
            self.typed = typed.entered.or(self.typed);
            let help = "The largest of the runs' smallest losses";
            if small_button(ui, self.typed.is_some(), "All reach it", "The lowest loss that all runs reach", help) {
                self.typed = None;
            }
            ui.label(RichText::new("Compared with the slowest run, or with the chosen one").small().weak());
        });
    }
}

/// Returns the loss by which the groups are compared: an evaluation on other data than those of training, if all groups
/// have it, else the training loss.
fn compared<'i>(groups: &[NamedCurves<'_>], infos: &'i [MetricInfo]) -> Option<(&'i MetricInfo, MetricId)> {
    let losses = infos.iter().filter(|info| info.better == Better::Lower);
    let losses = losses.filter_map(|info| Some((info, info.metric()?)));
    let is_evaluated = |(info, metric): &(&MetricInfo, MetricId)| {
        let is_known = groups.iter().all(|group| group.drawn.tracks.contains_key(metric));
        info.source == MetricSource::Evaluation && *metric != MetricId::TRAIN_LOSS && is_known
    };
    losses.clone().find(is_evaluated).or_else(|| losses.clone().find(|(_, metric)| *metric == MetricId::LOSS))
}

/// Shows the row of a group and its relation to the baseline; returns whether the user chose it as the baseline.
fn row(
    ui: &mut Ui,
    group: &NamedCurves<'_>,
    crossing: Option<Crossing>,
    baseline: Option<(bool, Option<Crossing>)>,
) -> bool {
    let (is_baseline, of_baseline) = baseline.unwrap_or_default();
    let name = group.name.whole();
    let is_chosen = ui
        .horizontal(|ui| {
            let radio = ui.add_enabled(crossing.is_some(), Outlined(egui::RadioButton::new(is_baseline, "")));
            let radio = radio.on_hover_text("Compare with this one").accessible_name(format!("Compare with {name}"));
            line(ui, group.pen);
            ui.add(Label::new(RichText::new(name).small()).extend());
            radio.clicked()
        })
        .inner;
    let Some(crossing) = crossing else {
        ui.label(RichText::new("does not reach it").small().weak());
        return is_chosen;
    };
    let mut cell = |text: String| drop(ui.label(RichText::new(text).small()));
    cell(format!("step {}", grouped(crossing.step.round() as u64)));
    cell(duration(crossing.wall_s));
    if let Some(baseline) = of_baseline.filter(|_| !is_baseline) {
        cell(speedup(baseline.step, crossing.step, ["fewer steps", "more steps"]));
        cell(speedup(baseline.wall_s, crossing.wall_s, ["less time", "more time"]));
    }
    is_chosen
}

/// Formats a duration such as `12.5 s` or `1:02:03`.
fn duration(seconds: f64) -> String {
    if seconds < 100.0 {
        return format!("{seconds:.1} s");
    }
    let whole = seconds.round() as u64;
    format!("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60)
}
