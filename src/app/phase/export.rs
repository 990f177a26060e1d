//! Exports of a diagram: figures and tables, and raw arrays, which are computed again in the background.

use std::io::Cursor;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use egui::{Context, ProgressBar, RichText, Ui};
use valleyscope_engine::sweep::Metric;
use valleyscope_runs::atomic_file::Overwrite;

use super::diagram::{MapStyle, TitledDiagram};
use super::diagram_store::DiagramStore;
use crate::app::shell::actions::{Action, Requests};
use crate::app::shell::export::{ExportKind, ExportOptions, ExportSource, FileFormat, Made, Preview};
use crate::app::shell::files::{FileContent, FolderPurpose, Purpose};
use crate::app::shell::jobs::Progress;
use crate::app::shell::messages::Question;
use crate::app::shell::presets::file_stem;
use crate::draw::{Compared, Figure, Map};
use crate::sweep::result::{RawExport, RawFailure, RawPlan, RawProgress, SweepResult, write_table, write_tables};

/// A diagram with the name that the user gave it.
pub(super) struct NamedDiagram {
    pub titled: TitledDiagram,
    pub name: Option<String>,
}

impl NamedDiagram {
    /// Returns the result for a picture that compares by this metric, with the user's name as its title.
    fn result_by(&self, metric: Metric) -> SweepResult {
        let result = self.titled.result_by(metric);
        SweepResult { title: self.name.clone().unwrap_or(result.title), ..result }
    }

    /// Returns the result for a figure, which shows coarse blocks where the window does.
    fn filled_by(&self, metric: Metric) -> SweepResult {
        let result = self.result_by(metric);
        SweepResult { diagram: result.diagram.filled(), ..result }
    }

    fn result(&self) -> SweepResult {
        self.result_by(self.titled.preset.sweep.metric)
    }

    /// Encodes the whole result.
    fn arrays(&self) -> Result<Vec<u8>, String> {
        let mut bytes = Cursor::new(Vec::new());
        self.result().write_arrays(&mut bytes).map_err(|error| error.to_string())?;
        Ok(bytes.into_inner())
    }

    /// Makes the request to save the whole result, or to report why it was not made.
    pub(super) fn save(&self) -> Action {
        match self.arrays() {
            Ok(bytes) => Action::SaveDiagram {
                bytes,
                suggested_name: format!("{}.npz", file_stem(&self.result().title)),
                exported: self.titled.to_export(),
            },
            Err(text) => Action::Report { title: "The diagram was not exported".to_owned(), text },
        }
    }
}

/// The displayed diagram, as it was when the sheet of exports opened.
pub(super) struct DiagramExport {
    pub diagram: NamedDiagram,
    /// All diagrams that are shown side by side, with their titles, if there are several.
    pub together: Vec<(NamedDiagram, String)>,
    pub style: MapStyle,
    /// The raw arrays, or the reason why the diagram has none.
    pub raw: Result<RawPlan, String>,
}

impl ExportSource for DiagramExport {
    fn title(&self) -> String {
        self.diagram.result().title
    }

