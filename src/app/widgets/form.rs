//! Rows of a form with names at the left and aligned controls, buttons, check boxes, lists and menus, and marks of
//! controls.

use std::fmt;
use std::hash::Hash;

use egui::containers::menu::{MenuButton, MenuConfig};
use egui::style::ScrollStyle;
use egui::text::LayoutJob;
use egui::{
    Align, Button, Checkbox, CollapsingHeader, Color32, ComboBox, Context, Frame, Id, IntoAtoms, Key, Label, Layout,
    Margin, Modifiers, PopupCloseBehavior, RadioButton, Rect, Response, RichText, ScrollArea, Stroke, StrokeKind,
    TextFormat, TextStyle, Ui, Widget, WidgetText, Window, vec2,
};

use super::icons::{Icon, icon_button};
use super::theme;

/// The space around the contents of windows and dialogs, in points.
pub(crate) const WINDOW_MARGIN: Margin = Margin::same(16);
/// The width of the column of names, in points.
pub(crate) const NAME_WIDTH: f32 = 102.0;
/// The width of the field of a number, in points.
pub(crate) const FIELD_WIDTH: f32 = 58.0;
/// The side of a button at the end of a row, in points.
pub(crate) const BUTTON_SIDE: f32 = 18.0;
/// The length of the shortest slider in a row with a column of names, in points.
const SHORTEST_SLIDER: f32 = 120.0;
/// The width below which a row has no room for a column of names, in points.
pub(crate) const ONE_LINE_WIDTH: f32 = NAME_WIDTH + SHORTEST_SLIDER + FIELD_WIDTH + 2.0 * BUTTON_SIDE + 18.0;

/// The largest height of the list of a menu, and the room of the window above and below one, in points.
const TALLEST_LIST: f32 = 480.0;
const LIST_MARGIN: f32 = 60.0;

/// Shows a window while it is open, with the heading of dialogs and a button that closes it. `placed` sets its size and
/// its position.
pub(crate) fn show_window<'w, R>(
    ctx: &Context,
    title: &'w str,
    is_open: &mut bool,
    placed: impl FnOnce(Window<'w>) -> Window<'w>,
    contents: impl FnOnce(&mut Ui) -> R,
) -> Option<R> {
    if !*is_open {
        return None;
    }
    let frame = Frame::popup(&ctx.global_style()).inner_margin(WINDOW_MARGIN);
    let shown = placed(Window::new(title).title_bar(false).frame(frame)).show(ctx, |ui| {
        ui.horizontal(|ui| {
            ui.label(RichText::new(title).heading().strong());
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                *is_open = !icon_button(ui, Icon::Close, BUTTON_SIDE, "Close window", "Close").clicked();
            });
        });
        ui.add_space(4.0);
        contents(ui)
    });
    shown?.inner
}

/// Whether a field, a modal dialog or a popup needs the keys.
pub(crate) fn needs_keys(ctx: &Context) -> bool {
    let is_modal = || ctx.memory(|memory| memory.top_modal_layer().is_some());
    ctx.text_edit_focused() || is_modal() || egui::Popup::is_any_open(ctx)
}

/// Consumes the Escape key unless something else needs it; returns whether it was pressed.
pub(crate) fn take_escape(ctx: &Context) -> bool {
    !needs_keys(ctx) && ctx.input_mut(|input| input.consume_key(Modifiers::NONE, Key::Escape))
}

/// Shows a row with a name and a control.
pub(crate) fn line<R>(ui: &mut Ui, name: &str, help: &str, add: impl FnOnce(&mut Ui) -> R) -> R {
    let row = ui.horizontal(|ui| {
        cell(ui, NAME_WIDTH, |ui| ui.add(Label::new(name).wrap()).on_hover_text(help));
        // Controls without room in a row are below each other, beside the name.
        ui.horizontal_wrapped(add).inner
    });
    row.inner
}

/// Replaces the back quotes around code in a text by quotation marks.
pub(crate) fn with_quotes(text: &str) -> String {
    let mark = |(index, part): (usize, &str)| match index {
        0 => part.to_owned(),
        odd if odd % 2 == 1 => format!("“{part}"),
        _ => format!("”{part}"),
    };
    text.split('`').enumerate().map(mark).collect()
}

