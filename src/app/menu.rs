//! The menu bar.

use std::path::Path;

use egui::containers::menu::{MenuBar, MenuButton, MenuConfig};
use egui::text::LayoutJob;
use egui::{Align, Button, Context, Layout as UiLayout, PopupCloseBehavior, ScrollArea, TextFormat, TextStyle};
use egui::{FontSelection, RichText, ThemePreference, Ui, WidgetText};
use valleyscope_engine::optimizer::RuleKind;
use valleyscope_experiments::preset::built_ins;

use super::editor::{EditorStatus, change_mark};
use super::live::{Action, LandscapeAction, Requests};
use super::menu_item::{choose, item};
use super::preset_catalog::{OwnPreset, PresetCatalog};
use super::tab::Tab;
use super::tabs::{TabName, Tabs};
use super::window_layout::WindowLayout;
use crate::app::boxes::{Outlined, check_box};

/// The widest line of a preset's description in a menu, in points.
const DESCRIPTION_WIDTH: f32 = 400.0;

/// Shows the menu bar.
pub(super) fn bar(
    ui: &mut Ui,
    tabs: &mut Tabs,
    catalog: &mut PresetCatalog,
    layout: &mut WindowLayout,
    requests: &mut Requests,
) {
    let editor = tabs.shown().status();
    MenuBar::new().ui(ui, |ui| {
        ui.menu_button("File", |ui| file(ui, catalog, tabs.shown(), requests));
        ui.menu_button("Edit", |ui| {
            edit(ui, &editor, requests);
            tabs.shown().edit_menu(ui, requests);
        });
        let (response, _) = MenuButton::new("Presets").ui(ui, |ui| presets(ui, tabs.shown_name(), catalog, requests));
        if response.clicked() {
            catalog.refresh(ui.ctx());
        }
        let stay_open = MenuConfig::new().close_behavior(PopupCloseBehavior::CloseOnClickOutside);
        MenuButton::new("View").config(stay_open).ui(ui, |ui| view(ui, tabs, layout, requests));
        ui.menu_button("Help", |ui| {
            item(ui, "Keys", "?", Action::ShowKeys, requests);
            item(ui, "Optimizers", "", Action::ShowOptimizer(RuleKind::ALL[0]), requests);
            item(ui, "About Valleyscope", "", Action::ShowAbout, requests);
        });
        ui.separator();
        for &tab in TabName::ALL {
            let label = ui.selectable_label(tabs.is_shown(tab), tab.info().title).on_hover_text(tab.keys());
            if label.clicked() {
                tabs.show(tab);
            }
        }
        ui.with_layout(UiLayout::right_to_left(Align::Center), |ui| show_title(ui, &editor));
    });
}

fn show_title(ui: &mut Ui, editor: &EditorStatus) {
    let EditorStatus { title, description, is_dirty, .. } = editor;
    // From right to left: a long title is shortened so that the mark of changes stays visible.
    let mark = change_mark(title, *is_dirty).trim_start();
    if !mark.is_empty() {
        ui.weak(mark);
    }
    let label = ui.add(egui::Label::new(RichText::new(title).weak()).truncate());
    if !description.is_empty() {
        label.on_hover_text(description);
    }
}

fn file(ui: &mut Ui, catalog: &PresetCatalog, tab: &dyn Tab, requests: &mut Requests) {
    item(ui, "Open…", "Ctrl O", Action::OpenPreset, requests);
    ui.add_enabled_ui(!catalog.recent().is_empty(), |ui| {
        ui.menu_button("Recent files", |ui| {
            for path in catalog.recent() {
                if ui.button(short(path)).on_hover_text(path.display().to_string()).clicked() {
                    choose(ui, Action::OpenFile(path.clone()), requests);
                }
            }
        });
    });
    ui.separator();
    item(ui, "Save", "Ctrl S", Action::Save, requests);
    item(ui, "Save as…", "Ctrl Shift S", Action::SaveAs, requests);
    item(ui, "Save session for replay…", "", Action::Landscape(LandscapeAction::SaveSession), requests);
    ui.separator();
    tab.export_menu(ui, requests);
    item(ui, "Quit", "Ctrl Q", Action::Quit, requests);
}

fn short(path: &Path) -> String {
    path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
}

fn edit(ui: &mut Ui, editor: &EditorStatus, requests: &mut Requests) {
    ui.add_enabled_ui(editor.can_undo, |ui| item(ui, "Undo", "Ctrl Z", Action::Undo, requests)).response.on_hover_text(
        "Undo settings, lesson steps and opened presets. Camera moves are not undone; Fit shows the particles.",
    );
    ui.add_enabled_ui(editor.can_redo, |ui| item(ui, "Redo", "Ctrl Shift Z", Action::Redo, requests));
    ui.separator();
    item(ui, "Copy preset", "", Action::CopyPreset, requests);
    item(ui, "Paste preset", "Ctrl V", Action::PastePreset, requests);
}

