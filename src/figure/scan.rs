//! The figure of a scan: best test loss by batch size, and the improvement of Signum on Adam.

use super::map::Swatch;
use super::plot::{Measured, Plot, Plots, Series, Vertical};
use super::{Content, Figure, FigureMetadata};
use crate::result::scan::{NEGLIGIBLE, ScanResult};

const PERCENT: f64 = 100.0;

impl Figure {
    /// Returns a figure of the best test loss of each optimizer by batch size, with its deviation over replicates (the
    /// paper's Fig. 2c); where Adam and Signum are among them also the improvement of Signum on Adam in %, with its
    /// error, the line at 0 and dashed lines at ±5 % (Fig. 2d).
    pub fn scan(result: &ScanResult) -> Figure {
        let axes = &result.axes;
        let mut order: Vec<usize> = (0..axes.batch_sizes.len()).collect();
        order.sort_by_key(|index| axes.batch_sizes[*index]);
        let mut plots = vec![losses(result, &order)];
        plots.extend(improvement(result, &order));
        let sizes = order.iter().map(|index| axes.batch_sizes[*index]);
        let places = sizes.map(|size| ((size as f64).log2(), size.to_string())).collect();
        Figure {
            about: about(result),
            content: Content::Plots(Plots { label: "batch size".to_owned(), places, plots }),
            legend: legend(result),
        }
    }
}

fn losses(result: &ScanResult, order: &[usize]) -> Plot {
    let series = result.colors.iter().zip(&result.markers).enumerate().map(|(index, (color, marker))| {
        let points = order.iter().map(|size| {
            let score = result.scores.get(index, *size)?;
            let is_ringed = result.edge(index, *size).is_some();
            Some(Measured { value: score.mean, error: score.deviation, is_ringed })
        });
        let points = points.collect();
        Series { color: *color, marker: *marker, points }
    });
    Plot { title: None, label: "best test loss".to_owned(), vertical: Vertical::Log, series: series.collect() }
}

fn improvement(result: &ScanResult, order: &[usize]) -> Option<Plot> {
    let [adam, signum] = result.adam_and_signum()?;
    let improvements = result.scores.improvements(adam, signum);
    let points = order.iter().map(|size| {
        let improvement = improvements[*size]?;
        Some(Measured { value: PERCENT * improvement.value, error: PERCENT * improvement.error, is_ringed: false })
    });
    let names = [signum, adam].map(|index| result.axes.optimizers[index].as_str());
    let around = PERCENT * NEGLIGIBLE;
    Some(Plot {
        title: Some(format!("{} over {} (dashed: ±{around} %)", names[0], names[1])),
        label: "improvement (%)".to_owned(),
        vertical: Vertical::Linear { guides: vec![(0.0, false), (around, true), (-around, true)] },
        series: vec![Series { color: result.colors[signum], marker: result.markers[signum], points: points.collect() }],
    })
}

fn legend(result: &ScanResult) -> Vec<Swatch> {
    let names = result.axes.optimizers.iter().zip(&result.colors);
    let mut legend: Vec<Swatch> =
        names.map(|(name, color)| Swatch { color: Some(*color), text: name.clone() }).collect();
    let mut note = |text: String| legend.push(Swatch { color: None, text });
    let (known, all) = (result.known() as u64, result.axes.grid_points());
    if known < all {
        note(format!("so far {known} of {all} points"));
    }
    if result.is_synthetic {
        note(result.data.clone());
    }
    for (edge, _) in result.edges() {
        let sentence = format!("ringed: best η {}", edge.sentence("the learning rates"));
        // Two lines where one has no room for it.
        sentence.splitn(2, ", ").for_each(|part| note(part.to_owned()));
    }
    legend
}

fn about(result: &ScanResult) -> FigureMetadata {
    let parts = [result.program(), result.data.clone()];
    let program = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ");
    FigureMetadata { title: result.title.clone(), programs: vec![program], specs: vec![result.spec.clone()] }
}