/// Shows a row with a name and a list of choices; leaves `reserve` points of the row free.
pub(crate) fn list_field(
    ui: &mut Ui,
    name: &str,
    help: &str,
    id: impl Hash + fmt::Debug,
    chosen: &str,
    reserve: f32,
    choices: impl FnOnce(&mut Ui),
) -> Response {
    cell(ui, NAME_WIDTH, |ui| ui.add(Label::new(name).wrap()).on_hover_text(help));
    let width = ui.available_width() - reserve;
    let combo = ComboBox::from_id_salt(id).selected_text(chosen).width(width).truncate().height(f32::INFINITY);
    // A combo box cuts its text only at the end of the room that it has.
    let shown = ui.scope(|ui| {
        ui.set_max_width(width);
        combo.show_ui(ui, choices)
    });
    shown.inner.response.accessible_name(name)
}

/// Gives scrolled areas of a part of the window a bar that is always visible and has room of its own.
pub(crate) fn visible_scroll_bar(ui: &mut Ui) {
    ui.spacing_mut().scroll = ScrollStyle { foreground_color: true, ..ScrollStyle::solid() };
}

/// Shows the entries of a long menu. Where they do not fit, they scroll beside a bar that is always visible.
pub(crate) fn scrolled_list<R>(ui: &mut Ui, add: impl FnOnce(&mut Ui) -> R) -> R {
    visible_scroll_bar(ui);
    let height = (ui.ctx().content_rect().height() - 2.0 * LIST_MARGIN).clamp(LIST_MARGIN, TALLEST_LIST);
    ScrollArea::vertical().max_height(height).show(ui, add).inner
}

/// Shows a part of a row, of this width in points.
pub(crate) fn cell<R>(ui: &mut Ui, width: f32, add: impl FnOnce(&mut Ui) -> R) -> R {
    let size = vec2(width, ui.spacing().interact_size.y);
    let add = |ui: &mut Ui| {
        ui.set_min_width(width);
        add(ui)
    };
    ui.allocate_ui_with_layout(size, Layout::left_to_right(Align::Center), add).inner
}

/// Shows a card with a heading that folds it.
pub(crate) fn card(ui: &mut Ui, title: &str, contents: impl FnOnce(&mut Ui)) {
    card_of(ui, CollapsingHeader::new(RichText::new(title).strong()).default_open(true), contents);
}

/// Shows a card that is folded at first, unless it has to be open.
pub(crate) fn folded_card(ui: &mut Ui, title: &str, has_to_be_open: bool, contents: impl FnOnce(&mut Ui)) {
    let heading = CollapsingHeader::new(RichText::new(title).strong()).open(has_to_be_open.then_some(true));
    card_of(ui, heading, contents);
}

fn card_of(ui: &mut Ui, heading: CollapsingHeader, contents: impl FnOnce(&mut Ui)) {
    framed(ui, |ui| {
        heading.show_unindented(ui, contents);
    });
}

/// Shows the frame of a card, as wide as there is room.
pub(crate) fn framed<R>(ui: &mut Ui, contents: impl FnOnce(&mut Ui) -> R) -> R {
    let frame = theme::card(ui.style()).show(ui, |ui| {
        ui.set_width(ui.available_width());
        contents(ui)
    });
    frame.inner
}

/// Shows why a setting cannot be used.
pub(crate) fn fault(ui: &mut Ui, text: &str) {
    let text = RichText::new(text).small().color(ui.visuals().error_fg_color);
    ui.add(Label::new(text).selectable(true).wrap());
}

pub(crate) fn owned(owner: &str, name: &str) -> String {
    if owner.is_empty() { name.to_owned() } else { format!("{owner}: {name}") }
}

/// Shows a button as wide as its text; returns whether it was pressed.
pub(crate) fn small_button(ui: &mut Ui, enabled: bool, text: &str, name: &str, help: &str) -> bool {
    let button = ui.add_enabled(enabled, Button::new(RichText::new(text).small()));
    button.on_hover_text(help).on_disabled_hover_text(help).accessible_name(name).clicked()
}

/// A check box or a radio button with an outline, which egui's style gives to every button or to none.
pub(crate) struct Outlined<W>(pub W);

impl<W: Widget> Widget for Outlined<W> {
    fn ui(self, ui: &mut Ui) -> Response {
        let style = ui.style().clone();
        theme::outline_boxes(ui);
        let response = ui.add(self.0);
        ui.set_style(style);
        response
    }
}

/// Shows a check box.
pub(crate) fn check_box<'a>(ui: &mut Ui, is_checked: &'a mut bool, text: impl IntoAtoms<'a>) -> Response {
    ui.add(Outlined(Checkbox::new(is_checked, text)))
}

