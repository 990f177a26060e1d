//! The legend of the ensembles: names, values, and visibility.

use egui::{
    Align2, Color32, FontId, Painter, Pos2, Rect, Response, Sense, Stroke, TextStyle, Ui, Visuals, WidgetInfo, pos2,
    vec2,
};
use valleyscope_engine::optimizer::Marker;
use valleyscope_engine::simulation::SimulationSpec;
use valleyscope_experiments::preset::LETTERS;
use valleyscope_experiments::view::ticks::significant;

use super::CanvasLayout;
use crate::app::landscape::branches::BRANCH_OPACITY;
use crate::app::landscape::editor::Document;
use crate::app::landscape::live::{LegendState, Live};
use crate::app::landscape::plots::MeanLoss;
use crate::app::widgets::icons::{COLOR_HINT, color_menu, color_of, draw_marker, marker_of};
use crate::app::widgets::number::rounded;
use crate::app::widgets::theme::text_width;
use crate::draw::short_name;
use crate::player::{BranchView, EnsembleView, SessionView};

const PADDING: f32 = 7.0;
/// The parts of the padding outside and inside of a row.
const ROW_MARGIN: f32 = 2.0;
const ROW_PADDING: f32 = PADDING - ROW_MARGIN;
const MARKER: f32 = 18.0;
const GAP: f32 = 14.0;
const HEADING: &str = "mean L";
const WIDEST_VALUE: &str = "−0.0000";
/// The share of the canvas' width for names with settings, and for names without any.
const NAME_SHARES: [f32; 2] = [0.4, 0.55];
/// The share of the canvas' width for a row with its value, and the least width of a name in it, in heights of type.
const ROW_SHARE: f32 = 0.65;
const LEAST_NAME: f32 = 4.0;
/// The number of rows that a legend has before it is folded, and the number of the lowest losses in a folded one.
const MOST_ROWS: usize = 8;
const FOLDED_ROWS: usize = 5;

/// The colours of texts on the canvas, with a contrast of 4.5:1 or more on any colour of the canvas.
#[derive(Clone, Copy)]
pub(crate) struct OverlayColors {
    pub background: Color32,
    pub text: Color32,
    /// The colour of less important texts.
    pub weak: Color32,
    warning: Color32,
    /// The frame of a focused row, and with less opacity its background.
    focus: Color32,
}

impl OverlayColors {
    pub(crate) fn of(visuals: &Visuals) -> OverlayColors {
        match visuals.dark_mode {
            true => OverlayColors {
                background: Color32::from_black_alpha(190),
                text: Color32::from_gray(240),
                weak: Color32::from_gray(205),
                warning: Color32::from_rgb(255, 170, 120),
                focus: Color32::WHITE,
            },
            false => OverlayColors {
                background: Color32::from_white_alpha(225),
                text: Color32::from_gray(25),
                weak: Color32::from_gray(75),
                warning: Color32::from_rgb(150, 45, 0),
                focus: Color32::BLACK,
            },
        }
    }
}

struct Row {
    id: u32,
    name: String,
    /// The name as it is drawn, without the settings that have no room.
    drawn_name: String,
    /// The mean loss as it is shown, or a mark with the number of diverged particles, in a line for each simulation.
    value: String,
    loss: String,
    /// The first mean loss as it is shown; `None` if a particle has diverged.
    mean: Option<f64>,
    diverged: String,
    marker: Marker,
    color: Color32,
    /// Whether the colour was chosen for the optimizer.
    is_color_chosen: bool,
    shown: bool,
}

impl Row {
    /// Sets the colour in all simulations with the optimizer, or that of the recorded cloud; `None` restores the usual
    /// one.
    fn choose_color(&self, color: Option<[u8; 3]>, document: &mut Document, live: &mut Live) {
        for cloud in live.recorded.iter_mut().filter(|cloud| cloud.optimizer.id == self.id) {
            cloud.optimizer.color = color;
        }
        for spec in document.specs_mut() {
            let names = spec.shown_names();
            for (optimizer, name) in spec.optimizers.iter_mut().zip(names) {
                if (optimizer.id, &name) == (self.id, &self.name) {
                    optimizer.color = color;
                }
            }
        }
    }

    /// Returns the value, or, where there is no column of values, only an essential one.
    fn shown_value(&self, in_column: bool) -> &str {
        if in_column || !self.diverged.is_empty() { &self.value } else { "" }
    }
}

