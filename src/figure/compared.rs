//! Figures of several diagrams side by side, and letters that mark winners without colours.

use valleyscope_engine::sweep::{Diagram, Metric, SweepSpec};

use super::color_bar::ColorBar;
use super::map::{Map, MapColors, UNKNOWN, shared_optimizers};
use super::regions::Letters;
use super::rows::Row;
use super::{Content, Figure, FigureMetadata};
use crate::result::SweepResult;

/// The largest number of maps in a row.
const MOST_IN_A_ROW: usize = 3;

/// A diagram that is shown beside others.
pub struct Compared<'a> {
    pub result: &'a SweepResult,
    /// The title above its map.
    pub title: String,
    pub metric: Metric,
}

impl Figure {
    /// Returns a figure of the same map of several diagrams, with one legend and one colour scale, which is by the metric
    /// of the first. `map` is that of the diagram at the index `of`; the others show the optimizers of the same names, or
    /// in the same places.
    pub fn compared(diagrams: &[Compared<'_>], map: Map, of: usize) -> Figure {
        let all: Vec<&Diagram> = diagrams.iter().map(|compared| &compared.result.diagram).collect();
        let maps: Vec<Map> = all.iter().map(|diagram| map.carried_over(all[of].spec(), diagram)).collect();
        let specs: Vec<&SweepSpec> = all.iter().map(|diagram| &**diagram.spec()).collect();
        let metric = diagrams.first().map(|first| first.metric).unwrap_or_default();
        let scale = map.shared_scale(&all, metric);
        let per_row = if all.len() == 4 { 2 } else { MOST_IN_A_ROW };
        let (mut rows, mut legend): (Vec<Row>, _) = (Vec::new(), Vec::new());
        for (index, (compared, winners)) in diagrams.iter().zip(shared_optimizers(&specs)).enumerate() {
            if index % per_row == 0 {
                rows.push(Row::default());
            }
            let (diagram, map) = (all[index], maps[index]);
            let title = match map.subject(diagram) {
                Some(subject) => format!("{}: {subject}", compared.title),
                None => compared.title.clone(),
            };
            let colors = MapColors { winners, scale: scale.clone(), unknown: UNKNOWN };
            if let Some(row) = rows.last_mut() {
                row.add_in(diagram, map, compared.metric, &colors, Some(title), &mut legend);
            }
        }
        if let (Some(row), Some(scale), Some(first)) = (rows.first_mut(), scale, all.first()) {
            row.bar = Some(ColorBar { scale, label: map.quantity(&first.spec().landscape, metric) });
        }
        // Notes stand behind the colours that they explain.
        legend.sort_by_key(|swatch| swatch.color.is_none());
        let results: Vec<&SweepResult> = diagrams.iter().map(|compared| compared.result).collect();
        Figure { about: FigureMetadata::of(&results), content: Content::Maps(rows), legend }
    }

    /// Returns the figure with borders around the regions of winners, and a letter in each region that the legend
    /// explains: for readers who see the colours differently, and for prints in grey. Other figures stay as they are.
    pub fn with_letters(mut self) -> Figure {
        let Content::Maps(rows) = &mut self.content else { return self };
        let letters = Letters::of(rows.iter().flat_map(Row::optimizers));
        rows.iter_mut().for_each(|row| row.set_letters(&letters));
        letters.explain(&mut self.legend);
        if rows.iter().any(Row::has_specks) {
            self.legend.push(Letters::note_of_specks());
        }
        self
    }
}