/// Shows a radio button that sets `current` to a value.
pub(crate) fn radio_button<'a, V: PartialEq>(
    ui: &mut Ui,
    current: &mut V,
    value: V,
    text: impl IntoAtoms<'a>,
) -> Response {
    let is_chosen = *current == value;
    let mut response = ui.add(Outlined(RadioButton::new(is_chosen, text)));
    if response.clicked() && !is_chosen {
        *current = value;
        response.mark_changed();
    }
    response
}

/// Lays out a title, and a small text below it.
pub(crate) fn titled(ui: &Ui, title: &str, about: &str, color: Color32) -> WidgetText {
    let format = |style: TextStyle, color| TextFormat::simple(style.resolve(ui.style()), color);
    let mut job = LayoutJob::default();
    job.append(title, 0.0, format(TextStyle::Button, ui.visuals().strong_text_color()));
    if !about.is_empty() {
        job.append(&format!("\n{about}"), 0.0, format(TextStyle::Small, color));
    }
    job.into()
}

/// Makes a menu that stays open while its controls are used.
pub(crate) fn stays_open(name: impl IntoAtoms<'static>) -> MenuButton<'static> {
    let config = MenuConfig::new().close_behavior(PopupCloseBehavior::CloseOnClickOutside);
    MenuButton::new(name).config(config)
}

/// The time for which a control is marked, in seconds.
const HIGHLIGHT_SECS: f64 = 3.0;

/// The names of the marked controls.
#[derive(Clone, Default)]
pub(crate) struct Highlight {
    names: Vec<String>,
    /// True until the first of them has been scrolled into view.
    scroll: bool,
    /// The time at which the marks disappear, by egui's clock.
    until_secs: f64,
}

impl Highlight {
    /// Marks the controls of these names.
    pub(crate) fn set(ctx: &Context, names: Vec<String>) {
        let highlight = Highlight { names, scroll: true, until_secs: ctx.time() + HIGHLIGHT_SECS };
        ctx.data_mut(|data| data.insert_temp(highlight_id(), highlight));
    }

    /// Draws the mark of the control `name`, at `rect`, if it is highlighted.
    pub(crate) fn mark(ui: &Ui, rect: Rect, name: &str) {
        let Some(highlight) = Self::current(ui.ctx()) else { return };
        if !highlight.names.iter().any(|marked| marked == name) {
            return;
        }
        if highlight.scroll && highlight.names[0] == name {
            ui.scroll_to_rect(rect, Some(Align::Center));
            ui.ctx().data_mut(|data| data.get_temp_mut_or_default::<Highlight>(highlight_id()).scroll = false);
        }
        let left = ((highlight.until_secs - ui.ctx().time()) / HIGHLIGHT_SECS).clamp(0.0, 1.0) as f32;
        let color = ui.visuals().warn_fg_color.gamma_multiply((2.0 * left).min(1.0));
        ui.painter().rect_stroke(rect.expand(2.0), 3.0, Stroke::new(2.0, color), StrokeKind::Outside);
        ui.ctx().request_repaint();
    }

    /// Returns whether a control of this optimizer has just been highlighted, so that its card must be unfolded.
    pub(crate) fn includes_control_of(ctx: &Context, owner: &str) -> bool {
        Self::current(ctx).is_some_and(|highlight| {
            let of_owner = |name: &String| name.strip_prefix(owner).is_some_and(|rest| rest.starts_with(": "));
            highlight.scroll && highlight.names.iter().any(of_owner)
        })
    }

    fn current(ctx: &Context) -> Option<Highlight> {
        let highlight: Highlight = ctx.data(|data| data.get_temp(highlight_id()))?;
        (ctx.time() < highlight.until_secs).then_some(highlight)
    }
}

fn highlight_id() -> Id {
    Id::unique("highlight")
}

#[cfg(test)]
mod tests {
    use super::{TALLEST_LIST, scrolled_list, with_quotes};

    #[test]
    fn code_in_back_quotes_is_shown_in_quotation_marks() {
        assert_eq!(with_quotes("Type `valleyscope data text`, or `a`."), "Type “valleyscope data text”, or “a”.");
        assert_eq!(with_quotes("none"), "none");
    }

    #[test]
    fn a_list_that_scrolls_has_a_bar_that_is_always_visible() {
        egui::__run_test_ui(|ui| {
            let list = ui.scope(|ui| {
                scrolled_list(ui, |ui| {
                    assert!(!ui.spacing().scroll.floating, "the bar has room of its own");
                    (0..100).for_each(|number| drop(ui.label(number.to_string())));
                });
            });
            assert!(list.response.rect.height() <= TALLEST_LIST);
        });
    }
}
