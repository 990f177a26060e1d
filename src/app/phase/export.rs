//! Exports figures and tables of a diagram.

use std::sync::Arc;

use egui::ColorImage;
use valleyscope_engine::sweep::Metric;

use super::picture::MapLook;
use super::titled_diagram::TitledDiagram;
use crate::app::figure_layout::FigureLayout;
use crate::app::live::Action;
use crate::app::save_preset::file_stem;
use crate::figure::{Compared, Figure, Format, Map};
use crate::result::{SweepResult, write_table, write_tables};

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
    look: MapLook,
    kind: ExportKind,
    layout: MapFigure,
) -> Action {
    let titled = &diagram.titled;
    let result = diagram.result_by(titled.preset.sweep.metric);
    let suggested_name = format!("{}.{}", file_stem(&result.title), kind.extension());
    let made = content(diagram, &result, together, look, kind, layout).and_then(|bytes| {
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
    look: MapLook,
    kind: ExportKind,
    layout: MapFigure,
) -> Result<Vec<u8>, String> {
    let by_metric = diagram.result_by(look.metric);
    let figure = |format: Format| {
        let result = &by_metric;
        let figure = match look.map {
            map if together.len() > 1 => {
                let of = together.iter().position(|(other, _)| other.titled.number == diagram.titled.number);
                compared(together, map, of.unwrap_or_default(), look.metric)
            }
            _ if layout.pairs => Figure::pairs(&[(result, look.metric)]),
            Map::Winner { certainty } => Figure::winners(result, look.metric, certainty),
            map => Figure::map(result, look.metric, map),
        };
        let figure = if look.letters { figure.with_letters() } else { figure };
        layout.figure_layout.file(&figure, format).map_err(|error| error.to_string())
    };
    match kind {
        ExportKind::Figure(format) => figure(format),
        ExportKind::Clipboard => figure(Format::Png),
        ExportKind::Csv => {
            let mut bytes = Vec::new();
            let results: Vec<SweepResult> =
                together.iter().map(|(diagram, _)| diagram.result_by(look.metric)).collect();
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
