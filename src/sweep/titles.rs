//! Titles and labels of sweeps: the differences between them, short titles, and the names of axes.

use valleyscope_engine::landscape::StartPosition;
use valleyscope_engine::optimizer::{axis_info, changed_texts, with_settings};
use valleyscope_engine::setting::{DIMENSION, LEARNING_RATE};
use valleyscope_engine::sweep::{
    Adaptive, Average, Axis, Precision, Quantity, Sampling, Spacing, SweepOptimizer, SweepSpec, Tuned, tuned_info,
};
use valleyscope_engine::terminal_escape::shortened;
use valleyscope_experiments::preset;
use valleyscope_experiments::preset::{
    Preset, SweepPreset, changed_description, changed_head, split_changed, with_changes,
};
use valleyscope_experiments::view::ticks::short;

/// The settings of `this` that differ from `other`; colours, which change no result, are left out.
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
    for texts in of_landscape.into_iter().chain(this.noise.differences(&other.noise, short)) {
        add(true, &|| texts.clone());
    }
    add(this.dimension != other.dimension, &|| DIMENSION.with(this.dimension.get()));
    add(this.start != other.start, &|| {
        let StartPosition { x, y } = this.start();
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
            of.tune.iter().any(|tuned| meaning.split(' ').next() == Some(tuned.of))
        };
        let shown = |of: &SweepOptimizer| {
            let mut shown = of.rule.shown_on_plane();
            // The rule's value of a setting that both tune has no effect.
            shown.retain(|setting| !(is_tuned(this, &setting.meaning) && is_tuned(other, &setting.meaning)));
            shown
        };
        let mut texts = changed_texts(&shown(this), &shown(other));
        if this.tune != other.tune {
            texts.push(grids(&this.tune));
        }
        if this.rule.name() != other.rule.name() {
            all.push(with_settings(&format!("{} → {}", other.rule.name(), this.rule.name()), &texts));
        } else if !texts.is_empty() {
            all.push(format!("{}: {}", this.label(), texts.join(", ")));
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
        let (symbol, [from, to]) = (tuned_info(tuned.of).symbol, [tuned.from, tuned.to].map(short));
        format!("{} {symbol} from {from} to {to}", tuned.count.get())
    };
    match tune {
        [] => "only η tuned".to_owned(),
        tune => tune.iter().map(grid).collect::<Vec<_>>().join(", "),
    }
}

/// A preset whose sweep was changed, with a title and a description made from its settings: of the changes, or of the
/// axes, where these vary other quantities, or other ranges and the title describes the old ones. Both are within a
/// preset's limits of length. Without a change, the preset is returned as it is.
pub fn as_changed(preset: SweepPreset, sweep: SweepSpec) -> SweepPreset {
    if difference(&sweep, &preset.sweep).is_empty() {
        return SweepPreset { sweep, ..preset };
    }
    let Preset::Sweep(preset) = Preset::Sweep(preset).origin() else { unreachable!("the origin is of the same kind") };
    let changes = difference(&sweep, &preset.sweep);
    let [old, new] = [&preset.sweep, &sweep].map(AxisTexts::of);
    let is_of_axes = new.labels != old.labels || (new.ranges != old.ranges && is_made_title(&preset));
    let (title, description) = if is_of_axes {
        (new.title_against(&old), over_axes(&sweep))
    } else {
        (with_changes(&changed_head(&preset.title), &changes), changed_description(&preset.title, &changes))
    };
    let description = shortened(&description, Preset::LONGEST_DESCRIPTION).into_owned();
    SweepPreset { title, description, sweep, ..preset }
}

/// A changed preset, with title and description as [`as_changed`] makes them where these are still those of `before`;
/// others are the user's own and stay.
pub fn as_changed_from(changed: SweepPreset, before: &SweepPreset) -> SweepPreset {
    let made = as_changed(before.clone(), changed.sweep);
    let title = if changed.title == before.title { made.title } else { changed.title };
    let description = if changed.description == before.description { made.description } else { changed.description };
    SweepPreset { title, description, ..made }
}

/// Describes a sweep by its optimizers and the ranges of its axes, in a sentence.
pub fn over_axes(sweep: &SweepSpec) -> String {
    let names: Vec<&str> = sweep.optimizers.iter().map(SweepOptimizer::label).collect();
    format!("{} over {}.", names.join(", "), AxisTexts::of(sweep).ranges.join(" and "))
}

/// Whether the title describes settings, so that it does not suit other ones.
pub fn is_made_title(preset: &SweepPreset) -> bool {
    let AxisTexts { labels: [rows, columns], ranges: [all_rows, all_columns] } = AxisTexts::of(&preset.sweep);
    let pairs = [[&rows, &columns], [&rows, &all_columns], [&all_rows, &columns], [&all_rows, &all_columns]];
    preset::is_made_title(&preset.title) || pairs.into_iter().any(|pair| preset.title == title_of_axes(pair))
}

/// The labels and ranges of the axes of a diagram.
struct AxisTexts {
    /// The quantities of rows and columns.
    labels: [String; 2],
    /// The quantities with their ranges.
    ranges: [String; 2],
}

impl AxisTexts {
    fn of(sweep: &SweepSpec) -> AxisTexts {
        let axes = [&sweep.rows, &sweep.columns];
        AxisTexts { labels: axes.map(|axis| axis_label(sweep, axis)), ranges: axes.map(|axis| range(sweep, axis)) }
    }

