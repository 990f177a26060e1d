//! The maps of phase diagrams in a figure: `--beside`, `--margin`, `--best` and `--spent`.

use std::ffi::OsStr;

use anyhow::anyhow;
use valleyscope_engine::identifier::folded;
use valleyscope_engine::setting::LEARNING_RATE;
use valleyscope_engine::sweep::{Diagram, SweepSpec};
use valleyscope_experiments::preset::{Library, Preset, SweepPreset};

use super::FigureArgs;
use super::plan::{Layout, Plan, Source, as_asked, result_named, unknown};
use crate::cli::{Failure, assignment};
use crate::draw::Map;
use crate::sweep::result::SweepResult;
use crate::sweep::titles::{TitledSweep, short_titles};

/// The source of a diagram that is drawn beside others.
pub(super) enum SweepSource {
    There(Box<SweepResult>),
    Computed(Box<SweepPreset>),
}

/// The largest number of diagrams side by side.
const MOST_DIAGRAMS: usize = 9;

impl SweepSource {
    pub(super) fn outline(&self) -> SweepResult {
        match self {
            SweepSource::There(result) => (**result).clone(),
            SweepSource::Computed(preset) => unknown(preset),
        }
    }

    /// Returns the source that a text of `--beside` names.
    fn named(text: &str, first: &SweepSource, args: &FigureArgs) -> Result<SweepSource, Failure> {
        let refused = |error: anyhow::Error| Failure::BadInput(error.context(format!("--beside {text}")));
        if text.contains('=') {
            let settings = text.split(';').map(assignment).collect::<Result<Vec<_>, _>>();
            let settings = settings.map_err(|error| refused(anyhow!("{error}")))?;
            let own = first.outline().preset();
            let changed = own.with_all(settings.iter().map(|(key, value)| (key.as_str(), value.as_str())));
            return match (changed.map_err(|error| refused(error.into()))?, own) {
                (Preset::Sweep(changed), Preset::Sweep(own)) => {
                    Ok(SweepSource::Computed(Box::new(as_asked(changed, &own, args.quick))))
                }
                _ => unreachable!("a preset with another value of a field is of the same kind"),
            };
        }
        match Library::open().load(OsStr::new(text)) {
            Ok(loaded) => match loaded.preset {
                Preset::Sweep(own) => Ok(SweepSource::Computed(Box::new(as_asked(own.clone(), &own, args.quick)))),
                other => Err(refused(anyhow!(
                    "expected settings such as noise=Multiplicative(2), a preset of the kind Sweep or results of one, and \
                     `{text}` is a {}",
                    other.kind()
                ))),
            },
            Err(error) => match result_named(OsStr::new(text), error)? {
                Source::Sweeps(_, mut results) => Ok(SweepSource::There(Box::new(results.swap_remove(0)))),
                _ => Err(refused(anyhow!("expected the results of a sweep, found the run of a scan"))),
            },
        }
    }
}

/// Returns the plan of a diagram with those of `--beside`.
pub(super) fn beside(mut sources: Vec<SweepSource>, args: &FigureArgs) -> Result<Plan, Failure> {
    let count = 1 + args.beside.len();
    if count > MOST_DIAGRAMS {
        return Err(Failure::BadInput(anyhow!(
            "--beside: expected at most {MOST_DIAGRAMS} diagrams side by side, found {count}; leave some out"
        )));
    }
    for text in &args.beside {
        sources.push(SweepSource::named(text, &sources[0], args)?);
    }
    Ok(Plan::Sweeps(Layout::Beside, sources))
}

/// Returns the titles of diagrams side by side.
pub(super) fn titles(results: &[SweepResult]) -> Vec<String> {
    let titled = results.iter().map(|result| TitledSweep {
        name: None,
        preset: result.sweep_preset(),
        precision: result.precision,
    });
    short_titles(&titled.collect::<Vec<_>>())
}

