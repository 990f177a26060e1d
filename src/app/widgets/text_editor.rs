//! The window in which a rule's or a landscape's text is edited, and the menus that open it.

use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

use egui::text::{LayoutJob, TextFormat};
use egui::{
    Align, Button, CollapsingHeader, Context, Galley, Id, Key, Label, Layout, RichText, ScrollArea, Stroke, TextBuffer,
    TextEdit, TextStyle, Ui, vec2,
};
use serde::{Deserialize, Serialize};
use valleyscope_engine::language::{TokenKind, tokens};
use valleyscope_engine::typed_text::{Compiled, Interned, TypedError};

use super::form::{self, show_window};

pub(crate) use super::typed_kinds::{
    RuleChoice, copy_entries, gradient, landscape_as_text, landscape_text, rule_as_text,
};

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
pub(crate) enum TextTab {
    Simulation,
    Sweep,
    Training,
}

impl TextTab {
    /// Describes when a changed text takes effect.
    fn effect(self) -> &'static str {
        match self {
            TextTab::Simulation => "in the next step",
            TextTab::Sweep | TextTab::Training => "at the next start",
        }
    }
}

/// The text being typed; stored when the program ends, as a preset cannot hold a text with a mistake.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(default)]
struct Draft {
    is_open: bool,
    name: String,
    text: String,
    /// The name and the text at the last valid state.
    of: (String, String),
    #[serde(skip)]
    mistake: Option<TypedError>,
    /// Whether the name and the text were read since the program started.
    #[serde(skip)]
    is_read: bool,
}

impl Draft {
    /// Whether the name or the text was refused. A name is read once it is entered, a text as it is typed.
    fn is_refused(&self) -> bool {
        let Draft { name, text, of, mistake, is_read, .. } = self;
        mistake.is_some() || (!is_read && (name, text) != (&of.0, &of.1))
    }
}

/// The editor of the text of an optimizer's rule or of a landscape, in a tab.
pub(crate) struct TextEditor<'a, K> {
    tab: TextTab,
    /// The id of the edited optimizer; 0 for a landscape.
    optimizer: u32,
    /// The owner of the text in names of fields.
    owner: &'a str,
    kind: PhantomData<K>,
}

