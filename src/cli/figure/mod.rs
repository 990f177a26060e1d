//! `valleyscope figure`: a figure of a landscape or a phase diagram, computed or from existing results, or of the runs of
//! a preset of trainings.

mod grid;
mod source;
mod trainings;

use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use source::{FigureComputer, Source, TOY_MODEL_FIGURES};
use valleyscope_experiments::view::{DiagnosticMetric, ViewProjection};
use valleyscope_runs::atomic_file::{AtomicFile, Overwrite};

use super::landscape_args::{check_known, log_axis, metric, run_plots};
use super::output::{by_ending, cannot_write};
use super::training_args::GridArgs;
use super::{Failure, in_one_line, one_of, say, warn_of_missing_glyphs};
use crate::draw::{Figure, FigureError, Format, Options, Svg};

#[derive(clap::Args)]
pub(super) struct FigureArgs {
    /// A preset of the kind Landscape or Sweep: a name or a file; `pairs` for any two optimizers of fig2a and fig2b;
    /// `moretoy` for fig2b-unrotated beside fig2b-100d; a folder of results, or its phase.npz, to draw without
    /// computing; or a preset of trainings, such as fig3a or the grid fig2cd, to draw from existing runs
    #[arg(value_name = "NAME", required_unless_present = "all")]
    name: Option<OsString>,
    /// Draw all figures of the paper's toy models: fig1c, saturation, fig2a, fig2b, pairs, fig2b-unrotated, fig2b-100d
    /// and moretoy
    #[arg(long, conflicts_with_all = ["name", "runs", "certainty"])]
    all: bool,
    /// Write to this file, replacing it if it exists; with --all, to NAME.png, NAME.svg and NAME.pdf in this folder,
    /// which is created if needed
    #[arg(long, value_name = "FILE.png|.svg|.pdf|DIR")]
    out: PathBuf,
    /// Write figures of --all in this format only
    #[arg(long, value_name = "png|svg|pdf", value_parser = one_of(&Format::ALL, Format::extension))]
    format: Option<Format>,
    /// Folder that contains the runs of a preset of trainings [default: runs in the user's folder for data]
    #[arg(long, value_name = "DIR")]
    runs: Option<PathBuf>,
    #[command(flatten)]
    grid: GridArgs,
    /// Horizontal axis of the figure of a grid: a setting that varies [default: one that suits, such as the batch size]
    #[arg(long, value_name = "SETTING")]
    x: Option<String>,
    /// Draw of each point of a grid only the best value of this setting [default: the learning rate, unless it is the
    /// horizontal axis]
    #[arg(long, value_name = "SETTING")]
    best_over: Option<String>,
    /// Draw a line for each combination of a grid through parallel axes, one for each setting that varies
    #[arg(long, conflicts_with_all = ["x", "best_over"])]
    parallel: bool,
    /// Width in millimetres [default: a column of a journal, or a page for several maps or a landscape]
    #[arg(long, value_name = "W", allow_hyphen_values = true)]
    width_mm: Option<f64>,
    /// Dots per inch of a PNG
    #[arg(long, value_name = "D", default_value = "300", allow_hyphen_values = true)]
    dpi: f64,
    /// Draw a landscape flat, as a surface in space, or along its valley [default: as in the preset]
    #[arg(long, value_name = "2d|3d|valley", value_parser = one_of(&ViewProjection::ALL, ViewProjection::name))]
    #[arg(conflicts_with_all = ["all", "runs", "certainty"])]
    view: Option<ViewProjection>,
    /// Set a field of the preset, such as noise=0.5, or of trainings as they were trained with; may be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = super::assignment, conflicts_with = "all")]
    set: Vec<(String, String)>,
    /// Draw a landscape or a phase diagram beside another: the same preset with settings such as noise=2, several of
    /// them separated by semicolons, another preset, or for a phase diagram also existing results; may be repeated, for
    /// at most four landscapes or nine phase diagrams
    #[arg(long, value_name = "KEY=VALUE|PRESET|RESULTS", conflicts_with_all = ["all", "runs"])]
    beside: Vec<String>,
    /// Draw these plots of a landscape's run instead: loss, u, abs-v, effective-step, free-energy, noise, signal,
    /// noise-share, oscillation. Marks show the changes of a recorded session
    #[arg(long, value_name = "PLOT,…", value_delimiter = ',', value_parser = metric)]
    #[arg(conflicts_with_all = ["all", "runs", "certainty", "view"])]
    plots: Vec<DiagnosticMetric>,
    /// The plots of --plots with a logarithmic axis, and `steps` for that of the steps [default: abs-v]
    #[arg(long, value_name = "PLOT,…", value_delimiter = ',', value_parser = log_axis, requires = "plots")]
    log: Option<Vec<Option<DiagnosticMetric>>>,
    /// Compute a coarse picture: at most 24x25 pixels and 10 replicates, or 10 particles
    #[arg(long)]
    quick: bool,
    /// Show winners paler where they are less certain: full at 100 %, palest at 50 % and below
    #[arg(long)]
    certainty: bool,
    /// Draw the advantage of one optimizer over another instead of the winners: by their names in the phase diagram, or
    /// by their ids in its preset
    #[arg(long, value_name = "ONE,OTHER", conflicts_with_all = ["all", "runs", "certainty", "letters"])]
    margin: Option<String>,
    /// Draw the best value of a tuned setting instead of the winners, such as FOCUS.gamma or Adam.learning_rate: an
    /// optimizer by its name or its id, a dot, and the setting
    #[arg(long, value_name = "OPTIMIZER.SETTING", conflicts_with_all = ["all", "runs", "certainty", "letters", "margin"])]
    best: Option<String>,
    /// Draw how many runs adaptive sampling has spent at each pixel instead of the winners
    #[arg(long, conflicts_with_all = ["all", "runs", "certainty", "letters", "margin", "best"])]
    spent: bool,
    /// Draw the pixels in the triangle of signal, noise and oscillation, the reasons for Adam's small steps; a sweep that
    /// was not computed with --measured is measured first
    #[arg(long, value_name = "MAP", conflicts_with_all = ["all", "runs", "certainty", "letters", "margin", "best", "spent"])]
    #[arg(value_parser = ["triangle"])]
    map: Option<String>,
    /// Draw borders around the winners' regions and a letter in each, for readers who see colours differently
    #[arg(long, conflicts_with = "runs")]
    letters: bool,
}

