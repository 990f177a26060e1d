//! The source of a figure, and its computation.

use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;

use anyhow::anyhow;
use valleyscope_engine::identifier::folded;
use valleyscope_engine::landscape::LandscapeSpec;
use valleyscope_engine::quantity::ParticleCount;
use valleyscope_engine::setting::LEARNING_RATE;
use valleyscope_engine::simulation::SimulationSpec;
use valleyscope_engine::sweep::{Diagram, Metric, Precision, SweepJob, SweepOptimizer, SweepSpec};
use valleyscope_engine::terminal_escape::visible;
use valleyscope_experiments::preset::{LandscapePreset, Library, Preset, PresetError, SweepPreset, built_ins};
use valleyscope_experiments::view::ViewProjection;
use valleyscope_runs::RunFolder;

use super::{FigureArgs, grid, trainings};
use crate::cli::landscape_args::{with_compared, with_settings};
use crate::cli::output::{ProgressLine, ProgressUnit};
use crate::cli::sweep::SweepRunner;
use crate::cli::{Failure, changed, check_computable, say};
use crate::draw::{Compared, Figure, Map, Trajectories};
use crate::sweep::result::SweepResult;
use crate::sweep::titles::{TitledSweep, as_changed_from, short_titles};

/// The figures of the paper's toy models, the fastest first.
pub(super) const TOY_MODEL_FIGURES: [&str; 8] =
    ["fig1c", "saturation", "fig2a", "fig2b", "pairs", "fig2b-unrotated", "fig2b-100d", "moretoy"];

/// The largest number of particles of each optimizer in a coarse picture.
const QUICK_PARTICLES: u64 = 10;

/// The arrangement of the sweeps of a figure.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Layout {
    /// The maps of a single sweep.
    Single,
    /// Differences between any two optimizers, a row for each sweep.
    Pairs,
    /// The winners of two landscapes side by side.
    MoreToy,
    /// Any sweeps side by side.
    Beside,
}

impl Layout {
    /// The layout of a figure of two built-in sweeps, and their names.
    fn named(name: &OsStr) -> Option<(Layout, [&'static str; 2])> {
        match name.to_str()? {
            "pairs" => Some((Layout::Pairs, ["fig2a", "fig2b"])),
            "moretoy" => Some((Layout::MoreToy, ["fig2b-unrotated", "fig2b-100d"])),
            _ => None,
        }
    }
}

/// A diagram of a figure.
pub(super) struct SweepSource {
    result: SweepResult,
    /// Whether its missing pixels are to be computed.
    is_to_compute: bool,
}

impl SweepSource {
    fn there(result: SweepResult) -> SweepSource {
        SweepSource { result, is_to_compute: false }
    }

    fn to_compute(preset: &SweepPreset) -> SweepSource {
        let diagram = Diagram::new(Arc::new(preset.sweep.clone()));
        SweepSource { result: SweepResult::of(preset, diagram, Precision::default()), is_to_compute: true }
    }
}

/// The source of a figure, as far as it is computed.
pub(super) enum Source {
    Sweeps(Layout, Vec<SweepSource>),
    Trajectories(Box<Trajectories>),
    Trainings(Box<Figure>),
}

impl Source {
    pub(super) fn figure(&self, args: &FigureArgs) -> Figure {
        let certainty = args.certainty;
        let (layout, results) = match self {
            Source::Sweeps(layout, sweeps) => (layout, sweeps.iter().map(|sweep| &sweep.result).collect::<Vec<_>>()),
            Source::Trajectories(trajectories) => return Figure::landscape(trajectories),
            Source::Trainings(figure) => return (**figure).clone(),
        };
        let metric = |result: &SweepResult| result.diagram.spec().metric;
        match layout {
            Layout::Single => match self.chosen_map(args) {
                Ok(Some(Map::Triangle)) => Figure::triangle(results[0], metric(results[0])),
                Ok(Some(map)) => Figure::map(results[0], metric(results[0]), map),
                _ => Figure::as_in_the_paper(results[0], certainty),
            },
            Layout::Pairs => {
                Figure::pairs(&results.iter().map(|result| (*result, Metric::FinalLoss)).collect::<Vec<_>>())
            }
            Layout::MoreToy => Figure::side_by_side([results[0], results[1]], certainty),
            Layout::Beside => {
                let titled = results.iter().zip(titles(&results));
                let compared = titled.map(|(result, title)| Compared { result, title, metric: metric(result) });
                let map = self.chosen_map(args).ok().flatten().unwrap_or(Map::Winner { certainty });
                Figure::compared(&compared.collect::<Vec<_>>(), map, 0)
            }
        }
    }

