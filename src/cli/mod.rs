//! The command line: one file per subcommand.
//!
//! Results go to files or to stdout, everything else to stderr. Exit codes: 0 done, 1 failed, 2 wrong
//! usage or bad input, 130 interrupted.

mod animate;
mod data;
pub mod doctor;
mod figure;
mod landscape_args;
mod lesson;
mod output;
mod presets;
mod queue;
mod reference;
mod regret;
mod rule_code;
mod run_args;
mod runs;
mod simulate;
mod sweep;
mod train;
mod training_args;

use std::ffi::{OsStr, OsString};
use std::io;
use std::io::Write;
use std::ops::RangeInclusive;
use std::path::PathBuf;
#[cfg(unix)]
use std::sync::Arc;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{CommandFactory, Parser, Subcommand};
use clap_complete::Shell;
use output::{Failure, print_content, say};
#[cfg(feature = "app")]
use run_args::RunsLocation;
use valleyscope_engine::optimizer::{RatedRule, RuleSpec};
use valleyscope_engine::quantity::LearningRate;
use valleyscope_engine::simulation::SimulationSpec;
use valleyscope_engine::terminal_escape::visible_lines;
use valleyscope_experiments::preset::{LandscapePreset, Library, Preset, PresetError};
#[cfg(feature = "app")]
use valleyscope_experiments::preset::{Loaded, PresetSource};

#[cfg(feature = "app")]
use super::app::OpenedContent;
use super::draw::{Svg, blank_warning};

/// See why one optimizer beats another in a narrowing valley.
///
/// With no command the app opens.
#[derive(Parser)]
#[command(version, args_conflicts_with_subcommands = true)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    app: AppArgs,
}

#[derive(Subcommand)]
enum Command {
    /// Open the app, as without a command
    App(AppArgs),
    /// List, print, compare or check presets
    #[command(subcommand)]
    Presets(presets::PresetsCommand),
    /// List the optimizers, or show the formulas and hyperparameters of one, or its code
    #[command(subcommand)]
    Optimizers(reference::OptimizersCommand),
    /// List the landscapes, or show the loss, the gradient and the parameters of one
    #[command(subcommand)]
    Landscapes(reference::LandscapesCommand),
    /// Run a preset without a window and record it
    ///
    /// The changes of a recorded session are repeated at their steps; a lesson's steps are ignored. CSV holds a row for
    /// each recorded step and optimizer; NPZ holds the same as arrays, optimizers before steps, and the positions of
    /// the first 100 particles. Equal runs give equal bytes.
    Simulate(simulate::SimulateArgs),
    /// Compute a phase diagram into a folder
    ///
    /// The folder gets spec.ron, which repeats the sweep, phase.npz and phase.csv with its results, and the
    /// pictures phase.png and phase.svg. Until it is complete the finished pixels are in pixels.bin there,
    /// so that a stopped sweep continues with --resume. Equal sweeps give equal bytes, on any number of
    /// threads.
    Sweep(sweep::SweepArgs),
    /// Draw a figure of a landscape, of a phase diagram, or of trainings
    ///
    /// Missing results are computed first, except trainings. A landscape is drawn with the trajectories of its
    /// preset's optimizers, for the preset's number of steps, or else for 1000. --all draws the figures of the paper's
    /// toy models one after another; the phase diagram in 100 dimensions takes hours at full size, and finished figures
    /// stay. To keep the results of a long computation, run `valleyscope sweep`, and draw from its folder. A preset of
    /// trainings, such as fig3a, draws the existing runs, finished or not: their validation loss over the steps, or over
    /// the time of training for walltime.
    Figure(figure::FigureArgs),
    /// Write an animation of a landscape and its plots as GIF, APNG, MP4 or WebM, without a window
    ///
    /// The changes of a recorded session are repeated at their steps; a lesson's steps are ignored. Frames are drawn by
    /// the graphics driver, which may be a software driver such as Mesa's; MP4 and WebM need the program ffmpeg.
    Animate(animate::AnimateArgs),
    /// Write a lesson as one HTML page to hand out, or its speaker notes
    ///
    /// The page holds the recorded runs of all steps of the lesson, with the landscape, plots, formulas and texts. It
    /// opens in any browser from a disk, without a network. Equal presets give equal bytes.
    Lesson(lesson::LessonArgs),
    /// Compare the regret of FOCUS with the bound of the paper's convergence theorem
    ///
    /// FOCUS runs on sequences of convex losses in 1, 10 and 100 dimensions, with learning rates η/√t, momentum and
    /// attraction that vanish, and a projection onto a box, as the theorem assumes it. Equal seeds give equal bytes.
    Regret(regret::Args),
    /// Train a real model, and watch it until it ends
    ///
    /// The run is a folder, and the training does not depend on this command. Ctrl-C stops it with a checkpoint, from
    /// which --resume continues, also after a crash. `valleyscope runs` shows all runs.
    Train(train::TrainArgs),
    /// List, add, order, remove or train the trainings that wait in the queue
    ///
    /// The queue is the folder `queue` beside the runs. It survives the end of any program that works on it.
    Queue(queue::QueueArgs),
    /// List, show, name, compare, watch, change, stop, delete, check, export and evaluate trainings
    ///
    /// A run is a folder. These commands read it while it is written or after it has been copied.
    Runs(runs::RunsArgs),
    /// Obtain the data for trainings
    #[command(subcommand)]
    Data(data::DataCommand),
    /// Report what this machine has, what is missing, and how to fix it
    Doctor,
    /// Print a script with which a shell completes commands and options, such as for `eval` in ~/.bashrc
    Completions {
        /// The shell that reads it
        shell: Shell,
    },
}