    fn contents(&self, kind: ExportKind) -> Vec<&'static str> {
        match (kind, self.together.len()) {
            (ExportKind::Figure, 0..=1) => vec!["The map shown", "All pairs of optimizers"],
            (ExportKind::Figure, _) => vec!["The diagrams side by side"],
            _ => Vec::new(),
        }
    }

    fn data(&self) -> Vec<(FileFormat, &'static str)> {
        let scores = match self.together.len() {
            0..=1 => "Scores: a row for each pixel",
            _ => "Scores of the diagrams side by side: a row for each pixel",
        };
        vec![
            (FileFormat::Csv, scores),
            (FileFormat::Npz, "The whole result, which opens here again"),
            (FileFormat::Ron, "The preset"),
            (
                FileFormat::Npy,
                "A folder with the final metrics of every run, as the paper's authors keep them. All runs are done once more for this.",
            ),
        ]
    }

    fn make(&self, options: &ExportOptions, _progress: &Progress) -> Result<Made, String> {
        let saved = |bytes: &Arc<Vec<u8>>, preview| {
            Ok(options.made(FileContent::Bytes(Arc::clone(bytes)), preview, String::new()))
        };
        match options.format {
            FileFormat::Csv => {
                let csv = Arc::new(self.scores()?);
                saved(&csv, Preview::csv(&csv))
            }
            FileFormat::Npz => {
                let bytes = Arc::new(self.diagram.arrays()?);
                let preview = Preview::npz(&bytes);
                Ok(options.made(FileContent::Diagram(bytes, self.diagram.titled.to_export()), preview, String::new()))
            }
            FileFormat::Ron => {
                let text = self.diagram.result().preset().to_ron();
                saved(&Arc::new(text.clone().into_bytes()), Preview::Text(text))
            }
            FileFormat::Npy => {
                let plan = self.raw.clone()?;
                let names: Vec<String> = (0..plan.rows()).map(|row| plan.file_name(row)).collect();
                let (preview, about) = (Preview::Text(names.join("\n")), format!("{} files", plan.rows()));
                let purpose = Purpose::Folder(FolderPurpose::Raw(plan));
                Ok(Made { purpose, preview, about, usual_width_mm: 0.0 })
            }
            _ => options.figure(&self.figure(options.content == 1)?),
        }
    }
}

impl DiagramExport {
    fn figure(&self, pairs: bool) -> Result<Figure, String> {
        let MapStyle { map, metric, letters } = self.style;
        let result = &self.diagram.filled_by(metric);
        let figure = match map {
            map if self.together.len() > 1 => {
                let is_it = |(other, _): &(NamedDiagram, String)| other.titled.number == self.diagram.titled.number;
                compared(&self.together, map, self.together.iter().position(is_it).unwrap_or_default(), metric)
            }
            _ if pairs => Figure::pairs(&[(result, metric)]),
            Map::Triangle if !result.diagram.has_shares() => {
                return Err("The triangle is not measured yet; wait until it is drawn.".to_owned());
            }
            Map::Triangle => Figure::triangle(result, metric),
            Map::Winner { certainty } => Figure::winners(result, metric, certainty),
            map => Figure::map(result, metric, map),
        };
        Ok(if letters { figure.with_letters() } else { figure })
    }

    fn scores(&self) -> Result<Vec<u8>, String> {
        let mut bytes = Vec::new();
        let metric = self.style.metric;
        let results: Vec<SweepResult> = self.together.iter().map(|(diagram, _)| diagram.result_by(metric)).collect();
        let titles = self.together.iter().map(|(_, title)| title.as_str());
        let tables: Vec<_> = titles.zip(results.iter().map(|result| &result.diagram)).collect();
        let written = match tables.is_empty() {
            true => write_table(&mut bytes, &self.diagram.result_by(metric).diagram),
            false => write_tables(&mut bytes, &tables),
        };
        written.map_err(|error| error.to_string())?;
        Ok(bytes)
    }
}

/// Returns the figure of the same map of several diagrams; `map` is that of the one at the index `of`.
fn compared(diagrams: &[(NamedDiagram, String)], map: Map, of: usize, metric: Metric) -> Figure {
    let results: Vec<SweepResult> = diagrams.iter().map(|(diagram, _)| diagram.filled_by(metric)).collect();
    let titles = diagrams.iter().map(|(_, title)| title.clone());
    let compared = results.iter().zip(titles).map(|(result, title)| Compared { result, title, metric });
    Figure::compared(&compared.collect::<Vec<_>>(), map, of)
}

/// The interval between updates of the progress.
const UPDATE_INTERVAL: Duration = Duration::from_millis(100);

/// The export of raw arrays, at most one at a time.
#[derive(Default)]
pub(super) struct RawExports {
    running: Option<Running>,
    /// A plan that would replace existing files, and the name of one of these.
    replace: Option<(RawPlan, PathBuf, String)>,
}

struct Running {
    plan: RawPlan,
    folder: PathBuf,
    export: RawExport,
}

