//! `valleyscope simulate`: a preset without a window, recorded.

use std::ffi::OsString;
use std::io::{self, BufWriter, StdoutLock, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use valleyscope_engine::quantity::ParticleCount;
use valleyscope_engine::simulation::{Record, Simulation, SimulationSpec};
use valleyscope_experiments::preset::{LETTERS, LandscapePreset};
use valleyscope_runs::atomic_file::{AtomicFile, Overwrite};

use super::output::{Interrupt, ProgressLine, ProgressUnit, by_ending, cannot_write, on_stdout};
use super::{Failure, one_of, say, whole};
use crate::export::{TrajectoryArrays, TrajectoryTable};

#[derive(clap::Args)]
pub(super) struct SimulateArgs {
    /// Name of a built-in preset or of one of your own, or a file
    #[arg(value_name = "PRESET")]
    preset: OsString,
    /// Steps to take [default: the preset's]
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = whole(0..=u64::MAX))]
    steps: Option<u64>,
    /// Particles of each optimizer, 1 to 10000 [default: the preset's]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    particles: Option<ParticleCount>,
    /// Seed of the starting positions and of the noise [default: the preset's]
    #[arg(long, value_name = "S", allow_hyphen_values = true, value_parser = whole(0..=u64::MAX))]
    seed: Option<u64>,
    /// Set a field of the preset, such as noise=0.5 or optimizers[0].rule.schedule.warmup=100; may be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = super::assignment)]
    set: Vec<(String, String)>,
    /// Simulate another one of a preset of several side by side: A is the preset's own, B the first beside it
    #[arg(long, value_name = "A|B|C|D", default_value = "A", value_parser = one_of(&[0, 1, 2, 3], |session| LETTERS[session]))]
    session: usize,
    /// Record the start, every K-th step and the last
    #[arg(long, value_name = "K", default_value = "1", allow_hyphen_values = true, value_parser = whole(1..=u64::MAX))]
    every: u64,
    /// Write to this file, replacing it if it exists; without it, CSV goes to stdout
    #[arg(long, value_name = "FILE.csv|FILE.npz")]
    out: Option<PathBuf>,
}

/// The largest number of rows of a table, about 30 GB.
const MAX_TABLE_ROWS: u64 = 100_000_000;

pub(super) fn run(args: &SimulateArgs) -> Result<(), Failure> {
    let format = match &args.out {
        Some(out) => by_ending("--out", out, &[("csv", Format::Csv), ("npz", Format::Npz)])?,
        None => Format::Csv,
    };
    let preset = preset(args)?;
    let steps = args
        .steps
        .or(preset.planned_steps())
        .ok_or_else(|| Failure::BadInput(anyhow!("the preset has no number of steps; give one with --steps N")))?;
    let record = preset.record();
    check_size(format, &record.spec, steps, args.every)?;
    let interrupt = Interrupt::listen()?;
    let mut recorder =
        Recorder::new(format, args.out.as_deref(), preset, TrajectoryArrays::recorded(steps, args.every))?;
    let mut progress = ProgressLine::new(steps, ProgressUnit::STEPS, args.out.is_none());
    let mut simulation = Simulation::replay(record);
    recorder.record(&simulation)?;
    while simulation.step() < steps {
        if interrupt.is_raised() {
            progress.finish();
            return Err(Failure::Interrupted);
        }
        simulation.advance();
        if simulation.step().is_multiple_of(args.every) || simulation.step() == steps {
            recorder.record(&simulation)?;
        }
        progress.update(simulation.step());
    }
    progress.finish();
    recorder.finish()?;
    if let Some(out) = &args.out {
        say(format_args!("Wrote {}, {steps} steps", out.display()));
    }
    Ok(())
}

fn preset(args: &SimulateArgs) -> Result<LandscapePreset, Failure> {
    let preset = super::landscape_preset(&args.preset, &args.set)?;
    let mut preset = of_session(preset, args.session)?;
    // A schedule of the learning rate spans the steps to take. A recorded session keeps its schedule, as it is repeated
    // exactly.
    let is_recorded = !preset.simulations[0].changes.is_empty();
    let spec = preset.spec_mut();
    if !is_recorded {
        spec.steps = args.steps.or(spec.steps);
    }
    spec.particles = args.particles.unwrap_or(spec.particles);
    spec.seed = args.seed.unwrap_or(spec.seed);
    Ok(preset)
}

