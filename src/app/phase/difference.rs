//! What tells two diagrams apart, in words.

use super::looks::METRICS;
use crate::figure::axis_label;
use crate::sweep::{Average, Axis, SweepOptimizer, SweepSpec};
use crate::view::ticks::short;

/// What is different in `this` from `other`, as it is in `this`.
pub fn difference(this: &SweepSpec, other: &SweepSpec) -> Vec<String> {
    let mut all = Vec::new();
    let mut add = |differs: bool, text: &dyn Fn() -> String| {
        if differs {
            all.push(text());
        }
    };
    for (name, axis, of_other) in [("rows", &this.rows, &other.rows), ("columns", &this.columns, &other.columns)] {
        let same_size = Axis { count: of_other.count, ..axis.clone() };
        add(same_size != *of_other, &|| format!("{name} of {}", range(this, axis)));
    }
    add(this.shape() != other.shape(), &|| {
        let [rows, columns] = this.shape();
        format!("{rows} × {columns} pixels")
    });
    let (here, there) = (&this.landscape, &other.landscape);
    add(here.sharpness != there.sharpness, &|| format!("a = {}", short(here.sharpness.get())));
    add(here.slope != there.slope, &|| format!("c = {}", short(here.slope.get())));
    add(here.rotation_degrees != there.rotation_degrees, &|| format!("φ = {}°", short(here.rotation_degrees.get())));
    add(this.noise != other.noise, &|| format!("σ = {}", short(this.noise.get())));
    add(this.dimension != other.dimension, &|| format!("d = {}", this.dimension.get()));
    add(this.start_spread != other.start_spread, &|| format!("starts within {}", short(this.start_spread.get())));
    add(this.steps != other.steps, &|| format!("{} steps", this.steps.get()));
    add(this.replicates != other.replicates, &|| format!("{} replicates", this.replicates.get()));
    add(this.seed != other.seed, &|| format!("seed {}", this.seed));
    add(this.common_random_numbers != other.common_random_numbers, &|| {
        let numbers = if this.common_random_numbers { "common" } else { "independent" };
        format!("{numbers} random numbers")
    });
    add(this.average != other.average, &|| {
        let average = match this.average {
            Average::Mean => "mean",
            Average::Median => "median",
        };
        format!("{average} over replicates")
    });
    add(this.metric != other.metric, &|| {
        let (_, metric) = METRICS[this.metric as usize];
        format!("by {metric}")
    });
    optimizers(&this.optimizers, &other.optimizers, &mut all);
    all
}

fn range(spec: &SweepSpec, axis: &Axis) -> String {
    format!("{} from {} to {}", axis_label(spec, axis), short(axis.from), short(axis.to))
}

fn optimizers(these: &[SweepOptimizer], others: &[SweepOptimizer], all: &mut Vec<String>) {
    if these.iter().map(|it| it.id).ne(others.iter().map(|it| it.id)) {
        let labels: Vec<&str> = these.iter().map(SweepOptimizer::label).collect();
        all.push(labels.join(", "));
        return;
    }
    for (this, other) in these.iter().zip(others) {
        if this.rule != other.rule {
            all.push(format!("another rule of {}", this.label()));
        } else if this.learning_rates != other.learning_rates {
            all.push(format!("other learning rates of {}", this.label()));
        } else if this != other {
            all.push(format!("another name or colour of {}", this.label()));
        }
    }
}