impl<'a, K: TypedKind> TextEditor<'a, K> {
    pub(crate) fn new(tab: TextTab, optimizer: u32, owner: &'a str) -> TextEditor<'a, K> {
        TextEditor { tab, optimizer, owner, kind: PhantomData }
    }

    fn id(&self) -> Id {
        Id::unique((K::Compiled::NOUN, "text", (self.tab, self.optimizer)))
    }

    pub(crate) fn open(&self, ctx: &Context) {
        ctx.data_mut(|data| data.get_persisted_mut_or_default::<Draft>(self.id()).is_open = true);
    }

    /// Whether the typed name or text has a mistake, so that `spec` differs from it.
    fn has_mistake(&self, ctx: &Context, spec: &K::Spec) -> bool {
        let draft = ctx.data_mut(|data| data.get_persisted::<Draft>(self.id()));
        in_force(K::of(spec)).zip(draft).is_some_and(|(in_force, draft)| in_force == draft.of && draft.is_refused())
    }

    /// Makes the button that opens the text, with its help.
    pub(crate) fn button(&self, ui: &Ui, label: &str, spec: &K::Spec) -> (Button<'static>, String) {
        let (noun, has_mistake) = (K::Compiled::NOUN, self.has_mistake(ui.ctx(), spec));
        let help = match (K::of(spec).typed(), has_mistake) {
            (Some(_), true) => format!("The name or the text has a mistake; the last valid {noun} is in use"),
            (Some(_), false) => format!("Edit the {noun}'s text"),
            (None, _) => format!("Edit a copy of the {noun} as text"),
        };
        let label = RichText::new(label).small();
        (Button::new(if has_mistake { label.color(ui.visuals().error_fg_color) } else { label }), help)
    }

    /// Shows the window if it is open, and applies the typed text as soon as it has no mistake.
    pub(crate) fn show(&self, ctx: &Context, spec: &mut K::Spec) {
        let kind = K::of(spec);
        let (Some(typed), Some(in_force)) = (kind.typed(), in_force(kind)) else { return };
        let known = ctx.data_mut(|data| data.get_persisted::<Draft>(self.id()));
        let Some(mut draft) = known.filter(|draft| draft.is_open) else { return };
        if draft.of != in_force {
            // Undo brings a withdrawn name back.
            typed.make_latest();
            let (name, text) = in_force.clone();
            draft = Draft { is_open: true, name, text, of: in_force, mistake: None, is_read: true };
        }
        // A mistake is not stored with its name and text.
        let is_unread = !std::mem::replace(&mut draft.is_read, true);
        if is_unread {
            // A name that was not entered is not kept.
            draft.name.clone_from(&draft.of.0);
        }
        let screen = ctx.content_rect();
        let size = vec2(640.0, 430.0).min(screen.size() - vec2(40.0, 90.0));
        let title = format!("{}: {}", self.owner, K::Compiled::NOUN);
        let mut is_open = true;
        // This corner leaves most of the landscape visible.
        let at = screen.max - size - vec2(16.0, 110.0);
        let is_changed = show_window(
            ctx,
            &title,
            &mut is_open,
            |window| window.id(self.id()).default_size(size).default_pos(at),
            |ui| self.fields(ui, spec, &mut draft),
        );
        draft.is_open = is_open;
        if is_unread || is_changed == Some(true) {
            match Interned::new(&draft.name, &draft.text) {
                Ok(read) => {
                    if read.name() != typed.name() {
                        typed.withdraw_name();
                    }
                    read.make_latest();
                    *spec = K::of_typed(read).in_spec(spec);
                    draft.of = (draft.name.clone(), draft.text.clone());
                    draft.mistake = None;
                }
                Err(mistake) => draft.mistake = Some(mistake),
            }
        }
        ctx.data_mut(|data| data.insert_persisted(self.id(), draft));
    }

    /// Shows the fields; returns whether the name was entered or the text changed.
    fn fields(&self, ui: &mut Ui, spec: &K::Spec, draft: &mut Draft) -> bool {
        let (owner, noun) = (self.owner, K::Compiled::NOUN);
        let is_named = ui
            .horizontal(|ui| {
                ui.label("Name");
                let field = TextEdit::singleline(&mut draft.name).char_limit(Interned::<K::Compiled>::LONGEST_NAME);
                let field = ui.add(field.desired_width(260.0)).accessible_name(format!("{owner}: name of the {noun}"));
                let is_cancelled = field.lost_focus() && ui.input(|input| input.key_pressed(Key::Escape));
                if is_cancelled {
                    draft.name.clone_from(&draft.of.0);
                }
                field.lost_focus() && !is_cancelled
            })
            .inner;
        self.outcome(ui, draft.mistake.as_ref());
        let mark = match &draft.mistake {
            Some(TypedError::Text { mistake, .. }) => Some(marked_range(&draft.text, mistake.range.clone())),
            _ => None,
        };
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
            K::derived(spec, ui);
            CollapsingHeader::new("The language").show(ui, language::<K>);
            field.accessible_name(format!("{owner}: text of the {noun}")).changed()
        });
        edited.inner || is_named
    }

    /// Shows that the text is in force, or its mistake.
    fn outcome(&self, ui: &mut Ui, mistake: Option<&TypedError>) {
        let noun = K::Compiled::NOUN;
        let text = match mistake {
            None => {
                let when = self.tab.effect();
                RichText::new(format!("The {noun} is valid. Changes take effect {when}.")).weak()
            }
            Some(mistake) => {
                let text = format!("{}. The last valid {noun} is in use.", complaint(mistake));
                RichText::new(text).color(ui.visuals().error_fg_color)
            }
        };
        // Space for two lines, so that the text does not move.
        let height = 2.0 * ui.text_style_height(&TextStyle::Body);
        let room = vec2(ui.available_width(), height);
        ui.allocate_ui_with_layout(room, Layout::top_down(Align::Min), |ui| {
            ui.set_min_height(height);
            ui.add(Label::new(text).wrap())
        });
    }
}

fn in_force<K: TypedKind>(kind: K) -> Option<(String, String)> {
    kind.typed().map(|typed| (typed.name().to_owned(), typed.text().to_owned()))
}

fn language<K: TypedKind>(ui: &mut Ui) {
    for (words, meaning) in K::LANGUAGE.iter().chain(LANGUAGE) {
        ui.horizontal_wrapped(|ui| {
            ui.monospace(*words);
            ui.weak(*meaning);
        });
    }
}

