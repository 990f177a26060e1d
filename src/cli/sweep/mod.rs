//! `valleyscope sweep`: a phase diagram into a folder.

mod folder;
mod merge;
mod runner;

use std::collections::HashSet;
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::anyhow;
use folder::{ResultFolder, StoredDiagram};
use valleyscope_engine::quantity::{Budget, OutOfRange, PointCount, Range, Replicates, StepCount};
use valleyscope_engine::sweep::{
    Adaptive, Cell, Diagram, Precision, Quantity, Sampling, SweepJob, SweepPart, SweepSpec,
};
use valleyscope_experiments::preset::{Preset, SweepPreset};
use valleyscope_experiments::view::ticks::short;

use super::{Failure, in_one_line, one_of, say, whole};
use crate::sweep::pool::Progress;
use crate::sweep::result::{RawFormat, SweepHeader, SweepResult, SweepStore};
use crate::sweep::titles::as_changed_from;

pub(super) use runner::{SweepRunner, load};

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
    /// Each part has its own folder, such as DIR/part-3-of-8, so that parts can share a folder and be computed at the
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
    /// Also compute why Adam's step is small at each pixel: the shares of signal, noise and oscillation
    ///
    /// They are those of its best learning rate over the last half of the steps, in phase.npz and phase.csv;
    /// `valleyscope figure DIR --map triangle` draws them. Parts are measured when they are merged.
    #[arg(long, conflicts_with = "part")]
    measured: bool,
    /// Resume the stopped sweep in this folder
    #[arg(long)]
    resume: bool,
}

pub(super) fn run(args: &SweepArgs) -> Result<(), Failure> {
    let Some(preset) = &args.preset else { return merge::run(args) };
    let preset = load(preset)?;
    // With the grid of the command line, settings are not refused for the preset's own size.
    let resized = SweepPreset { sweep: args.overrides.with_grid(preset.sweep.clone()), ..preset.clone() };
    let Preset::Sweep(changed) = super::changed(&Preset::Sweep(resized), &args.set)? else {
        unreachable!("a preset with another value of a field is of the same kind")
    };
    let spec = args.overrides.of(changed.sweep.clone())?;
    // Title and description include the changes of the command line, unless it sets them.
    let asked = as_changed_from(SweepPreset { sweep: spec, ..changed }, &preset);
    if args.measured && asked.sweep.adam().is_none() {
        return Err(Failure::BadInput(anyhow!(
            "--measured: expected Adam among the optimizers, as its gradients are measured, found none; leave it out"
        )));
    }
    let raw = args.raw.then(|| RawFormat::of(&asked.sweep)).transpose().map_err(Failure::bad_input)?;
    let share = Share::of(&asked.sweep, args.part)?;
    let header =
        SweepHeader { preset: Arc::new(asked), precision: args.precision, keeps_runs: args.raw, part: args.part };
    let folder = ResultFolder::make(&args.out, args.part, raw)?;
    let shown = folder.path.display();
    let Some((mut stored, overwrite)) = folder.open(&header, args.resume || args.part.is_some())? else {
        say(format_args!("this sweep is complete; its results are in {shown}"));
        return Ok(());
    };
    let known = stored.store.known();
    let ready = format!("when all parts are there: valleyscope sweep --merge {} --out FOLDER", args.out.display());
    match args.part {
        Some(part) if known == share.pixels.len() => {
            say(format_args!("part {part} is complete, in {shown}; {ready}"));
            return Ok(());
        }
        _ if known > 0 => say(format_args!("resuming with {known} of {share} known")),
        None if args.resume => {
            say(format_args!("no pixel of this sweep is known in {shown}; it starts from the beginning"));
        }
        _ => {}
    }
    let runner = SweepRunner::open(args.threads, args.precision)?;
    let done = compute(&runner, &header, &share, &mut stored);
    let done = done.map_err(|failure| with_resume_advice(failure, &share, &stored.store))?;
    if stored.store.known() < share.pixels.len() {
        say(format_args!("{}", resume_advice(&share, &stored.store)));
        return Err(Failure::Interrupted);
    }
    if let Some(part) = args.part {
        say(format_args!("{}; part {part} is in {shown}; {ready}", runner.speed(&done)));
        return Ok(());
    }
    let StoredDiagram { diagram, store, .. } = stored;
    let mut result = SweepResult::of(&header.preset, diagram, header.precision);
    if args.measured {
        runner.measure(&mut result.diagram)?;
    }
    folder.finish(&result, &store, overwrite).map_err(|error| with_resume_advice(error.into(), &share, &store))?;
    folder.remove_records(store)?;
    say(format_args!("{}; results are in {shown}", runner.speed(&done)));
    if let Some(text) = decided_text(&result.diagram) {
        say(format_args!("{text}"));
    }
    Ok(())
}

