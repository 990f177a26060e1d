//! The legend, the readout at the pointer, and the table of the steps and times at which runs reach a loss.

use std::sync::Arc;

use egui::{
    Grid, Label, Response, RichText, Role, ScrollArea, Sense, Shape, Stroke, TextStyle, Ui, Vec2, WidgetInfo, vec2,
};
use valleyscope_experiments::view::range::{Crossing, common_level, first_crossing, speedup};
use valleyscope_experiments::view::ticks::{grouped, significant};
use valleyscope_experiments::view::{AxisScale, Pen};
use valleyscope_runs::{MetricId, MetricInfo, RunFolder};

use super::names::{Name, NamedCurves, color, dash, rgb};
use super::track::{Nearest, Track, TrackView};
use crate::app::widgets::form::Outlined;
use crate::app::widgets::form::{small_button, visible_scroll_bar};
use crate::app::widgets::icons::{COLOR_HINT, color_menu};
use crate::app::widgets::number;
use crate::app::widgets::number::TypedField;
use crate::app::widgets::plot::readout;
use crate::app::widgets::theme::text_width;
use crate::runs::{Format, is_held_out};

/// The longest title in the legend where space is scarce, in points.
const LONGEST: f32 = 240.0;

/// The largest part of the height for a legend whose lines are scrolled.
const HIGHEST_LEGEND: f32 = 0.25;

/// The size of a line sample in the legend, in points.
const LINE: Vec2 = vec2(20.0, 12.0);
const WIDTH: f32 = 2.5;
const GAP: f32 = 6.0;
const BETWEEN: f32 = 14.0;

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
    let most = (HIGHEST_LEGEND * ui.available_height()).max(2.0 * line_height);
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

/// Breaks the entries of a legend into lines; returns their widths. Entries that do not fit into one line are in
/// columns of equal width, in which long titles are cut.
fn lines(wanted: &[Wanted], room: f32) -> Vec<Vec<Entry>> {
    let whole = |entry: &Wanted| Entry { title: entry.title, width: entry.title + entry.rest };
    let line: Vec<Entry> = wanted.iter().map(whole).collect();
    if line.iter().map(|entry| entry.width + BETWEEN).sum::<f32>() - BETWEEN <= room {
        return vec![line];
    }
    let widest = |width: fn(&Wanted) -> f32| wanted.iter().map(width).fold(1.0, f32::max);
    let column = widest(|entry| entry.title.min(LONGEST) + entry.rest);
    let columns = (((room + BETWEEN) / (column + BETWEEN)) as usize).max(1);
    let width = ((room + BETWEEN) / columns as f32 - BETWEEN).min(widest(|entry| entry.title + entry.rest));
    let entry = |wanted: &Wanted| Entry { title: wanted.title.min(width - wanted.rest).max(1.0), width };
    wanted.chunks(columns).map(|line| line.iter().map(entry).collect()).collect()
}

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

pub(super) fn last_value(group: &NamedCurves<'_>, track: &Track, view: &TrackView) -> String {
    let last = track.nearest(view.horizontal, AxisScale::Linear, f64::MAX);
    format!("{} {}", group.name.whole(), last.map_or_else(|| "—".to_owned(), |last| significant(last.value, 4)))
}

/// The largest number of runs in a tooltip.
const MOST_VALUES: usize = 8;