impl RawExports {
    /// Reports the end of an export. The export pauses while a diagram `is_computing`.
    pub(super) fn poll(&mut self, is_computing: bool, requests: &mut Requests) {
        let Some(running) = &self.running else { return };
        running.export.hold(is_computing);
        let Some(outcome) = running.export.outcome() else { return };
        let action = match outcome {
            Ok(()) => Action::Notify(format!("{}.", rows(running))),
            Err(RawFailure::Exists(name)) => {
                self.replace = self.running.take().map(|Running { plan, folder, .. }| (plan, folder, name));
                return;
            }
            Err(RawFailure::Cancelled) => {
                let title = "The export of raw arrays was cancelled";
                Action::Report { title: title.to_owned(), text: format!("{}.", rows(running)) }
            }
            Err(failure) => {
                let title = "Not all raw arrays were exported";
                Action::Report { title: title.to_owned(), text: format!("{failure}.\n\n{}.", rows(running)) }
            }
        };
        requests.actions.push(action);
        self.running = None;
    }

    /// Computes the runs of a diagram again and writes them into a folder.
    pub(super) fn begin(&mut self, diagrams: &DiagramStore, plan: RawPlan, folder: PathBuf, overwrite: Overwrite) {
        let export = diagrams.export_raw(plan.clone(), folder.clone(), overwrite);
        self.running = Some(Running { plan, folder, export });
    }

    /// Plans the raw arrays of the present diagram, or returns why it has none.
    pub(super) fn plan(&self, diagrams: &DiagramStore) -> Result<RawPlan, String> {
        let present = &diagrams.present;
        match self.running {
            Some(_) => Err("Raw arrays are being exported already.".to_owned()),
            None => RawPlan::of(present.diagram.spec(), present.precision).map_err(|refused| format!("{refused}.")),
        }
    }

    /// Shows the progress of the export, and the question about existing files.
    pub(super) fn bar(&mut self, ui: &mut Ui, diagrams: &DiagramStore) {
        self.ask_to_replace(ui.ctx(), diagrams);
        let Some(Running { plan, export, .. }) = &self.running else { return };
        let RawProgress { rows, pixels, all_pixels } = export.progress();
        ui.horizontal(|ui| {
            let waiting = if diagrams.is_running() { ", waiting for the diagram" } else { "" };
            let text = format!("Raw arrays: {rows} of {} rows{waiting}", plan.rows());
            if ui.button("Cancel").accessible_name("Cancel the raw arrays").clicked() {
                export.cancel();
            }
            ui.add(egui::Label::new(RichText::new(text).small().weak()).truncate());
        });
        ui.add(ProgressBar::new(pixels as f32 / all_pixels as f32).desired_height(6.0));
        ui.ctx().request_repaint_after(UPDATE_INTERVAL);
    }

    fn ask_to_replace(&mut self, ctx: &Context, diagrams: &DiagramStore) {
        let Some((_, folder, name)) = &self.replace else { return };
        let question = Question {
            id: "replace raw arrays",
            heading: "Replace the raw arrays?",
            text: &format!(
                "{} holds raw arrays already, such as {name}. Replacing them can't be undone.",
                folder.display()
            ),
            yes: "Replace",
            no: "Keep the old files",
        };
        match (question.ask(ctx), self.replace.take()) {
            (Some(true), Some((plan, folder, _))) => self.begin(diagrams, plan, folder, Overwrite::Yes),
            (None, unanswered) => self.replace = unanswered,
            _ => {}
        }
    }
}

/// Formats the complete rows and their folder.
fn rows(Running { plan, folder, export }: &Running) -> String {
    let (all, folder) = (plan.rows(), folder.display());
    match export.progress().rows {
        0 => format!("None of the {all} rows is complete in {folder}"),
        1 => format!("1 of {all} rows is complete in {folder}: {}", plan.file_name(0)),
        rows => {
            let (first, last) = (plan.file_name(0), plan.file_name(rows - 1));
            format!("{rows} of {all} rows are complete in {folder}: {first} to {last}")
        }
    }
}
