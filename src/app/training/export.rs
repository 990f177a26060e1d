//! Exports tables and figures of runs, and tables, arrays and figures of scans.

use std::io::Cursor;

use valleyscope_runs::{MetricInfo, RunFolder, RunReader};

use super::plot_export::CurvesExport;
use crate::app::figure_layout::FigureLayout;
use crate::app::live::Action;
use crate::export::write_csv;
use crate::export::{CsvCell, CsvWriter};
use crate::figure::{Figure, Format};
use crate::result::scan::ScanResult;

/// The export formats of a scan.
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

    /// Makes the file of a scan, and returns the request to save it.
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

/// Makes a table of all points of these runs, and returns the request to save it.
pub(super) fn export_table(runs: &[RunFolder]) -> Action {
    to_save(table(runs).map_err(|error| error.to_string()), "runs.csv".to_owned())
}

/// Makes a figure of curves, and returns the request to save it.
pub(super) fn export_curves(curves: CurvesExport, format: Format, figure_layout: FigureLayout) -> Action {
    let made = if curves.plots.is_empty() {
        Err("No shown plot has a curve. Choose others under “Plots”.".to_owned())
    } else {
        figure_layout.file(&curves.figure(), format).map_err(|error| error.to_string())
    };
    to_save(made, format!("training.{}", format.extension()))
}

/// Returns the request to save a file, or to report why it was not made.
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
