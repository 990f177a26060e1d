//! The scores of diagrams as a table, `phase.csv`.

use std::io;
use std::io::Write;

use valleyscope_engine::setting::Key;
use valleyscope_engine::shares::Shares;
use valleyscope_engine::sweep::{Axis, Diagram, Quantity, SweepSpec};

use crate::export::{CsvCell as Entry, CsvWriter};

/// Writes a row for each pixel of a diagram: the values of the axes, in columns of their names, such as `sharpness` and
/// `noise`; `winner`, empty where there is none; `gap` and `gap_se`, the gap between the winner and its [closest
/// rival](valleyscope_engine::sweep::Comparison::rival), with its standard error; `certainty` of the winner; then for
/// each optimizer, by the spec's metric, `adam_score`, `adam_std`, `adam_best_lr` (the learning rate itself),
/// `adam_diverged`, and the values of its tuned settings, such as `adam_best_beta2`; for a measured diagram
/// `adam_signal`, `adam_noise` and `adam_oscillation`, the shares of Adam's gradients. Unknown values are NaN, or empty
/// for a name or a count.
///
/// A table of several diagrams, which have titles, begins with the title in the column `diagram`, and has the columns of
/// all optimizers. Where the diagrams vary different quantities, the values of the axes are in the columns `row` and
/// `column`.
pub fn write_table(writer: impl Write, diagrams: &[(Option<&str>, &Diagram)]) -> io::Result<()> {
    let optimizers = OptimizerColumns::of(diagrams);
    let is_titled = diagrams.iter().any(|(title, _)| title.is_some());
    let mut header: Vec<String> = is_titled.then(|| "diagram".to_owned()).into_iter().collect();
    header.extend(axis_names(diagrams.iter().map(|(_, diagram)| &**diagram.spec())));
    header.extend(["winner", "gap", "gap_se", "certainty"].map(str::to_owned));
    header.extend(optimizers.iter().flat_map(OptimizerColumns::header));
    let is_measured = diagrams.iter().any(|(_, diagram)| diagram.has_shares());
    header.extend(SHARES.iter().filter(|_| is_measured).map(|name| (*name).to_owned()));
    let mut csv = CsvWriter::new(writer, &header.iter().map(String::as_str).collect::<Vec<_>>())?;
    for (title, diagram) in diagrams {
        let own = column_names(diagram.spec());
        let index = |columns: &OptimizerColumns| own.iter().position(|name| *name == columns.name);
        let columns: Vec<_> = optimizers.iter().map(|columns| (columns, index(columns))).collect();
        write_rows(&mut csv, *title, diagram, &columns, is_measured)?;
    }
    csv.into_inner().flush()
}

/// The columns of the shares.
const SHARES: [&str; 3] = ["adam_signal", "adam_noise", "adam_oscillation"];

struct OptimizerColumns {
    name: String,
    tuned: Vec<Key>,
}

impl OptimizerColumns {
    /// Lists the columns of the optimizers of some diagrams. Optimizers of the same name share columns.
    fn of(diagrams: &[(Option<&str>, &Diagram)]) -> Vec<OptimizerColumns> {
        let mut all: Vec<OptimizerColumns> = Vec::new();
        for (_, diagram) in diagrams {
            for (name, optimizer) in column_names(diagram.spec()).into_iter().zip(&diagram.spec().optimizers) {
                let known = all.iter().position(|columns| columns.name == name);
                if known.is_none() {
                    all.push(OptimizerColumns { name, tuned: Vec::new() });
                }
                let index = known.unwrap_or(all.len() - 1);
                let columns = &mut all[index].tuned;
                let new = optimizer.tune.iter().map(|tuned| tuned.of).filter(|of| !columns.contains(of));
                columns.extend(new.collect::<Vec<_>>());
            }
        }
        all
    }

    fn header(&self) -> impl Iterator<Item = String> {
        let usual = ["score", "std", "best_lr", "diverged"].map(|quantity| format!("{}_{quantity}", self.name));
        usual.into_iter().chain(self.tuned.iter().map(|setting| format!("{}_best_{}", self.name, setting)))
    }
}

