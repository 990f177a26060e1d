//! The thumbnails of the library's diagrams below the maps.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use egui::accesskit::Role;
use egui::{
    Align, Button, Checkbox, Color32, Context, DragValue, Key, Label, Layout, Popup, PopupCloseBehavior, Rect,
    RichText, ScrollArea, Sense, Stroke, StrokeKind, TextEdit, Ui, Vec2, WidgetInfo, pos2, vec2,
};
use valleyscope_engine::sweep::{Precision, SweepSpec};
use valleyscope_experiments::preset::SweepPreset;

use super::PhasePanel;
use super::controls::time;
use super::diagram_folder::Limits;
use super::library::{Library, LibraryEntry};
use super::maps::two_lines;
use crate::app::shell::messages::Question;
use crate::app::shell::window::{Edge, PanelSizes, SidePanel};
use crate::app::widgets::form::{Outlined, stays_open};
use crate::app::widgets::icons::{Icon, icon_button};
use crate::app::widgets::theme::frame_fields;
use crate::sweep::titles::{TitledSweep, difference, over_axes, settings_among};

/// The size of a small picture, in points.
const PICTURE: Vec2 = vec2(92.0, 60.0);
/// The width of a card in the gallery, in points.
const WIDTH: f32 = 116.0;
/// The side of a small button, in points.
const BUTTON: f32 = 18.0;
/// The largest number of letters of a name.
const LONGEST_NAME: usize = 100;
/// The distance beyond each end of the visible part in which cards are also made, for the focus to move to, in points.
const BEYOND: f32 = 2.0 * WIDTH;

/// The state of the gallery.
#[derive(Default)]
pub(super) struct GalleryState {
    /// The diagram that is being renamed, and the text so far.
    renaming: Option<(u64, String)>,
    /// The diagram whose removal needs an answer.
    to_remove: Option<u64>,
    texts: CardCache,
}

impl PhasePanel {
    /// Returns a message about folders that cannot be used, if there are some.
    pub(super) fn refused(&self) -> Option<String> {
        let refused = &self.diagrams.library.refused;
        let lines: Vec<String> = refused.iter().map(|(name, reason)| format!("{name}: {reason}")).collect();
        let advice = "They are left as they are. Move them elsewhere to see this message no more.";
        (!lines.is_empty()).then(|| format!("{}\n\n{advice}", lines.join("\n\n")))
    }

    /// Shows the kept diagrams, if there are some.
    pub(super) fn gallery(&mut self, ui: &mut Ui, sizes: &mut PanelSizes) {
        if self.diagrams.library.numbers().is_empty() {
            return;
        }
        let usual = 150.0;
        let gallery = SidePanel { name: "kept diagrams", edge: Edge::Bottom, usual, range: 60.0..=240.0, frame: None };
        gallery.show(ui, sizes, |ui, _| {
            self.strip_heading(ui);
            self.gallery.texts.renew(&self.diagrams.library);
            let numbers: Vec<u64> = self.diagrams.library.numbers().into_iter().rev().collect();
            ScrollArea::horizontal().id_salt("kept diagrams").auto_shrink(false).show(ui, |ui| {
                ui.horizontal_top(|ui| {
                    for number in numbers {
                        // Cards out of view are not made, only their room.
                        let area = Rect::from_min_size(ui.cursor().min, vec2(WIDTH, 1.0)).expand2(vec2(BEYOND, 0.0));
                        if ui.clip_rect().x_range().intersects(area.x_range()) {
                            ui.push_id(number, |ui| self.kept_diagram(ui, number));
                        } else {
                            ui.allocate_space(vec2(WIDTH, 0.0));
                        }
                    }
                });
            });
        });
    }

    fn strip_heading(&mut self, ui: &mut Ui) {
        ui.horizontal(|ui| {
            ui.label(RichText::new("Kept diagrams").small().strong());
            let (count, bytes) = self.diagrams.library.taken();
            let Limits { diagrams, .. } = self.diagrams.library.limits;
            let text = format!("{count} of {diagrams} · {} MB", bytes.div_ceil(1_000_000));
            ui.label(RichText::new(text).small().weak());
            let mut limits = stays_open("");
            limits.button = Button::new("Limits").small();
            let (button, _) = limits.ui(ui, |ui| self.limits(ui));
            let help = "Beyond these limits the oldest diagram makes room, at first of those that take seconds to compute; \
                        one that took longer or has a name only after a question. Pinned ones stay.";
            button.on_hover_text(help).accessible_name("Limits of kept diagrams");
            if !self.comparison.is_empty() && ui.small_button("Only this one").clicked() {
                self.comparison.clear();
            }
        });
    }

