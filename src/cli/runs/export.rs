//! `valleyscope runs export`: the points of a run or the numbers of a scan, as a file.

use std::io;
use std::path::Path;

use anyhow::{Context, anyhow, bail};
use valleyscope_runs::atomic_file::{AtomicFile, Overwrite};
use valleyscope_runs::{CheckpointChoice, RunHistory, RunReader};

use super::find::{CheckpointName, RunsLocation};
use crate::cli::{Failure, say};
use crate::export::write_csv;
use crate::result::scan::{self, ScanResult};

/// Writes the points of a run, or the numbers of a scan.
pub(super) fn run(place: &RunsLocation, name: &CheckpointName, out: &Path) -> Result<(), Failure> {
    if name.choice != CheckpointChoice::Newest {
        return Err(Failure::BadInput(anyhow!(
            "--out writes all points of a run, whatever the checkpoint; leave @ and what follows out, or take --model DIR"
        )));
    }
    let run = place.find(&name.run)?;
    let format = Format::of(out)?;
    let (name, events, config) = (run.name(), run.events(), scan::config(&run));
    let mut reader = RunReader::new(run);
    reader.poll().with_context(|| format!("cannot read {}", events.display()))?;
    let content = Content::of(reader.history(), &config, format)
        .with_context(|| format!("cannot write {} of {name}", out.display()))
        .map_err(Failure::BadInput)?;
    let to_file = || format!("cannot write {}", out.display());
    let mut file = AtomicFile::for_target(out).with_context(to_file)?;
    let written = content.write(&mut file).with_context(to_file)?;
    file.commit(Overwrite::Yes).with_context(to_file)?;
    if let Some(missing) = reader.history().missing() {
        say(format_args!("{missing}"));
    }
    let damage = reader.history().damage();
    if !damage.is_none() {
        say(format_args!("{} is damaged: {damage}; what was recorded there is not in the export", events.display()));
    }
    say(format_args!("{written} of {name} are in {}", out.display()));
    Ok(())
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