    /// The title of a diagram that had other axes before: the quantities, or where these are the same, the ranges that
    /// differ.
    fn title_against(&self, before: &AxisTexts) -> String {
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

/// A diagram that is shown among others, as far as its title depends on it.
#[derive(Clone, Debug)]
pub struct TitledSweep {
    /// The name that the user gave.
    pub name: Option<String>,
    /// The sweep, by the metric that is shown, with its title.
    pub preset: SweepPreset,
    pub precision: Precision,
}

/// The titles of diagrams that are shown together. A diagram has the name that the user gave it. Without one, it has
/// the title of its preset, if the titles of all differ. Otherwise it has its optimizers and the settings that differ.
pub fn short_titles(diagrams: &[TitledSweep]) -> Vec<String> {
    let unnamed = diagrams.iter().filter(|diagram| diagram.name.is_none());
    let parts: Vec<[&str; 2]> = unnamed.map(|diagram| head_and_changes(&diagram.preset.title)).collect();
    let is_own = |index: usize| {
        let is_distinct = (0..index).all(|other| parts[other][0] != parts[index][0]);
        is_distinct && parts[index][1] == parts[0][1]
    };
    let have_own = (0..parts.len()).all(is_own);
    let titles = |texts: fn(&[String]) -> String| -> Vec<String> {
        let title = |(index, TitledSweep { name, preset, .. }): (usize, &TitledSweep)| {
            let others = diagrams.iter().enumerate().filter(|(other, _)| *other != index);
            let settings = || settings_among(&diagrams[index], &others.map(|(_, other)| other).collect::<Vec<_>>());
            match name {
                Some(name) => name.clone(),
                None if have_own => head_and_changes(&preset.title)[0].to_owned(),
                None => Some(settings()).filter(|all| !all.is_empty()).map_or(preset.title.clone(), |all| texts(&all)),
            }
        };
        diagrams.iter().enumerate().map(title).collect()
    };
    let short = titles(in_short);
    let is_distinct = (1..short.len()).all(|index| !short[..index].contains(&short[index]));
    if is_distinct { short } else { titles(|all| all.join(", ")) }
}

/// Formats the first of several settings, and the number of others.
pub fn in_short(all: &[String]) -> String {
    const MOST: usize = 3;
    match all.len() {
        count if count <= MOST => all.join(", "),
        count => format!("{} and {} more", all[..MOST].join(", "), count - MOST),
    }
}

/// Splits the title of a changed preset into that of the preset and the changes.
fn head_and_changes(title: &str) -> [&str; 2] {
    split_changed(title).map_or([title, ""], |(head, changes)| [head, changes])
}

/// The settings that distinguish a sweep from others in the same figure: its optimizers where their names differ, its
/// precision, and the settings that differ.
pub fn settings_among(this: &TitledSweep, others: &[&TitledSweep]) -> Vec<String> {
    let sweep = &this.preset.sweep;
    let names = sweep.shown_names();
    let mut settings: Vec<String> = Vec::new();
    if others.iter().any(|other| other.preset.sweep.shown_names() != names) {
        settings.push(names.join(", "));
    }
    if others.iter().any(|other| other.precision != this.precision) {
        settings.push(this.precision.name().to_owned());
    }
    for other in others {
        let mut other: SweepSpec = other.preset.sweep.clone();
        if other.shown_names() != names {
            other.optimizers = sweep.optimizers.clone();
        }
        for setting in difference(sweep, &other) {
            if !settings.contains(&setting) {
                settings.push(setting);
            }
        }
    }
    settings
}

/// The label of an axis: the quantity with its symbol, and the optimizers where it is varied for only some of those
/// that have it.
pub fn axis_label(spec: &SweepSpec, axis: &Axis) -> String {
    match &axis.of {
        Quantity::Of(key, ids) => {
            let name = hyperparameter_label(key);
            let having = || spec.optimizers.iter().filter(|optimizer| optimizer.rule.has_axis(key));
            if having().all(|optimizer| ids.contains(&optimizer.id)) {
                return name;
            }
            let labels = having().filter(|optimizer| ids.contains(&optimizer.id)).map(|optimizer| optimizer.label());
            format!("{name} of {}", labels.collect::<Vec<_>>().join(", "))
        }
        of => of.info(&spec.landscape).axis_label(),
    }
}

/// A label such as `decay rate β₁` or `weight decay ω`.
fn hyperparameter_label(key: &str) -> String {
    match axis_info(key).unwrap_or(&LEARNING_RATE) {
        of if of.is_decay_rate() => format!("decay rate {}", of.symbol),
        of => of.axis_label(),
    }
}

/// Describes the hyperparameters that an axis varies: one name may have different meanings in different rules, such
/// as β₂, the decay rate of averages of parameters in FOCUS and of squares in Adam.
pub fn axis_meanings(spec: &SweepSpec, axis: &Axis) -> Option<String> {
    let Quantity::Of(key, ids) = &axis.of else { return None };
    let mut meanings: Vec<(&str, Vec<&str>)> = Vec::new();
    for optimizer in spec.optimizers.iter().filter(|optimizer| ids.contains(&optimizer.id)) {
        let Some(of) = optimizer.rule.hyperparameter(key) else { continue };
        match meanings.iter_mut().find(|(label, _)| *label == of.label) {
            Some((_, labels)) => labels.push(optimizer.label()),
            None => meanings.push((of.label, vec![optimizer.label()])),
        }
    }
    let texts = meanings.iter().map(|(label, labels)| format!("{label} in {}", labels.join(", ")));
    (!meanings.is_empty()).then(|| format!("{}.", texts.collect::<Vec<_>>().join("; ")))
}
