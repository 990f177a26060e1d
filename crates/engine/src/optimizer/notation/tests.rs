use super::{Notation, written};
use crate::optimizer::{RatedRule, RuleKind, RuleSpec, TypedRule};
use crate::quantity::LearningRate;
use crate::setting::SettingKind;

fn rated(rule: RuleSpec) -> RatedRule {
    rule.rated(LearningRate::clamped(1e-3))
}

fn in_training(kind: RuleKind) -> RatedRule {
    rated(RuleSpec::in_training(kind))
}

fn typed(name: &str, text: &str) -> RatedRule {
    rated(RuleSpec::in_training(RuleKind::Typed(TypedRule::new(name, text).expect("the text is valid"))))
}

fn pytorch(rule: &RatedRule) -> String {
    written(rule, Notation::PyTorch).expect("every rule is written as a class")
}

/// Each built-in rule with each of its choices.
fn all_rules() -> Vec<RatedRule> {
    let mut rules = Vec::new();
    for &kind in RuleKind::ALL {
        let usual = in_training(kind);
        rules.push(usual);
        for of in kind.info().hyperparameters {
            let SettingKind::Choice(choices) = of.kind else { continue };
            let with = |index: usize| rated(usual.rule.with(of.key, index as f64).expect("it is a choice"));
            rules.extend((0..choices.len()).map(with));
        }
    }
    rules
}

#[test]
fn rule_code_of_focus_in_pytorch() {
    assert_eq!(pytorch(&in_training(RuleKind::Focus)), include_str!("goldens/focus.py"));
}

#[test]
fn rule_code_of_focus_is_in_the_book() {
    let page = include_str!("../../../../../docs/src/model.md");
    assert!(page.contains(include_str!("goldens/focus.py")), "docs/src/model.md shows another class");
}

#[test]
fn rule_code_of_focus_in_latex() {
    let latex = written(&in_training(RuleKind::Focus), Notation::Latex).expect("it is written");
    assert_eq!(latex, include_str!("goldens/focus.tex"));
}

#[test]
fn rule_code_of_muon_in_pytorch() {
    assert_eq!(pytorch(&in_training(RuleKind::Muon)), include_str!("goldens/muon.py"));
}

#[test]
fn rule_code_of_a_typed_rule_in_pytorch() {
    let text = "\
state m, h
param beta1 = 0.9 in 0..1, tau = 10 in 1..1000
m = beta1*m + (1 - beta1)*g
h = max(h, abs(m))
agree = where(m*g > 0, 1, 0)
d = agree*m/(h + 1e-8)/max(mean(agree), 0.1)
theta = theta - eta*(d*exp(-t/tau) + omega*theta)
";
    assert_eq!(pytorch(&typed("Gated decay", text)), include_str!("goldens/typed.py"));
}

#[test]
fn rule_code_of_every_rule_has_its_hyperparameters_as_arguments() {
    for rule in all_rules() {
        let code = pytorch(&rule);
        for line in code.lines() {
            assert!(line.chars().count() <= 120, "{}: {line}", rule.name());
        }
        for (of, value) in rule.settings().filter(|(of, _)| code.contains(&format!("group[\"{}\"]", of.key))) {
            let value = if of.is_whole() { value.to_string() } else { format!("{value:?}") };
            assert!(code.contains(&format!("{}={value}", of.key)), "{}: {}", rule.name(), of.key);
        }
        assert!(code.contains("lr = group[\"lr\"]") || code.contains("lr, "), "{}", rule.name());
        let latex = written(&rule, Notation::Latex).expect("every rule is written in LaTeX");
        assert!(latex.contains("\\theta &\\leftarrow"), "{latex}");
        assert!(latex.is_ascii(), "{latex}");
    }
}

#[test]
fn rule_code_as_text_is_refused_with_a_reason() {
    let refused = written(&in_training(RuleKind::Soap), Notation::Text).expect_err("the language has no matrices");
    assert_eq!(refused, "SOAP cannot be written as text: the language lacks an operation on matrices");
}

/// States that exchange their values take those before the step.
#[test]
fn rule_code_of_exchanged_states_copies_them_first() {
    let code = pytorch(&typed("Exchange", "state a, b\nold = a\na = b + g\nb = old\ntheta = theta - eta*a"));
    let position = |line: &str| code.find(line).unwrap_or_else(|| panic!("no {line} in\n{code}"));
    assert!(position("a_before = [tensor.clone() for tensor in a]") < position("torch._foreach_copy_(a, update)"));
    assert!(code.contains("torch._foreach_copy_(b, a_before)"), "{code}");
}

#[test]
fn rule_code_as_text_is_a_valid_rule() {
    let written = all_rules().into_iter().filter_map(|rule| Some((rule, written(&rule, Notation::Text).ok()?)));
    let mut count = 0;
    for (rule, text) in written {
        if let Err(mistake) = TypedRule::new("A rule as text", &text) {
            panic!("{}: {mistake}\n{text}", rule.name());
        }
        count += 1;
    }
    assert!(count > 20, "{count} rules are written as text");
}
