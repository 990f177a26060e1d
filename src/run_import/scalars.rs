//! Runs made from scalars of other programs.

use std::collections::BTreeMap;
use std::path::Path;

use valleyscope_engine::terminal_escape::visible;
use valleyscope_runs::atomic_file::{Overwrite, write_file};
use valleyscope_runs::{
    Better, Event, EventRecord, MetricId, MetricInfo, MetricScale, MetricSource, MetricValues, RunFolder, Started,
    Timestamp, with_crc,
};

use super::{Outcome, RunError};
use crate::tensorboard::Scalars;

/// Writes a run of this title with the scalars of a folder or a file.
pub(super) fn make_run(into: &Path, from: &Path, title: &str, scalars: &Scalars) -> Result<Outcome, RunError> {
    let imported = ImportedEvents::new(scalars);
    if imported.records.is_empty() {
        let damage = scalars.damage.lines().map(|damage| format!("; {damage}")).collect::<String>();
        return Err(RunError::Unfit(format!("it has no scalars{damage}")));
    }
    let lines = imported.lines(title);
    let source = from.to_string_lossy();
    let config = format!("// The scalars of {}: no preset, so this run cannot be resumed.\n", visible(&source));
    let write = |path: &Path, text: &str| {
        let written = write_file(path, Overwrite::No, text.as_bytes());
        written.map_err(|source| RunError::Write { path: path.to_owned(), source })
    };
    let run = RunFolder::make(into, title, |run| {
        write(&run.config(), &config)?;
        write(&run.events(), &lines)
    })?;
    let what = format!("{} points of {} tags", imported.points, imported.metrics.len());
    Ok(Outcome::Made { run, what, damage: scalars.damage.lines().collect() })
}

/// The events of a run made from scalars.
struct ImportedEvents {
    metrics: Vec<MetricInfo>,
    records: Vec<EventRecord>,
    points: usize,
}

impl ImportedEvents {
    fn new(scalars: &Scalars) -> ImportedEvents {
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
        ImportedEvents {
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
            kind: "Imported".to_owned(),
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

/// Returns the name of a tag as a metric: visible ASCII characters, and neither one of those already taken nor a field
/// of events.
fn metric_name(tag: &str, taken: &[String]) -> String {
    let visible = |c: char| if c.is_ascii_graphic() { c } else { '_' };
    let name: String = tag.chars().map(visible).take(MetricId::LONGEST_NAME - 4).collect();
    let name = if name.is_empty() { "_".to_owned() } else { name };
    let is_free =
        |name: &String| !taken.contains(name) && name != MetricId::LOSS.name() && !MetricId::is_reserved(name);
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
