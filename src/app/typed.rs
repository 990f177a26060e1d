//! A text field that holds a value: what is typed becomes the value when it is valid, and is refused
//! with a visible reason when it is not.

use egui::{Align2, Id, Key, Response, TextEdit, Ui};

/// What a field remembers between frames.
#[derive(Clone, Default)]
struct Typing {
    editing: bool,
    text: String,
    /// Why the last entry was refused, and how the value looked then.
    refusal: Option<(String, String)>,
}

/// A field for a value of any type.
pub struct TypedField<'a> {
    /// What a screen reader says; unique among the fields of a window.
    pub name: &'a str,
    pub width: f32,
}

/// What came of one frame of a field.
pub struct Typed<T> {
    pub response: Response,
    /// The value that was entered and accepted in this frame.
    pub entered: Option<T>,
    /// Why the last entry was refused.
    pub refusal: Option<String>,
}

impl TypedField<'_> {
    /// Shows the field with `shown` as its text. `read` turns an entry into a value, or into the reason
    /// for its refusal.
    pub fn show<T>(self, ui: &mut Ui, shown: &str, read: impl FnOnce(&str) -> Result<T, String>) -> Typed<T> {
        let id = ui.make_persistent_id(("typed", self.name));
        let mut typing: Typing = ui.data_mut(|data| data.get_temp(id)).unwrap_or_default();
        let mut text = if typing.editing { typing.text.clone() } else { shown.to_owned() };
        let response = ui
            .add(
                TextEdit::singleline(&mut text)
                    .id(id)
                    .desired_width(self.width)
                    .align(Align2::RIGHT_CENTER)
                    .clip_text(true),
            )
            .accessible_name(self.name);
        let mut entered = None;
        if response.gained_focus() {
            typing = Typing { editing: true, text, refusal: None };
            select_all(ui, id, shown);
        } else if response.lost_focus() {
            let given_up = ui.input(|input| input.key_pressed(Key::Escape));
            if typing.editing && !given_up && text != shown {
                match read(&text) {
                    Ok(value) => entered = Some(value),
                    Err(reason) => typing.refusal = Some((reason, shown.to_owned())),
                }
            }
            typing.editing = false;
        } else if response.has_focus() {
            typing.editing = true;
            typing.text = text;
        } else {
            typing.editing = false;
            typing.refusal = typing.refusal.filter(|(_, value)| value == shown);
        }
        let refusal = typing.refusal.as_ref().map(|(reason, _)| reason.clone());
        ui.data_mut(|data| data.insert_temp(id, typing));
        Typed { response, entered, refusal }
    }
}

fn select_all(ui: &Ui, id: Id, text: &str) {
    let mut state = TextEdit::load_state(ui.ctx(), id).unwrap_or_default();
    state.cursor.set_char_range(Some(egui::text::CCursorRange::select_all_str(text)));
    state.store(ui.ctx(), id);
}

/// Shows why an entry was refused, below its field.
pub fn show_refusal(ui: &mut Ui, refusal: Option<&str>) {
    if let Some(reason) = refusal {
        let color = ui.visuals().error_fg_color;
        ui.add(egui::Label::new(egui::RichText::new(reason).small().color(color)).wrap());
    }
}
