//! `valleyscope presets`: list, print, compare or check presets.

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::anyhow;
use clap::Subcommand;
use valleyscope_engine::terminal_escape::visible;
use valleyscope_experiments::difference::SettingColumn;
use valleyscope_experiments::preset::{Library, Preset, PresetError, built_ins};

use super::output::{cell, print, print_content, print_differences};
use super::{Failure, say};

#[derive(Subcommand)]
pub(super) enum PresetsCommand {
    /// List the built-in presets and your own
    List,
    /// Print a preset, with its comments
    Show {
        /// Name of a built-in preset or of one of your own, or a file
        #[arg(value_name = "NAME|FILE")]
        preset: OsString,
    },
    /// Show in a table the settings in which presets differ
    ///
    /// KEY is the name of a setting for --set. A dash stands where a preset lacks the setting; equal settings are
    /// counted.
    Diff {
        /// Two or more names of presets, or files
        #[arg(required = true, num_args = 2.., value_name = "NAME|FILE")]
        presets: Vec<OsString>,
    },
    /// Check preset files and report the first mistake of each, with its position
    Check {
        /// Files of presets
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
    },
}

pub(super) fn run(command: &PresetsCommand) -> Result<(), Failure> {
    match command {
        PresetsCommand::List => list(),
        PresetsCommand::Show { preset } => {
            let loaded = Library::open().load(preset).map_err(Failure::bad_input)?;
            print_content(&loaded.text)
        }
        PresetsCommand::Diff { presets } => diff(presets),
        PresetsCommand::Check { files } => check(files),
    }
}

const LONGEST: usize = 300;

fn list() -> Result<(), Failure> {
    let library = Library::open();
    let mut lines: Vec<[String; 3]> = built_ins()
        .iter()
        .map(|built_in| {
            let preset = &built_in.preset;
            [built_in.name.to_owned(), preset.kind().to_owned(), about(preset)]
        })
        .collect();
    let own = library.user_presets();
    for user in own.iter().flatten() {
        let (kind, about) = match &user.preset {
            Ok(preset) => (preset.kind(), format!("(yours) {}", about(preset))),
            Err(PresetError::Content(_)) => {
                let path = user.path.display().to_string();
                ("?", format!("(yours, broken) see `valleyscope presets check {}`", visible(&path)))
            }
            Err(error) => ("?", format!("(yours, broken) {error}")),
        };
        lines.push([visible(&user.name).into_owned(), kind.to_owned(), visible(&about).into_owned()]);
    }
    let [name, kind] = [0, 1].map(|column| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0));
    let text: String = lines.iter().map(|[n, k, about]| format!("{n:name$}  {k:kind$}  {about}\n")).collect();
    print(&text)?;
    own.map_err(|error| Failure::Failed(error.into()))?;
    Ok(())
}

fn about(preset: &Preset) -> String {
    let description = if preset.description().is_empty() { preset.title() } else { preset.description() };
    cell(&description.split_whitespace().collect::<Vec<_>>().join(" "), LONGEST)
}

fn diff(presets: &[OsString]) -> Result<(), Failure> {
    let library = Library::open();
    let column = |name: &OsString| {
        let settings = library.load(name).map_err(Failure::bad_input)?.preset.listed_settings();
        Ok(SettingColumn::new(name.to_string_lossy(), settings))
    };
    print_differences(&presets.iter().map(column).collect::<Result<Vec<_>, Failure>>()?)
}

fn check(files: &[PathBuf]) -> Result<(), Failure> {
    let mut broken = 0;
    for file in files {
        match Library::load_file(file) {
            Ok(loaded) => print(&format!("{}: good, \"{}\"\n", file.display(), visible(loaded.preset.title())))?,
            Err(error) => {
                broken += 1;
                say(format_args!("error: {error}"));
            }
        }
    }
    match broken {
        0 => Ok(()),
        broken => Err(Failure::BadInput(anyhow!("{broken} of {} presets cannot be used", files.len()))),
    }
}
