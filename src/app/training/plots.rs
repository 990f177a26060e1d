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
use crate::app::shell::actions::{Action, Requests};
use crate::app::shell::export::{ExportKind, ExportOptions, ExportSource, FileFormat, Made, Preview};
use crate::app::shell::files::FileContent;
use crate::app::shell::jobs::Progress;
use crate::app::widgets::icons::color_swatch;
use crate::app::widgets::plot::{describe, readout};
use crate::app::widgets::theme;
use crate::draw::{Axis, Canvas, CurveAxis, Curves, Figure, ScanPlots};
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

    /// Returns the curves with their names.
    fn groups<'a>(&self, drawn: &'a [RunCurves]) -> Vec<NamedCurves<'a>> {
        let named = drawn.iter().zip(self.curve_names.iter());
        named.map(|(drawn, name)| self.named_curves(drawn, name.clone())).collect()
    }

    /// Returns the scan among the curves that hides them: a scan has no curves, and the last chosen one is shown.
    fn shown_scan(&self, groups: &[NamedCurves<'_>]) -> Option<Arc<ScanResult>> {
        let scan = groups.iter().rev().find(|group| group.drawn.scan.is_some())?;
        scan.drawn.scan.clone().filter(|_| scan.drawn.runs.last() == self.selected.last())
    }

    /// Returns what the tab shows, for the sheet of exports.
    pub(super) fn to_export(&self) -> TrainingExport {
        let groups = self.groups(&self.drawn);
        if let Some(scan) = self.shown_scan(&groups) {
            let chosen = self.selected.last().map(|run| self.pens.of_scan(run)).unwrap_or_default();
            return TrainingExport::Scan(Box::new(scan.recolored(&chosen)));
        }
        let names = groups.iter().map(|group| (group.name.whole(), group.pen)).collect();
        let (title, plots) = (self.left_out(&groups), self.charts.plots(&groups));
        TrainingExport::Curves(CurvesExport { title, names, runs: self.plotted(), plots })
    }

    pub(super) fn plots(&mut self, ui: &mut Ui, requests: &mut Requests) {
        if self.selected.is_empty() {
            let Some(newest) = self.listed.runs.first().map(|newest| newest.run.clone()) else {
                ui.centered_and_justified(|ui| ui.weak("Reading the runs…"));
                return;
            };
            ui.vertical_centered(|ui| {
                ui.add_space(0.4 * ui.available_height());
                ui.weak("Choose a run in the list, or several with their boxes, to see their curves.");
                ui.add_space(6.0);
                if ui.add(theme::large_primary_button(ui, "Show the newest")).clicked() {
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
        let groups = self.groups(&self.drawn);
        if let Some(scan) = self.shown_scan(&groups) {
            return self.scan(ui, &scan, requests);
        }
        self.charts.aliases = Arc::clone(&self.listed.aliases);
        match self.charts.ui(ui, &groups, note.as_deref()) {
            Some(ChartAction::Differences) => self.show_differences(ui.ctx(), plotted),
            Some(ChartAction::Export) => requests.actions.push(Action::Export(None)),
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

    /// Shows the picture of a scan.
    fn scan(&mut self, ui: &mut Ui, scan: &ScanResult, requests: &mut Requests) {
        let run = self.selected.last().cloned();
        let name = run.as_ref().and_then(|run| self.summary(run)).map_or_else(|| scan.title.clone(), Summary::in_full);
        let chosen = run.as_ref().map(|run| self.pens.of_scan(run)).unwrap_or_default();
        let color = show(ui, &scan.recolored(&chosen), &name, &chosen, self.charts.is_presented, requests);
        if let (Some((optimizer, color)), Some(run)) = (color, run) {
            self.pens.choose_in_scan(&run, optimizer, color);
        }
    }
}

#[derive(Clone)]
pub(super) struct CurvesExport {
    /// The common title, if the names leave it out.
    pub title: Option<String>,
    pub names: Vec<(String, Pen)>,
    pub runs: Vec<RunFolder>,
    pub plots: Vec<PlotExport>,
}

impl CurvesExport {
    fn title(&self) -> String {
        self.title.clone().or_else(|| Some(self.names.first()?.0.clone())).unwrap_or_else(|| "Training".to_owned())
    }

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

/// The plots that the tab showed when the export sheet was opened.
pub(super) enum TrainingExport {
    Scan(Box<ScanResult>),
    Curves(CurvesExport),
    /// Runs of the table, with their lines as CSV.
    Runs(Vec<RunFolder>, Vec<u8>),
}

impl ExportSource for TrainingExport {
    fn title(&self) -> String {
        match self {
            TrainingExport::Scan(scan) => scan.title.clone(),
            TrainingExport::Curves(curves) => curves.title(),
            TrainingExport::Runs(..) => "Runs".to_owned(),
        }
    }

    fn contents(&self, kind: ExportKind) -> Vec<&'static str> {
        match (self, kind) {
            (TrainingExport::Runs(..), ExportKind::Data) => vec!["A row for each run", "All points of the curves"],
            _ => Vec::new(),
        }
    }

    fn data(&self) -> Vec<(FileFormat, &'static str)> {
        match self {
            TrainingExport::Scan(_) => vec![
                (FileFormat::Csv, "Scores: a row for each grid point"),
                (FileFormat::Npz, "All numbers, as arrays"),
            ],
            TrainingExport::Curves(_) => vec![(FileFormat::Csv, "All points of the curves")],
            TrainingExport::Runs(..) => vec![(FileFormat::Csv, "")],
        }
    }

    fn make(&self, options: &ExportOptions, _progress: &Progress) -> Result<Made, String> {
        let failed = |error: std::io::Error| error.to_string();
        let csv = |bytes: Vec<u8>| {
            let preview = Preview::csv(&bytes);
            Ok(options.made(FileContent::Bytes(Arc::new(bytes)), preview, String::new()))
        };
        match (self, options.kind, options.format) {
            (TrainingExport::Scan(scan), _, _) if scan.known() == 0 => {
                Err("There is nothing to export until the first grid point is complete.".to_owned())
            }
            (TrainingExport::Scan(scan), ExportKind::Figure, _) => options.figure(&Figure::scan(scan)),
            (TrainingExport::Scan(scan), _, FileFormat::Npz) => {
                let mut bytes = Cursor::new(Vec::new());
                scan.write_arrays(&mut bytes).map_err(failed)?;
                let (bytes, about) = (Arc::new(bytes.into_inner()), String::new());
                let preview = Preview::npz(&bytes);
                Ok(options.made(FileContent::Bytes(bytes), preview, about))
            }
            (TrainingExport::Scan(scan), _, _) => {
                let mut bytes = Vec::new();
                scan.write_table(&mut bytes).map_err(failed)?;
                csv(bytes)
            }
            (TrainingExport::Curves(curves), ..) if curves.runs.is_empty() => {
                Err("No run is chosen. Begin one, or choose some in the list.".to_owned())
            }
            (TrainingExport::Curves(curves), ExportKind::Figure, _) if curves.plots.is_empty() => {
                Err("No shown plot has a curve. Choose others under “Plots”.".to_owned())
            }
            (TrainingExport::Curves(curves), ExportKind::Figure, _) => options.figure(&curves.clone().figure()),
            (TrainingExport::Runs(..), ExportKind::Figure, _) => {
                Err("A table of runs has no figure. Choose runs in the list to see their curves.".to_owned())
            }
            (TrainingExport::Runs(_, lines), ..) if options.content == 0 => csv(lines.clone()),
            (TrainingExport::Curves(CurvesExport { runs, .. }) | TrainingExport::Runs(runs, _), ..) => {
                csv(table(runs).map_err(failed)?)
            }
        }
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

/// An optimizer, and the colour that is chosen for it; `None` restores the usual one.
type ChosenColor = (String, Option<[u8; 3]>);

/// Shows the picture, in which these colours were chosen by the names of optimizers; returns another choice.
fn show(
    ui: &mut Ui,
    scan: &ScanResult,
    name: &str,
    chosen: &ScanColors,
    is_presented: bool,
    requests: &mut Requests,
) -> Option<ChosenColor> {
    let known = scan.known();
    let all = scan.axes.grid_points();
    let rates = &scan.axes.learning_rates;
    let about = format!(
        "{name}: {known} of {all} grid points, each the best of {} learning rates with {} replicates of {} steps",
        rates.len(),
        scan.axes.replicates,
        scan.axes.steps
    );
    if !is_presented && ui.button("Export…").accessible_name("Export the scan").clicked() {
        requests.actions.push(Action::Export(None));
    }
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
    color
}

fn colors(ui: &mut Ui, scan: &ScanResult, chosen: &ScanColors) -> Option<ChosenColor> {
    let mut choice = None;
    let usual = scan.recolored(&ScanColors::new()).colors;
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().interact_size = SWATCH;
        for (name, usual) in scan.axes.optimizers.iter().zip(usual) {
            let mut color = chosen.get(name).copied();
            let help = "Colour in the plots and their exports";
            color_swatch(ui, &mut color, usual, help, &format!("Colour of {name}"));
            ui.label(RichText::new(name).small());
            if color != chosen.get(name).copied() {
                choice = Some((name.clone(), color));
            }
        }
    });
    choice
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
