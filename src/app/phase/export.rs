//! Exports of a diagram: figures, tables and arrays.

use std::io::Cursor;

use valleyscope_engine::sweep::Metric;

use super::diagram::{MapStyle, TitledDiagram};
use super::raw_export::RawPlan;
use crate::app::shell::export::{ExportKind, ExportOptions, ExportSource, FileFormat, Made, Preview};
use crate::app::shell::files::{FolderPurpose, Purpose};
use crate::app::shell::jobs::Progress;
use crate::draw::{Compared, Figure, Map};
use crate::sweep::result::{SweepResult, write_table, write_tables};

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
        let saved = |bytes: Vec<u8>, preview| Ok(options.made(bytes, preview, String::new()));
        match options.format {
            FileFormat::Csv => {
                let csv = self.scores()?;
                let preview = Preview::csv(&csv);
                saved(csv, preview)
            }
            FileFormat::Npz => {
                let mut bytes = Cursor::new(Vec::new());
                self.diagram.result().write_arrays(&mut bytes).map_err(|error| error.to_string())?;
                let preview = Preview::npz(bytes.get_ref());
                saved(bytes.into_inner(), preview)
            }
            FileFormat::Ron => {
                let text = self.diagram.result().preset().to_ron();
                saved(text.clone().into_bytes(), Preview::Text(text))
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