/// Writes the rows of a diagram. `columns` are those of each optimizer, with its index in this diagram; none for an
/// optimizer of another.
fn write_rows<W: Write>(
    csv: &mut CsvWriter<W>,
    title: Option<&str>,
    diagram: &Diagram,
    columns: &[(&OptimizerColumns, Option<usize>)],
    is_measured: bool,
) -> io::Result<()> {
    let mut entries = Vec::new();
    for (row, row_value) in diagram.rows().iter().enumerate() {
        for (column, column_value) in diagram.columns().iter().enumerate() {
            entries.clear();
            entries.extend(title.map(Entry::Text));
            entries.extend([Entry::Number(*row_value), Entry::Number(*column_value)]);
            push_pixel(&mut entries, diagram, [row, column], columns);
            if is_measured {
                let shares = diagram.shares([row, column]).unwrap_or(Shares::UNKNOWN);
                entries.extend(shares.to_array().map(Entry::Number));
            }
            csv.row(&entries)?;
        }
    }
    Ok(())
}

fn push_pixel<'d>(
    entries: &mut Vec<Entry<'d>>,
    diagram: &'d Diagram,
    pixel: [usize; 2],
    columns: &[(&OptimizerColumns, Option<usize>)],
) {
    let (spec, nan) = (diagram.spec(), Entry::Number(f64::NAN));
    let cell = diagram.cell(pixel);
    let comparison = cell.map(|cell| cell.comparison(spec.metric));
    let winner = comparison.and_then(|comparison| comparison.winner);
    entries.push(Entry::Text(winner.map_or("", |winner| spec.optimizers[winner].label())));
    let gap = comparison.and_then(|comparison| Some(comparison.gaps[comparison.rival()?.0]));
    entries.extend(gap.map_or([nan, nan], |gap| [Entry::Number(gap.value), Entry::Number(gap.error)]));
    let certainty = comparison.and_then(|comparison| comparison.certainty());
    entries.push(Entry::Number(certainty.unwrap_or(f64::NAN)));
    for (columns, optimizer) in columns {
        let (Some(cell), Some(optimizer)) = (cell, *optimizer) else {
            entries.extend([nan, nan, nan, Entry::Text("")]);
            entries.extend(columns.tuned.iter().map(|_| nan));
            continue;
        };
        let score = cell.score(optimizer, spec.metric);
        entries.extend([
            Entry::Number(score.value),
            Entry::Number(cell.score_deviation(optimizer, spec.metric)),
            Entry::Number(diagram.learning_rate(pixel, optimizer, score.best)),
            Entry::Whole(u64::from(cell.diverged[optimizer])),
        ]);
        let value = |setting: &Key| match spec.optimizers[optimizer].tuned(setting) {
            Some(tuned) if score.value.is_finite() => diagram.tuned_value(optimizer, tuned, score.best),
            _ => f64::NAN,
        };
        entries.extend(columns.tuned.iter().map(|setting| Entry::Number(value(setting))));
    }
}

fn axis_names<'s>(specs: impl Iterator<Item = &'s SweepSpec>) -> [String; 2] {
    let mut all = specs.map(|spec| [axis_name(spec, &spec.rows), axis_name(spec, &spec.columns)]);
    let usual = ["row", "column"].map(str::to_owned);
    match all.next() {
        Some(first) if all.all(|names| names == first) && first[0] != first[1] => first,
        _ => usual,
    }
}

/// Makes the key of the quantity that an axis varies, after the optimizers if it is not varied for all that have it.
fn axis_name(spec: &SweepSpec, axis: &Axis) -> String {
    let name = axis.of.key().to_owned();
    let Quantity::Of(key, ids) = &axis.of else { return name };
    let having = spec.optimizers.iter().zip(column_names(spec)).filter(|(it, _)| it.rule.has_axis(key));
    let (swept, others): (Vec<_>, Vec<_>) = having.partition(|(it, _)| ids.contains(&it.id));
    let swept = swept.into_iter().map(|(_, label)| label + "_").collect::<String>();
    if others.is_empty() { name } else { swept + &name }
}

/// Makes the prefix of each optimizer's columns: its name in lower case, with its id if two are equal.
fn column_names(spec: &SweepSpec) -> Vec<String> {
    let plain = |label: &str| label.to_lowercase().split_whitespace().collect::<Vec<_>>().join("_");
    let names: Vec<String> = spec.optimizers.iter().map(|optimizer| plain(optimizer.label())).collect();
    let unique = names.iter().zip(&spec.optimizers).map(|(name, optimizer)| {
        match names.iter().filter(|other| *other == name).count() {
            1 => name.clone(),
            _ => format!("{name}_{}", optimizer.id),
        }
    });
    unique.collect()
}
