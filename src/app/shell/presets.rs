//! Choosing, comparing and saving presets.

use std::path::{Path, PathBuf};

use egui::{Button, Color32, Context, Grid, Id, Label, RichText, ScrollArea, TextEdit, TextStyle, Ui, vec2};
use valleyscope_engine::spec_error::SpecError;
use valleyscope_engine::terminal_escape::shortened;
use valleyscope_experiments::difference::{DifferenceRow, DifferenceTable, SettingColumn};
use valleyscope_experiments::preset::{BuiltIn, Library, ListedSetting, Preset, PresetError, UserPreset, built_ins};

use super::actions::{Action, Requests};
use super::editor::PresetDraft;
use super::files::FileContent;
use super::jobs::Job;
use super::messages;
use super::thumbnails::Thumbnails;
use crate::app::widgets::form::{check_box, show_window, take_escape};
use crate::app::widgets::theme::primary_button;

pub(crate) struct PresetCatalog {
    library: Library,
    /// The user's own presets, or the reason why they can't be listed.
    pub own: Result<Vec<UserPreset>, PresetError>,
    /// The recent files, the newest first.
    pub recent: Vec<PathBuf>,
    pub thumbnails: Thumbnails,
    reading: Option<Job<Result<Vec<UserPreset>, PresetError>>>,
}

const MOST_RECENT_FILES: usize = 10;

impl PresetCatalog {
    pub(crate) fn new(library: Library) -> PresetCatalog {
        let (recent, thumbnails) = Default::default();
        PresetCatalog { library, own: Ok(Vec::new()), recent, thumbnails, reading: None }
    }

    pub(crate) fn folder(&self) -> Option<&Path> {
        self.library.folder()
    }

    /// Reads the user's own presets again, in the background.
    pub(crate) fn refresh(&mut self, ctx: &Context) {
        let library = self.library.clone();
        self.reading = Some(Job::start(ctx, move |_| library.user_presets()));
    }

    pub(crate) fn poll(&mut self, ctx: &Context) {
        self.thumbnails.update(ctx);
        if let Some(Ok(own)) = Job::take(&mut self.reading) {
            self.own = own;
        }
    }

    pub(crate) fn add_recent(&mut self, path: &Path) {
        self.recent.retain(|recent| recent != path);
        self.recent.insert(0, path.to_owned());
        self.recent.truncate(MOST_RECENT_FILES);
    }
}

/// The dialog's state while it is open.
pub(crate) struct SavePreset {
    draft: PresetDraft,
    /// The reason why the lesson is left out, if it is.
    misfit: Option<SpecError>,
    /// True once the title has had the focus, so that typing works at once.
    focused: bool,
}

pub(crate) enum SaveDecision {
    Cancelled,
    /// Saves to the user's own presets, under this file name.
    ToLibrary(String),
    /// Asks for a file, with this suggested name.
    AsFile(String),
}

impl SavePreset {
    /// Opens the dialog. A lesson with an error is left out, as its preset could not be opened.
    pub(crate) fn new(mut draft: PresetDraft) -> SavePreset {
        let mut misfit = None;
        if let Preset::Landscape(preset) = &mut draft.preset {
            misfit = preset.lesson_misfit();
            if misfit.is_some() {
                preset.lesson.clear();
            }
        }
        SavePreset { draft, misfit, focused: false }
    }

    /// Whether saving omits something that the user must confirm.
    pub(crate) fn warns(&self) -> bool {
        self.misfit.is_some() || self.draft.drops_changes || self.draft.drops_settings
    }

    pub(crate) fn into_content(self) -> FileContent {
        FileContent::Preset(Box::new(self.draft))
    }

    pub(crate) fn show(&mut self, ctx: &Context) -> Option<SaveDecision> {
        let mut decision = None;
        let changes = match &self.draft.preset {
            Preset::Landscape(preset) => preset.simulations.iter().map(|simulation| simulation.changes.len()).sum(),
            _ => 0,
        };
        let heading = if changes == 0 { "Save preset" } else { "Save session for replay" };
        let is_closed = messages::show_modal(ctx, "save preset", heading, |ui| {
            self.warnings(ui, changes);
            self.text_fields(ui);
            ui.add_space(6.0);
            decision = self.buttons(ui);
        });
        decision.or(is_closed.then_some(SaveDecision::Cancelled))
    }