/// The definition of the command line, from which documents are made and against which they are checked.
pub fn command() -> clap::Command {
    Cli::command()
}

/// The default of `RUST_LOG`.
const LOGGED: &str = "error,valleyscope=warn";

/// Runs the program with its arguments, the first of which is its name; returns the exit code.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    // Log messages may quote a file.
    let line = |out: &mut env_logger::fmt::Formatter, record: &log::Record<'_>| {
        writeln!(out, "[{} {}] {}", record.level(), record.target(), visible_lines(&record.args().to_string()))
    };
    let log =
        env_logger::Builder::from_env(env_logger::Env::default().default_filter_or(LOGGED)).format(line).try_init();
    log.unwrap_or_else(|error| say(format_args!("warning: {error}")));
    outlive_limits();
    let cli = Cli::try_parse_from(arguments).unwrap_or_else(|refusal| refuse(&refusal));
    let outcome = match cli.command.unwrap_or(Command::App(cli.app)) {
        Command::App(args) => open_window(&args),
        Command::Presets(command) => presets::run(&command),
        Command::Optimizers(command) => reference::optimizers(&command),
        Command::Landscapes(command) => reference::landscapes(&command),
        Command::Simulate(args) => simulate::run(&args),
        Command::Sweep(args) => sweep::run(&args),
        Command::Figure(args) => figure::run(&args),
        Command::Animate(args) => animate::run(&args),
        Command::Lesson(args) => lesson::run(&args),
        Command::Regret(args) => regret::run(&args),
        Command::Train(args) => train::run(&args),
        Command::Queue(args) => queue::run(&args),
        Command::Runs(args) => runs::run(&args),
        Command::Data(command) => data::run(&command),
        Command::Doctor => doctor::run(),
        Command::Completions { shell } => completions(shell),
    };
    match outcome {
        Ok(()) => 0,
        // The reader of the output has closed it, as with `| head`.
        Err(Failure::Failed(error)) if is_broken_pipe(&error) => 0,
        Err(Failure::Failed(error)) => report(&error, 1),
        Err(Failure::BadInput(error)) => report(&error, 2),
        Err(Failure::Interrupted) => report(&anyhow::anyhow!("interrupted"), 130),
        Err(Failure::Stopped) => report(&anyhow::anyhow!("the run was stopped before its end"), 130),
    }
}

/// Converts a file that grows beyond the system's limit (`ulimit -f`) into an error of writing, instead of a silent end
/// of the program by a signal.
fn outlive_limits() {
    #[cfg(unix)]
    {
        // The flag is never read. If it cannot be registered, the system's default remains.
        let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default());
    }
}

/// Ends the program with clap's message, about wrong usage or requested help.
fn refuse(message: &clap::Error) -> ! {
    // An argument may contain control characters, as in the name of a received file.
    let plain = message.render().to_string();
    if visible_lines(&plain) == plain {
        message.exit()
    }
    say(format_args!("{}", plain.trim_end()));
    std::process::exit(message.exit_code())
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .any(|cause| cause.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe))
}

