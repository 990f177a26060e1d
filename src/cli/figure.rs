//! `valleyscope figure`: a figure of a phase diagram, computed or from results that are there, of a scan, or of the runs
//! of a preset of trainings.

mod trainings;

use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, anyhow};

use super::runs::find::RunsPlace;
use super::sweep::{Taker, Workshop, load};
use super::{Failure, say};
use crate::export::{AtomicFile, Overwrite};
use crate::figure::{Figure, FigureError, Format, Options, as_changed};
use crate::preset::{Library, Preset, SweepPreset};
use crate::result::SweepResult;
use crate::result::scan::{ScanError, ScanResult};
use crate::run::RunFolder;
use crate::sweep::{Diagram, Finished, Metric, Precision};
use crate::visible::visible;

#[derive(clap::Args)]
pub struct FigureArgs {
    /// A preset of the kind Sweep: a name or a file; `pairs` for any two optimizers of fig2a and fig2b; a
    /// folder of results, or its phase.npz, to draw without computing; the run of a scan: its name or folder; or a
    /// preset of trainings, such as fig3a, to draw from runs that are there
    #[arg(value_name = "NAME")]
    name: OsString,
    /// Write to this file, replacing what is there
    #[arg(long, value_name = "FILE.png|.svg|.pdf")]
    out: PathBuf,
    /// Folder that the runs of a preset of trainings are in [default: runs in the user's folder for data]
    #[arg(long, value_name = "DIR")]
    runs: Option<PathBuf>,
    /// Width in millimetres [default: a column of a journal, or a page for several maps]
    #[arg(long, value_name = "W", allow_hyphen_values = true)]
    width_mm: Option<f64>,
    /// Dots per inch of a PNG
    #[arg(long, value_name = "D", default_value = "300", allow_hyphen_values = true)]
    dpi: f64,
    /// Compute a coarse picture: at most 24x25 pixels and 10 replicates
    #[arg(long)]
    quick: bool,
    /// Show winners paler where they are less certain: full at 100 %, palest at 50 % and below
    #[arg(long)]
    certainty: bool,
}

/// The name of the figure with the differences between any two optimizers, and what it is made of.
const PAIRS: &str = "pairs";
const OF_PAIRS: [&str; 2] = ["fig2a", "fig2b"];

pub fn run(args: &FigureArgs) -> Result<(), Failure> {
    let format = Format::of(&args.out).ok_or_else(|| {
        let out = args.out.display();
        Failure::BadInput(anyhow!("--out must be a file that ends in .png, .svg or .pdf, found {out}"))
    })?;
    let draw = |source: &Source| -> Result<(Vec<u8>, [f64; 2]), FigureError> {
        let figure = source.figure(args.certainty);
        let width_mm = args.width_mm.unwrap_or(figure.usual_width_mm());
        let drawing = figure.render(&Options { width_mm, ..Options::default() })?;
        Ok((drawing.to_file(format, args.dpi)?, [drawing.width_mm(), drawing.height_mm()]))
    };
    let planned = Plan::of(args)?;
    if args.certainty && !planned.shows_winners() {
        return Err(Failure::BadInput(anyhow!(
            "--certainty is for the winners of one phase diagram, and {} shows none; leave it out",
            args.name.display()
        )));
    }
    // What cannot be drawn or written had better be said before hours of work.
    draw(&planned.outline()).map_err(of_options).map_err(Failure::bad_input)?;
    let cannot_write = || format!("cannot write {}", args.out.display());
    let mut file = AtomicFile::for_target(&args.out).with_context(cannot_write)?;
    let source = planned.source()?;
    let (content, [width, height]) = draw(&source).map_err(anyhow::Error::from)?;
    file.write_all(&content).and_then(|()| file.commit(Overwrite::Yes)).with_context(cannot_write)?;
    say(format_args!("{width:.0} × {height:.0} mm are in {}", args.out.display()));
    Ok(())
}

/// The error in the words of the command line.
fn of_options(error: FigureError) -> FigureError {
    match error {
        FigureError::OutOfRange { name: "width_mm", expected, found } => {
            FigureError::OutOfRange { name: "--width-mm", expected, found }
        }
        FigureError::OutOfRange { name: "dpi", expected, found } => {
            FigureError::OutOfRange { name: "--dpi", expected, found }
        }
        other => other,
    }
}

/// What a figure is drawn from.
#[derive(Clone)]
enum Source {
    Sweeps(Vec<SweepResult>),
    Scan(Box<ScanResult>),
    Trainings(Box<Figure>),
}

impl Source {
    fn figure(&self, certainty: bool) -> Figure {
        match self {
            Source::Sweeps(results) => match &results[..] {
                [result] => Figure::as_in_the_paper(result, certainty),
                _ => Figure::pairs(&results.iter().map(|result| (result, Metric::FinalLoss)).collect::<Vec<_>>()),
            },
            Source::Scan(result) => Figure::scan(result),
            Source::Trainings(figure) => (**figure).clone(),
        }
    }
}

/// How what the figure is drawn from is come by.
enum Plan {
    There(Source),
    Compute(Vec<SweepPreset>),
}

