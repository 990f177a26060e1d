//! The points of a run as a table.

use std::io::{self, Write};

use jiff::Timestamp;

use super::event::{Pixel, ScanAxes};
use super::history::{Curve, History, Metric};
use crate::export::{Cell, CsvWriter};

/// Writes the results of a run as CSV and returns the number of rows.
///
/// A scan has a row for each trained model: `optimizer`, `batch_size`, `learning_rate`, `replicate`, `train_loss`,
/// `test_loss`, `test_accuracy`. Another run has a row for each point of training and each evaluation, in the order
/// of the steps: `step`, `time` (RFC 3339), `wall_s` (seconds of training) and the metrics that were measured, by
/// their names in the events. A metric that does not belong to the row is left empty.
pub fn write_csv(history: &History, writer: impl Write) -> io::Result<u64> {
    match history.started().and_then(|started| started.scan.as_ref()) {
        Some(axes) => write_pixels(history, axes, writer),
        None => write_curves(history, writer),
    }
}

fn write_curves(history: &History, writer: impl Write) -> io::Result<u64> {
    let mut curves: Vec<(Metric, Ahead<'_>)> = Metric::ALL
        .into_iter()
        .map(|metric| (metric, Ahead { curve: history.curve(metric), next: 0 }))
        .filter(|(_, ahead)| !ahead.curve.is_empty())
        .collect();
    let names = curves.iter().map(|(metric, _)| metric.name());
    let header: Vec<&str> = ["step", "time", "wall_s"].into_iter().chain(names).collect();
    let mut table = CsvWriter::new(writer, &header)?;
    let mut rows = 0;
    // Points of the same moment come from the same event.
    while let Some(moment) = curves.iter().filter_map(|(_, ahead)| ahead.moment()).min_by(Moment::order) {
        let time = rfc_3339(moment.time_s);
        let mut row = vec![Cell::Whole(moment.step), Cell::Text(&time), Cell::Number(moment.wall_s)];
        for (_, ahead) in &mut curves {
            let here = ahead.moment().is_some_and(|other| other.order(&moment).is_eq());
            row.push(if here { Cell::Number(ahead.take()) } else { Cell::Text("") });
        }
        table.row(&row)?;
        rows += 1;
    }
    table.into_inner().flush()?;
    Ok(rows)
}

/// A curve and how far it has been written.
struct Ahead<'h> {
    curve: Curve<'h>,
    next: usize,
}

#[derive(Clone, Copy)]
struct Moment {
    step: u64,
    time_s: f64,
    wall_s: f64,
}

impl Moment {
    fn order(&self, other: &Moment) -> std::cmp::Ordering {
        self.step.cmp(&other.step).then(self.time_s.total_cmp(&other.time_s))
    }
}

impl Ahead<'_> {
    fn moment(&self) -> Option<Moment> {
        let Curve { step, wall_s, time_s, .. } = self.curve;
        let next = self.next;
        Some(Moment { step: *step.get(next)?, time_s: time_s[next], wall_s: wall_s[next] })
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

fn write_pixels(history: &History, axes: &ScanAxes, writer: impl Write) -> io::Result<u64> {
    let header = ["optimizer", "batch_size", "learning_rate", "replicate", "train_loss", "test_loss", "test_accuracy"];
    let mut table = CsvWriter::new(writer, &header)?;
    let mut rows = 0;
    for pixel in history.pixels() {
        for (index, &learning_rate) in axes.learning_rates.iter().enumerate() {
            for replicate in 0..axes.replicates as usize {
                let Some([train_loss, test_loss, accuracy]) = model(pixel, index, replicate) else { continue };
                table.row(&[
                    Cell::Text(&pixel.optimizer),
                    Cell::Whole(pixel.batch_size),
                    Cell::Number(learning_rate),
                    Cell::Whole(replicate as u64),
                    Cell::Number(train_loss),
                    Cell::Number(test_loss),
                    Cell::Number(accuracy),
                ])?;
                rows += 1;
            }
        }
    }
    table.into_inner().flush()?;
    Ok(rows)
}

fn model(pixel: &Pixel, learning_rate: usize, replicate: usize) -> Option<[f64; 3]> {
    let of = |grid: &[Vec<f64>]| grid.get(learning_rate)?.get(replicate).copied();
    Some([of(&pixel.train_loss)?, of(&pixel.test_loss)?, of(&pixel.test_accuracy)?])
}