fn presets(ui: &mut Ui, tab: TabName, catalog: &PresetCatalog, requests: &mut Requests) {
    let height = ui.ctx().content_rect().height() - 120.0;
    // A menu that has not been shown yet has room for few lines only.
    ui.set_max_height(height + 60.0);
    item(ui, "Differences…", "", Action::ComparePresets, requests);
    ui.separator();
    // Above the scrolled part, so that they are visible however many built-in ones there are.
    match catalog.own() {
        Ok(own) if own.is_empty() => {}
        Ok(own) => {
            ui.menu_button(own_presets_heading(own), |ui| {
                ui.set_max_height(height);
                ScrollArea::vertical().max_height(height).show(ui, |ui| own_presets(ui, own, requests));
            });
            ui.separator();
        }
        Err(reason) => {
            ui.label(RichText::new(reason).small().color(ui.visuals().error_fg_color));
            ui.separator();
        }
    }
    ScrollArea::vertical().max_height(height).show(ui, |ui| built_in_presets(ui, tab, requests));
}

/// Returns the heading of the user's own presets, with the number of presets and of invalid files.
fn own_presets_heading(own: &[OwnPreset]) -> String {
    let broken = own.iter().filter(|preset| preset.about.is_err()).count();
    let count = own.len() - broken;
    if broken == 0 { format!("Your own ({count})") } else { format!("Your own ({count}, and {broken} unreadable)") }
}

fn own_presets(ui: &mut Ui, own: &[OwnPreset], requests: &mut Requests) {
    for preset in own {
        let about = match &preset.about {
            Ok(description) => description,
            Err(_) => "This file can't be read as a preset; open it to see why.",
        };
        if preset_button(ui, &preset.title, about).clicked() {
            choose(ui, Action::OpenFile(preset.path.clone()), requests);
        }
    }
}

fn built_in_presets(ui: &mut Ui, shown: TabName, requests: &mut Requests) {
    // The presets of the shown tab come first.
    let mut tabs = TabName::ALL.to_vec();
    tabs.sort_by_key(|tab| *tab != shown);
    for (index, tab) in tabs.into_iter().enumerate() {
        if index > 0 {
            ui.separator();
        }
        ui.label(RichText::new(tab.info().presets_heading).small().weak());
        for built_in in built_ins().iter().filter(|built_in| TabName::that_opens(&built_in.preset) == tab) {
            if preset_button(ui, built_in.preset.title(), built_in.preset.description()).clicked() {
                choose(ui, Action::Open(Box::new(built_in.preset.clone())), requests);
            }
        }
    }
}

/// Shows a menu entry with a sentence below its title.
fn preset_button(ui: &mut Ui, title: &str, about: &str) -> egui::Response {
    let format = |style: TextStyle, color| TextFormat {
        font_id: FontSelection::from(style).resolve(ui.style()),
        color,
        ..TextFormat::default()
    };
    let mut job = LayoutJob::default();
    job.wrap.max_width = DESCRIPTION_WIDTH;
    job.append(title, 0.0, format(TextStyle::Button, ui.visuals().strong_text_color()));
    if !about.is_empty() {
        job.append("\n", 0.0, TextFormat::default());
        job.append(about, 0.0, format(TextStyle::Small, ui.visuals().weak_text_color()));
    }
    ui.add(Button::new(WidgetText::from(job)).wrap()).accessible_name(title)
}

fn view(ui: &mut Ui, tabs: &mut Tabs, layout: &mut WindowLayout, requests: &mut Requests) {
    ui.set_width(300.0);
    ui.horizontal(theme);
    for &tab in TabName::ALL {
        let is_shown = tabs.is_shown(tab);
        tabs.get_mut(tab).view_menu(ui, is_shown);
    }
    check_box(ui, &mut layout.controls, "Controls");
    let has_plots = tabs.shown_name().info().has_plots;
    let mut plots = layout.plots && layout.room_for_plots;
    let toggle = ui.add_enabled(has_plots && layout.room_for_plots, Outlined(egui::Checkbox::new(&mut plots, "Plots")));
    let why_not = match has_plots {
        true => "The window is too narrow for the plots. Make it wider.",
        false => "Plots are shown beside the landscape.",
    };
    let toggle = toggle.on_disabled_hover_text(why_not);
    if toggle.changed() {
        layout.plots = plots;
    }
    item(ui, "Presentation", "F11", Action::TogglePresentation, requests);
    ui.separator();
    zoom(ui);
}

fn theme(ui: &mut Ui) {
    ui.label("Theme");
    let mut preference = ui.ctx().options(|options| options.theme_preference);
    let before = preference;
    for (choice, name) in
        [(ThemePreference::Light, "Light"), (ThemePreference::Dark, "Dark"), (ThemePreference::System, "System")]
    {
        ui.selectable_value(&mut preference, choice, name);
    }
    if preference != before {
        ui.ctx().set_theme(preference);
    }
}

fn zoom(ui: &mut Ui) {
    ui.horizontal(|ui| {
        let ctx: Context = ui.ctx().clone();
        ui.label(format!("Interface {:.0} %", 100.0 * ctx.zoom_factor()));
        if ui.button("−").on_hover_text("Ctrl −").accessible_name("Smaller interface").clicked() {
            egui::gui_zoom::zoom_out(&ctx);
        }
        if ui.button("+").on_hover_text("Ctrl +").accessible_name("Larger interface").clicked() {
            egui::gui_zoom::zoom_in(&ctx);
        }
        let reset = ui.add_enabled(ctx.zoom_factor() != 1.0, Button::new("Reset")).on_hover_text("Ctrl 0");
        if reset.accessible_name("Normal interface").clicked() {
            ctx.set_zoom_factor(1.0);
        }
    });
}
