//! `valleyscope runs watch`, `stop` and `set`: the progress of a run, and commands to its worker.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};
use indicatif::{ProgressBar, ProgressStyle};
use valleyscope_engine::quantity::number_text;
use valleyscope_engine::setting::SettingValue;
use valleyscope_engine::terminal_escape::{visible, visible_path};
use valleyscope_experiments::preset::Preset;
use valleyscope_experiments::run::RunConfig;
use valleyscope_experiments::workload::{Workload, live_path};
use valleyscope_runs::{
    CommandRequest, Concern, Event, EventRecord, MetricInfo, MetricSource, Reply, RunCommand, RunFolder, RunHistory,
    RunReader, SettingChange, Status, now,
};

use super::newest;
use crate::cli::output::{Interrupt, print, table};
use crate::cli::{Failure, say};
use crate::runs::status_line;
use crate::runs::tensorboard::LiveEvents;

/// The interval between reads of a run that is watched, or that has not yet answered a command.
const POLL_INTERVAL: Duration = Duration::from_millis(200);
const ANSWER_INTERVAL: Duration = Duration::from_millis(100);
/// The time limit for the answer of a worker, or for its end, after which the command fails.
const PATIENCE: Duration = Duration::from_secs(120);
/// The interval between lines at the beginning, and its largest value: it grows as a hundredth of the time.
const BETWEEN_LINES: [Duration; 2] = [Duration::from_secs(5), Duration::from_secs(60)];
/// The fraction of all steps after which a line is printed, even if the interval has not passed since the last one.
const SHARE: f64 = 0.1;

