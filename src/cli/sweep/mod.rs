//! `valleyscope sweep`: a phase diagram into a folder.

mod folder;
mod parts;
mod runner;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};
use folder::{FolderState, ResultFolder};
use valleyscope_engine::quantity::{Budget, OutOfRange, PointCount, Range, Replicates, StepCount};
use valleyscope_engine::sweep::{
    Adaptive, Cell, Diagram, Finished, Precision, Quantity, Sampling, SweepPart, SweepSpec,
};
use valleyscope_experiments::preset::{Preset, SweepPreset};
use valleyscope_experiments::view::ticks::short;

use super::{Failure, in_one_line, one_of, say, whole};
use crate::figure::as_changed_from;
use crate::result::{RawFormat, SweepResult};
use crate::sweep_checkpoint::SweepCheckpoint;

pub(super) use runner::{SweepRunner, Taker, load};

#[derive(clap::Args)]
pub(super) struct SweepArgs {
    /// Name of a built-in preset or of one of your own, or a file
    #[arg(value_name = "PRESET", required_unless_present = "merge")]
    preset: Option<OsString>,
    /// Folder for the results, created if needed
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Compute only a part of the pixels, such as 3/8, the third of eight parts of equal cost
    ///
    /// Each part has its own file, such as DIR/part-3-of-8.bin, so that parts can share a folder and be computed at the
    /// same time on several machines. Repeating the command resumes a stopped part.
    #[arg(long, value_name = "K/N", allow_hyphen_values = true)]
    part: Option<SweepPart>,
    /// Merge the parts in these folders into the same files as those of the whole sweep
    ///
    /// If some are missing, they are named, the existing ones are drawn as phase-so-far.png, and the exit code is 1.
    /// The command can be repeated with the same --out when more parts exist.
    #[arg(long, value_name = "DIR", num_args = 1.., conflicts_with_all = [
        "preset", "part", "set", "threads", "precision", "raw", "resume", "grid", "lrs", "replicates", "steps", "seed", "adaptive"
    ])]
    merge: Vec<PathBuf>,
    #[command(flatten)]
    overrides: SweepOverrides,
    /// Set a field of the preset, such as optimizers[0].schedule.warmup=100; may be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = super::assignment)]
    set: Vec<(String, String)>,
    /// Number of threads [default: as many as the processor runs at the same time]
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = whole(1..=1024))]
    threads: Option<u64>,
    /// The floating-point type of the runs: f32, or f64 as a check
    #[arg(long, value_name = "f32|f64", default_value = "f32", value_parser = one_of(&Precision::ALL, Precision::name))]
    precision: Precision,
    /// Also write the final metrics of all runs, in the arrays of the paper
    #[arg(long)]
    raw: bool,
    /// Resume the stopped sweep in this folder
    #[arg(long)]
    resume: bool,
}

pub(super) fn run(args: &SweepArgs) -> Result<(), Failure> {
    let Some(preset) = &args.preset else { return parts::run(args) };
    let preset = load(preset)?;
    // With the grid of the command line, settings are not refused for the preset's own size.
    let resized = SweepPreset { sweep: args.overrides.with_grid(preset.sweep.clone()), ..preset.clone() };
    let Preset::Sweep(changed) = super::changed(&Preset::Sweep(resized), &args.set)? else {
        unreachable!("a preset with another value of a field is of the same kind")
    };
    let spec = args.overrides.of(changed.sweep.clone())?;
    // Title and description include the changes of the command line, unless it sets them.
    let asked = as_changed_from(SweepPreset { sweep: spec, ..changed }, &preset);
    let raw = args.raw.then(|| RawFormat::of(&asked.sweep)).transpose().map_err(Failure::bad_input)?;
    if let Some(part) = args.part {
        return parts::compute(args, asked, part);
    }
    let SweepPreset { title, description, sweep: spec, .. } = asked;
    let spec = Arc::new(spec);
    let folder = ResultFolder { path: &args.out, raw };
    let (checkpoint, overwrite) = match folder.open(&spec, args.precision, args.resume)? {
        FolderState::Open { checkpoint, overwrite } => (checkpoint, overwrite),
        FolderState::Complete => {
            say(format_args!("this sweep is complete; its results are in {}", args.out.display()));
            return Ok(());
        }
    };
    let runner = SweepRunner::open(args.threads, args.precision)?;
    let mut keeper = DiagramStore::new(Diagram::new(Arc::clone(&spec)), checkpoint)?;
    let known = keeper.diagram.clone();
    if known.complete() > 0 {
        let all = spec.shape().iter().product::<usize>();
        say(format_args!("resuming with {} of {all} pixels known", known.complete()));
    } else if args.resume {
        say(format_args!("no pixel of this sweep is known in {}; it starts from the beginning", args.out.display()));
    }
    let outcome = runner.compute(Arc::clone(&spec), args.raw, |pixel| known.cell(pixel).is_some(), &mut keeper);
    let outcome = outcome.and_then(|done| keeper.save().map(|()| done));
    let done = outcome.map_err(|failure| and_resume(failure, &args.out, &spec, &keeper.checkpoint))?;
    let DiagramStore { diagram, mut checkpoint, .. } = keeper;
    if !diagram.is_complete() {
        say(format_args!("{}", how_to_go_on(&args.out, &spec, &checkpoint)));
        return Err(Failure::Interrupted);
    }
    let result = SweepResult { title, description, diagram, precision: args.precision };
    folder
        .finish(&result, &mut checkpoint, overwrite)
        .map_err(|error| and_resume(error.into(), &args.out, &spec, &checkpoint))?;
    folder.remove_so_far()?;
    checkpoint.remove().context("the results are complete, but the checkpoint beside them cannot be removed")?;
    say(format_args!("{}; results are in {}", runner.speed(&done), args.out.display()));
    if let Some(words) = what_is_decided(&result.diagram) {
        say(format_args!("{words}"));
    }
    Ok(())
}