fn of_session(preset: LandscapePreset, session: usize) -> Result<LandscapePreset, Failure> {
    if session == 0 {
        return Ok(preset);
    }
    let mut all = preset.records().map_err(Failure::bad_input)?;
    let count = all.len();
    if session >= count {
        return Err(Failure::BadInput(anyhow!(
            "--session {}: the preset's `simulations` are only {}",
            LETTERS[session],
            LETTERS[..count].join(", ")
        )));
    }
    let Record { spec, changes } = all.swap_remove(session);
    let mut preset = LandscapePreset::new(preset.title, spec);
    preset.simulations[0].changes = changes;
    Ok(preset)
}

fn check_size(format: Format, spec: &SimulationSpec, steps: u64, every: u64) -> Result<(), Failure> {
    let recorded = TrajectoryArrays::recorded(steps, every);
    let (size, limit, what) = match format {
        Format::Npz => {
            let bytes = recorded.saturating_mul(TrajectoryArrays::bytes_a_step(spec));
            (bytes, TrajectoryArrays::MOST_BYTES, format!("arrays of {:.1} GiB", bytes as f64 / f64::from(1 << 30)))
        }
        Format::Csv => {
            let optimizers = spec.optimizers.iter().filter(|optimizer| optimizer.enabled).count() as u64;
            let rows = recorded.saturating_mul(optimizers);
            (rows, MAX_TABLE_ROWS, format!("a table of {rows} rows"))
        }
    };
    if size <= limit {
        return Ok(());
    }
    // The interval is slightly larger than in proportion, as the first row is always recorded.
    let enough = (steps as f64 / recorded as f64 * size as f64 / limit as f64 * 1.01).ceil();
    Err(Failure::BadInput(anyhow!(
        "recording {recorded} steps would make {what}, which is too much; record fewer with --every {enough} or more, or \
         take fewer steps"
    )))
}

#[derive(Clone, Copy)]
enum Format {
    Csv,
    Npz,
}

enum Recorder<'p> {
    Stdout(TrajectoryTable<BufWriter<StdoutLock<'static>>>),
    Table(TrajectoryTable<AtomicFile>, &'p Path),
    Arrays(Box<TrajectoryArrays>, AtomicFile, &'p Path),
}

impl<'p> Recorder<'p> {
    fn new(format: Format, out: Option<&'p Path>, preset: LandscapePreset, steps: u64) -> anyhow::Result<Self> {
        let spec = preset.spec();
        let Some(out) = out else {
            let mut shown = spec.clone();
            for name in shown.optimizers.iter_mut().filter_map(|optimizer| optimizer.name.as_mut()) {
                *name = on_stdout(name).into_owned();
            }
            let stdout = BufWriter::new(io::stdout().lock());
            return Ok(Recorder::Stdout(TrajectoryTable::new(stdout, &shown).with_context(to_stdout)?));
        };
        let file = AtomicFile::for_target(out).with_context(|| cannot_write(out))?;
        Ok(match format {
            Format::Csv => Recorder::Table(TrajectoryTable::new(file, spec).with_context(|| cannot_write(out))?, out),
            Format::Npz => {
                let steps = usize::try_from(steps).context("the recorded steps do not fit into memory")?;
                Recorder::Arrays(Box::new(TrajectoryArrays::new(preset, steps)), file, out)
            }
        })
    }

    fn record(&mut self, simulation: &Simulation) -> anyhow::Result<()> {
        match self {
            Recorder::Stdout(table) => table.record(simulation).with_context(to_stdout),
            Recorder::Table(table, out) => table.record(simulation).with_context(|| cannot_write(out)),
            Recorder::Arrays(arrays, ..) => {
                arrays.record(simulation);
                Ok(())
            }
        }
    }

    fn finish(self) -> anyhow::Result<()> {
        match self {
            Recorder::Stdout(table) => table.into_inner().flush().with_context(to_stdout),
            Recorder::Table(table, out) => table.into_inner().commit(Overwrite::Yes).with_context(|| cannot_write(out)),
            Recorder::Arrays(arrays, mut file, out) => {
                arrays.write(&mut file).and_then(|()| file.commit(Overwrite::Yes)).with_context(|| cannot_write(out))
            }
        }
    }
}

fn to_stdout() -> &'static str {
    "cannot write to stdout"
}