    pub(super) fn shows_winners(&self) -> bool {
        matches!(self, Source::Sweeps(layout, _) if *layout != Layout::Pairs)
    }

    /// The diagrams of a figure that may be another map than that of winners.
    pub(super) fn diagrams(&self) -> Vec<&Diagram> {
        match self {
            Source::Sweeps(Layout::Single | Layout::Beside, sweeps) => {
                sweeps.iter().map(|sweep| &sweep.result.diagram).collect()
            }
            _ => Vec::new(),
        }
    }
}

impl Source {
    pub(super) fn of(name: &OsStr, args: &FigureArgs) -> Result<Source, Failure> {
        let source = match Source::of_name(name, args)? {
            Source::Sweeps(Layout::Single, sweeps) if !args.beside.is_empty() => beside(sweeps, args)?,
            source => source,
        };
        source.chosen_map(args)?;
        Ok(source)
    }

    fn of_name(name: &OsStr, args: &FigureArgs) -> Result<Source, Failure> {
        let composed = Layout::named(name);
        if let Some((layout, sweeps)) = composed.filter(|_| args.runs.is_none()) {
            refuse(SET, !args.set.is_empty(), name, "is made of two presets")?;
            let sweep = |name| {
                let own = built_in_sweep(name);
                SweepSource::to_compute(&as_asked(own.clone(), &own, args.quick))
            };
            return Ok(Source::Sweeps(layout, Vec::from(sweeps.map(sweep))));
        }
        match Library::open().load(name) {
            Ok(loaded) if loaded.preset.workload().is_some() => {
                refuse(QUICK, args.quick, name, "is drawn from runs that are there")?;
                let preset = changed(&loaded.preset, &args.set)?;
                let figure = match args.grid.applied_to(preset)? {
                    Preset::Grid(grid) => grid::figure(name, &Preset::Grid(grid), args)?,
                    preset => trainings::figure(name, &preset, args.runs.as_deref())?,
                };
                Ok(Source::Trainings(Box::new(figure)))
            }
            Err(error) if args.runs.is_some() && composed.is_none() => Err(Failure::bad_input(error)),
            _ if args.runs.is_some() => Err(Failure::BadInput(anyhow!(
                "--runs is for a preset of trainings, such as fig3a, and {} is none; leave it out",
                name.display()
            ))),
            Ok(_) if !args.grid.is_empty() => Err(Failure::BadInput(anyhow!(
                "--vary and --seeds are for a preset of trainings, and {} is none; leave them out",
                name.display()
            ))),
            Ok(loaded) => {
                let changed = changed(&loaded.preset, &args.set)?;
                Source::of_preset(changed, &loaded.preset, args)
            }
            Err(error) => {
                let source = result_named(name, error)?;
                refuse(SET, !args.set.is_empty(), name, "holds results already")?;
                refuse(QUICK, args.quick, name, "holds results already")?;
                Ok(Source::Sweeps(Layout::Single, vec![source]))
            }
        }
    }

    /// The source of a preset that the command line has changed from `before`.
    fn of_preset(changed: Preset, before: &Preset, args: &FigureArgs) -> Result<Source, Failure> {
        if let (Preset::Sweep(changed), Preset::Sweep(before)) = (&changed, before) {
            let asked = as_asked(changed.clone(), before, args.quick);
            return Ok(Source::Sweeps(Layout::Single, vec![SweepSource::to_compute(&asked)]));
        }
        match changed.as_changed_from(before) {
            Preset::Landscape(preset) => Source::of_landscape(preset, args),
            _ => unreachable!("trainings are drawn from their runs, and a changed preset is of the same kind"),
        }
    }

    fn of_landscape(preset: LandscapePreset, args: &FigureArgs) -> Result<Source, Failure> {
        let mut preset = with_compared(preset, &args.beside)?;
        check_computable(&preset)?;
        let specs = preset.simulations.iter_mut().filter_map(|simulation| simulation.spec.as_mut());
        for SimulationSpec { particles, .. } in specs {
            if args.quick && particles.get() > QUICK_PARTICLES as usize {
                *particles = ParticleCount::new(QUICK_PARTICLES).expect("within the range");
            }
        }
        let projection = preset.view.as_ref().map_or_else(ViewProjection::default, |view| view.projection);
        if let Some(wanted) = args.view.filter(|view| *view != projection) {
            preset.view.get_or_insert_default().projection = wanted;
        }
        let trajectories = Trajectories::new(&preset).map_err(Failure::bad_input)?;
        Ok(Source::Trajectories(Box::new(trajectories)))
    }