/// Update rules or landscapes: the built-in ones and the typed ones.
pub(crate) trait TypedKind: Copy + PartialEq + 'static {
    /// A rule or a landscape with the values of its parameters.
    type Spec;
    /// The content of a typed one.
    type Compiled: Compiled;

    /// The entry of a menu that makes a new one, its explanation, and the name and the text that the new one has.
    const OWN: &'static str;
    const OWN_HELP: &'static str;
    const FIRST_NAME: &'static str;
    const FIRST_TEXT: &'static str;
    /// The parts of the language that are specific to rules or to landscapes, with their meanings.
    const LANGUAGE: &'static [(&'static str, &'static str)];
    /// The built-in ones, in the order of menus.
    const BUILT_IN: &'static [Self];

    fn of(spec: &Self::Spec) -> Self;

    fn of_typed(typed: &'static Interned<Self::Compiled>) -> Self;

    fn typed(self) -> Option<&'static Interned<Self::Compiled>>;

    /// Replaces the kind of `spec` by this typed one; values of parameters stay.
    fn in_spec(self, spec: &Self::Spec) -> Self::Spec;

    fn title(self) -> &'static str;

    fn help(self) -> Option<String>;

    /// Shows what follows from the text, below it.
    fn derived(spec: &Self::Spec, ui: &mut Ui);
}

/// Formats why a text is refused.
pub(super) fn complaint(error: &TypedError) -> String {
    match error {
        TypedError::Text { mistake, .. } => format!("In {mistake}"),
        other => other.to_string(),
    }
}

/// Shows the entries of a menu: built in, typed before, or new; returns the chosen one.
pub(crate) fn choices<K: TypedKind>(ui: &mut Ui, chosen: Option<K>) -> Option<K> {
    form::scrolled_list(ui, |ui| entries(ui, chosen))
}

fn entries<K: TypedKind>(ui: &mut Ui, chosen: Option<K>) -> Option<K> {
    let mut choice = None;
    // Entries are identified by their names, so that a click hits the same one even if another was added meanwhile.
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
    Interned::latest().into_iter().for_each(|typed| offer(ui, K::of_typed(typed)));
    if label(ui, false, K::OWN).on_hover_text(K::OWN_HELP).clicked() {
        choice = read_as(K::FIRST_NAME, K::FIRST_TEXT).ok();
    }
    choice
}

/// Reads a text under a unique name that begins with `name`.
pub(crate) fn read_as<K: TypedKind>(name: &str, text: &str) -> Result<K, TypedError> {
    let known = Interned::<K::Compiled>::latest();
    let is_free = |name: &String| known.iter().all(|typed| typed.name() != name);
    let mut names = [name.to_owned()].into_iter().chain((2..).map(|number| format!("{name} {number}")));
    Interned::new(&names.find(is_free).expect("one of infinitely many names is free"), text).map(K::of_typed)
}

/// Widens a range to at least one character around a position in a text.
pub(crate) fn marked_range(text: &str, range: Range<usize>) -> Range<usize> {
    if !range.is_empty() {
        return range;
    }
    match text[range.end..].chars().next() {
        Some(next) if next != '\n' => range.start..range.end + next.len_utf8(),
        _ => range.start - text[..range.start].chars().next_back().map_or(0, char::len_utf8)..range.end,
    }
}

/// Lays out the text with coloured tokens and a line under the mistake.
pub(crate) fn layout(ui: &Ui, text: &str, mark: Option<&Range<usize>>, width: f32) -> Arc<Galley> {
    let visuals = ui.visuals();
    let font = TextStyle::Monospace.resolve(ui.style());
    let color = |kind: Option<TokenKind>| match kind {
        Some(TokenKind::Keyword) => visuals.strong_text_color(),
        Some(TokenKind::Number) => visuals.hyperlink_color,
        Some(TokenKind::Comment) => visuals.weak_text_color(),
        Some(TokenKind::Unknown) => visuals.error_fg_color,
        Some(TokenKind::Name | TokenKind::Sign | TokenKind::LineEnd) | None => visuals.text_color(),
    };
    let mut job = LayoutJob::default();
    let mut append = |range: Range<usize>, kind: Option<TokenKind>| {
        // Sections split where the mark begins or ends inside.
        let ends = mark.map_or([range.end; 2], |mark| [mark.start, mark.end]);
        let mut start = range.start;
        for end in ends.into_iter().chain([range.end]) {
            let end = end.clamp(start, range.end);
            let is_marked = mark.is_some_and(|mark| mark.start <= start && end <= mark.end);
            let underline = if is_marked { Stroke::new(2.0, visuals.error_fg_color) } else { Stroke::NONE };
            let format = TextFormat { font_id: font.clone(), color: color(kind), underline, ..TextFormat::default() };
            job.append(&text[start..end], 0.0, format);
            start = end;
        }
    };
    let mut at = 0;
    for token in tokens(text) {
        append(at..token.range.start, None);
        at = token.range.end;
        append(token.range, Some(token.kind));
    }
    append(at..text.len(), None);
    job.wrap.max_width = width;
    ui.fonts_mut(|fonts| fonts.layout_job(job))
}