impl Plan {
    fn of(args: &FigureArgs) -> Result<Plan, Failure> {
        if let Some(preset) = preset_of_trainings(args)? {
            if args.quick {
                return Err(Failure::BadInput(anyhow!(
                    "--quick is for computing, and {} is drawn from runs that are there; leave it out",
                    args.name.display()
                )));
            }
            let figure = trainings::figure(&args.name, &preset, args.runs.as_deref())?;
            return Ok(Plan::There(Source::Trainings(Box::new(figure))));
        }
        let there = match run_of(&args.name)? {
            Some(run) => Some(Source::Scan(Box::new(scan_of(&run)?))),
            None if is_result(&args.name) => {
                let result = SweepResult::open(Path::new(&args.name)).map_err(Failure::bad_input)?;
                Some(Source::Sweeps(vec![result]))
            }
            None => None,
        };
        if let Some(source) = there {
            if args.quick {
                return Err(Failure::BadInput(anyhow!(
                    "--quick is for computing, and {} holds results already; leave it out",
                    args.name.display()
                )));
            }
            return Ok(Plan::There(source));
        }
        let path = Path::new(&args.name);
        if path.components().count() > 1 && !path.exists() {
            return Err(Failure::BadInput(anyhow!(
                "there is no {}; expected the name or the file of a preset, a folder of results or its phase.npz, or the folder of a run",
                path.display()
            )));
        }
        let names = if args.name == PAIRS { OF_PAIRS.map(OsStr::new).to_vec() } else { vec![args.name.as_os_str()] };
        let presets = names.into_iter().map(|name| {
            let preset = load(name)?;
            let sweep = if args.quick { preset.sweep.quick() } else { preset.sweep.clone() };
            Ok(as_changed(preset, sweep))
        });
        Ok(Plan::Compute(presets.collect::<Result<_, Failure>>()?))
    }

    /// Whether it is the map of one diagram's winners.
    fn shows_winners(&self) -> bool {
        match self {
            Plan::There(Source::Sweeps(results)) => results.len() == 1,
            Plan::There(Source::Scan(_) | Source::Trainings(_)) => false,
            Plan::Compute(presets) => presets.len() == 1,
        }
    }

    /// What is drawn, before anything of it is computed.
    fn outline(&self) -> Source {
        match self {
            Plan::There(source) => source.clone(),
            Plan::Compute(presets) => Source::Sweeps(presets.iter().map(unknown).collect()),
        }
    }

    fn source(self) -> Result<Source, Failure> {
        match self {
            Plan::There(source) => Ok(source),
            Plan::Compute(presets) => {
                let workshop = Workshop::open(None, Precision::default())?;
                let results = presets.iter().map(|preset| computed(&workshop, preset));
                Ok(Source::Sweeps(results.collect::<Result<_, Failure>>()?))
            }
        }
    }
}

/// The preset of trainings that is meant, if one is.
fn preset_of_trainings(args: &FigureArgs) -> Result<Option<Preset>, Failure> {
    if args.name == PAIRS && args.runs.is_none() {
        return Ok(None);
    }
    let is_meant = |preset: &Preset| preset.workload().is_some_and(|workload| workload.scanned().is_empty());
    match Library::open().load(&args.name) {
        Ok(loaded) if is_meant(&loaded.preset) => Ok(Some(loaded.preset)),
        Err(error) if args.runs.is_some() && args.name != PAIRS => Err(Failure::bad_input(error)),
        _ if args.runs.is_some() => Err(Failure::BadInput(anyhow!(
            "--runs is for a preset of trainings, such as fig3a, and {} is none; leave it out",
            args.name.display()
        ))),
        _ => Ok(None),
    }
}

/// The run that is meant: a folder, or a name that no preset has.
fn run_of(name: &OsStr) -> Result<Option<RunFolder>, Failure> {
    let path = Path::new(name);
    if name == PAIRS || Library::open().load(name).is_ok() {
        return Ok(None);
    }
    if path.is_dir() {
        return if RunFolder::is_at(path) {
            RunFolder::open(path).map(Some).map_err(Failure::bad_input)
        } else {
            Ok(None)
        };
    }
    if path.components().count() > 1 || path.exists() {
        return Ok(None);
    }
    match RunsPlace::of(None) {
        Ok(place) if place.has_beginning_with(name) => place.find(name).map(Some),
        _ => Ok(None),
    }
}

fn scan_of(run: &RunFolder) -> Result<ScanResult, Failure> {
    ScanResult::open(run).map_err(|error| {
        let is_failure = matches!(error, ScanError::Read { .. });
        let error = anyhow::Error::from(error).context(format!("there is no figure of {}", run.name()));
        if is_failure { Failure::Failed(error) } else { Failure::BadInput(error) }
    })
}

/// Whether it is a folder or a file of results. A folder with the name of a preset is meant by `./NAME`.
fn is_result(name: &OsStr) -> bool {
    let path = Path::new(name);
    let is_archive = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("npz"));
    is_archive || (name != PAIRS && path.is_dir() && Library::open().load(name).is_err())
}

fn unknown(preset: &SweepPreset) -> SweepResult {
    SweepResult {
        title: preset.title.clone(),
        description: preset.description.clone(),
        diagram: Diagram::new(Arc::new(preset.sweep.clone())),
        precision: Precision::default(),
    }
}

fn computed(workshop: &Workshop, preset: &SweepPreset) -> Result<SweepResult, Failure> {
    let mut result = unknown(preset);
    let spec = Arc::clone(result.diagram.spec());
    let done = workshop.compute(spec, false, |_| false, &mut result.diagram)?;
    if !result.diagram.is_complete() {
        return Err(Failure::Interrupted);
    }
    say(format_args!("{}: {}", visible(&preset.title), workshop.speed(&done)));
    Ok(result)
}

impl Taker for Diagram {
    fn take(&mut self, finished: Finished) -> Result<(), Failure> {
        self.insert(finished.pixel, finished.cell);
        Ok(())
    }
}
