//! The pages in `docs/src/reference`, which `cargo xtask docs` writes.

use std::fs;
use std::path::Path;

use clap::{Arg, Command};
use valleyscope::app::shortcuts;
use valleyscope_engine::landscape::{LandscapeInfo, LandscapeKind};
use valleyscope_engine::noise::{NoiseInfo, NoiseKind};
use valleyscope_engine::optimizer::{PartRole, RuleInfo, RuleKind};
use valleyscope_engine::quantity::{Range, Temperature, number_text};
use valleyscope_engine::setting::{LEARNING_RATE, SettingInfo, SettingPath, SettingValue, Spacing};
use valleyscope_engine::simulation::SimulationSpec;
use valleyscope_experiments::preset::{BuiltIn, Preset, built_ins};
use valleyscope_experiments::view::formula::Formula;
use valleyscope_experiments::view::rule_summary::{RuleSummary, Variant, defaults, values};
use valleyscope_experiments::workload::Workload;

const NOTE: &str = "<!-- Written by `cargo xtask docs`. Change the code that it is made from, not this page. -->\n\n";

fn pages() -> [(&'static str, String); 6] {
    [
        ("commands.md", commands()),
        ("keys.md", keys()),
        ("landscapes.md", landscapes()),
        ("optimizers.md", optimizers()),
        ("parameters.md", parameters()),
        ("presets.md", presets()),
    ]
}

#[test]
fn pages_match_the_program() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/src/reference");
    let is_writing = std::env::var_os("UPDATE_BOOK").is_some();
    let mut outdated = Vec::new();
    for (name, text) in pages() {
        let path = folder.join(name);
        let text = format!("{NOTE}{}\n", text.trim_end());
        if is_writing {
            fs::create_dir_all(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
            fs::write(&path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        } else if fs::read_to_string(&path).ok().as_deref() != Some(&text) {
            outdated.push(name);
        }
    }
    assert!(
        outdated.is_empty(),
        "in docs/src/reference, {} differ from the program or are missing: run `cargo xtask docs`",
        outdated.join(", ")
    );
}

fn keys() -> String {
    let group = |(heading, keys): (&str, &[(&str, &str)])| {
        let rows = keys.iter().map(|(keys, effect)| [escaped(keys), escaped(effect)]);
        format!("\n## {heading}\n\n{}", table(["keys", "action"], rows))
    };
    format!("# Keys\n\nOn macOS, Ctrl is Cmd.\n{}", shortcuts().into_iter().map(group).collect::<String>())
}

pub fn kinds() -> Vec<&'static str> {
    let mut kinds = Vec::new();
    for kind in built_ins().iter().map(|built_in| built_in.preset.kind()) {
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    kinds
}

pub fn of_kind(kind: &str) -> impl Iterator<Item = &'static BuiltIn> {
    built_ins().iter().filter(move |built_in| built_in.preset.kind() == kind)
}

fn presets() -> String {
    let mut text = "# Built-in presets\n\n\
        `valleyscope presets show NAME` prints the file of a preset, with its comments. In the window, presets are opened \
        from the menu *Presets*.\n\n"
        .to_owned();
    for kind in kinds() {
        text += &format!("## {kind}\n\n");
        if let Some(first) = of_kind(kind).next() {
            text += &format!("To run one without a window: `valleyscope {}`.\n\n", first.preset.command("NAME"));
        }
        let rows = of_kind(kind)
            .map(|BuiltIn { name, preset, .. }| [code(name), escaped(preset.title()), escaped(preset.description())]);
        text += &table(["name", "title", "description"], rows);
    }
    text
}

pub fn commands() -> String {
    let mut program = valleyscope::cli::command();
    // Completes usages and the options that subcommands inherit.
    program.build();
    let mut text = "# Commands\n\n".to_owned();
    describe(&program, &mut text);
    subcommands(&program, "", 2, &mut text);
    text
}

/// Writes a section for each subcommand, and below it those of its own.
fn subcommands(of: &Command, before: &str, level: usize, text: &mut String) {
    for command in of.get_subcommands().filter(|command| command.get_name() != "help" && !command.is_hide_set()) {
        let name = format!("{before}{}", command.get_name());
        *text += &format!("{} {name}\n\n", "#".repeat(level));
        describe(command, text);
        subcommands(command, &format!("{name} "), level + 1, text);
    }
}

fn describe(command: &Command, text: &mut String) {
    if let Some(about) = command.get_long_about().or(command.get_about()) {
        *text += &format!("{}.\n\n", escaped(sentences(&about.to_string(), "\n\n").trim_end_matches('.')));
    }
    let usage = command.clone().render_usage().to_string();
    let usage: Vec<&str> = usage.trim_start_matches("Usage:").lines().map(str::trim).collect();
    *text += &block("text", &usage.join("\n"));
    let is_shown =
        |argument: &&Arg| !argument.is_hide_set() && !["help", "version"].contains(&argument.get_id().as_str());
    let (arguments, options): (Vec<_>, Vec<_>) =
        command.get_arguments().filter(is_shown).partition(|argument| argument.is_positional());
    for (kind, arguments) in [("argument", arguments), ("option", options)] {
        if !arguments.is_empty() {
            *text += &table([kind, "meaning"], arguments.into_iter().map(argument_row));
        }
    }
}

fn argument_row(argument: &Arg) -> [String; 2] {
    let help = argument.get_long_help().or(argument.get_help()).map(ToString::to_string).unwrap_or_default();
    let mut help = sentences(&help, " ");
    let defaults: Vec<_> = argument.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
    // Options without a value have `false` there.
    if argument.get_action().takes_values() && !defaults.is_empty() {
        help += &format!(" [default: {}]", defaults.join(", "));
    }
    [code(&argument.to_string()), escaped(&help)]
}

/// Joins the paragraphs of a help text, of which clap ends the first without a full stop.
fn sentences(help: &str, between: &str) -> String {
    let mut paragraphs: Vec<String> = help.split("\n\n").map(|paragraph| paragraph.trim().to_owned()).collect();
    if let [first, _, ..] = paragraphs.as_mut_slice()
        && !first.ends_with('.')
    {
        first.push('.');
    }
    paragraphs.join(between)
}

pub fn landscapes() -> String {
    let mut text = "# Landscapes\n\n\
        A landscape is a loss L of the coordinates u and v, which the rotation φ turns against x and y: \
        u = x cos φ + y sin φ, v = −x sin φ + y cos φ. `valleyscope landscapes show Valley` prints the same. \
        A landscape of your own is [typed](../own-landscape.md).\n\n"
        .to_owned();
    LandscapeKind::ALL.iter().for_each(|kind| text += &landscape(*kind));
    text
}

fn landscape(kind: LandscapeKind) -> String {
    let LandscapeInfo { name, formula, about, source, parameters, metrics, start, .. } = kind.info();
    let [x, y] = start.map(number_text);
    let mut text = format!("## {name}\n\n{about}\n\n{}", block("text", &format!("L = {formula}\n")));
    text += &format!("In presets `{}`. Source: {}. Sweeps start at ({x}, {y}).\n\n", kind.key(), escaped(source));
    let keys: Vec<&str> = parameters.iter().map(|of| of.key).collect();
    text += &format!("The gradient:\n\n{}", block("text", &kind.program().gradient_text(&keys)));
    if !metrics.is_empty() {
        let metrics: Vec<String> = metrics.iter().map(|metric| format!("*{}*", escaped(&metric.title()))).collect();
        text += &format!("Metrics besides the loss: {}.\n\n", metrics.join(", "));
    }
    let rows = parameters.iter().map(|of| {
        let Range { min, max, .. } = of.range().expect("it is a number");
        let [default, low, high] = [of.default, min, max].map(number_text);
        let values = format!("{low} to {high}");
        [escaped(of.label), code(of.key), default, values, escaped(of.help)]
    });
    text + &table(["parameter", "in presets", "default", "values", "meaning"], rows)
}

pub fn optimizers() -> String {
    let mut text = "# Optimizers\n\n\
        A step is shown with the parameter θ, its gradient g, the learning rate η and the number of the step t from 1. \
        Where a choice of a hyperparameter changes formulas, those that differ are shown below it. Every optimizer also \
        has a learning rate and a schedule for it.\n\n"
        .to_owned();
    RuleKind::ALL.iter().for_each(|kind| text += &optimizer(*kind));
    text
}

fn optimizer(kind: RuleKind) -> String {
    let summary = RuleSummary::new(kind);
    let RuleInfo { name, source, states, hyperparameters, .. } = summary.info();
    let mut text = format!("## {name}\n\nIn presets `{}`. Source: {}.\n\n", kind.key(), linked(source));
    text += &formulas("step", &summary.formulas);
    for variant in &summary.variants {
        let Variant { of, choice, formulas: differing } = variant;
        text += &format!("{} (`{}: {}`). {}\n\n", variant.title(), of.key, choice.key, escaped(choice.help));
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

pub fn parameters() -> String {
    let mut text = "# Parameters\n\n\
        The hyperparameters of optimizers are on [their own page](optimizers.md). A control's slider has the range below; a \
        typed number, a preset and `--set` can go further, as far as the allowed values.\n\n\
        ## Landscape and simulation\n\n"
        .to_owned();
    let preset = shortest("Landscape");
    let Preset::Landscape(landscape) = &preset else { unreachable!("it is of this kind") };
    let spec = SimulationSpec { temperature: Some(Temperature::clamped(0.01)), ..landscape.spec().clone() };
    let rate = SettingPath::of_rule(spec.optimizers[0].id, LEARNING_RATE.key);
    let all = spec.settings().into_iter().filter(|it| it.path.optimizer.is_none() || it.path == rate);
    let rows = all.map(|SettingValue { path: SettingPath { optimizer, path }, info, .. }| {
        let owner = if optimizer.is_some() { "optimizers[0]." } else { "" };
        let path = format!("simulations[0].spec.{owner}{path}");
        let scale = if info.slider.spacing == Spacing::Log { ", logarithmic" } else { "" };
        let slider = format!("{} to {}{scale}", number_text(info.slider.low), number_text(info.slider.high));
        let [label, help, paper] = [info.label, info.help, info.paper].map(escaped);
        [label, code(&path), slider, allowed(&preset, &path), help, paper]
    });
    text += &table(["control", "in presets", "slider", "allowed", "meaning", "in the paper"], rows);
    text += &format!("## Noise\n\n{}", noises());
    for kind in Preset::WORKLOADS {
        let mut preset = shortest(kind);
        let workload = preset.workload_mut().expect("it is the kind of a workload");
        text += &format!("## Trainings: {kind}\n\n{}", form(workload));
    }
    text += "## Fields of presets\n\n\
        `--set PATH=VALUE` sets any field, such as `noise=0.5`. `simulations[0].spec`, `sweep` or `scan` at the beginning of a \
        path can be omitted; without `runs[0]` the field is set in all runs. Below is a preset of each kind as the \
        program writes it, with defaults written out. Parts without content, such as an empty lesson, are left out.\n\n";
    for kind in kinds() {
        text += &format!("### {kind}\n\n{}", block("ron", &shortest(kind).to_ron()));
    }
    text
}

/// Lists the kinds of noise with their parameters.
fn noises() -> String {
    let parameter = |of: &SettingInfo| {
        let Range { min, max, .. } = of.range().expect("it is a number");
        format!("{}: {} to {}, {}", of.symbol, number_text(min), number_text(max), number_text(of.default))
    };
    let rows = NoiseKind::ALL.iter().map(|kind| {
        let NoiseInfo { name, formula, about, source, parameters, .. } = kind.info();
        let symbols: Vec<&str> = parameters.iter().map(|of| of.symbol).collect();
        let written = code(&format!("{}({})", kind.key(), symbols.join(", ")));
        let ranges: Vec<String> = parameters.iter().map(parameter).collect();
        [escaped(name), written, escaped(formula), escaped(&ranges.join("; ")), escaped(about), escaped(source)]
    });
    table(["noise", "in presets", "noisy gradient", "allowed, and the default", "what it is like", "source"], rows)
}

fn shortest(kind: &str) -> Preset {
    let presets = of_kind(kind).map(|built_in| &built_in.preset);
    presets.min_by_key(|preset| preset.to_ron().len()).expect("each kind has a built-in preset").clone()
}

/// Returns the allowed values of a field, from the error for a number that is too large for any field.
fn allowed(preset: &Preset, path: &str) -> String {
    let refusal = preset.with(path, "4000000000").expect_err("it is larger than any field allows").to_string();
    let (_, after) = refusal.split_once(" from ").unwrap_or_else(|| panic!("no range in: {refusal}"));
    after.split_once(", found").unwrap_or_else(|| panic!("no range in: {refusal}")).0.to_owned()
}

/// Formats the fields of a training in the window.
fn form(workload: &mut dyn Workload) -> String {
    let sections = workload.form(0);
    let fields = sections.iter().flat_map(|section| &section.fields).filter(|field| !field.label.is_empty());
    table(["control", "meaning"], fields.map(|field| [escaped(field.label), escaped(field.help)]))
}

/// Escapes plain text for Markdown, except for code between backticks.
pub fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for (part, text) in text.split('`').enumerate() {
        let is_code = part % 2 == 1;
        if part > 0 {
            escaped.push('`');
        }
        for c in text.chars() {
            if !is_code && r"\*<~".contains(c) {
                escaped.push('\\');
            }
            escaped.push(c);
        }
    }
    escaped
}

/// Formats text as code; an empty text stays empty.
pub fn code(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("`{text}`") }
}

/// Formats a block of code in a language.
pub fn block(language: &str, text: &str) -> String {
    format!("```{language}\n{}\n```\n\n", text.trim_end())
}

/// Formats a table. Its cells are Markdown, with `
///
/// ` escaped.
pub fn table<const N: usize>(head: [&str; N], rows: impl IntoIterator<Item = [String; N]>) -> String {
    let line = |cells: &[String]| {
        let cells = cells.iter().map(|cell| cell.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', r"\|"));
        format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "))
    };
    let rows: String = rows.into_iter().map(|row| line(&row)).collect();
    format!("{}{}{rows}\n", line(&head.map(str::to_owned)), line(&head.map(|_| "---".to_owned())))
}

#[test]
fn plain_text_stays_as_it_is() {
    assert_eq!(escaped("a*b <DIR> `a*b` [x]"), r"a\*b \<DIR> `a*b` [x]");
    assert_eq!(table(["", "x"], [["a|b".to_owned(), code("c|d")]]), "|  | x |\n| --- | --- |\n| a\\|b | `c\\|d` |\n\n");
}
