//! The legend and the readout at the pointer.

use std::sync::Arc;

use egui::{Label, Response, RichText, Role, ScrollArea, Sense, Shape, Stroke, TextStyle, Ui, Vec2, WidgetInfo, vec2};
use valleyscope_experiments::view::ticks::significant;
use valleyscope_experiments::view::{AxisScale, Pen};
use valleyscope_runs::{MetricInfo, Unit};

use super::named_curves::NamedCurves;
use super::names::Name;
use super::pens::{color, dash, rgb};
use super::track::{Nearest, Track, TrackLook};
use crate::app::controls::{COLOR_HINT, color_menu};
use crate::app::form::visible_scroll_bar;
use crate::app::plot::readout;
use crate::app::theme::text_width;

/// The longest title in the legend where space is scarce, in points.
const LONGEST: f32 = 240.0;

/// The largest part of the height for a legend whose lines are scrolled.
const HIGHEST: f32 = 0.25;

/// The size of a line sample in the legend, in points.
const LINE: Vec2 = vec2(20.0, 12.0);
const WIDTH: f32 = 2.5;
/// The gap between the parts of an entry, in points.
const GAP: f32 = 6.0;
/// The gap between entries, in points.
const BETWEEN: f32 = 14.0;

/// The use of the legend in a frame.
#[derive(Default)]
pub(super) struct LegendResponse {
    /// The index of a curve and the colour that is chosen for it by a right click, `None` for its usual one.
    pub chosen: Option<(usize, Option<[u8; 3]>)>,
    /// The index of the curve whose entry is pointed at.
    pub pointed: Option<usize>,
}

/// Shows names and colours of all curves; a line breaks only between entries. Many lines are scrolled in a part of the
/// available height.
pub(super) fn legend(ui: &mut Ui, groups: &[NamedCurves<'_>]) -> LegendResponse {
    let font = TextStyle::Small.resolve(ui.style());
    let width = |text: &str| text_width(ui, &font, text).ceil() + 1.0;
    let wanted = groups.iter().map(|group| {
        let [title, mark] = group.name.parts();
        let mark = if mark.is_empty() { 0.0 } else { GAP + width(mark) };
        Wanted { title: width(title), rest: LINE.x + GAP + mark }
    });
    let wanted: Vec<Wanted> = wanted.collect();
    let shown = lines(&wanted, ui.available_width());
    let line_height = ui.spacing().interact_size.y + ui.spacing().item_spacing.y;
    let most = (HIGHEST * ui.available_height()).max(2.0 * line_height);
    if line_height * shown.len() as f32 <= most {
        return rows(ui, groups, shown);
    }
    let scrolled = |ui: &mut Ui| {
        visible_scroll_bar(ui);
        let room = ui.available_width() - ui.spacing().scroll.allocated_width();
        let area = ScrollArea::vertical().max_height(most).auto_shrink([false, true]).id_salt("legend");
        area.show(ui, |ui| rows(ui, groups, lines(&wanted, room))).inner
    };
    ui.scope(scrolled).inner
}

/// Shows the lines of a legend.
fn rows(ui: &mut Ui, groups: &[NamedCurves<'_>], lines: Vec<Vec<Entry>>) -> LegendResponse {
    let mut groups = groups.iter().enumerate();
    let mut legend = LegendResponse::default();
    for entries in lines {
        ui.horizontal(|ui| {
            ui.spacing_mut().item_spacing.x = BETWEEN;
            for (Entry { title, width }, (index, group)) in entries.into_iter().zip(&mut groups) {
                let size = vec2(width, ui.text_style_height(&TextStyle::Small));
                let entry = ui.allocate_ui_with_layout(size, egui::Layout::left_to_right(egui::Align::Center), |ui| {
                    ui.set_min_width(width);
                    ui.spacing_mut().item_spacing.x = GAP;
                    let name_of = group.name.whole();
                    let sample = line(ui, group.pen);
                    sample.widget_info(|| WidgetInfo::labeled(Role::Image, true, format!("Curve of {name_of}")));
                    let entry = sample.union(name(ui, &group.name, title)).on_hover_text(COLOR_HINT);
                    let color = color_menu(&entry, &name_of, rgb(group.pen, ui.theme()), group.is_color_chosen);
                    legend.chosen = color.map(|color| (index, color)).or(legend.chosen.take());
                });
                if entry.response.contains_pointer() {
                    legend.pointed = Some(index);
                }
            }
        });
    }
    legend
}

/// The widths of an entry: of its title, which may be cut, and of the rest.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Wanted {
    title: f32,
    rest: f32,
}

/// The widths of a shown entry: of its title, and of the whole.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Entry {
    title: f32,
    width: f32,
}