fn report(error: &anyhow::Error, code: u8) -> u8 {
    say(format_args!("error: {}", in_one_line(error)));
    code
}

/// Formats the error with its causes, each of them once, as many errors include their cause.
fn in_one_line(error: &anyhow::Error) -> String {
    let mut text = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text
}

fn completions(shell: Shell) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command(), "valleyscope", &mut script);
    print_content(&String::from_utf8_lossy(&script))
}

fn assignment(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => Ok((key.trim().to_owned(), value.trim().to_owned())),
        _ => Err("expected KEY=VALUE, such as noise=0.5 or lr=0.01".to_owned()),
    }
}

fn whole(range: RangeInclusive<u64>) -> impl Fn(&str) -> Result<u64, String> + Clone {
    move |text| {
        let number = text.parse().ok().filter(|number| range.contains(number));
        let [from, to] = [range.start(), range.end()];
        number.ok_or_else(|| format!("expected a whole number from {from} to {to}, found {text}"))
    }
}

fn one_of<T: Copy + Send + Sync>(all: &'static [T], name: fn(T) -> &'static str) -> impl TypedValueParser<Value = T> {
    let value = move |text: String| *all.iter().find(|value| name(**value) == text).expect("its name is listed");
    PossibleValuesParser::new(all.iter().map(|value| name(*value))).map(value)
}

/// Warns of the characters of a figure that no font has.
fn warn_of_missing_glyphs(drawing: &Svg) {
    if let Some(warning) = blank_warning(drawing.blank()) {
        say(format_args!("warning: {warning}"));
    }
}

fn landscape_preset(name: &OsStr, settings: &[(String, String)]) -> Result<LandscapePreset, Failure> {
    let preset = Library::open().load(name).map_err(Failure::bad_input)?.preset;
    if !matches!(preset, Preset::Landscape(_)) {
        return Err(wrong_kind("a preset of the kind Landscape", name, &preset));
    }
    match changed(&preset, settings)?.as_changed_from(&preset) {
        Preset::Landscape(preset) => {
            check_computable(&preset)?;
            Ok(preset)
        }
        _ => unreachable!("a preset with another value of a field is of the same kind"),
    }
}

/// Refuses a preset with an optimizer whose steps cannot be taken here.
fn check_computable(preset: &LandscapePreset) -> Result<(), Failure> {
    simulations(preset)?.iter().try_for_each(|spec| spec.check_computable().map_err(Failure::bad_input))
}

/// Refuses a preset of another kind than expected, and names the command that runs it.
fn wrong_kind(expected: &str, name: &OsStr, preset: &Preset) -> Failure {
    let name = name.display().to_string();
    let (kind, command) = (preset.kind(), preset.command(&name));
    Failure::BadInput(anyhow::anyhow!(
        "expected {expected}, and `{name}` is a {kind}; run it with `valleyscope {command}`"
    ))
}

/// Loads the preset that a user named where the name of a rule or a landscape is expected, too.
fn preset_in_place_of<'n>(noun: &str, names: impl Iterator<Item = &'n str>, name: &OsStr) -> Result<Preset, Failure> {
    let loaded = Library::open().load(name).map_err(|error| match error {
        PresetError::NotFound { name, .. } => {
            let names = names.collect::<Vec<_>>().join(", ");
            Failure::BadInput(anyhow::anyhow!(
                "there is no {noun} {name:?}, and no preset of this name; there are {names}"
            ))
        }
        error => Failure::bad_input(error),
    })?;
    Ok(loaded.preset)
}

/// Lists the simulations of a preset and the first ones of its lesson's steps.
fn simulations(preset: &LandscapePreset) -> Result<Vec<SimulationSpec>, Failure> {
    let own = preset.resolved_simulations().map_err(Failure::bad_input)?.into_iter().map(|it| Ok(it.spec));
    let steps = (0..preset.lesson.len()).map(|step| preset.spec_at(step).map_err(Failure::bad_input));
    own.chain(steps).collect()
}

/// Filters the typed ones of some rules or landscapes, each once; all if none is typed.
fn typed_or_all<K: Copy + PartialEq>(kinds: Vec<K>, is_typed: fn(K) -> bool) -> Vec<K> {
    let has_typed = kinds.iter().any(|kind| is_typed(*kind));
    let mut once = Vec::new();
    for kind in kinds {
        if !once.contains(&kind) && (is_typed(kind) || !has_typed) {
            once.push(kind);
        }
    }
    once
}

