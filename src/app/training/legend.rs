//! Which curve is which, and what it says at a place.

use std::sync::Arc;

use egui::{Color32, Label, RichText, Sense, Shape, Stroke, TextStyle, Ui, Vec2, vec2};

use super::charts::Named;
use super::names::Name;
use super::pens::color;
use super::track::{Horizontal, Look, Track};
use crate::app::diagnostics::AxisScale;
use crate::run::{MetricInfo, Unit, span};
use crate::view::ticks::{grouped, moment, significant};
use crate::view::{Dash, Pen};

/// The longest title in the legend, in points.
const LONGEST: f32 = 240.0;

/// The piece of a line in the legend.
const LINE: Vec2 = vec2(20.0, 12.0);
const WIDTH: f32 = 2.5;
/// Between the parts of an entry.
const GAP: f32 = 6.0;

/// Names and colours of all curves, each entry in one piece.
pub fn legend(ui: &mut Ui, groups: &[Named<'_>]) {
    let room = ui.available_width();
    let font = TextStyle::Small.resolve(ui.style());
    let width = |ui: &Ui, text: &str| {
        ui.painter().layout_no_wrap(text.to_owned(), font.clone(), Color32::WHITE).size().x.ceil() + 1.0
    };
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing.x = 14.0;
        for group in groups {
            let [title, mark] = group.name.parts();
            let mark = if mark.is_empty() { 0.0 } else { GAP + width(ui, mark) };
            let most = LONGEST.min(room - LINE.x - GAP - mark).max(1.0);
            let title = width(ui, title).min(most);
            let size = vec2((LINE.x + GAP + title + mark).min(room), ui.text_style_height(&TextStyle::Small));
            ui.allocate_ui_with_layout(size, egui::Layout::left_to_right(egui::Align::Center), |ui| {
                ui.spacing_mut().item_spacing.x = GAP;
                line(ui, group.pen);
                name(ui, &group.name, title);
            });
        }
    });
}

/// A title, cut where it is too long, and what tells it apart in full.
fn name(ui: &mut Ui, name: &Name, most: f32) {
    let [title, mark] = name.parts();
    ui.scope(|ui| {
        ui.set_max_width(most);
        ui.add(Label::new(RichText::new(title).small()).truncate()).on_hover_text(name.whole());
    });
    if !mark.is_empty() {
        ui.add(Label::new(RichText::new(mark).small().weak()).extend());
    }
}

/// A piece of a line as this pen draws it.
pub fn line(ui: &mut Ui, pen: Pen) {
    let (rect, _) = ui.allocate_exact_size(LINE, Sense::hover());
    let ends = [rect.left_center(), rect.right_center()];
    let stroke = Stroke::new(WIDTH, color(pen, ui.theme()));
    let pieces = match pen.dash {
        Dash::Solid => vec![Shape::line_segment(ends, stroke)],
        Dash::Dashed => Shape::dashed_line(&ends, stroke, 5.0, 2.5),
        Dash::Dotted => Shape::dashed_line(&ends, stroke, 2.0, 2.5),
    };
    ui.painter().extend(pieces);
}

fn number(info: &MetricInfo, value: f64) -> String {
    match info.unit {
        Unit::Fraction | Unit::Bytes if value.is_finite() => info.value(value),
        _ => significant(value, 4),
    }
}

/// The last value, in words.
pub fn last_value(group: &Named<'_>, track: &Track, look: &Look) -> String {
    let last = track.nearest(look.horizontal, AxisScale::Linear, f64::MAX);
    format!("{} {}", group.name.whole(), last.map_or_else(|| "—".to_owned(), |last| significant(last.value, 4)))
}

/// All runs' values at the pointer.
pub fn tooltip(
    response: &egui::Response,
    info: &MetricInfo,
    look: &Look,
    at: f64,
    curves: &[(&Named<'_>, &Arc<Track>)],
) {
    egui::Tooltip::for_widget(response).at_pointer().gap(14.0).show(|ui| {
        ui.set_max_width(460.0);
        ui.strong(&info.title);
        egui::Grid::new("values").num_columns(3).spacing([12.0, 2.0]).show(ui, |ui| {
            for (group, track) in curves {
                let Some(found) = track.nearest(look.horizontal, look.scales[0], at) else { continue };
                ui.horizontal(|ui| {
                    line(ui, group.pen);
                    name(ui, &group.name, 0.5 * LONGEST);
                });
                let x = match look.horizontal {
                    Horizontal::Step => format!("step {}", grouped(found.x as u64)),
                    Horizontal::Samples => format!("{} samples", grouped(found.x as u64)),
                    Horizontal::Relative if found.x < 100.0 => format!("{:.2} s", found.x),
                    Horizontal::Relative => span(found.x as u64),
                    Horizontal::Clock => moment(found.x, "%m-%d %H:%M:%S"),
                };
                ui.weak(x);
                let mut text = number(info, found.value);
                if let Some(deviation) = found.deviation {
                    text.push_str(&format!(" ± {}", number(info, deviation)));
                }
                if track.is_smoothed() {
                    text.push_str(&format!(", smoothed {}", number(info, found.smooth)));
                }
                ui.label(text);
                ui.end_row();
            }
        });
    });
}