/// Returns the rows of all simulations: an optimizer of several once, with its values in all of them.
fn rows(document: &Document, live: &Live) -> Vec<Row> {
    let specs: Vec<SimulationSpec> = document.specs().map(|spec| live.with_recorded(spec)).collect();
    let of_simulation = |(index, spec): (usize, &SimulationSpec)| -> Vec<(String, &EnsembleView)> {
        let names = spec.shown_names();
        let named = |view| Some((names[position(spec, view)?].clone(), view));
        live.session(index).into_iter().flat_map(|session| &session.ensembles).filter_map(named).collect()
    };
    // Several values have less room.
    let digits = if specs.len() > 1 { 3 } else { 4 };
    let all: Vec<Vec<_>> = specs.iter().enumerate().map(of_simulation).collect();
    let mut rows: Vec<Row> = Vec::new();
    for ((name, view), spec) in all.iter().zip(&specs).flat_map(|(of, spec)| of.iter().map(move |it| (it, spec))) {
        let id = view.optimizer;
        if rows.iter().any(|row| (row.id, &row.name) == (id, name)) {
            continue;
        }
        let same = |of: &Vec<(String, &EnsembleView)>| {
            of.iter().find(|it| (it.1.optimizer, &it.0) == (id, name)).map(|it| texts(it.1, digits))
        };
        let texts: Vec<Option<[String; 3]>> = all.iter().map(same).collect();
        let text = |text: &Option<[String; 3]>, part: usize| text.as_ref().map_or("–", |text| &text[part]).to_owned();
        let joined = |part| texts.iter().map(|it| text(it, part)).collect::<Vec<_>>().join("\n");
        rows.push(Row {
            id,
            name: name.clone(),
            drawn_name: String::new(),
            value: joined(0),
            loss: joined(1),
            mean: shown_mean(view),
            diverged: texts
                .iter()
                .flatten()
                .map(|[.., text]| text)
                .find(|text| !text.is_empty())
                .cloned()
                .unwrap_or_default(),
            marker: marker_of(&spec.optimizers, id),
            color: color_of(&spec.optimizers, id),
            is_color_chosen: position(spec, view).is_some_and(|index| spec.optimizers[index].color.is_some()),
            shown: !live.hidden.contains(&id),
        });
    }
    rows
}

fn position(spec: &SimulationSpec, view: &EnsembleView) -> Option<usize> {
    spec.optimizers.iter().position(|optimizer| optimizer.id == view.optimizer)
}

/// Returns the mean loss of an ensemble as it is shown; `None` if a particle has diverged.
fn shown_mean(view: &EnsembleView) -> Option<f64> {
    let mean = MeanLoss::of(view.sample.loss, view.particles, view.sample.diverged)?;
    Some(if mean.is_nothing() { 0.0 } else { rounded(mean.mean, 4) })
}

/// Formats the value of a row, the mean loss, and the number of diverged particles, if there are any.
fn texts(view: &EnsembleView, digits: usize) -> [String; 3] {
    let loss = if shown_mean(view) == Some(0.0) { "0".to_owned() } else { significant(view.sample.loss.mean, digits) };
    // A mean over particles of which some are not finite adds nothing to the mark.
    let (value, diverged) = match view.sample.diverged {
        0 => (loss.clone(), String::new()),
        all if all as usize == view.particles => ("✗ all".to_owned(), "all diverged".to_owned()),
        some => (format!("✗ {some}"), format!("{some} diverged")),
    };
    [value, loss, diverged]
}

/// The entry of a branch, whose particles are pale.
struct Note {
    /// The id of the branch.
    id: u64,
    label: String,
    /// The label as it is drawn.
    drawn: String,
    /// The mean loss of each shown optimizer.
    losses: String,
}

fn notes(spec: &SimulationSpec, live: &Live, width_of: impl Fn(&str) -> f32, most: f32) -> Vec<Note> {
    let note = |branch: &BranchView| Note {
        id: branch.id,
        label: live.label_of(branch, spec),
        drawn: elided(&live.short_label_of(branch, spec), &width_of, [most; 2]),
        losses: mean_losses(spec, live, &branch.session),
    };
    live.shown_branches_of(0).map(note).collect()
}

