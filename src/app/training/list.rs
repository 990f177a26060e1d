//! The list of runs, and the field in which a filter of runs is typed.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use egui::containers::menu::{MenuConfig, SubMenuButton};
use egui::text::{LayoutJob, TextFormat};
use egui::{
    Align, Button, Color32, ComboBox, FontSelection, Label, Layout, PopupCloseBehavior, ProgressBar, Response,
    RichText, Role, ScrollArea, Sense, Stroke, TextEdit, TextStyle, Ui, Vec2, Visuals, WidgetInfo, vec2,
};
use valleyscope_engine::terminal_escape::visible;
use valleyscope_experiments::view::ticks::grouped;
use valleyscope_runs::{Better, Concern, MetricInfo, RunFolder, Status, Unit};

use super::legend::line;
use super::names::{Pens, rgb};
use super::summary::{ListedRuns, Summary};
use crate::app::widgets::form::check_box;
use crate::app::widgets::icons::{color_button, color_picker};
use crate::app::widgets::theme::text_width;
use crate::runs::{Column, Columns, Filter, FilterError, Format, RunFacts, SortKey, lower_first, ordered};

/// The height of a run in the list, in points.
const ROW: f32 = 60.0;

/// The gap between runs, and above the first, in points.
const BETWEEN: f32 = 4.0;
const HEAD: f32 = 68.0;
/// The size of the button for a run's colour, in points.
const SWATCH: Vec2 = vec2(16.0, 14.0);

pub(super) fn height(runs: usize) -> f32 {
    HEAD + (ROW + BETWEEN) * runs as f32
}

#[derive(Default)]
pub(super) struct List {
    pub search: FilterField,
    /// The indices of the runs that the search finds, in order, with the inputs of the search.
    found: Vec<usize>,
    found_for: Option<([u64; 2], Vec<SortKey>)>,
}

#[derive(Clone, Copy)]
pub(super) struct ListInput<'i> {
    pub listed: &'i ListedRuns,
    /// The runs whose curves are shown.
    pub selected: &'i [RunFolder],
    pub pens: &'i Pens,
}

/// A request of the list or of the table to the panel.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum RunsAction {
    /// Shows the curves of these runs together with the shown ones, or hides them.
    Show(Vec<RunFolder>, bool),
    /// Shows the curves of these runs only, instead of the table.
    Open(Vec<RunFolder>),
    /// Shows the results of these runs over the settings that vary among them.
    Results(Vec<RunFolder>),
    /// Shows the table instead of the curves, or the curves.
    ShowTable(bool),
    /// Sets the colour of this run's curves; `None` restores its optimizer's.
    Color(RunFolder, Option<[u8; 3]>),
    Stop(Vec<RunFolder>),
    Compare(Vec<RunFolder>),
    Delete(Vec<RunFolder>),
    /// Adds a tag to these runs, or removes it.
    Tag(Vec<RunFolder>, String, bool),
    /// Opens the sheet of exports for runs, with their lines of the table as CSV.
    Export(Vec<RunFolder>, Vec<u8>),
    /// Asks for a folder whose runs are imported, or followed as they are written.
    Import {
        follows: bool,
    },
    /// Follows the runs in this folder no longer.
    Unfollow(PathBuf),
}

