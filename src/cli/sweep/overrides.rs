//! The changes of the command line to a sweep.

use anyhow::anyhow;
use valleyscope_engine::quantity::{Budget, OutOfRange, PointCount, Range, Replicates, StepCount};
use valleyscope_engine::sweep::{Adaptive, Quantity, Sampling, SweepSpec};

use crate::cli::{Failure, whole};

#[derive(clap::Args)]
pub(super) struct SweepOverrides {
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
    pub(super) fn with_grid(&self, mut spec: SweepSpec) -> SweepSpec {
        if let Some([rows, columns]) = self.grid {
            (spec.rows.count, spec.columns.count) = (rows, columns);
        }
        spec
    }

    /// Returns the sweep with these changes, checked.
    pub(super) fn of(&self, spec: SweepSpec) -> Result<SweepSpec, Failure> {
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
