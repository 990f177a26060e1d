//! `valleyscope runs set`: lists the settings of a run that can be changed while it is trained, and changes them.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};
use valleyscope_engine::quantity::number_text;
use valleyscope_engine::terminal_escape::visible_path;
use valleyscope_experiments::preset::Preset;
use valleyscope_experiments::run::RunConfig;
use valleyscope_experiments::workload::{LiveSetting, Workload, live_path};
use valleyscope_runs::{CommandRequest, Reply, RunCommand, RunFolder, RunReader, SettingChange, Status, now};

use crate::cli::output::{print, table};
use crate::cli::{Failure, say};

const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// The time limit for the worker's answer, after which the command gives up.
const PATIENCE: Duration = Duration::from_secs(120);

pub(super) fn run(run: &RunFolder, settings: &[(String, String)]) -> Result<(), Failure> {
    let name = run.shown_name();
    let mut reader = RunReader::brief(run.clone());
    let status = look(&mut reader, run)?;
    let config = RunConfig::begun(run, reader.history()).map_err(Failure::bad_input)?;
    let training = config.with_changed_settings(reader.history()).map_err(Failure::bad_input)?;
    let live = training.workload().map_or_else(Vec::new, Workload::live);
    if live.is_empty() {
        let scan = anyhow!("expected a run of one training, and {name} is a scan, whose settings stay");
        return Err(Failure::BadInput(scan));
    }
    if settings.is_empty() {
        // A command `SetSteps` changes the steps of the run and not those of its training.
        let steps = reader.history().steps().map(|steps| steps as f64);
        let value = |it: &LiveSetting| steps.filter(|_| it.path == SettingChange::STEPS).unwrap_or(it.value);
        let row = |it: &LiveSetting| [it.path.clone(), number_text(value(it)), it.label.clone()];
        return print(&table(&live.iter().map(row).collect::<Vec<_>>(), ""));
    }
    let settings = check(&training, &live, settings).map_err(|why| Failure::BadInput(anyhow!(why)))?;
    if !status.is_open() {
        return Err(Failure::Failed(anyhow!(
            "{name} is not being trained: {}; `valleyscope train --fork {name} --set …` begins a run with other settings \
             from its checkpoint",
            status.word()
        )));
    }
    let request = CommandRequest::send(run, RunCommand::Set { settings });
    let request = request.with_context(|| format!("cannot write {}", visible_path(&run.commands())))?;
    await_answer(request, reader)
}

fn look(reader: &mut RunReader, run: &RunFolder) -> Result<Status, Failure> {
    let status = reader.status(now());
    Ok(status.with_context(|| format!("cannot read {}", visible_path(&run.events())))?)
}

/// Returns the settings by their paths, or why they cannot be put in force.
fn check(
    training: &Preset,
    live: &[LiveSetting],
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

/// Prints the worker's answer.
fn await_answer(mut request: CommandRequest, mut reader: RunReader) -> Result<(), Failure> {
    let (run, asked) = (reader.run().clone(), Instant::now());
    let name = run.shown_name();
    loop {
        let status = look(&mut reader, &run)?;
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
        std::thread::sleep(POLL_INTERVAL);
    }
}
