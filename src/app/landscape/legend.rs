//! The legend of the ensembles: names, values, and visibility.

use egui::{Align2, Color32, FontId, Painter, Pos2, Rect, Sense, Stroke, Ui, Vec2, WidgetInfo, pos2, vec2};
use valleyscope_engine::optimizer::Marker;
use valleyscope_experiments::view::ticks::significant;

use super::layout::CanvasLayout;
use super::marker::{color_of, draw_marker, marker_of};
use super::projection::Projection;
use crate::app::theme::text_width;
use crate::app::{Document, Live};
use crate::player::EnsembleView;

const PADDING: f32 = 7.0;
const MARKER: f32 = 18.0;
const GAP: f32 = 14.0;
const HEADING: &str = "mean L";
/// The share of the canvas' width for names with settings, and for names without any.
const NAME_SHARES: [f32; 2] = [0.4, 0.55];
const TEXT: Color32 = Color32::from_gray(240);
const WARNING: Color32 = Color32::from_rgb(255, 170, 120);

struct Row {
    id: u32,
    name: String,
    /// The name as it is drawn, without the settings that have no room.
    drawn_name: String,
    /// The mean loss as it is shown, or a mark with the number of diverged particles.
    value: String,
    loss: String,
    diverged: String,
    marker: Marker,
    color: Color32,
    shown: bool,
}

impl Row {
    /// Returns the value, or, where there is no column of values, only an essential one.
    fn shown_value(&self, in_column: bool) -> &str {
        if in_column || !self.diverged.is_empty() { &self.value } else { "" }
    }
}

fn rows(document: &Document, live: &Live) -> Vec<Row> {
    let Some(snapshot) = &live.snapshot else { return Vec::new() };
    let names = document.spec.shown_names();
    let row = |view: &EnsembleView| {
        let index = document.spec.optimizers.iter().position(|spec| spec.id == view.optimizer)?;
        let spec = &document.spec.optimizers[index];
        let diverged = match view.sample.diverged {
            0 => String::new(),
            all if all as usize == view.particles => "all diverged".to_owned(),
            some => format!("{some} diverged"),
        };
        Some(Row {
            id: view.optimizer,
            name: names[index].clone(),
            drawn_name: names[index].clone(),
            // A mean over particles of which some are not finite adds nothing to the mark.
            value: match view.sample.diverged {
                0 => significant(view.sample.loss.mean, 4),
                all if all as usize == view.particles => "✗ all".to_owned(),
                some => format!("✗ {some}"),
            },
            loss: significant(view.sample.loss.mean, 4),
            diverged,
            marker: marker_of(&document.spec.optimizers, view.optimizer),
            color: color_of(spec),
            shown: !live.hidden.contains(&view.optimizer),
        })
    };
    snapshot.ensembles.iter().filter_map(row).collect()
}

/// Omits settings at the end of a name that is wider than `wished`, as in "Adam, η 0.01, …". The words before the first
/// setting stay, unless they are wider than `most`.
fn elided(name: &str, width_of: impl Fn(&str) -> f32, [wished, most]: [f32; 2]) -> String {
    let shorter = name.rmatch_indices(", ").map(|(at, _)| format!("{}, …", &name[..at]));
    let shortest = || name.split_once(", ").map_or_else(|| name.to_owned(), |(own, _)| format!("{own}, …"));
    let fitting = std::iter::once(name.to_owned()).chain(shorter).find(|text| width_of(text) <= wished);
    let fitting = fitting.unwrap_or_else(shortest);
    if width_of(&fitting) <= most {
        return fitting;
    }
    let mut cut = fitting.char_indices().rev().map(|(at, _)| format!("{}…", &fitting[..at]));
    cut.find(|text| width_of(text) <= most).unwrap_or_default()
}

/// The legend in the canvas' upper right corner.
pub(super) struct Legend {
    /// The area of the legend; empty without entries.
    pub area: Rect,
    rows: Vec<Row>,
    font: FontId,
    /// The height of a row, and the width of its contents, in points.
    line: f32,
    width: f32,
    /// True if there is a column of values; without one, rows show only essential values.
    shows_values: bool,
}

impl Legend {
    pub(super) fn lay_out(ui: &Ui, layout: &CanvasLayout, document: &Document, live: &Live) -> Legend {
        let CanvasLayout { canvas, compact, .. } = *layout;
        let font = layout.font.clone();
        let mut rows = rows(document, live);
        let width_of = |text: &str| text_width(ui, &font, text);
        for row in &mut rows {
            row.drawn_name = elided(&row.name, width_of, NAME_SHARES.map(|share| share * canvas.width()));
        }
        let widest = |text: &dyn Fn(&Row) -> &str| rows.iter().map(|row| width_of(text(row))).fold(0.0, f32::max);
        let names = widest(&|row| &row.drawn_name);
        let line = (font.size * if rows.len() > 4 { 1.25 } else { 1.45 }).round();
        let values = widest(&|row| &row.value).max(width_of(HEADING));
        let roomy = MARKER + names + GAP + values + 2.0 * PADDING < 0.65 * canvas.width()
            && 0.5 * canvas.height() > line * (rows.len() + 1) as f32;
        let shows_values = !compact || roomy;
        let values = if shows_values { values } else { widest(&|row| row.shown_value(false)) };
        let width = MARKER + names + if values > 0.0 { GAP + values } else { 0.0 };
        let lines = rows.len() + usize::from(shows_values);
        let size = vec2(width + 2.0 * PADDING, line * lines as f32 + 2.0 * PADDING - 4.0);
        let area = match rows.is_empty() {
            true => Rect::NOTHING,
            false => Rect::from_min_size(pos2(canvas.right() - size.x - 8.0, canvas.top() + 8.0), size),
        };
        Legend { area, rows, font, line, width, shows_values }
    }