impl Source {
    /// Returns the map that was chosen, if any. The margins of diagrams side by side share a scale, and so the diagrams must
    /// share a metric.
    pub(super) fn chosen_map(&self, args: &FigureArgs) -> Result<Option<Map>, Failure> {
        if args.spent {
            return Ok(Some(Map::Runs));
        }
        let diagrams = self.diagrams();
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

/// Returns the map of the best value of a setting of the first diagram, given by the name or the id of an optimizer, a dot, and
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
    let meant = named(spec, &spec.shown_names(), optimizer, &having);
    let [index] = meant[..] else {
        let label = |index: usize| match spec
            .optimizers
            .iter()
            .filter(|it| it.label() == spec.optimizers[index].label())
            .count()
        {
            1 => spec.optimizers[index].label().to_owned(),
            _ => spec.optimizers[index].id.to_string(),
        };
        let known: Vec<String> = maps.iter().map(|(index, key, _)| format!("{}.{key}", label(*index))).collect();
        let expected =
            if meant.is_empty() { "an optimizer and one of its tuned settings" } else { "one optimizer by its id" };
        return Err(Failure::BadInput(anyhow!(
            "--best: expected {expected}, as in {}; found {text}",
            known.join(", ")
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

/// Returns the map of the advantage of one optimizer over another, given by their names or their ids in a sweep.
fn margin(spec: &SweepSpec, text: &str) -> Result<Map, Failure> {
    let names = spec.shown_names();
    let known = names.iter().zip(&spec.optimizers).map(|(name, optimizer)| format!("{} = {name}", optimizer.id));
    let known = known.collect::<Vec<_>>().join("; ");
    // Names hold commas, too: any of the commas may be the one between the two.
    let pairs: Vec<[&str; 2]> =
        text.match_indices(',').map(|(at, _)| [text[..at].trim(), text[at + 1..].trim()]).collect();
    if pairs.is_empty() {
        return Err(Failure::BadInput(anyhow!(
            "--margin: expected two optimizers, such as Adam,FOCUS or 0,1, found {text}; the diagram has {known}"
        )));
    }
    let all: Vec<usize> = (0..spec.optimizers.len()).collect();
    let found: Vec<[Vec<usize>; 2]> =
        pairs.iter().map(|pair| pair.map(|name| named(spec, &names, name, &all))).collect();
    let mut maps: Vec<Map> = Vec::new();
    for indices in &found {
        if let [[one], [other]] = indices.each_ref().map(Vec::as_slice)
            && one != other
        {
            maps.push(Map::Difference(*one, *other));
        }
    }
    if let [map] = maps[..] {
        return Ok(map);
    }
    let several = found.iter().zip(&pairs).find(|(indices, _)| indices.iter().all(|indices| !indices.is_empty()));
    let several = several.and_then(|(indices, pair)| Some(pair[indices.iter().position(|indices| indices.len() > 1)?]));
    Err(Failure::BadInput(match several {
        Some(name) => anyhow!("--margin: {name} is the name of several optimizers; give their ids: {known}"),
        None => anyhow!(
            "--margin: expected two different optimizers of the diagram by their names or ids, which are {known}; found \
             {text}"
        ),
    }))
}

/// Returns those of some optimizers that a text names: by the name in the diagram, else by the label or the rule's name in
/// presets, else by the id.
fn named(spec: &SweepSpec, names: &[String], text: &str, among: &[usize]) -> Vec<usize> {
    let all = || among.iter().copied();
    let by_name: Vec<usize> = all().filter(|index| names[*index] == text).collect();
    let is_named = |index: &usize| {
        let optimizer = &spec.optimizers[*index];
        let key = optimizer.name.is_none().then(|| optimizer.rule.kind().key());
        [Some(optimizer.label()), key].into_iter().flatten().any(|name| folded(name) == folded(text))
    };
    let by_label = || all().filter(is_named).collect::<Vec<_>>();
    let by_id = || all().filter(|index| spec.optimizers[*index].id.to_string() == text).collect::<Vec<_>>();
    [by_name, by_label(), by_id()].into_iter().find(|found| !found.is_empty()).unwrap_or_default()
}