/// Applies the changes of `--set` to a preset. If a rule replaces another, prints which hyperparameters are new.
fn changed(preset: &Preset, settings: &[(String, String)]) -> Result<Preset, Failure> {
    let settings = settings.iter().map(|(key, value)| (key.as_str(), value.as_str()));
    let changed = preset.with_all(settings).map_err(|error| Failure::BadInput(anyhow::anyhow!("--set {error}")))?;
    say_replaced_rules(preset, &changed);
    Ok(changed)
}

/// Prints which hyperparameters are new where a rule of a preset replaces another, each text once.
fn say_replaced_rules(preset: &Preset, changed: &Preset) {
    let (before, after) = (rules(preset), rules(changed));
    if before.len() != after.len() {
        // Rules were added or removed, so that their indices are not comparable.
        return;
    }
    let mut printed = Vec::new();
    for ((before, old_rate), (after, rate)) in before.into_iter().zip(after) {
        let text = after.replacement(&before, rate == old_rate);
        if after.kind() != before.kind() && !printed.contains(&text) {
            say(format_args!("{text}"));
            printed.push(text);
        }
    }
}

/// Lists the rules of a preset, with their learning rates if each has one.
fn rules(preset: &Preset) -> Vec<(RuleSpec, Option<LearningRate>)> {
    match preset {
        Preset::Landscape(preset) => {
            let rated = preset.spec().optimizers.iter().map(|optimizer| &optimizer.rule);
            rated.map(|RatedRule { rule, learning_rate, .. }| (*rule, Some(*learning_rate))).collect()
        }
        Preset::Sweep(preset) => preset.sweep.optimizers.iter().map(|optimizer| (optimizer.rule, None)).collect(),
        training => {
            let trainings = training.trainings();
            let commons = trainings.iter().filter_map(Preset::training);
            commons.map(|common| (*common.rule, Some(common.learning_rate))).collect()
        }
    }
}

#[derive(clap::Args)]
struct AppArgs {
    /// Open with this preset: a name or a file
    #[arg(long, value_name = "NAME|FILE")]
    preset: Option<OsString>,
    /// Open this preset file, this result of a sweep (its folder or its phase.npz), these recorded clouds (an NPZ of
    /// `simulate`, or any with positions), or this folder of a run
    #[arg(long, value_name = "FILE|DIR|RUN", conflicts_with = "preset")]
    open: Option<PathBuf>,
    /// Folder of the runs [default: the one in VALLEYSCOPE_RUNS, or `runs` in the user's folder for data]
    #[arg(long, value_name = "DIR")]
    runs: Option<PathBuf>,
}

#[cfg(feature = "app")]
fn open_window(args: &AppArgs) -> Result<(), Failure> {
    let opened = match (&args.preset, &args.open) {
        (Some(name), _) => {
            let Loaded { preset, source, .. } = Library::open().load(name).map_err(Failure::bad_input)?;
            let file = match source {
                PresetSource::BuiltIn(_) => None,
                PresetSource::User { path, .. } | PresetSource::File(path) => Some(path),
            };
            vec![(OpenedContent::Preset(Box::new(preset)), file)]
        }
        (None, Some(path)) => {
            let content = OpenedContent::read(path, |path| Ok(Library::load_file(path)?.preset));
            let content = content.map_err(|error| Failure::BadInput(anyhow::anyhow!(error)))?;
            vec![(content, Some(path.clone()))]
        }
        (None, None) => Vec::new(),
    };
    let runs = args.runs.as_deref().map(|named| RunsLocation::for_new_run(Some(named))).transpose()?;
    let runs = runs.map(|runs| std::path::absolute(runs.folder)).transpose()?;
    Ok(super::app::run(opened, runs)?)
}

#[cfg(not(feature = "app"))]
fn open_window(_: &AppArgs) -> Result<(), Failure> {
    Err(Failure::BadInput(anyhow::anyhow!(
        "this valleyscope was built without the app's window; what works without one are its \
         commands, such as `valleyscope simulate` and `valleyscope sweep` (see `valleyscope --help`)"
    )))
}
