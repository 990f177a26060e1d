//! Phase diagrams beside others.

use std::ffi::OsStr;

use anyhow::anyhow;
use valleyscope_experiments::preset::{Library, Preset, SweepPreset};

use super::FigureArgs;
use super::plan::{Plan, Source, as_asked, result_named, unknown};
use crate::cli::{Failure, assignment};
use crate::figure::{TitledSweep, short_titles};
use crate::result::SweepResult;

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
                Source::Sweep(result) => Ok(SweepSource::There(result)),
                _ => Err(refused(anyhow!("expected the results of a sweep, found the run of a scan"))),
            },
        }
    }
}

/// Returns the plan of a diagram with those of `--beside`.
pub(super) fn beside(first: SweepSource, args: &FigureArgs) -> Result<Plan, Failure> {
    let count = 1 + args.beside.len();
    if count > MOST_DIAGRAMS {
        return Err(Failure::BadInput(anyhow!(
            "--beside: expected at most {MOST_DIAGRAMS} diagrams side by side, found {count}; leave some out"
        )));
    }
    let others = args.beside.iter().map(|text| SweepSource::named(text, &first, args));
    let others = others.collect::<Result<Vec<_>, Failure>>()?;
    Ok(Plan::Beside(std::iter::once(first).chain(others).collect()))
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