    /// The landscape whose trajectories are drawn; none for another figure.
    pub(super) fn landscape(&self) -> Option<&LandscapeSpec> {
        if let Source::Trajectories(trajectories) = self { Some(&trajectories.spec().landscape) } else { None }
    }
}

/// Computes the sources of figures. A sweep that several figures show is computed once.
pub(super) struct FigureComputer {
    runner: SweepRunner,
    computed: Vec<SweepResult>,
}

impl FigureComputer {
    pub(super) fn new() -> Result<FigureComputer, Failure> {
        Ok(FigureComputer { runner: SweepRunner::open(None, Precision::default())?, computed: Vec::new() })
    }

    /// Computes what a source lacks.
    pub(super) fn complete(&mut self, source: &mut Source, args: &FigureArgs) -> Result<(), Failure> {
        match source {
            Source::Sweeps(_, sweeps) => {
                for SweepSource { result, is_to_compute } in sweeps {
                    if *is_to_compute {
                        self.sweep(result)?;
                    }
                    if args.map.is_some() {
                        self.runner.measure(&mut result.diagram)?;
                    }
                }
                Ok(())
            }
            Source::Trajectories(trajectories) => self.simulate(trajectories),
            Source::Trainings(_) => Ok(()),
        }
    }

    fn sweep(&mut self, result: &mut SweepResult) -> Result<(), Failure> {
        let is_same =
            |known: &&SweepResult| known.title == result.title && known.diagram.spec() == result.diagram.spec();
        if let Some(known) = self.computed.iter().find(is_same) {
            result.clone_from(known);
            return Ok(());
        }
        let job = SweepJob::new(Arc::clone(result.diagram.spec()), self.runner.backend);
        let done = self.runner.compute(job, |finished| {
            finished.into_iter().for_each(|finished| result.diagram.insert(finished.pixel, finished.cell));
            Ok(())
        })?;
        if !result.diagram.is_complete() {
            return Err(Failure::Interrupted);
        }
        say(format_args!("{}: {}", visible(&result.title), self.runner.speed(&done)));
        self.computed.push(result.clone());
        Ok(())
    }

    fn simulate(&self, trajectories: &mut Trajectories) -> Result<(), Failure> {
        let mut progress = ProgressLine::new(trajectories.steps(), ProgressUnit::STEPS, false);
        while !trajectories.is_complete() && !self.runner.interrupt.is_raised() {
            trajectories.advance();
            progress.update(trajectories.step());
        }
        progress.finish();
        if trajectories.is_complete() { Ok(()) } else { Err(Failure::Interrupted) }
    }
}

fn built_in_sweep(name: &str) -> SweepPreset {
    let found = built_ins().iter().find(|built_in| built_in.name == name).map(|built_in| &built_in.preset);
    match found {
        Some(Preset::Sweep(preset)) => preset.clone(),
        _ => unreachable!("{name} is a built-in preset of a sweep"),
    }
}

/// A preset that the command line has changed from `before`, smaller if it asks for a quick figure.
fn as_asked(changed: SweepPreset, before: &SweepPreset, is_quick: bool) -> SweepPreset {
    let sweep = if is_quick { changed.sweep.quick() } else { changed.sweep };
    as_changed_from(SweepPreset { sweep, ..changed }, before)
}

/// Refuses an option that changes what is computed, if it was given.
fn refuse(option: &str, is_given: bool, name: &OsStr, why: &str) -> Result<(), Failure> {
    if is_given {
        return Err(Failure::BadInput(anyhow!("{option}, and {} {why}; leave it out", name.display())));
    }
    Ok(())
}

const SET: &str = "--set is for a preset that is computed";
const QUICK: &str = "--quick is for computing";

/// The results of a name that is not a preset's: a folder or file of a sweep's. A folder with the name of a preset is
/// given as `./NAME`.
fn result_named(name: &OsStr, not_a_preset: PresetError) -> Result<SweepSource, Failure> {
    let path = Path::new(name);
    if RunFolder::is_at(path) {
        return Err(Failure::BadInput(anyhow!(
            "there is no figure of the run {}; give the preset of its training",
            path.display()
        )));
    }
    let is_archive = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("npz"));
    if is_archive || path.is_dir() {
        return SweepResult::open(path).map(SweepSource::there).map_err(Failure::bad_input);
    }
    if path.components().count() > 1 && !path.exists() {
        return Err(Failure::BadInput(anyhow!(
            "there is no {}; expected the name or the file of a preset, or a folder of results or its phase.npz",
            path.display()
        )));
    }
    Err(Failure::BadInput(match not_a_preset {
        PresetError::NotFound { .. } => {
            anyhow!("{not_a_preset}; the figures of the paper's toy models are {}", TOY_MODEL_FIGURES.join(", "))
        }
        other => other.into(),
    }))
}

