//! Update rules as text.

use egui::{ComboBox, Ui};
use valleyscope_engine::optimizer::program::text_of;
use valleyscope_engine::optimizer::{RuleKind, RuleSpec, TypedRule};

use super::{Mistake, TypedKind, Words, choices, read_as};

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

/// Shows a menu that replaces the rule and keeps the settings that both have. Returns a notice of the new and the kept
/// settings.
pub(in crate::app) fn replace_rule(
    ui: &mut Ui,
    name: &str,
    rule: &mut RuleSpec,
    usual: fn(RuleKind) -> RuleSpec,
) -> Option<String> {
    let before = *rule;
    let combo = ComboBox::from_id_salt(("rule", name)).selected_text(rule.name()).height(f32::INFINITY);
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
pub(in crate::app) fn rule_as_text(rule: &RuleSpec) -> Result<RuleSpec, String> {
    let no_words = |what| format!("{} cannot be written as text: the language lacks {what}.", rule.name());
    let text = text_of(rule).map_err(no_words)?;
    let kind: RuleKind =
        read_as(&format!("{} as text", rule.name()), &text).map_err(|_| "Its text has too many numbers.".to_owned())?;
    Ok(kind.in_spec(rule))
}