/// Breaks the entries of a legend into lines, and returns their widths. The entries of several lines are in columns of
/// equal width. Long titles are cut so that more entries fit into a line.
fn lines(wanted: &[Wanted], room: f32) -> Vec<Vec<Entry>> {
    let cut = |entry: &Wanted| entry.title.min(LONGEST).min(room - entry.rest).max(1.0);
    let whole: f32 = wanted.iter().map(|entry| cut(entry) + entry.rest + BETWEEN).sum();
    if whole - BETWEEN <= room {
        return vec![one_line(wanted, wanted.iter().map(cut).collect(), room + BETWEEN - whole)];
    }
    let widest = |width: fn(&Wanted) -> f32| wanted.iter().map(width).fold(1.0, f32::max);
    let column = widest(|entry| entry.title.min(LONGEST) + entry.rest);
    let columns = (((room + BETWEEN) / (column + BETWEEN)) as usize).max(1);
    let width = ((room + BETWEEN) / columns as f32 - BETWEEN).min(widest(|entry| entry.title + entry.rest));
    let entry = |wanted: &Wanted| Entry { title: wanted.title.min(width - wanted.rest).max(1.0), width };
    wanted.chunks(columns).map(|line| line.iter().map(entry).collect()).collect()
}

/// Returns the widths of entries in one line, whose cut titles share the width that is left.
fn one_line(wanted: &[Wanted], mut titles: Vec<f32>, mut left: f32) -> Vec<Entry> {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    let lacking = |index: &usize, titles: &[f32]| wanted[*index].title - titles[*index];
    // The titles that lack least first, so that the others share the rest.
    order.sort_by(|a, b| lacking(a, &titles).total_cmp(&lacking(b, &titles)));
    let count = order.len();
    for (place, index) in order.into_iter().enumerate() {
        let more = lacking(&index, &titles).clamp(0.0, left.max(0.0) / (count - place) as f32);
        titles[index] += more;
        left -= more;
    }
    wanted.iter().zip(titles).map(|(entry, title)| Entry { title, width: title + entry.rest }).collect()
}

/// Shows a title, cut where it is too long, and its distinction in full.
fn name(ui: &mut Ui, name: &Name, most: f32) -> Response {
    let [title, mark] = name.parts();
    let shown = ui.scope(|ui| {
        ui.set_max_width(most);
        let label = Label::new(RichText::new(title).small()).truncate().sense(Sense::CLICK);
        ui.add(label).on_hover_text(name.whole())
    });
    if !mark.is_empty() {
        ui.add(Label::new(RichText::new(mark).small().weak()).extend());
    }
    shown.inner
}

/// Draws a line sample with this pen.
pub(super) fn line(ui: &mut Ui, pen: Pen) -> Response {
    let (rect, response) = ui.allocate_exact_size(LINE, Sense::CLICK);
    let ends = [rect.left_center(), rect.right_center()];
    let stroke = Stroke::new(WIDTH, color(pen, ui.theme()));
    let pieces = match dash(pen) {
        None => vec![Shape::line_segment(ends, stroke)],
        Some([dash, gap]) => Shape::dashed_line(&ends, stroke, dash, gap),
    };
    ui.painter().extend(pieces);
    response
}

fn number(info: &MetricInfo, value: f64) -> String {
    match info.unit {
        Unit::Fraction if value.is_finite() => info.value(value),
        _ => significant(value, 4),
    }
}

/// Formats the last value.
pub(super) fn last_value(group: &NamedCurves<'_>, track: &Track, look: &TrackLook) -> String {
    let last = track.nearest(look.horizontal, AxisScale::Linear, f64::MAX);
    format!("{} {}", group.name.whole(), last.map_or_else(|| "—".to_owned(), |last| significant(last.value, 4)))
}