impl List {
    /// Shows the list in the table's order. `hides_curves` is whether the search applies to the plots, too.
    pub(super) fn ui(
        &mut self,
        ui: &mut Ui,
        input: ListInput<'_>,
        sort: &mut Vec<SortKey>,
        hides_curves: &mut bool,
    ) -> Option<RunsAction> {
        let ListInput { listed, selected, pens } = input;
        let runs = &listed.runs;
        let mut chosen = None;
        let has_none = runs.is_empty() && self.search.is_empty();
        ui.horizontal(|ui| {
            let table = ui.button("Table").on_hover_text("Show all runs in a table: columns, filters, groups");
            if table.accessible_name("Show the table of runs").clicked() {
                chosen = Some(RunsAction::ShowTable(true));
            }
            if has_none {
                return;
            }
            order_choice(ui, sort, &listed.columns);
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                let switch = ui.toggle_value(hides_curves, "Plots");
                let switch = switch.on_hover_text("Also hide the curves of runs that the search does not find");
                switch.accessible_name("Search the plots, too");
            });
        });
        if has_none {
            let text = if listed.generation == 0 { "Reading the runs…" } else { "No runs yet." };
            ui.add(Label::new(RichText::new(text).weak()).wrap());
            return chosen;
        }
        self.search.ui(ui, listed, f32::INFINITY);
        self.search.mistake(ui);
        self.find(listed, sort);
        if self.found.is_empty() {
            let text = format!("None of {} runs matches the search.", runs.len());
            ui.add(Label::new(RichText::new(text).weak()).wrap());
        }
        let found = &self.found;
        ScrollArea::vertical().auto_shrink(false).id_salt("runs").show_rows(ui, ROW, found.len(), |ui, rows| {
            for run in found[rows].iter().map(|index| &runs[*index]) {
                let is_selected = selected.contains(&run.run);
                let (shown, action) = row(ui, run, is_selected, pens);
                chosen = action.or(chosen.take());
                shown.context_menu(|ui| chosen = self.menu(ui, run, runs, pens).or(chosen.take()));
            }
        });
        chosen
    }

    fn menu(&self, ui: &mut Ui, run: &Summary, runs: &[Arc<Summary>], pens: &Pens) -> Option<RunsAction> {
        let only = ui.button("Show only this").clicked().then(|| RunsAction::Open(vec![run.run.clone()]));
        let these = Button::new(format!("Show only these {} found", self.found.len()));
        let these = ui.add_enabled(!self.search.is_empty(), these);
        let these = these.on_disabled_hover_text("Type a search to choose several runs.");
        let all = || RunsAction::Open(self.found.iter().map(|index| runs[*index].run.clone()).collect());
        let alike: Vec<RunFolder> =
            runs.iter().filter(|other| other.title == run.title).map(|other| other.run.clone()).collect();
        let text = format!("Results of all {} “{}”", alike.len(), run.title);
        let results = alike.len() > 1 && ui.button(text).clicked();
        let chosen =
            only.or_else(|| these.clicked().then(all)).or_else(|| results.then_some(RunsAction::Results(alike)));
        if chosen.is_some() {
            ui.close();
        }
        let color = color_entry(ui, run, pens).map(|color| RunsAction::Color(run.run.clone(), color));
        chosen.or(color)
    }

    /// Finds and sorts the runs again if they, the search or the order have changed.
    fn find(&mut self, ListedRuns { runs, generation, .. }: &ListedRuns, sort: &[SortKey]) {
        let generations = [*generation, self.search.generation];
        if self.found_for.as_ref().is_some_and(|(known, order)| *known == generations && order == sort) {
            return;
        }
        let facts: Vec<&RunFacts> = runs.iter().map(|run| &run.facts).collect();
        let found = (0..runs.len()).filter(|index| self.search.finds(&runs[*index])).collect();
        self.found = ordered(&facts, found, sort);
        self.found_for = Some((generations, sort.to_vec()));
    }
}

/// Shows the choice of the order: the newest first, or by a usual column of the table.
fn order_choice(ui: &mut Ui, sort: &mut Vec<SortKey>, columns: &Columns) {
    let name = |keys: &[SortKey]| match keys.first().and_then(|key| columns.get(&key.field)) {
        Some(column) => format!("by {}", lower_first(&column.title)),
        None => "newest first".to_owned(),
    };
    let combo = ComboBox::from_id_salt("sort runs").selected_text(name(sort)).width(104.0).truncate();
    let shown = combo.show_ui(ui, |ui| {
        let key = |column: &Column| {
            vec![SortKey { field: column.field.clone(), is_descending: column.better == Better::Higher }]
        };
        let usual = columns.iter().filter(|column| column.is_usual).map(key);
        for keys in std::iter::once(Vec::new()).chain(usual) {
            let name = name(&keys);
            ui.selectable_value(sort, keys, name);
        }
    });
    shown.response.accessible_name("Order of the runs");
}

