//! The menu bar and the keyboard shortcuts.

use egui::accesskit::Role;
use egui::containers::menu::{MenuBar, MenuButton};
use egui::{
    Align, Atom, Button, Context, IdSalt, Image, Key, KeyboardShortcut, Layout as UiLayout, Modifiers, Response,
    RichText, ScrollArea, Sense, TextureHandle, ThemePreference, Ui, Vec2, WidgetInfo,
};
use valleyscope_engine::optimizer::RuleKind;
use valleyscope_experiments::preset::UserPreset;

use super::actions::{Action, DIGIT_KEYS, Keys, LandscapeAction, Requests, choose, item};
use super::editor::{EditorStatus, change_mark};
use super::export::ExportKind;
use super::files::{Purpose, file_name};
use super::presets::{PresetCatalog, PresetGroup};
use super::tabs::{TabName, Tabs};
use super::thumbnails::{THUMBNAIL, Thumbnails};
use super::window::{Presentation, WindowLayout};
use crate::app::widgets::form::{Outlined, check_box, stays_open, titled};
use crate::app::widgets::theme;

/// The width of an entry with the picture of a preset, and the gap beside the picture, in points.
const ENTRY_WIDTH: f32 = 508.0;
const ENTRY_GAP: f32 = 10.0;

pub(crate) fn bar(
    ui: &mut Ui,
    tabs: &mut Tabs,
    catalog: &mut PresetCatalog,
    layout: &mut WindowLayout,
    requests: &mut Requests,
) {
    let editor = tabs.shown().status();
    MenuBar::new().ui(ui, |ui| {
        ui.menu_button("File", |ui| file(ui, catalog, tabs.shown_name(), requests));
        ui.menu_button("Edit", |ui| {
            edit(ui, &editor, requests);
            tabs.shown_landscape().into_iter().for_each(|tab| tab.edit_menu(ui, requests));
        });
        let (response, _) = MenuButton::new("Presets").ui(ui, |ui| presets(ui, tabs.shown_name(), catalog, requests));
        if response.clicked() {
            catalog.refresh(ui.ctx());
        }
        stays_open("View").ui(ui, |ui| view(ui, tabs, layout, requests));
        ui.menu_button("Help", |ui| {
            item(ui, "Keys", "?", Action::ShowKeys, requests);
            item(ui, "Optimizers", "", Action::ShowOptimizer(RuleKind::ALL[0]), requests);
            item(ui, "Show the opening", "", Action::ShowOpening, requests);
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

fn file(ui: &mut Ui, catalog: &PresetCatalog, tab: TabName, requests: &mut Requests) {
    item(ui, "Open…", "Ctrl O", Action::Choose(Box::new(Purpose::Open)), requests);
    ui.add_enabled_ui(!catalog.recent.is_empty(), |ui| {
        ui.menu_button("Recent files", |ui| {
            for path in &catalog.recent {
                if ui.button(file_name(path)).on_hover_text(path.display().to_string()).clicked() {
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
    item(ui, "Export…", "Ctrl E", Action::Export(None), requests);
    let page = ExportKind::WebPage;
    let is_offered = tab.info().exports.contains(&page);
    ui.add_enabled_ui(is_offered, |ui| item(ui, "Export web page…", "", Action::Export(Some(page)), requests))
        .response
        .on_hover_text("A lesson of the landscape, as a page to hand out");
    ui.separator();
    item(ui, "Quit", "Ctrl Q", Action::Quit, requests);
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

fn presets(ui: &mut Ui, tab: TabName, catalog: &mut PresetCatalog, requests: &mut Requests) {
    let height = ui.ctx().content_rect().height() - 120.0;
    // A menu that has not been shown yet has room for few lines only.
    ui.set_max_height(height + 60.0);
    item(ui, "Compare presets…", "", Action::ComparePresets, requests);
    ui.separator();
    // Above the scrolled part, so that they are visible however many built-in ones there are.
    let PresetCatalog { own, thumbnails, .. } = catalog;
    match own {
        Ok(own) if own.is_empty() => {}
        Ok(own) => {
            ui.menu_button(own_presets_heading(own), |ui| {
                ui.set_max_height(height);
                ScrollArea::vertical().max_height(height).show(ui, |ui| own_presets(ui, own, thumbnails, requests));
            });
            ui.separator();
        }
        Err(reason) => {
            ui.label(RichText::new(reason.to_string()).small().color(ui.visuals().error_fg_color));
            ui.separator();
        }
    }
    ScrollArea::vertical().max_height(height).show(ui, |ui| built_in_presets(ui, tab, thumbnails, requests));
}

/// Formats the heading of the user's own presets, with the number of presets and of invalid files.
fn own_presets_heading(own: &[UserPreset]) -> String {
    let broken = own.iter().filter(|preset| preset.preset.is_err()).count();
    let count = own.len() - broken;
    if broken == 0 { format!("Your own ({count})") } else { format!("Your own ({count}, and {broken} unreadable)") }
}

fn own_presets(ui: &mut Ui, own: &[UserPreset], thumbnails: &mut Thumbnails, requests: &mut Requests) {
    ui.set_width(ENTRY_WIDTH);
    for UserPreset { name, path, preset } in own {
        let (title, about, picture) = match preset {
            Ok(preset) => (preset.title(), preset.description(), thumbnails.get(preset)),
            Err(_) => (name.as_str(), "This file can't be read as a preset; open it to see why.", None),
        };
        if preset_button(ui, title, about, picture).clicked() {
            choose(ui, Action::OpenFile(path.clone()), requests);
        }
    }
}

fn built_in_presets(ui: &mut Ui, shown: TabName, thumbnails: &mut Thumbnails, requests: &mut Requests) {
    ui.set_width(ENTRY_WIDTH);
    for (index, PresetGroup { heading, built_ins }) in shown.preset_groups().into_iter().enumerate() {
        if index > 0 {
            ui.separator();
        }
        ui.label(RichText::new(heading).small().weak());
        for built_in in built_ins {
            let picture = thumbnails.get(&built_in.preset);
            if preset_button(ui, built_in.preset.title(), built_in.preset.description(), picture).clicked() {
                choose(ui, Action::Open(Box::new(built_in.preset.clone())), requests);
            }
        }
    }
}

/// Shows a menu entry with a small picture at the left, and a sentence below its title.
fn preset_button(ui: &mut Ui, title: &str, about: &str, picture: Option<&TextureHandle>) -> Response {
    let room = IdSalt::new("picture");
    let text = titled(ui, title, about, ui.visuals().weak_text_color());
    // The empty text at the right keeps the others at the left.
    let button = Button::new((Atom::custom(room, THUMBNAIL), text)).right_text("").frame_when_inactive(false).wrap();
    let shown = button.gap(ENTRY_GAP).min_size(THUMBNAIL + Vec2::splat(ENTRY_GAP)).atom_ui(ui);
    let response = shown.response.clone().accessible_name(title);
    match (shown.rect(room), picture) {
        (Some(room), Some(picture)) => {
            Image::new(picture).corner_radius(4.0).paint_at(ui, room);
            // A numbered id would change those of the entries below when the picture is ready, and so lose a click.
            let shown = ui.interact(room, response.id.with("picture"), Sense::hover());
            shown.widget_info(|| WidgetInfo::labeled(Role::Image, true, format!("Picture of {title}")));
        }
        (room, _) => drop(room.map(|room| ui.painter().rect_filled(room, 4.0, ui.visuals().extreme_bg_color))),
    }
    response
}

fn view(ui: &mut Ui, tabs: &mut Tabs, layout: &mut WindowLayout, requests: &mut Requests) {
    ui.set_width(300.0);
    ui.horizontal(theme_choice);
    let is_shown = tabs.is_shown(TabName::Landscape);
    tabs.landscape.view_menu(ui, is_shown);
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
    reduced_motion(ui);
    zoom(ui);
}

fn theme_choice(ui: &mut Ui) {
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

fn reduced_motion(ui: &mut Ui) {
    let mut is_reduced = theme::is_motion_reduced(ui.ctx());
    let shown = check_box(ui, &mut is_reduced, "Reduced motion");
    if shown.on_hover_text("Views change at once, and no camera moves by itself.").changed() {
        theme::reduce_motion(ui.ctx(), is_reduced);
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

/// The shortcuts of the whole window below their headings: keys, and their effects.
const SHORTCUTS: [KeyGroup; 3] = [
    (
        "Files and settings",
        &[
            ("Ctrl O", "Open a preset or a result"),
            ("Ctrl S", "Save the preset"),
            ("Ctrl Shift S", "Save the preset as another file"),
            ("Ctrl E", "Export a picture, a figure, an animation, a page or data"),
            ("Ctrl V", "Open the preset whose text is on the clipboard"),
            ("Ctrl Z", "Undo"),
            ("Ctrl Shift Z, Ctrl Y", "Redo"),
            ("Ctrl Q", "Quit"),
        ],
    ),
    (
        "Lessons and presentations",
        &[
            ("F11, F5", "A lesson or the landscape for a projector"),
            ("Page Down, Page Up, or a clicker", "Next or previous step of a lesson; after the last, the next lesson"),
            ("N", "Show the speaker notes of a lesson, or hide them"),
            ("B or .", "Blacken the screen and hold the run; any key gives both back"),
            ("P", "Show a ring around the pointer with the values under it, or hide them"),
        ],
    ),
    (
        "Window",
        &[
            ("Ctrl 1, Ctrl 2, Ctrl 3", "Show the landscape, the phase diagram, or real workloads"),
            ("Esc", "End a loop over steps; leave the opening, the presentation, a message or a field"),
            ("Ctrl +, Ctrl −, Ctrl 0", "Larger, smaller, normal interface"),
            ("Tab, Shift Tab", "Next or previous control"),
            ("← and → on a slider", "Change its value"),
            ("?, F1", "Show these keys"),
        ],
    ),
];

/// Keys with their effects, below a heading.
pub(crate) type KeyGroup = (&'static str, &'static [(&'static str, &'static str)]);

/// Lists all shortcuts for the help window. Those of the tabs are at the top.
pub fn shortcuts() -> Vec<KeyGroup> {
    let of_tabs = TabName::ALL.iter().map(|tab| (tab.info().title, tab.info().keys));
    of_tabs.filter(|(_, keys)| !keys.is_empty()).chain(SHORTCUTS).collect()
}

/// Shows the tab whose keys were pressed, and converts other keys to requests, except those that a focused control or
/// an open dialog handles.
pub(crate) fn handle_shortcuts(
    ctx: &Context,
    mut presentation: Option<&mut Presentation>,
    tabs: &mut Tabs,
    requests: &mut Requests,
) {
    if ctx.memory(|memory| memory.top_modal_layer().is_some()) || egui::Popup::is_any_open(ctx) {
        return;
    }
    let typing = ctx.text_edit_focused();
    let keys = Keys::new(ctx);
    let command = |key| keys.shortcut(&KeyboardShortcut::new(Modifiers::COMMAND, key));
    let shifted = |key| keys.shortcut(&KeyboardShortcut::new(Modifiers::COMMAND | Modifiers::SHIFT, key));
    let mut ask = |asked: bool, action: Action| requests.actions.extend(asked.then_some(action));
    // Longer shortcuts first, as shorter ones would match them too.
    ask(shifted(Key::S), Action::SaveAs);
    ask(command(Key::S), Action::Save);
    ask(command(Key::O), Action::Choose(Box::new(Purpose::Open)));
    ask(command(Key::E), Action::Export(None));
    ask(command(Key::Q), Action::Quit);
    for (&tab, digit) in TabName::ALL.iter().zip(DIGIT_KEYS) {
        if command(digit) {
            tabs.show(tab);
        }
    }
    ask(keys.pressed_once(Key::F11), Action::TogglePresentation);
    // A clicker starts a presentation with F5, and ends it with Escape.
    ask(presentation.is_none() && keys.pressed_once(Key::F5), Action::TogglePresentation);
    ask(keys.pressed(Modifiers::NONE, Key::F1), Action::ShowKeys);
    tabs.shown_landscape().into_iter().for_each(|tab| tab.handle_clicker(&keys, requests));
    if typing {
        return;
    }
    let mut ask = |asked: bool, action: Action| requests.actions.extend(asked.then_some(action));
    ask(shifted(Key::Z) || command(Key::Y), Action::Redo);
    ask(command(Key::Z), Action::Undo);
    let question =
        keys.pressed(Modifiers::NONE, Key::Questionmark) || keys.pressed(Modifiers::SHIFT, Key::Questionmark);
    ask(question, Action::ShowKeys);
    let ended_by_escape = tabs.shown_landscape().and_then(|tab| tab.ended_by_escape());
    requests.commands.extend(ended_by_escape.filter(|_| keys.pressed(Modifiers::NONE, Key::Escape)));
    if !keys.is_control_focused() {
        let escape = presentation.is_some() && keys.pressed(Modifiers::NONE, Key::Escape);
        ask(escape, Action::TogglePresentation);
    }
    if let Some(presentation) = &mut presentation {
        // With Shift, some keyboards have > on the key of the full stop.
        if [Key::B, Key::Period].into_iter().any(|key| !keys.has_shift(key) && keys.pressed_once(key)) {
            presentation.blacken(ctx);
        }
        if keys.pressed_once(Key::P) {
            presentation.has_ring = !presentation.has_ring;
        }
    }
    tabs.shown_landscape().into_iter().for_each(|tab| tab.handle_keys(&keys, requests));
}

#[cfg(test)]
mod tests {
    use super::{TabName, shortcuts};

    #[test]
    fn the_help_lists_the_keys_of_each_tab_once() {
        let all: Vec<_> = shortcuts().into_iter().flat_map(|(_, keys)| keys).collect();
        let of_tabs: Vec<String> = TabName::ALL.iter().map(|tab| tab.keys()).collect();
        let of_tabs = of_tabs.join(", ");
        for keys in ["Space", "Page Down, Page Up, or a clicker", "Enter on the phase diagram", "Ctrl S", &of_tabs] {
            assert_eq!(all.iter().filter(|(listed, _)| *listed == keys).count(), 1, "{keys}");
        }
    }
}