/// The largest number of runs in a tooltip.
const MOST_VALUES: usize = 8;

/// Shows the runs' values at the pointer's place, the largest first; of many runs those of the nearest curves.
pub(super) fn tooltip(
    response: &egui::Response,
    info: &MetricInfo,
    look: &TrackLook,
    at: [f64; 2],
    curves: &[(&NamedCurves<'_>, &Arc<Track>)],
    marks: &[String],
) {
    let found = curves
        .iter()
        .filter_map(|(group, track)| Some((*group, *track, track.nearest(look.horizontal, look.scales[0], at[0])?)));
    let mut found: Vec<_> = found.collect();
    let others = found.len().saturating_sub(MOST_VALUES);
    if others > 0 {
        let away = |nearest: &Nearest| (look.scales[1].place(nearest.smooth) - at[1]).abs();
        found.sort_by(|(.., a), (.., b)| away(a).total_cmp(&away(b)));
        found.truncate(MOST_VALUES);
    }
    found.sort_by(|(.., a), (.., b)| b.smooth.total_cmp(&a.smooth));
    let more = (others > 0).then(|| format!("and {others} more, farther from the pointer"));
    // Curves with points at other places say where.
    let places: Vec<String> = found.iter().map(|(.., nearest)| look.horizontal.words(nearest.x)).collect();
    let common = places.first().filter(|first| places.iter().all(|place| place == *first));
    let title = common.map_or_else(|| info.title.clone(), |place| format!("{}, {place}", info.title));
    let note = marks.iter().cloned().chain(more).collect::<Vec<_>>().join("\n");
    readout(response, &title, Some(note.as_str()).filter(|note| !note.is_empty()), |ui| {
        for ((group, track, found), place) in found.iter().zip(&places) {
            ui.horizontal(|ui| {
                line(ui, group.pen);
                ui.add(Label::new(RichText::new(group.name.whole()).small()).extend());
            });
            if common.is_none() {
                ui.weak(place);
            }
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
}

#[cfg(test)]
mod tests {
    use super::{BETWEEN, Wanted, lines};

    fn laid_out(titles: &[f32], room: f32) -> Vec<Vec<f32>> {
        let wanted: Vec<Wanted> = titles.iter().map(|title| Wanted { title: *title, rest: 26.0 }).collect();
        let lines = lines(&wanted, room);
        for line in &lines {
            let taken: f32 = line.iter().map(|entry| entry.width + BETWEEN).sum();
            assert!(taken - BETWEEN <= room + 0.01, "{line:?} is wider than {room}");
        }
        lines.into_iter().map(|line| line.into_iter().map(|entry| entry.title).collect()).collect()
    }

    #[test]
    fn titles_are_cut_only_where_a_line_has_no_room_for_them() {
        assert_eq!(laid_out(&[300.0, 50.0], 600.0), [[300.0, 50.0]], "there is room");
        // Both would fit into 240 points, and share the rest.
        assert_eq!(laid_out(&[400.0, 400.0], 666.0), [[300.0, 300.0]]);
        assert_eq!(laid_out(&[260.0, 400.0], 666.0), [[260.0, 340.0]]);
        assert_eq!(laid_out(&[900.0, 30.0], 500.0), [vec![474.0 - 30.0 - 26.0 - BETWEEN, 30.0]]);
        assert_eq!(laid_out(&[900.0, 240.0], 500.0), [[474.0], [240.0]], "each in a line of its own");
    }

    #[test]
    fn entries_of_several_lines_are_in_columns_of_equal_width() {
        let wanted: Vec<Wanted> =
            (0..7).map(|index| Wanted { title: 60.0 + f32::from(index as u8), rest: 26.0 }).collect();
        let lines = lines(&wanted, 320.0);
        assert_eq!(lines.iter().map(Vec::len).collect::<Vec<_>>(), [3, 3, 1]);
        assert!(lines.iter().flatten().all(|entry| entry.width == 92.0), "{lines:?}");
    }
}