/// Shows an entry of a run's menu that opens the picker of its curves' colour; returns the choice, if one is made.
pub(super) fn color_entry(ui: &mut Ui, run: &Summary, pens: &Pens) -> Option<Option<[u8; 3]>> {
    let stays_open = MenuConfig::new().close_behavior(PopupCloseBehavior::CloseOnClickOutside);
    let (color, is_chosen) = (rgb(pens.of(run), ui.theme()), pens.chosen(&run.run).is_some());
    let title = format!("Colour of {}", run.in_full());
    let menu = SubMenuButton::new("Colour").config(stays_open);
    menu.ui(ui, |ui| color_picker(ui, &title, color, is_chosen)).1.and_then(|shown| shown.inner)
}

fn row(ui: &mut Ui, run: &Summary, is_selected: bool, pens: &Pens) -> (Response, Option<RunsAction>) {
    let mut chosen = None;
    let size = vec2(ui.available_width(), ROW);
    let (rect, response) = ui.allocate_exact_size(size, Sense::click());
    response
        .widget_info(|| WidgetInfo::selected(egui::Role::Button, true, is_selected, format!("Run {}", run.in_full())));
    let visuals = ui.visuals();
    let fill = match (is_selected, response.hovered()) {
        (true, _) => visuals.selection.bg_fill.gamma_multiply(0.35),
        (false, true) => visuals.widgets.hovered.weak_bg_fill.gamma_multiply(0.5),
        (false, false) => Color32::TRANSPARENT,
    };
    ui.painter().rect_filled(rect, 4.0, fill);
    if response.has_focus() {
        ui.painter().rect_stroke(rect, 4.0, visuals.widgets.active.bg_stroke, egui::StrokeKind::Inside);
    }
    if response.clicked() {
        let several = ui.input(|input| input.modifiers.command || input.modifiers.shift);
        chosen = Some(if several {
            RunsAction::Show(vec![run.run.clone()], !is_selected)
        } else {
            RunsAction::Open(vec![run.run.clone()])
        });
    }
    let inside = egui::UiBuilder::new().max_rect(rect.shrink2(vec2(4.0, 2.0)));
    ui.scope_builder(inside, |ui| {
        ui.spacing_mut().item_spacing.y = 1.0;
        ui.horizontal(|ui| {
            let mut compared = is_selected;
            let check = check_box(ui, &mut compared, "").on_hover_text("Show together with the others");
            if check.accessible_name(format!("Compare {}", run.in_full())).changed() {
                chosen = Some(RunsAction::Show(vec![run.run.clone()], !is_selected));
            }
            line(ui, pens.of(run));
            let (color, is_chosen) = (rgb(pens.of(run), ui.theme()), pens.chosen(&run.run).is_some());
            let name = format!("Colour of {}", run.in_full());
            let color = ui.scope(|ui| {
                ui.spacing_mut().interact_size = SWATCH;
                color_button(ui, color, is_chosen, "Colour of the curves", &name)
            });
            if let Some(color) = color.inner {
                chosen = Some(RunsAction::Color(run.run.clone(), color));
            }
            warning_mark(ui, &run.concerns);
            let [name, _] = run.heading();
            ui.add(Label::new(RichText::new(name).strong()).selectable(false).truncate());
        });
        let color = status_color(ui.visuals(), &run.status);
        ui.add(Label::new(RichText::new(&run.status_line).small().color(color)).selectable(false).truncate());
        let done = run.steps.map_or(0.0, |steps| run.step() as f32 / steps.max(1) as f32);
        if run.is_open() {
            ui.add_space(1.0);
            let bar = ProgressBar::new(done.clamp(0.0, 1.0)).desired_height(3.0).desired_width(ui.available_width());
            ui.add(bar);
            ui.add_space(1.0);
        }
        match &run.forked {
            Some(forked) => {
                let step = format!(" at step {} · {}", grouped(forked.from_step), losses(run));
                let (color, name) = (ui.visuals().weak_text_color(), visible(&forked.from_run));
                line_with_name(ui, color, ["fork of ", &name, step.trim_end_matches(" · ")]);
            }
            None => {
                ui.add(Label::new(RichText::new(subtitle(run)).small().weak()).selectable(false).truncate());
            }
        }
    });
    (response.on_hover_text(tooltip(run)), chosen)
}

