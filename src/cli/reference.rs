//! `valleyscope optimizers` and `valleyscope landscapes`: their formulas, sources and parameters.

use std::ffi::{OsStr, OsString};
use std::fmt::Write;

use anyhow::anyhow;
use clap::Subcommand;
use valleyscope_engine::landscape::{LandscapeInfo, LandscapeKind};
use valleyscope_engine::optimizer::notation::Notation;
use valleyscope_engine::optimizer::{PartRole, RuleInfo, RuleKind};
use valleyscope_engine::quantity::number_text;
use valleyscope_experiments::preset::Preset;
use valleyscope_experiments::view::formula::Formula;
use valleyscope_experiments::view::rule_summary::{RuleSummary, Variant, defaults, values};

use super::output::{indented, print, table};
use super::{Failure, one_of, preset_in_place_of, rule_code, rules, simulations, typed_or_all};

#[derive(Subcommand)]
pub(super) enum OptimizersCommand {
    /// List the optimizers with their hyperparameters and sources
    List,
    /// Show an optimizer's formulas, source, hyperparameters and their defaults, or the optimizer as code
    Show {
        /// The name in the list or in presets, or a preset: its typed optimizers, or all where none is typed; with --as
        /// one of them by its id, title or index, as in fig1c:0
        #[arg(value_name = "NAME|PRESET[:ID]")]
        name: OsString,
        /// Print a rule of the language of typed rules, a Python file with a class of torch.optim.Optimizer, or
        /// LaTeX's aligned equations
        #[arg(long = "as", value_name = "NOTATION", value_parser = one_of(&Notation::ALL, Notation::key))]
        notation: Option<Notation>,
        /// Set a hyperparameter, such as gamma=-0.3, lr=0.01 or decay=Average; may be repeated
        #[arg(long, value_name = "KEY=VALUE", value_parser = super::assignment, requires = "notation")]
        set: Vec<(String, String)>,
    },
}

pub(super) fn optimizers(command: &OptimizersCommand) -> Result<(), Failure> {
    match command {
        OptimizersCommand::List => print(&list_optimizers()),
        OptimizersCommand::Show { name, notation: Some(notation), set } => rule_code::show(name, *notation, set),
        OptimizersCommand::Show { name, .. } => {
            let kinds = named_rules(name)?.into_iter();
            print(&kinds.map(rule_summary).collect::<Vec<_>>().join("\n\n"))
        }
    }
}