/// Formats the mean losses of a branch, as in "Adam 0.12, FOCUS 0.08".
pub(crate) fn mean_losses(spec: &SimulationSpec, live: &Live, session: &SessionView) -> String {
    let loss = |view: &EnsembleView| {
        let name = spec.name_of(view.optimizer)?;
        Some(format!("{name} {}", significant(view.sample.loss.mean, 4)))
    };
    live.visible_of(session).filter_map(loss).collect::<Vec<_>>().join(", ")
}

/// Sorts rows by their mean losses as they are shown, the lowest first and diverged ones last. Equal ones stay in the
/// order of the last frame, as do all while the pointer is on them.
fn sorted(mut rows: Vec<Row>, state: &mut LegendState, pointer: Option<Pos2>) -> Vec<Row> {
    let before = |row: &Row| state.order.iter().position(|id| *id == row.id).unwrap_or(usize::MAX);
    rows.sort_by_key(before);
    let is_held = state.area.zip(pointer).is_some_and(|(area, pointer)| area.contains(pointer));
    if !is_held {
        rows.sort_by(|a, b| match (a.mean, b.mean) {
            (Some(a), Some(b)) => a.total_cmp(&b),
            (a, b) => b.is_some().cmp(&a.is_some()),
        });
    }
    state.order = rows.iter().map(|row| row.id).collect();
    rows
}

