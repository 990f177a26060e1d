//! The points of a run as a table.

use std::io::{self, Write};

use jiff::Timestamp;
use valleyscope_runs::{MetricCurve, MetricId, MetricInfo, RunHistory};

use crate::export::{CsvCell, CsvWriter};

/// Writes the points of a run as CSV and returns the number of rows.
///
/// There is a row for each point of training and each evaluation, in the order of the steps: `step`, `time`
/// (RFC 3339), `wall_s` (seconds of training) and the metrics that were measured, by their names in the events. A
/// metric that does not belong to the row is left empty. A scan has no such points; its results are those of
/// [`ScanResult`](crate::result::scan::ScanResult).
pub fn write_csv(history: &RunHistory, writer: impl Write) -> io::Result<u64> {
    let mut curves: Vec<(MetricId, PendingCurve<'_>)> = history
        .metrics()
        .iter()
        .filter_map(MetricInfo::metric)
        .map(|metric| (metric, PendingCurve { curve: history.curve(metric), next: 0 }))
        .filter(|(_, ahead)| !ahead.curve.is_empty())
        .collect();
    let names = curves.iter().map(|(metric, _)| metric.name());
    let header: Vec<&str> = ["step", "time", "wall_s"].into_iter().chain(names).collect();
    let mut table = CsvWriter::new(writer, &header)?;
    let mut rows = 0;
    // Points with the same position are of the same event.
    while let Some(position) = curves.iter().filter_map(|(_, ahead)| ahead.position()).min_by(CurvePosition::order) {
        let time = rfc_3339(position.time_s);
        let mut row = vec![CsvCell::Whole(position.step), CsvCell::Text(&time), CsvCell::Number(position.wall_s)];
        for (_, ahead) in &mut curves {
            let here = ahead.position().is_some_and(|other| other.order(&position).is_eq());
            row.push(if here { CsvCell::Number(ahead.take()) } else { CsvCell::Text("") });
        }
        table.row(&row)?;
        rows += 1;
    }
    table.into_inner().flush()?;
    Ok(rows)
}

/// A curve and its points that remain to be written.
struct PendingCurve<'h> {
    curve: MetricCurve<'h>,
    next: usize,
}

#[derive(Clone, Copy)]
struct CurvePosition {
    step: u64,
    time_s: f64,
    wall_s: f64,
}

impl CurvePosition {
    fn order(&self, other: &CurvePosition) -> std::cmp::Ordering {
        self.step.cmp(&other.step).then(self.time_s.total_cmp(&other.time_s))
    }
}

impl PendingCurve<'_> {
    fn position(&self) -> Option<CurvePosition> {
        let MetricCurve { step, wall_s, time_s, .. } = self.curve;
        let next = self.next;
        Some(CurvePosition { step: *step.get(next)?, time_s: time_s[next], wall_s: wall_s[next] })
    }

    fn take(&mut self) -> f64 {
        self.next += 1;
        self.curve.value[self.next - 1]
    }
}

fn rfc_3339(time_s: f64) -> String {
    let time = Timestamp::from_microsecond((time_s * 1e6).round() as i64);
    time.map_or_else(|_| String::new(), |time| time.to_string())
}
