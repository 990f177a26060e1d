//! `valleyscope runs`: list, show, name, compare, watch, change, stop, delete, check, export and evaluate runs.

mod edit;
mod export;
mod list;
mod show;
pub(super) mod watch;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Subcommand;
use clap::builder::{NonEmptyStringValueParser, OsStringValueParser, TypedValueParser};
use valleyscope_engine::terminal_escape::visible_path;
use valleyscope_runs::{MetricInfo, Notes, RunFolder, RunHistory};

use super::run_args::{CheckpointName, RunsLocation};
use super::{Failure, say};

#[derive(clap::Args)]
pub(super) struct RunsArgs {
    #[command(subcommand)]
    command: Command,
    /// Folder that contains the runs [default: the one in VALLEYSCOPE_RUNS, or `runs` in the user's folder
    /// for data]
    #[arg(long, global = true, value_name = "DIR")]
    runs: Option<PathBuf>,
}

#[derive(Subcommand)]
enum Command {
    /// List runs, the newest first, in a table of the settings in which they differ and of what they have reached
    ///
    /// A filter has terms separated by commas, all of which must hold: a field, one of =, !=, <, <=, >, >=, ~
    /// (contains) and !~, and a value; or words to be found in names, tags and notes. A field is a column of the table,
    /// a setting as for `train --set`, or the end of its path.
    List(list::TableArgs),
    /// Describe a run: its settings, its status and its last events
    Show(Run),
    /// Show in a table the results of runs and the settings in which they differ, with the data and devices that they
    /// had
    ///
    /// KEY is the name of a setting for --set. A dash stands where a run lacks the setting; equal settings are counted.
    Diff {
        /// Two or more names of runs, beginnings of them, `last`, or folders
        #[arg(required = true, num_args = 2.., value_name = "RUN")]
        compared: Vec<OsString>,
    },
    /// Follow a run until it ends, also on another machine whose folder is mounted or mirrored here
    ///
    /// The exit code is 0 if the run has finished, 1 if it has failed, and 130 if it was stopped. Ctrl-C ends only this
    /// command, not the run.
    Watch {
        #[command(flatten)]
        run: Run,
        /// Write the points as they come for TensorBoard, into a folder of the run's name in this one
        #[arg(long, value_name = "DIR")]
        tensorboard: Option<PathBuf>,
    },
    /// Stop a run after it has saved a checkpoint
    Stop(Run),
    /// Change settings of a run while it is trained, such as lr=3e-4; without settings, list them with the
    /// values in force
    ///
    /// The worker saves a checkpoint after its present step and continues with the new values. They can be the learning
    /// rate, the numbers of the optimizer's rule, the batch size (of GPT-2 the micro-batches of a step) and the steps
    /// at the end, which the schedule spans. The run continues like a fork with these settings from that checkpoint.
    Set {
        #[command(flatten)]
        run: Run,
        /// Name of a setting, such as lr or optimizer.gamma or gamma, and its new value; those of one
        /// command take effect together
        #[arg(value_name = "KEY=VALUE", value_parser = super::assignment)]
        settings: Vec<(String, String)>,
    },
    /// Give a run tags, or take tags away; without tags, print those that it has
    ///
    /// `runs list --filter 'tag = TAG'` finds the runs of a tag, and --group-by tags groups by them.
    Tag {
        #[command(flatten)]
        run: Run,
        /// The tags, also separated by commas
        #[arg(value_name = "TAG", value_delimiter = ',', value_parser = NonEmptyStringValueParser::new())]
        tags: Vec<String>,
        /// Take these tags away
        #[arg(long, requires = "tags")]
        remove: bool,
    },
    /// Give a run a title, which lists and plots show instead of its preset's; its folder keeps its name
    Rename {
        #[command(flatten)]
        run: Run,
        /// The title; '' for the preset's own
        #[arg(value_name = "NAME")]
        title: String,
    },
    /// Move runs to the desktop's trash, with their curves and checkpoints
    ///
    /// A run that is trained, here or on another machine, is refused, and then all stay.
    Delete {
        /// Names of runs, beginnings of them, or folders
        #[arg(required = true, value_name = "RUN")]
        deleted: Vec<OsString>,
        /// Do not ask; needed where no terminal can answer
        #[arg(long)]
        yes: bool,
        /// Delete them at once, without the trash
        #[arg(long)]
        forever: bool,
    },
    /// Read everything in the folders of runs or sweeps, and report what is intact and what is damaged
    ///
    /// The exit code is 1 if anything is damaged. Nothing is changed without --repair.
    Check {
        /// Names of runs, beginnings of them, `last`, folders of runs or sweeps, or a folder of such folders, for a
        /// line each
        #[arg(required = true, value_name = "RUN|DIR")]
        folders: Vec<OsString>,
        /// Repair what can be repaired; replaced files are renamed to NAME.kept-1 and so on
        #[arg(long)]
        repair: bool,
    },
    /// Write all points of a run as CSV or for TensorBoard, or its model
    ///
    /// A model is that of a checkpoint: the newest, that of STEP, or the best by evaluation. It is model.safetensors
    /// and config.json, as Hugging Face's transformers read them.
    #[command(group = clap::ArgGroup::new("what").args(["out", "model", "tensorboard"]).required(true))]
    Export {
        #[command(flatten)]
        checkpoint: CheckpointArg,
        /// Write to this file, replacing it if it exists
        #[arg(long, value_name = "FILE.csv")]
        out: Option<PathBuf>,
        /// Write the model of a checkpoint into this folder, which must be new or empty
        #[arg(long, value_name = "DIR")]
        model: Option<PathBuf>,
        /// Write the points as an event file of TensorBoard, into a folder of the run's name in this one
        #[arg(long, value_name = "DIR")]
        tensorboard: Option<PathBuf>,
        /// The worker that reads the model [default: the one beside valleyscope, or the installed one]
        #[arg(long, value_name = "PATH", requires = "model")]
        worker: Option<PathBuf>,
    },
    /// Make runs of those of other programs and machines, in the folder of --runs
    ///
    /// A run is each folder with event files of TensorBoard, each table FILE.csv with a column `step`, and each folder
    /// of a run of this program, also below a named folder. A run of another program has its tags or columns as
    /// metrics; it can be compared, shown and exported, and not resumed. Importing it again updates its run. What is left
    /// out is named with the reason. The exit code is 2 if nothing can be imported.
    ///
    /// A run that is followed counts as finished once its files have not changed for ten minutes.
    Import {
        /// Event files, tables, folders of runs, or folders with such files and folders
        #[arg(required = true, value_name = "FILE|DIR")]
        paths: Vec<PathBuf>,
        /// Go on until Ctrl-C, and add new points and new runs as they are written
        #[arg(long)]
        follow: bool,
    },
    /// Print a text that the model of a checkpoint writes; of several runs, one below the other
    ///
    /// The run may be trained, stopped or finished. The same checkpoint writes the same text. Only models of language,
    /// such as GPT-2, write text.
    Sample {
        /// Runs as for `show`, each followed by @ and the step of one of its checkpoints, or by @best [default: its
        /// newest]
        #[arg(required = true, value_name = "RUN[@STEP|@best]", value_parser = OsStringValueParser::new().try_map(CheckpointName::parse))]
        names: Vec<CheckpointName>,
        #[command(flatten)]
        text: export::Text,
        /// The worker that writes [default: the one beside valleyscope, or the installed one]
        #[arg(long, value_name = "PATH")]
        worker: Option<PathBuf>,
    },
    /// Print the loss of a checkpoint over all data held out from training, and their number
    ///
    /// The evaluations during a training use only some batches. Here the validation part is divided into windows of the
    /// context's length that do not overlap; an incomplete last window is not used.
    Evaluate {
        #[command(flatten)]
        checkpoint: CheckpointArg,
        #[command(flatten)]
        how: export::Evaluation,
        /// The worker that computes [default: the one beside valleyscope, or the installed one]
        #[arg(long, value_name = "PATH")]
        worker: Option<PathBuf>,
    },
}