/// The largest number of diagrams side by side.
const MOST_DIAGRAMS: usize = 9;

impl SweepSource {
    /// The source that a text of `--beside` names.
    fn named(text: &str, first: &SweepSource, args: &FigureArgs) -> Result<SweepSource, Failure> {
        let refused = |error: anyhow::Error| Failure::BadInput(error.context(format!("--beside {text}")));
        if text.contains('=') {
            let own = first.result.preset();
            return match (with_settings(&own, text)?, own) {
                (Preset::Sweep(changed), Preset::Sweep(own)) => {
                    Ok(SweepSource::to_compute(&as_asked(changed, &own, args.quick)))
                }
                _ => unreachable!("a preset with another value of a field is of the same kind"),
            };
        }
        match Library::open().load(OsStr::new(text)) {
            Ok(loaded) => match loaded.preset {
                Preset::Sweep(own) => Ok(SweepSource::to_compute(&as_asked(own.clone(), &own, args.quick))),
                other => Err(refused(anyhow!(
                    "expected settings such as noise=Multiplicative(2), a preset of the kind Sweep or results of one, and \
                     `{text}` is a {}",
                    other.kind()
                ))),
            },
            Err(error) => result_named(OsStr::new(text), error),
        }
    }
}

/// The source of a diagram with those of `--beside`.
fn beside(mut sources: Vec<SweepSource>, args: &FigureArgs) -> Result<Source, Failure> {
    let count = 1 + args.beside.len();
    if count > MOST_DIAGRAMS {
        return Err(Failure::BadInput(anyhow!(
            "--beside: expected at most {MOST_DIAGRAMS} diagrams side by side, found {count}; leave some out"
        )));
    }
    for text in &args.beside {
        sources.push(SweepSource::named(text, &sources[0], args)?);
    }
    Ok(Source::Sweeps(Layout::Beside, sources))
}

fn titles(results: &[&SweepResult]) -> Vec<String> {
    let titled = results.iter().map(|result| TitledSweep {
        name: None,
        preset: result.sweep_preset(),
        precision: result.precision,
    });
    short_titles(&titled.collect::<Vec<_>>())
}

impl Source {
    /// The map that was chosen, if any. The margins of diagrams side by side share a scale, and so the diagrams must
    /// share a metric.
    fn chosen_map(&self, args: &FigureArgs) -> Result<Option<Map>, Failure> {
        if args.spent {
            return Ok(Some(Map::Runs));
        }
        let diagrams = self.diagrams();
        if args.map.is_some() && !diagrams.is_empty() {
            return match &diagrams[..] {
                [only] if only.spec().adam().is_some() => Ok(Some(Map::Triangle)),
                [_] => Err(Failure::BadInput(anyhow!(
                    "--map triangle: expected Adam among the optimizers, as the triangle is of its gradients, found none"
                ))),
                _ => Err(Failure::BadInput(anyhow!(
                    "--map triangle: expected one phase diagram, found several; draw each in a figure of its own"
                ))),
            };
        }
        let Some(first) = diagrams.first() else { return Ok(None) };
        if let Some(text) = &args.best {
            return best(&diagrams, text).map(Some);
        }
        let Some(text) = &args.margin else { return Ok(None) };
        let metric = |diagram: &Diagram| diagram.spec().metric.label(&diagram.spec().landscape);
        if let Some(other) = diagrams.iter().find(|other| other.spec().metric != first.spec().metric) {
            return Err(Failure::BadInput(anyhow!(
                "--margin: diagrams side by side share a scale, so expected the same metric in all, found {} and {}; set \
                 the metric of all, as by `--set metric=Depth`, or draw them in figures of their own",
                metric(first),
                metric(other)
            )));
        }
        margin(first.spec(), text).map(Some)
    }
}

