//! `valleyscope runs export`, `import`, `evaluate` and `sample`: points, models and texts of runs as files, and runs of
//! other programs.

use std::fs;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, anyhow};
use valleyscope_engine::terminal_escape::{visible, visible_path};
use valleyscope_experiments::view::ticks::grouped;
use valleyscope_runs::atomic_file::{AtomicFile, Overwrite};
use valleyscope_runs::{CheckpointChoice, RunReader, SavedModel, TextRequest, WorkerProgram};

use crate::cli::output::{Interrupt, by_ending, print};
use crate::cli::run_args::{CheckpointName, RunsLocation, data, device, find_worker};
use crate::cli::{Failure, say};
use crate::export::write_csv;
use crate::runs::import::{Follower, Imported, Outcome, import_runs};
use crate::runs::tensorboard::{event_file, write_history};

pub(super) fn run(location: &RunsLocation, name: &CheckpointName, out: &Path) -> Result<(), Failure> {
    let reader = read(location, name, "--out")?;
    by_ending("--out", out, &[("csv", ())])?;
    let (name, history) = (reader.run().shown_name(), reader.history());
    let to_file = || format!("cannot write {}", visible_path(out));
    if history.started().is_none() {
        return Err(Failure::BadInput(anyhow!("the run has not begun yet").context(to_file())));
    }
    let mut file = AtomicFile::for_target(out).with_context(to_file)?;
    let rows = write_csv(history, &mut file).with_context(to_file)?;
    file.commit(Overwrite::Yes).with_context(to_file)?;
    say_what_is_missing(&reader);
    say(format_args!("Wrote {}, {rows} rows of {name}", visible_path(out)));
    Ok(())
}

/// Writes the points of a run as an event file of TensorBoard, in a folder of the run's name.
pub(super) fn to_tensorboard(location: &RunsLocation, name: &CheckpointName, folder: &Path) -> Result<(), Failure> {
    let reader = read(location, name, "--tensorboard")?;
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
    say(format_args!("Wrote {}, {written} points of {}", visible_path(&folder), visible(&name)));
    Ok(())
}

