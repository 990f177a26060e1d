//! `valleyscope runs merge`: the parts of a scan as one run.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

use anyhow::{Context, anyhow};
use valleyscope_engine::sweep::SweepPart;
use valleyscope_engine::terminal_escape::visible_path;
use valleyscope_experiments::preset::Preset;
use valleyscope_experiments::run::{Difference, RunConfig, differing_fields};
use valleyscope_runs::{Event, GridPoint, RunFolder, RunReader, RunSession, ScanAxes, Started};

use crate::cli::run_args::RunsLocation;
use crate::cli::{Failure, say};

/// The run of a part, with its grid points so far.
struct PartRun {
    run: RunFolder,
    part: SweepPart,
    /// The grid points of the part, by their indices of optimizer and batch size.
    own_points: Vec<[usize; 2]>,
    /// The preset of the whole scan.
    whole: Preset,
    started: Started,
    axes: ScanAxes,
    points: Vec<GridPoint>,
    /// A description of lost events; empty if none are lost.
    damage: String,
}

type GridPoints = BTreeMap<[usize; 2], GridPoint>;

/// Writes a run of the whole scan with the grid points of its parts, into a folder if one is named.
pub(super) fn run(location: &RunsLocation, folder: Option<&Path>, names: &[OsString]) -> Result<(), Failure> {
    let opened = names.iter().map(|name| PartRun::open(location.find(name)?)).collect::<Result<Vec<_>, _>>()?;
    let runs: Vec<PartRun> = opened.into_iter().flatten().collect();
    let Some(first) = runs.first() else {
        return Err(anyhow!("none of the parts has begun; merge them when some grid points are trained").into());
    };
    for other in &runs[1..] {
        other.check_same(first)?;
    }
    let (points, notes) = collect(&runs)?;
    notes.iter().for_each(|note| say(format_args!("{note}")));
    let merged = write(first, folder, &points)?;
    let (all, name) = (first.axes.points().len(), visible_path(merged.path()));
    if points.len() == all {
        say(format_args!("{all} grid points of {} runs are in {name}", runs.len()));
        return Ok(());
    }
    Err(anyhow!(
        "{} of {all} grid points are in {name}; {}. `valleyscope train --resume {name}` trains the rest; or run these parts \
         to their ends, and merge all once more",
        points.len(),
        missing(&runs)
    )
    .into())
}

impl PartRun {
    /// Opens the run of a part; if it has not begun, prints that and returns `None`.
    fn open(run: RunFolder) -> Result<Option<PartRun>, Failure> {
        let name = run.shown_name();
        let config = RunConfig::read(&run).map_err(Failure::bad_input)?;
        let (own_points, mut whole) = (config.started().own_points, config.preset.clone());
        let part = whole.workload_mut().and_then(|workload| workload.take_part());
        let (Some(part), Some(own_points)) = (part, own_points) else {
            return Err(Failure::BadInput(anyhow!(
                "expected the run of a part of a scan, begun by `valleyscope train PRESET --part K/N`, and {name} is none"
            )));
        };
        let mut reader = RunReader::brief(run.clone());
        reader.poll().with_context(|| format!("cannot read {}", visible_path(&run.events())))?;
        let history = reader.history();
        // The losses belong to the config with which the part began; an edited one would label them falsely.
        config.check(history).with_context(|| format!("cannot merge {name}")).map_err(Failure::BadInput)?;
        let damage = match history.skipped() {
            0 => String::new(),
            _ => format!("its {} is damaged: {}", RunFolder::EVENTS, history.skipped_text()),
        };
        let begun = history.started().and_then(|started| Some((started.clone(), started.scan.clone()?)));
        let Some((started, axes)) = begun else {
            if damage.is_empty() {
                say(format_args!("{name} has not begun, and is left out"));
            } else {
                say(format_args!("{name} is left out, as its beginning cannot be read: {damage}"));
            }
            return Ok(None);
        };
        let points = history.grid_points().filter(|point| own_points.contains(&point.index));
        let points = points.cloned().collect();
        Ok(Some(PartRun { run, part, own_points, whole, started, axes, points, damage }))
    }

