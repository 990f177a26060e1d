//! Exports of a diagram: figures, tables and arrays.

use std::io::Cursor;

use valleyscope_engine::sweep::Metric;

use super::diagram::MapStyle;
use super::raw_export::RawPlan;
use crate::app::shell::export::{ExportKind, ExportOptions, ExportSource, FileFormat, Made, Preview};
use crate::app::shell::files::{FileContent, Purpose};
use crate::app::shell::jobs::Progress;
use crate::draw::{Compared, Figure, Map};
use crate::sweep::result::{SweepResult, write_table};

/// The displayed diagram, as it was when the sheet of exports opened, with the user's name as its title.
pub(super) struct DiagramExport {
    /// The result as it is saved.
    pub saved: SweepResult,
    /// The result by the displayed metric.
    pub shown: SweepResult,
    /// All results that are shown side by side, with their titles, if there are several, and the index of the displayed
    /// one.
    pub together: Vec<(SweepResult, String)>,
    pub present: usize,
    pub style: MapStyle,
    /// The raw arrays, or the reason why the diagram has none.
    pub raw: Result<RawPlan, String>,
}

impl ExportSource for DiagramExport {
    fn title(&self) -> String {
        self.saved.title.clone()
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
                self.saved.write_arrays(&mut bytes).map_err(|error| error.to_string())?;
                let preview = Preview::npz(bytes.get_ref());
                saved(bytes.into_inner(), preview)
            }
            FileFormat::Ron => {
                let text = self.saved.preset().to_ron();
                saved(text.clone().into_bytes(), Preview::Text(text))
            }
            FileFormat::Npy => {
                let plan = self.raw.clone()?;
                let names: Vec<String> = (0..plan.rows()).map(|row| plan.file_name(row)).collect();
                let (preview, about) = (Preview::Text(names.join("\n")), format!("{} files", plan.rows()));
                let purpose = Purpose::Save { content: FileContent::Raw(plan), suggested_name: "raw".to_owned() };
                Ok(Made { purpose, preview, about, usual_width_mm: 0.0 })
            }
            _ => options.figure(&self.figure(options.content == 1)?),
        }
    }
}

impl DiagramExport {
    fn figure(&self, pairs: bool) -> Result<Figure, String> {
        let MapStyle { map, metric, letters } = self.style;
        let result = &filled(&self.shown);
        let figure = match map {
            map if self.together.len() > 1 => compared(&self.together, map, self.present, metric),
            _ if pairs => Figure::pairs(&[(result, metric)]),
            Map::Triangle if !result.diagram.has_shares() => {
                return Err("The triangle is not measured yet; wait until it is drawn.".to_owned());
            }
            Map::Triangle => Figure::triangle(result, metric),
            map => Figure::map(result, metric, map),
        };
        Ok(if letters { figure.with_letters() } else { figure })
    }

    fn scores(&self) -> Result<Vec<u8>, String> {
        let mut bytes = Vec::new();
        let titled = self.together.iter().map(|(result, title)| (Some(title.as_str()), &result.diagram));
        let mut tables: Vec<_> = titled.collect();
        if tables.is_empty() {
            tables.push((None, &self.shown.diagram));
        }
        write_table(&mut bytes, &tables).map_err(|error| error.to_string())?;
        Ok(bytes)
    }
}

/// Returns the result for a figure, which shows coarse blocks where the window does.
fn filled(result: &SweepResult) -> SweepResult {
    SweepResult { diagram: result.diagram.filled(), ..result.clone() }
}

/// Returns the figure of the same map of several diagrams; `map` is that of the one at the index `of`.
fn compared(together: &[(SweepResult, String)], map: Map, of: usize, metric: Metric) -> Figure {
    let results: Vec<SweepResult> = together.iter().map(|(result, _)| filled(result)).collect();
    let titles = together.iter().map(|(_, title)| title.clone());
    let compared = results.iter().zip(titles).map(|(result, title)| Compared { result, title, metric });
    Figure::compared(&compared.collect::<Vec<_>>(), map, of)
}
