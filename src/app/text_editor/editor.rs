//! The window in which a rule's or a landscape's text is edited.

use std::marker::PhantomData;

use egui::{
    Align, CollapsingHeader, Context, Id, Label, Layout, RichText, ScrollArea, TextBuffer, TextEdit, TextStyle, Ui,
    Window, vec2,
};
use serde::{Deserialize, Serialize};

use super::colors::{layout, marked_range};
use super::{Mistake, TypedKind};

/// The parts of the language that rules and landscapes share, with their meanings.
const LANGUAGE: &[(&str, &str)] = &[
    ("pi", "3.14159…"),
    ("+ − * / ^  < <= > >= == !=", "a comparison is 1 or 0"),
    ("sign abs sqrt exp ln tanh sin cos", "of one number"),
    ("min(a, b)  max(a, b)  clamp(x, low, high)", "NaN where a number is NaN"),
    ("where(c, a, b)", "a where c is not 0, else b"),
    ("# …", "a comment"),
];

/// The tab whose settings a text is part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::app) enum TextTab {
    Simulation,
    Sweep,
    Training,
    Scan,
}

impl TextTab {
    /// Returns the tab's part of the identity of widgets.
    pub(in crate::app) fn key(self) -> &'static str {
        match self {
            TextTab::Simulation => "landscape",
            TextTab::Sweep => "sweep",
            TextTab::Training => "training",
            TextTab::Scan => "scan",
        }
    }

    /// Returns when a changed text takes effect.
    fn effect(self) -> &'static str {
        match self {
            TextTab::Simulation => "in the next step",
            TextTab::Sweep | TextTab::Training | TextTab::Scan => "at the next start",
        }
    }
}

/// The text being typed; kept when the program ends, as a preset holds no text with a mistake.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(default)]
struct Draft {
    is_open: bool,
    name: String,
    text: String,
    /// The name and the text at the last valid state.
    of: (String, String),
    #[serde(skip)]
    mistake: Option<Mistake>,
    /// Whether the name and the text were read since the program started.
    #[serde(skip)]
    is_read: bool,
}

impl Draft {
    /// Returns whether the name or the text was refused. A name is read once it is entered, a text as it is typed.
    fn is_refused(&self) -> bool {
        let Draft { name, text, of, mistake, is_read, .. } = self;
        mistake.is_some() || (!is_read && (name, text) != (&of.0, &of.1))
    }
}

/// The editor of the text of an optimizer's rule or of a landscape, in a tab.
pub(in crate::app) struct TextEditor<'a, K> {
    tab: TextTab,
    /// The id of the edited optimizer; 0 for a landscape.
    optimizer: u32,
    /// The owner of the text in names of fields.
    owner: &'a str,
    kind: PhantomData<K>,
}