/// Folds many rows to those with the lowest losses, the chosen ones and the one that is pointed at. Returns the text of
/// the entry that unfolds or folds them, if there are many.
fn folded(rows: &mut Vec<Row>, state: &LegendState, chosen: [Option<u32>; 2]) -> Option<String> {
    let (count, lowest) = (rows.len(), rows.iter().take(FOLDED_ROWS).map(|row| row.id).collect::<Vec<_>>());
    if count <= MOST_ROWS || state.is_unfolded {
        return (count > MOST_ROWS).then(|| "Show fewer".to_owned());
    }
    rows.retain(|row| lowest.contains(&row.id) || chosen.contains(&Some(row.id)));
    Some(format!("+ {} more", count - rows.len()))
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
pub(crate) struct Legend {
    /// The area of the legend; empty without entries.
    pub area: Rect,
    rows: Vec<Row>,
    /// The text of the row that unfolds or folds the others.
    fold: Option<String>,
    notes: Vec<Note>,
    font: FontId,
    /// The height of a row, in points.
    line: f32,
    /// True if there is a column of values; without one, rows show only essential values.
    shows_values: bool,
}

impl Legend {
    /// Lays the legend of a single simulation out on its canvas; `spec` has the recorded clouds, too, and `pointed` is the
    /// optimizer at the pointer.
    pub(super) fn lay_out(
        ui: &Ui,
        layout: &CanvasLayout,
        (document, spec): (&Document, &SimulationSpec),
        live: &mut Live,
        pointed: Option<u32>,
    ) -> Legend {
        let CanvasLayout { canvas, compact, .. } = *layout;
        let font = layout.font.clone();
        let pointer = ui.input(|input| input.pointer.hover_pos());
        let mut rows = sorted(rows(document, live), &mut live.legend, pointer);
        let fold = folded(&mut rows, &live.legend, [live.selected.map(|it| it.optimizer), pointed]);
        let width_of = |text: &str| text_width(ui, &font, text);
        let widest =
            |rows: &[Row], text: &dyn Fn(&Row) -> &str| rows.iter().map(|row| width_of(text(row))).fold(0.0, f32::max);
        let line = (font.size * if rows.len() > 4 { 1.25 } else { 1.45 }).round();
        let values = widest(&rows, &|row| &row.value).max(width_of(HEADING));
        let room = ROW_SHARE * canvas.width() - MARKER - GAP - values - 2.0 * PADDING;
        let is_roomy = room >= LEAST_NAME * font.size && 0.5 * canvas.height() > line * (rows.len() + 1) as f32;
        let shows_values = !compact || is_roomy;
        let room = if is_roomy { room } else { f32::INFINITY };
        for row in &mut rows {
            row.drawn_name = elided(&row.name, width_of, NAME_SHARES.map(|share| (share * canvas.width()).min(room)));
        }
        let notes = notes(spec, live, width_of, NAME_SHARES[1] * canvas.width());
        let names = widest(&rows, &|row| &row.drawn_name).max(fold.as_deref().map_or(0.0, width_of));
        let values = if shows_values { values } else { widest(&rows, &|row| row.shown_value(false)) };
        let width = names + if values > 0.0 { GAP + values } else { 0.0 };
        let width = MARKER + notes.iter().map(|note| width_of(&note.drawn)).fold(width, f32::max);
        let lines = rows.len() + notes.len() + usize::from(shows_values) + usize::from(fold.is_some());
        let size = vec2(width + 2.0 * PADDING, line * lines as f32 + 2.0 * PADDING - 4.0);
        let area = match rows.is_empty() {
            true => Rect::NOTHING,
            false => Rect::from_min_size(pos2(canvas.right() - size.x - 8.0, canvas.top() + 8.0), size),
        };
        live.legend.area = Some(area);
        Legend { area, rows, fold, notes, font, line, shows_values }
    }

    /// Draws the legend. A click on a row hides or shows its ensemble, and a right click chooses its colour.
    pub(crate) fn show(&self, ui: &mut Ui, canvas: Rect, document: &mut Document, live: &mut Live) {
        if self.rows.is_empty() {
            return;
        }
        let painter = ui.painter().with_clip_rect(canvas);
        let colors = OverlayColors::of(ui.visuals());
        painter.rect_filled(self.area, 5.0, colors.background);
        let inner = self.area.shrink2(vec2(ROW_MARGIN, PADDING - 2.0));
        let mut top = inner.top();
        if self.shows_values {
            let right = pos2(inner.right() - ROW_PADDING, top);
            painter.text(right, Align2::RIGHT_TOP, HEADING, self.font.clone(), colors.weak);
            top += self.line;
        }
        for row in &self.rows {
            let area = Rect::from_x_y_ranges(inner.x_range(), top..=top + self.line);
            let response = ui.interact(area, ui.scope_id().with(("legend", row.id)), Sense::click());
            let value = row.shown_value(self.shows_values);
            row.show(&painter, response, value, (&self.font, colors), document, live);
            top += self.line;
        }
        if let Some(text) = &self.fold {
            let area = Rect::from_x_y_ranges(inner.x_range(), top..=top + self.line);
            let response = ui.interact(area, ui.scope_id().with("fold of legend"), Sense::click());
            show_fold(&painter, response, text, &self.font, colors, live);
            top += self.line;
        }
        for note in &self.notes {
            let area = Rect::from_x_y_ranges(inner.x_range(), top..=top + self.line);
            let response = ui.interact(area, ui.scope_id().with(("branch in legend", note.id)), Sense::hover());
            note.show(&painter, response, &self.font, colors);
            top += self.line;
        }
    }
}

impl Note {
    /// Draws the entry into the area of `response`.
    fn show(&self, painter: &Painter, response: Response, font: &FontId, colors: OverlayColors) {
        response.widget_info(|| WidgetInfo::labeled(egui::Role::Label, true, format!("Pale: {}", self.label)));
        let (left, middle) = (response.rect.left() + ROW_PADDING, response.rect.center().y);
        painter.circle_filled(pos2(left + 6.0, middle), 3.5, colors.text.gamma_multiply(BRANCH_OPACITY));
        painter.text(pos2(left + MARKER, middle), Align2::LEFT_CENTER, &self.drawn, font.clone(), colors.weak);
        response.on_hover_text(format!("{}\nMean loss: {}", self.label, self.losses));
    }
}

impl Row {
    /// Draws the row into the area of `response`. A click hides or shows its ensemble; a right click chooses its colour.
    fn show(
        &self,
        painter: &Painter,
        response: Response,
        value: &str,
        (font, OverlayColors { text, warning, focus, .. }): (&FontId, OverlayColors),
        document: &mut Document,
        live: &mut Live,
    ) {
        let area = response.rect;
        response.widget_info(|| {
            let mut info = WidgetInfo::selected(egui::Role::CheckBox, true, self.shown, format!("Show {}", self.name));
            info.current_text_value = Some(format!("mean loss {} {}", self.loss, self.diverged));
            info
        });
        if response.hovered() || response.has_focus() {
            painter.rect_filled(area, 3.0, focus.gamma_multiply(0.11));
        }
        if response.has_focus() {
            painter.rect_stroke(area, 3.0, Stroke::new(1.0, focus), egui::StrokeKind::Inside);
        }
        let opacity = if self.shown { 1.0 } else { 0.4 };
        let text = text.gamma_multiply(opacity);
        let (left, right, middle) = (area.left() + ROW_PADDING, area.right() - ROW_PADDING, area.center().y);
        let fill = if self.shown { self.color } else { Color32::TRANSPARENT };
        let outline = if self.shown { Color32::BLACK } else { text };
        painter.add(draw_marker(self.marker, pos2(left + 6.0, middle), 4.5, fill, outline));
        let name_at = pos2(left + MARKER, middle);
        let name = painter.text(name_at, Align2::LEFT_CENTER, &self.drawn_name, font.clone(), text);
        if !self.shown {
            painter.hline(name.x_range(), middle, Stroke::new(1.0, text));
        }
        let color = if self.diverged.is_empty() { text } else { warning.gamma_multiply(opacity) };
        painter.text(pos2(right, middle), Align2::RIGHT_CENTER, value, font.clone(), color);
        let hint = if self.shown { "Click to hide" } else { "Click to show" };
        let hint = format!("{hint} {}. {COLOR_HINT} {}", self.name, self.diverged);
        let response = response.on_hover_text(hint.trim_end());
        if response.clicked() {
            let _ = live.hidden.remove(&self.id) || live.hidden.insert(self.id);
        }
        let rgb = [self.color.r(), self.color.g(), self.color.b()];
        if let Some(color) = color_menu(&response, &self.name, rgb, self.is_color_chosen) {
            self.choose_color(color, document, live);
        }
    }
}

/// Draws the entry that unfolds or folds a legend into the area of `response`.
fn show_fold(painter: &Painter, response: Response, text: &str, font: &FontId, colors: OverlayColors, live: &mut Live) {
    let name = if live.legend.is_unfolded { "Fold the legend" } else { "Unfold the legend" };
    response.widget_info(|| WidgetInfo::labeled(egui::Role::Button, true, format!("{name}: {text}")));
    let is_lit = response.hovered() || response.has_focus();
    let at = pos2(response.rect.left() + ROW_PADDING + MARKER, response.rect.center().y);
    let color = if is_lit { colors.text } else { colors.weak };
    painter.text(at, Align2::LEFT_CENTER, text, font.clone(), color);
    if response.on_hover_cursor(egui::CursorIcon::PointingHand).clicked() {
        live.legend.is_unfolded = !live.legend.is_unfolded;
    }
}

/// Shows the legend in rows above the canvas, for presentations and landscapes side by side, or without the hidden ones
/// for pictures.
pub(crate) fn show_rows(ui: &mut Ui, document: &mut Document, live: &mut Live, is_picture: bool) {
    let font = TextStyle::Body.resolve(ui.style());
    let visuals = ui.visuals();
    let colors = OverlayColors {
        background: Color32::TRANSPARENT,
        text: visuals.text_color(),
        weak: visuals.weak_text_color(),
        warning: visuals.warn_fg_color,
        focus: visuals.strong_text_color(),
    };
    let heading = match document.count() {
        1 => HEADING.to_owned(),
        count => LETTERS[..count].iter().map(|letter| format!("{HEADING} {letter}")).collect::<Vec<_>>().join("\n"),
    };
    let heading_size = ui.painter().layout_no_wrap(heading.clone(), font.clone(), colors.weak).size();
    let line = (0.3 * font.size + heading_size.y).round();
    let side = if is_picture { 0 } else { 8 };
    egui::Frame::NONE.inner_margin(egui::Margin { left: side, right: side, top: 4, bottom: 0 }).show(ui, |ui| {
        ui.horizontal_wrapped(|ui| {
            ui.spacing_mut().item_spacing = vec2(8.0, 0.0);
            let (_, response) = ui.allocate_exact_size(vec2(heading_size.x, line), Sense::hover());
            ui.painter().text(response.rect.left_center(), Align2::LEFT_CENTER, &heading, font.clone(), colors.weak);
            let most = ui.max_rect().width();
            // The widest usual value, so that entries stay where they are while the run goes on.
            let reserved = text_width(ui, &font, WIDEST_VALUE);
            let pointer = ui.input(|input| input.pointer.hover_pos());
            let mut rows = sorted(rows(document, live), &mut live.legend, pointer);
            let chosen_one = live.selected.map(|it| it.optimizer);
            let fold = if is_picture { None } else { folded(&mut rows, &live.legend, [chosen_one, None]) };
            rows.retain(|row| row.shown || !is_picture);
            let (width_of, around) = (|text: &str| text_width(ui, &font, text), MARKER + GAP + 2.0 * ROW_PADDING);
            let value_of = |row: &Row| width_of(&row.value).max(reserved);
            let width = |row: &Row| ui.spacing().item_spacing.x + around + width_of(&row.name) + value_of(row);
            let is_short = heading_size.x + rows.iter().map(width).sum::<f32>() > most;
            for mut row in rows {
                let width_of = |text: &str| text_width(ui, &font, text);
                let value = width_of(&row.value).max(reserved);
                let room = (most - value - around).max(0.0);
                let name = if is_short { short_name(&row.name) } else { &row.name };
                row.drawn_name = elided(name, width_of, NAME_SHARES.map(|share| (share * most).min(room)));
                // With no room for both, the value covers the end of the name.
                let size = vec2((around + width_of(&row.drawn_name) + value).min(most), line);
                let (_, response) = ui.allocate_exact_size(size, Sense::click());
                row.show(ui.painter(), response, &row.value, (&font, colors), document, live);
            }
            if let Some(text) = &fold {
                let size = vec2(MARKER + GAP + text_width(ui, &font, text), line);
                let (_, response) = ui.allocate_exact_size(size, Sense::click());
                show_fold(ui.painter(), response, text, &font, colors, live);
            }
            live.legend.area = Some(ui.min_rect());
        });
    });
}

#[cfg(test)]
mod tests {
    use egui::pos2;
    use valleyscope_engine::optimizer::MarkerShape;

    use super::*;

    fn row(id: u32, loss: f64, diverged: u32) -> Row {
        Row {
            id,
            name: String::new(),
            drawn_name: String::new(),
            value: String::new(),
            loss: significant(loss, 4),
            mean: (diverged == 0).then(|| rounded(loss, 4)),
            diverged: String::new(),
            marker: Marker::filled(MarkerShape::Circle),
            color: Color32::BLACK,
            is_color_chosen: false,
            shown: true,
        }
    }

    fn ids(rows: &[Row]) -> Vec<u32> {
        rows.iter().map(|row| row.id).collect()
    }

    #[test]
    fn rows_are_sorted_by_their_losses_but_not_under_the_pointer() {
        let mut state = LegendState::default();
        let with =
            |losses: [f64; 3]| vec![row(0, losses[0], 0), row(1, losses[1], 0), row(2, losses[2], 0), row(3, -9.0, 1)];
        assert_eq!(ids(&sorted(with([0.5, 0.5, -1.0]), &mut state, None)), [2, 0, 1, 3]);
        assert_eq!(ids(&sorted(with([0.5, 0.499_999, -1.0]), &mut state, None)), [2, 0, 1, 3], "equal as shown");
        assert_eq!(ids(&sorted(with([0.5, 0.4999, -1.0]), &mut state, None)), [2, 1, 0, 3]);
        assert_eq!(ids(&sorted(with([0.5, 0.51, -1.0]), &mut state, None)), [2, 0, 1, 3]);
        state.area = Some(Rect::from_min_size(pos2(0.0, 0.0), vec2(50.0, 50.0)));
        let on_legend = Some(pos2(20.0, 20.0));
        assert_eq!(ids(&sorted(with([0.5, -2.0, -1.0]), &mut state, on_legend)), [2, 0, 1, 3]);
        assert_eq!(ids(&sorted(with([0.5, -2.0, -1.0]), &mut state, None)), [1, 2, 0, 3]);
    }

    #[test]
    fn many_rows_are_folded_to_the_lowest_the_chosen_and_the_pointed_ones() {
        let all = || (0..16).map(|id| row(id, f64::from(id), 0)).collect::<Vec<_>>();
        let (mut rows, mut state) = (all(), LegendState::default());
        let text = folded(&mut rows, &state, [Some(12), Some(3)]);
        assert_eq!((ids(&rows), text.as_deref()), (vec![0, 1, 2, 3, 4, 12], Some("+ 10 more")));
        state.is_unfolded = true;
        rows = all();
        assert_eq!(folded(&mut rows, &state, [None; 2]).as_deref(), Some("Show fewer"));
        assert_eq!(rows.len(), 16);
        rows.truncate(MOST_ROWS);
        assert_eq!(folded(&mut rows, &state, [None; 2]), None, "a short legend is not folded");
    }

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