    /// Shows the number of recorded changes, and the parts that the preset leaves out.
    fn warnings(&self, ui: &mut Ui, changes: usize) {
        if changes > 0 {
            let changes = match changes {
                1 => "one change".to_owned(),
                several => format!("{several} changes"),
            };
            ui.label(format!("With {changes} of settings, replayed at the same steps when opened."));
        }
        if let Some(misfit) = &self.misfit {
            ui.colored_label(
                ui.visuals().warn_fg_color,
                format!(
                    "Without the lesson, which could not be opened again: {misfit}. To keep the lesson, cancel and \
                     mend it, or undo the change."
                ),
            );
        }
        if self.draft.drops_settings && self.misfit.is_none() {
            let text = "Without what was changed since the lesson's step was shown: the lesson sets it. To keep it, cancel, \
                        and let the step take it over in the editor of the lesson.";
            ui.colored_label(ui.visuals().warn_fg_color, text);
        }
        if self.draft.drops_changes {
            let text = "Without the recorded changes: this saves the settings as they are now. “Save session for \
                        replay” in the File menu keeps the changes.";
            ui.colored_label(ui.visuals().warn_fg_color, text);
        }
    }

    fn text_fields(&mut self, ui: &mut Ui) {
        let [title, description] = self.draft.preset.words_mut();
        let label = ui.label("Title");
        let title =
            ui.add(TextEdit::singleline(title).desired_width(f32::INFINITY).char_limit(100)).labelled_by(label.id);
        if !std::mem::replace(&mut self.focused, true) {
            title.request_focus();
        }
        let label = ui.label("A sentence about what there is to see");
        ui.add(TextEdit::multiline(description).desired_width(f32::INFINITY).desired_rows(2).char_limit(1000))
            .labelled_by(label.id);
    }

    fn buttons(&self, ui: &mut Ui) -> Option<SaveDecision> {
        let mut decision = None;
        let title = self.draft.preset.title();
        let name = file_stem(title);
        let has_title = !title.trim().is_empty();
        let fault = Library::check_name(&name).err().filter(|_| has_title);
        if let Some(fault) = &fault {
            ui.label(format!("{fault}. Choose another title, or save as a file."));
        }
        messages::decision_row(ui, |ui| {
            ui.add_enabled_ui(has_title, |ui| {
                if ui.add_enabled(fault.is_none(), primary_button(ui, "Save to my presets")).clicked() {
                    decision = Some(SaveDecision::ToLibrary(format!("{name}.ron")));
                }
                if ui.button("Save as a file…").clicked() {
                    decision = Some(SaveDecision::AsFile(format!("{name}.ron")));
                }
            });
            if ui.button("Cancel").clicked() {
                decision = Some(SaveDecision::Cancelled);
            }
        });
        decision
    }
}

/// Makes a file name from a title: letters and digits, joined by dashes.
pub(crate) fn file_stem(title: &str) -> String {
    let lowered = title.to_lowercase();
    let words: Vec<&str> = lowered.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let mut stem = words.join("-");
    // Systems limit names in bytes, not in characters.
    let most = stem.floor_char_boundary(80);
    if most < stem.len() {
        stem.truncate(stem[..most].rfind('-').unwrap_or(most));
    }
    if stem.is_empty() { "preset".to_owned() } else { stem }
}

#[derive(Clone, PartialEq)]
enum Choice {
    /// The settings under the controls.
    Draft,
    BuiltIn(&'static str),
    Own(PathBuf),
}

/// The built-in presets that a tab opens, and their heading.
pub(crate) struct PresetGroup {
    pub heading: &'static str,
    pub built_ins: Vec<&'static BuiltIn>,
}

#[derive(Default)]
pub(crate) struct ComparePresets {
    is_open: bool,
    chosen: Vec<Choice>,
}

impl ComparePresets {
    /// Opens the window, with the settings under the controls chosen.
    pub(crate) fn open(&mut self) {
        self.is_open = true;
        self.chosen = vec![Choice::Draft];
    }