fn compute(
    runner: &SweepRunner,
    header: &SweepHeader,
    share: &Share,
    stored: &mut StoredDiagram,
) -> Result<Progress, Failure> {
    let before = stored.diagram.clone();
    let replicates = before.spec().replicates.get();
    let is_known = |pixel| before.cell(pixel).is_some_and(|cell| cell.is_complete(replicates));
    let known = |pixel| !share.pixels.contains(&pixel) || is_known(pixel);
    let begun = |pixel| before.race(pixel).cloned();
    let job = SweepJob::new(Arc::clone(before.spec()), runner.backend);
    let job = SweepJob { keep_runs: header.keeps_runs, known: &known, begun: &begun, ..job };
    let done = runner.compute(job, |finished| stored.take(finished))?;
    stored.save()?;
    Ok(done)
}

/// The pixels that a command computes: all, or those of a part.
struct Share {
    part: Option<SweepPart>,
    pixels: HashSet<[usize; 2]>,
}

impl Share {
    fn of(spec: &SweepSpec, part: Option<SweepPart>) -> Result<Share, Failure> {
        let (all, (number, count)) = (spec.pixels().count(), part.map_or((1, 1), |part| (part.number(), part.count())));
        if count as usize > all {
            return Err(Failure::BadInput(anyhow!("expected at most {all} parts, one for each pixel, found {count}")));
        }
        let numbered = spec.pixels().zip(SweepPart::numbers(count, spec));
        Ok(Share { part, pixels: numbered.filter(|(_, of)| *of == number).map(|(pixel, _)| pixel).collect() })
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.part {
            None => write!(f, "{} pixels", self.pixels.len()),
            Some(part) => write!(f, "the {} pixels of part {part}", self.pixels.len()),
        }
    }
}

fn with_resume_advice(failure: Failure, share: &Share, store: &SweepStore) -> Failure {
    match failure {
        Failure::Failed(error) => Failure::Failed(anyhow!("{}; {}", in_one_line(&error), resume_advice(share, store))),
        other => other,
    }
}

/// Describes the saved part of the work, which may be less than was computed, and how to resume.
fn resume_advice(share: &Share, store: &SweepStore) -> String {
    let (saved, folder) = (store.saved(), store.path().parent().unwrap_or(store.path()).display());
    let resume = if share.part.is_none() { " with --resume" } else { "" };
    if store.is_at_path() {
        return format!("{saved} of {share} are saved in {folder}; repeat the command{resume} to go on");
    }
    format!(
        "nothing of this sweep is in {folder} any more; where that folder was moved, repeat the command{resume} with its new \
         place for --out, and where it was removed, what was computed is lost"
    )
}

/// Describes how many pixels adaptive sampling has decided, and at what cost; none for uniform sampling.
fn decided_text(diagram: &Diagram) -> Option<String> {
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
    /// The budget of a pixel is a multiple of its steps with uniform sampling: `--adaptive=3` takes up to three times
    /// as many, and far fewer where a few replicates decide [default: 5, or the preset's]. Other settings are those of
    /// the field `sampling` of the preset: `--set 'sampling=Adaptive(certainty: 0.99, budget: 5, most_replicates:
    /// 5000)'`.
    #[arg(long, value_name = "BUDGET", num_args = 0..=1, require_equals = true, value_parser = budget)]
    adaptive: Option<Option<Budget>>,
}

impl SweepOverrides {
    fn with_grid(&self, mut spec: SweepSpec) -> SweepSpec {
        if let Some([rows, columns]) = self.grid {
            (spec.rows.count, spec.columns.count) = (rows, columns);
        }
        spec
    }

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

fn budget(text: &str) -> Result<Budget, String> {
    let Range { min, max, .. } = Budget::RANGE;
    let number = text.parse().map_err(|_| format!("expected a number from {min} to {max}, such as 5, found {text}"))?;
    Budget::new(number).map_err(|error| error.to_string())
}

fn grid(text: &str) -> Result<[PointCount; 2], String> {
    let (rows, columns) =
        text.split_once('x').ok_or_else(|| format!("expected rows and columns, such as 24x25, found {text}"))?;
    let refused = |error: OutOfRange| format!("each side of a grid must be {}, found {text}", error.expected);
    Ok([rows.parse().map_err(refused)?, columns.parse().map_err(refused)?])
}
