//! The plots of the chosen runs, and their exports.

use std::fs;
use std::sync::Arc;

use egui::Ui;
use valleyscope_experiments::view::{AxisScale, Pen};
use valleyscope_runs::{MetricInfo, RunFolder, RunReader};

use super::charts::ChartAction;
use super::curves::PlotExport;
use super::names::{Name, NamedCurves};
use super::panel::TrainingPanel;
use super::plotter::RunCurves;
use super::results::ResultsView;
use super::summary::NEUTRAL;
use super::track::Horizontal;
use super::watcher::WatcherCommand;
use crate::app::shell::actions::{Action, Requests};
use crate::app::shell::export::{ExportKind, ExportOptions, ExportSource, FileFormat, Made, Preview};
use crate::app::shell::files::FileContent;
use crate::app::shell::jobs::Progress;
use crate::app::widgets::theme;
use crate::draw::{CurveAxis, Curves, Figure};
use crate::export::{CsvCell, CsvWriter, write_csv};
use crate::runs::GridResult;

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

    /// Returns what the tab shows, for the sheet of exports.
    pub(super) fn to_export(&self) -> TrainingExport {
        let groups = self.groups(&self.drawn);
        if let Some(result) = self.shown_results() {
            return TrainingExport::Results(self.results.clone(), result);
        }
        let names = groups.iter().map(|group| (group.name.whole(), group.pen)).collect();
        let (title, plots) = (self.left_out(&groups), self.charts.plots(&groups));
        TrainingExport::Curves(CurvesExport { title, names, runs: self.plotted(), plots })
    }

    pub(super) fn plots(&mut self, ui: &mut Ui, requests: &mut Requests) {
        let chosen = self.found().count();
        if chosen == 0 {
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
        let plotted = self.plotted();
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
        if self.results(ui, &plotted, requests) {
            return;
        }
        let groups = self.groups(&self.drawn);
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
    /// The title of the plots' figure: the common title and the names of the runs with a curve.
    fn title(&self) -> String {
        let names = self.drawn().into_iter().map(|index| self.names[index].0.as_str()).collect::<Vec<_>>().join("; ");
        match &self.title {
            Some(title) if names.is_empty() => title.clone(),
            Some(title) => format!("{title}: {names}"),
            None if names.is_empty() => "Training".to_owned(),
            None => names,
        }
    }

    /// The indices of the runs with a curve; others have no entry in the legend.
    fn drawn(&self) -> Vec<usize> {
        let is_drawn = |index: &usize| self.plots.iter().any(|plot| plot.tracks.iter().any(|(of, _)| of == index));
        (0..self.names.len()).filter(is_drawn).collect()
    }

    /// Makes the plots' figure. Its file holds the configs of the runs.
    pub(super) fn figure(self) -> Figure {
        let (title, drawn) = (self.title(), self.drawn());
        let names: Vec<(String, Pen)> = drawn.iter().map(|index| self.names[*index].clone()).collect();
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
    Results(ResultsView, Arc<GridResult>),
    Curves(CurvesExport),
    /// Runs of the table, with their lines as CSV.
    Runs(Vec<RunFolder>, Vec<u8>),
}

impl ExportSource for TrainingExport {
    fn title(&self) -> String {
        match self {
            TrainingExport::Results(_, result) => result.title.clone(),
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
            TrainingExport::Results(..) => vec![(FileFormat::Csv, "A row for each combination of settings")],
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
            (TrainingExport::Results(view, result), ExportKind::Figure, _) => options.figure(&view.figure(result)),
            (TrainingExport::Results(_, result), ..) => csv(result.csv().map_err(failed)?),
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
