//! Update rules and landscapes as text: the menus that offer them, and the editor of their text.

mod colors;
mod editor;
mod landscape;
mod rule;

pub(super) use editor::{TextEditor, TextTab};
pub(super) use landscape::{gradient, landscape_as_text};
pub(super) use rule::{RuleChoice, rule_as_text};

use std::ops::Range;

use egui::Ui;
use valleyscope_engine::typed_text::TypedError;

use super::form;

/// Update rules or landscapes: the built-in ones and the typed ones.
pub(super) trait TypedKind: Copy + PartialEq + 'static {
    /// A rule or a landscape with the values of its parameters.
    type Spec;

    const WORDS: Words;
    /// The built-in ones, in the order of menus.
    const BUILT_IN: &'static [Self];
    /// The most characters of a name.
    const LONGEST_NAME: usize;

    /// Reads a typed one.
    ///
    /// # Errors
    ///
    /// Returns the first mistake in the text, or why the name is refused.
    fn read(name: &str, text: &str) -> Result<Self, Mistake>;

    /// Lists the typed ones, the last of each name.
    fn latest() -> Vec<Self>;

    /// Makes a typed one the last of its name.
    fn make_latest(self);

    fn of(spec: &Self::Spec) -> Self;

    /// Returns `spec` with this typed kind; parameters keep their values.
    fn in_spec(self, spec: &Self::Spec) -> Self::Spec;

    /// Returns the name that is shown.
    fn title(self) -> &'static str;

    /// Returns the text of a typed one.
    fn text(self) -> Option<&'static str>;

    /// Returns the description of a built-in one in a menu.
    fn help(self) -> Option<String>;

    /// Shows what is derived from the text, below it.
    fn derived(self, ui: &mut Ui);
}

/// The words of menus and of the editor.
pub(super) struct Words {
    /// The noun in sentences, such as `rule`.
    pub noun: &'static str,
    /// The entry of a menu that makes a new one, its explanation, and the name and the text that the new one has.
    pub own: &'static str,
    pub own_help: &'static str,
    pub first_name: &'static str,
    pub first_text: &'static str,
    /// The parts of the language that rules and landscapes do not share, with their meanings.
    pub language: &'static [(&'static str, &'static str)],
}

/// The reason why a name and a text are refused.
#[derive(Clone)]
pub(super) struct Mistake {
    pub message: String,
    /// The range of the mistake in bytes, if it is in the text.
    pub range: Option<Range<usize>>,
}

impl From<TypedError> for Mistake {
    fn from(error: TypedError) -> Mistake {
        match error {
            TypedError::Text { mistake, .. } => {
                Mistake { message: format!("In {mistake}"), range: Some(mistake.range) }
            }
            other => Mistake { message: other.to_string(), range: None },
        }
    }
}

/// Shows the entries of a menu: built in, typed before, or new; returns the chosen one.
pub(super) fn choices<K: TypedKind>(ui: &mut Ui, chosen: Option<K>) -> Option<K> {
    form::scrolled_list(ui, |ui| entries(ui, chosen))
}

fn entries<K: TypedKind>(ui: &mut Ui, chosen: Option<K>) -> Option<K> {
    let mut choice = None;
    // Entries are known by their names, so that a click hits the same one though another was added meanwhile.
    let label = |ui: &mut Ui, is_chosen, name: &str| ui.push_id(name, |ui| ui.selectable_label(is_chosen, name)).inner;
    let mut offer = |ui: &mut Ui, kind: K| {
        let mut entry = label(ui, chosen == Some(kind), kind.title());
        if let Some(help) = kind.help() {
            entry = entry.on_hover_text(help);
        }
        if entry.clicked() {
            choice = Some(kind);
        }
    };
    K::BUILT_IN.iter().for_each(|kind| offer(ui, *kind));
    ui.separator();
    K::latest().into_iter().for_each(|kind| offer(ui, kind));
    let Words { own, own_help, first_name, first_text, .. } = K::WORDS;
    if label(ui, false, own).on_hover_text(own_help).clicked() {
        choice = read_as(first_name, first_text).ok();
    }
    choice
}

/// Reads a text under a unique name that begins with `name`.
fn read_as<K: TypedKind>(name: &str, text: &str) -> Result<K, Mistake> {
    let known = K::latest();
    let is_free = |name: &String| known.iter().all(|kind| kind.title() != name);
    let mut names = [name.to_owned()].into_iter().chain((2..).map(|number| format!("{name} {number}")));
    K::read(&names.find(is_free).expect("one of infinitely many names is free"), text)
}
