//! The differences between two sweeps, in words.

use valleyscope_engine::landscape::StartPlace;
use valleyscope_engine::optimizer::{changed_words, with_settings};
use valleyscope_engine::parameter::DIMENSION;
use valleyscope_engine::sweep::{Adaptive, Average, Axis, Sampling, Spacing, SweepOptimizer, SweepSpec, Tuned};
use valleyscope_engine::terminal_escape::shortened;
use valleyscope_experiments::preset::{self, Preset, SweepPreset, changed_description, changed_head, with_changes};
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
    add(this.sampling != other.sampling, &|| sampling(this.sampling));
    add(this.metric != other.metric, &|| format!("by {}", this.metric.label(&this.landscape)));
    optimizers(&this.optimizers, &other.optimizers, &mut all);
    all
}

fn sampling(sampling: Sampling) -> String {
    match sampling {
        Sampling::Uniform => "uniform sampling".to_owned(),
        Sampling::Adaptive(Adaptive { certainty, budget, most_replicates }) => format!(
            "adaptive sampling to {} %, at most {} × the steps and {} replicates",
            short(100.0 * certainty.get()),
            short(budget.get()),
            most_replicates.get()
        ),
    }
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
        let is_tuned = |of: &SweepOptimizer, meaning: &str| {
            of.tune.iter().any(|tuned| meaning.split(' ').next() == Some(tuned.of.key()))
        };
        let shown = |of: &SweepOptimizer| {
            let mut shown = of.rule.shown_on_plane();
            // The rule's value of a setting that both tune has no effect.
            shown.retain(|setting| !(is_tuned(this, &setting.meaning) && is_tuned(other, &setting.meaning)));
            shown
        };
        let mut words = changed_words(&shown(this), &shown(other));
        if this.tune != other.tune {
            words.push(grids(&this.tune));
        }
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

/// Describes the grids of tuned settings.
fn grids(tune: &[Tuned]) -> String {
    let grid = |tuned: &Tuned| {
        let (symbol, [from, to]) = (tuned.of.parameter().symbol, [tuned.from, tuned.to].map(short));
        format!("{} {symbol} from {from} to {to}", tuned.count.get())
    };
    match tune {
        [] => "only η tuned".to_owned(),
        tune => tune.iter().map(grid).collect::<Vec<_>>().join(", "),
    }
}

/// Returns a preset whose sweep was changed, with a title and a description made from its settings: of the changes, or of
/// the axes, where these vary other quantities, or other ranges and the title describes the old ones. Both are within a
/// preset's limits of length. Without a change, the preset is returned as it is.
pub fn as_changed(preset: SweepPreset, sweep: SweepSpec) -> SweepPreset {
    if difference(&sweep, &preset.sweep).is_empty() {
        return SweepPreset { sweep, ..preset };
    }
    let Preset::Sweep(preset) = Preset::Sweep(preset).origin() else { unreachable!("the origin is of the same kind") };
    let changes = difference(&sweep, &preset.sweep);
    let [old, new] = [&preset.sweep, &sweep].map(AxesInWords::of);
    let is_of_axes = new.labels != old.labels || (new.ranges != old.ranges && is_made_title(&preset));
    let (title, description) = if is_of_axes {
        (new.title_against(&old), over_axes(&sweep))
    } else {
        (with_changes(&changed_head(&preset.title), &changes), changed_description(&preset.title, &changes))
    };
    let description = shortened(&description, Preset::LONGEST_DESCRIPTION).into_owned();
    SweepPreset { title, description, sweep, ..preset }
}

/// Returns a changed preset, with title and description as [`as_changed`] makes them where these are still those of
/// `before`; others are the user's own and stay.
pub fn as_changed_from(changed: SweepPreset, before: &SweepPreset) -> SweepPreset {
    let own = |word: String, before: &String| Some(word).filter(|word| word != before);
    let own_words = [own(changed.title, &before.title), own(changed.description, &before.description)];
    let mut named = as_changed(before.clone(), changed.sweep);
    for (word, own) in [&mut named.title, &mut named.description].into_iter().zip(own_words) {
        if let Some(own) = own {
            *word = own;
        }
    }
    named
}

/// Describes a sweep by its optimizers and the ranges of its axes, in a sentence.
pub fn over_axes(sweep: &SweepSpec) -> String {
    let names: Vec<&str> = sweep.optimizers.iter().map(SweepOptimizer::label).collect();
    format!("{} over {}.", names.join(", "), AxesInWords::of(sweep).ranges.join(" and "))
}

/// Returns whether the title describes settings, so that it does not suit other ones.
pub fn is_made_title(preset: &SweepPreset) -> bool {
    let AxesInWords { labels: [rows, columns], ranges: [all_rows, all_columns] } = AxesInWords::of(&preset.sweep);
    let pairs = [[&rows, &columns], [&rows, &all_columns], [&all_rows, &columns], [&all_rows, &all_columns]];
    preset::is_made_title(&preset.title) || pairs.into_iter().any(|pair| preset.title == title_of_axes(pair))
}

/// The axes of a diagram in words.
struct AxesInWords {
    /// The quantities of rows and columns.
    labels: [String; 2],
    /// The quantities with their ranges.
    ranges: [String; 2],
}

impl AxesInWords {
    fn of(sweep: &SweepSpec) -> AxesInWords {
        let axes = [&sweep.rows, &sweep.columns];
        AxesInWords { labels: axes.map(|axis| axis_label(sweep, axis)), ranges: axes.map(|axis| range(sweep, axis)) }
    }

    /// Returns the title of a diagram that had other axes before: the quantities, or where these are the same, the ranges
    /// that differ.
    fn title_against(&self, before: &AxesInWords) -> String {
        let has_ranges = self.labels == before.labels;
        let word = |side: usize| match has_ranges && self.ranges[side] != before.ranges[side] {
            true => &self.ranges[side],
            false => &self.labels[side],
        };
        title_of_axes([word(0), word(1)])
    }
}

fn title_of_axes([rows, columns]: [&String; 2]) -> String {
    with_changes("Phase diagram: ", &[format!("{rows} and {columns}")])
}