/// Returns how many pixels adaptive sampling has decided, and at what cost; none for uniform sampling.
fn what_is_decided(diagram: &Diagram) -> Option<String> {
    let spec = diagram.spec();
    let Sampling::Adaptive(Adaptive { certainty, .. }) = spec.sampling else { return None };
    let cells = || spec.pixels().filter_map(|pixel| diagram.cell(pixel));
    let is_decided = |cell: &&Arc<Cell>| cell.comparison(spec.metric).certainty() >= Some(certainty.get());
    let runs: u64 = cells().map(|cell| cell.runs()).sum();
    let uniform = spec.runs_of_pixel() * cells().count();
    Some(format!(
        "{} of {} pixels are decided with {} % certainty, by {:.1} % of the runs of uniform sampling",
        cells().filter(is_decided).count(),
        cells().count(),
        short(100.0 * certainty.get()),
        100.0 * runs as f64 / uniform as f64
    ))
}

/// Extends the failure by the saved part of the work and how to resume.
fn and_resume(failure: Failure, folder: &Path, spec: &SweepSpec, checkpoint: &SweepCheckpoint) -> Failure {
    match failure {
        Failure::Failed(error) => {
            let is_there = checkpoint.is_in_place();
            let left = if is_there { how_to_go_on(folder, spec, checkpoint) } else { what_is_lost(folder) };
            Failure::Failed(anyhow!("{}; {left}", in_one_line(&error)))
        }
        other => other,
    }
}

/// Returns the message for a checkpoint that was removed or moved.
fn what_is_lost(folder: &Path) -> String {
    let folder = folder.display();
    format!(
        "nothing of this sweep is in {folder} any more; where that folder was moved, repeat the command with its new \
         place for --out and with --resume, and where it was removed, what was computed is lost"
    )
}

/// Describes the saved part of the work, which may be less than was computed, and how to resume.
fn how_to_go_on(folder: &Path, spec: &SweepSpec, checkpoint: &SweepCheckpoint) -> String {
    let (saved, all) = (checkpoint.saved(), spec.shape().iter().product::<usize>());
    format!("{saved} of {all} pixels are saved in {}; repeat the command with --resume to go on", folder.display())
}

/// A diagram whose pixels are stored in memory and on disk.
struct DiagramStore {
    diagram: Diagram,
    checkpoint: SweepCheckpoint,
    saved: Instant,
}

impl DiagramStore {
    /// Creates a store with the known pixels of the checkpoint.
    fn new(mut diagram: Diagram, mut checkpoint: SweepCheckpoint) -> anyhow::Result<DiagramStore> {
        let [rows, columns] = diagram.spec().shape();
        for pixel in (0..rows).flat_map(|row| (0..columns).map(move |column| [row, column])) {
            let known =
                checkpoint.read(pixel).with_context(|| format!("cannot read {}", checkpoint.path().display()))?;
            if let Some(known) = known {
                diagram.insert(pixel, known.cell);
            }
        }
        Ok(DiagramStore { diagram, checkpoint, saved: Instant::now() })
    }

    fn add(&mut self, finished: &Finished) {
        self.checkpoint.add(finished);
        self.diagram.insert(finished.pixel, finished.cell.clone());
    }