/// Shows a warning sign for a run with problems, which the tooltip lists.
pub(super) fn warning_mark(ui: &mut Ui, concerns: &[Concern]) {
    let Some(gravest) = concerns.first() else { return };
    let visuals = ui.visuals();
    let (sign, color) =
        if gravest.kind.is_grave() { ("✗", visuals.error_fg_color) } else { ("▲", visuals.warn_fg_color) };
    let label = ui.add(Label::new(RichText::new(sign).color(color)).selectable(false));
    label.widget_info(|| WidgetInfo {
        label: Some(format!("Not well: {}", concerns_text(concerns))),
        ..WidgetInfo::new(egui::Role::Image)
    });
}

fn concerns_text(concerns: &[Concern]) -> String {
    concerns.iter().map(|concern| concern.description.as_str()).collect::<Vec<_>>().join("\n")
}

pub(super) fn status_color(visuals: &Visuals, status: &Status) -> Color32 {
    match status {
        Status::Failed(_) | Status::Crashed { .. } => visuals.error_fg_color,
        Status::Silent { .. } => visuals.warn_fg_color,
        Status::Running(_) | Status::Starting => visuals.hyperlink_color,
        Status::Stopped | Status::Finished => visuals.weak_text_color(),
    }
}

/// Formats the second line of a run's entry: its subtitle and the last loss, on the test data if evaluated.
fn subtitle(run: &Summary) -> String {
    let [_, second] = run.heading();
    let synthetic = run.facts.text("synthetic").unwrap_or_default();
    let parts = [losses(run), visible(&synthetic).into_owned(), second];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" · ")
}

/// Formats the newest evaluation, such as `test 0.1234 · 97.12 %`, or else the last loss; empty without either.
fn losses(run: &Summary) -> String {
    let part = |(info, value): (&MetricInfo, f64)| {
        let text = Format::of_metric(info).number(value);
        let word = info.title.split_whitespace().next().unwrap_or_default().to_lowercase();
        if info.unit == Unit::Fraction { text } else { format!("{word} {text}") }
    };
    let evaluated: Vec<String> = run.evaluation().map(part).collect();
    if evaluated.is_empty() { train_loss(run).unwrap_or_default() } else { evaluated.join(" · ") }
}

fn train_loss(run: &Summary) -> Option<String> {
    Some(format!("train loss {}", Format::Measured.number(run.loss()?)))
}

pub(super) fn tooltip(run: &Summary) -> String {
    let began = run.facts.text("began").map(|time| format!("begun {time} UTC"));
    let folder = run.run.path().display().to_string();
    let [name, _] = run.heading();
    let concerns = Some(concerns_text(&run.concerns)).filter(|text| !text.is_empty());
    let ranks = run.ranks.map(|ranks| ranks.to_string());
    let fork = run.forked.as_ref().map(|forked| visible(&forked.sentence()).into_owned());
    let lines = [Some(name), concerns, Some(subtitle(run)), fork, ranks, train_loss(run), began, Some(folder)];
    lines.into_iter().flatten().collect::<Vec<_>>().join("\n")
}

