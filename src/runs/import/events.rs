//! Runs made from scalars of other programs.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;

use valleyscope_engine::terminal_escape::visible;
use valleyscope_runs::atomic_file::{AtomicFile, Overwrite, write_plain_file};
use valleyscope_runs::{
    Better, Event, EventRecord, MetricId, MetricInfo, MetricSource, RunFolder, Started, Timestamp, Words, training_loss,
};

use super::scalars::{Point, Replaced, Scalars, ScalarsError};
use super::{Outcome, RunError};

/// The largest difference of times, in seconds, at which points of a step share an event.
const TOGETHER_S: f64 = 1.0;

/// Writes the scalars of a folder or a file as a run.
pub(super) struct RunWriter<'w> {
    pub(super) into: &'w Path,
    /// The path of the folder or the file.
    pub(super) source: String,
    pub(super) title: String,
    /// The run that is written anew, if there is one.
    pub(super) before: Option<&'w RunFolder>,
    /// Whether more points are expected, so that the run has no end yet.
    pub(super) grows: bool,
}

impl RunWriter<'_> {
    pub(super) fn write(self, mut scalars: Scalars) -> Result<Outcome, RunError> {
        let loss = training_loss(scalars.metric_tags().map(|tag| scalars.tags[tag].name.as_str()));
        let loss = loss.and_then(|name| scalars.metric_tags().find(|tag| scalars.tags[*tag].name == name));
        let (survey, replaced) = Survey::of(&mut scalars, loss)?;
        survey.explain(&mut scalars, loss, &replaced)?;
        let metrics = Metric::all(&mut scalars, loss, &survey);
        let named = metrics.iter().zip(&survey.points).filter(|(metric, points)| metric.is_some() && **points > 0);
        let (tags, points) = named.fold((0, 0), |(tags, points), (_, more)| (tags + 1, points + more));
        let left_out: Vec<String> = scalars.left_out.lines().collect();
        if points == 0 {
            let reasons = left_out.iter().map(|line| format!("; {line}")).collect::<String>();
            return Err(RunError::Unfit(format!("it has no scalars{reasons}")));
        }
        let settings = match scalars.settings.len() {
            0 => String::new(),
            1 => " and 1 setting".to_owned(),
            count => format!(" and {count} settings"),
        };
        let what = format!("{points} points of {tags} tags{settings}");
        let events = EventsWriter { run: &self, loss, metrics: &metrics, survey: &survey };
        let mut fill = |run: &RunFolder| {
            let write = |path: &Path, text: &str| {
                let written = write_plain_file(path, text.as_bytes());
                written.map_err(|source| RunError::Write { path: path.to_owned(), source })
            };
            let config = serde_json::to_string_pretty(&scalars.settings).expect("texts and numbers can be written");
            write(&run.other_config(), &(config + "\n"))?;
            let lines = left_out.iter().map(|line| format!("{}\n", visible(line))).collect::<String>();
            write(&run.log(), &format!("imported: {what} of {}\n{lines}", visible(&self.source)))?;
            events.write(&mut scalars, &run.events())
        };
        let run = match self.before {
            Some(run) => fill(run).map(|()| run.clone()),
            None => RunFolder::make(self.into, &self.title, fill),
        }?;
        Ok(Outcome::Made { run, what, left_out })
    }
}

/// The findings of a first pass over all points.
struct Survey {
    points: Vec<u64>,
    /// Whether a tag is logged only together with the loss: at its steps, and not before the loss of the step before or
    /// after that of the next.
    is_with_loss: Vec<bool>,
    /// The earliest and the latest time in seconds since 1970.
    times: [f64; 2],
    last_step: u64,
}

impl Survey {
    fn of(scalars: &mut Scalars, loss: Option<usize>) -> Result<(Survey, Replaced), RunError> {
        let tags = scalars.tags.len();
        let mut survey = Survey {
            points: vec![0; tags],
            is_with_loss: vec![loss.is_some(); tags],
            times: [f64::INFINITY, f64::NEG_INFINITY],
            last_step: 0,
        };
        let mut loss_times = LossTimes::default();
        let replaced = scalars.for_each_step(|row| {
            for point in row {
                survey.points[point.tag] += 1;
                survey.times = [survey.times[0].min(point.time), survey.times[1].max(point.time)];
                survey.last_step = point.step;
            }
            match row.iter().find(|point| Some(point.tag) == loss) {
                Some(loss) => loss_times.add(row, loss.time, &mut survey.is_with_loss),
                None => row.iter().for_each(|point| survey.is_with_loss[point.tag] = false),
            }
            Ok::<(), ScalarsError>(())
        })?;
        loss_times.check_until(f64::INFINITY, &mut survey.is_with_loss);
        if !survey.times[0].is_finite() {
            survey.times = [0.0; 2];
        }
        Ok((survey, replaced))
    }