    fn save(&mut self) -> Result<(), Failure> {
        let path = self.checkpoint.path().to_owned();
        self.checkpoint.save().with_context(|| format!("cannot write {}", path.display()))?;
        self.saved = Instant::now();
        Ok(())
    }
}

impl Taker for DiagramStore {
    fn take(&mut self, finished: Finished) -> Result<(), Failure> {
        self.add(&finished);
        Ok(())
    }

    fn keep_up(&mut self) -> Result<(), Failure> {
        const BETWEEN_SAVES: Duration = Duration::from_secs(2);
        if self.saved.elapsed() >= BETWEEN_SAVES { self.save() } else { Ok(()) }
    }
}

#[derive(clap::Args)]
struct SweepOverrides {
    /// Rows and columns of the diagram, over the same ranges [default: the preset's]
    #[arg(long, value_name = "ROWSxCOLS", allow_hyphen_values = true, value_parser = grid)]
    grid: Option<[PointCount; 2]>,
    /// Learning rates of each optimizer, over the same range [default: the preset's]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    lrs: Option<PointCount>,
    /// Runs with equal settings and different noise [default: the preset's]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    replicates: Option<Replicates>,
    /// Steps of each run [default: the preset's]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    steps: Option<StepCount>,
    /// Seed of the starting positions and of the noise [default: the preset's]
    #[arg(long, value_name = "S", allow_hyphen_values = true, value_parser = whole(0..=u64::MAX))]
    seed: Option<u64>,
    /// Spend replicates where the winner is open, until it is 95 % certain or the budget is used up
    ///
    /// The budget of a pixel is a multiple of its steps with uniform sampling: `--adaptive=3` takes up to three times as
    /// many, and far fewer where a few replicates decide [default: 5, or the preset's]. Other settings are those of the
    /// field `sampling` of the preset: `--set 'sampling=Adaptive(certainty: 0.99, budget: 5, most_replicates: 5000)'`.
    #[arg(long, value_name = "BUDGET", num_args = 0..=1, require_equals = true, value_parser = budget)]
    adaptive: Option<Option<Budget>>,
}

impl SweepOverrides {
    /// Returns the sweep with the rows and columns that were asked for.
    fn with_grid(&self, mut spec: SweepSpec) -> SweepSpec {
        if let Some([rows, columns]) = self.grid {
            (spec.rows.count, spec.columns.count) = (rows, columns);
        }
        spec
    }

    /// Returns the sweep with these changes, checked.
    fn of(&self, spec: SweepSpec) -> Result<SweepSpec, Failure> {
        let mut spec = self.with_grid(spec);
        if let Some(count) = self.lrs {
            if spec.learning_rates().iter().all(Vec::is_empty) {
                return Err(no_effect("--lrs", "the learning rate of all optimizers"));
            }
            spec.optimizers.iter_mut().for_each(|optimizer| optimizer.learning_rates.count = count);
        }
        if let Some(steps) = self.steps {
            if [&spec.rows, &spec.columns].iter().any(|axis| axis.of == Quantity::Steps) {
                return Err(no_effect("--steps", "the number of steps"));
            }
            spec.steps = steps;
        }
        spec.replicates = self.replicates.unwrap_or(spec.replicates);
        spec.seed = self.seed.unwrap_or(spec.seed);
        if let Some(budget) = self.adaptive {
            let own = match spec.sampling {
                Sampling::Adaptive(own) => own,
                Sampling::Uniform => Adaptive::default(),
            };
            spec.sampling = Sampling::Adaptive(Adaptive { budget: budget.unwrap_or(own.budget), ..own });
        }
        spec.check().map_err(Failure::bad_input)?;
        Ok(spec)
    }
}

fn no_effect(option: &str, varied: &str) -> Failure {
    Failure::BadInput(anyhow!("{option} has no effect here, as an axis of the diagram varies {varied}; leave it out"))
}

/// Parses the budget of adaptive sampling.
fn budget(text: &str) -> Result<Budget, String> {
    let Range { min, max, .. } = Budget::RANGE;
    let number = text.parse().map_err(|_| format!("expected a number from {min} to {max}, such as 5, found {text}"))?;
    Budget::new(number).map_err(|error| error.to_string())
}

/// Parses rows and columns.
fn grid(text: &str) -> Result<[PointCount; 2], String> {
    let (rows, columns) =
        text.split_once('x').ok_or_else(|| format!("expected rows and columns, such as 24x25, found {text}"))?;
    let refused = |error: OutOfRange| format!("each side of a grid must be {}, found {text}", error.expected);
    Ok([rows.parse().map_err(refused)?, columns.parse().map_err(refused)?])
}
