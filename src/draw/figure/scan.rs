//! The figure of a scan.

use std::sync::Arc;

use egui::{Color32, Pos2};

use super::page::{COLUMN_MM, Content, Figure, GAP, LEAST_HEIGHT, MARGIN, NARROWEST_PANEL, WIDE};
use crate::draw::canvas::{Canvas, LINE, area};
use crate::draw::map::Swatch;
use crate::draw::scan::ScanPlots;
use crate::draw::svg::FigureMetadata;
use crate::sweep::result::scan::ScanResult;

/// Height over width of the first of several plots below each other, of the others, and of plots side by side.
const ASPECTS: [f32; 3] = [0.66, 0.42, 0.72];

impl Figure {
    /// A figure of the best test loss of each optimizer by batch size, with its deviation over replicates (the paper's
    /// Fig. 2c); where Adam and Signum are among them also the improvement of Signum on Adam in %, with its error, the
    /// line at 0 and dashed lines at ±5 % (Fig. 2d).
    pub fn scan(result: &ScanResult) -> Figure {
        Figure { about: about(result), content: Arc::new(ScanPlots::of(result)), legend: legend(result) }
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

impl Content for ScanPlots {
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

    fn draw_key(&self, canvas: &Canvas, from: Pos2, index: usize, _color: Color32) {
        self.draw_key(canvas, from, self.key() * canvas.style.em, index);
    }
}

impl ScanPlots {
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