    fn limits(&mut self, ui: &mut Ui) {
        let Limits { diagrams, megabytes } = &mut self.diagrams.library.limits;
        let changes = ui.horizontal(|ui| {
            frame_fields(ui);
            // A number that is typed digit by digit, or dragged, drops no diagram on the way.
            let field = DragValue::new(diagrams).update_while_editing(false);
            ui.label("At most");
            let most = ui.add(field.range(1..=1000)).accessible_name("Most kept diagrams");
            ui.label("diagrams and");
            let field = DragValue::new(megabytes).update_while_editing(false);
            most | ui.add(field.range(10..=1_000_000).suffix(" MB")).accessible_name("Most megabytes")
        });
        if !changes.inner.dragged() {
            self.diagrams.library.store_limits();
        }
    }

    /// Shows a diagram of the gallery: its picture, its caption, and its buttons.
    fn kept_diagram(&mut self, ui: &mut Ui, number: u64) {
        let Some(CardTexts { title, caption }) = self.gallery.texts.get(number, &self.diagrams.library) else { return };
        ui.allocate_ui_with_layout(vec2(WIDTH, 0.0), Layout::top_down(Align::Min), |ui| {
            ui.set_width(WIDTH);
            let is_present = self.diagrams.newest().number == number;
            let Some(entry) = self.diagrams.library.get_mut(number) else { return };
            let opens = small_picture(ui, entry, &title, is_present);
            let caption = ui.add(Label::new(two_lines(ui, caption, ui.visuals().text_color(), WIDTH)));
            if caption.hovered() {
                caption.on_hover_text(described(entry));
            }
            ui.horizontal(|ui| self.card_buttons(ui, number, &title, is_present));
            if opens {
                self.show_saved(number);
            }
        });
    }

    fn card_buttons(&mut self, ui: &mut Ui, number: u64, title: &str, is_present: bool) {
        ui.spacing_mut().item_spacing.x = 2.0;
        let mut is_compared = self.comparison.contains(number);
        let is_free = !is_present && (is_compared || self.comparison.can_grow());
        let label = RichText::new(if is_present { "shown" } else { "beside" }).small();
        let compare = ui.add_enabled(is_free, Outlined(Checkbox::new(&mut is_compared, label)));
        let compare =
            compare.on_hover_text("Show it beside the present diagram").accessible_name(format!("Compare {title}"));
        if compare.changed() {
            match is_compared {
                true => self.comparison.add(number),
                false => self.comparison.remove(number),
            }
        }
        let is_pinned = self.diagrams.library.get(number).is_some_and(|entry| entry.description.pinned);
        let (icon, word) = if is_pinned { (Icon::Pinned, "Unpin") } else { (Icon::Pin, "Pin") };
        let hint = "A pinned diagram stays until you remove it";
        if icon_button(ui, icon, BUTTON, &format!("{word} {title}"), hint).clicked() {
            self.diagrams.library.describe(number, |it| it.pinned = !is_pinned);
        }
        let more = icon_button(ui, Icon::More, BUTTON, &format!("More about {title}"), "Rename or remove");
        let popup = Popup::menu(&more).close_behavior(PopupCloseBehavior::CloseOnClickOutside);
        if popup.show(|ui| self.card_menu(ui, number, title)).is_none() {
            self.gallery.renaming.take_if(|(of, _)| *of == number);
        }
    }

    fn card_menu(&mut self, ui: &mut Ui, number: u64, title: &str) {
        let entry = self.diagrams.library.get(number);
        let before = entry.and_then(|entry| entry.description.name.clone()).unwrap_or_default();
        let mut text = match self.gallery.renaming.take() {
            Some((of, text)) if of == number => text,
            _ => before.clone(),
        };
        ui.horizontal(|ui| {
            ui.label("Name");
            let field = TextEdit::singleline(&mut text).hint_text("made from its settings").char_limit(LONGEST_NAME);
            let field = ui.add(field.desired_width(220.0)).accessible_name(format!("Name of {title}"));
            let is_given_up = ui.input(|input| input.key_pressed(Key::Escape));
            if is_given_up {
                text.clone_from(&before);
            } else if field.lost_focus() && text.trim() != before {
                let name = Some(text.trim().to_owned()).filter(|name| !name.is_empty());
                self.diagrams.library.describe(number, |it| it.name = name);
            }
        });
        self.gallery.renaming = Some((number, text));
        ui.separator();
        if ui.button("Remove").clicked() {
            self.ask_to_remove(number);
            ui.close();
        }
    }

