//! Which ensemble is which, how it fares, and whether it is shown.

use egui::{Color32, FontId, Rect, Sense, Stroke, Ui, Vec2, WidgetInfo, pos2, vec2};

use super::marker::{Marker, color_of};
use crate::app::{Document, Live};
use crate::view::ticks::significant;

const PADDING: f32 = 7.0;
const MARKER: f32 = 18.0;
const GAP: f32 = 14.0;
const TEXT: Color32 = Color32::from_gray(240);
const WARNING: Color32 = Color32::from_rgb(255, 170, 120);

struct Row {
    id: u32,
    name: String,
    /// The mean loss as it is shown, or a mark that says how many particles diverged.
    value: String,
    loss: String,
    diverged: String,
    marker: Marker,
    color: Color32,
    shown: bool,
}

fn rows(document: &Document, live: &Live) -> Vec<Row> {
    let Some(snapshot) = &live.snapshot else { return Vec::new() };
    let row = |view: &crate::simulation::EnsembleView| {
        let index = document.spec.optimizers.iter().position(|spec| spec.id == view.optimizer)?;
        let spec = &document.spec.optimizers[index];
        let diverged = match view.sample.diverged {
            0 => String::new(),
            all if all as usize == view.particles => "all diverged".to_owned(),
            some => format!("{some} diverged"),
        };
        Some(Row {
            id: view.optimizer,
            name: spec.label().to_owned(),
            // The mean over particles of which some are not finite says nothing more than the mark.
            value: match view.sample.diverged {
                0 => significant(view.sample.loss.mean, 4),
                all if all as usize == view.particles => "✗ all".to_owned(),
                some => format!("✗ {some}"),
            },
            loss: significant(view.sample.loss.mean, 4),
            diverged,
            marker: Marker::of(&document.spec.optimizers, view.optimizer),
            color: color_of(spec),
            shown: !live.hidden.contains(&view.optimizer),
        })
    };
    snapshot.ensembles.iter().filter_map(row).collect()
}

/// Draws the legend into the canvas' upper right corner and says where. A click on a row hides or shows
/// its ensemble.
pub fn show(ui: &mut Ui, canvas: Rect, document: &Document, live: &mut Live, font: &FontId, compact: bool) -> Rect {
    let rows = rows(document, live);
    if rows.is_empty() {
        return Rect::NOTHING;
    }
    let painter = ui.painter().with_clip_rect(canvas);
    let galley = |text: &str, color| painter.layout_no_wrap(text.to_owned(), font.clone(), color);
    let width_of =
        |text: &dyn Fn(&Row) -> &str| rows.iter().map(|row| galley(text(row), TEXT).size().x).fold(0.0, f32::max);
    let heading = galley("mean L", Color32::from_gray(190));
    let names = width_of(&|row| &row.name);
    let line = (font.size * if rows.len() > 4 { 1.25 } else { 1.45 }).round();
    let values = width_of(&|row| &row.value).max(heading.size().x);
    let roomy = MARKER + names + GAP + values + 2.0 * PADDING < 0.65 * canvas.width()
        && 0.5 * canvas.height() > line * (rows.len() + 1) as f32;
    // Where there is little room, only what must not be missed.
    let shows_values = !compact || roomy;
    let shown_value =
        |row: &Row| if shows_values || !row.diverged.is_empty() { row.value.clone() } else { String::new() };
    let values = match shows_values {
        true => values,
        false => rows.iter().map(|row| galley(&shown_value(row), TEXT).size().x).fold(0.0, f32::max),
    };
    let width = MARKER + names + if values > 0.0 { GAP + values } else { 0.0 };
    let heading_height = if shows_values { line } else { 0.0 };
    let size = vec2(width + 2.0 * PADDING, heading_height + line * rows.len() as f32 + 2.0 * PADDING - 4.0);
    let area = Rect::from_min_size(pos2(canvas.right() - size.x - 8.0, canvas.top() + 8.0), size);
    painter.rect_filled(area, 5.0, Color32::from_black_alpha(165));
    let inner = area.shrink2(vec2(PADDING, PADDING - 2.0));
    let value_right = inner.left() + width;
    if shows_values {
        painter.galley(pos2(value_right - heading.size().x, inner.top()), heading, TEXT);
    }
    for (index, row) in rows.iter().enumerate() {
        let top = inner.top() + heading_height + line * index as f32;
        let rect = Rect::from_min_size(pos2(area.left() + 2.0, top), vec2(area.width() - 4.0, line));
        let response = ui.interact(rect, ui.scope_id().with(("legend", row.id)), Sense::click());
        response.widget_info(|| {
            let mut info = WidgetInfo::selected(egui::Role::CheckBox, true, row.shown, format!("Show {}", row.name));
            info.current_text_value = Some(format!("mean loss {} {}", row.loss, row.diverged));
            info
        });
        if response.hovered() || response.has_focus() {
            painter.rect_filled(rect, 3.0, Color32::from_white_alpha(28));
        }
        if response.has_focus() {
            let stroke = Stroke::new(1.0, Color32::WHITE);
            painter.rect_stroke(rect, 3.0, stroke, egui::StrokeKind::Inside);
        }
        let opacity = if row.shown { 1.0 } else { 0.4 };
        let text = TEXT.gamma_multiply(opacity);
        let middle = |height: f32| top + 0.5 * (line - height);
        let marker_at = pos2(inner.left() + 6.0, top + 0.5 * line);
        let fill = if row.shown { row.color } else { Color32::TRANSPARENT };
        painter.add(row.marker.shape(marker_at, 4.5, fill, if row.shown { Color32::BLACK } else { text }));
        let name = galley(&row.name, text);
        let name_rect = Rect::from_min_size(pos2(inner.left() + MARKER, middle(name.size().y)), name.size());
        painter.galley(name_rect.min, name, text);
        if !row.shown {
            let ends = name_rect.left()..=name_rect.right();
            painter.hline(ends, name_rect.center().y, Stroke::new(1.0, text));
        }
        let color = if row.diverged.is_empty() { text } else { WARNING.gamma_multiply(opacity) };
        let value = galley(&shown_value(row), color);
        painter.galley(pos2(value_right - value.size().x, middle(value.size().y)), value, color);
        let hint = if row.shown { "Click to hide" } else { "Click to show" };
        if response.on_hover_text(format!("{hint} {}. {}", row.name, row.diverged)).clicked() {
            let _ = live.hidden.remove(&row.id) || live.hidden.insert(row.id);
        }
    }
    area
}

/// The size of a marker that stands for a whole ensemble on the canvas.
pub const MEAN_RADIUS: f32 = 4.5;

/// Marks the mean of each shown ensemble with its marker.
pub fn mark_means(ui: &Ui, canvas: Rect, document: &Document, live: &Live, to_screen: impl Fn([f64; 2]) -> egui::Pos2) {
    let painter = ui.painter().with_clip_rect(canvas);
    for view in live.visible() {
        let Some(&[x, y]) = view.mean_path.last() else { continue };
        let at = to_screen([f64::from(x), f64::from(y)]);
        let Some(spec) = document.spec.optimizers.iter().find(|spec| spec.id == view.optimizer) else { continue };
        if x.is_finite() && y.is_finite() && canvas.expand2(Vec2::splat(10.0)).contains(at) {
            let marker = Marker::of(&document.spec.optimizers, view.optimizer);
            painter.add(marker.shape(at, MEAN_RADIUS, color_of(spec), Color32::BLACK));
        }
    }
}