    /// Shows the window. `draft` returns the preset under the controls, and `groups` the built-in ones.
    pub(crate) fn show(
        &mut self,
        ctx: &Context,
        groups: impl FnOnce() -> Vec<PresetGroup>,
        draft: impl FnOnce() -> Preset,
        catalog: &PresetCatalog,
        requests: &mut Requests,
    ) {
        let (mut is_open, mut is_asked) = (self.is_open, false);
        let placed = messages::centred(ctx, vec2(460.0, 480.0));
        show_window(ctx, "Compare presets", &mut is_open, placed, |ui| {
            is_asked = self.contents(ui, &groups(), catalog);
        });
        self.is_open = is_open && !is_asked && !take_escape(ctx);
        if is_asked {
            let own = catalog.own.as_deref().unwrap_or_default();
            let columns = preset_columns(&std::mem::take(&mut self.chosen), &draft(), own);
            requests.actions.push(Action::ShowDifferences(Box::new(DifferenceTable::of(&columns))));
        }
    }

    /// Shows the presets; returns whether the user has pressed the button that compares them.
    fn contents(&mut self, ui: &mut Ui, groups: &[PresetGroup], catalog: &PresetCatalog) -> bool {
        let bar = egui::Panel::bottom("compare").frame(egui::Frame::NONE).show_separator_line(false).show(ui, |ui| {
            ui.add_space(4.0);
            let can = self.chosen.len() > 1;
            let button = ui.add_enabled(can, Button::new("Show differences"));
            button.on_disabled_hover_text("Choose two presets or more").clicked()
        });
        ScrollArea::vertical().auto_shrink(false).show(ui, |ui| {
            self.entry(ui, Choice::Draft, "The present settings");
            let own = catalog.own.as_deref().unwrap_or_default();
            for UserPreset { path, preset, .. } in own {
                if let Ok(preset) = preset {
                    self.entry(ui, Choice::Own(path.clone()), &format!("{} (your own)", preset.title()));
                }
            }
            for PresetGroup { heading, built_ins } in groups {
                ui.label(RichText::new(*heading).small().weak());
                for built_in in built_ins {
                    let text = format!("{} ({})", built_in.preset.title(), built_in.name);
                    self.entry(ui, Choice::BuiltIn(built_in.name), &text);
                }
            }
        });
        bar.inner
    }

