//! Typed update rules: the menu that offers them, and the editor of their text.

use std::ops::Range;
use std::sync::Arc;

use egui::text::{LayoutJob, TextFormat};
use egui::{
    Align, CollapsingHeader, ComboBox, Context, Galley, Id, Label, Layout, RichText, ScrollArea, Stroke, TextBuffer,
    TextEdit, TextStyle, Ui, Window, vec2,
};
use serde::{Deserialize, Serialize};
use valleyscope_engine::language::{TokenKind, tokens};
use valleyscope_engine::optimizer::program::text_of;
use valleyscope_engine::optimizer::{RuleKind, RuleSpec, TypedRule, TypedRuleError};

/// The text of a new rule.
const FIRST_TEXT: &str = "\
# FOCUS: Signum, attracted to the average of the parameters
state m, avg
param beta1 = 0.9 in 0..1, beta2 = 0.9 in 0..1, gamma = 0.2 in -1..1
m   = beta1*m + (1 - beta1)*g
avg = avg + (1 - beta2)/(1 - beta2^t)*(theta - avg)
theta = theta - eta*(sign(m) + gamma*sign(theta - avg) + omega*theta)
";

const LANGUAGE: &[(&str, &str)] = &[
    ("state m, s", "values kept between steps, 0 before the first"),
    ("param beta = 0.9 in 0..1", "a hyperparameter with its default and range"),
    ("m = …,  theta = …,  u = …", "a state, the parameters, or a new name"),
    ("theta  g  t  eta  omega", "parameters, gradient, number of the step from 1, learning rate, weight decay"),
    ("pi", "3.14159…"),
    ("+ − * / ^  < <= > >= == !=", "a comparison is 1 or 0"),
    ("sign abs sqrt exp ln tanh sin cos", "of one number"),
    ("min(a, b)  max(a, b)  clamp(x, low, high)", "NaN where a number is NaN"),
    ("where(c, a, b)", "a where c is not 0, else b"),
    ("norm mean sum dot", "over the whole parameter: x and y on the plane, a tensor in training"),
    ("beta^t", "of a hyperparameter from 0 to 1: its product over the steps"),
    ("# …", "a comment"),
];

/// Shows the rules of a menu: built in, typed before, or new; returns the chosen one.
pub(super) fn choices(ui: &mut Ui, chosen: Option<RuleKind>) -> Option<RuleKind> {
    let mut choice = None;
    let mut offer = |ui: &mut Ui, kind: RuleKind| {
        if ui.selectable_label(chosen == Some(kind), kind.info().name).clicked() {
            choice = Some(kind);
        }
    };
    RuleKind::ALL.iter().for_each(|kind| offer(ui, *kind));
    ui.separator();
    let typed = TypedRule::latest();
    typed.iter().for_each(|rule| offer(ui, RuleKind::Typed(rule)));
    let help = "Type an update rule to simulate, to sweep and to train with.";
    if ui.selectable_label(false, "A rule of your own…").on_hover_text(help).clicked() {
        choice = typed_as("My rule", FIRST_TEXT);
    }
    choice
}

/// Shows a menu that replaces the rule and keeps the settings that both have. Returns a notice of the new and the kept
/// settings.
pub(super) fn replace_rule(
    ui: &mut Ui,
    name: &str,
    rule: &mut RuleSpec,
    usual: fn(RuleKind) -> RuleSpec,
) -> Option<String> {
    let before = *rule;
    let combo = ComboBox::from_id_salt(("rule", name)).selected_text(rule.name()).height(500.0);
    let shown = combo.show_ui(ui, |ui| {
        if let Some(kind) = choices(ui, Some(before.kind())).filter(|kind| *kind != before.kind()) {
            *rule = usual(kind).in_place_of(&before);
        }
    });
    shown.response.accessible_name(name);
    (rule.kind() != before.kind()).then(|| rule.replacement(&before, true))
}

/// Converts the rule to a typed one.
///
/// # Errors
///
/// Returns why the rule cannot be written as text.
pub(super) fn as_text(rule: &RuleSpec) -> Result<RuleSpec, String> {
    let no_words = |what| format!("{} cannot be written as text: the language lacks {what}.", rule.name());
    let text = text_of(rule).map_err(no_words)?;
    let kind = typed_as(&format!("{} as text", rule.name()), &text).ok_or("Its text has too many numbers.")?;
    Ok(kind.typed().map_or(*rule, |typed| rule.with_text(typed)))
}

/// Makes a rule with this text and a unique name.
fn typed_as(name: &str, text: &str) -> Option<RuleKind> {
    let known = TypedRule::latest();
    let is_free = |name: &String| known.iter().all(|rule| rule.name() != name);
    let mut names = [name.to_owned()].into_iter().chain((2..).map(|number| format!("{name} {number}")));
    Some(RuleKind::Typed(TypedRule::new(&names.find(is_free)?, text).ok()?))
}

/// The text being typed; kept when the program ends, as a preset holds no text with a mistake.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(default)]
struct RuleDraft {
    is_open: bool,
    name: String,
    text: String,
    /// The name and the text of the rule at its last valid state.
    of: (String, String),
    #[serde(skip)]
    mistake: Option<TypedRuleError>,
}

/// The editor of an optimizer's text; `of` identifies the optimizer.
pub(super) struct RuleEditor<'a> {
    pub of: (&'static str, u32),
    pub owner: &'a str,
}

