//! The map of a figure that is not that of the winners: `--margin`, `--best` and `--spent`.

use anyhow::anyhow;
use valleyscope_engine::parameter::LEARNING_RATE;
use valleyscope_engine::sweep::{Diagram, SweepSpec};

use super::FigureArgs;
use super::plan::Source;
use crate::cli::Failure;
use crate::figure::Map;

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
            return best(first.spec(), text).map(Some);
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

/// Returns the map of the best value of a setting, given by the name or the id of an optimizer, a dot, and the setting's key.
fn best(spec: &SweepSpec, text: &str) -> Result<Map, Failure> {
    let names = spec.shown_names();
    let mut maps: Vec<(String, Map)> = Vec::new();
    for (index, optimizer) in spec.optimizers.iter().enumerate() {
        let name = |key: &str| format!("{}.{key}", optimizer.label());
        maps.push((name(LEARNING_RATE.key), Map::BestRate(index)));
        maps.extend(optimizer.tune.iter().map(|tuned| (name(tuned.of.key()), Map::BestValue(index, tuned.of))));
    }
    let is_meant = |map: &Map| match (text.rsplit_once('.'), *map) {
        (Some((optimizer, key)), Map::BestRate(index)) => {
            named(spec, &names, optimizer).contains(&index) && key == LEARNING_RATE.key
        }
        (Some((optimizer, key)), Map::BestValue(index, setting)) => {
            named(spec, &names, optimizer).contains(&index) && key == setting.key()
        }
        _ => false,
    };
    let found: Vec<Map> = maps.iter().map(|(_, map)| *map).filter(is_meant).collect();
    let known: Vec<String> = maps.into_iter().map(|(name, _)| name).collect();
    let known = known.join(", ");
    match found[..] {
        [map] => Ok(map),
        [] => Err(Failure::BadInput(anyhow!(
            "--best: expected an optimizer and one of its tuned settings, as in {known}; found {text}"
        ))),
        _ => Err(Failure::BadInput(anyhow!(
            "--best: {text} is the name of settings of several optimizers; give the id of one, as in {}.{}",
            spec.optimizers[0].id,
            LEARNING_RATE.key
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
    let found: Vec<[Vec<usize>; 2]> = pairs.iter().map(|pair| pair.map(|name| named(spec, &names, name))).collect();
    let mut maps: Vec<Map> = Vec::new();
    for places in &found {
        if let [[one], [other]] = places.each_ref().map(Vec::as_slice)
            && one != other
        {
            maps.push(Map::Difference(*one, *other));
        }
    }
    if let [map] = maps[..] {
        return Ok(map);
    }
    let several = found.iter().zip(&pairs).find(|(places, _)| places.iter().all(|places| !places.is_empty()));
    let several = several.and_then(|(places, pair)| Some(pair[places.iter().position(|places| places.len() > 1)?]));
    Err(Failure::BadInput(match several {
        Some(name) => anyhow!("--margin: {name} is the name of several optimizers; give their ids: {known}"),
        None => anyhow!(
            "--margin: expected two different optimizers of the diagram by their names or ids, which are {known}; found \
             {text}"
        ),
    }))
}

/// Returns the optimizers that a text names: by the name in the diagram, else by the label, else by the id.
fn named(spec: &SweepSpec, names: &[String], text: &str) -> Vec<usize> {
    let all = || 0..spec.optimizers.len();
    let by_name: Vec<usize> = all().filter(|index| names[*index] == text).collect();
    let by_label = || all().filter(|index| spec.optimizers[*index].label() == text).collect::<Vec<_>>();
    let by_id = || all().filter(|index| spec.optimizers[*index].id.to_string() == text).collect::<Vec<_>>();
    [by_name, by_label(), by_id()].into_iter().find(|found| !found.is_empty()).unwrap_or_default()
}