fn named_rules(name: &OsStr) -> Result<Vec<RuleKind>, Failure> {
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

fn list_optimizers() -> String {
    let rows = RuleKind::ALL.iter().map(|kind| {
        let RuleInfo { name, source, hyperparameters, .. } = kind.info();
        let symbols = hyperparameters.iter().map(|of| if of.symbol.is_empty() { of.key } else { of.symbol });
        [(*name).to_owned(), symbols.collect::<Vec<_>>().join(" "), (*source).to_owned()]
    });
    table(&rows.collect::<Vec<_>>(), "")
}

fn rule_summary(kind: RuleKind) -> String {
    let summary = RuleSummary::new(kind);
    let RuleInfo { name, source, states, hyperparameters, .. } = summary.info();
    let mut text = format!("{name}, in presets {}\nSource: {source}\n", kind.key());
    if let Some(typed) = kind.typed() {
        text += &format!("\nIts text:\n{}", indented(typed.text()));
    }
    text +=
        "\nA step, with the parameter θ, its gradient g, the learning rate η and the number of the step t from 1:\n";
    text += &formula_lines(&summary.formulas);
    for variant in &summary.variants {
        let Variant { of, choice, formulas } = variant;
        write!(text, "\n{} ({} = {})\n", variant.title(), of.key, choice.key).expect("a text can be written");
        text += &formula_lines(formulas);
    }
    if !states.is_empty() {
        text += "\nKept for each parameter from step to step:\n";
        let listed = states.iter().map(|part| {
            let key = match part.role {
                PartRole::State { key, .. } => key,
                PartRole::Quantity | PartRole::Coefficient => "",
            };
            [part.symbol, key, part.meaning].map(str::to_owned)
        });
        text += &table(&listed.collect::<Vec<_>>(), "  ");
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

fn formula_lines(formulas: &[Formula]) -> String {
    let rows: Vec<[String; 2]> =
        formulas.iter().map(|formula| [formula.rule.clone(), formula.meaning.to_owned()]).collect();
    table(&rows, "  ")
}

#[derive(Subcommand)]
pub(super) enum LandscapesCommand {
    /// List the landscapes with their losses
    List,
    /// Show a landscape's loss, its gradient, its source and its parameters
    Show {
        /// The name in the list or in presets, or a preset: its typed landscapes, or all where none is typed
        #[arg(value_name = "NAME|PRESET")]
        name: OsString,
    },
}

pub(super) fn landscapes(command: &LandscapesCommand) -> Result<(), Failure> {
    match command {
        LandscapesCommand::List => print(&list_landscapes()),
        LandscapesCommand::Show { name } => {
            let kinds = named_landscapes(name)?.into_iter();
            print(&kinds.map(landscape_summary).collect::<Vec<_>>().join("\n\n"))
        }
    }
}

fn named_landscapes(name: &OsStr) -> Result<Vec<LandscapeKind>, Failure> {
    if let Some(kind) = name.to_str().and_then(LandscapeKind::named) {
        return Ok(vec![kind]);
    }
    let preset = preset_in_place_of("landscape", LandscapeKind::ALL.iter().map(|kind| kind.key()), name)?;
    let kinds = match &preset {
        Preset::Landscape(preset) => simulations(preset)?.iter().map(|it| it.landscape.kind()).collect(),
        Preset::Sweep(preset) => vec![preset.sweep.landscape.kind()],
        training => {
            let (name, kind) = (name.display(), training.kind());
            return Err(Failure::BadInput(anyhow!("expected a preset with a landscape, and `{name}` is a {kind}")));
        }
    };
    Ok(typed_or_all(kinds, |kind| kind.formula().is_some()))
}

fn list_landscapes() -> String {
    let rows = LandscapeKind::ALL.iter().map(|kind| {
        let LandscapeInfo { formula, about, .. } = kind.info();
        [kind.key(), formula, about].map(str::to_owned)
    });
    table(&rows.collect::<Vec<_>>(), "")
}

fn landscape_summary(kind: LandscapeKind) -> String {
    let LandscapeInfo { name, formula, about, source, parameters, metrics, start, .. } = kind.info();
    let keys: Vec<&str> = parameters.iter().map(|of| of.key).collect();
    let about = if about.is_empty() { String::new() } else { format!("{about}\n") };
    let mut text = format!("{name}, in presets {}\n{about}Source: {source}\n", kind.key());
    text += &match kind.formula() {
        Some(typed) => format!("\nThe loss, as it is typed:\n{}", indented(typed.text())),
        None => format!("\nThe loss, in the coordinates u and v, which φ turns against x and y:\n  L = {formula}\n"),
    };
    text += &format!("\nThe gradient, derived from the loss:\n{}", indented(&kind.program().gradient_text(&keys)));
    if !metrics.is_empty() {
        text += "\nMetrics besides the loss:\n";
        text += &table(
            &metrics.iter().map(|metric| [metric.title(), metric.explanation.to_owned()]).collect::<Vec<_>>(),
            "  ",
        );
    }
    let [x, y] = start.map(number_text);
    text += &format!("\nSweeps start at x = {x}, y = {y}, and so does a landscape chosen in the window. Parameters:\n");
    let head = ["", "in presets", "default", "values", ""].map(str::to_owned);
    let rows = parameters.iter().map(|of| {
        let range = of.range().expect("a parameter is a number");
        let [default, low, high] = [of.default, range.min, range.max].map(number_text);
        [of.symbol.to_owned(), of.key.to_owned(), default, format!("{low} to {high}"), of.help.to_owned()]
    });
    text + &table(&std::iter::once(head).chain(rows).collect::<Vec<_>>(), "  ")
}
