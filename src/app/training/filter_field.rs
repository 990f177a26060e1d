//! The field in which a filter of runs is typed, with the names of fields below it.

use std::ops::Range;
use std::sync::Arc;

use egui::text::{LayoutJob, TextFormat};
use egui::{Color32, FontSelection, Label, RichText, Stroke, TextEdit, Ui};

use super::list::ListInput;
use super::summary::Summary;
use crate::run_table::{Columns, Filter, FilterError};

/// The largest number of fields that are offered at once.
const MOST_OFFERED: usize = 12;

/// A typed filter. While it has a mistake, the last one without holds.
#[derive(Default)]
pub(super) struct FilterField {
    text: String,
    /// The text and the columns for which it was parsed.
    parsed: Option<(String, Arc<Columns>)>,
    filter: Filter,
    mistake: Option<FilterError>,
    /// Increases with each other filter.
    generation: u64,
}

impl FilterField {
    pub(super) fn restore(&mut self, text: String) {
        self.text = text;
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn clear(&mut self) {
        self.text.clear();
    }

    /// Returns a number that changes with the filter.
    pub(super) fn generation(&self) -> u64 {
        self.generation
    }

    /// Returns whether the filter admits all runs.
    pub(super) fn is_empty(&self) -> bool {
        self.filter.is_empty()
    }

    /// Returns whether a run fits the filter.
    pub(super) fn finds(&self, run: &Summary) -> bool {
        self.filter.is_empty() || self.filter.admits(&run.facts, &run.texts())
    }

    /// Parses the text again if it or the columns have changed. A word that no run has is a mistake: it may be the
    /// beginning of another one, or of a field.
    pub(super) fn update(&mut self, columns: &Arc<Columns>, runs: &[Arc<Summary>]) {
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

    /// Explains that no run has a word.
    fn unknown(&self, word: &str, columns: &Columns) -> FilterError {
        let place = self.text.to_lowercase().find(word).map_or(0..0, |at| at..at + word.len());
        let place = if self.text.get(place.clone()).is_some() { place } else { 0..0 };
        let field = match columns.find(word) {
            Ok(_) => format!("; a field has a comparison, such as {word} = 1"),
            Err(_) => String::new(),
        };
        FilterError { message: format!("no run has “{word}” in its name, notes or tags{field}"), place }
    }

    /// Shows the field with a mistake underlined, and below it the mistake, or the fields that can be typed next.
    pub(super) fn ui(&mut self, ui: &mut Ui, ListInput { columns, runs, .. }: &ListInput<'_>, width: f32) {
        let mark = self.mistake.as_ref().map(|mistake| mistake.place.clone());
        let color = ui.visuals().error_fg_color;
        let mut layouter = |ui: &Ui, text: &dyn egui::TextBuffer, _: f32| {
            let job = underlined(ui, text.as_str(), mark.clone(), color);
            ui.fonts_mut(|fonts| fonts.layout_job(job))
        };
        let field = TextEdit::singleline(&mut self.text).hint_text("Search or filter").desired_width(width);
        let response = ui.add(field.layouter(&mut layouter)).accessible_name("Search the runs");
        self.update(columns, runs);
        let help = "Words are searched in names, notes and tags. A filter compares fields, such as\n\
                    optimizer = FOCUS, lr < 1e-3, state = running, note ~ baseline\n\
                    with = != < <= > >= ~ (contains) and !~. A comma means “and”.";
        let response = response.on_hover_text(help);
        if response.has_focus() {
            self.offers(columns, &response);
        }
    }

    /// Shows what is wrong with the filter.
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
        let offered: Vec<&str> = columns.fields().filter(fits).take(MOST_OFFERED).collect();
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
            let kept = self.text.len() - self.text.rsplit(',').next().unwrap_or_default().trim_start().len();
            self.text.truncate(kept);
            self.text.push_str(&format!("{name} "));
            field.request_focus();
        }
    }
}

/// Lays out a text in one line with a part underlined.
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
