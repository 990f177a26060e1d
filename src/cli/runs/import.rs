//! `valleyscope runs import`: runs of other programs, from TensorBoard's event files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use valleyscope_engine::terminal_escape::visible;
use valleyscope_runs::atomic_file::{Overwrite, write_file};
use valleyscope_runs::{
    Better, Event, EventRecord, MetricId, MetricInfo, MetricScale, MetricSource, MetricValues, RunFolder, Started,
    Timestamp, with_crc,
};

use super::find::RunsLocation;
use crate::cli::{Failure, say};
use crate::tensorboard::{Scalars, event_folders, read_folder};

/// Writes a run for each folder of event files in and below `paths`.
pub(super) fn run(place: &RunsLocation, paths: &[PathBuf]) -> Result<(), Failure> {
    for path in paths {
        let folders = event_folders(path).map_err(Failure::bad_input)?;
        if folders.is_empty() {
            return Err(Failure::BadInput(anyhow!(
                "expected an event file of TensorBoard or a folder with such files, and {} has none: their names contain \
                 `tfevents`",
                path.display()
            )));
        }
        for folder in folders {
            import(place, &folder)?;
        }
    }
    Ok(())
}

fn import(place: &RunsLocation, folder: &Path) -> Result<(), Failure> {
    let scalars = read_folder(folder).map_err(Failure::bad_input)?;
    for damage in scalars.damage.lines() {
        say(format_args!("{}: {damage}", folder.display()));
    }
    let imported = Imported::new(&scalars);
    if imported.records.is_empty() {
        say(format_args!("{} has no scalars, and is left out", folder.display()));
        return Ok(());
    }
    let title = folder.canonicalize().ok().and_then(|path| Some(path.file_name()?.to_string_lossy().into_owned()));
    let title = title.unwrap_or_else(|| "imported".to_owned());
    let lines = imported.lines(&title);
    let source = visible(&folder.to_string_lossy()).into_owned();
    let config = format!("// The scalars of {source}: no preset, so this run cannot be resumed.\n");
    let run = RunFolder::make(&place.folder, &title, |run| {
        write_file(&run.config(), Overwrite::No, config.as_bytes()).with_context(|| cannot_write(&run.config()))?;
        write_file(&run.events(), Overwrite::No, lines.as_bytes()).with_context(|| cannot_write(&run.events()))
    })?;
    let (points, tags) = (imported.points, imported.metrics.len());
    say(format_args!("{points} points of {tags} tags of {} are in {}", folder.display(), run.path().display()));
    Ok(())
}

fn cannot_write(path: &Path) -> String {
    format!("cannot write {}", path.display())
}

/// The events of a run made from scalars.
struct Imported {
    metrics: Vec<MetricInfo>,
    records: Vec<EventRecord>,
    points: usize,
}

impl Imported {
    fn new(scalars: &Scalars) -> Imported {
        let loss = training_loss(scalars);
        let mut taken = Vec::new();
        let mut tags = Vec::new();
        for (tag, points) in &scalars.tags {
            let name = if Some(tag) == loss { MetricId::LOSS.name().to_owned() } else { metric_name(tag, &taken) };
            let Some(metric) = MetricId::named(&name) else { continue };
            taken.push(name);
            // A point of the training has a loss; tags with other steps are evaluations.
            let is_training = loss.is_some_and(|loss| points.keys().all(|step| scalars.tags[loss].contains_key(step)));
            let source = if is_training { MetricSource::Training } else { MetricSource::Evaluation };
            tags.push((described(metric, tag, scalars, source), metric, points));
        }
        let first = tags.iter().flat_map(|(.., points)| points.values()).map(|(time, _)| *time);
        let began = first.fold(f64::INFINITY, f64::min);
        let mut rows = BTreeMap::<(u64, bool), (f64, MetricValues)>::new();
        for (info, metric, points) in &tags {
            for (&step, &(time, value)) in *points {
                let is_evaluation = info.source == MetricSource::Evaluation;
                let (at, values) = rows.entry((step, is_evaluation)).or_insert((time, MetricValues::default()));
                *at = at.max(time);
                values.set(*metric, value);
            }
        }
        let points = tags.iter().map(|(.., points)| points.len()).sum();
        let record = |((step, is_evaluation), (time, values)): ((u64, bool), (f64, MetricValues))| EventRecord {
            step,
            time: timestamp(time),
            wall_s: (time - began).max(0.0),
            event: if is_evaluation { Event::Eval(values) } else { Event::Train(values) },
        };
        Imported {
            metrics: tags.into_iter().map(|(info, ..)| info).collect(),
            records: rows.into_iter().map(record).collect(),
            points,
        }
    }

    /// Returns the lines of `events.jsonl`.
    fn lines(&self, title: &str) -> String {
        let (Some(first), Some(last)) = (self.records.first(), self.records.last()) else { return String::new() };
        let started = Started {
            title: title.to_owned(),
            kind: "TensorBoard".to_owned(),
            steps: last.step,
            metrics: self.metrics.clone(),
            ..Started::default()
        };
        let began = EventRecord { step: 0, time: first.time, wall_s: 0.0, event: Event::Started(started) };
        let finished = EventRecord { event: Event::Finished, ..last.clone() };
        let records = std::iter::once(&began).chain(&self.records).chain([&finished]);
        let lines = records.zip(1..).map(|(record, number)| with_crc(&record.to_line(), number) + "\n");
        lines.collect()
    }
}

/// Returns the tag of the training's loss: `loss` itself, or the first one whose name has a loss that is not of
/// validation or test.
fn training_loss(scalars: &Scalars) -> Option<&String> {
    let is_loss = |tag: &&String| {
        let tag = tag.to_ascii_lowercase();
        tag.contains("loss") && !["val", "test", "eval"].iter().any(|other| tag.contains(other))
    };
    let exact = scalars.tags.keys().find(|tag| *tag == MetricId::LOSS.name());
    exact.or_else(|| scalars.tags.keys().find(is_loss))
}

/// Returns the name of a tag as a metric: visible ASCII characters, and not one of those already taken.
fn metric_name(tag: &str, taken: &[String]) -> String {
    let visible = |c: char| if c.is_ascii_graphic() { c } else { '_' };
    let name: String = tag.chars().map(visible).take(MetricId::LONGEST_NAME - 4).collect();
    let name = if name.is_empty() { "_".to_owned() } else { name };
    let is_free = |name: &String| !taken.contains(name) && name != MetricId::LOSS.name();
    if is_free(&name) {
        return name;
    }
    let numbered = (2..).map(|number| format!("{name}_{number}"));
    numbered.into_iter().find(is_free).expect("some number is free")
}

/// Describes the metric of a tag: as the program's own where it has that name, otherwise by the tag.
fn described(metric: MetricId, tag: &str, scalars: &Scalars, source: MetricSource) -> MetricInfo {
    let usual = metric.info();
    let title = scalars.titles.get(tag).cloned().unwrap_or_else(|| tag.to_owned());
    let title = if metric.name() == tag && !scalars.titles.contains_key(tag) { usual.title.clone() } else { title };
    let lower = tag.to_ascii_lowercase();
    let (scale, better) = if lower.contains("loss") || lower.contains("perplexity") {
        (MetricScale::Log, Better::Lower)
    } else if lower.contains("acc") {
        (MetricScale::Linear, Better::Higher)
    } else {
        (usual.scale, usual.better)
    };
    MetricInfo { title, scale, better, source, ..usual }
}

fn timestamp(seconds: f64) -> Timestamp {
    Timestamp::from_microsecond((seconds * 1e6).round() as i64).unwrap_or(Timestamp::UNIX_EPOCH)
}