impl RuleEditor<'_> {
    fn id(&self) -> Id {
        Id::unique(("rule text", self.of))
    }

    /// Opens the window, or raises it.
    pub(super) fn open(&self, ctx: &Context) {
        ctx.data_mut(|data| data.get_persisted_mut_or_default::<RuleDraft>(self.id()).is_open = true);
    }

    /// Returns whether the typed text has a mistake, so that this rule differs from it.
    pub(super) fn has_mistake(&self, ctx: &Context, rule: &RuleSpec) -> bool {
        let draft = ctx.data_mut(|data| data.get_persisted::<RuleDraft>(self.id()));
        rule.kind().typed().zip(draft).is_some_and(|(typed, RuleDraft { text, of, .. })| {
            (typed.name(), typed.text()) == (of.0.as_str(), of.1.as_str()) && text != of.1
        })
    }

    /// Shows the window if it is open, and applies the typed text as soon as it has no mistake.
    pub(super) fn show(&self, ctx: &Context, rule: &mut RuleSpec) {
        let Some(typed) = rule.kind().typed() else { return };
        let known = ctx.data_mut(|data| data.get_persisted::<RuleDraft>(self.id()));
        let Some(mut draft) = known.filter(|draft| draft.is_open) else { return };
        let in_force = (typed.name().to_owned(), typed.text().to_owned());
        if draft.of != in_force {
            let (name, text) = in_force.clone();
            draft = RuleDraft { is_open: true, name, text, of: in_force, mistake: None };
        }
        // A mistake is not kept with its text.
        let is_back = draft.text != draft.of.1 && draft.mistake.is_none();
        let screen = ctx.content_rect();
        let size = vec2(640.0, 430.0).min(screen.size() - vec2(40.0, 90.0));
        let window = Window::new(format!("{}: rule", self.owner)).id(self.id()).collapsible(false);
        let mut is_open = true;
        let window = window.default_size(size).default_pos(screen.center() - 0.5 * size).open(&mut is_open);
        let is_changed = window.show(ctx, |ui| draft.fields(ui, self)).and_then(|shown| shown.inner);
        draft.is_open = is_open;
        if is_back || is_changed == Some(true) {
            match TypedRule::new(&draft.name, &draft.text) {
                Ok(typed) => {
                    typed.make_latest();
                    *rule = rule.with_text(typed);
                    draft.of = (typed.name().to_owned(), typed.text().to_owned());
                    draft.mistake = None;
                }
                Err(mistake) => draft.mistake = Some(mistake),
            }
        }
        ctx.data_mut(|data| data.insert_persisted(self.id(), draft));
    }
}

impl RuleDraft {
    /// Shows the fields; returns whether the name was entered or the text changed.
    fn fields(&mut self, ui: &mut Ui, RuleEditor { of: (tab, _), owner }: &RuleEditor<'_>) -> bool {
        let is_named = ui
            .horizontal(|ui| {
                ui.label("Name");
                let field = TextEdit::singleline(&mut self.name).char_limit(TypedRule::LONGEST_NAME);
                let field = ui.add(field.desired_width(260.0)).accessible_name(format!("{owner}: name of the rule"));
                field.lost_focus()
            })
            .inner;
        self.outcome(ui, tab);
        let mark = match &self.mistake {
            Some(TypedRuleError::Text(mistake)) => Some(marked_range(&self.text, mistake.range.clone())),
            _ => None,
        };
        let edited = ScrollArea::vertical().auto_shrink(false).show(ui, |ui| {
            // In the frame of a change, the mark still belongs to the previous text.
            let marked = self.text.clone();
            let mut layouter = |ui: &Ui, text: &dyn TextBuffer, width: f32| {
                let mark = mark.as_ref().filter(|_| text.as_str() == marked);
                layout(ui, text.as_str(), mark, width)
            };
            let field = TextEdit::multiline(&mut self.text).code_editor().layouter(&mut layouter);
            let field = ui.add(field.desired_width(f32::INFINITY).desired_rows(12));
            ui.add_space(6.0);
            CollapsingHeader::new("The language").show(ui, language);
            field.accessible_name(format!("{owner}: text of the rule")).changed()
        });
        edited.inner || is_named
    }

    /// Shows whether the rule runs, or the mistake.
    fn outcome(&self, ui: &mut Ui, tab: &str) {
        let text = match &self.mistake {
            None if tab == "landscape" => {
                RichText::new("The rule is valid. Changes take effect in the next step.").weak()
            }
            None => RichText::new("The rule is valid. Changes take effect at the next start.").weak(),
            Some(mistake) => {
                let mistake = match mistake {
                    TypedRuleError::Text(mistake) => format!("In {mistake}"),
                    other => other.to_string(),
                };
                let text = format!("{mistake}. The last valid rule runs.");
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

fn language(ui: &mut Ui) {
    for (words, meaning) in LANGUAGE {
        ui.horizontal_wrapped(|ui| {
            ui.monospace(*words);
            ui.weak(*meaning);
        });
    }
}

/// Returns a range of at least one character around a position in a text.
fn marked_range(text: &str, range: Range<usize>) -> Range<usize> {
    if !range.is_empty() {
        return range;
    }
    match text[range.end..].chars().next() {
        Some(next) if next != '\n' => range.start..range.end + next.len_utf8(),
        _ => range.start - text[..range.start].chars().next_back().map_or(0, char::len_utf8)..range.end,
    }
}

/// Lays out the text with coloured words and a line under the mistake.
fn layout(ui: &Ui, text: &str, mark: Option<&Range<usize>>, width: f32) -> Arc<Galley> {
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
