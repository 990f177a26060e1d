//! Exports tables and figures of runs, and tables, arrays and figures of scans, on a thread of their own.

use std::io::Cursor;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError, channel};

use egui::Context;
use valleyscope_runs::{MetricInfo, RunFolder, RunReader};

use super::plot_export::CurvesExport;
use crate::app::figure_layout::FigureLayout;
use crate::app::live::{Action, Requests};
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

    fn name(self) -> &'static str {
        match self {
            ScanFile::Figure(Format::Png) => "scan.png",
            ScanFile::Figure(Format::Svg) => "scan.svg",
            ScanFile::Figure(Format::Pdf) => "scan.pdf",
            ScanFile::Table => ScanResult::TABLE,
            ScanFile::Arrays => ScanResult::ARRAYS,
        }
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

/// The exports in progress.
#[derive(Default)]
pub(super) struct TrainingExports {
    coming: Vec<Receiver<Made>>,
}

/// A file's content and its suggested name, or the reason for a failure.
type Made = Result<(Vec<u8>, &'static str), String>;

impl TrainingExports {
    /// Starts making a table of all points of these runs. A dialog asks for its path when it is ready.
    pub(super) fn begin(&mut self, ctx: &Context, runs: Vec<RunFolder>) {
        self.make(ctx, move || Ok((table(&runs).map_err(|error| error.to_string())?, "runs.csv")));
    }

    /// Starts making a file of a scan. A dialog asks for its path when it is ready.
    pub(super) fn begin_scan(
        &mut self,
        ctx: &Context,
        scan: Arc<ScanResult>,
        file: ScanFile,
        figure_layout: FigureLayout,
    ) {
        self.make(ctx, move || Ok((file.content(&scan, figure_layout)?, file.name())));
    }

    /// Starts making a figure of curves. A dialog asks for its path when it is ready.
    pub(super) fn begin_picture(
        &mut self,
        ctx: &Context,
        picture: CurvesExport,
        format: Format,
        figure_layout: FigureLayout,
    ) {
        let name = match format {
            Format::Png => "training.png",
            Format::Svg => "training.svg",
            Format::Pdf => "training.pdf",
        };
        self.make(ctx, move || {
            if picture.plots.is_empty() {
                return Err("No shown plot has a curve. Choose others under “Plots”.".to_owned());
            }
            Ok((figure_layout.file(&picture.figure(), format).map_err(|error| error.to_string())?, name))
        });
    }

    fn make(&mut self, ctx: &Context, make: impl FnOnce() -> Made + Send + 'static) {
        let (sender, receiver) = channel();
        let ctx = ctx.clone();
        std::thread::spawn(move || {
            // The window may be closed.
            let _ = sender.send(make());
            ctx.request_repaint();
        });
        self.coming.push(receiver);
    }

    pub(super) fn poll(&mut self, requests: &mut Requests) {
        self.coming.retain(|coming| {
            let action = match coming.try_recv() {
                Ok(Ok((bytes, name))) => Action::SaveBytes { bytes, suggested_name: name.to_owned() },
                Ok(Err(reason)) => Action::Report { title: "Nothing was exported".to_owned(), text: reason },
                Err(error) => return error == TryRecvError::Empty,
            };
            requests.actions.push(action);
            false
        });
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
