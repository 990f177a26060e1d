//! The page of optimizers, made from their registry.

use valleyscope_engine::optimizer::{PartRole, RuleInfo, RuleKind};
use valleyscope_experiments::view::formula::Formula;
use valleyscope_experiments::view::rule_summary::{RuleSummary, Variant, defaults, values};

use crate::markdown::{code, escaped, table};

pub fn text() -> String {
    let mut text = "# Optimizers\n\n\
        A step is shown with the parameter θ, its gradient g, the learning rate η and the number of the step t from 1. \
        Where a choice of a hyperparameter changes formulas, those that differ are shown below it. Every optimizer also \
        has a learning rate and a schedule for it.\n\n"
        .to_owned();
    RuleKind::ALL.iter().for_each(|kind| text += &section(*kind));
    text
}

fn section(kind: RuleKind) -> String {
    let summary = RuleSummary::new(kind);
    let RuleInfo { name, source, states, hyperparameters, .. } = summary.info();
    let mut text = format!("## {name}\n\nIn presets `{}`. Source: {}.\n\n", kind.key(), linked(source));
    text += &formulas("step", &summary.formulas);
    for Variant { of, choice, formulas: differing } in &summary.variants {
        text += &format!("{}: {} (`{}: {}`). {}\n\n", of.label, choice.label, of.key, choice.key, escaped(choice.help));
        text += &formulas("formula", differing);
    }
    if !states.is_empty() {
        let rows = states.iter().map(|part| {
            let key = match part.role {
                PartRole::State { key, .. } => key,
                PartRole::Quantity | PartRole::Coefficient => "",
            };
            [code(part.symbol), code(key), escaped(part.meaning)]
        });
        text += &table(["state", "in checkpoints", "meaning"], rows);
    }
    let rows = hyperparameters.iter().map(|of| {
        let [on_plane, in_training] = defaults(of);
        [escaped(of.label), code(of.key), on_plane, in_training, values(of), escaped(of.help)]
    });
    let head = ["hyperparameter", "in presets", "default on the plane", "default in training", "values", "meaning"];
    text + &table(head, rows)
}

fn formulas(head: &str, formulas: &[Formula]) -> String {
    table([head, "meaning"], formulas.iter().map(|formula| [code(&formula.rule), escaped(formula.meaning)]))
}

/// Adds links to the papers and implementations that a source names.
fn linked(source: &str) -> String {
    let linked = source.split(", ").map(|part| match (part.strip_prefix("arXiv:"), part) {
        (Some(paper), _) => format!("[{part}](https://arxiv.org/abs/{paper})"),
        (None, part) if part.starts_with("https://") => format!("<{part}>"),
        (None, part) if part.starts_with("torch.optim.") => {
            format!("[{part}](https://docs.pytorch.org/docs/stable/generated/{part}.html)")
        }
        (None, part) => escaped(part),
    });
    linked.collect::<Vec<_>>().join(", ")
}
