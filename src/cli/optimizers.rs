//! `valleyscope optimizers`: the update rules with their formulas, sources and hyperparameters.

use std::ffi::{OsStr, OsString};
use std::fmt::Write;

use clap::Subcommand;
use valleyscope_engine::optimizer::{PartRole, RuleInfo, RuleKind};
use valleyscope_experiments::preset::Preset;
use valleyscope_experiments::view::formula::Formula;
use valleyscope_experiments::view::rule_summary::{RuleSummary, Variant, defaults, values};

use super::output::{indented, print, table};
use super::{Failure, preset_in_place_of, rules, simulations, typed_or_all};

#[derive(Subcommand)]
pub(super) enum OptimizersCommand {
    /// List the optimizers with their hyperparameters and sources
    List,
    /// Show an optimizer's formulas, source, hyperparameters and their defaults
    Show {
        /// The name in the list or in presets, or a preset: its typed optimizers, or all where none is typed
        #[arg(value_name = "NAME|PRESET")]
        name: OsString,
    },
}

pub(super) fn run(command: &OptimizersCommand) -> Result<(), Failure> {
    match command {
        OptimizersCommand::List => print(&list()),
        OptimizersCommand::Show { name } => {
            let kinds = meant(name)?.into_iter();
            print(&kinds.map(summary).collect::<Vec<_>>().join("\n\n"))
        }
    }
}

/// Returns the rule of a name, or the rules of a preset.
fn meant(name: &OsStr) -> Result<Vec<RuleKind>, Failure> {
    if let Some(kind) = name.to_str().and_then(RuleKind::shown_as) {
        return Ok(vec![kind]);
    }
    let preset = preset_in_place_of("optimizer", RuleKind::ALL.iter().map(|kind| kind.info().name), name)?;
    let kinds = match &preset {
        Preset::Landscape(preset) => {
            let simulations = simulations(preset)?;
            let optimizers = simulations.iter().flat_map(|simulation| &simulation.optimizers);
            optimizers.map(|optimizer| optimizer.rule.rule.kind()).collect()
        }
        other => rules(other).into_iter().map(|(rule, _)| rule.kind()).collect(),
    };
    Ok(typed_or_all(kinds, |kind| kind.typed().is_some()))
}

fn list() -> String {
    let rows = RuleKind::ALL.iter().map(|kind| {
        let RuleInfo { name, source, hyperparameters, .. } = kind.info();
        let symbols = hyperparameters.iter().map(|of| if of.symbol.is_empty() { of.key } else { of.symbol });
        [(*name).to_owned(), symbols.collect::<Vec<_>>().join(" "), (*source).to_owned()]
    });
    table(&rows.collect::<Vec<_>>(), "")
}

fn summary(kind: RuleKind) -> String {
    let summary = RuleSummary::new(kind);
    let RuleInfo { name, source, states, hyperparameters, .. } = summary.info();
    let mut text = format!("{name}, in presets {}\nSource: {source}\n", kind.key());
    if let Some(typed) = kind.typed() {
        text += &format!("\nIts text:\n{}", indented(typed.text()));
    }
    text +=
        "\nA step, with the parameter θ, its gradient g, the learning rate η and the number of the step t from 1:\n";
    text += &lines(&summary.formulas);
    for Variant { of, choice, formulas } in &summary.variants {
        write!(text, "\n{}: {} ({} = {})\n", of.label, choice.label, of.key, choice.key)
            .expect("a text can be written");
        text += &lines(formulas);
    }
    if !states.is_empty() {
        text += "\nKept for each parameter from step to step:\n";
        let kept = states.iter().map(|part| {
            let key = match part.role {
                PartRole::State { key, .. } => key,
                PartRole::Quantity | PartRole::Coefficient => "",
            };
            [part.symbol, key, part.meaning].map(str::to_owned)
        });
        text += &table(&kept.collect::<Vec<_>>(), "  ");
    }
    text += "\nHyperparameters besides the learning rate, with the values on the plane and in training where none are given:\n";
    let head = ["", "in presets", "on the plane", "in training", "values", ""].map(str::to_owned);
    let rows = hyperparameters.iter().map(|of| {
        let [on_plane, in_training] = defaults(of);
        [of.symbol.to_owned(), of.key.to_owned(), on_plane, in_training, values(of), of.help.to_owned()]
    });
    text += &table(&std::iter::once(head).chain(rows).collect::<Vec<_>>(), "  ");
    text
}

fn lines(formulas: &[Formula]) -> String {
    let rows: Vec<[String; 2]> =
        formulas.iter().map(|formula| [formula.rule.clone(), formula.meaning.to_owned()]).collect();
    table(&rows, "  ")
}