    fn entry(&mut self, ui: &mut Ui, choice: Choice, text: &str) {
        let mut is_chosen = self.chosen.contains(&choice);
        if check_box(ui, &mut is_chosen, text).changed() {
            match is_chosen {
                true => self.chosen.push(choice),
                false => self.chosen.retain(|other| *other != choice),
            }
        }
    }
}

/// The settings of presets, without those of the view and the keys of random streams, which no control shows.
fn preset_columns(chosen: &[Choice], draft: &Preset, own: &[UserPreset]) -> Vec<SettingColumn> {
    let column = |preset: &Preset| {
        let is_shown = |it: &ListedSetting| it.path != "id" && !it.path.starts_with("view");
        let settings = preset.listed_settings().into_iter().filter(is_shown).collect();
        Some(SettingColumn::new(preset.title(), settings))
    };
    let of_choice = |choice: &Choice| match choice {
        Choice::Draft => column(draft),
        Choice::BuiltIn(name) => column(&built_ins().iter().find(|built_in| built_in.name == *name)?.preset),
        Choice::Own(path) => column(own.iter().find(|own| own.path == *path)?.preset.as_ref().ok()?),
    };
    chosen.iter().filter_map(of_choice).collect()
}

/// The largest number of characters of a value and of a name in the table.
const LONGEST: usize = 48;

/// The space between columns, in points.
const SPACING: f32 = 18.0;

/// Shows the window of differences until it is closed.
pub(crate) fn show_differences(ctx: &Context, shown: &mut Option<DifferenceTable>) {
    let Some(table) = shown else { return };
    let mut is_open = true;
    // A separate window for each number of columns, as windows store their sizes.
    let id = Id::unique(("differences", table.names.len()));
    let placed = messages::centred(ctx, vec2(table_width(ctx, table), 420.0));
    show_window(ctx, "Differences", &mut is_open, |window| placed(window).id(id), |ui| show_table(ui, table));
    if !is_open || take_escape(ctx) {
        *shown = None;
    }
}

fn table_width(ctx: &Context, table: &DifferenceTable) -> f32 {
    let font = TextStyle::Body.resolve(&ctx.global_style());
    let width = |text: &str| {
        ctx.fonts_mut(|fonts| fonts.layout_no_wrap(text.to_owned(), font.clone(), Color32::PLACEHOLDER).size().x)
    };
    let widest = |texts: &mut dyn Iterator<Item = String>| texts.map(|text| width(&text)).fold(0.0, f32::max);
    let rows = || table.results.iter().chain(&table.rows);
    let labels = widest(&mut rows().map(|row| row.label.clone()));
    let column = |index: usize| {
        let head = [&table.names[index], &table.folders[index]].map(|text| shortened(text, LONGEST).into_owned());
        widest(&mut head.into_iter().chain(rows().map(|row| row.shown(LONGEST).swap_remove(index))))
    };
    let columns: f32 = (0..table.names.len()).map(|index| column(index) + SPACING).sum();
    labels + columns + 2.0 * SPACING
}

fn show_table(ui: &mut Ui, table: &DifferenceTable) {
    egui::Panel::bottom("equal settings").frame(egui::Frame::NONE).show_separator_line(false).show(ui, |ui| {
        ui.add_space(4.0);
        ui.horizontal(|ui| {
            let copy = ui.button("Copy").on_hover_text("Copy the table as text, for a spreadsheet");
            if copy.accessible_name("Copy the differences").clicked() {
                ui.ctx().copy_text(table.to_text());
            }
            ui.weak(format!("{}.", table.equal_text()));
        });
    });
    ScrollArea::both().id_salt(&table.names).auto_shrink(false).show(ui, |ui| {
        Grid::new(("differences", table.names.len())).striped(true).spacing(vec2(SPACING, 5.0)).show(ui, |ui| {
            ui.label("");
            for name in &table.names {
                let shown = shortened(name, LONGEST);
                ui.add(Label::new(RichText::new(shown).strong()).extend()).on_hover_text(name);
            }
            ui.end_row();
            if table.folders.iter().any(|folder| !folder.is_empty()) {
                ui.label("");
                for folder in &table.folders {
                    ui.add(Label::new(RichText::new(folder).small().weak()).extend());
                }
                ui.end_row();
            }
            table.results.iter().chain(&table.rows).for_each(|row| show_row(ui, row));
        });
        if table.rows.is_empty() {
            ui.label("No setting differs.");
        }
    });
}

fn show_row(ui: &mut Ui, row: &DifferenceRow) {
    let label = ui.add(Label::new(&row.label).extend());
    label.on_hover_text(format!("{}\n{}", row.label, row.path));
    for (shown, whole) in row.shown(LONGEST).into_iter().zip(&row.values) {
        match whole {
            Some(whole) => drop(ui.add(Label::new(shown).extend()).on_hover_text(whole)),
            None => drop(ui.weak(shown).on_hover_text("It has no such setting.")),
        }
    }
    ui.end_row();
}

#[cfg(test)]
mod tests {
    use super::file_stem;

    #[test]
    fn a_long_name_of_a_file_ends_at_a_word() {
        let stem = file_stem(&"valley ".repeat(40));
        assert!(stem.len() > 70 && stem.len() <= 80 && stem.ends_with("-valley"), "{stem}");
        assert_eq!(file_stem(&"v".repeat(100)).len(), 80);
    }
}
