//! A figure: its content, and the title and the legend around it.

use std::fmt::Debug;
use std::sync::Arc;

use egui::{Align, Color32, Pos2, Stroke, StrokeKind, pos2, vec2};
use valleyscope_experiments::view::Background;

use crate::draw::canvas::{Canvas, LINE, Style, area, rgb};
use crate::draw::map::Swatch;
use crate::draw::svg::{FigureError, FigureMetadata, POINTS_PER_MM, Svg};

/// The layout options of a figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    pub width_mm: f64,
    /// The font size in points.
    pub font_size: f64,
    /// Whether the title is drawn above the figure.
    pub title: bool,
    pub background: Background,
}

/// The width of a column of a journal.
pub const COLUMN_MM: f64 = 85.0;
/// The width of a page of a journal.
pub const PAGE_MM: f64 = 180.0;

impl Default for Options {
    fn default() -> Self {
        Options { width_mm: COLUMN_MM, font_size: 8.0, title: false, background: Background::Light }
    }
}

// Lengths in font sizes.
/// The margin around a figure.
pub(super) const MARGIN: f32 = 0.5;
/// The gap between plots beside each other.
pub(super) const GAP: f32 = 1.2;
pub(super) const NARROWEST_PANEL: f32 = 5.0;
/// The smallest height of a plot, so that its label has room.
pub(super) const LEAST_HEIGHT: f32 = 8.0;
/// The width from which plots are side by side.
pub(super) const WIDE: f32 = 46.0;
/// The side of a swatch in a legend, and the width of a line's key.
const SWATCH: f32 = 0.9;
pub(super) const KEY: f32 = 2.2;

/// The content of a figure.
pub(super) trait Content: Debug + Send + Sync {
    /// Draws the content from `y` downwards into a width. Returns its lower end; `None` where there is no room for it.
    fn draw(&self, canvas: &Canvas, y: f32, inner: f32) -> Option<f32>;

    /// The width for which the content is made.
    fn usual_width_mm(&self) -> f64;

    /// The width of a key in the legend, in font sizes.
    fn key(&self) -> f32 {
        SWATCH
    }

    /// Draws the key of the legend's entry with this index, in its colour, from a point to the right: a filled square with
    /// a thin frame.
    fn draw_key(&self, canvas: &Canvas, from: Pos2, _index: usize, color: Color32) {
        let side = SWATCH * canvas.style.em;
        let square = area(from.x, from.y - side / 2.0, side, side);
        canvas.painter.rect(square, 0.0, color, Stroke::new(0.3, canvas.style.text), StrokeKind::Middle);
    }

    /// Whether the legend's entry with this index has its name at the end of a curve instead.
    fn is_named(&self, _canvas: &Canvas, _inner: f32, _index: usize) -> bool {
        false
    }

    /// The content with a marked point; `None` where it has none.
    fn with_point(&self, _point: [f64; 2]) -> Option<Arc<dyn Content>> {
        None
    }

    /// The content with letters, which the legend explains; `None` where it has none.
    fn with_letters(&self, _legend: &mut Vec<Swatch>) -> Option<Arc<dyn Content>> {
        None
    }
}

/// Maps of one or more diagrams, plots, curves, or a landscape.
#[derive(Clone, Debug)]
pub struct Figure {
    pub(super) about: FigureMetadata,
    pub(super) content: Arc<dyn Content>,
    pub(super) legend: Vec<Swatch>,
}

impl Figure {
    /// The default width: a journal's column for one map, one plot of curves or plots of a grid, its page for several
    /// maps or plots of curves side by side or a landscape.
    pub fn usual_width_mm(&self) -> f64 {
        self.content.usual_width_mm()
    }

    /// The figure with a point on its maps: its values on the horizontal and on the vertical axis. A point outside of
    /// the axes is not drawn.
    pub fn with_point(mut self, point: [f64; 2]) -> Figure {
        self.content = self.content.with_point(point).unwrap_or(self.content);
        self
    }

    /// The figure with borders around the regions of winners, and a letter in each region that the legend explains: for
    /// readers who see the colours differently, and for prints in grey. Other figures stay as they are.
    pub fn with_letters(mut self) -> Figure {
        self.content = self.content.with_letters(&mut self.legend).unwrap_or(self.content);
        self
    }

    /// The figure with another title.
    pub fn titled(mut self, title: &str) -> Figure {
        title.clone_into(&mut self.about.title);
        self
    }

    /// Lays the figure out and draws it.
    pub fn render(&self, options: &Options) -> Result<Svg, FigureError> {
        let Options { width_mm, font_size, title, background } = *options;
        let range = |name, value: f64, low: f64, high: f64| match (low..=high).contains(&value) {
            true => Ok(()),
            false => Err(FigureError::OutOfRange { name, expected: format!("from {low} to {high}"), found: value }),
        };
        range("width_mm", width_mm, 20.0, 2000.0)?;
        range("font_size", font_size, 3.0, 72.0)?;
        let (width, em) = ((width_mm * POINTS_PER_MM) as f32, font_size as f32);
        Svg::drawn(self.about.clone(), width_mm, Style::of_figure(em, background), |canvas| {
            let inner = width - 2.0 * MARGIN * em;
            let mut y = MARGIN * em;
            if title {
                for line in canvas.wrapped(&self.about.title, inner) {
                    let middle = pos2(width / 2.0, y + 0.5 * LINE * em);
                    canvas.text_within(middle, Align::Center, inner, &line);
                    y += LINE * em;
                }
                y += 0.4 * em;
            }
            let end = self.content.draw(canvas, y, inner);
            let end = end.ok_or(FigureError::TooNarrow { width_mm, font_size })?;
            Ok(self.draw_legend(canvas, end, inner) + MARGIN * em)
        })
    }

    /// Draws keys with their names in centred lines. Returns the lower end.
    fn draw_legend(&self, canvas: &Canvas, mut y: f32, inner: f32) -> f32 {
        let em = canvas.style.em;
        let (gap, end) = (1.1 * em, MARGIN * em + inner);
        let unnamed = |(index, _): &(usize, &Swatch)| !self.content.is_named(canvas, inner, *index);
        let entries = self.legend.iter().enumerate().filter(unnamed).map(|entry| {
            let before = if entry.1.color.is_some() { (self.content.key() + 0.4) * em } else { 0.0 };
            (entry, before, (before + canvas.width(&entry.1.text)).min(inner))
        });
        let mut lines: Vec<(f32, Vec<_>)> = Vec::new();
        for entry in entries {
            match lines.last_mut() {
                Some((taken, line)) if *taken + gap + entry.2 <= inner => {
                    *taken += gap + entry.2;
                    line.push(entry);
                }
                _ => lines.push((entry.2, vec![entry])),
            }
        }
        y += if lines.is_empty() { 0.0 } else { 0.5 * em };
        for (taken, line) in lines {
            let mut at = pos2(MARGIN * em + (inner - taken).max(0.0) / 2.0, y + 0.5 * LINE * em);
            for ((index, swatch), before, width) in line {
                if let Some(color) = swatch.color {
                    self.content.draw_key(canvas, at, index, rgb(color));
                }
                let from = at + vec2(before, 0.0);
                canvas.text_within(from, Align::LEFT, end - from.x, &swatch.text);
                at.x += width + gap;
            }
            y += LINE * em;
        }
        y
    }
}