    /// Removes a diagram, after a question if it took long to compute or has a name.
    fn ask_to_remove(&mut self, number: u64) {
        match self.diagrams.library.get(number) {
            Some(entry) if entry.is_dear(self.worth_asking) => self.gallery.to_remove = Some(number),
            _ => self.diagrams.remove_saved(number),
        }
    }

    /// Shows the question before a diagram is removed, and makes room where the limits are exceeded.
    pub(in crate::app) fn ask_about_library(&mut self, ctx: &Context) {
        if let Some(number) = self.gallery.to_remove {
            let Some(description) = self.diagrams.library.get(number).map(described) else {
                self.gallery.to_remove = None;
                return;
            };
            let question = Question {
                id: "remove kept diagram",
                heading: "Remove this diagram?",
                text: &format!("{description} This can't be undone."),
                yes: "Remove",
                no: "Keep",
            };
            if let Some(is_removed) = question.ask(ctx) {
                self.gallery.to_remove = None;
                if is_removed {
                    self.diagrams.remove_saved(number);
                }
            }
            return;
        }
        self.make_room(ctx);
    }

    /// Drops diagrams that took seconds to compute while the limits are exceeded, and asks about others.
    fn make_room(&mut self, ctx: &Context) {
        // Limits that are being dragged drop nothing yet.
        if ctx.input(|input| input.pointer.any_down()) {
            return;
        }
        let mut in_use = self.diagrams.in_use();
        in_use.extend(self.comparison.compared());
        while let Some(number) = self.diagrams.library.surplus(&in_use, self.worth_asking) {
            let Some(entry) = self.diagrams.library.get(number) else { return };
            if !entry.is_dear(self.worth_asking) {
                self.diagrams.remove_saved(number);
                continue;
            }
            let Limits { diagrams, megabytes } = self.diagrams.library.limits;
            let text = format!(
                "More diagrams are kept than the limits of {diagrams} diagrams and {megabytes} MB allow. The oldest that is \
                 not pinned: {}",
                described(entry)
            );
            let question = Question {
                id: "room for kept diagrams",
                heading: "Drop the oldest kept diagram?",
                text: &text,
                yes: "Drop it",
                no: "Keep it, and raise the limits",
            };
            match question.ask(ctx) {
                Some(true) => self.diagrams.remove_saved(number),
                Some(false) => self.diagrams.library.raise_limits(),
                None => return,
            }
        }
    }
}

/// Shows the picture of a diagram; returns whether it is to be opened.
fn small_picture(ui: &mut Ui, entry: &mut LibraryEntry, title: &str, is_present: bool) -> bool {
    let (room, response) = ui.allocate_exact_size(PICTURE, Sense::click());
    response.widget_info(|| WidgetInfo::labeled(Role::Button, true, format!("Open {title}")));
    if ui.is_rect_visible(room) {
        let context = ui.ctx().clone();
        let painter = ui.painter();
        painter.rect_filled(room, 2.0, ui.visuals().extreme_bg_color);
        if let Some(texture) = entry.texture(&context) {
            let whole = Rect::from_min_max(pos2(0.0, 0.0), pos2(1.0, 1.0));
            painter.image(texture.id(), room, whole, Color32::WHITE);
        }
        let color = match () {
            () if is_present || response.has_focus() => ui.visuals().hyperlink_color,
            () if response.hovered() => ui.visuals().strong_text_color(),
            () => ui.visuals().widgets.noninteractive.bg_stroke.color,
        };
        let width = if is_present || response.has_focus() { 2.0 } else { 1.0 };
        painter.rect_stroke(room, 2.0, Stroke::new(width, color), StrokeKind::Inside);
        if !entry.is_complete() {
            let bar = Rect::from_min_max(pos2(room.left(), room.bottom() - 4.0), room.max);
            painter.rect_filled(bar, 0.0, ui.visuals().extreme_bg_color);
            let done = bar.with_max_x(bar.left() + bar.width() * entry.part());
            painter.rect_filled(done, 0.0, ui.visuals().hyperlink_color);
        }
    }
    if response.gained_focus() {
        response.scroll_to_me(None);
    }
    let is_opened = response.clicked();
    if response.hovered() {
        response.on_hover_text(described(entry));
    }
    is_opened
}