/// Shows the runs' values at the pointer's position, the largest first; of many runs those of the nearest curves.
pub(super) fn tooltip(
    response: &egui::Response,
    info: &MetricInfo,
    view: &TrackView,
    at: [f64; 2],
    curves: &[(&NamedCurves<'_>, &Arc<Track>)],
    marks: &[String],
) {
    let found = curves
        .iter()
        .filter_map(|(group, track)| Some((*group, *track, track.nearest(view.horizontal, view.scales[0], at[0])?)));
    let mut found: Vec<_> = found.collect();
    let others = found.len().saturating_sub(MOST_VALUES);
    if others > 0 {
        let away = |nearest: &Nearest| (view.scales[1].position(nearest.smooth) - at[1]).abs();
        found.sort_by(|(.., a), (.., b)| away(a).total_cmp(&away(b)));
        found.truncate(MOST_VALUES);
    }
    found.sort_by(|(.., a), (.., b)| b.smooth.total_cmp(&a.smooth));
    let more = (others > 0).then(|| format!("and {others} more, farther from the pointer"));
    // Curves with points at different positions name theirs.
    let positions: Vec<String> = found.iter().map(|(.., nearest)| view.horizontal.text(nearest.x)).collect();
    let common = positions.first().filter(|first| positions.iter().all(|position| position == *first));
    let title = common.map_or_else(|| info.title.clone(), |position| format!("{}, {position}", info.title));
    let note = marks.iter().cloned().chain(more).collect::<Vec<_>>().join("\n");
    readout(response, &title, Some(note.as_str()).filter(|note| !note.is_empty()), |ui| {
        for ((group, track, found), position) in found.iter().zip(&positions) {
            ui.horizontal(|ui| {
                line(ui, group.pen);
                ui.add(Label::new(RichText::new(group.name.whole()).small()).extend());
            });
            if common.is_none() {
                ui.weak(position);
            }
            let number = |value: f64| Format::of_metric(info).number(value);
            let mut text = number(found.value);
            if let Some(deviation) = found.deviation {
                text.push_str(&format!(" ± {}", number(deviation)));
            }
            if track.is_smoothed() {
                text.push_str(&format!(", smoothed {}", number(found.smooth)));
            }
            ui.label(text);
            ui.end_row();
        }
    });
}

/// The largest height of the table, in points, and as a fraction of the height below the plots.
const HIGHEST: f32 = 150.0;
const HIGHEST_PART: f32 = 0.25;
/// The largest height of the table in a low window, in points.
const LOWEST: f32 = 60.0;

#[derive(Default)]
pub(super) struct TimeToLoss {
    pub is_open: bool,
    /// The typed loss, instead of the loss that all runs reach.
    typed: Option<f64>,
    /// The first run of the baseline's group, instead of the slowest group.
    baseline: Option<RunFolder>,
    found: Option<Crossings>,
}

struct Crossings {
    metric: MetricId,
    typed: Option<f64>,
    tracks: Vec<Option<Arc<Track>>>,
    level: Option<f64>,
    crossings: Vec<Option<Crossing>>,
}

impl Crossings {
    fn of(metric: MetricId, typed: Option<f64>, tracks: Vec<Option<Arc<Track>>>) -> Crossings {
        let level = typed.or_else(|| {
            let curves: Option<Vec<_>> = tracks.iter().map(|track| Some(track.as_ref()?.points())).collect();
            common_level(curves?)
        });
        let crossings = tracks.iter().map(|track| first_crossing(track.as_ref()?.points(), level?)).collect();
        Crossings { metric, typed, tracks, level, crossings }
    }

    fn holds(&self, metric: MetricId, typed: Option<f64>, tracks: &[Option<Arc<Track>>]) -> bool {
        let pointer = |track: &Option<Arc<Track>>| track.as_ref().map(Arc::as_ptr);
        (self.metric, self.typed) == (metric, typed) && self.tracks.iter().map(pointer).eq(tracks.iter().map(pointer))
    }

    /// Finds the group that takes the most steps.
    fn slowest(&self) -> Option<usize> {
        let steps = |index: &usize| self.crossings[*index].map(|crossing| crossing.step);
        let known = (0..self.crossings.len()).filter(|index| steps(index).is_some());
        known.max_by(|a, b| steps(a).unwrap_or(0.0).total_cmp(&steps(b).unwrap_or(0.0)))
    }
}

impl TimeToLoss {
    pub(super) fn level(&self, metric: MetricId) -> Option<f64> {
        self.found.as_ref().filter(|found| self.is_open && found.metric == metric)?.level
    }

    /// Shows the table of these groups, whose known metrics are `infos`.
    pub(super) fn ui(&mut self, ui: &mut Ui, groups: &[NamedCurves<'_>], infos: &[MetricInfo]) {
        if !self.is_open || groups.is_empty() {
            return;
        }
        let Some((info, metric)) = compared(groups, infos) else {
            self.found = None;
            ui.weak("The runs have no losses so far.");
            return;
        };
        let tracks: Vec<_> = groups.iter().map(|group| group.drawn.tracks.get(&metric).cloned()).collect();
        if !self.found.as_ref().is_some_and(|found| found.holds(metric, self.typed, &tracks)) {
            self.found = Some(Crossings::of(metric, self.typed, tracks));
        }
        self.head(ui, info);
        let Some(found) = &self.found else { return };
        let chosen = groups.iter().position(|group| self.baseline.as_ref() == Some(&group.drawn.runs[0]));
        let baseline = chosen.filter(|index| found.crossings[*index].is_some()).or_else(|| found.slowest());
        let mut choice = None;
        let highest = (HIGHEST_PART * ui.available_height()).clamp(LOWEST, HIGHEST);
        ui.scope(|ui| {
            visible_scroll_bar(ui);
            ScrollArea::both().max_height(highest).auto_shrink([false, true]).id_salt("reaching a loss").show(
                ui,
                |ui| {
                    Grid::new("reaching a loss").num_columns(5).spacing([14.0, 3.0]).show(ui, |ui| {
                        for (index, group) in groups.iter().enumerate() {
                            let baseline = baseline.map(|it| (it == index, found.crossings[it]));
                            if row(ui, group, found.crossings[index], baseline) {
                                choice = Some(group.drawn.runs[0].clone());
                            }
                            ui.end_row();
                        }
                    });
                },
            );
        });
        self.baseline = choice.or(self.baseline.take());
    }

    fn head(&mut self, ui: &mut Ui, info: &MetricInfo) {
        let level = self.found.as_ref().and_then(|found| found.level);
        ui.horizontal(|ui| {
            ui.label(RichText::new(format!("{} of", info.title)).small());
            let shown = level.map_or_else(String::new, |level| significant(level, 5));
            let field = TypedField { name: "Loss to reach", width: 64.0 };
            let typed = field.show(ui, &shown, number::read);
            self.typed = typed.entered.or(self.typed);
            let help = "The largest of the runs' smallest losses";
            if small_button(ui, self.typed.is_some(), "All reach it", "The lowest loss that all runs reach", help) {
                self.typed = None;
            }
            ui.label(RichText::new("Compared with the slowest run, or with the chosen one").small().weak());
        });
    }
}

/// Chooses the loss by which the groups are compared: an evaluation on other data than those of training, if all groups
/// have it, else the training loss.
fn compared<'i>(groups: &[NamedCurves<'_>], infos: &'i [MetricInfo]) -> Option<(&'i MetricInfo, MetricId)> {
    let with_metric = |info: &'i MetricInfo| Some((info, info.metric()?));
    let is_of_all =
        |(_, metric): &(&MetricInfo, MetricId)| groups.iter().all(|group| group.drawn.tracks.contains_key(metric));
    let held_out = infos.iter().filter(|info| is_held_out(info)).filter_map(with_metric).find(is_of_all);
    held_out.or_else(|| MetricInfo::of_training_loss(infos).and_then(with_metric))
}

/// Shows the row of a group and its relation to the baseline; returns whether the user chose it as the baseline.
fn row(
    ui: &mut Ui,
    group: &NamedCurves<'_>,
    crossing: Option<Crossing>,
    baseline: Option<(bool, Option<Crossing>)>,
) -> bool {
    let (is_baseline, of_baseline) = baseline.unwrap_or_default();
    let name = group.name.whole();
    let is_chosen = ui
        .horizontal(|ui| {
            let radio = ui.add_enabled(crossing.is_some(), Outlined(egui::RadioButton::new(is_baseline, "")));
            let radio = radio.on_hover_text("Compare with this one").accessible_name(format!("Compare with {name}"));
            line(ui, group.pen);
            ui.add(Label::new(RichText::new(name).small()).extend());
            radio.clicked()
        })
        .inner;
    let Some(crossing) = crossing else {
        ui.label(RichText::new("does not reach it").small().weak());
        return is_chosen;
    };
    let mut cell = |text: String| drop(ui.label(RichText::new(text).small()));
    cell(format!("step {}", grouped(crossing.step.round() as u64)));
    cell(duration(crossing.wall_s));
    if let Some(baseline) = of_baseline.filter(|_| !is_baseline) {
        cell(speedup(baseline.step, crossing.step, ["fewer steps", "more steps"]));
        cell(speedup(baseline.wall_s, crossing.wall_s, ["less time", "more time"]));
    }
    is_chosen
}

/// Formats a duration such as `12.5 s` or `1:02:03`.
fn duration(seconds: f64) -> String {
    if seconds < 100.0 {
        return format!("{seconds:.1} s");
    }
    let whole = seconds.round() as u64;
    format!("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60)
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
        assert_eq!(laid_out(&[400.0, 400.0], 666.0), [[300.0, 300.0]]);
        assert_eq!(laid_out(&[260.0, 400.0], 666.0), [[260.0, 300.0]]);
        assert_eq!(laid_out(&[900.0], 500.0), [[474.0]]);
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