pub(crate) fn run(run: RunFolder, tensorboard: Option<&Path>) -> Result<(), Failure> {
    let interrupt = Interrupt::listen()?;
    let mut watch = Watch::new(run).with_tensorboard(tensorboard);
    loop {
        if let Some(ended) = watch.poll()? {
            return outcome(&ended);
        }
        if interrupt.is_raised() {
            say(format_args!("the run goes on; `valleyscope runs stop` ends it"));
            return Err(Failure::Interrupted);
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// Converts the final status of a run to the outcome of the command that watched it.
pub(crate) fn outcome(ended: &Status) -> Result<(), Failure> {
    match ended {
        Status::Finished => Ok(()),
        Status::Stopped => Err(Failure::Stopped),
        other => Err(Failure::Failed(anyhow!("{other}"))),
    }
}

/// Follows a run and shows its progress with its losses: a bar on a terminal, else a line every few seconds, and with
/// each tenth of the steps. Other events are printed as lines. If only standard output is redirected, into a file, the
/// lines are written there, and the bar stays on the terminal.
pub(crate) struct Watch {
    reader: RunReader,
    bar: Option<ProgressBar>,
    /// The beginning of each line.
    prefix: String,
    /// Whether the lines are written to standard output, in addition to the bar.
    logs: bool,
    begun: Instant,
    /// Time and step of the last line.
    last_line: Option<(Instant, u64)>,
    shown: String,
    /// The last line of events that was printed.
    printed: Option<u64>,
    /// The command to stop, once it was sent.
    request: Option<CommandRequest>,
    /// The event file of TensorBoard that follows the run.
    tensorboard: Option<LiveEvents>,
}

impl Watch {
    pub(crate) fn new(run: RunFolder) -> Watch {
        let bar = std::io::stderr().is_terminal().then(|| {
            let style = ProgressStyle::with_template("{bar:30} {msg}").expect("the template is well-formed");
            ProgressBar::new(0).with_style(style)
        });
        Watch {
            reader: RunReader::brief(run),
            logs: bar.is_some() && !std::io::stdout().is_terminal(),
            bar,
            prefix: String::new(),
            begun: Instant::now(),
            last_line: None,
            shown: String::new(),
            printed: None,
            request: None,
            tensorboard: None,
        }
    }

    /// Writes the points of the run as an event file of TensorBoard, too, into a folder of its name in `folder`.
    pub(crate) fn with_tensorboard(self, folder: Option<&Path>) -> Watch {
        let tensorboard = folder.map(|folder| LiveEvents::new(self.reader.run().clone(), folder));
        Watch { tensorboard, ..self }
    }

    /// Prints lines only, each with the run's name, as for one of several runs.
    pub(crate) fn one_of_several(self) -> Watch {
        let prefix = format!("{}: ", self.reader.run().shown_name());
        Watch { bar: None, logs: false, prefix, ..self }
    }

    pub(crate) fn from_now(run: RunFolder) -> Watch {
        let mut watch = Watch::new(run);
        // The first call of `poll` reports errors of reading.
        let _ = watch.reader.poll();
        watch.printed = Some(watch.reader.history().lines());
        watch
    }

    pub(crate) fn stop(&mut self) -> Result<(), Failure> {
        self.request = Some(send(self.reader.run(), RunCommand::Stop)?);
        Ok(())
    }

    /// Shows new events; returns the final status of the run, once it has ended.
    pub(crate) fn poll(&mut self) -> Result<Option<Status>, Failure> {
        let status = read_status(&mut self.reader)?;
        if !self.reader.run().path().exists() {
            return Err(Failure::Failed(anyhow!(
                "the run's folder {} is gone",
                visible_path(self.reader.run().path())
            )));
        }
        self.report();
        self.follow();
        // An answer is printed like any event.
        let reply = self.request.as_mut().map(|request| request.poll(self.reader.history(), &status, Instant::now()));
        if let Some(text) = reply.as_ref().and_then(silence) {
            self.say(&format!("the worker {text}"));
        }
        let ended = !status.is_open();
        self.show(&status, ended);
        Ok(ended.then_some(status))
    }

    fn report(&mut self) {
        let history = self.reader.history();
        let first = self.printed.is_none();
        let new: Vec<&EventRecord> = match self.printed {
            None => history.recent().rev().take(1).collect(),
            Some(printed) => history.recent_after(printed).collect(),
        };
        for record in new {
            let is_shown_elsewhere = matches!(record.event, Event::Finished | Event::Failed { .. });
            if !(is_shown_elsewhere || first && matches!(record.event, Event::Stopped)) {
                self.say(&format!("step {}: {}", record.step, visible(&record.event.sentence())));
            }
        }
        self.printed = Some(history.lines()).filter(|&lines| lines > 0).or(self.printed);
    }

    /// Writes new points for TensorBoard. An error stops only that: the training continues.
    fn follow(&mut self) {
        if let Some(Err(error)) = self.tensorboard.as_mut().map(LiveEvents::poll) {
            self.tensorboard = None;
            self.say(&format!("warning: {error}"));
        }
    }

    fn say(&self, line: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| say(format_args!("{line}"))),
            None => say(format_args!("{}{line}", self.prefix)),
        }
        self.log(line);
    }

    fn log(&self, line: &str) {
        if self.logs {
            // A full disk or a closed pipe does not end the training.
            let _ = print(&format!("{line}\n"));
        }
    }

    fn show(&mut self, status: &Status, ended: bool) {
        let history = self.reader.history();
        let text = line(history, status);
        if let Some(bar) = &self.bar {
            bar.set_length(history.steps().unwrap_or(0).max(history.step()));
            bar.set_position(history.step());
            bar.set_message(text.clone());
            if ended {
                bar.finish_and_clear();
            }
        }
        let is_due = ended || (self.is_line_due() && text != self.shown);
        if ended || (is_due && self.bar.is_none()) {
            say(format_args!("{}{text}", self.prefix));
        }
        if is_due {
            self.log(&text);
            self.last_line = Some((Instant::now(), history.step()));
            self.shown = text;
        }
    }

    fn is_line_due(&self) -> bool {
        let Some((time, step)) = self.last_line else { return true };
        let history = self.reader.history();
        let is_far = |steps: u64| history.step().saturating_sub(step) as f64 >= SHARE * steps as f64;
        let [least, most] = BETWEEN_LINES;
        time.elapsed() >= (self.begun.elapsed() / 100).clamp(least, most) || history.steps().is_some_and(is_far)
    }
}

fn line(history: &RunHistory, status: &Status) -> String {
    let mut parts = vec![status_line(status, &Concern::of(status, history, now()), history)];
    let all = history.metrics();
    let loss = MetricInfo::of_training_loss(&all).map(|info| ("loss".to_owned(), info.clone()));
    let evaluated = all.iter().filter(|info| info.source == MetricSource::Evaluation);
    let named = evaluated.map(|info| (info.title.to_lowercase(), info.clone()));
    let metrics: Vec<_> = loss.into_iter().chain(named).collect();
    let metrics: Vec<_> = metrics.iter().map(|(name, info)| (name.as_str(), info.clone())).collect();
    parts.extend(newest(history, &metrics));
    parts.join(", ")
}

pub(super) fn stop(run: RunFolder) -> Result<(), Failure> {
    let name = run.shown_name();
    let mut reader = RunReader::brief(run.clone());
    let status = read_status(&mut reader)?;
    if !status.is_open() {
        say(format_args!("{name} is not running: {status}"));
        return Ok(());
    }
    let mut request = send(&run, RunCommand::Stop)?;
    let (asked, mut answered) = (Instant::now(), false);
    loop {
        let status = read_status(&mut reader)?;
        match request.poll(reader.history(), &status, Instant::now()) {
            Reply::Answered { ok: false, message } => {
                return Err(Failure::Failed(anyhow!("{name} refuses to stop: {message}")));
            }
            Reply::Answered { ok: true, message } if !answered => {
                answered = true;
                say(format_args!("{name}: {message}"));
            }
            reply => silence(&reply).into_iter().for_each(|text| say(format_args!("{name} {text}"))),
        }
        if !status.is_open() {
            say(format_args!("{name} has ended at step {}: {status}", reader.history().step()));
            return match status {
                Status::Stopped | Status::Finished => Ok(()),
                other => Err(Failure::Failed(anyhow!("it did not stop as requested: {}", other.label()))),
            };
        }
        if asked.elapsed() >= PATIENCE {
            return Err(Failure::Failed(anyhow!("{}", still_running_advice(&name, &status, answered))));
        }
        std::thread::sleep(ANSWER_INTERVAL);
    }
}

fn send(run: &RunFolder, command: RunCommand) -> Result<CommandRequest, Failure> {
    Ok(CommandRequest::send(run, command).with_context(|| format!("cannot write {}", visible_path(&run.commands())))?)
}

fn silence(reply: &Reply) -> Option<String> {
    match reply {
        Reply::Signalled => Some("has not answered for long; its process was asked to end".to_owned()),
        Reply::NotSignalled(reason) => {
            Some(format!("has not answered for long, and its process is not ended: {reason}"))
        }
        _ => None,
    }
}

fn still_running_advice(name: &str, status: &Status, answered: bool) -> String {
    let waited = PATIENCE.as_secs();
    match status {
        Status::Silent { .. } if !answered => format!(
            "{name} has not answered within {waited} s ({status}); the command stays in {}, which must reach the machine that \
             trains",
            RunFolder::COMMANDS
        ),
        _ => format!("{name} has not ended within {waited} s ({status}); the command to stop stands"),
    }
}

pub(super) fn set(run: &RunFolder, settings: &[(String, String)]) -> Result<(), Failure> {
    let name = run.shown_name();
    let mut reader = RunReader::brief(run.clone());
    let status = read_status(&mut reader)?;
    let config = RunConfig::begun(run, reader.history()).map_err(Failure::bad_input)?;
    let training = config.with_changed_settings(reader.history()).map_err(Failure::bad_input)?;
    let live = training.workload().map_or_else(Vec::new, Workload::live);
    if live.is_empty() {
        let other = anyhow!("expected a run of one training, and {name} has none whose settings can be changed");
        return Err(Failure::BadInput(other));
    }
    if settings.is_empty() {
        // A command `SetSteps` changes the steps of the run and not those of its training.
        let steps = reader.history().steps().map(|steps| steps as f64);
        let value = |it: &SettingValue| steps.filter(|_| it.path.path == SettingChange::STEPS).unwrap_or(it.value);
        let row = |it: &SettingValue| [it.path.path.to_string(), number_text(value(it)), it.info.label.to_owned()];
        return print(&table(&live.iter().map(row).collect::<Vec<_>>(), ""));
    }
    let settings = check(&training, &live, settings).map_err(|why| Failure::BadInput(anyhow!(why)))?;
    if !status.is_open() {
        return Err(Failure::Failed(anyhow!(
            "{name} is not being trained: {}; `valleyscope train --fork {name} --set …` begins a run with other settings \
             from its checkpoint",
            status.label()
        )));
    }
    await_answer(send(run, RunCommand::Set { settings })?, reader)
}

fn read_status(reader: &mut RunReader) -> Result<Status, Failure> {
    let status = reader.status(now());
    Ok(status.with_context(|| format!("cannot read {}", visible_path(&reader.run().events())))?)
}

/// Parses the settings by their paths, and checks that they can be put in force.
fn check(
    training: &Preset,
    live: &[SettingValue],
    settings: &[(String, String)],
) -> Result<BTreeMap<String, f64>, String> {
    let mut checked = BTreeMap::new();
    for (name, value) in settings {
        let path = live_path(name, live);
        let number = value.parse().map_err(|_| format!("expected a number as `{path}`, found {value}"))?;
        if checked.insert(path.clone(), number).is_some() {
            return Err(format!("`{path}` is set twice; give it once"));
        }
    }
    let mut changed = training.clone();
    changed.workload_mut().map_or(Ok(()), |workload| workload.set_live(&checked))?;
    Ok(checked)
}

fn await_answer(mut request: CommandRequest, mut reader: RunReader) -> Result<(), Failure> {
    let (name, asked) = (reader.run().shown_name(), Instant::now());
    loop {
        let status = read_status(&mut reader)?;
        match request.poll(reader.history(), &status, Instant::now()) {
            Reply::Answered { ok: true, message } => {
                say(format_args!("{name}: {message}"));
                return Ok(());
            }
            Reply::Answered { ok: false, message } => {
                return Err(Failure::BadInput(anyhow!("{name} refuses: {message}")));
            }
            Reply::Gone => return Err(Failure::Failed(anyhow!("{name} has ended without an answer: {status}"))),
            Reply::Waiting | Reply::Signalled | Reply::NotSignalled(_) => {}
        }
        if asked.elapsed() >= PATIENCE {
            return Err(Failure::Failed(anyhow!(
                "{name} has not answered within {} s ({status}); the command stays in {}, and is carried out after the \
                 present step",
                PATIENCE.as_secs(),
                RunFolder::COMMANDS
            )));
        }
        std::thread::sleep(ANSWER_INTERVAL);
    }
}
