//! The window that chooses presets whose differences are shown.

use std::ffi::OsStr;
use std::path::PathBuf;

use egui::{Button, Context, Id, RichText, ScrollArea, Ui, Window, vec2};
use valleyscope_experiments::difference::{DifferenceTable, SettingColumn};
use valleyscope_experiments::preset::{Preset, built_ins};

use super::live::{Action, Requests};
use super::pending_exports::PendingExports;
use super::preset_catalog::PresetCatalog;
use super::tabs::TabName;
use crate::app::boxes::check_box;

/// A preset that can be compared.
#[derive(Clone, PartialEq)]
enum Choice {
    /// The settings under the controls.
    Draft,
    BuiltIn(&'static str),
    Own(PathBuf),
}

/// The window, with its choice.
#[derive(Default)]
pub(super) struct ComparePresets {
    is_open: bool,
    chosen: Vec<Choice>,
    /// The comparisons in progress, which read files.
    pending: PendingExports,
}

impl ComparePresets {
    /// Opens the window, with the settings under the controls chosen.
    pub(super) fn open(&mut self) {
        self.is_open = true;
        self.chosen = vec![Choice::Draft];
    }

    /// Shows the window. `draft` returns the preset under the controls, and `tab` is the shown tab.
    pub(super) fn show(
        &mut self,
        ctx: &Context,
        tab: TabName,
        draft: impl FnOnce() -> Preset,
        catalog: &PresetCatalog,
        requests: &mut Requests,
    ) {
        self.pending.poll(requests);
        let (mut is_open, mut is_asked) = (self.is_open, false);
        let screen = ctx.content_rect();
        let size = vec2(460.0, 480.0).min(screen.size() - vec2(40.0, 90.0));
        Window::new("Compare presets")
            .id(Id::unique("compare presets"))
            .collapsible(false)
            .open(&mut is_open)
            .default_size(size)
            .default_pos(screen.center() - 0.5 * size)
            .show(ctx, |ui| is_asked = self.contents(ui, tab, catalog));
        self.is_open = is_open && !is_asked;
        if is_asked {
            let (chosen, draft) = (std::mem::take(&mut self.chosen), draft());
            self.pending.begin(ctx, move || match columns(&chosen, draft) {
                Ok(columns) => Action::ShowDifferences(Box::new(DifferenceTable::of(&columns))),
                Err(text) => Action::Report { title: "The presets were not compared".to_owned(), text },
            });
        }
    }

    /// Shows the presets; returns whether the user has pressed the button that compares them.
    fn contents(&mut self, ui: &mut Ui, shown: TabName, catalog: &PresetCatalog) -> bool {
        let bar = egui::Panel::bottom("compare").frame(egui::Frame::NONE).show_separator_line(false).show(ui, |ui| {
            ui.add_space(4.0);
            let can = self.chosen.len() > 1;
            let button = ui.add_enabled(can, Button::new("Show differences"));
            button.on_disabled_hover_text("Choose two presets or more.").clicked()
        });
        ScrollArea::vertical().auto_shrink(false).show(ui, |ui| {
            self.entry(ui, Choice::Draft, "The settings under the controls");
            let own = catalog.own().as_deref().unwrap_or_default();
            for preset in own.iter().filter(|preset| preset.kind.is_some()) {
                self.entry(ui, Choice::Own(preset.path.clone()), &format!("{} (your own)", preset.title));
            }
            let mut tabs = TabName::ALL.to_vec();
            // The presets of the shown tab come first.
            tabs.sort_by_key(|tab| *tab != shown);
            for tab in tabs {
                ui.label(RichText::new(tab.info().presets_heading).small().weak());
                for built_in in built_ins().iter().filter(|built_in| TabName::that_opens(&built_in.preset) == tab) {
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

/// Returns the settings of the chosen presets.
fn columns(chosen: &[Choice], draft: Preset) -> Result<Vec<SettingColumn>, String> {
    let column = |name: &str, preset: &Preset| SettingColumn::new(name, preset.listed_settings());
    let of_choice = |choice: &Choice| match choice {
        Choice::Draft => Ok(column(draft.title(), &draft)),
        Choice::BuiltIn(name) => {
            let found = built_ins().iter().find(|built_in| built_in.name == *name).expect("it was offered");
            Ok(column(name, &found.preset))
        }
        Choice::Own(path) => {
            let preset = Preset::read(path).map_err(|error| error.to_string())?;
            Ok(column(&path.file_stem().unwrap_or(OsStr::new("")).to_string_lossy(), &preset))
        }
    };
    chosen.iter().map(of_choice).collect()
}
