//! `valleyscope runs export`: the points of a run or the numbers of a scan, as a file.

use std::fs;
use std::io::{self, BufWriter};
use std::path::Path;

use anyhow::{Context, anyhow, bail};
use valleyscope_engine::terminal_escape::{visible, visible_path};
use valleyscope_runs::atomic_file::{AtomicFile, Overwrite};
use valleyscope_runs::{CheckpointChoice, RunHistory, RunReader};

use super::find::{CheckpointName, RunsLocation};
use crate::cli::{Failure, say};
use crate::export::write_csv;
use crate::result::scan::{self, ScanResult};
use crate::tensorboard::{event_file, write_history};

/// Writes the points of a run, or the numbers of a scan.
pub(super) fn run(place: &RunsLocation, name: &CheckpointName, out: &Path) -> Result<(), Failure> {
    let reader = read(place, name, "--out")?;
    let format = Format::of(out)?;
    let (name, config) = (reader.run().shown_name(), scan::config(reader.run()));
    let content = Content::of(reader.history(), &config, format)
        .with_context(|| format!("cannot write {} of {name}", out.display()))
        .map_err(Failure::BadInput)?;
    let to_file = || format!("cannot write {}", visible_path(out));
    let mut file = AtomicFile::for_target(out).with_context(to_file)?;
    let written = content.write(&mut file).with_context(to_file)?;
    file.commit(Overwrite::Yes).with_context(to_file)?;
    say_what_is_missing(&reader);
    say(format_args!("{written} of {name} are in {}", visible_path(out)));
    if let Content::Table(scan) | Content::Arrays(scan) = &content {
        scan.edge_notes().iter().for_each(|note| say(format_args!("{note}")));
    }
    Ok(())
}

/// Writes the points of a run as an event file of TensorBoard, in a folder of the run's name.
pub(super) fn to_tensorboard(place: &RunsLocation, name: &CheckpointName, folder: &Path) -> Result<(), Failure> {
    let reader = read(place, name, "--tensorboard")?;
    let (name, history) = (reader.run().name(), reader.history());
    let began = history.began().ok_or_else(|| Failure::BadInput(anyhow!("{name} has not begun yet")))?;
    let out = event_file(folder, reader.run(), began);
    let folder = folder.join(&name);
    let to_file = || format!("cannot write {}", visible_path(&out));
    fs::create_dir_all(&folder).with_context(to_file)?;
    let mut file = AtomicFile::for_target(&out).with_context(to_file)?;
    let written = write_history(history, BufWriter::new(&mut file)).with_context(to_file)?;
    file.commit(Overwrite::Yes).with_context(to_file)?;
    say_what_is_missing(&reader);
    say(format_args!("{written} points of {} are in {}", visible(&name), visible_path(&folder)));
    Ok(())
}

/// Reads the events of a run for an option that writes all of its points.
fn read(place: &RunsLocation, name: &CheckpointName, option: &str) -> Result<RunReader, Failure> {
    if name.choice != CheckpointChoice::Newest {
        return Err(Failure::BadInput(anyhow!(
            "{option} writes all points of a run, whatever the checkpoint; leave @ and what follows out, or take \
             --model DIR"
        )));
    }
    let run = place.find(&name.run)?;
    let events = run.events();
    let mut reader = RunReader::new(run);
    reader.poll().with_context(|| format!("cannot read {}", visible_path(&events)))?;
    Ok(reader)
}

fn say_what_is_missing(reader: &RunReader) {
    if let Some(missing) = reader.history().missing() {
        say(format_args!("{missing}"));
    }
    if reader.history().skipped() > 0 {
        say(format_args!("{}: {}", visible_path(&reader.run().events()), reader.history().skipped_text()));
    }
}

enum Format {
    Csv,
    Npz,
}

impl Format {
    fn of(out: &Path) -> Result<Format, Failure> {
        match out.extension().map(|extension| extension.to_ascii_lowercase()) {
            Some(extension) if extension == "csv" => Ok(Format::Csv),
            Some(extension) if extension == "npz" => Ok(Format::Npz),
            _ => Err(Failure::BadInput(anyhow!(
                "--out must be a file that ends in .csv, or of a scan in .npz, found {}; `valleyscope figure` draws \
                 the figure of a scan",
                out.display()
            ))),
        }
    }
}

/// The exported content.
enum Content<'h> {
    Points(&'h RunHistory),
    Table(ScanResult),
    Arrays(ScanResult),
}

impl Content<'_> {
    fn of<'h>(history: &'h RunHistory, config: &str, format: Format) -> anyhow::Result<Content<'h>> {
        let is_scan = history.started().is_some_and(|started| started.scan.is_some());
        let scan = || ScanResult::of(history, config)?.complete_in_part();
        Ok(match format {
            Format::Csv if is_scan => Content::Table(scan()?),
            Format::Csv if history.started().is_none() => bail!("the run has not begun yet"),
            Format::Csv => Content::Points(history),
            Format::Npz => Content::Arrays(scan()?),
        })
    }

    /// Writes the content, and returns its amount in words.
    fn write(&self, file: &mut AtomicFile) -> io::Result<String> {
        Ok(match self {
            Content::Points(history) => format!("{} rows", write_csv(history, file)?),
            Content::Table(scan) => format!("{} rows", scan.write_table(file)?),
            Content::Arrays(scan) => {
                scan.write_arrays(file)?;
                format!("{} of {} grid points", scan.known(), scan.axes.grid_points())
            }
        })
    }
}
