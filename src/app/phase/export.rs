//! Exports of a diagram: figures and tables, and raw arrays, which are computed again in the background.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use egui::{Button, ColorImage, Context, ProgressBar, RichText, Ui};
use valleyscope_engine::sweep::Metric;
use valleyscope_runs::atomic_file::Overwrite;

use super::diagram::{MapStyle, TitledDiagram};
use super::diagram_store::DiagramStore;
use crate::app::shell::actions::{Action, Requests};
use crate::app::shell::messages::Question;
use crate::app::shell::presets::file_stem;
use crate::app::widgets::form::FigureLayout;
use crate::draw::{Compared, Figure, Format, Map};
use crate::sweep::result::{RawExport, RawFailure, RawPlan, RawProgress, SweepResult, write_table, write_tables};

/// The export formats of a diagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ExportKind {
    Figure(Format),
    Csv,
    Npz,
    Spec,
    Clipboard,
}

impl ExportKind {
    pub(super) const ALL: [(ExportKind, &'static str); 7] = [
        (ExportKind::Figure(Format::Png), "Figure as PNG…"),
        (ExportKind::Figure(Format::Svg), "Figure as SVG…"),
        (ExportKind::Figure(Format::Pdf), "Figure as PDF…"),
        (ExportKind::Csv, "Scores as CSV…"),
        (ExportKind::Npz, "Whole result as NPZ…"),
        (ExportKind::Spec, "Preset (RON)…"),
        (ExportKind::Clipboard, "Copy image"),
    ];

    fn extension(self) -> &'static str {
        match self {
            ExportKind::Figure(format) => format.extension(),
            ExportKind::Clipboard => "png",
            ExportKind::Csv => "csv",
            ExportKind::Npz => "npz",
            ExportKind::Spec => "ron",
        }
    }
}

/// The settings of a figure.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct MapFigure {
    pub figure_layout: FigureLayout,
    /// Draws the difference between any two optimizers if true, as in the paper's pairs figure, in place of the shown
    /// map.
    pub pairs: bool,
}

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
}

/// Makes an export of a diagram; figures and scores are those of all that are shown together, if there
/// are several. Returns the request to save or copy it, or to report why it was not made.
pub(super) fn export(
    diagram: &NamedDiagram,
    together: &[(NamedDiagram, String)],
    style: MapStyle,
    kind: ExportKind,
    layout: MapFigure,
) -> Action {
    let titled = &diagram.titled;
    let result = diagram.result_by(titled.preset.sweep.metric);
    let suggested_name = format!("{}.{}", file_stem(&result.title), kind.extension());
    let made = content(diagram, &result, together, style, kind, layout).and_then(|bytes| {
        Ok(match kind {
            ExportKind::Clipboard => Action::CopyImage(Arc::new(picture(&bytes)?)),
            ExportKind::Npz => Action::SaveDiagram { bytes, suggested_name, exported: titled.to_export() },
            _ => Action::SaveBytes { bytes, suggested_name },
        })
    });
    made.unwrap_or_else(|text| Action::Report { title: "The diagram was not exported".to_owned(), text })
}

/// Decodes a PNG file's pixels.
fn picture(png: &[u8]) -> Result<ColorImage, String> {
    let rgba = image::load_from_memory_with_format(png, image::ImageFormat::Png);
    let rgba = rgba.map_err(|error| error.to_string())?.into_rgba8();
    Ok(ColorImage::from_rgba_unmultiplied([rgba.width() as usize, rgba.height() as usize], &rgba))
}

fn content(
    diagram: &NamedDiagram,
    result: &SweepResult,
    together: &[(NamedDiagram, String)],
    style: MapStyle,
    kind: ExportKind,
    layout: MapFigure,
) -> Result<Vec<u8>, String> {
    let by_metric = diagram.result_by(style.metric);
    let figure = |format: Format| {
        let result = &by_metric;
        let figure = match style.map {
            map if together.len() > 1 => {
                let of = together.iter().position(|(other, _)| other.titled.number == diagram.titled.number);
                compared(together, map, of.unwrap_or_default(), style.metric)
            }
            _ if layout.pairs => Figure::pairs(&[(result, style.metric)]),
            Map::Triangle if !result.diagram.has_shares() => {
                return Err("The triangle is not measured yet; wait until it is drawn.".to_owned());
            }
            Map::Triangle => Figure::triangle(result, style.metric),
            Map::Winner { certainty } => Figure::winners(result, style.metric, certainty),
            map => Figure::map(result, style.metric, map),
        };
        let figure = if style.letters { figure.with_letters() } else { figure };
        layout.figure_layout.file(&figure, format).map_err(|error| error.to_string())
    };
    match kind {
        ExportKind::Figure(format) => figure(format),
        ExportKind::Clipboard => figure(Format::Png),
        ExportKind::Csv => {
            let mut bytes = Vec::new();
            let results: Vec<SweepResult> =
                together.iter().map(|(diagram, _)| diagram.result_by(style.metric)).collect();
            let titles = together.iter().map(|(_, title)| title.as_str());
            let tables: Vec<_> = titles.zip(results.iter().map(|result| &result.diagram)).collect();
            let written = match tables.is_empty() {
                true => write_table(&mut bytes, &by_metric.diagram),
                false => write_tables(&mut bytes, &tables),
            };
            written.map_err(|error| error.to_string())?;
            Ok(bytes)
        }
        ExportKind::Npz => {
            let mut bytes = std::io::Cursor::new(Vec::new());
            result.write_arrays(&mut bytes).map_err(|error| error.to_string())?;
            Ok(bytes.into_inner())
        }
        ExportKind::Spec => Ok(result.preset().to_ron().into_bytes()),
    }
}

/// Returns the figure of the same map of several diagrams; `map` is that of the one at the index `of`.
fn compared(diagrams: &[(NamedDiagram, String)], map: Map, of: usize, metric: Metric) -> Figure {
    let results: Vec<SweepResult> = diagrams.iter().map(|(diagram, _)| diagram.result_by(metric)).collect();
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

    /// Shows the menu's entry.
    pub(super) fn entry(&self, ui: &mut Ui, diagrams: &DiagramStore, requests: &mut Requests) {
        let present = &diagrams.present;
        let plan = RawPlan::of(present.diagram.spec(), present.precision).map_err(|refused| refused.to_string());
        let plan = match self.running {
            Some(_) => Err("Raw arrays are being exported already".to_owned()),
            None => plan,
        };
        let entry = ui.add_enabled(plan.is_ok(), Button::new("Raw arrays of all runs as NPY…"));
        match plan {
            Ok(plan) => {
                let help = "The final metrics of every run, one file a row, as the paper's authors keep them. All runs \
                            are done once more for this.";
                if entry.on_hover_text(help).clicked() {
                    requests.actions.push(Action::SaveRaw(plan));
                    ui.close();
                }
            }
            Err(reason) => {
                entry.on_disabled_hover_text(reason);
            }
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