    /// Describes what the run does not show, and refuses points of several curves in one column.
    fn explain(&self, scalars: &mut Scalars, loss: Option<usize>, replaced: &Replaced) -> Result<(), RunError> {
        if let Some(column) = &scalars.varying_text
            && replaced.by_points.iter().any(|count| *count > 0)
        {
            return Err(RunError::Unfit(format!(
                "its column `{column}` has several texts, and steps repeat with other values, so it holds several curves; \
                 write those of each text to a file of its own, or all to a table with the columns `step`, `tag` and `value`"
            )));
        }
        for (tag, count) in replaced.by_points.iter().enumerate().filter(|(_, count)| **count > 0) {
            let why = match (self.points[tag], self.last_step) {
                (1, 0) => ", which are all at step 0, as the program that wrote them gave no steps",
                _ => "",
            };
            let example = format!("those of `{}`{why}", scalars.tags[tag].name);
            scalars.left_out.add("points at the step of a later point of their tag", *count, || example);
        }
        let what = "points that a restart of the writing program made void";
        scalars.left_out.add(what, replaced.by_restarts, String::new);
        match loss.map(|loss| scalars.tags[loss].name.clone()) {
            Some(name) if name == MetricId::LOSS.name() => {}
            Some(name) => scalars.left_out.note(format!("the loss of the training is `{name}`")),
            None if self.points.iter().any(|count| *count > 0) => scalars.left_out.note(
                "no tag is the loss of the training by its name, such as `loss` or `train_loss`; the run is listed without \
                 one"
                    .to_owned(),
            ),
            None => {}
        }
        Ok(())
    }
}

/// Finds the tags whose points are not from the time of the loss at the same step: a step may be a number of epochs.
#[derive(Default)]
struct LossTimes {
    /// The times of the last two losses.
    before: Option<f64>,
    last: Option<f64>,
    /// Tags and times of the other points at the last loss's step.
    waiting: Vec<(usize, f64)>,
}

impl LossTimes {
    fn add(&mut self, row: &[Point], loss_time: f64, is_with_loss: &mut [bool]) {
        self.check_until(loss_time, is_with_loss);
        self.before = self.last.replace(loss_time);
        self.waiting.extend(row.iter().map(|point| (point.tag, point.time)));
    }

    fn check_until(&mut self, next: f64, is_with_loss: &mut [bool]) {
        let Some(last) = self.last else { return };
        let range = self.before.unwrap_or(f64::NEG_INFINITY).min(last)..=next.max(last);
        for (tag, time) in self.waiting.drain(..) {
            is_with_loss[tag] &= range.contains(&time) || time.is_nan() || last.is_nan();
        }
    }
}

struct Metric {
    id: MetricId,
    info: MetricInfo,
    is_with_loss: bool,
}

impl Metric {
    /// Makes the metrics of all tags; none of a tag that is a setting or cannot be named.
    fn all(scalars: &mut Scalars, loss: Option<usize>, survey: &Survey) -> Vec<Option<Metric>> {
        let mut taken = BTreeSet::new();
        let mut metrics: Vec<Option<Metric>> = Vec::new();
        for (index, tag) in scalars.tags.iter().enumerate() {
            if tag.is_setting {
                metrics.push(None);
                continue;
            }
            let name =
                if Some(index) == loss { MetricId::LOSS.name().to_owned() } else { metric_name(&tag.name, &taken) };
            let Some(id) = MetricId::named(&name) else {
                let what = "tags with names of too many bytes, or beyond the 10,000 names that this program can hold";
                scalars
                    .left_out
                    .add(what, 1, || format!("`{}`", visible(&tag.name).chars().take(60).collect::<String>()));
                metrics.push(None);
                continue;
            };
            taken.insert(name);
            let (words, usual) = (Words::of(&tag.name), id.info());
            let is_with_loss = survey.is_with_loss[index];
            let is_evaluation = Some(index) != loss
                && (usual.source == MetricSource::Evaluation
                    || (!is_with_loss && words.better() != Better::Neither && !words.is_training()));
            let source = if is_evaluation { MetricSource::Evaluation } else { MetricSource::Training };
            let own_title = if id.name() == tag.name { usual.title.clone() } else { visible(&tag.name).into_owned() };
            let title = tag.title.as_ref().map_or(own_title, |title| visible(title).into_owned());
            let info = MetricInfo { title, source, ..usual };
            metrics.push(Some(Metric { id, info, is_with_loss: is_with_loss && !is_evaluation }));
        }
        metrics
    }
}

