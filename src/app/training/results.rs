//! The results of the chosen runs over the settings that vary among them.

use std::sync::Arc;

use egui::{ComboBox, Label, RichText, ScrollArea, Sense, TextStyle, Ui, vec2};
use valleyscope_runs::RunFolder;

use super::panel::TrainingPanel;
use super::summary::Summary;
use crate::app::shell::actions::{Action, Requests};
use crate::app::widgets::form;
use crate::app::widgets::form::with_quotes;
use crate::app::widgets::icons::draw_marker;
use crate::app::widgets::plot::{describe, readout};
use crate::app::widgets::theme;
use crate::draw::{Axis, Canvas, Figure, GridPlots, ParallelAxes};
use crate::runs::{Format, GridAxes, GridResult, RunFacts};

/// The choice between curves and results, and the results as they were last arranged.
#[derive(Clone, Debug, Default)]
pub(super) struct ResultsView {
    /// Whether results are shown instead of curves.
    pub is_open: bool,
    axes: GridAxes,
    is_parallel: bool,
    made: Option<MadeResults>,
}

#[derive(Clone, Debug)]
struct MadeResults {
    generation: u64,
    runs: Vec<RunFolder>,
    axes: GridAxes,
    result: Result<Arc<GridResult>, String>,
}

/// The width of a list of settings, and the smallest height of a plot, in points.
const LIST_WIDTH: f32 = 130.0;
const LEAST_HEIGHT: f32 = 130.0;

impl ResultsView {
    /// Makes the figure of the shown picture.
    pub(super) fn figure(&self, result: &GridResult) -> Figure {
        if self.is_parallel { Figure::parallel(result, Vec::new()) } else { Figure::grid(result, Vec::new()) }
    }
}

impl TrainingPanel {
    /// Shows the choice between curves and results of several runs, and the results; returns whether these are shown.
    pub(super) fn results(&mut self, ui: &mut Ui, runs: &[RunFolder], requests: &mut Requests) -> bool {
        if runs.len() < 2 {
            return false;
        }
        ui.horizontal_wrapped(|ui| {
            ui.selectable_value(&mut self.results.is_open, false, "Curves");
            let help = "The last results of the finished runs over a setting that varies among them";
            ui.selectable_value(&mut self.results.is_open, true, "Results").on_hover_text(help);
            if self.results.is_open {
                self.arrange(runs);
                self.results_tools(ui, requests);
            }
        });
        if !self.results.is_open {
            return false;
        }
        match self.results.made.as_ref().map(|made| made.result.clone()) {
            Some(Ok(result)) => show(ui, &result, self.results.is_parallel),
            Some(Err(why)) => {
                ui.centered_and_justified(|ui| ui.weak(format!("No results yet: {why}.")));
            }
            None => {}
        }
        true
    }

    /// Returns the results if they are shown instead of curves.
    pub(super) fn shown_results(&self) -> Option<Arc<GridResult>> {
        let made = self.results.made.as_ref().filter(|_| self.results.is_open)?;
        made.result.as_ref().ok().cloned()
    }

    fn arrange(&mut self, runs: &[RunFolder]) {
        let (generation, axes) = (self.listed.generation, &self.results.axes);
        let made = self.results.made.as_ref();
        if made.is_some_and(|it| (it.generation, &it.axes, &it.runs[..]) == (generation, axes, runs)) {
            return;
        }
        let mut found: Vec<&Summary> = runs.iter().filter_map(|run| self.listed.find(run.path())).collect();
        // Runs of a grid have numbered names, and many begin in the same second.
        found.sort_by_cached_key(|summary| {
            let name = summary.run.name();
            (summary.facts.number("began").unwrap_or(0.0) as u64, name.len(), name)
        });
        let facts: Vec<&RunFacts> = found.into_iter().map(|summary| &summary.facts).collect();
        let title = runs.first().and_then(|run| Some(self.listed.find(run.path())?.title.clone()));
        let result = GridResult::of(&title.unwrap_or_default(), &facts, axes).map(Arc::new);
        let (axes, runs) = (axes.clone(), runs.to_vec());
        self.results.made = Some(MadeResults { generation, runs, axes, result });
    }

    fn results_tools(&mut self, ui: &mut Ui, requests: &mut Requests) {
        let result = self.shown_results();
        let ResultsView { axes, is_parallel, .. } = &mut self.results;
        if let Some(result) = result {
            let list =
                |ui: &mut Ui, label: &str, shown: &str, other: &mut Option<String>, chosen: &mut Option<String>| {
                    ui.label(label);
                    let list = ComboBox::from_id_salt(label).selected_text(shown).width(LIST_WIDTH);
                    let list = list.show_ui(ui, |ui| {
                        for column in &result.varied {
                            if ui.selectable_label(shown == column.word(), column.word()).clicked() {
                                *chosen = Some(column.field.clone());
                                // A setting is one of the two axes only.
                                other.take_if(|other| *other == column.field);
                            }
                        }
                    });
                    list.response.accessible_name(label);
                };
            if !*is_parallel {
                list(ui, "over", &result.x.word(), &mut axes.best_over, &mut axes.x);
                if let Some(best_over) = &result.best_over {
                    list(ui, "at the best", &best_over.word(), &mut axes.x, &mut axes.best_over);
                }
            }
            if result.varied.len() > 1 {
                form::check_box(ui, is_parallel, "Parallel axes");
            }
            if ui.button("Export…").accessible_name("Export the results").clicked() {
                requests.actions.push(Action::Export(None));
            }
        } else if *axes != GridAxes::default() && ui.button("Usual axes").clicked() {
            *axes = GridAxes::default();
        }
    }
}