const MOST_OFFERED: usize = 12;

/// A typed filter. The last valid one stays active while the text is invalid.
#[derive(Default)]
pub(super) struct FilterField {
    pub text: String,
    parsed: Option<(String, Arc<Columns>)>,
    filter: Filter,
    mistake: Option<FilterError>,
    /// Increases with each different filter.
    pub generation: u64,
}

impl FilterField {
    pub(super) fn is_empty(&self) -> bool {
        self.filter.is_empty()
    }

    pub(super) fn finds(&self, run: &Summary) -> bool {
        self.filter.is_empty() || self.filter.admits(&run.facts, &run.texts())
    }

    /// Parses the text again if it or the columns have changed. A word that no run has is a mistake: it may be the
    /// beginning of another word, or of a field.
    pub(super) fn update(&mut self, ListedRuns { columns, runs, .. }: &ListedRuns) {
        let is_same = |(text, known): &(String, Arc<Columns>)| *text == self.text && Arc::ptr_eq(known, columns);
        if self.parsed.as_ref().is_some_and(is_same) {
            return;
        }
        self.parsed = Some((self.text.clone(), Arc::clone(columns)));
        let facts = runs.iter().map(|run| (&run.facts, run.texts()));
        let parsed = Filter::parse(&self.text, columns).and_then(|filter| match filter.unknown_word(facts) {
            Some(word) if !runs.is_empty() => Err(self.unknown(word, columns)),
            _ => Ok(filter),
        });
        match parsed {
            Ok(filter) => {
                self.mistake = None;
                if filter != self.filter {
                    self.filter = filter;
                    self.generation += 1;
                }
            }
            Err(mistake) => self.mistake = Some(mistake),
        }
    }

    fn unknown(&self, word: &str, columns: &Columns) -> FilterError {
        let range = self.text.to_lowercase().find(word).map_or(0..0, |at| at..at + word.len());
        let range = if self.text.get(range.clone()).is_some() { range } else { 0..0 };
        let field = match columns.find(word) {
            Ok(_) => format!("; a field has a comparison, such as {word} = 1"),
            Err(_) => String::new(),
        };
        FilterError { message: format!("no run has “{word}” in its name, notes or tags{field}"), range }
    }

    /// Shows the field with a mistake underlined, and below it the mistake, or the fields that can be typed next.
    pub(super) fn ui(&mut self, ui: &mut Ui, listed: &ListedRuns, width: f32) {
        let mark = self.mistake.as_ref().map(|mistake| mistake.range.clone());
        let color = ui.visuals().error_fg_color;
        let mut layouter = |ui: &Ui, text: &dyn egui::TextBuffer, _: f32| {
            let job = underlined(ui, text.as_str(), mark.clone(), color);
            ui.fonts_mut(|fonts| fonts.layout_job(job))
        };
        let field = TextEdit::singleline(&mut self.text).hint_text("Search or filter").desired_width(width);
        let response = ui.add(field.layouter(&mut layouter)).accessible_name("Search the runs");
        self.update(listed);
        let help = "Words are searched in names, notes and tags. A filter compares fields, such as\n\
                    optimizer = FOCUS, lr < 1e-3, state = running, note ~ baseline\n\
                    with = != < <= > >= ~ (contains) and !~. A comma means “and”.";
        let response = response.on_hover_text(help);
        if response.has_focus() {
            self.offers(&listed.columns, &response);
        }
    }

    pub(super) fn mistake(&self, ui: &mut Ui) {
        if let Some(mistake) = &self.mistake {
            let text = RichText::new(format!("Filter: {}", mistake.message)).small().color(ui.visuals().error_fg_color);
            ui.add(Label::new(text).wrap());
        }
    }

