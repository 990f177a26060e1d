//! The plots of the chosen runs, the picture of a scan, and their exports.

use std::fs;
use std::io::Cursor;
use std::sync::Arc;

use egui::{Response, RichText, Sense, TextStyle, Ui, Vec2, vec2};
use valleyscope_experiments::view::ticks::{significant, with_edge};
use valleyscope_experiments::view::{AxisScale, Pen};
use valleyscope_runs::{MetricInfo, RunFolder, RunReader};

use super::charts::ChartAction;
use super::curves::PlotExport;
use super::names::{Name, NamedCurves, ScanColors};
use super::panel::TrainingPanel;
use super::plotter::RunCurves;
use super::summary::{NEUTRAL, Summary};
use super::track::Horizontal;
use super::watcher::WatcherCommand;
use crate::app::shell::actions::Action;
use crate::app::widgets::form::FigureLayout;
use crate::app::widgets::icons::color_swatch;
use crate::app::widgets::plot::{describe, readout};
use crate::app::widgets::theme;
use crate::draw::{Axis, Canvas, CurveAxis, Curves, Figure, Format, ScanPlots};
use crate::export::{CsvCell, CsvWriter, write_csv};
use crate::sweep::result::scan::{NEGLIGIBLE, ScanResult};

impl TrainingPanel {
    /// The title that all curves share, if their names leave it out.
    fn left_out(&self, groups: &[NamedCurves<'_>]) -> Option<String> {
        let title = |group: &NamedCurves<'_>| Some(self.summary(&group.drawn.runs[0])?.title.clone());
        let first = title(groups.first()?)?;
        let is_left_out =
            groups.iter().all(|group| group.name.title.is_empty() && title(group).as_ref() == Some(&first));
        is_left_out.then_some(first)
    }

    fn named_curves<'a>(&self, drawn: &'a RunCurves, name: Name) -> NamedCurves<'a> {
        let first = &drawn.runs[0];
        NamedCurves { name, pen: self.pen(first), is_color_chosen: self.pens.chosen(first).is_some(), drawn }
    }

    pub(super) fn pen(&self, run: &RunFolder) -> Pen {
        self.summary(run).map_or(Pen::new(NEUTRAL, 0), |summary| self.pens.of(summary))
    }

    pub(super) fn plots(&mut self, ui: &mut Ui) {
        if self.selected.is_empty() {
            let Some(newest) = self.listed.runs.first().map(|newest| newest.run.clone()) else {
                ui.centered_and_justified(|ui| ui.weak("Reading the runs…"));
                return;
            };
            ui.vertical_centered(|ui| {
                ui.add_space(0.4 * ui.available_height());
                ui.weak("Choose a run in the list, or several with their boxes, to see their curves.");
                ui.add_space(6.0);
                if ui.add(theme::primary_button(ui, "Show the newest")).clicked() {
                    self.select_only(vec![newest]);
                }
            });
            return;
        }
        let (plotted, chosen) = (self.plotted(), self.selected.len());
        if plotted.is_empty() {
            let text = match chosen {
                1 => "The chosen run does not match the search.".to_owned(),
                count => format!("None of the {count} chosen runs matches the search."),
            };
            ui.centered_and_justified(|ui| ui.weak(text));
            return;
        }
        let note =
            (plotted.len() < chosen).then(|| format!("The search matches {} of {chosen} chosen runs", plotted.len()));
        let names = Arc::clone(&self.curve_names);
        let named = self.drawn.iter().zip(names.iter());
        let groups: Vec<NamedCurves<'_>> = named.map(|(drawn, name)| self.named_curves(drawn, name.clone())).collect();
        // A scan has no curves; the last chosen one hides those of other runs.
        let scan = groups.iter().rev().find(|group| group.drawn.scan.is_some());
        let focus = self.selected.last();
        let scan = scan.filter(|group| group.drawn.runs.last() == focus);
        if let Some(scan) = scan.and_then(|group| group.drawn.scan.as_ref()) {
            let name = focus.and_then(|run| self.summary(run)).map_or_else(|| scan.title.clone(), Summary::in_full);
            let run = focus.cloned();
            let chosen = run.as_ref().map(|run| self.pens.of_scan(run)).unwrap_or_default();
            let shown = scan.recolored(&chosen);
            match show(ui, &shown, &name, &chosen, &mut self.figure_layout) {
                Some(ScanAction::Export(file)) => {
                    let layout = self.figure_layout;
                    self.exports.begin(ui.ctx(), move || file.export(&shown, layout));
                }
                Some(ScanAction::Color(optimizer, color)) => {
                    if let Some(run) = run {
                        self.pens.choose_in_scan(&run, optimizer, color);
                    }
                }
                None => {}
            }
            return;
        }
        self.charts.aliases = Arc::clone(&self.listed.aliases);
        let asked = self.charts.ui(ui, &groups, note.as_deref(), &mut self.figure_layout);
        match asked {
            Some(ChartAction::Differences) => self.show_differences(ui.ctx(), plotted),
            Some(ChartAction::Table) => self.exports.begin(ui.ctx(), move || export_table(&plotted)),
            Some(ChartAction::Figure(format)) => {
                let names = groups.iter().map(|group| (group.name.whole(), group.pen)).collect();
                let title = self.left_out(&groups);
                let picture = CurvesExport { title, names, runs: plotted, plots: self.charts.plots(&groups) };
                let layout = self.figure_layout;
                self.exports.begin(ui.ctx(), move || export_curves(picture, format, layout));
            }
            Some(ChartAction::Color(curve, color)) => {
                let runs = groups[curve].drawn.runs.clone();
                runs.iter().for_each(|run| self.pens.choose(run, color));
                self.sync_selection();
            }
            None => {}
        }
        if let Some((name, shown)) = self.charts.renamed.take() {
            self.threads().jobs.send(WatcherCommand::Alias(name, shown));
        }
    }
}