#[derive(clap::Args)]
struct CheckpointArg {
    /// A run as for `show`, followed by @ and the step of one of its checkpoints, or by @best [default: its newest]
    #[arg(value_name = "RUN[@STEP|@best]", value_parser = OsStringValueParser::new().try_map(CheckpointName::parse))]
    name: CheckpointName,
}

#[derive(clap::Args)]
struct Run {
    /// Name of a run, an unambiguous beginning of one, `last` for the run that began last, or a folder
    #[arg(value_name = "RUN")]
    run: OsString,
}

pub(super) fn run(args: &RunsArgs) -> Result<(), Failure> {
    let named = args.runs.as_deref();
    let is_new_run = matches!(args.command, Command::Import { .. });
    let location = if is_new_run { RunsLocation::for_new_run(named) } else { RunsLocation::of(named) }?;
    match &args.command {
        Command::List(args) => list::list(&location, args),
        Command::Show(run) => show::run(&location.find(&run.run)?),
        Command::Diff { compared } => list::diff(&location, compared),
        Command::Watch { run, tensorboard } => watch::run(location.find(&run.run)?, tensorboard.as_deref()),
        Command::Stop(run) => watch::stop(location.find(&run.run)?),
        Command::Set { run, settings } => watch::set(&location.find(&run.run)?, settings),
        Command::Tag { run, tags, remove } => edit::tag(&location.find(&run.run)?, tags, *remove),
        Command::Rename { run, title } => edit::rename(&location.find(&run.run)?, title),
        Command::Delete { deleted, yes, forever } => edit::delete(&location, deleted, *yes, *forever),
        Command::Check { folders, repair } => show::check(&location, folders, *repair),
        Command::Export { checkpoint, out, model, tensorboard, worker } => match (out, model, tensorboard) {
            (Some(out), ..) => export::run(&location, &checkpoint.name, out),
            (_, Some(folder), _) => export::export(&location, &checkpoint.name, folder, worker.as_deref()),
            (.., Some(folder)) => export::to_tensorboard(&location, &checkpoint.name, folder),
            (None, None, None) => unreachable!("clap asks for one of them"),
        },
        Command::Import { paths, follow: true } => export::follow(&location, paths),
        Command::Import { paths, .. } => export::import(&location, paths),
        Command::Sample { names, text, worker } => export::sample(&location, names, text, worker.as_deref()),
        Command::Evaluate { checkpoint, how, worker } => {
            export::evaluate(&location, &checkpoint.name, how, worker.as_deref())
        }
    }
}

/// Reads the notes of a run. Unreadable ones are reported and do not hide the run.
fn notes(run: &RunFolder) -> Notes {
    Notes::read(run).unwrap_or_else(|error| {
        say(format_args!("warning: cannot read {}: {error}", visible_path(&run.notes())));
        Notes::default()
    })
}

/// Formats the newest values of some metrics, each after its name, if one is given, and with its step, if that is
/// before the run's. Among adjacent values of the same step only the last shows it.
fn newest(history: &RunHistory, metrics: &[(&str, MetricInfo)]) -> Vec<String> {
    let found = metrics.iter().filter_map(|(name, info)| {
        let (step, value) = history.latest_at(info.metric()?)?;
        Some((step, if name.is_empty() { info.value(value) } else { format!("{name} {}", info.value(value)) }))
    });
    let found: Vec<(u64, String)> = found.collect();
    let with_step = |(index, (step, text)): (usize, &(u64, String))| {
        let is_last_of_step = found.get(index + 1).is_none_or(|(next, _)| next != step);
        if *step < history.step() && is_last_of_step { format!("{text} at step {step}") } else { text.clone() }
    };
    found.iter().enumerate().map(with_step).collect()
}
