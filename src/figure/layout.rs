//! Where the parts of a figure go.

use super::canvas::{Anchor, Area, Canvas};
use super::svg::{POINTS_PER_MM, Svg};
use super::{Bar, Content, Figure, FigureError, Options, Panel, Row, font, plot};
use crate::sweep::{Axis, Spacing};
use crate::view::ticks::{Tick, Ticks, short};

// Lengths in font sizes.
pub(super) const MARGIN: f64 = 0.5;
pub(super) const TICK: f64 = 0.35;
pub(super) const MINOR_TICK: f64 = 0.2;
pub(super) const LABEL_GAP: f64 = 0.25;
pub(super) const LINE: f64 = 1.35;
const BAR: f64 = 1.1;
pub(super) const NARROWEST_PANEL: f64 = 5.0;
/// Height over width of a panel that stands alone, and of one among others.
const ASPECT: [f64; 2] = [0.8, 1.0];

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
        let too_narrow = FigureError::TooNarrow { width_mm: options.width_mm, font_size: em };
        y = match &self.content {
            Content::Maps(rows) => {
                let columns = Columns::of(rows, inner, em);
                if columns.panel_width < NARROWEST_PANEL * em {
                    return Err(too_narrow);
                }
                for (index, row) in rows.iter().enumerate() {
                    y += if index > 0 { 0.8 * em } else { 0.0 };
                    y = row.draw(&mut canvas, &columns, y, em)?;
                }
                y
            }
            Content::Plots(plots) => plots.draw(&mut canvas, y, inner, em).ok_or(too_narrow)?,
            Content::Curves(curves) => curves.draw(&mut canvas, y, inner, em).ok_or(too_narrow)?,
        };
        y = self.draw_legend(&mut canvas, y, inner, em);
        let height = y + MARGIN * em;
        Ok(Svg { about: self.about.clone(), width_mm: options.width_mm, size: [width, height], body: canvas.body })
    }

    /// Swatches with their names in lines, each in the middle. Gives the end.
    fn draw_legend(&self, canvas: &mut Canvas, mut y: f64, inner: f64, em: f64) -> f64 {
        let (side, gap, end) = (0.9 * em, 1.1 * em, MARGIN * em + inner);
        let key = match &self.content {
            Content::Maps(_) => side,
            Content::Plots(_) | Content::Curves(_) => plot::KEY * em,
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
                    (Some(_), Content::Curves(curves)) => curves.draw_key(canvas, [x, middle], key, index),
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

/// How the width is shared out, the same for all rows.
struct Columns {
    /// Where the first panel begins.
    left: f64,
    panel_width: f64,
    panel_height: f64,
    gap: f64,
}

impl Columns {
    fn of(rows: &[Row], inner: f64, em: f64) -> Columns {
        let rows = || rows.iter();
        let widest = |labels: Vec<f64>| labels.into_iter().fold(0.0, f64::max);
        let count = rows().map(|row| row.panels.len()).max().unwrap_or(1).max(1);
        let aspect = ASPECT[usize::from(count > 1)];
        // The labels depend on the size, and the size on the labels: those of a guess are about as wide.
        let guess = inner / count as f64 * 0.7;
        let height_labels = rows().map(|row| label_width(&marks(&row.rows, guess * aspect / (2.0 * em)), em)).collect();
        let width_labels = rows().map(|row| label_width(&marks(&row.columns, guess / (3.5 * em)), em)).collect();
        let (tick, half) = ((TICK + LABEL_GAP) * em, widest(width_labels) / 2.0);
        let left = LINE * em + tick + widest(height_labels);
        let bars = rows().filter_map(|row| row.bar.as_ref());
        let right = widest(bars.map(|bar| bar.width(guess * aspect, em)).collect()).max(half);
        let gap = if count > 1 { (2.0 * half + 0.6 * em).max(em) } else { 0.0 };
        let panel_width = (inner - left - right - gap * (count - 1) as f64) / count as f64;
        Columns { left: MARGIN * em + left, panel_width, panel_height: panel_width * aspect, gap }
    }
}

impl Bar {
    fn marks(&self, height: f64, em: f64) -> (Vec<super::Mark>, Option<String>) {
        self.scale.marks(((height / (2.2 * em)) as usize).clamp(2, 9))
    }

    /// From the panel to the right end of its label.
    fn width(&self, height: f64, em: f64) -> f64 {
        let labels = self.marks(height, em).0.into_iter().map(|mark| font::width(&mark.label, em));
        (0.9 + BAR + TICK + LABEL_GAP + LINE) * em + labels.fold(0.0, f64::max)
    }

    fn draw(&self, canvas: &mut Canvas, panel: Area, em: f64) {
        let [below, above] = self.scale.beyond().map(|beyond| if beyond { 0.8 * BAR * em } else { 0.0 });
        let area = Area {
            x: panel.right() + 0.9 * em,
            y: panel.y + above,
            width: BAR * em,
            height: panel.height - above - below,
        };
        canvas.color_bar(area, &self.scale);
        let (marks, note) = self.marks(area.height, em);
        let mut widest: f64 = 0.0;
        for mark in &marks {
            let y = area.bottom() - mark.position * area.height;
            canvas.line([area.right(), y], [area.right() + TICK * em, y]);
            canvas.text([area.right() + (TICK + LABEL_GAP) * em, y], Anchor::Start, &mark.label);
            widest = widest.max(font::width(&mark.label, em));
        }
        let label = match note {
            Some(note) => format!("{} ({note})", self.label),
            None => self.label.clone(),
        };
        let x = area.right() + (TICK + LABEL_GAP + 0.6 * LINE) * em + widest;
        canvas.upright_text_within([x, panel.y + panel.height / 2.0], panel.height, &label);
    }
}

impl Row {
    /// Draws panels, axes and colour bar from `y` downwards. Gives the end.
    fn draw(&self, canvas: &mut Canvas, columns: &Columns, mut y: f64, em: f64) -> Result<f64, FigureError> {
        let titled = self.panels.iter().any(|panel| panel.title.is_some());
        y += if titled { LINE * em } else { 0.3 * em };
        let mut last = Area { x: columns.left, y, width: columns.panel_width, height: columns.panel_height };
        for (index, panel) in self.panels.iter().enumerate() {
            last.x = columns.left + index as f64 * (columns.panel_width + columns.gap);
            self.draw_panel(canvas, panel, last, index == 0, em)?;
        }
        if let Some(bar) = &self.bar {
            bar.draw(canvas, last, em);
        }
        Ok(last.bottom() + (TICK + LABEL_GAP) * em + 2.0 * LINE * em)
    }

    fn draw_panel(
        &self,
        canvas: &mut Canvas,
        panel: &Panel,
        area: Area,
        is_first: bool,
        em: f64,
    ) -> Result<(), FigureError> {
        if let Some(title) = &panel.title {
            canvas.text_within([area.x + area.width / 2.0, area.y - 0.6 * LINE * em], area.width, title);
        }
        canvas.image(area, &panel.image)?;
        canvas.frame(area);
        let label_y = area.bottom() + (TICK + LABEL_GAP + 0.5) * em;
        let mut free_from = f64::NEG_INFINITY;
        for (position, label) in marks(&self.columns, area.width / (3.5 * em)) {
            let x = area.x + position * area.width;
            canvas.line([x, area.bottom()], [x, area.bottom() + TICK * em]);
            let half = font::width(&label, em) / 2.0;
            if x - half > free_from {
                canvas.text([x, label_y], Anchor::Middle, &label);
                free_from = x + half + 0.3 * em;
            }
        }
        for position in minor_marks(&self.columns) {
            let x = area.x + position * area.width;
            canvas.line([x, area.bottom()], [x, area.bottom() + MINOR_TICK * em]);
        }
        let middle = [area.x + area.width / 2.0, label_y + LINE * em];
        canvas.text_within(middle, area.width, &self.column_label);
        let mut widest: f64 = 0.0;
        for (position, label) in marks(&self.rows, area.height / (2.0 * em)) {
            let y = area.bottom() - position * area.height;
            canvas.line([area.x - TICK * em, y], [area.x, y]);
            if is_first {
                canvas.text([area.x - (TICK + LABEL_GAP) * em, y], Anchor::End, &label);
                widest = widest.max(font::width(&label, em));
            }
        }
        for position in minor_marks(&self.rows) {
            let y = area.bottom() - position * area.height;
            canvas.line([area.x - MINOR_TICK * em, y], [area.x, y]);
        }
        if is_first {
            let x = area.x - (TICK + LABEL_GAP + 0.6 * LINE) * em - widest;
            canvas.upright_text_within([x, area.y + area.height / 2.0], area.height, &self.row_label);
        }
        Ok(())
    }
}

/// Where a value lies along a side of a map, from 0 to 1: a row's or column's value is in the middle of its
/// cells.
fn position(axis: &Axis, value: f64) -> f64 {
    let count = axis.count.get() as f64;
    let part = match axis.spacing {
        _ if count == 1.0 => 0.0,
        Spacing::Linear => (value - axis.from) / (axis.to - axis.from),
        Spacing::Log => (value / axis.from).ln() / (axis.to / axis.from).ln(),
    };
    (0.5 + part * (count - 1.0)) / count
}

/// Labelled places along a side of a map, about as many as there is room for.
fn marks(axis: &Axis, room: f64) -> Vec<(f64, String)> {
    let most = (room as usize).clamp(2, 8);
    let (low, high) = (axis.from.min(axis.to), axis.from.max(axis.to));
    let ticks = match axis.spacing {
        _ if axis.count.get() == 1 => vec![Tick { value: axis.from, label: short(axis.from) }],
        // An axis has no place for a note.
        Spacing::Linear => Ticks::linear(low, high, most).in_full(),
        Spacing::Log => Ticks::log(low, high, most).in_full(),
    };
    let ticks = ticks.into_iter().filter(|tick| !axis.of.is_whole() || tick.value.fract() == 0.0);
    let mut marks: Vec<_> = ticks.map(|tick| (position(axis, tick.value), tick.label)).collect();
    // An axis can go down.
    marks.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    marks
}

/// Where 2 to 9 times the powers of ten lie, on a logarithmic axis of some decades.
fn minor_marks(axis: &Axis) -> Vec<f64> {
    if axis.spacing != Spacing::Log || axis.count.get() == 1 {
        return Vec::new();
    }
    minor_values(axis.from.min(axis.to), axis.from.max(axis.to)).map(|value| position(axis, value)).collect()
}

/// 2 to 9 times the powers of ten in a range of some decades; none in one of many.
pub(super) fn minor_values(low: f64, high: f64) -> impl Iterator<Item = f64> {
    const MOST_DECADES: f64 = 6.0;
    let few = (high / low).log10() <= MOST_DECADES;
    let exponents = few.then(|| low.log10().floor() as i32..=high.log10().ceil() as i32).into_iter().flatten();
    let values = exponents.flat_map(|exponent| (2..10).map(move |digit| f64::from(digit) * 10_f64.powi(exponent)));
    values.filter(move |value| (low..=high).contains(value))
}

fn label_width(marks: &[(f64, String)], em: f64) -> f64 {
    marks.iter().map(|(_, label)| font::width(label, em)).fold(0.0, f64::max)
}

/// A text in lines that are no wider than this, if its words are not.
fn wrapped(text: &str, width: f64, em: f64) -> Vec<String> {
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