pub(super) fn run(args: &FigureArgs) -> Result<(), Failure> {
    let Some(name) = &args.name else { return draw_all(args) };
    if args.format.is_some() {
        return Err(Failure::BadInput(anyhow!(
            "--format is for --all; the format of a single figure is that of the name in --out, so leave it out"
        )));
    }
    let format = by_ending("--out", &args.out, &Format::ALL.map(|format| (format.extension(), format)))?;
    let source = Source::of(name, args)?;
    refuse_misplaced(name, &source, args)?;
    if let Some(landscape) = source.landscape().filter(|_| !args.plots.is_empty()) {
        check_known(&args.plots, landscape)?;
    }
    check(&source, &[format], args)?;
    draw(&mut FigureComputer::new()?, source, &[(format, args.out.clone())], args)
}

/// Refuses options for another kind of figure.
fn refuse_misplaced(name: &OsString, source: &Source, args: &FigureArgs) -> Result<(), Failure> {
    let (is_landscape, has_diagrams) = (source.landscape().is_some(), !source.diagrams().is_empty());
    let (shows_winners, name) = (source.shows_winners(), name.display());
    let refused = [
        (args.certainty && !shows_winners, "--certainty is for the winners of phase diagrams", "shows none"),
        (args.letters && !shows_winners, "--letters is for the winners of phase diagrams", "shows none"),
        (args.view.is_some() && !is_landscape, "--view is for landscapes", "is none"),
        (!args.plots.is_empty() && !is_landscape, "--plots is for landscapes", "is none"),
        (args.margin.is_some() && !has_diagrams, "--margin is for phase diagrams", "is none"),
        (args.map.is_some() && !has_diagrams, "--map is for phase diagrams", "is none"),
        (args.spent && !has_diagrams, "--spent is for phase diagrams", "is none"),
        (
            !args.beside.is_empty() && !is_landscape && !has_diagrams,
            "--beside is for landscapes and phase diagrams",
            "is none",
        ),
    ];
    match refused.into_iter().find(|(is_misplaced, ..)| *is_misplaced) {
        Some((_, option, found)) => Err(Failure::BadInput(anyhow!("{option}, and {name} {found}; leave it out"))),
        None => Ok(()),
    }
}

