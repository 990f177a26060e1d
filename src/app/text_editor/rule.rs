//! Update rules as text.

use egui::{Button, ComboBox, Id, Label, RichText, Ui};
use valleyscope_engine::optimizer::program::text_of;
use valleyscope_engine::optimizer::{RuleKind, RuleSpec, TypedRule};

use super::{Mistake, TextTab, TypedKind, Words, choices, read_as};
use crate::app::theme;

const WORDS: Words = Words {
    noun: "rule",
    own: "A rule of your own…",
    own_help: "Type an update rule to simulate, to sweep and to train with.",
    first_name: "My rule",
    first_text: "\
# FOCUS: Signum, attracted to the average of the parameters
state m, avg
param beta1 = 0.9 in 0..1, beta2 = 0.9 in 0..1, gamma = 0.2 in -1..1
m   = beta1*m + (1 - beta1)*g
avg = avg + (1 - beta2)/(1 - beta2^t)*(theta - avg)
theta = theta - eta*(sign(m) + gamma*sign(theta - avg) + omega*theta)
",
    language: &[
        ("state m, s", "values kept between steps, 0 before the first"),
        ("param beta = 0.9 in 0..1", "a hyperparameter with its default and range"),
        ("m = …,  theta = …,  u = …", "a state, the parameters, or a new name"),
        ("theta  g  t  eta  omega", "parameters, gradient, number of the step from 1, learning rate, weight decay"),
        ("norm mean sum dot", "over the whole parameter: x and y on the plane, a tensor in training"),
        ("beta^t", "of a hyperparameter from 0 to 1: its product over the steps"),
    ],
};

impl TypedKind for RuleKind {
    type Spec = RuleSpec;

    const WORDS: Words = WORDS;
    const BUILT_IN: &'static [RuleKind] = RuleKind::ALL;
    const LONGEST_NAME: usize = TypedRule::LONGEST_NAME;

    fn read(name: &str, text: &str) -> Result<RuleKind, Mistake> {
        Ok(RuleKind::Typed(TypedRule::new(name, text)?))
    }

    fn latest() -> Vec<RuleKind> {
        TypedRule::latest().into_iter().map(RuleKind::Typed).collect()
    }

    fn make_latest(self) {
        if let Some(rule) = self.typed() {
            rule.make_latest();
        }
    }

    fn of(spec: &RuleSpec) -> RuleKind {
        spec.kind()
    }

    fn in_spec(self, spec: &RuleSpec) -> RuleSpec {
        self.typed().map_or(*spec, |rule| spec.with_text(rule))
    }

    fn title(self) -> &'static str {
        self.info().name
    }

    fn text(self) -> Option<&'static str> {
        self.typed().map(TypedRule::text)
    }

    fn help(self) -> Option<String> {
        None
    }

    fn derived(self, _ui: &mut Ui) {}
}

/// The choice of the rule of an optimizer.
pub(in crate::app) struct RuleChoice<'a> {
    pub tab: TextTab,
    /// The optimizer's id.
    pub optimizer: u32,
    /// The accessible name.
    pub name: &'a str,
    /// Returns a rule with its own values.
    pub usual: fn(RuleKind) -> RuleSpec,
}

/// A rule that took the place of another.
#[derive(Clone, Copy)]
struct Replacement {
    before: RuleSpec,
    after: RuleSpec,
    /// The rule in the last frame.
    seen: RuleSpec,
}

impl Replacement {
    /// Returns whether the rule may be the one of the last frame with another value of a hyperparameter. Otherwise undo
    /// or another preset has changed it.
    fn is_of(&self, rule: &RuleSpec) -> bool {
        let values = rule.hyperparameters().zip(self.seen.hyperparameters());
        rule.kind() == self.seen.kind() && values.filter(|((_, one), (_, other))| one != other).count() <= 1
    }
}

impl RuleChoice<'_> {
    /// Shows a menu that replaces the rule and keeps the settings that both have. Returns whether it was replaced.
    pub(in crate::app) fn menu(&self, ui: &mut Ui, rule: &mut RuleSpec) -> bool {
        let before = *rule;
        let combo = ComboBox::from_id_salt(("rule", self.name)).selected_text(rule.name()).height(f32::INFINITY);
        let shown = combo.show_ui(ui, |ui| {
            if let Some(kind) = choices(ui, Some(before.kind())).filter(|kind| *kind != before.kind()) {
                *rule = (self.usual)(kind).in_place_of(&before);
                ui.data_mut(|data| data.insert_temp(self.id(), Replacement { before, after: *rule, seen: *rule }));
            }
        });
        shown.response.accessible_name(self.name);
        rule.kind() != before.kind()
    }

    /// Shows what the last replacement set anew and kept, until it is dismissed or another rule is chosen, with a button
    /// that sets the values of the rule's own that it kept from the one before.
    pub(in crate::app) fn note(&self, ui: &mut Ui, rule: &mut RuleSpec) {
        let known = ui.data_mut(|data| {
            let known = data.get_temp::<Replacement>(self.id());
            data.remove::<Replacement>(self.id());
            known
        });
        let Some(Replacement { before, after, .. }) = known.filter(|replacement| replacement.is_of(rule)) else {
            return;
        };
        let mut is_dismissed = false;
        let own = (self.usual)(rule.kind());
        let others = rule.own_values(&before, &own);
        theme::card(ui.style()).show(ui, |ui| {
            ui.set_width(ui.available_width());
            ui.add(Label::new(RichText::new(after.replacement(&before, true)).small()).wrap());
            ui.horizontal_wrapped(|ui| {
                if !others.is_empty() {
                    let text = format!("Use {}'s own values", rule.name());
                    let button = Button::new(RichText::new(&text).small());
                    let hint = format!("Set {}. Kept values stay otherwise.", others.join(", "));
                    if ui.add(button).on_hover_text(hint).accessible_name(self.owned(&text)).clicked() {
                        *rule = own;
                    }
                }
                let dismiss = ui.add(Button::new(RichText::new("Dismiss").small()));
                is_dismissed = dismiss.accessible_name(self.owned("dismiss the note about the rule")).clicked();
            });
        });
        if !is_dismissed {
            ui.data_mut(|data| data.insert_temp(self.id(), Replacement { before, after, seen: *rule }));
        }
    }

    /// Returns the accessible name of a button beside the choice.
    fn owned(&self, text: &str) -> String {
        format!("{}: {text}", self.name)
    }

    fn id(&self) -> Id {
        Id::unique(("rule replaced", self.tab.key(), self.optimizer))
    }
}

/// Converts the rule to a typed one.
///
/// # Errors
///
/// Returns why the rule cannot be written as text.
pub(in crate::app) fn rule_as_text(rule: &RuleSpec) -> Result<RuleSpec, String> {
    let no_words = |what| format!("{} cannot be written as text: the language lacks {what}.", rule.name());
    let text = text_of(rule).map_err(no_words)?;
    let kind: RuleKind =
        read_as(&format!("{} as text", rule.name()), &text).map_err(|_| "Its text has too many numbers.".to_owned())?;
    Ok(kind.in_spec(rule))
}