    /// Draws the legend. A click on a row hides or shows its ensemble.
    pub(super) fn show(&self, ui: &mut Ui, canvas: Rect, live: &mut Live) {
        if self.rows.is_empty() {
            return;
        }
        let painter = ui.painter().with_clip_rect(canvas);
        painter.rect_filled(self.area, 5.0, Color32::from_black_alpha(165));
        let inner = self.area.shrink2(vec2(PADDING, PADDING - 2.0));
        let mut top = inner.top();
        if self.shows_values {
            let right = pos2(inner.left() + self.width, top);
            painter.text(right, Align2::RIGHT_TOP, HEADING, self.font.clone(), Color32::from_gray(190));
            top += self.line;
        }
        for row in &self.rows {
            self.show_row(ui, &painter, row, pos2(inner.left(), top), live);
            top += self.line;
        }
    }

    fn show_row(&self, ui: &mut Ui, painter: &Painter, row: &Row, at: Pos2, live: &mut Live) {
        let area =
            Rect::from_min_max(pos2(self.area.left() + 2.0, at.y), pos2(self.area.right() - 2.0, at.y + self.line));
        let response = ui.interact(area, ui.scope_id().with(("legend", row.id)), Sense::click());
        response.widget_info(|| {
            let mut info = WidgetInfo::selected(egui::Role::CheckBox, true, row.shown, format!("Show {}", row.name));
            info.current_text_value = Some(format!("mean loss {} {}", row.loss, row.diverged));
            info
        });
        if response.hovered() || response.has_focus() {
            painter.rect_filled(area, 3.0, Color32::from_white_alpha(28));
        }
        if response.has_focus() {
            let stroke = Stroke::new(1.0, Color32::WHITE);
            painter.rect_stroke(area, 3.0, stroke, egui::StrokeKind::Inside);
        }
        let opacity = if row.shown { 1.0 } else { 0.4 };
        let text = TEXT.gamma_multiply(opacity);
        let middle = area.center().y;
        let fill = if row.shown { row.color } else { Color32::TRANSPARENT };
        let outline = if row.shown { Color32::BLACK } else { text };
        painter.add(draw_marker(row.marker, pos2(at.x + 6.0, middle), 4.5, fill, outline));
        let name_at = pos2(at.x + MARKER, middle);
        let name = painter.text(name_at, Align2::LEFT_CENTER, &row.drawn_name, self.font.clone(), text);
        if !row.shown {
            painter.hline(name.x_range(), middle, Stroke::new(1.0, text));
        }
        let color = if row.diverged.is_empty() { text } else { WARNING.gamma_multiply(opacity) };
        let value = row.shown_value(self.shows_values);
        painter.text(pos2(at.x + self.width, middle), Align2::RIGHT_CENTER, value, self.font.clone(), color);
        let hint = if row.shown { "Click to hide" } else { "Click to show" };
        if response.on_hover_text(format!("{hint} {}. {}", row.name, row.diverged)).clicked() {
            let _ = live.hidden.remove(&row.id) || live.hidden.insert(row.id);
        }
    }
}

/// The radius of the marker of an ensemble's mean, in points.
pub(super) const MEAN_RADIUS: f32 = 4.5;

/// Marks the mean of each shown ensemble.
pub(super) fn mark_means(ui: &Ui, canvas: Rect, document: &Document, live: &Live, projection: &Projection) {
    let painter = ui.painter().with_clip_rect(canvas);
    for view in live.visible() {
        let Some(&[x, y]) = view.mean_path.last() else { continue };
        let Some(mark) = projection.mark([f64::from(x), f64::from(y)]) else { continue };
        let (at, opacity) = (mark.on(canvas), mark.opacity());
        let Some(spec) = document.spec.optimizers.iter().find(|spec| spec.id == view.optimizer) else { continue };
        if x.is_finite() && y.is_finite() && canvas.expand2(Vec2::splat(10.0)).contains(at) {
            let marker = marker_of(&document.spec.optimizers, view.optimizer);
            let [fill, outline] = [color_of(spec), Color32::BLACK].map(|color| color.gamma_multiply(opacity));
            painter.add(draw_marker(marker, at, MEAN_RADIUS, fill, outline));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::elided;

    #[test]
    fn a_long_name_loses_the_settings_at_its_end_and_keeps_the_rule() {
        let of = |name: &str, widths| elided(name, |text| text.chars().count() as f32, widths);
        let name = "Adam (2), η 0.005, warm-up 100, ω 0.1";
        assert_eq!(of(name, [37.0, 50.0]), name);
        assert_eq!(of(name, [36.0, 50.0]), "Adam (2), η 0.005, warm-up 100, …");
        assert_eq!(of(name, [20.0, 50.0]), "Adam (2), η 0.005, …");
        assert_eq!(of(name, [5.0, 50.0]), "Adam (2), …");
        assert_eq!(of(name, [5.0, 7.0]), "Adam (…");
        assert_eq!(of("The best of mine", [10.0, 16.0]), "The best of mine");
        assert_eq!(of("The best of mine", [10.0, 12.0]), "The best of…");
        assert_eq!(of(name, [0.0, 0.0]), "");
    }
}
