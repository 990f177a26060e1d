//! Arguments that several commands on landscapes share: `--beside`, and the names of plots.

use std::ffi::OsStr;

use anyhow::anyhow;
use valleyscope_engine::landscape::LandscapeSpec;
use valleyscope_experiments::preset::{LandscapePreset, Library, Preset, PresetSimulation, TitledSimulation};
use valleyscope_experiments::view::DiagnosticMetric;

use super::Failure;
use crate::draw::RunPlots;

/// Adds simulations to a preset, for comparison. Each text holds settings as in `--set`, separated by semicolons, or
/// the name or the file of another preset.
pub(super) fn with_compared(mut preset: LandscapePreset, texts: &[String]) -> Result<LandscapePreset, Failure> {
    const MOST: usize = PresetSimulation::MOST - 1;
    let count = preset.simulations.len() - 1 + texts.len();
    if count > MOST {
        return Err(Failure::BadInput(anyhow!(
            "--beside: expected at most {MOST} simulations beside the preset's own, found {count}; leave some out"
        )));
    }
    for text in texts {
        let other = match text.contains('=') {
            true => changed(&preset, text)?,
            false => named(text)?,
        };
        let described = PresetSimulation::after(preset.spec(), &other);
        preset.simulations.push(described);
    }
    Ok(preset)
}

/// Applies settings as in `--set`, separated by semicolons, to a preset.
pub(super) fn with_settings(preset: &Preset, text: &str) -> Result<Preset, Failure> {
    let refused = |error: anyhow::Error| Failure::BadInput(error.context(format!("--beside {text}")));
    let settings = text.split(';').map(super::assignment).collect::<Result<Vec<_>, _>>();
    let settings = settings.map_err(|error| refused(anyhow!("{error}")))?;
    let changed = preset.with_all(settings.iter().map(|(key, value)| (key.as_str(), value.as_str())));
    changed.map_err(|error| refused(error.into()))
}

fn changed(preset: &LandscapePreset, text: &str) -> Result<TitledSimulation, Failure> {
    let own = Preset::Landscape(LandscapePreset::new(&preset.title, preset.spec().clone()));
    let changed = with_settings(&own, text)?;
    super::say_replaced_rules(&own, &changed);
    match changed {
        Preset::Landscape(changed) => Ok(TitledSimulation::untitled(changed.spec().clone())),
        _ => unreachable!("a preset with another value of a field is of the same kind"),
    }
}

fn named(name: &str) -> Result<TitledSimulation, Failure> {
    let loaded = Library::open().load(OsStr::new(name)).map_err(Failure::bad_input)?;
    match loaded.preset {
        Preset::Landscape(other) => {
            let spec = other.spec().clone();
            Ok(TitledSimulation { title: Some(other.title), spec })
        }
        other => Err(Failure::BadInput(anyhow!(
            "--beside: expected settings such as noise=2, or a preset of the kind Landscape, and `{name}` is a {}",
            other.kind()
        ))),
    }
}

fn name(metric: DiagnosticMetric) -> String {
    metric.key().replace('_', "-")
}

fn names() -> String {
    DiagnosticMetric::ALL.map(name).join(", ")
}

pub(super) fn metric(text: &str) -> Result<DiagnosticMetric, String> {
    let wanted = text.trim().replace('_', "-");
    let found = DiagnosticMetric::ALL.into_iter().find(|metric| name(*metric) == wanted);
    found.ok_or_else(|| format!("expected plots among {}, found {text}", names()))
}

/// Finds the metric whose axis is named; none for the axis of the steps.
pub(super) fn log_axis(text: &str) -> Result<Option<DiagnosticMetric>, String> {
    match text.trim() {
        "steps" => Ok(None),
        text => {
            metric(text).map(Some).map_err(|_| format!("expected `steps` or plots among {}, found {text}", names()))
        }
    }
}

pub(super) fn check_known(plots: &[DiagnosticMetric], landscape: &LandscapeSpec) -> Result<(), Failure> {
    let Some(unknown) = plots.iter().find(|metric| metric.info(landscape).is_none()) else { return Ok(()) };
    let known: Vec<String> = DiagnosticMetric::of(landscape).map(name).collect();
    Err(Failure::BadInput(anyhow!(
        "--plots: expected plots that the landscape {} has, which are {}, found {}",
        landscape.kind().name(),
        known.join(", "),
        name(*unknown)
    )))
}

/// Makes the plots of a figure. `log` names the logarithmic axes; without it, that of |v| is one.
pub(super) fn run_plots(metrics: &[DiagnosticMetric], log: Option<&[Option<DiagnosticMetric>]>) -> RunPlots {
    let log = log.unwrap_or(&[Some(DiagnosticMetric::AbsV)]);
    RunPlots {
        metrics: metrics.to_vec(),
        log: log.iter().copied().flatten().collect(),
        log_steps: log.contains(&None),
        ..RunPlots::default()
    }
}
