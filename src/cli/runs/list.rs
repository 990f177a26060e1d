//! `valleyscope runs list`.

use jiff::Timestamp;

use super::find::Place;
use super::{left, newest, print, progress, rate};
use crate::cli::{Failure, say};
use crate::run::{History, Metric, Notes, RunFolder, RunReader};

const HEADER: [&str; 8] = ["RUN", "STATUS", "STEP", "RATE", "LEFT", "LOSS", "EVALUATED", "TITLE"];

pub fn run(place: &Place) -> Result<(), Failure> {
    let mut rows = Vec::new();
    for run in place.list()? {
        match row(&run) {
            Ok(row) => rows.push(row),
            // One that is damaged does not hide the others.
            Err(error) => say(format_args!("cannot read {}: {error}", run.path().display())),
        }
    }
    if rows.is_empty() {
        say(format_args!("there are no runs in {}", place.folder.display()));
        return Ok(());
    }
    rows.sort_by_key(|row| std::cmp::Reverse(row.0));
    let rows: Vec<[String; 8]> =
        std::iter::once(HEADER.map(str::to_owned)).chain(rows.into_iter().map(|(_, row)| row)).collect();
    print(&aligned(&rows))
}

/// The row of a run, and when it began.
fn row(run: &RunFolder) -> std::io::Result<(Timestamp, [String; 8])> {
    let mut reader = RunReader::brief(run.clone());
    let status = reader.status(Timestamp::now())?;
    let history = reader.history();
    let title = Notes::read(run).unwrap_or_default().title;
    let title = if title.is_empty() { history.started().map_or("", |started| &started.title) } else { &title };
    let open = status.is_open();
    let row = [
        run.name(),
        status.word(),
        progress(history),
        rate(history).unwrap_or_default(),
        left(history).filter(|_| open).unwrap_or_default(),
        newest(history, Metric::Loss).unwrap_or_default(),
        evaluated(history),
        title.lines().next().unwrap_or_default().to_owned(),
    ];
    Ok((began(run, history), row))
}

fn evaluated(history: &History) -> String {
    let [test, accuracy, validation] =
        [Metric::TestLoss, Metric::TestAccuracy, Metric::ValLoss].map(|metric| newest(history, metric));
    [test, accuracy, validation].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn began(run: &RunFolder, history: &History) -> Timestamp {
    let made = || Timestamp::try_from(run.config().metadata().ok()?.modified().ok()?).ok();
    history.began().or_else(made).unwrap_or(Timestamp::MIN)
}

fn aligned(rows: &[[String; 8]]) -> String {
    let widths: [usize; 8] =
        std::array::from_fn(|column| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0));
    let line = |row: &[String; 8]| {
        let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
    };
    rows.iter().map(line).collect()
}