/// The texts of a card.
#[derive(Clone, Debug)]
pub(super) struct CardTexts {
    /// The title, which no other card has where their settings differ.
    pub title: String,
    /// The name that the user gave; else the optimizers, where those of others differ, and the settings that differ
    /// from those of other diagrams of these optimizers.
    pub caption: String,
}

/// The texts of all cards that were shown since a diagram was added, changed or removed.
#[derive(Default)]
pub(super) struct CardCache {
    /// The diagrams for which the texts were made: number, name, and the address of the sweep of each.
    key: Vec<(u64, Option<String>, usize)>,
    texts: BTreeMap<u64, CardTexts>,
}

impl CardCache {
    /// Forgets the texts if the kept diagrams have changed.
    pub(super) fn renew(&mut self, library: &Library) {
        let key = library.numbers().into_iter().filter_map(|number| {
            let entry = library.get(number)?;
            Some((number, entry.description.name.clone(), Arc::as_ptr(&entry.spec) as usize))
        });
        let key: Vec<_> = key.collect();
        if key != self.key {
            *self = CardCache { key, texts: BTreeMap::new() };
        }
    }

    pub(super) fn get(&mut self, number: u64, library: &Library) -> Option<CardTexts> {
        let entry = library.get(number)?;
        Some(self.texts.entry(number).or_insert_with(|| texts(entry, number, library)).clone())
    }
}

fn texts(entry: &LibraryEntry, number: u64, library: &Library) -> CardTexts {
    let others: Vec<&LibraryEntry> =
        library.numbers().into_iter().filter(|other| *other != number).filter_map(|other| library.get(other)).collect();
    let names = entry.spec.shown_names();
    let mut parts = Vec::new();
    if others.iter().any(|other| other.spec.shown_names() != names) {
        parts.push(names.join(", "));
    }
    let titled = |entry: &LibraryEntry, of: &SweepSpec| TitledSweep {
        name: None,
        // The gallery shows diagrams, whatever metric they were displayed by.
        preset: SweepPreset {
            sweep: SweepSpec { metric: of.metric, ..(*entry.spec).clone() },
            ..(*entry.description.preset).clone()
        },
        precision: entry.description.precision,
    };
    let alike = others.iter().filter(|other| other.spec.shown_names() == names);
    let alike: Vec<TitledSweep> = alike.map(|other| titled(other, &entry.spec)).collect();
    parts.extend(settings_among(&titled(entry, &entry.spec), &alike.iter().collect::<Vec<_>>()));
    let title = entry.title();
    let made = if parts.is_empty() { title.clone() } else { parts.join(", ") };
    let is_taken = others.iter().any(|other| other.title() == title);
    CardTexts {
        title: if is_taken { format!("{title}: {made}") } else { title },
        caption: entry.description.name.clone().unwrap_or(made),
    }
}

/// Describes a diagram in a few sentences.
pub(super) fn described(entry: &LibraryEntry) -> String {
    let [rows, columns] = entry.spec.shape();
    let mut text = format!("“{}”, {rows} × {columns} pixels", entry.title());
    if !entry.is_complete() {
        text.push_str(&format!(", of which {} are computed", entry.description.coverage.pixels));
    }
    if entry.description.worked >= Duration::from_secs(1) {
        text.push_str(&format!(", computed in {}", time(entry.description.worked)));
    }
    if entry.description.precision == Precision::Double {
        text.push_str(", in double precision");
    }
    text.push_str(&format!(": {}", over_axes(&entry.spec)));
    let preset = &entry.description.preset;
    let changes = difference(&entry.spec, &preset.sweep);
    if !changes.is_empty() {
        text.push_str(&format!(" Changed from “{}”: {}.", preset.title, changes.join("; ")));
    }
    if let Some(fault) = &entry.fault {
        text.push_str(&format!(" {fault}"));
    }
    text
}
