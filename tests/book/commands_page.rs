//! The page of commands, made from their definition.

use clap::{Arg, Command};

use crate::markdown::{block, code, escaped, table};

pub fn text() -> String {
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
            *text += &table([kind, "meaning"], arguments.into_iter().map(row));
        }
    }
}

fn row(argument: &Arg) -> [String; 2] {
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