impl<'a, K: TypedKind> TextEditor<'a, K> {
    pub(in crate::app) fn new(tab: TextTab, optimizer: u32, owner: &'a str) -> TextEditor<'a, K> {
        TextEditor { tab, optimizer, owner, kind: PhantomData }
    }

    fn id(&self) -> Id {
        Id::unique((K::WORDS.noun, "text", (self.tab.key(), self.optimizer)))
    }

    /// Opens the window, or raises it.
    pub(in crate::app) fn open(&self, ctx: &Context) {
        ctx.data_mut(|data| data.get_persisted_mut_or_default::<Draft>(self.id()).is_open = true);
    }

    /// Returns whether the typed name or text has a mistake, so that `spec` differs from it.
    pub(in crate::app) fn has_mistake(&self, ctx: &Context, spec: &K::Spec) -> bool {
        let draft = ctx.data_mut(|data| data.get_persisted::<Draft>(self.id()));
        in_force(K::of(spec)).zip(draft).is_some_and(|(in_force, draft)| in_force == draft.of && draft.is_refused())
    }

    /// Shows the window if it is open, and applies the typed text as soon as it has no mistake.
    pub(in crate::app) fn show(&self, ctx: &Context, spec: &mut K::Spec) {
        let kind = K::of(spec);
        let Some(in_force) = in_force(kind) else { return };
        let known = ctx.data_mut(|data| data.get_persisted::<Draft>(self.id()));
        let Some(mut draft) = known.filter(|draft| draft.is_open) else { return };
        if draft.of != in_force {
            let (name, text) = in_force.clone();
            draft = Draft { is_open: true, name, text, of: in_force, mistake: None, is_read: true };
        }
        // A mistake is not kept with its name and text.
        let is_unread = !std::mem::replace(&mut draft.is_read, true);
        let screen = ctx.content_rect();
        let size = vec2(640.0, 430.0).min(screen.size() - vec2(40.0, 90.0));
        let title = format!("{}: {}", self.owner, K::WORDS.noun);
        let mut is_open = true;
        let window = Window::new(title).id(self.id()).collapsible(false).open(&mut is_open);
        // In this corner it leaves most of the landscape visible.
        let window = window.default_size(size).default_pos(screen.max - size - vec2(16.0, 110.0));
        let is_changed = window.show(ctx, |ui| self.fields(ui, kind, &mut draft)).and_then(|shown| shown.inner);
        draft.is_open = is_open;
        if is_unread || is_changed == Some(true) {
            match K::read(&draft.name, &draft.text) {
                Ok(kind) => {
                    kind.make_latest();
                    *spec = kind.in_spec(spec);
                    draft.of = (draft.name.clone(), draft.text.clone());
                    draft.mistake = None;
                }
                Err(mistake) => draft.mistake = Some(mistake),
            }
        }
        ctx.data_mut(|data| data.insert_persisted(self.id(), draft));
    }

    /// Shows the fields; returns whether the name was entered or the text changed.
    fn fields(&self, ui: &mut Ui, kind: K, draft: &mut Draft) -> bool {
        let (owner, noun) = (self.owner, K::WORDS.noun);
        let is_named = ui
            .horizontal(|ui| {
                ui.label("Name");
                let field = TextEdit::singleline(&mut draft.name).char_limit(K::LONGEST_NAME);
                let field = ui.add(field.desired_width(260.0)).accessible_name(format!("{owner}: name of the {noun}"));
                field.lost_focus()
            })
            .inner;
        self.outcome(ui, draft.mistake.as_ref());
        let range = draft.mistake.as_ref().and_then(|mistake| mistake.range.clone());
        let mark = range.map(|range| marked_range(&draft.text, range));
        let edited = ScrollArea::vertical().auto_shrink(false).show(ui, |ui| {
            // In the frame of a change, the mark still belongs to the previous text.
            let marked = draft.text.clone();
            let mut layouter = |ui: &Ui, text: &dyn TextBuffer, width: f32| {
                let mark = mark.as_ref().filter(|_| text.as_str() == marked);
                layout(ui, text.as_str(), mark, width)
            };
            let field = TextEdit::multiline(&mut draft.text).code_editor().layouter(&mut layouter);
            let field = ui.add(field.desired_width(f32::INFINITY).desired_rows(12));
            ui.add_space(6.0);
            kind.derived(ui);
            CollapsingHeader::new("The language").show(ui, language::<K>);
            field.accessible_name(format!("{owner}: text of the {noun}")).changed()
        });
        edited.inner || is_named
    }

    /// Shows whether the text is in force, or the mistake.
    fn outcome(&self, ui: &mut Ui, mistake: Option<&Mistake>) {
        let noun = K::WORDS.noun;
        let text = match mistake {
            None => {
                let when = self.tab.effect();
                RichText::new(format!("The {noun} is valid. Changes take effect {when}.")).weak()
            }
            Some(Mistake { message, .. }) => {
                let text = format!("{message}. The last valid {noun} is in use.");
                RichText::new(text).color(ui.visuals().error_fg_color)
            }
        };
        // Room for two lines, so that the text does not move.
        let height = 2.0 * ui.text_style_height(&TextStyle::Body);
        let room = vec2(ui.available_width(), height);
        ui.allocate_ui_with_layout(room, Layout::top_down(Align::Min), |ui| {
            ui.set_min_height(height);
            ui.add(Label::new(text).wrap())
        });
    }
}

/// Returns the name and the text of a typed kind.
fn in_force<K: TypedKind>(kind: K) -> Option<(String, String)> {
    Some((kind.title().to_owned(), kind.text()?.to_owned()))
}

fn language<K: TypedKind>(ui: &mut Ui) {
    for (words, meaning) in K::WORDS.language.iter().chain(LANGUAGE) {
        ui.horizontal_wrapped(|ui| {
            ui.monospace(*words);
            ui.weak(*meaning);
        });
    }
}
