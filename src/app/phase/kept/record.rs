//! The description of a kept diagram in its folder.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use valleyscope_engine::sweep::Precision;
use valleyscope_experiments::preset::{Preset, SweepPreset};

use crate::result::KEPT_RECORD;

const VERSION: u32 = 1;

/// The description of a kept diagram.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::app::phase) struct KeptRecord {
    /// The name that the user gave; without it, the diagram has a title made from its settings.
    pub name: Option<String>,
    /// Whether it stays until the user removes it.
    pub pinned: bool,
    /// The place in the order of creation.
    pub order: u64,
    /// The computing time.
    pub worked: Duration,
    /// Pixels computed from all replicates.
    pub pixels: usize,
    pub precision: Precision,
    /// The preset as opened or saved, before changes that led to the diagram.
    pub preset: Arc<SweepPreset>,
}

/// A description as it is stored.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    version: u32,
    name: Option<String>,
    pinned: bool,
    order: u64,
    worked_secs: f64,
    pixels: usize,
    precision: String,
    preset: String,
}

impl KeptRecord {
    pub(super) const FILE: &'static str = KEPT_RECORD;

    pub(super) fn to_text(&self) -> String {
        let stored = Stored {
            version: VERSION,
            name: self.name.clone(),
            pinned: self.pinned,
            order: self.order,
            worked_secs: self.worked.as_secs_f64(),
            pixels: self.pixels,
            precision: self.precision.name().to_owned(),
            preset: Preset::Sweep((*self.preset).clone()).to_ron(),
        };
        ron::ser::to_string_pretty(&stored, ron::ser::PrettyConfig::default())
            .expect("a description holds no value that RON cannot express")
    }

    /// Parses the description at `path`, or returns why it cannot be used.
    pub(super) fn parse(text: &str, path: &Path) -> Result<KeptRecord, String> {
        let stored: Stored = ron::from_str(text).map_err(|error| format!("{} is damaged: {error}", path.display()))?;
        if stored.version != VERSION {
            let found = stored.version;
            return Err(format!("{}: expected version {VERSION}, found version {found}", path.display()));
        }
        let precision = Precision::ALL.into_iter().find(|precision| precision.name() == stored.precision);
        let precision = precision
            .ok_or_else(|| format!("{}: expected precision f32 or f64, found {}", path.display(), stored.precision))?;
        let worked = Duration::try_from_secs_f64(stored.worked_secs)
            .map_err(|error| format!("{}: the computing time is no time: {error}", path.display()))?;
        let preset = sweep_preset(&stored.preset, &format!("the preset in {}", path.display()))?;
        let Stored { name, pinned, order, pixels, .. } = stored;
        Ok(KeptRecord { name, pinned, order, worked, pixels, precision, preset: Arc::new(preset) })
    }
}

/// Parses the preset of a sweep. `what` names it in the error.
pub(super) fn sweep_preset(text: &str, what: &str) -> Result<SweepPreset, String> {
    match Preset::parse(text, what).map_err(|error| error.to_string())? {
        Preset::Sweep(preset) => Ok(preset),
        other => Err(format!("{what}: expected the preset of a sweep, found a {}", other.kind())),
    }
}