/// Reads the events of a run for an option that writes all of its points.
fn read(location: &RunsLocation, name: &CheckpointName, option: &str) -> Result<RunReader, Failure> {
    if name.choice != CheckpointChoice::Newest {
        return Err(Failure::BadInput(anyhow!(
            "{option} writes all points of a run, whatever the checkpoint; leave @ and what follows out, or take \
             --model DIR"
        )));
    }
    let run = location.find(&name.run)?;
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

/// Imports each run that is found at and below `paths`. Fails if there is none.
pub(super) fn import(location: &RunsLocation, paths: &[PathBuf]) -> Result<(), Failure> {
    let mut made = 0;
    for path in paths {
        let take = |imported: Imported| {
            made += usize::from(matches!(imported.outcome, Outcome::Made { .. }));
            imported.lines().iter().for_each(|line| say(format_args!("{line}")));
        };
        import_runs(&location.folder, path, take).map_err(Failure::bad_input)?;
    }
    if made == 0 {
        return Err(Failure::BadInput(anyhow!("nothing was imported")));
    }
    Ok(())
}

/// Imports the runs at and below `paths`, and what is added to them, until the user interrupts the command.
pub(super) fn follow(location: &RunsLocation, paths: &[PathBuf]) -> Result<(), Failure> {
    const POLL_INTERVAL: Duration = Duration::from_millis(200);
    let interrupt = Interrupt::listen()?;
    let mut followers: Vec<Follower> = paths.iter().map(|path| Follower::new(&location.folder, path)).collect();
    while !interrupt.is_raised() {
        for follower in &mut followers {
            let take = |imported: Imported| imported.lines().iter().for_each(|line| say(format_args!("{line}")));
            follower.poll(take).map_err(Failure::bad_input)?;
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    Ok(())
}

#[derive(clap::Args)]
pub(super) struct Evaluation {
    /// Device: cpu, cuda, or cuda:1 and so on [default: the device of the training]
    #[arg(long, value_name = "DEVICE", value_parser = device)]
    device: Option<String>,
    /// Folder of the data [default: the run's]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
}

pub(super) fn export(
    location: &RunsLocation,
    name: &CheckpointName,
    folder: &Path,
    worker: Option<&Path>,
) -> Result<(), Failure> {
    check_empty(folder)?;
    let (model, worker) = open(location, name, worker)?;
    model.export(&worker, folder).map_err(anyhow::Error::from)?;
    say(format_args!("Wrote {}, the model of {} at step {}", folder.display(), model.run.shown_name(), model.step));
    Ok(())
}

#[derive(clap::Args)]
pub(super) struct Text {
    /// The beginning of the text [default: a line feed]
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    prompt: Option<String>,
    /// Number of tokens to write
    #[arg(long, value_name = "N", default_value_t = 200)]
    tokens: u32,
    /// Temperature of the probabilities; 0 takes the most likely token each time
    #[arg(long, value_name = "T", default_value_t = 0.8)]
    temperature: f64,
    /// Number of the most likely tokens to draw from
    #[arg(long, value_name = "K", default_value_t = 200)]
    top_k: u32,
    /// Device: cpu, cuda, or cuda:1 and so on [default: the device of the training]
    #[arg(long, value_name = "DEVICE", value_parser = device)]
    device: Option<String>,
}

/// Prints a text generated with each of some checkpoints, below its name if there are several.
pub(super) fn sample(
    location: &RunsLocation,
    names: &[CheckpointName],
    text: &Text,
    worker: Option<&Path>,
) -> Result<(), Failure> {
    let settings: Vec<_> = text.device.iter().map(|device| ("device".to_owned(), device.clone())).collect();
    let Text { prompt, tokens, temperature, top_k, .. } = text;
    let request = TextRequest {
        prompt: prompt.clone().unwrap_or_else(|| "\n".to_owned()),
        tokens: *tokens,
        temperature: *temperature,
        top_k: Some(*top_k),
    };
    for name in names {
        let (model, worker) = open(location, name, worker)?;
        let written = model.sample(&worker, &request, &settings).map_err(anyhow::Error::from)?;
        if names.len() > 1 {
            print(&format!("{} at step {}\n", model.run.shown_name(), model.step))?;
        }
        print(&format!("{}\n", written.trim_end_matches('\n')))?;
    }
    Ok(())
}

pub(super) fn evaluate(
    location: &RunsLocation,
    name: &CheckpointName,
    how: &Evaluation,
    worker: Option<&Path>,
) -> Result<(), Failure> {
    let folder = how.data.as_deref().map(data).transpose()?;
    let settings = [("device", how.device.clone()), ("data", folder)];
    let settings = settings.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)));
    let settings: Vec<_> = settings.collect();
    let (model, worker) = open(location, name, worker)?;
    let loss = model.evaluate(&worker, &settings).map_err(anyhow::Error::from)?;
    say(format_args!("{} at step {}, {}, on {}", model.run.shown_name(), model.step, loss.data, loss.device));
    if !loss.is_of_run {
        say(format_args!("warning: the run has learned from other data than these"));
    }
    print(&format!("{} over {} {}\n", loss.text(), grouped(loss.count), loss.unit))
}

fn open(
    location: &RunsLocation,
    name: &CheckpointName,
    worker: Option<&Path>,
) -> Result<(SavedModel, WorkerProgram), Failure> {
    let run = location.find(&name.run)?;
    let step = name.step(&run)?;
    let worker = find_worker(worker)?;
    worker.handshake().map_err(anyhow::Error::from)?;
    Ok((SavedModel { run, step }, worker))
}

fn check_empty(folder: &Path) -> Result<(), Failure> {
    let is_empty = match fs::read_dir(folder) {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => true,
        Err(error) => {
            let error = anyhow::Error::from(error).context(format!("cannot look into {}", folder.display()));
            return Err(Failure::BadInput(error));
        }
    };
    if is_empty {
        return Ok(());
    }
    Err(Failure::BadInput(anyhow!(
        "--model must be a new or an empty folder, and {} holds files; name another",
        folder.display()
    )))
}