    /// Offers the fields that begin with the last word, below the text; a click completes it.
    fn offers(&mut self, columns: &Columns, field: &egui::Response) {
        let begun = self.text.rsplit(',').next().unwrap_or_default().trim_start().to_lowercase();
        let is_complete = begun.contains(['=', '<', '>', '~', '!', '"']) || columns.get(&begun).is_some();
        if is_complete || self.text.trim().is_empty() {
            return;
        }
        let end = format!(".{begun}");
        let fits = |name: &&str| name.to_lowercase().starts_with(&begun) || name.to_lowercase().contains(&end);
        let offered: Vec<&str> =
            columns.iter().map(|column| column.field.as_str()).filter(fits).take(MOST_OFFERED).collect();
        if offered.is_empty() {
            return;
        }
        let mut chosen = None;
        egui::Popup::from_response(field).open(true).close_behavior(egui::PopupCloseBehavior::IgnoreClicks).show(
            |ui| {
                ui.label(RichText::new("Fields").small().weak());
                for name in offered {
                    if ui.button(name).accessible_name(format!("Complete the field {name}")).clicked() {
                        chosen = Some(name.to_owned());
                    }
                }
            },
        );
        if let Some(name) = chosen {
            let start = self.text.len() - self.text.rsplit(',').next().unwrap_or_default().trim_start().len();
            self.text.truncate(start);
            self.text.push_str(&format!("{name} "));
            field.request_focus();
        }
    }
}

fn underlined(ui: &Ui, text: &str, mark: Option<Range<usize>>, color: Color32) -> LayoutJob {
    let font = FontSelection::Default.resolve(ui.style());
    let usual = TextFormat::simple(font, ui.visuals().text_color());
    let marked = TextFormat { underline: Stroke::new(1.5, color), color, ..usual.clone() };
    // The mark is that of the text before the last key.
    let mark = mark.filter(|mark| text.get(mark.clone()).is_some()).unwrap_or(0..0);
    let mut job = LayoutJob { break_on_newline: false, ..LayoutJob::default() };
    job.append(&text[..mark.start], 0.0, usual.clone());
    job.append(&text[mark.clone()], 0.0, marked);
    job.append(&text[mark.end..], 0.0, usual);
    job
}

/// Shows a small line of three parts. Where it is too long, the second, a name, is cut before the third.
pub(super) fn line_with_name(ui: &mut Ui, color: Color32, parts: [&str; 3]) -> Response {
    let font = TextStyle::Small.resolve(ui.style());
    let room = ui.available_width();
    let fits = |text: &str| text_width(ui, &font, text) <= room;
    let text = RichText::new(elided(parts, fits)).small().color(color);
    let shown = ui.add(Label::new(text).selectable(false).truncate());
    shown.widget_info(|| WidgetInfo::labeled(Role::Label, true, parts.concat()));
    shown
}

/// Finds the longest text that fits: all parts, or the longest beginning of the second that fits.
fn elided(parts: [&str; 3], fits: impl Fn(&str) -> bool) -> String {
    let [before, name, after] = parts;
    let whole = parts.concat();
    if name.is_empty() || fits(&whole) {
        return whole;
    }
    let elided = |end: usize| format!("{before}{}…{after}", &name[..end]);
    let ends: Vec<usize> = name.char_indices().map(|(end, _)| end).collect();
    let fitting = ends.partition_point(|end| fits(&elided(*end)));
    elided(ends[fitting.saturating_sub(1)])
}

#[cfg(test)]
mod tests {
    use super::elided;

    #[test]
    fn only_the_name_is_cut_and_the_step_stays() {
        let parts = ["fork of ", "mnist-größer-20261124", " at step 1,000"];
        let shown = |room: usize| elided(parts, |text| text.chars().count() <= room);
        assert_eq!(shown(100), "fork of mnist-größer-20261124 at step 1,000");
        assert_eq!(shown(33), "fork of mnist-größ… at step 1,000");
        assert_eq!(shown(23), "fork of … at step 1,000");
        assert_eq!(shown(5), "fork of … at step 1,000", "what is shown of it ends there");
    }
}
