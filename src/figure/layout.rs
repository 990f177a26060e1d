//! The layout of a figure.

use super::canvas::{Area, Canvas};
use super::style::{KEY, LINE, MARGIN};
use super::svg::{POINTS_PER_MM, Svg};
use super::{Content, Figure, FigureError, Options, curves, font, plot, rows};

impl Figure {
    /// Lays the figure out.
    pub fn render(&self, options: &Options) -> Result<Svg, FigureError> {
        let range = |name, value: f64, low: f64, high: f64| match (low..=high).contains(&value) {
            true => Ok(()),
            false => Err(FigureError::OutOfRange { name, expected: format!("from {low} to {high}"), found: value }),
        };
        range("width_mm", options.width_mm, 20.0, 2000.0)?;
        range("font_size", options.font_size, 3.0, 72.0)?;
        let em = options.font_size;
        let width = options.width_mm * POINTS_PER_MM;
        let inner = width - 2.0 * MARGIN * em;
        let mut canvas = Canvas::new(em);
        let mut y = MARGIN * em;
        if options.title {
            for line in wrapped(&self.about.title, inner, em) {
                canvas.text_within([width / 2.0, y + 0.5 * LINE * em], inner, &line);
                y += LINE * em;
            }
            y += 0.4 * em;
        }
        let end = match &self.content {
            Content::Maps(rows) => rows::draw(rows, &mut canvas, y, inner, em)?,
            Content::Plots(plots) => plots.draw(&mut canvas, y, inner, em),
            Content::Curves(curves) => curves.draw(&mut canvas, y, inner, em),
            Content::Landscape(figure) => figure.draw(&mut canvas, y, inner, em)?,
        };
        y = end.ok_or(FigureError::TooNarrow { width_mm: options.width_mm, font_size: em })?;
        y = self.draw_legend(&mut canvas, y, inner, em);
        let height = y + MARGIN * em;
        let Canvas { body, uses_system_fonts, blank, .. } = canvas;
        let about = self.about.clone();
        Ok(Svg { about, width_mm: options.width_mm, size: [width, height], body, uses_system_fonts, blank })
    }

    /// Draws swatches with their names in centred lines. Returns the lower end.
    fn draw_legend(&self, canvas: &mut Canvas, mut y: f64, inner: f64, em: f64) -> f64 {
        let (side, gap, end) = (0.9 * em, 1.1 * em, MARGIN * em + inner);
        let key = match &self.content {
            Content::Maps(_) => side,
            Content::Plots(_) | Content::Curves(_) | Content::Landscape(_) => KEY * em,
        };
        let entries = self.legend.iter().enumerate().map(|entry| {
            let before = if entry.1.color.is_some() { key + 0.4 * em } else { 0.0 };
            (entry, before, (before + font::width(&entry.1.text, em)).min(inner))
        });
        let mut lines: Vec<(f64, Vec<_>)> = Vec::new();
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
            let mut x = MARGIN * em + (inner - taken).max(0.0) / 2.0;
            let middle = y + 0.5 * LINE * em;
            for ((index, swatch), before, width) in line {
                match (swatch.color, &self.content) {
                    (Some(color), Content::Maps(_)) => {
                        canvas.swatch(Area { x, y: middle - side / 2.0, width: side, height: side }, color);
                    }
                    (Some(color), Content::Plots(plots)) => {
                        plot::draw_key(canvas, [x, middle], plots.marker(index), color, em);
                    }
                    (Some(_), Content::Curves(curves)) => {
                        curves::draw_key(canvas, [x, middle], key, curves.names[index].1);
                    }
                    (Some(_), Content::Landscape(figure)) => figure.draw_key(canvas, [x, middle], key, index, em),
                    (None, _) => {}
                }
                canvas.text_from([x + before, middle], end - x - before, &swatch.text);
                x += width + gap;
            }
            y += LINE * em;
        }
        y
    }
}

/// Returns a text in lines no wider than `width`, if its words are not wider.
pub(super) fn wrapped(text: &str, width: f64, em: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if font::width(&format!("{line} {word}"), em) <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}
