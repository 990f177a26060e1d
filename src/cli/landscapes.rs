//! `valleyscope landscapes`: the landscapes with their losses, sources and parameters.

use std::ffi::{OsStr, OsString};

use anyhow::anyhow;
use clap::Subcommand;
use valleyscope_engine::landscape::{LandscapeInfo, LandscapeKind};
use valleyscope_engine::quantity::number_text;

use valleyscope_experiments::preset::Preset;

use super::output::{indented, print, table};
use super::{Failure, preset_in_place_of, simulations, typed_or_all};

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

pub(super) fn run(command: &LandscapesCommand) -> Result<(), Failure> {
    match command {
        LandscapesCommand::List => print(&list()),
        LandscapesCommand::Show { name } => {
            let kinds = meant(name)?.into_iter();
            print(&kinds.map(summary).collect::<Vec<_>>().join("\n\n"))
        }
    }
}

/// Returns the landscape of a name, or the landscapes of a preset.
fn meant(name: &OsStr) -> Result<Vec<LandscapeKind>, Failure> {
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
        let [default, low, high] = [of.default, of.range.min, of.range.max].map(number_text);
        let help = of.parameter.help.to_owned();
        [of.parameter.symbol.to_owned(), of.key().to_owned(), default, format!("{low} to {high}"), help]
    });
    text + &table(&std::iter::once(head).chain(rows).collect::<Vec<_>>(), "  ")
}