/// Makes the name of a tag as a metric: neither one of those already taken nor a field of events.
fn metric_name(tag: &str, taken: &BTreeSet<String>) -> String {
    let name = visible(tag);
    let name = if name.trim().is_empty() { "_" } else { &*name };
    let is_free = |name: &str| !taken.contains(name) && name != MetricId::LOSS.name() && !MetricId::is_reserved(name);
    if is_free(name) {
        return name.to_owned();
    }
    let numbered = (2..).map(|number| format!("{name}_{number}"));
    numbered.into_iter().find(|name| is_free(name)).expect("some number is free")
}

/// Writes the events of a run.
struct EventsWriter<'s> {
    run: &'s RunWriter<'s>,
    loss: Option<usize>,
    metrics: &'s [Option<Metric>],
    survey: &'s Survey,
}

impl EventsWriter<'_> {
    fn write(&self, scalars: &mut Scalars, path: &Path) -> Result<(), RunError> {
        let failed = |source| RunError::Write { path: path.to_owned(), source };
        let mut file = AtomicFile::for_plain_target(path).map_err(failed)?;
        let mut push = |record: EventRecord| file.write_all((record.to_line() + "\n").as_bytes()).map_err(failed);
        let [began, ended] = self.survey.times;
        push(EventRecord { step: 0, time: timestamp(began), wall_s: 0.0, event: Event::Started(self.started()) })?;
        let mut longest = ended - began;
        // Points without a time have that of the previous points.
        let mut time = began;
        let mut event = |points: &[Point], is_train: bool| {
            let Some(first) = points.first() else { return Ok(()) };
            time = if first.time.is_nan() { time } else { first.time };
            let wall_s = if first.wall_s.is_nan() { (time - began).max(0.0) } else { first.wall_s };
            longest = longest.max(wall_s);
            let values = points.iter().filter_map(|point| Some((self.metrics[point.tag].as_ref()?.id, point.value)));
            let event = if is_train { Event::Train(values.collect()) } else { Event::Eval(values.collect()) };
            push(EventRecord { step: first.step, time: timestamp(time), wall_s, event })
        };
        scalars.for_each_step(|row| {
            let is_loss = |point: &Point| Some(point.tag) == self.loss;
            let is_with_loss = |point: &Point| self.metrics[point.tag].as_ref().is_some_and(|it| it.is_with_loss);
            let (mut train, mut others): (Vec<Point>, Vec<Point>) = (Vec::new(), Vec::new());
            for point in row.iter().filter(|point| self.metrics[point.tag].is_some()) {
                let part = if is_loss(point) || is_with_loss(point) { &mut train } else { &mut others };
                part.push(*point);
            }
            // The time of the event is that of the loss.
            train.sort_by_key(|point| !is_loss(point));
            others.sort_by(|a, b| a.time.total_cmp(&b.time));
            event(&train, true)?;
            by_time(&others).try_for_each(|points| event(points, false))
        })?;
        if !self.run.grows {
            let (step, time) = (self.survey.last_step, timestamp(ended));
            push(EventRecord { step, time, wall_s: longest, event: Event::Finished })?;
        }
        file.commit(Overwrite::Yes).map_err(failed)
    }

    fn started(&self) -> Started {
        let loss = self.loss.and_then(|loss| self.metrics[loss].as_ref());
        let mut infos: Vec<(&Metric, Words)> =
            self.metrics.iter().flatten().map(|metric| (metric, Words::of(&metric.info.name))).collect();
        infos.sort_by_key(|(metric, words)| {
            let is_loss = loss.is_some_and(|loss| loss.id == metric.id);
            let is_evaluation = metric.info.source == MetricSource::Evaluation;
            let rank = if is_evaluation { words.evaluation_rank() } else { (false, 0) };
            (is_evaluation, !is_loss, rank, metric.info.name.clone())
        });
        Started {
            title: self.run.title.clone(),
            kind: "Imported".to_owned(),
            imported_from: self.run.source.clone(),
            // The lines of a growing run stay as they are, so that readers go on after them.
            steps: if self.run.grows { 0 } else { self.survey.last_step },
            metrics: infos.into_iter().map(|(metric, _)| metric.info.clone()).collect(),
            ..Started::default()
        }
    }
}

/// Divides points of one step, in the order of their times, into those whose times are close.
fn by_time(mut points: &[Point]) -> impl Iterator<Item = &[Point]> {
    std::iter::from_fn(move || {
        let first = points.first()?;
        let is_later = |point: &Point| point.time - first.time > TOGETHER_S;
        let count = points.iter().take_while(|point| !is_later(point)).count();
        let (chunk, rest) = points.split_at(count);
        points = rest;
        Some(chunk)
    })
}

fn timestamp(seconds: f64) -> Timestamp {
    Timestamp::from_microsecond((seconds * 1e6).round() as i64).unwrap_or(Timestamp::UNIX_EPOCH)
}
