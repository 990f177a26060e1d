//! Writing the scores of a diagram to `phase.csv`.

use std::io::{self, Write};

use valleyscope_engine::sweep::{Diagram, SweepSpec};

use crate::export::{CsvCell as Entry, CsvWriter};

/// Writes a row for each pixel: the values of the axes as `row` and `col`; `winner`, empty where there is none; `gap`
/// and `gap_se`, the gap between the winner and the rival that is the fewest standard errors behind, with its standard
/// error; then `adam_score`, `adam_std`, `adam_best_lr` (the learning rate itself) and `adam_diverged` of each
/// optimizer, by the spec's metric. Unknown values are NaN, or empty for a name or a count.
pub fn write_table(writer: impl Write, diagram: &Diagram) -> io::Result<()> {
    let spec = diagram.spec();
    let names = column_names(spec);
    let mut header: Vec<String> = ["row", "col", "winner", "gap", "gap_se"].map(str::to_owned).to_vec();
    for name in &names {
        header.extend(["score", "std", "best_lr", "diverged"].map(|quantity| format!("{name}_{quantity}")));
    }
    let mut csv = CsvWriter::new(writer, &header.iter().map(String::as_str).collect::<Vec<_>>())?;
    let mut entries = Vec::with_capacity(header.len());
    for (row, row_value) in diagram.rows().iter().enumerate() {
        for (column, column_value) in diagram.columns().iter().enumerate() {
            entries.clear();
            entries.extend([Entry::Number(*row_value), Entry::Number(*column_value)]);
            push_pixel(&mut entries, diagram, [row, column]);
            csv.row(&entries)?;
        }
    }
    csv.into_inner().flush()
}

fn push_pixel<'d>(entries: &mut Vec<Entry<'d>>, diagram: &'d Diagram, pixel: [usize; 2]) {
    let (spec, nan) = (diagram.spec(), Entry::Number(f64::NAN));
    let Some(cell) = diagram.cell(pixel) else {
        entries.extend([Entry::Text(""), nan, nan]);
        for _ in &spec.optimizers {
            entries.extend([nan, nan, nan, Entry::Text("")]);
        }
        return;
    };
    let comparison = cell.comparison(spec.metric);
    entries.push(Entry::Text(comparison.winner.map_or("", |winner| spec.optimizers[winner].label())));
    let gap = comparison.rival().map(|(rival, _)| comparison.gaps[rival]);
    entries.extend(gap.map_or([nan, nan], |gap| [Entry::Number(gap.value), Entry::Number(gap.error)]));
    for optimizer in 0..spec.optimizers.len() {
        let score = cell.score(optimizer, spec.metric);
        entries.extend([
            Entry::Number(score.value),
            Entry::Number(cell.score_deviation(optimizer, spec.metric)),
            Entry::Number(diagram.learning_rate(pixel, optimizer, score.best_rate)),
            Entry::Whole(u64::from(cell.diverged[optimizer])),
        ]);
    }
}

/// Returns the prefix of each optimizer's columns: its name in lower case, with its id where two are equal.
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
