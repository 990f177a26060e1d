//! The changes of the command line to a sweep.

use std::num::IntErrorKind;

use anyhow::anyhow;
use valleyscope_engine::quantity::{PointCount, Replicates, StepCount};
use valleyscope_engine::sweep::{Precision, Quantity, SweepSpec};

use crate::cli::Failure;

#[derive(clap::Args)]
pub(super) struct SweepOverrides {
    /// Rows and columns of the diagram, over the same ranges [default: the preset's]
    #[arg(long, value_name = "ROWSxCOLS", allow_hyphen_values = true, value_parser = Grid::parse)]
    grid: Option<Grid>,
    /// Learning rates of each optimizer, over the same range [default: the preset's]
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = learning_rates)]
    lrs: Option<PointCount>,
    /// Runs with equal settings and different noise [default: the preset's]
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = replicates)]
    replicates: Option<Replicates>,
    /// Steps of each run [default: the preset's]
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = steps)]
    steps: Option<StepCount>,
    /// Seed of the starting positions and of the noise [default: the preset's]
    #[arg(long, value_name = "S", allow_hyphen_values = true, value_parser = seed)]
    seed: Option<u64>,
}

impl SweepOverrides {
    /// Returns the sweep with these changes, checked.
    pub(super) fn of(&self, mut spec: SweepSpec) -> Result<SweepSpec, Failure> {
        if let Some(Grid { rows, columns }) = self.grid {
            (spec.rows.count, spec.columns.count) = (rows, columns);
        }
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
        spec.check().map_err(Failure::bad_input)?;
        Ok(spec)
    }
}

fn no_effect(option: &str, varied: &str) -> Failure {
    Failure::BadInput(anyhow!("{option} has no effect here, as an axis of the diagram varies {varied}; leave it out"))
}

#[derive(Clone, Copy)]
struct Grid {
    rows: PointCount,
    columns: PointCount,
}

impl Grid {
    fn parse(text: &str) -> Result<Grid, String> {
        let wrong = || format!("expected rows and columns, such as 24x25, found {text}");
        let (rows, columns) = text.split_once('x').ok_or_else(wrong)?;
        let count = |text: &str| {
            let count = match text.parse::<u64>() {
                // `PointCount` refuses the largest number too, and names those that it allows.
                Err(error) if *error.kind() == IntErrorKind::PosOverflow => u64::MAX,
                count => count.map_err(|_| wrong())?,
            };
            PointCount::new(count)
                .map_err(|error| format!("each side of a grid must be {}, found {text}", error.expected))
        };
        Ok(Grid { rows: count(rows)?, columns: count(columns)? })
    }
}

fn whole(text: &str, expected: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("expected {expected}, found {text}"))
}

fn learning_rates(text: &str) -> Result<PointCount, String> {
    let count = whole(text, "a whole number of learning rates from 1 to 10000")?;
    PointCount::new(count).map_err(|error| error.to_string())
}

fn replicates(text: &str) -> Result<Replicates, String> {
    let count = whole(text, "a whole number of replicates from 1 to 100000")?;
    Replicates::new(count).map_err(|error| error.to_string())
}

fn steps(text: &str) -> Result<StepCount, String> {
    let count = whole(text, "a whole number of steps from 1 to 10000000")?;
    StepCount::new(count).map_err(|error| error.to_string())
}

fn seed(text: &str) -> Result<u64, String> {
    whole(text, &format!("a seed, a whole number from 0 to {}", u64::MAX))
}

/// Parses the value of `--threads`.
pub(super) fn threads(text: &str) -> Result<usize, String> {
    const MOST: u64 = 1024;
    let expected = format!("a whole number of threads from 1 to {MOST}");
    match whole(text, &expected)? {
        threads @ 1..=MOST => Ok(threads as usize),
        other => Err(format!("expected {expected}, found {other}")),
    }
}

/// Parses the value of `--precision`.
pub(super) fn precision(text: &str) -> Result<Precision, String> {
    let found = Precision::ALL.into_iter().find(|precision| precision.name() == text);
    found.ok_or_else(|| format!("expected f32 or f64, found {text}"))
}