/// Draws a source before it is complete, so that errors of drawing are reported before hours of work.
fn check(source: &Source, formats: &[Format], args: &FigureArgs) -> Result<(), Failure> {
    let refused = |error: FigureError| match error {
        // Named as the option of the command line.
        FigureError::OutOfRange { .. } => Failure::BadInput(anyhow!("--{}", error.to_string().replace('_', "-"))),
        other => Failure::bad_input(other),
    };
    let draw = |format: &Format| drawing(source, args)?.to_file(*format, args.dpi);
    formats.iter().try_for_each(|format| draw(format).map(drop)).map_err(refused)
}

fn drawing(source: &Source, args: &FigureArgs) -> Result<Svg, FigureError> {
    let figure = match source {
        Source::Trajectories(trajectories) if !args.plots.is_empty() => {
            Figure::run_plots(trajectories, &run_plots(&args.plots, args.log.as_deref()))
        }
        source => source.figure(args),
    };
    let figure = if args.letters { figure.with_letters() } else { figure };
    let width_mm = args.width_mm.unwrap_or(figure.usual_width_mm());
    figure.render(&Options { width_mm, ..Options::default() })
}

/// Draws one figure after the other. The others are drawn even if one fails.
fn draw_all(args: &FigureArgs) -> Result<(), Failure> {
    let folder = &args.out;
    if Format::of(folder).is_some() || folder.is_file() {
        return Err(Failure::BadInput(anyhow!(
            "--all writes several files, so --out must be a folder, found the file {}",
            folder.display()
        )));
    }
    let formats = args.format.map_or(Format::ALL.to_vec(), |format| vec![format]);
    let sources = TOY_MODEL_FIGURES.map(|name| Source::of(OsStr::new(name), args).map(|source| (name, source)));
    let sources = sources.into_iter().collect::<Result<Vec<_>, Failure>>()?;
    for (_, source) in &sources {
        check(source, &formats, args)?;
    }
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
    let mut computer = FigureComputer::new()?;
    let (mut drawn, mut failed) = (Vec::new(), Vec::new());
    for (index, (name, source)) in sources.into_iter().enumerate() {
        say(format_args!("figure {} of {}, {name}", index + 1, TOY_MODEL_FIGURES.len()));
        let path = |format: Format| folder.join(format!("{name}.{}", format.extension()));
        let targets: Vec<_> = formats.iter().map(|format| (*format, path(*format))).collect();
        match draw(&mut computer, source, &targets, args) {
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
    mut source: Source,
    targets: &[(Format, PathBuf)],
    args: &FigureArgs,
) -> Result<(), Failure> {
    // Errors of writing are reported before hours of work.
    let begin = |path: &Path| AtomicFile::for_target(path).with_context(|| cannot_write(path));
    let files = targets.iter().map(|(_, path)| begin(path)).collect::<anyhow::Result<Vec<AtomicFile>>>()?;
    computer.complete(&mut source, args)?;
    let drawing = drawing(&source, args).map_err(anyhow::Error::from)?;
    for ((format, path), mut file) in targets.iter().zip(files) {
        let content = drawing.to_file(*format, args.dpi).map_err(anyhow::Error::from)?;
        file.write_all(&content).and_then(|()| file.commit(Overwrite::Yes)).with_context(|| cannot_write(path))?;
        warn_of_missing_glyphs(&drawing);
        say(format_args!("Wrote {}, {:.0} × {:.0} mm", path.display(), drawing.width_mm(), drawing.height_mm()));
    }
    Ok(())
}

fn there(drawn: &[&str], args: &FigureArgs) -> String {
    match drawn {
        [] => "no figure was drawn".to_owned(),
        drawn => format!("drawn into {}: {}", args.out.display(), drawn.join(", ")),
    }
}
