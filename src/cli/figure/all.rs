//! `valleyscope figure --all`: the figures of the paper's toy models into a folder.

use std::ffi::OsStr;

use anyhow::{Context, anyhow};
use valleyscope_runs::atomic_file::AtomicFile;

use super::plan::{FigureComputer, Plan, TOY_MODEL_FIGURES};
use super::{FigureArgs, cannot_write, check, drawing, write};
use crate::cli::{Failure, in_one_line, say};
use crate::figure::Format;

/// Draws one figure after the other. The others are drawn even if one fails.
pub(super) fn run(args: &FigureArgs) -> Result<(), Failure> {
    let folder = &args.out;
    if Format::of(folder).is_some() || folder.is_file() {
        return Err(Failure::BadInput(anyhow!(
            "--all writes several files, so --out must be a folder, found the file {}",
            folder.display()
        )));
    }
    let formats = args.format.map_or(Format::ALL.to_vec(), |format| vec![format]);
    let plans = TOY_MODEL_FIGURES.map(|name| Plan::of(OsStr::new(name), args).map(|plan| (name, plan)));
    let plans = plans.into_iter().collect::<Result<Vec<_>, Failure>>()?;
    for (_, plan) in &plans {
        check(plan, &formats, args)?;
    }
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
    let mut computer = FigureComputer::new()?;
    let (mut drawn, mut failed) = (Vec::new(), Vec::new());
    for (index, (name, plan)) in plans.into_iter().enumerate() {
        say(format_args!("figure {} of {}, {name}", index + 1, TOY_MODEL_FIGURES.len()));
        match draw(&mut computer, name, plan, &formats, args) {
            Ok(()) => drawn.push(name),
            Err(Failure::Failed(error) | Failure::BadInput(error)) => {
                say(format_args!("{name} was not drawn: {}", in_one_line(&error)));
                failed.push(name);
            }
            Err(interrupted) => {
                let missing: Vec<&str> = TOY_MODEL_FIGURES.into_iter().filter(|name| !drawn.contains(name)).collect();
                say(format_args!("{}; not drawn: {}", there(&drawn, args), missing.join(", ")));
                return Err(interrupted);
            }
        }
    }
    if failed.is_empty() {
        return Ok(());
    }
    Err(Failure::Failed(anyhow!("{}; not drawn: {}", there(&drawn, args), failed.join(", "))))
}

/// Computes a figure and writes its files.
fn draw(
    computer: &mut FigureComputer,
    name: &str,
    plan: Plan,
    formats: &[Format],
    args: &FigureArgs,
) -> Result<(), Failure> {
    let targets = formats.iter().map(|format| (*format, args.out.join(format!("{name}.{}", format.extension()))));
    // Errors of writing are reported before hours of work.
    let mut files = Vec::new();
    for (format, path) in targets {
        let file = AtomicFile::for_target(&path).with_context(|| cannot_write(&path))?;
        files.push((format, path, file));
    }
    let drawing = drawing(&computer.source(plan)?, args).map_err(anyhow::Error::from)?;
    for (format, path, file) in files {
        write(&drawing, format, &path, file, args)?;
    }
    Ok(())
}

fn there(drawn: &[&str], args: &FigureArgs) -> String {
    match drawn {
        [] => "no figure was drawn".to_owned(),
        drawn => format!("drawn into {}: {}", args.out.display(), drawn.join(", ")),
    }
}
