//! Tables of runs, made on a thread of their own.

use std::sync::mpsc::{Receiver, TryRecvError, channel};

use egui::Context;

use crate::app::live::{Action, Requests};
use crate::export::{Cell, CsvWriter};
use crate::run::{Metric, RunFolder, RunReader, write_csv};

/// Tables on their way.
#[derive(Default)]
pub struct Exports {
    coming: Vec<Receiver<Result<Vec<u8>, String>>>,
}

impl Exports {
    /// Makes a table of all points of these runs; when it is ready, the user is asked where it goes.
    pub fn begin(&mut self, ctx: &Context, runs: Vec<RunFolder>) {
        let (sender, receiver) = channel();
        let ctx = ctx.clone();
        std::thread::spawn(move || {
            // Nobody listens any more once the window is closed.
            let _ = sender.send(table(&runs).map_err(|error| error.to_string()));
            ctx.request_repaint();
        });
        self.coming.push(receiver);
    }

    pub fn poll(&mut self, requests: &mut Requests) {
        self.coming.retain(|coming| {
            let action = match coming.try_recv() {
                Ok(Ok(bytes)) => Action::SaveBytes { bytes, suggested_name: "runs.csv".to_owned() },
                Ok(Err(reason)) => Action::Report { title: "The runs were not exported", text: reason },
                Err(error) => return error == TryRecvError::Empty,
            };
            requests.actions.push(action);
            false
        });
    }
}

/// Of one run, what `valleyscope runs export` writes; of several, a row for each point of each metric.
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
        for metric in Metric::ALL {
            let curve = reader.history().curve(metric);
            for index in 0..curve.len() {
                table.row(&[
                    Cell::Text(&name),
                    Cell::Text(metric.name()),
                    Cell::Whole(curve.step[index]),
                    Cell::Number(curve.wall_s[index]),
                    Cell::Number(curve.time_s[index]),
                    Cell::Number(curve.value[index]),
                ])?;
            }
        }
    }
    Ok(table.into_inner())
}