/// The map of the best value of a setting of the first diagram, given by the name or the id of an optimizer, a dot, and
/// the setting's key. All diagrams must tune it.
fn best(diagrams: &[&Diagram], text: &str) -> Result<Map, Failure> {
    let spec = diagrams[0].spec();
    let mut maps: Vec<(usize, &str, Map)> = Vec::new();
    for (index, optimizer) in spec.optimizers.iter().enumerate() {
        maps.push((index, LEARNING_RATE.key, Map::BestRate(index)));
        maps.extend(optimizer.tune.iter().map(|tuned| (index, tuned.of, Map::BestValue(index, tuned.of))));
    }
    let (optimizer, key) = text.rsplit_once('.').unwrap_or((text, ""));
    let having: Vec<usize> = maps.iter().filter(|(_, of, _)| *of == key).map(|(index, ..)| *index).collect();
    let Some(index) = named(spec, optimizer, &having) else {
        let all: Vec<usize> = (0..spec.optimizers.len()).collect();
        let name = |optimizer: &SweepOptimizer| match named(spec, optimizer.label(), &all) {
            Some(_) => optimizer.label().to_owned(),
            None => optimizer.id.to_string(),
        };
        let known = maps.iter().map(|(index, key, _)| format!("{}.{key}", name(&spec.optimizers[*index])));
        return Err(Failure::BadInput(anyhow!(
            "--best: expected an optimizer by a name that no other has or by its id, and one of its tuned settings, as in {}; \
             found {text}",
            known.collect::<Vec<_>>().join(", ")
        )));
    };
    let map = maps.iter().find(|(at, of, _)| *at == index && *of == key).expect("it has the setting").2;
    let shows =
        |diagram: &&&Diagram| std::mem::discriminant(&map.carried_over(spec, diagram)) == std::mem::discriminant(&map);
    match diagrams.iter().position(|diagram| !shows(&diagram)) {
        None => Ok(map),
        Some(lacking) => Err(Failure::BadInput(anyhow!(
            "--best: expected {key} to be tuned in all diagrams side by side, found none that tunes it in diagram {}; draw them \
             in figures of their own",
            lacking + 1
        ))),
    }
}

/// The map of the advantage of one optimizer over another, given by their names or their ids in a sweep.
fn margin(spec: &SweepSpec, text: &str) -> Result<Map, Failure> {
    let all: Vec<usize> = (0..spec.optimizers.len()).collect();
    // Names hold commas, too: any of the commas may be the one between the two.
    let maps = text.match_indices(',').filter_map(|(at, _)| {
        let [one, other] = [&text[..at], &text[at + 1..]].map(|name| named(spec, name.trim(), &all));
        Some(Map::Difference(one?, other?)).filter(|_| one != other)
    });
    let maps: Vec<Map> = maps.collect();
    if let [map] = maps[..] {
        return Ok(map);
    }
    let names = spec.shown_names().into_iter().zip(&spec.optimizers);
    let known: Vec<String> = names.map(|(name, optimizer)| format!("{} = {name}", optimizer.id)).collect();
    Err(Failure::BadInput(anyhow!(
        "--margin: expected two different optimizers, such as Adam,FOCUS or 0,1, each by a name that no other has or by its \
         id, which are {}; found {text}",
        known.join("; ")
    )))
}

/// Finds the optimizer, of those in `among`, that a text names alone: by the name in the diagram, else by the label or the
/// rule's name in presets, else by the id.
fn named(spec: &SweepSpec, text: &str, among: &[usize]) -> Option<usize> {
    let names = spec.shown_names();
    let is_labelled = |index: usize| {
        let optimizer = &spec.optimizers[index];
        let key = optimizer.name.is_none().then(|| optimizer.rule.kind().key());
        [Some(optimizer.label()), key].into_iter().flatten().any(|name| folded(name) == folded(text))
    };
    let ways: [&dyn Fn(usize) -> bool; 3] =
        [&|index| names[index] == text, &is_labelled, &|index| spec.optimizers[index].id.to_string() == text];
    let found = ways.map(|is_meant| among.iter().copied().filter(|index| is_meant(*index)).collect::<Vec<_>>());
    match found.into_iter().find(|found| !found.is_empty())?[..] {
        [index] => Some(index),
        _ => None,
    }
}
