//! The differences between two sweeps, in words.

use valleyscope_engine::landscape::StartPlace;
use valleyscope_engine::optimizer::{changed_words, with_settings};
use valleyscope_engine::parameter::DIMENSION;
use valleyscope_engine::sweep::{Average, Axis, Spacing, SweepOptimizer, SweepSpec};
use valleyscope_experiments::preset::{SweepPreset, changed_description, with_changes};
use valleyscope_experiments::view::ticks::short;

use super::labels::axis_label;

/// Returns the settings of `this` that differ from `other`; colours, which change no result, are left out.
pub fn difference(this: &SweepSpec, other: &SweepSpec) -> Vec<String> {
    let mut all = Vec::new();
    let mut add = |differs: bool, text: &dyn Fn() -> String| {
        if differs {
            all.push(text());
        }
    };
    for (name, axis, of_other) in [("rows", &this.rows, &other.rows), ("columns", &this.columns, &other.columns)] {
        let same_size = Axis { count: of_other.count, ..axis.clone() };
        add(same_size != *of_other, &|| {
            let spacing = match axis.spacing {
                _ if axis.spacing == of_other.spacing => "",
                Spacing::Linear => ", linear",
                Spacing::Log => ", logarithmic",
                Spacing::LogComplement => ", logarithmic in 1 − x",
            };
            format!("{name} of {}{spacing}", range(this, axis))
        });
    }
    add(this.shape() != other.shape(), &|| {
        let [rows, columns] = this.shape();
        format!("{rows} × {}", counted(columns, "pixel"))
    });
    let of_landscape = this.landscape.differences(&other.landscape, short);
    for words in of_landscape.into_iter().chain(this.noise.differences(&other.noise, short)) {
        add(true, &|| words.clone());
    }
    add(this.dimension != other.dimension, &|| DIMENSION.with(this.dimension.get()));
    add(this.start != other.start, &|| {
        let StartPlace { x, y } = this.start();
        format!("start at ({}, {})", short(x.get()), short(y.get()))
    });
    add(this.start_spread != other.start_spread, &|| format!("starts within {}", short(this.start_spread.get())));
    add(this.steps != other.steps, &|| counted(this.steps.get(), "step"));
    add(this.replicates != other.replicates, &|| counted(this.replicates.get(), "replicate"));
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
    add(this.metric != other.metric, &|| format!("by {}", this.metric.label(&this.landscape)));
    optimizers(&this.optimizers, &other.optimizers, &mut all);
    all
}

fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
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
        let words = changed_words(&this.rule.shown_on_plane(), &other.rule.shown_on_plane());
        if this.rule.name() != other.rule.name() {
            all.push(with_settings(&format!("{} → {}", other.rule.name(), this.rule.name()), &words));
        } else if !words.is_empty() {
            all.push(format!("{}: {}", this.label(), words.join(", ")));
        } else if this.rule != other.rule {
            all.push(format!("another rule of {}", this.label()));
        } else if this.learning_rates != other.learning_rates {
            all.push(format!("other learning rates of {}", this.label()));
        } else if this.schedule != other.schedule {
            all.push(format!("another schedule of the learning rate of {}", this.label()));
        } else if this.name != other.name {
            all.push(format!("another name of {}", this.label()));
        }
    }
}

/// Returns a preset whose sweep was changed, with a title and a description of the changes: the settings that differ,
/// or, where an axis varies another quantity, the axes. Both are within a preset's limits of length. Without a change,
/// the preset is returned as it is.
pub fn as_changed(preset: SweepPreset, sweep: SweepSpec) -> SweepPreset {
    let changes = difference(&sweep, &preset.sweep);
    if changes.is_empty() {
        return SweepPreset { sweep, ..preset };
    }
    let axes = |sweep: &SweepSpec| [&sweep.rows, &sweep.columns].map(|axis| axis_label(sweep, axis));
    let [rows, columns] = axes(&sweep);
    let title = if axes(&preset.sweep) == [rows.as_str(), columns.as_str()] {
        with_changes(&format!("{}, changed: ", preset.title), &changes)
    } else {
        with_changes("Phase diagram: ", &[format!("{rows} and {columns}")])
    };
    SweepPreset { title, description: changed_description(&preset.title, &changes), sweep, ..preset }
}
