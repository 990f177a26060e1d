//! `--beside`: simulations beside the preset's own.

use std::ffi::OsStr;

use anyhow::anyhow;
use valleyscope_experiments::preset::{LandscapePreset, Library, Preset, PresetSimulation, TitledSimulation};

use super::Failure;

/// Returns the preset with further simulations beside its own. Each text holds settings as in `--set`, separated by
/// semicolons, or the name or the file of another preset.
pub(super) fn with_beside(mut preset: LandscapePreset, texts: &[String]) -> Result<LandscapePreset, Failure> {
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

/// Returns the preset's own simulation with settings.
fn changed(preset: &LandscapePreset, text: &str) -> Result<TitledSimulation, Failure> {
    let refused = |error: anyhow::Error| Failure::BadInput(error.context(format!("--beside {text}")));
    let settings = text.split(';').map(super::assignment).collect::<Result<Vec<_>, _>>();
    let settings = settings.map_err(|error| refused(anyhow!("{error}")))?;
    let own = Preset::Landscape(LandscapePreset::new(&preset.title, preset.spec().clone()));
    let changed = own.with_all(settings.iter().map(|(key, value)| (key.as_str(), value.as_str())));
    let changed = changed.map_err(|error| refused(error.into()))?;
    super::say_replaced_rules(&own, &changed);
    match changed {
        Preset::Landscape(changed) => Ok(TitledSimulation::untitled(changed.spec().clone())),
        _ => unreachable!("a preset with another value of a field is of the same kind"),
    }
}

/// Returns the simulation of another preset, titled by it.
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