    /// Checks that this is a part of the same scan as another, on the same data.
    fn check_same(&self, first: &PartRun) -> Result<(), Failure> {
        let [here, there] = [self, first].map(|part| part.run.shown_name());
        let refuse = |what: String| {
            Err(Failure::BadInput(anyhow!(
                "{here} is of another scan than {there}: {what}; merge only parts of one scan"
            )))
        };
        if self.part.count() != first.part.count() {
            return refuse(format!("it is part {}, and that is part {}", self.part, first.part));
        }
        if let Some(Difference { field, before, now }) = differing_fields(&self.whole, &first.whole).into_iter().next()
        {
            return refuse(format!("its `{field}` is {before}, and not {now}"));
        }
        if self.started.fingerprint != first.started.fingerprint {
            return refuse(format!("it was trained on other data ({}, and {})", self.started.data, first.started.data));
        }
        if self.started.version != first.started.version {
            let [here, there] = [self, first].map(|part| &part.started.version);
            return refuse(format!("it was trained by Valleyscope {here}, and that by {there}"));
        }
        Ok(())
    }
}

/// Collects all grid points, each once, and notes about them.
fn collect(runs: &[PartRun]) -> Result<(GridPoints, Vec<String>), Failure> {
    let mut points = BTreeMap::<[usize; 2], (GridPoint, &RunFolder)>::new();
    let mut notes = Vec::new();
    for PartRun { run, part, points: own, .. } in runs {
        for point in own {
            let Some((there, other)) = points.get(&point.index) else {
                points.insert(point.index, (point.clone(), run));
                continue;
            };
            let [here, there] = [point, there].map(|point| [&point.train_loss, &point.test_loss, &point.test_accuracy]);
            let bits = |losses: [&Vec<Vec<f64>>; 3]| -> Vec<u64> {
                losses.into_iter().flatten().flatten().map(|number| number.to_bits()).collect()
            };
            if bits(here) != bits(there) {
                return Err(Failure::BadInput(anyhow!(
                    "{} and {} have different results for {} with batches of {}; leave one of them out",
                    run.shown_name(),
                    other.shown_name(),
                    point.optimizer,
                    point.batch_size
                )));
            }
            let note = format!(
                "part {part} is there twice, with the same results: {}, {}",
                other.shown_name(),
                run.shown_name()
            );
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
    }
    Ok((points.into_iter().map(|(index, (point, _))| (index, point)).collect(), notes))
}

/// Writes the run into a folder, or without one into the folder of the first run.
fn write(first: &PartRun, folder: Option<&Path>, points: &GridPoints) -> anyhow::Result<RunFolder> {
    let stem = first.run.stem();
    let stem = stem.strip_suffix(&format!("-{}", first.part.stem())).unwrap_or(&stem);
    let folder = folder.or(first.run.path().parent()).context("the folder of a run is in another")?;
    let run = RunFolder::create(folder, stem, &first.whole.to_ron())?;
    let mut session = RunSession::begin(&run)?;
    let Started { data, fingerprint, synthetic, device, version, .. } = first.started.clone();
    let started = Started { data, fingerprint, synthetic, device, version, ..RunConfig::read(&run)?.started() };
    session.record(0, Event::Started(started))?;
    let order = first.axes.points();
    let mut done = 0;
    for point in order.iter().filter_map(|index| points.get(index)) {
        done += 1;
        session.record(done, Event::GridPoint(GridPoint { done, total: order.len() as u64, ..point.clone() }))?;
    }
    session.record(done, if points.len() == order.len() { Event::Finished } else { Event::Stopped })?;
    session.sync()?;
    Ok(run)
}

/// Lists the parts of which grid points are missing, as text.
fn missing(runs: &[PartRun]) -> String {
    let count = runs[0].part.count();
    let descriptions = SweepPart::all(count).filter_map(|part| {
        let mut of_part = runs.iter().filter(|run| run.part == part).peekable();
        if of_part.peek().is_none() {
            return Some(format!("part {part} is missing"));
        }
        let best = of_part.max_by_key(|run| run.points.len())?;
        let (known, own) = (best.points.len(), best.own_points.len());
        let damage = if best.damage.is_empty() { String::new() } else { format!(", as {}", best.damage) };
        (known < own).then(|| format!("part {part} has {known} of {own} ({}){damage}", best.run.shown_name()))
    });
    descriptions.collect::<Vec<_>>().join(", ")
}
