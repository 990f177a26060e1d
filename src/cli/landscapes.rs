//! `valleyscope landscapes`: the landscapes with their losses, sources and parameters.

use anyhow::anyhow;
use clap::Subcommand;
use valleyscope_engine::landscape::{LandscapeInfo, LandscapeKind};
use valleyscope_engine::quantity::number_text;

use super::Failure;
use super::output::{print, table};

#[derive(Subcommand)]
pub(super) enum LandscapesCommand {
    /// List the landscapes with their losses
    List,
    /// Show a landscape's loss, its gradient, its source and its parameters
    Show {
        /// The name in the list or in presets
        name: String,
    },
}

pub(super) fn run(command: &LandscapesCommand) -> Result<(), Failure> {
    match command {
        LandscapesCommand::List => print(&list()),
        LandscapesCommand::Show { name } => print(&summary(named(name)?)),
    }
}

/// Returns the landscape of a name, in capitals or not.
fn named(name: &str) -> Result<LandscapeKind, Failure> {
    let is_named =
        |kind: &LandscapeKind| kind.key().eq_ignore_ascii_case(name) || kind.name().eq_ignore_ascii_case(name);
    LandscapeKind::ALL.iter().copied().find(is_named).ok_or_else(|| {
        let all: Vec<&str> = LandscapeKind::ALL.iter().map(|kind| kind.key()).collect();
        Failure::BadInput(anyhow!("there is no landscape {name:?}; there are {}", all.join(", ")))
    })
}

fn list() -> String {
    let rows = LandscapeKind::ALL.iter().map(|kind| {
        let LandscapeInfo { formula, about, .. } = kind.info();
        [kind.key(), formula, about].map(str::to_owned)
    });
    table(&rows.collect::<Vec<_>>(), "")
}

fn summary(kind: LandscapeKind) -> String {
    let LandscapeInfo { name, formula, about, source, parameters, metrics, start, .. } = kind.info();
    let keys: Vec<&str> = parameters.iter().map(|of| of.key()).collect();
    let indented = |text: String| text.lines().map(|line| format!("  {line}\n")).collect::<String>();
    let mut text = format!("{name}, in presets {}\n{about}\nSource: {source}\n", kind.key());
    text += &format!("\nThe loss, in the coordinates u and v, which φ turns against x and y:\n  L = {formula}\n");
    text += &format!("\nThe gradient, derived from the loss:\n{}", indented(kind.program().gradient_text(&keys)));
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
        let [default, low, high] = [of.default, of.range.min, of.range.max].map(number_text);
        let help = of.parameter.help.to_owned();
        [of.parameter.symbol.to_owned(), of.key().to_owned(), default, format!("{low} to {high}"), help]
    });
    text + &table(&std::iter::once(head).chain(rows).collect::<Vec<_>>(), "  ")
}