pub(super) struct CurvesExport {
    /// The common title, if the names leave it out.
    pub title: Option<String>,
    pub names: Vec<(String, Pen)>,
    pub runs: Vec<RunFolder>,
    pub plots: Vec<PlotExport>,
}

impl CurvesExport {
    /// Makes the plots' figure. Its file holds the configs of the runs.
    pub(super) fn figure(self) -> Figure {
        // Runs without a curve have no entry in the legend.
        let is_drawn = |index: usize| self.plots.iter().any(|plot| plot.tracks.iter().any(|(of, _)| *of == index));
        let drawn: Vec<usize> = (0..self.names.len()).filter(|index| is_drawn(*index)).collect();
        let names: Vec<(String, Pen)> = drawn.iter().map(|index| self.names[*index].clone()).collect();
        let common = self.title.map(|title| title + ": ").unwrap_or_default();
        let title = common + &names.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join("; ");
        // A run whose config is gone can still be drawn.
        let specs = self.runs.iter().filter_map(|run| fs::read_to_string(run.config()).ok()).collect();
        let view = self.plots.first().map(|plot| plot.view);
        let horizontal = view.map(|view| (view.horizontal, view.scales[0], view.x));
        let (over, scale, range) = horizontal.unwrap_or((Horizontal::Step, AxisScale::Linear, [0.0, 1.0]));
        let horizontal = CurveAxis { label: over.name().to_owned(), scale, range };
        Figure::curves(Curves {
            title,
            specs,
            names,
            horizontal,
            plots: self.plots.iter().map(|plot| plot.plot(&drawn)).collect(),
            marks: Vec::new(),
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ScanFile {
    Figure(Format),
    Table,
    Arrays,
}

impl ScanFile {
    pub(super) const ALL: [(ScanFile, &'static str); 5] = [
        (ScanFile::Figure(Format::Png), "Figure as PNG…"),
        (ScanFile::Figure(Format::Svg), "Figure as SVG…"),
        (ScanFile::Figure(Format::Pdf), "Figure as PDF…"),
        (ScanFile::Table, "Scores as CSV…"),
        (ScanFile::Arrays, "All numbers as NPZ…"),
    ];

    fn name(self) -> String {
        match self {
            ScanFile::Figure(format) => format!("scan.{}", format.extension()),
            ScanFile::Table => ScanResult::TABLE.to_owned(),
            ScanFile::Arrays => ScanResult::ARRAYS.to_owned(),
        }
    }

    pub(super) fn export(self, scan: &ScanResult, figure_layout: FigureLayout) -> Action {
        to_save(self.content(scan, figure_layout), self.name())
    }

    fn content(self, scan: &ScanResult, figure_layout: FigureLayout) -> Result<Vec<u8>, String> {
        match self {
            ScanFile::Figure(format) => {
                figure_layout.file(&Figure::scan(scan), format).map_err(|error| error.to_string())
            }
            ScanFile::Table => {
                let mut bytes = Vec::new();
                scan.write_table(&mut bytes).map_err(|error| error.to_string())?;
                Ok(bytes)
            }
            ScanFile::Arrays => {
                let mut bytes = Cursor::new(Vec::new());
                scan.write_arrays(&mut bytes).map_err(|error| error.to_string())?;
                Ok(bytes.into_inner())
            }
        }
    }
}

pub(super) fn export_table(runs: &[RunFolder]) -> Action {
    to_save(table(runs).map_err(|error| error.to_string()), "runs.csv".to_owned())
}

pub(super) fn export_curves(curves: CurvesExport, format: Format, figure_layout: FigureLayout) -> Action {
    let made = if curves.plots.is_empty() {
        Err("No shown plot has a curve. Choose others under “Plots”.".to_owned())
    } else {
        figure_layout.file(&curves.figure(), format).map_err(|error| error.to_string())
    };
    to_save(made, format!("training.{}", format.extension()))
}

fn to_save(made: Result<Vec<u8>, String>, suggested_name: String) -> Action {
    match made {
        Ok(bytes) => Action::SaveBytes { bytes, suggested_name },
        Err(text) => Action::Report { title: "Nothing was exported".to_owned(), text },
    }
}

/// Formats the table of `valleyscope runs export` for one run; for several, a row for each point of each metric.
fn table(runs: &[RunFolder]) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let [run] = runs {
        let mut reader = RunReader::new(run.clone());
        reader.poll()?;
        write_csv(reader.history(), &mut bytes)?;
        return Ok(bytes);
    }
    let mut table = CsvWriter::new(bytes, &["run", "metric", "step", "wall_s", "time_s", "value"])?;
    for run in runs {
        let mut reader = RunReader::new(run.clone());
        reader.poll()?;
        let name = run.name();
        for metric in reader.history().metrics().iter().filter_map(MetricInfo::metric) {
            let curve = reader.history().curve(metric);
            for index in 0..curve.len() {
                table.row(&[
                    CsvCell::Text(&name),
                    CsvCell::Text(metric.name()),
                    CsvCell::Whole(curve.step[index]),
                    CsvCell::Number(curve.wall_s[index]),
                    CsvCell::Number(curve.time_s[index]),
                    CsvCell::Number(curve.value[index]),
                ])?;
            }
        }
    }
    Ok(table.into_inner())
}

const PERCENT: f64 = 100.0;
/// The size of the button for an optimizer's colour, in points.
const SWATCH: Vec2 = vec2(16.0, 14.0);
const AROUND: f64 = PERCENT * NEGLIGIBLE;

pub(super) enum ScanAction {
    Export(ScanFile),
    Color(String, Option<[u8; 3]>),
}

/// Shows the picture, in which these colours were chosen by the names of optimizers; returns the requested action.
pub(super) fn show(
    ui: &mut Ui,
    scan: &ScanResult,
    name: &str,
    chosen: &ScanColors,
    figure_layout: &mut FigureLayout,
) -> Option<ScanAction> {
    let known = scan.known();
    let all = scan.axes.grid_points();
    let rates = &scan.axes.learning_rates;
    let about = format!(
        "{name}: {known} of {all} grid points, each the best of {} learning rates with {} replicates of {} steps",
        rates.len(),
        scan.axes.replicates,
        scan.axes.steps
    );
    let export = ui.add_enabled_ui(known > 0, |ui| {
        let (menu, asked) = figure_layout.export_menu(ui, &ScanFile::ALL, ScanFile::Table);
        menu.on_disabled_hover_text("There is nothing to export until the first grid point is complete");
        asked
    });
    ui.add(egui::Label::new(RichText::new(about).small().weak()).wrap());
    let color = colors(ui, scan, chosen);
    let height = ui.available_height();
    let about = "Best test loss by batch size, with the deviation over replicates";
    ui.label(RichText::new(about).small().weak());
    for (edge, of) in scan.edges() {
        let ringed = format!("Ringed: best η {} ({of})", edge.sentence("the learning rates"));
        ui.add(egui::Label::new(RichText::new(ringed).small()).wrap());
    }
    let mut plots = ScanPlots::of(scan);
    losses(ui, scan, &plots, (0.55 * height - 24.0).max(120.0));
    let about = format!("Improvement of Signum on Adam by batch size, in % (dashed: ±{AROUND} %)");
    ui.label(RichText::new(about).small().weak());
    plots.plots.iter_mut().for_each(|plot| plot.title = None);
    improvement(ui, scan, &plots, (ui.available_height() - 6.0).max(110.0));
    export.inner.map(ScanAction::Export).or(color)
}

fn colors(ui: &mut Ui, scan: &ScanResult, chosen: &ScanColors) -> Option<ScanAction> {
    let mut action = None;
    let usual = scan.recolored(&ScanColors::new()).colors;
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().interact_size = SWATCH;
        for (name, usual) in scan.axes.optimizers.iter().zip(usual) {
            let mut color = chosen.get(name).copied();
            let help = "Colour in the plots and their exports";
            color_swatch(ui, &mut color, usual, help, &format!("Colour of {name}"));
            ui.label(RichText::new(name).small());
            if color != chosen.get(name).copied() {
                action = Some(ScanAction::Color(name.clone(), color));
            }
        }
    });
    action
}

/// Draws a plot of a scan. Returns the position of the pointer among the batch sizes.
fn plot(ui: &mut Ui, plots: &ScanPlots, index: usize, height: f32) -> (Response, Option<usize>) {
    let (area, response) = ui.allocate_exact_size(vec2(ui.available_width(), height), Sense::hover());
    let canvas = Canvas { painter: ui.painter_at(area), style: theme::drawing(ui, &TextStyle::Small) };
    let left = plots.plots[index].gutter(&canvas, height);
    let panel = area.with_min_x(area.left() + left).with_max_x(area.right() - 8.0);
    let panel = panel.with_min_y(area.top() + 4.0).with_max_y(area.bottom() - Axis::depth(canvas.style.em));
    plots.draw_plot(&canvas, index, panel, left, true);
    let nearest = response.hover_pos().and_then(|at| plots.nearest(f64::from((at.x - panel.left()) / panel.width())));
    (response, nearest)
}

/// Returns the indices of the batch sizes in ascending order, as they are drawn.
fn in_order(scan: &ScanResult) -> Vec<usize> {
    let mut order: Vec<usize> = (0..scan.axes.batch_sizes.len()).collect();
    order.sort_by_key(|index| scan.axes.batch_sizes[*index]);
    order
}

fn losses(ui: &mut Ui, scan: &ScanResult, plots: &ScanPlots, height: f32) {
    let (response, nearest) = plot(ui, plots, 0, height);
    let (order, sizes) = (in_order(scan), &scan.axes.batch_sizes);
    let score = |optimizer: usize, index: usize| {
        let score = scan.scores.get(optimizer, index)?;
        let rate = scan.axes.learning_rates.get(score.learning_rate).copied().unwrap_or(f64::NAN);
        let best = with_edge(scan.edge(optimizer, index), &significant(rate, 3));
        Some(format!("{} ± {}, best η {best}", significant(score.mean, 3), significant(score.deviation, 2)))
    };
    // The values of all optimizers at the batch size nearest to the pointer.
    if let Some(index) = nearest.map(|nearest| order[nearest]) {
        readout(&response, &format!("Batch size {}", sizes[index]), None, |ui| {
            for (optimizer, name) in scan.axes.optimizers.iter().enumerate() {
                ui.label(name);
                ui.label(score(optimizer, index).unwrap_or_else(|| "not trained yet".to_owned()));
                ui.end_row();
            }
        });
    }
    describe(&response, "Plot of best test loss by batch size", || {
        let optimizers = scan.axes.optimizers.iter().enumerate();
        let values = optimizers.flat_map(|(optimizer, name)| {
            order.iter().filter_map(move |index| {
                let mean = scan.scores.get(optimizer, *index)?.mean;
                Some(format!("{name} at {}: {}", sizes[*index], significant(mean, 3)))
            })
        });
        values.collect::<Vec<_>>().join("; ")
    });
}

fn improvement(ui: &mut Ui, scan: &ScanResult, plots: &ScanPlots, height: f32) {
    let Some([adam, signum]) = scan.adam_and_signum().filter(|_| plots.plots.len() > 1) else {
        ui.weak("Needs an optimizer of the rule Adam and one of the rule Signum");
        return;
    };
    let (response, _) = plot(ui, plots, 1, height);
    describe(&response, "Plot of the improvement of Signum on Adam", || {
        let improvements = scan.scores.improvements(adam, signum);
        let values = in_order(scan).into_iter().filter_map(|index| {
            let it = improvements[index].as_ref()?;
            let [value, error] = [significant(PERCENT * it.value, 3), significant(PERCENT * it.error, 2)];
            Some(format!("{}: {value} ± {error} %", scan.axes.batch_sizes[index]))
        });
        values.collect::<Vec<_>>().join("; ")
    });
}