fn show(ui: &mut Ui, result: &GridResult, is_parallel: bool) {
    let [finished, all] = result.counts;
    let count = if finished < all { format!("{finished} of {all} runs have finished. ") } else { String::new() };
    let marks = match is_parallel {
        true => "; the thick line is the best",
        false => ", with the standard error over seeds; rings mark the best",
    };
    let about = format!("{count}Last {}{marks}", result.result.title);
    ui.add(Label::new(RichText::new(about).small().weak()).wrap());
    if !is_parallel {
        legend(ui, result);
    }
    for remark in result.remarks.iter().take(3) {
        ui.add(Label::new(RichText::new(with_quotes(remark)).small()).wrap());
    }
    ScrollArea::vertical().auto_shrink(false).id_salt("results").show(ui, |ui| {
        if is_parallel {
            return parallel(ui, result);
        }
        let plots = GridPlots::of(result);
        let share = (ui.available_height() - 4.0) / plots.plots.len() as f32;
        for index in 0..plots.plots.len() {
            plot(ui, result, &plots, index, share.max(LEAST_HEIGHT));
        }
    });
}

fn legend(ui: &mut Ui, result: &GridResult) {
    ui.horizontal_wrapped(|ui| {
        for curve in &result.curves {
            let color = theme::drawing(ui, &TextStyle::Small).background;
            let color = crate::draw::rgb(valleyscope_experiments::view::contrasting(curve.color, color));
            let (area, _) = ui.allocate_exact_size(vec2(12.0, 12.0), Sense::hover());
            ui.painter().add(draw_marker(curve.marker, area.center(), 4.0, color, color));
            ui.label(RichText::new(&curve.name).small());
        }
    });
}

fn plot(ui: &mut Ui, result: &GridResult, plots: &GridPlots, index: usize, height: f32) {
    let (area, response) = ui.allocate_exact_size(vec2(ui.available_width(), height), Sense::hover());
    let canvas = Canvas { painter: ui.painter_at(area), style: theme::drawing(ui, &TextStyle::Small) };
    let left = plots.plots[index].gutter(&canvas, height);
    let title = if plots.plots[index].title.is_some() { 1.4 * canvas.style.em } else { 6.0 };
    let panel = area.with_min_x(area.left() + left).with_max_x(area.right() - 12.0);
    let panel = panel.with_min_y(area.top() + title).with_max_y(area.bottom() - Axis::depth(canvas.style.em) - 4.0);
    plots.draw_plot(&canvas, index, panel, left, true);
    let nearest = response.hover_pos().and_then(|at| plots.nearest(f64::from((at.x - panel.left()) / panel.width())));
    if let Some(tick) = nearest {
        let title = format!("{} {}", result.x.title, result.ticks[tick].1);
        readout(&response, &title, None, |ui| {
            for curve in &result.curves {
                ui.label(&curve.name);
                ui.label(
                    curve.points[tick].as_ref().map_or_else(|| "no result".to_owned(), |point| result.text(point)),
                );
                ui.end_row();
            }
        });
    }
    if let Some(title) = &plots.plots[index].title {
        describe(&response, &format!("Plot of the improvement of {title}, in %"), || plots.values_text(index));
        return;
    }
    describe(&response, &format!("Plot of {} over {}", result.result.title, result.x.word()), || {
        let curves = result.curves.iter().map(|curve| {
            let points = curve.points.iter().zip(&result.ticks);
            let points =
                points.filter_map(|(point, (_, tick))| Some(format!("{tick}: {}", result.text(point.as_ref()?))));
            format!("{} {}", curve.name, points.collect::<Vec<_>>().join(", ")).trim_start().to_owned()
        });
        curves.collect::<Vec<_>>().join("; ")
    });
}

fn parallel(ui: &mut Ui, result: &GridResult) {
    let height = (ui.available_height() - 8.0).max(LEAST_HEIGHT);
    let (area, response) = ui.allocate_exact_size(vec2(ui.available_width(), height), Sense::hover());
    let canvas = Canvas { painter: ui.painter_at(area), style: theme::drawing(ui, &TextStyle::Small) };
    let axes = ParallelAxes::of(result);
    let [left, right] = axes.margins(&canvas, height);
    let panel = area.with_min_x(area.left() + left).with_max_x(area.right() - right).shrink2(vec2(0.0, 8.0));
    axes.draw(&canvas, panel);
    describe(&response, "Combinations of settings and their results on parallel axes", || {
        let best =
            result.rows.iter().filter(|(_, it)| it.mean.is_finite()).min_by(|a, b| a.1.mean.total_cmp(&b.1.mean));
        best.map_or_else(String::new, |(_, best)| format!("best {}", Format::Measured.number(best.mean)))
    });
}
