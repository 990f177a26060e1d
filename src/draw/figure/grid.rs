//! The figure of a grid of trainings.

use std::sync::Arc;

use egui::{Color32, Pos2};

use super::page::{COLUMN_MM, Content, Figure, GAP, KEY, LEAST_HEIGHT, MARGIN, NARROWEST_PANEL, PAGE_MM, WIDE};
use crate::draw::canvas::{Canvas, LINE, area};
use crate::draw::grid_plots::GridPlots;
use crate::draw::map::Swatch;
use crate::draw::parallel::ParallelAxes;
use crate::draw::svg::{CREATOR, FigureMetadata};
use crate::runs::{GridCurve, GridResult};

/// Height over width of the first of several plots below each other, of the others, and of plots side by side.
const ASPECTS: [f32; 3] = [0.66, 0.42, 0.72];

impl Figure {
    /// A figure of the results of a grid over its horizontal axis: a curve for each combination of other settings, with
    /// bands of the standard error over seeds, and rings at the best points. Where Adam and Signum are among them, also
    /// the improvement of Signum on Adam in %, with its error, the line at 0 and dashed lines at ±5 % (Fig. 2c and d).
    pub fn grid(result: &GridResult, specs: Vec<String>) -> Figure {
        let programs = vec![CREATOR.to_owned()];
        let about = FigureMetadata { title: result.title.clone(), programs, specs };
        Figure { about, content: Arc::new(GridPlots::of(result)), legend: legend(result) }
    }
}

impl Figure {
    /// A figure of a grid with an axis for each setting that varies and one for the result, and a line for each
    /// combination, whose colour shows the result. The best line is thick.
    pub fn parallel(result: &GridResult, specs: Vec<String>) -> Figure {
        let Figure { about, .. } = Figure::grid(result, specs);
        let diverged = result.rows.iter().filter(|(_, result)| !result.mean.is_finite()).count();
        let note = |text: String| Swatch { color: None, text };
        let without = (diverged > 0).then(|| note(format!("without {diverged} combinations that diverged")));
        let legend = [note("the thick line is the best".to_owned())].into_iter().chain(without).collect();
        Figure { about, content: Arc::new(ParallelAxes::of(result)), legend }
    }
}

impl Content for ParallelAxes {
    fn draw(&self, canvas: &Canvas, y: f32, inner: f32) -> Option<f32> {
        let em = canvas.style.em;
        let height = (0.45 * inner).max(LEAST_HEIGHT * em);
        let [left, right] = self.margins(canvas, height);
        let width = inner - left - right;
        let panel = area(MARGIN * em + left, y, width, height);
        self.draw(canvas, panel);
        (width >= NARROWEST_PANEL * em).then_some(panel.bottom() + 0.5 * em)
    }

    fn usual_width_mm(&self) -> f64 {
        PAGE_MM
    }
}

/// The arrangement of the plots.
struct Arrangement {
    columns: usize,
    /// The width from the left end of a plot's share to its frame.
    left: f32,
    /// The distance between the left ends of neighbouring plots' shares.
    stride: f32,
    width: f32,
}

impl Content for GridPlots {
    fn draw(&self, canvas: &Canvas, mut y: f32, inner: f32) -> Option<f32> {
        let em = canvas.style.em;
        let Arrangement { columns, left, stride, width } = self.arrange(canvas, inner)?;
        let mut end = y;
        for index in 0..self.plots.len() {
            let (below, column) = (index / columns, index % columns);
            if column == 0 && below > 0 {
                y = end;
            }
            let top = y + if self.is_titled(below, columns) { 1.2 * LINE * em } else { 0.4 * em };
            let x = MARGIN * em + column as f32 * stride + left;
            let panel = area(x, top, width, self.height(index, columns, width, em));
            let is_lowest = index + columns >= self.plots.len();
            end = self.draw_plot(canvas, index, panel, left, is_lowest);
        }
        Some(end)
    }

    fn usual_width_mm(&self) -> f64 {
        COLUMN_MM
    }

    fn key(&self) -> f32 {
        KEY
    }

    fn draw_key(&self, canvas: &Canvas, from: Pos2, index: usize, _color: Color32) {
        self.draw_key(canvas, from, KEY * canvas.style.em, index);
    }
}

impl GridPlots {
    fn height(&self, index: usize, columns: usize, width: f32, em: f32) -> f32 {
        let aspect = if columns > 1 { ASPECTS[2] } else { ASPECTS[index.min(1)] };
        (aspect * width).max(LEAST_HEIGHT * em)
    }

    fn is_titled(&self, row: usize, columns: usize) -> bool {
        self.plots.iter().skip(row * columns).take(columns).any(|plot| plot.title.is_some())
    }

    fn arrange(&self, canvas: &Canvas, inner: f32) -> Option<Arrangement> {
        let em = canvas.style.em;
        let columns = if inner >= WIDE * em { self.plots.len().max(1) } else { 1 };
        let gap = GAP * em;
        let share = (inner - (columns - 1) as f32 * gap) / columns as f32;
        let right = 0.3 * em + self.overhang(canvas, share);
        let mut width = 0.8 * share;
        let mut left = 0.0;
        // Labels depend on the size, and the size on the labels.
        for _ in 0..2 {
            let plots = self.plots.iter().enumerate();
            let gutters = plots.map(|(index, plot)| plot.gutter(canvas, self.height(index, columns, width, em)));
            left = gutters.fold(0.0, f32::max);
            width = share - left - right;
        }
        (width >= NARROWEST_PANEL * em).then_some(Arrangement { columns, left, stride: share + gap, width })
    }

    /// The length by which the last tick's label extends beyond a frame that is somewhat narrower than this.
    fn overhang(&self, canvas: &Canvas, width: f32) -> f32 {
        let Some((_, label)) = self.ticks.last() else { return 0.0 };
        let inside = (1.0 - self.position(self.ticks.len() - 1)) as f32 * 0.7 * width;
        (canvas.width(label) / 2.0 - inside).max(0.0)
    }
}

fn legend(result: &GridResult) -> Vec<Swatch> {
    let curve = |curve: &GridCurve| Swatch { color: Some(curve.color), text: curve.name.clone() };
    let mut legend: Vec<Swatch> = result.curves.iter().map(curve).collect();
    let mut note = |text: String| legend.push(Swatch { color: None, text });
    let [finished, all] = result.counts;
    if finished < all {
        note(format!("so far {finished} of {all} trainings"));
    }
    if let Some(data) = &result.synthetic {
        note(data.clone());
    }
    if let Some(column) = &result.best_over {
        note(format!("with the best {}", column.word()));
    }
    if !result.remarks.is_empty() {
        note("≤ ≥: the best is at the edge of those tried".to_owned());
    }
    legend
}
